// What a call costs beside the network: a model that adds two numbers, called in every way, in turn; with NNEX_PEERS onnxruntime-node too.
//
//     node bindings/js/bench/session.mjs
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { load } from 'nnex';
import * as ort from 'nnex/onnxruntime';
import { onnx } from '../test/support/onnx-writer.mjs';

const network = (n) => onnx({ inputs: { x: ['float32', [n]] }, outputs: { y: ['float32', [n]] }, nodes: [{ op: 'Add', in: ['x', 'x'], out: ['y'] }] });
const peers = process.env.NNEX_PEERS && createRequire(pathToFileURL(join(process.env.NNEX_PEERS, 'x.mjs')))('onnxruntime-node');

for (const n of [1, 150_528]) {
  const model = await load(network(n));
  const x = new Float32Array(n);
  const ways = {
    'model.runSync': () => model.runSync({ x }),
    'model.run': () => model.run({ x }),
    'model.run on a thread': () => model.run({ x }, { thread: 'always' }),
    'model.run on a thread, borrowing': () => model.run({ x }, { thread: 'always', borrow: true }),
  };
  for (const [name, runtime] of [['nnex/onnxruntime', ort], ...(peers ? [['onnxruntime-node', peers]] : [])]) {
    const session = await runtime.InferenceSession.create(network(n));
    const feeds = { x: new runtime.Tensor('float32', x, [n]) };
    ways[name] = () => session.run(feeds);
  }
  const times = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  const calls = n > 1 ? 100 : 1000;
  for (let round = 0; round < 21; round++)
    for (const [name, call] of Object.entries(ways)) {
      const start = process.hrtime.bigint();
      for (let i = 0; i < calls; i++) await call();
      times[name].push(Number(process.hrtime.bigint() - start) / 1e3 / calls);
    }
  for (const [name, list] of Object.entries(times)) console.log(`${String(n).padStart(7)} floats  ${name.padEnd(34)} ${list.sort((a, b) => a - b)[10].toFixed(1)} µs`);
}
