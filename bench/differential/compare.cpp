#include "compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tensor/convert.h"

namespace nnex::differential {
namespace {

double unit_in_last_place(DType type) {
  return type == DType::f64 ? 0x1p-52 : type == DType::f32 ? 0x1p-23 : type == DType::f16 ? 0x1p-10 : 0x1p-7;
}

bool same(double got, double want, double slack) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= 1e-7 + 1e-3 * std::abs(want) + slack;
}

/// -1, or the first element that differs.
int64_t first_difference(const Tensor& ours, const Tensor& peers) {
  if (peers.dtype() == DType::str) {
    for (int64_t i = 0; i < peers.count(); ++i)
      if (ours.strings()[size_t(i)] != peers.strings()[size_t(i)]) return i;
    return -1;
  }
  if (!is_float(peers.dtype())) {
    for (int64_t i = 0; i < peers.count(); ++i)
      if (int_at(ours, i) != int_at(peers, i)) return i;
    return -1;
  }
  double largest = 0;
  for (int64_t i = 0; i < peers.count(); ++i)
    if (std::isfinite(real_at(peers, i))) largest = std::max(largest, std::abs(real_at(peers, i)));
  const double slack = 8 * unit_in_last_place(peers.dtype()) * largest;
  for (int64_t i = 0; i < peers.count(); ++i)
    if (!same(real_at(ours, i), real_at(peers, i), slack)) return i;
  return -1;
}

/// Tells how far two outputs are from each other, where both are finite.
void measure(const Tensor& ours, const Tensor& peers, Difference& difference) {
  double largest = 0;
  if (peers.dtype() == DType::str) return;
  for (int64_t i = 0; i < peers.count(); ++i) {
    const double a = real_at(ours, i), b = real_at(peers, i);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    largest = std::max({largest, std::abs(a), std::abs(b)});
    difference.distance = std::max(difference.distance, std::abs(a - b));
  }
  difference.share = largest > 0 ? difference.distance / largest : 0;
}

/// A message without the numbers and names of one case.
std::string headline(std::string_view message) {
  std::string out;
  bool quoted = false;
  for (char c : message) {
    if (c == '\n' || out.size() > 110) break;
    if (c == '\'') quoted = !quoted;
    if (quoted && c != '\'') continue;
    const bool digit = std::isdigit(uint8_t(c));
    if (!digit)
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  }
  return out;
}

std::string values_kind(const Tensor& ours, const Tensor& peers, int64_t at) {
  if (!is_float(peers.dtype())) return "values";
  const double a = real_at(ours, at), b = real_at(peers, at);
  return std::isnan(a) != std::isnan(b)   ? "values (NaN)"
         : std::isinf(a) != std::isinf(b) ? "values (infinite)"
                                          : "values";
}

}  // namespace

Difference compare(const Answer& ours, const Answer& peers) {
  const bool a = ours.outcome == Outcome::answered, b = peers.outcome == Outcome::answered;
  if (!a && !b) return {};
  if (!a) return {"ours refuses: " + headline(ours.why), ours.why};
  if (!b) {
    const std::string_view how = peers.outcome == Outcome::missing ? "the peer lacks: " : "the peer refuses: ";
    return {std::string(how) + headline(peers.why), peers.why, 0, 0, nullptr, false};
  }
  for (size_t i = 0; i < peers.outputs.size(); ++i) {
    const Tensor &x = ours.outputs[i], &y = peers.outputs[i];
    const std::string both =
        fmt::format("    output {}:\n    ours {}\n    peer {}", i, tensor_text(x, 48), tensor_text(y, 48));
    if (x.dtype() != y.dtype()) return {"type", both};
    if (!(x.shape() == y.shape())) return {"shape", both};
    const int64_t at = first_difference(x, y);
    if (at < 0) continue;
    const std::string where =
        fmt::format("{}\n    first at {}: ours {}, peer {}", both, at, element_text(x, at), element_text(y, at));
    Difference difference{values_kind(x, y, at), where};
    difference.ours = &x;
    measure(x, y, difference);
    return difference;
  }
  return {};
}

const Known* explanation(const Case& made, const Difference& difference) {
  for (const Known& known : known_differences()) {
    const bool family = known.op.back() == '*';
    const std::string_view start = known.op.substr(0, known.op.size() - family);
    if (family ? made.op.rfind(start, 0) != 0 : made.op != start) continue;
    if (difference.kind.rfind(known.kind, 0) == 0 && (!known.applies || known.applies(made, difference))) return &known;
  }
  return nullptr;
}

}  // namespace nnex::differential
