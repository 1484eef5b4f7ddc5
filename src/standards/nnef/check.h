#pragma once
// Static checks of NNEF: declarations, invocations, types of expressions (reference sections 4 to 6), without values.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/text/rules.h"
#include "standards/nnef/evaluate.h"
#include "standards/nnef/types.h"

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
  Checker(const Declared& declared, const graph_text::Parser& parser, Faults& faults, const EvaluateOptions& options,
          Names& names)
      : declared_(declared), parser_(parser), faults_(faults), options_(options), graph_(names) {}

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

  bool fault(Position at, std::string_view rule, const std::string& message, const std::vector<Remedy>& remedies = {});
  /// Whether a fault may still say what was meant, which takes a search.
  bool hints() const { return faults_.count() < 100; }
  /// A fragment with faults of its own: its calls have no type, and no further faults.
  void break_fragment(const Declaration* d) { broken_.emplace(d, true); }

 private:
  struct Loop {
    std::string_view name;
    const DeclaredType* type;
  };

  /// An expression whose parts are typed one after another.
  struct Task {
    const Expr* e = nullptr;
    bool nested = false;               ///< In another expression.
    bool fine = true;                  ///< Of calls, loops, and arrays with `to`: no fault so far.
    const DeclaredType* to = nullptr;  ///< Of an array that is an argument: the type that is wanted.
    const Declaration* d = nullptr;    ///< Of a call.
    Generic g;
    size_t args = 0;  ///< Where its arguments begin in args_.
    size_t base = 0;  ///< Where the types of its parts begin in known_.
    size_t next = 0, parts = 0;
  };
  using Types = std::span<const DeclaredType* const>;

  const DeclaredType* type_of(const Expr& e, bool nested);
  const DeclaredType* begin(const Expr& e, bool nested, const DeclaredType* to);
  const DeclaredType* go_on();
  void take(const DeclaredType& type);
  void take_item(Task& t, const DeclaredType& type);
  const DeclaredType* whole_of(const Task& t, Types parts);
  const DeclaredType* unknown() { return no_type(); }
  const DeclaredType* name(const Expr& e);
  const DeclaredType* array(const Expr& e, Types items);
  const DeclaredType* tuple(const Expr& e, Types parts);
  const DeclaredType* unary(const Expr& e, const DeclaredType& x);
  const DeclaredType* binary(const Expr& e, const DeclaredType* x, const DeclaredType* y);
  const DeclaredType* tensor_operator(const Expr& e, const DeclaredType& x, const DeclaredType& y);
  const DeclaredType* index(const Expr& e, const DeclaredType& x, const DeclaredType& i);
  const DeclaredType* slice(const Expr& e, Types parts);
  const DeclaredType* choice(const Expr& e, const DeclaredType& x, const DeclaredType& c, const DeclaredType& y);
  void begin_loops(const Task& t);
  const DeclaredType* comprehension(const Task& t, Types parts);
  bool takes_one(const Expr& e);
  const DeclaredType* built_in(const Expr& e, const DeclaredType& type);
  bool begin_call(Task& t);
  const DeclaredType* call(const Task& t);
  bool bind(const Expr& e, const Declaration& d, std::span<const Expr*> args);
  bool introduces(const Expr& e, const Declaration& d);
  bool fits(Task& t, const DeclaredType& type);
  bool report(Position at, std::string_view rule, const DeclaredType& found, const DeclaredType& to, const Generic& g,
              const Declaration& d, std::string_view parameter);
  const DeclaredType* array_of(const DeclaredType* item, Position at);
  /// A list's type; a fault where it is too deep.
  const DeclaredType* made(DeclaredType t, Position at);
  const DeclaredType* common(const DeclaredType* a, const DeclaredType* b);

  bool assign(const Target& t, const DeclaredType& type, const Expr& from);
  bool assign_name(const Target& t, const DeclaredType& type, const Expr& from);
  bool assign_items(const Target& t, const DeclaredType& type);
  bool define(const Target& t, const DeclaredType& type);
  bool externals(const Target& t, const Expr& from);

  const Declared& declared_;
  const graph_text::Parser& parser_;
  Faults& faults_;
  const EvaluateOptions& options_;
  graph_text::Arena* types_ = nullptr;
  const Declaration* inside_ = nullptr;  ///< The fragment whose body this is; null in the graph.
  Names& graph_;
  Names local_;             ///< Of a fragment's body.
  Names* names_ = &graph_;  ///< Of the body that is checked.
  std::vector<Loop> loops_;
  std::vector<Task> tasks_;
  std::vector<const DeclaredType*> known_;
  std::vector<const Expr*> args_;
  std::unordered_map<const Declaration*, bool> broken_;
  bool incomplete_ = false;  ///< A left side could not be read.
};

/// The call at the right side, where a plain call of an operation stands there.
inline bool is_call_of(const Expr& e, std::string_view name) { return e.kind == Expr::Kind::call && e.text == name; }

}  // namespace nnex::nnef_format
