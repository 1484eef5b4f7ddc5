// The workers in which nnex computes. Nothing inside of them can end a run in the middle of a node; ending them can.
import { configure } from './nnex/browser.js';

const alive = new Set();
class EngineWorker extends Worker {
  constructor() {
    super(new URL('./nnex/worker.js', import.meta.url), { type: 'module' });
    alive.add(this);
  }
  terminate() {
    alive.delete(this);
    super.terminate();
  }
}

/** An engine of its own for whatever is asked from now on. */
const renew = () => configure({ worker: () => new EngineWorker() });
renew();

/** Ends whatever is being computed: promises of it are never settled. Models and contexts that were made before are of no use. */
export function endEngine() {
  for (const worker of alive) worker.terminate();
  renew();
}
