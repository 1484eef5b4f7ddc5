#pragma once
// Text of C: lines, loop nests, literals and names.

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/tensor.h"
#include "ops/attrs.h"

namespace nnex::c_format {

/// Lines with the indentation of the braces that are open.
class Text {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...));
  }
  /// A line that ends in "{"; what follows stands deeper until close().
  template <class... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    add(fmt::format(format, std::forward<Args>(args)...) + " {");
    ++depth_;
  }
  void close(std::string_view end = "}") {
    --depth_;
    add(std::string(end));
  }
  void add(const std::string& line) { text_.append(2 * depth_, ' ').append(line).append("\n"); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t depth_ = 1;  // bodies of functions
};

/// An operand of a loop nest: where its first element is, and how far it moves with each axis.
struct Access {
  std::string name;
  Ints steps;
  int64_t offset = 0;
};

/// Loops over extents. Axes of one element are left out, and axes that all operands walk evenly are joined.
class Nest {
 public:
  /// `index` begins the names of the loops' variables: nests within one another differ in it.
  Nest(const Shape& extents, std::vector<Access> operands, std::string index = "i");

  /// Writes the loops around what `body` writes: its argument has the elements, "x0[3 + i0 * 12 + i1]", by operand.
  void write(Text& out, const std::function<void(const std::vector<std::string>&)>& body) const;
  /// How many loops there are, and the step of the one loop of an operand; 0: there is none.
  size_t loops() const { return extents_.size(); }
  int64_t step(size_t operand) const { return extents_.empty() ? 0 : operands_[operand].steps[0]; }
  /// The same with where the elements lie: "3 + i0 * 12 + i1".
  void places(Text& out, const std::function<void(const std::vector<std::string>&)>& body) const;

 private:
  Ints extents_;
  std::vector<Access> operands_;
  std::string index_;
};

/// Steps of a tensor of shape `from` that is stretched to the shape `to`, axes aligned at the last: 0 where it is.
Ints broadcast_steps(const Shape& from, const Shape& to);

/// "float", "int32_t", ...; empty: C has no such type.
std::string_view c_type(DType type);
/// "f32", "i64": what ends the names of functions of a type.
std::string_view suffix(DType type);
/// Bytes of an element of a type that c_type() names.
int64_t width(DType type);
/// Element i as C says it, with every bit: "0x1.8p+1f", "INFINITY", "-3".
std::string literal(const Tensor& t, int64_t i);
/// A number of a float type.
std::string literal(double x, DType type);
/// The square of a number, rounded to its type: it overflows where those of the rows' formulas do.
std::string square_text(std::string_view number, DType type);
/// The function of math.h for the type: "expf" of "exp" for f32.
std::string math(std::string_view function, DType type);

/// What begins names of C, like `wanted`: "conv/1:0" becomes "conv_1_0". `otherwise`: where nothing of it can be used.
std::string word_of(std::string_view wanted, std::string_view otherwise);
/// A name of C like `wanted` that is no word of C or of its headers and none of `taken`, where it is added:
/// "conv/1:0" becomes "conv_1_0". `otherwise`: where nothing of it can be used.
std::string identifier(std::string_view wanted, std::string_view otherwise, std::set<std::string>& taken);
/// Letters of ASCII as capitals.
std::string upper(std::string_view s);
/// Text that may stand within a comment of C.
std::string comment_text(std::string_view text);

}  // namespace nnex::c_format
