#include "standards/nnef/properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "graph/precision.h"
#include "graph/text/lexer.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {
namespace {

constexpr std::string_view kProperty = "# nnex.property ", kName = "# nnex.name ", kOwn = "nnef.", kBetween = " = ";

bool is_own(std::string_view key) { return key.substr(0, kOwn.size()) == kOwn; }

/// What stands between the quotes at the front of `text`, which are taken away; nothing where there are none.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (text.empty() || text.front() != '\'') return std::nullopt;
  size_t end = 1;
  while (end < text.size() && text[end] != '\'') end += text[end] == '\\' ? 2 : 1;
  std::string out;
  if (end >= text.size() || !graph_text::unescape(text.substr(1, end - 1), out)) return std::nullopt;
  text.remove_prefix(end + 1);
  return out;
}

/// What follows " = " at the front of `text`, up to its end.
std::optional<std::string> given(std::string_view text) {
  if (text.substr(0, kBetween.size()) != kBetween) return std::nullopt;
  text.remove_prefix(kBetween.size());
  auto out = take_quoted(text);
  return text.empty() ? out : std::nullopt;
}

/// The document's last lines, as far as they are comments.
std::string_view last_comments(std::string_view document) {
  size_t begin = document.size();
  while (begin > 0) {
    const size_t before = document.rfind('\n', begin - 1 - (document[begin - 1] == '\n'));
    const size_t line = begin == 1 || before == std::string_view::npos ? 0 : before + 1;
    if (document[line] != '#' && document[line] != '\n' && document[line] != '\r') break;
    begin = line;
  }
  return document.substr(begin);
}

/// The names of constants become those that the document's identifiers stand for; labels are known by them.
void rename_constants(ir::Graph& graph, const std::map<std::string, std::string, std::less<>>& names) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const auto known = names.find(graph[ValueId{n}].name);
    if (known != names.end() && graph[ValueId{n}].is_constant()) graph.set_name(ValueId{n}, known->second);
  }
  if (!graph.provenance.nnef) return;
  decltype(NnefProvenance::labels) labels;
  for (const auto& [name, label] : graph.provenance.nnef->labels) {
    const auto known = names.find(name);
    labels.emplace(known == names.end() ? name : known->second, label);
  }
  graph.provenance.nnef->labels = std::move(labels);
}

}  // namespace

std::string property_lines(const ir::Graph& graph, const std::map<uint32_t, std::string>& names) {
  std::string out;
  Properties properties = graph.meta.properties;
  for (auto& p : properties_of(graph.provenance)) properties.push_back(std::move(p));
  for (const auto& [key, text] : properties)
    if (!is_own(key))
      out += fmt::format("{}{}{}{}\n", kProperty, graph_text::quoted(key), kBetween, graph_text::quoted(text));
  const DeclaredBits& declared = graph.provenance.bits;
  for (const auto& [v, identifier] : names) {
    const ValueDef& def = graph[ValueId{v}];
    if (def.is_constant() && def.name != identifier && declared.count(def.name) &&
        def.name.find('\n') == std::string::npos)
      out += fmt::format("{}{}{}{}\n", kName, identifier, kBetween, graph_text::quoted(def.name));
  }
  return out;
}

bool is_property_line(std::string_view comment) { return comment.starts_with(kProperty) || comment.starts_with(kName); }

void read_property_lines(std::string_view document, ir::Graph& graph) {
  std::map<std::string, std::string, std::less<>> names;
  std::string_view rest = last_comments(document);
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.substr(0, kProperty.size()) == kProperty) {
      line.remove_prefix(kProperty.size());
      auto key = take_quoted(line);
      auto text = key && !is_own(*key) ? given(line) : std::nullopt;
      if (text) graph.meta.properties.emplace_back(std::move(*key), std::move(*text));
    } else if (line.substr(0, kName.size()) == kName) {
      line.remove_prefix(kName.size());
      const std::string_view identifier = line.substr(0, line.find(' '));
      if (auto name = given(line.substr(identifier.size()))) names.emplace(identifier, std::move(*name));
    }
  }
  take_provenance(graph.meta.properties, graph.provenance);
  if (!names.empty()) rename_constants(graph, names);
}

}  // namespace nnex::nnef_format
