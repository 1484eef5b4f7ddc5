#include "api/wav.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "base/failure.h"
#include "base/try.h"
#include "nnex/elements.h"

namespace nnex {
namespace {

constexpr uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;

/// What the file says of its samples.
struct Sound {
  uint16_t tag = 0, channels = 0, block = 0, bits = 0;
  uint32_t rate = 0;
  std::string_view data;

  int64_t frames() const { return static_cast<int64_t>(data.size() / block); }
};

Error bad(std::string message) { return {Code::unreadable, "not a .wav file: " + std::move(message)}; }

Result<Sound> read_format(std::string_view chunk) {
  ByteReader r(chunk);
  Sound s;
  s.tag = r.number<uint16_t>(), s.channels = r.number<uint16_t>(), s.rate = r.number<uint32_t>();
  r.skip(sizeof(uint32_t));  // bytes a second
  s.block = r.number<uint16_t>(), s.bits = r.number<uint16_t>();
  if (s.tag == kExtensible) {
    r.skip(sizeof(uint16_t) + sizeof(uint16_t) + sizeof(uint32_t));  // its size, bits that count, speakers
    s.tag = r.number<uint16_t>();
  }
  if (!r.ok()) return bad(fmt::format("its format has {} bytes", chunk.size()));
  const bool pcm = s.tag == kPcm && (s.bits == 8 || s.bits == 16 || s.bits == 24 || s.bits == 32);
  if (!pcm && !(s.tag == kFloat && (s.bits == 32 || s.bits == 64)))
    return failure(Code::unsupported,
                   "found sound of format {} with {} bits; needed PCM (1) of 8, 16, 24 or 32 bits, or "
                   "floats (3) of 32 or 64",
                   s.tag, s.bits);
  if (s.channels == 0 || s.rate == 0 || s.block != s.channels * (s.bits / 8))
    return bad(fmt::format("it has {} channels, {} samples a second, {} bytes for {} bits of all channels", s.channels,
                           s.rate, s.block, s.bits));
  return s;
}

/// The chunks up to the samples. Those that a program wrote whose end it did not know last to the end of the file.
Result<Sound> read_sound(std::string_view bytes) {
  constexpr uint32_t kUnknown = 0xFFFFFFFF;
  ByteReader r(bytes);
  const std::string_view riff = r.bytes(4);
  if (riff == "RF64") return Error(Code::unsupported, "found sound of more than 4 GiB (RF64); needed RIFF");
  r.skip(sizeof(uint32_t));
  if (riff != "RIFF" || r.bytes(4) != "WAVE") return bad("it does not begin with RIFF and WAVE");
  Sound sound;
  while (r.ok() && !r.at_end()) {
    const std::string_view id = r.bytes(4);
    const auto size = r.number<uint32_t>();
    if (!r.ok()) break;
    const bool last = id == "data" && size == kUnknown;
    if (!last && size > r.remaining())
      return bad(fmt::format("its part '{}' has {} of {} bytes", id, r.remaining(), size));
    const std::string_view chunk = r.bytes(last ? r.remaining() : size);
    if (id == "fmt ") {
      NNEX_ASSIGN(sound, read_format(chunk));
    } else if (id == "data") {
      if (sound.block == 0) return bad("its samples come before their format");
      if (chunk.size() % sound.block != 0)
        return bad(fmt::format("{} bytes of samples are no multiple of {}", chunk.size(), sound.block));
      sound.data = chunk;
      return sound;
    }
    if (size % 2 != 0 && !r.at_end()) r.skip(1);
  }
  return bad("it has no samples");
}

/// Sample `i` as a whole number; 8 bits are unsigned.
int64_t whole_at(const Sound& s, int64_t i) {
  const int64_t width = s.bits / 8;
  uint32_t value = 0;
  for (int64_t b = 0; b < width; ++b)
    value |= static_cast<uint32_t>(static_cast<uint8_t>(s.data[static_cast<size_t>(i * width + b)])) << (8 * b);
  if (width == 1) return value;
  const int unused = 32 - s.bits;
  return static_cast<int32_t>(value << unused) >> unused;
}

double real_sample(const Sound& s, int64_t i) {
  if (s.tag == kFloat) {
    ByteReader r(s.data.substr(static_cast<size_t>(i) * (s.bits / 8)));
    return s.bits == 32 ? r.number<float>() : r.number<double>();
  }
  const int64_t x = s.bits == 8 ? whole_at(s, i) - 128 : whole_at(s, i);
  return std::ldexp(static_cast<double>(x), 1 - s.bits);
}

std::string shown(const Sound& s) { return fmt::format("{} of {} bits", s.tag == kFloat ? "floats" : "PCM", s.bits); }

/// Whether an input's integers hold the samples as they are.
bool holds(DType type, const Sound& s) {
  if (s.tag == kFloat) return false;
  return (type == DType::u8 && s.bits == 8) || (type == DType::i16 && s.bits == 16) ||
         (type == DType::i32 && s.bits >= 24);
}

/// How channels and samples lie in the input.
struct Laid {
  Shape shape;
  bool channels_first = true;
};

Error no_place(const PortInfo& port, const Sound& s) {
  const bool one = s.channels == 1;
  return {Code::invalid_argument,
          fmt::format("found {} channel{} for {}; needed an axis of {}{}", s.channels, one ? "" : "s", port.type,
                      s.channels, one ? "" : " (channels are never mixed: give a file of one channel, or each alone)")};
}

Result<Laid> laid(const PortInfo& port, const Sound& s) {
  const int64_t c = s.channels, n = s.frames();
  if (!port.known_rank) {
    if (c == 1) return Laid{Shape{1, n}, true};
    return no_place(port, s);
  }
  const std::vector<int64_t>& e = port.extents;
  if (e.size() == 1 && c == 1) return Laid{Shape{n}, true};
  if (e.size() != 2 && (e.size() != 3 || e[0] > 1 || e[0] == 0)) return no_place(port, s);
  const int64_t before = e[e.size() - 2], after = e[e.size() - 1];
  const bool first = before == c || (after != c && c == 1 && before < 0);
  if (!first && after != c) return no_place(port, s);
  std::vector<int64_t> extents = {1, first ? c : n, first ? n : c};
  if (e.size() == 2) extents.erase(extents.begin());
  return Laid{Shape(extents), first};
}

}  // namespace

Result<Tensor> read_wav(std::string_view bytes, const PortInfo& port, const AudioOptions& audio) {
  if (audio.sample_rate < 0)
    return failure(Code::invalid_argument, "option 'sample_rate': found {}; needed 0 or more", audio.sample_rate);
  NNEX_ASSIGN(const Sound s, read_sound(bytes));
  if (audio.sample_rate > 0 && audio.sample_rate != s.rate)
    return failure(Code::invalid_argument, "found {} samples a second; needed {} (nothing is resampled)", s.rate,
                   audio.sample_rate);
  const DType type = port.dtype == DType::none ? DType::f32 : port.dtype;
  if (!is_real(type) && !holds(type, s))
    return failure(Code::invalid_argument,
                   "found {} for {}; needed an input of floats, or u8 for 8 bits, "
                   "i16 for 16, i32 for 24 and 32",
                   shown(s), port.type);
  NNEX_ASSIGN(Laid to, laid(port, s));
  NNEX_ASSIGN(Tensor t, Tensor::make(type, std::move(to.shape)));
  if (bits(type) < 8 && t.bytes() > 0) std::memset(t.mutable_data(), 0, static_cast<size_t>(t.bytes()));
  const int64_t channels = s.channels, frames = s.frames();
  for (int64_t i = 0; i < frames * channels; ++i) {
    const int64_t at = to.channels_first ? i % channels * frames + i / channels : i;
    if (is_real(type))
      set_real(t, at, real_sample(s, i));
    else
      set_int(t, at, whole_at(s, i));
  }
  return t;
}

}  // namespace nnex
