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

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const shots = process.env.SHOTS;
const name = process.env.BROWSER ?? 'chromium';
const skip = !existsSync(file('../packages/nnex/dist/nnex.wasm')) && 'the WebAssembly module is not built';
let server, browser, page, faults = [];

before(async () => {
  if (skip) return;
  server = spawn(process.execPath, [file('serve')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  browser = await launch(name);
  page = await browser.newPage();
  page.on('pageerror', (error) => faults.push(error.message));
  await page.setViewport({ width: 1000, height: 900 });
  await page.goto(String(line).trim());
});
after(async () => {
  await browser?.close();
  server?.kill();
});

const shot = async (what) => shots && page.screenshot({ path: join(shots, `page-${what}.png`) });
const text = (selector) => page.$eval(selector, (element) => element.textContent);
async function drop(...paths) {
  await page.evaluate(() => { document.getElementById('status').textContent = ''; });
  await (await page.$('#files')).uploadFile(...paths);
  await page.waitForFunction("document.getElementById('progress').hidden && (document.getElementById('status').textContent || !document.getElementById('error').hidden)", { timeout: 120_000 });
}
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

test('it runs, and says where the time went', { skip }, async () => {
  await show('run');
  await page.click('#run button.act');
  await page.waitForFunction("document.getElementById('run').querySelectorAll('table').length > 1", { timeout: 60_000 });
  assert.match(await text('#run'), /probabilities/);
  assert.match(await text('#run'), /Time by node/);
  assert.match(await text('#status'), /A run took/);
  await shot('run');
});

test('it is converted and downloaded', { skip }, async () => {
  await show('convert');
  await page.select('#to', 'webnn');
  await page.click('#convert button.act');
  await page.waitForFunction("document.querySelectorAll('#convert a[download]').length === 2", { timeout: 60_000 });
  assert.deepEqual(await page.$$eval('#convert a[download]', (links) => links.map((a) => a.download)), ['model.webnn', 'model.weights']);
  await shot('convert');
});

test('a bad file says what is wrong with it', { skip }, async () => {
  const bad = join(mkdtempSync(join(tmpdir(), 'nnex-page-')), 'bad.nnef');
  writeFileSync(bad, 'version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [1, 2]);\n  y = rely(x);\n}\n');
  await drop(bad);
  assert.equal(await text('#error'), '');
  assert.match(await text('#status'), /1 fault;/);
  assert.match(await text('#faults'), /rely/);
  await page.emulateMediaFeatures?.([{ name: 'prefers-color-scheme', value: 'dark' }]).catch(() => {});
  await shot('faults-dark');
  assert.deepEqual(faults, []);
});

test('the keyboard goes through the tabs', { skip }, async () => {
  await page.focus('[role=tab][aria-selected=true]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.$eval('[role=tab][aria-selected=true]', (tab) => tab.id), 'tab-network');
  assert.equal(await page.$eval('[role=tabpanel]:not([hidden])', (panel) => panel.id), 'network');
});
