#pragma once
// What the draft of 2017 called otherwise, or meant by the same words. For provisional*.cpp.

#include <string_view>

#include "graph/text/lexer.h"

namespace nnex::nnef_format {

using graph_text::Lexer;
using graph_text::Position;
using graph_text::Tok;
using graph_text::Token;
using graph_text::Word;

inline constexpr size_t kMaxProvisionalBytes = size_t{64} << 20;  ///< Of a text of the draft.

struct Renamed {
  std::string_view old, now;
};
/// Operations of the draft, by their names of 1.0.
inline constexpr Renamed kOperations[] = {{"idn", "copy"}, {"planewise_conv", "conv"}, {"planewise_deconv", "deconv"}};
struct RenamedParameter {
  std::string_view operation, old, now;
};
inline constexpr RenamedParameter kParameters[] = {
    {"transpose", "perm", "axes"}, {"matmul", "trA", "transposeA"}, {"matmul", "trB", "transposeB"}};
/// The extents of {0}, two at least, by 1.0's shape_of.
inline constexpr const char* kShapeOf =
    "([1, 1] if length_of(shape_of({0})) == 0 else shape_of({0}) + [1] if length_of(shape_of({0})) == 1 else "
    "shape_of({0}))";
/// Keywords of 1.0 that were names in the draft.
inline constexpr std::string_view kNewKeywords[] = {"integer", "yield", "extension"};

/// An operation that 1.0 dropped, or gives another meaning when it has `parameter`: what it meant.
struct Dropped {
  std::string_view name, parameter, fragment;
};
inline constexpr Dropped kDropped[] = {
    {"softabs", "", "(x: tensor<scalar>, epsilon: scalar) -> (y: tensor<scalar>) { y = sqrt(sqr(x) + epsilon); }"},
    {"layer_normalization", "",
     "(input: tensor<scalar>, axes: integer[], bias: scalar = 0.0) -> (output: tensor<scalar>) "
     "{ mean, variance = moments(input, axes = axes); output = (input - mean) / sqrt(variance + bias); }"},
    {"divisive_normalization", "",
     "(input: tensor<scalar>, size: integer[], bias: scalar = 0.0) -> (output: tensor<scalar>) "
     "{ middle = input - mean_reduce(avg_pool(input, size = [1,1] + size), axes = [1]); "
     "output = middle / sqrt(mean_reduce(avg_pool(sqr(middle), size = [1,1] + size), axes = [1]) + bias); }"},
    {"binary_quantize", "",
     "(x: tensor<scalar>, threshold: tensor<scalar> = 0.0, negative_value: tensor<scalar> = -1.0, "
     "positive_value: tensor<scalar> = 1.0) -> (y: tensor<scalar>) "
     "{ y = select(x < threshold, negative_value, positive_value); }"},
    {"ternary_quantize", "",
     "(x: tensor<scalar>, low_threshold: tensor<scalar>, high_threshold: tensor<scalar>, "
     "negative_value: tensor<scalar> = -1.0, positive_value: tensor<scalar> = 1.0, zero_value: tensor<scalar> = 0.0) "
     "-> (y: tensor<scalar>) "
     "{ y = select(x < low_threshold, negative_value, select(x > high_threshold, positive_value, zero_value)); }"},
    // The draft adds the bias under the root, 1.0 behind it.
    {"l2_normalization", "bias",
     "(input: tensor<scalar>, axes: integer[], bias: scalar) -> (output: tensor<scalar>) "
     "{ output = input / sqrt(sum_reduce(sqr(input), axes = axes) + bias); }"},
    {"local_variance_normalization", "bias",
     "(input: tensor<scalar>, size: integer[], bias: scalar) -> (output: tensor<scalar>) "
     "{ output = input / sqrt(box(sqr(input), size = size, normalize = true) + bias); }"},
    {"local_contrast_normalization", "bias",
     "(input: tensor<scalar>, size: integer[], bias: scalar) -> (output: tensor<scalar>) "
     "{ middle = local_mean_normalization(input, size = size); "
     "output = middle / sqrt(box(sqr(middle), size = size, normalize = true) + bias); }"},
};

inline bool opens(Tok k) { return k == Tok::open_round || k == Tok::open_square; }
inline bool closes(Tok k) { return k == Tok::close_round || k == Tok::close_square; }

}  // namespace nnex::nnef_format
