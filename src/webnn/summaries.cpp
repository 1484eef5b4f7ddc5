#include <algorithm>

#include "base/try.h"
#include "webnn/method.h"

namespace nnex::ml {
namespace {

struct SummaryRow {
  std::string_view operation = {};
  std::string_view sentence = {};
};

// Source: W3C WebNN, editor's draft of 2026-06-26; names in the sentences are those of arguments and option members.
constexpr SummaryRow kSummaryRows[] = {
    {"argMin", "The index of the smallest element along axis."},
    {"argMax", "The index of the largest element along axis."},
    {"batchNormalization",
     "(input - mean) / sqrt(variance + epsilon) * scale + bias, with one mean and variance for each index of axis."},
    {"cast", "Every element as dataType; floats lose their fraction on the way to an integer type."},
    {"clamp",
     "input, but at least minValue and at most maxValue; a limit that is absent limits nothing. Both are cast to "
     "the input's type."},
    {"concat", "The inputs one after another along axis; all other dimensions are equal."},
    {"conv2d",
     "The 2-D convolution of input with filter, which is not flipped. padding: [begin, end of height, begin, end "
     "of width]."},
    {"convTranspose2d",
     "The transposed 2-D convolution. Where several output sizes lead to one input size, outputPadding or outputSizes "
     "chooses."},
    {"cumulativeSum", "The running sum along axis. exclusive: without the element itself; reversed: from the end."},
    {"add", "a + b. Shapes broadcast in both directions."},
    {"sub", "a - b. Shapes broadcast in both directions."},
    {"mul", "a * b. Shapes broadcast in both directions."},
    {"div", "a / b; of integers, cut towards zero. Shapes broadcast in both directions."},
    {"max", "The larger of a and b. Shapes broadcast in both directions."},
    {"min", "The smaller of a and b. Shapes broadcast in both directions."},
    {"pow", "a to the power of b. Shapes broadcast in both directions."},
    {"equal", "a == b, as uint8 0 or 1. Shapes broadcast in both directions."},
    {"notEqual", "a != b, as uint8 0 or 1. Shapes broadcast in both directions."},
    {"greater", "a > b, as uint8 0 or 1. Shapes broadcast in both directions."},
    {"greaterOrEqual", "a >= b, as uint8 0 or 1. Shapes broadcast in both directions."},
    {"lesser", "a < b, as uint8 0 or 1. Shapes broadcast in both directions."},
    {"lesserOrEqual", "a <= b, as uint8 0 or 1. Shapes broadcast in both directions."},
    {"logicalNot", "1 where a is 0, else 0."},
    {"logicalAnd", "1 where neither a nor b is 0, else 0. Shapes broadcast in both directions."},
    {"logicalOr", "1 where a or b is not 0, else 0. Shapes broadcast in both directions."},
    {"logicalXor", "1 where exactly one of a and b is 0, else 0. Shapes broadcast in both directions."},
    {"isNaN", "1 where a is NaN, else 0, as uint8."},
    {"isInfinite", "1 where a is an infinity, else 0, as uint8."},
    {"abs", "The magnitude of every element."},
    {"ceil", "Every element rounded up to a whole number."},
    {"cos", "The cosine of every element, in radians."},
    {"erf", "The Gauss error function of every element."},
    {"exp", "e to the power of every element."},
    {"floor", "Every element rounded down to a whole number."},
    {"identity", "input as it is."},
    {"log", "The natural logarithm of every element."},
    {"neg", "Every element with the other sign."},
    {"reciprocal", "1 / input."},
    {"roundEven", "Every element rounded to the nearest whole number, halves to the even one."},
    {"sin", "The sine of every element, in radians."},
    {"sign", "-1, 0 or 1 by the sign of every element."},
    {"sqrt", "The square root of every element."},
    {"tan", "The tangent of every element, in radians."},
    {"dequantizeLinear",
     "(input - zeroPoint) * scale. scale and zeroPoint have one shape, of the input's rank, whose dimensions divide "
     "the "
     "input's."},
    {"quantizeLinear",
     "roundEven(input / scale) + zeroPoint, clamped to the type of zeroPoint. scale and zeroPoint have one shape, of "
     "the "
     "input's rank, whose dimensions divide the input's."},
    {"elu", "input where it is above 0, else alpha * (exp(input) - 1)."},
    {"expand", "input repeated to newShape, to which its shape broadcasts."},
    {"gather", "The slices of input along axis that indices name; a negative index counts from the end."},
    {"gatherElements", "For every index its element of input along axis; the other coordinates are the index's own."},
    {"gatherND", "The slices of input at the coordinates that the last dimension of indices holds."},
    {"gelu", "0.5 * input * (1 + erf(input / sqrt(2)))."},
    {"gemm",
     "alpha * a * b + beta * c, with a and b transposed where aTranspose and bTranspose say; c broadcasts to the "
     "product."},
    {"gru",
     "A gated recurrent network over steps: the last hidden state of every direction, then, with returnSequence, the "
     "hidden states of all steps."},
    {"gruCell", "One step of a gated recurrent network: the new hidden state."},
    {"hardSigmoid", "max(0, min(1, alpha * input + beta))."},
    {"hardSwish", "input * max(0, min(6, input + 3)) / 6."},
    {"instanceNormalization",
     "(input - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over height and width."},
    {"layerNormalization",
     "(input - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over axes; absent: all but the "
     "first."},
    {"leakyRelu", "input where it is 0 or above, else alpha * input."},
    {"linear", "alpha * input + beta."},
    {"lstm",
     "A long short-term memory network over steps: the last hidden state and the last cell state of every "
     "direction, then, with returnSequence, the hidden states of all steps."},
    {"lstmCell", "One step of a long short-term memory network: the new hidden state and the new cell state."},
    {"matmul", "The matrix product over the last two dimensions; the others broadcast in both directions."},
    {"pad", "input with elements added before and after it along each dimension: value, its edge or its reflection."},
    {"averagePool2d",
     "The mean of every window; padding does not count. windowDimensions absent: all of height and width."},
    {"l2Pool2d",
     "The square root of the sum of squares of every window. windowDimensions absent: all of height and width."},
    {"maxPool2d", "The largest element of every window. windowDimensions absent: all of height and width."},
    {"prelu", "input where it is 0 or above, else slope * input. Shapes broadcast in both directions."},
    {"reduceL1", "The sum of magnitudes over axes; absent: over all of them, empty: of each element alone."},
    {"reduceL2",
     "The square root of the sum of squares over axes; absent: over all of them, empty: of each element alone."},
    {"reduceLogSum", "The logarithm of the sum over axes; absent: over all of them, empty: of each element alone."},
    {"reduceLogSumExp",
     "The logarithm of the sum of exponentials over axes; absent: over all of them, empty: of each element alone."},
    {"reduceMax", "The largest element over axes; absent: over all of them, empty: of each element alone."},
    {"reduceMean", "The mean over axes; absent: over all of them, empty: of each element alone."},
    {"reduceMin", "The smallest element over axes; absent: over all of them, empty: of each element alone."},
    {"reduceProduct", "The product over axes; absent: over all of them, empty: of each element alone."},
    {"reduceSum", "The sum over axes; absent: over all of them, empty: of each element alone."},
    {"reduceSumSquare", "The sum of squares over axes; absent: over all of them, empty: of each element alone."},
    {"relu", "max(0, input)."},
    {"resample2d",
     "input at other sizes along two axes: sizes, or by scales; the nearest element, or linear between pixel "
     "centres."},
    {"reshape", "The same elements under newShape, which holds as many; an empty one is a scalar's."},
    {"reverse", "The elements in reverse order along axes; absent: along all."},
    {"scatterElements", "input with the elements of updates written to their indices along axis."},
    {"scatterND",
     "input with the slices of updates written to the coordinates that the last dimension of indices holds."},
    {"sigmoid", "1 / (1 + exp(-input))."},
    {"slice", "From starts on, sizes elements along each dimension, of which every strides-th is taken."},
    {"softmax", "exp(input) / sum of exp(input) along axis."},
    {"softplus", "log(1 + exp(input))."},
    {"softsign", "input / (1 + |input|)."},
    {"split", "input in pieces along axis: as many equal ones as a number says, or of the sizes in a list."},
    {"tanh", "The hyperbolic tangent of every element."},
    {"tile", "input repeated along each dimension as often as repetitions says."},
    {"transpose", "The dimensions in the order of permutation; absent: reversed."},
    {"triangular",
     "The upper or lower triangle of the last two dimensions, from the diagonal of that number on; 0 "
     "elsewhere."},
    {"where", "trueValue where condition is not 0, else falseValue. Shapes broadcast in both directions."},
};

}  // namespace

std::string_view summary_of(std::string_view operation) {
  const auto row = std::find_if(std::begin(kSummaryRows), std::end(kSummaryRows),
                                [&](const SummaryRow& r) { return r.operation == operation; });
  NNEX_ASSERT(row != std::end(kSummaryRows));
  return row->sentence;
}

}  // namespace nnex::ml
