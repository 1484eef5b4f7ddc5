// Inference in a worker: arrays are handed over, not copied, and the page or server goes on.
//
//     node worker.mjs model.onnx
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { load } from 'nnex';

if (isMainThread) {
  const [path] = process.argv.slice(2);
  if (!path) {
    console.error('usage: node worker.mjs MODEL');
    process.exit(2);
  }
  const worker = new Worker(new URL(import.meta.url), { workerData: { path } });
  const answer = () => new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));

  const { name, dims } = await answer();
  for (let i = 1; i <= 3; i++) {
    const data = new Float32Array(dims.reduce((a, b) => a * b, 1)).fill(i / 4);
    worker.postMessage({ [name]: { data, dims } }, [data.buffer]);
    for (const [output, tensor] of Object.entries(await answer())) console.log(`${i}: ${output} [${tensor.dims}]`, ...tensor.data.slice(0, 4));
  }
  await worker.terminate();
} else {
  const model = await load(workerData.path);
  const [{ name, dims }] = model.inputs;
  parentPort.postMessage({ name, dims: dims.map((d) => (typeof d === 'number' ? d : 1)) });
  parentPort.on('message', async (feeds) => {
    const outputs = await model.run(feeds);
    parentPort.postMessage(outputs, Object.values(outputs).map((tensor) => tensor.data.buffer));
  });
}
