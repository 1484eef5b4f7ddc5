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

/** Whether this is an ES module; require() waits for nothing. */
declare const NNEX_MODULE: boolean;

export { configure } from './browser.js';
/** Resolved when everything is defined: at once, unless another ML was there and had to be asked for a context. Whoever imports waits for it. */
export const ready: Promise<void> = install(ml, interfaces);
if (NNEX_MODULE) await ready;
