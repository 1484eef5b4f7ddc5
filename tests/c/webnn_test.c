/* WebNN through the C interface, as a C99 program sees it. Exit code 0: all holds. */
#include "nnex_webnn.h" /* alone, and first */

#include "checks.h"

/* {dataType, shape[rank], readable: true}. */
static nnex_ml_value* descriptor(const char* type, const double* shape, size_t rank) {
  const char* keys[] = {"dataType", "shape", "readable"};
  nnex_ml_value *members[3], *all;
  size_t i;
  members[0] = nnex_ml_value_text(type);
  members[1] = nnex_ml_value_numbers(shape, rank);
  members[2] = nnex_ml_value_boolean(true);
  all = nnex_ml_value_dictionary(keys, members, 3);
  for (i = 0; i < 3; ++i) nnex_ml_value_free(members[i]);
  return all;
}

/* A call whose arguments are freed. */
static void call(nnex_ml_builder* b, const char* method, nnex_ml_value* const* args, size_t count, nnex_ml_operand** out, size_t room) {
  size_t made = 0, i;
  OK(nnex_ml_call(b, method, args, count, out, room, &made));
  CHECK(made == room);
  for (i = 0; i < count; ++i) nnex_ml_value_free(args[i]);
}

/* relu(x) through WebNN. */
static void test_webnn(void) {
  nnex_ml_context* context = NULL;
  nnex_ml_builder* builder = NULL;
  nnex_ml_operand *x = NULL, *y = NULL;
  nnex_ml_graph* graph = NULL;
  nnex_ml_tensor *in = NULL, *out = NULL;
  const double three[] = {3};
  const float numbers[3] = {-1.5f, 0.0f, 2.5f};
  float found[3] = {9, 9, 9};
  const char* keys[] = {"dataType", "shape", "readable", "writable"};
  const char *x_name = "x", *y_name = "y";
  nnex_ml_value *members[4], *args[2];
  nnex_error* e;
  size_t made = 0;
  members[0] = nnex_ml_value_text("float32");
  members[1] = nnex_ml_value_numbers(three, 1);
  members[2] = nnex_ml_value_boolean(true);
  members[3] = nnex_ml_value_boolean(true);
  args[0] = nnex_ml_value_text("x");
  args[1] = nnex_ml_value_dictionary(keys, members, 4);
  OK(nnex_ml_context_make(NULL, 1, &context));
  OK(nnex_ml_builder_make(context, &builder));
  OK(nnex_ml_call(builder, "input", args, 2, &x, 1, &made));
  CHECK(made == 1 && strcmp(nnex_ml_operand_type(x), "float32") == 0 && nnex_ml_operand_shape(x)[0] == 3);
  e = nnex_ml_call(builder, "relux", args, 1, &y, 1, NULL);
  CHECK(e && strcmp(nnex_error_webnn_name(e), "TypeError") == 0);
  nnex_error_free(e);
  nnex_ml_value_free(args[0]);
  args[0] = nnex_ml_value_operand(x);
  OK(nnex_ml_call(builder, "relu", args, 1, &y, 1, NULL));
  OK(nnex_ml_build(builder, &y_name, &y, 1, &graph));
  nnex_ml_graph_free(graph);
  e = nnex_ml_build(builder, &y_name, &y, 1, &graph);
  CHECK(e && strcmp(nnex_error_webnn_name(e), "InvalidStateError") == 0 && graph == NULL);
  nnex_error_free(e);
  nnex_ml_builder_free(builder);
  OK(nnex_ml_builder_make(context, &builder));
  nnex_ml_operand_free(x);
  nnex_ml_operand_free(y);
  nnex_ml_value_free(args[0]);
  args[0] = nnex_ml_value_text("x");
  OK(nnex_ml_call(builder, "input", args, 2, &x, 1, NULL));
  nnex_ml_value_free(args[0]);
  args[0] = nnex_ml_value_operand(x);
  OK(nnex_ml_call(builder, "relu", args, 1, &y, 1, NULL));
  OK(nnex_ml_build(builder, &y_name, &y, 1, &graph));
  OK(nnex_ml_tensor_make(context, args[1], &in));
  OK(nnex_ml_tensor_make(context, args[1], &out));
  OK(nnex_ml_tensor_write(context, in, numbers, sizeof numbers));
  OK(nnex_ml_dispatch(context, graph, &x_name, &in, 1, &y_name, &out, 1));
  OK(nnex_ml_tensor_read(context, out, found, sizeof found));
  CHECK(found[0] == 0.0f && found[1] == 0.0f && found[2] == 2.5f);
  for (made = 0; made < 4; ++made) nnex_ml_value_free(members[made]);
  nnex_ml_value_free(args[0]);
  nnex_ml_value_free(args[1]);
  nnex_ml_operand_free(x);
  nnex_ml_operand_free(y);
  nnex_ml_tensor_free(in);
  nnex_ml_tensor_free(out);
  nnex_ml_graph_free(graph);
  nnex_ml_builder_free(builder);
  nnex_ml_context_free(context);
}

/* Options, lists of operands, several outputs, constants and BigInts: split(concat(conv2d(...))) and a clamp of int64. */
static void test_webnn_operations(void) {
  const double picture_shape[] = {1, 1, 3, 3}, filter_shape[] = {1, 1, 2, 2}, strides[] = {1, 1}, half_shape[] = {1, 1, 2, 2}, long_shape[] = {3};
  const float numbers[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, ones[4] = {1, 1, 1, 1};
  const int64_t longs[3] = {-9007199254740993, 5, 9007199254740993};
  float sums[4] = {0};
  int64_t clamped[3] = {0};
  const char *option_keys[] = {"strides", "label"}, *clamp_keys[] = {"minValue", "maxValue"}, *names[] = {"half", "longs"};
  nnex_ml_value *args[3], *members[2], *described;
  nnex_ml_context* context = NULL;
  nnex_ml_builder* builder = NULL;
  nnex_ml_operand *x = NULL, *filter = NULL, *y = NULL, *both = NULL, *halves[2] = {NULL, NULL}, *outs[2], *wide = NULL, *bounded = NULL;
  nnex_ml_graph* graph = NULL;
  nnex_ml_tensor* results[2] = {NULL, NULL};
  nnex_error* e;
  OK(nnex_ml_context_make(NULL, 1, &context));
  OK(nnex_ml_builder_make(context, &builder));
  args[0] = descriptor("float32", picture_shape, 4);
  args[1] = nnex_ml_value_buffer(numbers, sizeof numbers);
  call(builder, "constant", args, 2, &x, 1);
  args[0] = descriptor("float32", filter_shape, 4);
  args[1] = nnex_ml_value_buffer(ones, sizeof ones);
  call(builder, "constant", args, 2, &filter, 1);
  args[0] = nnex_ml_value_operand(x);
  args[1] = nnex_ml_value_operand(filter);
  members[0] = nnex_ml_value_numbers(strides, 2);
  members[1] = nnex_ml_value_text("sums");
  args[2] = nnex_ml_value_dictionary(option_keys, members, 2);
  nnex_ml_value_free(members[0]);
  nnex_ml_value_free(members[1]);
  call(builder, "conv2d", args, 3, &y, 1);
  CHECK(nnex_ml_operand_rank(y) == 4 && nnex_ml_operand_shape(y)[2] == 2 && nnex_ml_operand_shape(y)[3] == 2);
  members[0] = members[1] = nnex_ml_value_operand(y);
  args[0] = nnex_ml_value_list(members, 2);
  nnex_ml_value_free(members[0]);
  args[1] = nnex_ml_value_number(1);
  call(builder, "concat", args, 2, &both, 1);
  args[0] = nnex_ml_value_operand(both);
  args[1] = nnex_ml_value_number(2);
  members[0] = nnex_ml_value_number(1);
  option_keys[0] = "axis";
  args[2] = nnex_ml_value_dictionary(option_keys, members, 1);
  nnex_ml_value_free(members[0]);
  call(builder, "split", args, 3, halves, 2);
  args[0] = descriptor("int64", long_shape, 1);
  args[1] = nnex_ml_value_buffer(longs, sizeof longs);
  call(builder, "constant", args, 2, &wide, 1);
  args[0] = nnex_ml_value_operand(wide);
  members[0] = nnex_ml_value_bigint("-9007199254740992");
  members[1] = nnex_ml_value_bigint("9007199254740993");
  CHECK(nnex_ml_value_bigint("12x") == NULL);
  args[1] = nnex_ml_value_dictionary(clamp_keys, members, 2);
  nnex_ml_value_free(members[0]);
  nnex_ml_value_free(members[1]);
  call(builder, "clamp", args, 2, &bounded, 1);
  args[0] = nnex_ml_value_operand(x);
  args[1] = nnex_ml_value_operand(wide);
  nnex_ml_operand_free(y);
  e = nnex_ml_call(builder, "add", args, 2, &y, 1, NULL);
  CHECK(e && strcmp(nnex_error_webnn_name(e), "TypeError") == 0 && y == NULL);
  nnex_error_free(e);
  nnex_ml_value_free(args[0]);
  nnex_ml_value_free(args[1]);
  outs[0] = halves[1];
  outs[1] = bounded;
  OK(nnex_ml_build(builder, names, outs, 2, &graph));
  described = descriptor("float32", half_shape, 4);
  OK(nnex_ml_tensor_make(context, described, &results[0]));
  nnex_ml_value_free(described);
  described = descriptor("int64", long_shape, 1);
  OK(nnex_ml_tensor_make(context, described, &results[1]));
  nnex_ml_value_free(described);
  OK(nnex_ml_dispatch(context, graph, NULL, NULL, 0, names, results, 2));
  OK(nnex_ml_tensor_read(context, results[0], sums, sizeof sums));
  OK(nnex_ml_tensor_read(context, results[1], clamped, sizeof clamped));
  CHECK(sums[0] == 12 && sums[1] == 16 && sums[2] == 24 && sums[3] == 28);
  CHECK(clamped[0] == -9007199254740992 && clamped[1] == 5 && clamped[2] == 9007199254740993);
  nnex_ml_context_destroy(context);
  e = nnex_ml_tensor_read(context, results[0], sums, sizeof sums);
  CHECK(e && strcmp(nnex_error_webnn_name(e), "InvalidStateError") == 0);
  nnex_error_free(e);
  nnex_ml_operand_free(x);
  nnex_ml_operand_free(filter);
  nnex_ml_operand_free(both);
  nnex_ml_operand_free(halves[0]);
  nnex_ml_operand_free(halves[1]);
  nnex_ml_operand_free(wide);
  nnex_ml_operand_free(bounded);
  nnex_ml_tensor_free(results[0]);
  nnex_ml_tensor_free(results[1]);
  nnex_ml_graph_free(graph);
  nnex_ml_builder_free(builder);
  nnex_ml_context_free(context);
}

/* A context, a graph y = x + w of it with w a constant tensor, and its tensors. */
struct sum {
  nnex_ml_context* context;
  nnex_ml_tensor *w, *in, *out;
  nnex_ml_graph* graph;
};
static const char *const kX[] = {"x"}, *const kY[] = {"y"};

static void make_sum(struct sum* s) {
  const double two[] = {2};
  const float weights[2] = {10, 20};
  const char* keys[] = {"dataType", "shape", "readable", "writable"};
  nnex_ml_value *described = descriptor("float32", two, 1), *members[4], *args[2];
  nnex_ml_builder* builder = NULL;
  nnex_ml_operand *x = NULL, *w = NULL, *y = NULL;
  OK(nnex_ml_context_make(NULL, 1, &s->context));
  OK(nnex_ml_constant_tensor_make(s->context, described, weights, sizeof weights, &s->w));
  OK(nnex_ml_builder_make(s->context, &builder));
  args[0] = nnex_ml_value_text("x");
  args[1] = descriptor("float32", two, 1);
  call(builder, "input", args, 2, &x, 1);
  args[0] = nnex_ml_value_tensor(s->w);
  call(builder, "constant", args, 1, &w, 1);
  args[0] = nnex_ml_value_operand(x);
  args[1] = nnex_ml_value_operand(w);
  call(builder, "add", args, 2, &y, 1);
  OK(nnex_ml_build(builder, kY, &y, 1, &s->graph));
  OK(nnex_ml_tensor_make(s->context, described, &s->out));
  members[0] = nnex_ml_value_text("float32");
  members[1] = nnex_ml_value_numbers(two, 1);
  members[2] = members[3] = nnex_ml_value_boolean(true);
  args[0] = nnex_ml_value_dictionary(keys, members, 4);
  OK(nnex_ml_tensor_make(s->context, args[0], &s->in));
  nnex_ml_value_free(args[0]);
  nnex_ml_value_free(members[0]);
  nnex_ml_value_free(members[1]);
  nnex_ml_value_free(members[2]);
  nnex_ml_value_free(described);
  nnex_ml_operand_free(x);
  nnex_ml_operand_free(w);
  nnex_ml_operand_free(y);
  nnex_ml_builder_free(builder);
}

static nnex_error* dispatch(const struct sum* s) {
  return nnex_ml_dispatch(s->context, s->graph, kX, &s->in, 1, kY, &s->out, 1);
}

static void free_sum(struct sum* s) {
  nnex_ml_tensor_free(s->w);
  nnex_ml_tensor_free(s->in);
  nnex_ml_tensor_free(s->out);
  nnex_ml_graph_free(s->graph);
  nnex_ml_context_free(s->context);
}

/* Records have each name once. */
static void test_names(void) {
  const double two[] = {2};
  const char *const both_x[] = {"x", "x"}, *const both_y[] = {"y", "y"};
  nnex_ml_builder* builder = NULL;
  nnex_ml_operand *x = NULL, *outputs[2];
  nnex_ml_tensor* inputs[2];
  nnex_ml_graph* graph = NULL;
  nnex_ml_value* args[2];
  struct sum s = {0};
  make_sum(&s);
  inputs[0] = s.in;
  inputs[1] = s.out;
  FAILS(NNEX_INVALID_ARGUMENT, "TypeError: found the name 'x' twice", nnex_ml_dispatch(s.context, s.graph, both_x, inputs, 2, kY, &s.out, 1));
  OK(nnex_ml_builder_make(s.context, &builder));
  args[0] = nnex_ml_value_text("x");
  args[1] = descriptor("float32", two, 1);
  call(builder, "input", args, 2, &x, 1);
  args[0] = nnex_ml_value_operand(x);
  call(builder, "relu", args, 1, &outputs[0], 1);
  args[0] = nnex_ml_value_operand(x);
  call(builder, "neg", args, 1, &outputs[1], 1);
  FAILS(NNEX_INVALID_ARGUMENT, "TypeError: found the name 'y' twice", nnex_ml_build(builder, both_y, outputs, 2, &graph));
  CHECK(graph == NULL);
  nnex_ml_operand_free(x);
  nnex_ml_operand_free(outputs[0]);
  nnex_ml_operand_free(outputs[1]);
  nnex_ml_builder_free(builder);
  free_sum(&s);
}

/* Constant tensors: a graph computes with them, and nothing else may be done with one. */
static void test_constant_tensor(void) {
  const double two[] = {2};
  const float numbers[2] = {1, 2};
  float found[2] = {0};
  nnex_ml_value* described = descriptor("float32", two, 1);
  nnex_ml_tensor* none = NULL;
  struct sum s = {0};
  make_sum(&s);
  OK(nnex_ml_tensor_write(s.context, s.in, numbers, sizeof numbers));
  OK(dispatch(&s));
  OK(nnex_ml_tensor_read(s.context, s.out, found, sizeof found));
  CHECK(found[0] == 11 && found[1] == 22);
  FAILS_AS("TypeError", nnex_ml_tensor_write(s.context, s.w, numbers, sizeof numbers));
  FAILS_AS("TypeError", nnex_ml_tensor_read(s.context, s.w, found, sizeof found));
  FAILS_AS("TypeError", nnex_ml_dispatch(s.context, s.graph, kX, &s.w, 1, kY, &s.out, 1));
  FAILS_AS("TypeError", nnex_ml_constant_tensor_make(s.context, described, numbers, 4, &none));
  FAILS_AS("TypeError", nnex_ml_constant_tensor_make(s.context, described, NULL, 8, &none));
  FAILS_AS("TypeError", nnex_ml_constant_tensor_make(s.context, NULL, numbers, 8, &none));
  CHECK(none == NULL);
  nnex_ml_value_free(described);
  free_sum(&s);
}

/* What is destroyed: queued work is done, later calls are refused. */
static void test_destroy(void) {
  const float numbers[2] = {1, 2};
  float found[2] = {0};
  struct sum s = {0};
  make_sum(&s);
  OK(nnex_ml_tensor_write(s.context, s.in, numbers, sizeof numbers));
  OK(dispatch(&s));
  nnex_ml_tensor_destroy(s.in);
  nnex_ml_tensor_destroy(s.in);
  nnex_ml_tensor_destroy(s.w);
  OK(nnex_ml_tensor_read(s.context, s.out, found, sizeof found));
  CHECK(found[0] == 11 && found[1] == 22);
  FAILS_AS("InvalidStateError", nnex_ml_tensor_write(s.context, s.in, numbers, sizeof numbers));
  FAILS_AS("InvalidStateError", nnex_ml_tensor_read(s.context, s.in, found, sizeof found));
  FAILS_AS("TypeError", dispatch(&s));
  nnex_ml_graph_destroy(s.graph);
  nnex_ml_graph_destroy(s.graph);
  FAILS_AS("InvalidStateError", dispatch(&s));
  nnex_ml_tensor_destroy(NULL);
  nnex_ml_graph_destroy(NULL);
  free_sum(&s);
}

static int told, released;
static char told_why[64];
static void tell(void* user, const char* message) {
  ++*(int*)user;
  snprintf(told_why, sizeof told_why, "%s", message);
}
static void release(void* user) {
  (void)user;
  ++released;
}

/* A context that is lost says so, once to each who asked, and lets go of who did. */
static void test_lost(void) {
  const char* why = "";
  nnex_ml_context* other = NULL;
  struct sum s = {0};
  make_sum(&s);
  CHECK(!nnex_ml_context_lost(s.context, &why) && why == NULL && !nnex_ml_context_lost(NULL, NULL));
  OK(nnex_ml_context_on_lost(s.context, tell, release, &told));
  FAILS_AS("TypeError", nnex_ml_context_on_lost(s.context, NULL, release, &told));
  FAILS_AS("TypeError", nnex_ml_context_on_lost(NULL, tell, release, &told));
  CHECK(told == 0 && released == 0);
  nnex_ml_context_destroy(s.context);
  nnex_ml_context_destroy(s.context);
  CHECK(told == 1 && strstr(told_why, "destroy"));
  CHECK(nnex_ml_context_lost(s.context, NULL) && nnex_ml_context_lost(s.context, &why) && strcmp(why, told_why) == 0);
  OK(nnex_ml_context_on_lost(s.context, tell, NULL, &told));
  CHECK(told == 2);
  FAILS_AS("InvalidStateError", dispatch(&s));
  free_sum(&s);
  CHECK(released == 1);
  OK(nnex_ml_context_make(NULL, 1, &other));
  OK(nnex_ml_context_on_lost(other, tell, release, &told));
  nnex_ml_context_free(other);
  CHECK(told == 2 && released == 2);
}

/* The text of the limits, in part: its form is judged by who reads JSON. */
static void test_limits(void) {
  nnex_ml_context* context = NULL;
  const char* limits;
  OK(nnex_ml_context_make(NULL, 1, &context));
  limits = nnex_ml_context_limits(context);
  CHECK(limits && limits == nnex_ml_context_limits(context) && nnex_ml_context_limits(NULL) == NULL);
  if (limits) {
    CHECK(strstr(limits, "{\"preferredInputLayout\":\"") == limits);
    CHECK(strstr(limits, "\"matmul\":{\"a\":{\"dataTypes\":[\"float32\",\"float16\"],\"rankRange\":{\"min\":2,\"max\":8}},"));
    CHECK(strstr(limits, "\"constant\":{\"dataTypes\":[\"float32\""));
  }
  nnex_ml_context_free(context);
}

int main(void) {
  test_webnn();
  test_webnn_operations();
  test_names();
  test_constant_tensor();
  test_destroy();
  test_lost();
  test_limits();
  printf("webnn_test: %s\n", failures ? "failed" : "all holds");
  return failures != 0;
}
