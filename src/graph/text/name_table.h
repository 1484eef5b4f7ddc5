#pragma once
// What the names of a text stand for: a hash table for many short names, which are views of text that outlives it.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace nnex::graph_text {

/// A list that grows without moving what is in it, nor holding it twice.
template <class T, size_t kChunk = 256>
class ChunkedList {
 public:
  static_assert((kChunk & (kChunk - 1)) == 0);
  ChunkedList() = default;
  ChunkedList(ChunkedList&&) noexcept = default;
  ChunkedList& operator=(ChunkedList&&) noexcept = default;

  T& operator[](size_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const T& operator[](size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  size_t size() const { return size_; }
  T& add() {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<T[]>(kChunk));
    return (*this)[size_++];
  }
  void clear() { chunks_.clear(), size_ = 0; }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  size_t size_ = 0;
};

/// Values by name. Pointers to them stay good while the table lives.
template <class V, size_t kChunk = 256>
class NameTable {
 public:
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.size() == 0; }
  void clear() { entries_.clear(), slots_.clear(); }

  V* find(std::string_view name) {
    const uint32_t at = place(name, hash(name));
    return at == kNone ? nullptr : &entries_[at].value;
  }
  const V* find(std::string_view name) const { return const_cast<NameTable*>(this)->find(name); }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The value of a name, and whether it is new: then it is `V()`.
  std::pair<V*, bool> add(std::string_view name) {
    const uint32_t h = hash(name);
    if (const uint32_t at = place(name, h); at != kNone) return {&entries_[at].value, false};
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    Entry& e = entries_.add();
    e = {name.data(), static_cast<uint32_t>(name.size()), h, V()};
    insert(static_cast<uint32_t>(entries_.size() - 1));
    return {&e.value, true};
  }
  /// False when the name has a value, which stays.
  bool add(std::string_view name, V value) {
    const auto [to, fresh] = add(name);
    if (fresh) *to = std::move(value);
    return fresh;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Entry {
    const char* name = nullptr;
    uint32_t length = 0, hash = 0;
    V value{};
  };

  /// Every table mixes differently, so that no text can be made whose names all collide.
  uint32_t hash(std::string_view s) const {
    constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
    uint64_t h = seed_ ^ s.size();
    const char* p = s.data();
    size_t n = s.size();
    for (; n >= 8; p += 8, n -= 8) h = mixed(h, p, 8) * kMix;
    if (n > 0) h = mixed(h, p, n) * kMix;
    return static_cast<uint32_t>(h >> 32);
  }
  static uint64_t mixed(uint64_t h, const char* p, size_t n) {
    uint64_t word = 0;
    std::memcpy(&word, p, n);
    h ^= word;
    return h ^ (h >> 29);
  }
  uint32_t place(std::string_view name, uint32_t h) const {
    if (slots_.empty()) return kNone;
    const size_t mask = slots_.size() - 1;
    for (size_t i = h & mask; slots_[i] != kNone; i = (i + 1) & mask) {
      const Entry& e = entries_[slots_[i]];
      if (e.hash == h && std::string_view(e.name, e.length) == name) return slots_[i];
    }
    return kNone;
  }
  void insert(uint32_t at) {
    const size_t mask = slots_.size() - 1;
    size_t i = entries_[at].hash & mask;
    while (slots_[i] != kNone) i = (i + 1) & mask;
    slots_[i] = at;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, kNone);
    for (uint32_t i = 0; i < entries_.size(); ++i) insert(i);
  }

  ChunkedList<Entry, kChunk> entries_;
  std::vector<uint32_t> slots_;
  uint64_t seed_ = reinterpret_cast<uintptr_t>(this) * 0xff51afd7ed558ccdu;
};

}  // namespace nnex::graph_text
