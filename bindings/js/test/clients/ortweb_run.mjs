// ortweb_run.mjs PLACE FOLDER NAME...: networks by onnxruntime-web's WebNN provider in this process. A line of JSON for each:
// {name, operations, dispatches, wrong, error?}.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { load } from 'nnex';
import 'nnex/polyfill';
import { network } from './files.mjs';
import { Player } from './ortweb_play.mjs';

const [, , place, folder, ...names] = process.argv;
const player = new Player(await import(pathToFileURL(join(place, 'node_modules/onnxruntime-web/dist/ort.all.mjs'))), load);
for (const name of names) process.stdout.write(`${JSON.stringify({ name, ...await player.play(network(join(folder, name))) })}\n`);
process.exit(0);
