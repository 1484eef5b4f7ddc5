/** The objects of WebNN: what stands behind each, and what their operations do with converted arguments. */
import type {
  ContextOptions, Engine, Named, NativeBuilder, NativeContext, NativeGraph, NativeOperand, NativeTensor, Num, OperandDescriptor, Plain,
  TensorDescriptor,
} from '../engine.js';
import { type Brand, brand } from './brand.js';
import { type Defined, type Implementation, type Operation, define } from './classes.js';
import { Converters, type Source, bytesOf, put, wrong } from './convert.js';
import { exception, noEngine, translated } from './errors.js';
import { Promise, TypeError, Uint8Array, bufferOfHere, create, defineProperty, freeze, isArray, setBytes, viewLength, whenSettled } from './intrinsics.js';
import { supportLimits } from './limits.js';
import { table } from './table.gen.js';
import type { Interfaces, ML } from './types.gen.js';

interface ContextState {
  readonly native: NativeContext;
  readonly lost: Promise<unknown>;
}
interface GraphState {
  readonly native: NativeGraph;
}
interface TensorState {
  readonly native: NativeTensor;
  readonly descriptor: TensorDescriptor;
  readonly constant: boolean;
}
interface OperandState {
  readonly native: NativeOperand;
  readonly shape: readonly number[];
}
interface BuilderState {
  readonly native: NativeBuilder;
}
interface MLState {
  readonly engine: () => Promise<Engine>;
}

/** Runs what an engine does at once: what it throws becomes the specification's exception. */
function now<T>(body: () => T): T {
  try {
    return body();
  } catch (e) {
    throw translated(e);
  }
}

/** What a page gets for a promise of an engine's. */
function later<T>(body: () => Promise<T>, made: (value: T) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (e: unknown): void => reject(translated(e));
    try {
      whenSettled(
        body(),
        value => {
          try {
            resolve(made(value));
          } catch (e) {
            fail(e);
          }
        },
        fail,
      );
    } catch (e) {
      fail(e);
    }
  });
}

const refused = (name: string, message: string): Promise<never> => new Promise((_, reject) => reject(exception(name, message)));

/** The pairs of a record of objects, as those of their engine's objects. */
function named<T>(pairs: unknown): Named<T> {
  const out = pairs as [string, { native: T }][];
  for (let i = 0; i < out.length; ++i) (out[i] as unknown as [string, T])[1] = out[i]![1].native;
  return out as unknown as Named<T>;
}

const brands = {
  ML: brand<MLState>(),
  MLContext: brand<ContextState>(),
  MLGraph: brand<GraphState>(),
  MLTensor: brand<TensorState>(),
  MLOperand: brand<OperandState>(),
  MLGraphBuilder: brand<BuilderState>(),
};

/** The conversion to an interface type: to the state behind the object, or to what `as` makes of it. */
function toInterface<State>(name: string, of: Brand<State>['of'], as: (state: State) => unknown = state => state) {
  return (v: unknown, where: string): unknown => {
    const state = of(v);
    if (state === undefined) throw wrong(where, v, `an ${name}`);
    return as(state);
  };
}
const converters = new Converters(table, {
  ML: toInterface('ML', brands.ML.of),
  MLContext: toInterface('MLContext', brands.MLContext.of),
  MLGraph: toInterface('MLGraph', brands.MLGraph.of),
  MLTensor: toInterface('MLTensor', brands.MLTensor.of),
  MLOperand: toInterface('MLOperand', brands.MLOperand.of, state => state.native),
  MLGraphBuilder: toInterface('MLGraphBuilder', brands.MLGraphBuilder.of),
});

function byName<State>(name: string, operations: Readonly<Record<string, Operation<State>>>): (operation: string) => Operation<State> {
  return operation => {
    const found = operations[operation];
    if (!found) throw new TypeError(`${name}.${operation}: nothing implements it`);
    return found;
  };
}

function classOf<State>(name: keyof typeof brands, implementation: Implementation<State>): Defined<State> {
  return define(name, table.interfaces[name]!, brands[name] as unknown as Brand<State>, implementation, converters);
}

// ---- Operands and builders

const operands = classOf<OperandState>('MLOperand', {
  attributes: { dataType: state => state.native.dataType, shape: state => state.shape },
  operation: byName('MLOperand', {}),
});
const operand = (native: NativeOperand): object => operands.made({ native, shape: frozen(native.shape) });

function frozen(shape: readonly number[]): readonly number[] {
  const copy: number[] = [];
  for (let i = 0; i < shape.length; ++i) put(copy, i, shape[i]);
  return freeze(copy);
}

const returnsSequence = (name: string): boolean => isArray(table.interfaces.MLGraphBuilder!.operations[name]![0]![0]);

/** An operation that is the engine's own: all but input, constant and build. */
function operationOfEngine(name: string): Operation<BuilderState> {
  if (!returnsSequence(name)) return ({ native }, args) => operand(now(() => native.call(name, args as Plain[]))[0]!);
  return ({ native }, args) => {
    const made = now(() => native.call(name, args as Plain[]));
    const out: object[] = [];
    for (let i = 0; i < made.length; ++i) put(out, i, operand(made[i]!));
    return out;
  };
}

const builderOperations: Record<string, Operation<BuilderState>> = {
  input: ({ native }, args) => operand(now(() => native.input(args[0] as string, args[1] as OperandDescriptor))),
  constant: ({ native }, args, overload) =>
    operand(
      now(() => {
        const first = args[0];
        const second = args[1];
        if (overload === 0) return native.constant(first as OperandDescriptor, bytesOf(second as Source));
        if (overload === 1) return native.scalar(first as string, second as Num);
        return native.constantTensor((first as TensorState).native);
      }),
    ),
  build: ({ native }, args) => later(() => native.build(args[0] as Named<NativeOperand>), graph => graphs.made({ native: graph })),
};

const builders = classOf<BuilderState>('MLGraphBuilder', {
  attributes: {},
  operation: name => builderOperations[name] ?? operationOfEngine(name),
  construct: args => ({ native: now(() => (args[0] as ContextState).native.builder()) }),
});

// ---- Graphs and tensors

/** Where a graph computes: the answer to Chromium's `devices`, which is not in the standard. */
const kDevices = freeze(['cpu']);

const graphs = classOf<GraphState>('MLGraph', {
  attributes: { devices: () => kDevices },
  operation: byName('MLGraph', { destroy: ({ native }) => now(() => native.destroy()) }),
});

const tensors = classOf<TensorState>('MLTensor', {
  attributes: {
    dataType: state => state.descriptor.dataType,
    shape: state => state.descriptor.shape,
    readable: state => state.descriptor.readable,
    writable: state => state.descriptor.writable,
    constant: state => state.constant,
  },
  operation: byName('MLTensor', { destroy: ({ native }) => now(() => native.destroy()) }),
});

/** A tensor's descriptor as it is kept: `shape` is what the attribute gives each time. */
function kept({ dataType, shape }: OperandDescriptor, readable: boolean, writable: boolean): TensorDescriptor {
  return { dataType, shape: frozen(shape), readable, writable };
}

// ---- Contexts

/** readTensor(tensor, outputData): the bytes go where there still is room for them. */
function copied(bytes: ArrayBuffer, output: Source): void {
  const from = new Uint8Array(bytes);
  const to = bytesOf(output).bytes;
  if (viewLength(to) < viewLength(from)) throw new TypeError('MLContext.readTensor: outputData has been detached or has shrunk');
  setBytes(to, from);
}

const contexts = classOf<ContextState>('MLContext', {
  attributes: { accelerated: state => state.native.accelerated, lost: state => state.lost },
  operation: byName('MLContext', {
    dispatch: ({ native }, args) =>
      now(() => native.dispatch((args[0] as GraphState).native, named<NativeTensor>(args[1]), named<NativeTensor>(args[2]))),
    createTensor: ({ native }, args) => {
      const descriptor = args[0] as TensorDescriptor;
      const { readable, writable } = descriptor;
      return later(
        () => native.tensor(descriptor),
        tensor => tensors.made({ native: tensor, descriptor: kept(descriptor, readable, writable), constant: false }),
      );
    },
    createExportableTensor: () => refused('NotSupportedError', 'MLContext.createExportableTensor: tensors live in the processor\'s memory'),
    createConstantTensor: ({ native }, args) => {
      const descriptor = args[0] as OperandDescriptor;
      return later(
        () => native.constantTensor(descriptor, bytesOf(args[1] as Source)),
        tensor => tensors.made({ native: tensor, descriptor: kept(descriptor, false, false), constant: true }),
      );
    },
    readTensor: ({ native }, args, overload) => {
      const from = (args[0] as TensorState).native;
      const output = args[1] as Source;
      if (overload === 0) return later(() => native.read(from), bufferOfHere);
      return later(() => native.read(from, viewLength(bytesOf(output).bytes)), bytes => copied(bytes, output));
    },
    writeTensor: ({ native }, args) => now(() => native.write((args[0] as TensorState).native, bytesOf(args[1] as Source))),
    exportToGPU: () => {
      throw new TypeError('MLContext.exportToGPU: the tensor is not exportable');
    },
    opSupportLimits: ({ native }) => supportLimits(table, now(() => native.limits())),
    destroy: ({ native }) => now(() => native.destroy()),
  }),
});

function context(native: NativeContext): object {
  // The engine holds the listener: it must know nothing of the context.
  let lose: (info: object) => void;
  const lost = new Promise<unknown>(resolve => (lose = resolve));
  native.onLost(listenerOf(lose!));
  return contexts.made({ native, lost });
}
const listenerOf = (lose: (info: object) => void) => (message: string) => lose({ message });

// ---- ML

const mls = classOf<MLState>('ML', {
  attributes: {},
  operation: byName('ML', {
    createContext: ({ engine }, args, overload) => {
      if (overload === 1) return refused('NotSupportedError', 'ML.createContext: no context on a GPUDevice is to be had');
      const created = (): Promise<NativeContext> =>
        new Promise((resolve, reject) => {
          const absent = (why: unknown): void => reject(noEngine(why));
          whenSettled(engine(), found => whenSettled(found.createContext(args[0] as ContextOptions), resolve, reject), absent);
        });
      return later(created, context);
    },
  }),
});

/** The interface objects, in the order of the specification. */
export const interfaces = create(null) as Interfaces;
const defined: Record<string, Defined<never>> = { ML: mls, MLContext: contexts, MLGraph: graphs, MLOperand: operands, MLTensor: tensors, MLGraphBuilder: builders };
for (const name of Object.keys(table.interfaces))
  defineProperty(interfaces, name, { value: defined[name]!.interfaceObject, enumerable: true });

/** An ML over an engine that is asked for when the first context is. */
export function makeML(engine: () => Promise<Engine>): ML {
  return mls.made({ engine }) as ML;
}
