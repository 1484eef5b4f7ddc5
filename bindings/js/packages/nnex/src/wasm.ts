/** The engine as WebAssembly: wherever no addon fits. */

import type { ContextOptions, Engine, NativeContext } from './engine.js';
import { codeOf, isNode, type WasmSource } from './wasm/code.js';
import type { Port } from './wasm/link.js';
import { LocalEngine } from './wasm/local.js';
import { LocalModels, type DrawingEngine } from './wasm/models.js';
import type { Answer } from './wasm/remote.js';
import { SplitModels } from './wasm/split-models.js';
import { SplitEngine } from './wasm/split.js';

declare const NNEX_VERSION: string | undefined;
const version = typeof NNEX_VERSION === 'string' ? NNEX_VERSION : '0.0.0';

export interface WasmOptions {
  /** The module, or where it is. Absent: nnex.wasm beside this file. */
  wasm?: WasmSource;
  /** The worker's script, what makes a worker of it, or false: everything runs on the caller. Absent: in a page, worker.js beside this file. */
  worker?: string | URL | (() => Worker) | false;
}

/** Whether this is the thread of a page, which must stay responsive. */
const onPage = (): boolean => typeof document !== 'undefined' && typeof Worker === 'function' && !isNode();

let told = false;
function tell(where: string): void {
  if (!told && !isNode()) console.info(`nnex ${version}: WebAssembly with SIMD, one thread, ${where}`);
  told = true;
}

function makeWorker(given: WasmOptions['worker']): Worker {
  if (typeof given === 'function') return given();
  return new Worker(given || new URL('./worker.js', import.meta.url), { type: 'module', name: 'nnex' });
}

/** A worker that has the code. */
async function portOf(worker: Worker, code: WebAssembly.Module): Promise<Port> {
  worker.postMessage(code);
  return {
    post: (commands, transfer) => worker.postMessage(commands, transfer),
    listen: (answered, failed) => {
      worker.onmessage = (event: MessageEvent<Answer>) => answered(event.data);
      worker.onerror = (event) => failed(event.message ?? 'its script cannot be loaded');
      worker.onmessageerror = () => failed('a message was lost');
    },
    end: () => worker.terminate(),
  };
}

/** In a page: a worker, or the caller where there can be none. */
class PageEngine implements Engine {
  readonly kind = 'wasm';
  readonly version = version;
  private readonly split: Engine;
  private readonly local: Engine;
  private alone = false;
  constructor(code: () => Promise<WebAssembly.Module>, worker: WasmOptions['worker']) {
    this.split = new SplitEngine(code, async () => portOf(makeWorker(worker), await code()), version);
    this.local = new LocalEngine(code, version);
  }
  async createContext(options: ContextOptions): Promise<NativeContext> {
    if (!this.alone) {
      try {
        const context = await this.split.createContext(options);
        tell('in a worker');
        return context;
      } catch (error) {
        console.warn(`nnex: no worker (${(error as Error).message}); everything runs on this thread`);
        this.alone = true;
      }
    }
    tell('on this thread');
    return this.local.createContext(options);
  }
}

/** Where models are read and run: in a page a worker, where there can be one. */
export async function wasmModels(options: WasmOptions = {}): Promise<DrawingEngine> {
  const code = codeOf(options.wasm);
  if (options.worker !== false && (options.worker || onPage())) {
    try {
      return await SplitModels.make(async () => portOf(makeWorker(options.worker), await code()));
    } catch (error) {
      console.warn(`nnex: no worker (${(error as Error).message}); models run on this thread`);
    }
  }
  return LocalModels.make(await code());
}

/** The engine; nothing is loaded before its first context. */
export function wasmEngine(options: WasmOptions = {}): Engine {
  const code = codeOf(options.wasm);
  if (options.worker !== false && (options.worker || onPage())) return new PageEngine(code, options.worker);
  return new LocalEngine(code, version);
}
