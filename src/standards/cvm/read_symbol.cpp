#include "standards/cvm/read_symbol.h"

#include <algorithm>

#include "base/json.h"
#include "base/try.h"

namespace nnex::cvm_format {
namespace {

using Json = nlohmann::ordered_json;

constexpr JsonLimits kLimits = {.keys = 256, .unique = true};  ///< More keys than any object has a use for.

/// The text's first object, its escapes checked, of which the parser behind it knows more.
Result<std::string_view> first_object(std::string_view text) {
  std::string closing;  // what closes each open list and object
  bool quoted = false;
  size_t begin = 0;
  while (begin < text.size() && std::string_view(" \t\r\n").find(text[begin]) != std::string_view::npos) ++begin;
  if (begin < text.size() && text[begin] == '[')
    return runtime_error("{}: found a list; needed an object", text_place(text, begin));
  if (begin == text.size() || text[begin] != '{')
    return runtime_error("{}: not JSON: needed an object", text_place(text, begin));
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\' && (++i == text.size() || std::string_view("\"\\nrt").find(text[i]) == std::string_view::npos))
        return runtime_error("{}: an escape other than \\\" \\\\ \\n \\r \\t", text_place(text, i));
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      closing += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (closing.empty() || closing.back() != c)
        return runtime_error("{}: '{}' closes nothing", text_place(text, i), c);
      closing.pop_back();
      if (closing.empty()) return text.substr(begin, i + 1 - begin);
    }
  }
  return runtime_error("{}: the text ends inside its object", text_place(text, text.size()));
}

Result<Json> parse(std::string_view text) {
  NNEX_ASSIGN(const std::string_view object, first_object(text));
  return parse_json(text, object, kLimits);
}

Result<int64_t> integer(const Json& j) {
  if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)))
    return runtime_error("found {}; needed an integer", j.type_name());
  return j.get<int64_t>();
}

Result<std::string> string(const Json& j) {
  if (!j.is_string()) return runtime_error("found {}; needed a string", j.type_name());
  return j.get<std::string>();
}

/// The error of a part of what its place names.
Error within(std::string_view part, Error e) {
  std::string sentence = fmt::format("{}: {}", part, e.message());
  return std::move(e).worded(std::move(sentence));
}

/// A list whose items `one` reads.
template <class T, class F>
Result<std::vector<T>> list(const Json& j, F one) {
  if (!j.is_array()) return runtime_error("found {}; needed a list", j.type_name());
  std::vector<T> out;
  out.reserve(j.size());
  for (const Json& item : j) {
    auto value = one(item);
    if (!value.ok()) return within(fmt::format("item {}", out.size()), std::move(value).error());
    out.push_back(std::move(*value));
  }
  return out;
}

Result<Ints> integers(const Json& j) { return list<int64_t>(j, integer); }
Result<Texts> strings(const Json& j) { return list<std::string>(j, string); }

/// [node, output] or [node, output, version].
Result<Entry> entry(const Json& j) {
  NNEX_ASSIGN(Ints fields, integers(j));
  if (fields.size() != 2 && fields.size() != 3)
    return logic_error("an entry has {} fields; needed node, output and perhaps version", fields.size());
  return Entry{fields[0], fields[1]};
}

/// ["list_int", [...]]: the list, its type checked.
Result<const Json*> typed_list(const Json& j, std::string_view type) {
  if (!j.is_array()) return runtime_error("found {}; needed a list", j.type_name());
  if (j.size() != 2) return logic_error("found a list of {}; needed its type's name and the list", j.size());
  NNEX_ASSIGN(std::string found, string(j[0]));
  if (found != type) return logic_error("found type '{}'; needed '{}'", found, type);
  return &j[1];
}

/// "relu_17" calls relu.
std::string without_number(const std::string& name) {
  const size_t bar = name.rfind('_');
  if (bar == std::string::npos || bar + 1 == name.size()) return name;
  const bool number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(bar) + 1, name.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  return number ? name.substr(0, bar) : name;
}

Status read_node_attrs(const Json& j, SymbolNode& node) {
  if (!j.is_object()) return runtime_error("attrs: found {}; needed an object", j.type_name());
  bool named = false;
  for (const auto& [key, value] : j.items()) {
    auto found = string(value);
    if (!found.ok()) return within(fmt::format("attrs.{}", key), std::move(found).error());
    const std::string text = std::move(*found);
    if (key == "func_name")
      node.op = without_number(text), named = true;
    else if (key != "num_inputs" && key != "num_outputs" && key != "flatten_data" && key != "op_attrs")
      return runtime_error("attrs: unknown key '{}'", key);
  }
  if (!named || node.op.empty()) return logic_error("attrs: func_name is missing");
  return {};
}

Result<SymbolNode> read_node(const Json& j) {
  SymbolNode node;
  if (!j.is_object()) return runtime_error("found {}; needed an object", j.type_name());
  std::string kind;
  bool named = false, fed = false, attributed = false;
  for (const auto& [key, value] : j.items()) {
    if (key == "op") {
      NNEX_ASSIGN(kind, string(value));
    } else if (key == "name") {
      NNEX_ASSIGN(node.name, string(value));
      named = true;
    } else if (key == "inputs") {
      NNEX_ASSIGN(node.inputs, list<Entry>(value, entry));
      fed = true;
    } else if (key == "attrs" || key == "attr") {
      NNEX_TRY(read_node_attrs(value, node));
      attributed = true;
    } else if (key != "precision") {
      return runtime_error("unknown key '{}'", key);
    }
  }
  if (!named || !fed || kind.empty())
    return logic_error("{} is missing", kind.empty() ? "op" : named ? "inputs" : "name");
  if (kind != "null" && kind != "cvm_op") return logic_error("op is '{}'; needed 'null' or 'cvm_op'", kind);
  if (kind == "null") node.op.clear();
  if (kind == "cvm_op" && !attributed) return logic_error("attrs is missing");
  return node;
}

Status read_graph_attr(const std::string& key, const Json& j, Symbol& s) {
  const auto ints = [&](auto& to) -> Status {
    NNEX_ASSIGN(const Json* items, typed_list(j, "list_int"));
    NNEX_ASSIGN(to, integers(*items));
    return {};
  };
  const auto texts = [&](auto& to) -> Status {
    NNEX_ASSIGN(const Json* items, typed_list(j, "list_str"));
    NNEX_ASSIGN(to, strings(*items));
    return {};
  };
  if (key == "storage_id") return ints(s.storage_ids);
  if (key == "precision") return ints(s.precision);
  if (key == "device_index") return ints(s.device_index);
  if (key == "op_attrs") return texts(s.op_attrs);
  if (key == "dltype") return texts(s.dltypes);
  if (key == "dtype") {
    Ints dropped;
    return ints(dropped);
  }
  if (key != "shape") return runtime_error("unknown key");
  NNEX_ASSIGN(const Json* items, typed_list(j, "list_shape"));
  NNEX_ASSIGN(s.shapes, list<Ints>(*items, integers));
  return {};
}

Status read_graph_attrs(const Json& j, Symbol& s) {
  if (!j.is_object()) return runtime_error("found {}; needed an object", j.type_name());
  for (const auto& [key, value] : j.items())
    if (Status read = read_graph_attr(key, value, s); !read.ok())
      return std::move(read).error().at(fmt::format("attrs.{}", key));
  for (const char* key : {"shape", "storage_id", "op_attrs"})
    if (!j.contains(key)) return logic_error("'{}' is missing", key);
  return {};
}

Status read_version(const Json& j, Symbol& s) {
  NNEX_ASSIGN(s.version, string(j));
  s.version.resize(std::min<size_t>(s.version.size(), 32));
  if (s.version != "cvm_1.0.0" && s.version != "cvm_1.1.0")
    return runtime_error("version '{}'; needed cvm_1.0.0 or cvm_1.1.0", s.version);
  return {};
}

Status read_postprocess(const Json& j, Symbol& s) {
  NNEX_ASSIGN(s.postprocess, string(j));
  s.postprocess.resize(std::min<size_t>(s.postprocess.size(), 32));
  if (!s.postprocess.empty() && s.postprocess != "argmax" && s.postprocess != "detection")
    return runtime_error("postprocess '{}'; needed argmax or detection", s.postprocess);
  return {};
}

Status read_top(const std::string& key, const Json& value, Symbol& s) {
  if (key == "version") return read_version(value, s);
  if (key == "postprocess") return read_postprocess(value, s);
  if (key == "attrs") return read_graph_attrs(value, s);
  if (key == "nodes") {
    if (!value.is_array()) return runtime_error("found {}; needed a list", value.type_name());
    for (const Json& item : value) {
      auto node = read_node(item);
      if (!node.ok()) return std::move(node).error().at(fmt::format("node {}", s.nodes.size()));
      s.nodes.push_back(std::move(node).value());
    }
  } else if (key == "heads") {
    NNEX_ASSIGN(s.heads, list<Entry>(value, entry));
  } else if (key == "arg_nodes") {
    NNEX_ASSIGN(s.arg_nodes, integers(value));
  } else if (key == "node_row_ptr") {
    NNEX_ASSIGN(s.node_row_ptr, integers(value));
  } else {
    return runtime_error("unknown key");
  }
  return {};
}

Json entries(const std::vector<Entry>& list) {
  Json out = Json::array();
  for (const Entry& e : list) out.push_back({e.node, e.output, 0});
  return out;
}

}  // namespace

std::string_view name(Blame blame) {
  return blame == Blame::none ? "none" : blame == Blame::logic ? "logic" : "runtime";
}

Blame blame(const Error& error) {
  return error.code() == Code::unreadable || error.code() == Code::unsupported ? Blame::runtime : Blame::logic;
}

std::string node_place(size_t i, const SymbolNode& node) {
  return fmt::format("node {} '{}' ({})", i, node.name, node.variable() ? "variable" : node.op);
}

Result<Symbol> read_symbol(std::string_view text) {
  NNEX_ASSIGN(const Json j, parse(text));
  Symbol s;
  for (const auto& [key, value] : j.items())
    if (Status read = read_top(key, value, s); !read.ok()) return std::move(read).error().at(key);
  for (const char* key : {"nodes", "heads", "attrs"})
    if (!j.contains(key)) return logic_error("'{}' is missing", key);
  return s;
}

Result<TextMap> read_text_map(std::string_view text) {
  NNEX_ASSIGN(const Json j, parse(text));
  TextMap out;
  for (const auto& [key, value] : j.items()) {
    auto item = string(value);
    if (!item.ok()) return runtime_error("attribute '{}': {}", key, item.error().message());
    out.emplace_back(key, std::move(item).value());
  }
  return out;
}

std::string write_text_map(const TextMap& map) {
  Json j = Json::object();
  for (const auto& [key, value] : map) j[key] = value;
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string write_symbol(const Symbol& s) {
  Json nodes = Json::array();
  for (const SymbolNode& n : s.nodes) {
    Json node = {{"op", n.variable() ? "null" : "cvm_op"}, {"name", n.name}};
    if (!n.variable())
      node["attrs"] = {{"func_name", n.op},
                       {"flatten_data", "0"},
                       {"num_inputs", std::to_string(n.inputs.size())},
                       {"num_outputs", n.op == "get_valid_counts" ? "2" : "1"}};
    node["inputs"] = entries(n.inputs);
    nodes.push_back(std::move(node));
  }
  Json attrs = {{"op_attrs", {"list_str", s.op_attrs}},
                {"dltype", {"list_str", s.dltypes.value_or(Texts(s.shapes.size(), "int32"))}},
                {"precision", {"list_int", s.precision.value_or(Ints(s.shapes.size(), -1))}},
                {"storage_id", {"list_int", s.storage_ids}},
                {"shape", {"list_shape", s.shapes}}};
  Json j = {{"nodes", std::move(nodes)},
            {"arg_nodes", s.arg_nodes.value_or(Ints{})},
            {"node_row_ptr", s.node_row_ptr.value_or(Ints{})},
            {"heads", entries(s.heads)},
            {"attrs", std::move(attrs)},
            {"version", s.version}};
  if (!s.postprocess.empty()) j["postprocess"] = s.postprocess;
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nnex::cvm_format
