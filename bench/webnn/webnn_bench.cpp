// webnn_bench PROGRAM.webnn...: what a program of WebNN's API waits for: build(), the first inference, the others; then
// what a dispatch costs by itself.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "standards/webnn/program_file.h"

namespace {

using namespace nnex;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

int bench(const std::string& path) {
  auto program = ml::load_program(path);
  if (!program.ok()) {
    fmt::print(stderr, "{}\n", program.error().text());
    return 1;
  }
  const ml::Context context = *ml::createContext().get();
  ml::GraphBuilder builder = *ml::GraphBuilder::create(context);
  ml::Player player(builder);
  const auto outputs = ml::play(player, *program);
  if (!outputs.ok()) {
    fmt::print(stderr, "{}: {}\n", path, outputs.error().text());
    return 1;
  }
  const auto began = Clock::now();
  const auto graph = builder.build(*outputs).get();
  const double build = ms_since(began);
  if (!graph.ok()) {
    fmt::print(stderr, "{}: {}\n", path, graph.error().text());
    return 1;
  }
  ml::NamedTensors in, out;
  for (const auto& [name, d] : graph->inputs()) {
    in[name] = *context.createTensor(d, {.writable = true}).get();
    const size_t bytes = static_cast<size_t>(ml::byte_length(d.dataType, d.shape));
    std::vector<float> values(bytes / sizeof(float), 0.25F);
    if (d.dataType == ml::DataType::float32) (void)context.writeTensor(in[name], values).ok();
  }
  for (const auto& [name, d] : graph->outputs()) out[name] = *context.createTensor(d, {.readable = true}).get();
  const auto once = [&] {
    const auto start = Clock::now();
    (void)context.dispatch(*graph, in, out).ok();
    (void)context.readTensor(out.begin()->second).get().ok();
    return ms_since(start);
  };
  const double first = once();
  std::vector<double> times;
  for (const auto start = Clock::now(); times.size() < 5 || ms_since(start) < 1000;) times.push_back(once());
  std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2), times.end());
  const size_t slash = path.rfind('/');
  fmt::print("{:<28} build {:8.2f} ms   first {:8.3f} ms   then {:8.3f} ms ({} times)\n",
             slash == std::string::npos ? path : path.substr(slash + 1), build, first, times[times.size() / 2],
             times.size());
  return 0;
}

/// Dispatches of an addition of one number: a thousand queued, then one at a time with its answer awaited.
int overhead() {
  const ml::Context context = *ml::createContext().get();
  ml::GraphBuilder builder = *ml::GraphBuilder::create(context);
  const ml::OperandDescriptor one{ml::DataType::float32, {}};
  const auto x = builder.input("x", one);
  if (!x.ok()) return 1;
  const auto y = builder.add(*x, *x);
  if (!y.ok()) return 1;
  const auto graph = builder.build({{"y", *y}}).get();
  if (!graph.ok()) return 1;
  ml::NamedTensors in, out;
  in["x"] = *context.createTensor(one, {.writable = true}).get();
  out["y"] = *context.createTensor(one, {.readable = true}).get();
  const std::vector<float> number = {1};
  (void)context.writeTensor(in["x"], number).ok();
  constexpr int kQueued = 1000, kRounds = 10;
  std::vector<double> queued, awaited;
  for (int round = 0; round <= kRounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kQueued; ++i) (void)context.dispatch(*graph, in, out).ok();
    (void)context.readTensor(out["y"]).get().ok();
    if (round > 0) queued.push_back(ms_since(start) * 1000 / kQueued);
  }
  for (int i = 0; i < kQueued; ++i) {
    const auto start = Clock::now();
    (void)context.dispatch(*graph, in, out).ok();
    (void)context.readTensor(out["y"]).get().ok();
    awaited.push_back(ms_since(start) * 1000);
  }
  std::sort(queued.begin(), queued.end());
  std::sort(awaited.begin(), awaited.end());
  fmt::print("a dispatch of one addition: {:.2f} us where {} are queued, {:.2f} us with its answer awaited\n",
             queued[queued.size() / 2], kQueued, awaited[awaited.size() / 2]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int failed = overhead();
  for (int i = 1; i < argc; ++i) failed |= bench(argv[i]);
  return failed;
}
