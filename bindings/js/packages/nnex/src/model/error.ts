import { tagOf } from './found.js';
import type { NativeError } from './native.js';

/** What kind of failure an NnexError is. */
export type ErrorCode =
  /** The caller's request makes no sense: a wrong shape, an unknown name. */
  | 'invalid argument'
  /** The file or graph breaks a rule of its standard. */
  | 'invalid model'
  /** The file cannot be opened, read or written. */
  | 'unreadable'
  /** Legal, but nnex lacks it. */
  | 'unsupported'
  /** A limit on memory, size, depth or steps was reached. */
  | 'limit reached'
  /** The data of this run made an operator fail. */
  | 'fault'
  /** The run was told to stop, or its time was over. */
  | 'cancelled'
  /** A mistake in nnex. */
  | 'internal error';

/** An option that would let a refused call pass. */
export interface Remedy {
  /** "nnefDialect". */
  readonly option: string;
  /** What it has to be: "tract", "true"; empty: the caller knows what fits. */
  readonly value: string;
  /** What it does then: "takes it as one". */
  readonly effect: string;
}

/** A sentence with its remedies behind it; behind one of several lines each has a line. */
function withRemedies(sentence: string, remedies: readonly Remedy[]): string {
  const between = sentence.includes('\n') ? '\n  ' : '; ';
  return sentence + remedies.map(({ option, value, effect }) => `${between}option ${option}${value && ` = ${value}`} ${effect}`).join('');
}

const kBrand = Symbol.for('nnex.NnexError');

/** Every failure of models: its message has the place, what was found and needed, what would help, and what was being done. */
export class NnexError extends Error {
  readonly code: ErrorCode;
  /** The place, as "model.onnx: node 'conv1' (Conv), attribute 'pads'"; empty when nobody knew. */
  readonly where: string;
  /** The sentence alone: what was found, what was needed. */
  readonly detail: string;
  /** While doing what, inner tasks first. */
  readonly tasks: readonly string[];
  /** Options that would let the call pass. */
  readonly remedies: readonly Remedy[];

  constructor(code: ErrorCode, detail: string, where = '', tasks: readonly string[] = [], remedies: readonly Remedy[] = []) {
    super((where ? `${where}: ` : '') + withRemedies(detail, remedies) + tasks.map((task) => `\n  while ${task}`).join(''));
    this.code = code;
    this.where = where;
    this.detail = detail;
    this.tasks = tasks;
    this.remedies = remedies;
  }

  /** All of it, for logs: of an error's own JSON leaves out the message. */
  toJSON(): object {
    const { name, message, code, where, detail, tasks, remedies } = this;
    return { name, message, code, where, detail, tasks, remedies };
  }

  static {
    Object.defineProperty(this, 'name', { value: 'NnexError' });  // bundles of a class that names itself call it otherwise
    Object.defineProperty(this.prototype, 'name', { value: 'NnexError', configurable: true, writable: true });
    Object.defineProperty(this.prototype, kBrand, { value: true });
  }
  /** Also what another entry of the package, or the same by require(), has thrown: each has a class of its own. */
  static override [Symbol.hasInstance](x: unknown): boolean {
    if (this !== NnexError) return Function.prototype[Symbol.hasInstance].call(this, x);
    return typeof x === 'object' && x !== null && kBrand in x;
  }
}

/** An engine's error as users see it, and that of an array without memory; anything else as it is. Errors of the addon may be of another realm. */
export function shown(error: unknown): unknown {
  if (tagOf(error) !== 'Error') return error;
  const { name, message } = error as Error;
  if (name === 'RangeError' && /allocation failed/i.test(message)) return new NnexError('limit reached', `there is no memory left: ${message}`);
  if (error instanceof NnexError || !('tasks' in (error as Error))) return error;
  const { code, detail, where, tasks, remedies } = error as NativeError;
  return new NnexError(code as ErrorCode, detail, where, tasks, remedies);
}

/** What a call gives, with errors as users see them. */
export async function settled<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw shown(error);
  }
}
