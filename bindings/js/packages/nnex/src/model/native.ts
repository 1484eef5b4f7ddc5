/**
 * What reads, checks, converts and runs models: the same functions of the Node addon and of the WebAssembly module, below the
 * classes that users see. What comes here is plain data that has been converted already. Failures are Errors with the members of
 * `NativeError`.
 */
import type { Remedy } from './error.js';
import type { CacheInfo } from './model.js';

/** Bytes as they lie in memory, under the number of their type in `ModelEngine.dtypes`; strings are an array. */
export interface RawTensor {
  type: number;
  dims: readonly number[];
  data: ArrayBufferView | readonly string[];
}
export interface RawSequence {
  /** The items' type where they are tensors. */
  element: number;
  items: readonly RawValue[];
}
export interface RawMap {
  /** Of rank 1, int64 or string, ascending. */
  keys: RawTensor;
  values: readonly RawValue[];
}
export interface RawOptional {
  item: RawValue;
}
export interface RawSparse {
  values: RawTensor;
  indices: RawTensor;
  dims: readonly number[];
}
export type RawValue = null | RawTensor | RawSequence | RawMap | RawOptional | RawSparse;

export interface RawPort {
  name: string;
  /** "f32[N,3]", "sequence(f32[?])". */
  text: string;
  dtype: number;
  knownRank: boolean;
  /** -1 where `dims` has no number. */
  extents: number[];
  dims: string[];
}

export interface RawDescription {
  inputs: RawPort[];
  outputs: RawPort[];
  states: RawPort[];
  metadata: {
    graphName: string;
    producer: string;
    producerVersion: string;
    domain: string;
    doc: string;
    irVersion: number;
    modelVersion: number;
    opsets: [string, number][];
    properties: [string, string][];
  };
}

/** Bytes are read at the call by an engine that is there at once; who waits for one keeps them as they are until it has answered. */
/** `own`: bytes that nobody else has: they may be given away. */
export type RawSource = { path: string } | { name: string; bytes: Uint8Array; own?: true } | { name: string; files: [string, Uint8Array][]; own?: true };

export interface RawNodeTime {
  place: string;
  op: string;
  kernel: string;
  start: number;
  duration: number;
}

export interface RawRunOptions {
  wanted?: readonly boolean[];
  cancel?: NativeFlag;
  /** Milliseconds from the call. */
  timeout?: number;
  profile?: boolean;
}
/** Of a run with `profile`: both. */
export type RawOutputs = RawValue[] | { outputs: RawValue[]; times: RawNodeTime[] };

/** Members of an Error that the engine throws or rejects with. */
export interface NativeError extends Error {
  code: string;
  where: string;
  detail: string;
  tasks: string[];
  remedies: Remedy[];
}

declare const opaque: unique symbol;
export interface NativeModel {
  readonly [opaque]: 'model';
}
export interface NativeSession {
  readonly [opaque]: 'session';
}
export interface NativeFlag {
  readonly [opaque]: 'flag';
}

export interface ModelEngine {
  readonly dtypes: readonly string[];
  readonly environment: { readonly isa: string; readonly threads: number };

  /** `cancel`, here and below: what makes of it an error 'cancelled', if it is set before the work has begun or is done. */
  load(source: RawSource, options: object, cancel?: NativeFlag): Promise<NativeModel>;
  describe(model: NativeModel): RawDescription;
  packedMemory(model: NativeModel): number;
  cache(model: NativeModel): CacheInfo;
  releaseModel(model: NativeModel): void;

  session(model: NativeModel, options: object): NativeSession;
  /**
   * Runs of one session come one after the other. The outputs themselves where the run was so brief that no thread was asked, else a
   * promise. `thread`: always a promise. `borrow`: the inputs' bytes are read during the run, not copied before it.
   */
  run(session: NativeSession, inputs: RawValue[], options?: RawRunOptions, thread?: boolean, borrow?: boolean): RawOutputs | Promise<RawOutputs>;
  runSync(session: NativeSession, inputs: RawValue[], options?: RawRunOptions): RawOutputs;
  prepare(session: NativeSession, shapes: Record<string, readonly number[]>): Promise<void>;
  state(session: NativeSession, label: string): Promise<RawValue>;
  setState(session: NativeSession, label: string, value: RawValue): Promise<void>;
  resetStates(session: NativeSession): Promise<void>;
  memory(session: NativeSession): number;
  releaseSession(session: NativeSession): void;

  canceller(): NativeFlag;
  cancel(flag: NativeFlag): void;

  check(source: RawSource, options: object, cancel?: NativeFlag): Promise<unknown>;
  inspect(source: RawSource, options: object, cancel?: NativeFlag): Promise<unknown>;
  /** With a path: writes files there. Without: their names and bytes. */
  convert(source: RawSource, load: object, save: object, path?: string, cancel?: NativeFlag): Promise<unknown>;
}
