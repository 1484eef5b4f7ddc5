// Every operator of CVM with random attributes and numbers: said in ONNX's standard operators, in ONNX and in NNEF with
// rows as custom operations, run by whole numbers alone, and made a model of CVM again. The same bytes at every stop.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "api/export.h"
#include "api/read.h"
#include "base/try.h"
#include "nnef_written.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "share.h"
#include "standards/cvm/import.h"
#include "standards/cvm/read_params.h"
#include "standards/cvm/write.h"
#include "standards/nnef/model.h"

namespace nnex {
namespace {

using namespace cvm_format;

/// One operator: attributes as JSON, extents and bits of its inputs, extents of its outputs.
struct Case {
  std::string attrs = "{}";
  std::vector<Ints> in;
  Ints bits;
  std::vector<Ints> out;
};

std::string listed(const Ints& l) { return fmt::format("[{}]", fmt::join(l, ", ")); }

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool flip() { return random_() & 1; }
  Ints shape(int64_t low, int64_t high, int64_t max = 4) {
    Ints s(static_cast<size_t>(between(low, high)));
    for (int64_t& e : s) e = between(1, max);
    return s;
  }
  size_t axis(const Ints& s) { return static_cast<size_t>(between(0, static_cast<int64_t>(s.size()) - 1)); }
  /// An axis as attributes name it, from the front or from the end.
  int64_t named(size_t axis, const Ints& s) {
    return static_cast<int64_t>(axis) - (flip() ? static_cast<int64_t>(s.size()) : 0);
  }
  Tensor tensor(const Ints& extents, int64_t bits) {
    Tensor t = Tensor::make(DType::i32, Shape(extents)).value();
    const int64_t max = (int64_t{1} << (bits - 1)) - 1, near = std::min<int64_t>(max, 5);
    const bool small = flip();
    for (int32_t& x : t.mutable_as<int32_t>())
      x = static_cast<int32_t>(small ? between(-near, near) : between(-max, max));
    return t;
  }

 private:
  std::mt19937_64 random_;
};

// ---- Cases

Case same_shape(Dice& d, const std::string& attrs, int64_t max_bits = 32) {
  const Ints s = d.shape(1, 5);
  return {attrs, {s}, {d.between(2, max_bits)}, {s}};
}

Case precision(Dice& d) { return same_shape(d, fmt::format(R"({{"precision": "{}"}})", d.between(1, 32))); }

Case clip(Dice& d) {
  const int64_t low = d.between(-300, 300);
  return same_shape(d, fmt::format(R"({{"a_min": "{}", "a_max": "{}"}})", low, low + d.between(1, 500)));
}

Case right_shift(Dice& d) {
  return same_shape(d, fmt::format(R"({{"precision": "{}", "shift_bit": "{}"}})", d.between(1, 32), d.between(1, 32)));
}
Case left_shift(Dice& d) {
  const int64_t by = d.between(1, 30);
  return same_shape(d, fmt::format(R"({{"precision": "{}", "shift_bit": "{}"}})", d.between(1, 32), by), 32 - by);
}

Case flatten(Dice& d) {
  const Ints s = d.shape(1, 5);
  return {"{}", {s}, {d.between(1, 32)}, {{s[0], Shape(s).count() / s[0]}}};
}

Case two(Dice& d) {
  const Ints s = d.shape(1, 5);
  return {"{}", {s, s}, {d.between(2, 31), d.between(2, 31)}, {s}};
}

Case broadcast(Dice& d) {
  const Ints s = d.shape(1, 5);
  Ints other = s;
  for (int64_t& e : other)
    if (d.between(0, 2) == 0) e = 1;
  other.erase(other.begin(), other.begin() + d.between(0, static_cast<int64_t>(s.size()) - 1));
  Case c{"{}", {s, other}, {d.between(2, 16), d.between(2, 16)}, {s}};
  if (d.flip()) std::swap(c.in[0], c.in[1]);
  return c;
}

Case reduction(Dice& d) {
  const Ints s = d.shape(1, 5);
  const bool exclude = d.flip(), keep = d.flip();
  Ints axes, out;
  std::vector<bool> named(s.size());
  for (size_t i = 0; i < s.size(); ++i)
    if (d.flip() || (i + 1 == s.size() && axes.empty())) named[i] = true, axes.push_back(d.named(i, s));
  for (size_t i = 0; i < s.size(); ++i)
    if (named[i] == exclude)
      out.push_back(s[i]);
    else if (keep)
      out.push_back(1);
  if (out.empty()) out = {1};
  return {fmt::format(R"({{"axis": "{}", "exclude": "{}", "keepdims": "{}"}})", listed(axes), int{exclude}, int{keep}),
          {s},
          {d.between(2, 16)},
          {out}};
}

Case conv(Dice& d) {
  const int64_t groups = d.between(1, 3), in = d.between(1, 3), out = groups * d.between(1, 3), batch = d.between(1, 2);
  Ints k, stride, pad, dilation, x{batch, groups * in}, y{batch, out};
  for (int i = 0; i < 2; ++i) {
    k.push_back(d.between(1, 3)), stride.push_back(d.between(1, 3)), pad.push_back(d.between(0, 2));
    dilation.push_back(d.between(1, 2));
    const int64_t reach = dilation.back() * (k.back() - 1) + 1, extent = reach + d.between(0, 4);
    x.push_back(extent), y.push_back((extent + 2 * pad.back() - reach) / stride.back() + 1);
  }
  const bool bias = d.flip();
  Case c{fmt::format(R"({{"channels": "{}", "kernel_size": "{}", "strides": "{}", "padding": "{}", "dilation": "{}", )"
                     R"("groups": "{}", "use_bias": "{}"}})",
                     out, listed(k), listed(stride), listed(pad), listed(dilation), groups, int{bias}),
         {x, {out, in, k[0], k[1]}},
         {d.between(2, 8), d.between(2, 8)},
         {y}};
  if (bias) c.in.push_back({out}), c.bits.push_back(d.between(2, 20));
  return c;
}

Case dense(Dice& d) {
  const int64_t rows = d.between(1, 3), inner = d.between(1, 9), units = d.between(1, 5);
  const bool bias = d.flip();
  Case c{fmt::format(R"({{"units": "{}", "use_bias": "{}"}})", units, int{bias}),
         {{rows, inner}, {units, inner}},
         {d.between(2, 8), d.between(2, 8)},
         {{rows, units}}};
  if (bias) c.in.push_back({units}), c.bits.push_back(d.between(2, 20));
  return c;
}

Case max_pool(Dice& d) {
  const bool ceil = d.flip();
  Ints size, stride, pad, x = d.shape(2, 2, 3), y = x;
  for (int i = 0; i < 2; ++i) {
    size.push_back(d.between(1, 4)), stride.push_back(d.between(1, 3));
    pad.push_back(d.between(0, size.back() - 1));
    const int64_t extent = size.back() + d.between(0, 6), room = extent + 2 * pad.back() - size.back();
    int64_t last = (room + (ceil ? stride.back() - 1 : 0)) / stride.back();
    if (last * stride.back() - pad.back() >= extent) stride.back() = 1, last = room;
    x.push_back(extent), y.push_back(last + 1);
  }
  return {fmt::format(R"({{"pool_size": "{}", "strides": "{}", "padding": "{}", "ceil_mode": "{}"}})", listed(size),
                      listed(stride), listed(pad), int{ceil}),
          {x},
          {d.flip() ? d.between(2, 8) : d.between(9, 32)},
          {y}};
}

Case upsampling(Dice& d) {
  const Ints x = d.shape(4, 4);
  const int64_t scale = d.between(1, 3);
  return {
      fmt::format(R"({{"scale": "{}"}})", scale), {x}, {d.between(1, 32)}, {{x[0], x[1], x[2] * scale, x[3] * scale}}};
}

Case repeat(Dice& d) {
  const Ints x = d.shape(1, 5);
  const size_t axis = d.axis(x);
  const int64_t times = d.between(1, 3);
  Ints y = x;
  y[axis] *= times;
  return {fmt::format(R"({{"repeats": "{}", "axis": "{}"}})", times, d.named(axis, x)), {x}, {d.between(1, 32)}, {y}};
}

Case tile(Dice& d) {
  const Ints x = d.shape(1, 4), reps = d.shape(1, 5, 3);
  const size_t rank = std::max(x.size(), reps.size());
  Ints y(rank, 1);
  for (size_t i = 0; i < x.size(); ++i) y[rank - x.size() + i] *= x[i];
  for (size_t i = 0; i < reps.size(); ++i) y[rank - reps.size() + i] *= reps[i];
  return {fmt::format(R"({{"reps": "{}"}})", listed(reps)), {x}, {d.between(1, 32)}, {y}};
}

Case concatenate(Dice& d) {
  const Ints x = d.shape(1, 4);
  const size_t axis = d.axis(x);
  Case c{fmt::format(R"({{"axis": "{}"}})", d.named(axis, x)), {}, {}, {x}};
  c.out[0][axis] = 0;
  for (int64_t i = d.between(1, 4); i > 0; --i) {
    c.in.push_back(x), c.bits.push_back(d.between(1, 32));
    c.in.back()[axis] = d.between(1, 3);
    c.out[0][axis] += c.in.back()[axis];
  }
  return c;
}

Case transpose(Dice& d) {
  const Ints x = d.shape(1, 5);
  Ints axes, y;
  for (size_t i = 0; i < x.size(); ++i)
    axes.insert(axes.begin() + d.between(0, static_cast<int64_t>(i)), static_cast<int64_t>(i));
  for (int64_t a : axes) y.push_back(x[static_cast<size_t>(a)]);
  return {fmt::format(R"({{"axes": "{}"}})", listed(axes)), {x}, {d.between(1, 32)}, {y}};
}

Case expand_dims(Dice& d) {
  const Ints x = d.shape(1, 4);
  const int64_t axis = d.between(0, static_cast<int64_t>(x.size())), count = d.between(1, 2);
  Ints y = x;
  y.insert(y.begin() + axis, static_cast<size_t>(count), 1);
  return {fmt::format(R"({{"axis": "{}", "num_newaxis": "{}"}})", axis, count), {x}, {d.between(1, 32)}, {y}};
}

Case squeeze(Dice& d) {
  Ints y = d.shape(1, 4), x = y;
  const auto axis = static_cast<size_t>(d.between(0, static_cast<int64_t>(y.size())));
  x.insert(x.begin() + static_cast<int64_t>(axis), 1);
  return {fmt::format(R"({{"axis": "[{}]"}})", d.named(axis, x)), {x}, {d.between(1, 32)}, {y}};
}

Case reshape(Dice& d) {
  const Ints x = d.shape(1, 5);
  const int64_t rest = Shape(x).count() / x[0];
  return d.flip() ? Case{R"({"shape": "[0, -1]"})", {x}, {d.between(1, 32)}, {{x[0], rest}}}
                  : Case{R"({"shape": "[-1]"})", {x}, {d.between(1, 32)}, {{x[0] * rest}}};
}

Case strided_slice(Dice& d) {
  const Ints x = d.shape(1, 4, 6);
  Ints begin, end, stride, y;
  for (int64_t e : x) {
    const int64_t step = d.between(1, 3), low = d.between(0, e - 1), high = d.between(low + 1, e);
    const bool back = d.flip();
    y.push_back((high - low + step - 1) / step);
    stride.push_back(back ? -step : step);
    begin.push_back(back ? high - 1 : d.flip() ? low : low - e);
    end.push_back(!back ? high + (high == e && d.flip() ? 5 : 0) : low == 0 ? -e - 1 : low - 1);
  }
  return {fmt::format(R"({{"begin": "{}", "end": "{}", "stride": "{}"}})", listed(begin), listed(end), listed(stride)),
          {x},
          {d.between(1, 32)},
          {y}};
}

Case slice_like(Dice& d) {
  const Ints x = d.shape(1, 4);
  Ints like = x, y = x;
  for (int64_t& e : like) e = d.between(1, e);
  const size_t axis = d.axis(x);
  const bool one = d.flip();
  if (one)
    y[axis] = like[axis];
  else
    y = like;
  return {one ? fmt::format(R"({{"axis": "[{}]"}})", d.named(axis, x)) : "{}",
          {x, like},
          {d.between(1, 32), d.between(1, 32)},
          {y}};
}

Case take(Dice& d) {
  const Ints x = d.shape(2, 4), at = d.shape(1, 2);
  const size_t axis = d.axis(x);
  Ints y = x;
  y.erase(y.begin() + static_cast<int64_t>(axis));
  y.insert(y.begin() + static_cast<int64_t>(axis), at.begin(), at.end());
  return {fmt::format(R"({{"axis": "{}"}})", d.named(axis, x)), {x, at}, {d.between(1, 32), d.between(2, 6)}, {y}};
}

Case lut(Dice& d) {
  const Ints x = d.shape(1, 4), table = d.shape(1, 2, 5);
  return {
      fmt::format(R"({{"in_dim": "{}"}})", Shape(table).count()), {x, table}, {d.between(2, 6), d.between(1, 32)}, {x}};
}

Case where(Dice& d) {
  const Ints s = d.shape(1, 4);
  return {"{}", {d.flip() ? s : Ints{s[0]}, s, s}, {d.between(2, 32), d.between(2, 32), d.between(2, 32)}, {s}};
}

Case valid_counts(Dice& d) {
  const Ints x{d.between(1, 3), d.between(1, 9), d.between(2, 7)};
  return {fmt::format(R"({{"score_threshold": "{}"}})", d.between(-4, 4)), {x}, {d.between(4, 32)}, {{x[0]}, x}};
}

Case suppression(Dice& d) {
  const int64_t batch = d.between(1, 2), rows = d.between(1, 9);
  return {fmt::format(R"({{"iou_threshold": "{}", "top_k": "{}", "max_output_size": "{}", "force_suppress": "{}"}})",
                      d.between(1, 100), d.between(-1, 5), d.between(-1, 5), int{d.flip()}),
          {{batch, rows, 6}, {batch}},
          {d.between(4, 16), 5},
          {{batch, rows, 6}}};
}

constexpr struct Operator {
  const char* name;
  Case (*make)(Dice&);
} kOperators[] = {
    {"relu", [](Dice& d) { return same_shape(d, "{}"); }},
    {"abs", [](Dice& d) { return same_shape(d, "{}"); }},
    {"negative", [](Dice& d) { return same_shape(d, "{}"); }},
    {"cvm_precision", [](Dice& d) { return same_shape(d, "{}"); }},
    {"clip", clip},
    {"cvm_clip", precision},
    {"cvm_right_shift", right_shift},
    {"cvm_left_shift", left_shift},
    {"flatten", flatten},
    {"elemwise_add", two},
    {"elemwise_sub", two},
    {"broadcast_add", broadcast},
    {"broadcast_sub", broadcast},
    {"broadcast_mul", broadcast},
    {"broadcast_max", broadcast},
    {"broadcast_div", broadcast},
    {"broadcast_greater", broadcast},
    {"sum", reduction},
    {"max", reduction},
    {"conv2d", conv},
    {"dense", dense},
    {"max_pool2d", max_pool},
    {"upsampling", upsampling},
    {"repeat", repeat},
    {"tile", tile},
    {"concatenate", concatenate},
    {"transpose", transpose},
    {"expand_dims", expand_dims},
    {"squeeze", squeeze},
    {"reshape", reshape},
    {"strided_slice", strided_slice},
    {"slice_like", slice_like},
    {"take", take},
    {"cvm_lut", lut},
    {"where", where},
    {"get_valid_counts", valid_counts},
    {"non_max_suppression", suppression},
};
static_assert(std::size(kOperators) == 37);

// ---- Stops

/// The case as a model: input `data` is fed, the others are parameters; output `head` is the model's.
Result<ir::Graph> as_model(const char* op, const Case& c, size_t data, int64_t head, Dice& d) {
  Symbol s;
  s.arg_nodes = Ints{}, s.node_row_ptr = Ints{}, s.precision = Ints{};
  std::vector<Param> params;
  SymbolNode node{"y", op, {}};
  for (size_t i = 0; i < c.in.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const std::string name = i == data ? "data" : fmt::format("x{}", i);
    s.nodes.push_back({name, "", {}}), s.op_attrs.emplace_back("{}");
    s.arg_nodes->push_back(at), s.node_row_ptr->push_back(at), node.inputs.push_back({at, 0});
    s.shapes.push_back(c.in[i]), s.precision->push_back(c.bits[i]);
    if (i != data) params.push_back({name, d.tensor(c.in[i], c.bits[i])});
  }
  const auto last = static_cast<int64_t>(c.in.size());
  s.nodes.push_back(node), s.op_attrs.push_back(c.attrs), s.node_row_ptr->push_back(last);
  for (const Ints& y : c.out) s.shapes.push_back(y), s.precision->push_back(-1);
  s.node_row_ptr->push_back(static_cast<int64_t>(s.shapes.size()));
  s.heads = {{last, head}};
  for (size_t i = 0; i < s.shapes.size(); ++i) s.storage_ids.push_back(static_cast<int64_t>(i));
  return read_model(write_symbol(s), write_params(params), nullptr, false);
}

Result<Tensor> answer(ir::Graph graph, const Tensor& x) {
  LoadOptions exact;
  exact.exact = true;
  NNEX_ASSIGN(const Model model, compile(std::move(graph), exact));
  const Value in(x);
  NNEX_ASSIGN(std::vector<Value> out, model.session().run(std::span<const Value>(&in, 1)));
  return *out[0].tensor();
}

/// "" where a graph gives those bytes.
std::string differs(ir::Graph graph, const Tensor& x, const Tensor& wanted) {
  const auto y = answer(std::move(graph), x);
  if (!y.ok()) return y.error().text();
  if (y->dtype() != DType::i32 || !(y->shape() == wanted.shape())) return Value(*y).text();
  const auto a = y->as<int32_t>(), b = wanted.as<int32_t>();
  return std::equal(a.begin(), a.end(), b.begin(), b.end()) ? "" : "other numbers";
}

enum class Stop : uint8_t { onnx, onnx_custom, nnef_custom };
constexpr const char* kStops[] = {"ONNX", "ONNX with custom operators", "NNEF with custom operations"};

Result<ir::Graph> through(Stop stop, ir::Graph graph) {
  if (stop == Stop::nnef_custom) {
    NNEX_ASSIGN(const auto written, to_nnef(graph, {"net", true}));
    return nnef_format::read_nnef(nnef_format::container_of(written), {});
  }
  NNEX_ASSIGN(const auto written, to_onnx(graph, {{}, stop == Stop::onnx_custom, {}}));
  return read_model_bytes(written.model.text(), {});
}

std::string there_and_back(Stop stop, const ir::Graph& graph, const Tensor& x, const Tensor& wanted) {
  auto read = through(stop, ir::Graph(graph));
  if (!read.ok()) return "there: " + read.error().text();
  if (std::string wrong = differs(ir::Graph(*read), x, wanted); !wrong.empty()) return "there: " + wrong;
  const auto back = to_cvm(*read);
  if (!back.ok()) return "back: " + back.error().text();
  auto again = read_model(back->symbol, back->params, nullptr, false);
  if (!again.ok()) return "written back: " + again.error().text();
  const std::string wrong = differs(std::move(*again), x, wanted);
  return wrong.empty() ? wrong : "back in CVM: " + wrong;
}

TEST(CvmRandom, TheSameBytesAtEveryStop) {
  const int tries = std::max(2, 24 / static_cast<int>(test::share()));
  uint32_t seed = 1;
  for (const Operator& op : kOperators) {
    int said = 0;
    for (int i = 0; i < tries; ++i) {
      Dice d(seed++);
      const Case c = op.make(d);
      const auto data = static_cast<size_t>(d.between(0, static_cast<int64_t>(c.in.size()) - 1));
      const int64_t head = d.between(0, static_cast<int64_t>(c.out.size()) - 1);
      const auto graph = as_model(op.name, c, data, head, d);
      SCOPED_TRACE(fmt::format("seed {}: {} {}, data is input {} {} of {} bits", seed - 1, op.name, c.attrs, data,
                               listed(c.in[data]), c.bits[data]));
      ASSERT_TRUE(graph.ok()) << graph.error().text();
      const Tensor x = d.tensor(c.in[data], std::min<int64_t>(32, c.bits[data] + d.between(0, 1)));
      const auto wanted = answer(ir::Graph(*graph), x);
      ASSERT_TRUE(wanted.ok()) << wanted.error().text();
      for (Stop stop : {Stop::onnx, Stop::onnx_custom, Stop::nnef_custom}) {
        if (stop == Stop::onnx && std::string_view(op.name) == "non_max_suppression") continue;  // ONNX's is of reals
        EXPECT_EQ(there_and_back(stop, *graph, x, *wanted), "") << kStops[static_cast<size_t>(stop)];
      }
      ++said;
    }
    EXPECT_EQ(said, tries) << op.name;
  }
}

}  // namespace
}  // namespace nnex
