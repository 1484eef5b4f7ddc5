// The files of networks with stored data, from a folder.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { networkOf } from './stored.mjs';

/** The paths that make a network, in its folder. */
export function pathsOf(folder) {
  const sets = readdirSync(folder).filter((set) => set.startsWith('test_data_set_'));
  return ['model.onnx', ...existsSync(join(folder, 'tolerance.json')) ? ['tolerance.json'] : [],
    ...sets.flatMap((set) => readdirSync(join(folder, set)).filter((file) => /^(in|out)put_\d+\.pb$/.test(file)).map((file) => `${set}/${file}`))];
}

export const network = (folder) => networkOf(new Map(pathsOf(folder).map((path) => [path, readFileSync(join(folder, path))])));

/** The folders in a folder, by name: a network each. */
export const namesOf = (folder) => readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name);
