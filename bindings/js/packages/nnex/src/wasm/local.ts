/** The engine in the thread of its caller: Node, workers, and pages that may have no worker. */

import type { Bytes, ContextOptions, Engine, Named, NativeBuilder, NativeContext, NativeGraph, NativeOperand, NativeTensor, Num, OperandDescriptor,
  Plain, PlainObject, TensorDescriptor } from '../engine.js';
import * as calls from './calls.js';
import type { Code } from './code.js';
import { Module } from './module.js';
import { namedError } from './wire.js';

/** Frees objects of a module that nobody holds any more. */
const collected = new FinalizationRegistry<() => void>((free) => free());
function freeWith(object: object, module: Module, free: string, address: number): void {
  collected.register(object, () => {
    if (module.alive) module.call(free, address);
  }, object);
}
/** The same at once, where who held the object says so: a worker collects too little to come to it by itself. */
export interface Freeable {
  free(): void;
}
function freeNow(object: object, module: Module, free: string, address: number): void {
  if (collected.unregister(object) && module.alive) module.call(free, address);
}

class Operand implements NativeOperand, Freeable {
  readonly native = 'operand';
  readonly dataType: string;
  readonly shape: readonly number[];
  readonly address: number;
  /** Keeps the builder, whose the address is. */
  constructor(readonly builder: Builder, at: calls.OperandAt) {
    ({ dataType: this.dataType, shape: this.shape, address: this.address } = at);
    ++builder.users;
  }
  free(): void {
    --this.builder.users;
    this.builder.freeUnused();
  }
}

class Tensor implements NativeTensor, Freeable {
  constructor(readonly module: Module, readonly address: number, readonly byteLength: number) {
    freeWith(this, module, 'nnex_ml_tensor_free', address);
  }
  destroy(): void {
    if (!this.module.alive) return;
    this.module.call('nnex_ml_tensor_destroy', this.address);
    this.module.settle();
  }
  free(): void {
    freeNow(this, this.module, 'nnex_ml_tensor_free', this.address);
  }
}

class Graph implements NativeGraph, Freeable {
  constructor(readonly module: Module, readonly address: number) {
    freeWith(this, module, 'nnex_ml_graph_free', address);
  }
  destroy(): void {
    if (this.module.alive) this.module.call('nnex_ml_graph_destroy', this.address);
  }
  free(): void {
    freeNow(this, this.module, 'nnex_ml_graph_free', this.address);
  }
}

class Builder implements NativeBuilder, Freeable {
  readonly address: number;
  /** Operands that were not freed. */
  users = 0;
  private dropped = false;
  constructor(readonly module: Module, readonly context: Context) {
    this.address = calls.makeBuilder(module, context.address);
    freeWith(this, module, 'nnex_ml_builder_free', this.address);
  }
  free(): void {
    this.dropped = true;
    this.freeUnused();
  }
  freeUnused(): void {
    if (this.dropped && this.users === 0) freeNow(this, this.module, 'nnex_ml_builder_free', this.address);
  }
  input(name: string, descriptor: OperandDescriptor): NativeOperand {
    return this.call('input', [name, { dataType: descriptor.dataType, shape: descriptor.shape }])[0]!;
  }
  constant(descriptor: OperandDescriptor, data: Bytes): NativeOperand {
    return this.module.lend(data.bytes, (at) => new Operand(this, calls.constant(this.module, this.address, descriptor, data, at)));
  }
  scalar(dataType: string, value: Num): NativeOperand {
    return this.call('constant', [dataType, value])[0]!;
  }
  constantTensor(tensor: NativeTensor): NativeOperand {
    return new Operand(this, calls.constantTensor(this.module, this.address, own(tensor as Tensor, this.module, 'constant').address));
  }
  call(operation: string, args: readonly Plain[]): NativeOperand[] {
    return calls.call(this.module, this.address, operation, args.map((arg) => this.known(arg)))
      .map((at) => new Operand(this, at));
  }
  build(outputs: Named<NativeOperand>): Promise<NativeGraph> {
    const { module } = this;
    const known = outputs.map(([name, operand]) => [name, this.known(operand) as Operand] as const);
    return module.later(calls.build(module, this.address, known), (reply) => new Graph(module, reply.u32()));
  }

  /** The same value, whose operands of another instance are none. */
  private known(v: Plain): Plain {
    if (v instanceof Operand) return v.builder.module === this.module ? v : absent;
    if (Array.isArray(v)) return v.map((item: Plain) => this.known(item));
    if (v === null || typeof v !== 'object') return v;
    return Object.fromEntries(Object.entries(v).map(([name, member]) => [name, this.known(member as Plain)]));
  }
}
/** The empty operand, which is of no builder. */
const absent = { native: 'operand', address: 0, dataType: 'float32', shape: [] } as unknown as NativeOperand;

/** An object of this instance; others are of another context. */
function own<T extends { module: Module }>(object: T, module: Module, call: string): T {
  if (object.module === module) return object;
  throw namedError('TypeError', `${call}: an object of another context`);
}

class Context implements NativeContext, Freeable {
  readonly address: number;
  readonly accelerated: boolean;
  /** Requests for its loss. */
  private readonly losses: number[] = [];
  constructor(private readonly module: Module, options: ContextOptions, private readonly ended: () => void) {
    this.address = calls.makeContext(module, options, false);
    this.accelerated = options.accelerated;
    let open = true;
    const end = (): void => {
      if (open) ended();
      open = false;
    };
    this.ended = end;
    const { address, losses } = this;
    collected.register(this, () => {
      if (module.alive) module.call('nnex_ml_context_free', address);
      for (const request of losses) module.forget(request);
      end();
    }, this);
  }
  free(): void {
    freeNow(this, this.module, 'nnex_ml_context_free', this.address);
    for (const request of this.losses) this.module.forget(request);
    this.ended();
  }
  limits(): PlainObject {
    return calls.limits(this.module, this.address);
  }
  onLost(listener: (message: string) => void): void {
    this.losses.push(calls.onLost(this.module, this.address, listener));
  }
  builder(): NativeBuilder {
    return new Builder(this.module, this);
  }
  tensor(descriptor: TensorDescriptor): Promise<NativeTensor> {
    const { module } = this;
    return module.later(calls.tensor(module, this.address, descriptor),
      (reply) => new Tensor(module, reply.u32(), calls.byteLength(descriptor)));
  }
  constantTensor(descriptor: OperandDescriptor, data: Bytes): Promise<NativeTensor> {
    const { module } = this;
    return module.later((request) => module.lend(data.bytes, (at) => calls.constantTensorOf(module, this.address, descriptor, data, at)(request)),
      (reply) => new Tensor(module, reply.u32(), calls.byteLength(descriptor)));
  }
  read(tensor: NativeTensor, room?: number): Promise<ArrayBuffer> {
    const { module } = this;
    const { address, byteLength } = tensor as Tensor;
    const short = room !== undefined && room < byteLength ? room : undefined;
    return module.later((request) => {
      own(tensor as Tensor, module, 'readTensor');
      calls.read(module, this.address, address, short)(request);
    }, (reply) => module.copy(reply.u32(), reply.u32()));
  }
  write(tensor: NativeTensor, data: Bytes): void {
    const { module } = this;
    const { address } = own(tensor as Tensor, module, 'writeTensor');
    module.lend(data.bytes, (at) => calls.write(module, this.address, address, data, at));
  }
  dispatch(graph: NativeGraph, inputs: Named<NativeTensor>, outputs: Named<NativeTensor>): void {
    const { module } = this;
    for (const [, tensor] of [...inputs, ...outputs]) own(tensor as Tensor, module, 'dispatch');
    const { address } = own(graph as Graph, module, 'dispatch');
    calls.dispatch(module, this.address, address, inputs as Named<Tensor>, outputs as Named<Tensor>);
    module.settle();
  }
  destroy(): void {
    if (!this.module.alive) return;
    this.module.call('nnex_ml_context_destroy', this.address);
    this.module.settle();
    this.ended();
  }
}

/** An instance and how many contexts live in it. */
interface Shared {
  readonly module: Module;
  contexts: number;
}

/** Contexts share an instance, which goes, with its memory, when the last of them does. */
export class LocalEngine implements Engine {
  readonly kind = 'wasm';
  private shared: Shared | undefined;
  constructor(private readonly code: () => Promise<Code>, readonly version: string) {}

  async createContext(options: ContextOptions): Promise<NativeContext> {
    const shared = await this.instance();
    const context = new Context(shared.module, options, () => this.ended(shared));
    ++shared.contexts;
    return context;
  }

  private async instance(): Promise<Shared> {
    if (this.shared?.module.alive) return this.shared;
    const module = await this.code().then((code) => Module.make(code)).catch((error: Error): never => {
      throw namedError('NotSupportedError', error.message); // nothing computes here: by this name others know it
    });
    return this.shared?.module.alive ? this.shared : (this.shared = { module, contexts: 0 });
  }
  /** What is pending is rejected by now; its promises are settled before the memory goes. */
  private ended(shared: Shared): void {
    --shared.contexts;
    setTimeout(() => {
      if (shared.contexts > 0) return;
      shared.module.close();
      if (this.shared === shared) this.shared = undefined;
    });
  }
}
