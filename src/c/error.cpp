// Errors, versions and types of the C interface.

#include <cstring>

#include "base/built.h"
#include "c/handles.h"
#include "nnex/environment.h"
#include "nnex/webnn_types.h"

namespace nnex::c {
namespace {

static_assert(static_cast<int>(Code::invalid_argument) == NNEX_INVALID_ARGUMENT &&
              static_cast<int>(Code::invalid_model) == NNEX_INVALID_MODEL &&
              static_cast<int>(Code::unreadable) == NNEX_UNREADABLE &&
              static_cast<int>(Code::unsupported) == NNEX_UNSUPPORTED && static_cast<int>(Code::limit) == NNEX_LIMIT &&
              static_cast<int>(Code::fault) == NNEX_FAULT && static_cast<int>(Code::cancelled) == NNEX_CANCELLED &&
              static_cast<int>(Code::internal) == NNEX_INTERNAL);
static_assert(static_cast<int>(DType::none) == NNEX_NONE && static_cast<int>(DType::f64) == NNEX_F64 &&
              static_cast<int>(DType::f4e2m1) == NNEX_F4E2M1 && static_cast<int>(DType::i64) == NNEX_I64 &&
              static_cast<int>(DType::u64) == NNEX_U64 && static_cast<int>(DType::boolean) == NNEX_BOOL &&
              static_cast<int>(DType::str) == NNEX_STR);

/// What is given when there is no memory for an error; never freed.
nnex_error& out_of_memory() {
  static nnex_error error{NNEX_LIMIT, "limit reached", "no memory", "", "", "no memory"};
  return error;
}

}  // namespace

nnex_error* no_memory() { return &out_of_memory(); }

nnex_error* error_of(const Error& error) {
  try {
    return new nnex_error{static_cast<nnex_code>(error.code()),
                          std::string(name(error.code())),
                          error.message(),
                          error.where(),
                          "",
                          error.text(remedy_words),
                          error.tasks(),
                          error.remedies()};
  } catch (...) {
    return no_memory();
  }
}

std::string remedy_words(const Remedy& remedy) {
  if (remedy.option == "symbols") return "nnex_load_options_symbol or nnex_graph_set_symbol";
  if (remedy.option == "shapes") return "nnex_load_options_shape";
  const std::string option = remedy.option.substr(remedy.option.rfind('.') + 1);  // of structs within structs
  const bool truth = remedy.option == "overwrite" && remedy.value == "replace";
  const bool text = remedy.option.starts_with("nnef.") && remedy.value == "true";  // nnex_load_options_set
  const std::string value = truth ? "true" : text ? "1" : remedy.value;
  return "option " + option + (value.empty() ? "" : " = " + value);
}

Error taken(nnex_error* error) {
  Error e(static_cast<Code>(error->code), error->message);
  if (!error->where.empty()) e = std::move(e).at(error->where);
  for (const std::string& task : error->tasks) e = std::move(e).during(task);
  e = std::move(e).helped_by(error->remedies);
  nnex_error_free(error);
  return e;
}

}  // namespace nnex::c

extern "C" {

const char* nnex_version(void) { return nnex::environment().version.data(); }
const char* nnex_isa(void) { return nnex::environment().isa.data(); }
int nnex_usable_threads(void) { return nnex::usable_threads(); }

bool nnex_has(const char* feature) {
  using nnex::Format;
  static constexpr struct {
    const char* name;
    bool built;
  } kFeatures[] = {{"onnx", nnex::is_built(Format::onnx)},
                   {"nnef", nnex::is_built(Format::nnef)},
                   {"webnn", nnex::is_built(Format::webnn)},
                   {"cvm", nnex::is_built(Format::cvm)},
                   {"c", nnex::is_built(Format::c)},
                   {"custom_operators", true},
                   {"dlpack", true},
                   {"threads", true}};
  if (feature)
    for (const auto& known : kFeatures)
      if (std::strcmp(known.name, feature) == 0) return known.built;
  return false;
}

nnex_code nnex_error_code(const nnex_error* error) { return error ? error->code : NNEX_INVALID_ARGUMENT; }
const char* nnex_error_code_name(const nnex_error* error) { return error ? error->code_name.c_str() : nullptr; }
const char* nnex_error_message(const nnex_error* error) { return error ? error->message.c_str() : nullptr; }
const char* nnex_error_where(const nnex_error* error) { return error ? error->where.c_str() : nullptr; }
const char* nnex_error_webnn_name(const nnex_error* error) { return error ? error->webnn_name.c_str() : nullptr; }
const char* nnex_error_text(const nnex_error* error) { return error ? error->text.c_str() : nullptr; }
void nnex_error_free(nnex_error* error) {
  if (error != nnex::c::no_memory()) delete error;
}

nnex_error* nnex_error_make(nnex_code code, const char* message, const char* where) {
  try {
    const bool known = code >= NNEX_INVALID_ARGUMENT && code <= NNEX_INTERNAL;
    nnex::Error e(known ? static_cast<nnex::Code>(code) : nnex::Code::internal, message ? message : "");
    if (where && *where) e = std::move(e).at(where);
    return nnex::c::error_of(e);
  } catch (...) {
    return nullptr;
  }
}

const char* nnex_dtype_name(nnex_dtype dtype) {
  return nnex::name(dtype >= NNEX_NONE && dtype <= NNEX_STR ? static_cast<nnex::DType>(dtype) : nnex::DType::none)
      .data();
}
nnex_dtype nnex_dtype_named(const char* name) {
  const auto type = name ? nnex::dtype_named(name) : std::nullopt;
  return type && *type <= nnex::DType::str ? static_cast<nnex_dtype>(*type) : NNEX_NONE;
}
int nnex_dtype_bits(nnex_dtype dtype) {
  return dtype > NNEX_NONE && dtype < NNEX_STR ? nnex::bits(static_cast<nnex::DType>(dtype)) : 0;
}

}  // extern "C"
