// Comparing through the C interface.

#include "nnex/compare.h"

#include "base/try.h"
#include "c/handles.h"
#include "c/watch.h"

struct nnex_compared {
  nnex::ComparedTensor tensor;
};

struct nnex_comparison {
  bool same = true;
  std::vector<nnex_compared> outputs, layers;
  std::vector<std::string> only_a, only_b, cause;
  std::optional<nnex_compared> first;
  std::optional<nnex::Isolated> isolated;
};

namespace nnex::c {
template <>
inline constexpr FirstVersion kFirstVersion<nnex_compare_options> = {
    "nnex_compare_options", offsetof(nnex_compare_options, run) + sizeof(void*)};

namespace {

/// 0: nothing was given; below 0: 0 was.
template <class T>
std::optional<T> given_number(T x) {
  return x == 0 ? std::nullopt : std::optional<T>(x < 0 ? 0 : x);
}

Result<Tolerance> tolerance_of(const nnex_compare_options& o) {
  if (o.atol != o.atol || o.rtol != o.rtol) return Error(Code::invalid_argument, "found a tolerance that is no number");
  return Tolerance{given_number(o.atol), given_number(o.rtol), given_number(o.ulp)};
}

Result<CompareOptions> compare_options(const nnex_compare_options& o) {
  if (o.threads < 0)
    return Error(Code::invalid_argument, "found " + std::to_string(o.threads) + " threads; needed 0 or more");
  CompareOptions out;
  NNEX_ASSIGN(out.tolerance, tolerance_of(o));
  out.session.threads = o.threads;
  out.layers = o.layers, out.search = !o.no_search;
  if (o.isolate) out.isolate = o.isolate;
  out.overwrite = o.overwrite;
  return out;
}

std::vector<nnex_compared> compared(std::vector<ComparedTensor> tensors) {
  std::vector<nnex_compared> all;
  for (ComparedTensor& t : tensors) all.push_back({std::move(t)});
  return all;
}

nnex_comparison* comparison(CompareReport report) {
  nnex_comparison c;
  c.same = report.same;
  c.outputs = compared(std::move(report.outputs)), c.layers = compared(std::move(report.layers));
  c.only_a = std::move(report.only_a), c.only_b = std::move(report.only_b);
  if (report.first) {
    c.cause = std::move(report.first->nodes_a);
    c.first = nnex_compared{std::move(report.first->tensor)};
  }
  c.isolated = std::move(report.isolated);
  return new nnex_comparison(std::move(c));
}

/// Compares by `with`, which is given what a model runs on.
template <class F>
nnex_error* compare_with(const nnex_source* a, nnex_value* const* inputs, size_t input_count,
                         const nnex_compare_options* options, nnex_comparison** out, F&& with) noexcept {
  if (out) *out = nullptr;
  return guarded([&]() -> Status {
    NNEX_C_NEED(a);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const std::vector<Value> values, values_of(inputs, input_count, "inputs"));
    NNEX_ASSIGN(const nnex_compare_options given, known(options));
    NNEX_ASSIGN(CompareOptions o, compare_options(given));
    NNEX_ASSIGN(const nnex_run_options run, run_options(given.run));
    const LoadWatch loading_a(given.a), loading_b(given.b);
    o.a = loading_a.options(), o.b = loading_b.options();
    const Watch watch(run);
    o.run = watch.options();
    const InputsOf inputs_of = [&](const Model&) -> Result<std::vector<Value>> { return values; };
    NNEX_ASSIGN(CompareReport report, with(inputs_of, o));
    *out = comparison(std::move(report));
    return {};
  });
}

const nnex_compared* compared_at(const std::vector<nnex_compared>& all, size_t i) {
  return i < all.size() ? &all[i] : nullptr;
}

}  // namespace
}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_compare(const nnex_source* a, const nnex_source* b, nnex_value* const* inputs, size_t input_count,
                         const nnex_compare_options* options, nnex_comparison** out) {
  return compare_with(a, inputs, input_count, options, out,
                      [&](const InputsOf& inputs_of, const CompareOptions& o) -> Result<CompareReport> {
                        NNEX_C_NEED(b);
                        return compare(a->source, b->source, inputs_of, o);
                      });
}

nnex_error* nnex_compare_tensors(const nnex_source* a, const char* const* names, nnex_value* const* tensors,
                                 size_t count, nnex_value* const* inputs, size_t input_count,
                                 const nnex_compare_options* options, nnex_comparison** out) {
  return compare_with(
      a, inputs, input_count, options, out,
      [&](const InputsOf& inputs_of, const CompareOptions& o) -> Result<CompareReport> {
        NNEX_ASSIGN(const std::vector<std::string> called, texts_of(names, count, "names"));
        NNEX_ASSIGN(const std::vector<Value> values, values_of(tensors, count, "tensors"));
        std::map<std::string, Value> there;
        for (size_t i = 0; i < count; ++i)
          if (!there.emplace(called[i], values[i]).second)
            return Error(Code::invalid_argument, "found the name '" + called[i] + "' twice");
        Others others;
        others.tensors = [&](const std::map<std::string, Value>&,
                             std::span<const std::string> asked) -> Result<std::map<std::string, Value>> {
          std::map<std::string, Value> found;
          for (const std::string& name : asked)
            if (const auto it = there.find(name); it != there.end()) found.insert(*it);
          return found;
        };
        return compare(a->source, others, inputs_of, o);
      });
}

nnex_error* nnex_compare_values(const nnex_value* a, const nnex_value* b, const nnex_compare_options* options,
                                nnex_comparison** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(a);
    NNEX_C_NEED(b);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const nnex_compare_options o, known(options));
    NNEX_ASSIGN(const Tolerance tolerance, tolerance_of(o));
    ComparedTensor pair;
    pair.type = a->text, pair.matched = MatchedBy::port;
    pair.difference = difference(a->value, b->value, tolerance);
    CompareReport report;
    report.same = pair.difference.same();
    report.outputs.push_back(std::move(pair));
    *out = comparison(std::move(report));
    return {};
  });
}

bool nnex_comparison_same(const nnex_comparison* c) { return c && c->same; }
size_t nnex_comparison_outputs(const nnex_comparison* c) { return c ? c->outputs.size() : 0; }
size_t nnex_comparison_layers(const nnex_comparison* c) { return c ? c->layers.size() : 0; }
const nnex_compared* nnex_comparison_output(const nnex_comparison* c, size_t i) {
  return c ? compared_at(c->outputs, i) : nullptr;
}
const nnex_compared* nnex_comparison_layer(const nnex_comparison* c, size_t i) {
  return c ? compared_at(c->layers, i) : nullptr;
}
const char* nnex_comparison_only_a(const nnex_comparison* c, size_t i) { return c ? text_at(c->only_a, i) : nullptr; }
const char* nnex_comparison_only_b(const nnex_comparison* c, size_t i) { return c ? text_at(c->only_b, i) : nullptr; }
const nnex_compared* nnex_comparison_first(const nnex_comparison* c) { return c && c->first ? &*c->first : nullptr; }
const char* nnex_comparison_cause(const nnex_comparison* c, size_t i) { return c ? text_at(c->cause, i) : nullptr; }
bool nnex_comparison_isolated(const nnex_comparison* c, const char** note, bool* reproduced) {
  const Isolated* i = c && c->isolated ? &*c->isolated : nullptr;
  if (note) *note = i ? i->note.c_str() : nullptr;
  if (reproduced) *reproduced = i && i->reproduced;
  return i;
}
void nnex_comparison_free(nnex_comparison* c) { delete c; }

const char* nnex_compared_a(const nnex_compared* c) { return c ? c->tensor.a.c_str() : nullptr; }
const char* nnex_compared_b(const nnex_compared* c) { return c ? c->tensor.b.c_str() : nullptr; }
const char* nnex_compared_op(const nnex_compared* c) { return c ? c->tensor.op.c_str() : nullptr; }
const char* nnex_compared_place(const nnex_compared* c) { return c ? c->tensor.place_a.c_str() : nullptr; }
const char* nnex_compared_type(const nnex_compared* c) { return c ? c->tensor.type.c_str() : nullptr; }
const char* nnex_compared_by(const nnex_compared* c) { return c ? name(c->tensor.matched).data() : nullptr; }
bool nnex_compared_same(const nnex_compared* c) {
  return c && c->tensor.matched != MatchedBy::none && c->tensor.difference.same();
}
const char* nnex_compared_mismatch(const nnex_compared* c) {
  return c ? c->tensor.difference.mismatch.c_str() : nullptr;
}
int64_t nnex_compared_count(const nnex_compared* c) { return c ? c->tensor.difference.count : 0; }
int64_t nnex_compared_differing(const nnex_compared* c) { return c ? c->tensor.difference.differing : 0; }
double nnex_compared_max_absolute(const nnex_compared* c) { return c ? c->tensor.difference.max_absolute : 0; }
double nnex_compared_max_relative(const nnex_compared* c) { return c ? c->tensor.difference.max_relative : 0; }
double nnex_compared_cosine(const nnex_compared* c) { return c ? c->tensor.difference.cosine : 0; }
double nnex_compared_sqnr_db(const nnex_compared* c) { return c ? c->tensor.difference.sqnr_db : 0; }
int64_t nnex_compared_worst(const nnex_compared* c, const char** a, const char** b) {
  if (a) *a = c ? c->tensor.difference.worst_a.c_str() : nullptr;
  if (b) *b = c ? c->tensor.difference.worst_b.c_str() : nullptr;
  return c ? c->tensor.difference.worst : -1;
}

}  // extern "C"
