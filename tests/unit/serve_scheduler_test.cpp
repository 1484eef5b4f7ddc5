// Scheduling without sockets: batches, deadlines, cancelled requests, the bounds of queue and memory.

#include <gtest/gtest.h>

#include <cstring>
#include <future>

#include "nnex/elements.h"
#include "serve/batching.h"
#include "serve/budget.h"
#include "serve/scheduler.h"

namespace nnex::serve {
namespace {

using namespace std::chrono_literals;

/// Holds runs until it is opened, and counts those that have begun.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  int begun = 0;

  void set(bool to) {
    {
      const std::lock_guard lock(mutex);
      open = to;
    }
    changed.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex);
    ++begun;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
  }
  void wait_for(int runs) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun >= runs; });
  }
};

/// y = x + x through a gate, of f32[N,2]; a row that begins with -1 is a fault.
Model doubling(const std::shared_ptr<Gate>& gate) {
  CustomOperator op;
  op.domain = "test";
  op.name = "Gate";
  op.infer = [](const CustomInfer& i) -> Result<std::vector<TypeInfo>> { return std::vector{i.inputs[0]}; };
  op.run = [gate](CustomRun& run) -> Status {
    gate->pass();
    const Tensor& x = *run.tensor(0);
    for (int64_t i = 0; i < x.count(); i += 2)
      if (x.as<float>()[static_cast<size_t>(i)] == -1) return Error(Code::fault, "-1");
    auto out = run.output(0, x.dtype(), x.shape());
    if (!out.ok()) return std::move(out).error();
    std::memcpy((*out)->mutable_data(), x.data(), static_cast<size_t>(x.bytes()));
    return {};
  };
  LoadOptions options;
  EXPECT_TRUE(options.custom_operators.add(std::move(op)).ok());
  Graph graph;
  const ValueId x = graph.add_input("x", "f32[N,2]").value();
  const NodeId held = graph.add_node("test:Gate", {x}).value();
  const ValueId through = graph.node(held)->outputs[0];
  EXPECT_TRUE(graph.infer(options.custom_operators).ok());
  const ValueId y = graph.add("add", {through, through}).value();
  EXPECT_TRUE(graph.set_outputs({{"y", y}}).ok());
  return Model::compile(std::move(graph), options).value();
}

std::vector<Value> row(float x) { return {Tensor::of<float>({1, 2}, {x, -x})}; }

/// A request and the future of its outcome.
struct Asked {
  std::shared_ptr<Work> work = std::make_shared<Work>();
  std::future<Outcome> outcome;

  explicit Asked(std::vector<Value> inputs) {
    work->inputs = std::move(inputs);
    auto promise = std::make_shared<std::promise<Outcome>>();
    outcome = promise->get_future();
    work->done = [promise](Outcome o) { promise->set_value(std::move(o)); };
  }
};

float first(const Outcome& o) { return (*o.results)[0].tensor()->as<float>()[0]; }

struct ServeScheduler : testing::Test {
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  Model model = doubling(gate);
  std::shared_ptr<ModelMetrics> metrics = std::make_shared<ModelMetrics>("m", "1");
  SchedulerOptions options;

  ServeScheduler() { options.threads = 1; }
};

TEST_F(ServeScheduler, WhatWaitsRunsTogetherWithItsOwnAnswers) {
  options.max_batch = 4;
  Scheduler scheduler(model, options, metrics);
  gate->set(false);
  Asked held(row(100));
  ASSERT_EQ(scheduler.submit(held.work), Admission::taken);
  gate->wait_for(1);
  std::vector<Asked> asked;
  for (int i = 0; i < 6; ++i) {
    asked.emplace_back(row(static_cast<float>(i)));
    ASSERT_EQ(scheduler.submit(asked.back().work), Admission::taken);
  }
  EXPECT_EQ(metrics->waiting, 6);
  gate->set(true);
  EXPECT_EQ(first(held.outcome.get()), 200);
  for (int i = 0; i < 6; ++i) {
    const Outcome o = asked[static_cast<size_t>(i)].outcome.get();
    ASSERT_TRUE(o.results.ok());
    EXPECT_EQ((*o.results)[0].tensor()->shape(), (Shape{1, 2}));
    EXPECT_EQ(first(o), static_cast<float>(2 * i));
    EXPECT_EQ(o.batch_rows, i < 4 ? 4 : 2);
  }
  EXPECT_EQ(gate->begun, 3);
  EXPECT_EQ(metrics->waiting, 0);
  EXPECT_EQ(metrics->in_flight, 0);
}

TEST_F(ServeScheduler, AFaultIsItsOwnersAlone) {
  options.max_batch = 4;
  Scheduler scheduler(model, options, metrics);
  gate->set(false);
  Asked held(row(1));
  scheduler.submit(held.work);
  gate->wait_for(1);
  Asked good(row(5)), bad(row(-1)), other(row(6));
  for (Asked* a : {&good, &bad, &other}) scheduler.submit(a->work);
  gate->set(true);
  EXPECT_EQ(first(good.outcome.get()), 10);
  EXPECT_EQ(bad.outcome.get().results.error().code(), Code::fault);
  EXPECT_EQ(first(other.outcome.get()), 12);
}

TEST_F(ServeScheduler, WhatHasNoRowsRunsTogether) {
  options.max_batch = 4;
  Scheduler scheduler(model, options, metrics);
  gate->set(false);
  Asked held(row(1));
  scheduler.submit(held.work);
  gate->wait_for(1);
  const Tensor none = Tensor::of<float>({0, 2}, {});
  Asked a({none}), b({none}), larger({Tensor::of<float>({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})});
  for (Asked* each : {&a, &b, &larger}) scheduler.submit(each->work);
  gate->set(true);
  for (Asked* each : {&a, &b}) {
    const Outcome o = each->outcome.get();
    ASSERT_TRUE(o.results.ok());
    EXPECT_EQ((*o.results)[0].tensor()->shape(), (Shape{0, 2}));
  }
  EXPECT_EQ(first(larger.outcome.get()), 2);
  EXPECT_EQ(gate->begun, 3);  // those without rows had one run
}

TEST_F(ServeScheduler, TheDelayGathersAndHasAnEnd) {
  options.max_batch = 3;
  options.delay = 10s;
  options.instances = 2;
  Scheduler scheduler(model, options, metrics);
  Asked a(row(1)), b(row(2)), c(row(3));
  for (Asked* each : {&a, &b, &c}) {
    scheduler.submit(each->work);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(a.outcome.get().batch_rows, 3);  // complete: nobody waits for the rest of the ten seconds
  EXPECT_EQ(b.outcome.get().batch_rows, 3);
  EXPECT_EQ(c.outcome.get().batch_rows, 3);
  options.delay = 20ms;
  Scheduler brief(model, options, metrics);
  Asked alone(row(4));
  brief.submit(alone.work);
  const Outcome o = alone.outcome.get();
  EXPECT_EQ(o.batch_rows, 1);
  EXPECT_GE(o.queued, 19ms);  // what the clock wakes too late is left out
}

TEST_F(ServeScheduler, TheQueueHasABound) {
  options.queue = 2;
  Scheduler scheduler(model, options, metrics);
  gate->set(false);
  Asked running(row(1)), a(row(2)), b(row(3)), c(row(4));
  scheduler.submit(running.work);
  gate->wait_for(1);
  EXPECT_EQ(scheduler.submit(a.work), Admission::taken);
  EXPECT_EQ(scheduler.submit(b.work), Admission::taken);
  EXPECT_EQ(scheduler.submit(c.work), Admission::full);
  gate->set(true);
  EXPECT_EQ(first(b.outcome.get()), 6);
}

TEST_F(ServeScheduler, WhoseTimeIsOverIsAnsweredWhileOthersRun) {
  Scheduler scheduler(model, options, metrics);
  gate->set(false);
  Asked running(row(1)), late(row(2));
  scheduler.submit(running.work);
  gate->wait_for(1);
  late.work->deadline = Clock::now() + 20ms;
  scheduler.submit(late.work);
  ASSERT_EQ(late.outcome.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(late.outcome.get().results.error().code(), Code::cancelled);
  EXPECT_EQ(metrics->waiting, 0);
  gate->set(true);
  EXPECT_EQ(first(running.outcome.get()), 2);
  EXPECT_EQ(gate->begun, 1);
}

TEST_F(ServeScheduler, WhatNobodyWaitsForLeavesTheQueueOrStops) {
  Scheduler scheduler(model, options, metrics);
  gate->set(false);
  Asked running(row(1)), waiting(row(2));
  scheduler.submit(running.work);
  gate->wait_for(1);
  scheduler.submit(waiting.work);
  scheduler.cancel(waiting.work);
  scheduler.cancel(waiting.work);
  EXPECT_EQ(waiting.outcome.get().results.error().code(), Code::cancelled);
  scheduler.cancel(running.work);
  gate->set(true);
  EXPECT_EQ(running.outcome.get().results.error().code(), Code::cancelled);  // stopped between two nodes
  EXPECT_EQ(gate->begun, 1);
}

/// Runs requests until the scheduler knows that they are brief and takes them on the caller's thread.
bool run_until_brief(Scheduler& scheduler) {
  for (const auto end = Clock::now() + 20s; Clock::now() < end;) {
    Asked asked(row(1));
    if (scheduler.run_now(asked.work)) return first(asked.outcome.get()) == 2;
    scheduler.submit(asked.work);
    asked.outcome.wait();
  }
  return false;
}

TEST_F(ServeScheduler, BriefRunsAreTheCallersOwn) {
  options.brief = 10s;  // however slow the machine is
  Scheduler scheduler(model, options, metrics);
  Asked early(row(3));
  EXPECT_FALSE(scheduler.run_now(early.work));
  ASSERT_TRUE(run_until_brief(scheduler));
  EXPECT_EQ(metrics->in_flight, 0);
  // Other shapes are not known to be brief.
  Asked wide({Tensor::of<float>({2, 2}, {1, 2, 3, 4})});
  EXPECT_FALSE(scheduler.run_now(wide.work));
  // One that waits is before it.
  ASSERT_TRUE(run_until_brief(scheduler));
  gate->set(false);
  Asked held(row(5)), other(row(6));
  const int begun = gate->begun;
  scheduler.submit(held.work);
  gate->wait_for(begun + 1);
  EXPECT_FALSE(scheduler.run_now(other.work));
  gate->set(true);
  EXPECT_EQ(first(held.outcome.get()), 10);
  EXPECT_EQ(metrics->in_flight, 0);
}

TEST_F(ServeScheduler, ARunThatIsLongAfterAllIsDoneByAnInstance) {
  options.brief = 10s;  // however slow the machine is
  Scheduler scheduler(model, options, metrics);
  ASSERT_TRUE(run_until_brief(scheduler));
  gate->set(false);
  const int begun = gate->begun;
  std::thread opens([&] {
    gate->wait_for(begun + 1);
    std::this_thread::sleep_for(50ms);
    gate->set(true);
  });
  Asked asked(row(7));
  EXPECT_FALSE(scheduler.run_now(asked.work));
  opens.join();
  EXPECT_EQ(metrics->in_flight, 0);
  ASSERT_EQ(scheduler.submit(asked.work), Admission::taken);
  EXPECT_EQ(first(asked.outcome.get()), 14);
  Asked again(row(8));
  EXPECT_FALSE(scheduler.run_now(again.work));  // until runs have been brief again
  // Closing waits for what a caller runs.
  ASSERT_TRUE(run_until_brief(scheduler));
  gate->set(false);
  const int before = gate->begun;
  Asked last(row(9));
  std::thread runs([&] { scheduler.run_now(last.work); });
  gate->wait_for(before + 1);
  std::atomic<bool> closed = false;
  std::thread closes([&] {
    scheduler.close();
    closed = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(closed);
  gate->set(true);
  runs.join();
  closes.join();
}

TEST_F(ServeScheduler, ClosingAnswersWhatWasTaken) {
  auto scheduler = std::make_unique<Scheduler>(model, options, metrics);
  std::vector<Asked> asked;
  for (int i = 0; i < 20; ++i) {
    asked.emplace_back(row(static_cast<float>(i)));
    ASSERT_EQ(scheduler->submit(asked.back().work), Admission::taken);
  }
  scheduler->close();
  Asked after(row(1));
  EXPECT_EQ(scheduler->submit(after.work), Admission::closed);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(first(asked[static_cast<size_t>(i)].outcome.get()), static_cast<float>(2 * i));
}

/// A network of one operator over f32[N,2].
Model of_one(std::string_view op, const Attributes& attributes, std::string_view type = "f32[N,2]") {
  Graph graph;
  const ValueId x = graph.add_input("x", type).value();
  EXPECT_TRUE(graph.set_outputs({{"y", graph.add(op, {x}, attributes).value()}}).ok());
  return Model::compile(std::move(graph)).value();
}

TEST(ServeBatching, OnlyWhereRowsAreIndependent) {
  SessionOptions session;
  session.threads = 1;
  const auto axes = [](int64_t axis) { return Attributes{{"axes", std::vector<int64_t>{axis}}}; };
  EXPECT_EQ(why_not_batched(of_one("relu", {}), session), "");
  EXPECT_EQ(why_not_batched(of_one("softmax", axes(1)), session), "");
  EXPECT_EQ(why_not_batched(of_one("softmax", axes(0)), session),
            "node 'y' (softmax) works along the rows of f32[N,2]");
  EXPECT_NE(why_not_batched(of_one("relu", {}, "f32[3,2]"), session), "");
  EXPECT_NE(why_not_batched(of_one("relu", {}, "f32[N,N]"), session), "");
}

TEST(ServeBudget, HasABound) {
  Budget budget(100);
  Lease a(budget), b(budget);
  EXPECT_TRUE(a.resize(60));
  EXPECT_FALSE(b.resize(41));
  EXPECT_TRUE(b.resize(40));
  EXPECT_TRUE(a.resize(10));
  b.force(500);
  EXPECT_FALSE(a.resize(11));
  { const Lease taken = std::move(b); }
  EXPECT_EQ(budget.used(), 10);
}

}  // namespace
}  // namespace nnex::serve
