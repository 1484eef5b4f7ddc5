// Hosts node and wasm: a Node process of its own, so that an engine that falls does not take the runner with it.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('child.mjs', import.meta.url));

/** `threads`: at most; 0: as many as there are. {run(file, indices) -> verdicts, close()}; run rejects when the process ends, or has no answer within the time. */
export async function nodeHost({ engine, threads, polyfill }) {
  const env = { ...process.env, NNEX_ENGINE: engine, ...(threads ? { NNEX_THREADS: String(threads) } : {}) };
  const running = fork(child, [polyfill ?? 'nnex/polyfill'], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = new Promise((resolve) => {
    running.once('exit', (code, signal) => resolve(new Error(`the process ended ${signal ? `by ${signal}` : `with exit code ${code}`}`)));
  });
  return {
    async run(file, indices, seconds) {
      let timer, take;
      const answer = new Promise((resolve) => { take = resolve; });
      const late = new Promise((resolve) => { timer = setTimeout(resolve, seconds * 1000, new Error(`no answer in ${seconds} seconds`)); });
      running.once('message', take);
      running.send({ file, indices }, () => {});  // a process that has ended says so itself
      const got = await Promise.race([answer, ended, late]).finally(() => clearTimeout(timer));
      running.off('message', take);
      if (got instanceof Error) throw got;
      return got;
    },
    async close() {
      running.kill('SIGKILL');
      await ended;
    },
  };
}
