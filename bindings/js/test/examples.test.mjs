// The examples in examples/js, run as a user would: copied beside a node_modules that has the packages.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, missingBrowser } from './conform/browser.mjs';
import { serve } from './conform/server.mjs';
import { folder as peers, missing } from './support/peers.mjs';
import { identity, onnx } from './support/onnx-writer.mjs';
import { writeModels } from './support/tiny-transformers.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const model = join(root, 'models/shapes/model.onnx');
const skip = missing({ '@huggingface/transformers': '4.3.1', 'onnxruntime-node': '1.30.0' });
let folder;
const run = (name, ...args) => execFileSync(process.execPath, [join(folder, name), ...args], { encoding: 'utf8', timeout: 120_000 });

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'nnex-examples-'));
  cpSync(join(root, 'examples/js'), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  const packages = join(root, 'bindings/js/node_modules');
  for (const name of ['nnex', 'nnex-linux-x64', 'onnxruntime-common']) symlinkSync(join(packages, name), join(folder, 'node_modules', name));
  if (!skip) symlinkSync(join(peers, 'node_modules/@huggingface'), join(folder, 'node_modules/@huggingface'));
});
after(() => rmSync(folder, { recursive: true }));

test('every example has its test', () => assert.deepEqual(readdirSync(join(root, 'examples/js')).sort(), ['page.html', 'run.mjs', 'transformers.mjs', 'worker.mjs']));

test('an example without arguments says what it takes', () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.mjs'))) {
    const { status, stderr } = spawnSync(process.execPath, [join(folder, name)], { encoding: 'utf8' });
    assert.deepEqual([status, stderr.split(' ').slice(0, 3).join(' ')], [2, `usage: node ${name}`]);
  }
});

test('run.mjs', () => {
  const text = run('run.mjs', model);
  assert.match(text, /ONNX, \d+ nodes, \d+ parameters/);
  assert.match(text, /input {2}picture {2}f32\[N,3,32,32\]\noutput probabilities {2}float32\[1,8\] {2}0\.\d+/);
  assert.match(text, /\d µs {2}.*\(.+\)/);
  const pairs = join(folder, 'pairs.onnx');
  writeFileSync(pairs, identity(['int4', [3]], 21, 10));
  assert.match(run('run.mjs', pairs), /\noutput s {2}int4\[3\] {2}0 0\n/);
  writeFileSync(pairs, onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: { sequence: ['float32', [2]] } }, nodes: [{ op: 'SequenceConstruct', in: ['x'], out: ['y'] }] }));
  assert.match(run('run.mjs', pairs), /\noutput y {2}\[/);
  const failed = spawnSync(process.execPath, [join(folder, 'run.mjs'), '/nowhere.onnx'], { encoding: 'utf8' });
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /^unreadable: cannot open/);
});

test('worker.mjs', () => {
  const lines = run('worker.mjs', model).trim().split('\n');
  assert.equal(lines.length, 3);
  lines.forEach((line, i) => assert.match(line, new RegExp(`^${i + 1}: probabilities \\[1,8\\] 0\\.\\d+`)));
});

test('transformers.mjs', { skip }, () => {
  const models = join(folder, 'models');
  writeModels(models);
  assert.match(run('transformers.mjs', `${models}/`, 'decoder', 'the cat'), /^the cat( \S+)+\n$/);
});

const browser = process.env.BROWSER ?? 'chromium';
const modules = join(root, 'bindings/js/packages/nnex/dist/nnex.wasm');
const noPage = missingBrowser(browser) ?? (!existsSync(modules) && 'the WebAssembly modules are not built');
test(`page.html in ${browser}`, { skip: noPage, timeout: 120_000 }, async () => {
  const server = await serve(new Map([['page.html', { path: join(folder, 'page.html') }], ['node_modules', { path: join(folder, 'node_modules') }]]));
  const running = await launch(browser);
  try {
    const page = await running.newPage(), faults = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(`http://localhost:${server.port}/page.html`);
    const says = async (id, text) => {
      await page.waitForFunction((name) => !/^…?$/.test(document.getElementById(name).textContent), { timeout: 60_000 }, id);
      assert.match(await page.$eval(`#${id}`, (element) => element.textContent), text);
    };
    await says('webnn', /^0\.25 and 0\.75$/);
    const file = await page.$('#file');
    await file.uploadFile(model);
    await says('model', /^probabilities: float32\[1,8\] 0\.\d+/);
    await page.$eval('#model', (element) => { element.textContent = ''; });
    await file.uploadFile(join(folder, 'run.mjs'));
    await says('model', /run\.mjs/);
    assert.deepEqual(faults, []);
  } finally {
    await running.close();
    await server.close();
  }
});
