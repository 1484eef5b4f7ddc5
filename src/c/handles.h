#pragma once
// What stands behind the handles of nnex.h, and the way in and out of C: no exception and no C++ type crosses.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnex.h"
#include "nnex/check.h"
#include "nnex/custom.h"
#include "nnex/graph.h"
#include "nnex/inspect.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "nnex/source.h"
#include "tensor/nesting.h"

struct nnex_error {
  nnex_code code;
  std::string code_name, message, where, webnn_name, text;
  std::vector<std::string> tasks = {};      ///< What a callback's error keeps,
  std::vector<nnex::Remedy> remedies = {};  ///< where it has it of a function of nnex.
};

namespace nnex::c {
/// How deep a value nests: as deep as its first items do.
int nesting_of(const Value& v);
}  // namespace nnex::c

struct nnex_value {
  explicit nnex_value(nnex::Value v, int within = 0)
      : value(std::move(v)), text(value.text()), nesting(std::max(within, nnex::c::nesting_of(value))) {}
  nnex::Value value;
  std::string text;   ///< What nnex_value_text() gives.
  int nesting;        ///< How many values lie in one another; of a tensor 0.
  bool lent = false;  ///< To a callback, with whose end its memory may go.
};

struct nnex_source {
  nnex::ModelSource source;
};

struct nnex_load_options {
  nnex::LoadOptions options;
  int64_t timeout_ns = 0;  ///< Of each call that they are given; 0: none.
  bool (*cancelled)(void* context) = nullptr;
  void* context = nullptr;
};

struct nnex_port {
  nnex::PortInfo info;
  const nnex_graph* graph = nullptr;  ///< Whose value it is; null: no graph's.
  nnex::ValueId value = {};
};

struct nnex_model {
  nnex::Model model;
  std::vector<nnex_port> inputs, outputs, states;
  std::string version;  ///< Of its metadata.
  mutable std::mutex telling = {};
  mutable std::set<std::string> told = {};  ///< Texts of the cache that were asked for.
};

namespace nnex::c {
struct Walk;
}

struct nnex_graph {
  const nnex::Graph graph;
  mutable std::map<uint32_t, nnex_port> values = {};  ///< By id: inputs and outputs, and all others once it was walked.
  std::vector<const nnex_port*> inputs = {}, outputs = {};
  mutable std::once_flag made[2] = {};
  mutable std::string texts[2] = {};  ///< What nnex_graph_text() gives, short and whole.
  mutable std::once_flag walked = {};
  mutable std::unique_ptr<const nnex::c::Walk> walk;  ///< What nnex_graph.h shows.

  explicit nnex_graph(nnex::Graph g);
  ~nnex_graph();
};

struct nnex_session {
  nnex::Model model;
  nnex::Session session;
  std::vector<nnex::NodeTime> nodes;  ///< Of the last run that succeeded.
  std::atomic<bool> profiled{false};
  std::atomic<bool> running{false};      ///< From the beginning of a run until its times are in `nodes`.
  std::vector<nnex::Value> inputs = {};  ///< Of the run that is on, and where it writes: kept for their room.
  std::vector<nnex::Tensor> outputs = {};
};

struct nnex_report {
  nnex::CheckReport report;
  std::vector<nnex::Fault> all;  ///< Faults, then notes.
};

struct nnex_inspection {
  nnex::Inspection inspection;
  std::vector<nnex_port> inputs, outputs, states;
  std::vector<const nnex::MetadataEntry*> entries;  ///< Of the metadata, those of nnex itself left out.
  std::string format, model_version;
};

struct nnex_saved {
  nnex::SaveReport report;
};

struct nnex_files {
  std::vector<nnex::NamedBytes> files;
};

namespace nnex::c {

/// A C++ failure as a C object.
nnex_error* error_of(const Error& error);
/// An option that would let a call pass, as C has it.
std::string remedy_words(const Remedy& remedy);
nnex_error* invalid(const char* call, const char* message);
nnex_error* no_memory();
/// The C++ form of an error that a callback returned, which is freed.
Error taken(nnex_error* error);

std::vector<nnex_port> ports_of(const std::vector<PortInfo>& infos);
/// What a model says of itself under one of the words of nnex.h; null for other words.
template <class T>
const std::string* said_of_itself(const T& all, std::string_view word) {
  const std::pair<std::string_view, const std::string*> words[] = {
      {"graph_name", &all.graph_name}, {"producer", &all.producer}, {"producer_version", &all.producer_version},
      {"domain", &all.domain},         {"doc", &all.doc},           {"graph_doc", &all.graph_doc}};
  for (const auto& [name, text] : words)
    if (name == word) return text;
  return nullptr;
}
/// NULL past the last.
inline const char* text_at(const std::vector<std::string>& texts, size_t index) {
  return index < texts.size() ? texts[index].c_str() : nullptr;
}
const nnex_port* port_at(const std::vector<nnex_port>& ports, size_t index);
/// A handle of the caller's.
nnex_model* model_handle(Model model);
Result<nnex_graph*> graph_handle(Graph graph);
/// What an id of the graph is called and of which type, as it stands in `typed`, a copy of the graph.
Result<nnex_port> port_of(const nnex_graph& graph, const Graph& typed, ValueId v);
/// The shape of these extents. Errors: invalid_argument, limit.
Result<Shape> shape_of(size_t rank, const int64_t* extents);
/// Owner of a caller's memory: tells the caller when it goes. It is armed last, when nothing can fail any more, so that
/// memory stays the caller's where a function fails.
struct Owner {
  void (*release)(void* context) = nullptr;
  void* context = nullptr;

  Owner() = default;
  ~Owner() {
    if (release) release(context);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
};
/// What whoever keeps the value holds: of one that is lent a copy. Errors: limit.
Result<Value> lasting(const nnex_value& v);
/// The nesting of a value with such an item. Error: limit.
Result<int> nesting_around(int nesting);
/// What handles and texts of the caller's hold; errors name the argument and which of them.
Result<std::vector<Value>> values_of(nnex_value* const* values, size_t count, const char* argument);
Status add_values(nnex_value* const* values, size_t count, const char* argument, std::vector<Value>& to);
Result<std::vector<std::string>> texts_of(const char* const* texts, size_t count, const char* argument);
/// How a model is written, and what of it is told.
struct Saving {
  SaveOptions options = {};
  bool prove = false;
  const nnex_run_options* run = nullptr;  ///< Of the proof.
  nnex_saved** saved = nullptr;           ///< The caller's, set to null here.

  void tell(SaveReport report) const {
    if (saved) *saved = new nnex_saved{std::move(report)};
  }
};
Result<Saving> saving_of(const nnex_save_options* given);
/// The same where no source is there to run beside what is written. Error: invalid_argument, a proof is asked for.
Result<Saving> unproven(const nnex_save_options* given);
/// The same for files in memory, which need a format.
Result<Saving> in_memory(const nnex_save_options* given);
/// A struct that is versioned by its size, and where the members end that its first version had.
struct FirstVersion {
  const char* name;
  size_t size;
};
template <class T>
inline constexpr FirstVersion kFirstVersion = {};
template <>
inline constexpr FirstVersion kFirstVersion<nnex_reader> = {"nnex_reader",
                                                            offsetof(nnex_reader, context) + sizeof(void*)};
template <>
inline constexpr FirstVersion kFirstVersion<nnex_custom_op> = {"nnex_custom_op",
                                                               offsetof(nnex_custom_op, context) + sizeof(void*)};
template <>
inline constexpr FirstVersion kFirstVersion<nnex_session_options> = {
    "nnex_session_options", offsetof(nnex_session_options, seed) + sizeof(uint64_t)};
template <>
inline constexpr FirstVersion kFirstVersion<nnex_run_options> = {"nnex_run_options",
                                                                 offsetof(nnex_run_options, context) + sizeof(void*)};
template <>
inline constexpr FirstVersion kFirstVersion<nnex_save_options> = {
    "nnex_save_options", offsetof(nnex_save_options, keep_fragments) + sizeof(bool)};

/// A struct of the caller's, of which it knows the first `size` bytes; what it does not know is 0, and so is all of a
/// null one. Errors: invalid_argument for a `size` that was forgotten; unsupported for members of a later version that
/// are not 0.
template <class T>
Result<T> known(const T* given) {
  T all{};
  if (!given) return all;
  constexpr FirstVersion kFirst = kFirstVersion<T>;
  if (given->size < kFirst.size)
    return Error(Code::invalid_argument, "found " + std::to_string(given->size) + " for the member 'size' of " +
                                             kFirst.name + "; needed sizeof(" + kFirst.name + "), " +
                                             std::to_string(sizeof(T)));
  constexpr size_t kLargest = 4096;  // of any version to come
  bool later = given->size > kLargest;
  for (size_t i = sizeof(T); !later && i < given->size; ++i) later = reinterpret_cast<const char*>(given)[i] != 0;
  if (later)
    return Error(Code::unsupported, std::string(kFirst.name) + " has members that this version of nnex, " +
                                        nnex_version() + ", does not know; needed 0 there");
  __builtin_memcpy(&all, given, given->size < sizeof(T) ? given->size : sizeof(T));
  return all;
}

inline Status status_of(nnex_error* e) {
  if (!e) return {};
  return taken(e);
}

/// The status of a call; of one that was cancelled as the host's function for that threw: what it threw.
Status of_the_host(Status s);

/// Runs the body of a function of the interface: what it returns, or throws, becomes an error.
template <class F>
nnex_error* guarded(F&& body) noexcept {
  try {
    const Status s = of_the_host(body());
    return s.ok() ? nullptr : error_of(s.error());
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& e) {
    try {
      return error_of(Error(Code::internal, e.what()));
    } catch (...) {
      return no_memory();
    }
  } catch (...) {
    try {
      return error_of(Error(Code::fault, "the host threw what is no std::exception"));
    } catch (...) {
      return no_memory();
    }
  }
}

/// "found NULL for 'session'"
inline Error null_argument(const char* argument) {
  return {Code::invalid_argument, std::string("found NULL for '") + argument + "'"};
}

/// The same of an array of the caller's, or of item `index` of it: "found NULL for 'items[2]'".
inline Error null_item(const char* argument, const void* array, size_t index) {
  const std::string item = argument + (array ? "[" + std::to_string(index) + "]" : std::string());
  return null_argument(item.c_str());
}

}  // namespace nnex::c

/// Refuses NULL in a function that returns nnex_error* through guarded().
#define NNEX_C_NEED(argument) \
  if (!(argument)) return ::nnex::c::null_argument(#argument)
