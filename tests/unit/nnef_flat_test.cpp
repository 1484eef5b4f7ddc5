// Statements that are plain calls are read without tokens. What they mean, and which faults are found, must not depend
// on that: a text with a map of places goes through the parser alone.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.h"
#include "standards/nnef/import_calls.h"
#include "stored.h"

namespace nnex::nnef_format {
namespace {

std::string shown(const Arg& a) {
  switch (a.kind()) {
    case Arg::Kind::logical:
      return a.logical() ? "true" : "false";
    case Arg::Kind::integer:
      return fmt::to_string(a.integer());
    case Arg::Kind::scalar:
      return fmt::format("{:a}", a.scalar());
    case Arg::Kind::string:
      return fmt::format("'{}'", a.text());
    case Arg::Kind::tensor:
      return fmt::format("%{}", a.tensor().n);
    default:
      break;
  }
  std::string out = a.is(Arg::Kind::array) ? "[" : "(";
  if (a.is_list())
    for (const Arg& item : a.items()) out += shown(item) + ",";
  return out + "]";
}

/// Notes all that a document comes down to.
class Notes : public ShapeChecker {
 public:
  void operation(const Operation& op, Tensors& tensors, Faults& faults) override {
    ShapeChecker::operation(op, tensors, faults);
    text += fmt::format("{} {}<{}>", op.places->place(), op.declaration->name, static_cast<int>(op.generic));
    for (const Arg& a : op.args) text += " " + shown(a);
    for (const Arg& a : op.results) {
      text += " -> " + shown(a);
      if (!a.is_tensor()) continue;
      const TensorInfo& t = tensors[a.tensor()];
      text += fmt::format(" {} {} [{}]", t.name, static_cast<int>(t.type), fmt::join(t.extents, ","));
    }
    text += "\n";
  }
  void assigned(std::string_view name, TensorId id, Tensors&) override {
    text += fmt::format("{} = %{}\n", name, id.n);
  }
  std::string text;
};

std::string outcome(const std::string& source, bool flat) {
  graph_text::PlaceMap places;
  graph_text::Position at;
  for (size_t i = 0; i <= source.size() && !flat; ++i) {
    places.add(i, at);
    if (i < source.size() && source[i] == '\n')
      at = {at.line + 1, 1};
    else
      ++at.column;
  }
  EvaluateOptions options;
  if (!flat) options.places = &places;
  Notes notes;
  Tensors tensors;
  Faults faults;
  evaluate(source, "g.nnef", notes, tensors, faults, options);
  // The parser looks two tokens ahead, so that faults of the next statement's first words may come before others.
  std::vector<std::string> texts;
  for (const Error& e : faults.list()) texts.push_back(e.text() + "\n");
  std::sort(texts.begin(), texts.end());
  for (const std::string& t : texts) notes.text += t;
  return notes.text + fmt::format("{} faults", faults.count());
}

const char* const kText = R"(version 1.0;
extension KHR_enable_fragment_definitions;
fragment mine(x: tensor<scalar>, k: scalar = 2.0) -> (y: tensor<scalar>) { y = mul(x, k); }
# a comment
graph g(x, n) -> (out, last)
{
  x = external(shape = [1, 2, 4]);
  n = external<integer>(shape = []);  # a number
  w = variable(shape = [2, 2, 1], label = 'a/w'); b = variable<scalar>(shape=[1,2],label="b");
  i = variable<integer>(shape = [3], label = 'i');
  c = conv(x, w, b, padding = [(0, 0)], stride = [1],
           border = 'constant');   # in two lines
  d = add(c, -1.5e-3);
  e = mul(2.0, d);
  f = mine(e, k = 3.0);
  [p, q] = split(f, axis = 1, ratios = [1, 1]);
  r = concat([p, q, p], axis = 1);
  (v, j) = max_pool_with_index(r, size = [1, 1, 2], border = 'ignore', padding = [(0,0),(0,0),(0,0)]);
  k = constant<integer>(shape = [2], value = [-1, +2]);
  l = constant(shape = [2], value = [1.0, -2.0]);
  m = clamp(x, 0.0, 1.0);
  s = slice(x, axes = [2], begin = [1], end = [-1]);
  t = select(lt(x, 0.0), x, m);
  u = update(b, l);
  z = pad(x, padding = [(0, 0), (0, 0), (1, 1)], value = 0.5);
  out = softmax(z, axes = [1]);
  last = copy(out);
}
)";

TEST(NnefFlat, ATextMeansTheSame) {
  const std::string text = kText;
  EXPECT_EQ(outcome(text, true), outcome(text, false));
  EXPECT_NE(outcome(text, true).find("conv"), std::string::npos);
}

TEST(NnefFlat, ChangedTextsHaveTheSameFaults) {
  const std::string whole = kText;
  const std::string_view with[] = {"",
                                   ";",
                                   ",",
                                   "(",
                                   ")",
                                   "[",
                                   "]",
                                   "=",
                                   "'",
                                   "\"",
                                   "\\",
                                   "\n",
                                   "#",
                                   "-",
                                   "+",
                                   "1",
                                   "1.",
                                   "e",
                                   "1e",
                                   "1e99",
                                   "x",
                                   "x ",
                                   " ",
                                   "<",
                                   ">",
                                   "?",
                                   "\xc3",
                                   "//",
                                   "9999999999999999999",
                                   ".5",
                                   "true",
                                   "none",
                                   "graph",
                                   "}",
                                   "=="};
  uint32_t state = 7;
  const auto below = [&](size_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; };
  const size_t body = whole.find('{', whole.find("graph g"));
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (size_t times = 1 + below(2); times > 0; --times) {
      const size_t at = body + below(text.size() - body);
      text.replace(at, below(3), with[below(std::size(with))]);
    }
    const std::string got = outcome(text, true), want = outcome(text, false);
    if (got != want) FAIL() << text << "\n--- without tokens:\n" << got << "\n--- by the parser:\n" << want;
  }
}

TEST(NnefFlat, TheConformanceSetMeansTheSame) {
  const auto folder = stored::shared() / "conformance/nnef";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the conformance sets are not here (NNEX_SHARED)";
  int texts = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".nnef" || !entry.is_regular_file()) continue;
    auto file = MappedFile::open(entry.path().string(), MapPolicy::never);
    ASSERT_TRUE(file.ok()) << file.error().text();
    const std::string text(file->bytes());
    ++texts;
    EXPECT_EQ(outcome(text, true), outcome(text, false)) << entry.path();
  }
  EXPECT_GE(texts, 559);
}

}  // namespace
}  // namespace nnex::nnef_format
