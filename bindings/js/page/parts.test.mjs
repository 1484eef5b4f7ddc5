// parts.test.mjs: what the page is made of, as far as it needs no browser: elements, what is typed, files by their paths, the places of a drawing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrange, kMostNodes } from './draw.js';
import { chosen, relative } from './files.js';
import { picture, sample, sound } from './media.js';
import { extents, numbers } from './typed.js';
import { distance, fromBits, largest, reader, room, said, toBits } from './values.js';

test('floats of 16 bits: every one of them there and back', () => {
  for (const type of ['float16', 'bfloat16'])
    for (let bits = 0; bits < 0x10000; ++bits) {
      const number = fromBits(bits, type);
      assert.equal(Number.isNaN(number) ? NaN : toBits(number, type), Number.isNaN(number) ? NaN : bits, `${type} ${bits}`);
    }
  const rows = [
    ['float16', 1.5, 0x3e00], ['float16', 65504, 0x7bff], ['float16', 65519, 0x7bff], ['float16', 65520, 0x7c00], ['float16', 2 ** -24, 1], ['float16', 2 ** -25, 0],
    ['float16', 1 + 2 ** -11, 0x3c00], ['float16', 1 + 3 * 2 ** -11, 0x3c02], ['float16', 2 - 2 ** -12, 0x4000], ['float16', NaN, 0x7fff], ['float16', -Infinity, 0xfc00],
    ['bfloat16', 1.5, 0x3fc0], ['bfloat16', -0, 0x8000], ['bfloat16', 3.4e38, 0x7f80], ['bfloat16', 2 ** -133, 1],
  ];
  for (const [type, number, bits] of rows) assert.equal(toBits(number, type), bits, `${type} ${number}`);
});

test('the largest elements are those of all, and what is NaN stands apart', () => {
  const long = Float32Array.from({ length: 150_000 }, (_, i) => i);
  assert.deepEqual(largest((i) => long[i], long.length, 2), { best: [[149999, 149999], [149998, 149998]], nans: 0 });
  const mixed = [NaN, 3, NaN, 9, -Infinity, 9, 2, NaN];
  assert.deepEqual(largest((i) => mixed[i], mixed.length), { best: [[9, 3], [9, 5], [3, 1], [2, 6], [-Infinity, 4]], nans: 3 });
  const ids = { type: 'int64', data: BigInt64Array.of(9007199254740992n, 9007199254740993n) };
  assert.deepEqual(largest(reader(ids), 2).best, [[9007199254740993n, 1], [9007199254740992n, 0]]);
  assert.deepEqual(largest(() => 0, 0), { best: [], nans: 0 });
});

test('elements in words', () => {
  assert.deepEqual([9007199254740993n, 87654321, 16777217, 0.1 + 0.2, 1e300, NaN].map(said), ['9007199254740993', '87654321', '16777217', '0.3', '1e+300', 'NaN']);
  const read = (type, data) => Array.from(data, (_, i) => reader({ type, data })(i));
  assert.deepEqual(read('bfloat16', Uint16Array.of(0x3fc0, 0xc040)), [1.5, -3]);
  assert.deepEqual(read('float16', Uint16Array.of(0x3e00)), [1.5]);
  assert.deepEqual(read('string', ['<b>']), ['<b>']);
  assert.equal(reader({ type: 'int4', data: Uint8Array.of(1) }), undefined);
  assert.equal(distance({ y: { type: 'bfloat16', data: Uint16Array.of(0x3f80, 0x4000) } }, { y: { type: 'bfloat16', data: Uint16Array.of(0x3f80, 0x3f80) } }), 1);
});

test('what is typed is an input\'s elements exactly, or an error that says why not', () => {
  const good = [
    ['1 2', 'int64', [3], BigInt64Array.of(1n, 2n, 2n)], ['9007199254740993, -9223372036854775808', 'int64', [2], BigInt64Array.of(9007199254740993n, -(2n ** 63n))],
    ['9007199254740993.0 0x20000000000001 -3.', 'int64', [3], BigInt64Array.of(9007199254740993n, 9007199254740993n, -3n)],
    ['1e3 0x10 +5', 'int32', [3], Int32Array.of(1000, 16, 5)], ['-128 127', 'int8', [2], Int8Array.of(-128, 127)], ['1 0', 'bool', [2], Uint8Array.of(1, 0)],
    ['1.5 -0', 'bfloat16', [3], Uint16Array.of(0x3fc0, 0x8000, 0x8000)], ['0.5', 'float16', [2], Uint16Array.of(0x3800, 0x3800)], ['zeros', 'uint64', [2], BigUint64Array.of(0n, 0n)],
    ['NaN -Infinity 1e-400', 'float32', [3], Float32Array.of(NaN, -Infinity, 0)], ['', 'float32', [0], new Float32Array(0)], ['zeros', 'float32', [2, 0], new Float32Array(0)],
  ];
  for (const [text, type, dims, data] of good) assert.deepEqual(numbers(text, type, dims), { type, dims, data }, `${type} '${text}'`);
  const bad = [
    ['-1', 'uint8', /found '-1'; needed whole numbers from 0 to 255/], ['256', 'uint8', /from 0 to 255/], ['1.5', 'int64', /found '1.5'; needed whole numbers from -9223372036854775808/],
    ['9223372036854775808', 'int64', /to 9223372036854775807/], ['1e999', 'int64', /found '1e999'/], ['3000000000', 'int32', /to 2147483647/], ['2', 'bool', /from 0 to 1/],
    ['', 'float32', /found nothing; needed numbers/], [' , ', 'int8', /found nothing/], ['cat', 'float32', /found 'cat', which is no number/], ['1e39', 'float32', /too large for float32/],
    ['70000', 'float16', /too large for float16/], ['1e999', 'float64', /too large for float64/], ['1 2 3', 'float32', /found 3 numbers; the input \[2\] has 2/],
    ['a', 'string', /found elements of string; this page fills inputs of float32/],
  ];
  for (const [text, type, message] of bad) assert.throws(() => numbers(text, type, [2]), message, `${type} '${text}'`);
  for (const type of ['float32', 'float16', 'bfloat16', 'int64', 'bool']) assert.equal(numbers('random', type, [2, 3]).data.length, 6, type);
  assert.ok(Array.from(numbers('random', 'float16', [100]).data, (bits) => fromBits(bits, 'float16')).every((x) => x >= 0 && x <= 1));
});

test('samples as whole numbers are those of WAV files, and types that hold no colours or samples are refused', async () => {
  const rows = [['int16', [-32768, -16384, 0, 16384, 32767]], ['uint8', [0, 64, 128, 192, 255]], ['int32', [-(2 ** 31), -(2 ** 30), 0, 2 ** 30, 2 ** 31 - 1]]];
  for (const [type, expected] of rows) assert.deepEqual([-1, -0.5, 0, 0.5, 1].map((x) => sample(x, type)), expected, type);
  for (const type of ['int8', 'bool']) await assert.rejects(picture({}, type, [1, 1, 1, 1]), { message: `found elements of ${type}; a picture's colours are whole numbers from 0 to 255` });
  for (const type of ['int64', 'bool']) await assert.rejects(sound({}, type, [1, 8]), { message: `found elements of ${type}; a sound fills floats, uint8, int16 and int32` });
});

test('extents', () => {
  assert.deepEqual([extents('1 3,4x5'), extents('')], [[1, 3, 4, 5], []]);
  for (const text of ['2 a', '-1', '1.5', '2e3']) assert.throws(() => extents(text), /needed whole numbers from 0 on/, text);
  assert.throws(() => room('float32', [100000, 100000]), /\[100000, 100000\] of float32 takes 37.3 GiB; needed extents of at most 1.0 GiB/);
  assert.throws(() => room('float32', [2 ** 40, 2 ** 40]), /needed extents of at most/);
});

test('files have the paths that they have in their folder', async () => {
  const paths = (...all) => relative(all.map((path) => [path])).map(([path]) => path);
  assert.deepEqual(paths('net/graph.nnef', 'net/conv/w.dat'), ['graph.nnef', 'conv/w.dat']);
  assert.deepEqual(paths('a/net/graph.nnef', 'a/net/w.dat'), ['graph.nnef', 'w.dat']);
  assert.deepEqual(paths('graph.nnef', 'conv/w.dat'), ['graph.nnef', 'conv/w.dat']);
  assert.deepEqual([paths('x.onnx'), paths()], [['x.onnx'], []]);
  const files = ['graph.nnef', 'conv/w.dat', '.git/HEAD'].map((path) => ({ name: path, webkitRelativePath: `net/${path}` }));
  const given = chosen({ files });
  assert.equal(given.name, 'net');
  assert.deepEqual((await given.files()).map(([path]) => path), ['net/graph.nnef', 'net/conv/w.dat']);
  assert.equal(chosen({ files: [{ name: 'a.onnx' }, { name: 'a.bin' }] }).name, '2 files');
  assert.equal(chosen({ files: [] }), undefined);
});

const value = (id) => ({ id, name: `v${id}`, type: 'f32[4]' });
test('what only the blocks of a node read has an edge to it', () => {
  const { boxes } = arrange({ inputs: [value(0), value(1)], outputs: [value(2)], nodes: [{ op: 'if_else', location: '', inputs: [value(0)], captures: [value(1), value(0)], outputs: [value(2)] }] });
  assert.deepEqual(boxes[2].from.map(({ title }) => title), ['v0', 'v1']);
  assert.equal(boxes[1].row, 0);
  assert.equal(boxes[2].row, 1);
});

test('of a network that is not drawn to its end no output stands alone', () => {
  const nodes = Array.from({ length: kMostNodes + 5 }, (_, i) => ({ op: 'relu', location: '', inputs: [value(i)], outputs: [value(i + 1)] }));
  const { boxes } = arrange({ inputs: [value(0)], outputs: [value(3), value(kMostNodes + 5)], nodes });
  assert.equal(boxes.length, 1 + kMostNodes + 1);
  assert.ok(boxes.slice(1).every(({ from }) => from.length === 1));
});
