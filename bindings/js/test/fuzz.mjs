// fuzz.mjs [--calls N] [--seed S] [--hostile PERCENT]: random calls of WebNN, in part plausible, in part hostile, with objects destroyed
// at any time. Every exception must be the specification's; the process must live. The same seed makes the same calls.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { parse } from 'webidl2';
import 'nnex/polyfill';
import { hostile, isFair } from './hostile/values.mjs';
import { modelOf } from './idl/model.mjs';

const { values } = parseArgs({ options: {
  calls: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' }, hostile: { type: 'string', default: '8' }, trace: { type: 'boolean', default: false },
} });
const calls = Number(values.calls), rate = Number(values.hostile) / 100;
const model = modelOf(JSON.parse(JSON.stringify(parse(readFileSync(createRequire(import.meta.url).resolve('@webref/idl/webnn.idl'), 'utf8')))));

let state = Number(values.seed) >>> 0;
/** A number in [0, 1). */
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const chance = (p) => random() < p;
const list = (n, make) => Array.from({ length: n }, make);

const sizes = { float32: 4, float16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8, int8: 1, uint8: 1 };
const extent = () => (chance(0.01) ? pick([0, 2 ** 31, 2 ** 32 - 1, 65536]) : 1 + below(4));
const shapes = [[2, 2], [1, 2, 2, 1], [2], [], [1, 1, 4, 4], [2, 3]];
const shape = () => (chance(0.7) ? pick(shapes) : list(below(6), extent));
const dataType = () => (chance(0.8) ? 'float32' : pick(Object.keys(sizes)));
const hostileValue = () => hostile[pick(Object.keys(hostile))]();
const bytesOf = (d) => d.shape.reduce((n, e) => n * e, sizes[d.dataType]);
function bufferFor(d) {
  const bytes = bytesOf(d);
  const length = bytes <= 1 << 16 && chance(0.97) ? bytes : below(64);
  const view = new Uint8Array(chance(0.2) ? new SharedArrayBuffer(length) : length);
  return chance(0.3) ? view.buffer : view;
}

/** What there is: each with its descriptor where it has one. */
let context, contexts, builders, operands, tensors, graphs;
async function begin() {
  for (const one of contexts ?? []) if (chance(0.9)) one.destroy();
  contexts = [await navigator.ml.createContext(), await navigator.ml.createContext()];
  [context] = contexts;
  builders = contexts.map((one) => new MLGraphBuilder(one));
  tensors = await Promise.all(list(4, () => context.createTensor({ dataType: 'float32', shape: [2, 2], readable: true, writable: true })));
  operands = [];
  graphs = [];
}

/** A plausible value of a type. */
function plausible(type, name) {
  if (chance(rate / 4)) return hostileValue();
  switch (type.kind) {
    case 'integer': return chance(0.02) ? pick([type.min, type.max, type.max + 1, -1]) : below(4);
    case 'double': case 'float': case 'unrestricted': return pick([0, 1, -1, 0.5, 1e-5, 6, NaN]);
    case 'bigint': return pick([0n, -1n, 1n << 63n]);
    case 'boolean': return chance(0.5);
    case 'string': return pick(['', 'label', 'é\u0000"', name]);
    case 'enum': return pick(type.values);
    case 'union': return plausible(pick(type.of), name);
    case 'buffer': return bufferFor({ dataType: dataType(), shape: pick(shapes) });
    case 'interface': return pick({ MLOperand: operands, MLTensor: tensors, MLContext: contexts, MLGraph: graphs }[type.name] ?? [{}]);
    case 'sequence': return list(chance(0.6) ? 2 : below(5), () => plausible(type.of, name));
    case 'record': return Object.fromEntries(list(1 + below(3), () => [pick(['x', 'y', 'z']), plausible(type.of, name)]));
    case 'dictionary': return dictionary(type.name);
    default: return {};
  }
}

function dictionary(name) {
  if (name === 'MLOperandDescriptor' || name === 'MLTensorDescriptor')
    return { dataType: dataType(), shape: shape(), ...(name === 'MLTensorDescriptor' && { readable: chance(0.7), writable: chance(0.7) }) };
  const out = {};
  for (const member of model.dictionary(name))
    if (member.required || chance(0.3)) {
      const value = plausible(member.type, member.name);
      if (chance(0.02)) Object.defineProperty(out, member.name, { enumerable: true, get() { disturb(); return value; } });
      else out[member.name] = value;
    }
  return out;
}

/** Something that a getter should not do. */
function disturb() {
  switch (below(5)) {
    case 0: return pick(contexts).destroy();
    case 1: return pick(tensors).destroy();
    case 2: return graphs.length && pick(graphs).destroy();
    case 3: return operands.length && void settle(pick(builders).build({ y: pick(operands) }));
    default: throw hostileError;
  }
}
const hostileError = Object.assign(new TypeError('of a getter'));

const wrong = [];
let pending = [], made = 0, failed = 0, outcome = new Map();
const count = (what) => outcome.set(what, (outcome.get(what) ?? 0) + 1);
function judge(error, what) {
  ++failed;
  count(error?.name ?? 'what is no error');
  if (error !== hostileError && !isFair(error)) wrong.push(`call ${made}: ${what}: ${error?.stack ?? error}`);
}
function settle(promise, what = 'build', keep = () => {}) {
  pending.push(promise.then((value) => { count('success'); keep(value); }, (error) => judge(error, what)));
  return promise;
}
const remember = (pool, value, most) => (pool.length < most ? pool.push(value) : (pool[below(most)] = value));

function call(self, name, args, what, keep) {
  ++made;
  if (values.trace) console.error(made, what);
  try {
    if (chance(rate)) args[below(args.length + 1)] = hostileValue();
    if (chance(rate / 20)) self = hostileValue();
    const f = globalThis[what.split('.')[0]].prototype[name];
    const result = Reflect.apply(f, self, args);
    if (result instanceof Promise) settle(result, what, keep);
    else {
      count('success');
      keep?.(result);
    }
  } catch (error) {
    judge(error, what);
  }
}


const { operations } = model.interfaces.find(({ name }) => name === 'MLGraphBuilder');
const built = operations.filter(({ name, overloads }) => overloads.length === 1 && !['input', 'build'].includes(name));
const actions = [
  [60, () => {
    const { name, overloads: [{ args }] } = pick(built);
    call(pick(builders), name, args.filter(({ optional }) => !optional || chance(0.6)).map((arg) => plausible(arg.type, arg.name)), `MLGraphBuilder.${name}`,
      (result) => [result].flat().forEach((operand) => remember(operands, operand, 40)));
  }],
  [10, () => call(pick(builders), 'input', [pick(['x', 'y', 'z', '', `n${made}`]), dictionary('MLOperandDescriptor')], 'MLGraphBuilder.input', (operand) => remember(operands, operand, 40))],
  [8, () => {
    const d = dictionary('MLOperandDescriptor');
    call(pick(builders), 'constant', chance(0.3) ? [dataType(), plausible({ kind: 'union', of: [{ kind: 'bigint' }, { kind: 'unrestricted' }] })] : chance(0.1) ? [pick(tensors)] : [d, bufferFor(d)],
      'MLGraphBuilder.constant', (operand) => remember(operands, operand, 40));
  }],
  [4, () => {
    const n = below(builders.length);
    call(builders[n], 'build', [plausible({ kind: 'record', of: { kind: 'interface', name: 'MLOperand' } })], 'MLGraphBuilder.build', (graph) => remember(graphs, graph, 10));
    if (chance(0.5)) try { builders[n] = new MLGraphBuilder(pick(contexts)); } catch (error) { judge(error, 'new MLGraphBuilder'); }
  }],
  [2, () => {  // a graph that is right
    try {
      const builder = new MLGraphBuilder(context), d = { dataType: 'float32', shape: [2, 2] };
      settle(builder.build({ y: builder.add(builder.input('x', d), builder.constant(d, new Float32Array(4))) }), 'build', (graph) => remember(graphs, graph, 10));
    } catch (error) { judge(error, 'a plain graph'); }
  }],
  [6, () => call(context, 'dispatch', [pick(graphs), chance(0.7) ? { x: pick(tensors) } : plausible({ kind: 'record', of: { kind: 'interface', name: 'MLTensor' } }),
    chance(0.7) ? { y: pick(tensors) } : { y: pick(tensors), z: pick(tensors) }], 'MLContext.dispatch')],
  [4, () => call(pick(contexts), 'createTensor', [dictionary('MLTensorDescriptor')], 'MLContext.createTensor', (tensor) => remember(tensors, tensor, 30))],
  [2, () => {
    const d = dictionary('MLOperandDescriptor');
    call(pick(contexts), 'createConstantTensor', [d, bufferFor(d)], 'MLContext.createConstantTensor', (tensor) => remember(tensors, tensor, 30));
  }],
  [5, () => call(pick(contexts), 'readTensor', chance(0.5) ? [pick(tensors)] : [pick(tensors), bufferFor({ dataType: 'float32', shape: [2, 2] })], 'MLContext.readTensor')],
  [5, () => call(pick(contexts), 'writeTensor', [pick(tensors), bufferFor({ dataType: 'float32', shape: [2, 2] })], 'MLContext.writeTensor')],
  [1, () => call(pick(contexts), 'opSupportLimits', [], 'MLContext.opSupportLimits')],
  [0.5, () => call(pick(tensors), 'destroy', [], 'MLTensor.destroy')],
  [0.5, () => graphs.length && call(pick(graphs), 'destroy', [], 'MLGraph.destroy')],
  [0.1, () => call(pick(contexts), 'destroy', [], 'MLContext.destroy')],
  [0.3, () => call(navigator.ml, 'createContext', [plausible({ kind: 'dictionary', name: 'MLContextOptions' })], 'ML.createContext', (one) => { contexts[1] = one; })],
];
const total = actions.reduce((n, [weight]) => n + weight, 0);

const began = performance.now();
await begin();
while (made < calls) {
  let at = random() * total;
  actions.find(([weight]) => (at -= weight) < 0)[1]();
  if (made % 50 === 0) {
    await Promise.all(pending);
    pending = [];
  }
  if (chance(0.003)) await begin();
  if (wrong.length > 20) break;
}
await Promise.all(pending);
const seconds = (performance.now() - began) / 1000;
console.log(`${made} calls in ${seconds.toFixed(1)} s, seed ${values.seed}: ${[...outcome].sort((a, b) => b[1] - a[1]).map(([what, n]) => `${n} ${what}`).join(', ')}`);
for (const text of wrong) console.log(text);
console.log(wrong.length ? `${wrong.length} wrong exceptions` : 'every exception was the specification\'s');
process.exitCode = wrong.length ? 1 : 0;
