/** What a page says to its worker, and the worker's end of it. */

import type { NativeError, NativeFlag, NativeModel, NativeSession, RawRunOptions, RawSource, RawValue } from '../model/native.js';
import type { ContextOptions, Engine, NativeBuilder, NativeContext, NativeGraph, NativeOperand, NativeTensor, Num, OperandDescriptor, Plain,
  TensorDescriptor } from '../engine.js';
import type { Freeable } from './local.js';
import type { DrawingEngine } from './models.js';

/** A number that the page gave an object of the worker. */
export type Id = number;
/** An operand among arguments. */
export interface OperandId {
  readonly native: 'operand';
  readonly id: Id;
}
type NamedIds = readonly (readonly [name: string, id: Id])[];

/** Calls, in order. Those with a request are answered. */
export type Command =
  | { do: 'context'; request: number; id: Id; options: ContextOptions }
  | { do: 'builder'; id: Id; context: Id }
  | { do: 'call'; builder: Id; ids: readonly Id[]; operation: string; args: readonly unknown[] }
  | { do: 'constant'; builder: Id; id: Id; descriptor: OperandDescriptor; kind: string; bytes: Uint8Array }
  | { do: 'scalar'; builder: Id; id: Id; dataType: string; value: Num }
  | { do: 'constantTensorOperand'; builder: Id; id: Id; tensor: Id }
  | { do: 'build'; request: number; builder: Id; id: Id; outputs: NamedIds }
  | { do: 'tensor'; request: number; context: Id; id: Id; descriptor: TensorDescriptor }
  | { do: 'constantTensor'; request: number; context: Id; id: Id; descriptor: OperandDescriptor; kind: string; bytes: Uint8Array }
  | { do: 'read'; request: number; context: Id; tensor: Id }
  | { do: 'write'; context: Id; tensor: Id; kind: string; bytes: Uint8Array }
  | { do: 'dispatch'; context: Id; graph: Id; inputs: NamedIds; outputs: NamedIds }
  | { do: 'destroy'; id: Id }
  | { do: 'free'; ids: readonly Id[] }
  | { do: 'models'; request: number; id: Id; method: ModelMethod; args: readonly unknown[]; cancel?: SharedArrayBuffer | 'told' | undefined; now?: boolean }
  | { do: 'cancel'; request: number };

/**
 * A call of ModelEngine's. What it makes has the number of the command; the first argument is an object's number where one is needed. `cancel`: memory that says
 * whether it is, or 'told' where a command does.
 */
export type ModelMethod = 'about' | 'load' | 'session' | 'run' | 'prepare' | 'state' | 'setState' | 'resetStates' | 'releaseModel' | 'releaseSession'
  | 'check' | 'inspect' | 'outline' | 'conversion' | 'convert';

export type Answer =
  | { say: 'done'; request: number; value?: unknown }
  | { say: 'failed'; request: number; name: string; message: string; members?: Partial<NativeError> }
  | { say: 'lost'; context: Id; message: string };

/** What is done in its turn, without waiting. */
type Immediate = Exclude<Command, { do: 'context' | 'models' | 'cancel' }>;

/** What LocalModels asks. */
interface Flag {
  readonly cancelled: boolean;
}
/** The same, of memory that both sides see. */
function flagIn(shared: SharedArrayBuffer): Flag {
  const at = new Int32Array(shared);
  return { get cancelled() { return Atomics.load(at, 0) !== 0; } };
}

/** For so many milliseconds messages that came may wait: a turn of the event loop takes longer than a small run. */
const kDeaf = 2;
let heard = -Infinity, channel: MessageChannel | undefined;
/** Waits until the messages that have come are received. */
async function hear(): Promise<void> {
  if (performance.now() - heard < kDeaf) return;
  const { port1, port2 } = channel ??= new MessageChannel();
  await new Promise<unknown>((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
  heard = performance.now();
}

/** The buffers in a plain value: they are its alone. */
function buffersOf(v: unknown, all: ArrayBuffer[] = []): ArrayBuffer[] {
  if (ArrayBuffer.isView(v)) all.push(v.buffer as ArrayBuffer);
  else if (Array.isArray(v)) for (const item of v) buffersOf(item, all);
  else if (v !== null && typeof v === 'object') for (const member of Object.values(v)) buffersOf(member, all);
  return all;
}

/** The worker's end: an engine that does what comes in. */
export class Remote {
  private readonly objects = new Map<Id, unknown>();
  private queue: Promise<void> = Promise.resolve();
  private models: Promise<DrawingEngine> | undefined;
  /** Of calls that a command may yet cancel, by their requests. */
  private readonly flags = new Map<number, { cancelled: boolean }>();
  constructor(private readonly engine: Engine, private readonly makeModels: () => Promise<DrawingEngine>,
    private readonly say: (answer: Answer, transfer: ArrayBuffer[], now?: boolean) => void) {}

  receive(commands: readonly Command[]): void {
    for (const command of commands) {  // before their turn
      if (command.do === 'models' && command.cancel === 'told') this.flags.set(command.request, { cancelled: false });
      else if (command.do === 'cancel' && this.flags.has(command.request)) this.flags.get(command.request)!.cancelled = true;
    }
    this.queue = this.queue.then(async () => {
      for (const command of commands) {
        if (command.do === 'context') await this.context(command);
        else if (command.do === 'models') await this.model(command);
        else if (command.do !== 'cancel') this.run(command);
      }
    });
  }

  private async context({ request, id, options }: Command & { do: 'context' }): Promise<void> {
    const made = this.engine.createContext(options);
    this.answer(request, id, made);
    await made.then((context) => context.onLost((message) => this.say({ say: 'lost', context: id, message }, [])), () => undefined);
  }

  private async model({ request, id, method, args, cancel, now }: Command & { do: 'models' }): Promise<void> {
    try {
      if (cancel === 'told') await hear();
      const flag = cancel === 'told' ? this.flags.get(request) : cancel && flagIn(cancel);
      const value = await this.modelCall(await (this.models ??= this.makeModels()), id, method, args, flag as unknown as NativeFlag | undefined);
      this.say({ say: 'done', request, value }, buffersOf(value), now);
    } catch (error) {
      const { name, message, code, where, detail, tasks, remedies } = error as NativeError;
      this.say({ say: 'failed', request, name, message, ...(tasks && { members: { code, where, detail, tasks, remedies } }) }, [], now);
    } finally {
      this.flags.delete(request);
    }
  }

  private async modelCall(engine: DrawingEngine, id: Id, method: ModelMethod, [first, ...rest]: readonly unknown[], cancel: NativeFlag | undefined): Promise<unknown> {
    const source = first as RawSource, object = (): never => this.get(first as Id) as never, options = rest[0] as object;
    switch (method) {
      case 'about': return { ...engine.environment, dtypes: engine.dtypes };
      case 'load': {
        const model = await engine.load(source, options, cancel);
        this.objects.set(id, model);
        return { description: engine.describe(model), packed: engine.packedMemory(model), held: engine.held(model) };
      }
      case 'session':
        this.objects.set(id, engine.session(object() as NativeModel, options));
        return undefined;
      case 'run': {
        const session = object() as NativeSession;
        const outputs = await engine.run(session, rest[0] as RawValue[], { ...rest[1] as RawRunOptions, ...(cancel && { cancel }) });
        return { outputs, memory: engine.memory(session) };
      }
      case 'prepare': return engine.prepare(object(), rest[0] as Record<string, number[]>);
      case 'state': return engine.state(object(), rest[0] as string);
      case 'setState': return engine.setState(object(), rest[0] as string, rest[1] as RawValue);
      case 'resetStates': return engine.resetStates(object());
      case 'releaseModel': engine.releaseModel(object()); break;
      case 'releaseSession': engine.releaseSession(object()); break;
      case 'check': return engine.check(source, options, cancel);
      case 'inspect': return engine.inspect(source, options, cancel);
      case 'outline': return engine.outline(source, options);
      case 'conversion': return engine.conversion(source, options, rest[1] as object);
      case 'convert': return engine.convert(source, options, rest[1] as object, rest[2] as string | undefined, cancel);
    }
    this.objects.delete(first as Id);
    return undefined;
  }

  private run(command: Immediate): void {
    try {
      this.perform(command);
    } catch (error) {
      this.failed(command, error as Error);
    }
  }

  private perform(c: Immediate): void {
    switch (c.do) {
      case 'builder':
        this.objects.set(c.id, this.get<NativeContext>(c.context).builder());
        break;
      case 'call': {
        const made = this.get<NativeBuilder>(c.builder).call(c.operation, c.args.map((arg) => this.known(arg)));
        c.ids.forEach((id, i) => this.objects.set(id, made[i]));
        break;
      }
      case 'constant':
        this.objects.set(c.id, this.get<NativeBuilder>(c.builder).constant(c.descriptor, c));
        break;
      case 'scalar':
        this.objects.set(c.id, this.get<NativeBuilder>(c.builder).scalar(c.dataType, c.value));
        break;
      case 'constantTensorOperand':
        this.objects.set(c.id, this.get<NativeBuilder>(c.builder).constantTensor(this.get<NativeTensor>(c.tensor)));
        break;
      case 'build':
        this.answer(c.request, c.id, this.get<NativeBuilder>(c.builder).build(this.named<NativeOperand>(c.outputs)));
        break;
      case 'tensor':
        this.answer(c.request, c.id, this.get<NativeContext>(c.context).tensor(c.descriptor));
        break;
      case 'constantTensor':
        this.answer(c.request, c.id, this.get<NativeContext>(c.context).constantTensor(c.descriptor, c));
        break;
      case 'read':
        this.answer(c.request, undefined, this.get<NativeContext>(c.context).read(this.get<NativeTensor>(c.tensor)));
        break;
      case 'write':
        this.get<NativeContext>(c.context).write(this.get<NativeTensor>(c.tensor), c);
        break;
      case 'dispatch':
        this.get<NativeContext>(c.context).dispatch(this.get<NativeGraph>(c.graph), this.named<NativeTensor>(c.inputs), this.named<NativeTensor>(c.outputs));
        break;
      case 'destroy':
        this.get<NativeTensor | NativeGraph | NativeContext>(c.id).destroy();
        break;
      case 'free':
        for (const id of c.ids) {
          (this.objects.get(id) as Partial<Freeable> | undefined)?.free?.();
          this.objects.delete(id);
        }
    }
  }

  /** A call that the page's checks let pass: its builder says so when it builds, its context is lost. */
  private failed(command: Immediate, error: Error): void {
    if ('request' in command) this.say({ say: 'failed', request: command.request, name: error.name, message: error.message }, []);
    else if (command.do === 'builder') this.objects.set(command.id, error);
    else if ('builder' in command) this.objects.set(command.builder, error);
    else if ('context' in command && error.name !== 'InvalidStateError') this.say({ say: 'lost', context: command.context, message: error.message }, []);
  }

  private answer(request: number, id: Id | undefined, promise: Promise<unknown>): void {
    promise.then((value) => {
      if (id !== undefined) this.objects.set(id, value);
      if (value instanceof ArrayBuffer) this.say({ say: 'done', request, value }, [value]);
      else this.say({ say: 'done', request }, []);
    }, (error: Error) => this.say({ say: 'failed', request, name: error.name, message: error.message }, []));
  }
  private get<T>(id: Id): T {
    const object = this.objects.get(id);
    if (object instanceof Error) throw object;
    if (object === undefined) throw new Error(`the worker knows no object ${id}`);
    return object as T;
  }
  private named<T>(ids: NamedIds): (readonly [string, T])[] {
    return ids.map(([name, id]) => [name, this.get<T>(id)] as const);
  }
  private known(v: unknown): Plain {
    if (v === null || typeof v !== 'object') return v as Plain;
    if ((v as Partial<OperandId>).native === 'operand') return this.get<NativeOperand>((v as OperandId).id);
    if (Array.isArray(v)) return v.map((item) => this.known(item));
    return Object.fromEntries(Object.entries(v).map(([name, member]) => [name, this.known(member)]));
  }
}
