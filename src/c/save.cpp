// Converting and saving through the C interface, and files in memory.

#include <cstring>
#include <utility>

#include "base/try.h"
#include "c/handles.h"
#include "c/watch.h"

namespace nnex::c {
namespace {

constexpr std::pair<const char*, int64_t SaveReport::*> kNumbers[] = {{"bytes", &SaveReport::bytes},
                                                                      {"operations", &SaveReport::operations},
                                                                      {"operands", &SaveReport::operands},
                                                                      {"opset", &SaveReport::opset},
                                                                      {"initializers", &SaveReport::initializers},
                                                                      {"variables", &SaveReport::variables},
                                                                      {"variable_bytes", &SaveReport::variable_bytes},
                                                                      {"symbol_bytes", &SaveReport::symbol_bytes},
                                                                      {"params_bytes", &SaveReport::params_bytes},
                                                                      {"weight_bytes", &SaveReport::weight_bytes},
                                                                      {"arena_bytes", &SaveReport::arena_bytes}};

}  // namespace

Result<Saving> saving_of(const nnex_save_options* given) {
  NNEX_ASSIGN(const nnex_save_options o, known(given));
  if (o.saved) *o.saved = nullptr;
  Saving s;
  if (o.format) NNEX_TRY(set_form(o.format, s.options));
  if (o.name) s.options.name = o.name;
  s.options.custom = o.custom;
  s.options.overwrite = o.overwrite ? Overwrite::replace : Overwrite::refuse;
  s.options.onnx.external_data = o.external_data, s.options.onnx.opset = o.opset;
  s.options.nnef.keep_fragments = o.keep_fragments;
  s.prove = o.prove, s.run = o.run, s.saved = o.saved;
  return s;
}

Result<Saving> unproven(const nnex_save_options* given) {
  NNEX_ASSIGN(Saving saving, saving_of(given));
  if (saving.prove) return Error(Code::invalid_argument, "found save->prove; nnex_convert alone runs what it writes");
  return saving;
}

Result<Saving> in_memory(const nnex_save_options* given) {
  NNEX_ASSIGN(Saving saving, unproven(given));
  if (saving.options.format) return saving;
  std::string words;
  for (const std::string_view word : form_words()) words += (words.empty() ? "" : ", ") + std::string(word);
  return Error(Code::invalid_argument, "found no save->format; needed " + words);
}

}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_convert(const nnex_source* source, const char* path, const nnex_load_options* load,
                         const nnex_save_options* save) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(source);
    NNEX_C_NEED(path);
    NNEX_ASSIGN(const Saving saving, saving_of(save));
    NNEX_ASSIGN(const nnex_run_options run, run_options(saving.run));
    const Watch watch(run);
    const LoadWatch loading(load);
    ConvertOptions o;
    o.load = loading.options(), o.save = saving.options;
    if (saving.prove) o.proof.emplace().run = watch.options();
    NNEX_ASSIGN(SaveReport report, convert(source->source, path, o));
    saving.tell(std::move(report));
    return {};
  });
}

nnex_error* nnex_convert_to_memory(const nnex_source* source, const nnex_load_options* load,
                                   const nnex_save_options* save, nnex_files** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(source);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const Saving saving, in_memory(save));
    const LoadWatch loading(load);
    ConvertOptions o;
    o.load = loading.options(), o.save = saving.options;
    NNEX_ASSIGN(SavedBytes saved, convert_to_bytes(source->source, o));
    auto files = std::make_unique<nnex_files>(nnex_files{std::move(saved.files)});
    saving.tell(std::move(saved.report));
    *out = files.release();
    return {};
  });
}

nnex_error* nnex_graph_save(const nnex_graph* graph, const char* path, const nnex_save_options* given) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(graph);
    NNEX_C_NEED(path);
    NNEX_ASSIGN(const Saving saving, unproven(given));
    NNEX_ASSIGN(SaveReport report, save(graph->graph, path, saving.options));
    saving.tell(std::move(report));
    return {};
  });
}

nnex_error* nnex_graph_save_to_memory(const nnex_graph* graph, const nnex_save_options* given, nnex_files** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(graph);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const Saving saving, in_memory(given));
    NNEX_ASSIGN(std::vector<NamedBytes> bytes, to_bytes(graph->graph, *saving.options.format, saving.options));
    auto files = std::make_unique<nnex_files>(nnex_files{std::move(bytes)});
    SaveReport report;
    report.format = *saving.options.format;
    for (const NamedBytes& f : files->files)
      report.files.push_back(f.name), report.bytes += static_cast<int64_t>(f.bytes.size());
    saving.tell(std::move(report));
    *out = files.release();
    return {};
  });
}

const char* nnex_saved_file(const nnex_saved* s, size_t i) { return s ? text_at(s->report.files, i) : nullptr; }
const char* nnex_saved_note(const nnex_saved* s, size_t i) { return s ? text_at(s->report.notes, i) : nullptr; }
int64_t nnex_saved_number(const nnex_saved* s, const char* what) {
  if (s && what)
    for (const auto& [word, number] : kNumbers)
      if (std::strcmp(word, what) == 0) return s->report.*number;
  return -1;
}
bool nnex_saved_proven(const nnex_saved* s, const char** why) {
  const std::optional<Proof>* const proof = s ? &s->report.proof : nullptr;
  if (why) *why = proof && *proof ? (*proof)->unproven.c_str() : "";
  return proof && *proof && (*proof)->unproven.empty() && (*proof)->holds();
}
void nnex_saved_free(nnex_saved* s) { delete s; }

size_t nnex_files_count(const nnex_files* f) { return f ? f->files.size() : 0; }
const char* nnex_files_name(const nnex_files* f, size_t i) {
  return f && i < f->files.size() ? f->files[i].name.c_str() : nullptr;
}
const void* nnex_files_data(const nnex_files* f, size_t i, size_t* size) {
  if (size) *size = 0;
  if (!f || i >= f->files.size()) return nullptr;
  if (size) *size = f->files[i].bytes.size();
  return f->files[i].bytes.data();
}
void nnex_files_free(nnex_files* f) { delete f; }

}  // extern "C"
