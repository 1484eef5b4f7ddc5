#pragma once
// Evaluation of NNEF's language, once for all who read it: expressions part by part, comprehensions, calls of fragments
// and what names stand for in them. What waits for its parts lies on stacks of its own, not on that of calls: texts
// nest deep. A policy says which values there are, what operators and calls of operations make of them, and what is too
// much.

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/text/ast.h"
#include "graph/text/name_table.h"

namespace nnex::graph_text {

/// What an expression's value is for.
struct Goal {
  const Target* target = nullptr;  ///< The whole left side that it is assigned to, if it is.
  size_t outputs = 1;              ///< How many values that takes.
};

inline Goal goal_of(const Target& left) {
  const bool several = left.kind == Target::Kind::array || left.kind == Target::Kind::tuple;
  return {&left, several ? left.items.size() : 1};
}

/// What becomes of a call's arguments.
enum class CallForm : uint8_t {
  fault,
  parts,  ///< They are evaluated, then the call is made.
  whole,  ///< The policy evaluates what it needs itself.
};
/// Of one of them.
enum class ArgumentUse : uint8_t { fault, evaluated, left_out };
/// Which side of a choice is taken; both where only a run knows.
enum class Branch : uint8_t { fault, first, second, both };

/// `P` derives from this and has these functions; those that return bool return false after a fault, which they keep.
///
///     bool enter(const Expr&, size_t depth)               before every expression, in so many others
///     bool leave(const Expr&, const V&)                   it has this value
///     bool atom(const Expr&, V& out)                      whether it is a literal, and its value
///     bool free_name(const Expr&, V& out)                 a name that no scope has
///     V list(std::span<V> items, bool array)              an array or tuple
///     std::span<const V> items(const V&)                  of an array
///     CallForm begin_call(const Expr&)
///     ArgumentUse argument(const Expr& call, size_t i)
///     bool unary|binary|index|slice(const Expr&, std::span<V> parts, V& out, const Goal&)
///     bool call(const Expr&, std::span<V> arguments, V& out, const Goal&)      or it begins a fragment: begin_body()
///     Branch branch(const Expr& choice, const V& condition)
///     bool select(const Expr& choice, std::span<V> condition_and_sides, V& out)
///     bool loop(const Expr&, size_t i, const V& first, const V& over)          array i of a comprehension
///     bool turn(const Expr&), bool twice(const Expr&, size_t i)                a turn of it; name i is there before
///     bool truth(const Expr& condition, const V&, bool& out)
///     void begin_statement(const Assignment&), bool assign(const Assignment&, V)    in a fragment's body
///     bool end_body(C&, V& out)                           its results; its names are there still
///     void abandon(C&)                                    a fault has ended it
///
/// `parts` may be moved from, and go when the policy evaluates something else. `C` is what the policy keeps of the call
/// of a fragment.
template <class P, class V, class C>
class Evaluation {
 protected:
  using Parts = std::span<V>;

  struct Loop {
    std::string_view name;
    V value;
  };
  /// Names and what they stand for; a scope's loops are inside it.
  struct Scope {
    bool opaque = false;  ///< What lies outside is not seen.
    bool is_body = false;
    NameTable<V, 16> names;
    std::vector<Loop> loops;
    std::span<const Assignment> body;  ///< Of a fragment.
    C call{};
  };

  Evaluation() { push_scope(false); }

  /// The value of an expression. After a fault everything it began is gone.
  bool evaluated(const Expr& e, V& out, const Goal& goal = {}) {
    const Mark before = mark();
    return finish(before, begin(e, goal), out);
  }
  /// The value that `call` makes as if an expression stood there: it may begin a fragment.
  template <class F>
  bool evaluated_call(const F& call, V& out) {
    static const Expr kNone{};
    const Mark before = mark();
    tasks_.push_back({&kNone, {}, done_.size(), 0, false});
    V made{};
    return finish(before, call(made) && end_task(made), out);
  }

  // ---- Names
  /// What a name stands for in the scopes; null: nothing.
  const V* find(std::string_view name) const {
    for (size_t s = scopes_.size(); s-- > 0;) {
      const Scope& scope = *scopes_[s];
      for (size_t i = scope.loops.size(); i-- > 0;)
        if (scope.loops[i].name == name) return &scope.loops[i].value;
      if (const V* known = scope.names.find(name)) return known;
      if (scope.opaque) return nullptr;
    }
    return nullptr;
  }
  /// False when the innermost scope has the name. Names outlive the scope.
  bool add(std::string_view name, V value) { return scopes_.back()->names.add(name, std::move(value)); }
  void set(std::string_view name, V value) { *scopes_.back()->names.add(name).first = std::move(value); }
  Scope& push_scope(bool opaque) {
    scopes_.push_back(std::make_unique<Scope>());
    scopes_.back()->opaque = opaque;
    return *scopes_.back();
  }
  void pop_scope() { scopes_.pop_back(); }
  Scope& scope() const { return *scopes_.back(); }
  /// The outermost one first, which is no fragment's.
  const std::vector<std::unique_ptr<Scope>>& scopes() const { return scopes_; }
  bool in_body() const { return scopes_.size() > 1; }

  /// The call that is being made goes on as the body of a fragment. Its scope, which takes the arguments.
  Scope& begin_body(std::span<const Assignment> body, C call) {
    Task& t = tasks_.back();
    t.in_body = true, t.next = 0;
    Scope& scope = push_scope(true);
    scope.is_body = true, scope.body = body, scope.call = std::move(call);
    return scope;
  }

 private:
  /// An expression whose parts are evaluated one after another; or the innermost body, whose statements are.
  struct Task {
    const Expr* e = nullptr;
    Goal goal;
    size_t base = 0;  ///< Where the values of its parts begin in done_.
    size_t next = 0;
    bool in_body = false;
  };
  struct Mark {
    size_t tasks, done, scopes, loops;
  };

  P& self() { return static_cast<P&>(*this); }
  Mark mark() const { return {tasks_.size(), done_.size(), scopes_.size(), scope().loops.size()}; }

  /// Does what is begun, unless that failed.
  bool finish(const Mark& before, bool fine, V& out) {
    while (fine && tasks_.size() > before.tasks) fine = go_on();
    if (fine) {
      out = std::move(done_.back());
      done_.pop_back();
      return true;
    }
    while (scopes_.size() > before.scopes) {
      if (scope().is_body) self().abandon(scope().call);
      pop_scope();
    }
    scope().loops.resize(before.loops);
    tasks_.resize(before.tasks);
    done_.resize(before.done);
    return false;
  }

  bool push(const Expr& e, V value) {
    done_.push_back(std::move(value));
    return self().leave(e, done_.back());
  }

  /// The value of an expression without parts goes to done_; others become a task.
  bool begin(const Expr& e, const Goal& goal = {}) {
    if (e.kind == Expr::Kind::none) return done_.emplace_back(), true;
    if (!self().enter(e, tasks_.size())) return false;
    if (e.kind == Expr::Kind::name) {
      if (const V* known = find(e.text)) return push(e, *known);
      V value{};
      return self().free_name(e, value) && push(e, std::move(value));
    }
    V value{};
    if (self().atom(e, value)) return push(e, std::move(value));
    size_t first = 0;
    if (e.kind == Expr::Kind::call) {
      const CallForm form = self().begin_call(e);
      if (form == CallForm::fault) return false;
      if (form == CallForm::whole) first = e.items.size();
    }
    tasks_.push_back({&e, goal, done_.size(), first, false});
    return true;
  }

  /// The next part of the newest task, or its end.
  bool go_on() {
    Task& t = tasks_.back();
    if (t.in_body) return statement();
    const Expr& e = *t.e;
    if (e.kind == Expr::Kind::choice) return choice();
    if (e.kind == Expr::Kind::comprehension) return comprehension();
    if (t.next < e.items.size()) {
      const size_t i = t.next++;
      const auto use = e.kind == Expr::Kind::call ? self().argument(e, i) : ArgumentUse::evaluated;
      if (use == ArgumentUse::left_out) return done_.emplace_back(), true;
      return use == ArgumentUse::evaluated && begin(e.items[i]);
    }
    const Goal goal = t.goal;
    V out{};
    return whole(e, {done_.data() + t.base, done_.size() - t.base}, out, goal) && end_task(out);
  }

  bool whole(const Expr& e, Parts parts, V& out, const Goal& goal) {
    switch (e.kind) {
      case Expr::Kind::array:
      case Expr::Kind::tuple:
        return out = self().list(parts, e.kind == Expr::Kind::array), true;
      case Expr::Kind::call:
        return self().call(e, parts, out, goal);
      case Expr::Kind::unary:
        return self().unary(e, parts, out, goal);
      case Expr::Kind::binary:
        return self().binary(e, parts, out, goal);
      case Expr::Kind::index:
        return self().index(e, parts, out, goal);
      case Expr::Kind::slice:
        return self().slice(e, parts, out, goal);
      default:
        return false;
    }
  }

  /// The newest task has its value, unless it goes on as a fragment's body.
  bool end_task(V& out) {
    const Task t = tasks_.back();
    done_.resize(t.base);
    if (t.in_body) return true;
    tasks_.pop_back();
    return push(*t.e, std::move(out));
  }

  /// The condition, then one side in the place of the whole; or both.
  bool choice() {
    Task& t = tasks_.back();
    const Expr& e = *t.e;
    const size_t at = t.next++;
    if (at == 0) return begin(e.items[1]);
    if (at == 2) return begin(e.items[2]);
    if (at == 3) {
      V out{};
      return self().select(e, {done_.data() + t.base, 3}, out) && end_task(out);
    }
    const Branch branch = self().branch(e, done_.back());
    if (branch == Branch::fault) return false;
    if (branch == Branch::both) return begin(e.items[0]);
    const Goal goal = t.goal;
    tasks_.pop_back(), done_.pop_back();
    return begin(e.items[branch == Branch::first ? 0 : 2], goal);
  }

  /// The arrays; then the condition and the value, for each of their items.
  bool comprehension() {
    Task& t = tasks_.back();
    const Expr& e = *t.e;
    const size_t n = e.names.size(), at = t.next++;
    const Expr& condition = e.items[n];
    const Parts over(done_.data() + t.base, std::min(at, n));
    if (at > 0 && at <= n && !self().loop(e, at - 1, over[0], over[at - 1])) return false;
    if (at < n) return begin(e.items[at]);
    auto& loops = scope().loops;
    if ((at - n) % 2 == 1) {
      bool yes = false;
      const V known = std::move(done_.back());
      done_.pop_back();
      return self().truth(condition, known, yes) && (!yes || begin(e.items.back()));
    }
    const size_t turn = (at - n) / 2, base = t.base;
    if (turn > 0) loops.resize(loops.size() - n);
    if (turn == self().items(over[0]).size()) {
      V all = self().list({done_.data() + base + n, done_.size() - base - n}, true);
      return end_task(all);
    }
    if (!self().turn(e)) return false;
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < i; ++k)
        if (e.names[k] == e.names[i] && !self().twice(e, i)) return false;
      loops.push_back({e.names[i], self().items(over[i])[turn]});
    }
    if (condition.kind != Expr::Kind::none) return begin(condition);
    ++t.next;
    return begin(e.items.back());
  }

  /// The innermost body: its statement before gets its value, the next one begins.
  bool statement() {
    Task& t = tasks_.back();
    const std::span<const Assignment> body = scope().body;
    if (t.next > 0) {
      V value = std::move(done_.back());
      done_.pop_back();
      if (!self().assign(body[t.next - 1], std::move(value))) return false;
    }
    if (t.next < body.size()) {
      const Assignment& a = body[t.next++];
      self().begin_statement(a);
      return begin(a.right, goal_of(a.left));
    }
    V out{};
    if (!self().end_body(scope().call, out)) return false;
    pop_scope();
    t.in_body = false;
    return end_task(out);
  }

  std::vector<Task> tasks_;
  std::vector<V> done_;  ///< Values of their parts.
  std::vector<std::unique_ptr<Scope>> scopes_;
};

}  // namespace nnex::graph_text
