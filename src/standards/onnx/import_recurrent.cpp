// RNN, GRU, LSTM: layout = 1 puts the batch first, older forms have fewer outputs.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ops/recurrent.h"
#include "ops/shape.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format {
namespace {

ValueId swapped(NodeImport& n, ValueId v, Ints axes) {
  TransposeAttrs a;
  a.axes = std::move(axes);
  return n.b("transpose", {v}, a);
}

/// hidden_size repeats what R says, where that is known. layout = 1: x [batch, steps, in], states [batch, dirs, h], y
/// [batch, steps, dirs, h].
Result<Quirked> recurrent(NodeImport& n) {
  const int64_t hidden = n.integer("hidden_size", 0);
  const Tensor* const r = n.constant(2);
  if (hidden > 0 && r && r->shape().rank() == 3 && r->shape()[2] != hidden)
    return n.error(fmt::format("hidden_size is {}; R has {}", hidden, r->shape()[2]));
  if (hidden > 0 && !r) n.set("hidden", hidden);
  n.drop("hidden_size");
  if (n.version < 7) n.drop("output_sequence");
  Texts activations = n.words("activations");
  if (!activations.empty()) {
    // "HardSigmoid", "hardsigmoid": any letter case; core words are snake_case.
    auto plain = [](std::string_view s) {
      std::string out;
      for (char c : s)
        if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return out;
    };
    for (std::string& word : activations)
      for (std::string_view w : gate_words())
        if (plain(w) == plain(word)) word = std::string(w);
    n.set("activations", activations);
  }
  const bool batch_first = n.integer("layout", 0) == 1;
  n.drop("layout");
  if (!batch_first || !find_spelling(Format::onnx, "", n.op).op) return Quirked::no;
  n.in[0] = swapped(n, n.in[0], {1, 0, 2});
  for (size_t i : {size_t{5}, size_t{6}})
    if (n.has(i)) n.in[i] = swapped(n, n.in[i], {1, 0, 2});
  NNEX_ASSIGN(NodeId id, n.importer.spell(n));
  const Node& node = n.b.graph()[id];
  if (n.wants(0)) n.bind(0, swapped(n, node.out[0], {2, 0, 1, 3}));
  for (size_t o = 1; o < n.out.size(); ++o)
    if (n.wants(o)) n.bind(o, swapped(n, node.out[o], {1, 0, 2}));
  return Quirked::done;
}

constexpr QuirkRow kRecurrentRows[] = {{"RNN", recurrent}, {"GRU", recurrent}, {"LSTM", recurrent}};

}  // namespace

std::span<const QuirkRow> recurrent_quirks() { return read_of<kRecurrentRows>(); }

}  // namespace nnex::onnx_format
