// Conversions of arguments: what is read and in which order, and what is refused, for every operation of the builder and every member
// of its options. Whether a value passed its conversion is seen by what is read next, which throws `Stop`.
import { fail, isTypeError, same, sameList, thrownBy } from './verdicts.mjs';

class Stop extends Error {}
const stop = () => { throw new Stop('the conversion went on'); };

/** A value that any argument of the type takes. */
function valid(type, objects) {
  switch (type.kind) {
    case 'interface': return objects[type.name];
    case 'enum': return type.values[0];
    case 'sequence': return type.of.kind === 'interface' ? [valid(type.of, objects)] : [];
    case 'union': return valid(type.of[0], objects);
    case 'dictionary': case 'record': return {};
    case 'bigint': return 0n;
    case 'string': return 'text';
    case 'boolean': return false;
    default: return 0;
  }
}

/** The same value, in a form that writes down its conversion under the name `what`. */
function observed(type, objects, what, log, model) {
  switch (type.kind) {
    case 'integer': case 'double': case 'float': case 'unrestricted':
      return { [Symbol.toPrimitive]: (hint) => (log.push(`${what} to ${hint}`), 1) };
    case 'enum': case 'string':
      return { [Symbol.toPrimitive]: (hint) => (log.push(`${what} to ${hint}`), valid(type, objects)) };
    case 'sequence': {
      const items = type.of.kind === 'interface' ? [valid(type.of, objects)] : [observed(type.of, objects, `${what}[0]`, log, model)];
      return { get [Symbol.iterator]() {
        log.push(`${what} iterated`);
        return () => items[Symbol.iterator]();
      } };
    }
    case 'union': return observed(type.of.find(({ kind }) => kind !== 'bigint' && kind !== 'integer'), objects, what, log, model);
    case 'dictionary': return readDictionary(type, objects, log, model);
    default: return valid(type, objects);
  }
}

/** What is written down when a value of `observed` is converted. */
function expected(type, what, model) {
  switch (type.kind) {
    case 'integer': case 'double': case 'float': case 'unrestricted': return [`${what} to number`];
    case 'enum': case 'string': return [`${what} to string`];
    case 'sequence': return [`${what} iterated`, ...(type.of.kind === 'interface' ? [] : expected(type.of, `${what}[0]`, model))];
    case 'union': return expected(type.of.find(({ kind }) => kind !== 'bigint' && kind !== 'integer'), what, model);
    case 'dictionary': return model.dictionary(type.name).flatMap((member) => [`get ${member.name}`, ...expected(member.type, member.name, model)]);
    default: return [];
  }
}

function readDictionary({ name }, objects, log, model) {
  const members = new Map(model.dictionary(name).map((member) => [member.name, member.type]));
  return new Proxy({}, {
    get(_, key) {
      log.push(`get ${String(key)}`);
      return members.has(key) ? observed(members.get(key), objects, key, log, model) : undefined;
    },
    has: (_, key) => fail(`the options were asked whether they have '${String(key)}'`),
    ownKeys: () => fail('the members of the options were listed'),
    getOwnPropertyDescriptor: () => fail('a property of the options was described'),
  });
}

/** How a call ended before its arguments were wholly converted: 'went on', 'TypeError', or what else it threw. */
function ended(call) {
  try {
    call();
  } catch (error) {
    return error instanceof Stop ? 'went on' : error instanceof TypeError ? 'TypeError' : `${error?.name}: ${error?.message}`;
  }
  return 'success';
}

const throwing = { [Symbol.toPrimitive]: () => { throw new RangeError('of the page'); } };
const text = (value) => (value === throwing ? 'an object that throws' : typeof value === 'symbol' ? 'a symbol' : typeof value === 'bigint' ? `${value}n`
  : typeof value === 'function' ? 'a function' : Object.is(value, -0) ? '-0' : typeof value === 'object' && value ? Object.prototype.toString.call(value) : String(value));

/** Values that a conversion to the type takes, and that it refuses; `sure`: TypeError is the only reason to refuse. */
function samples(type, objects) {
  const { max, min } = type;
  switch (type.kind) {
    case 'integer': {
      const always = [0, 1, max, min, 0.9, -0.9, max + 0.9, '7', null, true, '', [5], { valueOf: () => 3 }];
      const outside = [max + 1, min - 1, NaN, Infinity, -Infinity, 2 ** 53, -(2 ** 53), 1e308, undefined, {}, 'text'];
      const never = [1n, Symbol('s'), throwing];
      return type.enforced ? [always, [...outside, ...never]] : [[...always, ...outside], never];
    }
    case 'double': return [[0, -1e308, 5e-324, '1.5', null], [NaN, Infinity, -Infinity, 1n, Symbol('s'), {}, 'text', throwing]];
    case 'float': return [[0, -3.4e38, 1e-46, '1.5', null], [NaN, Infinity, -Infinity, 3.5e38, 1n, Symbol('s'), {}, throwing]];
    case 'unrestricted': return [[0, NaN, -Infinity, '1'], [Symbol('s'), throwing]];
    case 'boolean': return [[0, 1, null, 'false', Symbol('s'), {}, 1n], []];
    case 'string': return [['', 'x\u0000', 1, null, true, {}, 1n, '\ud800'], [Symbol('s'), throwing]];
    case 'enum': return [[...type.values, { toString: () => type.values[0] }], ['', 'bogus', type.values[0].toUpperCase(), `${type.values[0]} `, null, 1, {}, Symbol('s'), throwing]];
    case 'interface': return [[objects[type.name]], [null, 1, 'text', {}, Object.create(objects[type.name]), new Proxy(objects[type.name], {}), Symbol('s'),
      Object.entries(objects).find(([name]) => name !== type.name)[1]]];
    case 'sequence': {
      const [good, bad] = samples(type.of, objects);
      const lists = good.map((value) => [value]);
      return [[...lists, [], new Set(lists[0]), (function* () { yield lists[0][0]; })()],
        [...bad.map((value) => [value]), null, 1, 'text', true, {}, { [Symbol.iterator]: 1 }, { [Symbol.iterator]: () => 1 },
          { [Symbol.iterator]: () => ({ next: () => 1 }) }, { [Symbol.iterator]: () => ({}) }, Symbol('s')]];
    }
    case 'dictionary': return [[{}, undefined, null, [], () => {}, new Date(0), Object.create(null)], [1, '', 'text', true, 1n, Symbol('s')]];
    case 'union': {
      const numeric = type.of.find(({ kind }) => kind === 'integer' || kind === 'unrestricted');
      const list = type.of.find(({ kind }) => kind === 'sequence'), big = type.of.some(({ kind }) => kind === 'bigint');
      const [good, bad] = samples(numeric, objects);
      const plain = (values) => values.filter((value) => !(list && typeof value === 'object' && value !== null && Symbol.iterator in value));
      return [[...plain(good), ...(big ? [1n, -(1n << 70n)] : []), ...(list ? samples(list, objects)[0] : [])],
        [...plain(bad).filter((value) => !(big && typeof value === 'bigint')), ...(list ? [[-1], [2 ** 32]] : [])]];
    }
    default: return [[], []];
  }
}

const what = (value) => (Array.isArray(value) ? `[${value.map(text)}]` : text(value));

/** `absent`: undefined means that nothing is given, and is taken. */
function checkSamples(verdicts, name, type, objects, call, absent = false) {
  let [good, bad] = samples(type, objects);
  if (absent) [good, bad] = [[...good, undefined], bad.filter((value) => value !== undefined)];
  for (const value of good) verdicts.check(`${name} takes ${what(value)}`, () => same(ended(() => call(value)), 'went on'));
  for (const value of bad) {
    const thrown = value === throwing || (Array.isArray(value) && value[0] === throwing) ? 'RangeError: of the page' : 'TypeError';
    verdicts.check(`${name} refuses ${what(value)}`, () => same(ended(() => call(value)), thrown));
  }
}

/** One operation of the builder: `args` end with its options. */
function checkOperation(verdicts, { name, args }, objects, model) {
  const builder = objects.MLGraphBuilder, options = args.at(-1);
  if (options.type.kind !== 'dictionary') return fail(`${name} has no options`);
  const given = args.map(({ type }) => valid(type, objects));

  verdicts.check(`${name} reads its arguments in order`, () => {
    const log = [];
    try {
      builder[name](...args.map((arg) => observed(arg.type, objects, arg.name, log, model)));
    } catch (error) {
      isTypeError(error);  // of the operation's own rules
    }
    sameList(log, args.flatMap((arg) => expected(arg.type, arg.name, model)));
  });
  verdicts.check(`${name} ends at the first argument that throws`, () => {
    const log = [];
    const members = new Proxy({}, { get: (_, key) => (log.push(key), stop()) });
    if (!(thrownBy(() => builder[name](...given.slice(0, -1), members)) instanceof Stop)) fail('found another exception');
    sameList(log, [model.dictionary(options.type.name)[0].name]);
  });

  args.slice(0, -1).forEach((arg, i) => checkSamples(verdicts, `${name}(${arg.name})`, arg.type, objects,
    (value) => builder[name](...given.slice(0, i), value, ...given.slice(i + 1, -1), { get label() { return stop(); } })));
  checkMembers(verdicts, name, options.type, objects, model, (members) => builder[name](...given.slice(0, -1), members));

  const [good, bad] = samples(options.type, objects);
  for (const value of good) verdicts.check(`${name}(options) takes ${what(value)}`, () => {
    const plain = ended(() => builder[name](...given.slice(0, -1)));
    same(ended(() => builder[name](...given.slice(0, -1), value)), plain);
  });
  for (const value of bad) verdicts.check(`${name}(options) refuses ${what(value)}`, () => same(ended(() => builder[name](...given.slice(0, -1), value)), 'TypeError'));
}

/** Every member of a dictionary but the last one read, behind which nothing tells that its conversion went well. */
function checkMembers(verdicts, name, type, objects, model, call) {
  const members = model.dictionary(type.name);
  const before = (i) => Object.fromEntries(members.slice(0, i).filter(({ required }) => required).map((member) => [member.name, valid(member.type, objects)]));
  members.forEach((member, i) => {
    const next = members[i + 1]?.name;
    if (next) checkSamples(verdicts, `${name}({${member.name}})`, member.type, objects,
      (value) => call(Object.defineProperty({ ...before(i), [member.name]: value }, next, { get: stop })), !member.required);
    else for (const value of samples(member.type, objects)[1])
      if (value !== undefined && value !== throwing && !(Array.isArray(value) && value[0] === throwing))
        verdicts.check(`${name}({${member.name}}) refuses ${what(value)}`, () => same(ended(() => call({ ...before(i), [member.name]: value })), 'TypeError'));
    if (member.type.kind === 'sequence') verdicts.check(`${name}({${member.name}}) is iterated item by item`, () => {
      const item = valid(member.type.of, objects);
      same(ended(() => call({ ...before(i), [member.name]: (function* () { yield item; stop(); })() })), 'went on');
    });
  });
}

/** Every operation whose only overload ends with options. */
export function checkConversions(verdicts, model, objects) {
  const { operations } = model.interfaces.find(({ name }) => name === 'MLGraphBuilder');
  for (const { overloads } of operations)
    if (overloads.length === 1 && overloads[0].args.at(-1).type.kind === 'dictionary' && overloads[0].args.at(-1).optional)
      checkOperation(verdicts, overloads[0], objects, model);
}

export { checkMembers, samples, Stop, stop, ended, what };
