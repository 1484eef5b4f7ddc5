/* Makes a network of 8-bit codes of a float one, measured on samples, and tells how far its answers are from it.
 *
 *     cc quantize.c -lnnex -o quantize && ./quantize model.onnx [small.onnx]
 */
#include <stdio.h>

#include "nnex.h"

static int fail(nnex_error* e) {
  fprintf(stderr, "%s\n", nnex_error_text(e));
  nnex_error_free(e);
  return 1;
}

/* Sample `index`: numbers between 0 and 1, where a program has its data. nnex frees the values. */
static nnex_error* sample(void* context, int64_t index, nnex_value** inputs, size_t count) {
  const nnex_graph* graph = context;
  uint32_t random = (uint32_t)index + 1;
  nnex_error* e = NULL;
  size_t i;
  for (i = 0; i < count && !e; ++i) {
    const nnex_port* port = nnex_graph_input(graph, i);
    const int rank = nnex_port_rank(port);
    int64_t extents[16], k;
    float* x;
    int axis;
    if (nnex_port_dtype(port) != NNEX_F32 || rank < 0 || rank > 16)
      return nnex_error_make(NNEX_UNSUPPORTED, "this program makes inputs of f32 alone", nnex_port_name(port));
    for (axis = 0; axis < rank; ++axis) {
      extents[axis] = nnex_port_extent(port, (size_t)axis);
      if (extents[axis] < 0) extents[axis] = 1; /* a symbol: one of it */
    }
    e = nnex_tensor_make(NNEX_F32, (size_t)rank, extents, &inputs[i]);
    if (e) break;
    x = nnex_tensor_mutable_data(inputs[i]);
    for (k = 0; k < nnex_tensor_count(inputs[i]); ++k) {
      random = random * 1664525u + 1013904223u;
      x[k] = (float)(random >> 8) / (float)(1 << 24);
    }
  }
  return e;
}

static void tell(const nnex_quantized* quantized) {
  const char *name, *op, *kept_float;
  double sqnr_db;
  size_t i;
  for (i = 0; nnex_quantized_layer(quantized, i, &name, &op, &kept_float, NULL, &sqnr_db); ++i)
    printf("%-24s %-8s %5.1f dB %s\n", name, op, sqnr_db, kept_float);
  for (i = 0; nnex_quantized_output(quantized, i, &name, &sqnr_db, NULL, NULL); ++i)
    printf("output %-17s          %5.1f dB\n", name, sqnr_db);
  printf("constants: %lld bytes, as floats %lld\n", (long long)nnex_quantized_bytes(quantized),
         (long long)nnex_quantized_float_bytes(quantized));
}

int main(int argc, char** argv) {
  nnex_source* source = NULL;
  nnex_graph *graph = NULL, *codes = NULL;
  nnex_quantized* quantized = NULL;
  nnex_samples samples = {0};
  nnex_error* e;
  if (argc < 2 || argc > 3) return fprintf(stderr, "usage: quantize MODEL [OUT]\n"), 2;
  e = nnex_source_path(argv[1], &source);
  if (!e) e = nnex_graph_load(source, NULL, &graph);
  samples.size = sizeof samples;
  samples.count = 16;
  samples.read = sample;
  samples.context = graph;
  if (!e) e = nnex_quantize(graph, &samples, NULL, &quantized);
  if (!e) e = nnex_quantized_graph(quantized, &codes);
  if (!e && argc == 3) e = nnex_graph_save(codes, argv[2], NULL);
  if (e) return fail(e);
  tell(quantized);
  nnex_graph_free(codes);
  nnex_quantized_free(quantized);
  nnex_graph_free(graph);
  nnex_source_free(source);
  return 0;
}
