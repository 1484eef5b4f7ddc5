// Reads whatever bytes come as a .webnn text with a few weights; what reads is played, written and must read the same
// again.

#include <algorithm>
#include <cstdlib>

#include "standards/webnn/program_file.h"

namespace {

using namespace nnex;

const std::string kWeights(4096, '\x3f');

Result<FileBytes> weights(const std::string&) { return FileBytes{kWeights, nullptr}; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto program = ml::read_program({reinterpret_cast<const char*>(data), size}, weights);
  if (!program.ok()) return 0;
  int64_t bytes = 0;
  for (const ml::ProgramOperand& o : program->operands)
    if (o.role == ml::OperandState::Role::input)
      bytes = std::max(bytes, ml::byte_length(o.descriptor.dataType, o.descriptor.shape));
  if (bytes > 1 << 20 || !ml::graph_of(*program).ok()) return 0;
  const ml::WeightFile file(*program);
  const std::string text = ml::program_text(*program, file, "w");
  (void)ml::module_text(*program, file, "w").ok();
  auto again = ml::read_program(text, weights);
  if (file.empty() && (!again.ok() || ml::program_text(*again, ml::WeightFile(*again), "w") != text)) std::abort();
  return 0;
}
