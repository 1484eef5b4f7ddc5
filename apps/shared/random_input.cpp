#include "shared/random_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "nnex/elements.h"
#include "shared/try.h"

namespace nnex::cli {
namespace {

/// The whole range of so many bits. Ends and 0 come often: clips, signs and rounding show there.
Tensor random_integers(Tensor t, std::mt19937_64& random, int64_t bits) {
  const int64_t max = (int64_t{1} << (std::min<int64_t>(bits, nnex::bits(t.dtype())) - 1)) - 1;
  const std::array<int64_t, 3> ends = {-max, max, 0};
  for (int64_t i = 0; i < t.count(); ++i) {
    const uint64_t u = random();
    set_int(t, i,
            i < 2 || u % 16 == 0 ? ends[(i < 2 ? static_cast<uint64_t>(i) : u / 16) % ends.size()]
                                 : static_cast<int64_t>(u / 16 % static_cast<uint64_t>(2 * max + 1)) - max);
  }
  return t;
}

std::vector<int64_t> extents_of(const PortInfo& port, const std::map<std::string, int64_t>& symbols, int64_t unknown) {
  std::vector<int64_t> extents;
  for (size_t i = 0; i < port.extents.size(); ++i) {
    auto it = symbols.find(port.dims[i]);
    extents.push_back(port.extents[i] >= 0 ? port.extents[i] : it != symbols.end() ? it->second : unknown);
  }
  return extents;
}

}  // namespace

Result<Value> random_input(const PortInfo& port, uint64_t seed, const std::map<std::string, int64_t>& symbols,
                           int64_t unknown, std::optional<int64_t> bits, double from) {
  if (port.dtype == DType::none || port.dtype == DType::str || !port.known_rank)
    return Error(Code::invalid_argument, fmt::format("input '{}' is {}: give it with --input", port.name, port.type));
  NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents_of(port, symbols, unknown))));
  std::mt19937_64 random(seed);
  if (bits && is_int(port.dtype)) return Value(random_integers(std::move(t), random, *bits));
  for (int64_t i = 0; i < t.count(); ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    if (is_real(port.dtype))
      set_real(t, i, from + (1 - from) * u);
    else
      set_int(t, i, u < 0.5);
  }
  return Value(std::move(t));
}

Result<Value> trial_input(const PortInfo& port, uint64_t seed, const std::map<std::string, int64_t>& symbols,
                          int64_t unknown, std::optional<int64_t> bits) {
  if (port.dtype != DType::str || !port.known_rank) return random_input(port, seed, symbols, unknown, bits);
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::str, Shape(extents_of(port, symbols, unknown))));
  std::mt19937_64 random(seed);
  for (std::string& word : t.mutable_as<std::string>())
    for (uint64_t letters = 1 + random() % 8; letters > 0; --letters) word += static_cast<char>('a' + random() % 26);
  return Value(std::move(t));
}

}  // namespace nnex::cli
