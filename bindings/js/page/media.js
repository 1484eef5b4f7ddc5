// Pictures, sounds and numbers as the elements of an input.

const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array,
};
const count = (dims) => dims.reduce((product, extent) => product * extent, 1);

/** Elements of a type from plain numbers. */
function elements(type, numbers) {
  const Type = arrays[type];
  if (!Type) throw new Error(`an input of ${type} cannot be filled here; possible are ${Object.keys(arrays).join(', ')}`);
  return type.endsWith('64') && type !== 'float64' ? Type.from(numbers, (x) => BigInt(Math.trunc(x))) : Type.from(numbers);
}

/** Where colours, rows and columns stand in the extents of a picture. */
function pictureAxes(dims) {
  const [channels, height, width] = dims.slice(-3);
  if ([1, 3, 4].includes(channels) && dims.length >= 3) return { channels, height, width, planes: true };
  const [rows, columns, last] = dims.slice(-3);
  if ([1, 3, 4].includes(last) && dims.length >= 3) return { channels: last, height: rows, width: columns, planes: false };
  throw new Error(`an input [${dims.join(', ')}] is no picture; needed [..., 3, height, width] or [..., height, width, 3]`);
}

/** A picture, scaled to the input: each colour from 0 to 1, or 0 to 255 where the type is whole numbers. */
export async function picture(file, type, dims) {
  const { channels, height, width, planes } = pictureAxes(dims);
  const bitmap = await createImageBitmap(file, { resizeWidth: width, resizeHeight: height, resizeQuality: 'high' });
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const scale = type.startsWith('float') ? 255 : 1;
  const numbers = new Float32Array(count(dims));
  for (let pixel = 0; pixel < width * height; ++pixel)
    for (let c = 0; c < channels; ++c) {
      const [r, g, b, a] = data.subarray(4 * pixel, 4 * pixel + 4);
      const value = channels === 1 ? 0.299 * r + 0.587 * g + 0.114 * b : [r, g, b, a][c];
      numbers[planes ? c * width * height + pixel : pixel * channels + c] = value / scale;
    }
  return { type, dims, data: elements(type, numbers) };
}

/** The beginning of a sound, at 16 kHz, one channel; silence after its end. */
export async function sound(file, type, dims) {
  const context = new OfflineAudioContext(1, 1, 16000);
  const decoded = await context.decodeAudioData(await file.arrayBuffer());
  const numbers = new Float32Array(count(dims));
  numbers.set(decoded.getChannelData(0).subarray(0, numbers.length));
  return { type, dims, data: elements(type, numbers) };
}

/** Numbers in a text; of fewer than the input has the last is repeated. Also "random" and "zeros". */
export function numbers(text, type, dims) {
  const room = count(dims);
  const word = text.trim();
  if (word === 'random') return { type, dims, data: elements(type, Array.from({ length: room }, () => Math.random() * (type.startsWith('float') ? 1 : 2))) };
  const given = word === 'zeros' ? [0] : word.split(/[\s,]+/).map(Number);
  if (given.some(Number.isNaN)) throw new Error(`'${word.slice(0, 40)}' has something that is no number; needed numbers, random or zeros`);
  if (given.length > room) throw new Error(`found ${given.length} numbers; the input [${dims.join(', ')}] has ${room}`);
  return { type, dims, data: elements(type, Array.from({ length: room }, (_, i) => given[Math.min(i, given.length - 1)])) };
}
