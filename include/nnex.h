#ifndef NNEX_H
#define NNEX_H
/* The C interface of nnex (C99): reads, checks, converts, edits, quantises, compares and runs neural networks of ONNX,
 * NNEF, WebNN and CVM.
 *
 *     nnex_model* model = NULL;
 *     nnex_session* session = NULL;
 *     nnex_value *in = NULL, *out = NULL;
 *     nnex_error* e = nnex_model_load_path("model.onnx", NULL, &model);
 *     if (!e) e = nnex_session_make(model, NULL, &session);
 *     if (!e) e = nnex_tensor_borrow(NNEX_F32, 2, (int64_t[]){1, 3}, numbers, NULL, NULL, &in);
 *     if (!e) e = nnex_session_run(session, &in, 1, &out, 1, NULL);
 *     if (e) fprintf(stderr, "%s\n", nnex_error_text(e));
 *
 * Errors. A function that can fail returns NULL, or an error that the caller frees; what it would have made is then
 * NULL. A NULL where an object is needed, and an index that is too large, is an error of code NNEX_INVALID_ARGUMENT
 * where the function can fail; other functions then give NULL, 0 or -1.
 *
 * Ownership. What a function makes (its last pointer to a pointer) is the caller's, who frees it with nnex_TYPE_free;
 * freeing NULL does nothing. Objects keep what they need: a session its model, a value its bytes; they may be freed in
 * any order. Texts (const char*, UTF-8, ending in 0) and pointers into objects live as long as the object they were
 * asked of.
 *
 * Threads. Different objects are independent. Models, graphs, sources, values, reports (also of quantising and
 * comparing) and errors never change and may be used from any number of threads at once, freeing aside. A session runs
 * one inference at a time: a second call during a run is refused. Options and lists that are being filled belong to one
 * thread. Callbacks are called on the thread that called nnex, custom operators on the threads of the run as well,
 * and `cancelled` on a thread of nnex, too. Once loaded, the library stays in the process: dlclose() does not unload
 * it, as threads of its own (of runs, of WebNN's contexts) may still be ending.
 *
 * Structs that begin with `size` are versioned by it: set it to sizeof(the struct) and the rest to 0 (as
 * `= {.size = sizeof(nnex_run_options)}` does); later versions add members at the end, and 0 is always today's
 * behaviour. A `size` less than the struct of the first version had is refused as NNEX_INVALID_ARGUMENT, members of a
 * later version than the library's that are not 0 as NNEX_UNSUPPORTED.
 *
 * A callback that throws, where the host is C++, is an error that says what it threw; `release` and `release_bytes`
 * must not.
 *
 * Callbacks `release` are called once, when nobody needs their context any more, from any thread. Where a function that
 * takes one fails, it is not called: the context stays the caller's.
 *
 * How a graph is walked and given constants stands in nnex_graph.h, WebNN's own interface in nnex_webnn.h; both are
 * included at the end. Documents that are named here (docs/...) are installed as share/doc/nnex/docs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NNEX_C_API __attribute__((visibility("default")))
#else
#define NNEX_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and features ---- */

/* Of this header. Before 1.0 another minor version is another interface, whose library has another name
 * (libnnex.so.0.1): docs/cpp.md says what stays. */
#define NNEX_VERSION_MAJOR 0
#define NNEX_VERSION_MINOR 1
#define NNEX_VERSION_PATCH 0
#define NNEX_VERSION "0.1.0"

/* "0.1.0": of the library that runs, not of this header. */
NNEX_C_API const char* nnex_version(void);
/* Whether the library has a feature: "onnx", "nnef", "webnn", "cvm" (it reads and writes such files), "c" (it writes
 * them), "custom_operators", "dlpack", "threads". False for names it does not know. */
NNEX_C_API bool nnex_has(const char* feature);
/* Threads this process may use, and the instruction set that runs take ("avx2"; the names of `nnex env`). */
NNEX_C_API int nnex_usable_threads(void);
NNEX_C_API const char* nnex_isa(void);

/* ---- Errors ---- */

typedef struct nnex_error nnex_error;

typedef enum nnex_code {
  NNEX_INVALID_ARGUMENT = 0, /* The caller's request makes no sense (wrong shape, unknown name). */
  NNEX_INVALID_MODEL = 1,    /* The file or graph breaks a rule of its standard. */
  NNEX_UNREADABLE = 2,       /* The file cannot be opened, read or written. */
  NNEX_UNSUPPORTED = 3,      /* Legal, but nnex lacks it. */
  NNEX_LIMIT = 4,            /* A limit on memory, size, depth or steps was reached. */
  NNEX_FAULT = 5,            /* The data of this run made an operator fail. */
  NNEX_CANCELLED = 6,        /* The caller asked the run to stop, or its time was over. */
  NNEX_INTERNAL = 7          /* A mistake in nnex. */
} nnex_code;

NNEX_C_API nnex_code nnex_error_code(const nnex_error* error);
/* "invalid model", "limit reached": the code in words. */
NNEX_C_API const char* nnex_error_code_name(const nnex_error* error);
/* The sentence alone: what was found, what was needed. */
NNEX_C_API const char* nnex_error_message(const nnex_error* error);
/* The place ("model.onnx: node 'conv1' (Conv)"); "" when nobody knew. */
NNEX_C_API const char* nnex_error_where(const nnex_error* error);
/* The specification's name of an error of WebNN ("TypeError", "InvalidStateError"); "" for all others. */
NNEX_C_API const char* nnex_error_webnn_name(const nnex_error* error);
/* Everything: "place: message", then one line "  while task" for every task. */
NNEX_C_API const char* nnex_error_text(const nnex_error* error);
NNEX_C_API void nnex_error_free(nnex_error* error);
/* An error that a callback returns. Copies both texts; `where` may be NULL. NULL when there is no memory. */
NNEX_C_API nnex_error* nnex_error_make(nnex_code code, const char* message, const char* where);

/* ---- Values: tensors, and what else an edge of a network carries ---- */

/* Element types. Those narrower than 8 bits are stored dense, low bits first; bool is a byte. */
typedef enum nnex_dtype {
  NNEX_NONE = 0,
  NNEX_F64 = 1,
  NNEX_F32 = 2,
  NNEX_F16 = 3,
  NNEX_BF16 = 4,
  NNEX_F8E4M3FN = 5,
  NNEX_F8E4M3FNUZ = 6,
  NNEX_F8E5M2 = 7,
  NNEX_F8E5M2FNUZ = 8,
  NNEX_F8E8M0 = 9,
  NNEX_F4E2M1 = 10,
  NNEX_I64 = 11,
  NNEX_I32 = 12,
  NNEX_I16 = 13,
  NNEX_I8 = 14,
  NNEX_I4 = 15,
  NNEX_I2 = 16,
  NNEX_U64 = 17,
  NNEX_U32 = 18,
  NNEX_U16 = 19,
  NNEX_U8 = 20,
  NNEX_U4 = 21,
  NNEX_U2 = 22,
  NNEX_BOOL = 23,
  NNEX_C64 = 24,
  NNEX_C128 = 25,
  NNEX_STR = 26
} nnex_dtype;

/* "f32", "bool"; "none" for a number that is no type. */
NNEX_C_API const char* nnex_dtype_name(nnex_dtype dtype);
/* The type of such a name, or of WebNN's ("float32"); NNEX_NONE when there is none. */
NNEX_C_API nnex_dtype nnex_dtype_named(const char* name);
/* Bits of one element; 0 for NNEX_NONE and NNEX_STR. */
NNEX_C_API int nnex_dtype_bits(nnex_dtype dtype);

typedef struct nnex_value nnex_value;

typedef enum nnex_kind {
  NNEX_EMPTY = 0,
  NNEX_TENSOR = 1,
  NNEX_SPARSE = 2,   /* Items: values, indices. */
  NNEX_SEQUENCE = 3, /* Items in order. */
  NNEX_MAP = 4,      /* Items: a tensor of keys, then the values of the keys in its order. */
  NNEX_OPTIONAL = 5  /* One item, or none. */
} nnex_kind;

/* A tensor of memory of its own, zeros (strings: empty). Extents outermost first; rank 0 is a scalar. Errors:
 * NNEX_INVALID_ARGUMENT, NNEX_LIMIT. */
NNEX_C_API nnex_error* nnex_tensor_make(nnex_dtype dtype, size_t rank, const int64_t* extents, nnex_value** out);
/* A tensor over the caller's memory, which outlives every copy of it and is written by runs alone that are told to
 * (nnex_session_run_into). Between runs the caller may write it. `release`, when given, is called with `context` when
 * nobody needs the memory any more, from any thread; not where this function fails. Not for NNEX_STR. */
NNEX_C_API nnex_error* nnex_tensor_borrow(nnex_dtype dtype, size_t rank, const int64_t* extents, void* data,
                                          void (*release)(void* context), void* context, nnex_value** out);
/* A tensor of texts, copied; `count` of them, the product of the extents. */
NNEX_C_API nnex_error* nnex_tensor_strings(size_t rank, const int64_t* extents, const char* const* texts, size_t count,
                                           nnex_value** out);
/* The same of texts of so many bytes each, whatever they are: they may hold a 0. */
NNEX_C_API nnex_error* nnex_tensor_texts(size_t rank, const int64_t* extents, const char* const* texts,
                                         const size_t* sizes, size_t count, nnex_value** out);
/* The tensor of a DLPack capsule's DLManagedTensor, on the CPU, row-major and dense. It is taken over: its deleter is
 * called when nobody needs the memory any more; not where this function fails. */
struct DLManagedTensor;
NNEX_C_API nnex_error* nnex_tensor_from_dlpack(struct DLManagedTensor* managed, nnex_value** out);
/* The same of a capsule of DLPack 1 (DLManagedTensorVersioned). Error: NNEX_UNSUPPORTED, another major version. */
struct DLManagedTensorVersioned;
NNEX_C_API nnex_error* nnex_tensor_from_dlpack_versioned(struct DLManagedTensorVersioned* managed, nnex_value** out);
/* The tensor as a DLManagedTensor, which shares the memory and whose deleter the consumer calls once. The bytes must
 * not be written. Errors: NNEX_UNSUPPORTED (strings, types narrower than 8 bits). */
NNEX_C_API nnex_error* nnex_tensor_to_dlpack(const nnex_value* tensor, struct DLManagedTensor** out);
/* The same as one of DLPack 1.1, whose flag says that it is to be read alone. */
NNEX_C_API nnex_error* nnex_tensor_to_dlpack_versioned(const nnex_value* tensor, struct DLManagedTensorVersioned** out);

NNEX_C_API nnex_kind nnex_value_kind(const nnex_value* value);
/* "f32[1,3]", "sequence of 4". */
NNEX_C_API const char* nnex_value_text(const nnex_value* value);
/* Items of a sequence, map, optional or sparse tensor: their number, and a new handle to one of them. */
NNEX_C_API size_t nnex_value_count(const nnex_value* value);
NNEX_C_API nnex_error* nnex_value_item(const nnex_value* value, size_t index, nnex_value** out);
/* A sequence of values, which it shares. Error of this one and the next two: NNEX_LIMIT, where values would nest deeper
 * than 64. */
NNEX_C_API nnex_error* nnex_sequence_make(nnex_value* const* items, size_t count, nnex_value** out);
/* An optional with this item, which it shares, or with none (NULL). */
NNEX_C_API nnex_error* nnex_optional_make(const nnex_value* item, nnex_value** out);
/* A map from keys (NNEX_I64 or NNEX_STR of rank 1, in any order, each once) to as many values, which it shares; its
 * keys ascend. Errors: NNEX_INVALID_ARGUMENT, NNEX_LIMIT. */
NNEX_C_API nnex_error* nnex_map_make(const nnex_value* keys, nnex_value* const* values, size_t count, nnex_value** out);
/* A sparse tensor of these extents: values of rank 1, and as many indices (NNEX_I64), linear or one coordinate for each
 * axis, ascending; all else is zero. Errors: NNEX_INVALID_ARGUMENT, NNEX_LIMIT. */
NNEX_C_API nnex_error* nnex_sparse_make(const nnex_value* values, const nnex_value* indices, size_t rank,
                                        const int64_t* extents, nnex_value** out);
/* The extents of a sparse tensor; of other values 0 and NULL. */
NNEX_C_API size_t nnex_sparse_rank(const nnex_value* value);
NNEX_C_API const int64_t* nnex_sparse_extents(const nnex_value* value);
/* Another handle to the same value. */
NNEX_C_API nnex_error* nnex_value_share(const nnex_value* value, nnex_value** out);
NNEX_C_API void nnex_value_free(nnex_value* value);

/* Of tensors; of other values NNEX_NONE, 0 and NULL. */
NNEX_C_API nnex_dtype nnex_tensor_dtype(const nnex_value* tensor);
NNEX_C_API size_t nnex_tensor_rank(const nnex_value* tensor);
NNEX_C_API const int64_t* nnex_tensor_extents(const nnex_value* tensor);
NNEX_C_API int64_t nnex_tensor_count(const nnex_value* tensor);
/* Bytes of the elements, and where they are; of NNEX_STR 0 and NULL. */
NNEX_C_API size_t nnex_tensor_bytes(const nnex_value* tensor);
NNEX_C_API const void* nnex_tensor_data(const nnex_value* tensor);
/* The bytes to fill: of a tensor that no other handle and no run shares. NULL for any other, for one of DLPack, for
 * texts, and for outputs that are constants of the model. */
NNEX_C_API void* nnex_tensor_mutable_data(nnex_value* tensor);
/* Element `index` of a tensor of texts; NULL where there is none. */
NNEX_C_API const char* nnex_tensor_string(const nnex_value* tensor, int64_t index);
/* The same with the number of its bytes, among which may be a 0, and which need be no UTF-8. */
NNEX_C_API const char* nnex_tensor_text(const nnex_value* tensor, int64_t index, size_t* size);

/* ---- Sources: where a model comes from ---- */

typedef struct nnex_source nnex_source;

/* What lies at a path: a file, a folder or an archive of any standard (as for the command line). */
NNEX_C_API nnex_error* nnex_source_path(const char* path, nnex_source** out);
/* A file's bytes, copied. `name` tells the format where the bytes do not, and is for messages; it may be NULL. */
NNEX_C_API nnex_error* nnex_source_memory(const void* bytes, size_t size, const char* name, nnex_source** out);
/* The same, not copied: `release`, when given, is called with `context` when nobody needs the bytes any more, from any
 * thread; without it they outlive every graph and model. A model of fixed extents lets go of them when its first run
 * has packed the weights. */
NNEX_C_API nnex_error* nnex_source_borrow(const void* bytes, size_t size, const char* name,
                                          void (*release)(void* context), void* context, nnex_source** out);

/* Files that only the caller can open: encrypted, packed, in a database. Calls come one after the other, on the thread
 * that reads a model. */
typedef struct nnex_reader {
  size_t size;
  /* The name of file `index`, '/' between folders, valid until the next call; NULL past the last. */
  const char* (*name)(void* context, size_t index);
  /* The bytes of a file. They stay valid until release_bytes is called with the same `token`, which may be NULL. An
   * error is taken over. */
  nnex_error* (*read)(void* context, const char* name, const void** bytes, size_t* length, void** token);
  /* May be NULL: the bytes outlive every model. Called when neither a source nor a graph nor a model needs them any
   * more: of a model of fixed extents its first run packs the weights, and lets go of what they were read from. */
  void (*release_bytes)(void* context, void* token);
  void (*release)(void* context); /* May be NULL. Called once, after the last use of all; not where the call below
                                     fails. */
  void* context;
} nnex_reader;
NNEX_C_API nnex_error* nnex_source_callbacks(const nnex_reader* reader, const char* name, nnex_source** out);
NNEX_C_API void nnex_source_free(nnex_source* source);

/* ---- Options of loading ---- */

typedef struct nnex_load_options nnex_load_options;
NNEX_C_API nnex_error* nnex_load_options_make(nnex_load_options** out);
NNEX_C_API void nnex_load_options_free(nnex_load_options* options);
/* The number of a symbolic extent, by symbol or as "input.axis". */
NNEX_C_API nnex_error* nnex_load_options_symbol(nnex_load_options* options, const char* symbol, int64_t extent);
/* Another shape of an input, which all others follow (ONNX and NNEF). */
NNEX_C_API nnex_error* nnex_load_options_shape(nnex_load_options* options, const char* input, size_t rank,
                                               const int64_t* extents);
/* An output that becomes an input of a session's next run without a copy: caches that grow, recurrent states. The pair
 * is among neither outputs nor inputs any more but a state, named as the input, which begins with zeros; an extent that
 * no symbol fixes begins as 0. A pair that does not fit is an error of loading. */
NNEX_C_API nnex_error* nnex_load_options_carry(nnex_load_options* options, const char* output, const char* input);
/* All pairs of a model that look carried by their names and types: "present.0.key" to "past_key_values.0.key", "h_out"
 * to "h_in", "hn" to "h0". `count`, which may be NULL, is how many there are; none is no error. */
struct nnex_inspection;
NNEX_C_API nnex_error* nnex_load_options_carry_likely(nnex_load_options* options,
                                                      const struct nnex_inspection* inspection, size_t* count);
/* One of the rest, by name: "optimize" (1), "map" (automatic, never, always), "external_folder", "memory_limit" (bytes;
 * 0: three quarters of what there is), "archive_ratio", "archive_limit", "exact" (0), "portable" (0), "isa" ("scalar",
 * "sse4", "avx2", ...), "cache" (a folder that keeps compiled models: nnex_model_cache), "dialect" (of NNEF:
 * "automatic", "standard", "tract"), "weight_seed", "expand_compounds" (0), "quantized" (0: NNEF's
 * graph.quant is a hint; 1: it is applied), "cvm_answers" ("nnex", "formal"), "timeout_ns" (of reading and compiling by
 * each call, asked between nodes and between passes: NNEX_CANCELLED; 0: none). Numbers and truth values are texts ("1",
 * "0"). Error: NNEX_INVALID_ARGUMENT, with what there is. */
NNEX_C_API nnex_error* nnex_load_options_set(nnex_load_options* options, const char* name, const char* value);
/* Stops reading and compiling by each call that is given these options, as `cancelled` of nnex_run_options stops a run:
 * between nodes and between passes. NULL: nothing does. */
NNEX_C_API nnex_error* nnex_load_options_cancelled(nnex_load_options* options, bool (*cancelled)(void* context),
                                                   void* context);

/* ---- Custom operators: what nnex lacks, computed by the host ----
 *
 * Of an operator that nnex has (`nnex ops` lists them) its own counts: one of the host's by that name is never called.
 */

typedef struct nnex_custom_node nnex_custom_node; /* One node, during a callback alone. */

NNEX_C_API const char* nnex_custom_node_op(const nnex_custom_node* node); /* "com.example:Rotate" */
NNEX_C_API size_t nnex_custom_node_inputs(const nnex_custom_node* node);
NNEX_C_API size_t nnex_custom_node_outputs(const nnex_custom_node* node);
/* Attributes by name; the error says what was found. A whole number counts as a real, a truth value as 0 or 1. Lists,
 * texts and tensors stay valid during the callback. */
NNEX_C_API bool nnex_custom_node_has(const nnex_custom_node* node, const char* attribute);
NNEX_C_API nnex_error* nnex_custom_node_int(const nnex_custom_node* node, const char* attribute, int64_t* out);
NNEX_C_API nnex_error* nnex_custom_node_real(const nnex_custom_node* node, const char* attribute, double* out);
NNEX_C_API nnex_error* nnex_custom_node_text(const nnex_custom_node* node, const char* attribute, const char** out);
NNEX_C_API nnex_error* nnex_custom_node_ints(const nnex_custom_node* node, const char* attribute, const int64_t** out,
                                             size_t* count);
NNEX_C_API nnex_error* nnex_custom_node_reals(nnex_custom_node* node, const char* attribute, const double** out,
                                              size_t* count);
NNEX_C_API nnex_error* nnex_custom_node_texts(nnex_custom_node* node, const char* attribute, const char* const** out,
                                              size_t* count);
NNEX_C_API nnex_error* nnex_custom_node_tensor(nnex_custom_node* node, const char* attribute, const nnex_value** out);
/* For `infer`: the type of an input ("f32[N,3]", "unknown"), and the same of an output in return. */
NNEX_C_API const char* nnex_custom_node_input_type(const nnex_custom_node* node, size_t index);
NNEX_C_API nnex_error* nnex_custom_node_set_type(nnex_custom_node* node, size_t output, const char* type);
/* An input, valid during the callback (what is made of it, as by nnex_value_share, lasts, and has a copy of bytes that
 * would go with the run); NULL: absent, and for `infer` also where its content is not known before a run. */
NNEX_C_API const nnex_value* nnex_custom_node_input(nnex_custom_node* node, size_t index);
/* For `run`: the memory of an output, to be filled. Each output that somebody reads must be made. */
NNEX_C_API nnex_error* nnex_custom_node_output(nnex_custom_node* node, size_t output, nnex_dtype dtype, size_t rank,
                                               const int64_t* extents, void** data);
/* For `run`: an output that is this value, shared. */
NNEX_C_API nnex_error* nnex_custom_node_set_output(nnex_custom_node* node, size_t output, const nnex_value* value);

typedef struct nnex_custom_op {
  size_t size;
  const char* domain; /* As ONNX has it; "" for NNEF's custom operations. */
  const char* name;
  int64_t since, until; /* Versions of the domain that it serves; until 0: all from `since` on. */
  bool pure;            /* Equal inputs give equal outputs and nothing else happens: it may be computed at load. */
  /* The types of the outputs; NULL: they are known when the kernel has made them. */
  nnex_error* (*infer)(void* context, nnex_custom_node* node);
  /* Computes the outputs. Called from several threads at once where several sessions run. */
  nnex_error* (*run)(void* context, nnex_custom_node* node);
  void (*release)(void* context); /* May be NULL. Called once, when nobody needs the operator any more; not where the
                                     call below fails. */
  void* context;
} nnex_custom_op;
NNEX_C_API nnex_error* nnex_load_options_custom_op(nnex_load_options* options, const nnex_custom_op* op);

/* ---- Models ---- */

typedef struct nnex_model nnex_model;

/* Reads and compiles a model. `options` may be NULL. Errors: NNEX_UNREADABLE, NNEX_INVALID_MODEL, NNEX_UNSUPPORTED
 * (names every operator that is missing), NNEX_LIMIT. */
NNEX_C_API nnex_error* nnex_model_load(const nnex_source* source, const nnex_load_options* options, nnex_model** out);
NNEX_C_API nnex_error* nnex_model_load_path(const char* path, const nnex_load_options* options, nnex_model** out);
NNEX_C_API nnex_error* nnex_model_load_memory(const void* bytes, size_t size, const nnex_load_options* options,
                                              nnex_model** out);
NNEX_C_API void nnex_model_free(nnex_model* model);
/* What the option "cache" did: "found" (the model came out of the folder), "due" (it will be there when its first run
 * has ended), "written" (it is there since), "failed" (it could not be written), "none" (no folder was named, or such a
 * model is not kept). Nothing fails for the folder's sake. */
NNEX_C_API const char* nnex_model_cache(const nnex_model* model);
/* Why that is ("": there is nothing to say), and where the model is kept or would be ("": nowhere). NULL where there is
 * no memory. */
NNEX_C_API const char* nnex_model_cache_why(const nnex_model* model);
NNEX_C_API const char* nnex_model_cache_file(const nnex_model* model);

/* An input, output or state, or any value in a graph (nnex_graph.h); lives as long as its model, graph or report. */
typedef struct nnex_port nnex_port;
NNEX_C_API size_t nnex_model_inputs(const nnex_model* model);
NNEX_C_API size_t nnex_model_outputs(const nnex_model* model);
NNEX_C_API size_t nnex_model_states(const nnex_model* model);
NNEX_C_API const nnex_port* nnex_model_input(const nnex_model* model, size_t index);
NNEX_C_API const nnex_port* nnex_model_output(const nnex_model* model, size_t index);
NNEX_C_API const nnex_port* nnex_model_state(const nnex_model* model, size_t index);
/* Which input or output has the name; -1: none. */
NNEX_C_API int64_t nnex_model_input_index(const nnex_model* model, const char* name);
NNEX_C_API int64_t nnex_model_output_index(const nnex_model* model, const char* name);
/* What the model says of itself, by the words of nnex_inspection_metadata or a key of its metadata; NULL: nothing. */
NNEX_C_API const char* nnex_model_metadata(const nnex_model* model, const char* key);
/* The keys of its metadata; NULL past the last. */
NNEX_C_API const char* nnex_model_metadata_key(const nnex_model* model, size_t index);
/* The value of that key, with the number of its bytes, among which may be a 0. */
NNEX_C_API const char* nnex_model_metadata_value(const nnex_model* model, size_t index, size_t* size);
NNEX_C_API const char* nnex_port_name(const nnex_port* port);
/* The bytes of its name, among which may be a 0 where a file is strange. */
NNEX_C_API size_t nnex_port_name_size(const nnex_port* port);
NNEX_C_API const char* nnex_port_type(const nnex_port* port); /* "f32[N,3,224,224]" */
NNEX_C_API nnex_dtype nnex_port_dtype(const nnex_port* port);
NNEX_C_API int nnex_port_rank(const nnex_port* port);                           /* -1: not known. */
NNEX_C_API int64_t nnex_port_extent(const nnex_port* port, size_t axis);        /* -1: symbolic or not known. */
NNEX_C_API const char* nnex_port_dimension(const nnex_port* port, size_t axis); /* "3", "N", "2*H" */

/* ---- Sessions ---- */

typedef struct nnex_session nnex_session;

typedef struct nnex_session_options {
  size_t size;
  int threads;   /* Of a run; 0: all this process may use. */
  uint64_t seed; /* For random operators without one of their own. */
} nnex_session_options;

typedef struct nnex_run_options {
  size_t size;
  int64_t timeout_ns; /* 0: none; INT64_MAX is as good. */
  /* May be NULL. Asked before a run on the caller's thread, and every few milliseconds while it is on, on a thread of
   * nnex that all runs share: it answers at once. */
  bool (*cancelled)(void* context);
  void* context;
} nnex_run_options;

/* `options` may be NULL. */
NNEX_C_API nnex_error* nnex_session_make(const nnex_model* model, const nnex_session_options* options,
                                         nnex_session** out);
NNEX_C_API void nnex_session_free(nnex_session* session);
/* One inference: inputs in the model's order, `outputs` filled with new values in the model's order (NULL where it
 * fails). The inputs' memory is read while it lasts: outputs and carried states share none of it. Errors:
 * NNEX_INVALID_ARGUMENT (count, type or shape: found and needed), NNEX_FAULT, NNEX_LIMIT, NNEX_CANCELLED. The first run
 * with inputs of such extents plans it and packs the weights, which is asked to stop between nodes
 * (nnex_session_prepare does both ahead). */
NNEX_C_API nnex_error* nnex_session_run(nnex_session* session, nnex_value* const* inputs, size_t input_count,
                                        nnex_value** outputs, size_t output_count, const nnex_run_options* options);
/* The same into tensors of the caller's, of the outputs' types and extents, of nnex_tensor_make or nnex_tensor_borrow,
 * which share their bytes with no input and no other output. Where extents do not depend on data and nothing is
 * carried, a run like an earlier one allocates nothing. */
NNEX_C_API nnex_error* nnex_session_run_into(nnex_session* session, nnex_value* const* inputs, size_t input_count,
                                             nnex_value* const* outputs, size_t output_count,
                                             const nnex_run_options* options);
/* Plans and packs ahead for the shapes that the model declares: the first run is then as fast as the next. Error:
 * NNEX_INVALID_ARGUMENT where an extent is no number (nnex_load_options_symbol gives it one). */
NNEX_C_API nnex_error* nnex_session_prepare(nnex_session* session);
/* The same for the shapes that these tensors have, in the order of the model's inputs; their elements are not read. */
NNEX_C_API nnex_error* nnex_session_prepare_for(nnex_session* session, nnex_value* const* inputs, size_t input_count);
/* Either of the two, which these options stop between nodes; the weights of a model of fixed extents are packed whole.
 * `inputs` NULL and a count of 0: for the shapes that the model declares; `options` may be NULL. */
NNEX_C_API nnex_error* nnex_session_prepare_with(nnex_session* session, nnex_value* const* inputs, size_t input_count,
                                                 const nnex_run_options* options);
/* What the session keeps from run to run under a label; what it is given is copied. These are refused during a run. */
NNEX_C_API nnex_error* nnex_session_state(const nnex_session* session, const char* label, nnex_value** out);
NNEX_C_API nnex_error* nnex_session_set_state(nnex_session* session, const char* label, const nnex_value* value);
NNEX_C_API nnex_error* nnex_session_reset_states(nnex_session* session);
/* Bytes of activations and scratch memory the session holds. */
NNEX_C_API int64_t nnex_session_memory(const nnex_session* session);
/* Gives that memory back, and what outputs of earlier runs left behind; states stay. The next run plans and allocates
 * anew, for what it needs. Error: NNEX_INVALID_ARGUMENT, a run is on. */
NNEX_C_API nnex_error* nnex_session_trim(nnex_session* session);
/* From now on every run is timed node by node; the times of the last run that succeeded: */
NNEX_C_API void nnex_session_profile(nnex_session* session, bool on);
NNEX_C_API size_t nnex_session_nodes(const nnex_session* session);
/* Names live until the next run. Any pointer may be NULL. False: no such node. */
NNEX_C_API bool nnex_session_node(const nnex_session* session, size_t index, const char** place, const char** op,
                                  const char** kernel, double* start_us, double* us);

/* ---- Checking, inspecting, converting ---- */

typedef struct nnex_report nnex_report;

/* Checks a model as far as it can be read; faults are no error. Errors: NNEX_UNREADABLE, NNEX_LIMIT. */
NNEX_C_API nnex_error* nnex_check(const nnex_source* source, const nnex_load_options* options, nnex_report** out);
typedef enum nnex_severity { NNEX_ERROR = 0, NNEX_WARNING = 1, NNEX_NOTE = 2 } nnex_severity;
/* Whether there is no error, and no warning but of rules that readers forgive (their code is NNEX_INVALID_MODEL). */
NNEX_C_API bool nnex_report_sound(const nnex_report* report);
/* Errors and warnings in order, then notes. */
NNEX_C_API size_t nnex_report_faults(const nnex_report* report);
NNEX_C_API nnex_severity nnex_report_severity(const nnex_report* report, size_t fault);
NNEX_C_API nnex_code nnex_report_code(const nnex_report* report, size_t fault);
/* Texts of a fault. where: the node, or line and column; rule: its name in the standard; found, needed: what the
 * message says of them, on their own. All but the message are "" where there is nothing to say. */
NNEX_C_API const char* nnex_report_where(const nnex_report* report, size_t fault);
NNEX_C_API const char* nnex_report_message(const nnex_report* report, size_t fault);
NNEX_C_API const char* nnex_report_rule(const nnex_report* report, size_t fault);
NNEX_C_API const char* nnex_report_found(const nnex_report* report, size_t fault);
NNEX_C_API const char* nnex_report_needed(const nnex_report* report, size_t fault);
NNEX_C_API void nnex_report_free(nnex_report* report);

typedef struct nnex_inspection nnex_inspection;
NNEX_C_API nnex_error* nnex_inspect(const nnex_source* source, const nnex_load_options* options, nnex_inspection** out);
NNEX_C_API const char* nnex_inspection_format(const nnex_inspection* i); /* "onnx", "nnef", "webnn", "cvm" */
/* One of "graph_name", "producer", "producer_version", "domain", "doc", "graph_doc", "model_version" (a number), or a
 * key of the model's metadata; NULL: there is none. */
NNEX_C_API const char* nnex_inspection_metadata(const nnex_inspection* i, const char* key);
/* The keys of the metadata, and the symbols of extents that a load may fix; NULL past the last. */
NNEX_C_API const char* nnex_inspection_metadata_key(const nnex_inspection* i, size_t index);
/* The value of that key, with the number of its bytes, among which may be a 0. */
NNEX_C_API const char* nnex_inspection_metadata_value(const nnex_inspection* i, size_t index, size_t* size);
NNEX_C_API const char* nnex_inspection_symbol(const nnex_inspection* i, size_t index);
NNEX_C_API size_t nnex_inspection_inputs(const nnex_inspection* i);
NNEX_C_API size_t nnex_inspection_outputs(const nnex_inspection* i);
NNEX_C_API size_t nnex_inspection_states(const nnex_inspection* i);
NNEX_C_API const nnex_port* nnex_inspection_input(const nnex_inspection* i, size_t index);
NNEX_C_API const nnex_port* nnex_inspection_output(const nnex_inspection* i, size_t index);
NNEX_C_API const nnex_port* nnex_inspection_state(const nnex_inspection* i, size_t index);
NNEX_C_API size_t nnex_inspection_operators(const nnex_inspection* i);
NNEX_C_API const char* nnex_inspection_operator(const nnex_inspection* i, size_t index, int64_t* nodes);
NNEX_C_API int64_t nnex_inspection_nodes(const nnex_inspection* i);
NNEX_C_API int64_t nnex_inspection_parameters(const nnex_inspection* i);
NNEX_C_API int64_t nnex_inspection_parameter_bytes(const nnex_inspection* i);
/* The most bytes of inputs and results that live at once, node after node in the file's order; -1: extents are not
 * known. What a session takes differs: nodes are fused, and kernels need room. */
NNEX_C_API int64_t nnex_inspection_activation_bytes(const nnex_inspection* i);
/* A number, or a formula of symbols. */
NNEX_C_API const char* nnex_inspection_multiply_adds(const nnex_inspection* i);
NNEX_C_API void nnex_inspection_free(nnex_inspection* inspection);

typedef struct nnex_saved nnex_saved;

typedef struct nnex_save_options {
  size_t size;
  const char* format;  /* "onnx", "onnxtxt" (its textual syntax), "nnef", "webnn", "cvm", "c"; into memory "tar" and
                          "tgz" (NNEF) and "mjs" and "js" (JavaScript), too; NULL: what the path's ending says. */
  const char* name;    /* Of the graph; NULL: its own. */
  bool custom;         /* Operations that the standard lacks are carried as custom ones (ONNX, NNEF). */
  bool overwrite;      /* A file that has the name already is replaced. */
  bool external_data;  /* ONNX: tensors in a file of their own. */
  bool keep_fragments; /* NNEF: a document that was read with fragments is written with them. */
  int64_t opset;       /* ONNX: of the standard domain; 0: the lowest that takes the operations, 17 at least. */
  const nnex_run_options* run; /* Of the proof's runs; may be NULL. */
  nnex_saved** saved; /* Becomes what is known of the files, the caller's to free; NULL where nothing is written.
                         May be NULL. */
  bool prove;         /* nnex_convert: what is written is run beside the source first, as the command line does. Where
                         outputs differ nothing is written, and that is an error. */
} nnex_save_options;
/* Their names; NULL past the last. */
NNEX_C_API const char* nnex_saved_file(const nnex_saved* saved, size_t index);
/* For people: what was upgraded, what that changed; NULL past the last. */
NNEX_C_API const char* nnex_saved_note(const nnex_saved* saved, size_t index);
/* One of "bytes" (of all files), "operations", "operands", "opset", "initializers", "variables", "variable_bytes",
 * "symbol_bytes", "params_bytes", "weight_bytes", "arena_bytes" (of C: the memory that a run is given). 0 where the
 * format has no such number; -1 for other words. */
NNEX_C_API int64_t nnex_saved_number(const nnex_saved* saved, const char* what);
/* Whether a proof was asked for and says that it computes the same; `why`, which may be NULL, is else why nothing could
 * be said ("": none was asked for). */
NNEX_C_API bool nnex_saved_proven(const nnex_saved* saved, const char** why);
NNEX_C_API void nnex_saved_free(nnex_saved* saved);
/* Writes the model of a source in the form of a standard. `load` and `save` may be NULL. */
NNEX_C_API nnex_error* nnex_convert(const nnex_source* source, const char* path, const nnex_load_options* load,
                                    const nnex_save_options* save);
/* The same into memory; save->format must say the standard. */
typedef struct nnex_files nnex_files;
NNEX_C_API nnex_error* nnex_convert_to_memory(const nnex_source* source, const nnex_load_options* load,
                                              const nnex_save_options* save, nnex_files** out);
NNEX_C_API size_t nnex_files_count(const nnex_files* files);
NNEX_C_API const char* nnex_files_name(const nnex_files* files, size_t index);
NNEX_C_API const void* nnex_files_data(const nnex_files* files, size_t index, size_t* size);
/* The files as a source: what was converted may be loaded. */
NNEX_C_API nnex_error* nnex_source_files(const nnex_files* files, const char* name, nnex_source** out);
NNEX_C_API void nnex_files_free(nnex_files* files);

typedef struct nnex_view_options {
  size_t size;
  const char* format; /* "html" (NULL), "svg", or "dot" for Graphviz. */
  bool unfolded;      /* Parts that repeat are drawn each. */
  bool unchecked;     /* Faults are not shown at their nodes. */
} nnex_view_options;
/* A drawing of a model, as one file: "model.html" needs nothing else. `load` and `options` may be NULL. Errors: those
 * of reading; NNEX_LIMIT (more than 100,000 nodes). */
NNEX_C_API nnex_error* nnex_view(const nnex_source* source, const nnex_load_options* load,
                                 const nnex_view_options* options, nnex_files** out);

/* ---- Tensors in files ---- */

/* The tensor of a file, by its ending: .npy, .npz (its only array), .pb (ONNX), .dat (NNEF), .csv ([rows, columns]),
 * .json. Numbers of the last two become f32, texts of JSON NNEX_STR; nnex_tensor_read_as says another type. Errors:
 * NNEX_UNREADABLE, NNEX_INVALID_ARGUMENT (another ending, several arrays, a whole number of the last two that f32 does
 * not hold), NNEX_LIMIT. */
NNEX_C_API nnex_error* nnex_tensor_read(const char* path, nnex_value** out);
/* The same with numbers of .csv and .json as elements of this type, and none of another type in the other formats. */
NNEX_C_API nnex_error* nnex_tensor_read_as(const char* path, nnex_dtype dtype, nnex_value** out);
/* Writes a tensor, by the ending. `name` is kept where the format has room for it and may be NULL; without `overwrite`
 * a file that is there stays, and is an error. .npy and .pb keep the type; of what NNEF lacks the values stay (.dat has
 * bf16 as f32, i4 as i8), and .json and .csv have values without a type: .json of texts too. Errors:
 * NNEX_INVALID_ARGUMENT, NNEX_UNREADABLE, NNEX_UNSUPPORTED (a type or an extent that the format lacks). */
NNEX_C_API nnex_error* nnex_tensor_write(const nnex_value* tensor, const char* path, const char* name, bool overwrite);

/* The arrays of a .npz file, by name. */
typedef struct nnex_tensors nnex_tensors;
NNEX_C_API nnex_error* nnex_tensors_read(const char* path, nnex_tensors** out);
NNEX_C_API size_t nnex_tensors_count(const nnex_tensors* tensors);
NNEX_C_API const char* nnex_tensors_name(const nnex_tensors* tensors, size_t index);
/* A new handle to one of them. */
NNEX_C_API nnex_error* nnex_tensors_item(const nnex_tensors* tensors, size_t index, nnex_value** out);
NNEX_C_API void nnex_tensors_free(nnex_tensors* tensors);
/* Writes such a file, not compressed. Errors: as of nnex_tensor_write; NNEX_LIMIT (4 GiB). */
NNEX_C_API nnex_error* nnex_tensors_write(const char* path, const char* const* names, nnex_value* const* tensors,
                                          size_t count, bool overwrite);

/* How a file becomes what an input takes. Pictures are resized to the input's rows and columns; for floats an element
 * is (pixel / 255 - mean) / scale, for integers the pixel itself. */
typedef struct nnex_input_options {
  size_t size;
  const char* layout; /* "nchw", "nhwc"; NULL: the axis of 1 or 3 is that of the channels. */
  const double* mean; /* One for each channel, or one for all; NULL: 0. */
  size_t mean_count;
  const double* scale; /* The same; NULL: 1. */
  size_t scale_count;
  bool bgr;            /* Blue first. */
  bool cast;           /* Another element type is converted; else it is refused. */
  int64_t sample_rate; /* Samples a second that the model takes: sound of another rate is refused; 0: any. */
  /* Of a .npz file, as nnex_load_options_set has them: bytes that it may unpack to for one of its own (0: 32), and in
   * all (0: three quarters of what this process may have). */
  int64_t archive_ratio, archive_limit;
} nnex_input_options;
/* A file as the value of an input: a tensor as above (of several arrays that of the input's name), rows of numbers
 * (.csv), sound (.wav; nothing is mixed or resampled), bare elements (.raw, .bin), or a picture (.png .jpg .webp .bmp
 * .tif .jp2 .ppm; a build without the libraries for one says so). `options` may be NULL. Errors: NNEX_UNREADABLE,
 * NNEX_INVALID_ARGUMENT (another element type, number of channels or rate: found and needed; options of pictures or
 * sound for another file). Of a shape that does not fit the run tells. */
NNEX_C_API nnex_error* nnex_port_read(const nnex_port* input, const char* path, const nnex_input_options* options,
                                      nnex_value** out);
/* The same of a file's bytes, whose kind their content tells (not of bare elements, .jp2 and .ppm). `name` is for
 * messages and may be NULL. */
NNEX_C_API nnex_error* nnex_port_read_memory(const nnex_port* input, const void* bytes, size_t size, const char* name,
                                             const nnex_input_options* options, nnex_value** out);

/* ---- Graphs: networks as their files have them, to be looked at, edited, quantised, written and compiled ----
 *
 * A graph never changes: what edits one makes another, which shares its weights. */

typedef struct nnex_graph nnex_graph;

/* Reads a model and compiles nothing. `options` may be NULL. Errors: as of nnex_model_load. */
NNEX_C_API nnex_error* nnex_graph_load(const nnex_source* source, const nnex_load_options* options, nnex_graph** out);
/* A graph from its text, as nnex_graph_text gives it: "graph main(x: f32[N,2]) -> (y) { y = relu(x); }"; the grammar
 * stands in docs/graph-text.md. Weights need not stand in it: nnex_graph_set_constants gives inputs contents. `name`
 * stands in messages and may be NULL. Error: NNEX_INVALID_MODEL, with line and column; NNEX_LIMIT. */
NNEX_C_API nnex_error* nnex_graph_parse(const char* text, const char* name, nnex_graph** out);
/* What a model runs: its graph after the passes. Of fixed extents it is taken before the first run, which may pack
 * weights away: NNEX_INVALID_ARGUMENT. */
NNEX_C_API nnex_error* nnex_graph_of_model(const nnex_model* model, nnex_graph** out);
NNEX_C_API void nnex_graph_free(nnex_graph* graph);

NNEX_C_API size_t nnex_graph_inputs(const nnex_graph* graph);
NNEX_C_API size_t nnex_graph_outputs(const nnex_graph* graph);
NNEX_C_API const nnex_port* nnex_graph_input(const nnex_graph* graph, size_t index);
NNEX_C_API const nnex_port* nnex_graph_output(const nnex_graph* graph, size_t index);
/* Nodes of the network; those of blocks are their owners' (nnex_graph.h walks both). */
NNEX_C_API size_t nnex_graph_nodes(const nnex_graph* graph);
/* The graph as text: with all numbers, as nnex_graph_parse reads it, or with constants of up to 16 elements alone. NULL
 * where there is no memory. */
NNEX_C_API const char* nnex_graph_text(const nnex_graph* graph, bool whole);

/* As nnex_model_load; of the options those that say how a file is read have no meaning. What nnex_graph_load was given
 * holds where the options here say nothing: custom operators, carried outputs, an instruction set, a limit; "exact" and
 * "portable" hold if either says so, "optimize" if both do. A symbol that was fixed then may be named again with its
 * number; with another one it is an error. */
NNEX_C_API nnex_error* nnex_model_compile(const nnex_graph* graph, const nnex_load_options* options, nnex_model** out);
/* As nnex_convert and nnex_convert_to_memory. */
NNEX_C_API nnex_error* nnex_graph_save(const nnex_graph* graph, const char* path, const nnex_save_options* save);
NNEX_C_API nnex_error* nnex_graph_save_to_memory(const nnex_graph* graph, const nnex_save_options* save,
                                                 nnex_files** out);

/* The part that makes the tensors `to` from the tensors `from`, which become its outputs and inputs in that order. Of
 * none: the outputs, and the inputs that are needed. Error: NNEX_INVALID_ARGUMENT (no such tensor, with the name that
 * was probably meant; one that needs an input beside `from`). */
NNEX_C_API nnex_error* nnex_graph_extract(const nnex_graph* graph, const char* const* from, size_t from_count,
                                          const char* const* to, size_t to_count, nnex_graph** out);
/* Other names for inputs, outputs and tensors inside: names[i] becomes others[i]. Names may be swapped. */
NNEX_C_API nnex_error* nnex_graph_rename(const nnex_graph* graph, const char* const* names, const char* const* others,
                                         size_t count, nnex_graph** out);
/* The extent of a symbol of the inputs ("N", or "input.axis" for one without a name) becomes a number everywhere, as
 * NNEF and WebNN need it. Error: NNEX_INVALID_ARGUMENT (no such symbol: names those there are; a number below 0). */
NNEX_C_API nnex_error* nnex_graph_set_symbol(const nnex_graph* graph, const char* symbol, int64_t extent,
                                             nnex_graph** out);
/* Every input has `batch` as its first extent, and constants of reshapes follow; one run of it is proven to equal as
 * many of batch 1, on random inputs. `run` may be NULL, here and below. Errors: NNEX_INVALID_ARGUMENT; NNEX_UNSUPPORTED
 * (an output that does not follow, a node that mixes the elements of a batch). */
NNEX_C_API nnex_error* nnex_graph_set_batch(const nnex_graph* graph, int64_t batch, const nnex_run_options* run,
                                            nnex_graph** out);
/* Constants folded, what nobody reads dropped, what is computed twice merged, scales and offsets folded into weights;
 * each step is run on random inputs and is taken back where it moves an output. */
NNEX_C_API nnex_error* nnex_graph_simplify(const nnex_graph* graph, const nnex_run_options* run, nnex_graph** out);
/* Weights of float32 stored as NNEX_F16 or NNEX_BF16; it computes in float32 as before. */
NNEX_C_API nnex_error* nnex_graph_narrow(const nnex_graph* graph, nnex_dtype to, const nnex_run_options* run,
                                         nnex_graph** out);
/* Without what no run needs: texts and properties of the file, constants that nobody reads; with `names` the names of
 * tensors inside and places of nodes. */
NNEX_C_API nnex_error* nnex_graph_strip(const nnex_graph* graph, bool names, nnex_graph** out);

/* ---- Quantising: a float network as one of 8-bit codes, or with weights of 4 bits ---- */

/* What a network is measured on. Samples are asked for again and again, one at a time. */
typedef struct nnex_samples {
  size_t size;
  int64_t count;
  /* The inputs of sample `index`, in the graph's order, into `inputs`, which are NULL before. The handles are taken
   * over, where it fails too; an error is as well. */
  nnex_error* (*read)(void* context, int64_t index, nnex_value** inputs, size_t input_count);
  void* context;
} nnex_samples;

typedef struct nnex_quantize_options {
  size_t size;
  const char* to;      /* "onnx" (NULL): codes around float operators; "nnef": rounded weights and a quantisation file;
                          "cvm": whole numbers alone. */
  const char* weights; /* "int8" (NULL); "int4": weights alone, in blocks, without samples. */
  const char* method;  /* How ranges follow from samples: "mse" (NULL), "minmax", "percentile", "entropy". */
  double percentile;   /* What stays of each side; 0: 99.99. */
  int64_t block;       /* Weights of int4 that share a scale: a power of two from 16 to 4096; 0: 32. */
  const char* const* keep_float; /* Layers that stay float, by the name of their node or of what they make. */
  size_t keep_float_count;
  bool per_tensor;         /* Weights of int8 have one scale, not one for each output. */
  bool no_bias_correction; /* Biases do not take back what rounded weights add in the mean. */
  bool equalize;           /* Channels between two products get like reach in both. */
  bool smooth;             /* Channels of what a normalisation makes do so against the products after it. */
  bool measured;           /* Layers that are no faster so on this machine stay float. */
  bool fastest;        /* The float network computes as this machine is fastest: another one may find other codes. */
  bool no_judge;       /* Neither errors nor times are measured. */
  int64_t judge_count; /* On so many of the samples; 0: on all. */
  double min_sqnr_db;  /* Layers whose SQNR would be less stay float; 0: none does for that. */
  const char* recipe;  /* A text of nnex_quantized_recipe: what it found counts, not what stands above. */
  int threads;         /* Of runs; 0: all this process may use. */
  const nnex_run_options* run; /* Of the whole; may be NULL. */
} nnex_quantize_options;

typedef struct nnex_quantized nnex_quantized;
/* `samples` may be NULL where there is a recipe or weights are int4, `options` always. Errors: NNEX_INVALID_ARGUMENT
 * (options, no samples, a layer that is not there, a recipe of another network), NNEX_UNSUPPORTED (nothing can be
 * quantised, or not in whole numbers, and why), NNEX_FAULT (a sample makes a NaN or an infinity, and where), those of
 * samples and runs. */
NNEX_C_API nnex_error* nnex_quantize(const nnex_graph* graph, const nnex_samples* samples,
                                     const nnex_quantize_options* options, nnex_quantized** out);
/* The network, to be saved or compiled. */
NNEX_C_API nnex_error* nnex_quantized_graph(const nnex_quantized* quantized, nnex_graph** out);
/* JSON by which the result can be made again without samples (docs/quantize.md). */
NNEX_C_API const char* nnex_quantized_recipe(const nnex_quantized* quantized);
/* A product or sum, in order. kept_float: why it stays float; "": it is quantised. sqnr_db: of what it makes, against
 * the float network; NaN: not judged. Any pointer may be NULL. False: no such layer; so of outputs. */
NNEX_C_API bool nnex_quantized_layer(const nnex_quantized* quantized, size_t index, const char** name, const char** op,
                                     const char** kept_float, int64_t* weight_bytes, double* sqnr_db);
/* rows: along the last axis; agreed: those whose largest element stands where the float network has it. */
NNEX_C_API bool nnex_quantized_output(const nnex_quantized* quantized, size_t index, const char** name, double* sqnr_db,
                                      int64_t* rows, int64_t* agreed);
/* Bytes of constants, before and after. */
NNEX_C_API int64_t nnex_quantized_float_bytes(const nnex_quantized* quantized);
NNEX_C_API int64_t nnex_quantized_bytes(const nnex_quantized* quantized);
/* The least time of a run on the first sample, in microseconds, before and after; NaN: not measured. */
NNEX_C_API double nnex_quantized_float_us(const nnex_quantized* quantized);
NNEX_C_API double nnex_quantized_us(const nnex_quantized* quantized);
/* For people; NULL past the last. */
NNEX_C_API const char* nnex_quantized_note(const nnex_quantized* quantized, size_t index);
NNEX_C_API void nnex_quantized_free(nnex_quantized* quantized);

/* ---- Comparing: two models, a model with tensors from elsewhere, two values ---- */

typedef struct nnex_compare_options {
  size_t size;
  /* An element of b differs from a's where it is further away than atol + rtol * |a| and more than `ulp` floats. 0:
   * what the element type says (f32: rtol 1e-4), and no ulp; below 0: none at all. */
  double atol, rtol;
  int64_t ulp;
  const nnex_load_options *a, *b; /* How the models are read; may be NULL. */
  bool layers;                    /* Every tensor is compared, though outputs be the same. */
  bool no_search;                 /* The first tensor that differs is not looked for. */
  bool overwrite;                 /* Files of `isolate` are replaced. */
  const char* isolate;         /* An .onnx path for the nodes between the last equal tensors and the first that differs;
                                  b's lie beside it in .other.onnx, their inputs in .inputs.npz. NULL: nowhere. */
  int threads;                 /* Of runs; 0: all this process may use. */
  const nnex_run_options* run; /* Of the whole; may be NULL. */
} nnex_compare_options;

typedef struct nnex_comparison nnex_comparison;
/* Runs both on these inputs, in a's order, which b takes by name, else in order. Outputs are matched likewise; where
 * they differ the tensors inside are compared too, by name, else by value and structure. A difference is no error;
 * errors are those of loading and of runs. */
NNEX_C_API nnex_error* nnex_compare(const nnex_source* a, const nnex_source* b, nnex_value* const* inputs,
                                    size_t input_count, const nnex_compare_options* options, nnex_comparison** out);
/* The same with tensors from elsewhere, by a's names for them: of outputs, and of what lies inside. Names that `a` does
 * not have are passed over. */
NNEX_C_API nnex_error* nnex_compare_tensors(const nnex_source* a, const char* const* names, nnex_value* const* tensors,
                                            size_t count, nnex_value* const* inputs, size_t input_count,
                                            const nnex_compare_options* options, nnex_comparison** out);
/* Two values, as one output; of the options the tolerance counts. */
NNEX_C_API nnex_error* nnex_compare_values(const nnex_value* a, const nnex_value* b,
                                           const nnex_compare_options* options, nnex_comparison** out);

/* Two tensors that were compared; lives as long as its comparison. */
typedef struct nnex_compared nnex_compared;
/* Whether all outputs are the same; with options.layers all tensors. */
NNEX_C_API bool nnex_comparison_same(const nnex_comparison* comparison);
NNEX_C_API size_t nnex_comparison_outputs(const nnex_comparison* comparison);
NNEX_C_API size_t nnex_comparison_layers(const nnex_comparison* comparison);
NNEX_C_API const nnex_compared* nnex_comparison_output(const nnex_comparison* comparison, size_t index);
/* In a's order. */
NNEX_C_API const nnex_compared* nnex_comparison_layer(const nnex_comparison* comparison, size_t index);
/* Outputs without a counterpart; NULL past the last. */
NNEX_C_API const char* nnex_comparison_only_a(const nnex_comparison* comparison, size_t index);
NNEX_C_API const char* nnex_comparison_only_b(const nnex_comparison* comparison, size_t index);
/* The first tensor that differs; NULL: none does, or it was not looked for. The cause lies in a's nodes between it and
 * the last equal tensors: "conv at node 'conv1' (Conv)"; NULL past the last. */
NNEX_C_API const nnex_compared* nnex_comparison_first(const nnex_comparison* comparison);
NNEX_C_API const char* nnex_comparison_cause(const nnex_comparison* comparison, size_t index);
/* Whether options.isolate found nodes to write. `note`: why they were not written, or not run again ("": they were);
 * `reproduced`: run alone they differ again. The pointers may be NULL. */
NNEX_C_API bool nnex_comparison_isolated(const nnex_comparison* comparison, const char** note, bool* reproduced);
NNEX_C_API void nnex_comparison_free(nnex_comparison* comparison);

/* Their names, and in a the operator ("" of an input), its place (both "" of outputs) and the type. */
NNEX_C_API const char* nnex_compared_a(const nnex_compared* compared);
NNEX_C_API const char* nnex_compared_b(const nnex_compared* compared);
NNEX_C_API const char* nnex_compared_op(const nnex_compared* compared);
NNEX_C_API const char* nnex_compared_place(const nnex_compared* compared);
NNEX_C_API const char* nnex_compared_type(const nnex_compared* compared);
/* What tells that they are the same tensor: "port", "name", "value", "structure"; "none": b has no such tensor. */
NNEX_C_API const char* nnex_compared_by(const nnex_compared* compared);
NNEX_C_API bool nnex_compared_same(const nnex_compared* compared);
/* Why their elements could not be set beside each other: "found f32[1,8]; needed f32[1,9]"; "": they were. */
NNEX_C_API const char* nnex_compared_mismatch(const nnex_compared* compared);
/* Elements, and those beyond the tolerance. */
NNEX_C_API int64_t nnex_compared_count(const nnex_compared* compared);
NNEX_C_API int64_t nnex_compared_differing(const nnex_compared* compared);
/* Over the elements that are finite in both; 0 where there is nothing, NaN after a mismatch. SQNR in decibels is
 * infinite where they are equal. */
NNEX_C_API double nnex_compared_max_absolute(const nnex_compared* compared);
NNEX_C_API double nnex_compared_max_relative(const nnex_compared* compared);
NNEX_C_API double nnex_compared_cosine(const nnex_compared* compared);
NNEX_C_API double nnex_compared_sqnr_db(const nnex_compared* compared);
/* Row-major index of the largest difference beyond the tolerance, and the two elements as texts; -1: there is none. The
 * pointers may be NULL. */
NNEX_C_API int64_t nnex_compared_worst(const nnex_compared* compared, const char** a, const char** b);

#ifdef __cplusplus
}
#endif

#include "nnex_graph.h"
#include "nnex_webnn.h"

#endif
