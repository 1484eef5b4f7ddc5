// The panel that converts a model.
import { conversion } from './nnex/browser.js';
import { $, addressOf, counted, make, note } from './dom.js';
import { bytes } from './values.js';
import { working } from './work.js';

/** The forms of the standards: what each is called, the options that make it, and what its file is called where that is another name than nnex gives it. */
const kForms = {
  onnx: ['ONNX', { to: 'onnx' }], onnxtxt: ['ONNX as text', { to: 'onnxtxt' }, 'model.onnxtxt'], nnef: ['NNEF (archive)', { to: 'tgz' }], tar: ['NNEF (archive that is not compressed)', { to: 'tar' }],
  webnn: ['WebNN program', { to: 'webnn' }], mjs: ['WebNN as JavaScript', { to: 'mjs' }], cvm: ['CVM', { to: 'cvm' }], c: ['C', { to: 'c' }],
};

/** Lets the files of a conversion go. */
export function clearConverted() {
  for (const { href } of document.querySelectorAll('#converted a')) URL.revokeObjectURL(href);
}

export function showConvert(on, about) {
  if (!about) return $('convert').replaceChildren(make('p', {}, 'A model with such faults cannot be converted.'));
  const to = make('select', { id: 'to' }, ...Object.entries(kForms).map(([value, [text]]) => make('option', { value }, text)));
  const symbols = about.symbols.map((symbol) => ({ symbol, input: make('input', { type: 'text', inputmode: 'numeric', placeholder: 'open', id: `symbol-${symbol}` }) }));
  const links = make('ul', { id: 'converted' }), told = make('div', { id: 'told' }), button = make('button', { class: 'act', type: 'submit' }, 'Convert');
  const extentOf = ({ symbol, input }) => {
    if (!/^\d+$/.test(input.value.trim())) throw Object.assign(new Error(`extent ${symbol}: found '${input.value}'; needed a whole number from 0 on, or nothing`), { field: input });
    return [symbol, Number(input.value)];
  };
  const press = () => {
    clearConverted();
    told.replaceChildren();
    return working('Converting …', async () => {
      const open = symbols.filter(({ input }) => !input.value.trim()), [standard, options, called] = kForms[to.value];
      const fixed = Object.fromEntries(symbols.filter((each) => !open.includes(each)).map(extentOf));
      const { files, report } = await conversion(on.source, { ...options, load: { ...on.options, symbols: fixed } })
        .catch((error) => { throw Object.assign(error, { field: open[0]?.input }); }); // most likely it lacks a number
      return () => {
        links.replaceChildren(...[...files].map(([name, content]) => make('li', {}, make('a', { download: called ?? name, href: addressOf(content) }, `${called ?? name} (${bytes(content.length)})`))));
        told.replaceChildren(...report.notes.map((text) => make('div', { class: 'fault note' }, text)));
        $('status').textContent = `Converted to ${standard}${report.notes.length ? `, with ${counted(report.notes.length, 'note')}` : ''}${open.length ? `; open: ${open.map(({ symbol }) => symbol).join(', ')}` : ''}`;
      };
    }, { at: button, clears: links });
  };
  $('convert').replaceChildren(
    ...(symbols.length ? [note('An extent that is left empty stays open from ONNX to ONNX; the other standards need a number.')] : []),
    make('form', { novalidate: '', onsubmit: (event) => {
      event.preventDefault();
      press();
    } }, make('div', { class: 'field' }, make('label', { for: 'to' }, 'To'), to),
    ...symbols.map(({ symbol, input }) => make('div', { class: 'field' }, make('label', { for: input.id }, `Extent ${symbol}`), input)), button), links, told);
}
