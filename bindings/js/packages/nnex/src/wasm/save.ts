/** Models written into files, in Node: beside, synced, then renamed, by the same rules as the addon's. */

import type { SaveReport } from '../model/reports.js';
import { builtin } from './builtin.js';
import { reasonOf } from './given.js';
import { modelError } from './wire.js';

/** What the module has made: files by their names below a folder, the model's own first. */
export interface Made {
  readonly files: readonly (readonly [name: string, bytes: Uint8Array])[];
  readonly report: SaveReport;
}
type File = Made['files'][number];

function exists(detail: string, effect: string): Error {
  return modelError('invalid argument', '', detail, [], [{ option: 'overwrite', value: 'true', effect }]);
}

let last = 0;
/** A name beside a path that nobody has. */
const nameBeside = (path: string): string => `${path}.${process.pid.toString(16)}-w${(++last).toString(16)}.tmp`;

/** `mode`: of the file that is replaced. */
async function writeSynced(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  const { open } = await builtin('fs/promises');
  const file = await open(path, 'wx');
  try {
    if (mode !== undefined) await file.chmod(mode);
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Gives a finished file its name; without `overwrite` not where somebody has that by now. */
async function giveName(from: string, to: string, overwrite: boolean): Promise<void> {
  const { link, rename, unlink } = await builtin('fs/promises');
  if (overwrite) return rename(from, to);
  try {
    await link(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(`'${to}' exists`, 'replaces it');
    return rename(from, to);  // a file system without links
  }
  await unlink(from);
}

/** Where a file goes: behind a link where that is followed. */
async function targetOf(path: string, overwrite: boolean, follow: boolean): Promise<{ target: string; mode?: number }> {
  const { lstat, realpath, stat } = await builtin('fs/promises');
  if (!(await lstat(path).catch(() => undefined))) return { target: path };
  if (!overwrite) throw exists(`'${path}' exists`, 'replaces it');
  const about = await (follow ? stat : lstat)(path).catch(() => undefined);
  if (about && !about.isFile() && !about.isSymbolicLink()) throw modelError('unreadable', '', `cannot write '${path}': it is no regular file`);
  return about?.isFile() ? { target: follow ? await realpath(path) : path, mode: about.mode & 0o777 } : { target: path };
}

/**
 * Files with their places: none has its name before all are written, and the first, which names the others, gets it last. `follow`: the first may be
 * a link to the file that is meant.
 */
async function writeFiles(files: readonly File[], overwrite: boolean, follow: boolean): Promise<void> {
  const { rm } = await builtin('fs/promises');
  const unfinished: { temporary: string; target: string }[] = [];
  try {
    for (const [path, bytes] of files) {
      const { target, mode } = await targetOf(path, overwrite, follow && unfinished.length === 0), temporary = nameBeside(target);
      unfinished.push({ temporary, target });
      await writeSynced(temporary, bytes, mode);
    }
    while (unfinished.length > 0) {
      const { temporary, target } = unfinished.at(-1)!;
      await giveName(temporary, target, overwrite);
      unfinished.pop();
    }
  } finally {
    for (const { temporary } of unfinished) await rm(temporary, { force: true });
  }
}

/** Makes the folders on the way to files below a folder. A link is none: it would lead out of it. */
async function makeFolders(folder: string, files: readonly File[]): Promise<void> {
  const { lstat, mkdir } = await builtin('fs/promises');
  const { join } = await builtin('path');
  for (const [name] of files) {
    for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
      const place = join(folder, name.slice(0, at));
      if ((await lstat(place).catch(() => undefined))?.isSymbolicLink()) throw modelError('invalid argument', '', `'${place}' is a link; nothing is written through it`);
      await mkdir(place, { recursive: true });
    }
  }
}

/** A new folder takes its name when all is in it. */
async function writeNewFolder(files: readonly File[], path: string): Promise<void> {
  const { mkdir, rename, rm } = await builtin('fs/promises');
  const { join } = await builtin('path');
  const beside = nameBeside(path);
  try {
    await mkdir(beside);
    await makeFolders(beside, files);
    for (const [name, bytes] of files) await writeSynced(join(beside, name), bytes);
    await rename(beside, path);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}

/** Of an NNEF model: where an earlier one had it, it would be read as this one's. */
const kQuantisation = 'graph.quant';
/** Into a folder that is there; NNEF's is empty unless files may be replaced. */
async function writeFolder(files: readonly File[], path: string, overwrite: boolean, shared: boolean): Promise<void> {
  const { readdir, rm, stat } = await builtin('fs/promises');
  const { join } = await builtin('path');
  const about = await stat(path).catch(() => undefined);
  if (!about) return writeNewFolder(files, path);
  if (!about.isDirectory()) throw modelError('invalid argument', '', `'${path}' exists and is no folder${shared ? '' : '; a model of NNEF is one, or an archive in .tgz or .tar'}`);
  if (!shared && !overwrite) {
    if ((await readdir(path)).length > 0) throw exists(`folder '${path}' is not empty`, "replaces the model's files in it");
    return writeNewFolder(files, path);
  }
  await makeFolders(path, files);
  await writeFiles(files.map(([name, bytes]) => [join(path, name), bytes]), overwrite, false);
  if (!shared && !files.some(([name]) => name === kQuantisation)) await rm(join(path, kQuantisation), { force: true });
}

/** Weights of WebNN that are there already stay. */
async function withoutSame(files: readonly File[]): Promise<File[]> {
  const { readFile } = await builtin('fs/promises');
  const [model, weights] = files;
  const there = weights && await readFile(weights[0]).catch(() => undefined);
  return there?.equals(weights![1]) ? [model!] : [...files];
}

/** Gives the files of a path their names. Errors: 'invalid argument' (something is there), 'unreadable'. */
export async function save({ files, report }: Made, given: string, options: { overwrite?: boolean }): Promise<SaveReport> {
  const { basename, dirname, join } = await builtin('path');
  const path = given.length > 1 ? given.replace(/\/+$/, '') : given, overwrite = options.overwrite === true;
  const folder = report.format === 'CVM' || (report.format === 'NNEF' && files[0]![0] === 'graph.nnef');
  const named = folder ? files : files.map(([name, bytes], i) => [join(dirname(path), i === 0 ? basename(path) : name), bytes] as const);
  try {
    if (folder) await writeFolder(named, path, overwrite, report.format === 'CVM');
    else await writeFiles(report.format === 'WebNN' ? await withoutSame(named) : named, overwrite, true);
  } catch (error) {
    if ('tasks' in (error as Error)) throw error;
    const { stat } = await builtin('fs/promises');
    const isFolder = await stat(dirname(path)).then((about) => about.isDirectory(), () => false);
    throw modelError('unreadable', '', `cannot write '${path}': ${isFolder ? reasonOf(error) : `there is no folder '${dirname(path)}'`}`);
  }
  const bytes = files.reduce((sum, file) => sum + file[1].length, 0);
  return { ...report, bytes, files: named.map(([name]) => (folder ? join(path, name) : name)) };
}
