// The WebAssembly module in Node: threads begin when a run wants them, give the same bytes, and end with their instance.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { cpus } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import threads from 'node:worker_threads';
import { onnx } from './support/onnx-writer.mjs';

const dist = new URL('../packages/nnex/dist/', import.meta.url);
const skip = !existsSync(new URL('nnex.wasm', dist)) && 'the WebAssembly module is not built';

// Every worker that is begun is counted, and those that have ended. `planted`: what happens to the next ones before they begin.
const begun = [];
let planted;
const { Worker } = threads;
threads.Worker = class extends Worker {
  constructor(script, options) {
    planted?.(options.workerData);
    super(script, options);
    begun.push(this);
    this.once('exit', () => { this.over = true; });
  }
};
syncBuiltinESMExports();
const waiting = () => begun.filter(({ over }) => !over).length;
async function until(what, seconds = 20) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await sleep(20)) if (what()) return true;
  return false;
}

/** The package as a page of its own would have it. */
let pages = 0;
async function nnex(options) {
  const made = await import(`${dist}browser.js?${++pages}`);
  made.configure(options);
  return made;
}

let seed = 1;
const numbers = (count) => Float32Array.from({ length: count }, () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5);
const weights = (...dims) => ({ type: 'float32', dims, data: numbers(dims.reduce((a, b) => a * b)) });
const network = onnx({
  inputs: { picture: ['float32', [1, 16, 64, 64]], a: ['float32', [192, 256]] }, outputs: { y: ['float32', [1, 32, 64, 64]], s: ['float32', [192, 320]] },
  initializers: { filter: weights(32, 16, 3, 3), w: weights(256, 320) },
  nodes: [
    { op: 'Conv', in: ['picture', 'filter'], out: ['c'], attributes: { pads: [1, 1, 1, 1] } }, { op: 'Sigmoid', in: ['c'], out: ['y'] },
    { op: 'MatMul', in: ['a', 'w'], out: ['p'] }, { op: 'Softmax', in: ['p'], out: ['s'] },
  ],
});
const feeds = { picture: numbers(16 * 64 * 64), a: numbers(192 * 256) };
const bytes = ({ y, s }) => Buffer.concat([y.data, s.data].map((data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)));

test('the same bytes at any number of threads, which begin with a run and end with the model', { skip }, async () => {
  const alone = await (await nnex({ threads: false })).load(network);
  const expected = bytes(await alone.run(feeds));
  assert.equal(begun.length, 0);
  const { load } = await nnex({ threads: 4 });
  const model = await load(network);
  assert.equal(begun.length, 0, 'no run, no threads');
  for (let run = 0; run < 20; ++run) assert.ok(bytes(await model.run(feeds)).equals(expected), `run ${run}`);
  assert.equal(begun.length, 3);
  const two = model.session({ threads: 2 });
  assert.ok(bytes(await two.run(feeds)).equals(expected));
  assert.equal(begun.length, 3, 'the same workers serve another session');
  model.dispose();
  assert.ok(bytes(await two.run(feeds)).equals(expected), 'a session keeps what it needs');
  assert.equal(waiting(), 3);
  two.dispose();
  assert.ok(await until(() => waiting() === 0), `${waiting()} workers are still there`);
  await assert.rejects(two.run(feeds), { code: 'invalid argument', message: 'the session was released' });
});

test('threads do their part', { skip: skip || (cpus().length < 2 && 'there is one processor') }, async () => {
  const { load } = await nnex({ threads: 2 });
  const model = await load(network);
  const ways = [model.session({ threads: 1 }), model.session({ threads: 2 })], least = [Infinity, Infinity];
  const faster = () => {  // the least of many: other work on the machine makes none of them shorter
    for (let round = 0; round < 20; ++round)
      ways.forEach((session, i) => {
        const start = performance.now();
        session.runSync(feeds);
        least[i] = Math.min(least[i], performance.now() - start);
      });
    return least[1] < 0.8 * least[0];
  };
  assert.ok(await until(faster, 60), `one thread ${least[0]} ms, two ${least[1]} ms`);
  model.dispose();
  for (const session of ways) session.dispose();
});

test('code that is given as bytes has threads, a compiled module one', { skip }, async () => {
  const before = begun.length;
  const code = readFileSync(new URL('nnex.wasm', dist));
  const compiled = await nnex({ wasm: await WebAssembly.compile(code), threads: 4 });
  const alone = await compiled.load(network);
  const expected = bytes(await alone.session({ threads: 4 }).run(feeds));
  assert.equal(begun.length, before, 'threads that are asked for and not to be had');
  const given = await nnex({ wasm: code, threads: 4 });
  const model = await given.load(network);
  assert.ok(bytes(await model.run(feeds)).equals(expected));
  assert.ok(begun.length > before);
  model.dispose();
  alone.dispose();
});

test('a worker that cannot be had is not missed', { skip }, async () => {
  planted = () => { throw new Error('planted'); };
  try {
    const model = await (await nnex({ threads: 4 })).load(network);
    const expected = bytes(await model.run(feeds));
    planted = undefined;
    assert.ok(bytes(await model.run(feeds)).equals(expected));
    model.dispose();
  } finally {
    planted = undefined;
  }
});

test('a thread that fails ends its instance, and nobody waits for it', { skip }, async () => {
  planted = ({ failed }) => Atomics.store(failed, 0, 1);
  try {
    const model = await (await nnex({ threads: 2 })).load(network);
    await assert.rejects(async () => {
      for (let run = 0; run < 50; ++run) await model.run(feeds, { timeout: 10_000 });
    }, /a thread failed/);
    await assert.rejects(model.run(feeds), { name: 'InvalidStateError' });
    assert.ok(await until(() => waiting() === 0), 'its threads have ended');
  } finally {
    planted = undefined;
  }
});

test('contexts of WebNN share threads, which end with the last of them', { skip }, async () => {
  const { ml, MLGraphBuilder } = await nnex({ threads: 2 });
  const before = begun.length;
  const contexts = [await ml.createContext(), await ml.createContext()];
  const square = { dataType: 'float32', shape: [256, 256] };
  for (const context of contexts) {
    const builder = new MLGraphBuilder(context);
    const x = builder.input('x', square);
    const graph = await builder.build({ y: builder.matmul(x, x) });
    const input = await context.createTensor({ ...square, writable: true }), output = await context.createTensor({ ...square, readable: true });
    context.writeTensor(input, new Float32Array(256 * 256).fill(0.5));
    context.dispatch(graph, { x: input }, { y: output });
    assert.ok(new Float32Array(await context.readTensor(output)).every((v) => v === 64));
  }
  assert.equal(begun.length, before + 1);
  contexts[0].destroy();
  await sleep(100);
  assert.equal(waiting(), 1);
  contexts[1].destroy();
  assert.ok(await until(() => waiting() === 0));
});

test('a process ends by itself while threads wait', { skip }, () => {
  const script = `import { load } from 'nnex';
    const { onnx } = await import(${JSON.stringify(new URL('support/onnx-writer.mjs', import.meta.url).href)});
    const network = onnx({ inputs: { a: ['float32', [256, 256]] }, outputs: { y: ['float32', [256, 256]] }, nodes: [{ op: 'MatMul', in: ['a', 'a'], out: ['y'] }] });
    const model = await load(network);
    for (let i = 0; i < 20; ++i) await model.run({ a: new Float32Array(65536).fill(1) });
    await new Promise((resolve) => setTimeout(resolve, 200));
    console.log((await model.run({ a: new Float32Array(65536).fill(1) })).y.data[0]);`;
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: new URL('.', import.meta.url), encoding: 'utf8', timeout: 60_000, env: { ...process.env, NNEX_ENGINE: 'wasm', NNEX_THREADS: '3' },
  });
  assert.equal(ran.stdout, '256\n', ran.stderr);
  assert.equal(ran.status, 0);
});

test('memory returns when contexts and models are dropped', { skip, timeout: 300_000 }, () => {
  const script = `import { ml, MLGraphBuilder } from ${JSON.stringify(new URL('browser.js', dist).href)};
    const d = { dataType: 'float32', shape: [128, 128] };
    async function one(n) {
      const context = await ml.createContext();
      const builder = new MLGraphBuilder(context);
      const x = builder.input('x', d);
      const graph = await builder.build({ y: builder.matmul(x, x) });
      const input = await context.createTensor({ ...d, writable: true }), output = await context.createTensor({ ...d, readable: true });
      if (n % 25 === 0) { context.dispatch(graph, { x: input }, { y: output }); await context.readTensor(output); }
      if (n % 2 === 0) context.destroy();  // half of them are dropped
    }
    async function settled() {
      for (let i = 0; i < 20; ++i) { gc(); await new Promise((resolve) => setTimeout(resolve, 10)); }
      const { rss, heapTotal } = process.memoryUsage();
      return rss - heapTotal;
    }
    const after = [];
    for (let round = 0; round < 5; ++round) {
      for (let n = 0; n < 250; ++n) { await one(n); if (n % 20 === 0) await new Promise(setImmediate); }
      after.push(await settled());
    }
    console.log(JSON.stringify(after));`;
  const ran = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], { encoding: 'utf8', timeout: 280_000, env: { ...process.env } });
  assert.equal(ran.status, 0, ran.stderr);
  const after = JSON.parse(ran.stdout);
  assert.ok(after.at(-1) - after[1] < 16e6, `bytes after each 250: ${after}`);  // an instance that stays has 16 MB, a thread about as much
});

test('memory returns after 10,000 contexts, tensors, graphs and builders', { skip, timeout: 900_000 }, (t) => {
  const script = fileURLToPath(new URL('hostile/memory.mjs', import.meta.url));
  const ran = spawnSync(process.execPath, ['--expose-gc', script], {
    cwd: new URL('.', import.meta.url), encoding: 'utf8', timeout: 850_000, env: { ...process.env, NNEX_ENGINE: 'wasm', NNEX_THREADS: '1' },
  });
  assert.equal(ran.status, 0, ran.stderr);
  const figures = Object.entries(JSON.parse(ran.stdout));
  t.diagnostic(figures.map(([name, [before, after]]) => `${name}: ${(before / 1e6).toFixed(1)} MB, then ${(after / 1e6).toFixed(1)} MB`).join('; '));
  assert.deepEqual(figures.map(([name]) => name), ['contexts', 'tensors', 'graphs', 'builders']);
  assert.deepEqual(figures.filter(([, [before, after]]) => after > before * 1.05), []);
});
