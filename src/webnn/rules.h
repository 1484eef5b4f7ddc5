#pragma once
// The specification's rule of each operation, and how it becomes nodes where it is more than one spelled row.

#include "webnn/importer.h"
#include "webnn/step.h"

namespace nnex::ml {

Status batch_norm_rule(Step& step);
Status clamp_rule(Step& step);
Status concat_rule(Step& step);
Status conv_rule(Step& step);
Status conv_transpose_rule(Step& step);
Status expand_rule(Step& step);
Status gather_elements_rule(Step& step);
Status gru_cell_rule(Step& step);
Status gru_rule(Step& step);
Status instance_norm_rule(Step& step);
Status layer_norm_rule(Step& step);
Status lstm_cell_rule(Step& step);
Status lstm_rule(Step& step);
Status pad_rule(Step& step);
Status pool_rule(Step& step);
Status quantize_rule(Step& step);
Status reduce_rule(Step& step);
Status resample_rule(Step& step);
Status scatter_elements_rule(Step& step);
Status slice_rule(Step& step);
Status split_rule(Step& step);
Status transpose_rule(Step& step);

void import_batch_norm(Importer& to);
void import_clamp(Importer& to);
void import_conv(Importer& to);
void import_conv_transpose(Importer& to);
void import_gru(Importer& to);
void import_gru_cell(Importer& to);
void import_instance_norm(Importer& to);
void import_layer_norm(Importer& to);
void import_lstm(Importer& to);
void import_lstm_cell(Importer& to);
void import_pad(Importer& to);
void import_pool(Importer& to);
void import_resample(Importer& to);
void import_slice(Importer& to);
void import_split(Importer& to);

}  // namespace nnex::ml
