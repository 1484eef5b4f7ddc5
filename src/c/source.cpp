// Sources and options of the C interface.

#include <charconv>
#include <cstring>
#include <memory>

#include "base/try.h"
#include "c/handles.h"

namespace nnex::c {
namespace {

/// Callbacks of C as a FileReader. Shared by all that still read or hold bytes. Whoever made it sets `release` last,
/// when nothing can fail any more.
struct Reader {
  nnex_reader r;
  void (*release)(void* context) = nullptr;
  explicit Reader(const nnex_reader& given) : r(given) {}
  ~Reader() {
    if (release) release(r.context);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

FileReader file_reader(std::shared_ptr<Reader> reader) {
  FileReader f;
  f.list = [reader]() -> Result<std::vector<std::string>> {
    std::vector<std::string> names;
    for (size_t i = 0; i < (size_t{1} << 20); ++i) {
      const char* name = reader->r.name(reader->r.context, i);
      if (!name) return names;
      names.emplace_back(name);
    }
    return Error(Code::limit, "the reader names more than 1048576 files");
  };
  f.read = [reader](const std::string& name) -> Result<OwnedBytes> {
    const void* bytes = nullptr;
    size_t length = 0;
    void* token = nullptr;
    if (nnex_error* e = reader->r.read(reader->r.context, name.c_str(), &bytes, &length, &token)) return taken(e);
    std::shared_ptr<const void> owner(static_cast<const void*>(reader.get()), [reader, token](const void*) {
      if (reader->r.release_bytes) reader->r.release_bytes(reader->r.context, token);
    });
    if (!bytes && length) return Error(Code::unreadable, "the reader gave no bytes of '" + name + "'");
    return OwnedBytes{std::string_view(static_cast<const char*>(bytes), length), std::move(owner)};
  };
  return f;
}

Error no_number(const char* name, const char* value, const char* needed) {
  return {Code::invalid_argument, std::string("option '") + name + "': found '" + value + "'; needed " + needed};
}

/// A whole number of at least 0.
template <class T>
Status number(const char* name, const char* value, T& to) {
  T n{};
  const char* const end = value + std::strlen(value);
  const auto [at, fault] = std::from_chars(value, end, n);
  if (fault != std::errc() || at != end || value == end || *value == '-')
    return no_number(name, value, "a whole number of 0 or more");
  to = n;
  return {};
}

Status truth(const char* name, const char* value, bool& to) {
  if (std::strcmp(value, "0") != 0 && std::strcmp(value, "1") != 0) return no_number(name, value, "0 or 1");
  to = value[0] == '1';
  return {};
}

template <class E>
Status word(const char* name, const char* value, E& to, std::initializer_list<std::pair<const char*, E>> words) {
  std::string needed;
  for (const auto& [text, e] : words) {
    if (std::strcmp(text, value) == 0) return to = e, Status();
    needed += (needed.empty() ? "" : ", ") + std::string(text);
  }
  return no_number(name, value, needed.c_str());
}

/// "best, scalar, sse4, ...", some of which another kind of machine has.
std::string instruction_sets() {
  std::string all;
  for (int i = 0; i <= static_cast<int>(InstructionSet::wasm); ++i)
    all += (all.empty() ? "" : ", ") + std::string(nnex::name(static_cast<InstructionSet>(i)));
  return all;
}

Status set(LoadOptions& o, const char* name, const char* value) {
  const std::string_view n = name;
  if (n == "optimize") return truth(name, value, o.optimize);
  if (n == "exact") return truth(name, value, o.exact);
  if (n == "portable") return truth(name, value, o.portable);
  if (n == "map")
    return word<Mapping>(name, value, o.map,
                         {{"automatic", Mapping::automatic}, {"never", Mapping::never}, {"always", Mapping::always}});
  if (n == "external_folder") return o.external_folder = value, Status();
  if (n == "memory_limit") return number(name, value, o.memory_limit);
  if (n == "archive_ratio") return number(name, value, o.archive_ratio);
  if (n == "archive_limit") return number(name, value, o.archive_limit);
  if (n == "cache") return o.cache = value, Status();
  if (n == "isa") {
    const auto isa = instruction_set_named(value);
    if (!isa) return no_number(name, value, ("one of " + instruction_sets()).c_str());
    return o.isa = *isa, Status();
  }
  if (n == "dialect")
    return word<NnefDialect>(
        name, value, o.nnef.dialect,
        {{"automatic", NnefDialect::automatic}, {"standard", NnefDialect::standard}, {"tract", NnefDialect::tract}});
  if (n == "cvm_answers")
    return word<CvmAnswers>(name, value, o.cvm.answers, {{"nnex", CvmAnswers::nnex}, {"formal", CvmAnswers::formal}});
  if (n == "expand_compounds") return truth(name, value, o.nnef.expand_compounds);
  if (n == "quantized") return truth(name, value, o.nnef.quantized);
  if (n == "weight_seed") {
    uint64_t seed = 0;
    if (Status s = number(name, value, seed); !s.ok()) return s;
    o.weight_seed = seed;
    return {};
  }
  return Error(
      Code::invalid_argument,
      "found option '" + std::string(name) +
          "'; needed optimize, map, external_folder, memory_limit, archive_ratio, archive_limit, exact, "
          "portable, isa, cache, dialect, weight_seed, expand_compounds, quantized, cvm_answers or timeout_ns");
}

}  // namespace

}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_source_path(const char* path, nnex_source** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(path);
    NNEX_C_NEED(out);
    *out = new nnex_source{ModelSource(path)};
    return {};
  });
}

nnex_error* nnex_source_memory(const void* bytes, size_t size, const char* name, nnex_source** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    if (!bytes && size) return null_argument("bytes");
    const std::string_view all(static_cast<const char*>(bytes), size);
    *out = new nnex_source{name ? ModelSource::memory(all, name) : ModelSource::memory(all)};
    return {};
  });
}

nnex_error* nnex_source_borrow(const void* bytes, size_t size, const char* name, void (*release)(void*), void* context,
                               nnex_source** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    if (!bytes && size) return null_argument("bytes");
    const auto owner = std::make_shared<Owner>();
    OwnedBytes all{std::string_view(static_cast<const char*>(bytes), size), release ? owner : nullptr};
    *out = new nnex_source{name ? ModelSource::memory(std::move(all), name) : ModelSource::memory(std::move(all))};
    owner->context = context, owner->release = release;
    return {};
  });
}

nnex_error* nnex_source_callbacks(const nnex_reader* reader, const char* name, nnex_source** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(reader);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const nnex_reader all, known(reader));
    if (!all.name || !all.read) return null_argument(all.name ? "reader->read" : "reader->name");
    const auto kept = std::make_shared<Reader>(all);
    FileReader files = file_reader(kept);
    *out = new nnex_source{name ? ModelSource::callbacks(std::move(files), name)
                                : ModelSource::callbacks(std::move(files))};
    kept->release = all.release;
    return {};
  });
}

nnex_error* nnex_source_files(const nnex_files* files, const char* name, nnex_source** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(files);
    NNEX_C_NEED(out);
    *out = new nnex_source{name ? ModelSource::memory(files->files, name) : ModelSource::memory(files->files)};
    return {};
  });
}

void nnex_source_free(nnex_source* source) { delete source; }

nnex_error* nnex_load_options_make(nnex_load_options** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    *out = new nnex_load_options;
    return {};
  });
}
void nnex_load_options_free(nnex_load_options* options) { delete options; }

nnex_error* nnex_load_options_symbol(nnex_load_options* options, const char* symbol, int64_t extent) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(options);
    NNEX_C_NEED(symbol);
    options->options.symbols[symbol] = extent;
    return {};
  });
}

nnex_error* nnex_load_options_shape(nnex_load_options* options, const char* input, size_t rank,
                                    const int64_t* extents) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(options);
    NNEX_C_NEED(input);
    if (!extents && rank) return null_argument("extents");
    options->options.shapes[input] = std::vector<int64_t>(extents, extents + rank);
    return {};
  });
}

nnex_error* nnex_load_options_cancelled(nnex_load_options* options, bool (*cancelled)(void*), void* context) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(options);
    options->cancelled = cancelled, options->context = context;
    return {};
  });
}

nnex_error* nnex_load_options_carry(nnex_load_options* options, const char* output, const char* input) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(options);
    NNEX_C_NEED(output);
    NNEX_C_NEED(input);
    options->options.carry.push_back({output, input});
    return {};
  });
}

nnex_error* nnex_load_options_carry_likely(nnex_load_options* options, const nnex_inspection* inspection,
                                           size_t* count) {
  if (count) *count = 0;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(options);
    NNEX_C_NEED(inspection);
    const Inspection& i = inspection->inspection;
    const std::vector<Carry> likely = likely_carries(i.inputs, i.outputs);
    options->options.carry.insert(options->options.carry.end(), likely.begin(), likely.end());
    if (count) *count = likely.size();
    return {};
  });
}

nnex_error* nnex_load_options_set(nnex_load_options* options, const char* name, const char* value) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(options);
    NNEX_C_NEED(name);
    NNEX_C_NEED(value);
    if (std::strcmp(name, "timeout_ns") == 0) return number(name, value, options->timeout_ns);
    return set(options->options, name, value);
  });
}

}  // extern "C"
