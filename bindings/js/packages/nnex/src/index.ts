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
export * from './webnn.js';
export * from './models.js';
