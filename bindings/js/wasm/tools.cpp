// Models looked at and rewritten, not run: checked, inspected, converted, drawn.

#include "model_calls.h"

namespace nnex::wasm {

/// Values: source, options.
NNEX_EXPORT const uint8_t* nnex_check(const uint8_t* in) {
  const auto args = Reader(in).values();
  return answer(check(source_from(args[0]), load_options_from(args[1])));
}
NNEX_EXPORT const uint8_t* nnex_inspect(const uint8_t* in) {
  const auto args = Reader(in).values();
  return answer(inspect(source_from(args[0]), load_options_from(args[1])));
}
/// Values: source, options of reading, options of writing.
NNEX_EXPORT const uint8_t* nnex_convert(const uint8_t* in) {
  const auto args = Reader(in).values();
  const SaveOptions save = save_options_from(args[2]);
  auto graph = load_graph(source_from(args[0]), load_options_from(args[1]));
  if (!graph.ok()) return bad(graph.error());
  auto made = to_bytes(*graph, save.format.value_or(Format::onnx), save);
  if (!made.ok()) return bad(made.error());
  kept().files = std::move(*made);
  Reply& reply = good();
  put(reply, kept().files);
  return reply.done();
}

/// Values: source, options. The network as something to draw: values have numbers, constants are told of with their
/// readers.
NNEX_EXPORT const uint8_t* nnex_outline(const uint8_t* in) {
  const auto args = Reader(in).values();
  auto graph = load_graph(source_from(args[0]), load_options_from(args[1]));
  if (!graph.ok()) return bad(graph.error());
  (void)graph->infer();  // what cannot be inferred has no type in the drawing
  const auto ends = [&](Reply& reply, const std::vector<ValueId>& ids) {
    put_each(reply, ids, [&](ValueId id) {
      auto value = graph->value(id);
      Object made(reply);
      made.set("id", value.ok() ? static_cast<int>(id.n) : -1);
      if (!value.ok()) return;
      made.set("name", value->name).set("type", value->type.text).set("constant", !value->constant.empty());
    });
  };
  const std::vector<NodeId> nodes = graph->nodes();
  Reply& reply = good();
  {
    Object outline(reply);
    outline.with("inputs", [&] { ends(reply, graph->inputs()); });
    outline.with("outputs", [&] { ends(reply, graph->outputs()); });
    outline.with("nodes", [&] {
      put_each(reply, nodes, [&](NodeId id) {
        const auto node = graph->node(id);
        Object made(reply);
        if (!node.ok()) return;
        made.set("op", node->op).set("location", node->location).set("blocks", node->blocks.size());
        made.with("inputs", [&] { ends(reply, node->inputs); }).with("outputs", [&] { ends(reply, node->outputs); });
      });
    });
  }
  return reply.done();
}

}  // namespace nnex::wasm
