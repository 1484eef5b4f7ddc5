#include "ops/table.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/try.h"

namespace nnex {

#define NNEX_FAMILY(ops) std::span<const OpDef> ops();
#include "ops/families.def"
#undef NNEX_FAMILY

namespace {

struct Table {
  std::vector<const OpDef*> ops;
  std::map<std::string_view, const OpDef*> by_name;
  std::map<std::pair<Format, std::string_view>, std::vector<Spelled>> by_spelling;  // newest form first

  void add(std::span<const OpDef> family) {
    for (const OpDef& op : family) {
      ops.push_back(&op);
      NNEX_ASSERT(by_name.emplace(op.name, &op).second);
      for (const Spelling& s : op.spelled) by_spelling[{s.format, s.name}].push_back({&op, &s});
    }
  }

  Table() {
#define NNEX_FAMILY(ops) add(ops());
#include "ops/families.def"
#undef NNEX_FAMILY
    for (auto& [key, forms] : by_spelling)
      std::stable_sort(forms.begin(), forms.end(),
                       [](const Spelled& a, const Spelled& b) { return a.spelling->since > b.spelling->since; });
  }
};

const Table& table() {
  static const Table t;
  return t;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return table().ops; }

const OpDef* find_op(std::string_view name) {
  auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second;
}

const OpDef& op(std::string_view name) {
  const OpDef* found = find_op(name);
  NNEX_ASSERT(found != nullptr);
  return *found;
}

Spelled find_spelling(Format format, std::string_view domain, std::string_view name, int version) {
  auto it = table().by_spelling.find({format, name});
  if (it == table().by_spelling.end()) return {};
  for (const Spelled& s : it->second)
    if (s.spelling->domain == domain && (version == 0 || s.spelling->since <= version)) return s;
  return {};
}

}  // namespace nnex
