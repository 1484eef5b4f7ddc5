#pragma once
/// The operations of a graph builder, typed. Printed from their descriptions (src/webnn/typed.cpp): do not edit.

#include "nnex/webnn_types.h"

// clang-format off

namespace nnex::ml {

/// MLConv2dFilterOperandLayout.
enum class Conv2dFilterOperandLayout : uint8_t { oihw, hwio, ohwi, ihwo };
/// MLConvTranspose2dFilterOperandLayout.
enum class ConvTranspose2dFilterOperandLayout : uint8_t { iohw, hwoi, ohwi };
/// MLRecurrentNetworkDirection.
enum class RecurrentNetworkDirection : uint8_t { forward, backward, both };
/// MLGruWeightLayout.
enum class GruWeightLayout : uint8_t { zrn, rzn };
/// MLRecurrentNetworkActivation.
enum class RecurrentNetworkActivation : uint8_t { relu, sigmoid, tanh };
/// MLLstmWeightLayout.
enum class LstmWeightLayout : uint8_t { iofg, ifgo };
/// MLPaddingMode.
enum class PaddingMode : uint8_t { constant, edge, reflection };
/// MLRoundingType.
enum class RoundingType : uint8_t { floor, ceil };
/// MLInterpolationMode.
enum class InterpolationMode : uint8_t { nearest_neighbor, linear };

/// MLArgMinMaxOptions.
struct ArgMinMaxOptions : OperatorOptions {
  bool keepDimensions = false;
  DataType outputDataType = DataType::int32;
};

/// MLBatchNormalizationOptions.
struct BatchNormalizationOptions : OperatorOptions {
  std::optional<Operand> scale;
  std::optional<Operand> bias;
  uint32_t axis = 1;
  double epsilon = 1e-5;
};

/// MLClampOptions.
struct ClampOptions : OperatorOptions {
  std::optional<Number> minValue;
  std::optional<Number> maxValue;
};

/// MLConv2dOptions.
struct Conv2dOptions : OperatorOptions {
  std::optional<std::vector<uint32_t>> padding;
  std::optional<std::vector<uint32_t>> strides;
  std::optional<std::vector<uint32_t>> dilations;
  uint32_t groups = 1;
  InputOperandLayout inputLayout = InputOperandLayout::nchw;
  Conv2dFilterOperandLayout filterLayout = Conv2dFilterOperandLayout::oihw;
  std::optional<Operand> bias;
};

/// MLConvTranspose2dOptions.
struct ConvTranspose2dOptions : OperatorOptions {
  std::optional<std::vector<uint32_t>> padding;
  std::optional<std::vector<uint32_t>> strides;
  std::optional<std::vector<uint32_t>> dilations;
  std::optional<std::vector<uint32_t>> outputPadding;
  std::optional<std::vector<uint32_t>> outputSizes;
  uint32_t groups = 1;
  InputOperandLayout inputLayout = InputOperandLayout::nchw;
  ConvTranspose2dFilterOperandLayout filterLayout = ConvTranspose2dFilterOperandLayout::iohw;
  std::optional<Operand> bias;
};

/// MLCumulativeSumOptions.
struct CumulativeSumOptions : OperatorOptions {
  bool exclusive = false;
  bool reversed = false;
};

/// MLEluOptions.
struct EluOptions : OperatorOptions {
  double alpha = 1;
};

/// MLGatherOptions.
struct GatherOptions : OperatorOptions {
  uint32_t axis = 0;
};

/// MLGemmOptions.
struct GemmOptions : OperatorOptions {
  std::optional<Operand> c;
  double alpha = 1.0;
  double beta = 1.0;
  bool aTranspose = false;
  bool bTranspose = false;
};

/// MLGruOptions.
struct GruOptions : OperatorOptions {
  std::optional<Operand> bias;
  std::optional<Operand> recurrentBias;
  std::optional<Operand> initialHiddenState;
  bool resetAfter = true;
  bool returnSequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  GruWeightLayout layout = GruWeightLayout::zrn;
  std::optional<std::vector<RecurrentNetworkActivation>> activations;
};

/// MLGruCellOptions.
struct GruCellOptions : OperatorOptions {
  std::optional<Operand> bias;
  std::optional<Operand> recurrentBias;
  bool resetAfter = true;
  GruWeightLayout layout = GruWeightLayout::zrn;
  std::optional<std::vector<RecurrentNetworkActivation>> activations;
};

/// MLHardSigmoidOptions.
struct HardSigmoidOptions : OperatorOptions {
  double alpha = 0.2;
  double beta = 0.5;
};

/// MLInstanceNormalizationOptions.
struct InstanceNormalizationOptions : OperatorOptions {
  std::optional<Operand> scale;
  std::optional<Operand> bias;
  double epsilon = 1e-5;
  InputOperandLayout layout = InputOperandLayout::nchw;
};

/// MLLayerNormalizationOptions.
struct LayerNormalizationOptions : OperatorOptions {
  std::optional<Operand> scale;
  std::optional<Operand> bias;
  std::optional<std::vector<uint32_t>> axes;
  double epsilon = 1e-5;
};

/// MLLeakyReluOptions.
struct LeakyReluOptions : OperatorOptions {
  double alpha = 0.01;
};

/// MLLinearOptions.
struct LinearOptions : OperatorOptions {
  double alpha = 1;
  double beta = 0;
};

/// MLLstmOptions.
struct LstmOptions : OperatorOptions {
  std::optional<Operand> bias;
  std::optional<Operand> recurrentBias;
  std::optional<Operand> peepholeWeight;
  std::optional<Operand> initialHiddenState;
  std::optional<Operand> initialCellState;
  bool returnSequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  std::optional<std::vector<RecurrentNetworkActivation>> activations;
};

/// MLLstmCellOptions.
struct LstmCellOptions : OperatorOptions {
  std::optional<Operand> bias;
  std::optional<Operand> recurrentBias;
  std::optional<Operand> peepholeWeight;
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  std::optional<std::vector<RecurrentNetworkActivation>> activations;
};

/// MLPadOptions.
struct PadOptions : OperatorOptions {
  PaddingMode mode = PaddingMode::constant;
  Number value = 0;
};

/// MLPool2dOptions.
struct Pool2dOptions : OperatorOptions {
  std::optional<std::vector<uint32_t>> windowDimensions;
  std::optional<std::vector<uint32_t>> padding;
  std::optional<std::vector<uint32_t>> strides;
  std::optional<std::vector<uint32_t>> dilations;
  InputOperandLayout layout = InputOperandLayout::nchw;
  RoundingType outputShapeRounding = RoundingType::floor;
  std::optional<std::vector<uint32_t>> outputSizes;
};

/// MLReduceOptions.
struct ReduceOptions : OperatorOptions {
  std::optional<std::vector<uint32_t>> axes;
  bool keepDimensions = false;
};

/// MLResample2dOptions.
struct Resample2dOptions : OperatorOptions {
  InterpolationMode mode = InterpolationMode::nearest_neighbor;
  std::optional<std::vector<float>> scales;
  std::optional<std::vector<uint32_t>> sizes;
  std::optional<std::vector<uint32_t>> axes;
};

/// MLReverseOptions.
struct ReverseOptions : OperatorOptions {
  std::optional<std::vector<uint32_t>> axes;
};

/// MLScatterOptions.
struct ScatterOptions : OperatorOptions {
  uint32_t axis = 0;
};

/// MLSliceOptions.
struct SliceOptions : OperatorOptions {
  std::optional<std::vector<uint32_t>> strides;
};

/// MLSplitOptions.
struct SplitOptions : OperatorOptions {
  uint32_t axis = 0;
};

/// MLTransposeOptions.
struct TransposeOptions : OperatorOptions {
  std::optional<std::vector<uint32_t>> permutation;
};

/// MLTriangularOptions.
struct TriangularOptions : OperatorOptions {
  bool upper = true;
  int32_t diagonal = 0;
};

/// What GraphBuilder inherits: one method an operation of the specification. Operands must be of the same builder.
/// Errors: InvalidStateError after build() or when the context is lost; TypeError for whatever the specification forbids,
/// with the label in brackets.
class Operations {
 public:
  /// Where the minimum is; the first NaN wins.
  Result<Operand> argMin(const Operand& input, uint32_t axis, const ArgMinMaxOptions& options = {});
  /// Where the maximum is; the first NaN wins.
  Result<Operand> argMax(const Operand& input, uint32_t axis, const ArgMinMaxOptions& options = {});
  /// scale (x - mean) / sqrt(variance + epsilon) + offset, by channel.
  Result<Operand> batchNormalization(const Operand& input, const Operand& mean, const Operand& variance, const BatchNormalizationOptions& options = {});
  /// Every element under another type, by value.
  Result<Operand> cast(const Operand& input, DataType dataType, const OperatorOptions& options = {});
  /// x, but not below low and not above high; an absent or NaN limit is none.
  Result<Operand> clamp(const Operand& input, const ClampOptions& options = {});
  /// Tensors one after another along an axis.
  Result<Operand> concat(const std::vector<Operand>& inputs, uint32_t axis, const OperatorOptions& options = {});
  /// Correlation of x with filters over its spatial axes.
  Result<Operand> conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options = {});
  /// The transpose of a convolution: every element of x adds its multiple of the filter to y.
  Result<Operand> convTranspose2d(const Operand& input, const Operand& filter, const ConvTranspose2dOptions& options = {});
  /// Sums of everything up to each element; integers wrap.
  Result<Operand> cumulativeSum(const Operand& input, uint32_t axis, const CumulativeSumOptions& options = {});
  /// x + y; integers wrap.
  Result<Operand> add(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x - y; integers wrap.
  Result<Operand> sub(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x y; integers wrap.
  Result<Operand> mul(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x / y; integers truncate toward 0, x / 0 = 0.
  Result<Operand> div(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// The larger of both; NaN wins.
  Result<Operand> max(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// The smaller of both; NaN wins.
  Result<Operand> min(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x to the power y, of x's type.
  Result<Operand> pow(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// Whether x equals y; false for NaN.
  Result<Operand> equal(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// Whether x differs from y; true for NaN.
  Result<Operand> notEqual(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x > y.
  Result<Operand> greater(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x >= y; false for NaN.
  Result<Operand> greaterOrEqual(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x < y.
  Result<Operand> lesser(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x <= y; false for NaN.
  Result<Operand> lesserOrEqual(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x is false; every number but 0 is true.
  Result<Operand> logicalNot(const Operand& a, const OperatorOptions& options = {});
  /// Both are true; every number but 0 is.
  Result<Operand> logicalAnd(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// One of both is true; every number but 0 is.
  Result<Operand> logicalOr(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// Just one of both is true; every number but 0 is.
  Result<Operand> logicalXor(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// x is no number; false for every integer.
  Result<Operand> isNaN(const Operand& a, const OperatorOptions& options = {});
  /// x is infinite, of a sign that counts; false for every integer.
  Result<Operand> isInfinite(const Operand& a, const OperatorOptions& options = {});
  /// The magnitude of x; an integer minimum stays.
  Result<Operand> abs(const Operand& input, const OperatorOptions& options = {});
  /// The smallest integer not below x.
  Result<Operand> ceil(const Operand& input, const OperatorOptions& options = {});
  /// The cosine.
  Result<Operand> cos(const Operand& input, const OperatorOptions& options = {});
  /// The error function.
  Result<Operand> erf(const Operand& input, const OperatorOptions& options = {});
  /// e^x.
  Result<Operand> exp(const Operand& input, const OperatorOptions& options = {});
  /// The largest integer not above x.
  Result<Operand> floor(const Operand& input, const OperatorOptions& options = {});
  /// The same value.
  Result<Operand> identity(const Operand& input, const OperatorOptions& options = {});
  /// The natural logarithm; -inf at 0, NaN below.
  Result<Operand> log(const Operand& input, const OperatorOptions& options = {});
  /// -x; integers wrap, so their minimum stays.
  Result<Operand> neg(const Operand& input, const OperatorOptions& options = {});
  /// 1 / x, correctly rounded.
  Result<Operand> reciprocal(const Operand& input, const OperatorOptions& options = {});
  /// The nearest integer; `rounding` says what a tie does.
  Result<Operand> roundEven(const Operand& input, const OperatorOptions& options = {});
  /// The sine.
  Result<Operand> sin(const Operand& input, const OperatorOptions& options = {});
  /// -1, 0 or 1; a zero and a NaN stay themselves.
  Result<Operand> sign(const Operand& input, const OperatorOptions& options = {});
  /// The square root; NaN for negative x.
  Result<Operand> sqrt(const Operand& input, const OperatorOptions& options = {});
  /// The tangent.
  Result<Operand> tan(const Operand& input, const OperatorOptions& options = {});
  /// (x - zero) scale, the difference exact.
  Result<Operand> dequantizeLinear(const Operand& input, const Operand& scale, const Operand& zeroPoint, const OperatorOptions& options = {});
  /// x / scale to the nearest whole number, ties to even, plus zero, saturated.
  Result<Operand> quantizeLinear(const Operand& input, const Operand& scale, const Operand& zeroPoint, const OperatorOptions& options = {});
  /// x, below 0 alpha (e^x - 1).
  Result<Operand> elu(const Operand& input, const EluOptions& options = {});
  /// x stretched to the broadcast of its shape and the one given.
  Result<Operand> expand(const Operand& input, const std::vector<uint32_t>& newShape, const OperatorOptions& options = {});
  /// Slices of x at the indices of one axis.
  Result<Operand> gather(const Operand& input, const Operand& indices, const GatherOptions& options = {});
  /// For every place of index, the element of x at that index of one axis and that place of the others.
  Result<Operand> gatherElements(const Operand& input, const Operand& indices, const GatherOptions& options = {});
  /// Slices of x at the places that rows of index name.
  Result<Operand> gatherND(const Operand& input, const Operand& indices, const OperatorOptions& options = {});
  /// x times the normal distribution function of x, or one of two approximations.
  Result<Operand> gelu(const Operand& input, const OperatorOptions& options = {});
  /// alpha times the product of x and the filter, plus beta times the bias.
  Result<Operand> gemm(const Operand& a, const Operand& b, const GemmOptions& options = {});
  /// Gated recurrent unit over steps; gates z r h.
  Result<std::vector<Operand>> gru(const Operand& input, const Operand& weight, const Operand& recurrentWeight, uint32_t steps, uint32_t hiddenSize, const GruOptions& options = {});
  /// One step of a gru.
  Result<Operand> gruCell(const Operand& input, const Operand& weight, const Operand& recurrentWeight, const Operand& hiddenState, uint32_t hiddenSize, const GruCellOptions& options = {});
  /// alpha x + beta between 0 and 1.
  Result<Operand> hardSigmoid(const Operand& input, const HardSigmoidOptions& options = {});
  /// x times (x + 3 between 0 and 6) / 6.
  Result<Operand> hardSwish(const Operand& input, const OperatorOptions& options = {});
  /// x less its mean, by its deviation, for each item and channel; then scaled and shifted.
  Result<Operand> instanceNormalization(const Operand& input, const InstanceNormalizationOptions& options = {});
  /// x less its mean over axes, by its deviation; then scaled and shifted.
  Result<Operand> layerNormalization(const Operand& input, const LayerNormalizationOptions& options = {});
  /// x, below 0 alpha x.
  Result<Operand> leakyRelu(const Operand& input, const LeakyReluOptions& options = {});
  /// alpha x + beta, two roundings.
  Result<Operand> linear(const Operand& input, const LinearOptions& options = {});
  /// Long short-term memory over steps; gates i o f c.
  Result<std::vector<Operand>> lstm(const Operand& input, const Operand& weight, const Operand& recurrentWeight, uint32_t steps, uint32_t hiddenSize, const LstmOptions& options = {});
  /// One step of an lstm.
  Result<std::vector<Operand>> lstmCell(const Operand& input, const Operand& weight, const Operand& recurrentWeight, const Operand& hiddenState, const Operand& cellState, uint32_t hiddenSize, const LstmCellOptions& options = {});
  /// The product of matrices in the last two axes; earlier axes broadcast.
  Result<Operand> matmul(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// Places around x; negative amounts crop.
  Result<Operand> pad(const Operand& input, const std::vector<uint32_t>& beginningPadding, const std::vector<uint32_t>& endingPadding, const PadOptions& options = {});
  /// The sum over each window, divided.
  Result<Operand> averagePool2d(const Operand& input, const Pool2dOptions& options = {});
  /// The p-th root of the sum of p-th powers of magnitudes over each window, divided before the root.
  Result<Operand> l2Pool2d(const Operand& input, const Pool2dOptions& options = {});
  /// The largest element of each window, and where it stands.
  Result<Operand> maxPool2d(const Operand& input, const Pool2dOptions& options = {});
  /// x, below 0 alpha x.
  Result<Operand> prelu(const Operand& input, const Operand& slope, const OperatorOptions& options = {});
  /// The sum of magnitudes over axes.
  Result<Operand> reduceL1(const Operand& input, const ReduceOptions& options = {});
  /// The root of the sum of squares over axes.
  Result<Operand> reduceL2(const Operand& input, const ReduceOptions& options = {});
  /// The logarithm of the sum over axes; -inf over nothing.
  Result<Operand> reduceLogSum(const Operand& input, const ReduceOptions& options = {});
  /// The logarithm of the sum of exponentials over axes, without overflow.
  Result<Operand> reduceLogSumExp(const Operand& input, const ReduceOptions& options = {});
  /// The maximum over axes; a NaN wins; over nothing -inf or the type's minimum.
  Result<Operand> reduceMax(const Operand& input, const ReduceOptions& options = {});
  /// The mean over axes; NaN over nothing, of integers truncated.
  Result<Operand> reduceMean(const Operand& input, const ReduceOptions& options = {});
  /// The minimum over axes; a NaN wins; over nothing inf or the type's maximum.
  Result<Operand> reduceMin(const Operand& input, const ReduceOptions& options = {});
  /// The product over axes; 1 over nothing, integers wrap.
  Result<Operand> reduceProduct(const Operand& input, const ReduceOptions& options = {});
  /// The sum over axes; 0 over nothing, integers wrap.
  Result<Operand> reduceSum(const Operand& input, const ReduceOptions& options = {});
  /// The sum of squares over axes.
  Result<Operand> reduceSumSquare(const Operand& input, const ReduceOptions& options = {});
  /// x where it is positive, else 0; NaN stays.
  Result<Operand> relu(const Operand& input, const OperatorOptions& options = {});
  /// x resampled to other extents.
  Result<Operand> resample2d(const Operand& input, const Resample2dOptions& options = {});
  /// The same elements under another shape; one -1 is inferred.
  Result<Operand> reshape(const Operand& input, const std::vector<uint32_t>& newShape, const OperatorOptions& options = {});
  /// Elements in reversed order along axes.
  Result<Operand> reverse(const Operand& input, const ReverseOptions& options = {});
  /// x with the elements of update written at their index along one axis.
  Result<Operand> scatterElements(const Operand& input, const Operand& indices, const Operand& updates, const ScatterOptions& options = {});
  /// x with the slices of update written at the places that rows of index name.
  Result<Operand> scatterND(const Operand& input, const Operand& indices, const Operand& updates, const OperatorOptions& options = {});
  /// 1 / (1 + e^-x).
  Result<Operand> sigmoid(const Operand& input, const OperatorOptions& options = {});
  /// Every stride-th element from begin to before end, along axes.
  Result<Operand> slice(const Operand& input, const std::vector<uint32_t>& starts, const std::vector<uint32_t>& sizes, const SliceOptions& options = {});
  /// Exponentials over the given axes, divided by their sum.
  Result<Operand> softmax(const Operand& input, uint32_t axis, const OperatorOptions& options = {});
  /// log(1 + e^x), without overflow.
  Result<Operand> softplus(const Operand& input, const OperatorOptions& options = {});
  /// x / (1 + |x|).
  Result<Operand> softsign(const Operand& input, const OperatorOptions& options = {});
  /// Parts along an axis: by sizes, by ratios, or in equal chunks with a smaller last one.
  Result<std::vector<Operand>> split(const Operand& input, const std::variant<uint32_t, std::vector<uint32_t>>& splits, const SplitOptions& options = {});
  /// The hyperbolic tangent.
  Result<Operand> tanh(const Operand& input, const OperatorOptions& options = {});
  /// x again and again along each axis.
  Result<Operand> tile(const Operand& input, const std::vector<uint32_t>& repetitions, const OperatorOptions& options = {});
  /// Axes in another order.
  Result<Operand> transpose(const Operand& input, const TransposeOptions& options = {});
  /// The upper or lower triangle of every matrix; zeros elsewhere.
  Result<Operand> triangular(const Operand& input, const TriangularOptions& options = {});
  /// x where the condition is true, else y.
  Result<Operand> where(const Operand& condition, const Operand& trueValue, const Operand& falseValue, const OperatorOptions& options = {});

 protected:
  std::shared_ptr<BuilderState> state_;
};

}  // namespace nnex::ml
