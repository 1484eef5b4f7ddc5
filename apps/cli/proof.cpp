#include "proof.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "nnex/elements.h"
#include "nnex/file.h"
#include "nnex/inspect.h"
#include "nnex/load.h"
#include "nnex/version.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

Result<Json> hashed(const std::string& file) {
  auto digest = digest_file(file);
  if (!digest.ok()) return std::move(digest).error();
  return Json{{"file", file}, {"bytes", digest->bytes}, {"sha256", digest->sha256}};
}

Result<Json> hashed(const std::vector<std::string>& files) {
  Json out = Json::array();
  for (const std::string& file : files) {
    auto one = hashed(file);
    if (!one.ok()) return one;
    out.push_back(std::move(*one));
  }
  return out;
}

/// The files at a model's path: itself, those of a folder, both of SYMBOL+PARAMS.
std::vector<std::string> files_at(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  if (const size_t plus = path.find('+'); plus != std::string::npos && !fs::exists(path, error))
    return {path.substr(0, plus), path.substr(plus + 1)};
  std::vector<std::string> out;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error)) out.push_back(it->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

/// The SHA-256 of the SHA-256 of all constants that nodes read, in the order in which they do.
std::string constants_digest(const Graph& graph) {
  std::string digests;
  std::vector<NodeId> nodes = graph.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeInfo node = graph.node(nodes[i]).value();
    for (ValueId v : node.inputs) {
      if (!v.valid()) continue;
      const ValueInfo value = graph.value(v).value();
      if (const Tensor* t = value.constant.tensor()) digests += sha256(*t);
    }
    for (BlockId block : node.blocks) {
      const auto inner = graph.nodes(block).value();
      nodes.insert(nodes.end(), inner.begin(), inner.end());
    }
  }
  return sha256(digests);
}

/// How many nodes of each operator there are, those of blocks included.
Json operators_of(const Graph& graph) {
  std::map<std::string, int64_t> counts;
  std::vector<NodeId> nodes = graph.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeInfo node = graph.node(nodes[i]).value();
    if (!node.implied) ++counts[std::string(node.op)];
    for (BlockId block : node.blocks) {
      const auto inner = graph.nodes(block).value();
      nodes.insert(nodes.end(), inner.begin(), inner.end());
    }
  }
  return counts;
}

double max_absolute(const Probe& p) {
  double out = 0;
  for (const ComparedTensor& t : p.outputs) out = std::max(out, t.difference.max_absolute);
  return out;
}

Json output_json(const ComparedTensor& t) {
  const Difference& d = t.difference;
  const bool measured = d.mismatch.empty();  // else NaN, which JSON lacks
  return {{"source", t.a},
          {"written", t.b},
          {"type", t.type},
          {"elements", d.count},
          {"differing", d.differing},
          {"max_absolute", measured ? d.max_absolute : 0},
          {"max_relative", measured ? d.max_relative : 0},
          {"atol", d.atol},
          {"rtol", d.rtol}};
}

}  // namespace

void print_proof(const std::string& source, const std::string& out, const Proof& proof) {
  if (!proof.unproven.empty()) {
    say("{}: not proven: {}\n", out, own_lines(proof.unproven));
    return;
  }
  if (proof.identical) {
    say("{}: the same as {}, field by field and byte by byte of its tensors\n", out, source);
    return;
  }
  int ran = 0;
  double apart = 0;
  for (const Probe& p : proof.probes) {
    if (p.counts && p.outcome == ProbeOutcome::same) ++ran, apart = std::max(apart, max_absolute(p));
    if (!p.counts && p.outcome == ProbeOutcome::differs && !p.note.empty())
      say("{}: note: in the run '{}' {}\n", out, p.name, p.note);
    else if (!p.counts && p.outcome == ProbeOutcome::differs)
      say("{}: note: other answers than {} where inputs are NaN or infinite\n", out, source);
  }
  if (proof.plain)
    say("{}: note: fusing rounds otherwise than {} says, and codes behind it may lie a step apart: both ran without\n",
        out, source);
  say("{}: answers as {} in {} run{}, {}\n", out, source, ran, ran == 1 ? "" : "s",
      apart == 0 ? "number for number" : fmt::format("{:.2g} apart at most", apart));
}

Json proof_json(const Proof& proof) {
  const std::string_view verdict = proof.identical ? "identical" : proof.unproven.empty() ? "same" : "unproven";
  Json j = {{"verdict", verdict}, {"runs", Json::array()}};
  if (!proof.unproven.empty()) j["reason"] = proof.unproven;
  for (const Probe& p : proof.probes) {
    Json run = {{"name", p.name}, {"inputs", p.inputs}, {"outcome", name(p.outcome)}, {"counts", p.counts}};
    run["outputs"] = Json::array();
    for (const ComparedTensor& t : p.outputs) run["outputs"].push_back(output_json(t));
    if (!p.note.empty()) run["note"] = p.note;
    j["runs"].push_back(std::move(run));
  }
  return j;
}

Result<std::vector<std::string>> files_of(const std::string& path, const ModelSource& source, const LoadOptions& load) {
  std::vector<std::string> files = files_at(path);
  auto seen = inspect(source, load);
  if (!seen.ok()) return std::move(seen).error();
  if (std::error_code error; !fs::is_directory(path, error))  // a folder's are among them
    for (const std::string& name : seen->external_files)
      files.push_back((fs::path(path).parent_path() / name).string());
  return files;
}

Result<Json> certificate(const std::string& path, const ModelSource& source, const LoadOptions& load,
                         const std::string& out, const SaveReport& written) {
  auto files = files_of(path, source, load);
  if (!files.ok()) return std::move(files).error();
  auto read = hashed(*files);
  if (!read.ok()) return read;
  auto wrote = hashed(written.files);
  if (!wrote.ok()) return wrote;
  auto graph = load_graph(source, load);
  if (!graph.ok()) return std::move(graph).error();
  Json j = {{"schema", "nnex.conversion/1"}, {"nnex", kVersion},
            {"source", std::move(*read)},    {"constants_sha256", constants_digest(*graph)},
            {"written", std::move(*wrote)},  {"changes", written.notes}};
  j["operators"] = {{"source", operators_of(*graph)}};
  if (auto to = source_of(out); to.ok())  // C source is not read again
    if (auto again = load_graph(*to, {}); again.ok()) j["operators"]["written"] = operators_of(*again);
  j["proof"] = written.proof ? proof_json(*written.proof)
                             : Json{{"verdict", "unproven"}, {"reason", "--no-verify"}, {"runs", Json::array()}};
  return j;
}

}  // namespace nnex::cli
