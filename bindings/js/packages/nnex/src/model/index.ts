/** Models of every standard: loaded, checked, inspected, converted. */
import { settled } from './error.js';
import { Model } from './model.js';
import { checkedPath, convertOptions, loadOptions, readingOptions } from './options.js';
import type { LoadOptions, SaveOptions, SessionOptions } from './options.js';
import { inspectionOf } from './reports.js';
import type { CheckReport, Inspection, SaveReport } from './reports.js';
import { copyOf, rawSource } from './source.js';
import type { Source } from './source.js';
import type { ModelEngine, RawSource } from './native.js';

export { NnexError } from './error.js';
export type { ErrorCode, Remedy } from './error.js';
export { Model, Session } from './model.js';
export type { Feeds, Metadata, NodeTime, Outputs, Port } from './model.js';
export type { FormatName, LoadOptions, RunOptions, SaveOptions, SessionOptions } from './options.js';
export type { CheckReport, Certificate, Fault, Inspection, NodeProof, SaveReport } from './reports.js';
export type { FileBytes, Source } from './source.js';
export type { DataOf, ElementType, ValueType } from './types.js';
export type { InputValue, OutputValue, SparseTensor, Tensor, TensorLike } from './values.js';

/** Options of convert(): how the source is read and how it is written. */
export type ConvertOptions = SaveOptions & { readonly load?: LoadOptions };

export interface Models {
  /**
   * Reads and compiles a model of ONNX, NNEF, WebNN or CVM, off the event loop.
   *
   *     const model = await load('model.onnx');
   *     const { y } = await model.run({ x: new Float32Array([1, 2, 3]) });
   */
  load(source: Source, options?: LoadOptions & SessionOptions): Promise<Model>;
  /** Every fault of a model against its standard's rules and against what can be run here. */
  check(source: Source, options?: LoadOptions): Promise<CheckReport>;
  /** What a model's file says of it: inputs, operators, sizes, work. */
  inspect(source: Source, options?: LoadOptions): Promise<Inspection>;
  /** Writes a model in the form of a standard: into files, or into memory, where the files have the names they have beside each other. */
  convert(source: Source, path: string, options?: ConvertOptions): Promise<SaveReport>;
  convert(source: Source, options?: ConvertOptions): Promise<Map<string, Uint8Array>>;
}

/** What computes: at once where it is there. */
export type EngineSource<Engine extends ModelEngine = ModelEngine> = () => Engine | Promise<Engine>;

/**
 * An engine's answer about a source, whose bytes are read at the call: by the engine where it is there, which copies them, else they are copied until
 * it is.
 */
export async function answered<Engine extends ModelEngine, T>(
  engine: EngineSource<Engine>, call: string, source: Source, name: string | undefined, ask: (engine: Engine, source: RawSource) => Promise<T>,
): Promise<[T, Engine]> {
  const given = rawSource(call, source, name);
  let raw: RawSource, chosen: Engine;
  if (given instanceof Promise) {
    [raw, chosen] = await Promise.all([given, (async () => engine())()]);
  } else {
    const wanted = engine();
    raw = wanted instanceof Promise ? copyOf(given) : given;
    chosen = wanted instanceof Promise ? await wanted : wanted;
  }
  return [await settled(ask(chosen, raw)), chosen];
}

/** The functions over what computes, which is asked for when the first of them is called. */
export function models(engine: EngineSource): Models {
  async function convert(source: Source, path: string, options?: ConvertOptions): Promise<SaveReport>;
  async function convert(source: Source, options?: ConvertOptions): Promise<Map<string, Uint8Array>>;
  async function convert(source: Source, to?: string | ConvertOptions, more?: ConvertOptions): Promise<SaveReport | Map<string, Uint8Array>> {
    const path = typeof to === 'string' ? checkedPath(to, 'convert') : undefined;
    const { load: { name, ...reading } = {}, ...saving } = convertOptions(path === undefined ? to : more);
    const [done] = await answered(engine, 'convert', source, name, (chosen, raw) => chosen.convert(raw, reading, saving, path));
    return path === undefined ? new Map(done as [string, Uint8Array][]) : (done as SaveReport);
  }
  return {
    async load(source, given) {
      const { name, ...options } = loadOptions(given);
      const [native, chosen] = await answered(engine, 'load', source, name, (here, raw) => here.load(raw, options));
      return new Model(chosen, native, options);
    },
    async check(source, given) {
      const { name, ...options } = readingOptions(given, 'check');
      const [report] = await answered(engine, 'check', source, name, (chosen, raw) => chosen.check(raw, options));
      return report as CheckReport;
    },
    async inspect(source, given) {
      const { name, ...options } = readingOptions(given, 'inspect');
      const [seen, chosen] = await answered(engine, 'inspect', source, name, (here, raw) => here.inspect(raw, options));
      return inspectionOf(seen, chosen);
    },
    convert,
  };
}
