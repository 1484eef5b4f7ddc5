/** Reads ONNX's TensorProto files (test data) into what nnex takes and gives. */
import { readFile } from 'node:fs/promises';

const kTypes = {
  1: ['float32', Float32Array], 2: ['uint8', Uint8Array], 3: ['int8', Int8Array], 5: ['int16', Int16Array], 6: ['int32', Int32Array],
  7: ['int64', BigInt64Array], 8: ['string'], 9: ['bool', Uint8Array], 11: ['float64', Float64Array],
};

/** Fields of a message: [number, value] with bytes for what has a length. */
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    if (kind === 0) yield [tag >> 3, varint()];
    else {
      const size = kind === 2 ? Number(varint()) : kind === 5 ? 4 : 8;
      yield [tag >> 3, bytes.subarray(at, (at += size))];
    }
  }
}

export function tensorOf(bytes) {
  const dims = [];
  const texts = [];
  let type, data;
  const tensor = {};
  for (const [field, value] of fields(bytes)) {
    if (field === 1) typeof value === 'bigint' ? dims.push(Number(value)) : dims.push(...varints(value));
    else if (field === 2) type = Number(value);
    else if (field === 6) texts.push(new TextDecoder().decode(value));
    else if (field === 8) tensor.name = new TextDecoder().decode(value);
    else if (field === 9) data = value;
    else if ([4, 5, 7, 10, 11].includes(field)) throw new Error(`field ${field} of a TensorProto is not read here`);
  }
  const [name, Class] = kTypes[type];
  if (name === 'string') return { ...tensor, type: name, dims, data: texts };
  data ??= new Uint8Array(0);
  return { ...tensor, type: name, dims, data: new Class(Uint8Array.from(data).buffer) };
}
function varints(bytes) {
  const all = [];
  let value = 0;
  let scale = 1;
  for (const byte of bytes) {
    value += (byte & 127) * scale;
    scale *= 128;
    if (byte < 128) {
      all.push(value);
      [value, scale] = [0, 1];
    }
  }
  return all;
}
export async function readTensor(path) {
  return tensorOf(await readFile(path));
}
