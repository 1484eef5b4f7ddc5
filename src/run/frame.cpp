#include "run/frame.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/copy_bytes.h"
#include "base/failure.h"
#include "base/float_mode.h"
#include "base/interrupt.h"
#include "graph/custom.h"
#include "ops/call.h"
#include "run/infer_again.h"
#include "tensor/text_bytes.h"

namespace nnex::run {
namespace {

constexpr size_t kPlansKept = 16;
constexpr int64_t kKeyContent = 256;

double micros(std::chrono::steady_clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

}  // namespace

Frame::Frame(std::shared_ptr<Compiled> model, const SessionOptions& options)
    : model_(std::move(model)), graph_(model_->graph), options_(options), slots_(graph_.value_count()) {
  for (const StateDef& s : graph_.states) states.push_back(s.start);
}

Status Frame::reserve(Memory& memory, int64_t bytes) {
  if (memory.bytes.bytes() >= bytes) return {};
  held_ -= memory.bytes.bytes();
  memory.bytes = Tensor(), ++memory.version;  // from now on nothing may show it, even where there is no more
  AccountScope uncounted(nullptr);            // the plan was checked against the limit, and the arena outlives the run
  NNEX_ASSIGN(memory.bytes, Tensor::make(DType::u8, Shape{bytes}));
  held_ += bytes;
  return {};
}

void Frame::trim() {
  stretches_.clear();  // plans first: they point into slots and arenas
  slots_ = std::vector<Value>(slots_.size());
  arenas_.clear();
  workspace_ = {};
  held_ = 0;
  pool_->clear();
}

Status Frame::interrupted() const {
  if (run_options_->cancel && run_options_->cancel->load(std::memory_order_relaxed))
    return Error(Code::cancelled, "the run was cancelled");
  if (run_options_->deadline && std::chrono::steady_clock::now() > *run_options_->deadline)
    return Error(Code::cancelled, "the run passed its deadline");
  return {};
}

Status Frame::run_nodes(std::span<const Value> inputs, const RunOptions& options) {
  FloatMode mode;
  if (!account_ || account_.use_count() > 1 || account_->held() != 0)
    account_ = std::make_shared<MemoryAccount>(model_->memory_limit);
  AccountScope counted(account_);
  Team team(options_.threads);
  team_ = &team;
  run_options_ = &options;
  const auto stop = [&] { return !interrupted().ok(); };
  std::optional<Interrupt> asked;
  if (options.cancel || options.deadline) asked.emplace(stop);
  times.clear();
  timing_ = profiling;
  if (timing_) start_ = std::chrono::steady_clock::now();
  given_ = inputs;
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    Value& slot = slots_[graph_.inputs()[i].n];
    slot = i < inputs.size() ? inputs[i] : states[i - inputs.size()];
    if (Tensor* t = slot.tensor(); t && !t->aligned()) {
      NNEX_ASSIGN(Tensor copy, pool_->make(t->dtype(), t->shape()));  // never objects: those are aligned
      copy_bytes(copy.mutable_data(), t->data(), t->bytes());
      slot = Value(std::move(copy));
    }
  }
  ran_.clear();
  Status ran = run_block(kMain);
  if (!ran.ok())
    for (ValueId v : graph_.inputs()) slots_[v.n] = Value();  // what failed keeps no caller's memory
  ++run_counter_;
  team_ = nullptr;
  return ran;
}

Result<std::vector<Value>> Frame::run(std::span<const Value> inputs, const RunOptions& options) {
  NNEX_TRY(run_nodes(inputs, options));
  AccountScope counted(account_);
  NNEX_ASSIGN(std::vector<Value> out, results(kMain));
  let_go(0);
  for (ValueId v : graph_.inputs()) slots_[v.n] = Value();
  given_memory_.take(inputs);
  for (Value& v : out) {
    NNEX_ASSIGN(v, given_memory_.apart(v));
  }
  for (size_t i = 0, first = out.size() - states.size(); i < states.size(); ++i) states[i] = std::move(out[first + i]);
  out.resize(out.size() - states.size());
  return out;
}

Status Frame::run_into(std::span<const Value> inputs, std::span<Tensor> outputs, std::span<const PortInfo> ports,
                       const RunOptions& options) {
  into_ = outputs;
  Status ran = run_nodes(inputs, options);
  into_ = {};
  NNEX_TRY(std::move(ran));
  AccountScope counted(account_);
  const std::span<const ValueId> results(graph_[kMain].results);
  const auto made = results.first(outputs.size()), carried = results.subspan(outputs.size());  // to the next run
  for (size_t i = 0; i < made.size(); ++i) {
    NNEX_ASSIGN(const Value* v, result(made[i]));
    const Tensor* t = v->tensor();
    Tensor& to = outputs[i];
    if (!t || t->dtype() != to.dtype() || !(t->shape() == to.shape()))
      return failure(Code::invalid_argument, "output '{}': found room for {}; needed {}", ports[i].name,
                     Value(to).text(), v->text());
    if (t->data() == to.data() || t->count() == 0) continue;
    if (to.dtype() == DType::str)
      std::copy(t->strings().begin(), t->strings().end(), to.mutable_as<std::string>().begin());
    else
      copy_bytes(to.mutable_data(), t->data(), t->bytes());
  }
  std::vector<Value> next;
  if (!carried.empty()) given_memory_.take(inputs);
  for (ValueId v : carried) {
    NNEX_ASSIGN(const Value* r, result(v));
    NNEX_ASSIGN(Value held, owned(*r));
    NNEX_ASSIGN(held, given_memory_.apart(held));
    next.push_back(std::move(held));
  }
  let_go(0);  // the caller's memory is not kept
  for (ValueId v : graph_.inputs()) slots_[v.n] = Value();
  states = std::move(next);
  return {};
}

Status Frame::give_memory(const plan::Step::Fresh& f) {
  Value& slot = slots_[f.value.n];
  for (const Use& use : graph_[f.value].uses) {
    if (use.node.valid() || !(use.block == kMain) || use.index >= into_.size()) continue;
    Tensor& to = into_[use.index];
    if (to.dtype() != f.dtype || !(to.shape() == f.shape) || !to.aligned()) continue;
    slot = Value(Tensor::borrow_mutable(f.dtype, f.shape, to.mutable_data()));
    return {};
  }
  slot = Value();  // that of a run that failed
  NNEX_ASSIGN(Tensor t, pool_->make(f.dtype, f.shape));
  slot = Value(std::move(t));
  return {};
}

Status Frame::run_block(BlockId block) {
  NodeId from = graph_[block].first;
  while (from.valid()) {
    NNEX_ASSIGN(Bound * b, bound(block, from));
    ran_.push_back(b);
    const plan::Plan& plan = *b->plan;
    const std::span<const plan::Step> steps = plan.steps;
    for (size_t s = 0; s < steps.size();) {
      const int slices = steps[s].slices;
      size_t n = 1;
      while (s + n < steps.size() && steps[s + n].slices == slices) ++n;
      if (slices >= 0) {
        NNEX_TRY(run_slices(*b, steps.subspan(s, n)));
      } else {
        const std::span<const Bound::Wires> wires = b->wires;
        // A step that runs a block may need more workspace than there was: where it lies is asked for every step.
        for (size_t i = s; i < s + n; ++i)
          NNEX_TRY(
              run_steps(steps.subspan(i, 1), wires.subspan(i, 1), {*team_, workspace_.bytes.mutable_data(), times}));
      }
      s += n;
    }
    NNEX_TRY(interrupted());  // what the last step left out must not be taken for its answer
    from = plan.next;
  }
  return {};
}

Status Frame::run_steps(std::span<const plan::Step> steps, std::span<const Bound::Wires> wires, Worker worker) {
  for (size_t i = 0; i < steps.size(); ++i) {
    NNEX_TRY(interrupted());
    NNEX_TRY(run_step(steps[i], wires[i], worker));
  }
  return {};
}

Status Frame::prepare(std::span<const Value> inputs, const RunOptions& options) {
  const NodeId first = graph_[kMain].first;
  if (!first.valid()) return {};
  const auto is_input = [&](ValueId v) {
    const auto& ports = graph_.inputs();
    return std::find(ports.begin(), ports.begin() + static_cast<ptrdiff_t>(inputs.size()), v) !=
           ports.begin() + static_cast<ptrdiff_t>(inputs.size());
  };
  for (const plan::LiveIn& l : stretch_at(kMain, first).live)
    if (l.by_content && is_input(l.value)) return {};  // another plan for every content
  FloatMode mode;
  Team team(options_.threads);
  team_ = &team;
  run_options_ = &options;
  const auto stop = [&] { return !interrupted().ok(); };
  std::optional<Interrupt> asked;
  if (options.cancel || options.deadline) asked.emplace(stop);
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    slots_[graph_.inputs()[i].n] = i < inputs.size() ? inputs[i] : states[i - inputs.size()];
  auto planned = bound(kMain, first);
  for (ValueId v : graph_.inputs()) slots_[v.n] = Value();
  team_ = nullptr, run_options_ = nullptr;
  if (!planned.ok()) return std::move(planned).error();
  return check_results(*(*planned)->plan);
}

Status Frame::check_results(const plan::Plan& plan) const {
  std::unordered_map<uint32_t, int64_t> held;  // by value
  int64_t sum = 0;
  const auto take = [&](const plan::Step::Fresh& f) -> Status {
    const int64_t bytes = bytes_for(f.dtype, f.shape.count()).value_or(INT64_MAX);
    if (bytes > model_->memory_limit - sum)
      return failure(Code::limit, "a tensor {}{} of {} bytes on top of {} held passes the limit of {}", name(f.dtype),
                     f.shape.text(), bytes, sum, model_->memory_limit);
    held[f.value.n] = bytes, sum += bytes;
    return {};
  };
  int slices = -1;
  for (const plan::Step& step : plan.steps) {
    if (step.slices >= 0 && step.slices != slices)
      for (const plan::Step::Fresh& f : plan.slices[static_cast<size_t>(step.slices)].fresh) NNEX_TRY(take(f));
    slices = step.slices;
    for (const plan::Step::Fresh& f : step.fresh) NNEX_TRY(take(f));
    for (ValueId v : step.release) sum -= std::exchange(held[v.n], 0);
  }
  return {};
}

Frame::Stretch& Frame::stretch_at(BlockId block, NodeId from) {
  auto [it, fresh] = stretches_.try_emplace(from.n);
  Stretch& stretch = it->second;
  if (fresh) {
    std::unique_lock<std::mutex> lock(model_->planning, std::defer_lock);
    if (model_->one_plan) lock.lock();
    auto at = liveness_.try_emplace(block.n, graph_, block).first;
    stretch.live = at->second.before(from);
  }
  return stretch;
}

Result<Frame::Bound*> Frame::bound(BlockId block, NodeId from) {
  Stretch& stretch = stretch_at(block, from);
  std::vector<int64_t>& key = stretch.key;
  key.clear();
  for (const plan::LiveIn& l : stretch.live) {
    const Tensor* t = slots_[l.value.n].tensor();
    key.push_back(t ? static_cast<int64_t>(t->dtype()) : -1);
    if (!t) continue;
    key.push_back(t->shape().rank());
    key.insert(key.end(), t->shape().begin(), t->shape().end());
    if (!l.by_content || t->count() > kKeyContent || is_object(t->dtype())) continue;
    for (int64_t i = 0; i < t->count(); ++i) {
      if (is_real(t->dtype()))
        key.push_back(__builtin_bit_cast(int64_t, real_at(*t, i)));
      else if (!is_complex(t->dtype()))
        key.push_back(int_at(*t, i));
    }
  }
  for (auto b = stretch.plans.begin(); b != stretch.plans.end(); ++b) {
    if (b->key != key) continue;
    if (b != stretch.plans.begin()) stretch.plans.splice(stretch.plans.begin(), stretch.plans, b);
    Bound* found = &stretch.plans.front();
    if (stretch.active != found || stretch.version != arenas_[block.n].version) NNEX_TRY(bind(block, *found));
    stretch.active = found, stretch.version = arenas_[block.n].version;
    return found;
  }
  Bound made{key, nullptr, {}, {}, {}};
  NNEX_ASSIGN(made.plan, plan_for(block, from, stretch));
  wire(made);
  stretch.plans.push_front(std::move(made));
  if (stretch.plans.size() > kPlansKept) stretch.plans.pop_back();
  NNEX_TRY(bind(block, stretch.plans.front()));
  stretch.active = &stretch.plans.front(), stretch.version = arenas_[block.n].version;
  return &stretch.plans.front();
}

Result<std::shared_ptr<const plan::Plan>> Frame::plan_for(BlockId block, NodeId from, const Stretch& stretch) {
  std::vector<plan::Live> live;
  bool by_content = false;
  for (const plan::LiveIn& l : stretch.live) {
    const Value& v = slots_[l.value.n];
    plan::Live& known = live.emplace_back(plan::Live{l.value, type_of(v), std::nullopt});
    by_content |= l.by_content;
    if (const Tensor* t = v.tensor(); t && l.by_content && t->count() <= kKeyContent) {
      NNEX_ASSIGN(known.content, t->clone());
    }
  }
  AccountScope uncounted(nullptr);  // packed weights and plans are kept for other runs, whole
  const Interrupt* const asked = Interrupt::current();
  const auto go_on = [] { return false; };
  const Interrupt uninterrupted(go_on);  // within a node: what is half packed others would find
  Compiled& m = *model_;
  plan::PlanContext context{graph_, *m.loops, m.packs, m.constants, m.memory_limit, *team_, m.memory, m.cache_bytes};
  context.stop = asked;
  const auto planned = [&]() -> Result<std::shared_ptr<const plan::Plan>> {
    auto made = plan::make_plan(context, block, from, live);
    if (made.ok()) return made;
    if (made.error().code() == Code::cancelled) NNEX_TRY(interrupted());
    return of_the_data(std::move(made).error());
  };
  if (!m.one_plan) return planned();
  const std::lock_guard<std::mutex> lock(m.planning);
  const bool whole = block == kMain && from == graph_[kMain].first;
  if (whole && m.plan && m.plan_key == stretch.key) return m.plan;
  context.only_plan = whole && !by_content;
  NNEX_ASSIGN(std::shared_ptr<const plan::Plan> plan, planned());
  if (context.only_plan) m.plan = plan, m.plan_key = stretch.key;
  return plan;
}

void Frame::find_lent(const plan::Step& step, Bound& b) {
  const auto has_place = [&](ValueId v) {
    return std::any_of(b.plan->slots.begin(), b.plan->slots.end(), [&](const auto& slot) { return slot.value == v; });
  };
  for (const plan::Step::Fresh& f : step.fresh) b.lent.push_back(f.value);
  if (step.how != plan::Step::How::view && step.how != plan::Step::How::blocks && !step.open) return;
  for (ValueId v : step.out)
    if (v.valid() && !has_place(v)) b.lent.push_back(v);
}

void Frame::wire(Bound& b) {
  std::vector<std::unordered_map<uint32_t, size_t>> borders;  // of each region: which border a value is
  for (const plan::Slices& slices : b.plan->slices) {
    std::vector<Bound::Lane>& lanes = b.lanes.emplace_back(static_cast<size_t>(slices.lanes));
    for (Bound::Lane& lane : lanes) lane.border.resize(slices.borders.size());
    auto& at = borders.emplace_back();
    for (size_t i = 0; i < slices.borders.size(); ++i) at.emplace(slices.borders[i].value.n, i);
  }
  for (const plan::ArenaSlot& slot : b.plan->slots)
    if (slot.slices >= 0)
      for (Bound::Lane& lane : std::span(b.lanes[static_cast<size_t>(slot.slices)]).subspan(1))
        lane.inner[slot.value.n];
  const auto border = [&](const plan::Step& step, Bound::Lane& lane, ValueId v) -> Value* {
    const auto& known = borders[static_cast<size_t>(step.slices)];
    const auto at = known.find(v.n);
    return at == known.end() ? nullptr : &lane.border[at->second];
  };
  for (const plan::Step& step : b.plan->steps) {
    find_lent(step, b);
    Bound::Wires& w = b.wires.emplace_back();
    if (step.slices < 0) {
      for (ValueId v : step.in) w.in.push_back(v.valid() ? &slots_[v.n] : nullptr);
      for (ValueId v : step.out) w.out.push_back(v.valid() ? &slots_[v.n] : nullptr);
      continue;
    }
    std::vector<Bound::Lane>& lanes = b.lanes[static_cast<size_t>(step.slices)];
    for (Bound::Lane& lane : lanes) {
      const bool first = &lane == &lanes[0];
      Bound::Wires& of_lane = lane.wires.emplace_back();
      for (ValueId v : step.in) {
        const auto inner = lane.inner.find(v.n);
        Value* const at_border = v.valid() ? border(step, lane, v) : nullptr;
        of_lane.in.push_back(!v.valid()                  ? nullptr
                             : at_border                 ? at_border
                             : inner != lane.inner.end() ? &inner->second
                                                         : &slots_[v.n]);
      }
      for (ValueId v : step.out) {
        Value* const at_border = v.valid() ? border(step, lane, v) : nullptr;
        of_lane.out.push_back(!v.valid() ? nullptr : at_border ? at_border : first ? &slots_[v.n] : &lane.inner[v.n]);
      }
    }
  }
}

Status Frame::bind(BlockId block, Bound& b) {
  Memory& arena = arenas_[block.n];
  NNEX_TRY(reserve(arena, b.plan->arena_bytes));
  NNEX_TRY(reserve(workspace_, b.plan->workspace_bytes));
  for (const plan::ArenaSlot& s : b.plan->slots) {
    std::byte* at = arena.bytes.mutable_data() + s.offset;
    slots_[s.value.n] = Value(Tensor::borrow_mutable(s.dtype, s.shape, at));
    if (s.slices < 0) continue;
    const auto number = static_cast<size_t>(s.slices);
    for (Bound::Lane& lane : std::span(b.lanes[number]).subspan(1))
      lane.inner[s.value.n] = Value(Tensor::borrow_mutable(s.dtype, s.shape, at += b.plan->slices[number].lane_bytes));
  }
  for (const auto& [v, content] : b.plan->constants) slots_[v.n] = content;
  return {};
}

Status Frame::check_strings(const Bound::Wires& wires, const plan::Step& step) const {
  int64_t count = 0;
  for (const plan::Step::Fresh& f : step.fresh)
    if (f.dtype == DType::str) count = std::max(count, f.shape.count());
  if (count == 0) return {};
  std::vector<const Tensor*> inputs;
  for (const Value* v : wires.in) inputs.push_back(v ? v->tensor() : nullptr);
  const int64_t longest = longest_text(inputs);
  int64_t bytes = 0;
  if (!__builtin_mul_overflow(count, longest, &bytes) && bytes <= model_->memory_limit) return {};
  return failure(Code::limit, "{} strings of up to {} bytes could pass the run's limit of {} bytes", count, longest,
                 model_->memory_limit);
}

DType Frame::dtype_of(const plan::Step& step, const Bound::Wires& wires) const {
  if (step.in.empty() || !step.in[0].valid()) return DType::none;
  const Tensor* t = graph_[step.in[0]].constant.tensor();
  if (!t) t = wires.in[0]->tensor();
  return t ? t->dtype() : DType::none;
}

int64_t Frame::bytes_of(const plan::Step& step, const Bound::Wires& wires) const {
  if (step.how == plan::Step::How::view) return 0;
  if (step.slices >= 0) return step.sliced_bytes;
  int64_t out = 0, bytes = 0;
  for (const Value* v : wires.out)
    if (const Tensor* t = v ? v->tensor() : nullptr) out += t->bytes();
  const bool picks =
      graph_[step.node].op->elements == Elements::of_first;  // it reads no more of input 0 than it writes
  for (size_t i = 0; i < step.in.size(); ++i) {
    if (!step.in[i].valid()) continue;
    const Tensor* t = graph_[step.in[i]].constant.tensor();  // a packed one stands in no slot
    if (!t) t = wires.in[i]->tensor();
    if (t) bytes += picks && i == 0 ? std::min(t->bytes(), out) : t->bytes();
  }
  return bytes + out;
}

Status Frame::run_step(const plan::Step& step, const Bound::Wires& wires, Worker worker) {
  std::chrono::steady_clock::time_point began;
  if (timing_) began = std::chrono::steady_clock::now();
  for (const plan::Step::Fresh& f : step.fresh) NNEX_TRY(give_memory(f));
  const Node& node = graph_[step.node];
  Status s = check_strings(wires, step);
  if (!s.ok()) {
    // keeps the place below
  } else if (step.how == plan::Step::How::kernel || step.how == plan::Step::How::reference) {
    Call call(*node.op, node.attrs.get(), wires.in, wires.out);
    call.team = &worker.team;
    call.workspace = worker.workspace;
    call.random = {options_.seed, step.node.n, run_counter_};
    if (step.open) s = infer_outputs_again(node, wires.in, wires.out);
    if (s.ok()) s = step.kernel ? step.kernel->run(call) : run_reference(call);
  } else {
    s = step.how == plan::Step::How::view ? run_view(step, wires) : run_blocks(step, wires);
  }
  if (!s.ok()) return placed(std::move(s).error(), node, graph_.place_of(step.node));
  if (timing_) {
    auto now = std::chrono::steady_clock::now();
    std::string_view kernel = step.def                              ? step.def->name
                              : step.how == plan::Step::How::view   ? "view"
                              : step.how == plan::Step::How::blocks ? "blocks"
                                                                    : "reference";
    worker.times.push_back({graph_.place_of(step.node), operator_name(node), std::string(kernel),
                            micros(began - start_), micros(now - began), step.multiply_adds, dtype_of(step, wires),
                            bytes_of(step, wires)});
  }
  for (ValueId v : step.release) slots_[v.n] = Value();
  return {};
}

Status Frame::run_view(const plan::Step& step, const Bound::Wires& wires) {
  const Value& x = *wires.in[0];
  Value& y = *wires.out[0];
  if (!x.tensor()) {
    y = x;
    return {};
  }
  y = Value(x.tensor()->reshaped(step.view_shape));
  return {};
}

Result<Value> Frame::owned(const Value& v) const {
  const Tensor* t = v.tensor();
  if (!t || t->owned() || t->count() == 0) return v;
  NNEX_ASSIGN(Tensor copy, t->clone());
  return Value(std::move(copy));
}

Result<const Value*> Frame::result(ValueId v) {
  if (graph_[v].is_constant() && !slots_[v.n].tensor()) {
    AccountScope uncounted(nullptr);
    NNEX_ASSIGN(slots_[v.n], model_->constants.get(v));
  }
  return &slots_[v.n];
}

Result<std::vector<Value>> Frame::results(BlockId block) {
  std::vector<Value> out;
  for (ValueId v : graph_[block].results) {
    NNEX_ASSIGN(const Value* r, result(v));
    NNEX_ASSIGN(Value held, owned(*r));
    out.push_back(std::move(held));
  }
  return out;
}

Result<std::vector<Value>> Frame::call_block(BlockId block, std::vector<Value> params) {
  const Block& b = graph_[block];
  for (size_t i = 0; i < params.size() && i < b.params.size(); ++i) slots_[b.params[i].n] = std::move(params[i]);
  const size_t before = ran_.size();
  NNEX_TRY(run_block(block));
  auto out = results(block);
  let_go(before);
  return out;
}

void Frame::let_go(size_t from) {
  for (; ran_.size() > from; ran_.pop_back())
    for (ValueId v : ran_.back()->lent) slots_[v.n] = Value();
}

}  // namespace nnex::run
