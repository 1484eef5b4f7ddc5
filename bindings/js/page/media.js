// Pictures, sounds and numbers as the elements of an input.
import { count, elementOf, nearest, rangeOf, room } from './values.js';

/** Extents as they are typed. */
export function extents(text) {
  return text.split(/[\s,x]+/).filter(Boolean).map((word) => {
    if (!/^\d+$/.test(word)) throw new Error(`found the extent '${short(word)}'; needed whole numbers from 0 on`);
    return Number(word);
  });
}
const short = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** Where colours, rows and columns stand in the extents of a picture. */
function pictureAxes(dims) {
  const [channels, height, width] = dims.slice(-3), [rows, columns, last] = dims.slice(-3);
  const axes = [1, 3, 4].includes(channels) ? { channels, height, width, planes: true } : { channels: last, height: rows, width: columns, planes: false };
  if (dims.length >= 3 && [1, 3, 4].includes(axes.channels) && count(dims) > 0) return axes;
  throw new Error(`an input [${dims.join(', ')}] is no picture; needed [..., 3, height, width] or [..., height, width, 3]`);
}

/** A picture's colours at a size: red, green, blue and opacity of each pixel. */
async function pixels(file, width, height) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(await createImageBitmap(file, { resizeWidth: width, resizeHeight: height, resizeQuality: 'high' }), 0, 0);
  return context.getImageData(0, 0, width, height).data;
}

/** A picture, scaled to the input: each colour from 0 to 1, or 0 to 255 where the type is whole numbers. Every picture of a batch is this one. */
export async function picture(file, type, dims) {
  const { channels, height, width, planes } = pictureAxes(dims), range = rangeOf(type);
  if (range && range[1] < 255n) throw new Error(`found elements of ${type}; a picture's colours are whole numbers from 0 to 255`);
  const data = room(type, dims), element = elementOf(type), one = channels * width * height;
  const colours = await pixels(file, width, height).catch(() => {
    throw new Error(`'${file.name}' (${file.type || 'of no known kind'}) cannot be decoded and scaled to ${width} x ${height}; `
      + 'needed a picture that this browser shows, such as PNG or JPEG');
  });
  for (let pixel = 0; pixel < width * height; ++pixel)
    for (let c = 0; c < channels; ++c) {
      const [r, g, b, a] = colours.subarray(4 * pixel, 4 * pixel + 4);
      const value = channels === 1 ? 0.299 * r + 0.587 * g + 0.114 * b : [r, g, b, a][c];
      data[planes ? c * width * height + pixel : pixel * channels + c] = element(range ? Math.round(value) : value / 255);
    }
  for (let next = one; next < data.length; next += one) data.copyWithin(next, 0, one);
  return { type, dims, data };
}

/** A sample from -1 to 1 as whole numbers of a type say it, as in WAV files: half of those of unsigned types is silence. */
export function sample(x, type) {
  const [low, high] = rangeOf(type).map(Number), half = (high - low + 1) / 2;
  return Math.min(high, Math.max(low, Math.round(x * half) + low + half));
}

/** The beginning of a sound, at 16 kHz, one channel; silence after its end. */
export async function sound(file, type, dims) {
  const data = room(type, dims), whole = rangeOf(type) !== undefined, element = elementOf(type);
  if (whole && !['uint8', 'int16', 'int32'].includes(type)) throw new Error(`found elements of ${type}; a sound fills floats, uint8, int16 and int32`);
  if (whole) data.fill(sample(0, type));
  const context = new OfflineAudioContext(1, 1, 16000);
  const decoded = await file.arrayBuffer().then((content) => context.decodeAudioData(content)).catch(() => {
    throw new Error(`'${file.name}' (${file.type}) cannot be decoded; needed a sound that this browser plays, such as WAV or MP3`);
  });
  decoded.getChannelData(0).subarray(0, data.length).forEach((x, i) => { data[i] = whole ? sample(x, type) : element(x); });
  return { type, dims, data };
}

/** A whole number with all its digits: "9007199254740993.0", "0x20000000000001", "1e3"; undefined for what is none. */
function wholeOf(word) {
  const [, digits] = /^([+-]?\d+)(?:\.0*)?$/.exec(word) ?? /^(0[xob][\da-f]+)$/i.exec(word) ?? [];
  if (digits && !Number.isNaN(Number(digits))) return BigInt(digits.replace('+', ''));
  return Number.isInteger(Number(word)) ? BigInt(Number(word)) : undefined;
}
/** A number of a type as it is typed: a bigint for whole numbers. */
function number(word, type) {
  const range = rangeOf(type);
  if (!range) {
    const x = Number(word);
    if (Number.isNaN(x) && word !== 'NaN') throw new Error(`found '${short(word)}', which is no number; needed numbers, random or zeros`);
    if (Math.abs(nearest(x, type)) === Infinity && !word.endsWith('Infinity')) throw new Error(`found ${short(word)}, which is too large for ${type}`);
    return x;
  }
  const x = wholeOf(word);
  if (x === undefined || x < range[0] || x > range[1]) throw new Error(`found '${short(word)}'; needed whole numbers from ${range[0]} to ${range[1]} (${type})`);
  return x;
}

/** Numbers in a text; of fewer than the input has the last is repeated. Also "random" and "zeros". */
export function numbers(text, type, dims) {
  const data = room(type, dims), element = elementOf(type), word = text.trim();
  if (word === 'zeros') return { type, dims, data };
  if (word === 'random') {
    const below = type.includes('float') ? 1 : 2;
    for (let i = 0; i < data.length; ++i) data[i] = element(Math.random() * below);
    return { type, dims, data };
  }
  const given = word.split(/[\s,]+/).filter(Boolean).map((item) => element(number(item, type)));
  if (given.length === 0 && data.length > 0) throw new Error('found nothing; needed numbers, random or zeros');
  if (given.length > data.length) throw new Error(`found ${given.length} numbers; the input [${dims.join(', ')}] has ${data.length}`);
  given.forEach((x, i) => { data[i] = x; });
  if (given.length > 0) data.fill(given.at(-1), given.length);
  return { type, dims, data };
}
