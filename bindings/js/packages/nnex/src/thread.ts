/** In Node: a worker that is a thread of the WebAssembly module, or has an engine. */
import { parentPort, workerData } from 'node:worker_threads';
import { LocalEngine } from './wasm/local.js';
import { LocalModels } from './wasm/models.js';
import type { EngineBegin } from './wasm/node-worker.js';
import { type Command, Remote } from './wasm/remote.js';
import { type Begin, runThread } from './wasm/threads.js';

function serve({ code, now, answered }: EngineBegin): void {
  const tell = (): void => {
    Atomics.store(answered, 0, 1);
    Atomics.notify(answered, 0);
  };
  process.once('exit', tell);  // who waits is not left waiting
  const remote = new Remote(new LocalEngine(() => Promise.resolve(code), ''), () => LocalModels.make(code), (answer, transfer, waited) => {
    if (!waited) return parentPort!.postMessage(answer, transfer);
    now.postMessage(answer, transfer);
    tell();
  });
  parentPort!.on('message', (commands: readonly Command[]) => remote.receive(commands));
}

const given = workerData as Begin | EngineBegin;
if ('code' in given) serve(given);
else runThread(given);
