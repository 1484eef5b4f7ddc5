/** Session options and run options of ONNX Runtime: what each must be, and what it means here. */
import type { InferenceSession } from 'onnxruntime-common';

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
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new RangeError(`'${name.split('.').pop()}' is invalid: ${String(value)}`);
};
const severity: Check = (value, name) => {
  a('number')(value, name);
  if (![0, 1, 2, 3, 4].includes(value as number)) throw new RangeError(`Invalid argument: ${name} must be one of the following: 0, 1, 2, 3, 4.`);
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
  logVerbosityLevel: count,
  freeDimensionOverrides: a('object'),
  extra: a('object'),
};
const kRun: Record<string, Check> = { logSeverityLevel: severity, logVerbosityLevel: count, tag: a('string'), terminate: a('boolean') };

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
  readonly profile: string | undefined;
}

export function settingsOf(options: SessionOptions): Settings {
  checkAll(options, kSession, 'sessionOptions');
  if (options.optimizedModelFilePath) throw new Error("'optimizedModelFilePath' is not supported: extra: { nnex: { cache: FOLDER } } keeps compiled models");
  const { cache } = ((options.extra as { nnex?: unknown } | undefined)?.nnex ?? {}) as { cache?: unknown };
  if (cache !== undefined && typeof cache !== 'string') throw new TypeError(`sessionOptions.extra.nnex.cache: ${String(cache)} is no folder's name`);
  const overrides = Object.entries(options.freeDimensionOverrides ?? {});
  for (const [name, extent] of overrides) count(extent, `sessionOptions.freeDimensionOverrides.${name}`);
  return {
    load: {
      ...(options.graphOptimizationLevel === 'disabled' ? { optimize: false } : {}),
      ...(cache ? { cache } : {}),
    },
    session: options.intraOpNumThreads ? { threads: options.intraOpNumThreads } : {},
    overrides: overrides.length ? Object.fromEntries(overrides) : undefined,
    profile: options.enableProfiling ? (options.profileFilePrefix ?? 'onnxruntime_profile_') : undefined,
  };
}
