#include "kernels/stored_form.h"

#include <tuple>
#include <type_traits>

namespace nnex::kernels {
namespace {

// What a form is made of is said once: the functions below tell every member in order to one that writes it, or to one
// that reads it.

class Put {
 public:
  Put(ByteWriter& to, FunctionRef<void(const Operation&)> operation) : to_(to), operation_(operation) {}

  template <class T>
  void number(const T& value) {
    to_.number(value);
  }
  template <class E>
  void word(const E& value, E /*last*/) {
    to_.number(value);
  }
  void flag(const bool& value) { to_.number(static_cast<uint8_t>(value)); }
  void input(const int& value) { to_.number(value); }
  template <class T>
  size_t size(const std::vector<T>& list) {
    to_.number(static_cast<uint32_t>(list.size()));
    return list.size();
  }
  void operation(const FusedOp& op) { operation_({op.op, op.attrs}); }
  void need(bool) {}

 private:
  ByteWriter& to_;
  FunctionRef<void(const Operation&)> operation_;
};

class Take {
 public:
  Take(ByteReader& from, size_t inputs, FunctionRef<Operation()> operation)
      : from_(from), inputs_(static_cast<int>(inputs)), operation_(operation) {}

  template <class T>
  void number(T& value) {
    value = from_.number<T>();
  }
  /// An enumerator up to `last`.
  template <class E>
  void word(E& value, E last) {
    value = from_.number<E>();
    need(value <= last);
  }
  void flag(bool& value) { value = from_.number<uint8_t>() != 0; }
  /// An input of the node; -1: none.
  void input(int& value) {
    value = from_.number<int>();
    need(value >= -1 && value < inputs_);
  }
  template <class T>
  size_t size(std::vector<T>& list) {
    list.assign(from_.count(4), T());
    return list.size();
  }
  void operation(FusedOp& op) { std::tie(op.op, op.attrs) = operation_(); }
  void need(bool right) {
    if (!right) from_.fail();
  }

 private:
  ByteReader& from_;
  int inputs_;
  FunctionRef<Operation()> operation_;
};

template <class E>
constexpr E kLast = static_cast<E>(static_cast<int>(E::count) - 1);

void numbers(auto& go, auto& list) {
  const size_t size = go.size(list);
  for (size_t i = 0; i < size; ++i) go.number(list[i]);
}

void inputs(auto& go, auto& list) {
  const size_t size = go.size(list);
  for (size_t i = 0; i < size; ++i) go.input(list[i]);
}

void operation(auto& go, auto& op) {
  go.operation(op);
  inputs(go, op.in);
}

void unary(auto& go, auto& u) {
  go.word(u.kind, kLast<UnaryKind>);
  go.number(u.alpha), go.number(u.beta), go.number(u.nan);
}

/// Steps over so many values, and the results of the steps before.
void steps(auto& go, auto& list, size_t values) {
  const size_t size = go.size(list);
  for (size_t i = 0; i < size; ++i) {
    auto& s = list[i];
    go.number(s.a), go.number(s.b);
    const int known = static_cast<int>(values + i);
    go.need(s.a >= 0 && s.a < known && s.b >= -1 && s.b < known);
    unary(go, s.unary);
    go.word(s.binary, kLast<BinaryKind>);
  }
}

void scale(auto& go, auto& s) { go.number(s.scale), go.number(s.zero), go.flag(s.is_signed); }

void source(auto& go, auto& s) {
  go.input(s.input);
  go.word(s.type, simd::IntType::i32);
  go.word(s.spread, FusedIntegers::Spread::whole);
}

void integer_step(auto& go, auto& s, size_t operands) {
  go.word(s.kind, simd::IntStepKind::minimum);
  go.number(s.operand);
  go.need(s.kind == simd::IntStepKind::stage || (s.operand >= 0 && static_cast<size_t>(s.operand) < operands));
  auto& stage = s.stage;
  for (auto* number : {&stage.low, &stage.high, &stage.factor, &stage.shift, &stage.min, &stage.max})
    go.number(*number);
  go.need(stage.shift >= 0 && stage.shift <= 32);
  go.flag(stage.carries);
  go.number(stage.fixed);
}

void members(auto& go, auto& form) requires std::is_same_v<std::remove_cvref_t<decltype(form)>, FusedProduct> {
  operation(go, form.product);
  for (auto* input : {&form.end.x, &form.end.constant, &form.end.bias, &form.end.residual, &form.w.codes, &form.w.scale,
                      &form.w.zero, &form.w.codebook})
    go.input(*input);
  unary(go, form.end.activation);
  go.number(form.w.axis), go.number(form.w.block_size);
}

void members(auto& go, auto& form) requires std::is_same_v<std::remove_cvref_t<decltype(form)>, FusedChain> {
  inputs(go, form.inputs);
  steps(go, form.steps, form.inputs.size());
}

void members(auto& go, auto& form) requires std::is_same_v<std::remove_cvref_t<decltype(form)>, FusedByteProduct> {
  operation(go, form.product);
  scale(go, form.x), scale(go, form.y);
  go.flag(form.w_signed);
  numbers(go, form.w_zero), numbers(go, form.bias), numbers(go, form.scale);
  go.number(form.low), go.number(form.high);
}

void members(auto& go, auto& form) requires std::is_same_v<std::remove_cvref_t<decltype(form)>, FusedByteChain> {
  const size_t sources = go.size(form.sources);
  for (size_t i = 0; i < sources; ++i) go.input(form.sources[i].input), scale(go, form.sources[i].scale);
  scale(go, form.y);
  steps(go, form.steps, sources);
}

void members(auto& go, auto& form) requires std::is_same_v<std::remove_cvref_t<decltype(form)>, FusedIntegers> {
  operation(go, form.product);
  source(go, form.start);
  const size_t operands = go.size(form.operands);
  for (size_t i = 0; i < operands; ++i) source(go, form.operands[i]);
  form.steps.members([&](auto& list, auto& narrow) {
    const size_t size = go.size(list);
    for (size_t i = 0; i < size; ++i) integer_step(go, list[i], operands);
    go.number(narrow);
  });
  go.word(form.y_type, simd::IntType::i32);
}

/// An empty form of the variant's alternative number `index`; `index` is one of them.
template <size_t kIndex = 0>
void emplace(Fused& fused, size_t index) {
  if constexpr (kIndex < std::variant_size_v<decltype(Fused::form)>) {
    if (index == kIndex) return void(fused.form.emplace<kIndex>());
    emplace<kIndex + 1>(fused, index);
  }
}

}  // namespace

void write_form(const Fused& fused, ByteWriter& to, FunctionRef<void(const Operation&)> operation) {
  to.number(static_cast<uint8_t>(fused.form.index()));
  Put put(to, operation);
  std::visit([&](const auto& form) { members(put, form); }, fused.form);
}

std::shared_ptr<const Fused> read_form(ByteReader& from, size_t inputs, FunctionRef<Operation()> operation) {
  const auto index = from.number<uint8_t>();
  if (index >= std::variant_size_v<decltype(Fused::form)>) return from.fail(), nullptr;
  auto fused = std::make_shared<Fused>();
  emplace(*fused, index);
  Take take(from, inputs, operation);
  std::visit([&](auto& form) { members(take, form); }, fused->form);
  return from.ok() ? fused : nullptr;
}

}  // namespace nnex::kernels
