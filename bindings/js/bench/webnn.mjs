// bench.mjs [--rounds N] [--wasm]: what the JavaScript face costs, as medians: loading the package, a dispatch of one number queued
// and awaited, and InferenceSession.run of a model of one number beside what the engine itself takes.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' }, wasm: { type: 'boolean', default: false } } });
const rounds = Number(values.rounds);
if (values.wasm) process.env.NNEX_ENGINE = 'wasm';
const require = createRequire(import.meta.url);

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const show = (what, figures, unit, most) => console.log(
  `${what.padEnd(44)} ${median(figures).toFixed(2).padStart(8)} ${unit}  (${Math.min(...figures).toFixed(2)} to ${Math.max(...figures).toFixed(2)}; at most ${most})`);

/** Microseconds of one call of `f`, by rounds of `n` calls. */
async function timed(n, f) {
  const out = [];
  for (let round = 0; round < rounds; ++round) {
    const began = performance.now();
    for (let i = 0; i < n; ++i) await f();
    out.push((performance.now() - began) * 1000 / n);
  }
  return out;
}

function loading(name) {
  const script = `const t = performance.now(); require(${JSON.stringify(require.resolve(name))}); process.stdout.write(String(performance.now() - t))`;
  return Array.from({ length: rounds }, () => Number(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' })));
}
show("require('nnex')", loading('nnex'), 'ms', '10 ms');

const { ml, MLGraphBuilder } = require('nnex');
const context = await ml.createContext();
const builder = new MLGraphBuilder(context);
const one = { dataType: 'float32', shape: [1] };
const x = builder.input('x', one);
const graph = await builder.build({ y: builder.add(x, x) });
const input = await context.createTensor({ ...one, writable: true }), output = await context.createTensor({ ...one, readable: true });
const inputs = { x: input }, outputs = { y: output }, number = Float32Array.of(3);

{
  const queued = [];
  for (let round = 0; round < rounds; ++round) {
    const began = performance.now();
    for (let i = 0; i < 1000; ++i) context.dispatch(graph, inputs, outputs);
    queued.push((performance.now() - began));  // 1,000 calls: milliseconds are microseconds of one
    await context.readTensor(output);
  }
  show('dispatch of one number, queued', queued, 'µs', '5 µs');
}
show('dispatch of one number, awaited', await timed(500, () => {
  context.dispatch(graph, inputs, outputs);
  return context.readTensor(output);
}), 'µs', '60 µs');
show('write, dispatch and read into, awaited', await timed(500, () => {
  context.writeTensor(input, number);
  context.dispatch(graph, inputs, outputs);
  return context.readTensor(output, number);
}), 'µs', 'no limit');
context.destroy();

/** An ONNX model y = x + x of one float, as bytes of protobuf. */
function model() {
  const field = (number, bytes) => [(number << 3) | 2, bytes.length, ...bytes], text = (s) => [...Buffer.from(s)];
  const info = (name) => [...field(1, text(name)), ...field(2, field(1, [0x08, 1, ...field(2, field(1, [0x08, 1]))]))];
  const node = [...field(1, text('x')), ...field(1, text('x')), ...field(2, text('y')), ...field(4, text('Add'))];
  const parts = [...field(1, node), ...field(2, text('g')), ...field(11, info('x')), ...field(12, info('y'))];
  return Uint8Array.from([0x08, 8, ...field(7, parts), ...field(8, [0x10, 17])]);
}

let runtime;
try {
  runtime = require('nnex/onnxruntime');
} catch (error) {
  console.log(`InferenceSession.run: not measured, nnex/onnxruntime cannot be loaded (${error.code ?? error.message})`);
}
if (runtime) {
  const session = await runtime.InferenceSession.create(model());
  const feeds = { x: new runtime.Tensor('float32', Float32Array.of(3), [1]) };
  const { y } = await session.run(feeds);
  if (y.data[0] !== 6) throw new Error(`found ${y.data[0]}; needed 6`);
  show('InferenceSession.run of one number', await timed(500, () => session.run(feeds)), 'µs', '20 µs over the C++ call');
  await session.release?.();
}
