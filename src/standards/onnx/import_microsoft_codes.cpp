// Operators of the domain com.microsoft over weights of few bits and numbers of 8.

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "ops/codecs.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "standards/onnx/import_microsoft.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace microsoft {

Result<Tensor> codes_of(const NodeImport& n, const Tensor& packed, DType type, int64_t bits, int64_t rows,
                        int64_t row) {
  const int64_t row_bytes = ceil_div(row * bits, int64_t{8});
  if (packed.dtype() != DType::u8 || static_cast<int64_t>(packed.bytes()) != rows * row_bytes)
    return n.error(fmt::format("{} {} holds no {} rows of {} codes of {} bits", name(packed.dtype()),
                               packed.shape().text(), rows, row, bits));
  NNEX_ASSIGN(Tensor out, Tensor::make(type, Shape{rows, row}));
  if (row * bits % 8 == 0) {
    std::memcpy(out.mutable_data(), packed.data(), packed.bytes());
    return out;
  }
  std::memset(out.mutable_data(), 0, out.bytes());
  const int64_t per_byte = 8 / bits;
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  const auto* const from = reinterpret_cast<const uint8_t*>(packed.data());
  auto* const to = reinterpret_cast<uint8_t*>(out.mutable_data());
  for (int64_t i = 0; i < rows * row; ++i) {
    const int64_t column = i % row;
    const int code = from[i / row * row_bytes + column / per_byte] >> (column % per_byte * bits) & mask;
    to[i / per_byte] |= static_cast<uint8_t>(code << (i % per_byte * bits));
  }
  return out;
}

Result<ValueId> with_channels(NodeImport& n, ValueId x, bool last) {
  const auto rank = n.rank(0);
  if (!rank || *rank < 3)
    return lacks(n, rank ? fmt::format("{} axes; needed at least 3, the last of channels", *rank)
                         : "an input of unknown rank, whose last axis is that of channels");
  TransposeAttrs a;
  a.axes = {0};
  if (!last) a.axes.push_back(*rank - 1);
  for (int64_t axis = last ? 2 : 1; axis < (last ? *rank : *rank - 1); ++axis) a.axes.push_back(axis);
  if (last) a.axes.push_back(1);
  return n.b("transpose", {x}, a);
}

namespace {

// ---- Weights of few bits

DType code_type(int64_t bits) {
  return bits == 2 ? DType::u2 : bits == 4 ? DType::u4 : bits == 8 ? DType::u8 : DType::none;
}

/// As many codes of the middle of the range.
Result<Tensor> middle_codes(DType type, int64_t bits, int64_t rows, int64_t row) {
  NNEX_ASSIGN(Tensor out, Tensor::make(type, Shape{rows, row}));
  const int byte = bits == 8 ? 0x80 : bits == 4 ? 0x88 : 0xaa;
  std::memset(out.mutable_data(), byte, out.bytes());
  if (const int64_t used = rows * row * bits % 8; used)  // nothing beside the last code
    out.mutable_data()[out.bytes() - 1] &= static_cast<std::byte>((1 << used) - 1);
  return out;
}

/// What MatMulNBits says of its weights.
struct BlockCodes {
  int64_t k = 0, n = 0, bits = 4, block = 0, blocks = 0;
  DType type = DType::none;
};

Result<BlockCodes> block_codes(const NodeImport& n) {
  BlockCodes c{n.integer("K", 0), n.integer("N", 0), n.integer("bits", 4), n.integer("block_size", 0), 0, DType::none};
  c.type = code_type(c.bits);
  if (c.type == DType::none) return lacks(n, fmt::format("weights of {} bits", c.bits));
  constexpr int64_t kLargest = int64_t{1} << 31;
  if (c.k < 1 || c.n < 1 || c.k > kLargest || c.n > kLargest)
    return n.error(fmt::format("K is {} and N is {}; needed 1 to 2^31", c.k, c.n));
  if (c.block < 16 || c.block > kLargest || (c.block & (c.block - 1)) != 0)
    return n.error(fmt::format("block_size is {}; needed a power of 2 of at least 16", c.block));
  c.blocks = ceil_div(c.k, c.block);
  return c;
}

/// a by the transpose of (codes - zero) * scale, a scale for each block of a row; then bias.
Result<Quirked> matmul_n_bits(NodeImport& n) {
  enum : size_t { kA, kB, kScales, kZeros, kGroups, kBias };
  NNEX_TRY(needs(n, {kA, kB, kScales}));
  if (n.has(kGroups)) return lacks(n, "g_idx, which ONNX Runtime gave up too");
  if (n.integer("weight_prepacked", 0)) return lacks(n, "weights in the order of a graphics card");
  NNEX_ASSIGN(BlockCodes c, block_codes(n));
  const Tensor* const packed = n.constant(kB);
  if (!packed) return lacks(n, "weights that are no initializer");
  NNEX_ASSIGN(Tensor codes, codes_of(n, *packed, c.type, c.bits, c.n, c.blocks * c.block));
  const ValueId rows = n.b.ints({c.n, c.blocks});
  const ValueId scale = n.b("reshape", {n.in[kScales], rows});
  DequantizeAttrs a;
  a.axis = 1, a.block_size = c.block;
  ValueId w;
  if (n.has(kZeros) && n.type(kZeros).dtype != DType::u8) {  // zero points between the codes
    const ValueId blocked = n.b.ints({c.n, c.blocks, c.block}), beside = n.b.ints({c.n, c.blocks, 1});
    const ValueId x = n.b("reshape", {cast_to(n, n.b.constant(std::move(codes)), real_type(n, kScales)), blocked});
    const ValueId zero = n.b("reshape", {n.in[kZeros], beside});
    const ValueId product = n.b("mul", {n.b("sub", {x, zero}), n.b("reshape", {scale, beside})});
    w = n.b("reshape", {product, n.b.ints({c.n, c.blocks * c.block})});
  } else {
    const Tensor* const given = n.has(kZeros) ? n.constant(kZeros) : nullptr;
    if (n.has(kZeros) && !given) return lacks(n, "zero points that are no initializer");
    NNEX_ASSIGN(Tensor zeros, given ? codes_of(n, *given, c.type, c.bits, c.n, c.blocks)
                                    : middle_codes(c.type, c.bits, c.n, c.blocks));
    w = n.b("dequantize_linear", {n.b.constant(std::move(codes)), scale, n.b.constant(std::move(zeros))}, a);
  }
  if (c.blocks * c.block != c.k) w = n.b("slice", {w, n.b.ints({0}), n.b.ints({c.k}), n.b.ints({1})});
  MatmulAttrs by_rows;
  by_rows.transpose_b = true;
  n.bind(0, plus(n, n.b("matmul", {n.in[kA], w}, by_rows), kBias));
  return Quirked::done;
}

/// The 16 numbers of bitsandbytes: FP4, a sign, two bits of exponent and one of fraction over 12, and NF4, quantiles of
/// the normal distribution.
constexpr float kFourBitFloats[2][16] = {
    {0, 0x1.555556p-8F, 0x1.555556p-1F, 1, 0x1.555556p-2F, 0.5F, 0x1.555556p-3F, 0.25F, -0.0F, -0x1.555556p-8F,
     -0x1.555556p-1F, -1, -0x1.555556p-2F, -0.5F, -0x1.555556p-3F, -0.25F},
    {-1.0F, -0.6961928F, -0.52507305F, -0.3949175F, -0.28444138F, -0.18477343F, -0.091050036F, 0, 0.0795803F,
     0.1609302F, 0.2461123F, 0.33791524F, 0.44070983F, 0.562617F, 0.72295684F, 1},
};

/// a by the transpose of [N, K] numbers of four bits, the upper half of a byte first, with a scale for each block of
/// them in that order.
Result<Quirked> matmul_bnb4(NodeImport& n) {
  enum : size_t { kA, kB, kScales };
  NNEX_TRY(needs(n, {kA, kB, kScales}));
  NNEX_ASSIGN(const BlockCodes c, block_codes(n));
  const int64_t kind = n.integer("quant_type", 1), count = c.n * c.k;
  if (kind != 0 && kind != 1) return n.error(fmt::format("quant_type is {}; needed 0 (FP4) or 1 (NF4)", kind));
  if (!n.integer("transB", 1)) return lacks(n, "transB of 0");
  const Tensor *const packed = n.constant(kB), *const scales = n.constant(kScales);
  if (!packed || !scales) return lacks(n, "weights that are no initializer");
  if (packed->dtype() != DType::u8 || packed->count() != ceil_div(count, int64_t{2}) ||
      scales->count() != ceil_div(count, c.block) || !is_float(scales->dtype()))
    return n.error(fmt::format("found weights {} {} with scales {} {}; needed {} bytes and {} scales",
                               name(packed->dtype()), packed->shape().text(), name(scales->dtype()),
                               scales->shape().text(), ceil_div(count, int64_t{2}), ceil_div(count, c.block)));
  const bool in_rows = c.k % c.block == 0;  // else blocks go on in the next row
  NNEX_ASSIGN(Tensor codes, Tensor::make(DType::u4, in_rows ? Shape{c.n, c.k} : Shape{count}));
  const auto* const from = packed->as<uint8_t>().data();
  auto* const to = reinterpret_cast<uint8_t*>(codes.mutable_data());
  std::transform(from, from + packed->count(), to,
                 [](uint8_t pair) { return static_cast<uint8_t>(pair << 4 | pair >> 4); });
  if (count % 2) to[count / 2] &= 15;
  NNEX_ASSIGN(const Tensor scale, convert(*scales, DType::f32));
  CodebookAttrs a;
  a.axis = in_rows ? 1 : 0, a.block_size = c.block;
  const float* const book = kFourBitFloats[kind];
  const ValueId numbers = n.b.constant(Tensor::of<float>(Shape{16}, {book, book + 16}));
  const ValueId by =
      n.b.constant(in_rows ? scale.reshaped(Shape{c.n, c.blocks}) : scale.reshaped(Shape{scale.count()}));
  ValueId w = n.b("dequantize_codebook", {n.b.constant(std::move(codes)), by, numbers}, a);
  if (!in_rows) w = n.b("reshape", {w, n.b.ints({c.n, c.k})}, ReshapeAttrs{});
  if (scales->dtype() != DType::f32) w = cast_to(n, w, scales->dtype());
  MatmulAttrs by_rows;
  by_rows.transpose_b = true;
  n.bind(0, n.b("matmul", {n.in[kA], w}, by_rows));
  return Quirked::done;
}

/// Rows of a table of codes, then (code - zero) * scale of them alone.
Result<Quirked> gather_block_quantized(NodeImport& n) {
  enum : size_t { kData, kIndices, kScales, kZeros };
  NNEX_TRY(needs(n, {kData, kIndices, kScales}));
  const Tensor* const data = n.constant(kData);
  const auto rank = n.rank(kData), indices = n.rank(kIndices);
  if (!data || !rank || !indices) return lacks(n, "data that is no initializer, or indices of unknown rank");
  const auto axis_of = [&](std::string_view name, int64_t otherwise) {
    const int64_t axis = n.integer(name, otherwise);
    return axis < 0 ? axis + *rank : axis;
  };
  const int64_t gathered = axis_of("gather_axis", 0), quantized = axis_of("quantize_axis", 1);
  if (gathered != 0 || quantized != *rank - 1 || *rank < 2) return lacks(n, "axes other than the first and the last");
  const int64_t bits = n.integer("bits", 4), block = n.integer("block_size", 128);
  const DType given = data->dtype(), type = given == DType::u8 ? code_type(bits) : given;
  if (type != DType::u8 && type != DType::u4 && type != DType::i4 && type != DType::u2)
    return lacks(n, fmt::format("data of {} with {} bits", name(given), bits));
  if (block < 16) return n.error(fmt::format("block_size is {}; needed at least 16", block));
  const auto unpacked = [&](const Tensor& t, int64_t last) -> Result<ValueId> {
    if (given != DType::u8 || bits == 8) return n.b.constant(t);
    Shape shape = t.shape();
    int64_t rows = 1;
    for (int64_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
    NNEX_ASSIGN(Tensor codes, codes_of(n, t, type, bits, rows, last));
    Ints to(shape.begin(), shape.end());
    to.back() = last;
    return n.b.constant(codes.reshaped(Shape(to)));
  };
  const int64_t packed = data->shape()[*rank - 1], last = given == DType::u8 ? packed * (8 / bits) : packed;
  NNEX_ASSIGN(ValueId codes, unpacked(*data, last));
  const auto rows = [&](ValueId table) { return n.b("gather", {table, n.in[kIndices]}, GatherAttrs{}); };
  std::vector<ValueId> in = {rows(codes), rows(n.in[kScales])};
  if (n.has(kZeros)) {
    const Tensor* const zeros = n.constant(kZeros);
    if (!zeros) return lacks(n, "zero points that are no initializer");
    NNEX_ASSIGN(ValueId table, unpacked(*zeros, ceil_div(last, block)));
    in.push_back(rows(table));
  } else if (given == DType::u8) {  // the middle; 4-bit types have their own 0
    Ints shape(data->shape().begin(), data->shape().end());
    shape.back() = ceil_div(last, block);
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    NNEX_ASSIGN(Tensor middle, middle_codes(type, bits, 1, count));
    in.push_back(rows(n.b.constant(middle.reshaped(Shape(shape)))));
  }
  DequantizeAttrs a;
  a.axis = *indices + *rank - 2, a.block_size = block;
  n.bind(0, n.b("dequantize_linear", std::move(in), a));
  return Quirked::done;
}

// ---- Numbers of 8 bits around a real operator

ValueId real_of(NodeImport& n, size_t x) {
  std::vector<ValueId> in = {n.in[x], n.in[x + 1]};
  if (n.has(x + 2)) in.push_back(n.in[x + 2]);
  return n.b("dequantize_linear", std::move(in), DequantizeAttrs{});
}

/// To bytes by the scale and zero point at inputs i and i + 1, in the type of `like` where there is no zero point.
ValueId bytes_of(NodeImport& n, ValueId y, size_t i, DType like) {
  std::vector<ValueId> in = {y, n.in[i]};
  QuantizeAttrs a;
  if (n.has(i + 1)) {
    in.push_back(n.in[i + 1]);
  } else if (like != DType::none) {
    a.result = like;
  }
  return n.b("quantize_linear", std::move(in), a);
}

Result<Quirked> byte_pair(NodeImport& n, std::string_view row) {
  NNEX_TRY(needs(n, {0, 1, 3, 4, 6}));
  const DType type = n.type(0).dtype;
  n.bind(0, bytes_of(n, n.b(row, {real_of(n, 0), real_of(n, 3)}), 6, type));
  return Quirked::done;
}
Result<Quirked> byte_sum(NodeImport& n) { return byte_pair(n, "add"); }
Result<Quirked> byte_product(NodeImport& n) { return byte_pair(n, "mul"); }

/// x, scale, zero; scale and zero of y: a standard operator of one input between.
Result<Quirked> byte_map(NodeImport& n, std::string_view op) {
  NNEX_TRY(needs(n, {0, 1, 3}));
  const bool last = n.integer("channels_last", 0) != 0;
  const DType type = n.type(0).dtype;
  for (std::string_view own : {"channels_last", "opset"}) n.drop(own);
  const auto make = [&](ValueId x) { return n.importer.standard_result(n, op, {x}); };
  NNEX_ASSIGN(const ValueId y, channels_second(n, last, real_of(n, 0), make));
  n.bind(0, bytes_of(n, y, 3, type));
  return Quirked::done;
}

/// The standard's, of images with their channels last.
Result<Quirked> byte_conv(NodeImport& n) {
  const bool last = n.integer("channels_last", 0) != 0;
  n.drop("channels_last");
  if (!last) return as_standard(n, "QLinearConv");
  NNEX_TRY(needs(n, {0, 1, 2, 3, 4, 5, 6, 7}));
  const auto make = [&](ValueId x) {
    Inputs in = n.in;
    in[0] = x;
    return n.importer.standard_result(n, "QLinearConv", std::move(in));
  };
  NNEX_ASSIGN(const ValueId y, channels_second(n, true, n.in[0], make));
  n.bind(0, y);
  return Quirked::done;
}

Result<Quirked> max_pool_channels_last(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  const auto make = [&](ValueId x) { return n.importer.standard_result(n, "MaxPool", {x}); };
  NNEX_ASSIGN(const ValueId y, channels_second(n, true, n.in[0], make));
  n.bind(0, y);
  return Quirked::done;
}

Result<Quirked> byte_select(NodeImport& n) {
  enum : size_t { kCondition, kX, kXScale, kXZero, kY, kYScale, kYZero, kZScale };
  NNEX_TRY(needs(n, {kCondition, kX, kXScale, kXZero, kY, kYScale, kYZero, kZScale}));
  n.bind(0, bytes_of(n, n.b("select", {n.in[kCondition], real_of(n, kX), real_of(n, kY)}), kZScale, n.type(kX).dtype));
  return Quirked::done;
}

Result<Quirked> byte_sigmoid(NodeImport& n) { return byte_map(n, "Sigmoid"); }
Result<Quirked> byte_leaky_relu(NodeImport& n) { return byte_map(n, "LeakyRelu"); }
/// Before opset 13 all axes from `axis` on were one.
Result<Quirked> byte_softmax(NodeImport& n) {
  const int64_t axis = n.integer("axis", -1);
  if (n.integer("opset", 13) < 13 && axis != -1 && n.rank(0) != axis + 1)
    return lacks(n, "axes made one by an old opset");
  return byte_map(n, "Softmax");
}
Result<Quirked> byte_average(NodeImport& n) { return byte_map(n, "AveragePool"); }
Result<Quirked> byte_global_average(NodeImport& n) { return byte_map(n, "GlobalAveragePool"); }

Result<Quirked> byte_mean(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 3}));
  ReduceAttrs over;
  over.keepdims = n.integer("keepdims", 1) != 0;
  std::vector<ValueId> in = {real_of(n, 0)};
  if (n.given("axes")) in.push_back(n.b.ints(n.ints("axes")));
  n.bind(0, bytes_of(n, n.b("mean_reduce", std::move(in), over), 3, n.type(0).dtype));
  return Quirked::done;
}

Result<Quirked> byte_concat(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  if (n.in.size() < 5 || n.in.size() % 3 != 2)
    return n.error(fmt::format("found {} inputs; needed a scale, a zero point and three for each part", n.in.size()));
  std::vector<ValueId> parts;
  for (size_t i = 2; i < n.in.size(); i += 3) {
    NNEX_TRY(needs(n, {i, i + 1}));
    parts.push_back(real_of(n, i));
  }
  n.bind(0, bytes_of(n, n.b("concat", std::move(parts), AxisAttrs{n.integer("axis", 1)}), 0, n.type(2).dtype));
  return Quirked::done;
}

/// Matrix x of bytes in real numbers: scale and zero point are one number or one a column, each for itself.
ValueId real_columns(NodeImport& n, size_t x, size_t scale, size_t zero) {
  std::vector<ValueId> in = {n.in[x], n.in[scale]};
  DequantizeAttrs columns;
  columns.axis = -1;
  if (n.has(zero)) {
    in.push_back(n.in[zero]);
    const auto as_long = [&](size_t few, size_t many) { in[few] = n.b("expand", {in[few], n.b("shape", {in[many]})}); };
    if (n.rank(scale) == 0 && n.rank(zero) == 1) as_long(1, 2);
    if (n.rank(scale) == 1 && n.rank(zero) == 0) as_long(2, 1);
  }
  return n.b("dequantize_linear", std::move(in), columns);
}

Result<Quirked> matmul_integer_to_float(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2, 3}));
  n.bind(0, plus(n, n.b("matmul", {real_columns(n, 0, 2, 4), real_columns(n, 1, 3, 5)}), 6));
  return Quirked::done;
}

/// Matrix x with its axes exchanged where the attribute says so.
ValueId matrix_of(NodeImport& n, size_t x, std::string_view transposed) {
  if (!n.integer(transposed, 0)) return n.in[x];
  return n.b("transpose", {n.in[x]}, TransposeAttrs{{1, 0}});
}

/// The exact sum of products and C; then it times alpha * a_scale * b_scale, or, with the scale of y, the bytes of
/// that.
Result<Quirked> byte_gemm(NodeImport& n) {
  enum : size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kC, kYScale, kYZero };
  NNEX_TRY(needs(n, {kA, kAScale, kB, kBScale}));
  if (n.has(kYZero) && !n.has(kYScale)) return n.error("input 8 is a zero point without the scale at input 7");
  const DType bytes = n.type(kA).dtype;
  std::vector<ValueId> in = {matrix_of(n, kA, "transA"), matrix_of(n, kB, "transB")};
  if (n.has(kAZero) || n.has(kBZero)) in.push_back(n.in[kAZero]);
  if (n.has(kBZero)) in.push_back(n.in[kBZero]);
  const ValueId sum = plus(n, n.b("matmul_integer", std::move(in)), kC);
  ValueId scale = n.b("mul", {n.b("mul", {n.b.number(DType::f32, n.real("alpha", 1)), n.in[kAScale]}), n.in[kBScale]});
  if (n.has(kYScale)) scale = n.b("div", {scale, n.in[kYScale]});
  const ValueId y = n.b("mul", {cast_to(n, sum, DType::f32), scale});
  if (!n.has(kYScale)) {
    n.bind(0, y);
    return Quirked::done;
  }
  in = {y, n.b.number(DType::f32, 1)};
  QuantizeAttrs a;
  if (n.has(kYZero))
    in.push_back(n.in[kYZero]);
  else if (bytes != DType::none)
    a.result = bytes;
  n.bind(0, n.b("quantize_linear", std::move(in), a));
  return Quirked::done;
}

/// The left matrix is rounded to bytes by its own range first.
Result<Quirked> dynamic_quantize_matmul(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2}));
  const NodeId bytes = n.b.node(op("dynamic_quantize_linear"), {n.in[0]}, 3, nullptr);
  const std::vector<ValueId> a = n.importer.graph()[bytes].out;
  const ValueId left = n.b("dequantize_linear", a, DequantizeAttrs{});
  n.bind(0, plus(n, n.b("matmul", {left, real_columns(n, 1, 2, 3)}), 4));
  return Quirked::done;
}

/// Attention of bytes by bytes: input, weights, bias; scales of both; mask; zero points of both; past.
Result<Quirked> byte_attention(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1, 2, 3, 4}));
  const ValueId product = n.b("matmul", {real_columns(n, 0, 3, 6), real_columns(n, 1, 4, 7)});
  return packed_attention(n, product, {.real = 3, .mask = 5, .past = 8});
}

/// LSTM whose weights are bytes, each direction's [inputs, 4 * hidden]. Inputs and states are not rounded.
Result<Quirked> dynamic_quantize_lstm(NodeImport& n) {
  enum : size_t { kX, kW, kR, kB, kLengths, kH, kC, kPeepholes, kWScale, kWZero, kRScale, kRZero };
  NNEX_TRY(needs(n, {kX, kW, kR, kWScale, kWZero, kRScale, kRZero}));
  n.in.resize(kRZero + 1);
  const auto real = [&](size_t weights, size_t scale, size_t zero) {
    const auto columns = [&](size_t i) {  // a number for each direction, or one for each of its columns
      return n.rank(i) == 2 ? n.b("unsqueeze", {n.in[i], n.b.ints({1})})
                            : n.b("reshape", {n.in[i], n.b.ints({-1, 1, 1})});
    };
    const ValueId codes = n.b("sub", {cast_to(n, n.in[weights], DType::f32), cast_to(n, columns(zero), DType::f32)});
    return n.b("transpose", {n.b("mul", {codes, columns(scale)})}, TransposeAttrs{{0, 2, 1}});
  };
  n.in[kW] = real(kW, kWScale, kWZero), n.in[kR] = real(kR, kRScale, kRZero);
  n.in.resize(kPeepholes + 1);
  return as_standard(n, "LSTM");
}

// Not read: how exact products may be (accuracy_level), that a product is trained on (training_mode), and of
// QLinearConv's kind what the standard's operator reads.
constexpr QuirkRow kCodeRows[] = {
    {"DynamicQuantizeLSTM", dynamic_quantize_lstm, kDomain,
     "1 T T2 T2 T? T1? T? T? T? T T2 T T2 > T? T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i input_forget:i",
     "LSTM"},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul, kDomain, "1 T1 T2 T1 T2? T1? > T1"},
    {"GatherBlockQuantized", gather_block_quantized, kDomain,
     "1 T1 T T2 T1? > T2 | bits:i block_size:i gather_axis:i quantize_axis:i"},
    {"MatMulBnb4", matmul_bnb4, kDomain,
     "1 T1 T2 T1 > T1 | K:i N:i block_size:i quant_type:i training_mode:i transB:i"},
    {"MatMulIntegerToFloat", matmul_integer_to_float, kDomain, "1 T1 T2 T3 T3 T1? T2? T3? > T3"},
    {"MatMulNBits", matmul_n_bits, kDomain,
     "1 T1 T2 T1 T3? T4? T1? > T1 | K:i N:i accuracy_level:i bits:i block_size:i weight_prepacked:i"},
    {"NhwcMaxPool", max_pool_channels_last, kDomain,
     "1 T > T | auto_pad:s ceil_mode:i dilations:I kernel_shape:I pads:I strides:I", "MaxPool"},
    {"QAttention", byte_attention, kDomain,
     "1 T1 T2 T3 T3 T3 T4? T1? T2? T3? > T3 T3? | do_rotary:i mask_filter_value:f num_heads:i "
     "past_present_share_buffer:i qkv_hidden_sizes:I rotary_embedding_dim:i scale:f unidirectional:i"},
    {"QGemm", byte_gemm, kDomain, "1 TA T TA? TB T TB? TC? T? TY? > TYZ | alpha:f transA:i transB:i"},
    {"QLinearAdd", byte_sum, kDomain, "1 T T1 T? T T1 T? T1 T? > T"},
    {"QLinearAveragePool", byte_average, kDomain,
     "1 T T1 T? T1 T? > T | auto_pad:s ceil_mode:i channels_last:i count_include_pad:i kernel_shape:I pads:I strides:I",
     "AveragePool"},
    {"QLinearConcat", byte_concat, kDomain, "1 T1 T T2~ > T | axis:i"},
    {"QLinearConv", byte_conv, kDomain,
     "1 T1 T T1 T2 T T2 T T3 T4? > T3 | auto_pad:s channels_last:i dilations:I group:i kernel_shape:I pads:I "
     "strides:I"},
    {"QLinearGlobalAveragePool", byte_global_average, kDomain, "1 T T1 T? T1 T? > T | channels_last:i",
     "GlobalAveragePool"},
    {"QLinearLeakyRelu", byte_leaky_relu, kDomain, "1 T T1 T? T1 T? > T | alpha:f", "LeakyRelu"},
    {"QLinearMul", byte_product, kDomain, "1 T T1 T? T T1 T? T1 T? > T"},
    {"QLinearReduceMean", byte_mean, kDomain, "1 T T1 T? T1 T? > T | axes:I keepdims:i"},
    {"QLinearSigmoid", byte_sigmoid, kDomain, "1 T T1 T? T1 T? > T", "Sigmoid"},
    {"QLinearSoftmax", byte_softmax, kDomain, "1 T T1 T? T1 T? > T | axis:i opset:i", "Softmax"},
    {"QLinearWhere", byte_select, kDomain, "1 B T T1 T T T1 T T1 T? > T"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_code_quirks() { return read_of<microsoft::kCodeRows>(); }

}  // namespace nnex::onnx_format
