#include "standards/gzip.h"

#include "base/failure.h"
#include "base/try.h"

#if defined(NNEX_ZLIB)
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#endif

namespace nnex {

#if defined(NNEX_ZLIB)

namespace {

constexpr int kWindow = 15 + 16;  // 32 KiB, in gzip's frame
constexpr int kLevel = 6;         // zlib's own default, said here so that it stays
constexpr size_t kPiece = size_t{1} << 18;
constexpr uInt kMaxPerCall = uInt{1} << 30;

/// Ends zlib's reading on every way out.
struct Inflating {
  z_stream z = {};
  bool open = false;
  ~Inflating() {
    if (open) inflateEnd(&z);
  }
};

/// Memory that grows as bytes come. realloc() moves the pages of large blocks instead of copying them, so that what was
/// not filled was never taken.
class Growing {
 public:
  explicit Growing(std::shared_ptr<MemoryAccount> memory) : memory_(std::move(memory)) {}
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() {
    std::free(data_);
    memory_->give_back(counted_);
  }

  std::string_view bytes() const { return {data_, size_}; }
  Status append(std::string_view more) {
    const auto n = static_cast<int64_t>(more.size());
    if (!memory_->take(n))
      return failure(Code::limit, "it unpacks to more than reading may take: {} bytes, of which {} are held",
                     memory_->limit(), memory_->held())
          .helped_by({"memory_limit", "", "raises what reading may take"});
    counted_ += n;
    if (size_ + more.size() > capacity_) {
      const size_t wanted = std::max(size_ + more.size(), capacity_ + capacity_ / 2);
      auto* grown = static_cast<char*>(std::realloc(data_, wanted));
      if (!grown) return failure(Code::limit, "no memory for {} unpacked bytes", wanted);
      data_ = grown, capacity_ = wanted;
    }
    if (!more.empty()) std::memcpy(data_ + size_, more.data(), more.size());
    size_ += more.size();
    return {};
  }

 private:
  std::shared_ptr<MemoryAccount> memory_;
  int64_t counted_ = 0;
  char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace

Result<Unpacked> gunzip(std::string_view bytes, uint64_t max, const std::shared_ptr<MemoryAccount>& memory) {
  Inflating s;
  if (inflateInit2(&s.z, kWindow) != Z_OK) return Error(Code::limit, "no memory to unpack gzip");
  s.open = true;
  const auto out = std::make_shared<Growing>(memory);
  std::string piece(kPiece, '\0');
  size_t at = 0;
  while (true) {
    if (s.z.avail_in == 0) {
      const auto n = static_cast<uInt>(std::min<size_t>(bytes.size() - at, kMaxPerCall));
      s.z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
      s.z.avail_in = n;
      at += n;
    }
    s.z.next_out = reinterpret_cast<Bytef*>(piece.data());
    s.z.avail_out = static_cast<uInt>(piece.size());
    const int r = inflate(&s.z, Z_NO_FLUSH);
    const size_t made = piece.size() - s.z.avail_out;
    if (made > max - out->bytes().size()) return failure(Code::limit, "it unpacks to more than {} bytes", max);
    NNEX_TRY(out->append({piece.data(), made}));
    const std::string_view left = bytes.substr(at - s.z.avail_in);
    if (r == Z_STREAM_END) {
      if (!is_gzip(left)) return Unpacked{out->bytes(), out};  // what follows is padding
      if (inflateReset(&s.z) != Z_OK) return Error(Code::unreadable, "gzip is broken");
    } else if (r == Z_BUF_ERROR || (r == Z_OK && left.empty() && s.z.avail_out != 0)) {
      return failure(Code::unreadable, "gzip is cut short after {} bytes", bytes.size());
    } else if (r != Z_OK) {
      return failure(Code::unreadable, "gzip is broken: {}", s.z.msg ? s.z.msg : "no more is known");
    }
  }
}

struct Gzip::Stream {
  z_stream z = {};
  gz_header plain = {};  // zlib reads it when it packs
  ~Stream() { deflateEnd(&z); }
};

Result<Gzip> Gzip::start() {
  auto s = std::make_unique<Stream>();
  if (deflateInit2(&s->z, kLevel, Z_DEFLATED, kWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return Error(Code::limit, "no memory to pack gzip");
  s->plain.os = 255;  // unknown, on every machine
  deflateSetHeader(&s->z, &s->plain);
  return Gzip(std::move(s));
}

Status Gzip::add(std::string_view bytes, std::string& out) {
  char piece[1 << 15];
  while (!bytes.empty()) {
    const auto n = static_cast<uInt>(std::min<size_t>(bytes.size(), kMaxPerCall));
    stream_->z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_->z.avail_in = n;
    while (stream_->z.avail_in > 0) {
      stream_->z.next_out = reinterpret_cast<Bytef*>(piece);
      stream_->z.avail_out = sizeof piece;
      if (deflate(&stream_->z, Z_NO_FLUSH) == Z_STREAM_ERROR) return Error(Code::internal, "packing gzip failed");
      out.append(piece, sizeof piece - stream_->z.avail_out);
    }
    bytes.remove_prefix(n);
  }
  return {};
}

Status Gzip::finish(std::string& out) {
  char piece[1 << 15];
  int r = Z_OK;
  while (r == Z_OK) {
    stream_->z.next_out = reinterpret_cast<Bytef*>(piece);
    stream_->z.avail_out = sizeof piece;
    r = deflate(&stream_->z, Z_FINISH);
    out.append(piece, sizeof piece - stream_->z.avail_out);
  }
  if (r != Z_STREAM_END) return Error(Code::internal, "packing gzip failed");
  return {};
}

#else

Result<Unpacked> gunzip(std::string_view, uint64_t, const std::shared_ptr<MemoryAccount>&) {
  return Error(Code::unsupported, "this build of nnex reads no gzip (it was built without zlib)");
}
struct Gzip::Stream {};
Result<Gzip> Gzip::start() {
  return Error(Code::unsupported, "this build of nnex writes no gzip (it was built without zlib)");
}
Status Gzip::add(std::string_view, std::string&) { return {}; }
Status Gzip::finish(std::string&) { return {}; }

#endif

Gzip::Gzip(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
Gzip::Gzip(Gzip&&) noexcept = default;
Gzip& Gzip::operator=(Gzip&&) noexcept = default;
Gzip::~Gzip() = default;

}  // namespace nnex
