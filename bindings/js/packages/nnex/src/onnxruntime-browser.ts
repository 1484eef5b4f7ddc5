/** ONNX Runtime's JavaScript API with nnex behind it, in browsers: paths of models are addresses. */
import * as common from 'onnxruntime-common';
import { modelsHere } from './browser.js';
import { backendOf } from './onnxruntime/backend.js';
import { faceOf } from './onnxruntime/face.js';

export * from 'onnxruntime-common';

const face = faceOf(common, backendOf(modelsHere));

/** The names that `executionProviders` may have here. */
export const listSupportedBackends = face.listSupportedBackends;
/** Puts this module at `globalThis[Symbol.for('onnxruntime')]`, where transformers.js looks for one. */
export const install = face.install;
export default face.module;
