#include "standards/webnn/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/built.h"
#include "base/try.h"
#include "webnn/call.h"

namespace nnex::ml {
namespace {

constexpr double kMaxExact = 9007199254740992.0;  ///< 2^53: integers up to it are Numbers.

idl::Value idl_number(int64_t i) {
  if (std::abs(static_cast<double>(i)) <= kMaxExact) return static_cast<double>(i);
  return BigInt{i < 0, i < 0 ? uint64_t{0} - static_cast<uint64_t>(i) : static_cast<uint64_t>(i)};
}

/// "12n" as a BigInt; other texts as they are.
idl::Value text(const Param& p, const std::string& s) {
  if (p.kind == ArgKind::number && s.size() > 1 && s.back() == 'n')
    if (auto big = idl::big_int_of(std::string_view(s).substr(0, s.size() - 1))) return *big;
  return s;
}

template <class T, class Make>
idl::Sequence sequence(const std::vector<T>& items, Make make) {
  idl::Sequence out;
  for (const T& item : items) out.push_back(make(item));
  return out;
}

}  // namespace

const Param& param_of(const Method& m, size_t i) {
  return i < m.params.size() ? m.params[i] : m.options->members[i - m.params.size()];
}

int param_index(const Method& m, std::string_view name) {
  for (size_t i = 0; i < m.params.size() + m.options->members.size(); ++i)
    if (param_of(m, i).name == name) return static_cast<int>(i);
  return -1;
}

Player::Player() {
  Environment alone;
  alone.own_thread = false;
  const auto context = createContext({}, std::move(alone)).get();
  NNEX_ASSERT(context.ok());
  builder_ = *GraphBuilder::create(*context);
}

Status Player::add(const ProgramOperand& o) {
  if (o.role == OperandState::Role::input) {
    NNEX_ASSIGN(Operand made, builder_.input(o.name, o.descriptor));
    operands_.push_back(std::move(made));
    return {};
  }
  NNEX_TRY(check_dimensions(o.descriptor.dataType, o.descriptor.shape, fmt::format("constant '{}'", o.name)));
  const ValueId v = builder().graph.add_constant(o.content, o.name);
  operands_.push_back(builder().operand(v, o.descriptor.dataType, o.descriptor.shape, OperandState::Role::constant));
  return {};
}

idl::Value Player::value(const Param& p, const ProgramValue& v) const {
  const auto at = [this](Ref r) -> idl::Value { return (*this)[r]; };
  if (auto* r = std::get_if<Ref>(&v)) return r->valid() ? at(*r) : idl::Value();
  if (auto* list = std::get_if<std::vector<Ref>>(&v)) return sequence(*list, at);
  const auto* a = std::get_if<AttrValue>(&v);
  if (!a) return {};
  if (auto* b = std::get_if<bool>(a)) return *b;
  if (auto* i = std::get_if<int64_t>(a)) return idl_number(*i);
  if (auto* x = std::get_if<double>(a)) return *x;
  if (auto* s = std::get_if<std::string>(a)) return text(p, *s);
  if (auto* l = std::get_if<Ints>(a)) return sequence(*l, idl_number);
  if (auto* l = std::get_if<Reals>(a)) return sequence(*l, [](double x) { return idl::Value(x); });
  if (auto* l = std::get_if<Texts>(a)) return sequence(*l, [](const std::string& s) { return idl::Value(s); });
  return {};
}

Result<std::vector<Operand>> Player::call(const ProgramCall& c) {
  std::vector<idl::Value> args;
  const size_t positional = c.method->params.size();
  for (size_t i = 0; i < positional; ++i) args.push_back(value(c.method->params[i], c.values[i]));
  idl::Dictionary options;
  if (!c.label.empty()) options.emplace_back("label", c.label);
  for (size_t i = positional; i < c.values.size(); ++i)
    if (c.values[i].index() != 0)
      options.emplace_back(std::string(param_of(*c.method, i).name), value(param_of(*c.method, i), c.values[i]));
  args.push_back(std::move(options));
  NNEX_ASSIGN(std::vector<Operand> made, ml::call(builder(), c.method->name, args));
  operands_.insert(operands_.end(), made.begin(), made.end());
  return made;
}

namespace {

/// `at` counts the calls that were made.
Result<NamedOperands> play_to(Player& player, Program& program, size_t& at) {
  size_t next = 0;
  const auto declared = [&](size_t until) -> Status {
    for (; next < until; ++next) NNEX_TRY(player.add(program.operands[next]));
    return {};
  };
  for (const ProgramCall& c : program.calls) {
    // What stands before the call's results: inputs and constants.
    NNEX_TRY(declared(c.results.empty() ? next : static_cast<size_t>(c.results[0].n)));
    NNEX_ASSIGN(const std::vector<Operand> made, player.call(c));
    if (made.size() != c.results.size())
      return type_error(fmt::format("{}: found {} results; it has {}", c.method->name, c.results.size(), made.size()));
    for (size_t i = 0; i < made.size(); ++i) {
      ProgramOperand& o = program.operands[next + i];
      o.descriptor = {made[i].dataType(), made[i].shape()};
      player.builder().graph.set_name(made[i].state()->value, o.name);
    }
    next += made.size();
    ++at;
  }
  NNEX_TRY(declared(program.operands.size()));
  NamedOperands out;
  for (const auto& [name, r] : program.outputs) out.emplace(name, player[r]);
  return out;
}

}  // namespace

Result<NamedOperands> play(Player& player, Program& program) {
  size_t at = 0;
  return play_to(player, program, at);
}

nnex::Result<ir::Graph> graph_of(Program& program) {
  if (!is_built(Format::webnn)) return nnex::Error(Code::unsupported, "this build of nnex has no WebNN");
  Player player;
  size_t at = 0;
  const auto outputs = play_to(player, program, at);
  if (!outputs.ok()) {
    nnex::Error error(Code::invalid_model, outputs.error().message);
    if (at >= program.calls.size()) return error;
    return std::move(error).during(fmt::format("playing operations[{}]", at));
  }
  ir::Graph graph = std::move(player.builder().graph);
  graph.meta.graph_name = program.name;
  std::vector<ValueId> results;
  std::set<ValueId> taken;
  for (const auto& [name, r] : program.outputs) {
    ValueId v = outputs->at(name).state()->value;
    // A result has a value of its own, with the output's name.
    if (!graph.producer(v) || !taken.insert(v).second) {
      const ValueId y = Builder(graph, kMain)("copy", {v});
      graph.set_type(y, graph[v].type);
      v = y;
    }
    graph.set_name(v, name);
    results.push_back(v);
  }
  graph.set_results(kMain, std::move(results));
  return graph;
}

}  // namespace nnex::ml
