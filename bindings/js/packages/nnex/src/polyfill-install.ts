/** What `nnex/polyfill` does to the globals of a window, a worker or Node. */
import type { Interfaces, ML } from './ml/types.gen.js';

type Globals = { [name: string]: unknown; navigator?: object & { ml?: ML } };
type CreateContext = ML['createContext'];

/** How long an ML that was there may take for its first context, in milliseconds: one that never answers has none. */
const kPatience = 10_000;

/** What an ML that is of no use says: some browsers have the interface and nothing behind it, or an earlier form of it, or frames that may not use it. */
const kUseless = ['NotSupportedError', 'SecurityError'];
/** Whether an ML has any context to give. */
async function usable(createContext: CreateContext): Promise<boolean> {
  const asked = async (): Promise<boolean> => {
    try {
      (await createContext()).destroy();
      return true;
    } catch (e) {
      return !kUseless.includes(String((e as { name?: unknown } | null)?.name));
    }
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => { timer = setTimeout(resolve, kPatience, false); });
  try {
    return await Promise.race([asked(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `ml` as the platform would define it: a getter of the navigator's prototype, interface objects that do not enumerate. Some hosts have a navigator without a prototype of its own. */
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
  const prototype: unknown = Object.getPrototypeOf(navigator), plain = prototype === null || prototype === Object.prototype;
  Reflect.deleteProperty(navigator, 'ml');  // another script's own, which would hide it
  Object.defineProperty(plain ? navigator : prototype, 'ml', { get: get!, enumerable: true, configurable: true });
  for (const [name, value] of Object.entries(interfaces))
    Object.defineProperty(globals, name, { value, writable: true, enumerable: false, configurable: true });
}

/**
 * Puts `createContext` on an ML that was there, until it is known who serves. Scripts cannot be made to wait for that (a module could, by an await at its top
 * level, which bundles of other formats have not), but whatever they do with an ML begins with a context, which is promised. Gives what takes it away.
 */
function putBefore(present: ML, createContext: CreateContext): () => void {
  const before = Object.getOwnPropertyDescriptor(present, 'createContext');
  if (!Reflect.defineProperty(present, 'createContext', { value: createContext, writable: true, enumerable: before?.enumerable ?? true, configurable: true })) return () => undefined;
  return () => {
    if (Object.getOwnPropertyDescriptor(present, 'createContext')?.value !== createContext) return;  // another script's by now
    if (before) Object.defineProperty(present, 'createContext', before);
    else Reflect.deleteProperty(present, 'createContext');
  };
}

/**
 * Defines `navigator.ml` and the ML* interface objects, where they are absent or cannot give a context, in secure contexts. What is
 * absent is defined before this returns; only an ML that is there already has to be asked first, and contexts wait for its answer.
 */
export function install(ml: ML, interfaces: Interfaces): Promise<void> {
  const globals = globalThis as unknown as Globals;
  if (globals['isSecureContext'] === false) return Promise.resolve();
  const present = globals.navigator?.ml;
  if (present === ml) return Promise.resolve();
  if (typeof present?.createContext !== 'function') {
    define(ml, interfaces);
    return Promise.resolve();
  }
  const theirs: CreateContext = present.createContext.bind(present);
  const chosen = usable(theirs).then((well): CreateContext => {
    if (well) takeAway();
    else define(ml, interfaces);  // who holds theirs gets contexts of ours
    return well ? theirs : (options) => ml.createContext(options);
  });
  const takeAway = putBefore(present, async (...options) => (await chosen)(...options));
  return chosen.then(() => undefined);
}
