#include "sarif.h"

#include <algorithm>
#include <cctype>

#include "nnex/version.h"
#include "shared/flags.h"

namespace nnex::cli {
namespace {

/// A path as part of an address: what has a meaning there, and what is no ASCII, as bytes in hexadecimal.
std::string uri_of(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || std::string_view("/-._~+").find(c) != std::string_view::npos))
      out += c;
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

/// The file of a model's folder that a place begins with; else the model.
std::string file_of(const std::string& path, const std::string& where) {
  const std::string folder = path.substr(0, path.find_last_not_of('/') + 1) + "/";
  const size_t end = where.starts_with(folder) ? where.find(':', folder.size()) : std::string::npos;
  return end == std::string::npos ? path : where.substr(0, end);
}

/// The line and column of "graph.nnef:41:12 ..."; nothing where the place is no text's.
Json region_of(const std::string& where) {
  const auto digits = [&](size_t at) {
    size_t end = at;
    while (end < where.size() && end < at + 9 && std::isdigit(static_cast<unsigned char>(where[end]))) ++end;
    return end;
  };
  for (size_t colon = where.find(':'); colon != std::string::npos; colon = where.find(':', colon + 1)) {
    const size_t line_end = digits(colon + 1);
    if (line_end == colon + 1 || line_end >= where.size() || where[line_end] != ':') continue;
    const size_t column_end = digits(line_end + 1);
    if (column_end == line_end + 1) continue;
    return {{"startLine", std::max(1, std::stoi(where.substr(colon + 1, line_end - colon - 1)))},
            {"startColumn", std::max(1, std::stoi(where.substr(line_end + 1, column_end - line_end - 1)))}};
  }
  return nullptr;
}

Json result_of(const std::string& path, Severity severity, const std::string& rule, const std::string& where,
               const std::string& message) {
  Json physical = {{"artifactLocation", {{"uri", uri_of(file_of(path, where))}}}};
  if (Json region = region_of(where); !region.is_null()) physical["region"] = std::move(region);
  Json location = {{"physicalLocation", std::move(physical)}};
  if (!where.empty()) location["logicalLocations"] = Json::array({{{"fullyQualifiedName", where}}});
  return {{"ruleId", rule},
          {"level", name(severity)},
          {"message", {{"text", message}}},
          {"locations", Json::array({std::move(location)})}};
}

}  // namespace

void add_sarif(Json& results, const std::string& path, const CheckReport& found) {
  for (const Fault& f : found.faults) {
    std::string text = with_remedies(f.message, f.remedies, flag_words);
    for (const std::string& task : f.during) text += "\nwhile " + task;
    results.push_back(result_of(path, f.severity, f.rule.empty() ? std::string(name(f.code)) : f.rule, f.where, text));
  }
  for (const Fault& n : found.notes)
    results.push_back(result_of(path, n.severity, n.rule.empty() ? "note" : n.rule, n.where, n.message));
}

void add_sarif(Json& results, const std::string& path, const Error& error) {
  results.push_back(result_of(path, Severity::error, std::string(name(error.code())), error.where(),
                              with_remedies(error.message(), error.remedies(), flag_words)));
}

Json sarif_log(Json results) {
  Json rules = Json::array();
  for (const Json& r : results) {
    const bool known =
        std::any_of(rules.begin(), rules.end(), [&](const Json& rule) { return rule["id"] == r["ruleId"]; });
    if (known) continue;
    Json rule = {{"id", r["ruleId"]}};
    for (const CheckRule& declared : onnx_rules())
      if (r["ruleId"] == std::string(declared.id)) {
        rule["shortDescription"] = {{"text", declared.summary}};
        rule["defaultConfiguration"] = {{"level", name(declared.severity)}};
      }
    rules.push_back(std::move(rule));
  }
  Json driver = {{"name", "nnex"}, {"version", kVersion}, {"rules", std::move(rules)}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({{{"tool", {{"driver", std::move(driver)}}}, {"results", std::move(results)}}})}};
}

}  // namespace nnex::cli
