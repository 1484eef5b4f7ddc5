#include "graph/type_info.h"

#include <fmt/format.h>

#include "base/failure.h"
#include "base/joined.h"
#include "graph/text/lexer.h"
#include "graph/text/parser.h"

namespace nnex {
namespace {

/// "3", "N", "2*H+1"; "?": a new symbol that equals no other. Whatever is no formula names an opaque extent.
Result<Dim> dim_of(const std::string& text) {
  if (text == "?" || text.empty()) return Dim::unknown("custom");
  if (auto plain = graph_text::parse_type(fmt::format("f32[{}]", text), "extent");
      plain.ok() && plain->dims && plain->dims->size() == 1)
    return (*plain->dims)[0];
  auto opaque = graph_text::parse_type(fmt::format("f32[{}]", graph_text::quoted(text)), "extent");
  if (opaque.ok() && text[0] != '-' && opaque->dims && opaque->dims->size() == 1) return (*opaque->dims)[0];
  return failure(Code::invalid_argument, "'{}' is no extent", text);
}

/// Where an extent that begins at `from` ends: before a comma or a bracket outside of its parentheses and quotes.
size_t end_of_extent(std::string_view text, size_t from) {
  int depth = 0;
  char quote = 0;
  for (size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == ')') {
      depth += c == '(' ? 1 : -1;
    } else if (depth == 0 && (c == ',' || c == '[' || c == ']')) {
      return i;
    }
  }
  return text.size();
}

std::string_view trimmed(std::string_view s) {
  const size_t first = s.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : s.substr(first, s.find_last_not_of(' ') + 1 - first);
}

/// The type with those of its extents in quotes, as the grammar has them, that are no formulas of its words: names that
/// inference and files give, as "?non_zero2", "floor((n+1)/2)" or "picture.0", which Type::text() writes bare.
std::string with_quoted_extents(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    out += text[i];
    if (text[i++] != '[') continue;
    while (i < text.size() && text[i] != ']') {
      const size_t end = end_of_extent(text, i);
      if (end == i && text[end] != ',') break;
      const std::string extent(trimmed(text.substr(i, end - i)));
      const bool rank = extent == "?" && out.back() == '[' && end < text.size() && text[end] == ']';
      auto dim = rank || extent.empty() ? Result<Dim>(Dim()) : dim_of(extent);
      const bool opaque = dim.ok() && extent.find_first_of("?(#./:") != std::string::npos &&
                          extent.find_first_of("\"'") == std::string::npos &&
                          !graph_text::parse_type(fmt::format("f32[0,{}]", extent), "extent").ok();
      out += rank || !opaque ? extent : graph_text::quoted(dim->text());
      if (end < text.size() && text[end] == ',') out += ',';
      i = end < text.size() && text[end] == ',' ? end + 1 : end;
    }
  }
  return out;
}

Result<Type> parsed(std::string_view text) {
  auto type = graph_text::parse_type(text, "type");
  if (type.ok()) return type;
  if (auto named = graph_text::parse_type(with_quoted_extents(text), "type"); named.ok()) return named;
  return failure(Code::invalid_argument, "'{}' is no type: {}", text, type.error().message());
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

namespace {

/// Whether what is said of extents besides `dims` has a number where they have another, or none: somebody changed that
/// alone, and it would be passed over.
bool contradicts(const MaybeDims& said, const Dims& dims) {
  if (!said) return false;
  if (said->size() != dims.size()) return true;
  for (size_t i = 0; i < dims.size(); ++i)
    if (const auto number = (*said)[i].number(); number && dims[i].number() != number) return true;
  return false;
}

Status check_said_alike(const TypeInfo& info, const Type& type) {
  MaybeDims extents;
  if (!info.extents.empty()) {
    extents.emplace();
    for (int64_t e : info.extents) extents->push_back(e < 0 ? Dim::unknown("extent") : Dim(e));
  }
  if (contradicts(extents, *type.dims))
    return failure(Code::invalid_argument, "a type's extents are [{}], its dims {}; TypeInfo::of() makes both",
                   joined(info.extents, ","), text(type.dims));
  if (info.text == "unknown" || info.text == type.text()) return {};
  const auto said = parsed(info.text);
  if (!said.ok()) return {};  // names of files that the grammar has not
  if (said->is_tensor() && !contradicts(said->dims, *type.dims)) return {};
  return failure(Code::invalid_argument, "a type's text is {}, its dims {}; TypeInfo::of() makes both", info.text,
                 text(type.dims));
}

}  // namespace

Result<Type> type_of(const TypeInfo& info) {
  if (!info.tensor) return info.text == "unknown" ? Type{} : parsed(info.text);
  if (!info.known_rank) return Type::tensor(info.dtype);
  Dims dims;
  for (const std::string& d : info.dims) {
    NNEX_ASSIGN(Dim dim, dim_of(d));
    if (dim.number() && *dim.number() < 0) return failure(Code::invalid_argument, "extent {} is negative", d);
    dims.push_back(std::move(dim));
  }
  Type type = Type::tensor(info.dtype, std::move(dims));
  NNEX_TRY(check_said_alike(info, type));
  return type;
}

TypeInfo TypeInfo::of(DType dtype, const Shape& shape) { return type_info(Type::tensor(dtype, dims_of(shape))); }
TypeInfo TypeInfo::of(DType dtype) { return type_info(Type::tensor(dtype)); }

Result<TypeInfo> TypeInfo::of(DType dtype, const std::vector<std::string>& dims) {
  for (const std::string& d : dims)
    if (end_of_extent(d, 0) < d.size()) return failure(Code::invalid_argument, "'{}' is no extent", d);
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
