#pragma once
// The specification's rule of each operation, and how it becomes nodes where it is more than one spelled row.

#include "webnn/importer.h"
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

nnex::Status import_batch_norm(Importer& to);
nnex::Status import_clamp(Importer& to);
nnex::Status import_conv(Importer& to);
nnex::Status import_conv_transpose(Importer& to);
nnex::Status import_gru(Importer& to);
nnex::Status import_gru_cell(Importer& to);
nnex::Status import_instance_norm(Importer& to);
nnex::Status import_layer_norm(Importer& to);
nnex::Status import_lstm(Importer& to);
nnex::Status import_lstm_cell(Importer& to);
nnex::Status import_pad(Importer& to);
nnex::Status import_pool(Importer& to);
nnex::Status import_resample(Importer& to);
nnex::Status import_slice(Importer& to);
nnex::Status import_split(Importer& to);

}  // namespace nnex::ml
