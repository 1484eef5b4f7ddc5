#include "serve/coding.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#ifdef NNEX_ZLIB
#include <zlib.h>
#endif

#include "serve/http.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

#ifdef NNEX_ZLIB
constexpr bool kThere = true;
constexpr uInt kMaxPerCall = uInt{1} << 30;

/// zlib's word for a frame: 32 KiB of window; gzip's is 16 more.
int window_of(Coding coding) { return MAX_WBITS + (coding == Coding::gzip ? 16 : 0); }

/// A stream of zlib's, which `End` ends on every way out.
template <int (*End)(z_stream*)>
struct Stream {
  z_stream z = {};
  bool open = false;
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (open) End(&z);
  }
  void give(std::string_view bytes) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(std::min<size_t>(bytes.size(), kMaxPerCall));
  }
};
#else
constexpr bool kThere = false;
#endif

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y; });
}

/// The part of a list before the next comma, which is taken off with it.
std::string_view next(std::string_view& list) {
  const size_t end = std::min(list.find(','), list.size());
  const std::string_view part = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return trimmed(part);
}

/// Thousandths of "q=0.5" behind a word's semicolon; 1000 without one.
int weight_of(std::string_view parameters) {
  const std::string_view p = trimmed(parameters);
  if (p.size() < 3 || !same_word(p.substr(0, 2), "q=")) return 1000;
  int weight = p[2] == '1' ? 1000 : 0, unit = 100;
  for (size_t i = 4; i < p.size() && p[i] >= '0' && p[i] <= '9'; ++i, unit /= 10) weight += (p[i] - '0') * unit;
  return std::min(weight, 1000);
}

}  // namespace

std::string_view name_of(Coding coding) {
  return coding == Coding::gzip ? "gzip" : coding == Coding::deflate ? "deflate" : "identity";
}

std::optional<Coding> coding_of(std::string_view content_encoding) {
  const std::string_view word = trimmed(content_encoding);
  if (word.empty() || same_word(word, "identity")) return Coding::none;
  if (kThere && (same_word(word, "gzip") || same_word(word, "x-gzip"))) return Coding::gzip;
  if (kThere && same_word(word, "deflate")) return Coding::deflate;
  return {};
}

std::string_view known_codings() { return kThere ? "gzip, deflate or identity" : "identity"; }

Coding accepted(std::string_view accept_encoding) {
  int gzip = -1, deflate = -1, others = -1;
  while (kThere && !accept_encoding.empty()) {
    const std::string_view part = next(accept_encoding);
    const size_t semicolon = std::min(part.find(';'), part.size());
    const std::string_view word = trimmed(part.substr(0, semicolon));
    const int weight = weight_of(part.substr(std::min(semicolon + 1, part.size())));
    if (same_word(word, "gzip") || same_word(word, "x-gzip")) gzip = weight;
    if (same_word(word, "deflate")) deflate = weight;
    if (word == "*") others = weight;
  }
  if (gzip < 0) gzip = others;
  if (deflate < 0) deflate = others;
  if (gzip <= 0 && deflate <= 0) return Coding::none;
  return deflate > gzip ? Coding::deflate : Coding::gzip;
}

#ifdef NNEX_ZLIB

Result<std::string> unpacked(std::string_view packed, Coding coding, size_t max,
                             const std::function<Status(int64_t bytes)>& room) {
  constexpr size_t kFirst = 64 << 10;
  const auto broken = [&](std::string_view why) {
    return Error(Code::invalid_argument, fmt::format("the body is no {}: {}", name_of(coding), why));
  };
  Stream<inflateEnd> stream;
  z_stream& z = stream.z;
  if (inflateInit2(&z, window_of(coding)) != Z_OK) return Error(Code::limit, "no memory to unpack the body");
  stream.open = true;
  std::string out;
  size_t size = 0;
  bool ended = false;
  while (true) {
    if (z.avail_in == 0) {
      stream.give(packed);
      packed.remove_prefix(z.avail_in);
    }
    if (ended && z.avail_in == 0) break;
    if (ended && (coding != Coding::gzip || inflateReset(&z) != Z_OK)) return broken("more follows its end");
    if (size == out.size() && size <= max) {  // one byte more than there may be tells whether there are more
      const size_t grown = std::min(max + 1, std::max(kFirst, size + size / 2));
      NNEX_TRY(room(static_cast<int64_t>(size + grown)));  // both, while one becomes the other
      std::string larger;
      larger.reserve(grown);
      larger.append(out, 0, size);
      larger.resize(grown);
      out.swap(larger);
    }
    if (size > max) break;
    const size_t left = std::min<size_t>(out.size() - size, kMaxPerCall);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    z.avail_out = static_cast<uInt>(left);
    const int got = inflate(&z, Z_NO_FLUSH);
    size += left - z.avail_out;
    ended = got == Z_STREAM_END;
    if (got == Z_MEM_ERROR) return Error(Code::limit, "no memory to unpack the body");
    if (!ended && got != Z_OK && got != Z_BUF_ERROR) return broken(z.msg ? z.msg : "it needs a dictionary");
    if (!ended && z.avail_out > 0 && z.avail_in == 0 && packed.empty()) return broken("its end is missing");
  }
  if (size > max)
    return Error(Code::limit, fmt::format("the body unpacks to more than {} bytes, which is the limit", max));
  out.resize(size);
  return out;
}

std::optional<std::string> packed(std::string_view body, Coding coding) {
  constexpr int kLevel = 1, kMemory = 8;  // what a network saves is soon less than what a processor takes
  if (coding == Coding::none || body.empty() || body.size() > kMaxPerCall) return {};
  Stream<deflateEnd> stream;
  if (deflateInit2(&stream.z, kLevel, Z_DEFLATED, window_of(coding), kMemory, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  stream.open = true;
  std::string out;
  try {
    out.resize(body.size());
  } catch (const std::bad_alloc&) {
    return {};
  }
  stream.give(body);
  stream.z.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.z.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream.z, Z_FINISH) != Z_STREAM_END) return {};  // as many bytes, or more
  out.resize(out.size() - stream.z.avail_out);
  return out;
}

#else

Result<std::string> unpacked(std::string_view, Coding, size_t, const std::function<Status(int64_t)>&) {
  return Error(Code::unsupported, "this build has no zlib");
}

std::optional<std::string> packed(std::string_view, Coding) { return {}; }

#endif

}  // namespace nnex::serve
