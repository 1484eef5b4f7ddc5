// What a model's messages hold that a graph has no place for: those who change a model are told what goes.

#include <fmt/format.h>

#include <map>

#include "standards/onnx/copy_ways.h"
#include "standards/onnx/import.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

/// A field that no graph holds, in words; "{}" is how often it is there.
struct Beside {
  Part in;
  uint32_t field;
  std::string_view words;
};
constexpr Beside kBeside[] = {{Part::model, 20, "{} entries of training information"},
                              {Part::model, 26, "{} device configurations"},
                              {Part::graph, 10, "documentation of {} graphs"},
                              {Part::graph, 14, "quantization annotations of {} tensors"},
                              {Part::graph, 16, "{} properties of graphs"},
                              {Part::node, 6, "documentation of {} nodes"},
                              {Part::node, 9, "{} properties of nodes"},
                              {Part::node, 10, "{} device annotations of nodes"},
                              {Part::attribute, 13, "documentation of {} attributes"},
                              {Part::tensor, 12, "documentation of {} tensors"},
                              {Part::tensor, 16, "{} properties of tensors"}};

constexpr uint32_t bits_of(std::initializer_list<uint32_t> fields) {
  uint32_t bits = 0;
  for (uint32_t f : fields) bits |= 1u << f;
  return bits;
}

/// The fields of onnx.proto (IR 13), by Part: what has another number nobody knows here.
constexpr uint32_t kKnown[] = {
    bits_of({1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26}),
    bits_of({1, 2, 3, 4}),
    bits_of({1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}),
    bits_of({1, 2, 5, 10, 11, 12, 13, 14, 15, 16}),
    bits_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
    bits_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 20, 21, 22, 23}),
    bits_of({1, 2, 3}),
    bits_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16}),
};

bool is_known(Part in, uint32_t field) { return field < 32 && (kKnown[static_cast<size_t>(in)] >> field & 1); }

class BesideFinder {
 public:
  void message(std::string_view bytes, Part part, int depth) {
    wire::Reader r(bytes);
    for (Field f; depth <= kDeepestCopy && r.next(f);) {
      field(f, part);
      // Functions go as they are; of training all is told by its one line.
      const Way* const way = way_of(part, f);
      if (way && way->to != Part::function && way->to != Part::training) message(f.bytes, way->to, depth + 1);
    }
  }

  std::vector<std::string> words() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < std::size(kBeside); ++i)
      if (counts_[i] > 0) out.push_back(fmt::format(fmt::runtime(kBeside[i].words), counts_[i]));
    for (const auto& [what, count] : unknown_)
      out.push_back(fmt::format("{} fields of number {} in {}, which this version does not know", count, what.second,
                                kPartNames[static_cast<size_t>(what.first)]));
    return out;
  }

 private:
  void field(const Field& f, Part part) {
    if (!is_known(part, f.number)) ++unknown_[{part, f.number}];
    for (size_t i = 0; i < std::size(kBeside); ++i) {
      const bool empty = f.kind == wire::Kind::bytes && f.bytes.empty();
      counts_[i] += kBeside[i].in == part && kBeside[i].field == f.number && !empty;
    }
  }

  int64_t counts_[std::size(kBeside)] = {};
  std::map<std::pair<Part, uint32_t>, int64_t> unknown_;
};

}  // namespace

std::vector<std::string> beside_network(std::string_view model) {
  BesideFinder finder;
  finder.message(model, Part::model, 0);
  return finder.words();
}

}  // namespace nnex::onnx_format
