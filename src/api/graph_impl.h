#pragma once
// What stands behind a public Graph.

#include <atomic>

#include "graph/graph.h"
#include "nnex/graph.h"
#include "nnex/model.h"

namespace nnex {

/// Of every graph another: ids of hosts are those of the graph plus this, so that ids of another graph name nothing
/// here. Multiples of the golden ratio lie far apart: graphs would need thousands of brothers to meet by chance. Below
/// 2^31, as the ids of a graph are, so that no sum is Id::kNone.
inline uint32_t fresh_salt() {
  static std::atomic<uint32_t> made{0};
  return (++made * 0x9E3779B9u) >> 1;
}

struct OnnxFile;

struct Graph::Impl {
  ir::Graph graph;
  std::shared_ptr<const LoadOptions> read_with = {};  ///< Of load_graph(); null: it was not read, or is Model::graph().
  std::shared_ptr<const OnnxFile> file = {};  ///< That it was read from: what edits leave is written in its words.
  bool texts = true;                          ///< strip() takes them.
  uint32_t salt = fresh_salt();

  /// An id of the engine's as hosts have it.
  template <class I>
  I out(I id) const {
    return id.valid() ? I{id.n + salt} : id;
  }
  template <class I>
  std::vector<I> out(const std::vector<I>& ids) const {
    std::vector<I> all;
    all.reserve(ids.size());
    for (I id : ids) all.push_back(out(id));
    return all;
  }
  /// A host's id as the engine has it; it may name nothing.
  template <class I>
  I in(I id) const {
    return id.valid() ? I{id.n - salt} : id;
  }
};

/// A public graph around the engine's.
inline Graph wrap(ir::Graph graph, std::shared_ptr<const LoadOptions> read_with = nullptr,
                  std::shared_ptr<const OnnxFile> file = nullptr) {
  return Graph(std::make_unique<Graph::Impl>(Graph::Impl{std::move(graph), std::move(read_with), std::move(file)}));
}

}  // namespace nnex
