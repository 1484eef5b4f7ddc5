/** The files that a model's own file needs beside it: the module opens none, so it is given them with the model. */
import { builtin } from './builtin.js';

/** A file by its name: its bytes, or why it is not read. */
export type GivenFile = [name: string, held: Uint8Array | string];

/** What JSON begins with. */
export const kBrace = 123;
/** Of an external tensor in ONNX's messages: the key "location" under its number and length, then the number of the value. */
const kLocation = '\x0a\x08location\x12';

/** Where an ONNX model says that its external tensors lie. A text that happens to look so names no file. */
function locations(model: Buffer): Set<string> {
  const found = new Set<string>();
  const utf8 = new TextDecoder();
  for (let at = model.indexOf(kLocation, 0, 'latin1'); at >= 0; at = model.indexOf(kLocation, at, 'latin1')) {
    at += kLocation.length;
    let length = 0;
    for (let shift = 0, more = true; more && shift < 28; shift += 7, ++at) {
      length |= (model[at]! & 127) << shift;
      more = model[at]! >= 128;
    }
    found.add(utf8.decode(model.subarray(at, at + length)));
  }
  return found;
}

/** Of JSON: the weights that a text of WebNN names, else CVM's params, which have the symbol's name or none. */
function companions(name: string, model: Uint8Array): string[] {
  if (model[0] !== kBrace) return [];
  const [, weights] = /"weights"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(new TextDecoder().decode(model)) ?? [];
  try {
    if (weights !== undefined) return [JSON.parse(weights) as string];
  } catch {
    return [];
  }
  return [`${name.replace(/\.[^.]*$/, '')}.params`, 'params'];
}

/** A file below a folder: its bytes, or why it is not read, by the same rules as the addon's; undefined: there is none, or the module says why not. */
export async function below(folder: string, name: string): Promise<Uint8Array | string | undefined> {
  const { lstat, readFile, realpath } = await builtin('fs/promises');
  const { isAbsolute, join, relative } = await builtin('path');
  const place = join(folder, name);
  if (!name || name.includes('\0') || isAbsolute(name) || relative(folder, place).split('/')[0] === '..') return undefined;
  const real = await realpath(place).catch(() => undefined);
  if (real === undefined) return undefined;
  if (real !== place) return `cannot open '${name}': a link or no folder on the way`;
  const about = await lstat(place);
  if (!about.isFile()) return `'${name}' is no regular file`;
  return about.nlink > 1 ? `'${name}' is a hard link` : readFile(place);
}

/** Those files by their names, below a folder. `file`: what the model's own is called. */
export async function beside(inFolder: string, file: string, model: Uint8Array): Promise<GivenFile[]> {
  const { realpath } = await builtin('fs/promises');
  const { Buffer } = await builtin('buffer');
  const folder = await realpath(inFolder).catch(() => undefined);
  if (folder === undefined) return [];  // who needs it says so
  const named = locations(Buffer.from(model.buffer, model.byteOffset, model.byteLength)), others = named.size > 0 ? [...named] : companions(file, model);
  const files: GivenFile[] = [];
  for (const name of others) {
    const held = name === file ? undefined : await below(folder, name);
    if (held !== undefined) files.push([name, held]);
  }
  return files;
}
