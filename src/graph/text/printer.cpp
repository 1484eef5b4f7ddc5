#include "graph/text/printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <unordered_map>

#include "base/joined.h"
#include "graph/text/lexer.h"
#include "tensor/convert.h"

namespace nnex::graph_text {
namespace {

constexpr int64_t kInline = 16;  ///< Elements of a constant that stands where it is read.

bool reserved(std::string_view word) {
  return is_keyword(word) || word == "none" || word == "nan" || word == "inf" || word == "sparse" ||
         dtype_named(word).has_value();
}

std::string real_text(std::string s) { return s.find_first_of(".en") == std::string::npos ? s + ".0" : s; }

/// Whether there is a function in an extent, as floor((n+1)/2).
bool has_call(std::string_view extent) {
  for (size_t i = 1; i < extent.size(); ++i)
    if (extent[i] == '(' && std::isalnum(static_cast<unsigned char>(extent[i - 1]))) return true;
  return false;
}

std::string extents_text(const MaybeDims& dims) {
  if (!dims) return "[?]";
  std::string out = "[";
  for (const Dim& d : *dims) {
    if (out.size() > 1) out += ",";
    const std::vector<std::string> symbols = d.symbols();
    const std::string text = d.text();
    const bool plain = std::all_of(symbols.begin(), symbols.end(), is_word) && !has_call(text);
    out += plain ? text : quoted(text);
  }
  return out + "]";
}

std::string type_text(const Type& t) {
  const std::string of = t.element ? type_text(*t.element) : "unknown";
  switch (t.kind) {
    case Kind::tensor:
      return std::string(name(t.dtype)) + extents_text(t.dims);
    case Kind::sparse:
      return "sparse " + std::string(name(t.dtype)) + extents_text(t.dims);
    case Kind::sequence:
      return fmt::format("sequence({})", of);
    case Kind::map:
      return fmt::format("map({}, {})", name(t.dtype), of);
    case Kind::optional:
      return fmt::format("optional({})", of);
    default:
      return "unknown";
  }
}

/// Whether a NaN has bits that the word nan does not give back.
bool odd_nan(const Tensor& t) {
  if (!is_real(t.dtype())) return false;
  auto canonical = Tensor::make(t.dtype(), Shape{});
  if (!canonical.ok()) return true;
  std::memset(canonical->mutable_data(), 0, static_cast<size_t>(canonical->bytes()));
  set_real(*canonical, 0, __builtin_nan(""));
  const auto width = static_cast<size_t>(canonical->bytes());
  for (int64_t i = 0; i < t.count(); ++i) {
    const double x = real_at(t, i);
    if (x == x) continue;
    if (bits(t.dtype()) < 8 || std::memcmp(t.data() + static_cast<size_t>(i) * width, canonical->data(), width) != 0)
      return true;
  }
  return false;
}

std::string bytes_text(const Tensor& t) {
  std::string hex;
  for (int64_t i = 0; i < t.bytes(); ++i) hex += fmt::format("{:02x}", static_cast<unsigned>(t.data()[i]));
  return "'" + hex + "'";
}

std::string item_text(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::str) return quoted(t.strings()[static_cast<size_t>(i)]);
  const std::string s = element_text(t, i);
  return is_real(t.dtype()) ? real_text(s) : s;
}

class Printer {
 public:
  Printer(const ir::Graph& graph, const PrintOptions& options) : graph_(graph), options_(options) {}

  std::string graph() {
    const std::string& called = graph_.meta.graph_name;
    out_ = "graph ";
    if (called.empty() || (is_word(called) && !reserved(called)))
      out_ += called.empty() ? "main" : called;
    else
      out_ += "main " + quoted(called);
    block(kMain, "");
    return std::move(out_) + "\n";
  }

 private:
  /// "(parameters) -> (results) {" and the nodes. The results' names are known only after the nodes.
  void block(BlockId id, const std::string& indent) {
    const Block& b = graph_[id];
    std::string params;
    for (ValueId v : b.params) {
      if (!params.empty()) params += ", ";
      params += target(v);
      if (const Type& t = graph_[v].type; t.kind != Kind::unknown) params += ": " + type_text(t);
    }
    const std::string before = std::exchange(out_, {});
    const std::string inner = indent + "  ";
    for (NodeId n : graph_.order(id)) node(n, inner);
    std::string results;
    for (ValueId v : b.results) {
      if (v.valid() && graph_[v].is_constant() && !names_.count(v.n)) constant(v);
      results += (results.empty() ? "" : ", ") + name_of(v);
    }
    // Constants come first: outer blocks read the same ones.
    std::string constants = id == kMain ? std::exchange(constants_, {}) : std::string();
    out_ = before + "(" + params + ") -> (" + results + ")\n" + indent + "{\n" + constants + out_ + indent + "}";
  }

  void node(NodeId id, const std::string& indent) {
    const Node& n = graph_[id];
    std::string args = arguments(n);
    std::string line = indent + outputs(n) + " = " + std::string(n.op->name);
    if (n.custom) line += " " + quoted(n.custom->domain + ":" + n.custom->name + ":" + n.custom->overload);
    line += "(" + args;
    // Blocks print into out_ from here on.
    out_ += line;
    bool first = args.empty();
    for (size_t b = 0; b < n.blocks.size(); ++b) {
      if (!first) out_ += ", ";
      first = false;
      out_ += std::string(b < n.op->blocks.size() ? n.op->blocks[b] : "block") + " = graph ";
      block(n.blocks[b], indent);
    }
    out_ += ");";
    if (options_.places && !graph_.place_of(id).empty()) {
      std::string place = graph_.place_of(id);
      for (char& c : place)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
      out_ += "  # " + place;
    }
    out_ += "\n";
  }

  std::string outputs(const Node& n) {
    auto one = [&](ValueId v) {
      if (!v.valid()) return std::string("none");
      const Type& t = graph_[v].type;
      return target(v) + (options_.types && t.kind != Kind::unknown ? ": " + type_text(t) : "");
    };
    const bool array = n.op->outputs.size() > 0 && n.op->outputs[0].arity == Arity::variadic;
    if (n.out.size() == 1 && !array) return one(n.out[0]);
    std::string out;
    for (ValueId v : n.out) out += (out.empty() ? "" : ", ") + one(v);
    return array || n.out.empty() ? "[" + out + "]" : "(" + out + ")";
  }

  std::string arguments(const Node& n) {
    std::vector<std::string> args;
    const auto& ports = n.op->inputs;
    bool named = false;
    for (size_t p = 0; p < ports.size() && p < n.in.size(); ++p) {
      const Port& port = ports[p];
      if (port.arity == Arity::variadic) {
        std::string items;
        for (size_t i = p; i < n.in.size(); ++i) items += (i > p ? ", " : "") + argument(n.in[i], port);
        args.push_back((named ? std::string(port.name) + " = [" : "[") + items + "]");
        break;
      }
      named |= port.arity == Arity::optional || port.by_value;
      if (!n.in[p].valid() && named) continue;
      args.push_back((named ? std::string(port.name) + " = " : "") + argument(n.in[p], port));
    }
    attributes(n, args);
    return joined(args, ", ");
  }

  void attributes(const Node& n, std::vector<std::string>& args) {
    if (n.custom)
      for (const auto& [name, value] : n.custom->attrs)
        args.push_back((is_word(name) && !reserved(name) ? name : quoted(name)) + " = " +
                       literal(value, options_.elements));
    if (!n.op->attrs.make || !n.attrs) return;
    const auto defaults = n.op->attrs.make();
    for (const Field& f : n.op->attrs.fields) {
      const AttrValue value = f.get(n.attrs.get());
      if (!f.required && same(value, f.get(defaults.get()))) continue;
      args.push_back(std::string(f.name) + " = " + literal(value, options_.elements));
    }
  }

  std::string argument(ValueId v, const Port& port) {
    if (!v.valid()) return "none";
    if (names_.count(v.n)) return name_of(v);
    const ValueDef& def = graph_[v];
    const Tensor* t = def.constant.tensor();
    if (!def.is_constant()) return name_of(v);
    if (!t || !def.name.empty() || def.uses.size() > 1 || t->count() > kInline) {
      constant(v);
      return name_of(v);
    }
    if (port.by_value && t->dtype() == DType::i64 && t->shape().rank() <= 1) {
      std::vector<int64_t> numbers = ints_of(*t);
      return t->shape().scalar() ? std::to_string(numbers[0]) : fmt::format("[{}]", joined(numbers, ", "));
    }
    return literal(*t, options_.elements);
  }

  /// A line for a constant, once.
  void constant(ValueId v) {
    const std::string left = "  " + target(v) + " = ";
    if (const Tensor* t = graph_[v].constant.tensor())
      constants_ += left + literal(*t, options_.elements);
    else if (const SparseTensor* s = graph_[v].constant.sparse())
      constants_ += left + fmt::format("sparse({}, {}, [{}])", literal(s->values, options_.elements),
                                       literal(s->indices, options_.elements), joined(s->shape.extents(), ", "));
    else
      constants_ += left + "none";
    constants_ += ";\n";
  }

  /// The value's identifier where it is defined, with the author's name when that is another.
  std::string target(ValueId v) {
    const std::string& called = graph_[v].name;
    std::string id = name_of(v);
    if (id == called || called.empty()) return id;
    return id + " " + quoted(called);
  }

  const std::string& name_of(ValueId v) {
    static const std::string kNone = "none";
    if (!v.valid()) return kNone;
    auto [it, fresh] = names_.try_emplace(v.n);
    if (!fresh) return it->second;
    const std::string& called = graph_[v].name;
    if (called.empty()) {
      do it->second = "_" + std::to_string(++unnamed_);
      while (!used_.insert(it->second).second);
      return it->second;
    }
    std::string id = called;
    for (char& c : id)
      if (!is_word(std::string("a") + c)) c = '_';
    if (id[0] >= '0' && id[0] <= '9') id = "v" + id;
    if (reserved(id) || stands_for_no_name(id)) id += "_";
    std::string unique = id;
    for (int k = 2; !used_.insert(unique).second; ++k) unique = id + "_" + std::to_string(k);
    return it->second = unique;
  }

  const ir::Graph& graph_;
  const PrintOptions& options_;
  std::string out_, constants_;
  std::unordered_map<uint32_t, std::string> names_;
  std::set<std::string> used_;
  int unnamed_ = 0;
};

}  // namespace

std::string literal(const Tensor& t, int64_t max) {
  std::string out = std::string(name(t.dtype())) + t.shape().text() + "(";
  if (max >= 0 && t.count() > max) return out + "...)";
  if (odd_nan(t)) return out + bytes_text(t) + ")";
  for (int64_t i = 0; i < t.count(); ++i) out += (i ? ", " : "") + item_text(t, i);
  return out + ")";
}

std::string literal(const AttrValue& v, int64_t max) {
  if (auto* t = std::get_if<Tensor>(&v)) return literal(*t, max);
  if (auto* s = std::get_if<std::string>(&v)) return quoted(*s);
  if (auto* l = std::get_if<Texts>(&v)) {
    std::string out;
    for (const std::string& s : *l) out += (out.empty() ? "" : ", ") + quoted(s);
    return "[" + out + "]";
  }
  return text(v);
}

std::string print(const ir::Graph& graph, const PrintOptions& options) { return Printer(graph, options).graph(); }

}  // namespace nnex::graph_text
