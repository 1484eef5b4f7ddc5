/** Models and sessions: what `load` gives. */
import { abortable, timely } from './abort.js';
import { NnexError, settled, shown } from './error.js';
import { found, quoted } from './found.js';
import type { ModelEngine, NativeModel, NativeSession, RawNodeTime, RawOutputs, RawPort, RawRunOptions, RawValue } from './native.js';
import { preparedShapes, runOptions, runSyncOptions, sessionOptions } from './options.js';
import type { RunOptions, SessionOptions } from './options.js';
import { TypeNumbers, parseType } from './types.js';
import type { ElementType, ValueType } from './types.js';
import { rawFrom, valueOf } from './values.js';
import type { Expected, InputValue, OutputValue, Tensor } from './values.js';

/** One input, output or state of a model. */
export interface Port {
  readonly name: string;
  /** "f32[N,3,224,224]", "sequence(f32[?])". */
  readonly text: string;
  /** Element type; undefined where it is no tensor, or nobody knows. */
  readonly type: ElementType | undefined;
  /** Extents: a number, the symbol or formula, or '?'; undefined where not even the rank is known. */
  readonly dims: readonly (number | string)[] | undefined;
  /** What it is where it is no tensor. */
  readonly valueType: ValueType;
}

/** What a model says of itself beside its network. */
export interface Metadata {
  readonly graphName: string;
  readonly producer: string;
  readonly producerVersion: string;
  readonly domain: string;
  readonly doc: string;
  readonly irVersion: number;
  readonly modelVersion: number;
  /** Versions of ONNX's operator sets by domain; '' is ai.onnx. */
  readonly opsets: Readonly<Record<string, number>>;
  readonly properties: Readonly<Record<string, string>>;
}

/** What the option `cache` of load() did. */
export interface CacheInfo {
  /**
   * 'none': no folder was named, or such a model is not kept; 'found': the model came out of it; 'due': it was not there, and will be when the first
   * run, or prepare(), has ended; 'written': it is there by now; 'failed': it could not be written.
   */
  readonly use: 'none' | 'found' | 'due' | 'written' | 'failed';
  /** Where the model is kept, or would be. */
  readonly file: string;
  /** Why it is not kept, was not found, or could not be written. */
  readonly why: string;
}

/** Time of one node in one run. */
export interface NodeTime {
  /** The author's name of the node. */
  readonly place: string;
  /** The operator it runs as. */
  readonly op: string;
  readonly kernel: string;
  /** Microseconds from the start of the run, and that it took. */
  readonly start: number;
  readonly duration: number;
}

/** Outputs by name. Most are tensors; `run<Outputs>()` says what else they are. */
export type Outputs = Record<string, Tensor>;
export type Feeds = Readonly<Record<string, InputValue>>;

/** Ports of a model, by place and by name. */
export class Ports {
  readonly list: readonly Port[];
  readonly places: ReadonlyMap<string, number>;
  constructor(raw: readonly RawPort[], numbers: TypeNumbers) {
    this.list = raw.map((port) => {
      const parsed = parseType(port.text, numbers);
      const extent = (text: string, axis: number): number | string => (port.extents[axis]! >= 0 ? port.extents[axis]! : text.startsWith('?') ? '?' : text);
      const dims = port.knownRank ? port.dims.map(extent) : undefined;
      const type = numbers.name(port.dtype);
      return Object.freeze({ name: port.name, text: port.text, type, dims, valueType: parsed.kind === 'tensor' ? { ...parsed, dims } : parsed });
    });
    this.places = new Map(this.list.map((port, i) => [port.name, i]));
  }
  expected(i: number): Expected {
    const port = this.list[i]!;
    return { name: port.name, text: port.text, type: port.valueType };
  }
  /** Types by name. */
  texts(): Record<string, string> {
    return Object.fromEntries(this.list.map(({ name, text }) => [name, text]));
  }
  names(): string {
    return this.list.map((port) => quoted(port.name)).join(', ');
  }
}

declare global {
  /** In words that merge with those of TypeScript's own library, for compilers whose `lib` has no `esnext.disposable`. */
  interface SymbolConstructor {
    readonly dispose: unique symbol;
  }
}

/** `using` frees it, where the runtime knows Symbol.dispose. */
function disposable(prototype: { dispose(): void }): void {
  const value = function (this: { dispose(): void }): void {
    this.dispose();
  };
  if (Symbol.dispose) Object.defineProperty(prototype, Symbol.dispose, { value, configurable: true, writable: true });
}

/** What consoles show: "Model { inputs: { x: 'f32[N,3]' }, outputs: { y: 'f32[N,10]' } }". */
function shownByConsoles<T extends object>(type: { readonly name: string; readonly prototype: T }, membersOf: (object: T) => object): void {
  const value = function (this: T, _depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    return `${type.name} ${inspect(membersOf(this), options)}`;
  };
  Object.defineProperty(type.prototype, Symbol.for('nodejs.util.inspect.custom'), { value, configurable: true, writable: true });
}

/** What a model and its sessions share. */
export interface Shared {
  readonly engine: ModelEngine;
  readonly numbers: TypeNumbers;
  readonly inputs: Ports;
  readonly outputs: Ports;
  readonly states: Ports;
  readonly expected: readonly Expected[];
}

function portsOf({ inputs, outputs, states }: Shared, released: boolean): object {
  return { inputs: inputs.texts(), outputs: outputs.texts(), ...(states.list.length > 0 && { states: states.texts() }), ...(released && { released }) };
}

/** A feed by its name, of an instance's getters and of what it inherits too, but for what every object has. */
function given(feeds: Feeds, name: string): InputValue | undefined {
  return Object.hasOwn(feeds, name) || !(name in Object.prototype) ? feeds[name] : undefined;
}

/** The engine's form of feeds, each input once. Errors: 'invalid argument'. */
function rawInputs(feeds: Feeds, { inputs, expected, numbers }: Shared): RawValue[] {
  if (typeof feeds !== 'object' || feeds === null || Symbol.iterator in feeds)
    throw new NnexError('invalid argument', `inputs: found ${found(feeds)}; needed an object with ${inputs.names() || 'no member'}`);
  for (const name of Object.keys(feeds))  // before what is missing: most often it is a name that is mistyped
    if (!inputs.places.has(name)) throw new NnexError('invalid argument', `no input ${quoted(name)}; the model has ${inputs.names() || 'none'}`);
  const raw: RawValue[] = [];
  for (let i = 0; i < expected.length; i++) {
    const needed = expected[i]!;
    const value = given(feeds, needed.name);
    if (value === undefined && needed.type.kind !== 'optional')
      throw new NnexError('invalid argument', `input ${quoted(needed.name)} is missing; needed ${needed.text}`);
    raw.push(rawFrom(value ?? null, needed, numbers));
  }
  return raw;
}

function rawOptions(options: RunOptions, { outputs }: Shared): RawRunOptions {
  const raw: RawRunOptions = {};
  if (options.timeout !== undefined && options.timeout < 1e12) raw.timeout = options.timeout;
  if (options.outputs) {
    const wanted = outputs.list.map(() => false);
    for (const name of options.outputs) {
      const place = outputs.places.get(name);
      if (place === undefined) throw new NnexError('invalid argument', `no output ${quoted(name)}; the model has ${outputs.names()}`);
      wanted[place] = true;
    }
    raw.wanted = wanted;
  }
  return raw;
}

function namedOutputs(raw: readonly RawValue[], wanted: readonly boolean[] | undefined, { outputs, numbers }: Shared): Outputs {
  const named: Outputs = {};
  for (let i = 0; i < raw.length; i++) {
    if (wanted && !wanted[i]) continue;
    const { name } = outputs.list[i]!;
    const value = valueOf(raw[i]!, numbers) as Tensor;
    Object.defineProperty(named, name, { value, enumerable: true, configurable: true, writable: true });  // whatever Object.prototype has by that name
  }
  return named;
}

/** The error of a call on what dispose() has freed. */
export function released(what: string): NnexError {
  return new NnexError('invalid argument', `the ${what} was released`);
}

/** The error of a run whose time is over. */
function late(milliseconds: number, where?: string, tasks?: readonly string[]): NnexError {
  return new NnexError('cancelled', `the run passed its timeout of ${milliseconds} ms`, where, tasks);
}
/** An engine's error about a run, which knows no more than that its time was over. */
function shownOf(error: unknown, { timeout }: { readonly timeout?: number | undefined }): unknown {
  const known = shown(error);
  return timeout !== undefined && known instanceof NnexError && known.code === 'cancelled' ? late(timeout, known.where, known.tasks) : known;
}

const valuesOf = (raw: RawOutputs): RawValue[] => (Array.isArray(raw) ? raw : raw.outputs);
const timesOf = (raw: RawOutputs): NodeTime[] => (Array.isArray(raw) ? [] : (raw.times as RawNodeTime[]));

/** What this module alone can give a constructor: classes that are made by calls have none for others, as those of the platform. */
const kMake = Symbol('made by nnex');
let makeSession: (shared: Shared, native: NativeSession, what: string) => Session;
/** A model's object. */
export let modelOf: (engine: ModelEngine, native: NativeModel, options: object) => Model;

/**
 * One caller's memory and states. Its runs come one after the other, in the order of the calls; runs of several sessions run side by
 * side. Garbage collection frees it; dispose() does so at once.
 */
export class Session {
  declare [Symbol.dispose]: () => void;
  static {
    disposable(this.prototype);
    shownByConsoles<Session>(this, (session) => portsOf(session.#shared, session.#released));
    makeSession = (shared, native, what) => new this(kMake, shared, native, what);
  }
  readonly #shared: Shared;
  readonly #own: NativeSession;
  readonly #what: string;
  #released = false;

  /** `model.session()` makes sessions. `what`: whose it is, for messages. */
  private constructor(key: symbol, shared: Shared, native: NativeSession, what: string) {
    if (key !== kMake) throw new TypeError('Illegal constructor');
    this.#shared = shared;
    this.#own = native;
    this.#what = what;
  }
  get #native(): NativeSession {
    if (this.#released) throw released(this.#what);
    return this.#own;
  }

  /** Runs the model off the event loop. Inputs are copied at once (`borrow`: not), outputs have memory of their own. */
  async run<T = Outputs>(feeds: Feeds, options?: RunOptions): Promise<T> {
    const shared = this.#shared;
    const given = options === undefined ? undefined : runOptions(options, 'run');
    const inputs = rawInputs(feeds, shared);
    try {
      if (given === undefined) {
        const out = shared.engine.run(this.#native, inputs);
        return namedOutputs(valuesOf('then' in out ? await out : out), undefined, shared) as T;  // a promise of the realm's that loaded the addon
      }
      const raw = rawOptions(given, shared);
      return namedOutputs(valuesOf(await this.#start(inputs, raw, given)), raw.wanted, shared) as T;
    } catch (error) {
      throw shownOf(error, given ?? {});
    }
  }

  /** Runs the model here and now: the event loop waits. Inputs are not copied. Refused while a run is on. */
  runSync<T = Outputs>(feeds: Feeds, options?: Pick<RunOptions, 'outputs' | 'timeout'>): T {
    const shared = this.#shared;
    const given = runSyncOptions(options);
    const inputs = rawInputs(feeds, shared);
    const raw = rawOptions(given, shared);
    try {
      return namedOutputs(valuesOf(shared.engine.runSync(this.#native, inputs, raw)), raw.wanted, shared) as T;
    } catch (error) {
      throw shownOf(error, raw);
    }
  }

  /** Runs the model with every node timed. */
  async profile<T = Outputs>(feeds: Feeds, options?: RunOptions): Promise<{ outputs: T; nodes: NodeTime[] }> {
    const shared = this.#shared;
    const given = runOptions(options, 'profile');
    const inputs = rawInputs(feeds, shared);
    const raw = { ...rawOptions(given, shared), profile: true };
    try {
      const out = await this.#start(inputs, raw, given);
      return { outputs: namedOutputs(valuesOf(out), raw.wanted, shared) as T, nodes: timesOf(out) };
    } catch (error) {
      throw shownOf(error, raw);
    }
  }

  async #start(inputs: RawValue[], raw: RawRunOptions, { signal, thread, borrow }: RunOptions): Promise<RawOutputs> {
    const { engine } = this.#shared;
    const { timeout } = raw;
    const start = (): RawOutputs | Promise<RawOutputs> => engine.run(this.#native, inputs, raw, thread === 'always', borrow === true);
    const timed = timeout !== undefined && !borrow;  // borrowed inputs are the engine's until it has stopped
    if (!signal && !timed) return start();
    const flag = engine.canceller();
    raw.cancel = flag;
    const cancel = (): void => engine.cancel(flag);
    const startTimed = timed ? () => timely(timeout, () => late(timeout), cancel, start) : start;
    return signal ? abortable(signal, cancel, startTimed) : startTimed();
  }

  /**
   * Plans ahead for inputs of these shapes, by name (others have the extents that the model declares), and packs the weights: the
   * first such run is then as fast as the next.
   */
  async prepare(shapes: Readonly<Record<string, readonly number[]>> = {}): Promise<void> {
    return settled(() => this.#shared.engine.prepare(this.#native, preparedShapes(shapes)));
  }

  /** What the session keeps from run to run under a label (`model.states`). */
  async state(label: string): Promise<OutputValue> {
    const raw = await settled(() => this.#shared.engine.state(this.#native, String(label)));
    return valueOf(raw, this.#shared.numbers);
  }
  async setState(label: string, value: InputValue): Promise<void> {
    const { engine, states, numbers } = this.#shared;
    const place = states.places.get(label);
    const expected: Expected = place === undefined ? { name: label, text: 'a state', type: { kind: 'unknown' } } : states.expected(place);
    return settled(() => engine.setState(this.#native, String(label), rawFrom(value, expected, numbers)));
  }
  /** Every state has its first content again. */
  async resetStates(): Promise<void> {
    return settled(() => this.#shared.engine.resetStates(this.#native));
  }

  /** Bytes of activations and scratch memory that it holds. */
  get memory(): number {
    return this.#shared.engine.memory(this.#native);
  }
  /** Frees it, after the runs that were asked for. */
  dispose(): void {
    if (this.#released) return;
    this.#released = true;
    this.#shared.engine.releaseSession(this.#own);
  }
}

/**
 * A network that was read and compiled. It has a session of its own, behind run(), prepare() and the states; `session()` makes more,
 * which share its weights.
 */
export class Model {
  declare [Symbol.dispose]: () => void;
  static {
    disposable(this.prototype);
    shownByConsoles<Model>(this, (model) => portsOf(model.#shared, model.#released));
    modelOf = (engine, native, options) => new this(kMake, engine, native, options);
  }
  readonly #shared: Shared;
  readonly #own: NativeModel;
  readonly #metadata: Metadata;
  readonly #session: Session;
  #released = false;

  /** `load()` makes models. */
  private constructor(key: symbol, engine: ModelEngine, native: NativeModel, options: object) {
    if (key !== kMake) throw new TypeError('Illegal constructor');
    const raw = engine.describe(native);
    const numbers = new TypeNumbers(engine.dtypes);
    const inputs = new Ports(raw.inputs, numbers);
    this.#shared = {
      engine, numbers, inputs,
      outputs: new Ports(raw.outputs, numbers),
      states: new Ports(raw.states, numbers),
      expected: inputs.list.map((_, i) => inputs.expected(i)),
    };
    const { opsets, properties, ...rest } = raw.metadata;
    this.#metadata = Object.freeze({ ...rest, opsets: Object.fromEntries(opsets), properties: Object.fromEntries(properties) });
    this.#own = native;
    this.#session = this.#sessionOf(options, 'model');
  }
  get #native(): NativeModel {
    if (this.#released) throw released('model');
    return this.#own;
  }
  #sessionOf(options: object, what: string): Session {
    try {
      return makeSession(this.#shared, this.#shared.engine.session(this.#native, options), what);
    } catch (error) {
      throw shown(error);
    }
  }

  get inputs(): readonly Port[] {
    return this.#shared.inputs.list;
  }
  get outputs(): readonly Port[] {
    return this.#shared.outputs.list;
  }
  /** What sessions keep from run to run (variables of NNEF that are updated), by label. */
  get states(): readonly Port[] {
    return this.#shared.states.list;
  }
  get metadata(): Metadata {
    return this.#metadata;
  }
  /** Bytes of constants in the forms that kernels read, which all sessions share. */
  get packedMemory(): number {
    return this.#shared.engine.packedMemory(this.#native);
  }

  /** What the option `cache` did so far. */
  get cache(): CacheInfo {
    return this.#shared.engine.cache(this.#native);
  }

  /** A session of its own memory and states. */
  session(options?: SessionOptions): Session {
    return this.#sessionOf(sessionOptions(options), 'session');
  }

  /** As Session.run(): `const { y } = await model.run({ x: new Float32Array([1, 2, 3]) })`. */
  run<T = Outputs>(feeds: Feeds, options?: RunOptions): Promise<T> {
    return this.#session.run<T>(feeds, options);
  }
  runSync<T = Outputs>(feeds: Feeds, options?: Pick<RunOptions, 'outputs' | 'timeout'>): T {
    return this.#session.runSync<T>(feeds, options);
  }
  profile<T = Outputs>(feeds: Feeds, options?: RunOptions): Promise<{ outputs: T; nodes: NodeTime[] }> {
    return this.#session.profile<T>(feeds, options);
  }
  prepare(shapes?: Readonly<Record<string, readonly number[]>>): Promise<void> {
    return this.#session.prepare(shapes);
  }
  state(label: string): Promise<OutputValue> {
    return this.#session.state(label);
  }
  setState(label: string, value: InputValue): Promise<void> {
    return this.#session.setState(label, value);
  }
  resetStates(): Promise<void> {
    return this.#session.resetStates();
  }
  get memory(): number {
    return this.#session.memory;
  }

  /** Frees it and the session of its own; other sessions keep what they need. */
  dispose(): void {
    this.#session.dispose();
    if (this.#released) return;
    this.#released = true;
    this.#shared.engine.releaseModel(this.#own);
  }
}
