// Models looked at and rewritten, not run: checked, inspected, converted, drawn.

#include <set>

#include "model_calls.h"
#include "nnex/operators.h"
#include "nnex/view.h"

namespace nnex::wasm {
namespace {

/// Adds what blocks read from outside of them, each value once. `seen`: what is their own, or was added already.
void add_captures(const Graph& graph, const std::vector<BlockId>& blocks, std::set<int64_t>& seen,
                  std::vector<ValueId>& captures) {
  const auto read = [&](ValueId id) {
    if (graph.value(id).ok() && seen.insert(id.n).second) captures.push_back(id);
  };
  for (BlockId id : blocks) {
    const auto block = graph.block(id);
    if (!block.ok()) continue;
    for (ValueId parameter : block->parameters) seen.insert(parameter.n);
    for (NodeId inner : block->nodes) {
      const auto node = graph.node(inner);
      if (!node.ok()) continue;
      for (ValueId input : node->inputs) read(input);
      add_captures(graph, node->blocks, seen, captures);
      for (ValueId output : node->outputs) seen.insert(output.n);
    }
    for (ValueId result : block->results) read(result);
  }
}

/// An attribute in words; of a long one the beginning.
std::string words_of(const Attribute& attribute) {
  constexpr size_t kMost = 400;
  std::string made = text(attribute);
  if (made.size() <= kMost) return made;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(made[end]) & 0xC0) == 0x80) --end;
  return made.substr(0, end) + " ...";
}

/// Puts a network, and what is inside of its nodes.
class Outline {
 public:
  Outline(Reply& reply, const Graph& graph) : reply_(reply), graph_(graph) {}
  void put_network() { put("", {{}, graph_.inputs(), graph_.outputs(), graph_.nodes()}, {}); }

 private:
  /// `captures`: what it reads from outside.
  void put(std::string_view name, const BlockInfo& block, const std::vector<ValueId>& captures) {
    Object made(reply_);
    made.set("name", std::string(name)).with("inputs", [&] { put(block.parameters); }).with("outputs", [&] {
      put(block.results);
    });
    made.with("captures", [&] { put(captures); });
    made.with("nodes", [&] { put_each(reply_, block.nodes, [&](NodeId id) { put(id); }); });
  }
  void put(const std::vector<ValueId>& ids) {
    put_each(reply_, ids, [&](ValueId id) {
      auto value = graph_.value(id);
      Object made(reply_);
      made.set("id", value.ok() ? static_cast<int>(id.n) : -1);
      if (!value.ok()) return;
      made.set("name", value->name).set("type", value->type.text).set("constant", !value->constant.empty());
    });
  }
  void put(NodeId id) {
    const auto node = graph_.node(id);
    Object made(reply_);
    if (!node.ok()) return;
    made.set("op", node->op).set("location", node->location);
    made.with("inputs", [&] { put(node->inputs); }).with("outputs", [&] { put(node->outputs); });
    made.with("captures", [&] { put(captured(node->blocks)); });
    made.with("attributes", [&] {
      put_each(reply_, node->attributes, [&](const auto& attribute) {
        Object(reply_).set("name", attribute.first).set("text", words_of(attribute.second));
      });
    });
    const auto row = find_operator(node->op);
    made.with("blocks", [&] {
      size_t i = 0;
      put_each(reply_, node->blocks, [&](BlockId inner) {
        const auto block = graph_.block(inner);
        const std::string_view name = row.ok() && i < row->blocks.size() ? row->blocks[i] : std::string_view();
        ++i;
        put(name, block.ok() ? *block : BlockInfo(), captured({inner}));
      });
    });
  }
  std::vector<ValueId> captured(const std::vector<BlockId>& blocks) const {
    std::set<int64_t> seen;
    std::vector<ValueId> captures;
    add_captures(graph_, blocks, seen, captures);
    return captures;
  }

  Reply& reply_;
  const Graph& graph_;
};

}  // namespace

/// Values: source, options.
NNEX_EXPORT const uint8_t* nnex_check(const uint8_t* in) {
  const auto args = Reader(in).values();
  return answer(check(source_from(args[0]), load_options_from(args[1])));
}
NNEX_EXPORT const uint8_t* nnex_inspect(const uint8_t* in) {
  const auto args = Reader(in).values();
  return answer(inspect(source_from(args[0]), load_options_from(args[1])));
}
/// Values: source, options of reading, options of writing, the path where the files will lie; nothing: none. Gives the
/// files and the report.
NNEX_EXPORT const uint8_t* nnex_convert(const uint8_t* in) {
  const auto args = Reader(in).values();
  const std::string* path = args[3].string();
  auto made = convert_to_bytes(source_from(args[0]), {load_options_from(args[1]), save_options_from(args[2]), {}},
                               path ? *path : std::string());
  if (!made.ok()) return bad(made.error());
  kept().files = std::move(made->files);
  Reply& reply = good();
  put(reply, kept().files);
  put(reply, made->report);
  return reply.done();
}

/// Values: source, options. The network as something to draw, of a broken model of ONNX what can be read: values have
/// numbers, constants are told of with their readers.
NNEX_EXPORT const uint8_t* nnex_outline(const uint8_t* in) {
  const auto args = Reader(in).values();
  const auto graph = drawn_graph(source_from(args[0]), load_options_from(args[1]));
  if (!graph.ok()) return bad(graph.error());
  Reply& reply = good();
  Outline(reply, *graph).put_network();
  return reply.done();
}

}  // namespace nnex::wasm
