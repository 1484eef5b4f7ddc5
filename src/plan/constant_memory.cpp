#include "plan/constant_memory.h"

#include <algorithm>
#include <set>

#include "base/mapped_file.h"
#include "graph/late.h"

namespace nnex::plan {
namespace {

constexpr int64_t kMinBytes = 16 * 1024;  ///< Smaller constants stay: they have few pages of their own.

/// A dense constant's memory, of a late one that of what it is made of; null for others.
const Tensor* memory_of(const ir::Graph& graph, ValueId v) {
  const LateConstant* late = graph.late(v);
  const Tensor* t = late ? &late->source : graph[v].constant.tensor();
  return t && t->bytes() > 0 && t->data() && !is_object(t->dtype()) ? t : nullptr;
}

}  // namespace

void ConstantMemory::release_files() const {
  std::set<const MappedFile*> files;
  for (uint32_t n = 0; n < graph_.value_count(); ++n)
    if (const Tensor* t = memory_of(graph_, ValueId{n}))
      if (const MappedFile* file = file_of(t->owner()); file && files.insert(file).second)
        file->release_pages(0, file->bytes().size());
}

void ConstantMemory::allow_loss(bool alone) {
  alone_ = alone;
  if (!alone) move_small();
  loss_allowed_ = true;
}

/// The smallest, as many as take an eighth of all: which of the others will be packed is not known yet.
void ConstantMemory::move_small() {
  std::vector<std::pair<int64_t, ValueId>> held;
  int64_t room = 0;
  for (uint32_t n = 0; n < graph_.value_count(); ++n) {
    const Tensor* t = graph_.late(ValueId{n}) ? nullptr : memory_of(graph_, ValueId{n});
    if (t && t->owned() && !file_of(t->owner())) held.emplace_back(t->bytes(), ValueId{n}), room += t->bytes() / 8;
  }
  std::sort(held.begin(), held.end());
  for (const auto& [bytes, v] : held) {
    if ((room -= bytes) < 0) return;
    auto copy = graph_[v].constant.tensor()->clone();
    if (!copy.ok()) return;
    graph_.make_constant(v, Value(*std::move(copy)));
  }
}

void ConstantMemory::packed(ValueId v, bool only_plan) {
  const Tensor* t = memory_of(graph_, v);
  if (!t || t->bytes() < kMinBytes) return;
  if (release_pages(t->owner(), t->data(), static_cast<uint64_t>(t->bytes()))) return;
  if (!only_plan || !loss_allowed_) return;
  if (!found_) find_pieces();
  const auto at = piece_of_.find(v.n);
  if (at == piece_of_.end()) return;
  Piece& piece = pieces_[at->second];
  if (--piece.readers == 0) lose(piece);
}

void ConstantMemory::keep(ValueId v, Tensor made, bool only_plan) {
  packed(v, only_plan);
  if (const auto at = piece_of_.find(v.n); at != piece_of_.end()) {
    std::erase(pieces_[at->second].values, v);
    piece_of_.erase(at);
  }
  graph_.make_constant(v, Value(std::move(made)));
}

Status ConstantMemory::keep_late() {
  Team alone;
  for (uint32_t n = 0; n < graph_.value_count(); ++n) {
    const LateConstant* late = graph_.late(ValueId{n});
    if (!late) continue;
    Tensor room;
    NNEX_ASSIGN(Tensor made, late->make(alone, room));
    keep(ValueId{n}, std::move(made), false);
  }
  return {};
}

void ConstantMemory::find_pieces() {
  found_ = true;
  std::vector<std::pair<const std::byte*, ValueId>> all;
  for (uint32_t n = 0; n < graph_.value_count(); ++n)
    if (const Tensor* t = memory_of(graph_, ValueId{n})) all.emplace_back(t->data(), ValueId{n});
  std::sort(all.begin(), all.end());
  for (const auto& [begin, v] : all) {
    const std::byte* const end = begin + memory_of(graph_, v)->bytes();
    if (pieces_.empty() || begin >= pieces_.back().end) pieces_.push_back({begin, end, {}, 0});
    Piece& piece = pieces_.back();
    piece.end = std::max(piece.end, end);
    piece.values.push_back(v);
    piece.readers += graph_[v].uses.size();
    piece_of_[v.n] = pieces_.size() - 1;
  }
}

void ConstantMemory::lose(const Piece& piece) {
  if (alone_) discard_pages(piece.begin, static_cast<uint64_t>(piece.end - piece.begin));
  for (ValueId v : piece.values) {
    const Tensor& t = *graph_[v].constant.tensor();
    graph_.make_constant(v, nnex::Value(Tensor::borrow(t.dtype(), t.shape(), nullptr)));
  }
}

Result<Value> AlignedConstants::get(ValueId v) {
  std::lock_guard lock(mutex_);
  auto it = made_.find(v.n);
  if (it != made_.end()) return it->second;
  Value value = graph_[v].constant;
  if (const Tensor* t = value.tensor(); t && !t->aligned()) {
    NNEX_ASSIGN(Tensor copy, t->aligned_copy());
    release_pages(t->owner(), t->data(), static_cast<uint64_t>(t->bytes()));
    value = Value(std::move(copy));
  }
  return made_.emplace(v.n, std::move(value)).first->second;
}

}  // namespace nnex::plan
