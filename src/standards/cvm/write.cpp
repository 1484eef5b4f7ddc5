#include "standards/cvm/write.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/failure.h"
#include "base/joined.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "base/unfinished.h"
#include "graph/precision.h"
#include "ops/cvm.h"
#include "standards/cvm/export.h"
#include "standards/cvm/import.h"
#include "standards/cvm/read_params.h"
#include "standards/unwritable.h"
#include "tensor/convert.h"

namespace nnex::cvm_format {
namespace {

class Exporter {
 public:
  explicit Exporter(const ir::Graph& graph) : graph_(graph) {}

  Result<ModelFiles> run() {
    NNEX_TRY(check_graph());
    for (NodeId id : graph_.order()) refuse_unknown(id);
    if (!refused_.empty()) return cannot_say("CVM", graph_, refused_);
    Faults faults;
    bits_ = infer_precision(graph_, {}, faults);
    if (!faults.none()) return unbounded(std::move(faults).first());
    declared_ = graph_.provenance.bits;
    for (uint32_t n = 0; n < graph_.value_count(); ++n)
      if (const ValueDef& v = graph_[ValueId{n}]; v.is_constant() && !v.uses.empty()) read_.insert(v.name);
    const CvmProvenance info = graph_.provenance.cvm.value_or(CvmProvenance());
    widths_ = info.widths;
    if (!info.version.empty()) symbol_.version = info.version;
    symbol_.postprocess = info.postprocess;
    find_operands();
    NNEX_TRY(input());
    for (NodeId id : graph_.order())
      if (Status s = node(id); !s.ok()) {
        if (s.error().code() != Code::unsupported) return std::move(s).error().at(graph_.place_of(id));
        refused_.push_back({id, s.error().message()});
        for (ValueId v : graph_[id].out)
          if (v.valid()) entries_[v.n] = {};  // nothing is written
      }
    if (!refused_.empty()) return cannot_say("CVM", graph_, refused_);
    for (ValueId v : graph_.outputs()) {
      NNEX_ASSIGN(const Entry head, entry(v));
      symbol_.heads.push_back(head);
    }
    NNEX_TRY(pending_constants(ValueId{static_cast<uint32_t>(graph_.value_count())}));
    finish_lists();
    return files();
  }

 private:
  /// What CVM lacks whatever the numbers are: the operator, or values of another type.
  void refuse_unknown(NodeId id) {
    const Node& node = graph_[id];
    const ValueId y = first_output(node);
    if (!y.valid() || !(stored(y) == y)) return;  // nobody reads it, or a filter
    if (!has_spelling(node.op->name))
      return refused_.push_back({id, fmt::format("{}: CVM has no such operator", node.op->name)});
    for (ValueId v : node.out)
      if (v.valid() && (graph_[v].type.dtype != DType::i32 || !concrete(graph_[v].type)))
        return refused_.push_back({id, fmt::format("{}: its result is {}; CVM has i32 of known extents", node.op->name,
                                                   concrete(graph_[v].type) ? std::string(name(graph_[v].type.dtype))
                                                                            : graph_[v].type.text())});
  }

  /// The fault of bits that nobody has promised, with what would promise them. The model is sound, but no CVM's.
  Error unbounded(const Error& found) const {
    Error fault = Error(Code::unsupported, found.message()).at(found.where()).helped_by(found.remedies());
    const ValueId data = graph_.inputs()[0];
    for (const Use& u : graph_[data].uses)
      if (u.node.valid() && (graph_[u.node].op->name == "cvm_clip" || graph_[u.node].op->name == "clamp")) return fault;
    return std::move(fault).during(
        "finding the bits of every value; the input may be any i32: a Clip to -(2^(p-1) - 1)..2^(p-1) - 1 right behind "
        "it says that it has p bits");
  }

  Status check_graph() const {
    if (graph_.inputs().size() != 1 || !graph_.states.empty())
      return failure(Code::unsupported, "a CVM model has one input; the graph has {}", graph_.inputs().size());
    NNEX_TRY(needs_numbers("CVM", graph_));
    const Type& data = graph_[graph_.inputs()[0]].type;
    if (data.dtype != DType::i32 || !concrete(data))
      return failure(Code::unsupported, "the input is {}; CVM has i32 of known extents{}", data.text(),
                     is_int(data.dtype) && data.dtype != DType::i32
                         ? " (an input of i32 behind which a Clip promises the bits, and a Cast, can be said)"
                         : "");
    return {};
  }

  /// The clip that the reader puts before everything says how many bits the input has.
  Status input() {
    const ValueId data = graph_.inputs()[0];
    int64_t bits = 32;
    ValueId clipped = data;
    if (graph_.read_once(data)) {
      const Node& reader = graph_[graph_[data].uses[0].node];
      if (reader.op->name == "cvm_clip") {
        bits = graph_.attrs<CvmClipAttrs>(reader).precision;
        clipped = reader.out[0];
      }
    }
    names_.insert("data");
    NNEX_TRY(pending_constants(data));
    if (const Tensor* initial = initial_input(graph_)) NNEX_TRY(store("data", *initial, bits));
    entries_[clipped.n] = add_node({"data", "", {}}, {*concrete(graph_[data].type)}, bits, "{}");
    return {};
  }

  Entry add_node(SymbolNode node, std::vector<Shape> outputs, int64_t bits, std::string attrs) {
    symbol_.nodes.push_back(std::move(node));
    symbol_.op_attrs.push_back(std::move(attrs));
    first_.push_back(static_cast<int64_t>(symbol_.shapes.size()));
    for (const Shape& s : outputs) {
      symbol_.shapes.push_back(s.rank() == 0 ? Ints{1} : Ints(s.begin(), s.end()));
      precision_.push_back(bits);
    }
    return {static_cast<int64_t>(symbol_.nodes.size()) - 1, 0};
  }

  std::string free_name(std::string wanted) {
    if (wanted.empty()) wanted = fmt::format("param{}", symbol_.nodes.size());
    std::string name = wanted;
    for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  Status variable(ValueId v) {
    const ValueDef& def = graph_[v];
    const Tensor& t = *def.constant.tensor();
    if (t.dtype() != DType::i32 && t.dtype() != DType::i8)
      return failure(Code::unsupported, "constant '{}' is {}; CVM has i32", def.name, name(t.dtype()));
    const int64_t bits = bits_[v.n];
    const std::string name = free_name(def.name);
    entries_[v.n] = add_node({name, "", {}}, {t.shape()}, bits, "{}");
    return store(name, t.reshaped(Shape(symbol_.shapes.back())), bits);
  }

  /// Into the params file: as bytes or as words, as the model's own file had the parameter.
  Status store(const std::string& name, const Tensor& t, int64_t bits) {
    const auto known = widths_.find(name);
    const int64_t width = known == widths_.end() ? usual_width(bits) : known->second;
    const DType as = width == 8 && (bits <= 8 || fits_bytes(t)) ? DType::i8 : DType::i32;
    NNEX_ASSIGN(Tensor stored, t.dtype() == as ? t.aligned_copy() : convert(t, as));
    params_.push_back({name, std::move(stored)});
    return {};
  }
  static bool fits_bytes(const Tensor& t) {
    for (int64_t i = 0; i < t.count(); ++i)
      if (const int64_t x = int_at(t, i); x < -128 || x > 127) return false;
    return true;
  }

  /// The first output that somebody reads; invalid: there is none.
  static ValueId first_output(const Node& node) {
    const auto first = std::find_if(node.out.begin(), node.out.end(), [](ValueId v) { return v.valid(); });
    return first == node.out.end() ? ValueId{} : *first;
  }

  /// Constants that operators of CVM have as inputs, or that are heads: others become attributes.
  void find_operands() {
    for (ValueId v : graph_.outputs()) operands_.insert(stored(v).n);
    for (NodeId id : graph_.order()) {
      const ValueId y = first_output(graph_[id]);
      if (!y.valid() || !(stored(y) == y)) continue;  // a filter
      NodeExport n{graph_, graph_[id]};
      if (!export_spelling(n).ok()) continue;  // fails again where it is written
      for (ValueId v : n.in)
        if (v.valid()) operands_.insert(stored(v).n);
    }
  }

  /// Named constants that the graph has before value `before`, in its order: a file that is read and written keeps the
  /// order of its nodes. A parameter of such a file is written though nobody reads it.
  Status pending_constants(ValueId before) {
    for (; next_constant_ < before.n; ++next_constant_) {
      const ValueDef& def = graph_[ValueId{next_constant_}];
      const Tensor* t = def.constant.tensor();
      const bool read = operands_.count(next_constant_) > 0;
      const bool own = declared_.count(def.name) && !read_.count(def.name) && !names_.count(def.name);
      if (t && (t->dtype() == DType::i32 || t->dtype() == DType::i8) && !def.name.empty() && (read || own) &&
          !entries_.count(next_constant_))
        NNEX_TRY(variable(ValueId{next_constant_}));
    }
    return {};
  }

  /// The constant of bytes whose numbers v is; else v.
  ValueId stored(ValueId v) const {
    const Node* producer = graph_.producer(v);
    if (!producer || producer->op->name != "cast") return v;
    const Tensor* t = graph_[producer->in[0]].constant.tensor();
    return t && t->dtype() == DType::i8 ? producer->in[0] : v;
  }

  Result<Entry> entry(ValueId v) {
    v = stored(v);
    auto it = entries_.find(v.n);
    if (it == entries_.end()) {
      NNEX_ASSERT(graph_[v].is_constant());
      NNEX_TRY(variable(v));
      it = entries_.find(v.n);
    }
    return it->second;
  }

  Status node(NodeId id) {
    const Node& node = graph_[id];
    const ValueId y = first_output(node);
    if (!y.valid()) return {};                                // nobody reads it
    if (entries_.count(y.n) || !(stored(y) == y)) return {};  // the input's clip, a filter
    NNEX_TRY(pending_constants(y));
    NodeExport n{graph_, node};
    NNEX_TRY(export_spelling(n));
    SymbolNode out{graph_[y].name, n.op, {}};
    if (out.name.empty()) {
      nameless_.insert(symbol_.nodes.size());
      out.name = fmt::format("{}_{}", n.op, symbol_.nodes.size());
    }
    for (size_t i = 0; i < n.in.size(); ++i) {
      if (!n.in[i].valid()) continue;
      ValueId v = n.in[i];
      NNEX_ASSIGN(Entry from, input_of(n, i, v));
      out.inputs.push_back(from);
    }
    if (n.alias) {
      entries_[y.n] = out.inputs[0];
      return {};
    }
    std::vector<Shape> shapes;
    for (size_t o = 0; o < node.out.size(); ++o)
      shapes.push_back(node.out[o].valid() ? n.shape(node.out[o]) : unread_shape(n, o));
    const Entry made = add_node(std::move(out), shapes, -1, write_text_map(n.attrs));
    for (size_t o = 0; o < node.out.size(); ++o) {
      if (!node.out[o].valid()) continue;
      entries_[node.out[o].n] = {made.node, static_cast<int64_t>(o)};
      precision_[static_cast<size_t>(first_.back()) + o] = bits_[node.out[o].n];
    }
    return {};
  }

  /// Extents of an output that nobody reads: get_valid_counts alone has two of them.
  static Shape unread_shape(const NodeExport& n, size_t output) {
    if (n.op != "get_valid_counts") return Shape{1};
    const Shape x = n.shape_in(0);
    return output == 0 ? Shape{x[0]} : x;
  }

  /// Where input i of a node lies, reshaped first where the node asks for that.
  Result<Entry> input_of(const NodeExport& n, size_t i, ValueId v) {
    for (const auto& [at, extents] : n.reshapes) {
      if (at != i) continue;
      const Node* producer = graph_.producer(v);
      if (producer && (producer->op->name == "reshape" || producer->op->name == "unsqueeze") &&
          n.shape(producer->in[0]) == Shape(extents)) {
        v = producer->in[0];  // as it was before somebody added axes
        break;
      }
      NNEX_ASSIGN(const Entry from, entry(v));
      return add_node({fmt::format("reshape_{}", symbol_.nodes.size()), "reshape", {from}}, {Shape(extents)},
                      bits_[v.n], write_text_map({{"shape", fmt::format("({},)", joined(extents, ", "))}}));
    }
    return entry(v);
  }

  /// Every entry has storage of its own: no plan of the file's is used to run it here.
  void finish_lists() {
    drop_unread_reshapes();
    symbol_.arg_nodes = Ints{};
    symbol_.node_row_ptr = first_;
    symbol_.node_row_ptr->push_back(static_cast<int64_t>(symbol_.shapes.size()));
    for (size_t i = 0; i < symbol_.nodes.size(); ++i)
      if (symbol_.nodes[i].variable()) symbol_.arg_nodes->push_back(static_cast<int64_t>(i));
    for (size_t i = 0; i < symbol_.shapes.size(); ++i) symbol_.storage_ids.push_back(static_cast<int64_t>(i));
    symbol_.precision = precision_;
    symbol_.dltypes = Texts(symbol_.shapes.size(), "int32");
  }

  /// Axes that were added for the row alone leave reshapes behind that nobody reads.
  void drop_unread_reshapes() {
    std::vector<int64_t> moved(symbol_.nodes.size());
    std::vector<bool> read(symbol_.nodes.size());
    for (const Entry& e : symbol_.heads) read[static_cast<size_t>(e.node)] = true;
    for (const SymbolNode& n : symbol_.nodes)
      for (const Entry& e : n.inputs) read[static_cast<size_t>(e.node)] = true;
    Symbol kept;
    Ints first, precision;
    for (size_t i = 0; i < symbol_.nodes.size(); ++i) {
      moved[i] = static_cast<int64_t>(kept.nodes.size());
      if (!read[i] && symbol_.nodes[i].op == "reshape" && nameless_.count(i)) continue;
      const auto begin = static_cast<size_t>(first_[i]),
                 end = i + 1 < first_.size() ? static_cast<size_t>(first_[i + 1]) : symbol_.shapes.size();
      first.push_back(static_cast<int64_t>(kept.shapes.size()));
      for (size_t e = begin; e < end; ++e) {
        kept.shapes.push_back(std::move(symbol_.shapes[e]));
        precision.push_back(precision_[e]);
      }
      for (Entry& e : symbol_.nodes[i].inputs) e.node = moved[static_cast<size_t>(e.node)];
      kept.nodes.push_back(std::move(symbol_.nodes[i]));
      kept.op_attrs.push_back(std::move(symbol_.op_attrs[i]));
    }
    for (Entry& e : symbol_.heads) e.node = moved[static_cast<size_t>(e.node)];
    symbol_.nodes = std::move(kept.nodes), symbol_.op_attrs = std::move(kept.op_attrs);
    symbol_.shapes = std::move(kept.shapes);
    first_ = std::move(first), precision_ = std::move(precision);
  }

  /// What is written must read: CVM's own rules say the last word.
  Result<ModelFiles> files() const {
    ModelFiles out{write_symbol(symbol_), write_params(params_)};
    auto back = read_model(out.symbol, out.params, nullptr, false);
    if (!back.ok()) return std::move(back).error().during("reading the CVM model back");
    return out;
  }

  const ir::Graph& graph_;
  std::vector<int64_t> bits_;
  Symbol symbol_;
  Ints first_, precision_;  ///< First entry of each node; bits of each entry.
  std::vector<Param> params_;
  std::map<uint32_t, Entry> entries_;  ///< By ValueId.
  std::vector<Unwritable> refused_;
  std::set<std::string> names_;     ///< Of variables.
  std::set<size_t> nameless_;       ///< Nodes of values without a name of the author's.
  DeclaredBits declared_, widths_;  ///< Of the model's own file.
  std::set<uint32_t> operands_;     ///< Constants that become variables.
  std::set<std::string> read_;      ///< Names of constants that somebody reads.
  uint32_t next_constant_ = 0;
};

}  // namespace

Result<ModelFiles> write_model(const ir::Graph& graph) { return Exporter(graph).run(); }

namespace {

/// Both files, into a folder that is there.
Status write_into(const ModelFiles& files, const std::string& folder, Existing existing) {
  NNEX_ASSIGN(FileWriter symbol, FileWriter::create(folder + "/symbol", existing));
  NNEX_ASSIGN(FileWriter params, FileWriter::create(folder + "/params", existing));
  NNEX_TRY(params.write(files.params));
  NNEX_TRY(symbol.write(files.symbol));
  NNEX_TRY(symbol.sync());
  NNEX_TRY(params.commit());
  return symbol.commit();
}

}  // namespace

Status save_files(const ModelFiles& files, std::string folder, bool replace) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code unknown;
  if (std::filesystem::exists(folder, unknown))
    return write_into(files, folder, replace ? Existing::replace_link : Existing::refuse);
  NNEX_ASSIGN(FolderBeside beside, FolderBeside::make(folder));
  NNEX_TRY(write_into(files, beside.path(), Existing::refuse));
  return beside.rename(folder);
}

Status save_model(const ir::Graph& graph, const std::string& folder) {
  NNEX_ASSIGN(const ModelFiles files, write_model(graph));
  return save_files(files, folder, true);
}

}  // namespace nnex::cvm_format
