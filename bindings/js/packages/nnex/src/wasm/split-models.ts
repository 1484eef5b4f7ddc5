/** Models in a page: the worker has them, the page their descriptions. */

import type { NativeFlag, NativeModel, NativeSession, RawDescription, RawOutputs, RawRunOptions, RawSource, RawValue } from '../model/native.js';
import { Link, type Port } from './link.js';
import type { DrawingEngine, Environment } from './models.js';
import type { Id, ModelMethod } from './remote.js';
import { modelError, noFiles } from './wire.js';

interface Model {
  readonly id: Id;
  readonly description: RawDescription;
  readonly packed: number;
}
interface Session {
  readonly id: Id;
  memory: number;
}
interface Flag {
  cancelled: boolean;
}
const model = (handle: NativeModel): Model => handle as unknown as Model;
const session = (handle: NativeSession): Session => handle as unknown as Session;

/** How long a worker without models waits for the next one. */
const kIdle = 2000;

export class SplitModels implements DrawingEngine {
  private link: Link | undefined;
  private alive = 0;
  private idle: ReturnType<typeof setTimeout> | undefined;
  private readonly dropped = new FinalizationRegistry<Id>((id) => {
    this.link?.send({ do: 'free', ids: [id] });
    this.less();
  });
  readonly dtypes: readonly string[];

  private constructor(private readonly port: () => Promise<Port>, readonly environment: Environment, link: Link) {
    this.dtypes = environment.dtypes;
    this.link = link;
    this.rest();
  }
  static async make(port: () => Promise<Port>): Promise<SplitModels> {
    const link = new Link(await port());
    const about = link.request((request) => ({ do: 'models', request, id: 0, method: 'about', args: [] })).result;
    return new SplitModels(port, await about as Environment, link);
  }

  async load(source: RawSource, options: object): Promise<NativeModel> {
    const link = await this.worker();
    const id = link.id();
    const made: Model = { id, ...await this.ask('load', [source, options], id) as object } as Model;
    return this.counted(made) as unknown as NativeModel;
  }
  describe(handle: NativeModel): RawDescription {
    return model(handle).description;
  }
  packedMemory(handle: NativeModel): number {
    return model(handle).packed;
  }
  releaseModel(handle: NativeModel): void {
    this.release('releaseModel', model(handle));
  }
  session(handle: NativeModel, options: object): NativeSession {
    const made: Session = { id: this.link!.id(), memory: 0 };
    this.ask('session', [model(handle).id, options], made.id).catch(() => undefined);  // its runs say so
    return this.counted(made) as unknown as NativeSession;
  }
  async run(handle: NativeSession, inputs: RawValue[], options: RawRunOptions = {}): Promise<RawOutputs> {
    const { cancel, ...plain } = options;
    if ((cancel as unknown as Flag | undefined)?.cancelled) throw modelError('cancelled', '', 'the run was cancelled');
    const { outputs, memory } = await this.ask('run', [session(handle).id, inputs, plain]) as { outputs: RawOutputs; memory: number };
    session(handle).memory = memory;
    return outputs;
  }
  runSync(): never {
    const detail = 'runSync: the model is in a worker; needed run(), which gives a promise';
    throw modelError('unsupported', '', detail);
  }
  async prepare(handle: NativeSession, shapes: Record<string, readonly number[]>): Promise<void> {
    await this.ask('prepare', [session(handle).id, shapes]);
  }
  async state(handle: NativeSession, label: string): Promise<RawValue> {
    return await this.ask('state', [session(handle).id, label]) as RawValue;
  }
  async setState(handle: NativeSession, label: string, value: RawValue): Promise<void> {
    await this.ask('setState', [session(handle).id, label, value]);
  }
  async resetStates(handle: NativeSession): Promise<void> {
    await this.ask('resetStates', [session(handle).id]);
  }
  memory(handle: NativeSession): number {
    return session(handle).memory;
  }
  releaseSession(handle: NativeSession): void {
    this.release('releaseSession', session(handle));
  }
  canceller(): NativeFlag {
    const made: Flag = { cancelled: false };
    return made as unknown as NativeFlag;
  }
  cancel(flag: NativeFlag): void {
    (flag as unknown as Flag).cancelled = true;
  }
  check(source: RawSource, options: object): Promise<unknown> {
    return this.ask('check', [source, options]);
  }
  inspect(source: RawSource, options: object): Promise<unknown> {
    return this.ask('inspect', [source, options]);
  }
  outline(source: RawSource, options: object): Promise<unknown> {
    return this.ask('outline', [source, options]);
  }
  async convert(source: RawSource, load: object, save: object, path?: string): Promise<unknown> {
    if (path !== undefined) throw noFiles();
    return this.ask('convert', [source, load, save]);
  }

  private async worker(): Promise<Link> {
    clearTimeout(this.idle);
    if (this.link && !this.link.failed) return this.link;
    this.alive = 0;
    return (this.link = new Link(await this.port()));
  }
  /** A call's answer; bytes that it is given are copied on the way. */
  private async ask(method: ModelMethod, args: readonly unknown[], id: Id = 0): Promise<unknown> {
    const link = this.link && !this.link.failed ? this.link : await this.worker();
    ++this.alive;
    try {
      return await link.request((request) => ({ do: 'models', request, id, method, args })).result;
    } finally {
      this.less();
    }
  }
  private counted<T extends { id: Id }>(object: T): T {
    ++this.alive;
    this.dropped.register(object, object.id, object);
    return object;
  }
  private release(method: ModelMethod, object: { id: Id }): void {
    this.dropped.unregister(object);
    this.ask(method, [object.id]).catch(() => undefined);
    this.less();
  }
  private less(): void {
    --this.alive;
    this.rest();
  }
  /** Ends a worker that nobody needs. */
  private rest(): void {
    clearTimeout(this.idle);
    if (this.alive > 0) return;
    this.idle = setTimeout(() => {
      if (this.alive > 0) return;
      this.link?.end();
      this.link = undefined;
    }, kIdle);
  }
}
