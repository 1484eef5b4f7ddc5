#include "kernels/product/epilogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/elementwise/pointwise.h"
#include "kernels/simd/loops.h"

namespace nnex::kernels {
namespace {

std::vector<Operand> inputs_of(const KernelRequest& region, const RegionStep& step) {
  std::vector<Operand> in;
  const int outer = static_cast<int>(region.in.size());
  for (int i : step.in)
    in.push_back(i < 0       ? Operand{}
                 : i < outer ? region.in[static_cast<size_t>(i)]
                             : region.region[static_cast<size_t>(i - outer)].out);
  return in;
}

/// One number a column of y.
bool is_row(const Shape& s, const Shape& y) {
  const int64_t rank = s.rank();
  return rank >= 1 && y.rank() >= rank && s[rank - 1] == y[y.rank() - 1] && s.count() == s[rank - 1];
}

}  // namespace

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
    key += fmt::format(" zero {}", fmt::join(zeros, " "));
  return key;
}

std::string filter_key(std::string_view what, const KernelRequest& r, const Operand& w, const ConvShape& s,
                       std::span<const int32_t> zeros) {
  return fmt::format("{} {} {}", pack_key(what, r, w, zeros), s.groups, static_cast<int>(conv_method(s)));
}

FirstStep::FirstStep(const KernelRequest& region)
    : in(inputs_of(region, region.region[0])), out{region.region[0].out}, request{*region.region[0].op,
                                                                                  region.region[0].attrs,
                                                                                  in,
                                                                                  out,
                                                                                  {},
                                                                                  region.loops,
                                                                                  region.packs,
                                                                                  region.team} {}

std::optional<EpilogueSpec> epilogue_spec(const KernelRequest& region) {
  const RegionStep& product = region.region[0];
  if (product.in.size() < 2) return std::nullopt;
  EpilogueSpec f;
  f.x = product.in[0], f.constant = product.in[1], f.bias = product.in.size() > 2 ? product.in[2] : -1;
  const int outer = static_cast<int>(region.in.size());
  const Shape& y = product.out.shape;
  for (size_t s = 1; s < region.region.size(); ++s) {
    const RegionStep& step = region.region[s];
    const int before = outer + static_cast<int>(s) - 1;
    if (f.activation.kind != UnaryKind::identity || !(step.out.shape == y) || step.out.dtype != DType::f32)
      return std::nullopt;
    if (step.op->name == "add") {
      const int other = step.in[0] == before ? step.in[1] : step.in[0];
      if ((step.in[0] != before && step.in[1] != before) || other >= outer || other < 0) return std::nullopt;
      const Operand& o = region.in[static_cast<size_t>(other)];
      if (o.dtype != DType::f32) return std::nullopt;
      if (f.bias < 0 && f.residual < 0 && is_row(o.shape, y))
        f.bias = other;
      else if (f.residual < 0 && o.shape == y)
        f.residual = other;
      else
        return std::nullopt;
      continue;
    }
    if (step.in.empty() || step.in[0] != before) return std::nullopt;
    auto activation = unary_of(*step.op, step.attrs, inputs_of(region, step));
    if (!activation) return std::nullopt;
    f.activation = *activation;
  }
  return f;
}

}  // namespace nnex::kernels
