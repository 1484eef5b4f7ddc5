/**
 * A small writer of ONNX files, by the field numbers of onnx.proto, for tests and examples.
 *
 *     onnx({
 *       inputs: { x: ['float32', ['N', 3]] }, outputs: { y: ['float32', ['N', 3]] },
 *       nodes: [{ op: 'Relu', in: ['x'], out: ['y'] }],
 *     })  // -> Uint8Array
 */

const kTypes = {
  float32: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, string: 8, bool: 9, float16: 10, float64: 11, uint32: 12,
  uint64: 13, complex64: 14, complex128: 15, bfloat16: 16, float8e4m3fn: 17, float8e4m3fnuz: 18, float8e5m2: 19, float8e5m2fnuz: 20,
  uint4: 21, int4: 22, float4e2m1: 23, float8e8m0: 24, uint2: 25, int2: 26,
};
const utf8 = (text) => new TextEncoder().encode(text);

function varint(value) {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes = [];
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest);
  return bytes;
}
function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
const int = (field, value) => varint(field << 3).concat(varint(value));
const bytes = (field, value) => joined([varint((field << 3) | 2), varint(value.length), value]);
const text = (field, value) => bytes(field, utf8(value));
const float = (field, value) => joined([varint((field << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)]);
const message = (field, parts) => bytes(field, joined(parts));

/** TensorProto of {type, dims, data}: data a typed array, or an array of strings; instead of it `location`, the file that has them. */
function tensor({ type, dims, data, location }, name) {
  const parts = [...dims.map((d) => int(1, d)), int(2, kTypes[type])];
  if (name !== undefined) parts.push(text(8, name));
  if (location !== undefined) parts.push(message(13, [text(1, 'location'), text(2, location)]), int(14, 1));
  else if (type === 'string') parts.push(...data.map((item) => text(6, item)));
  else parts.push(bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));
  return parts;
}

function attribute(name, value) {
  const parts = [text(1, name)];
  if (typeof value === 'bigint') parts.push(int(3, value), int(20, 2));
  else if (typeof value === 'number') parts.push(...(Number.isInteger(value) ? [int(3, value), int(20, 2)] : [float(2, value), int(20, 1)]));
  else if (typeof value === 'string') parts.push(text(4, value), int(20, 3));
  else if (value.float !== undefined) parts.push(float(2, value.float), int(20, 1));
  else if (value.graph) parts.push(message(6, graph(value.graph)), int(20, 5));
  else if (value.dims) parts.push(message(5, tensor(value)), int(20, 4));
  else if (value.every(Number.isInteger)) parts.push(...value.map((item) => int(8, item)), int(20, 7));
  else if (value.every((item) => typeof item === 'string')) parts.push(...value.map((item) => text(9, item)), int(20, 8));
  else parts.push(...value.map((item) => float(7, item)), int(20, 6));
  return message(5, parts);
}

/** TypeProto of ['float32', dims] (no dims: the rank is unknown), {sequence}, {optional} or {map: [key, value]}. */
function type(given) {
  if (Array.isArray(given)) {
    const [element, dims] = given;
    const dim = (d) => message(1, d === null ? [] : [typeof d === 'string' ? text(2, d) : int(1, d)]);
    return [message(1, [int(1, kTypes[element]), ...(dims ? [message(2, dims.map(dim))] : [])])];
  }
  if (given.sequence) return [message(4, [message(1, type(given.sequence))])];
  if (given.map) return [message(5, [int(1, kTypes[given.map[0]]), message(2, type(given.map[1]))])];
  return [message(9, [message(1, type(given.optional))])];
}
const port = (field) => ([name, given]) => message(field, [text(1, name), message(2, type(given))]);

function graph({ name = 'g', nodes, inputs = {}, outputs = {}, initializers = {} }) {
  const node = ({ op, in: from = [], out = [], name: called, domain, attributes = {} }) =>
    message(1, [
      ...from.map((input) => text(1, input)),
      ...out.map((output) => text(2, output)),
      ...(called ? [text(3, called)] : []),
      text(4, op),
      ...(domain ? [text(7, domain)] : []),
      ...Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    ]);
  return [
    ...nodes.map(node),
    text(2, name),
    ...Object.entries(initializers).map(([key, value]) => message(5, tensor(value, key))),
    ...Object.entries(inputs).map(port(11)),
    ...Object.entries(outputs).map(port(12)),
  ];
}

/** The bytes of a model. */
export function onnx({ opset = 17, domains = {}, ir = 8, metadata = {}, modelDomain, ...network }) {
  return joined([
    int(1, ir),
    text(2, 'nnex tests'),
    ...(modelDomain ? [text(4, modelDomain)] : []),
    message(7, graph(network)),
    message(8, [text(1, ''), int(2, opset)]),
    ...Object.entries(domains).map(([domain, version]) => message(8, [text(1, domain), int(2, version)])),
    ...Object.entries(metadata).map(([key, value]) => message(14, [text(1, key), text(2, value)])),
  ]);
}

/** A model that gives back what it takes, of any type. */
export function identity(given, opset = 17, ir = 8) {
  return onnx({ opset, ir, inputs: { a: given }, outputs: { s: given }, nodes: [{ op: 'Identity', in: ['a'], out: ['s'] }] });
}
