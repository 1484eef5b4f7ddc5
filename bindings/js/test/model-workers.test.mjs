// Many workers, killed under load; memory that garbage collection gives back; a process that ends.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { onnx } from './support/onnx-writer.mjs';

const here = new URL('./', import.meta.url).href;
const product = (n, k) => onnx({
  inputs: { x: ['float32', [n, n]] }, outputs: { y: ['float32', [n, n]] },
  nodes: Array.from({ length: k }, (_, i) => ({ op: 'MatMul', in: [i ? `t${i}` : 'x', 'x'], out: [i + 1 < k ? `t${i + 1}` : 'y'] })),
});

/** A worker that runs products without end, several at a time, some of them at once and some on threads. */
const source = `
  import { createRequire } from 'node:module';
  import { parentPort, workerData } from 'node:worker_threads';
  const { load, check, convert } = createRequire(workerData.here + 'x.mjs')('nnex');
  const model = await load(workerData.bytes);
  const x = new Float32Array(model.inputs[0].dims[0] ** 2).fill(0.001);
  parentPort.postMessage('up');
  const turn = async (i) => {
    for (;;) {
      const session = i % 2 ? model : model.session();
      await session.run({ x }, { thread: i % 3 ? 'always' : 'auto' });
      if (i === 3) await convert(workerData.bytes, { to: 'nnef' });
      if (i === 4) await load(workerData.bytes);
      if (i === 5) await check(workerData.bytes);
    }
  };
  await Promise.all([0, 1, 2, 3, 4, 5].map(turn));
`;

test('64 workers are started and killed under load', { timeout: 300_000 }, async () => {
  const big = product(192, 4);
  const small = product(8, 2);
  for (let round = 0; round < 8; round++) {
    const workers = Array.from({ length: 8 }, (_, i) => new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), { workerData: { here, bytes: i % 2 ? big : small } }));
    await Promise.all(workers.map((worker) => new Promise((up, down) => {
      worker.once('message', up);
      worker.once('error', down);
    })));
    await new Promise((go) => setTimeout(go, 20 + 15 * round));
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  const { load } = await import('nnex');
  const out = await (await load(small)).run({ x: new Float32Array(64).fill(0.5) });
  assert.equal(out.y.data.length, 64);
});

/** The output of a module in a process of its own. */
const run = (code, ...flags) =>
  execFileSync(process.execPath, [...flags, '--input-type=module', '-e', `const { onnx } = await import('${here}support/onnx-writer.mjs'); const { load } = await import('nnex');\n${code}`], {
    cwd: new URL('.', import.meta.url), encoding: 'utf8', timeout: 240_000,
  });

test('the process stays while a run is on, and ends when nothing is', () => {
  const bytes = `onnx(${JSON.stringify({ inputs: { x: ['float32', [512, 512]] }, outputs: { y: ['float32', [512, 512]] }, nodes: [{ op: 'MatMul', in: ['x', 'x'], out: ['y'] }] })})`;
  const text = run(`
    const model = await load(${bytes});
    model.run({ x: new Float32Array(512 * 512) }, { thread: 'always' }).then(() => console.log('done'));
  `);
  assert.equal(text, 'done\n');
});

test('garbage collection frees models, sessions and outputs', { timeout: 240_000 }, () => {
  const text = run(`
    const n = 512;
    const bytes = onnx({
      inputs: { x: ['float32', [n, n]] }, outputs: { y: ['float32', [n, n]] }, nodes: [{ op: 'MatMul', in: ['x', 'w'], out: ['y'] }],
      initializers: { w: { type: 'float32', dims: [n, n], data: new Float32Array(n * n).fill(0.01) } },
    });
    const x = new Float32Array(n * n).fill(0.5);
    const turn = async () => {
      const model = await load(bytes);
      await model.run({ x });
      await model.session().run({ x });
      for (let i = 0; i < 4; i++) await model.run({ x });
    };
    const settle = async () => {
      for (let i = 0; i < 6; i++) { globalThis.gc(); await new Promise((go) => setTimeout(go, 20)); }
      return process.memoryUsage();
    };
    for (let i = 0; i < 100; i++) await turn();
    const before = await settle();
    for (let i = 0; i < 150; i++) await turn();
    const peak = process.memoryUsage();
    const after = await settle();
    console.log(JSON.stringify({ before, peak, after }));
  `, '--expose-gc');
  const { before, peak, after } = JSON.parse(text);
  const mib = (bytes) => Math.round(bytes / 2 ** 20);
  const say = `rss ${mib(before.rss)} -> ${mib(peak.rss)} -> ${mib(after.rss)} MiB, external ${mib(before.external)} -> ${mib(after.external)} MiB`;
  // 150 turns make more than 1 GiB of outputs and weights: one of each turn kept would be 150 MiB. The C library keeps some for itself.
  assert.ok(after.external <= before.external + 2 ** 20, say);
  assert.ok(after.rss <= before.rss + 48 * 2 ** 20, say);
  assert.ok(peak.rss <= before.rss + 400 * 2 ** 20, say);
});
