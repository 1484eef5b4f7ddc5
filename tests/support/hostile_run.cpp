#include "hostile_run.h"

#include <fmt/format.h>

#include <chrono>

#include "graph/infer.h"
#include "nnex/model.h"
#include "onnx_bytes.h"
#include "ops/codecs.h"
#include "run/compile.h"
#include "standards/cvm/import.h"
#include "standards/nnef/import.h"
#include "tensor/convert.h"

namespace nnex::test {
namespace {

constexpr int64_t kMemory = int64_t{64} << 20;

const Rename* rename_of(const Spelling& s, std::string_view ours) {
  for (const Rename& r : s.renames)
    if (r.ours == ours) return &r;
  return nullptr;
}

/// An attribute by the standard's name and, where its codec can write it, in the standard's form.
std::pair<std::string, AttrValue> spelled(const Spelling& s, const std::string& ours, const AttrValue& value) {
  const Rename* r = rename_of(s, ours);
  if (!r) return {ours, value};
  if (r->codec && r->codec->write)
    if (auto theirs = r->codec->write(value); theirs.ok()) return {std::string(r->theirs), std::move(theirs).value()};
  return {std::string(r->theirs), value};
}

Ints flat(const Pairs& pairs) {
  Ints out;
  for (const auto& [a, b] : pairs) out.push_back(a);
  for (const auto& [a, b] : pairs) out.push_back(b);
  return out;
}

/// The inputs by their ports' names in the order of the spelling's ports; nullptr: absent.
std::vector<const HostileInput*> ordered(const HostileCase& c) {
  std::vector<const HostileInput*> out;
  const auto given = [&](size_t i) { return i < c.inputs.size() && c.inputs[i] ? &*c.inputs[i] : nullptr; };
  if (c.spelling && c.spelling->ports.size())
    for (std::string_view p : c.spelling->ports)
      out.push_back(p.empty() ? nullptr : given(static_cast<size_t>(c.op->input(p))));
  else
    for (size_t i = 0; i < c.inputs.size(); ++i) out.push_back(given(i));
  return out;
}

// ---- The row itself

BlockId some_block(ir::Graph& g, const HostileCase& c, ValueId outer) {
  const BlockId block = g.add_block();
  std::vector<ValueId> results;
  for (uint64_t i = 0; i < c.seed / 7 % 5; ++i) results.push_back(g.add_param(block, fmt::format("p{}", i), {}));
  if (outer.valid()) results.push_back(outer);
  if (c.seed / 31 % 2 && !results.empty()) results.erase(results.begin());
  if (c.seed / 62 % 2) results.insert(results.begin(), g.add_constant(Tensor::scalar<bool>(true)));
  g.set_results(block, results);
  return block;
}

Type declared(const HostileInput& in, size_t at) {
  Dims dims = dims_of(in.content.shape());
  for (size_t i = 0; in.symbolic && i < dims.size(); ++i) dims[i] = Dim::symbol(fmt::format("s{}_{}", at, i));
  return Type::tensor(in.content.dtype(), std::move(dims));
}

Result<ir::Graph> row_graph(const HostileCase& c, std::vector<Value>& feeds) {
  ir::Graph g;
  std::vector<ValueId> in;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i]) {
      in.emplace_back();
    } else if (c.inputs[i]->constant) {
      in.push_back(g.add_constant(c.inputs[i]->content));
    } else {
      in.push_back(g.add_param(kMain, fmt::format("x{}", i), declared(*c.inputs[i], i)));
      feeds.emplace_back(c.inputs[i]->content);
    }
  }
  std::shared_ptr<void> attrs = c.op->attrs.make ? c.op->attrs.make() : nullptr;
  for (const auto& [name, value] : c.attrs)
    if (const Field* f = c.op->attrs.find(name)) (void)f->set(attrs.get(), value);
  std::vector<BlockId> blocks;
  for (size_t b = 0; b < c.op->blocks.size(); ++b) blocks.push_back(some_block(g, c, in.empty() ? ValueId() : in[0]));
  const NodeId id = g.add_node(kMain, *c.op, in, c.outputs, attrs, blocks);
  std::vector<ValueId> results;
  for (size_t o = 0; o < c.outputs; ++o) {
    if (c.wanted >> o & 1)
      results.push_back(g[id].out[o]);
    else
      g.drop_output(id, o);
  }
  g.set_results(kMain, results);
  Faults faults;
  ir::Graph checked = g;
  infer_types(checked, faults);
  return g;
}

// ---- ONNX

std::string onnx_attribute(const std::string& name, const AttrValue& value) {
  using namespace onnx;
  const auto attr = [&](int64_t kind, const std::string& field) {
    return msg(5, msg(1, name) + field + num(20, kind));
  };
  const auto ints = [&](const Ints& list) {
    std::string out;
    for (int64_t x : list) out += num(8, x);
    return attr(7, out);
  };
  if (auto* b = std::get_if<bool>(&value)) return attr(2, num(3, *b));
  if (auto* i = std::get_if<int64_t>(&value)) return attr(2, num(3, *i));
  if (auto* x = std::get_if<double>(&value))
    return attr(1, varint(2 << 3 | 5) + raw_bytes<float>({static_cast<float>(*x)}));
  if (auto* s = std::get_if<std::string>(&value)) return attr(3, msg(4, *s));
  if (auto* l = std::get_if<Ints>(&value)) return ints(*l);
  if (auto* p = std::get_if<Pairs>(&value)) return ints(flat(*p));
  if (auto* t = std::get_if<DType>(&value)) return attr(2, num(3, onnx_number(*t)));
  std::string out;
  if (auto* l = std::get_if<Reals>(&value)) {
    for (double x : *l) out += varint(7 << 3 | 5) + raw_bytes<float>({static_cast<float>(x)});
    return attr(6, out);
  }
  if (auto* l = std::get_if<Texts>(&value)) {
    for (const std::string& s : *l) out += msg(9, s);
    return attr(8, out);
  }
  return {};
}

std::string onnx_tensor(const std::string& name, const Tensor& t) {
  using namespace onnx;
  std::string out;
  for (int64_t e : t.shape()) out += num(1, e);
  out += num(2, onnx_number(t.dtype())) + msg(8, name);
  if (t.dtype() != DType::str)
    return out + msg(9, {reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())});
  for (const std::string& s : t.strings()) out += msg(6, s);
  return out;
}

std::string onnx_bytes(const HostileCase& c, std::vector<Value>& feeds) {
  using namespace onnx;
  onnx::Graph g;
  std::vector<std::string> in, out;
  std::string attributes;
  const auto inputs = ordered(c);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    const std::string_view port =
        c.spelling->ports.size() ? c.spelling->ports[i] : c.op->inputs[std::min(i, c.op->inputs.size() - 1)].name;
    if (!inputs[i]) {
      in.emplace_back();
      continue;
    }
    if (rename_of(*c.spelling, port) && c.seed / 3 % 2 && is_int(inputs[i]->content.dtype())) {
      attributes += onnx_attribute(std::string(rename_of(*c.spelling, port)->theirs), ints_of(inputs[i]->content));
      in.emplace_back();
      continue;
    }
    in.push_back(name);
    if (inputs[i]->constant) {
      g.weights.push_back(onnx_tensor(name, inputs[i]->content));
      continue;
    }
    Ints extents(inputs[i]->content.shape().begin(), inputs[i]->content.shape().end());
    if (inputs[i]->symbolic) std::fill(extents.begin(), extents.end(), -1);
    g.inputs.push_back(value(name, extents, onnx_number(inputs[i]->content.dtype())));
    feeds.emplace_back(inputs[i]->content);
  }
  while (!in.empty() && in.back().empty()) in.pop_back();
  for (size_t o = 0; o < c.outputs; ++o) {
    out.push_back(c.wanted >> o & 1 ? fmt::format("y{}", o) : "");
    if (c.wanted >> o & 1) g.outputs.push_back(msg(1, out.back()));
  }
  for (const auto& [name, value] : c.attrs) {
    const auto [theirs, form] = spelled(*c.spelling, name, value);
    attributes += onnx_attribute(theirs, form);
  }
  for (std::string_view b : c.op->blocks)
    attributes += attr_graph(b, onnx::Graph{{node("Identity", {"x0"}, {"r"})}, {}, {msg(1, "r")}}.bytes());
  g.nodes.push_back(node(c.spelling->name, in, out, attributes, c.spelling->domain));
  const std::string own = c.spelling->domain.empty() ? "" : opset(c.spelling->domain, c.spelling->since);
  return model(g, own, c.spelling->domain.empty() ? std::max(c.spelling->since, 1) : 21, 10);
}

// ---- NNEF

std::string nnef_value(const AttrValue& value) {
  if (auto* p = std::get_if<Pairs>(&value)) {
    std::string out = "[";
    for (size_t i = 0; i < p->size(); ++i)
      out += fmt::format("{}({}, {})", i ? ", " : "", (*p)[i].first, (*p)[i].second);
    return out + "]";
  }
  if (auto* x = std::get_if<double>(&value)) return fmt::format("{:.6e}", *x);
  return text(value);
}

std::string nnef_text(const HostileCase& c, std::vector<Value>& feeds) {
  std::string names, externals, arguments;
  const auto inputs = ordered(c);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const Tensor& t = inputs[i]->content;
    const std::string_view port =
        c.spelling->ports.size() ? c.spelling->ports[i] : c.op->inputs[std::min(i, c.op->inputs.size() - 1)].name;
    const bool by_value = c.op->input(port) >= 0 && c.op->inputs[static_cast<size_t>(c.op->input(port))].by_value;
    if (by_value && is_int(t.dtype())) {
      const Rename* r = rename_of(*c.spelling, port);
      arguments += fmt::format(", {} = {}", r ? r->theirs : port, text(AttrValue(ints_of(t))));
      continue;
    }
    const std::string_view type = is_real(t.dtype()) ? "scalar" : t.dtype() == DType::boolean ? "logical" : "integer";
    names += fmt::format("{}x{}", names.empty() ? "" : ", ", i);
    externals += fmt::format("  x{} = external<{}>(shape = {});\n", i, type, t.shape().text());
    arguments = fmt::format("{}{}x{}", arguments, arguments.empty() ? "" : ", ", i);
    auto fed = convert(t, is_real(t.dtype()) ? DType::f32 : t.dtype() == DType::boolean ? DType::boolean : DType::i64);
    feeds.emplace_back(fed.ok() ? std::move(fed).value() : t);
  }
  for (const auto& [name, value] : c.attrs) {
    const auto [theirs, form] = spelled(*c.spelling, name, value);
    arguments += fmt::format("{}{} = {}", arguments.empty() ? "" : ", ", theirs, nnef_value(form));
  }
  return fmt::format("version 1.0;\ngraph net({}) -> (y) {{\n{}  y = {}({});\n}}\n", names, externals, c.spelling->name,
                     arguments);
}

// ---- CVM

Result<ir::Graph> cvm_graph(const HostileCase& c, std::vector<Value>& feeds) {
  ir::Graph g;
  cvm_format::Importer importer(g, c.seed % 2);
  std::vector<ValueId> in;
  for (const HostileInput* i : ordered(c)) {
    if (!i) continue;
    Ints extents(i->content.shape().begin(), i->content.shape().end());
    in.push_back(importer.variable(fmt::format("x{}", in.size()), extents, 1 + static_cast<int64_t>(c.seed / 5 % 32)));
    auto fed = convert(i->content, DType::i32);
    feeds.emplace_back(fed.ok() ? std::move(fed).value() : i->content);
  }
  cvm_format::TextMap texts;
  for (const auto& [name, value] : c.attrs) {
    const auto [theirs, form] = spelled(*c.spelling, name, value);
    texts.emplace_back(theirs, text(form));
  }
  NNEX_ASSIGN(std::vector<ValueId> results, importer.add(c.spelling->name, texts, in, "y", 0));
  g.set_results(kMain, results);
  return g;
}

Result<Model> model_of(const HostileCase& c, std::vector<Value>& feeds) {
  LoadOptions options;
  options.optimize = c.optimize;
  options.memory_limit = kMemory;
  if (!c.spelling) {
    NNEX_ASSIGN(ir::Graph g, row_graph(c, feeds));
    return compile(std::move(g), options);
  }
  if (c.spelling->format == Format::onnx) return Model::from_bytes(onnx_bytes(c, feeds), options);
  if (c.spelling->format == Format::cvm) {
    NNEX_ASSIGN(ir::Graph g, cvm_graph(c, feeds));
    return compile(std::move(g), options);
  }
  NNEX_ASSIGN(ir::Graph g, nnef_format::import_document(nnef_text(c, feeds), "hostile.nnef"));
  return compile(std::move(g), options);
}

}  // namespace

Status run_hostile(const HostileCase& c) {
  if (c.spelling && c.spelling->format == Format::webnn) return run_hostile_webnn(c), Status();
  std::vector<Value> feeds;
  NNEX_ASSIGN(const Model model, model_of(c, feeds));
  RunOptions options;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  Session session = model.session({1 + static_cast<int>(c.seed / 11 % 2), 7});
  auto answers = session.run(feeds, options);
  return answers.ok() ? Status() : Status(std::move(answers).error());
}

}  // namespace nnex::test
