#include "standards/onnx/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_set>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "graph/symbols.h"
#include "ops/codecs.h"
#include "standards/onnx/check_context.h"
#include "standards/onnx/export_graph.h"
#include "standards/onnx/import_function.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

using wire::Message;

/// The last IR version whose initializers are inputs as well.
constexpr int64_t kListsInitializers = 3;

/// The IR version that came with an opset.
int64_t ir_of(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kVersions[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
                                                       {15, 8},  {12, 7},  {11, 6},  {10, 5},  {9, 4}};
  for (const auto& [since, ir] : kVersions)
    if (opset >= since) return ir;
  return kListsInitializers;
}

/// The IR version that brought a type; 0: all that are written have it.
int64_t ir_of(DType type) {
  switch (type) {
    case DType::bf16:
      return 4;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
      return 9;
    case DType::i4:
    case DType::u4:
      return 10;
    case DType::f4e2m1:
      return 11;
    case DType::f8e8m0:
      return 12;
    case DType::i2:
    case DType::u2:
      return 13;
    default:
      return 0;
  }
}

Message extent_message(const Dim& d, bool exact) {
  Message m;
  if (d.is_number())
    m.integer(DimensionProto::dim_value, d.value());
  else if (const auto symbols = d.symbols();
           !d.has_unknown() && (exact || (symbols.size() == 1 && symbols[0] == d.text())))
    m.bytes(DimensionProto::dim_param, d.text());
  return m;
}

}  // namespace

Result<Message> tensor_message(const Tensor& t, const std::string& tensor_name, std::vector<Tensor>& kept) {
  const int64_t number = onnx_number(t.dtype());
  if (number == 0) return failure(Code::unsupported, "ONNX has no element type {}", name(t.dtype()));
  Message m;
  m.integers(TensorProto::dims, std::span(t.shape().begin(), t.shape().end()));
  m.integer(TensorProto::data_type, number);
  if (!tensor_name.empty()) m.bytes(TensorProto::name, tensor_name);
  if (t.dtype() == DType::str) {
    for (const std::string& s : t.strings()) m.bytes(TensorProto::string_data, s);
  } else {
    kept.push_back(t);
    m.borrowed(TensorProto::raw_data, {reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())});
  }
  return m;
}

Message type_message(const Type& type, bool exact) {
  Message m;
  switch (type.kind) {
    case Kind::tensor:
    case Kind::sparse: {
      Message tensor;
      tensor.integer(TensorTypeProto::elem_type, onnx_number(type.dtype));
      if (type.dims) {
        Message shape;
        for (const Dim& d : *type.dims) shape.message(TensorShapeProto::dim, extent_message(d, exact));
        tensor.message(TensorTypeProto::shape, std::move(shape));
      }
      m.message(type.kind == Kind::sparse ? TypeProto::sparse_tensor_type : TypeProto::tensor_type, std::move(tensor));
      break;
    }
    case Kind::map: {
      Message map;
      map.integer(MapTypeProto::key_type, onnx_number(type.dtype));
      map.message(MapTypeProto::value_type, type.element ? type_message(*type.element, exact) : Message());
      m.message(TypeProto::map_type, std::move(map));
      break;
    }
    case Kind::sequence:
    case Kind::optional: {
      Message of;
      of.message(ElementTypeProto::elem_type, type.element ? type_message(*type.element, exact) : Message());
      m.message(type.kind == Kind::sequence ? TypeProto::sequence_type : TypeProto::optional_type, std::move(of));
      break;
    }
    case Kind::unknown:
      break;
  }
  return m;
}

// ---- Names

std::string GraphWriter::unique(std::string wanted) {
  if (taken_.insert(wanted).second) return wanted;
  int& last = suffixes_[wanted];
  while (true)
    if (std::string name = fmt::format("{}_{}", wanted, ++last); taken_.insert(name).second) return name;
}

const std::string& GraphWriter::name_of(ValueId v) const {
  static const std::string kNone;
  const auto it = names_.find(v.n);
  return v.valid() && it != names_.end() ? it->second : kNone;
}

/// Inputs and results keep their names; of the others whoever comes first. Names are unique in the whole model, blocks
/// included: nothing hides an outer value.
void GraphWriter::name_values() {
  const auto name = [&](ValueId v, const std::string& otherwise) {
    if (!v.valid() || names_.count(v.n)) return;
    names_[v.n] = unique(graph_[v].name.empty() ? otherwise : graph_[v].name);
  };
  for (size_t i = 0; i < graph_.inputs().size(); ++i) name(graph_.inputs()[i], fmt::format("input_{}", i));
  for (size_t i = 0; i < graph_.outputs().size(); ++i) name(graph_.outputs()[i], fmt::format("output_{}", i));
  name_block(kMain);
}

void GraphWriter::name_block(BlockId block) {
  const auto name = [&](ValueId v, std::string_view otherwise) {
    if (!v.valid() || names_.count(v.n)) return;
    names_[v.n] = unique(graph_[v].name.empty() ? fmt::format("{}_{}", otherwise, names_.size()) : graph_[v].name);
  };
  for (ValueId v : graph_[block].params) name(v, "item");
  for (NodeId id : graph_.order(block)) {
    const Node& n = graph_[id];
    if (const KeptNode* kept = kept_.first(id))
      for (const OwnName& v : kept->in)
        if (v.value.valid() && graph_[v.value].is_constant()) name(v.value, "constant");
    for (ValueId v : n.in)
      if (v.valid() && graph_[v].is_constant()) name(v, "constant");
    for (ValueId v : n.out) name(v, n.custom ? std::string_view(n.custom->name) : n.op->name);
    for (BlockId inner : n.blocks) name_block(inner);
  }
  for (ValueId v : graph_[block].results) name(v, "result");
}

/// Whose name the author's is where several nodes came from one: that of the one which is the operator that the
/// author's was, else of the first. Nodes that stay as the file has them keep theirs in any case.
void GraphWriter::name_nodes() {
  const auto operator_of = [&](NodeId id) {
    const Node& n = graph_[id];
    if (n.custom) return n.custom->name;
    const auto said = this->said(n);
    return said.ok() ? said->op : std::string();
  };
  const auto is_authors = [&](NodeId id) { return graph_.place_of(id).ends_with("(" + operator_of(id) + ")"); };
  std::unordered_set<Where> settled;
  for (NodeId id : graph_.order_with_blocks()) {
    const Node& n = graph_[id];
    if (const KeptNode* kept = kept_.first(id); kept && !graph_.place_of(id).empty())
      node_names_.insert(std::string(field_text(kept->own->message, NodeProto::name)));
    if (kept_.has(id) || n.where == 0 || settled.count(n.where)) continue;
    if (!n.custom && (is_absorbed(graph_, n) || is_only_laid_out(n))) continue;
    const auto [at, fresh] = named_.try_emplace(n.where, id);
    if (fresh) continue;
    if (is_authors(at->second))
      settled.insert(n.where);
    else if (is_authors(id))
      at->second = id, settled.insert(n.where);
  }
}

/// The author's name of a node, as readers put it into the node's place.
std::string GraphWriter::node_name(NodeId id) {
  const auto named = named_.find(graph_[id].where);
  if (named == named_.end() || !(named->second == id)) return {};
  const std::string& place = graph_.place_of(id);
  const size_t begin = place.find('\''), end = begin == std::string::npos ? begin : place.find('\'', begin + 1);
  if (place.rfind("node ", 0) != 0 || end == std::string::npos) return {};
  std::string name = place.substr(begin + 1, end - begin - 1);
  return node_names_.insert(name).second ? name : std::string();
}

// ---- The model

Status GraphWriter::check() const {
  if (!graph_.states.empty())
    return failure(Code::unsupported, "state '{}' is kept from run to run; an ONNX model keeps nothing",
                   graph_.states[0].label);
  for (ValueId v : graph_.inputs()) {
    const Type& t = graph_[v].type;
    const bool typed = t.kind != Kind::unknown && (!t.is_tensor() || onnx_number(t.dtype) != 0);
    if (!typed) return failure(Code::unsupported, "input '{}' is {}; ONNX has no such type", graph_[v].name, t.text());
  }
  return {};
}

void GraphWriter::need(std::string_view domain, int version) {
  int64_t& now = opsets_[std::string(domain)];
  now = std::max<int64_t>(now, version);
}

void GraphWriter::need_type(const Type& type) {
  if (type.element) need_type(*type.element);
  if (type.kind == Kind::sparse) ir_ = std::max<int64_t>(ir_, 6);
  if (type.kind == Kind::optional) ir_ = std::max<int64_t>(ir_, 8);
  ir_ = std::max(ir_, ir_of(type.dtype));
}

Message GraphWriter::value_info(const std::string& name, const Type& type, bool exact) {
  Message m;
  m.bytes(ValueInfoProto::name, name);
  need_type(type);
  const bool typed = type.kind != Kind::unknown && (!type.is_tensor() || onnx_number(type.dtype) != 0);
  if (typed) m.message(ValueInfoProto::type, type_message(type, exact));
  if (const auto doc = graph_.meta.value_docs.find(name); doc != graph_.meta.value_docs.end())
    m.bytes(ValueInfoProto::doc_string, doc->second);
  return m;
}

Status GraphWriter::initializer(const ValueDef& def, const std::string& name, Message& to) {
  listed_.push_back(value_info(name, type_of(def.constant), false));
  if (const SparseTensor* s = def.constant.sparse()) {
    Message m;
    NNEX_ASSIGN(Message values, tensor_message(s->values, name, out_.kept));
    NNEX_ASSIGN(Message indices, tensor_message(s->indices, "", out_.kept));
    m.message(SparseTensorProto::values, std::move(values));
    m.message(SparseTensorProto::indices, std::move(indices));
    m.integers(SparseTensorProto::dims, std::span(s->shape.begin(), s->shape.end()));
    to.message(GraphProto::sparse_initializer, std::move(m));
    return {};
  }
  const Tensor* t = def.constant.tensor();
  if (!t) return failure(Code::unsupported, "constant '{}' is a {}; ONNX stores tensors", name, def.constant.text());
  const auto doc = graph_.meta.node_docs.find(name);  // of a node that was a constant
  const auto documented = [&](Message m) {
    if (doc != graph_.meta.node_docs.end()) m.bytes(TensorProto::doc_string, doc->second);
    return m;
  };
  if (!external_.takes(*t)) {
    NNEX_ASSIGN(Message m, tensor_message(*t, name, out_.kept));
    m = documented(std::move(m));
    to.message(GraphProto::initializer, std::move(m));
    return {};
  }
  Message m;
  m.integers(TensorProto::dims, std::span(t->shape().begin(), t->shape().end()));
  m.integer(TensorProto::data_type, onnx_number(t->dtype()));
  m.bytes(TensorProto::name, name);
  external_.place(*t, m);
  m = documented(std::move(m));
  to.message(GraphProto::initializer, std::move(m));
  return {};
}

/// Constants of all blocks are the main graph's: inner ones may read them.
Status GraphWriter::initializers(Message& to) {
  for (const auto& [n, name] : names_) {
    const ValueDef& def = graph_[ValueId{n}];
    if (!def.is_constant() || as_nodes_.count(n) || !(all_used_ || used_.count(n))) continue;
    NNEX_TRY(initializer(def, name, to));
    ++out_.initializers;
  }
  return absorbed_constants(to);
}

void GraphWriter::identity(ValueId from, const std::string& to_name, Message& to) {
  Message m;
  m.bytes(NodeProto::input, name_of(from));
  m.bytes(NodeProto::output, to_name);
  m.bytes(NodeProto::op_type, "Identity");
  to.message(GraphProto::node, std::move(m));
  const Type type = type_of_value(from);
  std::vector<BrokenForm> broken;
  if (const Form* form = first_form("", "Identity", {{&type}, {&type}, {}}, broken)) need("", form->since);
}

/// Names of a block's results. What the block itself has not, or gives twice, passes through an Identity.
Result<std::vector<std::string>> GraphWriter::results(BlockId id, bool main, Message& to) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (ValueId v : graph_[id].results) {
    const ValueDef& def = graph_[v];
    const bool made_here = def.producer.valid() && graph_[def.producer].parent == id;
    const bool fine = made_here || def.param_of == id || (main && def.is_constant());
    const std::string& name = name_of(v);
    used_.insert(v.n);
    if (fine && taken.insert(name).second) {
      out.push_back(name);
      continue;
    }
    const std::string copy = unique(name + "_out");
    identity(v, copy, to);
    out.push_back(copy);
  }
  return out;
}

Result<Message> GraphWriter::block(BlockId id, bool main) {
  Message m;
  if (main) kept_constants(m);
  for (NodeId n : graph_.order(id))
    if (Status s = node(n, m); !s.ok()) refused_->push_back({n, s.error().message()});
  NNEX_ASSIGN(const std::vector<std::string> last, results(id, main, m));
  const std::string& own = graph_.meta.graph_name;
  m.bytes(GraphProto::name, main ? (!options_.name.empty() ? options_.name
                                    : own.empty()          ? "network"
                                                           : own)
                                 : fmt::format("block_{}", id.n));
  if (main && !graph_.meta.graph_doc.empty()) m.bytes(GraphProto::doc_string, graph_.meta.graph_doc);
  if (main) NNEX_TRY(initializers(m));
  for (ValueId v : graph_[id].params) m.message(GraphProto::input, value_info(name_of(v), graph_[v].type, main));
  for (size_t i = 0; i < last.size(); ++i) {
    const ValueDef& def = graph_[graph_[id].results[i]];
    m.message(GraphProto::output, value_info(last[i], def.is_constant() ? type_of(def.constant) : def.type, false));
  }
  std::set<std::string> said(last.begin(), last.end());
  for (NodeId n : graph_.order(id))
    for (ValueId v : graph_[n].out)
      if (options_.texts && v.valid() && (!kept_.has(n) || described_.count(v.n)) && !inside_.count(n.n) &&
          graph_[v].type.kind != Kind::unknown && !said.count(name_of(v)))
        m.message(GraphProto::value_info, value_info(name_of(v), graph_[v].type, false));
  if (main)  // without its type a sparse initializer stands for the dense tensor
    for (const auto& [n, name] : names_)
      if (const nnex::Value& constant = graph_[ValueId{n}].constant;
          constant.sparse() && !said.count(name) && (all_used_ || used_.count(n)))
        m.message(GraphProto::value_info, value_info(name, type_of(constant), false));
  if (main && options_.opset > 0 && ir_version(options_.opset) <= kListsInitializers)
    for (Message& input : listed_) m.message(GraphProto::input, std::move(input));
  return m;
}

int64_t GraphWriter::ir_version(int64_t opset) const {
  const int64_t functions = graph_.functions.empty() ? 0 : std::min(graph_.meta.ir_version, kNewestIr);
  const int64_t external = options_.external.empty() ? 0 : kListsInitializers + 1;
  return std::max({ir_, options_.ir > 0 ? std::min(options_.ir, kNewestIr) : ir_of(opset), functions, external});
}

Message GraphWriter::model(Message graph) {
  need("", static_cast<int>(min_opset()));
  const Metadata& meta = graph_.meta;
  for (const auto& [key, function] : graph_.functions) {
    const std::string domain = key.substr(0, key.find(':'));
    const auto known = meta.opsets.find(domain);
    need(domain, known == meta.opsets.end() ? 1 : static_cast<int>(known->second));
  }
  if (options_.opset > 0) opsets_[""] = options_.opset;
  out_.opset = opsets_[""];
  check_opsets();
  check_kept();
  out_.bodies_fit = bodies_fit(graph_, opsets_);
  Message m;
  m.integer(ModelProto::ir_version, ir_version(out_.opset));
  if (options_.texts || !meta.producer.empty())
    m.bytes(ModelProto::producer_name, meta.producer.empty() ? "nnex" : meta.producer);
  if (!meta.producer_version.empty()) m.bytes(ModelProto::producer_version, meta.producer_version);
  if (!meta.domain.empty()) m.bytes(ModelProto::domain, meta.domain);
  if (meta.model_version) m.integer(ModelProto::model_version, meta.model_version);
  if (!meta.doc.empty()) m.bytes(ModelProto::doc_string, meta.doc);
  m.message(ModelProto::graph, std::move(graph));
  for (const auto& [domain, version] : opsets_) {
    Message opset;
    opset.bytes(OperatorSetIdProto::domain, domain);
    opset.integer(OperatorSetIdProto::version, version);
    m.message(ModelProto::opset_import, std::move(opset));
  }
  for (const auto& [key, value] : meta.properties) m.message(ModelProto::metadata_props, entry_message(key, value));
  for (const auto& [key, value] : properties_of(graph_.provenance))
    m.message(ModelProto::metadata_props, entry_message(key, value));
  for (const auto& [key, function] : graph_.functions)
    if (const auto* f = onnx_function(function.get())) m.borrowed(ModelProto::functions, f->message());
  return m;
}

Result<Written> GraphWriter::run(std::vector<Unwritable>& refused) {
  refused_ = &refused;
  NNEX_TRY(check());
  name_values();
  name_nodes();
  NNEX_ASSIGN(Message main, block(kMain, true));
  out_.model = model(std::move(main));
  out_.external = std::move(external_.pieces()), out_.files = external_.files();
  if (!out_.external.empty()) out_.external_name = options_.external;
  return std::move(out_);
}

Result<Written> write_graph(const ir::Graph& graph, const WriteOptions& options, const KeptNodes& kept,
                            std::vector<Unwritable>& refused) {
  return GraphWriter(graph, options, kept).run(refused);
}

/// Writes bytes that may be a mapped file's, whose pages are given back on the way: so a model needs no more memory
/// than a piece, however large it is.
Status write_on(FileWriter& to, std::string_view bytes, const std::set<const MappedFile*>& files) {
  constexpr size_t kPiece = size_t{32} << 20;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
    const std::string_view piece = bytes.substr(0, kPiece);
    NNEX_TRY(to.write(piece));
    for (const MappedFile* file : files)
      if (const std::string_view all = file->bytes();
          piece.data() >= all.data() && piece.data() < all.data() + all.size())
        file->release_pages(static_cast<uint64_t>(piece.data() - all.data()), piece.size());
  }
  return {};
}

Status save_model(const Written& model, const std::string& path, Existing existing) {
  const auto write = [&](FileWriter& to, std::string_view bytes, Status& s) {
    if (s.ok()) s = write_on(to, bytes, model.files);
  };
  NNEX_ASSIGN(FileWriter file, FileWriter::create(path, existing));
  Status s;
  model.model.each([&](std::string_view bytes) { write(file, bytes, s); });
  if (!s.ok()) return s;
  NNEX_TRY(file.sync());
  if (!model.external_name.empty()) {
    const std::filesystem::path beside = std::filesystem::path(path).parent_path() / model.external_name;
    NNEX_ASSIGN(FileWriter data, FileWriter::create(beside.string(), beside_of(existing)));
    for (std::string_view bytes : model.external) write(data, bytes, s);
    if (!s.ok()) return s;
    NNEX_TRY(data.commit());
  }
  return file.commit();
}

}  // namespace nnex::onnx_format
