/** Options of configure(). */
import type { WasmOptions } from '../wasm.js';
import { tagOf } from '../model/found.js';
import { type Kinds, isThreads, kind, taken } from '../model/options.js';

const kConfigure: Kinds<WasmOptions> = {
  wasm: kind('an address, bytes, a Response or a WebAssembly.Module', (value) =>
    typeof value === 'string' || ArrayBuffer.isView(value) || ['URL', 'ArrayBuffer', 'Response', 'WebAssembly.Module'].includes(tagOf(value))),
  worker: kind('an address, a function that makes a Worker, or false', (value) =>
    typeof value === 'string' || typeof value === 'function' || value === false || tagOf(value) === 'URL'),
  threads: kind('a whole number from 0 to 2147483647, or false', (value) => value === false || isThreads(value)),
};

/** What they mean to the engine. Throws a TypeError that names the option. */
export const configureOptions = (given: unknown): WasmOptions => taken(given, kConfigure, 'configure');
