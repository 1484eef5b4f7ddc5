// A navigator.ml of a few lines with one operation, add of float32 tensors of one shape: what proves the runner itself.
const typeError = (text) => { throw new TypeError(text); };

class MLOperand {
  constructor(shape, evaluate) {
    Object.assign(this, { dataType: 'float32', shape, evaluate });
  }
}

class MLGraphBuilder {
  input(name, { dataType, shape }) {
    return dataType === 'float32' ? new MLOperand(shape, (given) => given[name].data) : typeError(`no ${dataType}`);
  }
  constant({ shape }, bytes) {
    const data = new Float32Array(bytes.slice().buffer);
    return new MLOperand(shape, () => data);
  }
  add(a, b, { label = '' } = {}) {
    if (String(a.shape) !== String(b.shape)) typeError(`[${label}] add: shapes differ`);
    return new MLOperand(a.shape, (given) => a.evaluate(given).map((x, i) => Math.fround(x + b.evaluate(given)[i])));
  }
  async build(outputs) {
    if (Object.keys(outputs).length === 0) typeError('no outputs');
    return outputs;
  }
}

class MLContext {
  destroyed = false;
  opSupportLimits() {
    const float32 = { dataTypes: ['float32'], rankRange: { min: 0, max: 4 } };
    return { input: float32, constant: float32, output: float32, add: { a: float32, b: float32, output: float32 } };
  }
  async createTensor({ shape }) {
    if (this.destroyed) throw new DOMException('the context is destroyed', 'InvalidStateError');
    return { dataType: 'float32', shape, data: new Float32Array(shape.reduce((n, d) => n * d, 1)) };
  }
  writeTensor(tensor, bytes) {
    const source = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    if (source.length !== tensor.data.byteLength) typeError('wrong size');
    new Uint8Array(tensor.data.buffer).set(source);
  }
  dispatch(graph, inputs, outputs) {
    for (const [name, operand] of Object.entries(graph)) outputs[name].data.set(operand.evaluate(inputs));
  }
  readTensor(tensor) {
    return tensor.shape.length === 3 ? new Promise(() => {}) : Promise.resolve(tensor.data.slice().buffer);
  }
  destroy() {
    this.destroyed = true;
  }
}

const ml = { createContext: async () => new MLContext() };
Object.defineProperty(globalThis.navigator ?? (globalThis.navigator = {}), 'ml', { value: ml, configurable: true });
Object.assign(globalThis, { MLGraphBuilder, MLOperand });
