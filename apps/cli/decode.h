#pragma once
// bench --decode: a language model, or any other whose outputs go back into it, step by step.

#include "timing.h"

namespace nnex::cli {

struct DecodeOptions {
  int tokens = 0;    ///< Steps of one token; 0: no such bench.
  int prompt = 128;  ///< Tokens of the first run.

  void add_to(Verb verb);
};

/// Times the prompt and the steps after it. The exit code.
int bench_decode(const TimingOptions& o, const DecodeOptions& decode);

}  // namespace nnex::cli
