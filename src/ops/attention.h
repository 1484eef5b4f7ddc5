#pragma once

#include <array>
#include <optional>

#include "nnex/result.h"
#include "nnex/shape.h"
#include "ops/attrs.h"

namespace nnex {

class Call;

/// Where on their way to probabilities the scores are given out.
enum class ScoresAt : uint8_t {
  raw,      ///< scale * q k.
  capped,   ///< After the soft cap.
  biased,   ///< With the mask; what is masked is -inf.
  softmax,  ///< The probabilities.
};
constexpr std::array<std::string_view, 4> enumerators(ScoresAt) { return {"raw", "capped", "biased", "softmax"}; }

struct AttentionAttrs {
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  bool causal = false;
  int64_t left_window = -1;
  int64_t right_window = -1;
  double scale = 0;
  double softcap = 0;
  std::optional<DType> softmax_type;
  ScoresAt scores_at = ScoresAt::raw;
  std::optional<double> hidden;
  bool guard = true;
};

/// How the state of linear attention changes from token to token.
enum class StateRule : uint8_t { linear, gated, delta, gated_delta };
constexpr std::array<std::string_view, 4> enumerators(StateRule) { return {"linear", "gated", "delta", "gated_delta"}; }

struct LinearAttentionAttrs {
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  double scale = 0;
  StateRule rule = StateRule::gated_delta;
  int64_t chunk_size = 64;
};

struct RotaryAttrs {
  bool interleaved = false;
  int64_t rotary_dim = 0;
  int64_t heads = 0;
};

/// Ports of the row `attention`, in order.
namespace attention_port {
enum In : size_t { q, k, v, mask, past_key, past_value, lengths, sink };
enum Out : size_t { y, key, value, scores };
}  // namespace attention_port

/// Extents of one attention: q [batch, q_heads, queries, depth], k [batch, kv_heads, keys, depth],
/// v [batch, kv_heads, keys, value_depth], or the same with heads side by side in rank 3: [batch, queries, q_heads *
/// depth]. `past` keys stand in front of the new ones.
struct AttentionSizes {
  int64_t batch = 0, q_heads = 0, kv_heads = 0, queries = 0, keys = 0, past = 0, depth = 0, value_depth = 0;
  bool has_past = false;
  bool side_by_side = false;  ///< Rank 3.

  int64_t total() const { return past + keys; }
  /// Query heads that share one key and value head.
  int64_t group() const { return kv_heads ? q_heads / kv_heads : 0; }
  double scale(const AttentionAttrs& a) const;
};
/// From extents that passed inference; past is null when no cache is given.
AttentionSizes attention_sizes(const AttentionAttrs& a, const Shape& q, const Shape& k, const Shape& v,
                               const Shape* past);

/// Where the rows of a mask lie: row (b, h, i) starts at b * batch + h * head + i * query and has `keys` elements; keys
/// past those are masked.
struct MaskStrides {
  int64_t batch = 0, head = 0, query = 0, keys = 0;
};
MaskStrides mask_strides(const Shape& mask);

/// Whether each row of a batch has as many keys as its length says. Error: fault.
Status check_lengths(Call& c, const AttentionSizes& s);

/// How many keys count; `length`: of this batch, or nothing. The others contribute nothing whatever they hold.
int64_t valid_keys(const AttentionSizes& s, std::optional<int64_t> length);

/// Keys [begin, end) that query i of a batch may see by order alone: causality, windows, and how many keys are valid.
struct KeyRange {
  int64_t begin = 0, end = 0;
};
KeyRange visible_keys(const AttentionAttrs& a, const AttentionSizes& s, std::optional<int64_t> length, int64_t query);

}  // namespace nnex
