/**
 * Models in the thread of their caller. Every model has an instance of the module of its own, whose memory and threads go when the model and its
 * sessions are released, or collected; so have checks, inspections and conversions, while they last.
 */

import type { ModelEngine, NativeFlag, NativeModel, NativeSession, RawDescription, RawOutputs, RawRunOptions, RawSource, RawValue } from '../model/native.js';
import type { CacheInfo } from '../model/model.js';
import type { Plain } from '../engine.js';
import { type Code, isNode } from './code.js';
import { type Given, given } from './given.js';
import { gzip } from './gzip.js';
import { Module } from './module.js';
import { type Made, save } from './save.js';
import { Lent, modelError, noFiles, type Reader } from './wire.js';

/** Scripts for pages write no files, and have no code for it. */
declare const NNEX_PAGE: boolean;

/** What the module is, as it says itself. */
export interface Environment {
  readonly isa: string;
  readonly threads: number;
  readonly dtypes: readonly string[];
}

/** A value of a network that is drawn; -1: an absent one. */
export interface OutlineValue {
  readonly id: number;
  readonly name?: string;
  readonly type?: string;
  readonly constant?: boolean;
}
/** A network, or what is inside of a node, as something to draw: its nodes in order. */
export interface Outline {
  /** Of what is inside of a node: "then_branch", "body". */
  readonly name: string;
  readonly inputs: readonly OutlineValue[];
  readonly outputs: readonly OutlineValue[];
  /** What it reads from outside: a network nothing. */
  readonly captures: readonly OutlineValue[];
  readonly nodes: readonly {
    readonly op: string;
    readonly location: string;
    /** What is inside of it: branches, the body of a loop. */
    readonly blocks: readonly Outline[];
    /** What its blocks read from outside of them. */
    readonly captures: readonly OutlineValue[];
    /** What it is told beside its inputs, defaults too; of a long one the beginning. */
    readonly attributes: readonly { readonly name: string; readonly text: string }[];
    readonly inputs: readonly OutlineValue[];
    readonly outputs: readonly OutlineValue[];
  }[];
}
/** What the WebAssembly engine has beyond ModelEngine. */
export interface DrawingEngine extends ModelEngine {
  /** Bytes of the instance that a model is in. */
  held(model: NativeModel): number;
  outline(source: RawSource, options: object): Promise<unknown>;
  /** As convert() into memory, with the report. */
  conversion(source: RawSource, load: object, options: object, path?: string, cancel?: NativeFlag): Promise<Made>;
}

/** An instance, and what in it is not released yet. */
interface Shared {
  readonly module: Module;
  readonly held: Set<object>;
}
interface Session extends Shared {
  readonly address: number;
}
interface Model extends Session {
  readonly description: RawDescription;
}
/** Frees an object once; the last one's instance goes with it. */
function release(object: Session, free: string): void {
  const { module, held, address } = object;
  if (!held.delete(object) || !module.alive) return;
  if (held.size === 0) module.close();
  else module.call(free, address);
}
interface Flag {
  cancelled: boolean;
}
function unlessCancelled(flag: NativeFlag | undefined, what: string): void {
  if ((flag as unknown as Flag | undefined)?.cancelled) throw modelError('cancelled', '', `${what} was cancelled`);
}
const model = (handle: NativeModel): Model => held(handle as unknown as Model);
const session = (handle: NativeSession): Session => held(handle as unknown as Session);
function held<T extends Session>(object: T): T {
  if (!object.held.has(object)) throw modelError('invalid argument', '', 'it was released');
  return object;
}

/** Calls an export with values, and reads its reply; their bytes are in the heap until that is done, as it may be some of them; those of `kept` for good. */
function ask<T>(module: Module, name: string, args: readonly unknown[], read: (reply: Reader) => T, before: readonly number[] = [], kept = false): T {
  const lent: number[] = [];
  const lend = (v: unknown): Plain => {
    if (ArrayBuffer.isView(v)) {
      const bytes = new Uint8Array(v.buffer, v.byteOffset, v.byteLength);
      const address = module.give(bytes);
      if (!kept) lent.push(address);
      return new Lent(address, bytes.length) as unknown as Plain;
    }
    if (Array.isArray(v)) return v.every((item) => typeof item !== 'object') ? v as Plain : v.map(lend);
    if (v === null || typeof v !== 'object') return v as Plain;
    return Object.fromEntries(Object.entries(v).map(([key, member]) => [key, lend(member)]));
  };
  const values = args.map(lend);
  module.writer.u32(values.length);
  for (const value of values) module.writer.value(value);
  try {
    return read(module.reply(module.call(name, ...before, module.sent())).good());
  } finally {
    for (const address of lent) if (module.alive) module.call('free', address);
  }
}

/** The value of a reply, copied out of the heap. */
function valueOf<T>(module: Module, reply: Reader): T {
  return reply.value((address, size) => module.copy(address, size)) as T;
}

export const kNoCache: CacheInfo = { use: 'none', file: '', why: 'WebAssembly keeps no compiled models' };

/** Archives that are made as .tar, as the module has no gzip. */
const kPacked = /\.(tgz|tar\.gz)$/;

export class LocalModels implements DrawingEngine {
  readonly dtypes: readonly string[];
  constructor(private readonly code: Code, readonly environment: Environment) {
    this.dtypes = environment.dtypes;
  }
  static async make(code: Code): Promise<LocalModels> {
    const module = await Module.make(code);
    return new LocalModels(code, valueOf<Environment>(module, module.reply(module.call('nnex_environment')).good()));
  }

  async load(source: RawSource, options: object, cancel?: NativeFlag): Promise<NativeModel> {
    const { module, files, reading } = await this.begin(source, options, cancel);
    try {
      const made = ask(module, 'nnex_model_load', [files, reading], (reply): Model =>
        ({ module, held: new Set(), address: reply.u32(), description: valueOf(module, reply) }), [], true);
      made.held.add(made);
      return made as unknown as NativeModel;
    } catch (error) {
      module.close();
      throw error;
    }
  }
  describe(handle: NativeModel): RawDescription {
    return (handle as unknown as Model).description;
  }
  packedMemory(handle: NativeModel): number {
    const { module, address } = model(handle);
    return valueOf(module, module.reply(module.call('nnex_model_packed', address)).good());
  }
  held(handle: NativeModel): number {
    return model(handle).module.size;
  }
  cache(): CacheInfo {
    return kNoCache;
  }
  releaseModel(handle: NativeModel): void {
    release(handle as unknown as Model, 'nnex_model_free');
  }

  session(handle: NativeModel, options: object): NativeSession {
    const { module, held, address } = model(handle);
    const made: Session = { module, held, address: ask(module, 'nnex_session', [options], (reply) => reply.u32(), [address]) };
    held.add(made);
    return made as unknown as NativeSession;
  }
  async run(handle: NativeSession, inputs: RawValue[], options: RawRunOptions = {}): Promise<RawOutputs> {
    return this.runSync(handle, inputs, options);
  }
  runSync(handle: NativeSession, inputs: RawValue[], options: RawRunOptions = {}): RawOutputs {
    const { module, address } = session(handle);
    const { cancel, ...plain } = options;
    unlessCancelled(cancel, 'the run');
    return ask(module, 'nnex_session_run', [inputs, plain], (reply) => {
      const outputs = valueOf<RawValue[]>(module, reply);
      const made = options.profile ? { outputs, times: valueOf<never>(module, reply) } : outputs;
      module.call('nnex_forget');
      return made;
    }, [address]);
  }
  async prepare(handle: NativeSession, shapes: Record<string, readonly number[]>): Promise<void> {
    const { module, address } = session(handle);
    ask(module, 'nnex_session_prepare', [shapes], () => undefined, [address]);
  }
  async state(handle: NativeSession, label: string): Promise<RawValue> {
    const { module, address } = session(handle);
    return ask(module, 'nnex_session_state', [label], (reply) => valueOf(module, reply), [address]);
  }
  async setState(handle: NativeSession, label: string, value: RawValue): Promise<void> {
    const { module, address } = session(handle);
    ask(module, 'nnex_session_set_state', [label, value], () => undefined, [address]);
  }
  async resetStates(handle: NativeSession): Promise<void> {
    const { module, address } = session(handle);
    module.reply(module.call('nnex_session_reset_states', address)).good();
  }
  memory(handle: NativeSession): number {
    const { module, address } = session(handle);
    return valueOf(module, module.reply(module.call('nnex_session_memory', address)).good());
  }
  releaseSession(handle: NativeSession): void {
    release(handle as unknown as Session, 'nnex_session_free');
  }

  canceller(): NativeFlag {
    const made: Flag = { cancelled: false };
    return made as unknown as NativeFlag;
  }
  cancel(flag: NativeFlag): void {
    (flag as unknown as Flag).cancelled = true;
  }

  async check(source: RawSource, options: object, cancel?: NativeFlag): Promise<unknown> {
    return this.once('nnex_check', source, [options], cancel);
  }
  async inspect(source: RawSource, options: object, cancel?: NativeFlag): Promise<unknown> {
    return this.once('nnex_inspect', source, [options], cancel);
  }
  async outline(source: RawSource, options: object): Promise<unknown> {
    return this.once('nnex_outline', source, [options]);
  }
  async convert(source: RawSource, load: object, options: object, path?: string, cancel?: NativeFlag): Promise<unknown> {
    if (path !== undefined && (NNEX_PAGE || !isNode())) throw noFiles();
    if (path === '') throw modelError('invalid argument', '', 'found no path to write to');
    const made = await this.conversion(source, load, options, path, cancel);
    return NNEX_PAGE || path === undefined ? made.files : save(made, path, options);
  }
  async conversion(source: RawSource, load: object, options: object, path?: string, cancel?: NativeFlag): Promise<Made> {
    const { packing, to } = options as { packing?: string; to?: string };
    const packed = path === undefined ? to === 'tgz' || (to === 'nnef' && packing === 'tgz') : kPacked.test(path) && [undefined, 'nnef', 'tgz'].includes(to);
    const wanted = packed ? { ...options, to: 'nnef', packing: 'tar' } : options, place = packed ? path?.replace(kPacked, '.tar') : path;
    const { files, report } = await this.once('nnex_convert', source, [load, wanted, place], cancel, (module, reply): Made =>
      ({ files: valueOf(module, reply), report: valueOf(module, reply) }));
    const made = packed ? await Promise.all(files.map(async ([name, bytes]) => [name.replace(/\.tar$/, '.tgz'), await gzip(bytes)] as const)) : files;
    unlessCancelled(cancel, 'the call');
    return { files: made, report };
  }
  /** An instance, and what it will read. */
  private async begin(source: RawSource, options: object, cancel?: NativeFlag): Promise<{ module: Module; files: Given; reading: object }> {
    const made = await given(source, options);
    unlessCancelled(cancel, 'the call');
    return { module: await Module.make(this.code), ...made };
  }
  /** `options`: how the source is read, and what else the export takes. */
  private async once<T>(name: string, source: RawSource, options: readonly [object, ...unknown[]], cancel?: NativeFlag, read: (module: Module, reply: Reader) => T = valueOf): Promise<T> {
    const [load, ...others] = options, { module, files, reading } = await this.begin(source, load, cancel);
    try {
      return ask(module, name, [files, reading, ...others], (reply) => read(module, reply), [], true);
    } finally {
      module.close();
    }
  }
}
