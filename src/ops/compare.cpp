// Comparisons, truth and choice.

#include "ops/compare.h"

#include <cmath>
#include <complex>

#include "ops/answer.h"
#include "ops/codecs.h"
#include "ops/elementwise.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Comparisons: every answer is false where a NaN takes part, but for "not equal".

struct Equal {
  template <class T>
  bool operator()(const T& x, const T& y) const {
    return x == y;
  }
  static bool holds(int order) { return order == 0; }
};
struct NotEqual {
  template <class T>
  bool operator()(const T& x, const T& y) const {
    return !(x == y);
  }
  static bool holds(int order) { return order != 0; }
};
struct Less {
  template <class T>
  bool operator()(T x, T y) const {
    return x < y;
  }
  static bool holds(int order) { return order < 0; }
};
struct LessEqual {
  template <class T>
  bool operator()(T x, T y) const {
    return x <= y;
  }
  static bool holds(int order) { return order <= 0; }
};
struct Greater {
  template <class T>
  bool operator()(T x, T y) const {
    return x > y;
  }
  static bool holds(int order) { return order > 0; }
};
struct GreaterEqual {
  template <class T>
  bool operator()(T x, T y) const {
    return x >= y;
  }
  static bool holds(int order) { return order >= 0; }
};

template <class T, class F>
Status run_compare(Call& c) {
  return write_answers(c, 0, [&](std::span<uint8_t> z) -> Status {
    map_two(c.in<T>(0), c.shape(0), c.in<T>(1), c.shape(1), z, c.out(0).shape(),
            [](const T& x, const T& y) -> uint8_t { return F{}(x, y); });
    return {};
  });
}

/// Formulas compare where the answer is the same for every size the symbols may have.
template <class F>
Status compare_formulas(Call& c) {
  bool decided = true;
  NNEX_TRY(write_answers(c, 0, [&](std::span<uint8_t> z) -> Status {
    map_two(c.in<Dim>(0), c.shape(0), c.in<Dim>(1), c.shape(1), z, c.out(0).shape(),
            [&](const Dim& x, const Dim& y) -> uint8_t {
              auto order = compare(x, y);
              decided = decided && order;
              return order && F::holds(*order);
            });
    return {};
  }));
  if (!decided) return c.fault("the answer depends on symbols");
  return {};
}

template <class F>
constexpr Reference ordered() {
  return typed<float, double, int64_t, uint64_t, Dim>([]<class T>(Call& c) -> Status {
    if constexpr (std::is_same_v<T, Dim>)
      return compare_formulas<F>(c);
    else
      return run_compare<T, F>(c);
  });
}

template <class F>
constexpr Reference equality() {
  Reference r = ordered<F>();
  r.kernels.item[r.kernels.n++] = {DType::str, run_compare<std::string, F>};
  r.kernels.item[r.kernels.n++] = {DType::c64, run_compare<std::complex<float>, F>};
  r.kernels.item[r.kernels.n++] = {DType::c128, run_compare<std::complex<double>, F>};
  return r;
}

// ---- Truth

struct And {
  uint8_t operator()(uint8_t x, uint8_t y) const { return x && y; }
};
struct Or {
  uint8_t operator()(uint8_t x, uint8_t y) const { return x || y; }
};
struct Xor {
  uint8_t operator()(uint8_t x, uint8_t y) const { return !x != !y; }
};

template <class F>
Status run_truth(Call& c) {
  Tensor held_x, held_y;
  NNEX_ASSIGN(auto x, truth_of(c, 0, held_x));
  NNEX_ASSIGN(auto y, truth_of(c, 1, held_y));
  return write_answers(c, 0, [&](std::span<uint8_t> z) -> Status {
    map_two(x, c.shape(0), y, c.shape(1), z, c.out(0).shape(), F{});
    return {};
  });
}

template <class T>
Status run_not(Call& c) {
  return write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    map_one(c.in<T>(0), y, [](T v) -> uint8_t { return v == 0; });
    return {};
  });
}
template <>
Status run_not<Dim>(Call& c) {
  bool decided = true;
  NNEX_TRY(write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    map_one(c.in<Dim>(0), y, [&](const Dim& v) -> uint8_t {
      auto order = compare(v, Dim(0));
      decided = decided && order;
      return order && *order == 0;
    });
    return {};
  }));
  if (!decided) return c.fault("the answer depends on symbols");
  return {};
}

// ---- Kinds of numbers

template <class T>
Status run_is_nan(Call& c) {
  return write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    map_one(c.in<T>(0), y, [](T v) -> uint8_t { return v != v; });
    return {};
  });
}

template <class T>
Status run_is_inf(Call& c) {
  const auto& a = c.attr<IsInfAttrs>();
  return write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    map_one(c.in<T>(0), y, [&](T v) -> uint8_t {
      if constexpr (std::is_floating_point_v<T>)
        return std::isinf(v) && (v < 0 ? a.negative : a.positive);
      else
        return (void)v, (void)a, 0;
    });
    return {};
  });
}

// ---- Choice

template <class T>
Status run_select(Call& c) {
  Tensor held;
  NNEX_ASSIGN(auto condition, truth_of(c, 0, held));
  auto x = c.in<T>(1), y = c.in<T>(2);
  auto z = c.out<T>(0);
  BroadcastWalk<3>(c.out(0).shape(), {&c.shape(0), &c.shape(1), &c.shape(2)})
      .rows([&](int64_t at, const auto& from, int64_t n, const auto& step) {
        const uint8_t* chosen = condition.data() + from[0];
        const T* a = x.data() + from[1];
        const T* b = y.data() + from[2];
        T* out = z.data() + at;
        if (step[0] == 0) {
          const T* from_one = *chosen ? a : b;
          const int64_t pace = *chosen ? step[1] : step[2];
          for (int64_t i = 0; i < n; ++i) out[i] = from_one[i * pace];
          return;
        }
        for (int64_t i = 0; i < n; ++i) out[i] = chosen[i * step[0]] ? a[i * step[1]] : b[i * step[2]];
      });
  return {};
}

// ---- Bits

struct BitAnd {
  template <class T>
  T operator()(T x, T y) const {
    return x & y;
  }
};
struct BitOr {
  template <class T>
  T operator()(T x, T y) const {
    return x | y;
  }
};
struct BitXor {
  template <class T>
  T operator()(T x, T y) const {
    return x ^ y;
  }
};
struct BitNot {
  template <class T>
  T operator()(T x) const {
    return ~x;
  }
};

/// Narrow integers come here widened with their sign, so that a shift by their width or more gives 0 (a left shift
/// drops every bit that is kept) or the sign (a right shift). A negative amount is a huge one.
template <class T>
Status run_bit_shift(Call& c) {
  const bool left = c.attr<BitShiftAttrs>().direction == ShiftDirection::left;
  map_two(c.in<T>(0), c.shape(0), c.in<T>(1), c.shape(1), c.out<T>(0), c.out(0).shape(), [=](T x, T y) -> T {
    const bool far = static_cast<uint64_t>(y) >= 64;
    if (left) return far ? 0 : static_cast<T>(static_cast<uint64_t>(x) << y);
    return far ? (x < T(0) ? static_cast<T>(-1) : 0) : static_cast<T>(x >> y);
  });
  return {};
}

/// Input 0's, as upstream has it, but a 1 needs two bits.
Status answer_precision(PrecisionCall& c) {
  c.result(0, c.compatible() ? c.bits(0) : std::max<int64_t>(c.bits(0), 2));
  return {};
}

// ---- Entries

constexpr AttrType kAnswerFields =
    attrs_of<AnswerAttrs>({field<&AnswerAttrs::result>("result", "Element type of the answers, 0 and 1.")});

constexpr OpRow answer(std::string_view name, std::string_view summary, std::string_view source, Types allowed,
                       Reference reference, List<SpellingRow, 6> spelled, PrecisionFn precision = nullptr) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.precision = precision;
  op.inputs = {{"x", allowed}, {"y", same_type_as("x")}};
  op.outputs = {{"z", type_among(kB | kN, "result")}};
  op.attrs = kAnswerFields;
  op.infer = broadcast_shape;
  op.reference = reference;
  op.spelled = spelled;
  op.elementwise = true;
  return op;
}

constexpr OpRow truth(std::string_view name, std::string_view summary, std::string_view source, Reference reference,
                      List<SpellingRow, 6> spelled) {
  OpRow op = answer(name, summary, source, kL, reference, spelled);
  op.inputs = {{"x", kL}, {"y", kL}};
  return op;
}

constexpr OpRow bits_of_two(std::string_view name, std::string_view summary, std::string_view source,
                            Reference reference, std::string_view in_onnx) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", kI}, {"y", same_type_as("x")}};
  op.outputs = {{"z", same_type_as("x")}};
  op.infer = broadcast_shape;
  op.reference = reference;
  op.spelled = {{onnx, in_onnx, {}, 18}};
  op.elementwise = true;
  return op;
}

/// WebNN's answers are u8.
constexpr SpellingRow in_webnn(std::string_view name) { return {webnn, name, {}, 1, "", {{"result", "'u8'"}}}; }

constexpr OpRow kCompareOps[] = {
    answer("eq", "Whether x equals y; false for NaN.", "NNEF 1.0.5 eq; ONNX Equal-19; WebNN equal()", kA,
           equality<Equal>(), {{nnef, "eq"}, {onnx, "Equal"}, in_webnn("equal")}),
    answer("ne", "Whether x differs from y; true for NaN.", "NNEF 1.0.5 ne; WebNN notEqual()", kA, equality<NotEqual>(),
           {{nnef, "ne"}, in_webnn("notEqual")}),
    answer("lt", "x < y.", "NNEF 1.0.5 lt; ONNX Less-13; WebNN lesser()", kN, ordered<Less>(),
           {{nnef, "lt"}, {onnx, "Less"}, in_webnn("lesser")}),
    answer("le", "x <= y; false for NaN.", "NNEF 1.0.5 le; ONNX LessOrEqual-16; WebNN lesserOrEqual()", kN,
           ordered<LessEqual>(), {{nnef, "le"}, {onnx, "LessOrEqual", {}, 12}, in_webnn("lesserOrEqual")}),
    answer("gt", "x > y.", "NNEF 1.0.5 gt; ONNX Greater-13; WebNN greater(); CVM broadcast_greater", kN,
           ordered<Greater>(),
           {{nnef, "gt"},
            {onnx, "Greater"},
            in_webnn("greater"),
            {cvm, "broadcast_greater", {}, 1, "", {{"result", "'i32'"}}}},
           answer_precision),
    answer("ge", "x >= y; false for NaN.", "NNEF 1.0.5 ge; ONNX GreaterOrEqual-16; WebNN greaterOrEqual()", kN,
           ordered<GreaterEqual>(), {{nnef, "ge"}, {onnx, "GreaterOrEqual", {}, 12}, in_webnn("greaterOrEqual")}),
    truth("and", "Both are true; every number but 0 is.", "NNEF 1.0.5 and; ONNX And-7; WebNN logicalAnd()",
          any(run_truth<And>), {{nnef, "and"}, {onnx, "And"}, in_webnn("logicalAnd")}),
    truth("or", "One of both is true; every number but 0 is.", "NNEF 1.0.5 or; ONNX Or-7; WebNN logicalOr()",
          any(run_truth<Or>), {{nnef, "or"}, {onnx, "Or"}, in_webnn("logicalOr")}),
    truth("xor", "Just one of both is true; every number but 0 is.", "ONNX Xor-7; WebNN logicalXor()",
          any(run_truth<Xor>), {{onnx, "Xor"}, in_webnn("logicalXor")}),
    {
        .name = "not",
        .summary = "x is false; every number but 0 is true.",
        .source = "NNEF 1.0.5 not; ONNX Not-1; WebNN logicalNot()",
        .inputs = {{"x", kL}},
        .outputs = {{"y", type_among(kB | kN, "result")}},
        .attrs = kAnswerFields,
        .infer = same_shape,
        .reference = typed<int64_t, uint64_t, uint8_t, Dim>([]<class T>(Call& c) -> Status { return run_not<T>(c); }),
        .spelled = {{nnef, "not"}, {onnx, "Not"}, in_webnn("logicalNot")},
        .elementwise = true,
    },
    {
        .name = "is_nan",
        .summary = "x is no number; false for every integer.",
        .source = "ONNX IsNaN-20; WebNN isNaN()",
        .inputs = {{"x", kN | kF8}},
        .outputs = {{"y", type_among(kB | kN, "result")}},
        .attrs = kAnswerFields,
        .infer = same_shape,
        .reference =
            typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_is_nan<T>(c); }),
        .spelled = {{onnx, "IsNaN", {}, 9}, in_webnn("isNaN")},
        .elementwise = true,
    },
    {
        .name = "is_inf",
        .summary = "x is infinite, of a sign that counts; false for every integer.",
        .source = "ONNX IsInf-20; WebNN isInfinite()",
        .inputs = {{"x", kN | kF8}},
        .outputs = {{"y", type_among(kB | kN, "result")}},
        .attrs = attrs_of<IsInfAttrs>({field<&IsInfAttrs::result>("result", "Element type of the answers, 0 and 1."),
                                       field<&IsInfAttrs::negative>("negative", "-inf counts."),
                                       field<&IsInfAttrs::positive>("positive", "+inf counts.")}),
        .infer = same_shape,
        .reference =
            typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_is_inf<T>(c); }),
        .spelled = {{onnx,
                     "IsInf",
                     {{"negative", "detect_negative", &int_bool}, {"positive", "detect_positive", &int_bool}},
                     10},
                    in_webnn("isInfinite")},
        .elementwise = true,
    },
    {
        .name = "select",
        .summary = "x where the condition is true, else y.",
        .source = "NNEF 1.0.5 select; ONNX Where-16; WebNN where(); CVM where",
        .inputs = {{"condition", kL}, {"x", kA}, {"y", same_type_as("x")}},
        .outputs = {{"z", same_type_as("x")}},
        .infer = broadcast_shape,
        .precision = select_precision,
        .interval = select_interval,
        .reference = moving([]<class T>(Call& c) -> Status { return run_select<T>(c); }, 1),
        .spelled = {{nnef, "select"}, {onnx, "Where", {}, 9}, {webnn, "where"}, {cvm, "where"}},
        .elementwise = true,
    },
    bits_of_two("bitwise_and", "Bits set in both.", "ONNX BitwiseAnd-18", binary<BitAnd, int64_t, uint64_t>(),
                "BitwiseAnd"),
    bits_of_two("bitwise_or", "Bits set in one or both.", "ONNX BitwiseOr-18", binary<BitOr, int64_t, uint64_t>(),
                "BitwiseOr"),
    bits_of_two("bitwise_xor", "Bits set in just one of both.", "ONNX BitwiseXor-18",
                binary<BitXor, int64_t, uint64_t>(), "BitwiseXor"),
    {
        .name = "bitwise_not",
        .summary = "Every bit turned.",
        .source = "ONNX BitwiseNot-18",
        .inputs = {{"x", kI}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = same_shape,
        .reference = unary<BitNot, int64_t, uint64_t>(),
        .spelled = {{onnx, "BitwiseNot", {}, 18}},
        .elementwise = true,
    },
    {
        .name = "bit_shift",
        .summary = "The bits of x moved by y places; by the width or more: 0, or the sign to the right.",
        .source = "ONNX BitShift-11",
        .inputs = {{"x", kI}, {"y", same_type_as("x")}},
        .outputs = {{"z", same_type_as("x")}},
        .attrs = attrs_of<BitShiftAttrs>(
            {field<&BitShiftAttrs::direction>("direction", "To the left or to the right.", required)}),
        .infer = broadcast_shape,
        .reference = typed<int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_bit_shift<T>(c); }),
        .spelled = {{onnx, "BitShift", {{"direction", "direction", &lower_case}}, 11}},
        .elementwise = true,
    },
};
}  // namespace

std::span<const OpDef> compare_ops() { return stored<kCompareOps>(); }

}  // namespace nnex
