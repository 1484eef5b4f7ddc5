/** JavaScript's own functions as they were when this module was loaded: what a page does to them later changes nothing here. */

const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
export { apply, construct, defineProperty, getOwnPropertyDescriptor, ownKeys, setPrototypeOf };
export const { create, freeze } = Object;
export const { fround, trunc } = Math;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const { isFinite: finite } = Number;
export const iterator: typeof Symbol.iterator = Symbol.iterator;
export const toStringTag: typeof Symbol.toStringTag = Symbol.toStringTag;
export { TypeError_ as TypeError, Promise_ as Promise, Uint8Array_ as Uint8Array, Error_ as Error };

const TypeError_ = TypeError;
const Error_ = Error;
const Promise_ = Promise;
const Uint8Array_ = Uint8Array;

const { bind, call } = Function.prototype;
const bound = bind.bind(call) as (method: unknown) => unknown;
/** A method as a function of its object. */
function uncurried<A extends unknown[], R>(method: (...args: A) => R): (self: unknown, ...args: A) => R {
  return bound(method) as (self: unknown, ...args: A) => R;
}
function getter<R>(prototype: object, name: PropertyKey): (self: unknown) => R {
  const get = getOwnPropertyDescriptor(prototype, name)?.get;
  if (!get) throw new TypeError_(`this JavaScript lacks the getter of ${String(name)}`);
  return uncurried(get as () => R);
}

const typedArray = getPrototypeOf(Uint8Array_.prototype) as object;
/** "Uint8Array", ...; undefined for what is no typed array. */
export const viewName = getter<string | undefined>(typedArray, toStringTag);
export const viewBuffer = getter<ArrayBufferLike>(typedArray, 'buffer');
export const viewOffset = getter<number>(typedArray, 'byteOffset');
export const viewLength = getter<number>(typedArray, 'byteLength');
export const dataViewBuffer = getter<ArrayBufferLike>(DataView.prototype, 'buffer');
export const dataViewOffset = getter<number>(DataView.prototype, 'byteOffset');
export const dataViewLength = getter<number>(DataView.prototype, 'byteLength');
export const bufferLength = getter<number>(ArrayBuffer.prototype, 'byteLength');
const ArrayBuffer_ = ArrayBuffer;
const { prototype: bufferPrototype } = ArrayBuffer_;
/** The bytes in a buffer of this realm: the addon may be of another one. */
export function bufferOfHere(bytes: ArrayBuffer): ArrayBuffer {
  if (getPrototypeOf(bytes) === bufferPrototype) return bytes;
  const copy = new ArrayBuffer_(bufferLength(bytes));
  setBytes(new Uint8Array_(copy), new Uint8Array_(bytes));
  return copy;
}
const absent = (): never => {
  throw new TypeError_('there are no such buffers');
};
/** Pages that are not isolated have shared buffers under no name, those of WebAssembly; older hosts have no resizable buffers. */
const Shared = typeof SharedArrayBuffer === 'function' ? SharedArrayBuffer : sharedOfWebAssembly();
function sharedOfWebAssembly(): typeof SharedArrayBuffer | undefined {
  try {
    const { constructor } = new WebAssembly.Memory({ shared: true, initial: 0, maximum: 0 }).buffer;
    return constructor === ArrayBuffer ? undefined : constructor as typeof SharedArrayBuffer;
  } catch {
    return undefined;
  }
}
export const sharedLength: (self: unknown) => number = Shared ? getter<number>(Shared.prototype, 'byteLength') : absent;
const optional = (prototype: object | undefined, name: string): ((self: unknown) => boolean) =>
  prototype && getOwnPropertyDescriptor(prototype, name) ? getter<boolean>(prototype, name) : () => false;
export const resizable = optional(ArrayBuffer.prototype, 'resizable');
export const growable = optional(Shared?.prototype, 'growable');

export const setBytes = uncurried(Uint8Array_.prototype.set as (from: Uint8Array) => void);
export const isEnumerable = uncurried(Object.prototype.propertyIsEnumerable);

const promiseThen = uncurried(Promise_.prototype.then as (...f: unknown[]) => Promise<unknown>);
/** Calls back when a promise of our own is settled, by way of nothing that a page can replace. */
export function whenSettled<T>(promise: Promise<T>, resolved: (value: T) => void, rejected: (reason: unknown) => void): void {
  defineProperty(promise, 'constructor', { __proto__: null, value: undefined } as PropertyDescriptor);
  promiseThen(promise, resolved, rejected);
}

const charCodeAt = uncurried(String.prototype.charCodeAt);
const slice = uncurried(String.prototype.slice);
/** USVString: lone surrogates become U+FFFD. */
export function wellFormed(text: string): string {
  let out = '';
  let from = 0;
  for (let i = 0; i < text.length; ++i) {
    const unit = charCodeAt(text, i);
    if (unit < 0xd800 || unit > 0xdfff) continue;
    if (unit < 0xdc00 && i + 1 < text.length && (charCodeAt(text, i + 1) & 0xfc00) === 0xdc00) {
      ++i;
      continue;
    }
    out += `${slice(text, from, i)}\ufffd`;
    from = i + 1;
  }
  return from === 0 ? text : out + slice(text, from);
}
