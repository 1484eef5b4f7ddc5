// What fills an input: numbers that are typed or a file, whichever was given last.
import { make } from './dom.js';
import { openExtents, wrongInput } from './feeds.js';
import { kRate, picture, sound } from './media.js';
import { isTensors, tensorIn } from './tensors.js';
import { extents, numbers } from './typed.js';
import { rangeOf } from './values.js';

const kindOf = ({ name, type }) => (isTensors(name) ? 'tensor' : type.startsWith('audio/') || /\.(wav|mp3|ogg|oga|flac|m4a)$/i.test(name) ? 'sound' : 'picture');

/** How a picture is read: {row, value()}. Whole numbers are the pixels' own. */
function looks(port) {
  const choice = (label, ...options) => make('select', { 'aria-label': `${label} of ${port.name}` }, ...options.map(([value, text]) => make('option', { value }, text)));
  const list = (label, value) => make('input', { type: 'text', value, 'aria-label': `${label} of ${port.name}` });
  const top = choice('Range', [1, '0 to 1'], [255, '0 to 255']), order = choice('Order of colours', ['rgb', 'red, green, blue'], ['bgr', 'blue, green, red']);
  const fit = choice('Fit', ['stretch', 'stretched to the input'], ['crop', 'its middle, cut to the input’s proportions']), mean = list('Mean', '0'), deviation = list('Deviation', '1');
  const numbersOf = (field, what) => field.value.split(/[\s,]+/).filter(Boolean).map((word) => {
    if (!Number.isFinite(Number(word))) throw Object.assign(new Error(`found the ${what} '${word}', which is no number`), { field });
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
  const text = make('input', { type: 'text', id, value: 'random', 'aria-describedby': `run-help ${noteId}` });
  const file = make('input', { type: 'file', id: `file-${place}`, class: 'hidden', accept: 'image/*,audio/*,.npy,.npz,.pb,.json', 'aria-label': `File for ${port.name}` });
  const open = openExtents(port.dims), named = open.filter((extent) => extent !== '?');
  const first = (port.dims ?? []).map((extent) => (typeof extent === 'number' ? extent : 1)).join(' ');
  const shape = make('input', { type: 'text', value: first, 'aria-label': `Extents of ${port.name}`,
    'aria-describedby': open.length ? openId : undefined });
  const has = make('span', { class: 'soft', id: noteId, role: 'status' });
  const rate = make('input', { type: 'text', inputmode: 'numeric', value: String(kRate), 'aria-label': `Samples a second for ${port.name}` });
  const look = looks(port), samples = make('div', { class: 'look' }, make('label', {}, make('span', {}, 'samples a second'), rate));
  const kinds = { picture: look.row, sound: samples };
  let given; // the file, where that is what counts: {file, kind, tensor}
  const say = () => {
    has.textContent = given ? `${given.file.name}: taken, instead of the numbers` : '';
    for (const [kind, row] of Object.entries(kinds)) row.hidden = given?.kind !== kind;
  };
  function take(chosen) {
    if (!chosen) return;
    given = { file: chosen, kind: kindOf(chosen) };
    if (given.kind === 'tensor') {
      const mine = given;
      given.tensor = tensorIn(chosen, port.name, port.type);
      given.tensor.then(({ dims }) => { if (given === mine) shape.value = dims.join(' '); }, () => {}); // the run says what is wrong with it
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
    ...(open.length ? [make('span', { class: 'soft wide', id: openId }, `The model leaves ${named.length ? named.join(', ') : 'some extents'} open: 1 until you say otherwise.`)] : []));
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
    if (given?.tensor) return given.tensor;
    const dims = (() => {
      try {
        return extents(shape.value);
      } catch (error) {
        throw Object.assign(error, { field: shape });
      }
    })();
    if (!given) return numbers(text.value, port.type, dims, seed);
    if (given.kind === 'picture') return picture(given.file, port.type, dims, look.value());
    if (!/^\d+$/.test(rate.value.trim())) throw Object.assign(new Error(`found the rate '${rate.value}'; needed samples a second, such as 16000`), { field: rate });
    return sound(given.file, port.type, dims, Number(rate.value));
  }
  return {
    name: port.name, row, text, shape,
    /** Whether extents that the model leaves open are still those that nobody has said. */
    open: () => open.length > 0 && shape.value === first,
    value: (seed) => value(seed).catch((error) => { throw wrongInput(port.name, error.message, error.field ?? text); }),
  };
}
