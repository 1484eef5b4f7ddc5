// What plays a builder program on the page (page/program.js), in Node: the words of its members against the interface definition, and networks
// against their own answers.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'webidl2';
import { convert, load, ml, MLGraphBuilder } from 'nnex';
import { inputsRead, play, words, numbers } from '../page/program.js';
import { namesOf, network } from './clients/files.mjs';
import { difference, inputsOf } from './clients/stored.mjs';
import { onnx } from './support/onnx-writer.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));

test('members that hold words or numbers are those of the interface definition', () => {
  const definitions = parse(readFileSync(file('../node_modules/@webref/idl/webnn.idl'), 'utf8'));
  const enums = definitions.filter(({ type }) => type === 'enum').map(({ name }) => name);
  const found = { words: new Set(), numbers: new Set(), operands: new Set() };
  const see = (name, { generic, idlType, union }) => {
    const one = generic ? idlType[0].idlType : idlType;
    if (one === 'MLOperand') found.operands.add(name);
    else if (enums.includes(one) || one === 'USVString') found.words.add(name);
    else if (union || one === 'MLNumber' || /double|float/.test(one)) found.numbers.add(name);
  };
  for (const { type, name, members } of definitions) {
    if (name === 'MLGraphBuilder')
      for (const method of members.filter((m) => m.type === 'operation' && !['input', 'constant', 'build'].includes(m.name)))
        for (const argument of method.arguments) see(argument.name, argument.idlType);
    if (type === 'dictionary' && name.endsWith('Options') && name !== 'MLContextOptions') for (const member of members) see(member.name, member.idlType);
  }
  assert.deepEqual([...words].sort(), [...found.words].sort());
  assert.deepEqual([...numbers].sort(), [...found.numbers].sort());
  for (const name of found.operands) assert.ok(!words.has(name) && !numbers.has(name), name);
});

/** Plays a model's program; its outputs by name as {type, dims, data}. */
async function throughProgram(source, feeds, options) {
  const files = [...await convert(source, { to: 'webnn', ...options })];
  const of = (ending) => files.find(([name]) => name.endsWith(ending))?.[1];
  const program = JSON.parse(new TextDecoder().decode(of('.webnn')));
  const context = await ml.createContext(), builder = new MLGraphBuilder(context);
  const made = play(program, of('.weights'), builder);
  const shapes = Object.fromEntries(Object.entries(made).map(([name, { dataType, shape }]) => [name, { dataType, shape }]));
  const graph = await builder.build(made), inputs = {}, outputs = {};
  for (const { name, dataType, shape } of inputsRead(program)) context.writeTensor(inputs[name] = await context.createTensor({ dataType, shape, writable: true }), feeds[name].data);
  for (const [name, { dataType, shape }] of Object.entries(shapes)) outputs[name] = await context.createTensor({ dataType, shape, readable: true });
  context.dispatch(graph, inputs, outputs);
  const answers = {};
  for (const name of Object.keys(outputs)) answers[name] = new Uint8Array(await context.readTensor(outputs[name]));
  context.destroy();
  return answers;
}
test('a tensor may have the name of a word or a number', async () => {
  // "linear" is a mode of resample2d, "Infinity" and "NaN" are numbers in words; here they are operands.
  const source = onnx({
    inputs: { linear: ['float32', [2]] }, outputs: { NaN: ['float32', [2]] },
    nodes: [{ op: 'Neg', in: ['linear'], out: ['Infinity'] }, { op: 'Add', in: ['Infinity', 'linear'], out: ['label'] }, { op: 'Exp', in: ['label'], out: ['NaN'] }],
  });
  const answers = await throughProgram(source, { linear: { data: Float32Array.of(3, 4) } });
  assert.deepEqual(new Float32Array(answers.NaN.buffer), Float32Array.of(1, 1));
});

test('what no output comes from is no input of the graph', async () => {
  const x = ['float32', [2]], source = onnx({ inputs: { a: x, b: x, c: x, unread: x, alone: x }, outputs: { y: x }, nodes: [
    { op: 'Neg', in: ['alone'], out: ['nothing'] }, { op: 'Concat', in: ['a', 'b'], out: ['ab'], attributes: { axis: 0 } },
    { op: 'Split', in: ['ab'], out: ['first', 'second'], attributes: { axis: 0 } }, { op: 'Clip', in: ['second'], out: ['cut'] }, { op: 'Add', in: ['cut', 'c'], out: ['y'] },
  ] });
  const feed = (...data) => ({ data: Float32Array.from(data) });
  const answers = await throughProgram(source, { a: feed(1, 2), b: feed(3, 4), c: feed(10, 20) });
  assert.deepEqual(new Float32Array(answers.y.buffer), Float32Array.of(13, 24));
});

const folder = join(process.env.NNEX_SHARED ?? file('../../../../shared'), 'models/onnx');
const networks = [file('../../../models/shapes'), ...existsSync(folder) ? namesOf(folder).map((name) => join(folder, name)) : []];
let played = 0;
for (const place of networks)
  test(`${basename(place)} gives its stored answers`, async (t) => {
    const { model, sets: [{ inputs, outputs }], tolerance } = network(place);
    const ports = inputsOf(model), results = (await load(model)).outputs.map((port) => port.name);
    const feeds = Object.fromEntries(inputs.map((input, i) => [ports[i].name, input]));
    let answers;
    try {
      answers = await throughProgram(model, feeds, { load: { shapes: Object.fromEntries(ports.map((port, i) => [port.name, inputs[i].dims])) } });
    } catch (error) {
      if (error.code !== 'unsupported') throw error;
      assert.match(error.message, /^WebNN cannot say \d+ operations?:\n  .*: node '/);  // all that it lacks, with their places
      return t.diagnostic(error.message);
    }
    outputs.forEach(({ data }, i) => assert.equal(difference(new data.constructor(answers[results[i]].buffer), data, tolerance), '', results[i]));
    ++played;
  });
test('most of them are played', { skip: networks.length === 1 && 'no stored networks' }, () => assert.ok(played >= 18, `${played} of ${networks.length}`));
