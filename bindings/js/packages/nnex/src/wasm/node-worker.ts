/** A worker of Node's that has an engine: what it computes leaves the event loop alone. */

import { builtin } from './builtin.js';
import type { Code } from './code.js';
import type { Port } from './link.js';
import type { Answer } from './remote.js';

/** What such a worker begins with. */
export interface EngineBegin {
  readonly code: Code;
  /** Where answers go that are waited for. */
  readonly now: import('node:worker_threads').MessagePort;
  /** One number: not 0 when such an answer is there. */
  readonly answered: Int32Array;
}

/** `script`: thread.mjs. It keeps the process for as long as an answer is awaited, and ends with it. */
export async function portInNode(code: Code, script: string | URL): Promise<Port> {
  const { MessageChannel, Worker, receiveMessageOnPort } = await builtin('worker_threads');
  const { port1: here, port2: there } = new MessageChannel(), answered = new Int32Array(new SharedArrayBuffer(4));
  const workerData: EngineBegin = { code, now: there, answered };
  const worker = new Worker(script, { workerData, transferList: [there], execArgv: [], name: 'nnex' });
  worker.unref();
  let fail: ((message: string) => void) | undefined, early: string | undefined, over = false;  // what goes wrong before somebody listens
  const failed = (message: string): void => {
    if (over) return;
    over = true;
    early = message;
    fail?.(message);
  };
  worker.on('error', ({ message }: Error) => failed(message));
  worker.on('messageerror', () => {
    failed('a message was lost');
    void worker.terminate();
  });
  worker.on('exit', (status) => failed(`it ended with ${status}`));
  return {
    post: (commands, transfer) => worker.postMessage(commands, transfer),
    listen: (hear, lost) => {
      worker.on('message', hear);
      worker.unref();  // a listener holds the process
      fail = lost;
      if (early !== undefined) lost(early);
    },
    await: (yes) => (yes ? worker.ref() : worker.unref()),
    now: (command, transfer) => {
      Atomics.store(answered, 0, 0);
      worker.postMessage([command], transfer);
      Atomics.wait(answered, 0, 0);
      const answer = receiveMessageOnPort(here) as { message: Answer } | undefined;
      return answer?.message ?? { say: 'failed', request: 0, name: 'InvalidStateError', message: 'the worker ended' };
    },
    end: () => {
      over = true;
      void worker.terminate();
    },
  };
}
