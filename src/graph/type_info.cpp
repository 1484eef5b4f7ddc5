#include "graph/type_info.h"

#include <fmt/format.h>

#include "graph/text/lexer.h"
#include "graph/text/parser.h"

namespace nnex {
namespace {

Result<Type> parsed(std::string_view text) {
  auto type = graph_text::parse_type(text, "type");
  if (type.ok()) return type;
  return Error(Code::invalid_argument, fmt::format("'{}' is no type: {}", text, type.error().message()));
}

/// "3", "N", "2*H+1"; "?": a new symbol that equals no other. Whatever is no formula names an opaque extent.
Result<Dim> dim_of(const std::string& text) {
  if (text == "?" || text.empty()) return Dim::unknown("custom");
  if (auto plain = graph_text::parse_type(fmt::format("f32[{}]", text), "extent");
      plain.ok() && plain->dims && plain->dims->size() == 1)
    return (*plain->dims)[0];
  auto opaque = graph_text::parse_type(fmt::format("f32[{}]", graph_text::quoted(text)), "extent");
  if (opaque.ok() && text[0] != '-' && opaque->dims && opaque->dims->size() == 1) return (*opaque->dims)[0];
  return Error(Code::invalid_argument, fmt::format("'{}' is no extent", text));
}

}  // namespace

TypeInfo type_info(const Type& type) {
  TypeInfo info;
  info.text = type.text();
  info.tensor = type.is_tensor();
  info.dtype = type.dtype;
  info.known_rank = type.dims.has_value();
  if (!type.dims) return info;
  for (const Dim& d : *type.dims) {
    info.dims.push_back(d.text());
    info.extents.push_back(d.number().value_or(-1));
  }
  return info;
}

Result<Type> type_of(const TypeInfo& info) {
  if (!info.tensor) return info.text == "unknown" ? Type{} : parsed(info.text);
  if (!info.known_rank) return Type::tensor(info.dtype);
  Dims dims;
  for (const std::string& d : info.dims) {
    NNEX_ASSIGN(Dim dim, dim_of(d));
    if (dim.number() && *dim.number() < 0)
      return Error(Code::invalid_argument, fmt::format("extent {} is negative", d));
    dims.push_back(std::move(dim));
  }
  return Type::tensor(info.dtype, std::move(dims));
}

TypeInfo TypeInfo::of(DType dtype, const Shape& shape) { return type_info(Type::tensor(dtype, dims_of(shape))); }
TypeInfo TypeInfo::of(DType dtype) { return type_info(Type::tensor(dtype)); }

Result<TypeInfo> TypeInfo::of(DType dtype, const std::vector<std::string>& dims) {
  TypeInfo wanted;
  wanted.tensor = wanted.known_rank = true, wanted.dtype = dtype, wanted.dims = dims;
  NNEX_ASSIGN(const Type type, type_of(wanted));
  return type_info(type);
}

Result<TypeInfo> TypeInfo::parse(std::string_view text) {
  NNEX_ASSIGN(const Type type, parsed(text));
  return type_info(type);
}

}  // namespace nnex
