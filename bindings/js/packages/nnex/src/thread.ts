/** In Node: a worker that is a thread of the WebAssembly module. */
import { workerData } from 'node:worker_threads';
import { type Begin, runThread } from './wasm/threads.js';

runThread(workerData as Begin);
