#include "standards/cvm/gas.h"

namespace nnex::cvm_format {
namespace {

constexpr int64_t kMaxBase = int64_t{1} << 30, kMaxUnits = int64_t{1} << 40;

/// Work units of one element of output 0. Shapes are within CVM's limits: no product here reaches 2^63.
int64_t base_of(std::string_view op, std::span<const Shape> in, const Shape& out, bool bias) {
  if (op == "conv2d") return 3 * (in[1].count() / in[1][0]) + bias;
  if (op == "dense") return 3 * in[0][1] + bias;
  if (op == "sum") return in[0].count() / out.count();
  if (op == "non_max_suppression") return 20 * in[0][0];
  return 1;
}

}  // namespace

Status GasMeter::add_operator(std::string_view op, std::span<const Shape> in, const Shape& out, bool bias,
                              int64_t window) {
  const int64_t base = op == "max_pool2d" ? window : base_of(op, in, out, bias);
  if (base > kMaxBase) return logic_error("{}: {} work units an element; needed at most {}", op, base, kMaxBase);
  work_ += base * out.count();
  if (work_ > kMaxUnits) return logic_error("{} work units; needed at most {}", work_, kMaxUnits);
  return {};
}

Result<int64_t> GasMeter::total() const {
  if (memory_ > kMaxUnits) return logic_error("{} memory units; needed at most {}", memory_, kMaxUnits);
  return memory_ + work_;
}

}  // namespace nnex::cvm_format
