// Checks whatever bytes come as an ONNX model, reads and compiles them and runs them on zeros, under limits. What a
// check finds sound is no broken model to who loads it.

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "nnex/check.h"
#include "nnex/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  LoadOptions options;
  options.memory_limit = int64_t{64} << 20;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto report = check(ModelSource::memory(bytes), options);
  auto model = Model::from_bytes(bytes, options);
  if (!model.ok() && model.error().code() == Code::invalid_model && report.ok() && report->sound()) std::abort();
  if (!model.ok()) return 0;
  std::vector<Value> inputs;
  int64_t elements = 0;
  for (const PortInfo& p : model->inputs()) {
    if (p.dtype == DType::none || !p.known_rank) return 0;
    std::vector<int64_t> extents;
    for (int64_t e : p.extents) extents.push_back(e < 0 ? 2 : e);
    const auto count = Shape(extents).checked_count();
    if (!count || (elements += *count) > 1 << 16) return 0;
    auto t = Tensor::make(p.dtype, Shape(extents));
    if (!t.ok()) return 0;
    if (!is_object(p.dtype) && t->bytes() > 0) std::memset(t->mutable_data(), 0, static_cast<size_t>(t->bytes()));
    inputs.push_back(std::move(t).value());
  }
  SessionOptions session_options;
  session_options.threads = 1;
  Session session = model->session(session_options);
  RunOptions run;
  run.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  (void)session.run(inputs, run).ok();
  return 0;
}
