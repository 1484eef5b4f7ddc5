// Every message of a model, down to its last field: whether its bytes can be read and are of the kinds that onnx.proto
// says.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "standards/onnx/check_context.h"
#include "standards/onnx/forms.h"

namespace nnex::onnx_format {
namespace {

using wire::Kind;

enum class Holds : uint8_t { number, text, bytes, real, message, numbers, reals, doubles };

struct MessageForm;
struct FieldForm {
  uint32_t number = 0;
  std::string_view name;
  Holds holds = {};
  const MessageForm* message = nullptr;
  bool repeated = false;
};
struct MessageForm {
  std::span<const FieldForm> fields;
};

extern const MessageForm kGraphForm, kTypeForm;

constexpr FieldForm kPairFields[] = {{1, "key", Holds::text}, {2, "value", Holds::text}};
constexpr MessageForm kPair{kPairFields};
constexpr FieldForm kOpsetFields[] = {{1, "domain", Holds::text}, {2, "version", Holds::number}};
constexpr MessageForm kOpset{kOpsetFields};
constexpr FieldForm kSegmentFields[] = {{1, "begin", Holds::number}, {2, "end", Holds::number}};
constexpr MessageForm kSegment{kSegmentFields};

constexpr FieldForm kTensorFields[] = {{1, "dims", Holds::numbers},
                                       {2, "data_type", Holds::number},
                                       {3, "segment", Holds::message, &kSegment},
                                       {4, "float_data", Holds::reals},
                                       {5, "int32_data", Holds::numbers},
                                       {6, "string_data", Holds::bytes, nullptr, true},
                                       {7, "int64_data", Holds::numbers},
                                       {8, "name", Holds::text},
                                       {9, "raw_data", Holds::bytes},
                                       {10, "double_data", Holds::doubles},
                                       {11, "uint64_data", Holds::numbers},
                                       {12, "doc_string", Holds::text},
                                       {13, "external_data", Holds::message, &kPair, true},
                                       {14, "data_location", Holds::number},
                                       {16, "metadata_props", Holds::message, &kPair, true}};
constexpr MessageForm kTensor{kTensorFields};
constexpr FieldForm kSparseFields[] = {
    {1, "values", Holds::message, &kTensor}, {2, "indices", Holds::message, &kTensor}, {3, "dims", Holds::numbers}};
constexpr MessageForm kSparse{kSparseFields};

constexpr FieldForm kExtentFields[] = {
    {1, "dim_value", Holds::number}, {2, "dim_param", Holds::text}, {3, "denotation", Holds::text}};
constexpr MessageForm kExtent{kExtentFields};
constexpr FieldForm kShapeFields[] = {{1, "dim", Holds::message, &kExtent, true}};
constexpr MessageForm kShape{kShapeFields};
constexpr FieldForm kTensorTypeFields[] = {{1, "elem_type", Holds::number}, {2, "shape", Holds::message, &kShape}};
constexpr MessageForm kTensorType{kTensorTypeFields};
constexpr FieldForm kElementFields[] = {{1, "elem_type", Holds::message, &kTypeForm}};
constexpr MessageForm kElement{kElementFields};
constexpr FieldForm kMapFields[] = {{1, "key_type", Holds::number}, {2, "value_type", Holds::message, &kTypeForm}};
constexpr MessageForm kMap{kMapFields};
constexpr FieldForm kOpaqueFields[] = {{1, "domain", Holds::text}, {2, "name", Holds::text}};
constexpr MessageForm kOpaque{kOpaqueFields};
constexpr FieldForm kTypeFields[] = {
    {1, "tensor_type", Holds::message, &kTensorType}, {4, "sequence_type", Holds::message, &kElement},
    {5, "map_type", Holds::message, &kMap},           {6, "denotation", Holds::text},
    {7, "opaque_type", Holds::message, &kOpaque},     {8, "sparse_tensor_type", Holds::message, &kTensorType},
    {9, "optional_type", Holds::message, &kElement}};
const MessageForm kTypeForm{kTypeFields};
constexpr FieldForm kValueFields[] = {{1, "name", Holds::text},
                                      {2, "type", Holds::message, &kTypeForm},
                                      {3, "doc_string", Holds::text},
                                      {4, "metadata_props", Holds::message, &kPair, true}};
constexpr MessageForm kValue{kValueFields};

constexpr FieldForm kAttributeFields[] = {{1, "name", Holds::text},
                                          {2, "f", Holds::real},
                                          {3, "i", Holds::number},
                                          {4, "s", Holds::bytes},
                                          {5, "t", Holds::message, &kTensor},
                                          {6, "g", Holds::message, &kGraphForm},
                                          {7, "floats", Holds::reals},
                                          {8, "ints", Holds::numbers},
                                          {9, "strings", Holds::bytes, nullptr, true},
                                          {10, "tensors", Holds::message, &kTensor, true},
                                          {11, "graphs", Holds::message, &kGraphForm, true},
                                          {13, "doc_string", Holds::text},
                                          {14, "tp", Holds::message, &kTypeForm},
                                          {15, "type_protos", Holds::message, &kTypeForm, true},
                                          {20, "type", Holds::number},
                                          {21, "ref_attr_name", Holds::text},
                                          {22, "sparse_tensor", Holds::message, &kSparse},
                                          {23, "sparse_tensors", Holds::message, &kSparse, true}};
constexpr MessageForm kAttribute{kAttributeFields};

constexpr FieldForm kSplitFields[] = {
    {1, "dim_value", Holds::number}, {2, "dim_param", Holds::text}, {3, "num_shards", Holds::number}};
constexpr MessageForm kSplit{kSplitFields};
constexpr FieldForm kShardedFields[] = {{1, "axis", Holds::number},
                                        {2, "simple_sharding", Holds::message, &kSplit, true}};
constexpr MessageForm kSharded{kShardedFields};
constexpr FieldForm kShardingFields[] = {{1, "tensor_name", Holds::text},
                                         {2, "device", Holds::numbers},
                                         {3, "index_to_device_group_map", Holds::bytes, nullptr, true},
                                         {4, "sharded_dim", Holds::message, &kSharded, true}};
constexpr MessageForm kSharding{kShardingFields};
constexpr FieldForm kNodeDeviceFields[] = {{1, "configuration_id", Holds::text},
                                           {2, "sharding_spec", Holds::message, &kSharding, true},
                                           {3, "pipeline_stage", Holds::number}};
constexpr MessageForm kNodeDevice{kNodeDeviceFields};
constexpr FieldForm kDeviceFields[] = {
    {1, "name", Holds::text}, {2, "num_devices", Holds::number}, {3, "device", Holds::text, nullptr, true}};
constexpr MessageForm kDevice{kDeviceFields};

constexpr FieldForm kNodeFields[] = {{1, "input", Holds::text, nullptr, true},
                                     {2, "output", Holds::text, nullptr, true},
                                     {3, "name", Holds::text},
                                     {4, "op_type", Holds::text},
                                     {5, "attribute", Holds::message, &kAttribute, true},
                                     {6, "doc_string", Holds::text},
                                     {7, "domain", Holds::text},
                                     {8, "overload", Holds::text},
                                     {9, "metadata_props", Holds::message, &kPair, true},
                                     {10, "device_configurations", Holds::message, &kNodeDevice, true}};
constexpr MessageForm kNode{kNodeFields};
constexpr FieldForm kAnnotationFields[] = {{1, "tensor_name", Holds::text},
                                           {2, "quant_parameter_tensor_names", Holds::message, &kPair, true}};
constexpr MessageForm kAnnotation{kAnnotationFields};
constexpr FieldForm kGraphFields[] = {{1, "node", Holds::message, &kNode, true},
                                      {2, "name", Holds::text},
                                      {5, "initializer", Holds::message, &kTensor, true},
                                      {10, "doc_string", Holds::text},
                                      {11, "input", Holds::message, &kValue, true},
                                      {12, "output", Holds::message, &kValue, true},
                                      {13, "value_info", Holds::message, &kValue, true},
                                      {14, "quantization_annotation", Holds::message, &kAnnotation, true},
                                      {15, "sparse_initializer", Holds::message, &kSparse, true},
                                      {16, "metadata_props", Holds::message, &kPair, true}};
const MessageForm kGraphForm{kGraphFields};

constexpr FieldForm kTrainingFields[] = {{1, "initialization", Holds::message, &kGraphForm},
                                         {2, "algorithm", Holds::message, &kGraphForm},
                                         {3, "initialization_binding", Holds::message, &kPair, true},
                                         {4, "update_binding", Holds::message, &kPair, true}};
constexpr MessageForm kTraining{kTrainingFields};
constexpr FieldForm kFunctionFields[] = {{1, "name", Holds::text},
                                         {4, "input", Holds::text, nullptr, true},
                                         {5, "output", Holds::text, nullptr, true},
                                         {6, "attribute", Holds::text, nullptr, true},
                                         {7, "node", Holds::message, &kNode, true},
                                         {8, "doc_string", Holds::text},
                                         {9, "opset_import", Holds::message, &kOpset, true},
                                         {10, "domain", Holds::text},
                                         {11, "attribute_proto", Holds::message, &kAttribute, true},
                                         {12, "value_info", Holds::message, &kValue, true},
                                         {13, "overload", Holds::text},
                                         {14, "metadata_props", Holds::message, &kPair, true}};
constexpr MessageForm kFunction{kFunctionFields};
constexpr FieldForm kModelFields[] = {{1, "ir_version", Holds::number},
                                      {2, "producer_name", Holds::text},
                                      {3, "producer_version", Holds::text},
                                      {4, "domain", Holds::text},
                                      {5, "model_version", Holds::number},
                                      {6, "doc_string", Holds::text},
                                      {7, "graph", Holds::message, &kGraphForm},
                                      {8, "opset_import", Holds::message, &kOpset, true},
                                      {14, "metadata_props", Holds::message, &kPair, true},
                                      {20, "training_info", Holds::message, &kTraining, true},
                                      {25, "functions", Holds::message, &kFunction, true},
                                      {26, "configuration", Holds::message, &kDevice, true}};
constexpr MessageForm kModel{kModelFields};

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead == 0) return false;
    const size_t more = lead < 0x80                   ? 0
                        : lead >= 0xC2 && lead < 0xE0 ? 1
                        : lead >= 0xE0 && lead < 0xF0 ? 2
                        : lead >= 0xF0 && lead < 0xF5 ? 3
                                                      : 4;
    if (more == 4 || i + more >= text.size()) return false;
    uint32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
    for (size_t k = 1; k <= more; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      if ((byte & 0xC0) != 0x80) return false;
      point = point << 6 | (byte & 0x3Fu);
    }
    const bool longer = (more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10FFFF));
    if (longer || (point >= 0xD800 && point < 0xE000)) return false;
    i += more + 1;
  }
  return true;
}

class WireCheck {
 public:
  explicit WireCheck(CheckContext& context) : context_(context) {}

  void message(std::string_view bytes, const MessageForm& form, int depth = 0) {
    constexpr int kDeepest = 256;  // graphs and types in each other; each level is a call of this function
    if (depth > kDeepest) {
      context_.refuse(Rule::nesting, Code::limit, here(), fmt::format("messages are nested deeper than {}", kDeepest));
      return;
    }
    wire::Reader r(bytes);
    wire::Field f;
    std::vector<std::pair<const FieldForm*, size_t>> seen;
    while (r.next(f)) {
      const auto known = std::find_if(form.fields.begin(), form.fields.end(),
                                      [&](const FieldForm& k) { return k.number == f.number; });
      if (known == form.fields.end()) continue;  // of a later standard
      auto count = std::find_if(seen.begin(), seen.end(), [&](const auto& s) { return s.first == &*known; });
      if (count == seen.end()) count = seen.insert(count, {&*known, 0});
      path_.push_back({&*known, count->second++});
      field(f, *known, depth);
      path_.pop_back();
    }
    if (!r.ok()) context_.tell(Rule::wire, here(), r.fault());
  }

 private:
  struct Step {
    const FieldForm* field;
    size_t index;
  };

  static bool fits(Kind kind, Holds holds) {
    switch (holds) {
      case Holds::number:
        return kind == Kind::varint;
      case Holds::real:
        return kind == Kind::fixed32;
      case Holds::numbers:
        return kind == Kind::varint || kind == Kind::bytes;
      case Holds::reals:
        return kind == Kind::fixed32 || kind == Kind::bytes;
      case Holds::doubles:
        return kind == Kind::fixed64 || kind == Kind::bytes;
      default:
        return kind == Kind::bytes;
    }
  }

  void field(const wire::Field& f, const FieldForm& known, int depth) {
    if (!fits(f.kind, known.holds)) {
      context_.tell(Rule::wire, here(), "the field is not of the kind that onnx.proto says");
      return;
    }
    const auto nothing = [](uint64_t) {};
    bool whole = true;
    if (known.holds == Holds::message && known.message) message(f.bytes, *known.message, depth + 1);
    if (known.holds == Holds::numbers) whole = wire::each_number(f, 0, nothing);
    if (known.holds == Holds::reals) whole = f.bytes.size() % 4 == 0;
    if (known.holds == Holds::doubles) whole = f.bytes.size() % 8 == 0;
    if (!whole) context_.tell(Rule::wire, here(), "its numbers are cut off");
    if (known.holds == Holds::text && !is_utf8(f.bytes))
      context_.tell(Rule::text, here(), "the text is not UTF-8, or has a zero byte in it");
  }

  /// The path in the names of onnx.proto: "graph.node[3].attribute[0].t".
  Site here() const {
    std::string out;
    for (const Step& s : path_) {
      out += fmt::format("{}{}", out.empty() ? "" : ".", s.field->name);
      if (s.field->repeated) out += fmt::format("[{}]", s.index);
    }
    return Site::of(std::move(out));
  }

  CheckContext& context_;
  std::vector<Step> path_;
};

}  // namespace

std::string_view field_name(MessageKind kind, uint32_t number) {
  constexpr const MessageForm* kForms[] = {&kModel,     &kFunction, &kGraphForm, &kNode,
                                           &kAttribute, &kValue,    &kTensor,    &kTypeForm};
  for (const FieldForm& f : kForms[static_cast<size_t>(kind)]->fields)
    if (f.number == number) return f.name;
  return {};
}

void check_wire(CheckContext& context, std::string_view model) { WireCheck(context).message(model, kModel); }

}  // namespace nnex::onnx_format
