#ifndef NNEX_GRAPH_H
#define NNEX_GRAPH_H
/* Graphs in C (C99), walked: blocks, nodes, their attributes, and the values between them; and their constants, set.
 *
 *     for (i = 0; (node = nnex_graph_node(graph, i)); ++i)
 *       printf("%s makes %s\n", nnex_node_op(node), nnex_port_name(nnex_node_output(node, 0)));
 *
 * Everything that is asked of a graph lives as long as it, is freed by nobody but with it, and may be asked from any
 * number of threads at once. The first such question of a graph looks at all of it; where there is no memory for that,
 * the answers are those of NULL. A value is the same nnex_port wherever it appears in a graph, as nnex_graph_input and
 * nnex_graph_output give it too. NULL, and an index that is too large, give NULL, 0 or false. */

#include "nnex.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnex_node nnex_node;   /* One operation. */
typedef struct nnex_block nnex_block; /* Nodes in order: the network, or what a node repeats or chooses. */
typedef struct nnex_attribute nnex_attribute;

/* ---- Blocks ---- */

NNEX_C_API const nnex_block* nnex_graph_network(const nnex_graph* graph);
/* The node that the block belongs to; NULL: it is the network. */
NNEX_C_API const nnex_node* nnex_block_owner(const nnex_block* block);
NNEX_C_API size_t nnex_block_nodes(const nnex_block* block);
NNEX_C_API const nnex_node* nnex_block_node(const nnex_block* block, size_t index);
/* What comes in and goes out; of the network those of its states are the last. */
NNEX_C_API size_t nnex_block_parameters(const nnex_block* block);
NNEX_C_API const nnex_port* nnex_block_parameter(const nnex_block* block, size_t index);
NNEX_C_API size_t nnex_block_results(const nnex_block* block);
NNEX_C_API const nnex_port* nnex_block_result(const nnex_block* block, size_t index);

/* ---- Nodes ---- */

/* Of the network, in order; those of its blocks are reached through their owners. */
NNEX_C_API const nnex_node* nnex_graph_node(const nnex_graph* graph, size_t index);
/* The operator, by the name that `nnex ops` lists: "conv"; of a custom one, or a call of a function of the model, its
 * own: "Rotate". */
NNEX_C_API const char* nnex_node_op(const nnex_node* node);
/* Whether nnex lacks the operator; "com.example", "" of all others. */
NNEX_C_API bool nnex_node_custom(const nnex_node* node);
NNEX_C_API const char* nnex_node_domain(const nnex_node* node);
/* Where the author's file has it: "node 'conv1' (Conv)"; "": nobody knows. */
NNEX_C_API const char* nnex_node_place(const nnex_node* node);
/* In the order of the operator's ports; NULL: absent, or an output that nobody named. */
NNEX_C_API size_t nnex_node_inputs(const nnex_node* node);
NNEX_C_API const nnex_port* nnex_node_input(const nnex_node* node, size_t index);
NNEX_C_API size_t nnex_node_outputs(const nnex_node* node);
NNEX_C_API const nnex_port* nnex_node_output(const nnex_node* node, size_t index);
/* Blocks that it owns: branches of if_else, bodies of loops; and the one that it stands in. */
NNEX_C_API size_t nnex_node_blocks(const nnex_node* node);
NNEX_C_API const nnex_block* nnex_node_block(const nnex_node* node, size_t index);
NNEX_C_API const nnex_block* nnex_node_parent(const nnex_node* node);
/* All attributes of the operator, defaults too; one of them by its key, NULL: there is none. */
NNEX_C_API size_t nnex_node_attributes(const nnex_node* node);
NNEX_C_API const nnex_attribute* nnex_node_attribute(const nnex_node* node, size_t index);
NNEX_C_API const nnex_attribute* nnex_node_attribute_named(const nnex_node* node, const char* key);

/* ---- Attributes ---- */

typedef enum nnex_attribute_type {
  NNEX_ATTRIBUTE_NONE = 0, /* Of NULL. */
  NNEX_ATTRIBUTE_BOOL = 1,
  NNEX_ATTRIBUTE_INT = 2,
  NNEX_ATTRIBUTE_REAL = 3,
  NNEX_ATTRIBUTE_TEXT = 4, /* Words of an enumeration too. */
  NNEX_ATTRIBUTE_INTS = 5,
  NNEX_ATTRIBUTE_REALS = 6,
  NNEX_ATTRIBUTE_TEXTS = 7,
  NNEX_ATTRIBUTE_PAIRS = 8, /* (before, after) or (begin, end), one an axis. */
  NNEX_ATTRIBUTE_DTYPE = 9,
  NNEX_ATTRIBUTE_TENSOR = 10
} nnex_attribute_type;

NNEX_C_API const char* nnex_attribute_key(const nnex_attribute* attribute);
NNEX_C_API nnex_attribute_type nnex_attribute_kind(const nnex_attribute* attribute);
/* For people: "[1,2]", "0.5", "'reflect'", "f32". */
NNEX_C_API const char* nnex_attribute_shown(const nnex_attribute* attribute);
/* What it holds. A whole number counts as a real, a truth value as 0 or 1, an empty list as one of any kind. Error:
 * NNEX_INVALID_ARGUMENT, another kind: found and needed. */
NNEX_C_API nnex_error* nnex_attribute_bool(const nnex_attribute* attribute, bool* out);
NNEX_C_API nnex_error* nnex_attribute_int(const nnex_attribute* attribute, int64_t* out);
NNEX_C_API nnex_error* nnex_attribute_real(const nnex_attribute* attribute, double* out);
NNEX_C_API nnex_error* nnex_attribute_text(const nnex_attribute* attribute, const char** out);
NNEX_C_API nnex_error* nnex_attribute_ints(const nnex_attribute* attribute, const int64_t** out, size_t* count);
NNEX_C_API nnex_error* nnex_attribute_reals(const nnex_attribute* attribute, const double** out, size_t* count);
NNEX_C_API nnex_error* nnex_attribute_texts(const nnex_attribute* attribute, const char* const** out, size_t* count);
/* `count` pairs, twice as many numbers: before, after, before, after. */
NNEX_C_API nnex_error* nnex_attribute_pairs(const nnex_attribute* attribute, const int64_t** out, size_t* count);
NNEX_C_API nnex_error* nnex_attribute_dtype(const nnex_attribute* attribute, nnex_dtype* out);
/* A new handle, the caller's. */
NNEX_C_API nnex_error* nnex_attribute_tensor(const nnex_attribute* attribute, nnex_value** out);

/* ---- Values of a graph ----
 *
 * Names are the author's and may be "". Types are those of the file, or what follows from it. Of an nnex_port that is
 * no graph's (of a model, an inspection) nothing below is known. */

/* The value of that name, in the network first, then in its blocks; NULL: no node reads, makes or gives one. */
NNEX_C_API const nnex_port* nnex_graph_find(const nnex_graph* graph, const char* name);
/* The node that makes it, and as which of its outputs (may be NULL); NULL: an input, a parameter or a constant. */
NNEX_C_API const nnex_node* nnex_port_producer(const nnex_port* value, size_t* output);
/* The block whose parameter it is (of an input the network); NULL: of none. */
NNEX_C_API const nnex_block* nnex_port_parameter_of(const nnex_port* value);
/* Who reads it, in no order: input `at` of `node`, or (`node` NULL) result `at` of `block`. Any pointer may be NULL.
 * False: no such user. */
NNEX_C_API size_t nnex_port_users(const nnex_port* value);
NNEX_C_API bool nnex_port_user(const nnex_port* value, size_t index, const nnex_node** node, const nnex_block** block,
                               size_t* at);
/* Whether it is a constant, and a new handle to its content, the caller's. Error: NNEX_INVALID_ARGUMENT (it is none).
 */
NNEX_C_API bool nnex_port_is_constant(const nnex_port* value);
NNEX_C_API nnex_error* nnex_port_constant(const nnex_port* value, nnex_value** out);

/* ---- The whole ---- */

/* What a session keeps from run to run: under which label, what it is when a run begins and what the run makes of it.
 * Any pointer may be NULL. False: no such state. */
NNEX_C_API size_t nnex_graph_states(const nnex_graph* graph);
NNEX_C_API bool nnex_graph_state(const nnex_graph* graph, size_t index, const char** label, const nnex_port** before,
                                 const nnex_port** after);
/* Symbols of extents, in the order in which the inputs have them, and functions that the model defines
 * ("domain:name"); NULL past the last. */
NNEX_C_API const char* nnex_graph_symbol(const nnex_graph* graph, size_t index);
NNEX_C_API const char* nnex_graph_function(const nnex_graph* graph, size_t index);

/* ---- Constants ----
 *
 *     e = nnex_graph_parse("graph net(x: f32[N,3], w: f32[3,2]) -> (y) { y = matmul(x, w); }", NULL, &text);
 *     if (!e) e = nnex_graph_set_constants(text, (const char*[]){"w"}, &weights, 1, &graph);
 */

/* The values of these names (inputs, constants, or what nodes make) become these tensors, whose bytes are shared: a
 * graph is made from a text without its weights, or gets others. An input so given is none any more. Error:
 * NNEX_INVALID_ARGUMENT (no such value, with the name that was probably meant; a name twice; another type or other
 * extents than it has: found and needed). */
NNEX_C_API nnex_error* nnex_graph_set_constants(const nnex_graph* graph, const char* const* names,
                                                nnex_value* const* tensors, size_t count, nnex_graph** out);

#ifdef __cplusplus
}
#endif

#endif
