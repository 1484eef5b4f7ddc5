#include "webnn/step.h"

#include <algorithm>
#include <set>

#include "base/joined.h"
#include "base/try.h"
#include "webnn/idl.h"

namespace nnex::ml {
namespace {

/// The default of a parameter as the IDL writes it.
Arg standard_of(const Param& p) {
  if (p.standard.empty()) return {};
  const std::string text(p.standard);
  switch (p.kind) {
    case ArgKind::boolean:
      return p.standard == "true";
    case ArgKind::word:
      return text;
    case ArgKind::data_type:
      return *data_type_named(text);
    case ArgKind::real:
      return *idl::to_number(text, p.name);
    case ArgKind::number:
      return Number(*idl::to_number(text, p.name));
    default:
      return static_cast<int64_t>(*idl::to_number(text, p.name));
  }
}

}  // namespace

Arguments::Arguments(const Method& m) : method(&m) {
  for (const Param& p : m.params) values.push_back(standard_of(p));
  for (const Param& p : m.options->members) values.push_back(standard_of(p));
}

const Param& Arguments::param(size_t i) const {
  return i < method->params.size() ? method->params[i] : method->options->members[i - method->params.size()];
}

size_t Arguments::index(std::string_view name) const {
  size_t i = 0;
  while (i < values.size() && param(i).name != name) ++i;
  NNEX_ASSERT(i < values.size());
  return i;
}

Ints extents(const OperandState& operand) { return Ints(operand.shape.begin(), operand.shape.end()); }

std::string Step::prefix() const {
  const std::string_view name = method().name;
  return args_.label.empty() ? fmt::format("{}: ", name) : fmt::format("[{}] {}: ", idl::printable(args_.label), name);
}

Status Step::need_number(std::string_view name) const {
  const DataType type = operand("input").dataType;
  if (!given(name) || !number(name).big_int() || type == DataType::int64 || type == DataType::uint64) return {};
  return fail("{} is a BigInt; the input is {}", name, ml::name(type));
}

Status Step::need_count(std::string_view name, size_t n) const {
  if (!given(name) || ints(name).size() == n) return {};
  return fail("{} has {} items; needed {}", name, ints(name).size(), n);
}

Status Step::need_positive(std::string_view name) const {
  if (!given(name)) return {};
  for (int64_t item : ints(name))
    if (item < 1) return fail("{} has an item {}; needed at least 1", name, item);
  return {};
}

Status Step::need_axis(std::string_view name, size_t rank) const {
  if (integer(name) < static_cast<int64_t>(rank)) return {};
  return fail("{} is {}; the input has {} axes", name, integer(name), rank);
}

Status Step::need_axes(std::string_view name, size_t rank) const {
  if (!given(name)) return {};
  std::set<int64_t> seen;
  for (int64_t axis : ints(name)) {
    if (axis >= static_cast<int64_t>(rank)) return fail("{} names axis {}; the input has {} axes", name, axis, rank);
    if (!seen.insert(axis).second) return fail("{} names axis {} twice", name, axis);
  }
  return {};
}

Status Step::need_shape(std::string_view operand_name, const Ints& needed) const {
  if (!given(operand_name) || shape(operand_name) == needed) return {};
  return fail("{} has shape [{}]; needed [{}]", operand_name, joined(shape(operand_name), ","), joined(needed, ","));
}

namespace {
constexpr int64_t kBound = int64_t{1} << 62;
}

int64_t bounded_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return a < 0 ? -kBound : kBound;
  return std::clamp(r, -kBound, kBound);
}

int64_t bounded_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) != (b < 0) ? -kBound : kBound;
  return std::clamp(r, -kBound, kBound);
}

}  // namespace nnex::ml
