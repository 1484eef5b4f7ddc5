#include "shared/reading.h"

namespace nnex::cli {

void add_compat(Verb verb, std::string& compat) {
  verb.option("--compat", compat, "Whose answers count where ours are deliberately others: formal (CVM)")
      .one_of({"formal"});
}

void add_dialect(Verb verb, std::string& dialect) {
  verb.option("--dialect", dialect,
              "Of NNEF documents: standard (1.0 alone), tract (as sonos/tract and torch-to-nnef write); absent: 1.0, "
              "and the draft of 2017 upgraded")
      .one_of({"standard", "tract"});
}

NnefDialect dialect_of(const std::string& dialect) {
  if (dialect.empty()) return NnefDialect::automatic;
  return dialect == "tract" ? NnefDialect::tract : NnefDialect::standard;
}

CvmAnswers answers_of(const std::string& compat) { return compat.empty() ? CvmAnswers::nnex : CvmAnswers::formal; }

}  // namespace nnex::cli
