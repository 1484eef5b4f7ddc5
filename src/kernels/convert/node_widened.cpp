// Kernels on float32 for float16 and bfloat16: inputs are widened into the workspace, results rounded once, as the
// reference kernel does it. For operators whose work is far more than reading their tensors.

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "kernels/convert/convert.h"
#include "kernels/kernel.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

constexpr size_t kMaxPorts = 16;

/// One tensor of the node that is wider in the kernel.
struct Widened {
  bool is_half = false;
  Tensor constant;     ///< Widened already.
  int64_t offset = 0;  ///< In the workspace, else.
};

class WidenedKernel : public Kernel {
 public:
  WidenedKernel(const simd::Loops& loops, DType half, std::unique_ptr<Kernel> kernel, std::vector<Widened> in,
                std::vector<Widened> out, int64_t bytes)
      : loops_(loops), kernel_(std::move(kernel)), in_(std::move(in)), out_(std::move(out)), bytes_(bytes) {
    widen_ = half == DType::f16 ? loops.f32_from_f16 : loops.f32_from_bf16;
    narrow_ = half == DType::f16 ? loops.f16_from_f32 : loops.bf16_from_f32;
  }

  int64_t workspace() const override { return bytes_ + kernel_->workspace(); }
  bool packed(size_t input) const override {
    return kernel_->packed(input) || (input < in_.size() && in_[input].constant.count() > 0);
  }

  Status run(Call& c) const override {
    std::array<Value, kMaxPorts> wide_in, wide_out;
    std::array<const Value*, kMaxPorts> in = {};
    std::array<Value*, kMaxPorts> out = {};
    for (size_t i = 0; i < in_.size(); ++i) {
      if (!c.has(i)) continue;
      in[i] = in_[i].is_half ? &(wide_in[i] = widened(c, i)) : &c.value(i);
    }
    for (size_t o = 0; o < out_.size(); ++o) {
      if (!c.wants(o)) continue;
      Tensor& y = c.out(o);
      wide_out[o] = out_[o].is_half ? Tensor::borrow_mutable(DType::f32, y.shape(), c.workspace + out_[o].offset)
                                    : Tensor::borrow_mutable(y.dtype(), y.shape(), y.mutable_data());
      out[o] = &wide_out[o];
    }
    Call inner(c.op(), c.attrs(), std::span(in).first(in_.size()), std::span(out).first(out_.size()));
    inner.team = c.team, inner.random = c.random, inner.workspace = c.workspace + bytes_;
    NNEX_TRY(kernel_->run(inner));
    for (size_t o = 0; o < out_.size(); ++o)
      if (c.wants(o) && out_[o].is_half)
        convert(*c.team, narrow_, wide_out[o].tensor()->as<float>().data(),
                reinterpret_cast<uint16_t*>(c.out(o).mutable_data()), c.out(o).count());
    return {};
  }

 private:
  Value widened(Call& c, size_t i) const {
    const Widened& w = in_[i];
    if (kernel_->packed(i)) return Tensor();  // not read
    if (w.constant.count() > 0) return w.constant;
    const Tensor& x = c.in(i);
    auto* const to = reinterpret_cast<float*>(c.workspace + w.offset);
    convert(*c.team, widen_, reinterpret_cast<const uint16_t*>(x.data()), to, x.count());
    return Tensor::borrow(DType::f32, x.shape(), to);
  }

  const simd::Loops& loops_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Widened> in_, out_;
  int64_t bytes_;
  simd::ConvertHalfToF32* widen_ = nullptr;
  simd::ConvertF32ToHalf* narrow_ = nullptr;
};

Result<std::unique_ptr<Kernel>> make_widened(const KernelRequest& r) {
  const DType half = r.has(0) ? r.in[0].dtype : DType::none;
  if ((half != DType::f16 && half != DType::bf16) || r.in.size() > kMaxPorts || r.out.size() > kMaxPorts)
    return nullptr;
  std::vector<Operand> in(r.in.begin(), r.in.end()), out(r.out.begin(), r.out.end());
  std::vector<Widened> wide_in(in.size()), wide_out(out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].dtype != half) continue;
    in[i].dtype = DType::f32;
    wide_in[i].is_half = true;
    if (in[i].constant) {
      NNEX_ASSIGN(wide_in[i].constant, convert(*in[i].constant, DType::f32));
      in[i].constant = in[i].content = &wide_in[i].constant;
    } else {
      in[i].content = nullptr;
    }
  }
  for (size_t o = 0; o < out.size(); ++o) {
    if (out[o].dtype != half) continue;
    out[o].dtype = DType::f32;
    wide_out[o].is_half = true;
  }
  NNEX_ASSIGN(Chosen chosen, choose_kernel({r.op, r.attrs, in, out, r.region, r.loops, r.packs, r.team}));
  if (!chosen.kernel) return nullptr;
  int64_t bytes = 0;
  const auto place = [&](Widened& w, const Operand& o) {
    w.offset = bytes;
    bytes += round_up(o.shape.count() * 4, 64);
  };
  for (size_t i = 0; i < in.size(); ++i) {
    if (!wide_in[i].is_half || !in[i].given()) continue;
    if (chosen.kernel->packed(i))
      wide_in[i].constant = Tensor();
    else if (!in[i].constant)
      place(wide_in[i], in[i]);
  }
  for (size_t o = 0; o < out.size(); ++o)
    if (wide_out[o].is_half) place(wide_out[o], out[o]);
  return made<WidenedKernel>(r.loops, half, std::move(chosen.kernel), std::move(wide_in), std::move(wide_out), bytes);
}

constexpr KernelDef kWidenedKernels[] = {
    {"attention", "widened", make_widened}, {"conv", "widened", make_widened},   {"deconv", "widened", make_widened},
    {"einsum", "widened", make_widened},    {"gru", "widened", make_widened},    {"linear", "widened", make_widened},
    {"lstm", "widened", make_widened},      {"matmul", "widened", make_widened}, {"rnn", "widened", make_widened}};

}  // namespace

std::span<const KernelDef> widened_kernels() { return built<kWidenedKernels>(); }

}  // namespace nnex
