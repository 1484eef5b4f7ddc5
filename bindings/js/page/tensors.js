// Tensors in files: NumPy's .npy and .npz, ONNX's .pb, JSON.
import { json, tensorOf } from './typed.js';
import { count, reader, room } from './values.js';

/** NumPy's letters of types, which have a size behind them. */
const kLetters = { float64: 'f8', float32: 'f4', float16: 'f2', int64: 'i8', int32: 'i4', int16: 'i2', int8: 'i1', uint64: 'u8', uint32: 'u4', uint16: 'u2', uint8: 'u1', bool: 'b1' };
/** ONNX's numbers of types. */
const kNumbers = ['', 'float32', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string', 'bool', 'float16', 'float64', 'uint32', 'uint64', '', '', 'bfloat16'];
const utf8 = new TextDecoder();

/** Elements of a type, little-endian, of exactly as many bytes as the extents take. */
function filled(type, dims, bytes) {
  const data = room(type, dims), into = new Uint8Array(data.buffer);
  if (bytes.length !== into.length) throw new Error(`found ${bytes.length} bytes of elements; [${dims.join(', ')}] of ${type} takes ${into.length}`);
  into.set(bytes);
  return { type, dims, data };
}

/** An array of NumPy's. */
export function readNpy(bytes) {
  const cut = () => new Error('found no array of NumPy’s, or one that is cut off');
  if (bytes.length < 12 || bytes[0] !== 0x93 || utf8.decode(bytes.subarray(1, 6)) !== 'NUMPY') throw cut();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), wide = bytes[6] > 1, start = wide ? 12 : 10;
  const end = start + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  if (end > bytes.length) throw cut();
  const head = utf8.decode(bytes.subarray(start, end));
  const [, descr] = /'descr':\s*'([^']*)'/.exec(head) ?? [], [, shape] = /'shape':\s*\(([\d,\s]*)\)/.exec(head) ?? [];
  const [type] = Object.entries(kLetters).find(([, letter]) => letter === descr?.replace(/^[<>|=]/, '')) ?? [];
  if (!type || shape === undefined) throw new Error(`found elements of ${descr ? `'${descr}'` : 'no type that NumPy says so'}; needed numbers or truths`);
  const dims = shape.split(',').map((word) => word.trim()).filter(Boolean).map(Number), made = filled(type, dims, bytes.subarray(end));
  if (descr.startsWith('>')) swap(made.data);
  return /'fortran_order':\s*True/.test(head) ? byRows(made) : made;
}
function swap({ buffer, BYTES_PER_ELEMENT: size }) {
  const bytes = new Uint8Array(buffer);
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
}
/** Elements that lie column by column, row by row. */
function byRows({ type, dims, data }) {
  const made = data.slice(), steps = dims.map((_, axis) => count(dims.slice(0, axis))), place = dims.map(() => 0);
  for (let to = 0; to < data.length; ++to) {
    made[to] = data[place.reduce((sum, at, axis) => sum + at * steps[axis], 0)];
    for (let axis = dims.length - 1; axis >= 0 && ++place[axis] === dims[axis]; --axis) place[axis] = 0;
  }
  return { type, dims, data: made };
}
/** Whether NumPy has such a type. */
export const npyHas = (type) => type in kLetters;
/** The parts of such a file. */
export function writeNpy({ type, dims, data }) {
  const letter = kLetters[type];
  const head = `{'descr': '${letter[1] === '1' ? '|' : '<'}${letter}', 'fortran_order': False, 'shape': (${dims.join(', ')}${dims.length === 1 ? ',' : ''}), }`;
  const text = `${head.padEnd(64 * Math.ceil((head.length + 11) / 64) - 11)}\n`; // elements begin at whole lines of memory
  const start = Uint8Array.of(0x93, ...new TextEncoder().encode('NUMPY'), 1, 0, text.length & 255, text.length >> 8);
  return [start, text, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
}

/** The files of a ZIP archive by their names. */
export async function unzip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), files = new Map();
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) --end;
  if (end < 0) throw new Error('found no archive of NumPy’s, or one that is cut off');
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; --left) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) throw new Error('found an archive whose list of files is damaged');
    const method = view.getUint16(at + 10, true), size = view.getUint32(at + 20, true), [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const local = view.getUint32(at + 42, true);
    if (local + 30 > end || ![0, 8].includes(method)) throw new Error('found an archive that is damaged, or packed in another way than NumPy’s');
    const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true), packed = bytes.subarray(from, from + size);
    files.set(utf8.decode(bytes.subarray(at + 46, at + 46 + name)), method === 0 ? packed
      : new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer()));
    at += 46 + name + extra + comment;
  }
  return files;
}

/** The fields of a message of protobuf: [number, value], where a value is a bigint or bytes. */
function* fieldsOf(bytes) {
  let at = 0;
  const cut = () => new Error('found no tensor of ONNX’s, or one that is cut off');
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= bytes.length) throw cut();
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw cut();
  };
  while (at < bytes.length) {
    const key = varint(), kind = Number(key & 7n);
    if (kind === 0) yield [Number(key >> 3n), varint()];
    else {
      const size = kind === 2 ? Number(varint()) : { 1: 8, 5: 4 }[kind];
      if (!(at + size <= bytes.length)) throw cut();
      yield [Number(key >> 3n), bytes.subarray(at, at += size)];
    }
  }
}
/** The numbers of a packed field. */
function varints(bytes) {
  const made = [];
  let value = 0n, shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      made.push(BigInt.asUintN(64, value));
      value = shift = 0n;
    }
  }
  return made;
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
/** A tensor of ONNX's: elements as bytes, or as numbers in the field of their type. */
export function readPb(bytes) {
  const dims = [], numbers = [], parts = [], texts = [];
  let type, name = '', raw;
  for (const [field, value] of fieldsOf(bytes)) {
    const list = () => (typeof value === 'bigint' ? [value] : varints(value));
    if (field === 1) dims.push(...list().map(Number));
    else if (field === 2) type = kNumbers[Number(value)];
    else if (field === 4 || field === 10) parts.push(value); // floats and doubles are their bytes
    else if (field === 5 || field === 7 || field === 11) numbers.push(...list());
    else if (field === 6) texts.push(utf8.decode(value));
    else if (field === 8) name = utf8.decode(value);
    else if (field === 9) raw = value;
    else if (field === 13 || field === 14) throw new Error('found a tensor whose elements lie in another file');
  }
  if (!type) throw new Error('found no tensor of ONNX’s of numbers, truths or texts');
  if (type === 'string') return { name, type, dims, data: texts };
  if (raw || parts.length > 0) return { name, ...filled(type, dims, raw ?? joined(parts)) };
  const data = room(type, dims), wide = data instanceof BigInt64Array || data instanceof BigUint64Array;
  if (numbers.length !== data.length) throw new Error(`found ${numbers.length} elements; [${dims.join(', ')}] has ${data.length}`);
  numbers.forEach((x, i) => { data[i] = wide ? x : Number(BigInt.asIntN(64, x)); });
  return { name, type, dims, data };
}

/** Whether a file of this name is one of tensors. */
export const isTensors = (name) => /\.(npy|npz|pb|json)$/i.test(name);
/** What a file has for the input of a name and type: the only tensor, or the one that is called so. */
export async function tensorIn(file, name, wanted) {
  const bytes = new Uint8Array(await file.arrayBuffer()), [, ending] = /\.(\w+)$/.exec(file.name.toLowerCase());
  const one = (all) => {
    const found = all.find(([called]) => called === name) ?? (all.length === 1 ? all[0] : undefined);
    if (!found) throw new Error(`found ${all.map(([called]) => `'${called}'`).join(', ') || 'nothing'}; needed '${name}'`);
    return found[1];
  };
  const read = async () => {
    if (ending === 'npy') return readNpy(bytes);
    if (ending === 'npz') return readNpy(one([...await unzip(bytes)].map(([called, content]) => [called.replace(/\.npy$/, ''), content])));
    if (ending === 'pb') return readPb(bytes);
    const value = json(utf8.decode(bytes)), object = typeof value === 'object' && value !== null && !Array.isArray(value) && value.spelled === undefined;
    return tensorOf(object ? one(Object.entries(value)) : value, wanted);
  };
  const tensor = await read().catch((error) => { throw new Error(`'${file.name}': ${error.message}`); });
  const { type, dims, data } = tensor, truths = wanted === 'bool' && type === 'uint8' && data.every((x) => x <= 1); // as other programs save them
  if (type !== wanted && !truths) throw new Error(`'${file.name}' has elements of ${type}; needed ${wanted}${wanted === 'bool' && type === 'uint8' ? ', as 0 and 1' : ''}`);
  return { type: wanted, dims, data };
}

/** A tensor as JSON: lists in lists, what JSON has no number for in words. */
export function writeJson(tensor) {
  const { type, dims } = tensor, at = reader(tensor);
  const word = (x) => (typeof x === 'string' ? JSON.stringify(x) : type === 'bool' ? String(Boolean(x)) : Number.isFinite(Number(x)) ? (Object.is(x, -0) ? '-0' : String(x)) : `"${x}"`);
  const steps = dims.map((_, axis) => count(dims.slice(axis + 1)));
  const lists = (axis, from) => (axis === dims.length ? word(at(from))
    : `[${Array.from({ length: dims[axis] }, (_, i) => lists(axis + 1, from + i * steps[axis])).join(axis === dims.length - 1 ? ', ' : ',\n')}]`);
  return `${lists(0, 0)}\n`;
}
