// Makes of the types in packages/nnex/dist, which tsc wrote for ES modules, those of require(): for each *.d.ts that an entry needs a *.d.cts beside it. What is
// global stays in one file, as a program may have both.
import { readFile, writeFile } from 'node:fs/promises';

const folder = new URL('../packages/nnex/', import.meta.url);
const { exports } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
const globals = new URL('dist/ml/globals.gen.d.ts', folder);
const made = new Set();

/**
 * As compilers see ONNX Runtime's module: InferenceSession by its own declarations, whose namespace comes with them, and the default as a namespace of
 * all names, which stand in a file of their own for it.
 */
const session = /export declare const InferenceSession: .*;\nexport type InferenceSession = .*;/, byDefault = /declare const _default: .*;\nexport default _default;\n/;
for (const name of ['onnxruntime', 'onnxruntime-browser']) {
  const file = new URL(`dist/${name}.d.ts`, folder), text = await readFile(file, 'utf8');
  for (const one of [session, byDefault]) if (!one.test(text)) throw new Error(`${file.pathname}: found nothing like ${one}`);
  await writeFile(new URL(`dist/${name}-names.d.ts`, folder), text.replace(session, "export { InferenceSession } from 'onnxruntime-common';").replace(byDefault, ''));
  await writeFile(file, `import * as entry from './${name}-names.js';\nexport * from './${name}-names.js';\nexport default entry;\n`);
}

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
  await writeFile(file, `export * from '${cjs}';\n${hasDefault ? `export { default } from '${cjs}';\n` : ''}`);
}
