// memory.mjs (node --expose-gc) [COUNT [KIND...]]: whether memory returns after thousands of objects that were dropped, some destroyed,
// most not. Prints {kind: [bytes after COUNT, bytes after as many again]} as JSON; what V8 keeps of its own heap is not counted. On a busy machine
// more threads than before may live at one time, and malloc keeps an arena for each, and in WebAssembly the heap has holes before it has its size: what
// grew is tried again, four times at most, as what leaks grows each time.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import 'nnex/polyfill';

const { ml } = navigator;
const float32 = (...shape) => ({ dataType: 'float32', shape });

/** Threads of this process: every context that is still there has one. */
const threads = () => Number(/Threads:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);

async function settled() {
  let least = Infinity;
  for (let i = 0; i < 20; ++i) {  // finalizers run in turns of the event loop, and free what later collections need
    globalThis.gc();
    await sleep(10);
    const now = threads();
    if (now < least) [least, i] = [now, 0];  // on a busy machine a thousand contexts may still have their turns to come
  }
  const { rss, heapTotal } = process.memoryUsage();
  return rss - heapTotal;
}

const destroyed = (n, destroy) => { if (n % 4 === 0) destroy(); };
const kinds = {
  contexts: async (n) => {
    const context = await ml.createContext();
    await context.createTensor({ ...float32(64), readable: true });
    destroyed(n, () => context.destroy());
  },
  tensors: (() => {
    let context;
    return async (n) => {
      context ??= await ml.createContext();
      const tensor = await context.createTensor({ ...float32(64, 256), readable: true, writable: true });
      context.writeTensor(tensor, new Float32Array(64 * 256));
      if (n % 100 === 0) await context.readTensor(tensor);
      destroyed(n, () => tensor.destroy());
    };
  })(),
  graphs: (() => {
    let context, input, output;
    return async (n) => {
      context ??= await ml.createContext();
      input ??= await context.createTensor(float32(8, 64));
      output ??= await context.createTensor(float32(8, 64));
      const builder = new MLGraphBuilder(context);
      const x = builder.input('x', float32(8, 64)), w = builder.constant(float32(64, 64), new Float32Array(4096).fill(n));
      const graph = await builder.build({ y: builder.relu(builder.matmul(x, w)) });
      if (n % 10 === 0) context.dispatch(graph, { x: input }, { y: output });
      destroyed(n, () => graph.destroy());
    };
  })(),
  builders: (() => {
    let context;
    return async (n) => {
      context ??= await ml.createContext();
      const builder = new MLGraphBuilder(context);
      let x = builder.input('x', float32(16, 16));
      for (let i = 0; i < 10; ++i) x = builder.add(x, builder.constant(float32(16, 16), new Float32Array(256)));
    };
  })(),
};

const out = {};
const [, , count = '10000', ...wanted] = process.argv;
async function rounds(make, n) {
  for (let i = 0; i < n; ++i) {
    await make(i);
    if (i % 100 === 0) await new Promise(setImmediate);
  }
  return settled();
}
for (const [name, make] of Object.entries(kinds))
  if (wanted.length === 0 || wanted.includes(name)) {
    let before, after = await rounds(make, Number(count)), tries = 0;
    do [before, after] = [after, await rounds(make, Number(count))]; while (after > before * 1.05 && ++tries < 4);
    out[name] = [before, after];
  }
process.stdout.write(JSON.stringify(out));
