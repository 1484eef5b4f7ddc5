/** Options of reading, running and writing models. */

/** How a model is read and compiled. */
export interface LoadOptions {
  /** A name for messages, whose ending tells the format where bytes do not. */
  name?: string;
  /** Fixed values of extents, by symbol or as "input.axis". */
  symbols?: Readonly<Record<string, number>>;
  /** Other shapes of inputs, by name; all else follows. Models of ONNX and NNEF. */
  shapes?: Readonly<Record<string, readonly number[]>>;
  /** Run the passes that fuse and fold (true). */
  optimize?: boolean;
  /** Bytes that reading may take, and that a run may plan at once, weights aside; 0: three quarters of what there is. */
  memoryLimit?: number;
  /** Of a compressed archive: bytes that it may unpack to for one of its own, and in all. */
  archiveRatio?: number;
  archiveLimit?: number;
  /** Admits only networks that give the same bytes on every machine. */
  exact?: boolean;
  /** Floats as every machine computes them: products and sums are rounded one by one. */
  portable?: boolean;
  /** Where external tensors lie, for a model from bytes. */
  externalFolder?: string;
  /**
   * A folder that keeps compiled models: a model of a path that has run is found there by the next process. For Node's
   * addon; elsewhere it does nothing.
   */
  cache?: string;
  /** Files from 64 MiB on are mapped ('automatic'), or all, or none. */
  map?: 'automatic' | 'never' | 'always';
  /** A lower instruction set than the best, for comparison. */
  isa?: 'best' | 'scalar' | 'sse4' | 'avx2' | 'avx512' | 'neon' | 'wasm';
  /** Weights that are not there get content that this number decides. */
  weightSeed?: number;
  nnefDialect?: 'automatic' | 'standard' | 'tract';
  /** NNEF's compound operations run by the bodies that the standard gives them. */
  expandCompounds?: boolean;
  cvmAnswers?: 'nnex' | 'formal';
}

/** One caller's memory and states. */
export interface SessionOptions {
  /** Threads a run may use; 0: all that the process may. */
  threads?: number;
  /** For random operators without a seed of their own. */
  seed?: number;
}

export interface RunOptions {
  /** Names of the outputs that are wanted; absent: all. */
  outputs?: readonly string[];
  /** Stops the run: the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds from the call to its end; then an NnexError 'cancelled'. */
  timeout?: number;
  /**
   * 'auto': a run that took less than about 50 µs the last time, with inputs of the same shapes, is done at once, within run(); every
   * other one on a thread. 'always': on a thread in any case.
   */
  thread?: 'auto' | 'always';
  /**
   * The inputs' memory is read during the run, not copied before it: until the promise is settled the caller neither changes,
   * transfers nor resizes it. Memory that is shared between threads is copied all the same.
   */
  borrow?: boolean;
}

export type FormatName = 'onnx' | 'nnef' | 'webnn' | 'cvm';

export interface SaveOptions {
  /** The standard. In memory 'onnx' by default; of a path its ending tells. */
  to?: FormatName;
  /** Of the graph. */
  name?: string;
  /** Operations that the standard lacks are carried as custom ones (ONNX, NNEF). */
  custom?: boolean;
  /** Files that exist are replaced. */
  overwrite?: boolean;
  /** ONNX: tensors in a file of their own. */
  externalData?: boolean;
  /** NNEF: a document that was read with fragments is written with them. */
  keepFragments?: boolean;
  /** NNEF in memory: its files, or one archive. */
  packing?: 'folder' | 'tar' | 'tgz';
  /** WebNN in memory: a .webnn text, a module or a script of JavaScript. */
  form?: 'program' | 'module' | 'script';
}

const kLoad = [
  'symbols', 'shapes', 'optimize', 'memoryLimit', 'archiveRatio', 'archiveLimit', 'exact', 'portable', 'externalFolder', 'cache', 'map', 'isa', 'weightSeed',
  'nnefDialect', 'expandCompounds', 'cvmAnswers',
] as const;
const kSession = ['threads', 'seed'] as const;
const kSave = ['to', 'name', 'custom', 'overwrite', 'externalData', 'keepFragments', 'packing', 'form'] as const;

/** Words that an option may be; all others are not looked at. */
const kWords: Record<string, readonly string[]> = {
  map: ['automatic', 'never', 'always'],
  isa: ['best', 'scalar', 'sse4', 'avx2', 'avx512', 'neon', 'wasm'],
  nnefDialect: ['automatic', 'standard', 'tract'],
  cvmAnswers: ['nnex', 'formal'],
  to: ['onnx', 'nnef', 'webnn', 'cvm'],
  packing: ['folder', 'tar', 'tgz'],
  form: ['program', 'module', 'script'],
};
const kNumbers = ['memoryLimit', 'archiveRatio', 'archiveLimit', 'weightSeed', 'threads', 'seed'];

function checkExtent(name: string, value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name}: ${String(value)} is no whole number`);
  return value as number;
}

/** The value of an option as plain data: nothing of it is the caller's any more. Throws a TypeError. */
function checked(name: string, value: unknown): unknown {
  const words = kWords[name];
  if (words && !words.includes(value as string)) throw new TypeError(`${name}: '${String(value)}' is none of ${words.join(', ')}`);
  if (kNumbers.includes(name) && (!Number.isSafeInteger(value) || (value as number) < 0))
    throw new TypeError(`${name}: ${String(value)} is no whole number from 0 on`);
  if (name === 'symbols')
    return Object.fromEntries(Object.entries(value as object).map(([key, extent]) => [key, checkExtent(`symbols.${key}`, extent)]));
  if (name === 'shapes') return checkShapes(value as object);
  return value;
}

export function checkShapes(shapes: object): Record<string, number[]> {
  return Object.fromEntries(
    Object.entries(shapes).map(([key, extents]) => {
      if (!Array.isArray(extents)) throw new TypeError(`shapes.${key} is no array`);
      return [key, extents.map((extent) => checkExtent(`shapes.${key}`, extent))];
    }),
  );
}

function picked(from: object, names: readonly string[]): object {
  const to: Record<string, unknown> = {};
  for (const name of names) {
    const value = (from as Record<string, unknown>)[name];
    if (value !== undefined) to[name] = checked(name, value);
  }
  return to;
}
export const rawLoad = (options: LoadOptions): object => picked(options, kLoad);
export const rawSession = (options: SessionOptions): object => picked(options, kSession);
export const rawSave = (options: SaveOptions): object => picked(options, kSave);
