/** The threads of an instance: workers on its memory, begun when a run first wants them. They end with the instance. */

import { builtin } from './builtin.js';
import { type Code, isNode } from './code.js';
import { importsOf, trap } from './host.js';

/** What a worker needs to be a thread. */
export interface Begin {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly start: number;
  readonly stack: number;
  /** When the clock of who begins it began. */
  readonly origin: number;
  /** One number, shared by all threads: not 0 when one of them has failed. */
  readonly failed: Int32Array;
}
/** A message to a worker that makes a thread of it. */
export interface BeginMessage {
  readonly thread: Begin;
}
/** Begins a worker; gives what ends it. `failed`: its error, if that is told here. */
export type Spawn = (begin: Begin, failed: (message: string) => void) => () => void;

async function spawnInNode(): Promise<Spawn> {
  const { Worker } = await builtin('worker_threads');
  return (begin, failed) => {
    const worker = new Worker(new URL('./thread.mjs', import.meta.url), { workerData: begin, execArgv: [], name: 'nnex thread' });
    worker.unref();
    worker.on('error', (error) => failed(error.message));
    return () => void worker.terminate();
  };
}

/** Knows nothing of its instance, which may be collected while its threads wait. */
export class Threads {
  private readonly failed = new Int32Array(new SharedArrayBuffer(4));
  private readonly ends: (() => void)[] = [];
  private why: string | undefined;
  private refused = false;
  private constructor(private readonly code: Code, private readonly memory: WebAssembly.Memory,
    private readonly spawn: Spawn | undefined) {}

  static async make(code: Code, memory: WebAssembly.Memory): Promise<Threads> {
    return new Threads(code, memory, code.spawn ?? (isNode() ? await spawnInNode() : undefined));
  }
  begin(start: number, stack: number): boolean {
    if (!this.spawn || this.refused) return false;
    try {
      const begin = { module: this.code.module, memory: this.memory, start, stack, origin: performance.timeOrigin, failed: this.failed };
      this.ends.push(this.spawn(begin, (message) => { this.why ??= message; }));
      return true;
    } catch {
      this.refused = true;  // a run asks again and again
      return false;
    }
  }
  /** One that never began is not missed: others do its work. */
  check(): void {
    if (Atomics.load(this.failed, 0) === 0) return;
    trap(`a thread failed${this.why ? `: ${this.why}` : ''}`);
  }
  end(): void {
    for (const end of this.ends.splice(0)) end();
  }
}

/** A worker's life as a thread: until it is ended. */
export function runThread({ module, memory, start, stack, origin, failed }: Begin): void {
  try {
    const host = {
      view: () => new DataView(memory.buffer), now: () => performance.timeOrigin - origin + performance.now(), threads: 1, begin: () => false,
      check: () => undefined,
    };
    const { exports } = new WebAssembly.Instance(module, importsOf(module, host, memory));
    const { stackRestore, nnex_thread } = exports as Record<string, (address: number) => void>;
    stackRestore!(stack);
    nnex_thread!(start);
  } catch (error) {
    Atomics.store(failed, 0, 1);
    throw error;
  }
}
