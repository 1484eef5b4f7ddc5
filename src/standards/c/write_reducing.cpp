// Rows that make one element of many, and those that look at all of a row before they give an element.

#include <algorithm>

#include "nnex/elements.h"
#include "ops/int_limits.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/strided.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

/// A tensor's axes in two parts: those that stay, and those that elements are gathered over.
struct Parted {
  Shape kept, gone;
  Ints kept_steps, gone_steps;
};

Parted parted(const Shape& x, const std::vector<bool>& gone) {
  const Ints dense = row_major_strides(x);
  std::vector<int64_t> kept, taken;
  Parted p;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const auto a = static_cast<size_t>(i);
    (gone[a] ? taken : kept).push_back(x[i]);
    (gone[a] ? p.gone_steps : p.kept_steps).push_back(dense[a]);
  }
  p.kept = Shape(kept), p.gone = Shape(taken);
  return p;
}

/// Which axes a list names; `to_end`: from the one named on.
std::vector<bool> named_axes(const Shape& x, const Ints& axes, bool to_end) {
  std::vector<bool> gone(static_cast<size_t>(x.rank()), false);
  for (const int64_t named : axes) {
    const int64_t axis = named < 0 ? named + x.rank() : named;
    for (int64_t i = axis; i < (to_end ? x.rank() : axis + 1); ++i) gone[static_cast<size_t>(i)] = true;
  }
  return gone;
}

std::vector<bool> reduced_of(StepWriter& w, bool empty_is_all, bool to_end) {
  const Shape x = w.x();
  const Ints axes = w.numbers(1);
  if (!w.given(1) || (axes.empty() && empty_is_all)) return std::vector<bool>(static_cast<size_t>(x.rank()), true);
  return named_axes(x, axes, to_end);
}

/// The loops over what stays; `body` gets the elements there: a pointer's text for each operand.
void over_kept(StepWriter& w, const Parted& p, std::vector<std::pair<std::string, Ints>> operands,
               const std::function<void(const std::vector<std::string>&)>& body) {
  std::vector<Access> all;
  for (auto& [name, steps] : operands) all.push_back({name, steps});
  Nest(p.kept, all).places(w.body(), [&](const std::vector<std::string>& at) {
    std::vector<std::string> pointers;
    for (size_t i = 0; i < at.size(); ++i) pointers.push_back(fmt::format("{} + {}", all[i].name, at[i]));
    body(pointers);
  });
}

/// The loops over what goes, by a pointer to its first element.
void over_gone(StepWriter& w, const Parted& p, const std::string& pointer,
               const std::function<void(const std::string&)>& body) {
  Nest(p.gone, {{pointer, p.gone_steps}}, "r").write(w.body(), [&](const auto& at) { body(at[0]); });
}

void declare(StepWriter& w, DType type, std::string_view name, const std::string& pointer, bool written = false) {
  w.body().line("{}{} *const {} = {};", written ? "" : "const ", c_type(type), name, pointer);
}

// ---- Sums

enum class Fold : uint8_t { sum, mean, product, abs, squares, root_of_squares, log_of_sum, log_of_sum_of_exp };

/// Sums of floats whose elements stand evenly are the library's, others are taken in double.
template <Fold fold>
void write_fold(StepWriter& w) {
  const auto& a = w.attr<ReduceAttrs>();
  const Shape x = w.x();
  const DType type = w.x_type();
  const bool real = is_float(type);
  if (!real && fold != Fold::sum && fold != Fold::product && fold != Fold::mean)
    return w.refuse(fmt::format("{}: of integers", w.row()));
  if (type == DType::u64 && fold == Fold::mean) return w.refuse("mean_reduce: of u64");
  const Parted p = parted(x, reduced_of(w, a.when_empty == WhenEmpty::all, a.to_end));
  if (w.refused()) return;
  const std::string_view wide = real ? "double" : fold == Fold::mean ? "int64_t" : "uint64_t";
  const std::string in = w.in(), out = w.out();
  const Nest gone(p.gone, {{"from", p.gone_steps}});
  const bool even = real && (fold == Fold::sum || fold == Fold::mean) && gone.loops() == 1 && p.gone.count() > 0;
  over_kept(w, p, {{in, p.kept_steps}, {out, row_major_strides(p.kept)}}, [&](const auto& at) {
    Text& b = w.body();
    if (even)
      return b.line("*({}) = {}({}, {}, {}){};", at[1], w.need("sum", type), at[0], gone.step(0), p.gone.count(),
                    fold == Fold::mean ? fmt::format(" / {}", p.gone.count()) : "");
    declare(w, type, "from", at[0]);
    if (fold == Fold::log_of_sum_of_exp) {
      b.line("double top = -INFINITY;");
      over_gone(w, p, "from", [&](const std::string& v) { b.line("if ({0} > top || {0} != {0}) top = {0};", v); });
    }
    b.line("{} sum = {};", wide, fold == Fold::product ? 1 : 0);
    over_gone(w, p, "from", [&](const std::string& v) {
      const std::string value = fmt::format("({}){}", wide, v);
      switch (fold) {
        case Fold::product:
          return b.line("sum *= {};", value);
        case Fold::abs:
          return b.line("sum += fabs({});", value);
        case Fold::squares:
        case Fold::root_of_squares:
          return b.line("sum += {};", square_text(v, type));
        case Fold::log_of_sum_of_exp:
          return b.line("sum += exp({} - top);", value);
        default:
          return b.line("sum += {};", value);
      }
    });
    std::string result = "sum";
    if (fold == Fold::mean) result = fmt::format("sum / {}", std::max<int64_t>(p.gone.count(), real ? 0 : 1));
    if (fold == Fold::root_of_squares) result = fmt::format("sqrt(({})sum)", c_type(type));
    if (fold == Fold::log_of_sum) result = fmt::format("log(({})sum)", c_type(type));
    if (fold == Fold::log_of_sum_of_exp) result = "isinf(top) ? top : log(sum) + top";
    b.line("*({}) = ({})({});", at[1], c_type(type), result);
  });
}

void write_moments(StepWriter& w) {
  const auto& a = w.attr<MomentsAttrs>();
  const Parted p = parted(w.x(), reduced_of(w, false, a.to_end));
  if (w.refused()) return;
  const DType type = w.x_type();
  std::vector<std::pair<std::string, Ints>> operands = {{w.in(), p.kept_steps}};
  for (size_t o : {0, 1})
    if (w.wants(o)) operands.emplace_back(w.out(o), row_major_strides(p.kept));
  over_kept(w, p, operands, [&](const auto& at) {
    Text& b = w.body();
    declare(w, type, "from", at[0]);
    b.line("double mean = 0, squares = 0;");
    over_gone(w, p, "from", [&](const std::string& v) { b.line("mean += {};", v); });
    b.line("mean /= {};", p.gone.count());
    over_gone(w, p, "from", [&](const std::string& v) { b.line("squares += ({0} - mean) * ({0} - mean);", v); });
    size_t next = 1;
    if (w.wants(0)) b.line("*({}) = ({})mean;", at[next++], c_type(type));
    if (w.wants(1)) b.line("*({}) = ({})(squares / {});", at[next], c_type(type), p.gone.count());
  });
}

// ---- Extremes

template <bool largest>
void write_extreme(StepWriter& w) {
  const auto& a = w.attr<ExtremeAttrs>();
  const DType type = w.x_type();
  const Parted p = parted(w.x(), reduced_of(w, a.when_empty == WhenEmpty::all, a.to_end));
  if (w.refused()) return;
  std::string first = largest ? "-INFINITY" : "INFINITY";
  if (!is_float(type)) {
    if (type == DType::u64) return w.refuse(fmt::format("{}: of u64", w.row()));
    const IntLimits range = int_limits(type);
    first = literal(Tensor::scalar<int64_t>(largest ? range.low : static_cast<int64_t>(range.high)), 0);
  }
  if (a.initial) first = literal(*a.initial, is_float(type) ? type : DType::f64);
  const std::string in = w.in(), out = w.out();
  over_kept(w, p, {{in, p.kept_steps}, {out, row_major_strides(p.kept)}}, [&](const auto& at) {
    Text& b = w.body();
    declare(w, type, "from", at[0]);
    b.line("{0} best = ({0}){1};", c_type(type), first);
    over_gone(w, p, "from", [&](const std::string& v) {
      if (is_float(type))
        b.line("best = {0} {1} best || {0} != {0} ? {0} : best;", v, largest ? '>' : '<');
      else
        b.line("best = {0} {1} best ? {0} : best;", v, largest ? '>' : '<');
    });
    b.line("*({}) = best;", at[1]);
  });
}

template <bool all>
void write_truth(StepWriter& w) {
  const auto& a = w.attr<TruthReduceAttrs>();
  const Parted p = parted(w.x(), reduced_of(w, a.when_empty == WhenEmpty::all, a.to_end));
  if (w.refused()) return;
  const std::string in = w.in(), out = w.out();
  over_kept(w, p, {{in, p.kept_steps}, {out, row_major_strides(p.kept)}}, [&](const auto& at) {
    declare(w, w.x_type(), "from", at[0]);
    w.body().line("int answer = {};", all ? 1 : 0);
    over_gone(w, p, "from",
              [&](const std::string& v) { w.body().line("answer = answer {} {} != 0;", all ? "&&" : "||", v); });
    w.body().line("*({}) = ({})answer;", at[1], c_type(w.y_type()));
  });
}

template <bool largest>
void write_arg(StepWriter& w) {
  const auto& a = w.attr<ArgReduceAttrs>();
  const DType type = w.x_type();
  const Parted p = parted(w.x(), named_axes(w.x(), a.axes, false));
  if (p.gone.count() == 0) return w.refuse(fmt::format("{}: over nothing", w.row()));
  const std::string in = w.in(), out = w.out();
  over_kept(w, p, {{in, p.kept_steps}, {out, row_major_strides(p.kept)}}, [&](const auto& at) {
    Text& b = w.body();
    declare(w, type, "from", at[0]);
    b.line("{} best = *from;", c_type(type));
    b.line("long n = 0, found = 0;");
    over_gone(w, p, "from", [&](const std::string& v) {
      const std::string_view better = largest ? (a.ties == Ties::last ? ">=" : ">") : a.ties == Ties::last ? "<=" : "<";
      if (is_float(type))
        b.line("if (best == best && ({0} {1} best || {0} != {0})) best = {0}, found = n;", v, better);
      else
        b.line("if ({0} {1} best) best = {0}, found = n;", v, better);
      b.line("++n;");
    });
    b.line("*({}) = ({})found;", at[1], c_type(w.y_type()));
  });
}

template <bool product>
void write_running(StepWriter& w) {
  const auto& a = w.attr<CumulativeAttrs>();
  const Shape x = w.x();
  const Ints named = w.numbers(1);
  if (w.refused()) return;
  const int64_t axis = named[0] < 0 ? named[0] + x.rank() : named[0], n = x[axis];
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < x.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : x[i];
  const DType type = w.x_type();
  const std::string in = w.in(), out = w.out();
  const std::string_view wide = is_float(type) ? c_type(type) : "uint64_t";
  Text& b = w.body();
  b.open("for (long o = 0; o < {}; ++o)", outer);
  b.open("for (long i = 0; i < {}; ++i)", inner);
  b.line("{} running = {};", wide, product ? 1 : 0);
  b.open("for (long k = 0; k < {}; ++k)", n);
  b.line("const long at = (o * {0} + {1}) * {2} + i;", n, a.reverse ? fmt::format("{} - k", n - 1) : "k", inner);
  if (a.exclusive) b.line("{}[at] = ({})running;", out, c_type(type));
  b.line("running = running {} ({}){}[at];", product ? '*' : '+', wide, in);
  if (!a.exclusive) b.line("{}[at] = ({})running;", out, c_type(type));
  for (int i = 0; i < 3; ++i) b.close();
}

// ---- Softmax

template <bool logarithm>
void write_softmax(StepWriter& w) {
  const auto& a = w.attr<SoftmaxAttrs>();
  const DType type = w.x_type();
  const Parted p = parted(w.x(), named_axes(w.x(), a.axes, a.to_end));
  const std::string in = w.in(), out = w.out(), exp = math("exp", type);
  over_kept(w, p, {{in, p.kept_steps}, {out, p.kept_steps}}, [&](const auto& at) {
    Text& b = w.body();
    declare(w, type, "from", at[0]), declare(w, type, "to", at[1], true);
    b.line("{} top = *from;", c_type(type));
    over_gone(w, p, "from", [&](const std::string& v) { b.line("if ({0} > top || {0} != {0}) top = {0};", v); });
    b.line("double sum = 0;");
    Nest(p.gone, {{"from", p.gone_steps}, {"to", p.gone_steps}}, "r").write(b, [&](const auto& v) {
      if (logarithm)
        b.line("sum += {}({} - top);", exp, v[0]);
      else
        b.line("sum += {} = {}({} - top);", v[1], exp, v[0]);
    });
    if (logarithm) b.line("const double shift = (double)top + log(sum);");
    Nest(p.gone, {{"from", p.gone_steps}, {"to", p.gone_steps}}, "r").write(b, [&](const auto& v) {
      if (logarithm)
        b.line("{} = ({})({} - shift);", v[1], c_type(type), v[0]);
      else
        b.line("{0} = ({1})({0} / sum);", v[1], c_type(type));
    });
  });
}

void write_hardmax(StepWriter& w) {
  const auto& a = w.attr<SoftmaxAttrs>();
  const DType type = w.x_type();
  const Parted p = parted(w.x(), named_axes(w.x(), a.axes, a.to_end));
  const std::string in = w.in(), out = w.out();
  over_kept(w, p, {{in, p.kept_steps}, {out, p.kept_steps}}, [&](const auto& at) {
    Text& b = w.body();
    declare(w, type, "from", at[0]), declare(w, type, "to", at[1], true);
    b.line("{} best = *from;", c_type(type));
    b.line("{} *top = to;", c_type(type));
    Nest(p.gone, {{"from", p.gone_steps}, {"to", p.gone_steps}}, "r").write(b, [&](const auto& v) {
      b.line("{} = 0;", v[1]);
      b.line("if (best == best && ({0} > best || {0} != {0})) best = {0}, top = &{1};", v[0], v[1]);
    });
    b.line("*top = 1;");
  });
}

// ---- Norms

/// How an operand that broadcasts to x is read at the places of a set: its steps over what stays, and what goes.
struct Affine {
  std::string name;
  Ints kept, gone;
};

Affine affine_of(StepWriter& w, size_t port, const Shape& own, const Shape& x, const std::vector<bool>& gone) {
  Affine a;
  a.name = w.in(port);
  const Ints steps = broadcast_steps(own, x);
  for (size_t i = 0; i < steps.size(); ++i) (gone[i] ? a.gone : a.kept).push_back(steps[i]);
  return a;
}

/// (x - mean) / sqrt(variance + epsilon) over sets, then scaled and shifted by ports 1 and 2, which have the shapes
/// `affine` where they are given.
void write_normalised(StepWriter& w, const Shape& x, const std::vector<bool>& gone, bool centre, double epsilon,
                      const Shape& affine) {
  const DType type = w.x_type();
  if (w.y_type() != type) return w.refuse(fmt::format("{}: of {} into {}", w.row(), name(type), name(w.y_type())));
  const Parted p = parted(x, gone);
  std::vector<std::pair<std::string, Ints>> operands = {{w.in(), p.kept_steps}};
  std::vector<Access> inner = {{"from", p.gone_steps}};
  std::vector<std::string> names = {"from"};
  const auto add = [&](const std::string& pointer, std::string_view local, const Ints& kept, const Ints& taken) {
    operands.emplace_back(pointer, kept), inner.push_back({std::string(local), taken}), names.emplace_back(local);
  };
  if (w.wants(0)) add(w.out(), "to", p.kept_steps, p.gone_steps);
  for (size_t port : {1, 2}) {
    if (!w.given(port) || !w.wants(0)) continue;
    const Affine a = affine_of(w, port, affine.rank() ? affine : w.x(port), x, gone);
    add(a.name, port == 1 ? "scale" : "offset", a.kept, a.gone);
  }
  const size_t kept = operands.size();
  for (size_t o : {1, 2})
    if (w.wants(o)) operands.emplace_back(w.out(o), row_major_strides(p.kept));
  over_kept(w, p, operands, [&](const auto& at) {
    Text& b = w.body();
    for (size_t i = 0; i < kept; ++i) declare(w, type, names[i], at[i], names[i] == "to");
    b.line("double mean = 0, squares = 0;");
    if (centre) {
      over_gone(w, p, "from", [&](const std::string& v) { b.line("mean += {};", v); });
      b.line("mean /= {};", p.gone.count());
    }
    over_gone(w, p, "from", [&](const std::string& v) { b.line("squares += ({0} - mean) * ({0} - mean);", v); });
    b.line("const double inverse = 1 / sqrt(squares / {} + {});", p.gone.count(), literal(epsilon, DType::f64));
    if (w.wants(0))
      Nest(p.gone, inner, "r").write(b, [&](const auto& v) {
        std::string value = fmt::format("({})(({} - mean) * inverse)", c_type(type), v[0]);
        size_t next = 2;
        if (w.given(1)) value += " * " + v[next++];
        if (w.given(2)) value += " + " + v[next];
        b.line("{} = {};", v[1], value);
      });
    size_t next = kept;
    if (w.wants(1)) b.line("*({}) = ({})mean;", at[next++], c_type(w.y_type(1)));
    if (w.wants(2)) b.line("*({}) = ({})inverse;", at[next], c_type(w.y_type(2)));
  });
}

template <bool centre>
void write_layer_norm(StepWriter& w) {
  const auto& a = w.attr<LayerNormAttrs>();
  if (a.stash != DType::f32 && a.stash != DType::f64) return w.refuse(fmt::format("{}: in {}", w.row(), name(a.stash)));
  write_normalised(w, w.x(), named_axes(w.x(), a.axes, a.to_end), centre, a.epsilon, {});
}

void write_instance_norm(StepWriter& w) {
  const Shape x = w.x();
  std::vector<bool> gone(static_cast<size_t>(x.rank()), true);
  gone[0] = gone[1] = false;
  std::vector<int64_t> along(static_cast<size_t>(x.rank()), 1);
  along[1] = x[1];
  write_normalised(w, x, gone, true, w.attr<InstanceNormAttrs>().epsilon, Shape(along));
}

/// The same over [n, groups, channels of a group, places].
void write_group_norm(StepWriter& w) {
  const Shape x = w.x();
  const auto& a = w.attr<GroupNormAttrs>();
  int64_t places = 1;
  for (int64_t i = 2; i < x.rank(); ++i) places *= x[i];
  const int64_t each = x[1] / a.groups;
  write_normalised(w, {x[0], a.groups, each, places}, {false, false, true, true}, true, a.epsilon,
                   {1, a.groups, each, 1});
}

void write_batch_norm(StepWriter& w) {
  const auto& a = w.attr<BatchNormAttrs>();
  if (a.training || w.wants(1) || w.wants(2)) return w.refuse("batch_normalization: as in training");
  const Shape x = w.x();
  const int64_t axis = a.axis < 0 ? a.axis + x.rank() : a.axis, channels = x[axis];
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < x.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : x[i];
  const std::string in = w.in(), mean = w.in(1), variance = w.in(2), out = w.out();
  const std::string offset = w.given(3) ? w.in(3) + "[c]" : "0", scale = w.given(4) ? w.in(4) + "[c]" : "1";
  const std::string_view type = c_type(w.x_type());
  Text& b = w.body();
  b.open("for (long n = 0; n < {}; ++n)", outer * channels);
  b.line("const long c = n % {};", channels);
  b.line("const double factor = {} / sqrt({}[c] + {});", scale, variance, literal(a.epsilon, DType::f64));
  b.line("const {0} *const from = {1} + n * {2};", type, in, inner);
  b.line("{0} *const to = {1} + n * {2};", type, out, inner);
  b.line("for (long i = 0; i < {}; ++i) to[i] = ({})((from[i] - (double){}[c]) * factor + {});", inner, type, mean,
         offset);
  b.close();
}

/// x by the sum of magnitudes over sets, or the root of the sum of squares.
template <bool squares>
void write_lp_norm(StepWriter& w) {
  const auto& a = w.attr<LpNormAttrs>();
  const DType type = w.x_type();
  const Parted p = parted(w.x(), named_axes(w.x(), a.axes, false));
  const std::string in = w.in(), out = w.out();
  over_kept(w, p, {{in, p.kept_steps}, {out, p.kept_steps}}, [&](const auto& at) {
    Text& b = w.body();
    declare(w, type, "from", at[0]), declare(w, type, "to", at[1], true);
    b.line("double sum = 0;");
    over_gone(w, p, "from", [&](const std::string& v) {
      b.line("sum += {};", squares ? square_text(v, type) : fmt::format("fabs((double){})", v));
    });
    b.line("const {0} norm = ({0}){1}(({0})sum) + {2};", c_type(type), squares ? "sqrt" : "", literal(a.bias, type));
    const bool zero = a.at_zero == AtZero::zero;  // there a NaN stays, too
    b.line("const {0} by = norm > {1}{2} ? norm : {1};", c_type(type), literal(a.epsilon, type),
           zero ? " || norm != norm" : "");
    Nest(p.gone, {{"from", p.gone_steps}, {"to", p.gone_steps}}, "r").write(b, [&](const auto& v) {
      b.line("{} = ({})({}{} / by);", v[1], c_type(type), zero ? "by == 0 ? 0 : " : "", v[0]);
    });
  });
}

constexpr RowEntry kReducingRows[] = {
    {"sum_reduce", write_fold<Fold::sum>},
    {"mean_reduce", write_fold<Fold::mean>},
    {"reduce_prod", write_fold<Fold::product>},
    {"reduce_l1", write_fold<Fold::abs>},
    {"reduce_l2", write_fold<Fold::root_of_squares>},
    {"reduce_sum_square", write_fold<Fold::squares>},
    {"reduce_log_sum", write_fold<Fold::log_of_sum>},
    {"reduce_log_sum_exp", write_fold<Fold::log_of_sum_of_exp>},
    {"moments", write_moments},
    {"max_reduce", write_extreme<true>},
    {"min_reduce", write_extreme<false>},
    {"all_reduce", write_truth<true>},
    {"any_reduce", write_truth<false>},
    {"argmax_reduce", write_arg<true>},
    {"argmin_reduce", write_arg<false>},
    {"cum_sum", write_running<false>},
    {"cum_prod", write_running<true>},
    {"softmax", write_softmax<false>},
    {"log_softmax", write_softmax<true>},
    {"hardmax", write_hardmax},
    {"layer_normalization", write_layer_norm<true>},
    {"rms_normalization", write_layer_norm<false>},
    {"instance_normalization", write_instance_norm},
    {"group_normalization", write_group_norm},
    {"batch_normalization", write_batch_norm},
    {"l1_normalization", write_lp_norm<false>},
    {"l2_normalization", write_lp_norm<true>},
};

}  // namespace

std::span<const RowEntry> reducing_rows() { return kReducingRows; }

}  // namespace nnex::c_format
