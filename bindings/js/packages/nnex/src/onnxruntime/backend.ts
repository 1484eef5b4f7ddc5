/** nnex as a backend of onnxruntime-common: sessions whose tensors are that package's. */
import { Tensor } from 'onnxruntime-common';
import type { Backend, InferenceSession, InferenceSessionHandler, ExternalDataFileType } from 'onnxruntime-common';
import { NnexError, settled, shown } from '../model/error.js';
import { found, quoted } from '../model/found.js';
import { Ports, released } from '../model/model.js';
import type { ModelEngine, NativeModel, NativeSession, RawNodeTime, RawOutputs, RawRunOptions, RawSource, RawTensor, RawValue } from '../model/native.js';
import { checkedPath } from '../model/options.js';
import { bytesOf, fetched } from '../model/source.js';
import type { ElementType } from '../model/types.js';
import { TypeNumbers, arraysOf, isElementType, itemsFor } from '../model/types.js';
import { className, tensorOf } from '../model/values.js';
import { checkOutputNames, checkRunOptions, plainName, settingsOf } from './options.js';
import type { Settings } from './options.js';

/** Files, where there are any. */
export interface Files {
  read(path: string): Promise<Uint8Array>;
  write(path: string, text: string): void;
}

type Feeds = Record<string, Tensor>;
type Fetches = Record<string, Tensor | null>;

/** The types of onnxruntime-common; nnex has more. */
const kTypes: readonly string[] = [
  'float32', 'float64', 'float16', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'bool', 'string', 'int4', 'uint4',
];

function metadataOf(ports: Ports): InferenceSession.ValueMetadata[] {
  return ports.list.map(({ name, type, dims, valueType }) => {
    if (valueType.kind !== 'tensor') return { name, isTensor: false };
    if (!type || !kTypes.includes(type)) throw new NnexError('unsupported', `'${name}' is ${type}, which onnxruntime-common does not know; nnex.load() does`);
    const shape = (dims ?? []).map((d) => (typeof d === 'number' ? d : d.startsWith('?') ? '' : d));
    return { name, isTensor: true, type: type as Tensor.Type, shape };
  });
}

let toldOfProfiles = false;
/** Once, where there are no files: that there will be no profile. */
function tellOfProfiles(): void {
  if (!toldOfProfiles) console.warn("nnex: enableProfiling: a page has no files, so that no profile is written; profile() of nnex's models gives the times of nodes");
  toldOfProfiles = true;
}

let lastStamp = 0;
/** The local time as profiles have it in their names: no two the same in a process. */
function stamp(): string {
  lastStamp = Math.max(Date.now(), lastStamp + 1);
  const local = new Date(lastStamp - 60_000 * new Date(lastStamp).getTimezoneOffset());
  return local.toISOString().replace('T', '_').replaceAll(':', '-').replace('.', '_').slice(0, -1);
}

/** What of an array of a tensor's does not agree with its extents; undefined: all of it does. */
function disagreement(type: ElementType, dims: readonly number[], data: ArrayBufferView | readonly string[]): string | undefined {
  if (!dims.every((d) => Number.isSafeInteger(d) && d >= 0)) return `Tensor.dims is [${dims.join()}]; needed whole numbers from 0 on.`;
  const { length } = data as readonly string[];
  const needed = itemsFor(type, dims.reduce((a, b) => a * b, 1));
  if (length === needed) return undefined;
  const detached = ArrayBuffer.isView(data) && length === 0 && data.buffer.byteLength === 0 ? ' (its memory is empty or was transferred)' : '';
  return `Tensor.data has ${length} item${length === 1 ? '' : 's'}${detached}; needed ${needed} for Tensor.dims [${dims.join()}].`;
}

class SessionHandler implements InferenceSessionHandler {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly outputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly #engine: ModelEngine;
  readonly #model: NativeModel;
  readonly #session: NativeSession;
  readonly #numbers: TypeNumbers;
  /** Inputs that are one number without extents. */
  readonly #scalars: ReadonlySet<string>;
  readonly #files: Files | undefined;
  /** Where the profile is to be written, until it is. */
  #profile: string | undefined;
  #runs: { start: number; times: RawNodeTime[] }[] = [];
  #released = false;

  constructor(engine: ModelEngine, model: NativeModel, settings: Settings, files: Files | undefined) {
    this.#engine = engine;
    this.#model = model;
    this.#numbers = new TypeNumbers(engine.dtypes);
    this.#files = files;
    this.#profile = settings.profile === undefined || !files ? undefined : `${settings.profile}${stamp()}.json`;
    if (settings.profile !== undefined && !files) tellOfProfiles();
    const { inputs, outputs } = engine.describe(model);
    const [ins, outs] = [new Ports(inputs, this.#numbers), new Ports(outputs, this.#numbers)];
    this.inputNames = ins.list.map((port) => port.name);
    this.outputNames = outs.list.map((port) => port.name);
    this.#scalars = new Set(ins.list.filter(({ dims }) => dims?.length === 0).map((port) => port.name));
    this.inputMetadata = metadataOf(ins);
    this.outputMetadata = metadataOf(outs);
    this.#session = engine.session(model, settings.session);
  }

  async run(feeds: Feeds, fetches: Fetches, options: InferenceSession.RunOptions): Promise<Feeds> {
    checkRunOptions(options);
    if (this.#released) throw released('session');
    const inputs: RawValue[] = [];
    for (const name of this.inputNames) inputs.push(this.#rawTensor(name, feeds[name]));
    const wanted = this.outputNames.map((name) => Object.hasOwn(fetches, name));
    const profile = this.#profile !== undefined;
    const start = profile ? performance.now() : 0;
    const raw = await this.#compute(inputs, profile || wanted.includes(false) ? { wanted, profile } : undefined);
    const values = Array.isArray(raw) ? raw : raw.outputs;
    if (!Array.isArray(raw)) this.#runs.push({ start, times: raw.times });
    const results: Feeds = {};
    for (let i = 0; i < values.length; i++) {
      const name = this.outputNames[i]!;
      if (wanted[i]) Object.defineProperty(results, name, { value: this.#result(name, values[i]!, fetches[name]), enumerable: true, configurable: true, writable: true });
    }
    return results;
  }

  async #compute(inputs: RawValue[], options: RawRunOptions | undefined): Promise<RawOutputs> {
    try {
      return await this.#engine.run(this.#session, inputs, options);
    } catch (error) {
      throw shown(error);
    }
  }

  /** A tensor of any copy of onnxruntime-common, or an object like it. */
  #rawTensor(name: string, tensor: Tensor | undefined | null): RawTensor {
    if (typeof tensor !== 'object' || tensor === null) throw new TypeError(`input ${quoted(name)}: Tensor must be an object.`);
    const { type, dims } = tensor;
    if (type === undefined) throw new TypeError(`input ${quoted(name)}: found ${found(tensor)}; needed a Tensor.`);
    let data: unknown = tensor.data;
    if (!isElementType(type)) throw new TypeError(`input ${quoted(name)}: there is no type '${String(type)}'.`);
    if (!Array.isArray(dims)) throw new TypeError(`input ${quoted(name)}: Tensor.dims must be an array.`);
    const view = data as Uint16Array;
    if (type === 'string' ? !Array.isArray(data) : !ArrayBuffer.isView(data) || !arraysOf(type).includes(className(data)))
      throw new TypeError(`input ${quoted(name)}: Tensor.data is no array of ${type}.`);
    const wrong = disagreement(type, dims, data as RawTensor['data']);
    if (wrong) throw new TypeError(`input ${quoted(name)}: ${wrong}`);
    if (type === 'float16' && !(data instanceof Uint16Array)) data = new Uint16Array(view.buffer, view.byteOffset, view.length);
    // `new Tensor('int64', [16000n])` has the extents [1]: ONNX Runtime takes it where the model wants a scalar, and clients count on that.
    const extents = this.#scalars.has(name) && dims.every((d) => d === 1) ? [] : dims;
    return { type: this.#numbers.number(type), dims: extents, data: data as RawTensor['data'] };
  }

  #result(name: string, value: RawValue, given: Tensor | null | undefined): Tensor {
    const held = value && 'item' in value ? value.item : value;
    if (!held || !('data' in held)) throw new Error('Non tensor type is temporarily not supported.');
    const { type, dims, data } = tensorOf(held, this.#numbers);
    if (!given) return new Tensor(type as Tensor.Type, data as Tensor.DataType, dims);
    if (given.type !== type) throw new Error(`Unexpected output data type. Actual: (tensor(${given.type})) , expected: (tensor(${type}))`);
    if (given.dims.join() !== dims.join())
      throw new Error(`The tensor provided for output '${name}' has shape {${given.dims.join()}} but the computed output shape for this run is {${dims.join()}}.`);
    if (Array.isArray(data)) data.forEach((text, i) => ((given.data as string[])[i] = text));
    else (given.data as Uint8Array).set(data as Uint8Array);
    return given;
  }

  /** As in onnxruntime-node: a profile is of the whole session, where its options ask for one. */
  startProfiling(): void {}
  /** Writes the times of all nodes so far, in the form that chrome://tracing and Perfetto read; once. */
  endProfiling(): void {
    const path = this.#profile;
    if (path === undefined) return;
    this.#profile = undefined;
    const events = this.#runs.flatMap(({ start, times }) =>
      times.map(({ place, op, kernel, start: at, duration }) => ({
        cat: 'Node', ph: 'X', pid: 1, tid: 1, name: place || op, ts: Math.round(1000 * start + at), dur: duration, args: { op_name: op, provider: 'nnex', kernel },
      })),
    );
    this.#runs = [];
    this.#files?.write(path, JSON.stringify(events));
  }

  async dispose(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    try {
      this.endProfiling();
    } finally {
      this.#engine.releaseSession(this.#session);
      this.#engine.releaseModel(this.#model);
    }
  }
}

async function readFrom(files: Files, path: string): Promise<Uint8Array> {
  try {
    return await files.read(path);
  } catch (error) {
    throw new NnexError('unreadable', `cannot read '${path}': ${(error as Error).message}`);
  }
}

/** The bytes of a file of external data, or of the model. */
async function contentOf(data: unknown, files: Files | undefined): Promise<Uint8Array> {
  if (typeof data === 'string') {
    return files ? readFrom(files, checkedPath(data, 'InferenceSession.create')) : fetched(data);
  }
  if (typeof Blob === 'function' && data instanceof Blob) return new Uint8Array(await data.arrayBuffer());
  return bytesOf(data as Uint8Array);
}

async function sourceOf(model: string | Uint8Array, external: readonly ExternalDataFileType[] | undefined, files: Files | undefined): Promise<RawSource> {
  if (external?.length) {
    const given = external.map((file) => (typeof file === 'string' ? { path: file, data: file } : file));
    const named = await Promise.all(
      given.map(async ({ path, data }): Promise<[string, Uint8Array]> => [plainName(path), await contentOf(data, files)]),
    );
    return { name: 'the model', files: [['model.onnx', await contentOf(model, files)], ...named] };
  }
  if (typeof model !== 'string') return { name: 'the model', bytes: bytesOf(model) };
  return files ? { path: checkedPath(model, 'InferenceSession.create') } : { name: model, bytes: await contentOf(model, undefined) };
}

/** An engine's error of a model, whose files beside it an option of its own gives here. */
function ofSession(error: unknown): unknown {
  if (!(error instanceof NnexError)) return error;
  const { code, detail, where, tasks, remedies } = error;
  return new NnexError(code, detail, where, tasks, remedies.map((remedy) => (remedy.option === 'externalFolder' ? { ...remedy, option: 'externalData', effect: 'gives it' } : remedy)));
}

/** The backend over what computes. Without files a string is a URL. */
export function backendOf(engine: () => ModelEngine | Promise<ModelEngine>, files?: Files): Backend {
  return {
    async init() {
      await engine();
    },
    async createInferenceSessionHandler(pathOrBuffer, options = {}) {
      const chosen = await engine();
      const settings = settingsOf(options);
      const source = await sourceOf(pathOrBuffer, options.externalData, files);
      const load: Settings['load'] & { symbols?: Record<string, number> } = { ...settings.load };
      if (settings.overrides) {
        // Names that no extent has are no mistake there.
        const { symbols } = (await settled(() => chosen.inspect(source, {}))) as { symbols: string[] };
        load.symbols = Object.fromEntries(Object.entries(settings.overrides).filter(([name]) => symbols.includes(name)));
      }
      const model = await settled(() => chosen.load(source, load)).catch((error: unknown): never => { throw ofSession(error); });
      const handler = new SessionHandler(chosen, model, settings, files);
      checkOutputNames(options, handler.outputNames);
      return handler as unknown as InferenceSessionHandler;
    },
  };
}
