#include "standards/nnef/tract/operations.h"

#include <fmt/format.h>

#include <unordered_map>

#include "graph/text/parser.h"

namespace nnex::nnef_format {
namespace {

// Names, parameters and defaults are those that tract registers; bodies say what its operators compute.

#define NNEX_ROW_OF_ONE(name) "fragment " name "(x: tensor<>) -> (y: tensor<>) { y = " name "(x); }\n"
#define NNEX_ROW_OF_TWO(name) "fragment " name "(x: tensor<>, y: tensor<>) -> (z: tensor<>) { z = " name "(x, y); }\n"
#define NNEX_TRACT_WINDOW \
  "border: string = 'constant', padding: (integer,integer)[] = [], stride: integer[] = [], dilation: integer[] = []"
// No padding means automatic padding.
#define NNEX_TRACT_PAD " a = 'off' if length_of(padding) > 0 else 'same_upper';"
#define NNEX_TRACT_WINDOWED "auto_pad = a, padding = padding, stride = stride, dilation = dilation"
// Of pools a constant border counts as little as an ignored one.
#define NNEX_TRACT_POOL_BORDER \
  " b = 'ignore' if border == 'constant' else 'reflect_even' if border == 'reflect-even' else border;"

constexpr std::string_view kOperands =
    NNEX_ROW_OF_ONE("copy") NNEX_ROW_OF_ONE("neg") NNEX_ROW_OF_ONE("rcp") NNEX_ROW_OF_ONE("exp") NNEX_ROW_OF_ONE("log")
    NNEX_ROW_OF_ONE("sin") NNEX_ROW_OF_ONE("cos") NNEX_ROW_OF_ONE("tan") NNEX_ROW_OF_ONE("asin")
    NNEX_ROW_OF_ONE("acos") NNEX_ROW_OF_ONE("atan") NNEX_ROW_OF_ONE("sinh") NNEX_ROW_OF_ONE("cosh")
    NNEX_ROW_OF_ONE("tanh") NNEX_ROW_OF_ONE("asinh") NNEX_ROW_OF_ONE("acosh") NNEX_ROW_OF_ONE("atanh")
    NNEX_ROW_OF_ONE("abs") NNEX_ROW_OF_ONE("sign") NNEX_ROW_OF_ONE("not") NNEX_ROW_OF_ONE("sqr")
    NNEX_ROW_OF_ONE("sqrt") NNEX_ROW_OF_ONE("rsqr") NNEX_ROW_OF_ONE("rsqrt") NNEX_ROW_OF_ONE("log2")
    NNEX_ROW_OF_ONE("relu") NNEX_ROW_OF_ONE("sigmoid") NNEX_ROW_OF_ONE("softplus") NNEX_ROW_OF_ONE("silu")
    "fragment recip(x: tensor<>) -> (y: tensor<>) { y = rcp(x); }\n"
    "fragment square(x: tensor<>) -> (y: tensor<>) { y = sqr(x); }\n"
    // Of whole numbers nothing is to be rounded.
    "fragment floor(x: tensor<>) -> (y: tensor<>) { y = x if dtype(x) == 'i64' || dtype(x) == 'i32' else floor(x); }\n"
    "fragment ceil(x: tensor<>) -> (y: tensor<>) { y = x if dtype(x) == 'i64' || dtype(x) == 'i32' else ceil(x); }\n"
    "fragment round(x: tensor<>) -> (y: tensor<>)"
    "{ y = x if dtype(x) == 'i64' || dtype(x) == 'i32' else round(x, rounding = 'half_away'); }\n"
    NNEX_ROW_OF_TWO("add") NNEX_ROW_OF_TWO("sub") NNEX_ROW_OF_TWO("mul") NNEX_ROW_OF_TWO("div") NNEX_ROW_OF_TWO("pow")
    NNEX_ROW_OF_TWO("min") NNEX_ROW_OF_TWO("max") NNEX_ROW_OF_TWO("lt") NNEX_ROW_OF_TWO("gt") NNEX_ROW_OF_TWO("le")
    NNEX_ROW_OF_TWO("ge") NNEX_ROW_OF_TWO("eq") NNEX_ROW_OF_TWO("ne") NNEX_ROW_OF_TWO("and") NNEX_ROW_OF_TWO("or")
    "fragment prelu(x: tensor<>, alpha: tensor<>) -> (y: tensor<>) { y = select(x < 0.0, alpha * x, x); }\n"
    "fragment clamp(x: tensor<>, a: tensor<>, b: tensor<>) -> (y: tensor<>) { y = max(min(x, b), a); }\n"
    "fragment select(condition: tensor<>, true_value: tensor<>, false_value: tensor<>) -> (output: tensor<>)"
    "{ output = select(condition, true_value, false_value); }\n";

constexpr std::string_view kStandard =
    "fragment leaky_relu(x: tensor<>, alpha: scalar) -> (y: tensor<>) { y = leaky_relu(x, alpha = alpha); }\n"
    "fragment elu(x: tensor<>, alpha: scalar = 1.0) -> (y: tensor<>)"
    "{ y = select(x < 0.0, alpha * (exp(x) - 1.0), x); }\n"
    "fragment selu(x: tensor<>, alpha: scalar = 1.67326319, lambda: scalar = 1.05070102) -> (y: tensor<>)"
    "{ y = lambda * select(x < 0.0, alpha * (exp(x) - 1.0), x); }\n"
    "fragment gelu(x: tensor<>) -> (y: tensor<>) { y = x * sigmoid(1.702 * x); }\n"
    // Axes beyond the rank have one element each.
    "fragment softmax(x: tensor<>, axes: integer[] = [1]) -> (y: tensor<>)"
    "{ a = [for i in axes if i < rank(x) yield i]; y = softmax(x, axes = a) if length_of(a) > 0 else exp(x - x); }\n"
    // Reduction
    "fragment sum_reduce(input: tensor<>, axes: integer[], normalize: logical = false) -> (output: tensor<>)"
    "{ output = mean_reduce(input, axes) if normalize else sum_reduce(input, axes); }\n"
    "fragment mean_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = mean_reduce(input, axes); }\n"
    "fragment max_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = max_reduce(input, axes); }\n"
    "fragment min_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = min_reduce(input, axes); }\n"
    "fragment argmax_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = argmax_reduce(input, axes = axes); }\n"
    "fragment argmin_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = argmin_reduce(input, axes = axes); }\n"
    "fragment any_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = any_reduce(input, axes); }\n"
    "fragment all_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = all_reduce(input, axes); }\n"
    "fragment moments(input: tensor<>, axes: integer[]) -> (mean: tensor<>, variance: tensor<>)"
    "{ mean = mean_reduce(input, axes); d = input - mean; variance = mean_reduce(d * d, axes); }\n"
    // Shapes
    "fragment reshape(input: tensor<>, shape: integer[], axis_start: integer = 0, axis_count: integer = -1) -> "
    "(output: tensor<>)"
    "{ output = reshape(input, shape, zero = 'copy', axis_start = axis_start, axis_count = axis_count); }\n"
    "fragment squeeze(input: tensor<>, axes: integer[]) -> (output: tensor<>) { output = squeeze(input, axes); }\n"
    "fragment unsqueeze(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = unsqueeze(input, axes); }\n"
    "fragment transpose(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ more = [for i in [0,1,2,3,4,5,6,7] if i >= length_of(axes) && i < rank(input) yield i];"
    " output = transpose(input, axes = axes + more); }\n"
    "fragment concat(values: tensor<>[], axis: integer) -> (value: tensor<>)"
    "{ value = concat(values, axis = axis); }\n"
    "fragment stack(values: tensor<>[], axis: integer) -> (value: tensor<>) { value = stack(values, axis = axis); }\n"
    "fragment unstack(value: tensor<>, axis: integer) -> (values: tensor<>[]);\n"
    "fragment split(value: tensor<>, axis: integer, ratios: integer[]) -> (values: tensor<>[]);\n"
    "fragment slice(input: tensor<>, axes: integer[], begin: integer[], end: integer[], stride: integer[] = []) -> "
    "(output: tensor<>)"
    "{ output = slice(input, begin, end, axes, stride) if length_of(stride) > 0 else slice(input, begin, end, axes); "
    "}\n"
    "fragment tile(input: tensor<>, repeats: integer[]) -> (output: tensor<>) { output = tile(input, repeats); }\n"
    "fragment pad(input: tensor<>, padding: (integer,integer)[], border: string = 'constant', value: scalar = 0.0) -> "
    "(output: tensor<>)"
    "{ b = 'replicate' if border == 'replicated' else 'reflect_even' if border == 'reflect-even' else border;"
    " output = pad(input, [for p in padding yield p[0]] + [for p in padding yield p[1]], value, border = b); }\n"
    "fragment gather(input: tensor<>, indices: tensor<>, axis: integer = 0) -> (output: tensor<>)"
    "{ output = gather(input, cast(indices, to = 'i64'), axis = axis); }\n"
    // Products and windows
    "fragment matmul(A: tensor<>, B: tensor<>, transposeA: logical = false, transposeB: logical = false) -> "
    "(C: tensor<>) { C = matmul(A, B, transposeA = transposeA, transposeB = transposeB); }\n"
    "fragment linear(input: tensor<>, filter: tensor<>, bias: tensor<> = 0.0) -> (output: tensor<>)"
    "{ output = matmul(input, filter, transposeB = true) + bias; }\n"
    "fragment conv(input: tensor<>, filter: tensor<>, bias: tensor<> = 0.0, " NNEX_TRACT_WINDOW
    ", groups: integer = 1) -> (output: tensor<>)"
    "{ n = shape_of(filter)[0]; g = n if groups == 0 else groups;"
    " c = expand(reshape(cast(bias, to = dtype(input)), [-1]), [n]);" NNEX_TRACT_PAD
    " b = 'constant' if border == 'ignore' else 'reflect_even' if border == 'reflect-even' else border;"
    " output = conv(input, filter, c, groups = g, border = b, " NNEX_TRACT_WINDOWED
    "); }\n"
    "fragment max_pool_with_index(input: tensor<>, size: integer[], " NNEX_TRACT_WINDOW
    ") -> (output: tensor<>, index: tensor<>)"
    "{" NNEX_TRACT_PAD NNEX_TRACT_POOL_BORDER
    " output, index = max_pool(input, size = size, border = b, " NNEX_TRACT_WINDOWED
    "); }\n"
    "fragment max_pool(input: tensor<>, size: integer[], " NNEX_TRACT_WINDOW
    ") -> (output: tensor<>)"
    "{" NNEX_TRACT_PAD NNEX_TRACT_POOL_BORDER " output = max_pool(input, size = size, border = b, " NNEX_TRACT_WINDOWED
    "); }\n"
    "fragment box(input: tensor<>, size: integer[], " NNEX_TRACT_WINDOW
    ", normalize: logical = false) -> (output: tensor<>)"
    "{ d = 'window' if normalize else 'one';" NNEX_TRACT_PAD NNEX_TRACT_POOL_BORDER
    " output = box(input, size = size, border = b, divisor = d, " NNEX_TRACT_WINDOWED
    "); }\n"
    "fragment avg_pool(input: tensor<>, size: integer[], " NNEX_TRACT_WINDOW
    ") -> (output: tensor<>)"
    "{" NNEX_TRACT_PAD NNEX_TRACT_POOL_BORDER
    " output = box(input, size = size, border = b, divisor = 'window', " NNEX_TRACT_WINDOWED
    "); }\n"
    "fragment external(shape: integer[]) -> (output: tensor<>);\n"
    "fragment variable(shape: integer[], label: string) -> (output: tensor<>);\n"
    "fragment constant(shape: integer[], value: scalar[]) -> (output: tensor<>);\n"
    "fragment cast(input: tensor<>) -> (output: tensor<>);\n"
    "fragment update(variable: tensor<>, value: tensor<>) -> (result: tensor<>);\n"
    "fragment copy_n(x: tensor<>, times: integer) -> (y: tensor<>[]);\n";

constexpr std::string_view kCoreOperands =
    "fragment tract_core_erf(x: tensor<>) -> (y: tensor<>) { y = erf(x); }\n"
    "fragment tract_core_hard_swish(x: tensor<>) -> (y: tensor<>) { y = hard_swish(x); }\n"
    "fragment tract_core_silu(x: tensor<>) -> (y: tensor<>) { y = x * sigmoid(x); }\n"
    "fragment tract_core_round_even(x: tensor<>) -> (y: tensor<>) { y = round(x, rounding = 'half_even'); }\n"
    "fragment tract_core_is_nan(x: tensor<>) -> (y: tensor<>) { y = is_nan(x); }\n"
    "fragment tract_core_tan(x: tensor<>) -> (y: tensor<>) { y = tan(x); }\n"
    "fragment tract_core_acos(x: tensor<>) -> (y: tensor<>) { y = acos(x); }\n"
    "fragment tract_core_asin(x: tensor<>) -> (y: tensor<>) { y = asin(x); }\n"
    "fragment tract_core_atan(x: tensor<>) -> (y: tensor<>) { y = atan(x); }\n"
    "fragment tract_core_cosh(x: tensor<>) -> (y: tensor<>) { y = cosh(x); }\n"
    "fragment tract_core_sinh(x: tensor<>) -> (y: tensor<>) { y = sinh(x); }\n"
    "fragment tract_core_acosh(x: tensor<>) -> (y: tensor<>) { y = acosh(x); }\n"
    "fragment tract_core_asinh(x: tensor<>) -> (y: tensor<>) { y = asinh(x); }\n"
    "fragment tract_core_atanh(x: tensor<>) -> (y: tensor<>) { y = atanh(x); }\n"
    "fragment tract_core_xor(x: tensor<>, y: tensor<>) -> (z: tensor<>) { z = xor(x, y); }\n"
    "fragment tract_core_bitand(x: tensor<>, y: tensor<>) -> (z: tensor<>) { z = bitwise_and(x, y); }\n"
    "fragment tract_core_bitor(x: tensor<>, y: tensor<>) -> (z: tensor<>) { z = bitwise_or(x, y); }\n"
    "fragment tract_core_bitxor(x: tensor<>, y: tensor<>) -> (z: tensor<>) { z = bitwise_xor(x, y); }\n"
    "fragment tract_core_bitnot(x: tensor<>) -> (y: tensor<>) { y = bitwise_not(x); }\n";

constexpr std::string_view kCore =
    "fragment tract_core_external(shape: integer[], datum_type: string) -> (output: tensor<>);\n"
    "fragment tract_core_cast(input: tensor<>, to: string = '') -> (output: tensor<>);\n"
    "fragment tract_core_scan(body: string, scan: integer[], full: integer[], state: integer[], output: integer[], "
    "seq_length: integer = -1, skip: integer = 0, reset_every_turn: logical = false, external_state: logical = false)"
    " -> (outputs: tensor<>[]);\n"
    "fragment tract_core_shape_of(input: tensor<>) -> (shape: tensor<>) { shape = shape(input); }\n"
    "fragment tract_core_broadcast(input: tensor<>, shape: integer[]) -> (output: tensor<>)"
    "{ output = expand(input, shape); }\n"
    "fragment tract_core_range(start: tensor<>, end: tensor<>, step: tensor<> = 1) -> (output: tensor<>)"
    "{ output = range(start, end, step); }\n"
    "fragment tract_core_gather(input: tensor<>, indices: tensor<>, axis: integer, datum_type: string = '') -> "
    "(output: tensor<>) { output = gather(input, cast(indices, to = 'i64'), axis = axis); }\n"
    "fragment tract_core_gather_elements(input: tensor<>, indices: tensor<>, axis: integer) -> (output: tensor<>)"
    "{ output = gather_elements(input, cast(indices, to = 'i64'), axis = axis); }\n"
    "fragment tract_core_gather_nd(input: tensor<>, indices: tensor<>, batch_dims: integer = 0) -> (output: tensor<>)"
    "{ output = gather_nd(input, cast(indices, to = 'i64'), batch_dims = batch_dims); }\n"
    "fragment tract_core_scatter_elements(input: tensor<>, indices: tensor<>, updates: tensor<>, axis: integer, "
    "reduction: string = 'none') -> (output: tensor<>)"
    "{ output = scatter_elements(input, cast(indices, to = 'i64'), updates, axis = axis, reduction = reduction); }\n"
    "fragment tract_core_scatter_nd(input: tensor<>, indices: tensor<>, updates: tensor<>, reduction: string = 'none')"
    " -> (output: tensor<>)"
    "{ output = scatter_nd(input, cast(indices, to = 'i64'), updates, reduction = reduction); }\n"
    "fragment tract_core_einsum(inputs: tensor<>[], expr: string, acc: string = '', output: string = '') -> "
    "(result: tensor<>)"
    "{ same = inputs if acc == '' else [for i in inputs yield cast(i, to = acc)];"
    " result = einsum(same, equation = expr); }\n"
    "fragment tract_core_softmax(x: tensor<>, axes: integer[], exp: string = 'libc') -> (y: tensor<>)"
    "{ y = softmax(x, axes = axes); }\n"
    "fragment tract_core_log_softmax(x: tensor<>, axes: integer[]) -> (y: tensor<>)"
    "{ y = log_softmax(x, axes = axes); }\n"
    "fragment tract_core_argmax_reduce_last(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = argmax_reduce(input, axes = axes, ties = 'last'); }\n"
    "fragment tract_core_argmin_reduce_last(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = argmin_reduce(input, axes = axes, ties = 'last'); }\n"
    "fragment tract_core_product_reduce(input: tensor<>, axes: integer[]) -> (output: tensor<>)"
    "{ output = reduce_prod(input, axes); }\n"
    "fragment tract_core_topk(input: tensor<>, k: integer, axis: integer, largest: logical = true) -> "
    "(values: tensor<>, indices: tensor<>)"
    "{ values, indices = top_k(input, reshape(k, [1]), axis = axis, largest = largest); }\n"
    "fragment tract_core_one_hot(input: tensor<>, axis: integer, dim: integer, value_off: scalar = 0.0, "
    "value_on: scalar = 1.0) -> (output: tensor<>)"
    "{ output = one_hot(cast(input, to = 'i64'), dim, [value_off, value_on], axis = axis); }\n"
    "fragment tract_core_trilu(input: tensor<>, k: integer, upper: logical) -> (output: tensor<>)"
    "{ output = trilu(input, k, upper = upper); }\n"
    "fragment tract_core_downsample(input: tensor<>, axis: integer, stride: integer, modulo: integer = 0) -> "
    "(output: tensor<>) { output = slice(input, [modulo], [9223372036854775807], [axis], [stride]); }\n"
    "fragment tract_core_dyn_slice(input: tensor<>, start: tensor<>, end: tensor<>, len: integer = 0, axis: integer)"
    " -> (output: tensor<>)"
    "{ output = slice(input, reshape(start, [1]), reshape(end, [1]), [axis]); }\n"
    "fragment tract_core_resize(input: tensor<>, scales: tensor<> = none, sizes: tensor<> = none, coord_transformer: "
    "string = 'half_pixel', interpolator: string = 'nearest', nearest_mode: string = 'floor') -> (output: tensor<>)"
    "{ r = 'half_down' if nearest_mode == 'round_prefer_floor' else 'half_up' if nearest_mode == 'round_prefer_ceil' "
    "else nearest_mode; t = 'half_pixel' if coord_transformer == '' else coord_transformer;"
    " s = cast(scales, to = 'f32') if given(scales) else none;"
    " z = cast(sizes, to = 'i64') if given(sizes) else none;"
    " output = resize(input, none, s, z, mode = interpolator, transform = t, nearest_rounding = r); }\n"
    "fragment tract_core_gelu_approximate(x: tensor<>, fast_impl: logical = false) -> (y: tensor<>)"
    "{ y = 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }\n"
    "fragment tract_core_rms_norm(input: tensor<>, axis: integer, eps: scalar = 0.000001) -> (output: tensor<>)"
    "{ output = input / sqrt(mean_reduce(input * input, [axis]) + eps); }\n"
    "fragment tract_core_is_inf(input: tensor<>, detect_positive: logical = true, detect_negative: logical = true) -> "
    "(y: tensor<>) { y = is_inf(input, positive = detect_positive, negative = detect_negative); }\n"
    "fragment tract_core_pow_const(input: tensor<>, exponent: scalar) -> (y: tensor<>) { y = pow(input, exponent); "
    "}\n"
    "fragment tract_core_grid_sample(input: tensor<>, grid: tensor<>, mode: string = 'bilinear', padding_mode: string "
    "= 'zeros', align_corners: logical = false) -> (output: tensor<>)"
    "{ m = 'linear' if mode == 'bilinear' else 'cubic' if mode == 'bicubic' else mode;"
    " b = 'constant' if padding_mode == 'zeros' else 'replicate' if padding_mode == 'border' else 'reflect' if"
    " padding_mode == 'reflection' else padding_mode;"
    " output = grid_sample(input, grid, mode = m, border = b, align_corners = align_corners); }\n"
    "fragment tract_core_clamped_swiglu(gate: tensor<>, up: tensor<>, alpha: scalar, limit: scalar) -> "
    "(output: tensor<>)"
    "{ g = min(cast(gate, to = 'f32'), limit); u = max(min(cast(up, to = 'f32'), limit), -limit);"
    " output = (u + 1.0) * g * sigmoid(alpha * g); }\n"
    "fragment tract_core_lstm_epilogue(preact: tensor<>, c_prev: tensor<>, hidden: integer) -> "
    "(ht: tensor<>, ct: tensor<>)"
    "{ i, o, f, c = split(preact, axis = -1, chunks = 4);"
    " ct = sigmoid(f) * c_prev + sigmoid(i) * tanh(c); ht = sigmoid(o) * tanh(ct); }\n"
    // Complex numbers are pairs along the last axis; the inverse is not divided by the length.
    "fragment tract_core_fft(input: tensor<>, axis: integer, inverse: logical) -> (output: tensor<>)"
    "{ y = dft(input, none, axis, inverse = inverse);"
    " output = y * cast(slice(shape(input), [axis], [axis + 1], [0]), to = dtype(input)) if inverse else y; }\n"
    // Frames of an axis: [..., time, ..., 2] becomes [..., frames, frame, ..., 2]. A window shorter than a frame stands
    // in its middle.
    "fragment tract_core_stft(input: tensor<>, axis: integer, frame: integer, stride: integer, window: tensor<> = none)"
    " -> (output: tensor<>)"
    "{ all = [0,1,2,3,4,5,6,7]; r = rank(input); n = r - 2;"
    " others = [for i in all if i < r - 1 && i != axis yield i];"
    " x = input if axis == n else transpose(input, axes = others + [axis, r - 1]);"
    " flat = x if r == 3 else unsqueeze(x, [0]) if r == 2"
    " else reshape(x, [-1, shape_of(input)[axis], 2]);"
    " left = (frame - shape_of(window)[0]) / 2 if given(window) else 0;"
    " w = (window if shape_of(window)[0] == frame"
    " else pad(window, [left, frame - shape_of(window)[0] - left])) if given(window) else none;"
    " y = stft(flat, stride, w, frame, onesided = false);"
    " z = y if r == 3 else squeeze(y, [0]) if r == 2"
    " else reshape(y, [for i in others yield shape_of(input)[i]] + [-1, frame, 2]);"
    " output = z if axis == n else transpose(z, axes = [for j in all if j <= r yield j if j < axis else n if j == axis"
    " else n + 1 if j == axis + 1 else j - 2 if j < r else r]); }\n"
    "fragment tract_core_gru_epilogue(xh: tensor<>, rh: tensor<>, h_prev: tensor<>, hidden: integer) -> "
    "(output: tensor<>)"
    "{ xz, xr, xn = split(xh, axis = -1, chunks = 3); rz, rr, rn = split(rh, axis = -1, chunks = 3);"
    " z = sigmoid(xz + rz); n = tanh(xn + sigmoid(xr + rr) * rn); output = (1.0 - z) * n + z * h_prev; }\n"
    "fragment tract_core_gru_cell(xh: tensor<>, r: tensor<>, rb: tensor<>, h_prev: tensor<>, hidden: integer) -> "
    "(output: tensor<>)"
    "{ rh = matmul(h_prev, r, transposeB = true) + rb;"
    " xz, xr, xn = split(xh, axis = -1, chunks = 3); rz, rr, rn = split(rh, axis = -1, chunks = 3);"
    " z = sigmoid(xz + rz); n = tanh(xn + sigmoid(xr + rr) * rn); output = (1.0 - z) * n + z * h_prev; }\n";

constexpr std::string_view kOnnx =
    "fragment tract_onnx_non_zero(input: tensor<>, count_symbol: string = '') -> (output: tensor<>)"
    "{ output = non_zero(input); }\n";

constexpr std::string_view kTransformers =
    "fragment tract_transformers_silu(input: tensor<>) -> (output: tensor<>) { output = input * sigmoid(input); }\n"
    "fragment tract_transformers_gelu_approximate(input: tensor<>, fast_impl: logical = false) -> (output: tensor<>)"
    "{ output = 0.5 * input * (1.0 + tanh(0.7978845608028654 * (input + 0.044715 * input * input * input))); }\n"
    "fragment tract_transformers_rms_norm(input: tensor<>, axis: integer, eps: scalar = 0.000001) -> "
    "(output: tensor<>) { output = input / sqrt(mean_reduce(input * input, [axis]) + eps); }\n"
    "fragment tract_transformers_apply_rope(input: tensor<>, cos: tensor<>, sin: tensor<>) -> (output: tensor<>)"
    "{ a, b = split(input, axis = -1, chunks = 2); output = input * cos + concat([-b, a], axis = -1) * sin; }\n"
    "fragment tract_transformers_scaled_masked_softmax(input: tensor<>, mask: tensor<>, scale: scalar) -> "
    "(output: tensor<>) { output = softmax(input * scale + mask, axes = [-1]); }\n"
    // A mask stands for every head; a place of extent 1 for every key.
    "fragment tract_transformers_sdpa(q: tensor<>, k: tensor<>, v: tensor<>, mask: tensor<> = none, "
    "scale: scalar = 0.0, datum_type: string = '', acc_datum_type: string = '', is_causal: logical = false) -> "
    "(output: tensor<>)"
    "{ flat = rank(q) == 3;"
    " m = expand(cast(mask, to = dtype(q)), concat([[1], shape(k, start = -2, end = -1)], axis = 0)) if given(mask)"
    " else none;"
    " y = attention(unsqueeze(q, [1]) if flat else q, unsqueeze(k, [1]) if flat else k, unsqueeze(v, [1]) if flat"
    " else v, m, causal = is_causal, scale = scale);"
    " output = squeeze(y, [1]) if flat else y; }\n"
    // Older documents give one row of time [1, time, channels] and a state without batch.
    "fragment tract_transformers_causal_conv1d_update(input: tensor<>, weight: tensor<>, initial_state: tensor<>) -> "
    "(output: tensor<>, final_state: tensor<>)"
    "{ old = rank(initial_state) == 2; taps = shape_of(weight)[1];"
    " x = transpose(input, axes = [0,2,1]) if old else input;"
    " s = unsqueeze(initial_state, [0]) if old else initial_state;"
    " all = concat([cast(s, to = 'f32'), cast(x, to = 'f32')], axis = 2);"
    " c = conv(slice(all, [1], [9223372036854775807], [2]), unsqueeze(cast(weight, to = 'f32'), [1]),"
    " groups = shape_of(weight)[0]);"
    " y = c * sigmoid(c); f = slice(all, [0 - taps], [9223372036854775807], [2]);"
    " output = cast(transpose(y, axes = [0,2,1]) if old else y, to = dtype(input));"
    " final_state = cast(squeeze(f, [0]) if old else f, to = dtype(initial_state)); }\n"
    // The gated delta rule, step by step over axis 1; queries and keys of unit length.
    "fragment tract_transformers_gdn_recurrent(query: tensor<>, key: tensor<>, value: tensor<>, log_decay: tensor<>, "
    "beta: tensor<>, initial_state: tensor<>) -> (output: tensor<>, final_state: tensor<>)"
    "{ wide = shape_of(query)[3]; each = shape_of(value)[2] / shape_of(query)[2];"
    " q0 = cast(query, to = 'f32'); k0 = cast(key, to = 'f32');"
    " q1 = q0 / sqrt((sum_reduce(q0 * q0, [3]) + 0.000001) * scalar(wide));"
    " k1 = k0 / sqrt(sum_reduce(k0 * k0, [3]) + 0.000001);"
    " to = shape(value);"
    " q2 = reshape(expand(unsqueeze(q1, [3]), [1,1,1,each,1]), to) if each > 1 else q1;"
    " k2 = reshape(expand(unsqueeze(k1, [3]), [1,1,1,each,1]), to) if each > 1 else k1;"
    " v2 = cast(value, to = 'f32'); g2 = exp(cast(log_decay, to = 'f32')); b2 = cast(beta, to = 'f32');"
    " last, y = scan(cast(initial_state, to = 'f32'), q2, k2, v2, g2, b2, inputs = 5, input_axes = [1,1,1,1,1],"
    " output_axes = [1], body = graph (s, q, k, v, g, b) -> (t, o) {"
    " u = s * unsqueeze(g, [2,3]); d = (v - squeeze(matmul(unsqueeze(k, [2]), u), [2])) * unsqueeze(b, [2]);"
    " t = u + matmul(unsqueeze(k, [3]), unsqueeze(d, [2])); o = squeeze(matmul(unsqueeze(q, [2]), t), [2]); });"
    " output = cast(y, to = dtype(query)); final_state = cast(last, to = dtype(initial_state)); }\n";

// What came before is kept from run to run; the reader adds it.
constexpr std::string_view kPulse =
    "fragment tract_pulse_delay(input: tensor<>, axis: integer, delay: integer, overlap: integer, kept: tensor<> = "
    "none) -> (output: tensor<>, keep: tensor<>)"
    "{ all = concat([kept, input], axis = axis);"
    " output = slice(all, [0], [0 - delay], [axis]) if delay > 0 else all;"
    " keep = slice(all, [0 - delay - overlap], [9223372036854775807], [axis]); }\n";

struct Registry {
  std::string_view name, text;
  bool operands = false;
};
/// One that stands later counts first.
constexpr Registry kRegistries[] = {
    {"tract_nnef", kOperands, true}, {"tract_nnef", kStandard}, {"tract_core", kCoreOperands, true},
    {"tract_core", kCore},           {"tract_onnx", kOnnx},     {"tract_transformers", kTransformers},
    {"tract_pulse", kPulse},
};
/// Registries that tract has and documents may name; all of their operations are missing here.
constexpr std::string_view kOthers[] = {"tract_extra", "tract_resource", "tract_onnx_ml"};

struct Operations {
  std::vector<graph_text::OwnedDocument> texts;
  std::unordered_map<std::string_view, std::vector<TractOperation>> by_name;

  Operations() {
    texts.reserve(std::size(kRegistries));
    for (const Registry& r : kRegistries) {
      auto parsed = graph_text::parse_document(fmt::format("{}graph none () -> () {{ }}", r.text), r.name);
      NNEX_ASSERT(parsed.ok());
      texts.push_back(std::move(parsed).value());
      for (const auto& f : texts.back().fragments) by_name[f.name].push_back({r.name, &f, r.operands});
    }
  }
};

const Operations& operations() {
  static const Operations all;
  return all;
}

/// Names that mean the same in older documents.
std::string_view present_name(std::string_view name) {
  if (name == "tract_qwen35_causal_conv1d_update") return "tract_transformers_causal_conv1d_update";
  if (name == "tract_qwen35_gdn_recurrent") return "tract_transformers_gdn_recurrent";
  return name;
}

}  // namespace

const TractOperation* find_tract_operation(std::string_view name, const std::vector<std::string>& registries) {
  const auto found = operations().by_name.find(present_name(name));
  if (found == operations().by_name.end()) return nullptr;
  const TractOperation* best = nullptr;
  size_t rank = 0;
  for (const TractOperation& o : found->second)
    for (size_t i = 0; i < registries.size(); ++i)
      if (o.registry == registries[i] && (!best || i >= rank)) best = &o, rank = i;
  return best;
}

bool is_tract_registry(std::string_view name) {
  for (const Registry& r : kRegistries)
    if (r.name == name) return true;
  for (std::string_view r : kOthers)
    if (r == name) return true;
  return name == "tract_qwen35";
}

std::vector<std::string_view> tract_registries() {
  std::vector<std::string_view> names;
  for (const Registry& r : kRegistries)
    if (names.empty() || names.back() != r.name) names.push_back(r.name);
  return names;
}

}  // namespace nnex::nnef_format
