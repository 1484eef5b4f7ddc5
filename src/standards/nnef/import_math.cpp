// Arithmetic, products and normalisations on their way to the table: extents that meet from axis 0 (operators.md 1.2,
// 4.13).

#include "standards/nnef/import_call.h"

namespace nnex::nnef_format {
namespace {

/// All tensors meet from axis 0: those of lower rank get extents of 1 at the end.
Status broadcast(ImportCall& c) {
  c.align();
  return {};
}

/// A sum of nothing is 0.
Status add_n(ImportCall& c) {
  c.align();
  if (c.in.empty()) c.give(c.b.number(DType::f32, 0));
  return {};
}

Status sum_reduce(ImportCall& c) {
  const bool mean = std::get<bool>(*c.find("normalize"));
  c.drop("normalize");
  return c.plain(mean ? "mean_reduce" : "sum_reduce");
}

Status linear(ImportCall& c) {
  if (c.literal("bias") == 0.0)
    c.in.pop_back();
  else
    c.value("bias") = c.trailing(c.value("bias"), c.extents("bias"), c.result().extents.size());
  return {};
}

/// Whether a parameter has one number a channel, or one for all.
bool per_channel(const Ints& e, int64_t channels) {
  for (size_t i = 0; i < e.size(); ++i)
    if (e[i] != 1 && !(i == 1 && e[i] == channels)) return false;
  return true;
}

/// offset + scale (x - mean) / sqrt(variance + epsilon), for parameters that are not per channel.
Status normalize_by_formula(ImportCall& c) {
  c.align();
  const double epsilon = std::get<double>(*c.find("epsilon"));
  const Ints& all = c.result().extents;
  const auto two = [&](std::string_view row, ValueId a, ValueId b, const Ints& e) {
    return c.make(row, {a, b}, DType::f32, e);
  };
  const ValueId shifted = two("sub", c.in[0], c.in[1], all);
  const ValueId raised = two("add", c.in[2], c.b.number(DType::f32, epsilon), c.in_extents[2]);
  const ValueId root = c.make("sqrt", {raised}, DType::f32, c.in_extents[2]);
  const ValueId scaled = two("mul", c.in[4], two("div", shifted, root, all), all);
  c.give(two("add", c.in[3], scaled, all));
  return {};
}

Status batch_normalization(ImportCall& c) {
  const Ints x = c.extents("input");
  bool channels = x.size() >= 2;
  for (size_t i = 1; channels && i < 5; ++i) channels = per_channel(c.in_extents[i], x[1]);
  if (!channels) return normalize_by_formula(c);
  for (size_t i = 1; i < 5; ++i) {
    const Ints& e = c.in_extents[i];
    const bool full = e.size() > 1 && e[1] == x[1];
    c.in[i] = c.reshaped(c.in[i], {full ? x[1] : 1});
    if (!full && x[1] != 1) c.in[i] = c.make("expand", {c.in[i], c.b.ints({x[1]})}, DType::f32, {x[1]});
  }
  return {};
}

constexpr ImportRow kMathRows[] = {
    {"add", broadcast},
    {"sub", broadcast},
    {"mul", broadcast},
    {"div", broadcast},
    {"pow", broadcast},
    {"min", broadcast},
    {"max", broadcast},
    {"lt", broadcast},
    {"gt", broadcast},
    {"le", broadcast},
    {"ge", broadcast},
    {"eq", broadcast},
    {"ne", broadcast},
    {"and", broadcast},
    {"or", broadcast},
    {"select", broadcast},
    {"clamp", broadcast},
    {"prelu", broadcast},
    {"linear_quantize", broadcast},
    {"min_max_linear_quantize", broadcast},
    {"zero_point_linear_quantize", broadcast},
    {"logarithmic_quantize", broadcast},
    {"add_n", add_n},
    {"sum_reduce", sum_reduce},
    {"linear", linear},
    {"batch_normalization", batch_normalization},
};

}  // namespace

std::span<const ImportRow> import_math_rows() { return kMathRows; }

}  // namespace nnex::nnef_format
