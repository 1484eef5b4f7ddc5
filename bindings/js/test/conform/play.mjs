// Plays stored WebNN cases on whatever navigator.ml the host has. The same module in Node and in browsers.
import { playGraph, Unsupported } from './graph.mjs';
import { playTrace } from './trace.mjs';

/** A case whose promises never settle must not hold up the others. */
function within(seconds, promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, seconds * 1000, `no answer in ${seconds} seconds`); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** One case: {verdict: passed, failed or skipped, reason}. */
export async function play(one, seconds = 60) {
  const host = {
    ml: globalThis.navigator?.ml, MLGraphBuilder: globalThis.MLGraphBuilder, MLOperand: globalThis.MLOperand,
  };
  try {
    if (!host.ml || !host.MLGraphBuilder || !host.MLOperand) throw new Error('navigator.ml, MLGraphBuilder or MLOperand is missing');
    const playing = one.graph ? playGraph(one, host) : one.steps ? playTrace(one, host) : 'neither a graph nor steps';
    const reason = await within(seconds, Promise.resolve(playing));
    return { verdict: reason ? 'failed' : 'passed', reason };
  } catch (error) {
    if (error instanceof Unsupported) return { verdict: 'skipped', reason: error.message };
    return { verdict: 'failed', reason: `${error?.name}: ${error?.message ?? error}` };
  }
}

/** Cases one after the other. */
export async function playAll(cases) {
  const verdicts = [];
  for (const one of cases) verdicts.push(await play(one));
  return verdicts;
}
