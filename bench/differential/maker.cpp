#include <cmath>
#include <limits>

#include "recipes.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

double special(Dice& dice) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return dice.one_of<double>({std::nan(""), kInf, -kInf, 0.0,   -0.0, 0.5,   1.5,   -0.5, -2.5, 1,
                              -1,           88.8, -104,  65504, 3e38, -3e38, 1e-40, 1e-7, 1e9,  16777217});
}

double content(Dice& dice, Fill fill) {
  switch (fill) {
    case Fill::exact:
      return double(dice.in(-16, 16)) / 4;
    case Fill::normal:
      return dice.real() * 4 - 2;
    case Fill::small:
      return dice.real() - 0.5;
    case Fill::positive:
      return dice.real() * 2.75 + 0.25;
    case Fill::special:
      return dice.chance(0.4) ? special(dice) : dice.real() * 8 - 4;
  }
  return 0;
}

}  // namespace

Maker::Maker(uint64_t seed, std::string_view op, std::string_view domain, int opset) : dice(seed), domain_(domain) {
  made.op = op;
  made.opset = opset;
}

int64_t Maker::extent() { return dice.chance(0.02) ? 0 : positive_extent(); }

int64_t Maker::positive_extent() {
  if (dice.chance(0.08)) return dice.in(6, 33);
  return dice.chance(0.15) ? 1 : dice.in(1, 5);
}

Extents Maker::shape(int64_t low, int64_t high) {
  Extents out(size_t(dice.in(low, high)));
  for (int64_t& e : out) e = extent();
  return out;
}

Extents Maker::positive_shape(int64_t low, int64_t high) {
  Extents out(size_t(dice.in(low, high)));
  for (int64_t& e : out) e = positive_extent();
  return out;
}

Extents Maker::part_of(const Extents& full) {
  const bool shorter = dice.chance(0.3);
  Extents out(full.begin() + (shorter ? dice.in(0, int64_t(full.size())) : 0), full.end());
  for (int64_t& e : out)
    if (dice.chance(0.25)) e = 1;
  return out;
}

Extents Maker::axes(int64_t rank, int64_t max) {
  Extents all, out;
  for (int64_t i = 0; i < rank; ++i) all.push_back(i);
  for (size_t i = 0; i + 1 < all.size(); ++i) std::swap(all[i], all[size_t(dice.in(int64_t(i), rank - 1))]);
  const int64_t count = rank ? dice.in(1, std::min(rank, max)) : 0;
  for (int64_t i = 0; i < count; ++i) out.push_back(all[size_t(i)] - (dice.chance(0.3) ? rank : 0));
  return out;
}

DType Maker::floating(double halves) {
  const double x = dice.real();
  return x < halves ? DType::f16 : x < halves + 0.12 ? DType::f64 : DType::f32;
}

DType Maker::integer() {
  return dice.one_of<DType>({DType::i32, DType::i64, DType::i64, DType::i32, DType::u8, DType::i8, DType::i16,
                             DType::u16, DType::u32, DType::u64});
}

Tensor Maker::reals(DType type, const Extents& shape, Fill fill) {
  Tensor t = Tensor::make(type, Shape(shape)).value();
  for (int64_t i = 0; i < t.count(); ++i) set_real(t, i, content(dice, fill));
  return t;
}

Tensor Maker::whole(DType type, const Extents& shape, int64_t low, int64_t high) {
  Tensor t = Tensor::make(type, Shape(shape)).value();
  for (int64_t i = 0; i < t.count(); ++i) set_real(t, i, double(dice.in(low, high)));
  return t;
}

Tensor Maker::any(DType type, const Extents& shape, Fill fill) {
  if (type == DType::boolean) return whole(type, shape, 0, 1);
  if (is_unsigned_int(type)) return whole(type, shape, 0, 16);
  if (is_int(type)) return whole(type, shape, -8, 8);
  if (type != DType::str) return reals(type, shape, fill);
  Tensor t = Tensor::make(type, Shape(shape)).value();
  for (std::string& s : t.mutable_as<std::string>()) s = dice.word({"", "a", "b", "ab", "Ab c", "z1", "\xc3\xa4"});
  return t;
}

Tensor Maker::longs(const Extents& values, DType type) {
  Tensor t = Tensor::make(type, Shape{int64_t(values.size())}).value();
  for (size_t i = 0; i < values.size(); ++i) set_int(t, int64_t(i), values[i]);
  return t;
}

Tensor Maker::scalar(DType type, double value) {
  Tensor t = Tensor::make(type, Shape{}).value();
  set_real(t, 0, value);
  return t;
}

std::string Maker::add(Tensor value, double constant) {
  Given given{"x" + std::to_string(made.given.size()), std::move(value), {}, false};
  given.constant = dice.chance(constant);
  for (int64_t extent : given.value.shape()) {
    const double x = dice.real();
    // One extent has one symbol, so that what a model says of its inputs is true.
    given.dims.push_back(given.constant || x < 0.6 ? std::to_string(extent)
                         : x < 0.9                 ? "N" + std::to_string(extent)
                                                   : "");
  }
  made.given.push_back(std::move(given));
  return made.given.back().name;
}

Names Maker::finish(Names in, int outputs) {
  ModelNode node{made.op, domain_, std::move(in), {}, std::move(attributes_)};
  for (int i = 0; i < outputs; ++i) node.out.push_back("y" + std::to_string(i));
  made.nodes.push_back(node);
  made.outputs = node.out;
  return node.out;
}

Names Maker::node(std::string op, Names in, std::vector<Attribute> attributes, int outputs) {
  Names out;
  for (int i = 0; i < outputs; ++i) out.push_back("t" + std::to_string(names_++));
  made.nodes.push_back({std::move(op), {}, std::move(in), out, std::move(attributes)});
  return out;
}

std::vector<const Recipe*> all_recipes() {
  std::vector<const Recipe*> out;
  for (auto list :
       {math_recipes(), shape_recipes(), select_recipes(), window_recipes(), image_recipes(), product_recipes(),
        block_recipes(), ml_recipes(), microsoft_recipes(), contributed_recipes(), network_recipes()})
    for (const Recipe& recipe : list) out.push_back(&recipe);
  return out;
}

Case make_case(const Recipe& recipe, uint64_t seed) {
  Dice dice(seed ^ 0x5bd1e995);
  // Models with operators of com.microsoft are younger than initializers that need not be inputs.
  const int low = std::max(kOldestOpset, recipe.domain.empty()              ? recipe.since
                                         : recipe.domain == "com.microsoft" ? 12
                                                                            : 7);
  const int opset = int(dice.in(low, std::min(kNewestOpset, recipe.until)));
  Maker producer(seed, recipe.op, recipe.domain, opset);
  recipe.make(producer);
  return std::move(producer.made);
}

}  // namespace nnex::differential
