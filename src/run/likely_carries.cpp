#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>

#include "nnex/model.h"

namespace nnex {
namespace {

/// The name without the first of `words` that is in it; nothing where none is.
std::optional<std::string> without(const std::string& name, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words)
    if (const size_t at = name.find(word); at != std::string::npos) return std::string(name).erase(at, word.size());
  return std::nullopt;
}

/// What an input and an output that belong together have in common; nothing where the name says no such thing.
std::optional<std::string> core_of_input(const std::string& name) {
  if (auto core = without(name, {"past_key_values", "past_kv", "past"})) return core;
  if (auto core = without(name, {"_in", "in_", "_prev", "prev_"})) return core;
  if (name.size() > 1 && name.back() == '0') return name.substr(0, name.size() - 1);
  return std::nullopt;
}
std::optional<std::string> core_of_output(const std::string& name) {
  if (auto core = without(name, {"present_key_values", "present_kv", "present"})) return core;
  if (auto core = without(name, {"_out", "out_", "_next", "next_"})) return core;
  if (name.size() > 1 && (name.back() == 'n' || name.back() == 'N')) return name.substr(0, name.size() - 1);
  return std::nullopt;
}

}  // namespace

std::vector<Carry> likely_carries(const std::vector<PortInfo>& inputs, const std::vector<PortInfo>& outputs) {
  std::vector<Carry> out;
  std::set<std::string> taken;
  for (const PortInfo& made : outputs) {
    const auto core = core_of_output(made.name);
    if (!core) continue;
    const auto fits = [&](const PortInfo& p) {
      const auto own = core_of_input(p.name);
      return !taken.count(p.name) && p.dtype == made.dtype && p.extents.size() == made.extents.size() &&
             ((own && *own == *core) || (!core->empty() && p.name == *core));
    };
    const auto found = std::find_if(inputs.begin(), inputs.end(), fits);
    if (found == inputs.end()) continue;
    taken.insert(found->name);
    out.push_back({made.name, found->name});
  }
  return out;
}

}  // namespace nnex
