/** Web IDL's conversions of JavaScript's values, made of the table: one function a type. */
import type { Bytes } from '../engine.js';
import {
  TypeError, Uint8Array, bufferLength, create, dataViewBuffer, dataViewLength, dataViewOffset, defineProperty, finite, fround,
  growable, isEnumerable, isView, iterator, apply, ownKeys, resizable, sharedLength, trunc, viewBuffer, viewLength, viewName,
  viewOffset, wellFormed,
} from './intrinsics.js';
import type { GenericRow, MemberRow, Table, TypeRow } from './table.js';

/** `where` begins the message of an error: "MLGraphBuilder.conv2d: options". */
export type Convert = (value: unknown, where: string) => unknown;

/** A buffer or a view of the page's. Its bytes are looked for when they are needed: conversions may come between. */
export interface Source {
  readonly kind: string;
  readonly object: object;
}

export const isObject = (v: unknown): v is object => (typeof v === 'object' && v !== null) || typeof v === 'function';

/** A value for a message; calls nothing of the page's. */
export function shown(v: unknown): string {
  switch (typeof v) {
    case 'string':
      return v.length > 40 ? 'a long string' : `'${v}'`;
    case 'number':
      return `the number ${v}`;
    case 'bigint':
      return 'a BigInt';
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    case 'object':
      return v === null ? 'null' : 'an object';
    default:
      return `${v as boolean | undefined}`;
  }
}
export const wrong = (where: string, v: unknown, needed: string): TypeError => new TypeError(`${where}: found ${shown(v)}; needed ${needed}`);

/** Sets an own property, whatever a page has done to prototypes. */
export function put(object: object, name: PropertyKey, value: unknown): void {
  defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true } as PropertyDescriptor);
}

/** An array with room for so many items, which can be set without asking Array.prototype, where a page may have put setters. */
export function room(count: number): unknown[] {
  switch (count) {
    case 0:
      return [];
    case 1:
      return [undefined];
    case 2:
      return [undefined, undefined];
    case 3:
      return [undefined, undefined, undefined];
    case 4:
      return [undefined, undefined, undefined, undefined];
    default: {
      const items = [undefined, undefined, undefined, undefined];
      for (let i = 4; i < count; ++i) put(items, i, undefined);
      return items;
    }
  }
}

/** ToNumber: a TypeError for a BigInt or a symbol. */
const toNumber = (v: unknown): number => +(v as number);

function enforced(low: number, high: number): Convert {
  return (v, where) => {
    const x = toNumber(v);
    const whole = trunc(x);
    if (!finite(x) || whole < low || whole > high) throw wrong(where, v, `a number in ${low}..${high}`);
    return whole + 0; // no negative zero
  };
}

const simple: Record<string, Convert> = {
  boolean: v => !!v,
  double: (v, where) => {
    const x = toNumber(v);
    if (!finite(x)) throw wrong(where, v, 'a finite number');
    return x;
  },
  'unrestricted double': v => toNumber(v),
  float: (v, where) => {
    const x = fround(toNumber(v));
    if (!finite(x)) throw wrong(where, v, 'a finite number of single precision');
    return x;
  },
  'unsigned long': v => toNumber(v) >>> 0,
  'unsigned long!': enforced(0, 4294967295),
  'long!': enforced(-2147483648, 2147483647),
  USVString: v => wellFormed(`${v as string}`),
  AllowSharedBufferSource: toSource,
};

function toSource(v: unknown, where: string): Source {
  const needed = 'an ArrayBuffer, a SharedArrayBuffer or a view of one, not resizable';
  if (!isObject(v)) throw wrong(where, v, needed);
  const kind = bufferKind(v) ?? (isView(v) ? (viewName(v) ?? 'DataView') : undefined);
  if (kind === undefined) throw wrong(where, v, needed);
  const buffer = kind === 'DataView' ? dataViewBuffer(v) : isView(v) ? viewBuffer(v) : v;
  const shared = bufferKind(buffer) === 'SharedArrayBuffer';
  if (shared ? growable(buffer) : resizable(buffer)) throw wrong(where, v, needed);
  return { kind, object: v };
}

/** "ArrayBuffer" or "SharedArrayBuffer", by what the object is and not by what it says. */
function bufferKind(v: unknown): string | undefined {
  try {
    bufferLength(v);
    return 'ArrayBuffer';
  } catch {
    // none
  }
  try {
    sharedLength(v);
    return 'SharedArrayBuffer';
  } catch {
    return undefined;
  }
}

/** The bytes as they lie there now: none where the buffer is detached. */
export function bytesOf({ kind, object }: Source): Bytes {
  let bytes: Uint8Array;
  if (kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer') {
    const length = kind === 'ArrayBuffer' ? bufferLength(object) : sharedLength(object);
    bytes = length === 0 ? new Uint8Array(0) : new Uint8Array(object as ArrayBuffer);
  } else if (kind === 'DataView') {
    bytes = dataViewBytes(object);
  } else {
    const length = viewLength(object); // 0 where it is detached
    bytes = length === 0 ? new Uint8Array(0) : new Uint8Array(viewBuffer(object), viewOffset(object), length);
  }
  return { kind, bytes };
}

function dataViewBytes(view: object): Uint8Array {
  try {
    return new Uint8Array(dataViewBuffer(view), dataViewOffset(view), dataViewLength(view));
  } catch {
    return new Uint8Array(0);
  }
}

/** sequence<T>, with the method that the value iterates by. */
function iterate(v: object, method: unknown, item: Convert, where: string): unknown[] {
  if (typeof method !== 'function') throw wrong(where, v, 'an iterable object');
  const source = apply(method, v, []) as { next: unknown };
  if (!isObject(source)) throw wrong(where, source, 'an iterator');
  const next = source.next;
  const out: unknown[] = [];
  for (let i = 0; ; ++i) {
    if (typeof next !== 'function') throw wrong(where, next, 'an iterator with next()');
    const step = apply(next, source, []) as { done: unknown; value: unknown };
    if (!isObject(step)) throw wrong(where, step, 'an object from next()');
    if (step.done) return out;
    put(out, i, item(step.value, where));
  }
}

/** A member of a dictionary. */
interface Member {
  readonly name: string;
  readonly required: number | undefined;
  readonly standard: unknown;
  readonly to: string;
  readonly convert: Convert;
}

export class Converters {
  readonly #table: Table;
  /** By the name of the type, as they are needed: by the first call of an operation. */
  readonly #made: Record<string, Convert> = create(null) as Record<string, Convert>;

  /** `interfaces`: how a value becomes what stands behind an object of the interface. */
  constructor(table: Table, interfaces: Readonly<Record<string, Convert>>) {
    this.#table = table;
    for (const made of [simple, interfaces]) for (const name of ownKeys(made) as string[]) this.#made[name] = made[name]!;
  }

  of(type: TypeRow): Convert {
    if (typeof type !== 'string') return this.#generic(type);
    return (this.#made[type] ??= type in this.#table.enums ? this.#enumeration(type) : this.#dictionary(type));
  }

  /** Whether an argument of the type is told apart from others as a dictionary is: undefined, null or any object. */
  isDictionary(type: TypeRow): boolean {
    return typeof type === 'string' && type in this.#table.dictionaries;
  }

  #generic(type: GenericRow): Convert {
    const generic = type[0];
    if (generic === 'foreign') return foreign(type[1] as string);
    if (generic === 'union') return this.#union(type);
    if (generic === 'record') return this.#record(type[1]!, type[2]!);
    if (generic !== 'sequence') throw new TypeError(`no conversion to ${generic}<>`);
    const item = this.of(type[1]!);
    return (v, where) => {
      if (!isObject(v)) throw wrong(where, v, 'an iterable object');
      return iterate(v, (v as Iterable<unknown>)[iterator], item, where);
    };
  }

  /** Unions that WebNN has: a number with a BigInt, a number with a sequence. */
  #union(type: GenericRow): Convert {
    let sequence: GenericRow | undefined;
    let number: Convert = v => v;
    for (let i = 1; i < type.length; ++i) {
      const one = type[i]!;
      if (typeof one !== 'string') sequence = one;
      else if (one !== 'bigint') number = this.of(one);
    }
    if (sequence) {
      const item = this.of(sequence[1]!);
      return (v, where) => {
        const method = isObject(v) ? (v as Partial<Iterable<unknown>>)[iterator] : undefined;
        return method === undefined || method === null ? number(v, where) : iterate(v as object, method, item, where);
      };
    }
    return (v, where) => {
      const negated = -(v as number); // ToNumeric, once: what a BigInt becomes stays one
      return typeof negated === 'bigint' ? -negated : number(-negated, where);
    };
  }

  /** record<K, V>: pairs in the order of the keys. */
  #record(key: TypeRow, value: TypeRow): Convert {
    const toKey = this.of(key);
    const toValue = this.of(value);
    return (v, where) => {
      if (!isObject(v)) throw wrong(where, v, 'an object');
      const keys = ownKeys(v);
      const pairs = room(keys.length) as [string, unknown][];
      let count = 0;
      for (let i = 0; i < keys.length; ++i) {
        const own = keys[i]!;
        if (!isEnumerable(v, own)) continue;
        const name = toKey(own, where) as string;
        const item = toValue((v as Record<PropertyKey, unknown>)[own], where);
        let place = count;
        if (name !== own) for (place = 0; place < count && pairs[place]![0] !== name; ++place);
        pairs[place] = [name, item];
        if (place === count) ++count;
      }
      pairs.length = count;
      return pairs;
    };
  }

  #enumeration(name: string): Convert {
    const values = this.#table.enums[name]!;
    return (v, where) => {
      const text = `${v as string}`;
      for (let i = 0; i < values.length; ++i) if (values[i] === text) return text;
      throw new TypeError(`${where}: found ${shown(text)}; needed one of ${values.join(', ')}`);
    };
  }

  #dictionary(name: string): Convert {
    const row = this.#table.dictionaries[name];
    if (!row) throw new TypeError(`no conversion to ${name}`);
    const base = row[0] === null ? undefined : this.of(row[0]);
    const members = room(row.length - 1) as Member[];
    for (let i = 1; i < row.length; ++i) {
      const { 0: own, 1: type, 2: required, 3: standard, 4: renamed } = row[i] as MemberRow;
      members[i - 1] = { name: own, required, standard, to: renamed ?? own, convert: this.of(type) };
    }
    return (v, where) => {
      if (v !== undefined && v !== null && !isObject(v)) throw wrong(where, v, `an object (${name})`);
      const out = (base ? base(v, where) : create(null)) as Record<string, unknown>;
      for (let i = 0; i < members.length; ++i) {
        const { name: own, required, to, convert } = members[i]!;
        const given = v === undefined || v === null ? undefined : (v as Record<string, unknown>)[own];
        if (given !== undefined) {
          const value = convert(given, `${where}.${own}`);
          if (own === to || !(to in out)) out[to] = value; // a member's former name says nothing where it has its own
        } else if (required) {
          throw new TypeError(`${where}.${own} is required`);
        }
      }
      for (let i = 0; i < members.length; ++i) {
        const { name: own, standard } = members[i]!;
        if (standard !== undefined && standard !== null && !(own in out)) out[own] = standard;
      }
      return out;
    };
  }
}

/** An object of another specification's interface, where the host has it. */
function foreign(name: string): Convert {
  return (v, where) => {
    if (!isForeign(name, v)) throw wrong(where, v, `a ${name}`);
    return v;
  };
}
export function isForeign(name: string, v: unknown): boolean {
  const Interface = (globalThis as Record<string, unknown>)[name];
  return isObject(v) && typeof Interface === 'function' && v instanceof Interface;
}
