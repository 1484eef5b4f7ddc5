#pragma once
// Where tensors lie in a model's messages: copies, and what compares them, go that way.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "standards/onnx/read_wire.h"

namespace nnex::onnx_format {

inline constexpr int kDeepestCopy = 256;  ///< As check_wire has it.

enum class Part : uint8_t { model, training, function, graph, node, attribute, sparse, tensor };
/// The messages' names, by Part.
inline constexpr std::string_view kPartNames[] = {"ModelProto",        "TrainingInfoProto", "FunctionProto",
                                                  "GraphProto",        "NodeProto",         "AttributeProto",
                                                  "SparseTensorProto", "TensorProto"};

/// The fields of onnx.proto on the way from a model to its tensors.
struct Way {
  Part in;
  uint32_t field;
  Part to;
};
inline constexpr Way kWays[] = {
    {Part::model, 7, Part::graph},         {Part::model, 20, Part::training},   {Part::model, 25, Part::function},
    {Part::training, 1, Part::graph},      {Part::training, 2, Part::graph},    {Part::function, 7, Part::node},
    {Part::function, 11, Part::attribute}, {Part::graph, 1, Part::node},        {Part::graph, 5, Part::tensor},
    {Part::graph, 15, Part::sparse},       {Part::node, 5, Part::attribute},    {Part::attribute, 5, Part::tensor},
    {Part::attribute, 10, Part::tensor},   {Part::attribute, 6, Part::graph},   {Part::attribute, 11, Part::graph},
    {Part::attribute, 22, Part::sparse},   {Part::attribute, 23, Part::sparse}, {Part::sparse, 1, Part::tensor},
    {Part::sparse, 2, Part::tensor}};

inline const Way* way_of(Part in, const wire::Field& f) {
  if (f.kind != wire::Kind::bytes) return nullptr;
  const Way* const found =
      std::find_if(std::begin(kWays), std::end(kWays), [&](const Way& w) { return w.in == in && w.field == f.number; });
  return found == std::end(kWays) ? nullptr : found;
}

/// Fields of a TensorProto that are its data, or say where they are.
inline bool is_data(uint32_t field) { return field >= 4 && field <= 14 && field != 8 && field != 12; }

}  // namespace nnex::onnx_format
