#include "kernels/elementwise/chain.h"

#include <algorithm>

#include "base/split.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kTileElements = 1024;
// Shorter rows are widened into a tile first, so that loops are never called for a few elements; of a row that comes
// again and again, which is widened once, longer ones too.
constexpr int64_t kShortRow = 64, kShortRepeated = 256;

}  // namespace

int64_t cost_of(const ChainStep& step) {
  static constexpr int64_t kCosts[] = {
#define NNEX_UNARY(kind, cost, row) cost,
#define NNEX_UNARY_ATTRS(kind, cost, row) cost,
#define NNEX_UNARY_INNER(kind, cost) cost,
#include "kernels/elementwise/unary.def"
  };
  if (step.b >= 0) return step.binary == BinaryKind::pow ? 60 : step.binary == BinaryKind::div ? 4 : 1;
  return kCosts[static_cast<size_t>(step.unary.kind)];
}

/// A value as a tile's steps see it: element (r, i) of the tile lies at data[r * row_step + i * step].
struct Chain::Operand {
  const float* data = nullptr;
  int64_t row_step = 0;
  int step = 1;  // 0 or 1

  bool flat(int64_t columns, int64_t rows) const { return step == 1 && (rows == 1 || row_step == columns); }
  bool single(int64_t rows) const { return step == 0 && (rows == 1 || row_step == 0); }
};

/// The block of the result that is being made.
struct Chain::Tile {
  int64_t rows = 0, columns = 0;
  Operand inputs[kMaxInputs];
  alignas(64) float values[kTiles][kTileElements];
  alignas(64) float widened[kMaxInputs][kTileElements];  // inputs whose rows are short or whose elements lie apart
  struct {
    const float* from = nullptr;
    int64_t rows = 0;
  } repeated[kMaxInputs];  ///< The row that `widened` holds so often, if it is one row.

  /// Rows of input k into `widened`: element (r, i) of the tile is from[r * row_step + i * step].
  Operand widen(int k, const float* from, int64_t row_step, int64_t step) {
    float* const to = widened[k];
    auto& held = repeated[k];
    const bool same = row_step == 0 && held.from == from;
    for (int64_t r = same ? held.rows : 0; r < rows; ++r)
      for (int64_t i = 0; i < columns; ++i) to[r * columns + i] = from[r * row_step + i * step];
    held = {row_step == 0 ? from : nullptr, same ? std::max(held.rows, rows) : rows};
    return {to, columns, 1};
  }
};

std::optional<Chain> Chain::make(std::span<const int64_t> out, std::span<const std::span<const int64_t>> inputs,
                                 std::span<const ChainStep> steps) {
  const std::optional<Nest> nest = broadcast_nest(out, inputs);
  if (!nest) return std::nullopt;
  return make(*nest, steps);
}

std::optional<Chain> Chain::make(const Nest& nest, std::span<const ChainStep> steps) {
  if (steps.empty() || steps.size() > kMaxSteps) return std::nullopt;
  Chain chain;
  chain.nest_ = nest;
  chain.count_ = static_cast<int>(steps.size());
  chain.cost_ = 4 * (nest.operands + 1);
  for (int i = 0; i < chain.count_; ++i) {
    if (steps[i].a < 0 || steps[i].a >= nest.operands + i || steps[i].b >= nest.operands + i) return std::nullopt;
    chain.steps_[i].what = steps[i];
    chain.cost_ += cost_of(steps[i]);
  }
  if (!chain.place_values()) return std::nullopt;
  return chain;
}

/// Gives each step's value a tile that no living value has; the last one goes to the result.
bool Chain::place_values() {
  int last_use[kMaxSteps] = {};
  for (int i = 0; i < count_; ++i) {
    for (int value : {int{steps_[i].what.a}, int{steps_[i].what.b}})
      if (value >= nest_.operands) last_use[value - nest_.operands] = i;
  }
  int owner[kTiles];  // the step whose value a tile holds
  std::fill_n(owner, kTiles, -1);
  for (int i = 0; i + 1 < count_; ++i) {
    // A step may write over a value it reads for the last time: loops work in place.
    int tile = 0;
    while (tile < kTiles && owner[tile] >= 0 && last_use[owner[tile]] > i) ++tile;
    if (tile == kTiles) return false;
    owner[tile] = i;
    steps_[i].to = static_cast<int8_t>(tile);
  }
  steps_[count_ - 1].to = -1;
  for (int i = 0; i + 1 < count_; ++i) {
    const ChainStep &first = steps_[i].what, &next = steps_[i + 1].what;
    const bool reads = (next.a == nest_.operands + i) != (next.b == nest_.operands + i);
    steps_[i].scales = first.b >= 0 && first.binary == BinaryKind::mul && next.b >= 0 &&
                       next.binary == BinaryKind::add && reads && last_use[i] == i + 1;
  }
  return true;
}

void Chain::run(const simd::Loops& loops, Team& team, const float* const* inputs, float* y) const {
  if (nest_.elements == 0) return;
  const int64_t bytes = nest_.elements * cost_, rows = nest_.rows();
  if (count_ == 1 && nest_.axes == 1 && run_flat(loops, team, inputs, y)) return;
  if (rows >= parts_for(team, bytes)) {
    const int64_t unit = std::max<int64_t>(1, kTileElements / nest_.row_length());
    split(team, rows, bytes, unit, [&](int64_t begin, int64_t end) { run_rows(loops, inputs, y, begin, end); });
  } else {
    split(team, nest_.row_length(), bytes, kTileElements,
          [&](int64_t begin, int64_t end) { run_columns(loops, inputs, y, begin, end); });
  }
}

/// One step over dense inputs and single numbers: without a tile. False for anything else.
bool Chain::run_flat(const simd::Loops& loops, Team& team, const float* const* inputs, float* y) const {
  const ChainStep& step = steps_[0].what;
  const int64_t step_a = nest_.row_stride(step.a), step_b = step.b < 0 ? 1 : nest_.row_stride(step.b);
  const auto known = [](int64_t stride) { return stride == 0 || stride == 1; };
  if (!known(step_a) || !known(step_b) || (step.b < 0 ? step_a : step_a | step_b) == 0) return false;
  const Form form = step_a == 0 ? Form::scalar_vector : step_b == 0 ? Form::vector_scalar : Form::vector_vector;
  const float *a = inputs[step.a], *b = step.b < 0 ? nullptr : inputs[step.b];
  split(team, nest_.elements, nest_.elements * cost_, kTileElements, [&](int64_t begin, int64_t end) {
    const size_t n = static_cast<size_t>(end - begin);
    if (b)
      loops.binary_f32(step.binary, form, a + begin * step_a, b + begin * step_b, y + begin, n);
    else
      loops.unary_f32(step.unary, a + begin, y + begin, n);
  });
  return true;
}

/// Rows [begin, end), several to a tile when they are short. Rows share a tile as long as every input goes on with the
/// same step from row to row, that is, inside one run of the last but one axis.
void Chain::run_rows(const simd::Loops& loops, const float* const* inputs, float* y, int64_t begin, int64_t end) const {
  Tile tile;
  const int64_t n = nest_.row_length();
  const int64_t inner_rows = nest_.axes > 1 ? nest_.extent[nest_.axes - 2] : 1;
  int64_t in_row = begin % inner_rows;
  int64_t row = begin;
  while (row < end) {
    const NestRows at(nest_, row);
    const int64_t run = std::min(end - row, inner_rows - in_row);
    const int64_t max = std::max<int64_t>(1, kTileElements / n);
    for (int64_t done = 0; done < run;) {
      tile.rows = std::min(max, run - done);
      for (int64_t column = 0; column < n; column += kTileElements) {
        tile.columns = std::min(n - column, kTileElements);
        for (int k = 0; k < nest_.operands; ++k) {
          const int64_t row_step = nest_.axes > 1 ? nest_.stride[k][nest_.axes - 2] : 0, step = nest_.row_stride(k);
          const float* from = inputs[k] + at.offset(k) + done * row_step + column * step;
          Operand& operand = tile.inputs[k];
          const bool dense = step == 1 && (tile.rows == 1 || row_step == n);
          const bool constant = step == 0 && (tile.rows == 1 || row_step == 0);
          const bool loops_take = step == 0 || step == 1;
          const bool is_long = n >= (step == 1 && row_step == 0 ? kShortRepeated : kShortRow);
          operand = dense || constant || (is_long && loops_take) ? Operand{from, row_step, static_cast<int>(step)}
                                                                 : tile.widen(k, from, row_step, step);
        }
        run_tile(loops, tile, y + (row + done) * n + column);
      }
      done += tile.rows;
    }
    row += run;
    in_row = 0;
  }
}

/// Columns [begin, end) of every row: for results of few long rows.
void Chain::run_columns(const simd::Loops& loops, const float* const* inputs, float* y, int64_t begin,
                        int64_t end) const {
  Tile tile;
  tile.rows = 1;
  NestRows at(nest_, 0);
  for (int64_t row = 0; row < nest_.rows(); ++row, at.next()) {
    for (int64_t column = begin; column < end; column += kTileElements) {
      tile.columns = std::min(end - column, kTileElements);
      for (int k = 0; k < nest_.operands; ++k) {
        const int64_t step = nest_.row_stride(k);
        const float* from = inputs[k] + at.offset(k) + column * step;
        tile.inputs[k] =
            step == 0 || step == 1 ? Operand{from, 0, static_cast<int>(step)} : tile.widen(k, from, 0, step);
      }
      run_tile(loops, tile, y + row * nest_.row_length() + column);
    }
  }
}

Chain::Operand Chain::operand_of(const Tile& tile, int value) const {
  if (value < nest_.operands) return tile.inputs[value];
  return {tile.values[steps_[value - nest_.operands].to], tile.columns, 1};
}

void Chain::run_tile(const simd::Loops& loops, Tile& tile, float* y) const {
  const auto operand = [&](int value) { return operand_of(tile, value); };
  for (int i = 0; i < count_; ++i) {
    if (steps_[i].scales && run_affine(loops, tile, i, y)) {
      ++i;
      continue;
    }
    const Step& step = steps_[i];
    float* to = step.to < 0 ? y : tile.values[step.to];
    const Operand a = operand(step.what.a);
    if (step.what.b >= 0) {
      run_binary(loops, tile, step.what.binary, a, operand(step.what.b), to);
    } else if (a.flat(tile.columns, tile.rows)) {
      loops.unary_f32(step.what.unary, a.data, to, static_cast<size_t>(tile.rows * tile.columns));
    } else {
      for (int64_t r = 0; r < tile.rows; ++r) {
        float* row = to + r * tile.columns;
        const float* from = a.data + r * a.row_step;
        if (a.step == 1) {
          loops.unary_f32(step.what.unary, from, row, static_cast<size_t>(tile.columns));
        } else {
          float value;
          loops.unary_f32(step.what.unary, from, &value, 1);
          std::fill_n(row, tile.columns, value);
        }
      }
    }
  }
}

/// Step i, a product, and the sum after it in one loop where each of them takes one number a tile: the same two
/// roundings.
bool Chain::run_affine(const simd::Loops& loops, Tile& tile, int i, float* y) const {
  const ChainStep &product = steps_[i].what, &sum = steps_[i + 1].what;
  const int8_t added = sum.a == nest_.operands + i ? sum.b : sum.a;
  const auto operand = [&](int value) { return operand_of(tile, value); };
  const Operand a = operand(product.a), b = operand(product.b), term = operand(added);
  const bool a_is_factor = a.single(tile.rows);
  const Operand &x = a_is_factor ? b : a, &factor = a_is_factor ? a : b;
  if (!x.flat(tile.columns, tile.rows) || !factor.single(tile.rows) || !term.single(tile.rows)) return false;
  const int8_t to = steps_[i + 1].to;
  loops.unary_f32({UnaryKind::affine, *factor.data, *term.data}, x.data, to < 0 ? y : tile.values[to],
                  static_cast<size_t>(tile.rows * tile.columns));
  return true;
}

void Chain::run_binary(const simd::Loops& loops, const Tile& tile, BinaryKind kind, const Operand& a, const Operand& b,
                       float* y) const {
  const auto call = [&](const float* pa, int step_a, const float* pb, int step_b, float* to, int64_t n) {
    if (step_a == 0 && step_b == 0) {
      float value;
      loops.binary_f32(kind, Form::vector_vector, pa, pb, &value, 1);
      std::fill_n(to, n, value);
      return;
    }
    const Form form = step_a == 0 ? Form::scalar_vector : step_b == 0 ? Form::vector_scalar : Form::vector_vector;
    loops.binary_f32(kind, form, pa, pb, to, static_cast<size_t>(n));
  };
  const auto whole = [&](const Operand& x) { return x.flat(tile.columns, tile.rows) || x.single(tile.rows); };
  if (whole(a) && whole(b)) {
    call(a.data, a.step, b.data, b.step, y, tile.rows * tile.columns);
    return;
  }
  for (int64_t r = 0; r < tile.rows; ++r)
    call(a.data + r * a.row_step, a.step, b.data + r * b.row_step, b.step, y + r * tile.columns, tile.columns);
}

}  // namespace nnex::kernels
