/**
 * Models in the thread of their caller. Every model has an instance of the module of its own, whose memory goes with it; so have checks,
 * inspections and conversions, while they last.
 */

import type { ModelEngine, NativeFlag, NativeModel, NativeSession, RawDescription, RawOutputs, RawRunOptions, RawSource, RawValue } from '../model/native.js';
import type { Plain } from '../engine.js';
import { isNode } from './code.js';
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

interface Model {
  readonly module: Module;
  readonly address: number;
  readonly description: RawDescription;
}
interface Session {
  readonly module: Module;
  readonly address: number;
}
interface Flag {
  cancelled: boolean;
}
const model = (handle: NativeModel): Model => handle as unknown as Model;
const session = (handle: NativeSession): Session => handle as unknown as Session;

/** Calls an export with values; their bytes are in the heap as long as it runs, those of `kept` for good. */
function ask(module: Module, name: string, args: readonly unknown[], before: readonly number[] = [], kept = false): Reader {
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
    return module.reply(module.call(name, ...before, module.sent())).good();
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
  if (!isNode()) throw modelError('unreadable', '', `'${source.path}': a page has no files; needed bytes`, '');
  const { readFile, readdir, stat } = await import('node:fs/promises');
  const { basename, join } = await import('node:path');
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
    throw modelError('unreadable', '', detail, detail);
  }
}

export class LocalModels implements DrawingEngine {
  readonly dtypes: readonly string[];
  constructor(private readonly code: WebAssembly.Module, readonly environment: Environment) {
    this.dtypes = environment.dtypes;
  }
  static async make(code: WebAssembly.Module): Promise<LocalModels> {
    const module = await Module.make(code);
    return new LocalModels(code, valueOf<Environment>(module, module.reply(module.call('nnex_environment')).good()));
  }

  async load(source: RawSource, options: object): Promise<NativeModel> {
    const module = await Module.make(this.code);
    const given = await files(source);
    const reply = ask(module, 'nnex_model_load', [given, options], [], 'bytes' in given);
    const made: Model = { module, address: reply.u32(), description: valueOf(module, reply) };
    return made as unknown as NativeModel;
  }
  describe(handle: NativeModel): RawDescription {
    return model(handle).description;
  }
  packedMemory(handle: NativeModel): number {
    const { module, address } = model(handle);
    return valueOf(module, module.reply(module.call('nnex_model_packed', address)).good());
  }
  /** The memory goes with the last session. */
  releaseModel(handle: NativeModel): void {
    const { module, address } = model(handle);
    module.call('nnex_model_free', address);
  }

  session(handle: NativeModel, options: object): NativeSession {
    const { module, address } = model(handle);
    const made: Session = { module, address: ask(module, 'nnex_session', [options], [address]).u32() };
    return made as unknown as NativeSession;
  }
  async run(handle: NativeSession, inputs: RawValue[], options: RawRunOptions = {}): Promise<RawOutputs> {
    return this.runSync(handle, inputs, options);
  }
  runSync(handle: NativeSession, inputs: RawValue[], options: RawRunOptions = {}): RawOutputs {
    const { module, address } = session(handle);
    const { cancel, ...plain } = options;
    if ((cancel as unknown as Flag | undefined)?.cancelled) throw modelError('cancelled', '', 'the run was cancelled', 'the run was cancelled');
    const reply = ask(module, 'nnex_session_run', [inputs, plain], [address]);
    const outputs = valueOf<RawValue[]>(module, reply);
    const made = options.profile ? { outputs, times: valueOf<never>(module, reply) } : outputs;
    module.call('nnex_forget');
    return made;
  }
  async prepare(handle: NativeSession, shapes: Record<string, readonly number[]>): Promise<void> {
    const { module, address } = session(handle);
    ask(module, 'nnex_session_prepare', [shapes], [address]);
  }
  async state(handle: NativeSession, label: string): Promise<RawValue> {
    const { module, address } = session(handle);
    return valueOf(module, ask(module, 'nnex_session_state', [label], [address]));
  }
  async setState(handle: NativeSession, label: string, value: RawValue): Promise<void> {
    const { module, address } = session(handle);
    ask(module, 'nnex_session_set_state', [label, value], [address]);
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
    const { module, address } = session(handle);
    module.call('nnex_session_free', address);
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
      throw modelError('unsupported', '', detail, detail);
    }
    return this.once('nnex_convert', source, [load, save]);
  }
  private async once(name: string, source: RawSource, options: object[]): Promise<unknown> {
    const module = await Module.make(this.code);
    const given = await files(source);
    const made = valueOf(module, ask(module, name, [given, ...options], [], 'bytes' in given));
    module.close();
    return made;
  }
}
