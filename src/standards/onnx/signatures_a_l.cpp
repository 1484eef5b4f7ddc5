// Forms of ONNX's operators: those of the standard domain from A to L. The grammar stands in signatures.h.
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {
namespace {

constexpr OperatorForms kEarlierOperators[] = {
    {"", "Abs",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:num > T |\n"
     "13 T:num+bf16 > T"},
    {"", "Acos",
     "7 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Acosh",
     "9 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Add",
     "1 T:float= T= > T | axis:i broadcast:i? consumed_inputs:I\n"
     "6 T:float+i32+i64+u32+u64= T= > T | axis:i broadcast:i?\n"
     "7 T:float+i32+i64+u32+u64 T > T |\n"
     "13 T:float+bf16+i32+i64+u32+u64 T > T\n"
     "14 T:num+bf16 T > T"},
    {"", "AffineGrid", "20 T1:float+bf16 i64 > T1 | align_corners:i?"},
    {"", "And",
     "1 T:bool= T= > bool | axis:i broadcast:i?\n"
     "7 T:bool T > bool |"},
    {"", "ArgMax",
     "1 num > i64 | axis:i+x keepdims:i?\n"
     "11 num > i64 | axis:i keepdims:i?\n"
     "12 num > i64 | axis:i keepdims:i? select_last_index:i?\n"
     "13 num+bf16 > i64"},
    {"", "ArgMin",
     "1 num > i64 | axis:i+x keepdims:i?\n"
     "11 num > i64 | axis:i keepdims:i?\n"
     "12 num > i64 | axis:i keepdims:i? select_last_index:i?\n"
     "13 num+bf16 > i64"},
    {"", "Asin",
     "7 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Asinh",
     "9 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Atan",
     "7 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Atanh",
     "9 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Attention",
     "23 T1:float+bf16 T1 T2:float+bf16 num+bf16+bool? T1? T2? > T1 T1? T2? T1? | is_causal:i? kv_num_heads:i "
     "q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i\n"
     "24 T1:float+bf16 T1 T2:float+bf16 num+bf16+bool? T1? T2? i64? > T1 T1? T2? T1?\n"
     "25 T1:float+bf16 T1 T2:float+bf16 num+bf16+bool? T1? T2? i64? > T1 T1? T2? T1? | is_causal:i? "
     "kv_num_heads:i left_window_size:i q_num_heads:i qk_matmul_output_mode:i right_window_size:i scale:f "
     "softcap:f softmax_precision:i"},
    {"", "AveragePool",
     "1 T:float > T | auto_pad:s kernel_shape:I! pads:I0 strides:I\n"
     "7 T:float > T | auto_pad:s count_include_pad:i? kernel_shape:I! pads:I0 strides:I\n"
     "10 T:float > T | auto_pad:s ceil_mode:i? count_include_pad:i? kernel_shape:I! pads:I0 strides:I\n"
     "11 T:float > T\n"
     "19 T:float > T | auto_pad:s ceil_mode:i? count_include_pad:i? dilations:I kernel_shape:I! pads:I0 strides:I\n"
     "22 T:float+bf16 > T"},
    {"", "BatchNormalization",
     "1 T:float T T T T > T T? T? T? T? | consumed_inputs:I! epsilon:f is_test:i# momentum:f spatial:i?\n"
     "6 T:float T T T T > T T? T? T? T? | epsilon:f is_test:i# momentum:f spatial:i?\n"
     "7 T:float T T T T > T T? T? T? T? | epsilon:f momentum:f spatial:i?\n"
     "9 T:float T T T T > T T? T? T? T? | epsilon:f momentum:f\n"
     "14 T:float+bf16 T T U:float+bf16 U > T U? U? | epsilon:f momentum:f training_mode:i?\n"
     "15 T:float+bf16 T1:float+bf16 T1 T2:float+bf16 T2 > T T2? T2?"},
    {"", "Bernoulli",
     "15 float > num+bf16+bool | dtype:i seed:f\n"
     "22 float+bf16 > num+bf16+bool"},
    {"", "BitCast", "26 num+f8+b4+b2+bf16+bool+c64+c128+e8+f4 > num+f8+b4+b2+bf16+bool+c64+c128+e8+f4 | to:i!"},
    {"", "BitShift", "11 T:uint T > T | direction:s!"},
    {"", "BitwiseAnd", "18 T:int+uint T > T"},
    {"", "BitwiseNot", "18 T:int+uint > T"},
    {"", "BitwiseOr", "18 T:int+uint T > T"},
    {"", "BitwiseXor", "18 T:int+uint T > T"},
    {"", "BlackmanWindow", "17 i32+i64 > num+bf16 | output_datatype:i periodic:i?"},
    {"", "Cast",
     "1 num+bool > num+bool | to:s!\n"
     "6 num+bool > num+bool | to:i!\n"
     "9 num+bool+str > num+bool+str\n"
     "13 num+bf16+bool+str > num+bf16+bool+str\n"
     "19 num+f8+bf16+bool+str > num+f8+bf16+bool+str | saturate:i? to:i!\n"
     "21 num+f8+b4+bf16+bool+str > num+f8+b4+bf16+bool+str\n"
     "23 num+f8+b4+bf16+bool+f4+str > num+f8+b4+bf16+bool+f4+str\n"
     "24 num+f8+b4+bf16+bool+e8+f4+str > num+f8+b4+bf16+bool+e8+f4+str | round_mode:s saturate:i? to:i!\n"
     "25 num+f8+b4+b2+bf16+bool+e8+f4+str > num+f8+b4+b2+bf16+bool+e8+f4+str"},
    {"", "CastLike",
     "15 num+bf16+bool+str T2:num+bf16+bool+str > T2\n"
     "19 num+f8+bf16+bool+str T2:num+f8+bf16+bool+str > T2 | saturate:i?\n"
     "21 num+f8+b4+bf16+bool+str T2:num+f8+b4+bf16+bool+str > T2\n"
     "23 num+f8+b4+bf16+bool+f4+str T2:num+f8+b4+bf16+bool+f4+str > T2\n"
     "24 num+f8+b4+bf16+bool+e8+f4+str T2:num+f8+b4+bf16+bool+e8+f4+str > T2 | round_mode:s saturate:i?\n"
     "25 num+f8+b4+b2+bf16+bool+e8+f4+str T2:num+f8+b4+b2+bf16+bool+e8+f4+str > T2"},
    {"", "CausalConvWithState", "27 T:float+bf16 T T? T? > T T? | activation:s"},
    {"", "Ceil",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "Celu",
     "12 T:f32 > T | alpha:f\n"
     "28 T:float+bf16 > T"},
    {"", "CenterCropPad", "18 T:all+bf16 i32+i64 > T | axes:I"},
    {"", "Clip",
     "1 T:float > T | consumed_inputs:I max:f min:f\n"
     "6 T:float > T | max:f min:f\n"
     "11 T:float T? T? > T |\n"
     "12 T:num T? T? > T\n"
     "13 T:num+bf16 T? T? > T"},
    {"", "Col2Im", "18 T:all+bf16 i64 i64 > T | dilations:I pads:I0 strides:I"},
    {"", "Compress",
     "9 T:all bool > T | axis:i+x\n"
     "11 T:all bool > T | axis:i"},
    {"", "Concat",
     "1 T:float* > T | axis:i+x\n"
     "4 T:all* > T | axis:i!+x\n"
     "11 T:all* > T | axis:i!\n"
     "13 T:all+bf16* > T"},
    {"", "ConcatFromSequence", "11 seq(all) > all | axis:i! new_axis:i?"},
    {"", "Constant",
     "1 > float | value:t!\n"
     "9 > all\n"
     "11 > all | sparse_value:p value:t\n"
     "12 > all | sparse_value:p value:t value_float:f value_floats:F value_int:i value_ints:I value_string:s "
     "value_strings:S\n"
     "13 > all+bf16\n"
     "19 > all+f8+bf16\n"
     "21 > all+f8+b4+bf16\n"
     "23 > all+f8+b4+bf16+f4\n"
     "24 > all+f8+b4+bf16+e8+f4\n"
     "25 > all+f8+b4+b2+bf16+e8+f4"},
    {"", "ConstantOfShape",
     "9 i64/1 > num+bool | value:t\n"
     "20 i64/1 > num+f8+bf16+bool\n"
     "21 i64/1 > num+f8+b4+bf16+bool\n"
     "23 i64/1 > num+f8+b4+bf16+bool+f4\n"
     "24 i64/1 > num+f8+b4+bf16+bool+e8+f4\n"
     "25 i64/1 > num+f8+b4+b2+bf16+bool+e8+f4"},
    {"", "Conv",
     "1 T:float T T? > T | auto_pad:s dilations:I group:i kernel_shape:I pads:I0 strides:I\n"
     "11 T:float T T? > T\n"
     "22 T:float+bf16 T T? > T"},
    {"", "ConvInteger",
     "10 T1:i8+u8 T2:i8+u8 T1? T2? > i32 | auto_pad:s dilations:I group:i kernel_shape:I pads:I0 strides:I"},
    {"", "ConvTranspose",
     "1 T:float T T? > T | auto_pad:s dilations:I group:i kernel_shape:I output_padding:I output_shape:I "
     "pads:I0 strides:I\n"
     "11 T:float T T? > T\n"
     "22 T:float+bf16 T T? > T"},
    {"", "Cos",
     "7 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Cosh",
     "9 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "CumProd", "26 T:float+bf16+i32+i64+u32+u64 i32+i64 > T | exclusive:i? reverse:i?"},
    {"", "CumSum",
     "11 T:f32+f64+i32+i64+u32+u64 i32+i64 > T | exclusive:i? reverse:i?\n"
     "14 T:float+bf16+i32+i64+u32+u64 i32+i64 > T"},
    {"", "DeformConv",
     "19 T:float T T T? T? > T | dilations:I group:i kernel_shape:I offset_group:i pads:I0 strides:I\n"
     "22 T:float+bf16 T T T? T? > T"},
    {"", "DepthToSpace",
     "1 T:all > T | blocksize:i!\n"
     "11 T:all > T | blocksize:i! mode:s\n"
     "13 T:all+bf16 > T"},
    {"", "DequantizeLinear",
     "10 T:i8+i32+u8 f32 T? > f32\n"
     "13 T:i8+i32+u8 f32 T? > f32 | axis:i\n"
     "19 T1:f8+i8+i32+u8 T2:bf16+f16+f32 T1? > T2\n"
     "21 T1:f8+b4+i8+i16+i32+u8+u16 T2:bf16+f16+f32 T1? > T2 | axis:i block_size:i\n"
     "23 T1:f8+b4+f4+i8+i16+i32+u8+u16 bf16+f16+f32 T1? > bf16+f16+f32 | axis:i block_size:i output_dtype:i\n"
     "24 T1:f8+b4+f4+i8+i16+i32+u8+u16 bf16+e8+f16+f32 T1? > bf16+f16+f32\n"
     "25 T1:f8+b4+b2+f4+i8+i16+i32+u8+u16 bf16+e8+f16+f32 T1? > bf16+f16+f32"},
    {"", "Det",
     "11 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "DFT",
     "17 T1:float+bf16 i32+i64? > T1 | axis:i inverse:i? onesided:i?\n"
     "20^ T1:float+bf16 i32+i64? i64? > T1 | inverse:i? onesided:i?"},
    {"", "Div",
     "1 T:float= T= > T | axis:i broadcast:i? consumed_inputs:I\n"
     "6 T:float+i32+i64+u32+u64= T= > T | axis:i broadcast:i?\n"
     "7 T:float+i32+i64+u32+u64 T > T |\n"
     "13 T:float+bf16+i32+i64+u32+u64 T > T\n"
     "14 T:num+bf16 T > T"},
    {"", "Dropout",
     "1 T:float > T T? | consumed_inputs:I is_test:i# ratio:f\n"
     "6 T:float > T T? | is_test:i# ratio:f\n"
     "7 T:float > T T? | ratio:f\n"
     "10 T:float > T bool?\n"
     "12 T:float float? T2:bool? > T T2? | seed:i\n"
     "13 T:float+bf16 float? T2:bool? > T T2?\n"
     "22 T:float+f8+bf16 float+f8+bf16? T2:bool? > T T2?"},
    {"", "DynamicQuantizeLinear", "11 f32 > T2:u8 f32 T2"},
    {"", "Einsum", "12 T:num* > T | equation:s!"},
    {"", "Elu",
     "1 T:float > T | alpha:f consumed_inputs:I\n"
     "6 T:float > T | alpha:f\n"
     "22 T:float+bf16 > T"},
    {"", "Equal",
     "1 T:bool+i32+i64= T= > bool | axis:i broadcast:i?\n"
     "7 T:bool+i32+i64 T > bool |\n"
     "11 T:num+bool T > bool\n"
     "13 T:num+bf16+bool T > bool\n"
     "19 T:num+bf16+bool+str T > bool"},
    {"", "Erf",
     "9 T:num > T\n"
     "13 T:num+bf16 > T"},
    {"", "Exp",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "Expand",
     "8 T:all i64/1 > T\n"
     "13 T:all+bf16 i64/1 > T"},
    {"", "EyeLike",
     "9 num+bool > num+bool | dtype:i k:i\n"
     "22 num+bf16+bool > num+bf16+bool"},
    {"", "Flatten",
     "1 T:float > T | axis:i+x\n"
     "9 T:all > T\n"
     "11 T:all > T | axis:i\n"
     "13 T:all+bf16 > T\n"
     "21 T:all+f8+b4+bf16 > T\n"
     "23 T:all+f8+b4+bf16+f4 > T\n"
     "24 T:all+f8+b4+bf16+e8+f4 > T\n"
     "25 T:all+f8+b4+b2+bf16+e8+f4 > T"},
    {"", "Floor",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "Gather",
     "1 T:all i32+i64+ > T | axis:i\n"
     "11 T:all i32+i64 > T\n"
     "13 T:all+bf16 i32+i64 > T"},
    {"", "GatherElements",
     "11 T:all i32+i64 > T | axis:i\n"
     "13 T:all+bf16 i32+i64 > T"},
    {"", "GatherND",
     "11 T:all i64 > T\n"
     "12 T:all i64 > T | batch_dims:i\n"
     "13 T:all+bf16 i64 > T"},
    {"", "Gelu", "20 T:float+bf16 > T | approximate:s"},
    {"", "Gemm",
     "1 T:float/2 T/2 T= > T | alpha:f beta:f broadcast:i? transA:i? transB:i?\n"
     "6 T:float/2 T/2 T= > T\n"
     "7 T:float/2 T/2 T > T | alpha:f beta:f transA:i? transB:i?\n"
     "9 T:float+i32+i64+u32+u64/2 T/2 T > T\n"
     "11 T:float+i32+i64+u32+u64/2 T/2 T? > T\n"
     "13 T:float+bf16+i32+i64+u32+u64/2 T/2 T? > T"},
    {"", "GlobalAveragePool",
     "1 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "GlobalLpPool",
     "1 T:float > T | p:f\n"
     "2 T:float > T | p:i\n"
     "22 T:float+bf16 > T"},
    {"", "GlobalMaxPool",
     "1 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Greater",
     "1 T:float= T= > bool | axis:i broadcast:i?\n"
     "7 T:float T > bool |\n"
     "9 T:num T > bool\n"
     "13 T:num+bf16 T > bool"},
    {"", "GreaterOrEqual",
     "12 T:num T > bool\n"
     "16 T:num+bf16 T > bool"},
    {"", "GridSample",
     "16 T1:all/4 T1/4 > float | align_corners:i? mode:s=bilinear,nearest,bicubic padding_mode:s\n"
     "20^ T1:float T1 > float | align_corners:i? mode:s=linear,nearest,cubic padding_mode:s\n"
     "22 T1:float+bf16 T1 > float+bf16"},
    {"", "GroupNormalization",
     "18 T:float+bf16 T T > T | epsilon:f num_groups:i!\n"
     "21^ T:float+bf16 T T > T | epsilon:f num_groups:i! stash_type:i"},
    {"", "GRU",
     "1 T:float T T T? i32? T? > T? T | activation_alpha:F activation_beta:F activations:S clip:f direction:s "
     "hidden_size:i output_sequence:i#y\n"
     "3 T:float T T T? i32? T? > T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i linear_before_reset:i? output_sequence:i#y\n"
     "7 T:float T T T? i32? T? > T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i linear_before_reset:i?\n"
     "14 T:float T T T? i32? T? > T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i layout:i? linear_before_reset:i?\n"
     "22 T:float+bf16 T T T? i32? T? > T? T?"},
    {"", "HammingWindow", "17 i32+i64 > num+bf16 | output_datatype:i periodic:i?"},
    {"", "HannWindow", "17 i32+i64 > num+bf16 | output_datatype:i periodic:i?"},
    {"", "Hardmax",
     "1 T:float > T | axis:i+x\n"
     "11 T:float > T | axis:i\n"
     "13 T:float+bf16 > T"},
    {"", "HardSigmoid",
     "1 T:float > T | alpha:f beta:f consumed_inputs:I\n"
     "6 T:float > T | alpha:f beta:f\n"
     "22 T:float+bf16 > T"},
    {"", "HardSwish",
     "14 T:float > T\n"
     "22 T:float+bf16 > T"},
    {"", "Identity",
     "1 T:all > T\n"
     "13 T:all+bf16 > T\n"
     "14 V:all+bf16+seq(all) > V\n"
     "16 V:all+bf16+opt(all)+seq(all)+opt(seq(all)) > V\n"
     "19 V:all+f8+bf16+seq(all)+opt(all)+opt(seq(all)) > V\n"
     "21 V:all+f8+b4+bf16+seq(all)+opt(all)+opt(seq(all)) > V\n"
     "23 V:all+f8+b4+bf16+f4+seq(all)+opt(all)+opt(seq(all)) > V\n"
     "24 V:all+f8+b4+bf16+e8+f4+seq(all)+opt(all)+opt(seq(all)) > V\n"
     "25 V:all+f8+b4+b2+bf16+e8+f4+seq(all)+opt(all)+opt(seq(all)) > V"},
    {"", "If",
     "1 bool > V:all~ | else_branch:g! then_branch:g!\n"
     "11 bool > V:all~\n"
     "13 bool > V:all+seq(all)~\n"
     "16 bool > V:all+bf16+opt(all+bf16)+seq(all+bf16)+opt(seq(all+bf16))~\n"
     "19 bool > V:all+f8+bf16+seq(all)+opt(all)+opt(seq(all))~\n"
     "21 bool > V:all+f8+b4+bf16+seq(all)+opt(all)+opt(seq(all))~\n"
     "23 bool > V:all+f8+b4+bf16+f4+seq(all)+opt(all)+opt(seq(all))~\n"
     "24 bool > V:all+f8+b4+bf16+e8+f4+seq(all)+opt(all)+opt(seq(all))~\n"
     "25 bool > V:all+f8+b4+b2+bf16+e8+f4+seq(all)+opt(all)+opt(seq(all))~"},
    {"", "ImageDecoder", "20 u8 > u8 | pixel_format:s"},
    {"", "InstanceNormalization",
     "1 T:float T T > T | consumed_inputs:I epsilon:f\n"
     "6 T:float T T > T | epsilon:f\n"
     "22 T:float+bf16 T T > T"},
    {"", "IsInf",
     "10 f32+f64 > bool | detect_negative:i? detect_positive:i?\n"
     "20 float+f8+bf16 > bool"},
    {"", "IsNaN",
     "9 float > bool\n"
     "13 float+bf16 > bool\n"
     "20 float+f8+bf16 > bool"},
    {"", "LayerNormalization", "17 T:float+bf16 T T? > T U:bf16+f32? U? | axis:i epsilon:f stash_type:i"},
    {"", "LeakyRelu",
     "1 T:float > T | alpha:f consumed_inputs:I\n"
     "6 T:float > T | alpha:f\n"
     "16 T:float+bf16 > T"},
    {"", "Less",
     "1 T:float= T= > bool | axis:i broadcast:i?\n"
     "7 T:float T > bool |\n"
     "9 T:num T > bool\n"
     "13 T:num+bf16 T > bool"},
    {"", "LessOrEqual",
     "12 T:num T > bool\n"
     "16 T:num+bf16 T > bool"},
    {"", "LinearAttention",
     "27 T:float+bf16 T T S:float+bf16? S? S? > T S? | chunk_size:i kv_num_heads:i! q_num_heads:i! scale:f "
     "update_rule:s"},
    {"", "Log",
     "1 T:float > T | consumed_inputs:I\n"
     "6 T:float > T |\n"
     "13 T:float+bf16 > T"},
    {"", "LogSoftmax",
     "1 T:float > T | axis:i+x\n"
     "11 T:float > T | axis:i\n"
     "13 T:float+bf16 > T"},
    {"", "Loop",
     "1 i64? bool? V:all~? > V~ | body:g!\n"
     "11 i64? bool? V:all~? > V~\n"
     "13 i64? bool? V:all+seq(all)~? > V~\n"
     "16 i64? bool? V:all+bf16+opt(all+bf16)+seq(all+bf16)+opt(seq(all+bf16))~? > V~\n"
     "19 i64? bool? V:all+f8+bf16+seq(all)+opt(all)+opt(seq(all))~? > V~\n"
     "21 i64? bool? V:all+f8+b4+bf16+seq(all)+opt(all)+opt(seq(all))~? > V~\n"
     "23 i64? bool? V:all+f8+b4+bf16+f4+seq(all)+opt(all)+opt(seq(all))~? > V~\n"
     "24 i64? bool? V:all+f8+b4+bf16+e8+f4+seq(all)+opt(all)+opt(seq(all))~? > V~\n"
     "25 i64? bool? V:all+f8+b4+b2+bf16+e8+f4+seq(all)+opt(all)+opt(seq(all))~? > V~"},
    {"", "LpNormalization",
     "1 T:float > T | axis:i p:i\n"
     "22 T:float+bf16 > T"},
    {"", "LpPool",
     "1 T:float > T | auto_pad:s kernel_shape:I p:f pads:I0 strides:I\n"
     "2 T:float > T | auto_pad:s kernel_shape:I! p:i pads:I0 strides:I\n"
     "11 T:float > T\n"
     "18 T:float > T | auto_pad:s ceil_mode:i? dilations:I kernel_shape:I! p:i pads:I0 strides:I\n"
     "22 T:float+bf16 > T"},
    {"", "LRN",
     "1 T:float > T | alpha:f beta:f bias:f size:i!\n"
     "13 T:float+bf16 > T"},
    {"", "LSTM",
     "1 T:float T T T? i32? T? T? T? > T? T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i input_forget:i? output_sequence:i#y\n"
     "7 T:float T T T? i32? T? T? T? > T? T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i input_forget:i?\n"
     "14 T:float T T T? i32? T? T? T? > T? T? T? | activation_alpha:F activation_beta:F activations:S clip:f "
     "direction:s hidden_size:i input_forget:i? layout:i?\n"
     "22 T:float+bf16 T T T? i32? T? T? T? > T? T? T?"},
};

}  // namespace

std::span<const OperatorForms> forms_a_l() { return kEarlierOperators; }

}  // namespace nnex::onnx_format
