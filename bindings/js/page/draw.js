// A network as an SVG of layers: every node stands below what it reads. Edges are curves between rows, and pass a row where they have a place of their own in it, so
// that none runs behind a box.

const kWidth = 168, kHeight = 44, kLane = 8, kGapX = 24, kGapY = 44, kMargin = 20;
/** So many nodes are drawn at a time. */
export const kMostNodes = 600;

const svg = (name, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

/**
 * The boxes of the nodes from a place on: {title, small, about, reads: [values], makes: [values], end, node, place}. What comes from before, and what is read behind, stands
 * for itself.
 */
function boxesOf({ inputs, outputs, captures = [], nodes }, first) {
  const live = (values) => values.filter(({ id, constant }) => id >= 0 && !constant).map(({ id }) => id);
  const end = (kind, { id, name, type }) => ({ title: name || 'value', small: type ?? '', about: `${kind} ${name || 'value'}: ${type ?? 'of no known type'}`, end: true,
    reads: kind === 'output' ? [id] : [], makes: kind === 'output' ? [] : [id] });
  const window = nodes.slice(first, first + kMostNodes);
  const shown = window.map((node, i) => {
    const made = node.outputs.find(({ id }) => id >= 0), inputs = [...node.inputs, ...(node.captures ?? [])]; // captures: what its blocks read from outside of them
    const weights = inputs.filter(({ constant }) => constant).length, blocks = node.blocks?.length, many = (n, one) => n > 0 && `${n} ${one}${n === 1 ? '' : 's'}`;
    return {
      title: node.op, small: blocks ? `${many(blocks, 'block')} inside` : made?.type ?? '', reads: [...new Set(live(inputs))], makes: live(node.outputs),
      about: [node.op, node.location, blocks && `${many(blocks, 'block')} inside`, made?.type && `gives ${made.type}`, many(weights, 'weight')].filter(Boolean).join('; '),
      node, place: first + i,
    };
  });
  const made = new Set(shown.flatMap(({ makes }) => makes)), read = new Set(shown.flatMap(({ reads }) => reads)), outside = captures.filter(({ constant }) => !constant), given = new Set([...inputs, ...outside].map(({ id }) => id));
  const before = new Map(nodes.slice(0, first).flatMap((node) => node.outputs).filter(({ id }) => read.has(id)).map((value) => [value.id, value]));
  return [
    ...inputs.filter(({ id }) => first === 0 || read.has(id)).map((value) => end('input', value)),
    ...outside.filter(({ id }) => first === 0 || read.has(id)).map((value) => end('from outside:', value)),
    ...[...before.values()].map((value) => end('from before:', value)),
    ...shown,
    ...outputs.filter(({ id }) => made.has(id) || (given.has(id) && first === 0)).map((value) => end('output', value)),
  ];
}

/** Places in a row that are nearest to what each wishes (least squares), in this order and apart. */
export function spread(items) {
  const gap = (a, b) => (a.above && b.above ? kLane / 2 : kGapX); // lanes go side by side
  const blocks = []; // items that touch: {items, sum of what their first one would wish, offset of the next}
  for (const item of items) {
    blocks.push({ items: [[item, 0]], sum: item.wish, width: 0, last: item });
    while (blocks.length > 1) {
      const [a, b] = blocks.slice(-2), apart = (a.last.width + b.items[0][0].width) / 2 + gap(a.last, b.items[0][0]);
      if (a.sum / a.items.length + a.width + apart <= b.sum / b.items.length) break;
      const shift = a.width + apart;
      for (const [each, offset] of b.items) a.items.push([each, offset + shift]);
      a.sum += b.sum - shift * b.items.length;
      a.width = shift + b.width;
      a.last = b.last;
      blocks.pop();
    }
  }
  for (const { items: all, sum } of blocks) for (const [item, offset] of all) item.x = sum / all.length + offset;
}

/** Gives every box a row below those it reads, and in its row a place near theirs. `lanes` of a box: the places where what it makes passes the rows below. */
function place(boxes) {
  const makers = new Map(), rows = [];
  for (const box of boxes) {
    Object.assign(box, { from: [], readers: [], lanes: [], width: kWidth });
    box.from = [...new Set(box.reads.map((id) => makers.get(id)).filter(Boolean))];
    box.row = 1 + Math.max(-1, ...box.from.map(({ row }) => row));
    for (const from of box.from) from.readers.push(box);
    for (const id of box.makes) makers.set(id, box);
    (rows[box.row] ??= []).push(box);
  }
  for (const box of boxes) {
    const last = Math.max(box.row, ...box.readers.map(({ row }) => row));
    for (let row = box.row + 1; row < last; ++row) {
      const lane = { width: kLane, row, above: box.lanes.at(-1) ?? box };
      box.lanes.push(lane);
      rows[row].push(lane);
    }
  }
  const above = (box) => box.from.map((from) => from.lanes[box.row - from.row - 2] ?? from); // what an edge to the box comes from, in the row above it
  for (const [number, row] of rows.entries()) {
    for (const item of row) {
      const from = item.above ? [item.above] : above(item);
      item.wish = from.length ? from.reduce((sum, { x }) => sum + x, 0) / from.length : 0;
    }
    if (number === 0) row.forEach((item, i) => { item.wish = (i - (row.length - 1) / 2) * (kWidth + kGapX); });
    row.sort((a, b) => a.wish - b.wish);
    spread(row);
  }
  const all = rows.flat(), left = all.reduce((least, { x, width }) => Math.min(least, x - width / 2), Infinity) - kMargin; // more than a call takes as arguments
  for (const item of all) {
    item.x -= left;
    item.y = kMargin + item.row * (kHeight + kGapY);
  }
  return { rows, width: all.reduce((most, { x, width }) => Math.max(most, x + width / 2), 0) + kMargin, height: kMargin + rows.length * (kHeight + kGapY) };
}

/** The boxes in their places, each with those that it reads, with its readers and lanes, and the size of it all. */
export function arrange(outline, first = 0) {
  const boxes = boxesOf(outline, first);
  return { boxes, ...(boxes.length === 0 ? { rows: [], width: 0, height: 0 } : place(boxes)) };
}

/** Names are read aloud: so many neighbours are told of. */
const kMostTold = 8;
const toldOf = (boxes) => boxes.slice(0, kMostTold).map(({ title }) => title).join(', ') + (boxes.length > kMostTold ? ` and ${boxes.length - kMostTold} more` : '');
/** What a box reads and who reads it, in words. */
export const neighbours = ({ from, readers }) => [from.length && `reads ${toldOf(from)}`, readers.length && `read by ${toldOf(readers)}`].filter(Boolean);

/** The line of what a box makes, down its lanes and to its readers: one element, as there may be hundreds of lanes. */
function line(box) {
  const curve = ({ x, y }, to) => `M${x} ${y + kHeight}C${x} ${y + kHeight + kGapY / 2} ${to.x} ${to.y - kGapY / 2} ${to.x} ${to.y}`;
  const lanes = box.lanes.map((lane) => `${curve(lane.above, lane)}V${lane.y + kHeight}`);
  return [...lanes, ...box.readers.map((reader) => curve(box.lanes[reader.row - box.row - 2] ?? box, reader))].join('');
}

const measure = (font) => {
  const context = document.createElement('canvas').getContext('2d');
  context.font = font;
  return (text) => context.measureText(text).width;
};
/** A text, cut to a width. */
function cut(text, width) {
  if (width(text) <= kWidth - 12) return text;
  let length = text.length;
  while (length > 0 && width(`${text.slice(0, length)}…`) > kWidth - 12) --length;
  return `${text.slice(0, length)}…`;
}

/** The drawing: {drawing, boxes}, where each box has its `element`. One of them is in the order of the keyboard. */
export function draw(outline, first = 0) {
  const { boxes, width, height } = arrange(outline, first);
  const large = measure('600 13px system-ui, sans-serif'), fixed = measure('11px ui-monospace, monospace');
  const lines = boxes.filter(({ readers }) => readers.length > 0).map((box) => svg('path', { d: line(box) }));
  for (const [i, box] of boxes.entries())
    box.element = svg('g', {
      class: box.end ? 'node end' : 'node', id: `node-${i}`, transform: `translate(${box.x - kWidth / 2} ${box.y})`, tabindex: i === 0 ? 0 : -1, role: 'option', 'aria-selected': false,
      'aria-label': [box.about, ...neighbours(box)].join('; '),
    },
    svg('rect', { width: kWidth, height: kHeight, rx: box.end ? 22 : 8 }),
    svg('text', { x: kWidth / 2, y: 19 }, cut(box.title, large)),
    svg('text', { x: kWidth / 2, y: 35, class: 'small' }, cut(box.small, fixed)));
  const drawing = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'listbox', 'aria-label': `${outline.nodes.length} nodes: arrows follow the edges` },
    ...lines, ...boxes.map(({ element }) => element));
  return { drawing, boxes, width, height };
}
