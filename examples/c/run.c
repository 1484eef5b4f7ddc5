/* Loads a model, feeds zeros, prints what comes out.
 *
 *     cc run.c -lnnex -o run && ./run model.onnx
 */
#include <stdio.h>
#include <stdlib.h>

#include "nnex.h"

static int fail(nnex_error* e) {
  fprintf(stderr, "%s\n", nnex_error_text(e));
  nnex_error_free(e);
  return 1;
}

int main(int argc, char** argv) {
  nnex_model* model = NULL;
  nnex_session* session = NULL;
  nnex_value** in;
  nnex_value** out;
  size_t inputs, outputs, i;
  nnex_error* e;
  if (argc != 2) return fprintf(stderr, "usage: run MODEL\n"), 2;
  e = nnex_model_load_path(argv[1], NULL, &model);
  if (!e) e = nnex_session_make(model, NULL, &session);
  if (e) return fail(e);
  inputs = nnex_model_inputs(model);
  outputs = nnex_model_outputs(model);
  in = calloc(inputs + 1, sizeof *in);
  out = calloc(outputs + 1, sizeof *out);
  if (!in || !out) return 1;
  for (i = 0; i < inputs && !e; ++i) {
    const nnex_port* port = nnex_model_input(model, i);
    int64_t extents[16];
    int axis, rank = nnex_port_rank(port);
    printf("input  %s  %s\n", nnex_port_name(port), nnex_port_type(port));
    for (axis = 0; axis < rank && axis < 16; ++axis) {
      extents[axis] = nnex_port_extent(port, (size_t)axis);
      if (extents[axis] < 0) extents[axis] = 1; /* a symbol: one of it */
    }
    e = nnex_tensor_make(nnex_port_dtype(port), (size_t)(rank < 0 ? 0 : rank), extents, &in[i]);
  }
  if (!e) e = nnex_session_run(session, in, inputs, out, outputs, NULL);
  if (e) return fail(e);
  for (i = 0; i < outputs; ++i) {
    printf("output %s  %s", nnex_port_name(nnex_model_output(model, i)), nnex_value_text(out[i]));
    if (nnex_tensor_dtype(out[i]) == NNEX_F32) {
      const float* x = nnex_tensor_data(out[i]);
      int64_t k;
      for (k = 0; k < nnex_tensor_count(out[i]) && k < 8; ++k) printf(" %g", (double)x[k]);
    }
    printf("\n");
  }
  for (i = 0; i < inputs; ++i) nnex_value_free(in[i]);
  for (i = 0; i < outputs; ++i) nnex_value_free(out[i]);
  free(in);
  free(out);
  nnex_session_free(session);
  nnex_model_free(model);
  return 0;
}
