// Forms of ONNX's operators: classical machine learning and training. The grammar stands in signatures.h.
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml", kTraining = "ai.onnx.preview.training";

constexpr OperatorForms kMlOperators[] = {
    {kMl, "ArrayFeatureExtractor", "1 T:f32+f64+i32+i64+str i64 > T"},
    {kMl, "Binarizer", "1 T:f32+f64+i32+i64 > T | threshold:f"},
    {kMl, "CastMap", "1 map > f32+i64+str | cast_to:s map_form:s max_map:i"},
    {kMl, "CategoryMapper", "1 i64+str > i64+str | cats_int64s:I cats_strings:S default_int64:i default_string:s"},
    {kMl, "DictVectorizer", "1 map > f32+f64+i64+str | int64_vocabulary:I string_vocabulary:S"},
    {kMl, "FeatureVectorizer", "1 T1:f32+f64+i32+i64* > f32 | inputdimensions:I"},
    {kMl, "Imputer",
     "1 T:f32+f64+i32+i64 > T | imputed_value_floats:F imputed_value_int64s:I replaced_value_float:f "
     "replaced_value_int64:i"},
    {kMl, "LabelEncoder",
     "1 i64+str > i64+str | classes_strings:S default_int64:i default_string:s\n"
     "2 f32+i64+str > f32+i64+str | default_float:f default_int64:i default_string:s keys_floats:F "
     "keys_int64s:I keys_strings:S values_floats:F values_int64s:I values_strings:S\n"
     "4 f32+f64+i16+i32+i64+str > f32+f64+i16+i32+i64+str | default_float:f default_int64:i default_string:s "
     "default_tensor:t keys_floats:F keys_int64s:I keys_strings:S keys_tensor:t values_floats:F "
     "values_int64s:I values_strings:S values_tensor:t"},
    {kMl, "LinearClassifier",
     "1 f32+f64+i32+i64 > i64+str f32 | classlabels_ints:I classlabels_strings:S coefficients:F! intercepts:F "
     "multi_class:i post_transform:s"},
    {kMl, "LinearRegressor", "1 f32+f64+i32+i64 > f32 | coefficients:F intercepts:F post_transform:s targets:i"},
    {kMl, "Normalizer", "1 f32+f64+i32+i64 > f32 | norm:s"},
    {kMl, "OneHotEncoder", "1 f32+f64+i32+i64+str > f32 | cats_int64s:I cats_strings:S zeros:i"},
    {kMl, "Scaler", "1 f32+f64+i32+i64 > f32 | offset:F scale:F"},
    {kMl, "SVMClassifier",
     "1 f32+f64+i32+i64 > i64+str f32 | classlabels_ints:I classlabels_strings:S coefficients:F "
     "kernel_params:F kernel_type:s post_transform:s prob_a:F prob_b:F rho:F support_vectors:F "
     "vectors_per_class:I"},
    {kMl, "SVMRegressor",
     "1 f32+f64+i32+i64 > f32 | coefficients:F kernel_params:F kernel_type:s n_supports:i one_class:i "
     "post_transform:s rho:F support_vectors:F"},
    {kMl, "TreeEnsemble",
     "5 T:float > T | aggregate_function:i leaf_targetids:I! leaf_weights:t! membership_values:t n_targets:i "
     "nodes_falseleafs:I! nodes_falsenodeids:I! nodes_featureids:I! nodes_hitrates:t "
     "nodes_missing_value_tracks_true:I nodes_modes:t! nodes_splits:t! nodes_trueleafs:I! "
     "nodes_truenodeids:I! post_transform:i tree_roots:I!"},
    {kMl, "TreeEnsembleClassifier",
     "1 f32+f64+i32+i64 > i64+str f32 | base_values:F class_ids:I class_nodeids:I class_treeids:I "
     "class_weights:F classlabels_int64s:I classlabels_strings:S nodes_falsenodeids:I nodes_featureids:I "
     "nodes_hitrates:F nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I nodes_treeids:I "
     "nodes_truenodeids:I nodes_values:F post_transform:s\n"
     "3 f32+f64+i32+i64 > i64+str f32 | base_values:F base_values_as_tensor:t class_ids:I class_nodeids:I "
     "class_treeids:I class_weights:F class_weights_as_tensor:t classlabels_int64s:I classlabels_strings:S "
     "nodes_falsenodeids:I nodes_featureids:I nodes_hitrates:F nodes_hitrates_as_tensor:t "
     "nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I nodes_treeids:I nodes_truenodeids:I "
     "nodes_values:F nodes_values_as_tensor:t post_transform:s\n"
     "5 deprecated"},
    {kMl, "TreeEnsembleRegressor",
     "1 f32+f64+i32+i64 > f32 | aggregate_function:s base_values:F n_targets:i nodes_falsenodeids:I "
     "nodes_featureids:I nodes_hitrates:F nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I "
     "nodes_treeids:I nodes_truenodeids:I nodes_values:F post_transform:s target_ids:I target_nodeids:I "
     "target_treeids:I target_weights:F\n"
     "3 f32+f64+i32+i64 > f32 | aggregate_function:s base_values:F base_values_as_tensor:t n_targets:i "
     "nodes_falsenodeids:I nodes_featureids:I nodes_hitrates:F nodes_hitrates_as_tensor:t "
     "nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I nodes_treeids:I nodes_truenodeids:I "
     "nodes_values:F nodes_values_as_tensor:t post_transform:s target_ids:I target_nodeids:I target_treeids:I "
     "target_weights:F target_weights_as_tensor:t\n"
     "5 deprecated"},
    {kMl, "ZipMap", "1 f32 > seq(map) | classlabels_int64s:I classlabels_strings:S"},
    {kTraining, "Adagrad", "1 f32+f64 i64 T3:f32+f64~ > T3~ | decay_factor:f epsilon:f norm_coefficient:f"},
    {kTraining, "Adam",
     "1 f32+f64 i64 T3:f32+f64~ > T3~ | alpha:f beta:f epsilon:f norm_coefficient:f norm_coefficient_post:f"},
    {kTraining, "Gradient", "1 T1:all~ > T2:float~ | xs:S! y:s! zs:S"},
    {kTraining, "Momentum", "1 f32+f64 i64 T3:f32+f64~ > T3~ | alpha:f! beta:f! mode:s! norm_coefficient:f!"},
};

}  // namespace

std::span<const OperatorForms> forms_ml() { return kMlOperators; }

}  // namespace nnex::onnx_format
