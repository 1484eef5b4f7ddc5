/** WebNN's calls on a module: objects are addresses in it. */

import type { Bytes, Named, OperandDescriptor, Plain, PlainObject, TensorDescriptor } from '../engine.js';
import type { Module } from './module.js';
import type { Reader } from './wire.js';

/** An operand as the module tells of it. */
export interface OperandAt extends OperandDescriptor {
  readonly address: number;
}

const bits: Readonly<Record<string, number>> = { float32: 32, float16: 16, int32: 32, uint32: 32, int64: 64, uint64: 64, int8: 8, uint8: 8, int4: 4, uint4: 4 };
export function byteLength(d: OperandDescriptor): number {
  return Math.ceil(d.shape.reduce((product, extent) => product * extent, bits[d.dataType]!) / 8);
}

export function makeContext(module: Module, options: { powerPreference: string; accelerated: boolean }, checksOnly: boolean): number {
  const given = module.writer.text(options.powerPreference) && module.sent();
  return module.reply(module.call('nnex_ml_context', given, Number(options.accelerated), Number(checksOnly))).good().u32();
}
/** Returns the request, to be forgotten with the context. */
export function onLost(module: Module, context: number, listener: (message: string) => void): number {
  return module.request((request) => module.call('nnex_ml_lost', context, request), (reply) => {
    let message: string;
    try {
      message = reply().text();
    } catch (error) {
      message = (error as Error).message;
    }
    listener(message);
  });
}
export function limits(module: Module, context: number): PlainObject {
  return JSON.parse(module.reply(module.call('nnex_ml_limits', context)).good().text()) as PlainObject;
}
export function makeBuilder(module: Module, context: number): number {
  return module.reply(module.call('nnex_ml_builder', context)).good().u32();
}

/** A method of a builder, once its arguments are written. */
function calls(module: Module, builder: number): OperandAt[] {
  const reply = module.reply(module.call('nnex_ml_call', builder, module.sent())).good();
  return reply.many(() => ({ address: reply.u32(), ...reply.descriptor() }));
}
export function call(module: Module, builder: number, method: string, args: readonly Plain[]): OperandAt[] {
  module.writer.text(method).u32(args.length);
  for (const arg of args) module.writer.value(arg);
  return calls(module, builder);
}
/** `address`: of the bytes; a context that only checks counts them. */
export function constant(module: Module, builder: number, descriptor: OperandDescriptor, data: Bytes, address: number): OperandAt {
  module.writer.text('constant').u32(2).descriptorValue(descriptor).bufferValue(data, address);
  return calls(module, builder)[0]!;
}
export function constantTensor(module: Module, builder: number, tensor: number): OperandAt {
  module.writer.text('constant').u32(1).tensorValue(tensor);
  return calls(module, builder)[0]!;
}

/** Writes objects by name. */
function writeNamed(module: Module, named: Named<{ address: number }>): void {
  module.writer.u32(named.length);
  for (const [name, { address }] of named) module.writer.text(name).u32(address);
}
/** Each of these gives what starts a request. */
export function build(module: Module, builder: number, outputs: Named<{ address: number }>) {
  return (request: number): void => {
    writeNamed(module, outputs);
    module.call('nnex_ml_build', builder, request, module.sent());
  };
}
export function tensor(module: Module, context: number, descriptor: TensorDescriptor) {
  return (request: number): void => {
    const given = module.writer.descriptor(descriptor) && module.sent();
    module.call('nnex_ml_tensor', context, request, given, Number(descriptor.readable), Number(descriptor.writable));
  };
}
export function constantTensorOf(module: Module, context: number, descriptor: OperandDescriptor, data: Bytes, address: number) {
  return (request: number): void => {
    const given = module.writer.descriptor(descriptor).buffer(data.kind, address, data.bytes.length) && module.sent();
    module.call('nnex_ml_constant_tensor', context, request, given);
  };
}
export function read(module: Module, context: number, tensor: number, short?: number) {
  return (request: number): void => {
    if (short === undefined) module.call('nnex_ml_read', context, tensor, request);
    else module.call('nnex_ml_read_short', context, tensor, request, short);
  };
}
export function write(module: Module, context: number, tensor: number, data: Bytes, address: number): void {
  const given = module.writer.buffer(data.kind, address, data.bytes.length) && module.sent();
  module.reply(module.call('nnex_ml_write', context, tensor, given)).good();
}
export function dispatch(module: Module, context: number, graph: number, inputs: Named<{ address: number }>, outputs: Named<{ address: number }>): void {
  writeNamed(module, inputs);
  writeNamed(module, outputs);
  module.reply(module.call('nnex_ml_dispatch', context, graph, module.sent())).good();
}

/** The address that a reply begins with. */
export const address = (reply: Reader): number => reply.u32();
