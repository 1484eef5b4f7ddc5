#pragma once
// Options of verbs that write files or read models, in every program.

#include <string>

#include "nnex/file.h"
#include "nnex/model.h"
#include "shared/command_line.h"

namespace nnex::cli {

/// Every verb that writes files loses none: what exists is replaced where --force says so.
struct WritingOptions {
  bool force = false;

  void add_to(Verb verb) { verb.flag("--force", force, "Replace files that are there already"); }
  Existing existing() const { return force ? Existing::replace : Existing::refuse; }
};

void add_dialect(Verb verb, std::string& dialect);
void add_compat(Verb verb, std::string& compat);
/// What the words of these options mean; empty: they were not given.
NnefDialect dialect_of(const std::string& dialect);
CvmAnswers answers_of(const std::string& compat);

}  // namespace nnex::cli
