// Arithmetic, products and normalisations on their way to the table: extents that meet from axis 0.

#include "standards/nnef/import_call.h"

namespace nnex::nnef_format {

/// All tensors meet from axis 0: those of lower rank get extents of 1 at the end.
Status import_aligned(ImportCall& c) {
  c.align();
  return {};
}

/// A sum of nothing is 0.
Status import_add_n(ImportCall& c) {
  c.align();
  if (c.in.empty()) c.give(c.b.number(DType::f32, 0));
  return {};
}

Status import_sum_reduce(ImportCall& c) {
  const bool mean = std::get<bool>(*c.find("normalize"));
  c.drop("normalize");
  return c.plain(mean ? "mean_reduce" : "sum_reduce");
}

Status import_linear(ImportCall& c) {
  const Ints &filter = c.extents("filter"), &bias = c.extents("bias");
  if (c.literal("bias") == 0.0)
    c.in.pop_back();
  else
    c.value("bias") = c.trailing(c.value("bias"), bias, filter.size());
  if (bias.size() == 1 && filter.size() == 2 && bias[0] == filter[0])
    c.hint = fmt::format("; extents meet from dimension 0, so the bias would have to be [1,{}]", bias[0]);
  return {};
}

namespace {

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
  const ValueId shifted = c.make("sub", {c.in[0], c.in[1]});
  const ValueId root = c.make("sqrt", {c.make("add", {c.in[2], c.b.number(DType::f32, epsilon)})});
  const ValueId scaled = c.make("mul", {c.in[4], c.make("div", {shifted, root})});
  c.give(c.make("add", {c.in[3], scaled}));
  return {};
}

}  // namespace

Status import_batch_normalization(ImportCall& c) {
  const Ints x = c.extents("input");
  bool channels = x.size() >= 2;
  for (size_t i = 1; channels && i < 5; ++i) channels = per_channel(c.in_extents[i], x[1]);
  if (!channels) return normalize_by_formula(c);
  for (size_t i = 1; i < 5; ++i) {
    const Ints& e = c.in_extents[i];
    const bool full = e.size() > 1 && e[1] == x[1];
    c.in[i] = c.reshaped(c.in[i], {full ? x[1] : 1});
    if (!full && x[1] != 1) c.in[i] = c.expanded(c.in[i], x[1]);
  }
  return {};
}

}  // namespace nnex::nnef_format
