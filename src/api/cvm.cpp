#include "nnex/cvm.h"

#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "base/guarded.h"
#include "base/try.h"
#include "run/compile.h"
#include "standards/cvm/import.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

Result<CvmProvenance> info_of(const Model& model) {
  const CvmProvenance* info = cvm_format::model_info(*GraphView(model));
  if (!info) return Error(Code::invalid_argument, "the model is not of CVM's format");
  return *info;
}

/// The number of each element as int32, which formats without that type carry in wider ones.
Result<Tensor> as_int32(const Tensor& t) {
  if (t.dtype() == DType::i32 || !is_int(t.dtype())) return t;
  for (int64_t i = 0; i < t.count(); ++i)
    if (const int64_t x = int_at(t, i); x < INT32_MIN || x > INT32_MAX)
      return failure(Code::invalid_model, "a head has an element of {}; needed 32 bits", x);
  return convert(t, DType::i32);
}

}  // namespace

std::optional<CvmFacts> cvm_facts(const Model& model) {
  const CvmProvenance* info = cvm_format::model_info(*GraphView(model));
  if (!info) return std::nullopt;
  return CvmFacts{info->version,    info->postprocess, info->gas,           info->storage_bytes,
                  info->input_bits, info->head_bits,   info->input_width(), info->output_width()};
}

Result<Model> load_cvm(std::string_view symbol, std::string_view params, const LoadOptions& options) {
  return guarded([&]() -> Result<Model> {
    NNEX_ASSIGN(ir::Graph graph,
                cvm_format::read_model(symbol, params, nullptr, options.cvm.answers == CvmAnswers::formal));
    return compile_own(std::move(graph), options);
  });
}

Result<int64_t> cvm_gas(std::string_view symbol) {
  return guarded([&]() -> Result<int64_t> {
    NNEX_ASSIGN(const cvm_format::Symbol read, cvm_format::read_symbol(symbol));
    ir::Graph graph;
    cvm_format::Importer importer(graph, false);
    NNEX_TRY(importer.symbol(read));
    return importer.info().gas;
  });
}

CvmBlame cvm_blame(const Error& error) { return static_cast<CvmBlame>(cvm_format::blame(error)); }

std::optional<Value> cvm_initial_input(const Model& model) {
  const GraphView graph(model);
  const Tensor* t = cvm_format::initial_input(*graph);
  return t ? std::optional<Value>(*t) : std::nullopt;
}

Result<Value> cvm_input(const Model& model, std::string_view bytes) {
  NNEX_ASSIGN(const CvmProvenance info, info_of(model));
  const PortInfo& port = model.inputs()[0];
  if (!is_int(port.dtype) || std::any_of(port.extents.begin(), port.extents.end(), [](int64_t e) { return e < 0; }))
    return failure(Code::invalid_argument, "the input is {}; needed integers of known extents", port.type);
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::i32, Shape(port.extents)));
  const auto width = static_cast<size_t>(info.input_width());
  auto x = t.mutable_as<int32_t>();
  if (bytes.size() != x.size() * width)
    return failure(Code::invalid_argument, "found {} bytes; needed {}, {} for each of {} elements", bytes.size(),
                   x.size() * width, width, x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (width == 1)
      x[i] = static_cast<int8_t>(bytes[i]);
    else
      std::memcpy(&x[i], bytes.data() + i * width, width);
  }
  NNEX_ASSIGN(t, convert(t, port.dtype));
  return Value(std::move(t));
}

Result<std::string> cvm_output_bytes(const Model& model, std::span<const Value> outputs) {
  return guarded([&]() -> Result<std::string> {
    NNEX_ASSIGN(const CvmProvenance info, info_of(model));
    if (outputs.empty())
      return failure(Code::invalid_argument, "found no outputs; needed those of a run, {}", model.outputs().size());
    std::vector<Tensor> heads;
    for (const Value& v : outputs) {
      if (!v.tensor()) continue;
      NNEX_ASSIGN(Tensor head, as_int32(*v.tensor()));
      heads.push_back(std::move(head));
    }
    return cvm_format::output_bytes(info, heads);
  });
}

}  // namespace nnex
