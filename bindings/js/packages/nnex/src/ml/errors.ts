/** Errors of an engine as those that the specification names. */
import { Error, TypeError, defineProperty } from './intrinsics.js';

/** Older hosts and bare shells lack DOMException: an Error of the same name stands for it there. */
const Exception: new (message: string, name: string) => unknown =
  typeof DOMException === 'function'
    ? DOMException
    : class extends Error {
        constructor(message: string, name: string) {
          super(message);
          defineProperty(this, 'name', { value: name, writable: true, configurable: true });
        }
      };

export function exception(name: string, message: string): unknown {
  return name === 'TypeError' ? new TypeError(message) : new Exception(message, name);
}

/** What a page gets for what an engine threw, or rejected with: errors, of whichever realm the engine was loaded in. */
export function translated(e: unknown): unknown {
  if (typeof e !== 'object' || e === null || e instanceof TypeError) return e;
  const { name, message } = e as Error;
  return name === 'Error' || name === 'RangeError' ? exception('UnknownError', message) : exception(name, message);
}

/** What a page gets where nothing computes: by this name others know that the interface has nothing behind it. */
export function noEngine(why: unknown): unknown {
  return exception('NotSupportedError', why instanceof Error ? why.message : 'ML.createContext: no engine is to be had');
}
