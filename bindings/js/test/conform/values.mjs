// Numbers and buffers as the stored cases write them, and the comparison that the cases ask for. No host is needed here.

const bits = new DataView(new ArrayBuffer(8));

/** The binary16 bits of a number, rounded to nearest even. */
export function halfBits(x) {
  if (Number.isNaN(x)) return 0x7e00;
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  if (size >= 65520) return sign | 0x7c00;
  bits.setFloat64(0, size);
  const exponent = Math.max((bits.getUint32(0) >>> 20) - 1023, -14);
  const steps = size / 2 ** (exponent - 10);  // exact
  let n = Math.floor(steps);
  if (steps - n > 0.5 || (steps - n === 0.5 && n % 2 === 1)) ++n;
  return sign | (((exponent + 14) << 10) + n);
}

/** The number that binary16 bits stand for. */
export function halfValue(h) {
  const sign = h & 0x8000 ? -1 : 1, exponent = (h >> 10) & 31, fraction = h & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** The array that holds the elements of a type; float16 as bits. */
const arrayOf = {
  float32: Float32Array, float16: Uint16Array, float64: Float64Array, int64: BigInt64Array, uint64: BigUint64Array,
  int32: Int32Array, uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array, int8: Int8Array, uint8: Uint8Array,
};

/** The type of the elements of a view. */
const typeOfView = {
  Float32Array: 'float32', Float16Array: 'float16', Float64Array: 'float64', BigInt64Array: 'int64', BigUint64Array: 'uint64',
  Int32Array: 'int32', Uint32Array: 'uint32', Int16Array: 'int16', Uint16Array: 'uint16', Int8Array: 'int8', Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8', DataView: 'uint8',
};

/** A number or BigInt that JSON cannot say ("-0", "123n", {"$bigint": "123"}, {"$num": "NaN"}), or undefined. */
export function special(json) {
  const text = typeof json === 'string' ? json : json?.$num ?? (json?.$bigint !== undefined ? `${json.$bigint}n` : undefined);
  if (typeof text !== 'string') return undefined;
  if (text === 'NaN' || text === 'Infinity' || text === '-Infinity' || text === '-0') return Number(text);
  return /^-?\d+n$/.test(text) ? BigInt(text.slice(0, -1)) : undefined;
}

/** An element for the array of a type. */
function element(dataType, json) {
  const value = typeof json === 'number' ? json : special(json) ?? (/^-?\d+$/.test(json) ? BigInt(json) : undefined);
  if (value === undefined) throw new Error(`${JSON.stringify(json)} is no number`);
  if (dataType === 'int64' || dataType === 'uint64') return typeof value === 'bigint' ? value : BigInt(Math.trunc(value));
  if (typeof value === 'bigint') {
    if (dataType.startsWith('float')) throw new Error(`${JSON.stringify(json)} is no float`);
    return Number(BigInt.asIntN(64, value));
  }
  return dataType === 'float16' ? halfBits(value) : value;
}

/** `count` elements of a type from a list of numbers; one number alone fills them. */
export function elements(dataType, count, data) {
  const Elements = arrayOf[dataType];
  if (!Elements) throw new Error(`no array holds ${dataType}`);
  if (!Array.isArray(data)) return new Elements(count).fill(element(dataType, data));
  if (data.length !== count) throw new Error(`found ${data.length} numbers; needed ${count}`);
  const out = new Elements(count);
  for (let i = 0; i < count; ++i) out[i] = element(dataType, data[i]);
  return out;
}

export const countOf = (shape) => shape.reduce((n, extent) => n * extent, 1);

/** The elements of a tensor of a case: {data, descriptor}. */
export const tensorOf = ({ data, descriptor }) => elements(descriptor.dataType, countOf(descriptor.shape), data);

/** SharedArrayBuffer, which pages that are not isolated have under no name. */
function sharedBuffer(length) {
  const Shared = globalThis.SharedArrayBuffer ?? new WebAssembly.Memory({ shared: true, initial: 0, maximum: 0 }).buffer.constructor;
  return new Shared(length);
}

const detach = (buffer) => structuredClone(buffer, { transfer: [buffer] });

/** The argument that {"$buffer": ...} or {"$typed": ...} describes. */
export function bufferOf(json) {
  if (json.$buffer) {
    const data = elements('uint8', json.byteLength, json.bytes ?? json.fill ?? 0);
    const buffer = json.$buffer === 'SharedArrayBuffer' ? sharedBuffer(data.length) : new ArrayBuffer(data.length || 1);
    new Uint8Array(buffer).set(data);
    if (json.detached) detach(buffer);
    return data.length || json.detached || json.$buffer === 'SharedArrayBuffer' ? buffer : new ArrayBuffer(0);
  }
  const dataType = typeOfView[json.$typed];
  if (!dataType) throw new Error(`no view '${json.$typed}'`);
  const data = elements(dataType, json.length, json.data ?? json.fill ?? 0);
  const offset = json.byteOffset ?? 0;
  const size = Math.max(json.bufferByteLength ?? 0, offset + data.byteLength, json.detached ? 1 : 0);
  const buffer = json.shared ? sharedBuffer(size) : new ArrayBuffer(size);
  new data.constructor(buffer, offset, data.length).set(data);
  const View = globalThis[json.$typed] ?? data.constructor;  // the bits of float16 where there is no Float16Array
  const view = new View(buffer, offset, json.$typed === 'DataView' ? data.byteLength : data.length);
  if (json.detached) detach(buffer);
  return view;
}

/** The bits of a float as an integer that ascends with the value; both zeros are 0. */
const ladder = (b, sign) => (b & sign ? -(b & (sign - 1)) : b);

function ulps(dataType, got, want) {
  if (dataType === 'float16') return Math.abs(ladder(got, 0x8000) - ladder(want, 0x8000));
  bits.setFloat32(0, got);
  bits.setFloat32(4, want);
  const a = bits.getInt32(0), b = bits.getInt32(4);
  return Math.abs((a < 0 ? -(a & 0x7fffffff) : a) - (b < 0 ? -(b & 0x7fffffff) : b));
}

const valueOf = (dataType, x) => (dataType === 'float16' ? halfValue(x) : x);
const textOf = (dataType, x) => {
  const value = valueOf(dataType, x);
  return Object.is(value, -0) ? '-0' : String(value);
};

function near(dataType, got, want, { metric, value: bound, signedZero }) {
  if (!dataType.startsWith('float')) return got === want || Math.abs(Number(got - want)) <= bound;
  const g = valueOf(dataType, got), w = valueOf(dataType, want);
  if (Number.isNaN(g) || Number.isNaN(w)) return Number.isNaN(g) && Number.isNaN(w);
  if (signedZero && g === 0 && w === 0) return Object.is(g, w);
  if (metric === 'ULP' && dataType !== 'float64') return ulps(dataType, got, want) <= bound;
  return g === w || Math.abs(g - w) <= bound;
}

/** How near is near enough: exactly, unless the case says otherwise. */
export const closenessOf = (tolerance, signedZero = false) =>
  ({ metric: tolerance?.metric ?? 'ULP', value: tolerance?.value ?? 0, signedZero });

/** What differs in the first `count` elements, or nothing. */
export function difference(dataType, got, want, closeness, count = want.length) {
  if (got.length !== want.length) return `found ${got.length} elements; needed ${want.length}`;
  const n = Math.min(count, want.length);
  let wrong = 0, first = 0;
  for (let i = 0; i < n; ++i) if (!near(dataType, got[i], want[i], closeness) && wrong++ === 0) first = i;
  if (wrong === 0) return '';
  const apart = closeness.metric === 'ULP' && (dataType === 'float32' || dataType === 'float16')
    ? ` (${ulps(dataType, got[first], want[first])} ULP apart; allowed ${closeness.value})` : '';
  return `${wrong} of ${n} elements differ; element ${first}: found ${textOf(dataType, got[first])}; ` +
    `needed ${textOf(dataType, want[first])}${apart}`;
}

/** The elements in the bytes from an offset on: a copy, since an offset need not be a multiple of the elements' size. */
export function elementsIn(dataType, buffer, offset, count) {
  const Elements = arrayOf[dataType];
  const size = count * Elements.BYTES_PER_ELEMENT;
  if (offset + size > buffer.byteLength) return undefined;
  const copy = new Uint8Array(size);
  copy.set(new Uint8Array(buffer, offset, size));
  return new Elements(copy.buffer);
}

export { typeOfView };
