// Rows of elements in an order.

#include "ops/strided.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

/// The k best elements, each put among those found so far: of equal ones the first stands first.
void write_top_k(StepWriter& w) {
  const Shape x = w.x(), y = w.shape(w.node().out[w.wants(0) ? 0 : 1]);
  const int64_t axis = from_front(std::get<int64_t>(w.get("axis")), x.rank());
  const bool largest = std::get<bool>(w.get("largest"));
  const int64_t n = x[axis], k = y[axis], outer = count_between(x, 0, axis),
                step = count_between(x, axis + 1, x.rank());
  const DType type = w.x_type();
  const std::string in = w.in();
  const bool stored = w.wants(0);
  const std::string values = stored ? w.out(0) : w.scratch(type, k), places = w.wants(1) ? w.out(1) : "";
  const int64_t value_step = stored ? step : 1;
  Text& b = w.body();
  b.open("for (long o = 0; o < {}; ++o)", outer * step);
  b.line("const {} *const from = {} + o / {} * {} + o % {};", c_type(type), in, step, n * step, step);
  const std::string first = fmt::format("o / {} * {} + o % {}", step, k * step, step);
  b.line("{} *const best = {};", c_type(type), stored ? values + " + " + first : values);
  if (!places.empty()) b.line("int64_t *const place = {} + {};", places, first);
  b.line("long found = 0;");
  b.open("for (long i = 0; i < {}; ++i)", n);
  b.line("const {} v = from[i * {}];", c_type(type), step);
  b.line("long at = found;");
  b.open("for (; at > 0; at--)");
  b.line("const {} other = best[(at - 1) * {}];", c_type(type), value_step);
  const std::string_view nan = !is_float(type) ? ""
                               : largest       ? " || (v != v && other == other)"
                                               : " || (other != other && v == v)";
  b.line("if (!(v {} other{})) break;", largest ? '>' : '<', nan);
  b.close();
  b.line("if (at == {}) continue;", k);
  b.line("if (found < {}) ++found;", k);
  b.open("for (long j = found - 1; j > at; j--)");
  b.line("best[j * {0}] = best[(j - 1) * {0}];", value_step);
  if (!places.empty()) b.line("place[j * {0}] = place[(j - 1) * {0}];", step);
  b.close();
  b.line("best[at * {}] = v;", value_step);
  if (!places.empty()) b.line("place[at * {}] = i;", step);
  b.close();
  b.close();
}

constexpr RowEntry kOrderRows[] = {{"top_k", write_top_k}};

}  // namespace

std::span<const RowEntry> order_rows() { return kOrderRows; }

}  // namespace nnex::c_format
