#include "plan/lives.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/failure.h"
#include "plan/arena.h"

namespace nnex::plan {
namespace {

/// Lanes that no workspace fits beside each other run as one.
void give_workspace(Plan& plan, int64_t memory_limit) {
  for (Slices& s : plan.slices) {
    s.workspace_bytes = round_up(s.workspace_bytes, 64);
    if (s.workspace_bytes > memory_limit / s.lanes) s.lanes = 1;
    plan.workspace_bytes = std::max(plan.workspace_bytes, s.workspace_bytes * s.lanes);
  }
}

}  // namespace

void Lives::place(ValueId v, DType dtype, const Shape& shape) {
  Life& life = lives_[v.n];
  life.arena = true, life.dtype = dtype, life.shape = shape;
  placed_.push_back(v);
}

void Lives::show(ValueId v, ValueId r, DType dtype, const Shape& shape) {
  roots_[v.n] = r;
  Life& life = lives_[v.n];
  life.dtype = dtype, life.shape = shape;
  if (const auto root = lives_.find(r.n); root != lives_.end())
    root->second.last = std::max(root->second.last, life.last);
}

void Lives::reuse(ValueId v, ValueId r, DType dtype, const Shape& shape) {
  show(v, r, dtype, shape);
  reusing_.push_back(v);
}

std::string size_text(int64_t bytes) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  return bytes % kMiB == 0 || bytes >= 16 * kMiB ? fmt::format("{} MiB", bytes / kMiB) : fmt::format("{} bytes", bytes);
}

/// Sizes in MiB, or in bytes where those would not tell them apart.
Error too_much(int64_t arena, int64_t workspace, int64_t limit) {
  const bool apart = size_text(arena + workspace) != size_text(limit);
  const auto text = [&](int64_t bytes) { return apart ? size_text(bytes) : fmt::format("{} bytes", bytes); };
  const std::string kernels = workspace > 0 ? fmt::format(" and {} for kernels to work in", text(workspace)) : "";
  return failure(Code::limit, "the run needs {} for activations{}; the limit is {}", text(arena), kernels, text(limit));
}

Status Lives::lay_out(Plan& plan, std::span<const NodeId> nodes, std::span<const ItemRun> runs,
                      int64_t memory_limit) const {
  give_workspace(plan, memory_limit);
  NNEX_ASSIGN(const Offsets offsets, find_offsets(plan, runs));
  if (plan.workspace_bytes > memory_limit || plan.arena_bytes > memory_limit - plan.workspace_bytes)
    return too_much(plan.arena_bytes, plan.workspace_bytes, memory_limit);
  for (const auto* made : {&placed_, &reusing_})
    for (ValueId v : *made) add_slot(plan, v, offsets.at(root(v).n));
  place_views(plan, offsets);
  release_objects(plan, nodes);
  return {};
}

/// Lanes go on at their own pace, so each has all that its steps make in one piece of the arena.
Result<Lives::Offsets> Lives::find_offsets(Plan& plan, std::span<const ItemRun> runs) const {
  std::vector<ArenaRequest> requests;  // the arena's own values, then for each slices a piece
  std::vector<std::vector<ArenaRequest>> pieces(plan.slices.size());
  std::vector<std::pair<const std::vector<ArenaRequest>*, size_t>> asked;  // of every placed value
  const auto in_lane = [&](const Life& life) {
    return life.slices >= 0 && plan.slices[static_cast<size_t>(life.slices)].lanes > 1;
  };
  for (ValueId v : placed_) {
    const Life& life = lives_.at(v.n);
    const auto bytes = bytes_for(life.dtype, life.shape.count());
    if (!bytes) return failure(Code::limit, "a tensor of {} elements is too large", life.shape.text());
    auto& list = in_lane(life) ? pieces[static_cast<size_t>(life.slices)] : requests;
    asked.emplace_back(&list, list.size());
    list.push_back({life.first, life.last, *bytes});
  }
  const size_t whole = requests.size();
  for (size_t i = 0; i < pieces.size(); ++i) {
    Slices& slices = plan.slices[i];
    NNEX_ASSIGN(const int64_t bytes, arena_offsets(pieces[i]));
    slices.lane_bytes = round_up(bytes, 64);
    const auto all = checked_mul(slices.lane_bytes, slices.lanes);
    if (!all) return failure(Code::limit, "{} slices side by side are too large", slices.lanes);
    requests.push_back({runs[i].first, runs[i].end - 1, *all});
  }
  NNEX_ASSIGN(plan.arena_bytes, arena_offsets(requests));
  Offsets offsets;
  for (size_t i = 0; i < placed_.size(); ++i) {
    const auto& [list, number] = asked[i];
    const int64_t piece = list == &requests ? 0 : requests[whole + static_cast<size_t>(list - pieces.data())].offset;
    offsets[placed_[i].n] = piece + (*list)[number].offset;
  }
  return offsets;
}

void Lives::add_slot(Plan& plan, ValueId v, int64_t offset) const {
  const Life& life = lives_.at(v.n);
  plan.slots.push_back({v, offset, life.dtype, life.shape, lives_.at(root(v).n).slices});
}

/// Views of arena tensors need no step at all, but for those of a slice of one: they are bound once.
void Lives::place_views(Plan& plan, const Offsets& offsets) const {
  std::vector<Step> kept;
  for (Step& step : plan.steps) {
    const auto at = step.how == Step::How::view ? offsets.find(root(step.out[0]).n) : offsets.end();
    if (at == offsets.end() || (step.slices >= 0 && lives_.at(at->first).slices < 0))
      kept.push_back(std::move(step));
    else
      add_slot(plan, step.out[0], at->second);
  }
  plan.steps = std::move(kept);
}

void Lives::release_objects(Plan& plan, std::span<const NodeId> nodes) const {
  std::unordered_map<uint32_t, size_t> step_of;
  for (size_t s = 0; s < plan.steps.size(); ++s) step_of[plan.steps[s].node.n] = s;
  for (const auto& [v, life] : lives_) {
    if (life.arena || life.outside || life.bound || roots_.count(v)) continue;
    const auto step = step_of.find(nodes[life.last].n);
    if (step != step_of.end() && plan.steps[step->second].slices < 0)
      plan.steps[step->second].release.push_back(ValueId{v});
  }
}

}  // namespace nnex::plan
