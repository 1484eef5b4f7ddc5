// Changes bytes of a snapshot, as the input says: whatever comes must be read as a graph that the verifier accepts, or
// be refused; and what was read must be written and read again. The first byte chooses the snapshot, then come a place
// and a byte, again and again; a place behind the end cuts it short.

#include <cstdlib>
#include <string>
#include <vector>

#include "graph/snapshot.h"
#include "graph/text/build.h"
#include "kernels/stored_form.h"
#include "passes/pipeline.h"

namespace {

using namespace nnex;

constexpr FormStorage kForms = {kernels::write_form, kernels::read_form};

struct Taken {
  std::string bytes, data;
};

Taken taken(const ir::Graph& graph) {
  Taken out;
  ByteWriter to;
  const auto store = [&](const Tensor& t) -> Result<uint64_t> {
    const uint64_t place = out.data.size();
    out.data.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
    out.data.resize((out.data.size() + 63) / 64 * 64);
    return place;
  };
  if (!Snapshot::write(graph, kForms, to, store).ok()) std::abort();
  out.bytes = to.bytes();
  return out;
}

/// Products, chains and blocks, optimised: what passes make is in them.
const std::vector<Taken>& snapshots() {
  static const std::vector<Taken> all = [] {
    constexpr const char* kTexts[] = {
        "graph main(x: f32[N,2], n: i64[2]) -> (y, z)\n{\n  w = f32[2,2](1.0, 2.0, 3.0, 4.0);\n  a = matmul(x, w);\n"
        "  b = relu(a);\n  c = sigmoid(x);\n  d = mul(c, x);\n  y = add(b, d);\n  z = reshape(y, n);\n}\n",
        "graph main(x: f32[3], n: i64[]) -> (s, t)\n{\n  [s, t] = loop(count = n, state = [x], body = graph (i: i64[], "
        "go: bool[], v) -> (go, u, u)\n  {\n    u = mul(v, x);\n  });\n}\n",
        "graph main(a: sequence(f32[?]), c: optional(bool[]), s: str[2]) -> (a, c, e)\n{\n"
        "  t = str[2]('a', 'b');\n  e = eq(s, t);\n}\n",
    };
    std::vector<Taken> out;
    for (const char* text : kTexts) {
      auto graph = graph_text::read_graph(text, "seed");
      if (!graph.ok()) std::abort();
      if (!passes::prepare(*graph).ok() || !passes::optimize(*graph).ok()) std::abort();
      out.push_back(taken(*graph));
    }
    return out;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Taken& from = snapshots()[data[0] % snapshots().size()];
  std::string bytes = from.bytes;
  for (size_t i = 1; i + 2 < size; i += 3) {
    const size_t at = data[i] | data[i + 1] << 8;
    if (at < bytes.size())
      bytes[at] = static_cast<char>(data[i + 2]);
    else
      bytes.resize(at % (from.bytes.size() + 1));
  }
  const auto kept = std::make_shared<const std::string>(from.data);
  ByteReader reader(bytes);
  const auto graph = Snapshot::read(reader, kForms, {*kept, kept});
  if (!graph.ok()) return 0;
  const Taken again = taken(*graph);
  const auto kept_again = std::make_shared<const std::string>(again.data);
  ByteReader second(again.bytes);
  if (!Snapshot::read(second, kForms, {*kept_again, kept_again}).ok()) std::abort();
  return 0;
}
