#include "ops/infer_call.h"

#include <algorithm>
#include <set>

#include "base/failure.h"
#include "ops/stored.h"

namespace nnex {

Error left_out(std::string_view op) {
  return {Code::unsupported, fmt::format("{}: this build of nnex leaves the operator out (NNEX_OPS)", op)};
}

Status refuse_left_out(InferCall& c) { return left_out(c.op().name); }

void InferCall::result(size_t o, MaybeDims dims) { result(o, rule_type(o), std::move(dims)); }

void InferCall::result(size_t o, DType type, MaybeDims dims) { result_type(o, Type::tensor(type, std::move(dims))); }

void InferCall::result_type(size_t o, Type type) {
  if (wants(o)) *out_[o] = std::move(type);
}

MaybeDims InferCall::unknowns_if_possible(int64_t rank) const {
  return rank < 0 || rank > kMaxRank ? MaybeDims() : unknowns(rank);
}

Dims InferCall::unknowns(int64_t rank) const {
  Dims d;
  for (int64_t i = 0; i < rank; ++i) d.push_back(unknown());
  return d;
}

DType InferCall::rule_type(size_t o) const {
  const Port& port = op_->outputs[std::min(o, op_->outputs.size() - 1)];
  if (!port.type.from.empty()) {
    const Field* f = op_->attrs.find(port.type.from);
    AttrValue v = f->get(attrs_);
    if (auto* t = std::get_if<DType>(&v); t && *t != DType::none) return *t;
  }
  if (!port.type.same.empty()) {
    int i = op_->input(port.type.same);
    return i >= 0 && has(static_cast<size_t>(i)) ? in(static_cast<size_t>(i)).dtype : DType::none;
  }
  for (int t = 1; t < kDTypes; ++t)
    if (port.type.allowed == only(static_cast<DType>(t))) return static_cast<DType>(t);
  return DType::none;
}

Status InferCall::check_extents(size_t o, const Type& type) const {
  if (!type.is_tensor() || !type.dims) return {};
  const Dims& dims = *type.dims;
  const std::string_view port = op_->outputs[std::min(o, op_->outputs.size() - 1)].name;
  const auto limit = [&](std::string what) { return failure(Code::limit, "{}: {}", op_->name, what); };
  if (static_cast<int64_t>(dims.size()) > kMaxRank)
    return limit(fmt::format("{} would have {} axes; the limit is {}", port, dims.size(), kMaxRank));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].overflowed()) return limit(fmt::format("extent {} of {} would pass 2^63-1", i, port));
    if (dims[i].is_number() && dims[i].value() < 0)
      return error("extent {} of {} would be {}", i, port, dims[i].value());
  }
  const auto shape = shape_of(dims);
  const auto count = shape ? shape->checked_count() : 0;
  if (count && bytes_for(type.dtype == DType::none ? DType::u8 : type.dtype, *count)) return {};
  return limit(fmt::format("{} would have extents {}: 2^60 bytes or more", port, text(type.dims)));
}

Status same_shape(InferCall& c) {
  c.result(0, c.dims(0));
  return {};
}

Result<MaybeDims> broadcast(InferCall& c, const MaybeDims& a, const MaybeDims& b) {
  if (!a || !b) return MaybeDims{};
  Dims out(std::max(a->size(), b->size()), Dim(1));
  for (size_t i = 0; i < out.size(); ++i) {
    const Dim x = i < a->size() ? (*a)[a->size() - 1 - i] : Dim(1);
    const Dim y = i < b->size() ? (*b)[b->size() - 1 - i] : Dim(1);
    Dim& z = out[out.size() - 1 - i];
    if (x == y || y == Dim(1))
      z = x;
    else if (x == Dim(1))
      z = y;
    else if (x.is_number() && y.is_number())
      return c.error("shapes {} and {} do not broadcast: {} meets {} at axis {} from the last", text(a), text(b),
                     x.text(), y.text(), i + 1);
    else if (x.is_number())
      z = x;
    else if (y.is_number())
      z = y;
    else
      z = c.unknown();
  }
  return MaybeDims(std::move(out));
}

Status broadcast_shape(InferCall& c) {
  MaybeDims out = Dims{};
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    NNEX_ASSIGN(out, broadcast(c, out, c.dims(i)));
  }
  c.result(0, std::move(out));
  return {};
}

Result<Dim> meet(InferCall& c, const Dim& a, const Dim& b, std::string_view what) {
  if (a == b) return a;
  if (a.is_number() && b.is_number()) return c.error("{}: found {}, needed {}", what, a.value(), b.value());
  if (a.is_number()) return a;
  if (b.is_number()) return b;
  return a.has_unknown() ? b : a;
}

Result<int64_t> positive_axis(const InferCall& c, int64_t axis, int64_t rank, std::string_view what) {
  if (axis < -rank || axis >= rank)
    return c.error("{} {} is outside [{}, {}] for {} axes", what, axis, -rank, rank - 1, rank);
  return axis < 0 ? axis + rank : axis;
}

Result<Ints> positive_axes(const InferCall& c, const Ints& axes, int64_t rank, std::string_view what) {
  Ints out;
  out.reserve(axes.size());
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t axis : axes) {
    NNEX_ASSIGN(int64_t a, positive_axis(c, axis, rank, what));
    if (seen[static_cast<size_t>(a)]) return c.error("{} names axis {} twice", what, a);
    seen[static_cast<size_t>(a)] = true;
    out.push_back(a);
  }
  return out;
}

Status need_rank(const InferCall& c, size_t i, int64_t rank) {
  if (auto r = c.rank(i); r && *r != rank) return c.error("{} has {} axes; needed {}", c.op().inputs[i].name, *r, rank);
  return {};
}

Status need_number(const InferCall& c, size_t i) {
  if (!c.has(i) || !c.dims(i)) return {};
  const Dim n = product(*c.dims(i));
  if (n.is_number() && n.value() != 1) return c.error("{} has {} elements; needed 1", c.op().inputs[i].name, n.value());
  return {};
}

}  // namespace nnex
