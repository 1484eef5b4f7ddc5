// Operations that move elements, on their way to the table (operators.md 2.9, 4.5, 4.6).

#include "formats/nnef/lower_call.h"

namespace nnex::nnef_format {
namespace {

/// A list of fewer axes leaves the others where they are.
Status transpose(LowerCall& c) {
  Ints axes = c.ints("axes");
  for (size_t i = axes.size(); i < c.rank("input"); ++i) axes.push_back(static_cast<int64_t>(i));
  if (axes.empty()) {
    c.give(c.make("copy", c.in, element_type(c.result().type), c.result().extents));
    return {};
  }
  c.set("axes", std::move(axes));
  return {};
}

/// An end of 0 is the end of the axis where all strides are 1 (deprecated since 1.0.4).
Status slice(LowerCall& c) {
  const Ints stride = c.ints("stride");
  bool unit = true;
  for (int64_t s : stride) unit &= s == 1;
  if (stride.empty()) c.drop("stride");
  Ints end = c.ints("end");
  for (int64_t& e : end)
    if (e == 0 && unit) e = INT64_MAX;
  c.set("end", std::move(end));
  return {};
}

Status cast(LowerCall& c) {
  if (c.op.generic == ItemType::string) return c.error("strings cannot be computed with");
  c.set("to", element_type(c.op.generic));
  return {};
}

Status copies(LowerCall& c) {
  const auto results = c.op.results[0].items();
  const ValueId x = c.in[0];
  c.attrs.clear();
  for (const Arg& r : results) {
    Operation one = c.op;
    one.results = std::span<const Arg>(&r, 1);
    LowerCall copy(c.graph(), one, c.tensors(), c.b.where());
    copy.in = {x};
    NNEX_TRY(copy.plain("copy_n"));
  }
  c.done = true;
  return {};
}

constexpr LowerRow kRows[] = {
    {"transpose", transpose},
    {"slice", slice},
    {"cast", cast},
    {"copy_n", copies},
};

}  // namespace

std::span<const LowerRow> lower_move_rows() { return kRows; }

}  // namespace nnex::nnef_format
