// workers.mjs COUNT: begins so many workers, ends each under load, and works itself all the while.
import { Worker } from 'node:worker_threads';
import 'nnex/polyfill';

const count = Number(process.argv[2]);
const context = await navigator.ml.createContext();
const builder = new MLGraphBuilder(context);
const float32 = { dataType: 'float32', shape: [16] };
const graph = await builder.build({ y: builder.relu(builder.input('x', float32)) });
const input = await context.createTensor({ ...float32, writable: true }), output = await context.createTensor({ ...float32, readable: true });
let done = false, dispatched = 0;
const own = (async () => {
  while (!done) {
    context.writeTensor(input, new Float32Array(16).fill(++dispatched));
    context.dispatch(graph, { x: input }, { y: output });
    if (new Float32Array(await context.readTensor(output))[15] !== Math.fround(dispatched)) throw new Error('a wrong answer of the main thread');
  }
})();

async function one(n) {
  const worker = new Worker(new URL('worker.mjs', import.meta.url));
  const exited = new Promise((resolve, reject) => {
    worker.once('exit', resolve);
    worker.once('error', reject);
  });
  if (n % 4 !== 3) await Promise.race([new Promise((resolve) => worker.once('message', resolve)), exited]);  // each fourth while it begins
  await worker.terminate();
  await exited;
}
for (let n = 0; n < count; n += 8) await Promise.all(Array.from({ length: Math.min(8, count - n) }, (_, i) => one(n + i)));
done = true;
await own;
process.stdout.write(`${count} workers, ${dispatched > 0}`);
