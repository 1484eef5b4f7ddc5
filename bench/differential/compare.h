#pragma once
// Whether two answers are the same, and which differences are known.

#include <span>
#include <string>
#include <string_view>

#include "engines.h"

namespace nnex::differential {

/// How two answers differ. Differences with the same `kind` of the same operator are one class.
struct Difference {
  std::string kind;              ///< Empty: they are the same.
  std::string detail;            ///< The first place where they differ, or the messages.
  double distance = 0;           ///< The largest distance of two numbers.
  double share = 0;              ///< The same beside the largest number.
  const Tensor* ours = nullptr;  ///< The output that differs.
  bool counts = true;  ///< False: the peer refuses or lacks what ours answers, so there is nothing to compare.
};
/// By the rule of the standard's test-suite: types and shapes equal, |got - want| <= 1e-7 + 1e-3 |want|; and what sums
/// of rounded numbers lose: 8 units in the last place of the largest number.
Difference compare(const Answer& ours, const Answer& peers);

/// A difference that the specification settles against the peer, or leaves open.
struct Known {
  std::string_view op;    ///< An operator, or with a star at the end all that begin so.
  std::string_view kind;  ///< What the kind begins with.
  bool (*applies)(const Case& made, const Difference& difference);
  std::string_view sentence;
};
std::span<const Known> known_differences();
/// The entry that says why they differ; null when nothing does.
const Known* explanation(const Case& made, const Difference& difference);

}  // namespace nnex::differential
