// Numbers as they are typed, and as JSON has them, for the elements of an input.
import { count, elementOf, nearest, rangeOf, room } from './values.js';

const short = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** Extents as they are typed: "1 3 4", "[1, 3, 4]", "1x3x4". */
export function extents(text) {
  return text.split(/[\s,x[\]()]+/).filter(Boolean).map((word) => {
    if (!/^\d+$/.test(word)) throw new Error(`found the extent '${short(word)}'; needed whole numbers from 0 on`);
    return Number(word);
  });
}

/** Random numbers from 0 to 1, of one seed always the same (mulberry32). */
export function random(seed) {
  let state = Number(BigInt.asUintN(32, BigInt(seed)));
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number with all its digits: "9007199254740993.0", "0x20000000000001", "1e3"; undefined for what is none. */
function wholeOf(word) {
  const [, digits] = /^([+-]?\d+)(?:\.0*)?$/.exec(word) ?? /^(0[xob][\da-f]+)$/i.exec(word) ?? [];
  if (digits && !Number.isNaN(Number(digits))) return BigInt(digits.replace('+', ''));
  return Number.isInteger(Number(word)) ? BigInt(Number(word)) : undefined;
}
/** Numbers that have names, in the spellings of Python and C too. */
function named(word) {
  const [, sign, name] = /^([+-]?)(nan|inf|infinity)$/i.exec(word) ?? [];
  return name && (/^n/i.test(name) ? NaN : sign === '-' ? -Infinity : Infinity);
}
/** A number of a type as it is typed: a bigint for whole numbers. */
function number(word, type) {
  const range = rangeOf(type);
  if (!range) {
    const x = named(word) ?? Number(word);
    if (Number.isNaN(x) && named(word) === undefined) throw new Error(`found '${short(word)}', which is no number; needed numbers, random or zeros`);
    if (Math.abs(nearest(x, type)) === Infinity && named(word) === undefined) throw new Error(`found ${short(word)}, which is too large for ${type}`);
    return x;
  }
  const x = type === 'bool' && /^(true|false)$/i.test(word) ? BigInt(/^t/i.test(word)) : wholeOf(word);
  if (x === undefined || x < range[0] || x > range[1]) throw new Error(`found '${short(word)}'; needed whole numbers from ${range[0]} to ${range[1]} (${type})`);
  return x;
}

/** What JSON says, numbers as they are spelled: digits beyond those of a double stay where the browser shows them. */
export function json(text) {
  try {
    return JSON.parse(text, (_, value, context) => (typeof value === 'number' ? { spelled: context?.source ?? (Object.is(value, -0) ? '-0' : String(value)) } : value));
  } catch {
    throw new Error(`found '${short(text)}', which is no JSON; needed lists such as [[1, 2], [3, 4]]`);
  }
}
/** Lists in lists, as json() gives them, as a tensor of a type, whose extents they say. */
export function tensorOf(lists, type) {
  const dims = [], words = [];
  const walk = (item, depth) => {
    if (!Array.isArray(item)) {
      if (depth !== dims.length) throw new Error('found lists of several depths; needed lists that are all alike');
      if (type === 'string' && typeof item !== 'string') throw new Error(`found ${short(String(item?.spelled ?? JSON.stringify(item)))}; needed texts in quotes, such as ["a", "b"]`);
      if (item === null || (typeof item === 'object' && item.spelled === undefined)) throw new Error(`found ${item === null ? 'null' : 'an object'}; needed numbers in lists`);
      words.push(typeof item === 'object' ? item.spelled : item);
    } else {
      if (dims.length === depth) {
        if (words.length > 0) throw new Error('found lists of several depths; needed lists that are all alike');
        dims.push(item.length);
      }
      if (dims[depth] !== item.length) throw new Error(`found lists of ${dims[depth]} and of ${item.length} items; needed lists that are all alike`);
      for (const each of item) walk(each, depth + 1);
    }
  };
  walk(lists, 0);
  if (type === 'string') return { type, dims, data: words };
  const data = room(type, dims), element = elementOf(type);
  words.forEach((word, i) => { data[i] = element(number(String(word), type)); });
  return { type, dims, data };
}

/** As Python prints lists: names without quotes, too. */
const quoted = (text) => text.replace(/(?<![\w."+-])[+-]?(?:nan|inf|infinity|true|false)\b/gi, '"$&"');
/** The words of numbers in a row, in brackets or not; what JSON has no number for may stand in quotes there. */
const wordsOf = (text) => (/^\[([^[\]]*)\]$/.exec(text)?.[1] ?? text).split(/[\s,]+/).filter(Boolean).map((word) => word.replace(/^"(.*)"$/, '$1'));
/** Extents of which those that are open, which are words, follow from how many numbers stand in a text, where they can; else they are 1. */
export function fitted(text, dims) {
  const word = text.trim(), open = dims.flatMap((extent, axis) => (typeof extent === 'number' ? [] : [axis])), made = dims.map((extent) => (typeof extent === 'number' ? extent : 1));
  const given = /^(?:\[\s*\[|random$|zeros$)/.test(word) ? [] : wordsOf(word), extent = given.length / count(made);
  if (open.length === 1 && extent > 1 && Number.isInteger(extent)) made[open[0]] = extent;
  return made;
}
/**
 * Numbers in a text; of fewer than the input has the last is repeated. Lists in lists say the extents, too, as all lists of texts do. Also "random", which is decided by
 * the seed, and "zeros".
 */
export function numbers(text, type, dims, seed = 1) {
  const word = text.trim();
  if (/^\[\s*\[/.test(word) || (type === 'string' && word.startsWith('['))) return tensorOf(type === 'string' ? json(word) : json(quoted(word)), type);
  const data = room(type, dims), element = elementOf(type);
  if (word === 'zeros') return { type, dims, data };
  if (word === 'random') {
    const below = type.includes('float') ? 1 : 2, next = random(seed);
    for (let i = 0; i < data.length; ++i) data[i] = element(next() * below);
    return { type, dims, data };
  }
  const given = wordsOf(word).map((item) => element(number(item, type)));
  if (given.length === 0 && data.length > 0) throw new Error('found nothing; needed numbers, random or zeros');
  if (given.length > data.length) throw new Error(`found ${given.length} numbers; the input [${dims.join(', ')}] has ${count(dims)}`);
  given.forEach((x, i) => { data[i] = x; });
  if (given.length > 0) data.fill(given.at(-1), given.length);
  return { type, dims, data };
}
