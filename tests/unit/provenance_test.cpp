// What a graph's reader learnt, as metadata properties and back.

#include "graph/provenance.h"

#include <gtest/gtest.h>

namespace nnex {
namespace {

Provenance everything() {
  Provenance p;
  p.bits = {{"w", 8}, {"two\nlines \\", 32}, {"", 1}};
  p.quantization = "\"x\": linear_quantize(min = 0.0, max = 1.0, bits = 8);\n";
  p.nnef.emplace();
  p.nnef->labels = {{"a b", "layer/filter"}, {"c", "c"}};
  p.nnef->document = "version 1.0;\n";
  p.nnef->integers32 = true;
  p.cvm.emplace();
  p.cvm->version = "cvm_1.1.0", p.cvm->postprocess = "argmax";
  p.cvm->gas = 4400, p.cvm->storage_bytes = 12, p.cvm->input_bits = 8, p.cvm->head_bits = {17, 32};
  p.cvm->widths = {{"w", 32}};
  return p;
}

TEST(Provenance, ComesBackFromProperties) {
  Properties properties = properties_of(everything());
  EXPECT_EQ(properties.size(), 11u);
  properties.emplace(properties.begin(), "author", "somebody");
  Provenance back;
  take_provenance(properties, back);
  EXPECT_EQ(properties, (Properties{{"author", "somebody"}}));
  EXPECT_EQ(properties_of(back), properties_of(everything()));
  EXPECT_EQ(back.bits, everything().bits);
  EXPECT_EQ(back.nnef->labels, everything().nnef->labels);
  EXPECT_EQ(back.cvm->head_bits, (Ints{17, 32}));
  EXPECT_EQ(back.cvm->widths, everything().cvm->widths);
}

TEST(Provenance, OfNothingIsNothing) {
  EXPECT_TRUE(properties_of({}).empty());
  Properties none;
  Provenance p;
  take_provenance(none, p);
  EXPECT_FALSE(p.nnef || p.cvm);
}

TEST(Provenance, OtherTextsOfItsNamesStay) {
  for (const auto& [name, text] : Properties{{"integer.bits", "eight w"},
                                             {"integer.bits", "5000 w"},
                                             {"integer.bits", ""},
                                             {"nnef.integers", "i64"},
                                             {"nnef.variables", "nothing"},
                                             {"cvm.gas", "12 and more"},
                                             {"cvm.gas", "99999999999999999999"},
                                             {"cvm.bits", "8,9"},
                                             {"cvm.more", "1"}}) {
    SCOPED_TRACE(name + " = " + text);
    Properties properties = {{name, text}};
    Provenance p;
    take_provenance(properties, p);
    EXPECT_EQ(properties, (Properties{{name, text}}));
    EXPECT_TRUE(properties_of(p).empty());
  }
}

}  // namespace
}  // namespace nnex
