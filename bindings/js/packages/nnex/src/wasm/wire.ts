/** The streams of bytes between JavaScript and the module: bindings/js/wasm/wire.h says what they hold. */

import type { Bytes, OperandDescriptor, Plain } from '../engine.js';
import type { Remedy } from '../model/error.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const enum Kind { undefined, null, no, yes, number, bigint, text, operand, tensor, buffer, list, numbers, dictionary, object }

/** In the order of nnex::ml::BufferKind. */
const bufferKinds = ['ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array',
  'Uint16Array', 'Int32Array', 'Uint32Array', 'BigInt64Array', 'BigUint64Array', 'Float16Array', 'Float32Array', 'Float64Array'];

/** What fails with the name that the specification gives it. */
export function namedError(name: string, message: string): Error {
  const error = name === 'TypeError' ? new TypeError(message) : new Error(message);
  error.name = name;
  return error;
}

type ArrayType = new (buffer: ArrayBuffer) => ArrayBufferView;
/** Those that a reply has, where bufferKinds has their names. */
const arrayTypes: readonly (ArrayType | undefined)[] = [undefined, undefined, undefined, Int8Array, Uint8Array, undefined, Int16Array,
  Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array, undefined, Float32Array, Float64Array];

/** The error of a call on models, with the members of `NativeError`. */
export function modelError(code: string, where: string, detail: string, tasks: readonly string[] = [], remedies: readonly Remedy[] = []): Error {
  return Object.assign(new Error(detail), { code, where, detail, tasks, remedies });
}

/** A page has none to write. */
export function noFiles(): Error {
  const detail = 'convert: a page has no files; needed a call without a path, whose answer is the files';
  return modelError('unsupported', '', detail);
}

/** Bytes in the heap, among values. */
export class Lent {
  constructor(readonly address: number, readonly length: number) {}
}

/** Writes what an export reads. */
export class Writer {
  private bytes = new Uint8Array(1024);
  private view = new DataView(this.bytes.buffer);
  private size = 0;

  /** What was written, until the next use. */
  done(): Uint8Array {
    const all = this.bytes.subarray(0, this.size);
    this.size = 0;
    return all;
  }
  u8(v: number): this {
    const at = this.room(1);
    this.bytes[at] = v;
    return this;
  }
  u32(v: number): this {
    const at = this.room(4);
    this.view.setUint32(at, v, true);
    return this;
  }
  f64(v: number): this {
    const at = this.room(8);
    this.view.setFloat64(at, v, true);
    return this;
  }
  text(s: string): this {
    const at = this.room(4 + 3 * s.length);
    const { written } = encoder.encodeInto(s, this.bytes.subarray(at + 4));
    this.view.setUint32(at, written, true);
    this.size = at + 4 + written;
    return this;
  }
  descriptor(d: OperandDescriptor): this {
    this.text(d.dataType).u32(d.shape.length);
    for (const extent of d.shape) this.u32(extent);
    return this;
  }
  buffer(kind: string, address: number, length: number): this {
    return this.u8(bufferKinds.indexOf(kind)).u32(address).u32(length);
  }
  bufferValue(data: Bytes, address: number): this {
    return this.u8(Kind.buffer).buffer(data.kind, address, data.bytes.length);
  }
  descriptorValue(d: OperandDescriptor): this {
    return this.u8(Kind.dictionary).u32(2).text('dataType').value(d.dataType).text('shape').value(d.shape);
  }
  tensorValue(address: number): this {
    return this.u8(Kind.tensor).u32(address);
  }
  value(v: Plain): this {
    switch (typeof v) {
      case 'undefined': return this.u8(Kind.undefined);
      case 'boolean': return this.u8(v ? Kind.yes : Kind.no);
      case 'number': return this.u8(Kind.number).f64(v);
      case 'bigint': return this.u8(Kind.bigint).text(String(v));
      case 'string': return this.u8(Kind.text).text(v);
    }
    if (v === null) return this.u8(Kind.null);
    if (Array.isArray(v)) return this.list(v);
    if (v instanceof Lent) return this.u8(Kind.buffer).buffer('Uint8Array', v.address, v.length);
    if (isOperand(v)) return this.u8(Kind.operand).u32(v.address);
    const members = Object.entries(v as Record<string, Plain>);
    this.u8(Kind.dictionary).u32(members.length);
    for (const [name, member] of members) this.text(name).value(member);
    return this;
  }

  private list(items: readonly Plain[]): this {
    if (items.length > 0 && items.every((item) => typeof item === 'number')) {
      this.u8(Kind.numbers).u32(items.length);
      for (const item of items) this.f64(item as number);
      return this;
    }
    this.u8(Kind.list).u32(items.length);
    for (const item of items) this.value(item);
    return this;
  }
  private room(size: number): number {
    const at = this.size;
    if (at + size > this.bytes.length) {
      const bytes = new Uint8Array(2 * (at + size));
      bytes.set(this.bytes.subarray(0, at));
      this.bytes = bytes;
      this.view = new DataView(bytes.buffer);
    }
    this.size = at + size;
    return at;
  }
}

/** What stands for an operand in a stream. */
export interface Addressed {
  readonly native: 'operand';
  readonly address: number;
}
function isOperand(v: object): v is Addressed {
  return (v as Partial<Addressed>).native === 'operand';
}

/** Reads what an export gave. */
export class Reader {
  private at = 0;
  private readonly view: DataView;
  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(): number {
    return this.view.getUint8(this.at++);
  }
  u32(): number {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }
  f64(): number {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }
  text(): string {
    const size = this.u32();
    this.at += size;
    return decoder.decode(this.bytes.subarray(this.at - size, this.at));
  }
  descriptor(): OperandDescriptor {
    const dataType = this.text();
    return { dataType, shape: this.many(() => this.u32()) };
  }
  many<T>(item: () => T): T[] {
    return Array.from({ length: this.u32() }, item);
  }
  /** Throws the error of a reply that is one. */
  good(): this {
    const how = this.u8();
    if (how === 0) return this;
    const name = this.text();
    if (how === 1) throw namedError(name, this.text());
    const where = this.text(), detail = this.text(), tasks = this.many(() => this.text());
    throw modelError(name, where, detail, tasks, this.many(() => ({ option: this.text(), value: this.text(), effect: this.text() })));
  }
  /** A plain value. `copy`: bytes of the heap. */
  value(copy: (address: number, size: number) => ArrayBuffer): unknown {
    const kind = this.u8();
    switch (kind) {
      case Kind.null: return null;
      case Kind.no: return false;
      case Kind.yes: return true;
      case Kind.number: return this.f64();
      case Kind.text: return this.text();
      case Kind.buffer: {
        const type = arrayTypes[this.u8()]!;
        return new type(copy(this.u32(), this.u32()));
      }
      case Kind.list: return this.many(() => this.value(copy));
      case Kind.object: {
        const made: Record<string, unknown> = {};
        while (this.u8() === 1) {
          const name = this.text();
          made[name] = this.value(copy);
        }
        return made;
      }
    }
    throw new Error(`no value is of kind ${kind}`);
  }
}

