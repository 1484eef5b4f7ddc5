#pragma once
// What the reader of a model learnt beside its network, and what later steps go by: proofs about integers, and writers
// that say a model as it was said.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnex/metadata.h"

namespace nnex {

/// Bits that a model's file promises of its inputs and constants, by value name.
using DeclaredBits = std::map<std::string, int64_t>;

/// Of a graph that was read from an NNEF document.
struct NnefProvenance {
  std::map<std::string, std::string, std::less<>>
      labels;               ///< Of the variables that are constants, by the value's name.
  std::string document;     ///< The text of one with fragments; else empty.
  bool integers32 = false;  ///< The document said that its integers have 32 bits.
};

/// Of a graph that was read from a CVM model: facts that its nodes do not say.
struct CvmProvenance {
  std::string version, postprocess;
  int64_t gas = 0;
  int64_t storage_bytes = 0;  ///< Of the file's own storage plan.
  int64_t input_bits = 0;     ///< 8 or fewer: the input is one byte an element, else four.
  std::vector<int64_t>
      head_bits;        ///< One a head; all 8 or fewer and no postprocess: the output is one byte an element.
  DeclaredBits widths;  ///< Parameters, by name, that the file held in an unusual width.

  int64_t input_width() const { return input_bits <= 8 ? 1 : 4; }
  int64_t output_width() const;
};

struct Provenance {
  DeclaredBits bits;
  std::string quantization;  ///< The text of an NNEF quantisation file that belongs to the graph; empty: none.
  std::optional<NnefProvenance> nnef;
  std::optional<CvmProvenance> cvm;
  std::vector<std::string> beside;  ///< What its file has that a graph has no place for, in words; no file carries it.
};

using Properties = std::vector<std::pair<std::string, std::string>>;

/// The name of the property that holds NnefProvenance::labels, which may be long.
inline constexpr std::string_view kLabelsProperty = "nnef.variables";

/// As metadata properties, which carry it through files of other formats.
Properties properties_of(const Provenance& provenance);

/// Takes out of `properties` what properties_of() wrote there, and adds it to `provenance`. A text that it would not
/// have written stays where it is.
void take_provenance(Properties& properties, Provenance& provenance);

}  // namespace nnex
