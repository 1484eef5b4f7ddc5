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
/**
 * Names under which sessions find nnex. The first comes before whatever else is registered with the package. The last is what code for onnxruntime-web asks for: it means
 * onnxruntime-web's own where that is loaded too.
 */
const kNames = [['nnex', 1000], ['cpu', 101], ['wasm', -1]] as const;

interface Face {
  readonly module: OnnxRuntime;
  listSupportedBackends(): SupportedBackend[];
  install(): OnnxRuntime;
  /** Makes nnex known to a copy of onnxruntime-common. */
  register(copy: Pick<typeof Common, 'registerBackend'>): void;
}
export function faceOf(common: typeof Common, backend: Backend): Face {
  const register: Face['register'] = (copy) => {
    for (const [name, priority] of kNames) copy.registerBackend(name, backend, priority);
  };
  register(common);
  const listSupportedBackends = (): SupportedBackend[] => kNames.map(([name]) => ({ name, bundled: true }));
  const install = (): OnnxRuntime => {
    (globalThis as Record<symbol, unknown>)[kPlace] = module;
    return module;
  };
  const module: OnnxRuntime = { ...common, listSupportedBackends, install };
  return { module, listSupportedBackends, install, register };
}
