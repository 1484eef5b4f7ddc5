#include "standards/nnef/signatures.h"

#include <algorithm>
#include <memory>

#include "graph/text/rules.h"
#include "standards/nnef/types.h"

namespace nnex::nnef_format {
namespace {

// Names, types and defaults are those of NNEF 1.0.5, chapter 4; bodies say what its formulas say.
#define NNEX_X_Y "(x: tensor<scalar>) -> (y: tensor<scalar>)"
#define NNEX_XY_Z "(x: tensor<scalar>, y: tensor<scalar>) -> (z: tensor<scalar>)"
#define NNEX_XY_TRUTH "(x: tensor<scalar>, y: tensor<scalar>) -> (z: tensor<logical>)"
#define NNEX_WINDOW \
  "border: string = 'constant', padding: (integer,integer)[] = [], stride: integer[] = [], dilation: integer[] = []"
#define NNEX_SIZED "(input: tensor<scalar>, size: integer[], " NNEX_WINDOW
#define NNEX_CONV "(input: tensor<scalar>, filter: tensor<scalar>, bias: tensor<scalar> = 0.0, " NNEX_WINDOW
#define NNEX_SEPARABLE                                                                                          \
  "(input: tensor<scalar>, plane_filter: tensor<scalar>, point_filter: tensor<scalar>, bias: tensor<scalar> = " \
  "0.0, " NNEX_WINDOW
#define NNEX_OUTPUT ") -> (output: tensor<scalar>)"
#define NNEX_REDUCE "(input: tensor<scalar>, axes: integer[]" NNEX_OUTPUT
#define NNEX_ROI "(input: tensor<scalar>, rois: tensor<scalar>, batch_index: tensor<integer>, output_size: integer[]"
#define NNEX_WINDOW_ARGUMENTS "border = border, padding = padding, stride = stride, dilation = dilation"

/// A declaration of the standard, and the rules that are its own.
struct StandardText {
  constexpr StandardText(const char* text, OwnRules rules = {}) : text(text), rules(rules) {}
  std::string_view text;
  OwnRules rules;
};
constexpr OwnRules kQuantisation = {.literal = "O-QNT-1"};
constexpr OwnRules kBorderlessBody = {.body_fits = false};

constexpr StandardText kStandard[] = {
    // Introducing
    "fragment external<? = scalar>(shape: integer[]) -> (output: tensor<?>);",
    "fragment constant<? = scalar>(shape: integer[], value: ?[]) -> (output: tensor<?>);",
    "fragment variable<? = scalar>(shape: integer[], label: string) -> (output: tensor<?>);",
    "fragment update<?>(variable: tensor<?>, value: tensor<?>) -> (result: tensor<?>);",
    // Element-wise. NOLINTBEGIN(bugprone-suspicious-missing-comma): macros are the ends of lines
    "fragment copy<?>(x: tensor<?>) -> (y: tensor<?>);",
    "fragment neg" NNEX_X_Y ";",
    "fragment rcp" NNEX_X_Y ";",
    "fragment exp" NNEX_X_Y ";",
    "fragment log" NNEX_X_Y ";",
    "fragment sin" NNEX_X_Y ";",
    "fragment cos" NNEX_X_Y ";",
    "fragment tan" NNEX_X_Y ";",
    "fragment asin" NNEX_X_Y ";",
    "fragment acos" NNEX_X_Y ";",
    "fragment atan" NNEX_X_Y ";",
    "fragment sinh" NNEX_X_Y ";",
    "fragment cosh" NNEX_X_Y ";",
    "fragment tanh" NNEX_X_Y ";",
    "fragment asinh" NNEX_X_Y ";",
    "fragment acosh" NNEX_X_Y ";",
    "fragment atanh" NNEX_X_Y ";",
    "fragment abs" NNEX_X_Y ";",
    "fragment sign" NNEX_X_Y ";",
    "fragment not(x: tensor<logical>) -> (y: tensor<logical>);",
    "fragment floor" NNEX_X_Y ";",
    "fragment ceil" NNEX_X_Y ";",
    "fragment round" NNEX_X_Y ";",
    "fragment add" NNEX_XY_Z ";",
    "fragment sub" NNEX_XY_Z ";",
    "fragment mul" NNEX_XY_Z ";",
    "fragment div" NNEX_XY_Z ";",
    "fragment pow" NNEX_XY_Z ";",
    "fragment lt" NNEX_XY_TRUTH ";",
    "fragment gt" NNEX_XY_TRUTH ";",
    "fragment le" NNEX_XY_TRUTH ";",
    "fragment ge" NNEX_XY_TRUTH ";",
    "fragment eq" NNEX_XY_TRUTH ";",
    "fragment ne" NNEX_XY_TRUTH ";",
    "fragment and(x: tensor<logical>, y: tensor<logical>) -> (z: tensor<logical>);",
    "fragment or(x: tensor<logical>, y: tensor<logical>) -> (z: tensor<logical>);",
    "fragment select<?>(condition: tensor<logical>, true_value: tensor<?>, false_value: tensor<?>) -> (output: "
    "tensor<?>);",
    "fragment sqr" NNEX_X_Y "{ y = x ^ 2.0; }",
    "fragment sqrt" NNEX_X_Y "{ y = x ^ 0.5; }",
    "fragment rsqr" NNEX_X_Y "{ y = x ^ -2.0; }",
    "fragment rsqrt" NNEX_X_Y "{ y = x ^ -0.5; }",
    "fragment log2" NNEX_X_Y "{ y = log(x) / log(2.0); }",
    "fragment min" NNEX_XY_Z "{ z = select(x < y, x, y); }",
    "fragment max" NNEX_XY_Z "{ z = select(x > y, x, y); }",
    "fragment clamp(x: tensor<scalar>, a: tensor<scalar>, b: tensor<scalar>) -> (y: tensor<scalar>)"
    "{ y = max(min(x, b), a); }",
    // Sliding windows
    "fragment conv" NNEX_CONV ", groups: integer = 1" NNEX_OUTPUT ";",
    "fragment deconv" NNEX_CONV ", output_shape: integer[] = [], groups: integer = 1" NNEX_OUTPUT ";",
    "fragment box" NNEX_SIZED ", normalize: logical = false" NNEX_OUTPUT ";",
    "fragment debox" NNEX_SIZED ", output_shape: integer[] = [], normalize: logical = false" NNEX_OUTPUT ";",
    "fragment argmax_pool" NNEX_SIZED ") -> (index: tensor<integer>);",
    "fragment sample(input: tensor<scalar>, index: tensor<integer>, size: integer[], " NNEX_WINDOW NNEX_OUTPUT ";",
    "fragment desample(input: tensor<scalar>, index: tensor<integer>, size: integer[], " NNEX_WINDOW
    ", output_shape: integer[] = []" NNEX_OUTPUT ";",
    "fragment nearest_downsample(input: tensor<scalar>, factor: integer[]" NNEX_OUTPUT
    "{ output = box(input, size = [1,1] + [1] * length_of(factor), stride = [1,1] + factor,"
    " padding = [(0,0)] * (length_of(factor) + 2)); }",
    "fragment area_downsample(input: tensor<scalar>, factor: integer[]" NNEX_OUTPUT
    "{ output = box(input, size = [1,1] + factor, stride = [1,1] + factor,"
    " padding = [(0,0)] * (length_of(factor) + 2), normalize = true); }",
    "fragment nearest_upsample(input: tensor<scalar>, factor: integer[]" NNEX_OUTPUT
    "{ output = debox(input, size = [1,1] + factor, stride = [1,1] + factor,"
    " padding = [(0,0)] * (length_of(factor) + 2)); }",
    "fragment multilinear_upsample(input: tensor<scalar>, factor: integer[], method: string = 'symmetric', border: "
    "string = 'replicate'" NNEX_OUTPUT ";",
    // Reduction
    "fragment sum_reduce(input: tensor<scalar>, axes: integer[], normalize: logical = false" NNEX_OUTPUT ";",
    "fragment max_reduce" NNEX_REDUCE ";",
    "fragment min_reduce" NNEX_REDUCE ";",
    "fragment argmax_reduce(input: tensor<scalar>, axes: integer[]) -> (output: tensor<integer>);",
    "fragment argmin_reduce(input: tensor<scalar>, axes: integer[]) -> (output: tensor<integer>);",
    "fragment any_reduce(input: tensor<logical>, axes: integer[]) -> (output: tensor<logical>);",
    "fragment all_reduce(input: tensor<logical>, axes: integer[]) -> (output: tensor<logical>);",
    "fragment mean_reduce" NNEX_REDUCE "{ output = sum_reduce(input, axes = axes, normalize = true); }",
    "fragment moments(input: tensor<scalar>, axes: integer[]) -> (mean: tensor<scalar>, variance: tensor<scalar>)"
    "{ mean = mean_reduce(input, axes = axes); variance = mean_reduce(sqr(input - mean), axes = axes); }",
    // Shapes
    "fragment reshape<?>(input: tensor<?>, shape: integer[], axis_start: integer = 0, axis_count: integer = -1) -> "
    "(output: tensor<?>);",
    "fragment squeeze<?>(input: tensor<?>, axes: integer[]) -> (output: tensor<?>);",
    "fragment unsqueeze<?>(input: tensor<?>, axes: integer[]) -> (output: tensor<?>);",
    "fragment transpose<?>(input: tensor<?>, axes: integer[]) -> (output: tensor<?>);",
    "fragment split<?>(value: tensor<?>, axis: integer, ratios: integer[]) -> (values: tensor<?>[]);",
    {"fragment concat<?>(values: tensor<?>[], axis: integer) -> (value: tensor<?>);",
     OwnRules{.open_type = "O-CONCAT-1"}},
    {"fragment stack<?>(values: tensor<?>[], axis: integer) -> (value: tensor<?>);",
     OwnRules{.open_type = "O-STACK-1"}},
    "fragment unstack<?>(value: tensor<?>, axis: integer) -> (values: tensor<?>[]);",
    "fragment slice<?>(input: tensor<?>, axes: integer[], begin: integer[], end: integer[], stride: integer[] = []) "
    "-> (output: tensor<?>);",
    "fragment pad(input: tensor<scalar>, padding: (integer,integer)[], border: string = 'constant', value: scalar = "
    "0.0" NNEX_OUTPUT ";",
    "fragment tile<?>(input: tensor<?>, repeats: integer[]) -> (output: tensor<?>);",
    "fragment gather<?>(input: tensor<?>, indices: tensor<integer>, axis: integer = 0) -> (output: tensor<?>);",
    "fragment cast<?>(input: tensor<>) -> (output: tensor<?>);",
    // Regions of interest
    "fragment avg_roi_pool" NNEX_ROI NNEX_OUTPUT ";",
    "fragment max_roi_pool" NNEX_ROI NNEX_OUTPUT ";",
    "fragment roi_resample" NNEX_ROI ", method: string = 'symmetric'" NNEX_OUTPUT ";",
    "fragment avg_roi_align" NNEX_ROI ", sampling_rate: integer[], resize_method: string = 'symmetric'" NNEX_OUTPUT
    "{ fine = roi_resample(input, rois, batch_index, method = resize_method,"
    " output_size = [for n in output_size, rate in sampling_rate yield n * rate]);"
    " output = avg_pool(fine, size = [1,1] + sampling_rate, stride = [1,1] + sampling_rate,"
    " padding = [(0,0)] * (length_of(sampling_rate) + 2)); }",
    "fragment max_roi_align" NNEX_ROI ", sampling_rate: integer[], resize_method: string = 'symmetric'" NNEX_OUTPUT
    "{ fine = roi_resample(input, rois, batch_index, method = resize_method,"
    " output_size = [for n in output_size, rate in sampling_rate yield n * rate]);"
    " output = max_pool(fine, size = [1,1] + sampling_rate, stride = [1,1] + sampling_rate,"
    " padding = [(0,0)] * (length_of(sampling_rate) + 2)); }",
    // Products
    "fragment matmul(A: tensor<scalar>, B: tensor<scalar>, transposeA: logical = false, transposeB: logical = false) "
    "-> (C: tensor<scalar>);",
    "fragment linear(input: tensor<scalar>, filter: tensor<scalar>, bias: tensor<scalar> = 0.0" NNEX_OUTPUT
    "{ output = matmul(input, filter, transposeB = true) + bias; }",
    "fragment separable_conv" NNEX_SEPARABLE ", groups: integer = 1" NNEX_OUTPUT
    "{ planes = conv(input, plane_filter, groups = 0, " NNEX_WINDOW_ARGUMENTS
    ");"
    " output = conv(planes, point_filter, bias, groups = groups); }",
    "fragment separable_deconv" NNEX_SEPARABLE ", output_shape: integer[] = [], groups: integer = 1" NNEX_OUTPUT
    "{ planes = deconv(input, point_filter, groups = groups);"
    " output = deconv(planes, plane_filter, bias, output_shape = output_shape, groups = 0, " NNEX_WINDOW_ARGUMENTS
    "); }",
    // Activations
    "fragment sigmoid" NNEX_X_Y "{ y = 1.0 / (1.0 + exp(-x)); }",
    "fragment relu" NNEX_X_Y "{ y = max(x, 0.0); }",
    "fragment prelu(x: tensor<scalar>, alpha: tensor<scalar>) -> (y: tensor<scalar>)"
    "{ y = select(x < 0.0, alpha * x, x); }",
    "fragment leaky_relu(x: tensor<scalar>, alpha: scalar) -> (y: tensor<scalar>){ y = prelu(x, alpha); }",
    "fragment elu(x: tensor<scalar>, alpha: scalar = 1.0) -> (y: tensor<scalar>)"
    "{ y = select(x < 0.0, alpha * (exp(x) - 1.0), x); }",
    "fragment selu(x: tensor<scalar>, alpha: scalar = 1.67326319, lambda: scalar = 1.05070102) -> (y: tensor<scalar>)"
    "{ y = lambda * select(x < 0.0, alpha * (exp(x) - 1.0), x); }",
    "fragment gelu" NNEX_X_Y "{ y = x * sigmoid(1.702 * x); }",
    "fragment silu" NNEX_X_Y "{ y = x * sigmoid(x); }",
    "fragment softmax(x: tensor<scalar>, axes: integer[] = [1]) -> (y: tensor<scalar>)"
    "{ e = exp(x - max_reduce(x, axes = axes)); y = e / sum_reduce(e, axes = axes); }",
    // ln(e^x + 1) in the standard's words; these give the same and stay finite where e^x does not.
    "fragment softplus" NNEX_X_Y "{ y = max(x, 0.0) + log(1.0 + exp(-abs(x))); }",
    // Pools
    {"fragment max_pool_with_index" NNEX_SIZED ") -> (output: tensor<scalar>, index: tensor<integer>)"
     "{ index = argmax_pool(input, size = size, " NNEX_WINDOW_ARGUMENTS ");"
     " output = sample(input, index, size = size, " NNEX_WINDOW_ARGUMENTS "); }",
     kBorderlessBody},
    {"fragment max_pool" NNEX_SIZED NNEX_OUTPUT
     "{ output, index = max_pool_with_index(input, size = size, " NNEX_WINDOW_ARGUMENTS "); }",
     kBorderlessBody},
    "fragment avg_pool" NNEX_SIZED NNEX_OUTPUT
    "{ output = box(input, size = size, normalize = true, " NNEX_WINDOW_ARGUMENTS "); }",
    "fragment rms_pool" NNEX_SIZED NNEX_OUTPUT
    "{ output = sqrt(avg_pool(sqr(input), size = size, " NNEX_WINDOW_ARGUMENTS ")); }",
    // Normalization
    "fragment local_response_normalization(input: tensor<scalar>, size: integer[], alpha: scalar = 1.0, beta: scalar "
    "= 0.5, bias: scalar = 1.0" NNEX_OUTPUT
    "{ output = input / (bias + alpha * box(sqr(input), size = size, normalize = true)) ^ beta; }",
    "fragment local_mean_normalization(input: tensor<scalar>, size: integer[]" NNEX_OUTPUT
    "{ output = input - box(input, size = size, normalize = true); }",
    "fragment local_variance_normalization(input: tensor<scalar>, size: integer[], bias: scalar = 0.0, epsilon: "
    "scalar = 0.0" NNEX_OUTPUT
    "{ output = input / max(sqrt(box(sqr(input), size = size, normalize = true)) + bias, epsilon); }",
    "fragment local_contrast_normalization(input: tensor<scalar>, size: integer[], bias: scalar = 0.0, epsilon: "
    "scalar = 0.0" NNEX_OUTPUT
    "{ output = local_variance_normalization(local_mean_normalization(input, size = size), size = size, bias = bias,"
    " epsilon = epsilon); }",
    "fragment l1_normalization(input: tensor<scalar>, axes: integer[], bias: scalar = 0.0, epsilon: scalar = "
    "0.0" NNEX_OUTPUT "{ output = input / max(sum_reduce(abs(input), axes = axes) + bias, epsilon); }",
    "fragment l2_normalization(input: tensor<scalar>, axes: integer[], bias: scalar = 0.0, epsilon: scalar = "
    "0.0" NNEX_OUTPUT "{ output = input / max(sqrt(sum_reduce(sqr(input), axes = axes)) + bias, epsilon); }",
    "fragment batch_normalization(input: tensor<scalar>, mean: tensor<scalar>, variance: tensor<scalar>, offset: "
    "tensor<scalar>, scale: tensor<scalar>, epsilon: scalar" NNEX_OUTPUT
    "{ output = offset + scale * (input - mean) / sqrt(variance + epsilon); }",
    // Quantization
    {"fragment min_max_linear_quantize(x: tensor<scalar>, min: tensor<scalar>, max: tensor<scalar>, bits: integer, "
     "signed: logical, symmetric: logical) -> (y: tensor<scalar>)"
     "{ r = scalar(2 ^ bits - 1 - integer(signed && symmetric));"
     " p = scalar(2 ^ (bits - 1) - integer(symmetric) if signed else 0);"
     " q = round((clamp(x, min, max) - min) / (max - min) * r) - p;"
     " y = (q + p) / r * (max - min) + min; }",
     kQuantisation},
    {"fragment zero_point_linear_quantize(x: tensor<scalar>, zero_point: tensor<integer>, scale: tensor<scalar>, bits: "
     "integer, signed: logical, symmetric: logical) -> (y: tensor<scalar>)"
     "{ z = cast<scalar>(zero_point);"
     " r = scalar(2 ^ (bits - 1) - 1 if signed else 2 ^ bits - 1);"
     " q = clamp(round(x / scale) + z, 0.0 if !signed else -r if symmetric else -r - 1.0, r);"
     " y = (q - z) * scale; }",
     kQuantisation},
    {"fragment linear_quantize(x: tensor<scalar>, min: tensor<scalar>, max: tensor<scalar>, bits: integer) -> (y: "
     "tensor<scalar>)"
     "{ y = min_max_linear_quantize(x, min, max, bits = bits, signed = false, symmetric = false); }",
     kQuantisation},
    {"fragment logarithmic_quantize(x: tensor<scalar>, max: tensor<scalar>, bits: integer) -> (y: tensor<scalar>)"
     "{ m = ceil(log2(max)); r = scalar(2 ^ bits - 1);"
     " q = round(clamp(log2(abs(x)), m - r, m)); y = sign(x) * 2.0 ^ q; }",
     kQuantisation},
    // Lists
    "fragment copy_n<?>(x: tensor<?>, times: integer) -> (y: tensor<?>[]){ y = [x] * times; }",
    "fragment add_n(x: tensor<scalar>[]) -> (y: tensor<scalar>)"
    "{ y = x[0] + add_n(x[1:]) if length_of(x) > 0 else 0.0; }",
    // NOLINTEND(bugprone-suspicious-missing-comma)
};

struct Standard {
  graph_text::Arena arena;
  std::vector<Declaration> list;
  NameTable<const Declaration*> by_name;

  Standard() {
    Faults faults;
    for (const StandardText& source : kStandard) {
      graph_text::Document d;
      graph_text::Parser parser(source.text, "the standard", {}, faults, arena, graph_text::TextKind::dump);
      NNEX_ASSERT(parser.start());
      parser.head(d);  // A graph is missing, which is as it should be.
      NNEX_ASSERT(d.fragments.size() == 1);
      Declaration declared = declare(*arena.make(d.fragments[0]), arena);
      declared.index = static_cast<uint16_t>(list.size());
      declared.rules = source.rules;
      list.push_back(declared);
    }
    for (const Declaration& d : list) by_name.add(d.name, &d);
  }
};

const Standard& standard() {
  static const Standard made;
  return made;
}

}  // namespace

Arg literal(const graph_text::Expr& e, graph_text::Arena& arena) {
  using K = graph_text::Expr::Kind;
  Arg out;
  if (atom(e, out) || (e.kind != K::array && e.kind != K::tuple)) return out;
  std::vector<Arg> items;
  for (const auto& i : e.items) items.push_back(literal(i, arena));
  return Arg(arena.copy(items.data(), items.size()), e.kind == K::array ? Arg::Kind::array : Arg::Kind::tuple);
}

Declaration declare(const graph_text::FragmentText& f, graph_text::Arena& arena) {
  Declaration d;
  d.name = f.name;
  d.generic = f.generic, d.has_generic_default = f.has_generic_default;
  if (f.has_generic_default) d.generic_default = item_type(f.generic_default);
  std::vector<Parameter> parameters;
  for (const graph_text::FragmentParam& p : f.params) {
    Parameter made;
    made.name = p.name, made.type = arena.make(p.type), made.has_default = p.otherwise != nullptr;
    if (p.otherwise) made.otherwise = literal(*p.otherwise, arena);
    parameters.push_back(made);
  }
  std::vector<ResultPort> results;
  for (const graph_text::FragmentParam& r : f.results) results.push_back({r.name, arena.make(r.type)});
  d.parameters = arena.copy(parameters.data(), parameters.size());
  if (constexpr size_t kMany = 32; parameters.size() > kMany) {
    auto positions = std::make_shared<NameTable<uint32_t>>();
    for (size_t i = 0; i < parameters.size(); ++i) positions->add(parameters[i].name, static_cast<uint32_t>(i));
    d.positions = std::move(positions);
  }
  d.results = arena.copy(results.data(), results.size());
  if (f.has_body) d.body = &f;
  return d;
}

std::span<const Declaration> standard_operations() { return standard().list; }

const Declaration* find_declaration(std::string_view name) {
  const auto* known = standard().by_name.find(name);
  return known ? *known : nullptr;
}

const Arg& Operation::arg(std::string_view parameter) const {
  const int i = declaration->find(parameter);
  NNEX_ASSERT(i >= 0);
  return args[static_cast<size_t>(i)];
}

Error Operation::fault(std::string_view rule, std::string message, Code code) const {
  Error e(code, rule.empty() ? std::move(message) : std::string(rule) + ": " + message);
  return places ? places->placed(std::move(e)) : std::move(e);
}

}  // namespace nnex::nnef_format
