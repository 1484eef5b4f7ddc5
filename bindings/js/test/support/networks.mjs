// Networks that tests of models share.
import { fileURLToPath } from 'node:url';
import { onnx } from './onnx-writer.mjs';

export const affine = onnx({
  inputs: { x: ['float32', ['N', 3]] },
  outputs: { y: ['float32', ['N', 3]], z: ['float32', ['N', 3]] },
  nodes: [
    { op: 'Mul', in: ['x', 'two'], out: ['y'], name: 'double' },
    { op: 'Add', in: ['y', 'one'], out: ['z'] },
  ],
  initializers: { two: { type: 'float32', dims: [], data: Float32Array.of(2) }, one: { type: 'float32', dims: [], data: Float32Array.of(1) } },
  metadata: { author: 'tests', __proto__x: 'kept' },
});
export const plain = (tensor) => ({ type: tensor.type, dims: [...tensor.dims], data: Array.from(tensor.data) });

/** models() over another engine. */
export async function modelsOver(engine) {
  const { build } = await import('esbuild');
  const entry = fileURLToPath(new URL('../../packages/nnex/src/model/index.ts', import.meta.url));
  const { outputFiles: [{ text }] } = await build({ entryPoints: [entry], bundle: true, write: false, format: 'esm' });
  return (await import(`data:text/javascript,${encodeURIComponent(text)}`)).models(engine);
}
