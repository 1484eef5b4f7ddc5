/* The C interface as a C99 program sees it (WebNN: webnn_test.c): built by a C compiler alone, linked with libnnex.so.
 * c_test MODEL: the network of models/shapes (one f32 picture [N,3,32,32] in, f32[N,8] out). Exit code 0: all holds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

static char* file_bytes(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  char* bytes;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  bytes = malloc(*size);
  if (!bytes || fread(bytes, 1, *size, f) != *size) *size = 0;
  fclose(f);
  return bytes;
}

/* The picture that all tests use. */
static void fill(float* x, size_t n) {
  size_t i;
  for (i = 0; i < n; ++i) x[i] = (float)(i % 17) / 17.0f;
}

static nnex_value* picture(void) {
  const int64_t extents[] = {1, 3, 32, 32};
  nnex_value* v = NULL;
  float* x;
  OK(nnex_tensor_make(NNEX_F32, 4, extents, &v));
  x = nnex_tensor_mutable_data(v);
  CHECK(x != NULL);
  if (x) fill(x, 3 * 32 * 32);
  return v;
}

/* Runs a model on the picture; its eight numbers. */
static void answers(const nnex_model* model, float* to) {
  nnex_session* session = NULL;
  nnex_value *in = picture(), *out = NULL;
  OK(nnex_session_make(model, NULL, &session));
  OK(nnex_session_run(session, &in, 1, &out, 1, NULL));
  CHECK(nnex_tensor_bytes(out) == 8 * sizeof(float));
  if (nnex_tensor_bytes(out) == 8 * sizeof(float)) memcpy(to, nnex_tensor_data(out), 8 * sizeof(float));
  nnex_value_free(in);
  nnex_value_free(out);
  nnex_session_free(session);
}

static void test_values(void) {
  const int64_t extents[] = {2, 3};
  const int64_t wrong[] = {2, -3};
  const char* words[] = {"a", "b"};
  const int64_t two[] = {2};
  nnex_value *v = NULL, *shared = NULL, *texts = NULL, *list = NULL, *item = NULL;
  OK(nnex_tensor_make(NNEX_F32, 2, extents, &v));
  CHECK(nnex_value_kind(v) == NNEX_TENSOR);
  CHECK(strcmp(nnex_value_text(v), "f32[2,3]") == 0);
  CHECK(nnex_tensor_rank(v) == 2 && nnex_tensor_extents(v)[1] == 3 && nnex_tensor_count(v) == 6);
  CHECK(((const float*)nnex_tensor_data(v))[5] == 0.0f);
  CHECK(nnex_tensor_mutable_data(v) != NULL);
  OK(nnex_value_share(v, &shared));
  CHECK(nnex_tensor_mutable_data(v) == NULL);
  CHECK(nnex_tensor_data(shared) == nnex_tensor_data(v));
  nnex_value_free(shared);
  CHECK(nnex_tensor_mutable_data(v) != NULL);
  FAILS(NNEX_INVALID_ARGUMENT, "needed extents of 0 or more", nnex_tensor_make(NNEX_F32, 2, wrong, &shared));
  CHECK(shared == NULL);
  FAILS(NNEX_INVALID_ARGUMENT, "NULL for 'out'", nnex_tensor_make(NNEX_F32, 2, extents, NULL));
  FAILS(NNEX_INVALID_ARGUMENT, "no element type", nnex_tensor_make((nnex_dtype)77, 2, extents, &shared));
  OK(nnex_tensor_strings(1, two, words, 2, &texts));
  CHECK(strcmp(nnex_tensor_string(texts, 1), "b") == 0 && nnex_tensor_string(texts, 2) == NULL);
  {
    nnex_value* both[2];
    both[0] = v;
    both[1] = texts;
    OK(nnex_sequence_make(both, 2, &list));
  }
  CHECK(nnex_value_kind(list) == NNEX_SEQUENCE && nnex_value_count(list) == 2);
  OK(nnex_value_item(list, 1, &item));
  CHECK(nnex_tensor_dtype(item) == NNEX_STR);
  nnex_value_free(item);
  FAILS(NNEX_INVALID_ARGUMENT, "item 2", nnex_value_item(list, 2, &item));
  CHECK(nnex_dtype_named("float16") == NNEX_F16 && nnex_dtype_named("f33") == NNEX_NONE);
  CHECK(nnex_dtype_bits(NNEX_I4) == 4 && strcmp(nnex_dtype_name(NNEX_BOOL), "bool") == 0);
  nnex_value_free(list);
  nnex_value_free(texts);
  nnex_value_free(v);
  nnex_value_free(NULL);
  CHECK(nnex_value_kind(NULL) == NNEX_EMPTY && nnex_tensor_data(NULL) == NULL);
}

static int released = 0;
static void release(void* context) { ++*(int*)context; }

static void test_borrow_and_dlpack(void) {
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  const int64_t extents[] = {2, 3};
  nnex_value *v = NULL, *back = NULL;
  struct DLManagedTensor* managed = NULL;
  OK(nnex_tensor_borrow(NNEX_F32, 2, extents, numbers, release, &released, &v));
  CHECK(nnex_tensor_data(v) == numbers);
  OK(nnex_tensor_to_dlpack(v, &managed));
  nnex_value_free(v);
  CHECK(released == 0);
  OK(nnex_tensor_from_dlpack(managed, &back));
  CHECK(nnex_tensor_data(back) == numbers && nnex_tensor_extents(back)[0] == 2 && nnex_tensor_dtype(back) == NNEX_F32);
  CHECK(nnex_tensor_mutable_data(back) == NULL);
  nnex_value_free(back);
  CHECK(released == 1);
  for (int type = NNEX_F8E4M3FN; type <= NNEX_F8E8M0; ++type) {
    OK(nnex_tensor_borrow((nnex_dtype)type, 2, extents, numbers, NULL, NULL, &v));
    OK(nnex_tensor_to_dlpack(v, &managed));
    nnex_value_free(v);
    OK(nnex_tensor_from_dlpack(managed, &back));
    CHECK(nnex_tensor_dtype(back) == (nnex_dtype)type);
    nnex_value_free(back);
  }
}

/* Every malloc() of the process. */
static long allocations = 0;
extern void* __libc_malloc(size_t size);
void* malloc(size_t size) {
  __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc(size);
}

/* A run like an earlier one, whose batch has no number in the model, into memory of the caller's. */
static void test_run_into_allocates_nothing(const nnex_model* model) {
  const int64_t extents[] = {1, 8};
  const nnex_session_options alone = {.size = sizeof(nnex_session_options), .threads = 1};
  nnex_session* session = NULL;
  nnex_value *x = picture(), *y = NULL;
  long before;
  OK(nnex_session_make(model, &alone, &session));
  OK(nnex_tensor_make(NNEX_F32, 2, extents, &y));
  OK(nnex_session_run_into(session, &x, 1, &y, 1, NULL));
  OK(nnex_session_run_into(session, &x, 1, &y, 1, NULL));
  before = allocations;
  for (int i = 0; i < 10; ++i) OK(nnex_session_run_into(session, &x, 1, &y, 1, NULL));
  CHECK(before > 0 && allocations == before);
  nnex_value_free(y);
  nnex_value_free(x);
  nnex_session_free(session);
}

static void test_run(const nnex_model* model) {
  const nnex_port* in = nnex_model_input(model, 0);
  float first[8], again[8];
  const int64_t out_extents[] = {1, 8};
  nnex_session* session = NULL;
  nnex_value *x = picture(), *y = NULL;
  nnex_run_options run = {.size = sizeof(nnex_run_options)};
  CHECK(nnex_model_inputs(model) == 1 && nnex_model_outputs(model) == 1 && nnex_model_input(model, 1) == NULL);
  CHECK(nnex_port_dtype(in) == NNEX_F32 && nnex_port_rank(in) == 4 && nnex_port_extent(in, 0) == -1);
  CHECK(strcmp(nnex_port_dimension(in, 0), "N") == 0 && strcmp(nnex_port_type(in), "f32[N,3,32,32]") == 0);
  answers(model, first);
  OK(nnex_session_make(model, NULL, &session));
  OK(nnex_tensor_make(NNEX_F32, 2, out_extents, &y));
  nnex_session_profile(session, true);
  OK(nnex_session_run_into(session, &x, 1, &y, 1, &run));
  memcpy(again, nnex_tensor_data(y), sizeof again);
  CHECK(memcmp(first, again, sizeof first) == 0);
  CHECK(nnex_session_nodes(session) > 0 && nnex_session_memory(session) > 0);
  {
    const char* kernel = NULL;
    double us = -1;
    CHECK(nnex_session_node(session, 0, NULL, NULL, &kernel, NULL, &us) && kernel && us >= 0);
    CHECK(!nnex_session_node(session, 100000, NULL, NULL, NULL, NULL, NULL));
  }
  FAILS(NNEX_INVALID_ARGUMENT, "found room for 2 outputs", nnex_session_run(session, &x, 1, (nnex_value*[]){NULL, NULL}, 2, NULL));
  {
    nnex_value* out = NULL;
    FAILS(NNEX_INVALID_ARGUMENT, "needed f32[N,3,32,32]", nnex_session_run(session, &y, 1, &out, 1, NULL));
    CHECK(out == NULL);
    run.timeout_ns = 1;
    FAILS(NNEX_CANCELLED, "", nnex_session_run(session, &x, 1, &out, 1, &run));
  }
  nnex_value_free(x);
  nnex_value_free(y);
  nnex_session_free(session);
}

/* A reader of one file in memory. */
struct memory {
  const char* bytes;
  size_t size;
  int open, closed;
};
static const char* only_name(void* context, size_t index) { return (void)context, index == 0 ? "model.onnx" : NULL; }
static nnex_error* read_it(void* context, const char* name, const void** bytes, size_t* length, void** token) {
  struct memory* m = context;
  if (strcmp(name, "model.onnx") != 0) return nnex_error_make(NNEX_UNREADABLE, "no such file", name);
  ++m->open;
  *bytes = m->bytes;
  *length = m->size;
  *token = NULL;
  return NULL;
}
static void give_back(void* context, void* token) { (void)token, --((struct memory*)context)->open; }
static void close_it(void* context) { ++((struct memory*)context)->closed; }
static nnex_error* refuse(void* context, const char* name, const void** bytes, size_t* length, void** token) {
  (void)context, (void)bytes, (void)length, (void)token;
  return nnex_error_make(NNEX_UNREADABLE, "the key is missing", name);
}

static void test_sources(const char* path, const float* expected) {
  struct memory m = {NULL, 0, 0, 0};
  nnex_reader reader = {.size = sizeof(nnex_reader)};
  nnex_source* source = NULL;
  nnex_model* model = NULL;
  float found[8];
  char* bytes = file_bytes(path, &m.size);
  m.bytes = bytes;
  OK(nnex_model_load_memory(bytes, m.size, NULL, &model));
  answers(model, found);
  CHECK(memcmp(found, expected, sizeof found) == 0);
  nnex_model_free(model);

  reader.name = only_name;
  reader.read = read_it;
  reader.release_bytes = give_back;
  reader.release = close_it;
  reader.context = &m;
  OK(nnex_source_callbacks(&reader, "packed", &source));
  OK(nnex_model_load(source, NULL, &model));
  nnex_source_free(source);
  answers(model, found);
  CHECK(memcmp(found, expected, sizeof found) == 0);
  nnex_model_free(model);
  CHECK(m.open == 0 && m.closed == 1);

  reader.read = refuse;
  OK(nnex_source_callbacks(&reader, "packed", &source));
  FAILS(NNEX_UNREADABLE, "the key is missing", nnex_model_load(source, NULL, &model));
  CHECK(model == NULL);
  nnex_source_free(source);
  CHECK(m.closed == 2);
  FAILS(NNEX_UNREADABLE, "no-such-file", nnex_model_load_path("/no-such-file.onnx", NULL, &model));
  FAILS(NNEX_INVALID_MODEL, "", nnex_model_load_memory(bytes, m.size / 2, NULL, &model));
  free(bytes);
}

static void test_check_and_convert(const char* path, const float* expected) {
  nnex_source *source = NULL, *converted = NULL;
  nnex_report* report = NULL;
  nnex_inspection* inspection = NULL;
  nnex_save_options save = {.size = sizeof(nnex_save_options)};
  nnex_load_options* load = NULL;
  const char* formats[] = {"nnef", "webnn", "onnx"};
  size_t k, i;
  OK(nnex_source_path(path, &source));
  OK(nnex_check(source, NULL, &report));
  CHECK(nnex_report_sound(report) && nnex_report_faults(report) == 0);
  nnex_report_free(report);
  OK(nnex_inspect(source, NULL, &inspection));
  CHECK(strcmp(nnex_inspection_format(inspection), "onnx") == 0 && nnex_inspection_parameters(inspection) > 1000);
  CHECK(nnex_inspection_operators(inspection) > 2 && nnex_inspection_operator(inspection, 0, NULL) != NULL);
  nnex_inspection_free(inspection);
  OK(nnex_load_options_make(&load));
  OK(nnex_load_options_symbol(load, "N", 1));
  FAILS(NNEX_INVALID_ARGUMENT, "needed optimize", nnex_load_options_set(load, "optimise", "1"));
  FAILS(NNEX_INVALID_ARGUMENT, "needed 0 or 1", nnex_load_options_set(load, "optimize", "yes"));
  OK(nnex_load_options_set(load, "optimize", "1"));
  for (k = 0; k < 3; ++k) {
    nnex_files* files = NULL;
    nnex_model* model = NULL;
    float found[8] = {0};
    save.format = formats[k];
    OK(nnex_convert_to_memory(source, load, &save, &files));
    CHECK(nnex_files_count(files) > 0 && nnex_files_name(files, 0) != NULL);
    OK(nnex_source_files(files, formats[k], &converted));
    OK(nnex_model_load(converted, NULL, &model));
    if (model) answers(model, found);
    for (i = 0; i < 8; ++i) CHECK(fabsf(found[i] - expected[i]) <= 1e-5f);
    nnex_model_free(model);
    nnex_source_free(converted);
    nnex_files_free(files);
  }
  save.format = "onxx";
  FAILS(NNEX_INVALID_ARGUMENT, "found format 'onxx'", nnex_convert(source, "x.onnx", load, &save));
  nnex_load_options_free(load);
  nnex_source_free(source);
}

static bool always(void* asked) {
  ++*(int*)asked;
  return true;
}

/* What a program does beside runs: a graph from a text, written and read, its answers compared and kept in a file. */
static void test_graph(void) {
  static const char text[] = "graph main(x: f32[1,2]) -> (y)\n{\n  a = relu(x);\n  y = add(a, f32[](1.0));\n}\n";
  const int64_t extents[] = {1, 2};
  const char* names[] = {"y"};
  nnex_save_options save = {.size = sizeof(nnex_save_options)};
  nnex_compare_options compare = {.size = sizeof(nnex_compare_options)};
  nnex_graph *graph = NULL, *part = NULL;
  nnex_files* files = NULL;
  nnex_source* source = NULL;
  nnex_model* model = NULL;
  nnex_session* session = NULL;
  nnex_value *x = NULL, *y = NULL, *kept = NULL;
  nnex_comparison* comparison = NULL;
  nnex_run_options run = {.size = sizeof(nnex_run_options)};
  int asked = 0;
  float* numbers;
  OK(nnex_graph_parse(text, NULL, &graph));
  OK(nnex_graph_extract(graph, NULL, 0, (const char* const[]){"a"}, 1, &part));
  CHECK(nnex_graph_nodes(graph) == 2 && nnex_graph_nodes(part) == 1);
  nnex_graph_free(part);
  OK(nnex_model_compile(graph, NULL, &model));
  save.format = "onnx";
  OK(nnex_graph_save_to_memory(graph, &save, &files));
  nnex_graph_free(graph);
  OK(nnex_source_files(files, NULL, &source));
  nnex_files_free(files);
  OK(nnex_session_make(model, NULL, &session));
  OK(nnex_tensor_make(NNEX_F32, 2, extents, &x));
  numbers = nnex_tensor_mutable_data(x);
  if (numbers) numbers[0] = -3, numbers[1] = 3;
  OK(nnex_session_run(session, &x, 1, &y, 1, NULL));
  CHECK(nnex_tensor_mutable_data(y) != NULL); /* the session has let go of it */
  run.cancelled = always, run.context = &asked;
  FAILS(NNEX_CANCELLED, "cancelled", nnex_session_run(session, &x, 1, &kept, 1, &run));
  CHECK(asked == 1 && kept == NULL); /* asked before the first node */
  OK(nnex_tensor_write(y, "c_test_y.npy", "y", true));
  OK(nnex_tensor_read("c_test_y.npy", &kept));
  OK(nnex_compare_tensors(source, names, &kept, 1, &x, 1, NULL, &comparison));
  CHECK(nnex_comparison_same(comparison) && nnex_comparison_first(comparison) == NULL);
  nnex_comparison_free(comparison);
  compare.atol = compare.rtol = -1;
  OK(nnex_compare_values(x, y, &compare, &comparison));
  CHECK(nnex_compared_differing(nnex_comparison_output(comparison, 0)) == 2);
  nnex_comparison_free(comparison);
  FAILS(NNEX_INVALID_ARGUMENT, "", nnex_compare_tensors(source, names, &kept, 1, &x, 1, NULL, NULL));
  nnex_value_free(x);
  nnex_value_free(y);
  nnex_value_free(kept);
  nnex_session_free(session);
  nnex_model_free(model);
  nnex_source_free(source);
}

/* A custom operator: y = x * factor + 1. */
static nnex_error* infer_scale(void* context, nnex_custom_node* node) {
  (void)context;
  if (nnex_custom_node_inputs(node) != 1) return nnex_error_make(NNEX_INVALID_MODEL, "needed one input", NULL);
  return nnex_custom_node_set_type(node, 0, nnex_custom_node_input_type(node, 0));
}
static nnex_error* run_scale(void* context, nnex_custom_node* node) {
  const nnex_value* x = nnex_custom_node_input(node, 0);
  const float* from = nnex_tensor_data(x);
  void* to = NULL;
  double factor = 0;
  int64_t i;
  nnex_error* e = nnex_custom_node_real(node, "factor", &factor);
  if (!e)
    e = nnex_custom_node_output(node, 0, NNEX_F32, nnex_tensor_rank(x), nnex_tensor_extents(x), &to);
  if (e) return e;
  ++*(int*)context;
  for (i = 0; i < nnex_tensor_count(x); ++i) ((float*)to)[i] = from[i] * (float)factor + 1;
  return NULL;
}

/* An ONNX model of one node "Scale" of domain "com.example" with attribute factor = 3: y = Scale(x), x f32[2]. The bytes are
 * the messages' fields by hand: tag, length, content. */
static const unsigned char kCustomModel[] = {
    0x08, 0x08,                                                        /* ir_version 8 */
    0x3a, 0x53,                                                        /* graph, 83 bytes */
    0x0a, 0x2c,                                                        /*  node, 44 bytes */
    0x0a, 0x01, 'x', 0x12, 0x01, 'y',                                  /*   input x, output y */
    0x22, 0x05, 'S', 'c', 'a', 'l', 'e',                               /*   op_type */
    0x2a, 0x10, 0x0a, 0x06, 'f', 'a', 'c', 't', 'o', 'r',              /*   attribute, 16 bytes: name */
    0x15, 0x00, 0x00, 0x40, 0x40, 0xa0, 0x01, 0x01,                    /*    f = 3.0 and type FLOAT (8 bytes) */
    0x3a, 0x0b, 'c', 'o', 'm', '.', 'e', 'x', 'a', 'm', 'p', 'l', 'e', /*   domain */
    0x12, 0x01, 'g',                                                   /*  name */
    0x5a, 0x0f, 0x0a, 0x01, 'x', 0x12, 0x0a, 0x0a, 0x08, 0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x02, /*  input f32[2] */
    0x62, 0x0f, 0x0a, 0x01, 'y', 0x12, 0x0a, 0x0a, 0x08, 0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x02, /*  output */
    0x42, 0x04, 0x0a, 0x00, 0x10, 0x11,                                /* opset "" 17 */
    0x42, 0x0f, 0x0a, 0x0b, 'c', 'o', 'm', '.', 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0x10, 0x01}; /* com.example 1 */

static void test_custom(void) {
  nnex_custom_op op = {.size = sizeof(nnex_custom_op)};
  nnex_load_options* load = NULL;
  nnex_model* model = NULL;
  nnex_session* session = NULL;
  const int64_t two[] = {2};
  nnex_value *x = NULL, *y = NULL;
  int runs = 0;
  float* numbers;
  FAILS(NNEX_UNSUPPORTED, "Scale", nnex_model_load_memory(kCustomModel, sizeof kCustomModel, NULL, &model));
  op.domain = "com.example";
  op.name = "Scale";
  op.infer = infer_scale;
  op.run = run_scale;
  op.context = &runs;
  OK(nnex_load_options_make(&load));
  OK(nnex_load_options_custom_op(load, &op));
  op.run = NULL;
  FAILS(NNEX_INVALID_ARGUMENT, "op->run", nnex_load_options_custom_op(load, &op));
  OK(nnex_model_load_memory(kCustomModel, sizeof kCustomModel, load, &model));
  nnex_load_options_free(load);
  OK(nnex_session_make(model, NULL, &session));
  OK(nnex_tensor_make(NNEX_F32, 1, two, &x));
  numbers = nnex_tensor_mutable_data(x);
  if (numbers) numbers[0] = 5, numbers[1] = -1;
  OK(nnex_session_run(session, &x, 1, &y, 1, NULL));
  CHECK(runs == 1);
  if (y) CHECK(((const float*)nnex_tensor_data(y))[0] == 16.0f && ((const float*)nnex_tensor_data(y))[1] == -2.0f);
  nnex_value_free(x);
  nnex_value_free(y);
  nnex_session_free(session);
  nnex_model_free(model);
}

/* Compiled models are kept in a folder of the build, where an earlier run of this program may have kept this one. */
static void test_cache(const char* path, const float* expected) {
  nnex_load_options* load = NULL;
  float found[8] = {0};
  int start, i;
  OK(nnex_load_options_make(&load));
  OK(nnex_load_options_set(load, "cache", "c_test_cache"));
  for (start = 0; start < 2; ++start) {
    nnex_model* model = NULL;
    OK(nnex_model_load_path(path, load, &model));
    if (!model) break;
    CHECK(start == 0 || strcmp(nnex_model_cache(model), "found") == 0);
    answers(model, found);
    CHECK(strcmp(nnex_model_cache(model), "found") == 0 || strcmp(nnex_model_cache(model), "written") == 0);
    for (i = 0; i < 8; ++i) CHECK(found[i] == expected[i]);
    nnex_model_free(model);
  }
  nnex_load_options_free(load);
}

int main(int argc, char** argv) {
  nnex_model* model = NULL;
  float expected[8] = {0};
  if (argc != 2) return fprintf(stderr, "usage: c_test MODEL\n"), 2;
  CHECK(strlen(nnex_version()) >= 5 && nnex_has("dlpack") && !nnex_has("teleport") && !nnex_has(NULL));
  CHECK(nnex_usable_threads() >= 1 && strlen(nnex_isa()) > 0);
  test_values();
  test_borrow_and_dlpack();
  OK(nnex_model_load_path(argv[1], NULL, &model));
  if (!model) return 1;
  answers(model, expected);
  CHECK(strcmp(nnex_model_cache(model), "none") == 0);
  test_run(model);
  test_run_into_allocates_nothing(model);
  nnex_model_free(model);
  test_sources(argv[1], expected);
  test_check_and_convert(argv[1], expected);
  test_graph();
  test_custom();
  test_cache(argv[1], expected);
  printf("c_test: %s\n", failures ? "failed" : "all holds");
  return failures != 0;
}
