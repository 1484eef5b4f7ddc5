/**
 * Models in the thread of their caller. Every model has an instance of the module of its own, whose memory and threads go when the model and its
 * sessions are released, or collected; so have checks, inspections and conversions, while they last.
 */

import type { ModelEngine, NativeFlag, NativeModel, NativeSession, RawDescription, RawOutputs, RawRunOptions, RawSource, RawValue } from '../model/native.js';
import type { Plain } from '../engine.js';
import { builtin } from './builtin.js';
import { type Code, isNode } from './code.js';
import { Module } from './module.js';
import { Lent, modelError, type Reader } from './wire.js';

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
/** A network as something to draw: its nodes in order. */
export interface Outline {
  readonly inputs: readonly OutlineValue[];
  readonly outputs: readonly OutlineValue[];
  readonly nodes: readonly {
    readonly op: string;
    readonly location: string;
    readonly blocks: number;
    readonly inputs: readonly OutlineValue[];
    readonly outputs: readonly OutlineValue[];
  }[];
}
/** What the WebAssembly engine has beyond ModelEngine. */
export interface DrawingEngine extends ModelEngine {
  outline(source: RawSource, options: object): Promise<unknown>;
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

/** Bytes for a path, where there are files: a folder's with their names. */
async function files(source: RawSource): Promise<RawSource> {
  if (!('path' in source)) return source;
  if (!isNode()) throw modelError('unreadable', '', `'${source.path}': a page has no files; needed bytes`);
  const { readFile, readdir, stat } = await builtin('fs/promises');
  const { basename, join } = await builtin('path');
  try {
    if (!(await stat(source.path)).isDirectory()) return { name: basename(source.path), bytes: await readFile(source.path) };
    const all: [string, Uint8Array][] = [];
    const gather = async (folder: string, prefix: string): Promise<void> => {
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        if (entry.isDirectory()) await gather(join(folder, entry.name), `${prefix}${entry.name}/`);
        else all.push([`${prefix}${entry.name}`, await readFile(join(folder, entry.name))]);
      }
    };
    await gather(source.path, '');
    return { name: basename(source.path), files: all };
  } catch (error) {
    const detail = `'${source.path}' cannot be read: ${(error as Error).message}`;
    throw modelError('unreadable', '', detail);
  }
}

export class LocalModels implements DrawingEngine {
  readonly dtypes: readonly string[];
  constructor(private readonly code: Code, readonly environment: Environment) {
    this.dtypes = environment.dtypes;
  }
  static async make(code: Code): Promise<LocalModels> {
    const module = await Module.make(code);
    return new LocalModels(code, valueOf<Environment>(module, module.reply(module.call('nnex_environment')).good()));
  }

  async load(source: RawSource, options: object): Promise<NativeModel> {
    const given = await files(source);
    const module = await Module.make(this.code);
    try {
      const made = ask(module, 'nnex_model_load', [given, options], (reply): Model =>
        ({ module, held: new Set(), address: reply.u32(), description: valueOf(module, reply) }), [], 'bytes' in given);
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
    if ((cancel as unknown as Flag | undefined)?.cancelled) throw modelError('cancelled', '', 'the run was cancelled');
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

  async check(source: RawSource, options: object): Promise<unknown> {
    return this.once('nnex_check', source, [options]);
  }
  async inspect(source: RawSource, options: object): Promise<unknown> {
    return this.once('nnex_inspect', source, [options]);
  }
  async outline(source: RawSource, options: object): Promise<unknown> {
    return this.once('nnex_outline', source, [options]);
  }
  async convert(source: RawSource, load: object, save: object, path?: string): Promise<unknown> {
    if (path !== undefined) {
      const detail = 'convert: the WebAssembly engine writes no files; needed a call without a path, whose answer is the files';
      throw modelError('unsupported', '', detail);
    }
    return this.once('nnex_convert', source, [load, save]);
  }
  private async once(name: string, source: RawSource, options: object[]): Promise<unknown> {
    const given = await files(source);
    const module = await Module.make(this.code);
    try {
      return ask(module, name, [given, ...options], (reply) => valueOf(module, reply), [], 'bytes' in given);
    } finally {
      module.close();
    }
  }
}
