/**
 * Defines `navigator.ml` and the ML* interface objects in Node:
 *
 *     import 'nnex/polyfill';
 *     const context = await navigator.ml.createContext();
 */
import { cpus, availableParallelism } from 'node:os';
import { interfaces, ml } from './index.js';
import { install } from './polyfill-install.js';

/** What it defines, for compilers. */
export type * from './ml/globals.gen.js';

/** Node before 21 has no navigator: this one says what the later ones say. */
function defineNavigator(): void {
  class Navigator {
    constructor() {
      throw new TypeError('Illegal constructor');
    }
    get hardwareConcurrency(): number {
      return availableParallelism?.() ?? cpus().length;
    }
    get language(): string {
      return new Intl.NumberFormat().resolvedOptions().locale;
    }
    get languages(): readonly string[] {
      return Object.freeze([this.language]);
    }
    get platform(): string {
      const { platform, arch } = process;
      if (platform === 'darwin') return 'MacIntel';
      if (platform === 'win32') return 'Win32';
      return `${platform[0]!.toUpperCase()}${platform.slice(1)} ${arch === 'x64' ? 'x86_64' : arch}`;
    }
    get userAgent(): string {
      return `Node.js/${process.versions.node.split('.', 1)[0]}`;
    }
  }
  const { prototype } = Navigator;
  for (const name of Object.getOwnPropertyNames(prototype))
    if (name !== 'constructor') Object.defineProperty(prototype, name, { enumerable: true });
  Object.defineProperty(prototype, Symbol.toStringTag, { value: 'Navigator', configurable: true });
  const common = { enumerable: false, configurable: true, writable: true };
  Object.defineProperty(globalThis, 'Navigator', { value: Navigator, ...common });
  Object.defineProperty(globalThis, 'navigator', { value: Object.create(prototype), ...common });
}

if (typeof navigator === 'undefined') defineNavigator();
/** Resolved when it is decided who serves: at once, unless another ML was there and had to be asked for a context. `navigator.ml.createContext()` waits for it; await it before the ML* classes are read without a context. */
export const ready: Promise<void> = install(ml, interfaces);
