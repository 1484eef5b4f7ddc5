// Calls that nobody should make: the specification's exception, never a crash; and memory, workers and the end of the process.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import vm from 'node:vm';
import { Worker } from 'node:worker_threads';
import 'nnex/polyfill';
import { cases, endOf, workplace } from './hostile/reentrant.mjs';
import { hostile, isFair } from './hostile/values.mjs';

const { ml } = navigator;
const slow = Number(process.env.NNEX_SLOW ?? 1) > 1 && 'it takes too long under sanitizers';
const scope = { ml, MLGraphBuilder };
const path = (name) => fileURLToPath(new URL(`hostile/${name}`, import.meta.url));
const float32 = (...shape) => ({ dataType: 'float32', shape });
const tick = () => new Promise(setImmediate);

/** A Node process of its own: {code, signal, stdout, stderr}. */
const node = (args, seconds = 300) => new Promise((resolve) => {
  const child = spawn(process.execPath, args, { cwd: path('.'), stdio: ['ignore', 'pipe', 'pipe'] });
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (text) => { out[name] += text; });
  const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
  child.on('close', (code, signal) => {
    clearTimeout(timer);
    resolve({ code, signal, ...out });
  });
});
const script = (text, ...flags) => node([...flags, '--input-type=module', '-e', `import 'nnex/polyfill';\nconst { ml } = navigator;\n${text}`], 60);
const ends = async (running, stdout) => assert.deepEqual({ ...await running }, { code: 0, signal: null, stdout, stderr: '' });

/** Live objects of each interface, and arguments that each of their methods takes. */
async function targets() {
  const { context, graph, builder, a, b, input, output } = await workplace(scope);
  const sample = { ML: ml, MLContext: context, MLGraphBuilder: builder, MLOperand: a, MLTensor: input, MLGraph: graph };
  const given = {
    createContext: [{}], dispatch: [graph, { x: input }, { y: output }], createTensor: [float32(2)], createConstantTensor: [float32(4), new Float32Array(4)],
    readTensor: [input, new Float32Array(4)], writeTensor: [input, new Float32Array(4)], input: ['n', float32(2)], constant: [float32(4), new Float32Array(4)], build: [{ y: a }],
  };
  return { sample, given: (method, n) => [...(given[method] ?? [a, b, a, b, a]).slice(0, n)], objects: [context, graph, builder, a, input, ml] };
}

test('a worker that is ended, and the end of the process, do not wait for a dispatch', { skip: slow || process.env.NNEX_ENGINE === 'wasm' }, async () => {
  const long = `
    const context = await ml.createContext(), builder = new MLGraphBuilder(context), type = { dataType: 'float32', shape: [1024, 1024] };
    const x = builder.input('x', type);
    let y = x;
    for (let i = 0; i < 400; ++i) y = builder.tanh(builder.matmul(y, x));
    const graph = await builder.build({ y }), from = await context.createTensor(type), to = await context.createTensor({ ...type, readable: true });
    context.dispatch(graph, { x: from }, { y: to });
    await new Promise((resolve) => setTimeout(resolve, 50));`;  // it runs by then
  const quick = (began) => assert.ok(performance.now() - began < 4000, `${performance.now() - began} ms`);  // all of it takes 10 s or more
  const worker = new Worker(`import('nnex/polyfill').then(async () => { const { ml } = navigator; ${long} require('node:worker_threads').parentPort.postMessage(0); });`, { eval: true });
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  const began = performance.now();
  await worker.terminate();
  quick(began);
  const process = performance.now();
  await ends(script(long), '');
  quick(process);
});

test('every wrong value at every argument of every method', async () => {
  let { sample, given, objects } = await targets();
  const wrong = [];
  let calls = 0;
  const judge = (what) => (error) => { if (!isFair(error)) wrong.push(`${what}: ${error?.stack ?? error}`); };
  for (const name of Object.keys(sample))
    for (const [method, { value: f, get }] of Object.entries(Object.getOwnPropertyDescriptors(globalThis[name].prototype))) {
      if (method === 'constructor') continue;
      if (method === 'destroy') ({ sample, given, objects } = await targets());
      const most = Math.max((f ?? get).length + 2, 3);
      const values = { ...hostile, ...Object.fromEntries(objects.map((object) => [String(object), () => object])) };
      for (const [kind, value] of Object.entries(values))
        for (let at = -1; at < most; ++at) {
          const args = given(method, most);
          let self = sample[name];
          if (at === -1) self = value();
          else args[at] = value();
          try {
            ++calls;
            const result = Reflect.apply(f ?? get, self, args);
            if (result instanceof Promise) await Promise.race([result.catch(judge(`${name}.${method}, argument ${at} is ${kind}`)), tick()]);
          } catch (error) {
            judge(`${name}.${method}, argument ${at} is ${kind}`)(error);
          }
          if (method === 'build' || (method === 'destroy' && at >= 0)) ({ sample, given, objects } = await targets());
        }
    }
  for (const value of Object.values(hostile))
    for (const args of [[value()], [value(), value()]])
      try {
        ++calls;
        Reflect.construct(MLGraphBuilder, args);
        wrong.push('MLGraphBuilder was made of nothing');
      } catch (error) {
        if (!(error instanceof TypeError)) wrong.push(`new MLGraphBuilder: ${error}`);
      }
  assert.ok(calls > 20000, `only ${calls} calls`);
  assert.deepEqual(wrong, []);
});

for (const [name, [needed, run]] of Object.entries(cases))
  test(`while arguments are converted: ${name}`, async () => assert.equal(await endOf(async () => run(await workplace(scope), scope)), needed));

test('values of another realm', async () => {
  const { context, builder, input, graph, output } = await workplace(scope);
  const there = (text, names = {}) => vm.runInNewContext(text, names);
  assert.deepEqual(builder.input('one', there("({ dataType: 'float32', shape: [2, 3] })")).shape, [2, 3]);
  assert.equal(builder.constant(float32(2), there('new Float32Array([1, 2])')).dataType, 'float32');
  assert.equal(builder.constant(float32(2), there('new ArrayBuffer(8)')).dataType, 'float32');
  assert.equal(builder.constant(float32(2), there('new Float32Array(new SharedArrayBuffer(8))')).dataType, 'float32');
  context.writeTensor(input, there('new Float32Array([1, -2, 3, 4])'));
  context.dispatch(graph, there('({ x })', { x: input }), there('({ y })', { y: output }));
  const into = there('new Float32Array(4)');
  await context.readTensor(output, into);
  assert.deepEqual([...into], [1, 0, 3, 4]);
  assert.throws(() => builder.add(there('({})'), input), TypeError);
  assert.throws(() => there('add.call({}, 1, 2)', { add: builder.add }), TypeError);
  assert.throws(() => builder.constant(float32(2), there('({ byteLength: 8 })')), TypeError);
});

test('shapes and numbers beyond all limits', async () => {
  const { context, builder, a } = await workplace(scope);
  const large = 2 ** 32 - 1;
  for (const shape of [[2 ** 32], [-1], [large, large, large], [2 ** 31], [65536, 65536], new Array(10000).fill(1), new Array(10000).fill(large)]) {
    assert.throws(() => builder.input('i', { dataType: 'float32', shape }), TypeError);
    assert.throws(() => builder.reshape(a, shape), TypeError);
    assert.throws(() => builder.expand(a, shape), TypeError);
    await assert.rejects(context.createTensor({ dataType: 'float32', shape }), TypeError);
  }
  assert.throws(() => builder.tile(a, [large, large]), TypeError);
  assert.throws(() => builder.concat(new Array(20000).fill(a), 0), TypeError);
  assert.throws(() => builder.split(a, new Array(20000).fill(1)), TypeError);
  assert.throws(() => builder.pad(a, [large, large], [large, large]), TypeError);
  assert.throws(() => builder.slice(a, [large, large], [large, large]), TypeError);
  assert.throws(() => builder.softmax(a, large), TypeError);
  assert.throws(() => builder.resample2d(builder.input('r', float32(1, 1, 2, 2)), { scales: [3e38, 3e38] }), TypeError);
  for (const value of [1n << 100000n, -(1n << 100000n)])
    for (const type of ['int64', 'uint64', 'int8']) {
      const end = await endOf(() => builder.constant(type, value));
      assert.ok(end === 'success' || end === 'TypeError', end);
    }
});

test('a buffer detached while it is being read into', async () => {
  const { context, output } = await workplace(scope);
  const into = new Float32Array(4);
  const read = context.readTensor(output, into);
  structuredClone(into.buffer, { transfer: [into.buffer] });
  await assert.rejects(read, TypeError);
});

test('data are copied at the call', async () => {
  const { context, input } = await workplace(scope);
  const data = Float32Array.of(1, 2, 3, 4);
  context.writeTensor(input, data);
  data.fill(9);
  structuredClone(data.buffer, { transfer: [data.buffer] });
  assert.deepEqual([...new Float32Array(await context.readTensor(input))], [1, 2, 3, 4]);
});

test('a context that is destroyed: what is pending rejects, lost resolves, all later calls are refused', async () => {
  const { context, graph, input, output, builder, a } = await workplace(scope);
  const fresh = new MLGraphBuilder(context);
  const pending = { read: context.readTensor(output), into: context.readTensor(output, new Float32Array(4)), tensor: context.createTensor(float32(2)),
    build: fresh.build({ y: fresh.relu(fresh.input('x', float32(2))) }) };
  let lost = false;
  context.lost.then(() => { lost = true; });
  await null;
  assert.equal(lost, false);
  assert.equal(context.destroy(), undefined);
  for (const [name, promise] of Object.entries(pending)) await assert.rejects(promise, { name: 'InvalidStateError' }, name);
  const info = await context.lost;
  assert.equal(Object.getPrototypeOf(info), Object.prototype);
  assert.deepEqual(Object.keys(info), ['message']);
  assert.equal(typeof info.message, 'string');
  context.destroy();
  for (const call of [() => builder.relu(a), () => new MLGraphBuilder(context), () => context.dispatch(graph, { x: input }, { y: output }), () => context.writeTensor(input, new Float32Array(4))])
    assert.throws(call, { name: 'InvalidStateError' });
  for (const call of [() => context.readTensor(output), () => context.createTensor(float32(2)), () => context.createConstantTensor(float32(1), new Float32Array(1)), () => builder.build({ y: a })])
    await assert.rejects(call(), { name: 'InvalidStateError' });
});

test('a tensor that is destroyed rejects its reads, and not those of others', async () => {
  const { context, input, output } = await workplace(scope);
  const one = context.readTensor(input), other = context.readTensor(output);
  input.destroy();
  input.destroy();
  await assert.rejects(one, { name: 'InvalidStateError' });
  assert.equal((await other).byteLength, 16);
  await assert.rejects(context.readTensor(input), { name: 'InvalidStateError' });
  assert.throws(() => context.writeTensor(input, new Float32Array(4)), { name: 'InvalidStateError' });
});

test('work that is queued is done, whatever is destroyed after it', async () => {
  const { context, graph, input, output } = await workplace(scope);
  context.writeTensor(input, Float32Array.of(-1, 2, -3, 4));
  context.dispatch(graph, { x: input }, { y: output });
  graph.destroy();
  input.destroy();
  assert.deepEqual([...new Float32Array(await context.readTensor(output))], [0, 2, 0, 4]);
});

test('promises settle in the order of their calls', async () => {
  const { context, output, input } = await workplace(scope);
  const order = [];
  const calls = [context.readTensor(output), context.createTensor(float32(1)), context.readTensor(input), context.createTensor(float32(2)), context.readTensor(output)];
  await Promise.all(calls.map((promise, i) => promise.then(() => order.push(i))));
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
});

test("what the page does to JavaScript's own objects does not reach the package", { skip: slow }, async () => {
  const { code, stdout, stderr } = await node([path('patched.mjs')]);
  assert.equal(code, 0, stderr);
  const { patched, reached } = JSON.parse(stdout);
  assert.ok(patched > 400, `only ${patched} functions were replaced`);
  assert.deepEqual(reached, []);
});

test('memory returns', { skip: slow, timeout: 600_000 }, async (t) => {
  const { code, stdout, stderr } = await node(['--expose-gc', path('memory.mjs')], 550);
  assert.equal(code, 0, stderr);
  const figures = Object.entries(JSON.parse(stdout));
  t.diagnostic(figures.map(([name, [before, after]]) => `${name}: ${(before / 1e6).toFixed(1)} MB, then ${(after / 1e6).toFixed(1)} MB`).join('; '));
  const grown = figures.filter(([, [before, after]]) => after > before * 1.05)
    .map(([name, [before, after]]) => `${name}: ${Math.round(before / 1e6)} MB, then ${Math.round(after / 1e6)} MB`);
  assert.deepEqual(grown, []);
});

const limitable = process.platform === 'linux' && spawnSync('bash', ['-c', 'ulimit -v 100000000']).status === 0;
const short = slow || (process.env.NNEX_ENGINE === 'wasm' && 'WebAssembly asks for much address space') || (!limitable && 'the shell cannot limit the address space');
/** hostile/short.mjs with so many MB more than it has before its call. */
async function shortOf(what, more) {
  const measured = await node([path('short.mjs'), what, 'measure']);
  const limit = Number(measured.stdout) + more * 1000;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', 'ulimit -v "$0" && exec "$@"', String(limit), process.execPath, path('short.mjs'), what], { encoding: 'utf8', cwd: path('.') });
  assert.equal(status, 0, `${what}, ${more} MB: ${stderr.slice(-2000)}`);
  return stdout.trim().split('\n')[1];
}

test('where memory is short calls are rejected', { skip: short, timeout: 300_000 }, async () => {
  const unread = 'DOMException; UnknownError; 0; readTensor: no memory for 400000000 bytes';
  assert.equal(await shortOf('read', 200), unread);
  assert.equal(await shortOf('read', 600), unread);  // for the copy of the bytes, not for the ArrayBuffer
  assert.equal(await shortOf('readInto', 200), unread);
  assert.match(await shortOf('run', 200), /^NnexError; NnexError; limit reached; no memory for a tensor u8\[400000000\]/);
  assert.equal(await shortOf('load', 200), 'NnexError; NnexError; limit reached; no memory for 400000000 bytes');
});

const workers = slow ? '8' : '64';
test(`${workers} workers are ended under load`, { timeout: 600_000 }, () => ends(node([path('workers.mjs'), workers], 550), `${workers} workers, true`));

test('the process ends when nothing is pending', async () => {
  await ends(script(`const context = await ml.createContext(); await context.createTensor({ dataType: 'float32', shape: [1] }); context.lost.then(() => {}); console.log('done');`), 'done\n');
});

test('the process waits for what is pending', async () => {
  await ends(script(`ml.createContext().then((context) => context.createTensor({ dataType: 'float32', shape: [1], readable: true }).then((tensor) =>
    context.readTensor(tensor).then((bytes) => console.log(bytes.byteLength))));`), '4\n');
});

test('process.exit in the middle of work', async () => {
  const work = `const context = await ml.createContext(); const builder = new MLGraphBuilder(context); const d = { dataType: 'float32', shape: [512, 512] };
    let y = builder.input('x', d); for (let i = 0; i < 8; ++i) y = builder.matmul(y, y);
    const graph = await builder.build({ y }); const x = await context.createTensor(d), out = await context.createTensor({ ...d, readable: true });
    for (let i = 0; i < 20; ++i) context.dispatch(graph, { x }, { y: out });
    context.readTensor(out);`;
  await ends(script(`${work} process.exit(0);`), '');
  const thrown = await script(`${work} throw new Error('of the page');`);
  assert.equal(thrown.code, 1);
  assert.match(thrown.stderr, /of the page/);
});
