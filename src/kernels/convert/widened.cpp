// Kernels on float32 for float16 and bfloat16: inputs are widened into the workspace, results rounded once, as the
// reference kernel does it. Element-wise nodes go block by block.

#include <algorithm>
#include <array>

#include "base/built.h"
#include "base/checked.h"
#include "base/split.h"
#include "kernels/convert/convert.h"
#include "kernels/convert/widened.h"
#include "kernels/fused.h"
#include "ops/quantize.h"
#include "tensor/convert.h"

namespace nnex::kernels {
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
      : kernel_(std::move(kernel)), in_(std::move(in)), out_(std::move(out)), bytes_(bytes) {
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

  std::unique_ptr<Kernel> kernel_;
  std::vector<Widened> in_, out_;
  int64_t bytes_;
  simd::ConvertHalfToF32* widen_ = nullptr;
  simd::ConvertF32ToHalf* narrow_ = nullptr;
};

// ---- Element by element

/// Element-wise nodes go block by block, so that what is wide stays in the cache.
constexpr int64_t kBlock = 4096;

/// Of inputs that have the result's elements, or one.
class WidenedMap : public Kernel {
 public:
  /// `whole` runs blocks, `rest` what is left of them; each may be null where there are none.
  WidenedMap(const simd::Loops& loops, DType half, std::unique_ptr<Kernel> whole, std::unique_ptr<Kernel> rest,
             std::vector<bool> is_half, bool half_out, int64_t count, bool first_is_dense)
      : whole_(std::move(whole)),
        rest_(std::move(rest)),
        is_half_(std::move(is_half)),
        half_out_(half_out),
        first_is_dense_(first_is_dense),
        count_(count) {
    widen_ = half == DType::f16 ? loops.f32_from_f16 : loops.f32_from_bf16;
    narrow_ = half == DType::f16 ? loops.f16_from_f32 : loops.bf16_from_f32;
    for (const auto* kernel : {whole_.get(), rest_.get()})
      if (kernel) own_ = std::max(own_, round_up(kernel->workspace(), 64));
  }

  int64_t workspace() const override { return usable_threads() * part_bytes(); }
  bool in_place(size_t input) const override { return input == 0 && half_out_ && is_half_[0] && first_is_dense_; }

  Status run(Call& c) const override {
    const int64_t blocks = (count_ + kBlock - 1) / kBlock;
    const int64_t parts = std::min<int64_t>({blocks, usable_threads(), parts_for(*c.team, count_ * 16)});
    std::array<Status, kMaxThreads> said;
    c.team->run(parts, [&](int64_t part) {
      const Part p = part_of(blocks, parts, part);
      Blocks run(*this, c, c.workspace + part * part_bytes());
      Status& status = said[static_cast<size_t>(part)];
      for (int64_t b = p.begin; b < p.end && status.ok(); ++b)
        status = run.run(b * kBlock, std::min(count_, (b + 1) * kBlock));
    });
    for (int64_t part = 0; part < parts; ++part) NNEX_TRY(std::move(said[static_cast<size_t>(part)]));
    return {};
  }

 private:
  static constexpr size_t kMaxThreads = 256;

  int64_t part_bytes() const { return static_cast<int64_t>(is_half_.size() + 1) * kBlock * 4 + own_; }

  /// The blocks of one part, one after another. What the kernel sees of them is made once for all of a length.
  class Blocks {
   public:
    Blocks(const WidenedMap& map, Call& c, std::byte* scratch) : map_(map), c_(c), scratch_(scratch) {}

    Status run(int64_t begin, int64_t end) {
      const int64_t n = end - begin;
      const bool other = n != n_;
      n_ = n;
      for (size_t i = 0; i < map_.is_half_.size(); ++i)
        if (c_.has(i)) read(i, begin, other);
      Tensor& y = c_.out(0);
      if (!map_.half_out_) {
        made_ = Tensor::borrow_mutable(y.dtype(), Shape{n}, y.mutable_data() + begin * (bits(y.dtype()) / 8));
      } else if (other) {
        made_ = Tensor::borrow_mutable(DType::f32, Shape{n}, room(map_.is_half_.size()));
      }
      Value* const out = &made_;
      Call inner(c_.op(), c_.attrs(), std::span(in_).first(map_.is_half_.size()), std::span(&out, 1));
      inner.team = &alone_, inner.random = c_.random, inner.workspace = room(map_.is_half_.size() + 1);
      NNEX_TRY((n == kBlock ? map_.whole_ : map_.rest_)->run(inner));
      if (map_.half_out_)
        map_.narrow_(reinterpret_cast<const float*>(room(map_.is_half_.size())),
                     reinterpret_cast<uint16_t*>(y.mutable_data()) + begin, static_cast<size_t>(n));
      return {};
    }

   private:
    std::byte* room(size_t i) const { return scratch_ + static_cast<int64_t>(i) * kBlock * 4; }

    void read(size_t i, int64_t begin, bool other) {
      const Tensor& x = c_.in(i);
      const bool one = x.count() == 1 && map_.count_ != 1;
      if (one && !other) return;  // read with the first block
      const int64_t from = one ? 0 : begin;
      const Shape shape = one ? Shape{} : Shape{n_};
      if (!map_.is_half_[i]) {
        given_[i] = Tensor::borrow(x.dtype(), shape, x.data() + from * (bits(x.dtype()) / 8));
      } else {
        map_.widen_(reinterpret_cast<const uint16_t*>(x.data()) + from, reinterpret_cast<float*>(room(i)),
                    static_cast<size_t>(shape.count()));
        if (other) given_[i] = Tensor::borrow(DType::f32, shape, room(i));
      }
      in_[i] = &given_[i];
    }

    const WidenedMap& map_;
    Call& c_;
    std::byte* scratch_;
    Team alone_;
    int64_t n_ = -1;
    std::array<Value, kMaxPorts> given_;
    std::array<const Value*, kMaxPorts> in_ = {};
    Value made_;
  };

  std::unique_ptr<Kernel> whole_, rest_;
  std::vector<bool> is_half_;
  bool half_out_, first_is_dense_;
  int64_t count_, own_ = 0;
  simd::ConvertHalfToF32* widen_ = nullptr;
  simd::ConvertF32ToHalf* narrow_ = nullptr;
};

/// The operand as the kernel on float32 has it, with `count` elements where it has the result's.
Operand block_of(const Operand& o, DType half, int64_t result, int64_t count, Tensor& constant) {
  Operand out = o;
  const bool one = o.shape.count() == 1 && result != 1;
  out.shape = one ? Shape{} : Shape{count};
  out.constant = out.content = nullptr;
  if (one) {
    if (const Tensor* known = o.content ? o.content : o.constant; known && constant.count() == 1)
      out.content = &constant, out.constant = o.constant ? &constant : nullptr;
  }
  if (o.dtype == half) out.dtype = DType::f32;
  return out;
}

/// Whether the node is a region whose nodes all go element by element.
bool is_chain(const KernelRequest& r) {
  return r.op.attrs.type == &nnex::detail::type_tag<FusedAttrs> && fused_as<FusedChain>(r);
}

/// Null: not element by element, or no kernel on float32 takes it.
Result<std::unique_ptr<Kernel>> make_map(const KernelRequest& r, DType half) {
  const int64_t result = r.out[0].shape.count();
  if ((!r.op.elementwise && !is_chain(r)) || r.out.size() != 1 || result == 0 || bits(r.out[0].dtype) < 8)
    return nullptr;
  std::vector<bool> is_half;
  std::vector<Tensor> constants(r.in.size());
  for (size_t i = 0; i < r.in.size(); ++i) {
    const Operand& o = r.in[i];
    is_half.push_back(o.dtype == half);
    if (!o.given()) continue;
    if (o.shape.count() != result && o.shape.count() != 1) return nullptr;
    if (bits(o.dtype) < 8 || is_object(o.dtype)) return nullptr;
    if (const Tensor* known = o.content ? o.content : o.constant; known && o.shape.count() == 1) {
      constants[i] = *known;
      if (is_half[i]) {
        NNEX_ASSIGN(constants[i], convert(*known, DType::f32));
      }
      constants[i] = constants[i].reshaped(Shape{});
    }
  }
  const auto kernel_for = [&](int64_t count) -> Result<std::unique_ptr<Kernel>> {
    std::vector<Operand> in, out = {block_of(r.out[0], half, -1, count, constants[0])};
    for (size_t i = 0; i < r.in.size(); ++i)
      in.push_back(r.in[i].given() ? block_of(r.in[i], half, result, count, constants[i]) : r.in[i]);
    NNEX_ASSIGN(Chosen chosen, choose_kernel({r.op, r.attrs, in, out, r.loops, r.packs, r.team}));
    for (size_t i = 0; chosen.kernel && i < in.size(); ++i)
      if (chosen.kernel->packed(i)) return nullptr;
    return std::move(chosen.kernel);
  };
  std::unique_ptr<Kernel> whole, rest;
  if (result >= kBlock) {
    NNEX_ASSIGN(whole, kernel_for(kBlock));
    if (!whole) return nullptr;
  }
  if (result % kBlock != 0) {
    NNEX_ASSIGN(rest, kernel_for(result % kBlock));
    if (!rest) return nullptr;
  }
  return made<WidenedMap>(r.loops, half, std::move(whole), std::move(rest), std::move(is_half), r.out[0].dtype == half,
                          result, r.in[0].given() && r.in[0].shape.count() == result);
}

// ---- Whole tensors

Result<std::unique_ptr<Kernel>> make_whole(const KernelRequest& r, DType half) {
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
  NNEX_ASSIGN(Chosen chosen, choose_kernel({r.op, r.attrs, in, out, r.loops, r.packs, r.team}));
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

/// The half type of the inputs. What has none and gives halves (a cast of doubles) would be rounded twice.
DType half_of(const KernelRequest& r) {
  for (const Operand& o : r.in)
    if (o.dtype == DType::f16 || o.dtype == DType::bf16) return o.dtype;
  return DType::none;
}

/// Whether the row rounds to the type of its inputs on the way, which float32 would not do.
bool rounds_on_the_way(const KernelRequest& r) {
  return r.op.attrs.type == &nnex::detail::type_tag<QuantizeAttrs> && !r.attr<QuantizeAttrs>().precision;
}

constexpr KernelDef kWidened = {"", "widened", nullptr};

}  // namespace

Result<Chosen> widened_kernel(const KernelRequest& r) {
  if (!runs_on(DType::f16) && !runs_on(DType::bf16)) return Chosen{};
  const DType half = half_of(r);
  if (half == DType::none || rounds_on_the_way(r) || (r.op.blocks.size() > 0 && !is_chain(r)) ||
      r.in.size() > kMaxPorts || r.out.size() > kMaxPorts)
    return Chosen{};
  for (const auto& operands : {r.in, r.out})
    for (const Operand& o : operands)
      if (o.given() && o.dtype != half && (o.dtype == DType::f16 || o.dtype == DType::bf16)) return Chosen{};
  NNEX_ASSIGN(auto kernel, make_map(r, half));
  if (!kernel) {
    NNEX_ASSIGN(kernel, make_whole(r, half));
  }
  return kernel ? Chosen{std::move(kernel), &kWidened} : Chosen{};
}

}  // namespace nnex::kernels
