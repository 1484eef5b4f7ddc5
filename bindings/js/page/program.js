// A builder program (docs/webnn-file.md): the calls of its text, made on a graph builder of WebNN.

/** The members of arguments and options that hold words, and those that hold numbers, which the text may spell; names elsewhere are operands. */
export const words = new Set(['label', 'dataType', 'outputDataType', 'inputLayout', 'filterLayout', 'direction', 'layout', 'activations', 'mode', 'outputShapeRounding']);
export const numbers = new Set(['epsilon', 'minValue', 'maxValue', 'alpha', 'beta', 'value', 'scales', 'splits']);
const spelled = { NaN, Infinity, '-Infinity': -Infinity, '-0': -0 };

/** A number as the text has it. */
const number = (json) => (typeof json !== 'string' ? json : json in spelled ? spelled[json] : BigInt(json.replace(/n$/, '')));

const arrays = {
  float32: Float32Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, int8: Int8Array, uint8: Uint8Array,
  float16: globalThis.Float16Array ?? Uint16Array, // bits, where there is no array for it
};

/** The array for elements of a type. */
export function arrayOf(dataType) {
  const Elements = arrays[dataType];
  if (!Elements) throw new TypeError(`JavaScript's WebNN has no ${dataType}`);
  return Elements;
}

function bytesOf({ name, dataType, shape, offset, data }, weights) {
  const count = shape.reduce((product, extent) => product * extent, 1), Elements = arrayOf(dataType);
  if (!data) return new Uint8Array(weights.buffer, weights.byteOffset + offset, count * Elements.BYTES_PER_ELEMENT);
  if (dataType === 'float16' && Elements === Uint16Array) throw new TypeError(`constant '${name}': this browser has no Float16Array`);
  const elements = data.map(number);
  return dataType.endsWith('64') ? Elements.from(elements, BigInt) : Elements.from(elements);
}

/** The inputs from which a program's outputs come: a graph of it has no others. */
export function inputsRead({ inputs, outputs, operations }) {
  const read = new Set(Object.values(outputs));
  const add = (member, json) => {
    if (Array.isArray(json)) json.forEach((item) => add(member, item));
    else if (typeof json === 'string' && !words.has(member) && !numbers.has(member)) read.add(json);
  };
  for (const { args, options, results } of [...operations].reverse())
    if (results.some((name) => read.has(name))) for (const [member, json] of Object.entries({ ...args, ...options })) add(member, json);
  return inputs.filter(({ name }) => read.has(name));
}

/**
 * The operands of a program's outputs, by name: each call of the text, made on `builder`. `weights` are the bytes of the file beside the text, where it
 * names one. Throws what the builder throws.
 */
export function play(program, weights, builder) {
  const operands = new Map();
  const operand = (name) => operands.get(name) ?? (() => { throw new TypeError(`no operand '${name}' before its use`); })();
  const value = (member, json) => {
    if (Array.isArray(json)) return json.map((item) => value(member, item));
    if (words.has(member)) return json;
    if (numbers.has(member)) return number(json);
    return typeof json === 'string' ? operand(json) : json;
  };
  const members = (object = {}) => Object.fromEntries(Object.entries(object).map(([member, json]) => [member, value(member, json)]));

  for (const { name, dataType, shape } of program.inputs) operands.set(name, builder.input(name, { dataType, shape }));
  for (const constant of program.constants)
    operands.set(constant.name, builder.constant({ dataType: constant.dataType, shape: constant.shape }, bytesOf(constant, weights)));
  for (const { op, args, options, results } of program.operations) {
    const made = [builder[op](...Object.values(members(args)), members(options))].flat();
    results.forEach((name, i) => operands.set(name, made[i]));
  }
  return Object.fromEntries(Object.entries(program.outputs).map(([name, from]) => [name, operand(from)]));
}
