#include "nnex/environment.h"

#include <algorithm>
#include <cstdlib>

#include "base/failure.h"
#include "base/joined.h"
#include "base/mapped_file.h"
#include "kernels/simd/loops.h"
#include "nnex/version.h"
#include "ops/table.h"
#include "tensor/memory_account.h"

namespace nnex {

Environment environment() {
  Environment e;
  e.version = kVersion;
  e.isa = kernels::simd::name(kernels::simd::best_isa());
  for (int i = 0; i < static_cast<int>(kernels::simd::Isa::count); ++i)
    if (kernels::simd::can_run(static_cast<kernels::simd::Isa>(i)))
      e.isas.push_back(kernels::simd::name(static_cast<kernels::simd::Isa>(i)));
  e.byte_unit = kernels::simd::loops(kernels::simd::best_isa()).byte_unit;
  e.operators = all_ops().size();
  return e;
}

Status check_environment() {
  const char* wish = std::getenv("NNEX_ISA");
  if (!wish || !*wish) return {};
  std::vector<std::string_view> known;
  for (int i = 0; i < static_cast<int>(kernels::simd::Isa::count); ++i)
    known.push_back(kernels::simd::name(static_cast<kernels::simd::Isa>(i)));
  if (std::find(known.begin(), known.end(), wish) != known.end()) return {};
  return failure(Code::invalid_argument, "environment variable NNEX_ISA is '{}'; needed one of {}", wish,
                 joined(known, ", "));
}

struct MemoryLimit::Impl {
  AccountScope scope;
};

MemoryLimit::MemoryLimit(int64_t bytes)
    : impl_(new Impl{AccountScope(bytes > 0 ? std::make_shared<MemoryAccount>(bytes) : default_account())}) {}
MemoryLimit::~MemoryLimit() = default;

}  // namespace nnex
