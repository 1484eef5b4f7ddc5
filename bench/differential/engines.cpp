#include "engines.h"

#include <memory>

#include "nnex/model.h"

namespace nnex::differential {
namespace {

/// A refusal of the peer, thrown between here and Peer::run.
struct Refusal {
  int code;
  std::string why;
};

/// The peer's table with refusals thrown.
struct Table {
  const PeerLibrary& library;

  template <class... Args>
  void operator()(Call place, Args... args) const {
    void* status = library.call(place, args...);
    if (!status) return;
    Refusal refusal{library.code(status), std::string(library.message(status))};
    library.release(Call::release_status, status);
    throw refusal;
  }
};

/// An object of the peer's, released at the end of its scope.
struct Held {
  const PeerLibrary& library;
  Call release;
  void* object = nullptr;
  Held(const PeerLibrary& from, Call by) : library(from), release(by) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (object) library.release(release, object);
  }
};

Tensor from_peer(const Table& peer, void* value) {
  Held info(peer.library, Call::release_tensor_info);
  size_t rank = 0;
  int kind = 0, type = 0;
  peer(Call::value_kind, value, &kind);
  if (kind != 1) throw Refusal{9, "an output is no tensor"};
  peer(Call::tensor_type_and_shape, value, &info.object);
  peer(Call::rank, info.object, &rank);
  Extents extents(rank);
  peer(Call::extents, info.object, extents.data(), rank);
  peer(Call::element_type, info.object, &type);
  Tensor t = Tensor::make(dtype_of(type), Shape(extents)).value();
  if (t.dtype() == DType::str) {
    size_t bytes = 0, count = size_t(t.count());
    peer(Call::string_bytes, value, &bytes);
    std::string all(bytes, '\0');
    std::vector<size_t> offsets(count + 1, bytes);
    if (count) peer(Call::string_content, value, all.data(), bytes, offsets.data(), count);
    for (size_t i = 0; i < count; ++i)
      t.mutable_as<std::string>()[i] = all.substr(offsets[i], (i + 1 < count ? offsets[i + 1] : bytes) - offsets[i]);
    return t;
  }
  char* data = nullptr;
  peer(Call::tensor_data, value, &data);
  std::copy_n(data, t.bytes(), reinterpret_cast<char*>(t.mutable_data()));
  return t;
}

void make_value(const Table& peer, const Tensor& t, void* allocator, void* memory, void** out) {
  const auto extents = t.shape().extents();
  if (t.dtype() != DType::str) {
    static char nothing[64];
    char* data = t.bytes() ? const_cast<char*>(reinterpret_cast<const char*>(t.data())) : nothing;
    return peer(Call::create_tensor_with_data, memory, data, size_t(t.bytes()), extents.data(), extents.size(),
                onnx_number(t.dtype()), out);
  }
  std::vector<const char*> texts;
  for (const std::string& s : t.strings()) texts.push_back(s.c_str());
  peer(Call::create_tensor, allocator, extents.data(), extents.size(), onnx_number(t.dtype()), out);
  peer(Call::fill_strings, *out, texts.data(), texts.size());
}

}  // namespace

Peer::Peer(const PeerLibrary& library) : library_(library) {
  const Table peer{library_};
  peer(Call::create_env, 4, "differential", &environment_);  // 4: nothing but the end of the process is logged
  peer(Call::default_allocator, &allocator_);
  peer(Call::create_cpu_memory_info, 0, 0, &memory_);
}

Answer Peer::run(const Case& made, const std::string& model) const {
  const Table peer{library_};
  Answer answer;
  try {
    Held settings(library_, Call::release_session_options), session(library_, Call::release_session);
    peer(Call::create_session_options, &settings.object);
    peer(Call::set_intra_op_threads, settings.object, 1);
    peer(Call::set_inter_op_threads, settings.object, 1);
    peer(Call::set_graph_optimization_level, settings.object, 0);
    peer(Call::create_session_from_bytes, environment_, model.data(), model.size(), settings.object, &session.object);
    std::vector<std::unique_ptr<Held>> held;
    std::vector<const char*> in, out;
    std::vector<void*> inputs, outputs(made.outputs.size());
    for (const Given& g : made.given) {
      if (g.constant) continue;
      held.push_back(std::make_unique<Held>(library_, Call::release_value));
      make_value(peer, g.value, allocator_, memory_, &held.back()->object);
      in.push_back(g.name.c_str());
      inputs.push_back(held.back()->object);
    }
    for (const std::string& name : made.outputs) out.push_back(name.c_str());
    peer(Call::run, session.object, nullptr, in.data(), inputs.data(), inputs.size(), out.data(), out.size(),
         outputs.data());
    for (void* value : outputs) {
      held.push_back(std::make_unique<Held>(library_, Call::release_value));
      held.back()->object = value;
    }
    for (void* value : outputs) answer.outputs.push_back(from_peer(peer, value));
  } catch (const Refusal& refusal) {
    answer.outcome = refusal.code == 9 ? Outcome::missing : Outcome::refused;  // 9: not implemented
    answer.why = refusal.why;
  }
  return answer;
}

Answer run_ours(const Case& made, const std::string& model) {
  Answer answer;
  const auto refuse = [&](const Error& error) {
    answer.outcome = error.code() == Code::unsupported ? Outcome::missing : Outcome::refused;
    answer.why = std::string(name(error.code())) + ": " + error.message();
    return answer;
  };
  auto loaded = Model::from_bytes(model);
  if (!loaded) return refuse(loaded.error());
  std::map<std::string, Value> inputs;
  for (const Given& g : made.given)
    if (!g.constant) inputs[g.name] = g.value;
  auto outputs = loaded->session({.threads = 1}).run(inputs);
  if (!outputs) return refuse(outputs.error());
  for (const std::string& name : made.outputs) {
    const auto found = outputs->find(name);
    const Tensor* t = found == outputs->end() ? nullptr : found->second.tensor();
    if (!t) return refuse(Error(Code::internal, "output '" + name + "' is no tensor"));
    answer.outputs.push_back(*t);
  }
  return answer;
}

}  // namespace nnex::differential
