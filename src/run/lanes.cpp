// Slices of a plan, some after the other or side by side (docs/decisions/slices.md).

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "base/split.h"
#include "run/frame.h"

namespace nnex::run {

Status Frame::run_lane(const plan::Slices& slices, Bound::Lane& lane, std::span<const plan::Step> steps, Worker worker,
                       FunctionRef<int64_t()> next) {
  const size_t timed = worker.times.size();
  size_t lines = 0;
  for (int64_t from = next(); from >= 0; from = next()) {
    for (size_t i = 0; i < slices.borders.size(); ++i) {
      const plan::Slices::Border& border = slices.borders[i];
      Tensor& whole = *slots_[border.value.n].tensor();
      const int64_t at = from * border.item_bytes;
      lane.border[i] =
          Value(border.made ? Tensor::borrow_mutable(border.dtype, border.shape, whole.mutable_data() + at)
                            : Tensor::borrow(border.dtype, border.shape, std::as_const(whole).data() + at));
    }
    NNEX_TRY(run_steps(steps, lane.wires, worker));
    std::vector<NodeTime>& times = worker.times;
    if (lines == 0) lines = times.size() - timed;
    for (size_t i = timed + lines; i < times.size(); ++i) times[i - lines].us += times[i].us;  // one line a node
    times.resize(timed + lines);
  }
  return {};
}

Status Frame::run_slices(Bound& b, std::span<const plan::Step> steps) {
  const auto number = static_cast<size_t>(steps[0].slices);
  const plan::Slices& slices = b.plan->slices[number];
  for (const plan::Step::Fresh& f : slices.fresh) NNEX_TRY(give_memory(f));
  std::vector<Bound::Lane>& lanes = b.lanes[number];
  std::byte* const workspace = workspace_.bytes.mutable_data();
  const int64_t count = (slices.items + slices.size - 1) / slices.size;
  // The last one does some items again where slices are of uneven size.
  const auto first_item = [&](int64_t slice) { return std::min(slice * slices.size, slices.items - slices.size); };
  if (lanes.size() == 1) {
    int64_t slice = 0;
    return run_lane(slices, lanes[0], steps, {*team_, workspace, times},
                    [&] { return slice < count ? first_item(slice++) : -1; });
  }
  // A lane has a share of the slices, and takes from the others' when it has none left.
  struct Share {
    std::atomic<int64_t> next;
    int64_t end;
    std::vector<NodeTime> times;
    Status status;
  };
  const auto n = static_cast<int64_t>(lanes.size());
  std::vector<Share> shares(lanes.size());
  for (int64_t k = 0; k < n; ++k) {
    const Part part = part_of(count, n, k);
    shares[static_cast<size_t>(k)].next = part.begin, shares[static_cast<size_t>(k)].end = part.end;
  }
  team_->run(n, [&](int64_t k) {
    AccountScope counted(account_);
    Team alone(1);
    Share& own = shares[static_cast<size_t>(k)];
    const auto next = [&]() -> int64_t {
      for (int64_t i = 0; i < n; ++i) {
        Share& share = shares[static_cast<size_t>((k + i) % n)];
        if (const int64_t slice = share.next.fetch_add(1, std::memory_order_relaxed); slice < share.end)
          return first_item(slice);
      }
      return -1;
    };
    own.status = run_lane(slices, lanes[static_cast<size_t>(k)], steps,
                          {alone, workspace + k * slices.workspace_bytes, own.times}, next);
  });
  for (Share& share : shares) NNEX_TRY(std::move(share.status));
  // Of each node what it took of the time of all lanes together.
  const size_t timed = times.size();
  for (const Share& share : shares)
    for (size_t i = 0; i < share.times.size(); ++i) {
      if (timed + i == times.size()) times.push_back(share.times[i]), times.back().us = 0;
      times[timed + i].us += share.times[i].us / static_cast<double>(n);
    }
  return {};
}

}  // namespace nnex::run
