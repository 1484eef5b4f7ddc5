// ortweb_run.mjs PLACE FOLDER NAME...: networks by onnxruntime-web's WebNN provider in this process. A line of JSON for each:
// {name, operations, dispatches, wrong, error?}.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { difference, inputsOf, network } from './stored.mjs';

const [, , place, folder, ...names] = process.argv;
await import('nnex/polyfill');
globalThis.GPUDevice ??= class GPUDevice {};  // the provider looks whether its option is one
const ort = await import(pathToFileURL(join(place, 'node_modules/onnxruntime-web/dist/ort.all.mjs')));
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';

let dispatches = 0, operations = 0;
const counted = (prototype, method, count) => {
  const own = prototype[method];
  prototype[method] = function (...args) {
    count();
    return Reflect.apply(own, this, args);
  };
};
counted(MLContext.prototype, 'dispatch', () => ++dispatches);
for (const method of Object.keys(MLGraphBuilder.prototype))
  if (!['input', 'constant', 'build'].includes(method)) counted(MLGraphBuilder.prototype, method, () => ++operations);

/** Runs the stored data whose shapes the first set has; what differs. */
async function run({ model, sets, tolerance }) {
  const inputs = inputsOf(model), freeDimensionOverrides = {};
  inputs.forEach(({ dims }, i) => dims.forEach((dim, axis) => { if (typeof dim === 'string') freeDimensionOverrides[dim] = sets[0].inputs[i].dims[axis]; }));
  const session = await ort.InferenceSession.create(model, { executionProviders: [{ name: 'webnn', deviceType: 'cpu' }], freeDimensionOverrides });
  const wrong = [];
  for (const { set, inputs: given, outputs } of sets) {
    if (given.some(({ dims }, i) => String(dims) !== String(sets[0].inputs[i].dims))) continue;
    const results = await session.run(Object.fromEntries(given.map(({ type, data, dims }, i) => [inputs[i].name, new ort.Tensor(type, data, dims)])));
    outputs.forEach(({ data }, i) => {
      const differs = difference(results[session.outputNames[i]].data, data, tolerance);
      if (differs) wrong.push(`${set}: ${session.outputNames[i]}: ${differs}`);
    });
  }
  await session.release();
  return wrong;
}

for (const name of names) {
  dispatches = operations = 0;
  let wrong, error;
  try {
    wrong = await run(network(folder, name));
  } catch (thrown) {
    error = String(thrown?.message ?? thrown);
  }
  process.stdout.write(`${JSON.stringify({ name, operations, dispatches, wrong, error })}\n`);
}
process.exit(0);
