// What rows of the table need before NNEF's words fit them: the reverse of what its reader does.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "graph/queries.h"
#include "ops/int_limits.h"
#include "standards/nnef/export_document.h"
#include "standards/nnef/weights.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

bool computed(const Document& to, const WriteNode& w) {
  return std::any_of(w.plain.in.begin(), w.plain.in.end(),
                     [&](ValueId v) { return v.valid() && !to.graph()[v].is_constant(); });
}

Ints range(int64_t from, int64_t to) {
  Ints out;
  for (int64_t i = from; i < to; ++i) out.push_back(i);
  return out;
}

// ---- Broadcasting

/// Extents meet from axis 0: operands of lower rank get extents of 1 in front.
Status align(Document& to, WriteNode& w) {
  const size_t rank = to.rank(w.out[0]);
  const bool literals = computed(to, w);
  // Extents of 1 behind an operand's need not be said where another one has as many axes.
  bool full = false;
  for (ValueId v : w.plain.in) full |= v.valid() && to.rank(v) == rank && !to.without_trailing_ones(v).valid();
  for (size_t i = 0; i < w.plain.in.size(); ++i) {
    if (!w.given(i)) continue;
    const bool whole = full && to.rank(w.plain.in[i]) == rank;  // of a lower rank, ones stand in front
    if (const ValueId plain = to.without_trailing_ones(w.plain.in[i]); whole && plain.valid()) {
      NNEX_ASSIGN(w.text[i], to.operand(plain, literals));
    } else {
      NNEX_ASSIGN(w.text[i], to.aligned(w.plain.in[i], rank, literals));
    }
  }
  return {};
}

Status truths(Document& to, WriteNode& w) {
  w.whole = Whole::kept;
  return align(to, w);
}

Status sums(Document& to, WriteNode& w) {
  w.whole = Whole::grown;
  return align(to, w);
}

Status kept(Document&, WriteNode& w) {
  w.whole = Whole::kept;
  return {};
}

Status grown(Document&, WriteNode& w) {
  w.whole = Whole::grown;
  return {};
}

/// A whole exponent of reals is a number like any other.
Status pow(Document& to, WriteNode& w) {
  const Tensor* exponent = to.graph().constant_in(*w.node, 1);
  const bool reals = is_real(to.graph()[w.plain.in[0]].type.dtype);
  if (reals && exponent && exponent->shape().scalar() && is_int(exponent->dtype()) && computed(to, w)) {
    NNEX_ASSIGN(const std::string x, to.operand(w.plain.in[0], false));
    to.define(w.out[0], fmt::format("pow({}, {})", x, real_text(static_cast<double>(int_at(*exponent, 0)))));
    w.written = true;
    return {};
  }
  return align(to, w);
}

/// NNEF defines numbers alone; a NaN gives what its comparisons do.
Status of_nans(Document&, WriteNode& w) {
  w.whole = Whole::kept;
  w.set("nans", std::string("compare"));
  return {};
}

Status extreme(Document& to, WriteNode& w) {
  NNEX_TRY(of_nans(to, w));
  return align(to, w);
}

/// A bound that is absent: the other one alone.
Status clamp(Document& to, WriteNode& w) {
  NNEX_TRY(of_nans(to, w));
  const bool low = w.given(1), high = w.given(2);
  const Tensor *min = low ? to.graph().constant_in(*w.node, 1) : nullptr,
               *max = high ? to.graph().constant_in(*w.node, 2) : nullptr;
  if (min && max && min->count() == 1 && max->count() == 1 && real_at(*min, 0) <= real_at(*max, 0))
    w.reset("crossed");  // they are not
  if (low && high) return align(to, w);
  NNEX_ASSIGN(const std::string x, to.aligned(w.plain.in[0], to.rank(w.out[0]), false));
  if (!low && !high) {
    to.define(w.out[0], fmt::format("copy({})", x));
  } else {
    if (!is_real(to.graph()[w.plain.in[0]].type.dtype)) return cannot(w, "NNEF's takes scalar tensors");
    NNEX_ASSIGN(const std::string bound, to.aligned(w.plain.in[low ? 1 : 2], to.rank(w.out[0]), true));
    to.define(w.out[0], fmt::format("{}({}, {})", low ? "max" : "min", x, bound));
  }
  w.written = true;
  return {};
}

// ---- Moving elements

Status reshape(Document& to, WriteNode& w) {
  const Ints e = to.extents(w.out[0]);
  if (std::find(e.begin(), e.end(), 0) != e.end()) return cannot(w, "an extent of 0");
  NNEX_ASSIGN(const std::string x, to.operand(w.plain.in[0], false));
  to.define(w.out[0], fmt::format("reshape({}, shape = {})", x, extents_text(e)));
  w.written = true;
  return {};
}

Status expand(Document& to, WriteNode& w) {
  const Ints y = to.extents(w.out[0]);
  Ints x = to.extents(w.plain.in[0]), repeats;
  if (x.size() > y.size()) return cannot(w, "the result has fewer axes");
  x.insert(x.begin(), y.size() - x.size(), 1);
  for (size_t i = 0; i < y.size(); ++i) repeats.push_back(y[i] / std::max<int64_t>(x[i], 1));
  if (std::find(y.begin(), y.end(), 0) != y.end()) return cannot(w, "an extent of 0");
  if (const Tensor* one = to.graph()[w.plain.in[0]].constant.tensor(); one && one->count() == 1)
    if (const auto text = to.constant_text(*one, y)) {
      to.define(w.out[0], *text);
      w.written = true;
      return {};
    }
  NNEX_ASSIGN(const std::string from, to.view(w.plain.in[0], x));
  to.define(w.out[0], fmt::format("tile({}, repeats = {})", from, extents_text(repeats)));
  w.written = true;
  return {};
}

Status transpose(Document& to, WriteNode& w) {
  Ints axes = w.ints("axes");
  const auto rank = static_cast<int64_t>(to.rank(w.plain.in[0]));
  if (axes.empty())
    for (int64_t i = rank; i-- > 0;) axes.push_back(i);
  w.set("axes", std::move(axes));
  return {};
}

/// Begin and end as NNEF counts them: in the axis, or for steps backwards to its start -(extent + 1).
Status slice(Document& to, WriteNode& w) {
  NNEX_ASSIGN(Ints begin, to.numbers(w, 1, "begin"));
  NNEX_ASSIGN(Ints end, to.numbers(w, 2, "end"));
  const Ints x = to.extents(w.plain.in[0]);
  Ints axes = range(0, static_cast<int64_t>(begin.size())), stride(begin.size(), 1);
  if (w.given(3)) {
    NNEX_ASSIGN(axes, to.numbers(w, 3, "axes"));
  }
  if (w.given(4)) {
    NNEX_ASSIGN(stride, to.numbers(w, 4, "stride"));
  }
  if (axes.size() != begin.size() || stride.size() != begin.size() || end.size() != begin.size())
    return cannot(w, "lists of different lengths");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) axes[i] += static_cast<int64_t>(x.size());
    const int64_t n = x[static_cast<size_t>(axes[i])], last = stride[i] > 0 ? n : n - 1, min = stride[i] > 0 ? 0 : -1;
    const auto placed = [&](int64_t at) { return std::clamp(at < 0 ? at + n : at, min, last); };
    begin[i] = placed(begin[i]);
    end[i] = placed(end[i]);
    // Without elements; an end of 0 would be another.
    if (stride[i] > 0 && end[i] <= begin[i] && n > 0) begin[i] = end[i] = std::max<int64_t>(end[i], 1);
    if (stride[i] > 0 ? end[i] < begin[i] : end[i] >= begin[i]) return cannot(w, "a result without elements");
    if (end[i] < 0) end[i] = -(n + 1);
  }
  const bool plain = std::all_of(stride.begin(), stride.end(), [](int64_t s) { return s == 1; });
  w.plain.known.clear();
  w.know("begin", std::move(begin));
  w.know("end", std::move(end));
  w.know("axes", std::move(axes));
  w.know("stride", plain ? Ints{} : std::move(stride));
  return {};
}

/// Parts by their relation: extents over their greatest common divisor.
Status split(Document& to, WriteNode& w) {
  const AttrValue axis = w.get("axis");
  Ints ratios;
  for (ValueId v : w.out) {
    if (!v.valid()) return cannot(w, "a part that nobody named");
    ratios.push_back(to.extents(v)[static_cast<size_t>(std::get<int64_t>(axis))]);
  }
  int64_t divisor = 0;
  for (int64_t r : ratios) divisor = std::gcd(divisor, r);
  if (std::find(ratios.begin(), ratios.end(), 0) != ratios.end()) return cannot(w, "a part without elements");
  for (int64_t& r : ratios) r /= divisor;
  w.plain.in.resize(1);
  w.set("ratios", std::move(ratios));
  w.reset("chunks");
  return {};
}

/// Padding of some axes as padding of all.
Status pad(Document& to, WriteNode& w) {
  w.whole = Whole::kept;
  if (w.word("border") == "wrap") return cannot(w, "NNEF has no border 'wrap'");
  NNEX_ASSIGN(const Ints halves, to.numbers(w, 1, "padding"));
  const auto rank = static_cast<int64_t>(to.rank(w.plain.in[0]));
  Ints axes = range(0, rank);
  if (w.given(3)) {
    NNEX_ASSIGN(axes, to.numbers(w, 3, "axes"));
  }
  if (halves.size() != 2 * axes.size()) return cannot(w, "padding and axes of different lengths");
  Ints all(static_cast<size_t>(2 * rank));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    all[axis] = halves[i];
    all[axis + static_cast<size_t>(rank)] = halves[i + axes.size()];
  }
  w.plain.known.clear();
  w.know("padding", std::move(all));
  if (w.given(3)) w.plain.in[3] = {};
  return {};
}

/// Indices from the end are not NNEF's: known ones are counted from the start; those that only a run knows fault there.
Status gather(Document& to, WriteNode& w) {
  const bool counted = w.flag("from_end");
  w.set("from_end", false);
  const Tensor* index = to.graph().constant_in(*w.node, 1);
  if (!index && counted && !is_unsigned_int(to.graph()[w.plain.in[1]].type.dtype)) to.count_from_start(w);
  if (!index) return {};
  const AttrValue axis = w.get("axis");
  const int64_t n = to.extents(w.plain.in[0])[static_cast<size_t>(std::get<int64_t>(axis))];
  NNEX_ASSIGN(Tensor placed, convert(*index, DType::i64));
  NNEX_ASSIGN(placed, placed.clone());
  bool below = false;
  for (int64_t& i : placed.mutable_as<int64_t>())
    if (i < 0) i += n, below = true;
  if (below) {
    NNEX_ASSIGN(w.text[1], to.written(placed, "index"));
  }
  return {};
}

/// Whether every number of an integer type is one of the other, too.
bool holds(DType type, DType other) {
  if (other == DType::boolean || type == other) return true;
  if (is_unsigned_int(type)) return is_unsigned_int(other) && bits(other) <= bits(type);
  return bits(other) + (is_unsigned_int(other) ? 1 : 0) <= bits(type);
}

/// Whether a value lies within the limits of an integer type, since a clamp put it there; rounding leaves it there.
bool is_limited(const ir::Graph& graph, ValueId v, DType type) {
  if (const Node* round = made_by(graph, v, "round")) v = round->in[0];
  const Node* clamp = made_by(graph, v, "clamp");
  const auto low = clamp ? real_constant(graph, clamp->in[1]) : std::nullopt,
             high = clamp ? real_constant(graph, clamp->in[2]) : std::nullopt;
  const IntLimits limits = int_limits(type);
  return low && high && *low >= static_cast<double>(limits.low) && *high <= static_cast<double>(limits.high);
}

Status cast(Document& to, WriteNode& w) {
  if (to.is_shared(w.plain.in[0], w.out[0])) {
    w.written = true;
    return {};
  }
  if (to.gives_places(w.plain.in[0])) {
    NNEX_ASSIGN(const std::string places, to.operand(w.plain.in[0], false));
    to.define(w.out[0], fmt::format("copy({})", places));
    w.written = true;
    return {};
  }
  const AttrValue value = w.get("to");
  const DType wanted = std::get<DType>(value), found = to.graph()[w.plain.in[0]].type.dtype;
  const auto type = item_type_of(wanted), from = item_type_of(found);
  if (!type || !from) return cannot(w, fmt::format("from {} to {}", name(found), name(wanted)));
  const bool cut = is_int(found) ? bits(wanted) < 64 && !holds(wanted, found)
                                 : found != DType::boolean && bits(wanted) < 32 && bits(found) > bits(wanted);
  const bool limited = is_limited(to.graph(), w.plain.in[0], wanted);
  const bool saturates = is_real(found) && bits(wanted) >= 8 && bits(wanted) <= 16;  // at limits that float32 holds
  if (is_int(wanted) && cut && !limited && !saturates)
    return cannot(w, fmt::format("integers of NNEF have no width, so nothing is cut to {}", name(wanted)));
  if (found == DType::u64 && is_real(wanted))
    return cannot(w, "integers of NNEF have a sign, so those of uint64 are not all numbers there");
  if (is_real(wanted) && bits(wanted) < 32 && wanted != found && (!is_real(found) || bits(wanted) <= bits(found)))
    return cannot(w, fmt::format("reals of NNEF have no width, so nothing is rounded to {}", name(wanted)));
  w.written = true;
  // Items of a tensor file have a width, tensors of a document have none: weights stored narrow are no other tensor.
  if (type == from && to.graph()[w.plain.in[0]].is_constant() && !is_result(to.graph(), w.out[0]))
    return to.stand_for(w.out[0], w.plain.in[0]);
  NNEX_ASSIGN(std::string x, to.operand(w.plain.in[0], false));
  if (type == from) {
    to.define(w.out[0], fmt::format("copy({})", x));
    return {};
  }
  if (is_int(wanted) && cut && !limited) {
    const IntLimits range = int_limits(wanted);
    x = to.line(x + "_cut", fmt::format("clamp({}, {}, {})", x, real_text(static_cast<double>(range.low)),
                                        real_text(static_cast<double>(range.high))));
  }
  if (is_real(found) && is_int(wanted) && w.word("rounding") == "truncate") {
    const std::string down =
        to.line(x + "_down", fmt::format("floor({})", to.line(x + "_abs", fmt::format("abs({})", x))));
    x = to.line(x + "_whole", fmt::format("mul({}, {})", to.line(x + "_sign", fmt::format("sign({})", x)), down));
  }
  to.define(w.out[0], fmt::format("cast<{}>({})", name(*type), x));
  return {};
}

// ---- Products and normalisations

/// Operands of one rank, at least 2: vectors become matrices, and the result is shaped back.
Status matmul(Document& to, WriteNode& w) {
  Ints a = to.extents(w.plain.in[0]), b = to.extents(w.plain.in[1]);
  if (a.empty() || b.empty()) return cannot(w, "an operand of rank 0");
  w.reshape = a.size() == 1 || b.size() == 1;
  if (w.reshape && (w.flag("transposeA") || w.flag("transposeB"))) return cannot(w, "a vector is transposed");
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  NNEX_ASSIGN(w.text[0], to.view(w.plain.in[0], a));
  NNEX_ASSIGN(w.text[1], to.view(w.plain.in[1], b));
  w.whole = Whole::grown;
  return {};
}

/// A window has an extent for every axis in NNEF.
Status windowed(Document& to, WriteNode& w) {
  Ints size = w.ints("size");
  size.resize(std::max(size.size(), to.rank(w.plain.in[0])), 1);
  w.set("size", std::move(size));
  return {};
}

/// alpha (x filter) + beta bias, in words where NNEF's linear, which has no factors and a transposed filter, is
/// another.
Status linear(Document& to, WriteNode& w) {
  const size_t rank = to.rank(w.out[0]);
  const AttrValue alpha = w.get("alpha"), beta = w.get("beta");
  const bool factors = std::get<double>(alpha) != 1 || (w.given(2) && std::get<double>(beta) != 1);
  if (!factors && !w.flag("transposeA") && w.flag("transposeB")) {
    w.reset("beta");
    if (!w.given(2)) return {};
    const ValueId plain = to.without_trailing_ones(w.plain.in[2]);
    NNEX_ASSIGN(w.text[2], plain.valid() ? to.operand(plain, true) : to.aligned(w.plain.in[2], rank, true));
    return {};
  }
  if (!is_real(to.graph()[w.plain.in[0]].type.dtype)) return cannot(w, "NNEF's products take scalar tensors");
  NNEX_ASSIGN(const std::string x, to.operand(w.plain.in[0], false));
  NNEX_ASSIGN(const std::string filter, to.operand(w.plain.in[1], false));
  std::string call = fmt::format("matmul({}, {}{}{})", x, filter, w.flag("transposeA") ? ", transposeA = true" : "",
                                 w.flag("transposeB") ? ", transposeB = true" : "");
  if (std::get<double>(alpha) != 1)
    call = fmt::format("mul({}, {})", to.line(x + "_product", call), attribute_text(alpha, true));
  if (w.given(2)) {
    NNEX_ASSIGN(std::string bias, to.aligned(w.plain.in[2], rank, true));
    if (std::get<double>(beta) != 1)
      bias = to.line(x + "_bias", fmt::format("mul({}, {})", bias, attribute_text(beta, true)));
    call = fmt::format("add({}, {})", to.line(x + "_product", call), bias);
  }
  to.define(w.out[0], call);
  w.written = true;
  return {};
}

Status batch_normalization(Document& to, WriteNode& w) {
  const AttrValue axis = w.get("axis"), epsilon = w.get("epsilon");
  const Ints x = to.extents(w.plain.in[0]);
  if (w.flag("training") || w.out.size() > 1) return cannot(w, "NNEF has no training");
  if (std::get<int64_t>(axis) != 1 || x.size() < 2) return cannot(w, "NNEF's channels are axis 1");
  NNEX_ASSIGN(std::string args, to.operand(w.plain.in[0], false));
  for (size_t i = 1; i < 5; ++i) {
    std::string text = i == 4 ? "1.0" : "0.0";
    if (const ValueId one = w.given(i) ? to.repeated_element(w.plain.in[i]) : ValueId{}; one.valid()) {
      NNEX_ASSIGN(text, to.operand(one, true));
    } else if (w.given(i)) {
      NNEX_ASSIGN(text, to.channels(w.plain.in[i], x[1]));
    }
    args += ", " + text;
  }
  to.define(w.out[0], fmt::format("batch_normalization({}, epsilon = {})", args, attribute_text(epsilon, true)));
  w.written = true;
  return {};
}

constexpr PrepareRow kRows[] = {
    {"add", sums},
    {"sub", sums},
    {"mul", sums},
    {"div", align},
    {"min", extreme},
    {"max", extreme},
    {"relu", of_nans},
    {"pow", pow},
    {"lt", truths},
    {"gt", truths},
    {"le", truths},
    {"ge", truths},
    {"eq", truths},
    {"ne", truths},
    {"and", align},
    {"or", align},
    {"select", align},
    {"prelu", align},
    {"add_n", align},
    {"clamp", clamp},
    {"min_max_linear_quantize", align},
    {"zero_point_linear_quantize", align},
    {"logarithmic_quantize", align},
    {"reshape", reshape},
    {"flatten", reshape},
    {"expand", expand},
    {"transpose", transpose},
    {"slice", slice},
    {"split", split},
    {"pad", pad},
    {"gather", gather},
    {"cast", cast},
    {"matmul", matmul},
    {"linear", linear},
    {"abs", grown},
    {"neg", grown},
    {"sign", kept},
    {"sum_reduce", grown},
    {"max_reduce", kept},
    {"min_reduce", kept},
    {"argmax_reduce", kept},
    {"argmin_reduce", kept},
    {"batch_normalization", batch_normalization},
    {"local_response_normalization", windowed},
    {"local_mean_normalization", windowed},
    {"local_variance_normalization", windowed},
    {"local_contrast_normalization", windowed},
};

/// The axes of a port or field; nothing where the row has none.
Result<std::optional<Ints>> axes_of(Document& to, const WriteNode& w) {
  const std::string_view row = w.plain.op->name;
  const int port = w.plain.op->input("axes");
  if (port < 0) {
    if (!std::holds_alternative<Ints>(w.get("axes"))) return std::optional<Ints>();
    return std::optional<Ints>(w.ints("axes"));
  }
  if (w.given(static_cast<size_t>(port))) {
    NNEX_ASSIGN(Ints axes, to.numbers(w, static_cast<size_t>(port), "axes"));
    return std::optional<Ints>(std::move(axes));
  }
  const Ints x = to.extents(w.plain.in[0]);
  Ints all = range(0, static_cast<int64_t>(x.size()));
  if (row == "squeeze")
    all.erase(std::remove_if(all.begin(), all.end(), [&](int64_t a) { return x[static_cast<size_t>(a)] != 1; }),
              all.end());
  return std::optional<Ints>(std::move(all));
}

}  // namespace

Error cannot(const WriteNode& w, std::string_view why) {
  return failure(Code::unsupported, "{}: {}", w.plain.op->name, why);
}

Prepare find_prepare(std::string_view row) {
  for (const auto list : {std::span<const PrepareRow>(kRows), window_prepares()})
    for (const PrepareRow& r : list)
      if (r.name == row) return r.prepare;
  return nullptr;
}

Status prepare_axes(Document& to, WriteNode& w) {
  const std::string_view row = w.plain.op->name;
  if (!w.given(0) || row == "slice" || row == "pad" || row == "resize" || row == "transpose") return {};
  const bool of_result = row == "unsqueeze" || row == "stack";
  const auto rank = static_cast<int64_t>(to.rank(of_result ? w.out[0] : w.plain.in[0]));
  const auto positive = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  if (const AttrValue axis = w.get("axis"); std::holds_alternative<int64_t>(axis))
    w.set("axis", positive(std::get<int64_t>(axis)));
  NNEX_ASSIGN(std::optional<Ints> axes, axes_of(to, w));
  if (!axes) return {};
  for (int64_t& a : *axes) a = positive(a);
  if (w.flag("to_end") && !axes->empty()) *axes = range(axes->front(), rank);
  if (axes->empty() && w.word("when_empty") == "all") *axes = range(0, rank);
  for (std::string_view field : {"to_end", "when_empty"})
    if (w.has(field)) w.reset(field);
  if (w.has("keepdims") && !w.flag("keepdims")) {
    w.set("keepdims", true);
    w.squeeze = *axes;
    std::sort(w.squeeze.begin(), w.squeeze.end());
  }
  if (w.plain.op->input("axes") >= 0)
    w.know("axes", *std::move(axes));
  else
    w.set("axes", *std::move(axes));
  return {};
}

}  // namespace nnex::nnef_format
