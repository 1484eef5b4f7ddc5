/** Models of every standard: loaded, checked, inspected, converted. */
import { type AbortOptions, abortable } from './abort.js';
import { NnexError, settled } from './error.js';
import { type Model, modelOf } from './model.js';
import { convertOptions, inConvert, loadOptions, readingOptions } from './options.js';
import type { LoadOptions, SaveOptions, SessionOptions } from './options.js';
import { inspectionOf } from './reports.js';
import type { CheckReport, Inspection, SaveReport } from './reports.js';
import { copyOf, rawSource, targetPath } from './source.js';
import type { Source } from './source.js';
import type { ModelEngine, NativeFlag, RawSource } from './native.js';

export type { AbortOptions } from './abort.js';
export { NnexError } from './error.js';
export type { ErrorCode, Remedy } from './error.js';
export { Model, Session } from './model.js';
export type { CacheInfo, Feeds, Metadata, NodeTime, Outputs, Port } from './model.js';
export type { FormName, LoadOptions, RunOptions, SaveOptions, SessionOptions } from './options.js';
export type { CheckReport, Certificate, Fault, Inspection, NodeProof, SaveReport } from './reports.js';
export type { FileBytes, Source } from './source.js';
export type { DataOf, ElementType, ValueType } from './types.js';
export type { InputValue, OutputValue, SparseTensor, Tensor, TensorLike } from './values.js';

/** Options of convert(): how the source is read and how it is written. */
export type ConvertOptions = SaveOptions & AbortOptions & { readonly load?: LoadOptions };

/** Bytes whose memory is no other's, as Blob and fetch() take them: TypeScript tells them from 5.7 on. */
export type Bytes = ReturnType<typeof Uint8Array.of>;

export interface Models {
  /**
   * Reads and compiles a model of ONNX, NNEF, WebNN or CVM, off the event loop.
   *
   *     const model = await load('model.onnx');
   *     const { y } = await model.run({ x: new Float32Array([1, 2, 3]) });
   */
  load(source: Source, options?: LoadOptions & SessionOptions & AbortOptions): Promise<Model>;
  /** Every fault of a model against its standard's rules and against what can be run here. */
  check(source: Source, options?: LoadOptions & AbortOptions): Promise<CheckReport>;
  /** What a model's file says of it: inputs, operators, sizes, work. */
  inspect(source: Source, options?: LoadOptions & AbortOptions): Promise<Inspection>;
  /** Writes a model in the form of a standard into files; its path, or `file:` URL, tells the standard by its ending. */
  convert(source: Source, path: string | URL, options?: ConvertOptions): Promise<SaveReport>;
  /** Writes a model in the form of a standard into memory: its files by the names that they have beside each other. */
  convert(source: Source, options?: ConvertOptions): Promise<Map<string, Bytes>>;
}

/** What computes: at once where it is there. */
export type EngineSource<Engine extends ModelEngine = ModelEngine> = () => Engine | Promise<Engine>;

/** What an engine is asked about a source. */
type Ask<Engine, T> = (engine: Engine, source: RawSource, cancel?: NativeFlag) => Promise<T>;
/** How: for messages, and what ends it. */
interface Asking {
  readonly call: string;
  readonly name: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * An engine's answer about a source, whose bytes are read at the call: by the engine where it is there, which copies them, else they are copied until
 * it is.
 */
export async function answered<Engine extends ModelEngine, T>(
  engine: EngineSource<Engine>, source: Source, { call, name, signal }: Asking, ask: Ask<Engine, T>,
): Promise<[T, Engine]> {
  let cancel = (): void => undefined;
  const answer = async (): Promise<[T, Engine]> => {
    const given = rawSource(call, source, name, signal);
    let raw: RawSource, chosen: Engine;
    if (given instanceof Promise) {
      [raw, chosen] = await Promise.all([given, (async () => engine())()]);
    } else {
      const wanted = engine();
      raw = wanted instanceof Promise ? copyOf(given) : given;
      chosen = wanted instanceof Promise ? await wanted : wanted;
    }
    signal?.throwIfAborted();
    const flag = signal && chosen.canceller();
    if (flag) cancel = () => chosen.cancel(flag);
    return [await settled(() => ask(chosen, raw, flag)), chosen];
  };
  return signal ? abortable(signal, () => cancel(), answer) : answer();
}

/** An error of convert(), whose options of reading stand in one. */
function ofConvert(error: unknown): unknown {
  if (!(error instanceof NnexError)) return error;
  const { code, detail, where, tasks, remedies } = error;
  return new NnexError(code, detail, where, tasks, remedies.map((remedy) => ({ ...remedy, option: inConvert(remedy.option) })));
}

/** The functions over what computes, which is asked for when the first of them is called. */
export function models(engine: EngineSource): Models {
  async function convert(source: Source, path: string | URL, options?: ConvertOptions): Promise<SaveReport>;
  async function convert(source: Source, options?: ConvertOptions): Promise<Map<string, Bytes>>;
  async function convert(source: Source, to?: string | URL | ConvertOptions, more?: ConvertOptions): Promise<SaveReport | Map<string, Bytes>> {
    const path = targetPath('convert', to);
    const { signal, load: { name, ...reading } = {}, ...saving } = convertOptions(path === undefined ? to : more);
    const [done] = await answered(engine, source, { call: 'convert', name, signal }, async (chosen, raw, cancel) => {
      try {
        return await settled(() => chosen.convert(raw, reading, saving, path, cancel));
      } catch (error) {
        throw ofConvert(error);
      }
    });
    return path === undefined ? new Map(done as [string, Bytes][]) : (done as SaveReport);
  }
  return {
    async load(source, given) {
      const { name, signal, ...options } = loadOptions(given);
      const [native, chosen] = await answered(engine, source, { call: 'load', name, signal }, async (here, raw, cancel) => {
        const made = await here.load(raw, options, cancel);
        if (signal?.aborted) here.releaseModel(made);
        return made;
      });
      return modelOf(chosen, native, options);
    },
    async check(source, given) {
      const { name, signal, ...options } = readingOptions(given, 'check');
      const [report] = await answered(engine, source, { call: 'check', name, signal }, (chosen, raw, cancel) => chosen.check(raw, options, cancel));
      return report as CheckReport;
    },
    async inspect(source, given) {
      const { name, signal, ...options } = readingOptions(given, 'inspect');
      const [seen, chosen] = await answered(engine, source, { call: 'inspect', name, signal }, (here, raw, cancel) => here.inspect(raw, options, cancel));
      return inspectionOf(seen, chosen);
    },
    convert,
  };
}
