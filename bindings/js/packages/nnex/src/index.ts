/**
 * nnex: the W3C Web Neural Network API, and models of every standard.
 *
 *     import { load, ml } from 'nnex';
 *     const context = await ml.createContext();
 *
 *     const model = await load('model.onnx');
 *     const { y } = await model.run({ x: new Float32Array([1, 2, 3]) });
 *
 * Importing it defines no globals; `nnex/polyfill` does.
 */
import { interfaces, makeML } from './ml/ml.js';
import { models } from './model/index.js';
import { engine, modelEngine } from './node.js';

/** What `navigator.ml` is on the web. */
export const ml = makeML(engine);
/** The interface objects by name: what `nnex/polyfill` makes global. */
export { interfaces };
export const { ML, MLContext, MLGraph, MLOperand, MLTensor, MLGraphBuilder } = interfaces;
export type * from './ml/types.gen.js';

export const { load, check, inspect, convert } = models(modelEngine);
export { Model, NnexError, Session } from './model/index.js';
export type * from './model/index.js';
