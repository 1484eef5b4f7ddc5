'use strict';
// Everything that a model holds is shown as text nodes; nothing of it is ever parsed as markup.
const data = JSON.parse(document.getElementById('data').textContent);
const main = document.querySelector('main');
const about = document.querySelector('aside');
const search = document.querySelector('input[type=search]');
const found = document.getElementById('found');
const svg = main.querySelector('svg');
const world = svg.querySelector('g');

const make = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return made;
};
const round = (x) => (x === null ? 'none' : Number(x.toPrecision(5)).toString());

// ---- What is drawn: one of several variants, and where its elements are

const templates = [...document.querySelectorAll('template')];
let variant = 0, size = [1, 1], scale = 1, left = 0, top_ = 0;
let elements = new Map(), wires = new Map();
const shown = (key) => elements.get(key) ?? elements.get(standIn(key));

/** A node in a copy that is folded away has a brother in the copy that is drawn. */
const place = new Map();
data.repeats.forEach(({ nodes, period }, repeat) => nodes.forEach((n, i) => place.set(`n${n}`, { repeat, offset: i % period, copy: Math.floor(i / period) })));
function standIn(key) {
  const at = place.get(key);
  return at && data.variants[variant].folded[at.repeat] ? `n${data.repeats[at.repeat].nodes[at.offset]}` : key;
}

function keyOf(element) {
  const { n, in: input, out } = element.dataset;
  return n !== undefined ? `n${n}` : input !== undefined ? `i${input}` : `o${out}`;
}

function show(next) {
  variant = next;
  world.replaceChildren(...templates[next].content.cloneNode(true).firstElementChild.childNodes);
  size = data.variants[next].size;
  elements = new Map();
  wires = new Map();
  enlarged = -1;
  for (const element of world.querySelectorAll('.op, .end')) {
    elements.set(keyOf(element), element);
    element.setAttribute('role', 'button');
    element.setAttribute('tabindex', '-1');
    element.setAttribute('aria-label', element.querySelector('title').textContent);
  }
  for (const band of world.querySelectorAll('.fold')) {
    band.setAttribute('role', 'button');
    band.setAttribute('tabindex', '0');
    band.setAttribute('aria-label', `${band.dataset.copies} equal parts, one of them drawn: show all`);
  }
  for (const wire of world.querySelectorAll('[data-v]')) {
    if (!wires.has(wire.dataset.v)) wires.set(wire.dataset.v, []);
    wires.get(wire.dataset.v).push(wire);
  }
  elements.values().next().value?.setAttribute('tabindex', '0');
  for (const box of document.querySelectorAll('[data-fold]')) box.checked = data.variants[next].folded[box.dataset.fold];
  look();
  fit();
}

function fold(repeat, folded) {
  const wanted = data.variants[variant].folded.map((is, i) => (i === repeat ? folded : is));
  const same = (a, b) => a.every((is, i) => is === b[i]);
  // Where not every combination was drawn, the others are folded.
  let next = data.variants.findIndex((v) => same(v.folded, wanted));
  if (next < 0) next = data.variants.findIndex((v) => same(v.folded, wanted.map((_, i) => (i === repeat ? folded : true))));
  show(Math.max(next, 0));
  if (picked) pick(picked, false);
}

// ---- Pan and zoom

/** From afar an operator's name takes its whole box, and the rest of its text is left out: so it can be read. */
function enlarge() {
  for (const op of world.querySelectorAll('.op')) {
    const head = op.querySelector('.head'), title = op.querySelector('.title');
    if (!head || !title) continue;
    const { width, height } = head.getBBox(), tall = Math.max(op.getBBox().height, height), letters = title.getBBox();
    op.style.setProperty('--tall', tall / height);
    op.style.setProperty('--large', Math.max(1, Math.min(3, (tall - 5) / letters.height, (width - 10) / letters.width)));
  }
}
const kFar = 0.5;
let enlarged = -1;
function move() {
  world.setAttribute('transform', `translate(${left} ${top_}) scale(${scale})`);
  const far = scale < kFar;
  if (far && enlarged !== variant) {
    enlarge();
    enlarged = variant;
  }
  world.classList.toggle('afar', far);
}
function fit() {
  const { clientWidth: w, clientHeight: h } = main;
  scale = Math.min(w / (size[0] + 32), h / (size[1] + 32), 1.6);
  left = (w - size[0] * scale) / 2;
  top_ = (h - size[1] * scale) / 2;
  move();
}
function zoom(by, x = main.clientWidth / 2, y = main.clientHeight / 2) {
  const next = Math.min(Math.max(scale * by, 0.002), 8), change = next / scale;
  left = x - (x - left) * change;
  top_ = y - (y - top_) * change;
  scale = next;
  move();
}
function reveal(element) {
  const box = element.getBoundingClientRect(), frame = main.getBoundingClientRect();
  if (box.width < 40) zoom(Math.min(110 / Math.max(box.width, 1), 60));
  const now = element.getBoundingClientRect();
  const inside = now.left >= frame.left && now.right <= frame.right && now.top >= frame.top && now.bottom <= frame.bottom;
  if (inside) return;
  left += frame.left + frame.width / 2 - (now.left + now.right) / 2;
  top_ += frame.top + frame.height / 2 - (now.top + now.bottom) / 2;
  move();
}

const pointers = new Map();
let dragged = 0;
main.addEventListener('pointerdown', (event) => {
  pointers.set(event.pointerId, event);
  if (pointers.size === 1) dragged = 0;
});
main.addEventListener('pointermove', (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const frame = main.getBoundingClientRect();
  if (pointers.size === 1) {
    dragged += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    if (dragged > 4) {
      main.classList.add('moving');
      left += event.clientX - before.clientX;
      top_ += event.clientY - before.clientY;
      move();
    }
  } else {
    const other = [...pointers.values()].find(({ pointerId }) => pointerId !== event.pointerId);
    const distance = (e) => Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY) || 1;
    dragged = 5;
    zoom(distance(event) / distance(before), (event.clientX + other.clientX) / 2 - frame.left, (event.clientY + other.clientY) / 2 - frame.top);
  }
  pointers.set(event.pointerId, event);
});
for (const name of ['pointerup', 'pointercancel']) addEventListener(name, (event) => {
  pointers.delete(event.pointerId);
  if (pointers.size === 0) main.classList.remove('moving');
});
main.addEventListener('wheel', (event) => {
  event.preventDefault();
  const frame = main.getBoundingClientRect();
  const lines = event.deltaMode === 1 ? 30 : 1;
  zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002)), event.clientX - frame.left, event.clientY - frame.top);
}, { passive: false });
main.addEventListener('click', (event) => {
  if (dragged > 4) return;
  const band = event.target.closest('.fold'), element = event.target.closest('.op, .end');
  if (band) fold(Number(band.dataset.r), false);
  else if (element) pick(keyOf(element));
  else pick(null);
});

// ---- What is known of nodes and values

const value = (id) => data.values[id] ?? { name: '', type: '' };
const nameOf = (id) => value(id).name || `value ${id}`;
const makerKey = (id) => (value(id).node !== undefined ? `n${value(id).node}` : `i${id}`);
const readersOf = (id) => [...(value(id).readers ?? []).map((n) => `n${n}`), ...(data.outputs.includes(id) ? [`o${id}`] : [])];
const titleOf = (key) => (key[0] === 'n' ? `${data.nodes[key.slice(1)].title} ${data.nodes[key.slice(1)].name}` : `${key[0] === 'i' ? 'input' : 'output'} ${nameOf(Number(key.slice(1)))}`);
const pickable = (key) => key !== null && shown(key) !== undefined;

function upward(key) {
  if (key[0] === 'i') return [];
  if (key[0] === 'o') return [makerKey(Number(key.slice(1)))];
  return data.nodes[key.slice(1)].inputs.filter(([, id]) => id >= 0 && !value(id).weight).map(([, id]) => makerKey(id));
}
function downward(key) {
  if (key[0] === 'o') return [];
  const made = key[0] === 'i' ? [Number(key.slice(1))] : data.nodes[key.slice(1)].outputs.filter((id) => id >= 0);
  return made.flatMap(readersOf);
}

const rows = (...pairs) => make('dl', {}, ...pairs.filter(([, text]) => text !== '' && text !== undefined && text !== null)
  .flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, text)]));
const link = (key, text = titleOf(key)) => make('button', { class: 'link', type: 'button', onclick: () => pick(key) }, text);
const time = (us) => (us >= 1e6 ? `${round(us / 1e6)} s` : us >= 1e3 ? `${round(us / 1e3)} ms` : `${round(us)} µs`);

function faultText({ severity, where, message, during }) {
  return make('li', { class: severity === 'error' ? 'bad' : '' }, `${severity}: ${where ? `${where}: ` : ''}${message}${during.map((task) => `, while ${task}`).join('')}`);
}

function histogram(w) {
  const most = Math.max(...w.bars, 1), ns = 'http://www.w3.org/2000/svg';
  const picture = document.createElementNS(ns, 'svg');
  for (const [key, text] of Object.entries({ class: 'bars', viewBox: `0 0 ${w.bars.length * 10} 64`, preserveAspectRatio: 'none', role: 'img' })) picture.setAttribute(key, text);
  picture.setAttribute('aria-label', `Histogram of ${w.looked} elements from ${round(w.low)} to ${round(w.high)}`);
  w.bars.forEach((n, i) => {
    const bar = document.createElementNS(ns, 'rect'), height = n === 0 ? 0 : Math.max(1, (62 * n) / most);
    for (const [key, text] of Object.entries({ x: i * 10 + 1, y: 64 - height, width: 8, height })) bar.setAttribute(key, text);
    picture.append(bar);
  });
  return make('div', {}, picture, make('div', { class: 'range' }, make('span', {}, round(w.low)), make('span', {}, round(w.high))));
}

function weightText(id) {
  const { name, type, text, weight: w } = value(id);
  const parts = [make('div', {}, name ? `${name}: ` : '', type)];
  if (text) parts.push(rows(['value', text]));
  if (w && w.finite > 0 && w.count > 1) {
    const part = w.looked < w.count ? `${w.looked} of ${w.count} elements looked at` : `${w.count} elements`;
    parts.push(histogram(w), rows(['of', part], ['mean', round(w.mean)], ['deviation', round(w.deviation)],
      ['zeros', `${w.zeros} (${round((100 * w.zeros) / w.looked)} %)`], ['not finite', w.looked > w.finite ? String(w.looked - w.finite) : '']));
  }
  return make('div', {}, ...parts);
}

function nodePanel(n) {
  const node = data.nodes[n], at = place.get(`n${n}`);
  const list = (pairs) => make('ul', {}, ...pairs.map(([port, id]) => make('li', {}, `${port}: `, id < 0 ? 'absent'
    : value(id).weight ? weightText(id) : make('span', {}, link(makerKey(id), nameOf(id)), ` ${value(id).type}`))));
  const results = make('ul', {}, ...node.outputs.filter((id) => id >= 0).map((id) => make('li', {}, `${nameOf(id)} ${value(id).type}`,
    make('ul', {}, ...readersOf(id).map((key) => make('li', {}, link(key)))))));
  const parts = [make('h2', {}, `${node.title} ${node.name}`)];
  if (at) {
    const { nodes, period } = data.repeats[at.repeat];
    const choice = make('select', { 'aria-label': 'Copy', onchange: ({ target }) => pick(`n${nodes[Number(target.value) * period + at.offset]}`) },
      ...Array.from({ length: nodes.length / period }, (_, i) => make('option', { value: i, ...(i === at.copy ? { selected: '' } : {}) }, `copy ${i + 1}`)));
    parts.push(make('p', {}, choice, ` of ${nodes.length / period} equal parts`));
  }
  parts.push(rows(['operator', `${node.domain ? `${node.domain} ` : ''}${node.op}`], ['location', node.location],
    ['time', node.us === undefined ? '' : `${time(node.us)}${data.total ? `, ${round((100 * node.us) / data.total)} %` : ''}`], ['ran with', node.together]));
  if (node.faults.length) parts.push(make('h2', {}, 'Faults'), make('ul', {}, ...node.faults.map((f) => faultText(data.faults[f]))));
  if (node.attributes.length) parts.push(make('h2', {}, 'Attributes'), rows(...node.attributes));
  if (node.inputs.length) parts.push(make('h2', {}, 'Inputs'), list(node.inputs));
  parts.push(make('h2', {}, 'Outputs'), results);
  return parts;
}

function endPanel(key) {
  const id = Number(key.slice(1)), near = key[0] === 'i' ? readersOf(id) : [makerKey(id)];
  return [make('h2', {}, titleOf(key)), rows(['type', value(id).type]), make('h2', {}, key[0] === 'i' ? 'Read by' : 'Made by'),
    make('ul', {}, ...near.map((other) => make('li', {}, link(other))))];
}

function modelPanel() {
  const counts = new Map();
  for (const { title, category } of Object.values(data.nodes)) counts.set(title, { n: (counts.get(title)?.n ?? 0) + 1, category });
  const named = (ids) => make('ul', {}, ...ids.map((id) => make('li', {}, `${nameOf(id)} ${value(id).type}`)));
  const parts = [make('h2', {}, data.title), rows(...data.about), make('h2', {}, 'Inputs'), named(data.inputs), make('h2', {}, 'Outputs'), named(data.outputs)];
  if (data.faults.length) parts.push(make('h2', {}, `Faults (${data.faults.length})`), make('ul', {}, ...data.faults.map((fault) => {
    const item = faultText(fault);
    if (fault.at && pickable(fault.at)) item.append(' ', link(fault.at, 'show'));
    return item;
  })));
  if (data.notes.length) parts.push(make('h2', {}, 'Notes'), make('ul', {}, ...data.notes.map((note) => make('li', {}, note))));
  const slow = Object.entries(data.nodes).filter(([, { us }]) => us !== undefined).sort(([, a], [, b]) => b.us - a.us).slice(0, 12);
  if (slow.length) parts.push(make('h2', {}, `Time (${time(data.total)} in all)`), make('ul', {}, ...slow.map(([n, { us }]) => make('li', {}, link(`n${n}`), ` ${time(us)}`))));
  parts.push(make('h2', {}, 'Operators'), make('ul', { style: 'list-style:none;padding:0' }, ...[...counts].sort((a, b) => b[1].n - a[1].n).map(([name, { n, category }]) =>
    make('li', {}, make('span', { class: 'key', style: `background:var(--c${category})` }), `${n} `, make('button', { class: 'link', type: 'button', onclick: () => { search.value = name; look(); } }, name)))));
  parts.push(make('h2', {}, 'Colours'), make('ul', { style: 'list-style:none;padding:0' }, ...data.categories.map((text, i) => make('li', {}, make('span', { class: 'key', style: `background:var(--c${i})` }), text))));
  parts.push(make('h2', {}, 'Keys'), rows(['/', 'search; Enter: next'], ['arrows', 'along edges, to neighbours'], ['+ − 0', 'nearer, farther, whole'], ['Esc', 'back']));
  return parts;
}

let picked = null;
function pick(key, seek = true) {
  picked = key;
  for (const element of world.querySelectorAll('.picked, .near')) element.classList.remove('picked', 'near');
  about.replaceChildren(...(key === null ? modelPanel() : key[0] === 'n' ? nodePanel(key.slice(1)) : endPanel(key)));
  about.scrollTop = 0;
  const element = key === null ? null : shown(key);
  if (!element) return;
  element.classList.add('picked');
  for (const other of world.querySelectorAll('[tabindex="0"]:not(.fold)')) other.setAttribute('tabindex', '-1');
  element.setAttribute('tabindex', '0');
  const drawn = standIn(key);
  const near = drawn[0] === 'n' ? [...data.nodes[drawn.slice(1)].inputs.map(([, id]) => id), ...data.nodes[drawn.slice(1)].outputs] : [Number(drawn.slice(1))];
  for (const id of near) for (const wire of wires.get(String(id)) ?? []) wire.classList.add('near');
  if (seek) {
    element.focus({ preventScroll: true });
    reveal(element);
  }
}

// ---- Search

let hits = [], hit = -1;
function textOf(key) {
  if (key[0] !== 'n') return titleOf(key).concat(' ', value(Number(key.slice(1))).type).toLowerCase();
  const { title, name, op, domain, inputs, outputs } = data.nodes[key.slice(1)];
  const types = [...inputs.map(([, id]) => id), ...outputs].filter((id) => id >= 0).map((id) => `${value(id).name} ${value(id).type}`);
  return [title, name, op, domain, ...types].join(' ').toLowerCase();
}
const keys = [...data.inputs.map((id) => `i${id}`), ...Object.keys(data.nodes).map((n) => `n${n}`), ...data.outputs.map((id) => `o${id}`)];
const texts = new Map();
function look() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits = words.length === 0 ? [] : keys.filter((key) => {
    if (!texts.has(key)) texts.set(key, textOf(key));
    return words.every((word) => texts.get(key).includes(word));
  });
  hit = -1;
  world.classList.toggle('searching', words.length > 0);
  for (const element of world.querySelectorAll('.hit')) element.classList.remove('hit');
  for (const key of hits) shown(key)?.classList.add('hit');
  found.textContent = words.length === 0 ? '' : hits.length === 1 ? '1 found' : `${hits.length} found`;
}
function nextHit(by) {
  if (hits.length === 0) return;
  hit = (hit + by + hits.length) % hits.length;
  pick(hits[hit], false);
  if (shown(hits[hit])) reveal(shown(hits[hit]));
  found.textContent = `${hit + 1} of ${hits.length}`;
}
search.addEventListener('input', look);
search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') nextHit(event.shiftKey || (hit < 0 && event.shiftKey) ? -1 : 1);
});

// ---- Keys

function beside(key, direction) {
  const own = shown(key).getBoundingClientRect(), middle = (own.top + own.bottom) / 2, x = (own.left + own.right) / 2;
  let best = null, least = Infinity;
  for (const [other, element] of elements) {
    const box = element.getBoundingClientRect(), dx = ((box.left + box.right) / 2 - x) * direction;
    const dy = Math.abs((box.top + box.bottom) / 2 - middle);
    if (dx > 1 && dx + 4 * dy < least) [best, least] = [other, dx + 4 * dy];
  }
  return best;
}
function arrow(name) {
  if (picked === null || !shown(picked)) return pick(elements.keys().next().value ?? null);
  const key = picked;
  const next = name === 'ArrowUp' ? upward(key).find(pickable) : name === 'ArrowDown' ? downward(key).find(pickable) : beside(key, name === 'ArrowRight' ? 1 : -1);
  if (next) pick(next);
  return undefined;
}
addEventListener('keydown', (event) => {
  const typing = event.target.closest('input, select');
  if (event.key === 'Escape') {
    if (search.value) {
      search.value = '';
      look();
    } else pick(null);
    search.blur();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const band = event.target.closest('.fold'), element = event.target.closest('.op, .end');
  if (event.key === '/') search.focus();
  else if (event.key.startsWith('Arrow') && !event.target.closest('aside')) arrow(event.key);
  else if (event.key === '+' || event.key === '=') zoom(1.25);
  else if (event.key === '-') zoom(0.8);
  else if (event.key === '0') fit();
  else if ((event.key === 'Enter' || event.key === ' ') && band) fold(Number(band.dataset.r), false);
  else if ((event.key === 'Enter' || event.key === ' ') && element) pick(keyOf(element));
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll('[data-zoom]')) button.addEventListener('click', () => (button.dataset.zoom === '0' ? fit() : zoom(Number(button.dataset.zoom))));
for (const box of document.querySelectorAll('[data-fold]')) box.addEventListener('change', () => fold(Number(box.dataset.fold), box.checked));
for (const name of ['resize', 'beforeprint', 'afterprint']) addEventListener(name, fit);

show(0);
pick(null);
