/**
 * The worker of a page: an engine behind messages, or a thread of one. The first message is the module's code, compiled by the page, or what a
 * thread needs. Threads are begun by the page, which has time for it while the engine works; and Firefox stops for good, now and then, in a worker
 * that begins another in the middle of a call.
 */

import type { Code } from './code.js';
import { LocalEngine } from './local.js';
import { LocalModels } from './models.js';
import { Remote, type Answer, type Command } from './remote.js';
import { type Begin, type BeginMessage, type Spawn, runThread } from './threads.js';

interface End {
  postMessage(message: unknown, transfer?: ArrayBuffer[]): void;
}

/** What an engine asks of its page for itself. */
export type ThreadCall = { say: 'begin'; id: number; begin: Begin } | { say: 'end'; id: number };

/** `end`: the other side. Gives what each message is for. */
export function serve(end: End): (message: unknown) => void {
  let remote: Remote | undefined, lastId = 0;
  const say = (answer: Answer, transfer: ArrayBuffer[]): void => end.postMessage(answer, transfer);
  const tell = (call: ThreadCall): void => end.postMessage(call);
  const spawn: Spawn = (begin) => {
    const id = ++lastId;
    tell({ say: 'begin', id, begin });
    return () => tell({ say: 'end', id });
  };
  return (message) => {
    if (remote) return remote.receive(message as Command[]);
    if ('thread' in (message as object)) return runThread((message as BeginMessage).thread);
    const code: Code = { ...(message as Code), spawn };
    remote = new Remote(new LocalEngine(() => Promise.resolve(code), ''), () => LocalModels.make(code), say);
  };
}

const scope = globalThis as unknown as End & { onmessage?: (event: MessageEvent) => void; WorkerGlobalScope?: unknown };
if (scope.WorkerGlobalScope) {
  const receive = serve(scope);
  scope.onmessage = (event) => receive(event.data);
}
