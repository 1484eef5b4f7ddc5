// Operators of the domain com.microsoft, which tools of ONNX Runtime write into models that they optimise or quantise,
// and the two that they write into the standard domain. Each becomes rows that the table has. Source: ONNX Runtime's
// list of its contributed operators, version 1 of the domain. Attention stands in import_microsoft_attention.cpp.

#include "standards/onnx/import_microsoft.h"

#include <cstring>

#include "base/checked.h"
#include "ops/activation.h"
#include "ops/codecs.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/quantize.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/slice.h"

namespace nnex::onnx_format {
namespace microsoft {
namespace {

/// Goes on as the operator of the standard domain.
Quirked as_standard(NodeImport& n, std::string op) {
  n.op = std::move(op), n.domain.clear(), n.version = kNewestOpset;
  return Quirked::no;
}

ValueId plus(NodeImport& n, ValueId x, size_t i) { return n.has(i) ? n.b("add", {x, n.in[i]}) : x; }

// ---- Activations

ValueId gelu(NodeImport& n, ValueId x, GeluForm form) { return n.b("gelu", {x}, GeluAttrs{form}); }

Result<Quirked> exact_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  n.bind(0, gelu(n, plus(n, n.in[0], 1), GeluForm::erf));
  return Quirked::done;
}

Result<Quirked> fast_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  n.bind(0, gelu(n, plus(n, n.in[0], 1), GeluForm::tanh));
  return Quirked::done;
}

Result<Quirked> quick_gelu(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  n.bind(0, n.b("silu", {n.in[0]}, AlphaAttrs{n.real("alpha", 1.702)}));
  return Quirked::done;
}

/// What fused products apply to their result.
Result<ValueId> activated(NodeImport& n, ValueId x, const std::string& name, const Reals& params) {
  const auto param = [&](size_t i, double otherwise) { return i < params.size() ? params[i] : otherwise; };
  if (name.empty()) return x;
  if (name == "Relu") return n.b("relu", {x});
  if (name == "Tanh") return n.b("tanh", {x});
  if (name == "Sigmoid") return n.b("sigmoid", {x});
  if (name == "LeakyRelu") return n.b("leaky_relu", {x}, LeakyReluAttrs{param(0, 0.01)});
  if (name == "HardSigmoid") return n.b("hard_sigmoid", {x}, HardSigmoidAttrs{param(0, 0.2), param(1, 0.5)});
  if (name == "Clip" && params.size() == 2) {
    const DType type = real_type(n, 0);
    return n.b("clamp", {x, n.b.number(type, params[0]), n.b.number(type, params[1])});
  }
  return lacks(n, fmt::format("activation '{}'", name));
}

// ---- Norms

LayerNormAttrs norm_attrs(const NodeImport& n, int64_t axis, double epsilon) {
  LayerNormAttrs a;
  a.axes = {axis}, a.to_end = true, a.epsilon = n.real("epsilon", epsilon);
  return a;
}

/// Mean and deviation are outputs for training alone.
Status no_statistics(const NodeImport& n, std::initializer_list<size_t> outputs) {
  for (size_t o : outputs)
    if (n.wants(o)) return lacks(n, fmt::format("output {}", o));
  return {};
}

/// LayerNormalization before opset 17, where the standard did not have it.
Result<Quirked> early_layer_norm(NodeImport& n) {
  if (n.version < 17) n.version = 17;
  return Quirked::no;
}

Result<Quirked> simplified_layer_norm(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  NNEX_TRY(no_statistics(n, {1}));
  n.bind(0, n.b("rms_normalization", {n.in[0], n.in[1]}, norm_attrs(n, n.integer("axis", -1), 1e-5)));
  return Quirked::done;
}

/// The norm of input + skip + bias; output 3 is the sum.
Result<Quirked> skip_norm(NodeImport& n, std::string_view row, size_t bias) {
  NNEX_TRY(needs(n, {0, 1, 2}));
  NNEX_TRY(no_statistics(n, {1, 2}));
  const ValueId sum = plus(n, n.b("add", {n.in[0], n.in[1]}), bias);
  std::vector<ValueId> in = {sum, n.in[2]};
  if (bias == 4 && n.has(3)) in.push_back(n.in[3]);
  n.bind(0, n.b(row, std::move(in), norm_attrs(n, -1, 1e-12)));
  n.bind(3, sum);
  return Quirked::done;
}
Result<Quirked> skip_layer_norm(NodeImport& n) { return skip_norm(n, "layer_normalization", 4); }
Result<Quirked> skip_simplified_norm(NodeImport& n) { return skip_norm(n, "rms_normalization", 3); }

/// Rows of up to three tables, added and normalised.
Result<Quirked> embed_layer_norm(NodeImport& n) {
  enum : size_t { kIds, kSegments, kWords, kPositions, kSegmentRows, kGamma, kBeta, kMask, kPositionIds };
  NNEX_TRY(needs(n, {kIds, kWords, kPositions, kGamma, kBeta}));
  const auto rows = [&](size_t table, ValueId ids) { return n.b("gather", {n.in[table], ids}, GatherAttrs{}); };
  ValueId sum = rows(kWords, n.in[kIds]);
  if (n.has(kPositionIds)) {
    sum = n.b("add", {sum, rows(kPositions, n.in[kPositionIds])});
  } else {  // the first ones, one for each word
    ShapeAttrs length;
    length.start = 1, length.end = 2;
    const ValueId end = n.b("shape", {n.in[kIds]}, length);
    sum = n.b("add", {sum, n.b("slice", {n.in[kPositions], n.b.ints({0}), end, n.b.ints({0})})});
  }
  if (n.has(kSegments) && n.has(kSegmentRows)) sum = n.b("add", {sum, rows(kSegmentRows, n.in[kSegments])});
  n.bind(0, n.b("layer_normalization", {sum, n.in[kGamma], n.in[kBeta]}, norm_attrs(n, -1, 1e-12)));
  if (n.wants(1)) {  // how many words of each row are none of padding
    if (n.has(kMask)) {
      ReduceAttrs words;
      words.keepdims = false;
      n.bind(1, n.b("sum_reduce", {n.in[kMask], n.b.ints({1})}, words));
    } else {
      ShapeAttrs batch;
      batch.start = 0, batch.end = 1;
      const ValueId zero = cast_to(n, n.b.integer(0), DType::i32);
      n.bind(1, n.b("expand", {zero, n.b("shape", {n.in[kIds]}, batch)}));
    }
  }
  n.bind(2, sum);
  return Quirked::done;
}

// ---- Products

Result<Quirked> fused_matmul(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  for (std::string_view batches : {"transBatchA", "transBatchB"})
    if (n.integer(batches, 0)) return lacks(n, batches);
  MatmulAttrs a;
  a.transpose_a = n.integer("transA", 0) != 0, a.transpose_b = n.integer("transB", 0) != 0;
  ValueId y = n.b("matmul", {n.in[0], n.in[1]}, a);
  if (const double alpha = n.real("alpha", 1); alpha != 1) y = n.b("mul", {y, n.b.number(real_type(n, 0), alpha)});
  n.bind(0, y);
  return Quirked::done;
}

Result<Quirked> fused_gemm(NodeImport& n) {
  const std::string activation = n.word("activation", "");
  const Reals params = {n.real("activation_alpha", 0), n.real("activation_beta", 0)};
  for (std::string_view own : {"activation", "activation_alpha", "activation_beta", "activation_gamma"}) n.drop(own);
  NNEX_ASSIGN(ValueId y, n.importer.standard_result(n, "Gemm", n.in));
  NNEX_ASSIGN(y, activated(n, y, activation, params));
  n.bind(0, y);
  return Quirked::done;
}

/// Z is added before the activation.
Result<Quirked> fused_conv(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  const std::string activation = n.word("activation", "");
  const Reals params = n.reals("activation_params");
  for (std::string_view own : {"activation", "activation_params"}) n.drop(own);
  Inputs in = n.in;
  if (in.size() > 3) in.resize(3);
  NNEX_ASSIGN(ValueId y, n.importer.standard_result(n, "Conv", std::move(in)));
  NNEX_ASSIGN(y, activated(n, plus(n, y, 3), activation, params));
  n.bind(0, y);
  return Quirked::done;
}

// ---- Weights of few bits

DType code_type(int64_t bits) {
  return bits == 2 ? DType::u2 : bits == 4 ? DType::u4 : bits == 8 ? DType::u8 : DType::none;
}

/// Codes of `bits` bits that fill whole bytes in every row of `row`, as a tensor of rows * row codes.
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
  if (n.integer("channels_last", 0)) return lacks(n, "channels_last");
  const DType type = n.type(0).dtype;
  for (std::string_view own : {"channels_last", "opset"}) n.drop(own);
  NNEX_ASSIGN(ValueId y, n.importer.standard_result(n, op, {real_of(n, 0)}));
  n.bind(0, bytes_of(n, y, 3, type));
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

// ---- What has the standard's meaning

Result<Quirked> standard_name(NodeImport& n) { return as_standard(n, n.op); }

/// The step may be absent: 1.
Result<Quirked> range(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  if (!n.has(2)) {
    if (n.type(0).dtype == DType::none) return lacks(n, "no step, of an unknown type");
    n.in.resize(2);
    n.in.push_back(n.b.number(n.type(0).dtype, 1));
  }
  return as_standard(n, "Range");
}

Result<Quirked> linear_name(NodeImport& n) {
  if (n.word("mode", "bilinear") == "bilinear") n.set("mode", std::string("linear"));
  if (n.word("mode", "") == "bicubic") n.set("mode", std::string("cubic"));
  return as_standard(n, n.op);
}

Result<Quirked> expand_dims(NodeImport& n) { return as_standard(n, "Unsqueeze"); }

constexpr QuirkRow kMicrosoftRows[] = {
    {"LayerNormalization", early_layer_norm},
    {"SimplifiedLayerNormalization", simplified_layer_norm},
    {"BiasGelu", exact_gelu, kDomain},
    {"DequantizeLinear", standard_name, kDomain},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul, kDomain},
    {"EmbedLayerNormalization", embed_layer_norm, kDomain},
    {"ExpandDims", expand_dims, kDomain},
    {"FastGelu", fast_gelu, kDomain},
    {"FusedConv", fused_conv, kDomain},
    {"FusedGemm", fused_gemm, kDomain},
    {"FusedMatMul", fused_matmul, kDomain},
    {"GatherBlockQuantized", gather_block_quantized, kDomain},
    {"GatherND", standard_name, kDomain},
    {"Gelu", exact_gelu, kDomain},
    {"GridSample", linear_name, kDomain},
    {"MatMulIntegerToFloat", matmul_integer_to_float, kDomain},
    {"MatMulNBits", matmul_n_bits, kDomain},
    {"QGemm", byte_gemm, kDomain},
    {"QLinearAdd", byte_sum, kDomain},
    {"QLinearAveragePool", byte_average, kDomain},
    {"QLinearConcat", byte_concat, kDomain},
    {"QLinearGlobalAveragePool", byte_global_average, kDomain},
    {"QLinearLeakyRelu", byte_leaky_relu, kDomain},
    {"QLinearMul", byte_product, kDomain},
    {"QLinearSigmoid", byte_sigmoid, kDomain},
    {"QLinearSoftmax", byte_softmax, kDomain},
    {"QuantizeLinear", standard_name, kDomain},
    {"QuickGelu", quick_gelu, kDomain},
    {"Range", range, kDomain},
    {"SimplifiedLayerNormalization", simplified_layer_norm, kDomain},
    {"SkipLayerNormalization", skip_layer_norm, kDomain},
    {"SkipSimplifiedLayerNormalization", skip_simplified_norm, kDomain},
    {"TransposeMatMul", fused_matmul, kDomain},
    {"Trilu", standard_name, kDomain},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_quirks() { return read_of<microsoft::kMicrosoftRows>(); }

}  // namespace nnex::onnx_format
