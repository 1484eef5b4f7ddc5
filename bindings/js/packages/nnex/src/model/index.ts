/** Models of every standard: loaded, checked, inspected, converted. */
import { settled } from './error.js';
import { Model } from './model.js';
import { rawLoad, rawSave, rawSession } from './options.js';
import type { LoadOptions, SaveOptions, SessionOptions } from './options.js';
import { inspectionOf } from './reports.js';
import type { CheckReport, Inspection, SaveReport } from './reports.js';
import { rawSource } from './source.js';
import type { Source } from './source.js';
import type { ModelEngine } from './native.js';

export { NnexError } from './error.js';
export type { ErrorCode } from './error.js';
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

/** The functions over what computes, which is asked for when the first of them is called. */
export function models(engine: () => ModelEngine | Promise<ModelEngine>): Models {
  async function convert(source: Source, path: string, options?: ConvertOptions): Promise<SaveReport>;
  async function convert(source: Source, options?: ConvertOptions): Promise<Map<string, Uint8Array>>;
  async function convert(source: Source, to?: string | ConvertOptions, more: ConvertOptions = {}): Promise<SaveReport | Map<string, Uint8Array>> {
    const path = typeof to === 'string' ? to : undefined;
    const { load: loading = {}, ...saving } = typeof to === 'string' ? more : (to ?? {});
    const raw = await rawSource(source, loading.name);
    const done = await settled((await engine()).convert(raw, rawLoad(loading), rawSave(saving), path));
    return path === undefined ? new Map(done as [string, Uint8Array][]) : (done as SaveReport);
  }
  return {
    async load(source, options = {}) {
      const chosen = await engine();
      const [loading, session] = [rawLoad(options), rawSession(options)];
      const native = await settled(chosen.load(await rawSource(source, options.name), loading));
      return new Model(chosen, native, session);
    },
    async check(source, options = {}) {
      return (await settled((await engine()).check(await rawSource(source, options.name), rawLoad(options)))) as CheckReport;
    },
    async inspect(source, options = {}) {
      const chosen = await engine();
      return inspectionOf(await settled(chosen.inspect(await rawSource(source, options.name), rawLoad(options))), chosen);
    },
    convert,
  };
}
