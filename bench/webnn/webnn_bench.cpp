// webnn_bench PROGRAM.webnn...: what a program of WebNN's API waits for: build(), the first inference, the others.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "webnn/program_file.h"

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
    in[name] = *context.createTensor({d, false, true}).get();
    const size_t bytes = static_cast<size_t>(ml::byte_length(d.dataType, d.shape));
    std::vector<float> values(bytes / sizeof(float), 0.25F);
    if (d.dataType == ml::DataType::float32) (void)context.writeTensor(in[name], values).ok();
  }
  for (const auto& [name, d] : graph->outputs()) out[name] = *context.createTensor({d, true, false}).get();
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

}  // namespace

int main(int argc, char** argv) {
  int failed = 0;
  for (int i = 1; i < argc; ++i) failed |= bench(argv[i]);
  return failed;
}
