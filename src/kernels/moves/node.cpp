// Nodes that only move elements: transposes, slices, parts put together and taken apart, stretched axes, pads.

#include <algorithm>
#include <array>
#include <cstring>

#include "base/split.h"
#include "kernels/kernel.h"
#include "kernels/lift.h"
#include "kernels/moves/copy.h"
#include "ops/join.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/strided.h"

namespace nnex::kernels {
namespace {

/// Bytes of an element the copy loops take; 0 for strings, sub-byte and complex128 elements.
int element_bytes(DType type) {
  const int b = is_object(type) ? 0 : bits(type) / 8;
  return b <= 8 && bits(type) % 8 == 0 ? b : 0;
}

int64_t product(const Shape& s, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (int64_t i = begin; i < end; ++i) n *= s[i];
  return n;
}

// ---- One strided walk of x
// ---------------------------------------------------------------------------------------------------------

class StridedCopy : public Kernel {
 public:
  StridedCopy(const simd::Loops& loops, int bytes, const Nest& nest, int64_t start)
      : loops_(loops), bytes_(bytes), nest_(nest), start_(start) {}
  Status run(Call& c) const override {
    copy_from_strided(loops_, *c.team, bytes_, nest_, c.in(0).data() + start_ * bytes_, c.out(0).mutable_data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  int bytes_;
  Nest nest_;
  int64_t start_;  ///< Element of x that comes first.
};

/// y of extents `to` whose element i... is x[start + sum of i * strides].
Result<std::unique_ptr<Kernel>> strided(const KernelRequest& r, const Ints& to, const Ints& strides,
                                        int64_t start = 0) {
  const int bytes = element_bytes(r.in[0].dtype);
  const std::array<std::span<const int64_t>, 1> lists = {strides};
  const auto nest = strided_nest(to, lists);
  if (!nest || bytes == 0 || nest->elements == 0) return nullptr;
  return std::unique_ptr<Kernel>(std::make_unique<StridedCopy>(r.loops, bytes, *nest, start));
}

Ints extents(const Shape& s) { return Ints(s.begin(), s.end()); }

Result<std::unique_ptr<Kernel>> make_transpose(const KernelRequest& r) {
  const Shape &x = r.in[0].shape, &y = r.out[0].shape;
  const Ints dense = row_major_strides(x);
  const Ints& axes = r.attr<TransposeAttrs>().axes;
  Ints strides;
  for (int64_t i = 0; i < x.rank(); ++i) {
    int64_t from = axes.empty() ? x.rank() - 1 - i : axes[static_cast<size_t>(i)];
    if (from < 0) from += x.rank();
    strides.push_back(dense[static_cast<size_t>(from)]);
  }
  return strided(r, extents(y), strides);
}

Result<std::unique_ptr<Kernel>> make_slice(const KernelRequest& r) {
  for (size_t i = 1; i < r.in.size(); ++i)
    if (r.in[i].given() && !r.in[i].content) return nullptr;
  const Shape& x = r.in[0].shape;
  const Ints begin = ints_of(*r.in[1].content), end = ints_of(*r.in[2].content),
             axes = r.has(3) ? ints_of(*r.in[3].content) : Ints{}, step = r.has(4) ? ints_of(*r.in[4].content) : Ints{};
  Ints to = extents(x), strides = row_major_strides(x);
  int64_t start = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    if (axis < 0) axis += x.rank();
    const auto a = static_cast<size_t>(axis);
    if (!step.empty() && step[i] == 0) return nullptr;
    const auto [first, count] = slice_range(x[axis], begin[i], end[i], step.empty() ? 1 : step[i]);
    if (count == 0) return nullptr;
    to[a] = count, start += first * strides[a];
    strides[a] *= count > 1 && !step.empty() ? step[i] : 1;
  }
  return strided(r, to, strides, start);
}

Result<std::unique_ptr<Kernel>> make_expand(const KernelRequest& r) {
  const Shape &x = r.in[0].shape, &y = r.out[0].shape;
  const Ints dense = row_major_strides(x);
  Ints strides(static_cast<size_t>(y.rank()), 0);
  for (int64_t i = 0; i < x.rank(); ++i)
    if (x[i] != 1) strides[static_cast<size_t>(y.rank() - x.rank() + i)] = dense[static_cast<size_t>(i)];
  return strided(r, extents(y), strides);
}

/// y seen as [repeats[0], x[0], repeats[1], x[1], ...].
Result<std::unique_ptr<Kernel>> make_tile(const KernelRequest& r) {
  const Shape &x = r.in[0].shape, &y = r.out[0].shape;
  if (x.count() == 0) return nullptr;
  const Ints dense = row_major_strides(x);
  Ints to, strides;
  for (int64_t i = 0; i < x.rank(); ++i) {
    to.push_back(y[i] / x[i]), strides.push_back(0);
    to.push_back(x[i]), strides.push_back(dense[static_cast<size_t>(i)]);
  }
  return strided(r, to, strides);
}

Result<std::unique_ptr<Kernel>> make_depth_to_space(const KernelRequest& r) {
  const auto& a = r.attr<DepthToSpaceAttrs>();
  const Shape& s = r.in[0].shape;
  const int64_t b = a.block, depth = s[1] / (b * b), plane = s[2] * s[3];
  const bool dcr = a.order == DepthOrder::dcr;
  return strided(r, {s[0], depth, s[2], b, s[3], b},
                 {s[1] * plane, dcr ? plane : b * b * plane, s[3], dcr ? b * depth * plane : b * plane, 1,
                  dcr ? depth * plane : plane});
}

Result<std::unique_ptr<Kernel>> make_space_to_depth(const KernelRequest& r) {
  const int64_t b = r.attr<SpaceToDepthAttrs>().block;
  const Shape &s = r.in[0].shape, &t = r.out[0].shape;
  const int64_t w = s[3], plane = s[2] * w;
  return strided(r, {s[0], b, b, s[1], t[2], t[3]}, {s[1] * plane, w, 1, plane, b * w, b});
}

// ---- Parts of rows
// -----------------------------------------------------------------------------------------------------------------

/// Joins columns of one element, or parts them.
class Columns : public Kernel {
 public:
  Columns(const simd::Loops& loops, int bytes, int64_t rows, bool join)
      : loops_(loops), bytes_(bytes), rows_(rows), join_(join) {}
  Status run(Call& c) const override {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (size_t i = 0; i < c.inputs(); ++i) from.push_back(c.in(i).data());
    for (size_t i = 0; i < c.outputs(); ++i) to.push_back(c.wants(i) ? c.out(i).mutable_data() : nullptr);
    join_ ? join_columns(loops_, *c.team, bytes_, from, rows_, to[0])
          : part_columns(loops_, *c.team, bytes_, from[0], rows_, to);
    return {};
  }

 private:
  const simd::Loops& loops_;
  int bytes_;
  int64_t rows_;
  bool join_;
};

bool are_columns(const std::vector<int64_t>& runs, int bytes, int64_t rows) {
  return turns_columns(bytes, static_cast<int64_t>(runs.size()), rows) &&
         std::all_of(runs.begin(), runs.end(), [&](int64_t run) { return run == bytes; });
}

/// concat and stack: `rows` runs of each input, one after the other.
class Join : public Kernel {
 public:
  Join(int64_t rows, std::vector<int64_t> runs) : rows_(rows), runs_(std::move(runs)) {
    for (int64_t run : runs_) row_ += run;
  }
  Status run(Call& c) const override {
    std::byte* y = c.out(0).mutable_data();
    for (size_t i = 0; i < runs_.size(); ++i) {
      copy_runs(*c.team, c.in(i).data(), runs_[i], y, row_, rows_, runs_[i]);
      y += runs_[i];
    }
    return {};
  }

 private:
  int64_t rows_, row_ = 0;
  std::vector<int64_t> runs_;  ///< Bytes of a run of each input.
};

template <bool stack>
Result<std::unique_ptr<Kernel>> make_join(const KernelRequest& r) {
  const int bytes = element_bytes(r.in[0].dtype);
  if (bytes == 0 || r.out[0].shape.count() == 0) return nullptr;
  const int64_t rank = r.out[0].shape.rank();
  int64_t axis = r.attr<AxisAttrs>().axis;
  if (axis < 0) axis += rank;
  std::vector<int64_t> runs;
  for (const Operand& o : r.in) runs.push_back(product(o.shape, axis, stack ? rank - 1 : rank) * bytes);
  const int64_t rows = product(r.out[0].shape, 0, axis);
  if (are_columns(runs, bytes, rows)) return made<Columns>(r.loops, bytes, rows, true);
  return std::unique_ptr<Kernel>(std::make_unique<Join>(rows, std::move(runs)));
}

/// split and unstack: the reverse.
class Part : public Kernel {
 public:
  Part(int64_t rows, int64_t row, std::vector<int64_t> runs) : rows_(rows), row_(row), runs_(std::move(runs)) {}
  Status run(Call& c) const override {
    const std::byte* x = c.in(0).data();
    for (size_t o = 0; o < runs_.size(); ++o) {
      if (c.wants(o)) copy_runs(*c.team, x, row_, c.out(o).mutable_data(), runs_[o], rows_, runs_[o]);
      x += runs_[o];
    }
    return {};
  }

 private:
  int64_t rows_, row_;
  std::vector<int64_t> runs_;
};

/// Every part must be wanted: the extent of one nobody reads is not known here.
template <class Attrs>
Result<std::unique_ptr<Kernel>> make_part(const KernelRequest& r) {
  const int bytes = element_bytes(r.in[0].dtype);
  const Shape& x = r.in[0].shape;
  if (bytes == 0 || x.count() == 0) return nullptr;
  int64_t axis = r.attr<Attrs>().axis;
  if (axis < 0) axis += x.rank();
  std::vector<int64_t> runs;
  for (const Operand& o : r.out) {
    if (!o.given()) return nullptr;
    runs.push_back(product(o.shape, axis, o.shape.rank()) * bytes);
  }
  const int64_t rows = product(x, 0, axis);
  if (are_columns(runs, bytes, rows)) return made<Columns>(r.loops, bytes, rows, false);
  return std::unique_ptr<Kernel>(std::make_unique<Part>(rows, product(x, axis, x.rank()) * bytes, std::move(runs)));
}

// ---- Constant pads
// -----------------------------------------------------------------------------------------------------------------

class ConstantPad : public Kernel {
 public:
  ConstantPad(int bytes, const Nest& into, int64_t start) : bytes_(bytes), into_(into), start_(start) {}
  Status run(Call& c) const override {
    std::byte value[kFill] = {};
    for (int64_t i = 0; c.has(2) && i < kFill; ++i) value[i] = c.in(2).data()[i % bytes_];
    if (into_.row_stride(0) != 1 || into_.row_length() * bytes_ < kShortRow) {
      fill(value, c.out(0).mutable_data(), c.out(0).bytes());
      copy_to_strided(*c.team, bytes_, into_, c.in(0).data(), c.out(0).mutable_data() + start_ * bytes_);
      return {};
    }
    // Rows of x follow each other in y, so what lies before each of them is all the rest.
    const std::byte* const x = c.in(0).data();
    std::byte* const y = c.out(0).mutable_data();
    const int64_t rows = into_.rows(), run = into_.row_length() * bytes_, bytes = c.out(0).bytes();
    split(*c.team, rows, bytes * 2, 1, [&](int64_t begin, int64_t end) {
      NestRows at(into_, begin > 0 ? begin - 1 : 0);
      int64_t done = 0;
      if (begin > 0) done = (start_ + at.offset(0)) * bytes_ + run, at.next();
      for (int64_t row = begin; row < end; ++row, at.next()) {
        const int64_t to = (start_ + at.offset(0)) * bytes_;
        fill(value, y + done, to - done);
        copy_run(x + row * run, run, y + to);
        done = to + run;
      }
      if (end == rows) fill(value, y + done, bytes - done);
    });
    return {};
  }

 private:
  static constexpr int64_t kFill = 128, kShortRow = 64;  // short rows cost less when all is filled first
  /// Elements of one value, of which kFill bytes are given.
  static void fill(const std::byte* value, std::byte* to, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += kFill) copy_run(value, std::min(kFill, bytes - at), to + at);
  }

  int bytes_;
  Nest into_;
  int64_t start_;
};

/// Constants around a whole x: no cropping.
Result<std::unique_ptr<Kernel>> make_pad(const KernelRequest& r) {
  const int bytes = element_bytes(r.in[0].dtype);
  const Shape &x = r.in[0].shape, &y = r.out[0].shape;
  if (bytes == 0 || x.count() == 0 || r.attr<PadAttrs>().border != PadBorder::constant || !r.in[1].content ||
      (r.has(3) && !r.in[3].content))
    return nullptr;
  const Ints amounts = ints_of(*r.in[1].content), axes = r.has(3) ? ints_of(*r.in[3].content) : Ints{};
  if (std::any_of(amounts.begin(), amounts.end(), [](int64_t n) { return n < 0; })) return nullptr;
  const Ints strides = row_major_strides(y);
  int64_t start = 0;
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    if (axis < 0) axis += x.rank();
    start += amounts[i] * strides[static_cast<size_t>(axis)];
  }
  const std::array<std::span<const int64_t>, 1> lists = {strides};
  const auto nest = strided_nest(x.extents(), lists);
  if (!nest) return nullptr;
  return std::unique_ptr<Kernel>(std::make_unique<ConstantPad>(bytes, *nest, start));
}

constexpr KernelDef kMoveKernels[] = {{"transpose", "move", make_transpose},
                                      {"slice", "move", make_slice},
                                      {"expand", "move", make_expand},
                                      {"tile", "move", make_tile},
                                      {"depth_to_space", "move", make_depth_to_space},
                                      {"space_to_depth", "move", make_space_to_depth},
                                      {"concat", "move", make_join<false>},
                                      {"stack", "move", make_join<true>},
                                      {"split", "move", make_part<SplitAttrs>},
                                      {"unstack", "move", make_part<AxisAttrs>},
                                      {"pad", "move", make_pad}};

}  // namespace

std::span<const KernelDef> move_kernels() { return built<kMoveKernels>(); }

}  // namespace nnex::kernels
