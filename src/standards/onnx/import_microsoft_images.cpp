// Operators of the domain com.microsoft over images: convolutions and norms with channels last, parts of images,
// transposed convolutions whose padding a run says.

#include "ops/gather.h"
#include "ops/join.h"
#include "ops/shape.h"
#include "standards/onnx/import_microsoft.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace microsoft {
namespace {

/// The standard's; filters [outputs, ..., inputs / group] have their channels last, too.
Result<Quirked> conv_channels_last(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const auto make = [&](ValueId x) -> Result<ValueId> {
    Inputs in = n.in;
    in[0] = x;
    NNEX_ASSIGN(in[1], with_channels(n, n.in[1], false));
    return n.importer.standard_result(n, "Conv", std::move(in));
  };
  NNEX_ASSIGN(const ValueId y, channels_second(n, true, n.in[0], make));
  n.bind(0, y);
  return Quirked::done;
}

/// ... with the standard's filters; Z has channels last, and is added before the activation.
Result<Quirked> fused_conv_channels_last(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const std::string activation = n.word("activation", "");
  const Reals params = n.reals("activation_params");
  for (std::string_view own : {"activation", "activation_params"}) n.drop(own);
  const auto make = [&](ValueId x) { return n.importer.standard_result(n, "Conv", {x, n.in[1], n.in[2]}); };
  NNEX_ASSIGN(ValueId y, channels_second(n, true, n.in[0], make));
  NNEX_ASSIGN(y, activated(n, plus(n, y, 3), activation, params));
  n.bind(0, y);
  return Quirked::done;
}

// ---- Norms of groups of channels

/// Of sum, which is input 0 or more; halves are rounded once, at the end.
Result<Quirked> norm_of_groups(NodeImport& n, ValueId sum) {
  const int64_t activation = n.integer("activation", 0), last = n.integer("channels_last", 1);
  if (activation != 0 && activation != 1)
    return n.error(fmt::format("activation is {}; needed 0 or 1, SiLU", activation));
  n.set("num_groups", n.integer("groups", 0));
  for (std::string_view own : {"activation", "channels_last", "groups"}) n.drop(own);
  const DType type = real_type(n, 0);
  const bool halves = type == DType::f16 || type == DType::bf16;
  const auto wide = [&](ValueId x, DType from) {
    return from == DType::f16 || from == DType::bf16 ? cast_to(n, x, DType::f32) : x;
  };
  const ValueId gamma = wide(n.in[1], real_type(n, 1)), beta = wide(n.in[2], real_type(n, 2));
  const auto make = [&](ValueId x) -> Result<ValueId> {
    NNEX_ASSIGN(const ValueId y, n.importer.standard_result(n, "GroupNormalization", {x, gamma, beta}));
    return activation == 1 ? n.b("silu", {y}) : y;
  };
  NNEX_ASSIGN(const ValueId y, channels_second(n, last != 0, wide(sum, type), make));
  n.bind(0, halves ? cast_to(n, y, type) : y);
  return Quirked::done;
}

Result<Quirked> group_norm_of_images(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2}));
  return norm_of_groups(n, n.in[0]);
}

/// The norm of input + skip + bias, which is output 1; the skip may be one number a channel.
Result<Quirked> skip_group_norm(NodeImport& n) {
  enum : size_t { kX, kGamma, kBeta, kSkip, kBias };
  NNEX_TRY(needs(n, {kX, kGamma, kBeta, kSkip}));
  const bool last = n.integer("channels_last", 1) != 0;
  const auto beside = [&](size_t i, std::initializer_list<int64_t> last_axes, std::initializer_list<int64_t> axes) {
    if (last && last_axes.size() == 0) return n.in[i];
    return n.b("unsqueeze", {n.in[i], n.b.ints(last ? last_axes : axes)});
  };
  ValueId sum = n.b("add", {n.in[kX], n.rank(kSkip) == 2 ? beside(kSkip, {1, 2}, {2, 3}) : n.in[kSkip]});
  if (n.has(kBias)) sum = n.b("add", {sum, beside(kBias, {}, {1, 2})});
  n.bind(1, sum);
  return norm_of_groups(n, sum);
}

// ---- Parts of images

/// Where the elements of a part lie along one axis of an image.
struct PartAxis {
  ValueId inside;          ///< Of each whether it lies in the image: [parts, size].
  ValueId before, behind;  ///< The elements around it, as i64 numbers in the image.
  ValueId share;           ///< Of the one behind.
};

class ImageParts {
 public:
  ImageParts(NodeImport& n, DType type, bool nearest) : n_(n), type_(type), nearest_(nearest) {}

  /// Of rows (0) or columns (1): `size` places from roi[axis] to roi[axis + 2], in parts of the axis.
  PartAxis along(int64_t axis, int64_t size) {
    const ValueId last = n_.b("sub", {cast_to(n_, extent_of(axis + 2), type_), number(1)});
    const auto corner = [&](int64_t column) {
      return n_.b("slice", {n_.in[1], n_.b.ints({column}), n_.b.ints({column + 1}), n_.b.ints({1})});
    };
    const ValueId from = corner(axis), to = corner(axis + 2);
    ValueId place;
    if (size == 1) {
      place = n_.b("mul", {n_.b("mul", {n_.b("add", {from, to}), number(0.5)}), last});
    } else {
      std::vector<float> count(static_cast<size_t>(size));
      for (size_t i = 0; i < count.size(); ++i) count[i] = static_cast<float>(i);
      const ValueId steps = cast_to(n_, n_.b.constant(Tensor::of(Shape{size}, count)), type_);
      const ValueId step = n_.b("div", {n_.b("mul", {n_.b("sub", {to, from}), last}), number(double(size - 1))});
      const ValueId walked = n_.b("add", {n_.b("mul", {from, last}), n_.b("mul", {steps, step})});
      const ValueId at_end = n_.b("eq", {steps, number(double(size - 1))});
      place = n_.b("select", {at_end, n_.b("mul", {to, last}), walked});
    }
    PartAxis out;
    out.inside = n_.b("and", {n_.b("ge", {place, number(0)}), n_.b("le", {place, last})});
    const ValueId near = n_.b("select", {out.inside, place, number(0)});
    const ValueId low = n_.b("floor", {nearest_ ? n_.b("add", {near, number(0.5)}) : near});
    out.before = cast_to(n_, low, DType::i64);
    if (nearest_) return out;
    out.behind = cast_to(n_, n_.b("ceil", {near}), DType::i64);
    out.share = n_.b("sub", {near, low});
    return out;
  }

  /// Elements at these rows and columns, [parts, rows, columns, channels]. `image`: the number of each part's, as a
  /// column of columns.
  ValueId elements(ValueId pixels, ValueId image, ValueId rows, ValueId columns) {
    const ValueId lines = n_.b("add", {n_.b("mul", {image, extent_of(2)}), spread(rows, 2)});
    const ValueId at = n_.b("add", {n_.b("mul", {lines, extent_of(3)}), spread(columns, 1)});
    return n_.b("gather", {pixels, at}, GatherAttrs{});
  }

  ValueId spread(ValueId x, int64_t axis) { return n_.b("unsqueeze", {x, n_.b.ints({axis})}); }
  ValueId number(double value) { return n_.b.number(type_, value); }
  ValueId between(ValueId a, ValueId b, ValueId share) {
    return n_.b("add", {a, n_.b("mul", {n_.b("sub", {b, a}), share})});
  }

 private:
  ValueId extent_of(int64_t axis) {
    ShapeAttrs a;
    a.start = axis, a.end = axis + 1;
    return n_.b("shape", {n_.in[0]}, a);
  }

  NodeImport& n_;
  DType type_;
  bool nearest_;
};

/// Each region (top, left, bottom, right; 1: the last row or column) of an image, resized; beyond the image stands
/// extrapolation_value.
Result<Quirked> crop_and_resize(NodeImport& n) {
  enum : size_t { kX, kRegions, kImages, kSize };
  NNEX_TRY(needs(n, {kX, kRegions, kImages, kSize}));
  const std::string mode = n.word("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") return lacks(n, fmt::format("mode '{}'", mode));
  const Tensor* const size = n.constant(kSize);
  if (!size) return lacks(n, "a crop_size that is no initializer");
  const Ints extents = ints_of(*size);
  constexpr int64_t kLargest = int64_t{1} << 20;
  if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1 || extents[0] > kLargest || extents[1] > kLargest)
    return n.error("crop_size is no height and width");
  if (n.rank(kX).value_or(4) != 4) return n.error(fmt::format("the input has {} axes; needed 4", *n.rank(kX)));
  ImageParts parts(n, real_type(n, kX), mode == "nearest");
  const PartAxis y = parts.along(0, extents[0]), x = parts.along(1, extents[1]);
  ReshapeAttrs copied;
  copied.zero = ZeroExtent::copy;
  const ValueId by_channel = n.b("transpose", {n.in[kX]}, TransposeAttrs{{0, 2, 3, 1}});
  ShapeAttrs channels;
  channels.start = 1, channels.end = 2;
  const ValueId rows = n.b("concat", {n.b.ints({-1}), n.b("shape", {n.in[kX]}, channels)}, AxisAttrs{0});
  const ValueId pixels = n.b("reshape", {by_channel, rows});
  const ValueId image = n.b("reshape", {cast_to(n, n.in[kImages], DType::i64), n.b.ints({-1, 1, 1})});
  ValueId part = parts.elements(pixels, image, y.before, x.before);
  if (mode == "bilinear") {
    const ValueId x_share = parts.spread(parts.spread(x.share, 1), 3);
    const ValueId above = parts.between(part, parts.elements(pixels, image, y.before, x.behind), x_share);
    const ValueId below = parts.between(parts.elements(pixels, image, y.behind, x.before),
                                        parts.elements(pixels, image, y.behind, x.behind), x_share);
    part = parts.between(above, below, parts.spread(parts.spread(y.share, 2), 3));
  }
  const ValueId inside = parts.spread(n.b("and", {parts.spread(y.inside, 2), parts.spread(x.inside, 1)}), 3);
  const ValueId beyond = parts.number(n.real("extrapolation_value", 0));
  n.bind(0, n.b("transpose", {n.b("select", {inside, part, beyond})}, TransposeAttrs{{0, 3, 1, 2}}));
  return Quirked::done;
}

// ---- Transposed convolutions

/// The result without padding, less its borders.
Result<Quirked> deconv_dynamic_pads(NodeImport& n) {
  enum : size_t { kX, kFilter, kPads, kBias };
  NNEX_TRY(needs(n, {kX, kFilter}));
  const bool cut = n.has(kPads) && !n.constant(kPads);
  if (n.has(kPads) && n.word("auto_pad", "NOTSET") != "NOTSET") return lacks(n, "both pads and auto_pad");
  const auto rank = n.rank(kFilter);
  if (cut && (!rank || *rank < 3)) return lacks(n, "a filter of unknown rank");
  if (n.has(kPads) && !cut) n.set("pads", ints_of(*n.constant(kPads)));
  NNEX_ASSIGN(ValueId y, n.importer.standard_result(n, "ConvTranspose", {n.in[kX], n.in[kFilter], n.in[kBias]}));
  if (cut) {
    Ints axes;
    for (int64_t axis = 2; axis < *rank; ++axis) axes.push_back(axis);
    y = n.b("pad", {y, n.b("neg", {n.in[kPads]}), {}, n.b.ints(axes)});
  }
  n.bind(0, y);
  return Quirked::done;
}

constexpr QuirkRow kImageRows[] = {
    {"ConvTransposeWithDynamicPads", deconv_dynamic_pads, kDomain,
     "1 T T T1? T? > T | auto_pad:s dilations:I group:i kernel_shape:I output_padding:I strides:I", "ConvTranspose"},
    {"CropAndResize", crop_and_resize, kDomain, "1 T1 T1 T2 T2 > T1 | extrapolation_value:f mode:s"},
    {"GroupNorm", group_norm_of_images, kDomain, "1 T M M > T | activation:i channels_last:i epsilon:f groups:i",
     "GroupNormalization"},
    {"NhwcConv", conv_channels_last, kDomain,
     "1 T T T? > T | auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I", "Conv"},
    {"NhwcFusedConv", fused_conv_channels_last, kDomain,
     "1 T T T? T? > T | activation:s activation_params:F auto_pad:s dilations:I group:i kernel_shape:I pads:I "
     "strides:I",
     "Conv"},
    {"SkipGroupNorm", skip_group_norm, kDomain, "1 T M M T T? > T T? | activation:i channels_last:i epsilon:f groups:i",
     "GroupNormalization"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_image_quirks() { return read_of<microsoft::kImageRows>(); }

}  // namespace nnex::onnx_format
