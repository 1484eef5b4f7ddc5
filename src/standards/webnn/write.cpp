// Programs as text: .webnn files and JavaScript modules.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/joined.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "standards/webnn/program_file.h"
#include "tensor/convert.h"
#include "webnn/interface.h"

namespace nnex::ml {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kAlignment = 64;
constexpr double kExact = 9007199254740992.0;  ///< 2^53

std::string dumped(const Json& j) { return j.dump(-1, ' ', true, Json::error_handler_t::replace); }
std::string in_quotes(std::string_view s) { return dumped(Json(std::string(s))); }

bool in_text(const ProgramOperand& o) { return o.role == OperandState::Role::constant && o.descriptor.shape.empty(); }

/// A number; what JSON lacks is a word.
Json number(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-Infinity" : "Infinity";
  return x;
}
Json number(int64_t i) {
  if (std::abs(static_cast<double>(i)) <= kExact) return i;
  return fmt::format("{}n", i);
}

/// The one element of a constant.
Json element(const ProgramOperand& o) {
  const nnex::Tensor& t = o.content;
  if (is_float(t.dtype())) return number(real_at(t, 0));
  const int64_t i = int_at(t, 0);
  if (t.dtype() == DType::u64 && i < 0) return fmt::format("{}n", static_cast<uint64_t>(i));
  return number(i);
}

Json plain(const AttrValue& v) {
  if (auto* b = std::get_if<bool>(&v)) return *b;
  if (auto* i = std::get_if<int64_t>(&v)) return number(*i);
  if (auto* x = std::get_if<double>(&v)) return number(*x);
  if (auto* s = std::get_if<std::string>(&v)) return *s;
  Json list = Json::array();
  if (auto* l = std::get_if<Ints>(&v))
    for (int64_t i : *l) list.push_back(i);
  if (auto* l = std::get_if<Reals>(&v))
    for (double x : *l) list.push_back(number(x));
  if (auto* l = std::get_if<Texts>(&v))
    for (const std::string& s : *l) list.push_back(s);
  return list;
}

Json described(const ProgramOperand& o) {
  return {{"name", o.name}, {"dataType", name(o.descriptor.dataType)}, {"shape", o.descriptor.shape}};
}

}  // namespace

// ---- Weights

WeightFile::WeightFile(const Program& program) {
  uint64_t at = 0;
  for (const ProgramOperand& o : program.operands) {
    offsets_.push_back(at);
    if (o.role != OperandState::Role::constant || in_text(o)) continue;
    tensors_.emplace_back(at, o.content);
    at += (static_cast<uint64_t>(o.content.bytes()) + kAlignment - 1) / kAlignment * kAlignment;
  }
}

uint64_t WeightFile::size() const {
  return empty() ? 0 : tensors_.back().first + static_cast<uint64_t>(tensors_.back().second.bytes());
}

std::string WeightFile::bytes() const {
  std::string out;
  for (const auto& [offset, t] : tensors_) {
    out.resize(offset);
    out.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  }
  return out;
}

nnex::Status WeightFile::each(const std::function<nnex::Status(std::string_view)>& piece) const {
  uint64_t at = 0;
  for (const auto& [offset, t] : tensors_) {
    NNEX_TRY(piece(std::string(offset - at, '\0')));
    const auto bytes = static_cast<size_t>(t.bytes());
    NNEX_TRY(piece({reinterpret_cast<const char*>(t.data()), bytes}));
    at = offset + bytes;
  }
  return {};
}

bool WeightFile::is_in(const std::string& path) const {
  const auto there = MappedFile::open(path);
  if (!there.ok()) return false;
  std::string_view left = there->bytes();
  const bool same = each([&](std::string_view bytes) -> nnex::Status {
                      if (!left.starts_with(bytes)) return nnex::Error(Code::unreadable, "other bytes");
                      left.remove_prefix(bytes.size());
                      return {};
                    }).ok();
  return same && left.empty();
}

// ---- .webnn

namespace {

class Text {
 public:
  Text(const Program& program, const WeightFile& weights) : program_(program), weights_(weights) {}

  std::string write(const std::string& weights_name) {
    out_ = fmt::format("{{\n\"format\": \"nnex.webnn/1\",\n\"name\": {},\n", in_quotes(program_.name));
    if (!weights_.empty()) out_ += fmt::format("\"weights\": {},\n", in_quotes(weights_name));
    section("inputs", operands(OperandState::Role::input));
    section("constants", operands(OperandState::Role::constant));
    std::vector<std::string> calls;
    for (const ProgramCall& c : program_.calls) calls.push_back(dumped(call(c)));
    section("operations", calls);
    Json outputs = Json::object();
    for (const auto& [name, r] : program_.outputs) outputs[name] = operand(r);
    out_ += fmt::format("\"outputs\": {}\n}}\n", dumped(outputs));
    return std::move(out_);
  }

 private:
  const std::string& operand(Ref r) const { return program_.operands[static_cast<size_t>(r.n)].name; }

  void section(std::string_view name, const std::vector<std::string>& lines) {
    out_ += fmt::format("\"{}\": [", name);
    for (size_t i = 0; i < lines.size(); ++i) out_ += fmt::format("{}\n  {}", i ? "," : "", lines[i]);
    out_ += lines.empty() ? "],\n" : "\n],\n";
  }

  std::vector<std::string> operands(OperandState::Role role) const {
    std::vector<std::string> out;
    for (size_t i = 0; i < program_.operands.size(); ++i) {
      const ProgramOperand& o = program_.operands[i];
      if (o.role != role) continue;
      Json j = described(o);
      if (in_text(o))
        j["data"] = Json::array({element(o)});
      else if (role == OperandState::Role::constant)
        j["offset"] = weights_.offset({static_cast<int32_t>(i)});
      out.push_back(dumped(j));
    }
    return out;
  }

  Json value(const ProgramValue& v) const {
    if (auto* r = std::get_if<Ref>(&v)) return operand(*r);
    if (auto* a = std::get_if<AttrValue>(&v)) return plain(*a);
    Json list = Json::array();
    for (Ref r : std::get<std::vector<Ref>>(v)) list.push_back(operand(r));
    return list;
  }

  Json call(const ProgramCall& c) const {
    Json args = Json::object(), options = Json::object(), results = Json::array();
    if (!c.label.empty()) options["label"] = c.label;
    for (size_t i = 0; i < c.values.size(); ++i)
      if (c.values[i].index() != 0)
        (i < c.method->params.size() ? args : options)[std::string(param_of(*c.method, i).name)] = value(c.values[i]);
    for (Ref r : c.results) results.push_back(operand(r));
    Json j = {{"op", c.method->name}, {"args", args}};
    if (!options.empty()) j["options"] = options;
    j["results"] = results;
    return j;
  }

  const Program& program_;
  const WeightFile& weights_;
  std::string out_;
};

}  // namespace

std::string program_text(const Program& program, const WeightFile& weights, const std::string& weights_name) {
  return Text(program, weights).write(weights_name);
}

// ---- JavaScript

namespace {

constexpr std::string_view kReserved[] = {
    "arguments", "await",    "break",      "builder",  "bytes",       "case",           "catch",      "class",
    "const",     "constant", "context",    "continue", "debugger",    "default",        "delete",     "do",
    "else",      "enum",     "eval",       "export",   "extends",     "false",          "finally",    "for",
    "function",  "if",       "implements", "import",   "in",          "inputs",         "instanceof", "interface",
    "let",       "new",      "null",       "options",  "outputs",     "package",        "private",    "protected",
    "public",    "return",   "static",     "super",    "switch",      "this",           "throw",      "true",
    "try",       "typeof",   "undefined",  "var",      "void",        "weights",        "while",      "with",
    "yield",     "NaN",      "Infinity",   "build",    "loadWeights", "MLGraphBuilder", "globalThis", "URL",
    "fetch",     "process"};

/// An identifier of JavaScript made of any name, unlike all others.
std::string identifier(std::string_view name, std::set<std::string>& taken) {
  std::string out;
  for (char c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += fine ? c : '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(out.begin(), '_');
  std::string unique = out;
  for (int i = 1; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", out, i);
  return unique;
}

/// What a module says of the file beside it; {} is its name in quotes. A page from a disk may read no files.
constexpr std::string_view kFetchWeights =
    "/** The bytes of the weights, which lie beside this module. */\n"
    "export async function loadWeights(url = new URL({}, import.meta.url)) {{\n"
    "  if (url.protocol === 'file:') {{\n"
    "    if (!globalThis.process?.versions?.node)\n"
    "      throw new Error(`${{url}}: a page from a disk may not read files; nnex convert to .js carries the "
    "weights`);\n"
    "    const {{readFile}} = await import('node:fs/promises');\n"
    "    const file = await readFile(url);\n"
    "    return file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);\n"
    "  }}\n"
    "  const response = await fetch(url);\n"
    "  if (!response.ok) throw new Error(`${{url}}: ${{response.status}} ${{response.statusText}}`);\n"
    "  return response.arrayBuffer();\n"
    "}}\n\n";

constexpr uint64_t kMaxCarried = uint64_t{256} << 20;  ///< Bytes of weights in a script.
constexpr size_t kPiece = size_t{3} << 20;             ///< Of them in one string; whole groups of three.

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t held = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < held ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= held ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// The weights within a script, and the function that gives them.
std::string carried(const WeightFile& weights) {
  const std::string bytes = weights.bytes();
  std::string out = "const pieces = [\n";
  for (size_t at = 0; at < bytes.size(); at += kPiece)
    out += fmt::format("'{}',\n", base64(std::string_view(bytes).substr(at, kPiece)));
  return out + fmt::format(
                   "];\n\n"
                   "/** The bytes of the weights. */\n"
                   "async function loadWeights() {{\n"
                   "  const bytes = new Uint8Array({});\n"
                   "  let at = 0;\n"
                   "  for (const piece of pieces) {{\n"
                   "    const text = atob(piece);\n"
                   "    for (let i = 0; i < text.length; ++i) bytes[at++] = text.charCodeAt(i);\n"
                   "  }}\n"
                   "  return bytes.buffer;\n"
                   "}}\n\n",
                   bytes.size());
}

class ModuleText {
 public:
  ModuleText(const Program& program, const WeightFile& weights) : program_(program), weights_(weights) {
    std::set<std::string> taken(std::begin(kReserved), std::end(kReserved));
    for (const ProgramOperand& o : program.operands) names_.push_back(identifier(o.name, taken));
  }

  std::string module(const std::string& weights_name) {
    out_ =
        "// Written by nnex convert. Builds a graph with the Web Neural Network API:\n"
        "//   const context = await navigator.ml.createContext();\n"
        "//   const graph = await build(context);\n\n";
    descriptors("export ");
    if (!weights_.empty()) out_ += fmt::format(kFetchWeights, in_quotes(weights_name));
    build("export ");
    return std::move(out_);
  }

  std::string script(const std::string& script_name) {
    out_ = fmt::format(
        "// Written by nnex convert. Builds a graph with the Web Neural Network API, in pages from a disk too:\n"
        "// <script src=...> loads it, no module and no server needed; then\n"
        "//   const context = await navigator.ml.createContext();\n"
        "//   const graph = await nnexModels[{}].build(context);\n\n"
        "(() => {{\n'use strict';\n\n",
        in_quotes(script_name));
    descriptors("");
    if (!weights_.empty()) out_ += carried(weights_);
    build("");
    out_ += fmt::format(
        "\nconst models = globalThis.nnexModels || (globalThis.nnexModels = {{}});\n"
        "models[{}] = {{name, inputs, outputs, {}build}};\n}})();\n",
        in_quotes(script_name), weights_.empty() ? "" : "loadWeights, ");
    return std::move(out_);
  }

 private:
  void build(std::string_view exported) {
    out_ += fmt::format(
        "/** The compiled graph: a promise of an MLGraph. */\n"
        "{}async function build(context, {{weights, builder = new MLGraphBuilder(context)}} = {{}}) {{\n",
        exported);
    if (!weights_.empty())
      out_ +=
          "  const bytes = weights ?? await loadWeights();\n"
          "  const constant = (dataType, shape, from, to) => builder.constant({dataType, shape}, bytes.slice(from, "
          "to));\n";
    for (size_t i = 0; i < program_.operands.size(); ++i) declare(i);
    for (const ProgramCall& c : program_.calls) call(c);
    std::string outputs;
    for (const auto& [name, r] : program_.outputs)
      outputs += fmt::format("{}{}: {}", outputs.empty() ? "" : ", ", key(name), names_[static_cast<size_t>(r.n)]);
    out_ += fmt::format("  return builder.build({{{}}});\n}}\n", outputs);
  }

  /// A member that is not the prototype: computed keys are always own members.
  static std::string key(std::string_view name) { return fmt::format("[{}]", in_quotes(name)); }

  static std::string descriptor(const ProgramOperand& o) {
    return fmt::format("{{dataType: '{}', shape: [{}]}}", name(o.descriptor.dataType),
                       joined(o.descriptor.shape, ", "));
  }

  void descriptors(std::string_view exported) {
    std::string inputs, outputs;
    for (const ProgramOperand& o : program_.operands)
      if (o.role == OperandState::Role::input) inputs += fmt::format("  {}: {},\n", key(o.name), descriptor(o));
    for (const auto& [name, r] : program_.outputs)
      outputs += fmt::format("  {}: {},\n", key(name), descriptor(program_.operands[static_cast<size_t>(r.n)]));
    out_ += fmt::format("{0}const name = {1};\n{0}const inputs = {{\n{2}}};\n{0}const outputs = {{\n{3}}};\n\n",
                        exported, in_quotes(program_.name), inputs, outputs);
  }

  void declare(size_t i) {
    const ProgramOperand& o = program_.operands[i];
    const std::string_view type = name(o.descriptor.dataType);
    if (o.role == OperandState::Role::input) {
      out_ += fmt::format("  const {} = builder.input({}, {});\n", names_[i], in_quotes(o.name), descriptor(o));
    } else if (in_text(o)) {
      out_ += fmt::format("  const {} = builder.constant('{}', {});\n", names_[i], type, expression(element(o)));
    } else if (o.role == OperandState::Role::constant) {
      const uint64_t from = weights_.offset({static_cast<int32_t>(i)});
      out_ += fmt::format("  const {} = constant('{}', [{}], {}, {});\n", names_[i], type,
                          joined(o.descriptor.shape, ", "), from, from + static_cast<uint64_t>(o.content.bytes()));
    }
  }

  /// JSON as an expression: words of numbers become numbers.
  static std::string expression(const Json& j) {
    if (!j.is_string()) return dumped(j);
    const auto s = j.get<std::string>();
    if (s == "NaN" || s == "Infinity" || s == "-Infinity") return s;
    const bool big = s.size() > 1 && s.back() == 'n' && s.find_first_not_of("-0123456789n") == std::string::npos;
    return big ? s : dumped(j);
  }

  std::string value(const Param& p, const ProgramValue& v) const {
    if (auto* r = std::get_if<Ref>(&v)) return names_[static_cast<size_t>(r->n)];
    if (auto* a = std::get_if<AttrValue>(&v)) {
      const bool words = p.kind == ArgKind::word || p.kind == ArgKind::words || p.kind == ArgKind::data_type;
      return words ? dumped(plain(*a)) : expression(plain(*a));
    }
    std::vector<std::string> items;
    for (Ref r : std::get<std::vector<Ref>>(v)) items.push_back(names_[static_cast<size_t>(r.n)]);
    return fmt::format("[{}]", joined(items, ", "));
  }

  void call(const ProgramCall& c) {
    std::vector<std::string> args, options;
    if (!c.label.empty()) options.push_back(fmt::format("label: {}", in_quotes(c.label)));
    for (size_t i = 0; i < c.values.size(); ++i) {
      const Param& p = param_of(*c.method, i);
      if (i < c.method->params.size())
        args.push_back(value(p, c.values[i]));
      else if (c.values[i].index() != 0)
        options.push_back(fmt::format("{}: {}", p.name, value(p, c.values[i])));
    }
    if (!options.empty()) args.push_back(fmt::format("{{{}}}", joined(options, ", ")));
    std::vector<std::string> results;
    for (Ref r : c.results) results.push_back(names_[static_cast<size_t>(r.n)]);
    const std::string left = c.method->several ? fmt::format("[{}]", joined(results, ", ")) : results[0];
    out_ += fmt::format("  const {} = builder.{}({});\n", left, c.method->name, joined(args, ", "));
  }

  const Program& program_;
  const WeightFile& weights_;
  std::vector<std::string> names_;
  std::string out_;
};

}  // namespace

namespace {

nnex::Status check_in_interface(const Program& program) {
  for (const ProgramOperand& o : program.operands)
    if (!in_interface(o.descriptor.dataType))
      return nnex::Error(Code::unsupported, fmt::format("'{}' is {}; JavaScript's interface has no such type", o.name,
                                                        name(o.descriptor.dataType)));
  return {};
}

}  // namespace

nnex::Result<std::string> module_text(const Program& program, const WeightFile& weights,
                                      const std::string& weights_name) {
  NNEX_TRY(check_in_interface(program));
  return ModuleText(program, weights).module(weights_name);
}

nnex::Result<std::string> script_text(const Program& program, const WeightFile& weights,
                                      const std::string& script_name) {
  NNEX_TRY(check_in_interface(program));
  if (weights.size() > kMaxCarried)
    return nnex::Error(Code::limit, fmt::format("{} bytes of weights; a script carries at most {}: write a .mjs",
                                                weights.size(), kMaxCarried));
  return ModuleText(program, weights).script(script_name);
}

nnex::Status save_program(const Program& program, const std::string& path, Existing existing) {
  const size_t slash = path.rfind('/'), dot = path.rfind('.');
  const size_t from = slash == std::string::npos ? 0 : slash + 1;
  const std::string stem = dot == std::string::npos || dot < from ? path : path.substr(0, dot);
  const WeightFile weights(program);
  if (has_ending(path, ".js")) {
    NNEX_ASSIGN(const std::string text, script_text(program, weights, stem.substr(from)));
    return write_file(path, text, existing);
  }
  const std::string weights_path = stem + ".weights";
  const std::string weights_name = weights_path.substr(from);
  std::string text;
  if (has_ending(path, ".mjs")) {
    NNEX_ASSIGN(text, module_text(program, weights, weights_name));
  } else {
    text = program_text(program, weights, weights_name);
  }
  NNEX_ASSIGN(FileWriter file, FileWriter::create(path, existing));
  NNEX_TRY(file.write(text));
  NNEX_TRY(file.sync());
  if (!weights.empty() && !weights.is_in(weights_path)) {
    NNEX_ASSIGN(FileWriter beside, FileWriter::create(weights_path, beside_of(existing)));
    NNEX_TRY(weights.each([&](std::string_view bytes) { return beside.write(bytes); }));
    NNEX_TRY(beside.commit());
  }
  return file.commit();
}

}  // namespace nnex::ml
