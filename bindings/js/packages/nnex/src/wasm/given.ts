/** What the module is given of a source: it opens no files and has no gzip. */

import type { RawSource } from '../model/native.js';
import { type GivenFile, below, beside, kBrace } from './beside.js';
import { builtin } from './builtin.js';
import { isNode } from './code.js';
import { gunzip, isGzip } from './gzip.js';
import { modelError } from './wire.js';

/** A source in memory. */
export type Given = { name: string; bytes: Uint8Array } | { name: string; files: GivenFile[] };

/** What options of reading say here. */
interface Reading {
  readonly externalFolder?: string;
  readonly archiveLimit?: number;
  readonly archiveRatio?: number;
}

/** A path that cannot be opened, in the addon's words. */
function closed(path: string, why: string): Error {
  return modelError('unreadable', '', `cannot open '${path}': ${why}`, [`reading '${path}'`]);
}
/** What a call of the file system says is wrong: "No such file or directory". */
export function reasonOf(error: unknown): string {
  const { message } = error as Error, [, reason] = /^E[A-Z0-9]+: (.+?),/.exec(message) ?? [];
  return reason === undefined ? message : `${reason[0]!.toUpperCase()}${reason.slice(1)}`;
}

/** Texts in quotes: the labels of NNEF's variables are among them. */
const kQuoted = /'[^'\n]*'|"[^"\n]*"/g;

/** The files of NNEF in a folder: those that its structure names. */
async function structureIn(folder: string): Promise<Given> {
  const { realpath } = await builtin('fs/promises');
  const { join } = await builtin('path');
  const real = await realpath(folder), structure = await below(real, kStructure) ?? '';
  const labels = typeof structure === 'string' ? [] : new Set(new TextDecoder().decode(structure).match(kQuoted));
  const files: GivenFile[] = [[kStructure, structure]];
  for (const name of ['graph.quant', ...Array.from(labels, (quoted) => `${quoted.slice(1, -1)}.dat`)]) {
    const held = await below(real, name);
    if (held !== undefined) files.push([name, held]);
  }
  return { name: join(folder, kStructure), files };
}
const kStructure = 'graph.nnef';

/** Names of models, by which one is found in a folder. */
const kModel = /\.(onnx|onnxtxt|webnn|tar|tgz|tar\.gz|symbol)$/i;
/** How many of several models are named. */
const kShown = 4;

/** What a folder stands for, by the addon's rules: nothing but the model in it is read, whatever else it holds. */
async function inFolder(folder: string): Promise<Given> {
  const { readdir } = await builtin('fs/promises');
  const { join } = await builtin('path');
  const entries = await readdir(folder, { withFileTypes: true }), regular = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  if (entries.some(({ name }) => name === kStructure)) return structureIn(folder);
  const pair = ['symbol', 'params'].filter((name) => regular.includes(name));
  if (pair.length > 0) return { name: folder, files: await Promise.all(pair.map(async (name): Promise<GivenFile> => [name, await below(folder, name) ?? ''])) };
  const models = regular.filter((name) => kModel.test(name)).map((name) => join(folder, name)).sort();
  if (models.length > 1)
    throw modelError('unreadable', '', `'${folder}' holds ${models.length} models; name one of them: ${models.slice(0, kShown).join(', ')}${models.length > kShown ? ', ...' : ''}`, [`reading '${folder}'`]);
  if (models.length === 0) throw modelError('unreadable', '', `C1: '${folder}' holds no '${kStructure}'`, [`reading '${folder}'`]);
  return atPath(models[0]!, folder);
}

/** Among several files the model's is told by its ending. */
function withEnding(file: string, bytes: Uint8Array, others: readonly GivenFile[]): string {
  if (/\.(onnx|webnn)$/.test(file) || others.some(([name]) => name.endsWith('params'))) return file;
  return `${file}.${bytes[0] === kBrace ? 'webnn' : 'onnx'}`;
}

/** A model's file with those that it names, where there are any. */
async function withOthers(name: string, bytes: Uint8Array, folder: string): Promise<Given> {
  const file = name.split('/').pop() || 'model', others = await beside(folder, file, bytes);
  if (others.length === 0) return { name, bytes };
  return { name, files: [[withEnding(file, bytes, others), bytes], ...others] };
}

/** A folder's model, or a file with those that it needs beside it. */
async function atPath(path: string, folder: string): Promise<Given> {
  const { readFile, stat } = await builtin('fs/promises');
  const { basename, dirname } = await builtin('path');
  const about = await stat(path);
  if (about.isDirectory()) return inFolder(path);
  if (!about.isFile()) throw closed(path, 'it is a device, pipe or socket, not a regular file');
  return basename(path) === kStructure ? structureIn(dirname(path)) : withOthers(path, await readFile(path), folder);
}

/** `folder`: where files beside a lone one lie. */
async function inMemory(source: RawSource, folder: string | undefined): Promise<Given> {
  const isPath = 'path' in source;
  if (!isPath && !('bytes' in source && folder)) return source;
  if (!isNode()) throw modelError('unreadable', '', `'${isPath ? source.path : folder}': a page has no files; needed bytes, or what fetch() answers`);
  try {
    return isPath ? await atPath(source.path, folder!) : await withOthers(source.name, (source as { bytes: Uint8Array }).bytes, folder!);
  } catch (error) {
    if ('tasks' in (error as Error)) throw error;
    throw closed(isPath ? source.path : folder!, reasonOf(error));
  }
}

/** An archive is unpacked, to at most as many bytes as the options let it. */
async function unpacked(name: string, bytes: Uint8Array, { archiveLimit, archiveRatio }: Reading): Promise<Given> {
  const kFree = 64 * 2 ** 20, kRatio = 32;
  const most = Math.min(archiveLimit || Infinity, Math.max(kFree, (archiveRatio || kRatio) * bytes.length));
  return { name, bytes: await gunzip(bytes, name, most) };
}

/** The source, and how it is read. */
export async function given<Options extends Reading>(source: RawSource, options: Options): Promise<{ files: Given; reading: Options }> {
  const folder = options.externalFolder || ('path' in source ? source.path.replace(/[^/]*$/, '') || '.' : undefined);
  const made = await inMemory(source, folder), [first, ...others] = 'files' in made ? made.files : [];
  const lone = 'bytes' in made ? made.bytes : first && others.length === 0 ? first[1] : undefined;
  const files = lone instanceof Uint8Array && isGzip(lone) ? await unpacked(made.name, lone, options) : made;
  return { files, reading: folder === undefined ? options : { ...options, externalFolder: folder } };
}
