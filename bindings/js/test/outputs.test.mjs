// The memory of outputs: given back without a turn of the event loop, and refused in words where JavaScript has no array so long.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { freemem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { load } from 'nnex';
import { onnx } from './support/onnx-writer.mjs';

const slow = Number(process.env.NNEX_SLOW ?? 1) > 1 && 'it takes too long under sanitizers';
const here = process.env.NNEX_ENGINE === 'wasm' && 'WebAssembly has memory of its own';
const kMB = 1e6;

const sum = onnx({ inputs: { x: ['float32', ['N']] }, outputs: { y: ['float32', ['N']] }, nodes: [{ op: 'Add', in: ['x', 'x'], out: ['y'] }] });
/** As many elements as the second input says. */
const expand = (type) => onnx({
  inputs: { x: [type, [1]], s: ['int64', [1]] }, outputs: { y: [type, ['N']] }, nodes: [{ op: 'Expand', in: ['x', 's'], out: ['y'] }],
});
/** By how much a loop lets the process grow at most. */
async function growth(times, call) {
  for (let i = 0; i < 3; ++i) await call(i);
  const before = process.memoryUsage.rss();
  let most = 0;
  for (let i = 0; i < times; ++i) {
    await call(i);
    if (i % 50 === 49) most = Math.max(most, process.memoryUsage.rss() - before);
  }
  return most;
}

test('what awaited runs gave is freed, whether they are done at once or on a thread', { skip: here || slow }, async () => {
  const model = await load(sum);
  for (const [floats, times, thread, limit] of [[3000, 100_000, 'auto', 150], [250_000, 3000, 'auto', 300], [1_000_000, 750, 'always', 300]]) {
    const x = new Float32Array(floats);
    const grown = await growth(times, () => model.run({ x }, { thread }));
    assert.ok(grown < limit * kMB, `${floats} floats, thread '${thread}': ${grown / kMB} MB`);
  }
});

test('what runSync gave is freed in loops without a turn of the event loop', { skip: here || slow }, async () => {
  const model = await load(sum);
  for (const [floats, times] of [[16_000, 48_000], [250_000, 3000], [1_000_000, 750]]) {
    const x = new Float32Array(floats).fill(0.5);
    const kept = [];
    const grown = await growth(times, (i) => {
      const { y } = model.runSync({ x });
      if (i < 3) kept.push(y);
    });
    assert.ok(grown < 450 * kMB, `${floats} floats: ${grown / kMB} MB`);
    for (const { data } of kept) assert.ok(data.length === floats && data.every((item) => item === 1));
    await new Promise(setImmediate);
  }
});

test('outputs keep their bytes and are nobody else\'s', { skip: here }, async () => {
  const model = await load(sum);
  for (const floats of [1, 1000, 262_144, 262_145, 1_000_000, 9_000_000]) {  // copied, handed over, copied again as much waits
    const given = [];
    for (let i = 0; i < 3; ++i) {
      const x = new Float32Array(floats).fill(i);
      given.push(model.runSync({ x }).y.data, (await model.run({ x })).y.data, (await model.run({ x }, { thread: 'always' })).y.data);
    }
    assert.equal(new Set(given.map(({ buffer }) => buffer)).size, given.length);
    for (const [at, data] of given.entries()) {
      const wanted = 2 * Math.floor(at / 3);
      assert.ok(data.length === floats && data.byteOffset === 0 && data.buffer.byteLength === 4 * floats && data.every((item) => item === wanted));
      data.fill(-1);
    }
  }
});

/** Runs a script in a process of its own, after another one. */
function alone(text, ...first) {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...first, '--input-type=module', '-e', text], { cwd: folder, encoding: 'utf8' });
  assert.deepEqual({ status, signal, stderr }, { status: 0, signal: null, stderr: '' });
  return JSON.parse(stdout);
}
const asked = (model, call) => `import { load } from 'nnex';
  const model = await load(Buffer.from('${Buffer.from(model).toString('base64')}', 'base64'));
  const tried = async (call) => { try { const { y } = await call(); return [y.data.length, y.data[y.data.length - 1]]; } catch (e) { return [e.name, e.code, e.message]; } };
  console.log(JSON.stringify(await (async () => { ${call} })()));`;

test('an array that JavaScript has no memory for is refused, by the output\'s name', { skip: here }, () => {
  // What lies above the bound is copied, into memory that there is none of here.
  const none = `data:text/javascript,globalThis.ArrayBuffer = new Proxy(ArrayBuffer, { construct(made, [bytes]) {
    if (bytes > 1e6) throw new RangeError('Array buffer allocation failed');
    return new made(bytes);
  } });`;
  const answers = alone(asked(expand('uint8'), `const kept = [], run = () => model.runSync({ x: [7], s: [40000000] });
    return [await tried(() => { kept.push(run()); return kept[0]; }), await tried(run), await tried(run), await tried(() => model.run({ x: [7], s: [40000000] }))];`), '--import', none);
  const refused = ['NnexError', 'limit reached', "output 'y': no memory for 40000000 bytes"];
  assert.deepEqual(answers, [[40_000_000, 7], refused, refused, [40_000_000, 7]]);
});

test('an output of more than 4 GiB', { skip: here || slow || (freemem() < 16e9 && 'it takes 9 GB') }, () => {
  const floats = alone(asked(expand('float32'), 'return tried(() => model.run({ x: [7], s: [1100000000] }));'));
  assert.deepEqual(floats, [1_100_000_000, 7]);
  const bytes = alone(asked(expand('uint8'), 'return tried(() => model.runSync({ x: [7], s: [4400000000] }));'));
  const longer = Number(process.versions.node.split('.')[0]) >= 22;  // than 2^32 - 1 elements
  assert.deepEqual(bytes, longer ? [4_400_000_000, 7]
    : ['NnexError', 'limit reached', "output 'y': found 4400000000 elements; needed no more than a Uint8Array of this runtime has"]);
});
