#pragma once
// Snapshot: a graph as bytes, with every id it has: what goes by ids (packed constants, draws of random numbers) finds
// the same graph again. For one version of this program alone; models are kept in the files of the standards.

#include <functional>
#include <memory>
#include <string_view>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/function_ref.h"
#include "graph/graph.h"
#include "ops/fused.h"

namespace nnex {

/// Where the bytes of a snapshot's tensors lie.
struct SnapshotData {
  std::string_view bytes;             ///< At a multiple of 64.
  std::shared_ptr<const void> owner;  ///< That tensors keep alive.
};

/// How the forms of fused nodes become bytes and come back: by who knows them (kernels/stored_form.h).
struct FormStorage {
  using Operation = std::pair<const OpDef*, std::shared_ptr<const void>>;
  void (*write)(const kernels::Fused& form, ByteWriter& to, FunctionRef<void(const Operation&)> operation) = nullptr;
  std::shared_ptr<const kernels::Fused> (*read)(ByteReader& from, size_t inputs,
                                                FunctionRef<Operation()> operation) = nullptr;
};

class Snapshot {
 public:
  /// Keeps the bytes of a tensor: their place in the data, a multiple of 64.
  using Store = std::function<Result<uint64_t>(const Tensor&)>;

  /// Constants that nothing reads are left out, and functions that nothing calls. Errors: unsupported (custom
  /// operators, constants and states that are neither tensors nor sparse tensors); those of `store`.
  static Status write(const ir::Graph& graph, const FormStorage& forms, ByteWriter& to, const Store& store);
  /// Tensors lie in the data, uncopied. The graph is verified. Error: invalid_model for bytes that are none.
  static Result<ir::Graph> read(ByteReader& from, const FormStorage& forms, const SnapshotData& data);

 private:
  struct Writing;
  struct Reading;
};

}  // namespace nnex
