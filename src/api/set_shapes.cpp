#include "api/set_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "api/graph_impl.h"
#include "base/failure.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/symbols.h"
#include "nnex/elements.h"
#include "passes/passes.h"
#include "run/inputs.h"

namespace nnex {
namespace {

Status infer_or_fault(ir::Graph& g) {
  Faults faults;
  infer_types(g, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// What a constant extent list becomes where the elements that it lays out become others; nothing: it may stay.
/// `was`, `now`: an extent of an input that changes.
struct ExtentChange {
  int64_t was = 0, now = 0;
};
std::optional<std::vector<int64_t>> followed(const std::vector<int64_t>& shape, int64_t count,
                                             const std::vector<ExtentChange>& changes) {
  const auto product = [](const std::vector<int64_t>& s) {
    int64_t n = 1;
    for (int64_t e : s) n *= e;
    return n;
  };
  const bool open = std::find(shape.begin(), shape.end(), -1) != shape.end();
  for (const ExtentChange& c : changes) {
    for (size_t i = 0; i < shape.size(); ++i) {  // an axis of that extent, the first one that fits
      if (shape[i] != c.was) continue;
      std::vector<int64_t> out = shape;
      out[i] = c.now;
      if (open ? i == 0 : product(out) == count) return out;
    }
  }
  if (open) return std::nullopt;
  for (const ExtentChange& c : changes) {  // an axis in which it is a factor
    for (size_t i = 0; i < shape.size(); ++i) {
      if (c.was <= 0 || shape[i] % c.was != 0) continue;
      std::vector<int64_t> out = shape;
      out[i] = shape[i] / c.was * c.now;
      if (product(out) == count) return out;
    }
  }
  return std::nullopt;
}

/// A reshape whose constant followed.
struct Followed {
  NodeId node;
  std::vector<int64_t> from, to;
};

/// Numbers that stand for extents that nobody gives, meanwhile.
constexpr int64_t kUnknowns[] = {20011, 20021, 20023, 20029, 20047, 20051, 20063, 20071};

/// What nodes make has again the types that it had before some were inferred.
void restore_types(ir::Graph& g, const ir::Graph& before) {
  for (uint32_t n = 0; n < before.value_count(); ++n)
    if (const ValueId v{n}; before[v].producer.valid() && g[v].producer.valid()) g.set_type(v, before[v].type);
}

/// Inputs whose extent is a formula, and is to be no number, get the formula again.
void leave_open(ir::Graph& g, const ir::Graph& before, const Shapes& was, const Shapes& now) {
  for (ValueId v : g.inputs()) {
    const auto old = was.find(g[v].name);
    if (old == was.end()) continue;
    Type t = g[v].type;
    for (size_t i = 0; i < old->second.size(); ++i) {
      const int64_t n = old->second[i];
      if (n == now.at(g[v].name)[i] && !is_given(n)) (*t.dims)[i] = (*before[v].type.dims)[i];
    }
    g.set_type(v, std::move(t));
  }
  restore_types(g, before);
}

/// Extents reach into the bodies of functions: calls become what they call.
Status inline_calls(ir::Graph& g) {
  NNEX_ASSIGN(const int calls, passes::inline_functions(g));
  if (calls > 0) g.functions.clear();
  return {};
}

/// Gives the inputs the shapes `now`, where they had `was` when constants were made, and lets reshapes follow.
Result<std::vector<Followed>> reshapes_following(ir::Graph& g, const Shapes& was, const Shapes& now) {
  const ir::Graph declared = g;
  ir::Graph before = g;
  forget_extents(before);
  put_input_shapes(before, was);
  Faults unknown;  // the numbers that stand for others may not fit
  infer_types(before, unknown);
  std::vector<ExtentChange> changes;
  for (const auto& [name, extents] : now)
    for (size_t i = 0; i < extents.size(); ++i)
      if (const int64_t old = was.at(name)[i]; old != extents[i]) changes.push_back({old, extents[i]});
  put_input_shapes(g, now);
  std::vector<Followed> out;
  for (NodeId id : g.order()) {
    if (g[id].op->name != "reshape" || g[id].in.size() < 2) continue;
    const Tensor* shape = g.constant_in(g[id], 1);
    const auto old_in = concrete(before[before[id].in[0]].type);
    if (!shape || !old_in) continue;
    Faults later;  // nodes that have yet to follow
    infer_types(g, later);
    const auto new_in = concrete(g[g[id].in[0]].type);
    if (!new_in || new_in->count() == old_in->count()) continue;
    const std::vector<int64_t> from = ints_of(*shape);
    const auto to = followed(from, new_in->count(), changes);
    if (!to || *to == from) continue;
    g.set_input(id, 1, g.add_constant(Tensor::of(shape->shape(), *to)));
    out.push_back({id, from, *to});
  }
  leave_open(g, declared, was, now);
  NNEX_TRY(infer_or_fault(g));
  return out;
}

// ---- Symbols

/// An axis of an input that becomes a symbol.
struct OpenedAxis {
  ValueId input;
  size_t axis = 0;
  std::string symbol;
  std::optional<int64_t> was;  ///< Nothing: it was open, and has another name.
};

/// Numbers that stand for symbols meanwhile: primes, so that what a symbol went into can be told.
constexpr int64_t kStandIns[] = {10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079};

ValueId input_named(const ir::Graph& g, const std::string& name) {
  const auto& all = g.inputs();
  const auto it = std::find_if(all.begin(), all.end(), [&](ValueId v) { return g[v].name == name; });
  return it == all.end() ? ValueId{} : *it;
}

/// The extents that are wanted. `number`: in place of every one.
std::map<std::string, Dims> dims_of(const SymbolicShapes& wanted, std::optional<int64_t> number = std::nullopt) {
  std::map<std::string, Dims> out;
  for (const auto& [name, extents] : wanted)
    for (const NewExtent& e : extents)
      out[name].push_back(!e.symbol.empty() ? Dim::symbol(e.symbol) : Dim(number.value_or(e.number)));
  return out;
}

class Opening {
 public:
  explicit Opening(ir::Graph& g) : g_(g) {}

  Result<std::vector<BakedShape>> run(const SymbolicShapes& wanted) {
    NNEX_TRY(read(wanted));
    const ir::Graph declared = g_;
    auto followed = reshapes_following(g_, was_, now_);
    if (!followed.ok() && stand_ins_.empty()) return std::move(followed).error();
    if (!followed.ok()) return std::move(followed).error().during("trying " + stand_ins_text());
    std::vector<BakedShape> out;
    for (Followed& f : *followed) {
      NNEX_TRY(open(f));
      out.push_back({g_.place_of(f.node), f.from, f.to});
    }
    name_axes();
    restore_types(g_, declared);
    if (Status s = infer_or_fault(g_); !s.ok())
      return std::move(s).error().during(fmt::format("leaving {} open", symbols()));
    NNEX_TRY(try_numbers());
    return out;
  }

 private:
  Status read(const SymbolicShapes& wanted) {
    forget_extents(g_);
    ir::Graph one = g_;  // a constant has 1 of what was open
    NNEX_TRY(give_symbols(g_, dims_of(wanted)));
    NNEX_TRY(give_symbols(one, dims_of(wanted, 1)));
    NNEX_ASSIGN(was_, input_shapes(one));
    NNEX_ASSIGN(now_, input_shapes(g_));
    Shapes numbers;  // names and ranks are checked by them
    for (const auto& [name, extents] : wanted) {
      numbers[name] = now_[name];
      numbers[name].resize(std::max(numbers[name].size(), extents.size()));
    }
    NNEX_TRY(check_input_shapes(g_, numbers));
    for (const auto& [name, extents] : wanted) {
      const ValueId input = input_named(g_, name);
      for (size_t i = 0; i < extents.size(); ++i) NNEX_TRY(read(input, i, extents[i]));
    }
    return {};
  }

  Status read(ValueId input, size_t axis, const NewExtent& wanted) {
    const Dim& known = (*g_[input].type.dims)[axis];
    int64_t &was = was_[g_[input].name][axis], &now = now_[g_[input].name][axis];
    if (wanted.symbol.empty()) {
      if (!is_given(was)) was = 1;
      now = wanted.number;
      return {};
    }
    if (known.text() == wanted.symbol) return {};
    NNEX_ASSIGN(now, stand_in(wanted.symbol));
    axes_.push_back({input, axis, wanted.symbol, known.number()});
    if (!known.is_number()) was = now;  // it is open as it stands: no constant has it
    return {};
  }

  /// A symbol that an input has already is as long there.
  Result<int64_t> stand_in(const std::string& symbol) {
    const auto it = stand_ins_.find(symbol);
    if (it != stand_ins_.end()) return it->second;
    for (const auto& [name, extents] : now_) {
      const Dims& dims = *g_[input_named(g_, name)].type.dims;
      for (size_t i = 0; i < dims.size(); ++i)
        if (dims[i].text() == symbol) return stand_ins_[symbol] = extents[i];
    }
    if (stand_ins_.size() == std::size(kStandIns))
      return failure(Code::limit, "found more than {} symbols", std::size(kStandIns));
    return stand_ins_[symbol] = kStandIns[stand_ins_.size()];
  }

  /// What became a stand-in, or a multiple of one, is what the others leave.
  Status open(Followed& f) {
    const auto open_axis = std::find(f.to.begin(), f.to.end(), -1);
    bool opened = false;
    for (size_t i = 0; i < f.to.size(); ++i) {
      if (f.to[i] == f.from[i] || !is_of_symbol(f.to[i])) continue;
      f.to[i] = -1;
      opened = true;
    }
    if (!opened) return {};
    if (open_axis != f.to.end() || std::count(f.to.begin(), f.to.end(), -1) > 1)
      return failure(Code::unsupported,
                     "reshape to [{}] needs a number where {} went: it leaves one axis to "
                     "the others already",
                     fmt::join(f.from, ","), symbols())
          .at(g_.place_of(f.node));
    g_.set_input(f.node, 1, g_.add_constant(Tensor::of(g_.constant_in(g_[f.node], 1)->shape(), f.to)));
    return {};
  }
  bool is_of_symbol(int64_t extent) const {
    return std::any_of(stand_ins_.begin(), stand_ins_.end(), [&](const auto& s) { return extent % s.second == 0; });
  }

  void name_axes() {
    for (const OpenedAxis& a : axes_) {
      Type t = g_[a.input].type;
      (*t.dims)[a.axis] = Dim::symbol(a.symbol);
      g_.set_type(a.input, std::move(t));
    }
  }

  /// Inference leaves some things to the run: numbers are tried in the symbols' place.
  Status try_numbers() const {
    for (const OpenedAxis& a : axes_) {
      if (!a.was) continue;
      for (const int64_t n : other_extents(*a.was)) {
        ir::Graph tried = g_;
        NNEX_TRY(fix_symbols(tried, {{a.symbol, n}}));
        if (Status s = infer_or_fault(tried); !s.ok())
          return std::move(s).error().during(fmt::format("trying {} = {}", a.symbol, n));
      }
    }
    return {};
  }

  /// "N = 10007, H = 10009".
  std::string stand_ins_text() const {
    std::string out;
    for (const auto& [name, n] : stand_ins_) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, n);
    return out;
  }
  std::string symbols() const {
    std::string out;
    for (const auto& [name, n] : stand_ins_) out += (out.empty() ? "" : ", ") + name;
    return out;
  }

  ir::Graph& g_;
  Shapes was_, now_;
  std::map<std::string, int64_t> stand_ins_;
  std::vector<OpenedAxis> axes_;
};

}  // namespace

Result<Shapes> input_shapes(const ir::Graph& g) {
  Shapes out;
  std::map<std::string, int64_t> unknowns;
  for (size_t i = 0; i + g.states.size() < g.inputs().size(); ++i) {
    const ValueDef& input = g[g.inputs()[i]];
    if (!input.type.is_tensor() || !input.type.dims)
      return failure(Code::invalid_argument, "input '{}' is {}: needed a tensor of known rank", input.name,
                     input.type.text());
    for (const Dim& d : *input.type.dims) {
      const size_t next = unknowns.size() % std::size(kUnknowns);
      out[input.name].push_back(d.is_number() ? d.value()
                                              : unknowns.try_emplace(d.text(), kUnknowns[next]).first->second);
    }
    out[input.name];  // one without axes
  }
  return out;
}

bool is_given(int64_t extent) { return !std::count(std::begin(kUnknowns), std::end(kUnknowns), extent); }

Result<std::vector<BakedShape>> follow_shapes(ir::Graph& g, const Shapes& was, const Shapes& now) {
  NNEX_TRY(inline_calls(g));
  NNEX_ASSIGN(const auto followed, reshapes_following(g, was, now));
  std::vector<BakedShape> out;
  for (const Followed& f : followed) out.push_back({g.place_of(f.node), f.from, f.to});
  return out;
}

Result<std::vector<BakedShape>> follow_symbols(ir::Graph& g, const SymbolicShapes& wanted) {
  for (const auto& [name, extents] : wanted)
    for (const NewExtent& e : extents)
      if (!e.symbol.empty()) NNEX_TRY(check_symbol_name(e.symbol));
  NNEX_TRY(inline_calls(g));
  return Opening(g).run(wanted);
}

std::array<int64_t, 5> other_extents(int64_t n) { return {n + 1, 2 * n, n + 16, n + 32, 5 * n + 3}; }

Result<std::vector<BakedShape>> set_shapes(Graph& graph, const Shapes& shapes) {
  SymbolicShapes numbers;
  for (const auto& [name, extents] : shapes) {
    numbers[name];  // one without axes
    for (const int64_t e : extents) numbers[name].push_back({e, {}});
  }
  return open_shapes(graph, numbers);
}

Result<std::vector<BakedShape>> open_shapes(Graph& graph, const SymbolicShapes& shapes) {
  return guarded([&]() -> Result<std::vector<BakedShape>> {
    Shapes numbers;
    for (const auto& [name, extents] : shapes) {
      numbers[name];  // one without axes
      for (const NewExtent& e : extents) {
        if (e.symbol.empty() && e.number < 0)
          return failure(Code::invalid_argument, "input '{}' cannot have an extent of {}", name, e.number);
        numbers[name].push_back(e.number);
      }
    }
    NNEX_TRY(check_input_shapes(graph.impl().graph, numbers));
    ir::Graph work = graph.impl().graph;
    NNEX_ASSIGN(auto rewritten, follow_symbols(work, shapes));
    graph.impl().graph = std::move(work);
    return rewritten;
  });
}

}  // namespace nnex
