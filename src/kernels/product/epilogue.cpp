#include "kernels/product/epilogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/joined.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {

Epilogue EpilogueSpec::epilogue(const Call& c, int64_t columns) const {
  Epilogue end;
  if (bias >= 0) end.bias = c.in<float>(static_cast<size_t>(bias)).data();
  if (residual >= 0) {
    end.residual = c.in<float>(static_cast<size_t>(residual)).data();
    end.residual_stride = columns;
  }
  end.activation = activation;
  return end;
}

std::string pack_key(std::string_view what, const KernelRequest& r, const Operand& w, std::span<const int32_t> zeros) {
  std::string key = fmt::format("{} {} {}", what, w.id, static_cast<int>(r.loops.isa));
  if (std::any_of(zeros.begin(), zeros.end(), [](int32_t z) { return z != 0; }))
    key += fmt::format(" zero {}", joined(zeros, " "));
  return key;
}

std::string filter_key(std::string_view what, const KernelRequest& r, const Operand& w, const ConvShape& s,
                       std::span<const int32_t> zeros) {
  return fmt::format("{} {} {}", pack_key(what, r, w, zeros), s.groups, static_cast<int>(conv_method(s)));
}

}  // namespace nnex::kernels
