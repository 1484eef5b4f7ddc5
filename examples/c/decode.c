/* Generates token by token: the cache that the network makes stays in the session and is what its next run reads, and
 * nothing of it is copied. With a language model in ONNX the loop is the same: load it with its caches carried
 * (nnex_load_options_carry_likely finds present.* and past_key_values.*), prompt first, then one token a run.
 *
 *     cc decode.c -lnnex -o decode && ./decode
 */
#include <stdio.h>

#include "nnex.h"

/* In place of a language model: the next token is the one it has seen least, so that it needs all it has seen. */
static const char kDecoder[] =
    "graph decoder(token: i64[1], past: f32[seen,5]) -> (next, present)\n"
    "{\n"
    "  table = f32[5,5](1.0, 0.0, 0.0, 0.0, 0.0,  0.0, 1.0, 0.0, 0.0, 0.0,  0.0, 0.0, 1.0, 0.0, 0.0,\n"
    "                   0.0, 0.0, 0.0, 1.0, 0.0,  0.0, 0.0, 0.0, 0.0, 1.0);\n"
    "  row = gather(table, token, axis = 0);\n"
    "  present = concat(past, row, axis = 0);\n"
    "  counts = sum_reduce(present, i64[1](0), keepdims = false);\n"
    "  next = argmin_reduce(counts, axes = [0]);\n"
    "}\n";

static int fail(nnex_error* e) {
  fprintf(stderr, "%s\n", nnex_error_text(e));
  nnex_error_free(e);
  return 1;
}

/* A model whose output `present` is the input `past` of the next run. */
static nnex_error* load(nnex_model** model) {
  nnex_graph* graph = NULL;
  nnex_load_options* options = NULL;
  nnex_error* e = nnex_graph_parse(kDecoder, "decoder", &graph);
  if (!e) e = nnex_load_options_make(&options);
  if (!e) e = nnex_load_options_carry(options, "present", "past");
  if (!e) e = nnex_model_compile(graph, options, model);
  nnex_load_options_free(options);
  nnex_graph_free(graph);
  return e;
}

int main(void) {
  const int64_t one[] = {1};
  nnex_model* model = NULL;
  nnex_session* session = NULL;
  nnex_value *token = NULL, *cache = NULL;
  int64_t* id;
  int step;
  nnex_error* e = load(&model);
  if (!e) e = nnex_session_make(model, NULL, &session);
  if (!e) e = nnex_tensor_make(NNEX_I64, 1, one, &token);
  if (e) return fail(e);
  id = nnex_tensor_mutable_data(token);
  *id = 3; /* the prompt */
  printf("%d", (int)*id);
  for (step = 0; step < 9 && !e; ++step) {
    nnex_value* next = NULL;
    e = nnex_session_run(session, &token, 1, &next, 1, NULL);
    if (!e) *id = *(const int64_t*)nnex_tensor_data(next);
    if (!e) printf(" %d", (int)*id);
    nnex_value_free(next);
  }
  if (!e) e = nnex_session_state(session, "past", &cache);
  if (e) return fail(e);
  printf("\n%s: %s\n", nnex_port_name(nnex_model_state(model, 0)), nnex_value_text(cache));
  nnex_value_free(cache);
  nnex_value_free(token);
  nnex_session_free(session);
  nnex_model_free(model);
  return 0;
}
