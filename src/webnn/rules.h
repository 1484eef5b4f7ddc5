#pragma once
// The specification's rule of each operation, and how it becomes nodes where it is more than one spelled row.

#include "webnn/lowering.h"
#include "webnn/step.h"

namespace nnex::ml {

Status arg_rule(Step& step);
Status axis_rule(Step& step);
Status batch_norm_rule(Step& step);
Status broadcast_rule(Step& step);
Status cast_rule(Step& step);
Status clamp_rule(Step& step);
Status concat_rule(Step& step);
Status conv_rule(Step& step);
Status conv_transpose_rule(Step& step);
Status expand_rule(Step& step);
Status gather_elements_rule(Step& step);
Status gather_nd_rule(Step& step);
Status gather_rule(Step& step);
Status gemm_rule(Step& step);
Status gru_cell_rule(Step& step);
Status gru_rule(Step& step);
Status instance_norm_rule(Step& step);
Status layer_norm_rule(Step& step);
Status lstm_cell_rule(Step& step);
Status lstm_rule(Step& step);
Status matmul_rule(Step& step);
Status pad_rule(Step& step);
Status pool_rule(Step& step);
Status quantize_rule(Step& step);
Status reduce_rule(Step& step);
Status resample_rule(Step& step);
Status reshape_rule(Step& step);
Status reverse_rule(Step& step);
Status same_shape_rule(Step& step);
Status scatter_elements_rule(Step& step);
Status scatter_nd_rule(Step& step);
Status slice_rule(Step& step);
Status split_rule(Step& step);
Status tile_rule(Step& step);
Status transpose_rule(Step& step);
Status triangular_rule(Step& step);

nnex::Status lower_batch_norm(Lowering& to);
nnex::Status lower_clamp(Lowering& to);
nnex::Status lower_conv(Lowering& to);
nnex::Status lower_conv_transpose(Lowering& to);
nnex::Status lower_gru(Lowering& to);
nnex::Status lower_gru_cell(Lowering& to);
nnex::Status lower_instance_norm(Lowering& to);
nnex::Status lower_layer_norm(Lowering& to);
nnex::Status lower_lstm(Lowering& to);
nnex::Status lower_lstm_cell(Lowering& to);
nnex::Status lower_pad(Lowering& to);
nnex::Status lower_pool(Lowering& to);
nnex::Status lower_resample(Lowering& to);
nnex::Status lower_slice(Lowering& to);
nnex::Status lower_split(Lowering& to);

}  // namespace nnex::ml
