/* What a host opens and closes again (plugin_host.c): products queued with WebNN, and everything freed while they still run. */
#include <stdio.h>

#include "nnex_webnn.h"

enum { kSide = 500, kProducts = 12 };

static nnex_error* queue(nnex_ml_context* context, nnex_ml_builder** builder, nnex_ml_graph** graph, nnex_ml_tensor** x, nnex_ml_tensor** y) {
  const double shape[] = {kSide, kSide};
  const char* const keys[] = {"dataType", "shape"};
  const char *const in = "x", *const out = "y";
  nnex_ml_value* members[] = {nnex_ml_value_text("float32"), nnex_ml_value_numbers(shape, 2)};
  nnex_ml_value* square = nnex_ml_value_dictionary(keys, members, 2);
  nnex_ml_value* input[] = {nnex_ml_value_text("x"), square};
  nnex_ml_operand *first = NULL, *last = NULL;
  int i;
  nnex_error* e = nnex_ml_builder_make(context, builder);
  if (!e) e = nnex_ml_call(*builder, "input", input, 2, &first, 1, NULL);
  for (i = 0; i < kProducts && !e; ++i) {
    nnex_ml_value* both[] = {nnex_ml_value_operand(last ? last : first), nnex_ml_value_operand(first)};
    nnex_ml_operand* product = NULL;
    e = nnex_ml_call(*builder, "matmul", both, 2, &product, 1, NULL);
    nnex_ml_value_free(both[0]);
    nnex_ml_value_free(both[1]);
    nnex_ml_operand_free(last);
    last = product;
  }
  if (!e) e = nnex_ml_build(*builder, &out, &last, 1, graph);
  if (!e) e = nnex_ml_tensor_make(context, square, x);
  if (!e) e = nnex_ml_tensor_make(context, square, y);
  if (!e) e = nnex_ml_dispatch(context, *graph, &in, x, 1, &out, y, 1);
  nnex_ml_operand_free(first);
  nnex_ml_operand_free(last);
  for (i = 0; i < 2; ++i) nnex_ml_value_free(members[i]);
  for (i = 0; i < 2; ++i) nnex_ml_value_free(input[i]);
  return e;
}

int work(void) {
  nnex_ml_context* context = NULL;
  nnex_ml_builder* builder = NULL;
  nnex_ml_graph* graph = NULL;
  nnex_ml_tensor *x = NULL, *y = NULL;
  nnex_error* e = nnex_ml_context_make(NULL, 2, &context);
  if (!e) e = queue(context, &builder, &graph, &x, &y);
  if (e) fprintf(stderr, "%s\n", nnex_error_text(e));
  nnex_ml_tensor_free(x);
  nnex_ml_tensor_free(y);
  nnex_ml_graph_free(graph);
  nnex_ml_builder_free(builder);
  nnex_ml_context_free(context);
  nnex_error_free(e);
  return e != NULL;
}
