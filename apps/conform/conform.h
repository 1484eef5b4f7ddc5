#pragma once
// Verdicts of conformance cases, and the cases of each standard.

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/try.h"
#include "nnex/file.h"
#include "nnex/model.h"
#include "shared/command_line.h"
#include "shared/json.h"
#include "shared/say.h"

namespace nnex::cli {

struct Verdict {
  std::string name, verdict, reason;  ///< verdict: passed, failed, skipped; informative: no standard decides it
};

/// What f finds wrong of a case. The vectors' own mistakes are told too: a member that is missing or of another type, a
/// size that no memory has.
template <class F>
std::string wrong_of(F f) {
  try {
    const Result<std::string> wrong = f();
    return wrong.ok() ? *wrong : wrong.error().text();
  } catch (const Json::exception& e) {
    const std::string_view text = e.what();
    const size_t kind = text.find("] ");
    return fmt::format("the case cannot be read: {}", kind == text.npos ? text : text.substr(kind + 2));
  } catch (const std::exception& e) {
    return fmt::format("the case cannot be run: {}", e.what());
  }
}

/// Where a row a case is written to; an empty path: nowhere.
struct RowsFile {
  std::string path;
  Existing existing = Existing::refuse;
};

/// Writes the rows, prints the counts, and gives the exit code.
int finish(const std::vector<Verdict>& rows, const RowsFile& json);

/// The cases of NNEF: a folder with rules/, values/, dat/, quant/, containers/, graphs/, or one of these.
/// `load.nnef.dialect` standard leaves documents in tract's dialect refused, else they are read and run. `through`: the
/// standard that the graphs of values/ are also written in and read back from; empty: none.
int conform_nnef(const std::string& path, const RowsFile& json, const std::string& filter, bool quiet,
                 const LoadOptions& load, const std::string& through);

/// What the runner of CVM's cases is asked for.
struct CvmCases {
  std::string path;
  RowsFile json;
  std::string filter;
  bool quiet = false;
  int threads = 1;
  LoadOptions load;

  bool wants(const std::string& name) const { return filter.empty() || name.find(filter) != std::string::npos; }
};

/// The cases of CVM: a folder of operator files, models/ and load cases, or one file.
int conform_cvm(const CvmCases& cases);

/// Takes verdicts of cases as they come.
class Verdicts {
 public:
  Verdicts(std::string filter, bool quiet) : filter_(std::move(filter)), quiet_(quiet) {}
  /// Whether a case is asked for.
  bool wants(const std::string& name) const { return filter_.empty() || name.find(filter_) != std::string::npos; }
  /// What differs, or nothing.
  void add(const std::string& name, const std::string& difference) {
    rows_.push_back({name, difference.empty() ? "passed" : "failed", difference});
    if (!quiet_ && !difference.empty()) say("failed {}: {}\n", name, difference);
  }
  void skip(const std::string& name, const std::string& why) {
    rows_.push_back({name, "skipped", why});
    if (!quiet_) say("skipped {}: {}\n", name, why);
  }
  const std::vector<Verdict>& rows() const { return rows_; }

  std::string
      through;       ///< Of NNEF's values and WebNN's graphs: the standard that each is written in and read back from.
  LoadOptions load;  ///< Of NNEF's values: how graphs are compiled.

 private:
  std::string filter_;
  bool quiet_;
  std::vector<Verdict> rows_;
};

/// The cases of WebNN: a file {"cases": [...]}, or every such file below a folder. The exit code when they cannot be
/// read, else kOk.
int conform_webnn(const std::string& path, int threads, Verdicts& out);

// One function a folder of the cases of NNEF; `folder` is its path.
Status conform_nnef_rules(const std::string& folder, Verdicts& out);
Status conform_nnef_graphs(const std::string& folder, Verdicts& out);
Status conform_nnef_values(const std::string& folder, Verdicts& out);
Status conform_nnef_dat(const std::string& folder, Verdicts& out);
Status conform_nnef_quant(const std::string& folder, Verdicts& out);
Status conform_nnef_containers(const std::string& folder, Verdicts& out);

/// The JSON of an index file. Error: unreadable, or no JSON.
Result<Json> read_index(const std::string& path);

/// Judges every case of the index's list `list`. `judge` gets the case and adds its verdict under a name that begins
/// with the folder's and ends with what the case has as `key`. A case that cannot be read (a member that is missing, or
/// of another type) is a failed row. Error: unreadable, where there is no such list.
Status each_case(const Json& index, const char* list, const std::string& folder, const char* key, Verdicts& out,
                 const std::function<void(const std::string& name, const Json& one)>& judge);

/// A number of a case; JSON has no words for those that are not finite, which are strings: "inf", "-inf", "nan".
double real_of(const Json& number);

}  // namespace nnex::cli
