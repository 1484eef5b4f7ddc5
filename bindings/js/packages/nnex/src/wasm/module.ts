/** One instance of the WebAssembly module: memory, calls, and requests that are settled later. */

import { type Code, memoryFor } from './code.js';
import { importsOf } from './host.js';
import { standingFor } from './pressure.js';
import { Threads } from './threads.js';
import { Reader, Writer, namedError } from './wire.js';

/** Functions of bindings/js/wasm, by name: numbers in, a number out. */
type Exports = Record<string, (...args: number[]) => number>;

/** A request's reply, once it is there: throws its error. */
type Settle = (reply: () => Reader) => void;

/** Gives a task a turn of the event loop of its own. */
const turn: (task: () => void) => void = typeof setImmediate === 'function' ? setImmediate : byChannel();
function byChannel(): (task: () => void) => void {
  const channel = new MessageChannel();
  const tasks: (() => void)[] = [];
  channel.port1.onmessage = () => tasks.shift()?.();
  return (task) => {
    tasks.push(task);
    channel.port2.postMessage(0);
  };
}

/** Threads outlive an instance that was dropped, unless they are ended. */
const dropped = new FinalizationRegistry<Threads>((threads) => threads.end());

export class Module {
  readonly writer = new Writer();
  private exports: Exports | undefined;
  private heap = new Uint8Array();
  private memory: WebAssembly.Memory | undefined;
  private threads: Threads | undefined;
  private scratch = 0;
  private scratchSize = 0;
  private readonly requests = new Map<number, Settle>();
  private lastRequest = 0;
  private turning = false;
  private weight: unknown;
  private onDeath: ((message: string) => void)[] = [];

  /** An instance of its own, with memory of its own. */
  static async make(code: Code): Promise<Module> {
    const made = new Module();
    const memory = memoryFor(code.shared);
    const threads = code.shared ? await Threads.make(code, memory) : undefined;
    const host = {
      view: () => new DataView(memory.buffer),
      now: () => performance.now(),
      threads: code.threads,
      begin: (start: number, stack: number) => threads?.begin(start, stack) ?? false,
      check: () => threads?.check(),
    };
    const instance = await WebAssembly.instantiate(code.module, importsOf(code.module, host, memory));
    made.memory = memory;
    made.exports = instance.exports as unknown as Exports;
    made.exports._initialize?.();
    if (threads) {
      made.weight = standingFor(memory.buffer.byteLength);
      made.threads = threads;
      dropped.register(made, threads);
    }
    return made;
  }

  get alive(): boolean {
    return this.exports !== undefined;
  }
  /** Bytes that the instance holds of its host. */
  get size(): number {
    return this.memory?.buffer.byteLength ?? 0;
  }

  /** Calls an export by name. What ends the program inside ends this instance. */
  call(name: string, ...args: number[]): number {
    if (!this.exports) throw namedError('InvalidStateError', 'the WebAssembly module of this context is gone');
    const called = this.exports[name];
    if (!called) throw namedError('NotSupportedError', `this build of nnex.wasm leaves ${name} out (NNEX_WASM_PARTS)`);
    try {
      return called(...args) >>> 0;  // addresses are unsigned
    } catch (error) {
      this.close(`the WebAssembly module failed: ${(error as Error).message}`);
      throw namedError('OperationError', `the WebAssembly module failed in ${name}: ${(error as Error).message}`);
    }
  }
  /** What the writer holds, in the heap until the next call of this. */
  sent(): number {
    const bytes = this.writer.done();
    if (bytes.length > this.scratchSize) {
      if (this.scratch) this.call('free', this.scratch);
      this.scratchSize = 2 * bytes.length;
      this.scratch = this.call('malloc', this.scratchSize);
    }
    this.bytes().set(bytes, this.scratch);
    return this.scratch;
  }
  /** The reply at an address, which must be read before the next call. */
  reply(address: number): Reader {
    const heap = this.bytes();
    const size = new DataView(heap.buffer).getUint32(address, true);
    // Text decoders take no memory that is shared.
    return new Reader(this.threads ? heap.slice(address + 4, address + 4 + size) : heap.subarray(address + 4, address + 4 + size));
  }
  /** Runs `use` on a copy of the bytes in the heap. */
  lend<T>(bytes: Uint8Array, use: (address: number) => T): T {
    const address = this.give(bytes);
    try {
      return use(address);
    } finally {
      if (this.alive) this.call('free', address);
    }
  }
  copy(address: number, size: number): ArrayBuffer {
    return this.bytes().slice(address, address + size).buffer as ArrayBuffer;
  }

  /** A copy of the bytes in the heap, which is the caller's to free. */
  give(bytes: Uint8Array): number {
    const address = this.call('malloc', Math.max(1, bytes.length));
    if (!address) throw namedError('UnknownError', `the WebAssembly module has no memory for ${bytes.length} bytes`);
    this.bytes().set(bytes, address);
    return address;
  }
  /** Starts what is settled later, under the number of a request. */
  later<T>(start: (request: number) => void, result: (reply: Reader) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.request(start, (reply) => {
        try {
          resolve(result(reply()));
        } catch (error) {
          reject(error);
        }
      });
    });
  }
  /** The same for a context that only checks: it is settled at once. */
  now<T>(start: (request: number) => void, result: (reply: Reader) => T): T {
    let outcome: (() => T) | undefined;
    this.request(start, (reply) => {
      try {
        const value = result(reply());
        outcome = () => value;
      } catch (error) {
        outcome = () => { throw error; };
      }
    });
    return outcome!();
  }
  /** Settles without being waited for. Returns the request. */
  request(start: (request: number) => void, settle: Settle): number {
    const request = ++this.lastRequest;
    this.requests.set(request, settle);
    try {
      start(request);
    } catch (error) {
      if (this.requests.delete(request)) settle(() => { throw error; });
      return request;
    }
    this.settle();
    return request;
  }
  /** Settles a request no more: what it is about is gone. */
  forget(request: number): void {
    this.requests.delete(request);
  }
  /** Tells all requests that are settled, and takes care that the others will be. */
  settle(): void {
    while (this.exports) {
      const reply = this.reply(this.call('nnex_poll'));
      if (reply.u8() === 0) {
        if (reply.u8() === 1) this.takeTurn();
        return;
      }
      const request = reply.u32();
      const settle = this.requests.get(request);
      this.requests.delete(request);
      settle?.(() => reply.good());
    }
  }

  /** Called once, when the instance ends before its time. */
  whenDead(listener: (message: string) => void): void {
    this.onDeath.push(listener);
  }
  /** Lets the memory go. `message`: why, where nobody asked for it. */
  close(message?: string): void {
    if (!this.exports) return;
    this.exports = undefined;
    this.memory = undefined;
    this.threads?.end();
    this.threads = undefined;
    this.heap = new Uint8Array();
    const open = [...this.requests.values()];
    this.requests.clear();
    for (const settle of open) settle(() => { throw namedError('InvalidStateError', message ?? 'the context is lost'); });
    const listeners = this.onDeath;
    this.onDeath = [];
    if (message) for (const listener of listeners) listener(message);
  }

  /** Runs one task of the module's, soon. */
  private takeTurn(): void {
    if (this.turning) return;
    this.turning = true;
    turn(() => {
      this.turning = false;
      if (this.exports) this.call('nnex_run_task');
      this.settle();
    });
  }
  private bytes(): Uint8Array {
    if (this.heap.buffer !== this.memory!.buffer) this.heap = new Uint8Array(this.memory!.buffer);
    return this.heap;
  }
}
