#include "standards/cvm/legalize_integers.h"

#include <algorithm>
#include <map>

#include "base/faults.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/precision.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/conv.h"
#include "ops/cvm.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/scatter.h"
#include "ops/window.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex::cvm_format {
namespace {

class IntegerLegalizer {
 public:
  explicit IntegerLegalizer(ir::Graph& graph) : graph_(graph), declared_(graph.provenance.bits) {}

  Status run() {
    for (NodeId id : graph_.order()) {
      const Node& n = graph_[id];
      if (n.erased) continue;
      if (n.op->name == "cast") cast(id);
      if (n.op->name == "conv_integer") conv(id);
      if (n.op->name == "gather") gather(id);
      if (n.op->name == "max_reduce") taps(id);
      if (n.op->name == "select") condition(id);
      if (n.op->name == "clamp" && dtype(n.out[0]) == DType::i32) clip(id);
      if (n.op->name == "add") digits(id);
      if (n.op->name == "expand" && !repeat(id)) stretch(id);
      if (n.op->name == "sum_reduce") count_rows(id);
      if (n.op->name == "slice") front_rows(id);
    }
    for (NodeId id : graph_.order())  // the others know a limit by its maximum
      if (!graph_[id].erased && graph_[id].op->name == "max") rectifier(id);
    NNEX_TRY(drop_and_infer());
    for (NodeId id : graph_.order()) comparison(id);
    NNEX_TRY(drop_and_infer());
    return check_bytes();
  }

 private:
  Status drop_and_infer() {
    NNEX_TRY(passes::drop_unused(graph_));
    Faults faults;
    infer_types(graph_, faults);
    if (!faults.none()) return std::move(faults).first();
    return {};
  }

  /// A cast to bytes that was left out must not have changed a number: its operand has 8 bits.
  Status check_bytes() const {
    if (bytes_.empty()) return {};
    Faults ignored;
    const std::vector<int64_t> bits = infer_precision(graph_, {}, ignored);
    for (NodeId id : bytes_)
      if (const int64_t found = graph_[id].erased ? 1 : bits[graph_[id].in[0].n]; found < 1 || found > 8)
        return Error(Code::unsupported,
                     "max_pool: its input is cast to i8, where numbers of more than 8 bits wrap; a "
                     "Clip to -127..127 in front of the cast says that there are none")
            .at(graph_.place_of(id));
    return {};
  }

  DType dtype(ValueId v) const {
    const Tensor* t = graph_[v].constant.tensor();
    return t ? t->dtype() : graph_[v].type.dtype;
  }
  /// The node of that row that makes a value which nothing else reads; null: none.
  const Node* made_by(ValueId v, std::string_view row) const {
    const Node* n = v.valid() ? graph_.producer(v) : nullptr;
    return n && n->op->name == row && graph_.read_once(v) ? n : nullptr;
  }
  /// A constant of one whole number.
  std::optional<int64_t> number(const Node& n, size_t i) const {
    const Tensor* t = graph_.constant_in(n, i);
    return t && t->count() == 1 && is_int(t->dtype()) ? std::optional(int_at(*t, 0)) : std::nullopt;
  }
  /// p where a clamp's limits are +-(2^(p-1) - 1).
  std::optional<int64_t> bits_of(const Node& clamp) const {
    const auto low = number(clamp, 1), high = number(clamp, 2);
    if (!low || !high || *low != -*high || *high < 0 || *high > INT32_MAX || (*high & (*high + 1))) return std::nullopt;
    int64_t p = 1;
    while (*high >> (p - 1)) ++p;
    return p;
  }
  /// k where v is cast(x, i64) with x of i32, and x.
  std::optional<ValueId> widened(ValueId v) const {
    const Node* n = v.valid() ? graph_.producer(v) : nullptr;
    if (!n || n->op->name != "cast" || dtype(v) != DType::i64 || dtype(n->in[0]) != DType::i32) return std::nullopt;
    return n->in[0];
  }
  static std::optional<int64_t> exponent(std::optional<int64_t> power) {
    if (!power || *power < 1 || (*power & (*power - 1))) return std::nullopt;
    int64_t k = 0;
    while (int64_t{1} << k != *power) ++k;
    return k;
  }

  void replace(NodeId id, ValueId v) {
    const ValueId old = graph_[id].out[0];
    graph_.set_type(v, graph_[old].type);
    graph_.replace_uses(old, v);
    graph_.set_name(v, graph_[old].name);
  }

  void cast(NodeId id) {
    const Node& n = graph_[id];
    if (dtype(n.out[0]) != DType::i32) return;
    if (dtype(n.in[0]) == DType::i64) shift(id);
    if (const Node* answer = made_by(n.in[0], "gt")) {
      Builder b(graph_, id);
      replace(id, b("gt", {answer->in[0], answer->in[1]}, AnswerAttrs{DType::i32}));
      return;
    }
    if (const Node* pool = made_by(n.in[0], "max_pool")) {
      const Node* narrowed = graph_.producer(pool->in[0]);
      if (!narrowed || narrowed->op->name != "cast" || dtype(narrowed->in[0]) != DType::i32) return;
      Builder b(graph_, id);
      const NodeId made = b.node(*pool->op, {narrowed->in[0]}, 1, pool->attrs);
      bytes_.push_back(made);
      replace(id, graph_[made].out[0]);
    }
  }

  /// max(x, 0)   ->   relu(x), where the 0 is no parameter of the network's own
  void rectifier(NodeId id) {
    const Node& n = graph_[id];
    for (size_t i = 0; i < 2; ++i) {
      const ValueId x = n.in[1 - i];
      const auto from = concrete(graph_[x].type), to = concrete(graph_[n.out[0]].type);
      if (number(n, i) != 0 || declared_.count(graph_[n.in[i]].name) || !from || !to || !(*from == *to)) continue;
      Builder b(graph_, id);
      return replace(id, b("relu", {x}));
    }
  }

  /// cast(clamp(... cast(x, i64) ...), i32)
  void shift(NodeId id) {
    const Node* limits = made_by(graph_[id].in[0], "clamp");
    const auto bits = limits ? bits_of(*limits) : std::nullopt;
    if (!bits) return;
    CvmShiftAttrs a;
    a.precision = *bits;
    Builder b(graph_, id);
    if (const Node* product = made_by(limits->in[0], "mul")) {
      const auto x = widened(product->in[0]);
      const auto k = exponent(number(*product, 1));
      if (!x || !k || *k < 1) return;
      a.shift_bit = *k;
      return replace(id, b("cvm_left_shift", {*x}, a));
    }
    const Node* quotient = made_by(limits->in[0], "div");
    const Node* whole = quotient ? made_by(quotient->in[0], "sub") : nullptr;
    const Node* rest = whole ? made_by(whole->in[1], "mod") : nullptr;
    const Node* sum = rest && rest->in[0] == whole->in[0] ? graph_.producer(rest->in[0]) : nullptr;
    if (!sum || sum->op->name != "add" || graph_.attrs<ModAttrs>(*rest).division != Division::floor) return;
    const auto x = widened(sum->in[0]);
    const auto half = number(*sum, 1), by = number(*quotient, 1);
    const auto k = exponent(by);
    if (!x || !k || *k < 1 || *k > 32 || number(*rest, 1) != by || half != int64_t{1} << (*k - 1)) return;
    a.shift_bit = *k;
    replace(id, b("cvm_right_shift", {*x}, a));
  }

  /// A comparison of i32 whose answer is read as a number or as a condition: its answer as i32.
  void comparison(NodeId id) {
    const Node& n = graph_[id];
    if (n.erased || (n.op->name != "select" && n.op->name != "cast")) return;
    const bool chooses = n.op->name == "select";
    const Node* answer = graph_.producer(n.in[0]);
    if (!answer || dtype(n.in[0]) != DType::boolean || (!chooses && dtype(n.out[0]) != DType::i32)) return;
    const bool less = answer->op->name == "lt";
    if ((!less && answer->op->name != "gt") || dtype(answer->in[0]) != DType::i32) return;
    const Type type = Type::tensor(DType::i32, graph_[n.in[0]].type.dims);
    Builder b(graph_, id);
    const ValueId y = b("gt", {answer->in[less], answer->in[!less]}, AnswerAttrs{DType::i32});
    graph_.set_type(y, type);
    if (chooses)
      graph_.set_input(id, 0, y);
    else
      replace(id, y);
  }

  /// select(cast(c, bool), x, y): c as it is, or a constant's truth as 0 and 1
  void condition(NodeId id) {
    const ValueId given = graph_[id].in[0];
    if (const Tensor* t = graph_[given].constant.tensor(); t && t->dtype() == DType::boolean) {
      auto numbers = convert(*t, DType::i32);
      if (numbers.ok()) graph_.set_input(id, 0, graph_.add_constant(std::move(*numbers), graph_[given].name));
      return;
    }
    const Node* truth = graph_.producer(given);
    if (truth && truth->op->name == "cast" && dtype(truth->out[0]) == DType::boolean &&
        dtype(truth->in[0]) == DType::i32)
      graph_.set_input(id, 0, truth->in[0]);
  }

  /// gather(x, max(min(i, n - 1), 0)): indices that are clamped; constant ones may be in range as they are
  void gather(NodeId id) {
    const auto a = graph_.attrs<GatherAttrs>(id);
    const ValueId table = graph_[id].in[0], index = graph_[id].in[1];
    const Tensor* t = graph_[table].constant.tensor();
    const auto x = t ? std::optional(t->shape()) : concrete(graph_[table].type);
    const int64_t axis = a.axis < 0 && x ? a.axis + x->rank() : a.axis;
    if (!x || axis < 0 || axis >= x->rank()) return;
    const int64_t extent = (*x)[axis];
    const Node *low = graph_.producer(index), *high = nullptr;
    if (low && low->op->name == "max" && number(*low, 1) == 0) high = graph_.producer(low->in[0]);
    if (high && high->op->name == "min" && number(*high, 1) == extent - 1) {
      graph_.set_input(id, 1, widened(high->in[0]).value_or(high->in[0]));
    } else {
      const auto places = fixed_places(index, extent, a.from_end);
      if (!places) return;
      graph_.set_input(id, 1, *places);
    }
    graph_.set_attrs(id, GatherAttrs{a.axis, false, Outside::clamp});
  }
  /// A constant of indices into n elements as i32 of [0, n); nothing: it is none, or some are beyond.
  std::optional<ValueId> fixed_places(ValueId v, int64_t n, bool from_end) {
    const Tensor* t = graph_[v].constant.tensor();
    if (!t || !is_int(t->dtype()) || n > INT32_MAX) return std::nullopt;
    if (t->dtype() == DType::i32 && in_range(v, n)) return v;
    auto places = Tensor::make(DType::i32, t->shape());
    if (!places.ok()) return std::nullopt;
    for (int64_t i = 0; i < t->count(); ++i) {
      const int64_t k = int_at(*t, i), place = k < 0 && from_end ? k + n : k;
      if (place < 0 || place >= n) return std::nullopt;
      set_int(*places, i, place);
    }
    return graph_.add_constant(std::move(*places), graph_[v].name);
  }
  /// Whether v is constant and holds numbers of [0, n) alone.
  bool in_range(ValueId v, int64_t n) const {
    const Tensor* t = graph_[v].constant.tensor();
    if (!t || !is_int(t->dtype())) return false;
    for (int64_t i = 0; i < t->count(); ++i)
      if (const int64_t k = int_at(*t, i); k < 0 || k >= n) return false;
    return true;
  }

  // ---- Windows

  /// Of one axis: how many elements, how far apart, how many of them before the input.
  struct Window {
    int64_t size = 1, stride = 1, before = 0;
    bool floor = true, ceil = true;  ///< Which way to round gives as many windows.
  };

  /// The window whose elements a table names, row by row, those beyond n elements being the nearest.
  static std::optional<Window> window(const Tensor& table, int64_t n) {
    const int64_t rows = table.shape()[0], size = table.shape()[1];
    const Ints at = ints_of(table);
    int64_t budget = int64_t{1} << 24;
    for (int64_t before = 0; before < size; ++before) {
      for (int64_t stride = 1; stride <= n + 2 * before; ++stride) {
        const int64_t padded = n + 2 * before;
        const Window w{size, stride, before, padded >= size && window_count(padded, size, stride, false) == rows,
                       padded >= size && window_count(padded, size, stride, true) == rows};
        if (--budget < 0) return std::nullopt;
        if (!w.floor && !w.ceil) continue;
        int64_t i = 0;
        while (i < rows * size &&
               at[static_cast<size_t>(i)] == std::clamp<int64_t>(i / size * stride - before + i % size, 0, n - 1))
          ++i;
        if (i == rows * size && (rows - 1) * stride - before < n) return w;
        budget -= i;
      }
    }
    return std::nullopt;
  }

  /// max(gather(x, windows of an axis), the axis behind it)   ->   max_pool(x), both of the last two axes in one
  void taps(NodeId id) {
    const Node& n = graph_[id];
    const auto& a = graph_.attrs<ExtremeAttrs>(n);
    const Node* gather = made_by(n.in[0], "gather");
    const Tensor* table = gather ? graph_.constant_in(*gather, 1) : nullptr;
    const auto x = gather ? concrete(graph_[gather->in[0]].type) : std::nullopt;
    if (!table || table->shape().rank() != 2 || table->count() > 1 << 22 || !x || x->rank() != 4) return;
    const int64_t from = graph_.attrs<GatherAttrs>(*gather).axis, axis = from < 0 ? from + 4 : from;
    const auto axes = n.in.size() > 1 ? numbers(n, 1) : std::nullopt;
    if (a.keepdims || a.to_end || a.initial || axis < 2 || dtype(n.out[0]) != DType::i32 || !is_int(table->dtype()) ||
        !in_range(gather->in[1], (*x)[axis]) || !axes || (*axes != Ints{axis + 1} && *axes != Ints{axis - 4}))
      return;
    const auto w = window(*table, (*x)[axis]);
    if (!w) return;
    PoolAttrs pool;
    pool.size = {1, 1, 1, 1}, pool.stride = {1, 1, 1, 1}, pool.padding = Pairs(4), pool.border = PoolBorder::ignore;
    ValueId v = gather->in[0];
    bool floor = w->floor, ceil = w->ceil;
    const auto before = pools_.find(v);
    if (before != pools_.end() && graph_.read_once(v) && before->second.first != axis &&
        ((floor && before->second.second.floor) || (ceil && before->second.second.ceil))) {
      const Node& other = *graph_.producer(v);
      pool = graph_.attrs<PoolAttrs>(other);
      floor &= before->second.second.floor, ceil &= before->second.second.ceil;
      v = other.in[0];
    }
    const auto i = static_cast<size_t>(axis);
    pool.size[i] = w->size, pool.stride[i] = w->stride, pool.padding[i] = {w->before, w->before}, pool.ceil = !floor;
    const ValueId y = Builder(graph_, id)("max_pool", {v}, pool);
    replace(id, y);
    if (pool.size[5 - i] == 1 && v == gather->in[0]) pools_[y] = {axis, *w};
  }

  // ---- Digits

  /// sum(cast(abs(cast(x, i64)) >= [2, 4, ..., 2^31]), last axis) + 1
  void digits(NodeId id) {
    const Node& n = graph_[id];
    if (dtype(n.out[0]) != DType::i32) return;
    for (size_t one : {0, 1}) {
      const Node* sum = number(n, one) == 1 ? made_by(n.in[1 - one], "sum_reduce") : nullptr;
      const Node* counted = sum && sums(*sum, {-1}) ? made_by(sum->in[0], "cast") : nullptr;
      const Node* reached = counted ? made_by(counted->in[0], "ge") : nullptr;
      const Node* apart = reached && are_powers(*reached, 1) ? made_by(reached->in[0], "unsqueeze") : nullptr;
      const Node* size = apart ? made_by(apart->in[0], "abs") : nullptr;
      const auto x = size ? widened(size->in[0]) : std::nullopt;
      const auto from = x ? concrete(graph_[*x].type) : std::nullopt;
      const auto axis = apart ? numbers(*apart, 1) : std::nullopt;
      if (!from || !axis || (*axis != Ints{-1} && *axis != Ints{from->rank()})) continue;
      return replace(id, Builder(graph_, id)("cvm_precision", {*x}));
    }
  }
  bool are_powers(const Node& n, size_t i) const {
    const auto list = numbers(n, i);
    if (!list || list->size() != 31) return false;
    for (size_t k = 0; k < list->size(); ++k)
      if ((*list)[k] != int64_t{2} << k) return false;
    return true;
  }
  std::optional<Ints> numbers(const Node& n, size_t i) const {
    const Tensor* t = graph_.constant_in(n, i);
    return t && is_int(t->dtype()) && t->count() < 64 ? std::optional(ints_of(*t)) : std::nullopt;
  }
  /// Whether a sum goes over these axes, counted from the last where negative, and drops them.
  bool sums(const Node& sum, Ints wanted) const {
    const auto& a = graph_.attrs<ReduceAttrs>(sum);
    const auto x = concrete(graph_[sum.in[0]].type);
    auto axes = numbers(sum, 1);
    if (a.keepdims || a.to_end || !x || !axes) return false;
    for (Ints* list : {&*axes, &wanted}) {
      for (int64_t& axis : *list) axis += axis < 0 ? x->rank() : 0;
      std::sort(list->begin(), list->end());
    }
    return *axes == wanted;
  }

  // ---- Elements that stand several times

  /// reshape(expand(x with an axis of 1 behind another, r there)), the two merged: x's slices r times each
  bool repeat(NodeId id) {
    const ValueId apart = graph_[id].in[0], wide = graph_[id].out[0];
    const Node* split = graph_.producer(apart);
    if (!split || (split->op->name != "unsqueeze" && split->op->name != "reshape") || !graph_.read_once(wide))
      return false;
    const NodeId merge = graph_[wide].uses[0].node;
    if (graph_[merge].op->name != "reshape") return false;
    const auto x = concrete(graph_[split->in[0]].type), from = concrete(graph_[apart].type),
               to = concrete(graph_[wide].type), y = concrete(graph_[graph_[merge].out[0]].type);
    if (!x || !from || !to || !y || from->rank() != x->rank() + 1 || to->rank() != from->rank()) return false;
    for (int64_t axis = 0; axis < x->rank(); ++axis) {
      const int64_t times = (*to)[axis + 1];
      Ints between(x->begin(), x->end()), stretched = between, merged = between;
      between.insert(between.begin() + axis + 1, 1);
      stretched.insert(stretched.begin() + axis + 1, times);
      merged[static_cast<size_t>(axis)] *= times;
      if (!(*from == Shape(between)) || !(*to == Shape(stretched)) || !(*y == Shape(merged))) continue;
      replace(merge, Builder(graph_, merge)("repeat", {split->in[0]}, RepeatAttrs{times, axis}));
      return true;
    }
    return false;
  }

  /// expand(x): x again and again along the axes of 1 that it stretches
  void stretch(NodeId id) {
    const Node& n = graph_[id];
    const auto x = concrete(graph_[n.in[0]].type), y = concrete(graph_[n.out[0]].type);
    if (!x || !y || graph_[n.out[0]].uses.empty()) return;
    Ints wide(static_cast<size_t>(y->rank() - x->rank()), 1), times;
    wide.insert(wide.end(), x->begin(), x->end());
    for (int64_t i = 0; i < y->rank(); ++i) times.push_back(wide[static_cast<size_t>(i)] == 1 ? (*y)[i] : 1);
    Builder b(graph_, id);
    ValueId from = n.in[0];
    if (y->rank() > x->rank()) {
      from = b("reshape", {from, b.ints(wide)});
      graph_.set_type(from, Type::tensor(dtype(n.in[0]), dims_of(Shape(wide))));
    }
    replace(id, b("tile", {from, b.ints(times)}));
  }

  // ---- Detection

  /// Of cast(gt(slice(x, column 1), threshold), i32): the node that counts and moves those rows.
  std::optional<NodeId> counted(NodeId before, ValueId ones) {
    const Node* cast = graph_.producer(ones);
    if (cast && cast->op->name == "gt" && dtype(ones) == DType::i32) return counted_above(before, ones);
    const Node* above = cast && cast->op->name == "cast" ? graph_.producer(cast->in[0]) : nullptr;
    return above && dtype(ones) == DType::i32 ? counted_above(before, cast->in[0]) : std::nullopt;
  }
  std::optional<NodeId> counted_above(NodeId before, ValueId answers) {
    const Node* above = graph_.producer(answers);
    const Node* score = above && above->op->name == "gt" ? graph_.producer(above->in[0]) : nullptr;
    const auto threshold = score ? number(*above, 1) : std::nullopt;
    if (!threshold || score->op->name != "slice" || !is_slice(*score, 1, 2, 2)) return std::nullopt;
    const auto [it, fresh] = counters_.emplace(answers, NodeId{});
    if (fresh) {
      const ValueId x = score->in[0];
      it->second =
          Builder(graph_, before)
              .node(op("get_valid_counts"), {x}, 2, std::make_shared<ValidCountsAttrs>(ValidCountsAttrs{*threshold}));
    }
    return it->second;
  }
  /// Whether a slice of three axes takes [first, last) of one axis, and all of the others.
  bool is_slice(const Node& n, int64_t first, int64_t last, int64_t axis) const {
    const auto x = concrete(graph_[n.in[0]].type);
    if (!x || x->rank() != 3 || dtype(n.in[0]) != DType::i32) return false;
    const auto axes = numbers(n, 3);
    return numbers(n, 1) == Ints{first} && numbers(n, 2) == Ints{last} && axes &&
           (*axes == Ints{axis} || *axes == Ints{axis - 3}) &&
           (n.in.size() < 5 || !n.in[4].valid() || numbers(n, 4) == Ints{1});
  }

  /// sum(ones over rows): how many rows are above the threshold
  void count_rows(NodeId id) {
    if (dtype(graph_[id].out[0]) != DType::i32 || !sums(graph_[id], {1, 2})) return;
    const auto made = counted(id, graph_[id].in[0]);
    if (made) replace(id, graph_[*made].out[0]);
  }

  /// slice(scatter(-1, select(above, cum_sum(ones) - 1, rows), x), all rows but the last): those rows at the front
  void front_rows(NodeId id) {
    const Node& n = graph_[id];
    const Node* scatter = made_by(n.in[0], "scatter_elements");
    const Tensor* empty = scatter ? graph_.constant_in(*scatter, 0) : nullptr;
    if (!empty || empty->dtype() != DType::i32 || empty->shape().rank() != 3) return;
    const auto& a = graph_.attrs<ScatterElementsAttrs>(*scatter);
    const auto x = concrete(graph_[scatter->in[2]].type);
    if (a.axis != 1 || a.reduction != Collision::none || !x || x->rank() != 3 ||
        !(empty->shape() == Shape{(*x)[0], (*x)[1] + 1, (*x)[2]}) || !is_slice(n, 0, (*x)[1], 1))
      return;
    for (int64_t e : ints_of(*empty))
      if (e != -1) return;
    // The slice's axes count from the scattered tensor, as high as x.
    const Node* wide = graph_.producer(scatter->in[1]);
    if (wide && (wide->op->name == "expand" || wide->op->name == "tile")) wide = graph_.producer(wide->in[0]);
    const Node* to = wide && wide->op->name == "cast" ? graph_.producer(wide->in[0]) : nullptr;
    const Node* place =
        to && to->op->name == "select" && number(*to, 2) == (*x)[1] ? graph_.producer(to->in[1]) : nullptr;
    const Node* sum =
        place && place->op->name == "sub" && number(*place, 1) == 1 ? graph_.producer(place->in[0]) : nullptr;
    if (!sum || sum->op->name != "cum_sum" || graph_.attrs<CumulativeAttrs>(*sum).exclusive ||
        graph_.attrs<CumulativeAttrs>(*sum).reverse || number(*sum, 1) != 1)
      return;
    const Node* ones = graph_.producer(sum->in[0]);
    if (!ones || ones->op->name != "cast" || !(ones->in[0] == to->in[0])) return;
    const auto made = counted_above(id, to->in[0]);
    if (made && graph_[*made].in[0] == scatter->in[2]) replace(id, graph_[*made].out[1]);
  }

  void clip(NodeId id) {
    if (const auto bits = bits_of(graph_[id])) {
      Builder b(graph_, id);
      replace(id, b("cvm_clip", {graph_[id].in[0]}, CvmClipAttrs{*bits, true}));
    }
  }

  /// Bytes with a sign as the i32 that they were cast from, or as a constant of bytes that is widened; invalid:
  /// neither.
  ValueId wide_bytes(Builder& b, ValueId v) {
    if (dtype(v) != DType::i8) return {};
    if (const Node* n = graph_.producer(v))
      return n->op->name == "cast" && dtype(n->in[0]) == DType::i32 ? n->in[0] : ValueId{};
    const Tensor* t = graph_[v].constant.tensor();
    if (!t) return {};
    const Type type = Type::tensor(DType::i32, dims_of(t->shape()));
    const ValueId wide = b("cast", {v}, CastAttrs{DType::i32});
    graph_.set_type(wide, type);
    return wide;
  }

  /// conv_integer(x as i8, w as i8) [+ b]   ->   conv(x, w, [b])
  void conv(NodeId id) {
    const Node& n = graph_[id];
    if (n.in.size() > 2) return;  // zero points
    Builder b(graph_, id);
    const ValueId x = wide_bytes(b, n.in[0]), w = wide_bytes(b, n.in[1]);
    const auto filter = w.valid() ? concrete(graph_[w].type) : std::nullopt;
    if (!x.valid() || !filter || filter->rank() < 1) return;
    std::vector<ValueId> in = {x, w};
    NodeId whole = id;
    if (const auto bias = added(n.out[0], (*filter)[0])) in.push_back(bias->second), whole = bias->first;
    const NodeId made = Builder(graph_, whole).node(op("conv"), std::move(in), 1, n.attrs);
    replace(whole, graph_[made].out[0]);
  }

  /// The addition of one number a channel that alone reads a value, and those numbers as a list.
  std::optional<std::pair<NodeId, ValueId>> added(ValueId v, int64_t channels) {
    if (!graph_.read_once(v)) return std::nullopt;
    const NodeId reader = graph_[v].uses[0].node;
    const Node& n = graph_[reader];
    if (n.op->name != "add") return std::nullopt;
    const ValueId other = n.in[0] == v ? n.in[1] : n.in[0];
    const Tensor* t = graph_[other].constant.tensor();
    const int64_t axes = t ? t->shape().rank() : 0;
    if (!t || t->count() != channels || axes < 1) return std::nullopt;
    const auto shape = concrete(graph_[v].type);
    if (!shape || axes != shape->rank() - 1 || t->shape()[0] != channels) return std::nullopt;
    return std::pair(reader, graph_.add_constant(t->reshaped(Shape{channels}), graph_[other].name));
  }

  ir::Graph& graph_;
  const DeclaredBits declared_;
  std::map<ValueId, std::pair<int64_t, Window>> pools_;  ///< Of one axis, by result.
  std::vector<NodeId> bytes_;                            ///< Whose input must have 8 bits.
  std::map<ValueId, NodeId> counters_;  ///< By what is above a threshold: the node that counts and moves it.
};

}  // namespace

Status legalize_integers(ir::Graph& graph) { return IntegerLegalizer(graph).run(); }

}  // namespace nnex::cvm_format
