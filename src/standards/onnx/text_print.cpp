// ONNX's textual syntax, written. Source: docs/Syntax.md of the standard, grammar of models.
#include <fmt/format.h>

#include <map>

#include "base/failure.h"
#include "base/joined.h"
#include "base/try.h"
#include "ops/codecs.h"
#include "standards/onnx/read_proto.h"
#include "standards/onnx/text.h"
#include "standards/onnx/text_literals.h"
#include "standards/onnx/text_words.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

constexpr std::string_view kPayload = "the payload of a NaN";

Error unsayable(std::string what) {
  return Error(Code::unsupported, "ONNX's textual syntax has no words for " + std::move(what));
}

class TextPrinter {
 public:
  Result<ModelText> run(std::string_view model) {
    NNEX_TRY(model_text(model));
    ModelText out{std::move(out_), {}};
    for (const auto& [what, count] : left_out_)
      out.left_out.push_back(count == 1 ? what : fmt::format("{} times {}", count, what));
    return out;
  }

 private:
  /// Every field of a message, in the order of the file. What `each` answers false to is left out.
  template <class F>
  Status fields(std::string_view message, MessageKind kind, F each) {
    wire::Reader r(message);
    for (Field f; r.next(f);) {
      NNEX_ASSIGN(const bool said, each(f));
      if (!said) leave_out(kind, f.number);
    }
    if (!r.ok()) return failure(Code::invalid_model, "the model: {}", r.fault());
    return {};
  }

  void leave_out(MessageKind kind, wire::FieldNumber number) {
    const FieldForm* const known = find_field(kind, number);
    const std::string_view of = message_name(kind);
    ++left_out_[known ? fmt::format("{}.{}", of, known->name)
                      : fmt::format("field {} of {}", static_cast<uint32_t>(number), of)];
  }

  /// Messages of one field, in order.
  static std::vector<std::string_view> all(std::string_view message, wire::FieldNumber field) {
    std::vector<std::string_view> out;
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (f.number == field && f.kind == wire::Kind::bytes) out.push_back(f.bytes);
    return out;
  }
  static std::string_view last(std::string_view message, wire::FieldNumber field) {
    const auto found = all(message, field);
    return found.empty() ? std::string_view() : found.back();
  }
  static int64_t number(std::string_view message, wire::FieldNumber field) {
    int64_t out = 0;
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (f.number == field && f.kind == wire::Kind::varint) out = f.integer();
    return out;
  }

  void indent() { out_.append(static_cast<size_t>(level_) * 2, ' '); }

  /// Items with commas between them.
  template <class Items, class F>
  Status list(std::string_view open, const Items& items, std::string_view close, F print) {
    out_ += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ", ";
      first = false;
      NNEX_TRY(print(item));
    }
    out_ += close;
    return {};
  }

  // ---- Models and functions

  Status model_text(std::string_view model) {
    NNEX_TRY(fields(model, MessageKind::model, [](const Field& f) -> Result<bool> {
      return is_one_of(f.number, ModelProto::graph, ModelProto::functions) || is_key(&TextKey::model, f.number);
    }));
    NNEX_TRY(keys(model, &TextKey::model));
    NNEX_TRY(graph(last(model, ModelProto::graph), 0));
    out_ += '\n';
    for (std::string_view f : all(model, ModelProto::functions)) {
      out_ += '\n';
      NNEX_TRY(function(f));
    }
    return {};
  }

  static bool is_key(wire::FieldNumber TextKey::*of, wire::FieldNumber field) {
    return std::any_of(std::begin(kTextKeys), std::end(kTextKeys),
                       [&](const TextKey& key) { return key.*of == field; });
  }

  Status keys(std::string_view message, wire::FieldNumber TextKey::*of) {
    std::string_view separator = "<\n";
    for (const TextKey& key : kTextKeys) {
      const wire::FieldNumber field = key.*of;
      bool is_there = false;
      wire::Reader r(message);
      for (Field f; r.next(f);) is_there |= f.number == field;
      if (!is_there) continue;
      out_ += fmt::format("{}  {}: ", separator, key.word);
      separator = ",\n";
      if (key.holds == TextKey::Holds::number) out_ += fmt::to_string(number(message, field));
      if (key.holds == TextKey::Holds::text) out_ += quoted(last(message, field));
      if (key.holds == TextKey::Holds::opsets)
        NNEX_TRY(list("[", all(message, field), "]", [&](std::string_view opset) -> Status {
          out_ += fmt::format("{} : {}", quoted(last(opset, OperatorSetIdProto::domain)),
                              number(opset, OperatorSetIdProto::version));
          return {};
        }));
      if (key.holds == TextKey::Holds::pairs) NNEX_TRY(pairs(all(message, field)));
    }
    if (separator != "<\n") out_ += "\n>\n";
    return {};
  }

  Status pairs(const std::vector<std::string_view>& entries) {
    return list("[", entries, "]", [&](std::string_view entry) -> Status {
      out_ += fmt::format("{}: {}", quoted(last(entry, StringStringEntryProto::key)),
                          quoted(last(entry, StringStringEntryProto::value)));
      return {};
    });
  }

  Status function(std::string_view message) {
    using F = FunctionProto;
    NNEX_TRY(fields(message, MessageKind::function, [](const Field& f) -> Result<bool> {
      return is_one_of(f.number, F::name, F::input, F::output, F::attribute, F::attribute_proto, F::node,
                       F::value_info) ||
             is_key(&TextKey::function, f.number);
    }));
    NNEX_TRY(keys(message, &TextKey::function));
    out_ += named(last(message, F::name));
    const auto attributes = all(message, F::attribute), defaults = all(message, F::attribute_proto);
    if (!attributes.empty() || !defaults.empty()) {
      out_ += " <";
      std::string_view separator;
      for (std::string_view a : attributes) out_ += fmt::format("{}{}", separator, named(a)), separator = ", ";
      for (std::string_view a : defaults) {
        out_ += separator, separator = ", ";
        NNEX_TRY(attribute(a, 0));
      }
      out_ += '>';
    }
    const auto name = [&](std::string_view n) -> Status {
      out_ += named(n);
      return {};
    };
    NNEX_TRY(list(" (", all(message, F::input), ") => (", name));
    NNEX_TRY(list("", all(message, F::output), ")\n", name));
    if (const auto infos = all(message, F::value_info); !infos.empty())
      NNEX_TRY(list("<", infos, ">\n", [&](std::string_view v) { return value_info(v); }));
    NNEX_TRY(nodes(all(message, F::node), 0));
    out_ += '\n';
    return {};
  }

  // ---- Types and tensors

  /// The word of an element type.
  static Result<std::string_view> element(int64_t type) {
    const TextWord* const known =
        std::find_if(std::begin(kTypeWords), std::end(kTypeWords), [&](const TextWord& w) { return w.number == type; });
    if (known == std::end(kTypeWords)) return unsayable(fmt::format("element type {}", type));
    return known->word;
  }

  /// An element type with its extents: nothing of rank 0, [] of any.
  Status tensor_type(std::string_view message) {
    NNEX_ASSIGN(const std::string_view word, element(number(message, TensorTypeProto::elem_type)));
    out_ += word;
    const auto shapes = all(message, TensorTypeProto::shape);
    if (shapes.empty()) {
      out_ += "[]";
      return {};
    }
    const auto extents = all(shapes.back(), TensorShapeProto::dim);
    if (extents.empty()) return {};
    return list("[", extents, "]", [&](std::string_view extent) -> Status {
      bool known = false;
      std::string text = "?";
      wire::Reader r(extent);
      for (Field f; r.next(f);) {
        if (f.number == DimensionProto::dim_value) text = fmt::to_string(f.integer()), known = true;
        if (f.number == DimensionProto::dim_param && !known && !f.bytes.empty())
          text = is_identifier(f.bytes) ? std::string(f.bytes) : quoted(f.bytes);
      }
      out_ += text;
      return {};
    });
  }

  Status type(std::string_view message, int depth) {
    if (depth > kTextDepth) return failure(Code::limit, "types are nested deeper than {}", kTextDepth);
    bool said = false;
    return fields(message, MessageKind::type, [&](const Field& f) -> Result<bool> {
      if (f.kind != wire::Kind::bytes || f.number == TypeProto::denotation || said) return false;
      said = true;
      if (f.number == TypeProto::tensor_type) {
        NNEX_TRY(tensor_type(f.bytes));
        return true;
      }
      const MadeTypeWord* const made = std::find_if(std::begin(kMadeTypeWords), std::end(kMadeTypeWords),
                                                    [&](const MadeTypeWord& w) { return w.field == f.number; });
      if (made == std::end(kMadeTypeWords))
        return unsayable(fmt::format("the type of field {} of TypeProto", static_cast<uint32_t>(f.number)));
      out_ += fmt::format("{}(", made->word);
      if (f.number == TypeProto::sparse_tensor_type) NNEX_TRY(tensor_type(f.bytes));
      if (f.number == TypeProto::opaque_type) {
        const std::string_view domain = last(f.bytes, OpaqueTypeProto::domain),
                               name = last(f.bytes, OpaqueTypeProto::name);
        if (!is_qualified(domain) || !is_qualified(name) || (!domain.empty() && !is_identifier(name)))
          return unsayable(fmt::format("the opaque type '{}' of '{}'", name, domain));
        out_ += fmt::format("{}{}{}", domain, domain.empty() ? "" : ", ", name);
      }
      if (f.number == TypeProto::map_type) {
        NNEX_ASSIGN(const std::string_view key, element(number(f.bytes, MapTypeProto::key_type)));
        out_ += fmt::format("{}, ", key);
        NNEX_TRY(type(last(f.bytes, MapTypeProto::value_type), depth + 1));
      }
      if (is_one_of(f.number, TypeProto::sequence_type, TypeProto::optional_type))
        NNEX_TRY(type(last(f.bytes, ElementTypeProto::elem_type), depth + 1));
      out_ += ')';
      return true;
    });
  }

  Status value_info(std::string_view message) {
    NNEX_TRY(fields(message, MessageKind::value_info, [](const Field& f) -> Result<bool> {
      return is_one_of(f.number, ValueInfoProto::name, ValueInfoProto::type);
    }));
    if (const auto types = all(message, ValueInfoProto::type); !types.empty() && !types.back().empty()) {
      NNEX_TRY(type(types.back(), 0));
      out_ += ' ';
    }
    out_ += named(last(message, ValueInfoProto::name));
    return {};
  }

  /// Type, name, and elements; `initializer`: with "=" between them.
  Status tensor(std::string_view message, bool initializer) {
    using T = TensorProto;
    NNEX_TRY(fields(message, MessageKind::tensor, [](const Field& f) -> Result<bool> {
      return is_one_of(f.number, T::dims, T::data_type, T::name, T::external_data, T::data_location) ||
             has_elements(f.number);
    }));
    const int64_t type = number(message, T::data_type);
    NNEX_ASSIGN(const std::string_view word, element(type));
    out_ += word;
    std::vector<int64_t> dims;
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (f.number == T::dims) wire::each_number(f, 0, [&](uint64_t d) { dims.push_back(static_cast<int64_t>(d)); });
    if (!dims.empty()) out_ += fmt::format("[{}]", joined(dims, ","));
    if (const std::string_view name = last(message, T::name); !name.empty() || initializer)
      out_ += fmt::format(" {}", named(name));
    out_ += initializer ? " = " : " ";
    if (number(message, T::data_location) == kExternalData) return pairs(all(message, T::external_data));
    int64_t payloads = 0;
    NNEX_TRY(print_elements(message, type, out_, payloads));
    if (payloads > 0) left_out_[std::string(kPayload)] += payloads;
    return {};
  }

  // ---- Graphs

  Status graph(std::string_view message, int depth) {
    if (depth > kTextDepth) return failure(Code::limit, "graphs are nested deeper than {}", kTextDepth);
    using G = GraphProto;
    NNEX_TRY(fields(message, MessageKind::graph, [](const Field& f) -> Result<bool> {
      if (f.number == G::sparse_initializer) return unsayable("sparse initializers");
      return is_one_of(f.number, G::node, G::name, G::initializer, G::input, G::output, G::value_info);
    }));
    const auto value = [&](std::string_view v) { return value_info(v); };
    out_ += named(last(message, G::name));
    NNEX_TRY(list(" (", all(message, G::input), ") => (", value));
    NNEX_TRY(list("", all(message, G::output), ")\n", value));
    const auto tensors = all(message, G::initializer), infos = all(message, G::value_info);
    if (!tensors.empty() || !infos.empty()) {
      indent();
      std::string_view separator = "<\n";
      const auto next = [&] {
        out_ += separator, separator = ",\n";
        ++level_, indent(), --level_;
      };
      for (std::string_view t : tensors) {
        next();
        NNEX_TRY(tensor(t, true));
      }
      for (std::string_view v : infos) {
        next();
        NNEX_TRY(value_info(v));
      }
      out_ += ">\n";
    }
    indent();
    return nodes(all(message, G::node), depth);
  }

  Status nodes(const std::vector<std::string_view>& messages, int depth) {
    out_ += "{\n";
    ++level_;
    for (std::string_view n : messages) NNEX_TRY(node(n, depth));
    --level_;
    indent();
    out_ += '}';
    return {};
  }

  Status node(std::string_view message, int depth) {
    using N = NodeProto;
    NNEX_TRY(fields(message, MessageKind::node, [](const Field& f) -> Result<bool> {
      return is_one_of(f.number, N::input, N::output, N::name, N::op_type, N::attribute, N::domain, N::overload);
    }));
    const auto name = [&](std::string_view n) -> Status {
      out_ += named(n);
      return {};
    };
    indent();
    if (const std::string_view label = last(message, N::name); !label.empty())
      out_ += fmt::format("[{}] ", named(label));
    NNEX_TRY(list("", all(message, N::output), " = ", name));
    const std::string_view op = last(message, N::op_type), domain = last(message, N::domain),
                           overload = last(message, N::overload);
    if (!is_identifier(op) || !is_qualified(domain) || !(overload.empty() || is_identifier(overload)))
      return unsayable(
          fmt::format("the operator '{}' of '{}', overload '{}': needed identifiers", op, domain, overload));
    out_ += fmt::format("{}{}{}", domain, domain.empty() ? "" : ".", op);
    if (!overload.empty()) out_ += fmt::format(":{}", overload);
    const auto attributes = all(message, N::attribute);
    if (!attributes.empty())
      NNEX_TRY(list(" <", attributes, ">", [&](std::string_view a) { return attribute(a, depth); }));
    NNEX_TRY(list(" (", all(message, N::input), ")\n", name));
    return {};
  }

  // ---- Attributes

  Status attribute(std::string_view message, int depth) {
    const std::string_view name = last(message, AttributeProto::name);
    if (!is_identifier(name)) return unsayable(fmt::format("the attribute '{}': needed an identifier", name));
    NNEX_TRY(fields(message, MessageKind::attribute,
                    [](const Field& f) -> Result<bool> { return f.number != AttributeProto::doc_string; }));
    const AttributeType type = attribute_type(message);
    const AttributeForm* const form = attribute_form(&AttributeForm::type, type);
    if (!form || type == AttributeType::sparse_tensor || type == AttributeType::sparse_tensors)
      return unsayable(fmt::format("the value of the attribute '{}' (type {})", name, static_cast<int64_t>(type)));
    out_ += fmt::format("{}: {} = ", name, form->word);
    if (const std::string_view reference = last(message, AttributeProto::ref_attr_name); !reference.empty()) {
      out_ += fmt::format("@{}", named(reference));
      return {};
    }
    return attribute_value(message, type, depth);
  }

  /// As it is declared; of models before IR version 2 as the one field that is filled says.
  static AttributeType attribute_type(std::string_view message) {
    if (const int64_t declared = number(message, AttributeProto::type); declared != 0) return AttributeType(declared);
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (const AttributeForm* form = attribute_form(&AttributeForm::field, f.number);
          form && form->type <= AttributeType::graphs)
        return form->type;
    return AttributeType::undefined;
  }

  Status attribute_value(std::string_view message, AttributeType type, int depth) {
    const auto tensor_item = [&](std::string_view t) { return tensor(t, false); };
    const auto type_item = [&](std::string_view t) { return this->type(t, 0); };
    const auto graph_item = [&](std::string_view g) { return graph(g, depth + 1); };
    using A = AttributeProto;
    switch (type) {
      case AttributeType::real:
        print_real(real(message), out_);
        return {};
      case AttributeType::integer:
        out_ += fmt::to_string(number(message, A::i));
        return {};
      case AttributeType::string:
        out_ += quoted(last(message, A::s));
        return {};
      case AttributeType::tensor:
        return tensor(last(message, A::t), false);
      case AttributeType::graph:
        return graph(last(message, A::g), depth + 1);
      case AttributeType::reals:
        return numbers(message, true);
      case AttributeType::integers:
        return numbers(message, false);
      case AttributeType::strings:
        return list("[", all(message, A::strings), "]", [&](std::string_view s) -> Status {
          out_ += quoted(s);
          return {};
        });
      case AttributeType::tensors:
        return list("[", all(message, A::tensors), "]", tensor_item);
      case AttributeType::graphs:
        return list("[", all(message, A::graphs), "]", graph_item);
      case AttributeType::type:
        return this->type(last(message, A::tp), 0);
      default:
        return list("[", all(message, A::type_protos), "]", type_item);
    }
  }

  void print_real(float x, std::string& out) {
    out += real_text(x);
    if (has_payload(x)) ++left_out_[std::string(kPayload)];
  }

  static float real(std::string_view message) {
    float out = 0;
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (f.number == AttributeProto::f) out = f.real();
    return out;
  }

  Status numbers(std::string_view message, bool reals) {
    std::vector<std::string> texts;
    bool whole = true;
    wire::Reader r(message);
    for (Field f; r.next(f);) {
      if (f.number != (reals ? AttributeProto::floats : AttributeProto::ints)) continue;
      whole &= wire::each_number(f, reals ? 4 : 0, [&](uint64_t bits) {
        std::string& text = texts.emplace_back();
        if (reals)
          print_real(__builtin_bit_cast(float, static_cast<uint32_t>(bits)), text);
        else
          text = fmt::to_string(static_cast<int64_t>(bits));
      });
    }
    if (!whole)
      return failure(Code::invalid_model, "attribute '{}': its numbers are cut off",
                     last(message, AttributeProto::name));
    return list("[", texts, "]", [&](const std::string& t) -> Status {
      out_ += t;
      return {};
    });
  }

  std::string out_;
  int level_ = 0;
  std::map<std::string, int64_t> left_out_;
};

}  // namespace

Result<ModelText> print_model_text(std::string_view model) { return TextPrinter().run(model); }

}  // namespace nnex::onnx_format
