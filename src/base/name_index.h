#pragma once
// What a table has under a name, found without a walk through it.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace nnex {

/// Items by their names, which outlive it. Items of one name keep the order in which they were added.
template <class T>
class NameIndex {
 public:
  void add(std::string_view name, T item) {
    entries_.push_back({name, std::move(item), hash_of(name), kNone});
    if (entries_.size() > first_.size()) {
      first_.assign(first_.empty() ? kFewest : 2 * first_.size(), kNone);
      for (uint32_t i = 0; i < entries_.size(); ++i) link(i);
    } else {
      link(static_cast<uint32_t>(entries_.size()) - 1);
    }
  }

  /// Calls f(item) for each item of that name.
  template <class F>
  void each(std::string_view name, F f) const {
    if (first_.empty()) return;
    for (uint32_t i = first_[place_of(hash_of(name))]; i != kNone; i = entries_[i].next)
      if (entries_[i].name == name) f(entries_[i].item);
  }

  /// The first item of that name; null: there is none.
  const T* find(std::string_view name) const {
    const T* found = nullptr;
    each(name, [&](const T& item) { found = found ? found : &item; });
    return found;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kFewest = 256;

  struct Entry {
    std::string_view name;
    T item;
    size_t hash;
    uint32_t next;  ///< In the same place.
  };

  static size_t hash_of(std::string_view name) { return std::hash<std::string_view>()(name); }
  size_t place_of(size_t hash) const { return hash & (first_.size() - 1); }

  void link(uint32_t i) {
    uint32_t* end = &first_[place_of(entries_[i].hash)];
    while (*end != kNone) end = &entries_[*end].next;
    *end = i, entries_[i].next = kNone;
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> first_;  ///< A power of two of them.
};

}  // namespace nnex
