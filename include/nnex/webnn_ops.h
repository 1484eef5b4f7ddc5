#pragma once
/// The operations of a graph builder, typed. Printed from their descriptions (src/webnn/methods.cpp) by
/// `NNEX_PRINT=1 unit_tests webnn_typed_test`: do not edit.
///
/// Options are plain structs: {.label = "first", .strides = {{2, 2}}} names members in their order, label first.

#include "nnex/webnn_types.h"

// clang-format off

#pragma GCC visibility push(default)
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
struct ArgMinMaxOptions {
  std::string label = {};
  bool keepDimensions = false;
  DataType outputDataType = DataType::int32;
};

/// MLBatchNormalizationOptions.
struct BatchNormalizationOptions {
  std::string label = {};
  std::optional<Operand> scale = {};
  std::optional<Operand> bias = {};
  uint32_t axis = 1;
  double epsilon = 1e-5;
};

/// MLClampOptions.
struct ClampOptions {
  std::string label = {};
  std::optional<Number> minValue = {};
  std::optional<Number> maxValue = {};
};

/// MLConv2dOptions.
struct Conv2dOptions {
  std::string label = {};
  std::optional<std::vector<uint32_t>> padding = {};
  std::optional<std::vector<uint32_t>> strides = {};
  std::optional<std::vector<uint32_t>> dilations = {};
  uint32_t groups = 1;
  InputOperandLayout inputLayout = InputOperandLayout::nchw;
  Conv2dFilterOperandLayout filterLayout = Conv2dFilterOperandLayout::oihw;
  std::optional<Operand> bias = {};
};

/// MLConvTranspose2dOptions.
struct ConvTranspose2dOptions {
  std::string label = {};
  std::optional<std::vector<uint32_t>> padding = {};
  std::optional<std::vector<uint32_t>> strides = {};
  std::optional<std::vector<uint32_t>> dilations = {};
  std::optional<std::vector<uint32_t>> outputPadding = {};
  std::optional<std::vector<uint32_t>> outputSizes = {};
  uint32_t groups = 1;
  InputOperandLayout inputLayout = InputOperandLayout::nchw;
  ConvTranspose2dFilterOperandLayout filterLayout = ConvTranspose2dFilterOperandLayout::iohw;
  std::optional<Operand> bias = {};
};

/// MLCumulativeSumOptions.
struct CumulativeSumOptions {
  std::string label = {};
  bool exclusive = false;
  bool reversed = false;
};

/// MLEluOptions.
struct EluOptions {
  std::string label = {};
  double alpha = 1;
};

/// MLGatherOptions.
struct GatherOptions {
  std::string label = {};
  uint32_t axis = 0;
};

/// MLGemmOptions.
struct GemmOptions {
  std::string label = {};
  std::optional<Operand> c = {};
  double alpha = 1.0;
  double beta = 1.0;
  bool aTranspose = false;
  bool bTranspose = false;
};

/// MLGruOptions.
struct GruOptions {
  std::string label = {};
  std::optional<Operand> bias = {};
  std::optional<Operand> recurrentBias = {};
  std::optional<Operand> initialHiddenState = {};
  bool resetAfter = true;
  bool returnSequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  GruWeightLayout layout = GruWeightLayout::zrn;
  std::optional<std::vector<RecurrentNetworkActivation>> activations = {};
};

/// MLGruCellOptions.
struct GruCellOptions {
  std::string label = {};
  std::optional<Operand> bias = {};
  std::optional<Operand> recurrentBias = {};
  bool resetAfter = true;
  GruWeightLayout layout = GruWeightLayout::zrn;
  std::optional<std::vector<RecurrentNetworkActivation>> activations = {};
};

/// MLHardSigmoidOptions.
struct HardSigmoidOptions {
  std::string label = {};
  double alpha = 0.2;
  double beta = 0.5;
};

/// MLInstanceNormalizationOptions.
struct InstanceNormalizationOptions {
  std::string label = {};
  std::optional<Operand> scale = {};
  std::optional<Operand> bias = {};
  double epsilon = 1e-5;
  InputOperandLayout layout = InputOperandLayout::nchw;
};

/// MLLayerNormalizationOptions.
struct LayerNormalizationOptions {
  std::string label = {};
  std::optional<Operand> scale = {};
  std::optional<Operand> bias = {};
  std::optional<std::vector<uint32_t>> axes = {};
  double epsilon = 1e-5;
};

/// MLLeakyReluOptions.
struct LeakyReluOptions {
  std::string label = {};
  double alpha = 0.01;
};

/// MLLinearOptions.
struct LinearOptions {
  std::string label = {};
  double alpha = 1;
  double beta = 0;
};

/// MLLstmOptions.
struct LstmOptions {
  std::string label = {};
  std::optional<Operand> bias = {};
  std::optional<Operand> recurrentBias = {};
  std::optional<Operand> peepholeWeight = {};
  std::optional<Operand> initialHiddenState = {};
  std::optional<Operand> initialCellState = {};
  bool returnSequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  std::optional<std::vector<RecurrentNetworkActivation>> activations = {};
};

/// MLLstmCellOptions.
struct LstmCellOptions {
  std::string label = {};
  std::optional<Operand> bias = {};
  std::optional<Operand> recurrentBias = {};
  std::optional<Operand> peepholeWeight = {};
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  std::optional<std::vector<RecurrentNetworkActivation>> activations = {};
};

/// MLPadOptions.
struct PadOptions {
  std::string label = {};
  PaddingMode mode = PaddingMode::constant;
  Number value = 0;
};

/// MLPool2dOptions.
struct Pool2dOptions {
  std::string label = {};
  std::optional<std::vector<uint32_t>> windowDimensions = {};
  std::optional<std::vector<uint32_t>> padding = {};
  std::optional<std::vector<uint32_t>> strides = {};
  std::optional<std::vector<uint32_t>> dilations = {};
  InputOperandLayout layout = InputOperandLayout::nchw;
  RoundingType outputShapeRounding = RoundingType::floor;
  std::optional<std::vector<uint32_t>> outputSizes = {};
};

/// MLReduceOptions.
struct ReduceOptions {
  std::string label = {};
  std::optional<std::vector<uint32_t>> axes = {};
  bool keepDimensions = false;
};

/// MLResample2dOptions.
struct Resample2dOptions {
  std::string label = {};
  InterpolationMode mode = InterpolationMode::nearest_neighbor;
  std::optional<std::vector<float>> scales = {};
  std::optional<std::vector<uint32_t>> sizes = {};
  std::optional<std::vector<uint32_t>> axes = {};
};

/// MLReverseOptions.
struct ReverseOptions {
  std::string label = {};
  std::optional<std::vector<uint32_t>> axes = {};
};

/// MLScatterOptions.
struct ScatterOptions {
  std::string label = {};
  uint32_t axis = 0;
};

/// MLSliceOptions.
struct SliceOptions {
  std::string label = {};
  std::optional<std::vector<uint32_t>> strides = {};
};

/// MLSplitOptions.
struct SplitOptions {
  std::string label = {};
  uint32_t axis = 0;
};

/// MLTransposeOptions.
struct TransposeOptions {
  std::string label = {};
  std::optional<std::vector<uint32_t>> permutation = {};
};

/// MLTriangularOptions.
struct TriangularOptions {
  std::string label = {};
  bool upper = true;
  int32_t diagonal = 0;
};

/// What GraphBuilder inherits: one method an operation of the specification. Operands must be of the same builder.
/// Errors: InvalidStateError after build() or when the context is lost; TypeError for whatever the specification forbids,
/// with the label in brackets.
class Operations {
 public:
  /// The index of the smallest element along axis.
  Result<Operand> argMin(const Operand& input, uint32_t axis, const ArgMinMaxOptions& options = {});
  /// The index of the largest element along axis.
  Result<Operand> argMax(const Operand& input, uint32_t axis, const ArgMinMaxOptions& options = {});
  /// (input - mean) / sqrt(variance + epsilon) * scale + bias, with one mean and variance for each index of axis.
  Result<Operand> batchNormalization(const Operand& input, const Operand& mean, const Operand& variance, const BatchNormalizationOptions& options = {});
  /// Every element as dataType; floats lose their fraction on the way to an integer type.
  Result<Operand> cast(const Operand& input, DataType dataType, const OperatorOptions& options = {});
  /// input, but at least minValue and at most maxValue; a limit that is absent limits nothing. Both are cast to the
  /// input's type.
  Result<Operand> clamp(const Operand& input, const ClampOptions& options = {});
  /// The inputs one after another along axis; all other dimensions are equal.
  Result<Operand> concat(const std::vector<Operand>& inputs, uint32_t axis, const OperatorOptions& options = {});
  /// The 2-D convolution of input with filter, which is not flipped. padding: [begin, end of height, begin, end of
  /// width].
  Result<Operand> conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options = {});
  /// The transposed 2-D convolution. Where several output sizes lead to one input size, outputPadding or outputSizes
  /// chooses.
  Result<Operand> convTranspose2d(const Operand& input, const Operand& filter, const ConvTranspose2dOptions& options = {});
  /// The running sum along axis. exclusive: without the element itself; reversed: from the end.
  Result<Operand> cumulativeSum(const Operand& input, uint32_t axis, const CumulativeSumOptions& options = {});
  /// a + b. Shapes broadcast in both directions.
  Result<Operand> add(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a - b. Shapes broadcast in both directions.
  Result<Operand> sub(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a * b. Shapes broadcast in both directions.
  Result<Operand> mul(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a / b; of integers, cut towards zero. Shapes broadcast in both directions.
  Result<Operand> div(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// The larger of a and b. Shapes broadcast in both directions.
  Result<Operand> max(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// The smaller of a and b. Shapes broadcast in both directions.
  Result<Operand> min(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a to the power of b. Shapes broadcast in both directions.
  Result<Operand> pow(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a == b, as uint8 0 or 1. Shapes broadcast in both directions.
  Result<Operand> equal(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a != b, as uint8 0 or 1. Shapes broadcast in both directions.
  Result<Operand> notEqual(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a > b, as uint8 0 or 1. Shapes broadcast in both directions.
  Result<Operand> greater(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a >= b, as uint8 0 or 1. Shapes broadcast in both directions.
  Result<Operand> greaterOrEqual(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a < b, as uint8 0 or 1. Shapes broadcast in both directions.
  Result<Operand> lesser(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// a <= b, as uint8 0 or 1. Shapes broadcast in both directions.
  Result<Operand> lesserOrEqual(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// 1 where a is 0, else 0.
  Result<Operand> logicalNot(const Operand& a, const OperatorOptions& options = {});
  /// 1 where neither a nor b is 0, else 0. Shapes broadcast in both directions.
  Result<Operand> logicalAnd(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// 1 where a or b is not 0, else 0. Shapes broadcast in both directions.
  Result<Operand> logicalOr(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// 1 where exactly one of a and b is 0, else 0. Shapes broadcast in both directions.
  Result<Operand> logicalXor(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// 1 where a is NaN, else 0, as uint8.
  Result<Operand> isNaN(const Operand& a, const OperatorOptions& options = {});
  /// 1 where a is an infinity, else 0, as uint8.
  Result<Operand> isInfinite(const Operand& a, const OperatorOptions& options = {});
  /// The magnitude of every element.
  Result<Operand> abs(const Operand& input, const OperatorOptions& options = {});
  /// Every element rounded up to a whole number.
  Result<Operand> ceil(const Operand& input, const OperatorOptions& options = {});
  /// The cosine of every element, in radians.
  Result<Operand> cos(const Operand& input, const OperatorOptions& options = {});
  /// The Gauss error function of every element.
  Result<Operand> erf(const Operand& input, const OperatorOptions& options = {});
  /// e to the power of every element.
  Result<Operand> exp(const Operand& input, const OperatorOptions& options = {});
  /// Every element rounded down to a whole number.
  Result<Operand> floor(const Operand& input, const OperatorOptions& options = {});
  /// input as it is.
  Result<Operand> identity(const Operand& input, const OperatorOptions& options = {});
  /// The natural logarithm of every element.
  Result<Operand> log(const Operand& input, const OperatorOptions& options = {});
  /// Every element with the other sign.
  Result<Operand> neg(const Operand& input, const OperatorOptions& options = {});
  /// 1 / input.
  Result<Operand> reciprocal(const Operand& input, const OperatorOptions& options = {});
  /// Every element rounded to the nearest whole number, halves to the even one.
  Result<Operand> roundEven(const Operand& input, const OperatorOptions& options = {});
  /// The sine of every element, in radians.
  Result<Operand> sin(const Operand& input, const OperatorOptions& options = {});
  /// -1, 0 or 1 by the sign of every element.
  Result<Operand> sign(const Operand& input, const OperatorOptions& options = {});
  /// The square root of every element.
  Result<Operand> sqrt(const Operand& input, const OperatorOptions& options = {});
  /// The tangent of every element, in radians.
  Result<Operand> tan(const Operand& input, const OperatorOptions& options = {});
  /// (input - zeroPoint) * scale. scale and zeroPoint have one shape, of the input's rank, whose dimensions divide the
  /// input's.
  Result<Operand> dequantizeLinear(const Operand& input, const Operand& scale, const Operand& zeroPoint, const OperatorOptions& options = {});
  /// roundEven(input / scale) + zeroPoint, clamped to the type of zeroPoint. scale and zeroPoint have one shape, of the
  /// input's rank, whose dimensions divide the input's.
  Result<Operand> quantizeLinear(const Operand& input, const Operand& scale, const Operand& zeroPoint, const OperatorOptions& options = {});
  /// input where it is above 0, else alpha * (exp(input) - 1).
  Result<Operand> elu(const Operand& input, const EluOptions& options = {});
  /// input repeated to newShape, to which its shape broadcasts.
  Result<Operand> expand(const Operand& input, const std::vector<uint32_t>& newShape, const OperatorOptions& options = {});
  /// The slices of input along axis that indices name; a negative index counts from the end.
  Result<Operand> gather(const Operand& input, const Operand& indices, const GatherOptions& options = {});
  /// For every index its element of input along axis; the other coordinates are the index's own.
  Result<Operand> gatherElements(const Operand& input, const Operand& indices, const GatherOptions& options = {});
  /// The slices of input at the coordinates that the last dimension of indices holds.
  Result<Operand> gatherND(const Operand& input, const Operand& indices, const OperatorOptions& options = {});
  /// 0.5 * input * (1 + erf(input / sqrt(2))).
  Result<Operand> gelu(const Operand& input, const OperatorOptions& options = {});
  /// alpha * a * b + beta * c, with a and b transposed where aTranspose and bTranspose say; c broadcasts to the
  /// product.
  Result<Operand> gemm(const Operand& a, const Operand& b, const GemmOptions& options = {});
  /// A gated recurrent network over steps: the last hidden state of every direction, then, with returnSequence, the
  /// hidden states of all steps.
  Result<std::vector<Operand>> gru(const Operand& input, const Operand& weight, const Operand& recurrentWeight, uint32_t steps, uint32_t hiddenSize, const GruOptions& options = {});
  /// One step of a gated recurrent network: the new hidden state.
  Result<Operand> gruCell(const Operand& input, const Operand& weight, const Operand& recurrentWeight, const Operand& hiddenState, uint32_t hiddenSize, const GruCellOptions& options = {});
  /// max(0, min(1, alpha * input + beta)).
  Result<Operand> hardSigmoid(const Operand& input, const HardSigmoidOptions& options = {});
  /// input * max(0, min(6, input + 3)) / 6.
  Result<Operand> hardSwish(const Operand& input, const OperatorOptions& options = {});
  /// (input - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over height and width.
  Result<Operand> instanceNormalization(const Operand& input, const InstanceNormalizationOptions& options = {});
  /// (input - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over axes; absent: all but the
  /// first.
  Result<Operand> layerNormalization(const Operand& input, const LayerNormalizationOptions& options = {});
  /// input where it is 0 or above, else alpha * input.
  Result<Operand> leakyRelu(const Operand& input, const LeakyReluOptions& options = {});
  /// alpha * input + beta.
  Result<Operand> linear(const Operand& input, const LinearOptions& options = {});
  /// A long short-term memory network over steps: the last hidden state and the last cell state of every direction,
  /// then, with returnSequence, the hidden states of all steps.
  Result<std::vector<Operand>> lstm(const Operand& input, const Operand& weight, const Operand& recurrentWeight, uint32_t steps, uint32_t hiddenSize, const LstmOptions& options = {});
  /// One step of a long short-term memory network: the new hidden state and the new cell state.
  Result<std::vector<Operand>> lstmCell(const Operand& input, const Operand& weight, const Operand& recurrentWeight, const Operand& hiddenState, const Operand& cellState, uint32_t hiddenSize, const LstmCellOptions& options = {});
  /// The matrix product over the last two dimensions; the others broadcast in both directions.
  Result<Operand> matmul(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  /// input with elements added before and after it along each dimension: value, its edge or its reflection.
  Result<Operand> pad(const Operand& input, const std::vector<uint32_t>& beginningPadding, const std::vector<uint32_t>& endingPadding, const PadOptions& options = {});
  /// The mean of every window; padding does not count. windowDimensions absent: all of height and width.
  Result<Operand> averagePool2d(const Operand& input, const Pool2dOptions& options = {});
  /// The square root of the sum of squares of every window. windowDimensions absent: all of height and width.
  Result<Operand> l2Pool2d(const Operand& input, const Pool2dOptions& options = {});
  /// The largest element of every window. windowDimensions absent: all of height and width.
  Result<Operand> maxPool2d(const Operand& input, const Pool2dOptions& options = {});
  /// input where it is 0 or above, else slope * input. Shapes broadcast in both directions.
  Result<Operand> prelu(const Operand& input, const Operand& slope, const OperatorOptions& options = {});
  /// The sum of magnitudes over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceL1(const Operand& input, const ReduceOptions& options = {});
  /// The square root of the sum of squares over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceL2(const Operand& input, const ReduceOptions& options = {});
  /// The logarithm of the sum over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceLogSum(const Operand& input, const ReduceOptions& options = {});
  /// The logarithm of the sum of exponentials over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceLogSumExp(const Operand& input, const ReduceOptions& options = {});
  /// The largest element over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceMax(const Operand& input, const ReduceOptions& options = {});
  /// The mean over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceMean(const Operand& input, const ReduceOptions& options = {});
  /// The smallest element over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceMin(const Operand& input, const ReduceOptions& options = {});
  /// The product over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceProduct(const Operand& input, const ReduceOptions& options = {});
  /// The sum over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceSum(const Operand& input, const ReduceOptions& options = {});
  /// The sum of squares over axes; absent: over all of them, empty: of each element alone.
  Result<Operand> reduceSumSquare(const Operand& input, const ReduceOptions& options = {});
  /// max(0, input).
  Result<Operand> relu(const Operand& input, const OperatorOptions& options = {});
  /// input at other sizes along two axes: sizes, or by scales; the nearest element, or linear between pixel centres.
  Result<Operand> resample2d(const Operand& input, const Resample2dOptions& options = {});
  /// The same elements under newShape, which holds as many; an empty one is a scalar's.
  Result<Operand> reshape(const Operand& input, const std::vector<uint32_t>& newShape, const OperatorOptions& options = {});
  /// The elements in reverse order along axes; absent: along all.
  Result<Operand> reverse(const Operand& input, const ReverseOptions& options = {});
  /// input with the elements of updates written to their indices along axis.
  Result<Operand> scatterElements(const Operand& input, const Operand& indices, const Operand& updates, const ScatterOptions& options = {});
  /// input with the slices of updates written to the coordinates that the last dimension of indices holds.
  Result<Operand> scatterND(const Operand& input, const Operand& indices, const Operand& updates, const OperatorOptions& options = {});
  /// 1 / (1 + exp(-input)).
  Result<Operand> sigmoid(const Operand& input, const OperatorOptions& options = {});
  /// From starts on, sizes elements along each dimension, of which every strides-th is taken.
  Result<Operand> slice(const Operand& input, const std::vector<uint32_t>& starts, const std::vector<uint32_t>& sizes, const SliceOptions& options = {});
  /// exp(input) / sum of exp(input) along axis.
  Result<Operand> softmax(const Operand& input, uint32_t axis, const OperatorOptions& options = {});
  /// log(1 + exp(input)).
  Result<Operand> softplus(const Operand& input, const OperatorOptions& options = {});
  /// input / (1 + |input|).
  Result<Operand> softsign(const Operand& input, const OperatorOptions& options = {});
  /// input in pieces along axis: as many equal ones as a number says, or of the sizes in a list.
  Result<std::vector<Operand>> split(const Operand& input, const std::variant<uint32_t, std::vector<uint32_t>>& splits, const SplitOptions& options = {});
  /// The hyperbolic tangent of every element.
  Result<Operand> tanh(const Operand& input, const OperatorOptions& options = {});
  /// input repeated along each dimension as often as repetitions says.
  Result<Operand> tile(const Operand& input, const std::vector<uint32_t>& repetitions, const OperatorOptions& options = {});
  /// The dimensions in the order of permutation; absent: reversed.
  Result<Operand> transpose(const Operand& input, const TransposeOptions& options = {});
  /// The upper or lower triangle of the last two dimensions, from the diagonal of that number on; 0 elsewhere.
  Result<Operand> triangular(const Operand& input, const TriangularOptions& options = {});
  /// trueValue where condition is not 0, else falseValue. Shapes broadcast in both directions.
  Result<Operand> where(const Operand& condition, const Operand& trueValue, const Operand& falseValue, const OperatorOptions& options = {});

 protected:
  std::shared_ptr<BuilderState> state_;
};

}  // namespace nnex::ml
#pragma GCC visibility pop
