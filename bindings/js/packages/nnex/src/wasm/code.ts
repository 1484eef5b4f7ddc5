/** The modules' code: where it is found, compiled once, and which of the two it is. */

import type { Spawn } from './threads.js';

export type WasmSource = string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module | Response;

/** What an instance is made of. It can be sent to a worker without `spawn`. */
export interface Code {
  readonly module: WebAssembly.Module;
  /** Whether its memory is one that threads share. */
  readonly shared: boolean;
  /** What a run may use, at most. */
  readonly threads: number;
  /** Begins a worker that is a thread; absent: Node's own, and none in browsers. */
  readonly spawn?: Spawn;
}

/** Which module it is, and why it has one thread where it has. */
export interface Choice {
  readonly code: Code;
  readonly why?: string;
}

export interface CodeOptions {
  /** nnex.wasm, or where it is. Absent: beside this file. */
  wasm?: WasmSource;
  /** nnex-threads.wasm, or where it is. Absent: beside this file, where `wasm` is absent too. */
  wasmThreads?: WasmSource;
  /** Threads of a run, at most; false: one. Absent: as many as the machine has, up to 8. */
  threads?: number | false;
}

const kDefaultMost = 8;

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (typeof source !== 'string' && !(source instanceof URL) && !(typeof Response === 'function' && source instanceof Response))
    return WebAssembly.compile(source as BufferSource);
  if (isNode() && (source instanceof URL ? source.protocol === 'file:' : typeof source === 'string' && !/^https?:/.test(source))) {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(source as URL | string));
  }
  const response = source instanceof Response ? source : await fetch(source as URL | string);
  if (!response.ok) throw new Error(`nnex: ${response.url}: ${response.status} ${response.statusText}; needed a WebAssembly module of nnex`);
  if (response.headers.get('content-type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

export function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return process?.versions?.node !== undefined;
}

/** Compiles when first asked, and again where that failed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

async function processors(): Promise<number> {
  const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
  if (navigator?.hardwareConcurrency || !isNode()) return navigator?.hardwareConcurrency || 1;
  return (await import('node:os')).cpus().length;  // Node.js before 21
}

/** What forbids threads here, as far as is known before the module is loaded. */
function forbidden({ wasm, wasmThreads, threads }: CodeOptions): string | undefined {
  if (threads === false || (threads !== undefined && threads <= 1)) return 'as was asked';
  if (wasm !== undefined && wasmThreads === undefined) return 'no wasmThreads was given beside wasm';
  const { crossOriginIsolated } = globalThis as { crossOriginIsolated?: boolean };
  if (!isNode() && !crossOriginIsolated) return 'the page is not cross-origin isolated';
  if (!isNode() && typeof document === 'undefined') return 'pages alone have threads';
  if (typeof SharedArrayBuffer !== 'function') return 'there is no SharedArrayBuffer';
  return undefined;
}

const kInitialPages = 256;  // 16 MB, as bindings/js/wasm/link says
const kMaximumPages = 65536;  // 4 GB
const kLeastMaximum = 4096;
/** An instance's memory. Where threads share it, addresses for its largest size are taken at once: for as much as is to be had. */
export function memoryFor(shared: boolean): WebAssembly.Memory {
  for (let maximum = kMaximumPages; ; maximum /= 2)
    try {
      return new WebAssembly.Memory({ initial: kInitialPages, maximum, shared });
    } catch (error) {
      if (!shared || maximum === kLeastMaximum) throw error;
    }
}

export interface Codes {
  /** The module with threads where it can be used, or else the other. */
  best(): Promise<Choice>;
  /** The module without threads. */
  alone(why: string): Promise<Choice>;
}

export function codesOf(options: CodeOptions): Codes {
  const one = once(() => compile(options.wasm ?? new URL('./nnex.wasm', import.meta.url)));
  const many = once(async (): Promise<Choice> => {
    const threads = options.threads || Math.min(await processors(), kDefaultMost);
    if (threads === 1) return alone('the machine has one processor');
    try {
      const module = await compile(options.wasmThreads ?? new URL('./nnex-threads.wasm', import.meta.url));
      memoryFor(true);
      return { code: { module, shared: true, threads } };
    } catch (error) {
      return alone(`nnex-threads.wasm: ${(error as Error).message}`);
    }
  });
  const alone = async (why: string): Promise<Choice> => ({ code: { module: await one(), shared: false, threads: 1 }, why });
  return {
    best: async () => {
      const why = forbidden(options);
      return why === undefined ? many() : alone(why);
    },
    alone,
  };
}
