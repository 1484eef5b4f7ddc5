/** ONNX Runtime's JavaScript API with nnex behind it, in browsers: paths of models are addresses. */
import * as common from 'onnxruntime-common';
import { modelsHere } from './browser.js';
import { backendOf } from './onnxruntime/backend.js';
import { faceOf } from './onnxruntime/face.js';

export type * from 'onnxruntime-common';
// Name by name: Parcel loses what is exported by a star and imported as a whole.
export { TRACE, TRACE_EVENT_BEGIN, TRACE_EVENT_END, TRACE_FUNC_BEGIN, TRACE_FUNC_END, Tensor, env, registerBackend } from 'onnxruntime-common';

const face = faceOf(common, backendOf(modelsHere));

/** onnxruntime-common's, whose create() makes sessions of nnex: those of other packages in the same process stay theirs. */
export const InferenceSession = face.InferenceSession;
export type InferenceSession = common.InferenceSession;
/** The names that `executionProviders` may have here. */
export const listSupportedBackends = face.listSupportedBackends;
/** Puts this module at `globalThis[Symbol.for('onnxruntime')]`, where transformers.js looks for one. */
export const install = face.install;
export default face.module;
