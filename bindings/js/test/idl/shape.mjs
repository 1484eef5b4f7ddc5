// The shape of interfaces: functions, prototypes, attributes, operations, brands.
import { requiredOf } from './model.mjs';
import { fail, isTypeError, rejectionOf, same, sameList, throwsTypeError } from './verdicts.mjs';

function property(object, key, { value, writable, enumerable, configurable }) {
  const found = Object.getOwnPropertyDescriptor(object, key) ?? fail('it is missing');
  same(found.writable, writable, 'writable');
  same(found.enumerable, enumerable, 'enumerable');
  same(found.configurable, configurable, 'configurable');
  if (value !== undefined) same(found.value, value, 'value');
  return found.value;
}

function plainFunction(f, name, length) {
  same(typeof f, 'function');
  property(f, 'name', { value: name, writable: false, enumerable: false, configurable: true });
  property(f, 'length', { value: length, writable: false, enumerable: false, configurable: true });
  if (Object.hasOwn(f, 'prototype')) fail('it has a prototype');
  throwsTypeError(() => Reflect.construct(Object, [], f), 'as a constructor');
}

function checkInterface(verdicts, scope, { name, constructor, attributes, operations }) {
  const check = (what, f) => verdicts.check(`${name}${what}`, f);
  const Class = scope[name], { prototype } = Class ?? {};
  check('', () => same(typeof Class, 'function'));
  if (!prototype) return;
  check(' as a global', () => property(scope, name, { writable: true, enumerable: false, configurable: true }));
  check('.length', () => property(Class, 'length', { value: constructor ? requiredOf(constructor.args) : 0, writable: false, enumerable: false, configurable: true }));
  check('.name', () => property(Class, 'name', { value: name, writable: false, enumerable: false, configurable: true }));
  check('.prototype', () => property(Class, 'prototype', { writable: false, enumerable: false, configurable: false }));
  check(' own properties', () => sameList(Reflect.ownKeys(Class).sort(), ['length', 'name', 'prototype']));
  check(' inherits from Function.prototype', () => same(Object.getPrototypeOf(Class), Function.prototype));
  check('.prototype inherits from Object.prototype', () => same(Object.getPrototypeOf(prototype), Object.prototype));
  check('.prototype.constructor', () => property(prototype, 'constructor', { value: Class, writable: true, enumerable: false, configurable: true }));
  check('.prototype[Symbol.toStringTag]', () => property(prototype, Symbol.toStringTag, { value: name, writable: false, enumerable: false, configurable: true }));
  const members = [...attributes, ...operations].map((member) => member.name);
  check('.prototype in order', () => sameList(Object.keys(prototype), members));
  check('.prototype has nothing else', () =>
    sameList(Reflect.ownKeys(prototype).map(String).sort(), [...members, 'constructor', String(Symbol.toStringTag)].sort()));
  check(' without new', () => throwsTypeError(() => Class()));
  check(constructor ? ' without arguments' : ' is no constructor', () => throwsTypeError(() => new Class()));
  if (!constructor) check(' is no constructor of a derived class', () => throwsTypeError(() => new (class extends Class {})()));

  for (const attribute of attributes)
    check(`.prototype.${attribute.name}`, () => {
      const { get, set, enumerable, configurable } = Object.getOwnPropertyDescriptor(prototype, attribute.name) ?? fail('it is missing');
      same(set, undefined, 'set');
      same(enumerable, true, 'enumerable');
      same(configurable, true, 'configurable');
      plainFunction(get, `get ${attribute.name}`, 0);
    });
  for (const operation of operations)
    check(`.prototype.${operation.name}`, () => {
      const f = property(prototype, operation.name, { writable: true, enumerable: true, configurable: true });
      plainFunction(f, operation.name, Math.min(...operation.overloads.map(({ args }) => requiredOf(args))));
    });
}

/** Every getter and operation on what is no object of its interface: a TypeError before any argument is looked at. */
async function checkBrands(verdicts, scope, objects, { name, attributes, operations }) {
  const { prototype } = scope[name] ?? {};
  if (!prototype) return;
  const strangers = {
    undefined, null: null, 'a number': 1, 'a plain object': {}, 'the prototype': prototype, 'an heir': Object.create(objects[name]),
    'a proxy': new Proxy(objects[name], {}), 'the interface': scope[name],
    'another interface': Object.entries(objects).find(([other]) => other !== name)[1],
  };
  const trap = new Proxy({}, { get: () => fail('an argument was read'), ownKeys: () => fail('an argument was listed') });
  const one = async (what, promise, call) => {
    for (const [kind, stranger] of Object.entries(strangers))
      await verdicts.later(`${what} on ${kind}`, async () => (promise ? isTypeError(await rejectionOf(() => call(stranger))) : throwsTypeError(() => call(stranger))));
  };
  for (const attribute of attributes) {
    const get = Object.getOwnPropertyDescriptor(prototype, attribute.name)?.get;
    if (get) await one(`${name}.${attribute.name}`, attribute.promise, (stranger) => Reflect.apply(get, stranger, []));
  }
  for (const { name: operation, overloads } of operations) {
    const args = Array(Math.max(...overloads.map((overload) => overload.args.length))).fill(trap);
    if (prototype[operation]) await one(`${name}.${operation}`, overloads[0].promise, (stranger) => Reflect.apply(prototype[operation], stranger, args));
  }
}

/** Too few arguments: a TypeError, whatever those given are. */
async function checkCounts(verdicts, scope, objects, { name, operations }) {
  const trap = new Proxy({}, { get: () => fail('an argument was read'), ownKeys: () => fail('an argument was listed') });
  for (const { name: operation, overloads } of operations) {
    const needed = Math.min(...overloads.map(({ args }) => requiredOf(args)));
    for (let n = 0; n < needed; ++n)
      await verdicts.later(`${name}.${operation} with ${n} arguments`, async () => {
        const call = () => scope[name].prototype[operation].apply(objects[name], Array(n).fill(trap));
        return overloads[0].promise ? isTypeError(await rejectionOf(call)) : throwsTypeError(call);
      });
  }
}

/** `objects`: one live object of each interface. */
export async function checkShape(verdicts, { interfaces }, scope, objects) {
  for (const one of interfaces) {
    checkInterface(verdicts, scope, one);
    if (!objects) continue;
    verdicts.check(`${one.name}: an object has nothing of its own`, () => sameList(Reflect.ownKeys(objects[one.name]), []));
    verdicts.check(`${one.name}: an object's prototype`, () => same(Object.getPrototypeOf(objects[one.name]), scope[one.name].prototype));
    verdicts.check(`${one.name}: an object as text`, () => same(String(objects[one.name]), `[object ${one.name}]`));
    await checkBrands(verdicts, scope, objects, one);
    await checkCounts(verdicts, scope, objects, one);
  }
}
