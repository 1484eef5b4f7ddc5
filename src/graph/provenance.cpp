#include "graph/provenance.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/joined.h"

namespace nnex {

int64_t CvmProvenance::output_width() const {
  if (!postprocess.empty()) return 4;
  return std::all_of(head_bits.begin(), head_bits.end(), [](int64_t b) { return b <= 8; }) ? 1 : 4;
}

namespace {

using Text = std::optional<std::string>;  ///< Nothing: no such property.

Text unless_empty(std::string text) { return text.empty() ? Text() : Text(std::move(text)); }

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// A whole number at the front of `text`, which is taken away; nothing where there is none.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t n = 0;
  size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && n < INT64_MAX / 10 - 10; ++at)
    n = n * 10 + (text[at] - '0');
  text.remove_prefix(at);
  return at > 0 ? std::optional(n) : std::nullopt;
}

int64_t number(std::string_view text) { return take_number(text).value_or(0); }

// ---- Numbers by name: a line each, in which a name's own line ends are escaped

std::string escaped(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == '\\') out += "\\\\";
    if (c == '\n') out += "\\n";
    if (c != '\\' && c != '\n') out += c;
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (escape) ++i;
    out += escape && text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

std::string numbers_text(const DeclaredBits& numbers) {
  std::string out;
  for (const auto& [name, n] : numbers) out += fmt::format("{}{} {}", out.empty() ? "" : "\n", n, escaped(name));
  return out;
}

DeclaredBits read_numbers(std::string_view text) {
  DeclaredBits out;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const auto n = take_number(line);
    if (n && *n < 1000 && !line.empty() && line[0] == ' ') out[unescaped(line.substr(1))] = *n;
  }
  return out;
}

// ---- Labels by name: a line each

std::string labels_text(const NnefProvenance& nnef) {
  std::string out;
  for (const auto& [name, label] : nnef.labels) out += fmt::format("{} {}\n", name, label);
  return out;
}

void read_labels(std::string_view text, NnefProvenance& nnef) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (const size_t space = line.rfind(' '); space != std::string_view::npos)
      nnef.labels.emplace(line.substr(0, space), line.substr(space + 1));
  }
}

// ---- The properties

NnefProvenance& nnef_of(Provenance& p) { return p.nnef ? *p.nnef : p.nnef.emplace(); }
CvmProvenance& cvm_of(Provenance& p) { return p.cvm ? *p.cvm : p.cvm.emplace(); }

std::string bits_text(const CvmProvenance& cvm) {
  if (cvm.input_bits == 0) return {};
  return fmt::format("{} {}", cvm.input_bits, joined(cvm.head_bits, " "));
}

void read_bits(std::string_view text, CvmProvenance& cvm) {
  cvm.input_bits = take_number(text).value_or(0);
  while (!text.empty()) {
    text.remove_prefix(1);
    if (const auto n = take_number(text)) cvm.head_bits.push_back(*n);
  }
}

struct Property {
  std::string_view name;
  Text (*text)(const Provenance& p);
  void (*read)(std::string_view text, Provenance& p);
};

std::string unless_zero(int64_t n) { return n == 0 ? "" : std::to_string(n); }

#define NNEX_OF_CVM(TEXT) [](const Provenance& p) { return p.cvm ? unless_empty(TEXT) : Text(); }
#define NNEX_READ(STATEMENT) [](std::string_view text, Provenance& p) { STATEMENT; }

constexpr Property kProperties[] = {
    {"integer.bits", [](const Provenance& p) { return unless_empty(numbers_text(p.bits)); },
     NNEX_READ(p.bits = read_numbers(text))},
    {"nnef.quantization", [](const Provenance& p) { return unless_empty(p.quantization); },
     NNEX_READ(p.quantization = text)},
    {kLabelsProperty, [](const Provenance& p) { return p.nnef ? Text(labels_text(*p.nnef)) : Text(); },
     NNEX_READ(read_labels(text, nnef_of(p)))},
    {"nnef.document", [](const Provenance& p) { return p.nnef ? unless_empty(p.nnef->document) : Text(); },
     NNEX_READ(nnef_of(p).document = text)},
    {"nnef.integers", [](const Provenance& p) { return p.nnef && p.nnef->integers32 ? Text("i32") : Text(); },
     NNEX_READ(nnef_of(p).integers32 = text == "i32")},
    {"cvm.version", NNEX_OF_CVM(p.cvm->version), NNEX_READ(cvm_of(p).version = text)},
    {"cvm.postprocess", NNEX_OF_CVM(p.cvm->postprocess), NNEX_READ(cvm_of(p).postprocess = text)},
    {"cvm.gas", NNEX_OF_CVM(unless_zero(p.cvm->gas)), NNEX_READ(cvm_of(p).gas = number(text))},
    {"cvm.storage_bytes", NNEX_OF_CVM(unless_zero(p.cvm->storage_bytes)),
     NNEX_READ(cvm_of(p).storage_bytes = number(text))},
    {"cvm.bits", NNEX_OF_CVM(bits_text(*p.cvm)), NNEX_READ(read_bits(text, cvm_of(p)))},
    {"cvm.widths", NNEX_OF_CVM(numbers_text(p.cvm->widths)), NNEX_READ(cvm_of(p).widths = read_numbers(text))},
};
#undef NNEX_OF_CVM
#undef NNEX_READ

/// Whether the property says something that is known, which is added.
bool take(const std::pair<std::string, std::string>& property, Provenance& to) {
  const auto known = std::find_if(std::begin(kProperties), std::end(kProperties),
                                  [&](const Property& p) { return p.name == property.first; });
  if (known == std::end(kProperties)) return false;
  Provenance more = to;
  known->read(property.second, more);
  if (known->text(more) != property.second) return false;
  to = std::move(more);
  return true;
}

}  // namespace

Properties properties_of(const Provenance& provenance) {
  Properties out;
  for (const Property& p : kProperties)
    if (auto text = p.text(provenance)) out.emplace_back(p.name, *std::move(text));
  return out;
}

void take_provenance(Properties& properties, Provenance& provenance) {
  properties.erase(
      std::remove_if(properties.begin(), properties.end(), [&](const auto& p) { return take(p, provenance); }),
      properties.end());
}

}  // namespace nnex
