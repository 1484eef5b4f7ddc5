// Arithmetic: old broadcasting, operators of many operands, clips.

#include <fmt/format.h>

#include <limits>

#include "ops/cast.h"
#include "standards/onnx/import_quirks.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

/// Until opset 6 `broadcast = 1` lets B meet A from `axis` on (absent: from the end): B gets trailing axes of extent 1.
Result<Quirked> old_broadcast(NodeImport& n) {
  if (n.version >= 7 || !n.domain.empty()) return Quirked::no;
  const int64_t broadcast = n.integer("broadcast", 0), axis = n.integer("axis", INT64_MIN);
  n.drop("broadcast");
  n.drop("axis");
  if (!broadcast || axis == INT64_MIN || !n.has(1)) return Quirked::no;
  auto a = n.rank(0), b = n.rank(1);
  if (!a || !b) return n.error("broadcasting from an axis needs the ranks of both inputs");
  const int64_t from = axis < 0 ? axis + *a : axis, trailing = *a - from - *b;
  if (trailing < 0) return n.error(fmt::format("axis {} leaves no place for {} axes in {}", axis, *b, *a));
  if (trailing == 0) return Quirked::no;
  Ints axes;
  for (int64_t i = 0; i < trailing; ++i) axes.push_back(*b + i);
  n.in[1] = n.b("unsqueeze", {n.in[1], n.b.ints(axes)});
  return Quirked::no;
}

/// Max, Min of other than two operands: a chain.
Result<Quirked> chain(NodeImport& n, std::string_view op) {
  if (n.in.empty()) return n.error("at least one input is required");
  if (n.in.size() == 2) return Quirked::no;
  ValueId y = n.in[0];
  if (n.in.size() == 1) y = n.b("copy", {y});
  for (size_t i = 1; i < n.in.size(); ++i) y = n.b(op, {y, n.in[i]});
  n.bind(0, y);
  return Quirked::done;
}
Result<Quirked> max_of(NodeImport& n) { return chain(n, "max"); }
Result<Quirked> min_of(NodeImport& n) { return chain(n, "min"); }

/// Mean: the sum over the count of operands.
Result<Quirked> mean_of(NodeImport& n) {
  if (n.in.empty()) return n.error("at least one input is required");
  ValueId sum = n.in[0];
  for (size_t i = 1; i < n.in.size(); ++i) sum = n.b("add", {sum, n.in[i]});
  const DType type = n.type(0).dtype == DType::none ? DType::f32 : n.type(0).dtype;
  n.bind(0, n.b("mul", {sum, n.b.number(type, 1.0 / static_cast<double>(n.in.size()))}));
  return Quirked::done;
}

/// Clip-6: limits that are the type's extremes are no limits. From opset 11 on they are inputs, of one number each.
Result<Quirked> clip(NodeImport& n) {
  for (size_t i = 1; n.version >= 11 && i < n.in.size(); ++i) {
    const auto count = n.has(i) && n.type(i).dims ? product(*n.type(i).dims).number() : std::nullopt;
    if (count && *count != 1)
      return n.error(fmt::format("{} has {} elements; needed 1", i == 1 ? "min" : "max", *count));
  }
  if (n.version >= 11) return Quirked::no;
  if (n.real("min", -1) <= -static_cast<double>(std::numeric_limits<float>::max())) n.drop("min");
  if (n.real("max", 1) >= static_cast<double>(std::numeric_limits<float>::max())) n.drop("max");
  return Quirked::no;
}

/// Gemm until opset 6: C broadcasts only when `broadcast` says so; the newer rule covers both.
Result<Quirked> gemm(NodeImport& n) {
  n.drop("broadcast");
  return Quirked::no;
}

/// Dropout is the identity outside training; is_test = 0 of opsets 1 and 6 trains. Before opset 10 the mask is of the
/// data's type.
Result<Quirked> dropout(NodeImport& n) {
  if (n.version >= 10) return Quirked::no;
  const bool train = n.version < 7 && n.integer("is_test", 0) == 0;
  n.drop("is_test");
  // Inference is what a runtime does with such exports; the flag is kept only where a mask is asked for.
  if (train && n.wants(1)) return n.error("training mode with a mask (is_test = 0) before opset 7");
  if (!n.wants(1)) {
    if (n.version >= 7) return Quirked::no;
    n.bind(0, n.b("copy", {n.in[0]}));
    return Quirked::done;
  }
  CastAttrs to;
  to.to = n.type(0).dtype;
  if (to.to == DType::none) return n.error("the mask has the type of the data, which is not known");
  NNEX_ASSIGN(const NodeId id, n.importer.spell(n));
  n.bind(0, n.importer.graph()[id].out[0]);
  n.bind(1, n.b("cast", {n.importer.graph()[id].out[1]}, to));
  return Quirked::done;
}

/// Of real numbers the remainder has the dividend's sign alone.
Result<Quirked> mod(NodeImport& n) {
  const DType type = n.type(0).dtype;
  const bool taken = type != DType::bf16 || n.version >= 13;  // of others the opset is told
  if (is_real(type) && taken && n.integer("fmod", 0) == 0)
    return n.error(fmt::format("fmod is 0; {} needs 1", name(type)));
  return Quirked::no;
}

/// Until opset 6 slope holds one number a channel of axis 1.
Result<Quirked> prelu(NodeImport& n) {
  auto x = n.rank(0), slope = n.rank(1);
  if (n.version >= 7 || !x || !slope || *slope != 1 || *x < 3) return Quirked::no;
  Ints axes;
  for (int64_t i = 1; i + 1 < *x; ++i) axes.push_back(i);
  n.in[1] = n.b("unsqueeze", {n.in[1], n.b.ints(axes)});
  return Quirked::no;
}

constexpr QuirkRow kMathRows[] = {
    {"Add", old_broadcast},
    {"Sub", old_broadcast},
    {"Mul", old_broadcast},
    {"Div", old_broadcast},
    {"Pow", old_broadcast},
    {"And", old_broadcast},
    {"Or", old_broadcast},
    {"Xor", old_broadcast},
    {"Equal", old_broadcast},
    {"Less", old_broadcast},
    {"Greater", old_broadcast},
    {"Max", max_of},
    {"Min", min_of},
    {"Mean", mean_of},
    {"Clip", clip},
    {"Gemm", gemm},
    {"Dropout", dropout},
    {"PRelu", prelu},
    {"Mod", mod},
};

}  // namespace

std::span<const QuirkRow> math_quirks() { return read_of<kMathRows>(); }

}  // namespace nnex::onnx_format
