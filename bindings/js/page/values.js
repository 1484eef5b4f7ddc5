// Elements of the types of models, between their arrays, numbers and words.

const kArrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array, float16: Uint16Array, bfloat16: Uint16Array,
};
/** Floats of 16 bits: how many of them are the fraction's. One is the sign's, the others are the exponent's. */
const kFractions = { float16: 10, bfloat16: 7 };
const biasOf = (fraction) => 2 ** (14 - fraction) - 1;
const infinityOf = (fraction) => 0x7fff - (2 ** fraction - 1);
/** Of an input: a module of WebAssembly, which has 4 GiB at most, holds copies and results of that size beside it. */
const kMostBytes = 2 ** 29;

/** The number that 16 bits are. */
export function fromBits(bits, type) {
  const fraction = kFractions[type], bias = biasOf(fraction), infinity = infinityOf(fraction), size = bits & 0x7fff;
  const exponent = size >> fraction, part = size % 2 ** fraction;
  const number = size > infinity ? NaN : size === infinity ? Infinity
    : exponent === 0 ? part * 2 ** (1 - bias - fraction) : (1 + part / 2 ** fraction) * 2 ** (exponent - bias);
  return bits & 0x8000 ? -number : number;
}
/** The bits of the nearest number of the type, of two the even one. */
export function toBits(number, type) {
  const fraction = kFractions[type], bias = biasOf(fraction), infinity = infinityOf(fraction), size = Math.abs(number);
  if (Number.isNaN(number)) return 0x7fff;
  const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0;
  if (size === Infinity) return sign | infinity;
  const exponent = Math.max(1 - bias, Math.floor(Math.log2(size)));
  const steps = size / 2 ** (exponent - fraction), low = Math.floor(steps), rest = steps - low;
  const whole = rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  return sign | Math.min(infinity, whole + (exponent + bias - 1) * 2 ** fraction); // a sum that fills the fraction steps the exponent up
}
/** The number of the type that is nearest, infinite beyond the largest. */
export const nearest = (number, type) => (type in kFractions ? fromBits(toBits(number, type), type) : type === 'float32' ? Math.fround(number) : number);

/** Where an element stands, axis by axis. */
export function coordinates(place, dims) {
  const made = [];
  for (let axis = dims.length - 1, rest = place; axis >= 0; --axis) {
    made.unshift(rest % dims[axis]);
    rest = Math.floor(rest / dims[axis]);
  }
  return made;
}
export const count = (dims) => dims.reduce((product, extent) => product * extent, 1);
export const bytes = (n) => (n < 1024 ? `${n} bytes` : n < 2 ** 20 ? `${(n / 1024).toFixed(1)} KiB`
  : n < 2 ** 30 ? `${(n / 2 ** 20).toFixed(1)} MiB` : `${(n / 2 ** 30).toFixed(1)} GiB`);
/** What whole numbers of a type are between; undefined for others. */
export function rangeOf(type) {
  const [, unsigned, bits] = /^(u?)int(\d+)$/.exec(type === 'bool' ? 'uint1' : type) ?? [];
  return bits && (unsigned ? [0n, 2n ** BigInt(bits) - 1n] : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]);
}

/** An empty array for the elements of an input. Throws where there is none, or not so large a one. */
export function room(type, dims) {
  const Elements = kArrays[type];
  if (type === 'string') throw new Error('needed texts as a list, such as ["a", "b"]');
  if (!Elements) throw new Error(`found elements of ${type ?? 'no known type'}; this page fills inputs of ${Object.keys(kArrays).join(', ')}, string`);
  const size = Elements.BYTES_PER_ELEMENT, needed = count(dims) * size;
  const large = () => new Error(`[${dims.join(', ')}] of ${type} takes ${bytes(needed)}; needed at most ${(kMostBytes / size).toLocaleString()} elements (${bytes(kMostBytes)})`);
  if (needed > kMostBytes) throw large();
  try {
    return new Elements(count(dims));
  } catch { // the browser has less
    throw large();
  }
}
/** What makes an element of a type of a number. */
export function elementOf(type) {
  if (type in kFractions) return (number) => toBits(number, type);
  if (kArrays[type] === BigInt64Array || kArrays[type] === BigUint64Array) return (number) => BigInt(typeof number === 'bigint' ? number : Math.trunc(number));
  return Number;
}

/** The elements of a tensor one by one, as numbers, bigints or text; undefined where JavaScript has no such thing (packed and complex ones). */
export function reader({ type, data }) {
  if (type in kFractions && data instanceof Uint16Array) return (i) => fromBits(data[i], type);
  return type === 'string' || type === 'float16' || type in kArrays ? (i) => data[i] : undefined;
}
/** The largest elements, the largest first, of equals the first one: {best: [[element, place]], nans}. What is NaN has no place in an order. */
export function largest(at, length, most = 5) {
  const best = [];
  let nans = 0;
  for (let i = 0; i < length; ++i) {
    const x = at(i);
    if (x !== x) ++nans;
    else if (best.length < most || x > best[most - 1][0]) {
      let place = best.length;
      while (place > 0 && x > best[place - 1][0]) --place;
      best.splice(place, 0, [x, i]);
      best.length = Math.min(best.length, most);
    }
  }
  return { best, nans };
}
/** An element in words: whole numbers with all their digits. */
export const said = (x) => (typeof x !== 'number' || Number.isSafeInteger(x) ? String(x) : String(Number(x.toPrecision(6))));
/** The largest difference between elements of the same outputs. */
export function distance(ours, theirs) {
  let most = 0;
  for (const [name, tensor] of Object.entries(ours)) {
    const a = reader(tensor), b = reader(theirs[name]);
    for (let i = 0; a && b && i < tensor.data.length; ++i) if (!Object.is(a(i), b(i))) most = Math.max(most, Math.abs(Number(a(i)) - Number(b(i))));
  }
  return most;
}
