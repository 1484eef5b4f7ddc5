// The page in a headless browser, as tests use it. SHOTS=FOLDER keeps pictures.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from '../test/conform/browser.mjs';
import { onnx } from '../test/support/onnx-writer.mjs';

export const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const shots = process.env.SHOTS;
export const name = process.env.BROWSER ?? 'chromium';
export const skip = !existsSync(file('../packages/nnex/dist/nnex.wasm')) && 'the WebAssembly module is not built';
export const folder = mkdtempSync(join(tmpdir(), 'nnex-page-'));
export let browser, page, address;
export const faults = [];
let server;
/** What tests look at from now on. */
export const use = (other) => { page = other; };

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
  rmSync(folder, { recursive: true });
});

export const shot = async (what) => shots && page.screenshot({ path: join(shots, `page-${what}.png`), fullPage: what.includes('narrow') });
export const text = (selector) => page.$eval(selector, (element) => element.textContent);
export async function drop(...paths) {
  await page.evaluate(() => { document.getElementById('status').textContent = ''; });
  await (await page.$('#files')).uploadFile(...paths);
  await page.waitForFunction("document.getElementById('progress').hidden && (document.getElementById('status').textContent || !document.getElementById('error').hidden)", { timeout: 120_000 });
}
/** Dark or light, where the browser's driver can say it (Firefox's cannot). */
export const dark = (on) => page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: on ? 'dark' : 'light' }]).catch(() => {});
export const show = (tab) => page.click(`#tab-${tab}`);

/** A file of the tests' own; its path. */
export function written(path, content) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
  return join(folder, path);
}
export const error = () => page.$eval('#error', (element) => (element.hidden ? '' : element.textContent));
export const until = (condition, timeout = 30_000) => page.waitForFunction(condition, { timeout });
/** Types into the input's field. */
export const fill = (name, value) => page.$eval(`[id="input-${name}"]`, (field, given) => {
  field.value = given;
  field.dispatchEvent(new Event('input'));
}, value);
export const start = async () => {
  await show('run');
  await page.$eval('#status', (element) => { element.textContent = ''; });
  await page.$eval('#run form button.act', (button) => button.click());
};
/** Runs; the error, if any. */
export const attempt = async () => {
  await start();
  await until("document.getElementById('status').textContent.startsWith('A run took') || !document.getElementById('error').hidden");
  return error();
};
export const run = async () => assert.equal(await attempt(), '');
/** Rows of the tables of results. */
export const results = () => page.$$eval('#answer tbody tr', (rows) => rows.map((row) => [...row.cells].slice(0, 2).map((cell) => cell.textContent)));
export const headings = () => page.$$eval('#answer h2', (all) => all.map(({ textContent }) => textContent));

export const f4 = ['float32', [4]];
export const unary = (op) => onnx({ inputs: { x: f4 }, outputs: { y: f4 }, nodes: [{ op, in: ['x'], out: ['y'] }] });
/** A tensor's file of NNEF: floats. */
export function nnefTensor(dims, data) {
  const head = new DataView(new ArrayBuffer(128));
  for (const [at, byte] of [0x4e, 0xef, 1, 0].entries()) head.setUint8(at, byte);
  for (const [at, number] of [data.length * 4, dims.length, ...dims].entries()) head.setUint32(4 + 4 * at, number, true);
  head.setUint32(44, 32, true);
  return Buffer.concat([Buffer.from(head.buffer), Buffer.from(Float32Array.from(data).buffer)]);
}

/** A sound of these samples: WAV of 16 bits at 16 kHz. */
export function wav(...samples) {
  const head = Buffer.alloc(44), data = Buffer.from(Int16Array.from(samples).buffer);
  for (const [at, text] of [[0, 'RIFF'], [8, 'WAVEfmt '], [36, 'data']]) head.write(text, at);
  for (const [at, number] of [[4, 36 + data.length], [16, 16], [20, 1 + (1 << 16)], [24, 16000], [28, 32000], [32, 2 + (16 << 16)], [40, data.length]]) head.writeUInt32LE(number, at);
  return Buffer.concat([head, data]);
}
export const focused = () => page.evaluate(() => `${document.activeElement.localName} ${document.activeElement.textContent}`);
