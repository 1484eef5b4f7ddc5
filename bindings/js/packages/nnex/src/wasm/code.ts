/** The module's code: where it is found, and compiled once with memory of its own and once with memory that threads share. */

import { NnexError } from '../model/error.js';
import { builtin } from './builtin.js';
import { script } from './here.js';
import type { Spawn } from './threads.js';

declare const NNEX_PAGE: boolean;
/** The interface that these scripts were written for; absent: nobody bundled them. */
declare const NNEX_INTERFACE: string | undefined;

type Fetchable = string | URL | ArrayBuffer | ArrayBufferView | Response;
export type WasmSource = Fetchable | WebAssembly.Module;

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

/** The code, and why it has one thread where it has. */
export interface Choice {
  readonly code: Code;
  readonly why?: string;
}

export interface CodeOptions {
  /** nnex.wasm, or where it is. Absent: beside this file. */
  wasm?: WasmSource;
  /** Threads of a run, at most; false: one. Absent: as many as the machine has, up to 8. */
  threads?: number | false;
}

const kDefaultMost = 8;

function isResponse(given: unknown): given is Response {
  return typeof Response === 'function' && given instanceof Response;
}

/** The source as bytes, or as a response that they are still coming from. */
async function fetched(source: Fetchable): Promise<BufferSource | Response> {
  if (typeof source !== 'string' && !(source instanceof URL) && !isResponse(source)) return source as BufferSource;
  if (isNode() && (source instanceof URL ? source.protocol === 'file:' : typeof source === 'string' && !/^https?:/.test(source))) {
    const { readFile } = await builtin('fs/promises');
    return readFile(source as URL | string).catch(({ message }: Error): never => { throw elsewhere({ url: String(source) }, message); });
  }
  const response = isResponse(source) ? source.clone() : await fetch(source).catch(({ message }: Error): never => { throw elsewhere({ url: String(source) }, message); });
  if (!response.ok) throw elsewhere(response, `${response.status} ${response.statusText}`);
  return response;
}
/** The error of an address that has no module: bundlers and servers put it where they like. */
function elsewhere({ url }: Pick<Response, 'url'>, what: string): Error {
  const otherwise = NNEX_PAGE ? 'or configure({ wasm, worker }) with the addresses of nnex.wasm and worker.js' : 'which the package has as nnex/nnex.wasm: a bundle needs it beside itself';
  return new NnexError('unreadable', `nnex: ${url}: ${what.trim()}; needed nnex.wasm there, ${otherwise}`);
}
const kMagic = 0x6d736100;  // "\0asm"
async function moduleOf(response: Response): Promise<ArrayBuffer> {
  const bytes = await response.arrayBuffer();
  if (bytes.byteLength < 4 || new DataView(bytes).getUint32(0, true) !== kMagic) throw elsewhere(response, `${response.headers.get('content-type') ?? 'an answer'} that is no WebAssembly`);
  return bytes;
}

/** What a browser says where a policy forbids WebAssembly; the text is each one's own. */
const kForbidden = /unsafe-eval|Content Security Policy|blocked by CSP/i;
async function permitted(compiling: Promise<WebAssembly.Module>): Promise<WebAssembly.Module> {
  return compiling.catch((error: Error): never => {
    if (!kForbidden.test(error.message)) throw error;
    throw new NnexError('unsupported', "nnex: the page's Content-Security-Policy forbids WebAssembly; needed 'wasm-unsafe-eval' in its script-src");
  });
}

/** The section of a module that says its interface; bindings/js/wasm/interface.mjs. */
const kSection = 'nnex.interface';
/** The module, whose calls are those that these scripts make: one of another build takes options for others, or none. */
function ofThisBuild(module: WebAssembly.Module): WebAssembly.Module {
  if (typeof NNEX_INTERFACE !== 'string') return module;
  const [section] = WebAssembly.Module.customSections(module, kSection), found = section && new TextDecoder().decode(section);
  if (found !== NNEX_INTERFACE) throw new NnexError('unsupported', `nnex: found nnex.wasm of another build (interface ${found ?? 'unknown'}); needed the one of the same package as these scripts (${NNEX_INTERFACE})`);
  return module;
}

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  return ofThisBuild(await compiled(source));
}
async function compiled(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  const code = await fetched(source);
  if (!isResponse(code)) return permitted(WebAssembly.compile(code));
  if (code.headers.get('content-type') === 'application/wasm') return permitted(WebAssembly.compileStreaming(code));
  return permitted(WebAssembly.compile(await moduleOf(code)));
}

// What stands in the code before the bits of the memory that it imports (env.memory), as characters of one byte; bindings/js/wasm/alone.mjs looks for it too.
const kMemoryImport = '\x03env\x06memory\x02';
const kHasMaximum = 1;
const kShared = 2;

/** As `compile`, of code that says of its memory that threads share it. */
async function compileShared(source: Fetchable): Promise<WebAssembly.Module> {
  const code = await fetched(source);
  const found = isResponse(code) ? await moduleOf(code) : code;
  const bytes = (ArrayBuffer.isView(found) ? new Uint8Array(found.buffer, found.byteOffset, found.byteLength) : new Uint8Array(found)).slice();
  const at = new TextDecoder('latin1').decode(bytes).indexOf(kMemoryImport);
  if (at < 0) throw new Error('found no memory among the imports');
  bytes[at + kMemoryImport.length] = kHasMaximum | kShared;
  return ofThisBuild(await permitted(WebAssembly.compile(bytes)));
}

export function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return process?.versions?.node !== undefined;
}

/** Makes something when first asked, and again where that failed. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
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
  return (await builtin('os')).cpus().length;  // Node.js before 21
}

/** Node.js without a compiler has none. */
const kNone = `nnex: found no WebAssembly in this host (Node.js has none under --jitless); needed it${NNEX_PAGE ? '' : ', or the package nnex-linux-x64'}`;

/** What forbids threads here, as far as is known before the module is loaded. */
function forbidden({ wasm, threads }: CodeOptions): string | undefined {
  if (threads === false || (threads !== undefined && threads <= 1)) return 'as was asked';
  if (wasm instanceof WebAssembly.Module) return 'the module was given compiled';
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
  /** With threads where they can be had. */
  best(): Promise<Choice>;
  /** Without threads. */
  alone(why: string): Promise<Choice>;
}

/** The code of the last options: a worker that takes another's place compiles nothing, and asks no server. */
let last: { readonly wasm: CodeOptions['wasm']; readonly threads: CodeOptions['threads']; readonly codes: Codes } | undefined;
export function codesOf(options: CodeOptions): Codes {
  const { wasm, threads } = options;
  if (!last || last.wasm !== wasm || last.threads !== threads) last = { wasm, threads, codes: makeCodes(options) };
  return last.codes;
}
function makeCodes(options: CodeOptions): Codes {
  const source = options.wasm ?? (script ? new URL('./nnex.wasm', script) : new URL('./nnex.wasm', import.meta.url));  // as bundlers know it
  const one = once(() => compile(source));
  const many = once(async (): Promise<Choice> => {
    const threads = options.threads || Math.min(await processors(), kDefaultMost);
    if (threads === 1) return alone('the machine has one processor');
    try {
      const module = await compileShared(source as Fetchable);
      memoryFor(true);
      return { code: { module, shared: true, threads } };
    } catch (error) {
      return alone(`nnex.wasm: ${(error as Error).message}`);
    }
  });
  const alone = async (why: string): Promise<Choice> => ({ code: { module: await one(), shared: false, threads: 1 }, why });
  return {
    best: async () => {
      if (typeof WebAssembly === 'undefined') throw new NnexError('unsupported', kNone);
      const why = forbidden(options);
      return why === undefined ? many() : alone(why);
    },
    alone,
  };
}
