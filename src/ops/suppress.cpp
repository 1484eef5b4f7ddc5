// Non-maximum suppression: of boxes that overlap, the one with the highest score.

#include <algorithm>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "tensor/counted.h"

namespace nnex {
namespace {

struct SuppressAttrs {
  bool center = false;
};

Status infer_suppress(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 3));
  NNEX_TRY(need_rank(c, 1, 3));
  if (c.dims(0)) NNEX_TRY(meet(c, (*c.dims(0))[2], Dim(4), "numbers of a box"));
  if (c.dims(0) && c.dims(1)) {
    NNEX_TRY(meet(c, (*c.dims(1))[0], (*c.dims(0))[0], "batches of scores"));
    NNEX_TRY(meet(c, (*c.dims(1))[2], (*c.dims(0))[1], "boxes of scores"));
  }
  for (size_t i = 2; i < 5; ++i)
    if (c.has(i) && c.dims(i) && product(*c.dims(i)).number().value_or(1) != 1)
      return c.error("{} has {}; needed one number", c.op().inputs[i].name, text(c.dims(i)));
  if (const Tensor* overlap = c.has(3) ? c.constant(3) : nullptr; overlap && overlap->count() == 1)
    if (const double most = real_at(*overlap, 0); !(most >= 0 && most <= 1))
      return c.error("{} is {}; needed 0 to 1", c.op().inputs[3].name, most);
  c.result(0, Dims{c.unknown(), Dim(3)});
  return {};
}

/// Two corners, the lower one first on both axes.
template <class T>
struct Box {
  T low[2], high[2], area;

  /// From [y0, x0, y1, x1], corners in any order, or [x centre, y centre, width, height].
  Box(const T* b, bool center) {
    for (int i = 0; i < 2; ++i) {
      const T half = b[3 - i] / 2;
      const T p = center ? b[1 - i] - half : b[i], q = center ? b[1 - i] + half : b[i + 2];
      low[i] = std::min(p, q), high[i] = std::max(p, q);
    }
    area = (high[0] - low[0]) * (high[1] - low[1]);
  }

  /// Whether the common part is more than `limit` of both together. Boxes without area cover nothing.
  bool covers(const Box& b, T limit) const {
    if (!(area > 0) || !(b.area > 0)) return false;
    const T height = std::min(high[0], b.high[0]) - std::max(low[0], b.low[0]),
            width = std::min(high[1], b.high[1]) - std::max(low[1], b.low[1]);
    if (!(height > 0) || !(width > 0)) return false;
    const T common = height * width;
    return common / (area + b.area - common) > limit;
  }
};

struct Suppress {
  template <class T>
  Status operator()(Call& c) const {
    const bool center = c.attr<SuppressAttrs>().center;
    const int64_t batches = c.shape(0)[0], n = c.shape(0)[1], classes = c.shape(1)[1];
    for (size_t i = 2; i < 5; ++i)
      if (c.has(i) && c.in(i).count() != 1)
        return c.fault("{} has {} numbers; needed one", c.op().inputs[i].name, c.in(i).count());
    const int64_t max = c.has(2) ? std::clamp<int64_t>(int_at(c.in(2), 0), 0, n) : 0;
    const T overlap = c.has(3) ? static_cast<T>(real_at(c.in(3), 0)) : T{};
    const double min = c.has(4) ? real_at(c.in(4), 0) : 0;
    CountedVector<int64_t> chosen, order, kept;
    CountedVector<Box<T>> boxes;
    Asked asked(c);
    for (int64_t b = 0; b < batches && max > 0; ++b) {
      boxes.clear();
      for (int64_t i = 0; i < n; ++i) boxes.emplace_back(c.in<T>(0).data() + (b * n + i) * 4, center);
      for (int64_t k = 0; k < classes; ++k) {
        const T* score = c.in<T>(1).data() + (b * classes + k) * n;
        order.clear(), kept.clear();
        for (int64_t i = 0; i < n; ++i)
          if (!c.has(4) || static_cast<double>(score[i]) > min) order.push_back(i);
        // NaN is no score: such boxes come last.
        std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
          return score[p] > score[q] || (score[p] == score[p] && score[q] != score[q]);
        });
        for (int64_t i : order) {
          if (static_cast<int64_t>(kept.size()) == max) break;
          NNEX_TRY(asked.now_and_then(std::ssize(kept)));
          const Box<T>& box = boxes[static_cast<size_t>(i)];
          if (std::any_of(kept.begin(), kept.end(),
                          [&](int64_t j) { return boxes[static_cast<size_t>(j)].covers(box, overlap); }))
            continue;
          kept.push_back(i);
          chosen.insert(chosen.end(), {b, k, i});
        }
      }
    }
    NNEX_ASSIGN(Tensor * y, c.make(0, DType::i64, Shape{static_cast<int64_t>(chosen.size()) / 3, 3}));
    std::copy(chosen.begin(), chosen.end(), y->mutable_as<int64_t>().begin());
    return {};
  }
};

constexpr OpRow kSuppressOps[] = {
    {.name = "non_max_suppression",
     .summary = "For every batch and class the boxes that no better box overlaps too much: rows [batch, class, box].",
     .source = "ONNX NonMaxSuppression-11",
     .inputs =
         {{.name = "boxes", .type = kF, .doc = "[batches, boxes, 4]"},
          {.name = "scores", .type = same_type_as("boxes"), .doc = "[batches, classes, boxes]"},
          {.name = "max_per_class", .type = kI64, .arity = Arity::optional, .by_value = true, .doc = "Absent: 0."},
          {.name = "iou",
           .type = kF,
           .arity = Arity::optional,
           .by_value = true,
           .doc = "Common area over joint area from which a box goes; absent: 0."},
          {.name = "score",
           .type = kF,
           .arity = Arity::optional,
           .by_value = true,
           .doc = "Boxes have more than this; absent: any score."}},
     .outputs = {{"y", DType::i64}},
     .attrs = attrs_of<SuppressAttrs>(
         {field<&SuppressAttrs::center>("center", "Boxes are [x, y, width, height] with their centre, else corners.")}),
     .infer = infer_suppress,
     .reference = typed<float, double>(Suppress{}),
     .spelled = {{onnx, "NonMaxSuppression", {{"center", "center_point_box", &int_bool}}}}},
};
}  // namespace

std::span<const OpDef> suppress_ops() { return stored<kSuppressOps>(); }

}  // namespace nnex
