#include "graph/symbols.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "base/joined.h"
#include "base/try.h"

namespace nnex {
namespace {

std::string shown_symbols(const ir::Graph& graph) {
  const std::vector<std::string> all = open_symbols(graph);
  return all.empty() ? "none" : joined(all, " ");
}

/// The symbol that "input.axis" stands for; "" when there is none.
std::string symbol_at(const ir::Graph& graph, std::string_view place) {
  const size_t dot = place.rfind('.');
  if (dot == std::string_view::npos || place.size() - dot > 4) return {};
  size_t axis = dot + 1 < place.size() ? 0 : SIZE_MAX;
  for (char c : place.substr(dot + 1))
    axis = c >= '0' && c <= '9' && axis < 1000 ? axis * 10 + static_cast<size_t>(c - '0') : SIZE_MAX;
  for (ValueId v : graph.inputs()) {
    const auto& dims = graph[v].type.dims;
    if (graph[v].name != place.substr(0, dot) || !dims || axis >= dims->size()) continue;
    const std::vector<std::string> symbols = (*dims)[axis].symbols();
    if (symbols.size() == 1 && symbols[0] == (*dims)[axis].text()) return symbols[0];
  }
  return {};
}

}  // namespace

std::vector<std::string> open_symbols(const ir::Graph& graph) {
  std::vector<std::string> out;
  for (ValueId v : graph.inputs()) {
    const auto& dims = graph[v].type.dims;
    for (size_t a = 0; dims && a < dims->size(); ++a) {
      const Dim& d = (*dims)[a];
      if (d.is_number()) continue;
      std::string shown = d.has_unknown() ? fmt::format("{}.{}", graph[v].name, a) : d.text();
      if (std::find(out.begin(), out.end(), shown) == out.end()) out.push_back(std::move(shown));
    }
  }
  return out;
}

Status fix_symbols(ir::Graph& graph, const std::map<std::string, int64_t>& symbols) {
  if (symbols.empty()) return {};
  const std::vector<std::string> known = graph.symbols();
  std::vector<std::pair<std::string, int64_t>> bound;
  for (const auto& [name, extent] : symbols) {
    const bool named = std::find(known.begin(), known.end(), name) != known.end();
    std::string symbol = named ? name : symbol_at(graph, name);
    if (symbol.empty())
      return failure(Code::invalid_argument, "no symbol '{}'; the inputs have: {}", name, shown_symbols(graph));
    if (extent < 0) return failure(Code::invalid_argument, "symbol '{}' cannot be {}", name, extent);
    const auto before = std::find_if(bound.begin(), bound.end(), [&](const auto& b) { return b.first == symbol; });
    if (before != bound.end() && before->second != extent)
      return failure(Code::invalid_argument, "'{}' is the symbol '{}', which is {}; found {}", name, symbol,
                     before->second, extent);
    bound.emplace_back(std::move(symbol), extent);
  }
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    Type t = graph[ValueId{n}].type;
    if (!t.dims) continue;
    for (Dim& d : *t.dims) d = d.with(bound);
    graph.set_type(ValueId{n}, std::move(t));
  }
  return {};
}

namespace {

Status check_shape(const ir::Graph& graph, const std::string& name, const std::vector<int64_t>& extents) {
  std::string known;
  for (ValueId v : graph.inputs()) {
    known += (known.empty() ? "'" : ", '") + graph[v].name + "'";
    if (graph[v].name != name) continue;
    const Type& type = graph[v].type;
    if (!type.is_tensor())
      return failure(Code::invalid_argument, "input '{}' is {}; only tensors have a shape", name, type.text());
    if (type.dims && type.dims->size() != extents.size())
      return failure(Code::invalid_argument, "input '{}' is {}; found {} extents, needed {}", name, type.text(),
                     extents.size(), type.dims->size());
    for (const int64_t extent : extents)
      if (extent < 0)
        return failure(Code::invalid_argument, "input '{}' cannot have an extent of {}; needed 0 or more", name,
                       extent);
    return {};
  }
  return failure(Code::invalid_argument, "no input '{}' to give a shape; there are: {}", name,
                 known.empty() ? "none" : known);
}

/// What a symbol of the inputs becomes, and the axis that asks for it: "x.0"; none: fix_symbols() will be asked.
struct Given {
  std::string symbol, place;
  Dim extent;
};

const Given* find(const std::vector<Given>& all, const std::string& symbol) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const Given& g) { return g.symbol == symbol; });
  return it == all.end() ? nullptr : &*it;
}

/// The formula with another symbol in it; where that does not come out, one that nobody knows, which is inferred again.
Dim renamed(const Dim& d, const std::string& symbol, const Dim& to) {
  if (d.text() == symbol) return to;
  const Dim none = d.with({{symbol, 0}}), once = d.with({{symbol, 1}}) - none;
  return d.with({{symbol, 2}}) == none + once + once ? none + once * to : Dim::unknown("rename");
}

/// The formula with what its symbols become.
Dim with_given(Dim d, const std::vector<Given>& all) {
  std::vector<std::pair<std::string, int64_t>> numbers;
  std::vector<std::pair<std::string, Dim>> names;  // in two steps, as symbols may be swapped
  for (const std::string& symbol : d.symbols()) {
    const Given* g = find(all, symbol);
    if (g && g->extent.is_number()) numbers.emplace_back(symbol, g->extent.value());
    if (!g || g->extent.is_number()) continue;
    const std::string step = fmt::format(" {}", names.size());
    d = renamed(d, symbol, Dim::symbol(step));
    names.emplace_back(step, g->extent);
  }
  d = d.with(numbers);
  for (const auto& [step, to] : names) d = renamed(d, step, to);
  return d;
}

/// What is asked of the symbols. Error: invalid_argument (two extents for one).
Result<std::vector<Given>> symbols_given(const ir::Graph& graph, const std::map<std::string, Dims>& shapes,
                                         const std::map<std::string, int64_t>& known) {
  std::vector<Given> all;
  const auto refused = [](const std::string& place, const Given& g, const Dim& found) {
    return failure(Code::invalid_argument, "'{}' is the symbol '{}', which is {}{}; found {}", place, g.symbol,
                   g.extent.text(), g.place.empty() ? "" : fmt::format(" at '{}'", g.place), found.text());
  };
  for (const auto& [name, extent] : known) {
    const std::string symbol = symbol_at(graph, name);
    all.push_back({symbol.empty() ? name : symbol, {}, Dim(extent)});
  }
  for (ValueId v : graph.inputs()) {
    const auto shape = shapes.find(graph[v].name);
    const auto& dims = graph[v].type.dims;
    if (shape == shapes.end() || !dims) continue;
    for (size_t i = 0; i < std::min(dims->size(), shape->second.size()); ++i) {
      const std::string place = fmt::format("{}.{}", graph[v].name, i), symbol = symbol_at(graph, place);
      if (symbol.empty()) continue;
      const Given* before = find(all, symbol);
      if (before && !(before->extent == shape->second[i])) return refused(place, *before, shape->second[i]);
      if (!before) all.push_back({symbol, place, shape->second[i]});
    }
  }
  return all;
}

}  // namespace

Status check_input_shapes(const ir::Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes) {
  for (const auto& [name, extents] : shapes) NNEX_TRY(check_shape(graph, name, extents));
  return {};
}

Status give_symbols(ir::Graph& graph, const std::map<std::string, Dims>& shapes,
                    const std::map<std::string, int64_t>& known) {
  NNEX_ASSIGN(std::vector<Given> all, symbols_given(graph, shapes, known));
  std::erase_if(all, [](const Given& g) { return g.place.empty(); });  // whose turn comes
  for (uint32_t n = 0; n < graph.value_count() && !all.empty(); ++n) {
    Type t = graph[ValueId{n}].type;
    if (!t.dims) continue;
    for (Dim& d : *t.dims) d = with_given(std::move(d), all);
    graph.set_type(ValueId{n}, std::move(t));
  }
  return {};
}

void put_input_shapes(ir::Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes) {
  for (ValueId v : graph.inputs()) {
    const auto shape = shapes.find(graph[v].name);
    if (shape == shapes.end()) continue;
    Type type = graph[v].type;
    type.dims = Dims(shape->second.begin(), shape->second.end());
    graph.set_type(v, std::move(type));
  }
}

Status set_input_shapes(ir::Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes,
                        const std::map<std::string, int64_t>& symbols) {
  if (shapes.empty()) return {};
  NNEX_TRY(check_input_shapes(graph, shapes));
  forget_extents(graph);
  std::map<std::string, Dims> wanted;
  for (const auto& [name, extents] : shapes) wanted[name] = Dims(extents.begin(), extents.end());
  NNEX_TRY(give_symbols(graph, wanted, symbols));
  put_input_shapes(graph, shapes);
  return {};
}

void forget_extents(ir::Graph& graph) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueId v{n};
    if (!graph[v].producer.valid() || !graph[v].type.is_tensor() || !graph[v].type.dims) continue;
    Type type = graph[v].type;
    for (Dim& d : *type.dims)
      if (d.is_number()) d = Dim::unknown("extent");
    graph.set_type(v, std::move(type));
  }
}

Status check_symbol_name(std::string_view name) {
  const auto in_formulas = [](char c) { return std::string_view("+-*/()[], \t\n?").find(c) != std::string_view::npos; };
  const bool is_number = !name.empty() && name[0] >= '0' && name[0] <= '9';
  if (!name.empty() && !is_number && std::none_of(name.begin(), name.end(), in_formulas)) return {};
  return failure(Code::invalid_argument,
                 "found '{}'; needed a name for an extent: no number first, and nothing that formulas are made of",
                 name);
}

Result<bool> rename_symbol(ir::Graph& graph, const std::string& from, const std::string& to) {
  const std::vector<std::string> known = graph.symbols();
  const auto is_known = [&](const std::string& s) { return std::find(known.begin(), known.end(), s) != known.end(); };
  const std::string symbol = is_known(from) ? from : symbol_at(graph, from);
  if (symbol.empty()) return false;
  NNEX_TRY(check_symbol_name(to));
  if (is_known(to) && to != symbol)
    return failure(Code::invalid_argument, "the symbol '{}' cannot be called '{}': another one is", from, to);
  const Dim renamed = Dim::symbol(to);
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    Type t = graph[ValueId{n}].type;
    if (!t.dims) continue;
    for (Dim& d : *t.dims) {
      const std::vector<std::string> names = d.symbols();
      if (std::find(names.begin(), names.end(), symbol) == names.end()) continue;
      d = d.text() == symbol ? renamed : Dim::unknown("rename");  // a formula of it is inferred again
    }
    graph.set_type(ValueId{n}, std::move(t));
  }
  return true;
}

}  // namespace nnex
