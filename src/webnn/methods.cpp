#include <algorithm>

#include "webnn/method.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

// Source: W3C WebNN, editor's draft of 2026-06-26, the interface definitions.

constexpr WordSet kInputOperandLayout = {"MLInputOperandLayout", {"nchw", "nhwc"}};
constexpr WordSet kConv2dFilterOperandLayout = {"MLConv2dFilterOperandLayout", {"oihw", "hwio", "ohwi", "ihwo"}};
constexpr WordSet kConvTranspose2dFilterOperandLayout = {"MLConvTranspose2dFilterOperandLayout",
                                                         {"iohw", "hwoi", "ohwi"}};
constexpr WordSet kRecurrentNetworkDirection = {"MLRecurrentNetworkDirection", {"forward", "backward", "both"}};
constexpr WordSet kGruWeightLayout = {"MLGruWeightLayout", {"zrn", "rzn"}};
constexpr WordSet kRecurrentNetworkActivation = {"MLRecurrentNetworkActivation", {"relu", "sigmoid", "tanh"}};
constexpr WordSet kLstmWeightLayout = {"MLLstmWeightLayout", {"iofg", "ifgo"}};
constexpr WordSet kPaddingMode = {"MLPaddingMode", {"constant", "edge", "reflection"}};
constexpr WordSet kRoundingType = {"MLRoundingType", {"floor", "ceil"}};
constexpr WordSet kInterpolationMode = {"MLInterpolationMode", {"nearest-neighbor", "linear"}};

constexpr OptionsType kOperatorOptions = {"MLOperatorOptions"};
constexpr Param kArgMinMaxMembers[] = {{"keepDimensions", ArgKind::boolean, "false"},
                                       {"outputDataType", ArgKind::data_type, "int32"}};
constexpr OptionsType kArgMinMaxOptions = {"MLArgMinMaxOptions", kArgMinMaxMembers};
constexpr Param kBatchNormalizationMembers[] = {{"scale", ArgKind::operand},
                                                {"bias", ArgKind::operand},
                                                {"axis", ArgKind::unsigned_long, "1"},
                                                {"epsilon", ArgKind::real, "1e-5"}};
constexpr OptionsType kBatchNormalizationOptions = {"MLBatchNormalizationOptions", kBatchNormalizationMembers};
constexpr Param kClampMembers[] = {{"minValue", ArgKind::number}, {"maxValue", ArgKind::number}};
constexpr OptionsType kClampOptions = {"MLClampOptions", kClampMembers};
constexpr Param kConv2dMembers[] = {{"padding", ArgKind::unsigned_longs},
                                    {"strides", ArgKind::unsigned_longs},
                                    {"dilations", ArgKind::unsigned_longs},
                                    {"groups", ArgKind::unsigned_long, "1"},
                                    {"inputLayout", ArgKind::word, "nchw", &kInputOperandLayout},
                                    {"filterLayout", ArgKind::word, "oihw", &kConv2dFilterOperandLayout},
                                    {"bias", ArgKind::operand}};
constexpr OptionsType kConv2dOptions = {"MLConv2dOptions", kConv2dMembers};
constexpr Param kConvTranspose2dMembers[] = {
    {"padding", ArgKind::unsigned_longs},
    {"strides", ArgKind::unsigned_longs},
    {"dilations", ArgKind::unsigned_longs},
    {"outputPadding", ArgKind::unsigned_longs},
    {"outputSizes", ArgKind::unsigned_longs},
    {"groups", ArgKind::unsigned_long, "1"},
    {"inputLayout", ArgKind::word, "nchw", &kInputOperandLayout},
    {"filterLayout", ArgKind::word, "iohw", &kConvTranspose2dFilterOperandLayout},
    {"bias", ArgKind::operand}};
constexpr OptionsType kConvTranspose2dOptions = {"MLConvTranspose2dOptions", kConvTranspose2dMembers};
constexpr Param kCumulativeSumMembers[] = {{"exclusive", ArgKind::boolean, "false"},
                                           {"reversed", ArgKind::boolean, "false"}};
constexpr OptionsType kCumulativeSumOptions = {"MLCumulativeSumOptions", kCumulativeSumMembers};
constexpr Param kEluMembers[] = {{"alpha", ArgKind::real, "1"}};
constexpr OptionsType kEluOptions = {"MLEluOptions", kEluMembers};
constexpr Param kGatherMembers[] = {{"axis", ArgKind::unsigned_long, "0"}};
constexpr OptionsType kGatherOptions = {"MLGatherOptions", kGatherMembers};
constexpr Param kGemmMembers[] = {{"c", ArgKind::operand},
                                  {"alpha", ArgKind::real, "1.0"},
                                  {"beta", ArgKind::real, "1.0"},
                                  {"aTranspose", ArgKind::boolean, "false"},
                                  {"bTranspose", ArgKind::boolean, "false"}};
constexpr OptionsType kGemmOptions = {"MLGemmOptions", kGemmMembers};
constexpr Param kGruMembers[] = {{"bias", ArgKind::operand},
                                 {"recurrentBias", ArgKind::operand},
                                 {"initialHiddenState", ArgKind::operand},
                                 {"resetAfter", ArgKind::boolean, "true"},
                                 {"returnSequence", ArgKind::boolean, "false"},
                                 {"direction", ArgKind::word, "forward", &kRecurrentNetworkDirection},
                                 {"layout", ArgKind::word, "zrn", &kGruWeightLayout},
                                 {"activations", ArgKind::words, "", &kRecurrentNetworkActivation}};
constexpr OptionsType kGruOptions = {"MLGruOptions", kGruMembers};
constexpr Param kGruCellMembers[] = {{"bias", ArgKind::operand},
                                     {"recurrentBias", ArgKind::operand},
                                     {"resetAfter", ArgKind::boolean, "true"},
                                     {"layout", ArgKind::word, "zrn", &kGruWeightLayout},
                                     {"activations", ArgKind::words, "", &kRecurrentNetworkActivation}};
constexpr OptionsType kGruCellOptions = {"MLGruCellOptions", kGruCellMembers};
constexpr Param kHardSigmoidMembers[] = {{"alpha", ArgKind::real, "0.2"}, {"beta", ArgKind::real, "0.5"}};
constexpr OptionsType kHardSigmoidOptions = {"MLHardSigmoidOptions", kHardSigmoidMembers};
constexpr Param kInstanceNormalizationMembers[] = {{"scale", ArgKind::operand},
                                                   {"bias", ArgKind::operand},
                                                   {"epsilon", ArgKind::real, "1e-5"},
                                                   {"layout", ArgKind::word, "nchw", &kInputOperandLayout}};
constexpr OptionsType kInstanceNormalizationOptions = {"MLInstanceNormalizationOptions", kInstanceNormalizationMembers};
constexpr Param kLayerNormalizationMembers[] = {{"scale", ArgKind::operand},
                                                {"bias", ArgKind::operand},
                                                {"axes", ArgKind::unsigned_longs},
                                                {"epsilon", ArgKind::real, "1e-5"}};
constexpr OptionsType kLayerNormalizationOptions = {"MLLayerNormalizationOptions", kLayerNormalizationMembers};
constexpr Param kLeakyReluMembers[] = {{"alpha", ArgKind::real, "0.01"}};
constexpr OptionsType kLeakyReluOptions = {"MLLeakyReluOptions", kLeakyReluMembers};
constexpr Param kLinearMembers[] = {{"alpha", ArgKind::real, "1"}, {"beta", ArgKind::real, "0"}};
constexpr OptionsType kLinearOptions = {"MLLinearOptions", kLinearMembers};
constexpr Param kLstmMembers[] = {{"bias", ArgKind::operand},
                                  {"recurrentBias", ArgKind::operand},
                                  {"peepholeWeight", ArgKind::operand},
                                  {"initialHiddenState", ArgKind::operand},
                                  {"initialCellState", ArgKind::operand},
                                  {"returnSequence", ArgKind::boolean, "false"},
                                  {"direction", ArgKind::word, "forward", &kRecurrentNetworkDirection},
                                  {"layout", ArgKind::word, "iofg", &kLstmWeightLayout},
                                  {"activations", ArgKind::words, "", &kRecurrentNetworkActivation}};
constexpr OptionsType kLstmOptions = {"MLLstmOptions", kLstmMembers};
constexpr Param kLstmCellMembers[] = {{"bias", ArgKind::operand},
                                      {"recurrentBias", ArgKind::operand},
                                      {"peepholeWeight", ArgKind::operand},
                                      {"layout", ArgKind::word, "iofg", &kLstmWeightLayout},
                                      {"activations", ArgKind::words, "", &kRecurrentNetworkActivation}};
constexpr OptionsType kLstmCellOptions = {"MLLstmCellOptions", kLstmCellMembers};
constexpr Param kPadMembers[] = {{"mode", ArgKind::word, "constant", &kPaddingMode}, {"value", ArgKind::number, "0"}};
constexpr OptionsType kPadOptions = {"MLPadOptions", kPadMembers};
constexpr Param kPool2dMembers[] = {{"windowDimensions", ArgKind::unsigned_longs},
                                    {"padding", ArgKind::unsigned_longs},
                                    {"strides", ArgKind::unsigned_longs},
                                    {"dilations", ArgKind::unsigned_longs},
                                    {"layout", ArgKind::word, "nchw", &kInputOperandLayout},
                                    {"outputShapeRounding", ArgKind::word, "floor", &kRoundingType},
                                    {"outputSizes", ArgKind::unsigned_longs}};
constexpr OptionsType kPool2dOptions = {"MLPool2dOptions", kPool2dMembers};
constexpr Param kReduceMembers[] = {{"axes", ArgKind::unsigned_longs}, {"keepDimensions", ArgKind::boolean, "false"}};
constexpr OptionsType kReduceOptions = {"MLReduceOptions", kReduceMembers};
constexpr Param kResample2dMembers[] = {{"mode", ArgKind::word, "nearest-neighbor", &kInterpolationMode},
                                        {"scales", ArgKind::floats},
                                        {"sizes", ArgKind::unsigned_longs},
                                        {"axes", ArgKind::unsigned_longs}};
constexpr OptionsType kResample2dOptions = {"MLResample2dOptions", kResample2dMembers};
constexpr Param kReverseMembers[] = {{"axes", ArgKind::unsigned_longs}};
constexpr OptionsType kReverseOptions = {"MLReverseOptions", kReverseMembers};
constexpr Param kScatterMembers[] = {{"axis", ArgKind::unsigned_long, "0"}};
constexpr OptionsType kScatterOptions = {"MLScatterOptions", kScatterMembers};
constexpr Param kSliceMembers[] = {{"strides", ArgKind::unsigned_longs}};
constexpr OptionsType kSliceOptions = {"MLSliceOptions", kSliceMembers};
constexpr Param kSplitMembers[] = {{"axis", ArgKind::unsigned_long, "0"}};
constexpr OptionsType kSplitOptions = {"MLSplitOptions", kSplitMembers};
constexpr Param kTransposeMembers[] = {{"permutation", ArgKind::unsigned_longs}};
constexpr OptionsType kTransposeOptions = {"MLTransposeOptions", kTransposeMembers};
constexpr Param kTriangularMembers[] = {{"upper", ArgKind::boolean, "true"}, {"diagonal", ArgKind::signed_long, "0"}};
constexpr OptionsType kTriangularOptions = {"MLTriangularOptions", kTriangularMembers};

/// {name, arguments, options, returns a sequence, rule, lowering}
constexpr MethodOf<List> kWrittenMethods[] = {
    {"argMin", {{"input", ArgKind::operand}, {"axis", ArgKind::unsigned_long}}, &kArgMinMaxOptions},
    {"argMax", {{"input", ArgKind::operand}, {"axis", ArgKind::unsigned_long}}, &kArgMinMaxOptions},
    {"batchNormalization",
     {{"input", ArgKind::operand}, {"mean", ArgKind::operand}, {"variance", ArgKind::operand}},
     &kBatchNormalizationOptions,
     false,
     batch_norm_rule,
     import_batch_norm},
    {"cast", {{"input", ArgKind::operand}, {"dataType", ArgKind::data_type}}, &kOperatorOptions},
    {"clamp", {{"input", ArgKind::operand}}, &kClampOptions, false, clamp_rule, import_clamp},
    {"concat",
     {{"inputs", ArgKind::operands}, {"axis", ArgKind::unsigned_long}},
     &kOperatorOptions,
     false,
     concat_rule},
    {"conv2d",
     {{"input", ArgKind::operand}, {"filter", ArgKind::operand}},
     &kConv2dOptions,
     false,
     conv_rule,
     import_conv},
    {"convTranspose2d",
     {{"input", ArgKind::operand}, {"filter", ArgKind::operand}},
     &kConvTranspose2dOptions,
     false,
     conv_transpose_rule,
     import_conv_transpose},
    {"cumulativeSum", {{"input", ArgKind::operand}, {"axis", ArgKind::wrapped_long}}, &kCumulativeSumOptions},
    {"add", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"sub", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"mul", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"div", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"max", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"min", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"pow", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"equal", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"notEqual", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"greater", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"greaterOrEqual", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"lesser", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"lesserOrEqual", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"logicalNot", {{"a", ArgKind::operand}}, &kOperatorOptions},
    {"logicalAnd", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"logicalOr", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"logicalXor", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"isNaN", {{"a", ArgKind::operand}}, &kOperatorOptions},
    {"isInfinite", {{"a", ArgKind::operand}}, &kOperatorOptions},
    {"abs", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"ceil", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"cos", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"erf", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"exp", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"floor", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"identity", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"log", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"neg", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"reciprocal", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"roundEven", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"sin", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"sign", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"sqrt", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"tan", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"dequantizeLinear",
     {{"input", ArgKind::operand}, {"scale", ArgKind::operand}, {"zeroPoint", ArgKind::operand}},
     &kOperatorOptions,
     false,
     quantize_rule},
    {"quantizeLinear",
     {{"input", ArgKind::operand}, {"scale", ArgKind::operand}, {"zeroPoint", ArgKind::operand}},
     &kOperatorOptions,
     false,
     quantize_rule},
    {"elu", {{"input", ArgKind::operand}}, &kEluOptions},
    {"expand",
     {{"input", ArgKind::operand}, {"newShape", ArgKind::unsigned_longs}},
     &kOperatorOptions,
     false,
     expand_rule},
    {"gather", {{"input", ArgKind::operand}, {"indices", ArgKind::operand}}, &kGatherOptions},
    {"gatherElements",
     {{"input", ArgKind::operand}, {"indices", ArgKind::operand}},
     &kGatherOptions,
     false,
     gather_elements_rule},
    {"gatherND", {{"input", ArgKind::operand}, {"indices", ArgKind::operand}}, &kOperatorOptions},
    {"gelu", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"gemm", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kGemmOptions},
    {"gru",
     {{"input", ArgKind::operand},
      {"weight", ArgKind::operand},
      {"recurrentWeight", ArgKind::operand},
      {"steps", ArgKind::unsigned_long},
      {"hiddenSize", ArgKind::unsigned_long}},
     &kGruOptions,
     true,
     gru_rule,
     import_gru},
    {"gruCell",
     {{"input", ArgKind::operand},
      {"weight", ArgKind::operand},
      {"recurrentWeight", ArgKind::operand},
      {"hiddenState", ArgKind::operand},
      {"hiddenSize", ArgKind::unsigned_long}},
     &kGruCellOptions,
     false,
     gru_cell_rule,
     import_gru_cell},
    {"hardSigmoid", {{"input", ArgKind::operand}}, &kHardSigmoidOptions},
    {"hardSwish", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"instanceNormalization",
     {{"input", ArgKind::operand}},
     &kInstanceNormalizationOptions,
     false,
     instance_norm_rule,
     import_instance_norm},
    {"layerNormalization",
     {{"input", ArgKind::operand}},
     &kLayerNormalizationOptions,
     false,
     layer_norm_rule,
     import_layer_norm},
    {"leakyRelu", {{"input", ArgKind::operand}}, &kLeakyReluOptions},
    {"linear", {{"input", ArgKind::operand}}, &kLinearOptions},
    {"lstm",
     {{"input", ArgKind::operand},
      {"weight", ArgKind::operand},
      {"recurrentWeight", ArgKind::operand},
      {"steps", ArgKind::unsigned_long},
      {"hiddenSize", ArgKind::unsigned_long}},
     &kLstmOptions,
     true,
     lstm_rule,
     import_lstm},
    {"lstmCell",
     {{"input", ArgKind::operand},
      {"weight", ArgKind::operand},
      {"recurrentWeight", ArgKind::operand},
      {"hiddenState", ArgKind::operand},
      {"cellState", ArgKind::operand},
      {"hiddenSize", ArgKind::unsigned_long}},
     &kLstmCellOptions,
     true,
     lstm_cell_rule,
     import_lstm_cell},
    {"matmul", {{"a", ArgKind::operand}, {"b", ArgKind::operand}}, &kOperatorOptions},
    {"pad",
     {{"input", ArgKind::operand},
      {"beginningPadding", ArgKind::unsigned_longs},
      {"endingPadding", ArgKind::unsigned_longs}},
     &kPadOptions,
     false,
     pad_rule,
     import_pad},
    {"averagePool2d", {{"input", ArgKind::operand}}, &kPool2dOptions, false, pool_rule, import_pool},
    {"l2Pool2d", {{"input", ArgKind::operand}}, &kPool2dOptions, false, pool_rule, import_pool},
    {"maxPool2d", {{"input", ArgKind::operand}}, &kPool2dOptions, false, pool_rule, import_pool},
    {"prelu", {{"input", ArgKind::operand}, {"slope", ArgKind::operand}}, &kOperatorOptions},
    {"reduceL1", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceL2", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceLogSum", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceLogSumExp", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceMax", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceMean", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceMin", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceProduct", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceSum", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"reduceSumSquare", {{"input", ArgKind::operand}}, &kReduceOptions, false, reduce_rule},
    {"relu", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"resample2d", {{"input", ArgKind::operand}}, &kResample2dOptions, false, resample_rule, import_resample},
    {"reshape", {{"input", ArgKind::operand}, {"newShape", ArgKind::unsigned_longs}}, &kOperatorOptions},
    {"reverse", {{"input", ArgKind::operand}}, &kReverseOptions},
    {"scatterElements",
     {{"input", ArgKind::operand}, {"indices", ArgKind::operand}, {"updates", ArgKind::operand}},
     &kScatterOptions,
     false,
     scatter_elements_rule},
    {"scatterND",
     {{"input", ArgKind::operand}, {"indices", ArgKind::operand}, {"updates", ArgKind::operand}},
     &kOperatorOptions},
    {"sigmoid", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"slice",
     {{"input", ArgKind::operand}, {"starts", ArgKind::unsigned_longs}, {"sizes", ArgKind::unsigned_longs}},
     &kSliceOptions,
     false,
     slice_rule,
     import_slice},
    {"softmax", {{"input", ArgKind::operand}, {"axis", ArgKind::unsigned_long}}, &kOperatorOptions},
    {"softplus", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"softsign", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"split",
     {{"input", ArgKind::operand}, {"splits", ArgKind::long_or_longs}},
     &kSplitOptions,
     true,
     split_rule,
     import_split},
    {"tanh", {{"input", ArgKind::operand}}, &kOperatorOptions},
    {"tile", {{"input", ArgKind::operand}, {"repetitions", ArgKind::wrapped_longs}}, &kOperatorOptions},
    {"transpose", {{"input", ArgKind::operand}}, &kTransposeOptions, false, transpose_rule},
    {"triangular", {{"input", ArgKind::operand}}, &kTriangularOptions},
    {"where",
     {{"condition", ArgKind::operand}, {"trueValue", ArgKind::operand}, {"falseValue", ArgKind::operand}},
     &kOperatorOptions},
};

constexpr auto kMethods = [] {
  std::array<Method, std::size(kWrittenMethods)> all = {};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& row = kWrittenMethods[i];
    all[i] = {row.name,    ItemsOf<kWrittenMethods, &MethodOf<List>::params>::of(i),
              row.options, row.several,
              row.rule,    row.import_call};
  }
  return all;
}();

}  // namespace

std::span<const Method> methods() { return kMethods; }

const Method* find_method(std::string_view name) {
  const auto at =
      std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Method& m) { return m.name == name; });
  return at == std::end(kMethods) ? nullptr : at;
}

}  // namespace nnex::ml
