// The panel that converts a model.
import { convert } from './nnex/browser.js';
import { $, addressOf, make, note } from './dom.js';
import { bytes } from './values.js';
import { working } from './work.js';

/** Lets the files of a conversion go. */
export function clearConverted() {
  for (const { href } of document.querySelectorAll('#converted a')) URL.revokeObjectURL(href);
}

export function showConvert(on, about) {
  if (!about) return $('convert').replaceChildren(make('p', {}, 'A model with such faults cannot be converted.'));
  const to = make('select', { id: 'to' }, ...[['onnx', 'ONNX'], ['nnef', 'NNEF (archive)'], ['webnn', 'WebNN program'], ['cvm', 'CVM']].map(([value, text]) => make('option', { value }, text)));
  const symbols = about.symbols.map((symbol) => ({ symbol, input: make('input', { type: 'text', inputmode: 'numeric', placeholder: 'open', id: `symbol-${symbol}` }) }));
  const links = make('ul', { id: 'converted' }), button = make('button', { class: 'act', type: 'submit' }, 'Convert');
  const extentOf = ({ symbol, input }) => {
    if (!/^\d+$/.test(input.value.trim())) throw Object.assign(new Error(`extent ${symbol}: found '${input.value}'; needed a whole number from 0 on, or nothing`), { field: input });
    return [symbol, Number(input.value)];
  };
  const press = () => {
    clearConverted();
    return working('Converting …', async () => {
      const open = symbols.filter(({ input }) => !input.value.trim()), [{ textContent: standard }] = to.selectedOptions;
      const fixed = Object.fromEntries(symbols.filter((each) => !open.includes(each)).map(extentOf));
      const made = await convert(on.source, { to: to.value, packing: 'tgz', load: { ...on.options, symbols: fixed } })
        .catch((error) => { throw Object.assign(error, { field: open[0]?.input }); }); // most likely it lacks a number
      return () => {
        links.replaceChildren(...[...made].map(([name, content]) => make('li', {}, make('a', { download: name, href: addressOf(content) }, `${name} (${bytes(content.length)})`))));
        $('status').textContent = `Converted to ${standard}${open.length ? `; open: ${open.map(({ symbol }) => symbol).join(', ')}` : ''}`;
      };
    }, { at: button, clears: links });
  };
  $('convert').replaceChildren(
    ...(symbols.length ? [note('An extent that is left empty stays open from ONNX to ONNX; the other standards need a number.')] : []),
    make('form', { novalidate: '', onsubmit: (event) => {
      event.preventDefault();
      press();
    } }, make('div', { class: 'field' }, make('label', { for: 'to' }, 'To'), to),
    ...symbols.map(({ symbol, input }) => make('div', { class: 'field' }, make('label', { for: input.id }, `Extent ${symbol}`), input)), button), links);
}
