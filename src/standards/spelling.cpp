#include "standards/spelling.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "base/joined.h"
#include "ops/built.h"
#include "ops/codecs.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

AttrValue one_number(std::string_view text) {
  int64_t whole = 0;
  bool negative = !text.empty() && text.front() == '-', digits = text.size() > static_cast<size_t>(negative);
  for (size_t i = negative; i < text.size(); ++i) {
    digits &= text[i] >= '0' && text[i] <= '9';
    if (digits) whole = whole * 10 + (text[i] - '0');
  }
  if (digits) return negative ? -whole : whole;
  double real = 0;
  auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), real);
  if (error == std::errc() && end == text.data() + text.size()) return real;
  return std::string(text);
}

/// A constant for a parameter port: integers as i64, reals in the type of the tensor they belong to, else f32.
Result<Tensor> port_constant(const AttrValue& v, DType real_type) {
  if (auto* i = std::get_if<int64_t>(&v)) return Tensor::scalar<int64_t>(*i);
  if (auto* b = std::get_if<bool>(&v)) return Tensor::scalar<bool>(*b);
  if (auto* l = std::get_if<Ints>(&v)) return Tensor::of(Shape{static_cast<int64_t>(l->size())}, *l);
  if (auto* t = std::get_if<Tensor>(&v)) return *t;
  if (auto* x = std::get_if<double>(&v)) return convert(Tensor::scalar<double>(*x), real_type);
  if (auto* l = std::get_if<Reals>(&v))
    return convert(Tensor::of(Shape{static_cast<int64_t>(l->size())}, *l), real_type);
  return failure(Code::invalid_model, "found {}; needed numbers", text(v));
}

/// Puts one attribute in its place.
class Placer {
 public:
  Placer(Builder& b, const SpelledNode& node, FunctionRef<const Type&(ValueId)> type_of)
      : b_(b), node_(node), op_(*node.spelled.op), spelling_(*node.spelled.spelling), type_of_(type_of) {
    if (op_.attrs.make) attrs_ = op_.attrs.make();
    order_inputs();
  }

  Status preset(const Preset& p) {
    const Field* f = op_.attrs.find(p.ours);
    NNEX_ASSERT(f && f->set(attrs_.get(), preset_value(p.value)));
    return {};
  }

  Status place(const std::string& theirs, const AttrValue& value) {
    const Rename* rename = nullptr;
    for (const Rename& r : spelling_.renames) {
      if (r.theirs != theirs) continue;
      if (rename) NNEX_TRY(place(theirs, value, rename));  // one of theirs may be several of ours
      rename = &r;
    }
    return place(theirs, value, rename);
  }

  Status place(const std::string& theirs, const AttrValue& value, const Rename* rename) {
    const std::string_view ours = rename ? rename->ours : std::string_view(theirs);
    AttrValue converted = value;
    if (rename && rename->codec && rename->codec->read) {
      auto read = rename->codec->read(value);
      if (!read.ok()) return wrong(theirs, std::move(read).error().message());
      converted = std::move(read).value();
    }
    if (const Field* f = op_.attrs.find(ours)) return set_field(theirs, *f, converted);
    if (int port = op_.input(ours); port >= 0) return set_port(theirs, static_cast<size_t>(port), converted);
    if (theirs.rfind("__", 0) == 0) return {};
    return failure(Code::invalid_model, "{} has no attribute '{}'", spelling_.name, theirs);
  }

  Status check_required() const {
    for (const Field& f : op_.attrs.fields)
      if (f.required && std::find(given_.begin(), given_.end(), f.name) == given_.end() && !has_preset(f.name))
        return failure(Code::invalid_model, "{}: attribute '{}' is required", spelling_.name, theirs_of(f.name));
    return {};
  }

  Status check_inputs() const {
    const bool variadic = !op_.inputs.empty() && op_.inputs.back().arity == Arity::variadic;
    const size_t max = spelling_.ports.empty() ? op_.inputs.size() : spelling_.ports.size();
    if (!variadic && node_.in.size() > max)
      return failure(Code::invalid_model, "{}: found {} inputs; it takes at most {}", spelling_.name, node_.in.size(),
                     max);
    for (size_t i = op_.inputs.size(); variadic && i <= in_.size(); ++i)
      if (!in_[i - 1].valid())
        return failure(Code::invalid_model, "{}: input {} ('{}') has no name", spelling_.name, i - 1,
                       op_.inputs.back().name);
    for (size_t i = 0; i < op_.inputs.size(); ++i)
      if (op_.inputs[i].arity == Arity::one && (i >= in_.size() || !in_[i].valid()))
        return failure(Code::invalid_model, "{}: input {} ('{}') is required", spelling_.name, i, op_.inputs[i].name);
    const bool many = !op_.outputs.empty() && op_.outputs.back().arity == Arity::variadic;
    if (!many && node_.outputs > op_.outputs.size())
      return failure(Code::invalid_model, "{}: found {} outputs; it has at most {}", spelling_.name, node_.outputs,
                     op_.outputs.size());
    return {};
  }

  /// Outputs that an operator always has are made even where the file names none.
  NodeId make(size_t outputs, std::vector<BlockId> blocks) {
    for (size_t o = 0; o < op_.outputs.size(); ++o)
      if (op_.outputs[o].arity == Arity::one) outputs = std::max(outputs, o + 1);
    while (!in_.empty() && !in_.back().valid()) in_.pop_back();
    return b_.node(op_, std::move(in_), outputs, std::move(attrs_), std::move(blocks));
  }

 private:
  void order_inputs() {
    in_ = node_.in;
    if (spelling_.ports.empty()) return;
    std::vector<ValueId> ordered(op_.inputs.size());
    for (size_t i = 0; i < node_.in.size() && i < spelling_.ports.size(); ++i)
      if (!spelling_.ports[i].empty()) ordered[static_cast<size_t>(op_.input(spelling_.ports[i]))] = node_.in[i];
    in_ = std::move(ordered);
  }

  Status wrong(std::string_view theirs, std::string_view what) const {
    return failure(Code::invalid_model, "{}: attribute '{}': {}", spelling_.name, theirs, what);
  }

  Status set_field(const std::string& theirs, const Field& f, AttrValue& value) {
    if (f.kind == "dtype" && std::holds_alternative<int64_t>(value)) {
      auto read = onnx_dtype.read(value);
      if (!read.ok()) return wrong(theirs, read.error().message());
      value = std::move(read).value();
    }
    given_.push_back(f.name);
    if (f.set(attrs_.get(), value)) return {};
    std::string needed(f.kind);
    if (!f.words.empty()) needed = fmt::format("one of {}", joined(f.words, " "));
    return wrong(theirs, fmt::format("found {}; needed {}", text(value), needed));
  }

  Status set_port(const std::string& theirs, size_t port, const AttrValue& value) {
    if (port < in_.size() && in_[port].valid()) return wrong(theirs, "it is given as an input, too");
    DType real = DType::f32;
    if (!op_.inputs[port].type.same.empty()) {
      const int other = op_.input(op_.inputs[port].type.same);
      if (other >= 0 && static_cast<size_t>(other) < in_.size() && in_[static_cast<size_t>(other)].valid())
        real = type_of_(in_[static_cast<size_t>(other)]).dtype;
      if (real == DType::none) real = DType::f32;
    }
    auto constant = port_constant(value, real);
    if (!constant.ok()) return wrong(theirs, constant.error().message());
    if (port >= in_.size()) in_.resize(port + 1);
    in_[port] = b_.constant(std::move(constant).value());
    return {};
  }

  bool has_preset(std::string_view field) const {
    for (const Preset& p : spelling_.presets)
      if (p.ours == field) return true;
    return false;
  }
  std::string_view theirs_of(std::string_view ours) const {
    for (const Rename& r : spelling_.renames)
      if (r.ours == ours) return r.theirs;
    return ours;
  }

  Builder& b_;
  const SpelledNode& node_;
  const OpDef& op_;
  const Spelling& spelling_;
  FunctionRef<const Type&(ValueId)> type_of_;
  std::shared_ptr<void> attrs_;
  std::vector<ValueId> in_;
  std::vector<std::string_view> given_;
};

}  // namespace

/// What text(AttrValue) prints, or a bare word.
AttrValue preset_value(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.size() >= 2 && text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
  if (text.empty() || text.front() != '[') return one_number(text);
  Ints ints;
  Reals reals;
  bool whole = true;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view item = rest.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    AttrValue v = one_number(item);
    if (auto* i = std::get_if<int64_t>(&v)) ints.push_back(*i), reals.push_back(static_cast<double>(*i));
    if (auto* r = std::get_if<double>(&v)) whole = false, reals.push_back(*r);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return whole ? AttrValue(ints) : AttrValue(reals);
}

Result<NodeId> make_spelled(Builder& b, SpelledNode node, FunctionRef<const Type&(ValueId)> type_of) {
  if (!is_known(node.spelled.op->name)) return left_out(node.spelled.op->name);
  Placer placer(b, node, type_of);
  for (const Preset& p : node.spelled.spelling->presets) NNEX_TRY(placer.preset(p));
  for (const auto& [name, value] : node.attrs) NNEX_TRY(placer.place(name, value));
  NNEX_TRY(placer.check_required());
  NNEX_TRY(placer.check_inputs());
  return placer.make(node.outputs, std::move(node.blocks));
}

}  // namespace nnex
