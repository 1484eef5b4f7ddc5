// Makes packages/nnex/dist: each entry that package.json exports, for require(), as an ES module for bundlers, and for browsers where its source is there. What Node
// imports are the names of what require() gives, so that the classes and the state of a process are there once.
import { access, copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { build } from 'esbuild';
import { interfaceOf } from '../wasm/interface.mjs';

const folder = new URL('../packages/nnex/', import.meta.url);
const { exports, version } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
const there = path => access(new URL(path, folder)).then(() => true, () => false);
const path = name => new URL(name, folder).pathname;

const define = { NNEX_VERSION: JSON.stringify(version), NNEX_INTERFACE: JSON.stringify(interfaceOf()), NNEX_PAGE: 'false' };
// Names are left as they are: they stand in stacks. Node shows the line that an error came from, where nobody catches it.
const common = {
  bundle: true, minifyWhitespace: true, minifySyntax: true, lineLimit: 120, sourcemap: false, legalComments: 'none', packages: 'external', logLevel: 'warning',
  charset: 'utf8', define,
};
const targets = {
  module: { platform: 'node', target: 'node18', format: 'esm' },
  // require() has no import.meta: the file's own address stands for it; where a bundler made an ES module of it, which has none either, that of the program.
  require: {
    platform: 'node', target: 'node18', format: 'cjs', define: { ...define, 'import.meta.url': 'nnexUrl' },
    banner: { js: "'use strict';\nconst nnexUrl = require('node:url').pathToFileURL(typeof __filename === 'string' ? __filename : process.argv[1] ?? 'x').href;" },
  },
  browser: { platform: 'browser', target: 'es2022', format: 'esm', minify: true, define: { ...define, NNEX_PAGE: 'true' } },
};
/** Entries see each other as files beside them: classes that users compare are there once. */
const beside = (sources, source) => ({
  name: 'entries beside each other',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/[^/]+\.js$/ }, ({ path: asked, importer }) => {
      const other = `./src/${asked.slice(2, -3)}.ts`;
      if (importer === path(source) && other !== source && sources.has(other))
        return { path: `./${sources.get(other).split('/').pop()}`, external: true };
    });
  },
});
/** What Node imports where it is needed stays a file of its own, which a start does not read. */
const later = {
  name: 'files for later',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\// }, ({ path: asked, kind }) => (kind === 'dynamic-import' ? { path: asked, external: true } : undefined));
  },
};
for (const [condition, options] of Object.entries(targets)) {
  const sources = new Map();
  for (const { [condition]: found } of Object.values(exports)) {
    const out = found?.default ?? found;
    const source = out?.replace(/^\.\/dist\/(.*)\.c?js$/, './src/$1.ts');
    if (out && (await there(source))) sources.set(source, out);
  }
  for (const [source, out] of sources) {
    if (out === './dist/index.cjs') continue;  // below
    await build({ ...common, ...options, entryPoints: [path(source)], outfile: path(out), plugins: condition === 'browser' ? [beside(sources, source)] : [later, beside(sources, source)] });
  }
}
// require('nnex') reads what is asked for when it is asked for first: each half of it is a file.
const require = createRequire(folder);
const halves = new Map();
for (const half of ['webnn', 'models']) {
  const out = path(`./dist/${half}.cjs`);
  await build({ ...common, ...targets.require, entryPoints: [path(`./src/${half}.ts`)], outfile: out, plugins: [later] });
  for (const name of Object.keys(require(out))) halves.set(name, half);
}
await writeFile(path('./dist/index.cjs'), `'use strict';
const halves = {
${[...halves].map(([name, half]) => `  ${name}: () => require('./${half}.cjs'),\n`).join('')}};
for (const [name, half] of Object.entries(halves))
  Object.defineProperty(exports, name, { get: () => half()[name], enumerable: true });
Object.defineProperty(exports, '__esModule', { value: true });
// Names for who imports this file by itself, as Deno does from CommonJS: they are read in its text.
0 && (module.exports = { ${[...halves.keys()].join(', ')} });
`);
// What Node imports. onnxruntime-common has copies of its own for import and for require(): both know nnex.
const also = { './dist/onnxruntime.mjs': "import * as common from 'onnxruntime-common';\nregister(common);\n" };
for (const { import: out, require: cjs } of Object.values(exports)) {
  if (!out) continue;
  const names = Object.keys(require(path(cjs))), named = names.filter((name) => name !== 'default');
  await writeFile(path(out), `import entry from '${cjs.replace('/dist', '')}';
export const { ${named.join(', ')} } = entry;
${named.length < names.length ? 'export default entry.default;\n' : ''}${also[out] ?? ''}`);
}
// What Node computes with where there is no addon, and its threads.
for (const name of ['wasm', 'thread'])
  await build({ ...common, ...targets.module, entryPoints: [path(`./src/${name}.ts`)], outfile: path(`./dist/${name === 'thread' ? 'thread.mjs' : 'wasm.js'}`) });
// The worker of pages, beside their entries.
await build({ ...common, ...targets.browser, entryPoints: [path('./src/wasm/worker.ts')], outfile: path('./dist/worker.js') });
// Scripts of pages that are no modules, whose global `nnex` has what an import gives.
const globals = { nnex: "export * from './browser.js';", polyfill: "export * from './browser.js'; export { ready } from './polyfill-browser.js';" };
for (const [name, contents] of Object.entries(globals))
  await build({
    ...common, ...targets.browser, format: 'iife', globalName: 'nnex',
    logOverride: { 'empty-import-meta': 'silent' }, stdin: { contents, resolveDir: path('./src') }, outfile: path(`./dist/${name}.global.js`),
  });
// Bundlers know the files beside an entry by the letters of `new URL('./worker.js', import.meta.url)`: lines that end within them are joined.
for (const name of await readdir(path('./dist'))) {
  if (!/\.m?js$/.test(name)) continue;
  const file = path(`./dist/${name}`), text = await readFile(file, 'utf8'), joined = text.replace(/import\.\s*meta\.\s*url/g, 'import.meta.url');
  if (joined !== text) await writeFile(file, joined);
}
// Every package says under which terms it may be used.
for (const place of ['nnex', 'linux-x64']) await copyFile(new URL('../../../LICENSE', import.meta.url), new URL(`../${place}/LICENSE`, folder));
