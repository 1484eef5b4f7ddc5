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

/** A folder's files, by their names below it. */
async function filesIn(folder: string): Promise<GivenFile[]> {
  const { readdir, realpath } = await builtin('fs/promises');
  const { join } = await builtin('path');
  const real = await realpath(folder), files: GivenFile[] = [];
  const gather = async (prefix: string): Promise<void> => {
    for (const entry of await readdir(join(real, prefix), { withFileTypes: true })) {
      const name = prefix + entry.name, held = entry.isDirectory() ? await gather(`${name}/`) : await below(real, name);
      if (held !== undefined) files.push([name, held]);
    }
  };
  await gather('');
  return files;
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

/** A folder's files, or a file with those that it needs beside it. */
async function atPath(path: string, folder: string): Promise<Given> {
  const { readFile, stat } = await builtin('fs/promises');
  const { basename, dirname } = await builtin('path');
  const whole = basename(path) === 'graph.nnef' ? dirname(path) : path;
  if ((await stat(whole)).isDirectory()) return { name: basename(path), files: await filesIn(whole) };
  return withOthers(basename(path), await readFile(path), folder);
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
    const detail = `'${isPath ? source.path : folder}' cannot be read: ${(error as Error).message}`;
    throw modelError('unreadable', '', detail);
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
