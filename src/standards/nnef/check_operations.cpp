// Rules of operations that have no window.

#include "standards/nnef/check_operations.h"

#include <algorithm>
#include <array>

#include "standards/nnef/check_call.h"
#include "standards/nnef/types.h"

namespace nnex::nnef_format {

std::string label_key(std::string_view label) {
  std::string key(label);
  for (char& c : key)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return key;
}

SharedLabel& VariableTable::add(std::string_view label, TensorId variable) {
  std::string_view key = label;
  if (std::any_of(label.begin(), label.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    key = key_ = label_key(label);
  const uint32_t* known = by_key_.find(key);
  uint32_t at = known ? *known : static_cast<uint32_t>(list_.size());
  if (!known) {
    SharedLabel& shared = list_.add();
    shared.written = texts_.copy(label);
    shared.key = key.data() == label.data() ? shared.written : texts_.copy(key);
    shared.first = variable;
    by_key_.add(shared.key, at);
  }
  variables_.push_back({variable.n, at});
  return list_[at];
}

SharedLabel* VariableTable::find(TensorId variable) {
  const auto at = std::lower_bound(variables_.begin(), variables_.end(), variable.n,
                                   [](const Variable& v, uint32_t n) { return v.tensor < n; });
  return at == variables_.end() || at->tensor != variable.n ? nullptr : &list_[at->label];
}

bool countable(const Ints& extents) {
  int64_t volume = 1;
  for (int64_t n : extents)
    if (__builtin_mul_overflow(volume, n, &volume) || volume > (int64_t{1} << 58)) return false;
  return true;
}

bool stretch(Ints& to, const Ints& by) {
  const size_t both = std::min(to.size(), by.size());
  for (size_t i = 0; i < both; ++i)
    if (to[i] != by[i] && to[i] != 1 && by[i] != 1) return false;
  for (size_t i = 0; i < both; ++i)
    if (to[i] == 1) to[i] = by[i];
  if (by.size() > both) to.insert(to.end(), by.begin() + static_cast<ptrdiff_t>(both), by.end());
  return true;
}

bool broadcasts_to(const Ints& from, const Ints& to) {
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && (i >= to.size() || from[i] != to[i])) return false;
  return true;
}

namespace {

// ---- Introducing operations

Status positive(CheckCall& c, const IntList& shape) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] <= 0)
      return c.fault("O-INTRO-1", "shape {} has extent {} at dimension {}; needed 1 or more", text(shape.ints()),
                     shape[i], i);
  return {};
}

constexpr auto kLabelChars = [] {
  std::array<bool, 256> out{};
  for (char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/\\-"))
    out[static_cast<size_t>(c)] = true;
  return out;
}();
bool is_label_char(char c) { return kLabelChars[static_cast<unsigned char>(c)]; }

}  // namespace

Status check_external(CheckCall& c) {
  const IntList shape = c.ints("shape");
  NNEX_TRY(positive(c, shape));
  return c.give(shape.ints());
}

Status check_constant(CheckCall& c) {
  const IntList shape = c.ints("shape");
  NNEX_TRY(positive(c, shape));
  NNEX_TRY(c.give(shape.ints()));
  int64_t volume = 1;
  for (size_t i = 0; i < shape.size(); ++i) volume *= shape[i];
  const Arg& value = c.arg("value");
  const size_t found = value.is_list() ? value.items().size() : 1;
  if (found != 1 && static_cast<int64_t>(found) != volume)
    return c.fault("O-CONST-1", "value has {} items; shape {} needs {}, or one for all", found, text(shape.ints()),
                   volume);
  return {};
}

Status check_variable(CheckCall& c) {
  const IntList shape = c.ints("shape");
  NNEX_TRY(positive(c, shape));
  const std::string_view label = c.word("label");
  if (label.empty()) return c.fault("O-VAR-1", "label is empty; needed a name");
  for (char ch : label)
    if (!is_label_char(ch))
      return c.fault("O-VAR-1", "label '{}' has the character '{}'; needed letters, digits and . _ / \\ -", label, ch);
  NNEX_TRY(c.give(shape.ints()));
  const TensorId variable = c.op().results[0].tensor();
  const SharedLabel& shared = c.variables.add(label, variable);
  const TensorInfo &own = c.tensors()[variable], &first = c.tensors()[shared.first];
  if (own.extents != first.extents)
    return c.fault("A14", "label '{}' has shape {}; another variable with the label '{}' has {}, and they share data",
                   label, text(own.extents), shared.written, text(first.extents));
  if (own.type != first.type)
    return c.fault("A14", "label '{}' is {}; another variable with the label '{}' is {}, and they share data", label,
                   name(own.type), shared.written, name(first.type));
  return {};
}

Status check_update(CheckCall& c) {
  const Arg& variable = c.arg("variable");
  const Ints &to = c.extents(variable), &from = c.extents("value");
  if (to != from)
    return c.fault("O-UPD-1", "the variable has shape {}, the value {}; needed the same", text(to), text(from));
  if (variable.is_tensor()) {
    if (SharedLabel* shared = c.variables.find(variable.tensor())) {
      if (shared->updated)
        return c.fault("A13", "the variable '{}' is updated already; needed one update for each label",
                       shared->written);
      shared->updated = true;
    }
  }
  return c.give(to);
}

// ---- Tensors that meet

std::string misfit_text(const Operation& op, const Tensors& tensors) {
  Ints met;
  std::string_view before;
  constexpr std::string_view kItem = "an item";
  const auto& names = op.declaration->parameters;
  const auto misfit = [&](const Arg& a, std::string_view name) -> std::string {
    const Ints& next = extents_of(a, tensors);
    if (before.empty() || stretch(met, next)) {
      if (before.empty()) met = next;
      before = before.empty() && name != kItem ? name : "what comes before";
      return {};
    }
    size_t at = 0;
    while (met[at] == next[at] || met[at] == 1 || next[at] == 1) ++at;
    std::string hint;
    const Ints &small = met.size() < next.size() ? met : next, &large = met.size() < next.size() ? next : met;
    if (small.size() < large.size()) {
      Ints moved(large.size() - small.size(), 1);
      moved.insert(moved.end(), small.begin(), small.end());
      if (Ints both = moved; stretch(both, large))
        hint = fmt::format("; extents meet from dimension 0, so {} would have to be {}", text(small), text(moved));
    }
    return fmt::format("{} has shape {}, {} has {}; at dimension {} found {} and {}, needed equal extents or a 1{}",
                       before, text(met), name, text(next), at, met[at], next[at], hint);
  };
  for (size_t i = 0; i < op.args.size(); ++i) {
    if (!has_tensor(*names[i].type)) continue;
    const bool list = op.args[i].is_list();
    for (const Arg& a : list ? op.args[i].items() : op.args.subspan(i, 1))
      if (std::string said = misfit(a, list ? kItem : names[i].name); !said.empty()) return said;
  }
  return {};
}

/// The result has the shape of the first argument: all other tensors stretch to it.
Status check_stretch_to_first(CheckCall& c) {
  const Ints& x = c.extents(c.op().args[0]);
  const auto& parameters = c.op().declaration->parameters;
  for (size_t i = 1; i < parameters.size() && has_tensor(*parameters[i].type); ++i)
    if (const Ints& p = c.extents(c.op().args[i]); !broadcasts_to(p, x))
      return c.fault(c.rule, "{} has shape {}, which does not stretch to {} of the input", parameters[i].name, text(p),
                     text(x));
  return {};
}

/// Matrices in the last two dimensions of equal ranks.
Status check_matrices(CheckCall& c) {
  const Ints &a = c.extents(c.op().args[0]), &b = c.extents(c.op().args[1]);
  if (a.size() == b.size() && a.size() >= 2) return {};
  return c.fault(c.rule, "the operands have shapes {} and {}; needed equal ranks of 2 or more", text(a), text(b));
}

// ---- Axes

namespace {

/// Every axis that the call names is there, counted from 0, and named once. `added`: axes of the result alone.
Status check_axes(CheckCall& c, size_t added) {
  const Arg& first = c.op().args[0];
  if (first.is_list() && first.items().empty()) return {};
  const auto rank = static_cast<int64_t>(c.extents(first.is_list() ? first.items()[0] : first).size() + added);
  const bool many = c.has("axes");
  const Arg& named = c.arg(many ? "axes" : "axis");
  std::vector<int64_t> seen;
  for (const Arg& a : many ? named.items() : std::span<const Arg>(&named, 1)) {
    const int64_t axis = a.integer();
    if (axis < 0 || axis >= rank)
      return c.fault(c.rule, "{} {}; the {} rank {}, so axes go from 0 to {}", many ? "axes names axis" : "axis is",
                     axis, added ? "result has" : "input has", rank, rank - 1);
    seen.push_back(axis);
  }
  std::sort(seen.begin(), seen.end());
  if (const auto twice = std::adjacent_find(seen.begin(), seen.end()); twice != seen.end())
    return c.fault(c.rule, "axes names axis {} twice", *twice);
  return {};
}

}  // namespace

Status check_axes(CheckCall& c) { return check_axes(c, 0); }
Status check_new_axes(CheckCall& c) { return check_axes(c, c.has("axes") ? c.ints("axes").size() : 1); }

// ---- Moves

Status check_reshape(CheckCall& c) {
  const auto rank = static_cast<int64_t>(c.extents("input").size());
  const int64_t start = c.integer("axis_start"), count = c.integer("axis_count");
  if (start < 0 || start > rank)
    return c.fault("O-RESH-1", "axis_start is {}; the input has rank {}, needed 0 to {}", start, rank, rank);
  if (count < -1) return c.fault("O-RESH-2", "axis_count is {}; needed -1 (all that follow) or 0 or more", count);
  if (count > rank - start)
    return c.fault("O-RESH-2", "axis_start {} and axis_count {} end beyond rank {}", start, count, rank);
  return {};
}

/// As many axes as are named, in another order; those that follow stay.
Status check_transpose(CheckCall& c) {
  const Ints axes = c.ints("axes").ints();
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i))
      return c.fault(c.rule, "axes {} is no order of the numbers 0 to {}", text(axes), axes.size() - 1);
  return {};
}

Status check_split(CheckCall& c) {
  NNEX_TRY(check_axes(c));
  const IntList ratios = c.ints("ratios");
  for (size_t i = 0; i < ratios.size(); ++i)
    if (ratios[i] <= 0) return c.fault(c.rule, "ratios has {} at item {}; needed 1 or more", ratios[i], i);
  if (ratios.empty()) return c.fault(c.rule, "ratios is empty; needed one item or more");
  return c.count_items(static_cast<int64_t>(ratios.size()));
}

Status check_unstack(CheckCall& c) {
  NNEX_TRY(check_axes(c));
  return c.count_items(c.extents("value")[static_cast<size_t>(c.integer("axis"))]);
}

Status check_copies(CheckCall& c) {
  const int64_t times = c.integer("times");
  if (times < 1) return c.fault(c.rule, "times is {}; needed 1 or more", times);
  return c.count_items(times);
}

namespace {

/// Whether a slice of an axis of n elements goes the way of its stride.
Status check_range(CheckCall& c, int64_t begin, int64_t end, int64_t stride, int64_t axis, int64_t n, bool to_the_end) {
  if (stride == 0) return c.fault("O-SLICE-2", "stride is 0 at axis {}; needed another number", axis);
  const auto counted = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, -1, n); };
  const int64_t first = counted(begin), last = to_the_end && end == 0 ? n : counted(end);
  if (stride > 0 ? last < first : first < last) {
    if (end == 0 && stride > 0)
      return c.fault("O-SLICE-5",
                     "end is 0 at axis {}, which means the end only where all strides are 1; found stride {} (write "
                     "end = {})",
                     axis, stride, n);
    return c.fault("O-SLICE-4", "axis {} of extent {}: from {} to {} by stride {} goes the wrong way", axis, n, begin,
                   end, stride);
  }
  if (stride < 0 && first >= n && first != last)
    return c.fault("O-SLICE-3", "axis {} of extent {}: begin is {}; backwards it starts at {} at most", axis, n, begin,
                   n - 1);
  return {};
}

}  // namespace

Status check_slice(CheckCall& c) {
  const Ints& x = c.extents("input");
  const IntList axes = c.ints("axes"), begin = c.ints("begin"), end = c.ints("end"), stride = c.ints("stride");
  if (begin.size() != axes.size() || end.size() != axes.size() || (!stride.empty() && stride.size() != axes.size()))
    return c.fault(c.rule, "axes has {} items, begin {}, end {}, stride {}; needed equal numbers (no stride: 1)",
                   axes.size(), begin.size(), end.size(), stride.size());
  NNEX_TRY(check_axes(c));
  bool unit = true;
  for (size_t i = 0; i < stride.size(); ++i) unit &= stride[i] == 1;
  for (size_t i = 0; i < axes.size(); ++i)
    NNEX_TRY(check_range(c, begin[i], end[i], stride.at(i, 1), axes[i], x[static_cast<size_t>(axes[i])], unit));
  return {};
}

Status check_pad(CheckCall& c) {
  NNEX_TRY(check_border(c, kValueBorders, c.rule, c.rule));
  const Ints& x = c.extents("input");
  const PairList padding = c.pairs("padding");
  if (padding.size() != x.size())
    return c.fault(c.rule, "padding has {} pairs; the input {} has rank {}", padding.size(), text(x), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const auto [before, after] = padding[i];
    int64_t n = 0;
    if (__builtin_add_overflow(before, after, &n) || __builtin_add_overflow(n, x[i], &n) || n <= 0)
      return c.fault(c.rule, "dimension {} of extent {} padded by ({},{}) has no elements left, or too many", i, x[i],
                     before, after);
  }
  return {};
}

Status check_tile(CheckCall& c) {
  const IntList repeats = c.ints("repeats");
  for (size_t i = 0; i < repeats.size(); ++i)
    if (repeats[i] <= 0) return c.fault(c.rule, "repeats has {} at item {}; needed 1 or more", repeats[i], i);
  return {};
}

}  // namespace nnex::nnef_format
