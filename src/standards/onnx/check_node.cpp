#include "standards/onnx/check_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "standards/onnx/import.h"

namespace nnex::onnx_format {

using wire::Field;
using wire::Kind;

namespace {

/// AttributeProto's field of a value, its number as a type, and its kind.
struct AttributeField {
  uint32_t field;
  int64_t type;
  char kind;
};
constexpr AttributeField kFields[] = {{2, 1, 'f'},   {3, 2, 'i'},   {4, 3, 's'},   {5, 4, 't'},  {6, 5, 'g'},
                                      {7, 6, 'F'},   {8, 7, 'I'},   {9, 8, 'S'},   {10, 9, 'x'}, {11, 10, 'G'},
                                      {22, 11, 'p'}, {23, 12, 'P'}, {14, 13, 'T'}, {15, 14, 'Y'}};

char kind_of(int64_t type) {
  for (const AttributeField& f : kFields)
    if (f.type == type) return f.kind;
  return 0;
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

}  // namespace

std::string_view field_text(std::string_view message, uint32_t number) {
  wire::Reader r(message);
  Field f;
  while (r.next(f))
    if (f.number == number && f.kind == Kind::bytes) return f.bytes;
  return {};
}

CheckedNode::CheckedNode(std::string_view message, const Known& known, int64_t ir) : known_(known), ir_(ir) {
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.kind != Kind::bytes) continue;
    if (f.number == 1) in_.emplace_back(f.bytes);
    if (f.number == 2) out_.emplace_back(f.bytes);
    if (f.number == 3) name_ = std::string(f.bytes);
    if (f.number == 4) op_ = std::string(f.bytes);
    if (f.number == 5) attributes_.push_back(read_attribute(f.bytes));
    if (f.number == 7) domain_ = domain_of(f.bytes);
    if (f.number == 8) overload_ = std::string(f.bytes);
  }
  whole_ = r.ok();
}

std::string CheckedNode::place() const {
  const std::string& shown = !name_.empty() ? name_ : !out_.empty() ? out_[0] : op_;
  return fmt::format("{}node '{}' ({})", known_.prefix, shown, op_);
}

std::vector<std::string_view> CheckedNode::graphs() const {
  std::vector<std::string_view> out;
  for (const Attribute& a : attributes_) out.insert(out.end(), a.graphs.begin(), a.graphs.end());
  return out;
}

CheckedNode::Attribute CheckedNode::read_attribute(std::string_view message) {
  Attribute a;
  wire::Reader r(message);
  Field f;
  while (r.next(f)) {
    if (f.number == 1) a.name = std::string(f.bytes);
    if (f.number == 4) a.word = std::string(f.bytes);
    if (f.number == 6 || f.number == 11) a.graphs.push_back(f.bytes);
    if (f.number == 20) a.type = f.integer();
    if (f.number == 21) a.reference = std::string(f.bytes);
    for (const AttributeField& k : kFields)
      if (f.number == k.field) a.filled.insert(k.kind);
  }
  return a;
}

std::vector<std::string> CheckedNode::faults(const Scope& scope) const {
  std::vector<std::string> out;
  if (!whole_) return out;  // the importer tells
  if (op_.empty()) out.emplace_back("a node has no operator");
  if (in_.empty() && out_.empty()) out.emplace_back("a node has neither inputs nor outputs");
  check_names(scope, out);
  check_attributes(out);
  if (!op_.empty()) check_form(out);
  return out;
}

void CheckedNode::check_names(const Scope& scope, std::vector<std::string>& out) const {
  for (const std::string& name : in_)
    if (!name.empty() && !scope.knows(name))
      out.push_back(fmt::format("input '{}' is not made by any node before, nor an input or initializer", name));
  std::set<std::string> own;
  for (const std::string& name : out_) {
    if (name.empty()) continue;
    if (scope.names.count(name) || !own.insert(name).second)
      out.push_back(fmt::format("value '{}' is made twice", name));
    else if (scope.knows(name))
      out.push_back(fmt::format("value '{}' hides one of a graph around it", name));
  }
}

void CheckedNode::check_attributes(std::vector<std::string>& out) const {
  std::set<std::string> seen;
  for (const Attribute& a : attributes_) {
    if (a.name.empty()) out.emplace_back("an attribute has no name");
    if (!seen.insert(a.name).second) out.push_back(fmt::format("attribute '{}' is given twice", a.name));
    if (!a.reference.empty()) {
      if (!known_.attributes)
        out.push_back(
            fmt::format("attribute '{}' stands for a function's '{}'; it is in no function", a.name, a.reference));
      else if (!known_.attributes->count(a.reference))
        out.push_back(
            fmt::format("attribute '{}' stands for '{}', which the function does not have", a.name, a.reference));
      if (!a.filled.empty()) out.push_back(fmt::format("attribute '{}' has a value and stands for another", a.name));
      continue;
    }
    const char kind = kind_of(a.type);
    if (ir_ >= 2 && a.type == 0) out.push_back(fmt::format("attribute '{}' has no type", a.name));
    if (a.type != 0 && !kind) out.push_back(fmt::format("attribute '{}' is of type {}, which is none", a.name, a.type));
    if (a.filled.size() > 1)
      out.push_back(fmt::format("attribute '{}' has values of {} kinds", a.name, a.filled.size()));
    if (kind && a.filled.size() == 1 && !a.filled.count(kind))
      out.push_back(fmt::format("attribute '{}' has a value of another kind than its type says", a.name));
    const bool message = kind == 't' || kind == 'g' || kind == 'p' || kind == 'T';
    if (message && a.filled.empty()) out.push_back(fmt::format("attribute '{}' has no value", a.name));
  }
}

void CheckedNode::check_form(std::vector<std::string>& out) const {
  if (known_.functions.count(fmt::format("{}:{}:{}", domain_, op_, overload_))) return;
  const auto opset = known_.opsets.find(domain_);
  if (opset == known_.opsets.end()) {
    if (!domain_.empty() || !known_.opsets.empty())
      out.push_back(fmt::format("the opset of its domain '{}' is not imported", domain_));
    return;
  }
  if (!is_standard(domain_) || was_an_experiment(op_)) return;
  const Form* form = find_form(domain_, op_, opset->second);
  if (!form) {
    const std::vector<Form>& forms = forms_of(domain_, op_);
    if (!forms.empty())
      out.push_back(fmt::format("{} came with opset {}; the model imports {}", op_, forms[0].since, opset->second));
    return;  // what nobody has is missing, which is told of the whole model
  }
  static const Type kUnknown;
  FormUse use;
  const auto put = [](const std::vector<std::string>& names, std::vector<const Type*>& to) {
    for (const std::string& name : names) to.push_back(name.empty() ? nullptr : &kUnknown);
    while (!to.empty() && !to.back()) to.pop_back();
  };
  put(in_, use.in);
  put(out_, use.out);
  for (const Attribute& a : attributes_) {
    const char kind = !a.reference.empty()   ? '\0'
                      : a.type               ? kind_of(a.type)
                      : a.filled.size() == 1 ? *a.filled.begin()
                                             : '\0';
    use.attributes.push_back({a.name, kind, a.word});
  }
  for (std::string& rule : broken_rules(*form, use)) out.push_back(fmt::format("{}: {}", op_, rule));
}

}  // namespace nnex::onnx_format
