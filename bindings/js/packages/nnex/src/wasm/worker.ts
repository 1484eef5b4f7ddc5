/** The worker of a page: an engine behind messages. The first message is the module's code, compiled by the page. */

import { LocalEngine } from './local.js';
import { LocalModels } from './models.js';
import { Remote, type Answer, type Command } from './remote.js';

interface End {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
}

/** `end`: the other side. Gives what each message is for. */
export function serve(end: End): (message: unknown) => void {
  let remote: Remote | undefined;
  const say = (answer: Answer, transfer: ArrayBuffer[]): void => end.postMessage(answer, transfer);
  return (message) => {
    if (remote) return remote.receive(message as Command[]);
    const code = message as WebAssembly.Module;
    remote = new Remote(new LocalEngine(() => Promise.resolve(code), ''), () => LocalModels.make(code), say);
  };
}

const scope = globalThis as unknown as End & { onmessage?: (event: MessageEvent) => void; WorkerGlobalScope?: unknown };
if (scope.WorkerGlobalScope) {
  const receive = serve(scope);
  scope.onmessage = (event) => receive(event.data);
}
