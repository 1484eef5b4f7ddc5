#pragma once
// A scene as SVG and DOT, and all of a drawing as a page.

#include <optional>
#include <string>
#include <vector>

#include "api/view/scene.h"
#include "nnex/check.h"

namespace nnex::drawing {

/// The elements of a scene, its colours told by classes (page.css).
void draw(const ir::Graph& graph, const Scene& scene, std::string& out);
/// A whole SVG file.
std::string svg_of(const ir::Graph& graph, const Scene& scene, const std::string& title);
/// A text for Graphviz.
std::string dot_of(const ir::Graph& graph, const Scene& scene, const std::string& title);

/// What a page says beside its pictures.
struct Told {
  std::string title, standard;
  std::vector<Fault> faults;
  std::vector<std::string> notes;
  bool weights = true;  ///< Those that the model has; false: it came without them.
};

/// One picture of a page: which repeats are folded in it.
struct Variant {
  std::vector<bool> folded;
  Scene scene;
};

/// One HTML file that needs nothing else.
std::string page_of(const ir::Graph& graph, const Marks& marks, const std::vector<Repeat>& repeats,
                    const std::vector<Variant>& variants, const Told& told);

/// The style of pictures, and what the page adds.
std::string_view picture_style();
std::string_view page_style();
std::string_view page_script();

}  // namespace nnex::drawing
