// The typed operations. Printed from their descriptions (src/webnn/methods.cpp) by
// `NNEX_PRINT=1 unit_tests webnn_typed_test`.

#include "nnex/webnn_ops.h"

#include "webnn/typed_call.h"

// clang-format off

namespace nnex::ml {

Result<Operand> Operations::argMin(const Operand& input, uint32_t axis, const ArgMinMaxOptions& options) {
  return only_one(typed_call(state_, "argMin", options.label, {arg(input), arg(axis), arg(options.keepDimensions), arg(options.outputDataType)}));
}
Result<Operand> Operations::argMax(const Operand& input, uint32_t axis, const ArgMinMaxOptions& options) {
  return only_one(typed_call(state_, "argMax", options.label, {arg(input), arg(axis), arg(options.keepDimensions), arg(options.outputDataType)}));
}
Result<Operand> Operations::batchNormalization(const Operand& input, const Operand& mean, const Operand& variance, const BatchNormalizationOptions& options) {
  return only_one(typed_call(state_, "batchNormalization", options.label, {arg(input), arg(mean), arg(variance), arg(options.scale), arg(options.bias), arg(options.axis), arg(options.epsilon)}));
}
Result<Operand> Operations::cast(const Operand& input, DataType dataType, const OperatorOptions& options) {
  return only_one(typed_call(state_, "cast", options.label, {arg(input), arg(dataType)}));
}
Result<Operand> Operations::clamp(const Operand& input, const ClampOptions& options) {
  return only_one(typed_call(state_, "clamp", options.label, {arg(input), arg(options.minValue), arg(options.maxValue)}));
}
Result<Operand> Operations::concat(const std::vector<Operand>& inputs, uint32_t axis, const OperatorOptions& options) {
  return only_one(typed_call(state_, "concat", options.label, {arg(inputs), arg(axis)}));
}
Result<Operand> Operations::conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options) {
  return only_one(typed_call(state_, "conv2d", options.label, {arg(input), arg(filter), arg(options.padding), arg(options.strides), arg(options.dilations), arg(options.groups), arg(options.inputLayout), arg(options.filterLayout), arg(options.bias)}));
}
Result<Operand> Operations::convTranspose2d(const Operand& input, const Operand& filter, const ConvTranspose2dOptions& options) {
  return only_one(typed_call(state_, "convTranspose2d", options.label, {arg(input), arg(filter), arg(options.padding), arg(options.strides), arg(options.dilations), arg(options.outputPadding), arg(options.outputSizes), arg(options.groups), arg(options.inputLayout), arg(options.filterLayout), arg(options.bias)}));
}
Result<Operand> Operations::cumulativeSum(const Operand& input, uint32_t axis, const CumulativeSumOptions& options) {
  return only_one(typed_call(state_, "cumulativeSum", options.label, {arg(input), arg(axis), arg(options.exclusive), arg(options.reversed)}));
}
Result<Operand> Operations::add(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "add", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::sub(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "sub", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::mul(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "mul", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::div(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "div", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::max(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "max", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::min(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "min", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::pow(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "pow", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::equal(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "equal", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::notEqual(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "notEqual", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::greater(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "greater", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::greaterOrEqual(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "greaterOrEqual", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::lesser(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "lesser", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::lesserOrEqual(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "lesserOrEqual", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::logicalNot(const Operand& a, const OperatorOptions& options) {
  return only_one(typed_call(state_, "logicalNot", options.label, {arg(a)}));
}
Result<Operand> Operations::logicalAnd(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "logicalAnd", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::logicalOr(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "logicalOr", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::logicalXor(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "logicalXor", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::isNaN(const Operand& a, const OperatorOptions& options) {
  return only_one(typed_call(state_, "isNaN", options.label, {arg(a)}));
}
Result<Operand> Operations::isInfinite(const Operand& a, const OperatorOptions& options) {
  return only_one(typed_call(state_, "isInfinite", options.label, {arg(a)}));
}
Result<Operand> Operations::abs(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "abs", options.label, {arg(input)}));
}
Result<Operand> Operations::ceil(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "ceil", options.label, {arg(input)}));
}
Result<Operand> Operations::cos(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "cos", options.label, {arg(input)}));
}
Result<Operand> Operations::erf(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "erf", options.label, {arg(input)}));
}
Result<Operand> Operations::exp(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "exp", options.label, {arg(input)}));
}
Result<Operand> Operations::floor(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "floor", options.label, {arg(input)}));
}
Result<Operand> Operations::identity(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "identity", options.label, {arg(input)}));
}
Result<Operand> Operations::log(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "log", options.label, {arg(input)}));
}
Result<Operand> Operations::neg(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "neg", options.label, {arg(input)}));
}
Result<Operand> Operations::reciprocal(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "reciprocal", options.label, {arg(input)}));
}
Result<Operand> Operations::roundEven(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "roundEven", options.label, {arg(input)}));
}
Result<Operand> Operations::sin(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "sin", options.label, {arg(input)}));
}
Result<Operand> Operations::sign(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "sign", options.label, {arg(input)}));
}
Result<Operand> Operations::sqrt(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "sqrt", options.label, {arg(input)}));
}
Result<Operand> Operations::tan(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "tan", options.label, {arg(input)}));
}
Result<Operand> Operations::dequantizeLinear(const Operand& input, const Operand& scale, const Operand& zeroPoint, const OperatorOptions& options) {
  return only_one(typed_call(state_, "dequantizeLinear", options.label, {arg(input), arg(scale), arg(zeroPoint)}));
}
Result<Operand> Operations::quantizeLinear(const Operand& input, const Operand& scale, const Operand& zeroPoint, const OperatorOptions& options) {
  return only_one(typed_call(state_, "quantizeLinear", options.label, {arg(input), arg(scale), arg(zeroPoint)}));
}
Result<Operand> Operations::elu(const Operand& input, const EluOptions& options) {
  return only_one(typed_call(state_, "elu", options.label, {arg(input), arg(options.alpha)}));
}
Result<Operand> Operations::expand(const Operand& input, const std::vector<uint32_t>& newShape, const OperatorOptions& options) {
  return only_one(typed_call(state_, "expand", options.label, {arg(input), arg(newShape)}));
}
Result<Operand> Operations::gather(const Operand& input, const Operand& indices, const GatherOptions& options) {
  return only_one(typed_call(state_, "gather", options.label, {arg(input), arg(indices), arg(options.axis)}));
}
Result<Operand> Operations::gatherElements(const Operand& input, const Operand& indices, const GatherOptions& options) {
  return only_one(typed_call(state_, "gatherElements", options.label, {arg(input), arg(indices), arg(options.axis)}));
}
Result<Operand> Operations::gatherND(const Operand& input, const Operand& indices, const OperatorOptions& options) {
  return only_one(typed_call(state_, "gatherND", options.label, {arg(input), arg(indices)}));
}
Result<Operand> Operations::gelu(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "gelu", options.label, {arg(input)}));
}
Result<Operand> Operations::gemm(const Operand& a, const Operand& b, const GemmOptions& options) {
  return only_one(typed_call(state_, "gemm", options.label, {arg(a), arg(b), arg(options.c), arg(options.alpha), arg(options.beta), arg(options.aTranspose), arg(options.bTranspose)}));
}
Result<std::vector<Operand>> Operations::gru(const Operand& input, const Operand& weight, const Operand& recurrentWeight, uint32_t steps, uint32_t hiddenSize, const GruOptions& options) {
  return (typed_call(state_, "gru", options.label, {arg(input), arg(weight), arg(recurrentWeight), arg(steps), arg(hiddenSize), arg(options.bias), arg(options.recurrentBias), arg(options.initialHiddenState), arg(options.resetAfter), arg(options.returnSequence), arg(options.direction), arg(options.layout), arg(options.activations)}));
}
Result<Operand> Operations::gruCell(const Operand& input, const Operand& weight, const Operand& recurrentWeight, const Operand& hiddenState, uint32_t hiddenSize, const GruCellOptions& options) {
  return only_one(typed_call(state_, "gruCell", options.label, {arg(input), arg(weight), arg(recurrentWeight), arg(hiddenState), arg(hiddenSize), arg(options.bias), arg(options.recurrentBias), arg(options.resetAfter), arg(options.layout), arg(options.activations)}));
}
Result<Operand> Operations::hardSigmoid(const Operand& input, const HardSigmoidOptions& options) {
  return only_one(typed_call(state_, "hardSigmoid", options.label, {arg(input), arg(options.alpha), arg(options.beta)}));
}
Result<Operand> Operations::hardSwish(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "hardSwish", options.label, {arg(input)}));
}
Result<Operand> Operations::instanceNormalization(const Operand& input, const InstanceNormalizationOptions& options) {
  return only_one(typed_call(state_, "instanceNormalization", options.label, {arg(input), arg(options.scale), arg(options.bias), arg(options.epsilon), arg(options.layout)}));
}
Result<Operand> Operations::layerNormalization(const Operand& input, const LayerNormalizationOptions& options) {
  return only_one(typed_call(state_, "layerNormalization", options.label, {arg(input), arg(options.scale), arg(options.bias), arg(options.axes), arg(options.epsilon)}));
}
Result<Operand> Operations::leakyRelu(const Operand& input, const LeakyReluOptions& options) {
  return only_one(typed_call(state_, "leakyRelu", options.label, {arg(input), arg(options.alpha)}));
}
Result<Operand> Operations::linear(const Operand& input, const LinearOptions& options) {
  return only_one(typed_call(state_, "linear", options.label, {arg(input), arg(options.alpha), arg(options.beta)}));
}
Result<std::vector<Operand>> Operations::lstm(const Operand& input, const Operand& weight, const Operand& recurrentWeight, uint32_t steps, uint32_t hiddenSize, const LstmOptions& options) {
  return (typed_call(state_, "lstm", options.label, {arg(input), arg(weight), arg(recurrentWeight), arg(steps), arg(hiddenSize), arg(options.bias), arg(options.recurrentBias), arg(options.peepholeWeight), arg(options.initialHiddenState), arg(options.initialCellState), arg(options.returnSequence), arg(options.direction), arg(options.layout), arg(options.activations)}));
}
Result<std::vector<Operand>> Operations::lstmCell(const Operand& input, const Operand& weight, const Operand& recurrentWeight, const Operand& hiddenState, const Operand& cellState, uint32_t hiddenSize, const LstmCellOptions& options) {
  return (typed_call(state_, "lstmCell", options.label, {arg(input), arg(weight), arg(recurrentWeight), arg(hiddenState), arg(cellState), arg(hiddenSize), arg(options.bias), arg(options.recurrentBias), arg(options.peepholeWeight), arg(options.layout), arg(options.activations)}));
}
Result<Operand> Operations::matmul(const Operand& a, const Operand& b, const OperatorOptions& options) {
  return only_one(typed_call(state_, "matmul", options.label, {arg(a), arg(b)}));
}
Result<Operand> Operations::pad(const Operand& input, const std::vector<uint32_t>& beginningPadding, const std::vector<uint32_t>& endingPadding, const PadOptions& options) {
  return only_one(typed_call(state_, "pad", options.label, {arg(input), arg(beginningPadding), arg(endingPadding), arg(options.mode), arg(options.value)}));
}
Result<Operand> Operations::averagePool2d(const Operand& input, const Pool2dOptions& options) {
  return only_one(typed_call(state_, "averagePool2d", options.label, {arg(input), arg(options.windowDimensions), arg(options.padding), arg(options.strides), arg(options.dilations), arg(options.layout), arg(options.outputShapeRounding), arg(options.outputSizes)}));
}
Result<Operand> Operations::l2Pool2d(const Operand& input, const Pool2dOptions& options) {
  return only_one(typed_call(state_, "l2Pool2d", options.label, {arg(input), arg(options.windowDimensions), arg(options.padding), arg(options.strides), arg(options.dilations), arg(options.layout), arg(options.outputShapeRounding), arg(options.outputSizes)}));
}
Result<Operand> Operations::maxPool2d(const Operand& input, const Pool2dOptions& options) {
  return only_one(typed_call(state_, "maxPool2d", options.label, {arg(input), arg(options.windowDimensions), arg(options.padding), arg(options.strides), arg(options.dilations), arg(options.layout), arg(options.outputShapeRounding), arg(options.outputSizes)}));
}
Result<Operand> Operations::prelu(const Operand& input, const Operand& slope, const OperatorOptions& options) {
  return only_one(typed_call(state_, "prelu", options.label, {arg(input), arg(slope)}));
}
Result<Operand> Operations::reduceL1(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceL1", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceL2(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceL2", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceLogSum(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceLogSum", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceLogSumExp(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceLogSumExp", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceMax(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceMax", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceMean(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceMean", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceMin(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceMin", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceProduct(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceProduct", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceSum(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceSum", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::reduceSumSquare(const Operand& input, const ReduceOptions& options) {
  return only_one(typed_call(state_, "reduceSumSquare", options.label, {arg(input), arg(options.axes), arg(options.keepDimensions)}));
}
Result<Operand> Operations::relu(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "relu", options.label, {arg(input)}));
}
Result<Operand> Operations::resample2d(const Operand& input, const Resample2dOptions& options) {
  return only_one(typed_call(state_, "resample2d", options.label, {arg(input), arg(options.mode), arg(options.scales), arg(options.sizes), arg(options.axes)}));
}
Result<Operand> Operations::reshape(const Operand& input, const std::vector<uint32_t>& newShape, const OperatorOptions& options) {
  return only_one(typed_call(state_, "reshape", options.label, {arg(input), arg(newShape)}));
}
Result<Operand> Operations::reverse(const Operand& input, const ReverseOptions& options) {
  return only_one(typed_call(state_, "reverse", options.label, {arg(input), arg(options.axes)}));
}
Result<Operand> Operations::scatterElements(const Operand& input, const Operand& indices, const Operand& updates, const ScatterOptions& options) {
  return only_one(typed_call(state_, "scatterElements", options.label, {arg(input), arg(indices), arg(updates), arg(options.axis)}));
}
Result<Operand> Operations::scatterND(const Operand& input, const Operand& indices, const Operand& updates, const OperatorOptions& options) {
  return only_one(typed_call(state_, "scatterND", options.label, {arg(input), arg(indices), arg(updates)}));
}
Result<Operand> Operations::sigmoid(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "sigmoid", options.label, {arg(input)}));
}
Result<Operand> Operations::slice(const Operand& input, const std::vector<uint32_t>& starts, const std::vector<uint32_t>& sizes, const SliceOptions& options) {
  return only_one(typed_call(state_, "slice", options.label, {arg(input), arg(starts), arg(sizes), arg(options.strides)}));
}
Result<Operand> Operations::softmax(const Operand& input, uint32_t axis, const OperatorOptions& options) {
  return only_one(typed_call(state_, "softmax", options.label, {arg(input), arg(axis)}));
}
Result<Operand> Operations::softplus(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "softplus", options.label, {arg(input)}));
}
Result<Operand> Operations::softsign(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "softsign", options.label, {arg(input)}));
}
Result<std::vector<Operand>> Operations::split(const Operand& input, const std::variant<uint32_t, std::vector<uint32_t>>& splits, const SplitOptions& options) {
  return (typed_call(state_, "split", options.label, {arg(input), arg(splits), arg(options.axis)}));
}
Result<Operand> Operations::tanh(const Operand& input, const OperatorOptions& options) {
  return only_one(typed_call(state_, "tanh", options.label, {arg(input)}));
}
Result<Operand> Operations::tile(const Operand& input, const std::vector<uint32_t>& repetitions, const OperatorOptions& options) {
  return only_one(typed_call(state_, "tile", options.label, {arg(input), arg(repetitions)}));
}
Result<Operand> Operations::transpose(const Operand& input, const TransposeOptions& options) {
  return only_one(typed_call(state_, "transpose", options.label, {arg(input), arg(options.permutation)}));
}
Result<Operand> Operations::triangular(const Operand& input, const TriangularOptions& options) {
  return only_one(typed_call(state_, "triangular", options.label, {arg(input), arg(options.upper), arg(options.diagonal)}));
}
Result<Operand> Operations::where(const Operand& condition, const Operand& trueValue, const Operand& falseValue, const OperatorOptions& options) {
  return only_one(typed_call(state_, "where", options.label, {arg(condition), arg(trueValue), arg(falseValue)}));
}

}  // namespace nnex::ml
