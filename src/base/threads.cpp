#include "base/threads.h"

#include "base/interrupt.h"

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)

namespace nnex {
struct ThreadPool {};
int usable_threads() { return 1; }
Team::Team(int) {}
Team::~Team() { (void)pool_; }
void Team::run_all(int64_t parts, FunctionRef<void(int64_t part)> work) {
  for (int64_t part = 0; part < parts; ++part) work(part);
}
}  // namespace nnex

#else

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/float_mode.h"
#include "base/quota.h"

namespace nnex {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpinTime = std::chrono::milliseconds(1);
constexpr auto kLingerTime = std::chrono::microseconds(100);
constexpr auto kJoinSpinTime = std::chrono::microseconds(50);
constexpr int kSpinsPerClock = 32;
constexpr int kMaxThreads = 256;

void spin_once() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int affinity_threads() {
#if defined(__linux__)
  for (int processors = 1024; processors <= 1 << 18; processors *= 2) {  // EINVAL: the kernel's mask is longer
    cpu_set_t* set = CPU_ALLOC(processors);
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
#endif
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

int usable_threads() {
  static const int threads = [] {
    const int quota = quota_threads();
    return std::clamp(quota > 0 ? std::min(quota, affinity_threads()) : affinity_threads(), 1, kMaxThreads);
  }();
  return threads;
}

/// Parts of a job that are one thread's to take first: the same stretch of every job, so that what it made lies in its
/// cache when the next job reads it. `left` counts those nobody has taken, from `end` back.
struct alignas(64) Share {
  std::atomic<int64_t> left = 0;
  int64_t end = 0;
};

/// The process's workers and the one job they share. Who takes a share's count down by compare-exchange owns that part,
/// and only then reads the job's other fields, which stay as they are until every part taken is finished. A thread
/// whose share is empty takes from the others'. So the caller never waits for a worker that has not started, and a
/// worker that comes late finds nothing left.
struct ThreadPool {
  std::array<Share, kMaxThreads> shares;
  alignas(64) std::atomic<int64_t> finished = 0;  // parts finished by workers
  alignas(64) std::atomic<uint64_t> job = 0;      // counts jobs
  const FunctionRef<void(int64_t)>* work = nullptr;
  std::atomic<int> threads_wanted = 0;  // the caller is number 0; workers numbered from here on leave the job alone
  std::atomic<bool> owned = false;      // a Team holds the pool
  std::atomic<bool> running = false;    // a job is in flight: nested calls run alone
  std::atomic<int> sleepers = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::thread> threads;  // grows only; touched by the owner alone

  ~ThreadPool() {
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  void grow(int workers);
  void run(int64_t count, int wanted, const FunctionRef<void(int64_t)>& call);
  int64_t do_parts(int number);
  void worker(int number);
  void spin_for_work(int number, uint64_t& seen);
};

void ThreadPool::grow(int workers) {
  while (static_cast<int>(threads.size()) < workers) {
    try {
      const int number = static_cast<int>(threads.size()) + 1;
      threads.emplace_back([this, number] { worker(number); });
    } catch (...) {  // no thread to be had: the work is done by those there are
      return;
    }
  }
}

/// Takes parts until none is left, its own first; returns how many.
int64_t ThreadPool::do_parts(int number) {
  int64_t done = 0;
  const int wanted = threads_wanted.load(std::memory_order_relaxed);
  for (int i = 0; i < wanted; ++i) {
    Share& share = shares[static_cast<size_t>((number + i) % wanted)];
    int64_t seen = share.left.load(std::memory_order_acquire);
    while (seen > 0) {
      if (!share.left.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      (*work)(share.end - seen);
      ++done;
      seen = share.left.load(std::memory_order_acquire);
    }
  }
  return done;
}

void ThreadPool::run(int64_t count, int wanted, const FunctionRef<void(int64_t)>& call) {
  grow(wanted - 1);
  work = &call;
  finished.store(0, std::memory_order_relaxed);
  threads_wanted.store(wanted, std::memory_order_relaxed);
  int64_t end = 0;
  for (int i = 0; i < wanted; ++i) {
    Share& share = shares[static_cast<size_t>(i)];
    const int64_t size = count / wanted + (i < count % wanted);
    share.end = end += size;
    share.left.store(size, std::memory_order_release);
  }
  job.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) > 0) {
    { std::lock_guard lock(mutex); }  // a worker between its last look and its wait gets the notice
    wake.notify_all();
  }
  const int64_t others = count - do_parts(0);
  if (finished.load(std::memory_order_acquire) == others) return;
  const auto start = Clock::now();
  for (int spins = 1; finished.load(std::memory_order_acquire) != others; ++spins) {
    spin_once();
    if (spins % kSpinsPerClock == 0 && Clock::now() - start > kJoinSpinTime) std::this_thread::yield();
  }
}

/// Works on jobs as they come; returns when a millisecond passed without one, or, where no Team is left, a tenth of it.
void ThreadPool::spin_for_work(int number, uint64_t& seen) {
  auto start = Clock::now();
  for (int spins = 1;; ++spins) {
    if (const uint64_t now = job.load(std::memory_order_acquire);
        now != seen && number < threads_wanted.load(std::memory_order_relaxed)) {
      seen = now;
      const int64_t done = do_parts(number);
      if (done > 0) finished.fetch_add(done, std::memory_order_release);
      start = Clock::now();
      continue;
    }
    if (stop.load(std::memory_order_relaxed)) return;
    spin_once();
    if (spins % kSpinsPerClock != 0) continue;
    const auto idle = Clock::now() - start;
    if (idle > kSpinTime || (idle > kLingerTime && !owned.load(std::memory_order_relaxed))) return;
  }
}

void ThreadPool::worker(int number) {
  const FloatMode mode;
  uint64_t seen = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    spin_for_work(number, seen);
    std::unique_lock lock(mutex);
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    wake.wait(lock, [&] {
      return stop.load() || (job.load(std::memory_order_seq_cst) != seen && number < threads_wanted.load());
    });
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
}

namespace {

std::atomic<ThreadPool*> the_pool = nullptr;

/// Joins the workers when the program (or the shared object holding this code) ends; a run in flight on some other
/// thread then keeps its pool.
struct EndOfPool {
  ~EndOfPool() {
    ThreadPool* pool = the_pool.load();
    if (!pool || pool->owned.exchange(true)) return;
    the_pool = nullptr;
    delete pool;
  }
};

/// Takes the pool for one Team, making it at first use; null when another Team has it or there is no memory.
ThreadPool* take_pool() {
  // In a child of fork() the workers do not exist: it forgets the old pool, whose memory stays, and makes its own.
  static const bool watched = pthread_atfork(nullptr, nullptr, [] { the_pool = nullptr; }) == 0;
  if (!watched) return nullptr;
  static EndOfPool end;
  ThreadPool* pool = the_pool.load(std::memory_order_acquire);
  if (!pool) {
    ThreadPool* made = new (std::nothrow) ThreadPool;
    if (!made) return nullptr;
    if (the_pool.compare_exchange_strong(pool, made)) {
      pool = made;
    } else {
      delete made;
    }
  }
  return pool->owned.exchange(true, std::memory_order_acq_rel) ? nullptr : pool;
}

}  // namespace

Team::Team(int threads) {
  const int wanted = std::clamp(threads > 0 ? threads : usable_threads(), 1, kMaxThreads);
  if (wanted == 1) return;
  pool_ = take_pool();
  if (pool_) size_ = wanted;
}

Team::~Team() {
  if (pool_) pool_->owned.store(false, std::memory_order_release);
}

void Team::run_all(int64_t parts, FunctionRef<void(int64_t part)> work) {
  // After fork() the child's Team still points to the parent's pool, which has no workers there.
  const bool shared = pool_ && parts > 1 && pool_ == the_pool.load(std::memory_order_relaxed) &&
                      !pool_->running.exchange(true, std::memory_order_acquire);
  if (!shared) {
    for (int64_t part = 0; part < parts; ++part) work(part);
    return;
  }
  pool_->run(parts, static_cast<int>(std::min<int64_t>(size_, parts)), work);
  pool_->running.store(false, std::memory_order_release);
}

}  // namespace nnex

#endif

namespace nnex {

void Team::run(int64_t parts, FunctionRef<void(int64_t part)> work) {
  if (const Interrupt* interrupt = Interrupt::current()) {
    const auto stop = [interrupt] { return interrupt->stop(); };
    run_all(parts, [&](int64_t part) {
      if (stop()) return;
      const Interrupt of_this_thread(stop);  // a part may be long, and a worker has none of its own
      work(part);
    });
  } else {
    run_all(parts, work);
  }
}

}  // namespace nnex
