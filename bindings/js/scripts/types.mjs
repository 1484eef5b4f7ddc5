// Makes of the types in packages/nnex/dist, which tsc wrote for ES modules, those of require(): for each *.d.ts that an entry needs a *.d.cts beside it. What is
// global stays in one file, as a program may have both.
import { readFile, writeFile } from 'node:fs/promises';

const folder = new URL('../packages/nnex/', import.meta.url);
const { exports } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
const globals = new URL('dist/ml/globals.gen.d.ts', folder);
const made = new Set();

async function make(file) {
  if (made.has(file.href)) return;
  made.add(file.href);
  const needed = [];
  const text = file.href === globals.href ? '/// <reference path="./globals.gen.d.ts" />\nexport {};\n' : (await readFile(file, 'utf8')).replace(/(['"])(\.{1,2}\/[^'"]+)\.js\1/g, (_, quote, path) => {
    needed.push(new URL(`${path}.d.ts`, file));
    return `${quote}${path}.cjs${quote}`;
  });
  await writeFile(new URL(file.href.replace(/\.d\.ts$/, '.d.cts')), text);
  for (const other of needed) await make(other);
}
for (const { types } of Object.values(exports)) {
  if (!types) continue;
  const file = new URL(types.default, folder);
  await make(file);
  // What Node imports is what it requires: classes of the same declaration.
  const cjs = types.require.replace('/dist', '').replace(/\.d\.cts$/, '.cjs'), hasDefault = /^export default /m.test(await readFile(file, 'utf8'));
  await writeFile(file, `export * from '${cjs}';\n${hasDefault ? `declare const entry: (typeof import('${cjs}'))['default'];\nexport default entry;\n` : ''}`);
}
