// ONNX's textual syntax, read. Source: docs/Syntax.md of the standard, grammar of models.
#include <fmt/format.h>

#include <optional>

#include "base/built.h"
#include "base/failure.h"
#include "base/try.h"
#include "standards/onnx/text.h"
#include "standards/onnx/text_scanner.h"
#include "standards/onnx/text_types.h"
#include "standards/onnx/text_words.h"
#include "standards/onnx/write_wire.h"

namespace nnex::onnx_format {
namespace {

using wire::Message;

/// The value of an attribute, before its name is known.
struct TextAttribute {
  AttributeType type = {};
  int64_t integer = 0;
  float real = 0;
  std::string text;
  Message message;
};

class TextParser {
 public:
  explicit TextParser(std::string_view text) : s_(text), types_(s_) {}

  Result<std::string> run() {
    Message out;
    if (s_.peek() == '<') NNEX_TRY(keys(out, &TextKey::model, "a model"));
    NNEX_ASSIGN(Message main, graph(0));
    out.message(ModelProto::graph, std::move(main));
    while (!s_.at_end()) {
      NNEX_ASSIGN(Message f, function());
      out.message(ModelProto::functions, std::move(f));
    }
    return out.text();
  }

 private:
  /// "<" key ":" value, ... ">".
  Status keys(Message& out, wire::FieldNumber TextKey::*field, std::string_view of) {
    NNEX_TRY(s_.need('<'));
    do {
      const std::string_view word = s_.peek_word();
      const TextKey* const key = std::find_if(std::begin(kTextKeys), std::end(kTextKeys), [&](const TextKey& k) {
        return k.word == word && k.*field != wire::FieldNumber{};
      });
      if (key == std::end(kTextKeys)) return s_.needed(fmt::format("a key of {}", of));
      s_.word();
      NNEX_TRY(s_.need(':'));
      NNEX_TRY(value_of(*key, key->*field, out));
    } while (s_.take(','));
    return s_.need('>');
  }

  Status value_of(const TextKey& key, wire::FieldNumber field, Message& out) {
    switch (key.holds) {
      case TextKey::Holds::number: {
        NNEX_ASSIGN(const int64_t n, s_.number_as<int64_t>());
        out.integer(field, n);
        return {};
      }
      case TextKey::Holds::text: {
        NNEX_ASSIGN(const std::string t, s_.text("a text"));
        out.bytes(field, t);
        return {};
      }
      case TextKey::Holds::opsets:
        return s_.list('[', ']', [&]() -> Status {
          NNEX_ASSIGN(const std::string domain, s_.text("a domain"));
          NNEX_TRY(s_.need(':'));
          NNEX_ASSIGN(const int64_t version, s_.number_as<int64_t>());
          Message opset;
          opset.bytes(OperatorSetIdProto::domain, domain), opset.integer(OperatorSetIdProto::version, version);
          out.message(field, std::move(opset));
          return {};
        });
      case TextKey::Holds::pairs:
        return types_.pairs(field, out);
    }
    return {};
  }

  // ---- Graphs

  /// type? name, whose ValueInfoProto it is.
  struct Named {
    std::string name;
    std::optional<TextType> type;
  };
  Result<Named> named() {
    Named out;
    if (is_type_word(s_.peek_word())) {
      NNEX_ASSIGN(out.type, types_.type(0));
    }
    NNEX_ASSIGN(out.name, s_.name("a value's name"));
    return out;
  }
  static Message value_info(Named n) {
    Message out;
    out.bytes(ValueInfoProto::name, n.name);
    if (n.type) out.message(ValueInfoProto::type, std::move(n.type->proto));
    return out;
  }

  /// Values with initializers: those of inputs are both, elsewhere an initializer alone.
  Status values(char open, char close, wire::FieldNumber field, bool both, Message& out) {
    return s_.list(open, close, [&]() -> Status {
      NNEX_ASSIGN(Named n, named());
      const bool set = s_.take('=');
      if (set) {
        if (!n.type) return s_.fault("an initializer without a type; needed one before its name");
        NNEX_ASSIGN(Message t, types_.tensor(*n.type, n.name));
        out.message(GraphProto::initializer, std::move(t));
      }
      if (!set || both) out.message(field, value_info(std::move(n)));
      return {};
    });
  }

  Result<Message> graph(int depth) {
    if (depth > kTextDepth) return failure(Code::limit, "graphs are nested deeper than {}", kTextDepth);
    NNEX_ASSIGN(const std::string name, s_.name("a graph's name"));
    Message out;
    out.bytes(GraphProto::name, name);
    if (s_.peek() == '(') NNEX_TRY(values('(', ')', GraphProto::input, true, out));
    NNEX_TRY(s_.need_arrow());
    NNEX_TRY(s_.list('(', ')', [&]() -> Status {
      NNEX_ASSIGN(Named n, named());
      out.message(GraphProto::output, value_info(std::move(n)));
      return {};
    }));
    if (s_.peek() == '<') NNEX_TRY(values('<', '>', GraphProto::value_info, false, out));
    NNEX_TRY(nodes(GraphProto::node, depth, out));
    return out;
  }

  Status nodes(wire::FieldNumber field, int depth, Message& out) {
    NNEX_TRY(s_.need('{'));
    while (!s_.take('}')) {
      NNEX_ASSIGN(Message n, node(depth));
      out.message(field, std::move(n));
    }
    return {};
  }

  /// Names with commas between them, where nothing before or behind a comma is the empty name.
  Status names(wire::FieldNumber field, Message& out) {
    NNEX_ASSIGN(auto first, s_.name_if_any());
    if (!first && s_.peek() != ',') return {};
    out.bytes(field, first.value_or(""));
    while (s_.take(',')) {
      NNEX_ASSIGN(auto next, s_.name_if_any());
      if (!next && s_.peek() != ',') return {};
      out.bytes(field, next.value_or(""));
    }
    return {};
  }

  Result<Message> node(int depth) {
    Message out;
    if (s_.take('[')) {
      NNEX_ASSIGN(const auto label, s_.name_if_any());
      if (label) out.bytes(NodeProto::name, *label);
      NNEX_TRY(s_.need(']'));
    }
    NNEX_TRY(names(NodeProto::output, out));
    NNEX_TRY(s_.need('='));
    NNEX_ASSIGN(std::string op, s_.identifier("an operator"));
    std::string domain;
    while (s_.take('.')) {
      domain += (domain.empty() ? "" : ".") + op;
      NNEX_ASSIGN(op, s_.identifier("an operator"));
    }
    out.bytes(NodeProto::op_type, op);
    if (!domain.empty()) out.bytes(NodeProto::domain, domain);
    if (s_.take(':')) {
      NNEX_ASSIGN(const std::string overload, s_.identifier("an overload"));
      out.bytes(NodeProto::overload, overload);
    }
    const bool before = s_.peek() == '<';
    if (before) NNEX_TRY(attributes(depth, out));
    NNEX_TRY(s_.need('('));
    NNEX_TRY(names(NodeProto::input, out));
    NNEX_TRY(s_.need(')'));
    if (!before && s_.peek() == '<') NNEX_TRY(attributes(depth, out));
    return out;
  }

  Status attributes(int depth, Message& out) {
    return s_.list('<', '>', [&]() -> Status {
      NNEX_ASSIGN(const std::string name, s_.identifier("an attribute's name"));
      NNEX_ASSIGN(Message a, attribute(name, depth));
      out.message(NodeProto::attribute, std::move(a));
      return {};
    });
  }

  // ---- Attributes

  /// What follows an attribute's name.
  Result<Message> attribute(const std::string& name, int depth) {
    Message out;
    out.bytes(AttributeProto::name, name);
    AttributeType declared = {};
    if (s_.take(':')) {
      const AttributeForm* const form = attribute_form(&AttributeForm::word, s_.peek_word());
      if (!form) return s_.needed("a type of attributes");
      declared = form->type;
      s_.word();
    }
    NNEX_TRY(s_.need('='));
    if (s_.take('@')) {
      NNEX_ASSIGN(const std::string of, s_.name("an attribute of the function"));
      out.bytes(AttributeProto::ref_attr_name, of);
      if (declared != AttributeType::undefined) out.integer(AttributeProto::type, static_cast<int64_t>(declared));
      return out;
    }
    if (s_.peek() == '[') {
      NNEX_TRY(attribute_list(declared, depth, out));
      return out;
    }
    NNEX_ASSIGN(TextAttribute value, single(declared, depth));
    add(std::move(value), out);
    return out;
  }

  Status attribute_list(AttributeType declared, int depth, Message& out) {
    using T = AttributeType;
    const bool open = declared == T::undefined;
    T element = {}, listed = declared;
    if (const AttributeForm* of = open ? nullptr : attribute_form(&AttributeForm::list, declared)) element = of->type;
    if (!open && element == T::undefined) return s_.fault("a list; needed the one value of the declared type");
    std::vector<int64_t> integers;
    std::vector<float> reals;
    NNEX_TRY(s_.list('[', ']', [&]() -> Status {
      NNEX_ASSIGN(TextAttribute value, single(open ? declared : element, depth));
      // Of numbers without a type the first real one makes all of them real.
      if (open && element == T::integer && value.type == T::real)
        element = T::real, reals.assign(integers.begin(), integers.end());
      if (open && element == T::real && value.type == T::integer)
        value.type = T::real, value.real = static_cast<float>(value.integer);
      if (element == T::undefined) element = value.type;
      if (value.type != element) return s_.fault("a list of values of different types");
      listed = attribute_form(&AttributeForm::type, element)->list;
      if (value.type == T::real)
        reals.push_back(value.real);
      else if (value.type == T::integer)
        integers.push_back(value.integer);
      else if (value.type == T::string)
        out.bytes(AttributeProto::strings, value.text);
      else
        out.message(field_of(listed), std::move(value.message));
      return {};
    }));
    if (listed == T::undefined) return s_.fault("an empty list; needed its type before '='");
    if (element == T::real) out.reals(AttributeProto::floats, reals);
    if (element == T::integer) out.integers(AttributeProto::ints, integers);
    out.integer(AttributeProto::type, static_cast<int64_t>(listed));
    return {};
  }

  /// The field of AttributeProto that has values of a type.
  static wire::FieldNumber field_of(AttributeType type) { return attribute_form(&AttributeForm::type, type)->field; }

  void add(TextAttribute value, Message& out) {
    const wire::FieldNumber field = field_of(value.type);
    if (value.type == AttributeType::real)
      out.real(field, value.real);
    else if (value.type == AttributeType::integer)
      out.integer(field, value.integer);
    else if (value.type == AttributeType::string)
      out.bytes(field, value.text);
    else
      out.message(field, std::move(value.message));
    out.integer(AttributeProto::type, static_cast<int64_t>(value.type));
  }

  /// One value, of the declared type where there is one.
  Result<TextAttribute> single(AttributeType declared, int depth) {
    NNEX_ASSIGN(TextAttribute out, any_single(declared, depth));
    if (declared == AttributeType::real && out.type == AttributeType::integer)
      out.type = AttributeType::real, out.real = static_cast<float>(out.integer);
    if (declared != AttributeType::undefined && out.type != declared)
      return s_.fault(fmt::format("a value of type {}; needed {}", attribute_form(&AttributeForm::type, out.type)->word,
                                  attribute_form(&AttributeForm::type, declared)->word));
    return out;
  }

  Result<TextAttribute> any_single(AttributeType declared, int depth) {
    using T = AttributeType;
    TextAttribute out;
    if (s_.peek() == '"' && declared != T::graph) {
      out.type = T::string;
      NNEX_ASSIGN(out.text, s_.text("a text"));
      return out;
    }
    if (is_type_word(s_.peek_word())) return typed(depth);
    if ((begins_identifier(s_.peek()) || s_.peek() == '"') && (declared == T::graph || !s_.is_next_real_word())) {
      out.type = T::graph;
      NNEX_ASSIGN(out.message, graph(depth + 1));
      return out;
    }
    NNEX_ASSIGN(const TextScanner::Number n, s_.number());
    out.type = n.real ? T::real : T::integer;
    if (n.real || declared == T::real) {
      NNEX_ASSIGN(out.real, s_.as<float>(n));
      out.type = T::real;
    } else {
      NNEX_ASSIGN(out.integer, s_.as<int64_t>(n));
    }
    return out;
  }

  /// A type, or the tensor that follows one: [name] [=] {elements}.
  Result<TextAttribute> typed(int depth) {
    TextAttribute out;
    NNEX_ASSIGN(TextType t, types_.type(depth));
    NNEX_ASSIGN(const auto name, s_.name_if_any());
    const bool set = s_.take('=');
    if (!name && !set && s_.peek() != '{') {
      out.type = AttributeType::type;
      out.message = std::move(t.proto);
      return out;
    }
    out.type = AttributeType::tensor;
    NNEX_ASSIGN(out.message, types_.tensor(t, name.value_or("")));
    return out;
  }

  // ---- Functions

  Result<Message> function() {
    Message out;
    if (s_.peek() == '<') NNEX_TRY(keys(out, &TextKey::function, "a function"));
    NNEX_ASSIGN(const std::string name, s_.name("a function's name"));
    out.bytes(FunctionProto::name, name);
    if (s_.peek() == '<')
      NNEX_TRY(s_.list('<', '>', [&]() -> Status {
        NNEX_ASSIGN(const std::string attr, s_.name("an attribute's name"));
        if (s_.peek() != ':' && s_.peek() != '=') {
          out.bytes(FunctionProto::attribute, attr);
          return {};
        }
        NNEX_ASSIGN(Message with_default, attribute(attr, 0));
        out.message(FunctionProto::attribute_proto, std::move(with_default));
        return {};
      }));
    NNEX_TRY(ports(FunctionProto::input, out));
    NNEX_TRY(s_.need_arrow());
    NNEX_TRY(ports(FunctionProto::output, out));
    if (s_.peek() == '<')
      NNEX_TRY(s_.list('<', '>', [&]() -> Status {
        NNEX_ASSIGN(Named n, named());
        out.message(FunctionProto::value_info, value_info(std::move(n)));
        return {};
      }));
    NNEX_TRY(nodes(FunctionProto::node, 0, out));
    return out;
  }

  /// A function's inputs or outputs, whose types are its value_info.
  Status ports(wire::FieldNumber field, Message& out) {
    return s_.list('(', ')', [&]() -> Status {
      NNEX_ASSIGN(Named n, named());
      out.bytes(field, n.name);
      if (n.type) out.message(FunctionProto::value_info, value_info(std::move(n)));
      return {};
    });
  }

  TextScanner s_;
  TextTypes types_;
};

}  // namespace

bool is_model_text(std::string_view begin) {
  if (!is_built(Format::onnx) || !kReadsOnnxText) return false;
  TextScanner s(begin);
  if (!s.take('<')) return false;
  const std::string_view word = s.word();
  return s.peek() == ':' && std::any_of(std::begin(kTextKeys), std::end(kTextKeys), [&](const TextKey& k) {
           return k.word == word && k.model != wire::FieldNumber{};
         });
}

Result<std::string> parse_model_text(std::string_view text) {
  if (!is_built(Format::onnx) || !kReadsOnnxText)
    return Error(Code::unsupported, "this build of nnex does not read ONNX's textual syntax");
  return TextParser(text).run();
}

}  // namespace nnex::onnx_format
