// Reads whatever bytes come as a CVM model (a symbol file, a zero byte, a params file), runs it on extremes under
// limits, and writes it. A model that reads may fail to be written, never to be read again.

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "nnex/model.h"
#include "run/compile.h"
#include "standards/cvm/import.h"
#include "standards/cvm/write.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(all.find('\0'), all.size());
  const std::string_view params = all.substr(std::min(cut + 1, all.size()));
  auto graph = cvm_format::read_model(all.substr(0, cut), params, nullptr, false);
  if (!graph.ok()) return 0;
  int64_t elements = 0;
  for (uint32_t n = 0; n < graph->value_count(); ++n) {
    const auto shape = concrete((*graph)[ValueId{n}].type);
    if (!shape || (elements += shape->count()) > 1 << 20) return 0;
  }
  auto written = cvm_format::write_model(*graph);
  if (!written.ok() && written.error().code() == Code::internal) std::abort();
  LoadOptions options;
  options.memory_limit = int64_t{64} << 20;
  auto model = compile(std::move(graph).value(), options);
  if (!model.ok()) return 0;
  auto in = Tensor::make(DType::i32, Shape(model->inputs()[0].extents));
  if (!in.ok()) return 0;
  int32_t x = INT32_MIN;
  for (int32_t& v : in->mutable_as<int32_t>()) v = x, x = x == INT32_MIN ? INT32_MAX : x == INT32_MAX ? -1 : INT32_MIN;
  SessionOptions session_options;
  session_options.threads = 1;
  Session session = model->session(session_options);
  RunOptions run;
  run.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const std::vector<Value> inputs = {std::move(in).value()};
  (void)session.run(inputs, run).ok();
  return 0;
}
