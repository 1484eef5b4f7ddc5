#ifndef NNEX_WEBNN_H
#define NNEX_WEBNN_H
/* WebNN in C (C99): contexts, graph builders, tensors and graphs, with operations by their names in the specification.
 *
 *     nnex_ml_value* args[2] = {nnex_ml_value_operand(a), nnex_ml_value_operand(b)};
 *     e = nnex_ml_call(builder, "matmul", args, 2, &y, 1, NULL);
 *
 * Arguments are what JavaScript would pass, and are converted and checked as the Web IDL says; the errors are the
 * specification's (nnex_error_webnn_name). Calls on a context are queued in call order on its timeline. A builder
 * belongs to one thread at a time; all else may be used from any. Ownership is that of nnex.h. */

#include "nnex.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nnex_ml_context nnex_ml_context;
typedef struct nnex_ml_builder nnex_ml_builder;
typedef struct nnex_ml_operand nnex_ml_operand;
typedef struct nnex_ml_tensor nnex_ml_tensor;
typedef struct nnex_ml_graph nnex_ml_graph;

/* A value of JavaScript. Those below give NULL where there is no memory or an argument is NULL, and where lists and
 * dictionaries would nest deeper than 64; the items of both are shared, not taken over. */
typedef struct nnex_ml_value nnex_ml_value;
NNEX_C_API nnex_ml_value* nnex_ml_value_undefined(void);
NNEX_C_API nnex_ml_value* nnex_ml_value_null(void);
NNEX_C_API nnex_ml_value* nnex_ml_value_boolean(bool value);
NNEX_C_API nnex_ml_value* nnex_ml_value_number(double value);
NNEX_C_API nnex_ml_value* nnex_ml_value_bigint(const char* digits); /* "-9223372036854775808"; NULL for no number. */
NNEX_C_API nnex_ml_value* nnex_ml_value_text(const char* text);
NNEX_C_API nnex_ml_value* nnex_ml_value_operand(const nnex_ml_operand* operand);
NNEX_C_API nnex_ml_value* nnex_ml_value_tensor(const nnex_ml_tensor* tensor);
/* Bytes that are read while a call is made: an ArrayBuffer. */
NNEX_C_API nnex_ml_value* nnex_ml_value_buffer(const void* bytes, size_t size);
NNEX_C_API nnex_ml_value* nnex_ml_value_list(nnex_ml_value* const* items, size_t count);
NNEX_C_API nnex_ml_value* nnex_ml_value_numbers(const double* items, size_t count);
NNEX_C_API nnex_ml_value* nnex_ml_value_dictionary(const char* const* keys, nnex_ml_value* const* members,
                                                   size_t count);
NNEX_C_API void nnex_ml_value_free(nnex_ml_value* value);

/* ML.createContext(options); `options` may be NULL. threads: of one inference; 0: all this process may use. */
NNEX_C_API nnex_error* nnex_ml_context_make(const nnex_ml_value* options, int threads, nnex_ml_context** out);
/* MLContext.destroy(): graphs and tensors go with it, what is pending is rejected. Freeing the handle alone is gentler:
 * what was queued still runs. */
NNEX_C_API void nnex_ml_context_destroy(const nnex_ml_context* context);
/* MLContext.opSupportLimits() as JSON: {"preferredInputLayout": "nhwc", ..., "matmul": {"a": {"dataTypes": ["float32",
 * "float16"], "rankRange": {"min": 2, "max": 8}}, ...}, ...}. NULL where there is no memory. */
NNEX_C_API const char* nnex_ml_context_limits(const nnex_ml_context* context);
/* MLContext.lost: whether the context is lost or destroyed; `message`, which may be NULL, is then why. */
NNEX_C_API bool nnex_ml_context_lost(const nnex_ml_context* context, const char** message);
/* Calls `lost` once, when the context is lost or destroyed: on the thread where that happens, or here and now when it
 * has happened already; never when the context goes without. It must not call nnex with this context. `release`, which
 * may be NULL, is called with `user` when nobody needs it any more; not where this function fails. */
NNEX_C_API nnex_error* nnex_ml_context_on_lost(const nnex_ml_context* context,
                                               void (*lost)(void* user, const char* message),
                                               void (*release)(void* user), void* user);
NNEX_C_API void nnex_ml_context_free(nnex_ml_context* context);

NNEX_C_API nnex_error* nnex_ml_builder_make(const nnex_ml_context* context, nnex_ml_builder** out);
/* Any method of MLGraphBuilder that gives operands: "input", "constant", "conv2d", "lstm", ... Outputs beyond `room`
 * are dropped; `made`, when given, is how many there are. */
NNEX_C_API nnex_error* nnex_ml_call(nnex_ml_builder* builder, const char* method, nnex_ml_value* const* arguments,
                                    size_t count, nnex_ml_operand** out, size_t room, size_t* made);
/* MLGraphBuilder.build(): waits until the graph is compiled. A name that is there twice is a TypeError, here and below.
 */
NNEX_C_API nnex_error* nnex_ml_build(nnex_ml_builder* builder, const char* const* names,
                                     nnex_ml_operand* const* outputs, size_t count, nnex_ml_graph** out);
NNEX_C_API void nnex_ml_builder_free(nnex_ml_builder* builder);

/* "float32", and the shape. */
NNEX_C_API const char* nnex_ml_operand_type(const nnex_ml_operand* operand);
NNEX_C_API size_t nnex_ml_operand_rank(const nnex_ml_operand* operand);
NNEX_C_API const uint32_t* nnex_ml_operand_shape(const nnex_ml_operand* operand);
NNEX_C_API void nnex_ml_operand_free(nnex_ml_operand* operand);

/* MLContext.createTensor(descriptor): waits until it is there. */
NNEX_C_API nnex_error* nnex_ml_tensor_make(const nnex_ml_context* context, const nnex_ml_value* descriptor,
                                           nnex_ml_tensor** out);
/* MLContext.createConstantTensor(descriptor, data): copies the bytes; for the builder's "constant" alone, in any number
 * of graphs, which share it. */
NNEX_C_API nnex_error* nnex_ml_constant_tensor_make(const nnex_ml_context* context, const nnex_ml_value* descriptor,
                                                    const void* bytes, size_t size, nnex_ml_tensor** out);
/* Copies the bytes now and queues the write. */
NNEX_C_API nnex_error* nnex_ml_tensor_write(const nnex_ml_context* context, const nnex_ml_tensor* tensor,
                                            const void* bytes, size_t size);
/* Waits for the work queued before and copies the bytes; `size`, the room for them, is at least theirs. */
NNEX_C_API nnex_error* nnex_ml_tensor_read(const nnex_ml_context* context, const nnex_ml_tensor* tensor, void* bytes,
                                           size_t size);
/* MLTensor.destroy(): its memory goes once the work queued before is done; reads that wait are refused, and so are
 * later calls. Freeing the handle alone is gentler: what was queued still runs. */
NNEX_C_API void nnex_ml_tensor_destroy(const nnex_ml_tensor* tensor);
NNEX_C_API void nnex_ml_tensor_free(nnex_ml_tensor* tensor);
/* Queues one inference: tensors by the names of the graph's inputs and outputs. */
NNEX_C_API nnex_error* nnex_ml_dispatch(const nnex_ml_context* context, const nnex_ml_graph* graph,
                                        const char* const* input_names, nnex_ml_tensor* const* inputs,
                                        size_t input_count, const char* const* output_names,
                                        nnex_ml_tensor* const* outputs, size_t output_count);
/* MLGraph.destroy(): what was queued still runs, later dispatches are refused. */
NNEX_C_API void nnex_ml_graph_destroy(const nnex_ml_graph* graph);
NNEX_C_API void nnex_ml_graph_free(nnex_ml_graph* graph);

#ifdef __cplusplus
}
#endif
#endif
