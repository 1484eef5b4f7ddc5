// Sequences and optionals. Items are shared, never written again.

#include "ops/sequence.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/copy_bytes.h"
#include "base/failure.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "tensor/memory_account.h"
#include "tensor/stack.h"

namespace nnex {
namespace {

/// The value with memory of its own, so that it may be kept past the step.
Result<Value> kept(const Value& v) {
  const Tensor* t = v.tensor();
  if (!t || t->owned() || t->count() == 0) return v;
  NNEX_ASSIGN(Tensor copy, t->clone());
  return Value(std::move(copy));
}

/// Output o is `v`: shared, or copied where the plan has a place for it.
Status give(const Call& c, size_t o, const Value& v) {
  const Tensor *t = v.tensor(), *ready = c.ready(o);
  if (t && ready && !ready->owned() && ready->dtype() == t->dtype() && ready->shape() == t->shape() &&
      !is_object(t->dtype())) {
    copy_bytes(c.out(o).mutable_data(), t->data(), t->bytes());
    return {};
  }
  NNEX_ASSIGN(Value own, kept(v));
  c.set(o, std::move(own));
  return {};
}

Result<const Sequence*> sequence_in(const Call& c, size_t i) {
  const Sequence* s = c.value(i).sequence();
  if (!s) return c.fault("input {} is {}; needed a sequence", i, c.value(i).text());
  return s;
}

/// The type of items of a sequence input; unknown where nothing is known.
Result<Type> item_type(const InferCall& c, size_t i) {
  const Type& t = c.in(i);
  if (t.kind == Kind::unknown) return Type{};
  if (t.kind != Kind::sequence) return c.error("{} is {}; needed a sequence", c.op().inputs[i].name, t.text());
  return t.element ? *t.element : Type{};
}

/// Position i of n items, counted from the last where negative. `last`: the largest allowed.
Result<size_t> position(const Call& c, size_t port, int64_t n, int64_t last) {
  const Tensor& t = c.in(port);
  if (t.count() != 1) return c.fault("position has {} elements; needed 1", t.count());
  const int64_t p = int_at(t, 0);
  if (p < -n || p > last) return c.fault("position {} is outside [{}, {}] for {} items", p, -n, last, n);
  return static_cast<size_t>(p < 0 ? p + n : p);
}

// ---- sequence_construct ----

Status infer_construct(InferCall& c) {
  const auto& a = c.attr<SequenceConstructAttrs>();
  Type item = a.dtype && c.inputs() == 0 ? Type::tensor(*a.dtype) : Type{};
  for (size_t i = 0; i < c.inputs(); ++i) {
    auto both = join(item, c.in(i), c.op().name);
    if (!both) return c.error("item {} is {}; items before it are {}", i, c.in(i).text(), item.text());
    item = std::move(*both);
  }
  c.result_type(0, Type::sequence(std::move(item)));
  return {};
}

Status construct(Call& c) {
  Sequence s;
  s.element = c.attr<SequenceConstructAttrs>().dtype.value_or(DType::none);
  for (size_t i = 0; i < c.inputs(); ++i) {
    NNEX_ASSIGN(Value item, kept(c.value(i)));
    if (const Tensor* t = item.tensor()) s.element = t->dtype();
    s.items.push_back(std::move(item));
  }
  c.set(0, Value(std::move(s)));
  return {};
}

// ---- sequence_at, _insert, _erase, _length ----

Status infer_at(InferCall& c) {
  NNEX_ASSIGN(Type item, item_type(c, 0));
  c.result_type(0, std::move(item));
  return {};
}

Status at(Call& c) {
  NNEX_ASSIGN(const Sequence* s, sequence_in(c, 0));
  const auto n = static_cast<int64_t>(s->items.size());
  NNEX_ASSIGN(size_t p, position(c, 1, n, n - 1));
  return give(c, 0, s->items[p]);
}

Status infer_insert(InferCall& c) {
  NNEX_ASSIGN(Type item, item_type(c, 0));
  auto both = join(item, c.in(1), c.op().name);
  if (!both) return c.error("x is {}; items are {}", c.in(1).text(), item.text());
  c.result_type(0, Type::sequence(std::move(*both)));
  return {};
}

Status insert(Call& c) {
  NNEX_ASSIGN(const Sequence* s, sequence_in(c, 0));
  const auto n = static_cast<int64_t>(s->items.size());
  size_t p = s->items.size();
  if (c.has(2)) {
    NNEX_ASSIGN(p, position(c, 2, n, n));
  }
  NNEX_ASSIGN(Value item, kept(c.value(1)));
  Sequence out;
  out.element = item.tensor() ? item.tensor()->dtype() : s->element;
  out.items.reserve(s->items.size() + 1);
  out.items.assign(s->items.begin(), s->items.begin() + static_cast<int64_t>(p));
  out.items.push_back(std::move(item));
  out.items.insert(out.items.end(), s->items.begin() + static_cast<int64_t>(p), s->items.end());
  c.set(0, Value(std::move(out)));
  return {};
}

Status infer_erase(InferCall& c) {
  NNEX_ASSIGN(Type item, item_type(c, 0));
  c.result_type(0, Type::sequence(std::move(item)));
  return {};
}

Status erase(Call& c) {
  NNEX_ASSIGN(const Sequence* s, sequence_in(c, 0));
  const auto n = static_cast<int64_t>(s->items.size());
  if (n == 0) return c.fault("the sequence is empty");
  size_t p = s->items.size() - 1;
  if (c.has(1)) {
    NNEX_ASSIGN(p, position(c, 1, n, n - 1));
  }
  Sequence out = *s;
  out.items.erase(out.items.begin() + static_cast<int64_t>(p));
  c.set(0, Value(std::move(out)));
  return {};
}

Status infer_length(InferCall& c) {
  NNEX_TRY(item_type(c, 0));
  c.result(0, Dims{});
  return {};
}

Status length(Call& c) {
  NNEX_ASSIGN(const Sequence* s, sequence_in(c, 0));
  NNEX_ASSIGN(Tensor * y, c.make(0, DType::i64, Shape{}));
  y->mutable_as<int64_t>()[0] = static_cast<int64_t>(s->items.size());
  return {};
}

// ---- split_to_sequence ----

/// The extent all parts have along the axis, where it is one and known.
Result<Dim> part_extent(InferCall& c, const Dim& extent) {
  if (!c.has(1)) return Dim(1);
  auto sizes = c.values(1);
  if (!sizes) return c.unknown();
  Dim sum = 0;
  for (const Dim& d : *sizes) {
    if (d.is_number() && d.value() < 0) return c.error("split has {}", d.value());
    sum = sum + d;
  }
  if (c.dims(1) && c.dims(1)->empty()) {
    const Dim& each = (*sizes)[0];
    if (each == Dim(0)) return c.error("split is 0");
    const bool even = each.is_number() && extent.is_number() && extent.value() % each.value() == 0;
    return even ? each : c.unknown();
  }
  NNEX_TRY(meet(c, sum, extent, "sum of split"));
  const bool even = std::all_of(sizes->begin(), sizes->end(), [&](const Dim& d) { return d == sizes->front(); });
  return even && !sizes->empty() ? sizes->front() : c.unknown();
}

Status infer_split_to_sequence(InferCall& c) {
  const auto& a = c.attr<SplitToSequenceAttrs>();
  MaybeDims dims = c.dims(0);
  if (c.has(1) && c.dims(1) && c.dims(1)->size() > 1)
    return c.error("split has {} axes; needed a number or a list", c.dims(1)->size());
  if (dims) {
    NNEX_ASSIGN(int64_t axis, positive_axis(c, a.axis, static_cast<int64_t>(dims->size())));
    Dim& extent = (*dims)[static_cast<size_t>(axis)];
    NNEX_ASSIGN(extent, part_extent(c, extent));
    if (!c.has(1) && !a.keepdims) dims->erase(dims->begin() + axis);
  }
  c.result_type(0, Type::sequence(Type::tensor(c.dtype(0), std::move(dims))));
  return {};
}

constexpr int64_t kMaxParts = int64_t{1} << 26;
constexpr int64_t kPartBytes = 256;  ///< Of memory, that a tensor takes beside its elements.

Result<Ints> part_sizes(const Call& c, int64_t extent) {
  const int64_t each = !c.has(1) ? 1 : c.shape(1).scalar() ? int_at(c.in(1), 0) : extent;
  if (each > 0 && extent / each > kMaxParts)
    return failure(Code::limit, "split_to_sequence: {} parts; the limit is {}", extent / each, kMaxParts);
  if (const auto& account = AccountScope::current(); account && each > 0) {
    const int64_t most = std::max<int64_t>(account->limit() - account->held(), 0) / kPartBytes;
    if (extent / each > most)
      return failure(Code::limit,
                     "split_to_sequence: {} parts, each of {} bytes beside its elements; {} fit "
                     "into the limit of {} bytes",
                     extent / each, kPartBytes, most, account->limit());
  }
  if (!c.has(1)) return Ints(static_cast<size_t>(extent), 1);
  Ints sizes = ints_of(c.in(1));
  if (c.shape(1).scalar()) {
    if (each <= 0) return c.fault("split is {}; needed at least 1", each);
    sizes.assign(static_cast<size_t>(extent / each), each);
    if (extent % each) sizes.push_back(extent % each);
    return sizes;
  }
  int64_t sum = 0;
  for (int64_t s : sizes) {
    if (s < 0 || s > extent - sum) return c.fault("split does not fit extent {}: {} after {}", extent, s, sum);
    sum += s;
  }
  if (sum != extent) return c.fault("the sum of split is {}; needed {}", sum, extent);
  return sizes;
}

/// Elements [begin, begin + n) of an axis; x has elements of at least a byte.
Result<Tensor> cut(const Tensor& x, int64_t axis, int64_t begin, int64_t n) {
  Shape shape = x.shape();
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= shape[i];
  for (int64_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int64_t row = shape[axis] * inner;
  shape.set(axis, n);
  NNEX_ASSIGN(Tensor y, Tensor::make(x.dtype(), shape));
  const int64_t width = bits(x.dtype()) / 8;
  for (int64_t o = 0; o < outer; ++o) {
    if (x.dtype() == DType::str)
      std::copy_n(x.strings().begin() + o * row + begin * inner, n * inner,
                  y.mutable_as<std::string>().begin() + o * n * inner);
    else if (n * inner != 0)
      std::memcpy(y.mutable_data() + o * n * inner * width, x.data() + (o * row + begin * inner) * width,
                  static_cast<size_t>(n * inner * width));
  }
  return y;
}

Status split_to_sequence(Call& c) {
  const auto& a = c.attr<SplitToSequenceAttrs>();
  const Tensor& x = c.in(0);
  const int64_t rank = x.shape().rank(), axis = a.axis < 0 ? a.axis + rank : a.axis;
  const bool narrow = bits(x.dtype()) < 8;
  Tensor bytes = x;
  if (narrow) {
    NNEX_ASSIGN(bytes, convert(x.reinterpreted(bits(x.dtype()) == 4 ? DType::u4 : DType::u2), DType::u8));
  }
  NNEX_ASSIGN(Ints sizes, part_sizes(c, x.shape()[axis]));
  Sequence s;
  s.element = x.dtype();
  int64_t begin = 0;
  for (int64_t n : sizes) {
    NNEX_ASSIGN(Tensor part, cut(bytes, axis, begin, n));
    begin += n;
    if (narrow) {
      NNEX_ASSIGN(part, convert(part, bits(x.dtype()) == 4 ? DType::u4 : DType::u2));
      part = part.reinterpreted(x.dtype());
    }
    if (!c.has(1) && !a.keepdims) {
      Ints extents(part.shape().begin(), part.shape().end());
      extents.erase(extents.begin() + axis);
      part = part.reshaped(Shape(extents));
    }
    s.items.emplace_back(std::move(part));
  }
  c.set(0, Value(std::move(s)));
  return {};
}

// ---- concat_from_sequence ----

Status infer_concat_from_sequence(InferCall& c) {
  const auto& a = c.attr<ConcatFromSequenceAttrs>();
  NNEX_ASSIGN(Type item, item_type(c, 0));
  if (item.kind == Kind::unknown) {
    c.result_type(0, Type{});
    return {};
  }
  if (!item.is_tensor()) return c.error("items are {}; needed tensors", item.text());
  MaybeDims dims = item.dims;
  if (dims) {
    NNEX_ASSIGN(int64_t axis, positive_axis(c, a.axis, static_cast<int64_t>(dims->size()) + a.new_axis));
    if (a.new_axis)
      dims->insert(dims->begin() + axis, c.unknown());
    else
      (*dims)[static_cast<size_t>(axis)] = c.unknown();
    // Extents the items do not share are known only where the run finds them equal.
  }
  c.result(0, item.dtype, std::move(dims));
  return {};
}

/// Tensors of one type, end to end along an axis.
Result<Tensor> joined(const Call& c, const std::vector<Tensor>& parts, int64_t axis) {
  Shape shape = parts[0].shape();
  const int64_t rank = shape.rank();
  if (axis < -rank || axis >= rank) return c.fault("axis {} is outside [{}, {}]", axis, -rank, rank - 1);
  if (axis < 0) axis += rank;
  int64_t extent = 0, outer = 1, inner = 1;
  for (const Tensor& p : parts) {
    bool fits = p.dtype() == parts[0].dtype() && p.shape().rank() == rank;
    for (int64_t i = 0; fits && i < rank; ++i) fits = i == axis || p.shape()[i] == shape[i];
    if (!fits)
      return c.fault("items are {}{} and {}{}; only axis {} may differ", name(parts[0].dtype()),
                     parts[0].shape().text(), name(p.dtype()), p.shape().text(), axis);
    extent += p.shape()[axis];
  }
  shape.set(axis, extent);
  for (int64_t i = 0; i < axis; ++i) outer *= shape[i];
  for (int64_t i = axis + 1; i < rank; ++i) inner *= shape[i];
  NNEX_ASSIGN(Tensor y, Tensor::make(parts[0].dtype(), shape));
  const int64_t width = bits(y.dtype()) / 8;
  int64_t at = 0;
  for (const Tensor& p : parts) {
    const int64_t n = p.shape()[axis] * inner;
    for (int64_t o = 0; o < outer; ++o) {
      if (y.dtype() == DType::str)
        std::copy_n(p.strings().begin() + o * n, n, y.mutable_as<std::string>().begin() + o * extent * inner + at);
      else if (n)
        std::memcpy(y.mutable_data() + (o * extent * inner + at) * width, p.data() + o * n * width,
                    static_cast<size_t>(n * width));
    }
    at += n;
  }
  return y;
}

Status concat_from_sequence(Call& c) {
  const auto& a = c.attr<ConcatFromSequenceAttrs>();
  NNEX_ASSIGN(const Sequence* s, sequence_in(c, 0));
  if (s->items.empty()) return c.fault("the sequence is empty");
  std::vector<Tensor> parts;
  DType narrow = DType::none;
  for (const Value& v : s->items) {
    if (!v.tensor()) return c.fault("an item is {}; needed a tensor", v.text());
    const Tensor& t = parts.emplace_back(*v.tensor());
    if (bits(t.dtype()) >= 8) continue;
    narrow = t.dtype();
    NNEX_ASSIGN(parts.back(), convert(t.reinterpreted(bits(narrow) == 4 ? DType::u4 : DType::u2), DType::u8));
  }
  auto y = a.new_axis ? stack(parts, a.axis, Type{}) : joined(c, parts, a.axis);
  if (!y.ok()) return a.new_axis ? Status(c.fault("{}", y.error().message())) : Status(std::move(y).error());
  if (narrow != DType::none) {
    NNEX_ASSIGN(Tensor packed, convert(*y, bits(narrow) == 4 ? DType::u4 : DType::u2));
    return give(c, 0, Value(packed.reinterpreted(narrow)));
  }
  return give(c, 0, Value(std::move(y).value()));
}

// ---- optionals ----

constexpr int kTypeDepth = 16;

/// Reads what Type::text() prints, extents aside: "f32", "sequence(f32[?])", "optional(sequence(i64))", "map(i64,
/// f32)".
std::optional<Type> read_type_text(std::string_view text, int depth = 0) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (depth > kTypeDepth) return std::nullopt;
  auto inside = [&](std::string_view word) -> std::optional<std::string_view> {
    if (text.size() < word.size() + 2 || text.substr(0, word.size()) != word || text[word.size()] != '(' ||
        text.back() != ')')
      return std::nullopt;
    return text.substr(word.size() + 1, text.size() - word.size() - 2);
  };
  if (text == "unknown") return Type{};
  if (auto of = inside("sequence")) {
    auto element = read_type_text(*of, depth + 1);
    return element ? std::optional(Type::sequence(std::move(*element))) : std::nullopt;
  }
  if (auto of = inside("optional")) {
    auto element = read_type_text(*of, depth + 1);
    return element ? std::optional(Type::optional(std::move(*element))) : std::nullopt;
  }
  if (auto of = inside("map")) {
    const size_t comma = of->find(',');
    if (comma == of->npos) return std::nullopt;
    auto key = dtype_named(of->substr(0, comma));
    auto element = read_type_text(of->substr(comma + 1), depth + 1);
    return key && element ? std::optional(Type::map(*key, std::move(*element))) : std::nullopt;
  }
  auto dtype = dtype_named(text.substr(0, text.find('[')));
  return dtype ? std::optional(Type::tensor(*dtype)) : std::nullopt;
}

Status infer_optional(InferCall& c) {
  if (c.has(0)) {
    c.result_type(0, Type::optional(c.in(0)));
    return {};
  }
  const std::string& text = c.attr<OptionalAttrs>().type;
  auto type = text.empty() ? std::optional(Type{}) : read_type_text(text);
  if (!type) return c.error("type '{}' is no type; needed one such as 'f32' or 'sequence(f32)'", text);
  c.result_type(0, Type::optional(std::move(*type)));
  return {};
}

Status make_optional(Call& c) {
  Optional out;
  if (c.has(0)) {
    NNEX_ASSIGN(Value item, kept(c.value(0)));
    out.item = std::make_shared<const Value>(std::move(item));
  }
  c.set(0, Value(std::move(out)));
  return {};
}

Status infer_get_element(InferCall& c) {
  const Type& t = c.in(0);
  c.result_type(0, t.kind != Kind::optional ? t : t.element ? *t.element : Type{});
  return {};
}

Status get_element(Call& c) {
  const Optional* o = c.value(0).optional();
  if (!o) return give(c, 0, c.value(0));
  if (!o->item) return c.fault("the optional is empty");
  return give(c, 0, *o->item);
}

Status infer_has_element(InferCall& c) {
  c.result(0, Dims{});
  return {};
}

Status has_element(Call& c) {
  const Optional* o = c.has(0) ? c.value(0).optional() : nullptr;
  NNEX_ASSIGN(Tensor * y, c.make(0, DType::boolean, Shape{}));
  y->mutable_as<uint8_t>()[0] = c.has(0) && (o ? o->item != nullptr : !c.value(0).empty());
  return {};
}

constexpr Types kPosition = types(DType::i32, DType::i64);
constexpr Port kOptionalPosition = {.name = "position", .type = kPosition, .arity = Arity::optional};

constexpr OpRow kSequenceOps[] = {
    {.name = "sequence_construct",
     .summary = "Tensors as a sequence.",
     .source = "ONNX SequenceConstruct-11, SequenceEmpty-11",
     .inputs = {{"x", any_value(), Arity::variadic}},
     .outputs = {{"y", any_value()}},
     .attrs = attrs_of<SequenceConstructAttrs>(
         {field<&SequenceConstructAttrs::dtype>("dtype", "Element type of items when there are none.")}),
     .infer = infer_construct,
     .reference = any(construct),
     .spelled = {{onnx, "SequenceConstruct", {}, 11}, {onnx, "SequenceEmpty", {}, 11, "", {{"dtype", "'f32'"}}}}},
    {.name = "sequence_at",
     .summary = "The item at a position, which counts from the last where it is negative.",
     .source = "ONNX SequenceAt-11",
     .inputs = {{"s", any_value()}, {"position", kPosition}},
     .outputs = {{"y", any_value()}},
     .infer = infer_at,
     .reference = any(at),
     .spelled = {{onnx, "SequenceAt", {}, 11}}},
    {.name = "sequence_insert",
     .summary = "The sequence with one more item, before a position or at its end.",
     .source = "ONNX SequenceInsert-11",
     .inputs = {{"s", any_value()}, {"x", any_value()}, kOptionalPosition},
     .outputs = {{"y", any_value()}},
     .infer = infer_insert,
     .reference = any(insert),
     .spelled = {{onnx, "SequenceInsert", {}, 11}}},
    {.name = "sequence_erase",
     .summary = "The sequence without one item: the one at a position, or the last.",
     .source = "ONNX SequenceErase-11",
     .inputs = {{"s", any_value()}, kOptionalPosition},
     .outputs = {{"y", any_value()}},
     .infer = infer_erase,
     .reference = any(erase),
     .spelled = {{onnx, "SequenceErase", {}, 11}}},
    {.name = "sequence_length",
     .summary = "How many items a sequence has.",
     .source = "ONNX SequenceLength-11",
     .inputs = {{"s", any_value()}},
     .outputs = {{"y", kI64}},
     .infer = infer_length,
     .reference = any(length),
     .spelled = {{onnx, "SequenceLength", {}, 11}}},
    {.name = "split_to_sequence",
     .summary = "Parts of a tensor along an axis, as a sequence.",
     .source = "ONNX SplitToSequence-24",
     .inputs = {{"x"},
                {.name = "split",
                 .type = kPosition,
                 .arity = Arity::optional,
                 .doc = "A number: parts of that extent, the last smaller. A list: their extents. Absent: 1 each."}},
     .outputs = {{"y", any_value()}},
     .attrs = attrs_of<SplitToSequenceAttrs>(
         {field<&SplitToSequenceAttrs::axis>("axis", "The axis; negative counts from the last."),
          field<&SplitToSequenceAttrs::keepdims>("keepdims", "Without split: parts keep the axis, with extent 1.")}),
     .infer = infer_split_to_sequence,
     .reference = any(split_to_sequence),
     .spelled = {{onnx, "SplitToSequence", {{"keepdims", "keepdims", &int_bool}}, 11}}},
    {.name = "concat_from_sequence",
     .summary = "The items of a sequence one after another along an axis, or stacked along a new one.",
     .source = "ONNX ConcatFromSequence-11",
     .inputs = {{"s", any_value()}},
     .outputs = {{"y", any_value()}},
     .attrs = attrs_of<ConcatFromSequenceAttrs>(
         {field<&ConcatFromSequenceAttrs::axis>("axis", "The axis of the result; negative counts from the last.",
                                                required),
          field<&ConcatFromSequenceAttrs::new_axis>("new_axis", "Stacked along an axis that items do not have.")}),
     .infer = infer_concat_from_sequence,
     .reference = any(concat_from_sequence),
     .spelled = {{onnx, "ConcatFromSequence", {{"new_axis", "new_axis", &int_bool}}, 11}}},
    {.name = "optional",
     .summary = "A value that may be missing: x, or nothing.",
     .source = "ONNX Optional-15",
     .inputs = {{"x", any_value(), Arity::optional}},
     .outputs = {{"y", any_value()}},
     .attrs = attrs_of<OptionalAttrs>(
         {field<&OptionalAttrs::type>("type", "Type of the missing value: 'f32', 'sequence(f32)'.")}),
     .infer = infer_optional,
     .reference = any(make_optional),
     .spelled = {{onnx, "Optional", {}, 15}}},
    {.name = "optional_get_element",
     .summary = "The value in an optional; a fault when it is empty. Any other value passes.",
     .source = "ONNX OptionalGetElement-18 (15: optionals only)",
     .inputs = {{"x", any_value()}},
     .outputs = {{"y", any_value()}},
     .infer = infer_get_element,
     .reference = any(get_element),
     .spelled = {{onnx, "OptionalGetElement", {}, 15}}},
    {.name = "optional_has_element",
     .summary = "Whether an optional holds a value; true for any other value, false where none is given.",
     .source = "ONNX OptionalHasElement-18 (15: optionals only)",
     .inputs = {{"x", any_value(), Arity::optional}},
     .outputs = {{"y", kB}},
     .infer = infer_has_element,
     .reference = any(has_element),
     .spelled = {{onnx, "OptionalHasElement", {}, 15}}},
};
}  // namespace

std::span<const OpDef> sequence_ops() { return stored<kSequenceOps>(); }

}  // namespace nnex
