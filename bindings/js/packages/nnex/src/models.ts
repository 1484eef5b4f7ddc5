/** Models of every standard, over the engine that fits Node. */
import { models } from './model/index.js';
import { modelEngine } from './node.js';

export const { load, check, inspect, convert } = models(modelEngine);
export { Model, NnexError, Session } from './model/index.js';
export type * from './model/index.js';
