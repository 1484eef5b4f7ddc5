#pragma once
// Cases: behaviour as data. tests/cases/ops/<row>.case holds inputs, attributes and what an operator makes of them;
// tests/cases/graphs holds networks, for rows whose values are no tensors or that own blocks;
// tests/cases/passes/<pass>.case holds graphs before and after a pass; tests/cases/errors holds graphs that are
// refused.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/table.h"

namespace nnex::test {

/// What an output is: `=` as it stands (any NaN is any other), `~` within ulp units in the last place, or abs, or rel.
struct Expected {
  size_t output = 0;
  Tensor tensor;
  double ulp = 0, abs = 0, rel = 0;
};

struct OpCase {
  std::string place, name;  ///< "softmax.case:7", "large_values_do_not_overflow".
  const OpDef* op = nullptr;
  std::vector<std::optional<Tensor>> inputs;  ///< A port each, items of the variadic one last; absent ones empty.
  AttrMap attrs;
  std::vector<Expected> outputs;
  std::string says;  ///< Of an error: its message.

  size_t output_count() const;
};

/// The cases of a file; the file's name is the row's.
///     case large_values_do_not_overflow
///       x    f32[1,3] = 1000 1000 1000
///       axes = [1]
///       y    f32[1,3] ~ 0.33333334 0.33333334 0.33333334    ulp 2
///     error axis_out_of_range
///       x    f32[3] = 0 0 0
///       axes = [1]
///       says "softmax: axes names axis 1; x has 1 axis"
/// Errors: the file's place and what is wrong with the line.
Result<std::vector<OpCase>> read_op_cases(const std::string& path);

struct GraphCase {
  std::string place, name, graph;
  std::vector<std::pair<std::string, Expected>> values;  ///< Of the graph's inputs and outputs, by their names.

  /// Null: the case does not say.
  const Expected* value(std::string_view name) const;
};
/// The cases of a file: `case NAME`, a graph as text up to the line "}", then tensor lines as of operators, named as
/// the graph's inputs and outputs are.
Result<std::vector<GraphCase>> read_graph_cases(const std::string& path);

struct PassCase {
  std::string place, name, before, after;  ///< Graphs as text; `after` is empty where the pass must change nothing.
  int64_t steps = 0;                       ///< How far whole numbers of the two graphs' results may lie apart.
};
/// The cases of a file; the file's name is the pass's. `case NAME`, then `before` and `after` with a graph each;
/// `unchanged` stands for the second. `steps N` before them says that results may differ so much.
Result<std::vector<PassCase>> read_pass_cases(const std::string& path);

struct ErrorCase {
  std::string place, name, graph, says;  ///< `says` begins with the fault's place.
};
/// The cases of a file: `error NAME`, a graph as text, and `says "message"`, which may go on over lines.
Result<std::vector<ErrorCase>> read_error_cases(const std::string& path);

/// Whether an element of an output is what the case says.
bool fits(const Expected& expected, const Tensor& got, int64_t i);

}  // namespace nnex::test
