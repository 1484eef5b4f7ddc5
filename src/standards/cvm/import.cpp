#include "standards/cvm/import.h"

#include <algorithm>
#include <set>

#include "base/joined.h"
#include "base/try.h"
#include "ops/cast.h"
#include "ops/cvm.h"
#include "ops/precision_call.h"
#include "standards/cvm/import_quirks.h"
#include "standards/cvm/storage.h"
#include "standards/spelling.h"
#include "tensor/convert.h"

namespace nnex::cvm_format {
namespace {

constexpr int64_t kMaxAxes = 6, kMaxExtent = int64_t{1} << 24, kMaxElements = int64_t{1} << 30;

}  // namespace

struct Importer::Step : PlannedNode {
  AttrMap attrs;
  bool broken = false;  ///< It has a fault, which is told.

  /// Inputs the attributes ask for; -1: one or more.
  int64_t arity() const {
    if (!rule->bias) return rule->inputs;
    for (const auto& [key, value] : attrs)
      if (key == "use_bias") return rule->inputs + std::get<bool>(value);
    return rule->inputs + 1;
  }
};

namespace {

Status check_arity(int64_t needed, size_t found, std::string_view op) {
  if (needed < 0 ? found >= 1 : static_cast<int64_t>(found) == needed) return {};
  return logic_error("{}: found {} inputs; needed {}", op, found, needed < 0 ? "one or more" : std::to_string(needed));
}

}  // namespace

Result<std::vector<Importer::Step>> Importer::steps(const Symbol& symbol) const {
  std::set<std::string_view> names;
  for (const SymbolNode& n : symbol.nodes)
    if (n.variable() && !names.insert(n.name).second)
      NNEX_TRY(told(runtime_error("two variables are named '{}'", n.name)));
  if (symbol.op_attrs.size() != symbol.nodes.size())
    return logic_error("op_attrs has {} texts for {} nodes", symbol.op_attrs.size(), symbol.nodes.size());
  std::vector<Step> out;
  int64_t entry = 0;
  for (size_t i = 0; i < symbol.nodes.size(); ++i) {
    const SymbolNode& n = symbol.nodes[i];
    Step step;
    step.first = entry;
    if (!n.variable()) {
      step.rule = find_signature(n.op);
      const auto read = [&]() -> Status {
        if (!step.rule) return runtime_error("no operator '{}'{}", n.op, near_operator(n.op));
        NNEX_ASSIGN(const TextMap texts, read_text_map(symbol.op_attrs[i]));
        NNEX_ASSIGN(step.attrs, read_attributes(*step.rule, texts));
        return check_arity(step.arity(), n.inputs.size(), n.op);
      };
      if (Status s = read(); !s.ok()) {
        NNEX_TRY(told(std::move(s).error().at(node_place(i, n))));
        step.broken = true;
      }
    }
    entry += step.outputs();
    out.push_back(std::move(step));
  }
  return out;
}

Status Importer::check_limits(const Shape& shape) const {
  if (shape.rank() < 1 || shape.rank() > kMaxAxes)
    return logic_error("shape {} has {} axes; needed 1 to {}", shape.text(), shape.rank(), kMaxAxes);
  for (int64_t e : shape.extents())
    if (e < 1 || e > kMaxExtent)
      return logic_error("shape {} has an extent of {}; needed 1 to {}", shape.text(), e, kMaxExtent);
  const auto count = shape.checked_count();
  if (!count || *count > kMaxElements)
    return logic_error("shape {} has more than {} elements", shape.text(), kMaxElements);
  return {};
}

namespace {

/// "[0,2,5]", the first of many.
std::string listed(const Ints& list) {
  constexpr size_t kShown = 12;
  return fmt::format("[{}{}]", joined(std::span(list).first(std::min(list.size(), kShown)), ","),
                     list.size() > kShown ? ",..." : "");
}

}  // namespace

/// Lengths of the graph's lists; then what they say of each entry.
Status Importer::check_lists(const Symbol& symbol, const std::vector<Step>& steps) const {
  const int64_t entries = steps.empty() ? 0 : steps.back().first + steps.back().outputs();
  const auto length = [&](std::string_view what, size_t found) -> Status {
    if (static_cast<int64_t>(found) == entries) return {};
    return logic_error("{} has {} items for {} entries", what, found, entries);
  };
  NNEX_TRY(length("storage_id", symbol.storage_ids.size()));
  NNEX_TRY(length("shape", symbol.shapes.size()));
  if (!symbol.precision) return logic_error("'precision' is missing");
  NNEX_TRY(length("precision", symbol.precision->size()));
  NNEX_TRY(check_entries(symbol, steps));
  if (symbol.device_index && !symbol.device_index->empty()) NNEX_TRY(told(logic_error("device_index is not empty")));
  for (size_t i = 0; i < steps.size(); ++i)
    if (symbol.nodes[i].variable() && (*symbol.precision)[static_cast<size_t>(steps[i].first)] == -1)
      NNEX_TRY(told(logic_error("variable '{}' has no precision", symbol.nodes[i].name)));
  if (symbol.version == "cvm_1.0.0") NNEX_TRY(check_listed(symbol, steps));
  const auto exists = [&](const Entry& e, size_t before) {
    return e.node >= 0 && e.node < static_cast<int64_t>(before) && e.output >= 0 &&
           e.output < steps[static_cast<size_t>(e.node)].outputs();
  };
  for (size_t i = 0; i < steps.size(); ++i)
    for (const Entry& e : symbol.nodes[i].inputs)
      if (!exists(e, i))
        return logic_error("reads output {} of node {}, which no node before it has", e.output, e.node)
            .at(node_place(i, symbol.nodes[i]));
  for (const Entry& e : symbol.heads)
    if (!exists(e, steps.size())) return logic_error("a head is output {} of node {}: there is none", e.output, e.node);
  return {};
}

/// The shape and the precision of every entry, at its node.
Status Importer::check_entries(const Symbol& symbol, const std::vector<Step>& steps) const {
  const auto each = [&](const auto& check) -> Status {
    for (size_t i = 0; i < steps.size(); ++i)
      for (int64_t o = 0; o < steps[i].outputs(); ++o) {
        Status s = check(static_cast<size_t>(steps[i].first + o));
        if (!s.ok()) NNEX_TRY(told(std::move(s).error().at(node_place(i, symbol.nodes[i]))));
      }
    return {};
  };
  NNEX_TRY(each([&](size_t e) { return check_limits(Shape(symbol.shapes[e])); }));
  return each([&](size_t e) -> Status {
    const int64_t p = (*symbol.precision)[e];
    if (p == -1 || (p >= 1 && p <= 32)) return {};
    return logic_error("precision {}; needed 1 to 32, or -1", p);
  });
}

/// What version 1.0.0 says again of nodes and entries.
Status Importer::check_listed(const Symbol& symbol, const std::vector<Step>& steps) const {
  Ints arg_nodes, row_ptr;
  for (size_t i = 0; i < steps.size(); ++i) {
    row_ptr.push_back(steps[i].first);
    if (symbol.nodes[i].variable()) arg_nodes.push_back(static_cast<int64_t>(i));
  }
  const int64_t entries = steps.empty() ? 0 : steps.back().first + steps.back().outputs();
  row_ptr.push_back(entries);
  if (symbol.arg_nodes != arg_nodes)
    NNEX_TRY(told(logic_error("arg_nodes is {}; needed {}, the variables",
                              symbol.arg_nodes ? listed(*symbol.arg_nodes) : "missing", listed(arg_nodes))));
  if (symbol.node_row_ptr.value_or(row_ptr) != row_ptr)
    NNEX_TRY(told(logic_error("node_row_ptr is {}; needed {}, the first output of each node",
                              listed(*symbol.node_row_ptr), listed(row_ptr))));
  const Texts types = symbol.dltypes.value_or(Texts{});
  const auto other = std::find_if(types.begin(), types.end(), [](const auto& t) { return t != "int32"; });
  if (!symbol.dltypes || static_cast<int64_t>(types.size()) != entries)
    NNEX_TRY(told(logic_error("dltype has {} texts for {} entries; needed int32 for each", types.size(), entries)));
  else if (other != types.end())
    NNEX_TRY(told(logic_error("dltype of entry {} is '{}'; needed int32", other - types.begin(), *other)));
  return {};
}

ValueId Importer::variable(std::string name, const Ints& extents, int64_t bits) {
  Dims dims(extents.begin(), extents.end());
  const ValueId v = graph_.add_param(kMain, std::move(name), Type::tensor(DType::i32, std::move(dims)));
  inference_.grow();
  precision_.bind(v, bits);
  return v;
}

/// Types and bits of the nodes made since the last call.
Status Importer::infer_new() {
  inference_.grow();
  for (; inferred_ < graph_.node_count(); ++inferred_) {
    const NodeId id{inferred_};
    NNEX_TRY(inference_.node(id));
    for (ValueId v : graph_[id].out)
      if (v.valid()) graph_.set_type(v, inference_.type(v));
    NNEX_TRY(precision_.node(id));
  }
  return {};
}

Result<std::vector<ValueId>> Importer::add(std::string_view op, const TextMap& texts, std::vector<ValueId> in,
                                           const std::string& name, Where where) {
  const Signature* rule = find_signature(op);
  if (!rule) return runtime_error("no operator '{}'{}", op, near_operator(op));
  Step step;
  step.rule = rule;
  NNEX_ASSIGN(step.attrs, read_attributes(*rule, texts));
  NNEX_TRY(check_arity(step.arity(), in.size(), op));
  return add(*rule, std::move(step.attrs), std::move(in), name, where);
}

Result<std::vector<ValueId>> Importer::add(const Signature& rule, AttrMap attrs, std::vector<ValueId> in,
                                           const std::string& name, Where where) {
  NodeImport n{Builder(graph_, kMain, where), rule, std::move(attrs), std::move(in), {}, {}, compatible_, {}};
  for (ValueId v : n.in) n.shapes.push_back(shape(v)), n.bits.push_back(bits(v));
  const std::vector<Shape> shapes = n.shapes;
  const Ints window = n.tuple("pool_size", {1});
  NNEX_TRY(rule.prepare(n));
  if (rule.bias && n.in.size() > static_cast<size_t>(rule.inputs) + 1) return n.error("too many inputs");
  const Spelled spelled = find_spelling(Format::cvm, "", rule.name);
  NNEX_ASSIGN(const NodeId id, make_spelled(n.b, {spelled, n.in, n.attrs, static_cast<size_t>(rule.outputs), {}},
                                            [&](ValueId v) -> const Type& { return inference_.type(v); }));
  NNEX_TRY(infer_new());
  std::vector<ValueId> out = graph_[id].out;
  out.resize(static_cast<size_t>(rule.outputs));
  if (n.result_shape) {
    out[0] = n.b("reshape", {out[0], n.b.ints(*n.result_shape)});
    NNEX_TRY(infer_new());
  }
  for (size_t o = 0; o < out.size(); ++o) {
    NNEX_TRY(check_limits(shape(out[o])));
    graph_.set_name(out[o], o == 0 ? name : fmt::format("{}:{}", name, o));
    gas_.add_entry(shape(out[o]));
  }
  int64_t taps = 1;
  for (int64_t w : window) taps *= w;
  NNEX_TRY(gas_.add_operator(rule.name, shapes, shape(out[0]), shapes.size() > 2, taps));
  return out;
}

Status Importer::symbol(const Symbol& symbol) {
  NNEX_ASSIGN(std::vector<Step> read, steps(symbol));
  NNEX_TRY(check_lists(symbol, read));
  if (!all_ || all_->none()) {
    auto storage = check_storage(symbol, std::vector<PlannedNode>(read.begin(), read.end()), compatible_);
    if (storage.ok())
      info_.storage_bytes = *storage;
    else
      NNEX_TRY(told(std::move(storage).error()));
  }
  info_.version = symbol.version, info_.postprocess = symbol.postprocess;
  std::vector<std::vector<ValueId>> entries(read.size());
  DeclaredBits declared;
  for (size_t i = 0; i < read.size(); ++i) {
    const SymbolNode& n = symbol.nodes[i];
    const auto first = static_cast<size_t>(read[i].first);
    const int64_t p = (*symbol.precision)[first];
    if (n.variable() && (p < 1 || p > 32 || !check_limits(Shape(symbol.shapes[first])).ok())) {  // told already
      entries[i] = stand_ins(symbol, read[i]);
      continue;
    }
    if (n.variable()) {
      ValueId v = variable(n.name, symbol.shapes[first], p);
      gas_.add_entry(Shape(symbol.shapes[first]));
      if (n.name == "data") {
        data_ = v, info_.input_bits = p;
        Builder b(graph_, kMain, graph_.add_place(node_place(i, n)));
        v = b("cvm_clip", {v}, CvmClipAttrs{p, true});
        NNEX_TRY(infer_new());
      } else {
        variables_.push_back(v);
        declared[n.name] = p;
      }
      entries[i] = {v};
      continue;
    }
    auto out = outputs(symbol, read[i], i, entries);
    if (out.ok()) {
      entries[i] = std::move(out).value();
      continue;
    }
    NNEX_TRY(told(std::move(out).error().at(node_place(i, n))));
    inferred_ = static_cast<uint32_t>(graph_.node_count());
    entries[i] = stand_ins(symbol, read[i]);
  }
  if (all_ && !all_->none()) return {};
  graph_.provenance.bits = std::move(declared);
  NNEX_ASSIGN(info_.gas, gas_.total());
  for (const Entry& e : symbol.heads) {
    heads_.push_back(entries[static_cast<size_t>(e.node)][static_cast<size_t>(e.output)]);
    head_at_.emplace(heads_.back(), heads_.size() - 1);
    info_.head_bits.push_back(bits(heads_.back()));
  }
  return {};
}

/// What the node makes. Behind a fault: nothing is known of it, but what the file says.
Result<std::vector<ValueId>> Importer::outputs(const Symbol& symbol, const Step& step, size_t i,
                                               std::span<const std::vector<ValueId>> entries) {
  const SymbolNode& n = symbol.nodes[i];
  std::vector<ValueId> in;
  bool known = !step.broken;
  for (const Entry& e : n.inputs) {
    in.push_back(entries[static_cast<size_t>(e.node)][static_cast<size_t>(e.output)]);
    known &= in.back().valid();
  }
  if (!known) return stand_ins(symbol, step);
  NNEX_ASSIGN(std::vector<ValueId> out,
              add(*step.rule, AttrMap(step.attrs), std::move(in), n.name, graph_.add_place(node_place(i, n))));
  for (size_t o = 0; o < out.size(); ++o)
    if (const Shape said(symbol.shapes[static_cast<size_t>(step.first) + o]); !(shape(out[o]) == said))
      return logic_error("output {} is {}; the file says {}", o, shape(out[o]).text(), said.text());
  return out;
}

/// Values of the shapes and bits that the file says; invalid where it says nonsense.
std::vector<ValueId> Importer::stand_ins(const Symbol& symbol, const Step& step) {
  constexpr int64_t kFew = 8;
  std::vector<ValueId> out;
  for (int64_t o = 0; o < step.outputs(); ++o) {
    const auto entry = static_cast<size_t>(step.first + o);
    const int64_t bits = (*symbol.precision)[entry];
    const bool said = check_limits(Shape(symbol.shapes[entry])).ok();
    out.push_back(said ? variable({}, symbol.shapes[entry], bits >= 1 && bits <= 32 ? bits : kFew) : ValueId{});
  }
  return out;
}

Status Importer::check_ready() const {
  if (!data_.valid()) return runtime_error("no variable is named 'data'");
  if (heads_.empty()) return logic_error("the model has no heads");
  return {};
}

/// Inputs and results, what the model's properties say.
Status Importer::end() {
  for (size_t i = graph_.inputs().size(); i-- > 0;)
    if (!(graph_.inputs()[i] == data_)) graph_.remove_param(kMain, i);
  std::vector<ValueId> results;
  std::set<uint32_t> taken;
  for (ValueId v : heads_) {
    // A result has a producer, and a place of its own.
    if (!graph_[v].producer.valid() || !taken.insert(v.n).second) {
      Builder b(graph_, kMain);
      v = b("copy", {v});
      graph_.set_name(v, fmt::format("head{}", results.size()));
    } else if (graph_[v].name.empty()) {
      graph_.set_name(v, fmt::format("head{}", results.size()));
    }
    results.push_back(v);
  }
  NNEX_TRY(infer_new());
  graph_.set_results(kMain, std::move(results));
  graph_.provenance.cvm = info_;
  return {};
}

namespace {

/// The symbol file into the graph; its faults say so.
Status take_symbol(Importer& importer, std::string_view text) {
  const auto take = [&]() -> Status {
    NNEX_ASSIGN(const Symbol read, read_symbol(text));
    return importer.symbol(read);
  };
  Status s = take();
  if (!s.ok()) return std::move(s).error().during("reading the symbol file");
  return s;
}

}  // namespace

Result<ir::Graph> read_model(std::string_view symbol, std::string_view params, std::shared_ptr<const void> owner,
                             bool compatible) {
  ir::Graph graph;
  Importer importer(graph, compatible);
  NNEX_TRY(take_symbol(importer, symbol));
  NNEX_TRY(importer.finish(params, std::move(owner)));
  return graph;
}

std::optional<ir::Graph> check_model(std::string_view symbol, std::string_view file, std::string_view params,
                                     std::shared_ptr<const void> owner, bool compatible, Faults& faults) {
  ir::Graph graph;
  Faults found;
  Importer importer(graph, compatible, &found);
  auto read = read_symbol(symbol);
  if (read.ok())
    found.check(importer.symbol(*read));
  else
    found.add(std::move(read).error());
  if (found.none()) {
    if (!faults.check(importer.finish(params, std::move(owner)))) return std::nullopt;
    return graph;
  }
  for (const Error& e : found.list())
    faults.add(Error(e.code(), e.message()).at(fmt::format("{}{}{}", file, e.where().empty() ? "" : ": ", e.where())));
  return std::nullopt;
}

Result<ir::Graph> read_seeded(std::string_view symbol, uint64_t seed, bool compatible) {
  ir::Graph graph;
  Importer importer(graph, compatible);
  NNEX_TRY(take_symbol(importer, symbol));
  NNEX_TRY(importer.finish_seeded(seed));
  return graph;
}

const Tensor* initial_input(const ir::Graph& graph) {
  if (graph.inputs().size() != 1 || !model_info(graph)) return nullptr;
  const ValueDef& input = graph[graph.inputs()[0]];
  const auto shape = concrete(input.type);
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    const Tensor* t = v.uses.empty() && v.name == input.name ? v.constant.tensor() : nullptr;
    if (t && t->dtype() == input.type.dtype && shape && t->shape() == *shape) return t;
  }
  return nullptr;
}

const CvmProvenance* model_info(const ir::Graph& graph) {
  const auto& cvm = graph.provenance.cvm;
  return cvm && !cvm->version.empty() ? &*cvm : nullptr;
}

namespace {

void put(std::string& out, int32_t x, int64_t width) { out.append(reinterpret_cast<const char*>(&x), width); }

/// The index of the first maximum of each row of the last axis, elements compared by their low byte.
std::string argmax_bytes(const Tensor& head) {
  std::string out;
  const int64_t n = head.shape()[head.shape().rank() - 1];
  auto x = head.as<int32_t>();
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(n)) {
    int32_t best = 0;
    const auto low = [&](int32_t i) { return static_cast<int8_t>(x[row + static_cast<size_t>(i)]); };
    for (int32_t i = 1; i < n; ++i)
      if (low(i) > low(best)) best = i;
    put(out, best, 4);
  }
  return out;
}

}  // namespace

Result<std::string> output_bytes(const CvmProvenance& info, std::span<const Tensor> heads) {
  if (heads.empty()) return logic_error("the model has no heads");
  for (const Tensor& t : heads)
    if (t.dtype() != DType::i32 || t.shape().rank() < 1 || t.count() < 1)
      return logic_error("a head is {}{}; needed i32 of 1 axis or more", name(t.dtype()), t.shape().text());
  if (info.postprocess == "argmax") return argmax_bytes(heads[0]);
  const auto width_of = [](const Tensor& t) { return t.shape()[t.shape().rank() - 1]; };
  const int64_t rows = heads[0].count() / width_of(heads[0]), bytes = info.output_width();
  std::string out;
  for (const Tensor& t : heads)
    if (t.count() / width_of(t) != rows)
      return logic_error("heads have {} and {} rows; needed as many", rows, t.count() / width_of(t));
  for (int64_t r = 0; r < rows; ++r)
    for (const Tensor& t : heads)
      for (int64_t i = r * width_of(t); i < (r + 1) * width_of(t); ++i)
        put(out, t.as<int32_t>()[static_cast<size_t>(i)], bytes);
  return out;
}

}  // namespace nnex::cvm_format
