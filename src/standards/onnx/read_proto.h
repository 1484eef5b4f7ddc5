#pragma once
// Messages of onnx.proto that hold data and types, as values of the engine.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/memory_account.h"
#include "base/try.h"
#include "standards/onnx/read_wire.h"
#include "standards/onnx/schema.h"
#include "tensor/type.h"

namespace nnex::onnx_format {

/// The bytes of an external tensor (`location`, `offset`, `length`, ... as the file gives them), and who keeps them
/// alive.
struct External {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};
using OpenExternal = std::function<Result<External>(const std::map<std::string, std::string>& entries)>;

/// What a model's sparse constants may take together as the dense tensors they stand for.
struct DenseLimit {
  DenseLimit(int64_t limit, Remedy raises) : bytes(limit), more(std::move(raises)) {}
  MemoryAccount bytes;
  Remedy more;  ///< What raises it.
};

/// What a message's bytes belong to.
struct Source {
  std::shared_ptr<const void> owner;       ///< Keeps the file's bytes alive; tensors of raw data share it.
  OpenExternal external;                   ///< Null: external tensors are refused.
  std::shared_ptr<DenseLimit> dense = {};  ///< Null: any size that the memory has room for.
};

/// The value field of a TensorProto that holds a type's elements, and the width of its packed numbers (0: varints).
struct Storage {
  wire::FieldNumber field;
  int width;
};
Storage storage_of(DType t);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
struct NamedValue {
  std::string name;
  Value value;
};

/// A TensorProto. Raw data is not copied. Errors: invalid_model (type, shape and data disagree), unreadable.
Result<NamedTensor> read_tensor(std::string_view message, const Source& source);
Result<NamedValue> read_sparse_tensor(std::string_view message, const Source& source);
/// The dense tensor that a SparseTensorProto stands for. Errors: also limit.
Result<NamedTensor> read_dense(std::string_view message, const Source& source);
/// What Dim::unknown is given for an extent without a number or a name.
inline constexpr std::string_view kNameless = "extent";
/// A TypeProto; depth-limited.
Result<Type> read_type(std::string_view message, int depth = 0);
/// A file of test data: TensorProto, SparseTensorProto, SequenceProto, MapProto or OptionalProto, whichever the type
/// says.
Result<NamedValue> read_value(std::string_view message, const Type& type, const Source& source, int depth = 0);

/// A TensorProto of the tensor. Error: unsupported for types ONNX has not.
Result<std::string> write_tensor(const Tensor& tensor, std::string_view name);

}  // namespace nnex::onnx_format
