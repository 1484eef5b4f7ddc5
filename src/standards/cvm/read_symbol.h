#pragma once
// The `symbol` file of a CVM model: JSON text to plain data and back (cvm.md section 2). What the lists mean together
// is checked by the importer.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "ops/attrs.h"

namespace nnex::cvm_format {

/// Whose fault a refused model is. A chain keeps the fee for a logic error: the model's own.
enum class Blame : uint8_t { none = 0, logic = 1, runtime = 2 };
std::string_view name(Blame blame);
/// The class of an error of this folder: unreadable and unsupported are runtime errors, all others logic errors.
Blame blame(const Error& error);

template <class... A>
Error logic_error(fmt::format_string<A...> format, A&&... args) {
  return failure(Code::invalid_model, format, std::forward<A>(args)...);
}
template <class... A>
Error runtime_error(fmt::format_string<A...> format, A&&... args) {
  return failure(Code::unreadable, format, std::forward<A>(args)...);
}

struct Entry {
  int64_t node = 0, output = 0;
};

struct SymbolNode {
  std::string name;
  std::string op;  ///< Without its "_12"; empty: a variable.
  std::vector<Entry> inputs;

  bool variable() const { return op.empty(); }
};

/// "node 3 'w' (variable)"
std::string node_place(size_t i, const SymbolNode& node);

struct Symbol {
  std::string version = "cvm_1.0.0";
  std::string postprocess;  ///< "", "argmax" or "detection".
  std::vector<SymbolNode> nodes;
  std::vector<Entry> heads;
  std::optional<Ints> arg_nodes, node_row_ptr;
  std::vector<Ints> shapes;  ///< One an entry (a node's output), as are the next two.
  Ints storage_ids;
  std::optional<Ints> precision;
  std::optional<Texts> dltypes;
  std::optional<Ints> device_index;
  Texts op_attrs;  ///< One a node: a JSON object of strings.
};

using TextMap = std::vector<std::pair<std::string, std::string>>;

/// Reads the first JSON object of the text; what follows is ignored. Errors: runtime for text that is not such JSON
/// (strings know the escapes \" \\ \n \r \t alone; numbers are integers), unknown or repeated keys, nesting deeper than
/// 64; logic for a missing key or a wrong type name.
Result<Symbol> read_symbol(std::string_view text);
/// An object of strings. Errors: runtime.
Result<TextMap> read_text_map(std::string_view text);

/// The file's text. Everything optional is written, so that the oldest readers take it.
std::string write_symbol(const Symbol& symbol);
std::string write_text_map(const TextMap& map);

}  // namespace nnex::cvm_format
