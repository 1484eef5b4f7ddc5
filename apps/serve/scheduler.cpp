#include "serve/scheduler.h"

#include <algorithm>

#include "serve/batching.h"

namespace nnex::serve {
namespace {

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

Error out_of_time() { return Error(Code::cancelled, "the request's time is over"); }

}  // namespace

Scheduler::Scheduler(const Model& model, const SchedulerOptions& options, std::shared_ptr<ModelMetrics> metrics)
    : model_(model), options_(options), stateful_(!model.states().empty()), metrics_(std::move(metrics)) {
  for (int i = 0; i < options_.instances; ++i) workers_.emplace_back([this] { serve(); });
  timekeeper_ = std::thread([this] { expire(); });
}

Scheduler::~Scheduler() { close(); }

Admission Scheduler::submit(const std::shared_ptr<Work>& work) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return Admission::closed;
    if (queue_.size() >= options_.queue) return Admission::full;
    work->arrived_ = Clock::now();
    work->rows_ = options_.max_batch > 1 ? rows_of(work->inputs) : -1;
    queue_.push_back(work);
    ++metrics_->waiting;
    ++metrics_->in_flight;
    if (work->deadline && *work->deadline < next_expiry_) {
      next_expiry_ = *work->deadline;
      sooner_.notify_one();
    }
  }
  changed_.notify_all();
  return Admission::taken;
}

void Scheduler::cancel(const std::shared_ptr<Work>& work) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(work->cancelled_, true)) return;
    const auto at = std::find(queue_.begin(), queue_.end(), work);
    if (at == queue_.end()) {
      if (work->batch_ && --work->batch_->wanted == 0) work->batch_->cancel = true;
      return;
    }
    queue_.erase(at);
    --metrics_->waiting;
  }
  finish(work, Clock::now(), Error(Code::cancelled, "nobody waits for the answer"), 0);
}

void Scheduler::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_)
    if (worker.joinable()) worker.join();
  sooner_.notify_all();
  if (timekeeper_.joinable()) timekeeper_.join();
}

/// Answers requests whose time is over while they wait: all instances may be busy for long.
void Scheduler::expire() {
  std::unique_lock lock(mutex_);
  while (!closed_ || !queue_.empty()) {
    if (next_expiry_ == Clock::time_point::max())
      sooner_.wait(lock);
    else
      sooner_.wait_until(lock, next_expiry_);
    const auto now = Clock::now();
    if (now < next_expiry_) continue;
    Works late;
    next_expiry_ = Clock::time_point::max();
    for (auto at = queue_.begin(); at != queue_.end();) {
      const auto deadline = (*at)->deadline;
      if (deadline && *deadline <= now) {
        late.push_back(std::move(*at));
        at = queue_.erase(at);
        --metrics_->waiting;
        continue;
      }
      if (deadline) next_expiry_ = std::min(next_expiry_, *deadline);
      ++at;
    }
    lock.unlock();
    for (const auto& work : late) finish(work, now, out_of_time(), 0);
    lock.lock();
  }
}

/// One instance.
void Scheduler::serve() {
  SessionOptions options;
  options.threads = options_.threads;
  Session session = model_.session(options);
  for (Works batch = next(); !batch.empty(); batch = next()) run(session, batch);
}

/// The oldest request and those that run with it; none when the scheduler is closed and its queue empty. While one
/// instance waits for others to join its request, no other instance takes them.
Scheduler::Works Scheduler::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (!queue_.empty() && !gathering_) || (closed_ && queue_.empty()); });
  Works batch;
  if (queue_.empty()) return batch;
  batch.push_back(std::move(queue_.front()));
  queue_.pop_front();
  --metrics_->waiting;
  gather(lock, batch);
  return batch;
}

void Scheduler::gather(std::unique_lock<std::mutex>& lock, Works& batch) {
  int64_t rows = batch[0]->rows_;
  if (rows < 0 || options_.max_batch <= 1) return;
  rows = add_matching(batch, rows);
  const Clock::time_point end = batch[0]->arrived_ + options_.delay;
  if (rows >= options_.max_batch || options_.delay.count() == 0 || closed_ || Clock::now() >= end) return;
  gathering_ = true;
  while (rows < options_.max_batch && !closed_ && changed_.wait_until(lock, end) != std::cv_status::timeout)
    rows = add_matching(batch, rows);
  rows = add_matching(batch, rows);
  gathering_ = false;
  changed_.notify_all();
}

/// Moves what fits from the queue into the batch; the rows that it has then.
int64_t Scheduler::add_matching(Works& batch, int64_t rows) {
  for (auto at = queue_.begin(); at != queue_.end() && rows < options_.max_batch;) {
    const std::shared_ptr<Work>& work = *at;
    if (work->rows_ < 0 || work->rows_ > options_.max_batch - rows || !joinable(batch[0]->inputs, work->inputs)) {
      ++at;
      continue;
    }
    rows += work->rows_;
    batch.push_back(work);
    at = queue_.erase(at);
    --metrics_->waiting;
  }
  return rows;
}

/// From now on the requests of the batch can stop its run. Those that were cancelled meanwhile do not count.
std::shared_ptr<Work::Batch> Scheduler::begin(const Works& batch) {
  auto shared = std::make_shared<Work::Batch>();
  const std::lock_guard lock(mutex_);
  for (const auto& work : batch) {
    if (work->cancelled_) continue;
    work->batch_ = shared;
    ++shared->wanted;
  }
  shared->cancel = shared->wanted == 0;
  return shared;
}

/// A run ends at the last of the deadlines, where all have one.
RunOptions Scheduler::options_of(const Works& batch, const Work::Batch& shared) const {
  RunOptions options;
  options.cancel = &shared.cancel;
  options.deadline = batch[0]->deadline;
  for (const auto& work : batch) {
    if (!work->deadline) return options.deadline.reset(), options;
    options.deadline = std::max(*options.deadline, *work->deadline);
  }
  return options;
}

void Scheduler::finish(const std::shared_ptr<Work>& work, Clock::time_point started, Result<std::vector<Value>> results,
                       int64_t batch_rows) {
  const auto now = Clock::now();
  const auto queued = started - work->arrived_;
  metrics_->queued.observe(seconds(queued));
  --metrics_->in_flight;
  const auto done = std::exchange(work->done, {});
  done({std::move(results), queued, now - started, batch_rows});
}

void Scheduler::run(Session& session, const Works& batch) {
  Works live;
  for (const auto& work : batch) {
    if (work->deadline && *work->deadline <= Clock::now())
      finish(work, Clock::now(), out_of_time(), 0);
    else
      live.push_back(work);
  }
  if (live.size() > 1)
    run_together(session, live);
  else if (!live.empty())
    run_alone(session, live[0]);
}

void Scheduler::run_alone(Session& session, const std::shared_ptr<Work>& work) {
  const auto started = Clock::now();
  const Works one = {work};
  const auto shared = begin(one);
  if (stateful_) (void)session.reset_states();  // no request sees what another one left
  auto results = session.run(work->inputs, options_of(one, *shared));
  metrics_->running.observe(seconds(Clock::now() - started));
  const int64_t rows = std::max<int64_t>(1, work->rows_);
  metrics_->batch_rows.observe(static_cast<double>(rows));
  finish(work, started, std::move(results), rows);
}

/// A fault of one request's data is not the others': where the run fails, each runs alone.
void Scheduler::run_together(Session& session, const Works& batch) {
  const auto started = Clock::now();
  std::vector<const std::vector<Value>*> parts;
  int64_t total = 0;
  for (const auto& work : batch) {
    parts.push_back(&work->inputs);
    total += work->rows_;
  }
  const auto joined = join(parts);
  const auto shared = begin(batch);
  auto results = joined.ok() ? session.run(*joined, options_of(batch, *shared))
                             : Result<std::vector<Value>>(Error(joined.error().code(), joined.error().message()));
  std::vector<std::vector<Value>> shares;
  int64_t at = 0;
  for (size_t i = 0; results.ok() && i < batch.size(); ++i) {
    auto share = rows(*results, total, at, batch[i]->rows_);
    if (!share.ok()) break;
    shares.push_back(std::move(share).value());
    at += batch[i]->rows_;
  }
  if (shares.size() < batch.size()) {
    for (const auto& work : batch) run_alone(session, work);
    return;
  }
  metrics_->running.observe(seconds(Clock::now() - started));
  metrics_->batch_rows.observe(static_cast<double>(total));
  for (size_t i = 0; i < batch.size(); ++i) finish(batch[i], started, std::move(shares[i]), total);
}

}  // namespace nnex::serve
