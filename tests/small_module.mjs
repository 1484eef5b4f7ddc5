// small_module.mjs MODULES NETWORK OTHER: see tests/small_module. MODULES: the folder of the modules; NETWORK: a folder with model.onnx and its
// test data; OTHER: a model with operators that they leave out.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { tensorOf } from '../bindings/js/test/support/onnx-tensor.mjs';

const kMaxBytes = 400_000;  // by brotli
const [, , modules, network, other] = process.argv;
const wasm = resolve(modules, 'nnex.wasm');
let pages = 0;
async function load(options, path) {
  const nnex = await import(`../bindings/js/packages/nnex/dist/browser.js?${++pages}`);
  nnex.configure(options);
  return nnex.load(await readFile(path));
}
const input = tensorOf(await readFile(join(network, 'test_data_set_0/input_0.pb')));
async function answer(options) {
  const model = await load(options, join(network, 'model.onnx'));
  const results = await model.run({ [model.inputs[0].name]: { type: input.type, dims: input.dims, data: input.data } });
  model.dispose();
  return Buffer.concat(Object.values(results).map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)));
}

const expected = await answer({ threads: false });
assert.ok(expected.length > 0);
assert.ok((await answer({ wasm, threads: false })).equals(expected), 'one thread: other bytes');
assert.ok((await answer({ wasm, threads: 2 })).equals(expected), 'two threads: other bytes');
await assert.rejects(load({ wasm, threads: false }, other), { code: 'unsupported', message: /: this build of nnex leaves the operator out \(NNEX_OPS\)/ });
const bytes = await readFile(wasm);
const packed = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
console.log(`nnex.wasm: ${bytes.length} bytes, ${packed.length} by brotli`);
assert.ok(packed.length < kMaxBytes, `found ${packed.length} bytes; needed fewer than ${kMaxBytes}`);
process.exit(0);  // threads stay
