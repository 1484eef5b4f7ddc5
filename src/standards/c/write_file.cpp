// The text of the files: the header, and constants.

#include <algorithm>
#include <filesystem>

#include "standards/c/write.h"

namespace nnex::c_format {
namespace {

/// Bytes as the inside of a string literal, from `at` on, about a line of them. Digits after an octal escape of fewer
/// than three letters would belong to it.
std::string literal_line(std::string_view bytes, size_t& at) {
  constexpr size_t kLine = 110;
  std::string line;
  for (; at < bytes.size() && line.size() < kLine; ++at) {
    const auto c = static_cast<unsigned char>(bytes[at]);
    const bool digit_follows = at + 1 < bytes.size() && bytes[at + 1] >= '0' && bytes[at + 1] <= '9';
    if (c == '"' || c == '\\')
      line += '\\', line += static_cast<char>(c);
    else if (c >= ' ' && c < 127 && c != '?')  // of two question marks begin trigraphs
      line += static_cast<char>(c);
    else
      line += digit_follows ? fmt::format("\\{:03o}", c) : fmt::format("\\{:o}", c);
  }
  return line;
}

Status write_weight(const Weight& w, const std::function<Status(std::string_view)>& piece) {
  const Tensor& t = w.content;
  const std::string_view bytes(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  NNEX_TRY(piece(fmt::format("\n/* {}{} */\nstatic const union {{\n  char bytes[{}];\n  {} data[{}];\n}} {} = {{\n",
                             name(t.dtype()), t.shape().text(), bytes.size() + 1, c_type(t.dtype()),
                             std::max<int64_t>(t.count(), 1), w.name)));
  std::string lines;
  for (size_t at = 0; at < bytes.size();) {
    lines += "  \"" + literal_line(bytes, at) + "\"\n";
    if (lines.size() < (size_t{1} << 16)) continue;
    NNEX_TRY(piece(lines));
    lines.clear();
  }
  if (bytes.empty()) lines = "  \"\"\n";
  return piece(lines + "};\n");
}

std::string members(const std::vector<Member>& all, std::string_view before) {
  std::string text;
  for (const Member& m : all)
    text += fmt::format("  {}{} *{}; /* {}{}{} */\n", before, c_type(m.type), m.name, name(m.type), m.shape.text(),
                        m.label == m.name ? "" : fmt::format(": '{}'", comment_text(m.label)));
  return all.empty() ? "  const char *unused; /* C has no empty structs */\n" : text;
}

}  // namespace

std::string header_text(const Written& model) {
  const std::string guard = upper(model.name) + "_H", &n = model.name;
  std::string example;
  for (const Member& m : model.inputs)
    example +=
        fmt::format("     static {} {}_in[{}];\n", c_type(m.type), m.name, std::max<int64_t>(m.shape.count(), 1));
  for (const Member& m : model.outputs)
    example +=
        fmt::format("     static {} {}_out[{}];\n", c_type(m.type), m.name, std::max<int64_t>(m.shape.count(), 1));
  std::string in, out;
  for (const Member& m : model.inputs) in += (in.empty() ? "" : ", ") + m.name + "_in";
  for (const Member& m : model.outputs) out += (out.empty() ? "" : ", ") + m.name + "_out";
  return fmt::format(
      R"(/* A neural network, written by nnex: {steps} steps, {weights} bytes of constants.

     static double arena[{upper}_ARENA_BYTES / sizeof(double)];
{example}     const {name}_inputs inputs = {{{in}}};
     const {name}_outputs outputs = {{{out}}};
     if ({name}_run(&inputs, &outputs, arena) != 0) ...

   Arrays are dense, the last axis runs fastest. The arena needs no content and keeps none; runs that have an arena and
   outputs each of their own may go on at once. Link with -lm. */
#ifndef {guard}
#define {guard}

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Bytes of the arena; it is aligned as double and int64_t are. */
#define {upper}_ARENA_BYTES {arena}

typedef struct {{
{inputs}}} {name}_inputs;

typedef struct {{
{outputs}}} {name}_outputs;

/* 0: outputs are made. 1: a pointer is null. 2: an input has an index that is outside what it points into; outputs are
   made in part. No two arrays may overlap. */
int {name}_run(const {name}_inputs *inputs, const {name}_outputs *outputs, void *arena);

#ifdef __cplusplus
}}
#endif

#endif
)",
      fmt::arg("steps", model.steps), fmt::arg("weights", model.weight_bytes), fmt::arg("upper", upper(n)),
      fmt::arg("example", example), fmt::arg("name", n), fmt::arg("in", model.inputs.empty() ? "0" : in),
      fmt::arg("out", model.outputs.empty() ? "0" : out), fmt::arg("guard", guard),
      fmt::arg("arena", model.arena_bytes), fmt::arg("inputs", members(model.inputs, "const ")),
      fmt::arg("outputs", members(model.outputs, "")));
}

Status Written::source(const std::string& header_name, const std::function<Status(std::string_view)>& piece) const {
  NNEX_TRY(
      piece(fmt::format("/* Written by nnex; {} says how it is called. */\n#include \"{}\"\n\n#include <math.h>\n\n"
                        "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
                        "#error \"the constants are of little-endian machines\"\n#endif\n",
                        comment_text(header_name), header_name)));
  NNEX_TRY(piece(library));
  for (const Weight& w : weights) NNEX_TRY(write_weight(w, piece));
  return piece(functions);
}

std::string header_path(const std::string& path) { return path.substr(0, path.size() - 1) + "h"; }

Status save_source(const Written& model, const std::string& path, Existing existing) {
  const std::string beside = header_path(path);
  NNEX_ASSIGN(FileWriter file, FileWriter::create(path, existing));
  NNEX_ASSIGN(FileWriter header, FileWriter::create(beside, existing));
  NNEX_TRY(header.write(header_text(model)));
  NNEX_TRY(model.source(std::filesystem::path(beside).filename().string(),
                        [&](std::string_view bytes) { return file.write(bytes); }));
  NNEX_TRY(file.sync());
  NNEX_TRY(header.commit());
  return file.commit();
}

}  // namespace nnex::c_format
