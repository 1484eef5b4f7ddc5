// ONNX's textual syntax, written. Source: docs/Syntax.md of the standard, grammar of models.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "base/try.h"
#include "standards/onnx/forms.h"
#include "standards/onnx/read_wire.h"
#include "standards/onnx/text.h"
#include "standards/onnx/text_words.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;

bool is_identifier(std::string_view s) {
  return !s.empty() && begins_identifier(s[0]) && std::all_of(s.begin(), s.end(), in_identifier);
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// A name: as it is where it is an identifier that begins no type.
std::string named(std::string_view s) { return is_identifier(s) && !is_type_word(s) ? std::string(s) : quoted(s); }

/// The shortest digits that are read as the same number.
template <class T>
std::string shortest(T x) {
  if (std::isnan(x)) return std::signbit(x) ? "-nan" : "nan";
  return fmt::format("{}", x);
}

/// The same with a point, where nothing else tells a reader that the number is real.
std::string real_text(float x) {
  const std::string digits = shortest(x);
  return digits.find_first_of(".en") == std::string::npos ? digits + ".0" : digits;  // "inf" and "nan" have an n
}

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
    if (!r.ok()) return Error(Code::invalid_model, fmt::format("the model: {}", r.fault()));
    return {};
  }

  void leave_out(MessageKind kind, uint32_t number) {
    constexpr std::string_view kNames[] = {"model",     "function",   "graph",  "node",
                                           "attribute", "value_info", "tensor", "type"};
    const std::string_view name = field_name(kind, number);
    const std::string_view of = kNames[static_cast<size_t>(kind)];
    ++left_out_[name.empty() ? fmt::format("field {} of {}", number, of) : fmt::format("{}.{}", of, name)];
  }

  /// Messages of one field, in order.
  static std::vector<std::string_view> all(std::string_view message, uint32_t field) {
    std::vector<std::string_view> out;
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (f.number == field && f.kind == wire::Kind::bytes) out.push_back(f.bytes);
    return out;
  }
  static std::string_view last(std::string_view message, uint32_t field) {
    const auto found = all(message, field);
    return found.empty() ? std::string_view() : found.back();
  }
  static int64_t number(std::string_view message, uint32_t field) {
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
    NNEX_TRY(fields(model, MessageKind::model,
                    [](const Field& f) -> Result<bool> { return f.number <= 8 || f.number == 14 || f.number == 25; }));
    NNEX_TRY(keys(model, &TextKey::model));
    NNEX_TRY(graph(last(model, 7), 0));
    out_ += '\n';
    for (std::string_view f : all(model, 25)) {
      out_ += '\n';
      NNEX_TRY(function(f));
    }
    return {};
  }

  Status keys(std::string_view message, uint32_t TextKey::*of) {
    std::string_view separator = "<\n";
    for (const TextKey& key : kTextKeys) {
      const uint32_t field = key.*of;
      bool is_there = false;
      wire::Reader r(message);
      for (Field f; r.next(f);) is_there |= f.number == field;
      if (field == 0 || !is_there) continue;
      out_ += fmt::format("{}  {}: ", separator, key.word);
      separator = ",\n";
      if (key.holds == TextKey::Holds::number) out_ += fmt::to_string(number(message, field));
      if (key.holds == TextKey::Holds::text) out_ += quoted(last(message, field));
      if (key.holds == TextKey::Holds::opsets)
        NNEX_TRY(list("[", all(message, field), "]", [&](std::string_view opset) -> Status {
          out_ += fmt::format("{} : {}", quoted(last(opset, 1)), number(opset, 2));
          return {};
        }));
      if (key.holds == TextKey::Holds::pairs) NNEX_TRY(pairs(all(message, field)));
    }
    if (separator != "<\n") out_ += "\n>\n";
    return {};
  }

  Status pairs(const std::vector<std::string_view>& entries) {
    return list("[", entries, "]", [&](std::string_view entry) -> Status {
      out_ += fmt::format("{}: {}", quoted(last(entry, 1)), quoted(last(entry, 2)));
      return {};
    });
  }

  Status function(std::string_view message) {
    NNEX_TRY(fields(message, MessageKind::function,
                    [](const Field& f) -> Result<bool> { return f.number == 1 || (f.number >= 4 && f.number <= 14); }));
    NNEX_TRY(keys(message, &TextKey::function));
    out_ += named(last(message, 1));
    const auto attributes = all(message, 6), defaults = all(message, 11);
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
    NNEX_TRY(list(" (", all(message, 4), ") => (", name));
    NNEX_TRY(list("", all(message, 5), ")\n", name));
    if (const auto infos = all(message, 12); !infos.empty())
      NNEX_TRY(list("<", infos, ">\n", [&](std::string_view v) { return value_info(v); }));
    NNEX_TRY(nodes(all(message, 7), 0));
    out_ += '\n';
    return {};
  }

  // ---- Types and tensors

  /// The word of an element type.
  static Result<std::string_view> element(int64_t type) {
    const std::string_view word = word_of(kTypeWords, type);
    if (word.empty()) return unsayable(fmt::format("element type {}", type));
    return word;
  }

  /// An element type with its extents: nothing of rank 0, [] of any.
  Status tensor_type(std::string_view message) {
    NNEX_ASSIGN(const std::string_view word, element(number(message, 1)));
    out_ += word;
    const auto shapes = all(message, 2);
    if (shapes.empty()) {
      out_ += "[]";
      return {};
    }
    const auto extents = all(shapes.back(), 1);
    if (extents.empty()) return {};
    return list("[", extents, "]", [&](std::string_view extent) -> Status {
      bool known = false;
      std::string text = "?";
      wire::Reader r(extent);
      for (Field f; r.next(f);) {
        if (f.number == 1) text = fmt::to_string(f.integer()), known = true;
        if (f.number == 2 && !known && !f.bytes.empty())
          text = is_identifier(f.bytes) ? std::string(f.bytes) : quoted(f.bytes);
      }
      out_ += text;
      return {};
    });
  }

  Status type(std::string_view message, int depth) {
    if (depth > kTextDepth) return Error(Code::limit, fmt::format("types are nested deeper than {}", kTextDepth));
    bool said = false;
    return fields(message, MessageKind::type, [&](const Field& f) -> Result<bool> {
      if (f.kind != wire::Kind::bytes || f.number == 6 || said) return false;
      said = true;
      if (f.number == 1) {
        NNEX_TRY(tensor_type(f.bytes));
        return true;
      }
      const std::string_view word = word_of(kMadeTypeWords, f.number);
      if (word.empty()) return unsayable(fmt::format("the type of field {} of TypeProto", f.number));
      out_ += fmt::format("{}(", word);
      if (f.number == 8) NNEX_TRY(tensor_type(f.bytes));
      if (f.number == 7) {
        const std::string_view domain = last(f.bytes, 1), name = last(f.bytes, 2);
        if (!is_qualified(domain) || !is_qualified(name) || (!domain.empty() && !is_identifier(name)))
          return unsayable(fmt::format("the opaque type '{}' of '{}'", name, domain));
        out_ += fmt::format("{}{}{}", domain, domain.empty() ? "" : ", ", name);
      }
      if (f.number == 5) {
        NNEX_ASSIGN(const std::string_view key, element(number(f.bytes, 1)));
        out_ += fmt::format("{}, ", key);
      }
      if (f.number == 5 || f.number == 4 || f.number == 9)
        NNEX_TRY(type(last(f.bytes, f.number == 5 ? 2 : 1), depth + 1));
      out_ += ')';
      return true;
    });
  }

  /// Identifiers with points between them; nothing is one, too.
  static bool is_qualified(std::string_view s) {
    while (!s.empty()) {
      const size_t dot = s.find('.');
      if (!is_identifier(s.substr(0, dot)) || dot + 1 == s.size()) return false;
      s = dot == std::string_view::npos ? std::string_view() : s.substr(dot + 1);
    }
    return true;
  }

  Status value_info(std::string_view message) {
    NNEX_TRY(fields(message, MessageKind::value_info,
                    [](const Field& f) -> Result<bool> { return f.number == 1 || f.number == 2; }));
    if (const auto types = all(message, 2); !types.empty() && !types.back().empty()) {
      NNEX_TRY(type(types.back(), 0));
      out_ += ' ';
    }
    out_ += named(last(message, 1));
    return {};
  }

  /// Type, name, and elements; `initializer`: with "=" between them.
  Status tensor(std::string_view message, bool initializer) {
    NNEX_TRY(fields(message, MessageKind::tensor,
                    [](const Field& f) -> Result<bool> { return f.number != 3 && f.number != 12 && f.number <= 14; }));
    const int64_t type = number(message, 2);
    NNEX_ASSIGN(const std::string_view word, element(type));
    out_ += word;
    std::vector<int64_t> dims;
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (f.number == 1) wire::each_number(f, 0, [&](uint64_t d) { dims.push_back(static_cast<int64_t>(d)); });
    if (!dims.empty()) out_ += fmt::format("[{}]", fmt::join(dims, ","));
    if (const std::string_view name = last(message, 8); !name.empty() || initializer)
      out_ += fmt::format(" {}", named(name));
    out_ += initializer ? " = " : " ";
    if (number(message, 14) == 1) return pairs(all(message, 13));
    return elements(message, type);
  }

  Status elements(std::string_view message, int64_t type) {
    const TextElements where = elements_of(type);
    bool first = true;
    const auto add = [&](const std::string& text) {
      if (!first) out_ += ", ";
      first = false;
      out_ += text;
    };
    out_ += '{';
    wire::Reader r(message);
    for (Field f; r.next(f);) {
      if (f.number == 9 && f.kind == wire::Kind::bytes) NNEX_TRY(raw(f.bytes, type, add));
      if (f.number != where.field) continue;
      const bool whole = where.field == 6
                             ? (add(quoted(f.bytes)), true)
                             : wire::each_number(f, where.width, [&](uint64_t bits) { add(typed(bits, where.field)); });
      if (!whole)
        return Error(Code::invalid_model, fmt::format("tensor '{}': its numbers are cut off", last(message, 8)));
    }
    out_ += '}';
    return {};
  }

  /// A number of a typed field.
  static std::string typed(uint64_t bits, uint32_t field) {
    if (field == 4) return shortest(__builtin_bit_cast(float, static_cast<uint32_t>(bits)));
    if (field == 10) return shortest(__builtin_bit_cast(double, bits));
    return field == 11 ? fmt::to_string(bits) : fmt::to_string(static_cast<int64_t>(bits));
  }

  /// Elements of raw_data: floats of 16 bits and less as their bits, those of less than 8 bits as the bytes they share.
  template <class F>
  static Status raw(std::string_view bytes, int64_t type, F add) {
    const auto each = [&](auto element) -> Status {
      if (bytes.size() % sizeof element != 0)
        return Error(Code::invalid_model, "the last element of a tensor is cut off");
      for (size_t i = 0; i < bytes.size(); i += sizeof element) {
        std::memcpy(&element, bytes.data() + i, sizeof element);
        if constexpr (std::is_floating_point_v<decltype(element)>)
          add(shortest(element));
        else
          add(fmt::to_string(+element));
      }
      return {};
    };
    switch (type) {
      case 1:
      case 14:
        return each(float());
      case 11:
      case 15:
        return each(double());
      case 3:
        return each(int8_t());
      case 5:
        return each(int16_t());
      case 4:
      case 10:
      case 16:
        return each(uint16_t());
      case 6:
        return each(int32_t());
      case 12:
        return each(uint32_t());
      case 7:
        return each(int64_t());
      case 13:
        return each(uint64_t());
      default:
        return each(uint8_t());
    }
  }

  // ---- Graphs

  Status graph(std::string_view message, int depth) {
    if (depth > kTextDepth) return Error(Code::limit, fmt::format("graphs are nested deeper than {}", kTextDepth));
    NNEX_TRY(fields(message, MessageKind::graph, [](const Field& f) -> Result<bool> {
      if (f.number == 15) return unsayable("sparse initializers");
      return f.number <= 13 && f.number != 10;
    }));
    const auto value = [&](std::string_view v) { return value_info(v); };
    out_ += named(last(message, 2));
    NNEX_TRY(list(" (", all(message, 11), ") => (", value));
    NNEX_TRY(list("", all(message, 12), ")\n", value));
    const auto tensors = all(message, 5), infos = all(message, 13);
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
    return nodes(all(message, 1), depth);
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
    NNEX_TRY(fields(message, MessageKind::node,
                    [](const Field& f) -> Result<bool> { return f.number <= 8 && f.number != 6; }));
    const auto name = [&](std::string_view n) -> Status {
      out_ += named(n);
      return {};
    };
    indent();
    if (const std::string_view label = last(message, 3); !label.empty()) out_ += fmt::format("[{}] ", named(label));
    NNEX_TRY(list("", all(message, 2), " = ", name));
    const std::string_view op = last(message, 4), domain = last(message, 7), overload = last(message, 8);
    if (!is_identifier(op) || !is_qualified(domain) || !(overload.empty() || is_identifier(overload)))
      return unsayable(
          fmt::format("the operator '{}' of '{}', overload '{}': needed identifiers", op, domain, overload));
    out_ += fmt::format("{}{}{}", domain, domain.empty() ? "" : ".", op);
    if (!overload.empty()) out_ += fmt::format(":{}", overload);
    const auto attributes = all(message, 5);
    if (!attributes.empty())
      NNEX_TRY(list(" <", attributes, ">", [&](std::string_view a) { return attribute(a, depth); }));
    NNEX_TRY(list(" (", all(message, 1), ")\n", name));
    return {};
  }

  // ---- Attributes

  Status attribute(std::string_view message, int depth) {
    const std::string_view name = last(message, 1);
    if (!is_identifier(name)) return unsayable(fmt::format("the attribute '{}': needed an identifier", name));
    NNEX_TRY(fields(message, MessageKind::attribute, [](const Field& f) -> Result<bool> { return f.number != 13; }));
    const int64_t type = attribute_type(message);
    const std::string_view word = word_of(kAttributeWords, type);
    if (word.empty() || type == 11 || type == 12)
      return unsayable(fmt::format("the value of the attribute '{}' (type {})", name, type));
    out_ += fmt::format("{}: {} = ", name, word);
    if (const std::string_view reference = last(message, 21); !reference.empty()) {
      out_ += fmt::format("@{}", named(reference));
      return {};
    }
    return attribute_value(message, type, depth);
  }

  /// As it is declared; of models before IR version 2 as the one field that is filled says.
  static int64_t attribute_type(std::string_view message) {
    if (const int64_t declared = number(message, 20); declared != 0) return declared;
    constexpr TextWord kFields[] = {{"f", 2},      {"i", 3},    {"s", 4},       {"t", 5},        {"g", 6},
                                    {"floats", 7}, {"ints", 8}, {"strings", 9}, {"tensors", 10}, {"graphs", 11}};
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (!word_of(kFields, f.number).empty()) return f.number - 1;
    return 0;
  }

  Status attribute_value(std::string_view message, int64_t type, int depth) {
    const auto tensor_item = [&](std::string_view t) { return tensor(t, false); };
    const auto type_item = [&](std::string_view t) { return this->type(t, 0); };
    const auto graph_item = [&](std::string_view g) { return graph(g, depth + 1); };
    switch (type) {
      case 1:
        out_ += real_text(real(message));
        return {};
      case 2:
        out_ += fmt::to_string(number(message, 3));
        return {};
      case 3:
        out_ += quoted(last(message, 4));
        return {};
      case 4:
        return tensor(last(message, 5), false);
      case 5:
        return graph(last(message, 6), depth + 1);
      case 6:
      case 7:
        return numbers(message, type);
      case 8:
        return list("[", all(message, 9), "]", [&](std::string_view s) -> Status {
          out_ += quoted(s);
          return {};
        });
      case 9:
        return list("[", all(message, 10), "]", tensor_item);
      case 10:
        return list("[", all(message, 11), "]", graph_item);
      case 13:
        return this->type(last(message, 14), 0);
      default:
        return list("[", all(message, 15), "]", type_item);
    }
  }

  static float real(std::string_view message) {
    float out = 0;
    wire::Reader r(message);
    for (Field f; r.next(f);)
      if (f.number == 2) out = f.real();
    return out;
  }

  Status numbers(std::string_view message, int64_t type) {
    std::vector<std::string> texts;
    bool whole = true;
    wire::Reader r(message);
    for (Field f; r.next(f);) {
      if (f.number != (type == 6 ? 7u : 8u)) continue;
      whole &= wire::each_number(f, type == 6 ? 4 : 0, [&](uint64_t bits) {
        texts.push_back(type == 6 ? real_text(__builtin_bit_cast(float, static_cast<uint32_t>(bits)))
                                  : fmt::to_string(static_cast<int64_t>(bits)));
      });
    }
    if (!whole)
      return Error(Code::invalid_model, fmt::format("attribute '{}': its numbers are cut off", last(message, 1)));
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
