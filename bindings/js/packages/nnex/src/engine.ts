/**
 * What computes: the same small interface of the Node addon and of the WebAssembly module, below the classes that users see.
 *
 * Values that come here are converted already (numbers, strings, arrays and null-prototype objects with the names of the
 * specification, every default filled in, bytes as Uint8Array), so that no call of an engine runs code of the page. Objects of an
 * engine are opaque to the layer above; garbage collection frees what they hold. What fails throws, or rejects with, an Error whose
 * `name` is the specification's ("TypeError", "InvalidStateError", ...): the layer above makes the DOMException of that name.
 *
 * Calls that give no promise check everything there and then, in the specification's order: an engine whose work is done elsewhere
 * (a worker of a page) still validates on the caller's thread. Promises are settled in the order of the context's timeline.
 */

/** A WebNN number that has been converted: what `MLNumber` gives. */
export type Num = number | bigint;

/** A converted argument of an operation. Operands are the engine's own objects. */
export type Plain = undefined | null | boolean | Num | string | NativeOperand | readonly Plain[] | PlainObject;
/** A converted dictionary: no prototype, members that are present alone. */
export interface PlainObject {
  readonly [name: string]: Plain;
}

export interface OperandDescriptor {
  readonly dataType: string;
  readonly shape: readonly number[];
}
export interface TensorDescriptor extends OperandDescriptor {
  readonly readable: boolean;
  readonly writable: boolean;
}

/** Bytes of the page's, to be copied before the call returns. */
export interface Bytes {
  /** "ArrayBuffer", "SharedArrayBuffer", "DataView" or the name of a typed array: constants accept the view of their type alone. */
  readonly kind: string;
  /** Over an ArrayBuffer or a SharedArrayBuffer; empty where the page's buffer is detached. */
  readonly bytes: Uint8Array;
}

export type NativeOperand = OperandDescriptor;

export interface NativeTensor {
  destroy(): void;
}

export interface NativeGraph {
  destroy(): void;
}

/** Names in the order of the page's record, no name twice. */
export type Named<T> = readonly (readonly [name: string, value: T])[];

export interface NativeBuilder {
  input(name: string, descriptor: OperandDescriptor): NativeOperand;
  constant(descriptor: OperandDescriptor, data: Bytes): NativeOperand;
  scalar(dataType: string, value: Num): NativeOperand;
  constantTensor(tensor: NativeTensor): NativeOperand;
  /** Any operation by its name in the specification, with its arguments in order. */
  call(operation: string, args: readonly Plain[]): NativeOperand[];
  build(outputs: Named<NativeOperand>): Promise<NativeGraph>;
}

export interface NativeContext {
  readonly accelerated: boolean;
  /** MLOpSupportLimits, made anew at each call; the layer above puts the members in the order of the interface. */
  limits(): PlainObject;
  /** Calls `listener` once, when the context is lost or destroyed. Called at most once, at the beginning. */
  onLost(listener: (message: string) => void): void;
  /** InvalidStateError when the context is lost. */
  builder(): NativeBuilder;
  tensor(descriptor: TensorDescriptor): Promise<NativeTensor>;
  constantTensor(descriptor: OperandDescriptor, data: Bytes): Promise<NativeTensor>;
  /**
   * The bytes as they are when the work queued before is done. `room`: bytes that the caller has for them; fewer than the tensor's
   * are a TypeError, after all other reasons to reject.
   */
  read(tensor: NativeTensor, room?: number): Promise<ArrayBuffer>;
  write(tensor: NativeTensor, data: Bytes): void;
  dispatch(graph: NativeGraph, inputs: Named<NativeTensor>, outputs: Named<NativeTensor>): void;
  destroy(): void;
}

export interface ContextOptions {
  readonly powerPreference: string;
  readonly accelerated: boolean;
}

export interface Engine {
  /** "addon" or "wasm". */
  readonly kind: string;
  readonly version: string;
  createContext(options: ContextOptions): Promise<NativeContext>;
}
