#include "webnn/importer.h"

#include <algorithm>

#include "ops/shape.h"
#include "standards/spelling.h"
#include "webnn/idl.h"
#include "webnn/ports.h"

namespace nnex::ml {
namespace {

Where place_of(const Step& step) {
  const std::string& label = step.args().label;
  const std::string_view name = step.method().name;
  return step.builder().graph.add_place(label.empty() ? std::string(name)
                                                      : fmt::format("{} '{}'", name, idl::printable(label)));
}

/// What the operator table's loop takes; monostate for operands and what is absent.
AttrValue attr_of(const Arg& arg) {
  if (auto* v = std::get_if<int64_t>(&arg)) return *v;
  if (auto* v = std::get_if<Ints>(&arg)) return *v;
  if (auto* v = std::get_if<Reals>(&arg)) return *v;
  if (auto* v = std::get_if<double>(&arg)) return *v;
  if (auto* v = std::get_if<bool>(&arg)) return *v;
  if (auto* v = std::get_if<std::string>(&arg)) return *v;
  if (auto* v = std::get_if<Texts>(&arg)) return *v;
  if (auto* v = std::get_if<DataType>(&arg)) return dtype_of(*v);
  return {};
}

}  // namespace

Importer::Importer(const Step& step)
    : step_(step),
      graph_(step.builder().graph),
      builder_(graph_, kMain, place_of(step)),
      types_(graph_, static_cast<uint32_t>(graph_.value_count())) {}

ValueId Importer::in(std::string_view operand_name) const {
  return step_.given(operand_name) ? step_.operand(operand_name).value : ValueId{};
}

Shape Importer::shape(ValueId v) const {
  if (!v.valid()) return {};
  return concrete(types_.type(v)).value_or(Shape{});
}

std::vector<ValueId> Importer::nodes(const OpDef& op, std::vector<ValueId> inputs, size_t outputs,
                                     std::shared_ptr<const void> attrs) {
  if (failed()) return {};
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return inferred(builder_.node(op, std::move(inputs), outputs, std::move(attrs)));
}

std::vector<ValueId> Importer::inferred(NodeId id) {
  types_.grow();
  status_ = types_.node(id);
  if (failed()) return {};
  const std::vector<ValueId> out = graph_[id].out;
  for (ValueId v : out)
    if (v.valid()) graph_.set_type(v, types_.type(v));
  return out;
}

std::vector<ValueId> Importer::spelled() {
  if (failed()) return {};
  SpelledNode node;
  node.spelled = find_spelling(Format::webnn, "", step_.method().name);
  NNEX_ASSERT(node.spelled.op);
  const auto put = [&](size_t port, const Operand& o) {
    if (node.in.size() <= port) node.in.resize(port + 1);
    node.in[port] = o.state()->value;
  };
  const Arguments& args = step_.args();
  size_t place = 0;
  for (size_t i = 0; i < args.values.size(); ++i) {
    const std::string_view name = args.param(i).name;
    if (auto* list = std::get_if<std::vector<Operand>>(&args.values[i])) {
      for (const Operand& o : *list) put(place++, o);
    } else if (auto* operand = std::get_if<Operand>(&args.values[i])) {
      put(port_of(*node.spelled.op, *node.spelled.spelling, name, place), *operand);
      ++place;
    } else if (AttrValue value = attr_of(args.values[i]); value.index() != 0) {
      node.attrs.emplace_back(name, std::move(value));
    }
  }
  types_.grow();
  auto made = make_spelled(builder_, std::move(node), [&](ValueId v) -> const Type& { return types_.type(v); });
  if (!made.ok()) {
    status_ = std::move(made).error();
    return {};
  }
  return inferred(*made);
}

ValueId Importer::ints(const Ints& values) {
  return constant(nnex::Tensor::of(Shape{static_cast<int64_t>(values.size())}, values));
}

ValueId Importer::constant(nnex::Tensor t) {
  const ValueId v = builder_.constant(std::move(t));
  types_.grow();
  return v;
}

ValueId Importer::zeros(DType type, const Shape& shape) {
  auto t = nnex::Tensor::make(type, shape);
  if (!t.ok()) {
    if (status_.ok()) status_ = std::move(t).error();
    return {};
  }
  std::fill_n(t->mutable_data(), t->bytes(), std::byte{0});
  return constant(std::move(t).value());
}

ValueId Importer::transposed(ValueId v, const Ints& axes) {
  if (!v.valid() || std::is_sorted(axes.begin(), axes.end())) return v;
  return (*this)("transpose", {v}, TransposeAttrs{axes});
}

ValueId Importer::reshaped(ValueId v, const Ints& to) {
  if (!v.valid() || shape(v) == Shape(to)) return v;
  const ValueId wanted = ints(to);
  return (*this)("reshape", {v, wanted}, ReshapeAttrs{});
}

ValueId Importer::impossible(std::string_view why, const Ints& shape) {
  if (failed()) return {};
  const NodeId id = builder_.node(custom_op(), {}, 1, nullptr);
  auto custom = std::make_shared<CustomNode>();
  custom->domain = "webnn";
  custom->name = fmt::format("{} with {}", step_.method().name, why);
  graph_.set_custom(id, std::move(custom));
  types_.grow();
  const ValueId v = graph_[id].out[0];
  types_.bind(v, Type::tensor(dtype(in("input")), dims_of(Shape(shape))));
  return v;
}

}  // namespace nnex::ml
