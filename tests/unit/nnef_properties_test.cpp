// Metadata of a graph in the comments behind an NNEF document.

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/precision.h"
#include "standards/nnef/properties.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {
namespace {

Properties properties_of(std::string_view document) {
  ir::Graph graph;
  read_property_lines(document, graph);
  return graph.meta.properties;
}

TEST(NnefProperties, AreWrittenAndRead) {
  ir::Graph graph;
  graph.meta.properties = {{"author", "A 'B' \\ C"}, {"two lines", "1\n2\r"}, {"", "\xc3\xbc"}};
  graph.provenance.nnef.emplace().labels = {{"w", "w"}};  // the document says it by itself
  const std::string lines = property_lines(graph, {});
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3) << lines;
  EXPECT_EQ(properties_of("version 1.0;\ngraph ...\n}\n\n" + lines),
            (Properties{{"author", "A 'B' \\ C"}, {"two lines", "1\n2\r"}, {"", "\xc3\xbc"}}));
}

TEST(NnefProperties, OtherCommentsArePassedOver) {
  const std::string line = "# nnex.property 'a' = 'b'";
  const struct {
    const char* name;
    std::string document;
    size_t found;
  } rows[] = {
      {"nothing", "", 0},
      {"one line end", "\n", 0},
      {"the line alone", line, 1},
      {"with others", "}\n# x\n" + line + "\n#\n\n# y", 1},
      {"lines that end in two characters", "}\r\n" + line + "\r\n\r\n", 1},
      {"before the document's end", line + "\n}\n", 0},
      {"no value", "}\n# nnex.property 'a'\n", 0},
      {"no end of a string", "}\n# nnex.property 'a' = 'b\n", 0},
      {"an escape at the end", "}\n# nnex.property 'a' = 'b\\", 0},
      {"an unknown escape", "}\n# nnex.property 'a' = '\\q'\n", 0},
      {"more behind it", "}\n" + line + " x\n", 0},
      {"of the reader's own", "}\n# nnex.property 'nnef.document' = 'x'\n", 0},
      {"a name of nothing", "}\n# nnex.name a = 'b'\n# nnex.name\n# nnex.name a\n", 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(properties_of(row.document).size(), row.found);
  }
}

TEST(NnefProperties, NamesOfParametersComeBack) {
  ir::Graph graph;
  const ValueId w = graph.add_constant(Tensor::of<int32_t>(Shape{1}, {1}), "a b:w");
  const ValueId other = graph.add_constant(Tensor::of<int32_t>(Shape{1}, {1}), "a b:c");
  graph.provenance.bits = {{"a b:w", 8}};
  const std::string lines = property_lines(graph, {{w.n, "a_b_w"}, {other.n, "a_b_c"}});
  ir::Graph back;
  back.add_constant(Tensor::of<int32_t>(Shape{1}, {1}), "a_b_w");
  back.add_constant(Tensor::of<int32_t>(Shape{1}, {1}), "a_b_c");
  back.provenance.nnef.emplace().labels = {{"a_b_c", "c"}, {"a_b_w", "w"}};
  read_property_lines("}\n" + lines, back);
  EXPECT_EQ(back[ValueId{0}].name, "a b:w");
  EXPECT_EQ(back[ValueId{1}].name, "a_b_c");
  EXPECT_EQ(back.provenance.bits, graph.provenance.bits);
  EXPECT_EQ(back.provenance.nnef->labels.at("a b:w"), "w");
  EXPECT_EQ(back.provenance.nnef->labels.at("a_b_c"), "c");
}

}  // namespace
}  // namespace nnex::nnef_format
