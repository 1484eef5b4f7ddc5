// Forms of ONNX's operators: those of the standard domain from M to Z. The grammar stands in signatures.h.
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {
namespace {

constexpr OperatorForms kLaterOperators[] = {
    {"", "MatMul",
     "1 T:float T > T\n"
     "9 T:float+i32+i64+u32+u64 T > T\n"
     "13 T:float+bf16+i32+i64+u32+u64 T > T"},
    {"", "MatMulInteger", "10 T1:i8+u8 T2:i8+u8 T1? T2? > i32"},
    {"", "Max",
     "1 T:float=* > T | consumed_inputs:I\n"
     "6 T:float=* > T |\n"
     "8 T:float* > T\n"
     "12 T:num* > T\n"
     "13 T:num+bf16* > T"},
    {"", "MaxPool",
     "1 T:float > T | auto_pad:s kernel_shape:I! pads:I0 strides:I\n"
     "8 T:float > T i64? | auto_pad:s kernel_shape:I! pads:I0 storage_order:i? strides:I\n"
     "10 T:float > T i64? | auto_pad:s ceil_mode:i? dilations:I kernel_shape:I! pads:I0 storage_order:i? "
     "strides:I\n"
     "11 T:float > T i64?\n"
     "12 T:float+i8+u8 > T i64?\n"
     "22 T:float+bf16+i8+u8 > T i64?"},
    {"", "MaxRoiPool",
     "1 T:float T > T | pooled_shape:I! spatial_scale:f\n"
     "22 T:float+bf16 T > T"},
    {"", "MaxUnpool",
     "9 T1:float T2:i64 T2? > T1 | kernel_shape:I! pads:I0 strides:I\n"
     "11 T1:float T2:i64 T2? > T1\n"
     "22 T1:float+bf16 T2:i64 T2? > T1"},
    {"", "Mean",
     "1 T:float=* > T | consumed_inputs:I\n"
     "6 T:float=* > T |\n"
     "8 T:float* > T\n"
     "13 T:float+bf16* > T"},
    {"", "MeanVarianceNormalization",
     "9 T:float > T | axes:I\n"
     "13 T:float+bf16 > T"},
    {"", "MelWeightMatrix", "17 T1:i32+i64 T1 T1 T2:float+bf16 T2 > num+bf16 | output_datatype:i"},
    {"", "Min",
     "1 T:float=* > T | consumed_inputs:I\n"
     "6 T:float=* > T |\n"
     "8 T:float* > T\n"
     "12 T:num* > T\n"
     "13 T:num+bf16* > T"},
    {"", "Mish",
     "18 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Mod",
     "10 T:num T > T | fmod:i?\n"
     "13 T:num+bf16 T > T"},
    {"", "Mul",
     "1 T:float= T= > T | axis:i broadcast:i? consumed_inputs:I\n"
     "6 T:float+i32+i64+u32+u64= T= > T | axis:i broadcast:i?\n"
     "7 T:float+i32+i64+u32+u64 T > T |\n"
     "13 T:float+bf16+i32+i64+u32+u64 T > T\n"
     "14 T:num+bf16 T > T"},
    {"", "Multinomial",
     "7 float > i32+i64 | dtype:i sample_size:i seed:f\n"
     "22 float+bf16 > i32+i64"},
    {"", "Neg",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:int+float > T |\n"
     "13 T:int+float+bf16 > T"},
    {"", "NegativeLogLikelihoodLoss",
     "12 T:float i32+i64 T? > T | ignore_index:i reduction:s\n"
     "13 T:float i32+i64 T? > T\n"
     "22 T:float+bf16 i32+i64 T? > T"},
    {"", "NonMaxSuppression",
     "10 f32 f32 i64? f32? f32? > i64 | center_point_box:i?\n"
     "11 f32 f32 i64? f32? f32? > i64"},
    {"", "NonZero",
     "9 all > i64\n"
     "13 all+bf16 > i64"},
    {"", "Not", "1 T:bool > T"},
    {"", "OneHot",
     "9 num num T3:all > T3 | axis:i-y\n"
     "11 num num T3:all > T3 | axis:i"},
    {"", "Optional", "15 all+seq(all)? > opt(all)+opt(seq(all)) | type:T"},
    {"", "OptionalGetElement",
     "15 opt(all)+opt(seq(all)) > all+seq(all)\n"
     "18 all+seq(all)+opt(all)+opt(seq(all)) > all+seq(all)"},
    {"", "OptionalHasElement",
     "15 opt(all)+opt(seq(all)) > bool\n"
     "18 all+seq(all)+opt(all)+opt(seq(all))? > bool"},
    {"", "Or",
     "1 T:bool= T= > bool | axis:i broadcast:i?\n"
     "7 T:bool T > bool |"},
    {"", "Pad",
     "1 T:float > T | mode:s=constant,reflect,edge paddings:I! value:f\n"
     "2 T:float > T | mode:s=constant,reflect,edge pads:I! value:f\n"
     "11 T:num i64 T? > T | mode:s=constant,reflect,edge\n"
     "13 T:all+bf16 i64 T? > T\n"
     "18 T:all+bf16 i64 T? i32+i64? > T\n"
     "19 T:all+bf16 i64 T? i32+i64? > T | mode:s=constant,reflect,edge,wrap\n"
     "21 T:all+f8+b4+bf16 i64 T? i32+i64? > T\n"
     "23 T:all+f8+b4+bf16+f4 i64 T? i32+i64? > T\n"
     "24 T:all+f8+b4+bf16+e8+f4 i64 T? i32+i64? > T\n"
     "25 T:all+f8+b4+b2+bf16+e8+f4 i64 T? i32+i64? > T"},
    {"", "Pow",
     "1 T:float= T= > T | axis:i broadcast:i?\n"
     "7 T:float T > T |\n"
     "12 T:float+i32+i64 num > T\n"
     "13 T:float+bf16+i32+i64 num > T\n"
     "15 T:float+bf16+i32+i64 num+bf16 > T"},
    {"", "PRelu",
     "1 T:float T@ > T | consumed_inputs:I\n"
     "6 T:float T@ > T |\n"
     "7 T:float T > T\n"
     "9 T:float+i32+i64+u32+u64 T > T\n"
     "16 T:float+bf16+i32+i64+u32+u64 T > T"},
    {"", "QLinearConv",
     "10 T1:i8+u8 f32 T1 T2:i8+u8 f32 T2 f32 T3:i8+u8 i32? > T3 | auto_pad:s dilations:I group:i "
     "kernel_shape:I pads:I0 strides:I"},
    {"", "QLinearMatMul",
     "10 T1:i8+u8 f32 T1 T2:i8+u8 f32 T2 f32 T3:i8+u8 > T3\n"
     "21 T1:f8+i8+u8 TS:bf16+f16+f32 T1 T2:f8+i8+u8 TS T2 TS T3:f8+i8+u8 > T3"},
    {"", "QuantizeLinear",
     "10 f32+i32 f32 T2:i8+u8? > T2\n"
     "13 f32+i32 f32 T2:i8+u8? > T2 | axis:i\n"
     "19 T1:bf16+f16+f32+i32 T1 T2:f8+i8+u8? > T2 | axis:i saturate:i?\n"
     "21 T1:bf16+f16+f32+i32 T1 T2:f8+b4+i8+i16+u8+u16? > T2 | axis:i block_size:i output_dtype:i saturate:i?\n"
     "23 bf16+f16+f32+i32 bf16+f16+f32+i32 T3:f8+b4+f4+i8+i16+u8+u16? > T3 | axis:i block_size:i "
     "output_dtype:i precision:i saturate:i?\n"
     "24 bf16+f16+f32+i32 bf16+e8+f16+f32+i32 T3:f8+b4+f4+i8+i16+u8+u16? > T3\n"
     "25 bf16+f16+f32+i32 bf16+e8+f16+f32+i32 T3:f8+b4+b2+f4+i8+i16+u8+u16? > T3"},
    {"", "RandomNormal",
     "1 > float | dtype:i mean:f scale:f seed:f shape:I!\n"
     "22 > float+bf16"},
    {"", "RandomNormalLike",
     "1 all > float | dtype:i mean:f scale:f seed:f\n"
     "22 all+bf16 > float+bf16"},
    {"", "RandomUniform",
     "1 > float | dtype:i high:f low:f seed:f shape:I!\n"
     "22 > float+bf16"},
    {"", "RandomUniformLike",
     "1 all > float | dtype:i high:f low:f seed:f\n"
     "22 all+bf16 > float+bf16"},
    {"", "Range",
     "11 T:f32+f64+i16+i32+i64 T T > T\n"
     "27 T:float+bf16+i16+i32+i64 T T > T | stash_type:i"},
    {"", "Reciprocal",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "ReduceL1",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 > T\n"
     "18 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "ReduceL2",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 > T\n"
     "18 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "ReduceLogSum",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 > T\n"
     "18 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "ReduceLogSumExp",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 > T\n"
     "18 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "ReduceMax",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "12 T:float+i8+i32+i64+u8+u32+u64 > T\n"
     "13 T:float+bf16+i8+i32+i64+u8+u32+u64 > T\n"
     "18 T:float+bf16+i8+i32+i64+u8+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?\n"
     "20 T:float+bf16+bool+i8+i32+i64+u8+u32+u64 i64/1? > T"},
    {"", "ReduceMean",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 > T\n"
     "18 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "ReduceMin",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "12 T:float+i8+i32+i64+u8+u32+u64 > T\n"
     "13 T:float+bf16+i8+i32+i64+u8+u32+u64 > T\n"
     "18 T:float+bf16+i8+i32+i64+u8+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?\n"
     "20 T:float+bf16+bool+i8+i32+i64+u8+u32+u64 i64/1? > T"},
    {"", "ReduceProd",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 > T\n"
     "18 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "ReduceSum",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "ReduceSumSquare",
     "1 T:float+i32+i64+u32+u64 > T | axes:I+x keepdims:i?\n"
     "11 T:float+i32+i64+u32+u64 > T | axes:I keepdims:i?\n"
     "13 T:float+bf16+i32+i64+u32+u64 > T\n"
     "18 T:float+bf16+i32+i64+u32+u64 i64/1? > T | keepdims:i? noop_with_empty_axes:i?"},
    {"", "RegexFullMatch", "20 str > bool | pattern:s"},
    {"", "Relu",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T\n"
     "14 T:int+float+bf16 > T"},
    {"", "Reshape",
     "1 T:float > T | consumed_inputs:I shape:I\n"
     "5 T:all i64/1 > T |\n"
     "13 T:all+bf16 i64/1 > T\n"
     "14 T:all+bf16 i64/1 > T | allowzero:i?\n"
     "19 T:all+f8+bf16 i64/1 > T\n"
     "21 T:all+f8+b4+bf16 i64/1 > T\n"
     "23 T:all+f8+b4+bf16+f4 i64/1 > T\n"
     "24 T:all+f8+b4+bf16+e8+f4 i64/1 > T\n"
     "25 T:all+f8+b4+b2+bf16+e8+f4 i64/1 > T"},
    {"", "Resize",
     "10 T:all f32 > T | mode:s\n"
     "11 T1:all float f32 i64? > T1 | "
     "coordinate_transformation_mode:s=half_pixel,pytorch_half_pixel,align_corners,asymmetric,tf_crop_and_resize,tf_"
     "half_pixel_for_nn "
     "cubic_coeff_a:f exclude_outside:i? extrapolation_value:f mode:s nearest_mode:s\n"
     "13 T1:all+bf16 float? f32? i64? > T1 | "
     "coordinate_transformation_mode:s=half_pixel,pytorch_half_pixel,align_corners,asymmetric,tf_crop_and_resize "
     "cubic_coeff_a:f exclude_outside:i? extrapolation_value:f mode:s nearest_mode:s\n"
     "18 T1:all+bf16 float? f32? i64? > T1 | antialias:i? axes:I "
     "coordinate_transformation_mode:s=half_pixel,pytorch_half_pixel,align_corners,asymmetric,tf_crop_and_resize "
     "cubic_coeff_a:f exclude_outside:i? extrapolation_value:f keep_aspect_ratio_policy:s mode:s nearest_mode:s\n"
     "19 T1:all+bf16 float? f32? i64? > T1 | antialias:i? axes:I "
     "coordinate_transformation_mode:s=half_pixel,pytorch_half_pixel,align_corners,asymmetric,tf_crop_and_resize,half_"
     "pixel_symmetric "
     "cubic_coeff_a:f exclude_outside:i? extrapolation_value:f keep_aspect_ratio_policy:s mode:s nearest_mode:s"},
    {"", "ReverseSequence", "10 T:all i64 > T | batch_axis:i time_axis:i"},
    {"", "RMSNormalization", "23 float+bf16 V:float+bf16 > V | axis:i epsilon:f stash_type:i"},
    {"", "RNN",
     "1 T:float T T T? i32? T? > T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i output_sequence:i#y\n"
     "7 T:float T T T? i32? T? > T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i\n"
     "14 T:float T T T? i32? T? > T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i layout:i?\n"
     "22 T:float+bf16 T T T? i32? T? > T? T?"},
    {"", "RoiAlign",
     "10 T1:float T1 i64 > T1 | mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f\n"
     "16 T1:float T1 i64 > T1 | coordinate_transformation_mode:s mode:s output_height:i output_width:i "
     "sampling_ratio:i spatial_scale:f\n"
     "22 T1:float+bf16 T1 i64 > T1"},
    {"", "RotaryEmbedding", "23 T:bf16+f16+f32 T T i64? > T | interleaved:i? num_heads:i rotary_embedding_dim:i"},
    {"", "Round",
     "11 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Scan",
     "8 i64? V:all~ > V~ | body:g! directions:I num_scan_inputs:i!\n"
     "9 V:all~ > V~ | body:g! num_scan_inputs:i! scan_input_axes:I+ scan_input_directions:I scan_output_axes:I+ "
     "scan_output_directions:I\n"
     "11 V:all~ > V~ | body:g! num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I "
     "scan_output_directions:I\n"
     "16 V:all+bf16~ > V~\n"
     "19 V:all+f8+bf16~ > V~\n"
     "21 V:all+f8+b4+bf16~ > V~\n"
     "23 V:all+f8+b4+bf16+f4~ > V~\n"
     "24 V:all+f8+b4+bf16+e8+f4~ > V~\n"
     "25 V:all+f8+b4+b2+bf16+e8+f4~ > V~"},
    {"", "Scatter",
     "9 T:all i32+i64 T > T | axis:i\n"
     "11 deprecated"},
    {"", "ScatterElements",
     "11 T:all i32+i64 T > T | axis:i\n"
     "13 T:all+bf16 i32+i64 T > T\n"
     "16 T:all+bf16 i32+i64 T > T | axis:i reduction:s=none,add,mul\n"
     "18 T:all+bf16 i32+i64 T > T | axis:i reduction:s=none,add,mul,max,min"},
    {"", "ScatterND",
     "11 T:all i64 T > T\n"
     "13 T:all+bf16 i64 T > T\n"
     "16 T:all+bf16 i64 T > T | reduction:s=none,add,mul\n"
     "18 T:all+bf16 i64 T > T | reduction:s=none,add,mul,max,min"},
    {"", "Selu",
     "1 T:float > T | alpha:f consumed_inputs:I gamma:f\n"
     "6 T:float > T | alpha:f gamma:f\n"
     "22 T:float+bf16 > T"},
    {"", "SequenceAt", "11 seq(all) i32+i64 > all"},
    {"", "SequenceConstruct", "11 T:all* > seq(all)"},
    {"", "SequenceEmpty", "11 > seq(all) | dtype:i"},
    {"", "SequenceErase", "11 S:seq(all) i32+i64? > S"},
    {"", "SequenceInsert", "11 S:seq(all) all i32+i64? > S"},
    {"", "SequenceLength", "11 seq(all) > i64"},
    {"", "SequenceMap", "17 S:seq(all) V:all+seq(all)~? > S~ | body:g!"},
    {"", "Shape",
     "1 all > i64\n"
     "13 all+bf16 > i64\n"
     "15 all+bf16 > i64 | end:i start:i\n"
     "19 all+f8+bf16 > i64\n"
     "21 all+f8+b4+bf16 > i64\n"
     "23 all+f8+b4+bf16+f4 > i64\n"
     "24 all+f8+b4+bf16+e8+f4 > i64\n"
     "25 all+f8+b4+b2+bf16+e8+f4 > i64"},
    {"", "Shrink", "9 T:num > T | bias:f lambd:f"},
    {"", "Sigmoid",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "Sign",
     "9 T:num > T\n"
     "13 T:num+bf16 > T"},
    {"", "Sin",
     "7 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Sinh",
     "9 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Size",
     "1 all > i64\n"
     "13 all+bf16 > i64\n"
     "19 all+f8+bf16 > i64\n"
     "21 all+f8+b4+bf16 > i64\n"
     "23 all+f8+b4+bf16+f4 > i64\n"
     "24 all+f8+b4+bf16+e8+f4 > i64\n"
     "25 all+f8+b4+b2+bf16+e8+f4 > i64"},
    {"", "Slice",
     "1 T:all > T | axes:I+x ends:I! starts:I!\n"
     "10 T:all Tind:i32+i64/1 Tind/1 Tind/1+? Tind/1? > T |\n"
     "11 T:all Tind:i32+i64/1 Tind/1 Tind/1? Tind/1? > T\n"
     "13 T:all+bf16 Tind:i32+i64/1 Tind/1 Tind/1? Tind/1? > T"},
    {"", "Softmax",
     "1 T:float > T | axis:i+x\n"
     "11 T:float > T | axis:i\n"
     "13 T:float+bf16 > T"},
    {"", "SoftmaxCrossEntropyLoss",
     "12 T:float i32+i64 T? > T T? | ignore_index:i reduction:s\n"
     "13 T:float+bf16 i32+i64 T? > T T?"},
    {"", "Softplus",
     "1 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Softsign",
     "1 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "SpaceToDepth",
     "1 T:all > T | blocksize:i!\n"
     "13 T:all+bf16 > T"},
    {"", "Split",
     "1 T:float T? > T* | axis:i+x split:I\n"
     "2 T:all > T*\n"
     "11 T:all > T* | axis:i split:I\n"
     "13 T:all+bf16 i64? > T* | axis:i\n"
     "18 T:all+bf16 i64? > T* | axis:i num_outputs:i"},
    {"", "SplitToSequence",
     "11 all i32+i64? > seq(all) | axis:i keepdims:i?\n"
     "24 all+bf16 i32+i64? > seq(all+bf16)"},
    {"", "Sqrt",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "Squeeze",
     "1 T:all > T | axes:I+x\n"
     "11 T:all > T | axes:I\n"
     "13 T:all+bf16 i64? > T |\n"
     "21 T:all+f8+b4+bf16 i64? > T\n"
     "23 T:all+f8+b4+bf16+f4 i64? > T\n"
     "24 T:all+f8+b4+bf16+e8+f4 i64? > T\n"
     "25 T:all+f8+b4+b2+bf16+e8+f4 i64? > T"},
    {"", "STFT", "17 T1:float+bf16 T2:i32+i64 T1? T2? > T1 | onesided:i?"},
    {"", "StringConcat", "20 T:str T > T"},
    {"", "StringNormalizer", "10 str > str | case_change_action:s is_case_sensitive:i? locale:s stopwords:S"},
    {"", "StringSplit", "20 str > str i64 | delimiter:s maxsplit:i"},
    {"", "Sub",
     "1 T:float= T= > T | axis:i broadcast:i? consumed_inputs:I\n"
     "6 T:float+i32+i64+u32+u64= T= > T | axis:i broadcast:i?\n"
     "7 T:float+i32+i64+u32+u64 T > T |\n"
     "13 T:float+bf16+i32+i64+u32+u64 T > T\n"
     "14 T:num+bf16 T > T"},
    {"", "Sum",
     "1 T:float=* > T | consumed_inputs:I\n"
     "6 T:float=* > T |\n"
     "8 T:float* > T\n"
     "13 T:float+bf16* > T"},
    {"", "SwiGLU", "28 T:float+bf16 T > T | alpha:f"},
    {"", "Swish", "24 T:float+bf16 > T | alpha:f"},
    {"", "Tan",
     "7 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Tanh",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "TensorScatter", "24 T:all+f8+b4+bf16+e8+f4 T i64? > T | axis:i mode:s"},
    {"", "TfIdfVectorizer",
     "9 i32+i64+str > f32 | max_gram_length:i! max_skip_count:i! min_gram_length:i! mode:s! ngram_counts:I! "
     "ngram_indexes:I! pool_int64s:I pool_strings:S weights:F"},
    {"", "ThresholdedRelu",
     "10 T:float > T | alpha:f\n"
     "22 T:float+bf16 > T"},
    {"", "Tile",
     "1 T:float T T > T\n"
     "6 T:all i64 > T\n"
     "13 T:all+bf16 i64 > T"},
    {"", "TopK",
     "1 T:float > T i64 | axis:i-x k:i!\n"
     "10 T:float i64 > T i64 | axis:i-x\n"
     "11 T:num i64 > T i64 | axis:i largest:i? sorted:i?\n"
     "24 T:num+bf16 i64 > T i64"},
    {"", "Transpose",
     "1 T:all > T | perm:I+\n"
     "13 T:all+bf16 > T\n"
     "21 T:all+f8+b4+bf16 > T\n"
     "23 T:all+f8+b4+bf16+f4 > T\n"
     "24 T:all+f8+b4+bf16+e8+f4 > T\n"
     "25 T:all+f8+b4+b2+bf16+e8+f4 > T"},
    {"", "Trilu", "14 T:all+bf16 i64? > T | upper:i?"},
    {"", "Unique", "11 T:all > T i64? i64? i64? | axis:i sorted:i?"},
    {"", "Unsqueeze",
     "1 T:all > T | axes:I!+y\n"
     "11 T:all > T | axes:I!\n"
     "13 T:all+bf16 i64 > T |\n"
     "21 T:all+f8+b4+bf16 i64 > T\n"
     "23 T:all+f8+b4+bf16+f4 i64 > T\n"
     "24 T:all+f8+b4+bf16+e8+f4 i64 > T\n"
     "25 T:all+f8+b4+b2+bf16+e8+f4 i64 > T"},
    {"", "Upsample",
     "7 T:all > T | mode:s scales:F!\n"
     "9 T:all f32 > T | mode:s\n"
     "10 deprecated"},
    {"", "Where",
     "9 bool T:all T > T\n"
     "16 bool T:all+bf16 T > T"},
    {"", "Xor",
     "1 T:bool= T= > bool | axis:i broadcast:i?\n"
     "7 T:bool T > bool |"},
};

}  // namespace

std::span<const OperatorForms> forms_m_z() { return kLaterOperators; }

}  // namespace nnex::onnx_format
