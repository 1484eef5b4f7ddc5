#pragma once
/// Pictures of networks: one HTML page that needs nothing else, SVG, or a text for Graphviz.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/source.h"

#pragma GCC visibility push(default)
namespace nnex {

enum class ViewFormat : uint8_t {
  html,  ///< A page: search, folding, details of nodes and weights.
  svg,   ///< A picture, laid out in layers from top to bottom, tall ones in columns.
  dot    ///< For Graphviz, which lays it out.
};

/// The time that a node took: `place` is where the model has it, as Session::nodes() and `nnex profile --json` say it;
/// several nodes that ran as one are joined by " + ".
struct PlaceTime {
  std::string place = {};
  double microseconds = 0;
};

struct ViewOptions {
  LoadOptions load = {};
  ViewFormat format = ViewFormat::html;
  /// Parts that repeat one after the other are drawn once, with their number. A page folds and unfolds them.
  bool fold = true;
  bool check = true;  ///< Faults are shown at their nodes.
  std::vector<PlaceTime> times = {};
};

struct View {
  std::string text;      ///< The file's content.
  int64_t nodes = 0;     ///< Of the network, those of blocks too.
  int64_t repeats = 0;   ///< Stretches of equal parts that were found.
  int64_t faults = 0;    ///< That the check found.
  int64_t unplaced = 0;  ///< Times whose place no node has.
};

/// Nodes that a drawing may have.
inline constexpr int64_t kMaxViewNodes = 100'000;

/// Draws a model. An ONNX model that breaks rules is drawn as far as it can be read; structures without their weights
/// are, too. Of a weight at most 65,536 elements are looked at. Errors: those of load_graph; limit, more nodes than
/// kMaxViewNodes.
Result<View> view(const ModelSource& source, const ViewOptions& options = {});

/// The network that view() draws, for drawings of another kind: types are inferred as far as they can be. Errors: those
/// of view().
Result<Graph> drawn_graph(const ModelSource& source, const LoadOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
