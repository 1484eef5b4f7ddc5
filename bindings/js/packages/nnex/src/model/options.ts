/** Options of reading, running and writing models. */
import type { AbortOptions } from './abort.js';
import { found } from './found.js';

/** How a model is read and compiled. */
export interface LoadOptions {
  /** A name for messages, whose ending tells the format where bytes do not. Of several files the one that is called so is the model. */
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
  /**
   * Milliseconds from the call: the promise is then rejected with an NnexError 'cancelled' that names them (with `borrow` when the run
   * has stopped, at its next node). runSync() throws it there.
   */
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

/** 'onnxtxt' is ONNX's textual syntax; 'tar' and 'tgz' are NNEF in one archive; 'mjs' and 'js' JavaScript that builds a graph of WebNN. */
export type FormName = 'onnx' | 'onnxtxt' | 'nnef' | 'tar' | 'tgz' | 'webnn' | 'mjs' | 'js' | 'cvm' | 'c';

export interface SaveOptions {
  /** The form. In memory 'onnx' by default; of a path its ending tells. */
  to?: FormName;
  /** Of the graph. */
  name?: string;
  /** Operations that the standard lacks are carried as custom ones (ONNX, NNEF). */
  custom?: boolean;
  /** Files that exist are replaced. */
  overwrite?: boolean;
  /** ONNX: tensors in a file of their own. */
  externalData?: boolean;
  /** ONNX: of the standard domain; by default the lowest that takes the operations, 17 at least, and from ONNX to ONNX the model's own. */
  opset?: number;
  /** NNEF: a document that was read with fragments is written with them. */
  keepFragments?: boolean;
  /** NNEF in memory: its files, or one archive. */
  packing?: 'folder' | 'tar' | 'tgz';
  /** WebNN in memory: a .webnn text, a module or a script of JavaScript. */
  form?: 'program' | 'module' | 'script';
}

/** Gives the value of an option as plain data, nothing of which is the caller's any more. Throws a TypeError that names the call and the option. */
export type Kind = (value: unknown, call: string, name: string) => unknown;
/** The kind of every option. */
export type Kinds<Options> = { readonly [Name in keyof Required<Options>]: Kind };

function wrong(value: unknown, call: string, name: string, needed: string): TypeError {
  return new TypeError(`${call}: ${name ? `${name}: ` : ''}found ${found(value)}; needed ${needed}`);
}
export function kind(needed: string, is: (value: unknown) => boolean): Kind {
  return (value, call, name) => {
    if (!is(value)) throw wrong(value, call, name, needed);
    return value;
  };
}
/** An object's members, each by a kind. */
function members(needed: string, kind: Kind): (value: unknown, call: string, name: string) => Record<string, unknown> {
  return (value, call, name) => {
    if (typeof value !== 'object' || value === null || Symbol.iterator in value) throw wrong(value, call, name, needed);
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, kind(member, call, `${name}.${key}`)]));
  };
}
const list =
  (needed: string, kind: Kind): Kind =>
  (value, call, name) => {
    if (!Array.isArray(value)) throw wrong(value, call, name, needed);
    return Array.from(value as unknown[], (item, i) => kind(item, call, `${name}[${i}]`));
  };
const isWhole = (most: number) => (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most;

const flag = kind('true or false', (value) => typeof value === 'boolean');
const text = kind('text', (value) => typeof value === 'string');
/** File systems end a name at its first NUL. */
const path = kind('a path without NUL characters', (value) => typeof value === 'string' && !value.includes('\0'));
const whole = kind('a whole number', Number.isSafeInteger);
const count = kind('a whole number from 0 on', isWhole(Number.MAX_SAFE_INTEGER));
export const isThreads = isWhole(2 ** 31 - 1);
const threads = kind('a whole number from 0 to 2147483647', isThreads);
const milliseconds = kind('milliseconds from 0 on', (value) => typeof value === 'number' && value >= 0);
const signal = kind('an AbortSignal', (value) => {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
});
const word = (...words: string[]): Kind => kind(`one of ${words.join(', ')}`, (value) => words.includes(value as string));
const shapes = members('an object of arrays of extents', list('an array of extents', whole));

// Every option there is.
const kSession: Kinds<SessionOptions> = { threads, seed: count };
const kReading: Kinds<LoadOptions> = {
  name: text, symbols: members('an object of whole numbers', whole), shapes, optimize: flag, memoryLimit: count, archiveRatio: count, archiveLimit: count,
  exact: flag, portable: flag, externalFolder: path, cache: path, map: word('automatic', 'never', 'always'),
  isa: word('best', 'scalar', 'sse4', 'avx2', 'avx512', 'neon', 'wasm'), weightSeed: count, nnefDialect: word('automatic', 'standard', 'tract'),
  expandCompounds: flag, cvmAnswers: word('nnex', 'formal'),
};
const kLook: Kinds<LoadOptions & AbortOptions> = { ...kReading, signal };
const kLoad: Kinds<LoadOptions & SessionOptions & AbortOptions> = { ...kLook, ...kSession };
const kConvert: Kinds<SaveOptions & AbortOptions & { load: LoadOptions }> = {
  to: word('onnx', 'onnxtxt', 'nnef', 'tar', 'tgz', 'webnn', 'mjs', 'js', 'cvm', 'c'), name: text, custom: flag, overwrite: flag,
  externalData: flag, opset: count, keepFragments: flag,
  packing: word('folder', 'tar', 'tgz'), form: word('program', 'module', 'script'), signal,
  load: (value, call) => taken(value, kReading, `${call}: load`),
};
const kRun: Kinds<RunOptions> = { outputs: list('an array of names', text), signal, timeout: milliseconds, thread: word('auto', 'always'), borrow: flag };
const kRunSync: Kinds<Pick<RunOptions, 'outputs' | 'timeout'>> = { outputs: kRun.outputs, timeout: kRun.timeout };

/** Options as plain data. Throws a TypeError for one that there is not, or of a wrong kind. */
export function taken<Options extends object>(options: unknown, kinds: Kinds<Options>, call: string): Options {
  const to: Record<string, unknown> = {};
  if (options === undefined) return to as Options;
  if (typeof options !== 'object' || options === null || Symbol.iterator in options) throw wrong(options, call, 'options', 'an object');
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(kinds, name)) throw new TypeError(`${call}: no option '${name}'; there are ${Object.keys(kinds).join(', ')}${elsewhere(name, kinds)}`);
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined) to[name] = (kinds as Readonly<Record<string, Kind>>)[name]!(value, call, name);
  }
  return to as Options;
}
/** Where an option is that is none here. */
function elsewhere(name: string, kinds: object): string {
  return kinds === kConvert && Object.hasOwn(kReading, name) ? `; for reading: load: { ${name} }` : '';
}

/** An option of reading as convert() takes it. */
export const inConvert = (option: string): string => (option !== 'name' && Object.hasOwn(kReading, option) ? `load.${option}` : option);

/** What a form says by itself of its standard; options of other standards say nothing of it. */
const kSaid: Partial<Record<FormName, Pick<SaveOptions, 'packing' | 'form'>>> = { tar: { packing: 'tar' }, tgz: { packing: 'tgz' }, mjs: { form: 'module' }, js: { form: 'script' } };

/** What the options of each call mean to an engine. Each throws a TypeError that names the option. */
export const loadOptions = (given: unknown): LoadOptions & SessionOptions & AbortOptions => taken(given, kLoad, 'load');
export const readingOptions = (given: unknown, call: string): LoadOptions & AbortOptions => taken(given, kLook, call);
export function convertOptions(given: unknown): SaveOptions & AbortOptions & { load?: LoadOptions } {
  const options = taken(given, kConvert, 'convert'), said = options.to && kSaid[options.to];
  for (const [name, value] of Object.entries(said ?? {})) {
    const other = options[name as keyof SaveOptions];
    if (other !== undefined && other !== value) throw new TypeError(`convert: ${name}: found ${found(other)} with to: '${options.to}'; needed '${value}', or none`);
  }
  return options;
}
export const sessionOptions = (given: unknown): SessionOptions => taken(given, kSession, 'session');
export const runOptions = (given: unknown, call: string): RunOptions => taken(given, kRun, call);
export const runSyncOptions = (given: unknown): RunOptions => taken(given, kRunSync, 'runSync');
export const preparedShapes = (given: unknown): Record<string, readonly number[]> => shapes(given, 'prepare', 'shapes') as Record<string, readonly number[]>;
/** A path as it is. */
export const checkedPath = (given: string, call: string): string => path(given, call, '') as string;
