/** Models of every standard, over the engine that fits Node. */
import { type Models, models } from './model/index.js';
import { modelEngine } from './node.js';

const all = models(modelEngine);
// By the interface's members: compilers show what is written there.
export const load: Models['load'] = all.load;
export const check: Models['check'] = all.check;
export const inspect: Models['inspect'] = all.inspect;
export const convert: Models['convert'] = all.convert;
export { Model, NnexError, Session } from './model/index.js';
export type * from './model/index.js';
