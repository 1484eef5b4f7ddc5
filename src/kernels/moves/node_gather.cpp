// Gather nodes: rows of a table (an embedding), elements by index. A constant table is read where it lies, at any
// alignment.

#include "ops/gather.h"

#include <algorithm>
#include <atomic>

#include "base/split.h"
#include "kernels/kernel.h"
#include "kernels/moves/axes.h"
#include "kernels/moves/copy.h"

namespace nnex::kernels {
namespace {

/// Bytes of an element; 0 for strings and for elements smaller than a byte.
int whole_bytes(DType type) { return is_object(type) || bits(type) % 8 != 0 ? 0 : bits(type) / 8; }

int64_t axis_of(const KernelRequest& r) {
  const int64_t axis = r.attr<GatherAttrs>().axis;
  return axis < 0 ? axis + r.in[0].shape.rank() : axis;
}

/// What both kernels share: x, which may be the graph's constant, the rules for indices and their fault.
class IndexKernel : public Kernel {
 public:
  explicit IndexKernel(const KernelRequest& r)
      : axis_(axis_of(r)), shape_(middle_of(r.in[0].shape, axis_)), bytes_(whole_bytes(r.in[0].dtype)) {
    const auto& a = r.attr<GatherAttrs>();
    from_end_ = a.from_end, outside_ = a.outside;
    if (r.in[0].constant) table_ = *r.in[0].constant;
    in_table_ = r.in[0].constant != nullptr;
  }
  bool packed(size_t input) const override { return input == 0 && in_table_; }
  bool in_graph(size_t input) const override { return input == 0; }

 protected:
  const std::byte* x(const Call& c) const { return in_table_ ? table_.data() : c.in(0).data(); }
  Error outside(const Call& c, int64_t index) const {
    return c.fault("index {} is outside [{}, {}) of axis {}", index, from_end_ ? -shape_.n : 0, shape_.n, axis_);
  }

  int64_t axis_;
  Middle shape_;
  int bytes_;  // of an element
  bool from_end_ = true;
  Outside outside_ = Outside::fault;

 private:
  Tensor table_;
  bool in_table_ = false;
};

template <class Index>
class GatherKernel : public IndexKernel {
 public:
  using IndexKernel::IndexKernel;
  Status run(Call& c) const override {
    const auto index = c.in<Index>(1);
    const int64_t at = gather(*c.team, x(c), shape_.outer, shape_.n, shape_.inner * bytes_, index.data(),
                              static_cast<int64_t>(index.size()), from_end_, outside_, c.out(0).mutable_data());
    if (at >= 0) return outside(c, index[static_cast<size_t>(at)]);
    return {};
  }
};

/// y[o, i, k] = x[o, index[o, i, k], k].
template <class Index>
class GatherElements : public IndexKernel {
 public:
  explicit GatherElements(const KernelRequest& r) : IndexKernel(r), picks_(r.in[1].shape[axis_]) {}
  Status run(Call& c) const override {
    const auto index = c.in<Index>(1);
    if (shape_.n == 0) return first_outside(c);
    switch (bytes_) {
      case 1:
        return pick<uint8_t>(c, index.data());
      case 2:
        return pick<uint16_t>(c, index.data());
      case 4:
        return pick<uint32_t>(c, index.data());
      default:
        return pick<uint64_t>(c, index.data());
    }
  }

 private:
  struct Rows {
    int64_t last, stride;  ///< Of a table.
    int64_t shift;         ///< Added to negative indices.
  };
  int64_t place(Index i) const { return i < 0 && from_end_ ? i + shape_.n : i; }

  /// The fault of the first index outside.
  Status first_outside(Call& c) const {
    for (Index i : c.in<Index>(1))
      if (place(i) < 0 || place(i) >= shape_.n) return outside(c, i);
    return {};
  }

  /// Elements of one line, of an index each: of one column of the table (kStep 0), or of columns side by side (1).
  /// Indices outside pick the nearest; returns whether there were any.
  template <int kStep, class T>
  static bool pick_line(const Index* index, const std::byte* table, T* y, int64_t count, Rows rows) {
    constexpr int64_t kBytes = sizeof(T);
    bool any_outside = false;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t wanted = int64_t{index[j]} + (index[j] < 0 ? rows.shift : 0);
      const int64_t i = std::clamp<int64_t>(wanted, 0, rows.last);
      any_outside |= i != wanted;
      __builtin_memcpy(&y[j], table + (i * rows.stride + kStep * j) * kBytes, sizeof(T));
    }
    return any_outside;
  }

  template <class T>
  Status pick(Call& c, const Index* index) const {
    const std::byte* const from = x(c);
    T* const y = reinterpret_cast<T*>(c.out(0).mutable_data());
    const int64_t inner = shape_.inner, n = shape_.n;
    const Rows rows = {n - 1, inner, from_end_ ? n : 0};
    std::atomic<bool> fault = false;
    split(*c.team, shape_.outer, shape_.outer * picks_ * inner * 16, 1, [&](int64_t begin, int64_t end) {
      bool any_outside = false;
      for (int64_t o = begin; o < end; ++o) {
        const Index* const row = index + o * picks_ * inner;
        const std::byte* const table = from + o * n * inner * int64_t{sizeof(T)};
        T* const to = y + o * picks_ * inner;
        if (inner == 1) {
          any_outside |= pick_line<0>(row, table, to, picks_, rows);
        } else {
          for (int64_t at = 0; at < picks_ * inner; at += inner)
            any_outside |= pick_line<1>(row + at, table, to + at, inner, rows);
        }
      }
      if (any_outside && outside_ == Outside::fault) fault = true;
    });
    if (fault) return first_outside(c);
    return {};
  }

  int64_t picks_;  // indices along the axis
};

/// y[o, index[o, i], i] = on, everything else off; an index outside the depth turns nothing on.
template <class Index>
class OneHotKernel : public Kernel {
 public:
  OneHotKernel(const Middle& y, int bytes) : y_(y), bytes_(bytes) {}
  Status run(Call& c) const override {
    switch (bytes_) {
      case 1:
        return fill<uint8_t>(c);
      case 2:
        return fill<uint16_t>(c);
      case 4:
        return fill<uint32_t>(c);
      default:
        return fill<uint64_t>(c);
    }
  }

 private:
  template <class T>
  Status fill(Call& c) const {
    const Index* index = c.in<Index>(0).data();
    const T off = c.in<T>(2)[0], on = c.in<T>(2)[1];
    T* y = c.out<T>(0).data();
    const int64_t depth = y_.n, inner = y_.inner;
    split(*c.team, y_.outer, c.out(0).bytes() * 2, 1, [&](int64_t begin, int64_t end) {
      std::fill(y + begin * depth * inner, y + end * depth * inner, off);
      for (int64_t o = begin; o < end; ++o)
        for (int64_t i = 0; i < inner; ++i) {
          int64_t k = index[o * inner + i];
          if (k < 0) k += depth;
          if (k >= 0 && k < depth) y[(o * depth + k) * inner + i] = on;
        }
    });
    return {};
  }

  Middle y_;
  int bytes_;  // of an element
};

Result<std::unique_ptr<Kernel>> make_one_hot(const KernelRequest& r) {
  const DType index = r.in[0].dtype;
  const Shape& y = r.out[0].shape;
  const int bytes = whole_bytes(r.in[2].dtype);
  if ((index != DType::i64 && index != DType::i32) || !r.attr<OneHotAttrs>().from_end || r.in[1].shape.count() != 1 ||
      r.in[2].shape.count() != 2 || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || y.count() == 0)
    return nullptr;
  const Middle m = middle_of(y, r.attr<OneHotAttrs>().axis);
  if (index == DType::i64) return made<OneHotKernel<int64_t>>(m, bytes);
  return made<OneHotKernel<int32_t>>(m, bytes);
}

bool has_indices(const KernelRequest& r) {
  return (r.in[1].dtype == DType::i64 || r.in[1].dtype == DType::i32) && r.out[0].shape.count() > 0;
}

Result<std::unique_ptr<Kernel>> make_gather(const KernelRequest& r) {
  if (!has_indices(r) || whole_bytes(r.in[0].dtype) == 0) return nullptr;
  if (r.in[1].dtype == DType::i64) return made<GatherKernel<int64_t>>(r);
  return made<GatherKernel<int32_t>>(r);
}

/// An index of x's extents but along the axis.
Result<std::unique_ptr<Kernel>> make_gather_elements(const KernelRequest& r) {
  const int bytes = whole_bytes(r.in[0].dtype);
  if (!has_indices(r) || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) return nullptr;
  const Shape &x = r.in[0].shape, &index = r.in[1].shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    if (axis != axis_of(r) && x[axis] != index[axis]) return nullptr;
  if (r.in[1].dtype == DType::i64) return made<GatherElements<int64_t>>(r);
  return made<GatherElements<int32_t>>(r);
}

constexpr KernelDef kGatherKernels[] = {{"gather", "gather", make_gather},
                                        {"gather_elements", "gather_elements", make_gather_elements},
                                        {"one_hot", "one_hot", make_one_hot}};

}  // namespace

std::span<const KernelDef> gather_kernels() { return built<kGatherKernels>(); }

}  // namespace nnex::kernels
