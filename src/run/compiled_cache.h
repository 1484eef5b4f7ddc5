#pragma once
// Compiled models in files: a graph after its passes and its constants as kernels read them, mapped by the next process
// that loads the same model. docs/compiled-cache.md has the form of such a file.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_hash.h"
#include "base/mapped_file.h"
#include "nnex/model.h"
#include "run/frame.h"
#include "run/inputs.h"

namespace nnex::run {

/// The file in which a model is kept, and what decides how it is compiled.
struct CacheEntry {
  std::string folder, file;
  std::string key;
};
/// The entry of the model at `source`. It names the machine's instruction set, the options and the source.
CacheEntry cache_entry(const std::string& source, const LoadOptions& options, const kernels::simd::Loops& loops);

/// What a model was read from, as it was found then.
struct CacheSources {
  std::vector<SeenFile> files;
  std::string folder;   ///< One whose files' names decided what was read; empty: none.
  ContentHash listing;  ///< Of these names.
};
/// The names of a folder's files, but compiled caches.
ContentHash listing_of(const std::string& folder);

/// An input or output before the passes.
struct KeptPort {
  std::string name;
  Type type;
};

struct KeptModel {
  ir::Graph graph;
  std::vector<KeptPort> inputs, outputs;  ///< States are their last.
  struct Pack {
    std::string key;
    kernels::Packs::Bytes packed;
    int64_t bytes = 0;
  };
  std::vector<Pack> packs;
};

/// The model that is kept under an entry, checked whole. Error: why there is none (no such file, stale, of another
/// build, damaged), which is for people to read: whoever gets it loads the model.
Result<KeptModel> read_cache(const CacheEntry& entry, Mapping map);

/// Why a network with such a node is not kept.
std::string not_kept(const CustomNode& node);

/// Keeps a model that has been planned. What is there is replaced when all is written. Errors: unsupported (a network
/// that cannot be kept, sources that change), unreadable (no such folder can be made, not writable, no space).
Status write_cache(const CacheEntry& entry, const CacheSources& sources, const std::vector<KeptPort>& inputs,
                   const std::vector<KeptPort>& outputs, const Compiled& compiled);

}  // namespace nnex::run
