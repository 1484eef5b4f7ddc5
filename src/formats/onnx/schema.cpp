#include "formats/onnx/schema.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace nnex::onnx_format {
namespace {

constexpr std::string_view kWindow = "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I";
constexpr std::string_view kAlpha = "alpha:f", kAxis = "axis:i", kReduce = "keepdims:i noop_with_empty_axes:i";
constexpr std::string_view kArg = "axis:i keepdims:i select_last_index:i";
constexpr std::string_view kCumulative = "exclusive:i reverse:i";
constexpr std::string_view kWindowFunction = "output_datatype:i periodic:i";
constexpr std::string_view kNorm = "axis:i epsilon:f stash_type:i";
constexpr std::string_view kLoss = "ignore_index:i reduction:s";
constexpr std::string_view kMl = "ai.onnx.ml", kTraining = "ai.onnx.preview.training";

/// "name:kind", with '!' where it must be there and '@opset' where it is younger than the form.
constexpr Schema kSchemas[] = {
    {"", "Abs", 13, ""},
    {"", "Acos", 7, ""},
    {"", "Acosh", 9, ""},
    {"", "Add", 14, ""},
    {"", "AffineGrid", 20, "align_corners:i"},
    {"", "And", 7, ""},
    {"", "ArgMax", 13, kArg},
    {"", "ArgMin", 13, kArg},
    {"", "Asin", 7, ""},
    {"", "Asinh", 9, ""},
    {"", "Atan", 7, ""},
    {"", "Atanh", 9, ""},
    {"", "Attention", 23,
     "is_causal:i kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i "
     "left_window_size:i@25 right_window_size:i@25"},
    {"", "AveragePool", 11,
     "auto_pad:s ceil_mode:i count_include_pad:i dilations:I@19 kernel_shape:I! pads:I strides:I"},
    {"", "BatchNormalization", 15, "epsilon:f momentum:f training_mode:i"},
    {"", "Bernoulli", 15, "dtype:i seed:f"},
    {"", "BitCast", 26, "to:i!"},
    {"", "BitShift", 11, "direction:s!"},
    {"", "BitwiseAnd", 18, ""},
    {"", "BitwiseNot", 18, ""},
    {"", "BitwiseOr", 18, ""},
    {"", "BitwiseXor", 18, ""},
    {"", "BlackmanWindow", 17, kWindowFunction},
    {"", "Cast", 13, "to:i! saturate:i@19 round_mode:s@24"},
    {"", "CausalConvWithState", 27, "activation:s"},
    {"", "Ceil", 13, ""},
    {"", "Celu", 12, kAlpha},
    {"", "CenterCropPad", 18, "axes:I"},
    {"", "Clip", 13, ""},
    {"", "Col2Im", 18, "dilations:I pads:I strides:I"},
    {"", "Compress", 11, kAxis},
    {"", "Concat", 13, "axis:i!"},
    {"", "ConcatFromSequence", 11, "axis:i! new_axis:i"},
    {"", "ConstantOfShape", 9, "value:t"},
    {"", "Conv", 11, kWindow},
    {"", "ConvInteger", 10, kWindow},
    {"", "ConvTranspose", 11,
     "auto_pad:s dilations:I group:i kernel_shape:I output_padding:I output_shape:I pads:I strides:I"},
    {"", "Cos", 7, ""},
    {"", "Cosh", 9, ""},
    {"", "CumProd", 26, kCumulative},
    {"", "CumSum", 14, kCumulative},
    {"", "DFT", 20, "inverse:i onesided:i"},
    {"", "DeformConv", 19, "dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I"},
    {"", "DepthToSpace", 13, "blocksize:i! mode:s"},
    {"", "DequantizeLinear", 13, "axis:i block_size:i@21 output_dtype:i@23"},
    {"", "Det", 11, ""},
    {"", "Div", 14, ""},
    {"", "Dropout", 13, "seed:i"},
    {"", "DynamicQuantizeLinear", 11, ""},
    {"", "Einsum", 12, "equation:s!"},
    {"", "Elu", 6, kAlpha},
    {"", "Equal", 13, ""},
    {"", "Erf", 13, ""},
    {"", "Exp", 13, ""},
    {"", "Expand", 13, ""},
    {"", "EyeLike", 9, "dtype:i k:i"},
    {"", "Flatten", 13, kAxis},
    {"", "Floor", 13, ""},
    {"", "GRU", 14,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i linear_before_reset:i"},
    {"", "Gather", 13, kAxis},
    {"", "GatherElements", 13, kAxis},
    {"", "GatherND", 13, "batch_dims:i"},
    {"", "Gelu", 20, "approximate:s"},
    {"", "Gemm", 13, "alpha:f beta:f transA:i transB:i"},
    {"", "GlobalAveragePool", 1, ""},
    {"", "GlobalMaxPool", 1, ""},
    {"", "Greater", 13, ""},
    {"", "GreaterOrEqual", 16, ""},
    {"", "GridSample", 20, "align_corners:i mode:s padding_mode:s"},
    {"", "GroupNormalization", 21, "epsilon:f num_groups:i! stash_type:i"},
    {"", "HammingWindow", 17, kWindowFunction},
    {"", "HannWindow", 17, kWindowFunction},
    {"", "HardSigmoid", 6, "alpha:f beta:f"},
    {"", "HardSwish", 14, ""},
    {"", "Hardmax", 13, kAxis},
    {"", "Identity", 16, ""},
    {"", "If", 16, "else_branch:g! then_branch:g!"},
    {"", "ImageDecoder", 20, "pixel_format:s"},
    {"", "InstanceNormalization", 6, "epsilon:f"},
    {"", "IsInf", 10, "detect_negative:i detect_positive:i"},
    {"", "IsNaN", 13, ""},
    {"", "LRN", 13, "alpha:f beta:f bias:f size:i!"},
    {"", "LSTM", 14,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:i"},
    {"", "LayerNormalization", 17, kNorm},
    {"", "LeakyRelu", 16, kAlpha},
    {"", "Less", 13, ""},
    {"", "LessOrEqual", 16, ""},
    {"", "LinearAttention", 27, "chunk_size:i kv_num_heads:i! q_num_heads:i! scale:f update_rule:s"},
    {"", "Log", 13, ""},
    {"", "LogSoftmax", 13, kAxis},
    {"", "Loop", 16, "body:g!"},
    {"", "LpNormalization", 1, "axis:i p:i"},
    {"", "LpPool", 11, "auto_pad:s ceil_mode:i@18 dilations:I@18 kernel_shape:I! p:i pads:I strides:I"},
    {"", "MatMul", 13, ""},
    {"", "MatMulInteger", 10, ""},
    {"", "Max", 13, ""},
    {"", "MaxPool", 12, "auto_pad:s ceil_mode:i dilations:I kernel_shape:I! pads:I storage_order:i strides:I"},
    {"", "MaxRoiPool", 1, "pooled_shape:I! spatial_scale:f"},
    {"", "MaxUnpool", 11, "kernel_shape:I! pads:I strides:I"},
    {"", "MeanVarianceNormalization", 13, "axes:I"},
    {"", "MelWeightMatrix", 17, "output_datatype:i"},
    {"", "Min", 13, ""},
    {"", "Mish", 18, ""},
    {"", "Mod", 13, "fmod:i"},
    {"", "Mul", 14, ""},
    {"", "Multinomial", 7, "dtype:i sample_size:i seed:f"},
    {"", "Neg", 13, ""},
    {"", "NegativeLogLikelihoodLoss", 13, kLoss},
    {"", "NonMaxSuppression", 11, "center_point_box:i"},
    {"", "NonZero", 13, ""},
    {"", "Not", 1, ""},
    {"", "OneHot", 11, kAxis},
    {"", "Optional", 15, "type:T"},
    {"", "OptionalGetElement", 18, ""},
    {"", "OptionalHasElement", 18, ""},
    {"", "Or", 7, ""},
    {"", "PRelu", 16, ""},
    {"", "Pad", 13, "mode:s"},
    {"", "Pow", 15, ""},
    {"", "QLinearConv", 10, kWindow},
    {"", "QLinearMatMul", 10, ""},
    {"", "QuantizeLinear", 13, "axis:i block_size:i@21 output_dtype:i@21 precision:i@23 saturate:i@19"},
    {"", "RMSNormalization", 23, kNorm},
    {"", "RNN", 14, "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i"},
    {"", "RandomNormal", 1, "dtype:i mean:f scale:f seed:f shape:I!"},
    {"", "RandomNormalLike", 1, "dtype:i mean:f scale:f seed:f"},
    {"", "RandomUniform", 1, "dtype:i high:f low:f seed:f shape:I!"},
    {"", "RandomUniformLike", 1, "dtype:i high:f low:f seed:f"},
    {"", "Range", 11, "stash_type:i@27"},
    {"", "Reciprocal", 13, ""},
    {"", "ReduceL1", 18, kReduce},
    {"", "ReduceL2", 18, kReduce},
    {"", "ReduceLogSum", 18, kReduce},
    {"", "ReduceLogSumExp", 18, kReduce},
    {"", "ReduceMax", 18, kReduce},
    {"", "ReduceMean", 18, kReduce},
    {"", "ReduceMin", 18, kReduce},
    {"", "ReduceProd", 18, kReduce},
    {"", "ReduceSum", 13, kReduce},
    {"", "ReduceSumSquare", 18, kReduce},
    {"", "RegexFullMatch", 20, "pattern:s"},
    {"", "Relu", 14, ""},
    {"", "Reshape", 14, "allowzero:i"},
    {"", "Resize", 13,
     "antialias:i@18 axes:I@18 coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i "
     "extrapolation_value:f keep_aspect_ratio_policy:s@18 mode:s nearest_mode:s"},
    {"", "ReverseSequence", 10, "batch_axis:i time_axis:i"},
    {"", "RoiAlign", 16,
     "coordinate_transformation_mode:s mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f"},
    {"", "RotaryEmbedding", 23, "interleaved:i num_heads:i rotary_embedding_dim:i"},
    {"", "Round", 11, ""},
    {"", "STFT", 17, "onesided:i"},
    {"", "Scan", 16,
     "body:g! num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I "
     "scan_output_directions:I"},
    {"", "ScatterElements", 18, "axis:i reduction:s"},
    {"", "ScatterND", 18, "reduction:s"},
    {"", "Selu", 6, "alpha:f gamma:f"},
    {"", "SequenceAt", 11, ""},
    {"", "SequenceConstruct", 11, ""},
    {"", "SequenceEmpty", 11, "dtype:i"},
    {"", "SequenceErase", 11, ""},
    {"", "SequenceInsert", 11, ""},
    {"", "SequenceLength", 11, ""},
    {"", "SequenceMap", 17, "body:g!"},
    {"", "Shape", 15, "end:i start:i"},
    {"", "Shrink", 9, "bias:f lambd:f"},
    {"", "Sigmoid", 13, ""},
    {"", "Sign", 13, ""},
    {"", "Sin", 7, ""},
    {"", "Sinh", 9, ""},
    {"", "Size", 13, ""},
    {"", "Slice", 13, ""},
    {"", "Softmax", 13, kAxis},
    {"", "SoftmaxCrossEntropyLoss", 13, kLoss},
    {"", "Softplus", 1, ""},
    {"", "Softsign", 1, ""},
    {"", "SpaceToDepth", 13, "blocksize:i!"},
    {"", "Split", 13, "axis:i num_outputs:i@18"},
    {"", "SplitToSequence", 11, "axis:i keepdims:i"},
    {"", "Sqrt", 13, ""},
    {"", "Squeeze", 13, ""},
    {"", "StringConcat", 20, ""},
    {"", "StringNormalizer", 10, "case_change_action:s is_case_sensitive:i locale:s stopwords:S"},
    {"", "StringSplit", 20, "delimiter:s maxsplit:i"},
    {"", "Sub", 14, ""},
    {"", "Sum", 13, ""},
    {"", "SwiGLU", 28, kAlpha},
    {"", "Swish", 24, kAlpha},
    {"", "Tan", 7, ""},
    {"", "Tanh", 13, ""},
    {"", "TensorScatter", 24, "axis:i mode:s"},
    {"", "TfIdfVectorizer", 9,
     "max_gram_length:i! max_skip_count:i! min_gram_length:i! mode:s! ngram_counts:I! ngram_indexes:I! pool_int64s:I "
     "pool_strings:S weights:F"},
    {"", "ThresholdedRelu", 10, kAlpha},
    {"", "Tile", 13, ""},
    {"", "TopK", 11, "axis:i largest:i sorted:i"},
    {"", "Transpose", 13, "perm:I"},
    {"", "Trilu", 14, "upper:i"},
    {"", "Unique", 11, "axis:i sorted:i"},
    {"", "Unsqueeze", 13, ""},
    {"", "Where", 16, ""},
    {"", "Xor", 7, ""},
    {kMl, "CastMap", 1, "cast_to:s map_form:s max_map:i"},
    {kMl, "DictVectorizer", 1, "int64_vocabulary:I string_vocabulary:S"},
    {kMl, "LabelEncoder", 4, "default_tensor:t keys_tensor:t values_tensor:t"},
    {kMl, "LinearClassifier", 1,
     "classlabels_ints:I classlabels_strings:S coefficients:F! intercepts:F multi_class:i post_transform:s"},
    {kMl, "LinearRegressor", 1, "coefficients:F intercepts:F post_transform:s targets:i"},
    {kMl, "SVMClassifier", 1,
     "classlabels_ints:I classlabels_strings:S coefficients:F kernel_params:F kernel_type:s post_transform:s prob_a:F "
     "prob_b:F rho:F support_vectors:F vectors_per_class:I"},
    {kMl, "SVMRegressor", 1,
     "coefficients:F kernel_params:F kernel_type:s n_supports:i one_class:i post_transform:s rho:F support_vectors:F"},
    {kMl, "TreeEnsemble", 5,
     "aggregate_function:i leaf_targetids:I! leaf_weights:t! membership_values:t n_targets:i nodes_falseleafs:I! "
     "nodes_falsenodeids:I! nodes_featureids:I! nodes_missing_value_tracks_true:I nodes_modes:t! nodes_splits:t! "
     "nodes_trueleafs:I! nodes_truenodeids:I! post_transform:i tree_roots:I!"},
    {kMl, "TreeEnsembleRegressor", 3,
     "aggregate_function:s base_values:F base_values_as_tensor:t n_targets:i nodes_falsenodeids:I nodes_featureids:I "
     "nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I nodes_treeids:I nodes_truenodeids:I "
     "nodes_values:F nodes_values_as_tensor:t post_transform:s target_ids:I target_nodeids:I target_treeids:I "
     "target_weights:F target_weights_as_tensor:t"},
    {kMl, "TreeEnsembleClassifier", 3,
     "base_values:F base_values_as_tensor:t class_ids:I class_nodeids:I class_treeids:I class_weights:F "
     "class_weights_as_tensor:t classlabels_int64s:I classlabels_strings:S nodes_falsenodeids:I nodes_featureids:I "
     "nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I nodes_treeids:I nodes_truenodeids:I "
     "nodes_values:F nodes_values_as_tensor:t post_transform:s"},
    {kMl, "ZipMap", 1, "classlabels_int64s:I classlabels_strings:S"},
    {kTraining, "Adagrad", 1, "decay_factor:f epsilon:f norm_coefficient:f"},
    {kTraining, "Adam", 1, "alpha:f beta:f epsilon:f norm_coefficient:f norm_coefficient_post:f"},
    {kTraining, "Gradient", 1, "xs:S! y:s! zs:S"},
    {kTraining, "Momentum", 1, "alpha:f! beta:f! mode:s! norm_coefficient:f!"},
};

int number_of(std::string_view digits) {
  int n = 0;
  for (char c : digits) n = n * 10 + (c - '0');
  return n;
}

}  // namespace

std::vector<SchemaAttribute> Schema::list() const {
  std::vector<SchemaAttribute> out;
  for (std::string_view rest = attributes; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const size_t colon = word.find(':'), at = word.find('@');
    SchemaAttribute a{word.substr(0, colon), word[colon + 1], word.find('!') != std::string_view::npos, 0};
    if (at != std::string_view::npos) a.since = number_of(word.substr(at + 1));
    out.push_back(a);
  }
  return out;
}

std::optional<SchemaAttribute> Schema::find(std::string_view attribute) const {
  for (const SchemaAttribute& a : list())
    if (a.name == attribute) return a;
  return std::nullopt;
}

const Schema* find_schema(std::string_view domain, std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string, const Schema*> t;
    for (const Schema& s : kSchemas) t.emplace(std::string(s.domain) + ":" + std::string(s.name), &s);
    return t;
  }();
  const auto it = table.find(std::string(domain) + ":" + std::string(name));
  return it == table.end() ? nullptr : it->second;
}

}  // namespace nnex::onnx_format
