#include "api/quantize/weights.h"

#include <algorithm>
#include <cmath>

#include "tensor/convert.h"

namespace nnex {

ByteCodes codes_of(const CodeRange& range) {
  const double low = std::min(range.low, 0.0F), high = std::max(range.high, 0.0F);
  ByteCodes out;
  if (high == low) return out;
  // A range of next to nothing still has a scale that divides.
  out.scale = std::max(static_cast<float>((high - low) / 255), 0x1p-100F);
  out.zero = static_cast<int32_t>(std::clamp(std::nearbyint(-low / static_cast<double>(out.scale)), 0.0, 255.0));
  return out;
}

namespace {

constexpr int kReach = 127;

/// Which output and which channel of the input an element of the weight belongs to.
struct Places {
  Places(const Shape& s, const ProductShape& p) : shape(p) {
    if (s.rank() == 2) {
      by_row = s[1];
      return;
    }
    for (int64_t a = 2; a < s.rank(); ++a) taps *= s[a];
    per_output = s[1] * taps;
  }
  int64_t output(int64_t i) const {
    if (per_output > 0) return i / per_output;
    return shape.weight_axis == 0 ? i / by_row : i % by_row;
  }
  /// Within the output's group.
  int64_t channel(int64_t i) const {
    if (per_output > 0) return i % per_output / taps;
    return shape.weight_axis == 0 ? i % by_row : i / by_row;
  }
  ProductShape shape;
  int64_t by_row = 0, taps = 1, per_output = 0;
};

}  // namespace

std::vector<float> scales_for_bias(const std::vector<float>& bias, float x_scale) {
  constexpr double kMax = 1 << 29;
  std::vector<float> out;
  for (float b : bias) out.push_back(static_cast<float>(std::abs(static_cast<double>(b)) / kMax / x_scale));
  return out;
}

Result<CodedWeight> coded_weight(const Tensor& w, const ProductShape& shape, bool per_channel,
                                 const std::vector<float>& min_scales) {
  NNEX_ASSIGN(const Tensor aligned, w.aligned_copy());
  const auto x = aligned.as<float>();
  const Places places(w.shape(), shape);
  std::vector<float> reach(static_cast<size_t>(shape.outputs));
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) return Error(Code::fault, "a weight is NaN or infinite");
    float& r = reach[static_cast<size_t>(places.output(static_cast<int64_t>(i)))];
    r = std::max(r, std::abs(x[i]));
  }
  CodedWeight out;
  for (size_t o = 0; o < reach.size(); ++o) {
    float scale = static_cast<float>(static_cast<double>(reach[o]) / kReach);
    if (o < min_scales.size()) scale = std::max(scale, min_scales[o]);
    out.scales.push_back(scale > 0 ? std::max(scale, 0x1p-100F) : 1.0F);
  }
  if (!per_channel) {
    // An output without weights says nothing of the others' scale.
    float all = 0;
    for (size_t o = 0; o < reach.size(); ++o)
      if (reach[o] > 0 || (o < min_scales.size() && min_scales[o] > 0)) all = std::max(all, out.scales[o]);
    out.scales.assign(1, all > 0 ? all : 1.0F);
  }
  NNEX_ASSIGN(out.codes, Tensor::make(DType::i8, w.shape()));
  const auto codes = out.codes.mutable_as<int8_t>();
  const int64_t per_group = shape.channels / shape.groups;
  out.added.assign(static_cast<size_t>(shape.outputs * per_group), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t o = places.output(at);
    const double scale = out.scales[per_channel ? static_cast<size_t>(o) : 0];
    const double code = std::clamp(std::nearbyint(x[i] / scale), -127.0, 127.0);
    codes[i] = static_cast<int8_t>(code);
    out.added[static_cast<size_t>(o * per_group + places.channel(at))] += code * scale - x[i];
  }
  return out;
}

void correct_bias(const std::vector<float>& means, const ProductShape& shape, const std::vector<double>& added,
                  std::vector<float>& bias) {
  const auto per_group = static_cast<size_t>(shape.channels / shape.groups);
  const auto outputs_a_group = static_cast<size_t>(shape.outputs / shape.groups);
  for (size_t o = 0; o < bias.size(); ++o) {
    double sum = 0;
    const size_t first = o / outputs_a_group * per_group;
    for (size_t c = 0; c < per_group; ++c) sum += added[o * per_group + c] * static_cast<double>(means[first + c]);
    bias[o] = static_cast<float>(bias[o] - sum);
  }
}

namespace {

constexpr int kReach4 = 7;

/// The scale of a block: of a few that cut off some of its reach, the one that errs least.
float scale_of_block(const std::vector<float>& x, float reach) {
  if (reach == 0) return 1;
  double min_error = HUGE_VAL;
  float best = 1;
  for (int k = 0; k < 12; ++k) {
    const auto scale = static_cast<float>(static_cast<double>(reach) * (1 - 0.025 * k) / kReach4);
    if (scale < 0x1p-100F) break;
    double error = 0;
    for (float v : x) {
      const double d = std::clamp<double>(std::nearbyint(v / scale), -kReach4, kReach4) * scale - v;
      error += d * d;
    }
    if (error < min_error) min_error = error, best = scale;
  }
  return best;
}

}  // namespace

Result<BlockedWeight> blocked_weight(const Tensor& w, int64_t axis, int64_t block) {
  NNEX_ASSIGN(const Tensor aligned, w.aligned_copy());
  const auto x = aligned.as<float>();
  Shape scales = w.shape();
  int64_t outer = 1, inner = 1;
  for (int64_t a = 0; a < w.shape().rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : w.shape()[a];
  const int64_t n = w.shape()[axis], blocks = (n + block - 1) / block;
  std::vector<int64_t> extents(w.shape().begin(), w.shape().end());
  extents[static_cast<size_t>(axis)] = blocks;
  BlockedWeight out;
  NNEX_ASSIGN(out.scales, Tensor::make(DType::f32, Shape(extents)));
  NNEX_ASSIGN(Tensor codes, Tensor::make(DType::i8, w.shape()));
  const auto to = codes.mutable_as<int8_t>();
  const auto scale_to = out.scales.mutable_as<float>();
  std::vector<float> held;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t b = 0; b < blocks; ++b)
      for (int64_t i = 0; i < inner; ++i) {
        held.clear();
        float reach = 0;
        const int64_t begin = b * block, end = std::min(n, begin + block);
        for (int64_t k = begin; k < end; ++k) {
          const float v = x[static_cast<size_t>((o * n + k) * inner + i)];
          if (!std::isfinite(v)) return Error(Code::fault, "a weight is NaN or infinite");
          held.push_back(v), reach = std::max(reach, std::abs(v));
        }
        const float scale = scale_of_block(held, reach);
        scale_to[static_cast<size_t>((o * blocks + b) * inner + i)] = scale;
        for (int64_t k = begin; k < end; ++k)
          to[static_cast<size_t>((o * n + k) * inner + i)] = static_cast<int8_t>(
              std::clamp<double>(std::nearbyint(held[static_cast<size_t>(k - begin)] / scale), -kReach4, kReach4));
      }
  NNEX_ASSIGN(out.codes, convert(codes, DType::i4));
  return out;
}

}  // namespace nnex
