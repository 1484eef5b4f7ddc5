// Convolutions, pools and normalisations.

#include <fmt/format.h>

#include "ops/reduce.h"
#include "standards/onnx/import_quirks.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

/// kernel_shape repeats what the filter says: it is compared, then dropped. auto_pad VALID is explicit padding of
/// nothing.
Result<Quirked> conv(NodeImport& n, size_t filter_at = 1) {
  const Ints kernel = n.ints("kernel_shape");
  if (n.has(filter_at) && !kernel.empty() && n.type(filter_at).dims) {
    const Dims& filter = *n.type(filter_at).dims;
    for (size_t i = 0; i < kernel.size() && i + 2 < filter.size(); ++i)
      if (filter[i + 2].is_number() && filter[i + 2].value() != kernel[i])
        return n.error(
            fmt::format("kernel_shape says {} at axis {}; the filter has {}", kernel[i], i, filter[i + 2].value()));
    if (kernel.size() + 2 != filter.size())
      return n.error(fmt::format("kernel_shape has {} axes; the filter has {} spatial ones", kernel.size(),
                                 std::max<size_t>(filter.size(), 2) - 2));
  }
  n.drop("kernel_shape");
  return Quirked::no;
}

Result<Quirked> auto_pad(NodeImport& n, std::string_view none_word) {
  const std::string word = n.word("auto_pad", "NOTSET");
  n.drop("auto_pad");
  if (word == "SAME_UPPER")
    n.set("auto_pad", std::string("same_upper"));
  else if (word == "SAME_LOWER")
    n.set("auto_pad", std::string("same_lower"));
  else if (word == "VALID")
    n.drop("pads");
  else if (word != none_word)
    return n.error(
        fmt::format("attribute 'auto_pad': found '{}'; needed NOTSET, SAME_UPPER, SAME_LOWER or VALID", word));
  if (word == "SAME_UPPER" || word == "SAME_LOWER") n.drop("pads");
  return Quirked::no;
}

Result<Quirked> windowed_conv(NodeImport& n) {
  NNEX_TRY(conv(n));
  return auto_pad(n, "NOTSET");
}

Result<Quirked> qlinear_conv(NodeImport& n) {
  NNEX_TRY(conv(n, 3));
  return auto_pad(n, "NOTSET");
}

Result<Quirked> deform_conv(NodeImport& n) { return conv(n); }

/// ConvTranspose with output_shape: the surplus is split, the larger half first unless SAME_UPPER says otherwise.
Result<Quirked> conv_transpose(NodeImport& n) {
  NNEX_TRY(conv(n));
  if (!n.given("output_shape")) return auto_pad(n, "NOTSET");
  const std::string word = n.word("auto_pad", "NOTSET");
  n.drop("pads");
  n.drop("auto_pad");
  n.set("auto_pad", std::string(word == "SAME_UPPER" ? "same_upper" : "same_lower"));
  Ints shape = n.ints("output_shape");  // of all axes or of the spatial ones
  if (shape.size() > 2 && n.has(1) && n.type(1).dims && shape.size() == n.type(1).dims->size())
    shape.erase(shape.begin(), shape.begin() + 2);
  n.set("output_shape", shape);
  return Quirked::no;
}

Result<Quirked> pool(NodeImport& n) { return auto_pad(n, "NOTSET"); }

template <class A>
Result<Quirked> global(NodeImport& n, std::string_view op) {
  A a;
  a.to_end = true;
  n.bind(0, n.b(op, {n.in[0], n.b.ints({2})}, a));
  return Quirked::done;
}
Result<Quirked> global_average(NodeImport& n) { return global<ReduceAttrs>(n, "mean_reduce"); }
Result<Quirked> global_max(NodeImport& n) { return global<ExtremeAttrs>(n, "max_reduce"); }

/// GlobalLpPool: (sum |x|^p)^(1/p); p real until opset 1.
Result<Quirked> global_lp(NodeImport& n) {
  const double p = n.given("p") && std::holds_alternative<double>(*n.find("p"))
                       ? n.real("p", 2)
                       : static_cast<double>(n.integer("p", 2));
  if (p == 1) return global<ReduceAttrs>(n, "reduce_l1");
  if (p == 2) return global<ReduceAttrs>(n, "reduce_l2");
  const DType type = n.type(0).dtype == DType::none ? DType::f32 : n.type(0).dtype;
  ReduceAttrs a;
  a.to_end = true;
  ValueId powered = n.b("pow", {n.b("abs", {n.in[0]}), n.b.number(type, p)});
  ValueId sum = n.b("sum_reduce", {powered, n.b.ints({2})}, a);
  n.bind(0, n.b("pow", {sum, n.b.number(type, 1 / p)}));
  return Quirked::done;
}

/// BatchNormalization with spatial = 0: the parameters have x's extents but the batch, so the formula is written out.
Result<Quirked> elementwise_norm(NodeImport& n, bool training) {
  if (training) return n.error("training with spatial = 0 is not supported");
  for (size_t i = 0; i < 5; ++i)
    if (!n.has(i)) return n.error(fmt::format("input {} is required", i));
  const DType type = n.type(0).dtype == DType::none ? DType::f32 : n.type(0).dtype;
  const ValueId deviation = n.b("sqrt", {n.b("add", {n.in[4], n.b.number(type, n.real("epsilon", 1e-5))})});
  const ValueId normal = n.b("div", {n.b("sub", {n.in[0], n.in[3]}), deviation});
  n.bind(0, n.b("add", {n.b("mul", {normal, n.in[1]}), n.in[2]}));
  return Quirked::done;
}

/// BatchNormalization: opsets 1, 6 have is_test, 7 to 13 train when more than one output is named, 14 says so itself.
Result<Quirked> batch_norm(NodeImport& n) {
  bool training = n.integer("training_mode", 0) != 0;
  if (n.version < 7)
    training = n.integer("is_test", 0) == 0 && n.out.size() > 1;
  else if (n.version < 14)
    training = n.out.size() > 1;
  if (n.integer("spatial", 1) == 0) return elementwise_norm(n, training);
  if (n.version < 14) {
    // saved_mean and saved_var of old opsets are for a backward pass nobody runs.
    while (n.out.size() > 3) n.out.pop_back();
  }
  if (n.version >= 14 && !training && n.out.size() > 1)
    return n.error(fmt::format("found {} outputs; needed 1, as training_mode is 0", n.out.size()));
  for (const char* a : {"is_test", "spatial", "training_mode"}) n.drop(a);
  n.set("training", training);
  return Quirked::no;
}

constexpr QuirkRow kWindowRows[] = {
    {"Conv", windowed_conv},
    {"ConvInteger", windowed_conv},
    {"QLinearConv", qlinear_conv},
    {"DeformConv", deform_conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", pool},
    {"AveragePool", pool},
    {"LpPool", pool},
    {"GlobalAveragePool", global_average},
    {"GlobalMaxPool", global_max},
    {"GlobalLpPool", global_lp},
    {"BatchNormalization", batch_norm},
};

}  // namespace

std::span<const QuirkRow> window_quirks() { return read_of<kWindowRows>(); }

}  // namespace nnex::onnx_format
