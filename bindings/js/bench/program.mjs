// A program of bench/webnn on any navigator.ml, timed: the same in Node.js and in a page.

/** Builds `program` (the JSON of a .webnn file) with its weights; resolves to what times it. */
export async function open({ ml, MLGraphBuilder }, program, weights) {
  const context = await ml.createContext();
  const builder = new MLGraphBuilder(context);
  const operands = new Map();
  const given = (value) => (typeof value === 'string' && operands.has(value) ? operands.get(value) : value);
  const dictionary = (members) => Object.fromEntries(Object.entries(members).map(([name, value]) => [name, given(value)]));
  const bytes = ({ shape }) => 4 * shape.reduce((product, extent) => product * extent, 1);
  for (const { name, ...descriptor } of program.inputs) operands.set(name, builder.input(name, descriptor));
  for (const { name, offset, ...descriptor } of program.constants)
    operands.set(name, builder.constant(descriptor, new Float32Array(weights.slice(offset, offset + bytes(descriptor)))));
  for (const { op, args, options, results } of program.operations) {
    const made = builder[op](...Object.values(args).map(given), dictionary(options));
    (Array.isArray(made) ? made : [made]).forEach((operand, i) => operands.set(results[i], operand));
  }
  const wanted = Object.fromEntries(Object.entries(program.outputs).map(([name, of]) => [name, operands.get(of)]));
  const began = performance.now();
  const graph = await builder.build(wanted);
  const build = performance.now() - began;

  const inputs = {}, outputs = {};
  for (const { name, ...descriptor } of program.inputs) {
    inputs[name] = await context.createTensor({ ...descriptor, writable: true });
    context.writeTensor(inputs[name], Float32Array.from({ length: bytes(descriptor) / 4 }, (_, i) => Math.sin(i)));
  }
  for (const [name, { dataType, shape }] of Object.entries(wanted))
    outputs[name] = await context.createTensor({ dataType, shape, readable: true });
  const answer = () => context.readTensor(outputs[Object.keys(outputs)[0]]);

  /** Milliseconds of a run among `count` that are queued together, before the answer of the last is read. */
  async function queued(count) {
    const start = performance.now();
    for (let i = 0; i < count; ++i) context.dispatch(graph, inputs, outputs);
    await answer();
    return (performance.now() - start) / count;
  }
  return {
    build,
    first: await queued(1),
    queued,
    /** The first numbers of the answer. */
    async numbers() {
      context.dispatch(graph, inputs, outputs);
      return Array.from(new Float32Array(await answer()).slice(0, 1000));
    },
    /** Medians of a run that is awaited alone and of one in a queue, over `ms` milliseconds each. */
    async time(ms) {
      const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
      const alone = [], together = [];
      const count = Math.max(1, Math.min(200, Math.round(ms / 8 / await queued(2))));
      for (const [list, n] of [[alone, 1], [together, count]])
        for (const end = performance.now() + ms; list.length === 0 || performance.now() < end;) list.push(await queued(n));
      return { alone: median(alone), queued: median(together) };
    },
    close: () => context.destroy(),
  };
}
