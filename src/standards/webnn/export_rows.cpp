// Rows whose words differ from WebNN's: elements, reductions, normalisations.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/gather.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "standards/webnn/export.h"
#include "tensor/convert.h"

namespace nnex::ml {
namespace {

/// Axes counted from the first, sorted.
Ints counted(Ints axes, size_t rank) {
  for (int64_t& a : axes) a += a < 0 ? static_cast<int64_t>(rank) : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// The value itself, under another name.
void same(RowNode& w) { w.give(w.in(0)); }

// ---- Elements

bool is_whole(const nnex::Tensor* t) {
  for (int64_t i = 0; t && i < t->count(); ++i)
    if (!(std::abs(real_at(*t, i)) < 0x1p31) || real_at(*t, i) != std::trunc(real_at(*t, i))) return false;
  return t != nullptr;
}

/// Exponents of another type become x's, where that changes none of them.
void pow(RowNode& w) {
  if (is_int(w.dtype()) && is_real(w.dtype(1)) && !is_whole(w.constant(1)))
    return w.refuse("pow: WebNN has no power of integers by floats");
  const Ref x = w.in(0);
  if (w.to.failed()) return;
  w.give(w.to.call("pow", {{"a", x}, {"b", w.to.cast(w.in(1), w.to.type(x))}}));
}

void add_n(RowNode& w) {
  if (w.node.in.empty()) return w.refuse("add_n: a sum of nothing");
  Ref sum = w.in(0);
  for (size_t i = 1; i < w.node.in.size(); ++i) sum = w.to.call("add", {{"a", sum}, {"b", w.in(i)}});
  w.give(sum);
}

/// WebNN leaves open what a NaN gives.
void of_nans(RowNode& w) {
  w.reset("nans");
  plain_row(w);
}

/// Limits that are numbers are options; others are max and min, in the order that lets the right one win.
void clamp(RowNode& w) {
  const AttrValue low = number_of(w.constant(1)), high = number_of(w.constant(2));
  const auto none = [&](size_t i, const AttrValue& v) {
    auto* x = std::get_if<double>(&v);
    return !w.given(i) || (x && std::isnan(*x));
  };
  const auto said = [&](size_t i, const AttrValue& v) { return none(i, v) || v.index() != 0; };
  bool crossed = false;
  if (!none(1, low) && !none(2, high) && said(1, low) && said(2, high))
    crossed = real_at(*w.constant(1), 0) > real_at(*w.constant(2), 0);
  if (said(1, low) && said(2, high) && !crossed) {
    std::vector<Named> args = {{"input", w.in(0)}};
    if (!none(1, low)) args.emplace_back("minValue", low);
    if (!none(2, high)) args.emplace_back("maxValue", high);
    return w.give(w.to.call("clamp", std::move(args)));
  }
  Ref y = w.in(0);
  const auto bound = [&](std::string_view op, size_t i) {
    if (w.given(i)) y = w.to.call(op, {{"a", y}, {"b", w.in(i)}});
  };
  const bool high_wins = w.attr<ClampAttrs>().crossed == Crossed::high;
  bound(high_wins ? "max" : "min", high_wins ? 1 : 2);
  bound(high_wins ? "min" : "max", high_wins ? 2 : 1);
  w.give(y);
}

/// To truth: whether it is not 0. From floats rounding down: floor first.
void cast(RowNode& w) {
  const auto& a = w.attr<CastAttrs>();
  Ref x = w.in(0);
  if (w.to.failed()) return;
  if (a.to == DType::boolean) {
    if (w.dtype() != DType::boolean) x = w.to.call("notEqual", {{"a", x}, {"b", w.to.scalar(w.to.type(x), 0)}});
    return w.give(x);
  }
  const auto to = data_type_of(a.to);
  if (!to) return w.refuse(fmt::format("cast: WebNN has no type {}", nnex::name(a.to)));
  if (a.rounding == CastRounding::floor && is_float(w.dtype()) && is_int(a.to)) x = w.to.call("floor", {{"input", x}});
  w.give(w.to.cast(x, *to));
}

/// Whole numbers: x - y * (x / y), whose sign becomes the divisor's where it must.
bool may_be_zero(const nnex::Tensor* t) {
  for (int64_t i = 0; t && i < t->count(); ++i)
    if (int_at(*t, i) == 0) return true;
  return !t;
}

/// The rest of a division, of the divisor's sign where that is asked for; by 0 it is 0.
void mod(RowNode& w) {
  if (!is_int(w.dtype())) return w.refuse("mod: WebNN has no remainder of floats");
  const Ref x = w.in(0), y = w.in(1);
  if (w.to.failed()) return;
  const Ref quotient = w.to.call("div", {{"a", x}, {"b", y}});
  Ref rest = w.to.call("sub", {{"a", x}, {"b", w.to.call("mul", {{"a", quotient}, {"b", y}})}});
  const Ref zero = w.to.scalar(w.to.type(x), 0);
  if (may_be_zero(w.constant(1)))
    rest = w.to.call(
        "where",
        {{"condition", w.to.call("equal", {{"a", y}, {"b", zero}})}, {"trueValue", zero}, {"falseValue", rest}});
  if (w.attr<ModAttrs>().division == Division::truncate || is_unsigned_int(w.dtype())) return w.give(rest);
  const auto below = [&](Ref v) { return w.to.call("lesser", {{"a", v}, {"b", zero}}); };
  const Ref differ = w.to.call("logicalXor", {{"a", below(rest)}, {"b", below(y)}});
  const Ref some = w.to.call("notEqual", {{"a", rest}, {"b", zero}});
  const Ref other = w.to.call("logicalAnd", {{"a", differ}, {"b", some}});
  w.give(w.to.call(
      "where", {{"condition", other}, {"trueValue", w.to.call("add", {{"a", rest}, {"b", y}})}, {"falseValue", rest}}));
}

/// Infinities of one sign are equal to that infinity.
void is_inf(RowNode& w) {
  const auto& a = w.attr<IsInfAttrs>();
  if (a.negative && a.positive) return plain_row(w);
  const Ref x = w.in(0);
  if (w.to.failed()) return;
  if (!a.negative && !a.positive) return w.refuse("isinf: of neither sign");
  const double infinity = a.positive ? INFINITY : -INFINITY;
  w.give(w.to.call("equal", {{"a", x}, {"b", w.to.scalar(w.to.type(x), infinity)}}));
}

// ---- Reductions

/// The axes of a reduction: absent where all are meant.
struct Reduced {
  std::optional<Ints> axes;
  bool known = true;
};
Reduced reduced_axes(RowNode& w) {
  const int port = w.node.op->input("axes");
  Reduced out;
  if (port >= 0 && w.given(static_cast<size_t>(port))) {
    const nnex::Tensor* t = w.constant(static_cast<size_t>(port));
    out.known = t != nullptr;
    if (t) out.axes = counted(ints_of(*t), w.x().size());
  }
  const AttrValue empty = w.get("when_empty"), to_end = w.get("to_end");
  if (out.axes && out.axes->empty() && std::holds_alternative<std::string>(empty) &&
      std::get<std::string>(empty) == "all")
    out.axes.reset();
  if (out.axes && !out.axes->empty() && std::holds_alternative<bool>(to_end) && std::get<bool>(to_end)) {
    Ints all(w.x().size() - static_cast<size_t>(out.axes->front()));
    std::iota(all.begin(), all.end(), out.axes->front());
    out.axes = std::move(all);
  }
  return out;
}

void reduce(RowNode& w) {
  const Reduced r = reduced_axes(w);
  if (!r.known) return w.refuse(fmt::format("{}: its axes are computed; WebNN needs numbers", w.row()));
  for (std::string_view field : {"when_empty", "to_end"})
    if (w.has(field)) w.reset(field);
  if (const int port = w.node.op->input("axes"); port >= 0 && w.plain.in.size() > static_cast<size_t>(port))
    w.plain.in[static_cast<size_t>(port)] = {};
  if (r.axes) w.plain.known.emplace_back("axes", *r.axes);
  plain_row(w);
}

/// Truths are 0 and 1: any is their largest, all their least.
void truth_reduce(RowNode& w) {
  const Reduced r = reduced_axes(w);
  if (!r.known) return w.refuse(fmt::format("{}: its axes are computed; WebNN needs numbers", w.row()));
  std::vector<Named> args = {{"input", w.in(0)}, {"keepDimensions", w.get("keepdims")}};
  if (r.axes) args.emplace_back("axes", AttrValue(*r.axes));
  w.give(w.to.call(w.row() == "any_reduce" ? "reduceMax" : "reduceMin", std::move(args)));
}

void arg_reduce(RowNode& w) {
  auto axes = counted(w.attr<ArgReduceAttrs>().axes, w.x().size());
  w.set("axes", std::move(axes));
  plain_row(w);
}

void cum_sum(RowNode& w) {
  const nnex::Tensor* axis = w.constant(1);
  if (!axis || axis->count() != 1) return w.refuse("cum_sum: its axis is computed; WebNN needs a number");
  const int64_t at = int_at(*axis, 0), rank = static_cast<int64_t>(w.x().size());
  w.plain.known.emplace_back("axis", at < 0 ? at + rank : at);
  plain_row(w);
}

/// Several axes must be the last or stand side by side: then they are one.
void softmax(RowNode& w) {
  const auto& a = w.attr<SoftmaxAttrs>();
  const Ints x = w.x();
  Ints axes = counted(a.axes, x.size());
  if (a.to_end && !axes.empty())
    for (int64_t i = axes.back() + 1; i < static_cast<int64_t>(x.size()); ++i) axes.push_back(i);
  for (size_t i = 1; i < axes.size(); ++i)
    if (axes[i] != axes[i - 1] + 1) return w.refuse("softmax: over axes that are not side by side");
  if (axes.empty()) return w.refuse("softmax: over no axis");
  const auto from = static_cast<size_t>(axes.front());
  Ints merged(x.begin(), x.begin() + axes.front());
  merged.push_back(1);
  for (int64_t axis : axes) merged.back() *= x[static_cast<size_t>(axis)];
  merged.insert(merged.end(), x.begin() + static_cast<int64_t>(from + axes.size()), x.end());
  const Ref y = w.to.call("softmax", {{"input", w.to.reshaped(w.in(0), merged)}, {"axis", AttrValue(axes.front())}});
  w.give(w.to.reshaped(y, x));
}

// ---- Normalisations

/// Shaped so; a vector of one number serves all.
Ref parameter(RowNode& w, size_t port, const Ints& shape) {
  if (!w.given(port)) return {};
  Ref r = w.in(port);
  if (w.to.failed()) return {};
  const Ints have = w.to.shape(r);
  const auto product = [](const Ints& s) {
    return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>());
  };
  if (product(have) == product(shape)) return w.to.reshaped(r, shape);
  return w.to.call("expand", {{"input", r}, {"newShape", AttrValue(shape)}});
}

void batch_normalization(RowNode& w) {
  const auto& a = w.attr<BatchNormAttrs>();
  if (a.training || w.wants(1) || w.wants(2)) return w.refuse("batch_normalization: WebNN has no training");
  const Ints x = w.x();
  const auto axis = a.axis < 0 ? a.axis + static_cast<int64_t>(x.size()) : a.axis;
  const Ints channels = {x[static_cast<size_t>(axis)]};
  const auto port = [&](std::string_view name) {
    return parameter(w, static_cast<size_t>(w.node.op->input(name)), channels);
  };
  w.give(w.to.call("batchNormalization", {{"input", w.in(0)},
                                          {"mean", port("mean")},
                                          {"variance", port("variance")},
                                          {"scale", port("scale")},
                                          {"bias", port("offset")},
                                          {"axis", AttrValue(axis)},
                                          {"epsilon", AttrValue(a.epsilon)}}));
}

/// Of four axes; fewer or more spatial ones are counted as two.
void instance_normalization(RowNode& w) {
  const Ints x = w.x();
  if (x.size() < 2) return w.refuse("instance_normalization: needed batch and channels");
  Ints four = {x[0], x[1], 1, 1};
  for (size_t i = 2; i < x.size(); ++i) four[i == 2 && x.size() > 3 ? 2 : 3] *= x[i];
  const Ref y = w.to.call("instanceNormalization", {{"input", w.to.reshaped(w.in(0), four)},
                                                    {"scale", parameter(w, 1, {x[1]})},
                                                    {"bias", parameter(w, 2, {x[1]})},
                                                    {"epsilon", w.get("epsilon")}});
  w.give(w.to.reshaped(y, x));
}

void layer_normalization(RowNode& w) {
  const auto& a = w.attr<LayerNormAttrs>();
  if (w.wants(1) || w.wants(2)) return w.refuse("layer_normalization: WebNN does not give mean and deviation");
  const Ints x = w.x();
  Ints axes = counted(a.axes, x.size()), shape;
  if (a.to_end && !axes.empty())
    for (int64_t i = axes.back() + 1; i < static_cast<int64_t>(x.size()); ++i) axes.push_back(i);
  for (int64_t axis : axes) shape.push_back(x[static_cast<size_t>(axis)]);
  w.give(w.to.call("layerNormalization", {{"input", w.in(0)},
                                          {"scale", parameter(w, 1, shape)},
                                          {"bias", parameter(w, 2, shape)},
                                          {"axes", AttrValue(axes)},
                                          {"epsilon", AttrValue(a.epsilon)}}));
}

/// x by the root of its mean square.
void rms_normalization(RowNode& w) {
  const auto& a = w.attr<LayerNormAttrs>();
  const Ints x = w.x();
  Ints axes = counted(a.axes, x.size()), shape;
  if (a.to_end && !axes.empty())
    for (int64_t i = axes.back() + 1; i < static_cast<int64_t>(x.size()); ++i) axes.push_back(i);
  Ref in = w.in(0);
  const Ref squares = w.to.call("mul", {{"a", in}, {"b", in}});
  const Ref mean =
      w.to.call("reduceMean", {{"input", squares}, {"axes", AttrValue(axes)}, {"keepDimensions", AttrValue(true)}});
  if (w.to.failed()) return;
  const Ref sum = w.to.call("add", {{"a", mean}, {"b", w.to.scalar(w.to.type(in), a.epsilon)}});
  const Ref y = w.to.call("div", {{"a", in}, {"b", w.to.call("sqrt", {{"input", sum}})}});
  w.give(w.to.call("mul", {{"a", y}, {"b", w.in(1)}}));
}

/// Groups are channels of an instance normalisation; then a factor and a shift a channel.
void group_normalization(RowNode& w) {
  const auto& a = w.attr<GroupNormAttrs>();
  const Ints x = w.x();
  Ints channels(x.size(), 1);
  if (x.size() < 2 || a.groups < 1 || x[1] % a.groups) return w.refuse("group_normalization: no such groups");
  int64_t each = x[1] / a.groups;
  for (size_t i = 2; i < x.size(); ++i) each *= x[i];
  channels[1] = x[1];
  const Ref grouped = w.to.reshaped(w.in(0), {x[0], a.groups, 1, each});
  const Ref y = w.to.call("instanceNormalization", {{"input", grouped}, {"epsilon", AttrValue(a.epsilon)}});
  const Ref scaled = w.to.call("mul", {{"a", w.to.reshaped(y, x)}, {"b", parameter(w, 1, channels)}});
  w.give(w.to.call("add", {{"a", scaled}, {"b", parameter(w, 2, channels)}}));
}

/// Identity outside training; nobody may ask for the mask.
void dropout(RowNode& w) {
  if (w.wants(1)) return w.refuse("dropout: WebNN has no mask of it");
  const nnex::Tensor* training = w.constant(2);
  if (w.given(2) && (!training || int_at(*training, 0) != 0)) return w.refuse("dropout: WebNN has no training");
  same(w);
}

// ---- Choice

/// on where the index is the place, else off; places count along a new axis.
void one_hot(RowNode& w) {
  const auto& a = w.attr<OneHotAttrs>();
  const Ints y = w.y();
  const nnex::Tensor* values = w.constant(2);
  if (!values || values->count() != 2) return w.refuse("one_hot: its values are computed; WebNN needs numbers");
  const auto axis = static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(y.size()) : a.axis);
  const int64_t depth = y[axis];
  Ints along(y.size(), 1);
  along[axis] = depth;
  auto places = nnex::Tensor::make(nnex::DType::i64, nnex::Shape(along));
  if (!places.ok()) return w.refuse("one_hot: the places of its classes: " + places.error().message());
  const auto numbers = places->mutable_as<int64_t>();
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  Ref index = w.in(0);
  if (w.to.failed()) return;
  index = w.to.cast(index, DataType::int64);
  if (a.from_end) {
    const Ref below = w.to.call("lesser", {{"a", index}, {"b", w.to.scalar(DataType::int64, 0)}});
    const Ref counted =
        w.to.call("add", {{"a", index}, {"b", w.to.scalar(DataType::int64, static_cast<double>(depth))}});
    index = w.to.call("where", {{"condition", below}, {"trueValue", counted}, {"falseValue", index}});
  }
  Ints wide = y;
  wide[axis] = 1;
  const Ref place = w.to.constant(*std::move(places));
  const Ref is = w.to.call("equal", {{"a", w.to.reshaped(index, wide)}, {"b", place}});
  const auto value = [&](int64_t i) {
    const size_t each = static_cast<size_t>(values->bytes() / 2);
    return w.to.constant(
        nnex::Tensor::borrow(values->dtype(), nnex::Shape{}, values->data() + i * each, values->owner()));
  };
  const Ref on = value(1), off = value(0);
  w.give(w.to.call("where", {{"condition", is}, {"trueValue", on}, {"falseValue", off}}));
}

constexpr RowEntry kRows[] = {
    {"copy", same},
    {"pow", pow},
    {"add_n", add_n},
    {"clamp", clamp},
    {"min", of_nans},
    {"max", of_nans},
    {"relu", of_nans},
    {"cast", cast},
    {"mod", mod},
    {"isinf", is_inf},
    {"is_inf", is_inf},
    {"any_reduce", truth_reduce},
    {"all_reduce", truth_reduce},
    {"argmax_reduce", arg_reduce},
    {"argmin_reduce", arg_reduce},
    {"cum_sum", cum_sum},
    {"softmax", softmax},
    {"batch_normalization", batch_normalization},
    {"instance_normalization", instance_normalization},
    {"layer_normalization", layer_normalization},
    {"rms_normalization", rms_normalization},
    {"group_normalization", group_normalization},
    {"dropout", dropout},
    {"one_hot", one_hot},
};

/// Whether the operation of a row is one of WebNN's reductions.
bool is_reduction(std::string_view row) {
  const OpDef* op = find_op(row);
  if (!op) return false;
  return std::any_of(op->spelled.begin(), op->spelled.end(),
                     [](const Spelling& s) { return s.format == Format::webnn && s.name.starts_with("reduce"); });
}

}  // namespace

RowWriter find_row(std::string_view row) {
  for (const std::span<const RowEntry> rows : {std::span<const RowEntry>(kRows), moving_rows(), product_rows()})
    for (const RowEntry& r : rows)
      if (r.name == row) return r.write;
  return is_reduction(row) ? reduce : nullptr;
}

}  // namespace nnex::ml
