/* Walks a network: every node with its attributes and what it reads and makes, blocks inside their owners.
 *
 *     cc walk.c -lnnex -o walk && ./walk model.onnx
 */
#include <stdio.h>

#include "nnex.h"

static void print_values(size_t count, const nnex_node* node,
                         const nnex_port* (*value)(const nnex_node* node, size_t index)) {
  size_t i;
  for (i = 0; i < count; ++i) {
    const nnex_port* port = value(node, i);
    if (!port)
      printf(" -");
    else if (nnex_port_is_constant(port))
      printf(" constant:%s", nnex_port_type(port));
    else
      printf(" %s:%s", nnex_port_name(port), nnex_port_type(port));
  }
}

/* Networks nest as deep as their files say, and readers limit that. */
static void print_block(const nnex_block* block, int depth) {
  size_t i, k;
  for (i = 0; i < nnex_block_nodes(block); ++i) {
    const nnex_node* node = nnex_block_node(block, i);
    printf("%*s%s", 2 * depth, "", nnex_node_op(node));
    for (k = 0; k < nnex_node_attributes(node); ++k) {
      const nnex_attribute* a = nnex_node_attribute(node, k);
      printf(" %s=%s", nnex_attribute_key(a), nnex_attribute_shown(a));
    }
    printf(" <-");
    print_values(nnex_node_inputs(node), node, nnex_node_input);
    printf(" ->");
    print_values(nnex_node_outputs(node), node, nnex_node_output);
    printf("\n");
    for (k = 0; k < nnex_node_blocks(node); ++k) print_block(nnex_node_block(node, k), depth + 1);
  }
}

int main(int argc, char** argv) {
  nnex_source* source = NULL;
  nnex_graph* graph = NULL;
  nnex_error* e;
  if (argc != 2) return fprintf(stderr, "usage: walk MODEL\n"), 2;
  e = nnex_source_path(argv[1], &source);
  if (!e) e = nnex_graph_load(source, NULL, &graph);
  if (!e) print_block(nnex_graph_network(graph), 0);
  if (e) fprintf(stderr, "%s\n", nnex_error_text(e));
  nnex_graph_free(graph);
  nnex_source_free(source);
  nnex_error_free(e);
  return e ? 1 : 0;
}
