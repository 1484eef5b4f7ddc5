#include "peer.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "cli.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

/// Tensors inside the network become outputs: messages of protobuf are joined field by field, so that a graph which has
/// outputs alone, appended to the file, adds those to the graph in it.
constexpr const char* kProgram = R"js(
const ort = require(kPeer), fs = require('fs');
const kQuiet = { logSeverityLevel: 3 };
const kArrays = { float32: Float32Array, float64: Float64Array, float16: Uint16Array, int64: BigInt64Array,
  uint64: BigUint64Array, int32: Int32Array, uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array,
  int8: Int8Array, uint8: Uint8Array, bool: Uint8Array };
function* fields(b) {
  let at = 0;
  const varint = () => { let n = 0, unit = 1; for (;;) { const c = b[at++]; n += (c & 127) * unit; unit *= 128; if (c < 128) return n; } };
  while (at < b.length) {
    const key = varint(), kind = key % 8;
    if (kind === 0) varint();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else { const n = varint(); yield [Math.floor(key / 8), b.subarray(at, at + n)]; at += n; }
  }
}
function message(number, bytes) {
  const head = [number * 8 + 2];
  let n = bytes.length;
  for (; n > 127; n = Math.floor(n / 128)) head.push(n % 128 + 128);
  return Buffer.concat([Buffer.from([...head, n]), bytes]);
}
function tensors_inside(file) {
  const names = new Set();
  for (const [model, graph] of fields(file)) if (model === 7)
    for (const [part, node] of fields(graph)) if (part === 1)
      for (const [field, text] of fields(node)) if (field === 2) names.add(text.toString());
  return names;
}
(async () => {
  const asked = JSON.parse(fs.readFileSync(0, 'utf8'));
  let session = await ort.InferenceSession.create(asked.model, kQuiet);
  const inside = asked.outputs.filter(n => !session.outputNames.includes(n));
  let wanted = asked.outputs.filter(n => session.outputNames.includes(n));
  if (inside.length) {
    const file = fs.readFileSync(asked.model), there = tensors_inside(file);
    const more = inside.filter(n => there.has(n));
    if (more.length) {
      const graph = Buffer.concat(more.map(n => message(12, message(1, Buffer.from(n)))));
      session = await ort.InferenceSession.create(Buffer.concat([file, message(7, graph)]), kQuiet);
      wanted = wanted.concat(more);
    }
  }
  const feeds = {};
  for (const t of asked.inputs) {
    if (!session.inputNames.includes(t.name)) continue;
    const bytes = Buffer.from(t.base64, 'base64'), own = new ArrayBuffer(bytes.length);
    bytes.copy(Buffer.from(own));
    if (!kArrays[t.dtype]) throw new Error(`input '${t.name}': no ${t.dtype} here`);
    feeds[t.name] = new ort.Tensor(t.dtype, new kArrays[t.dtype](own), t.shape);
  }
  const made = await session.run(feeds, wanted), outputs = [];
  for (const name of wanted) {
    const t = made[name];
    if (!t || !kArrays[t.type]) continue;
    outputs.push({ name, dtype: t.type, shape: t.dims,
      base64: Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength).toString('base64') });
  }
  process.stdout.write(JSON.stringify({ outputs }));
})().catch(e => { console.error(`onnxruntime-node: ${e.message}`); process.exitCode = 1; });
)js";

/// Where onnxruntime-node is: in the folder that PEER_ORT names, else where Node.js would look for it from here.
Result<fs::path> peer_package() {
  constexpr std::string_view kPackage = "node_modules/onnxruntime-node";
  std::error_code error;
  if (const char* folder = std::getenv("PEER_ORT")) {
    const fs::path there = fs::absolute(fs::path(folder) / kPackage, error);
    if (fs::exists(there, error)) return there;
    return Error(Code::unsupported, fmt::format("--against peer: PEER_ORT is '{}', which has no {}", folder, kPackage));
  }
  for (fs::path folder = fs::current_path(error); !error; folder = folder.parent_path()) {
    if (const fs::path there = folder / kPackage; fs::exists(there, error)) return there;
    if (folder == folder.parent_path()) break;
  }
  return Error(Code::unsupported,
               "--against peer: onnxruntime-node is not installed here or in a folder above; needed it there, or "
               "PEER_ORT with the folder into which bench/install_peer put it");
}

}  // namespace

Result<Program> peer_command() {
  NNEX_ASSIGN(const fs::path package, peer_package());
  return Program{"onnxruntime-node",
                 {"node", "-e", fmt::format("const kPeer = {};{}", Json(package.string()).dump(), kProgram)}};
}

}  // namespace nnex::cli
