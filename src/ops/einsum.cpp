// Sums of products over named indices.

#include "ops/einsum.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/failure.h"
#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/matmul.h"
#include "ops/stored.h"

namespace nnex {
namespace {

/// One operand's (or the result's) indices: letters, and '.' where the ellipsis stands.
using Term = std::string;

struct Equation {
  std::vector<Term> operands;
  Term result;
};

Error bad(std::string_view equation, std::string_view why) {
  return failure(Code::invalid_model, "einsum: equation '{}' {}", equation, why);
}

/// <term> ::= letters, with at most one "..." among them.
Result<Term> parse_term(std::string_view equation, std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (ch == ' ') continue;
    if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      term += ch;
    } else if (text.substr(i, 3) == "..." && term.find('.') == Term::npos) {
      term += '.';
      i += 2;
    } else {
      return bad(equation, fmt::format("has '{}' where a letter, '...', ',' or '->' is needed", ch));
    }
  }
  return term;
}

/// Without "->" the result has the ellipsis, then the letters that occur once, in alphabetical order.
Term implied_result(const std::vector<Term>& operands) {
  std::string all, once;
  for (const Term& t : operands) all += t;
  if (all.find('.') != std::string::npos) once = ".";
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    const bool repeats = (i > 0 && all[i - 1] == all[i]) || (i + 1 < all.size() && all[i + 1] == all[i]);
    if (all[i] != '.' && !repeats) once += all[i];
  }
  return once;
}

/// <equation> ::= <term> ("," <term>)* ["->" <term>]          (ONNX Einsum-12)
Result<Equation> parse_equation(std::string_view text, size_t operands) {
  Equation e;
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    NNEX_ASSIGN(Term term, parse_term(text, left.substr(0, comma)));
    e.operands.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left = left.substr(comma + 1);
  }
  if (e.operands.size() != operands)
    return bad(text, fmt::format("names {} operands; found {}", e.operands.size(), operands));
  if (arrow == std::string_view::npos) {
    e.result = implied_result(e.operands);
    return e;
  }
  NNEX_ASSIGN(e.result, parse_term(text, text.substr(arrow + 2)));
  for (size_t i = 0; i < e.result.size(); ++i) {
    const char ch = e.result[i];
    if (e.result.find(ch, i + 1) != Term::npos) return bad(text, fmt::format("names '{}' twice in the result", ch));
    const bool known =
        std::any_of(e.operands.begin(), e.operands.end(), [&](const Term& t) { return t.find(ch) != Term::npos; });
    if (!known && ch != '.') return bad(text, fmt::format("has '{}' in the result alone", ch));
  }
  return e;
}

/// The axis of an operand of `rank` axes that letter i of its term names; its ellipsis stands for the axes left over.
int64_t axis_of(const Term& term, size_t i, int64_t rank) {
  const size_t dots = term.find('.');
  const int64_t at = static_cast<int64_t>(i);
  return dots == Term::npos || i < dots ? at : at + rank - static_cast<int64_t>(term.size());
}

/// Axes the ellipsis of a term stands for.
int64_t dots_rank(const Term& term, int64_t rank) {
  return term.find('.') == Term::npos ? 0 : rank - static_cast<int64_t>(term.size()) + 1;
}

Status check_rank(std::string_view equation, const Term& term, size_t operand, int64_t rank) {
  const bool dots = term.find('.') != Term::npos;
  const int64_t letters = static_cast<int64_t>(term.size()) - dots;
  if (dots ? rank >= letters : rank == letters) return {};
  return bad(equation, fmt::format("has {} indices for operand {}; it has {} axes", letters, operand, rank));
}

Status infer_einsum(InferCall& c) {
  const std::string& text = c.attr<EinsumAttrs>().equation;
  NNEX_ASSIGN(Equation e, parse_equation(text, c.inputs()));
  std::array<std::optional<Dim>, 128> extent;
  MaybeDims dots = Dims{};
  for (size_t k = 0; k < e.operands.size(); ++k) {
    const Term& term = e.operands[k];
    if (!c.dims(k)) {
      if (term.find('.') != Term::npos) dots.reset();
      continue;
    }
    const Dims& d = *c.dims(k);
    const int64_t rank = static_cast<int64_t>(d.size());
    NNEX_TRY(check_rank(text, term, k, rank));
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] == '.') {
        const auto from = d.begin() + static_cast<std::ptrdiff_t>(i);
        NNEX_ASSIGN(dots, broadcast(c, dots, Dims(from, from + dots_rank(term, rank))));
        continue;
      }
      auto& known = extent[static_cast<unsigned char>(term[i])];
      const Dim& here = d[static_cast<size_t>(axis_of(term, i, rank))];
      if (!known || *known == Dim(1))
        known = here;
      else if (!(here == Dim(1))) {
        NNEX_ASSIGN(known, meet(c, here, *known, fmt::format("extent of index '{}' in operand {}", term[i], k)));
      }
    }
  }
  if (!dots && e.result.find('.') != Term::npos) {
    c.result(0, MaybeDims{});
    return {};
  }
  Dims out;
  for (char ch : e.result) {
    if (ch == '.')
      out.insert(out.end(), dots->begin(), dots->end());
    else
      out.push_back(extent[static_cast<unsigned char>(ch)].value_or(c.unknown()));
  }
  c.result(0, std::move(out));
  return {};
}

EinsumLoops loops_of(const Equation& e, std::span<const Shape> shapes) {
  const size_t n = e.operands.size();
  int64_t dots = 0;
  for (size_t k = 0; k < n; ++k) dots = std::max(dots, dots_rank(e.operands[k], shapes[k].rank()));
  auto grow = [&](EinsumLoop& loop, size_t k, int64_t axis) {
    const Shape& s = shapes[k];
    int64_t pace = 1;
    for (int64_t a = axis + 1; a < s.rank(); ++a) pace *= s[a];
    if (s[axis] == 1) return;
    loop.extent = s[axis];
    loop.step[k] += pace;
  };
  auto letter_loop = [&](char ch) {
    EinsumLoop loop{1, std::vector<int64_t>(n)};
    for (size_t k = 0; k < n; ++k)
      for (size_t i = 0; i < e.operands[k].size(); ++i)
        if (e.operands[k][i] == ch) grow(loop, k, axis_of(e.operands[k], i, shapes[k].rank()));
    return loop;
  };
  auto add_dots = [&](std::vector<EinsumLoop>& to) {
    for (int64_t d = 0; d < dots; ++d) {
      EinsumLoop loop{1, std::vector<int64_t>(n)};
      for (size_t k = 0; k < n; ++k) {
        const int64_t own = dots_rank(e.operands[k], shapes[k].rank());
        if (d >= dots - own && own > 0) grow(loop, k, static_cast<int64_t>(e.operands[k].find('.')) + d - (dots - own));
      }
      to.push_back(std::move(loop));
    }
  };
  EinsumLoops loops;
  for (char ch : e.result) {
    if (ch == '.')
      add_dots(loops.result);
    else
      loops.result.push_back(letter_loop(ch));
  }
  std::string seen = e.result;
  for (const Term& term : e.operands)
    for (char ch : term) {
      if (seen.find(ch) != std::string::npos) continue;
      seen += ch;
      if (ch == '.')
        add_dots(loops.summed);
      else
        loops.summed.push_back(letter_loop(ch));
    }
  return loops;
}

EinsumIndices indices_of(const Equation& e, std::span<const Shape> shapes) {
  int64_t dots = 0;
  for (size_t k = 0; k < shapes.size(); ++k) dots = std::max(dots, dots_rank(e.operands[k], shapes[k].rank()));
  EinsumIndices out;
  out.extent.assign(static_cast<size_t>(dots), 1);  // the ellipsis comes first
  std::array<size_t, 128> letters = {};
  const auto index_of = [&](char ch) {
    size_t& known = letters[static_cast<unsigned char>(ch)];  // counted from 1
    if (known == 0) {
      out.extent.push_back(1);
      known = out.extent.size();
    }
    return known - 1;
  };
  const auto indices = [&](const Term& term, int64_t own) {
    std::vector<size_t> axes;
    for (char ch : term) {
      if (ch != '.') axes.push_back(index_of(ch));
      for (int64_t d = dots - own; ch == '.' && d < dots; ++d) axes.push_back(static_cast<size_t>(d));
    }
    return axes;
  };
  for (size_t k = 0; k < shapes.size(); ++k) {
    out.operands.push_back(indices(e.operands[k], dots_rank(e.operands[k], shapes[k].rank())));
    for (size_t a = 0; a < out.operands[k].size(); ++a)
      if (const int64_t n = shapes[k][static_cast<int64_t>(a)]; n != 1) out.extent[out.operands[k][a]] = n;
  }
  out.result = indices(e.result, dots);
  return out;
}

/// Moves `at` to the next combination of the loops, the last one fastest; false after the last.
bool advance(std::span<const EinsumLoop> loops, std::vector<int64_t>& index, std::vector<int64_t>& at) {
  for (size_t l = loops.size(); l-- > 0;) {
    for (size_t k = 0; k < at.size(); ++k) at[k] += loops[l].step[k];
    if (++index[l] < loops[l].extent) return true;
    index[l] = 0;
    for (size_t k = 0; k < at.size(); ++k) at[k] -= loops[l].step[k] * loops[l].extent;
  }
  return false;
}

template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return wrap_mul(a, b);
  else
    return a * b;
}
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return wrap_add(a, b);
  else
    return a + b;
}

/// sum + the products along one loop from `at` on, in order.
template <class T>
T add_row(T sum, const std::vector<const T*>& x, const std::vector<int64_t>& at, const EinsumLoop& loop) {
  if (x.size() == 2) {
    const T *a = x[0] + at[0], *b = x[1] + at[1];
    for (int64_t i = 0; i < loop.extent; ++i, a += loop.step[0], b += loop.step[1]) sum = plus(sum, times(*a, *b));
    return sum;
  }
  for (int64_t i = 0; i < loop.extent; ++i) {
    T p = x[0][at[0] + i * loop.step[0]];
    for (size_t k = 1; k < x.size(); ++k) p = times(p, x[k][at[k] + i * loop.step[k]]);
    sum = plus(sum, p);
  }
  return sum;
}

constexpr int64_t kAskEvery = 1 << 16;  ///< Products.

template <class T>
Status run_einsum(Call& c) {
  std::vector<Shape> shapes;
  std::vector<const T*> x;
  for (size_t k = 0; k < c.inputs(); ++k) shapes.push_back(c.shape(k)), x.push_back(c.in<T>(k).data());
  NNEX_ASSIGN(EinsumLoops loops, einsum_loops(c.attr<EinsumAttrs>().equation, shapes));
  const bool nothing =
      std::any_of(loops.summed.begin(), loops.summed.end(), [](const EinsumLoop& l) { return l.extent == 0; });
  if (loops.summed.empty()) loops.summed.push_back({1, std::vector<int64_t>(x.size())});
  const EinsumLoop& row = loops.summed.back();
  const auto rows = std::span(loops.summed).first(loops.summed.size() - 1);
  std::vector<int64_t> at(x.size()), index(loops.result.size());
  int64_t steps = 0;
  for (T& y : c.out<T>(0)) {
    T sum(0);
    if (!nothing) {
      std::vector<int64_t> inner = at, inner_index(rows.size());
      do {
        sum = add_row(sum, x, inner, row);
        steps += row.extent;
        if (steps >= kAskEvery) {
          steps = 0;
          NNEX_TRY(c.interrupted());
        }
      } while (advance(rows, inner_index, inner));
    }
    y = sum;
    advance(loops.result, index, at);
  }
  return {};
}

constexpr OpRow kEinsumOps[] = {
    {
        .name = "einsum",
        .summary = "Sums of products over named indices, as the equation says.",
        .source = "ONNX Einsum-12",
        .inputs = {{"x", kN, Arity::variadic}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<EinsumAttrs>(
            {field<&EinsumAttrs::equation>("equation", "As in 'bij,bjk->bik'; '...' stands for more axes.", required)}),
        .infer = infer_einsum,
        .reference =
            typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_einsum<T>(c); }),
        .spelled = {{onnx, "Einsum", {}, 12}},
        .work = Work::einsum,
    },
};
}  // namespace

Result<EinsumLoops> einsum_loops(std::string_view equation, std::span<const Shape> operands) {
  NNEX_ASSIGN(Equation e, parse_equation(equation, operands.size()));
  return loops_of(e, operands);
}

Result<EinsumIndices> einsum_indices(std::string_view equation, std::span<const Shape> operands) {
  NNEX_ASSIGN(const Equation e, parse_equation(equation, operands.size()));
  return indices_of(e, operands);
}

std::span<const OpDef> einsum_ops() { return stored<kEinsumOps>(); }

}  // namespace nnex
