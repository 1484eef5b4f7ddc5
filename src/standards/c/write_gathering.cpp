// Rows that read or write where indices say.

#include "ops/attention.h"
#include "ops/gather.h"
#include "ops/scatter.h"
#include "ops/strided.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

/// The function that makes a place of an index, or -1.
std::string place_function(StepWriter& w, bool from_end, Outside outside) {
  if (outside == Outside::clamp) return w.need(from_end ? "place_clamped" : "place_clamped_from_start");
  return w.need(from_end ? "place" : "place_from_start");
}

/// Declares `name`, the place of an index in an axis; the step fails where there is none.
void read_place(StepWriter& w, const std::string& name, const std::string& function, const std::string& index,
                int64_t extent, Outside outside) {
  w.body().line("const long {} = {}((int64_t){}, {});", name, function, index, extent);
  if (outside == Outside::clamp) return;
  w.body().line("if ({} < 0) return 0;", name);
  w.may_fail();
}

void copy_row(StepWriter& w, const std::string& to, const std::string& from, int64_t n) {
  w.body().line("for (long j = 0; j < {}; ++j) {}[j] = {}[j];", n, to, from);
}

void write_gather(StepWriter& w) {
  const Shape x = w.x(), index = w.x(1);
  const auto& a = w.attr<GatherAttrs>();
  const int64_t axis = from_front(a.axis, x.rank()), n = x[axis];
  const int64_t outer = count_between(x, 0, axis), inner = count_between(x, axis + 1, x.rank());
  const std::string place = place_function(w, a.from_end, a.outside);
  const std::string in = w.in(), at = w.in(1), out = w.out(), type(c_type(w.x_type()));
  Text& b = w.body();
  b.open("for (long i = 0; i < {}; ++i)", index.count());
  read_place(w, "k", place, at + "[i]", n, a.outside);
  b.open("for (long o = 0; o < {}; ++o)", outer);
  b.line("const {} *const from = {} + (o * {} + k) * {};", type, in, n, inner);
  b.line("{} *const to = {} + (o * {} + i) * {};", type, out, index.count(), inner);
  copy_row(w, "to", "from", inner);
  b.close();
  b.close();
}

void write_gather_elements(StepWriter& w) {
  const Shape x = w.x(), y = w.y();
  const auto& a = w.attr<GatherAttrs>();
  const int64_t axis = from_front(a.axis, x.rank());
  const std::string place = place_function(w, a.from_end, a.outside);
  Ints steps = row_major_strides(x);
  const int64_t step = steps[static_cast<size_t>(axis)];
  steps[static_cast<size_t>(axis)] = 0;
  const Ints dense = row_major_strides(y);
  Nest(y, {{w.out(), dense}, {w.in(1), dense}, {w.in(), steps}}).places(w.body(), [&](const auto& at) {
    read_place(w, "k", place, fmt::format("{}[{}]", w.in(1), at[1]), x[axis], a.outside);
    w.body().line("{}[{}] = {}[{} + k * {}];", w.out(), at[0], w.in(), at[2], step);
  });
}

/// Declares `block`: which of the blocks of x's axes from `batch` on the numbers of an index name.
void read_block(StepWriter& w, const std::string& place, const std::string& index, const Shape& x, int64_t batch,
                int64_t taken, Outside outside) {
  w.body().line("long block = 0;");
  for (int64_t t = 0; t < taken; ++t) {
    const std::string k = fmt::format("k{}", t);
    read_place(w, k, place, fmt::format("{}[i * {} + {}]", index, taken, t), x[batch + t], outside);
    w.body().line("block = block * {} + {};", x[batch + t], k);
  }
}

void write_gather_nd(StepWriter& w) {
  const Shape x = w.x(), index = w.x(1);
  const auto& a = w.attr<GatherNdAttrs>();
  const int64_t batch = a.batch_dims, taken = index[index.rank() - 1];
  const int64_t inner = count_between(x, batch + taken, x.rank()), step = count_between(x, batch, x.rank());
  const int64_t batches = count_between(index, 0, batch), each = count_between(index, batch, index.rank() - 1);
  const std::string place = place_function(w, a.from_end, a.outside);
  const std::string in = w.in(), at = w.in(1), out = w.out(), type(c_type(w.x_type()));
  Text& b = w.body();
  b.open("for (long i = 0; i < {}; ++i)", batches * each);
  read_block(w, place, at, x, batch, taken, a.outside);
  b.line("const {} *const from = {} + i / {} * {} + block * {};", type, in, each, step, inner);
  b.line("{} *const to = {} + i * {};", type, out, inner);
  copy_row(w, "to", "from", inner);
  b.close();
}

void write_one_hot(StepWriter& w) {
  const Shape x = w.x(), y = w.y();
  const auto& a = w.attr<OneHotAttrs>();
  const int64_t axis = from_front(a.axis, y.rank()), depth = y[axis], inner = count_between(x, axis, x.rank());
  if (!is_int(w.x_type())) return w.refuse(fmt::format("one_hot: indices are {}", name(w.x_type())));
  const std::string place = w.need(a.from_end ? "place" : "place_from_start");
  const std::string in = w.in(), values = w.in(2), out = w.out();
  w.body().line("for (long i = 0; i < {}; ++i) {}[i] = {}[0];", y.count(), out, values);
  w.body().open("for (long i = 0; i < {}; ++i)", x.count());
  w.body().line("const long k = {}((int64_t){}[i], {});", place, in, depth);
  w.body().line("if (k >= 0) {0}[i / {1} * {2} + k * {1} + i % {1}] = {3}[1];", out, inner, depth * inner, values);
  w.body().close();
}

/// y = x, then the elements of update where their indices say.
void write_scatter_elements(StepWriter& w) {
  const Shape x = w.x(), some = w.x(1);
  const auto& a = w.attr<ScatterElementsAttrs>();
  const int64_t axis = from_front(a.axis, x.rank());
  const std::string place = place_function(w, a.from_end, a.outside);
  if (a.reduction != Collision::none && !(a.reduction == Collision::add && is_float(w.x_type())))
    return w.refuse("scatter_elements: elements that meet otherwise than by a sum of floats");
  Ints steps = row_major_strides(x);
  const int64_t step = steps[static_cast<size_t>(axis)];
  steps[static_cast<size_t>(axis)] = 0;
  const Ints dense = row_major_strides(some);
  const std::string in = w.in(), index = w.in(1), update = w.in(2), out = w.out();
  w.body().line("for (long i = 0; i < {}; ++i) {}[i] = {}[i];", x.count(), out, in);
  Nest(some, {{out, steps}, {index, dense}}).places(w.body(), [&](const auto& at) {
    read_place(w, "k", place, fmt::format("{}[{}]", index, at[1]), x[axis], a.outside);
    w.body().line("{}[{} + k * {}] {}= {}[{}];", out, at[0], step, a.reduction == Collision::add ? "+" : "", update,
                  at[1]);
  });
}

/// y = x, then the blocks of update where rows of index say.
void write_scatter_nd(StepWriter& w) {
  const Shape x = w.x(), index = w.x(1);
  const auto& a = w.attr<ScatterNdAttrs>();
  const int64_t taken = index[index.rank() - 1], inner = count_between(x, taken, x.rank());
  const std::string place = place_function(w, a.from_end, a.outside);
  if (a.reduction != Collision::none && !(a.reduction == Collision::add && is_float(w.x_type())))
    return w.refuse("scatter_nd: elements that meet otherwise than by a sum of floats");
  const std::string in = w.in(), at = w.in(1), update = w.in(2), out = w.out();
  Text& b = w.body();
  b.line("for (long i = 0; i < {}; ++i) {}[i] = {}[i];", x.count(), out, in);
  b.open("for (long i = 0; i < {}; ++i)", count_between(index, 0, index.rank() - 1));
  read_block(w, place, at, x, 0, taken, a.outside);
  b.line("for (long j = 0; j < {0}; ++j) {1}[block * {0} + j] {2}= {3}[i * {0} + j];", inner, out,
         a.reduction == Collision::add ? "+" : "", update);
  b.close();
}

/// The first steps of each row of a batch backwards.
void write_reverse_sequence(StepWriter& w) {
  const Shape x = w.x();
  const bool time_first = std::get<int64_t>(w.get("time_axis")) == 0;
  const int64_t steps = x[time_first ? 0 : 1], batch = x[time_first ? 1 : 0], inner = count_between(x, 2, x.rank());
  const std::string in = w.in(), lengths = w.in(1), out = w.out();
  Text& b = w.body();
  b.open("for (long n = 0; n < {}; ++n)", batch);
  b.line("if ({0}[n] < 0 || {0}[n] > {1}) return 0;", lengths, steps);
  b.line("const long length = (long){}[n];", lengths);
  b.open("for (long t = 0; t < {}; ++t)", steps);
  b.line("const long from = t < length ? length - 1 - t : t;");
  const auto at = [&](std::string_view t) {
    return time_first ? fmt::format("({} * {} + n) * {}", t, batch, inner)
                      : fmt::format("(n * {} + {}) * {}", steps, t, inner);
  };
  copy_row(w, fmt::format("({} + {})", out, at("t")), fmt::format("({} + {})", in, at("from")), inner);
  b.close();
  b.close();
  w.may_fail();
}

/// Pairs of numbers of each head, turned by the angle of their position.
void write_rotary(StepWriter& w) {
  const auto& a = w.attr<RotaryAttrs>();
  const Shape x = w.x();
  const bool beside = x.rank() == 3, looked_up = w.given(3);
  const int64_t batch = x[0], heads = beside ? a.heads : x[1], positions = x[beside ? 1 : 2];
  const int64_t depth = beside ? x[2] / heads : x[3], pairs = (a.rotary_dim ? a.rotary_dim : depth) / 2;
  const std::string in = w.in(), cos = w.in(1), sin = w.in(2), out = w.out();
  const std::string place = looked_up ? w.need("place") : "", position = looked_up ? w.in(3) : "";
  const std::string_view type = c_type(w.x_type());
  Text& b = w.body();
  b.open("for (long row = 0; row < {}; ++row)", batch * positions);
  if (looked_up)
    read_place(w, "angle", place, position + "[row]", w.x(1)[0], Outside::fault);
  else
    b.line("const long angle = row;");
  b.open("for (long h = 0; h < {}; ++h)", heads);
  b.line("const long at = {};",
         beside ? fmt::format("(row * {} + h) * {}", heads, depth)
                : fmt::format("((row / {0} * {1} + h) * {0} + row % {0}) * {2}", positions, heads, depth));
  b.line("for (long i = {}; i < {}; ++i) {}[at + i] = {}[at + i];", 2 * pairs, depth, out, in);
  b.open("for (long p = 0; p < {}; ++p)", pairs);
  b.line("const {} c = {}[angle * {} + p], s = {}[angle * {} + p];", type, cos, pairs, sin, pairs);
  const std::string first = a.interleaved ? "at + 2 * p" : "at + p";
  const std::string second = a.interleaved ? "at + 2 * p + 1" : fmt::format("at + p + {}", pairs);
  b.line("const {} re = {}[{}], im = {}[{}];", type, in, first, in, second);
  b.line("{}[{}] = c * re - s * im;", out, first);
  b.line("{}[{}] = s * re + c * im;", out, second);
  for (int i = 0; i < 3; ++i) b.close();
}

constexpr RowEntry kGatheringRows[] = {
    {"scatter_nd", write_scatter_nd},   {"reverse_sequence", write_reverse_sequence},
    {"rotary_embedding", write_rotary}, {"scatter_elements", write_scatter_elements},
    {"gather", write_gather},           {"gather_elements", write_gather_elements},
    {"gather_nd", write_gather_nd},     {"one_hot", write_one_hot},
};

}  // namespace

std::span<const RowEntry> gathering_rows() { return kGatheringRows; }

}  // namespace nnex::c_format
