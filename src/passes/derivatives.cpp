#include "passes/derivatives.h"

#include <algorithm>
#include <iterator>

namespace nnex::passes {
namespace {

// Where a maximum or a minimum is reached twice, a binary operator gives all of the derivative to x, a reduction gives
// equal parts; at the corners of piecewise functions the derivative is that of the side the function's rule names.
constexpr Derivative kDerivatives[] = {
    // ---- arithmetic
    {"add", "d_x = g; d_y = g;"},
    {"sub", "d_x = g; d_y = -g;"},
    {"mul", "d_x = g * y; d_y = g * x;"},
    {"div", "d_x = g / y; d_y = -g * z / y;"},
    {"min", "d_x = select(x <= y, g, 0.0); d_y = select(x <= y, 0.0, g);"},
    {"max", "d_x = select(x >= y, g, 0.0); d_y = select(x >= y, 0.0, g);"},
    {"pow",
     "e = cast(y, to = dtype(x)); d_x = select(e == 0.0, 0.0, g * e * pow(x, e - 1.0)); "
     "d_y = select(z == 0.0, 0.0, g * z * log(x));"},
    {"add_n", "d_x = [for i in x yield g];"},
    {"clamp",
     "a = select(x < low, 0.0, g) if given(low) else g; d_x = select(x > high, 0.0, a) if given(high) else a;"},
    {"select", "d_x = select(condition, g, 0.0); d_y = select(condition, 0.0, g);"},
    // ---- functions of one number
    {"copy", "d_x = g;"},
    {"cast", "d_x = cast(g, to = dtype(x));"},
    {"neg", "d_x = -g;"},
    {"abs", "d_x = g * sign(x);"},
    {"sign", "d_x = 0.0;"},
    {"floor", "d_x = 0.0;"},
    {"ceil", "d_x = 0.0;"},
    {"round", "d_x = 0.0;"},
    {"sqr", "d_x = 2.0 * g * x;"},
    {"rcp", "d_x = -g * y * y;"},
    {"sqrt", "d_x = 0.5 * g / y;"},
    {"rsqr", "d_x = -2.0 * g * y / x;"},
    {"rsqrt", "d_x = -0.5 * g * y / x;"},
    {"exp", "d_x = g * y;"},
    {"log", "d_x = g / x;"},
    {"log2", "d_x = g / (x * 0.6931471805599453);"},
    {"sin", "d_x = g * cos(x);"},
    {"cos", "d_x = -g * sin(x);"},
    {"tan", "d_x = g * (1.0 + y * y);"},
    {"asin", "d_x = g / sqrt(1.0 - x * x);"},
    {"acos", "d_x = -g / sqrt(1.0 - x * x);"},
    {"atan", "d_x = g / (1.0 + x * x);"},
    {"sinh", "d_x = g * cosh(x);"},
    {"cosh", "d_x = g * sinh(x);"},
    {"tanh", "d_x = g * (1.0 - y * y);"},
    {"asinh", "d_x = g / sqrt(x * x + 1.0);"},
    {"acosh", "d_x = g / sqrt(x * x - 1.0);"},
    {"atanh", "d_x = g / (1.0 - x * x);"},
    {"erf", "d_x = g * 1.1283791670955126 * exp(-x * x);"},
    {"affine", "d_x = alpha * g;"},
    {"relu", "d_x = select(x > 0.0, g, 0.0);"},
    {"sigmoid", "d_x = g * y * (1.0 - y);"},
    {"softplus", "d_x = g * sigmoid(x);"},
    {"thresholded_relu", "d_x = select(x > alpha, g, 0.0);"},
    {"shrink", "d_x = select(abs(x) > lambda, g, 0.0);"},
    // ---- products
    {"matmul",
     "a = unsqueeze(x, axes = [0]) if rank(x) == 1 else x; b = unsqueeze(y, axes = [1]) if rank(y) == 1 else y; "
     "h = unsqueeze(g, axes = [-2 if rank(y) > 1 else -1]) if rank(x) == 1 else g; "
     "d = unsqueeze(h, axes = [-1]) if rank(y) == 1 else h; "
     "d_x = matmul(b, d, transposeA = transposeB, transposeB = true) if transposeA "
     "else matmul(d, b, transposeB = !transposeB); "
     "e = matmul(d, a, transposeA = true, transposeB = transposeA) if transposeB "
     "else matmul(a, d, transposeA = !transposeA); "
     "d_y = squeeze(e, axes = [-1]) if rank(y) == 1 else e;"},
    {"linear",
     "d = alpha * g; "
     "d_x = matmul(filter, d, transposeA = transposeB, transposeB = true) if transposeA "
     "else matmul(d, filter, transposeB = !transposeB); "
     "d_filter = matmul(d, x, transposeA = true, transposeB = transposeA) if transposeB "
     "else matmul(x, d, transposeA = !transposeA); "
     "d_bias = beta * g;"},
    // ---- reductions
    {"sum_reduce", "d_x = expand(k, shape(x));", DerivativeFrame::reduces},
    {"mean_reduce", "d_x = expand(k * cast(size(y), to = dtype(x)) / cast(size(x), to = dtype(x)), shape(x));",
     DerivativeFrame::reduces},
    {"max_reduce", "hit = cast(x == m, to = dtype(x)); d_x = k * hit / sum_reduce(hit, axes = axes, to_end = to_end);",
     DerivativeFrame::reduces},
    {"min_reduce", "hit = cast(x == m, to = dtype(x)); d_x = k * hit / sum_reduce(hit, axes = axes, to_end = to_end);",
     DerivativeFrame::reduces},
    {"reduce_prod", "d_x = k * m / x;", DerivativeFrame::reduces},
    {"reduce_l1", "d_x = k * sign(x);", DerivativeFrame::reduces},
    {"reduce_l2", "d_x = select(m == 0.0, 0.0, k * x / m);", DerivativeFrame::reduces},
    {"reduce_sum_square", "d_x = 2.0 * k * x;", DerivativeFrame::reduces},
    {"reduce_log_sum", "d_x = expand(k * exp(-m), shape(x));", DerivativeFrame::reduces},
    {"reduce_log_sum_exp", "d_x = k * exp(x - m);", DerivativeFrame::reduces},
    {"softmax", "d_x = y * (g - sum_reduce(g * y, axes = axes, to_end = to_end));"},
    {"log_softmax", "d_x = g - exp(y) * sum_reduce(g, axes = axes, to_end = to_end);"},
    // ---- moving
    {"reshape", "d_x = reshape(g, shape(x));"},
    {"flatten", "d_x = reshape(g, shape(x));"},
    {"squeeze", "d_x = reshape(g, shape(x));"},
    {"unsqueeze", "d_x = reshape(g, shape(x));"},
    {"expand", "d_x = g;"},
    {"concat",
     "d_x = split(g, sizes = [for i in x yield shape_of(i)[axis + rank(g) if axis < 0 else axis]], axis = axis);"},
    {"split", "d_x = concat(g, axis = axis);"},
    {"stack", "d_x = unstack(g, axis = axis);"},
    {"unstack", "d_x = stack(g, axis = axis);"},
    {"transpose", "to = transpose(from, axes = axes);", DerivativeFrame::moves},
    {"slice", "to = slice(from, begin, end, axes, stride);", DerivativeFrame::moves},
    {"gather", "to = gather(from, index, axis = axis, from_end = from_end, outside = outside);",
     DerivativeFrame::moves},
    {"gather_elements", "to = gather_elements(from, index, axis = axis, from_end = from_end, outside = outside);",
     DerivativeFrame::moves},
    {"tile", "to = tile(from, repeats);", DerivativeFrame::moves},
    {"reverse", "to = reverse(from, axes = axes);", DerivativeFrame::moves},
    {"depth_to_space", "to = depth_to_space(from, block = block, order = order);", DerivativeFrame::moves},
    {"space_to_depth", "to = space_to_depth(from, block = block);", DerivativeFrame::moves},
    // ---- windows
    {"conv",
     "r = range_of(shape_of(x)[2:]); swap = [1, 0] + [for i in r yield i + 2]; "
     "s = stride if length_of(stride) > 0 else [for i in r yield 1]; "
     "t = dilation if length_of(dilation) > 0 else [for i in r yield 1]; "
     "p = padding if length_of(padding) > 0 else [for i in r yield (0, 0)]; "
     "whole = [for i in r yield (shape_of(g)[i + 2] - 1) * s[i] + (shape_of(filter)[i + 2] - 1) * t[i] + 1 - p[i][0] - "
     "p[i][1]]; "
     "d_x = deconv(g, filter, stride = s, dilation = t, padding = p, groups = groups, "
     "output_padding = [for i in r yield shape_of(x)[i + 2] - whole[i]]) "
     "if auto_pad == 'off' && border == 'constant' else 'its padding is not given in numbers'; "
     "d_filter = slice(transpose(conv(transpose(x, axes = swap), transpose(g, axes = swap), stride = t, dilation = s, "
     "padding = p), axes = swap), begin = [for i in r yield 0], end = shape_of(filter)[2:], axes = [for i in r yield i "
     "+ 2]) "
     "if auto_pad == 'off' && border == 'constant' && groups == 1 else 'groups, or padding not given in numbers'; "
     "d_bias = sum_reduce(g, axes = [0] + [for i in r yield i + 2], keepdims = false);"},
};

}  // namespace

std::string_view text_before(DerivativeFrame frame) {
  switch (frame) {
    case DerivativeFrame::plain:
      return "";
    case DerivativeFrame::reduces:
      return "k = g if keepdims || !given(axes) else unsqueeze(g, axes = axes); "
             "m = y if keepdims || !given(axes) else unsqueeze(y, axes = axes); ";
    case DerivativeFrame::moves:
      return "n = range(0, size(x), 1); from = reshape(n, shape(x)); ";
  }
  return "";
}

std::string_view text_after(DerivativeFrame frame) {
  if (frame != DerivativeFrame::moves) return "";
  return "d_x = reshape(scatter_elements(cast(0 * n, to = dtype(x)), reshape(to, [-1]), reshape(g, [-1]), axis = 0, "
         "reduction = 'add'), shape(x));";
}

const Derivative* find_derivative(std::string_view op) {
  const auto* it = std::find_if(std::begin(kDerivatives), std::end(kDerivatives), [&](auto& d) { return d.op == op; });
  return it == std::end(kDerivatives) ? nullptr : it;
}

}  // namespace nnex::passes
