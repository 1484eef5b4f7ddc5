// Models: what packages/nnex/src/wasm/models.ts stands on. Every call is done when it returns.

#include <algorithm>
#include <chrono>

#include "model_calls.h"
#include "nnex/environment.h"

namespace nnex::wasm {
namespace {

struct ModelBox {
  Model model;
  Metadata metadata;
};

Result<std::vector<Value>> inputs_from(const ml::idl::Value& from) {
  std::vector<Value> inputs;
  for (const ml::idl::Value& given : *from.sequence()) {
    auto value = value_from(given);
    if (!value.ok()) return std::move(value).error();
    inputs.push_back(std::move(*value));
  }
  return inputs;
}

}  // namespace

/// What this build is.
NNEX_EXPORT const uint8_t* nnex_environment() {
  std::vector<std::string> dtypes;
  for (int i = 0; i <= static_cast<int>(DType::str); ++i) dtypes.emplace_back(name(static_cast<DType>(i)));
  Reply& reply = good();
  Object(reply).set("isa", environment().isa).set("threads", usable_threads()).set("dtypes", dtypes);
  return reply.done();
}

/// Values: source, options. Gives the model's address and its description.
NNEX_EXPORT const uint8_t* nnex_model_load(const uint8_t* in) {
  const auto args = Reader(in).values();
  auto model = load_model(source_from(args[0]), load_options_from(args[1]));
  if (!model.ok()) return bad(model.error());
  auto* box = new ModelBox{std::move(*model), {}};
  box->metadata = box->model.metadata();
  Reply& reply = good();
  reply.address(box);
  Object(reply)
      .set("inputs", box->model.inputs())
      .set("outputs", box->model.outputs())
      .set("states", box->model.states())
      .set("metadata", box->metadata);
  return reply.done();
}
NNEX_EXPORT const uint8_t* nnex_model_packed(const ModelBox* box) {
  Reply& reply = good();
  put(reply, box->model.packed_memory());
  return reply.done();
}
NNEX_EXPORT void nnex_model_free(ModelBox* box) { delete box; }

/// Lets go what the last reply pointed into.
NNEX_EXPORT void nnex_forget() { kept() = Kept(); }

/// Values: options.
NNEX_EXPORT const uint8_t* nnex_session(const ModelBox* box, const uint8_t* in) {
  Reply& reply = good();
  reply.address(new Session(box->model.session(session_options_from(Reader(in).values()[0]))));
  return reply.done();
}
NNEX_EXPORT const uint8_t* nnex_session_memory(const Session* session) {
  Reply& reply = good();
  put(reply, session->memory());
  return reply.done();
}
NNEX_EXPORT void nnex_session_free(Session* session) { delete session; }

/// Values: inputs, and options: "wanted", "timeout", "profile". Gives the outputs, and with "profile" the times of the
/// nodes.
NNEX_EXPORT const uint8_t* nnex_session_run(Session* session, const uint8_t* in) {
  std::vector<Value>& outputs = kept().values;
  const auto args = Reader(in).values();
  const auto inputs = inputs_from(args[0]);
  if (!inputs.ok()) return bad(inputs.error());
  RunOptions options;
  constexpr double kLongest = 1e12;  // ms: what the clock reaches, and nobody waits for
  if (const double* timeout = args[1].member("timeout").number()) {
    const auto wait = static_cast<int64_t>(std::min(*timeout, kLongest) * 1e3);
    options.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(wait);
  }
  const bool* profile = args[1].member("profile").boolean();
  const bool timed = profile && *profile;
  session->profile(timed);
  outputs.clear();
  auto made = session->run(*inputs, options);
  if (!made.ok()) return bad(made.error());
  outputs = std::move(*made);
  if (const ml::idl::Sequence* wanted = args[1].member("wanted").sequence())
    for (size_t i = 0; i < wanted->size() && i < outputs.size(); ++i)
      if (const bool* one = (*wanted)[i].boolean(); !one || !*one) outputs[i] = Value();
  Reply& reply = good();
  put(reply, outputs);
  if (timed) put(reply, session->nodes());
  return reply.done();
}
/// Values: shapes.
NNEX_EXPORT const uint8_t* nnex_session_prepare(Session* session, const uint8_t* in) {
  return answer(session->prepare(shapes_from(Reader(in).values()[0])));
}
/// Values: label.
NNEX_EXPORT const uint8_t* nnex_session_state(const Session* session, const uint8_t* in) {
  const auto args = Reader(in).values();
  auto state = session->state(*args[0].string());
  if (!state.ok()) return bad(state.error());
  kept().values.assign(1, std::move(*state));
  Reply& reply = good();
  put(reply, kept().values[0]);
  return reply.done();
}
/// Values: label, value.
NNEX_EXPORT const uint8_t* nnex_session_set_state(Session* session, const uint8_t* in) {
  const auto args = Reader(in).values();
  auto value = value_from(args[1]);
  if (!value.ok()) return bad(value.error());
  if (const Tensor* t = value->tensor(); t && t->dtype() != DType::str) {
    auto copy = t->clone();
    if (!copy.ok()) return bad(copy.error());
    return answer(session->set_state(*args[0].string(), std::move(*copy)));
  }
  return answer(session->set_state(*args[0].string(), std::move(*value)));
}
NNEX_EXPORT const uint8_t* nnex_session_reset_states(Session* session) { return answer(session->reset_states()); }

}  // namespace nnex::wasm
