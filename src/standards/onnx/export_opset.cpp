// Which opset takes a node as it is written, and whether the model's takes all of them.

#include <fmt/format.h>

#include "base/failure.h"
#include "standards/onnx/export_graph.h"
#include "standards/onnx/import.h"

namespace nnex::onnx_format {
namespace {

/// What FormUse has of an attribute's integers.
int64_t least_of(const AttrValue& value) {
  int64_t least = 0;
  if (auto* one = std::get_if<int64_t>(&value)) least = std::min(least, *one);
  if (auto* many = std::get_if<Ints>(&value))
    for (int64_t i : *many) least = std::min(least, i);
  return least;
}

/// Whether a node of this form reads as one of a later form that means other things: rows mean what the last form does.
bool reads_as_later(const std::vector<Form>& forms, const Form& then) {
  const auto has_all_words = [&](const Form& later) {
    return std::all_of(then.attributes.begin(), then.attributes.end(), [&](const FormAttribute& a) {
      const FormAttribute* same = later.find(a.name);
      return same && same->words == a.words;
    });
  };
  return std::any_of(forms.begin(), forms.end(), [&](const Form& later) {
    return later.since > then.since && later.means_other && has_all_words(later);
  });
}

}  // namespace

Type GraphWriter::type_of_value(ValueId v) const {
  return graph_[v].is_constant() ? type_of(graph_[v].constant) : graph_[v].type;
}

/// The node in the terms of forms: `types` keeps those of its values. Blocks are attributes there.
FormUse GraphWriter::use_of(const Node& node, const OnnxNode& said, std::vector<Type>& types) const {
  static const Type kUnknown;
  FormUse use;
  types.reserve(said.in.size() + node.out.size() + 1);
  const auto type = [&](ValueId v) { return v.valid() ? &types.emplace_back(type_of_value(v)) : nullptr; };
  for (ValueId v : said.in) {
    use.in.push_back(type(v));
    use.least.push_back(v.valid() ? least_number(graph_[v].constant.tensor()) : 0);
  }
  while (!use.in.empty() && !use.in.back()) use.in.pop_back();
  for (ValueId v : node.out) use.out.push_back(type(v));
  while (!use.out.empty() && !use.out.back()) use.out.pop_back();
  if (!use.out.empty() && !use.out[0]) use.out[0] = &kUnknown;  // it gets a name all the same
  const std::vector<Form>& forms = forms_of(said.domain, said.op);
  for (const auto& [name, value] : said.attrs) {
    const FormAttribute* declared = declared_in(forms, name);
    auto* word = std::get_if<std::string>(&value);
    const auto number = std::get_if<int64_t>(&value);
    use.attributes.push_back({name, declared ? declared->kind : '\0', word ? *word : std::string_view(),
                              least_of(value), number ? *number : 0});
    use.broadcast |= name == "broadcast" && number && *number != 0;
  }
  for (std::string_view block : node.op->blocks) use.attributes.push_back({block, 'g', {}});
  if (!node.out.empty()) use.result = type(node.out[0]);
  use.is_known = true;
  return use;
}

/// The first form from the least opset on that takes the node, by its attributes, its inputs and all types; null: none,
/// and `broken` says what the last one has against it.
const Form* GraphWriter::first_form(std::string_view domain, std::string_view op, const FormUse& use,
                                    std::vector<BrokenForm>& broken) const {
  const std::vector<Form>& forms = forms_of(domain, op);
  size_t first = 0;
  for (size_t i = 0; i < forms.size(); ++i)
    if (forms[i].means_other || (domain.empty() && forms[i].since <= min_opset())) first = i;
  for (size_t i = first; i < forms.size(); ++i) {
    if (forms[i].deprecated && !broken.empty()) break;
    broken = broken_rules(forms[i], use);
    if (broken.empty()) return &forms[i];
  }
  return nullptr;
}

/// Axes that count from the end are counted from the start where the form has no others, and the rank is known.
void GraphWriter::count_axes(const Node& node, const Form& form, OnnxNode& said) const {
  for (auto& [name, value] : said.attrs) {
    const FormAttribute* declared = form.find(name);
    if (!declared || !declared->first_axis || !declared->axes_of) continue;
    const ValueId of = declared->axes_of == 'y' ? node.out[0] : said.in.empty() ? ValueId{} : said.in[0];
    const auto dims = of.valid() ? type_of_value(of).dims : std::nullopt;
    if (!dims) continue;
    const auto count = [&](int64_t& axis) {
      if (axis < *declared->first_axis) axis += static_cast<int64_t>(dims->size());
    };
    if (auto* axis = std::get_if<int64_t>(&value)) count(*axis);
    if (auto* axes = std::get_if<Ints>(&value)) std::for_each(axes->begin(), axes->end(), count);
  }
}

/// What rows leave unsaid and the form must: that a node does not train, and where the last operand lies in the result.
void GraphWriter::say_form(const Node& node, const Form& form, OnnxNode& said) const {
  for (const FormAttribute& a : form.attributes)
    if (a.needs_one) said.set(a.name, int64_t{1});
  const size_t last = form.in.size() - 1;
  if (form.in.empty() || last >= said.in.size() || !(form.in[last].is_whole || form.in[last].by_channel)) return;
  const MaybeDims y = type_of_value(node.out[0]).dims, dims = type_of_value(said.in[last]).dims;
  if (!y || !dims || dims->size() > y->size()) return;
  const size_t axis = y->size() - dims->size();
  const ValueId before = operand_before_axes(graph_, said.in[last]);
  const MaybeDims inner = before.valid() ? type_of_value(before).dims : std::nullopt;
  const bool lies_inside = inner && lies_at(*inner, *y, axis);
  if (form.in[last].by_channel) {
    if (lies_inside && inner->size() == 1 && axis == 1) said.in[last] = before;
  } else if (lies_inside && form.find("axis")) {
    said.in[last] = before;
    said.set("broadcast", int64_t{1});
    said.set("axis", static_cast<int64_t>(axis));
  } else if (form.find("broadcast") && axis > 0 && lies_at(*dims, *y, axis)) {
    said.set("broadcast", int64_t{1});
  }
}

/// What the form counts from the start and only a run knows must not be negative.
void GraphWriter::note_counting(const Node& node, const OnnxNode& said) {
  const Form* const form = said.domain.empty() ? find_form("", said.op, options_.opset) : nullptr;
  for (size_t i = 0; form && i < said.in.size() && i < form->in.size(); ++i) {
    const ValueId v = said.in[i];
    if (!form->in[i].counts_from_start || !v.valid() || graph_[v].is_constant()) continue;
    if (!intervals_) intervals_.emplace(graph_, std::map<ValueId, Interval>());
    if (const auto bounds = intervals_->of(v); bounds && bounds->low >= 0) continue;
    constexpr auto kNote = "input {} of node '{}' ({}) has no negative number: opset {} counts from the start";
    out_.conditions.push_back(fmt::format(kNote, i, name_of(node.out[0]), said.op, options_.opset));
  }
}

/// Whether everybody who reads a node's result reads what is before its new axes.
bool GraphWriter::is_only_laid_out(const Node& node) const {
  if (options_.opset == 0 || node.out.size() != 1 || !operand_before_axes(graph_, node.out[0]).valid()) return false;
  const auto& uses = graph_[node.out[0]].uses;
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    if (!use.node.valid() || kept_.has(use.node)) return false;
    const auto said = this->said(graph_[use.node]);
    return said.ok() && std::find(said->in.begin(), said->in.end(), node.out[0]) == said->in.end();
  });
}

/// Which opset the node needs as it is said. Error: unsupported (no opset takes it).
Status GraphWriter::find_opset(const Node& node, OnnxNode& said) const {
  if (forms_of(said.domain, said.op).empty()) return {};
  const Form* const wanted =
      options_.opset > 0 && said.domain.empty() ? find_form("", said.op, options_.opset) : nullptr;
  if (options_.opset > 0 && said.domain.empty())
    count_axes(node, wanted ? *wanted : forms_of(said.domain, said.op).front(), said);
  if (wanted) say_form(node, *wanted, said);
  std::vector<Type> types;
  std::vector<BrokenForm> broken;
  const FormUse use = use_of(node, said, types);
  if (wanted && broken_rules(*wanted, use).empty() && !reads_as_later(forms_of(said.domain, said.op), *wanted)) {
    said.since = wanted->since;
    return {};
  }
  const Form* form = first_form(said.domain, said.op, use, broken);
  if (!form && wanted) broken = broken_rules(*wanted, use);
  if (!form)
    return failure(Code::unsupported, "{}: ONNX's {} does not take it: {}", node.op->name, said.op, sentences(broken));
  said.since = form->since;
  return {};
}

/// Nodes that the opset the others need does not take any more.
void GraphWriter::check_opsets() {
  const char* const why = options_.opset > 0 ? "which was asked for" : "which other nodes need";
  for (const auto& [id, said] : said_) {
    if (said.domain.empty() && options_.opset > 0 && said.since > options_.opset) {
      refused_->push_back({id, fmt::format("{}: {} is so from opset {} on; opset {} was asked for", graph_[id].op->name,
                                           said.op, said.since, options_.opset)});
      continue;
    }
    const int64_t opset = opsets_[said.domain];
    const Form* form = find_form(said.domain, said.op, opset);
    if (!form || form->since == said.since) continue;
    std::vector<Type> types;
    const auto broken = broken_rules(*form, use_of(graph_[id], said, types));
    if (!broken.empty())
      refused_->push_back(
          {id,
           fmt::format("{}: opset {} of the domain '{}', {}, has another {}: {}", graph_[id].op->name, opset,
                       said.domain, said.domain.empty() ? why : "which other nodes need", said.op, sentences(broken))});
  }
}

}  // namespace nnex::onnx_format
