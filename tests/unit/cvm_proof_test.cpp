// The proof of no overflow, against formulas in 64 bits that know nothing of it: random networks of all of CVM's
// operators, run on the ends of what their input promises. Every element lies in its interval and in the bits by the
// rules; a sum that leaves int32 was foretold. NNEX_CVM_CASES raises the number of networks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

#include "cvm_model.h"
#include "graph/intervals.h"
#include "nnex/model.h"
#include "ops/cast.h"
#include "ops/conv.h"
#include "ops/precision_call.h"
#include "ops/reduce.h"
#include "run/compile.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using cvm_format::Importer;
using cvm_format::TextMap;

std::string list_text(const Ints& numbers) {
  std::string out = "(";
  for (int64_t n : numbers) out += std::to_string(n) + ", ";
  return out + ")";
}

/// A network as steps, so that it can be built again without one that CVM's rules refuse.
struct Step {
  std::string op;
  TextMap attrs;
  std::vector<size_t> in;  ///< Values by number.
};
struct Variable {
  Ints extents;
  int64_t bits = 8;
  std::vector<int32_t> values;
};

struct Built {
  ir::Graph graph;
  std::vector<ValueId> values;
  std::vector<int64_t> bits;
  bool ok = true;
};

class RandomCvm {
 public:
  explicit RandomCvm(uint32_t seed) : random_(seed), compatible_(one_in(3)) {
    const Ints starts[] = {{1, 4, 5, 5}, {2, 3, 4, 3}, {3, 7}, {2, 5}, {2, 4, 6}, {1, 3, 6}, {6}};
    extents_ = starts[below(7)];
    bits_ = one_in(2) ? 8 : 1 + below(32);
    shapes_ = {extents_};
    for (int64_t n = 3 + below(9); n > 0; --n) {
      for (int tries = 0; tries < 4; ++tries)
        if (grow()) break;
    }
  }

  bool compatible() const { return compatible_; }
  /// Value 0 is the input, value 1 its clip.
  Built build() const {
    Built out;
    Importer importer(out.graph, compatible_);
    const ValueId data = importer.variable("data", extents_, bits_);
    std::vector<ValueId> made = {data};
    const auto add = [&](const std::string& op, const TextMap& attrs, const std::vector<size_t>& in) {
      std::vector<ValueId> operands;
      for (size_t i : in) operands.push_back(made[i]);
      auto results = importer.add(op, attrs, operands, "v" + std::to_string(made.size()), 0);
      if (!results.ok()) return false;
      made.insert(made.end(), results->begin(), results->end());
      return true;
    };
    out.ok = add("cvm_clip", {{"precision", std::to_string(bits_)}}, {0});
    size_t next = 0;
    for (const Step& s : steps_) {
      if (s.op.empty())
        made.push_back(importer.variable("w" + std::to_string(next), variables_[next].extents, variables_[next].bits)),
            ++next;
      else
        out.ok = out.ok && add(s.op, s.attrs, s.in);
      if (!out.ok) return out;
    }
    for (ValueId v : made) out.bits.push_back(importer.bits(v));
    next = 0;
    for (size_t i = 0, at = 2; i < steps_.size(); ++i) {
      if (steps_[i].op.empty()) {
        const Variable& v = variables_[next++];
        out.graph.make_constant(made[at], Tensor::of(Shape(v.extents), v.values));
      }
      at += outputs_of(steps_[i].op);
    }
    for (size_t i = out.graph.inputs().size(); i-- > 1;) out.graph.remove_param(kMain, i);
    out.values = made;
    return out;
  }

  /// The input: ends of its range, all of one sign, mixed, or anything of it.
  Tensor input(int how) {
    std::vector<int32_t> values(static_cast<size_t>(Shape(extents_).count()));
    const int64_t max = bound_of_bits(bits_);
    for (int32_t& v : values)
      v = static_cast<int32_t>(how == 0 ? max : how == 1 ? -max : how == 2 ? (one_in(2) ? max : -max) : number(max));
    return Tensor::of(Shape(extents_), values);
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int64_t number(int64_t max) {
    if (one_in(3)) return one_in(2) ? max : -max;
    return one_in(6) ? 0 : below(2 * max + 1) - max;
  }
  static size_t outputs_of(const std::string& op) { return op == "get_valid_counts" ? 2 : 1; }

  size_t variable(const Ints& extents, int64_t bits) {
    Variable v{extents, bits, {}};
    const bool one_sign = one_in(4);
    for (int64_t n = Shape(extents).count(); n > 0; --n) {
      const int64_t x = number(bound_of_bits(bits));
      v.values.push_back(static_cast<int32_t>(one_sign ? std::abs(x) : x));
    }
    variables_.push_back(std::move(v));
    steps_.emplace_back();
    shapes_.push_back(extents);
    return shapes_.size();  // values are numbered from the input, shapes from its clip
  }
  int64_t some_bits() { return one_in(3) ? 8 : one_in(3) ? 1 + below(3) : 1 + below(32); }
  /// Another value of these extents, or a parameter.
  size_t like(const Ints& extents) {
    std::vector<size_t> fit;
    for (size_t i = 0; i < shapes_.size(); ++i)
      if (shapes_[i] == extents) fit.push_back(i + 1);
    if (!fit.empty() && !one_in(3)) return fit[static_cast<size_t>(below(static_cast<int64_t>(fit.size())))];
    return variable(extents, some_bits());
  }
  Ints broadcast_of(Ints extents) {
    for (int64_t& n : extents)
      if (one_in(3)) n = 1;
    if (extents.size() > 1 && one_in(3)) extents.erase(extents.begin());
    return extents;
  }

  /// One operator more; whether CVM's rules let it be.
  bool grow() {
    const size_t steps = steps_.size(), variables = variables_.size(), shapes = shapes_.size();
    const size_t x = one_in(2) ? shapes_.size() : 1 + static_cast<size_t>(below(static_cast<int64_t>(shapes_.size())));
    steps_.push_back(step(x, shapes_[x - 1]));
    const Built built = build();
    if (built.ok && concrete(built.graph[built.values.back()].type)->count() <= 600) {
      for (size_t i = shapes_.size() + 1; i < built.values.size(); ++i) {
        const Shape s = *concrete(built.graph[built.values[i]].type);
        shapes_.emplace_back(s.begin(), s.end());
      }
      return true;
    }
    steps_.resize(steps), variables_.resize(variables), shapes_.resize(shapes);
    return false;
  }

  Step step(size_t x, const Ints s) {  // a copy: parameters are added on the way
    const auto rank = static_cast<int64_t>(s.size());
    const auto flag = [&] { return std::string(one_in(2) ? "true" : "false"); };
    const auto bits = [&] { return std::to_string(one_in(3) ? 8 : 1 + below(32)); };
    switch (below(rank == 4 ? 34 : 28)) {
      case 0:
        return {"relu", {}, {x}};
      case 1:
        return {"abs", {}, {x}};
      case 2:
        return {"negative", {}, {x}};
      case 3:
        return {"cvm_precision", {}, {x}};
      case 4: {
        const int64_t ends[] = {-2147483646, -40000, -127, -1, 0, 1, 5, 127, 70000, 2147483646};
        const int64_t a = below(9), b = a + 1 + below(9 - a);
        return {"clip", {{"a_min", std::to_string(ends[a])}, {"a_max", std::to_string(ends[b])}}, {x}};
      }
      case 5:
        return {"cvm_clip", {{"precision", bits()}}, {x}};
      case 6:
        return {"cvm_right_shift", {{"precision", bits()}, {"shift_bit", std::to_string(1 + below(32))}}, {x}};
      case 7:
        return {"cvm_left_shift", {{"precision", bits()}, {"shift_bit", std::to_string(1 + below(24))}}, {x}};
      case 8:
        return {one_in(2) ? "elemwise_add" : "elemwise_sub", {}, {x, like(s)}};
      case 9:
      case 10:
      case 11: {
        const char* names[] = {"broadcast_add", "broadcast_sub", "broadcast_mul",
                               "broadcast_max", "broadcast_div", "broadcast_greater"};
        const size_t y = one_in(2) ? like(s) : variable(broadcast_of(s), some_bits());
        const char* name = names[below(6)];
        return one_in(2) ? Step{name, {}, {x, y}} : Step{name, {}, {y, x}};
      }
      case 12:
      case 13: {
        Ints axes;
        for (int64_t i = 0; i < rank; ++i)
          if (one_in(2)) axes.push_back(one_in(3) ? i - rank : i);
        return {one_in(3) ? "max" : "sum",
                {{"axis", list_text(axes)}, {"keepdims", flag()}, {"exclude", one_in(3) ? "true" : "false"}},
                {x}};
      }
      case 14:
        return {"repeat", {{"repeats", std::to_string(1 + below(2))}, {"axis", std::to_string(below(rank))}}, {x}};
      case 15:
        return {"tile", {{"reps", list_text({1 + below(2), 1 + below(2)})}}, {x}};
      case 16:
        return {"flatten", {}, {x}};
      case 17: {
        const int64_t axis = below(rank);
        return {"concatenate", {{"axis", std::to_string(axis)}}, {x, like(s)}};
      }
      case 18:
        return {"transpose", {}, {x}};
      case 19:
        return {"expand_dims", {{"axis", std::to_string(below(rank + 1))}}, {x}};
      case 20:
        return one_in(2) ? Step{"squeeze", {}, {x}} : Step{"reshape", {{"shape", "(-1,)"}}, {x}};
      case 21: {
        const int64_t end = 1 + below(s[0]);
        return {"strided_slice", {{"begin", "(0,)"}, {"end", list_text({end})}}, {x}};
      }
      case 22:
        return {"slice_like", {}, {x, like(s)}};
      case 23: {
        const size_t i = variable({2, 2}, 1 + below(8));
        return one_in(2) ? Step{"take", {}, {x, i}} : Step{"take", {{"axis", std::to_string(below(rank))}}, {x, i}};
      }
      case 24:
        return {"cvm_lut", {{"in_dim", "9"}}, {x, variable({9}, some_bits())}};
      case 25:
        return {"where", {}, {like(s), x, like(s)}};
      case 26: {
        if (rank != 3) return {"flatten", {}, {x}};
        return {"get_valid_counts", {{"score_threshold", std::to_string(number(100))}}, {x}};
      }
      case 27: {
        if (rank != 3 || s[2] != 6) return {"dense", {{"units", "3"}, {"use_bias", "false"}}, {x, dense_filter(s)}};
        return {"non_max_suppression",
                {{"iou_threshold", std::to_string(1 + below(101))}, {"force_suppress", flag()}},
                {x, variable({s[0]}, 4)}};
      }
      case 28:
        return {"max_pool2d", {{"pool_size", "(2, 2)"}, {"padding", one_in(2) ? "(1, 1)" : "(0, 0)"}}, {x}};
      case 29:
        return {"upsampling", {{"scale", std::to_string(1 + below(2))}}, {x}};
      default:
        return conv(x, s);
    }
  }
  size_t dense_filter(const Ints& s) { return variable({3, s.back()}, 1 + below(8)); }
  Step conv(size_t x, const Ints& s) {
    const int64_t groups = one_in(3) ? s[1] : 1, channels = groups * (1 + below(2)), kernel = 1 + below(3);
    const bool bias = one_in(2);
    Step out{"conv2d",
             {{"channels", std::to_string(channels)},
              {"kernel_size", list_text({kernel, kernel})},
              {"padding", list_text({below(3), below(2)})},
              {"strides", list_text({1 + below(2), 1 + below(2)})},
              {"dilation", list_text({1 + below(2), 1})},
              {"groups", std::to_string(groups)},
              {"use_bias", bias ? "true" : "false"}},
             {x, variable({channels, s[1] / groups, kernel, kernel}, 1 + below(8))}};
    if (bias) out.in.push_back(variable({channels}, some_bits()));
    return out;
  }

  std::mt19937 random_;
  bool compatible_;
  Ints extents_;
  int64_t bits_ = 8;
  std::vector<Step> steps_;
  std::vector<Variable> variables_;
  std::vector<Ints> shapes_;  ///< Of value 1 on.
};

// ---- Formulas in 64 bits

using Wide = std::vector<int64_t>;

/// Element i of `to`, broadcast from x.
int64_t broadcast_at(const Tensor& x, const Shape& to, int64_t i) {
  const Shape& s = x.shape();
  int64_t at = 0, step = 1;
  for (int64_t a = to.rank() - 1, k = s.rank() - 1; k >= 0; --a, --k) {
    at += (s[k] == 1 ? 0 : i % to[a]) * step;
    step *= s[k], i /= to[a];
  }
  return int_at(x, at);
}

/// The sums and products of a node, every partial sum among them, whatever int32 makes of them.
Wide computed(const ir::Graph& graph, const Node& node, const std::vector<Tensor>& in, const Shape& out) {
  Wide all;
  const std::string_view name = node.op->name;
  if (name == "add" || name == "sub" || name == "mul")
    for (int64_t i = 0; i < out.count(); ++i) {
      const int64_t a = broadcast_at(in[0], out, i), b = broadcast_at(in[1], out, i);
      all.push_back(name == "add" ? a + b : name == "sub" ? a - b : a * b);
    }
  if (name == "div")
    for (int64_t i = 0; i < out.count(); ++i) {
      const int64_t a = broadcast_at(in[0], out, i), b = broadcast_at(in[1], out, i);
      all.push_back(b == 0 ? 0 : a / b);
    }
  if (name == "neg" || name == "abs")
    for (int64_t i = 0; i < out.count(); ++i)
      all.push_back(name == "neg" ? -int_at(in[0], i) : std::abs(int_at(in[0], i)));
  if (name == "sum_reduce") {
    const Shape& s = in[0].shape();
    std::vector<bool> reduced(static_cast<size_t>(s.rank()), in[1].count() == 0);
    for (int64_t a = 0; a < in[1].count(); ++a) reduced[static_cast<size_t>(int_at(in[1], a))] = true;
    if (in[1].count() == 0 && out.count() == s.count()) return all;  // nothing is reduced
    Wide sums(static_cast<size_t>(out.count()));
    for (int64_t i = 0; i < s.count(); ++i) {
      int64_t at = 0, step = 1, rest = i;
      for (int64_t a = s.rank() - 1; a >= 0; --a) {
        if (!reduced[static_cast<size_t>(a)]) at += rest % s[a] * step, step *= s[a];
        rest /= s[a];
      }
      all.push_back(sums[static_cast<size_t>(at)] += int_at(in[0], i));
    }
  }
  if (name == "linear") {
    const int64_t k = in[0].shape()[1], units = in[1].shape()[0];
    for (int64_t m = 0; m < in[0].shape()[0]; ++m)
      for (int64_t n = 0; n < units; ++n) {
        int64_t sum = 0;
        for (int64_t i = 0; i < k; ++i) all.push_back(sum += int_at(in[0], m * k + i) * int_at(in[1], n * k + i));
        if (in.size() > 2) all.push_back(sum + int_at(in[2], n));
      }
  }
  if (name == "conv") {
    const auto& a = graph.attrs<ConvAttrs>(node);
    const Shape &x = in[0].shape(), &w = in[1].shape();
    const int64_t per_group = w[0] / a.groups;
    for (int64_t i = 0; i < out.count(); ++i) {
      const int64_t q = i % out[3], p = i / out[3] % out[2], o = i / out[3] / out[2] % out[1],
                    n = i / out[3] / out[2] / out[1];
      int64_t sum = in.size() > 2 ? int_at(in[2], o) : 0;
      for (int64_t t = 0; t < w[1] * w[2] * w[3]; ++t) {
        const int64_t c = t / (w[2] * w[3]), ky = t / w[3] % w[2], kx = t % w[3];
        const int64_t y = p * a.stride[0] - a.padding[0].first + ky * a.dilation[0],
                      z = q * a.stride[1] - a.padding[1].first + kx * a.dilation[1];
        if (y < 0 || z < 0 || y >= x[2] || z >= x[3]) continue;
        const int64_t channel = o / per_group * w[1] + c;
        sum += int_at(in[0], ((n * x[1] + channel) * x[2] + y) * x[3] + z) * int_at(in[1], o * w[1] * w[2] * w[3] + t);
        all.push_back(sum);
      }
    }
  }
  return all;
}

bool fits(int64_t n) { return n >= INT32_MIN && n <= INT32_MAX; }

constexpr uint32_t kUsualCases = 600;

uint32_t cases() {
  const char* wish = std::getenv("NNEX_CVM_CASES");
  return wish ? static_cast<uint32_t>(std::strtoul(wish, nullptr, 10)) : kUsualCases;
}

std::vector<Value> run(ir::Graph graph, const std::vector<ValueId>& results, const Tensor& input, bool plain) {
  graph.set_results(kMain, results);
  LoadOptions options;
  options.optimize = !plain;
  if (plain) options.isa = InstructionSet::scalar;
  auto model = compile(std::move(graph), options);
  if (!model.ok()) return ADD_FAILURE() << model.error().text(), std::vector<Value>();
  const Value in(input);
  auto out = model->session().run(std::span<const Value>(&in, 1));
  if (!out.ok()) return ADD_FAILURE() << out.error().text(), std::vector<Value>();
  return std::move(out).value();
}

struct Counts {
  std::map<std::string, int> ran;
  int safe = 0, foretold = 0, overflowed = 0;
};

/// One network on one input.
void check(const RandomCvm& network, const Built& built, const Tensor& input, Counts& counts) {
  const ir::Graph& graph = built.graph;
  const Intervals intervals(graph, {});
  std::map<uint32_t, NodeBound> bounds;
  for (const NodeBound& b : intervals.nodes()) bounds.emplace(b.node.n, b);
  std::vector<ValueId> all;
  for (NodeId id : graph.order())
    for (ValueId v : graph[id].out)
      if (v.valid() && graph[v].type.dtype == DType::i32) all.push_back(v);
  const std::vector<Value> out = run(graph, all, input, true);
  ASSERT_EQ(out.size(), all.size());
  std::map<uint32_t, Tensor> values = {{graph.inputs()[0].n, input}};
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    if (const Tensor* t = graph[ValueId{n}].constant.tensor()) values[n] = *t;
  for (size_t i = 0; i < all.size(); ++i) {
    values[all[i].n] = *out[i].tensor();
    const auto interval = intervals.of(all[i]);
    ASSERT_TRUE(interval.has_value());
    for (int32_t x : out[i].tensor()->as<int32_t>())
      ASSERT_TRUE(x >= interval->low && x <= interval->high)
          << graph[graph[all[i]].producer].op->name << ": " << x << " is outside [" << interval->low << ", "
          << interval->high << "]";
  }
  bool safe = true, left = false;
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    ++counts.ran[std::string(node.op->name)];
    std::vector<Tensor> in;
    for (ValueId v : node.in)
      if (v.valid() && values.count(v.n)) in.push_back(values[v.n]);
    const auto bound = bounds.find(id.n);
    if (bound == bounds.end()) continue;
    ASSERT_TRUE(bound->second.bounded) << node.op->name;
    safe = safe && !bound->second.overflows;
    for (int64_t n : computed(graph, node, in, values[node.out[0].n].shape())) {
      if (fits(n)) continue;
      left = true;
      ASSERT_TRUE(bound->second.overflows) << node.op->name << " reaches " << n << "; proven ["
                                           << bound->second.result.low << ", " << bound->second.result.high << "]";
      ASSERT_TRUE(network.compatible()) << "our own rules let " << node.op->name << " reach " << n;
    }
  }
  counts.safe += safe, counts.overflowed += left, counts.foretold += !safe && left;
  if (!network.compatible()) {
    ASSERT_TRUE(safe) << "what the rules let pass is proven";
    for (size_t i = 1; i < built.values.size(); ++i)
      for (int64_t x : values[built.values[i].n].as<int32_t>())
        ASSERT_LE(std::abs(x), bound_of_bits(built.bits[i])) << graph[built.values[i]].name;
  }
  // Narrow storage is chosen by these intervals.
  const ValueId last = built.values.back();
  if (!graph[last].producer.valid()) return;
  const std::vector<Value> fast = run(graph, {last}, input, false);
  ASSERT_EQ(fast.size(), 1U);
  const Tensor &a = *fast[0].tensor(), &b = values[last.n];
  ASSERT_TRUE(a.shape() == b.shape() &&
              std::equal(a.as<int32_t>().begin(), a.as<int32_t>().end(), b.as<int32_t>().begin()));
}

TEST(CvmProof, HoldsForRandomNetworksAtTheEndsOfTheirRange) {
  Counts counts;
  for (uint32_t seed = 0; seed < cases(); ++seed) {
    SCOPED_TRACE(seed);
    RandomCvm network(seed);
    const Built built = network.build();
    ASSERT_TRUE(built.ok);
    for (int how = 0; how < 4; ++how) check(network, built, network.input(how), counts);
    if (HasFatalFailure()) return;
  }
  for (const char* row : {"relu",
                          "abs",
                          "neg",
                          "cvm_precision",
                          "clamp",
                          "cvm_clip",
                          "cvm_right_shift",
                          "cvm_left_shift",
                          "add",
                          "sub",
                          "mul",
                          "max",
                          "div",
                          "gt",
                          "sum_reduce",
                          "max_reduce",
                          "conv",
                          "linear",
                          "max_pool",
                          "resize",
                          "repeat",
                          "tile",
                          "concat",
                          "transpose",
                          "slice",
                          "slice_like",
                          "gather",
                          "select",
                          "get_valid_counts",
                          "cvm_non_max_suppression"})
    EXPECT_GT(counts.ran[row], 0) << row;
  EXPECT_GT(counts.safe, 0);
  // Upstream's rules let one network in a few hundred overflow.
  if (cases() >= kUsualCases) {
    EXPECT_GT(counts.overflowed, 0);
  }
  RecordProperty("overflowed", counts.overflowed);
  RecordProperty("safe", counts.safe);
}

}  // namespace
}  // namespace nnex
