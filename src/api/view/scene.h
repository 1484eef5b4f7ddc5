#pragma once
// A network as boxes and wires with their texts: what all three forms of a drawing show.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/view/layout.h"
#include "api/view/repeats.h"
#include "graph/graph.h"

namespace nnex::drawing {

/// What an operator is for, which its colour tells.
enum class Category : unsigned char { product, activation, arithmetic, norm, pool, shape, control, quantize, other };
inline constexpr size_t kCategories = 9;
/// "Convolution and product", ...
std::string_view title_of(Category category);
/// By the operator's family.
Category category_of(const Node& node);

/// What is known of nodes beside the graph itself.
struct Marks {
  std::unordered_map<uint32_t, double> microseconds;               ///< By node.
  double total = 0;                                                ///< Of all nodes.
  std::unordered_map<uint32_t, std::vector<size_t>> faults;        ///< By node: which of the report's.
  std::unordered_map<uint32_t, std::vector<size_t>> value_faults;  ///< By value that no node could make.
};

/// A node's title, "Conv" or "conv", and its own name, as its location has them.
struct NodeName {
  std::string title, name;
};
NodeName name_of(const ir::Graph& graph, NodeId id);
/// An input's name: its port's, numbered where the port takes several.
std::string port_of(const Node& node, size_t input);
/// Attributes as texts; without `all` those alone that neither the operator's defaults nor its title tell.
std::vector<std::pair<std::string, std::string>> attributes_of(const Node& node, std::string_view title, bool all);
/// A type or a small constant in few words.
std::string shown_type(const ValueDef& value);
/// "1.25 ms", "830 us".
std::string shown_time(double microseconds);

struct Line {
  enum class Kind : unsigned char { name, attribute, weight, far, time, fault };
  Kind kind = Kind::attribute;
  std::string text;
  uint32_t value = Id<struct ValueTag>::kNone;  ///< Of far wires: the value.
  int heat = 0;                                 ///< Of times, 0 to 9.
};

/// One operator, input or output.
struct Part {
  enum class Kind : unsigned char { node, input, output, missing };
  Kind kind = Kind::node;
  uint32_t id = 0;  ///< Of the node; else of the value.
  Category category = Category::other;
  std::string title;
  std::vector<Line> lines;
  double top = 0, height = 0;  ///< In its box.
  bool faulty = false;
};

struct Label {
  std::string text;
  double x = 0;  ///< Its left end, from the axis.
};

struct Scene;

/// A scene inside a box.
struct Inner {
  std::string title;
  double x = 0, y = 0;  ///< From the box's left upper corner.
  size_t scene = 0;     ///< Of Box::scenes.
};

/// Parts on top of each other, or a group with scenes in it.
struct Box {
  std::vector<Part> parts;
  std::vector<Inner> inner;
  std::vector<Scene> scenes;
  std::vector<Label> labels;  ///< Below it.
  size_t copies = 0;          ///< Of a folded repeat.
  size_t repeat = 0;          ///< Which of the drawing's repeats it is, where copies > 0.
  double height = 0;          ///< Without its labels.
  Frame frame;
};

struct Scene {
  std::vector<Box> boxes;
  std::vector<Wire> wires;
  std::vector<uint32_t> values;  ///< Of each wire.
  Layout layout;
};

struct SceneOptions {
  std::vector<Repeat> repeats;  ///< Of the network's own block.
  std::vector<bool> folded;     ///< Which of them are.
  double aspect = 1.25;         ///< As LayoutOptions has it: the page beside its panel; of inner scenes none.
};

/// The network laid out.
Scene scene_of(const ir::Graph& graph, const Marks& marks, const SceneOptions& options);

}  // namespace nnex::drawing
