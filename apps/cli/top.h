#pragma once
// --topk: the largest numbers of every row.

#include <optional>

#include "cli.h"

namespace nnex::cli {

/// The largest numbers of the rows of a tensor; a row is its last axis, a scalar a row of one.
struct Top {
  struct Item {
    int64_t index = 0;  ///< In the row.
    std::string text;   ///< Reals with four decimals, integers in full.
    Json value;
  };
  struct Row {
    std::vector<int64_t> at;  ///< Where the row is: indices of all axes but the last.
    std::vector<Item> items;  ///< The largest first; NaN last.
  };
  int64_t rows_in_all = 0;
  std::vector<Row> rows;  ///< The first 16.
};

/// Nothing where there is nothing to compare (text, complex numbers, no tensor).
std::optional<Top> top_of(const Value& value, int k);

/// `labels`: a word for each index; a number where there is none.
void print(const Top& top, const std::vector<std::string>& labels);
/// "top": a flat list, each with its "row"; "rows": how many rows there are, those told and not.
void to_json(const Top& top, const std::vector<std::string>& labels, Json& row);

}  // namespace nnex::cli
