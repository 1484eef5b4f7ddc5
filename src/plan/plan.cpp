#include "plan/plan.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/failure.h"
#include "graph/custom.h"
#include "graph/late.h"
#include "graph/queries.h"
#include "graph/work.h"
#include "ops/fused.h"
#include "ops/shape.h"
#include "plan/lives.h"

namespace nnex::plan {
namespace {

/// A host's kernel.
class CustomKernel : public kernels::Kernel {
 public:
  CustomKernel(std::shared_ptr<const CustomNode> node, std::vector<Type> types)
      : node_(std::move(node)), types_(std::move(types)) {}
  Status run(Call& call) const override { return run_custom(*node_, call, types_); }

 private:
  std::shared_ptr<const CustomNode> node_;
  std::vector<Type> types_;  ///< Of the outputs, as inference has them.
};
constexpr kernels::KernelDef kCustomKernel = {"custom", "host"};

thread_local const PlanWatch::Told* watching = nullptr;

constexpr int64_t kKeptContent = 256;  ///< Elements of a content that is carried instead of computed again.

/// Makes one Plan: infers node by node until an extent is unknown, then chooses kernels, then lays out the arena.
class Planner {
 public:
  Planner(const PlanContext& context, BlockId block, NodeId from, std::span<const Live> live)
      : c_(context),
        graph_(context.graph),
        block_(block),
        from_(from),
        inference_(context.graph, Inference::Few::nodes),
        plan_(std::make_shared<Plan>()) {
    for (const Live& l : live) {
      inference_.bind(l.value, l.type);
      if (l.content) inference_.bind_content(l.value, *l.content);
    }
  }

  Result<std::shared_ptr<const Plan>> make() {
    NNEX_TRY(find_stretch());
    only_plan_ = c_.only_plan && !plan_->next.valid();
    find_uses();
    find_runs();
    auto run = runs_.begin();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (run_ && i == run_->end) run_ = nullptr, border_.clear(), ++run;
      if (run != runs_.end() && i == run->first) begin_run(*run);
      NNEX_TRY(go_on());
      NNEX_TRY(add_step(nodes_[i]));
    }
    run_ = nullptr;
    NNEX_TRY(lives_.lay_out(*plan_, nodes_, runs_, c_.memory_limit));
    return std::shared_ptr<const Plan>(plan_);
  }

 private:
  /// What others planned and packed stays; of this plan nothing does.
  Status go_on() const {
    if (!c_.stop || (c_.only_plan && c_.memory.may_lose()) || !c_.stop->stop()) return {};
    return Error(Code::cancelled, "planning was cancelled");
  }

  /// Nodes up to the first whose extents only a run can tell.
  Status find_stretch() {
    std::set<ValueId> made;
    for (NodeId id = from_; id.valid(); id = graph_[id].next) {
      const Node& node = graph_[id];
      NNEX_TRY(go_on());
      NNEX_TRY(inference_.node(id));
      if (!known(node)) {
        if (!nodes_.empty() && waits_for(node, made)) {
          plan_->next = id;
          return {};
        }
        nodes_.push_back(id);
        plan_->next = node.next;
        return {};
      }
      nodes_.push_back(id);
      for (ValueId v : node.out)
        if (v.valid()) made.insert(v);
    }
    return {};
  }

  /// Whether every output has concrete extents (or is known to be no tensor, or nobody names it).
  bool known(const Node& node) const {
    for (ValueId v : node.out) {
      if (!v.valid()) continue;
      const Type& t = type_of(v);
      if (t.kind == Kind::unknown || (t.is_tensor() && !concrete(t))) return false;
    }
    return true;
  }

  /// Whether a parameter port of the node is computed inside this stretch: cut before it, then its content is known.
  bool waits_for(const Node& node, const std::set<ValueId>& made) const {
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (!node.in[i].valid() || !made.count(node.in[i]) || inference_.content(node.in[i])) continue;
      if (reads_by_value(node, i)) return true;
    }
    return false;
  }

  void find_uses() {
    for (size_t i = 0; i < nodes_.size(); ++i) position_[nodes_[i].n] = i;
    for (NodeId id : nodes_)
      for (ValueId v : graph_[id].out)
        if (v.valid()) find_use(v);
  }

  /// The last step that reads v, or "outside" when a later stretch or the block's result does.
  void find_use(ValueId v) {
    Life& life = lives_[v];
    life.first = life.last = position_[graph_[v].producer.n];
    for (const Use& use : graph_[v].uses) {
      NodeId reader = use.node;
      BlockId in = use.node.valid() ? graph_[use.node].parent : use.block;
      while (!(in == block_) && graph_[in].owner.valid()) {
        reader = graph_[in].owner;
        in = graph_[reader].parent;
      }
      if (!(in == block_)) continue;  // a block that no node has runs never
      auto at = reader.valid() ? position_.find(reader.n) : position_.end();
      if (at == position_.end())
        life.outside = true;
      else
        life.last = std::max(life.last, at->second);
    }
  }

  // ---- Slices ----

  /// Runs of nodes that work item by item, where the activations leave the cache. Values that only a run's own nodes
  /// read are as large as a slice; those at its border live as long as the run.
  void find_runs() {
    if (c_.cache_bytes < 0 || (c_.team.size() == 1 && !leaves_cache())) return;
    const auto type = [&](ValueId v) -> const Type& { return inference_.type(v); };
    const auto content = [&](ValueId v) { return inference_.content(v); };
    const auto ahead = [&](NodeId id) { return all_known(graph_[id]); };
    runs_ = find_item_runs(graph_, nodes_, ahead, {type, content}, c_.cache_bytes, c_.team.size());
    for (const ItemRun& run : runs_) {
      for (const auto* read : {&run.sliced, &run.whole})
        for (ValueId v : *read)
          if (lives_.find(v)) lives_[v].last = std::max(lives_[v].last, run.end - 1);
      for (size_t i = run.first; i < run.end; ++i) {
        const Node& node = graph_[nodes_[i]];
        if (all_known(node)) continue;
        for (ValueId v : node.out) {
          if (!v.valid()) continue;
          Life& life = lives_[v];
          if (life.outside || life.last >= run.end)
            life.first = run.first;
          else
            inner_.emplace(v.n, sliced(inference_.type(v), run.size));
        }
        if (!node.blocks.empty()) slice_region(node, run);
      }
    }
  }

  /// 0 where they are not known.
  static int64_t bytes_of(const Type& type) {
    const auto shape = type.is_tensor() ? concrete(type) : std::nullopt;
    return shape ? bytes_for(type.dtype, shape->count()).value_or(0) : 0;
  }

  bool leaves_cache() const {
    double bytes = 0;
    for (NodeId id : nodes_)
      for (ValueId v : graph_[id].out)
        if (v.valid()) bytes += static_cast<double>(bytes_of(inference_.type(v)));
    return bytes >= static_cast<double>(c_.cache_bytes);
  }

  static Type sliced(Type type, int64_t items) {
    (*type.dims)[0] = items;
    return type;
  }

  /// Within a region all that follows from an operand with items has them.
  void slice_region(const Node& region, const ItemRun& run) {
    const Block& body = graph_[region.blocks[0]];
    std::set<ValueId> items;
    for (size_t i = 0; i < body.params.size(); ++i) {
      const ValueId v = region.in[i];
      if (run.made.count(v.n) || std::find(run.sliced.begin(), run.sliced.end(), v) != run.sliced.end())
        items.insert(body.params[i]);
    }
    for (NodeId id = body.first; id.valid(); id = graph_[id].next) {
      const Node& node = graph_[id];
      if (std::none_of(node.in.begin(), node.in.end(), [&](ValueId v) { return items.count(v) > 0; })) continue;
      for (ValueId v : node.out) {
        if (!v.valid()) continue;
        items.insert(v);
        inner_.emplace(v.n, sliced(inference_.type(v), run.size));
      }
    }
  }

  void begin_run(const ItemRun& run) {
    run_ = &run;
    Slices& slices = plan_->slices.emplace_back();
    slices.items = run.items, slices.size = run.size, slices.lanes = run.lanes;
    for (ValueId v : run.sliced) add_border(v, false);
    for (size_t i = run.first; i < run.end; ++i)
      if (!all_known(graph_[nodes_[i]]))
        for (ValueId v : graph_[nodes_[i]].out)
          if (v.valid() && !inner_.count(v.n)) add_border(v, true);
  }

  void add_border(ValueId v, bool made) {
    const Type& whole = inference_.type(v);
    const Type& part = border_.emplace(v.n, sliced(whole, run_->size)).first->second;
    const Shape shape = *concrete(part);
    plan_->slices.back().borders.push_back(
        {v, part.dtype, shape, *bytes_for(part.dtype, shape.count()) / run_->size, made});
  }

  /// What v is in memory.
  const Type& kept_type(ValueId v) const {
    if (inner_.empty()) return inference_.type(v);
    const auto at = inner_.find(v.n);
    return at == inner_.end() ? inference_.type(v) : at->second;
  }
  /// What the node sees that a step is made of.
  const Type& type_of(ValueId v) const {
    const auto at = border_.find(v.n);
    return at == border_.end() ? kept_type(v) : at->second;
  }
  bool is_sliced(ValueId v) const { return border_.count(v.n) || inner_.count(v.n); }

  // ---- Steps ----

  /// Whether no step has to compute what the node gives.
  bool all_known(const Node& node) const {
    bool known = node.op->pure;
    for (ValueId v : node.out) known &= !v.valid() || small_content(v);
    return known;
  }

  bool small_content(ValueId v) const {
    const Tensor* t = inference_.content(v);
    return t && t->dtype() != kDimType && t->count() <= kKeptContent;
  }

  Status add_step(NodeId id) {
    const Node& node = graph_[id];
    if (all_known(node)) {
      for (ValueId v : node.out) {
        if (!v.valid()) continue;
        plan_->constants.emplace_back(v, Value(*inference_.content(v)));
        lives_[v].bound = true;
      }
      return {};
    }
    Step step;
    step.node = id, step.in = node.in, step.out = node.out, step.multiply_adds = work(node);
    if (run_) {
      step.slices = static_cast<int>(plan_->slices.size()) - 1;
      for (const auto* ports : {&node.in, &node.out})
        for (ValueId v : *ports)
          if (v.valid()) step.sliced_bytes += bytes_of(inference_.type(v));
    }
    NNEX_TRY(choose(node, step));
    NNEX_TRY(offer_constants(node, step));
    NNEX_TRY(let_go(node, step));
    late_.clear();
    place_outputs(node, step);
    plan_->steps.push_back(std::move(step));
    return {};
  }

  int64_t work(const Node& node) const {
    const auto type_of = [&](ValueId v) -> const Type& { return inference_.type(v); };
    if (!is_fused(*node.op)) return multiply_adds(graph_, node, type_of).number().value_or(0);
    Dim sum = 0;
    for (NodeId n = graph_[node.blocks[0]].first; n.valid(); n = graph_[n].next)
      sum = sum + multiply_adds(graph_, graph_[n], type_of);
    return sum.number().value_or(0);
  }

  kernels::Operand operand(ValueId v) const {
    kernels::Operand o;
    if (!v.valid() || !type_of(v).is_tensor()) return o;
    auto shape = concrete(type_of(v));
    if (!shape) return o;
    o.dtype = type_of(v).dtype, o.shape = *shape, o.id = v.n;
    if (is_sliced(v)) return o;  // of its content each slice is another part
    o.content = inference_.content(v);
    if (graph_[v].is_constant()) o.constant = o.content;  // packed under the value's id: only what never changes
    return o;
  }

  Status choose(const Node& node, Step& step) {
    if ((node.op->view || keeps_order(node)) && viewable(node)) {
      step.how = Step::How::view;
      if (auto shape = node.out[0].valid() ? concrete(type_of(node.out[0])) : std::nullopt) step.view_shape = *shape;
      return {};
    }
    if (has_host(node)) {
      std::vector<Type> types;
      for (ValueId v : node.out) types.push_back(v.valid() ? inference_.type(v) : Type{});
      for (ValueId& v : step.out)  // what nobody reads the host need not make
        if (v.valid() && graph_[v].uses.empty()) v = {};
      step.how = Step::How::kernel;
      step.kernel = std::make_unique<CustomKernel>(node.custom, std::move(types));
      step.def = &kCustomKernel;
      step.open = !known(node);
      return {};
    }
    if (known(node)) {
      std::vector<kernels::Operand> in, out;
      late_.reserve(node.in.size());
      for (ValueId v : node.in) {
        in.push_back(operand(v));
        if (const LateConstant* late = in.back().constant ? graph_.late(v) : nullptr) {
          NNEX_ASSIGN(Tensor made, late->make(c_.team, late_room_));
          in.back().constant = in.back().content = &late_.emplace_back(v, std::move(made)).second;
        }
        if (in.back().constant && ConstantMemory::is_lost(*in.back().constant))
          return Error(Code::internal, "a weight was given back to the system by a plan that failed")
              .at(graph_.place_of(step.node));
      }
      for (ValueId v : node.out) out.push_back(operand(v));
      // Before a kernel that makes tables of a result's extents. Loops say themselves what they cannot keep.
      if (node.blocks.empty())
        for (ValueId v : node.out) {
          const auto shape = v.valid() ? concrete(kept_type(v)) : std::nullopt;
          const DType type = shape ? kept_type(v).dtype : DType::none;
          if (const auto bytes = !shape || is_object(type) ? 0 : bytes_for(type, shape->count());
              !bytes || *bytes > c_.memory_limit)
            return failure(Code::limit, "a result of {} elements passes what a run may take; the limit is {}",
                           shape->text(), size_text(c_.memory_limit))
                .at(graph_.place_of(step.node));
        }
      const kernels::KernelRequest request = {*node.op, node.attrs.get(), in, out, c_.loops, c_.packs, c_.team};
      auto chosen = kernels::choose_kernel(request);
      if (!chosen.ok()) return std::move(chosen).error().at(graph_.place_of(step.node));
      if (watching) (*watching)(step.node, request, chosen->def);
      if (chosen->kernel) {
        step.how = Step::How::kernel;
        step.kernel = std::move(chosen->kernel);
        step.def = chosen->def;
        int64_t& bytes = run_ ? plan_->slices.back().workspace_bytes : plan_->workspace_bytes;
        bytes = std::max(bytes, step.kernel->workspace());
        return {};
      }
    }
    if (!is_built(node.op->name)) return left_out(node.op->name).at(graph_.place_of(step.node));
    step.how = node.blocks.empty() ? Step::How::reference : Step::How::blocks;
    if (run_ && step.how == Step::How::blocks) plan_->slices.back().lanes = 1;  // it runs in the frame's own slots
    step.open = !known(node);
    return {};
  }

  /// A transpose that moves axes of extent 1 alone.
  bool keeps_order(const Node& node) const {
    if (node.op->name != "transpose" || !node.out[0].valid()) return false;
    const auto x = concrete(type_of(node.in[0]));
    if (!x) return false;
    int64_t last = -1;
    for (int64_t i = 0; i < x->rank(); ++i) {
      const Ints& axes = graph_.attrs<TransposeAttrs>(node).axes;
      int64_t from = axes.empty() ? x->rank() - 1 - i : axes[static_cast<size_t>(i)];
      if (from < 0) from += x->rank();
      if ((*x)[from] == 1) continue;
      if (from < last) return false;
      last = from;
    }
    return true;
  }

  /// A view keeps its source's memory; a block's result must not, when that memory is the arena's, nor what leaves
  /// slices.
  bool viewable(const Node& node) const {
    ValueId y = node.out[0], x = node.in[0];
    if (!y.valid() || !inference_.type(y).is_tensor())
      return inference_.type(x).kind != Kind::unknown && !inference_.type(x).is_tensor();
    if (!concrete(inference_.type(y)) || (run_ && !inner_.count(y.n))) return false;
    const Life* life = lives_.find(y);
    return !(life && life->outside) || !lives_.in_arena(lives_.root(x));
  }

  /// Constants that the step reads, aligned; those a kernel packed stay where they are.
  Status offer_constants(const Node& node, const Step& step) {
    std::vector<ValueId> wanted;
    for (size_t i = 0; i < node.in.size(); ++i)
      if (node.in[i].valid() && !(step.kernel && step.kernel->packed(i))) wanted.push_back(node.in[i]);
    for (BlockId b : node.blocks)
      for (ValueId v : graph_[b].results) wanted.push_back(v);
    for (ValueId v : wanted) {
      if (!graph_[v].is_constant() || !offered_.insert(v).second) continue;
      NNEX_TRY(keep_late(v));
      NNEX_ASSIGN(Value aligned, c_.constants.get(v));
      plan_->constants.emplace_back(v, std::move(aligned));
    }
    return {};
  }

  /// A late constant that the step reads, or that other plans will ask for, stays: in memory of its own, or, where the
  /// kernel reads it as it was given, there.
  Status keep_late(ValueId v, bool in_place = false) {
    const LateConstant* const late = graph_.late(v);
    if (!late) return {};
    auto at = std::find_if(late_.begin(), late_.end(), [&](const auto& made) { return made.first == v; });
    if (at == late_.end()) {
      NNEX_ASSIGN(Tensor made, late->make(c_.team, late_room_));
      at = late_.emplace(late_.end(), v, std::move(made));
    }
    if (!in_place) {
      NNEX_ASSIGN(at->second, at->second.clone());
    }
    c_.memory.keep(v, at->second, only_plan_);
    return {};
  }

  /// Constants that the step's kernel has copies of.
  Status let_go(const Node& node, const Step& step) {
    if (!step.kernel) return {};
    for (size_t i = 0; i < node.in.size(); ++i) {
      const ValueId v = node.in[i];
      if (!v.valid() || !graph_[v].is_constant() || !step.kernel->packed(i)) continue;
      const bool copied = !step.kernel->in_graph(i);
      if (!copied || !only_plan_) NNEX_TRY(keep_late(v, !copied));
      if (copied) c_.memory.packed(v, only_plan_);
    }
    return {};
  }

  /// Decides where each output lives: arena, memory of its own, or an object the step makes.
  void place_outputs(const Node& node, Step& step) {
    for (size_t o = 0; o < node.out.size(); ++o) {
      ValueId v = node.out[o];
      if (!v.valid()) continue;
      if (step.how == Step::How::view) {
        if (o == 0) lives_.show(v, lives_.root(node.in[0]), kept_type(v).dtype, step.view_shape);
        continue;
      }
      const auto shape = concrete(kept_type(v));
      const DType type = kept_type(v).dtype;
      if (const auto i = o == 0 ? reused_input(node, step) : std::nullopt) {
        lives_.reuse(v, lives_.root(node.in[*i]), type, *shape);
        continue;
      }
      if (!shape || type == DType::none || (step.how == Step::How::blocks && !run_)) continue;
      Life& life = lives_[v];
      if (run_ && inner_.count(v.n)) life.slices = static_cast<int>(plan_->slices.size()) - 1;
      if (life.outside || is_object(type)) {
        (run_ ? plan_->slices.back().fresh : step.fresh).push_back({v, type, *shape});
        if (life.slices >= 0) plan_->slices.back().lanes = 1;
      } else {
        lives_.place(v, type, *shape);
      }
    }
  }

  /// An input that dies here and whose memory output 0 may take: of the arena, as large, read by this kernel as nothing
  /// else.
  std::optional<size_t> reused_input(const Node& node, const Step& step) const {
    const ValueId y = node.out[0];
    const Life& life = *lives_.find(y);
    const Type& type = type_of(y);
    const auto shape = concrete(type);
    if (run_ && !inner_.count(y.n)) return std::nullopt;
    if (!step.kernel || life.outside || !shape || is_object(type.dtype)) return std::nullopt;
    for (size_t i = 0; i < node.in.size(); ++i) {
      const ValueId x = node.in[i];
      if (!x.valid() || !step.kernel->in_place(i)) continue;
      const ValueId r = lives_.root(x);
      const Life* const from = lives_.find(r);
      if (!from || !from->arena || from->last != life.first) continue;
      if (run_ && !inner_.count(r.n)) continue;  // the next slice reads it, too
      if (!(concrete(type_of(x)) == shape) || bits(type_of(x).dtype) != bits(type.dtype) ||
          bytes_for(from->dtype, from->shape.count()) != bytes_for(type.dtype, shape->count()))
        continue;
      const auto also = [&](ValueId v) { return v.valid() && !(v == x) && lives_.root(v) == r; };
      if (std::none_of(node.in.begin(), node.in.end(), also)) return i;
    }
    return std::nullopt;
  }

  const PlanContext& c_;
  const ir::Graph& graph_;
  BlockId block_;
  NodeId from_;
  bool only_plan_ = false;
  Inference inference_;
  std::shared_ptr<Plan> plan_;
  std::vector<NodeId> nodes_;
  std::unordered_map<uint32_t, size_t> position_;
  Lives lives_;
  std::set<ValueId> offered_;
  std::vector<std::pair<ValueId, Tensor>> late_;  ///< Made for the step that is added.
  Tensor late_room_;                              ///< Where they lie, one after the other.

  std::vector<ItemRun> runs_;
  const ItemRun* run_ = nullptr;               ///< The one whose steps are being made.
  std::unordered_map<uint32_t, Type> inner_;   ///< Values that runs alone read: as large as a slice.
  std::unordered_map<uint32_t, Type> border_;  ///< What run_ sees of values that are there as a whole.
};

}  // namespace

PlanWatch::PlanWatch(Told told) : told_(std::move(told)), before_(watching) { watching = &told_; }
PlanWatch::~PlanWatch() { watching = before_; }

Result<std::shared_ptr<const Plan>> make_plan(const PlanContext& context, BlockId block, NodeId from,
                                              std::span<const Live> live) {
  return Planner(context, block, from, live).make();
}

}  // namespace nnex::plan
