// The page: a model that is dropped is checked, inspected, drawn, run and converted.

import { endEngine } from './engine.js';
import { check, inspect, outline } from './nnex/browser.js';
import { clearConverted, showConvert } from './convert.js';
import { $, counted, make, note, table } from './dom.js';
import { chosen, dropped, filesOf, sourceOf } from './files.js';
import { letGo } from './model.js';
import { showNetwork } from './network.js';
import { showRun } from './run.js';
import { bytes } from './values.js';
import { endWork, goHome, inPage, working } from './work.js';

/** The model that is open (model.js). */
let opened = {};

/** Ends what is being done, and with its engine what that made. */
function stop() {
  if (!endWork()) return;
  letGo(opened);
  endEngine();
}

/** Opens what was chosen or dropped, in place of what was open or is being opened. `which`: one of several models in it. */
async function open(given, which) {
  if (!given) return;
  stop();
  letGo(opened);
  clearConverted();
  goHome();
  const { name } = given, on = (opened = { name });
  const held = $('model').contains(document.activeElement);
  if (held) $('files').focus(); // what had the focus goes
  $('model').hidden = true;
  if (!which) $('which').replaceChildren();
  await working(`Reading ${name} …`, async (signal) => {
    const found = await filesOf(given);
    signal.throwIfAborted();
    if (!which) showModels(given, found.models);
    Object.assign(on, sourceOf(found, which));
    const { source, options } = on, start = performance.now();
    const report = await check(source, options), unless = (error) => (report.sound ? Promise.reject(error) : undefined); // a faulty one as far as it can be read
    const about = await inspect(source, options).catch(unless), network = await outline(source, options).catch(unless);
    const seconds = ((performance.now() - start) / 1000).toFixed(1), called = which ?? (found.models.length > 1 ? found.models[0] : name);
    return () => {
      showFaults(report);
      if (about) showAbout(about);
      else $('about').replaceChildren(make('p', {}, network?.nodes.length ? `A model of ${report.format} whose faults forbid more than to draw what can be read of it: ${counted(network.nodes.length, 'node')}.`
        : `It was taken for ${report.format}, ${report.format === 'ONNX' ? 'as files are whose beginning no other standard knows, ' : ''}and cannot be looked into.`));
      showNetwork(network, about, report.faults);
      showRun(on, about);
      showConvert(on, about);
      $('model').hidden = false;
      select(report.sound ? 'about' : 'faults', held);
      $('status').textContent = `${called}: ${about || network?.nodes.length ? '' : 'taken for '}${report.format}, ${report.sound ? 'sound' : counted(report.faultCount, 'fault')}; looked at in ${seconds} s`;
    };
  });
}

/** Of several models one is open: the others are chosen by name. */
function showModels(given, models) {
  if (models.length < 2) return;
  const field = make('select', { id: 'one', onchange: () => open(given, field.value) }, ...models.map((path) => make('option', { value: path }, path)));
  $('which').replaceChildren(make('div', { class: 'field' }, make('label', { for: 'one' }, `One of ${models.length} models`), field));
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
  $('tab-faults').textContent = faultCount ? `Faults (${faultCount.toLocaleString()})` : 'Faults';
  $('faults').replaceChildren(
    ...(good ? [make('p', {}, 'No fault was found.')] : []),
    ...(faultCount > faults.length ? [note(`The first ${faults.length.toLocaleString()} of ${faultCount.toLocaleString()} are listed.`)] : []),
    ...[...faults, ...notes].map((f) => make('div', { class: `fault ${f.severity}` }, make('strong', {}, f.severity), ' ', make('code', {}, f.where), ...(f.rule ? [' ', make('span', { class: 'soft' }, f.rule)] : []), make('br'), inPage(f.message))));
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
    if (chosen) $(panel).onshown?.();
  }
}
for (const [i, tab] of tabs.entries()) {
  tab.addEventListener('click', () => select(tab.getAttribute('aria-controls')));
  tab.addEventListener('keydown', (event) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(tabs.at(to % tabs.length).getAttribute('aria-controls'));
  });
}
for (const id of ['files', 'folder'])
  $(id).addEventListener('change', ({ target }) => {
    open(chosen(target));
    target.value = ''; // so that the same file can be chosen once more
  });
$('stop').addEventListener('click', stop);
document.addEventListener('keydown', ({ key }) => { if (key === 'Escape') stop(); });
/** Whether a drag is for what it is over: text for any field. */
const others = ({ dataTransfer }) => !dataTransfer.types.includes('Files');
for (const kind of ['dragover', 'dragleave', 'drop'])
  document.addEventListener(kind, (event) => {
    if (others(event)) return $('drop').classList.remove('over');
    event.preventDefault();
    $('drop').classList.toggle('over', kind === 'dragover');
    if (kind === 'drop') open(dropped(event.dataTransfer));
  });
