// worker.mjs: works without end, so that it is ended in the middle of work.
import { parentPort } from 'node:worker_threads';
import 'nnex/polyfill';

const float32 = { dataType: 'float32', shape: [64, 64] };
const context = await navigator.ml.createContext();
const builder = new MLGraphBuilder(context);
const x = builder.input('x', float32), w = builder.constant(float32, new Float32Array(4096).fill(0.01));
let y = x;
for (let i = 0; i < 8; ++i) y = builder.tanh(builder.matmul(y, w));
const graph = await builder.build({ y });
const tensor = (more) => context.createTensor({ ...float32, ...more });
const input = await tensor({ writable: true }), output = await tensor({ readable: true });
context.writeTensor(input, new Float32Array(4096).fill(1));
for (let n = 0; ; ++n) {
  context.dispatch(graph, { x: input }, { y: output });
  const read = context.readTensor(output);
  if (n % 3 === 0) new MLGraphBuilder(context).input('x', float32);
  if (n % 2 === 0) await read;
  if (n === 1) parentPort.postMessage('working');
}
