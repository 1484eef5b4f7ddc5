/** The engine as WebAssembly: wherever no addon fits. */

import type { ContextOptions, Engine, NativeContext } from './engine.js';
import { type Choice, type Code, type CodeOptions, type Codes, codesOf, isNode, once } from './wasm/code.js';
import { script } from './wasm/here.js';
import type { Port } from './wasm/link.js';
import { LocalEngine } from './wasm/local.js';
import { LocalModels, type DrawingEngine } from './wasm/models.js';
import { portInNode } from './wasm/node-worker.js';
import type { Answer } from './wasm/remote.js';
import { SplitModels } from './wasm/split-models.js';
import { SplitEngine } from './wasm/split.js';
import type { BeginMessage } from './wasm/threads.js';
import { namedError } from './wasm/wire.js';
import type { ThreadCall } from './wasm/worker.js';

declare const NNEX_VERSION: string | undefined;
declare const NNEX_PAGE: boolean;
const version = typeof NNEX_VERSION === 'string' ? NNEX_VERSION : '0.0.0';

export interface WasmOptions extends CodeOptions {
  /** The worker's script, what makes a worker of it, or false: everything runs on the caller. Absent: in a page worker.js beside this file, in Node thread.mjs. */
  worker?: string | URL | (() => Worker) | false;
}

/** Whether this is the thread of a page, which must stay responsive. */
const onPage = (): boolean => typeof document !== 'undefined' && typeof Worker === 'function' && !isNode();
/** Node by the scripts that are its own: its event loop is to go on. */
const onLoop = (): boolean => !NNEX_PAGE && isNode();
/** Whether a worker is to compute. */
const apart = ({ worker }: WasmOptions): boolean => worker !== false && (!!worker || onPage() || onLoop());

let told = false;
/** Once, which module serves. */
function tell({ code, why }: Choice, where: string): void {
  const threads = why === undefined ? `${code.threads} threads` : `one thread (${why})`;
  if (!told && !isNode()) console.info(`nnex ${version}: WebAssembly with SIMD, ${threads}, ${where}`);
  told = true;
}

let toldInstead = false;
/** In Node, once: that no addon serves. Node's own switches silence it. */
export function tellInstead(why: string): void {
  if (!toldInstead) process.emitWarning(`WebAssembly computes, slower than the addon would. ${why}`, { type: 'NnexWarning', code: 'NNEX_WASM' });
  toldInstead = true;
}

/** Scripts that import those of other origins, by address: no worker begins with one of them. */
const imports = new Map<string, string>();
function fromHere(address: string | URL): string | URL {
  const here = globalThis.location as Location | undefined;
  const { href, origin, protocol } = new URL(address, globalThis.document?.baseURI ?? here?.href);
  if (!here || origin === here.origin || !protocol.startsWith('http')) return address;
  let made = imports.get(href);
  if (made === undefined) {
    made = URL.createObjectURL(new Blob([`import ${JSON.stringify(href)};`], { type: 'text/javascript' }));
    imports.set(href, made);
  }
  return made;
}

interface Policy {
  createScriptURL(address: string): string;
}
let policy: Policy | undefined;
/** An address as pages take it that ask for trusted types: by the policy 'nnex', which is asked for the worker's script alone. */
function trusted(address: string | URL): string | URL {
  const { trustedTypes } = globalThis as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } };
  if (!trustedTypes) return address;
  try {
    policy ??= trustedTypes.createPolicy('nnex', { createScriptURL: (text) => text });
    return policy.createScriptURL(String(address));
  } catch {  // the page lists its policies, and this is none of them
    return address;
  }
}

function makeWorker(given: WasmOptions['worker'], name: string): Worker {
  if (typeof given === 'function') return given();
  const beside = script ? new URL('./worker.js', script) : new URL('./worker.js', import.meta.url);  // as bundlers know it
  return new Worker(trusted(fromHere(given || beside)), { type: 'module', name });
}

/** The threads of a worker's engine, which the page begins for it. */
class PageThreads {
  private readonly workers = new Map<number, Worker>();
  constructor(private readonly given: WasmOptions['worker']) {}
  hear(call: ThreadCall): void {
    if (call.say === 'end') {
      this.workers.get(call.id)?.terminate();
      this.workers.delete(call.id);
      return;
    }
    try {
      const worker = makeWorker(this.given, 'nnex thread');
      this.workers.set(call.id, worker);
      worker.postMessage({ thread: call.begin } satisfies BeginMessage);
    } catch (error) {
      console.warn(`nnex: no worker for a thread (${(error as Error).message})`);  // its work is done by the others
    }
  }
  end(): void {
    for (const worker of this.workers.values()) worker.terminate();
    this.workers.clear();
  }
}

/** A worker that has code. */
async function portOf(given: WasmOptions['worker'], codes: Codes): Promise<Port> {
  if (onLoop()) return portInNode((await codes.best()).code, given as string | URL | undefined ?? new URL('./thread.mjs', import.meta.url));
  const worker = makeWorker(given, 'nnex'), threads = new PageThreads(given);
  let early: string | undefined;  // what goes wrong before somebody listens
  worker.onerror = (event) => { early = event.message ?? 'its script cannot be loaded'; };
  try {
    worker.postMessage((await codes.best()).code);
  } catch (error) {
    worker.terminate();
    throw error;
  }
  const end = (): void => {
    worker.onmessage = null;
    worker.terminate();
    threads.end();
  };
  return {
    post: (commands, transfer) => worker.postMessage(commands, transfer),
    listen: (answered, failed) => {
      const fail = (message: string): void => {
        end();
        failed(message);
      };
      worker.onmessage = ({ data }: MessageEvent<Answer | ThreadCall>) => {
        if (data.say === 'begin' || data.say === 'end') threads.hear(data);
        else answered(data);
      };
      worker.onerror = (event) => fail(event.message ?? 'its script cannot be loaded');
      worker.onmessageerror = () => fail('a message was lost');
      if (early !== undefined) fail(early);
    },
    end,
  };
}

/** A page's own thread may not wait for others. */
async function codeOfPage(codes: Codes): Promise<Code> {
  const choice = await codes.alone('a page may not wait');
  tell(choice, 'on this thread');
  return choice.code;
}

/** Tries of a worker that may fail in a row, and for how many milliseconds none is made after them: a network may be gone for a while, a policy of the page's for good. */
const kTries = 3, kRest = 60_000;

let toldAlone = false;
/** That no worker is to be had; in Node once, as a warning that its own switches silence. */
function tellAlone(why: string): void {
  if (!onLoop()) return console.warn(`nnex: no worker (${why}); this is done on the caller's thread`);
  if (!toldAlone) process.emitWarning(`nnex: no worker (${why.split('\n', 1)[0]}); WebAssembly computes on the caller's thread, whose event loop waits`, { type: 'NnexWarning', code: 'NNEX_WORKER' });
  toldAlone = true;
}

/** Whether a worker is worth a try. */
class Tries {
  private failed = 0;
  private last = 0;
  get left(): boolean {
    return this.failed < kTries || performance.now() - this.last >= kRest;
  }
  /** What an attempt gives; undefined where no worker is to be had. Of several that fail together one counts. Rejected where the module itself is what is missing. */
  async of<T>(attempt: () => Promise<T>, codes: Codes): Promise<T | undefined> {
    if (!this.left) return undefined;
    const before = this.failed;
    try {
      const made = await attempt();
      this.failed = 0;
      tell(await codes.best(), 'in a worker');
      return made;
    } catch (error) {
      const missing = await codes.best().then(() => undefined, (why: Error) => why);
      if (missing) throw missing;  // no fault of the worker's
      if (this.failed === before) {
        ++this.failed;
        this.last = performance.now();
      }
      tellAlone((error as Error).message);
      return undefined;
    }
  }
}

/** A worker, or the caller where there can be none. */
class ApartEngine implements Engine {
  readonly kind = 'wasm';
  readonly version = version;
  private readonly split: Engine;
  private readonly local: Engine;
  private readonly tries = new Tries();
  constructor(private readonly codes: Codes, worker: WasmOptions['worker']) {
    // Its own instance computes nothing.
    const front = async (): Promise<Code> => ({ ...(await codes.best()).code, threads: 1 });
    this.split = new SplitEngine(front, () => portOf(worker, codes), version);
    this.local = new LocalEngine(codeHere(codes), version);
  }
  async createContext(options: ContextOptions): Promise<NativeContext> {
    const context = await this.tries.of(() => this.split.createContext(options), this.codes).catch(({ message }: Error): never => { throw namedError('NotSupportedError', message); });
    return context ?? this.local.createContext(options);
  }
}

/** The code for who calls the module on its own thread. */
function codeHere(codes: Codes): () => Promise<Code> {
  if (onPage()) return () => codeOfPage(codes);
  return async () => {
    const choice = await codes.best();
    tell(choice, 'on this thread');
    return choice.code;
  };
}

/** Where models are read and run: in a page and in Node a worker, where there can be one. To be asked for each call, as a worker that could not be had may be there by then. */
export function wasmModels(options: WasmOptions = {}): () => Promise<DrawingEngine> {
  const codes = codesOf(options), local = once(async () => LocalModels.make(await codeHere(codes)()));
  if (!apart(options)) return local;
  const tries = new Tries(), split = once(() => SplitModels.make(() => portOf(options.worker, codes)));
  const begun = async (): Promise<DrawingEngine> => {
    const models = await split();
    await models.begin();
    return models;
  };
  return async () => (await tries.of(begun, codes)) ?? local();
}

/** The engine; nothing is loaded before its first context. */
export function wasmEngine(options: WasmOptions = {}): Engine {
  const codes = codesOf(options);
  if (apart(options)) return new ApartEngine(codes, options.worker);
  return new LocalEngine(codeHere(codes), version);
}
