/** Models in a worker: it has them, its caller their descriptions. */

import type { NativeFlag, NativeModel, NativeSession, RawDescription, RawOutputs, RawRunOptions, RawSource, RawValue } from '../model/native.js';
import type { CacheInfo } from '../model/model.js';
import { isNode } from './code.js';
import { Link, type Port, copyOf } from './link.js';
import { type DrawingEngine, type Environment, kNoCache } from './models.js';
import { standingFor } from './pressure.js';
import type { Made } from './save.js';
import type { Id, ModelMethod } from './remote.js';
import { modelError, noFiles } from './wire.js';

declare const NNEX_PAGE: boolean;

interface Model {
  readonly home: Home;
  readonly id: Id;
  readonly description: RawDescription;
  readonly packed: number;
  readonly held: number;
  readonly weight: unknown;
}
interface Session {
  readonly home: Home;
  readonly id: Id;
  memory: number;
  /** Runs whose answers are not there. */
  runs: number;
}
/** The worker sees it where memory may be shared, else it is told. */
interface Flag {
  cancelled: boolean;
  readonly shared: SharedArrayBuffer | undefined;
  tell?: () => void;
}
const flagOf = (handle: NativeFlag | undefined): Flag | undefined => handle as unknown as Flag | undefined;
const model = (handle: NativeModel): Model => handle as unknown as Model;
const session = (handle: NativeSession): Session => handle as unknown as Session;

/** No timer takes longer. */
const kLongest = 2 ** 31 - 1;
/** What is asked for, unless it takes longer than so many milliseconds; `late` is called then. */
async function within<T>(limit: number | undefined, late: () => void, asked: Promise<T>): Promise<T> {
  if (limit === undefined || limit > kLongest) return asked;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late();
      reject(modelError('cancelled', '', 'the run passed its deadline'));
    }, limit);
  });
  try {
    return await Promise.race([asked, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** A plain value whose bytes are its own (`own`: as they are): they are listed in `all`, to be given away. */
function owned(v: unknown, all: Uint8Array[], own = false): unknown {
  if (v === null || typeof v !== 'object') return v;
  if (Array.isArray(v)) return v.map((item) => owned(item, all, own));
  if (!ArrayBuffer.isView(v)) return Object.fromEntries(Object.entries(v).map(([name, member]) => [name, owned(member, all, own || (v as { own?: true }).own)]));
  const given = new Uint8Array(v.buffer, v.byteOffset, v.byteLength), bytes = own ? given : copyOf(given);
  all.push(bytes);
  return bytes;
}

/** How long a worker without models waits for the next one. */
const kIdle = 2000;

/** A worker, and the models and sessions that it has: their numbers mean nothing to another one. */
class Home {
  private used = 0;
  private ended = false;
  private idle: ReturnType<typeof setTimeout> | undefined;
  private readonly link: Link;
  /** What its caller dropped is released there: a worker collects too little to come to it by itself. */
  private readonly dropped = new FinalizationRegistry<readonly [ModelMethod, Id]>(([method, id]) => this.let(method, id));
  constructor(port: Port) {
    this.link = new Link(port);
    this.rest();
  }

  /** Whether it takes what comes next. */
  get open(): boolean {
    return !this.ended && this.link.failed === undefined;
  }
  id(): Id {
    return this.link.id();
  }
  /** A call's answer; bytes that it is given are copied before this returns. */
  async ask(method: ModelMethod, given: readonly unknown[], id: Id = 0, cancel?: NativeFlag): Promise<unknown> {
    const flag = flagOf(cancel);
    if (flag?.cancelled) throw modelError('cancelled', '', 'the call was cancelled');
    const bytes: Uint8Array[] = [], args = given.map((arg) => owned(arg, bytes));
    this.more();
    try {
      const { request, result } = this.link.request((number) => ({ do: 'models', request: number, id, method, args, cancel: flag && (flag.shared ?? 'told') }), ...bytes);
      if (flag && !flag.shared) flag.tell = () => this.link.send({ do: 'cancel', request });
      return await result;
    } finally {
      this.less();
    }
  }
  /** The same, for which this thread waits; undefined where it may not. */
  askNow(method: ModelMethod, given: readonly unknown[]): { value: unknown } | undefined {
    const bytes: Uint8Array[] = [], args = given.map((arg) => owned(arg, bytes));
    return this.link.now({ do: 'models', request: 0, id: 0, method, args, now: true }, ...bytes);
  }
  counted<T extends { id: Id }>(object: T, release: ModelMethod): T {
    this.more();
    this.dropped.register(object, [release, object.id], object);
    return object;
  }
  release(method: ModelMethod, object: { id: Id }): void {
    if (this.dropped.unregister(object)) this.let(method, object.id);
  }
  private let(method: ModelMethod, id: Id): void {
    this.ask(method, [id]).catch(() => undefined);
    this.less();
  }

  private more(): void {
    ++this.used;
    clearTimeout(this.idle);
  }
  private less(): void {
    --this.used;
    this.rest();
  }
  /** Ends a worker that nobody needs. */
  private rest(): void {
    clearTimeout(this.idle);
    if (this.used > 0) return;
    this.idle = setTimeout(() => {
      this.ended = true;
      this.link.end();
    }, kIdle);
    (this.idle as { unref?(): void }).unref?.();  // Node's: no reason to go on
  }
}

interface Ran {
  readonly outputs: RawOutputs;
  readonly memory: number;
}

export class SplitModels implements DrawingEngine {
  private beginning: Promise<Home> | undefined;
  readonly dtypes: readonly string[];

  private constructor(private readonly port: () => Promise<Port>, readonly environment: Environment, private home: Home) {
    this.dtypes = environment.dtypes;
  }
  static async make(port: () => Promise<Port>): Promise<SplitModels> {
    const home = new Home(await port());
    return new SplitModels(port, await home.ask('about', []) as Environment, home);
  }
  /** Sees to it that there is a worker for what comes next, and that it answers. */
  async begin(): Promise<void> {
    await this.worker();
  }

  async load(source: RawSource, options: object, cancel?: NativeFlag): Promise<NativeModel> {
    const home = await this.worker(), id = home.id();
    const told = await home.ask('load', [source, options], id, cancel) as Pick<Model, 'description' | 'packed' | 'held'>;
    const made: Model = { home, id, ...told, weight: standingFor(told.held) };
    return home.counted(made, 'releaseModel') as unknown as NativeModel;
  }
  describe(handle: NativeModel): RawDescription {
    return model(handle).description;
  }
  packedMemory(handle: NativeModel): number {
    return model(handle).packed;
  }
  held(handle: NativeModel): number {
    return model(handle).held;
  }
  cache(): CacheInfo {
    return kNoCache;
  }
  releaseModel(handle: NativeModel): void {
    model(handle).home.release('releaseModel', model(handle));
  }
  session(handle: NativeModel, options: object): NativeSession {
    const { home, id } = model(handle), made: Session = { home, id: home.id(), memory: 0, runs: 0 };
    home.ask('session', [id, options], made.id).catch(() => undefined);  // its runs say so
    return home.counted(made, 'releaseSession') as unknown as NativeSession;
  }
  async run(handle: NativeSession, inputs: RawValue[], options: RawRunOptions = {}): Promise<RawOutputs> {
    const { cancel = options.timeout === undefined ? undefined : this.canceller(), ...plain } = options;
    const here = session(handle);
    ++here.runs;
    const asked = here.home.ask('run', [here.id, inputs, plain], 0, cancel).finally(() => { --here.runs; });
    const { outputs, memory } = await within(options.timeout, () => cancel && this.cancel(cancel), asked) as Ran;
    here.memory = memory;
    return outputs;
  }
  runSync(handle: NativeSession, inputs: RawValue[], options: RawRunOptions = {}): RawOutputs {
    const here = session(handle);
    if (here.runs > 0) throw modelError('invalid argument', '', 'a run of this session is on; await it, or make another session');
    const answer = here.home.askNow('run', [here.id, inputs, options]);
    if (!answer) throw modelError('unsupported', '', 'runSync: the model is in a worker; needed run(), which gives a promise');
    const { outputs, memory } = answer.value as Ran;
    here.memory = memory;
    return outputs;
  }
  async prepare(handle: NativeSession, shapes: Record<string, readonly number[]>): Promise<void> {
    await this.of(handle, 'prepare', shapes);
  }
  async state(handle: NativeSession, label: string): Promise<RawValue> {
    return await this.of(handle, 'state', label) as RawValue;
  }
  async setState(handle: NativeSession, label: string, value: RawValue): Promise<void> {
    await this.of(handle, 'setState', label, value);
  }
  async resetStates(handle: NativeSession): Promise<void> {
    await this.of(handle, 'resetStates');
  }
  memory(handle: NativeSession): number {
    return session(handle).memory;
  }
  releaseSession(handle: NativeSession): void {
    session(handle).home.release('releaseSession', session(handle));
  }
  canceller(): NativeFlag {
    const made: Flag = { cancelled: false, shared: typeof SharedArrayBuffer === 'function' ? new SharedArrayBuffer(4) : undefined };
    return made as unknown as NativeFlag;
  }
  cancel(handle: NativeFlag): void {
    const flag = flagOf(handle)!;
    flag.cancelled = true;
    if (flag.shared) Atomics.store(new Int32Array(flag.shared), 0, 1);
    flag.tell?.();
  }
  async check(source: RawSource, options: object, cancel?: NativeFlag): Promise<unknown> {
    return (await this.worker()).ask('check', [source, options], 0, cancel);
  }
  async inspect(source: RawSource, options: object, cancel?: NativeFlag): Promise<unknown> {
    return (await this.worker()).ask('inspect', [source, options], 0, cancel);
  }
  async outline(source: RawSource, options: object): Promise<unknown> {
    return (await this.worker()).ask('outline', [source, options]);
  }
  async conversion(source: RawSource, load: object, save: object): Promise<Made> {
    return (await this.worker()).ask('conversion', [source, load, save]) as Promise<Made>;
  }
  async convert(source: RawSource, load: object, save: object, path?: string, cancel?: NativeFlag): Promise<unknown> {
    if (path !== undefined && (NNEX_PAGE || !isNode())) throw noFiles();
    return (await this.worker()).ask('convert', [source, load, save, path], 0, cancel);
  }

  /** A call of a session's. */
  private of(handle: NativeSession, method: ModelMethod, ...args: readonly unknown[]): Promise<unknown> {
    const { home, id } = session(handle);
    return home.ask(method, [id, ...args]);
  }
  /** The worker for models to come: one of them is begun at a time. */
  private async worker(): Promise<Home> {
    if (this.home.open) return this.home;
    this.beginning ??= this.another().finally(() => { this.beginning = undefined; });
    return this.beginning;
  }
  private async another(): Promise<Home> {
    const home = new Home(await this.port());
    await home.ask('about', []);
    return (this.home = home);
  }
}
