#pragma once
// Verdicts of conformance cases, and the cases of each standard.

#include <functional>
#include <string>
#include <vector>

#include "cli.h"

namespace nnex::cli {

struct Verdict {
  std::string name, verdict, reason;  ///< verdict: passed, failed, skipped; informative: no standard decides it
};

/// Writes a row a case to the file `json` (none where it is empty), prints the counts, and gives the exit code.
int finish(const std::vector<Verdict>& rows, const std::string& json);

/// The cases of NNEF: a folder with rules/, values/, dat/, quant/, containers/, graphs/, or one of these.
/// `dialect`: as of LoadOptions; "standard" leaves documents in tract's dialect refused, else they are read and run.
int conform_nnef(const std::string& path, const std::string& json, const std::string& filter, bool quiet,
                 const std::string& dialect);

/// What the runner of CVM's cases is asked for.
struct CvmCases {
  std::string path, json, filter;
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
    if (!quiet_ && !difference.empty()) fmt::print("failed {}: {}\n", name, difference);
  }
  void skip(const std::string& name, const std::string& why) {
    rows_.push_back({name, "skipped", why});
    if (!quiet_) fmt::print("skipped {}: {}\n", name, why);
  }
  const std::vector<Verdict>& rows() const { return rows_; }

  std::string dialect;  ///< Of NNEF's graphs: how far documents may leave the standard.

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

}  // namespace nnex::cli
