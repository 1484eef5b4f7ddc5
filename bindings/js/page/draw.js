// A network as an SVG of layers: every node stands below what it reads; edges are curves.

const kWidth = 168, kHeight = 44, kGapX = 24, kGapY = 44, kMargin = 20;
/** Larger networks are drawn as far as this. */
export const kMostNodes = 600;

const svg = (name, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/** Boxes: {title, small, about, reads: [values], makes: [values], end}. */
function boxesOf({ inputs, outputs, nodes }) {
  const named = ({ name, type }) => ({ title: name || 'value', small: type ?? '', about: `${name}: ${type}` });
  const live = (values) => values.filter(({ id, constant }) => id >= 0 && !constant).map(({ id }) => id);
  const shown = nodes.slice(0, kMostNodes).map((node) => {
    const made = node.outputs.find(({ id }) => id >= 0);
    const inputs = [...node.inputs, ...(node.captures ?? [])]; // captures: what its blocks read from outside of them
    const weights = inputs.filter(({ constant }) => constant).map(({ type }) => type);
    return {
      title: node.op, small: made?.type ?? '', reads: [...new Set(live(inputs))], makes: live(node.outputs),
      about: [node.op, node.location, made?.type && `gives ${made.type}`, weights.length && `weights ${weights.join(', ')}`].filter(Boolean).join('; '),
    };
  });
  // The outputs of nodes that are left out would stand alone.
  const absent = new Set(nodes.slice(kMostNodes).flatMap((node) => live(node.outputs)));
  return [
    ...inputs.map((input) => ({ ...named(input), about: `input ${named(input).about}`, reads: [], makes: [input.id], end: true })),
    ...shown,
    ...outputs.filter(({ id }) => !absent.has(id)).map((output) => ({ ...named(output), about: `output ${named(output).about}`, reads: [output.id], makes: [], end: true })),
  ];
}

/** Gives every box a row below those it reads, and in its row a place near theirs. */
function place(boxes) {
  const makers = new Map();
  const rows = [];
  for (const box of boxes) {
    box.from = box.reads.map((id) => makers.get(id)).filter(Boolean);
    box.row = 1 + Math.max(-1, ...box.from.map(({ row }) => row));
    for (const id of box.makes) makers.set(id, box);
    (rows[box.row] ??= []).push(box);
  }
  const widest = Math.max(...rows.map((row) => row.length)) * (kWidth + kGapX);
  for (const row of rows) {
    for (const box of row) box.wish = box.from.length ? box.from.reduce((sum, { x }) => sum + x, 0) / box.from.length : widest / 2;
    row.sort((a, b) => a.wish - b.wish);
    const start = row.reduce((sum, { wish }) => sum + wish, 0) / row.length - ((row.length - 1) * (kWidth + kGapX)) / 2;
    row.forEach((box, i) => { box.x = row.length === 1 ? box.wish : start + i * (kWidth + kGapX); });
  }
  const left = Math.min(...boxes.map(({ x }) => x)) - kWidth / 2 - kMargin;
  for (const box of boxes) {
    box.x -= left;
    box.y = kMargin + box.row * (kHeight + kGapY);
  }
  return { width: Math.max(...boxes.map(({ x }) => x)) + kWidth / 2 + kMargin, height: kMargin + rows.length * (kHeight + kGapY) };
}

/** The boxes in their places, each with those that it reads, and the size of it all. */
export function arrange(outline) {
  const boxes = boxesOf(outline);
  return { boxes, ...(boxes.length === 0 ? { width: 0, height: 0 } : place(boxes)) };
}

function edge({ x, y }, to) {
  const from = y + kHeight, middle = (from + to.y) / 2;
  return svg('path', { d: `M${x} ${from}C${x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}` });
}

/** The drawing; its boxes are in the order of the keyboard. */
export function draw(outline) {
  const { boxes, width, height } = arrange(outline);
  if (boxes.length === 0) return svg('svg', { width, height });
  const lines = boxes.flatMap((box) => box.from.map((from) => edge(from, box)));
  const nodes = boxes.map((box) => svg('g', {
    class: box.end ? 'node end' : 'node', transform: `translate(${box.x - kWidth / 2} ${box.y})`, tabindex: 0, role: 'listitem', 'aria-label': box.about,
  },
  svg('title', {}, box.about),
  svg('rect', { width: kWidth, height: kHeight, rx: box.end ? 22 : 8 }),
  svg('text', { x: kWidth / 2, y: 19 }, short(box.title, 22)),
  svg('text', { x: kWidth / 2, y: 35, class: 'small' }, short(box.small, 25))));
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'list', 'aria-label': `${outline.nodes.length} nodes` }, ...lines, ...nodes);
}
