// What only live objects show: same objects, frozen arrays, limits in order, records, buffers, overloads.
import { checkMembers, ended, Stop, stop } from './conversions.mjs';
import { fail, isTypeError, rejectionOf, same, sameList, throwsTypeError } from './verdicts.mjs';

/** One live object of each interface. */
export async function liveObjects({ navigator, MLGraphBuilder }) {
  const context = await navigator.ml.createContext();
  const builder = new MLGraphBuilder(context);
  const operand = builder.input('x', { dataType: 'float32', shape: [2, 3] });
  const other = new MLGraphBuilder(context);
  const graph = await other.build({ y: other.relu(other.input('x', { dataType: 'float32', shape: [2, 3] })) });
  const tensor = await context.createTensor({ dataType: 'float32', shape: [2, 3], readable: true, writable: true });
  return { ML: navigator.ml, MLContext: context, MLGraphBuilder: builder, MLOperand: operand, MLTensor: tensor, MLGraph: graph };
}

const descriptor = { dataType: 'float32', shape: [2, 3] };

function checkAttributes(verdicts, objects, { navigator }) {
  const { MLContext: context, MLOperand: operand, MLTensor: tensor } = objects;
  verdicts.check('navigator.ml is the same object each time', () => same(navigator.ml, navigator.ml));
  verdicts.check('navigator.ml is an attribute of the prototype', () => {
    if (Object.hasOwn(navigator, 'ml')) fail('the navigator has it itself');
    const { get, set, enumerable, configurable } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(navigator), 'ml') ?? fail('it is missing');
    sameList([get.name, set, enumerable, configurable], ['get ml', undefined, true, true]);
    throwsTypeError(() => Reflect.apply(get, {}, []), 'on another object');
  });
  verdicts.check('lost is the same promise each time', () => {
    same(context.lost, context.lost);
    if (!(context.lost instanceof Promise)) fail('found no promise');
  });
  for (const [name, object] of Object.entries({ MLOperand: operand, MLTensor: tensor }))
    verdicts.check(`${name}.shape is one frozen array`, () => {
      same(object.shape, object.shape);
      if (!Array.isArray(object.shape) || !Object.isFrozen(object.shape)) fail('found no frozen array');
      sameList(object.shape, [2, 3]);
      same(object.dataType, 'float32');
    });
  verdicts.check('MLTensor attributes', () => sameList([tensor.readable, tensor.writable, tensor.constant], [true, true, false]));
  verdicts.check('accelerated', () => same(typeof context.accelerated, 'boolean'));
}

/** A dictionary that came back: members by name in order, nothing else, plain all the way down. */
function checkReturned(type, value, where, model) {
  if (type.kind === 'dictionary') {
    same(Object.getPrototypeOf(value), Object.prototype, where);
    const members = model.dictionary(type.name);
    sameList(Reflect.ownKeys(value), members.map(({ name }) => name), where);
    for (const { name, type: inner } of members) checkReturned(inner, value[name], `${where}.${name}`, model);
  } else if (type.kind === 'sequence') {
    if (!Array.isArray(value) || Object.isFrozen(value)) fail(`${where}: needed an array of its own`);
    value.forEach((item, i) => checkReturned(type.of, item, `${where}[${i}]`, model));
  } else if (type.kind === 'enum') {
    if (!type.values.includes(value)) fail(`${where}: found ${String(value)}; needed one of ${type.values}`);
  } else {
    same(typeof value, 'number', where);
  }
}

function checkLimits(verdicts, { MLContext: context }, model) {
  verdicts.check('opSupportLimits() has every member, by name', () =>
    checkReturned({ kind: 'dictionary', name: 'MLOpSupportLimits' }, context.opSupportLimits(), 'limits', model));
  verdicts.check('opSupportLimits() is made anew', () => {
    const one = context.opSupportLimits(), other = context.opSupportLimits();
    if (one === other || one.input === other.input || one.input.dataTypes === other.input.dataTypes) fail('found the same object twice');
  });
}

/** build(outputs) and dispatch(graph, inputs, outputs) read records. */
async function checkRecords(verdicts, { MLContext: context, MLGraphBuilder: builder, MLOperand: operand, MLGraph: graph, MLTensor: tensor }) {
  const traced = (log, entries) => new Proxy(entries, {
    ownKeys: (target) => (log.push('keys'), Reflect.ownKeys(target)),
    getOwnPropertyDescriptor: (target, key) => (log.push(`describe ${String(key)}`), Reflect.getOwnPropertyDescriptor(target, key)),
    get: (target, key) => (log.push(`get ${String(key)}`), target[key]),
    has: () => fail('a member was looked for'),
  });
  const calls = {
    build: { good: operand, call: (outputs) => rejectionOf(() => builder.build(outputs)) },
    'dispatch inputs': { good: tensor, call: async (inputs) => { context.dispatch(graph, inputs, { get y() { return stop(); } }); } },
    'dispatch outputs': { good: tensor, call: async (outputs) => { context.dispatch(graph, {}, outputs); } },
  };
  const errorOf = async (call, entries) => {
    try {
      return await call(entries);
    } catch (error) {
      return error;
    }
  };
  for (const [name, { good, call }] of Object.entries(calls)) {
    await verdicts.later(`${name} reads its record key by key`, async () => {
      const log = [];
      const error = await errorOf(call, traced(log, Object.defineProperties({ b: good, 2: good }, {
        hidden: { value: 1, enumerable: false }, last: { enumerable: true, get: name === 'dispatch inputs' ? () => good : stop },
      })));
      if (!(error instanceof Stop)) fail(`found ${error?.name}: ${error?.message}`);
      sameList(log, ['keys', 'describe 2', 'get 2', 'describe b', 'get b', 'describe hidden', 'describe last', 'get last']);
    });
    for (const wrong of [undefined, null, 1, 'text', { x: null }, { x: 1 }, { x: {} }, { x: [good] }, { [Symbol('s')]: good }, { x: good, y: undefined }])
      await verdicts.later(`${name} refuses ${typeof wrong} ${JSON.stringify(wrong)}`, async () => {
        const error = await errorOf(call, wrong);
        if (error instanceof Stop) fail('found that it went on');
        isTypeError(error);
      });
  }
}

async function checkBuffers(verdicts, { MLContext: context, MLGraphBuilder: builder, MLTensor: tensor }) {
  const viewed = new Float32Array(12);
  const good = {
    'an ArrayBuffer': new ArrayBuffer(24), 'a Float32Array': new Float32Array(6), 'a view': viewed.subarray(3, 9), 'a Uint8Array': new Uint8Array(24),
    'a DataView': new DataView(new ArrayBuffer(30), 6), 'a Float64Array': new Float64Array(3), 'a Uint8ClampedArray': new Uint8ClampedArray(24),
  };
  if (typeof SharedArrayBuffer !== 'undefined')
    Object.assign(good, { 'a SharedArrayBuffer': new SharedArrayBuffer(24), 'a shared view': new Float32Array(new SharedArrayBuffer(24)) });
  const detached = new Float32Array(6);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const bad = {
    undefined, null: null, 'a number': 24, 'a string': 'x'.repeat(24), 'an array': [0, 0, 0, 0, 0, 0], 'an object': { byteLength: 24 },
    'a short buffer': new ArrayBuffer(23), 'a proxy': new Proxy(new ArrayBuffer(24), {}), 'an heir': Object.create(new Float32Array(6)),
    'a detached view': detached, 'a detached buffer': detached.buffer,
  };
  if ('resizable' in ArrayBuffer.prototype) {
    const resizable = new ArrayBuffer(24, { maxByteLength: 24 });
    Object.assign(bad, { 'a resizable buffer': resizable, 'a view of a resizable buffer': new Float32Array(resizable) });
  }
  if (typeof SharedArrayBuffer !== 'undefined' && 'growable' in SharedArrayBuffer.prototype) {
    const growable = new SharedArrayBuffer(24, { maxByteLength: 48 });
    Object.assign(bad, { 'a growable buffer': growable, 'a view of a growable buffer': new Float32Array(growable) });
  }
  const calls = {
    writeTensor: (data) => context.writeTensor(tensor, data), readTensor: (data) => context.readTensor(tensor, data),
    constant: (data) => builder.constant(descriptor, data), createConstantTensor: (data) => context.createConstantTensor(descriptor, data),
  };
  const promised = new Set(['readTensor', 'createConstantTensor']);
  for (const [name, call] of Object.entries(calls)) {
    for (const [kind, data] of Object.entries(good)) {
      if (name === 'constant' && !/Float32Array|ArrayBuffer|Uint8Array|a view|shared view/.test(kind)) continue;  // typed by the descriptor
      if (name === 'createConstantTensor' && !/Float32Array|ArrayBuffer|Uint8Array|a view|shared view/.test(kind)) continue;
      await verdicts.later(`${name} takes ${kind}`, async () => { await call(data); });
    }
    for (const [kind, data] of Object.entries(bad))
      if (!(name === 'readTensor' && kind === 'undefined'))
        await verdicts.later(`${name} refuses ${kind}`, async () => (promised.has(name) ? isTypeError(await rejectionOf(() => call(data))) : throwsTypeError(() => call(data))));
  }
}

async function checkOverloads(verdicts, objects, model, { MLGraphBuilder }) {
  const { ML: ml, MLContext: context, MLGraphBuilder: builder, MLTensor: tensor, MLOperand: operand } = objects;
  for (const wrong of [1, 'text', true, Symbol('s'), 1n, { powerPreference: 'bogus' }, { powerPreference: null }])
    await verdicts.later(`createContext refuses ${typeof wrong} ${typeof wrong === 'object' ? JSON.stringify(wrong) : ''}`, async () => isTypeError(await rejectionOf(() => ml.createContext(wrong))));
  for (const fine of [undefined, null, {}, [], { accelerated: 0, powerPreference: 'low-power', unknown: 1 }])
    await verdicts.later(`createContext takes ${JSON.stringify(fine)}`, async () => { (await ml.createContext(fine)).destroy(); });
  await verdicts.later('createContext reads its options by name', async () => {
    const log = [];
    (await ml.createContext(new Proxy({}, { get: (_, key) => { log.push(key); } }))).destroy();
    sameList(log, model.dictionary('MLContextOptions').map(({ name }) => name));
  });
  await verdicts.later('what a getter throws rejects createContext', async () => {
    if (!(await rejectionOf(() => ml.createContext({ get accelerated() { return stop(); } })) instanceof Stop)) fail('found another error');
  });
  for (const [name, call] of Object.entries({ constant: (d) => builder.constant(d, { get byteLength() { return stop(); } }) }))
    for (const wrong of [null, 1, {}, { dataType: 'float32' }, { shape: [] }, { dataType: 'bogus', shape: [] }, { dataType: 'float32', shape: 1 }])
      verdicts.check(`${name} refuses a descriptor ${JSON.stringify(wrong)}`, () => same(ended(() => call(wrong)), 'TypeError'));
  checkMembers(verdicts, 'input', { name: 'MLOperandDescriptor' }, objects, model, (d) => builder.input('y', d));
  for (const value of [0, NaN, -Infinity, '5', null]) verdicts.check(`constant('float32', ${typeof value} ${value})`, () => same(builder.constant('float32', value).shape.length, 0));
  for (const args of [[], [1], ['float32'], ['bogus', 1], [operand], [tensor, 1], [{}], ['float32', Symbol('s')], [undefined, 1]])
    verdicts.check(`constant(${args.map((arg) => (typeof arg === 'object' ? 'object' : String(arg)))}) is refused`, () => throwsTypeError(() => builder.constant(...args)));
  for (const wrong of [null, {}, 1, builder, Object.create(context)])
    verdicts.check(`new MLGraphBuilder(${typeof wrong})`, () => throwsTypeError(() => new MLGraphBuilder(wrong)));
  verdicts.check('a class derived from MLGraphBuilder', () => {
    class Derived extends MLGraphBuilder {}
    const derived = new Derived(context);
    same(Object.getPrototypeOf(derived), Derived.prototype);
    same(derived.constant('float32', 1).dataType, 'float32');
  });
  await verdicts.later('names are scalar values', async () => {
    const one = new MLGraphBuilder(context);
    const graph = await one.build({ '\udc00': one.relu(one.input('\ud800', descriptor)) });
    context.dispatch(graph, { '\ufffd': tensor }, { '\ufffd': await context.createTensor(descriptor) });
  });
  for (const name of ['createTensor', 'createConstantTensor', 'readTensor'])
    for (const wrong of [1, 'text', {}, Symbol('s')])
      await verdicts.later(`${name}(${typeof wrong}) rejects`, async () => isTypeError(await rejectionOf(() => context[name](wrong, new Uint8Array(24)))));
}

export async function checkObjects(verdicts, model, scope, objects) {
  checkAttributes(verdicts, objects, scope);
  checkLimits(verdicts, objects, model);
  await checkRecords(verdicts, objects);
  await checkBuffers(verdicts, objects);
  await checkOverloads(verdicts, objects, model, scope);
}
