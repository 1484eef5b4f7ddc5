// The package in Deno, whose permissions say what of the environment and the addon it gets: what it does not get is not there.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installed } from './clients/scratch.mjs';
import { onnx } from './support/onnx-writer.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const wanted = ['../packages/nnex/dist/nnex.wasm', '../packages/linux-x64/nnex.node'].find((name) => !existsSync(path(name)));
const { place, missing } = wanted ? { missing: `${wanted} is not built` } : installed('deno@2.9.6');
const skip = missing ?? (process.platform !== 'linux' && 'the addon is for Linux');
let folder;

const network = onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }] });
const entries = {
  nnex: "import { load } from 'nnex'; const { y } = await (await load('neg.onnx')).run({ x: [3, 4] }); console.log(...y.data);",
  'nnex/onnxruntime': `import { InferenceSession, Tensor } from 'nnex/onnxruntime';
    const { y } = await (await InferenceSession.create('neg.onnx')).run({ x: new Tensor('float32', [3, 4]) }); console.log(...y.data);`,
  'nnex/polyfill': `import 'nnex/polyfill';
    const builder = new MLGraphBuilder(await navigator.ml.createContext()), x = builder.input('x', { dataType: 'float32', shape: [2] });
    await builder.build({ y: builder.neg(x) }); console.log(-3, -4);`,
};
before(() => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), 'nnex-deno-'));
  mkdirSync(join(folder, 'node_modules'));
  for (const [name, from] of [['nnex', '../packages/nnex'], ['nnex-linux-x64', '../packages/linux-x64'], ['onnxruntime-common', '../node_modules/onnxruntime-common']])
    cpSync(path(from), join(folder, 'node_modules', name), { recursive: true, dereference: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'neg.onnx'), network);
  Object.values(entries).forEach((source, i) => writeFileSync(join(folder, `${i}.mjs`), source));
});
after(() => folder && rmSync(folder, { recursive: true }));

for (const [i, entry] of Object.keys(entries).entries())
  for (const [flags, warnings] of [[['--allow-read'], 1], [['--allow-read', '--allow-env'], 1], [['--allow-read', '--allow-ffi'], 0], [['--allow-all'], 0]])
    test(`${entry} in Deno with ${flags.join(' ')}`, { skip, timeout: 120_000 }, () => {
      const { NNEX_ENGINE, NNEX_NODE_ADDON, ...env } = process.env;
      const { stdout, stderr } = spawnSync(join(place, 'node_modules/.bin/deno'), ['run', '--no-prompt', ...flags, `${i}.mjs`],
        { cwd: folder, encoding: 'utf8', env: { ...env, DENO_DIR: join(folder, 'cache'), DENO_NO_UPDATE_CHECK: '1' } });
      assert.equal(stdout, '-3 -4\n', stderr);
      assert.equal(stderr.split('\n').filter((line) => line.includes('[NNEX_WASM]')).length, warnings, stderr);
    });
