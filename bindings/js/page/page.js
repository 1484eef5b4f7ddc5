// The page: a model that is dropped is checked, inspected, drawn, run and converted.

import { check, convert, inspect, load, outline } from './nnex/browser.js';
import { draw, kMostNodes } from './draw.js';
import { numbers, picture, sound } from './media.js';
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
const table = (head, rows) => make('table', {},
  ...(head.length ? [make('thead', {}, make('tr', {}, ...head.map((text, i) => make('th', { scope: 'col', class: typeof rows[0]?.[i] === 'number' ? 'number' : '' }, text))))] : []),
  make('tbody', {}, ...rows.map(([first, ...rest]) => make('tr', {}, make('th', { scope: 'row' }, first),
    ...rest.map((cell) => make('td', typeof cell === 'number' ? { class: 'number' } : {}, typeof cell === 'number' ? cell.toLocaleString() : cell))))));
const bytes = (n) => (n < 1024 ? `${n} bytes` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 2 ** 20).toFixed(1)} MiB`);

// ---- What is on

let source, fileName, model, webnn;  // model: loaded by nnex itself; webnn: built by WebNN, for the extents webnn.key

async function working(text, body) {
  $('error').hidden = true;
  $('status').textContent = text;
  $('progress').hidden = false;
  try {
    return await body();
  } catch (error) {
    fail(error);
  } finally {
    $('progress').hidden = true;
  }
}
function fail(error) {
  $('status').textContent = '';
  $('error').textContent = error.code ? `${error.code}: ${error.message}` : error.message;
  $('error').hidden = false;
}

async function open(files) {
  if (files.length === 0) return;
  fileName = files.length === 1 ? files[0].name : `${files.length} files`;
  $('model').hidden = true;
  await working(`Reading ${fileName} …`, async () => {
    source = files.length === 1 ? new Uint8Array(await files[0].arrayBuffer())
      : new Map(await Promise.all([...files].map(async (file) => [file.webkitRelativePath.split('/').slice(1).join('/') || file.name, new Uint8Array(await file.arrayBuffer())])));
    model?.dispose();
    webnn?.release?.();
    model = webnn = undefined;
    const named = { name: files.length === 1 ? files[0].name : 'the model' };
    const start = performance.now();
    const report = await check(source, named);
    showFaults(report);
    const about = await inspect(source, named).catch((error) => (report.sound ? Promise.reject(error) : undefined));
    if (about) showAbout(about); else $('about').replaceChildren(make('p', {}, `A model of ${report.format} with faults: it cannot be looked into.`));
    await showNetwork(named, Boolean(about));
    showRun(named, about);
    showConvert(named, about);
    $('model').hidden = false;
    select(report.sound ? 'about' : 'faults', false);
    $('status').textContent = `${fileName}: ${report.format}, ${report.sound ? 'sound' : `${report.faultCount} ${report.faultCount === 1 ? 'fault' : 'faults'}`}; looked at in ${((performance.now() - start) / 1000).toFixed(1)} s`;
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

async function showNetwork(named, possible) {
  if (!possible) return $('network').replaceChildren(make('p', {}, 'A model with such faults cannot be drawn.'));
  const network = await outline(source, named);
  const more = network.nodes.length - kMostNodes;
  $('network').replaceChildren(
    make('p', { class: 'soft' }, `${network.nodes.length} nodes${more > 0 ? `; the first ${kMostNodes} are drawn` : ''}. Tab goes from node to node.`),
    make('div', { class: 'drawing' }, draw(network)));
}

function inputField(port) {
  const id = `input-${port.name}`;
  const text = make('input', { type: 'text', id, value: 'random', 'aria-describedby': 'run-help' });
  const file = make('input', { type: 'file', accept: 'image/*,audio/*', 'aria-label': `Picture or sound for ${port.name}` });
  const shape = make('input', { type: 'text', value: (port.dims ?? []).map((extent) => (typeof extent === 'number' ? extent : 1)).join(' '), 'aria-label': `Extents of ${port.name}` });
  return {
    row: make('div', { class: 'field' }, make('label', { for: id }, port.name, ' ', make('code', {}, port.text)), text, make('span', { class: 'soft' }, 'picture or sound'), file, make('span', { class: 'soft' }, 'extents'), shape),
    async value(type) {
      const dims = shape.value.split(/[\s,x]+/).filter(Boolean).map(Number);
      const [chosen] = file.files;
      if (!chosen) return numbers(text.value, type, dims);
      return chosen.type.startsWith('audio/') ? sound(chosen, type, dims) : picture(chosen, type, dims);
    },
  };
}

function showRun(named, about) {
  if (!about) return $('run').replaceChildren(make('p', {}, 'A model with such faults cannot be run.'));
  const fields = about.inputs.map(inputField);
  const answer = make('div');
  const feedsNow = async () => Object.fromEntries(await Promise.all(about.inputs.map(async (port, i) => [port.name, await fields[i].value(port.type)])));
  const button = make('button', { class: 'act', type: 'button', onclick: () => working('Running …', async () => {
    const feeds = await feedsNow();
    await prepare(named, about.inputs, feeds);
    const run = webnn.run ?? ((given) => model.run(given));
    await run(feeds);
    const start = performance.now();
    const outputs = await run(feeds);
    const took = performance.now() - start;
    answer.replaceChildren(...wayOf(), ...resultsOf(outputs), timesButton(named, feeds, outputs));
    $('status').textContent = `A run took ${took.toFixed(1)} ms`;
  }) }, 'Run');
  $('run').replaceChildren(
    make('p', { id: 'run-help', class: 'soft' }, 'Numbers (the last is repeated), random, zeros; or a picture or a sound. Pictures are scaled to the input, sounds are taken at 16 kHz.'),
    ...fields.map(({ row }) => row), button, answer);
}

/** What runs at the extents of the feeds: WebNN, or nnex itself where WebNN has no words for the network. */
async function prepare(named, inputs, feeds) {
  const key = JSON.stringify(Object.values(feeds).map(({ dims }) => dims));
  if (webnn?.key !== key) {
    webnn?.release?.();
    webnn = { ...await openWebnn(source, named, inputs, feeds), key };
  }
  if (!webnn.run) model ??= await load(source, named);
}

/** Who ran, and why others did not. */
function wayOf() {
  const { label, operations, refusals } = webnn;
  return [
    make('p', { id: 'way' }, 'Run by ', make('strong', {}, label ?? 'nnex itself, not by WebNN'), label ? `, ${operations.toLocaleString()} operations` : ''),
    ...refusals.map((text) => make('div', { class: 'fault' }, make('strong', {}, 'Why not WebNN'), make('br'), text)),
  ];
}

/** A button that has every node timed: by nnex itself, as WebNN tells no times of nodes. */
function timesButton(named, feeds, outputs) {
  const place = make('div', { class: 'times' }, make('button', { class: 'act', type: 'button', onclick: () => working('Timing …', async () => {
    model ??= await load(source, named);
    await model.run(feeds);
    const profile = await model.profile(feeds);
    place.replaceChildren(...timesOf(profile.nodes, webnn.run && distance(profile.outputs, outputs)));
    $('status').textContent = `${profile.nodes.length} nodes were timed`;
  }) }, 'Time every node'));
  return place;
}
/** The largest difference between elements of the same outputs. */
function distance(ours, theirs) {
  let most = 0;
  for (const [name, { data }] of Object.entries(ours))
    data.forEach?.((x, i) => { most = Math.max(most, Object.is(x, theirs[name].data[i]) ? 0 : Math.abs(Number(x) - Number(theirs[name].data[i]))); });
  return most;
}

function resultsOf(outputs) {
  return Object.entries(outputs).flatMap(([name, value]) => {
    const data = value.data ? Array.from(value.data.subarray ? value.data.subarray(0, 100000) : value.data, Number) : [];
    const best = data.map((x, i) => [x, i]).sort((a, b) => b[0] - a[0]).slice(0, 5);
    const top = Math.max(1e-30, ...best.map(([x]) => Math.abs(x)));
    return [make('h2', {}, name, ' ', make('code', {}, `[${(value.dims ?? []).join(', ')}]`)),
      table(['Place', 'Largest elements', ''], best.map(([x, i]) => [String(i), String(Number(x.toPrecision(6))), bar(Math.abs(x) / top)]))];
  });
}
function bar(part) {
  const made = make('span', { class: 'bar', 'aria-hidden': 'true' });
  made.style.width = `${Math.round(100 * part)}%`;
  return made;
}
function timesOf(times, apart) {
  const rows = [...times].sort((a, b) => b.duration - a.duration).slice(0, 20);
  return [make('h2', {}, 'Time by node'),
    ...(apart === undefined ? [] : [make('p', { class: 'soft' }, `In a run by nnex itself; its answer differs from WebNN’s by ${Number(apart.toPrecision(3))} at most.`)]),
    table(['Node', 'Operator', 'Kernel', 'µs', ''], rows.map((t) => [t.place, t.op, t.kernel, Number(t.duration.toFixed(1)), bar(t.duration / rows[0].duration)]))];
}

function showConvert(named, about) {
  if (!about) return $('convert').replaceChildren(make('p', {}, 'A model with such faults cannot be converted.'));
  const to = make('select', { id: 'to' }, ...[['onnx', 'ONNX'], ['nnef', 'NNEF (archive)'], ['webnn', 'WebNN program'], ['cvm', 'CVM']].map(([value, text]) => make('option', { value }, text)));
  const symbols = about.symbols.map((symbol) => ({ symbol, input: make('input', { type: 'text', inputmode: 'numeric', value: '1', id: `symbol-${symbol}` }) }));
  const links = make('ul');
  $('convert').replaceChildren(
    make('div', { class: 'field' }, make('label', { for: 'to' }, 'To'), to,
      ...symbols.flatMap(({ symbol, input }) => [make('label', { for: input.id }, `Extent ${symbol}`), input])),
    make('button', { class: 'act', type: 'button', onclick: () => working('Converting …', async () => {
      const extents = Object.fromEntries(symbols.filter(({ input }) => input.value).map(({ symbol, input }) => [symbol, Number(input.value)]));
      const made = await convert(source, { to: to.value, packing: 'tgz', load: { ...named, symbols: extents } });
      for (const old of links.querySelectorAll('a')) URL.revokeObjectURL(old.href);
      links.replaceChildren(...[...made].map(([name, content]) => make('li', {}, make('a', { download: name, href: URL.createObjectURL(new Blob([content])) }, `${name} (${bytes(content.length)})`))));
      $('status').textContent = `Converted to ${to.selectedOptions[0].textContent}`;
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
$('files').addEventListener('change', ({ target }) => open(target.files));
for (const kind of ['dragover', 'dragleave', 'drop'])
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $('drop').classList.toggle('over', kind === 'dragover');
    if (kind === 'drop') open(event.dataTransfer.files);
  });
