#include "api/row_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "api/node_rows.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/softmax.h"

namespace nnex {

bool depends_on(const Dim& extent, const std::string& symbol) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  for (const std::string& s : extent.symbols()) {  // one that stands for a computation is named by all of it
    if (s.find("formula#") != std::string::npos) return true;
    for (size_t at = s.find(symbol); at != std::string::npos; at = s.find(symbol, at + 1)) {
      const size_t end = at + symbol.size();
      if ((at == 0 || !in_word(s[at - 1])) && (end == s.size() || !in_word(s[end]))) return true;
    }
  }
  return false;
}

namespace {

/// a / b, where that comes out.
std::optional<Dim> exact(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return std::nullopt;
  const Dim each = floor_div(a, b);
  return !each.overflowed() && each * b == a ? std::optional(each) : std::nullopt;
}

/// A multiple of `outer` times the symbol that does not depend on it otherwise.
bool counts_rows(const Dim& extent, const std::string& symbol, const Dim& outer = 1) {
  const auto inner = exact(extent, outer * Dim::symbol(symbol));
  return inner && !depends_on(*inner, symbol);
}

}  // namespace

RowAnswer NodeRows::answer() {
  RowAnswer answer;
  const auto first = std::find_if(in_.begin(), in_.end(), is_rows);
  const Type& type = facts_.type(node_.in[static_cast<size_t>(first - in_.begin())]);
  for (size_t i = 0; i < in_.size() && answer.why.empty(); ++i) {
    if (!given(i)) continue;
    if (in_[i].kind == RowState::Kind::count && !takes_extents(i)) answer.why = "computes with how many rows there are";
    if (is_rows(in_[i]) && !dims(i)) {
      answer.known = false;
      answer.why = fmt::format("reads rows of {}", facts_.type(node_.in[i]).text());
    }
  }
  if (!answer.why.empty()) return answer;
  outer_ = first->outer;
  const bool alike =
      std::all_of(in_.begin(), in_.end(), [&](const RowState& s) { return !is_rows(s) || s.outer == outer_; });
  const Axes axes = alike ? rule() : along();
  if (!axes) {
    answer.known = along_;
    answer.why = along_ ? of_all_rows() : fmt::format("is not known to keep rows of {} apart", type.text());
    if (answer.why.empty()) answer.why = fmt::format("works along the rows of {}", type.text());
    return answer;
  }
  for (size_t o = 0; o < node_.out.size(); ++o) {
    answer.out.push_back({RowState::Kind::rows, (*axes)[std::min(o, axes->size() - 1)], outer_});
    if (node_.out[o].valid() && answer.why.empty())
      answer.why = why_no_rows(facts_.type(node_.out[o]), answer.out.back().axis, facts_.symbol);
  }
  if (answer.why.empty() && has_count() && has_open_extent()) {
    answer.known = false;
    answer.why = "makes extents of how many rows there are";
  }
  return answer;
}

std::string NodeRows::of_all_rows() const {
  for (ValueId v : node_.out) {
    if (!v.valid()) continue;
    const Type& type = facts_.type(v);
    const auto has = [&](const Dim& d) { return d.has_unknown() || depends_on(d, facts_.symbol); };
    if (type.is_tensor() && type.dims && std::count_if(type.dims->begin(), type.dims->end(), has) != 1)
      return why_no_rows(type, -1, facts_.symbol);
  }
  return {};
}

bool NodeRows::has_open_extent() const {
  std::vector<std::string> known;
  for (size_t i = 0; i < in_.size(); ++i)
    if (rows(i))
      for (const Dim& d : *dims(i))
        for (std::string& s : d.symbols()) known.push_back(std::move(s));
  for (ValueId v : node_.out) {
    if (!v.valid()) continue;
    for (const Dim& d : *facts_.type(v).dims)
      for (const std::string& s : d.symbols())
        if (s.find('?') != std::string::npos && std::find(known.begin(), known.end(), s) == known.end()) return true;
  }
  return false;
}

NodeRows::Axes NodeRows::rule() {
  if (!op_.pure || !node_.blocks.empty() || node_.custom) return unknown();
  for (size_t i = 0; i < in_.size(); ++i)
    if (rows(i) && is_parameter(i)) return along();
  if (op_.elementwise) return of_broadcast();
  if (op_.view) return of_view();
  if (op_.work == Work::product && op_.input("y") >= 0) return of_matmul();
  if (has<LinearAttrs>()) return of_linear();
  if (has<GatherMatmulAttrs>()) return of_gather_matmul();
  if (has<AttentionAttrs>()) return of_attention();
  if (has<LinearAttentionAttrs>()) return of_all_items();
  if (has<RotaryAttrs>()) return of_rotary();
  if (op_.work == Work::recurrent) return of_recurrent();
  if (op_.work == Work::einsum) return of_einsum();
  if (has<PoolAttrs>()) return op_.layout == LayoutRole::channels ? of_windows() : unknown();
  if (has<TransposeAttrs>()) return of_transpose();
  if (has<SoftmaxAttrs>()) return of_axes(attrs<SoftmaxAttrs>().axes, attrs<SoftmaxAttrs>().to_end);
  if (has<LayerNormAttrs>()) return of_axes(attrs<LayerNormAttrs>().axes, attrs<LayerNormAttrs>().to_end);
  if (has<LpNormAttrs>()) return of_axes(attrs<LpNormAttrs>().axes);
  if (has<MeanVarianceNormAttrs>()) return of_axes(attrs<MeanVarianceNormAttrs>().axes);
  if (has<ArgReduceAttrs>()) return of_axes(attrs<ArgReduceAttrs>().axes, false, attrs<ArgReduceAttrs>().keepdims);
  if (has<CumulativeAttrs>()) return given(1) && numbers(1) ? of_axes(*numbers(1)) : unknown();
  if (op_.input("axes") == 1 && op_.attrs.find("keepdims")) return of_reduced();
  switch (op_.layout) {
    case LayoutRole::axis:
      return op_.elements == Elements::of_any ? of_joined(0) : of_axis();
    case LayoutRole::pad:
      return of_pad();
    case LayoutRole::slice:
      return of_slice();
    case LayoutRole::sizes:
      return of_windows();
    default:
      return of_named();
  }
}

NodeRows::Axes NodeRows::of_named() {
  static constexpr struct {
    std::string_view op;
    Axes (NodeRows::*rule)();
  } kRules[] = {
      {"conv", &NodeRows::of_items},
      {"separable_conv", &NodeRows::of_items},
      {"conv_integer", &NodeRows::of_items},
      {"qlinear_conv", &NodeRows::of_items},
      {"deconv", &NodeRows::of_items},
      {"separable_deconv", &NodeRows::of_items},
      {"deform_conv", &NodeRows::of_deform_conv},
      {"causal_conv_with_state", &NodeRows::of_causal_conv},
      {"gather", &NodeRows::of_gather},
      {"gather_elements", &NodeRows::of_gather_elements},
      {"gather_nd", &NodeRows::of_gather_nd},
      {"one_hot", &NodeRows::of_one_hot},
      {"top_k", &NodeRows::of_axis},
      {"repeat", &NodeRows::of_kept},
      {"label_encoder", &NodeRows::of_kept},
      {"expand", &NodeRows::of_stretched},
      {"tile", &NodeRows::of_stretched},
      {"stack", &NodeRows::of_stack},
      {"unstack", &NodeRows::of_unstack},
      {"reverse", &NodeRows::of_reverse},
      {"reverse_sequence", &NodeRows::of_reverse_sequence},
      {"resize", &NodeRows::of_resize},
      {"grid_sample", &NodeRows::of_all_items},
      {"affine_grid", &NodeRows::of_all_items},
      {"instance_normalization", &NodeRows::of_items},
      {"group_normalization", &NodeRows::of_items},
      {"depth_to_space", &NodeRows::of_items},
      {"space_to_depth", &NodeRows::of_items},
      {"col2im", &NodeRows::of_items},
      {"stft", &NodeRows::of_items},
      {"tree_ensemble", &NodeRows::of_table},
      {"classify", &NodeRows::of_table},
      {"post_transform", &NodeRows::of_table},
      {"svm_classifier", &NodeRows::of_table},
      {"svm_regressor", &NodeRows::of_table},
      {"tf_idf_vectorizer", &NodeRows::of_table},
      {"trilu", &NodeRows::of_matrices},
      {"det", &NodeRows::of_matrices},
      {"dft", &NodeRows::of_dft},
  };
  for (const auto& r : kRules)
    if (r.op == op_.name) return (this->*r.rule)();
  return unknown();
}

// ---- Elements, and shapes of them ----

NodeRows::Axes NodeRows::of_broadcast() {
  const Dims* y = out_dims();
  if (!y) return unknown();
  std::optional<int64_t> found;
  for (size_t i = 0; i < in_.size(); ++i) {
    if (!rows(i)) continue;
    const int64_t here = axis(i) + static_cast<int64_t>(y->size()) - rank(i);
    if (found && *found != here) return along();
    found = here;
    if (!((*dims(i))[static_cast<size_t>(axis(i))] == (*y)[static_cast<size_t>(here)])) return along();
  }
  for (size_t i = 0; i < in_.size(); ++i) {  // one without rows has one for all
    if (!given(i) || rows(i) || !dims(i)) continue;
    const int64_t here = *found - static_cast<int64_t>(y->size()) + rank(i);
    if (here >= 0 && !((*dims(i))[static_cast<size_t>(here)] == Dim(1))) return unknown();
  }
  return at(*found);
}

NodeRows::Axes NodeRows::of_kept() { return only({0}) ? at(axis(0)) : unknown(); }

NodeRows::Axes NodeRows::of_view() {
  const Dims* y = out_dims();
  if (!only({0}) || !y) return unknown();
  Dim outside = outer_;
  for (int64_t a = 0; a < axis(0); ++a) outside = outside * (*dims(0))[static_cast<size_t>(a)];
  Dim passed = 1;
  for (size_t a = 0; a < y->size(); ++a) {
    if (const auto outer = exact(outside, passed); outer && counts_rows((*y)[a], facts_.symbol, *outer)) {
      outer_ = *outer;
      return at(static_cast<int64_t>(a));
    }
    passed = passed * (*y)[a];
  }
  return std::any_of(y->begin(), y->end(), [](const Dim& d) { return d.has_unknown(); }) ? unknown() : along();
}

NodeRows::Axes NodeRows::of_transpose() {
  const Ints& axes = attrs<TransposeAttrs>().axes;
  if (axes.empty()) return at(rank(0) - 1 - axis(0));
  for (size_t a = 0; a < axes.size(); ++a)
    if (positive(axes[a], rank(0)) == axis(0)) return at(static_cast<int64_t>(a));
  return unknown();
}

NodeRows::Axes NodeRows::of_stretched() {
  const Dims* y = out_dims();
  if (!only({0}) || !y) return unknown();
  const int64_t here = axis(0) + static_cast<int64_t>(y->size()) - rank(0);
  const Dim& was = (*dims(0))[static_cast<size_t>(axis(0))];
  return (*y)[static_cast<size_t>(here)] == was ? at(here) : along();
}

// ---- Along axes ----

NodeRows::Axes NodeRows::of_axes(const Ints& axes, bool to_end, bool keepdims) {
  if (!only({0}) || axes.empty()) return unknown();
  const int64_t here = axis(0);
  int64_t gone = 0;
  for (int64_t a : axes) {
    const int64_t over = positive(a, rank(0));
    if (over == here || (to_end && over <= here)) return along();
    gone += !keepdims && over < here ? 1 : 0;
  }
  for (size_t i = 1; i < in_.size(); ++i)
    if (rank(i) >= rank(0) && !((*dims(i))[static_cast<size_t>(here + rank(i) - rank(0))] == Dim(1))) return unknown();
  return at(here - gone);
}

NodeRows::Axes NodeRows::of_reduced() {
  if (!given(1)) return along();
  const auto axes = numbers(1);
  if (!axes) return unknown();
  return axes->empty() ? along() : of_axes(*axes, attr<bool>("to_end", false), attr<bool>("keepdims", true));
}

NodeRows::Axes NodeRows::of_axis() {
  if (attr<bool>("training", false)) return along();
  if (!only({0})) return unknown();
  bool is_one = op_.input("scale") == 1;  // where `axis` chooses of nothing
  for (size_t i = 1; i < in_.size(); ++i) {
    is_one = is_one && rank(i) <= 0;
    if (rank(i) > 1 && !(rank(i) == rank(0) && (*dims(i))[static_cast<size_t>(axis(0))] == Dim(1))) return unknown();
  }
  const bool over = positive(attr<int64_t>("axis", 0), rank(0)) == axis(0);
  return over && !is_one ? along() : at(axis(0));
}

NodeRows::Axes NodeRows::of_joined(int64_t more) {
  for (size_t i = 0; i < in_.size(); ++i)
    if (!rows(i) || axis(i) != axis(0)) return unknown();
  const int64_t over = positive(attr<int64_t>("axis", 0), rank(0) + more);
  if (more) return at(axis(0) + (over <= axis(0) ? 1 : 0));
  return over == axis(0) ? along() : at(axis(0));
}

NodeRows::Axes NodeRows::of_stack() { return of_joined(1); }

NodeRows::Axes NodeRows::of_unstack() {
  if (!only({0})) return unknown();
  const int64_t over = positive(attr<int64_t>("axis", 0), rank(0));
  return over == axis(0) ? along() : at(axis(0) - (over < axis(0) ? 1 : 0));
}

NodeRows::Axes NodeRows::of_reverse() {
  const Ints axes = attr<Ints>("axes", {});
  return axes.empty() ? along() : of_axes(axes);
}

NodeRows::Axes NodeRows::of_reverse_sequence() {
  const bool with_lengths = rows(1);
  if (!rows(0) || axis(0) == attr<int64_t>("time_axis", 0)) return along();
  if (with_lengths && (axis(1) != 0 || axis(0) != attr<int64_t>("batch_axis", 1))) return along();
  return with_lengths || axis(0) != attr<int64_t>("batch_axis", 1) ? at(axis(0)) : unknown();
}

NodeRows::Axes NodeRows::of_dft() {
  if (!given(2)) return unknown();
  const auto over = numbers(2);
  return over ? of_axes(*over) : unknown();
}

NodeRows::Axes NodeRows::of_windows() {
  if (!only({0}) || axis(0) != 0) return along();
  if (node_.out.size() > 1 && node_.out[1].valid()) return unknown();
  const Ints sizes = attr<Ints>("size", {}), strides = attr<Ints>("stride", {});
  if (sizes.empty() || sizes[0] != 1 || (!strides.empty() && strides[0] != 1)) return along();
  const Pairs padding = attr<Pairs>("padding", {});
  return padding.empty() || padding[0] == std::pair<int64_t, int64_t>{} ? at(0) : along();
}

NodeRows::Axes NodeRows::of_pad() {
  const auto amounts = given(1) ? numbers(1) : std::nullopt;
  const auto named = given(3) ? numbers(3) : std::nullopt;
  if (!only({0}) || !amounts || (given(3) && !named)) return unknown();
  const size_t n = amounts->size() / 2;
  for (size_t i = 0; i < n; ++i) {
    const int64_t over = named && i < named->size() ? positive((*named)[i], rank(0)) : static_cast<int64_t>(i);
    if (over == axis(0) && ((*amounts)[i] != 0 || (*amounts)[n + i] != 0)) return along();
  }
  return at(axis(0));
}

NodeRows::Axes NodeRows::of_slice() {
  const auto named = given(3) ? numbers(3) : std::nullopt;
  const auto steps = given(4) ? numbers(4) : std::nullopt;
  const Dims* y = out_dims();
  if (!only({0}) || (given(3) && !named) || (given(4) && !steps) || !y) return unknown();
  const int64_t first = rank(1) == 1 && (*dims(1))[0].is_number() ? (*dims(1))[0].value() : -1;
  if (first < 0) return unknown();
  for (int64_t i = 0; i < first; ++i) {
    const auto at_i = static_cast<size_t>(i);
    const int64_t over = named ? positive(named->at(at_i), rank(0)) : i;
    if (over != axis(0)) {
      if (is_of_count(1, i) || is_of_count(2, i)) return unknown();
      continue;
    }
    const auto a = static_cast<size_t>(over);
    if (steps && steps->at(at_i) != 1) return along();
    if (!((*y)[a] == (*dims(0))[a])) return (*y)[a].has_unknown() ? unknown() : along();
  }
  return at(axis(0));
}

bool NodeRows::is_of_count(size_t i, int64_t e) const {
  if (in_[i].kind != RowState::Kind::count) return false;
  const Tensor* t = facts_.content(node_.in[i]);
  return !t || e >= t->count() ||
         (t->dtype() == kDimType && depends_on(t->as<Dim>()[static_cast<size_t>(e)], facts_.symbol));
}

NodeRows::Axes NodeRows::of_resize() {
  const bool stretches = attr<std::string>("aspect", "stretch") == "stretch";
  return given(1) || !stretches ? unknown() : of_stretched();
}

namespace {

/// The axis that one thing over and over has for the rows; -1: none, or that is not what it has.
int64_t filled_axis(const Node& node, const RowFacts& facts) {
  const bool made = node.op->attrs.type == &detail::type_tag<ConstantOfShapeAttrs>;
  const Type& y = facts.type(node.out[0]);
  if (!(made || node.op->name == "expand") || !y.dims) return -1;
  const auto found =
      std::find_if(y.dims->begin(), y.dims->end(), [&](const Dim& d) { return depends_on(d, facts.symbol); });
  const int64_t axis = found == y.dims->end() ? -1 : found - y.dims->begin();
  if (axis < 0 || !why_no_rows(y, axis, facts.symbol).empty()) return -1;
  if (made) return axis;
  const Type& x = facts.type(node.in[0]);
  if (!x.is_tensor() || !x.dims) return -1;
  const int64_t here = axis - static_cast<int64_t>(y.dims->size() - x.dims->size());
  return here < 0 || (*x.dims)[static_cast<size_t>(here)] == Dim(1) ? axis : -1;
}

/// Of output o of a node that reads no elements of rows.
RowState without_rows(const Node& node, bool counts, size_t o, const RowFacts& facts) {
  const RowState none, count = {RowState::Kind::count, 0};
  if (!node.op->pure || node.custom) return count;
  if (!counts) return none;
  if (const Tensor* known = facts.content(node.out[o])) {
    if (known->dtype() != kDimType) return none;
    const auto all = known->as<Dim>();
    return std::any_of(all.begin(), all.end(), [&](const Dim& d) { return depends_on(d, facts.symbol); }) ? count
                                                                                                          : none;
  }
  const int64_t axis = filled_axis(node, facts);
  return axis < 0 ? count : RowState{RowState::Kind::rows, axis};
}

}  // namespace

std::string why_no_rows(const Type& type, int64_t axis, const std::string& symbol) {
  bool has = type.is_tensor() && type.dims && axis >= 0 && axis < static_cast<int64_t>(type.dims->size());
  for (size_t a = 0; has && a < type.dims->size(); ++a) {
    const Dim& d = (*type.dims)[a];
    has = static_cast<int64_t>(a) == axis ? counts_rows(d, symbol) : !depends_on(d, symbol);
  }
  return has ? "" : fmt::format("makes {} of all rows", type.text());
}

RowAnswer rows_through(const ir::Graph& graph, const Node& node, std::span<const RowState> in, const RowFacts& facts) {
  const auto any = [&](RowState::Kind kind) {
    return std::any_of(in.begin(), in.end(), [=](const RowState& s) { return s.kind == kind; });
  };
  const bool measures = !node.custom && (node.op->name == "shape" || node.op->name == "size");
  if (any(RowState::Kind::rows) && !measures) return NodeRows(graph, node, in, facts).answer();
  RowAnswer answer;
  for (size_t o = 0; o < node.out.size(); ++o)
    answer.out.push_back(node.out[o].valid() ? without_rows(node, measures || any(RowState::Kind::count), o, facts)
                                             : RowState());
  return answer;
}

}  // namespace nnex
