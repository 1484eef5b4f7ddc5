// A scene as a text for Graphviz.

#include <fmt/format.h>

#include "api/view/drawing.h"
#include "api/view/words.h"

namespace nnex::drawing {
namespace {

/// In quotes, as DOT has strings; line breaks stand as "\l".
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

constexpr const char* kFills[kCategories] = {"#cfe2f7", "#ffdfc4", "#d3eeda", "#eadcf3", "#cdeaeb",
                                             "#e3e6ea", "#f7d6e6", "#ece7c0", "#ffffff"};

class DotWriter {
 public:
  explicit DotWriter(const ir::Graph& graph) : graph_(graph) {}

  std::string run(const Scene& scene, const std::string& title) {
    out_ = fmt::format(
        "digraph {} {{\n  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.6];\n  compound=true;\n",
        quoted(cleaned(title)));
    write(scene, "b", 1);
    return out_ + "}\n";
  }

 private:
  void write(const Scene& scene, const std::string& prefix, int depth) {
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    for (size_t b = 0; b < scene.boxes.size(); ++b) {
      const Box& box = scene.boxes[b];
      const std::string id = fmt::format("{}_{}", prefix, b);
      if (!box.inner.empty()) {
        out_ += fmt::format("{}subgraph \"cluster_{}\" {{\n{}  label={};\n", indent, id, indent,
                            quoted(box.copies > 0 ? fmt::format("×{}", box.copies) : title_of(box)));
        // Wires go to this point of the cluster: its end is at the frame.
        out_ += fmt::format("{}  {} [shape=point, style=invis, label=\"\"];\n", indent, id);
        for (const Inner& inner : box.inner)
          write(box.scenes[inner.scene], fmt::format("{}_{}", id, inner.scene), depth + 1);
        out_ += fmt::format("{}}}\n", indent);
        continue;
      }
      const bool node = box.parts[0].kind == Part::Kind::node;
      out_ += fmt::format("{}{} [label={}, {}];\n", indent, id, label_of(box),
                          node ? fmt::format("fillcolor=\"{}\"", kFills[static_cast<size_t>(box.parts[0].category)])
                               : "shape=oval, fillcolor=\"white\"");
    }
    for (size_t w = 0; w < scene.wires.size(); ++w)
      for (size_t to : scene.wires[w].to) {
        const auto frame = [&](size_t b, const char* end) {
          return scene.boxes[b].inner.empty() ? std::string() : fmt::format(", {}=\"cluster_{}_{}\"", end, prefix, b);
        };
        const ValueDef& value = graph_[ValueId{scene.values[w]}];
        out_ += fmt::format("{}{}_{} -> {}_{} [label={}{}{}];\n", indent, prefix, scene.wires[w].from, prefix, to,
                            quoted(value.type.kind == nnex::Kind::unknown ? "" : cleaned(value.type.text())),
                            frame(scene.wires[w].from, "ltail"), frame(to, "lhead"));
      }
  }

  static std::string title_of(const Box& box) { return box.parts.empty() ? "" : box.parts[0].title; }

  static std::string label_of(const Box& box) {
    std::string out = "\"";
    for (const Part& part : box.parts) {
      for (const std::string& text : texts_of(part)) {
        const std::string inside = quoted(text);
        out += inside.substr(1, inside.size() - 2) + "\\l";
      }
    }
    return out + "\"";
  }
  static std::vector<std::string> texts_of(const Part& part) {
    std::vector<std::string> out{part.title};
    for (const Line& line : part.lines) out.push_back(line.text);
    return out;
  }

  const ir::Graph& graph_;
  std::string out_;
};

}  // namespace

std::string dot_of(const ir::Graph& graph, const Scene& scene, const std::string& title) {
  return DotWriter(graph).run(scene, title);
}

}  // namespace nnex::drawing
