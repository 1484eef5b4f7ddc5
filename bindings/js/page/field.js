// What fills an input: numbers that are typed or a file, whichever was given last.
import { counted, make } from './dom.js';
import { openExtents, wrongInput } from './feeds.js';
import { kRate, picture, pictureExtents, samplesOf, sizeOf, sound, soundExtents } from './media.js';
import { isTensors, tensorIn } from './tensors.js';
import { extents, fitted, numbers } from './typed.js';
import { rangeOf } from './values.js';

/** What a file is by its name and type; undefined: nothing that fills an input. */
const kindOf = ({ name, type }) => (isTensors(name) ? 'tensor' : type.startsWith('audio/') || /\.(wav|mp3|ogg|oga|flac|m4a)$/i.test(name) ? 'sound'
  : type.startsWith('image/') || /\.(png|jpe?g|webp|gif|bmp|avif|ico)$/i.test(name) ? 'picture' : undefined);
const wrong = (field, message) => Object.assign(new Error(message), { field });
/** The least text that says a list of lists of these extents. */
const listOf = (dims, item) => dims.reduceRight((inner, extent) => `[${Array(extent).fill(inner).join(', ')}]`, item);

/** How a picture is read: {row, value()}. Whole numbers are the pixels' own. */
function looks(port) {
  const choice = (label, ...options) => make('select', { 'aria-label': `${label} of ${port.name}` }, ...options.map(([value, text]) => make('option', { value }, text)));
  const list = (label, value) => make('input', { type: 'text', value, 'aria-label': `${label} of ${port.name}` });
  const top = choice('Range', [1, '0 to 1'], [255, '0 to 255']), order = choice('Order of colours', ['rgb', 'red, green, blue'], ['bgr', 'blue, green, red']);
  const fit = choice('Fit', ['stretch', 'stretched to the input'], ['crop', 'its middle, cut to the input’s proportions']), mean = list('Mean', '0'), deviation = list('Deviation', '1');
  const numbersOf = (field, what) => field.value.split(/[\s,]+/).filter(Boolean).map((word) => {
    if (!Number.isFinite(Number(word))) throw wrong(field, `found the ${what} '${word}', which is no number`);
    return Number(word);
  });
  const part = (text, field) => make('label', {}, make('span', {}, text), field);
  const floats = rangeOf(port.type) ? [] : [part('range', top), part('mean', mean), part('deviation', deviation)];
  return {
    row: make('div', { class: 'look' }, part('fit', fit), part('colours', order), ...floats),
    value: () => ({ top: Number(top.value), order: order.value, fit: fit.value, mean: numbersOf(mean, 'mean'), deviation: numbersOf(deviation, 'deviation') }),
  };
}

/** An input's field: {row, value(seed)}, where value() gives its feed or throws an error that has the field. */
export function inputField(port, place) {
  const id = `input-${port.name}`, noteId = `given-${place}`, openId = `open-${place}`;
  const ones = (port.dims ?? []).map((extent) => (typeof extent === 'number' ? extent : 1));
  const few = ones.reduce((product, extent) => product * extent, 1) <= 64;
  const text = make('input', { type: 'text', id, value: port.type !== 'string' ? 'random' : few ? listOf(ones, '""') : '', 'aria-describedby': `run-help ${noteId}` });
  const file = make('input', { type: 'file', id: `file-${place}`, class: 'hidden', accept: 'image/*,audio/*,.npy,.npz,.pb,.json', 'aria-label': `File for ${port.name}` });
  const open = openExtents(port.dims), named = open.filter((extent) => extent !== '?');
  const first = ones.join(' ');
  const shape = make('input', { type: 'text', value: first, 'aria-label': `Extents of ${port.name}`,
    'aria-describedby': open.length ? openId : undefined });
  const has = make('span', { class: 'soft', id: noteId, role: 'status' });
  const rate = make('input', { type: 'text', inputmode: 'numeric', value: String(kRate), 'aria-label': `Samples a second for ${port.name}` });
  const look = looks(port), samples = make('div', { class: 'look' }, make('label', {}, make('span', {}, 'samples a second'), rate));
  const kinds = { picture: look.row, sound: samples };
  let put = first; // the extents that the page has put there
  const show = (dims) => { shape.value = put = dims.join(' '); };
  const said = () => shape.value !== put && shape.value.trim() !== ''; // by somebody else
  let given; // the file, where that is what counts: {file, kind}, and what is read of it
  const say = (more = '') => {
    has.textContent = given ? `${given.file.name}: taken, instead of the numbers${more}` : '';
    for (const [kind, row] of Object.entries(kinds)) row.hidden = given?.kind !== kind;
  };
  const rateOf = () => {
    if (!/^\d+$/.test(rate.value.trim())) throw wrong(rate, `found the rate '${rate.value}'; needed samples a second, such as 16000`);
    return Number(rate.value);
  };
  /** Reads the file as far as extents follow from it. */
  async function lookInto(mine) {
    if (mine.kind === 'picture' && open.length) mine.size = await (mine.sizing ??= sizeOf(mine.file));
    if (mine.kind !== 'sound') return;
    const asked = rateOf();
    if (mine.rate !== asked) Object.assign(mine, { rate: asked, decoding: samplesOf(mine.file, asked) });
    mine.samples = await mine.decoding;
  }
  /** The extents of the feed: those that are said; of others open ones follow from the file, or from how many numbers are typed. */
  function extentsNow(from) {
    if (open.length && !said()) {
      const dims = from?.kind === 'picture' ? pictureExtents(port.dims, from.size) : from?.kind === 'sound' ? soundExtents(port.dims, from.samples.length)
        : fitted(text.value, port.dims);
      show(dims);
      return dims;
    }
    try {
      return extents(shape.value);
    } catch (error) {
      throw Object.assign(error, { field: shape });
    }
  }
  function take(chosen) {
    if (!chosen) return;
    const mine = (given = { file: chosen, kind: kindOf(chosen) }), unless = () => {}; // the run says what is wrong with it
    if (mine.kind === 'tensor') {
      mine.tensor = tensorIn(chosen, port.name, port.type);
      mine.tensor.then(({ dims }) => { if (given === mine) show(dims); }, unless);
    } else {
      lookInto(mine).then(() => { if (given === mine && mine.kind) extentsNow(mine); }, unless);
    }
    say();
  }
  file.addEventListener('change', () => take(file.files[0]));
  text.addEventListener('input', () => {
    given = undefined;
    file.value = ''; // so that the same file can be chosen once more
    say();
  });
  say();
  const button = make('div', { class: 'wide' }, make('label', { class: 'button plain', for: file.id }, 'Choose a file'), file, ' ', has);
  const row = make('div', { class: 'field' }, make('label', { for: id }, port.name, ' ', make('code', {}, port.text)), text, button, look.row, samples,
    make('span', { class: 'soft' }, 'extents'), shape,
    ...(open.length ? [make('span', { class: 'soft wide', id: openId }, `The model leaves ${named.length ? named.join(', ') : 'some extents'} open: they follow from what you give, else they are 1, until you say others.`)] : []));
  for (const kind of ['dragover', 'drop'])
    row.addEventListener(kind, (event) => {
      if (!event.dataTransfer.types.includes('Files')) return;
      event.preventDefault();
      event.stopPropagation();
      document.getElementById('drop').classList.remove('over');
      if (kind === 'drop') take(event.dataTransfer.files[0]);
    });
  async function value(seed) {
    if (port.valueType.kind !== 'tensor') throw new Error(`found ${port.text}; this page fills tensors alone`);
    if (!given) return numbers(text.value, port.type, extentsNow(), seed);
    const mine = given;
    if (mine.tensor) return mine.tensor;
    if (!mine.kind) throw new Error(`'${mine.file.name}' is no .npy, .npz, .pb, .json, picture or sound`);
    await lookInto(mine);
    const dims = extentsNow(mine);
    if (mine.kind === 'picture') return picture(mine.file, port.type, dims, look.value());
    const made = sound(mine.samples, port.type, dims), { length } = mine.samples, taken = made.data.length;
    say(length > taken ? `; ${counted(length, 'sample')}, of which the first ${taken.toLocaleString()} are used` : length < taken ? `; ${counted(length, 'sample')}, then silence` : '');
    return made;
  }
  return {
    name: port.name, row, text, shape,
    /** Whether extents that the model leaves open are still those that nobody has said. */
    open: () => open.length > 0 && shape.value === first,
    value: (seed) => value(seed).catch((error) => { throw wrongInput(port.name, error.message, error.field ?? text); }),
  };
}
