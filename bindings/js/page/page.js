// The page: a model that is dropped is checked, inspected, drawn, run and converted.

import { endEngine } from './engine.js';
import { check, convert, inspect, load, outline } from './nnex/browser.js';
import { draw, kMostNodes } from './draw.js';
import { chosen, dropped, sourceOf } from './files.js';
import { extents, numbers, picture, sound } from './media.js';
import { bytes, distance, largest, reader, said } from './values.js';
import { open as openWebnn } from './webnn.js';

const $ = (id) => document.getElementById(id);
/** An element: make('p', {class: 'soft'}, 'text', child). */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
/** A number of things in words. */
const counted = (n, one) => `${n.toLocaleString()} ${one}${n === 1 ? '' : 's'}`;
const table = (head, rows) => make('table', {},
  ...(head.length ? [make('thead', {}, make('tr', {}, ...head.map((text, i) => make('th', { scope: 'col', class: typeof rows[0]?.[i] === 'number' ? 'number' : '' }, text))))] : []),
  make('tbody', {}, ...rows.map(([first, ...rest]) => make('tr', {}, make('th', { scope: 'row' }, first),
    ...rest.map((cell) => make('td', typeof cell === 'number' ? { class: 'number' } : {}, typeof cell === 'number' ? cell.toLocaleString() : cell))))));

// ---- What is on

/**
 * The model that is open: {name, source, options}, and what was made of it: `model` by nnex itself, `webnn` by WebNN, for the extents `webnn.key`. Whatever
 * belongs to a model is reached through its object, so that nothing of an earlier one is taken for its own.
 */
let opened = {};
let task; // ends what is being done, of which there is one at a time

/**
 * Does something that takes its time: `work` is given a signal that it was stopped, and gives what shows its result. Stopped work shows nothing.
 */
async function working(text, work) {
  if (task) return;
  const { signal } = (task = new AbortController()), mine = task;
  busy(true);
  $('error').hidden = true;
  $('status').textContent = text;
  try {
    const stopped = new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason)); });
    const show = await Promise.race([work(signal), stopped]);
    if (task === mine) show();
  } catch (error) {
    if (task === mine) fail(error);
  } finally {
    if (task === mine) {
      task = undefined;
      busy(false);
    }
  }
}
let before; // what had the focus when work began: Stop, which goes with it, gives the focus back
function busy(on) {
  const held = !on && $('working').contains(document.activeElement);
  if (on) before = document.activeElement;
  $('working').hidden = $('progress').hidden = !on;
  $('model').setAttribute('aria-busy', on);
  if (held) (before?.checkVisibility?.() ? before : $('files')).focus();
}
function fail(error) {
  $('status').textContent = '';
  $('error').textContent = typeof error.code === 'string' ? `${error.code}: ${error.message}` : error.message;
  $('error').hidden = false;
}
/** Ends what is being done, and with its engine what that made. */
function stop() {
  if (!task) return;
  task.abort();
  task = undefined;
  busy(false);
  $('status').textContent = 'Stopped';
  letGo();
  endEngine();
}
function letGo() {
  opened.model?.dispose();
  opened.webnn?.release?.();
  opened.model = opened.webnn = undefined;
}

/** Opens what was chosen or dropped, in place of what was open or is being opened. */
async function open(given) {
  if (!given) return;
  stop();
  letGo();
  clearConverted();
  const { name } = given, on = (opened = { name });
  $('model').hidden = true;
  await working(`Reading ${name} …`, async (signal) => {
    Object.assign(on, await sourceOf(given));
    signal.throwIfAborted();
    const { source, options } = on, start = performance.now();
    const report = await check(source, options);
    const about = await inspect(source, options).catch((error) => (report.sound ? Promise.reject(error) : undefined));
    const network = about && await outline(source, options);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    return () => {
      showFaults(report);
      if (about) showAbout(about); else $('about').replaceChildren(make('p', {}, `A model of ${report.format} with faults: it cannot be looked into.`));
      showNetwork(network);
      showRun(on, about);
      showConvert(on, about);
      $('model').hidden = false;
      select(report.sound ? 'about' : 'faults', false);
      $('status').textContent = `${name}: ${report.format}, ${report.sound ? 'sound' : counted(report.faultCount, 'fault')}; looked at in ${seconds} s`;
    };
  });
}

// ---- Views

function showAbout(i) {
  const ports = (list) => list.map((port) => [port.name, make('code', {}, port.text)]);
  $('about').replaceChildren(
    table([], [
      ['Standard', i.format], ...(i.graphName ? [['Name', i.graphName]] : []), ...(i.producer ? [['Made by', `${i.producer} ${i.producerVersion}`]] : []),
      ['Nodes', i.nodes.toLocaleString()], ['Parameters', `${i.parameters.toLocaleString()} (${bytes(i.parameterBytes)})`], ['Multiply-adds of a run', make('code', {}, String(i.multiplyAddCount?.toLocaleString() ?? i.multiplyAdds))],
    ]),
    make('h2', {}, 'Inputs'), table([], ports(i.inputs)), make('h2', {}, 'Outputs'), table([], ports(i.outputs)),
    make('h2', {}, 'Operators'), table(['Operator', 'Nodes'], i.operators.map(({ name, nodes }) => [name, nodes])));
}

function showFaults({ sound: good, faults, notes, faultCount }) {
  $('tab-faults').textContent = faultCount ? `Faults (${faultCount})` : 'Faults';
  $('faults').replaceChildren(
    ...(good ? [make('p', {}, 'No fault was found.')] : []),
    ...[...faults, ...notes].map((f) => make('div', { class: `fault ${f.severity}` }, make('strong', {}, f.severity), ' ', make('code', {}, f.where), make('br'), f.message)));
}

function showNetwork(network) {
  if (!network) return $('network').replaceChildren(make('p', {}, 'A model with such faults cannot be drawn.'));
  const more = network.nodes.length - kMostNodes;
  $('network').replaceChildren(
    make('p', { class: 'soft' }, `${counted(network.nodes.length, 'node')}${more > 0 ? `; the first ${kMostNodes} are drawn, and the outputs that they give` : ''}. Tab goes from node to node.`),
    make('div', { class: 'drawing' }, draw(network)));
}

/** What fills an input: the text or the file, whichever was given last. */
function inputField(port, place) {
  const id = `input-${port.name}`, noteId = `given-${place}`;
  const text = make('input', { type: 'text', id, value: 'random', 'aria-describedby': `run-help ${noteId}` });
  const file = make('input', { type: 'file', accept: 'image/*,audio/*', 'aria-label': `Picture or sound for ${port.name}` });
  const shape = make('input', { type: 'text', value: (port.dims ?? []).map((extent) => (typeof extent === 'number' ? extent : 1)).join(' '), 'aria-label': `Extents of ${port.name}` });
  const has = make('span', { class: 'soft', id: noteId, role: 'status' });
  let given; // the file, where that is what counts
  const say = () => { has.textContent = given ? 'picture or sound: taken, instead of the numbers' : 'picture or sound'; };
  file.addEventListener('change', () => {
    [given] = file.files;
    say();
  });
  text.addEventListener('input', () => {
    given = undefined;
    file.value = ''; // so that the same file can be chosen once more
    say();
  });
  say();
  return {
    row: make('div', { class: 'field' }, make('label', { for: id }, port.name, ' ', make('code', {}, port.text)), text, has, file,
      make('span', { class: 'soft' }, 'extents'), shape),
    async value() {
      try {
        if (port.valueType.kind !== 'tensor') throw new Error(`found ${port.text}; this page fills tensors alone`);
        const dims = extents(shape.value);
        if (!given) return numbers(text.value, port.type, dims);
        return await (given.type.startsWith('audio/') ? sound : picture)(given, port.type, dims);
      } catch (error) {
        throw new Error(`input '${port.name}': ${error.message}`);
      }
    },
  };
}

function showRun(on, about) {
  if (!about) return $('run').replaceChildren(make('p', {}, 'A model with such faults cannot be run.'));
  const fields = about.inputs.map(inputField);
  const answer = make('div');
  const feedsNow = async () => Object.fromEntries(await Promise.all(about.inputs.map(async ({ name }, i) => [name, await fields[i].value()])));
  const button = make('button', { class: 'act', type: 'button', onclick: () => working('Running …', async (signal) => {
    const feeds = await feedsNow();
    const run = await prepare(on, about.inputs, feeds, signal);
    await run(feeds);
    const start = performance.now();
    const outputs = await run(feeds);
    const took = performance.now() - start;
    return () => {
      const results = Object.entries(outputs).flatMap(([name, value]) => resultOf(name, value));
      answer.replaceChildren(...wayOf(on.webnn), ...results, timesButton(on, feeds, on.webnn.run && outputs));
      $('status').textContent = `A run took ${took.toFixed(1)} ms`;
    };
  }) }, 'Run');
  $('run').replaceChildren(
    make('p', { id: 'run-help', class: 'soft' }, 'Numbers (the last is repeated), random, zeros; or a picture or a sound. '
      + 'Pictures are scaled to the input, and fill each place of a batch; sounds are taken at 16 kHz.'),
    ...(about.states.length ? [make('p', { class: 'soft' }, 'Every run begins with the first content of what the model keeps from run to run.')] : []),
    ...fields.map(({ row }) => row), button, answer);
}

/** What runs at the extents of the feeds: WebNN, or nnex itself where WebNN has no words for the network. */
async function prepare(on, inputs, feeds, signal) {
  signal.throwIfAborted();
  const key = JSON.stringify(Object.values(feeds).map(({ dims }) => dims));
  if (on.webnn?.key !== key) {
    on.webnn?.release?.();
    on.webnn = undefined;
    on.webnn = { ...await openWebnn(on, inputs, feeds, signal), key };
  }
  if (on.webnn.run) return on.webnn.run;
  return (given) => anew(on, (model) => model.run(given));
}

/** What nnex itself does with the model, whose states have their first content again. */
async function anew(on, act) {
  const model = (on.model ??= await load(on.source, on.options));
  if (model.states.length > 0) await model.resetStates();
  return act(model);
}

/** Who ran, and why others did not. */
function wayOf({ label, operations, refusals }) {
  return [
    make('p', { id: 'way' }, 'Run by ', make('strong', {}, label ?? 'nnex itself, not by WebNN'), label ? `, ${counted(operations, 'operation')}` : ''),
    ...refusals.map((text) => make('div', { class: 'fault' }, make('strong', {}, 'Why not WebNN'), make('br'), text)),
  ];
}

/** A button that has every node timed: by nnex itself, as WebNN, whose outputs are compared, tells no times of nodes. */
function timesButton(on, feeds, outputs) {
  const place = make('div', { class: 'times' }, make('button', { class: 'act', type: 'button', onclick: () => working('Timing …', async () => {
    await anew(on, (model) => model.run(feeds));
    const profile = await anew(on, (model) => model.profile(feeds));
    return () => {
      const held = place.contains(document.activeElement);
      place.replaceChildren(...timesOf(profile.nodes, outputs && distance(profile.outputs, outputs)));
      if (held) place.firstElementChild.focus(); // in place of the button, which is gone
      $('status').textContent = `${counted(profile.nodes.length, 'node')} timed`;
    };
  }) }, 'Time every node'));
  return place;
}

/** Of sequences and maps so many are shown. */
const kMostItems = 20;
/** An output: a tensor's largest elements, or its first where it has text; of what has parts each of them. */
function resultOf(title, value) {
  const head = (text) => make('h2', {}, title, ' ', make('code', {}, text)), note = (text) => make('p', { class: 'soft' }, text);
  if (value === null) return [head('optional'), note('It has nothing.')];
  if (Array.isArray(value) || value instanceof Map) {
    const items = [...value.entries()];
    return [head(`${value instanceof Map ? 'map' : 'sequence'} of ${items.length}`), ...(items.length > kMostItems ? [note(`The first ${kMostItems} are shown.`)] : []),
      ...items.slice(0, kMostItems).flatMap(([key, item]) => resultOf(`${title}[${key}]`, item))];
  }
  if (value.values) return [head(`sparse [${value.dims.join(', ')}]`), note('The elements that it lists:'), ...resultOf(`${title}.values`, value.values)];
  const { type, dims, data } = value, at = reader(value);
  if (!at) return [head(`[${dims.join(', ')}]`), note(`Elements of ${type} are not shown here.`)];
  if (type === 'string')
    return [head(`[${dims.join(', ')}]`), table(['Place', 'First elements'], data.slice(0, kMostItems).map((text, i) => [String(i), JSON.stringify(text)]))];
  const { best, nans } = largest(at, data.length), top = Math.max(...best.map(([x]) => Math.abs(Number(x))));
  const share = (x) => (x === 0 ? 0 : x === top ? 1 : x / top);
  return [head(`[${dims.join(', ')}]`), ...(nans ? [note(`${nans.toLocaleString()} of ${data.length.toLocaleString()} elements ${nans === 1 ? 'is' : 'are'} NaN.`)] : []),
    table(['Place', 'Largest elements', ''], best.map(([x, i]) => [String(i), said(x), bar(share(Math.abs(Number(x))))]))];
}
function bar(part) {
  const made = make('span', { class: 'bar', 'aria-hidden': 'true' });
  made.style.width = `${Math.round(100 * part)}%`;
  return made;
}
function timesOf(times, apart) {
  const rows = [...times].sort((a, b) => b.duration - a.duration).slice(0, 20);
  return [make('h2', { tabindex: -1 }, 'Time by node'),
    ...(apart === undefined ? [] : [make('p', { class: 'soft' }, `In a run by nnex itself; its answer differs from WebNN’s by ${Number(apart.toPrecision(3))} at most.`)]),
    table(['Node', 'Operator', 'Kernel', 'µs', ''], rows.map((t) => [t.place, t.op, t.kernel, Number(t.duration.toFixed(1)), bar(t.duration / (rows[0].duration || 1))]))];
}

/** Of a type, without which browsers take what it looks like and name the file so: symbol.txt. */
const addressOf = (content) => URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));
/** Lets the files of a conversion go. */
function clearConverted() {
  for (const { href } of document.querySelectorAll('#converted a')) URL.revokeObjectURL(href);
  $('converted')?.replaceChildren();
}
function showConvert(on, about) {
  if (!about) return $('convert').replaceChildren(make('p', {}, 'A model with such faults cannot be converted.'));
  const to = make('select', { id: 'to' }, ...[['onnx', 'ONNX'], ['nnef', 'NNEF (archive)'], ['webnn', 'WebNN program'], ['cvm', 'CVM']].map(([value, text]) => make('option', { value }, text)));
  const symbols = about.symbols.map((symbol) => ({ symbol, input: make('input', { type: 'text', inputmode: 'numeric', value: '1', id: `symbol-${symbol}` }) }));
  const links = make('ul', { id: 'converted' });
  const extentOf = ({ symbol, input }) => {
    if (!/^\d+$/.test(input.value.trim())) throw new Error(`extent ${symbol}: found '${input.value}'; needed a whole number from 0 on, or nothing`);
    return [symbol, Number(input.value)];
  };
  $('convert').replaceChildren(
    ...(symbols.length ? [make('p', { class: 'soft' }, 'An extent that is left empty stays open from ONNX to ONNX; the other standards need it.')] : []),
    make('div', { class: 'field' }, make('label', { for: 'to' }, 'To'), to,
      ...symbols.flatMap(({ symbol, input }) => [make('label', { for: input.id }, `Extent ${symbol}`), input])),
    make('button', { class: 'act', type: 'button', onclick: () => working('Converting …', async () => {
      clearConverted();
      const fixed = Object.fromEntries(symbols.filter(({ input }) => input.value.trim()).map(extentOf)), [{ textContent: standard }] = to.selectedOptions;
      const made = await convert(on.source, { to: to.value, packing: 'tgz', load: { ...on.options, symbols: fixed } });
      return () => {
        links.replaceChildren(...[...made].map(([name, content]) => make('li', {}, make('a', { download: name, href: addressOf(content) }, `${name} (${bytes(content.length)})`))));
        $('status').textContent = `Converted to ${standard}`;
      };
    }) }, 'Convert'), links);
}

// ---- Tabs, files

const tabs = [...document.querySelectorAll('[role=tab]')];
function select(panel, focus = true) {
  for (const tab of tabs) {
    const chosen = tab.getAttribute('aria-controls') === panel;
    tab.setAttribute('aria-selected', chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.getAttribute('aria-controls')).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
}
for (const [i, tab] of tabs.entries()) {
  tab.addEventListener('click', () => select(tab.getAttribute('aria-controls')));
  tab.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step) select(tabs[(i + step + tabs.length) % tabs.length].getAttribute('aria-controls'));
  });
}
for (const id of ['files', 'folder'])
  $(id).addEventListener('change', ({ target }) => {
    open(chosen(target));
    target.value = ''; // so that the same file can be chosen once more
  });
$('stop').addEventListener('click', stop);
/** Whether a drag is for what it is over: files for a field of files, text for any. */
const others = ({ target, dataTransfer }) => !dataTransfer.types.includes('Files') || (target instanceof Element && target.matches('input[type=file]'));
for (const kind of ['dragover', 'dragleave', 'drop'])
  document.addEventListener(kind, (event) => {
    if (others(event)) return $('drop').classList.remove('over');
    event.preventDefault();
    $('drop').classList.toggle('over', kind === 'dragover');
    if (kind === 'drop') open(dropped(event.dataTransfer));
  });
