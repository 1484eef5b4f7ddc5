#pragma once
// How to make a random, mostly valid model of one operator: a recipe each, over the forms of all opsets.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "case.h"

namespace nnex::differential {

constexpr int kOldestOpset = 7;
constexpr int kNewestOpset = 26;  ///< The newest that the peer knows.

/// What the elements of a tensor are.
enum class Fill {
  exact,     ///< Multiples of 1/4 in [-4, 4]: their sums and products are the same in any order.
  normal,    ///< In [-2, 2).
  small,     ///< In [-0.5, 0.5).
  positive,  ///< In [0.25, 3).
  special,   ///< Now and then NaN, infinities, zeros of both signs, ties, the largest and the smallest numbers.
};

/// Builds one case.
class Maker {
 public:
  Maker(uint64_t seed, std::string_view op, std::string_view domain, int opset);

  Dice dice;
  Case made;
  int opset() const { return made.opset; }

  // ---- Extents
  int64_t extent();           ///< Mostly 1 to 5, now and then 0 or up to 33.
  int64_t positive_extent();  ///< The same, but for 0.
  Extents shape(int64_t low_rank, int64_t high_rank);
  Extents positive_shape(int64_t low_rank, int64_t high_rank);
  /// A shape that broadcasts into `full` (from its end).
  Extents part_of(const Extents& full);
  int64_t axis(int64_t rank) { return dice.in(-rank, rank - 1); }
  /// Some axes, each once, in random order, some counted from the end.
  Extents axes(int64_t rank, int64_t max = 99);

  // ---- Contents
  DType floating(double halves = 0.1);  ///< f32, f64, f16.
  DType integer();
  DType number() { return dice.chance(0.7) ? floating() : integer(); }
  Tensor reals(DType type, const Extents& shape, Fill fill = Fill::exact);
  Tensor whole(DType type, const Extents& shape, int64_t low, int64_t high);
  /// Floats as `fill` says, whole numbers in [-8, 8] or [0, 16].
  Tensor any(DType type, const Extents& shape, Fill fill = Fill::exact);
  Tensor longs(const Extents& values, DType type = DType::i64);
  Tensor scalar(DType type, double value);

  // ---- The model
  /// A value of the model, either given to a run or held by the model (with chance `constant`); its name.
  std::string add(Tensor value, double constant = 0.25);
  std::string absent() { return {}; }
  void attribute(std::string name, AttributeValue value) { attributes_.push_back({std::move(name), std::move(value)}); }
  void maybe(double p, std::string name, AttributeValue value) {
    if (dice.chance(p)) attribute(std::move(name), std::move(value));
  }
  /// The node of the recipe's operator, with all attributes so far; its outputs are the model's.
  Names finish(Names in, int outputs = 1);
  /// A node of another operator; its outputs are names to go on with.
  Names node(std::string op, Names in, std::vector<Attribute> attributes = {}, int outputs = 1);
  void output(std::string name) { made.outputs.push_back(std::move(name)); }

 private:
  std::string domain_;
  std::vector<Attribute> attributes_;
  int names_ = 0;
};

struct Recipe {
  std::string_view op;
  int since = 1;
  void (*make)(Maker&) = nullptr;
  std::string_view domain = {};
  int until = 99;  ///< The last opset; often what the peer has kernels for.
};

std::span<const Recipe> math_recipes();
std::span<const Recipe> shape_recipes();
std::span<const Recipe> select_recipes();
std::span<const Recipe> window_recipes();
std::span<const Recipe> image_recipes();
std::span<const Recipe> product_recipes();
std::span<const Recipe> block_recipes();
std::span<const Recipe> ml_recipes();
std::span<const Recipe> microsoft_recipes();
std::span<const Recipe> contributed_recipes();
std::span<const Recipe> network_recipes();
std::vector<const Recipe*> all_recipes();

/// The case of a number: the same on every machine.
Case make_case(const Recipe& recipe, uint64_t seed);

}  // namespace nnex::differential
