// Every interface, member and conversion that WebNN's IDL (npm @webref/idl) says, in Node by import and by require, and in browsers.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'webidl2';

const here = dirname(fileURLToPath(import.meta.url));
const dist = fileURLToPath(new URL('../packages/nnex/dist/', import.meta.url));
const idl = createRequire(import.meta.url).resolve('@webref/idl/webnn.idl');
// What the package has besides: members that the standard once had and that clients of today still say, and one that they read.
const legacy = `enum MLDeviceType { "cpu", "gpu", "npu" };
partial dictionary MLContextOptions { MLDeviceType deviceType; };
partial dictionary MLPool2dOptions { MLRoundingType roundingType; };
partial interface MLGraph { readonly attribute FrozenArray<MLDeviceType> devices; };`;
const tree = JSON.stringify([...parse(readFileSync(idl, 'utf8')), ...parse(legacy)]);
const folder = mkdtempSync(join(tmpdir(), 'idl-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'tree.json'), tree);

const judge = ({ count, wrong }) => {
  assert.ok(count > 5000, `only ${count} checks were made`);
  assert.equal(wrong.length, 0, `${wrong.length} of ${count} checks failed:\n${wrong.join('\n')}`);
};

/** The checks in a Node process of their own, after `load`. */
const inNode = (load, env = {}) => new Promise((resolve, reject) => {
  const script = `${load};
    const { checkIdl } = await import('./idl/run.mjs');
    const { readFileSync } = await import('node:fs');
    process.stdout.write(JSON.stringify(await checkIdl(JSON.parse(readFileSync(process.argv[1], 'utf8')))));`;
  execFile(process.execPath, ['--input-type=module', '-e', script, join(folder, 'tree.json')], { cwd: here, env: { ...process.env, ...env }, maxBuffer: 1 << 26 },
    (error, stdout, stderr) => (error ? reject(new Error(stderr || error.message)) : resolve(JSON.parse(stdout))));
});

test('Node, by import', async () => judge(await inNode("await import('nnex/polyfill')")));
test('Node, by require', async () =>
  judge(await inNode("const { createRequire } = await import('node:module'); createRequire(process.cwd() + '/x.js')('nnex/polyfill')")));
test('Node, WebAssembly', { skip: !existsSync(`${dist}nnex.wasm`) && 'the WebAssembly module is not built' }, async () =>
  judge(await inNode("await import('nnex/polyfill')", { NNEX_ENGINE: 'wasm' })));

for (const [browser, program] of [['chromium', '/usr/bin/chromium'], ['firefox', '/usr/bin/firefox-esr']]) {
  const polyfill = `${dist}polyfill-browser.js`;
  const missing = [program, polyfill, `${dist}nnex.wasm`].find((path) => !existsSync(path));
  test(browser, { skip: missing && `${missing} is missing` }, async () => {
    const { launch } = await import('./conform/browser.mjs');
    const { serve } = await import('./conform/server.mjs');
    const server = await serve(new Map([['idl', { path: `${here}/idl` }], ['nnex', { path: dist }], ['page.html', { text: '<!doctype html><title>idl</title>' }],
      ['tree.json', { text: tree }]]), { isolated: true });
    const running = await launch(browser);
    try {
      const page = await running.newPage();
      await page.goto(`http://localhost:${server.port}/page.html`);
      judge(await page.evaluate(async () => {
        await import('/nnex/polyfill-browser.js');
        const { checkIdl } = await import('/idl/run.mjs');
        return checkIdl(await (await fetch('/tree.json')).json());
      }));
    } finally {
      await running.close();
      await server.close();
    }
  });
}
