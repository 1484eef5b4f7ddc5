#include "run/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/failure.h"
#include "base/try.h"
#include "tensor/nesting.h"
#include "tensor/sparse.h"

namespace nnex {

PortInfo port_info(std::string name, const Type& t) {
  PortInfo p;
  p.name = std::move(name);
  p.type = t.text();
  if (!t.is_tensor()) return p;
  p.dtype = t.dtype;
  p.known_rank = t.dims.has_value();
  if (!t.dims) return p;
  for (const Dim& d : *t.dims) {
    p.extents.push_back(d.number().value_or(-1));
    p.dims.push_back(d.text());
  }
  return p;
}
namespace {

bool all_have_memory(const Value& v) {
  const auto each = [](const std::vector<Value>& items) {
    return std::all_of(items.begin(), items.end(), all_have_memory);
  };
  if (const Tensor* t = v.tensor()) return has_memory(*t);
  if (const SparseTensor* s = v.sparse()) return has_memory(s->values) && has_memory(s->indices);
  if (const Sequence* s = v.sequence()) return each(s->items);
  if (const Map* m = v.map()) return has_memory(m->keys) && each(m->values);
  if (const Optional* o = v.optional()) return !o->item || all_have_memory(*o->item);
  return true;
}

/// A sequence of maps, say, to the last of them.
bool maps_are_whole(const Value& v) {
  const auto each = [](const std::vector<Value>& items) {
    return std::all_of(items.begin(), items.end(), maps_are_whole);
  };
  if (const Sequence* s = v.sequence()) return each(s->items);
  if (const Optional* o = v.optional()) return !o->item || maps_are_whole(*o->item);
  const Map* m = v.map();
  if (!m) return true;
  return m->keys.shape().rank() == 1 && m->keys.count() == static_cast<int64_t>(m->values.size()) && each(m->values);
}

bool extents_fit(const MaybeDims& dims, const Shape& shape) {
  if (!dims) return true;
  if (static_cast<int64_t>(dims->size()) != shape.rank()) return false;
  for (size_t i = 0; i < dims->size(); ++i)
    if (const auto known = (*dims)[i].number(); known && *known != shape[static_cast<int64_t>(i)]) return false;
  return true;
}

/// Kinds, types and known extents, to the last item.
bool fits(const Type& type, const Value& v) {
  const auto typed = [&](DType found) { return type.dtype == DType::none || type.dtype == found; };
  const auto each = [&](const std::vector<Value>& items) {
    return !type.element ||
           std::all_of(items.begin(), items.end(), [&](const Value& item) { return fits(*type.element, item); });
  };
  switch (type.kind) {
    case Kind::unknown:
      return true;
    case Kind::tensor:
      return v.tensor() && typed(v.tensor()->dtype()) && extents_fit(type.dims, v.tensor()->shape());
    case Kind::sparse:
      return v.sparse() && typed(v.sparse()->values.dtype()) && extents_fit(type.dims, v.sparse()->shape);
    case Kind::sequence:
      return v.sequence() && each(v.sequence()->items);
    case Kind::map:
      return v.map() && typed(v.map()->keys.dtype()) && each(v.map()->values);
    case Kind::optional:  // what is there may come without the wrapping
      if (v.optional()) return !v.optional()->item || !type.element || fits(*type.element, *v.optional()->item);
      return !type.element || fits(*type.element, v);
  }
  return true;
}

/// Whether another axis before this one has its symbol.
bool is_earlier(const PortInfo& port, size_t axis) {
  const auto at = port.dims.begin() + static_cast<std::ptrdiff_t>(axis);
  return std::find(port.dims.begin(), at, *at) != at;
}

/// Extents by number and by symbol. Nothing: they fit; else what else is to say ("; N is 3 in another input", or axis).
std::optional<std::string> misfit(const PortInfo& port, const Tensor& t, SymbolExtents& symbols) {
  if (t.dtype() != port.dtype) return "";
  if (!port.known_rank) return std::nullopt;
  if (t.shape().rank() != static_cast<int64_t>(port.extents.size())) return "";
  for (size_t i = 0; i < port.extents.size(); ++i) {
    const int64_t extent = t.shape()[static_cast<int64_t>(i)];
    if (port.extents[i] >= 0) {
      if (extent != port.extents[i]) return "";
      continue;
    }
    const auto it =
        std::find_if(symbols.begin(), symbols.end(), [&](const auto& s) { return s.first == port.dims[i]; });
    if (it == symbols.end())
      symbols.emplace_back(port.dims[i], extent);
    else if (it->second != extent && port.dims[i].find('?') == std::string::npos)
      return fmt::format("; {} is {} in another {}", port.dims[i], it->second, is_earlier(port, i) ? "axis" : "input");
  }
  return std::nullopt;
}

}  // namespace

Status check_input(const InputPort& port, const Value& value, SymbolExtents& symbols, std::string_view what) {
  const auto wrong = [&](std::string_view found, std::string_view more = "") {
    return failure(Code::invalid_argument, "{} '{}': found {}; needed {}{}", what, port.info.name, found,
                   port.info.type, more);
  };
  const Tensor* t = value.tensor();
  if (value.empty())
    return failure(Code::invalid_argument, "{} '{}' is missing; needed {}", what, port.info.name, port.info.type);
  if (port.info.dtype == DType::none) {
    if (const Status flat = check_nesting(value); !flat.ok())
      return failure(Code::limit, "{} '{}': {}", what, port.info.name, flat.error().message());
    if (!fits(port.type, value)) return wrong(type_of(value).text());
  } else {
    if (!t) return wrong(value.text());
    if (const auto more = misfit(port.info, *t, symbols)) return wrong(value.text(), *more);
  }
  if (!all_have_memory(value)) return wrong(value.text() + " without memory");
  if (!maps_are_whole(value)) return wrong(value.text(), "; a map has keys of rank 1, and a value for each");
  if (const SparseTensor* s = value.sparse())
    if (const Status sound = check_sparse(*s); !sound.ok()) return wrong(value.text(), "; " + sound.error().message());
  return {};
}

}  // namespace nnex
