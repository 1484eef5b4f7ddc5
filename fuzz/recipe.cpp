// Reads whatever bytes come as a recipe: what reads prints and reads again to the same print, and a network is
// quantised by it, or it is refused.

#include <cstdlib>
#include <string>

#include "nnex/quantize.h"
#include "nnex/save.h"

namespace {

/// Two products with a normalisation and a sum between them, whose tensors are named a, b, ...
nnex::Graph network() {
  using namespace nnex;
  Graph out;
  const auto constant = [&](Shape s, float from) {
    std::vector<float> v(static_cast<size_t>(s.count()));
    for (size_t i = 0; i < v.size(); ++i) v[i] = from + 0.1F * static_cast<float>(i % 7);
    return *out.add_constant(Tensor::of<float>(std::move(s), v));
  };
  const ValueId x = *out.add_input("x", "f32[2,16]");
  const ValueId n = *out.add("layer_normalization", {x, constant({16}, 1), constant({16}, 0)});
  const ValueId a = *out.add("relu", {*out.add("linear", {n, constant({16, 16}, -0.3F), constant({16}, 0)})});
  const ValueId b = *out.add("linear", {a, constant({16, 16}, -0.2F), constant({16}, 0)});
  const ValueId y = *out.add("linear", {*out.add("add", {a, b}), constant({2, 16}, -0.1F)});
  const std::pair<ValueId, const char*> names[] = {{n, "n"}, {a, "a"}, {b, "b"}};
  for (const auto& [v, name] : names)
    if (!out.set_name(v, name).ok()) std::abort();
  if (!out.set_outputs({{"y", y}}).ok()) std::abort();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  const auto recipe = parse_recipe({reinterpret_cast<const char*>(data), size});
  if (!recipe.ok()) return 0;
  const std::string text = recipe_text(*recipe);
  const auto back = parse_recipe(text);
  if (!back.ok() || recipe_text(*back) != text) std::abort();
  static const Graph net = network();
  QuantizeOptions options;
  options.recipe = *recipe;
  options.judge = false;
  const auto made = quantize(net, {}, options);
  if (made.ok() && !to_bytes(made->graph, Format::onnx).ok()) std::abort();
  return 0;
}
