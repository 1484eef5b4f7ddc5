// Elements of the page.

export const $ = (id) => document.getElementById(id);
/** An element: make('p', {class: 'soft'}, 'text', child). What is undefined is no attribute. */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
/** A number of things in words. */
export const counted = (n, one) => `${n.toLocaleString()} ${one}${n === 1 ? '' : 's'}`;
export const note = (text) => make('p', { class: 'soft' }, text);
export const table = (head, rows) => make('table', {},
  ...(head.length ? [make('thead', {}, make('tr', {}, ...head.map((text, i) => (text ? make('th', { scope: 'col', class: typeof rows[0]?.[i] === 'number' ? 'number' : '' }, text) : make('td')))))] : []),
  make('tbody', {}, ...rows.map(([first, ...rest]) => make('tr', {}, make('th', { scope: 'row' }, first),
    ...rest.map((cell) => make('td', typeof cell === 'number' ? { class: 'number' } : {}, typeof cell === 'number' ? cell.toLocaleString() : cell))))));
export function bar(part) {
  const made = make('span', { class: 'bar', 'aria-hidden': 'true' });
  made.style.width = `${Math.round(100 * part)}%`;
  return made;
}

/** Of a type, without which browsers take what it looks like and name the file so: symbol.txt. */
export const addressOf = (content) => URL.createObjectURL(new Blob([content].flat(), { type: 'application/octet-stream' }));
/** A button that saves what `content` makes then. */
export const saving = (name, text, content) => make('button', { class: 'small', type: 'button', 'aria-label': `Save ${name}`, onclick() {
  try {
    const href = addressOf(content());
    make('a', { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000); // browsers read it after the click
  } catch { // longer than a text of this browser's may be
    $('status').textContent = `${name} is too large for this browser to make`;
  }
} }, text);
