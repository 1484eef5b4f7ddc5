// Scaled dot product attention, with caches, masks and groups of heads.

#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/copy_bytes.h"
#include "base/failure.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {

double AttentionSizes::scale(const AttentionAttrs& a) const {
  if (a.scale != 0) return a.scale;
  return depth > 0 ? 1 / std::sqrt(static_cast<double>(depth)) : 1;
}

AttentionSizes attention_sizes(const AttentionAttrs& a, const Shape& q, const Shape& k, const Shape& v,
                               const Shape* past) {
  AttentionSizes s;
  s.batch = q[0];
  s.side_by_side = q.rank() == 3;
  if (s.side_by_side) {
    s.q_heads = a.q_heads, s.kv_heads = a.kv_heads;
    s.queries = q[1], s.keys = k[1];
    s.depth = q[2] / a.q_heads, s.value_depth = v[2] / a.kv_heads;
  } else {
    s.q_heads = q[1], s.kv_heads = k[1];
    s.queries = q[2], s.keys = k[2];
    s.depth = q[3], s.value_depth = v[3];
  }
  if (past) s.has_past = true, s.past = (*past)[2];
  return s;
}

MaskStrides mask_strides(const Shape& mask) {
  MaskStrides m;
  const int64_t rank = mask.rank();
  m.keys = mask[rank - 1];
  int64_t step = m.keys;
  int64_t* const to[] = {&m.query, &m.head, &m.batch};
  for (int64_t axis = 0; axis < 3 && axis + 1 < rank; ++axis) {
    const int64_t extent = mask[rank - 2 - axis];
    *to[axis] = extent == 1 ? 0 : step;
    step *= extent;
  }
  return m;
}

Status check_lengths(Call& c, const AttentionSizes& s) {
  if (!c.has(attention_port::lengths)) return {};
  const auto lengths = c.in<int64_t>(attention_port::lengths);
  for (size_t b = 0; b < lengths.size(); ++b)
    if (lengths[b] < 0 || lengths[b] > s.total())
      return c.fault("found {} valid keys in row {}; there are {}", lengths[b], b, s.total());
  return {};
}

int64_t valid_keys(const AttentionSizes& s, std::optional<int64_t> length) {
  return length ? std::clamp<int64_t>(*length, 0, s.total()) : s.total();
}

KeyRange visible_keys(const AttentionAttrs& a, const AttentionSizes& s, std::optional<int64_t> length, int64_t query) {
  const int64_t total = s.total(), valid = valid_keys(s, length);
  KeyRange r{0, valid};
  if (!a.causal && a.left_window < 0 && a.right_window < 0) return r;
  // The query's own place among the keys; before all of them when fewer keys are valid than there are queries.
  const int64_t offset = s.has_past ? s.past : length ? valid - s.queries : 0;
  const int64_t at = query + offset;
  if (a.causal) r.end = std::min(r.end, at + 1);
  if (a.right_window >= 0 && a.right_window < total) r.end = std::min(r.end, at + a.right_window + 1);
  if (a.left_window >= 0) r.begin = std::max<int64_t>(0, at - std::min(a.left_window, total + s.queries));
  r.end = std::max<int64_t>(r.end, 0);
  r.begin = std::min(r.begin, r.end);
  return r;
}

namespace {

namespace port = attention_port;

// ---- Shapes

/// What inference knows of AttentionSizes.
struct KnownSizes {
  Dim batch, q_heads, kv_heads, queries, keys, depth, value_depth;
};

/// heads * depth numbers cut into heads.
Result<Dim> depth_of(const InferCall& c, const Dim& numbers, int64_t heads, std::string_view port,
                     std::string_view attr) {
  if (numbers.is_number() && numbers.value() % heads != 0)
    return c.error("{} has {} numbers a position; needed a multiple of {} = {}", port, numbers.value(), attr, heads);
  return floor_div(numbers, Dim(heads));
}

/// Extent `axis` of port i; unknown where the rank is.
Dim extent(InferCall& c, size_t i, size_t axis) { return c.dims(i) ? (*c.dims(i))[axis] : c.unknown(); }

Result<int64_t> common_rank(InferCall& c) {
  int64_t rank = 0;
  for (size_t i : {port::q, port::k, port::v}) {
    const auto r = c.rank(i);
    if (!r) continue;
    if (*r != 3 && *r != 4) return c.error("{} has {} axes; needed 3 or 4", c.op().inputs[i].name, *r);
    if (rank && *r != rank)
      return c.error("{} has {} axes; needed {}, as q, k and v have the same", c.op().inputs[i].name, *r, rank);
    rank = *r;
  }
  return rank;
}

Result<KnownSizes> side_by_side(InferCall& c, const AttentionAttrs& a) {
  if (a.q_heads <= 0 || a.kv_heads <= 0)
    return c.error("q, k and v have 3 axes: q_heads and kv_heads are required; found {} and {}", a.q_heads, a.kv_heads);
  KnownSizes s;
  s.q_heads = a.q_heads, s.kv_heads = a.kv_heads;
  s.queries = extent(c, port::q, 1);
  NNEX_ASSIGN(s.keys, meet(c, extent(c, port::v, 1), extent(c, port::k, 1), "positions of v"));
  NNEX_ASSIGN(Dim of_q, depth_of(c, extent(c, port::q, 2), a.q_heads, "q", "q_heads"));
  NNEX_ASSIGN(Dim of_k, depth_of(c, extent(c, port::k, 2), a.kv_heads, "k", "kv_heads"));
  NNEX_ASSIGN(s.depth, meet(c, of_k, of_q, "numbers in a head of k"));
  NNEX_ASSIGN(s.value_depth, depth_of(c, extent(c, port::v, 2), a.kv_heads, "v", "kv_heads"));
  return s;
}

Result<KnownSizes> by_axes(InferCall& c, const AttentionAttrs& a) {
  KnownSizes s;
  s.q_heads = extent(c, port::q, 1), s.queries = extent(c, port::q, 2);
  NNEX_ASSIGN(s.kv_heads, meet(c, extent(c, port::v, 1), extent(c, port::k, 1), "heads of v"));
  NNEX_ASSIGN(s.keys, meet(c, extent(c, port::v, 2), extent(c, port::k, 2), "positions of v"));
  NNEX_ASSIGN(s.depth, meet(c, extent(c, port::k, 3), extent(c, port::q, 3), "numbers in a head of k"));
  s.value_depth = extent(c, port::v, 3);
  if (a.q_heads > 0) {
    NNEX_ASSIGN(s.q_heads, meet(c, s.q_heads, Dim(a.q_heads), "heads of q"));
  }
  if (a.kv_heads > 0) {
    NNEX_ASSIGN(s.kv_heads, meet(c, s.kv_heads, Dim(a.kv_heads), "heads of k"));
  }
  return s;
}

Status check_groups(const InferCall& c, const Dim& q_heads, const Dim& kv_heads) {
  if (!q_heads.is_number() || !kv_heads.is_number()) return {};
  const int64_t n = q_heads.value(), of = kv_heads.value();
  if (of == 0 ? n != 0 : n % of != 0) return c.error("{} heads of q cannot share {} heads of k in equal groups", n, of);
  return {};
}

/// Both caches or none; [batch, kv_heads, past, depth]. Their length goes to `past`.
Status infer_past(InferCall& c, KnownSizes& s, Dim& past) {
  if (c.has(port::past_key) != c.has(port::past_value))
    return c.error("{} is given without {}", c.has(port::past_key) ? "past_key" : "past_value",
                   c.has(port::past_key) ? "past_value" : "past_key");
  if (!c.has(port::past_key)) return {};
  past = c.unknown();
  bool known = false;
  for (size_t i : {port::past_key, port::past_value}) {
    NNEX_TRY(need_rank(c, i, 4));
    if (!c.dims(i)) continue;
    const std::string_view name = c.op().inputs[i].name;
    const Dims& d = *c.dims(i);
    NNEX_ASSIGN(s.batch, meet(c, d[0], s.batch, fmt::format("batches of {}", name)));
    NNEX_ASSIGN(s.kv_heads, meet(c, d[1], s.kv_heads, fmt::format("heads of {}", name)));
    Dim& depth = i == port::past_key ? s.depth : s.value_depth;
    NNEX_ASSIGN(depth, meet(c, d[3], depth, fmt::format("numbers in a head of {}", name)));
    if (known) {
      NNEX_ASSIGN(past, meet(c, d[2], past, fmt::format("positions of {}", name)));
    } else {
      past = d[2], known = true;
    }
  }
  return {};
}

/// The mask broadcasts to [batch, q_heads, queries, total], but for its last axis, which may be shorter.
Status check_mask(InferCall& c, const KnownSizes& s, const Dim& total) {
  if (!c.has(port::mask) || !c.dims(port::mask)) return {};
  const Dims& m = *c.dims(port::mask);
  if (m.empty() || m.size() > 4) return c.error("mask has {} axes; needed 1 to 4", m.size());
  const Dim of[] = {s.queries, s.q_heads, s.batch};
  static constexpr std::string_view kOf[] = {"queries", "heads", "batches"};
  for (size_t i = 0; i + 1 < m.size(); ++i) {
    const Dim& d = m[m.size() - 2 - i];
    if (d.is_number() && of[i].is_number() && d.value() != 1 && d.value() != of[i].value())
      return c.error("mask has {} {}; needed 1 or {}", d.value(), kOf[i], of[i].value());
  }
  const Dim& last = m.back();
  if (last.is_number() && total.is_number() && last.value() > total.value())
    return c.error("mask has {} keys; there are {}", last.value(), total.value());
  return {};
}

Status check_attrs(const InferCall& c, const AttentionAttrs& a) {
  if (a.left_window < -1) return c.error("left_window is {}; needed -1 (no limit) or more", a.left_window);
  if (a.right_window < -1) return c.error("right_window is {}; needed -1 (no limit) or more", a.right_window);
  if (a.softmax_type && !(only(*a.softmax_type) & kF))
    return c.error("softmax_type is {}; needed a type of real numbers", name(*a.softmax_type));
  return {};
}

Status infer_attention(InferCall& c) {
  const auto& a = c.attr<AttentionAttrs>();
  NNEX_TRY(check_attrs(c, a));
  NNEX_ASSIGN(const int64_t rank, common_rank(c));
  if (rank == 0) {
    c.result(port::y, std::nullopt);
    for (size_t o : {port::key, port::value, port::scores}) c.result(o, c.unknowns(4));
    return {};
  }
  NNEX_ASSIGN(KnownSizes s, rank == 3 ? side_by_side(c, a) : by_axes(c, a));
  s.batch = extent(c, port::q, 0);
  NNEX_ASSIGN(s.batch, meet(c, extent(c, port::k, 0), s.batch, "batches of k"));
  NNEX_ASSIGN(s.batch, meet(c, extent(c, port::v, 0), s.batch, "batches of v"));
  Dim past(0);
  NNEX_TRY(infer_past(c, s, past));
  NNEX_TRY(check_groups(c, s.q_heads, s.kv_heads));
  if (c.has(port::lengths)) {
    NNEX_TRY(need_rank(c, port::lengths, 1));
    NNEX_ASSIGN(s.batch, meet(c, extent(c, port::lengths, 0), s.batch, "lengths"));
  }
  if (c.has(port::sink)) {
    NNEX_TRY(need_rank(c, port::sink, 1));
    NNEX_ASSIGN(s.q_heads, meet(c, extent(c, port::sink, 0), s.q_heads, "sink"));
  }
  const Dim total = past + s.keys;
  NNEX_TRY(check_mask(c, s, total));
  c.result(port::y, rank == 3 ? Dims{s.batch, s.queries, s.q_heads * s.value_depth}
                              : Dims{s.batch, s.q_heads, s.queries, s.value_depth});
  c.result(port::key, Dims{s.batch, s.kv_heads, total, s.depth});
  c.result(port::value, Dims{s.batch, s.kv_heads, total, s.value_depth});
  c.result(port::scores, Dims{s.batch, s.q_heads, s.queries, total});
  return {};
}

// ---- The reference kernel: every input in f32 (f64 where q is f64), sums in f64, one rounding at the end

/// past and new positions of k or v as [batch, kv_heads, total, depth]; `to` is such a tensor of their type.
void join_cache(const AttentionSizes& s, int64_t depth, const Tensor* past, const Tensor& x, Tensor& to) {
  const size_t row = static_cast<size_t>(depth) * static_cast<size_t>(bits(x.dtype()) / 8);
  const size_t old = static_cast<size_t>(s.past) * row;
  if (row == 0) return;
  std::byte* out = to.mutable_data();
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.kv_heads; ++h) {
      if (old > 0) std::memcpy(out, past->data() + static_cast<size_t>(b * s.kv_heads + h) * old, old);
      out += old;
      for (int64_t j = 0; j < s.keys; ++j, out += row) {
        const int64_t at = s.side_by_side ? (b * s.keys + j) * s.kv_heads + h : (b * s.kv_heads + h) * s.keys + j;
        std::memcpy(out, x.data() + static_cast<size_t>(at) * row, row);
      }
    }
}

/// The whole of k or v, which is output o too where that is wanted.
Result<Tensor> joined(Call& c, const AttentionSizes& s, size_t x, size_t past, int64_t depth, size_t o) {
  const Shape shape{s.batch, s.kv_heads, s.total(), depth};
  const Tensor* old = c.has(past) ? &c.in(past) : nullptr;
  if (c.wants(o)) {
    NNEX_ASSIGN(Tensor * to, c.make(o, c.in(x).dtype(), shape));
    join_cache(s, depth, old, c.in(x), *to);
    return *to;
  }
  NNEX_ASSIGN(Tensor own, Tensor::make(c.in(x).dtype(), shape));
  join_cache(s, depth, old, c.in(x), own);
  return own;
}

/// What the softmax type leaves of a number.
double rounded(std::optional<DType> type, double x) {
  if (type == DType::f16) return static_cast<double>(static_cast<float>(f16(x)));
  if (type == DType::bf16) return static_cast<double>(static_cast<float>(bf16(x)));
  return type == DType::f32 ? static_cast<double>(static_cast<float>(x)) : x;
}

/// Softmax of a row and a sink (-inf: none); with `guard` one that is masked all over becomes zeros.
void normalize(std::span<double> row, std::optional<DType> type, bool guard, double sink) {
  double top = -HUGE_VAL;
  for (double& x : row) {
    x = rounded(type, x);
    if (x > top || x != x) top = x;
  }
  if (guard && top == -HUGE_VAL) {
    std::fill(row.begin(), row.end(), 0.0);
    return;
  }
  sink = rounded(type, sink);
  if (sink > top || sink != sink) top = sink;
  double sum = sink == -HUGE_VAL ? 0 : std::exp(sink - top);
  for (double& x : row) sum += x = std::exp(x - top);
  for (double& x : row) x = rounded(type, x / sum);
}

/// The mask's row of one query.
template <class T>
struct MaskRow {
  const T* added = nullptr;
  const uint8_t* allowed = nullptr;
  int64_t keys = 0;
  KeyRange visible;
  double hidden = -HUGE_VAL;

  void apply(std::span<double> row) const {
    for (int64_t j = 0; j < static_cast<int64_t>(row.size()); ++j) {
      double& x = row[static_cast<size_t>(j)];
      const bool seen = j >= visible.begin && j < visible.end && ((!added && !allowed) || j < keys);
      if (!seen)
        x = -HUGE_VAL;
      else if (allowed && !allowed[j])
        x = hidden;
      else if (added)
        x += static_cast<double>(added[j]);
    }
  }
};

template <class T>
class Attend {
 public:
  Attend(Call& c, const AttentionSizes& s) : c_(c), a_(c.attr<AttentionAttrs>()), s_(s) {}

  Status run() {
    NNEX_TRY(check_lengths(c_, s_));
    NNEX_ASSIGN(Tensor k, joined(c_, s_, port::k, port::past_key, s_.depth, port::key));
    NNEX_ASSIGN(Tensor v, joined(c_, s_, port::v, port::past_value, s_.value_depth, port::value));
    NNEX_ASSIGN(q_, convert(c_.in(port::q), kWide));
    NNEX_ASSIGN(k_, convert(k, kWide));
    NNEX_ASSIGN(v_, convert(v, kWide));
    NNEX_TRY(read_mask());
    if (c_.has(port::sink)) {
      NNEX_ASSIGN(sink_, convert(c_.in(port::sink), kWide));
    }
    NNEX_ASSIGN(y_, Tensor::make(kWide, s_.side_by_side ? Shape{s_.batch, s_.queries, s_.q_heads * s_.value_depth}
                                                        : Shape{s_.batch, s_.q_heads, s_.queries, s_.value_depth}));
    if (c_.wants(port::scores)) {
      NNEX_ASSIGN(scores_, Tensor::make(kWide, Shape{s_.batch, s_.q_heads, s_.queries, s_.total()}));
    }
    row_.resize(static_cast<size_t>(s_.total()));
    sums_.resize(static_cast<size_t>(s_.value_depth));
    for (int64_t b = 0; b < s_.batch; ++b)
      for (int64_t h = 0; h < s_.q_heads; ++h)
        for (int64_t i = 0; i < s_.queries; ++i) query(b, h, i);
    NNEX_TRY(finish(port::y, y_));
    return c_.wants(port::scores) ? finish(port::scores, scores_) : Status{};
  }

 private:
  static constexpr DType kWide = dtype_for<T>;

  Status read_mask() {
    if (!c_.has(port::mask)) return {};
    strides_ = mask_strides(c_.shape(port::mask));
    if (c_.in(port::mask).dtype() == DType::boolean) return {};
    NNEX_ASSIGN(mask_, convert(c_.in(port::mask), kWide));
    return {};
  }

  std::optional<int64_t> length(int64_t b) const {
    if (!c_.has(port::lengths)) return std::nullopt;
    return c_.in<int64_t>(port::lengths)[static_cast<size_t>(b)];
  }

  MaskRow<T> mask_row(int64_t b, int64_t h, int64_t i) const {
    MaskRow<T> m;
    m.visible = visible_keys(a_, s_, length(b), i);
    m.keys = strides_.keys;
    m.hidden = a_.hidden.value_or(-HUGE_VAL);
    const int64_t at = b * strides_.batch + h * strides_.head + i * strides_.query;
    if (c_.has(port::mask) && c_.in(port::mask).dtype() == DType::boolean)
      m.allowed = c_.in<uint8_t>(port::mask).data() + at;
    else if (c_.has(port::mask))
      m.added = mask_.as<T>().data() + at;
    return m;
  }

  double sink(int64_t h) const {
    return c_.has(port::sink) ? static_cast<double>(sink_.as<T>()[static_cast<size_t>(h)]) : -HUGE_VAL;
  }

  void keep(ScoresAt stage, int64_t place) {
    if (!c_.wants(port::scores) || a_.scores_at != stage) return;
    T* to = scores_.mutable_as<T>().data() + place * s_.total();
    for (double x : row_) *to++ = static_cast<T>(x);
  }

  void query(int64_t b, int64_t h, int64_t i) {
    const int64_t place = (b * s_.q_heads + h) * s_.queries + i, of = b * s_.kv_heads + h / s_.group();
    const int64_t at = s_.side_by_side ? (b * s_.queries + i) * s_.q_heads + h : place;
    const T* const q = q_.as<T>().data() + at * s_.depth;
    const T* k = k_.as<T>().data() + of * s_.total() * s_.depth;
    const double scale = s_.scale(a_);
    for (double& x : row_) {
      double sum = 0;
      for (int64_t d = 0; d < s_.depth; ++d) sum += static_cast<double>(q[d]) * static_cast<double>(k[d]);
      x = sum * scale;
      k += s_.depth;
    }
    keep(ScoresAt::raw, place);
    if (a_.softcap > 0)
      for (double& x : row_) x = std::tanh(x / a_.softcap) * a_.softcap;
    keep(ScoresAt::capped, place);
    mask_row(b, h, i).apply(row_);
    keep(ScoresAt::biased, place);
    normalize(row_, a_.softmax_type, a_.guard, sink(h));
    keep(ScoresAt::softmax, place);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    const T* v = v_.as<T>().data() + of * s_.total() * s_.value_depth;
    for (double p : std::span(row_).first(static_cast<size_t>(valid_keys(s_, length(b)))))
      for (double& sum : sums_) sum += p * static_cast<double>(*v++);
    T* to = y_.mutable_as<T>().data() + at * s_.value_depth;
    for (double sum : sums_) *to++ = static_cast<T>(sum);
  }

  /// Output o in the type of q.
  Status finish(size_t o, const Tensor& wide) {
    if (!c_.wants(o)) return {};
    NNEX_ASSIGN(Tensor narrow, convert(wide, c_.in(port::q).dtype()));
    NNEX_ASSIGN(Tensor * to, c_.make(o, narrow.dtype(), narrow.shape()));
    copy_bytes(to->mutable_data(), narrow.data(), narrow.bytes());
    return {};
  }

  Call& c_;
  const AttentionAttrs& a_;
  AttentionSizes s_;
  Tensor q_, k_, v_, mask_, sink_, y_, scores_;
  MaskStrides strides_;
  std::vector<double> row_, sums_;
};

Status run_attention(Call& c) {
  const AttentionSizes s =
      attention_sizes(c.attr<AttentionAttrs>(), c.shape(port::q), c.shape(port::k), c.shape(port::v),
                      c.has(port::past_key) ? &c.shape(port::past_key) : nullptr);
  return c.in(port::q).dtype() == DType::f64 ? Attend<double>(c, s).run() : Attend<float>(c, s).run();
}

// ---- The row

/// qk_matmul_output_mode 0 to 3: the enumerators in order.
constexpr auto kStages = enumerators(ScoresAt{});

Result<AttrValue> stage_of_number(const AttrValue& v) {
  const auto* i = std::get_if<int64_t>(&v);
  if (!i || *i < 0 || *i >= static_cast<int64_t>(kStages.size()))
    return failure(Code::invalid_model, "found {}; needed 0 to {}", text(v), kStages.size() - 1);
  return AttrValue(std::string(kStages[static_cast<size_t>(*i)]));
}

Result<AttrValue> number_of_stage(const AttrValue& v) {
  const auto* word = std::get_if<std::string>(&v);
  for (size_t i = 0; word && i < kStages.size(); ++i)
    if (kStages[i] == *word) return AttrValue(static_cast<int64_t>(i));
  return failure(Code::invalid_model, "found {}; needed a word", text(v));
}

const Codec kStageNumber = {"stage_number", stage_of_number, number_of_stage};

constexpr AttrType kAttentionFields = attrs_of<AttentionAttrs>({
    field<&AttentionAttrs::q_heads>("q_heads", "Heads of q; needed where heads lie side by side."),
    field<&AttentionAttrs::kv_heads>("kv_heads", "Heads of k and v; needed where heads lie side by side."),
    field<&AttentionAttrs::causal>("causal", "A query sees no key after its own place."),
    field<&AttentionAttrs::left_window>("left_window", "How many keys before its place a query sees; -1: all."),
    field<&AttentionAttrs::right_window>("right_window", "How many keys after its place a query sees; -1: all."),
    field<&AttentionAttrs::scale>("scale", "Of the products of q and k; 0: 1 / sqrt(depth)."),
    field<&AttentionAttrs::softcap>("softcap", "Scores become softcap * tanh(score / softcap); 0: they stay."),
    field<&AttentionAttrs::softmax_type>("softmax_type", "Type the softmax works in; absent: that of the sums."),
    field<&AttentionAttrs::scores_at>("scores_at", "Which scores the output gives."),
    field<&AttentionAttrs::hidden>("hidden", "Score of a key that a mask of truths hides; absent: -inf."),
    field<&AttentionAttrs::guard>("guard", "A row of -inf gives zeros; else NaN, as softmax alone does."),
});

constexpr List<Rename, 10> kOnnxNames = {
    {"q_heads", "q_num_heads"},
    {"kv_heads", "kv_num_heads"},
    {"causal", "is_causal", &int_bool},
    {"left_window", "left_window_size"},
    {"right_window", "right_window_size"},
    {"softmax_type", "softmax_precision", &onnx_dtype},
    {"scores_at", "qk_matmul_output_mode", &kStageNumber},
};

constexpr OpRow kAttentionOps[] = {
    {.name = "attention",
     .summary = "softmax(scale q k + mask) v for each head.",
     .source = "ONNX Attention-25 (23 and 24: no windows)",
     .inputs = {{"q", kF},
                {"k", same_type_as("q")},
                {"v", kF},
                {.name = "mask",
                 .type = kB | kN,
                 .arity = Arity::optional,
                 .doc = "false: masked; numbers are added. Keys past its end are masked."},
                {"past_key", same_type_as("k"), Arity::optional},
                {"past_value", same_type_as("v"), Arity::optional},
                {.name = "lengths", .type = kI64, .arity = Arity::optional, .doc = "Valid keys of each batch."},
                {.name = "sink",
                 .type = same_type_as("q"),
                 .arity = Arity::optional,
                 .doc =
                     "For each head of q the score of one more key, which every query sees and which has no value."}},
     .outputs = {{"y", same_type_as("q")},
                 {"key", same_type_as("k"), Arity::optional},
                 {"value", same_type_as("v"), Arity::optional},
                 {"scores", same_type_as("q"), Arity::optional}},
     .attrs = kAttentionFields,
     .infer = infer_attention,
     .reference = any(run_attention),
     .spelled = {{onnx, "Attention", kOnnxNames, 23}},
     .work = Work::attention},
};
}  // namespace

std::span<const OpDef> attention_ops() { return stored<kAttentionOps>(); }

}  // namespace nnex
