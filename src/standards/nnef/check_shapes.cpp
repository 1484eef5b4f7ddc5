#include "standards/nnef/check_shapes.h"

#include <algorithm>
#include <array>

#include "standards/nnef/check_shape_call.h"

namespace nnex::nnef_format {

std::string label_key(std::string_view label) {
  std::string key(label);
  for (char& c : key)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return key;
}

SharedLabel& VariableTable::add(std::string_view label, TensorId variable) {
  std::string_view key = label;
  if (std::any_of(label.begin(), label.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    key = key_ = label_key(label);
  const uint32_t* known = by_key_.find(key);
  uint32_t at = known ? *known : static_cast<uint32_t>(list_.size());
  if (!known) {
    SharedLabel& shared = list_.add();
    shared.written = texts_.copy(label);
    shared.key = key.data() == label.data() ? shared.written : texts_.copy(key);
    shared.first = variable;
    by_key_.add(shared.key, at);
  }
  variables_.push_back({variable.n, at});
  return list_[at];
}

SharedLabel* VariableTable::find(TensorId variable) {
  const auto at = std::lower_bound(variables_.begin(), variables_.end(), variable.n,
                                   [](const Variable& v, uint32_t n) { return v.tensor < n; });
  return at == variables_.end() || at->tensor != variable.n ? nullptr : &list_[at->label];
}

bool stretch(Ints& to, const Ints& by) {
  const size_t both = std::min(to.size(), by.size());
  for (size_t i = 0; i < both; ++i)
    if (to[i] != by[i] && to[i] != 1 && by[i] != 1) return false;
  for (size_t i = 0; i < both; ++i)
    if (to[i] == 1) to[i] = by[i];
  if (by.size() > both) to.insert(to.end(), by.begin() + static_cast<ptrdiff_t>(both), by.end());
  return true;
}

bool broadcasts_to(const Ints& from, const Ints& to) {
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && (i >= to.size() || from[i] != to[i])) return false;
  return true;
}

namespace {

// ---- Introducing operations

Status positive(ShapeCall& c, const IntList& shape) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] <= 0)
      return c.fault("O-INTRO-1", "shape {} has extent {} at dimension {}; needed 1 or more", text(shape.ints()),
                     shape[i], i);
  return {};
}

Status external_shape(ShapeCall& c) {
  const IntList shape = c.ints("shape");
  NNEX_TRY(positive(c, shape));
  return c.give(shape.ints());
}

Status constant_shape(ShapeCall& c) {
  const IntList shape = c.ints("shape");
  NNEX_TRY(positive(c, shape));
  NNEX_TRY(c.give(shape.ints()));
  int64_t volume = 1;
  for (size_t i = 0; i < shape.size(); ++i) volume *= shape[i];
  const Arg& value = c.arg("value");
  const size_t found = value.is_list() ? value.items().size() : 1;
  if (found != 1 && static_cast<int64_t>(found) != volume)
    return c.fault("O-CONST-1", "value has {} items; shape {} needs {}, or one for all", found, text(shape.ints()),
                   volume);
  return {};
}

constexpr auto kLabelChars = [] {
  std::array<bool, 256> out{};
  for (char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/\\-"))
    out[static_cast<size_t>(c)] = true;
  return out;
}();
bool is_label_char(char c) { return kLabelChars[static_cast<unsigned char>(c)]; }

Status variable_shape(ShapeCall& c) {
  const IntList shape = c.ints("shape");
  NNEX_TRY(positive(c, shape));
  const std::string_view label = c.word("label");
  if (label.empty()) return c.fault("O-VAR-1", "label is empty; needed a name");
  for (char ch : label)
    if (!is_label_char(ch))
      return c.fault("O-VAR-1", "label '{}' has the character '{}'; needed letters, digits and . _ / \\ -", label, ch);
  NNEX_TRY(c.give(shape.ints()));
  const TensorId variable = c.op().results[0].tensor();
  const SharedLabel& shared = c.variables.add(label, variable);
  const TensorInfo &own = c.tensors()[variable], &first = c.tensors()[shared.first];
  if (own.extents != first.extents)
    return c.fault("A14", "label '{}' has shape {}; another variable with the label '{}' has {}, and they share data",
                   label, text(own.extents), shared.written, text(first.extents));
  if (own.type != first.type)
    return c.fault("A14", "label '{}' is {}; another variable with the label '{}' is {}, and they share data", label,
                   name(own.type), shared.written, name(first.type));
  return {};
}

Status update_shape(ShapeCall& c) {
  const Arg& variable = c.arg("variable");
  const Ints &to = c.extents(variable), &from = c.extents("value");
  if (to != from)
    return c.fault("O-UPD-1", "the variable has shape {}, the value {}; needed the same", text(to), text(from));
  if (variable.is_tensor()) {
    if (SharedLabel* shared = c.variables.find(variable.tensor())) {
      if (shared->updated)
        return c.fault("A13", "the variable '{}' is updated already; needed one update for each label",
                       shared->written);
      shared->updated = true;
    }
  }
  return c.give(to);
}

// ---- Element-wise operations

Status same_shape(ShapeCall& c) { return c.give(c.extents(c.op().args[0])); }

/// Stretches `a` by another operand, or says why it cannot.
Status meet(ShapeCall& c, std::string_view rule, Ints& a, std::string_view a_name, const Ints& b,
            std::string_view b_name) {
  if (stretch(a, b)) return {};
  size_t at = 0;
  while (a[at] == b[at] || a[at] == 1 || b[at] == 1) ++at;
  std::string hint;
  const Ints &small = a.size() < b.size() ? a : b, &large = a.size() < b.size() ? b : a;
  if (small.size() < large.size()) {
    Ints moved(large.size() - small.size(), 1);
    moved.insert(moved.end(), small.begin(), small.end());
    if (Ints both = moved; stretch(both, large))
      hint = fmt::format("; extents meet from dimension 0, so {} would have to be {}", text(small), text(moved));
  }
  return c.fault(rule, "{} has shape {}, {} has {}; at dimension {} found {} and {}, needed equal extents or a 1{}",
                 a_name, text(a), b_name, text(b), at, a[at], b[at], hint);
}

/// All tensor arguments stretch to one shape. `count`: how many of the arguments are operands.
Status broadcast_shape(ShapeCall& c, size_t count) {
  Ints out = c.extents(c.op().args[0]);
  const auto& names = c.op().declaration->parameters;
  for (size_t i = 1; i < count; ++i) {
    NNEX_TRY(
        meet(c, c.rule, out, i == 1 ? names[0].name : "what comes before", c.extents(c.op().args[i]), names[i].name));
  }
  return c.give(std::move(out));
}
Status two_operands(ShapeCall& c) { return broadcast_shape(c, 2); }
Status three_operands(ShapeCall& c) { return broadcast_shape(c, 3); }

Status sum_shape(ShapeCall& c) {
  Ints out;
  for (const Arg& item : c.arg("x").items()) {
    NNEX_TRY(meet(c, "O-MISC-2", out, "what comes before", c.extents(item), "an item"));
  }
  return c.give(std::move(out));
}

/// The result has the shape of the first argument; the next `count` arguments stretch to it.
Status shape_of_first(ShapeCall& c, size_t count) {
  const Ints& x = c.extents(c.op().args[0]);
  for (size_t i = 1; i <= count; ++i) {
    const Ints& p = c.extents(c.op().args[i]);
    if (!broadcasts_to(p, x))
      return c.fault(c.rule, "{} has shape {}, which does not stretch to {} of the input",
                     c.op().declaration->parameters[i].name, text(p), text(x));
  }
  return c.give(x);
}
Status batch_norm_shape(ShapeCall& c) { return shape_of_first(c, 4); }

Status quantize_shape(ShapeCall& c) {
  const int64_t bits = c.integer("bits");
  if (bits < 1 || bits > 63) return c.fault(c.rule, "bits is {}; needed 1 to 63", bits);
  size_t ranges = 0;
  while (c.op().declaration->parameters[ranges + 1].name != "bits") ++ranges;
  return shape_of_first(c, ranges);
}

// ---- Axes

/// Axes in range, each once.
Status check_axes(ShapeCall& c, const IntList& axes, size_t rank) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= static_cast<int64_t>(rank))
      return c.fault(c.rule, "axes names axis {}; the input has rank {}, so axes go from 0 to {}", axes[i], rank,
                     static_cast<int64_t>(rank) - 1);
  if (const auto twice = repeated(axes)) return c.fault(c.rule, "axes names axis {} twice", *twice);
  return {};
}

Status reduce_shape(ShapeCall& c) {
  Ints out = c.extents("input");
  const IntList axes = c.ints("axes");
  NNEX_TRY(check_axes(c, axes, out.size()));
  for (size_t i = 0; i < axes.size(); ++i) out[static_cast<size_t>(axes[i])] = 1;
  for (size_t r = 1; r < c.op().results.size(); ++r) NNEX_TRY(c.give(out, r));
  return c.give(std::move(out));
}

Status axes_norm_shape(ShapeCall& c) {
  const Ints& x = c.extents(c.op().args[0]);
  NNEX_TRY(check_axes(c, c.ints("axes"), x.size()));
  return c.give(x);
}

// ---- Products

/// Extents of the product of matrices in the last two dimensions.
Result<Ints> product_extents(ShapeCall& c, const Ints& a, const Ints& b, bool turn_a, bool turn_b) {
  const size_t rank = a.size();
  if (rank != b.size() || rank < 2)
    return c.fault(c.rule, "the operands have shapes {} and {}; needed equal ranks of 2 or more", text(a), text(b));
  Ints out = a;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      return c.fault(c.rule, "the operands have extents {} and {} at dimension {}; needed equal ones or a 1", a[i],
                     b[i], i);
    out[i] = a[i] == 1 ? b[i] : a[i];
  }
  const int64_t m = a[rank - 1 - !turn_a], k = a[rank - 1 - turn_a];
  const int64_t other_k = b[rank - 1 - !turn_b], n = b[rank - 1 - turn_b];
  if (k != other_k)
    return c.fault(c.rule, "the first operand has {} columns, the second {} rows (shapes {} and {}); needed the same",
                   k, other_k, text(a), text(b));
  out[rank - 2] = m, out[rank - 1] = n;
  return out;
}

Status matmul_shape(ShapeCall& c) {
  NNEX_ASSIGN(Ints out,
              product_extents(c, c.extents("A"), c.extents("B"), c.logical("transposeA"), c.logical("transposeB")));
  return c.give(std::move(out));
}

Status linear_shape(ShapeCall& c) {
  NNEX_ASSIGN(Ints out, product_extents(c, c.extents("input"), c.extents("filter"), false, true));
  const Ints& bias = c.extents("bias");
  if (!broadcasts_to(bias, out)) {
    const bool channels = bias.size() == 1 && out.size() == 2 && bias[0] == out[1];
    return c.fault(
        c.rule, "bias has shape {}, which does not stretch to {}{}", text(bias), text(out),
        channels ? fmt::format("; extents meet from dimension 0, so it would have to be [1,{}]", bias[0]) : "");
  }
  return c.give(std::move(out));
}

// ---- The table

/// Every operation of the standard, in order of name.
constexpr ShapeRow kRows[] = {
    {"abs", same_shape, "O-UN-1"},
    {"acos", same_shape, "O-UN-1"},
    {"acosh", same_shape, "O-UN-1"},
    {"add", two_operands, "O-BIN-1"},
    {"add_n", sum_shape, "O-MISC-2"},
    {"all_reduce", reduce_shape, "O-RED-1"},
    {"and", two_operands, "O-BIN-1"},
    {"any_reduce", reduce_shape, "O-RED-1"},
    {"area_downsample", downsample_shape, "O-UPS-1"},
    {"argmax_pool", pool_shape, "O-SW-4"},
    {"argmax_reduce", reduce_shape, "O-RED-1"},
    {"argmin_reduce", reduce_shape, "O-RED-1"},
    {"asin", same_shape, "O-UN-1"},
    {"asinh", same_shape, "O-UN-1"},
    {"atan", same_shape, "O-UN-1"},
    {"atanh", same_shape, "O-UN-1"},
    {"avg_pool", pool_shape, "O-SW-4"},
    {"avg_roi_align", roi_shape, "O-ROI-1"},
    {"avg_roi_pool", roi_shape, "O-ROI-1"},
    {"batch_normalization", batch_norm_shape, "O-NORM-3"},
    {"box", pool_shape, "O-SW-4"},
    {"cast", same_shape, "O-CAST-1"},
    {"ceil", same_shape, "O-UN-1"},
    {"clamp", three_operands, "O-SEL-1"},
    {"concat", concat_shape, "O-CONCAT-1"},
    {"constant", constant_shape, "O-INTRO-1"},
    {"conv", conv_shape, "O-SW-4"},
    {"copy", same_shape, "O-UN-1"},
    {"copy_n", copies_shape, "O-MISC-1"},
    {"cos", same_shape, "O-UN-1"},
    {"cosh", same_shape, "O-UN-1"},
    {"debox", reverse_pool_shape, "O-SW-4"},
    {"deconv", deconv_shape, "O-SW-4"},
    {"desample", desample_shape, "O-SAMPLE-1"},
    {"div", two_operands, "O-BIN-1"},
    {"elu", same_shape, "O-UN-1"},
    {"eq", two_operands, "O-BIN-1"},
    {"exp", same_shape, "O-UN-1"},
    {"external", external_shape, "O-INTRO-1"},
    {"floor", same_shape, "O-UN-1"},
    {"gather", gather_shape, "O-GATHER-1"},
    {"ge", two_operands, "O-BIN-1"},
    {"gelu", same_shape, "O-UN-1"},
    {"gt", two_operands, "O-BIN-1"},
    {"l1_normalization", axes_norm_shape, "O-NORM-2"},
    {"l2_normalization", axes_norm_shape, "O-NORM-2"},
    {"le", two_operands, "O-BIN-1"},
    {"leaky_relu", same_shape, "O-UN-1"},
    {"linear", linear_shape, "O-LIN-1"},
    {"linear_quantize", quantize_shape, "O-QNT-1"},
    {"local_contrast_normalization", local_norm_shape, "O-NORM-1"},
    {"local_mean_normalization", local_norm_shape, "O-NORM-1"},
    {"local_response_normalization", local_norm_shape, "O-NORM-1"},
    {"local_variance_normalization", local_norm_shape, "O-NORM-1"},
    {"log", same_shape, "O-UN-1"},
    {"log2", same_shape, "O-UN-1"},
    {"logarithmic_quantize", quantize_shape, "O-QNT-1"},
    {"lt", two_operands, "O-BIN-1"},
    {"matmul", matmul_shape, "O-MATMUL-1"},
    {"max", two_operands, "O-BIN-1"},
    {"max_pool", pool_shape, "O-SW-4"},
    {"max_pool_with_index", pool_shape, "O-SW-4"},
    {"max_reduce", reduce_shape, "O-RED-1"},
    {"max_roi_align", roi_shape, "O-ROI-1"},
    {"max_roi_pool", roi_shape, "O-ROI-1"},
    {"mean_reduce", reduce_shape, "O-RED-1"},
    {"min", two_operands, "O-BIN-1"},
    {"min_max_linear_quantize", quantize_shape, "O-QNT-1"},
    {"min_reduce", reduce_shape, "O-RED-1"},
    {"moments", reduce_shape, "O-RED-1"},
    {"mul", two_operands, "O-BIN-1"},
    {"multilinear_upsample", upsample_shape, "O-UPS-1"},
    {"ne", two_operands, "O-BIN-1"},
    {"nearest_downsample", downsample_shape, "O-UPS-1"},
    {"nearest_upsample", upsample_shape, "O-UPS-1"},
    {"neg", same_shape, "O-UN-1"},
    {"not", same_shape, "O-UN-1"},
    {"or", two_operands, "O-BIN-1"},
    {"pad", pad_shape, "O-PAD-1"},
    {"pow", two_operands, "O-BIN-1"},
    {"prelu", two_operands, "O-BIN-1"},
    {"rcp", same_shape, "O-UN-1"},
    {"relu", same_shape, "O-UN-1"},
    {"reshape", reshape_shape, "O-RESH-3"},
    {"rms_pool", pool_shape, "O-SW-4"},
    {"roi_resample", roi_shape, "O-ROI-1"},
    {"round", same_shape, "O-UN-1"},
    {"rsqr", same_shape, "O-UN-1"},
    {"rsqrt", same_shape, "O-UN-1"},
    {"sample", sample_shape, "O-SAMPLE-1"},
    {"select", three_operands, "O-SEL-1"},
    {"selu", same_shape, "O-UN-1"},
    {"separable_conv", separable_conv_shape, "O-SEP-1"},
    {"separable_deconv", separable_deconv_shape, "O-SEP-1"},
    {"sigmoid", same_shape, "O-UN-1"},
    {"sign", same_shape, "O-UN-1"},
    {"silu", same_shape, "O-UN-1"},
    {"sin", same_shape, "O-UN-1"},
    {"sinh", same_shape, "O-UN-1"},
    {"slice", slice_shape, "O-SLICE-1"},
    {"softmax", axes_norm_shape, "O-NORM-2"},
    {"softplus", same_shape, "O-UN-1"},
    {"split", split_shape, "O-SPLIT-1"},
    {"sqr", same_shape, "O-UN-1"},
    {"sqrt", same_shape, "O-UN-1"},
    {"squeeze", squeeze_shape, "O-SQZ-1"},
    {"stack", stack_shape, "O-STACK-1"},
    {"sub", two_operands, "O-BIN-1"},
    {"sum_reduce", reduce_shape, "O-RED-1"},
    {"tan", same_shape, "O-UN-1"},
    {"tanh", same_shape, "O-UN-1"},
    {"tile", tile_shape, "O-TILE-1"},
    {"transpose", transpose_shape, "O-TRANS-1"},
    {"unsqueeze", unsqueeze_shape, "O-SQZ-2"},
    {"unstack", unstack_shape, "O-STACK-2"},
    {"update", update_shape, "O-UPD-1"},
    {"variable", variable_shape, "O-INTRO-1"},
    {"zero_point_linear_quantize", quantize_shape, "O-QNT-1"},
};
static_assert(std::size(kRows) == 118);
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const ShapeRow& a, const ShapeRow& b) { return a.name < b.name; }));

/// The rows by number of the declaration.
std::span<const ShapeRow* const> rows_by_index() {
  static const std::vector<const ShapeRow*> kByIndex = [] {
    std::vector<const ShapeRow*> rows;
    for (const Declaration& d : standard_operations()) {
      const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), d.name,
                                         [](const ShapeRow& r, std::string_view name) { return r.name < name; });
      NNEX_ASSERT(row != std::end(kRows) && row->name == d.name);
      rows.push_back(row);
    }
    return rows;
  }();
  return kByIndex;
}

}  // namespace

Status infer_shapes(const Operation& op, Tensors& tensors, VariableTable& variables) {
  if (!op.declaration->is_standard()) return {};
  const ShapeRow& row = *rows_by_index()[op.declaration->index];
  ShapeCall call(op, tensors, variables);
  if (!call.shaped()) return {};
  call.rule = row.rule;
  return row.infer(call);
}

}  // namespace nnex::nnef_format
