// Cases that are graphs: built operation by operation, run once, compared by the metric the case gives.
import { closenessOf, difference, elementsIn, special, tensorOf } from './values.mjs';

/** An optional case asks for what this implementation says it has not. */
export class Unsupported extends Error {}

const inRange = (rank, range) => range === undefined || (rank >= range.min && rank <= range.max);

/** Throws Unsupported where an operand of this type and rank is outside the limits that were told. */
function mustSupport(what, { dataType, shape }, limits) {
  if (limits === undefined) return;
  if (!limits.dataTypes.includes(dataType)) throw new Unsupported(`${what} may not be ${dataType}, says opSupportLimits()`);
  if (!inRange(shape.length, limits.rankRange)) throw new Unsupported(`${what} may not have rank ${shape.length}, says opSupportLimits()`);
}

/** The value of an argument: the operand of that name, or the plain value. */
function valueOf(json, operands) {
  if (typeof json === 'string') return operands.get(json) ?? special(json) ?? json;
  if (Array.isArray(json)) return json.map((item) => valueOf(item, operands));
  if (json === null || typeof json !== 'object') return json;
  return special(json) ?? Object.fromEntries(Object.entries(json).map(([name, member]) => [name, valueOf(member, operands)]));
}

/** Throws Unsupported where an operand among the arguments is outside the operation's limits. */
function mustTake(operation, args, limits, Operand) {
  for (const [name, value] of Object.entries(args))
    if (name === 'options') mustTake(operation, value, limits, Operand);
    else for (const one of Array.isArray(value) ? value : [value])
      if (one instanceof Operand) mustSupport(`${name} of ${operation}`, one, limits[operation]?.[name]);
}

/** Runs one graph; what differs, or nothing. */
export async function playGraph(one, { ml, MLGraphBuilder, MLOperand }) {
  const context = await ml.createContext();
  try {
    return await run(one, context, new MLGraphBuilder(context), MLOperand);
  } finally {
    context.destroy();
  }
}

async function run({ graph, required, tolerance, signedZeroExact }, context, builder, MLOperand) {
  const limits = required === false ? context.opSupportLimits() : undefined;
  const operands = new Map(), inputs = {}, outputs = {};
  for (const [name, input] of Object.entries(graph.inputs)) {
    if (limits) mustSupport(input.constant ? 'a constant' : 'an input', input.descriptor, limits[input.constant ? 'constant' : 'input']);
    const data = tensorOf(input);
    operands.set(name, input.constant ? builder.constant(input.descriptor, new Uint8Array(data.buffer)) : builder.input(name, input.descriptor));
    if (!input.constant) inputs[name] = { descriptor: input.descriptor, data };
  }
  for (const { name, arguments: given, outputs: results } of graph.operators) {
    const args = Object.fromEntries(given.flatMap(Object.entries).map(([key, json]) => [key, valueOf(json, operands)]));
    if (limits) mustTake(name, args, limits, MLOperand);
    const made = builder[name](...Object.values(args));
    const list = Array.isArray(made) ? made : [made], names = Array.isArray(results) ? results : [results];
    if (list.length !== names.length) return `${name}: found ${list.length} outputs; needed ${names.length}`;
    names.forEach((result, i) => operands.set(result, list[i]));
  }
  for (const [name, { descriptor }] of Object.entries(graph.expectedOutputs)) {
    const operand = operands.get(name);
    if (!operand) return `no operation makes '${name}'`;
    if (operand.dataType !== descriptor.dataType || String(operand.shape) !== String(descriptor.shape))
      return `output '${name}': found ${operand.dataType} [${operand.shape}]; needed ${descriptor.dataType} [${descriptor.shape}]`;
    if (limits) mustSupport('an output', descriptor, limits.output);
    outputs[name] = operand;
  }
  return compute(graph, await builder.build(outputs), context, inputs, closenessOf(tolerance, signedZeroExact));
}

async function compute({ expectedOutputs }, built, context, inputs, closeness) {
  const given = {}, results = {};
  for (const [name, { descriptor, data }] of Object.entries(inputs)) {
    given[name] = await context.createTensor({ ...descriptor, writable: true });
    context.writeTensor(given[name], new Uint8Array(data.buffer));
  }
  for (const [name, { descriptor }] of Object.entries(expectedOutputs))
    results[name] = await context.createTensor({ ...descriptor, readable: true });
  context.dispatch(built, given, results);
  for (const [name, expected] of Object.entries(expectedOutputs)) {
    const { dataType } = expected.descriptor;
    const buffer = await context.readTensor(results[name]);
    const want = tensorOf(expected);
    if (buffer.byteLength !== want.byteLength) return `output '${name}': found ${buffer.byteLength} bytes; needed ${want.byteLength}`;
    const got = elementsIn(dataType, buffer, 0, want.length);
    // one number stands for all, of which the vectors' origin looks at so many
    const differs = difference(dataType, got, want, closeness, Array.isArray(expected.data) ? want.length : 1000);
    if (differs) return `output '${name}': ${differs}`;
  }
  return '';
}
