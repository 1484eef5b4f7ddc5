#include "model_session.h"

#include <algorithm>

#include "model_options.h"
#include "model_promise.h"
#include "model_reports.h"

namespace nnex::js {
namespace {

using Clock = std::chrono::steady_clock;

/// What a run may take to be done at once: about what handing it to a thread and being woken costs.
constexpr double kBriefUs = 50;

Result<bool> done(Status status) {
  if (!status.ok()) return std::move(status).error();
  return true;
}
std::string text_of(const Napi::Value& v) { return v.As<Napi::String>(); }
Napi::Value nothing(Napi::Env env, bool) { return env.Undefined(); }

}  // namespace

RunRequest SessionBox::request_from(const Napi::CallbackInfo& info, Bytes bytes) {
  RunRequest request;
  const auto inputs = info[1].As<Napi::Array>();
  const auto options = info[2].As<Napi::Object>();
  request.inputs.reserve(inputs.Length());
  for (uint32_t i = 0; i < inputs.Length(); ++i) request.inputs.push_back(value_from(inputs.Get(i), bytes));
  if (info[2].IsUndefined()) return request;
  if (const Napi::Value v = options.Get("wanted"); !v.IsUndefined()) {
    const auto wanted = v.As<Napi::Array>();
    for (uint32_t i = 0; i < wanted.Length(); ++i) request.wanted.push_back(wanted.Get(i).ToBoolean());
  }
  if (const Napi::Value v = options.Get("cancel"); !v.IsUndefined())
    request.cancel = *v.As<Napi::External<std::shared_ptr<std::atomic<bool>>>>().Data();
  constexpr double kLongest = 1e12;  // ms: what the clock reaches, and nobody waits for
  if (const Napi::Value v = options.Get("timeout"); !v.IsUndefined()) {
    const double ms = std::min(v.As<Napi::Number>().DoubleValue(), kLongest);
    request.deadline = Clock::now() + std::chrono::microseconds(static_cast<int64_t>(ms * 1e3));
  }
  request.profile = options.Get("profile").ToBoolean();
  return request;
}

SessionBox::Outcome SessionBox::compute(const RunRequest& request) {
  return caught([&]() -> Outcome {
    RunOptions options;
    options.cancel = request.cancel ? request.cancel.get() : &tasks_->stopping();
    options.deadline = request.deadline;
    session_.profile(request.profile);
    const auto start = Clock::now();
    Outcome out = session_.run(request.inputs, options);
    last_us_ = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    used_ = session_.memory();
    if (request.profile) times_ = session_.nodes();
    last_shapes_.clear();
    if (out.ok() && model_->straight)
      for (const Value& v : request.inputs)
        if (const Tensor* t = v.tensor()) last_shapes_.push_back(t->shape());
    return out;
  });
}

bool SessionBox::brief(const std::vector<Value>& inputs) const {
  if (last_us_ > kBriefUs || last_shapes_.size() != inputs.size() || inputs.empty()) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].tensor() || !(inputs[i].tensor()->shape() == last_shapes_[i])) return false;
  return true;
}

Napi::Value SessionBox::give(Napi::Env env, std::vector<Value> values, const RunRequest& request, Handing handing) {
  auto outputs = Napi::Array::New(env, values.size());
  for (uint32_t i = 0; i < values.size(); ++i) {
    const bool wanted = request.wanted.empty() || request.wanted[i];
    try {
      outputs.Set(i, wanted ? to_js(env, std::move(values[i]), handing) : env.Null());
    } catch (const std::bad_alloc&) {
      throw to_js(env, no_memory().at("output '" + model_->model.outputs()[i].name + "'"));
    }
  }
  account(env);
  if (!request.profile) return outputs;
  auto both = Napi::Object::New(env);
  both.Set("outputs", outputs);
  both.Set("times", to_js(env, times_));
  return both;
}

void SessionBox::account(Napi::Env env) {
  if (used_ == memory_) return;
  Napi::MemoryManagement::AdjustExternalMemory(env, used_ - memory_);
  memory_ = used_;
  model_->account(env);
}

template <class F, class G>
Napi::Promise SessionBox::later(Napi::Env env, F f, G give) {
  ++waiting_;
  return promise_of(env, *tasks_, strand_, std::move(f), std::move(give),
                    [self = shared_from_this()] { --self->waiting_; });
}

Napi::Value SessionBox::run(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const bool thread = info[3].ToBoolean(), borrow = info[4].ToBoolean();
  const bool here = !thread && waiting_ == 0 && last_us_ <= kBriefUs && !last_shapes_.empty();
  auto request = std::make_shared<RunRequest>(request_from(info, borrow ? Bytes::lend
                                                                 : here ? Bytes::borrow
                                                                        : Bytes::copy));
  if (here) {
    if (brief(request->inputs)) return give(env, or_throw(env, compute(*request)), *request, Handing::at_once);
    if (!borrow) *request = request_from(info, Bytes::copy);  // other shapes: JavaScript will go on during the run
  }
  auto kept = std::make_shared<Napi::ObjectReference>();
  if (borrow) *kept = Napi::Persistent(info[1].As<Napi::Object>());
  return later(
      env, [self = shared_from_this(), request] { return self->compute(*request); },
      [self = shared_from_this(), request, kept](Napi::Env to, std::vector<Value>& values) {
        return self->give(to, std::move(values), *request, Handing::in_turn);
      });
}

Napi::Value SessionBox::run_sync(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (waiting_ > 0)
    throw to_js(env, Error(Code::invalid_argument, "a run of this session is on; await it, or make another session"));
  const RunRequest request = request_from(info, Bytes::borrow);
  return give(env, or_throw(env, compute(request)), request, Handing::at_once);
}

Napi::Value SessionBox::prepare(const Napi::CallbackInfo& info) {
  return later(
      info.Env(),
      [self = shared_from_this(), shapes = shapes_from(info[1])] {
        auto prepared = done(self->session_.prepare(shapes));
        self->used_ = self->session_.memory();
        return prepared;
      },
      [self = shared_from_this()](Napi::Env env, bool) {
        self->account(env);
        return env.Undefined();
      });
}

Napi::Value SessionBox::state(const Napi::CallbackInfo& info) {
  return later(
      info.Env(), [self = shared_from_this(), label = text_of(info[1])] { return self->session_.state(label); },
      [](Napi::Env env, Value& value) { return to_js(env, std::move(value), Handing::in_turn); });
}

Napi::Value SessionBox::set_state(const Napi::CallbackInfo& info) {
  return later(
      info.Env(),
      [self = shared_from_this(), label = text_of(info[1]), value = value_from(info[2], Bytes::copy)] {
        return done(self->session_.set_state(label, value));
      },
      nothing);
}

Napi::Value SessionBox::reset_states(const Napi::CallbackInfo& info) {
  return later(
      info.Env(), [self = shared_from_this()] { return done(self->session_.reset_states()); }, nothing);
}

}  // namespace nnex::js
