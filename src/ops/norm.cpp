// Normalisation by mean and variance. Variances are population variances, in two passes.

#include "ops/norm.h"
#include "ops/answer.h"

#include <cmath>
#include <vector>

#include "ops/codecs.h"
#include "ops/elementwise.h"
#include "ops/put.h"
#include "ops/reduction.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Stages: x in a wide type W, normalised by sets of elements, scaled and shifted, rounded into the output.

DType wide_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

/// (x - mean) / sqrt(variance + epsilon), or x / sqrt(mean square + epsilon); mean and 1 / sqrt(...) of every set are
/// kept where asked.
template <class W>
Result<Tensor> normalised(const Tensor& x, const Reduction& sets, bool centre, double epsilon, Tensor* means = nullptr,
                          Tensor* inverses = nullptr) {
  NNEX_ASSIGN(Tensor out, Tensor::make(dtype_for<W>, x.shape()));
  const W* from = x.as<W>().data();
  W* to = out.mutable_as<W>().data();
  sets.each(x.as<W>(), [&](int64_t o, const ElementSet<W>& set) {
    const W n = static_cast<W>(set.n);
    const W mean = centre ? pairwise_sum<W>(set, 0, set.n, [](W v) { return v; }) / n : W(0);
    const W squares = pairwise_sum<W>(set, 0, set.n, [=](W v) { return (v - mean) * (v - mean); });
    const W inverse = W(1) / std::sqrt(squares / n + static_cast<W>(epsilon));
    if (means) means->mutable_as<W>()[static_cast<size_t>(o)] = mean;
    if (inverses) inverses->mutable_as<W>()[static_cast<size_t>(o)] = inverse;
    for (int64_t i = 0; i < set.n; ++i) to[set.base - from + set.place(i)] = (set[i] - mean) * inverse;
  });
  return out;
}

/// The tensor at port i as type W under another shape; nothing where it is absent.
template <class W>
Result<std::optional<Tensor>> parameter(const Call& c, size_t i, const std::optional<Shape>& shape = {}) {
  if (!c.has(i)) return std::optional<Tensor>{};
  NNEX_ASSIGN(Tensor t, convert(c.in(i), dtype_for<W>));
  return std::optional<Tensor>(shape ? t.reshaped(*shape) : t);
}

/// y = y scale + offset, both broadcast to it.
template <class W>
Status scale_and_shift(const Call& c, Tensor& y, const std::optional<Tensor>& scale,
                       const std::optional<Tensor>& offset) {
  const std::span<const W> now = y.as<W>();
  for (const std::optional<Tensor>* t : {&scale, &offset}) {
    if (!*t) continue;
    auto both = broadcast(y.shape(), (*t)->shape());
    if (!both || !(*both == y.shape()))
      return c.fault("{} does not broadcast to x {}", (*t)->shape().text(), y.shape().text());
    if (t == &scale)
      map_two(now, y.shape(), (*t)->as<W>(), (*t)->shape(), y.mutable_as<W>(), y.shape(),
              [](W a, W b) { return a * b; });
    else
      map_two(now, y.shape(), (*t)->as<W>(), (*t)->shape(), y.mutable_as<W>(), y.shape(),
              [](W a, W b) { return a + b; });
  }
  return {};
}

/// [1, C, 1, ...]: where parameters of one axis meet x.
Shape along(int64_t rank, int64_t axis, int64_t extent) {
  std::vector<int64_t> e(static_cast<size_t>(rank), 1);
  e[static_cast<size_t>(axis)] = extent;
  return Shape(e);
}

/// Parameter `port` must be [C], as many as x has along `axis`.
Status need_channels(InferCall& c, size_t port, int64_t axis) {
  if (!c.has(port) || !c.dims(port)) return {};
  NNEX_TRY(need_rank(c, port, 1));
  if (!c.dims(0)) return {};
  NNEX_TRY(meet(c, (*c.dims(port))[0], (*c.dims(0))[static_cast<size_t>(axis)],
                fmt::format("extent of {}", c.op().inputs[port].name)));
  return {};
}

// ---- Batch

enum : size_t { kNormX, kNormMean, kNormVariance, kNormOffset, kNormScale };  // ports of batch_normalization

Status infer_batch(InferCall& c) {
  const auto& a = c.attr<BatchNormAttrs>();
  int64_t axis = 0;
  if (c.rank(0)) {
    NNEX_ASSIGN(axis, positive_axis(c, a.axis, *c.rank(0)));
  }
  for (size_t port : {kNormMean, kNormVariance, kNormOffset, kNormScale}) NNEX_TRY(need_channels(c, port, axis));
  c.result(0, c.dims(0));
  for (size_t o : {1, 2}) c.result(o, c.dims(kNormMean));
  return {};
}

/// Mean and population variance of x over everything but `axis`, into mean and variance.
template <class W>
void batch_moments(const Tensor& x, int64_t axis, std::vector<double>& mean, std::vector<double>& variance) {
  std::vector<bool> gone(static_cast<size_t>(x.shape().rank()), true);
  gone[static_cast<size_t>(axis)] = false;
  Reduction(x.shape(), gone, false).each(x.as<W>(), [&](int64_t o, const ElementSet<W>& set) {
    const double n = static_cast<double>(set.n);
    const double m = pairwise_sum<double>(set, 0, set.n, [](W v) { return static_cast<double>(v); }) / n;
    const double s = pairwise_sum<double>(
        set, 0, set.n, [=](W v) { return (static_cast<double>(v) - m) * (static_cast<double>(v) - m); });
    mean[static_cast<size_t>(o)] = m;
    variance[static_cast<size_t>(o)] = s / n;
  });
}

/// new = old momentum + current (1 - momentum), in the old one's type.
Status put_running(Call& c, size_t o, size_t port, const std::vector<double>& current, double momentum) {
  if (!c.wants(o)) return {};
  std::vector<double> next = reals_of(c.in(port));
  for (size_t i = 0; i < next.size(); ++i)
    if (!current.empty()) next[i] = next[i] * momentum + current[i] * (1 - momentum);
  return put(c, o, Tensor::of(c.shape(port), next), c.in(port).dtype(), c.shape(port));
}

template <class W>
Status run_batch(Call& c) {
  const auto& a = c.attr<BatchNormAttrs>();
  const Shape& shape = c.shape(kNormX);
  const int64_t axis = a.axis < 0 ? a.axis + shape.rank() : a.axis;
  NNEX_ASSIGN(Tensor x, writable(c.in(kNormX), dtype_for<W>));
  std::vector<double> mean = reals_of(c.in(kNormMean)), variance = reals_of(c.in(kNormVariance));
  if (a.training) {
    batch_moments<W>(x, axis, mean, variance);
    NNEX_TRY(put_running(c, 1, kNormMean, mean, a.momentum));
    NNEX_TRY(put_running(c, 2, kNormVariance, variance, a.momentum));
  } else {
    NNEX_TRY(put_running(c, 1, kNormMean, {}, 1));
    NNEX_TRY(put_running(c, 2, kNormVariance, {}, 1));
  }
  if (!c.wants(0)) return {};
  const size_t channels = mean.size();
  const std::vector<double> scale = c.has(kNormScale) ? reals_of(c.in(kNormScale)) : std::vector<double>(channels, 1);
  const std::vector<double> offset =
      c.has(kNormOffset) ? reals_of(c.in(kNormOffset)) : std::vector<double>(channels, 0);
  int64_t inner = 1;
  for (int64_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  auto v = x.mutable_as<W>();
  for (size_t row = 0; inner > 0 && row < v.size() / static_cast<size_t>(inner); ++row) {
    const size_t ch = row % channels;
    const double factor = scale[ch] / std::sqrt(variance[ch] + a.epsilon);
    for (size_t i = row * static_cast<size_t>(inner); i < (row + 1) * static_cast<size_t>(inner); ++i)
      v[i] = static_cast<W>((static_cast<double>(v[i]) - mean[ch]) * factor + offset[ch]);
  }
  return put(c, 0, x, c.in(kNormX).dtype(), shape);
}

// ---- Layer, RMS, group, instance

/// Scale and offset (ports 1 and 2) must broadcast to x without growing it.
Status check_affine(InferCall& c) {
  for (size_t port = 1; port < c.inputs(); ++port) {
    if (!c.has(port) || !c.dims(port) || !c.dims(0)) continue;
    if (c.dims(port)->size() > c.dims(0)->size())
      return c.error("{} {} has more axes than x {}", c.op().inputs[port].name, text(c.dims(port)), text(c.dims(0)));
    NNEX_TRY(broadcast(c, c.dims(0), c.dims(port)));
  }
  return {};
}

Status infer_layer(InferCall& c) {
  const auto& a = c.attr<LayerNormAttrs>();
  if (!is_float(a.stash)) return c.error("stash is {}; needed a float type", name(a.stash));
  NNEX_ASSIGN(MaybeDims kept, reduced_dims(c, 0, a.axes, {true, false, a.to_end}));
  NNEX_TRY(check_affine(c));
  c.result(0, c.dims(0));
  for (size_t o = 1; o < c.outputs(); ++o) c.result(o, kept);
  return {};
}

/// Normalises in the stash type, rounds to `type`, then scales and shifts in it. Outputs 1 and 2 get mean and inverse
/// deviation.
template <class S>
Result<Tensor> stashed(Call& c, const Tensor& x, const Reduction& sets, bool centre, double epsilon, DType stash) {
  NNEX_ASSIGN(Tensor rounded, convert(x, stash));
  NNEX_ASSIGN(Tensor wide, convert(rounded, dtype_for<S>));
  NNEX_ASSIGN(Tensor mean, Tensor::make(dtype_for<S>, sets.result()));
  NNEX_ASSIGN(Tensor inverse, Tensor::make(dtype_for<S>, sets.result()));
  NNEX_ASSIGN(Tensor y, normalised<S>(wide, sets, centre, epsilon, &mean, &inverse));
  if (c.wants(1)) NNEX_TRY(put(c, 1, mean, stash, sets.result()));
  if (c.wants(2)) NNEX_TRY(put(c, 2, inverse, stash, sets.result()));
  return y;
}

Result<Tensor> stashed(Call& c, const Tensor& x, const Reduction& sets, bool centre, double epsilon, DType stash) {
  return stash == DType::f64 ? stashed<double>(c, x, sets, centre, epsilon, stash)
                             : stashed<float>(c, x, sets, centre, epsilon, stash);
}

/// y rounded to `type`, then scaled and shifted by ports 1 and 2 under `shape`, and put into output 0 as `x_shape`.
template <class W>
Status finish(Call& c, Tensor y, DType type, const std::optional<Shape>& shape, const Shape& x_shape) {
  NNEX_ASSIGN(Tensor rounded, convert(y, type));
  y = Tensor();  // where the types are the same they are one tensor, which is written below
  NNEX_ASSIGN(Tensor wide, convert(rounded, dtype_for<W>));
  rounded = Tensor();
  wide = wide.reshaped(x_shape);
  NNEX_ASSIGN(auto scale, parameter<W>(c, 1, shape));
  NNEX_ASSIGN(auto offset, parameter<W>(c, 2, shape));
  NNEX_TRY(scale_and_shift<W>(c, wide, scale, offset));
  return put(c, 0, wide, type, x_shape);
}

Status finish(Call& c, Tensor y, DType type, const std::optional<Shape>& shape, const Shape& x_shape) {
  if (!c.wants(0)) return {};
  return wide_type(type) == DType::f64 ? finish<double>(c, std::move(y), type, shape, x_shape)
                                       : finish<float>(c, std::move(y), type, shape, x_shape);
}

Status run_layer(Call& c) {
  const auto& a = c.attr<LayerNormAttrs>();
  NNEX_ASSIGN(Reduction sets, reduction(c, 0, a.axes, {true, false, a.to_end}));
  NNEX_ASSIGN(Tensor y, stashed(c, c.in(0), sets, true, a.epsilon, a.stash));
  return finish(c, std::move(y), c.in(0).dtype(), std::nullopt, c.shape(0));
}

Status run_rms(Call& c) {
  const auto& a = c.attr<LayerNormAttrs>();
  NNEX_ASSIGN(Reduction sets, reduction(c, 0, a.axes, {true, false, a.to_end}));
  NNEX_ASSIGN(Tensor y, stashed(c, c.in(0), sets, false, a.epsilon, a.stash));
  return finish(c, std::move(y), c.in(1).dtype(), std::nullopt, c.shape(0));
}

Status need_image(InferCall& c) {
  if (auto rank = c.rank(0); rank && *rank < 2)
    return c.error("x has {} axes; needed batch and channels at least", *rank);
  return {};
}

Status infer_group(InferCall& c) {
  const auto& a = c.attr<GroupNormAttrs>();
  if (a.groups < 1) return c.error("groups is {}; needed 1 or more", a.groups);
  if (!is_float(a.stash)) return c.error("stash is {}; needed a float type", name(a.stash));
  NNEX_TRY(need_image(c));
  if (c.dims(0)) {
    const Dim& channels = (*c.dims(0))[1];
    if (channels.is_number() && channels.value() % a.groups != 0)
      return c.error("x has {} channels; {} groups do not divide them", channels.value(), a.groups);
  }
  for (size_t port : {1, 2}) NNEX_TRY(need_channels(c, port, 1));
  return same_shape(c);
}

Status run_group(Call& c) {
  const auto& a = c.attr<GroupNormAttrs>();
  const Shape& x = c.shape(0);
  if (x[1] % a.groups != 0) return c.fault("x has {} channels; {} groups do not divide them", x[1], a.groups);
  int64_t rest = x[1] / a.groups;
  for (int64_t i = 2; i < x.rank(); ++i) rest *= x[i];
  const Shape grouped{x[0], a.groups, rest};
  const Reduction sets(grouped, {false, false, true}, true);
  NNEX_ASSIGN(Tensor y, stashed(c, c.in(0).reshaped(grouped), sets, true, a.epsilon, a.stash));
  return finish(c, std::move(y), c.in(0).dtype(), along(x.rank(), 1, x[1]), x);
}

Status infer_instance(InferCall& c) {
  NNEX_TRY(need_image(c));
  for (size_t port : {1, 2}) NNEX_TRY(need_channels(c, port, 1));
  return same_shape(c);
}

std::vector<bool> spatial_axes(int64_t rank) {
  std::vector<bool> gone(static_cast<size_t>(rank), true);
  gone[0] = gone[1] = false;
  return gone;
}

template <class W>
Status run_instance(Call& c) {
  const Shape& shape = c.shape(0);
  NNEX_ASSIGN(Tensor y, normalised<W>(c.in(0), Reduction(shape, spatial_axes(shape.rank()), true), true,
                                      c.attr<InstanceNormAttrs>().epsilon));
  NNEX_ASSIGN(auto scale, parameter<W>(c, 1, along(shape.rank(), 1, shape[1])));
  NNEX_ASSIGN(auto offset, parameter<W>(c, 2, along(shape.rank(), 1, shape[1])));
  NNEX_TRY(scale_and_shift<W>(c, y, scale, offset));
  return put(c, 0, y, dtype_for<W>, shape);
}

// ---- Mean and variance

Status infer_mean_variance(InferCall& c) {
  if (auto rank = c.rank(0)) NNEX_TRY(reduced_axes(c.op().name, c.attr<MeanVarianceNormAttrs>().axes, *rank, {}));
  return same_shape(c);
}

template <class T>
Status run_mean_variance(Call& c) {
  const auto& a = c.attr<MeanVarianceNormAttrs>();
  NNEX_ASSIGN(Reduction sets, reduction(c, 0, a.axes, {}));
  const T* from = c.in<T>(0).data();
  T* to = c.out<T>(0).data();
  sets.each(c.in<T>(0), [&](int64_t, const ElementSet<T>& set) {
    const T n = static_cast<T>(set.n);
    const T mean = pairwise_sum<T>(set, 0, set.n, [](T v) { return v; }) / n;
    const T squares = pairwise_sum<T>(set, 0, set.n, [=](T v) { return (v - mean) * (v - mean); });
    const T deviation = std::sqrt(squares / n) + static_cast<T>(a.epsilon);
    for (int64_t i = 0; i < set.n; ++i) to[set.base - from + set.place(i)] = (set[i] - mean) / deviation;
  });
  return {};
}

// ---- Entries

constexpr Port optional_port(std::string_view name, TypeRule type) { return {name, type, Arity::optional}; }

constexpr AttrType kLayerFields = attrs_of<LayerNormAttrs>(
    {field<&LayerNormAttrs::axes>("axes", "Axes normalised together; negative counts from the last."),
     field<&LayerNormAttrs::to_end>("to_end", "The one axis listed, and every later one."),
     field<&LayerNormAttrs::epsilon>("epsilon", "Added to the variance."),
     field<&LayerNormAttrs::stash>("stash", "Element type of the first stage.")});

constexpr OpRow kNormOps[] = {
    {
        .name = "batch_normalization",
        .summary = "scale (x - mean) / sqrt(variance + epsilon) + offset, by channel.",
        .source = "NNEF 1.0.5 batch_normalization; ONNX BatchNormalization-15; WebNN batchNormalization()",
        .inputs = {{"x", kF}, {"mean", kF}, {"variance", kF}, optional_port("offset", kF), optional_port("scale", kF)},
        .outputs = {{"y", same_type_as("x")},
                    {"new_mean", same_type_as("mean"), Arity::optional},
                    {"new_variance", same_type_as("variance"), Arity::optional}},
        .attrs = attrs_of<BatchNormAttrs>(
            {field<&BatchNormAttrs::axis>("axis", "Where the channels are."),
             field<&BatchNormAttrs::epsilon>("epsilon", "Added to the variance."),
             field<&BatchNormAttrs::training>("training", "By the mean and variance of x itself."),
             field<&BatchNormAttrs::momentum>("momentum", "Weight of the old mean and variance in the new ones.")}),
        .infer = infer_batch,
        .reference = any([](Call& c) -> Status {
          return wide_type(c.in(0).dtype()) == DType::f64 ? run_batch<double>(c) : run_batch<float>(c);
        }),
        .spelled = {{nnef, "batch_normalization"},
                    {onnx,
                     "BatchNormalization",
                     {{"training", "training_mode", &int_bool}},
                     1,
                     "",
                     {},
                     {"x", "scale", "offset", "mean", "variance"}},
                    {webnn, "batchNormalization", {{"offset", "bias"}}}},
        .layout = LayoutRole::axis,
    },
    {
        .name = "instance_normalization",
        .summary = "x less its mean, by its deviation, for each item and channel; then scaled and shifted.",
        .source = "ONNX InstanceNormalization-22; WebNN instanceNormalization()",
        .inputs = {{"x", kF}, optional_port("scale", same_type_as("x")), optional_port("offset", same_type_as("x"))},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<InstanceNormAttrs>({field<&InstanceNormAttrs::epsilon>("epsilon", "Added to the variance.")}),
        .infer = infer_instance,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_instance<T>(c); }),
        .body = "d = x - mean_reduce(x, axes = [2], to_end = true); "
                "n = d / sqrt(mean_reduce(d * d, axes = [2], to_end = true) + epsilon); "
                "each = [for i in range_of(shape_of(x)) if i > 0 yield -1 if i == 1 else 1]; s = n * reshape(scale, "
                "shape = each) if given(scale) else n; "
                "y = s + reshape(offset, shape = each) if given(offset) else s;",
        .spelled = {{onnx, "InstanceNormalization"}, {webnn, "instanceNormalization", {{"offset", "bias"}}}},
    },
    {
        .name = "layer_normalization",
        .summary = "x less its mean over axes, by its deviation; then scaled and shifted.",
        .source = "ONNX LayerNormalization-17; WebNN layerNormalization()",
        .inputs = {{"x", kF}, optional_port("scale", same_type_as("x")), optional_port("offset", same_type_as("x"))},
        .outputs = {{"y", same_type_as("x")},
                    {"mean", type_among(kF, "stash"), Arity::optional},
                    {"inv_std", type_among(kF, "stash"), Arity::optional}},
        .attrs = kLayerFields,
        .infer = infer_layer,
        .reference = any(run_layer),
        .body = "v = x if dtype(x) == stash else cast(x, to = stash); "
                "mean = mean_reduce(v, axes = axes, to_end = to_end); d = v - mean; "
                "w = sqrt(mean_reduce(d * d, axes = axes, to_end = to_end) + epsilon); "
                "n = d / w if dtype(x) == stash else cast(d / w, to = dtype(x)); "
                "s = n * scale if given(scale) else n; y = s + offset if given(offset) else s; inv_std = 1.0 / w;",
        .spelled = {{onnx,
                     "LayerNormalization",
                     {{"axes", "axis", &one_item_list}, {"stash", "stash_type", &onnx_dtype}},
                     17,
                     "",
                     {{"to_end", "true"}}},
                    {webnn, "layerNormalization", {{"offset", "bias"}}, 1, "", {{"axes", "[1]"}, {"to_end", "true"}}}},
    },
    {
        .name = "group_normalization",
        .summary = "x less its mean over each group of channels, by its deviation; then scaled and shifted.",
        .source = "ONNX GroupNormalization-21",
        .inputs = {{"x", kF}, {"scale", same_type_as("x")}, {"offset", same_type_as("x")}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<GroupNormAttrs>({field<&GroupNormAttrs::groups>("groups", "Groups of channels.", required),
                                           field<&GroupNormAttrs::epsilon>("epsilon", "Added to the variance."),
                                           field<&GroupNormAttrs::stash>("stash", "Element type of the first stage.")}),
        .infer = infer_group,
        .reference = any(run_group),
        .body = "v = x if dtype(x) == stash else cast(x, to = stash); "
                "g = reshape(v, shape = [shape_of(x)[0], groups, -1]); d = g - mean_reduce(g, axes = [2]); "
                "m = reshape(d / sqrt(mean_reduce(d * d, axes = [2]) + epsilon), shape = shape_of(x)); "
                "n = m if dtype(x) == stash else cast(m, to = dtype(x)); "
                "each = [for i in range_of(shape_of(x)) if i > 0 yield -1 if i == 1 else 1]; "
                "y = n * reshape(scale, shape = each) + reshape(offset, shape = each);",
        .spelled = {{onnx, "GroupNormalization", {{"groups", "num_groups"}, {"stash", "stash_type", &onnx_dtype}}, 18}},
    },
    {
        .name = "rms_normalization",
        .summary = "x by the root of its mean square over axes; then scaled, in scale's type.",
        .source = "ONNX RMSNormalization-23",
        .inputs = {{"x", kF}, {"scale", kF}},
        .outputs = {{"y", same_type_as("scale")}},
        .attrs = kLayerFields,
        .infer = infer_layer,
        .reference = any(run_rms),
        .body = "v = x if dtype(x) == stash else cast(x, to = stash); "
                "n = v / sqrt(mean_reduce(v * v, axes = axes, to_end = to_end) + epsilon); "
                "y = n * scale if dtype(scale) == stash else cast(n, to = dtype(scale)) * scale;",
        .spelled = {{onnx,
                     "RMSNormalization",
                     {{"axes", "axis", &one_item_list}, {"stash", "stash_type", &onnx_dtype}},
                     23,
                     "",
                     {{"to_end", "true"}}}},
    },
    {
        .name = "mean_variance_normalization",
        .summary = "(x - mean) / (deviation + epsilon) over axes.",
        .source = "ONNX MeanVarianceNormalization-13",
        .inputs = {{"x", kF}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<MeanVarianceNormAttrs>(
            {field<&MeanVarianceNormAttrs::axes>("axes", "Axes normalised together."),
             field<&MeanVarianceNormAttrs::epsilon>("epsilon", "Added to the deviation.")}),
        .infer = infer_mean_variance,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_mean_variance<T>(c); }),
        .body = "d = x - mean_reduce(x, axes = axes); y = d / (sqrt(mean_reduce(d * d, axes = axes)) + epsilon);",
        .spelled = {{onnx, "MeanVarianceNormalization", {}, 9}},
    },
};
}  // namespace

std::span<const OpDef> norm_ops() { return stored<kNormOps>(); }

}  // namespace nnex
