#pragma once
// Rows of the table as a program holds them: the items of all lists of a family stand one after another, and a row says
// which are its own. As written, a row is 8 KB of mostly empty places; so it is a few hundred bytes.

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "base/built.h"
#include "ops/built.h"
#include "ops/table.h"

namespace nnex {

/// The shape rule of rows that this build knows by name alone. Error: unsupported.
Status refuse_left_out(InferCall& c);

/// What a row can lack, or name and not have.
enum class RowFault : uint8_t { none, name, summary, infer, rename, preset, port, output_type };

/// The first fault of a row: rows have a name, a summary and a shape rule, and spellings and outputs name ports and
/// fields that the row has.
constexpr RowFault fault_of(const OpRow& row) {
  const auto names_port = [&](std::string_view name) {
    for (const Port& p : row.inputs)
      if (p.name == name) return true;
    return false;
  };
  const auto names_field = [&](std::string_view name) { return row.attrs.find(name) != nullptr; };
  if (row.name.empty()) return RowFault::name;
  if (row.summary.empty()) return RowFault::summary;
  if (!row.infer && row.blocks.empty()) return RowFault::infer;
  for (const SpellingRow& s : row.spelled) {
    for (const Rename& r : s.renames)
      if (!names_port(r.ours) && !names_field(r.ours)) return RowFault::rename;
    for (const Preset& p : s.presets)
      if (!names_field(p.ours)) return RowFault::preset;
    for (std::string_view p : s.ports)
      if (!p.empty() && !names_port(p)) return RowFault::port;
  }
  for (const Port& p : row.outputs)
    if (!p.type.from.empty() && !names_field(p.type.from)) return RowFault::output_type;
  return RowFault::none;
}

namespace detail {

/// A name that compilers print: they show the arguments of a template whose assertion fails.
struct RowName {
  char text[48] = {};
};

template <RowName kName, RowFault kFault>
struct CheckedRow {
  static_assert(kFault != RowFault::name, "a row has no name");
  static_assert(kFault != RowFault::summary, "the row named in CheckedRow<...> has no summary");
  static_assert(kFault != RowFault::infer, "the row named in CheckedRow<...> has neither a shape rule nor blocks");
  static_assert(kFault != RowFault::rename, "a spelling of the row renames what is neither its port nor its field");
  static_assert(kFault != RowFault::preset, "a spelling of the row presets what is no field of it");
  static_assert(kFault != RowFault::port, "a spelling of the row lists what is no port of it");
  static_assert(kFault != RowFault::output_type, "an output of the row has the type of what is no field of it");
};

constexpr RowName printed(std::string_view name) {
  RowName to;
  for (size_t i = 0; i < name.size() && i + 1 < sizeof to.text; ++i) to.text[i] = name[i];
  return to;
}

template <const auto& kRows, size_t... I>
constexpr void check_rows(std::index_sequence<I...>) {
  (static_cast<void>(CheckedRow<printed(kRows[I].name), fault_of(kRows[I])>{}), ...);
}

/// Hands out the items of constant lists in order: counted first, then copied, then found again.
template <class T, size_t N>
struct Pool {
  std::array<T, N> items = {};
  size_t n = 0;

  template <class List>
  constexpr void add(const List& list) {
    for (const auto& item : list) items[n++] = item;
  }
};

template <class T, size_t N>
constexpr std::span<const T> next(const std::array<T, N>& pool, size_t& at, size_t n) {
  at += n;
  return std::span<const T>(pool).subspan(at - n, n);
}

/// visit(spelling) for each of a family.
constexpr void each_spelling(std::span<const OpRow> rows, auto visit) {
  for (const OpRow& row : rows)
    for (const SpellingRow& s : row.spelled) visit(s);
}

struct Counts {
  size_t ports = 0, fields = 0, spellings = 0, renames = 0, presets = 0, words = 0;
};
constexpr Counts counts(std::span<const OpRow> rows) {
  Counts c;
  for (const OpRow& row : rows) {
    c.ports += row.inputs.size() + row.outputs.size();
    c.fields += row.attrs.fields.size();
    c.spellings += row.spelled.size();
  }
  each_spelling(rows, [&](const SpellingRow& s) {
    c.renames += s.renames.size(), c.presets += s.presets.size(), c.words += s.ports.size();
  });
  return c;
}

/// What is left of a row that this build knows by name alone.
constexpr void leave_out(OpRow& row) {
  Port any;
  any.type.any_value = true;
  any.arity = Arity::variadic;
  row.inputs = {any}, row.outputs = {any};
  row.attrs.fields = {};
  row.attrs.make = nullptr, row.attrs.copy = nullptr;
  row.infer = refuse_left_out;
  row.precision = nullptr, row.interval = nullptr, row.reference = {}, row.body = {};
  for (size_t i = 0; i < row.spelled.size(); ++i) {
    SpellingRow& s = row.spelled.item[i];
    s.renames = {}, s.presets = {}, s.ports = {};
  }
}

/// Kernels of types that this build does not run on. Those that move elements by their width stay.
constexpr void leave_out_types(Reference& r) {
  if (r.choice != Reference::Choice::by_type) return;
  List<TypedKernel, 12> kept;
  for (const TypedKernel& k : r.kernels)
    if (runs_on(k.type)) kept.item[kept.n++] = k;
  r.kernels = kept;
}

template <const auto& kWritten>
struct Stored {
  static constexpr auto kRows = [] {
    std::array<OpRow, std::size(kWritten)> rows = {};
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = kWritten[i];
      if (!is_known(rows[i].name)) leave_out(rows[i]);
    }
    return rows;
  }();
  static constexpr Counts kCounts = counts(kRows);

  static constexpr auto kPorts = [] {
    Pool<Port, kCounts.ports> pool;
    for (const OpRow& row : kRows) pool.add(row.inputs), pool.add(row.outputs);
    for (Port& port : pool.items)
      if (!kDescribes) port.doc = {};
    return pool.items;
  }();
  static constexpr auto kFields = [] {
    Pool<Field, kCounts.fields> pool;
    for (const OpRow& row : kRows) pool.add(row.attrs.fields);
    for (Field& field : pool.items)
      if (!kDescribes) field.doc = {};
    return pool.items;
  }();
  static constexpr auto kRenames = [] {
    Pool<Rename, kCounts.renames> pool;
    each_spelling(kRows, [&](const SpellingRow& s) { pool.add(s.renames); });
    return pool.items;
  }();
  static constexpr auto kPresets = [] {
    Pool<Preset, kCounts.presets> pool;
    each_spelling(kRows, [&](const SpellingRow& s) { pool.add(s.presets); });
    return pool.items;
  }();
  static constexpr auto kWords = [] {
    Pool<std::string_view, kCounts.words> pool;
    each_spelling(kRows, [&](const SpellingRow& s) { pool.add(s.ports); });
    return pool.items;
  }();

  static constexpr auto kSpellings = [] {
    std::array<Spelling, kCounts.spellings> all = {};
    size_t n = 0, renames = 0, presets = 0, words = 0;
    each_spelling(kRows, [&](const SpellingRow& s) {
      all[n++] = {s.format,
                  s.name,
                  next(kRenames, renames, s.renames.size()),
                  s.since,
                  s.domain,
                  next(kPresets, presets, s.presets.size()),
                  next(kWords, words, s.ports.size())};
    });
    return all;
  }();
  static constexpr auto kOps = [] {
    std::array<OpDef, std::size(kRows)> all = {};
    size_t n = 0, ports = 0, fields = 0, spellings = 0;
    for (const OpRow& row : kRows) {
      OpDef& op = all[n++];
      op.name = row.name;
      if (kDescribes) op.summary = row.summary, op.source = row.source;
      op.inputs = next(kPorts, ports, row.inputs.size());
      op.outputs = next(kPorts, ports, row.outputs.size());
      op.blocks = row.blocks;
      op.attrs = {next(kFields, fields, row.attrs.fields.size()), row.attrs.make, row.attrs.copy, row.attrs.type};
      op.infer = row.infer, op.precision = row.precision, op.interval = row.interval;
      op.reference = row.reference, op.body = row.body;
      if (!is_built(row.name)) op.precision = nullptr, op.interval = nullptr, op.reference = {};
      leave_out_types(op.reference);
      op.spelled = next(kSpellings, spellings, row.spelled.size());
      op.pure = row.pure, op.elementwise = row.elementwise, op.view = row.view, op.in_bytes = row.in_bytes;
      op.elements = row.elements, op.layout = row.layout, op.work = row.work;
    }
    return all;
  }();
};

}  // namespace detail

/// The rows of a family, which are checked where they are compiled.
template <const auto& kRows>
std::span<const OpDef> stored() {
  detail::check_rows<kRows>(std::make_index_sequence<std::size(kRows)>());
  return detail::Stored<kRows>::kOps;
}

}  // namespace nnex
