// patched.mjs: one scenario of WebNN, with each function of JavaScript's own objects replaced in turn by one that throws, after the
// package was loaded: what the page does to its own objects must not reach into the package. Prints what did, as JSON.
import 'nnex/polyfill';

const { ml } = navigator;
const { defineProperty } = Object, OwnTypeError = TypeError;

/** Uses nothing but syntax and WebNN itself. */
async function scenario() {
  const context = await ml.createContext({ powerPreference: 'default' });
  const builder = new MLGraphBuilder(context);
  const descriptor = { dataType: 'float32', shape: [2, 2] };
  const x = builder.input('x', descriptor);
  const w = builder.constant(descriptor, new Float32Array(4));
  const sum = builder.add(x, w, { label: 'sum' });
  const pooled = builder.reduceSum(sum, { axes: [1], keepDimensions: true });
  const half = builder.split(pooled, 2)[0];
  const graph = await builder.build({ y: builder.concat([half, half], 0), s: sum });
  const made = { dataType: 'float32', shape: [2, 2], readable: true, writable: true };
  const a = await context.createTensor(made), s = await context.createTensor(made);
  const y = await context.createTensor({ dataType: 'float32', shape: [2, 1], readable: true });
  const data = new Float32Array(4);
  data[0] = 1;
  data[1] = 2;
  context.writeTensor(a, data);
  context.dispatch(graph, { x: a }, { y, s });
  const bytes = await context.readTensor(y);
  await context.readTensor(s, data);
  let refused = false;
  try {
    builder.add(x, null);
  } catch (error) {
    refused = error instanceof OwnTypeError;
  }
  const limits = context.opSupportLimits();
  const fine = new Float32Array(bytes)[0] === 3 && data[1] === 2 && refused && limits.input.dataTypes.length === 8 && sum.shape[1] === 2;
  context.destroy();
  const { message } = await context.lost;
  return fine && typeof message === 'string';
}

const patched = [];
// what escapes from a step counts for the function that is replaced just now
let escaped = 0;
process.on('uncaughtException', () => { ++escaped; });
const reached = [];
const { setTimeout, setImmediate, Promise } = globalThis;
/** A promise that is lost in the package must not hold up the others. */
const within = (promise) => new Promise((resolve) => {
  const timer = setTimeout(resolve, 2000, false);
  (async () => {
    try {
      resolve(await promise);
    } catch {
      resolve(false);
    }
    clearTimeout(timer);
  })();
});

/** Runs the scenario while `key` of `object` is what `descriptor` says. */
async function during(name, object, key, descriptor) {
  const own = Object.getOwnPropertyDescriptor(object, key);
  let calls = 0, fine = false;
  patched.push(name);
  try {
    defineProperty(object, key, { configurable: true, ...descriptor(() => { ++calls; throw new RangeError(name); }) });
    fine = await within(scenario());
  } catch {
    fine = false;
  } finally {
    if (own) defineProperty(object, key, own);
    else delete object[key];
  }
  await new Promise(setImmediate);
  if (!fine || calls || escaped) reached.push(name);
  escaped = 0;
}

const throwing = (thrower) => ({ value: thrower, writable: true });
const roots = {
  Array, ArrayBuffer, BigInt, Boolean, DataView, Date, Error, FinalizationRegistry, Float32Array, Function, JSON, Map, Math, Number, Object, Promise, Reflect, RegExp, Set,
  SharedArrayBuffer, String, Symbol, TypeError, Uint8Array, WeakMap, WeakRef, WeakSet, DOMException, TypedArray: Object.getPrototypeOf(Uint8Array),
};
// what this file calls, and what converting a sequence must call
const ours = new Set(['Object.getOwnPropertyDescriptor', 'Object.defineProperty', 'Array.prototype.Symbol(Symbol.iterator)']);

if (!await scenario()) throw new Error('the scenario itself goes wrong');
for (const [name, root] of Object.entries(roots))
  for (const [where, object] of [[name, root], [`${name}.prototype`, root.prototype]]) {
    if (!object) continue;
    for (const key of Reflect.ownKeys(object)) {
      const own = Object.getOwnPropertyDescriptor(object, key), what = `${where}.${String(key)}`;
      if (!own.configurable || ours.has(what) || key === 'constructor' || key === 'prototype' || key === 'name' || key === 'length' && where === name) continue;
      if (typeof own.value === 'function') await during(what, object, key, throwing);
      else if (own.get) await during(what, object, key, (thrower) => ({ get: thrower }));
    }
  }
for (const iterator of [new Map()[Symbol.iterator](), new Set()[Symbol.iterator](), (function* () {})()])
  await during(`${Object.prototype.toString.call(iterator)}.next`, Object.getPrototypeOf(iterator), 'next', throwing);
for (const name of ['Promise', 'Array', 'Map', 'WeakMap', 'Uint8Array', 'ArrayBuffer', 'TypeError', 'DOMException', 'FinalizationRegistry', 'Object', 'structuredClone', 'queueMicrotask', 'setTimeout'])
  if (globalThis[name]) await during(`globalThis.${name}`, globalThis, name, throwing);
// setters on the way of plain assignments, and members that objects seem to have
for (const key of ['0', '1', 'x', 'y', 'dataType', 'name', 'value', 'min', 'bytes', 'kind', 'readable', 'get', 'set', 'enumerable', 'writable', 'label', 'then'])
  await during(`set Object.prototype.${key}`, Object.prototype, key, (thrower) => ({ set: thrower, get: () => undefined }));
for (const key of ['0', '1', '2']) await during(`set Array.prototype.${key}`, Array.prototype, key, (thrower) => ({ set: thrower, get: () => undefined }));

process.stdout.write(JSON.stringify({ patched: patched.length, reached }), () => process.exit(0));
