// The table as hosts see it.

#include "nnex/operators.h"

#include <algorithm>

#include "api/formats.h"
#include "base/failure.h"
#include "base/nearest.h"
#include "kernels/kernel.h"
#include "ops/table.h"
#include "standards/onnx/import_quirks.h"

namespace nnex {
namespace {

constexpr std::string_view kStandards[] = {"nnef", "onnx", "webnn", "cvm"};

PortDef port_def(const Port& p) {
  PortDef out;
  out.name = p.name, out.doc = p.doc;
  out.any_value = p.type.any_value, out.same_as = p.type.same, out.from = p.type.from;
  out.optional = p.arity == Arity::optional, out.variadic = p.arity == Arity::variadic, out.parameter = p.by_value;
  out.all_types = p.type.allowed == kA;
  for (int t = 1; t < 64; ++t)
    if (p.type.allowed >> t & 1 && !name(static_cast<DType>(t)).empty()) out.types.push_back(static_cast<DType>(t));
  return out;
}

OperatorDef operator_def(const OpDef& op) {
  OperatorDef out;
  out.name = op.name, out.summary = op.summary, out.source = op.source, out.body = op.body;
  out.elementwise = op.elementwise, out.pure = op.pure;
  for (const Port& p : op.inputs) out.inputs.push_back(port_def(p));
  for (const Port& p : op.outputs) out.outputs.push_back(port_def(p));
  out.blocks.assign(op.blocks.begin(), op.blocks.end());
  const auto defaults = op.attrs.make ? op.attrs.make() : nullptr;
  for (const Field& f : op.attrs.fields)
    out.attributes.push_back({f.name,
                              f.doc,
                              f.kind,
                              f.required,
                              f.required ? Attribute() : f.get(defaults.get()),
                              {f.words.begin(), f.words.end()}});
  for (const Spelling& s : op.spelled) {
    SpellingDef& to = out.spellings.emplace_back();
    to.standard = kStandards[static_cast<size_t>(s.format)];
    to.name = s.name, to.domain = s.domain, to.since = s.since;
    for (const Rename& r : s.renames) to.renames.emplace_back(r.ours, r.theirs);
    for (const Preset& p : s.presets) to.presets.emplace_back(p.ours, p.value);
  }
  for (const kernels::KernelDef* kernel : kernels::kernels_of(op.name)) out.kernels.push_back(kernel->name);
  return out;
}

}  // namespace

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> out;
  for (const OpDef* op : all_ops()) out.push_back(op->name);
  return out;
}

Result<OperatorDef> find_operator(std::string_view name) {
  if (const OpDef* op = find_op(name)) return operator_def(*op);
  return failure(Code::invalid_argument, "no operator '{}'{}", name, did_you_mean(name, operator_names()));
}

std::vector<std::string_view> import_domains(std::string_view name) {
  return built(Format::onnx) ? onnx_format::quirk_domains(name) : std::vector<std::string_view>();
}

std::vector<std::string_view> called_names() {
  std::vector<std::string_view> out = operator_names();
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled) out.push_back(s.name);
  if (built(Format::onnx))
    for (const std::string_view name : onnx_format::quirk_operators()) out.push_back(name);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<OperatorDef> operators_called(std::string_view name) {
  std::vector<OperatorDef> out;
  for (const OpDef* op : all_ops()) {
    const bool spelled =
        std::any_of(op->spelled.begin(), op->spelled.end(), [&](const Spelling& s) { return s.name == name; });
    if (op->name == name || spelled) out.push_back(operator_def(*op));
  }
  return out;
}

}  // namespace nnex
