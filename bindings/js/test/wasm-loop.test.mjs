// The WebAssembly module in Node computes off the event loop, as the addon does: in a worker, which holds the process only while an answer is awaited.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { onnx } from './support/onnx-writer.mjs';

const here = new URL('./', import.meta.url);
const skip = !existsSync(new URL('../packages/nnex/dist/nnex.wasm', here)) && 'the WebAssembly module is not built';
const product = onnx({
  inputs: { x: ['float32', ['N', 'N']] }, outputs: { y: ['float32', ['N', 'N']] },
  nodes: [{ op: 'MatMul', in: ['x', 'x'], out: ['t'] }, { op: 'MatMul', in: ['t', 'x'], out: ['y'] }],
});
let folder;
before(() => { folder = mkdtempSync(join(tmpdir(), 'nnex-loop-')); });
after(() => rmSync(folder, { recursive: true }));

/** What a module says that computes by WebAssembly: an object of JSON on its last line. */
function told(source, { flags = [], env = {} } = {}) {
  const text = `import { check, convert, load, ml, MLGraphBuilder } from 'nnex';
    const bytes = Buffer.from(${JSON.stringify(Buffer.from(product).toString('base64'))}, 'base64'), square = (n) => ({ x: { data: new Float32Array(n * n).fill(0.001), dims: [n, n] } });
    /** How long a call took, and the longest time in which the event loop did nothing. */
    async function watched(call) {
      const begin = performance.now();
      let last = begin, longest = 0;
      const timer = setInterval(() => { longest = Math.max(longest, performance.now() - last); last = performance.now(); }, 1);
      const error = await Promise.resolve().then(call).then(() => undefined, (reason) => reason), end = performance.now();
      clearInterval(timer);
      return { took: end - begin, blocked: Math.max(longest, end - last), error: error?.name, code: error?.code };
    }
    ${source}`;
  const begin = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', text],
    { cwd: here, encoding: 'utf8', timeout: 120_000, env: { ...process.env, NNEX_ENGINE: 'wasm', NNEX_THREADS: '2', ...env } });
  assert.equal(status, 0, stderr);
  return { ...JSON.parse(stdout.trim().split('\n').pop()), stderr, whole: performance.now() - begin };
}

test('a run leaves the event loop alone; signal and timeout reject at once', { skip }, () => {
  const { run, two, signal, timeout, queued } = told(`const model = await load(bytes), other = model.session(), long = square(1400);
    await model.run(square(8));
    const run = await watched(() => model.run(long)), two = await watched(() => Promise.all([model.run(long), other.run(long)]));
    const signal = await watched(() => model.run(long, { signal: AbortSignal.timeout(20) }));
    await model.run(square(8));
    const timeout = await watched(() => model.run(long, { timeout: 20 }));
    await model.run(square(8));
    // What was given up before it began is not done.
    const first = model.run(long), given = Array.from({ length: 20 }, () => model.run(long, { signal: AbortSignal.timeout(1) }).catch(() => undefined));
    await first;
    const queued = await watched(async () => { await Promise.all(given); await model.run(square(8)); });
    console.log(JSON.stringify({ run, two, signal, timeout, queued }));`);
  assert.ok(run.blocked < run.took / 2 && run.error === undefined, JSON.stringify(run));
  assert.ok(two.blocked < two.took / 2 && two.error === undefined, JSON.stringify(two));
  assert.ok(signal.error === 'TimeoutError' && signal.took < run.took / 2, JSON.stringify({ run, signal }));
  assert.deepEqual([timeout.error, timeout.code], ['NnexError', 'cancelled']);
  assert.ok(timeout.took < run.took / 2, JSON.stringify({ run, timeout }));
  assert.ok(queued.took < 5 * run.took, JSON.stringify({ run, queued }));
});

test('loading, checking and converting leave it alone, and files are read and written', { skip }, () => {
  const target = join(folder, 'm.nnef.tgz');
  const { all, format, size } = told(`import { onnx } from './support/onnx-writer.mjs';
    const w = { type: 'float32', dims: [2000, 2000], data: new Float32Array(4e6).fill(0.5) };
    const big = onnx({ inputs: { x: ['float32', [1, 2000]] }, outputs: { y: ['float32', [1, 2000]] }, nodes: [{ op: 'MatMul', in: ['x', 'w'], out: ['y'] }], initializers: { w } });
    await load(bytes);
    const all = await watched(async () => { await convert(big, ${JSON.stringify(target)}); });
    const { format } = await check(${JSON.stringify(target)});
    console.log(JSON.stringify({ all, format, size: (await load(${JSON.stringify(target)})).inputs[0].text }));`);
  assert.ok(all.blocked < all.took / 2 && all.error === undefined, JSON.stringify(all));
  assert.deepEqual([format, size], ['NNEF', 'f32[1,2000]']);
});

test("WebNN's dispatch() returns at once", { skip }, () => {
  const { dispatch, read } = told(`const context = await ml.createContext(), d = { dataType: 'float32', shape: [1400, 1400] }, builder = new MLGraphBuilder(context), operand = builder.input('x', d);
    const graph = await builder.build({ y: builder.matmul(operand, operand) });
    const [x, y] = await Promise.all([context.createTensor({ ...d, writable: true }), context.createTensor({ ...d, readable: true })]);
    context.writeTensor(x, new Float32Array(1400 * 1400).fill(1));
    const dispatch = await watched(() => context.dispatch(graph, { x }, { y }));
    let first;
    const read = await watched(async () => { first = new Float32Array(await context.readTensor(y))[0]; });
    console.log(JSON.stringify({ dispatch, read: { ...read, first } }));`);
  assert.equal(read.first, 1400);
  assert.ok(dispatch.took < read.took / 2 && read.blocked < read.took / 2, JSON.stringify({ dispatch, read }));
});

test('runSync() waits for its answer, and for what other sessions were asked before', { skip }, () => {
  const { values, order, error, memory } = told(`const model = await load(bytes), two = { x: [[1, 2], [3, 4]] }, order = [];
    const before = model.session().run(square(600)).then(() => order.push('run'));
    const { y } = model.runSync(two);
    order.push('runSync');
    await before;
    let error;
    try { model.runSync({ x: { data: new Float32Array(6), dims: [2, 3] } }); } catch ({ name, code }) { error = [name, code]; }
    console.log(JSON.stringify({ values: [...y.data], order, error, memory: model.memory > 0 }));`);
  assert.deepEqual([values, order, error, memory], [[37, 54, 81, 118], ['runSync', 'run'], ['NnexError', 'invalid argument'], true]);
});

test('the process ends when nothing is awaited, and stays while something is', { skip }, () => {
  const { done } = told("load(bytes).then((model) => model.run(square(300))).then(({ y }) => console.log(JSON.stringify({ done: y.dims })));");
  assert.deepEqual(done, [300, 300]);
  const { left, whole } = told(`const model = await load(bytes), context = await ml.createContext();
    await model.run(square(8));
    process.on('exit', () => console.log(JSON.stringify({ left: Math.round(performance.now() - begun) })));
    const begun = performance.now();`);
  assert.ok(left < 1000, `${left} ms after the last call, ${whole} in all`);
});

test('where there is no worker the caller computes, which is said once', { skip }, () => {
  const { values, stderr } = told(`import threads from 'node:worker_threads';
    import { syncBuiltinESMExports } from 'node:module';
    threads.Worker = class { constructor() { throw new Error('no workers here'); } };
    syncBuiltinESMExports();
    const values = [];
    for (let i = 0; i < 3; ++i) values.push((await (await load(bytes)).run({ x: [[2]] })).y.data[0]);
    const context = await ml.createContext();
    console.log(JSON.stringify({ values }));`, { env: { NNEX_THREADS: '1' } });
  assert.deepEqual(values, [8, 8, 8]);
  assert.equal(stderr.match(/NNEX_WORKER/g)?.length, 1, stderr);
  assert.match(stderr, /no worker \(no workers here\)/);
});

test('models that nobody disposes of go as those do that come after them', { skip }, () => {
  const { grown } = told(`const load100 = async () => { for (let i = 0; i < 100; ++i) await (await load(bytes)).run(square(2)); return process.memoryUsage.rss(); };
    await load100();
    const before = await load100();
    await load100();
    await load100();
    console.log(JSON.stringify({ grown: (await load100()) - before }));`);
  assert.ok(grown < 150e6, `${grown} bytes for 300 models`);  // 1.2 MB each, where none goes
});
