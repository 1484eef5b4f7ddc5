#include "serve/scheduler.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstddef>
#include <system_error>

#include "serve/batching.h"

namespace nnex::serve {
namespace {

constexpr int kBriefRuns = 8;                               // that must have been before the caller's thread does one
constexpr auto kHandOver = std::chrono::microseconds(150);  // that a request takes from thread to thread, about
constexpr auto kMoment = std::chrono::milliseconds(2);      // longest time that a run takes from the caller's thread

constexpr int64_t kKept = 16 << 20;  // bytes of a session that are kept for its next run

/// What the allocator keeps for others goes back to the system.
void free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

std::vector<Shape> shapes_of(const std::vector<Value>& inputs) {
  std::vector<Shape> out;
  for (const Value& v : inputs) out.push_back(v.tensor() ? v.tensor()->shape() : Shape());
  return out;
}

bool have_shapes(const std::vector<Value>& inputs, const std::vector<Shape>& shapes) {
  return inputs.size() == shapes.size() &&
         std::equal(inputs.begin(), inputs.end(), shapes.begin(),
                    [](const Value& v, const Shape& shape) { return v.tensor() && v.tensor()->shape() == shape; });
}

Error out_of_time() { return Error(Code::cancelled, "the request's time is over"); }

}  // namespace

Scheduler::Scheduler(const Model& model, const SchedulerOptions& options, std::shared_ptr<ModelMetrics> metrics)
    : model_(model), options_(options), stateful_(!model.states().empty()), metrics_(std::move(metrics)) {
  try {
    for (int i = 0; i < options_.instances; ++i) workers_.emplace_back([this] { serve(); });
    timekeeper_ = std::thread([this] { keep_time(); });
  } catch (const std::system_error&) {
    close();
    throw;
  }
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

bool Scheduler::run_now(const std::shared_ptr<Work>& work) {
  if (options_.delay.count() > 0) return false;
  std::unique_ptr<Instance> instance;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || !queue_.empty() || idle_.empty()) return false;
    Instance& last = *idle_.back();
    if (last.brief < kBriefRuns || !have_shapes(work->inputs, last.shapes)) return false;
    instance = std::move(idle_.back());
    idle_.pop_back();
    work->arrived_ = Clock::now();
    work->rows_ = options_.max_batch > 1 ? rows_of(work->inputs) : -1;
    ++metrics_->in_flight;
  }
  const auto shared = begin({work});
  RunOptions options = options_of({work}, *shared);
  const auto end = work->arrived_ + kMoment;
  const bool shortened = !options.deadline || end < *options.deadline;
  if (shortened) options.deadline = end;
  auto results = run_one(*instance, *work, options);
  give_back(std::move(instance));
  const bool stopped = !results.ok() && results.error().code() == Code::cancelled;
  if (stopped && shortened) {
    const std::lock_guard lock(mutex_);
    if (!work->cancelled_) {
      work->batch_.reset();
      --metrics_->in_flight;
      return false;
    }
  }
  finish(work, work->arrived_, std::move(results), std::max<int64_t>(1, work->rows_));
  return true;
}

void Scheduler::give_back(std::unique_ptr<Instance> instance) {
  bool awaited = false;
  instance->used = Clock::now();
  instance->trimmed = false;
  {
    const std::lock_guard lock(mutex_);
    if (next_trim_ == Clock::time_point::max()) {
      next_trim_ = instance->used + options_.idle;
      sooner_.notify_one();
    }
    idle_.push_back(std::move(instance));
    awaited = closed_ || !queue_.empty();
  }
  if (awaited) changed_.notify_all();
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

std::string Scheduler::warmed() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return begun_ >= workers_.size(); });
  return cold_;
}

void Scheduler::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_)
    if (worker.joinable()) worker.join();
  {
    std::unique_lock lock(mutex_);  // for what callers run themselves
    changed_.wait(lock, [this] { return idle_.size() >= workers_.size(); });
  }
  sooner_.notify_all();
  if (timekeeper_.joinable()) timekeeper_.join();
}

void Scheduler::keep_time() {
  std::unique_lock lock(mutex_);
  while (!closed_ || !queue_.empty()) {
    const auto next = std::min(next_expiry_, next_trim_);
    if (next == Clock::time_point::max())
      sooner_.wait(lock);
    else
      sooner_.wait_until(lock, next);
    const auto now = Clock::now();
    if (now >= next_expiry_) expire(lock, now);
    if (now >= next_trim_) trim(lock, now);
  }
}

/// Answers requests whose time is over while they wait: all instances may be busy for long.
void Scheduler::expire(std::unique_lock<std::mutex>& lock, Clock::time_point now) {
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

/// One session after the other gives back what its runs took, where that is much: one that was used once in a while
/// would hold it for ever, beside those of all other models.
void Scheduler::trim(std::unique_lock<std::mutex>& lock, Clock::time_point now) {
  next_trim_ = Clock::time_point::max();
  bool gave = false;
  for (size_t i = 0; i < idle_.size(); ++i) {
    if (idle_[i]->trimmed) continue;
    const auto due = idle_[i]->used + options_.idle;
    if (due > now) {
      next_trim_ = std::min(next_trim_, due);
      continue;
    }
    idle_[i]->trimmed = true;
    if (idle_[i]->session.memory() < kKept) continue;
    auto instance = std::move(idle_[i]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    lock.unlock();
    (void)instance->session.trim();
    instance->brief = 0;
    gave = true;
    lock.lock();
    idle_.insert(idle_.begin(), std::move(instance));
    changed_.notify_all();
    i = 0;  // others came and went
  }
  if (!gave) return;
  lock.unlock();
  free_memory();
  lock.lock();
}

/// One worker, with one instance more.
void Scheduler::serve() {
  SessionOptions options;
  options.threads = options_.threads;
  auto instance = std::make_unique<Instance>(Instance{model_.session(options), {}, 0});
  std::string cold;
  for (int64_t i = 0; i < options_.warm_up && cold.empty(); ++i)
    if (const auto results = instance->session.run(options_.trial); !results.ok()) cold = results.error().message();
  {
    const std::lock_guard lock(mutex_);
    ++begun_;
    if (cold_.empty()) cold_ = std::move(cold);
  }
  give_back(std::move(instance));
  changed_.notify_all();
  for (Works batch = next(instance); !batch.empty(); batch = next(instance)) {
    run(*instance, batch);
    give_back(std::move(instance));
  }
}

/// The oldest request and those that run with it, and an instance for them; none when the scheduler is closed and its
/// queue empty. While one waits for others to join its request, no other takes them.
Scheduler::Works Scheduler::next(std::unique_ptr<Instance>& instance) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [this] { return (!queue_.empty() && !gathering_ && !idle_.empty()) || (closed_ && queue_.empty()); });
  Works batch;
  if (queue_.empty()) return batch;
  instance = std::move(idle_.back());
  idle_.pop_back();
  batch.push_back(std::move(queue_.front()));
  queue_.pop_front();
  --metrics_->waiting;
  gather(lock, batch);
  return batch;
}

/// Fills up a batch with what waits, so far as no other instance is free for it, and waits for more where that is asked
/// for. What a request is late by then, since others came and since their rows take time too, stays within the delay.
void Scheduler::gather(std::unique_lock<std::mutex>& lock, Works& batch) {
  int64_t rows = batch[0]->rows_;
  if (rows < 0 || options_.max_batch <= 1) return;
  const auto instances = static_cast<int64_t>(idle_.size()) + 1;
  int64_t all = rows;
  for (const auto& work : queue_) all += std::max<int64_t>(0, work->rows_);
  rows = add_matching(batch, rows, std::min(options_.max_batch, (all + instances - 1) / instances));
  const int64_t own = batch[0]->rows_;
  const auto end = [&] { return batch[0]->arrived_ + options_.delay - kHandOver - late_ - row_time_ * (rows - own); };
  const auto waits = [&] { return rows < options_.max_batch && !closed_ && Clock::now() < end(); };
  if (!waits()) return;
  gathering_ = true;
  while (waits()) {
    const auto until = end();
    if (changed_.wait_until(lock, until) == std::cv_status::timeout) learn_late(Clock::now() - until);
    rows = add_matching(batch, rows, options_.max_batch);
  }
  gathering_ = false;
  changed_.notify_all();
}

/// How late the clock wakes a thread in all but one of 200 cases: each case moves the estimate by a little, up to a
/// quarter of the delay, so that requests are waited for on the worst machine, too.
void Scheduler::learn_late(Clock::duration late) {
  constexpr auto kDown = std::chrono::nanoseconds(100);
  const Clock::duration moved = late > late_ ? late_ + 200 * kDown : late_ - kDown;
  late_ = std::clamp<Clock::duration>(moved, Clock::duration::zero(), options_.delay / 4);
}

/// Moves what fits from the queue into the batch, up to a limit of rows; the rows that it has then.
int64_t Scheduler::add_matching(Works& batch, int64_t rows, int64_t limit) {
  for (auto at = queue_.begin(); at != queue_.end() && rows < limit;) {
    const std::shared_ptr<Work>& work = *at;
    if (work->rows_ < 0 || work->rows_ > limit - rows || !joinable(batch[0]->inputs, work->inputs)) {
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
  work->inputs.clear();  // their memory is given back before that of the answer is taken
  const auto done = std::exchange(work->done, {});
  done({std::move(results), queued, now - started, batch_rows, std::max<int64_t>(1, work->rows_)});
}

void Scheduler::run(Instance& instance, const Works& batch) {
  Works live;
  for (const auto& work : batch) {
    if (work->deadline && *work->deadline <= Clock::now())
      finish(work, Clock::now(), out_of_time(), 0);
    else
      live.push_back(work);
  }
  if (live.size() > 1)
    run_together(instance, live);
  else if (!live.empty())
    run_alone(instance, live[0]);
}

/// A run without rows counts as one of one row, as a request whose rows nobody knows does.
void Scheduler::note(Clock::duration time, int64_t rows, bool ok) {
  rows = std::max<int64_t>(1, rows);
  if (ok) metrics_->ran(rows, time);
  metrics_->running.observe(seconds(time));
  metrics_->batch_rows.observe(static_cast<double>(rows));
  if (options_.max_batch <= 1) return;
  const std::lock_guard lock(mutex_);
  row_time_ += (time / rows - row_time_) / 8;
}

Result<std::vector<Value>> Scheduler::run_one(Instance& instance, const Work& work, const RunOptions& options) {
  const auto started = Clock::now();
  if (stateful_) (void)instance.session.reset_states();  // no request sees what another one left
  auto results = instance.session.run(work.inputs, options);
  const auto time = Clock::now() - started;
  if (!have_shapes(work.inputs, instance.shapes)) {
    instance.shapes = shapes_of(work.inputs);
    instance.brief = 0;
  } else {
    instance.brief = !results.ok() || time > options_.brief ? 0 : std::min(instance.brief + 1, kBriefRuns);
  }
  note(time, work.rows_, results.ok());
  return results;
}

void Scheduler::run_alone(Instance& instance, const std::shared_ptr<Work>& work) {
  const auto started = Clock::now();
  const Works one = {work};
  const auto shared = begin(one);
  auto results = run_one(instance, *work, options_of(one, *shared));
  finish(work, started, std::move(results), std::max<int64_t>(1, work->rows_));
}

/// A fault of one request's data is not the others': where the run fails, each runs alone.
void Scheduler::run_together(Instance& instance, const Works& batch) {
  const auto started = Clock::now();
  std::vector<const std::vector<Value>*> parts;
  int64_t total = 0;
  for (const auto& work : batch) {
    parts.push_back(&work->inputs);
    total += work->rows_;
  }
  const auto joined = join(parts);
  const auto shared = begin(batch);
  auto results = joined.ok() ? instance.session.run(*joined, options_of(batch, *shared))
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
    for (const auto& work : batch) run_alone(instance, work);
    return;
  }
  instance.brief = 0;
  note(Clock::now() - started, total, true);
  for (size_t i = 0; i < batch.size(); ++i) finish(batch[i], started, std::move(shares[i]), total);
}

}  // namespace nnex::serve
