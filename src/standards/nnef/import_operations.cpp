// What each operation of the standard is beside its signature and the row of the table that is spelled so.

#include <algorithm>

#include "standards/nnef/check_call.h"
#include "standards/nnef/import_call.h"

namespace nnex::nnef_format {
namespace {

/// In order of name. All others are functions of each element alone.
constexpr OperationRow kRows[] = {
    {"add", "O-BIN-1", nullptr, import_aligned},
    {"add_n", "O-MISC-2", nullptr, import_add_n},
    {"all_reduce", "O-RED-1", check_axes},
    {"and", "O-BIN-1", nullptr, import_aligned},
    {"any_reduce", "O-RED-1", check_axes},
    {"area_downsample", "O-UPS-1", check_downsample},
    {"argmax_pool", "O-SW-4", check_pool, import_argmax_pool},
    {"argmax_reduce", "O-RED-1", check_axes},
    {"argmin_reduce", "O-RED-1", check_axes},
    {"avg_pool", "O-SW-4", check_pool, import_pool},
    {"avg_roi_align", "O-ROI-1", check_roi, import_roi_align},
    {"avg_roi_pool", "O-ROI-1", check_roi},
    {"batch_normalization", "O-NORM-3", check_stretch_to_first, import_batch_normalization},
    {"box", "O-SW-4", check_pool, import_pool},
    {"cast", "O-CAST-1", nullptr, import_cast},
    {"clamp", "O-SEL-1", nullptr, import_aligned},
    {"concat", "O-CONCAT-1", check_axes},
    {"constant", "O-INTRO-1", check_constant},
    {"conv", "O-SW-4", check_conv, import_conv},
    {"copy_n", "O-MISC-1", check_copies, import_copies},
    {"debox", "O-SW-4", check_reverse_pool, import_reverse_pool},
    {"deconv", "O-SW-4", check_deconv, import_deconv},
    {"desample", "O-SW-4", check_desample, import_reverse_pool},
    {"div", "O-BIN-1", nullptr, import_aligned},
    {"eq", "O-BIN-1", nullptr, import_aligned},
    {"external", "O-INTRO-1", check_external},
    {"gather", "O-GATHER-1", check_axes},
    {"ge", "O-BIN-1", nullptr, import_aligned},
    {"gt", "O-BIN-1", nullptr, import_aligned},
    {"l1_normalization", "O-NORM-2", check_axes},
    {"l2_normalization", "O-NORM-2", check_axes},
    {"le", "O-BIN-1", nullptr, import_aligned},
    {"linear", "O-LIN-1", check_matrices, import_linear},
    {"linear_quantize", "O-QNT-1", check_stretch_to_first, import_aligned},
    {"local_contrast_normalization", "O-NORM-1", check_local_norm},
    {"local_mean_normalization", "O-NORM-1", check_local_norm},
    {"local_response_normalization", "O-NORM-1", check_local_norm},
    {"local_variance_normalization", "O-NORM-1", check_local_norm},
    {"logarithmic_quantize", "O-QNT-1", check_stretch_to_first, import_aligned},
    {"lt", "O-BIN-1", nullptr, import_aligned},
    {"matmul", "O-MATMUL-1", check_matrices},
    {"max", "O-BIN-1", nullptr, import_aligned},
    {"max_pool", "O-SW-4", check_pool, import_pool},
    {"max_pool_with_index", "O-SW-4", check_pool, import_pool},
    {"max_reduce", "O-RED-1", check_axes},
    {"max_roi_align", "O-ROI-1", check_roi, import_roi_align},
    {"max_roi_pool", "O-ROI-1", check_roi},
    {"mean_reduce", "O-RED-1", check_axes},
    {"min", "O-BIN-1", nullptr, import_aligned},
    {"min_max_linear_quantize", "O-QNT-1", check_stretch_to_first, import_aligned},
    {"min_reduce", "O-RED-1", check_axes},
    {"moments", "O-RED-1", check_axes},
    {"mul", "O-BIN-1", nullptr, import_aligned},
    {"multilinear_upsample", "O-UPS-1", check_upsample},
    {"ne", "O-BIN-1", nullptr, import_aligned},
    {"nearest_downsample", "O-UPS-1", check_downsample, import_nearest_downsample},
    {"nearest_upsample", "O-UPS-1", check_upsample},
    {"or", "O-BIN-1", nullptr, import_aligned},
    {"pad", "O-PAD-1", check_pad},
    {"pow", "O-BIN-1", nullptr, import_aligned},
    {"prelu", "O-BIN-1", nullptr, import_aligned},
    {"reshape", "O-RESH-3", check_reshape, import_reshape},
    {"rms_pool", "O-SW-4", check_pool, import_pool},
    {"roi_resample", "O-ROI-1", check_roi},
    {"sample", "O-SW-4", check_sample, import_pool},
    {"select", "O-SEL-1", nullptr, import_aligned},
    {"separable_conv", "O-SW-4", check_separable_conv, import_separable_conv},
    {"separable_deconv", "O-SW-4", check_separable_deconv, import_separable_deconv},
    {"slice", "O-SLICE-1", check_slice, import_slice},
    {"softmax", "O-NORM-2", check_axes},
    {"split", "O-SPLIT-1", check_split},
    {"squeeze", "O-SQZ-1", check_axes},
    {"stack", "O-STACK-1", check_new_axes},
    {"sub", "O-BIN-1", nullptr, import_aligned},
    {"sum_reduce", "O-RED-1", check_axes, import_sum_reduce},
    {"tile", "O-TILE-1", check_tile},
    {"transpose", "O-TRANS-1", check_transpose, import_transpose},
    {"unsqueeze", "O-SQZ-2", check_new_axes},
    {"unstack", "O-STACK-2", check_unstack},
    {"update", "O-UPD-1", check_update},
    {"variable", "O-INTRO-1", check_variable},
    {"zero_point_linear_quantize", "O-QNT-1", check_stretch_to_first, import_aligned},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const OperationRow& a, const OperationRow& b) { return a.name < b.name; }));
constexpr OperationRow kElementwise = {"", "O-UN-1"};

}  // namespace

const OperationRow& operation_row(const Declaration& d) {
  static const std::vector<const OperationRow*> kByIndex = [] {
    std::vector<const OperationRow*> rows;
    for (const Declaration& one : standard_operations()) {
      const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), one.name,
                                         [](const OperationRow& r, std::string_view name) { return r.name < name; });
      rows.push_back(row != std::end(kRows) && row->name == one.name ? row : &kElementwise);
    }
    return rows;
  }();
  return *kByIndex[d.index];
}

}  // namespace nnex::nnef_format
