/** What the module `nnex/onnxruntime` has beside onnxruntime-common. */
import type * as Common from 'onnxruntime-common';
import type { Backend } from 'onnxruntime-common';

export interface SupportedBackend {
  readonly name: string;
  readonly bundled: boolean;
}
export type OnnxRuntime = typeof Common & { listSupportedBackends(): SupportedBackend[]; install(): OnnxRuntime };

/** Where runtimes that have an ONNX Runtime of their own show it. */
const kPlace = Symbol.for('onnxruntime');
/** Names by which sessions of this module ask for nnex: its own, and what code for ONNX Runtime's other packages asks for. */
const kNames = ['nnex', 'cpu', 'wasm'];
/** Its name among the backends that are registered with onnxruntime-common, below all others: sessions of onnxruntime-node and onnxruntime-web stay theirs. */
const kName = 'nnex', kPriority = 0;

/** Providers by the names that are registered. None: nnex. */
function providersHere(given: unknown): unknown {
  if (given !== undefined && given !== null && !Array.isArray(given)) return given;  // onnxruntime-common says what is wrong
  const named = (provider: unknown): unknown => {
    const name: unknown = (provider as { name?: unknown } | null)?.name ?? provider;
    return kNames.includes(name as string) ? kName : provider;
  };
  const names = (given as unknown[] | null | undefined ?? []).map(named);
  return names.length > 0 ? names : [kName];
}
/** The arguments of InferenceSession.create() with providers of nnex's. */
function argumentsHere([model, ...rest]: readonly unknown[]): unknown[] {
  const args = [...rest];
  if (typeof args[0] === 'number' && args[1] === undefined) args[1] = (model as ArrayBuffer).byteLength - args[0];  // of a buffer from an offset on
  const at = typeof args[0] === 'number' ? 2 : 0, given = args[at];
  if (given !== undefined && (typeof given !== 'object' || given === null)) return [model, ...rest];
  const own = { executionProviders: { value: providersHere((given as { executionProviders?: unknown } | undefined)?.executionProviders), enumerable: true } };
  args[at] = Object.create((given as object | undefined) ?? Object.prototype, own);
  return [model, ...args];
}

interface Face {
  readonly module: OnnxRuntime;
  readonly InferenceSession: typeof Common.InferenceSession;
  listSupportedBackends(): SupportedBackend[];
  install(): OnnxRuntime;
  /** Makes nnex known to a copy of onnxruntime-common. */
  register(copy: Pick<typeof Common, 'registerBackend'>): void;
}
export function faceOf(common: typeof Common, backend: Backend): Face {
  const register: Face['register'] = (copy) => copy.registerBackend(kName, backend, kPriority);
  register(common);
  const Base = common.InferenceSession as unknown as { new (handler: unknown): object; create(...args: unknown[]): Promise<object> };
  const Session = class InferenceSession extends Base {
    static override async create(...args: unknown[]): Promise<object> {
      return Object.setPrototypeOf(await super.create(...argumentsHere(args)), this.prototype as object) as object;
    }
  };
  const InferenceSession = Session as unknown as typeof Common.InferenceSession;
  const listSupportedBackends = (): SupportedBackend[] => kNames.map((name) => ({ name, bundled: true }));
  const install = (): OnnxRuntime => {
    (globalThis as Record<symbol, unknown>)[kPlace] = module;
    return module;
  };
  const module: OnnxRuntime = { ...common, InferenceSession, listSupportedBackends, install };
  return { module, InferenceSession, listSupportedBackends, install, register };
}
