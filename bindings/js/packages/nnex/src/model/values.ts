/** Values, between what users give and see and the engine's plain data. */
import { NnexError } from './error.js';
import { found, quoted, withArticle } from './found.js';
import type { RawTensor, RawValue } from './native.js';
import { arraysOf, elementsIn, isElementType, itemsFor, meantBy, rangeOf } from './types.js';
import type { DataOf, ElementType, TypeNumbers, ValueType } from './types.js';

/** A tensor: elements row by row. Who has compared `type` knows the class of `data`. */
export type Tensor<T extends ElementType = ElementType> = {
  [Type in T]: { readonly type: Type; readonly dims: readonly number[]; readonly data: DataOf[Type] };
}[T];
/** A tensor whose elements are zero but where `indices` says: places in the whole [n], or coordinates [n, rank]. */
export interface SparseTensor {
  readonly values: Tensor;
  readonly indices: Tensor<'int64'>;
  readonly dims: readonly number[];
}

/** What an output is: sequences are arrays, maps are Maps, an optional that has nothing is null. */
export type OutputValue = Tensor | SparseTensor | OutputValue[] | Map<bigint | string, OutputValue> | null;

export type TypedArray =
  | Float64Array | Float32Array | BigInt64Array | BigUint64Array | Int32Array | Uint32Array | Int16Array | Uint16Array | Int8Array
  | Uint8Array | Uint8ClampedArray;
type Scalar = number | bigint | boolean | string;
type Nested = readonly (Scalar | Nested)[];

/** Anything with elements and extents: a Tensor, a tensor of onnxruntime-common, an object written by hand. */
export interface TensorLike {
  readonly data: TypedArray | ArrayBufferView | readonly Scalar[];
  readonly dims?: readonly number[];
  readonly type?: string;
}
/**
 * What an input takes. Beside tensors: a typed array or a flat array, whose extents are the input's as far as the model knows them;
 * nested arrays; one number, bigint, boolean or string; an array for a sequence, a Map for a map, null for an optional that has nothing.
 */
export type InputValue =
  | TensorLike | SparseTensor | TypedArray | ArrayBufferView | Scalar | Nested | readonly InputValue[]
  | ReadonlyMap<bigint | number | string, InputValue> | null;

/** What is known of an input: its name, for messages, and its type. */
export interface Expected {
  readonly name: string;
  readonly text: string;
  readonly type: ValueType;
}

const Float16Array = (globalThis as { Float16Array?: new (buffer: ArrayBufferLike, offset: number, length: number) => ArrayBufferView }).Float16Array;

/** "Float32Array", also of another realm's. */
export function className(view: ArrayBufferView): string {
  return (view as unknown as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? 'DataView';
}
function wrong(expected: Expected, what: string): NnexError {
  return new NnexError('invalid argument', `input ${quoted(expected.name)}: found ${what}; needed ${expected.text}`);
}
function isScalar(x: unknown): x is Scalar {
  return typeof x === 'number' || typeof x === 'bigint' || typeof x === 'boolean' || typeof x === 'string';
}

/** An item of an array of JavaScript's as an element of a type; undefined where it is none. Nothing is rounded, cut off or read from text. */
function elementOf(type: Exclude<ElementType, 'string'>, item: unknown): number | bigint | undefined {
  if (type === 'bool') return item === true || item === 1 ? 1 : item === false || item === 0 ? 0 : undefined;
  if (typeof item !== 'number' && typeof item !== 'bigint') return undefined;
  const range = rangeOf(type);
  if (!range) return Number(item);
  if (!(item >= range[0] && item <= range[1]) || (typeof item === 'number' && !Number.isInteger(item))) return undefined;
  return typeof range[0] === 'bigint' ? BigInt(item) : Number(item);
}

/** Bits of the fraction of the floats that a Uint16Array holds. */
const kFraction: Partial<Record<ElementType, 7 | 10>> = { float16: 10, bfloat16: 7 };
const double = new DataView(new ArrayBuffer(8));

/** A number as the bits of the nearest float of 16 bits, of two as near the even one. */
function bitsOf(x: number, fraction: 7 | 10): number {
  const bias = fraction === 10 ? 15 : 127;
  const infinite = (2 * bias + 1) << fraction;
  double.setFloat64(0, x);
  const high = double.getUint32(0);
  const sign = (high >>> 31) << 15;
  if (Number.isNaN(x)) return infinite | (1 << (fraction - 1));
  const exponent = Math.max(((high >>> 20) & 0x7ff) - 1023, 1 - bias);  // below the least one they have no bit before the point
  if (exponent > bias) return sign | infinite;
  const units = Math.abs(x) * 2 ** (fraction - exponent);  // exact: a power of two
  const low = Math.floor(units);
  const rest = units - low;
  const rounded = low + (rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? 1 : 0);
  return sign | (((exponent + bias - 1) << fraction) + rounded);  // what carries over is the next exponent, or infinity
}

/** Whole numbers of a few bits, several in a byte, the first in its lowest. */
function packedBits(type: Exclude<ElementType, 'string'>, items: readonly unknown[], expected: Expected): Uint8Array {
  const bits = itemsFor(type, 8), made = new Uint8Array(itemsFor(type, items.length));
  items.forEach((item, i) => {
    const element = elementOf(type, item);
    if (element === undefined) throw wrong(expected, `${found(item)} at [${i}], which is no ${type}`);
    made[Math.floor(i * bits / 8)]! |= (Number(element) & (2 ** bits - 1)) << (i * bits % 8);
  });
  return made;
}

/** The elements of a flat array as the array class of a type holds them. */
function packed(type: Exclude<ElementType, 'string'>, items: readonly unknown[], expected: Expected): ArrayBufferView {
  const name = arraysOf(type).find((array) => array in globalThis) ?? 'Uint8Array';
  const fraction = name === 'Uint16Array' ? kFraction[type] : undefined;
  if (itemsFor(type, 2) < 2 && rangeOf(type)) return packedBits(type, items, expected);
  if (itemsFor(type, 2) !== 2 || meantBy(name) !== type && type !== 'bool' && !fraction)
    throw wrong(expected, `an array of numbers; ${type} takes ${withArticle(name)}`);
  const Class = (globalThis as unknown as Record<string, new (length: number) => ArrayBufferView & { [i: number]: unknown }>)[name]!;
  const made = new Class(items.length), range = rangeOf(type), numbers = type !== 'bool' && !fraction && typeof range?.[0] !== 'bigint';
  const least = range ? Number(range[0]) : -Infinity, most = range ? Number(range[1]) : Infinity;
  for (let i = 0; i < items.length; ++i) {
    const item = items[i];
    if (numbers && typeof item === 'number' && (range ? item >= least && item <= most && Number.isInteger(item) : true)) {
      made[i] = item;  // most of them
      continue;
    }
    const element = elementOf(type, item);
    if (element === undefined) throw wrong(expected, `${found(item)} at [${i}], which is no ${type}`);
    made[i] = fraction ? bitsOf(element as number, fraction) : element;
  }
  return made;
}

function meantByItem(item: unknown): ElementType {
  return typeof item === 'string' ? 'string' : typeof item === 'boolean' ? 'bool' : typeof item === 'bigint' ? 'int64' : 'float32';
}

/** The type of an array: what the caller says, else what the model has where the array can hold it, else what its class means. */
function typeOf(data: ArrayBufferView | readonly unknown[], said: string | undefined, expected: Expected): ElementType {
  const needed = expected.type.kind === 'tensor' || expected.type.kind === 'sparse' ? expected.type.type : undefined;
  if (said !== undefined) {
    if (!isElementType(said)) throw wrong(expected, `a tensor of type '${said}', which there is not`);
    return said;
  }
  if (!ArrayBuffer.isView(data)) return needed ?? meantByItem(data[0]);
  const name = className(data);
  if (needed && needed !== 'string' && arraysOf(needed).includes(name)) return needed;
  const meant = meantBy(name);
  if (!meant) throw wrong(expected, withArticle(name));
  return meant;
}

/** Whether the memory of an array was transferred, or shrunk away: it has no elements then, which would pass for an empty input. */
function isGone(data: ArrayBufferView): boolean {
  try {
    if (data.byteLength === 0) Uint8Array.prototype.keys.call(data as Uint8Array);
    return false;
  } catch {
    return true;
  }
}

/** The view that the engine reads: Node-API does not know Float16Array everywhere. */
function plain(data: ArrayBufferView): ArrayBufferView {
  return className(data) === 'Float16Array' ? new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2) : data;
}

/** Extents for so many elements by what the model knows: one unknown extent is what remains, more of them must be given. */
function dimsFor(count: number, fits: (count: number) => boolean, expected: Expected): readonly number[] {
  const dims = expected.type.kind === 'tensor' ? expected.type.dims : undefined;
  if (!dims) return [count];
  const known = dims.filter((d) => typeof d === 'number').reduce((a, b) => a * b, 1);
  const unknown = dims.filter((d) => typeof d !== 'number').length;
  if (fits(known)) return dims.map((d) => (typeof d === 'number' ? d : 1));
  if (unknown === 1 && known > 0 && count % known === 0) return dims.map((d) => (typeof d === 'number' ? d : count / known));
  throw wrong(expected, `${count} element${count === 1 ? '' : 's'} without dims`);
}

/** Extents that a caller says, if any. */
function saidDims(dims: unknown, expected: Expected): readonly number[] | undefined {
  if (dims === undefined || dims === null) return undefined;
  if (!Array.isArray(dims)) throw wrong(expected, `a tensor whose dims are ${found(dims)}`);
  if (!dims.every((d) => Number.isSafeInteger(d) && d >= 0)) throw wrong(expected, `a tensor with dims [${Array.from(dims as unknown[], found).join(',')}]`);
  return Array.from(dims as number[]);  // a Proxy of one is none to the engine
}

function tensorFrom(data: unknown, given: unknown, said: string | undefined, expected: Expected, numbers: TypeNumbers): RawTensor {
  if (!ArrayBuffer.isView(data) && !Array.isArray(data)) throw wrong(expected, 'a tensor whose data is no array');
  const type = typeOf(data, said, expected);
  const dims = saidDims(given, expected);
  let array: ArrayBufferView | readonly string[];
  let items: number;
  if (type === 'string') {
    if (ArrayBuffer.isView(data)) throw wrong(expected, `${withArticle(className(data))} as string; that takes an array of strings`);
    const other = Array.from(data, (item) => typeof item === 'string').indexOf(false);
    if (other >= 0) throw wrong(expected, `${found(data[other])} at [${other}], which is no string`);
    array = Array.from(data as readonly string[]);
    items = array.length;
  } else {
    const view = ArrayBuffer.isView(data) ? data : packed(type, data, expected);
    if (isGone(view)) throw wrong(expected, `${withArticle(className(view))} whose memory was transferred or shrunk`);
    const name = className(view);
    if (!arraysOf(type).includes(name)) throw wrong(expected, `${withArticle(name)} as ${type}; that takes ${arraysOf(type).map(withArticle).join(' or ')}`);
    array = plain(view);
    items = (array as Uint8Array).length;
  }
  const listed = ArrayBuffer.isView(data) ? undefined : data.length;  // one item each; those of a view may hold several elements
  const taking = (count: number): number => (listed === undefined ? itemsFor(type, count) : count), has = listed ?? items;
  const extents = dims ?? dimsFor(listed ?? elementsIn(type, items), (count) => taking(count) === has, expected);
  const count = extents.reduce((a, b) => a * b, 1);
  if (taking(count) !== has) throw wrong(expected, `${has} item${has === 1 ? '' : 's'} of data for dims [${extents.join(',')}], which take ${taking(count)}`);
  return { type: numbers.number(type), dims: extents, data: array };
}

/** No tensor has more axes: an array that holds itself has. */
const kMaxRank = 64;

/** Nested arrays: their extents, and the elements in a row. */
function flattened(nested: Nested, expected: Expected): { dims: number[]; items: Scalar[] } {
  const dims: number[] = [];
  for (let level: unknown = nested; Array.isArray(level); level = level[0])
    if (dims.push(level.length) > kMaxRank) throw wrong(expected, `arrays nested more than ${kMaxRank} deep`);
  const items: Scalar[] = [];
  const places: number[] = [];
  const walk = (level: unknown, depth: number): void => {
    if (depth === dims.length) {
      if (Array.isArray(level)) throw wrong(expected, 'nested arrays of unequal depth');
      if (!isScalar(level)) throw wrong(expected, `${found(level)} at ${places.map((i) => `[${i}]`).join('')}`);
      items.push(level);
      return;
    }
    if (!Array.isArray(level) || level.length !== dims[depth]) throw wrong(expected, 'nested arrays of unequal lengths');
    for (let i = 0; i < level.length; i++) {
      places[depth] = i;
      walk(level[i], depth + 1);
    }
  };
  walk(nested, 0);
  return { dims, items };
}

/** Text in the order that its bytes in UTF-8 have. */
function byCodePoints(a: string, b: string): number {
  const x = Array.from(a);
  const y = Array.from(b);
  for (let i = 0; i < x.length && i < y.length; i++) if (x[i] !== y[i]) return x[i]!.codePointAt(0)! - y[i]!.codePointAt(0)!;
  return x.length - y.length;
}

function keyFrom(key: unknown, type: ElementType, expected: Expected): string | bigint | number {
  const made = type !== 'string' ? elementOf(type, key) : typeof key === 'string' ? key : undefined;
  if (made === undefined) throw wrong(expected, `a map with the key ${found(key)}, which is no ${type}`);
  return made;
}

function mapFrom(value: ReadonlyMap<unknown, InputValue>, expected: Expected, numbers: TypeNumbers): RawValue {
  const type = expected.type.kind === 'map' ? expected.type : undefined;
  const keyType = type?.key ?? (typeof [...value.keys()][0] === 'string' ? 'string' : 'int64');
  const part: Expected = { ...expected, type: { kind: 'tensor', type: keyType, dims: undefined } };
  const entries = [...value].map(([key, item]) => [keyFrom(key, keyType, expected), item] as const);
  entries.sort(([a], [b]) => (typeof a === 'string' ? byCodePoints(a, b as string) : Number(a > (b as bigint)) - Number(a < (b as bigint))));
  const twice = entries.find(([key], i) => i > 0 && key === entries[i - 1]![0]);
  if (twice) throw wrong(expected, `a map with the key ${found(twice[0])} twice`);
  const element: Expected = { ...expected, type: type?.element ?? { kind: 'unknown' } };
  return {
    keys: tensorFrom(entries.map(([key]) => key), [entries.length], keyType, part, numbers),
    values: entries.map(([, item]) => rawFrom(item, element, numbers)),
  };
}

/** No array of JavaScript's holds more without holes, which take hours to look through. */
const kMaxItems = 2 ** 27;

/** What the engine takes for a value that a user gives. Errors: 'invalid argument', found and needed. */
export function rawFrom(value: InputValue, expected: Expected, numbers: TypeNumbers): RawValue {
  const { type } = expected;
  if (type.kind === 'optional')
    return { item: value === null || value === undefined ? null : rawFrom(value, { ...expected, type: type.element }, numbers) };
  if (value === null || value === undefined) throw wrong(expected, String(value));
  if (isScalar(value)) return tensorFrom([value], type.kind === 'tensor' && type.dims ? undefined : [], undefined, expected, numbers);
  if (ArrayBuffer.isView(value)) return tensorFrom(value, undefined, undefined, expected, numbers);
  if (Array.isArray(value)) {
    if (value.length > kMaxItems) throw wrong(expected, `an array of ${value.length} items, which a typed array has to hold`);
    if (type.kind === 'sequence') {
      const { element } = type;
      return {
        element: element.kind === 'tensor' && element.type ? numbers.number(element.type) : 0,
        items: Array.from(value as InputValue[], (item) => rawFrom(item, { ...expected, type: element }, numbers)),
      };
    }
    if (!value.some(Array.isArray)) return tensorFrom(value, undefined, undefined, expected, numbers);
    const { dims, items } = flattened(value as Nested, expected);
    return tensorFrom(items, dims, undefined, expected, numbers);
  }
  if (value instanceof Map && (type.kind === 'map' || type.kind === 'unknown')) return mapFrom(value, expected, numbers);
  if (typeof value === 'object' && 'data' in value) return tensorFrom(value.data, value.dims, value.type, expected, numbers);
  if (typeof value === 'object' && 'indices' in value) {
    const { values, indices, dims } = value as SparseTensor;
    for (const [name, part] of Object.entries({ values, indices }))
      if (typeof part !== 'object' || part === null) throw wrong(expected, `a sparse tensor whose ${name} are ${found(part)}`);
    const places: Expected = { ...expected, type: { kind: 'tensor', type: 'int64', dims: undefined } };
    return {
      values: tensorFrom(values.data, values.dims, values.type, expected, numbers),
      indices: tensorFrom(indices.data, indices.dims, 'int64', places, numbers),
      dims: saidDims(dims, expected) ?? [],
    };
  }
  throw wrong(expected, found(value));
}

/** A tensor of the engine as users see it: without a copy. */
export function tensorOf(raw: RawTensor, numbers: TypeNumbers): Tensor {
  const type = numbers.name(raw.type)!;
  let data: unknown = raw.data;
  if (type === 'float16' && Float16Array) {
    const bits = raw.data as Uint16Array;
    data = new Float16Array(bits.buffer, bits.byteOffset, bits.length);
  } else if (type !== 'string') {
    data = ofHere(raw.data as Uint8Array);
  }
  return { type, dims: raw.dims, data } as Tensor;
}

/** The array as one of this realm: a process loads the addon once, and who runs in another realm then (tests under Jest) gets arrays that are no instances of its classes. */
function ofHere(view: Uint8Array): ArrayBufferView {
  const Class = (globalThis as unknown as Record<string, typeof Uint8Array>)[view[Symbol.toStringTag]]!;
  return (view as object) instanceof Class ? view : new Class(view.buffer, view.byteOffset, view.length);
}

/** What a user sees of a value of the engine. */
export function valueOf(raw: RawValue, numbers: TypeNumbers): OutputValue {
  if (raw === null) return null;
  if ('data' in raw) return tensorOf(raw, numbers);
  if ('items' in raw) return raw.items.map((item) => valueOf(item, numbers));
  if ('item' in raw) return valueOf(raw.item, numbers);
  if ('keys' in raw) {
    const keys = raw.keys.data as unknown as ArrayLike<bigint | string>;
    return new Map(raw.values.map((item, i) => [keys[i]!, valueOf(item, numbers)]));
  }
  return { values: tensorOf(raw.values, numbers), indices: tensorOf(raw.indices, numbers) as Tensor<'int64'>, dims: raw.dims };
}
