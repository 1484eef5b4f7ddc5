// The runner itself: cases with planted faults on a small stand-in for navigator.ml, in every host that is installed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bufferOf, closenessOf, difference, halfBits, halfValue } from './conform/values.mjs';

const js = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = await mkdtemp(join(tmpdir(), 'conform-'));
after(() => rm(folder, { recursive: true }));

const float32 = (...data) => ({ data, descriptor: { shape: [data.length], dataType: 'float32' } });
const sum = (name, a, b, output, more = {}) => ({
  name, required: true, tolerance: { metric: 'ULP', value: 1 }, ...more,
  graph: { inputs: { a, b }, operators: [{ name: 'add', arguments: [{ a: 'a' }, { b: 'b' }], outputs: 'output' }], expectedOutputs: { output } },
});
const opened = [{ call: 'createContext', as: ['context'] }, { call: 'new MLGraphBuilder', on: 'context', as: ['builder'] }];
const input = (name, shape) => ({ call: 'input', on: 'builder', args: [name, { dataType: 'float32', shape }], as: [name] });
const mixed = { call: 'add', on: 'builder', args: [{ $ref: 'a' }, { $ref: 'b' }, { label: 'here' }] };
const tensor = (shape, more) => ({ call: 'createTensor', on: 'context', args: [{ dataType: 'float32', shape, readable: true, writable: true }], ...more });
const int4 = { data: [1], descriptor: { shape: [1], dataType: 'int4' } };

const files = {
  'ops/good.json': [
    sum('sum', float32(1, 2), { ...float32(0.5, -2), constant: true }, float32(1.5, '-0')),
    sum('one apart', float32(1, 1), float32(0, 0), float32(1.0000001, 1)),
  ],
  'ops/bad.json': [
    sum('wrong number', float32(1, 2), float32(1, 2), float32(2, 5)),
    sum('sign of zero', float32(0), float32(0), float32('-0'), { signedZeroExact: true }),
    sum('wrong shape', float32(1), float32(1), { data: [2], descriptor: { shape: [1, 1], dataType: 'float32' } }),
    sum('required type', { ...float32(1), descriptor: { shape: [1], dataType: 'int8' } }, float32(1), float32(1)),
    { name: 'nothing to do' },
  ],
  'ops/optional.json': [sum('int4', int4, int4, int4, { required: false })],
  'validation/traces.json': [
    { name: 'throws', setup: opened, steps: [input('a', [1]), input('b', [2]), { ...mixed, throws: 'TypeError', messageContains: '[here]' }] },
    { name: 'throws nothing', setup: opened, steps: [input('a', [1]), input('b', [1]), { ...mixed, throws: 'TypeError' }] },
    { name: 'other message', setup: opened, steps: [input('a', [1]), input('b', [2]), { ...mixed, throws: 'TypeError', messageContains: '[there]' }] },
    { name: 'other kind', setup: opened, steps: [input('a', [1]), input('b', [2]), { ...mixed, throws: 'InvalidStateError' }] },
    { name: 'unexpected', setup: opened, steps: [input('a', [1]), input('b', [2]), mixed] },
    { name: 'rejects', setup: opened, steps: [{ call: 'MLContext.destroy', on: 'context' }, tensor([1], { rejects: 'InvalidStateError' })] },
    { name: 'rejects nothing', setup: opened, steps: [tensor([1], { rejects: 'InvalidStateError' })] },
    { name: 'type expected', setup: opened, steps: [{ ...input('a', [1]), expect: [{ dataType: 'float16', shape: null }] }] },
    { name: 'shape expected', setup: opened, steps: [{ ...input('a', [1]), expect: [{ dataType: null, shape: [2] }] }] },
    {
      name: 'bytes', setup: opened, steps: [
        tensor([2], { as: ['t'], awaitAt: 1 }),
        { call: 'writeTensor', on: 'context', args: [{ $ref: 't' }, { $typed: 'Float32Array', length: 2, byteOffset: 4, bufferByteLength: 16, data: [1, 2] }] },
        { call: 'readTensor', on: 'context', args: [{ $ref: 't' }], expectBytes: [0, 0, 128, 63, 0, 0, 0, 64] },
        { call: 'readTensor', on: 'context', args: [{ $ref: 't' }], expectData: [{ view: 'Float32Array', offset: 4, length: 1, data: [2] }] },
      ],
    },
    {
      name: 'other bytes', setup: opened, steps: [
        tensor([1], { as: ['t'], awaitAt: 1 }),
        { call: 'readTensor', on: 'context', args: [{ $ref: 't' }], expectBytes: [0, 0, 0, 1] },
      ],
    },
    {
      name: 'other data', setup: opened, steps: [
        tensor([1], { as: ['t'], awaitAt: 1 }),
        { call: 'readTensor', on: 'context', args: [{ $ref: 't' }], expectData: [{ view: 'Float32Array', offset: 0, length: 1, data: [1] }] },
      ],
    },
  ],
};
const passed = ['ops/good: sum', 'ops/good: one apart', 'validation/traces: throws', 'validation/traces: rejects', 'validation/traces: bytes'];
const skipped = ['ops/optional: int4'];
for (const [name, cases] of Object.entries(files)) {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), JSON.stringify({ cases }));
}
await writeFile(join(folder, 'tolerances.json'), '{}');
const all = Object.values(files).flat().length;

const conform = (...args) => new Promise((resolve) => {
  execFile(join(js, 'conform'), args, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
});

const hosts = [['node', process.execPath], ['chromium', '/usr/bin/chromium'], ['firefox', '/usr/bin/firefox-esr']];
for (const [host, program] of hosts)
  for (const threads of host === 'node' ? ['on'] : ['on', 'off'])
    test(`planted faults are found: ${host}, threads ${threads}`, { skip: !existsSync(program) && `${program} is missing` }, async () => {
      const json = join(folder, `rows-${host}-${threads}.txt`);
      const ran = await conform('--host', host, '--threads', threads, '--polyfill', join(js, 'test/conform/stub.mjs'), '--json', json, folder);
      const rows = JSON.parse(await readFile(json, 'utf8'));
      const named = (verdict) => rows.filter((row) => row.verdict === verdict).map(({ name }) => name).sort();
      assert.deepEqual(named('passed'), [...passed].sort());
      assert.deepEqual(named('skipped'), skipped);
      assert.equal(rows.length, all);
      assert.equal(ran.code, 1);
      assert.equal(ran.stdout.trimEnd().split('\n').at(-1), `${passed.length} passed, ${all - passed.length - 1} failed, 1 skipped`);
      assert.match(ran.stdout, /failed ops\/bad: wrong number: output 'output': 1 of 2 elements differ; element 1: found 4; needed 5/);
    });

test('a host that falls fails its case alone', async () => {
  const module = join(folder, 'falls.mjs');
  await writeFile(module, `import '${join(js, 'test/conform/stub.mjs')}';
MLGraphBuilder.prototype.input = function () { process.kill(process.pid, 'SIGSEGV'); };`);
  const path = join(folder, 'fall');
  await mkdir(path);
  await writeFile(join(path, 'cases.json'), JSON.stringify({ cases: [
    { name: 'before', setup: opened, steps: [] }, { name: 'falls', setup: opened, steps: [input('a', [1])] }, { name: 'later', setup: opened, steps: [] },
  ] }));
  const ran = await conform('--host', 'node', '--polyfill', module, path);
  assert.match(ran.stdout, /^failed fall\/cases: falls: the process ended by SIGSEGV\n2 passed, 1 failed, 0 skipped\n$/);
});

test('no verdict without cases', async () => {
  const path = join(folder, 'tolerances.json');
  for (const args of [['--host', 'node', path], ['--host', 'nodes', folder], ['--host', 'node'], ['--host', 'node', '--threads', 'two', folder],
    ['--host', 'node', join(folder, 'absent')]]) {
    const ran = await conform(...args);
    assert.equal(ran.code, 2, args.join(' '));
    assert.match(ran.stderr, /found|needed|no such file/);
  }
});

test('binary16', () => {
  for (let bits = 0; bits < 0x10000; ++bits) {
    const value = halfValue(bits);
    assert.equal(halfBits(value), Number.isNaN(value) ? 0x7e00 : bits);
    const next = halfValue(bits + 1);
    if ((bits & 0x7fff) < 0x7bff) assert.equal(halfBits((value + next) / 2), bits + (bits & 1), `between ${value} and ${next}`);
  }
  assert.deepEqual([65519, 65520, -65520, 2 ** -25, 2 ** -25 * 1.0001].map(halfBits), [0x7bff, 0x7c00, 0xfc00, 0, 1]);
});

test('comparison', () => {
  const f32 = (...x) => new Float32Array(x), far = (bound, got, want, zero) => difference('float32', f32(got), f32(want), closenessOf({ metric: 'ULP', value: bound }, zero));
  assert.equal(far(0, 0, -0), '');
  assert.notEqual(far(0, 0, -0, true), '');
  assert.equal(far(2, 2 ** -149, -(2 ** -149)), '');
  assert.match(far(1, 2 ** -149, -(2 ** -149)), /2 ULP apart; allowed 1/);
  assert.equal(far(0, NaN, NaN), '');
  assert.notEqual(far(1e9, NaN, 1), '');
  assert.equal(difference('int64', BigInt64Array.of(5n), BigInt64Array.of(6n), closenessOf({ metric: 'ULP', value: 1 })), '');
  assert.notEqual(difference('int64', BigInt64Array.of(5n), BigInt64Array.of(7n), closenessOf({ metric: 'ULP', value: 1 })), '');
  assert.equal(difference('float16', Uint16Array.of(halfBits(1)), Uint16Array.of(halfBits(1.5)), closenessOf({ metric: 'ATOL', value: 0.5 })), '');
});

test('buffers', () => {
  const view = bufferOf({ $typed: 'Int16Array', length: 2, byteOffset: 2, bufferByteLength: 10, data: [-1, 2] });
  assert.deepEqual([view.constructor, view.byteOffset, view.buffer.byteLength, ...view], [Int16Array, 2, 10, -1, 2]);
  assert.ok(bufferOf({ $buffer: 'SharedArrayBuffer', byteLength: 3, bytes: [1, 2, 3] }) instanceof SharedArrayBuffer);
  assert.equal(bufferOf({ $buffer: 'ArrayBuffer', byteLength: 0, bytes: [] }).byteLength, 0);
  const detached = bufferOf({ $typed: 'Float32Array', length: 0, detached: true });
  assert.throws(() => new Uint8Array(detached.buffer), TypeError);
});
