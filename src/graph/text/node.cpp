// Calls of operators in graph text: arguments to ports, attributes and blocks; literals to constants.

#include <fmt/format.h>

#include <algorithm>

#include "graph/text/build.h"
#include "graph/verify.h"

namespace nnex::graph_text {
namespace {

using ItemKind = Item::Kind;

bool is_variadic(const OpDef& op) {
  return op.inputs.size() > 0 && op.inputs[op.inputs.size() - 1].arity == Arity::variadic;
}

/// Ports that share one element type have one name here.
std::string_view group(const Port& p) { return p.type.same.empty() ? p.name : p.type.same; }

}  // namespace

struct TextBuilder::Arguments {
  std::vector<Item> ports;  ///< One a port; of a variadic one an array.
  std::shared_ptr<void> attrs;
  std::vector<bool> given;  ///< Fields that were set.
  std::vector<BlockId> blocks;
  Position at;
};

Status TextBuilder::count_node(Position at) {
  if (++nodes_ <= limits_.nodes) return {};
  return error(at, fmt::format("more than {} nodes", limits_.nodes), Code::limit);
}

Result<Item> TextBuilder::node(const OpDef& op, std::span<const std::string_view> names, std::vector<Item> args,
                               Position at, size_t outputs) {
  NNEX_TRY(count_node(at));
  Arguments sorted;
  sorted.at = at;
  sorted.ports.resize(op.inputs.size());
  sorted.given.resize(op.attrs.fields.size());
  sorted.blocks.resize(op.blocks.size());
  if (op.attrs.make) sorted.attrs = op.attrs.make();
  for (size_t i = 0; i < args.size(); ++i) NNEX_TRY(sort_argument(op, names[i], i, std::move(args[i]), sorted));
  for (size_t f = 0; f < op.attrs.fields.size(); ++f)
    if (op.attrs.fields[f].required && !sorted.given[f])
      return error(at, fmt::format("{} needs attribute '{}'", op.name, op.attrs.fields[f].name));
  for (size_t b = 0; b < op.blocks.size(); ++b)
    if (!sorted.blocks[b].valid()) return error(at, fmt::format("{} needs block '{}'", op.name, op.blocks[b]));
  NNEX_ASSIGN(std::vector<ValueId> in, inputs(op, sorted));
  const bool any_count = op.outputs.size() > 0 && op.outputs[op.outputs.size() - 1].arity == Arity::variadic;
  if (outputs > op.outputs.size() && !any_count)
    return error(at, fmt::format("{} has {} outputs; {} are assigned", op.name, op.outputs.size(), outputs));
  NodeId id = into_.node(op, std::move(in), outputs, std::move(sorted.attrs), std::move(sorted.blocks));
  if (keeps_names()) graph_.set_where(id, graph_.add_place(place(at)));
  if (Status s = check_blocks(graph_, graph_[id]); !s.ok()) return std::move(s).error().at(place(at));
  return outputs_of(id, at);
}

/// Infers the new node. In a dump types may be missing here and wrong nodes are for infer_types to report.
Result<Item> TextBuilder::outputs_of(NodeId id, Position at) {
  types_.grow();
  Status s = types_.node(id);
  if (!s.ok() && !keeps_names()) return std::move(s).error().at(place(at));
  std::vector<Item> out;
  for (ValueId v : graph_[id].out) out.push_back(Item::of(v));
  if (out.size() == 1) return std::move(out[0]);
  return Item::list(std::move(out), ItemKind::tuple);
}

/// One argument to the port, block or attribute that has its name or position.
Status TextBuilder::sort_argument(const OpDef& op, std::string_view name, size_t position, Item item, Arguments& to) {
  int port = name.empty() ? static_cast<int>(position) : op.input(name);
  if (name.empty() && position >= op.inputs.size()) {
    if (!is_variadic(op))
      return error(to.at,
                   fmt::format("{} takes {} inputs; found argument {}", op.name, op.inputs.size(), position + 1));
    port = static_cast<int>(op.inputs.size()) - 1;
  }
  if (port >= 0) {
    Item& at = to.ports[static_cast<size_t>(port)];
    if (op.inputs[static_cast<size_t>(port)].arity == Arity::variadic) {
      std::vector<Item> all = std::move(at.items);
      if (item.kind == ItemKind::array || item.kind == ItemKind::tuple)
        all.insert(all.end(), item.items.begin(), item.items.end());
      else
        all.push_back(std::move(item));
      at = Item::list(std::move(all));
      return {};
    }
    if (at.kind != ItemKind::none)
      return error(to.at, fmt::format("{}: '{}' is given twice", op.name, op.inputs[static_cast<size_t>(port)].name));
    at = std::move(item);
    return {};
  }
  for (size_t b = 0; b < op.blocks.size(); ++b) {
    if (op.blocks[b] != name) continue;
    if (item.kind != ItemKind::block)
      return error(to.at, fmt::format("{}: '{}' is {}; needed a block", op.name, name, item.text_of()));
    if (to.blocks[b].valid()) return error(to.at, fmt::format("{}: '{}' is given twice", op.name, name));
    NNEX_ASSIGN(to.blocks[b], block(*item.block));
    return {};
  }
  const Field* field = op.attrs.find(name);
  if (!field) return error(to.at, fmt::format("{} has no input and no attribute '{}'", op.name, name));
  return set_attr(op, *field, item, to);
}

Status TextBuilder::set_attr(const OpDef& op, const Field& field, const Item& item, Arguments& to) {
  if (item.has_value())
    return error(to.at, fmt::format("{}: attribute '{}' is computed; needed a constant", op.name, field.name));
  const auto index = static_cast<size_t>(&field - op.attrs.fields.data());
  if (to.given[index]) return error(to.at, fmt::format("{}: '{}' is given twice", op.name, field.name));
  NNEX_ASSIGN(AttrValue value, placed(attr_of(item), to.at));
  if (!field.set(to.attrs.get(), value))
    return error(to.at,
                 fmt::format("{}: attribute '{}' ({}) cannot be {}", op.name, field.name, field.kind, item.text_of()));
  to.given[index] = true;
  return {};
}

Result<std::vector<ValueId>> TextBuilder::inputs(const OpDef& op, const Arguments& args) {
  std::vector<ValueId> in;
  for (size_t p = 0; p < op.inputs.size(); ++p) {
    const Port& port = op.inputs[p];
    const Item& item = args.ports[p];
    if (port.arity == Arity::variadic) {
      for (const Item& i : item.items) {
        NNEX_ASSIGN(ValueId v, input(op, port, i, args));
        in.push_back(v);
      }
      break;
    }
    if (item.kind == ItemKind::none && port.arity == Arity::one)
      return error(args.at, fmt::format("{} needs input '{}'", op.name, port.name));
    NNEX_ASSIGN(ValueId v, input(op, port, item, args));
    in.push_back(v);
  }
  if (!is_variadic(op))
    while (!in.empty() && !in.back().valid()) in.pop_back();
  return in;
}

Result<ValueId> TextBuilder::input(const OpDef& op, const Port& port, const Item& item, const Arguments& args) {
  if (item.kind == ItemKind::none) return ValueId{};
  if (item.kind == ItemKind::value) return item.value;
  if (item.kind == ItemKind::block)
    return error(args.at, fmt::format("{}: '{}' is a block; needed a value", op.name, port.name));
  if (item.has_value())
    return error(args.at, fmt::format("{}: '{}' is {}; needed one value", op.name, port.name, item.text_of()));
  const DType type = item.kind == ItemKind::tensor ? item.tensor->dtype() : literal_type(op, port, item, args);
  auto t = tensor_of(item, type);
  if (!t.ok())
    return error(args.at, fmt::format("{}: '{}': {}", op.name, port.name, t.error().message()), t.error().code());
  const ValueId v = graph_.add_constant(std::move(t).value());
  types_.grow();
  return v;
}

/// A literal takes the type of the tensor it meets: of the ports that share the port's type, then, where the port has
/// no fixed type, of the first tensor of its kind. Alone it is what it looks like.
DType TextBuilder::literal_type(const OpDef& op, const Port& port, const Item& literal, const Arguments& args) const {
  auto type_of = [&](const Item& item) {
    if (item.kind == ItemKind::tensor) return item.tensor->dtype();
    return item.kind == ItemKind::value ? types_.type(item.value).dtype : DType::none;
  };
  auto type_of_port = [&](size_t p) {
    if (op.inputs[p].arity != Arity::variadic) return type_of(args.ports[p]);
    for (const Item& i : args.ports[p].items)
      if (DType d = type_of(i); d != DType::none) return d;
    return DType::none;
  };
  for (size_t p = 0; p < op.inputs.size(); ++p)
    if (group(op.inputs[p]) == group(port))
      if (DType d = type_of_port(p); d != DType::none) return d;
  const Item* leaf = &literal;
  while (leaf->kind == ItemKind::array && !leaf->items.empty()) leaf = &leaf->items[0];
  for (int t = 1; t < kDTypes; ++t)
    if (port.type.allowed == only(static_cast<DType>(t))) return static_cast<DType>(t);
  if (leaf->kind == ItemKind::boolean) return DType::boolean;
  if (leaf->kind == ItemKind::string) return DType::str;
  if (leaf->kind != ItemKind::real && port.type.allowed & kI64) return DType::i64;
  for (size_t p = 0; p < op.inputs.size(); ++p)
    if (DType d = type_of_port(p); d != DType::none && (port.type.allowed & only(d)) && is_float(d)) return d;
  return DType::f32;
}

/// custom 'domain:name:overload'(inputs, attribute = value, ...), and `call` of the model's functions.
Result<Item> TextBuilder::call_custom(const Expr& e, size_t outputs) {
  if (!keeps_names() || (e.text != custom_op().name && e.text != call_op().name))
    return error(e.at, fmt::format("'{}' takes no name", e.text));
  NNEX_TRY(count_node(e.at));
  auto custom = std::make_shared<CustomNode>();
  const size_t first = e.label->find(':'), last = e.label->rfind(':');
  if (first == last) return error(e.at, fmt::format("'{}' is not 'domain:name:overload'", *e.label));
  custom->domain = e.label->substr(0, first);
  custom->name = e.label->substr(first + 1, last - first - 1);
  custom->overload = e.label->substr(last + 1);
  std::vector<ValueId> in;
  for (size_t i = 0; i < e.items.size(); ++i) {
    NNEX_ASSIGN(Item item, evaluate(e.items[i]));
    if (!e.names[i].empty()) {
      NNEX_ASSIGN(AttrValue value, placed(attr_of(item), e.items[i].at));
      custom->attrs.emplace_back(std::string(e.names[i]), std::move(value));
      continue;
    }
    std::vector<Item> several = item.kind == ItemKind::array ? std::move(item.items) : std::vector<Item>{item};
    for (Item& one : several) {
      if (one.kind == ItemKind::tensor) one = Item::of(graph_.add_constant(*one.tensor));
      if (one.kind != ItemKind::value && one.kind != ItemKind::none)
        return error(e.items[i].at, fmt::format("found {}; needed a value", one.text_of()));
      in.push_back(one.value);
    }
  }
  const OpDef& def = e.text == custom_op().name ? custom_op() : call_op();
  types_.grow();
  NodeId id = into_.node(def, std::move(in), outputs, nullptr);
  graph_.set_custom(id, std::move(custom));
  graph_.set_where(id, graph_.add_place(place(e.at)));
  return outputs_of(id, e.at);
}

}  // namespace nnex::graph_text
