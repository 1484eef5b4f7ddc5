/**
 * nnex in browsers: WebAssembly, in a worker where there may be one.
 *
 *     import { ml, load } from 'nnex';
 *
 * nnex.wasm and worker.js are found beside this module; bundlers and other hosts say where they are with configure().
 */
import { interfaces, makeML } from './ml/ml.js';
import { type ConvertOptions, type Models, type SaveReport, answered, models } from './model/index.js';
import type { Engine } from './engine.js';
import { type LoadOptions, convertOptions, readingOptions } from './model/options.js';
import type { AbortOptions } from './model/abort.js';
import type { Source } from './model/source.js';
import { configureOptions } from './wasm/configure.js';
import type { DrawingEngine, Outline } from './wasm/models.js';
import { type WasmOptions, wasmEngine, wasmModels } from './wasm.js';

let options: WasmOptions = {};
let engine: Engine | undefined;
let modelEngine: (() => Promise<DrawingEngine>) | undefined;
const drawing = (): Promise<DrawingEngine> => (modelEngine ??= wasmModels(options))();

/** Where the module and its worker are, before the first context or model. */
export function configure(given?: WasmOptions): void {
  options = configureOptions(given);
  engine = undefined;
  modelEngine = undefined;
}

/** What `navigator.ml` is on the web. */
export const ml = makeML(async () => (engine ??= wasmEngine(options)));
/** The interface objects by name: what `nnex/polyfill` makes global. */
export { interfaces };
export * from './ml/interfaces.gen.js';
/** @internal What `nnex/onnxruntime` stands on. */
export const modelsHere = drawing;
const all = models(modelsHere);
// By the interface's members: compilers show what is written there.
export const load: Models['load'] = all.load;
export const check: Models['check'] = all.check;
export const inspect: Models['inspect'] = all.inspect;
export const convert: Models['convert'] = all.convert;
/** A model's network as something to draw. */
export async function outline(source: Source, given?: LoadOptions & AbortOptions): Promise<Outline> {
  const { name, signal, ...options } = readingOptions(given, 'outline');
  return (await answered(drawing, source, { call: 'outline', name, signal }, (engine, raw) => engine.outline(raw, options)))[0] as Outline;
}
/** As convert() into memory: the files, and what else is to be said of them. */
export async function conversion(source: Source, given?: ConvertOptions): Promise<{ files: Map<string, Uint8Array>; report: SaveReport }> {
  const { signal, load: { name, ...reading } = {}, ...saving } = convertOptions(given);
  const [{ files, report }] = await answered(drawing, source, { call: 'convert', name, signal }, (engine, raw) => engine.conversion(raw, reading, saving));
  return { files: new Map(files), report };
}
export { Model, NnexError, Session } from './model/index.js';
export type * from './model/index.js';
export type { Outline, OutlineValue } from './wasm/models.js';
export type { WasmOptions } from './wasm.js';
