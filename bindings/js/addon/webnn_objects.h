#pragma once
// The objects of engine.ts: contexts, builders, operands, tensors and graphs, each around its handle of nnex/webnn.h.

#include <napi.h>

#include <memory>
#include <vector>

#include "nnex/webnn.h"
#include "webnn_loop.h"

namespace nnex::js {

/// What one environment of JavaScript has of WebNN.
struct Part {
  std::shared_ptr<Loop> loop;
  Releases releases;
  Napi::FunctionReference context, builder, operand, tensor, graph;  ///< Constructors that JavaScript does not see.
  std::vector<std::weak_ptr<ml::ContextState>> contexts;

  void add(const ml::Context& context);
  /// The environment ends: nothing of it may be called any more, and work that runs is cut short.
  void close();
};

/// What a constructor gets from us, and from nobody else.
template <class T>
struct Making {
  std::shared_ptr<Part> part;
  T handle;
};

/// First of the bases of what this file wraps: says what a pointer out of JavaScript points to. It is virtual, so that
/// it lies where the object begins.
struct Wrapped {
  enum class Kind : uint8_t { context, builder, operand, tensor, graph };
  explicit Wrapped(Kind k) : kind(k) {}
  virtual ~Wrapped() = default;
  const Kind kind;
};

/// The object behind a value of JavaScript; null where it is none of ours of that kind.
template <class T>
T* wrapped(napi_env env, napi_value value) {
  void* data = nullptr;
  if (napi_unwrap(env, value, &data) != napi_ok || !data) return nullptr;
  auto* object = static_cast<Wrapped*>(data);
  return object->kind == T::kKind ? static_cast<T*>(object) : nullptr;
}

/// What all have: a handle, let go on the thread of releases, and memory that the garbage collector is told of.
template <class Self, class Handle, Wrapped::Kind kind_>
class Holder : public Wrapped, public Napi::ObjectWrap<Self> {
 public:
  static constexpr Kind kKind = kind_;

  explicit Holder(const Napi::CallbackInfo& info) : Wrapped(kKind), Napi::ObjectWrap<Self>(info) {
    if (info.Length() != 1 || !info[0].IsExternal()) throw Napi::TypeError::New(info.Env(), "Illegal constructor");
    auto& making = *info[0].As<Napi::External<Making<Handle>>>().Data();
    part_ = std::move(making.part);
    handle_ = std::move(making.handle);
  }
  ~Holder() override {
    if (part_) part_->releases.push(handle_.state());
  }
  void Finalize(Napi::Env env) override { tell(env, -told_); }

  const Handle& handle() const { return handle_; }

 protected:
  /// Tells the garbage collector of so many bytes more.
  void tell(napi_env env, int64_t bytes) {
    int64_t all = 0;
    if (bytes != 0 && napi_adjust_external_memory(env, bytes, &all) == napi_ok) told_ += bytes;
  }

  std::shared_ptr<Part> part_;
  Handle handle_;
  int64_t told_ = 0;
};

class OperandObject : public Holder<OperandObject, ml::Operand, Wrapped::Kind::operand> {
 public:
  using Holder::Holder;
  const ml::Operand& operand() const { return handle_; }
  static Napi::Function define(Napi::Env env) { return DefineClass(env, "NativeOperand", {}); }
};

class TensorObject : public Holder<TensorObject, ml::Tensor, Wrapped::Kind::tensor> {
 public:
  explicit TensorObject(const Napi::CallbackInfo& info);
  static Napi::Function define(Napi::Env env);
  int64_t bytes() const { return bytes_; }

 private:
  void destroy(const Napi::CallbackInfo& info);

  int64_t bytes_ = 1;
};

class GraphObject : public Holder<GraphObject, ml::Graph, Wrapped::Kind::graph> {
 public:
  using Holder::Holder;
  static Napi::Function define(Napi::Env env);
  /// The bytes of its constants, which its builder had.
  void take(napi_env env, int64_t bytes) { tell(env, bytes); }

 private:
  void destroy(const Napi::CallbackInfo& info);
};

class BuilderObject : public Holder<BuilderObject, ml::GraphBuilder, Wrapped::Kind::builder> {
 public:
  using Holder::Holder;
  static Napi::Function define(Napi::Env env);

 private:
  Napi::Value input(const Napi::CallbackInfo& info);
  Napi::Value constant(const Napi::CallbackInfo& info);
  Napi::Value scalar(const Napi::CallbackInfo& info);
  Napi::Value constant_tensor(const Napi::CallbackInfo& info);
  Napi::Value call(const Napi::CallbackInfo& info);
  Napi::Value build(const Napi::CallbackInfo& info);
};

class ContextObject : public Holder<ContextObject, ml::Context, Wrapped::Kind::context> {
 public:
  using Holder::Holder;
  static Napi::Function define(Napi::Env env);
  void Finalize(Napi::Env env) override;

 private:
  Napi::Value accelerated(const Napi::CallbackInfo& info);
  Napi::Value limits(const Napi::CallbackInfo& info);
  void on_lost(const Napi::CallbackInfo& info);
  Napi::Value builder(const Napi::CallbackInfo& info);
  Napi::Value tensor(const Napi::CallbackInfo& info);
  Napi::Value constant_tensor(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);
  void write(const Napi::CallbackInfo& info);
  void dispatch(const Napi::CallbackInfo& info);
  void destroy(const Napi::CallbackInfo& info);

  std::shared_ptr<Napi::FunctionReference> lost_;  ///< Who is told; empty once the object is gone.
};

/// A new object around a handle.
template <class T>
Napi::Object make(Napi::Env env, const std::shared_ptr<Part>& part, const Napi::FunctionReference& constructor,
                  T handle) {
  Making<T> making{part, std::move(handle)};
  return constructor.New({Napi::External<Making<T>>::New(env, &making)});
}

}  // namespace nnex::js
