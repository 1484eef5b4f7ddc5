// child.mjs MODULE: plays the cases its parent names on the navigator.ml that MODULE defines; '': on Node's own, if it has one.
import { readFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { playAll } from './play.mjs';

const [, , module] = process.argv;
if (module) await import(isAbsolute(module) ? pathToFileURL(module) : module);

let path, cases;
process.on('message', async ({ file, indices }) => {
  if (path !== file) ({ cases } = JSON.parse(await readFile(path = file, 'utf8')));
  process.send(await playAll(indices.map((i) => cases[i])));
});
