// The blocks of JavaScript in the documents, run as they stand beside a node_modules that has the package and the models they name; what they print
// is what their comments behind console.log() say, where "..." stands for anything.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { onnx } from './support/onnx-writer.mjs';
import { folder as peers, missing } from './support/peers.mjs';
import { writeModels } from './support/tiny-transformers.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const documents = ['README.md', ...readdirSync(join(root, 'docs'), { recursive: true }).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)];
const blocks = documents.flatMap((name) => {
  const text = readFileSync(join(root, name), 'utf8');
  return [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(({ 1: code, index }) => ({ name: `${name}:${text.slice(0, index).split('\n').length}`, code }));
});
const transformers = { '@huggingface/transformers': '4.3.1', 'onnxruntime-node': '1.30.0' };
let folder;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'nnex-documents-'));
  const modules = join(folder, 'node_modules'), ours = join(root, 'bindings/js/node_modules');
  mkdirSync(modules);
  for (const name of ['nnex', 'nnex-linux-x64', 'onnxruntime-common']) symlinkSync(join(ours, name), join(modules, name));
  symlinkSync(join(peers, 'node_modules/@huggingface'), join(modules, '@huggingface'));
  writeFileSync(join(folder, 'model.onnx'), onnx({ inputs: { x: ['float32', [1, 3]] }, outputs: { y: ['float32', [1, 3]] }, nodes: [{ op: 'Add', in: ['x', 'x'], out: ['y'] }] }));
  writeModels(join(folder, 'models'));
});
after(() => rmSync(folder, { recursive: true }));

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('\\.\\.\\.', '.*');
/** A pattern of all that a block prints. */
const promised = (code) => new RegExp(`^${[...code.matchAll(/^console\.log\(.*\); *\/\/ (.*)$/gm)].map(([, line]) => `${escaped(line)}\n`).join('')}$`);

test('the documents have blocks to run', () => {
  const of = (name) => blocks.filter((block) => block.name.startsWith(name)).length;
  assert.ok(of('README.md') >= 1 && of('docs/javascript.md') >= 5 && of('docs/webassembly.md') >= 1, blocks.map(({ name }) => name).join());
  for (const { name, code } of blocks)
    assert.equal(code.match(/console\.log\(/g)?.length, code.match(/^console\.log\(.*\); *\/\/ /gm)?.length, `${name}: what is printed stands behind it`);
});

for (const { name, code } of blocks)
  test(name, { skip: code.includes('@huggingface') && missing(transformers) }, () => {
    writeFileSync(join(folder, 'block.mjs'), code);
    const condition = /\bconfigure\b/.test(code) ? ['--conditions=browser'] : [];  // what pages have and Node has not
    const { status, stdout, stderr } = spawnSync(process.execPath, [...condition, 'block.mjs'], { cwd: folder, encoding: 'utf8', timeout: 120_000 });
    assert.equal(status, 0, stderr);
    assert.match(stdout, promised(code));
  });
