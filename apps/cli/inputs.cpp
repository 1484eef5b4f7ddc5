// Outputs to files, and what an integer network declares of its input.

#include "cli.h"
#include "nnex/cvm.h"
#include "nnex/elements.h"
#include "nnex/tensor_file.h"

namespace nnex::cli {

namespace {

/// The type of NumPy's that holds all numbers of another; nothing: it has that itself.
std::optional<DType> wider_for_numpy(DType type) {
  if (is_real(type) && type > DType::f16) return DType::f32;
  if (is_int(type) && bits(type) < 8) return is_signed_int(type) ? DType::i8 : DType::u8;
  return std::nullopt;
}

}  // namespace

bool holds_numpy(const std::string& file) {
  const auto format = tensor_format_of(file);
  return format == TensorFormat::npy || format == TensorFormat::npz;
}

Result<Value> fit_for_numpy(const Value& v, const std::string& name, bool cast) {
  const auto wider = v.tensor() ? wider_for_numpy(v.tensor()->dtype()) : std::nullopt;
  if (!wider) return v;
  if (!cast)
    return Error(Code::unsupported, fmt::format("NumPy has no element type {}; save '{}' as .pb or .json",
                                                nnex::name(v.tensor()->dtype()), name))
        .helped_by({"cast", "true", fmt::format("saves it as {}", nnex::name(*wider))});
  NNEX_ASSIGN(Tensor wide, nnex::cast(*v.tensor(), *wider));
  return Value(std::move(wide));
}

Status save_outputs(const std::string& path, const std::vector<PortInfo>& ports, const std::vector<Value>& values,
                    bool cast, Existing existing) {
  std::vector<NamedTensor> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].tensor())
      return Error(Code::unsupported,
                   fmt::format("output '{}' is a {}; an archive holds tensors alone: needed .pb or .json",
                               ports[i].name, values[i].text()));
    NNEX_ASSIGN(const Value fit, fit_for_numpy(values[i], ports[i].name, cast));
    arrays.push_back({ports[i].name, *fit.tensor()});
  }
  return write_tensors(path, arrays, existing);
}

std::optional<int64_t> bits_of(const Model& model) {
  const auto facts = cvm_facts(model);
  if (!facts || model.inputs().size() != 1 || facts->input_bits < 1 || facts->input_bits > 32) return std::nullopt;
  return facts->input_bits;
}

}  // namespace nnex::cli
