#include "kernels/product/contraction.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/moves/copy.h"

namespace nnex::kernels {
namespace {

using Index = ContractionIndex;
constexpr float kOne = 1;

/// Whether `outer` and the faster `inner` are one index to everybody.
bool joins(const Index& outer, const Index& inner) {
  return outer.a == inner.a * inner.extent && outer.b == inner.b * inner.extent && outer.c == inner.c * inner.extent;
}

/// Neighbours that are one index to everybody become one.
void join(std::vector<Index>& indices) {
  std::vector<Index> joined;
  for (const Index& next : indices) {
    if (!joined.empty() && joins(joined.back(), next)) {
      const int64_t extent = joined.back().extent * next.extent;
      joined.back() = next;
      joined.back().extent = extent;
    } else {
      joined.push_back(next);
    }
  }
  indices = std::move(joined);
}

/// The largest step first.
void sort_by(std::vector<Index>& indices, int64_t Index::*side) {
  std::stable_sort(indices.begin(), indices.end(), [&](const Index& x, const Index& y) { return x.*side > y.*side; });
}

/// Whether one step serves all of them, in their order, on this side.
bool is_one(const std::vector<Index>& indices, int64_t Index::*side) {
  for (size_t i = 1; i < indices.size(); ++i)
    if (indices[i - 1].*side != indices[i].*side * indices[i].extent) return false;
  return true;
}

std::optional<Nest> nest_of(const std::vector<Index>& indices, std::initializer_list<int64_t Index::*> sides) {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> steps;
  for (const Index& i : indices) extents.push_back(i.extent);
  for (auto side : sides) {
    steps.emplace_back();
    for (const Index& i : indices) steps.back().push_back(i.*side);
  }
  const std::vector<std::span<const int64_t>> spans(steps.begin(), steps.end());
  return strided_nest(extents, spans);
}

void swap_sides(std::vector<Index>& indices) {
  for (Index& i : indices) std::swap(i.a, i.b);
}

void drop_ones(std::vector<Index>& indices) {
  indices.erase(std::remove_if(indices.begin(), indices.end(), [](const Index& i) { return i.extent == 1; }),
                indices.end());
}

/// Takes one index of these out: the one that `better` prefers; {} where there is none.
template <class Better>
Index take(std::vector<Index>& from, Better better) {
  if (from.empty()) return {};
  const auto best =
      std::max_element(from.begin(), from.end(), [&](const Index& x, const Index& y) { return better(y, x); });
  const Index taken = *best;
  from.erase(best);
  return taken;
}

}  // namespace

const float* Contraction::Copy::of(const simd::Loops& loops, Team& team, const float* x, std::byte* to) const {
  if (!nest) return x;
  copy_from_strided(loops, team, 4, *nest, x, to);
  return reinterpret_cast<const float*>(to);
}

std::optional<Contraction> Contraction::make(const simd::Loops& loops, Indices result, Indices summed, bool alone) {
  Contraction made(loops, alone);
  for (size_t i = result.size(); i-- > 0;) {
    result[i].c = made.count_;
    made.count_ *= result[i].extent;
  }
  drop_ones(result);
  drop_ones(summed);
  if (!made.plan(std::move(result), std::move(summed))) return std::nullopt;
  return made;
}

bool Contraction::plan(Indices result, Indices summed) {
  const bool rows = std::any_of(result.begin(), result.end(), [](const Index& i) { return i.b == 0; });
  const bool columns = std::any_of(result.begin(), result.end(), [](const Index& i) { return i.a == 0; });
  if (!summed.empty() || (rows && columns)) return plan_products(std::move(result), std::move(summed));
  how_ = alone_ ? How::copy : How::multiply;
  const auto nest = alone_ ? nest_of(result, {&Index::a}) : nest_of(result, {&Index::a, &Index::b});
  if (nest) nest_ = *nest;
  return nest.has_value();
}

bool Contraction::plan_products(Indices result, Indices summed) {
  sort_by(summed, &Index::a);
  // The result's last index is a column, so that rows of results are written whole; but a depth that lies side by side
  // is read along rows.
  const bool by_rows = alone_ && !summed.empty() && summed.back().a == 1;
  if (!result.empty() && result.back().b == 0 && !by_rows) {
    swapped_ = true;
    swap_sides(result);
    swap_sides(summed);
  }
  if (!join_summed(result, summed) || !place_result(result)) return false;

  Indices batch, rows, columns;
  for (const Index& i : result) (i.b == 0 ? rows : i.a == 0 ? columns : batch).push_back(i);
  for (Indices* of : {&batch, &rows, &columns}) join(*of);
  Index m = take(rows, [](const Index& x, const Index& y) { return x.extent > y.extent; });
  Index n = take(columns, [](const Index& x, const Index& y) { return x.c < y.c; });
  const Index k = summed.empty() ? Index{} : summed[0];
  if (m.extent == 1 && n.extent > 1 && k.b == 1 && n.b != 1) {  // nothing is packed but the one row
    swapped_ = !swapped_;
    std::swap(m, n);
    for (Indices* of : {&batch, &rows, &columns}) swap_sides(*of);
    std::swap(rows, columns);
    std::swap(m.a, m.b), std::swap(n.a, n.b);
    std::swap(a_, b_);
    summed = {k};
    swap_sides(summed);
  }
  const Index depth = summed.empty() ? Index{} : summed[0];
  Gemm& one = products_.one;
  one.m = m.extent, one.n = n.extent, one.k = depth.extent;
  one.a_row_stride = m.a, one.a_col_stride = depth.a, one.c_row_stride = m.c;
  products_.b_row_stride = depth.b, products_.b_col_stride = n.extent == 1 ? 1 : n.b;
  for (const Indices* of : {&batch, &columns, &rows})  // rows last: they read the same columns
    for (const Index& i : *of) products_.axes.push_back({i.extent, i.a, i.b, i.c});
  return true;
}

/// Makes the indices that are summed over one, with copies of the operands where they are not.
bool Contraction::join_summed(Indices& result, Indices& summed) {
  if (summed.size() < 2) return true;
  bool one_a = is_one(summed, &Index::a);
  if (!one_a) sort_by(summed, &Index::b);
  const bool one_b = is_one(summed, &Index::b);
  if (!one_a) one_a = is_one(summed, &Index::a);
  std::vector<Index*> a, b, columns;
  for (Index& i : result)
    if (i.a != 0) a.push_back(&i);
  for (Index& i : result)
    if (i.b != 0) (i.a != 0 ? b : columns).push_back(&i);
  for (Index& i : summed) a.push_back(&i), b.push_back(&i);
  b.insert(b.end(), columns.begin(), columns.end());
  if (!one_a && !make_dense(&Index::a, a_, a)) return false;
  if (!one_b && !make_dense(&Index::b, b_, b)) return false;
  join(summed);
  return summed.size() == 1;
}

/// An operand in this order of its indices.
bool Contraction::make_dense(int64_t Index::*side, Copy& copy, const std::vector<Index*>& order) {
  Indices from;
  for (const Index* i : order) from.push_back(*i);
  copy.nest = nest_of(from, {side});
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    order[i]->*side = step;
    step *= order[i]->extent;
  }
  copy.bytes = round_up(step * 4, 64);
  return copy.nest.has_value();
}

/// Where rows of the product cannot be written as they are in the result, it is made with its columns last and copied.
bool Contraction::place_result(Indices& result) {
  const bool columns = std::any_of(result.begin(), result.end(), [](const Index& i) { return i.a == 0; });
  if (!columns || result.back().a == 0) return true;
  Indices of_result = result;
  std::vector<Index*> order;
  for (Index& i : result)
    if (i.a != 0) order.push_back(&i);
  for (Index& i : result)
    if (i.a == 0) order.push_back(&i);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    order[i]->c = step;
    step *= order[i]->extent;
  }
  for (size_t i = 0; i < result.size(); ++i) of_result[i].c = result[i].c;
  c_.nest = nest_of(of_result, {&Index::c});
  c_.bytes = round_up(step * 4, 64);
  std::stable_partition(result.begin(), result.end(), [](const Index& i) { return i.a != 0; });
  return c_.nest.has_value();
}

int64_t Contraction::workspace() const {
  if (how_ != How::products) return 0;
  return a_.bytes + b_.bytes + c_.bytes + round_up(gemm_batch_workspace(*loops_, products_, usable_threads()), 64);
}

void Contraction::run(Team& team, const float* a, const float* b, float* c, std::byte* workspace) const {
  if (how_ == How::copy) return copy_from_strided(*loops_, team, 4, nest_, a, c);
  if (how_ == How::multiply) return binary_broadcast(*loops_, team, BinaryKind::mul, nest_, a, b, c);
  if (alone_) b = &kOne;
  if (swapped_) std::swap(a, b);
  BatchGemm products = products_;
  products.one.a = a_.of(*loops_, team, a, workspace);
  products.one.b = b_.of(*loops_, team, b, workspace + a_.bytes);
  std::byte* const result = workspace + a_.bytes + b_.bytes;
  products.one.c = c_.nest ? reinterpret_cast<float*>(result) : c;
  gemm_batch(*loops_, team, products, result + c_.bytes);
  if (c_.nest) copy_from_strided(*loops_, team, 4, *c_.nest, result, c);
}

}  // namespace nnex::kernels
