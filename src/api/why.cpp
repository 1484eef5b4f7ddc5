#include "nnex/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "api/export.h"
#include "api/formats.h"
#include "api/random_runs.h"
#include "api/read.h"
#include "api/set_shapes.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/symbols.h"
#include "ops/fused.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "run/compile.h"
#include "tensor/memory_account.h"
#include "tensor/unknown_names.h"

namespace nnex {
namespace {

// ---- Extents

/// One axis of an input.
struct Axis {
  ValueId input;
  size_t axis = 0;
};

std::string name_of(const ir::Graph& graph, const Axis& a) { return fmt::format("{}.{}", graph[a.input].name, a.axis); }

/// Types inferred anew, with other extents of some inputs.
Faults infer_with(ir::Graph& graph, const std::vector<std::pair<Axis, Dim>>& others) {
  for (NodeId id : graph.order_with_blocks())
    for (ValueId v : graph[id].out)
      if (v.valid()) graph.set_type(v, Type{});  // a declared type is not what another extent leads to
  for (const auto& [a, dim] : others) {
    Type t = graph[a.input].type;
    (*t.dims)[a.axis] = dim;
    graph.set_type(a.input, std::move(t));
  }
  Faults faults;
  infer_types(graph, faults);
  return faults;
}

class Extents {
 public:
  Extents(const ir::Graph& graph, Why& out) : graph_(graph), out_(out) {}

  void explain() {
    find_open();
    ir::Graph free = graph_;
    std::vector<std::pair<Axis, Dim>> symbols;
    for (const Axis& a : open_) symbols.emplace_back(a, Dim::symbol(name_of(graph_, a)));
    infer_with(free, symbols);
    const auto tell = [&](ValueId v, std::string place) {
      if (v.valid() && !graph_[v].name.empty())
        out_.values.push_back({graph_[v].name, std::move(place), graph_[v].type.text(), free[v].type.text()});
    };
    for (ValueId v : graph_.inputs()) tell(v, "");
    for (NodeId id : graph_.order_with_blocks())
      for (ValueId v : graph_[id].out) tell(v, graph_.place_of(id));
  }

 private:
  /// The extents that may be others: some are tried.
  void find_open() {
    constexpr size_t kTries = 64;
    size_t tries = 0;
    for (ValueId v : graph_.inputs()) {
      const MaybeDims& dims = graph_[v].type.dims;
      for (size_t i = 0; dims && i < dims->size() && graph_[v].type.is_tensor() && tries < kTries; ++i) {
        const auto n = (*dims)[i].number();
        if (!n || *n > kMaxTried) continue;
        ++tries;
        if (auto fixed = broken_by_others({v, i}, *n))
          out_.fixed.push_back(std::move(*fixed));
        else
          open_.push_back({v, i});
      }
    }
  }

  /// Which of the other extents that are tried break something; nothing: the network takes them all.
  std::optional<FixedExtent> broken_by_others(Axis a, int64_t n) const {
    FixedExtent out{name_of(graph_, a), n, 0, {}, {}};
    for (const int64_t other : other_extents(n)) {
      ir::Graph tried = graph_;
      Faults faults = infer_with(tried, {{a, Dim(other)}});
      if (faults.none())
        out.also.push_back(other);
      else if (out.why.empty())
        out.broken = other, out.why = std::move(faults).first().text();
    }
    return out.why.empty() ? std::nullopt : std::optional(std::move(out));
  }

  static constexpr int64_t kMaxTried = int64_t{1} << 40;

  const ir::Graph& graph_;
  Why& out_;
  std::vector<Axis> open_;
};

// ---- Kernels

constexpr int64_t kTriedBytes = int64_t{64} << 20;  ///< Of a constant that is made to try a kernel.

std::string shape_text(const kernels::Operand& o) {
  if (!o.given()) return "-";
  std::string extents;
  for (int64_t i = 0; i < o.shape.rank(); ++i) extents += fmt::format("{}{}", i ? "," : "", o.shape[i]);
  return fmt::format("{}[{}]", name(o.dtype), extents);
}

std::string types_text(const kernels::KernelRequest& r) {
  std::string in, out;
  for (const kernels::Operand& o : r.in) in += (in.empty() ? "" : ", ") + shape_text(o);
  for (const kernels::Operand& o : r.out) out += (out.empty() ? "" : ", ") + shape_text(o);
  return in + " -> " + out;
}

/// What a kernel that declined a node would take: the request is changed, one thing at a time, and asked again.
class Trial {
 public:
  explicit Trial(const kernels::KernelRequest& request) : r_(request) {}

  std::string why(const kernels::KernelDef& def) {
    const bool typed = r_.op.blocks.size() == 0 && has_other_floats();
    if (typed && takes(def, true, {})) return "needs float32";
    for (size_t i = 0; i < r_.in.size(); ++i) {
      if (!can_fix(i)) continue;
      if (takes(def, false, i)) return fmt::format("needs {} constant", port(i));
      if (typed && takes(def, true, i)) return fmt::format("needs float32, and {} constant", port(i));
    }
    return "not for these extents and attributes";
  }

 private:
  bool has_other_floats() const {
    const auto other = [](const kernels::Operand& o) { return is_float(o.dtype) && o.dtype != DType::f32; };
    return std::any_of(r_.in.begin(), r_.in.end(), other) || std::any_of(r_.out.begin(), r_.out.end(), other);
  }
  bool can_fix(size_t i) const {
    const kernels::Operand& o = r_.in[i];
    if (!o.given() || o.constant || is_object(o.dtype) || o.dtype == DType::none) return false;
    const auto bytes = bytes_for(o.dtype, o.shape.count());
    return bytes && *bytes <= kTriedBytes;
  }
  std::string port(size_t i) const {
    const auto& ports = r_.op.inputs;
    if (r_.op.blocks.size() > 0 || ports.size() == 0) return fmt::format("input {}", i);
    return fmt::format("input '{}'", ports[std::min(i, ports.size() - 1)].name);
  }

  bool takes(const kernels::KernelDef& def, bool as_f32, std::optional<size_t> constant) const {
    std::vector<kernels::Operand> in(r_.in.begin(), r_.in.end()), out(r_.out.begin(), r_.out.end());
    if (as_f32)
      for (std::vector<kernels::Operand>* list : {&in, &out})
        for (kernels::Operand& o : *list)
          if (is_float(o.dtype)) o.dtype = DType::f32, o.constant = o.content = nullptr;
    std::vector<Tensor> zeros;
    zeros.reserve(in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      const bool lost = as_f32 && i < r_.in.size() && r_.in[i].constant && !in[i].constant;
      if (!lost && constant != i) continue;
      auto t = Tensor::make(in[i].dtype, in[i].shape);
      if (!t.ok() || t->bytes() > kTriedBytes) return false;
      std::fill_n(t->mutable_data(), t->bytes(), std::byte{0});
      zeros.push_back(*std::move(t));
      in[i].constant = in[i].content = &zeros.back();
    }
    kernels::Packs packs;
    const auto kernel = def.make({r_.op, r_.attrs, in, out, r_.loops, packs, r_.team});
    return kernel.ok() && *kernel;
  }

  const kernels::KernelRequest& r_;
};

/// The nodes of a fused region: "conv + add + relu".
std::string op_text(const ir::Graph& graph, const Node& node) {
  if (!is_fused(*node.op)) return std::string(node.op->name);
  std::string out;
  for (NodeId n = graph[node.blocks[0]].first; n.valid(); n = graph[n].next)
    out += fmt::format("{}{}", out.empty() ? "" : " + ", graph[n].op->name);
  return out;
}

/// Where what inputs hold decides extents a run makes the plan: one on usual numbers. Error: it, too, leaves extents
/// open, or it fails.
Status plan_by_a_run(const Model& model, Session& session) {
  Dice dice(1);
  std::vector<Value> inputs;
  if (has_open_extents(model.inputs())) return {};
  for (const PortInfo& port : model.inputs()) {
    NNEX_ASSIGN(Tensor t, made_input(port, 1, Numbers::usual, dice));
    inputs.emplace_back(std::move(t));
  }
  auto ran = session.run(inputs);
  return ran.ok() ? Status() : std::move(ran).error().during("planning by a run on random inputs");
}

Status explain_kernels(ir::Graph graph, const LoadOptions& options, Why& out) {
  NNEX_ASSIGN(const Model model, compile(std::move(graph), options));
  const ir::Graph& runs = graph_of(model);
  SessionOptions alone;
  alone.threads = 1;
  Session session = model.session(alone);
  std::set<uint32_t> told;  // a run plans again where extents are others
  const plan::PlanWatch watch([&](NodeId id, const kernels::KernelRequest& request, const kernels::KernelDef* chosen) {
    if (!told.insert(id.n).second) return;
    KernelOrigin k = {runs.place_of(id),
                      op_text(runs, runs[id]),
                      types_text(request),
                      std::string(chosen ? chosen->name : "reference"),
                      {}};
    Trial trial(request);
    for (const kernels::KernelDef* def : kernels::kernels_of(request.op.name)) {
      if (def == chosen) break;
      k.declined.push_back({std::string(def->name), trial.why(*def)});
    }
    out.kernels.push_back(std::move(k));
  });
  NNEX_TRY(session.prepare());
  if (out.kernels.empty() && runs.node_count() > 0) NNEX_TRY(plan_by_a_run(model, session));
  if (out.kernels.empty() && runs.node_count() > 0)
    return Error(Code::unsupported,
                 "what the inputs hold decides extents, or every node is a view: runs make the plan");
  return {};
}

}  // namespace

Result<Why> why(const ModelSource& source, const LoadOptions& options) {
  return guarded([&]() -> Result<Why> {
    const UnknownNames named;
    Why out;
    auto graph = read_model(source, options);
    if (!graph.ok()) return std::move(graph).error().during("reading " + source.shown());
    NNEX_TRY(fix_symbols(*graph, options.symbols));
    LoadOptions fixed = options;
    fixed.symbols.clear();  // the graph has none of them any more
    for (Format format : {Format::onnx, Format::nnef, Format::webnn, Format::cvm}) {
      if (!built(format)) continue;
      const AccountScope counted(account_of(options));  // what is legalized for a standard may be large
      Status s = can_say(*graph, format);
      StandardReach reach{format, s.ok(), {}, {}};
      if (!s.ok()) {
        const Error& e = s.error();
        reach.why_not = (e.where().empty() ? "" : e.where() + ": ") + e.message();
        reach.remedies = e.remedies();
      }
      out.standards.push_back(std::move(reach));
    }
    ir::Graph to_run = *graph;
    NNEX_TRY(passes::inline_functions(*graph));
    Faults faults;
    infer_types(*graph, faults);
    if (!faults.none()) return std::move(faults).first().during("reading " + source.shown());
    Extents(*graph, out).explain();
    if (Status s = explain_kernels(std::move(to_run), fixed, out); !s.ok()) out.kernels_unknown = s.error().text();
    return out;
  });
}

}  // namespace nnex
