// Rows through what works item by item, through products, and where indices name elements.

#include "api/node_rows.h"
#include "ops/attention.h"
#include "ops/einsum.h"
#include "ops/matmul.h"

namespace nnex {

// ---- Items along axis 0 ----

NodeRows::Axes NodeRows::of_items() { return !only({0}) ? unknown() : axis(0) == 0 ? at(0) : along(); }

NodeRows::Axes NodeRows::of_all_items() {
  for (size_t i = 0; i < in_.size(); ++i) {
    if (rows(i) && axis(i) != 0) return along();
    if (given(i) && !rows(i) && !is_parameter(i)) return unknown();
  }
  return at(0);
}

NodeRows::Axes NodeRows::of_deform_conv() { return are_items({0, 2, 4}) ? at(0) : unknown(); }

NodeRows::Axes NodeRows::of_causal_conv() { return are_items({0, 3}) ? at(0) : unknown(); }

bool NodeRows::are_items(std::initializer_list<size_t> with) const {
  return only(with) &&
         std::all_of(with.begin(), with.end(), [&](size_t i) { return !given(i) || (rows(i) && axis(i) == 0); });
}

NodeRows::Axes NodeRows::of_attention() {
  namespace port = attention_port;
  const size_t mask = port::mask;
  if (!given(mask) || !rows(mask)) {
    const bool shared = rank(mask) < 4 || (*dims(mask))[0] == Dim(1);
    return shared && are_items({port::q, port::k, port::v, port::past_key, port::past_value, port::lengths})
               ? at(0)
               : unknown();
  }
  const bool fits =
      rank(mask) == 4 && are_items({port::q, port::k, port::v, mask, port::past_key, port::past_value, port::lengths});
  return fits ? at(0) : unknown();
}

NodeRows::Axes NodeRows::of_rotary() {
  const bool chosen = given(3);
  if (!rows(0) || axis(0) != 0) return along();
  for (size_t i = 1; i < in_.size(); ++i) {
    if (!given(i)) continue;
    const bool is_table = i < 3;
    const bool whole = !rows(i) && (is_table && (chosen || rank(i) < 3) ? true : (*dims(i))[0] == Dim(1));
    const bool item = rows(i) && axis(i) == 0 && (is_table ? !chosen && rank(i) == 3 : rank(i) == 2);
    if (!whole && !item) return unknown();
  }
  return at(0);
}

NodeRows::Axes NodeRows::of_recurrent() {
  const bool cell = op_.input("lengths") < 0;
  for (size_t i = 0; i < in_.size(); ++i) {
    if (!given(i)) continue;
    const std::string_view name = op_.inputs[i].name;
    const bool is_state = name == "x" || name == "h0" || name == "c0";
    if (!is_state && name != "lengths" && rows(i)) return unknown();
    if ((is_state || name == "lengths") && !rows(i)) return unknown();
    if (rows(i) && axis(i) != (is_state && !cell ? 1 : 0)) return along();
  }
  std::vector<int64_t> out;
  for (size_t o = 0; o < node_.out.size(); ++o) out.push_back(cell ? 0 : op_.outputs[o].name == "y" ? 2 : 1);
  return out;
}

NodeRows::Axes NodeRows::of_table() { return only({0}) && rank(0) == 2 && axis(0) == 0 ? at(0) : unknown(); }

NodeRows::Axes NodeRows::of_matrices() { return only({0}) && axis(0) + 2 < rank(0) ? at(axis(0)) : along(); }

// ---- Products ----

NodeRows::Axes NodeRows::of_matmul() {
  const auto second = static_cast<size_t>(op_.input("y"));
  const Dims* z = out_dims();
  if (!only({0, second}) || rank(0) < 2 || rank(second) < 2 || !z) return unknown();
  for (size_t i = 0; i < in_.size(); ++i)  // scales and zero points are one number, or one for each column
    if (i != 0 && i != second && rank(i) > 0 && op_.inputs[i].name[0] != 'y' && !(product(*dims(i)) == Dim(1)))
      return unknown();
  const auto size = static_cast<int64_t>(z->size());
  const bool turned[] = {attr<bool>("transposeA", false), attr<bool>("transposeB", false)};
  std::optional<int64_t> found;
  for (size_t i : {size_t{0}, second}) {
    if (!rows(i)) continue;
    int64_t here = axis(i) + size - rank(i);
    if (axis(i) + 2 >= rank(i)) {
      const bool kept_first = i == 0, is_first = (axis(i) + 2 == rank(i)) != turned[i == 0 ? 0 : 1];
      if (kept_first != is_first) return along();
      here = kept_first ? size - 2 : size - 1;
    }
    if (found && *found != here) return along();
    found = here;
  }
  const bool outside = *found + 2 < size;
  for (size_t i : {size_t{0}, second}) {
    const int64_t here = *found - size + rank(i);
    if (rows(0) && rows(second) && !outside) return along();
    if (!rows(i) && outside && here >= 0 && !((*dims(i))[static_cast<size_t>(here)] == Dim(1))) return unknown();
  }
  return at(*found);
}

NodeRows::Axes NodeRows::of_linear() {
  if (!only({0, 2}) || !rows(0) || rank(0) != 2) return unknown();
  if (axis(0) != (attrs<LinearAttrs>().transpose_a ? 1 : 0)) return along();
  if (rows(2)) return rank(2) == 2 && axis(2) == 0 ? at(0) : along();
  return rank(2) < 2 || (*dims(2))[0] == Dim(1) ? at(0) : unknown();
}

NodeRows::Axes NodeRows::of_gather_matmul() {
  const Dims* y = out_dims();
  if (!only({0, 2}) || !y) return unknown();
  const auto size = static_cast<int64_t>(y->size());
  const int64_t shift[] = {size - rank(0), 0, size - 1 - rank(2)};
  const size_t first = rows(0) ? 0 : 2;
  const int64_t found = axis(first) + shift[first];
  if (found == size - 1) return along();
  for (size_t i : {size_t{0}, size_t{2}}) {
    const int64_t here = found - shift[i];
    if (rows(i) ? axis(i) != here : here >= 0 && !((*dims(i))[static_cast<size_t>(here)] == Dim(1))) return unknown();
  }
  return at(found);
}

NodeRows::Axes NodeRows::of_einsum() {
  std::vector<Shape> ones;
  for (size_t i = 0; i < in_.size(); ++i) {
    if (rank(i) < 0) return unknown();
    ones.emplace_back(std::vector<int64_t>(static_cast<size_t>(rank(i)), 1));
  }
  const auto indices = einsum_indices(attr<std::string>("equation", {}), ones);
  if (!indices.ok()) return unknown();
  std::optional<size_t> found;
  for (size_t i = 0; i < in_.size(); ++i) {
    if (!rows(i)) continue;
    const size_t here = indices->operands[i][static_cast<size_t>(axis(i))];
    if (found && *found != here) return along();
    found = here;
  }
  for (size_t i = 0; i < in_.size(); ++i) {
    const auto& of = indices->operands[i];
    if (std::count(of.begin(), of.end(), *found) != (rows(i) ? 1 : 0)) return unknown();
  }
  const auto place = std::find(indices->result.begin(), indices->result.end(), *found);
  return place == indices->result.end() ? along() : at(place - indices->result.begin());
}

// ---- Elements that indices name ----

NodeRows::Axes NodeRows::of_gather() {
  const int64_t over = positive(attr<int64_t>("axis", 0), rank(0));
  if (rank(0) < 0 || rank(1) < 0) return unknown();
  if (rows(0) && rows(1)) return along();
  if (rows(1)) return at(over + axis(1));
  return over == axis(0) ? along() : at(axis(0) + (axis(0) > over ? rank(1) - 1 : 0));
}

NodeRows::Axes NodeRows::of_gather_elements() {
  const bool over = rows(1) && positive(attr<int64_t>("axis", 0), rank(0)) == axis(1);
  if (rows(0) && rows(1)) return axis(0) == axis(1) && !over ? at(axis(0)) : along();
  return rows(1) && over ? at(axis(1)) : unknown();
}

NodeRows::Axes NodeRows::of_gather_nd() {
  const int64_t shared = attr<int64_t>("batch_dims", 0);
  if (!rows(1) || axis(1) + 1 >= rank(1)) return along();
  if (rows(0)) return axis(0) == axis(1) && axis(0) < shared ? at(axis(0)) : along();
  return axis(1) >= shared ? at(axis(1)) : unknown();
}

NodeRows::Axes NodeRows::of_one_hot() {
  const int64_t place = positive(attr<int64_t>("axis", -1), rank(0) + 1);
  return only({0}) ? at(axis(0) + (place <= axis(0) ? 1 : 0)) : unknown();
}

}  // namespace nnex
