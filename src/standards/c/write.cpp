#include "standards/c/write.h"

#include <algorithm>
#include <map>

#include "base/failure.h"
#include "base/faults.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "ops/strided.h"
#include "passes/lower.h"
#include "passes/make_plain.h"
#include "passes/passes.h"
#include "plan/arena.h"
#include "standards/c/legalize.h"
#include "standards/unwritable.h"

namespace nnex::c_format {
namespace {

constexpr int64_t kMaxWeights = int64_t{256} << 20;  ///< Bytes; gcc takes 16 times as much memory (docs/c-output.md).
constexpr size_t kMaxFused = 24;                     ///< Nodes in a loop.

Status infer_again(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// Where the elements of a value are.
struct Place {
  enum class Kind : uint8_t { arena, input, output, weight } kind = Kind::arena;
  size_t index = 0;    ///< Of the input, output or weight.
  size_t request = 0;  ///< Of the arena's.
};

class NetworkWriter {
 public:
  NetworkWriter(const ir::Graph& graph, const std::string& name)
      : graph_(graph), name_(word_of(name, "net")), parts_(name_) {}

  /// Makes the steps; nodes that cannot be written are listed.
  void steps(std::vector<Unwritable>& refused) {
    find_fused();
    find_last_uses();
    for (const NodeId id : graph_.order()) {
      const Node& n = graph_[id];
      std::string reason = impossible(n);
      if (!reason.empty()) {
        refused.push_back({id, std::move(reason)});
        continue;
      }
      if (fused_into_.count(id.n) || none_wanted(n)) continue;
      StepWriter w(graph_, id, parts_);
      const RowEntry* row = find_row(n.op->name);
      if (n.op->view || (row && row->keeps && row->keeps(w))) {
        shares(n.out[0], n.in[0]);
        continue;
      }
      if (const auto product = product_of_.find(id.n); product != product_of_.end()) {
        StepWriter of_product(graph_, product->second, parts_);
        write_product(of_product, id, *find_row(graph_[product->second].op->name));
        if (of_product.refused())
          refused.push_back({product->second, of_product.reason()});
        else
          steps_.push_back(of_product.take(kind_of(id), comment_of(id)));
        continue;
      }
      if (is_map(*n.op))
        write_maps(w, id);
      else if (row)
        row->write(w);
      else
        w.refuse(fmt::format("{}: C output has no such operation", n.op->name));
      if (w.refused())
        refused.push_back({id, w.reason()});
      else
        steps_.push_back(w.take(kind_of(id), comment_of(id)));
    }
  }

  Result<Written> finish() {
    Written out;
    out.name = name_;
    out.inputs = members(graph_.inputs(), "input");
    out.outputs = members(graph_.outputs(), "output");
    place_ports();
    NNEX_TRY(place_values(out));
    out.weights = parts_.weights();
    for (const Weight& w : out.weights) out.weight_bytes += w.content.bytes();
    if (out.weight_bytes > kMaxWeights)
      return failure(Code::limit, "{} bytes of constants; C source carries at most {}, which compilers take",
                     out.weight_bytes, kMaxWeights);
    out.steps = steps_.size();
    out.library = parts_.library_text();
    out.functions = parts_.functions_text() + run_text(out);
    return out;
  }

 private:
  // ---- Nodes

  std::string impossible(const Node& n) const {
    if (n.custom || !n.op) return "an operation of another domain";
    if (!n.blocks.empty()) return fmt::format("{}: control flow", n.op->name);
    if (draws(graph_, n)) return fmt::format("{}: random numbers", n.op->name);
    for (const auto* side : {&n.in, &n.out})
      for (const ValueId v : *side)
        if (v.valid() && !is_plain(v)) return fmt::format("{}: {} is no array of C", n.op->name, type_text(v));
    for (size_t i = 0; i < n.op->inputs.size() && i < n.in.size(); ++i)  // what it says of extents would not be known
      if (n.op->inputs[i].by_value && n.in[i].valid() && !graph_[n.in[i]].is_constant())
        return fmt::format("{}: {} is computed; needed a constant", n.op->name, n.op->inputs[i].name);
    return {};
  }
  bool is_plain(ValueId v) const {
    if (const Tensor* t = graph_[v].constant.tensor()) return !c_type(t->dtype()).empty();
    const Type& type = graph_[v].type;
    return type.is_tensor() && !c_type(type.dtype).empty() && concrete(type);
  }
  std::string type_text(ValueId v) const {
    const Tensor* t = graph_[v].constant.tensor();
    return t ? fmt::format("{}{}", name(t->dtype()), t->shape().text()) : graph_[v].type.text();
  }
  /// Whether no result has an element that somebody may read.
  bool none_wanted(const Node& n) const {
    return std::none_of(n.out.begin(), n.out.end(), [&](ValueId v) { return v.valid() && extents(v).count() > 0; });
  }
  Shape extents(ValueId v) const {
    if (const Tensor* t = graph_[v].constant.tensor()) return t->shape();
    return concrete(graph_[v].type).value_or(Shape{});
  }
  ValueId root(ValueId v) const {
    const auto at = view_of_.find(v.n);
    return at == view_of_.end() ? v : at->second;
  }

  // ---- Values that share memory

  /// `v` lies where `other` does.
  void shares(ValueId v, ValueId other) {
    const ValueId first = root(other);
    view_of_[v.n] = first;
    last_use_[first.n] = std::max(last_use_[first.n], last_use_[v.n]);
  }
  /// When each value is read the last time, by the position of what reads it.
  void find_last_uses() {
    const std::vector<NodeId> order = graph_.order();
    for (size_t i = 0; i < order.size(); ++i) position_[order[i].n] = i;
    for (const NodeId id : order)
      for (const ValueId v : graph_[id].in) {
        const auto loop = fused_into_.find(id.n);
        const size_t at = position_[loop == fused_into_.end() ? id.n : loop->second.n];
        if (v.valid()) last_use_[v.n] = std::max(last_use_[v.n], at);
      }
    for (const ValueId v : graph_.outputs()) last_use_[v.n] = order.size();
    for (const ValueId v : graph_.inputs()) last_use_[v.n] = order.size();  // they are the caller's
  }
  /// Whether a loop over `shape` that ends in `last` may write its results over `v`, each where it has read an element.
  bool dies_in(ValueId v, const Ints& steps, NodeId last) const {
    const ValueId first = root(v);
    const auto use = last_use_.find(first.n);
    const Type &from = graph_[first].type, &to = graph_[graph_[last].out[0]].type;
    const Shape shape = extents(graph_[last].out[0]);
    const Ints dense = row_major_strides(shape);
    for (size_t i = 0; i < dense.size(); ++i)
      if (steps[i] != dense[i] && shape[static_cast<int64_t>(i)] != 1) return false;
    return graph_[first].producer.valid() && use != last_use_.end() && use->second == position_.at(last.n) &&
           from.dtype == to.dtype && graph_[v].type.dtype == to.dtype && extents(first).count() == shape.count();
  }

  // ---- Maps that share a loop

  /// A map whose one reader is a map over the same extents is computed in the reader's loop.
  void find_fused() {
    std::map<uint32_t, size_t> size;  // of the loops, by their last nodes
    const std::vector<NodeId> order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) {
      const Node& n = graph_[order[i]];
      if (!n.op || !is_map(*n.op) || !impossible(n).empty()) continue;
      const auto& uses = graph_[n.out[0]].uses;
      if (uses.empty() || !uses[0].node.valid()) continue;
      const NodeId reader = uses[0].node;
      const bool one = std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return u.node == reader; });
      if (!one || !joins(n, reader)) continue;
      const auto last = fused_into_.find(reader.n);
      const NodeId into = last == fused_into_.end() ? reader : last->second;
      if (++size[into.n] >= kMaxFused) continue;
      fused_into_[order[i].n] = into;
      fused_[into.n].push_back(order[i]);
    }
    for (const NodeId id : order) find_maps_of(id);
  }
  /// Maps behind a product that gives its results one by one are computed on each of them.
  void find_maps_of(NodeId id) {
    const Node& n = graph_[id];
    const RowEntry* row = n.op ? find_row(n.op->name) : nullptr;
    if (!row || !row->column_axis || !impossible(n).empty() || none_wanted(n)) return;
    const auto& uses = graph_[n.out[0]].uses;
    if (uses.empty() || !uses[0].node.valid()) return;
    const NodeId reader = uses[0].node;
    const bool one = std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return u.node == reader; });
    if (!one || !joins(n, reader)) return;
    const auto loop = fused_into_.find(reader.n);
    const NodeId last = loop == fused_into_.end() ? reader : loop->second;
    if (product_of_.count(last.n)) return;
    for (const NodeId map : together(last))
      for (size_t k = 0; k < graph_[map].in.size(); ++k)
        if (!read_beside(map, k, last, *row->column_axis)) return;
    product_of_[last.n] = id;
    fused_into_[id.n] = last;
  }
  /// Whether an operand of a map has one number, one for each column, or one for each result.
  bool read_beside(NodeId map, size_t k, NodeId last, int64_t column_axis) const {
    const ValueId v = graph_[map].in[k];
    if (!v.valid()) return true;
    const auto own = operand_shape(graph_, graph_[map], k);
    return own.ok() && !step_of(broadcast_steps(*own, extents(graph_[last].out[0])), last, column_axis).empty();
  }
  /// By what an operand of these steps is indexed beside results: "0", "column" or "place"; empty: by none of these.
  std::string step_of(const Ints& steps, NodeId last, int64_t column_axis) const {
    const Shape shape = extents(graph_[last].out[0]);
    const Ints dense = row_major_strides(shape);
    const auto axis = static_cast<size_t>(column_axis < 0 ? column_axis + shape.rank() : column_axis);
    bool none = true, columns = true, all = true;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (shape[static_cast<int64_t>(i)] == 1) continue;
      none &= steps[i] == 0;
      columns &= steps[i] == (i == axis ? 1 : 0);
      all &= steps[i] == dense[i];
    }
    return none ? "0" : columns ? "column" : all ? "place" : "";
  }
  bool joins(const Node& n, NodeId reader) const {
    const Node& r = graph_[reader];
    if (!r.op || !is_map(*r.op) || !impossible(r).empty() || !(extents(r.out[0]) == extents(n.out[0]))) return false;
    for (size_t i = 0; i < r.in.size(); ++i) {
      if (!(r.in[i] == n.out[0])) continue;
      const auto shape = operand_shape(graph_, r, i);
      if (!shape.ok() || !(*shape == extents(n.out[0]))) return false;
    }
    return true;
  }
  std::vector<NodeId> together(NodeId last) const {
    const auto at = fused_.find(last.n);
    std::vector<NodeId> all = at == fused_.end() ? std::vector<NodeId>{} : at->second;
    std::reverse(all.begin(), all.end());  // found from the last to the first
    all.push_back(last);
    return all;
  }

  std::vector<NodeId> with_product(NodeId last) const {
    std::vector<NodeId> all = together(last);
    if (const auto product = product_of_.find(last.n); product != product_of_.end())
      all.insert(all.begin(), product->second);
    return all;
  }

  void write_maps(StepWriter& w, NodeId last) {
    const std::vector<NodeId> nodes = together(last);
    const Shape shape = extents(graph_[last].out[0]);
    std::map<uint32_t, std::string> known;  // of results in the loop, and of operands by their values
    struct Read {
      std::string name;
      DType type = DType::none;
    };
    std::vector<Access> accesses;
    std::vector<ValueId> sources;  // by access
    std::vector<Read> reads;
    std::vector<std::vector<std::string>> operands(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& n = graph_[nodes[i]];
      for (size_t k = 0; k < n.in.size(); ++k) {
        if (!n.in[k].valid()) {
          operands[i].emplace_back();
          continue;
        }
        const Tensor* constant = graph_[n.in[k]].constant.tensor();
        if (constant && constant->count() == 1) {
          operands[i].push_back(literal(*constant, 0));
          continue;
        }
        auto own = operand_shape(graph_, n, k);
        if (!own.ok()) return w.refuse(own.error().message());
        const bool along_axis = !(*own == extents(n.in[k]));  // it may be read by its own shape, too
        if (const auto made = known.find(n.in[k].n); made != known.end() && !along_axis) {
          operands[i].push_back(made->second);
          continue;
        }
        const std::string name = fmt::format("x{}", reads.size());
        accesses.push_back({"", broadcast_steps(*own, shape)});
        sources.push_back(n.in[k]);
        reads.push_back({name, w.type(n.in[k])});
        operands[i].push_back(name);
        if (!along_axis) known[n.in[k].n] = name;
      }
      if (i + 1 < nodes.size()) known[n.out[0].n] = fmt::format("v{}", i);
    }
    const std::string out = w.out();
    const ValueId over = replaced_by(last, accesses, sources);
    for (size_t r = 0; r < sources.size(); ++r)
      accesses[r].name = over.valid() && root(sources[r]) == over ? out : w.read(sources[r]);
    if (over.valid()) shares(graph_[last].out[0], over);
    accesses.push_back({out, row_major_strides(shape)});
    Nest(shape, accesses).write(w.body(), [&](const auto& at) {
      for (size_t r = 0; r < reads.size(); ++r)
        w.body().line("const {} {} = {};", c_type(reads[r].type), reads[r].name, at[r]);
      for (size_t i = 0; i < nodes.size(); ++i) {
        const Node& n = graph_[nodes[i]];
        const std::string expression = map_expression(w, n, operands[i]);
        if (i + 1 == nodes.size())
          w.body().line("{} = {};", at.back(), expression);
        else
          w.body().line("const {} v{} = {};", c_type(w.type(n.out[0])), i, expression);
      }
    });
  }

  /// The product, and what maps make of each of its results.
  void write_product(StepWriter& w, NodeId last, const RowEntry& row) {
    const ValueId sums = w.node().out[0];
    w.end_with([&](const StepWriter::Element& e) {
      Text& b = w.body();
      std::map<uint32_t, std::string> known = {{sums.n, "sum"}};
      b.line("const long place = {};", e.place);
      b.line("const {} sum = {};", c_type(w.type(sums)), e.value);
      const std::vector<NodeId> nodes = together(last);
      const std::string out = w.write(graph_[last].out[0]);
      size_t reads = 0;
      for (size_t i = 0; i < nodes.size(); ++i) {
        const Node& n = graph_[nodes[i]];
        std::vector<std::string> operands;
        for (size_t k = 0; k < n.in.size(); ++k) {
          const Tensor* constant = n.in[k].valid() ? graph_[n.in[k]].constant.tensor() : nullptr;
          if (const auto made = n.in[k].valid() ? known.find(n.in[k].n) : known.end(); made != known.end()) {
            operands.push_back(made->second);
          } else if (constant && constant->count() == 1) {
            operands.push_back(literal(*constant, 0));
          } else if (n.in[k].valid()) {
            const Shape own = operand_shape(graph_, n, k).value_or(Shape{});
            const std::string at = step_of(broadcast_steps(own, extents(graph_[last].out[0])), last, *row.column_axis);
            operands.push_back(fmt::format("x{}", reads++));
            b.line("const {} {} = {}[{}];", c_type(w.type(n.in[k])), operands.back(), w.read(n.in[k]),
                   at == "column" ? e.column : at);
          } else {
            operands.emplace_back();
          }
        }
        const std::string expression = map_expression(w, n, operands);
        if (i + 1 == nodes.size()) {
          b.line("{}[place] = {};", out, expression);
        } else {
          b.line("const {} v{} = {};", c_type(w.type(n.out[0])), i, expression);
          known[n.out[0].n] = fmt::format("v{}", i);
        }
      }
    });
    row.write(w);
  }

  /// What the results of a loop lie over, where one of the values that it reads is not needed after; invalid: nothing.
  ValueId replaced_by(NodeId last, const std::vector<Access>& accesses, const std::vector<ValueId>& sources) const {
    const auto dies = [&](size_t r) { return dies_in(sources[r], accesses[r].steps, last); };
    for (size_t r = 0; r < sources.size(); ++r) {
      bool all = dies(r);
      for (size_t s = 0; all && s < sources.size(); ++s) all = !(root(sources[s]) == root(sources[r])) || dies(s);
      if (all) return root(sources[r]);
    }
    return {};
  }

  std::string kind_of(NodeId id) const {
    const std::vector<NodeId> nodes = with_product(id);
    std::string kind;
    for (size_t i = 0; i < nodes.size() && i < 3; ++i) kind += (i ? "_" : "") + std::string(graph_[nodes[i]].op->name);
    return nodes.size() > 3 ? kind + "_more" : kind;
  }
  std::string comment_of(NodeId id) const {
    std::string text;
    const std::vector<NodeId> nodes = with_product(id);
    for (size_t i = 0; i < nodes.size() && i < 3; ++i)
      text += (i ? ", " : "") + comment_text(graph_.place_of(nodes[i]));
    return nodes.size() > 3 ? text + ", ..." : text;
  }

  // ---- Memory

  /// What is called by a name of C keeps it; the others get names that are free.
  std::vector<Member> members(const std::vector<ValueId>& ports, std::string_view otherwise) const {
    std::vector<Member> out;
    for (const ValueId v : ports) {
      const Tensor* t = graph_[v].constant.tensor();
      out.push_back({{}, graph_[v].name, t ? t->dtype() : graph_[v].type.dtype, extents(v)});
    }
    std::set<std::string> taken;
    for (const bool kept : {true, false})
      for (Member& m : out) {
        std::set<std::string> none;
        if ((identifier(m.label, otherwise, none) == m.label) == kept) m.name = identifier(m.label, otherwise, taken);
      }
    return out;
  }

  /// Inputs are where the caller has them; a result is made where the caller wants it, but for those that another
  /// result is, or that no step makes: these are copied in the end.
  void place_ports() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) places_[graph_.inputs()[i].n] = {Place::Kind::input, i, 0};
    for (size_t o = 0; o < graph_.outputs().size(); ++o) {
      const ValueId v = root(graph_.outputs()[o]);
      if (!graph_[v].is_constant() && places_.emplace(v.n, Place{Place::Kind::output, o, 0}).second) continue;
      Step copy;
      const DType type = graph_[v].is_constant() ? graph_[v].constant.tensor()->dtype() : graph_[v].type.dtype;
      Argument from, to;
      from.type = to.type = type;
      from.value = v, to.written = true;
      if (graph_[v].is_constant()) from.kind = Argument::Kind::weight, from.index = parts_.weight(graph_, v);
      copied_to_[steps_.size()] = o;
      Text body;
      body.line("for (long i = 0; i < {}; ++i) to[i] = from[i];", extents(v).count());
      copy.function = parts_.function(
          "copy", false,
          {fmt::format("const {} *restrict from", c_type(type)), fmt::format("{} *restrict to", c_type(type))},
          body.text());
      copy.arguments = {from, to};
      copy.comment = comment_text(graph_[graph_.outputs()[o]].name);
      steps_.push_back(std::move(copy));
    }
  }

  Status place_values(Written& out) {
    std::vector<plan::ArenaRequest> requests;
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (Argument& a : steps_[s].arguments) {
        if (a.kind == Argument::Kind::weight || (copied_to_.count(s) && a.written)) continue;
        if (a.kind == Argument::Kind::scratch) {
          a.index = requests.size();
          requests.push_back({s, s, std::max<int64_t>(a.bytes, 1), 0});
          continue;
        }
        const auto [at, fresh] = places_.emplace(root(a.value).n, Place{Place::Kind::arena, 0, requests.size()});
        if (fresh) requests.push_back({s, s, std::max<int64_t>(extents(a.value).count() * width(a.type), 1), 0});
        if (at->second.kind == Place::Kind::arena) requests[at->second.request].last = s;
      }
    }
    NNEX_ASSIGN(out.arena_bytes, plan::arena_offsets(requests));
    out.arena_bytes = std::max<int64_t>(out.arena_bytes, 64);
    for (const plan::ArenaRequest& r : requests) offsets_.push_back(r.offset);
    return {};
  }

  std::string pointer(size_t step, const Argument& a, const Written& out) const {
    const auto in_arena = [&](size_t request) {
      return fmt::format("({}{} *)(void *)(memory + {})",
                         a.written || a.kind == Argument::Kind::scratch ? "" : "const ", c_type(a.type),
                         offsets_[request]);
    };
    if (a.kind == Argument::Kind::weight) return parts_.weights()[a.index].name + ".data";
    if (a.kind == Argument::Kind::scratch) return in_arena(a.index);
    if (const auto copied = copied_to_.find(step); copied != copied_to_.end() && a.written)
      return "outputs->" + out.outputs[copied->second].name;
    const Place& p = places_.at(root(a.value).n);
    if (p.kind == Place::Kind::input) return "inputs->" + out.inputs[p.index].name;
    if (p.kind == Place::Kind::output) return "outputs->" + out.outputs[p.index].name;
    return in_arena(p.request);
  }

  std::string run_text(const Written& out) const {
    Text t;
    std::string null;
    for (const Member& m : out.inputs) null += " || !inputs->" + m.name;
    for (const Member& m : out.outputs) null += " || !outputs->" + m.name;
    if (!offsets_.empty()) t.line("char *const memory = (char *)arena;");
    t.line("if (!inputs || !outputs || !arena{}) return 1;", null);
    for (size_t s = 0; s < steps_.size(); ++s) {
      std::string arguments;
      for (const Argument& a : steps_[s].arguments) arguments += (arguments.empty() ? "" : ", ") + pointer(s, a, out);
      const std::string call = fmt::format("{}({})", steps_[s].function, arguments);
      const std::string comment = steps_[s].comment.empty() ? "" : fmt::format("  /* {} */", steps_[s].comment);
      t.add(steps_[s].faults ? fmt::format("if (!{}) return 2;{}", call, comment) : call + ";" + comment);
    }
    t.line("return 0;");
    return fmt::format("\nint {0}_run(const {0}_inputs *inputs, const {0}_outputs *outputs, void *arena) {{\n{1}}}\n",
                       out.name, t.text());
  }

  const ir::Graph& graph_;
  std::string name_;
  Parts parts_;
  std::vector<Step> steps_;
  std::map<uint32_t, NodeId> fused_into_;          // a node: the last of its loop
  std::map<uint32_t, std::vector<NodeId>> fused_;  // the last node of a loop: the others, backwards
  std::map<uint32_t, NodeId> product_of_;          // the last node of a loop: the product whose results it goes over
  std::map<uint32_t, ValueId> view_of_;            // a value: where whose elements lie it lies
  std::map<uint32_t, size_t> position_;            // of nodes
  std::map<uint32_t, size_t> last_use_;            // of values; of roots with those that share their memory
  std::map<uint32_t, Place> places_;               // by values that are no views
  std::map<size_t, size_t> copied_to_;             // a step that copies: the output
  std::vector<int64_t> offsets_;                   // in the arena, by request
};

// ---- The network before it is written

/// What no C can say of the network as a whole.
Status check_ports(const ir::Graph& graph) {
  if (!graph.states.empty())
    return failure(Code::unsupported, "the model keeps '{}' from run to run; C output has no state",
                   graph.states[0].label);
  for (const ValueId v : graph.inputs()) {
    const ValueDef& def = graph[v];
    if (!def.type.is_tensor() || c_type(def.type.dtype).empty())
      return failure(Code::unsupported, "input '{}' is {}; C output has no such array", def.name, def.type.text());
  }
  return needs_numbers("C output", graph);
}

Status check_results(const ir::Graph& graph) {
  for (const ValueId v : graph.outputs()) {
    const ValueDef& def = graph[v];
    const Tensor* t = def.constant.tensor();
    if (t ? !c_type(t->dtype()).empty() : def.type.is_tensor() && !c_type(def.type.dtype).empty() && concrete(def.type))
      continue;
    return failure(Code::unsupported,
                   "output '{}' is {}; C output needs an array of numbers, of extents that are known", def.name,
                   def.type.text());
  }
  return {};
}

/// Folded as far as it goes by passes that leave rows as standards have them.
Status make_simple(ir::Graph& graph) {
  NNEX_TRY(passes::make_plain(graph, passes::StoredCodes::keep));
  NNEX_TRY(legalize(graph));
  NNEX_TRY(passes::merge_equal(graph));
  NNEX_TRY(passes::drop_unused(graph));
  NNEX_TRY(infer_again(graph));
  NNEX_TRY(passes::fold_affine(graph));
  NNEX_TRY(passes::simplify(graph));
  NNEX_TRY(passes::drop_unused(graph));
  return infer_again(graph);
}

}  // namespace

bool has_function(const OpDef& op) {
  return is_map(op) || op.view || !op.body.empty() || find_row(op.name) || is_legalized(op.name) ||
         passes::has_rule(op.name);
}

Result<Written> to_c(ir::Graph& graph, const std::string& name) {
  NNEX_TRY(passes::inline_functions(graph));
  NNEX_TRY(infer_again(graph));
  NNEX_TRY(check_ports(graph));
  NNEX_TRY(make_simple(graph));
  for (int depth = 0; depth < 8; ++depth) {
    NetworkWriter writer(graph, name);
    std::vector<Unwritable> refused;
    writer.steps(refused);
    if (refused.empty()) {
      NNEX_TRY(check_results(graph));
      return writer.finish();
    }
    bool expanded = false;
    for (auto& r : refused) {
      NNEX_ASSIGN(const bool lowered, passes::lower(graph, r.node, r.reason));
      expanded |= lowered;
    }
    if (!expanded) return cannot_say("C", graph, refused);
    NNEX_TRY(infer_again(graph));
    NNEX_TRY(passes::fold_constants(graph));
    NNEX_TRY(passes::fold_known(graph));
    NNEX_TRY(passes::drop_unused(graph));
    NNEX_TRY(infer_again(graph));
  }
  return Error(Code::internal, "bodies of operators nested too deep");
}

}  // namespace nnex::c_format
