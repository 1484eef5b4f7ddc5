#pragma once
// One node of a model against the rules that its bytes tell.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "standards/onnx/read_wire.h"
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {

/// The first field of bytes of that number; empty: there is none.
std::string_view field_text(std::string_view message, uint32_t number);

/// Names that a graph has given so far, and the graph around it.
struct Scope {
  std::set<std::string> names;
  const Scope* outer = nullptr;

  bool knows(const std::string& name) const { return names.count(name) || (outer && outer->knows(name)); }
};

/// What is around a node.
struct Known {
  std::map<std::string, int64_t> opsets;
  std::set<std::string> functions;                  ///< "domain:name:overload".
  std::optional<std::set<std::string>> attributes;  ///< Of the function whose body it is.
  std::string prefix;                               ///< Of places.
};

class CheckedNode {
 public:
  CheckedNode(std::string_view message, const Known& known, int64_t ir);

  /// As importers say it.
  std::string place() const;
  /// Every broken rule.
  std::vector<std::string> faults(const Scope& scope) const;
  const std::vector<std::string>& outputs() const { return out_; }
  /// Its attributes that are graphs.
  std::vector<std::string_view> graphs() const;

 private:
  struct Attribute {
    std::string name, word, reference;
    int64_t type = 0;
    std::set<char> filled;  ///< Kinds of the fields that are there.
    std::vector<std::string_view> graphs;
  };
  static Attribute read_attribute(std::string_view message);
  void check_attributes(std::vector<std::string>& out) const;
  void check_names(const Scope& scope, std::vector<std::string>& out) const;
  void check_form(std::vector<std::string>& out) const;

  const Known& known_;
  int64_t ir_;
  bool whole_ = false;  ///< Its bytes could be read.
  std::string name_, op_, domain_, overload_;
  std::vector<std::string> in_, out_;
  std::vector<Attribute> attributes_;
};

}  // namespace nnex::onnx_format
