// Cases that are traces: calls issued in order without waiting, some awaited before later ones.
import { bufferOf, closenessOf, difference, elements, elementsIn, special, typeOfView } from './values.mjs';

const recorded = 4096;  // bytes that the vectors keep of one read; of longer ones the first

const describe = (error) => (error instanceof Error || error instanceof DOMException ? `${error.name}: ${error.message}` : `${error}`);

/** Whether an error is of the kind named: TypeError and RangeError are JavaScript's, every other name is a DOMException's. */
function isKind(error, kind) {
  if (kind === 'TypeError' || kind === 'RangeError') return error instanceof globalThis[kind] && error.name === kind;
  return error instanceof DOMException && error.name === kind;
}

/** Plays one trace; what differs, or nothing. */
export async function playTrace(one, host) {
  const trace = new Trace(host);
  try {
    return await trace.run(one);
  } finally {
    for (const context of trace.contexts) context.destroy();
  }
}

class Trace {
  contexts = [];
  #host;
  #objects = new Map();
  #open = [];

  constructor(host) {
    this.#host = host;
  }

  async run({ setup = [], steps }) {
    for (const step of setup) {
      const wrong = this.#issue(step) || await this.#await(Infinity);
      if (wrong) return `setup: ${wrong}`;
    }
    for (const [n, step] of steps.entries()) {
      const wrong = await this.#await(n);
      if (wrong) return wrong;
      const now = this.#issue(step);
      if (now) return `step ${n}: ${step.call}: ${now}`;
    }
    return this.#await(Infinity);
  }

  /** Awaits what is due before step n is issued. */
  async #await(n) {
    const due = this.#open.filter(({ step }) => n === Infinity || step.awaitAt <= n);
    this.#open = this.#open.filter((call) => !due.includes(call));
    for (const { step, promise, buffer } of due) {
      let wrong;
      try {
        const value = await promise;
        wrong = step.rejects ? `found success; needed ${step.rejects}` : this.#took(step, buffer ?? value);
      } catch (error) {
        wrong = this.#failed(step, error, step.rejects);
      }
      if (wrong) return `${step.call}: ${wrong}`;
    }
    return '';
  }

  #failed(step, error, needed) {
    if (!needed) return `found ${describe(error)}; needed success`;
    if (!isKind(error, needed)) return `found ${describe(error)}; needed ${needed}`;
    const part = step.messageContains ?? '';
    return error.message.includes(part) ? '' : `the message '${error.message}' does not contain '${part}'`;
  }

  /** Compares what a call gave with what its step says, and names its results. */
  #took(step, value) {
    const results = Array.isArray(value) ? value : value === undefined ? [] : [value];
    const ids = step.as ?? [], expected = step.expect ?? [];
    if (ids.length > results.length) return `found ${results.length} results; needed ${ids.length}`;
    ids.forEach((id, i) => this.#objects.set(id, results[i]));
    for (const [i, { dataType, shape }] of expected.entries()) {
      if (i >= results.length) return `result ${i} is missing`;
      if (dataType && results[i].dataType !== dataType) return `result ${i}: found type ${results[i].dataType}; needed ${dataType}`;
      if (shape && String(results[i].shape) !== String(shape)) return `result ${i}: found shape [${results[i].shape}]; needed [${shape}]`;
    }
    return step.expectData || step.expectBytes ? this.#sameBytes(step, results[0]) : '';
  }

  #sameBytes({ expectBytes, expectData = [] }, given) {
    if (given === undefined) return 'no bytes were read';
    const buffer = ArrayBuffer.isView(given) ? given.buffer : given;
    if (expectBytes) {
      const bytes = new Uint8Array(buffer);
      if (expectBytes.length === recorded ? bytes.length < recorded : bytes.length !== expectBytes.length)
        return `found ${bytes.length} bytes; needed ${expectBytes.length}`;
      const at = expectBytes.findIndex((byte, i) => bytes[i] !== byte);
      if (at >= 0) return `byte ${at}: found ${bytes[at]}; needed ${expectBytes[at]}`;
    }
    for (const { view, offset, length, data, metric, tolerance } of expectData) {
      const dataType = typeOfView[view];
      const want = elements(dataType, length, data);
      const got = elementsIn(dataType, buffer, offset, length);
      if (!got) return `found ${buffer.byteLength} bytes; needed ${want.byteLength} from ${offset} on`;
      const differs = difference(dataType, got, want, closenessOf(metric ? { metric, value: tolerance } : undefined));
      if (differs) return differs;
    }
    return '';
  }

  #value(json) {
    if (Array.isArray(json)) return json.map((item) => this.#value(item));
    if (json === null || typeof json !== 'object') return json;
    if ('$ref' in json) {
      if (!this.#objects.has(json.$ref)) throw new Error(`no object '${json.$ref}'`);
      return this.#objects.get(json.$ref);
    }
    if ('$typed' in json || '$buffer' in json) return bufferOf(json);
    if ('$undefined' in json) return undefined;
    if ('$date' in json) return new Date(json.$date);
    if ('$function' in json) return () => {};
    return special(json) ?? Object.fromEntries(Object.entries(json).map(([name, member]) => [name, this.#value(member)]));
  }

  /** Issues one call: what its immediate outcome has wrong, or nothing. */
  #issue(step) {
    const args = (step.args ?? []).map((json) => this.#value(json));
    const on = step.on === undefined ? undefined : this.#objects.get(step.on);
    if (step.on !== undefined && on === undefined) return `no object '${step.on}'`;
    let value;
    try {
      value = this.#call(step.call, on, args);
    } catch (error) {
      return this.#failed(step, error, step.throws);
    }
    if (step.throws) {
      if (value instanceof Promise) value.catch(() => {});
      return `found success; needed ${step.throws}`;
    }
    if (value instanceof Promise) {
      value.catch(() => {});  // judged when it is awaited
      if (step.call === 'createContext') value.then((context) => this.contexts.push(context), () => {});
      this.#open.push({ step, promise: value, buffer: step.call === 'readTensor' ? args[1] : undefined });
      return '';
    }
    return step.rejects ? `found no promise; needed one that rejects with ${step.rejects}` : this.#took(step, value);
  }

  #call(call, on, args) {
    if (call === 'createContext') return this.#host.ml.createContext(...args);
    if (call === 'new MLGraphBuilder') return new this.#host.MLGraphBuilder(on, ...args);
    const method = call.endsWith('.destroy') ? 'destroy' : call;
    if (typeof on[method] !== 'function') throw new Error(`no method '${method}'`);
    return on[method](...args);
  }
}
