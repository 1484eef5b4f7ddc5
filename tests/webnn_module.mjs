// webnn_module.mjs MODULE PROGRAM: whether a generated module, or script in .js, calls a builder as the program of the same network
// says. The builder here only writes down what it is called with. A script runs as in a page from a disk: nothing can be imported,
// fetched or read, so it carries its weights.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

const [, , modulePath, programPath] = process.argv;
const program = JSON.parse(await readFile(programPath, 'utf8'));
const weights = program.weights ? await readFile(join(dirname(programPath), program.weights)) : Buffer.alloc(0);
const made = modulePath.endsWith('.js') ? await scriptOf(modulePath) : await import(pathToFileURL(resolve(modulePath)));

async function scriptOf(path) {
  globalThis.fetch = undefined;
  new vm.Script(await readFile(path, 'utf8'), { filename: path }).runInThisContext();
  return globalThis.nnexModels[basename(path, '.js')];
}

let next = 0, constants = 0;
const asText = (v) => (typeof v === 'bigint' ? `${v}n` : Object.is(v, -0) ? '-0' : Number.isNaN(v) ? 'NaN' : Math.abs(v) === Infinity ? String(v) : v);
const plain = (v) => (Array.isArray(v) ? v.map(plain) : v && v.operand ? v.operand : typeof v === 'object' && v ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, plain(x)])) : asText(v));

const builder = new Proxy({
  input(name, descriptor) {
    assert.deepEqual(descriptor, (({ dataType, shape }) => ({ dataType, shape }))(program.inputs.find((i) => i.name === name)));
    return { operand: name };
  },
  constant(first, second) {
    const wanted = program.constants[constants++];
    if (typeof first === 'string') {
      assert.deepEqual([first, [plain(second)]], [wanted.dataType, wanted.data]);
    } else {
      assert.deepEqual(first, { dataType: wanted.dataType, shape: wanted.shape });
      assert.ok(Buffer.from(second).equals(weights.subarray(wanted.offset, wanted.offset + second.byteLength)));
    }
    return { operand: wanted.name };
  },
  async build(outputs) {
    assert.deepEqual(plain(outputs), program.outputs);
    return 'a graph';
  },
}, {
  get(own, op) {
    if (op in own) return own[op];
    return (...given) => {
      const wanted = program.operations[next++];
      assert.equal(op, wanted.op);
      const names = Object.keys(wanted.args), options = wanted.options ?? {};
      assert.deepEqual(given.slice(0, names.length).map(plain), Object.values(wanted.args));
      assert.deepEqual(plain(given[names.length] ?? {}), options);
      const operands = wanted.results.map((operand) => ({ operand }));
      return ['split', 'gru', 'lstm', 'lstmCell'].includes(op) ? operands : operands[0];
    };
  },
});

assert.equal(await made.build(null, { builder }), 'a graph');
assert.equal(next, program.operations.length);
assert.equal(constants, program.constants.length);
assert.deepEqual(Object.keys(made.inputs), program.inputs.map((i) => i.name));
assert.deepEqual(Object.keys(made.outputs), Object.keys(program.outputs));
console.log(`${next} operations, ${constants} constants: the module says what the program says`);
