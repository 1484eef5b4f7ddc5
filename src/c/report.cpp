// Checking, inspecting and drawing through the C interface.

#include <memory>

#include "base/try.h"
#include "c/handles.h"
#include "c/watch.h"
#include "nnex/view.h"

namespace nnex::c {
template <>
inline constexpr FirstVersion kFirstVersion<nnex_view_options> = {
    "nnex_view_options", offsetof(nnex_view_options, unchecked) + sizeof(bool)};

namespace {

/// "onnx": the word of the command line.
std::string format_word(Format format) {
  std::string word(name(format));
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word;
}

const Fault* fault_at(const nnex_report* r, size_t i) { return r && i < r->all.size() ? &r->all[i] : nullptr; }
/// One of the texts of a fault.
const char* text_of(const nnex_report* r, size_t i, std::string Fault::*text) {
  const Fault* f = fault_at(r, i);
  return f ? (f->*text).c_str() : nullptr;
}

Result<ViewFormat> view_format_named(std::string_view word) {
  if (word == "html") return ViewFormat::html;
  if (word == "svg") return ViewFormat::svg;
  if (word == "dot") return ViewFormat::dot;
  return Error(Code::invalid_argument, "found format '" + std::string(word) + "'; needed html, svg or dot");
}

}  // namespace

}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_check(const nnex_source* source, const nnex_load_options* options, nnex_report** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(source);
    NNEX_C_NEED(out);
    auto report = check(source->source, LoadWatch(options).options());
    if (!report.ok()) return std::move(report).error();
    std::vector<Fault> all = report->faults;
    all.insert(all.end(), report->notes.begin(), report->notes.end());
    for (Fault& f : all) f.message = with_remedies(std::move(f.message), f.remedies, remedy_words);
    *out = new nnex_report{std::move(*report), std::move(all)};
    return {};
  });
}

bool nnex_report_sound(const nnex_report* r) { return r && r->report.sound(); }
size_t nnex_report_faults(const nnex_report* r) { return r ? r->all.size() : 0; }
nnex_severity nnex_report_severity(const nnex_report* r, size_t i) {
  const Fault* f = fault_at(r, i);
  return f ? static_cast<nnex_severity>(f->severity) : NNEX_NOTE;
}
nnex_code nnex_report_code(const nnex_report* r, size_t i) {
  const Fault* f = fault_at(r, i);
  return f ? static_cast<nnex_code>(f->code) : NNEX_INVALID_ARGUMENT;
}
const char* nnex_report_where(const nnex_report* r, size_t i) { return text_of(r, i, &Fault::where); }
const char* nnex_report_message(const nnex_report* r, size_t i) { return text_of(r, i, &Fault::message); }
const char* nnex_report_rule(const nnex_report* r, size_t i) { return text_of(r, i, &Fault::rule); }
const char* nnex_report_found(const nnex_report* r, size_t i) { return text_of(r, i, &Fault::found); }
const char* nnex_report_needed(const nnex_report* r, size_t i) { return text_of(r, i, &Fault::needed); }
void nnex_report_free(nnex_report* r) { delete r; }

nnex_error* nnex_inspect(const nnex_source* source, const nnex_load_options* options, nnex_inspection** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(source);
    NNEX_C_NEED(out);
    auto found = inspect(source->source, LoadWatch(options).options());
    if (!found.ok()) return std::move(found).error();
    auto inputs = ports_of(found->inputs), outputs = ports_of(found->outputs), states = ports_of(found->states);
    std::string format = format_word(found->format);
    auto made = std::make_unique<nnex_inspection>(nnex_inspection{
        std::move(*found), std::move(inputs), std::move(outputs), std::move(states), {}, std::move(format), {}});
    made->model_version = std::to_string(made->inspection.model_version);
    for (const MetadataEntry& e : made->inspection.metadata)
      if (!e.internal) made->entries.push_back(&e);
    *out = made.release();
    return {};
  });
}

const char* nnex_inspection_format(const nnex_inspection* i) { return i ? i->format.c_str() : nullptr; }
const char* nnex_inspection_metadata(const nnex_inspection* i, const char* key) {
  if (!i || !key) return nullptr;
  const std::string_view k = key;
  if (const std::string* text = said_of_itself(i->inspection, k)) return text->c_str();
  if (k == "model_version") return i->model_version.c_str();
  for (const MetadataEntry& e : i->inspection.metadata)
    if (e.key == k) return e.text.c_str();
  return nullptr;
}
const char* nnex_inspection_metadata_key(const nnex_inspection* i, size_t k) {
  return i && k < i->entries.size() ? i->entries[k]->key.c_str() : nullptr;
}
const char* nnex_inspection_metadata_value(const nnex_inspection* i, size_t k, size_t* size) {
  const std::string* const text = i && k < i->entries.size() ? &i->entries[k]->text : nullptr;
  if (size) *size = text ? text->size() : 0;
  return text ? text->c_str() : nullptr;
}
const char* nnex_inspection_symbol(const nnex_inspection* i, size_t k) {
  return i && k < i->inspection.symbols.size() ? i->inspection.symbols[k].c_str() : nullptr;
}
size_t nnex_inspection_inputs(const nnex_inspection* i) { return i ? i->inputs.size() : 0; }
size_t nnex_inspection_outputs(const nnex_inspection* i) { return i ? i->outputs.size() : 0; }
const nnex_port* nnex_inspection_input(const nnex_inspection* i, size_t k) {
  return i ? port_at(i->inputs, k) : nullptr;
}
const nnex_port* nnex_inspection_output(const nnex_inspection* i, size_t k) {
  return i ? port_at(i->outputs, k) : nullptr;
}
size_t nnex_inspection_states(const nnex_inspection* i) { return i ? i->states.size() : 0; }
const nnex_port* nnex_inspection_state(const nnex_inspection* i, size_t k) {
  return i ? port_at(i->states, k) : nullptr;
}
size_t nnex_inspection_operators(const nnex_inspection* i) { return i ? i->inspection.operators.size() : 0; }
const char* nnex_inspection_operator(const nnex_inspection* i, size_t k, int64_t* nodes) {
  if (nodes) *nodes = 0;
  if (!i || k >= i->inspection.operators.size()) return nullptr;
  if (nodes) *nodes = i->inspection.operators[k].nodes;
  return i->inspection.operators[k].name.c_str();
}
int64_t nnex_inspection_nodes(const nnex_inspection* i) { return i ? i->inspection.nodes : 0; }
int64_t nnex_inspection_parameters(const nnex_inspection* i) { return i ? i->inspection.parameters : 0; }
int64_t nnex_inspection_parameter_bytes(const nnex_inspection* i) { return i ? i->inspection.parameter_bytes : 0; }
int64_t nnex_inspection_activation_bytes(const nnex_inspection* i) {
  return i ? i->inspection.activation_bytes.value_or(-1) : 0;
}
const char* nnex_inspection_multiply_adds(const nnex_inspection* i) {
  return i ? i->inspection.multiply_adds.c_str() : nullptr;
}
void nnex_inspection_free(nnex_inspection* i) { delete i; }

nnex_error* nnex_view(const nnex_source* source, const nnex_load_options* load, const nnex_view_options* options,
                      nnex_files** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(source);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const nnex_view_options given, known(options));
    const std::string format = given.format ? given.format : "html";
    ViewOptions o;
    NNEX_ASSIGN(o.format, view_format_named(format));
    const LoadWatch watch(load);
    o.load = watch.options();
    o.fold = !given.unfolded, o.check = !given.unchecked;
    NNEX_ASSIGN(View drawn, view(source->source, o));
    *out = new nnex_files{{{"model." + format, std::move(drawn.text)}}};
    return {};
  });
}

}  // extern "C"
