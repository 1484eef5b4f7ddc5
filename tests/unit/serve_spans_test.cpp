// Spans without a collector: what is recorded, what a message says, and what happens when nobody takes it.

#include "serve/spans.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "shared/json.h"

namespace nnex::serve {
namespace {

using namespace std::chrono_literals;
using cli::Json;

constexpr char kParent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

RequestSpan span_of(const char* path = "/v2/models/some%20model/infer", const char* parent = kParent) {
  RequestSpan r;
  r.parent = read_traceparent(parent);
  r.method = "POST";
  r.path = path;
  r.peer = "127.0.0.1:5";
  r.status = 200;
  r.answered = Clock::now();
  r.arrived = r.answered - 5ms;
  r.submitted = r.arrived + 1ms;
  r.queued = 1ms;
  r.running = 2ms;
  r.batch_rows = 3;
  return r;
}

/// All messages that a collector is sent, which answers as `says` does.
struct Collector {
  std::mutex mutex;
  std::vector<std::string> bodies;
  std::function<Spans::Sent(int)> says = [](int) { return Spans::Sent::yes; };

  Spans::Send send() {
    return [this](const std::string& body) {
      const std::lock_guard lock(mutex);
      bodies.push_back(body);
      return says(static_cast<int>(bodies.size()));
    };
  }
  Json spans(size_t message) const {
    return Json::parse(bodies.at(message))["resourceSpans"][0]["scopeSpans"][0]["spans"];
  }
};

TEST(ServeSpans, TraceParents) {
  const auto p = read_traceparent(kParent);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(p->span_id, "00f067aa0ba902b7");
  EXPECT_TRUE(p->sampled());
  EXPECT_FALSE(read_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02")->sampled());
  for (const char* wrong : {"", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7+01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7- 1"})
    EXPECT_FALSE(read_traceparent(wrong)) << wrong;
}

TEST(ServeSpans, AMessageHasTheRequestAndItsParts) {
  Collector collector;
  Metrics metrics;
  {
    Spans spans(collector.send(), "127.0.0.1:8000", metrics, 10min);
    auto first = span_of();
    first.parent->state = "vendor=1";
    spans.add(first);
    auto second = span_of("/v2/elsewhere", "");
    second.status = 503;
    second.submitted.reset();
    spans.add(second);
    spans.add(span_of("/v2", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"));  // the caller records nothing
  }
  ASSERT_EQ(collector.bodies.size(), 1u);
  const Json spans = collector.spans(0);
  ASSERT_EQ(spans.size(), 4u);
  const Json& server = spans[0];
  EXPECT_EQ(server["name"], "POST /v2/models/{model}/infer");
  EXPECT_EQ(server["kind"], 2);
  EXPECT_EQ(server["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(server["parentSpanId"], "00f067aa0ba902b7");
  EXPECT_EQ(server["traceState"], "vendor=1");
  EXPECT_EQ(server["spanId"].get<std::string>().size(), 16u);
  EXPECT_FALSE(server.contains("status"));
  const auto time = [](const Json& span, const char* key) { return std::stoll(span[key].get<std::string>()); };
  EXPECT_EQ(time(server, "endTimeUnixNano") - time(server, "startTimeUnixNano"), 5'000'000);
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_LT(now - time(server, "endTimeUnixNano"), 60'000'000'000);
  for (const auto& [i, name, begin, end] : {std::tuple(1, "queue", 1, 2), std::tuple(2, "run", 2, 4)}) {
    const Json& part = spans[static_cast<size_t>(i)];
    EXPECT_EQ(part["name"], name);
    EXPECT_EQ(part["traceId"], server["traceId"]);
    EXPECT_EQ(part["parentSpanId"], server["spanId"]);
    EXPECT_EQ(time(part, "startTimeUnixNano") - time(server, "startTimeUnixNano"), begin * 1'000'000);
    EXPECT_EQ(time(part, "endTimeUnixNano") - time(server, "startTimeUnixNano"), end * 1'000'000);
  }
  ASSERT_TRUE(spans[2]["attributes"].is_array());
  ASSERT_EQ(spans[2]["attributes"].size(), 1u);
  EXPECT_EQ(spans[2]["attributes"][0]["key"], "nnex.batch_rows");
  const Json& alone = spans[3];
  EXPECT_EQ(alone["name"], "POST");  // a path that clients invent is no name
  EXPECT_EQ(alone["status"]["code"], 2);
  EXPECT_FALSE(alone.contains("parentSpanId"));
  EXPECT_NE(alone["traceId"], server["traceId"]);
  EXPECT_EQ(alone["traceId"].get<std::string>().size(), 32u);
  EXPECT_EQ(metrics.spans_sent, 2u);
  EXPECT_EQ(metrics.spans_dropped, 0u);
}

TEST(ServeSpans, TheQueueHasABoundAndNobodyWaits) {
  Collector collector;
  Metrics metrics;
  std::promise<void> begun, over;
  collector.says = [&](int n) {
    if (n == 1) {
      begun.set_value();
      over.get_future().wait();  // a collector that hangs
    }
    return Spans::Sent::yes;
  };
  {
    Spans spans(collector.send(), "x", metrics, 1ms);
    spans.add(span_of());
    begun.get_future().wait();
    const auto start = Clock::now();
    for (size_t i = 0; i < Spans::kQueue + 100; ++i) spans.add(span_of());
    EXPECT_LT(Clock::now() - start, 5s);
    EXPECT_EQ(metrics.spans_dropped, 100u);
    over.set_value();
  }
  EXPECT_EQ(metrics.spans_sent, Spans::kQueue + 1);
  for (size_t i = 0; i < collector.bodies.size(); ++i) EXPECT_LE(collector.spans(i).size(), 3 * Spans::kBatch);
}

TEST(ServeSpans, WhatIsNotTakenIsSentAgainThenDropped) {
  Collector collector;
  Metrics metrics;
  std::atomic<int> asked = 0;
  collector.says = [&](int n) {
    asked = n;
    return n < 3 ? Spans::Sent::later : n == 3 ? Spans::Sent::yes : n == 4 ? Spans::Sent::never : Spans::Sent::later;
  };
  const auto until = [&](auto good) {
    for (const auto end = Clock::now() + 20s; !good() && Clock::now() < end;) std::this_thread::sleep_for(1ms);
    return good();
  };
  {
    Spans spans(collector.send(), "x", metrics, 1ms);
    spans.add(span_of());
    EXPECT_TRUE(until([&] { return metrics.spans_sent == 1u; }));
    EXPECT_EQ(asked, 3);
    spans.add(span_of());
    EXPECT_TRUE(until([&] { return metrics.spans_dropped == 1u; }));
    EXPECT_EQ(asked, 4);
    spans.add(span_of());
    EXPECT_TRUE(until([&] { return metrics.spans_dropped == 2u; }));
  }
  EXPECT_EQ(asked, 9);
  EXPECT_EQ(collector.bodies[0], collector.bodies[2]);
}

TEST(ServeSpans, TheEndDoesNotWaitForACollectorThatIsAway) {
  Collector collector;
  Metrics metrics;
  collector.says = [](int) { return Spans::Sent::later; };
  const auto start = Clock::now();
  {
    Spans spans(collector.send(), "x", metrics, 10min);
    for (size_t i = 0; i < 3 * Spans::kBatch; ++i) spans.add(span_of());
  }
  EXPECT_LT(Clock::now() - start, 10s);
  EXPECT_EQ(collector.bodies.size(), 1u);
  EXPECT_EQ(metrics.spans_dropped, 3 * Spans::kBatch);
}

TEST(ServeSpans, TheEndDoesNotWaitForACollectorThatHangsOnMuch) {
  Collector collector;
  Metrics metrics;
  std::promise<void> begun, over;
  collector.says = [&](int n) {
    if (n == 1) begun.set_value(), over.get_future().wait();
    return Spans::Sent::later;
  };
  std::thread collects;
  {
    Spans spans(collector.send(), "x", metrics, 100ms);
    for (size_t i = 0; i < Spans::kQueue; ++i) spans.add(span_of());
    begun.get_future().wait();
    collects = std::thread([&] {
      std::this_thread::sleep_for(200ms);  // until the end has begun
      over.set_value();
    });
  }
  collects.join();
  EXPECT_LT(collector.bodies.size(), 4u);  // of eight and more
  EXPECT_EQ(metrics.spans_dropped, Spans::kQueue);
}

}  // namespace
}  // namespace nnex::serve
