#include "serve/batching.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <numeric>

#include "nnex/rows.h"
#include "serve/protocol.h"
#include "shared/random_input.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

/// Whether a formula mentions a symbol.
bool mentions(const std::string& formula, const std::string& symbol) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  for (size_t at = formula.find(symbol); at != std::string::npos; at = formula.find(symbol, at + 1)) {
    const size_t end = at + symbol.size();
    if ((at == 0 || !in_word(formula[at - 1])) && (end == formula.size() || !in_word(formula[end]))) return true;
  }
  return false;
}

/// The symbol that is the first extent of the port.
std::string first_symbol(const PortInfo& port) {
  if (port.dtype == DType::none || !port.known_rank || port.extents.empty() || port.extents[0] >= 0) return {};
  const std::string& text = port.dims[0];
  return text.find_first_of("?*+-/() ") == std::string::npos ? text : std::string();
}

std::string why_no_symbol(const PortInfo& port) {
  if (port.dtype == DType::none || !port.known_rank || port.extents.empty())
    return fmt::format("input '{}' is {}: it has no first extent", port.name, port.type);
  const bool open = port.extents[0] < 0 && port.dims[0].front() == '?';
  return fmt::format("input '{}' is {}: {}", port.name, port.type,
                     port.extents[0] >= 0 ? "its first extent is a number"
                     : open               ? "its first extent is open, but has no name that outputs could have"
                                          : "its first extent is a formula");
}

/// Why its rows cannot be told to be independent without a run; empty: they can.
std::string why_not_by_graph(const Model& model) {
  if (!model.states().empty()) return "it keeps values from run to run";
  if (model.inputs().empty() || model.outputs().empty()) return "it lacks inputs or outputs";
  const std::string symbol = first_symbol(model.inputs()[0]);
  if (symbol.empty()) return why_no_symbol(model.inputs()[0]);
  for (const auto* side : {&model.inputs(), &model.outputs()}) {
    for (const PortInfo& port : *side) {
      if (datatype_of(port.dtype).empty()) return fmt::format("'{}' is {}", port.name, port.type);
      if (first_symbol(port) != symbol) return fmt::format("the first extent of '{}' is not {}", port.name, symbol);
      for (size_t i = 1; i < port.dims.size(); ++i)
        if (mentions(port.dims[i], symbol)) return fmt::format("'{}' has {} in another extent", port.name, symbol);
    }
  }
  return where_rows_meet(model, symbol);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() != DType::str) return std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
  const auto x = a.strings(), y = b.strings();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

/// Runs three requests of one, two and one rows alone and together, other open extents at `open`.
Result<bool> same_together(const Model& model, Session& session, int64_t open) {
  const std::string symbol = first_symbol(model.inputs()[0]);
  constexpr int64_t kRows[] = {1, 2, 1};
  std::vector<std::vector<Value>> parts, alone;
  uint64_t seed = 1;
  for (const int64_t rows : kRows) {
    std::vector<Value> inputs;
    for (const PortInfo& port : model.inputs()) {
      NNEX_ASSIGN(Value v, cli::trial_input(port, seed++, {{symbol, rows}}, open));
      inputs.push_back(std::move(v));
    }
    NNEX_ASSIGN(auto results, session.run(inputs));
    parts.push_back(std::move(inputs));
    alone.push_back(std::move(results));
  }
  std::vector<const std::vector<Value>*> pointers;
  for (const auto& part : parts) pointers.push_back(&part);
  NNEX_ASSIGN(const auto joined, join(pointers));
  NNEX_ASSIGN(const auto together, session.run(joined));
  const int64_t total = std::accumulate(std::begin(kRows), std::end(kRows), int64_t{0});
  int64_t begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    NNEX_ASSIGN(const auto mine, rows(together, total, begin, kRows[i]));
    for (size_t o = 0; o < mine.size(); ++o) {
      if (!alone[i][o].tensor() || !same_bytes(*alone[i][o].tensor(), *mine[o].tensor())) return false;
    }
    begin += kRows[i];
  }
  return true;
}

}  // namespace

std::string why_not_batched(const Model& model, const SessionOptions& options) {
  if (std::string why = why_not_by_graph(model); !why.empty()) return why;
  Session session = model.session(options);
  std::string why;
  for (const int64_t open : {5, 1, 64}) {  // words, steps of a state, pixels
    const auto same = same_together(model, session, open);
    if (same.ok()) return *same ? std::string() : "its rows depend on each other";
    why = fmt::format("a trial on random numbers failed: {}", same.error().message());
  }
  return why;
}

int64_t rows_of(const std::vector<Value>& inputs) {
  int64_t rows = -1;
  for (const Value& v : inputs) {
    const Tensor* t = v.tensor();
    if (!t || t->shape().rank() == 0) return -1;
    if (rows >= 0 && t->shape()[0] != rows) return -1;
    rows = t->shape()[0];
  }
  return rows;
}

bool joinable(const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].tensor()->shape().extents(), y = b[i].tensor()->shape().extents();
    if (x.size() != y.size() || !std::equal(x.begin() + 1, x.end(), y.begin() + 1)) return false;
  }
  return true;
}

Result<std::vector<Value>> join(std::span<const std::vector<Value>* const> parts) {
  std::vector<Value> out;
  for (size_t i = 0; i < parts[0]->size(); ++i) {
    const Tensor& first = *(*parts[0])[i].tensor();
    Shape shape = first.shape();
    int64_t total = 0;
    for (const auto* part : parts) total += (*part)[i].tensor()->shape()[0];
    shape.set(0, total);
    NNEX_ASSIGN(Tensor t, Tensor::make(first.dtype(), shape));
    if (t.dtype() == DType::str) {
      auto to = t.mutable_as<std::string>().begin();
      for (const auto* part : parts) {
        const auto from = (*part)[i].tensor()->strings();
        to = std::copy(from.begin(), from.end(), to);
      }
    } else {
      std::byte* to = t.mutable_data();
      for (const auto* part : parts) {
        const Tensor& from = *(*part)[i].tensor();
        if (from.bytes() > 0) std::memcpy(to, from.data(), static_cast<size_t>(from.bytes()));
        to += from.bytes();
      }
    }
    out.emplace_back(std::move(t));
  }
  return out;
}

Result<std::vector<Value>> rows(const std::vector<Value>& results, int64_t total, int64_t begin, int64_t count) {
  std::vector<Value> out;
  for (const Value& v : results) {
    const Tensor* t = v.tensor();
    if (!t || t->shape().rank() == 0 || t->shape()[0] != total)
      return Error(Code::internal, fmt::format("a result is {}; needed {} rows", v.text(), total));
    Shape shape = t->shape();
    shape.set(0, count);
    const int64_t row = total > 0 ? t->bytes() / total : 0;
    const auto keeper = std::make_shared<const Tensor>(*t);
    out.emplace_back(Tensor::borrow(t->dtype(), shape, t->data() + row * begin, keeper));
  }
  return out;
}

}  // namespace nnex::serve
