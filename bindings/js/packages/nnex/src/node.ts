/** Where Node finds what computes: the addon of its platform, by name or by NNEX_NODE_ADDON. */
import { createRequire } from 'node:module';
import type { Engine } from './engine.js';
import type { ModelEngine } from './model/native.js';

const platform = `${process.platform}-${process.arch}`;
const needed = `nnex-${platform}`;

/** The addon's exports: the engine of WebNN, and what src/model calls. */
export type Addon = Engine & Readonly<Record<string, unknown>>;

let loaded: Addon | undefined;

/** The addon, loaded once. Throws an Error that says what was looked for. */
export function addon(): Addon {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  const path = process.env['NNEX_NODE_ADDON'];
  try {
    loaded = require(path || needed) as Addon;
    return loaded;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause);
    const sought = path ? `NNEX_NODE_ADDON=${path}` : `the package ${needed}`;
    throw new Error(
      `nnex: found Node.js ${process.versions.node} on ${platform}; needed ${sought}, which cannot be loaded: ${why}. ` +
        `bindings/js/build makes ${needed} on Linux for x86-64; elsewhere nnex.wasm beside the scripts serves (bindings/js/build --wasm)`,
      { cause },
    );
  }
}

let wasm: Promise<typeof import('./wasm.js')> | undefined;
/** The WebAssembly modules' side; `why` the addon does not serve, which is told once in a thread, whichever entry asks. */
function wasmSide(why?: unknown): Promise<typeof import('./wasm.js')> {
  return (wasm ??= import('./wasm.js').then((side) => {
    if (why instanceof Error) side.tellInstead(why.message);
    return side;
  }));
}

let wasmEngine: Promise<Engine> | undefined;

/** NNEX_THREADS bounds the threads of a run; 0 and what is no number: as many as the machine has. */
function wasmOptions(): { threads?: number } {
  const wish = Number.parseInt(process.env['NNEX_THREADS'] ?? '', 10);
  return wish > 0 ? { threads: Math.min(wish, 1024) } : {};
}

/**
 * The addon; where there is none, the WebAssembly module, which says so. NNEX_ENGINE ("addon", "wasm") chooses one of them.
 */
export async function engine(): Promise<Engine> {
  const wanted = process.env['NNEX_ENGINE'];
  let why: unknown;
  if (wanted !== 'wasm') {
    try {
      return addon();
    } catch (error) {
      if (wanted === 'addon' || process.env['NNEX_NODE_ADDON'] || !(await wasmThere())) throw error;
      why = error;
    }
  }
  return (wasmEngine ??= wasmSide(why).then((side) => side.wasmEngine(wasmOptions())));
}

async function wasmThere(): Promise<boolean> {
  const { access } = await import('node:fs/promises');
  return access(new URL('./nnex.wasm', import.meta.url)).then(() => true, () => false);
}

let wasmModels: Promise<ModelEngine> | undefined;

/** The same for models. */
export async function modelEngine(): Promise<ModelEngine> {
  const chosen: object = await engine();
  if ('load' in chosen) return chosen as ModelEngine;
  return (wasmModels ??= wasmSide().then((side) => side.wasmModels(wasmOptions())));
}
