/**
 * Defines `navigator.ml` and the ML* interface objects in a page or its workers, where they are absent or cannot give a context:
 *
 *     import 'nnex/polyfill';
 *     const context = await navigator.ml.createContext();
 */
import { interfaces, ml } from './browser.js';
import { install } from './polyfill-install.js';

/** What it defines, for compilers. */
export type * from './ml/globals.gen.js';

export { configure } from './browser.js';
/** Resolved when it is decided who serves: at once, unless another ML was there and had to be asked for a context. `navigator.ml.createContext()` waits for it; await it before the ML* classes are read without a context. */
export const ready: Promise<void> = install(ml, interfaces);
