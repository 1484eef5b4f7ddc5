// Reading .webnn texts: hostile ones too.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

#include "base/checked.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "nnex/suggest.h"
#include "standards/webnn/program_file.h"
#include "tensor/convert.h"

namespace nnex::ml {
namespace {

using Json = nlohmann::ordered_json;

nnex::Error bad(std::string text) { return nnex::Error(Code::invalid_model, std::move(text)); }

/// A member of an object; null where there is none.
const Json& member(const Json& j, const char* name) {
  static const Json kNone;
  if (!j.is_object()) return kNone;
  const auto at = j.find(name);
  return at == j.end() ? kNone : *at;
}

/// A number, or the word of one.
std::optional<double> real(const Json& j) {
  if (j.is_number()) return j.get<double>();
  if (!j.is_string()) return std::nullopt;
  const auto& s = j.get_ref<const std::string&>();
  if (s == "NaN") return std::nan("");
  if (s == "Infinity") return INFINITY;
  if (s == "-Infinity") return -INFINITY;
  if (s == "-0") return -0.0;
  return std::nullopt;
}

std::optional<int64_t> whole(const Json& j) {
  if (j.is_number_unsigned() && j.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return j.is_number_integer() ? std::optional(j.get<int64_t>()) : std::nullopt;
}

/// An MLNumber: whole numbers stay so, "12n" is a BigInt.
std::optional<Number> ml_number(const Json& j) {
  if (j.is_string()) {
    const auto& s = j.get_ref<const std::string&>();
    if (s.size() > 1 && s.back() == 'n')
      if (auto big = idl::big_int_of(std::string_view(s).substr(0, s.size() - 1))) return Number(*big);
  }
  if (auto i = whole(j))
    return Number(BigInt{*i < 0, *i < 0 ? uint64_t{0} - static_cast<uint64_t>(*i) : static_cast<uint64_t>(*i)});
  if (auto x = real(j)) return Number(*x);
  return std::nullopt;
}

/// The value as a message shows it.
std::string shown(const Json& j) {
  return idl::printable(j.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 40));
}

/// That an object has no other members than these.
nnex::Status only_members(const Json& j, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : j.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return bad(fmt::format("it has no member '{}'{}; needed {}", idl::printable(name),
                             did_you_mean(name, std::span(known.begin(), known.size())), fmt::join(known, ", ")));
  return {};
}

/// Whether an element of an integer type is that number, neither clamped nor cut.
bool is_exactly(const nnex::Tensor& element, const Number& n) {
  const int64_t stored = int_at(element, 0);
  const bool negative = stored < 0 && !is_unsigned_int(element.dtype());
  const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(stored) : static_cast<uint64_t>(stored);
  if (const BigInt* big = n.big_int()) return big->magnitude == magnitude && (big->negative == negative || !magnitude);
  const auto real = static_cast<double>(magnitude);
  return (negative ? -real : real) == *n.number();
}

/// The operation that was probably meant, for messages.
std::string near_method(std::string_view found) {
  std::vector<std::string_view> names;
  for (const Method& m : methods()) names.push_back(m.name);
  return did_you_mean(found, names);
}

template <class T, class Convert>
std::optional<std::vector<T>> list(const Json& j, Convert convert) {
  if (!j.is_array()) return std::nullopt;
  std::vector<T> out;
  for (const Json& item : j) {
    auto value = convert(item);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

class ProgramReader {
 public:
  using Weights = std::function<nnex::Result<FileBytes>(const std::string&)>;
  ProgramReader(const Json& j, const Weights& weights) : j_(j), weights_(weights) {}

  nnex::Result<Program> read() {
    const Json& format = member(j_, "format");
    if (!format.is_string() || !format.get_ref<const std::string&>().starts_with("nnex.webnn/"))
      return bad("no .webnn text: needed an object with \"format\": \"nnex.webnn/1\"");
    if (format != "nnex.webnn/1")
      return nnex::Error(Code::unsupported,
                         fmt::format("found format '{}'; this build reads nnex.webnn/1", format.get<std::string>()));
    NNEX_TRY(only_members(j_, {"format", "name", "weights", "inputs", "constants", "operations", "outputs"}));
    NNEX_ASSIGN(program_.name, text_member(j_, "name"));
    NNEX_ASSIGN(const std::string weights, text_member(j_, "weights"));
    if (!weights.empty()) {
      NNEX_ASSIGN(bytes_, weights_(weights));
    }
    NNEX_TRY(each("inputs", [&](const Json& item) { return operand(item, OperandState::Role::input); }));
    NNEX_TRY(each("constants", [&](const Json& item) { return operand(item, OperandState::Role::constant); }));
    NNEX_TRY(each("operations", [&](const Json& item) { return call(item); }));
    const Json& outputs = member(j_, "outputs");
    if (!outputs.is_object()) return bad("\"outputs\" is no object of names");
    for (const auto& [name, from] : outputs.items()) {
      if (name.empty()) return bad("an output has an empty name");
      NNEX_ASSIGN(const Ref r, ref(from, fmt::format("output '{}'", name)));
      if (program_.operands[static_cast<size_t>(r.n)].role != OperandState::Role::computed)
        return bad(fmt::format("output '{}' is an input or a constant", name));
      program_.outputs.emplace_back(name, r);
    }
    if (program_.outputs.empty()) return bad("there are no outputs");
    return std::move(program_);
  }

 private:
  /// A member that is a text; empty where there is none.
  static nnex::Result<std::string> text_member(const Json& j, const char* name) {
    const Json& text = member(j, name);
    if (text.is_null()) return std::string();
    if (!text.is_string()) return bad(fmt::format("\"{}\" is {}; needed a text", name, shown(text)));
    return text.get<std::string>();
  }

  template <class Each>
  nnex::Status each(const char* section, Each take) {
    const Json& items = member(j_, section);
    if (items.is_null()) return {};
    if (!items.is_array()) return bad(fmt::format("\"{}\" is no list", section));
    size_t i = 0;
    for (const Json& item : items) {
      nnex::Status s = item.is_object() ? take(item) : nnex::Status(bad("it is no object"));
      if (!s.ok()) return std::move(s).error().during(fmt::format("reading {}[{}]", section, i));
      ++i;
    }
    return {};
  }

  nnex::Result<Ref> ref(const Json& j, std::string_view what) const {
    if (!j.is_string()) return bad(fmt::format("{}: needed the name of an operand", what));
    const auto at = names_.find(j.get_ref<const std::string&>());
    if (at == names_.end())
      return bad(fmt::format("{}: no operand '{}' before it", what, idl::printable(j.get_ref<const std::string&>())));
    return Ref{at->second};
  }

  nnex::Result<Ref> add(ProgramOperand o) {
    const auto n = static_cast<int32_t>(program_.operands.size());
    if (o.name.empty()) return bad("an operand has an empty name");
    if (!names_.emplace(o.name, n).second) return bad(fmt::format("two operands '{}'", idl::printable(o.name)));
    program_.operands.push_back(std::move(o));
    return Ref{n};
  }

  nnex::Status operand(const Json& j, OperandState::Role role) {
    ProgramOperand o;
    o.role = role;
    const Json &name = member(j, "name"), &type = member(j, "dataType");
    if (role == OperandState::Role::constant)
      NNEX_TRY(only_members(j, {"name", "dataType", "shape", "offset", "data"}));
    else
      NNEX_TRY(only_members(j, {"name", "dataType", "shape"}));
    if (!name.is_string()) return bad("an operand without a name");
    o.name = name.get<std::string>();
    if (!type.is_string()) return bad(fmt::format("'{}': needed the word of a \"dataType\"", idl::printable(o.name)));
    const auto known = data_type_named(type.get_ref<const std::string&>());
    if (!known) return bad(fmt::format("'{}': no data type {}", idl::printable(o.name), shown(type)));
    o.descriptor.dataType = *known;
    const auto shape = list<int64_t>(member(j, "shape"), whole);
    if (!shape) return bad(fmt::format("'{}': its shape is no list of whole numbers", idl::printable(o.name)));
    for (int64_t extent : *shape) {
      if (extent < 1 || extent > kMaxDimension)
        return bad(fmt::format("'{}': extent {}; needed 1 to {}", idl::printable(o.name), extent, kMaxDimension));
      o.descriptor.shape.push_back(static_cast<uint32_t>(extent));
    }
    if (const Status s = check_dimensions(o.descriptor.dataType, o.descriptor.shape, idl::printable(o.name)); !s.ok())
      return bad(s.error().message);
    if (role == OperandState::Role::constant) NNEX_TRY(content(j, o));
    auto added = add(std::move(o));
    return added.ok() ? nnex::Status() : nnex::Status(std::move(added).error());
  }

  /// The elements: in the text, or from the weights.
  nnex::Status content(const Json& j, ProgramOperand& o) {
    const DType dtype = dtype_of(o.descriptor.dataType);
    const nnex::Shape shape(Ints(o.descriptor.shape.begin(), o.descriptor.shape.end()));
    const Json &data = member(j, "data"), &offset = member(j, "offset");
    const int64_t needed = byte_length(o.descriptor.dataType, o.descriptor.shape);
    if (!data.is_null() && !offset.is_null())
      return bad(fmt::format("'{}': both \"data\" and \"offset\"; needed one of them", idl::printable(o.name)));
    if (data.is_array()) return elements(data, dtype, shape, o);
    const auto at = whole(offset);
    if (!offset.is_null() && (!at || *at < 0))
      return bad(fmt::format("'{}': \"offset\" is {}; needed a whole number from 0 on", idl::printable(o.name),
                             shown(offset)));
    if (!at) return bad(fmt::format("'{}': needed \"data\" or \"offset\"", idl::printable(o.name)));
    const auto have = static_cast<int64_t>(bytes_.bytes.size());
    if (*at > have || needed > have - *at)
      return bad(
          fmt::format("'{}': {} bytes from {} on; the weights have {}", idl::printable(o.name), needed, *at, have));
    o.content = nnex::Tensor::borrow(dtype, shape, bytes_.bytes.data() + *at, bytes_.owner);
    return {};
  }

  static nnex::Status elements(const Json& data, DType dtype, const nnex::Shape& shape, ProgramOperand& o) {
    if (static_cast<int64_t>(data.size()) != shape.count())
      return bad(
          fmt::format("'{}': found {} elements; its shape has {}", idl::printable(o.name), data.size(), shape.count()));
    NNEX_ASSIGN(o.content, nnex::Tensor::make(dtype, shape));
    std::fill_n(o.content.mutable_data(), o.content.bytes(), std::byte{0});
    for (size_t i = 0; i < data.size(); ++i) {
      const auto n = ml_number(data[i]);
      if (!n) return bad(fmt::format("'{}': element {} is no number", idl::printable(o.name), i));
      if (is_float(dtype) && real(data[i])) {  // -0 too
        const double x = *real(data[i]);
        set_real(o.content, static_cast<int64_t>(i), x);
        if (std::isfinite(x) && !std::isfinite(real_at(o.content, static_cast<int64_t>(i))))
          return bad(fmt::format("'{}': element {}: found {}; needed a number that {} holds, or \"Infinity\"",
                                 idl::printable(o.name), i, data[i].dump(), name(dtype)));
        continue;
      }
      const nnex::Tensor one = cast_number(o.descriptor.dataType, *n);
      if (!is_float(dtype) && !is_exactly(one, *n))
        return bad(fmt::format("'{}': element {} is {}; needed a number of {}", idl::printable(o.name), i,
                               shown(data[i]), name(o.descriptor.dataType)));
      if (is_float(dtype))
        set_real(o.content, static_cast<int64_t>(i), real_at(one, 0));
      else
        set_int(o.content, static_cast<int64_t>(i), int_at(one, 0));
    }
    return {};
  }

  nnex::Status call(const Json& j) {
    const Json& op = member(j, "op");
    ProgramCall c;
    c.method = op.is_string() ? find_method(op.get_ref<const std::string&>()) : nullptr;
    NNEX_TRY(only_members(j, {"op", "args", "options", "results"}));
    if (!op.is_string()) return bad("needed the name of its \"op\"");
    if (!c.method)
      return bad(fmt::format("no operation {}{}", shown(op), near_method(op.get_ref<const std::string&>())));
    c.values.resize(c.method->params.size() + c.method->options->members.size());
    NNEX_ASSIGN(c.label, text_member(member(j, "options"), "label"));
    NNEX_TRY(arguments(c, member(j, "args"), 0, c.method->params.size()));
    NNEX_TRY(arguments(c, member(j, "options"), c.method->params.size(), c.values.size()));
    for (size_t i = 0; i < c.method->params.size(); ++i)
      if (c.values[i].index() == 0)
        return bad(fmt::format("{}: '{}' is not given", c.method->name, c.method->params[i].name));
    const Json& results = member(j, "results");
    if (!results.is_array() || results.empty())
      return bad(fmt::format("{}: needed a list of the names of its \"results\"", c.method->name));
    if (!c.method->several && results.size() != 1)
      return bad(fmt::format("{}: found the names of {} results; needed 1", c.method->name, results.size()));
    for (const Json& name : results) {
      if (!name.is_string()) return bad(fmt::format("{}: a result's name is no text", c.method->name));
      ProgramOperand o;
      o.name = name.get<std::string>();
      NNEX_ASSIGN(const Ref r, add(std::move(o)));
      c.results.push_back(r);
    }
    program_.calls.push_back(std::move(c));
    return {};
  }

  nnex::Status arguments(ProgramCall& c, const Json& given, size_t from, size_t to) {
    if (given.is_null()) return {};
    if (!given.is_object()) return bad(fmt::format("{}: its arguments are no object", c.method->name));
    for (const auto& [name, v] : given.items()) {
      if (from > 0 && name == "label") continue;
      const int at = param_index(*c.method, name);
      if (at < static_cast<int>(from) || at >= static_cast<int>(to))
        return bad(fmt::format("{}: it has no '{}'", c.method->name, idl::printable(name)));
      const Param& p = param_of(*c.method, static_cast<size_t>(at));
      NNEX_ASSIGN(c.values[static_cast<size_t>(at)], value(*c.method, p, v));
    }
    return {};
  }

  template <class T>
  static nnex::Result<ProgramValue> as(std::optional<T> v, const Method& m, const Param& p, std::string_view needed) {
    if (v) return ProgramValue(AttrValue(std::move(*v)));
    return bad(fmt::format("{}: '{}': needed {}", m.name, p.name, needed));
  }
  static std::optional<std::string> text(const Json& j) {
    return j.is_string() ? std::optional(j.get<std::string>()) : std::nullopt;
  }

  nnex::Result<ProgramValue> value(const Method& m, const Param& p, const Json& j) const {
    switch (p.kind) {
      case ArgKind::operand: {
        NNEX_ASSIGN(const Ref r, ref(j, fmt::format("{}: {}", m.name, p.name)));
        return ProgramValue(r);
      }
      case ArgKind::operands: {
        if (!j.is_array()) return bad(fmt::format("{}: '{}': needed a list", m.name, p.name));
        std::vector<Ref> all;
        for (const Json& item : j) {
          NNEX_ASSIGN(const Ref r, ref(item, fmt::format("{}: {}", m.name, p.name)));
          all.push_back(r);
        }
        return ProgramValue(std::move(all));
      }
      case ArgKind::long_or_longs:
        if (auto i = whole(j)) return ProgramValue(AttrValue(*i));
        [[fallthrough]];
      case ArgKind::unsigned_longs:
      case ArgKind::wrapped_longs:
        return as(list<int64_t>(j, whole), m, p, "a list of whole numbers");
      case ArgKind::unsigned_long:
      case ArgKind::wrapped_long:
      case ArgKind::signed_long:
        return as(whole(j), m, p, "a whole number");
      case ArgKind::floats:
        return as(list<double>(j, real), m, p, "a list of numbers");
      case ArgKind::real:
        return as(real(j), m, p, "a number");
      case ArgKind::number:
        if (auto i = whole(j)) return ProgramValue(AttrValue(*i));
        if (auto x = real(j)) return ProgramValue(AttrValue(*x));
        if (ml_number(j)) return ProgramValue(AttrValue(j.get<std::string>()));
        return bad(fmt::format("{}: '{}': needed a number", m.name, p.name));
      case ArgKind::boolean:
        return as(j.is_boolean() ? std::optional(j.get<bool>()) : std::nullopt, m, p, "true or false");
      case ArgKind::words:
        return as(list<std::string>(j, text), m, p, "a list of words");
      case ArgKind::word:
      case ArgKind::data_type:
        return as(text(j), m, p, "a word");
    }
    return bad("an argument of no kind");
  }

  const Json& j_;
  const Weights& weights_;
  FileBytes bytes_;
  Program program_;
  std::unordered_map<std::string, int32_t> names_;
};

}  // namespace

nnex::Result<Program> read_program(std::string_view text,
                                   const std::function<nnex::Result<FileBytes>(const std::string&)>& weights) {
  auto j = parse_json(text, {.unique = true});
  if (!j.ok()) return bad("reading the text as JSON: " + j.error().message());
  return ProgramReader(*j, weights).read();
}

nnex::Result<Program> read_program(std::string_view text, const std::string& place, const Container& beside) {
  auto program = read_program(text, [&](const std::string& name) -> nnex::Result<FileBytes> {
    NNEX_ASSIGN(auto weights, beside.find("the weights", name, name));
    if (!weights) return nnex::Error(Code::unreadable, fmt::format("there is no '{}' beside it", idl::printable(name)));
    return std::move(*weights);
  });
  if (!program.ok()) return std::move(program).error().at(place);
  return program;
}

nnex::Result<Program> load_program(const std::string& path, MapPolicy map, std::shared_ptr<MemoryAccount> memory) {
  NNEX_ASSIGN(const MappedFile file, MappedFile::open(path, MapPolicy::never, memory));
  const size_t slash = path.rfind('/');
  return read_program(file.bytes(), path,
                      Container::of_folder(slash == std::string::npos ? "." : path.substr(0, slash + 1), map, memory));
}

}  // namespace nnex::ml
