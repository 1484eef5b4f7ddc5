/** `navigator.ml` and its interfaces, over the engine that fits Node. */
import { interfaces, makeML } from './ml/ml.js';
import { engine } from './node.js';

/** What `navigator.ml` is on the web. */
export const ml = makeML(engine);
/** The interface objects by name: what `nnex/polyfill` makes global. */
export { interfaces };
export * from './ml/interfaces.gen.js';
