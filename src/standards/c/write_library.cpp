#include "standards/c/write_library.h"

#include <algorithm>

#include "base/try.h"
#include "ops/int_limits.h"
#include "standards/c/write_text.h"

namespace nnex::c_format {
namespace {

/// @T is the element's type, @W the type that sums are in (integers wrap), @S what ends names, @M what ends the names
/// of math.h's functions, @LOW and @HIGH are the limits of integers.
struct LibraryFunction {
  std::string_view name, source;
  std::span<const std::string_view> needs = {};
};

constexpr std::string_view kTileNeeds[] = {"tile"}, kConvNeeds[] = {"window", "patch", "tile"},
                           kWindowNeeds[] = {"window"};

constexpr LibraryFunction kLibrary[] = {
    // ---- Of one element
    {"sigmoid", R"(
static inline @T sigmoid_@S(@T x) {
  return 1 / (1 + exp@M(-x));
}
)"},
    {"softplus", R"(
static inline @T softplus_@S(@T x) {
  return x != x ? x : (x > 0 ? x : 0) + log1p@M(exp@M(-fabs@M(x)));
}
)"},
    {"probit", R"(
/* sqrt(2) erf^-1(2 p - 1) by Winitzki's approximation. */
static inline double probit(double p) {
  const double x = 2 * p - 1, l = log((1 - x) * (1 + x)), v = 2 / (3.14159265358979323846 * 0.147) + l / 2;
  return sqrt(2.0) * copysign(sqrt(sqrt(v * v - l / 0.147) - v), x);
}
)"},
    {"half_up", R"(
static inline @T half_up_@S(@T x) {
  const @T below = floor@M(x);
  return x - below >= (@T)0.5 ? below + 1 : below;
}
)"},
    {"limited", R"(
static inline @T limited_@S(@T x, @T low, @T high) {
  return x < low ? low : x > high ? high : x;
}
)"},
    {"raised", R"(
static inline @T raised_@S(@T x, @T limit) {
  return limit > x ? limit : x;
}
)"},
    {"lowered", R"(
static inline @T lowered_@S(@T x, @T limit) {
  return limit < x ? limit : x;
}
)"},
    {"raised_compared", R"(
static inline @T raised_compared_@S(@T x, @T limit) {
  return x > limit ? x : limit;
}
)"},
    {"lowered_compared", R"(
static inline @T lowered_compared_@S(@T x, @T limit) {
  return x < limit ? x : limit;
}
)"},
    {"zero_if_nan", R"(
static inline @T zero_if_nan_@S(@T x) {
  return x != x ? 0 : x;
}
)"},
    {"floor_mod_real", R"(
static inline @T floor_mod_real_@S(@T x, @T y) {
  const @T r = fmod@M(x, y);
  if (r == 0) return copysign@M(r, y);
  return (r < 0) != (y < 0) ? r + y : r;
}
)"},
    {"floor_mod", R"(
static inline @T floor_mod_@S(@T x, @T y) {
  if (y == 0 || y == -1) return 0;
  const @T r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
)"},
    {"whole", R"(
static inline @T whole_@S(double x) {
  if (x != x) return 0;
  if (x >= (double)@HIGH) return @HIGH;
  if (x <= (double)@LOW) return @LOW;
  return (@T)x;
}
)"},
    {"bounded", R"(
static inline @T bounded_@S(int64_t x, int64_t bound) {
  return (@T)(x > bound ? bound : x < -bound ? -bound : x);
}
)"},
    {"digits", R"(
static inline @T digits_@S(@T x) {
  uint32_t rest = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
  @T n = 0;
  for (; rest; rest >>= 1) ++n;
  return n ? n : 1;
}
)"},
    {"level", R"(
static inline @T level_@S(@T x, @T low, @T high, @T steps) {
  if (high == low) return low;
  x = x < high ? x : high;
  x = x > low ? x : low;
  x = (x - low) / (high - low) * steps;
  return (x - floor(x) >= 0.5 ? floor(x) + 1 : floor(x)) / steps * (high - low) + low;
}
)"},
    // ---- Places
    {"place", R"(
/* The place in [0, n) that an index names, negative ones from the end; -1: none. */
static inline long place(int64_t index, long n) {
  if (index < 0) index += n;
  return index >= 0 && index < n ? (long)index : -1;
}
)"},
    {"place_from_start", R"(
static inline long place_from_start(int64_t index, long n) {
  return index >= 0 && index < n ? (long)index : -1;
}
)"},
    {"place_clamped", R"(
static inline long place_clamped(int64_t index, long n) {
  if (index < 0) index += n;
  return index < 0 ? 0 : index < n ? (long)index : n - 1;
}
)"},
    {"place_clamped_from_start", R"(
static inline long place_clamped_from_start(int64_t index, long n) {
  return index < 0 ? 0 : index < n ? (long)index : n - 1;
}
)"},
    {"replicate", R"(
static inline long replicate(long i, long n) {
  return i < 0 ? 0 : i < n ? i : n - 1;
}
)"},
    {"reflect", R"(
static inline long reflect(long i, long n) {
  const long period = n > 1 ? 2 * (n - 1) : 1;
  const long k = (i % period + period) % period;
  return k < n ? k : period - k;
}
)"},
    {"reflect_even", R"(
static inline long reflect_even(long i, long n) {
  const long k = (i % (2 * n) + 2 * n) % (2 * n);
  return k < n ? k : 2 * n - 1 - k;
}
)"},
    {"wrap", R"(
static inline long wrap(long i, long n) {
  return (i % n + n) % n;
}
)"},
    {"counted", R"(
/* How many taps of a window lie in [low, high). */
static inline long counted(long start, long size, long dilation, long low, long high) {
  long n = 0;
  for (long t = 0; t < size; ++t) n += start + t * dilation >= low && start + t * dilation < high;
  return n;
}
)"},
    // ---- Products
    {"sum", R"(
/* A row is taken 16 at a time, and a column in chains of 128, so that the error stays small. nnex itself adds in these
   orders: where a network takes a small difference of large sums, its answers depend on them. */
static @T sum_@S(const @T *x, long step, long n) {
  if (step != 1) {
    @T all = 0;
    for (long first = 0; first < n; first += 128) {
      @T chain = 0;
      for (long i = first; i < n && i < first + 128; ++i) chain += x[i * step];
      all += chain;
    }
    return all;
  }
  const long whole = n - n % 16;
  @T part[16] = {0};
  for (long i = 0; i < whole; i += 16)
    for (long c = 0; c < 16; ++c) part[c] += x[i + c];
  for (long i = whole; i < n; ++i) part[i - whole] += x[i];
  for (long half = 8; half > 0; half /= 2)
    for (long c = 0; c < half; ++c) part[c] += part[c + half];
  return part[0];
}
)"},
    {"dot", R"(
static inline @T dot_@S(const @T *a, const @T *b, long n) {
  const long whole = n - n % 8;
  @T sum[8] = {0};
  for (long i = 0; i < whole; i += 8)
    for (long c = 0; c < 8; ++c) sum[c] += a[i + c] * b[i + c];
  @T all = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  for (long i = whole; i < n; ++i) all += a[i] * b[i];
  return all;
}
)"},
    {"tile", R"(
/* y[r][c] = start[r] + the sum over i < k of a[r][i] * b[i][c] for r < rows <= 4 and c < columns <= 16. b has 16 columns
   to read; no start: 0. */
static void tile_@S(long rows, long columns, long k, const @T *a, long a_row, long a_step, const @T *b, long b_row,
                    const @T *start, @T *restrict y, long y_row) {
  for (long r = 0; r < rows; ++r) {
    @W sum[16] = {0};
    for (long i = 0; i < k; ++i) {
      const @W x = (@W)a[r * a_row + i * a_step];
      const @T *const line = b + i * b_row;
      for (long c = 0; c < 16; ++c) sum[c] += x * (@W)line[c];
    }
    const @W first = start ? (@W)start[r] : 0;
    for (long c = 0; c < columns; ++c) y[r * y_row + c] = (@T)(first + sum[c]);
  }
}
)"},
    {"pack", R"(
/* The columns of b, 16 at a time: packed[j / 16][i][j % 16] = b[i][j], and 16 zeros. */
static void pack_@S(long k, long n, const @T *b, long b_row, long b_step, @T *restrict packed) {
  for (long j = 0; j < n; j += 16)
    for (long i = 0; i < k; ++i)
      for (long c = j; c < n && c < j + 16; ++c) *packed++ = b[i * b_row + c * b_step];
  for (long c = 0; c < 16; ++c) packed[c] = 0;
}
)"},
    {"product", R"(
/* y = a b: m by k by n. b lies as pack has it: of its last columns tiles read those of the next row, too. */
static void product_@S(long m, long k, long n, const @T *a, long a_row, long a_step, const @T *b, @T *restrict y) {
  for (long j = 0; j < n; j += 16) {
    const long columns = n - j < 16 ? n - j : 16;
    for (long i = 0; i < m; i += 4)
      tile_@S(m - i < 4 ? m - i : 4, columns, k, a + i * a_row, a_row, a_step, b + j * k, columns, 0, y + i * n + j, n);
  }
}
)",
     kTileNeeds},
    // ---- Convolutions
    {"window", R"(
/* A window over three axes, the first of which may be of one element each. */
struct window {
  long batch, groups, channels, filters; /* channels and filters of a group */
  long in[3], out[3], size[3], stride[3], dilation[3], before[3];
};
)"},
    {"patch", R"(
/* What 16 places from p on read, by channel and tap: patch[channel][tap][16], zeros beyond the border. */
static void patch_@S(const struct window *g, const @T *x, long p, long columns, @T *restrict patch) {
  const long taps = g->size[0] * g->size[1] * g->size[2], plane = g->in[0] * g->in[1] * g->in[2];
  long first[3][16];
  for (long c = 0; c < 16; ++c) {
    long rest = p + (c < columns ? c : 0);
    for (int a = 2; a >= 0; --a) {
      first[a][c] = rest % g->out[a] * g->stride[a] - g->before[a];
      rest /= g->out[a];
    }
  }
  for (long t = 0; t < taps; ++t) {
    const long t2 = t % g->size[2] * g->dilation[2], t1 = t / g->size[2] % g->size[1] * g->dilation[1],
               t0 = t / g->size[2] / g->size[1] * g->dilation[0];
    long at[16];
    int dense = 1;
    for (long c = 0; c < 16; ++c) {
      const long i0 = first[0][c] + t0, i1 = first[1][c] + t1, i2 = first[2][c] + t2;
      const int inside = i0 >= 0 && i0 < g->in[0] && i1 >= 0 && i1 < g->in[1] && i2 >= 0 && i2 < g->in[2];
      at[c] = inside ? (i0 * g->in[1] + i1) * g->in[2] + i2 : -1;
      dense = dense && inside && at[c] == at[0] + c;
    }
    for (long channel = 0; channel < g->channels; ++channel) {
      const @T *const from = x + channel * plane;
      @T *const to = patch + (channel * taps + t) * 16;
      if (dense)
        for (long c = 0; c < 16; ++c) to[c] = from[at[0] + c];
      else
        for (long c = 0; c < 16; ++c) to[c] = at[c] < 0 ? 0 : from[at[c]];
    }
  }
}
)"},
    {"conv", R"(
static void conv_@S(const struct window *g, const @T *x, const @T *w, const @T *bias, @T *restrict y, @T *patch) {
  const long taps = g->size[0] * g->size[1] * g->size[2], k = g->channels * taps;
  const long plane = g->in[0] * g->in[1] * g->in[2], places = g->out[0] * g->out[1] * g->out[2];
  int direct = taps == 1; /* a place reads what lies at it */
  for (int a = 0; a < 3; ++a) direct = direct && g->in[a] == g->out[a] && g->stride[a] == 1 && g->before[a] == 0;
  for (long n = 0; n < g->batch * g->groups; ++n) {
    const long group = n % g->groups;
    const @T *const from = x + n * g->channels * plane;
    const @T *const weights = w + group * g->filters * k;
    for (long p = 0; p < places; p += 16) {
      const long columns = places - p < 16 ? places - p : 16;
      const int reads = direct && columns == 16;
      if (!reads) patch_@S(g, from, p, columns, patch);
      for (long m = 0; m < g->filters; m += 4)
        tile_@S(g->filters - m < 4 ? g->filters - m : 4, columns, k, weights + m * k, k, 1, reads ? from + p : patch,
                reads ? plane : 16, bias ? bias + group * g->filters + m : 0, y + (n * g->filters + m) * places + p,
                places);
    }
  }
}
)",
     kConvNeeds},
    // ---- Products of codes
    {"codes_row", R"(
/* What place p reads, less the zero point, by channel and tap; 0 beyond the border. */
static void codes_row_@S(const struct window *g, const @T *x, int zero, long p, int16_t *restrict row) {
  const long taps = g->size[0] * g->size[1] * g->size[2], plane = g->in[0] * g->in[1] * g->in[2];
  long first[3];
  for (int a = 2; a >= 0; --a) {
    first[a] = p % g->out[a] * g->stride[a] - g->before[a];
    p /= g->out[a];
  }
  for (long t0 = 0, i0 = first[0]; t0 < g->size[0]; ++t0, i0 += g->dilation[0])
    for (long t1 = 0, i1 = first[1]; t1 < g->size[1]; ++t1, i1 += g->dilation[1]) {
      const int inside = i0 >= 0 && i0 < g->in[0] && i1 >= 0 && i1 < g->in[1];
      const long line = (i0 * g->in[1] + i1) * g->in[2];
      for (long t2 = 0, i2 = first[2]; t2 < g->size[2]; ++t2, i2 += g->dilation[2], ++row) {
        if (inside && i2 >= 0 && i2 < g->in[2])
          for (long channel = 0; channel < g->channels; ++channel)
            row[channel * taps] = (int16_t)(x[channel * plane + line + i2] - zero);
        else
          for (long channel = 0; channel < g->channels; ++channel) row[channel * taps] = 0;
      }
    }
}
)",
     kWindowNeeds},
    {"conv_each", R"(
/* Each channel by itself. */
static void conv_each_@S(const struct window *g, const @T *x, const @T *w, const @T *bias, @T *restrict y) {
  const long taps = g->size[0] * g->size[1] * g->size[2];
  const long plane = g->in[0] * g->in[1] * g->in[2], places = g->out[0] * g->out[1] * g->out[2];
  for (long n = 0; n < g->batch * g->groups; ++n, x += plane, y += places) {
    const long group = n % g->groups;
    for (long p = 0; p < places; ++p) y[p] = bias ? bias[group] : 0;
    for (long t = 0; t < taps; ++t) {
      const long tap[3] = {t / g->size[2] / g->size[1], t / g->size[2] % g->size[1], t % g->size[2]};
      const @W factor = (@W)w[group * taps + t];
      long shift[3], low[3], high[3]; /* place o of an axis reads o * stride + shift, where low <= o < high */
      for (int a = 0; a < 3; ++a) {
        shift[a] = tap[a] * g->dilation[a] - g->before[a];
        low[a] = shift[a] < 0 ? (-shift[a] + g->stride[a] - 1) / g->stride[a] : 0;
        high[a] = shift[a] < g->in[a] ? (g->in[a] - 1 - shift[a]) / g->stride[a] + 1 : 0;
        if (high[a] > g->out[a]) high[a] = g->out[a];
      }
      for (long o0 = low[0]; o0 < high[0]; ++o0)
        for (long o1 = low[1]; o1 < high[1]; ++o1) {
          const @T *const from = x + ((o0 * g->stride[0] + shift[0]) * g->in[1] + o1 * g->stride[1] + shift[1]) * g->in[2];
          @T *const to = y + (o0 * g->out[1] + o1) * g->out[2];
          long o = low[2];
          if (g->stride[2] == 1)
            for (; o + 8 <= high[2]; o += 8)
              for (long c = 0; c < 8; ++c) to[o + c] = (@T)((@W)to[o + c] + factor * (@W)from[o + c + shift[2]]);
          for (; o < high[2]; ++o) to[o] = (@T)((@W)to[o] + factor * (@W)from[o * g->stride[2] + shift[2]]);
        }
    }
  }
}
)",
     kWindowNeeds},
    {"conv_back", R"(
/* The transposed convolution: each element of x adds its filters to y. w is [channels][filters][taps] of each group. */
static void conv_back_@S(const struct window *g, const @T *x, const @T *w, const @T *bias, @T *restrict y) {
  const long taps = g->size[0] * g->size[1] * g->size[2];
  const long plane = g->in[0] * g->in[1] * g->in[2], places = g->out[0] * g->out[1] * g->out[2];
  for (long n = 0; n < g->batch * g->groups; ++n)
    for (long f = 0; f < g->filters; ++f) {
      const long group = n % g->groups;
      @T *const to = y + (n * g->filters + f) * places;
      for (long p = 0; p < places; ++p) to[p] = bias ? bias[group * g->filters + f] : 0;
      for (long c = 0; c < g->channels; ++c)
        for (long t = 0; t < taps; ++t) {
          const @T *const from = x + (n * g->channels + c) * plane;
          const @T factor = w[((group * g->channels + c) * g->filters + f) * taps + t];
          const long t0 = t / g->size[2] / g->size[1] * g->dilation[0] - g->before[0];
          const long t1 = t / g->size[2] % g->size[1] * g->dilation[1] - g->before[1];
          const long t2 = t % g->size[2] * g->dilation[2] - g->before[2];
          for (long i0 = 0; i0 < g->in[0]; ++i0) {
            const long o0 = i0 * g->stride[0] + t0;
            if (o0 < 0 || o0 >= g->out[0]) continue;
            for (long i1 = 0; i1 < g->in[1]; ++i1) {
              const long o1 = i1 * g->stride[1] + t1;
              if (o1 < 0 || o1 >= g->out[1]) continue;
              for (long i2 = 0; i2 < g->in[2]; ++i2) {
                const long o2 = i2 * g->stride[2] + t2;
                if (o2 >= 0 && o2 < g->out[2])
                  to[(o0 * g->out[1] + o1) * g->out[2] + o2] += factor * from[(i0 * g->in[1] + i1) * g->in[2] + i2];
              }
            }
          }
        }
    }
}
)",
     kWindowNeeds},
};

/// The tile of floats, whose inner loops compilers are told to make of vectors.
constexpr std::string_view kTileF32 = R"(
/* y[r][c] = start[r] + the sum over i < k of a[r][i] * b[i][c] for r < rows <= 4 and c < columns <= 16. b has 16 columns
   to read; no start: 0. */
#ifdef __GNUC__
#ifdef __AVX__
#define LANES 8
#else
#define LANES 4
#endif
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vec_at __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#endif

static void tile_f32(long rows, long columns, long k, const float *a, long a_row, long a_step, const float *b,
                     long b_row, const float *start, float *restrict y, long y_row) {
  float sum[4][16];
#ifdef __GNUC__
  const float *const a0 = a, *const a1 = a + (rows > 1 ? a_row : 0);
  const float *const a2 = a + (rows > 2 ? 2 * a_row : 0), *const a3 = a + (rows > 3 ? 3 * a_row : 0);
  for (long c = 0; c < columns; c += 2 * LANES) {
    vec s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};
    const float *line = b + c;
    if (rows == 1) {
      for (long i = 0; i < k; ++i, line += b_row) {
        s00 += a0[i * a_step] * *(const vec_at *)line;
        s01 += a0[i * a_step] * *(const vec_at *)(line + LANES);
      }
    } else {
      for (long i = 0; i < k; ++i, line += b_row) {
        const vec b0 = *(const vec_at *)line, b1 = *(const vec_at *)(line + LANES);
        s00 += a0[i * a_step] * b0;
        s01 += a0[i * a_step] * b1;
        s10 += a1[i * a_step] * b0;
        s11 += a1[i * a_step] * b1;
        s20 += a2[i * a_step] * b0;
        s21 += a2[i * a_step] * b1;
        s30 += a3[i * a_step] * b0;
        s31 += a3[i * a_step] * b1;
      }
    }
    *(vec_at *)(sum[0] + c) = s00;
    *(vec_at *)(sum[0] + c + LANES) = s01;
    *(vec_at *)(sum[1] + c) = s10;
    *(vec_at *)(sum[1] + c + LANES) = s11;
    *(vec_at *)(sum[2] + c) = s20;
    *(vec_at *)(sum[2] + c + LANES) = s21;
    *(vec_at *)(sum[3] + c) = s30;
    *(vec_at *)(sum[3] + c + LANES) = s31;
  }
#else
  for (long r = 0; r < rows; ++r) {
    for (long c = 0; c < 16; ++c) sum[r][c] = 0;
    for (long i = 0; i < k; ++i)
      for (long c = 0; c < 16; ++c) sum[r][c] += a[r * a_row + i * a_step] * b[i * b_row + c];
  }
#endif
  for (long r = 0; r < rows; ++r) {
    const float first = start ? start[r] : 0;
    for (long c = 0; c < columns; ++c) y[r * y_row + c] = first + sum[r][c];
  }
}
)";

const LibraryFunction& library_entry(std::string_view name) {
  const auto at =
      std::find_if(std::begin(kLibrary), std::end(kLibrary), [&](const LibraryFunction& f) { return f.name == name; });
  NNEX_ASSERT(at != std::end(kLibrary));
  return *at;
}

/// What a sum of products of a type is in: integers without a sign, so that they wrap.
std::string_view sum_type(DType type) {
  if (!is_int(type)) return c_type(type);
  return bits(type) == 64 ? "uint64_t" : "uint32_t";
}

std::string_view limit_of(DType type, bool high) {
  switch (type) {
    case DType::i64:
      return high ? "INT64_MAX" : "INT64_MIN";
    case DType::i32:
      return high ? "INT32_MAX" : "INT32_MIN";
    case DType::i16:
      return high ? "INT16_MAX" : "INT16_MIN";
    case DType::i8:
      return high ? "INT8_MAX" : "INT8_MIN";
    case DType::u64:
      return high ? "UINT64_MAX" : "0";
    case DType::u32:
      return high ? "UINT32_MAX" : "0";
    case DType::u16:
      return high ? "UINT16_MAX" : "0";
    default:
      return high ? "UINT8_MAX" : "0";
  }
}

}  // namespace

std::string library_name(std::string_view function, DType type) {
  const bool typed = library_entry(function).source.find("@S") != std::string_view::npos;
  return typed ? fmt::format("{}_{}", function, suffix(type)) : std::string(function);
}

std::string library_source(std::string_view function, DType type) {
  const std::string_view source = function == "tile" && type == DType::f32 ? kTileF32 : library_entry(function).source;
  std::string out;
  for (size_t i = 0; i < source.size();) {
    const auto put = [&](std::string_view mark, std::string_view text) {
      if (!source.substr(i).starts_with(mark)) return false;
      out += text, i += mark.size();
      return true;
    };
    if (source[i] == '@' && (put("@T", c_type(type)) || put("@W", sum_type(type)) || put("@S", suffix(type)) ||
                             put("@M", type == DType::f32 ? "f" : "") || put("@LOW", limit_of(type, false)) ||
                             put("@HIGH", limit_of(type, true))))
      continue;
    out += source[i++];
  }
  return out;
}

std::span<const std::string_view> library_needs(std::string_view function) { return library_entry(function).needs; }

}  // namespace nnex::c_format
