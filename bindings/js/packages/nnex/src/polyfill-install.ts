/** What `nnex/polyfill` does to the globals of a window, a worker or Node. */
import type { Interfaces, ML } from './ml/types.gen.js';

type Globals = { [name: string]: unknown; navigator?: object & { ml?: ML } };

/** Whether an ML has any context to give: some browsers have the interface and nothing behind it, or an earlier form of it. */
async function usable(ml: Partial<ML> | null): Promise<boolean> {
  if (typeof ml?.createContext !== 'function') return false;
  try {
    (await ml.createContext()).destroy();
    return true;
  } catch (e) {
    return (e as { name?: unknown } | null)?.name !== 'NotSupportedError';
  }
}

/** `ml` as the platform would define it: a getter of the navigator's prototype, interface objects that do not enumerate. */
function define(ml: ML, interfaces: Interfaces): void {
  const globals = globalThis as unknown as Globals;
  const { navigator } = globals;
  if (!navigator) throw new TypeError('nnex/polyfill: this host has no navigator');
  const holder = {
    get ml(): ML {
      if ((this as unknown) !== navigator) throw new TypeError('Navigator.ml: Illegal invocation');
      return ml;
    },
  };
  const { get } = Object.getOwnPropertyDescriptor(holder, 'ml')!;
  Object.defineProperty(Object.getPrototypeOf(navigator), 'ml', { get: get!, enumerable: true, configurable: true });
  Reflect.deleteProperty(navigator, 'ml');  // another script's own, which would hide it
  for (const [name, value] of Object.entries(interfaces))
    Object.defineProperty(globals, name, { value, writable: true, enumerable: false, configurable: true });
}

/**
 * Defines `navigator.ml` and the ML* interface objects, where they are absent or cannot give a context, in secure contexts. What is
 * absent is defined before this returns; only an ML that is there already has to be asked first.
 */
export function install(ml: ML, interfaces: Interfaces): Promise<void> {
  const globals = globalThis as unknown as Globals;
  if (globals['isSecureContext'] === false) return Promise.resolve();
  const present = globals.navigator?.ml;
  if (present === undefined) {
    define(ml, interfaces);
    return Promise.resolve();
  }
  return present === ml ? Promise.resolve() : usable(present).then(well => (well ? undefined : define(ml, interfaces)));
}
