/**
 * ONNX Runtime's JavaScript API with nnex behind it, for code that was written for onnxruntime-node:
 *
 *     import * as ort from 'nnex/onnxruntime';
 *     const session = await ort.InferenceSession.create('model.onnx');
 *     const { y } = await session.run({ x: new ort.Tensor('float32', [1, 2, 3], [1, 3]) });
 */
import { writeFileSync } from 'node:fs';
import * as common from 'onnxruntime-common';
import { modelEngine } from './node.js';
import { backendOf } from './onnxruntime/backend.js';
import { faceOf } from './onnxruntime/face.js';

export type * from 'onnxruntime-common';
// Name by name: Parcel loses what is exported by a star and imported as a whole.
export { TRACE, TRACE_EVENT_BEGIN, TRACE_EVENT_END, TRACE_FUNC_BEGIN, TRACE_FUNC_END, Tensor, env, registerBackend } from 'onnxruntime-common';

const files = { read: async (path: string) => (await import('node:fs/promises')).readFile(path), write: (path: string, text: string) => writeFileSync(path, text) };
// As onnxruntime-node says of itself, which may be loaded before or after.
if (!('node' in common.env.versions)) Object.defineProperty(common.env.versions, 'node', { value: common.env.versions.common, enumerable: true, configurable: true });
const face = faceOf(common, backendOf(modelEngine, files));

/** onnxruntime-common's, whose create() makes sessions of nnex: those of other packages in the same process stay theirs. */
export const InferenceSession = face.InferenceSession;
export type InferenceSession = common.InferenceSession;
/** The names that `executionProviders` may have here. */
export const listSupportedBackends = face.listSupportedBackends;
/** Puts this module at `globalThis[Symbol.for('onnxruntime')]`, where transformers.js looks for one. */
export const install = face.install;
/** @internal For the copy of onnxruntime-common that `import` gets. */
export const register = face.register;
export default face.module;
