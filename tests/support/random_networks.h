#pragma once
// Networks made at random, one for each seed, through include/nnex alone: what random_networks_test runs.

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/graph.h"

namespace nnex::test {

/// Numbers that the seed decides, the same with every standard library.
class Random {
 public:
  explicit Random(uint32_t seed) : bits_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>((uint64_t{bits_()} * static_cast<uint64_t>(n)) >> 32); }
  int64_t between(int64_t min, int64_t max) { return min + below(max - min + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }
  double real(double min, double max) { return min + (max - min) * static_cast<double>(bits_()) * 0x1p-32; }
  template <class T>
  T one(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }
  int64_t of(std::initializer_list<int64_t> list) { return one(list); }
  const char* word(std::initializer_list<const char*> list) { return one(list); }
  /// A tensor of numbers in [min, max].
  Tensor tensor(DType type, const Shape& shape, double min, double max);

 private:
  std::mt19937 bits_;
};

/// A value of a RandomNet. What reads a refused one is refused too, so that a recipe need not ask after every line.
using V = int;
constexpr V kAbsent = -1, kRefused = -2;

/// A network under construction. One with symbols is built three times, as it is and with the extents of either size:
/// these tell what shapes its values have, and what it has to compute.
class RandomNet {
 public:
  struct Held {
    std::vector<ValueId> ids;  ///< In each form.
    DType type = DType::none;
    Shape shape, other;  ///< At the first size and at the second; of a network without symbols the same.
    bool known = true;   ///< Whether these are known.
    bool exact = false;  ///< Whether every way to compute it has to give the same bytes.
    bool sums =
        false;  ///< Whether they are sums of products, or made of such: with too many bits to sum them up again.
    int readers = 0;
    bool fixed(int64_t axis) const { return shape[axis] == other[axis]; }
    bool fixed() const { return shape == other; }
  };
  struct Input {
    V value = kAbsent;
    double min = 0, max = 0;
  };
  using Blocks = std::vector<BlockId>;  ///< A block in each form.

  RandomNet(uint32_t seed, bool symbols);

  Random random;
  bool symbols;
  DType type = DType::f32;  ///< Of its floats.
  /// Floats are few bits above one power of two: sums of products are then the same in every order, to the last bit.
  bool grid = false;
  int64_t budget = 3'000'000;     ///< Multiply-adds that it may still take.
  bool keeps = true;              ///< Whether some intermediate values stay at hand.
  int depth = 0;                  ///< Blocks around what is made now.
  std::vector<std::string> said;  ///< Why nodes were refused.

  // ---- Values

  const Held& operator[](V v) const { return held_[static_cast<size_t>(v)]; }
  V input(DType type, const Shape& shape, const Shape& other, double min = -2, double max = 2);
  V constant(Tensor content);
  V number(DType type, double x);
  V ints(const Ints& list);
  /// Floats in [-scale, scale], of the network's type.
  V weights(const Shape& shape, double scale = 1);
  /// Floats in [min, max], of the network's type.
  V within(const Shape& shape, double min, double max);

  /// A node; now and then its outputs stay at hand.
  std::vector<V> node(std::string_view op, const std::vector<V>& inputs, const Attributes& attributes = {},
                      size_t outputs = 1, const std::vector<Blocks>& blocks = {});
  V operator()(std::string_view op, const std::vector<V>& inputs, const Attributes& attributes = {}) {
    return node(op, inputs, attributes)[0];
  }
  /// The value is at hand for what follows.
  V keep(V v);
  /// A value at hand that suits, rather a late one; refused: there is none.
  template <class F>
  V pick(F suits) {
    std::vector<V> all;
    for (V v : at_hand_)
      if ((*this)[v].known && suits((*this)[v])) all.push_back(v);
    if (all.empty()) return kRefused;
    const auto n = static_cast<int64_t>(all.size());
    return all[static_cast<size_t>(n - 1 - random.below(random.one_in(3) ? n : std::min<int64_t>(n, 3)))];
  }
  /// Another one of the same type and shape at both sizes; v itself where there is none.
  V like(V v);
  bool alike(V a, V b) const;
  /// Whether that many multiply-adds are left; they are then spent.
  bool spend(int64_t multiply_adds);

  // ---- Blocks

  void open();
  V parameter(DType type, bool scalar = true);  ///< A scalar, or of extents that nobody knows.
  V parameter(V like, int64_t axis = -1);       ///< As a value is; or a slice of it, without that axis.
  /// A value made in the block that is as v is; one made of v now where there is none.
  V result_like(V v);
  Blocks close(const std::vector<V>& results);  ///< None where a result was refused: nobody owns it.

  // ---- The whole

  /// Chooses what it gives: most of what nobody reads, and some of everything else.
  void finish();
  const std::vector<Graph>& forms() const { return forms_; }
  const std::vector<V>& outputs() const { return outputs_; }
  /// Other numbers at every call; of the second size where `other`.
  std::vector<Value> inputs(bool other);

 private:
  struct Scope {
    Blocks blocks;
    size_t at_hand = 0;  ///< How many values were at hand around it.
  };
  V hold(Held held);
  Tensor numbers(DType type, const Shape& shape, double min, double max);
  bool exact(std::string_view op, const std::vector<V>& inputs, DType result) const;
  std::string extents(const Shape& shape, const Shape& other, size_t form) const;
  Held described(std::vector<ValueId> ids) const;

  std::vector<Graph> forms_;
  std::deque<Held> held_;  ///< What one is read from stays while others are made.
  std::vector<V> at_hand_, network_, outputs_;
  std::vector<Input> inputs_;
  std::vector<Scope> scopes_;
};

struct RandomFamily {
  std::string_view name;
  void (*make)(RandomNet&);
  bool symbols = false;  ///< Whether there are some with symbols.
  bool codes = false;    ///< Whether roundings to codes may make numbers that differ by a step of them.
};
const std::vector<RandomFamily>& random_families();
/// The network of a seed; the seed alone decides its family too.
const RandomFamily& random_family(uint32_t seed);
RandomNet random_network(uint32_t seed);

}  // namespace nnex::test
