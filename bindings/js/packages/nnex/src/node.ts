/** Where Node finds what computes: the addon of its platform, by name or by NNEX_NODE_ADDON. */
import nodeModules from 'node:module';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Engine } from './engine.js';
import { NnexError } from './model/error.js';
import type { ModelEngine } from './model/native.js';
import type { WasmOptions } from './wasm.js';

const platform = `${process.platform}-${process.arch}`;
const needed = `nnex-${platform}`;

/** The addon's exports: the engine of WebNN, and what src/model calls. */
export type Addon = Engine & Readonly<Record<string, unknown>>;

/** A variable of the environment; one that may not be read (Deno asks for permission) is none. */
function setting(name: string): string | undefined {
  try {
    return process.env[name] || undefined;
  } catch {
    return undefined;
  }
}

/** Where this file is, if it was made part of a bundle of CommonJS: there is no import.meta.url then. */
const bundle = import.meta.url === undefined ? pathToFileURL(__filename) : undefined;

let loaded: Addon | undefined;

/** The addon, loaded once. Throws an Error that says what was looked for. */
export function addon(): Addon {
  if (loaded) return loaded;
  const path = setting('NNEX_NODE_ADDON');
  let cause: unknown;
  for (const place of places()) {
    try {
      return (loaded = nodeModules.createRequire(place)(path || needed) as Addon);  // by the name require webpack would put one of its own there
    } catch (error) {
      cause ??= error;
    }
  }
  const why = String((cause as Partial<Error> | null)?.message ?? cause).split('\n', 1)[0]!.replace(/\.$/, '');
  const sought = path ? `NNEX_NODE_ADDON=${path}` : `the package ${needed}`;
  const error = new NnexError('unsupported', `nnex: found Node.js ${process.versions.node} on ${platform}; needed ${sought}, which cannot be loaded: ${why}. ${help()}`);
  error.cause = cause;
  throw error;
}
/** Where the addon's package is looked for: from this file, wherever a bundler has put it. An address of its own it would write down as that of the machine it ran on. */
function places(): (string | URL)[] {
  const beside = bundle ? new URL('./nnex.wasm', bundle) : new URL('./nnex.wasm', import.meta.url), file = fileName();
  return [...(file !== undefined && isAbsolute(file) ? [file] : []), beside];
}
/** This file in CommonJS. By trying: webpack says of modules, too, that they have it. */
function fileName(): string | undefined {
  try {
    return __filename;
  } catch {
    return undefined;
  }
}
/** What would help, to who has the package from npm. */
function help(): string {
  const wasm = String(bundle ? new URL('./nnex.wasm', bundle) : new URL('./nnex.wasm', import.meta.url));
  const addon = platform === 'linux-x64' ? `\`npm install ${needed}\` adds it, where optional dependencies were left out (a bundle finds it in a node_modules beside or above itself)` : `there is none for ${platform}`;
  return `${addon}; without it ${wasm} serves, which the package has as nnex/nnex.wasm, with nnex/thread.mjs beside it`;
}

let wasm: Promise<typeof import('./wasm.js')> | undefined;
/** The WebAssembly module's side; `why` the addon does not serve, which is told once in a thread, whichever entry asks. */
async function wasmSide(why: unknown): Promise<typeof import('./wasm.js')> {
  if (why !== undefined && !(await wasmThere())) throw why;
  return (wasm ??= import('./wasm.js').then((side) => {
    if (why instanceof Error) side.tellInstead(why.message);
    return side;
  }));
}

function wrong(variable: string, found: string, needed: string): NnexError {
  return new NnexError('invalid argument', `${variable}: found '${found}'; needed ${needed}`);
}
/** NNEX_ENGINE: what is to compute. */
function wantedEngine(): 'addon' | 'wasm' | undefined {
  const wish = setting('NNEX_ENGINE');
  if (wish !== undefined && wish !== 'addon' && wish !== 'wasm') throw wrong('NNEX_ENGINE', wish, 'addon or wasm');
  return wish;
}
/** NNEX_THREADS: how many threads a run may use; 0: as many as the machine has. By syntax alone, as a page may have replaced all else. */
function wantedThreads(): number {
  const wish = setting('NNEX_THREADS') ?? '0';
  for (let i = 0; i < wish.length; ++i)
    if (!(wish[i]! >= '0' && wish[i]! <= '9')) throw wrong('NNEX_THREADS', wish, 'a whole number, or 0 for as many threads as the machine has');
  return +wish < 1024 ? +wish : 1024;
}
const wasmOptions = (): WasmOptions => ({
  ...(wantedThreads() > 0 ? { threads: wantedThreads() } : {}), ...(bundle ? { wasm: new URL('./nnex.wasm', bundle), worker: new URL('./thread.mjs', bundle) } : {}),
});

/** The addon, or why WebAssembly is to compute: undefined where that was asked for. Throws where the addon was asked for and cannot be loaded. */
function chosen(): { readonly here: Addon } | { readonly why: unknown } {
  const wanted = wantedEngine();
  wantedThreads();
  if (wanted === 'wasm') return { why: undefined };
  try {
    return { here: addon() };
  } catch (why) {
    if (wanted === 'addon' || setting('NNEX_NODE_ADDON')) throw why;
    return { why };
  }
}

let wasmEngine: Engine | undefined;
/** The addon; where there is none, the WebAssembly module, which says so. NNEX_ENGINE ("addon", "wasm") chooses one of them. */
export async function engine(): Promise<Engine> {
  const choice = chosen();
  if ('here' in choice) return choice.here;
  const { wasmEngine: make } = await wasmSide(choice.why);
  return (wasmEngine ??= make(wasmOptions()));
}

async function wasmThere(): Promise<boolean> {
  const { stat } = await import('node:fs/promises');  // access() of Deno's asks who runs it
  return stat(bundle ? new URL('./nnex.wasm', bundle) : new URL('./nnex.wasm', import.meta.url)).then(() => true, () => false);
}

let wasmModels: (() => Promise<ModelEngine>) | undefined;
/** The same for models: the addon at once. */
export function modelEngine(): ModelEngine | Promise<ModelEngine> {
  const choice = chosen();
  if ('here' in choice) return choice.here as unknown as ModelEngine;
  return wasmSide(choice.why).then((side) => (wasmModels ??= side.wasmModels(wasmOptions()))());
}
