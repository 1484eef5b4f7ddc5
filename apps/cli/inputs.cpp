// Outputs to files, and what an integer network declares of its input.

#include "cli.h"
#include "nnex/cvm.h"
#include "nnex/tensor_file.h"

namespace nnex::cli {

Status save_outputs(const std::string& path, const std::vector<PortInfo>& ports, const std::vector<Value>& values,
                    Existing existing) {
  std::vector<NamedTensor> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].tensor())
      return Error(Code::unsupported,
                   fmt::format("output '{}' is a {}; an archive holds tensors alone: needed .pb or .json",
                               ports[i].name, values[i].text()));
    arrays.push_back({ports[i].name, *values[i].tensor()});
  }
  return write_tensors(path, arrays, existing);
}

std::optional<int64_t> bits_of(const Model& model) {
  const auto facts = cvm_facts(model);
  if (!facts || model.inputs().size() != 1 || facts->input_bits < 1 || facts->input_bits > 32) return std::nullopt;
  return facts->input_bits;
}

}  // namespace nnex::cli
