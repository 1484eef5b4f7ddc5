// Resampling, one axis after another from the last, by tables of what each place reads.

#include "nnex/elements.h"
#include "ops/resize.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

Reals numbers_if_given(StepWriter& w, size_t i) {
  if (!w.given(i)) return {};
  if (const Tensor* t = w.constant(i)) return reals_of(*t);
  w.refuse(fmt::format("resize: {} is computed; needed a constant", w.node().op->inputs[i].name));
  return {};
}

/// y = x with axis `axis` read by the tables.
void resample_axis(StepWriter& w, const std::string& from, const std::string& to, const Shape& shape, int64_t axis,
                   const ResizeTaps& t) {
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  std::vector<int32_t> index(t.index.begin(), t.index.end());
  const std::string at = w.table(Tensor::of(Shape{std::ssize(index)}, index), "taps");
  const std::string_view type = c_type(w.x_type());
  Text& b = w.body();
  std::string weight;
  if (!t.weight.empty()) {
    std::vector<double> all(t.weight);
    for (size_t o = 0; o < t.count.size(); ++o)  // taps that are not there weigh nothing
      for (int k = t.count[o]; k < t.taps; ++k) all[o * static_cast<size_t>(t.taps) + static_cast<size_t>(k)] = 0;
    const Tensor wide = Tensor::of(Shape{std::ssize(all)}, all);
    weight =
        w.table(w.x_type() == DType::f64 ? wide : Tensor::of(wide.shape(), std::vector<float>(all.begin(), all.end())),
                "weights");
  }
  b.open("for (long n = 0; n < {}; ++n)", outer);
  b.open("for (long o = 0; o < {}; ++o)", t.out);
  b.line("{} *const y = {} + (n * {} + o) * {};", type, to, t.out, inner);
  if (weight.empty()) {
    b.line("const {} *const x = {} + (n * {} + {}[o]) * {};", type, from, t.in, at, inner);
    b.line("for (long i = 0; i < {}; ++i) y[i] = x[i];", inner);
  } else {
    b.line("for (long i = 0; i < {}; ++i) y[i] = 0;", inner);
    b.open("for (long k = 0; k < {}; ++k)", t.taps);
    b.line("const {} factor = {}[o * {} + k];", type, weight, t.taps);
    b.line("if (factor == 0) continue;");
    b.line("const {} *const x = {} + (n * {} + {}[o * {} + k]) * {};", type, from, t.in, at, t.taps, inner);
    b.line("for (long i = 0; i < {}; ++i) y[i] += factor * x[i];", inner);
    b.close();
  }
  b.close();
  b.close();
}

void write_resize(StepWriter& w) {
  const auto& a = w.attr<ResizeAttrs>();
  const Shape x = w.x();
  const Reals roi = a.transform == Transform::tf_crop_and_resize ? numbers_if_given(w, 1) : Reals{};
  const Reals scales = numbers_if_given(w, 2);
  const Ints sizes = w.numbers(3);
  if (w.refused()) return;
  const auto targets = resize_targets(a, x, roi, scales, sizes);
  if (!targets.ok()) return w.refuse(targets.error().message());
  std::vector<ResizeTaps> taps;
  for (const ResizeTarget& t : *targets) {
    auto made = resize_taps(a, t);
    if (!made.ok()) return w.refuse(made.error().message());
    for (const uint8_t outside : made->outside)
      if (outside) return w.refuse("resize: places beyond the input have a value of their own");
    if (!made->weight.empty() && !is_float(w.x_type())) return w.refuse("resize: integers are interpolated");
    taps.push_back(std::move(*made));
  }
  std::vector<int64_t> axes;
  for (int64_t axis = x.rank(); axis-- > 0;)
    if (!taps[static_cast<size_t>(axis)].same) axes.push_back(axis);
  std::string from = w.in();
  if (axes.empty()) return w.body().line("for (long i = 0; i < {}; ++i) {}[i] = {}[i];", x.count(), w.out(), from);
  Shape shape = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto& t = taps[static_cast<size_t>(axes[i])];
    shape.set(axes[i], t.out);
    const std::string to = i + 1 == axes.size() ? w.out() : w.scratch(w.x_type(), shape.count());
    resample_axis(w, from, to, shape, axes[i], t);
    from = to;
  }
}

constexpr RowEntry kResizeRows[] = {{"resize", write_resize}};

}  // namespace

std::span<const RowEntry> resize_rows() { return kResizeRows; }

}  // namespace nnex::c_format
