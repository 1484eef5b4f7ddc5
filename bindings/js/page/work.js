// What takes its time: one thing is done at a time, is shown and stopped where it was asked for, and says there what went wrong.
import { $ } from './dom.js';

let task; // what is being done: {text, abort}
let place; // behind this stand its progress and its error
let before; // what had the focus when work began: Stop, which goes with it, gives the focus back

/** Empties an element; a focus inside of it goes to `heir`. */
export function vacate(element, heir) {
  if (element.contains(document.activeElement)) heir.focus();
  element.replaceChildren();
}

/**
 * Does something that takes its time: `work` is given a signal that it was stopped, and gives what shows its result. Stopped work shows nothing. `at`: what asked
 * for it; `clears`: what an earlier one has left there, which is nobody's answer any more.
 */
export async function working(text, work, { at = $('status'), clears } = {}) {
  if (task) {
    $('status').textContent = `${task.text} Still at it: Stop ends it`;
    return;
  }
  const mine = (task = Object.assign(new AbortController(), { text })), { signal } = mine;
  settle(at); // may stand in what is cleared
  if (clears) vacate(clears, at);
  busy(true);
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
/** Whether there was something to stop. */
export function endWork() {
  if (!task) return false;
  task.abort();
  task = undefined;
  busy(false);
  $('status').textContent = 'Stopped';
  return true;
}

/** What is said stands behind an element from now on; nothing is wrong yet. */
function settle(at) {
  place = at;
  place.after($('working'), $('error'));
  $('error').hidden = true;
  $('error').textContent = '';
  for (const field of document.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid');
    describe(field, (ids) => ids.filter((id) => id !== 'error'));
  }
}
function describe(field, change) {
  const ids = change((field.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean));
  if (ids.length) field.setAttribute('aria-describedby', ids.join(' '));
  else field.removeAttribute('aria-describedby');
}

function busy(on) {
  const held = !on && $('working').contains(document.activeElement);
  if (on) before = document.activeElement;
  $('working').hidden = $('progress').hidden = !on;
  $('model').setAttribute('aria-busy', on);
  for (const button of document.querySelectorAll('#model button.act:not(#stop)'))
    if (on) button.setAttribute('aria-disabled', 'true');
    else button.removeAttribute('aria-disabled');
  if (on && place !== $('status')) $('working').scrollIntoView({ block: 'nearest' });
  if (held) (before?.checkVisibility?.() ? before : $('files')).focus();
}

/** What nnex says of files that it was not given, in words of this page. */
const kWords = [
  [/, and no folder is known/, ', which was not chosen with it: choose both together, or their folder'],
  [/'a model from memory' holds no '([^']*)'/, "'$1' was not chosen with it: choose both together, or their folder"],
  [/needed nnex\.wasm there, or configure\(.*$/m, 'needed the server of this page, which has it'],
];
export const inPage = (text) => kWords.reduce((all, [theirs, ours]) => all.replace(theirs, ours), text);

/** An error in words, without the options of calls that would help: the page has none of them. */
export const sentence = ({ code, message, where, detail, tasks }) => (typeof code !== 'string' ? message
  : inPage(`${code}: ${detail === undefined ? message : `${where ? `${where}: ` : ''}${detail}${tasks.map((task) => `\n  while ${task}`).join('')}`}`));

/** An error says `field` where one has what is wrong: it stands behind that, which gets the focus. */
function fail(error) {
  const box = $('error'), field = error.field?.checkVisibility?.() ? error.field : undefined;
  $('status').textContent = '';
  (field?.closest('.field') ?? place).after(box);
  box.textContent = sentence(error);
  box.hidden = false;
  if (field) {
    field.setAttribute('aria-invalid', 'true');
    describe(field, (ids) => [...ids, 'error']);
    field.focus();
  }
  box.scrollIntoView({ block: 'nearest' });
}

/** The panels are filled anew: what stands in them comes out first. */
export const goHome = () => settle($('status'));
