// tract_core_scan: a fragment run over the slices of its inputs.

#include <fmt/format.h>

#include <algorithm>

#include "ops/control.h"
#include "standards/nnef/tract/interpreter.h"

namespace nnex::nnef_format {

using K = Item::Kind;

namespace {

/// Names of the body are those of the tensors with other characters than letters and digits as '_'.
std::string plain_name(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  return out;
}

}  // namespace

struct TractReader::Scan {
  struct Scanned {
    std::string name;
    ValueId from;
    int64_t axis = 0;
    bool backward = false;
  };
  struct State {
    std::string name, result;
    ValueId start;
  };
  struct Output {
    std::string name;
    bool last = false;
    int64_t axis = 0;
    bool backward = false;
    size_t at = 0;  ///< Among the node's outputs.
  };
  const FragmentText* body = nullptr;
  std::vector<Scanned> scanned;
  std::vector<std::pair<std::string, Item>> full;
  std::vector<State> states;
  std::vector<Output> outputs;
  BlockId block;
};

Result<TractReader::Scan> TractReader::read_scan(const Expr& e) {
  Scan s;
  const auto wrong = [&](std::string_view what) {
    return error(e.at, fmt::format("tract_core_scan: {}", what), Code::unsupported);
  };
  for (size_t i = 0; i < e.items.size(); ++i) {
    NNEX_ASSIGN(const Item given, evaluate(e.items[i]));
    const std::string_view name = e.names[i];
    if (name == "body") {
      for (const auto& f : document_.fragments)
        if (f.name == given.text && f.has_body) s.body = &f;
    }
    for (const Item& t : given.items) {
      if (t.items.size() < 2 || t.items[0].kind != K::string) return wrong("a list of other things than tuples");
      const auto number = [&](size_t k, int64_t otherwise) {
        return k < t.items.size() && t.items[k].kind == K::integer ? t.items[k].integer : otherwise;
      };
      const std::string of = plain_name(t.items[0].text);
      if (name == "full") s.full.emplace_back(of, t.items[1]);
      if (name == "scan") {
        if (const int64_t chunk = number(3, 1); chunk != 1 && chunk != -1)
          return wrong(fmt::format("pieces of {} at a time", chunk));
        NNEX_ASSIGN(const ValueId v, value(t.items[1], e.at));
        s.scanned.push_back({of, v, number(2, 0), number(3, 1) < 0});
      }
      if (name == "state") {
        if (t.items.size() != 3) return wrong("a state without result");
        NNEX_ASSIGN(const ValueId v, value(t.items[1], e.at));
        s.states.push_back({of, plain_name(t.items[2].text), v});
      }
      if (name == "output") {
        if (const int64_t chunk = number(3, 1); t.items[1].text == "full" && chunk != 1 && chunk != -1)
          return wrong(fmt::format("pieces of {} at a time", chunk));
        s.outputs.push_back({of, t.items[1].text == "last", number(2, 0), number(3, 1) < 0, 0});
      }
    }
  }
  if (!s.body) return error(e.at, "tract_core_scan: the body is no fragment of the document");
  if (s.scanned.empty()) return wrong("nothing is scanned");
  return s;
}

Result<Item> TractReader::scan(const Expr& e) {
  NNEX_ASSIGN(Scan s, read_scan(e));
  const BlockId outside = block_;
  const std::string_view left = left_;
  s.block = block_ = graph_.add_block();
  push_scope(true);
  Status made = scan_body(s, e.at);
  pop_scope();
  block_ = outside;
  left_ = left;
  if (!made.ok())
    return std::move(made).error().during(
        fmt::format("in {} at {}:{}:{}", s.body->name, file_, e.at.line, e.at.column));
  return scan_node(e, s);
}

/// Parameters, nodes and results of the block. A slice keeps its axis, with extent 1.
Status TractReader::scan_body(Scan& s, Position at) {
  for (const auto& [name, item] : s.full) set(name, item);
  for (const Scan::State& state : s.states) {
    const ValueId p = graph_.add_param(s.block, state.name, types_.type(state.start));
    types_.grow();
    types_.bind(p, types_.type(state.start));
    set(state.name, Item::of(p));
  }
  std::vector<ValueId> slices;
  for (const Scan::Scanned& in : s.scanned) {
    Type type = types_.type(in.from);
    if (!type.dims || in.axis < 0 || in.axis >= static_cast<int64_t>(type.dims->size()))
      return error(at, fmt::format("tract_core_scan: '{}' has no axis {}", in.name, in.axis));
    type.dims->erase(type.dims->begin() + in.axis);
    const ValueId p = graph_.add_param(s.block, in.name, type);
    types_.grow();
    types_.bind(p, type);
    slices.push_back(p);
  }
  for (size_t i = 0; i < s.scanned.size(); ++i) {
    Builder b = builder(where(at, "unsqueeze"));
    const ValueId axes = b.ints({s.scanned[i].axis});
    NNEX_ASSIGN(const NodeId id, add(b, op("unsqueeze"), {slices[i], axes}, 1, nullptr, {}, at));
    set(s.scanned[i].name, Item::of(graph_[id].out[0]));
  }
  for (const auto& p : s.body->params)
    if (!find(p.name)) return error(p.at, fmt::format("tract_core_scan gives nothing for '{}'", p.name));
  NNEX_TRY(body(s.body->body));
  const auto result = [&](const std::string& name) -> Result<ValueId> {
    const Item* found = find(name);
    if (!found) return error(at, fmt::format("tract_core_scan: the body has no '{}'", name));
    return value(*found, at);
  };
  std::vector<ValueId> results;
  for (const Scan::State& state : s.states) {
    NNEX_ASSIGN(const ValueId v, result(state.result));
    results.push_back(v);
  }
  for (Scan::Output& o : s.outputs) {
    const auto state =
        std::find_if(s.states.begin(), s.states.end(), [&](const auto& x) { return x.result == o.name; });
    if (o.last && state != s.states.end()) {
      o.at = static_cast<size_t>(state - s.states.begin());
      continue;
    }
    NNEX_ASSIGN(const ValueId v, result(o.name));
    Builder b = builder(where(at, "squeeze"));
    const ValueId axes = b.ints({o.axis});
    NNEX_ASSIGN(const NodeId id, add(b, op("squeeze"), {v, axes}, 1, nullptr, {}, at));
    o.at = results.size();
    results.push_back(graph_[id].out[0]);
  }
  graph_.set_results(s.block, std::move(results));
  return {};
}

Result<Item> TractReader::scan_node(const Expr& e, Scan& s) {
  std::vector<ValueId> in;
  ScanAttrs attrs;
  attrs.inputs = static_cast<int64_t>(s.scanned.size());
  for (const Scan::State& state : s.states) in.push_back(state.start);
  for (const Scan::Scanned& one : s.scanned) {
    in.push_back(one.from);
    attrs.input_axes.push_back(one.axis);
    attrs.input_reverse.push_back(one.backward);
  }
  for (const Scan::Output& o : s.outputs) {
    if (o.at < s.states.size()) continue;
    attrs.output_axes.push_back(o.axis);
    attrs.output_reverse.push_back(o.backward);
  }
  Builder b = builder(where(e.at, "tract_core_scan"));
  const size_t outputs = graph_[s.block].results.size();
  NNEX_ASSIGN(const NodeId id,
              add(b, op("scan"), std::move(in), outputs, std::make_shared<ScanAttrs>(attrs), {s.block}, e.at));
  std::vector<Item> out;
  for (const Scan::Output& o : s.outputs) {
    ValueId v = graph_[id].out[o.at];
    if (o.last && o.at >= s.states.size()) {  // no state: the last slice of all of them
      const int64_t at = o.backward ? 0 : -1;
      const ValueId begin = b.ints({at}), end = b.ints({at == 0 ? 1 : INT64_MAX}), axes = b.ints({o.axis});
      NNEX_ASSIGN(const NodeId last, add(b, op("slice"), {v, begin, end, axes}, 1, nullptr, {}, e.at));
      v = graph_[last].out[0];
    }
    out.push_back(Item::of(v));
  }
  return out.size() == 1 ? std::move(out[0]) : Item::list(std::move(out), K::tuple);
}

}  // namespace nnex::nnef_format
