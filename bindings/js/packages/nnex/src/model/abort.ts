/** Calls that an AbortSignal ends. */

export interface AbortOptions {
  /** Ends the call: its promise is rejected at once with the signal's reason. What the engine has begun it may finish, for nobody. */
  signal?: AbortSignal;
}

/** By signal: one listener for all calls, as more than ten would be warned of. */
const stops = new WeakMap<AbortSignal, { readonly calls: Set<() => void>; readonly listener: () => void }>();

/** Calls `stop` when the signal says so; gives what forgets it. */
function onAbort(signal: AbortSignal, stop: () => void): () => void {
  let heard = stops.get(signal);
  if (!heard) {
    const calls = new Set<() => void>();
    heard = { calls, listener: () => { for (const call of calls) call(); } };
    stops.set(signal, heard);
    signal.addEventListener('abort', heard.listener, { once: true });
  }
  const { calls, listener } = heard;
  calls.add(stop);
  return () => {
    calls.delete(stop);
    if (calls.size > 0) return;
    signal.removeEventListener('abort', listener);
    stops.delete(signal);
  };
}

/** Rejected as soon as the signal says so, whatever the engine still does. */
export async function abortable<T>(signal: AbortSignal, cancel: () => void, start: () => T | Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let forget: () => void;
  const aborted = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => {
      cancel();
      reject(signal.reason);
    });
  });
  try {
    return await Promise.race([start(), aborted]);
  } finally {
    forget!();
  }
}

/** What setTimeout() can wait for; longer limits are the engine's alone. */
const kLongestTimer = 2 ** 31 - 1;

/** Rejected with `late()` after so many milliseconds, whatever the engine still does. What is done within the call has no timer. */
export async function timely<T>(milliseconds: number, late: () => unknown, cancel: () => void, start: () => T | Promise<T>): Promise<T> {
  const started = start();
  if (milliseconds > kLongestTimer || typeof (started as Partial<Promise<T>>).then !== 'function') return started;
  let timer: ReturnType<typeof setTimeout>;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      cancel();
      reject(late());
    }, milliseconds);
  });
  try {
    return await Promise.race([started, over]);
  } finally {
    clearTimeout(timer!);
  }
}
