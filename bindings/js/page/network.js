// The panel of the drawing: zoomed, searched, walked through by arrows along the edges; what is chosen is told of beside it.
import { $, counted, make, note, table } from './dom.js';
import { draw, kMostNodes } from './draw.js';

const kSteps = 1.25, kSmallest = 0.01, kLargest = 3;
/**
 * The nodes whose operator, location or values have a text in them, those inside of branches and bodies too: {place, way}, where the way leads into blocks, {place, block}
 * each.
 */
export function matches({ nodes }, text, way = []) {
  const wanted = text.trim().toLowerCase();
  const has = (word) => word?.toLowerCase().includes(wanted);
  return wanted === '' ? [] : nodes.flatMap(({ op, location, inputs, outputs, blocks = [] }, place) => [
    ...(has(op) || has(location) || [...inputs, ...outputs].some(({ name }) => has(name)) ? [{ place, way }] : []),
    ...blocks.flatMap((inner, block) => matches(inner, text, [...way, { place, block }]))]);
}

/** What a block of a node is called. */
const nameOf = ({ name }, i) => name || `block ${i + 1}`;

/** `faults`: what is wrong with the model; each stands at the node that it names. */
export function showNetwork(network, about, faults = []) {
  if (!network?.nodes.length && !about) return $('network').replaceChildren(make('p', {}, 'A model with such faults cannot be drawn.'));
  const inside = network.nodes.some(({ blocks }) => blocks.length > 0);
  const frame = make('div', { class: 'drawing' }), details = make('div', { id: 'details', role: 'region', 'aria-label': 'The chosen node' }), part = make('span', { class: 'soft', role: 'status' });
  let first = 0, drawn, scale = 1, current;
  let level = network; // the block that is drawn
  const around = []; // what it is inside of, the network first: {level, first, place, block, name}

  const button = (text, label, onclick) => make('button', { class: 'small', type: 'button', 'aria-label': label, onclick }, text);
  /** The drawing at another size; what is in the middle stays there. */
  function zoom(to) {
    const x = (frame.scrollLeft + frame.clientWidth / 2) / scale, y = (frame.scrollTop + frame.clientHeight / 2) / scale;
    scale = Math.min(kLargest, Math.max(kSmallest, to));
    drawn.drawing.setAttribute('width', drawn.width * scale);
    drawn.drawing.setAttribute('height', drawn.height * scale);
    frame.scrollTo(x * scale - frame.clientWidth / 2, y * scale - frame.clientHeight / 2);
  }
  const fit = () => zoom(Math.min(1, frame.clientWidth / drawn.width, frame.clientHeight / drawn.height));
  const middle = (box) => frame.scrollTo(box.x * scale - frame.clientWidth / 2, (box.y + 22) * scale - frame.clientHeight / 2);

  /** Goes to a box, and tells of it where it is chosen. */
  function go(box, { focus = true, chosen = true } = {}) {
    for (const other of drawn.boxes) other.element.setAttribute('tabindex', other === box ? 0 : -1);
    current = box;
    if (focus) {
      box.element.focus({ preventScroll: true });
      middle(box);
    }
    if (!chosen) return;
    for (const other of drawn.boxes) {
      other.element.setAttribute('aria-selected', other === box);
      other.element.classList.toggle('near', box.from.includes(other) || box.readers.includes(other));
    }
    tell(box);
  }
  function tell(box) {
    const values = (list) => list.filter(({ id }) => id >= 0).map(({ name, type, constant }) => [name || 'value', make('code', {}, `${type ?? 'of no known type'}${constant ? ', constant' : ''}`)]);
    const jump = (list) => list.flatMap((other) => [button(other.title, `${other.title}: go to ${other.about}`, () => go(other)), ' ']);
    const { node } = box, told = node?.attributes ?? [], listed = (title, list) => (list?.length ? [make('h3', {}, title), table([], values(list))] : []);
    const wrong = faultsOf(box).map(({ severity, message }) => make('div', { class: `fault ${severity}` }, make('strong', {}, severity), ' ', message));
    details.replaceChildren(make('h2', {}, box.title), ...wrong, note(node ? `Node ${box.place + 1} of ${level.nodes.length}${node.location ? `, ${node.location}` : ''}` : box.about),
      ...(node?.blocks.length ? [make('p', {}, 'Inside ', ...node.blocks.flatMap((block, i) => [button(nameOf(block, i), `${nameOf(block, i)}: draw what is inside of ${box.about}`, () => {
        enter(box, i);
        drawn.boxes[0]?.element.focus({ preventScroll: true });
      }), ' ']))] : []),
      ...(told.length ? [make('h3', {}, 'Attributes'), table([], told.map(({ name, text }) => [name, make('code', {}, text)]))] : []), ...listed('Inputs', node?.inputs), ...listed('Read by its blocks', node?.captures), ...listed('Outputs', node?.outputs),
      ...(box.from.length ? [make('p', {}, 'Reads ', ...jump(box.from))] : []), ...(box.readers.length ? [make('p', {}, 'Read by ', ...jump(box.readers))] : []));
  }
  /** Draws what is inside of a node, and again what is around that. */
  function enter({ node, place }, i) {
    around.push({ level, first, place, block: i, name: `${nameOf(node.blocks[i], i)} of ${node.op}${node.location ? `, ${node.location}` : ''}` });
    level = node.blocks[i];
    show(0);
  }
  /** Draws what a way leads to: that, a node with it alone. */
  function follow(way) {
    level = network;
    around.length = 0;
    for (const { place, block } of way) {
      first = partOf(place);
      enter({ node: level.nodes[place], place }, block);
    }
  }
  const partOf = (place) => Math.floor(place / kMostNodes) * kMostNodes;
  function leave() {
    const from = around.pop();
    level = from.level;
    show(from.first);
    go(drawn.boxes.find(({ place }) => place === from.place));
  }
  const faultsOf = ({ node }) => (node?.location ? faults.filter(({ where }) => where.includes(node.location)) : []);
  const row = (box) => drawn.boxes.filter((other) => other.row === box.row).sort((a, b) => a.x - b.x);
  /** Where a key leads from a box. */
  const ways = {
    ArrowDown: ({ readers }) => readers[0], ArrowUp: ({ from }) => from[0], ArrowLeft: (box) => row(box)[row(box).indexOf(box) - 1], ArrowRight: (box) => row(box)[row(box).indexOf(box) + 1],
    Home: () => drawn.boxes[0], End: () => drawn.boxes.at(-1), Enter: (box) => box, ' ': (box) => box,
  };
  /** Draws the nodes from a place on. */
  function show(from) {
    first = from;
    drawn = draw(level, first);
    const { nodes } = level;
    path.replaceChildren(...(around.length ? [button('Out', 'Out: what is around it', leave), ` ${around.map(({ name }) => name).join(' › ')}`] : []));
    for (const box of drawn.boxes) {
      const { length } = faultsOf(box), { element } = box;
      if (length === 0) continue;
      element.classList.add('faulty');
      element.setAttribute('aria-label', `${element.getAttribute('aria-label')}; ${counted(length, 'fault')}`);
    }
    current = drawn.boxes[0];
    const boxOf = ({ target }) => drawn.boxes.find(({ element }) => element.contains(target));
    drawn.drawing.addEventListener('click', (event) => { if (boxOf(event)) go(boxOf(event)); });
    drawn.drawing.addEventListener('keydown', (event) => {
      const way = ways[event.key], box = way && boxOf(event), to = box && way(box);
      if (!box) return;
      event.preventDefault();
      if (to) go(to, { chosen: to === box });
    });
    frame.replaceChildren(drawn.drawing);
    details.replaceChildren();
    zoom(scale);
    if (current) middle(current);
    const last = Math.min(first + kMostNodes, nodes.length);
    part.textContent = nodes.length > kMostNodes ? `Nodes ${first + 1} to ${last} of ${nodes.length.toLocaleString()}` : '';
    for (const [way, ended] of [[earlier, first === 0], [later, last === nodes.length]]) way.setAttribute('aria-disabled', ended); // and keeps the focus
    earlier.hidden = later.hidden = nodes.length <= kMostNodes;
  }

  const found = make('span', { class: 'soft', role: 'status' }), search = make('input', { type: 'text', id: 'search', placeholder: 'operator, node or value' });
  let turn = 0; // the match that is next
  const tellFound = () => {
    turn = 0;
    const { length } = matches(network, search.value);
    found.textContent = search.value.trim() === '' ? '' : `${counted(length, 'node')} found`;
  };
  search.addEventListener('input', tellFound);
  const next = () => {
    const all = matches(network, search.value);
    if (all.length === 0) return tellFound();
    const { place, way } = all[turn++ % all.length];
    if (JSON.stringify(way) !== JSON.stringify(around.map(({ place: at, block }) => ({ place: at, block })))) follow(way);
    if (place < first || place >= first + kMostNodes) show(partOf(place));
    found.textContent = `${1 + (turn - 1) % all.length} of ${all.length}`;
    const box = drawn.boxes.find((each) => each.place === place);
    go(box, { focus: false });
    middle(box);
  };
  const path = make('p', { id: 'path', role: 'status' });
  const turned = (text, step) => {
    const made = button(text, `${text} nodes`, () => { if (made.getAttribute('aria-disabled') !== 'true') show(first + step); });
    return made;
  };
  const earlier = turned('Earlier', -kMostNodes), later = turned('Later', kMostNodes);
  $('network').replaceChildren(
    note(`${counted(network.nodes.length, 'node')}${inside && about?.nodes > network.nodes.length ? ` (${about.nodes.toLocaleString()} with those inside of branches and bodies)` : ''}. `
      + `A click or Enter tells of a node${inside ? ', and draws what is inside of it' : ''}; arrows follow the edges.`),
    make('form', { class: 'tools', onsubmit: (event) => {
      event.preventDefault();
      next();
    } }, make('label', { for: 'search' }, 'Find'), search, make('button', { class: 'small', type: 'submit' }, 'Next'), found,
    make('span', { class: 'group' }, button('−', 'Smaller', () => zoom(scale / kSteps)), button('+', 'Larger', () => zoom(scale * kSteps)), button('Whole', 'Whole drawing', fit), button('1:1', '1:1, its own size', () => zoom(1))),
    make('span', { class: 'group' }, earlier, later, part)), path, frame, details);
  show(0);
  $('network').onshown = () => { // before that it has no size
    if (current) middle(current);
    $('network').onshown = undefined;
  };
  frame.addEventListener('wheel', (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? scale * kSteps : scale / kSteps);
  }, { passive: false });
  let held; // where a drag began
  frame.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'mouse' && event.button === 0 && !event.target.closest('.node')) held = { x: event.clientX + frame.scrollLeft, y: event.clientY + frame.scrollTop };
  });
  frame.addEventListener('pointermove', ({ clientX, clientY, buttons }) => {
    if (!held || !buttons) return;
    frame.scrollTo(held.x - clientX, held.y - clientY);
  });
  frame.addEventListener('pointerup', () => { held = undefined; });
}
