// What `import { ml } from 'nnex'` and its polyfill promise, in short: test/idl.test.mjs and the others look at every member.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ml, MLContext, MLGraphBuilder, MLTensor } from 'nnex';

const one = { dataType: 'float32', shape: [1] };
/** Runs a module in a Node of its own and gives what it writes. */
const alone = (source, ...flags) =>
  execFileSync(process.execPath, [...flags, '--input-type=module', '-e', source], { cwd: new URL('.', import.meta.url), encoding: 'utf8', timeout: 300_000 }).trim();

async function doubler() {
  const context = await ml.createContext();
  const builder = new MLGraphBuilder(context);
  const x = builder.input('x', one);
  const graph = await builder.build({ y: builder.add(x, x) });
  const [input, output] = await Promise.all([context.createTensor({ ...one, writable: true }), context.createTensor({ ...one, readable: true })]);
  return { context, graph, input, output };
}

test('the version of the packages is that of the engine', () => {
  const require = createRequire(import.meta.url);
  const nnex = require('../packages/nnex/package.json'), platform = require('../packages/linux-x64/package.json');
  const addon = require('../packages/linux-x64');
  assert.deepEqual([nnex.version, nnex.optionalDependencies[platform.name], platform.version], Array(3).fill(addon.version));
});

test('the import alone defines nothing', () => {
  const added = alone(`
    const before = new Set(Reflect.ownKeys(globalThis));
    await import('nnex');
    console.log(Reflect.ownKeys(globalThis).filter(k => !before.has(k)).length, typeof navigator === 'undefined' || !('ml' in navigator));`);
  assert.equal(added, '0 true');
});

test('the polyfill defines navigator.ml and the interface objects', () => {
  const found = alone(`
    import 'nnex/polyfill';
    import { ml } from 'nnex';
    const d = Object.getOwnPropertyDescriptor(globalThis, 'MLContext');
    const context = await navigator.ml.createContext();
    console.log(navigator.ml === ml, d.enumerable, d.writable, d.configurable, context instanceof MLContext, Object.keys(navigator).length);
    console.log(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(navigator), 'ml').get.name);
    try { Object.getPrototypeOf(navigator).ml } catch (e) { console.log(e.name) }`);
  assert.equal(found, 'true false true true true 0\nget ml\nTypeError');
});

test('a former name of an option says nothing where the option has its own', async () => {
  const builder = new MLGraphBuilder(await ml.createContext());
  const x = builder.input('x', { dataType: 'float32', shape: [1, 1, 4, 4] });
  const width = (options) => builder.maxPool2d(x, { windowDimensions: [1, 1], strides: [3, 3], ...options }).shape[3];
  const rows = [[{}, 2], [{ outputShapeRounding: 'floor' }, 2], [{ windowDimensions: [2, 2], roundingType: 'floor' }, 1], [{ windowDimensions: [2, 2], roundingType: 'ceil' }, 2],
    [{ windowDimensions: [2, 2], roundingType: 'ceil', outputShapeRounding: 'floor' }, 1], [{ windowDimensions: [2, 2], outputShapeRounding: 'ceil', roundingType: 'floor' }, 2]];
  for (const [options, expected] of rows) assert.equal(width(options), expected, JSON.stringify(options));
  assert.throws(() => width({ outputShapeRounding: 'ceil', roundingType: 'up' }), TypeError);
});

test('arguments are counted in words', async () => {
  const builder = new MLGraphBuilder(await ml.createContext());
  assert.throws(() => builder.add(1), { name: 'TypeError', message: 'MLGraphBuilder.add: found 1 argument; needed 2' });
  assert.throws(() => builder.add(), { name: 'TypeError', message: 'MLGraphBuilder.add: found 0 arguments; needed 2' });
  assert.throws(() => builder.constant(5), { name: 'TypeError', message: /^MLGraphBuilder\.constant: / });
});

// Before each of these: `other` is the navigator's ML, where another polyfill or the platform put it.
const planted = (other) => `
    import { createRequire } from 'node:module';
    import { ml, MLGraphBuilder } from 'nnex';
    const require = createRequire(import.meta.resolve('nnex'));
    const builderOfOthers = globalThis.MLGraphBuilder = class {};
    const other = ${other};
    if (typeof navigator === 'undefined') globalThis.navigator = Object.create({});
    Object.defineProperty(Object.getPrototypeOf(navigator), 'ml', { get: () => other, configurable: true });
    const none = () => new DOMException('none', 'NotSupportedError');`;

test('the polyfill leaves an ML that works, and replaces one that has no context', () => {
  const rows = {
    '{ createContext: async () => ({ destroy() {} }) }': 'theirs',
    '{ createContext: () => Promise.reject(none()) }': 'ours',
    '{ createContext() { throw none(); } }': 'ours',
    '{ createContext: () => Promise.reject(new DOMException("blocked by Permissions Policy", "SecurityError")) }': 'ours',
    '{ createContext: async () => { throw new TypeError("an argument"); } }': 'theirs',
    'Object.freeze({ createContext: () => Promise.reject(none()) })': 'ours',
    '{}': 'ours at once',
    null: 'ours at once',
  };
  for (const [other, expected] of Object.entries(rows)) {
    const found = alone(`${planted(other)}
      const { ready } = require('nnex/polyfill');
      const whose = () => (navigator.ml === ml && globalThis.MLGraphBuilder === MLGraphBuilder ? 'ours' : navigator.ml === other && globalThis.MLGraphBuilder === builderOfOthers ? 'theirs' : 'mixed');
      const first = whose();
      await ready;
      console.log(first === 'ours' ? 'ours at once' : whose());`);
    assert.equal(found, expected, other);
  }
  const own = alone(`${planted('{}')}
    Object.defineProperty(navigator, 'ml', { value: null, configurable: true });  // not by the prototype
    await import('nnex/polyfill');
    console.log(navigator.ml === ml, Object.hasOwn(navigator, 'ml'));`);
  assert.equal(own, 'true false');
});

test('the polyfill leaves the prototype of all objects alone', () => {
  for (const [navigator, name] of [['{}', 'of Bun'], ['Object.create(null)', 'of nothing']]) {
    const found = alone(`
      import { ml } from 'nnex';
      Object.defineProperty(globalThis, 'navigator', { value: ${navigator}, configurable: true });
      await import('nnex/polyfill');
      console.log('ml' in {}, navigator.ml === ml);`);
    assert.equal(found, 'false true', name);
  }
});

test('a file of require() shows its names to who imports it by itself', () => {
  const names = (way) => alone(`
    import { createRequire } from 'node:module';
    const require = createRequire(import.meta.resolve('nnex'));
    for (const entry of ['nnex', 'nnex/polyfill', 'nnex/onnxruntime']) console.log(Object.keys(${way}).filter(name => !/default|module.exports|__esModule/.test(name)).sort().join());`);
  assert.equal(names('await import(require.resolve(entry))'), names('await import(entry)'));
});

test('who imports the polyfill waits for nothing but a context', () => {
  const ours = alone(`${planted('{ createContext: () => new Promise((_, reject) => setTimeout(() => reject(none()), 100)) }')}
    require('nnex/polyfill');
    const held = navigator.ml, context = await held.createContext({ powerPreference: 'low-power' });
    console.log(held === other, navigator.ml === ml, typeof context.opSupportLimits, new globalThis.MLGraphBuilder(context).constructor === MLGraphBuilder, typeof (await held.createContext()).dispatch);`);
  assert.equal(ours, 'true true function true function');
  const theirs = alone(`${planted('new (class { asked = []; async createContext(...given) { this.asked.push(given); return { by: this, destroy() {} }; } })')}
    require('nnex/polyfill');
    const options = { powerPreference: 'low-power' }, context = await navigator.ml.createContext(options);
    console.log(context.by === other, navigator.ml === other, other.asked.length, other.asked[1][0] === options, Object.keys(other).join());`);
  assert.equal(theirs, 'true true 2 true asked');
});

test('an ML that never answers is given up', () => {
  const found = alone(`${planted('{ createContext: () => new Promise(() => {}) }')}
    const { setTimeout: later } = globalThis, start = performance.now();
    globalThis.setTimeout = (call, time, ...given) => later(call, time / 100, ...given);
    await import('nnex/polyfill');
    const context = await navigator.ml.createContext();
    console.log(typeof context.dispatch, navigator.ml === ml);`);
  assert.equal(found, 'function true');
});

test('what import and require() give is one', () => {
  const found = alone(`
    import { createRequire } from 'node:module';
    import * as nnex from 'nnex';
    import * as polyfill from 'nnex/polyfill';
    import * as ort from 'nnex/onnxruntime';
    const require = createRequire(import.meta.resolve('nnex'));
    for (const [name, imported] of Object.entries({ nnex, 'nnex/polyfill': polyfill, 'nnex/onnxruntime': ort })) {
      const required = require(name), names = Object.keys(required).filter(name => name !== 'default');
      console.log(names.length > 0, names.every(name => imported[name] === required[name]), Object.keys(imported).filter(name => name !== 'default').sort().join() === names.sort().join());
    }
    const context = await nnex.ml.createContext(), { MLGraphBuilder } = require('nnex');
    const builder = new MLGraphBuilder(context), d = { dataType: 'float32', shape: [1] };
    const graph = await builder.build({ y: builder.neg(builder.input('x', d)) });
    console.log(graph instanceof nnex.MLGraph, navigator.ml === require('nnex').ml, ort.default.Tensor === require('nnex/onnxruntime').Tensor);`);
  assert.equal(found, 'true true true\n'.repeat(4).trim());
});

test('two numbers are added, through require() too', async () => {
  const { context, graph, input, output } = await doubler();
  context.writeTensor(input, new Float32Array([21]));
  context.dispatch(graph, { x: input }, { y: output });
  assert.deepEqual(new Float32Array(await context.readTensor(output)), new Float32Array([42]));
  const { ml: other, MLGraphBuilder: Builder } = createRequire(import.meta.url)('nnex');
  const builder = new Builder(await other.createContext());
  assert.deepEqual(builder.input('x', one).shape, [1]);
});

test('errors have the names of the specification', async () => {
  const { context, graph, input, output } = await doubler();
  const builder = new MLGraphBuilder(context);
  assert.throws(() => builder.relu(1), TypeError);
  assert.throws(() => builder.constant({ dataType: 'float32', shape: [2] }, new Int32Array(2)), { name: 'TypeError', message: 'constant: found a view of another type than float32; needed Float32Array, Uint8Array or ArrayBuffer' });
  await assert.rejects(ml.createContext(5), { name: 'TypeError', message: 'ML.createContext: found the number 5; needed MLContextOptions or GPUDevice' });
  assert.throws(() => new MLTensor(), { name: 'TypeError', message: 'Illegal constructor' });
  assert.throws(() => MLContext.prototype.destroy.call({}), TypeError);
  await assert.rejects(MLContext.prototype.readTensor.call({}), TypeError);
  await assert.rejects(context.createTensor({ dataType: 'float33', shape: [] }), TypeError);
  graph.destroy();
  assert.throws(() => context.dispatch(graph, { x: input }, { y: output }), { name: 'InvalidStateError' });
  const pending = context.readTensor(output);
  context.destroy();
  await assert.rejects(pending, e => e instanceof DOMException && e.name === 'InvalidStateError');
  assert.equal((await context.lost).message.length > 0, true);
  assert.throws(() => new MLGraphBuilder(context), { name: 'InvalidStateError' });
});

test('a large tensor takes memory where it is touched', { skip: process.env.NNEX_ENGINE === 'wasm' && 'WebAssembly touches all of its memory' }, async () => {
  const context = await ml.createContext(), size = 2 ** 30;
  const before = process.memoryUsage.rss();
  const tensor = await context.createTensor({ dataType: 'uint8', shape: [size], readable: true });
  const taken = process.memoryUsage.rss() - before;
  assert.ok(taken < size / 8, `${taken} bytes`);
  tensor.destroy();
  context.destroy();
});

test('buffers: shared, offset, detached, resizable, too small', async () => {
  const context = await ml.createContext();
  const four = { dataType: 'int32', shape: [4], readable: true, writable: true };
  const tensor = await context.createTensor(four);
  const shared = new Int32Array(new SharedArrayBuffer(32), 8, 4);
  shared.set([1, 2, 3, 4]);
  context.writeTensor(tensor, shared);
  const into = new Int32Array(new SharedArrayBuffer(32), 16, 4);
  await context.readTensor(tensor, into);
  assert.deepEqual([...into], [1, 2, 3, 4]);
  const gone = new Int32Array(4);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  assert.throws(() => context.writeTensor(tensor, gone), TypeError);
  if ('resizable' in ArrayBuffer.prototype)
    assert.throws(() => context.writeTensor(tensor, new Int32Array(new ArrayBuffer(16, { maxByteLength: 32 }))), TypeError);
  await assert.rejects(context.readTensor(tensor, new Int32Array(3)), TypeError);
  const late = new ArrayBuffer(16);
  const reading = context.readTensor(tensor, late);
  structuredClone(late, { transfer: [late] });
  await assert.rejects(reading, TypeError);
});

test('promises are settled in the order of the calls, each before what waits for the next', async () => {
  const { context, output } = await doubler();
  const order = [];
  const note = name => () => order.push(name);
  const third = context.readTensor(output).then(note('read'));
  const fourth = context.createTensor(one).then(note('tensor'));
  const reading = context.readTensor(output);
  const fifth = context.createTensor(one).then(() => (order.push('destroying'), output.destroy()));
  const sixth = context.readTensor(output).then(note('late read'), e => order.push(e.name));
  await Promise.all([third, fourth, reading, fifth, sixth]);
  assert.deepEqual(order, ['read', 'tensor', 'destroying', 'InvalidStateError']);
});

test('the process ends when nothing is pending, and not before', () => {
  const source = `
    import { ml, MLGraphBuilder } from 'nnex';
    const context = await ml.createContext();
    context.lost.then(() => console.log('never'));
    const tensor = await context.createTensor({ dataType: 'float32', shape: [1], readable: true });
    context.readTensor(tensor).then(() => console.log('read'));`;
  assert.equal(alone(source), 'read');
});

test('contexts, graphs and tensors that are dropped give their memory back', { timeout: 300_000 }, () => {
  const source = `
    import { ml, MLGraphBuilder } from 'nnex';
    const d = { dataType: 'float32', shape: [1000] };
    async function round(count) {
      for (let i = 0; i < count; ++i) {
        const context = await ml.createContext();
        const builder = new MLGraphBuilder(context);
        const x = builder.input('x', d);
        const graph = await builder.build({ y: builder.relu(x) });
        const input = await context.createTensor({ ...d, writable: true });
        const output = await context.createTensor({ ...d, readable: true });
        context.dispatch(graph, { x: input }, { y: output });
        await context.readTensor(output);
        if (i % 50 === 0) { gc(); await new Promise(r => setTimeout(r, 5)); }
      }
      for (let i = 0; i < 5; ++i) { gc(); await new Promise(r => setTimeout(r, 50)); }
      return process.memoryUsage().rss / 2 ** 20;
    }
    const first = await round(1000);
    console.log(first, await round(1000));`;
  const [first, second] = alone(source, '--expose-gc').split(' ').map(Number);
  assert.ok(second < first * 1.05 + 2, `${first} MiB after 1000 contexts, ${second} after 2000`);
});

test('workers that are ended while they work harm nobody', { timeout: 300_000 }, async () => {
  const source = `
    const { ml, MLGraphBuilder } = require('nnex');
    const { parentPort } = require('node:worker_threads');
    (async () => {
      const d = { dataType: 'float32', shape: [256, 256] };
      const context = await ml.createContext();
      const builder = new MLGraphBuilder(context);
      const x = builder.input('x', d);
      const graph = await builder.build({ y: builder.matmul(x, x) });
      const input = await context.createTensor({ ...d, writable: true });
      const output = await context.createTensor({ ...d, readable: true });
      parentPort.postMessage('ready');
      for (;;) {
        for (let i = 0; i < 10; ++i) context.dispatch(graph, { x: input }, { y: output });
        context.createTensor(d);
        await context.readTensor(output);
      }
    })();`;
  const lives = async delay => {
    const worker = new Worker(source, { eval: true });
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await new Promise(resolve => setTimeout(resolve, delay));
    await worker.terminate();
  };
  for (let i = 0; i < 4; ++i) await Promise.all(Array.from({ length: 16 }, (_, k) => lives(k * 3)));
});

test('loading takes no time, and calls not much', () => {
  // A loaded machine makes everything slow: processor time is counted, and the best of several tries.
  let least = Infinity;
  for (let i = 0; i < 20 && least > 10; ++i)
    least = Math.min(least, Number(alone(`
      import { createRequire } from 'node:module';
      const require = createRequire(import.meta.resolve('nnex'));
      const start = process.cpuUsage();
      require('nnex');
      const { user, system } = process.cpuUsage(start);
      console.log((user + system) / 1000);`)));
  assert.ok(least <= 10, `require() takes ${least} ms`);
  const calls = alone(`
    import { ml, MLGraphBuilder } from 'nnex';
    const one = { dataType: 'float32', shape: [1] };
    const context = await ml.createContext();
    const builder = new MLGraphBuilder(context);
    const graph = await builder.build({ y: builder.relu(builder.input('x', one)) });
    const x = await context.createTensor({ ...one, writable: true });
    const y = await context.createTensor({ ...one, readable: true });
    let queued = Infinity, awaited = Infinity;
    for (let round = 0; round < 40; ++round) {
      let start = performance.now();
      for (let i = 0; i < 200; ++i) context.dispatch(graph, { x }, { y });
      queued = Math.min(queued, (performance.now() - start) * 5);
      await context.readTensor(y);
      start = performance.now();
      for (let i = 0; i < 200; ++i) {
        context.dispatch(graph, { x }, { y });
        await context.readTensor(y);
      }
      awaited = Math.min(awaited, (performance.now() - start) * 5);
    }
    console.log(queued, awaited);`);
  const [queued, awaited] = calls.split(' ').map(Number);
  assert.ok(queued <= 5, `a dispatch takes ${queued} us to be queued`);
  assert.ok(awaited <= 60, `a dispatch takes ${awaited} us to be done`);
});
