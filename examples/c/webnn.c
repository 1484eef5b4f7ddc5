/* A WebNN graph from C: y = relu(x * w + b), with w a constant tensor and b a constant; every call by its name in the specification.
 *
 *     cc webnn.c -lnnex -o webnn && ./webnn
 */
#include <stdio.h>

#include "nnex_webnn.h"

/* {dataType: "float32", shape: [rows, columns], readable, writable}; operands take no notice of the last two. */
static nnex_ml_value* matrix(double rows, double columns) {
  const char* keys[] = {"dataType", "shape", "readable", "writable"};
  const double shape[] = {rows, columns};
  nnex_ml_value *members[4], *all;
  size_t i;
  members[0] = nnex_ml_value_text("float32");
  members[1] = nnex_ml_value_numbers(shape, 2);
  members[2] = nnex_ml_value_boolean(true);
  members[3] = nnex_ml_value_boolean(true);
  all = nnex_ml_value_dictionary(keys, members, 4);
  for (i = 0; i < 4; ++i) nnex_ml_value_free(members[i]);
  return all;
}

/* builder.method(...), of one result; the arguments are freed. */
static nnex_error* call(nnex_ml_builder* builder, const char* method, nnex_ml_value* first, nnex_ml_value* second, nnex_ml_operand** out) {
  nnex_ml_value* arguments[] = {first, second};
  nnex_error* e = nnex_ml_call(builder, method, arguments, second ? 2 : 1, out, 1, NULL);
  nnex_ml_value_free(first);
  nnex_ml_value_free(second);
  return e;
}

static nnex_error* build(const nnex_ml_context* context, const nnex_ml_tensor* weights, nnex_ml_graph** graph) {
  const float bias[] = {0.5f, -4.0f};
  const char* const name = "y";
  nnex_ml_builder* builder = NULL;
  nnex_ml_operand *x = NULL, *w = NULL, *b = NULL, *product = NULL, *sum = NULL, *y = NULL;
  nnex_error* e = nnex_ml_builder_make(context, &builder);
  if (!e) e = call(builder, "input", nnex_ml_value_text("x"), matrix(1, 3), &x);
  if (!e) e = call(builder, "constant", nnex_ml_value_tensor(weights), NULL, &w);
  if (!e) e = call(builder, "constant", matrix(1, 2), nnex_ml_value_buffer(bias, sizeof bias), &b);
  if (!e) e = call(builder, "matmul", nnex_ml_value_operand(x), nnex_ml_value_operand(w), &product);
  if (!e) e = call(builder, "add", nnex_ml_value_operand(product), nnex_ml_value_operand(b), &sum);
  if (!e) e = call(builder, "relu", nnex_ml_value_operand(sum), NULL, &y);
  if (!e) e = nnex_ml_build(builder, &name, &y, 1, graph);
  nnex_ml_operand_free(x);
  nnex_ml_operand_free(w);
  nnex_ml_operand_free(b);
  nnex_ml_operand_free(product);
  nnex_ml_operand_free(sum);
  nnex_ml_operand_free(y);
  nnex_ml_builder_free(builder);
  return e;
}

int main(void) {
  const float weights[] = {1, 0, 0, 1, 1, 1}, numbers[] = {1, 2, 3};
  const char *const input = "x", *const output = "y";
  float answer[2] = {0};
  nnex_ml_context* context = NULL;
  nnex_ml_tensor *constant = NULL, *x = NULL, *y = NULL;
  nnex_ml_graph* graph = NULL;
  nnex_ml_value *of_w = matrix(3, 2), *of_x = matrix(1, 3), *of_y = matrix(1, 2);
  nnex_error* e = nnex_ml_context_make(NULL, 0, &context);
  if (!e) e = nnex_ml_constant_tensor_make(context, of_w, weights, sizeof weights, &constant);
  if (!e) e = build(context, constant, &graph);
  if (!e) e = nnex_ml_tensor_make(context, of_x, &x);
  if (!e) e = nnex_ml_tensor_make(context, of_y, &y);
  if (!e) e = nnex_ml_tensor_write(context, x, numbers, sizeof numbers);
  if (!e) e = nnex_ml_dispatch(context, graph, &input, &x, 1, &output, &y, 1);
  if (!e) e = nnex_ml_tensor_read(context, y, answer, sizeof answer);
  if (e)
    fprintf(stderr, "%s: %s\n", nnex_error_webnn_name(e), nnex_error_message(e));
  else
    printf("relu([1 2 3] w + b) = [%g %g]\n", (double)answer[0], (double)answer[1]);
  nnex_ml_value_free(of_w);
  nnex_ml_value_free(of_x);
  nnex_ml_value_free(of_y);
  nnex_ml_tensor_free(constant);
  nnex_ml_tensor_free(x);
  nnex_ml_tensor_free(y);
  nnex_ml_graph_free(graph);
  nnex_ml_context_free(context);
  nnex_error_free(e);
  return e != NULL;
}
