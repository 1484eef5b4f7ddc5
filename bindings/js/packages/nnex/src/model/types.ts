/** Element types: their names in JavaScript, in the engine, and the arrays that hold them. */

/** An array whose memory no other thread has, as Blobs and audio buffers ask for: TypeScript says so from 5.7 on, by an argument that earlier ones do not know. */
type Made<Array extends { of(...items: never[]): unknown }> = ReturnType<Array['of']>;
type Half = typeof globalThis extends { Float16Array: { of(...items: never[]): infer T } } ? T : Made<typeof Uint16Array>;

/** The array that holds the elements of each type. Those below 8 bits are packed, low bits first. */
export interface DataOf {
  float64: Made<typeof Float64Array>;
  float32: Made<typeof Float32Array>;
  /** Float16Array where the runtime has it, else the bits. */
  float16: Half | Made<typeof Uint16Array>;
  bfloat16: Made<typeof Uint16Array>;
  float8e4m3fn: Made<typeof Uint8Array>;
  float8e4m3fnuz: Made<typeof Uint8Array>;
  float8e5m2: Made<typeof Uint8Array>;
  float8e5m2fnuz: Made<typeof Uint8Array>;
  float8e8m0: Made<typeof Uint8Array>;
  float4e2m1: Made<typeof Uint8Array>;
  int64: Made<typeof BigInt64Array>;
  int32: Made<typeof Int32Array>;
  int16: Made<typeof Int16Array>;
  int8: Made<typeof Int8Array>;
  int4: Made<typeof Uint8Array>;
  int2: Made<typeof Uint8Array>;
  uint64: Made<typeof BigUint64Array>;
  uint32: Made<typeof Uint32Array>;
  uint16: Made<typeof Uint16Array>;
  uint8: Made<typeof Uint8Array>;
  uint4: Made<typeof Uint8Array>;
  uint2: Made<typeof Uint8Array>;
  bool: Made<typeof Uint8Array>;
  /** Real and imaginary parts in turn. */
  complex64: Made<typeof Float32Array>;
  complex128: Made<typeof Float64Array>;
  string: string[];
}
export type ElementType = keyof DataOf;

/** The engine's names, in no order: numbers of types are places in its own list. */
const kTypes: Record<string, ElementType> = {
  f64: 'float64', f32: 'float32', f16: 'float16', bf16: 'bfloat16',
  f8e4m3fn: 'float8e4m3fn', f8e4m3fnuz: 'float8e4m3fnuz', f8e5m2: 'float8e5m2', f8e5m2fnuz: 'float8e5m2fnuz', f8e8m0: 'float8e8m0',
  f4e2m1: 'float4e2m1',
  i64: 'int64', i32: 'int32', i16: 'int16', i8: 'int8', i4: 'int4', i2: 'int2',
  u64: 'uint64', u32: 'uint32', u16: 'uint16', u8: 'uint8', u4: 'uint4', u2: 'uint2',
  bool: 'bool', c64: 'complex64', c128: 'complex128', str: 'string',
};

/** The arrays that hold a type, by the class's name; the first is what is made. */
const kArrays: Record<Exclude<ElementType, 'string'>, readonly string[]> = {
  float64: ['Float64Array'], float32: ['Float32Array'], float16: ['Float16Array', 'Uint16Array'], bfloat16: ['Uint16Array'],
  float8e4m3fn: ['Uint8Array'], float8e4m3fnuz: ['Uint8Array'], float8e5m2: ['Uint8Array'], float8e5m2fnuz: ['Uint8Array'],
  float8e8m0: ['Uint8Array'], float4e2m1: ['Uint8Array'],
  int64: ['BigInt64Array'], int32: ['Int32Array'], int16: ['Int16Array'], int8: ['Int8Array'],
  int4: ['Uint8Array', 'Int8Array'], int2: ['Uint8Array', 'Int8Array'],
  uint64: ['BigUint64Array'], uint32: ['Uint32Array'], uint16: ['Uint16Array'], uint8: ['Uint8Array', 'Uint8ClampedArray'],
  uint4: ['Uint8Array'], uint2: ['Uint8Array'], bool: ['Uint8Array'],
  complex64: ['Float32Array'], complex128: ['Float64Array'],
};

/** Elements in one item of the array: 2 where two are packed in a byte, 0.5 where one takes two items. */
const kPerItem: Partial<Record<ElementType, number>> = {
  float4e2m1: 2, int4: 2, uint4: 2, int2: 4, uint2: 4, complex64: 0.5, complex128: 0.5,
};

/** The type that an array's class means where nobody says another. */
const kMeant: Record<string, ElementType> = {
  Float64Array: 'float64', Float32Array: 'float32', Float16Array: 'float16', BigInt64Array: 'int64', BigUint64Array: 'uint64',
  Int32Array: 'int32', Uint32Array: 'uint32', Int16Array: 'int16', Uint16Array: 'uint16', Int8Array: 'int8', Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8',
};

/** Items of the array that hold `count` elements. */
export function itemsFor(type: ElementType, count: number): number {
  return Math.ceil(count / (kPerItem[type] ?? 1));
}
/** Elements that so many items hold; of packed types the most. */
export function elementsIn(type: ElementType, items: number): number {
  return Math.floor(items * (kPerItem[type] ?? 1));
}

/** What the elements of whole numbers are between; undefined for other types. Bounds are of the kind that the array's items are. */
export function rangeOf(type: ElementType): readonly [number, number] | readonly [bigint, bigint] | undefined {
  const [, unsigned, bits] = /^(u?)int(\d+)$/.exec(type) ?? [];
  if (bits === undefined) return undefined;
  if (bits === '64') return unsigned ? [0n, 2n ** 64n - 1n] : [-(2n ** 63n), 2n ** 63n - 1n];
  return unsigned ? [0, 2 ** Number(bits) - 1] : [-(2 ** (Number(bits) - 1)), 2 ** (Number(bits) - 1) - 1];
}

export function arraysOf(type: Exclude<ElementType, 'string'>): readonly string[] {
  return kArrays[type];
}
export function meantBy(className: string): ElementType | undefined {
  return kMeant[className];
}
export function isElementType(name: unknown): name is ElementType {
  return typeof name === 'string' && (name === 'string' || Object.hasOwn(kArrays, name));
}

/** The engine's numbers of types, and back. */
export class TypeNumbers {
  readonly #names: (ElementType | undefined)[];
  readonly #numbers = new Map<ElementType, number>();
  readonly #engineNames: readonly string[];

  constructor(dtypes: readonly string[]) {
    this.#engineNames = dtypes;
    this.#names = dtypes.map((name) => kTypes[name]);
    this.#names.forEach((name, number) => name && this.#numbers.set(name, number));
  }
  name(number: number): ElementType | undefined {
    return this.#names[number];
  }
  number(name: ElementType): number {
    return this.#numbers.get(name)!;
  }
  /** Of a type as the engine prints it: "f32". */
  printed(text: string): ElementType | undefined {
    return this.#engineNames.includes(text) ? kTypes[text] : undefined;
  }
}

/** What a value of a model is: of a tensor its element type and extents as far as they are known. */
export type ValueType =
  | { readonly kind: 'tensor' | 'sparse'; readonly type: ElementType | undefined; readonly dims: readonly (number | string)[] | undefined }
  | { readonly kind: 'sequence' | 'optional'; readonly element: ValueType }
  | { readonly kind: 'map'; readonly key: ElementType | undefined; readonly element: ValueType }
  | { readonly kind: 'unknown' };

/** A type as the engine prints it: "f32[N,3]", "sequence(f32[?])", "map(i64, f32[])", "optional(...)", "sparse f32[3]". */
export function parseType(text: string, numbers: TypeNumbers): ValueType {
  const inner = (prefix: string): string => text.slice(prefix.length, -1);
  if (text.startsWith('sequence(')) return { kind: 'sequence', element: parseType(inner('sequence('), numbers) };
  if (text.startsWith('optional(')) return { kind: 'optional', element: parseType(inner('optional('), numbers) };
  if (text.startsWith('map(')) {
    const [, key, element] = /^(\w+), ([^]*)$/.exec(inner('map(')) ?? [];
    return { kind: 'map', key: numbers.printed(key ?? ''), element: parseType(element ?? '', numbers) };
  }
  const [, sparse, type, dims] = /^(sparse )?(\w+)(?:\[([^]*)\])?$/.exec(text) ?? [];
  if (type === undefined || type === 'unknown') return { kind: 'unknown' };
  return {
    kind: sparse ? 'sparse' : 'tensor',
    type: numbers.printed(type),
    dims: dims === undefined || dims === '?' ? undefined : dims === '' ? [] : dims.split(',').map((d) => (/^\d+$/.test(d) ? Number(d) : d)),
  };
}
