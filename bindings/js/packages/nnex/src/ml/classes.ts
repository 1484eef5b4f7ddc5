/** Interface objects as Web IDL describes them: names, lengths, order and attributes of properties, overloads, brands. */
import type { Brand } from './brand.js';
import { type Convert, type Converters, isForeign, isObject, room, wrong } from './convert.js';
import { Promise, TypeError, create, defineProperty, setPrototypeOf, toStringTag } from './intrinsics.js';
import type { ArgumentRow, InterfaceRow, OverloadRow, TypeRow } from './table.js';

/** What an operation does with its converted arguments; `overload` counts from 0 in the order of the definition. */
export type Operation<State> = (state: State, args: readonly unknown[], overload: number) => unknown;

export interface Implementation<State> {
  readonly attributes: Readonly<Record<string, (state: State) => unknown>>;
  /** An operation by its name. */
  operation(name: string): Operation<State>;
  /** The state behind a new object. */
  construct?(args: readonly unknown[]): State;
}

interface Argument {
  readonly type: TypeRow;
  readonly convert: Convert;
  readonly where: string;
}
interface Overload {
  readonly arguments: readonly Argument[];
  readonly needed: number;
}

/** Of the rows from `first` on, those that must be given. */
function neededOf(args: readonly unknown[], first: number): number {
  let count = 0;
  for (let i = first; i < args.length; ++i) if (!(args[i] as ArgumentRow)[2]) ++count;
  return count;
}

/** Like everything that is made by a first call, without what a page may have replaced: methods of arrays, and iterators. */
function overloadOf(args: readonly unknown[], first: number, where: string, converters: Converters): Overload {
  const list = room(args.length - first) as Argument[];
  for (let i = first; i < args.length; ++i) {
    const row = args[i] as ArgumentRow;
    list[i - first] = { type: row[1], convert: converters.of(row[1]), where: `${where}: ${row[0]}` };
  }
  return { arguments: list, needed: neededOf(args, first) };
}

function overloadsOf(rows: readonly OverloadRow[], where: string, converters: Converters): readonly Overload[] {
  const out = room(rows.length) as Overload[];
  for (let i = 0; i < rows.length; ++i) out[i] = overloadOf(rows[i]!, 1, where, converters);
  return out;
}

/** The arguments converted, in order; absent optional ones too, so that defaults are there. */
function converted(overload: Overload, args: readonly unknown[]): unknown[] {
  const list = overload.arguments;
  const out = room(list.length);
  for (let i = 0; i < list.length; ++i) {
    const { convert, where } = list[i]!;
    out[i] = convert(args[i], where);
  }
  return out;
}

/** "1 argument", "2 arguments". */
const counted = (count: number): string => `${count} argument${count === 1 ? '' : 's'}`;

/** Whether the first argument says that this overload is meant (Web IDL's overload resolution, for the types that occur). */
function takes(type: TypeRow, value: unknown, converters: Converters): boolean {
  if (typeof type !== 'string') return type[0] === 'foreign' && isForeign(type[1] as string, value);
  if (converters.isDictionary(type)) return value === undefined || value === null || isObject(value);
  return !isObject(value);
}

const fits = ({ arguments: list, needed }: Overload, count: number): boolean => needed <= count && count <= list.length;

function resolve(overloads: readonly Overload[], args: readonly unknown[], where: string, converters: Converters): number {
  let most = 0;
  let least = Infinity;
  for (const { arguments: list, needed } of overloads) {
    if (list.length > most) most = list.length;
    if (needed < least) least = needed;
  }
  const count = args.length < most ? args.length : most;
  if (count < least) throw new TypeError(`${where}: found ${counted(count)}; needed ${least}`);
  // Those that take so many; of several, the one whose first argument this is, other specifications' objects before dictionaries.
  let only = -1;
  let several = false;
  for (let i = 0; i < overloads.length; ++i) {
    if (!fits(overloads[i]!, count)) continue;
    several = only >= 0;
    only = i;
  }
  if (!several) return only;
  for (let i = overloads.length; i-- > 0; )
    if (fits(overloads[i]!, count) && takes(overloads[i]!.arguments[0]!.type, args[0], converters)) return i;
  let needed = '';
  for (let i = 0; i < overloads.length; ++i) {
    if (!fits(overloads[i]!, count)) continue;
    const { type } = overloads[i]!.arguments[0]!;
    needed += `${needed && ' or '}${typeof type === 'string' ? type : type[1] as string}`;
  }
  throw wrong(where, args[0], needed);
}

function defineMethod(prototype: object, name: string, length: number, call: (self: unknown, args: readonly unknown[]) => unknown): void {
  const method = {
    [name](this: unknown, ...args: unknown[]): unknown {
      return call(this, args);
    },
  }[name]!;
  defineProperty(method, 'length', { value: length, configurable: true });
  defineProperty(prototype, name, { value: method, writable: true, enumerable: true, configurable: true });
}

function defineAttribute(prototype: object, name: string, get: (self: unknown) => unknown): void {
  const holder = {
    get [name](): unknown {
      return get(this);
    },
  };
  const getter = Object.getOwnPropertyDescriptor(holder, name)!.get!;
  defineProperty(prototype, name, { get: getter, enumerable: true, configurable: true });
}

const returnsPromise = (type: TypeRow): boolean => typeof type !== 'string' && type[0] === 'Promise';

function defineOperation<State>(
  prototype: object, interfaceName: string, name: string, rows: readonly OverloadRow[], brand: Brand<State>, run: Operation<State>,
  converters: Converters,
): void {
  const where = `${interfaceName}.${name}`;
  let overloads: readonly Overload[] | undefined; // made by the first call: there are many operations, and few are called
  const call = (self: unknown, args: readonly unknown[]): unknown => {
    const state = brand.of(self);
    if (state === undefined) throw new TypeError(`${where}: Illegal invocation`);
    overloads ??= overloadsOf(rows, where, converters);
    const at = overloads.length === 1 ? 0 : resolve(overloads, args, where, converters);
    const overload = overloads[at]!;
    if (args.length < overload.needed) throw new TypeError(`${where}: found ${counted(args.length)}; needed ${overload.needed}`);
    return run(state, converted(overload, args), at);
  };
  let length = Infinity;
  for (const row of rows) length = Math.min(length, neededOf(row, 1));
  if (!returnsPromise(rows[0]![0])) return defineMethod(prototype, name, length, call);
  defineMethod(prototype, name, length, (self, args) => {
    try {
      return call(self, args);
    } catch (e) {
      return new Promise((_, reject) => reject(e));
    }
  });
}

/** The interface object; `made` gives an object of it to those inside. */
export interface Defined<State> {
  readonly interfaceObject: Function;
  made(state: State): object;
}

export function define<State>(
  name: string, row: InterfaceRow, brand: Brand<State>, implementation: Implementation<State>, converters: Converters,
): Defined<State> {
  const parameters = row.constructor_;
  const needed = parameters ? neededOf(parameters, 0) : 0;
  const overload = parameters && overloadOf(parameters, 0, name, converters);
  // A derived class, whose constructor makes its object only when the arguments are converted.
  const interfaceObject = {
    [name]: class extends Object {
      // @ts-expect-error: it gives an object of its own and so needs no super()
      constructor(...args: unknown[]) {
        if (!overload || !implementation.construct) throw new TypeError('Illegal constructor');
        if (args.length < needed) throw new TypeError(`${name}: found ${counted(args.length)}; needed ${needed}`);
        const values = converted(overload, args);
        const given = (new.target as { prototype: unknown }).prototype;
        const object = create(isObject(given) ? given : prototype) as object;
        brand.stamp(object, implementation.construct(values));
        return object;
      }
    },
  }[name] as unknown as Function;
  const prototype = interfaceObject.prototype as object;
  setPrototypeOf(interfaceObject, Function.prototype);
  defineProperty(interfaceObject, 'length', { value: needed, configurable: true });
  Reflect.deleteProperty(prototype, 'constructor');

  for (const attribute of Object.keys(row.attributes)) {
    const get = implementation.attributes[attribute];
    if (!get) throw new TypeError(`${name}.${attribute}: nothing implements it`);
    const promise = returnsPromise(row.attributes[attribute]!);
    defineAttribute(prototype, attribute, self => {
      const state = brand.of(self);
      if (state !== undefined) return get(state);
      const error = new TypeError(`${name}.${attribute}: Illegal invocation`);
      if (promise) return new Promise((_, reject) => reject(error));
      throw error;
    });
  }
  for (const operation of Object.keys(row.operations))
    defineOperation(prototype, name, operation, row.operations[operation]!, brand, implementation.operation(operation), converters);
  defineProperty(prototype, 'constructor', { value: interfaceObject, writable: true, enumerable: false, configurable: true });
  defineProperty(prototype, toStringTag, { value: name, writable: false, enumerable: false, configurable: true });

  return {
    interfaceObject,
    made(state) {
      const object = create(prototype) as object;
      brand.stamp(object, state);
      return object;
    },
  };
}
