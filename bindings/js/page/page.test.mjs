// page.test.mjs: the page in a headless browser: a model is dropped, looked at, drawn, run and converted. SHOTS=FOLDER keeps pictures.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../test/conform/browser.mjs';
import { onnx } from '../test/support/onnx-writer.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const shots = process.env.SHOTS;
const name = process.env.BROWSER ?? 'chromium';
const skip = !existsSync(file('../packages/nnex/dist/nnex.wasm')) && 'the WebAssembly module is not built';
let server, browser, page, address, faults = [];

before(async () => {
  if (skip) return;
  server = spawn(process.execPath, [file('serve')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  browser = await launch(name);
  page = await browser.newPage();
  page.on('pageerror', (error) => faults.push(error.message));
  await page.setViewport({ width: 1000, height: 900 });
  await page.goto(address = String(line).trim());
});
after(async () => {
  await browser?.close();
  server?.kill();
});

const shot = async (what) => shots && page.screenshot({ path: join(shots, `page-${what}.png`), fullPage: what.includes('narrow') });
const text = (selector) => page.$eval(selector, (element) => element.textContent);
async function drop(...paths) {
  await page.evaluate(() => { document.getElementById('status').textContent = ''; });
  await (await page.$('#files')).uploadFile(...paths);
  await page.waitForFunction("document.getElementById('progress').hidden && (document.getElementById('status').textContent || !document.getElementById('error').hidden)", { timeout: 120_000 });
}
/** Dark or light, where the browser's driver can say it (Firefox's cannot). */
const dark = (on) => page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: on ? 'dark' : 'light' }]).catch(() => {});
const show = (tab) => page.click(`#tab-${tab}`);

test('a model is checked, inspected and drawn', { skip }, async () => {
  await shot('empty');
  await drop(file('../../../models/shapes/model.onnx'));
  assert.match(await text('#status'), /ONNX, sound/);
  assert.match(await text('#about'), /64,409/);
  assert.match(await text('#about'), /picture.*f32\[N,3,32,32\]/);
  await shot('about');
  await show('network');
  assert.equal(await page.$$eval('svg .node', (all) => all.length), 21 + 2);
  assert.ok(await page.$eval('svg .node', (node) => node.getAttribute('aria-label').startsWith('input ')));
  await shot('network');
});

const run = async () => {
  await show('run');
  await page.$eval('#status', (element) => { element.textContent = ''; });
  await page.click('#run button.act');
  await page.waitForFunction("document.getElementById('status').textContent.startsWith('A run took') || !document.getElementById('error').hidden", { timeout: 120_000 });
  assert.equal(await page.$eval('#error', (element) => (element.hidden ? '' : element.textContent)), '');
};

test('it runs by WebNN, and nnex itself says where the time goes', { skip }, async () => {
  await run();
  assert.match(await text('#way'), /^Run by WebNN by nnex, which stands at navigator\.ml, [1-9]\d* operations$/);
  assert.equal(await page.$$eval('#run .fault', (all) => all.length), 0);
  assert.match(await text('#run'), /probabilities \[1, 8\]/);
  await page.click('#run div > button.act');
  await page.waitForFunction("document.getElementById('run').textContent.includes('Time by node')", { timeout: 60_000 });
  const [, apart] = /differs from WebNN’s by (\S+) at most/.exec(await text('#run'));
  assert.ok(Number(apart) < 1e-5, apart);
  await shot('run');
});

test('a WebNN of the browser is asked first, and its refusal is shown', { skip }, async () => {
  const other = await browser.newPage();
  await other.evaluateOnNewDocument(() => {
    class Builder {
      input() { throw new DOMException('no float32 today', 'NotSupportedError'); }
    }
    globalThis.MLGraphBuilder = Builder;
    Object.defineProperty(Navigator.prototype, 'ml', { get: () => ({ createContext: async () => ({ destroy() { ++globalThis.destroyed; } }) }), configurable: true });
    globalThis.destroyed = 0;
  });
  const [before, place] = [page, address];
  page = other;
  try {
    await page.goto(place);
    await drop(file('../../../models/shapes/model.onnx'));
    await run();
    assert.match(await text('#way'), /^Run by WebNN by nnex, /);
    assert.equal(await text('#run .fault'), 'Why not WebNNWebNN by this browser itself: no float32 today');
    assert.equal(await page.evaluate('destroyed'), 2);  // the polyfill's question, and the context that came to nothing
  } finally {
    page = before;
    await other.close();
  }
});

test('it is converted and downloaded', { skip }, async () => {
  await show('convert');
  await page.select('#to', 'webnn');
  await page.click('#convert button.act');
  await page.waitForFunction("document.querySelectorAll('#convert a[download]').length === 2", { timeout: 60_000 });
  assert.deepEqual(await page.$$eval('#convert a[download]', (links) => links.map((a) => a.download)), ['model.webnn', 'model.weights']);
  await shot('convert');
});

test('nothing runs out of a narrow screen, in the dark either', { skip }, async () => {
  const { width, height } = page.viewport();
  await page.setViewport({ width: 390, height: 844 });
  for (const tab of ['about', 'network', 'run', 'convert', 'faults']) {
    await show(tab);
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(wide <= room, `${tab}: ${wide} of ${room}`);
  }
  await show('run');
  await shot('run-narrow');
  await dark(true);
  await shot('run-narrow-dark');
  await page.setViewport({ width, height });
  await shot('run-dark');
  await dark(false);
});

test('a network that WebNN has no words for is run by nnex itself, and the page says why', { skip }, async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'nnex-page-')), 'unique.onnx');
  writeFileSync(path, onnx({ inputs: { x: ['float32', [4]] }, outputs: { y: ['float32', ['n']] }, nodes: [{ op: 'Unique', in: ['x'], out: ['y'] }] }));
  await drop(path);
  await show('run');
  await page.$eval('#input-x', (field) => { field.value = '2 1 2 2'; });
  await run();
  assert.equal(await text('#way'), 'Run by nnex itself, not by WebNN');
  assert.match(await text('#run .fault'), /^Why not WebNN.*Unique/s);
  assert.match(await text('#run'), /y \[2\]/);
  await shot('run-refused');
});

test('a bad file says what is wrong with it', { skip }, async () => {
  const bad = join(mkdtempSync(join(tmpdir(), 'nnex-page-')), 'bad.nnef');
  writeFileSync(bad, 'version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [1, 2]);\n  y = rely(x);\n}\n');
  await drop(bad);
  assert.equal(await text('#error'), '');
  assert.match(await text('#status'), /1 fault;/);
  assert.match(await text('#faults'), /rely/);
  await dark(true);
  await shot('faults-dark');
  assert.deepEqual(faults, []);
});

test('the keyboard goes through the tabs', { skip }, async () => {
  await page.focus('[role=tab][aria-selected=true]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.$eval('[role=tab][aria-selected=true]', (tab) => tab.id), 'tab-network');
  assert.equal(await page.$eval('[role=tabpanel]:not([hidden])', (panel) => panel.id), 'network');
});
