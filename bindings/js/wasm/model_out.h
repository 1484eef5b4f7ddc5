#pragma once
// What JavaScript gets of models: plain values in the shapes of packages/nnex/src/model/native.ts.

#include <optional>
#include <type_traits>

#include "nnex/check.h"
#include "nnex/inspect.h"
#include "nnex/metadata.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "wire.h"

namespace nnex::wasm {

void put(Reply& to, const std::vector<PortInfo>& ports);
void put(Reply& to, const Metadata& m);
void put(Reply& to, const std::vector<NodeTime>& times);
void put(Reply& to, const CheckReport& r);
void put(Reply& to, const Inspection& i);
void put(Reply& to, const SaveReport& r);
/// Files and values: the bytes are where they are, and are copied before the next call.
void put(Reply& to, const std::vector<NamedBytes>& files);
void put(Reply& to, const Value& value);
void put(Reply& to, const std::vector<Value>& values);

inline void put(Reply& to, std::string_view text) {
  to.kind(Kind::text);
  to.text(text);
}
inline void put(Reply& to, const std::string& text) { put(to, std::string_view(text)); }
template <class T>
requires std::is_arithmetic_v<T>
void put(Reply& to, T v) {
  if constexpr (std::is_same_v<T, bool>) {
    to.kind(v ? Kind::yes : Kind::no);
  } else {
    to.kind(Kind::number);
    to.f64(static_cast<double>(v));
  }
}
template <class T>
void put(Reply& to, const std::optional<T>& v) {
  if (v)
    put(to, *v);
  else
    to.kind(Kind::null);
}
/// A list of what f puts for each item.
template <class List, class F>
void put_each(Reply& to, const List& list, F f) {
  to.kind(Kind::list);
  to.u32(static_cast<uint32_t>(list.size()));
  for (const auto& item : list) f(item);
}
template <class T>
void put(Reply& to, const std::vector<T>& list) {
  put_each(to, list, [&](const T& item) { put(to, item); });
}

/// An object, member by member; it ends with this.
class Object {
 public:
  explicit Object(Reply& to) : to_(to) { to_.kind(Kind::object); }
  ~Object() { to_.u8(0); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  template <class T>
  Object& set(std::string_view name, const T& value) {
    begin(name);
    put(to_, value);
    return *this;
  }
  /// The member that f puts.
  template <class F>
  Object& with(std::string_view name, F f) {
    begin(name);
    f();
    return *this;
  }

 private:
  void begin(std::string_view name) {
    to_.u8(1);
    to_.text(name);
  }
  Reply& to_;
};

}  // namespace nnex::wasm
