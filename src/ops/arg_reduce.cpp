// Where the extremes are, and running sums and products.

#include <vector>

#include "base/checked.h"
#include "base/failure.h"
#include "ops/answer.h"
#include "ops/codecs.h"
#include "ops/reduce.h"
#include "ops/reduction.h"
#include "ops/share_out.h"
#include "ops/stored.h"

namespace nnex {
namespace {

ReduceRule rule_of(const ArgReduceAttrs& a) { return {a.keepdims, false, false}; }

Status infer_arg_reduce(InferCall& c) {
  const auto& a = c.attr<ArgReduceAttrs>();
  if (!is_int(a.result)) return c.error("result is {}; needed an integer type", name(a.result));
  NNEX_ASSIGN(MaybeDims out, reduced_dims(c, 0, a.axes, rule_of(a)));
  if (c.dims(0) && out && product(*c.dims(0)) == Dim(0) && product(*out).number().value_or(0) > 0)
    return c.error("found axes of 0 elements; needed at least 1");
  c.result(0, std::move(out));
  return {};
}

/// Position of the extreme: the first NaN, else the first or last of the equal ones. The set has elements.
template <bool largest, class T>
int64_t extreme_position(const ElementSet<T>& set, Ties ties) {
  int64_t best = 0;
  for (int64_t i = 0; i < set.n; ++i) {
    const T x = set[i], top = set[best];
    if (x != x) return i;
    if ((largest ? x > top : x < top) || (ties == Ties::last && x == top)) best = i;
  }
  return best;
}

template <class T, bool largest>
Status run_arg_reduce(Call& c) {
  const auto& a = c.attr<ArgReduceAttrs>();
  NNEX_ASSIGN(Reduction r, reduction(c, 0, a.axes, rule_of(a)));
  NNEX_ASSIGN(Tensor * out, c.make(0, a.result, r.result()));
  if (c.in(0).count() == 0 && out->count() > 0) return c.fault("found axes of 0 elements; needed at least 1");
  auto fill = [&](auto write) {
    r.each(c.in<T>(0), [&](int64_t o, const ElementSet<T>& set) { write(o, extreme_position<largest>(set, a.ties)); });
  };
  if (a.result == DType::i64)
    fill([y = out->mutable_as<int64_t>()](int64_t o, int64_t at) { y[static_cast<size_t>(o)] = at; });
  else
    fill([out](int64_t o, int64_t at) { set_int(*out, o, at); });
  return {};
}

template <bool largest>
constexpr Reference arg_reduce() {
  return typed<float, double, int64_t, uint64_t>(
      []<class T>(Call& c) -> Status { return run_arg_reduce<T, largest>(c); });
}

// ---- Running sums and products

Status infer_cumulative(InferCall& c) {
  NNEX_TRY(need_number(c, 1));
  if (auto axis = c.values(1); axis && c.rank(0)) {
    if ((*axis)[0].is_number()) NNEX_TRY(positive_axis(c, (*axis)[0].value(), *c.rank(0)));
  }
  return same_shape(c);
}

struct RunningSum {
  static constexpr int64_t kStart = 0;
  template <class T>
  static T next(T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>) return wrap_add(a, b);
    return a + b;
  }
};
struct RunningProduct {
  static constexpr int64_t kStart = 1;
  template <class T>
  static T next(T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>) return wrap_mul(a, b);
    return a * b;
  }
};

/// One line of n elements.
template <class F, class T>
void run_line(const CumulativeAttrs& a, const T* x, T* y, int64_t n) {
  const int64_t step = a.reverse ? -1 : 1;
  const bool exclusive = a.exclusive;
  T running = static_cast<T>(F::kStart);
  for (int64_t k = 0, at = a.reverse ? n - 1 : 0; k < n; ++k, at += step) {
    const T so_far = running;
    running = F::next(so_far, x[at]);
    y[at] = exclusive ? so_far : running;
  }
}

/// From one end of the axis to the other in x's own type; exclusive: each element without itself.
template <class T, class F>
Status run_cumulative(Call& c) {
  const auto& a = c.attr<CumulativeAttrs>();
  const Shape& shape = c.shape(0);
  if (c.in(1).count() != 1) return c.fault("axis has {} numbers; needed one", c.in(1).count());
  int64_t axis = int_at(c.in(1), 0);
  if (axis < -shape.rank() || axis >= shape.rank())
    return c.fault("axis {} is outside [{}, {}]", axis, -shape.rank(), shape.rank() - 1);
  if (axis < 0) axis += shape.rank();
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  const int64_t n = shape[axis];
  const T* const x = c.in<T>(0).data();
  T* const y = c.out<T>(0).data();
  share_out(c, outer, c.in(0).bytes() * 4, [&](int64_t begin, int64_t end) {  // each waits for the one before
    if (inner == 1) {
      for (int64_t o = begin; o < end; ++o) run_line<F>(a, x + o * n, y + o * n, n);
      return;
    }
    std::vector<T> running(static_cast<size_t>(inner));
    for (int64_t o = begin; o < end; ++o) {
      std::fill(running.begin(), running.end(), static_cast<T>(F::kStart));
      for (int64_t k = 0; k < n; ++k) {
        const int64_t row = (o * n + (a.reverse ? n - 1 - k : k)) * inner;
        for (int64_t i = 0; i < inner; ++i) {
          T& sum = running[static_cast<size_t>(i)];
          const T so_far = sum;
          sum = F::next(so_far, x[row + i]);
          y[row + i] = a.exclusive ? so_far : sum;
        }
      }
    }
  });
  return {};
}

template <class F>
constexpr Reference cumulative() {
  return typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_cumulative<T, F>(c); });
}

// ---- Codecs

Result<AttrValue> ties_from_last(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(std::string(*i ? "last" : "first"));
  return failure(Code::invalid_model, "found {}; needed 0 or 1", text(v));
}
Result<AttrValue> last_from_ties(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  return AttrValue(int64_t{s && *s == "last"});
}
const Codec kSelectLast = {"select_last_index", ties_from_last, last_from_ties};

// ---- Entries

constexpr OpRow arg_row(std::string_view name, std::string_view summary, std::string_view source, Reference reference,
                        std::string_view in_onnx, std::string_view in_webnn) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", kN}};
  op.outputs = {{"index", type_among(kI, "result")}};
  op.attrs = attrs_of<ArgReduceAttrs>(
      {field<&ArgReduceAttrs::axes>("axes", "Axes searched together; the index is row-major among them."),
       field<&ArgReduceAttrs::keepdims>("keepdims", "Reduced axes stay, with extent 1."),
       field<&ArgReduceAttrs::ties>("ties", "Which of several equal ones is named."),
       field<&ArgReduceAttrs::result>("result", "Element type of the index.")});
  op.infer = infer_arg_reduce;
  op.reference = reference;
  op.spelled = {{nnef, name},
                {onnx,
                 in_onnx,
                 {{"axes", "axis", &one_item_list},
                  {"keepdims", "keepdims", &int_bool},
                  {"ties", "select_last_index", &kSelectLast}}},
                {webnn,
                 in_webnn,
                 {{"axes", "axis", &one_item_list}, {"keepdims", "keepDimensions"}, {"result", "outputDataType"}},
                 1,
                 "",
                 {{"keepdims", "false"}, {"result", "'i32'"}}}};
  return op;
}

constexpr OpRow cumulative_row(std::string_view name, std::string_view summary, std::string_view source,
                               Reference reference, List<SpellingRow, 6> spelled) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", kN}, {.name = "axis", .type = kIndex, .by_value = true}};
  op.outputs = {{"y", same_type_as("x")}};
  op.attrs = attrs_of<CumulativeAttrs>({field<&CumulativeAttrs::exclusive>("exclusive", "Each element without itself."),
                                        field<&CumulativeAttrs::reverse>("reverse", "From the end of the axis.")});
  op.infer = infer_cumulative;
  op.reference = reference;
  op.spelled = spelled;
  return op;
}

constexpr OpRow kArgReduceOps[] = {
    arg_row("argmax_reduce", "Where the maximum is; the first NaN wins.",
            "NNEF 1.0.5 argmax_reduce; ONNX ArgMax-13; WebNN argMax()", arg_reduce<true>(), "ArgMax", "argMax"),
    arg_row("argmin_reduce", "Where the minimum is; the first NaN wins.",
            "NNEF 1.0.5 argmin_reduce; ONNX ArgMin-13; WebNN argMin()", arg_reduce<false>(), "ArgMin", "argMin"),
    cumulative_row("cum_sum", "Sums of everything up to each element; integers wrap.",
                   "ONNX CumSum-14; WebNN cumulativeSum()", cumulative<RunningSum>(),
                   {{onnx, "CumSum", {{"exclusive", "exclusive", &int_bool}, {"reverse", "reverse", &int_bool}}, 11},
                    {webnn, "cumulativeSum", {{"axis", "axis"}, {"reverse", "reversed"}}}}),
    cumulative_row("cum_prod", "Products of everything up to each element; integers wrap.", "ONNX CumProd-26",
                   cumulative<RunningProduct>(),
                   {{onnx, "CumProd", {{"exclusive", "exclusive", &int_bool}, {"reverse", "reverse", &int_bool}}, 26}}),
};
}  // namespace

std::span<const OpDef> arg_reduce_ops() { return stored<kArgReduceOps>(); }

}  // namespace nnex
