// Cases that are traces: calls issued in order, some awaited before later ones. Futures are settled by an event loop
// that runs only while a call is awaited, as in JavaScript.

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <variant>

#include "conform_webnn.h"
#include "webnn/call.h"
#include "webnn/idl_calls.h"
#include "webnn_data.h"

namespace nnex::cli {
namespace {

using ml::idl::Value;

constexpr size_t kRecorded = 4096;  ///< Bytes that the vectors keep of one read; of longer ones the first.

/// Tasks given from any thread, run by whoever awaits.
class Loop {
 public:
  void post(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    filled_.notify_one();
  }
  template <class Done>
  void run_until(Done&& done) {
    while (!done()) {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [&] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> tasks_;
};

using Object = std::variant<ml::Context, ml::GraphBuilder, ml::Operand, ml::Tensor, ml::Graph>;
using Objects = std::vector<Object>;

/// How a call ended: with objects, bytes (reads), or an error.
struct Outcome {
  Objects objects;
  std::optional<std::vector<std::byte>> bytes;
  std::optional<ml::Error> error;
};

/// A call that gave a promise.
struct Awaited {
  const Json* step = nullptr;
  std::function<bool()> settled;
  std::function<Outcome()> outcome;  ///< Once settled.
};

class Trace {
 public:
  explicit Trace(int threads) : threads_(threads) {}

  std::string run(const Json& one) {
    for (const Json& step : one.value("setup", Json::array())) {
      if (std::string s = issue(step); !s.empty()) return "setup: " + s;
      if (std::string s = await(~size_t{0}); !s.empty()) return "setup: " + s;
    }
    const Json& steps = one.at("steps");
    for (size_t n = 0; n < steps.size(); ++n) {
      if (std::string s = await(n); !s.empty()) return s;
      if (std::string s = issue(steps[n]); !s.empty()) return fmt::format("step {}: {}", n, s);
    }
    return await(~size_t{0});
  }

 private:
  /// Awaits what is due before step n is issued; all where n is the largest number.
  std::string await(size_t n) {
    std::vector<Awaited> due, later;
    for (Awaited& a : open_) {
      const bool now = n == ~size_t{0} || (a.step->contains("awaitAt") && a.step->at("awaitAt").get<size_t>() <= n);
      (now ? due : later).push_back(std::move(a));
    }
    open_ = std::move(later);
    for (const Awaited& a : due) {
      loop_->run_until(a.settled);
      if (std::string s = judge(*a.step, a.outcome(), "rejects"); !s.empty())
        return fmt::format("{}: {}", a.step->at("call").get<std::string>(), s);
    }
    return {};
  }

  /// Compares how a call ended with what its step says, and names its results.
  std::string judge(const Json& step, Outcome outcome, const char* failure) {
    const std::string needed = step.value(failure, "");
    if (outcome.error) {
      const std::string kind(ml::name(outcome.error->kind));
      if (needed.empty()) return fmt::format("found {}; needed success", outcome.error->text());
      if (kind != needed) return fmt::format("found {}; needed {}", outcome.error->text(), needed);
      const std::string part = step.value("messageContains", "");
      if (outcome.error->message.find(part) == std::string::npos)
        return fmt::format("the message '{}' does not contain '{}'", outcome.error->message, part);
      return {};
    }
    if (!needed.empty()) return fmt::format("found success; needed {}", needed);
    if (step.contains("as")) {
      const Json& ids = step.at("as");
      if (ids.size() > outcome.objects.size())
        return fmt::format("found {} results; needed {}", outcome.objects.size(), ids.size());
      for (size_t i = 0; i < ids.size(); ++i) objects_.insert_or_assign(ids[i].get<std::string>(), outcome.objects[i]);
    }
    if (step.contains("expect"))
      for (size_t i = 0; i < step.at("expect").size(); ++i)
        if (std::string s = check_result(step.at("expect")[i], outcome, i); !s.empty()) return s;
    return check_bytes(step, outcome);
  }

  static std::string check_result(const Json& expect, const Outcome& outcome, size_t i) {
    if (i >= outcome.objects.size()) return fmt::format("result {} is missing", i);
    const auto* operand = std::get_if<ml::Operand>(&outcome.objects[i]);
    const auto* tensor = std::get_if<ml::Tensor>(&outcome.objects[i]);
    if (!operand && !tensor) return fmt::format("result {} has no type", i);
    const std::string type(ml::name(operand ? operand->dataType() : tensor->dataType()));
    const auto& shape = operand ? operand->shape() : tensor->shape();
    if (expect.contains("dataType") && expect.at("dataType").is_string() && expect.at("dataType") != type)
      return fmt::format("result {}: found type {}; needed {}", i, type, expect.at("dataType").dump());
    if (expect.contains("shape") && expect.at("shape").is_array() &&
        expect.at("shape").get<std::vector<uint32_t>>() != shape)
      return fmt::format("result {}: found shape [{}]; needed {}", i, fmt::join(shape, ","), expect.at("shape").dump());
    return {};
  }

  static std::string check_bytes(const Json& step, const Outcome& outcome) {
    if (!step.contains("expectData") && !step.contains("expectBytes")) return {};
    if (!outcome.bytes) return "no bytes were read";
    const std::vector<std::byte>& bytes = *outcome.bytes;
    if (step.contains("expectBytes")) {
      const auto want = step.at("expectBytes").get<std::vector<uint8_t>>();
      const size_t needed = want.size() == kRecorded ? std::max(bytes.size(), kRecorded) : want.size();
      if (bytes.size() != needed) return fmt::format("found {} bytes; needed {}", bytes.size(), needed);
      for (size_t i = 0; i < want.size(); ++i)
        if (bytes[i] != std::byte{want[i]})
          return fmt::format("byte {}: found {}; needed {}", i, static_cast<int>(bytes[i]), want[i]);
    }
    for (const Json& part : step.value("expectData", Json::array())) {
      const auto view = view_named(part.at("view").get<std::string>());
      if (!view) return fmt::format("no view {}", part.at("view").dump());
      const auto length = part.at("length").get<int64_t>();
      auto want = tensor_of(view->dtype, Shape{length}, part.at("data"));
      if (!want.ok()) return want.error().text();
      const auto offset = part.at("offset").get<size_t>();
      const auto size = static_cast<size_t>(want->bytes());
      if (offset > bytes.size() || size > bytes.size() - offset)
        return fmt::format("found {} bytes; needed {} from {} on", bytes.size(), size, offset);
      auto got = Tensor::borrow(view->dtype, Shape{length}, bytes.data() + offset).clone();
      if (!got.ok()) return got.error().text();
      if (std::string s =
              difference(*got, *want, closeness_of(part.contains("metric") ? metric(part) : Json()), length);
          !s.empty())
        return s;
    }
    return {};
  }

  static Json metric(const Json& part) {
    return {{"metric", part.at("metric")}, {"value", part.value("tolerance", Json(0))}};
  }

  // ---- Arguments

  Result<Value> value(const Json& j) {
    if (j.is_null()) return Value(ml::idl::Null{});
    if (j.is_boolean()) return Value(j.get<bool>());
    if (j.is_number()) return Value(j.get<double>());
    if (j.is_string()) return Value(j.get<std::string>());
    if (j.is_array()) {
      ml::idl::Sequence items;
      for (const Json& item : j) {
        NNEX_ASSIGN(Value v, value(item));
        items.push_back(std::move(v));
      }
      return Value(std::move(items));
    }
    if (j.contains("$ref")) return referred(j.at("$ref").get<std::string>());
    if (j.contains("$typed") || j.contains("$buffer")) {
      NNEX_ASSIGN(const Buffer b, buffer_of(j));
      return Value(b.view());
    }
    if (j.contains("$undefined")) return Value();
    if (j.contains("$date") || j.contains("$function")) return Value(ml::idl::Object{});
    if (auto n = number_of(j)) return *n;
    ml::idl::Dictionary members;
    for (const auto& [name, member] : j.items()) {
      NNEX_ASSIGN(Value v, value(member));
      members.emplace_back(name, std::move(v));
    }
    return Value(std::move(members));
  }

  Result<Value> referred(const std::string& id) const {
    const auto at = objects_.find(id);
    if (at == objects_.end()) return Error(Code::invalid_model, fmt::format("no object '{}'", id));
    if (const auto* operand = std::get_if<ml::Operand>(&at->second)) return Value(*operand);
    if (const auto* tensor = std::get_if<ml::Tensor>(&at->second)) return Value(*tensor);
    return Value(ml::idl::Object{});
  }

  template <class T>
  T* object(const Json& id) {
    const auto at = id.is_string() ? objects_.find(id.get<std::string>()) : objects_.end();
    return at == objects_.end() ? nullptr : std::get_if<T>(&at->second);
  }

  // ---- Calls

  std::string issue(const Json& step) {
    const std::string call = step.at("call");
    const Json none = Json::array();
    const Json& given = step.contains("args") ? step.at("args") : none;
    std::vector<Value> args;
    for (const Json& j : given) {
      auto v = value(j);
      if (!v.ok()) return v.error().text();
      args.push_back(std::move(v).value());
    }
    const Json on = step.value("on", Json());
    if (call == "createContext") {
      ml::Environment environment;
      environment.post = [loop = loop_](std::function<void()> task) { loop->post(std::move(task)); };
      environment.threads = threads_;
      return later(step, ml::idl::create_context(args, std::move(environment)));
    }
    if (auto* context = object<ml::Context>(on)) return on_context(step, call, *context, args, given);
    if (auto* builder = object<ml::GraphBuilder>(on)) return on_builder(step, call, *builder, args);
    if (auto* tensor = object<ml::Tensor>(on); tensor && call == "MLTensor.destroy") return destroy(step, *tensor);
    if (auto* graph = object<ml::Graph>(on); graph && call == "MLGraph.destroy") return destroy(step, *graph);
    return fmt::format("no call '{}' on {}", call, on.dump());
  }

  template <class T>
  std::string destroy(const Json& step, const T& object) {
    object.destroy();
    return judge(step, {}, "throws");
  }

  std::string on_context(const Json& step, const std::string& call, const ml::Context& context,
                         const std::vector<Value>& args, const Json& given) {
    if (call == "new MLGraphBuilder") return now(step, ml::GraphBuilder::create(context));
    if (call == "MLContext.destroy") return destroy(step, context);
    if (call == "createTensor") return later(step, ml::idl::create_tensor(context, args));
    if (call == "createConstantTensor") return later(step, ml::idl::create_constant_tensor(context, args));
    if (call == "writeTensor") return now(step, ml::idl::write_tensor(context, args));
    if (call == "readTensor") return read(step, context, args, given);
    if (call != "dispatch") return fmt::format("no call '{}' on a context", call);
    const ml::Graph* graph = given.empty() ? nullptr : object<ml::Graph>(given[0].value("$ref", Json()));
    if (!graph) return "dispatch: the first argument is no graph";
    return now(step, ml::idl::dispatch(context, *graph, std::span<const Value>(args).subspan(1)));
  }

  std::string on_builder(const Json& step, const std::string& call, ml::GraphBuilder& builder,
                         const std::vector<Value>& args) {
    if (call == "input") return now(step, ml::idl::input(builder, args));
    if (call == "constant") return now(step, ml::idl::constant(builder, args));
    if (call == "build") return later(step, ml::idl::build(builder, args));
    auto made = ml::call(*builder.state(), call, args);
    if (!made.ok()) return judge(step, {{}, {}, made.error()}, "throws");
    return judge(step, {Objects(made->begin(), made->end()), {}, {}}, "throws");
  }

  std::string read(const Json& step, const ml::Context& context, const std::vector<Value>& args, const Json& given) {
    if (args.empty() || !args[0].tensor()) return "readTensor: the first argument is no tensor";
    if (args.size() == 1) return later(step, context.readTensor(*args[0].tensor()));
    auto buffer = buffer_of(given[1]);
    if (!buffer.ok()) return buffer.error().text();
    const auto future = context.readTensor(*args[0].tensor(), buffer->writable());
    const auto outcome = [future, buffer = *buffer]() -> Outcome {
      if (!future.wait().ok()) return {{}, {}, future.wait().error()};
      return {{}, *buffer.bytes, {}};
    };
    open_.push_back({&step, [future] { return future.settled(); }, outcome});
    return {};
  }

  template <class T>
  std::string now(const Json& step, const ml::Result<T>& result) {
    if (!result.ok()) return judge(step, {{}, {}, result.error()}, "throws");
    return judge(step, {{Object(*result)}, {}, {}}, "throws");
  }
  std::string now(const Json& step, const ml::Status& status) {
    if (!status.ok()) return judge(step, {{}, {}, status.error()}, "throws");
    return judge(step, {}, "throws");
  }

  template <class T>
  std::string later(const Json& step, const ml::Future<T>& future) {
    const auto outcome = [future]() -> Outcome {
      const auto& result = future.wait();
      if (!result.ok()) return {{}, {}, result.error()};
      if constexpr (std::is_same_v<T, std::vector<std::byte>>)
        return {{}, *result, {}};
      else
        return {{Object(*result)}, {}, {}};
    };
    open_.push_back({&step, [future] { return future.settled(); }, outcome});
    return {};
  }

  int threads_;
  std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  std::map<std::string, Object> objects_;
  std::vector<Awaited> open_;
};

}  // namespace

std::string run_webnn_trace(const Json& one, int threads) { return Trace(threads).run(one); }

}  // namespace nnex::cli
