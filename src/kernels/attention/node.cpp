// Attention nodes on float32. Against the reference, which adds in double, scores differ by a few roundings of depth
// products, and so do results.

#include "kernels/attention/attention.h"

#include "kernels/kernel.h"

namespace nnex::kernels {
namespace {

namespace port = attention_port;

class AttentionNode : public Kernel {
 public:
  AttentionNode(const simd::Loops& loops, const AttentionAttrs& a, const AttentionSizes& s, const MaskStrides& mask,
                bool has_sink, bool keeps_key, bool keeps_value)
      : sizes_(s), attention_(loops, a, s, has_sink), mask_(mask) {
    if (s.has_past && !keeps_key) key_bytes_ = joined_floats(s.depth) * 4;
    if (s.has_past && !keeps_value) value_bytes_ = joined_floats(s.value_depth) * 4;
  }

  int64_t workspace() const override { return lines(key_bytes_) + lines(value_bytes_) + attention_.workspace(); }

  Status run(Call& c) const override {
    NNEX_TRY(check_lengths(c, sizes_));
    Attention::Data d;
    d.q = c.in<float>(port::q).data();
    d.q_at = head_strides(sizes_.side_by_side, sizes_.q_heads, sizes_.queries, sizes_.depth);
    d.y = c.out<float>(port::y).data();
    d.y_at = head_strides(sizes_.side_by_side, sizes_.q_heads, sizes_.queries, sizes_.value_depth);
    std::byte* rest = c.workspace;
    CacheJoin keys, values;
    d.k = whole(c, port::k, port::past_key, port::key, sizes_.depth, rest, d.k_at, keys);
    rest += lines(key_bytes_);
    d.v = whole(c, port::v, port::past_value, port::value, sizes_.value_depth, rest, d.v_at, values);
    rest += lines(value_bytes_);
    if (keys.to) d.join_k = &keys;
    if (values.to) d.join_v = &values;
    d.mask = mask_;
    if (c.has(port::mask)) {
      if (c.in(port::mask).dtype() == DType::boolean)
        d.allowed = c.in<uint8_t>(port::mask).data();
      else
        d.added = c.in<float>(port::mask).data();
    }
    if (c.has(port::lengths)) d.lengths = c.in<int64_t>(port::lengths).data();
    if (c.has(port::sink)) d.sink = c.in<float>(port::sink).data();
    attention_.run(*c.team, d, rest);
    return {};
  }

 private:
  static int64_t lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int64_t joined_floats(int64_t depth) const { return sizes_.batch * sizes_.kv_heads * sizes_.total() * depth; }

  /// Where all keys or values lie, or will lie once `join` has joined them with the cache.
  const float* whole(Call& c, size_t x, size_t past, size_t o, int64_t depth, std::byte* own, HeadStrides& at,
                     CacheJoin& join) const {
    const float* const given = c.in<float>(x).data();
    at = head_strides(sizes_.side_by_side, sizes_.kv_heads, sizes_.keys, depth);
    float* to = sizes_.has_past ? reinterpret_cast<float*>(own) : nullptr;
    if (c.wants(o)) to = c.out<float>(o).data();
    if (!to) return given;
    join = {nullptr, given, at, sizes_.kv_heads, sizes_.past, sizes_.keys, depth, to};
    if (!sizes_.has_past) return given;
    join.past = c.in<float>(past).data();
    at = head_strides(false, sizes_.kv_heads, sizes_.total(), depth);
    return to;
  }

  AttentionSizes sizes_;
  Attention attention_;
  MaskStrides mask_;
  int64_t key_bytes_ = 0, value_bytes_ = 0;
};

bool fits(const KernelRequest& r, const AttentionAttrs& a) {
  for (size_t i : {port::q, port::k, port::v, port::past_key, port::past_value})
    if (r.has(i) && r.in[i].dtype != DType::f32) return false;
  if (r.has(port::mask) && r.in[port::mask].dtype != DType::f32 && r.in[port::mask].dtype != DType::boolean)
    return false;
  if (r.out.size() > port::scores && r.out[port::scores].given()) return false;
  if (r.out.empty() || !r.out[port::y].given()) return false;
  return !a.softmax_type || a.softmax_type == DType::f32;
}

Result<std::unique_ptr<Kernel>> make_attention(const KernelRequest& r) {
  const auto& a = r.attr<AttentionAttrs>();
  if (!fits(r, a)) return nullptr;
  const AttentionSizes s = attention_sizes(a, r.in[port::q].shape, r.in[port::k].shape, r.in[port::v].shape,
                                           r.has(port::past_key) ? &r.in[port::past_key].shape : nullptr);
  for (int64_t n : {s.batch, s.q_heads, s.kv_heads, s.queries, s.total(), s.depth, s.value_depth})
    if (n == 0) return nullptr;
  MaskStrides mask;
  if (r.has(port::mask)) mask = mask_strides(r.in[port::mask].shape);
  const auto keeps = [&](size_t o) { return r.out.size() > o && r.out[o].given(); };
  return made<AttentionNode>(r.loops, a, s, mask, r.has(port::sink), keeps(port::key), keeps(port::value));
}

constexpr KernelDef kAttentionKernels[] = {{"attention", "attention_f32", make_attention}};

}  // namespace

std::span<const KernelDef> attention_kernels() { return built<kAttentionKernels>(); }

}  // namespace nnex::kernels
