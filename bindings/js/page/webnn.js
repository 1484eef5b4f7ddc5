// A model run by WebNN: the engine says it as calls of a graph builder, and they are made on this browser's navigator.ml.
import { convert, ml, MLGraphBuilder } from './nnex/browser.js';
import { ready } from './nnex/polyfill-browser.js'; // navigator.ml, where there is none or none that gives a context
import { arrayOf, inputsRead, play } from './program.js';
import { bytes } from './values.js';

await ready; // whose it is
const nnex = { ml, Builder: MLGraphBuilder, label: navigator.ml === ml ? 'WebNN by nnex, which stands at navigator.ml' : 'WebNN by nnex' };
const ways = navigator.ml && navigator.ml !== ml ? [{ ml: navigator.ml, Builder: globalThis.MLGraphBuilder, label: 'WebNN by this browser itself' }, nnex] : [nnex];

const kIndexed = new Set(['gather', 'gatherElements', 'gatherND', 'scatterElements', 'scatterND']);
const kPlaces = new Set(['int32', 'uint32', 'int64', 'uint64']);
/** Whether whole numbers that a run is given or makes may be indices or lengths: those outside WebNN takes for others, where other standards have an error. */
function decides({ inputs, constants, operations }) {
  const known = new Set(constants.map(({ name }) => name));
  return inputs.some(({ dataType }) => kPlaces.has(dataType))
    || operations.some(({ op, args }) => (kIndexed.has(op) && !known.has(args.indices)) || (op === 'cast' && Object.values(args).some((word) => kPlaces.has(word))));
}

const same = (a, b) => a?.length === b.length && a.every((extent, i) => extent === b[i]);
/** What a type of the model is in WebNN. */
const saidAs = (type) => (type === 'bool' ? 'uint8' : type);
const elements = (dataType, buffer) => new (arrayOf(dataType))(buffer);

/** The calls that make the model's network at the extents of the feeds, and their weights. */
async function programOf(source, load, inputs, feeds) {
  const fixed = inputs.every(({ name, dims }) => same(dims, feeds[name].dims));
  const shapes = fixed ? {} : { shapes: Object.fromEntries(Object.entries(feeds).map(([name, { dims }]) => [name, dims])) };
  const files = new Map(await convert(source, { to: 'webnn', load: { ...load, ...shapes } }));
  const file = (ending) => [...files].find(([name]) => name.endsWith(ending))?.[1];
  const program = JSON.parse(new TextDecoder().decode(file('.webnn')));
  for (const { name, dataType, shape } of program.inputs) {
    const feed = feeds[name];
    if (!feed) throw new Error(`WebNN's input '${name}' is none of the model's`);
    if (saidAs(feed.type) !== dataType || !same(shape, feed.dims)) throw new Error(`input '${name}' is ${feed.type} [${feed.dims}]; WebNN takes ${dataType} [${shape}]`);
  }
  return { program, weights: file('.weights') };
}

/** An error of a run in words that say why a context was lost, and what it was given. */
async function whyLost(context, feeds, error) {
  const lost = await Promise.race([context.lost, new Promise((resolve) => setTimeout(resolve, 100))]);
  const taken = Object.values(feeds).reduce((sum, { data }) => sum + (data.byteLength ?? 0), 0);
  return lost ? new Error(`the context of WebNN was lost in the run: ${lost.message || 'it did not say why'}; the inputs take ${bytes(taken)}`) : error;
}

/** `signal`: whether anybody waits for it still. */
async function build({ ml, Builder }, { program, weights }, signal) {
  const context = await ml.createContext();
  try {
    signal.throwIfAborted();
    const builder = new Builder(context), made = play(program, weights, builder);
    const outputs = Object.entries(made).map(([name, { dataType, shape }]) => ({ name, dataType, shape: [...shape] }));
    const graph = await builder.build(made);
    const tensor = async ({ name, dataType, shape }, use) => [name, await context.createTensor({ dataType, shape, ...use })];
    const tensors = async (list, use) => Object.fromEntries(await Promise.all(list.map((each) => tensor(each, use))));
    const inputTensors = await tensors(inputsRead(program), { writable: true }), outputTensors = await tensors(outputs, { readable: true });
    signal.throwIfAborted();
    const once = async (feeds) => {
      for (const [name, tensor] of Object.entries(inputTensors)) context.writeTensor(tensor, feeds[name].data);
      context.dispatch(graph, inputTensors, outputTensors);
      const read = await Promise.all(outputs.map(({ name }) => context.readTensor(outputTensors[name])));
      return Object.fromEntries(outputs.map(({ name, dataType, shape }, i) => [name, { type: dataType, dims: shape, data: elements(dataType, read[i]) }]));
    };
    return {
      /** The outputs by name, {type, dims, data} each. */
      run: (feeds) => once(feeds).catch(async (error) => { throw await whyLost(context, feeds, error); }),
      release: () => context.destroy(),
    };
  } catch (error) {
    context.destroy();
    throw error;
  }
}

/**
 * The model, which has these inputs, by the first WebNN that can, at the extents of `feeds`: {label, operations, places, refusals, run, release}; without `run` where none can.
 * `places`: whole numbers of a run may say places. `refusals` say why what comes before did not. Rejected with the signal's reason when nobody waits any more.
 */
export async function open({ source, options }, inputs, feeds, signal) {
  let said;
  try {
    said = await programOf(source, options, inputs, feeds);
  } catch (error) {
    return { refusals: [error.message] };
  }
  const { operations } = said.program, places = decides(said.program), refusals = [];
  for (const way of ways) {
    try {
      return { label: way.label, operations: operations.length, places, refusals, ...await build(way, said, signal) };
    } catch (error) {
      signal.throwIfAborted();
      refusals.push(`${way.label}: ${error.message}`);
    }
  }
  return { refusals };
}
