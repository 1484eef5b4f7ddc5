// Several threads on the objects of two WebNN contexts, each with a list of calls drawn from the bytes: writes,
// dispatches, reads, tensors and graphs made, destroyed and shared, contexts destroyed under all of them. Nothing may
// crash, hang or read freed memory, every future must be settled, and no tensor may be read half as one call left it
// and half as another.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "nnex/webnn.h"

namespace {

using namespace nnex::ml;

constexpr uint32_t kElements = 64;
constexpr size_t kThreads = 3, kContexts = 2, kTensors = 4;
const OperandDescriptor kFloats = {DataType::float32, {kElements}};

/// Bytes as a source of choices; zeros at the end.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : rest_(bytes) {}
  bool more() const { return !rest_.empty(); }
  size_t below(size_t n) {
    if (rest_.empty()) return 0;
    const size_t chosen = rest_[0] % n;
    rest_ = rest_.subspan(1);
    return chosen;
  }

 private:
  std::span<const uint8_t> rest_;
};

/// What the threads share: they only read these handles.
struct Shared {
  Context context;
  std::array<Tensor, kTensors> tensors;
  Graph graph;  ///< y = x + 1
};

Graph plus_one(const Context& context) {
  auto builder = GraphBuilder::create(context);
  if (!builder.ok()) return {};
  auto x = builder->input("x", kFloats);
  auto one = builder->constant(DataType::float32, 1.0);
  if (!x.ok() || !one.ok()) return {};
  auto y = builder->add(*x, *one);
  if (!y.ok()) return {};
  auto graph = builder->build({{"y", *y}}).get();
  return graph.ok() ? *graph : Graph();
}

Tensor fresh_tensor(const Context& context) {
  auto tensor = context.createTensor({DataType::float32, {kElements}, true, true}).get();
  return tensor.ok() ? *tensor : Tensor();
}

/// Every write and every dispatch makes all elements one number.
void expect_whole(const std::vector<std::byte>& bytes) {
  if (bytes.size() != kElements * sizeof(float)) std::abort();
  for (size_t i = sizeof(float); i < bytes.size(); i += sizeof(float))
    if (std::memcmp(bytes.data(), bytes.data() + i, sizeof(float)) != 0) std::abort();
}

class Caller {
 public:
  Caller(Choices choices, const std::array<Shared, kContexts>& shared) : c_(choices), shared_(shared) {}

  void run() {
    while (c_.more()) call();
    for (auto& read : reads_)
      if (const auto bytes = read.get(); bytes.ok()) expect_whole(*bytes);
  }

 private:
  const Tensor& tensor(const Shared& s) {
    const size_t n = c_.below(kTensors + 1);
    return n < kTensors ? s.tensors[n] : own_;
  }

  void call() {
    const Shared& s = shared_[c_.below(kContexts)];
    switch (c_.below(16)) {
      case 0:
        return destroy(tensor(s));
      case 1:
        if (c_.below(4) == 0) s.context.destroy();
        return;
      case 2:
        if (c_.below(4) == 0) s.graph.destroy();
        return;
      case 3:
        own_ = fresh_tensor(s.context);
        return;
      case 4:
        if (Graph g = plus_one(s.context); !g.empty()) own_graph_ = std::move(g);
        return;
      case 5:
      case 6:
      case 7:
        return write(s);
      case 8:
      case 9:
      case 10:
        return read(s);
      default:
        return dispatch(s);
    }
  }

  static void destroy(const Tensor& t) {
    if (!t.empty()) t.destroy();
  }

  void write(const Shared& s) {
    const Tensor& to = tensor(s);
    if (to.empty()) return;
    const std::vector<float> values(kElements, static_cast<float>(c_.below(256)));
    (void)s.context.writeTensor(to, values);
  }

  void read(const Shared& s) {
    const Tensor& from = tensor(s);
    if (from.empty()) return;
    auto bytes = s.context.readTensor(from);
    if (c_.below(2) == 0) {
      reads_.push_back(std::move(bytes));
    } else if (const auto now = bytes.get(); now.ok()) {
      expect_whole(*now);
    }
  }

  void dispatch(const Shared& s) {
    const Tensor &x = tensor(s), &y = tensor(s);
    const Graph& graph = c_.below(4) == 0 && !own_graph_.empty() ? own_graph_ : s.graph;
    if (!x.empty() && !y.empty()) (void)s.context.dispatch(graph, {{"x", x}}, {{"y", y}});
  }

  Choices c_;
  const std::array<Shared, kContexts>& shared_;
  Tensor own_;
  Graph own_graph_;
  std::vector<Future<std::vector<std::byte>>> reads_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::array<Shared, kContexts> shared;
  for (Shared& s : shared) {
    Environment environment;
    environment.threads = size % 2 == 0 ? 1 : 2;
    const auto context = createContext({}, environment).get();
    if (!context.ok()) std::abort();
    s.context = *context, s.graph = plus_one(*context);
    for (Tensor& t : s.tensors) t = fresh_tensor(*context);
    if (s.graph.empty() || s.tensors[0].empty()) std::abort();
  }
  const std::span<const uint8_t> bytes(data, std::min<size_t>(size, 600));
  const size_t part = bytes.size() / kThreads;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { Caller(Choices(bytes.subspan(i * part, part)), shared).run(); });
  for (std::thread& t : threads) t.join();
  return 0;
}
