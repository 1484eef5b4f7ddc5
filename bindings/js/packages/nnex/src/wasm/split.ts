/**
 * An engine in a worker: an instance on the caller's thread checks every call at once, the worker computes. Constants and tensors are in
 * the worker alone; the caller keeps their types and shapes.
 */

import type { Bytes, ContextOptions, Engine, Named, NativeBuilder, NativeContext, NativeGraph, NativeOperand, NativeTensor, Num, OperandDescriptor,
  Plain, PlainObject, TensorDescriptor } from '../engine.js';
import * as calls from './calls.js';
import { type Code, once } from './code.js';
import { Module } from './module.js';
import { Link, type Port, copyOf } from './link.js';
import type { Command, Id } from './remote.js';
import { namedError } from './wire.js';

const collected = new FinalizationRegistry<() => void>((free) => free());
function freeWith(object: object, module: Module, free: string, address: number): void {
  collected.register(object, () => module.call(free, address));
}

class Operand implements NativeOperand {
  readonly native = 'operand';
  readonly dataType: string;
  readonly shape: readonly number[];
  readonly address: number;
  constructor(readonly builder: Builder, readonly id: Id, at: calls.OperandAt) {
    ({ dataType: this.dataType, shape: this.shape, address: this.address } = at);
    builder.context.link.freeWith(this, id);
  }
}

class Tensor implements NativeTensor {
  readonly reads = new Set<number>();
  constructor(readonly context: Context, readonly id: Id, readonly address: number, readonly byteLength: number) {
    freeWith(this, context.module, 'nnex_ml_tensor_free', address);
    context.link.freeWith(this, id);
  }
  destroy(): void {
    const { module, link } = this.context;
    module.call('nnex_ml_tensor_destroy', this.address);
    for (const request of this.reads) link.reject(request, namedError('InvalidStateError', 'readTensor: the tensor was destroyed'));
    link.send({ do: 'destroy', id: this.id });
  }
}

class Graph implements NativeGraph {
  constructor(readonly context: Context, readonly id: Id, readonly address: number) {
    freeWith(this, context.module, 'nnex_ml_graph_free', address);
    context.link.freeWith(this, id);
  }
  destroy(): void {
    this.context.module.call('nnex_ml_graph_destroy', this.address);
    this.context.link.send({ do: 'destroy', id: this.id });
  }
}

class Builder implements NativeBuilder {
  private readonly address: number;
  private readonly id: Id;
  constructor(readonly context: Context) {
    const { module, link } = context;
    this.address = calls.makeBuilder(module, context.address);
    this.id = link.id();
    freeWith(this, module, 'nnex_ml_builder_free', this.address);
    link.send({ do: 'builder', id: this.id, context: context.id });
    link.freeWith(this, this.id);
  }
  input(name: string, descriptor: OperandDescriptor): NativeOperand {
    return this.call('input', [name, { dataType: descriptor.dataType, shape: descriptor.shape }])[0]!;
  }
  constant(descriptor: OperandDescriptor, data: Bytes): NativeOperand {
    const made = this.made(calls.constant(this.context.module, this.address, descriptor, data, 0));
    const bytes = copyOf(data.bytes);
    this.context.link.send({ do: 'constant', builder: this.id, id: made.id, descriptor, kind: data.kind, bytes }, bytes);
    return made;
  }
  scalar(dataType: string, value: Num): NativeOperand {
    const made = this.made(calls.call(this.context.module, this.address, 'constant', [dataType, value])[0]!);
    this.context.link.send({ do: 'scalar', builder: this.id, id: made.id, dataType, value });
    return made;
  }
  constantTensor(tensor: NativeTensor): NativeOperand {
    const { address, id } = tensor as Tensor;
    const made = this.made(calls.constantTensor(this.context.module, this.address, address));
    this.context.link.send({ do: 'constantTensorOperand', builder: this.id, id: made.id, tensor: id });
    return made;
  }
  call(operation: string, args: readonly Plain[]): NativeOperand[] {
    const made = calls.call(this.context.module, this.address, operation, args).map((at) => this.made(at));
    this.context.link.send({ do: 'call', builder: this.id, ids: made.map(({ id }) => id), operation, args: args.map(told) });
    return made;
  }
  async build(outputs: Named<NativeOperand>): Promise<NativeGraph> {
    const { module, link } = this.context;
    const address = module.now(calls.build(module, this.address, outputs as Named<Operand>), calls.address);
    const graph = new Graph(this.context, link.id(), address);
    await this.context.later((request) => ({
      do: 'build', request, builder: this.id, id: graph.id, outputs: outputs.map(([name, operand]) => [name, (operand as Operand).id]),
    })).result;
    return graph;
  }

  private made(at: calls.OperandAt): Operand {
    return new Operand(this, this.context.link.id(), at);
  }
}

/** A value as the worker is told of it. */
function told(v: Plain): unknown {
  if (v === null || typeof v !== 'object') return v;
  if (v instanceof Operand) return { native: 'operand', id: v.id };
  if (Array.isArray(v)) return v.map(told);
  return Object.fromEntries(Object.entries(v).map(([name, member]) => [name, told(member as Plain)]));
}

class Context implements NativeContext {
  readonly accelerated: boolean;
  private readonly pending = new Set<number>();
  /** Requests for its loss, which do not hold it, and what caused it. */
  private readonly loss: { readonly requests: number[]; because: string | undefined } = { requests: [], because: undefined };
  constructor(readonly module: Module, readonly link: Link, readonly id: Id, readonly address: number, options: ContextOptions,
    private readonly ended: () => void) {
    this.accelerated = options.accelerated;
    const { requests } = this.loss;
    collected.register(this, () => {
      module.call('nnex_ml_context_free', address);
      for (const request of requests) module.forget(request);
    });
  }
  limits(): PlainObject {
    return calls.limits(this.module, this.address);
  }
  onLost(listener: (message: string) => void): void {
    const { loss } = this;
    loss.requests.push(calls.onLost(this.module, this.address, (message) => listener(loss.because ?? message)));
  }
  builder(): NativeBuilder {
    return new Builder(this);
  }
  async tensor(descriptor: TensorDescriptor): Promise<NativeTensor> {
    const address = this.module.now(calls.tensor(this.module, this.address, descriptor), calls.address);
    const tensor = new Tensor(this, this.link.id(), address, calls.byteLength(descriptor));
    await this.later((request) => ({ do: 'tensor', request, context: this.id, id: tensor.id, descriptor })).result;
    return tensor;
  }
  async constantTensor(descriptor: OperandDescriptor, data: Bytes): Promise<NativeTensor> {
    const address = this.module.now(calls.constantTensorOf(this.module, this.address, descriptor, data, 0), calls.address);
    const tensor = new Tensor(this, this.link.id(), address, calls.byteLength(descriptor));
    const bytes = copyOf(data.bytes);
    await this.later((request) => ({ do: 'constantTensor', request, context: this.id, id: tensor.id, descriptor, kind: data.kind, bytes }), bytes).result;
    return tensor;
  }
  async read(tensor: NativeTensor, room?: number): Promise<ArrayBuffer> {
    const { id, address, byteLength, reads } = tensor as Tensor;
    const short = room !== undefined && room < byteLength ? room : undefined;
    this.module.now(calls.read(this.module, this.address, address, short), () => undefined);
    const { request, result } = this.later((number) => ({ do: 'read', request: number, context: this.id, tensor: id }));
    reads.add(request);
    try {
      return (await result) as ArrayBuffer;
    } finally {
      reads.delete(request);
    }
  }
  write(tensor: NativeTensor, data: Bytes): void {
    const { id, address } = tensor as Tensor;
    calls.write(this.module, this.address, address, data, 0);
    const bytes = copyOf(data.bytes);
    this.link.send({ do: 'write', context: this.id, tensor: id, kind: data.kind, bytes }, bytes);
  }
  dispatch(graph: NativeGraph, inputs: Named<NativeTensor>, outputs: Named<NativeTensor>): void {
    calls.dispatch(this.module, this.address, (graph as Graph).address, inputs as Named<Tensor>, outputs as Named<Tensor>);
    const ids = (named: Named<NativeTensor>) => named.map(([name, tensor]) => [name, (tensor as Tensor).id] as const);
    this.link.send({ do: 'dispatch', context: this.id, graph: (graph as Graph).id, inputs: ids(inputs), outputs: ids(outputs) });
  }
  destroy(): void {
    this.link.send({ do: 'destroy', id: this.id });
    this.lose(undefined);
  }

  /** A request that is rejected when the context is lost before. */
  later(make: (request: number) => Command, ...bytes: readonly Uint8Array[]): { request: number; result: Promise<unknown> } {
    const { request, result } = this.link.request(make, ...bytes);
    this.pending.add(request);
    const settled = (): boolean => this.pending.delete(request);
    result.then(settled, settled);
    return { request, result };
  }
  /** From now on every call says so, and what is pending is rejected. */
  lose(message: string | undefined): void {
    this.loss.because ??= message;
    this.module.call('nnex_ml_context_destroy', this.address);
    for (const request of this.pending) this.link.reject(request, namedError('InvalidStateError', 'the context is lost'));
    this.pending.clear();
    this.module.settle();
    this.ended();
  }
}

/** Contexts share a worker, which is ended when the last of them is destroyed. */
export class SplitEngine implements Engine {
  readonly kind = 'wasm';
  private readonly front: () => Promise<Module>;
  private link: Link | undefined;
  private linking: Promise<Link> | undefined;
  constructor(code: () => Promise<Code>, private readonly port: () => Promise<Port>, readonly version: string) {
    this.front = once(async () => Module.make(await code()));
  }

  async createContext(options: ContextOptions): Promise<NativeContext> {
    const module = await this.front();
    const link = await this.linked();
    const id = link.id();
    const ended = (): void => {
      link.leave(id);
      setTimeout(() => this.ended(link));
    };
    const context = new Context(module, link, id, calls.makeContext(module, options, true), options, ended);
    link.join(id, context);
    collected.register(context, () => {
      link.send({ do: 'destroy', id });
      link.send({ do: 'free', ids: [id] });
      ended();
    });
    try {
      await link.request((request) => ({ do: 'context', request, id, options })).result;
    } catch (error) {
      ended();
      throw error;
    }
    return context;
  }

  /** The worker of contexts to come: one of them is begun at a time. */
  private async linked(): Promise<Link> {
    if (this.link && !this.link.failed) return this.link;
    this.linking ??= this.port().then((port) => (this.link = new Link(port))).finally(() => { this.linking = undefined; });
    return this.linking;
  }

  private ended(link: Link): void {
    if (!link.idle) return;
    link.end();
    if (this.link === link) this.link = undefined;
  }
}
