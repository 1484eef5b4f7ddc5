// Which WebAssembly module serves a page, and what it says of it, in a headless browser (BROWSER: chromium or firefox): isolated or not, with
// workers, with workers that may have none of their own, and without. The answers are the same bytes everywhere.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus } from 'node:os';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launch } from './conform/browser.mjs';
import { serve } from './conform/server.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const dist = file('../packages/nnex/dist/');
const name = process.env.BROWSER ?? 'chromium';
const skip = !existsSync(`${dist}nnex.wasm`) && 'the WebAssembly module is not built';

const html = `<!doctype html><meta charset="utf-8"><title>nnex</title>
<script type="module">
import { configure, convert, load, ml, MLGraphBuilder } from '/nnex/browser.js';
import { onnx } from '/support/onnx-writer.mjs';
window.begun = window.made = window.ended = window.asked = window.refused = 0;
const Own = Worker;
window.Worker = class extends Own {
  constructor(script, options) {
    ++asked;
    if (refused-- > 0) throw new Error('planted');
    super(script, options);
    window.last = this;
    ++made;
    if (options.name === 'nnex thread') ++begun;
  }
  terminate() {
    ++ended;
    super.terminate();
  }
};
const numbers = (count) => Float32Array.from({ length: count }, (_, i) => (i * 48271 % 1000) / 1000 - 0.5);
const dims = [256, 256];
const network = onnx({ inputs: { a: ['float32', dims] }, outputs: { y: ['float32', dims] }, initializers: { w: { type: 'float32', dims, data: numbers(65536) } },
  nodes: [{ op: 'MatMul', in: ['a', 'w'], out: ['p'] }, { op: 'Softmax', in: ['p'], out: ['y'] }] });
const digest = async (bytes) => Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))).join();
window.load = load;
window.say = (options) => {
  if (options.worker) options.worker = new URL(options.worker, location.href).href;
  configure(options);
};
window.models = async (runs) => {
  const model = await load(network);
  let answer;
  for (let run = 0; run < runs; ++run) answer = await model.run({ a: numbers(65536) });
  model.dispose();
  return digest(answer.y.data);
};
window.contexts = async (runs) => {
  const context = await ml.createContext(), builder = new MLGraphBuilder(context);
  const d = { dataType: 'float32', shape: dims };
  const a = builder.input('a', d), w = builder.constant(d, numbers(65536));
  const graph = await builder.build({ y: builder.softmax(builder.matmul(a, w), 1) });
  const input = await context.createTensor({ ...d, writable: true }), output = await context.createTensor({ ...d, readable: true });
  context.writeTensor(input, numbers(65536));
  let answer;
  for (let run = 0; run < runs; ++run) {
    context.dispatch(graph, { a: input }, { y: output });
    answer = await context.readTensor(output);
  }
  context.destroy();
  return digest(answer);
};
window.refusals = async () => {
  const why = (promise) => promise.then(() => 'it was done', (error) => error instanceof DOMException ? error.name : error.code);
  const stop = new AbortController(), loading = load(network, { signal: stop.signal }), late = load(network, { signal: stop.signal });
  stop.abort();
  return [await why(loading), await why(late), await why(convert(network, 'x.onnx')), (await convert(network)).size, (await load(network)).inputs[0].name];
};
const scaled = (by) => onnx({ inputs: { a: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, initializers: { w: { type: 'float32', dims: [], data: Float32Array.of(by) } },
  nodes: [{ op: 'Mul', in: ['a', 'w'], out: ['y'] }] });
/** What models give that are loaded side by side when the worker of earlier ones has ended. */
window.sideBySide = async () => {
  (await load(scaled(1))).dispose();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const before = made, models = await Promise.all([2, 3, 4].map((by) => load(scaled(by))));
  const answers = await Promise.all(models.map(async (model) => (await model.run({ a: [1, 10] })).y.data.join()));
  for (const model of models) model.dispose();
  return { answers, workers: made - before };
};
/** What models answer of which one was in a worker that failed. */
window.failing = async () => {
  const gone = await load(scaled(2));
  last.onerror({ message: 'planted' });
  const there = await load(scaled(3)), why = await gone.run({ a: [1, 10] }).then(({ y }) => y.data.join(), ({ message }) => message);
  gone.dispose();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  return [why, (await there.run({ a: [1, 10] })).y.data.join()];
};
/** Where models or contexts are that are made one after the other, while so many workers are refused: 'w' in a worker, 'p' on the page's thread. */
window.places = async (part, refuse, count) => {
  const make = part === 'models' ? () => load(scaled(2)) : () => ml.createContext(), all = [];
  let places = '';
  asked = 0;
  refused = refuse;
  for (let i = 0; i < count; ++i) {
    const workers = made;
    all.push(await make());
    places += made > workers ? 'w' : 'p';
  }
  const tries = asked;
  refused = 0;
  if (part === 'models') for (const model of all) if ((await model.run({ a: [1, 10] })).y.data.join() !== '2,20') places += '!';
  return { places, tries };
};
/** Whether a model is read when the worker of earlier ones has ended and no other is to be had. */
window.late = async () => {
  (await load(scaled(1))).dispose();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  refused = 1;
  return (await (await load(scaled(2))).run({ a: [1, 10] })).y.data.join();
};
/** How many workers contexts have that are made side by side. */
window.together = async () => {
  const before = made, contexts = await Promise.all([1, 2, 3].map(() => ml.createContext()));
  for (const context of contexts) context.destroy();
  return made - before;
};
/** What runs answer whose inputs change behind the call. */
window.changed = async () => {
  const model = await load(scaled(2)), answers = [];
  const memory = [new ArrayBuffer(8), new ArrayBuffer(1 << 20), ...(self.crossOriginIsolated ? [new SharedArrayBuffer(8)] : [])];
  for (const buffer of memory) {
    const a = new Float32Array(buffer, buffer.byteLength - 8);
    a.set([1, 10]);
    const run = model.run({ a });
    a.fill(0);
    answers.push((await run).y.data.join());
  }
  model.dispose();
  return answers;
};
/** A model that counts its runs, and one whose run takes long. */
const counter = () => {
  const zero = new Uint8Array(132), view = new DataView(zero.buffer);
  zero.set([0x4e, 0xef, 1, 0]);
  for (const [at, word] of [[4, 4], [8, 1], [12, 1], [44, 32]]) view.setUint32(at, word, true);
  const text = "version 1.0; graph counter(x) -> (y) { x = external<scalar>(shape = [1]); n = variable<scalar>(shape = [1], label = 'n'); y = add(n, x); m = update(n, y); }";
  return load({ 'graph.nnef': new TextEncoder().encode(text), 'n.dat': zero });
};
const slow = () => {
  const square = [1024, 1024], nodes = [1, 2, 3, 4, 5, 6].map((i) => ({ op: 'MatMul', in: [i === 1 ? 'a' : 't' + (i - 1), 'a'], out: [i === 6 ? 'y' : 't' + i] }));
  return load(onnx({ inputs: { a: ['float32', square] }, outputs: { y: ['float32', square] }, nodes }));
};
/** Of runs that wait behind a long one, and are told to end by their signals or timeouts meanwhile: how they end, and how many are done with two that are not told, whether they came before or after. */
window.backlog = async () => {
  const long = await slow(), counted = await counter(), stop = new AbortController(), x = [1];
  const end = (call) => call.then(() => 'it was done', ({ name, code }) => code === 'cancelled' ? code : name);
  const first = long.run({ a: new Float32Array(1024 * 1024) }), own = counted.run({ x });
  const ends = [1, 2, 3, 4].map((i) => end(counted.run({ x }, i === 4 ? { timeout: 1 } : { signal: stop.signal })));
  const later = counted.run({ x });
  await new Promise((resolve) => setTimeout(resolve, 20));
  ends.push(end(counted.run({ x }, { signal: stop.signal })));
  stop.abort();
  await first;
  return [(await own).y.data.join(), (await later).y.data.join(), (await counted.run({ x })).y.data.join(), ...await Promise.all(ends)];
};
/** How loading ends that is aborted while the answer is awaited. */
window.download = async (address) => {
  const stop = new AbortController(), call = load(address, { signal: stop.signal }).catch(({ name }) => name);
  await new Promise((resolve) => setTimeout(resolve, 200));
  stop.abort();
  return call;
};
/** What those ask again who were told that the module cannot be had. */
window.again = async () => {
  const { fetch } = self, why = (promise) => promise.then(() => 'it was done', ({ name, message }) => [name, message].join(': '));
  self.fetch = async () => new Response('', { status: 503, statusText: 'Service Unavailable' });
  const first = [await why(load(network)), await why(ml.createContext())];
  self.fetch = fetch;
  return { first, then: [await why(load(network)), await why(ml.createContext())], alive: made - ended };
};
window.ready = true;
</script>`;
/** A page of scripts that are no modules, which lie at `place`. */
const classic = (place, script) => `<!doctype html><meta charset="utf-8"><title>nnex</title>
<script src="${place}/${script}"></script>
<script>window.defined = [typeof navigator.ml, typeof MLGraphBuilder, typeof nnex.load, typeof nnex.ready].join();</script>
<script type="module">
import { onnx } from '/support/onnx-writer.mjs';
const dims = [2], network = onnx({ inputs: { a: ['float32', dims] }, outputs: { y: ['float32', dims] }, nodes: [{ op: 'Neg', in: ['a'], out: ['y'] }] });
window.answers = async () => {
  const model = await nnex.load(URL.createObjectURL(new Blob([network]))), { y } = await model.run({ a: [1, 2] });
  const context = await nnex.ml.createContext(), builder = new nnex.MLGraphBuilder(context), d = { dataType: 'float32', shape: dims };
  const graph = await builder.build({ y: builder.neg(builder.input('a', d)) });
  const input = await context.createTensor({ ...d, writable: true }), output = await context.createTensor({ ...d, readable: true });
  context.writeTensor(input, Float32Array.of(1, 2));
  context.dispatch(graph, { a: input }, { y: output });
  return [y.data.join(), new Float32Array(await context.readTensor(output)).join()];
};
window.ready = true;
</script>`;
/** A page whose ML has no context to give: what the polyfill's script and the one after it do with it. */
const empty = `<!doctype html><meta charset="utf-8"><title>nnex</title>
<script>
Object.defineProperty(Navigator.prototype, 'ml', { value: { createContext: () => new Promise((_, reject) => setTimeout(() => reject(new DOMException('none', 'NotSupportedError')), 200)) }, configurable: true });
window.MLGraphBuilder = class {};
</script>
<script src="/nnex/polyfill.global.js"></script>
<script>
const { ml } = navigator;
ml.createContext().then((context) => new MLGraphBuilder(context).constructor === nnex.MLGraphBuilder && navigator.ml === nnex.ml).then(String, String).then((text) => { window.answered = text; });
window.ready = true;
</script>`;
/** A page of ONNX Runtime's API. */
const runtime = `<!doctype html><meta charset="utf-8"><title>nnex</title>
<script type="importmap">{"imports": {"onnxruntime-common": "/common/index.js"}}</script>
<script type="module">
import { InferenceSession, Tensor } from '/nnex/onnxruntime-browser.js';
import { onnx } from '/support/onnx-writer.mjs';
const network = onnx({ inputs: { a: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Neg', in: ['a'], out: ['y'] }] });
window.profiled = async () => {
  const session = await InferenceSession.create(network, { enableProfiling: true }), { y } = await session.run({ a: new Tensor('float32', [1, 2]) });
  session.endProfiling();
  await session.release();
  return y.data.join();
};
window.ready = true;
</script>`;
/** The page under a Content-Security-Policy. */
const under = (policy) => html.replace('<title>', `<meta http-equiv="Content-Security-Policy" content="${policy}"><title>`);
const roots = new Map([
  ['page.html', { text: html }], ['empty.html', { text: empty }], ['runtime.html', { text: runtime }], ['common', { path: file('../node_modules/onnxruntime-common/dist/esm') }],
  ['trusted.html', { text: under("require-trusted-types-for 'script'; trusted-types nnex") }], ['forbidden.html', { text: under("script-src 'self' 'unsafe-inline'") }], ['nnex', { path: dist }], ['support', { path: file('support') }],
  ['forbid.js', { text: 'delete self.Worker;' }], ['childless.js', { text: "import '/forbid.js';\nimport '/nnex/worker.js';" }],  // in this order
]);

let browser, answer;
const servers = {};
before(async () => {
  if (skip) return;
  browser = await launch(name);
  for (const isolated of [true, false]) servers[isolated] = await serve(roots, { isolated });
  servers.elsewhere = await serve(roots, { shared: true });
  for (const script of ['nnex', 'polyfill'])
    for (const place of ['/nnex', `http://127.0.0.1:${servers.elsewhere.port}/nnex`])
      roots.set(`${script}-${place === '/nnex' ? 'here' : 'elsewhere'}.html`, { text: classic(place, `${script}.global.js`) });
});
after(async () => {
  await browser?.close();
  for (const server of Object.values(servers)) await server.close();
});

/** A page with these options; its lines on the console. */
async function open(isolated, options, path = 'page.html') {
  const page = await browser.newPage(), lines = [], faults = [];
  page.on('console', (message) => lines.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`http://localhost:${servers[isolated].port}/${path}`);
  await page.waitForFunction('window.ready', { timeout: 60_000 });
  if (options) await page.evaluate((given) => say(given), options);
  return { page, lines, faults };
}

const many = Math.min(cpus().length, 8);
const situations = [
  { name: 'isolated', isolated: true, options: {}, line: many > 1 ? `${many} threads, in a worker` : 'one thread (the machine has one processor), in a worker' },
  { name: 'isolated, three threads', isolated: true, options: { threads: 3 }, line: '3 threads, in a worker', begun: 2 },
  { name: 'isolated, one thread', isolated: true, options: { threads: false }, line: 'one thread (as was asked), in a worker', begun: 0 },
  { name: 'not isolated', isolated: false, options: {}, line: 'one thread (the page is not cross-origin isolated), in a worker', begun: 0 },
  { name: 'workers without workers', isolated: true, options: { threads: 2, worker: 'childless.js' }, line: '2 threads, in a worker', begun: 1 },
  { name: 'no worker', isolated: true, options: { threads: 2, worker: false }, line: 'one thread (a page may not wait), on this thread', begun: 0 },
  { name: 'no worker to be found', isolated: true, options: { threads: 2, worker: 'absent.js' }, line: 'one thread (a page may not wait), on this thread' },
];
for (const { name: situation, isolated, options, line, begun } of situations)
  for (const part of ['models', 'contexts'])
    test(`${name}, ${part}: ${situation}`, { skip, timeout: 120_000 }, async () => {
      const { page, lines, faults } = await open(isolated, options);
      const got = await page.evaluate((which) => window[which](10), part);
      answer ??= got;
      assert.equal(got, answer);
      assert.deepEqual(lines.filter((text) => text.includes('WebAssembly')).map((text) => text.replace(/^nnex [\d.]+: WebAssembly with SIMD, /, '')), [line]);
      if (situation !== 'no worker to be found') assert.deepEqual(faults, []);
      if (begun !== undefined) assert.equal(await page.evaluate('begun'), begun);
      await page.close();
    });
for (const worker of [undefined, false])
  test(`${name}: signals end calls, and files are not written, ${worker === false ? 'without' : 'with'} a worker`, { skip, timeout: 120_000 }, async () => {
    const { page } = await open(true, { threads: 1, ...(worker === false ? { worker } : {}) });
    assert.deepEqual(await page.evaluate('refusals()'), ['AbortError', 'AbortError', 'unsupported', 1, 'a']);
    await page.close();
  });

test(`${name}: models that are loaded side by side are in one worker, each its own`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, { threads: 1 });
  assert.deepEqual(await page.evaluate('sideBySide()'), { answers: ['2,20', '3,30', '4,40'], workers: 1 });
  await page.close();
});
test(`${name}: a worker that fails takes its own models along, and no others`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, { threads: 1 });
  assert.deepEqual(await page.evaluate('failing()'), ['the worker failed: planted', '3,30']);
  await page.close();
});
for (const part of ['models', 'contexts']) {
  test(`${name}: ${part} have a worker again after one that was not to be had`, { skip, timeout: 120_000 }, async () => {
    const { page, lines } = await open(true, { threads: 1 });
    assert.deepEqual(await page.evaluate((which) => places(which, 2, 3), part), { places: 'ppw', tries: 3 });
    assert.equal(lines.filter((text) => text.startsWith('nnex: no worker (planted)')).length, 2);
    await page.close();
  });
  test(`${name}: ${part} are on the page's thread where three workers in a row were not to be had, for a while`, { skip, timeout: 120_000 }, async () => {
    const { page, lines } = await open(true, { threads: 1 });
    assert.deepEqual(await page.evaluate((which) => places(which, 5, 5), part), { places: 'ppppp', tries: 3 });
    assert.equal(lines.filter((text) => text.startsWith('nnex: no worker (planted)')).length, 3);
    await page.evaluate('const { now } = performance; performance.now = () => now.call(performance) + 60_000;');
    assert.deepEqual(await page.evaluate((which) => places(which, 0, 1), part), { places: 'w', tries: 1 });
    await page.close();
  });
}
test(`${name}: a model is read where the worker of earlier ones has ended and no other is to be had`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, { threads: 1 });
  assert.equal(await page.evaluate('late()'), '2,20');
  await page.close();
});
test(`${name}: contexts that are made side by side are in one worker`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, { threads: 1 });
  assert.equal(await page.evaluate('together()'), 1);
  await page.close();
});
for (const isolated of [true, false])
  for (const worker of [undefined, false])
    test(`${name}: inputs are copied at the call, ${worker === false ? 'without' : 'with'} a worker, isolated ${isolated}`, { skip, timeout: 120_000 }, async () => {
      const { page } = await open(isolated, { threads: 1, ...(worker === false ? { worker } : {}) });
      assert.deepEqual(await page.evaluate('changed()'), Array(isolated ? 3 : 2).fill('2,20'));
      await page.close();
    });
for (const isolated of [true, false])
  test(`${name}: runs that were aborted before they began are not done, isolated ${isolated}`, { skip, timeout: 120_000 }, async () => {
    const { page } = await open(isolated, { threads: 1 });
    assert.deepEqual(await page.evaluate('backlog()'), ['1', '2', '3', 'AbortError', 'AbortError', 'AbortError', 'cancelled', 'AbortError']);
    await page.close();
  });
test(`${name}: a signal ends the download of a model`, { skip, timeout: 120_000 }, async () => {
  let closed;
  const asked = new Promise((resolve) => { closed = resolve; });
  const silent = createServer((request) => request.on('close', () => closed('closed')));
  await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve));
  try {
    const { page } = await open(false, { threads: 1 });
    assert.equal(await page.evaluate((address) => download(address), `http://localhost:${silent.address().port}/x.onnx`), 'AbortError');
    assert.equal(await Promise.race([asked, setTimeout(10_000, 'it goes on', { ref: false })]), 'closed');
    await page.close();
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
});
test(`${name}: a module that could not be had is asked for again, and works in a worker then`, { skip, timeout: 120_000 }, async () => {
  const { page, lines } = await open(true, { threads: 2 });
  const { first, then, alive } = await page.evaluate('again()');
  assert.match(first[1], /^NotSupportedError: /);
  for (const message of first) assert.match(message, /503 Service Unavailable; needed nnex\.wasm there/);
  assert.deepEqual(then, ['it was done', 'it was done']);
  assert.equal(alive, 2, 'those of the failed calls have ended');
  assert.deepEqual(lines.filter((text) => text.startsWith('nnex: no worker')), []);
  await page.close();
});
test(`${name}: a worker that takes another's place asks the server for no module`, { skip, timeout: 120_000 }, async () => {
  const { page, lines } = await open(true, { threads: 2 });
  const answers = await page.evaluate(async () => {
    await models(1);
    const { fetch } = self;
    self.fetch = () => Promise.reject(new TypeError('the server is gone'));
    say({ threads: 2 });
    const workers = made, answer = await models(1).catch(({ message }) => message);
    self.fetch = fetch;
    return [answer, made > workers];
  });
  assert.deepEqual(answers, [answer, true]);
  assert.deepEqual(lines.filter((text) => text.startsWith('nnex: no worker')), []);
  await page.close();
});
test(`${name}: a page that asks for trusted types has a worker by the policy 'nnex'`, { skip, timeout: 120_000 }, async () => {
  const { page, lines, faults } = await open(true, { threads: 1 }, 'trusted.html');
  assert.equal(await page.evaluate('models(1)'), answer);
  assert.deepEqual([await page.evaluate('made'), faults, lines.filter((text) => text.startsWith('nnex: no worker'))], [1, [], []]);
  await page.close();
});
test(`${name}: a page whose policy forbids WebAssembly is told what it needs`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, { threads: 1 }, 'forbidden.html');
  assert.match(await page.evaluate(() => models(1).catch(({ code, message }) => `${code}: ${message}`)), /^unsupported: .*forbids WebAssembly; needed 'wasm-unsafe-eval' in its script-src$/);
  await page.close();
});
test(`${name}: a string is an address in a page`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, { threads: 1 });
  const why = await page.evaluate(() => load('models/x.onnx').catch(({ message }) => message));
  assert.match(why, /^cannot fetch 'http:.*[/]models[/]x[.]onnx': 404 Not Found$/);
  await page.close();
});
test(`${name}: a signal ends what is fetched`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, { threads: 1 });
  const seen = await page.evaluate(async () => {
    const { fetch } = self, stop = new AbortController();
    let signal;
    self.fetch = (address, options) => {
      if (!String(address).endsWith('x.onnx')) return fetch(address, options);
      ({ signal } = options);
      return new Promise(() => undefined);
    };
    const call = load('models/x.onnx', { signal: stop.signal }).catch((error) => error.name);
    stop.abort();
    self.fetch = fetch;
    return [await call, signal.aborted];
  });
  assert.deepEqual(seen, ['AbortError', true]);
  await page.close();
});
test(`${name}: a page that asks for a profile is told once that there is none`, { skip, timeout: 120_000 }, async () => {
  const { page, lines, faults } = await open(false, undefined, 'runtime.html');
  for (let i = 0; i < 2; ++i) assert.equal(await page.evaluate('profiled()'), '-1,-2');
  assert.deepEqual([lines.filter((text) => text.startsWith('nnex: enableProfiling: a page has no files')).length, faults], [1, []]);
  await page.close();
});
test(`${name}: options that there are not are refused`, { skip, timeout: 120_000 }, async () => {
  const { page } = await open(true, {});
  const why = (options) => page.evaluate((given) => { try { say(given); return 'taken'; } catch ({ name, message }) { return `${name}: ${message}`; } }, options);
  assert.equal(await why({ thread: 2 }), "TypeError: configure: no option 'thread'; there are wasm, worker, threads");
  assert.equal(await why({ threads: 'many' }), "TypeError: configure: threads: found 'many'; needed a whole number from 0 to 2147483647, or false");
  assert.equal(await why({ wasm: 5 }), 'TypeError: configure: wasm: found 5; needed an address, bytes, a Response or a WebAssembly.Module');
  assert.equal(await why({}), 'taken');
  await page.close();
});

for (const place of ['here', 'elsewhere'])
  for (const [script, defined] of [['nnex', 'undefined,undefined,function,undefined'], ['polyfill', 'object,function,function,object']])
    test(`${name}: ${script}.global.js is a script ${place === 'here' ? 'beside the page' : 'of another origin'}`, { skip, timeout: 120_000 }, async () => {
      const { page, lines, faults } = await open(false, undefined, `${script}-${place}.html`);
      assert.equal(await page.evaluate('defined'), defined);
      assert.deepEqual(await page.evaluate('answers()'), ['-1,-2', '-1,-2']);
      assert.deepEqual(faults, []);
      assert.deepEqual(lines.map((text) => text.replace(/^nnex [\d.]+: WebAssembly with SIMD, /, '')), ['one thread (the page is not cross-origin isolated), in a worker']);
      await page.close();
    });

test(`${name}: scripts after polyfill.global.js wait for a context alone, where another ML has none`, { skip, timeout: 120_000 }, async () => {
  const { page, faults } = await open(false, undefined, 'empty.html');
  await page.waitForFunction('window.answered', { timeout: 60_000 });
  assert.deepEqual([await page.evaluate('answered'), faults], ['true', []]);
  await page.close();
});
