// Values that no method was made for, each by a name; those that say what happens to them throw `Thrown`.

export class Thrown extends Error {}
const thrown = () => { throw new Thrown('by the value'); };

const revoked = (target) => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
export const detach = (buffer) => structuredClone(buffer, { transfer: [buffer] });
const detached = () => {
  const view = new Float32Array(4);
  detach(view.buffer);
  return view;
};
const throwingProxy = () => new Proxy({}, new Proxy({}, { get: () => thrown }));

/** {name: () => value}; made anew each time, so that no call leaves its marks on another. */
export const hostile = {
  undefined: () => undefined, null: () => null, true: () => true, zero: () => 0, 'minus one': () => -1, 'two to the 31': () => 2 ** 31, 'two to the 32': () => 2 ** 32,
  'two to the 53': () => 2 ** 53, NaN: () => NaN, Infinity: () => Infinity, 'minus zero': () => -0, 'a tiny number': () => 5e-324, '1n': () => 1n, 'a huge BigInt': () => 1n << 100000n,
  'a negative BigInt': () => -(1n << 64n), 'the empty string': () => '', 'a string': () => 'float32', 'a lone surrogate': () => '\ud800', 'a long string': () => 'x'.repeat(1 << 20),
  'a symbol': () => Symbol('s'), 'a function': () => () => {}, 'a class': () => class {}, 'a date': () => new Date(0), 'a regular expression': () => /x/, 'an error': () => new Error('x'),
  'an empty object': () => ({}), 'an object without prototype': () => Object.create(null), 'an empty array': () => [], 'an array of arrays': () => [[[]]], 'a sparse array': () => new Array(5),
  'an array that names itself': () => { const a = []; a.push(a); return a; }, 'a long array': () => new Array(100000).fill(1), 'an array of large numbers': () => [2 ** 32 - 1, 2 ** 32 - 1],
  'a map': () => new Map([['x', 1]]), 'a set': () => new Set([1]), 'a promise': () => Promise.resolve(1), 'a typed array': () => new Float32Array(4), 'a detached view': detached,
  'a detached buffer': () => detached().buffer, 'a buffer': () => new ArrayBuffer(16), 'a shared buffer': () => new SharedArrayBuffer(16), 'a generator': () => (function* () { yield 1; })(),
  'a generator that throws': () => (function* () { yield 1; thrown(); })(), 'an iterator that throws': () => ({ [Symbol.iterator]: thrown }), 'an iterator of nothing': () => ({ [Symbol.iterator]: () => ({}) }),
  'a revoked proxy': () => revoked({}), 'a revoked array': () => revoked([]), 'a revoked function': () => revoked(() => {}), 'a proxy that throws': throwingProxy,
  'an object that throws as a primitive': () => ({ [Symbol.toPrimitive]: thrown }), 'an object with throwing members': () => ({
    get label() { return thrown(); }, get dataType() { return thrown(); }, get shape() { return thrown(); }, get axes() { return thrown(); }, get powerPreference() { return thrown(); },
  }),
  'an object whose number is an object': () => ({ valueOf: () => ({}), toString: () => ({}) }), 'a number object': () => new Number(1), 'a string object': () => new String('float32'),
  'a thenable': () => ({ then: thrown }), 'the global object': () => globalThis, 'a weak map': () => new WeakMap(),
};

if ('resizable' in ArrayBuffer.prototype)
  Object.assign(hostile, {
    'a resizable buffer': () => new ArrayBuffer(16, { maxByteLength: 64 }), 'a tracking view': () => new Float32Array(new ArrayBuffer(16, { maxByteLength: 64 })),
    'a view out of bounds': () => {
      const view = new Float32Array(new ArrayBuffer(16, { maxByteLength: 64 }), 8, 2);
      view.buffer.resize(4);
      return view;
    },
  });
if ('growable' in SharedArrayBuffer.prototype)
  hostile['a grown buffer'] = () => {
    const buffer = new SharedArrayBuffer(8, { maxByteLength: 64 });
    buffer.grow(16);
    return buffer;
  };

const kinds = new Set(['InvalidStateError', 'NotSupportedError', 'OperationError', 'UnknownError', 'SecurityError']);
/** Whether an error is one that WebNN may throw: TypeError, a DOMException of WebNN's, or the value's own. */
export const isFair = (error) => error instanceof Thrown || (error instanceof TypeError && Object.getPrototypeOf(error) === TypeError.prototype) ||
  (error instanceof DOMException && kinds.has(error.name));
