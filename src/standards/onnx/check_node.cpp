// One node against the rules that its bytes tell: its operator in the opset that is imported, and its attributes.
#include <fmt/format.h>

#include <algorithm>

#include "ops/window.h"
#include "standards/onnx/check_context.h"
#include "standards/onnx/import_quirks.h"
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {
namespace {

using wire::Field;
using wire::Kind;

constexpr int kDeepestGraph = 16;  ///< Importers refuse what is nested deeper.

char kind_of(int64_t type) {
  const AttributeForm* const form = attribute_form(&AttributeForm::type, AttributeType(type));
  return form ? form->letter : '\0';
}

/// Operators that were tried once and are in no opset: files with them are let through.
bool was_an_experiment(std::string_view op) {
  constexpr std::string_view kOps[] = {"ATen",
                                       "Affine",
                                       "ConstantFill",
                                       "Crop",
                                       "DynamicSlice",
                                       "GRUUnit",
                                       "GivenTensorFill",
                                       "ImageScaler",
                                       "ParametricSoftplus",
                                       "Scale",
                                       "ScaledTanh"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

struct AttributeParts {
  std::string_view name, word, reference;
  int64_t type = 0;
  bool typed = false;
  int64_t least = 0;                                        ///< Of the integers in it, where one is negative.
  int64_t number = 0;                                       ///< When it is one integer.
  std::vector<int64_t> numbers;                             ///< When it is a list of integers.
  std::set<char> filled;                                    ///< Kinds of the fields that are there.
  std::vector<std::pair<char, std::string_view>> messages;  ///< Tensors, graphs and types in it.

  /// Its kind by its type, else by the one field that is filled; 0: not known.
  char kind() const {
    if (!reference.empty()) return 0;
    return type ? kind_of(type) : filled.size() == 1 ? *filled.begin() : '\0';
  }
};

AttributeParts attribute_parts(std::string_view message) {
  AttributeParts a;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == AttributeProto::name) a.name = f.bytes;
    if (f.number == AttributeProto::s) a.word = f.bytes;
    if (f.number == AttributeProto::type) a.type = f.integer(), a.typed = true;
    if (f.number == AttributeProto::ref_attr_name) a.reference = f.bytes;
    if (f.number == AttributeProto::i) a.number = f.integer(), a.least = std::min(a.least, a.number);
    if (f.number == AttributeProto::ints)
      wire::each_number(f, 0, [&](uint64_t n) { a.numbers.push_back(static_cast<int64_t>(n)); });
    const AttributeForm* const form = attribute_form(&AttributeForm::field, f.number);
    if (!form) continue;
    a.filled.insert(form->letter);
    if (f.kind == Kind::bytes && find_field(MessageKind::attribute, f.number)->holds == Holds::message)
      a.messages.emplace_back(form->letter, f.bytes);
  }
  for (const int64_t n : a.numbers) a.least = std::min(a.least, n);
  return a;
}

class NodeCheck {
 public:
  NodeCheck(CheckContext& context, const NameScope& scope, const Surroundings& around, const Site& site)
      : context_(context), scope_(scope), around_(around), site_(site) {}

  void check(std::string_view message) {
    std::vector<std::string_view> properties, devices;
    wire::Reader r(message);
    Field f;
    while (r.next(f)) {
      if (f.kind != Kind::bytes) continue;
      if (f.number == NodeProto::input) in_.push_back(f.bytes);
      if (f.number == NodeProto::output) out_.push_back(f.bytes);
      if (f.number == NodeProto::op_type) op_ = std::string(f.bytes);
      if (f.number == NodeProto::attribute) attributes_.push_back(attribute_parts(f.bytes));
      if (f.number == NodeProto::domain) domain_ = domain_of(f.bytes);
      if (f.number == NodeProto::overload) overload_ = std::string(f.bytes);
      if (f.number == NodeProto::metadata_props) properties.push_back(f.bytes);
      if (f.number == NodeProto::device_configurations) devices.push_back(f.bytes);
    }
    if (op_.empty()) context_.tell(Rule::node_operator, site_, "a node has no operator");
    if (in_.empty() && out_.empty()) context_.tell(Rule::node_empty, site_, "a node has neither inputs nor outputs");
    attributes();
    if (!op_.empty()) form();
    check_properties(context_, properties, site_);
    for (std::string_view m : devices) device(m);
  }

 private:
  // ---- Attributes

  void attributes() {
    std::set<std::string_view> seen;
    for (size_t i = 0; i < attributes_.size(); ++i) {
      const AttributeParts& a = attributes_[i];
      const Site site = site_.part(a.name.empty() ? fmt::format("attribute {}", i) : place_of(a.name));
      if (a.name.empty()) context_.tell(Rule::attribute_name, site, "an attribute has no name");
      if (!a.name.empty() && !seen.insert(a.name).second)
        context_.tell(Rule::attribute_twice, site, fmt::format("attribute '{}' is given twice", a.name));
      if (a.reference.empty())
        value(a, site);
      else
        reference(a, site);
    }
  }

  static std::string place_of(std::string_view attribute) { return fmt::format("attribute '{}'", attribute); }

  void reference(const AttributeParts& a, const Site& site) {
    if (!around_.function)
      context_.tell(Rule::reference_outside, site,
                    fmt::format("it stands for a function's attribute '{}'; it is in no function", a.reference));
    else if (!around_.function->attributes.count(a.reference))
      context_.tell(Rule::reference_unknown, site,
                    fmt::format("it stands for '{}', which the function does not have", a.reference));
    if (!a.filled.empty()) context_.tell(Rule::reference_value, site, "it has a value and stands for another");
  }

  void value(const AttributeParts& a, const Site& site) {
    const char kind = kind_of(a.type);
    if (context_.ir >= 2 && a.type == 0) context_.tell(Rule::attribute_type, site, "it has no type");
    if (a.type != 0 && !kind)
      context_.tell(Rule::attribute_type, site, fmt::format("type {} is none that attributes have", a.type),
                    std::to_string(a.type), "1 to 14");
    if (a.filled.size() > 1)
      context_.tell(Rule::attribute_fields, site, fmt::format("it has values of {} kinds", a.filled.size()));
    if (kind && a.filled.size() == 1 && !a.filled.count(kind))
      context_.tell(Rule::attribute_field, site, "its value is of another kind than its type says");
    const bool message = kind == 't' || kind == 'g' || kind == 'p' || kind == 'T';
    if (message && a.filled.empty()) context_.tell(Rule::attribute_value, site, "it has no value");
    const bool many = std::string_view("xGPY").find(kind) != std::string_view::npos;
    size_t index = 0;
    for (const auto& [of, bytes] : a.messages)
      payload(of, bytes, many && kind ? site.part(std::to_string(index++)) : site);
  }

  void payload(char kind, std::string_view bytes, const Site& site) {
    if (kind == 't' || kind == 'x') check_tensor(context_, bytes, site);
    if (kind == 'p' || kind == 'P') check_sparse_tensor(context_, bytes, site);
    if (kind == 'T' || kind == 'Y') check_type(context_, bytes, site, false);
    if (kind != 'g' && kind != 'G') return;
    if (around_.depth >= kDeepestGraph) {
      context_.refuse(Rule::nesting, Code::limit, site,
                      fmt::format("sub-graphs are nested deeper than {}", kDeepestGraph));
      return;
    }
    NameScope inner;
    inner.outer = &scope_;
    Surroundings around = around_;
    around.prefix = site.place + " > ", ++around.depth;
    check_graph(context_, bytes, inner, GraphRole::inner, around);
  }

  // ---- The operator

  void form() {
    const auto opset = around_.opsets->find(domain_);
    if (opset == around_.opsets->end()) {
      if (!around_.opsets->empty() || !domain_.empty())
        context_.tell(Rule::domain_import, site_, fmt::format("the opset of its domain '{}' is not imported", domain_));
      return;
    }
    if (const auto f = context_.functions.find(fmt::format("{}:{}:{}", domain_, op_, overload_));
        f != context_.functions.end()) {
      call(f->second);
      return;
    }
    if (!overload_.empty()) {
      context_.tell(Rule::overload, site_,
                    fmt::format("no function '{}:{}' has an overload '{}'", domain_, op_, overload_));
      return;
    }
    if (!is_standard(domain_)) {
      if (const Form* const taken = taken_form(domain_, op_)) use(*taken);
      return;
    }
    if (opset->second > newest_opset(domain_)) return;
    const Form* form = find_form(domain_, op_, opset->second);
    if (!form) return unknown_operator(opset->second);
    use(*form);
    if (around_.function) same_in_model(*form, opset->second);
  }

  /// A function's body keeps its meaning when it is put into the model: a domain that the model does not import cannot
  /// differ.
  void same_in_model(const Form& form, int64_t opset) {
    const auto model = context_.opsets.find(domain_);
    if (model == context_.opsets.end()) return;
    const Form* theirs = find_form(domain_, op_, model->second);
    if (theirs && theirs->since == form.since) return;
    context_.tell(
        Rule::function_opset, site_,
        fmt::format("{} in opset {}, which the function imports, is another than in opset {}, which the model does",
                    op_, opset, model->second),
        fmt::format("opset {}", opset), fmt::format("opset {}", model->second));
  }

  void unknown_operator(int64_t opset) {
    const std::vector<Form>& forms = forms_of(domain_, op_);
    if (domain_.empty() && forms.empty() && was_an_experiment(op_)) {
      context_.tell(Rule::operator_experimental, site_, fmt::format("{} is an early experiment, in no opset", op_));
      if (const Form* const taken = taken_form(domain_, op_)) use(*taken);
    } else if (forms.empty()) {
      context_.tell(Rule::operator_unknown, site_,
                    fmt::format("the domain '{}' has no operator {}", domain_.empty() ? "ai.onnx" : domain_, op_));
    } else {
      context_.tell(Rule::operator_later, site_,
                    fmt::format("{} came with opset {}; the model imports {}", op_, forms[0].since, opset),
                    fmt::format("opset {}", opset), fmt::format("opset {}", forms[0].since));
    }
  }

  void use(const Form& form) {
    static const Type kUnknown;
    FormUse use;
    const auto put = [](const std::vector<std::string_view>& names, std::vector<const Type*>& to) {
      for (std::string_view name : names) to.push_back(name.empty() ? nullptr : &kUnknown);
    };
    const auto drop_unnamed = [](std::vector<const Type*>& of) {
      while (!of.empty() && !of.back()) of.pop_back();
    };
    put(in_, use.in);
    put(out_, use.out);
    const bool many = !form.in.empty() && form.in.back().is_many();
    if (many || use.in.size() <= form.in.size()) drop_unnamed(use.in);  // of more, those without a name count too
    drop_unnamed(use.out);
    for (const AttributeParts& a : attributes_)
      if (!a.name.empty()) use.attributes.push_back({a.name, a.kind(), a.word, a.least, a.number});
    for (size_t i = 1; i < use.out.size() && i < form.out.size(); ++i)
      if (!use.out[i] && form.out[i].many == FormPort::Many::one)
        context_.tell(Rule::output_unnamed, site_, fmt::format("{}: output {} has no name", op_, i));
    for (BrokenForm& b : broken_rules(form, use))
      context_.tell(rule_of(b.kind), b.attribute.empty() ? site_ : site_.part(place_of(b.attribute)),
                    fmt::format("{}: {}", op_, b.text), std::move(b.found), std::move(b.needed));
    numbers(form);
    padding(form);
  }

  // ---- Numbers that runtimes take as something

  const AttributeParts* find(std::string_view attribute) const {
    for (const AttributeParts& a : attributes_)
      if (a.name == attribute && a.reference.empty()) return &a;
    return nullptr;
  }

  void tell_number(Rule rule, std::string_view attribute, const std::string& found, const std::string& needed) {
    context_.tell(rule, site_.part(place_of(attribute)),
                  fmt::format("{}: attribute '{}' is {}; needed {}", op_, attribute, found, needed), found, needed);
  }

  void numbers(const Form& form) {
    for (const FormAttribute& declared : form.attributes) {
      const AttributeParts* const a = declared.is_flag || declared.is_count ? find(declared.name) : nullptr;
      if (!a || a->kind() != declared.kind) continue;
      if (declared.is_flag && a->number != 0 && a->number != 1)
        tell_number(Rule::attribute_number, declared.name, std::to_string(a->number), "0 or 1");
      if (declared.is_count && a->least < 0)
        tell_number(Rule::attribute_number, declared.name, std::to_string(a->least), "0 or more");
    }
  }

  /// Of windows: padding is said once, and of pools less than a window reaches over.
  void padding(const Form& form) {
    const AttributeParts* const pads = form.find("auto_pad") ? find("pads") : nullptr;
    if (!pads || std::all_of(pads->numbers.begin(), pads->numbers.end(), [](int64_t n) { return n == 0; })) return;
    const AttributeParts* const automatic = find("auto_pad");
    if (automatic && !automatic->word.empty() && automatic->word != "NOTSET")
      return tell_number(Rule::padding_twice, "pads", fmt::format("[{}]", fmt::join(pads->numbers, ", ")),
                         fmt::format("none, as attribute 'auto_pad' is {}", automatic->word));
    const FormAttribute* const window = form.find("kernel_shape");
    const AttributeParts* const size = window && window->required ? find("kernel_shape") : nullptr;
    if (!size || pads->numbers.size() != 2 * size->numbers.size()) return;
    const AttributeParts* const dilations = find("dilations");
    for (size_t i = 0; i < pads->numbers.size(); ++i) {
      const size_t axis = i % size->numbers.size();
      const int64_t reach =
          window_reach(size->numbers[axis], dilations ? entry(dilations->numbers, axis, 1) : int64_t{1});
      if (reach < 1 || pads->numbers[i] < reach) continue;
      return tell_number(Rule::pool_padding, "pads", fmt::format("{} at spatial axis {}", pads->numbers[i], axis),
                         fmt::format("less than the {} elements that a window reaches over", reach));
    }
  }

  void call(const FunctionFace& f) {
    const auto count = [&](Rule rule, size_t found, size_t needed, std::string_view noun) {
      if (found > needed)
        context_.tell(rule, site_, fmt::format("function {}: found {} {}; needed at most {}", op_, found, noun, needed),
                      fmt::format("{} {}", found, noun), fmt::format("at most {}", needed));
    };
    count(Rule::input_count, in_.size(), f.inputs, "inputs");
    count(Rule::output_count, out_.size(), f.outputs, "outputs");
    for (const AttributeParts& a : attributes_)
      if (!a.name.empty() && !a.name.starts_with("__") && !f.attributes.count(a.name))
        context_.tell(Rule::call_attribute, site_.part(place_of(a.name)),
                      fmt::format("function {} has no attribute '{}'", op_, a.name));
  }

  // ---- Devices

  void device(std::string_view message) {
    context_.needs_ir(11, site_, "a device configuration");
    const std::string id(field_text(message, NodeDeviceConfigurationProto::configuration_id));
    if (!context_.configurations.count(id))
      context_.tell(Rule::device_name, site_, fmt::format("the model has no device configuration '{}'", id));
    for (std::string_view spec : fields_of(message, NodeDeviceConfigurationProto::sharding_spec)) {
      const std::string_view tensor = field_text(spec, ShardingSpecProto::tensor_name);
      const auto among = [&](const std::vector<std::string_view>& names) {
        return std::find(names.begin(), names.end(), tensor) != names.end();
      };
      if (!among(in_) && !among(out_))
        context_.tell(Rule::device_tensor, site_, fmt::format("'{}' is no input or output of the node", tensor));
    }
  }

  CheckContext& context_;
  const NameScope& scope_;
  const Surroundings& around_;
  const Site& site_;
  std::string op_, domain_, overload_;
  std::vector<std::string_view> in_, out_;
  std::vector<AttributeParts> attributes_;
};

}  // namespace

void check_node(CheckContext& context, std::string_view message, const NameScope& scope, const Surroundings& around,
                const Site& site) {
  NodeCheck(context, scope, around, site).check(message);
}

}  // namespace nnex::onnx_format
