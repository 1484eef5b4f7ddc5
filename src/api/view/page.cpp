// The page: pictures, what is known of nodes as JSON, and the script that shows it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/view/drawing.h"
#include "api/view/statistics.h"
#include "api/view/words.h"
#include "base/json.h"
#include "graph/queries.h"
#include "nnex/elements.h"
#include "nnex/inspect.h"

namespace nnex::drawing {
namespace {

using PageJson = nlohmann::ordered_json;

constexpr int64_t kSamples = 65536;          // elements of a weight that are looked at
constexpr int64_t kAllSamples = 16'777'216;  // of all weights together; then few of each
constexpr int64_t kFewSamples = 1024;

/// A finite number; others have no word in JSON.
PageJson number(double x) { return std::isfinite(x) ? PageJson(x) : PageJson(nullptr); }

class Facts {
 public:
  Facts(const ir::Graph& graph, const Marks& marks, const Told& told) : graph_(graph), marks_(marks), told_(told) {}

  PageJson nodes() {
    PageJson out = PageJson::object();
    for (NodeId id : graph_.order_with_blocks()) out[fmt::format("{}", id.n)] = node(id);
    return out;
  }

  /// Those that nodes() and ends() have met.
  PageJson values() {
    PageJson out = PageJson::object();
    for (uint32_t v : met_) out[fmt::format("{}", v)] = value(ValueId{v});
    return out;
  }

  PageJson ends(const std::vector<ValueId>& ids) {
    PageJson out = PageJson::array();
    for (ValueId v : ids) out.push_back(meet(v));
    return out;
  }

 private:
  int64_t meet(ValueId v) {
    if (!v.valid()) return -1;
    met_.insert(v.n);
    return v.n;
  }

  PageJson node(NodeId id) {
    const Node& n = graph_[id];
    const NodeName said = name_of(graph_, id);
    PageJson out = {{"title", cleaned(said.title)},
                    {"name", shown(said.name)},
                    {"op", cleaned(n.custom ? n.custom->name : n.op->name)},
                    {"domain", n.custom ? cleaned(n.custom->domain) : ""},
                    {"location", shown(graph_.place_of(id))},
                    {"category", static_cast<int>(category_of(n))}};
    out["attributes"] = PageJson::array();
    for (const auto& [name, text] : attributes_of(n, said.title, true))
      out["attributes"].push_back(PageJson::array({cleaned(name), shown(text)}));
    out["inputs"] = PageJson::array(), out["outputs"] = PageJson::array();
    for (size_t i = 0; i < n.in.size(); ++i) out["inputs"].push_back(PageJson::array({port_of(n, i), meet(n.in[i])}));
    for (ValueId v : graph_.captures(id)) out["inputs"].push_back(PageJson::array({"of a block", meet(v)}));
    for (ValueId v : n.out) out["outputs"].push_back(meet(v));
    if (const auto it = marks_.microseconds.find(id.n); it != marks_.microseconds.end()) out["us"] = number(it->second);
    out["faults"] = PageJson::array();
    if (const auto it = marks_.faults.find(id.n); it != marks_.faults.end())
      for (size_t f : it->second) out["faults"].push_back(f);
    return out;
  }

  /// Long texts are cut: a page is no archive.
  static std::string shown(std::string_view text) {
    constexpr size_t kMaxBytes = 600;
    if (text.size() <= kMaxBytes) return cleaned(text);
    return cleaned(text.substr(0, kMaxBytes)) + fmt::format("… ({} bytes in all)", text.size());
  }

  PageJson value(ValueId v) {
    const ValueDef& def = graph_[v];
    PageJson out = {{"name", shown(def.name)},
                    {"type", shown((def.is_constant() ? type_of(def.constant) : def.type).text())}};
    if (def.producer.valid()) out["node"] = def.producer.n;
    PageJson readers = PageJson::array();
    std::set<uint32_t> seen;
    for (const Use& use : def.uses)
      if (use.node.valid() && seen.insert(use.node.n).second) readers.push_back(use.node.n);
    if (!def.is_constant()) {
      out["readers"] = std::move(readers);
      return out;
    }
    out["weight"] = weight(def.constant.tensor());
    const Tensor* t = def.constant.tensor();
    if (t && t->data() && t->count() <= 16 && !is_object(t->dtype())) {
      std::string text;
      for (int64_t i = 0; i < t->count(); ++i) text += (i ? ", " : "") + element_text(*t, i);
      out["text"] = "[" + text + "]";
    }
    return out;
  }

  PageJson weight(const Tensor* t) {
    PageJson out = {{"count", t ? t->count() : 0}, {"finite", 0}};
    if (!t || !told_.weights) return out;
    const auto s = statistics_of(*t, looked_ < kAllSamples ? kSamples : kFewSamples);
    if (!s) return out;
    looked_ += s->looked;
    out = {{"count", s->count},
           {"looked", s->looked},
           {"finite", s->finite},
           {"low", number(s->low)},
           {"high", number(s->high)},
           {"mean", number(s->mean)},
           {"deviation", number(s->deviation)},
           {"zeros", s->zeros},
           {"bars", s->bars}};
    return out;
  }

  const ir::Graph& graph_;
  const Marks& marks_;
  const Told& told_;
  std::set<uint32_t> met_;
  int64_t looked_ = 0;
};

PageJson about_of(const ir::Graph& graph, const Told& told) {
  PageJson out = PageJson::array();
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) out.push_back(PageJson::array({name, cleaned(text)}));
  };
  add("standard", told.standard);
  add("graph", graph.meta.graph_name);
  add("made by", graph.meta.producer + (graph.meta.producer_version.empty() ? "" : " " + graph.meta.producer_version));
  std::string opsets;
  for (const auto& [domain, version] : graph.meta.opsets)
    opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain, version);
  add("opsets", opsets);
  add("nodes", fmt::format("{}", graph.order_with_blocks().size()));
  add("parameters",
      fmt::format("{}{}", parameters_of(graph).count, told.weights ? "" : " (the model came without them)"));
  return out;
}

PageJson faults_of(const Marks& marks, const Told& told) {
  PageJson out = PageJson::array();
  for (const Fault& f : told.faults) {
    PageJson during = PageJson::array();
    for (const std::string& task : f.during) during.push_back(cleaned(task));
    out.push_back({{"severity", name(f.severity)},
                   {"where", cleaned(f.where)},
                   {"message", cleaned(f.message)},
                   {"during", during}});
  }
  const auto place = [&](const auto& by, char kind) {
    for (const auto& [id, list] : by)
      for (size_t f : list) out[f]["at"] = fmt::format("{}{}", kind, id);
  };
  place(marks.faults, 'n');
  place(marks.value_faults, 'i');
  return out;
}

/// Six bits a letter, as hashes stand in policies.
std::string base64_of_hex(std::string_view hex) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto digit = [](char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : hex) {
    bits = bits << 4 | digit(c), count += 4;
    if (count >= 6) count -= 6, out += kLetters[bits >> count & 63];
  }
  if (count > 0) out += kLetters[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

/// A page's script must not be ended by what a text says.
std::string inside_script(const PageJson& json) {
  std::string out;
  for (char c : json.dump(-1, ' ', false, PageJson::error_handler_t::replace)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string switches(const ir::Graph& graph, const std::vector<Repeat>& repeats, const std::vector<NodeId>& order) {
  std::string out;
  for (size_t i = 0; i < repeats.size(); ++i)
    out +=
        fmt::format("<label><input type=\"checkbox\" data-fold=\"{}\" checked> fold ×{} ({} nodes from {})</label>\n",
                    i, repeats[i].copies, repeats[i].period,
                    escaped(fitted(cleaned(name_of(graph, order[repeats[i].first]).name), 160, 12)));
  return out;
}

}  // namespace

std::string page_of(const ir::Graph& graph, const Marks& marks, const std::vector<Repeat>& repeats,
                    const std::vector<Variant>& variants, const Told& told) {
  const std::vector<NodeId> order = graph.order();
  Facts facts(graph, marks, told);
  PageJson data = {{"schema", "nnex.view/1"},
                   {"title", cleaned(told.title)},
                   {"about", about_of(graph, told)},
                   {"total", marks.total}};
  data["inputs"] = facts.ends(graph.inputs()), data["outputs"] = facts.ends(graph.outputs());
  data["nodes"] = facts.nodes(), data["values"] = facts.values();
  data["faults"] = faults_of(marks, told), data["notes"] = PageJson::array(), data["repeats"] = PageJson::array();
  data["variants"] = PageJson::array(), data["categories"] = PageJson::array();
  for (const std::string& note : told.notes) data["notes"].push_back(cleaned(note));
  for (const Repeat& r : repeats) {
    PageJson nodes = PageJson::array();
    for (size_t i = r.first; i < r.end(); ++i) nodes.push_back(order[i].n);
    data["repeats"].push_back({{"period", r.period}, {"nodes", std::move(nodes)}});
  }
  for (const Variant& v : variants)
    data["variants"].push_back({{"folded", v.folded}, {"size", {v.scene.layout.width, v.scene.layout.height}}});
  for (size_t c = 0; c < kCategories; ++c) data["categories"].push_back(title_of(static_cast<Category>(c)));
  const std::string title = escaped(cleaned(told.title));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"nnex\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'sha256-{}'\">\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n",
      base64_of_hex(sha256(page_script())), title, picture_style(), page_style());
  out += fmt::format(
      "<body class=\"network\">\n<header>\n<h1>{}</h1>\n{}<input type=\"search\" placeholder=\"Search ( / )\" "
      "aria-label=\"Search names, operators and types\" "
      "aria-keyshortcuts=\"/\">\n<span id=\"found\" role=\"status\"></span>\n<span><button type=\"button\" "
      "data-zoom=\"0.8\" aria-label=\"Farther\">−</button>\n"
      "<button type=\"button\" data-zoom=\"1.25\" aria-label=\"Nearer\">+</button>\n<button type=\"button\" "
      "data-zoom=\"0\">Fit</button></span>\n</header>\n",
      title, switches(graph, repeats, order));
  out +=
      "<main><svg role=\"group\" aria-label=\"Network; arrow keys go along its edges\"><g></g></svg></main>\n<aside "
      "aria-label=\"Details\" aria-live=\"polite\"></aside>\n";
  for (const Variant& v : variants) {
    // Only inside of an svg element its parts are parsed as what they are.
    out += "<template><svg>";
    draw(graph, v.scene, out);
    out += "</svg></template>\n";
  }
  out += "<script type=\"application/json\" id=\"data\">" + inside_script(data) + "</script>\n<script>";
  out += page_script();
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace nnex::drawing
