// Pictures and sounds as the elements of an input.
import { count, elementOf, rangeOf, room } from './values.js';

/** Where colours, rows and columns stand in the extents of a picture. */
function pictureAxes(dims) {
  const [channels, height, width] = dims.slice(-3), [rows, columns, last] = dims.slice(-3);
  const axes = [1, 3, 4].includes(channels) ? { channels, height, width, planes: true } : { channels: last, height: rows, width: columns, planes: false };
  if (dims.length >= 3 && [1, 3, 4].includes(axes.channels) && count(dims) > 0) return axes;
  throw new Error(`an input [${dims.join(', ')}] is no picture; needed [..., 3, height, width] or [..., height, width, 3]`);
}

/** Extents of which those that are open, which are words, are as a picture of this size has them. */
export function pictureExtents(dims, { width, height }) {
  const colours = (extent) => [1, 3, 4].includes(extent), from = dims.length - 3;
  const own = colours(dims[from]) || !colours(dims[from + 2]) ? [3, height, width] : [height, width, 3];
  return dims.map((extent, axis) => (typeof extent === 'number' ? extent : own[axis - from] ?? 1));
}

/** How a picture becomes numbers where nobody says another: `top` is white, of which `mean` is taken away, and what is left divided by `deviation`. */
export const plain = { top: 1, mean: [0], deviation: [1], order: 'rgb', fit: 'stretch' };

/**
 * Pixels, red, green, blue and opacity from 0 to 255 each, as the elements of an input. Each colour goes from 0 to `top` and is normalised by the mean and the deviation
 * of its channel; whole numbers are the pixels'. Every picture of a batch is this one.
 */
export function painted(pixels, type, dims, { top, mean, deviation, order } = plain) {
  const { channels, height, width, planes } = pictureAxes(dims), whole = rangeOf(type) !== undefined;
  for (const [what, list] of [['means', mean], ['deviations', deviation]])
    if (![1, channels].includes(list.length)) throw new Error(`found ${list.length} ${what}; needed one, or one of each of ${channels} channels`);
  if (deviation.includes(0)) throw new Error('found the deviation 0; needed another number');
  const data = room(type, dims), element = elementOf(type), size = width * height, of = (list, c) => list[list.length === 1 ? 0 : c];
  for (let pixel = 0; pixel < size; ++pixel)
    for (let c = 0; c < channels; ++c) {
      const [r, g, b, a] = pixels.subarray(4 * pixel, 4 * pixel + 4), colours = order === 'bgr' ? [b, g, r, a] : [r, g, b, a];
      const value = channels === 1 ? 0.299 * r + 0.587 * g + 0.114 * b : colours[c];
      data[planes ? c * size + pixel : pixel * channels + c] = element(whole ? Math.round(value) : (value / 255 * top - of(mean, c)) / of(deviation, c));
    }
  for (let next = channels * size; next < data.length; next += channels * size) data.copyWithin(next, 0, channels * size);
  return { type, dims, data };
}

/** The middle of a picture that has another's proportions: [x, y, width, height]. */
export function middle({ width, height }, to) {
  const scale = Math.min(width / to.width, height / to.height), [w, h] = [Math.max(1, Math.round(to.width * scale)), Math.max(1, Math.round(to.height * scale))];
  return [Math.floor((width - w) / 2), Math.floor((height - h) / 2), w, h];
}

/** How many columns and rows a picture has: {width, height}. */
export async function sizeOf(file) {
  const whole = await createImageBitmap(file).catch(() => { throw undecoded(file); }), { width, height } = whole;
  whole.close();
  return { width, height };
}
const undecoded = ({ name, type }, how = '') => new Error(`'${name}' (${type || 'of no known kind'}) cannot be decoded${how}; needed a picture of pixels that this browser shows, such as PNG or JPEG`);

/** A picture's colours at a size: red, green, blue and opacity of each pixel, as this browser scales it. */
async function pixelsOf(file, width, height, fit) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true }), size = { resizeWidth: width, resizeHeight: height, resizeQuality: 'high' };
  const whole = fit === 'crop' && await createImageBitmap(file);
  context.drawImage(await (whole ? createImageBitmap(whole, ...middle(whole, { width, height }), size) : createImageBitmap(file, size)), 0, 0);
  return context.getImageData(0, 0, width, height).data;
}

/** A picture, scaled to the input. */
export async function picture(file, type, dims, look = plain) {
  const { height, width } = pictureAxes(dims), range = rangeOf(type);
  if (range && range[1] < 255n) throw new Error(`found elements of ${type}; a picture's colours are whole numbers from 0 to 255`);
  room(type, dims);
  const pixels = await pixelsOf(file, width, height, look.fit).catch(() => { throw undecoded(file, ` and scaled to ${width} x ${height}`); });
  return painted(pixels, type, dims, look);
}

/** A sample from -1 to 1 as whole numbers of a type say it, as in WAV files: half of those of unsigned types is silence. */
export function sample(x, type) {
  const [low, high] = rangeOf(type).map(Number), half = (high - low + 1) / 2;
  return Math.min(high, Math.max(low, Math.round(x * half) + low + half));
}
/** The mean of all channels. */
export const mixed = (channels) => (channels.length === 1 ? channels[0] : channels[0].map((_, i) => channels.reduce((sum, channel) => sum + channel[i], 0) / channels.length));

/** What sounds are resampled to where nobody says another rate: that of most networks of speech. */
export const kRate = 16000;
/** The samples of a sound at a rate, its channels mixed. */
export async function samplesOf(file, rate = kRate) {
  if (!(rate >= 3000 && rate <= 384000)) throw new Error(`found the rate ${rate}; needed 3000 to 384000 samples a second`);
  const context = new OfflineAudioContext(1, 1, rate);
  const decoded = await file.arrayBuffer().then((content) => context.decodeAudioData(content)).catch(() => {
    throw new Error(`'${file.name}' (${file.type}) cannot be decoded; needed a sound that this browser plays, such as WAV or MP3`);
  });
  return mixed(Array.from({ length: decoded.numberOfChannels }, (_, c) => decoded.getChannelData(c)));
}
/** Extents of which the last open one is as long as a sound, where no other has several elements. */
export function soundExtents(dims, samples) {
  const open = dims.map((extent) => typeof extent !== 'number'), last = dims.some((extent) => extent > 1) ? -1 : open.lastIndexOf(true);
  return dims.map((extent, axis) => (!open[axis] ? extent : axis === last ? samples : 1));
}
/** The beginning of a sound, given by its samples; silence after its end. */
export function sound(samples, type, dims) {
  const data = room(type, dims), whole = rangeOf(type) !== undefined, element = elementOf(type);
  if (whole && !['uint8', 'int16', 'int32'].includes(type)) throw new Error(`found elements of ${type}; a sound fills floats, uint8, int16 and int32`);
  if (Math.max(...dims) !== data.length) throw new Error(`an input [${dims.join(', ')}] is no sound; needed one extent of samples, every other 1`);
  if (whole) data.fill(sample(0, type));
  samples.subarray(0, data.length).forEach((x, i) => { data[i] = whole ? sample(x, type) : element(x); });
  return { type, dims, data };
}
