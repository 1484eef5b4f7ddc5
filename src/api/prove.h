#pragma once
// Whether two models of any standards compute the same: both are run on the same inputs, corner cases among them.

#include <functional>
#include <memory>

#include "nnex/save.h"

namespace nnex {

/// What was written, as a proof runs it.
class WrittenModel {
 public:
  virtual ~WrittenModel() = default;
  virtual std::vector<PortInfo> inputs() const = 0;
  virtual std::vector<PortInfo> outputs() const = 0;  ///< With them what it keeps for the next run.
  virtual Result<std::vector<Value>> run(const std::vector<Value>& inputs) = 0;
};
using OpenWritten = std::function<Result<std::unique_ptr<WrittenModel>>()>;

/// What a written model leaves undefined, as its notes say: inputs of a proof keep out of it.
struct Undefined {
  bool negative_indices = false;  ///< Whole numbers of inputs are not negative. A run may make such an index all the
                                  ///< same: that it is refused then says nothing.
  bool large_wholes = false;      ///< Whole numbers of inputs that have more than 8 bits are small.
};

/// Runs what `open` gives beside `source`, which is out of memory by then. Errors: those of loading the source and of
/// opening; of running the source where it refuses every input that was tried.
Result<Proof> prove(const ModelSource& source, const LoadOptions& load_source, const OpenWritten& open,
                    const ProofOptions& options, Undefined undefined = {});

/// Runs `written` beside `source`; where they differ, once more without passes, as both stand. Errors: those of loading
/// either; of running the source where it refuses every input that was tried.
Result<Proof> prove(const ModelSource& source, const LoadOptions& load_source, const ModelSource& written,
                    const LoadOptions& load_written, const ProofOptions& options, Undefined undefined = {});

}  // namespace nnex
