// parts.test.mjs: what the page is made of, as far as it needs no browser: elements, what is typed, files by their paths, the places of a drawing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { arrange, kMostNodes, neighbours, spread } from './draw.js';
import { checkFeeds } from './feeds.js';
import { chosen, modelsIn, relative, sourceOf } from './files.js';
import { soundIn, wavOf } from './listen.js';
import { middle, mixed, painted, picture, pictureExtents, plain, sample, sound, soundExtents } from './media.js';
import { matches } from './network.js';
import { readNpy, readPb, tensorIn, unzip, writeJson, writeNpy } from './tensors.js';
import { ownTimes } from './times.js';
import { extents, fitted, json, numbers, random, tensorOf } from './typed.js';
import { likelyRange, pictureIn, pixelsIn } from './view.js';
import { coordinates, distance, fromBits, largest, reader, room, said, toBits } from './values.js';

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

test('where the pictures of an output are', () => {
  const place = (...dims) => ((found) => found && [found.pictures, found.channels, found.height, found.width, found.planes])(pictureIn(dims));
  const rows = [
    [[1, 3, 20, 30], [1, 3, 20, 30, true]], [[2, 20, 30, 3], [2, 3, 20, 30, false]], [[1, 1, 8, 9], [1, 1, 8, 9, true]], [[20, 30], [1, 1, 20, 30, true]], [[4, 20, 30], [1, 4, 20, 30, true]],
    [[1, 21, 64, 64], [1, 21, 64, 64, true]], [[1, 64, 64, 21], [1, 21, 64, 64, false]], [[1, 512, 14, 14], [1, 512, 14, 14, true]], [[1, 19, 64, 128], [1, 19, 64, 128, true]],
    [[1, 64, 128, 19], [1, 19, 64, 128, false]], [[2, 5, 3, 16, 16], [10, 3, 16, 16, true]],
    [[1, 1000], undefined], [[1000], undefined], [[], undefined], [[1, 3, 7, 30], undefined], [[1, 3, 0, 0], undefined], [[0, 8, 8], undefined], [[1, 1, 5000, 5000], undefined],
  ];
  for (const [dims, found] of rows) assert.deepEqual(place(...dims), found, `[${dims}]`);
});

test('the pixels of an output', () => {
  const dims = [2, 3, 8, 8], place = pictureIn(dims), size = 64;
  const tensor = { type: 'float32', dims, data: Float32Array.from({ length: 2 * 3 * size }, (_, i) => (Math.floor(i / size) % 3 === 0 ? (i % size) / 63 : 0) * (i >= 3 * size ? 2 : 1)) };
  const first = pixelsIn(tensor, place);
  assert.deepEqual([first.range, ...first.pixels.slice(0, 4), ...first.pixels.slice(-4)], [[0, 1], 0, 0, 0, 255, 255, 0, 0, 255]);
  const second = pixelsIn(tensor, place, { picture: 1, way: 0 });
  assert.deepEqual([second.range, ...second.pixels.slice(-4)], [[0, 2], 255, 255, 255, 255]);
  assert.deepEqual([...pixelsIn(tensor, place, { picture: 1, range: [0, 4] }).pixels.slice(-4)], [128, 0, 0, 255]);
  const [none, ...rest] = [NaN, ...Array(63).fill(-Infinity)];
  const grey = { type: 'float32', dims: [8, 8], data: Float32Array.of(none, ...rest) };
  const odd = pixelsIn(grey, pictureIn([8, 8]));
  assert.deepEqual([odd.range, ...odd.pixels.slice(0, 8)], [[0, 1], 0, 0, 0, 0, 0, 0, 0, 255]);
  const classes = { type: 'float16', dims: [8, 8, 9], data: Uint16Array.from({ length: 8 * 8 * 9 }, (_, i) => (i % 9 === Math.floor(i / 9) % 9 ? 0x3c00 : 0)) };
  const largest = pixelsIn(classes, pictureIn([8, 8, 9]), { way: 'largest' }).pixels;
  assert.deepEqual([...largest.slice(0, 4)], [0, 0, 0, 255]);
  assert.equal(new Set(Array.from({ length: 64 }, (_, i) => largest.slice(4 * i, 4 * i + 4).join())).size, 9);
  assert.deepEqual([...largest.slice(4, 8)], [...largest.slice(40, 44)]);
  const bytes = { type: 'uint8', dims: [8, 8, 4], data: Uint8Array.from({ length: 256 }, (_, i) => i) };
  assert.deepEqual(pixelsIn(bytes, pictureIn([8, 8, 4])).pixels, Uint8ClampedArray.from(bytes.data));
  const rows = [[[0, 0.9], [0, 1]], [[-0.02, 1.04], [0, 1]], [[0, 0.2], [0, 0.2]], [[-0.9, 0.8], [-1, 1]], [[-3, 260], [0, 255]], [[-7, 2], [-7, 2]], [[5, 5], [5, 5]]];
  for (const [own, range] of rows) assert.deepEqual(likelyRange(own), range);
  assert.deepEqual([...pixelsIn({ type: 'int64', dims: [8, 8], data: new BigInt64Array(64).fill(5n) }, pictureIn([8, 8])).pixels.slice(0, 4)], [0, 0, 0, 255]);
});

test('an output that may be a sound, as a file', () => {
  const wave = Float32Array.from({ length: 2048 }, (_, i) => Math.sin(i)), of = (dims, data = wave, type = 'float32') => soundIn({ type, dims, data });
  assert.deepEqual([of([2048]), of([1, 1, 2048])], [wave, wave]);
  assert.deepEqual([of([2, 1024]), of([1024, 2]), of([]), of([2048], wave.map((x) => 3 * x)), of([2048], wave.map(() => NaN)), of([2048], new Int32Array(2048), 'int32')], Array(6).fill(undefined));
  const file = Buffer.from(wavOf(Float32Array.of(0, 1, -1, 0.5, 1.5), 22050));
  assert.deepEqual([file.toString('latin1', 0, 4), file.readUInt32LE(4), file.toString('latin1', 8, 16), file.readUInt16LE(20), file.readUInt16LE(22), file.readUInt32LE(24), file.readUInt32LE(28),
    file.readUInt16LE(32), file.readUInt16LE(34), file.toString('latin1', 36, 40), file.readUInt32LE(40)], ['RIFF', file.length - 8, 'WAVEfmt ', 1, 1, 22050, 44100, 2, 16, 'data', 10]);
  assert.deepEqual([44, 46, 48, 50, 52].map((at) => file.readInt16LE(at)), [0, 32767, -32767, 16384, 32767]);
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
    ['a', 'string', /^Error: needed texts as a list, such as \["a", "b"\]$/], ['[1]', 'string', /found 1; needed texts in quotes/], ['random', 'string', /needed texts as a list/],
    ['1', 'complex64', /found elements of complex64; this page fills inputs of float32/],
  ];
  for (const [text, type, message] of bad) assert.throws(() => numbers(text, type, [2]), message, `${type} '${text}'`);
  for (const type of ['float32', 'float16', 'bfloat16', 'int64', 'bool']) assert.equal(numbers('random', type, [2, 3]).data.length, 6, type);
  assert.ok(Array.from(numbers('random', 'float16', [100]).data, (bits) => fromBits(bits, 'float16')).every((x) => x >= 0 && x <= 1));
});

test('samples as whole numbers are those of WAV files, and types that hold no colours or samples are refused', async () => {
  const rows = [['int16', [-32768, -16384, 0, 16384, 32767]], ['uint8', [0, 64, 128, 192, 255]], ['int32', [-(2 ** 31), -(2 ** 30), 0, 2 ** 30, 2 ** 31 - 1]]];
  for (const [type, expected] of rows) assert.deepEqual([-1, -0.5, 0, 0.5, 1].map((x) => sample(x, type)), expected, type);
  for (const type of ['int8', 'bool']) await assert.rejects(picture({}, type, [1, 1, 1, 1]), { message: `found elements of ${type}; a picture's colours are whole numbers from 0 to 255` });
  const tone = Float32Array.of(0.5, -0.5, 0.25);
  for (const type of ['int64', 'bool']) assert.throws(() => sound(tone, type, [1, 8]), { message: `found elements of ${type}; a sound fills floats, uint8, int16 and int32` });
  assert.throws(() => sound(tone, 'float32', [1, 3, 4, 4]), { message: 'an input [1, 3, 4, 4] is no sound; needed one extent of samples, every other 1' });
  assert.deepEqual(sound(tone, 'float32', [1, 4, 1]).data, Float32Array.of(0.5, -0.5, 0.25, 0));
  assert.deepEqual(sound(tone, 'uint8', [2]).data, Uint8Array.of(192, 64));
});

test('open extents follow from what is given', () => {
  const sounds = [[['N', 'T'], [1, 9]], [[1, 'T', 1], [1, 9, 1]], [['T'], [9]], [['N', 512], [1, 512]], [['T', 80], [1, 80]], [[1, 4], [1, 4]], [[], []]];
  for (const [dims, extents] of sounds) assert.deepEqual(soundExtents(dims, 9), extents, dims.join());
  const pictures = [[['N', 3, 'H', 'W'], [1, 3, 4, 6]], [['N', 'H', 'W', 3], [1, 4, 6, 3]], [['N', 'C', 'H', 'W'], [1, 3, 4, 6]], [[1, 'H', 'W'], [1, 4, 6]], [['H', 'W', 1], [4, 6, 1]], [['N', 3, 8, 'W'], [1, 3, 8, 6]]];
  for (const [dims, extents] of pictures) assert.deepEqual(pictureExtents(dims, { width: 6, height: 4 }), extents, dims.join());
  const typed = [['1 2 3', ['N'], [3]], ['[1, 2, 3]', ['N'], [3]], ['["NaN", 1]', ['N'], [2]], ['1', ['N'], [1]], ['', ['N'], [1]], ['random', ['N', 2], [1, 2]], ['1 2 3 4', ['N', 2], [2, 2]],
    ['1 2 3', ['N', 2], [1, 2]], ['1 2 3', ['N', 'M'], [1, 1]], ['1 2', [3], [3]], ['[[1, 2]]', ['N', 'M'], [1, 1]], ['1 2', ['N', 0], [1, 0]]];
  for (const [text, dims, extents] of typed) assert.deepEqual(fitted(text, dims), extents, `${text} for ${dims.join()}`);
});

test('extents', () => {
  assert.deepEqual([extents('1 3,4x5'), extents('')], [[1, 3, 4, 5], []]);
  for (const text of ['2 a', '-1', '1.5', '2e3']) assert.throws(() => extents(text), /needed whole numbers from 0 on/, text);
  assert.throws(() => room('float32', [100000, 100000]), /\[100000, 100000\] of float32 takes 37.3 GiB; needed at most 134,217,728 elements \(512.0 MiB\)/);
  assert.throws(() => room('float32', [2 ** 40, 2 ** 40]), /needed at most/);
});

test('files have the paths that they have in their folder', async () => {
  const paths = (...all) => relative(all.map((path) => [path])).map(([path]) => path);
  assert.deepEqual(paths('net/graph.nnef', 'net/conv/w.dat'), ['graph.nnef', 'conv/w.dat']);
  assert.deepEqual(paths('a/net/graph.nnef', 'a/net/w.dat'), ['graph.nnef', 'w.dat']);
  assert.deepEqual(paths('graph.nnef', 'conv/w.dat'), ['graph.nnef', 'conv/w.dat']);
  assert.deepEqual([paths('x.onnx'), paths()], [['x.onnx'], []]);
  const sources = (...all) => {
    const files = all.map((path) => [path, path]), models = modelsIn(all);
    return models.map((which) => (({ source, options }) => [source instanceof Map ? [...source.keys()] : source, options.name])(sourceOf({ name: 'all', files, models }, which)));
  };
  assert.deepEqual(sources('a/symbol', 'a/params', 'b/symbol', 'b/params', 'b/io.json'), [[['symbol', 'params'], 'a'], [['symbol', 'params', 'io.json'], 'b']]);
  assert.deepEqual(sources('README', 'onnx/model.onnx', 'onnx/model.onnx_data', 'onnx/other.onnx'), [[['model.onnx', 'model.onnx_data'], 'onnx'], [['model.onnx_data', 'other.onnx'], 'onnx']]);
  assert.deepEqual(sources('m.onnx', 'w/1.bin', 'x/y.onnx'), [[['m.onnx', 'w/1.bin'], 'all'], ['x/y.onnx', 'x/y.onnx']]);
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
  const inner = arrange({ inputs: [value(3)], outputs: [value(4), value(1)], captures: [value(1)], nodes: [{ op: 'add', location: '', inputs: [value(3), value(1)], outputs: [value(4)] }] }).boxes;
  assert.deepEqual(inner.map(({ about }) => about.split(':')[0]), ['input v3', 'from outside', 'add; gives f32[4]', 'output v4', 'output v1'].map((text) => text.split(':')[0]));
});

test('of a network that is not drawn to its end no output stands alone', () => {
  const nodes = Array.from({ length: kMostNodes + 5 }, (_, i) => ({ op: 'relu', location: '', inputs: [value(i)], outputs: [value(i + 1)] }));
  const { boxes } = arrange({ inputs: [value(0)], outputs: [value(3), value(kMostNodes + 5)], nodes });
  assert.equal(boxes.length, 1 + kMostNodes + 1);
  assert.ok(boxes.slice(1).every(({ from }) => from.length === 1));
});

test('further nodes are drawn in parts, with what they read of those before', () => {
  const nodes = Array.from({ length: kMostNodes + 5 }, (_, i) => ({ op: 'relu', location: `n${i}`, inputs: [value(i)], outputs: [value(i + 1)] }));
  const { boxes } = arrange({ inputs: [value(0)], outputs: [value(kMostNodes + 5)], nodes }, kMostNodes);
  assert.deepEqual(boxes.map(({ title }) => title), [`v${kMostNodes}`, ...Array(5).fill('relu'), `v${kMostNodes + 5}`]);
  assert.match(boxes[0].about, /^from before: /);
  assert.deepEqual([boxes[1].place, boxes[1].from[0] === boxes[0]], [kMostNodes, true]);
  assert.deepEqual(matches({ nodes }, 'N604'), [{ place: 604, way: [] }]);
  assert.deepEqual([matches({ nodes }, ''), matches({ nodes }, 'v3').slice(0, 3).map(({ place }) => place)], [[], [2, 3, 29]]);
  const inner = { nodes: [{ op: 'neg', location: '', inputs: [], outputs: [], blocks: [{ nodes: nodes.slice(0, 2) }] }] };
  const outer = { nodes: [{ op: 'if', location: '', inputs: [], outputs: [], blocks: [{ nodes: [] }, inner] }, nodes[7]] };
  assert.deepEqual(matches(outer, 'relu'), [{ place: 0, way: [{ place: 0, block: 1 }, { place: 0, block: 0 }] }, { place: 1, way: [{ place: 0, block: 1 }, { place: 0, block: 0 }] }, { place: 1, way: [] }]);
});

test('names that are read aloud are short', () => {
  const weights = Array.from({ length: 40 }, (_, i) => ({ id: 100 + i, name: `w${i}`, type: 'f32[64,64]', constant: true }));
  const nodes = [{ op: 'if_else', location: 'n', inputs: weights, outputs: [value(1)] }, ...Array.from({ length: 30 }, (_, i) => ({ op: 'relu', location: '', inputs: [value(1)], outputs: [value(2 + i)] }))];
  const [, box] = arrange({ inputs: [value(0)], outputs: [], nodes }).boxes;
  assert.equal(box.about, 'if_else; n; gives f32[4]; 40 weights');
  assert.deepEqual(neighbours(box), [`read by ${Array(8).fill('relu').join(', ')} and 22 more`]);
});

test('a node that has others inside has the time that is its own, and one row however often it ran', () => {
  const time = (place, start, duration) => ({ place, op: place, kernel: 'k', start, duration });
  // c and d twice in the body of a Loop, which an If has; e after it
  const times = [time('c', 2, 3), time('d', 5, 4), time('c', 10, 3), time('d', 13, 4), time('loop', 1, 20), time('if', 0, 22), time('e', 22, 5)];
  assert.deepEqual(ownTimes(times).map(({ place, own, times: n }) => [place, own, n]), [['d', 8, 2], ['c', 6, 2], ['loop', 6, 1], ['e', 5, 1], ['if', 2, 1]]);
});

test('no edge runs behind a box', () => {
  // Chains with many shortcuts, which were curves straight through the rows between.
  const nodes = Array.from({ length: 60 }, (_, i) => ({ op: 'add', location: '', inputs: [value(i), value(Math.max(0, i - (i * 7) % 13)), value(Math.floor(i / 3))], outputs: [value(i + 1)] }));
  const { rows, boxes } = arrange({ inputs: [value(0)], outputs: [value(60)], nodes });
  let passed = 0;
  for (const row of rows)
    for (const [i, item] of row.entries()) {
      if (i > 0) assert.ok(item.x - row[i - 1].x >= (item.width + row[i - 1].width) / 2 + (item.above && row[i - 1].above ? 3.9 : 23.9), 'places in a row are apart');
      if (!item.above) continue;
      ++passed;
      for (const box of row.filter(({ above }) => !above)) assert.ok(Math.abs(box.x - item.x) > box.width / 2);
    }
  assert.ok(passed > 50);
  for (const box of boxes)
    for (const from of box.from) assert.equal(from.lanes.filter(({ row }) => row < box.row).length, box.row - from.row - 1, 'a lane in every row between');
  assert.deepEqual(neighbours(boxes[1]), ['reads v0', 'read by add, add, add, add, add']);
});

test('a drawing where all is read at its end is arranged as others are', () => {
  const nodes = Array.from({ length: kMostNodes - 1 }, (_, i) => ({ op: 'relu', location: '', inputs: [value(i)], outputs: [value(i + 1)] }));
  nodes.push({ op: 'concat', location: '', inputs: nodes.map((_, i) => value(i + 1)), outputs: [value(kMostNodes)] });
  const { boxes, rows } = arrange({ inputs: [value(0)], outputs: [value(kMostNodes)], nodes });
  assert.equal(boxes.at(-2).from.length, kMostNodes - 1);
  assert.equal(rows.flat().length, boxes.length + ((kMostNodes - 2) * (kMostNodes - 1)) / 2);
});

test('places in a row are the nearest to the wished ones that are apart', () => {
  const row = [0, 0, 500, 1000, 1000].map((wish) => ({ wish, width: 76 }));
  spread(row);
  assert.deepEqual(row.map(({ x }) => x), [-50, 50, 500, 950, 1050]);
});

test('feeds that nnex refuses are refused in its words', () => {
  const port = (name, ...dims) => ({ name, text: `f32[${dims}]`, dims });
  const feed = (...dims) => ({ dims });
  checkFeeds([port('a', 'N', 3, '?'), port('b', 'N', '?')], { a: feed(2, 3, 4), b: feed(2, 5) });
  checkFeeds([{ name: 'a', text: 'f32', dims: undefined }], { a: feed(2) });
  const bad = [
    [[port('a', 'N', 3)], { a: feed(2, 4) }, "input 'a': found f32[2,4]; needed f32[N,3]"], [[port('a', 'N', 3)], { a: feed(3) }, "input 'a': found f32[3]; needed f32[N,3]"],
    [[port('a', 'N'), port('b', 'N')], { a: feed(2), b: feed(3) }, "input 'b': found f32[3]; needed f32[N]; N is 2 in another place"],
    [[port('a', 'N', 'N')], { a: feed(2, 0) }, "input 'a': found f32[2,0]; needed f32[N,N]; N is 2 in another place"],
  ];
  for (const [ports, feeds, message] of bad) assert.throws(() => checkFeeds(ports, feeds), { message });
});

test('lists say extents and elements, as JSON and as Python spells them', () => {
  assert.deepEqual(numbers('[[1, 2], [3, nan]]', 'float32', [9]), { type: 'float32', dims: [2, 2], data: Float32Array.of(1, 2, 3, NaN) });
  assert.deepEqual(numbers('[1, 2, 3]', 'int64', [1, 3]), { type: 'int64', dims: [1, 3], data: BigInt64Array.of(1n, 2n, 3n) });
  assert.deepEqual(numbers('[[True], [false]]', 'bool', []).data, Uint8Array.of(1, 0));
  assert.deepEqual(numbers('true false', 'bool', [2]).data, Uint8Array.of(1, 0));
  assert.deepEqual(numbers('-inf Infinity +INF nan', 'float32', [4]).data, Float32Array.of(-Infinity, Infinity, Infinity, NaN));
  assert.deepEqual(numbers('["a", "b"]', 'string', [2]), { type: 'string', dims: [2], data: ['a', 'b'] });
  assert.deepEqual(numbers('["NaN", "-Infinity", 1]', 'float32', [3]).data, Float32Array.of(NaN, -Infinity, 1));
  for (const [text, message] of [['[[1, 2], [3]]', /lists of 2 and of 1 items/], ['[[1], 2]', /several depths/], ['[[1], [[2]]]', /several depths/], ['[[null]]', /found null/], ['[[1', /no JSON/], ['[[{}]]', /found an object/]])
    assert.throws(() => numbers(text, 'float32', [2]), message, text);
  assert.deepEqual(extents('[1,3,2,2]'), [1, 3, 2, 2]);
  assert.deepEqual(tensorOf(json('5'), 'float32'), { type: 'float32', dims: [], data: Float32Array.of(5) });
  assert.throws(() => tensorOf(json('[300]'), 'uint8'), /from 0 to 255/);
});

test('random numbers are those of their seed, and spread evenly', () => {
  const draw = (seed) => numbers('random', 'float32', [10000], seed).data;
  assert.deepEqual(draw(5), draw(5));
  assert.notDeepEqual(draw(5), draw(6));
  const mean = draw(1).reduce((sum, x) => sum + x, 0) / 10000, next = random(2 ** 40);
  assert.ok(Math.abs(mean - 0.5) < 0.02 && next() < 1, mean);
});

/** An array of NumPy's. */
function npy(descr, shape, data, order = 'False') {
  const head = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': ${shape}, }\n`;
  return Buffer.concat([Buffer.from([0x93]), Buffer.from('NUMPY'), Buffer.from([1, 0, head.length, 0]), Buffer.from(head), Buffer.from(data.buffer)]);
}
const bytesOf = (parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
test('arrays of NumPy are read and written', async () => {
  const rows = [
    ['<f4', '(2, 2)', Float32Array.of(1, 2, 3, 4), 'float32', [2, 2]], ['<i8', '(2,)', BigInt64Array.of(1n, -2n), 'int64', [2]], ['|b1', '()', Uint8Array.of(1), 'bool', []],
    ['|u1', '(0, 3)', Uint8Array.of(), 'uint8', [0, 3]], ['<f2', '(1,)', Uint16Array.of(0x3c00), 'float16', [1]],
  ];
  for (const [descr, shape, data, type, dims] of rows) {
    assert.deepEqual(readNpy(npy(descr, shape, data)), { type, dims, data }, descr);
    assert.deepEqual(readNpy(bytesOf(writeNpy({ type, dims, data }))), { type, dims, data });
  }
  assert.deepEqual(readNpy(npy('>i2', '(2,)', Uint8Array.of(0, 1, 1, 0))).data, Int16Array.of(1, 256));
  assert.deepEqual(readNpy(npy('<f4', '(2, 3)', Float32Array.of(1, 4, 2, 5, 3, 6), 'True')).data, Float32Array.of(1, 2, 3, 4, 5, 6));
  for (const [bytes, message] of [[Buffer.from('text'), /no array/], [npy('<U3', '(1,)', Float32Array.of(0)), /'<U3'; needed numbers/], [npy('<f4', '(3,)', Float32Array.of(0)), /found 4 bytes/],
    [npy('<f4', '(99999999999, 9999999)', Float32Array.of(0)), /needed at most/]]) assert.throws(() => readNpy(bytes), message);
});

/** A ZIP archive; `packed`: deflated. */
function zip(files, packed) {
  const parts = [], list = [];
  let at = 0;
  for (const [name, content] of files) {
    const data = packed ? deflateRawSync(content) : content, head = Buffer.alloc(30), entry = Buffer.alloc(46);
    for (const [where, from] of [[head, 4], [entry, 6]]) {
      where.writeUInt32LE(where === head ? 0x04034b50 : 0x02014b50, 0);
      where.writeUInt16LE(packed ? 8 : 0, from + 4);
      where.writeUInt32LE(data.length, from + 14);
      where.writeUInt32LE(content.length, from + 18);
      where.writeUInt16LE(name.length, from + 22);
    }
    entry.writeUInt32LE(at, 42);
    parts.push(head, Buffer.from(name), data);
    list.push(entry, Buffer.from(name));
    at += 30 + name.length + data.length;
  }
  const end = Buffer.alloc(22), directory = Buffer.concat(list);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}
const fileOf = (name, content) => Object.assign(new Blob([content]), { name });
test('an input takes the array of its name, or the only one', async () => {
  const two = [['x.npy', npy('<f4', '(1,)', Float32Array.of(1))], ['y.npy', npy('<f4', '(2,)', Float32Array.of(2, 3))]];
  for (const packed of [false, true]) {
    assert.deepEqual((await tensorIn(fileOf('a.npz', zip(two, packed)), 'y', 'float32')).data, Float32Array.of(2, 3));
    assert.deepEqual((await tensorIn(fileOf('a.npz', zip(two.slice(0, 1), packed)), 'y', 'float32')).dims, [1]);
  }
  await assert.rejects(tensorIn(fileOf('a.npz', zip(two)), 'z', 'float32'), { message: "'a.npz': found 'x', 'y'; needed 'z'" });
  await assert.rejects(tensorIn(fileOf('a.npy', two[0][1]), 'x', 'int8'), { message: "'a.npy' has elements of float32; needed int8" });
  const bytes = (...all) => fileOf('a.npy', npy('|u1', `(${all.length},)`, Uint8Array.from(all)));
  assert.deepEqual(await tensorIn(bytes(1, 0), 'x', 'bool'), { type: 'bool', dims: [2], data: Uint8Array.of(1, 0) });
  await assert.rejects(tensorIn(bytes(1, 2), 'x', 'bool'), { message: "'a.npy' has elements of uint8; needed bool, as 0 and 1" });
  await assert.rejects(unzip(Buffer.from('nothing of this kind at all')), /no archive/);
  assert.deepEqual((await tensorIn(fileOf('A.JSON', '{"x": [1], "y": [[2]]}'), 'y', 'float32')).dims, [1, 1]);
});

test('tensors of ONNX are read from bytes and from numbers', () => {
  const raw = Buffer.from([8, 2, 16, 1, 0x42, 1, 0x78, 0x4a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]); // dims: 2, float, name x, raw data
  assert.deepEqual(readPb(raw), { name: 'x', type: 'float32', dims: [2], data: Float32Array.of(1, 2) });
  const listed = Buffer.from([0x0a, 1, 2, 16, 7, 0x3a, 11, 5, ...Array(9).fill(255), 1]); // packed dims, int64 data: 5, -1
  assert.deepEqual(readPb(listed), { name: '', type: 'int64', dims: [2], data: BigInt64Array.of(5n, -1n) });
  for (const [bytes, message] of [[[], /no tensor/], [raw.subarray(0, 12), /cut off/], [[8, 3, 16, 7, 0x38, 1], /found 1 elements; \[3\] has 3/], [[16, 1, 0x70, 1], /in another file/]])
    assert.throws(() => readPb(Buffer.from(bytes)), message);
});

test('outputs as JSON are read back', () => {
  const rows = [['float32', [2, 2], Float32Array.of(1, NaN, -Infinity, -0)], ['int64', [1], BigInt64Array.of(9007199254740993n)], ['bool', [2], Uint8Array.of(1, 0)], ['float16', [], Uint16Array.of(0x3e00)]];
  for (const [type, dims, data] of rows) assert.deepEqual(tensorOf(json(writeJson({ type, dims, data }).replace('9007199254740993', '"9007199254740993"')), type), { type, dims, data }, type);
});

test('pictures are normalised, and their colours in the order that is asked for', () => {
  const pixel = Uint8ClampedArray.of(255, 0, 51, 255);
  assert.deepEqual(painted(pixel, 'float32', [1, 3, 1, 1]).data, Float32Array.of(1, 0, 0.2));
  const look = { ...plain, order: 'bgr', top: 255, mean: [50, 0, 5], deviation: [2] };
  assert.deepEqual([...painted(Uint8ClampedArray.of(...pixel, ...pixel), 'float32', [1, 2, 1, 3], look).data], [0.5, 0, 125, 0.5, 0, 125]);
  assert.deepEqual([...painted(pixel, 'uint8', [2, 3, 1, 1], { ...plain, order: 'bgr' }).data], [51, 0, 255, 51, 0, 255]);
  assert.throws(() => painted(pixel, 'float32', [1, 3, 1, 1], { ...plain, mean: [1, 2] }), /found 2 means; needed one, or one of each of 3 channels/);
  assert.throws(() => painted(pixel, 'float32', [1, 3, 1, 1], { ...plain, deviation: [0] }), /found the deviation 0/);
  assert.deepEqual(middle({ width: 200, height: 100 }, { width: 10, height: 10 }), [50, 0, 100, 100]);
  assert.deepEqual([...mixed([Float32Array.of(0.5, 0), Float32Array.of(0, -0.5)])], [0.25, -0.25]);
});

test('places of elements by axis, and files that are models by themselves', () => {
  assert.deepEqual([coordinates(17, [2, 3, 4]), coordinates(0, [])], [[1, 1, 1], []]);
  assert.deepEqual(modelsIn(['a.onnx', 'w.bin', 'net/graph.nnef', 'net/conv/w.dat', 'symbol', 'params', 'x.webnn', 'x.weights', 'onnx.txt']), ['a.onnx', 'net/graph.nnef', 'symbol', 'x.webnn']);
});
