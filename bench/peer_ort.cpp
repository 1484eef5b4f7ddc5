// Times one ONNX model under ONNX Runtime and prints one line of JSON with the fields of `nnex bench --json`.
//
//     PEER_ORT=FOLDER peer_ort [--threads N] [--seconds S] [--level 0|1|2|99] [--save FOLDER] MODEL.onnx
//
// peer.h opens the peer. Inputs are those stored beside the model (test_data_set_0/input_I.pb), else
// normal random numbers from a fixed seed. One process times one model, so that peak memory belongs to that model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peer.h"

namespace {

[[noreturn]] void fail(std::string_view why) {
  fmt::print(stderr, "peer_ort: {}\n", why);
  std::exit(2);
}

/// Every call ends the program with the peer's own message when the peer refuses.
class Peer {
 public:
  explicit Peer(std::string missing = {}) : library_(missing) {
    if (!missing.empty()) fail(missing);
    (*this)(Call::create_env, 3, "peer_ort", &environment_);  // 3: errors alone are logged
  }

  template <class... Args>
  void operator()(Call place, Args... args) const {
    if (void* status = library_.call(place, args...)) fail(library_.message(status));
  }

  void release(Call place, void* object) const { library_.release(place, object); }
  std::string_view version() const { return library_.version(); }
  void* environment() const { return environment_; }

 private:
  PeerLibrary library_;
  void* environment_ = nullptr;
};

// ---- Stored tensors ----------------------------------------------------------------------------------------------

/// A TensorProto of plain numbers: `type` counts as both ONNX and the peer count (1 = float, 7 = int64, ...).
struct Stored {
  std::string name;
  int type = 0;
  std::vector<int64_t> extents;
  std::string bytes;
};

/// Bytes an element takes in memory; 0 for strings and for types packed more densely than a byte.
size_t element_size(int type) {
  constexpr uint8_t kSizes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2};
  return type >= 0 && size_t(type) < std::size(kSizes) ? kSizes[type] : 0;
}

size_t count(std::span<const int64_t> extents) {
  size_t n = 1;
  for (int64_t extent : extents) n *= size_t(extent);
  return n;
}

/// Takes fields off the front of a protobuf message. A malformed file ends the program: these are our own files.
class Wire {
 public:
  explicit Wire(std::string_view message) : rest_(message) {}
  bool empty() const { return rest_.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = uint8_t(take(1)[0]);
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128) return value;
    }
    fail("a number of a stored tensor is longer than ten bytes");
  }

  std::string_view take(uint64_t n) {
    if (n > rest_.size()) fail("a stored tensor ends early");
    const std::string_view front = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return front;
  }

 private:
  std::string_view rest_;
};

/// One number or a packed list of them, appended to `out`.
void append_varints(uint64_t wire_type, Wire& from, std::vector<uint64_t>& out) {
  if (wire_type == 0) return out.push_back(from.varint());
  Wire list(from.take(from.varint()));
  while (!list.empty()) out.push_back(list.varint());
}

Stored parse_tensor(std::string_view message) {
  Stored tensor;
  std::vector<uint64_t> extents, numbers;
  for (Wire wire(message); !wire.empty();) {
    const uint64_t key = wire.varint(), field = key >> 3, wire_type = key & 7;
    if (field == 1) {
      append_varints(wire_type, wire, extents);
    } else if (field == 5 || field == 7 || field == 11) {  // int32_data, int64_data, uint64_data
      append_varints(wire_type, wire, numbers);
    } else if (wire_type == 0) {
      const uint64_t value = wire.varint();
      if (field == 2) tensor.type = int(value);
    } else {
      const std::string_view bytes = wire.take(wire_type == 2 ? wire.varint() : wire_type == 5 ? 4 : 8);
      if (field == 8) tensor.name = bytes;
      if (field == 4 || field == 9 || field == 10) tensor.bytes += bytes;  // float_data, raw_data, double_data
    }
  }
  tensor.extents.assign(extents.begin(), extents.end());
  for (uint64_t number : numbers)
    tensor.bytes.append(reinterpret_cast<const char*>(&number), element_size(tensor.type));
  if (tensor.bytes.size() != count(tensor.extents) * element_size(tensor.type)) {
    fail(fmt::format("stored tensor '{}' holds {} bytes, not what its type and extents need", tensor.name,
                     tensor.bytes.size()));
  }
  return tensor;
}

std::optional<Stored> read_tensor(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return parse_tensor(std::string(std::istreambuf_iterator<char>(file), {}));
}

void append_varint(std::string& to, uint64_t value) {
  for (; value >= 128; value >>= 7) to += char(value | 128);
  to += char(value);
}

void write_tensor(const std::filesystem::path& path, const Stored& tensor) {
  std::string out;
  auto number = [&](uint64_t field, uint64_t value) {
    append_varint(out, field << 3);
    append_varint(out, value);
  };
  auto bytes = [&](uint64_t field, std::string_view data) {
    append_varint(out, field << 3 | 2);
    append_varint(out, data.size());
    out += data;
  };
  for (int64_t extent : tensor.extents) number(1, uint64_t(extent));
  number(2, uint64_t(tensor.type));
  bytes(8, tensor.name);
  bytes(9, tensor.bytes);
  if (!std::ofstream(path, std::ios::binary).write(out.data(), std::streamsize(out.size()))) {
    fail("cannot write " + path.string());
  }
}

/// The bytes at an address that kernels like, as `nnex bench` has them: neither engine's runs pay for where a file's
/// tensors happen to lie.
std::shared_ptr<void> aligned(std::string_view bytes) {
  constexpr size_t kAlignment = 64;
  std::shared_ptr<void> memory(std::aligned_alloc(kAlignment, (bytes.size() / kAlignment + 1) * kAlignment), std::free);
  if (!memory) fail("out of memory");
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  return memory;
}

// ---- One model ---------------------------------------------------------------------------------------------------

struct Options {
  int threads = 1;
  double seconds = 1;
  int level = 99;  // every optimisation the peer knows
  std::string save;
  std::string model;
};

/// A loaded model, its inputs and the names of its outputs.
class Network {
 public:
  Network(const Peer& peer, const Options& options) : peer_(peer), model_(options.model) {
    void* settings = nullptr;
    peer_(Call::create_session_options, &settings);
    peer_(Call::set_intra_op_threads, settings, options.threads);
    peer_(Call::set_inter_op_threads, settings, 1);
    peer_(Call::set_graph_optimization_level, settings, options.level);
    peer_(Call::create_session, peer.environment(), options.model.c_str(), settings, &session_);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network() {
    for (void* value : inputs_) peer_.release(Call::release_value, value);
    peer_.release(Call::release_session, session_);
  }

  void make_inputs() {
    void *allocator = nullptr, *memory = nullptr;
    peer_(Call::default_allocator, &allocator);
    peer_(Call::create_cpu_memory_info, 0, 0, &memory);
    size_t inputs = 0, outputs = 0;
    peer_(Call::input_count, session_, &inputs);
    peer_(Call::output_count, session_, &outputs);
    for (size_t i = 0; i < inputs; ++i) {
      char* name = nullptr;
      peer_(Call::input_name, session_, i, allocator, &name);
      input_names_.push_back(name);
      const Stored t = input(i, name);
      void* data = memory_.emplace_back(aligned(t.bytes)).get();
      peer_(Call::create_tensor_with_data, memory, data, t.bytes.size(), t.extents.data(), t.extents.size(), t.type,
            &inputs_.emplace_back(nullptr));
    }
    for (size_t i = 0; i < outputs; ++i) {
      peer_(Call::output_name, session_, i, allocator, &output_names_.emplace_back(nullptr));
    }
  }

  /// One inference; the caller releases the values.
  std::vector<void*> run() const {
    std::vector<void*> outputs(output_names_.size(), nullptr);
    peer_(Call::run, session_, nullptr, input_names_.data(), inputs_.data(), inputs_.size(), output_names_.data(),
          outputs.size(), outputs.data());
    return outputs;
  }

  void run_and_release() const {
    for (void* value : run()) peer_.release(Call::release_value, value);
  }

  /// Runs once and writes every output that is a tensor of numbers as FOLDER/output_I.pb.
  void save_outputs(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    const std::vector<void*> outputs = run();
    for (size_t i = 0; i < outputs.size(); ++i) {
      void* info = nullptr;
      char* data = nullptr;
      peer_(Call::tensor_type_and_shape, outputs[i], &info);
      Stored tensor = describe(info);
      tensor.name = output_names_[i];
      peer_(Call::tensor_data, outputs[i], &data);
      tensor.bytes.assign(data, count(tensor.extents) * element_size(tensor.type));
      write_tensor(folder / fmt::format("output_{}.pb", i), tensor);
      peer_.release(Call::release_value, outputs[i]);
    }
  }

 private:
  /// Type and extents; an extent that the model leaves open is below 0.
  Stored describe(const void* info) const {
    Stored tensor;
    size_t rank = 0;
    peer_(Call::rank, info, &rank);
    tensor.extents.resize(rank);
    peer_(Call::extents, info, tensor.extents.data(), rank);
    peer_(Call::element_type, info, &tensor.type);
    return tensor;
  }

  Stored input(size_t index, std::string_view name) const {
    void *type = nullptr, *info = nullptr;
    peer_(Call::input_type, session_, index, &type);
    peer_(Call::type_as_tensor, type, &info);
    if (!info) fail(fmt::format("input '{}' is not a tensor", name));
    Stored wanted = describe(info);
    if (element_size(wanted.type) == 0)
      fail(fmt::format("input '{}' has element type {}, which has no random data", name, wanted.type));
    const auto file =
        std::filesystem::path(model_).parent_path() / "test_data_set_0" / fmt::format("input_{}.pb", index);
    if (auto stored = read_tensor(file)) {
      if (stored->type == wanted.type) return std::move(*stored);
      fail(fmt::format("{} has element type {}; input '{}' takes {}", file.string(), stored->type, name, wanted.type));
    }
    for (int64_t& extent : wanted.extents) extent = std::max<int64_t>(extent, 1);
    fill(wanted);
    return wanted;
  }

  /// Floats from a normal distribution; integers (indices, lengths) stay 0, which is the one value always in range.
  static void fill(Stored& tensor) {
    tensor.bytes.resize(count(tensor.extents) * element_size(tensor.type));
    if (tensor.type != 1) return;
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < tensor.bytes.size(); i += 4) {
      const float value = normal(random);
      std::memcpy(&tensor.bytes[i], &value, 4);
    }
  }

  const Peer& peer_;
  std::string model_;
  void* session_ = nullptr;
  std::vector<std::shared_ptr<void>> memory_;  // the peer's tensors lie there
  std::vector<void*> inputs_;
  std::vector<char*> input_names_, output_names_;
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The process's largest resident size so far, in MiB.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

nlohmann::ordered_json measure(const Peer& peer, const Options& options) {
  double start = now_ms();
  Network network(peer, options);
  const double load = now_ms() - start;
  network.make_inputs();
  start = now_ms();
  network.run_and_release();
  const double first = now_ms() - start;
  // As `nnex bench` does, warm up until three runs in a row were no faster than the best before them.
  double best = first;
  for (int calm = 0, runs = 0; calm < 3 && runs < 50 && now_ms() - start < options.seconds * 500; ++runs) {
    const double begin = now_ms();
    network.run_and_release();
    const double ms = now_ms() - begin;
    calm = ms < best * 0.98 ? 0 : calm + 1;
    best = std::min(best, ms);
  }
  std::vector<double> times;
  const double end = now_ms() + options.seconds * 1000;
  while (times.size() < 5 || now_ms() < end) {
    start = now_ms();
    network.run_and_release();
    times.push_back(now_ms() - start);
  }
  const double peak = peak_memory();
  if (!options.save.empty()) network.save_outputs(options.save);
  std::sort(times.begin(), times.end());
  return {{"engine", fmt::format("onnxruntime {}", peer.version())},
          {"model", options.model},
          {"threads", options.threads},
          {"runs", times.size()},
          {"median_ms", times[times.size() / 2]},
          {"min_ms", times.front()},
          {"p90_ms", times[times.size() * 9 / 10]},
          {"load_ms", load},
          {"first_ms", first},
          {"peak_rss_mb", peak}};
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : (fail(fmt::format("{} needs a value", word)), nullptr); };
    if (word == "--threads")
      options.threads = std::atoi(value());
    else if (word == "--seconds")
      options.seconds = std::atof(value());
    else if (word == "--level")
      options.level = std::atoi(value());
    else if (word == "--save")
      options.save = value();
    else if (word.substr(0, 2) == "--" || !options.model.empty())
      fail(fmt::format("'{}' is one word too many", word));
    else
      options.model = word;
  }
  if (options.model.empty() || options.threads < 1) {
    fail("usage: peer_ort [--threads N] [--seconds S] [--level 0|1|2|99] [--save FOLDER] MODEL.onnx");
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const double start = now_ms();
  const Peer peer;
  const double library = now_ms() - start;
  auto report = measure(peer, options);
  report["library_ms"] = library;  // opening the library, once a process; not part of load_ms
  fmt::print("{}\n", report.dump());
  std::fflush(stdout);
  std::_Exit(0);  // the peer's own teardown is not measured
}
