// The timeout of runs: kept from the call on, by runs that wait and by nodes that take longer, and named by the error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'nnex';
import { onnx } from './support/onnx-writer.mjs';

const slow = Number(process.env.NNEX_SLOW ?? 1) > 1 && 'it takes too long under sanitizers';
const here = process.env.NNEX_ENGINE === 'wasm' && 'WebAssembly runs on its caller in Node';

/** One node alone, of some hundred milliseconds. */
const product = onnx({ inputs: { x: ['float32', ['N', 'N']] }, outputs: { y: ['float32', ['N', 'N']] }, nodes: [{ op: 'MatMul', in: ['x', 'x'], out: ['y'] }] });
const large = { x: { data: new Float32Array(2000 * 2000).fill(1e-3), dims: [2000, 2000] } }, small = { x: { data: [3], dims: [1, 1] } };
const late = (milliseconds) => ({ name: 'NnexError', code: 'cancelled', message: `the run passed its timeout of ${milliseconds} ms` });

test('a run is rejected at its time, whatever is computed then', { skip: here || slow }, async () => {
  const model = await load(product, { threads: 1 });
  const other = model.session({ threads: 1 });
  const events = [];
  const seen = (name, promise) => promise.then(() => events.push(name), (error) => events.push(`${name}: ${error.message}`));
  await Promise.all([
    seen('before', other.run(large)), seen('node', model.run(large, { timeout: 5 })), seen('waiting', other.run(small, { timeout: 7 })),
    seen('with a signal', other.run(small, { timeout: 9, signal: new AbortController().signal })), seen('profiled', other.profile(small, { timeout: 11 })),
  ]);
  assert.deepEqual(events, [
    'node: the run passed its timeout of 5 ms', 'waiting: the run passed its timeout of 7 ms', 'with a signal: the run passed its timeout of 9 ms',
    'profiled: the run passed its timeout of 11 ms', 'before',
  ]);
  assert.deepEqual([...(await model.run(small, { timeout: 1e9 })).y.data], [9]);  // the sessions go on
  assert.deepEqual([...(await other.run(small)).y.data], [9]);
});

test('errors of a timeout name it, those of a signal are its own', { skip: here || slow }, async () => {
  const model = await load(product, { threads: 1 });
  assert.throws(() => model.runSync(large, { timeout: 0.25 }), late(0.25));
  await assert.rejects(model.run(large, { timeout: 2, borrow: true }), late(2));
  await assert.rejects(model.run(large, { timeout: 0 }), late(0));
  await assert.rejects(model.run(large, { timeout: 600_000, signal: AbortSignal.timeout(2) }), { name: 'TimeoutError' });
  assert.deepEqual([...model.session().runSync(small, { timeout: 2 ** 40 }).y.data], [9]);
});

test('what is timed and done leaves no timer behind', { skip: slow }, async () => {
  const model = await load(product);
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  for (const thread of ['auto', 'auto', 'always']) await model.run(small, { timeout: 600_000, thread });
  await assert.rejects(model.run({ x: [1, 2] }, { timeout: 600_000 }), { code: 'invalid argument' });
  const after = timers();
  assert.ok(after <= before, `${after} timers, ${before} before`);
});
