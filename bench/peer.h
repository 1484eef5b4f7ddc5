#pragma once
// ONNX Runtime, opened at run time (bench/install_peer fetches it) and called through the table of functions that
// OrtGetApiBase()->GetApi(1) returns. Entries are only ever appended to that table, so a place in it is a stable name
// and no header of the peer is needed.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

/// Places in the table of API version 1.
enum class Call : size_t {
  get_error_code = 1,
  get_error_message = 2,
  create_env = 3,
  create_session = 7,
  create_session_from_bytes = 8,
  run = 9,
  create_session_options = 10,
  set_graph_optimization_level = 23,
  set_intra_op_threads = 24,
  set_inter_op_threads = 25,
  input_count = 30,
  output_count = 31,
  input_type = 33,
  input_name = 36,
  output_name = 37,
  create_tensor = 48,
  create_tensor_with_data = 49,
  tensor_data = 51,
  fill_strings = 52,
  string_bytes = 53,
  string_content = 54,
  type_as_tensor = 55,
  element_type = 60,
  rank = 61,
  extents = 62,
  element_count = 64,
  tensor_type_and_shape = 65,
  value_kind = 67,
  create_cpu_memory_info = 69,
  default_allocator = 78,
  release_status = 93,
  release_session = 95,
  release_value = 96,
  release_tensor_info = 99,
  release_session_options = 100,
};

/// The opened library.
class PeerLibrary {
 public:
  /// Opens the library that PEER_ORT names. When that fails, says why in `missing` and opens nothing.
  explicit PeerLibrary(std::string& missing) {
    const char* folder = std::getenv("PEER_ORT");
    if (!folder) {
      missing = "PEER_ORT must name the folder in which bench/install_peer put the peer";
      return;
    }
    const std::string path =
        std::string(folder) + "/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1";
    void* opened = dlopen(path.c_str(), RTLD_NOW);
    if (!opened) {
      missing = dlerror();
      return;
    }
    auto base = reinterpret_cast<const ApiBase* (*)()>(dlsym(opened, "OrtGetApiBase"));
    if (!base) {
      missing = path + " has no OrtGetApiBase";
      return;
    }
    table_ = base()->get_api(1);
    version_ = base()->version();
  }

  /// Null, or a status that says why the peer refuses.
  template <class... Args>
  void* call(Call place, Args... args) const {
    return reinterpret_cast<void* (*)(Args...)>(table_[size_t(place)])(args...);
  }
  std::string_view message(const void* status) const {
    return reinterpret_cast<const char* (*)(const void*)>(table_[size_t(Call::get_error_message)])(status);
  }
  int code(const void* status) const {
    return reinterpret_cast<int (*)(const void*)>(table_[size_t(Call::get_error_code)])(status);
  }
  void release(Call place, void* object) const { reinterpret_cast<void (*)(void*)>(table_[size_t(place)])(object); }
  std::string_view version() const { return version_; }

 private:
  struct ApiBase {
    void* const* (*get_api)(uint32_t version);
    const char* (*version)();
  };
  void* const* table_ = nullptr;
  const char* version_ = "";
};
