#pragma once
// Tables of numbers as text.

#include <string_view>

#include "nnex/model.h"

namespace nnex {

/// Whether bytes that no name tells of begin as a table of numbers does.
bool begins_csv(std::string_view bytes);

/// Rows of cells, separated by commas, or else by semicolons, tabs or blanks, as the first row has them; a first row
/// without any number names the columns, lines that begin with '#' and empty ones count for nothing. The table [rows,
/// columns] as elements of the input's type (none: f32): an input of one axis takes one row or one column, one of three
/// and more axes takes the numbers in reading order. `cast`: fractions become whole numbers, toward zero. Errors:
/// unreadable (rows of different lengths, a quote that does not end); invalid_argument (a cell that is no such element,
/// too many or too few of them, without a type a whole number that f32 does not hold; row and column); limit.
Result<Tensor> read_csv(std::string_view text, const PortInfo& port, bool cast);

/// The table that read_csv() reads: a row for every index but the last axis's, of one element where there is but one
/// axis. Real numbers are the shortest text that reads back; texts stand in quotes. Errors: unsupported (complex
/// numbers; no elements; a text of two lines).
Result<std::string> csv_text(const Tensor& t);

}  // namespace nnex
