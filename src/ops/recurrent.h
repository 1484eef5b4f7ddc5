#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nnex/result.h"
#include "ops/attrs.h"

namespace nnex {

enum class Direction : uint8_t { forward, reverse, bidirectional };
constexpr std::array<std::string_view, 3> enumerators(Direction) { return {"forward", "reverse", "bidirectional"}; }

struct RnnAttrs {
  Direction direction = Direction::forward;
  Texts activations;
  Reals activation_alpha, activation_beta;
  std::optional<double> clip;
  std::optional<int64_t> hidden = {};  ///< Where the shape of r does not tell.
};

struct GruAttrs {
  Direction direction = Direction::forward;
  Texts activations;
  Reals activation_alpha, activation_beta;
  std::optional<double> clip;
  bool reset_after = false;
  std::optional<int64_t> hidden = {};  ///< Where the shape of r does not tell.
};

struct LstmAttrs {
  Direction direction = Direction::forward;
  Texts activations;
  Reals activation_alpha, activation_beta;
  std::optional<double> clip;
  bool input_forget = false;
  std::optional<int64_t> hidden = {};  ///< Where the shape of r does not tell.
};

struct GruCellAttrs {
  Texts activations;
  bool reset_after = true;
};

struct LstmCellAttrs {
  Texts activations;
  bool input_forget = false;
};

/// A function of a gate with its numbers.
struct GateFunction {
  enum class Kind : uint8_t {
    sigmoid,
    tanh,
    relu,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus,
    count
  };
  Kind kind = Kind::sigmoid;
  double alpha = 0, beta = 0;
  double operator()(double x) const;
};

/// Their words, in the order of their kinds.
std::span<const std::string_view> gate_words();

/// The functions of every direction, `each` of them a direction, from the words and numbers of the attributes: words
/// for one direction serve both, none means `defaults`. Numbers go, in order, to the functions that have them. Error
/// text: an unknown word, or as many words as fit no direction.
Result<std::vector<GateFunction>> gate_functions(const RnnAttrs& attrs, std::span<const GateFunction::Kind> defaults);

}  // namespace nnex
