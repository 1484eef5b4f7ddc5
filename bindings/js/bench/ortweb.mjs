// ortweb.mjs [--threads N] [--rounds N] FOLDER...: models (FOLDER/model.onnx, FOLDER/test_data_set_0/input_I.pb) under the WebAssembly engine and
// under onnxruntime-web's, in turn in one Node process: medians of a run in milliseconds, and their ratio; below them the least, which other work on
// the machine disturbs less. With more threads than one, ours with one too. npm's package is
// installed into a scratch folder (NNEX_PEERS).
import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { tensorOf } from '../test/support/onnx-tensor.mjs';
import { folder, missing } from '../test/support/peers.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { threads: { type: 'string', default: '1' }, rounds: { type: 'string', default: '7' } } });
const threads = Number(values.threads), rounds = Number(values.rounds);
const kBlock = 250;  // milliseconds of one way in a round, of which the first third is for the threads of the other to fall asleep
const why = missing({ 'onnxruntime-web': '1.30.0' });
if (why) throw new Error(why);
const ort = createRequire(join(folder, 'x.js'))('onnxruntime-web');
ort.env.wasm.numThreads = threads;

let pages = 0;
async function nnex(most) {
  const made = await import(`../packages/nnex/dist/browser.js?${++pages}`);
  made.configure({ threads: most });
  return made;
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
async function block(run, times) {
  const start = performance.now();
  do {
    const began = performance.now();
    await run();
    const ended = performance.now();
    if (ended - start > kBlock / 3 || ended - began > kBlock) times.push(ended - began);
  } while (performance.now() - start < kBlock);
}
const apart = (a, b) => a.reduce((most, v, i) => Math.max(most, Math.abs(Number(v) - Number(b[i]))), 0);

console.log(`${'model'.padEnd(22)} ${'nnex'.padStart(9)} ${'ort-web'.padStart(9)} ratio${threads > 1 ? `${'nnex, one thread'.padStart(18)} ratio` : ''}   (threads: ${threads}; ms; largest difference)`);
for (const path of positionals) {
  const bytes = await readFile(join(path, 'model.onnx'));
  const data = join(path, 'test_data_set_0');
  const files = (await readdir(data)).filter((name) => name.startsWith('input_')).sort();
  const inputs = await Promise.all(files.map(async (name) => tensorOf(await readFile(join(data, name)))));
  const times = {}, ways = {}, made = [];
  const ours = async (name, most) => {
    const model = await (await nnex(most)).load(bytes);
    const feeds = Object.fromEntries(model.inputs.map((port, i) => [port.name, { type: inputs[i].type, dims: inputs[i].dims, data: inputs[i].data }]));
    ways[name] = () => model.run(feeds);
    made.push(model);
    return model;
  };
  const model = await ours('nnex', threads);
  if (threads > 1) await ours('alone', 1);
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'], intraOpNumThreads: threads });
  const feeds = Object.fromEntries(model.inputs.map((port, i) => [port.name, new ort.Tensor(inputs[i].type, inputs[i].data, inputs[i].dims)]));
  ways.ort = () => session.run(feeds);
  const [mine, theirs] = [await ways.nnex(), await ways.ort()];
  const difference = Math.max(...model.outputs.map(({ name }) => apart(mine[name].data, theirs[name].data)));
  for (let round = 0; round < rounds; ++round) for (const [name, run] of Object.entries(ways)) await block(run, (times[name] ??= []));
  const cell = (of, most) => {
    const [a, b, c] = [times.nnex, times.ort, times.alone ?? [NaN]].map(of);
    const more = most ? `${c.toFixed(3).padStart(18)} ${(a / c).toFixed(2).padStart(5)}` : '';
    return `${a.toFixed(3).padStart(9)} ${b.toFixed(3).padStart(9)} ${(a / b).toFixed(2).padStart(5)}${more}`;
  };
  console.log(`${basename(path).padEnd(22)} ${cell(median, threads > 1)}   ${difference.toExponential(1)}`);
  console.log(`${'  the least'.padEnd(22)} ${cell((list) => Math.min(...list), threads > 1)}`);
  for (const one of made) one.dispose();
  await session.release();
}
process.exit(0);  // its threads stay
