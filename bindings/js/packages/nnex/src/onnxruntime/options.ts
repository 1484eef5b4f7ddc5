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
const files: Check = (value, name) => {
  if (value === null) return;
  if (!Array.isArray(value)) throw new TypeError(`Invalid argument: ${name} must be an array.`);
  value.forEach((file: unknown, i) => {
    const { path, data } = typeof file === 'string' ? { path: file, data: file } : (Object(file) as { path?: unknown; data?: unknown });
    a('string')(path, `${name}[${i}].path`);
    if (!isContent(data)) throw new TypeError(`Invalid argument: ${name}[${i}].data: found ${found(data)}; needed bytes, a Blob or a path.`);
    if (/\.onnx$/.test(path as string)) throw new TypeError(`Invalid argument: ${name}[${i}].path: '${String(path)}' is a model's name; needed that of a file beside it.`);
  });
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
