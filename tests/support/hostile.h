#pragma once
// Hostile nodes: any row of the table with one to three things wrong, the same for the same number everywhere. They
// begin as a stored case of the row (tests/cases/ops) or as inputs of one shape, so that most faults meet a node that
// is sound otherwise.

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "case_file.h"
#include "nnex/tensor.h"
#include "ops/table.h"

namespace nnex::test {

struct HostileInput {
  Tensor content;
  bool constant = false;  ///< Known before the run.
  bool symbolic = false;  ///< Its declared extents are symbols.
};

struct HostileCase {
  const OpDef* op = nullptr;
  const Spelling* spelling = nullptr;               ///< As a standard spells it; null: the row itself.
  std::vector<std::optional<HostileInput>> inputs;  ///< A port each, items of the variadic one last.
  AttrMap attrs;                                    ///< By the row's names.
  size_t outputs = 1;
  uint32_t wanted = 1;  ///< Bit o: somebody names output o.
  bool optimize = true;
  uint64_t seed = 0;  ///< For choices of who writes the file.

  /// What a person needs to repeat it.
  std::string text() const;
};

class HostileMaker {
 public:
  /// Reads the rows' stored cases.
  explicit HostileMaker(const std::string& cases_folder);

  /// Case number n of all.
  HostileCase make(uint64_t n);
  /// Rows and spellings taken in turn.
  size_t rows() const { return rows_.size(); }

 private:
  struct Row {
    const OpDef* op;
    const Spelling* spelling;
  };
  HostileCase sound(const Row& row);
  void spoil(HostileCase& c);
  void spoil_input(HostileCase& c);
  void spoil_attribute(HostileCase& c);
  AttrValue hostile_value(const Field& f, const AttrValue& now, int64_t rank);
  int64_t integer();
  double real();
  Tensor spoiled(const Tensor& t);
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }

  std::vector<Row> rows_;
  std::vector<std::vector<OpCase>> stored_;  ///< By place in all_ops().
  std::mt19937_64 random_;
};

}  // namespace nnex::test
