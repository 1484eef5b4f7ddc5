// Networks by onnxruntime-web's WebNN provider over the navigator.ml that is there, in Node and in pages.
import { difference, inputsOf } from './stored.mjs';

/** Runs networks by `ort`, the client's module; `load` is nnex's own, which answers the same inputs. */
export class Player {
  #dispatches = 0;
  #operations = 0;
  constructor(ort, load) {
    Object.assign(this, { ort, load });
    globalThis.GPUDevice ??= class GPUDevice {};  // the provider looks whether its option is one
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = 'error';
    counted(MLContext.prototype, 'dispatch', () => ++this.#dispatches);
    for (const method of Object.keys(MLGraphBuilder.prototype))
      if (!['input', 'constant', 'build'].includes(method)) counted(MLGraphBuilder.prototype, method, () => ++this.#operations);
  }

  /** {operations, dispatches, wrong, error?}: what differs from the stored answers, and from those of nnex itself. */
  async play(network) {
    this.#dispatches = this.#operations = 0;
    let wrong, error;
    try {
      wrong = await this.#run(network);
    } catch (thrown) {
      error = String(thrown?.message ?? thrown);
    }
    return { operations: this.#operations, dispatches: this.#dispatches, wrong, error };
  }

  /** The stored data whose shapes the first set has. */
  async #run({ model, sets, tolerance }) {
    const { ort } = this, inputs = inputsOf(model), freeDimensionOverrides = {};
    inputs.forEach(({ dims }, i) => dims.forEach((dim, axis) => { if (typeof dim === 'string') freeDimensionOverrides[dim] = sets[0].inputs[i].dims[axis]; }));
    const session = await ort.InferenceSession.create(model, { executionProviders: [{ name: 'webnn', deviceType: 'cpu' }], freeDimensionOverrides });
    const own = await this.load(model), wrong = [];
    for (const { set, inputs: given, outputs } of sets) {
      if (given.some(({ dims }, i) => String(dims) !== String(sets[0].inputs[i].dims))) continue;
      const results = await session.run(Object.fromEntries(given.map(({ type, data, dims }, i) => [inputs[i].name, new ort.Tensor(type, data, dims)])));
      const answers = await own.run(Object.fromEntries(given.map((tensor, i) => [inputs[i].name, tensor])));
      outputs.forEach(({ data }, i) => {
        const name = session.outputNames[i], { data: found } = results[name];
        for (const [whose, needed] of [['the stored answer', data], ['the answer of nnex', answers[name].data]]) {
          const differs = difference(found, needed, tolerance);
          if (differs) wrong.push(`${set}: ${name} is not ${whose}: ${differs}`);
        }
      });
    }
    own.dispose();
    await session.release();
    return wrong;
  }
}

function counted(prototype, method, count) {
  const own = prototype[method];
  prototype[method] = function (...args) {
    count();
    return Reflect.apply(own, this, args);
  };
}
