// What a call from JavaScript costs over the same call in C++ (nnex bench), one thread, in turn: medians of single runs in microseconds, the least of
// the rounds, as other work on the machine makes none of them shorter.
//
//     node bindings/js/bench/overhead.mjs [ROUNDS]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'nnex';
import * as ort from 'nnex/onnxruntime';
import { onnx } from '../test/support/onnx-writer.mjs';

const path = (name) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const rounds = Number(process.argv[2] ?? 9), calls = 2000;
const folder = mkdtempSync(join(tmpdir(), 'nnex-overhead-'));
const sum = join(folder, 'sum.onnx');
writeFileSync(sum, onnx({ inputs: { x: ['float32', [1]] }, outputs: { y: ['float32', [1]] }, nodes: [{ op: 'Add', in: ['x', 'x'], out: ['y'] }] }));
const networks = { 'one sum': [sum, 'x', [1]], 'models/shapes': [path('models/shapes/model.onnx'), 'picture', [1, 3, 32, 32]] };

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
async function timed(call) {
  const times = [];
  for (let i = 0; i < calls; ++i) {
    const start = process.hrtime.bigint();
    await call();
    times.push(Number(process.hrtime.bigint() - start) / 1e3);
  }
  return median(times);
}
/** The same loop around nothing: what the clock and the await take. */
const nothing = await timed(() => Promise.resolve());

for (const [name, [file, input, dims]] of Object.entries(networks)) {
  const data = new Float32Array(dims.reduce((a, b) => a * b)).fill(0.5);
  const model = await load(file, { threads: 1 });
  const session = await ort.InferenceSession.create(readFileSync(file), { intraOpNumThreads: 1 });
  const feeds = { [input]: new ort.Tensor('float32', data, dims) };
  const bench = () => JSON.parse(execFileSync(path('build/release/bin/nnex'), ['bench', file, '--threads', '1', '--random', '--seconds', '0.3', '--json'])).median_ms * 1e3;
  const ways = {
    'C++': bench, 'model.runSync': () => timed(() => model.runSync({ [input]: { data, dims } })), 'model.run': () => timed(() => model.run({ [input]: { data, dims } })),
    'InferenceSession.run': () => timed(() => session.run(feeds)), 'on a thread': () => timed(() => model.run({ [input]: { data, dims } }, { thread: 'always' })),
  };
  const least = Object.fromEntries(Object.keys(ways).map((way) => [way, Infinity]));
  for (let round = 0; round < rounds; ++round) for (const [way, call] of Object.entries(ways)) least[way] = Math.min(least[way], await call());
  for (const [way, time] of Object.entries(least))
    console.log(`${name.padEnd(14)} ${way.padEnd(22)} ${time.toFixed(1).padStart(7)} µs${way === 'C++' ? '' : `, ${(time - least['C++']).toFixed(1)} over C++`}`);
}
console.log(`an awaited call that does nothing: ${nothing.toFixed(1)} µs`);
rmSync(folder, { recursive: true });
