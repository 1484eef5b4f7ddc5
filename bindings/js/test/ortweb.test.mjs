// A real client: onnxruntime-web's WebNN provider over our navigator.ml, on the networks of ../shared/models, with the answers stored there and those
// of our own engine: in Node, and in a page of headless Chromium over the polyfill.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { namesOf, pathsOf } from './clients/files.mjs';
import { installed } from './clients/scratch.mjs';
import { launch, missingBrowser } from './conform/browser.mjs';
import { serve } from './conform/server.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const shared = process.env.NNEX_SHARED ?? file('../../../../shared');
const folder = join(shared, 'models/onnx');
const { place, missing } = existsSync(folder) ? installed('onnxruntime-web@1.30.0') : { missing: `${folder} is missing (set NNEX_SHARED)` };
const names = missing ? [] : namesOf(folder);

/** One network's row, as a test. */
function judge(one, row) {
  one.diagnostic(`${row.operations} operations, ${row.dispatches} dispatches`);
  assert.equal(row.error, undefined);
  assert.deepEqual(row.wrong, []);
  if (row.operations === 0) one.skip('the provider takes no node of this network');
  else assert.ok(row.dispatches > 0, 'operations were built and none was run');
}

/** All networks in one process, which compiles the client's module once: rows by name, and what the process said. */
const inNode = () => new Promise((resolve) => {
  const child = spawn(process.execPath, [file('clients/ortweb_run.mjs'), place, folder, ...names]);
  let stdout = '', stderr = '';
  child.stdout.on('data', (text) => { stdout += text; });
  child.stderr.on('data', (text) => { stderr += text; });
  child.on('close', () => resolve({ rows: new Map(stdout.trim().split('\n').filter(Boolean).map((line) => [JSON.parse(line).name, JSON.parse(line)])), stderr }));
});
test('onnxruntime-web by WebNN in Node', { skip: missing }, async (t) => {
  const { rows, stderr } = await inNode();
  for (const name of names)
    await t.test(name, (one) => {
      assert.ok(rows.has(name), `the process ended before: ${stderr.slice(-1000)}`);
      judge(one, rows.get(name));
    });
});

const html = `<!doctype html><meta charset="utf-8"><title>onnxruntime-web</title>
<script type="module">
import { load, ml } from '/nnex/browser.js';
import '/nnex/polyfill-browser.js';
import * as ort from '/ort/ort.all.mjs';
import { Player } from '/clients/ortweb_play.mjs';
import { networkOf } from '/clients/stored.mjs';
const player = new Player(ort, load);
const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());
window.play = async (name, paths) => player.play(networkOf(new Map(await Promise.all(paths.map(async (path) => [path, await bytes(\`/networks/\${name}/\${path}\`)])))));
window.ready = navigator.ml === ml;
</script>`;
const dist = file('../packages/nnex/dist/');
const noPage = missing ?? missingBrowser('chromium') ?? (!existsSync(`${dist}nnex.wasm`) && 'the WebAssembly modules are not built');
test('onnxruntime-web by WebNN in Chromium', { skip: noPage }, async (t) => {
  const server = await serve(new Map([['page.html', { text: html }], ['nnex', { path: dist }], ['clients', { path: file('clients') }], ['networks', { path: folder }],
    ['ort', { path: join(place, 'node_modules/onnxruntime-web/dist') }]]), { isolated: true });
  const browser = await launch('chromium');
  const page = await browser.newPage(), said = [];
  page.on('pageerror', (error) => said.push(error.message));
  try {
    await page.goto(`http://localhost:${server.port}/page.html`);
    await page.waitForFunction('window.ready !== undefined', { timeout: 60_000 });
    assert.equal(await page.evaluate('ready'), true, 'navigator.ml is not ours');
    for (const name of names)
      await t.test(name, async (one) => judge(one, await page.evaluate((...what) => window.play(...what), name, pathsOf(join(folder, name)))));
    assert.deepEqual(said, []);
  } finally {
    await browser.close();
    await server.close();
  }
});
