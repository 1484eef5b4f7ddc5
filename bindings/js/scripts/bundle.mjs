// Makes packages/nnex/dist: each entry that package.json exports, as an ES module and for require(), and for browsers where its source
// is there.
import { access, copyFile, readFile, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

const folder = new URL('../packages/nnex/', import.meta.url);
const { exports, version } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
const there = path => access(new URL(path, folder)).then(() => true, () => false);
const path = name => new URL(name, folder).pathname;

const define = { NNEX_VERSION: JSON.stringify(version), NNEX_PAGE: 'false' };
// Names are left as they are: they stand in stacks. Node shows the line that an error came from, where nobody catches it.
const common = {
  bundle: true, minifyWhitespace: true, minifySyntax: true, lineLimit: 120, sourcemap: false, legalComments: 'none', packages: 'external', logLevel: 'warning',
  charset: 'utf8', define,
};
const targets = {
  import: { platform: 'node', target: 'node18', format: 'esm' },
  // require() has no import.meta: the file's own address stands for it.
  require: {
    platform: 'node', target: 'node18', format: 'cjs', define: { ...define, 'import.meta.url': 'nnexUrl' },
    banner: { js: "'use strict';\nconst nnexUrl = require('node:url').pathToFileURL(__filename).href;" },
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
  for (const { [condition]: out } of Object.values(exports)) {
    const source = out?.replace(/^\.\/dist\/(.*)\.c?js$/, './src/$1.ts');
    if (out && (await there(source))) sources.set(source, out);
  }
  for (const [source, out] of sources) {
    if (out === './dist/index.cjs') continue;  // below
    await build({ ...common, ...options, entryPoints: [path(source)], outfile: path(out), plugins: condition === 'browser' ? [beside(sources, source)] : [later, beside(sources, source)] });
  }
}
// require('nnex') reads what is asked for when it is asked for first: each half of it is a file.
const halves = [];
for (const half of ['webnn', 'models']) {
  const entry = { ...common, entryPoints: [path(`./src/${half}.ts`)], plugins: [later] };
  await build({ ...entry, ...targets.require, outfile: path(`./dist/${half}.cjs`) });
  const { metafile } = await build({ ...entry, ...targets.import, write: false, metafile: true, outfile: 'out.js' });
  for (const name of metafile.outputs['out.js'].exports) halves.push(`  ${name}: '${half}',\n`);
}
await writeFile(path('./dist/index.cjs'), `'use strict';
const halves = {
${halves.join('')}};
for (const [name, half] of Object.entries(halves))
  Object.defineProperty(exports, name, { get: () => require(\`./\${half}.cjs\`)[name], enumerable: true });
Object.defineProperty(exports, '__esModule', { value: true });
`);
// What Node computes with where there is no addon, and its threads.
for (const name of ['wasm', 'thread'])
  await build({ ...common, ...targets.import, entryPoints: [path(`./src/${name}.ts`)], outfile: path(`./dist/${name}.js`) });
// The worker of pages, beside their entries.
await build({ ...common, ...targets.browser, entryPoints: [path('./src/wasm/worker.ts')], outfile: path('./dist/worker.js') });
// Scripts of pages that are no modules, whose global `nnex` has what an import gives.
const globals = { nnex: "export * from './browser.js';", polyfill: "export * from './browser.js'; export { ready } from './polyfill-browser.js';" };
for (const [name, contents] of Object.entries(globals))
  await build({
    ...common, ...targets.browser, format: 'iife', globalName: 'nnex',
    logOverride: { 'empty-import-meta': 'silent' }, stdin: { contents, resolveDir: path('./src') }, outfile: path(`./dist/${name}.global.js`),
  });
// Every package says under which terms it may be used.
for (const place of ['nnex', 'linux-x64']) await copyFile(new URL('../../../LICENSE', import.meta.url), new URL(`../${place}/LICENSE`, folder));
