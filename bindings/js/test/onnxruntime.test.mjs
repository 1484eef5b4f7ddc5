// nnex/onnxruntime: the shape of ONNX Runtime's API, and the answers of onnxruntime-node where npm has it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as ours from 'nnex/onnxruntime';
import { identity, onnx } from './support/onnx-writer.mjs';
import { folder as peers, missing } from './support/peers.mjs';

const skip = missing({ 'onnxruntime-node': '1.30.0' });
const theirs = skip ? undefined : createRequire(pathToFileURL(join(peers, 'x.mjs')))('onnxruntime-node');

const two = onnx({
  inputs: { a: ['float32', ['N', 2]], b: ['float32', [2]] }, outputs: { p: ['float32', ['N', 2]], s: ['float32', ['N', 2]] },
  nodes: [{ op: 'Add', in: ['a', 'b'], out: ['s'] }, { op: 'Mul', in: ['a', 'b'], out: ['p'] }],
});
const feeds = ({ Tensor }) => ({ a: new Tensor('float32', [1, 2, 3, 4], [2, 2]), b: new Tensor('float32', [10, 20], [2]) });
const seen = (results) => Object.entries(results).map(([name, { type, dims, data }]) => [name, type, [...dims], Array.from(data)]);

/** What a call gives, or the class of what it throws. */
async function outcome(call) {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await call();
  } catch (error) {
    return `throws ${error instanceof TypeError ? 'TypeError' : error instanceof RangeError ? 'RangeError' : 'Error'}`;
  } finally {
    console.warn = warn;
  }
}

test('the module has what onnxruntime-node has', { skip }, () => {
  for (const name of Object.keys(theirs)) assert.equal(typeof ours[name], typeof theirs[name], name);
  for (const name of Object.keys(theirs)) assert.equal(typeof ours.default[name], typeof theirs[name], name);
  assert.ok(ours.listSupportedBackends().some(({ name }) => name === 'cpu'));
  assert.deepEqual(ours.env.versions, theirs.env.versions);
});

test('both copies of onnxruntime-common know nnex', async () => {
  for (const common of [await import('onnxruntime-common'), createRequire(import.meta.url)('onnxruntime-common')]) {
    const session = await common.InferenceSession.create(two.slice());
    assert.deepEqual([...(await session.run(feeds(common))).s.data], [11, 22, 13, 24]);
    assert.ok((await session.run(feeds(ours))).s);
  }
});

test("providers that code for ONNX Runtime's other packages asks for", async () => {
  for (const executionProviders of [['wasm'], ['webgpu', 'wasm'], [{ name: 'wasm' }], ['cpu'], ['nnex']]) {
    const session = await ours.InferenceSession.create(two.slice(), { executionProviders });
    assert.deepEqual([...(await session.run(feeds(ours))).s.data], [11, 22, 13, 24]);
  }
  await assert.rejects(ours.InferenceSession.create(two.slice(), { executionProviders: ['webgpu'] }), /webgpu/);
});

test("sessions of another package in the same process stay that package's, whichever is loaded first", () => {
  // As onnxruntime-node registers itself.
  const other = `const common = require('onnxruntime-common');
    common.registerBackend('cpu', { init: async () => {}, createInferenceSessionHandler: async () => ({ inputNames: ['theirs'], outputNames: [] }) }, 100);`;
  for (const load of [`require('nnex/onnxruntime'); ${other}`, `${other} require('nnex/onnxruntime');`]) {
    const text = `${load}
      const ours = require('nnex/onnxruntime'), model = Buffer.from('${Buffer.from(two).toString('base64')}', 'base64');
      (async () => {
        const said = [];
        for (const ort of [require('onnxruntime-common'), ours, ours.default])
          for (const options of [undefined, {}, { executionProviders: [] }, { executionProviders: ['cpu'] }, { executionProviders: [{ name: 'cpu' }] }, { executionProviders: ['nnex'] }])
            said.push((await ort.InferenceSession.create(model, options)).inputNames[0]);
        const { buffer, byteOffset, length } = model;
        for (const rest of [[byteOffset, length], [byteOffset, length, { executionProviders: ['cpu'] }]]) said.push((await ours.InferenceSession.create(buffer, ...rest)).inputNames[0]);
        const copy = new ArrayBuffer(length + 8);
        new Uint8Array(copy, 8).set(model);
        const session = await ours.InferenceSession.create(copy, 8);
        said.push(session.inputNames[0], session instanceof ours.InferenceSession, session instanceof require('onnxruntime-common').InferenceSession);
        console.log(said.join());
      })();`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', text], { cwd: fileURLToPath(new URL('.', import.meta.url)), encoding: 'utf8' });
    assert.equal(stdout, `${['theirs', 'theirs', 'theirs', 'theirs', 'theirs', 'a', ...Array(15).fill('a')].join()},true,true\n`, stderr);
  }
});

test('install() puts it where transformers.js looks', () => {
  const place = Symbol.for('onnxruntime');
  assert.equal(place in globalThis, false);
  assert.equal(ours.install(), globalThis[place]);
  for (const name of ['InferenceSession', 'Tensor', 'env']) assert.equal(globalThis[place][name], ours[name]);
  delete globalThis[place];
});

const calls = {
  'all outputs, in the order of the model': async (ort, s) => seen(await s.run(feeds(ort))),
  'feeds in another order': async (ort, s) => { const { a, b } = feeds(ort); return seen(await s.run({ b, a })); },
  'fetches by name': async (ort, s) => seen(await s.run(feeds(ort), ['s'])),
  'fetches in another order': async (ort, s) => seen(await s.run(feeds(ort), ['s', 'p'])),
  'fetches as an object': async (ort, s) => seen(await s.run(feeds(ort), { s: null })),
  'a given output': async (ort, s) => {
    const given = new ort.Tensor('float32', new Float32Array(4), [2, 2]);
    return [seen(await s.run(feeds(ort), { s: given })), Array.from(given.data)];
  },
  'a given output of other extents': (ort, s) => s.run(feeds(ort), { s: new ort.Tensor('float32', new Float32Array(6), [3, 2]) }),
  'a given output of another type': (ort, s) => s.run(feeds(ort), { s: new ort.Tensor('int32', new Int32Array(4), [2, 2]) }),
  'a missing feed': (ort, s) => s.run({ a: feeds(ort).a }),
  'a feed that no input has': async (ort, s) => seen(await s.run({ ...feeds(ort), c: feeds(ort).a })),
  'another type': (ort, s) => s.run({ ...feeds(ort), a: new ort.Tensor('int32', [1, 2], [1, 2]) }),
  'another rank': (ort, s) => s.run({ ...feeds(ort), a: new ort.Tensor('float32', [1, 2], [2]) }),
  'another extent': (ort, s) => s.run({ ...feeds(ort), a: new ort.Tensor('float32', [1, 2, 3], [1, 3]) }),
  'a number for a tensor': (ort, s) => s.run({ ...feeds(ort), a: 5 }),
  'null for a tensor': (ort, s) => s.run({ ...feeds(ort), a: null }),
  'an output that is none': (ort, s) => s.run(feeds(ort), ['q']),
  'no feeds': (ort, s) => s.run(),
  'run options': async (ort, s) => seen(await s.run(feeds(ort), ['s'], { tag: 'x', logSeverityLevel: 3, terminate: false })),
  'a level of detail that is none': async (ort, s) => seen(await s.run(feeds(ort), { logVerbosityLevel: 'x' })),
  'terminate that is no flag': async (ort, s) => seen(await s.run(feeds(ort), { terminate: 3 })),
  'a log level that is none': (ort, s) => s.run(feeds(ort), { logSeverityLevel: 9 }),
  'a tag that is no text': (ort, s) => s.run(feeds(ort), { tag: 5 }),
  'names and metadata': (ort, s) => [s.inputNames, s.outputNames, s.inputMetadata, s.outputMetadata],
  'after release': async (ort, s) => { await s.release(); return s.run(feeds(ort)); },
};
test('calls go as with onnxruntime-node', { skip }, async (t) => {
  for (const [name, call] of Object.entries(calls))
    await t.test(name, async () => {
      const answers = [];
      for (const ort of [ours, theirs]) {
        const session = await ort.InferenceSession.create(two.slice());
        answers.push(await outcome(() => call(ort, session)));
      }
      assert.deepEqual(answers[0], answers[1]);
    });
});

test('session options go as with onnxruntime-node', { skip }, async () => {
  for (const options of [
    {}, { executionProviders: ['cpu'] }, { executionProviders: [] }, { executionProviders: ['nobody'] }, { executionProviders: ['nobody', 'cpu'] },
    { executionProviders: [{ name: 'cpu', useArena: true }] }, { graphOptimizationLevel: 'disabled' }, { graphOptimizationLevel: 'all' },
    { graphOptimizationLevel: 'none' }, { graphOptimizationLevel: 5 }, { intraOpNumThreads: 1, interOpNumThreads: 1 }, { intraOpNumThreads: -1 },
    { intraOpNumThreads: 1.5 }, { intraOpNumThreads: 'x' }, { logSeverityLevel: 2, logVerbosityLevel: 0, logId: 'me' }, { logSeverityLevel: 7 }, { logId: 3 },
    { executionMode: 'parallel' }, { executionMode: 'x' }, { enableCpuMemArena: false, enableMemPattern: false }, { enableCpuMemArena: 3 },
    { enableMemPattern: 'x' }, { enableProfiling: 3 }, { freeDimensionOverrides: { nobody: 3 } }, { extra: { session: { a: 'b' } } }, { preferredOutputLocation: 'cpu' },
    { intraOpNumThreads: 2 ** 40 }, { interOpNumThreads: 2 ** 40 }, { logVerbosityLevel: -1 }, { extra: 5 }, { extra: { session: { a: 5 } } }, { extra: { session: 5 } },
    { extra: { session: { a: true } } }, { extra: { session: { a: { b: 'c' } } } }, { externalData: 'x' }, { externalData: {} }, { externalData: null }, { externalData: [] }, { externalData: [5] },
    { externalData: [null] }, { externalData: [{ path: 5, data: new Uint8Array(1) }] }, { externalData: [{ path: 'x', data: 5 }] }, { externalData: [{ path: 'x' }] },
    { externalData: [{ path: 'x', data: new Uint8Array(1) }] },
    { externalData: ['x', './x'].map((path) => ({ path, data: new Uint8Array(1) })) }, { externalData: ['x', 'x'].map((path) => ({ path, data: new Uint8Array(1) })) },
    ...[null, 'none', 'cpu', 'cpu-pinned', 'gpu-buffer', 'ml-tensor', '', 5, true, [], ['p'], {}, { p: 'cpu' }, { p: 'gpu-buffer' }, { p: 'x' }, { p: 5 }, { p: null }, { q: 'cpu' }]
      .map((preferredOutputLocation) => ({ preferredOutputLocation })),
  ]) {
    const answers = [];
    for (const ort of [ours, theirs])
      answers.push(await outcome(async () => seen(await (await ort.InferenceSession.create(two.slice(), options)).run(feeds(ort)))));
    assert.deepEqual(answers[0], answers[1], JSON.stringify(options));
  }
});

test('every type', async () => {
  const half = globalThis.Float16Array ?? Uint16Array;
  const rows = {
    float32: Float32Array.of(1.5, -0, Infinity), float64: Float64Array.of(1e300, 0, 1), float16: new half([1, 2, 3]), int8: Int8Array.of(-1, 0, 1),
    int16: Int16Array.of(-1, 0, 1), int32: Int32Array.of(-1, 0, 1), int64: BigInt64Array.of(-(2n ** 63n), 0n, 1n), uint8: Uint8Array.of(0, 1, 255),
    uint16: Uint16Array.of(0, 1, 65535), uint32: Uint32Array.of(0, 1, 2 ** 32 - 1), uint64: BigUint64Array.of(0n, 1n, 2n ** 64n - 1n), bool: Uint8Array.of(0, 1, 1),
    string: ['a', 'é', ''],
  };
  for (const [type, data] of Object.entries(rows)) {
    const answers = [];
    // Where Float16Array exists, onnxruntime-node 1.30 answers "not enough space" to float16.
    const comparable = theirs && !(type === 'float16' && globalThis.Float16Array);
    for (const ort of comparable ? [ours, theirs] : [ours]) {
      const session = await ort.InferenceSession.create(identity([type, [null, 3]]));
      const { s } = await session.run({ a: new ort.Tensor(type, data, [1, 3]) });
      assert.ok(s instanceof ort.Tensor);
      answers.push([session.inputMetadata, s.type, [...s.dims], s.data.constructor.name, Array.from(s.data, String)]);
    }
    assert.deepEqual(answers[0][4], Array.from(data, String), type);
    assert.deepEqual(answers[0], answers.at(-1), type);
  }
  const packed = await ours.InferenceSession.create(identity(['int4', [4]], 21, 10));
  assert.equal(packed.inputMetadata[0].type, 'int4');
  const { s } = await packed.run({ a: new ours.Tensor('int4', Uint8Array.of(0x21, 0x43), [4]) });
  assert.deepEqual([s.type, [...s.data]], ['int4', [0x21, 0x43]]);
});

test('one element of any rank is a scalar input, as for onnxruntime-node', async () => {
  const clip = onnx({ inputs: { x: ['float32', [2]], least: ['float32', []] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Max', in: ['x', 'least'], out: ['y'] }] });
  for (const dims of [[], [1], [1, 1]])
    for (const ort of theirs ? [ours, theirs] : [ours]) {
      const session = await ort.InferenceSession.create(clip.slice());
      const { y } = await session.run({ x: new ort.Tensor('float32', [1, -3], [2]), least: new ort.Tensor('float32', [-2], dims) });
      // ONNX Runtime computes with the extents that it is given.
      assert.deepEqual([ort === ours ? [...y.dims] : [2], [...y.data]], [[2], [1, -2]]);
    }
  const session = await ours.InferenceSession.create(clip);
  for (const dims of [[2], [0]])
    await assert.rejects(session.run({ x: new ours.Tensor('float32', [1, -3], [2]), least: new ours.Tensor('float32', new Float32Array(dims[0]), dims) }), { code: 'invalid argument' });
});

test('an optional output that has a tensor is that tensor', async () => {
  const optional = onnx({ inputs: { x: ['float32', [2]] }, outputs: { q: { optional: ['float32', [2]] } }, nodes: [{ op: 'Optional', in: ['x'], out: ['q'] }] });
  for (const ort of theirs ? [ours, theirs] : [ours]) {
    const session = await ort.InferenceSession.create(optional.slice());
    assert.deepEqual(session.outputMetadata, [{ name: 'q', isTensor: false }]);
    assert.deepEqual(seen(await session.run({ x: new ort.Tensor('float32', [1, 2], [2]) })), [['q', 'float32', [2], [1, 2]]]);
  }
});

test('an output named as a member of every object is fetched by its name alone', async () => {
  const session = await ours.InferenceSession.create(onnx({
    inputs: { x: ['float32', [1]] }, outputs: { toString: ['float32', [1]], y: ['float32', [1]] },
    nodes: [{ op: 'Neg', in: ['x'], out: ['toString'] }, { op: 'Abs', in: ['x'], out: ['y'] }],
  }));
  const x = new ours.Tensor('float32', [-3], [1]);
  assert.deepEqual(seen(await session.run({ x }, ['y'])), [['y', 'float32', [1], [3]]]);
  assert.deepEqual(seen(await session.run({ x }, ['toString'])), [['toString', 'float32', [1], [3]]]);
});

test('free dimensions are fixed, by the names that there are', async () => {
  const session = await ours.InferenceSession.create(two, { freeDimensionOverrides: { N: 2, nobody: 7 } });
  assert.deepEqual(session.inputMetadata[0].shape, [2, 2]);
  await assert.rejects(session.run({ ...feeds(ours), a: new ours.Tensor('float32', new Float32Array(6), [3, 2]) }), { code: 'invalid argument' });
});

test('models from paths, buffers and views; external data', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nnex-ort-'));
  try {
    const { convert } = await import('nnex');
    const weights = onnx({
      inputs: { x: ['float32', [1, 512]] }, outputs: { y: ['float32', [1, 512]] }, nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }],
      initializers: { w: { type: 'float32', dims: [512], data: Float32Array.from({ length: 512 }, (_, i) => i) } },
    });
    const files = await convert(weights, { to: 'onnx', externalData: true });
    const [model, [dataName, data]] = [files.get('model.onnx'), [...files].find(([name]) => name !== 'model.onnx')];
    for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
    const elsewhere = join(folder, 'elsewhere.bin');
    writeFileSync(elsewhere, data);
    const x = new ours.Tensor('float32', new Float32Array(512).fill(1), [1, 512]);
    const padded = new Uint8Array(model.length + 16);
    padded.set(model, 8);
    for (const args of [
      [join(folder, 'model.onnx')],
      [model, { externalData: [{ path: dataName, data }] }],
      [model, { externalData: [{ path: `./${dataName}`, data: elsewhere }] }],
      [model.slice().buffer, { externalData: [{ path: dataName, data: new Blob([data]) }] }],
      [padded.buffer, 8, model.length, { externalData: [{ path: dataName, data: data.slice().buffer }] }],
      [join(folder, 'model.onnx'), { externalData: [{ path: dataName, data }] }],
    ]) {
      const session = await ours.InferenceSession.create(...args);
      assert.equal((await session.run({ x })).y.data[511], 512);
    }
    await assert.rejects(ours.InferenceSession.create(model), { name: 'NnexError', code: 'unreadable', message: /needed that file with the model; option externalData gives it/ });
    await assert.rejects(ours.InferenceSession.create(two, { externalData: [{ path: './model.onnx', data: new Uint8Array(4) }] }),
      { name: 'TypeError', message: "Invalid argument: sessionOptions.externalData[0].path: './model.onnx' is a model's name; needed that of a file beside it." });
    await assert.rejects(ours.InferenceSession.create('a\0b.onnx'), { name: 'TypeError', message: /needed a path without NUL/ });
    await assert.rejects(ours.InferenceSession.create(model, { externalData: [{ path: dataName, data: 'a\0b' }] }), { name: 'TypeError', message: /needed a path without NUL/ });

  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('files that are not there, and what a server has not, are unreadable', async (t) => {
  await assert.rejects(ours.InferenceSession.create(two, { externalData: [{ path: 'w.bin', data: 'nobody.bin' }] }),
    { name: 'NnexError', code: 'unreadable', message: /^cannot read 'nobody\.bin': ENOENT/ });
  // As in pages, where a path is an address: the answer's body is no model.
  const { build } = await import('esbuild');
  const entry = fileURLToPath(new URL('../packages/nnex/src/onnxruntime/backend.ts', import.meta.url));
  const { outputFiles: [{ text }] } = await build({ entryPoints: [entry], bundle: true, write: false, format: 'esm' });
  const { backendOf } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  const page = backendOf(() => ({ load: async ({ bytes }) => assert.fail(`read ${bytes.length} bytes`) }));
  t.mock.method(globalThis, 'fetch', async (url) => Object.defineProperty(new Response('not here', { status: 404, statusText: 'Not Found' }), 'url', { value: `https://example.org/${url}` }));
  await assert.rejects(page.createInferenceSessionHandler('x.onnx'),
    { name: 'NnexError', code: 'unreadable', message: "cannot fetch 'https://example.org/x.onnx': 404 Not Found" });
  await assert.rejects(page.createInferenceSessionHandler(two, { externalData: ['w.bin'] }), { code: 'unreadable', message: /w\.bin': 404/ });
  t.mock.method(globalThis, 'fetch', async () => { throw new TypeError('Failed to fetch'); });
  await assert.rejects(page.createInferenceSessionHandler('x.onnx'), { name: 'NnexError', code: 'unreadable', message: "cannot fetch 'x.onnx': Failed to fetch" });
});

test('a tensor that does not hold together is refused by its name', async () => {
  const session = await ours.InferenceSession.create(two);
  const tensor = (dims, data, type = 'float32') => ({ type, dims, data });
  const rows = [
    [tensor([2, 2], new Float32Array(3)), /^input 'a': Tensor\.data has 3 items; needed 4 for Tensor\.dims \[2,2\]\.$/], [tensor([2, -2], new Float32Array(4)), /^input 'a': Tensor\.dims is \[2,-2\]/],
    [tensor([2, 2], new Float64Array(4)), /^input 'a': Tensor\.data is no array of float32\.$/], [tensor([2, 2], new DataView(new ArrayBuffer(16))), /^input 'a': Tensor\.data is no array/],
    [tensor([2, 2], ['1', '2', '3', '4']), /^input 'a': Tensor\.data is no array/], [Float32Array.of(1, 2, 3, 4), /^input 'a': found a Float32Array; needed a Tensor\.$/],
  ];
  const lost = feeds(ours).a;
  structuredClone(lost.data.buffer, { transfer: [lost.data.buffer] });
  rows.push([lost, /^input 'a': Tensor\.data has 0 items \(its memory is empty or was transferred\); needed 4/]);
  for (const [a, message] of rows) await assert.rejects(session.run({ ...feeds(ours), a }), { name: 'TypeError', message });
});

test('profiles are written as onnxruntime-node writes them', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nnex-ort-')), before = process.cwd();
  const named = (name) => name.replace(/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d\d\d/, 'TIME');
  try {
    const answers = [];
    for (const [i, ort] of [ours, theirs].entries()) {
      const place = join(folder, String(i));
      mkdirSync(place);
      process.chdir(place);
      const begin = (options) => ort.InferenceSession.create(two.slice(), options);
      const written = () => readdirSync(place).map(named).sort(), seenSoFar = [];
      const sessions = [];
      for (const profileFilePrefix of ['times', 'times', '']) sessions.push(await begin({ enableProfiling: true, profileFilePrefix }));
      for (const session of sessions) await session.run(feeds(ort));
      for (const session of sessions) session.endProfiling();
      seenSoFar.push(written());
      sessions[0].endProfiling();
      const other = await begin();
      other.startProfiling();
      await other.run(feeds(ort));
      other.endProfiling();
      seenSoFar.push(written());
      const released = await begin({ enableProfiling: true, profileFilePrefix: 'released' });
      await released.run(feeds(ort));
      await released.release();
      seenSoFar.push(written());
      answers.push(seenSoFar);
    }
    assert.deepEqual(answers[0], answers[1]);
    assert.deepEqual(answers[0][2], ['_TIME.json', 'released_TIME.json', 'times_TIME.json', 'times_TIME.json']);
    process.chdir(join(folder, '0'));
    for (const name of readdirSync('.')) {
      const events = JSON.parse(readFileSync(name, 'utf8'));
      assert.ok(events.length >= 1 && events.every((event) => event.ph === 'X' && event.dur >= 0 && event.args.op_name), JSON.stringify(events));
    }
    const nameless = await ours.InferenceSession.create(two, { enableProfiling: true }); // onnxruntime-node asks for a prefix
    nameless.endProfiling();
    assert.ok(readdirSync('.').some((name) => named(name) === 'onnxruntime_profile_TIME.json'), readdirSync('.').join());
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

test('what only nnex knows is refused with a word', async () => {
  await assert.rejects(ours.InferenceSession.create(identity(['bfloat16', [2]])), { code: 'unsupported', message: /bfloat16/ });
  await assert.rejects(ours.InferenceSession.create(two, { optimizedModelFilePath: 'x.onnx' }), /optimizedModelFilePath/);
  await assert.rejects(ours.InferenceSession.create(two, { extra: { nnex: { cache: 5 } } }), /extra\.nnex\.cache must be a string/);
  const sequence = await ours.InferenceSession.create(onnx({
    inputs: { a: ['float32', [2]] }, outputs: { q: { sequence: ['float32', [2]] } }, nodes: [{ op: 'SequenceConstruct', in: ['a'], out: ['q'] }],
  }));
  assert.deepEqual(sequence.outputMetadata, [{ name: 'q', isTensor: false }]);
  await assert.rejects(sequence.run({ a: new ours.Tensor('float32', [1, 2], [2]) }), /Non tensor/);
});
