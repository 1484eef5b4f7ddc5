// looks.test.mjs: the drawing, the keyboard, focus and colours of the page. page.test.mjs runs it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identity, onnx } from '../test/support/onnx-writer.mjs';
import { dark, drop, f4, faults, fill, focused, name, page, run, show, skip, text, unary, until, written } from './harness.mjs';

const fast = { skip, timeout: 60_000 };
const chain = (length, op = 'Neg') => onnx({ inputs: { x: f4 }, outputs: { y: f4 },
  nodes: Array.from({ length }, (_, i) => ({ op, name: `node${i}`, in: [i ? `v${i}` : 'x'], out: [i === length - 1 ? 'y' : `v${i + 1}`] })) });
const label = () => page.evaluate("document.activeElement.getAttribute('aria-label')");

test('the drawing is one stop of the keyboard, and arrows follow its edges', fast, async () => {
  await drop(written('chain.onnx', chain(5)));
  await show('network');
  assert.equal(await page.$$eval('svg .node[tabindex="0"]', (all) => all.length), 1);
  await page.$eval('svg .node[tabindex="0"]', (node) => node.focus());
  assert.equal(await label(), 'input x: f32[4]; read by neg');
  await page.keyboard.press('ArrowDown');
  assert.match(await label(), /^neg; .*node0.*; gives f32\[4\]; reads x; read by neg$/);
  await page.keyboard.press('Enter');
  assert.match(await text('#details'), /neg.*Node 1 of 5, .*node0.*Inputs.*x.*f32\[4\].*Outputs.*Reads x.*Read by neg/);
  await page.keyboard.press('End');
  assert.equal(await label(), 'output y: f32[4]; reads neg');
  await page.keyboard.press('ArrowUp');
  assert.match(await label(), /node4/);
  await page.keyboard.press('Home');
  assert.match(await label(), /^input x/);
  assert.equal(await page.$$eval('svg .node[tabindex="0"]', (all) => all.length), 1);
  await page.$eval('#details [aria-label*=node1]', (button) => button.click()); // which reads the node that was chosen
  assert.match(await label(), /^neg; .*node1/);
  assert.match(await text('#details'), /Node 2 of 5/);
});

test('a chosen node tells of its attributes', fast, async () => {
  const pool = onnx({ inputs: { x: ['float32', [1, 1, 6, 6]] }, outputs: { y: ['float32', [1, 1, 3, 3]] },
    nodes: [{ op: 'AveragePool', in: ['x'], out: ['y'], attributes: { kernel_shape: [2, 2], strides: [2, 2] } }] });
  await drop(written('averaged.onnx', pool));
  await show('network');
  await page.click('svg .node:not(.end)');
  assert.match(await text('#details'), /Attributes.*size\[1, 1, 2, 2\].*stride\[1, 1, 2, 2\].*Inputs/);
});

test('the drawing is searched, zoomed and shown in parts', fast, async () => {
  await drop(written('long.onnx', chain(700)));
  await show('network');
  assert.match(await text('#network'), /Nodes 1 to 600 of 700/);
  await page.type('#search', 'node650');
  assert.match(await text('#network'), /1 node found/);
  await page.keyboard.press('Enter');
  assert.match(await text('#network'), /Nodes 601 to 700 of 700/);
  assert.match(await text('#details'), /Node 651 of 700, .*node650/);
  const inside = () => page.evaluate(() => {
    const a = document.querySelector('svg .node[aria-selected=true]').getBoundingClientRect(), b = document.querySelector('.drawing').getBoundingClientRect();
    return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
  });
  assert.equal(await inside(), true);
  const width = () => page.$eval('#network svg', (svg) => svg.getBoundingClientRect().width);
  const before = await width(), press = (what) => page.$eval(`#network [aria-label="${what}"]`, (button) => button.click());
  await press('Larger');
  assert.ok(await width() > before);
  await press('Whole drawing');
  assert.equal(await page.evaluate("(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight + 1)(document.querySelector('.drawing'))"), true);
  await press('1:1, its own size');
  assert.equal(await width(), before);
  await page.focus('[aria-label="Earlier nodes"]');
  for (let i = 0; i < 2; ++i) await page.keyboard.press('Enter');
  assert.match(await text('#network'), /Nodes 1 to 600 of 700/);
  assert.equal(await focused(), 'button Earlier');
  await page.$eval('#search', (field) => { field.value = ''; });
  await page.focus('#search');
  await page.keyboard.press('Enter');
  assert.doesNotMatch(await text('#network form'), /found/);
});

test('a wide drawing opens at its input, a long text stays in its box, and what is inside of nodes is told of', fast, async () => {
  const many = Array.from({ length: 60 }, (_, i) => `v${i}`), type = 'a_symbol_of_many_letters_WWWW';
  await drop(written('wide.onnx', onnx({ inputs: { x: ['float32', [type]] }, outputs: { WWWWWWWWWWWWWWWWWWWWWWWW: ['float32', [type]] },
    nodes: [...many.map((out) => ({ op: 'Neg', in: ['x'], out: [out] })), { op: 'Sum', in: many, out: ['WWWWWWWWWWWWWWWWWWWWWWWW'] }] })));
  await show('network');
  assert.equal(await page.evaluate(() => {
    const a = document.querySelector('svg .node').getBoundingClientRect(), b = document.querySelector('.drawing').getBoundingClientRect();
    return a.left >= b.left && a.right <= b.right;
  }), true);
  assert.deepEqual(await page.$$eval('svg .node text', (all) => all.filter((each) => each.getBBox().width > 168).map((each) => each.textContent)), []);
  const branch = (op) => ({ graph: { outputs: { o: f4 }, nodes: [{ op, in: ['x'], out: ['o'] }] } });
  await drop(written('if.onnx', onnx({ inputs: { c: ['bool', []], x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'If', in: ['c'], out: ['y'], attributes: { then_branch: branch('Neg'), else_branch: branch('Abs') } }] })));
  await show('network');
  assert.match(await text('#network'), /1 node \(3 with those inside of branches and bodies\)/);
  assert.match(await text('#network svg'), /2 blocks inside/);
  await page.click('svg .node:not(.end)');
  await page.click('#details [aria-label^="else_branch: draw what is inside of if_else"]');
  assert.match(await text('#path'), /^Out else_branch of if_else/);
  assert.equal(await page.$$eval('#network svg .node:not(.end)', (all) => all.length), 1);
  await page.click('#path button');
  assert.equal(await text('#path'), '');
  assert.match(await text('#details'), /if_else.*Node 1 of 1/);
  await page.type('#search', 'abs');
  assert.match(await text('#network form'), /1 node found/);
  await page.keyboard.press('Enter');
  assert.match(await text('#path'), /^Out else_branch of if_else/);
  assert.match(await text('#details'), /^abs/);
  const named = await page.$$eval('#network button', (all) => all.filter((each) => !/^[−+]$/.test(each.textContent)).map((each) => [each.textContent, each.getAttribute('aria-label')]));
  for (const [face, label] of named) assert.ok(!label || label.startsWith(face), `${face}: ${label}`);
});

test('keys: Enter in a field runs, Escape stops, Home and End go to the first and last tab; what cannot be pressed says so', fast, async () => {
  const twice = onnx({ inputs: { n: ['int64', []], x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Loop', in: ['n', '', 'x'], out: ['y'], attributes: { body: { graph: {
    inputs: { i: ['int64', []], go: ['bool', []], v: f4 }, outputs: { on: ['bool', []], w: f4 }, nodes: [{ op: 'Identity', in: ['go'], out: ['on'] }, { op: 'Add', in: ['v', 'v'], out: ['w'] }] } } } }] });
  await drop(written('twice.onnx', twice));
  await show('run');
  await fill('n', '1000000000000');
  await page.focus('[id="input-n"]');
  await page.keyboard.press('Enter');
  await until("document.getElementById('status').textContent === 'Running …'");
  const disabled = () => page.$eval('#run form button.act', (button) => button.getAttribute('aria-disabled'));
  assert.equal(await disabled(), 'true');
  await page.keyboard.press('Enter');
  assert.equal(await text('#status'), 'Running … Still at it: Stop ends it');
  await page.keyboard.press('Escape');
  assert.equal(await text('#status'), 'Stopped');
  assert.equal(await disabled(), null);
  await page.focus('#tab-run');
  await page.keyboard.press('End');
  assert.equal(await focused(), 'button Convert');
  await page.keyboard.press('Home');
  assert.equal(await focused(), 'button About');
});

test('the focus is never lost: on Run, on Convert, on another model', fast, async () => {
  await drop(written('negated.onnx', unary('Neg')));
  await run();
  await page.focus('#answer button.small');
  await page.$eval('#run form', (form) => form.requestSubmit());
  await until("document.getElementById('working').hidden && document.getElementById('answer').childElementCount > 0");
  assert.equal(await focused(), 'button Run');
  await show('convert');
  const converted = () => until("document.getElementById('working').hidden && document.querySelector('#converted a')");
  await page.click('#convert button.act');
  await converted();
  await page.focus('#converted a');
  await page.$eval('#convert form', (form) => form.requestSubmit());
  await converted();
  assert.equal(await focused(), 'button Convert');
  await show('run');
  await page.focus('[id="input-x"]');
  await drop(written('absolute.onnx', unary('Abs')));
  assert.equal(await focused(), 'button About');
});

test('borders of fields and boxes stand out, in the dark too', fast, async () => {
  await drop(written('negated.onnx', identity(f4)));
  await show('run');
  const contrasts = () => page.evaluate(() => {
    const light = (colour) => {
      const [r, g, b] = colour.match(/[\d.]+/g).map((x) => x / 255).map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const style = (selector) => getComputedStyle(document.querySelector(selector)), paper = style('body').backgroundColor, card = style('#drop').backgroundColor;
    return [style('#input-a').borderTopColor, style('#drop').borderTopColor, style('#to').borderTopColor, style('svg .node:not(.end) rect').stroke].map((edge) => Math.min(contrast(edge, paper), contrast(edge, card)));
  });
  for (const on of [false, true]) {
    await dark(on);
    for (const contrast of await contrasts()) assert.ok(contrast >= 3, `${contrast}`);
  }
  await dark(false);
});

test('printed, the drawing is whole and what asks for a model is left out', { ...fast, skip: skip || (name !== 'chromium' && 'its driver prints nothing') }, async () => {
  await drop(written('chain.onnx', chain(60)));
  await show('network');
  await page.emulateMediaType('print');
  const found = await page.evaluate(() => [document.getElementById('drop').checkVisibility(), document.querySelector('.tools').checkVisibility(),
    (({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight + 1)(document.querySelector('.drawing'))]);
  await page.emulateMediaType(null);
  assert.deepEqual(found, [false, false, true]);
});

test('where colours are forced, buttons have borders and the chosen tab alone a line', { ...fast, skip: skip || (name !== 'chromium' && 'its driver forces no colours') }, async () => {
  const devtools = await page.createCDPSession();
  await devtools.send('Emulation.setEmulatedMedia', { features: [{ name: 'forced-colors', value: 'active' }] });
  const found = await page.evaluate(() => {
    const style = (selector) => getComputedStyle(document.querySelector(selector)), paper = style('body').backgroundColor;
    return { buttons: ['.button', '#run button.act'].map((each) => style(each).borderTopWidth !== '0px' && style(each).borderTopColor !== paper),
      chosen: style('[aria-selected=true]').borderBottomColor !== paper, other: style('[role=tab][aria-selected=false]').borderBottomColor === paper,
      box: style('svg .node rect').fill === paper && style('svg .node text').fill !== paper };
  });
  await devtools.send('Emulation.setEmulatedMedia', { features: [] });
  assert.deepEqual(found, { buttons: [true, true], chosen: true, other: true, box: true });
  assert.deepEqual(faults, []);
});
