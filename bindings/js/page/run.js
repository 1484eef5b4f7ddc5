// The panel that runs a model: its inputs, who ran, what came out, where the time went.
import { $, bar, counted, make, note, saving, table } from './dom.js';
import { inputField } from './field.js';
import { soundOf } from './listen.js';
import { anew, answerOf } from './model.js';
import { npyHas, writeJson, writeNpy } from './tensors.js';
import { ownTimes } from './times.js';
import { coordinates, distance, largest, reader, said } from './values.js';
import { pictureOf } from './view.js';
import { sentence, working } from './work.js';

/** Of nodes that were timed so many are listed. */
const kMostTimes = 20;
/** Of sequences and maps so many are shown. */
const kMostItems = 20;

export function showRun(on, about) {
  if (!about) return $('run').replaceChildren(make('p', {}, 'A model with such faults cannot be run.'));
  const fields = about.inputs.map(inputField), answer = make('div', { id: 'answer' });
  const seed = make('input', { type: 'text', inputmode: 'numeric', id: 'seed', value: '1' });
  const seedOf = () => {
    if (/^\d{1,9}$/.test(seed.value.trim())) return Number(seed.value);
    throw Object.assign(new Error(`seed: found '${seed.value}'; needed a whole number from 0 on, of nine digits at most`), { field: seed });
  };
  const feedsNow = async () => {
    const first = seedOf();
    return Object.fromEntries(await Promise.all(fields.map(async ({ name, value }, i) => [name, await value(first + 1_000_003 * i)])));
  };
  /** An error with the field that it is about; where nobody has said extents that the model leaves open, it says so. */
  const placed = (error) => {
    const open = fields.filter((field) => field.open()).map(({ name }) => `'${name}'`).join(', ');
    if (error.input || error.field || !error.code || !open) return Object.assign(error, { field: error.field ?? fields.find(({ name }) => name === error.input)?.shape });
    return new Error(`${sentence(error)}\nExtents that the model leaves open are 1 (${open}): the fields 'extents' take others.`);
  };
  const button = make('button', { class: 'act', type: 'submit' }, 'Run');
  const run = () => working('Running …', async (signal) => {
    try {
      const feeds = await feedsNow(), { outputs, took, apart } = await answerOf(on, about, feeds, signal);
      return () => {
        const time = `A run took ${took.toFixed(1)} ms`, results = Object.entries(outputs).flatMap(([name, value]) => resultOf(name, value));
        answer.replaceChildren(...wayOf(on.webnn, apart), note(time), ...results, timesButton(on, feeds, on.webnn.run && outputs));
        $('status').textContent = time;
      };
    } catch (error) {
      throw placed(error);
    }
  }, { at: button, clears: answer });
  $('run').replaceChildren(
    make('p', { id: 'run-help', class: 'soft' }, 'Numbers (the last is repeated), lists as JSON, random, zeros; texts as lists of JSON; or a file: .npy, .npz, .pb, .json, a picture or a sound. '
      + 'Pictures are scaled by this browser, transparent pixels are black, and each place of a batch has the picture; the channels of a sound are mixed.'),
    ...(about.states.length ? [note('Every run begins with the first content of what the model keeps from run to run.')] : []),
    make('form', { novalidate: '', onsubmit: (event) => {
      event.preventDefault();
      run();
    } }, ...fields.map(({ row }) => row), make('div', { class: 'field' }, make('label', { for: 'seed' }, 'Seed of random numbers'), seed), button), answer);
}

/** Who ran, and why others did not. */
function wayOf({ label, operations, refusals }, apart) {
  return [
    make('p', { id: 'way' }, 'Run by ', make('strong', {}, label ?? 'nnex itself, not by WebNN'), label ? `, ${counted(operations, 'operation')}` : ''),
    ...(apart === undefined ? [] : [note(`WebNN takes indices and lengths outside for others, so nnex itself ran it first: it refused none, and the answers differ by ${said(apart)} at most.`)]),
    ...refusals.map((text) => make('div', { class: 'fault' }, make('strong', {}, 'Why not WebNN'), make('br'), text)),
  ];
}

/** A button that has every node timed: by nnex itself, as WebNN, whose outputs are compared, tells no times of nodes. */
function timesButton(on, feeds, outputs) {
  const times = make('div'), button = make('button', { class: 'act', type: 'button', onclick: () => working('Timing …', async () => {
    await anew(on, (model) => model.run(feeds));
    const profile = await anew(on, (model) => model.profile(feeds));
    return () => {
      times.replaceChildren(...timesOf(profile.nodes, outputs && distance(profile.outputs, outputs)));
      $('status').textContent = `${counted(ownTimes(profile.nodes).length, 'node')} timed`;
    };
  }, { at: button, clears: times }) }, 'Time every node');
  return make('div', { class: 'times' }, button, times);
}
function timesOf(times, apart) {
  const rows = ownTimes(times), total = rows.reduce((sum, { own }) => sum + own, 0) || 1, often = rows.some(({ times: n }) => n > 1), inner = times.reduce((sum, { duration }) => sum + duration, 0) > 1.001 * total;
  const listed = rows.slice(0, kMostTimes), part = listed.reduce((sum, { own }) => sum + own, 0);
  const cut = rows.length > listed.length ? `; the slowest ${listed.length} are listed, ${Math.round(100 * part / total)} % of the time` : '';
  return [make('h2', {}, 'Time by node'),
    note(`${counted(rows.length, 'node')}, ${said(total)} µs in all${cut}.${inner ? ' A node with branches or a body has its time without theirs.' : ''}`),
    ...(apart === undefined ? [] : [note(`In a run by nnex itself; its answer differs from WebNN’s by ${Number(apart.toPrecision(3))} at most.`)]),
    table(['Node', 'Operator', 'Kernel', ...(often ? ['Times'] : []), 'µs', '%', ''], listed.map((t) => [t.place, t.op, t.kernel, ...(often ? [t.times] : []),
      Number(t.own.toFixed(1)), Number((100 * t.own / total).toFixed(1)), bar(t.own / (rows[0].own || 1))]))];
}

/** Buttons that save a tensor whole, as far as its type goes into files. */
function saves(title, tensor) {
  const name = title.replace(/[^\w.[\]-]+/g, '_') || 'output', kinds = [...(npyHas(tensor.type) ? [['npy', writeNpy]] : []), ['json', writeJson]];
  const made = kinds.map(([kind, write]) => saving(`${name}.${kind}`, `.${kind}`, () => write(tensor)));
  return make('p', { class: 'saves soft' }, `${counted(tensor.data.length, 'element')}, all of them as `, ...made.flatMap((button, i) => (i ? [' ', button] : [button])));
}
/** An output: a tensor's largest elements, or its first where it has text; of what has parts each of them. */
function resultOf(title, value) {
  const head = (text) => make('h2', {}, title, ' ', make('code', {}, text));
  if (value === null) return [head('optional'), note('It has nothing.')];
  if (Array.isArray(value) || value instanceof Map) {
    const items = [...value.entries()];
    return [head(`${value instanceof Map ? 'map' : 'sequence'} of ${items.length}`), ...(items.length > kMostItems ? [note(`The first ${kMostItems} are shown.`)] : []),
      ...items.slice(0, kMostItems).flatMap(([key, item]) => resultOf(`${title}[${key}]`, item))];
  }
  if (value.values) return [head(`sparse [${value.dims.join(', ')}]`), note('The elements that it lists:'), ...resultOf(`${title}.values`, value.values)];
  const { type, dims, data } = value, at = reader(value), place = (i) => coordinates(i, dims).join(', ') || '0';
  if (!at) return [head(`[${dims.join(', ')}]`), note(`Elements of ${type} are not shown here.`)];
  if (type === 'string')
    return [head(`[${dims.join(', ')}]`), table(['Place', 'First elements'], data.slice(0, kMostItems).map((text, i) => [place(i), JSON.stringify(text)])), saves(title, value)];
  const { best, nans } = largest(at, data.length), top = Math.max(...best.map(([x]) => Math.abs(Number(x))));
  const share = (x) => (x === 0 ? 0 : x === top ? 1 : x / top);
  return [head(`[${dims.join(', ')}]`), ...(nans ? [note(`${nans.toLocaleString()} of ${data.length.toLocaleString()} elements ${nans === 1 ? 'is' : 'are'} NaN.`)] : []),
    table(['Place', data.length > best.length ? `Largest of ${data.length.toLocaleString()} elements` : 'Elements, the largest first', ''], best.map(([x, i]) => [place(i), said(x), bar(share(Math.abs(Number(x))))])),
    ...pictureOf(title, value), ...soundOf(title, value), saves(title, value)];
}
