#include "webnn/typed.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "webnn/method.h"

namespace nnex::ml {
namespace {

/// Without the ML in front.
std::string short_name(std::string_view idl_name) { return std::string(idl_name.substr(2)); }

std::string enumerator(std::string_view word) {
  std::string out(word);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

/// The type of a value that is there.
std::string plain_type(const Param& p) {
  switch (p.kind) {
    case ArgKind::operand:
      return "Operand";
    case ArgKind::operands:
      return "std::vector<Operand>";
    case ArgKind::unsigned_long:
    case ArgKind::wrapped_long:
      return "uint32_t";
    case ArgKind::signed_long:
      return "int32_t";
    case ArgKind::unsigned_longs:
    case ArgKind::wrapped_longs:
      return "std::vector<uint32_t>";
    case ArgKind::long_or_longs:
      return "std::variant<uint32_t, std::vector<uint32_t>>";
    case ArgKind::floats:
      return "std::vector<float>";
    case ArgKind::real:
      return "double";
    case ArgKind::number:
      return "Number";
    case ArgKind::boolean:
      return "bool";
    case ArgKind::word:
      return short_name(p.words->name);
    case ArgKind::words:
      return fmt::format("std::vector<{}>", short_name(p.words->name));
    case ArgKind::data_type:
      return "DataType";
  }
  return {};
}

std::string argument(const Param& p) {
  const std::string type = plain_type(p);
  const bool small = p.kind != ArgKind::operand && type.find("std::") != 0 && p.kind != ArgKind::number;
  return small ? fmt::format("{} {}", type, p.name) : fmt::format("const {}& {}", type, p.name);
}

std::string member(const Param& p) {
  if (p.standard.empty()) return fmt::format("  std::optional<{}> {} = {{}};\n", plain_type(p), p.name);
  std::string standard(p.standard);
  if (p.kind == ArgKind::word) standard = fmt::format("{}::{}", short_name(p.words->name), enumerator(standard));
  if (p.kind == ArgKind::data_type) standard = fmt::format("DataType::{}", standard);
  return fmt::format("  {} {} = {};\n", plain_type(p), p.name, standard);
}

/// A comment of lines of 120 columns at most, with an indent of two.
std::string comment(std::string_view sentence) {
  constexpr size_t kWidth = 114;
  std::string out;
  while (!sentence.empty()) {
    const size_t cut = sentence.size() <= kWidth ? sentence.size() : sentence.rfind(' ', kWidth);
    out += fmt::format("  /// {}\n", sentence.substr(0, cut));
    sentence.remove_prefix(std::min(cut + 1, sentence.size()));
  }
  return out;
}

std::string returned(const Method& m) { return m.several ? "Result<std::vector<Operand>>" : "Result<Operand>"; }

std::string arguments(const Method& m) {
  std::string out;
  for (const Param& p : m.params) out += argument(p) + ", ";
  return out + fmt::format("const {}& options", short_name(m.options->name));
}

std::vector<const OptionsType*> option_types() {
  std::vector<const OptionsType*> out;
  for (const Method& m : methods())
    if (!m.options->members.empty() && std::find(out.begin(), out.end(), m.options) == out.end())
      out.push_back(m.options);
  return out;
}

/// Every enumeration but MLInputOperandLayout, which is among the values of the API.
std::string enumerations() {
  std::vector<std::string_view> seen = {"MLInputOperandLayout"};
  std::string out;
  for (const OptionsType* o : option_types())
    for (const Param& p : o->members) {
      if (!p.words || std::find(seen.begin(), seen.end(), p.words->name) != seen.end()) continue;
      seen.push_back(p.words->name);
      std::string words;
      for (std::string_view w : p.words->words) words += fmt::format("{}{}", words.empty() ? "" : ", ", enumerator(w));
      out +=
          fmt::format("/// {}.\nenum class {} : uint8_t {{ {} }};\n", p.words->name, short_name(p.words->name), words);
    }
  return out;
}

}  // namespace

std::string typed_methods_header() {
  std::string out = R"(#pragma once
/// The operations of a graph builder, typed. Printed from their descriptions (src/webnn/methods.cpp) by
/// `NNEX_PRINT=1 unit_tests webnn_typed_test`: do not edit.
///
/// Options are plain structs: {.label = "first", .strides = {{2, 2}}} names members in their order, label first.

#include "nnex/webnn_types.h"

// clang-format off

#pragma GCC visibility push(default)
namespace nnex::ml {

)";
  out += enumerations();
  for (const OptionsType* o : option_types()) {
    out += fmt::format("\n/// {}.\nstruct {} {{\n  std::string label = {{}};\n", o->name, short_name(o->name));
    for (const Param& p : o->members) out += member(p);
    out += "};\n";
  }
  out += R"(
/// What GraphBuilder inherits: one method an operation of the specification. Operands must be of the same builder.
/// Errors: InvalidStateError after build() or when the context is lost; TypeError for whatever the specification forbids,
/// with the label in brackets.
class Operations {
 public:
)";
  for (const Method& m : methods()) {
    out += comment(summary_of(m.name));
    out += fmt::format("  {} {}({} = {{}});\n", returned(m), m.name, arguments(m));
  }
  return out + R"(
 protected:
  std::shared_ptr<BuilderState> state_;
};

}  // namespace nnex::ml
#pragma GCC visibility pop
)";
}

std::string typed_methods_source() {
  std::string out =
      R"(// The typed operations. Printed from their descriptions (src/webnn/methods.cpp) by
// `NNEX_PRINT=1 unit_tests webnn_typed_test`.

#include "nnex/webnn_ops.h"

#include "webnn/typed_call.h"

// clang-format off

namespace nnex::ml {

)";
  for (const Method& m : methods()) {
    std::string values;
    for (const Param& p : m.params) values += fmt::format(", arg({})", p.name);
    for (const Param& p : m.options->members) values += fmt::format(", arg(options.{})", p.name);
    out +=
        fmt::format("{} Operations::{}({}) {{\n  return {}(typed_call(state_, \"{}\", options.label, {{{}}}));\n}}\n",
                    returned(m), m.name, arguments(m), m.several ? "" : "only_one", m.name, values.substr(2));
  }
  return out + "\n}  // namespace nnex::ml\n";
}

}  // namespace nnex::ml
