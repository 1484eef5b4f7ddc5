// Models of every standard: those of ONNX by their stored answers, and each of them in the form of every other standard.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { check, convert, inspect, load } from 'nnex';
import { readTensor } from './support/onnx-tensor.mjs';
import { onnx } from './support/onnx-writer.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const shapes = join(root, 'models/shapes');
const stored = join(root, '../shared/models/onnx');
const names = existsSync(stored) ? readdirSync(stored).filter((name) => existsSync(join(stored, name, 'model.onnx'))) : [];

function assertNear(found, expected, tolerance, what) {
  assert.equal(found.type, expected.type, what);
  assert.deepEqual([...found.dims], [...expected.dims], what);
  const largest = expected.data.reduce((most, value) => Math.max(most, Math.abs(Number(value))), 0);
  const { rtol, atol } = 'relative_to_max' in tolerance ? { rtol: 0, atol: tolerance.relative_to_max * largest } : tolerance;
  for (let i = 0; i < expected.data.length; i++) {
    const [a, b] = [Number(found.data[i]), Number(expected.data[i])];
    if (!(Object.is(a, b) || Math.abs(a - b) <= atol + rtol * Math.abs(b))) assert.fail(`${what}[${i}]: ${a}; expected ${b}`);
  }
}

/** The stored sets of a model's folder: inputs and outputs by their place or name. */
async function* sets(folder, model) {
  for (const set of readdirSync(folder).filter((name) => name.startsWith('test_data_set_'))) {
    const read = async (kind, ports) => {
      const tensors = {};
      for (const file of readdirSync(join(folder, set)).filter((name) => name.startsWith(kind))) {
        const tensor = await readTensor(join(folder, set, file));
        const place = Number(/_(\d+)\.pb$/.exec(file)[1]);
        tensors[ports.some((port) => port.name === tensor.name) ? tensor.name : ports[place].name] = tensor;
      }
      return tensors;
    };
    yield { set, inputs: await read('input', model.inputs), outputs: await read('output', model.outputs) };
  }
}

async function runStored(folder, tolerance) {
  const model = await load(join(folder, 'model.onnx'));
  let count = 0;
  for await (const { set, inputs, outputs } of sets(folder, model)) {
    const found = await model.run(inputs);
    for (const [name, expected] of Object.entries(outputs)) {
      if (expected.type === 'string') assert.deepEqual([...found[name].data], expected.data);
      else assertNear(found[name], expected, tolerance, `${set} ${name}`);
      count++;
    }
  }
  assert.ok(count > 0);
}

test('models/shapes gives its stored answers', () => runStored(shapes, { rtol: 1e-4, atol: 1e-6 }));
test('stored models are there', { skip: names.length === 0 && `no ${stored}` }, () => assert.ok(names.length >= 20));
for (const name of names)
  test(`${name} gives its stored answers`, () => runStored(join(stored, name), JSON.parse(readFileSync(join(stored, name, 'tolerance.json'), 'utf8'))));

test('a model of CVM runs, its proof is told', async () => {
  const folder = join(shapes, 'integer');
  const files = { symbol: readFileSync(join(folder, 'symbol')), params: readFileSync(join(folder, 'params')) };
  const [fromPath, fromBytes] = [await load(folder), await load(files)];
  const port = fromPath.inputs[0];
  const data = Int32Array.from({ length: port.dims.reduce((a, b) => a * b, 1) }, (_, i) => (i * 37) % 127);
  const feeds = { [port.name]: { data, dims: port.dims } };
  const [a, b] = [await fromPath.run(feeds), await fromBytes.run(feeds)];
  assert.deepEqual(a, b);
  const report = await check(folder);
  assert.equal(report.format, 'CVM');
  assert.equal(report.sound, true, JSON.stringify(report.faults));
  assert.equal(report.certificate.safe, true);
  assert.ok(report.certificate.nodes.length > 5 && report.certificate.nodes[0].bitsProven > 0);
});

const network = onnx({
  inputs: { x: ['float32', [1, 2, 6, 6]] },
  outputs: { y: ['float32', [1, 4]] },
  nodes: [
    { op: 'Conv', in: ['x', 'w', 'b'], out: ['c'], attributes: { pads: [1, 1, 1, 1], kernel_shape: [3, 3] } },
    { op: 'Relu', in: ['c'], out: ['r'] },
    { op: 'GlobalAveragePool', in: ['r'], out: ['p'] },
    { op: 'Reshape', in: ['p', 'shape'], out: ['f'] },
    { op: 'Softmax', in: ['f'], out: ['y'], attributes: { axis: 1 } },
  ],
  initializers: {
    w: { type: 'float32', dims: [4, 2, 3, 3], data: Float32Array.from({ length: 72 }, (_, i) => Math.sin(i)) },
    b: { type: 'float32', dims: [4], data: Float32Array.of(0.1, -0.2, 0.3, 0) },
    shape: { type: 'int64', dims: [2], data: BigInt64Array.of(1n, 4n) },
  },
});
const x = Float32Array.from({ length: 72 }, (_, i) => Math.cos(i));

test('a network goes through every standard, in memory and by files', async () => {
  const [expected] = Object.values(await (await load(network)).run({ x }));
  const folder = mkdtempSync(join(tmpdir(), 'nnex-'));
  try {
    for (const [options, file, path] of [
      [{ to: 'onnx' }, 'model.onnx', 'out.onnx'], [{ to: 'onnx', externalData: true }, 'model.onnx', 'out2.onnx'], [{ to: 'nnef' }, 'graph.nnef', 'nnef'],
      [{ to: 'nnef', packing: 'tgz' }, 'model.tgz', 'out.tgz'], [{ to: 'webnn' }, 'model.webnn', 'out.webnn'],
      [{ to: 'onnxtxt' }, 'model.onnxtxt', 'out.onnxtxt'], [{ to: 'tar' }, 'model.tar', 'out.tar'], [{ to: 'tgz' }, 'model.tgz', 'out3.tgz'], [{ to: 'onnx', opset: 15 }, 'model.onnx', 'out3.onnx'],
    ]) {
      const files = await convert(network, options);
      assert.ok(files.has(file), `${file} of ${[...files.keys()]}`);
      const model = await load(files);
      const [y] = Object.values(await model.run({ [model.inputs[0].name]: x }));
      assertNear(y, expected, { rtol: 1e-5, atol: 1e-7 }, file);

      const written = await convert(network, join(folder, path), options);
      assert.ok(written.files.length >= 1 && written.bytes > 0);
      assert.equal((await check(join(folder, path))).sound, true);
      const again = await load(join(folder, path));
      assertNear(Object.values(await again.run({ [again.inputs[0].name]: x }))[0], expected, { rtol: 1e-5, atol: 1e-7 }, path);
    }
    await assert.rejects(convert(network, join(folder, 'out.onnx')), { code: 'invalid argument' });
    await convert(network, join(folder, 'out.onnx'), { overwrite: true });
    for (const [i, url] of [pathToFileURL(join(folder, 'a b.nnef.tgz')), pathToFileURL(join(folder, 'ä.onnx')).href].entries()) {
      const { format, files } = await convert(network, url);
      assert.deepEqual([format, files], [['NNEF', 'ONNX'][i], [join(folder, ['a b.nnef.tgz', 'ä.onnx'][i])]]);
      assert.equal((await check(url)).sound, true);
    }
    assert.equal((await inspect(await convert(network, { to: 'onnx', opset: 15 }))).opsets[''], 15);
    assert.deepEqual([...(await convert(network, { to: 'c', name: 'net' })).keys()], ['model.c', 'model.h']);
    for (const [to, file] of [['mjs', 'model.mjs'], ['js', 'model.js']]) assert.ok((await convert(network, { to })).has(file), to);
    await assert.rejects(convert(network, join(folder, 'x.nnef'), { to: 'tgz' }), { code: 'invalid argument', message: /needed a name in \.tgz/ });
    await assert.rejects(convert(network, { to: 'cvm' }), { name: 'NnexError', code: 'unsupported' });
    await assert.rejects(convert(network, { to: 'tflite' }), TypeError);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('files are written whole, beside what is there, or not at all', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nnex-')), at = (name) => join(folder, name);
  const refused = { name: 'NnexError', code: 'invalid argument' };
  try {
    const { files, bytes, operations, opset } = await convert(network, at('a.onnx'), { externalData: true });
    assert.deepEqual([files, operations, opset], [[at('a.onnx')], 5, 17]); // no tensor is large
    assert.equal(bytes, readFileSync(at('a.onnx')).length);
    const weights = await convert(network, at('b.webnn'));
    assert.deepEqual(weights.files, [at('b.webnn'), at('b.weights')]);
    assert.match(readFileSync(at('b.webnn'), 'utf8'), /b\.weights/);
    assert.deepEqual((await convert(network, at('m.mjs'))).files.map((file) => basename(file)), ['m.mjs', 'm.weights']);
    const before = readdirSync(folder).sort();
    await assert.rejects(convert(network, at('a.onnx')), { ...refused, detail: `'${at('a.onnx')}' exists`, remedies: [{ option: 'overwrite', value: 'true', effect: 'replaces it' }] });
    rmSync(at('b.webnn'));
    await convert(network, at('b.webnn')); // beside the same weights
    rmSync(at('b.webnn'));
    writeFileSync(at('b.weights'), 'others');
    await assert.rejects(convert(network, at('b.webnn')), { ...refused, detail: `'${at('b.weights')}' exists` });
    await assert.rejects(convert(network, at('none/c.onnx')), { code: 'unreadable', message: `cannot write '${at('none/c.onnx')}': there is no folder '${at('none')}'` });
    await assert.rejects(convert(network, at('c.zip')), { ...refused, message: /the ending '\.zip' says no standard/ });
    await assert.rejects(convert(network, at('c.onnx'), { to: 'webnn' }), { ...refused, message: /needed a name in \.webnn, \.mjs or \.js/ });
    await convert(network, at('b.webnn'), { overwrite: true });
    assert.deepEqual(readdirSync(folder).sort(), before, 'nothing else is left');
    symlinkSync('a.onnx', at('link.onnx'));
    await convert(network, at('link.onnx'), { overwrite: true, name: 'again' });
    assert.equal((await inspect(at('a.onnx'))).graphName, 'again', 'a link stands for its file');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a folder of NNEF takes its name when all is in it, and is not written over unasked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nnex-')), at = (name) => join(folder, name), wanted = ['graph.nnef'];
  try {
    mkdirSync(at('empty'));
    for (const name of ['net', 'empty', 'slash/']) {
      const { format, files } = await convert(network, at(name));
      assert.equal(format, 'NNEF');
      assert.deepEqual(files.map((file) => file.slice(at(name).replace(/\/$/, '').length + 1)).sort(), readdirSync(at(name)).sort());
      for (const file of wanted) assert.ok(readdirSync(at(name)).includes(file));
    }
    writeFileSync(at('net/others.txt'), 'x');
    await assert.rejects(convert(network, at('net')), { code: 'invalid argument', detail: `folder '${at('net')}' is not empty` });
    writeFileSync(at('net/graph.quant'), '"x": nobody(s = 1.0);\n');
    await convert(network, at('net'), { overwrite: true });
    assert.deepEqual([existsSync(at('net/others.txt')), existsSync(at('net/graph.quant'))], [true, false]);
    assert.equal((await check(at('net'))).sound, true);
    writeFileSync(at('file'), 'x');
    const [weights] = readdirSync(at('empty')).filter((name) => name.endsWith('.dat'));
    rmSync(join(at('empty'), weights));
    symlinkSync(join('../net', weights), join(at('empty'), weights));
    await assert.rejects(load(at('empty')), { code: 'unreadable', message: /a link or no folder on the way/ });
    await assert.rejects(convert(network, at('file')), { code: 'invalid argument', detail: `'${at('file')}' exists and is no folder; a model of NNEF is one, or an archive in .tgz or .tar` });
    assert.deepEqual(readdirSync(folder).sort(), ['empty', 'file', 'net', 'slash']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('external tensors lie below the model\'s folder, or the reason is told', async () => {
  const w = Float32Array.from({ length: 512 }, (_, i) => i);
  const files = await convert(onnx({
    inputs: { x: ['float32', [512]] }, outputs: { y: ['float32', [512]] }, nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }],
    initializers: { w: { type: 'float32', dims: [512], data: w } },
  }), { to: 'onnx', externalData: true });
  const data = files.get('model.onnx.data'), folder = mkdtempSync(join(tmpdir(), 'nnex-')), at = (name) => join(folder, name);
  /** The model with another location, of as many characters. */
  const locating = (location) => {
    const bytes = Buffer.from(files.get('model.onnx'));
    assert.equal(location.length, 'model.onnx.data'.length);
    return bytes.fill(location, bytes.indexOf('model.onnx.data'), bytes.indexOf('model.onnx.data') + location.length);
  };
  try {
    mkdirSync(at('models'));
    for (const place of ['models/model.onnx.data', 'ab.onnx.data', 'models/hard0.onnx.dat']) writeFileSync(at(place), data);
    symlinkSync('model.onnx.data', at('models/symlinked1.data'));
    linkSync(at('models/hard0.onnx.dat'), at('models/hard1.onnx.data'));
    mkdirSync(at('models/folder.as.data1'));
    const rows = [
      ['/absolute1.data', /external location '\/absolute1\.data' must be a relative path/], ['../ab.onnx.data', /external location '\.\.\/ab\.onnx\.data' leaves the model's folder/],
      ['symlinked1.data', /'symlinked1\.data'.*: a link or no folder on the way/], ['hard1.onnx.data', /'hard1\.onnx\.data' is a hard link/],
      ['folder.as.data1', /'folder\.as\.data1' is no regular file/], ['none.at.all.dat', /cannot open external location 'none\.at\.all\.dat': no such file/],
    ];
    for (const [location, message] of rows) {
      writeFileSync(at('models/m.onnx'), locating(location));
      await assert.rejects(load(at('models/m.onnx')), { name: 'NnexError', message }, location);
      const { sound, faults } = await check(at('models/m.onnx'));
      assert.equal(sound, false);
      assert.ok(faults.some((fault) => message.test(fault.text)), `${location}: ${faults.map((fault) => fault.text)}`);
    }
    copyFileSync(at('models/model.onnx.data'), at('model.onnx.data'));
    writeFileSync(at('models/m.onnx'), files.get('model.onnx'));
    const sound = [[at('models/m.onnx')], [files.get('model.onnx'), { externalFolder: folder }], [at('models/m.onnx'), { externalFolder: folder }]];
    for (const [source, options] of sound) assert.deepEqual((await (await load(source, options)).run({ x: w })).y.data, w.map((item) => 2 * item));
    await assert.rejects(load(files.get('model.onnx')), (error) => {
      assert.equal(error.code, 'unreadable');
      assert.match(error.message, /its data lie in 'model\.onnx\.data', and no folder is known; needed that file with the model; option externalFolder names its folder$/m);
      assert.deepEqual(error.remedies, [{ option: 'externalFolder', value: '', effect: 'names its folder' }]);
      return true;
    });
    const [fault] = (await check(files.get('model.onnx'))).faults;
    assert.deepEqual([fault.code, fault.found, fault.needed], ['unreadable', "the model's own file alone", "'model.onnx.data' with it, or its folder"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('archives are packed and unpacked wherever the engine runs, within their limits', async () => {
  const [expected] = Object.values(await (await load(network)).run({ x }));
  for (const to of ['onnx', 'webnn'])  // the packing is NNEF's
    assert.deepEqual(await convert(network, { to, packing: 'tgz' }), await convert(network, { to }), to);
  const packed = (await convert(network, { to: 'nnef', packing: 'tgz' })).get('model.tgz');
  assert.deepEqual([...packed.subarray(0, 2)], [0x1f, 0x8b]);
  const model = await load(packed);
  assertNear(Object.values(await model.run({ [model.inputs[0].name]: x }))[0], expected, { rtol: 1e-5, atol: 1e-7 }, 'tgz');
  assert.equal((await check(packed)).sound, true);
  await assert.rejects(load(packed, { archiveLimit: 1000 }), { name: 'NnexError', code: 'limit reached' });
  await assert.rejects(load(packed.subarray(0, packed.length - 20)), { name: 'NnexError', code: 'unreadable' });
});

test('inspect tells what a file holds', async () => {
  const seen = await inspect(network, { name: 'net.onnx' });
  assert.equal(seen.format, 'ONNX');
  assert.equal(seen.producer, 'nnex tests');
  assert.deepEqual(seen.opsets, { '': 17 });
  assert.equal(seen.inputs[0].text, 'f32[1,2,6,6]');
  assert.ok(seen.parameters >= 72 + 4 + 2 && seen.parameterBytes >= 4 * (72 + 4), String(seen.parameters));
  assert.ok(seen.multiplyAddCount >= 72 * 36 && seen.operators.some((operator) => operator.name === 'conv' && operator.nodes === 1));
  assert.ok(seen.activationBytes > 0);
});

test('extents that nobody knows have the same names whatever was read before', async () => {
  const found = onnx({
    inputs: { x: ['float32', ['N']] }, outputs: { y: ['int64', [null, 1]] },
    nodes: [{ op: 'NonZero', in: ['x'], out: ['i'] }, { op: 'Transpose', in: ['i'], out: ['y'] }],
  });
  const texts = async () => [(await load(found)).outputs[0].text, (await inspect(found)).outputs[0].text];
  const first = await texts();
  assert.match(first[0], /^i64\[\?non_zero\d,1\]$/);
  assert.deepEqual(await texts(), first);
});

test('check tells every fault with its place', async () => {
  assert.equal((await check(network)).sound, true);
  const bad = onnx({
    inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]], z: ['float32', [2]] },
    nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'], name: 'one' }, { op: 'Softmax', in: ['x'], out: ['z'], name: 'two', attributes: { axis: 'text' } }],
  });
  const report = await check(bad);
  assert.equal(report.sound, false);
  assert.ok(report.faultCount >= 2 && report.faults.length === report.faultCount, JSON.stringify(report.faults));
  assert.ok(report.faults.some((fault) => /one/.test(fault.where)) && report.faults.some((fault) => /two/.test(fault.where)));
  for (const fault of report.faults) assert.ok(fault.text.includes(fault.message) && fault.code === 'invalid model' && fault.severity === 'error');
  await assert.rejects(check('/nowhere'), { code: 'unreadable' });
});
