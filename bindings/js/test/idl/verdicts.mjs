// Checks by name, and what they found wrong.

const textOf = (value) => {
  try {
    return typeof value === 'function' ? `function ${value.name}` : typeof value === 'bigint' ? `${value}n`
      : typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
};

export const fail = (text) => { throw new Error(text); };
export const same = (found, needed, what = '') => {
  if (!Object.is(found, needed)) fail(`${what && `${what}: `}found ${textOf(found)}; needed ${textOf(needed)}`);
};
export const sameList = (found, needed, what = '') => same(found.map(String).join(', '), needed.map(String).join(', '), what);

/** What a call throws; an error where it throws nothing. */
export function thrownBy(f) {
  let value;
  try {
    value = f();
  } catch (error) {
    return error;
  }
  return fail(`found ${textOf(value)}; needed an exception`);
}

export const isTypeError = (error, what = '') => {
  if (!(error instanceof TypeError)) fail(`${what && `${what}: `}found ${error?.name ?? textOf(error)} (${error?.message ?? ''}); needed TypeError`);
};
export const throwsTypeError = (f, what) => isTypeError(thrownBy(f), what);

/** What a call's promise rejects with; an error where the call throws, gives no promise, or succeeds. */
export async function rejectionOf(f) {
  let promise;
  try {
    promise = f();
  } catch (error) {
    return fail(`it threw ${error?.name}: ${error?.message}; needed a promise that rejects`);
  }
  if (!(promise instanceof Promise)) fail(`found ${textOf(promise)}; needed a promise`);
  return promise.then((value) => fail(`found success (${textOf(value)}); needed a rejection`), (error) => error);
}

export class Verdicts {
  count = 0;
  wrong = [];

  check(name, f) {
    ++this.count;
    try {
      f();
    } catch (error) {
      this.wrong.push(`${name}: ${error?.message ?? textOf(error)}`);
    }
  }

  async later(name, f) {
    ++this.count;
    try {
      await f();
    } catch (error) {
      this.wrong.push(`${name}: ${error?.message ?? textOf(error)}`);
    }
  }
}
