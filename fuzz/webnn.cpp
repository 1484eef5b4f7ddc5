// Random programs for the WebNN API, drawn from the table of operations: arguments by their kinds with hostile sizes
// among them, graphs built, dispatched and read, contexts, graphs and tensors destroyed at any moment. Nothing may
// crash, hang or read freed memory, and every future must be settled.

#include <cstdlib>
#include <string>
#include <vector>

#include "nnex/webnn.h"
#include "webnn/builder.h"
#include "webnn/call.h"

namespace {

using namespace nnex::ml;
using idl::Value;

/// Bytes as a source of choices; zeros at the end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool more() const { return at_ < end_; }
  uint32_t below(uint32_t n) { return n == 0 ? 0 : byte() % n; }
  uint8_t byte() { return at_ < end_ ? *at_++ : 0; }

 private:
  const uint8_t *at_, *end_;
};

/// Extents that make large tensors are rare, and never large enough to be slow.
uint32_t extent(Choices& c) {
  constexpr uint32_t kHostile[] = {0, 2147483647, 4294967295u, 65536, 1u << 20};
  return c.below(24) == 0 ? kHostile[c.below(5)] : 1 + c.below(4);
}

OperandDescriptor descriptor(Choices& c) {
  OperandDescriptor d;
  d.dataType = c.below(3) != 0 ? DataType::float32 : static_cast<DataType>(c.below(kDataTypes));
  d.shape.resize(c.below(12) == 0 ? c.below(10) : c.below(5));
  for (uint32_t& e : d.shape) e = extent(c);
  return d;
}

bool small(const OperandDescriptor& d) {
  return check_dimensions(d.dataType, d.shape, "fuzz").ok() && byte_length(d.dataType, d.shape) <= 1 << 16;
}

Value number(Choices& c) {
  constexpr double kHostile[] = {-1, 4294967295.0, 4294967296.0, 1e300, -0.0};
  return c.below(16) == 0 ? Value(kHostile[c.below(5)]) : Value(static_cast<double>(c.below(5)));
}

Value numbers(Choices& c) {
  idl::Sequence out(c.below(6));
  for (Value& v : out) v = number(c);
  return out;
}

Value argument(Choices& c, const Param& p, const std::vector<Operand>& operands) {
  const auto operand = [&]() -> Value {
    return operands.empty() ? Value() : Value(operands[c.below(static_cast<uint32_t>(operands.size()))]);
  };
  if (c.below(32) == 0) return Value();
  switch (p.kind) {
    case ArgKind::operand:
      return operand();
    case ArgKind::operands: {
      idl::Sequence out(c.below(4));
      for (Value& v : out) v = operand();
      return out;
    }
    case ArgKind::unsigned_longs:
    case ArgKind::wrapped_longs:
    case ArgKind::floats:
      return numbers(c);
    case ArgKind::long_or_longs:
      return c.below(2) ? number(c) : numbers(c);
    case ArgKind::boolean:
      return Value(c.below(2) == 1);
    case ArgKind::word:
      return std::string(p.words->words.begin()[c.below(static_cast<uint32_t>(p.words->words.size()))]);
    case ArgKind::words: {
      idl::Sequence out(c.below(4));
      for (Value& v : out)
        v = std::string(p.words->words.begin()[c.below(static_cast<uint32_t>(p.words->words.size()))]);
      return out;
    }
    case ArgKind::data_type:
      return std::string(name(static_cast<DataType>(c.below(kDataTypes))));
    default:
      return number(c);
  }
}

void operation(Choices& c, GraphBuilder& builder, std::vector<Operand>& operands) {
  const auto all = methods();
  const Method& method = all[c.byte() % all.size()];
  std::vector<Value> args;
  for (const Param& p : method.params) args.push_back(argument(c, p, operands));
  if (method.options && c.below(2)) {
    idl::Dictionary options;
    for (const Param& p : method.options->members)
      if (c.below(2)) options.emplace_back(std::string(p.name), argument(c, p, operands));
    args.emplace_back(std::move(options));
  }
  auto made = call(*builder.state(), method.name, args);
  if (!made.ok()) return;
  for (Operand& o : *made)
    if (small({o.dataType(), o.shape()})) operands.push_back(std::move(o));
}

/// A tensor for each port of a graph.
NamedTensors tensors(const Context& context, const std::map<std::string, OperandDescriptor>& ports) {
  NamedTensors out;
  for (const auto& [name, d] : ports)
    if (auto t = context.createTensor({d.dataType, d.shape, true, true}).get(); t.ok()) out.emplace(name, *t);
  return out;
}

void program(Choices& c, const Context& context) {
  auto builder = GraphBuilder::create(context);
  if (!builder.ok()) return;
  std::vector<Operand> operands;
  for (uint32_t i = 0, n = 1 + c.below(4); i < n; ++i) {
    const OperandDescriptor d = descriptor(c);
    if (!small(d)) {
      (void)builder->input("large", d);
      continue;
    }
    const std::vector<std::byte> content(static_cast<size_t>(byte_length(d.dataType, d.shape)), std::byte{c.byte()});
    auto made = c.below(3) == 0 ? builder->constant(d, std::span<const std::byte>(content))
                                : builder->input("x" + std::to_string(i), d);
    if (made.ok()) operands.push_back(*made);
  }
  for (uint32_t i = 0, n = 1 + c.below(8); i < n; ++i) operation(c, *builder, operands);
  NamedOperands results;
  for (uint32_t i = 0, n = 1 + c.below(3); i < n && !operands.empty(); ++i)
    results["y" + std::to_string(i)] = operands[operands.size() - 1 - c.below(static_cast<uint32_t>(operands.size()))];
  const auto graph = builder->build(results);
  if (c.below(16) == 0) context.destroy();
  const auto built = graph.get();
  if (!built.ok()) return;
  const NamedTensors in = tensors(context, built->inputs()), out = tensors(context, built->outputs());
  for (uint32_t i = 0, n = 1 + c.below(3); i < n; ++i) {
    (void)context.dispatch(*built, in, out);
    if (c.below(12) == 0 && !out.empty()) out.begin()->second.destroy();
    if (c.below(12) == 0) built->destroy();
    if (c.below(24) == 0) context.destroy();
  }
  for (const auto& [name, t] : out) (void)context.readTensor(t).get();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices c(data, size);
  Environment environment;
  environment.threads = 1;
  environment.own_thread = c.below(2) == 0;
  const auto context = createContext({}, environment).get();
  if (!context.ok()) std::abort();
  while (c.more()) program(c, *context);
  return 0;
}
