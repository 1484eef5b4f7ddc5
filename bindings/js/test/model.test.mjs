// Models: ports, every form of input, every type, runs in order and side by side, stops, errors.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect as inConsole } from 'node:util';
import { Model, NnexError, Session, check, convert, inspect, load } from 'nnex';
import { hostile, Thrown } from './hostile/values.mjs';
import { affine, modelsOver, plain } from './support/networks.mjs';
import { identity, onnx } from './support/onnx-writer.mjs';

const slow = Number(process.env.NNEX_SLOW ?? 1) > 1 && 'it takes too long under sanitizers';

/** A product of n by n numbers, k times: work for a clock. */
function heavy(n, k) {
  const nodes = Array.from({ length: k }, (_, i) => ({ op: 'MatMul', in: [i ? `t${i}` : 'x', 'x'], out: [i + 1 < k ? `t${i + 1}` : 'y'] }));
  return onnx({ inputs: { x: ['float32', [n, n]] }, outputs: { y: ['float32', [n, n]] }, nodes });
}

test('a signal ends load, check, inspect and convert with its reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nnex-')), reason = new Error('enough'), isReason = (error) => error === reason;
  let last = 0;
  const toFile = (source, options) => convert(source, join(folder, `${++last}.onnx`), options);
  try {
    for (const call of [load, check, inspect, convert, toFile]) {
      await assert.rejects(call(affine, { signal: AbortSignal.abort(reason) }), isReason);
      const stop = new AbortController(), begun = call(affine, { signal: stop.signal });
      stop.abort(reason);
      await assert.rejects(begun, isReason);
      await assert.rejects(call(new Blob([affine]), { signal: stop.signal }), isReason);
      const { signal } = new AbortController();
      assert.ok(await call(affine, { signal }));
      assert.deepEqual(getEventListeners(signal, 'abort'), []);
      await assert.rejects(call(affine, { signal: 'x' }), { name: 'TypeError', message: /signal: found 'x'; needed an AbortSignal$/ });
    }
    const empty = join(folder, 'empty'), release = await holdThreads();
    mkdirSync(empty);
    const stop = new AbortController(), calls = Array.from({ length: 64 }, (_, i) => convert(affine, join(empty, `${i}.onnx`), { signal: stop.signal }));
    assert.equal(getEventListeners(stop.signal, 'abort').length, 1, 'Node warns of more than ten');
    stop.abort(reason);
    for (const call of calls) await assert.rejects(call, isReason);
    await release();
    await inspect(affine);  // behind them in the queue
    assert.deepEqual(readdirSync(empty), [], 'what had not begun is not done');
  } finally {
    rmSync(folder, { recursive: true, maxRetries: 9 });  // what had begun goes on
  }
});

/** Keeps the threads of the addon at work until what it returns is called: one run for each, and some that wait before others. */
async function holdThreads() {
  const model = await load(heavy(512, 1000)), x = new Float32Array(512 * 512), stop = new AbortController();
  const runs = Array.from({ length: Math.max(4, availableParallelism()) }, () => model.session({ threads: 1 }).run({ x }, { thread: 'always', signal: stop.signal }));
  return async () => {
    stop.abort();
    for (const run of runs) await assert.rejects(run, { name: 'AbortError' });
  };
}

test('what an engine makes for a call that was ended is freed', async () => {
  const freed = [], cancelled = [];
  let made;
  const engine = {
    canceller: () => ({}), cancel: (flag) => cancelled.push(flag), releaseModel: (model) => freed.push(model),
    load: (source, options, flag) => new Promise((resolve) => { made = () => resolve({ flag }); }),
  };
  const stop = new AbortController(), loading = (await modelsOver(() => engine)).load(affine, { signal: stop.signal });
  stop.abort();
  await assert.rejects(loading, { name: 'AbortError' });
  made();
  await new Promise(setImmediate);
  assert.equal(freed.length, 1);
  assert.equal(freed[0].flag, cancelled[0]);
});

test('models and sessions are made by calls alone', async () => {
  const model = await load(affine), session = model.session();
  for (const Class of [Model, Session, model.constructor, session.constructor, class extends Session {}])
    for (const args of [[], [undefined], [Symbol(), model, session]])
      assert.throws(() => new Class(...args), { name: 'TypeError', message: 'Illegal constructor' });
  assert.ok(model instanceof Model && session instanceof Session);
  assert.deepEqual([Model.name, Session.name, NnexError.name], ['Model', 'Session', 'NnexError']);
});

test('inputs of every kind are taken or refused', async () => {
  const model = await load(affine), empty = 'Float32Array whose memory was transferred or shrunk; needed f32[N,3]';
  const isFair = (error) => error instanceof NnexError ? error.code === 'invalid argument' : error instanceof TypeError || error instanceof Thrown;
  for (const [name, make] of Object.entries(hostile))
    for (const feeds of [{ x: make() }, { x: { data: make(), dims: [1, 3] } }, { x: { data: [1, 2, 3], dims: make() } }, { x: { data: [1, 2, 3], type: make() } }, make()])
      for (const options of [undefined, { borrow: true, thread: 'always' }])
        await model.run(feeds, options).catch((error) => assert.ok(isFair(error), `${name}: ${error?.stack}`));
  for (const name of ['a detached view', 'a view out of bounds'].filter((name) => name in hostile))
    await assert.rejects(model.run({ x: hostile[name]() }), { code: 'invalid argument', message: `input 'x': found a ${empty}` });
  assert.deepEqual((await model.run({ x: new Float32Array(0) })).y.dims, [0, 3]);
  const self = [], long = [];
  long.length = 2 ** 32 - 1;
  await assert.rejects(model.run({ x: long }), { message: /found an array of 4294967295 items/ });
  self.push(self);
  await assert.rejects(model.run({ x: self }), { message: "input 'x': found arrays nested more than 64 deep; needed f32[N,3]" });
});

test('numbers become floats of 16 bits, rounded to the nearest', async () => {
  const bits = ({ buffer, byteOffset, length }) => Array.from(new Uint16Array(buffer, byteOffset, length));
  const rows = [
    ['float16', [1, -0, 2 ** -24, 2 ** -25, 2 ** -25 + 2 ** -60, 65519, 65520, NaN], [0x3c00, 0x8000, 1, 0, 1, 0x7bff, 0x7c00, 0x7e00]],
    ['float16', [1 + 2 ** -11, 1 + 2 ** -11 + 2 ** -40, 1 + 3 * 2 ** -11, -Infinity, 5n, 0, 0, 0], [0x3c00, 0x3c01, 0x3c02, 0xfc00, 0x4500, 0, 0, 0]],
    ['bfloat16', [1, -0, 1 + 2 ** -8, 1 + 2 ** -8 + 2 ** -40, 1 + 3 * 2 ** -8, 3.4e38, 2 ** -133, NaN], [0x3f80, 0x8000, 0x3f80, 0x3f81, 0x3f82, 0x7f80, 1, 0x7fc0]],
  ];
  for (const [type, items, expected] of rows) {
    const model = await load(identity([type, [8]]));
    assert.deepEqual(bits((await model.run({ a: items })).s.data), expected, type);
    await assert.rejects(model.run({ a: [...items.slice(1), '1'] }), { message: `input 'a': found '1' at [7], which is no ${type}; needed ${model.inputs[0].text}` });
  }
});

test('names in messages show what cannot be seen', async () => {
  const model = await load(onnx({ inputs: { 'a\n\u202eb': ['float32', [1]] }, outputs: { y: ['float32', [1]] }, nodes: [{ op: 'Relu', in: ['a\n\u202eb'], out: ['y'] }] }));
  await assert.rejects(model.run({}), { message: "input 'a\\u000A\\u202Eb' is missing; needed f32[1]" });
  await assert.rejects(model.run({ '\u{e0001}': 1 }), { message: "no input '\\uDB40\\uDC01'; the model has 'a\\u000A\\u202Eb'" });
  await assert.rejects(load({ 'a\0': 3 }), { message: "load: file 'a\\u0000': found 3; needed bytes or a Blob" });
});

test('options of a wrong kind, and those that there are not, are TypeErrors with the option and what it may be', async () => {
  const model = await load(affine), x = { x: [1, 2, 3] };
  const rows = [
    ...['x', null, 5, [], new Map()].map((options) => [() => load(affine, options), /^load: options: found .*; needed an object$/]),
    [() => load(affine, { thread: 1 }), /^load: no option 'thread'; there are name, symbols, .*threads, seed$/], [() => load(affine, { simbols: {} }), /^load: no option 'simbols'/],
    [() => load(affine, { cache: 5 }), /^load: cache: found 5; needed a path/], [() => load(affine, { cache: 'a\0b' }), /^load: cache: found 'a\\u0000b'; needed a path without NUL/],
    [() => load(affine, { externalFolder: 4 }), /^load: externalFolder: found 4;/], [() => load(affine, { optimize: 'no' }), /^load: optimize: found 'no'; needed true or false$/],
    [() => load(affine, { symbols: null }), /^load: symbols: found null; needed an object of whole numbers$/], [() => load(affine, { symbols: new Map([['N', 1]]) }), /^load: symbols: found a Map/],
    [() => load(affine, { symbols: { N: 1.5 } }), /^load: symbols\.N: found 1\.5; needed a whole number$/], [() => load(affine, { shapes: { x: [1, '3'] } }), /^load: shapes\.x\[1\]: found '3'/],
    [() => load(affine, { name: 4 }), /^load: name: found 4; needed text$/], [() => load(affine, { threads: 2 ** 40 }), /^load: threads: found 1099511627776/],
    [() => load(affine, { map: 'sometimes' }), /^load: map: found 'sometimes'; needed one of automatic, never, always$/], [() => load(affine, { seed: -1 }), /^load: seed: found -1/],
    [() => check(affine, { threads: 1 }), /^check: no option 'threads'/], [() => inspect(affine, { optimize: 1 }), /^inspect: optimize: found 1/],
    [() => convert(affine, { to: 'onnx', symbols: { N: 1 } }), /^convert: no option 'symbols'; there are to, .*, load; for reading: load: \{ symbols \}$/],
    [() => convert(affine, { load: { simbols: {} } }), /^convert: load: no option 'simbols'/], [() => convert(affine, { custom: 1 }), /^convert: custom: found 1/],
    [() => convert(affine, { to: 'tar', packing: 'tgz' }), /^convert: packing: found 'tgz' with to: 'tar'; needed 'tar', or none$/], [() => convert(affine, { to: 'js', form: 'module' }), /^convert: form: found 'module'/],
    [() => convert(affine, 'x.nnef', 5), /^convert: options: found 5/], [async () => model.session({ thread: 1 }), /^session: no option 'thread'; there are threads, seed$/],
    ...[4, null, 'z'].map((options) => [() => model.run(x, options), /^run: options: found .*; needed an object$/]),
    [() => model.run(x, { thread: 'x' }), /^run: thread: found 'x'; needed one of auto, always$/], [() => model.run(x, { outputs: 's' }), /^run: outputs: found 's'; needed an array of names$/],
    [() => model.run(x, { outputs: [5] }), /^run: outputs\[0\]: found 5; needed text$/], [() => model.run(x, { signal: {} }), /^run: signal: found an object; needed an AbortSignal$/],
    [() => model.run(x, { timeout: NaN }), /^run: timeout: found NaN; needed milliseconds/], [() => model.run(x, { borrow: 1 }), /^run: borrow: found 1/],
    [() => model.run(x, { output: ['y'] }), /^run: no option 'output'; there are outputs, signal, timeout, thread, borrow$/],
    [async () => model.runSync(x, { signal: new AbortController().signal }), /^runSync: no option 'signal'; there are outputs, timeout$/], [() => model.profile(x, null), /^profile: options: found null/],
    [() => model.prepare({ x: 'text' }), /^prepare: shapes\.x: found 'text'; needed an array of extents$/], [() => model.prepare(null), /^prepare: shapes: found null/],
  ];
  for (const [call, message] of rows)
    await assert.rejects(async () => call(), (error) => {
      assert.ok(error instanceof TypeError, String(error));
      assert.match(error.message, message);
      return true;
    });
  assert.deepEqual(Object.keys(await model.run(x, { outputs: ['z'], thread: undefined, timeout: Infinity })), ['z']);
  assert.deepEqual(Object.keys(await model.run(x, { outputs: ['z'], timeout: Number.MAX_SAFE_INTEGER })), ['z']);
});

test('ports, metadata and sessions are described', async () => {
  const model = await load(affine);
  assert.deepEqual(model.inputs[0], {
    name: 'x', text: 'f32[N,3]', type: 'float32', dims: ['N', 3], valueType: { kind: 'tensor', type: 'float32', dims: ['N', 3] },
  });
  assert.deepEqual(model.outputs.map((port) => port.name), ['y', 'z']);
  assert.deepEqual(model.states, []);
  assert.equal(model.metadata.producer, 'nnex tests');
  assert.equal(model.metadata.opsets[''], 17);
  assert.equal(model.metadata.properties.author, 'tests');
  assert.deepEqual((await load(affine, { symbols: { N: 4 } })).inputs[0].dims, [4, 3]);
  assert.deepEqual((await load(identity(['float32', [null, 2]]))).inputs[0].dims, ['?', 2]);
  assert.equal((await load(identity(['float32']))).inputs[0].dims, undefined);
});

test('consoles show what goes in and comes out', async () => {
  const model = await load(affine), session = model.session();
  const shown = "{\n  inputs: { x: 'f32[N,3]' },\n  outputs: { y: 'f32[N,3]', z: 'f32[N,3]' }\n}";
  assert.deepEqual([inConsole(model), inConsole(session)], [`Model ${shown}`, `Session ${shown}`]);
  session.dispose();
  assert.match(inConsole({ at: [session] }, { depth: 5 }), /Session \{[^]*released: true/);
});

test('inputs in every form', async () => {
  const model = await load(affine);
  const expected = { type: 'float32', dims: [2, 3], data: [2, 4, 6, 8, 10, 12] };
  const flat = Float32Array.of(1, 2, 3, 4, 5, 6);
  const shared = new Float32Array(new SharedArrayBuffer(24));
  shared.set(flat);
  const forms = [
    flat, shared, Array.from(flat), [[1, 2, 3], [4, 5, 6]], { data: flat, dims: [2, 3] }, { data: flat, dims: [2, 3], type: 'float32' },
    { data: Array.from(flat), dims: [2, 3] }, { data: flat }, { type: 'float32', dims: [2, 3], data: flat, location: 'cpu' },
    { data: flat, dims: new Proxy([2, 3], {}) },  // as reactive state hands them out
  ];
  for (const x of forms)
    for (const out of [await model.run({ x }), model.runSync({ x }), await model.run({ x }, { thread: 'always' }), await model.run({ x }, { borrow: true, thread: 'always' })])
      assert.deepEqual(plain(out.y), expected);

  const scalar = await load(identity(['int64', []]));
  for (const a of [5, 5n, [5n], { data: BigInt64Array.of(5n), dims: [] }]) assert.deepEqual(plain((await scalar.run({ a })).s), { type: 'int64', dims: [], data: [5n] });
  const any = await load(identity(['float32']));
  assert.deepEqual((await any.run({ a: new Float32Array(4) })).s.dims, [4]);
  assert.deepEqual((await any.run({ a: 5 })).s.dims, []);
  assert.deepEqual((await any.run({ a: [[[1], [2]]] })).s.dims, [1, 2, 1]);
  assert.deepEqual((await any.run({ a: { data: new Float32Array(0), dims: [0, 7] } })).s.dims, [0, 7]);
});

test('borrowed memory that can be resized is copied', { skip: !ArrayBuffer.prototype.resize && 'no buffer of this runtime can be resized' }, async () => {
  const model = await load(affine);
  const buffer = new ArrayBuffer(12e6, { maxByteLength: 12e6 });
  const data = new Float32Array(buffer).fill(1);
  const run = model.run({ x: { data, dims: [1e6, 3] } }, { borrow: true, thread: 'always' });
  buffer.resize(0);
  assert.ok((await run).z.data.every((item) => item === 3));
});

test('every type', async () => {
  const half = globalThis.Float16Array ?? Uint16Array;
  const rows = [
    ['float64', Float64Array.of(0.1, -0, NaN)], ['float32', Float32Array.of(1.5, Infinity, -0)], ['float16', new half([1, 2, 3])],
    ['bfloat16', Uint16Array.of(0x3f80, 1, 0x8000)], ['float8e4m3fn', Uint8Array.of(1, 2, 255), 19], ['float8e4m3fnuz', Uint8Array.of(1, 2, 255), 19],
    ['float8e5m2', Uint8Array.of(1, 2, 255), 19], ['float8e5m2fnuz', Uint8Array.of(1, 2, 255), 19], ['float8e8m0', Uint8Array.of(1, 2, 254), 24],
    ['float4e2m1', Uint8Array.of(0x21, 0x03), 23], ['int64', BigInt64Array.of(-(2n ** 63n), 0n, 2n ** 63n - 1n)], ['int32', Int32Array.of(-1, 0, 2)],
    ['int16', Int16Array.of(-1, 0, 2)], ['int8', Int8Array.of(-128, 0, 127)], ['int4', Uint8Array.of(0xf1, 0x07), 21],
    ['uint64', BigUint64Array.of(0n, 1n, 2n ** 64n - 1n)], ['uint32', Uint32Array.of(0, 1, 2 ** 32 - 1)], ['uint16', Uint16Array.of(0, 1, 65535)],
    ['uint8', Uint8Array.of(0, 1, 255)], ['uint4', Uint8Array.of(0xf1, 0x07), 21], ['bool', Uint8Array.of(1, 0, 1)],
    ['complex64', Float32Array.of(1, 2, 3, 4, 5, 6)], ['complex128', Float64Array.of(1, 2, 3, 4, 5, 6)], ['string', ['a', '', 'zwölf\0\u{1F600}']],
  ];
  for (const [type, data, opset = 17] of rows) {
    const model = await load(identity([type, [3]], opset, opset > 17 ? 11 : 8));
    assert.equal(model.inputs[0].type, type);
    for (const a of [data, { data, dims: [3] }, { data, dims: [3], type }])
      for (const { s } of [await model.run({ a }, { thread: 'always' }), model.runSync({ a })]) {
        assert.equal(s.type, type);
        assert.equal(s.data.constructor, data.constructor, type);
        assert.deepEqual(s.data, data, type);
        assert.notEqual(s.data, data);
      }
  }
  const bits = (await (await load(identity(['float16', [2]]))).run({ a: Uint16Array.of(0x3c00, 0xc000) })).s.data;
  assert.deepEqual([...new Uint16Array(bits.buffer, bits.byteOffset, 2)], [0x3c00, 0xc000]);
  const packed = (await load(identity(['int4', [5]], 21, 10)));
  for (const a of [{ data: Uint8Array.of(0x21, 0x43, 0x05), dims: [5] }, [1, 2, 3, 4, 5]]) assert.deepEqual((await packed.run({ a })).s.data, Uint8Array.of(0x21, 0x43, 0x05));
  assert.deepEqual((await packed.run({ a: [-1, 2, -8, 7, 0] })).s.data, Uint8Array.of(0x2f, 0x78, 0x00));
  await assert.rejects(packed.run({ a: [1, 2, 3, 4, 5, 6] }), { message: /found 6 elements without dims/ });
});

test('sequences, maps and optionals', async () => {
  const split = await load(onnx({
    inputs: { s: { sequence: ['float32', [null]] } }, outputs: { q: { sequence: ['float32', [null]] }, n: ['int64', []] },
    nodes: [{ op: 'Identity', in: ['s'], out: ['q'] }, { op: 'SequenceLength', in: ['s'], out: ['n'] }],
  }));
  assert.equal(split.inputs[0].valueType.kind, 'sequence');
  const out = await split.run({ s: [Float32Array.of(1, 2), [3]] });
  assert.deepEqual(out.q.map(plain), [{ type: 'float32', dims: [2], data: [1, 2] }, { type: 'float32', dims: [1], data: [3] }]);
  assert.deepEqual(out.n.data, BigInt64Array.of(2n));
  assert.deepEqual((await split.run({ s: [] })).q, []);

  const zip = await load(onnx({
    domains: { 'ai.onnx.ml': 1 }, inputs: { x: ['float32', [1, 2]] }, outputs: { m: { sequence: { map: ['string', ['float32', []]] } } },
    nodes: [{ op: 'ZipMap', domain: 'ai.onnx.ml', in: ['x'], out: ['m'], attributes: { classlabels_strings: ['no', 'yes'] } }],
  }));
  const [map] = (await zip.run({ x: [0.25, 0.75] })).m;
  assert.deepEqual([...map].map(([key, value]) => [key, value.data[0]]), [['no', 0.25], ['yes', 0.75]]);

  const cast = await load(onnx({
    domains: { 'ai.onnx.ml': 1 }, inputs: { m: { map: ['int64', ['float32', []]] } }, outputs: { y: ['float32', [1, null]] },
    nodes: [{ op: 'CastMap', domain: 'ai.onnx.ml', in: ['m'], out: ['y'], attributes: { cast_to: 'TO_FLOAT', map_form: 'DENSE' } }],
  }));
  assert.deepEqual(plain((await cast.run({ m: new Map([[7n, 2.5], [3, 1.5]]) })).y), { type: 'float32', dims: [1, 2], data: [1.5, 2.5] });
  for (const [keys, what] of [[['7'], "'7', which is no int64"], [[1.5], '1.5, which is no int64'], [[1n << 64n], '18446744073709551616n, which is no int64'], [[3, 3n], '3n twice']])
    await assert.rejects(cast.run({ m: new Map(keys.map((key) => [key, 1])) }), { code: 'invalid argument', message: `input 'm': found a map with the key ${what}; needed ${cast.inputs[0].text}` });

  const optional = await load(onnx({
    opset: 18, inputs: { o: { optional: ['float32', [2]] } }, outputs: { h: ['bool', []] }, nodes: [{ op: 'OptionalHasElement', in: ['o'], out: ['h'] }],
  }));
  assert.deepEqual([...(await optional.run({ o: null })).h.data], [0]);
  assert.deepEqual([...(await optional.run({})).h.data], [0]);
  assert.deepEqual([...(await optional.run({ o: [1, 2] })).h.data], [1]);
});

test('the wanted outputs alone', async () => {
  const model = await load(affine);
  assert.deepEqual(Object.keys(await model.run({ x: [1, 2, 3] }, { outputs: ['z'] })), ['z']);
  assert.deepEqual(Object.keys(model.runSync({ x: [1, 2, 3] }, { outputs: ['z', 'y'] })), ['y', 'z']);
  await assert.rejects(model.run({ x: [1, 2, 3] }, { outputs: ['q'] }), { code: 'invalid argument', message: "no output 'q'; the model has 'y', 'z'" });
});

test('an output named __proto__ is an output', async () => {
  const model = await load(onnx({ inputs: { x: ['float32', [1]] }, outputs: { ['__proto__']: ['float32', [1]] }, nodes: [{ op: 'Neg', in: ['x'], out: ['__proto__'] }] }));
  const out = await model.run({ x: 1 });
  assert.ok(Object.hasOwn(out, '__proto__'));
  assert.equal(Object.getOwnPropertyDescriptor(out, '__proto__').value.data[0], -1);
});

test('what is wrong with a call is said: found and needed', async () => {
  const model = await load(affine);
  const rows = [
    [{}, "input 'x' is missing; needed f32[N,3]"],
    [null, "inputs: found null; needed an object with 'x'"],
    [[1, 2, 3], "inputs: found an array; needed an object with 'x'"],
    [new Map([['x', [1, 2, 3]]]), "inputs: found a Map; needed an object with 'x'"], [{ x: new Map([[1n, [1]]]) }, "input 'x': found a Map; needed f32[N,3]"],
    [{ x: { data: [1, 2, 3], dims: 0 } }, "input 'x': found a tensor whose dims are 0; needed f32[N,3]"],
    [{ x: { data: [1, 2, 3], dims: [Symbol('s'), '3'] } }, "input 'x': found a tensor with dims [a symbol,'3']; needed f32[N,3]"],
    [{ x: { values: null, indices: {}, dims: [] } }, "input 'x': found a sparse tensor whose values are null; needed f32[N,3]"],
    [{ x: [1, 2, 3], w: 1 }, "no input 'w'; the model has 'x'"],
    [{ w: [1, 2, 3] }, "no input 'w'; the model has 'x'"],
    [{ x: Int32Array.of(1, 2, 3) }, "input 'x': found i32[1,3]; needed f32[N,3]"],
    [{ x: new Float32Array(4) }, "input 'x': found 4 elements without dims; needed f32[N,3]"],
    [{ x: { data: new Float32Array(4), dims: [2, 2] } }, "input 'x': found f32[2,2]; needed f32[N,3]"],
    [{ x: { data: new Float32Array(4), dims: [1, 3] } }, "input 'x': found 4 items of data for dims [1,3], which take 3; needed f32[N,3]"],
    [{ x: { data: new Float32Array(3), dims: [1, -3] } }, "input 'x': found a tensor with dims [1,-3]; needed f32[N,3]"],
    [{ x: { data: new Float32Array(3), dims: [1, 3], type: 'int32' } }, "input 'x': found a Float32Array as int32; that takes an Int32Array; needed f32[N,3]"],
    [{ x: { data: new Float32Array(3), dims: [1, 3], type: 'float' } }, "input 'x': found a tensor of type 'float', which there is not; needed f32[N,3]"],
    [{ x: [[1, 2, 3], [4]] }, "input 'x': found nested arrays of unequal lengths; needed f32[N,3]"],
    [{ x: [[1, [2], 3]] }, "input 'x': found nested arrays of unequal depth; needed f32[N,3]"],
    [{ x: new DataView(new ArrayBuffer(12)) }, "input 'x': found a DataView; needed f32[N,3]"],
    [{ x: () => 1 }, "input 'x': found a function; needed f32[N,3]"],
    [{ x: null }, "input 'x': found null; needed f32[N,3]"],
    [{ x: { data: 5 } }, "input 'x': found a tensor whose data is no array; needed f32[N,3]"],
    [{ x: ['a', 'b', 'c'] }, "input 'x': found 'a' at [0], which is no float32; needed f32[N,3]"],
    [{ x: [1, undefined, 3] }, "input 'x': found undefined at [1], which is no float32; needed f32[N,3]"],
    [{ x: [1, , 3] }, "input 'x': found undefined at [1], which is no float32; needed f32[N,3]"],
    [{ x: [1, null, 3] }, "input 'x': found null at [1], which is no float32; needed f32[N,3]"],
    [{ x: [[1, 2, 3], [4, undefined, 6]] }, "input 'x': found undefined at [1][1]; needed f32[N,3]"],
    [{ x: { data: [1, 2, '3'], dims: [1, 3] } }, "input 'x': found '3' at [2], which is no float32; needed f32[N,3]"],
    [{ x: new Int8Array(3) }, "input 'x': found i8[1,3]; needed f32[N,3]"],
  ];
  for (const [feeds, message] of rows) {
    const check = (error) => {
      assert.ok(error instanceof NnexError && error instanceof Error, String(error));
      assert.equal(error.code, 'invalid argument');
      assert.equal(error.message, message);
      return true;
    };
    await assert.rejects(model.run(feeds), check);
    assert.throws(() => model.runSync(feeds), check);
  }
});

test('numbers in arrays are elements of the type, or refused', async () => {
  const rows = [
    ['int8', [-128, 127], [[128], [-129], [1.5], [NaN], ['1'], [true], [1n << 40n]]], ['uint8', [0, 255], [[256], [-1], [Infinity]]],
    ['int32', [-(2 ** 31), 7n], [[2 ** 31], [0.1]]], ['int64', [2 ** 53, -(2n ** 63n)], [[2n ** 63n], [1e300], [1.5], ['7']]],
    ['uint64', [0, 2n ** 64n - 1n], [[-1], [2n ** 64n]]], ['bool', [true, 0], [[2], ['true'], [null]]], ['float64', [0.1, 3n], [['0.1'], [false]]],
    ['int4', [-8, 7n], [[8], [-9], [0.5], ['1']]], ['uint4', [0, 15], [[16], [-1]]], ['string', ['', 'a'], [[5], [undefined], [null]]],
  ];
  for (const [type, good, bad] of rows) {
    const model = await load(identity([type, [null]]));
    assert.deepEqual((await model.run({ a: good })).s.dims, [2]);
    for (const items of bad)
      for (const [a, place] of [[items, 0], [[good[0], ...items], 1]])
        await assert.rejects(model.run({ a }), (error) => error.code === 'invalid argument' && error.message.startsWith("input 'a': found ") && error.message.includes(` at [${place}], which is no ${type}`), `${type}: ${String(items)}`);
  }
});

test('what cannot be read is an error that says so', async () => {
  await assert.rejects(load('/nowhere/at all.onnx'), (error) => {
    assert.equal(error.name, 'NnexError');
    assert.equal(error.code, 'unreadable');
    assert.equal(error.detail, "cannot open '/nowhere/at all.onnx': No such file or directory");
    assert.deepEqual(error.tasks, ["reading '/nowhere/at all.onnx'"]);
    assert.equal(error.message, `${error.detail}\n  while ${error.tasks[0]}`);
    assert.match(error.stack, /^NnexError: cannot open/);
    return true;
  });
});

test('errors keep code, place and tasks', async () => {
  const broken = onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Add', in: ['x', 'nobody'], out: ['y'], name: 'sum' }] });
  await assert.rejects(load(broken, { name: 'broken.onnx' }), (error) => {
    assert.equal(error.code, 'invalid model');
    assert.match(error.where, /sum/);
    assert.ok(error.message.startsWith(`${error.where}: ${error.detail}`));
    return true;
  });
  const unknown = onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Frobnicate', in: ['x'], out: ['y'] }] });
  await assert.rejects(load(unknown), { code: 'unsupported', message: /Frobnicate/ });
  await assert.rejects(load(affine, { memoryLimit: -1 }), TypeError);
  await assert.rejects(load(affine, { isa: 'mmx' }), TypeError);
  await assert.rejects(load(affine, { symbols: { N: 1.5 } }), TypeError);
  await assert.rejects(load(affine, { symbols: { Q: 1 } }), { code: 'invalid argument', message: /no symbol 'Q'/ });
  await assert.rejects(load(heavy(512, 2), { memoryLimit: 100_000 }).then((model) => model.run({ x: new Float32Array(512 * 512) })), { code: 'limit reached' });
  const gather = await load(onnx({
    inputs: { x: ['float32', [3]], i: ['int64', [1]] }, outputs: { y: ['float32', [1]] }, nodes: [{ op: 'Gather', in: ['x', 'i'], out: ['y'], name: 'pick' }],
  }));
  await assert.rejects(gather.run({ x: [1, 2, 3], i: [7] }), { code: 'fault', where: /pick/ });
});

test('errors and faults name the options that would help', async () => {
  await assert.rejects(convert(affine, { to: 'nnef' }), (error) => {
    assert.deepEqual(error.remedies, [{ option: 'load.symbols', value: '', effect: 'fixes them' }]);
    assert.equal(error.message, `${error.detail}; option load.symbols fixes them`);
    return true;
  });
  assert.ok(await convert(affine, { to: 'nnef', load: { symbols: { N: 2 } } }));
  const text = 'version 1.0;\nextension tract_registry tract_core;\ngraph g(x) -> (y) { x = external(shape = [2]); y = tract_core_erf(x); }\n';
  const { faults } = await check(new TextEncoder().encode(text), { name: 'graph.nnef' });
  const fault = faults.find(({ rule }) => rule === 'S18');
  assert.deepEqual(fault.remedies, [{ option: 'nnefDialect', value: 'tract', effect: 'reads what tract writes' }]);
  assert.ok(fault.text.endsWith("is sonos/tract's; option nnefDialect = tract reads what tract writes"), fault.text);
  assert.ok((await check(new TextEncoder().encode(text), { name: 'graph.nnef', nnefDialect: 'tract' })).sound);
});

test('inputs are read when run is called', async () => {
  const model = await load(heavy(64, 3));
  const x = new Float32Array(64 * 64).fill(0.01);
  const { y: expected } = model.runSync({ x });
  const running = model.run({ x }, { thread: 'always' });
  x.fill(0);
  assert.deepEqual((await running).y.data, expected.data);
  const y = (await model.run({ x: new Float32Array(64 * 64).fill(0.01) })).y.data;
  y.fill(7); // an output's memory is its own
  assert.deepEqual((await model.run({ x: new Float32Array(64 * 64).fill(0.01) })).y.data, expected.data);
});

test('an output that is a constant or an input is not the memory of either', async () => {
  const big = Float32Array.from({ length: 4096 }, (_, i) => i);
  const model = await load(onnx({
    inputs: { x: ['float32', [4096]] }, outputs: { c: ['float32', [4096]], d: ['float32', [4096]], e: ['float32', [4096]] },
    initializers: { w: { type: 'float32', dims: [4096], data: big } },
    nodes: [{ op: 'Identity', in: ['w'], out: ['c'] }, { op: 'Identity', in: ['x'], out: ['d'] }, { op: 'Identity', in: ['x'], out: ['e'] }],
  }));
  const x = new Float32Array(4096).fill(3);
  const first = model.runSync({ x });
  for (const name of ['c', 'd', 'e']) first[name].data.fill(9);
  assert.ok(x.every((value) => value === 3));
  const second = model.runSync({ x });
  assert.deepEqual(second.c.data, big);
  assert.deepEqual(second.d.data, x);
  assert.notEqual(second.d.data.buffer, second.e.data.buffer);
});

test('runs of a session come in order, sessions run side by side, the event loop goes on', { skip: slow }, async () => {
  const model = await load(heavy(256, 8));
  const x = new Float32Array(256 * 256).fill(0.001);
  const done = [];
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  await Promise.all(Array.from({ length: 8 }, (_, i) => model.run({ x }, { thread: 'always' }).then(() => done.push(i))));
  clearInterval(timer);
  assert.deepEqual(done, [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.ok(ticks > 0);
  const { y } = model.runSync({ x });
  const sessions = Array.from({ length: 6 }, (_, i) => model.session({ threads: 1 + (i % 2) }));
  for (const out of await Promise.all(sessions.map((session) => session.run({ x })))) assert.deepEqual(out.y.data, y.data);
  sessions.forEach((session) => session.dispose());
  const running = model.run({ x }, { thread: 'always' });
  assert.throws(() => model.runSync({ x }), { code: 'invalid argument' });
  await running;
});

test('AbortSignal and timeout stop runs', { skip: slow }, async () => {
  const model = await load(heavy(512, 40));
  const x = new Float32Array(512 * 512).fill(1e-4);
  const start = performance.now();
  await assert.rejects(model.run({ x }, { timeout: 5 }), { code: 'cancelled', message: 'the run passed its timeout of 5 ms' });
  const stop = new AbortController();
  const running = model.run({ x }, { signal: stop.signal });
  const waiting = model.run({ x }, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error('enough')), 5);
  await assert.rejects(running, /enough/);
  await assert.rejects(waiting, /enough/);
  const stopped = performance.now() - start;
  await assert.rejects(model.run({ x }, { signal: stop.signal }), /enough/);
  await assert.rejects(model.run({ x }, { signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' });
  await assert.rejects(model.run({ x }, { timeout: -1 }), TypeError);
  const whole = performance.now();
  await model.run({ x }, { signal: new AbortController().signal, timeout: 600_000 });
  assert.ok(stopped < 2 * (performance.now() - whole) + 500, `${stopped} ms until both were stopped`);
});

test('prepare, profile, memory, dispose', async () => {
  const model = await load(affine);
  await model.prepare({ x: [2, 3] });
  assert.ok(model.memory >= 0);
  await assert.rejects(model.prepare({ q: [2, 3] }), { code: 'invalid argument' });
  await assert.rejects(model.prepare({ x: 'text' }), TypeError);
  const { outputs, nodes } = await model.profile({ x: [1, 2, 3] });
  assert.deepEqual([...outputs.y.data], [2, 4, 6]);
  assert.ok(nodes.length >= 1 && nodes.every((node) => node.duration >= 0 && node.op && node.kernel), JSON.stringify(nodes));
  assert.ok(!('nodes' in (await model.run({ x: [1, 2, 3] }))));
  const other = model.session();
  model.dispose();
  const calls = {
    run: (of) => of.run({ x: [1, 2, 3] }), runSync: (of) => of.runSync({ x: [1, 2, 3] }), profile: (of) => of.profile({ x: [1, 2, 3] }), prepare: (of) => of.prepare(), memory: (of) => of.memory,
    state: (of) => of.state('n'), setState: (of) => of.setState('n', 1), resetStates: (of) => of.resetStates(),
  };
  const refused = async (call, what) =>
    assert.rejects(async () => call(), (error) => error instanceof NnexError && error.code === 'invalid argument' && error.message === `the ${what} was released` || assert.fail(String(error)));
  for (const call of Object.values({ ...calls, session: (of) => of.session(), packedMemory: (of) => of.packedMemory })) await refused(() => call(model), 'model');
  model.dispose();
  assert.deepEqual([...(await other.run({ x: [1, 2, 3] })).y.data], [2, 4, 6]);
  other.dispose();
  for (const call of Object.values(calls)) await refused(() => call(other), 'session');
  if (Symbol.dispose) other[Symbol.dispose]();
});

test('states are kept from run to run', async () => {
  const model = await load({
    'graph.nnef': new TextEncoder().encode(`version 1.0;
graph counter(x) -> (y)
{
    x = external<scalar>(shape = [2]);
    n = variable<scalar>(shape = [2], label = 'n');
    y = add(n, x);
    m = update(n, y);
}
`),
    'n.dat': nnefZeros(2),
  });
  assert.deepEqual(model.states.map((state) => state.name), ['n']);
  const x = [1, 2];
  assert.deepEqual([...(await model.run({ x })).y.data], [1, 2]);
  assert.deepEqual([...(await model.run({ x })).y.data], [2, 4]);
  assert.deepEqual([...(await model.state('n')).data], [2, 4]);
  assert.deepEqual([...(await model.session().run({ x })).y.data], [1, 2]);
  await model.setState('n', [10, 20]);
  assert.deepEqual([...(await model.run({ x })).y.data], [11, 22]);
  await model.resetStates();
  assert.deepEqual([...(await model.run({ x })).y.data], [1, 2]);
  await assert.rejects(model.state('q'), { code: 'invalid argument' });
  await assert.rejects(model.setState('n', new Float32Array(3)), { code: 'invalid argument' });
});

/** A tensor file of NNEF 1.0: float32 zeros. */
function nnefZeros(count) {
  const bytes = new Uint8Array(128 + 4 * count);
  const view = new DataView(bytes.buffer);
  bytes.set([0x4e, 0xef, 1, 0]);
  view.setUint32(4, 4 * count, true);
  view.setUint32(8, 1, true);
  view.setUint32(12, count, true);
  view.setUint32(44, 32, true);
  return bytes;
}

test('an error of any entry of the package is an NnexError', async () => {
  const { createRequire } = await import('node:module');
  const require = createRequire(import.meta.url);
  const entries = { nnex: { load }, 'require(nnex)': require('nnex') }, classes = [NnexError, require('nnex').NnexError];
  for (const [name, runtime] of [['onnxruntime', await import('nnex/onnxruntime')], ['require(onnxruntime)', require('nnex/onnxruntime')]])
    entries[name] = { load: (bytes) => runtime.InferenceSession.create(bytes) };
  for (const [name, { load: call }] of Object.entries(entries)) {
    const error = await call(Uint8Array.of(1, 2, 3)).catch((reason) => reason);
    assert.deepEqual([error.code, ...classes.map((Class) => error instanceof Class)], ['invalid model', true, true], name);
  }
  class Own extends NnexError {}
  for (const other of [new Error('x'), new TypeError('x'), null, undefined, 'NnexError', () => 1, { code: 'fault' }]) assert.equal(other instanceof NnexError, false);
  assert.deepEqual([new Own('fault', 'x') instanceof Own, new Own('fault', 'x') instanceof NnexError, new NnexError('fault', 'x') instanceof Own], [true, true, false]);
});

test('the module is the same for require()', async () => {
  const { createRequire } = await import('node:module');
  const nnex = createRequire(import.meta.url)('nnex');
  const model = await nnex.load(affine);
  assert.deepEqual([...(await model.run({ x: [1, 2, 3] })).z.data], [3, 5, 7]);
  assert.equal(readFileSync(new URL('../packages/nnex/package.json', import.meta.url), 'utf8').includes('"install"'), false);
});

test('options and outputs are own properties; feeds are read by name', () => {
  const text = `import { load } from 'nnex';
    const bytes = Buffer.from(${JSON.stringify(Buffer.from(affine).toString('base64'))}, 'base64');
    const ready = await load(bytes), names = [ready.inputs[0].name, ready.outputs[0].name], said = [];
    Object.prototype.extend = () => 1;
    Object.defineProperty(Object.prototype, names[1], { set() { said.push('called'); }, configurable: true });
    try {
      const model = await load(bytes, {}), [input, output] = names, dims = model.inputs[0].dims.map((d) => (typeof d === 'number' ? d : 1));
      const x = { data: new Float32Array(dims.reduce((a, b) => a * b, 1)), dims };
      class Feeds { get [input]() { return x; } }
      const results = [await model.run({ [input]: x }, {}), await model.run(new Feeds())];
      for (const result of results) said.push(Object.hasOwn(result, output));
      said.push(Object.hasOwn(await model.run(Object.create({ [input]: x })), output));
    } catch (error) { said.push(error.message); }
    console.log(said.join());`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], { cwd: fileURLToPath(new URL('.', import.meta.url)), encoding: 'utf8' });
  assert.equal(stdout, 'true,true,true\n', stderr);
});

test('an error in JSON has its message', async () => {
  const error = await load('/nowhere/model.onnx').catch((reason) => reason);
  const { name, message, code } = JSON.parse(JSON.stringify(error));
  assert.deepEqual([name, message, code], ['NnexError', error.message, 'unreadable']);
});

test('arrays of JavaScript take little more than a typed array does', { skip: slow }, async () => {
  const model = await load(onnx({ inputs: { x: ['float32', ['N']] }, outputs: { y: ['float32', [1]] }, nodes: [{ op: 'ReduceSum', in: ['x'], out: ['y'] }] }));
  const array = Array.from({ length: 1_000_000 }, (_, i) => i / 3), best = { direct: Infinity, plain: Infinity };
  for (let i = 0; i < 8; ++i)
    for (const [name, call] of Object.entries({ direct: () => model.run({ x: Float32Array.from(array) }), plain: () => model.run({ x: array }) })) {
      const begin = performance.now();
      await call();
      best[name] = Math.min(best[name], performance.now() - begin);
    }
  assert.ok(best.plain < 20 * best.direct, JSON.stringify(best));  // 60 times it was, 5 to 7 it is
});
