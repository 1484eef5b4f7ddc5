#include "standards/c/write_step.h"

#include "graph/infer.h"
#include "nnex/elements.h"
#include "standards/c/write_library.h"

namespace nnex::c_format {

// ---- Parts

std::string Parts::function(std::string_view kind, bool faults, const std::vector<std::string>& parameters,
                            const std::string& body) {
  std::string text = "(";
  for (size_t i = 0; i < parameters.size(); ++i) text += (i ? ", " : "") + parameters[i];
  text += ") {\n" + body + "}\n";
  auto& name = names_[fmt::format("{}{}{}", kind, faults, text)];
  if (!name.empty()) return name;
  name = fmt::format("{}_{}_{}", prefix_, names_.size(), kind);
  functions_text_ += fmt::format("\nstatic {} {}{}", faults ? "int" : "void", name, text);
  return name;
}

std::string Parts::library(std::string_view name, DType type) {
  const std::string own = library_name(name, type);
  if (!in_library_.insert(own).second) return own;
  for (const std::string_view other : library_needs(name)) library(other, type);
  const std::string mark = upper(own);
  library_text_ += fmt::format("\n#ifndef NNEX_{0}\n#define NNEX_{0}{1}#endif\n", mark, library_source(name, type));
  return own;
}

size_t Parts::weight(const ir::Graph& graph, ValueId v) {
  const auto known = weight_of_.find(v.n);
  if (known != weight_of_.end()) return known->second;
  const size_t at = weight(*graph[v].constant.tensor(), graph[v].name);
  weight_of_.emplace(v.n, at);
  return at;
}

size_t Parts::weight(Tensor content, std::string_view name) {
  const auto bytes = [](const Tensor& t) {
    return std::string_view(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  };
  const size_t hash = std::hash<std::string_view>()(bytes(content));
  for (auto [at, end] = by_content_.equal_range(hash); at != end; ++at) {
    const Tensor& other = weights_[at->second].content;
    if (other.dtype() == content.dtype() && bytes(other) == bytes(content)) return at->second;
  }
  by_content_.emplace(hash, weights_.size());
  weights_.push_back(
      {identifier(fmt::format("{}_w{}_{}", prefix_, weights_.size(), name), "w", taken_), std::move(content)});
  return weights_.size() - 1;
}

// ---- Steps

Shape StepWriter::shape(ValueId v) const {
  if (const Tensor* t = graph_[v].constant.tensor()) return t->shape();
  return concrete(graph_[v].type).value_or(Shape{});
}

DType StepWriter::type(ValueId v) const {
  if (const Tensor* t = graph_[v].constant.tensor()) return t->dtype();
  return graph_[v].type.dtype;
}

Ints StepWriter::numbers(size_t i) {
  if (!given(i)) return {};
  if (const Tensor* t = constant(i)) return ints_of(*t);
  refuse(fmt::format("{}: {} is computed; needed a constant", row(), node_.op->inputs[i].name));
  return {};
}

std::string StepWriter::parameter(Argument argument, std::string name, bool written) {
  parameters_.push_back(fmt::format("{}{} *restrict {}", written ? "" : "const ", c_type(argument.type), name));
  arguments_.push_back(argument);
  return name;
}

std::string StepWriter::read(ValueId v) {
  auto& name = names_[v.n];
  if (!name.empty()) return name;
  Argument a;
  a.type = type(v), a.value = v;
  if (graph_[v].is_constant()) a.kind = Argument::Kind::weight, a.index = parts_.weight(graph_, v);
  return name = parameter(a, fmt::format("in{}", reads_++), false);
}

std::string StepWriter::write(ValueId v) {
  auto& name = names_[v.n];
  if (!name.empty()) return name;
  Argument a;
  a.type = type(v), a.value = v, a.written = true;
  return name = parameter(a, fmt::format("out{}", writes_++), true);
}

std::string StepWriter::scratch(DType type, int64_t count) {
  Argument a;
  a.kind = Argument::Kind::scratch, a.type = type, a.bytes = count * width(type);
  return parameter(a, fmt::format("scratch{}", scratches_++), true);
}

std::string StepWriter::table(Tensor content, std::string_view name) {
  Argument a;
  a.kind = Argument::Kind::weight, a.type = content.dtype(), a.index = parts_.weight(std::move(content), name);
  return parameter(a, fmt::format("table{}", tables_++), false);
}

void StepWriter::refuse(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
}

Step StepWriter::take(std::string_view kind, std::string comment) {
  Step step;
  if (faults_) body_.line("return 1;");
  step.function = parts_.function(kind, faults_, parameters_, body_.text());
  step.arguments = std::move(arguments_), step.faults = faults_, step.comment = std::move(comment);
  return step;
}

const RowEntry* find_row(std::string_view row) {
  for (const auto rows : {moving_rows(), gathering_rows(), reducing_rows(), product_rows(), code_rows(), window_rows(),
                          resize_rows(), recurrent_rows(), class_rows(), order_rows()})
    for (const RowEntry& entry : rows)
      if (entry.name == row) return &entry;
  return nullptr;
}

}  // namespace nnex::c_format
