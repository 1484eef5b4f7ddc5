// Makes packages/nnex/dist: each entry that package.json exports, as an ES module and for require(), and for browsers where its source
// is there.
import { access, readFile } from 'node:fs/promises';
import { build } from 'esbuild';

const folder = new URL('../packages/nnex/', import.meta.url);
const { exports, version } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
const there = path => access(new URL(path, folder)).then(() => true, () => false);
const path = name => new URL(name, folder).pathname;

const define = { NNEX_VERSION: JSON.stringify(version) };
const common = { bundle: true, sourcemap: false, legalComments: 'none', packages: 'external', logLevel: 'warning', charset: 'utf8', define };
const targets = {
  import: { platform: 'node', target: 'node18', format: 'esm' },
  // require() has no import.meta: the file's own address stands for it.
  require: {
    platform: 'node', target: 'node18', format: 'cjs', define: { ...define, 'import.meta.url': 'nnexUrl' },
    banner: { js: "'use strict';\nconst nnexUrl = require('node:url').pathToFileURL(__filename).href;" },
  },
  browser: { platform: 'browser', target: 'es2022', format: 'esm', minify: true, external: ['node:*'] },
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
for (const [condition, options] of Object.entries(targets)) {
  const sources = new Map();
  for (const { [condition]: out } of Object.values(exports)) {
    const source = out?.replace(/^\.\/dist\/(.*)\.c?js$/, './src/$1.ts');
    if (out && (await there(source))) sources.set(source, out);
  }
  for (const [source, out] of sources)
    await build({ ...common, ...options, entryPoints: [path(source)], outfile: path(out), plugins: [beside(sources, source)] });
}
// The worker of pages, beside their entries.
await build({ ...common, ...targets.browser, entryPoints: [path('./src/wasm/worker.ts')], outfile: path('./dist/worker.js') });
