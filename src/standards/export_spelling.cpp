#include "standards/export_spelling.h"

#include "base/failure.h"
#include "standards/spelling.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

class SpellingExporter {
 public:
  SpellingExporter(const ir::Graph& graph, const PlainNode& node, const Spelling& spelling, const HasAttribute& has)
      : graph_(graph), node_(node), op_(*node.op), spelling_(spelling), has_(has) {
    if (!op_.attrs.make) return;
    base_ = op_.attrs.make();
    for (const Preset& p : spelling.presets) op_.attrs.find(p.ours)->set(base_.get(), preset_value(p.value));
  }

  Result<ExportedNode> run() {
    for (const Field& f : op_.attrs.fields) NNEX_TRY(field(f));
    NNEX_TRY(ports());
    while (!out_.in.empty() && out_.in.back() < 0) out_.in.pop_back();
    return std::move(out_);
  }

 private:
  Error cannot(std::string_view what, std::string_view name) const {
    return failure(Code::unsupported, "{}: {} '{}' cannot be said", spelling_.name, what, name);
  }

  /// Says a value under every name the format has for it; whether there was one.
  Result<bool> say(std::string_view ours, const AttrValue& value) {
    bool renamed = false, said = false;
    for (const Rename& r : spelling_.renames) {
      if (r.ours != ours) continue;
      renamed = true;
      if (!has_(r.theirs)) continue;
      AttrValue theirs = value;
      if (r.codec && !r.codec->write) return cannot("attribute", ours);
      if (r.codec) {
        auto written = r.codec->write(value);
        if (!written.ok())
          return failure(Code::unsupported, "{}: attribute '{}': {}", spelling_.name, ours, written.error().message());
        theirs = std::move(written).value();
      }
      NNEX_TRY(put(r.theirs, std::move(theirs)));
      said = true;
    }
    if (renamed || !has_(ours)) return said;
    NNEX_TRY(put(ours, value));
    return true;
  }

  /// Several fields of ours may be one of theirs: then they must agree.
  Status put(std::string_view theirs, AttrValue value) {
    for (const auto& [name, known] : out_.attrs)
      if (name == theirs) return same(known, value) ? Status() : Status(cannot("two values of attribute", theirs));
    out_.attrs.emplace_back(std::string(theirs), std::move(value));
    return {};
  }

  Status field(const Field& f) {
    const AttrValue value = f.get(node_.attrs), usual = f.get(base_.get());
    if (std::holds_alternative<std::monostate>(value)) {
      if (std::holds_alternative<std::monostate>(usual)) return {};
      return cannot("an absent attribute", f.name);
    }
    auto said = say(f.name, value);
    if (same(value, usual)) return {};  // even where the format has no word for it
    if (!said.ok()) return std::move(said).error();
    if (*said) return {};
    return failure(Code::unsupported, "{}: attribute '{}' is {}; only {} can be said", spelling_.name, f.name,
                   text(value), text(usual));
  }

  const AttrValue* known(std::string_view port) const {
    for (const auto& [name, value] : node_.known)
      if (name == port) return &value;
    return nullptr;
  }

  bool is_attribute(const Port& port) const {
    for (const Rename& r : spelling_.renames)
      if (r.ours == port.name) return has_(r.theirs);
    return has_(port.name);
  }

  Status ports() {
    if (!spelling_.ports.empty()) {
      for (std::string_view ours : spelling_.ports)
        if (ours.empty())
          out_.in.push_back(-1);
        else
          NNEX_TRY(port(static_cast<size_t>(op_.input(ours))));
      return {};
    }
    for (size_t i = 0; i < op_.inputs.size(); ++i) NNEX_TRY(port(i));
    return {};
  }

  Status port(size_t i) {
    const Port& p = op_.inputs[i];
    if (p.arity == Arity::variadic) {
      for (size_t k = i; k < node_.in.size(); ++k) out_.in.push_back(static_cast<int>(k));
      return {};
    }
    const ValueId v = i < node_.in.size() ? node_.in[i] : ValueId{};
    const AttrValue* content = known(p.name);
    if (!content && v.valid() && is_attribute(p)) {
      const Tensor* t = graph_[v].constant.tensor();
      if (!t) return failure(Code::unsupported, "{}: '{}' is computed; it needs numbers", spelling_.name, p.name);
      NNEX_ASSIGN(AttrValue value, attribute_of(*t));
      NNEX_ASSIGN(const bool said, say(p.name, value));
      return said ? Status() : Status(cannot("input", p.name));
    }
    if (content) {
      NNEX_ASSIGN(const bool said, say(p.name, *content));
      return said ? Status() : Status(cannot("input", p.name));
    }
    if (!p.by_value || spelling_.format == Format::onnx)  // ONNX's parameters are inputs, where they are no attributes
      out_.in.push_back(v.valid() ? static_cast<int>(i) : -1);
    else if (v.valid())
      return cannot("input", p.name);
    return {};
  }

  const ir::Graph& graph_;
  const PlainNode& node_;
  const OpDef& op_;
  const Spelling& spelling_;
  const HasAttribute& has_;
  std::shared_ptr<void> base_;
  ExportedNode out_;
};

}  // namespace

Result<ExportedNode> export_spelling(const ir::Graph& graph, const PlainNode& node, const Spelling& spelling,
                                     const HasAttribute& has) {
  return SpellingExporter(graph, node, spelling, has).run();
}

Result<AttrValue> attribute_of(const Tensor& t) {
  const bool real = is_real(t.dtype());
  if (t.shape().rank() > 1 || is_object(t.dtype()) || is_complex(t.dtype()) || t.count() > (1 << 20))
    return failure(Code::unsupported, "a tensor of {} is no attribute", t.shape().text());
  if (t.shape().scalar()) {
    if (t.dtype() == DType::boolean) return AttrValue(int_at(t, 0) != 0);
    return real ? AttrValue(real_at(t, 0)) : AttrValue(int_at(t, 0));
  }
  return real ? AttrValue(reals_of(t)) : AttrValue(ints_of(t));
}

}  // namespace nnex
