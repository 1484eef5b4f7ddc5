// nnex why: where extents come from, which kernels nodes get, what keeps a model from a standard.

#include "nnex/why.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli.h"
#include "nnex/suggest.h"
#include "shared/flags.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

struct WhyArguments : ReadingOptions {
  std::string path;
  std::vector<std::string> names;
  bool json = false;
  double timeout = 0;
};

/// The names in a place: of "node 'conv1' (Conv)" conv1; of a region those of all its nodes.
std::vector<std::string> names_in(const std::string& place) {
  std::vector<std::string> out;
  for (size_t begin = place.find('\''); begin != std::string::npos;) {
    const size_t end = place.find('\'', begin + 1);
    if (end == std::string::npos) break;
    out.push_back(place.substr(begin + 1, end - begin - 1));
    begin = place.find('\'', end + 1);
  }
  return out;
}

bool is_of(const WhyArguments& o, const std::string& value, const std::string& place) {
  const auto inside = names_in(place);
  return std::any_of(o.names.begin(), o.names.end(), [&](const std::string& n) {
    return n == value || n == place || std::find(inside.begin(), inside.end(), n) != inside.end();
  });
}

Json json_of(const std::string& path, const Why& why) {
  Json out = {{"schema", "nnex.why/1"}, {"model", path}};
  out["standards"] = Json::array();
  for (const StandardReach& s : why.standards) {
    out["standards"].push_back({{"format", name(s.format)}, {"can", s.can}});
    if (!s.can) out["standards"].back()["why_not"] = with_remedies(s.why_not, s.remedies, flag_words);
  }
  out["fixed"] = Json::array();
  for (const FixedExtent& f : why.fixed)
    out["fixed"].push_back(
        {{"extent", f.extent}, {"found", f.found}, {"also", f.also}, {"broken", f.broken}, {"why", f.why}});
  out["values"] = Json::array();
  for (const ExtentOrigin& v : why.values)
    out["values"].push_back({{"value", v.value}, {"place", v.place}, {"type", v.type}, {"formula", v.formula}});
  if (!why.kernels_unknown.empty()) out["kernels_unknown"] = why.kernels_unknown;
  out["kernels"] = Json::array();
  for (const KernelOrigin& k : why.kernels) {
    Json declined = Json::array();
    for (const DeclinedKernel& d : k.declined) declined.push_back({{"kernel", d.kernel}, {"why", d.why}});
    out["kernels"].push_back({{"place", k.place},
                              {"op", k.op},
                              {"types", k.types},
                              {"kernel", k.kernel},
                              {"declined", std::move(declined)}});
  }
  return out;
}

/// A text of several lines behind a word.
void print_indented(const std::string& text) {
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    say("           {}\n", text.substr(from, end - from));
    from = end + 1;
  }
}

void print_kernel(const KernelOrigin& k) {
  say("  {}\n    {}  {}\n    runs by {}\n", one_line(k.place), one_line(k.op), one_line(k.types), k.kernel);
  for (const DeclinedKernel& d : k.declined) say("    not by {}: {}\n", d.kernel, one_line(d.why));
}

void print_standards(const Why& why) {
  say("standards\n");
  for (const StandardReach& s : why.standards) {
    say("  {:<7}  {}\n", name(s.format), s.can ? "says all of it" : "does not:");
    print_indented(with_remedies(s.why_not, s.remedies, flag_words));
  }
}

/// Which extents of inputs may be others, and what keeps the rest.
void print_extents(const Why& why) {
  say("extents\n");
  for (const ExtentOrigin& v : why.values)
    if (v.place.empty()) say("  input {}  {}  may be {}\n", one_line(v.value), one_line(v.type), one_line(v.formula));
  for (const FixedExtent& f : why.fixed) {
    if (f.also.empty())
      say("  {} must be {}, for else\n", one_line(f.extent), f.found);
    else
      say("  {} may be {} or {}, but not {}, for\n", one_line(f.extent), f.found, fmt::join(f.also, " or "), f.broken);
    print_indented(f.why);
  }
}

/// The kernels, counted, and the nodes that none of the fast ones takes.
void print_kernels(const Why& why) {
  say("kernels\n");
  if (!why.kernels_unknown.empty()) {
    say("  unknown until extents are numbers (--set, --set-shape):\n");
    print_indented(why.kernels_unknown);
    return;
  }
  std::map<std::string, int> counts;
  for (const KernelOrigin& k : why.kernels) ++counts[k.kernel];
  std::vector<std::pair<std::string, int>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [kernel, n] : rows) say("  {:>6}  {}\n", n, kernel);
  for (const KernelOrigin& k : why.kernels)
    if (k.kernel == "reference") print_kernel(k);
}

/// Whether the name is the model's; else an error with the nearest one there is.
Status known(const Why& why, const std::string& name) {
  std::vector<std::string_view> names;
  std::vector<std::string> inside;  // of places
  const auto add = [&](const std::string& place) {
    names.push_back(place);
    for (std::string& n : names_in(place)) inside.push_back(std::move(n));
  };
  for (const ExtentOrigin& v : why.values) names.push_back(v.value), add(v.place);
  for (const KernelOrigin& k : why.kernels) add(k.place);
  names.insert(names.end(), inside.begin(), inside.end());
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  const std::string_view near = nearest(name, names);
  return Error(Code::invalid_argument, fmt::format("the model has no tensor or node '{}'{}", name,
                                                   near.empty() ? "" : fmt::format("; meant '{}'?", near)));
}

/// What is told of the tensors and nodes of these names alone.
void keep_named(const WhyArguments& o, Why& why) {
  std::vector<std::string> places;
  std::erase_if(why.values, [&](const ExtentOrigin& v) { return !is_of(o, v.value, v.place); });
  for (const ExtentOrigin& v : why.values)
    if (!v.place.empty()) places.push_back(v.place);
  std::erase_if(why.kernels, [&](const KernelOrigin& k) {
    return !is_of(o, "", k.place) && std::none_of(places.begin(), places.end(), [&](const std::string& p) {
      return k.place.find(p) != std::string::npos;
    });
  });
}

int print_named(const Why& why) {
  bool any = false;
  for (const ExtentOrigin& v : why.values) {
    any |= !v.place.empty();
    say("{}  {}{}{}\n", one_line(v.value), one_line(v.type), v.place.empty() ? "" : "  of ", one_line(v.place));
    say("  for inputs of any size  {}\n", one_line(v.formula));
  }
  for (const KernelOrigin& k : why.kernels) print_kernel(k);
  if (why.kernels.empty() && !why.kernels_unknown.empty())
    say("  kernels are unknown until extents are numbers (--set, --set-shape)\n");
  else if (why.kernels.empty() && any)
    say("  no kernel of its own: it is folded into another node, a view, or planned by a run\n");
  return kOk;
}

int why(const WhyArguments& o) {
  auto options = o.options();
  if (!options.ok()) return report(options.error());
  const auto source = source_of(o.path);
  if (!source.ok()) return report(source.error());
  const TimeLimit limit(o.timeout);
  auto found = awaited("looking", [&] { return nnex::why(*source, *options); });
  if (!found.ok()) return limit.report(found.error());
  for (const std::string& name : o.names)
    if (Status s = known(*found, name); !s.ok()) return report(s.error());
  if (!o.names.empty()) keep_named(o, *found);
  if (o.json) {
    say("{}\n", json_of(o.path, *found).dump(1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  if (!o.names.empty()) return print_named(*found);
  print_standards(*found);
  print_extents(*found);
  print_kernels(*found);
  return kOk;
}

}  // namespace

void add_why(CommandLine& line) {
  auto o = std::make_shared<WhyArguments>();
  Verb verb = line.verb(
      "why", "Explain a model: where extents come from, which kernels nodes get, what keeps it from a standard",
      [o] { return why(*o); });
  o->add_to(verb);
  verb.option("model", o->path, kModelHelp).required();
  verb.option("names", o->names, "Tensors or nodes to explain; none: the whole model");
  verb.flag("--json", o->json, "Print JSON (docs/schema/nnex.why-1.json)");
  add_timeout(verb, o->timeout);
}

}  // namespace nnex::cli
