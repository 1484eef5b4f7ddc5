// An output as a picture: its colours, one of its channels, or which channel is the largest.
import { counted, make, note, saving } from './dom.js';
import { count, reader, said } from './values.js';

/** A picture has as many rows and columns at least, and as many pixels at most. */
const kFewest = 8, kMostPixels = 2 ** 24;
const isColours = (channels) => channels === 1 || channels === 3 || channels === 4;

/** Where the pictures of a tensor are: {pictures, channels, height, width, planes}; undefined where its extents are no picture's. */
export function pictureIn(dims) {
  if (dims.length < 2) return undefined;
  const [a, b, c] = dims.length > 2 ? dims.slice(-3) : [1, ...dims];
  // colours tell which axis has them; of others, rows and columns are as many, or channels are fewer
  const planes = isColours(a) || (!isColours(c) && (b === c || (a !== b && a <= c)));
  const [channels, height, width] = planes ? [a, b, c] : [c, a, b];
  if (Math.min(height, width) < kFewest || height * width > kMostPixels || channels === 0) return undefined;
  return { pictures: count(dims.slice(0, -3)), channels, height, width, planes };
}

/** The number at a pixel: at(channel, pixel). */
function numbersOf(tensor, { channels, height, width, planes }, picture) {
  const at = reader(tensor), size = height * width, first = picture * channels * size;
  return planes ? (c, pixel) => Number(at(first + c * size + pixel)) : (c, pixel) => Number(at(first + pixel * channels + c));
}
/** What numbers lie between: [least, largest]; [0, 1] where none is finite. */
function rangeOf(at, channels, size) {
  let least = Infinity, largest = -Infinity;
  for (const c of channels)
    for (let pixel = 0; pixel < size; ++pixel) {
      const x = at(c, pixel);
      if (Math.abs(x) === Infinity) continue;
      if (x < least) least = x;
      if (x > largest) largest = x;
    }
  return least <= largest ? [least, largest] : [0, 1];
}
/** The range that numbers are likely to be of: a usual one that they fill and leave by little, else their own. */
export function likelyRange([least, largest]) {
  const of = ([low, high]) => ((slack) => least >= low - slack && largest <= high + slack)((high - low) / 10);
  if (of([0, 1]) && largest > 0.5) return [0, 1];
  if (of([-1, 1]) && least < -0.5 && largest > 0.5) return [-1, 1];
  return of([0, 255]) && largest > 127 ? [0, 255] : [least, largest];
}

/** A colour of its own for each of many: hues far apart, the first black. */
function colourOf(index) {
  if (index === 0) return [0, 0, 0];
  const hue = (index * 0.618034) % 1 * 6, light = 160 + 60 * (index % 2);
  return [0, 4, 2].map((shift) => Math.round(light * Math.min(1, Math.max(0, Math.abs((hue + shift) % 6 - 3) - 1))) + 30);
}
/**
 * Red, green, blue and opacity of each pixel. `way`: 'colours', 'largest' (which channel is) or a channel's number; `range`: [what is black, what is white], or
 * undefined for the likely one. Pixels that are NaN are not there. {pixels, range}
 */
export function pixelsIn(tensor, place, { picture = 0, way = 'colours', range } = {}) {
  const { channels, height, width } = place, size = height * width, pixels = new Uint8ClampedArray(4 * size), at = numbersOf(tensor, place, picture);
  if (way === 'largest') {
    const colours = Array.from({ length: channels }, (_, c) => [...colourOf(c), 255]);
    for (let pixel = 0; pixel < size; ++pixel) {
      let best = 0;
      for (let c = 1; c < channels; ++c) if (at(c, pixel) > at(best, pixel)) best = c;
      pixels.set(colours[best], 4 * pixel);
    }
    return { pixels };
  }
  const shown = way === 'colours' ? Array.from({ length: channels }, (_, c) => c) : [way];
  const [low, high] = range ?? likelyRange(rangeOf(at, shown, size)), scale = high > low ? 255 / (high - low) : 0;
  for (let pixel = 0; pixel < size; ++pixel) {
    let there = 255;
    for (let i = 0; i < 4; ++i) {
      const x = i < 3 || shown.length === 4 ? at(shown[shown.length === 1 ? 0 : i], pixel) : high;
      if (x !== x) there = 0;
      pixels[4 * pixel + i] = i === 3 && shown.length < 4 ? there : (x - low) * scale;
    }
    if (there === 0) pixels[4 * pixel + 3] = 0;
  }
  return { pixels, range: [low, high] };
}

/** The view of an output, drawn once it is opened; nothing where its extents are no picture's. */
export function pictureOf(title, tensor) {
  const place = tensor.type !== 'string' && reader(tensor) ? pictureIn(tensor.dims) : undefined;
  if (!place || tensor.data.length === 0) return [];
  const { pictures, channels, height, width } = place;
  const canvas = make('canvas', { role: 'img', width, height }), told = note('');
  const choice = (label, ...options) => make('select', { 'aria-label': `${label} of ${title}` }, ...options.map(([value, text]) => make('option', { value }, text)));
  const each = (n, one) => Array.from({ length: Math.min(n, 1000) }, (_, i) => [i, `${one} ${i}`]);
  const coloured = channels === 3 || channels === 4;
  const way = choice('Channels', ...(channels === 1 ? [] : coloured ? [['colours', 'red, green, blue']] : [['largest', 'which is the largest']]), ...each(channels, 'channel'));
  const range = choice('Black and white', ['', 'as is likely'], ['own', 'its own range'], ['0 1', '0 and 1'], ['-1 1', '-1 and 1'], ['0 255', '0 and 255']);
  const which = choice('Picture', ...each(pictures, 'picture'));
  function draw() {
    const asked = Number.isNaN(Number(way.value)) ? way.value : Number(way.value), own = range.value === 'own';
    const at = numbersOf(tensor, place, Number(which.value));
    const limits = own ? rangeOf(at, asked === 'colours' ? [...Array(channels).keys()] : [asked === 'largest' ? 0 : asked], height * width)
      : range.value ? range.value.split(' ').map(Number) : undefined;
    const made = pixelsIn(tensor, place, { picture: Number(which.value), way: asked, range: limits });
    canvas.getContext('2d').putImageData(new ImageData(made.pixels, width, height), 0, 0);
    told.textContent = `${width} x ${height}; ${made.range ? `black is ${said(made.range[0])}, white ${said(made.range[1])}` : 'a colour for each channel, where it is the largest; black for channel 0'}.`;
    canvas.setAttribute('aria-label', `${title} as a picture, ${told.textContent}`);
  }
  for (const field of [way, range, which]) field.addEventListener('change', draw);
  const save = make('button', { class: 'small', type: 'button', 'aria-label': `Save ${title} as a picture`, onclick: () => canvas.toBlob((content) => {
    if (content) saving(`${title.replace(/[^\w.[\]-]+/g, '_') || 'output'}.png`, '', () => content).click();
  }) }, '.png');
  const part = (text, field) => make('label', {}, make('span', {}, text), field);
  const made = make('details', { class: 'picture' }, make('summary', {}, 'As a picture'),
    make('div', { class: 'look' }, ...(channels > 1 ? [part('shows', way)] : []), part('black and white', range), ...(pictures > 1 ? [part(`of ${counted(pictures, 'picture')}`, which)] : []), save),
    canvas, told);
  made.addEventListener('toggle', () => { if (made.open) draw(); });
  made.open = coloured || (channels === 1 && tensor.dims.length > 3);
  return [made];
}
