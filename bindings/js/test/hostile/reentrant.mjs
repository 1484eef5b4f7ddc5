// Getters, conversions and iterators that change the world while arguments are converted: conversions come first, then the rules look
// at what is left.
import { detach } from './values.mjs';

const shape = [2, 2];
const float32 = { dataType: 'float32', shape };

/** What a case works with. */
export async function workplace({ ml, MLGraphBuilder }) {
  const context = await ml.createContext();
  const first = new MLGraphBuilder(context), x = first.input('x', float32);
  const graph = await first.build({ y: first.relu(x) });
  const make = () => context.createTensor({ ...float32, readable: true, writable: true });
  const builder = new MLGraphBuilder(context), a = builder.input('a', float32), b = builder.input('b', float32);
  return { context, graph, builder, a, b, input: await make(), output: await make(), make };
}

/** Each: what is done, and how it must end: success, or an error's name. */
export const cases = {
  'label destroys the context': ['InvalidStateError', ({ context, builder, a, b }) => builder.add(a, b, { get label() { context.destroy(); return ''; } })],
  'label builds the builder': ['InvalidStateError', ({ builder, a, b }) => builder.add(a, b, { get label() { builder.build({ y: builder.relu(a) }); return ''; } })],
  'label destroys the context, another argument is wrong': ['TypeError', ({ context, builder, a }) => builder.add(a, null, { get label() { context.destroy(); return ''; } })],
  'an axis destroys the context': ['InvalidStateError', ({ context, builder, a }) => builder.softmax(a, { valueOf() { context.destroy(); return 0; } })],
  'an iterator destroys the context': ['InvalidStateError', ({ context, builder, a, b }) =>
    builder.concat((function* () { yield a; context.destroy(); yield b; })(), 0)],
  'an iterator builds the builder': ['InvalidStateError', ({ builder, a, b }) =>
    builder.concat((function* () { yield a; builder.build({ y: builder.relu(b) }); yield b; })(), 0)],
  'a shape destroys the context of an input': ['InvalidStateError', ({ context, builder }) =>
    builder.input('c', { dataType: 'float32', get shape() { context.destroy(); return shape; } })],
  'a shape destroys the context of a tensor': ['InvalidStateError', ({ context }) =>
    context.createTensor({ dataType: 'float32', get shape() { context.destroy(); return shape; } })],
  'a shape detaches the data of a constant': ['TypeError', ({ builder }) => {
    const data = new Float32Array(4);
    return builder.constant({ dataType: 'float32', get shape() { detach(data.buffer); return shape; } }, data);
  }],
  'a shape detaches the data of a constant tensor': ['TypeError', ({ context }) => {
    const data = new Float32Array(4);
    return context.createConstantTensor({ dataType: 'float32', get shape() { detach(data.buffer); return shape; } }, data);
  }],
  'a shape changes the data of a constant': ['success', ({ builder }) => {
    const data = new Float32Array(4);
    return builder.constant({ dataType: 'float32', get shape() { data.fill(NaN); return shape; } }, data);
  }],
  'outputs destroy the context of a build': ['InvalidStateError', ({ context, builder, a }) =>
    builder.build({ get y() { context.destroy(); return builder.relu ? a : a; } })],
  'outputs build the same builder': ['InvalidStateError', ({ builder, a }) => {
    const y = builder.relu(a);
    return builder.build({ get y() { builder.build({ y }); return y; } });
  }],
  'inputs destroy an input of a dispatch': ['TypeError', ({ context, graph, input, output }) =>
    context.dispatch(graph, { get x() { input.destroy(); return input; } }, { y: output })],
  'outputs destroy an input of a dispatch': ['TypeError', ({ context, graph, input, output }) =>
    context.dispatch(graph, { x: input }, { get y() { input.destroy(); return output; } })],
  'outputs destroy an output of a dispatch': ['TypeError', ({ context, graph, input, output }) =>
    context.dispatch(graph, { x: input }, { get y() { output.destroy(); return output; } })],
  'inputs destroy the graph of a dispatch': ['InvalidStateError', ({ context, graph, input, output }) =>
    context.dispatch(graph, { get x() { graph.destroy(); return input; } }, { y: output })],
  'inputs destroy the context of a dispatch': ['InvalidStateError', ({ context, graph, input, output }) =>
    context.dispatch(graph, { get x() { context.destroy(); return input; } }, { y: output })],
  'inputs dispatch themselves': ['success', ({ context, graph, input, output }) => context.dispatch(graph, {
    get x() { context.dispatch(graph, { x: input }, { y: output }); return input; },
  }, { y: output })],
  'options of createContext destroy another context': ['success', ({ context }, { ml }) =>
    ml.createContext({ get powerPreference() { context.destroy(); return 'default'; } }).then((other) => other.destroy())],
  'activations destroy the context': ['InvalidStateError', ({ context, builder }) => {
    const operand = (...extents) => builder.input(`o${extents}`, { dataType: 'float32', shape: extents });
    return builder.gruCell(operand(1, 2), operand(6, 2), operand(6, 2, 1), operand(1, 2, 1, 1), 2, { get activations() { context.destroy(); return ['relu', 'relu']; } });
  }],
};

/** How a call ends: success, or the name of what it throws or rejects with. */
export async function endOf(call) {
  try {
    await call();
    return 'success';
  } catch (error) {
    return error?.name ?? String(error);
  }
}
