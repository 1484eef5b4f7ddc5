// A scene as SVG.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/view/drawing.h"
#include "api/view/words.h"

namespace nnex::drawing {
namespace {

double tenth(double x) { return std::round(x * 10) / 10 + 0.0; }

std::string pair_text(Point p) { return fmt::format("{:g} {:g}", tenth(p.x), tenth(p.y)); }

/// Straight parts with rounded corners, the others as curves that begin and end vertically.
void append_path(const Stroke& stroke, std::string& out) {
  constexpr double kRadius = 6;
  if (stroke.size() < 2) return;
  out += "M" + pair_text(stroke[0]);
  const auto straight = [](Point a, Point b) { return a.x == b.x || a.y == b.y; };
  for (size_t i = 1; i < stroke.size(); ++i) {
    const Point a = stroke[i - 1], b = stroke[i];
    if (!straight(a, b)) {
      const double middle = (a.y + b.y) / 2;
      out += "C" + pair_text({a.x, middle}) + " " + pair_text({b.x, middle}) + " " + pair_text(b);
      continue;
    }
    const bool corner = i + 1 < stroke.size() && straight(b, stroke[i + 1]) && (a.x == b.x) != (b.x == stroke[i + 1].x);
    if (!corner) {
      out += "L" + pair_text(b);
      continue;
    }
    const Point c = stroke[i + 1];
    const double in = std::abs(a.x - b.x) + std::abs(a.y - b.y), next = std::abs(c.x - b.x) + std::abs(c.y - b.y);
    const double r = std::min({kRadius, in / 2, next / 2});
    const auto toward = [&](Point from, Point to, double length) {
      return length == 0 ? from : Point{from.x + (to.x - from.x) / length * r, from.y + (to.y - from.y) / length * r};
    };
    out += "L" + pair_text(toward(b, a, in)) + "Q" + pair_text(b) + " " + pair_text(toward(b, c, next));
  }
}

void append_text(double x, double y, std::string_view text, double size, bool bold, std::string_view style,
                 std::string& out) {
  if (text.empty()) return;
  out += fmt::format(
      "<text class=\"{}\" x=\"{:g}\" y=\"{:g}\" textLength=\"{:g}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>", style,
      tenth(x), tenth(y), tenth(width_of(text, size, bold)), escaped(text));
}

/// A rectangle, its upper or lower corners round.
std::string rounded(double x, double y, double w, double h, bool top, bool bottom) {
  const double r = 5, a = top ? r : 0, b = bottom ? r : 0;
  std::string out = fmt::format("M{:g} {:g}", tenth(x), tenth(y + a));
  if (top) out += fmt::format("a{0} {0} 0 0 1 {0} -{0}", a);
  out += fmt::format("h{:g}", tenth(w - 2 * a));
  if (top) out += fmt::format("a{0} {0} 0 0 1 {0} {0}", a);
  out += fmt::format("v{:g}", tenth(h - a - b));
  if (bottom) out += fmt::format("a{0} {0} 0 0 1 -{0} {0}", b);
  out += fmt::format("h{:g}", -tenth(w - 2 * b));
  if (bottom) out += fmt::format("a{0} {0} 0 0 1 -{0} -{0}", b);
  return out + "z";
}

std::string_view style_of(Line::Kind kind) {
  switch (kind) {
    case Line::Kind::name:
      return "name";
    case Line::Kind::weight:
      return "weight";
    case Line::Kind::far:
      return "far";
    case Line::Kind::time:
      return "time";
    case Line::Kind::fault:
      return "flaw";
    default:
      return "line";
  }
}

class Drawer {
 public:
  Drawer(const ir::Graph& graph, std::string& out) : graph_(graph), out_(out) {}

  void scene(const Scene& scene) {
    for (size_t w = 0; w < scene.wires.size(); ++w) wire(scene, w);
    for (size_t b = 0; b < scene.boxes.size(); ++b) box(scene, b);
  }

 private:
  void wire(const Scene& scene, size_t w) {
    const Wire& wire = scene.wires[w];
    if (wire.to.empty()) return;
    std::string path, tips;
    for (const Stroke& stroke : scene.layout.strokes[w]) append_path(stroke, path);
    for (const Point p : scene.layout.tips[w]) tips += "M" + pair_text(p) + "l-3 -6h6z";
    out_ +=
        fmt::format("<path class=\"wire\" data-v=\"{0}\" d=\"{1}\"/><path class=\"tip\" data-v=\"{0}\" d=\"{2}\"/>\n",
                    scene.values[w], path, tips);
  }

  void box(const Scene& scene, size_t b) {
    const Box& box = scene.boxes[b];
    const Point at = scene.layout.frames[b];
    const double half = box.frame.half, x = at.x - half;
    for (const Label& label : box.labels)
      append_text(at.x + label.x, at.y + box.height + 12, label.text, 10.5, false, "label", out_);
    out_ += fmt::format("<g class=\"box\" transform=\"translate({:g} {:g})\">", tenth(x), tenth(at.y));
    const Part* first = box.parts.empty() ? nullptr : &box.parts[0];
    const bool pill = first && first->kind != Part::Kind::node;
    if (!pill)
      out_ += fmt::format("<rect class=\"body{}\" width=\"{:g}\" height=\"{:g}\" rx=\"5\"/>",
                          box.inner.empty() ? "" : " group", tenth(2 * half), tenth(box.height));
    for (size_t i = 0; i < box.parts.size(); ++i)
      part(box, box.parts[i], i == 0, i + 1 == box.parts.size() && box.inner.empty());
    if (box.copies > 0) {
      const std::string title = fmt::format("×{}", box.copies);
      out_ += fmt::format("<g class=\"fold\" data-r=\"{}\" data-copies=\"{}\"><path class=\"band\" d=\"{}\"/>",
                          box.repeat, box.copies, rounded(0, 0, 2 * half, 22, true, false));
      append_text(half - width_of(title, 12, true) / 2, 15.5, title, 12, true, "times", out_);
      out_ += "</g>";
    }
    for (const Inner& inner : box.inner) {
      if (!inner.title.empty()) append_text(inner.x, inner.y - 5, inner.title, 10.5, false, "block", out_);
      out_ += fmt::format("<g transform=\"translate({:g} {:g})\">", tenth(inner.x), tenth(inner.y));
      this->scene(box.scenes[inner.scene]);
      out_ += "</g>";
    }
    out_ += "</g>\n";
  }

  void part(const Box& box, const Part& part, bool first, bool last) {
    const double width = 2 * box.frame.half;
    const bool node = part.kind == Part::Kind::node;
    out_ +=
        fmt::format("<g class=\"{} {}{}\" data-{}=\"{}\"><title>{}</title>",
                    node                               ? "op"
                    : part.kind == Part::Kind::missing ? "end missing"
                                                       : "end",
                    node ? fmt::format("c{}", static_cast<int>(part.category)) : "cend", part.faulty ? " faulty" : "",
                    node                              ? "n"
                    : part.kind == Part::Kind::output ? "out"
                                                      : "in",
                    part.id, escaped(about(part)));
    if (node)
      out_ += fmt::format(
          "<path class=\"head\" d=\"{}\"/>",
          rounded(0, part.top, width, part.lines.empty() ? part.height : 22, first, last && part.lines.empty()));
    else
      out_ += fmt::format("<rect class=\"pill\" width=\"{:g}\" height=\"{:g}\" rx=\"{:g}\"/>", tenth(width),
                          tenth(part.height), std::min(part.height / 2, 14.0));
    const double title = width_of(part.title, 12, true);
    append_text(node ? 8 : (width - title) / 2, part.top + 15.5, part.title, 12, true, "title", out_);
    double y = part.top + 22;
    for (const Line& line : part.lines) {
      if (line.kind == Line::Kind::time)
        out_ += fmt::format("<rect class=\"heat h{}\" x=\"1\" y=\"{:g}\" width=\"{:g}\" height=\"14\"/>", line.heat,
                            tenth(y + 2), tenth(width - 2));
      const double x = node ? 8 : (width - width_of(line.text, 10.5)) / 2;
      append_text(x, y + 12, line.text, 10.5, false, style_of(line.kind), out_);
      y += 14;
    }
    out_ += "</g>";
  }

  /// What a pointer that rests on a part is told, and readers of the screen.
  std::string about(const Part& part) const {
    if (part.kind != Part::Kind::node) {
      const ValueDef& value = graph_[ValueId{part.id}];
      const char* kind = part.kind == Part::Kind::output    ? "output"
                         : part.kind == Part::Kind::missing ? "missing value"
                                                            : "input";
      return fmt::format("{} {}: {}", kind, fitted(cleaned(value.name), 2000, 12), cleaned(shown_type(value)));
    }
    const NodeName said = name_of(graph_, NodeId{part.id});
    return fmt::format("{} {}", cleaned(said.title), fitted(cleaned(said.name), 2000, 12));
  }

  const ir::Graph& graph_;
  std::string& out_;
};

}  // namespace

void draw(const ir::Graph& graph, const Scene& scene, std::string& out) { Drawer(graph, out).scene(scene); }

std::string svg_of(const ir::Graph& graph, const Scene& scene, const std::string& title) {
  const double margin = 16;
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"network\" "
      "width=\"{0:g}\" "
      "height=\"{1:g}\" viewBox=\"{2:g} {2:g} {0:g} {1:g}\" role=\"img\">\n<title>{3}</title>\n<style>{4}\n.network {{ "
      "background: var(--page); }}</style>\n",
      tenth(scene.layout.width + 2 * margin), tenth(scene.layout.height + 2 * margin), -margin, escaped(cleaned(title)),
      picture_style());
  draw(graph, scene, out);
  return out + "</svg>\n";
}

}  // namespace nnex::drawing
