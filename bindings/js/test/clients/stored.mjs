// Networks with stored data as ../shared/models/onnx keeps them: inputs and outputs as TensorProto messages, and a tolerance. In Node and in pages.

/** The fields of a protobuf message: [number, value]; a value is a BigInt, or bytes. */
function* fieldsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint()), wire = key & 7;
    if (wire === 0) yield [key >> 3, varint()];
    else {
      const size = wire === 2 ? Number(varint()) : wire === 1 ? 8 : 4;
      yield [key >> 3, bytes.subarray(at, at += size)];
    }
  }
}

const types = {
  1: ['float32', Float32Array], 2: ['uint8', Uint8Array], 3: ['int8', Int8Array], 5: ['int16', Int16Array], 6: ['int32', Int32Array], 7: ['int64', BigInt64Array],
  9: ['bool', Uint8Array], 10: ['float16', Uint16Array], 11: ['float64', Float64Array], 12: ['uint32', Uint32Array], 13: ['uint64', BigUint64Array],
};

/** A TensorProto with raw data: {name, type, dims, data}. */
export function tensorOf(bytes) {
  const out = { name: '', dims: [] };
  let raw, type;
  for (const [number, value] of fieldsOf(bytes)) {
    if (number === 1) typeof value === 'bigint' ? out.dims.push(Number(value)) : out.dims.push(...packed(value));
    else if (number === 2) type = Number(value);
    else if (number === 8) out.name = text(value);
    else if (number === 9) raw = value;
    else if (number >= 4 && number <= 7) throw new Error(`'${out.name}': only raw data are read here`);
  }
  if (!types[type]) throw new Error(`'${out.name}': no type ${type}`);
  const [name, Elements] = types[type];
  return { ...out, type: name, data: new Elements(Uint8Array.from(raw ?? []).buffer) };
}

function packed(bytes) {
  const out = [];
  let value = 0n, shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) [value, shift] = (out.push(Number(value)), [0n, 0n]);
  }
  return out;
}

const text = (bytes) => new TextDecoder().decode(bytes);
const child = (bytes, number) => { for (const [found, value] of fieldsOf(bytes)) if (found === number) return value; return undefined; };

/** The inputs that an ONNX model asks for, in order: [{name, dims}], a dim being a number, a name or undefined. */
export function inputsOf(model) {
  const stored = new Set(), inputs = [];
  for (const [number, value] of fieldsOf(child(model, 7))) {
    if (number === 5) stored.add(text(child(value, 8)));
    if (number !== 11) continue;
    const tensor = child(child(value, 2) ?? new Uint8Array(), 1), shape = tensor && child(tensor, 2);
    const dims = [...shape ? fieldsOf(shape) : []].map(([, dim]) => { for (const [kind, v] of fieldsOf(dim)) return kind === 1 ? Number(v) : text(v); return undefined; });
    inputs.push({ name: text(child(value, 1)), dims });
  }
  return inputs.filter(({ name }) => !stored.has(name));
}

/** A network from the bytes of its files by their paths in its folder: {model, sets: [{set, inputs, outputs}], tolerance}. */
export function networkOf(files) {
  const read = (set, kind) => {
    const out = [];
    for (let i = 0; files.has(`${set}/${kind}_${i}.pb`); ++i) out.push(tensorOf(files.get(`${set}/${kind}_${i}.pb`)));
    return out;
  };
  const sets = new Set([...files.keys()].filter((path) => path.startsWith('test_data_set_')).map((path) => path.split('/', 1)[0]));
  const tolerance = files.get('tolerance.json');
  return {
    model: files.get('model.onnx'), sets: [...sets].sort().map((set) => ({ set, inputs: read(set, 'input'), outputs: read(set, 'output') })),
    tolerance: { rtol: 1e-3, atol: 1e-7, ...tolerance && JSON.parse(text(tolerance)) },
  };
}

/** What differs, or nothing. */
export function difference(got, want, { rtol, atol, relative_to_max: relative }) {
  if (got.length !== want.length) return `found ${got.length} elements; needed ${want.length}`;
  const largest = relative ? want.reduce((most, x) => Math.max(most, Math.abs(Number(x))), 0) : 0;
  for (let i = 0; i < want.length; ++i) {
    const g = Number(got[i]), w = Number(want[i]);
    const close = Object.is(g, w) || g === w || Math.abs(g - w) <= (relative ? relative * largest : atol + rtol * Math.abs(w));
    if (!close) return `element ${i}: found ${g}; needed ${w}`;
  }
  return '';
}
