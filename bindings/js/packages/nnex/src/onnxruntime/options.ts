/** Session options and run options of ONNX Runtime: what each must be, and what it means here. */
import type { InferenceSession } from 'onnxruntime-common';
import { found, tagOf } from '../model/found.js';
import { checkedPath } from '../model/options.js';

type SessionOptions = InferenceSession.SessionOptions;
type Check = (value: unknown, name: string) => void;

const a =
  (type: 'string' | 'number' | 'boolean' | 'object'): Check =>
  (value, name) => {
    if (typeof value !== type || value === null)
      throw new TypeError(`Invalid argument: ${name} must be ${type === 'object' ? 'an' : 'a'} ${type}${type === 'boolean' ? ' value' : ''}.`);
  };
const oneOf =
  (...words: string[]): Check =>
  (value, name) => {
    a('string')(value, name);
    if (!words.includes(value as string)) throw new TypeError(`'${name.split('.').pop()}' is not supported: ${String(value)}`);
  };
const count: Check = (value, name) => {
  a('number')(value, name);
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) >= 2 ** 32) throw new RangeError(`'${name.split('.').pop()}' is invalid: ${String(value)}`);
};
const severity: Check = (value, name) => {
  a('number')(value, name);
  if (![0, 1, 2, 3, 4].includes(value as number)) throw new RangeError(`Invalid argument: ${name} must be one of the following: 0, 1, 2, 3, 4.`);
};

/** Text at every end. */
const texts: Check = (value, name) => {
  a('object')(value, name);
  for (const [key, member] of Object.entries(value as object))
    (typeof member === 'object' && member !== null ? texts : a('string'))(member, `${name}.${key}`);
};
/** nnex takes paths and Blobs too, as onnxruntime-common's types have them. */
const isContent = (data: unknown): boolean =>
  typeof data === 'string' || ArrayBuffer.isView(data) || ['ArrayBuffer', 'SharedArrayBuffer', 'Blob', 'File'].includes(tagOf(data));
/** The name of a file beside the model as the model has it. */
export const plainName = (path: string): string => path.replace(/^\.\//, '');
const files: Check = (value, name) => {
  if (value === null) return;
  if (!Array.isArray(value)) throw new TypeError(`Invalid argument: ${name} must be an array.`);
  const names = new Set<string>();
  value.forEach((file: unknown, i) => {
    const { path, data } = typeof file === 'string' ? { path: file, data: file } : (Object(file) as { path?: unknown; data?: unknown });
    a('string')(path, `${name}[${i}].path`);
    if (!isContent(data)) throw new TypeError(`Invalid argument: ${name}[${i}].data: found ${found(data)}; needed bytes, a Blob or a path.`);
    const plain = plainName(path as string);
    if (names.has(plain)) throw new Error(`Invalid argument: ${name}[${i}].path: '${plain}' is given twice.`);
    names.add(plain);
    if (/\.onnx$/.test(plain)) throw new TypeError(`Invalid argument: ${name}[${i}].path: '${String(path)}' is a model's name; needed that of a file beside it.`);
  });
};

const kLocations = ['cpu', 'cpu-pinned', 'texture', 'gpu-buffer', 'ml-tensor'];
/** Of all outputs, or by their names; all of them are in the processor's memory here. */
const locations: Check = (value, name) => {
  if (value === null || kLocations.includes(value as string)) return;
  if (typeof value !== 'object') throw new TypeError(`Invalid argument: ${name} must be an object or one of ${kLocations.join(', ')}.`);
  for (const [output, place] of Object.entries(value))
    if (!kLocations.includes(place as string)) throw new TypeError(`Invalid argument: ${name}["${output}"] must be one of ${kLocations.join(', ')}.`);
};

/** What is asked of each option; others are not looked at. Those that name no member of Settings change nothing here. */
const kSession: Record<string, Check> = {
  intraOpNumThreads: count,
  interOpNumThreads: count,
  graphOptimizationLevel: oneOf('disabled', 'basic', 'extended', 'layout', 'all'),
  executionMode: oneOf('sequential', 'parallel'),
  enableCpuMemArena: a('boolean'),
  enableMemPattern: a('boolean'),
  enableProfiling: a('boolean'),
  profileFilePrefix: a('string'),
  optimizedModelFilePath: a('string'),
  logId: a('string'),
  logSeverityLevel: severity,
  freeDimensionOverrides: a('object'),
  extra: texts,
  externalData: files,
  preferredOutputLocation: locations,
};
const kRun: Record<string, Check> = { logSeverityLevel: severity, tag: a('string') };

function checkAll(options: object, checks: Record<string, Check>, name: string): void {
  for (const [key, check] of Object.entries(checks)) {
    const value = (options as Record<string, unknown>)[key];
    if (value !== undefined) check(value, `${name}.${key}`);
  }
}
export function checkRunOptions(options: InferenceSession.RunOptions): void {
  checkAll(options, kRun, 'runOptions');
}

/** Throws a TypeError where an option of the session names an output that the model has not. */
export function checkOutputNames({ preferredOutputLocation: given }: SessionOptions, names: readonly string[]): void {
  for (const name of typeof given === 'object' && given !== null ? Object.keys(given) : [])
    if (!names.includes(name)) throw new TypeError(`Invalid argument: sessionOptions.preferredOutputLocation: '${name}' is no output; the model has ${names.map((output) => `'${output}'`).join(', ')}.`);
}

/** What session options mean here. */
export interface Settings {
  readonly load: { optimize?: boolean; cache?: string };
  readonly session: { threads?: number };
  readonly overrides: Readonly<Record<string, number>> | undefined;
  /** What the name of the profile's file begins with. */
  readonly profile: string | undefined;
}

export function settingsOf(options: SessionOptions): Settings {
  checkAll(options, kSession, 'sessionOptions');
  if (options.optimizedModelFilePath) throw new Error("'optimizedModelFilePath' is not supported: extra: { nnex: { cache: FOLDER } } keeps compiled models");
  const { cache } = ((options.extra as { nnex?: unknown } | undefined)?.nnex ?? {}) as { cache?: string };
  const overrides = Object.entries(options.freeDimensionOverrides ?? {});
  for (const [name, extent] of overrides) count(extent, `sessionOptions.freeDimensionOverrides.${name}`);
  return {
    load: {
      ...(options.graphOptimizationLevel === 'disabled' ? { optimize: false } : {}),
      ...(cache ? { cache: checkedPath(cache, 'sessionOptions.extra.nnex.cache') } : {}),
    },
    session: options.intraOpNumThreads ? { threads: Math.min(options.intraOpNumThreads, 2 ** 31 - 1) } : {},
    overrides: overrides.length ? Object.fromEntries(overrides) : undefined,
    profile: options.enableProfiling ? (options.profileFilePrefix === undefined ? 'onnxruntime_profile_' : `${options.profileFilePrefix}_`) : undefined,
  };
}
