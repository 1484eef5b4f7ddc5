// Pools, and norms of a window around each element.

#include <algorithm>

#include "ops/int_limits.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/strided.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

/// Loops over the results, and in them over the taps of each axis that has a window.
class WindowLoops {
 public:
  WindowLoops(StepWriter& w, std::vector<AxisWindow> windows) : w_(w), windows_(std::move(windows)) {
    for (const AxisWindow& v : windows_) padded_ |= leaves(v);
  }

  bool padded() const { return padded_; }
  /// Whether windows leave the input on an axis; rounded up, the last one may end beyond the padding.
  static bool leaves(const AxisWindow& v) {
    return v.before != 0 || (v.output - 1) * v.stride - v.before + (v.size - 1) * v.dilation >= v.input;
  }
  const std::vector<AxisWindow>& windows() const { return windows_; }

  void open_results() {
    for (size_t i = 0; i < windows_.size(); ++i)
      w_.body().open("for (long o{0} = 0; o{0} < {1}; ++o{0})", i, windows_[i].output);
  }
  void close_results() {
    for (size_t i = 0; i < windows_.size(); ++i) w_.body().close();
  }

  /// Where the result lies.
  std::string result() const {
    std::string at;
    int64_t step = 1;
    for (size_t i = windows_.size(); i-- > 0; step *= windows_[i].output)
      if (windows_[i].output > 1) at = term('o', i, step, at);
    return at.empty() ? "0" : at;
  }

  /// `body` is written within the loops over taps: its arguments are the offset in x, whether that is inside (empty:
  /// always), and the tap's number.
  void taps(const std::function<void(const std::string&, const std::string&, const std::string&)>& body) {
    size_t open = 0;
    std::string offset, inside, number;
    int64_t step = 1, taps = 1;
    std::vector<std::string> offsets(windows_.size());
    for (size_t i = windows_.size(); i-- > 0;) {
      const AxisWindow& v = windows_[i];
      const bool one = v.size == 1;
      std::string at = fmt::format("o{}", i);
      if (v.stride != 1) at += fmt::format(" * {}", v.stride);
      if (v.before != 0) at += fmt::format(" - {}", v.before);
      if (!one) at += v.dilation == 1 ? fmt::format(" + t{}", i) : fmt::format(" + t{} * {}", i, v.dilation);
      offsets[i] = at;
      if (!one)
        number = fmt::format("t{}{}{}", i, taps == 1 ? "" : fmt::format(" * {}", taps),
                             number.empty() ? "" : " + " + number);
      taps *= v.size;
      offset = term('i', i, step, offset);
      step *= v.input;
      if (leaves(v))
        inside = fmt::format("i{0} >= 0 && i{0} < {1}{2}", i, v.input, inside.empty() ? "" : " && " + inside);
    }
    for (size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i].size != 1) {
        w_.body().open("for (long t{0} = 0; t{0} < {1}; ++t{0})", i, windows_[i].size);
        ++open;
      }
      w_.body().line("const long i{} = {};", i, offsets[i]);
    }
    body(offset.empty() ? "0" : offset, inside, number.empty() ? "0" : number);
    for (; open > 0; --open) w_.body().close();
  }

 private:
  /// "i2 * 16 + " and what follows.
  static std::string term(char index, size_t axis, int64_t step, const std::string& rest) {
    return fmt::format("{}{}{}{}", index, axis, step == 1 ? "" : fmt::format(" * {}", step),
                       rest.empty() ? "" : " + " + rest);
  }

  StepWriter& w_;
  std::vector<AxisWindow> windows_;
  bool padded_ = false;
};

/// The loops of a pool, or nothing where its borders cannot be said.
std::optional<WindowLoops> loops_of(StepWriter& w) {
  const auto& a = w.attr<PoolAttrs>();
  auto windows = windows_over(a, w.x());
  if (!windows.ok()) return w.refuse(windows.error().message()), std::nullopt;
  if (a.channels_last) return w.refuse(fmt::format("{}: channels last", w.row())), std::nullopt;
  WindowLoops loops(w, std::move(*windows));
  const bool plain = a.border == PoolBorder::constant || a.border == PoolBorder::ignore;
  if (loops.padded() && !plain) return w.refuse(fmt::format("{}: a border of elements", w.row())), std::nullopt;
  return loops;
}

/// What stands for a maximum of nothing.
std::string smallest(DType type) {
  if (is_float(type)) return "-INFINITY";
  return literal(Tensor::scalar<int64_t>(int_limits(type).low), 0);
}

void write_max_pool(StepWriter& w) {
  const auto& a = w.attr<PoolAttrs>();
  auto loops = loops_of(w);
  if (!loops) return;
  const bool index = w.wants(1), zeros = a.border == PoolBorder::constant;
  if (index && a.index_as == IndexAs::tensor_column_major)
    return w.refuse("max_pool: indices that count column by column");
  const DType type = w.x_type();
  const std::string in = w.in(), value = w.wants(0) ? w.out(0) : "", place = index ? w.out(1) : "";
  Text& b = w.body();
  loops->open_results();
  b.line("{} best = {};", c_type(type), smallest(type));
  if (index) b.line("long found = -1;");
  b.line("int first = 1;");
  loops->taps([&](const std::string& offset, const std::string& inside, const std::string& number) {
    const bool maybe = !inside.empty();
    if (maybe && !zeros) b.open("if ({})", inside);
    const std::string read = fmt::format("{}[{}]", in, offset);
    b.line("const {} v = {};", c_type(type), maybe && zeros ? fmt::format("{} ? {} : 0", inside, read) : read);
    const std::string_view nan = is_float(type) ? " || (v != v && best == best)" : "";
    const std::string at = a.index_as == IndexAs::window ? number
                           : maybe && zeros              ? fmt::format("{} ? {} : -1", inside, offset)
                                                         : offset;
    b.line("if (first || v > best{}) best = v{};", nan, index ? fmt::format(", found = {}", at) : "");
    b.line("first = 0;");
    if (maybe && !zeros) b.close();
  });
  if (!value.empty()) b.line("{}[{}] = best;", value, loops->result());
  if (index) b.line("{}[{}] = found;", place, loops->result());
  loops->close_results();
}

/// What the sum over a window is divided by: a number, times what depends on the place.
std::string divisor_text(const WindowLoops& loops, Divisor divisor) {
  std::string text;
  int64_t number = 1;
  for (size_t i = 0; i < loops.windows().size() && divisor != Divisor::one; ++i) {
    const AxisWindow& v = loops.windows()[i];
    if (divisor == Divisor::window || !WindowLoops::leaves(v)) {
      number *= v.size;
      continue;
    }
    const bool padded = divisor == Divisor::padded;
    text += fmt::format(" * counted(o{} * {} - {}, {}, {}, {}, {})", i, v.stride, v.before, v.size, v.dilation,
                        padded ? -v.before : 0, v.input + (padded ? v.after : 0));
  }
  return std::to_string(number) + text;
}

template <bool squares>
void write_sum_pool(StepWriter& w) {
  const auto& a = w.attr<PoolAttrs>();
  auto loops = loops_of(w);
  if (!loops) return;
  if (squares && a.p != 2) return w.refuse(fmt::format("lp_pool: p is {}; needed 2", a.p));
  const DType type = w.x_type();
  const std::string in = w.in(), out = w.out();
  const std::string divisor = divisor_text(*loops, divisor_of(a));
  const bool counts = divisor.find("counted") != std::string::npos;
  if (counts) w.need("counted");
  Text& b = w.body();
  loops->open_results();
  b.line("double sum = 0;");
  loops->taps([&](const std::string& offset, const std::string& inside, const std::string&) {
    const std::string test = inside.empty() ? "" : fmt::format("if ({}) ", inside);
    const std::string value = fmt::format("{}[{}]", in, offset);
    b.line("{}sum += {};", test, squares ? square_text(value, type) : value);
  });
  if (counts) b.line("const long taps = {};", divisor);
  const std::string total = squares ? fmt::format("({})sum", c_type(type)) : "sum";
  const std::string mean =
      counts ? fmt::format("(taps ? {} / taps : 0)", total) : fmt::format("({} / {})", total, divisor);
  b.line("{}[{}] = ({}){}{};", out, loops->result(), c_type(type), squares ? "sqrt" : "", mean);
  loops->close_results();
}

// ---- Windows around each element

/// Loops over all elements; in them `sum` of the window around each, zeros beyond the border, then `result`.
void around_each(StepWriter& w, const Ints& size, bool squares,
                 const std::function<std::string(const std::string&)>& result) {
  const Shape x = w.x();
  const Ints steps = row_major_strides(x);
  const std::string in = w.in(), out = w.out();
  Text& b = w.body();
  std::string at, near;
  double volume = 1;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const auto a = static_cast<size_t>(i);
    const bool windowed = a < size.size() && size[a] > 1;
    b.open("for (long i{0} = 0; i{0} < {1}; ++i{0})", i, x[i]);
    at += fmt::format("{}i{} * {}", i ? " + " : "", i, steps[a]);
    near += fmt::format("{}{}{} * {}", i ? " + " : "", windowed ? 'j' : 'i', i, steps[a]);
    if (windowed) volume *= static_cast<double>(size[a]);
  }
  b.line("double sum = 0;");
  int64_t open = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const auto a = static_cast<size_t>(i);
    if (a >= size.size() || size[a] <= 1) continue;
    const int64_t before = (size[a] - 1) / 2, after = size[a] - 1 - before;
    b.open("for (long j{0} = i{0} > {1} ? i{0} - {1} : 0; j{0} <= i{0} + {2} && j{0} < {3}; ++j{0})", i, before, after,
           x[i]);
    ++open;
  }
  const std::string v = fmt::format("{}[{}]", in, x.rank() ? near : "0");
  b.line("sum += {};", squares ? square_text(v, w.x_type()) : v);
  for (; open > 0; --open) b.close();
  b.line("const double mean = sum / {};", literal(volume, DType::f64));
  const std::string place = x.rank() ? at : "0";
  b.line("{}[{}] = ({})({});", out, place, c_type(w.x_type()), result(fmt::format("{}[{}]", in, place)));
  for (int64_t i = 0; i < x.rank(); ++i) b.close();
}

std::string wide_literal(double v) { return literal(v, DType::f64); }

void write_local_response(StepWriter& w) {
  const auto& a = w.attr<LocalResponseNormAttrs>();
  around_each(w, a.size, true, [&](const std::string& x) {
    return fmt::format("{} / pow({} + {} * mean, {})", x, wide_literal(a.bias), wide_literal(a.alpha),
                       wide_literal(a.beta));
  });
}

void write_local_mean(StepWriter& w) {
  around_each(w, w.attr<LocalMeanNormAttrs>().size, false, [](const std::string& x) { return x + " - mean"; });
}

void write_local_variance(StepWriter& w) {
  const auto& a = w.attr<LocalVarianceNormAttrs>();
  around_each(w, a.size, true, [&](const std::string& x) {
    return fmt::format("{} / fmax(sqrt(mean) + {}, {})", x, wide_literal(a.bias), wide_literal(a.epsilon));
  });
}

constexpr RowEntry kWindowRows[] = {
    {"local_response_normalization", write_local_response},
    {"local_mean_normalization", write_local_mean},
    {"local_variance_normalization", write_local_variance},
    {"max_pool", write_max_pool},
    {"box", write_sum_pool<false>},
    {"lp_pool", write_sum_pool<true>},
};

}  // namespace

std::span<const RowEntry> window_rows() { return kWindowRows; }

}  // namespace nnex::c_format
