// A real client: LiteRT.js (npm @litertjs/core), whose WebNN delegate runs over our navigator.ml in a page of headless Chromium: it waits for promises
// within WebAssembly (JSPI), which Node and Firefox have not.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installed } from './clients/scratch.mjs';
import { launch, missingBrowser } from './conform/browser.mjs';
import { serve } from './conform/server.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const dist = file('../packages/nnex/dist/');
const { place, missing } = installed('@litertjs/core@2.5.3');
const skip = missing ?? missingBrowser('chromium') ?? (!existsSync(`${dist}nnex.wasm`) && 'the WebAssembly modules are not built');

const html = `<!doctype html><meta charset="utf-8"><title>LiteRT.js</title>
<script type="importmap">{"imports": {"@litertjs/wasm-utils": "/litert/wasm-utils/dist/index.js"}}</script>
<script type="module">
import { ml } from '/nnex/browser.js';
import '/nnex/polyfill-browser.js';
import { loadAndCompile, loadLiteRt, Tensor } from '/litert/core/dist/index.js';
import { tflite } from '/support/tflite-writer.mjs';
const counts = {};
for (const [where, method] of [[MLGraphBuilder, 'gemm'], [MLGraphBuilder, 'softmax'], [MLContext, 'dispatch']]) {
  const own = where.prototype[method];
  where.prototype[method] = function (...args) {
    counts[method] = (counts[method] ?? 0) + 1;
    return Reflect.apply(own, this, args);
  };
}
// relu(w x + b) + c, and its softmax
const model = tflite({
  tensors: [{ name: 'x', shape: [1, 4] }, { name: 'w', shape: [3, 4], data: [1, 2, 3, 4, -1, -2, -3, -4, 0.5, 0.5, 0.5, 0.5] }, { name: 'b', shape: [3], data: [0.5, 0.25, 0.125] },
    { name: 'h', shape: [1, 3] }, { name: 'c', shape: [1, 3], data: [1, 2, 3] }, { name: 's', shape: [1, 3] }, { name: 'y', shape: [1, 3] }],
  inputs: [0], outputs: [5, 6],
  operators: [{ code: 9, inputs: [0, 1, 2], outputs: [3], options: { type: 8, fields: { 0: ['u8', 1] } } }, { code: 0, inputs: [3, 4], outputs: [5], options: { type: 11, fields: { 0: ['u8', 0] } } },
    { code: 25, inputs: [5], outputs: [6], options: { type: 9, fields: { 0: ['f32', 1] } } }],
});
window.run = async (accelerator) => {
  const compiled = await loadAndCompile(model.slice(), { accelerator });
  const answers = await compiled.run([new Tensor(Float32Array.of(0.25, 0.5, 0.75, 1), [1, 4])]);
  return Promise.all(answers.map(async (tensor) => Array.from(await tensor.data())));
};
window.counts = counts;
window.ready = loadLiteRt('/litert/core/wasm/', { jspi: true }).then(() => navigator.ml === ml);
</script>`;

test('LiteRT.js by WebNN', { skip, timeout: 180_000 }, async () => {
  const server = await serve(new Map([['page.html', { text: html }], ['nnex', { path: dist }], ['support', { path: file('support') }],
    ['litert', { path: join(place, 'node_modules/@litertjs') }]]), { isolated: true });
  const browser = await launch('chromium');
  try {
    const page = await browser.newPage();
    await page.goto(`http://localhost:${server.port}/page.html`);
    await page.waitForFunction('window.ready', { timeout: 60_000 });
    assert.equal(await page.evaluate('ready'), true, 'navigator.ml is not ours');
    const own = await page.evaluate("run('wasm')");
    assert.deepEqual(await page.evaluate('counts'), {}, 'its own kernels ran first');
    const answers = await page.evaluate("run('webnn')");
    assert.deepEqual(await page.evaluate('counts'), { gemm: 1, softmax: 1, dispatch: 1 });
    assert.deepEqual(answers[0], [9, 2, 4.375]);  // every sum is exact
    const all = answers[0].reduce((sum, x) => sum + Math.exp(x), 0);
    for (const list of [answers[1], own[1]]) list.forEach((p, i) => assert.ok(Math.abs(p - Math.exp(answers[0][i]) / all) < 1e-6, `${list}`));
    assert.deepEqual(own[0], answers[0]);
  } finally {
    await browser.close();
    await server.close();
  }
});
