// The params file, or numbers that stand for it, into a graph that a symbol file made.

#include <algorithm>
#include <functional>
#include <map>

#include "base/failure.h"
#include "base/try.h"
#include "ops/cast.h"
#include "ops/precision_call.h"
#include "standards/cvm/import.h"
#include "standards/cvm/read_params.h"
#include "tensor/convert.h"

namespace nnex::cvm_format {
namespace {

constexpr int64_t kBytesFrom = 1024;  ///< Elements of a parameter that stays bytes in memory.
constexpr int64_t kMaxSeeded = int64_t{1} << 30;

/// The first element whose magnitude is above `most`; 0: none.
template <class Elements>
int64_t beyond(const Elements& elements, int64_t max) {
  for (int64_t x : elements)
    if (x > max || x < -max) return x;
  return 0;
}

}  // namespace

/// The parameter as the graph holds it: few bytes become numbers. `kept`: the tensor's memory outlives the graph.
Result<Tensor> Importer::checked(const Param& p, ValueId v, bool kept) const {
  if (!(p.tensor.shape() == shape(v)))
    return logic_error("found {}; needed {}", p.tensor.shape().text(), shape(v).text());
  const bool narrow = p.tensor.dtype() == DType::i8, wide = narrow && (p.tensor.count() < kBytesFrom || v == data_);
  NNEX_ASSIGN(Tensor t, wide     ? convert(p.tensor, DType::i32)
                        : !kept  ? p.tensor.clone()
                        : narrow ? Result<Tensor>(p.tensor)
                                 : p.tensor.aligned_copy());
  const int64_t bits = precision_.bits(v), max = bound_of_bits(bits);
  const int64_t x = t.dtype() == DType::i8 ? beyond(t.as<int8_t>(), max) : beyond(t.as<int32_t>(), max);
  if (x != 0) return logic_error("found {}; {} bits hold up to {}", x, bits, max);
  return t;
}

/// Parameters on their way into the graph.
struct Importer::Parameters {
  std::map<std::string, ValueId, std::less<>> by_name;
  std::map<std::string, Tensor> found;
  DeclaredBits widths;
};

Importer::Parameters Importer::awaited() const {
  Parameters out;
  if (data_.valid()) out.by_name[graph_[data_].name] = data_;
  for (ValueId v : variables_) out.by_name[graph_[v].name] = v;
  return out;
}

Result<ValueId> Importer::variable_named(const Parameters& to, std::string_view name) const {
  const auto it = to.by_name.find(name);
  if (it == to.by_name.end()) return runtime_error("no variable has this name").at(fmt::format("parameter '{}'", name));
  return it->second;
}

Status Importer::take(Parameters& to, const Param& p, bool kept) const {
  NNEX_ASSIGN(const ValueId v, variable_named(to, p.name));
  auto t = checked(p, v, kept);
  if (!t.ok()) return std::move(t).error().at(fmt::format("parameter '{}'", p.name));
  to.found[p.name] = std::move(*t);
  const int64_t width = nnex::bits(p.tensor.dtype());
  to.widths.erase(p.name);  // the last of a name counts
  if (width != usual_width(bits(v))) to.widths[p.name] = width;
  return {};
}

Status Importer::place(Parameters taken) {
  info_.widths = std::move(taken.widths);
  for (ValueId v : variables_) {
    auto it = taken.found.find(graph_[v].name);
    if (it == taken.found.end()) return logic_error("parameter '{}' is missing", graph_[v].name);
    if (it->second.dtype() == DType::i8)
      NNEX_TRY(keep_bytes(v, std::move(it->second)));
    else
      graph_.make_constant(v, std::move(it->second));
  }
  if (auto it = taken.found.find("data"); it != taken.found.end()) graph_.add_constant(std::move(it->second), "data");
  return {};
}

/// v becomes a constant of bytes; who read it reads its numbers. A filter is never held as four times its bytes.
Status Importer::keep_bytes(ValueId v, Tensor bytes) {
  const Type wide = graph_[v].type;
  const std::vector<Use> uses = graph_[v].uses;
  const bool read = !uses.empty() || head_at_.count(v) > 0;
  Type narrow = wide;
  narrow.dtype = DType::i8;
  graph_.set_type(v, std::move(narrow));
  graph_.make_constant(v, std::move(bytes));
  if (!read) return {};
  const NodeId first = graph_[kMain].first;
  Builder b = first.valid() ? Builder(graph_, first) : Builder(graph_, kMain);
  CastAttrs a;
  a.to = DType::i32;
  const ValueId y = b("cast", {v}, a);
  graph_.set_type(y, wide);
  for (const Use& u : uses) graph_.set_input(u.node, u.index, y);
  for (auto [at, end] = head_at_.equal_range(v); at != end; ++at) heads_[at->second] = y;
  return infer_new();
}

Status Importer::finish(std::string_view params, std::shared_ptr<const void> owner) {
  NNEX_TRY(check_ready());
  const bool kept = owner != nullptr;  // else the caller's bytes may end before the graph does
  const auto read = [&]() -> Status {
    NNEX_ASSIGN(ParamReader file, ParamReader::open(params, std::move(owner)));
    Parameters taken = awaited();
    while (!file.at_end()) {  // one after another, as the reference loader does: the first fault has the class
      NNEX_TRY(variable_named(taken, file.name()));
      NNEX_ASSIGN(const Param p, file.next());
      NNEX_TRY(take(taken, p, kept));
    }
    return place(std::move(taken));
  };
  if (Status s = read(); !s.ok()) return std::move(s).error().during("reading the params file");
  return end();
}

Status Importer::finish_seeded(uint64_t seed) {
  NNEX_TRY(check_ready());
  Parameters made = awaited();
  int64_t total = 0;
  for (ValueId v : variables_) {
    total += shape(v).count() * usual_width(bits(v)) / 8;
    if (total > kMaxSeeded)
      return failure(Code::limit,
                     "the parameters take {} bytes and more; needed at most {} to make numbers "
                     "for them",
                     total, kMaxSeeded);
    NNEX_ASSIGN(const Param p, seeded_param(graph_[v].name, shape(v), bits(v), seed));
    NNEX_TRY(take(made, p, true));
  }
  NNEX_TRY(place(std::move(made)));
  graph_.meta.properties.emplace_back("cvm.params", "none; numbers of a seed stand for them");
  return end();
}

}  // namespace nnex::cvm_format
