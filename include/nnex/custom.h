#pragma once
/// Custom operators: what the built-in table lacks, computed by functions of the host program.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/attribute.h"
#include "nnex/result.h"
#include "nnex/tensor.h"
#include "nnex/type.h"

#pragma GCC visibility push(default)
namespace nnex {

/// What the shape rule of a custom operator sees of one node.
struct CustomInfer {
  std::string_view op;                      ///< "com.example:Rotate"
  const Attributes& attributes;             ///< As the model has them.
  std::span<const TypeInfo> inputs;         ///< "unknown" where an input is absent or nothing is known of it.
  std::span<const Tensor* const> contents;  ///< By input: its content where that is known now, else null.
  size_t outputs = 0;                       ///< How many types are asked for.
};

/// What the kernel of a custom operator sees of one run of one node. Valid during the call alone: who keeps a tensor of
/// it keeps a clone().
class CustomRun {
 public:
  CustomRun(std::string_view op, const Attributes& attributes, std::span<const Value* const> in,
            std::span<Value* const> out)
      : op_(op), attributes_(&attributes), in_(in), out_(out), made_(out.size()) {}

  std::string_view op() const { return op_; }
  const Attributes& attributes() const { return *attributes_; }
  size_t inputs() const { return in_.size(); }
  /// Input i; null when it is absent.
  const Value* input(size_t i) const { return i < in_.size() ? in_[i] : nullptr; }
  /// Input i as a tensor whose elements are aligned; null when it is absent or no tensor.
  const Tensor* tensor(size_t i) const { return input(i) ? input(i)->tensor() : nullptr; }
  size_t outputs() const { return out_.size(); }
  /// Whether anybody reads output o; the others need not be made.
  bool wants(size_t o) const { return o < out_.size() && out_[o] != nullptr; }
  /// Output o as a tensor of this type and shape, to be filled: the memory planned for it where the shape rule said the
  /// same, else new memory. Outputs nobody wants have memory too. Errors: invalid_argument (no such output, or the
  /// shape rule said otherwise), limit.
  Result<Tensor*> output(size_t o, DType dtype, const Shape& shape);
  /// Output o is this value (a sequence, a map, a tensor made elsewhere, an input). Error: as output().
  Status set(size_t o, Value value);
  /// Whether output() or set() has succeeded for output o.
  bool made(size_t o) const { return o < made_.size() && made_[o]; }

 private:
  std::string_view op_;
  const Attributes* attributes_;
  std::span<const Value* const> in_;
  std::span<Value* const> out_;
  std::vector<std::unique_ptr<Value>> unwanted_;  ///< Memory of outputs that nobody reads.
  std::vector<bool> made_;                        ///< By output.
};

/// One operator of the host, for what nnex lacks: of an operator that nnex has its own counts, and this one is never
/// called. Its functions are called from the threads that load and run models, several at a time
/// where several sessions run. What they return as errors, or throw, comes back as an Error that names the node.
struct CustomOperator {
  std::string domain = {}, name = {};  ///< As ONNX has them; the domain of NNEF's custom operations is empty.
  /// Versions of the domain (ONNX opset import) that it serves. Of a graph that was built here its
  /// Metadata::opsets[domain] says the version: without it any serves, and ONNX files that are saved of it say 1.
  int64_t since = 1, until = INT64_MAX;
  /// The types of a node's outputs, as TypeInfo::of() and parse() make them: one whose text or extents have a number
  /// that its dims have not is refused. Optional: without it they are known when the kernel has made them.
  std::function<Result<std::vector<TypeInfo>>(const CustomInfer&)> infer = {};
  /// Computes every output that is wanted; that it leaves one out is a fault of the run.
  std::function<Status(CustomRun&)> run = {};
  /// Equal inputs give equal outputs, and nothing else happens: it may then be computed once, at load, where all its
  /// inputs are constant. Whatever nobody reads is not run, pure or not.
  bool pure = false;
};

/// The custom operators of a host, given with LoadOptions. Copies are independent.
class CustomOperators {
 public:
  /// Errors: invalid_argument (no name, no run function, versions that overlap those of another of its name).
  Status add(CustomOperator op);
  /// The operator that serves version `version` of its domain (0: any); null when there is none.
  std::shared_ptr<const CustomOperator> find(std::string_view domain, std::string_view name, int64_t version = 0) const;
  const std::vector<std::shared_ptr<const CustomOperator>>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

 private:
  std::vector<std::shared_ptr<const CustomOperator>> all_;
};

}  // namespace nnex
#pragma GCC visibility pop
