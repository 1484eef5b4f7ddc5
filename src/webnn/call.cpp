#include "webnn/call.h"

#include <algorithm>

#include "base/try.h"
#include "webnn/importer.h"
#include "webnn/interface.h"

namespace nnex::ml {
namespace {

using idl::Value;

// ---- Conversion

template <class T, class Convert>
Result<std::vector<T>> each(const Value& v, std::string_view what, Convert convert) {
  NNEX_ASSIGN(idl::Sequence items, idl::to_sequence(v, what));
  std::vector<T> out;
  for (const Value& item : items) {
    NNEX_ASSIGN(auto converted, convert(item, what));
    out.push_back(T(std::move(converted)));
  }
  return out;
}

template <class T>
Result<Arg> as_arg(Result<T> from) {
  if (!from.ok()) return std::move(from).error();
  if constexpr (std::is_same_v<T, uint32_t> || std::is_same_v<T, int32_t>)
    return Arg(static_cast<int64_t>(*from));
  else
    return Arg(std::move(from).value());
}

Result<Arg> convert_value(const Param& p, const Value& v, std::string_view what) {
  const auto word = [&](const Value& item, std::string_view w) -> Result<std::string> {
    const auto& words = p.words->words;
    NNEX_ASSIGN(size_t i, idl::to_word(item, std::span<const std::string_view>(words.begin(), words.size()), w));
    return std::string(words[i]);
  };
  switch (p.kind) {
    case ArgKind::operand:
      return as_arg(idl::to_operand(v, what));
    case ArgKind::operands:
      return as_arg(each<Operand>(v, what, idl::to_operand));
    case ArgKind::unsigned_long:
      return as_arg(idl::to_unsigned_long(v, what));
    case ArgKind::wrapped_long:
      return as_arg(idl::to_wrapped_unsigned_long(v, what));
    case ArgKind::signed_long:
      return as_arg(idl::to_long(v, what));
    case ArgKind::unsigned_longs:
      return as_arg(each<int64_t>(v, what, idl::to_unsigned_long));
    case ArgKind::wrapped_longs:
      return as_arg(each<int64_t>(v, what, idl::to_wrapped_unsigned_long));
    case ArgKind::long_or_longs:
      if (idl::iterable(v)) return as_arg(each<int64_t>(v, what, idl::to_unsigned_long));
      return as_arg(idl::to_unsigned_long(v, what));
    case ArgKind::floats:
      return as_arg(each<double>(v, what, idl::to_float));
    case ArgKind::real:
      return as_arg(idl::to_double(v, what));
    case ArgKind::number:
      return as_arg(idl::to_ml_number(v, what));
    case ArgKind::boolean:
      return Arg(idl::to_boolean(v));
    case ArgKind::word:
      return as_arg(word(v, what));
    case ArgKind::words:
      return as_arg(each<std::string>(v, what, word));
    case ArgKind::data_type:
      return as_arg(idl::to_data_type(v, what));
  }
  return Arg();
}

/// The members of the options, the inherited `label` first.
Status convert_options(const Method& method, const Value& options, Arguments& out) {
  const std::string what = fmt::format("{}: options", method.name);
  NNEX_TRY(idl::check_dictionary(options, what));
  if (const Value& label = options.member("label"); !label.undefined()) {
    NNEX_ASSIGN(out.label, idl::to_string(label, what + ".label"));
  }
  for (size_t i = 0; i < method.options->members.size(); ++i) {
    const Param& p = method.options->members[i];
    const Value& member = options.member(p.name);
    if (member.undefined()) continue;
    NNEX_ASSIGN(out.values[method.params.size() + i], convert_value(p, member, fmt::format("{}.{}", what, p.name)));
  }
  return {};
}

// ---- Checks

/// Calls check(name, operand) for every operand, in the order of arguments and members.
template <class Check>
Status each_operand(const Step& step, Check check) {
  const Arguments& args = step.args();
  for (size_t i = 0; i < args.values.size(); ++i) {
    const std::string_view name = args.param(i).name;
    if (auto* operand = std::get_if<Operand>(&args.values[i])) NNEX_TRY(check(name, *operand));
    if (auto* list = std::get_if<std::vector<Operand>>(&args.values[i]))
      for (const Operand& o : *list) NNEX_TRY(check(name, o));
  }
  return {};
}

const OperandLimit* limit_of(const Method& method, std::string_view operand) {
  for (const OperandLimit& l : limits_of(method.name))
    if (l.name == operand) return &l;
  return nullptr;
}

/// The operand another one is compared with: the first of a list.
const Operand& compared(const Step& step, std::string_view name) {
  const Arg& arg = step.arg(name);
  if (auto* list = std::get_if<std::vector<Operand>>(&arg)) return list->front();
  return std::get<Operand>(arg);
}

std::string type_names(TypeSet types) {
  std::string out;
  for (int t = 0; t < kDataTypes; ++t)
    if (types & only(static_cast<DataType>(t)))
      out += fmt::format("{}{}", out.empty() ? "" : ", ", name(static_cast<DataType>(t)));
  return out;
}

Status check_type(const Step& step, std::string_view operand, DataType type) {
  const OperandLimit* limit = limit_of(step.method(), operand);
  if (!limit) return {};
  if (!limit->same_type.empty() && limit->same_type != operand) {
    const DataType needed = compared(step, limit->same_type).dataType();
    if (type != needed)
      return step.fail("{} is {}; needed {}, the type of {}", operand, name(type), name(needed), limit->same_type);
  }
  if (limit->allowed & only(type)) return {};
  return step.fail("{} is {}; needed one of {}", operand, name(type), type_names(limit->allowed));
}

Status check_rank(const Step& step, std::string_view operand, size_t rank) {
  const OperandLimit* limit = limit_of(step.method(), operand);
  if (!limit) return {};
  if (!limit->same_rank.empty()) {
    const size_t needed = compared(step, limit->same_rank).shape().size();
    if (rank != needed)
      return step.fail("{} has rank {}; needed {}, the rank of {}", operand, rank, needed, limit->same_rank);
  }
  if (static_cast<int64_t>(rank) >= limit->ranks.min && static_cast<int64_t>(rank) <= limit->ranks.max) return {};
  return step.fail("{} has rank {}; needed {} to {}", operand, rank, limit->ranks.min, limit->ranks.max);
}

Status check_operands(const Step& step) {
  NNEX_TRY(each_operand(step, [&](std::string_view name, const Operand& o) -> Status {
    if (step.builder().owns(o)) return {};
    if (o.empty()) return step.fail("{} is an empty operand; needed one that a builder made", name);
    return step.fail("{} is an operand of another builder", name);
  }));
  if (auto* list = step.args().values.empty() ? nullptr : std::get_if<std::vector<Operand>>(&step.args().values[0]);
      list && list->empty())
    return step.fail("{} is empty; needed at least one operand", step.args().param(0).name);
  NNEX_TRY(each_operand(step,
                        [&](std::string_view name, const Operand& o) { return check_type(step, name, o.dataType()); }));
  return each_operand(
      step, [&](std::string_view name, const Operand& o) { return check_rank(step, name, o.shape().size()); });
}

/// Name of output i in the limits.
std::string output_name(const Method& method, size_t i) {
  if (limit_of(method, "outputs")) return "outputs";
  return limit_of(method, "output") ? "output" : fmt::format("output{}", i);
}

/// What the table's inference says of result i, within what a tensor of the interface can be.
Result<Operand> result(const Step& step, const Importer& to, size_t i) {
  const ValueId v = to.results()[i];
  const std::string what = output_name(step.method(), i);
  const std::optional<DataType> type = data_type_of(to.dtype(v));
  NNEX_ASSERT(type);
  if (!concrete(to.type(v))) return step.fail("{} would have more axes than any tensor", what);  // reshape's alone
  std::vector<uint32_t> shape;
  for (int64_t extent : to.shape(v)) {
    if (extent < 1 || extent > kMaxDimension)
      return step.fail("{} would have extent {}; needed 1 to {}", what, extent, kMaxDimension);
    shape.push_back(static_cast<uint32_t>(extent));
  }
  NNEX_TRY(check_dimensions(*type, shape, step.prefix() + what));
  NNEX_TRY(check_type(step, what, *type));
  return step.builder().operand(v, *type, std::move(shape));
}

Result<std::vector<Operand>> imported(const Step& step) {
  Importer to(step);
  if (step.method().import_call)
    step.method().import_call(to);
  else
    for (ValueId v : to.spelled()) to.result(v);
  if (!to.status().ok()) {
    std::string_view why = to.status().error().message();
    if (const size_t name = why.find(": "); why.find(' ') == name + 1) why.remove_prefix(name + 2);  // the row's
    return step.fail("{}", why);
  }
  std::vector<Operand> operands;
  for (size_t i = 0; i < to.results().size(); ++i) {
    NNEX_ASSIGN(Operand operand, result(step, to, i));
    operands.push_back(std::move(operand));
  }
  return operands;
}

}  // namespace

Result<Arguments> convert_arguments(const Method& method, std::span<const Value> args) {
  if (args.size() < method.params.size())
    return type_error(fmt::format("{}: found {} arguments; needed {}", method.name, args.size(), method.params.size()));
  Arguments out(method);
  for (size_t i = 0; i < method.params.size(); ++i) {
    const Param& p = method.params[i];
    NNEX_ASSIGN(out.values[i], convert_value(p, args[i], fmt::format("{}: {}", method.name, p.name)));
  }
  if (args.size() > method.params.size()) NNEX_TRY(convert_options(method, args[method.params.size()], out));
  return out;
}

Result<std::vector<Operand>> call(BuilderState& builder, std::string_view operation, std::span<const Value> args) {
  const Method* method = find_method(operation);
  if (!method) return type_error(fmt::format("a graph builder has no operation '{}'", idl::printable(operation)));
  NNEX_ASSIGN(Arguments converted, convert_arguments(*method, args));
  return call(builder, converted);
}

Result<std::vector<Operand>> call(BuilderState& builder, const Arguments& args) {
  Step step(builder, args);
  NNEX_TRY(builder.can_build());
  NNEX_TRY(check_operands(step));
  if (step.method().rule) NNEX_TRY(step.method().rule(step));
  return imported(step);
}

const OpSupportLimits& op_support_limits() {
  static const OpSupportLimits kLimits = [] {
    constexpr TypeSet kEverything = (1u << kDataTypes) - 1;
    const auto tensor = [](TypeSet types, Ranks ranks) {
      TensorLimits t;
      for (int i = 0; i < kDataTypes; ++i)
        if (const auto type = static_cast<DataType>(i); (types & only(type)) && in_interface(type))
          t.dataTypes.push_back(type);
      t.rankRange = {static_cast<uint32_t>(ranks.min), static_cast<uint32_t>(ranks.max)};
      return t;
    };
    OpSupportLimits all;
    all.maxTensorByteLength = static_cast<uint64_t>(kMaxTensorBytes);
    all.input = all.constant = all.output = tensor(kEverything, {0, kMaxRank});
    for (const Method& m : methods()) {
      OperationLimits op{std::string(m.name), {}};
      for (const OperandLimit& l : limits_of(m.name)) op.operands.emplace_back(l.name, tensor(l.allowed, l.ranks));
      all.operations.push_back(std::move(op));
    }
    return all;
  }();
  return kLimits;
}

}  // namespace nnex::ml
