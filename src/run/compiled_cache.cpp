#include "run/compiled_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "base/failure.h"
#include "base/joined.h"
#include "base/threads.h"
#include "graph/snapshot.h"
#include "kernels/simd/loops.h"
#include "kernels/stored_form.h"

namespace nnex::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFingerprint =
#include "fingerprint.inc"
    ;
constexpr std::string_view kMagic = "NNEXC\r\n\x1a";  // what turns line ends shows
constexpr std::string_view kEnding = ".nnexc";
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMapFrom = uint64_t{4} << 20;  ///< Copying takes a ms for 6 MB, which no start should wait for.
constexpr uint64_t kPiece = uint64_t{1} << 20;    ///< Data is hashed in pieces of at most so many bytes.
constexpr FormStorage kForms = {kernels::write_form, kernels::read_form};
constexpr size_t kFooter = 8 + 8 + 16 + 8;

/// Bytes of the data that are hashed together.
struct Piece {
  uint64_t place = 0, bytes = 0;
  ContentHash hash;
};
constexpr size_t kPieceBytes = 8 + 8 + 16;

Error none(std::string why) { return {Code::unreadable, std::move(why)}; }

template <class... A>
std::string part(std::string_view name, const A&... values) {
  std::string out(name);
  ((out += fmt::format(" {}", values)), ...);
  return out + "\n";
}

void write_hash(const ContentHash& hash, ByteWriter& to) { to.number(hash.low), to.number(hash.high); }
ContentHash read_hash(ByteReader& from) { return {from.number<uint64_t>(), from.number<uint64_t>()}; }

/// Data on its way into a file, behind its header.
class DataWriter {
 public:
  explicit DataWriter(FileWriter& file) : file_(file) {}

  Status begin() {
    std::string header(kMagic);
    header.resize(kAlignment);
    return write(header);
  }
  /// Bytes that stand there once for all who ask for the same memory: their place.
  Result<uint64_t> add(const void* bytes, uint64_t size) {
    const auto [at, fresh] = places_.try_emplace({bytes, size}, end_);
    if (!fresh) return at->second;
    const std::string_view all(static_cast<const char*>(bytes), size);
    for (uint64_t done = 0; done < size; done += kPiece) {
      const std::string_view some = all.substr(done, kPiece);
      pieces_.push_back({end_ + done, some.size(), content_hash(some)});
    }
    const uint64_t place = end_;
    NNEX_TRY(write(all));
    NNEX_TRY(write(std::string(static_cast<size_t>((kAlignment - end_ % kAlignment) % kAlignment), '\0')));
    return place;
  }
  Status write(std::string_view bytes) {
    end_ += bytes.size();
    return file_.write(bytes);
  }
  uint64_t end() const { return end_; }
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  FileWriter& file_;
  uint64_t end_ = 0;
  std::map<std::pair<const void*, uint64_t>, uint64_t> places_;
  std::vector<Piece> pieces_;
};

// ---- Sources ----

Result<ContentHash> hash_of_file(const std::string& path) {
  NNEX_ASSIGN(const MappedFile file, MappedFile::open(path, MapPolicy::always));
  return content_hash(file.bytes());
}

Status write_sources(const CacheSources& sources, ByteWriter& to) {
  to.number(static_cast<uint32_t>(sources.files.size()));
  for (const SeenFile& file : sources.files) {
    if (file.path.empty()) return Error(Code::unsupported, "this system does not name files that are open");
    if (file.fresh) return failure(Code::unsupported, "'{}' had been written just before it was read", file.path);
    const auto now = look_at(file.path);
    if (!now || !now->same(file)) return failure(Code::unsupported, "'{}' changed meanwhile", file.path);
    NNEX_ASSIGN(const ContentHash hash, hash_of_file(file.path));
    to.text(file.path);
    to.number(file.bytes);
    to.number(file.modified);
    to.number(file.changed);
    to.number(file.inode);
    write_hash(hash, to);
  }
  to.text(sources.folder);
  write_hash(sources.listing, to);
  return {};
}

/// Whether the sources are still what they were: as the file system tells, or where that differs (a copy, a file that
/// was touched) by content.
Status check_sources(ByteReader& from) {
  for (size_t n = from.count(4 + 8 * 4 + 16); n > 0; --n) {
    SeenFile file;
    file.path = from.text();
    file.bytes = from.number<uint64_t>();
    file.modified = from.number<int64_t>();
    file.changed = from.number<int64_t>();
    file.inode = from.number<uint64_t>();
    const ContentHash hash = read_hash(from);
    if (!from.ok()) break;
    const auto now = look_at(file.path);
    if (now && now->same(file)) continue;
    const auto found = now && now->bytes == file.bytes ? hash_of_file(file.path) : Result<ContentHash>(none(""));
    if (!found.ok() || !(*found == hash)) return none(fmt::format("'{}' changed since", file.path));
  }
  const std::string folder(from.text());
  const ContentHash listing = read_hash(from);
  if (from.ok() && !folder.empty() && !(listing_of(folder) == listing))
    return none(fmt::format("other files are in '{}' now", folder));
  return {};
}

// ---- Ports and packs ----

void write_ports(const std::vector<KeptPort>& ports, ByteWriter& to) {
  to.number(static_cast<uint32_t>(ports.size()));
  for (const KeptPort& p : ports) to.text(p.name), write_type(p.type, to);
}

std::vector<KeptPort> read_ports(ByteReader& from) {
  std::vector<KeptPort> ports;
  for (size_t n = from.count(7); n > 0 && from.ok(); --n) {
    std::string name(from.text());
    ports.push_back({std::move(name), read_type(from)});
  }
  return ports;
}

Status write_packs(const kernels::Packs& packs, ByteWriter& to, DataWriter& data) {
  std::map<std::string, std::span<const std::byte>> sorted;  // the same file every time
  packs.each([&](const std::string& key, std::span<const std::byte> packed) { sorted.emplace(key, packed); });
  to.number(static_cast<uint32_t>(sorted.size()));
  for (const auto& [key, packed] : sorted) {
    NNEX_ASSIGN(const uint64_t place, data.add(packed.data(), packed.size()));
    to.text(key);
    to.number(place);
    to.number(static_cast<uint64_t>(packed.size()));
  }
  return {};
}

std::vector<KeptModel::Pack> read_packs(ByteReader& from, const SnapshotData& data) {
  std::vector<KeptModel::Pack> packs;
  for (size_t n = from.count(20); n > 0; --n) {
    std::string key(from.text());
    const auto place = from.number<uint64_t>(), bytes = from.number<uint64_t>();
    if (place % kAlignment != 0 || place > data.bytes.size() || bytes > data.bytes.size() - place) from.fail();
    if (!from.ok()) break;
    const auto* at = reinterpret_cast<const std::byte*>(data.bytes.data() + place);
    packs.push_back({std::move(key), {data.owner, at}, static_cast<int64_t>(bytes)});
  }
  return packs;
}

/// Whether all data is what was written. Its pages are given back: most are not needed again.
bool check_data(ByteReader& from, const MappedFile& file, std::string_view data) {
  std::vector<Piece> pieces(from.count(kPieceBytes));
  for (Piece& p : pieces) {
    p.place = from.number<uint64_t>(), p.bytes = from.number<uint64_t>();
    p.hash = read_hash(from);
    if (p.place > data.size() || p.bytes > data.size() - p.place) return false;
  }
  if (!from.ok()) return false;
  std::atomic<bool> right{true};
  Team team(0);
  team.run(static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    const Piece& p = pieces[static_cast<size_t>(i)];
    if (!(content_hash(data.substr(p.place, p.bytes)) == p.hash)) right = false;
    file.release_pages(p.place, p.bytes);
  });
  return right;
}

}  // namespace

ContentHash listing_of(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() != kEnding) names.insert(at->path().filename().string());
  return content_hash(joined(names, "\n"));
}

CacheEntry cache_entry(const std::string& source, const LoadOptions& options, const kernels::simd::Loops& loops) {
  std::error_code error;
  const fs::path whole = fs::absolute(source, error).lexically_normal();
  std::string key = part("source", whole.string());
  if (source.find('+') != std::string::npos) key += part("in", fs::current_path(error).string());
  key += part("loops", static_cast<int>(loops.isa), static_cast<int>(loops.numbers), loops.tile_shape_u8.rows,
              loops.tile_pairs != nullptr);
  key += part("graph", options.optimize, options.exact, options.portable);
  key += part("folder", options.external_folder);
  for (const auto& [symbol, value] : options.symbols) key += part("symbol", symbol, value);
  for (const auto& [name, extents] : options.shapes) key += part("shape", name, joined(extents, ","));
  if (options.weight_seed) key += part("seed", *options.weight_seed);
  key += part("nnef", static_cast<int>(options.nnef.dialect), options.nnef.expand_compounds, options.nnef.quantized);
  key += part("cvm", static_cast<int>(options.cvm.answers));
  for (const Carry& c : options.carry) key += part("carry", c.output, c.input);
  CacheEntry entry;
  entry.folder = options.cache;
  std::string name = whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
  entry.file = (fs::path(options.cache) / (name + "-" + content_hash(key).text().substr(0, 16))).string();
  entry.file += kEnding;
  entry.key = std::move(key);
  return entry;
}

std::string not_kept(const CustomNode& node) {
  return fmt::format("the custom operator {} is a function of the program's", node.name);
}

Result<KeptModel> read_cache(const CacheEntry& entry, Mapping map) {
  const std::string damaged = fmt::format("'{}' is damaged", entry.file);
  const auto seen = look_at(entry.file);
  if (!seen) return none("nothing is kept yet");
  const bool copied = map == Mapping::never || (map == Mapping::automatic && seen->bytes < kMapFrom);
  const MapPolicy policy = copied ? MapPolicy::never : MapPolicy::always;
  NNEX_ASSIGN(MappedFile opened, MappedFile::open(entry.file, policy));
  const auto file = shared_file(std::move(opened));
  const std::string_view bytes = file->bytes();
  if (bytes.size() < kAlignment + kFooter || !bytes.starts_with(kMagic)) return none(damaged);
  ByteReader footer(bytes.substr(bytes.size() - kFooter));
  const auto place = footer.number<uint64_t>(), size = footer.number<uint64_t>();
  const ContentHash hash = read_hash(footer);
  if (footer.bytes(kMagic.size()) != kMagic || place > bytes.size() - kFooter || size != bytes.size() - kFooter - place)
    return none(damaged);
  const std::string_view structure = bytes.substr(place, size);
  if (!(content_hash(structure) == hash)) return none(damaged);

  ByteReader from(structure);
  if (from.text() != kFingerprint) return none(fmt::format("another build of nnex wrote '{}'", entry.file));
  if (from.text() != entry.key) return none(fmt::format("'{}' is of another model or other options", entry.file));
  NNEX_TRY(check_sources(from));
  const SnapshotData data{bytes.substr(0, place), file};
  if (!from.ok() || !check_data(from, *file, data.bytes)) return none(damaged);
  KeptModel model;
  model.inputs = read_ports(from);
  model.outputs = read_ports(from);
  model.packs = read_packs(from, data);
  if (!from.ok()) return none(damaged);
  NNEX_ASSIGN(model.graph, Snapshot::read(from, kForms, data));
  if (!from.at_end() || model.inputs.size() != model.graph.inputs().size() ||
      model.outputs.size() != model.graph.outputs().size())
    return none(damaged);
  return model;
}

Status write_cache(const CacheEntry& entry, const CacheSources& sources, const std::vector<KeptPort>& inputs,
                   const std::vector<KeptPort>& outputs, const Compiled& compiled) {
  std::error_code error;
  fs::create_directories(entry.folder, error);
  if (error) return failure(Code::unreadable, "cannot make '{}': {}", entry.folder, error.message());
  const auto there = fs::symlink_status(entry.file, error);
  if (fs::exists(there) && !fs::is_regular_file(there))  // pipes would be written into, links name files of others
    return failure(Code::unreadable, "'{}' is no regular file", entry.file);
  remove_abandoned(entry.file);
  NNEX_ASSIGN(FileWriter file, FileWriter::create(entry.file, Existing::replace_link));
  DataWriter data(file);
  NNEX_TRY(data.begin());
  ByteWriter begin, model;
  begin.text(kFingerprint);
  begin.text(entry.key);
  NNEX_TRY(write_sources(sources, begin));
  write_ports(inputs, model);
  write_ports(outputs, model);
  NNEX_TRY(write_packs(compiled.packs, model, data));
  NNEX_TRY(Snapshot::write(compiled.graph, kForms, model,
                           [&](const Tensor& t) { return data.add(t.data(), static_cast<uint64_t>(t.bytes())); }));
  begin.number(static_cast<uint32_t>(data.pieces().size()));
  for (const Piece& p : data.pieces()) {
    begin.number(p.place), begin.number(p.bytes);
    write_hash(p.hash, begin);
  }
  const std::string structure = begin.bytes() + model.bytes();
  ByteWriter footer;
  footer.number(data.end());
  footer.number(static_cast<uint64_t>(structure.size()));
  write_hash(content_hash(structure), footer);
  NNEX_TRY(file.write(structure));
  NNEX_TRY(file.write(footer.bytes()));
  NNEX_TRY(file.write(kMagic));
  return file.commit_unsynced();
}

}  // namespace nnex::run
