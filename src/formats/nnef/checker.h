#pragma once
// Static checks of NNEF: declarations, invocations, types of expressions (reference sections 4 to 6), without values.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/nnef/evaluate.h"
#include "formats/nnef/types.h"
#include "graph/text/rules.h"

namespace nnex::nnef_format {

using graph_text::Assignment;
using graph_text::Expr;
using graph_text::Position;
using graph_text::Target;
using graph_text::Tok;

/// The declarations that a document's names mean: its fragments, then the standard's operations.
class Declared {
 public:
  const Declaration* find(std::string_view name) const {
    if (!own_.empty())
      if (const auto* own = own_.find(name)) return *own;
    return find_declaration(name);
  }
  void add(const Declaration* d) { own_.add(d->name, d); }
  bool has(std::string_view name) const { return own_.has(name); }

 private:
  NameTable<const Declaration*> own_;
};

/// What a name of a body stands for.
struct Name {
  const DeclaredType* type = nullptr;  ///< Null: a parameter of the graph that no external made yet.
  Arg value;                           ///< In the graph's body, once evaluated; none before.
  bool parameter = false;
  bool made = false;  ///< Of the graph's parameters: by an external, or missed by nobody.
};
using Names = NameTable<Name>;

class Checker {
 public:
  /// `names` are those of the graph's body.
  Checker(const Declared& declared, const graph_text::Parser& parser, Faults& faults, Dialect dialect, Names& names)
      : declared_(declared), parser_(parser), faults_(faults), dialect_(dialect), graph_(names) {}

  /// Rules of a declaration (D1 - D7, T8, T9), then of its body.
  void declaration(const Declaration& d, const graph_text::FragmentText& f);
  void body(const Declaration& d);

  // The graph's body, assignment by assignment.
  void begin_graph(const graph_text::GraphText& g);
  /// The right side's type where the whole assignment is fine; null after a fault. Names of the left side are known
  /// from here on. `types` is where types that are made lie.
  const DeclaredType* assignment(const Assignment& a, graph_text::Arena& types);
  void end_graph(const graph_text::GraphText& g);
  /// The left side of an assignment that has a fault: its names have no type, and are missed by nobody.
  void poison(const Target& t);
  /// A call of the graph body that is known to be fine: the name of its left side, by the declared result; null where
  /// the left side is another or has a fault.
  Name* flat_target(std::string_view left, const Declaration& d, ItemType generic);

  bool fault(Position at, std::string_view rule, const std::string& message);
  /// A fragment with faults of its own: its calls have no type, and no further faults.
  void break_fragment(const Declaration* d) { broken_.emplace(d, true); }

 private:
  struct Loop {
    std::string_view name;
    const DeclaredType* type;
  };

  const DeclaredType* type_of(const Expr& e, bool nested);
  const DeclaredType* unknown() { return no_type(); }
  const DeclaredType* name(const Expr& e);
  const DeclaredType* array(const Expr& e);
  const DeclaredType* tuple(const Expr& e);
  const DeclaredType* unary(const Expr& e);
  const DeclaredType* binary(const Expr& e);
  const DeclaredType* tensor_operator(const Expr& e, const DeclaredType& x, const DeclaredType& y);
  const DeclaredType* index(const Expr& e);
  const DeclaredType* slice(const Expr& e);
  const DeclaredType* choice(const Expr& e, bool nested);
  const DeclaredType* comprehension(const Expr& e);
  const DeclaredType* built_in(const Expr& e);
  const DeclaredType* call(const Expr& e, bool nested);
  bool bind(const Expr& e, const Declaration& d, std::vector<const Expr*>& args);
  bool introduces(const Expr& e, const Declaration& d);
  /// An argument for a parameter: whether it fits; faults carry the rule that fits best.
  bool against(const Expr& e, const DeclaredType& to, Generic& g, const Declaration& d, std::string_view parameter);
  bool report(Position at, std::string_view rule, const DeclaredType& found, const DeclaredType& to, const Generic& g,
              const Declaration& d, std::string_view parameter);
  const DeclaredType* array_of(const DeclaredType* item);
  const DeclaredType* common(const DeclaredType* a, const DeclaredType* b);

  bool assign(const Target& t, const DeclaredType& type, const Expr& from);
  bool assign_name(const Target& t, const DeclaredType& type, const Expr& from);
  bool assign_items(const Target& t, const DeclaredType& type);
  bool define(const Target& t, const DeclaredType& type);
  bool externals(const Target& t, const Expr& from);

  const Declared& declared_;
  const graph_text::Parser& parser_;
  Faults& faults_;
  Dialect dialect_;
  graph_text::Arena* types_ = nullptr;
  const Declaration* inside_ = nullptr;  ///< The fragment whose body this is; null in the graph.
  Names& graph_;
  Names local_;             ///< Of a fragment's body.
  Names* names_ = &graph_;  ///< Of the body that is checked.
  std::vector<Loop> loops_;
  std::unordered_map<const Declaration*, bool> broken_;
  bool incomplete_ = false;  ///< A left side could not be read.
};

/// The call at the right side, where a plain call of an operation stands there.
inline bool is_call_of(const Expr& e, std::string_view name) { return e.kind == Expr::Kind::call && e.text == name; }

}  // namespace nnex::nnef_format
