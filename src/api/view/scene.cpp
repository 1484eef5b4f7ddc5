#include "api/view/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "api/view/words.h"

namespace nnex::drawing {
namespace {

constexpr double kTitle = 12, kSmall = 10.5;              // sizes of letters
constexpr double kHead = 22, kLineHeight = 14, kPad = 8;  // of a part
constexpr double kLabelHeight = 16;
constexpr double kMinWidth = 68, kMaxText = 176, kLabelText = 200;
constexpr size_t kMaxLines = 7, kMaxStack = 4;

/// What one block shows: its nodes, and the values that enter and leave it.
struct Content {
  std::vector<NodeId> order;
  std::vector<ValueId> inputs, outputs;
  std::vector<Repeat> repeats;  ///< Folded ones.
  std::vector<size_t> repeat_numbers;
  double aspect = 0;
};

class Builder {
 public:
  Builder(const ir::Graph& graph, const Marks& marks, const Content& content)
      : graph_(graph), marks_(marks), content_(content) {}

  Scene run() {
    for (ValueId v : content_.inputs) add_input(v, Part::Kind::input);
    add_missing();
    std::vector<Repeat> repeats = content_.repeats;
    size_t next = 0;
    for (size_t i = 0; i < content_.order.size();) {
      if (next < repeats.size() && repeats[next].first == i) {
        add_repeat(repeats[next], content_.repeat_numbers[next]);
        i = repeats[next++].end();
      } else {
        add_node(content_.order[i++]);
      }
    }
    for (ValueId v : content_.outputs) add_output(v);
    connect();
    return std::move(scene_);
  }

 private:
  // ---- Boxes

  Box& new_box(std::vector<ValueId> makes, std::vector<ValueId> reads) {
    const size_t n = scene_.boxes.size();
    for (ValueId v : makes) producer_[v.n] = n;
    makes_.push_back(std::move(makes)), reads_.push_back(std::move(reads));
    return scene_.boxes.emplace_back();
  }

  void add_input(ValueId v, Part::Kind kind) {
    Box& box = new_box({v}, {});
    Part part;
    part.kind = kind, part.id = v.n;
    part.title = graph_[v].name.empty() ? "value" : graph_[v].name;
    if (graph_[v].type.kind != nnex::Kind::unknown)
      part.lines.push_back({Line::Kind::attribute, shown_type(graph_[v])});
    if (const auto it = marks_.value_faults.find(v.n); it != marks_.value_faults.end()) {
      part.faulty = true;
      part.lines.push_back(
          {Line::Kind::fault, fmt::format("{} fault{}", it->second.size(), it->second.size() > 1 ? "s" : "")});
    }
    box.parts.push_back(std::move(part));
  }

  /// Values that nothing makes: of models that could be read in parts.
  void add_missing() {
    std::set<uint32_t> seen;
    const auto look = [&](ValueId v) {
      if (!v.valid() || graph_[v].is_constant() || graph_[v].producer.valid() || graph_[v].param_of.valid()) return;
      if (seen.insert(v.n).second) add_input(v, Part::Kind::missing);
    };
    for (NodeId id : content_.order)
      for (ValueId v : graph_[id].in) look(v);
    for (ValueId v : content_.outputs) look(v);
  }

  void add_output(ValueId v) {
    Box& box = new_box({}, graph_[v].is_constant() ? std::vector<ValueId>{} : std::vector<ValueId>{v});
    Part part;
    part.kind = Part::Kind::output, part.id = v.n;
    part.title = graph_[v].name.empty() ? "value" : graph_[v].name;
    part.lines.push_back({Line::Kind::attribute, shown_type(graph_[v])});
    box.parts.push_back(std::move(part));
  }

  Part part_of(NodeId id) const {
    const Node& node = graph_[id];
    Part part;
    part.id = id.n, part.category = category_of(node);
    const NodeName said = name_of(graph_, id);
    part.title = said.title;
    if (!said.name.empty()) part.lines.push_back({Line::Kind::name, said.name});
    std::vector<Line> rest;
    for (const auto& [name, value] : attributes_of(node, said.title, false))
      rest.push_back({Line::Kind::attribute, name + " " + value});
    // Weights of one type share a line: mean, variance, offset, scale f32[16].
    std::vector<std::pair<std::string, std::string>> weights;
    for (size_t i = 0; i < node.in.size(); ++i) {
      const ValueId v = node.in[i];
      if (!v.valid() || !graph_[v].is_constant()) continue;
      std::string type = shown_type(graph_[v]);
      if (!weights.empty() && weights.back().second == type && graph_[v].constant.tensor() &&
          graph_[v].constant.tensor()->count() > 4)
        weights.back().first += ", " + port_of(node, i);
      else
        weights.emplace_back(port_of(node, i), std::move(type));
    }
    for (const auto& [ports, type] : weights) rest.push_back({Line::Kind::weight, ports + " " + type});
    if (rest.size() > kMaxLines) {
      const size_t more = rest.size() - (kMaxLines - 1);
      rest.resize(kMaxLines - 1);
      rest.push_back({Line::Kind::attribute, fmt::format("and {} more", more)});
    }
    part.lines.insert(part.lines.end(), rest.begin(), rest.end());
    if (const auto it = marks_.microseconds.find(id.n); it != marks_.microseconds.end()) {
      const double share = marks_.total > 0 ? it->second / marks_.total : 0;
      const int heat = std::clamp(static_cast<int>(std::sqrt(share) * 14), 0, 9);
      part.lines.push_back(
          {Line::Kind::time, fmt::format("{} · {:.1f} %", shown_time(it->second), 100 * share), {}, heat});
    }
    if (const auto it = marks_.faults.find(id.n); it != marks_.faults.end()) {
      part.faulty = true;
      part.lines.push_back(
          {Line::Kind::fault, fmt::format("{} fault{}", it->second.size(), it->second.size() > 1 ? "s" : "")});
    }
    return part;
  }

  static void add_once(std::vector<ValueId>& list, ValueId v) {
    if (v.valid() && std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
  }

  std::vector<ValueId> reads_of(NodeId id) const {
    std::vector<ValueId> out;
    std::set<uint32_t> seen;
    const auto add = [&](ValueId v) {
      if (v.valid() && !graph_[v].is_constant() && seen.insert(v.n).second) out.push_back(v);
    };
    for (ValueId v : graph_[id].in) add(v);
    for (ValueId v : graph_.captures(id)) add(v);
    return out;
  }

  /// Whether a node may stand under the one before without a wire: it alone reads the other's one result, and gives one
  /// of the same type.
  std::optional<size_t> stack_for(NodeId id, const std::vector<ValueId>& reads) const {
    const Node& node = graph_[id];
    const bool gentle = node.op->elementwise || category_of(node) == Category::norm;
    if (node.custom || !gentle || !node.blocks.empty() || reads.size() != 1 || node.out.empty() || !node.out[0].valid())
      return {};
    for (size_t i = 1; i < node.out.size(); ++i)
      if (node.out[i].valid()) return {};
    const auto it = producer_.find(reads[0].n);
    if (it == producer_.end()) return {};
    const Box& box = scene_.boxes[it->second];
    const ValueDef& read = graph_[reads[0]];
    if (box.copies > 0 || !box.inner.empty() || box.parts.size() >= kMaxStack || makes_[it->second].size() != 1)
      return {};
    if (!read.producer.valid() || graph_[read.producer].parent.n != node.parent.n || read.uses.size() != 1) return {};
    if (!(read.type == graph_[node.out[0]].type) || !read.type.is_tensor()) return {};
    return it->second;
  }

  void add_node(NodeId id) {
    const Node& node = graph_[id];
    std::vector<ValueId> reads = reads_of(id), makes;
    for (ValueId v : node.out) add_once(makes, v);
    if (const auto stack = stack_for(id, reads)) {
      producer_.erase(reads[0].n);
      scene_.boxes[*stack].parts.push_back(part_of(id));
      makes_[*stack] = makes;
      for (ValueId v : makes) producer_[v.n] = *stack;
      return;
    }
    Box& box = new_box(std::move(makes), std::move(reads));
    box.parts.push_back(part_of(id));
    for (size_t i = 0; i < node.blocks.size(); ++i) {
      Content inside;
      inside.order = graph_.order(node.blocks[i]);
      inside.inputs = graph_[node.blocks[i]].params, inside.outputs = graph_[node.blocks[i]].results;
      box.scenes.push_back(Builder(graph_, marks_, inside).run());
      box.inner.push_back(
          {i < node.op->blocks.size() ? std::string(node.op->blocks[i]) : fmt::format("block {}", i), 0, 0, i});
    }
  }

  void add_repeat(const Repeat& r, size_t number) {
    Content inside;
    const auto at = [&](size_t copy, size_t o) { return content_.order[r.first + copy * r.period + o]; };
    std::vector<ValueId> reads, makes;
    std::set<uint32_t> own, read_seen;
    for (size_t o = 0; o < r.period; ++o) {
      inside.order.push_back(at(0, o));
      for (ValueId v : reads_of(at(0, o)))
        if (!own.count(v.n) && read_seen.insert(v.n).second) reads.push_back(v);
      for (ValueId v : graph_[at(0, o)].out)
        if (v.valid()) own.insert(v.n);
    }
    for (size_t o = 0; o < r.period; ++o)
      for (size_t k = 0; k < graph_[at(r.copies - 1, o)].out.size(); ++k) {
        const ValueId v = graph_[at(r.copies - 1, o)].out[k];  // what leaves is the last copy's
        if (!v.valid() || !leaves(v, r)) continue;
        makes.push_back(v);
        inside.outputs.push_back(graph_[at(0, o)].out[k]);
      }
    inside.inputs = reads;
    Box& box = new_box(std::move(makes), std::move(reads));
    box.copies = r.copies, box.repeat = number;
    box.scenes.push_back(Builder(graph_, marks_, inside).run());
    box.inner.push_back({"", 0, 0, 0});
  }

  /// Whether a value of the last copy is read outside.
  bool leaves(ValueId v, const Repeat& r) const {
    for (const Use& use : graph_[v].uses) {
      if (!use.node.valid()) return true;
      bool inside = false;
      for (size_t i = r.end() - r.period; i < r.end() && !inside; ++i) inside = content_.order[i] == use.node;
      if (!inside) return true;
    }
    return false;
  }

  // ---- Sizes

  static double width_of_lines(const Part& part) {
    double width = std::min(width_of(part.title, kTitle, true), kMaxText);
    for (const Line& line : part.lines) width = std::max(width, std::min(width_of(line.text, kSmall), kMaxText));
    return width;
  }

  static void fit(Part& part) {
    part.title = fitted(cleaned(part.title), kMaxText, kTitle, true);
    for (Line& line : part.lines) line.text = fitted(cleaned(line.text), kMaxText, kSmall);
  }

  void measure(size_t n) {
    Box& box = scene_.boxes[n];
    double width = kMinWidth, y = 0;
    for (Part& part : box.parts) {
      fit(part);
      width = std::max(width, width_of_lines(part) + 2 * kPad);
      part.top = y;
      part.height = kHead + (part.lines.empty() ? 0 : kLineHeight * static_cast<double>(part.lines.size()) + 5);
      y += part.height;
    }
    if (box.copies > 0) y += kHead;
    double inner_width = kPad, inner_height = 0;
    for (Inner& inner : box.inner) {
      const Layout& layout = box.scenes[inner.scene].layout;
      const double head = inner.title.empty() ? 4 : 18;
      inner.x = inner_width, inner.y = y + head;
      inner_width += std::max(layout.width, 50.0) + kPad;
      inner_height = std::max(inner_height, head + layout.height + kPad);
    }
    if (!box.inner.empty()) {
      // A lone scene stands in the middle.
      if (box.inner.size() == 1 && inner_width < width) box.inner[0].x += (width - inner_width) / 2;
      width = std::max(width, inner_width);
      y += inner_height;
    }
    box.height = y;
    box.frame.half = width / 2, box.frame.height = y;
    box.frame.right = width / 2;
  }

  /// Labels of what a box gives, right of where the wires leave; equal ones are said once.
  void label(size_t n, const std::vector<size_t>& wires) {
    Box& box = scene_.boxes[n];
    std::vector<std::string> texts;
    for (size_t w : wires) {
      bool told = true;  // by the boxes it goes to
      for (size_t to : scene_.wires[w].to)
        told &= scene_.boxes[to].parts.size() == 1 && scene_.boxes[to].parts[0].kind == Part::Kind::output;
      for (const Part& part : box.parts) told |= part.kind == Part::Kind::input;
      const ValueId v{scene_.values[w]};
      const bool known = graph_[v].type.kind != nnex::Kind::unknown;
      texts.push_back(told || !known ? "" : fitted(cleaned(graph_[v].type.text()), kLabelText, kSmall));
    }
    const bool same = std::all_of(texts.begin(), texts.end(), [&](const std::string& t) { return t == texts[0]; });
    const auto count = static_cast<double>(wires.size());
    double x = 0, span = 0;
    std::vector<double> at;
    for (size_t i = 0; i < wires.size(); ++i) {
      at.push_back(x);
      const double own = same ? 0 : width_of(texts[i], kSmall) + 10;
      span = x;
      x += std::max(own, 14.0);
    }
    if (same && count > 1) span = std::min(span, 2 * box.frame.half - 20), x = span;
    for (size_t i = 0; i < wires.size(); ++i) {
      // Wires that share a label stand close together, the label right of the last.
      const double leaves = same && count > 1   ? -span / 2 + span * static_cast<double>(i) / (count - 1)
                            : wires.size() == 1 ? 0
                                                : at[i] - std::min(x / 2, box.frame.half - 8);
      scene_.wires[wires[i]].leaves = leaves;
      const bool last = i + 1 == wires.size();
      if (texts[i].empty() || (same && !last)) continue;
      box.labels.push_back({texts[i], leaves + 5});
      box.frame.right = std::max(box.frame.right, leaves + 5 + width_of(texts[i], kSmall) + 4);
    }
    if (box.labels.empty()) return;
    box.frame.height += kLabelHeight;
    for (size_t w : wires) scene_.wires[w].rise = kLabelHeight;
  }

  // ---- Wires

  void connect() {
    const size_t n = scene_.boxes.size();
    std::map<uint32_t, std::vector<size_t>> readers;
    for (size_t b = 0; b < n; ++b)
      for (ValueId v : reads_[b]) {
        if (producer_.count(v.n))
          readers[v.n].push_back(b);
        else
          far(b, v);  // of a block around this one
      }
    for (size_t b = 0; b < n; ++b)
      for (ValueId v : makes_[b])
        if (const auto it = readers.find(v.n); it != readers.end()) {
          scene_.wires.push_back({b, 0, 0, it->second});
          scene_.values.push_back(v.n);
        }
    const std::vector<size_t> layers = layers_of(n, scene_.wires);
    std::vector<std::pair<size_t, size_t>> cut = too_far(scene_.wires, layers, 4 * n + 2000);
    for (size_t i = cut.size(); i-- > 0;) {
      Wire& wire = scene_.wires[cut[i].first];
      far(wire.to[cut[i].second], ValueId{scene_.values[cut[i].first]});
      wire.to.erase(wire.to.begin() + static_cast<ptrdiff_t>(cut[i].second));
    }
    std::vector<std::vector<size_t>> leaving(n);
    for (size_t w = 0; w < scene_.wires.size(); ++w)
      if (!scene_.wires[w].to.empty()) leaving[scene_.wires[w].from].push_back(w);
    std::vector<Frame> frames;
    for (size_t b = 0; b < n; ++b) {
      measure(b);
      if (!leaving[b].empty()) label(b, leaving[b]);
      frames.push_back(scene_.boxes[b].frame);
    }
    LayoutOptions options;
    options.aspect = content_.aspect;
    scene_.layout = lay_out(frames, scene_.wires, layers, options);
  }

  /// A wire that is not drawn is named where it ends.
  void far(size_t box, ValueId v) {
    if (scene_.boxes[box].parts.empty()) return;  // a folded group: what enters it is drawn inside
    std::string name = graph_[v].name;
    if (name.empty() && graph_[v].producer.valid()) name = name_of(graph_, graph_[v].producer).title;
    scene_.boxes[box].parts[0].lines.push_back({Line::Kind::far, "↑ " + name, v.n});
  }

  const ir::Graph& graph_;
  const Marks& marks_;
  const Content& content_;
  Scene scene_;
  std::unordered_map<uint32_t, size_t> producer_;    ///< Box by value.
  std::vector<std::vector<ValueId>> makes_, reads_;  ///< By box.
};

}  // namespace

Scene scene_of(const ir::Graph& graph, const Marks& marks, const SceneOptions& options) {
  Content content;
  content.order = graph.order();
  content.inputs = graph.inputs(), content.outputs = graph.outputs();
  content.aspect = options.aspect;
  for (size_t i = 0; i < options.repeats.size(); ++i)
    if (options.folded[i]) content.repeats.push_back(options.repeats[i]), content.repeat_numbers.push_back(i);
  return Builder(graph, marks, content).run();
}

}  // namespace nnex::drawing
