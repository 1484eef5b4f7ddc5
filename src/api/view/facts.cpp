// What a drawing says of nodes and values.

#include <fmt/format.h>

#include <algorithm>

#include "api/view/scene.h"
#include "api/view/words.h"
#include "nnex/elements.h"
#include "ops/table.h"

namespace nnex {
#define NNEX_FAMILY(function) std::span<const OpDef> function();
#include "ops/families.def"
#undef NNEX_FAMILY
}  // namespace nnex

namespace nnex::drawing {
namespace {

struct Family {
  std::string_view name;
  std::span<const OpDef> (*ops)();
};
constexpr Family kFamilies[] = {
#define NNEX_FAMILY(function) {#function, &nnex::function},
#include "ops/families.def"
#undef NNEX_FAMILY
};

struct Belonging {
  std::string_view family;
  Category category;
};
constexpr Belonging kCategoryOf[] = {
    {"activation_ops", Category::activation},
    {"arg_reduce_ops", Category::arithmetic},
    {"arithmetic_ops", Category::arithmetic},
    {"attention_ops", Category::product},
    {"cast_ops", Category::quantize},
    {"causal_conv_ops", Category::product},
    {"col2im_ops", Category::shape},
    {"compare_ops", Category::arithmetic},
    {"control_ops", Category::control},
    {"conv_ops", Category::product},
    {"conv_integer_ops", Category::product},
    {"cvm_ops", Category::quantize},
    {"deconv_ops", Category::product},
    {"deform_conv_ops", Category::product},
    {"einsum_ops", Category::product},
    {"fake_quantize_ops", Category::quantize},
    {"gather_ops", Category::shape},
    {"grid_sample_ops", Category::pool},
    {"image_ops", Category::pool},
    {"join_ops", Category::shape},
    {"linear_attention_ops", Category::product},
    {"local_norm_ops", Category::norm},
    {"mask_ops", Category::shape},
    {"matmul_ops", Category::product},
    {"matmul_integer_ops", Category::product},
    {"norm_ops", Category::norm},
    {"pad_ops", Category::shape},
    {"pool_ops", Category::pool},
    {"quantize_ops", Category::quantize},
    {"recurrent_ops", Category::control},
    {"reduce_ops", Category::arithmetic},
    {"resize_ops", Category::pool},
    {"roi_ops", Category::pool},
    {"rotary_ops", Category::product},
    {"scatter_ops", Category::shape},
    {"sequence_ops", Category::control},
    {"shape_ops", Category::shape},
    {"slice_ops", Category::shape},
    {"softmax_ops", Category::norm},
    {"sort_ops", Category::shape},
    {"suppress_ops", Category::pool},
    {"unary_ops", Category::activation},
    {"unpool_ops", Category::pool},
};

/// Lists that say nothing: strides of 1, padding of 0.
bool plain(const Attribute& value) {
  const auto all = [](const auto& list, auto x) {
    return std::all_of(list.begin(), list.end(), [&](const auto& item) { return item == x; });
  };
  if (const Ints* v = std::get_if<Ints>(&value)) return all(*v, int64_t{1});
  if (const Pairs* v = std::get_if<Pairs>(&value)) return all(*v, std::pair<int64_t, int64_t>{0, 0});
  return false;
}

/// The same extents or distances on both sides in one number: "[2, 2]" is "2".
std::string brief(const Attribute& value) {
  if (const Pairs* v = std::get_if<Pairs>(&value); v && !v->empty()) {
    const auto same = [&](const auto& p) { return p == v->front() && p.first == p.second; };
    if (v->size() > 1 && std::all_of(v->begin(), v->end(), same)) return fmt::format("{}", v->front().first);
  }
  return text(value);
}

}  // namespace

std::string_view title_of(Category category) {
  constexpr std::string_view kTitles[kCategories] = {
      "Convolution, product",   "Activation, function", "Arithmetic, reduction",
      "Normalisation, softmax", "Pooling, pictures",    "Shape, data movement",
      "Control, recurrence",    "Types, quantisation",  "Other"};
  return kTitles[static_cast<size_t>(category)];
}

Category category_of(const Node& node) {
  if (node.custom) return Category::other;
  for (const Family& family : kFamilies) {
    const auto ops = family.ops();
    if (std::none_of(ops.begin(), ops.end(), [&](const OpDef& op) { return &op == node.op; })) continue;
    for (const Belonging& b : kCategoryOf)
      if (b.family == family.name) return b.category;
  }
  return Category::other;
}

namespace {

/// Whether a reader put the node before the one that is the author's: what reads it stands at the same place, and has a
/// name where this has none.
bool is_auxiliary(const ir::Graph& graph, NodeId id) {
  const auto named = [&](const Node& n) {
    return std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return v.valid() && !graph[v].name.empty(); });
  };
  if (named(graph[id])) return false;
  for (ValueId v : graph[id].out)
    for (const Use& use : v.valid() ? graph[v].uses : std::vector<Use>())
      if (use.node.valid() && graph.place_of(use.node) == graph.place_of(id) && named(graph[use.node])) return true;
  return false;
}

}  // namespace

NodeName name_of(const ir::Graph& graph, NodeId id) {
  const Node& node = graph[id];
  NodeName out;
  out.title = node.custom ? node.custom->name : std::string(node.op->name);
  if (is_auxiliary(graph, id)) return out;
  const std::string& place = graph.place_of(id);
  // "... 'name' (Operator)", as every reader says it.
  const size_t open = place.rfind(" ("), quote = open == std::string::npos ? open : place.find('\'');
  if (open != std::string::npos && place.ends_with(')') && quote != std::string::npos && quote + 1 < open &&
      place[open - 1] == '\'') {
    out.name = place.substr(quote + 1, open - quote - 2);
    out.title = place.substr(open + 2, place.size() - open - 3);
  } else {
    for (ValueId v : node.out)
      if (v.valid() && !graph[v].name.empty()) {
        out.name = graph[v].name;
        break;
      }
  }
  return out;
}

std::string port_of(const Node& node, size_t input) {
  const auto& ports = node.op->inputs;
  if (node.custom || ports.size() == 0) return fmt::format("input {}", input);
  const size_t last = ports.size() - 1;
  const Port& port = ports[std::min(input, last)];
  if (port.arity == Arity::variadic) return fmt::format("{} {}", port.name, input - std::min(input, last));
  return input > last ? fmt::format("input {}", input) : std::string(port.name);
}

/// Whether the operator's name in a standard says it already: MaxPool ignores what is outside.
static bool implied(const OpDef& op, std::string_view title, std::string_view field, const std::string& value) {
  for (const Spelling& s : op.spelled)
    if (s.name == title)
      for (const Preset& p : s.presets)
        if (p.ours == field && p.value == value) return true;
  return false;
}

std::vector<std::pair<std::string, std::string>> attributes_of(const Node& node, std::string_view title, bool all) {
  std::vector<std::pair<std::string, std::string>> out;
  if (node.custom)
    for (const auto& [name, value] : node.custom->attrs) out.emplace_back(name, text(value));
  if (!node.attrs || node.custom) return out;
  const std::shared_ptr<void> defaults = node.op->attrs.make ? node.op->attrs.make() : nullptr;
  for (const Field& f : node.op->attrs.fields) {
    const Attribute value = f.get(node.attrs.get());
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (!all && (plain(value) || implied(*node.op, title, f.name, text(value)))) continue;
    if (!all && defaults && same(value, f.get(defaults.get()))) continue;
    out.emplace_back(f.name, all ? text(value) : brief(value));
  }
  return out;
}

std::string shown_type(const ValueDef& value) {
  const Tensor* t = value.constant.tensor();
  if (t && t->data() && t->count() > 0 && t->count() <= 4 && t->shape().rank() <= 1) {
    std::string out;
    for (int64_t i = 0; i < t->count(); ++i) out += (i ? ", " : "") + element_text(*t, i);
    return t->shape().rank() == 0 ? out : "[" + out + "]";
  }
  return value.is_constant() ? type_of(value.constant).text() : value.type.text();
}

std::string shown_time(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3g} ms", us / 1e3);
  return fmt::format("{:.3g} µs", us);
}

}  // namespace nnex::drawing
