#pragma once
// What a change of an operator's inputs does to its result: the chain rule's pieces, as texts over the table's rows.

#include <cstdint>
#include <string_view>

namespace nnex::passes {

/// What surrounds a rule's text.
enum class DerivativeFrame : uint8_t {
  plain,
  reduces,  ///< Before it: k and m are g and y with the axes that the reduction took away.
  moves,  ///< The text assigns to `to` what the operator makes of `from`, the places of x's elements; every element of
          ///< g is then added at its place.
};

/// The text assigns d_<port>, the derivative by that port, from g, the derivative by the node's first output (by all of
/// them, where their number varies), and the node's inputs, outputs and attributes under their names. d_<port> = 0.0:
/// nothing depends on it; a string: why there is no rule. What a result has along axes where the port broadcast is
/// summed by the caller.
struct Derivative {
  std::string_view op = {};
  std::string_view text = {};
  DerivativeFrame frame = DerivativeFrame::plain;
};

/// The texts of a frame, before a rule's and after it.
std::string_view text_before(DerivativeFrame frame);
std::string_view text_after(DerivativeFrame frame);

/// The rule of an operator; null when it has none (its body may be derived in its place).
const Derivative* find_derivative(std::string_view op);

}  // namespace nnex::passes
