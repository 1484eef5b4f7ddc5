#include "ops/table.h"

#include <vector>

#include "base/name_index.h"
#include "base/try.h"

namespace nnex {

#define NNEX_FAMILY(ops) std::span<const OpDef> ops();
#include "ops/families.def"
#undef NNEX_FAMILY

namespace {

struct Table {
  std::vector<const OpDef*> ops;
  NameIndex<const OpDef*> by_name;
  NameIndex<Spelled> by_spelling;

  void add(std::span<const OpDef> family) {
    for (const OpDef& op : family) {
      ops.push_back(&op);
      NNEX_ASSERT(!by_name.find(op.name));
      by_name.add(op.name, &op);
      for (const Spelling& s : op.spelled) by_spelling.add(s.name, {&op, &s});
    }
  }

  Table() {
#define NNEX_FAMILY(ops) add(ops());
#include "ops/families.def"
#undef NNEX_FAMILY
  }
};

const Table& table() {
  static const Table t;
  return t;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return table().ops; }

const OpDef* find_op(std::string_view name) {
  const auto found = table().by_name.find(name);
  return found ? *found : nullptr;
}

const OpDef& op(std::string_view name) {
  const OpDef* found = find_op(name);
  NNEX_ASSERT(found != nullptr);
  return *found;
}

Spelled find_spelling(Format format, std::string_view domain, std::string_view name, int version) {
  Spelled newest;
  table().by_spelling.each(name, [&](const Spelled& s) {
    const Spelling& of = *s.spelling;
    if (of.format != format || of.domain != domain || (version != 0 && of.since > version)) return;
    if (!newest.op || of.since > newest.spelling->since) newest = s;
  });
  return newest;
}

}  // namespace nnex
