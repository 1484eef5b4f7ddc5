#include "standards/nnef/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/failure.h"
#include "base/joined.h"
#include "standards/nnef/format.h"
#include "standards/nnef/read_provisional.h"
#include "standards/nnef/tract/reader.h"
#include "standards/nnef/types.h"
#include "standards/nnef/weights.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {
namespace {

constexpr const char* kStructure = "graph.nnef";
constexpr const char* kQuantisation = "graph.quant";

/// A fragment's parameter as the quantisation file sees it.
QuantParameter quant_parameter(const Parameter& p) {
  QuantParameter out{p.name};
  const DeclaredType* type = p.type;
  for (; type->kind == TypeKind::array; type = type->items) ++out.arrays;
  out.type = item_type(type->of);
  out.optional = p.has_default;
  out.tensor = type->kind == TypeKind::tensor && out.arrays == 0;
  out.any = type->of == Of::generic || type->of == Of::unbound || (type->kind != TypeKind::primitive && !out.tensor);
  return out;
}

/// Checks shapes, and notes which tensors the graph's body names, and the fragments that the document has.
class Named : public ShapeChecker {
 public:
  void begin(const GraphHeader& header) override {
    for (const Declaration& d : header.fragments) {
      QuantParameters& parameters = fragments_[d.name];
      for (const Parameter& p : d.parameters) parameters.push_back(quant_parameter(p));
    }
  }
  void assigned(std::string_view name, TensorId id, Tensors&) override { by_name_.emplace(name, id); }
  const TensorInfo* find(std::string_view name, const Tensors& tensors) const {
    auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &tensors[at->second];
  }
  std::optional<QuantParameters> fragment(std::string_view name) const {
    auto at = fragments_.find(name);
    return at == fragments_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::map<std::string_view, QuantParameters> fragments_;  ///< By names in the document.
  std::map<std::string, TensorId, std::less<>> by_name_;
};

}  // namespace

bool is_document(std::string_view text) {
  constexpr std::string_view kFirst = "version";
  while (!text.empty()) {
    if (text.front() == '#')
      text.remove_prefix(std::min(text.find_first_of("\n\f"), text.size()));
    else if (text.front() == ' ' || (text.front() >= '\t' && text.front() <= '\r'))
      text.remove_prefix(1);
    else
      break;
  }
  return text.size() > kFirst.size() && text.substr(0, kFirst.size()) == kFirst &&
         (text[kFirst.size()] == ' ' || (text[kFirst.size()] >= '\t' && text[kFirst.size()] <= '\r'));
}

void check_quant_file(std::string_view quant, std::string_view quant_name, std::string_view document,
                      std::string_view document_name, Faults& faults, std::vector<std::string>& notes,
                      const EvaluateOptions& options) {
  auto file = parse_quant(quant, quant_name);
  if (!file.ok()) return faults.add(std::move(file).error());
  Named named;
  Tensors tensors;
  const Edition edition(document, document_name, options, faults);
  if (!faults.none() || !evaluate(edition.text(), document_name, named, tensors, faults, edition.options())) return;
  QuantContext context;
  context.tensor = [&](std::string_view name) { return named.find(name, tensors); };
  context.fragment = [&](std::string_view name) { return named.fragment(name); };
  check_quant(*file, quant_name, context, faults, notes);
}

namespace {

/// The first fault, with the count of the others; the hint to another dialect where a fault has one.
Error first_of(Faults faults, const std::string& file) {
  const size_t others = faults.count() - 1;
  Error first = std::move(faults).first();
  if (others == 0) return first;
  return std::move(first).during(
      fmt::format("checking '{}' ({} more fault{} found)", file, others, others == 1 ? " was" : "s were"));
}

Result<FileBytes> structure_of(const Container& from) {
  auto text = from.read(kStructure);
  if (text.ok()) return text;
  const std::string there = from.elsewhere(kStructure);
  std::string sentence =
      fmt::format("C1: {}{}", text.error().message(), there.empty() ? "" : fmt::format(" (there is '{}')", there));
  return std::move(text).error().worded(std::move(sentence));
}

/// Records by the tensors they are of.
class RecordTable {
 public:
  explicit RecordTable(const QuantFile& file) {
    for (const QuantRecord& r : file) by_name_.insert_or_assign(r.tensor, &r);
  }
  /// Null: the tensor has none.
  const QuantRecord* find(std::string_view tensor) const {
    const auto at = by_name_.find(tensor);
    return at == by_name_.end() ? nullptr : at->second;
  }

 private:
  std::map<std::string_view, const QuantRecord*> by_name_;
};

Result<QuantFile> records_of(const Container& from) {
  if (!from.has(kQuantisation)) return QuantFile{};
  NNEX_ASSIGN(const FileBytes bytes, from.read(kQuantisation));
  return parse_quant(bytes.bytes, from.place(kQuantisation));
}

/// A variable's file; of the draft's form where the document is of the draft.
Result<Tensor> content_of(const Container& from, std::string_view label, ItemType type, const Ints& extents,
                          const QuantRecord* record, bool provisional) {
  auto content = variable_content(from, label, type, extents, record);
  if (content.ok() || !provisional) return content;
  auto bytes = from.read(tensor_file_name(label));
  if (!bytes.ok()) return content;
  auto old = read_provisional_tensor_file(bytes->bytes, bytes->owner);
  if (!old.ok()) return content;
  return variable_content(*old, type, extents, record);
}

/// The tensor files of a document of tract: labels may begin with a '/' that file names lack.
Result<Tensor> tract_content(const Container& from, std::string_view label) {
  std::string name = tensor_file_name(label);
  if (!from.has(name) && name.front() == '/') name.erase(0, 1);
  auto bytes = from.read(name);
  if (!bytes.ok()) return missing_content(std::move(bytes).error(), from, name);
  auto t = tract_items(bytes->bytes, bytes->owner);
  if (!t.ok()) return std::move(t).error().at(from.place(name));
  return t;
}

Result<Tensor> made_up(std::string_view label, const Ints& extents, uint64_t seed) {
  return seeded_weights({label, label, ItemType::scalar, extents}, seed);
}

Result<ir::Graph> read_tract(const Container& from, const ImportOptions& options) {
  NNEX_ASSIGN(const FileBytes text, structure_of(from));
  TractOptions tract;
  tract.shapes = options.language.shapes;
  NNEX_ASSIGN(tract.records, records_of(from));
  tract.variable = [&](std::string_view label, const Ints& extents) -> Result<Tensor> {
    auto content = tract_content(from, label);
    if (!content.ok() && content.error().code() == Code::unreadable && options.weight_seed)
      return made_up(label, extents, *options.weight_seed);
    return content;
  };
  Faults faults;
  auto graph = import_tract(text.bytes, from.place(kStructure), tract, faults);
  if (!graph) return first_of(std::move(faults), from.place(kStructure));
  return *std::move(graph);
}

/// Notes the variables of a document, each label once, and its parameters.
class Variables : public ShapeChecker {
 public:
  struct One {
    std::string label, name;
    ItemType type;
    Ints extents;
  };
  void begin(const GraphHeader& header) override {
    parameters.assign(header.parameters.begin(), header.parameters.end());
    integers32 = header.integers32;
  }
  void operation(const Operation& op, Tensors& tensors, Faults& faults) override {
    ShapeChecker::operation(op, tensors, faults);
    if (integers32) faults.check(check_integers32(op));
    if (op.declaration->name != "variable" || !faults.none()) return;
    const std::string label(op.arg("label").text());
    if (!labels_.insert(label_key(label)).second) return;
    const TensorInfo& t = tensors[op.results[0].tensor()];
    list.push_back({label, std::string(t.name), t.type, t.extents});
  }
  std::vector<One> list;
  std::vector<std::string> parameters;
  bool integers32 = false;  ///< What the document's extension says.

 private:
  std::set<std::string> labels_;
};

/// The check of a document; its variables go to `sink`.
Status check_text(const Edition& edition, std::string_view file, Faults& faults, std::vector<std::string>& notes,
                  Variables& sink) {
  if (edition.provisional())
    notes.push_back("the document is of the provisional draft of 2017; it was upgraded to 1.0 and checked as that");
  notes.insert(notes.end(), edition.notes().begin(), edition.notes().end());
  if (!faults.none()) return {};
  Tensors tensors;
  const EvaluateOptions options = edition.options();
  evaluate(edition.text(), file, sink, tensors, faults, options);
  for (const auto& [name, extents] : options.shapes)
    if (!sink.parameters.empty() &&
        std::find(sink.parameters.begin(), sink.parameters.end(), name) == sink.parameters.end())
      return failure(Code::invalid_argument, "no external '{}' to give a shape; there are: '{}'", name,
                     joined(sink.parameters, "', '"));
  return {};
}

/// "none of the 2 variables has its tensor file ('w.dat', 'b.dat'): their contents were not checked"
std::string missing_files(const std::vector<std::string>& names, size_t variables) {
  constexpr size_t kShown = 4;
  const std::string shown = joined(std::span(names).first(std::min(kShown, names.size())), "', '");
  const std::string what = names.size() == variables
                               ? fmt::format("none of the {} variables has its tensor file", variables)
                               : fmt::format("{} of the {} variables have no tensor file", names.size(), variables);
  return fmt::format("{} ('{}'{}): their contents were not checked", what, shown, names.size() > kShown ? ", ..." : "");
}

/// Tensor files that are not there.
struct MissingFiles {
  std::vector<Error> errors;
  std::vector<std::string> names;

  void add(Error e, std::string name) { errors.push_back(std::move(e)), names.push_back(std::move(name)); }
  /// A note where the model came without any tensor file, or of a document that came alone (`lone`); else faults.
  void tell(const Container& from, size_t variables, bool lone, Faults& faults, std::vector<std::string>& notes) && {
    if (!names.empty() && (lone || !from.has_ending(tensor_file_name(""))))
      return notes.push_back(missing_files(names, variables));
    for (Error& e : errors) faults.add(std::move(e));
  }
};

/// The tensor files of the variables: those that are there, and which are not. `lone`: of a document that came alone
/// no file need be there.
void check_files(const Container& from, const Variables& variables, const QuantFile& records, bool provisional,
                 bool lone, Faults& faults, std::vector<std::string>& notes) {
  MissingFiles missing;
  const RecordTable by_name(records);
  for (const auto& v : variables.list) {
    auto content = content_of(from, v.label, v.type, v.extents, by_name.find(v.name), provisional);
    if (content.ok() && variables.integers32 && v.type == ItemType::integer) {
      content = as_integers32(*content);
      if (!content.ok())
        content = std::move(content)
                      .error()
                      .at(from.place(tensor_file_name(v.label)))
                      .during(fmt::format("reading the content of variable '{}'", v.label));
    }
    if (content.ok()) continue;
    // A label that leaves the folder is one whether files are there or not.
    if (from.has(tensor_file_name(v.label)) || content.error().code() == Code::invalid_model)
      faults.add(std::move(content).error());
    else
      missing.add(std::move(content).error(), tensor_file_name(v.label));
  }
  std::move(missing).tell(from, variables.list.size(), lone, faults, notes);
}

}  // namespace

Result<ir::Graph> read_nnef(const Container& from, ImportOptions options) {
  if (options.language.dialect == Dialect::tract) return read_tract(from, options);
  NNEX_ASSIGN(const FileBytes text, structure_of(from));
  QuantFile records;
  std::string quant;
  if (from.has(kQuantisation)) {
    NNEX_ASSIGN(const FileBytes bytes, from.read(kQuantisation));
    quant = std::string(bytes.bytes);
    Faults faults;
    std::vector<std::string> notes;
    check_quant_file(quant, from.place(kQuantisation), text.bytes, from.place(kStructure), faults, notes,
                     options.language);
    if (!faults.none()) return std::move(faults).first();
    NNEX_ASSIGN(records, parse_quant(quant, kQuantisation));
  }
  const bool provisional = options.language.dialect == Dialect::any && is_provisional(text.bytes);
  const RecordTable by_name(records);
  options.lowering.variable = [&](const VariableRequest& v) {
    return content_of(from, v.label, v.type, v.extents, by_name.find(v.name), provisional);
  };
  NNEX_ASSIGN(ir::Graph graph, import_document(text.bytes, from.place(kStructure), options));
  if (!records.empty()) graph.provenance.quantization = std::move(quant);
  return graph;
}

Status check_document(std::string_view text, std::string_view file, const EvaluateOptions& options, Faults& faults,
                      std::vector<std::string>& notes) {
  Variables variables;
  return check_text(Edition(text, file, options, faults), file, faults, notes, variables);
}

namespace {

/// `lone`: as check_files() has it.
Status check_container(const Container& from, bool lone, const EvaluateOptions& options, Faults& faults,
                       std::vector<std::string>& notes) {
  NNEX_ASSIGN(const FileBytes text, structure_of(from));
  const std::string file = from.place(kStructure);
  const Edition edition(text.bytes, file, options, faults);
  Variables variables;
  NNEX_TRY(check_text(edition, file, faults, notes, variables));
  if (!faults.none()) return {};
  QuantFile records;
  if (from.has(kQuantisation)) {
    NNEX_ASSIGN(const FileBytes quant, from.read(kQuantisation));
    check_quant_file(quant.bytes, from.place(kQuantisation), text.bytes, file, faults, notes, options);
    if (!faults.none()) return {};
    NNEX_ASSIGN(records, parse_quant(quant.bytes, from.place(kQuantisation)));
  }
  check_files(from, variables, records, edition.provisional(), lone, faults, notes);
  return {};
}

}  // namespace

Status check_model(const Container& from, const EvaluateOptions& options, Faults& faults,
                   std::vector<std::string>& notes) {
  return check_container(from, false, options, faults, notes);
}

Status check_lone_document(const Container& from, const EvaluateOptions& options, Faults& faults,
                           std::vector<std::string>& notes) {
  return check_container(from, true, options, faults, notes);
}

Result<std::optional<ir::Graph>> check_tract(const Container& from, const EvaluateOptions& options, bool lone,
                                             Faults& faults, std::vector<std::string>& notes) {
  NNEX_ASSIGN(const FileBytes text, structure_of(from));
  TractOptions tract;
  tract.shapes = options.shapes;
  auto records = records_of(from);
  if (records.ok())
    tract.records = *std::move(records);
  else
    faults.add(std::move(records).error());
  MissingFiles missing;
  std::set<std::string> labels;
  tract.variable = [&](std::string_view label, const Ints& extents) -> Result<Tensor> {
    const bool first = labels.insert(label_key(label)).second;
    auto content = tract_content(from, label);
    if (content.ok() || content.error().code() != Code::unreadable) return content;
    if (first) missing.add(std::move(content).error(), tensor_file_name(label));
    return made_up(label, extents, 0);
  };
  auto graph = import_tract(text.bytes, from.place(kStructure), tract, faults);
  std::move(missing).tell(from, labels.size(), lone, faults, notes);
  return faults.none() ? std::move(graph) : std::nullopt;
}

Result<std::optional<UpgradedModel>> upgraded_model(const Container& from) {
  NNEX_ASSIGN(const FileBytes text, structure_of(from));
  const std::string file = from.place(kStructure);
  EvaluateOptions options;
  options.dialect = Dialect::any;
  Faults faults;
  const Edition edition(text.bytes, file, options, faults);
  if (!edition.provisional()) return std::optional<UpgradedModel>();
  Variables variables;
  Tensors tensors;
  EvaluateOptions plain = edition.options();
  plain.draft = false;
  if (faults.none() && !evaluate(edition.text(), file, variables, tensors, faults, plain)) {
    Faults left;
    Tensors others;
    ShapeChecker sink;
    if (evaluate(edition.text(), file, sink, others, left, edition.options())) return std::optional<UpgradedModel>();
  }
  if (!faults.none()) return first_of(std::move(faults), file);
  UpgradedModel out;
  out.notes = edition.notes();
  out.model.graph = format_text(edition.text(), file, faults);
  if (!faults.none()) return first_of(std::move(faults), file);
  if (from.has(kQuantisation)) {
    NNEX_ASSIGN(const FileBytes quant, from.read(kQuantisation));
    out.model.quant = std::string(quant.bytes);
  }
  size_t missing = 0;
  std::string first;
  for (const auto& v : variables.list) {
    auto content = content_of(from, v.label, v.type, v.extents, nullptr, true);
    if (content.ok()) {
      out.model.variables.emplace_back(v.label, std::move(content).value());
    } else if (content.error().code() == Code::unreadable) {
      if (missing++ == 0) first = tensor_file_name(v.label);
    } else {
      return std::move(content).error();
    }
  }
  if (missing > 0)
    out.notes.push_back(fmt::format("{} of {} variables came without a tensor file and have none now (first: {})",
                                    missing, variables.list.size(), first));
  return std::optional(std::move(out));
}

}  // namespace nnex::nnef_format
