// The package where its addon is absent or cannot be loaded: the WebAssembly module answers and that is said once, by whatever entry it is used.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const dist = path('../packages/nnex/dist');
const skip = !existsSync(join(dist, 'nnex.wasm')) && 'the WebAssembly module is not built (bindings/js/build --wasm)';
const platform = `nnex-${process.platform}-${process.arch}`;
let folder, modules;

/** The package as npm would leave it, without the optional one of its platform, and without the modules where `wasm` is false. */
function install(name, wasm) {
  const place = join(folder, name, 'node_modules');
  mkdirSync(place, { recursive: true });
  cpSync(path('../packages/nnex/package.json'), join(place, 'nnex/package.json'));
  cpSync(dist, join(place, 'nnex/dist'), { recursive: true, filter: (file) => wasm || !file.endsWith('.wasm') });
  symlinkSync(path('../node_modules/onnxruntime-common'), join(place, 'onnxruntime-common'));
  return place;
}
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'nnex-fallback-'));
  modules = install('all', true);
});
after(() => rmSync(folder, { recursive: true }));

/** Runs a module beside the package: what it writes, and how often it is warned of the addon. */
function run(source, { env = {}, kind = 'module', name = 'all' } = {}) {
  const { NNEX_ENGINE, NNEX_NODE_ADDON, ...clean } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [`--input-type=${kind}`, '-e', source],
    { cwd: join(folder, name), encoding: 'utf8', timeout: 120_000, env: { ...clean, NNEX_THREADS: '2', ...env } });
  const warnings = stderr.split('\n').filter((line) => line.includes('[NNEX_WASM]'));
  return { status, stdout, warnings, others: stderr.split('\n').filter((line) => line && !line.includes('[NNEX_WASM]') && !line.includes('--trace-warnings')) };
}

const webnn = `async function twice(ml, Builder) {
  const context = await ml.createContext(), d = { dataType: 'float32', shape: [2] };
  const builder = new Builder(context), x = builder.input('x', d);
  const graph = await builder.build({ y: builder.add(x, x) });
  const input = await context.createTensor({ ...d, writable: true }), output = await context.createTensor({ ...d, readable: true });
  context.writeTensor(input, Float32Array.of(1, 21));
  context.dispatch(graph, { x: input }, { y: output });
  console.log(...new Float32Array(await context.readTensor(output)));
}`;
const model = `const { onnx } = await import(${JSON.stringify(new URL('support/onnx-writer.mjs', import.meta.url).href)});
  const bytes = onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Add', in: ['x', 'x'], out: ['y'] }] });`;
test('an environment that may not be read is an empty one', { skip }, () => {
  const source = `const get = (env, name) => { if (String(name).startsWith('NNEX_')) throw new Error('no permission'); return env[name]; };
    Object.defineProperty(process, 'env', { value: new Proxy(process.env, { get }) });
    const { load } = await import('nnex');
    ${model}
    console.log(...(await (await load(bytes)).run({ x: [3, 4] })).y.data);`;
  const { stdout, warnings } = run(source);
  assert.deepEqual([stdout, warnings.length], ['6 8\n', 1]);
});

const entries = {
  nnex: `import { load, ml, MLGraphBuilder } from 'nnex';
    ${webnn} ${model}
    await twice(ml, MLGraphBuilder);
    console.log(...(await (await load(bytes)).run({ x: [3, 4] })).y.data);`,
  'nnex/polyfill': `import 'nnex/polyfill';
    ${webnn}
    await twice(navigator.ml, MLGraphBuilder);
    await twice(navigator.ml, MLGraphBuilder);`,
  'nnex/onnxruntime': `import * as ort from 'nnex/onnxruntime';
    ${model}
    for (let i = 0; i < 2; ++i) {
      const session = await ort.InferenceSession.create(bytes);
      console.log(...(await session.run({ x: new ort.Tensor('float32', [1, 21], [2]) })).y.data);
    }`,
};
const answers = { nnex: '2 42\n6 8\n', 'nnex/polyfill': '2 42\n2 42\n', 'nnex/onnxruntime': '2 42\n2 42\n' };

function check(cause) {
  for (const [entry, source] of Object.entries(entries)) {
    const { status, stdout, warnings, others } = run(source);
    assert.deepEqual([entry, status, stdout, others], [entry, 0, answers[entry], []]);
    assert.equal(warnings.length, 1, `${entry}: ${warnings.join('\n')}`);
    assert.match(warnings[0], new RegExp(`WebAssembly computes.*${platform}.*${cause}`));
  }
}

test('no addon is there', { skip }, () => check('Cannot find module'));

test('an addon is there that is none', { skip }, () => {
  const place = join(modules, platform);
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: platform, version: '0.1.0', main: 'nnex.node' }));
  writeFileSync(join(place, 'nnex.node'), 'of another machine');
  try {
    check('nnex.node');
  } finally {
    rmSync(place, { recursive: true });
  }
});

test('several entries, by import and require(), say it once', { skip }, () => {
  const { status, stdout, warnings, others } = run(`import { createRequire } from 'node:module';
    import { ml, MLGraphBuilder } from 'nnex';
    import * as ort from 'nnex/onnxruntime';
    ${webnn} ${model}
    await twice(ml, MLGraphBuilder);
    const session = await ort.InferenceSession.create(bytes);
    console.log((await session.run({ x: new ort.Tensor('float32', [1, 21], [2]) })).y.data.length);
    const other = createRequire(process.cwd() + '/x.js')('nnex');
    await twice(other.ml, other.MLGraphBuilder);`);
  assert.deepEqual([status, stdout, others], [0, '2 42\n2\n2 42\n', []]);
  assert.equal(warnings.length, 1, warnings.join('\n'));
});

test('who asks for WebAssembly is told nothing', { skip }, () => {
  const { status, stdout, warnings, others } = run(entries['nnex/polyfill'], { env: { NNEX_ENGINE: 'wasm' } });
  assert.deepEqual([status, stdout, warnings, others], [0, answers['nnex/polyfill'], [], []]);
});

test('an addon that was asked for by name is not replaced', () => {
  for (const env of [{ NNEX_ENGINE: 'addon' }, { NNEX_NODE_ADDON: '/nowhere/nnex.node' }]) {
    const { stdout, warnings } = run(`import { ml, load } from 'nnex';
      for (const call of [() => ml.createContext(), () => load('model.onnx')])
        await call().then(() => console.log('made'), (error) => console.log(error.message.includes('cannot be loaded')));`, { env });
    assert.deepEqual([stdout, warnings], ['true\ntrue\n', []]);
  }
});

test('where nothing can compute, the error says what was looked for', () => {
  install('bare', false);
  const { stdout, warnings } = run(`import { ml, load } from 'nnex';
    for (const call of [() => ml.createContext(), () => load('model.onnx')]) await call().catch((error) => console.log(error.name, error.code, error.message));`, { name: 'bare' });
  assert.equal(warnings.length, 0);
  const lines = stdout.trim().split('\n');
  assert.equal(lines.length, 2, stdout);
  assert.match(lines[0], /^NotSupportedError /);  // by this name another polyfill knows that nothing is behind the interface
  assert.match(lines[1], /^NnexError unsupported /);
  for (const line of lines) assert.match(line, new RegExp(`needed the package ${platform}, which cannot be loaded: .*npm install ${platform}.*file:.*/nnex/dist/nnex\\.wasm`));
});

test('another polyfill takes the place of one that has nothing to compute with', () => {
  install('other', false);
  cpSync(join(folder, 'other/node_modules/nnex'), join(folder, 'other/node_modules/second'), { recursive: true });
  const { stdout } = run(`import 'nnex/polyfill';
    const first = navigator.ml;
    await (await import('./node_modules/second/dist/polyfill.mjs')).ready;
    console.log(navigator.ml === first);`, { name: 'other' });
  assert.equal(stdout, 'false\n');
});

test('where there is no WebAssembly either, it is said', { skip }, () => {
  const { stdout } = spawnSync(process.execPath, ['--jitless', '-e', `const { load, ml, NnexError } = require('nnex');
    const told = (error) => console.log(error.name, error instanceof NnexError, error.code, error.message);
    load('model.onnx').catch(told).then(() => ml.createContext()).catch(told);`], { cwd: join(folder, 'all'), encoding: 'utf8', env: { ...process.env, NNEX_ENGINE: 'wasm' } });
  const message = 'nnex: found no WebAssembly in this host (Node.js has none under --jitless); needed it, or the package nnex-linux-x64';
  assert.equal(stdout, `NnexError true unsupported ${message}\nNotSupportedError false 9 ${message}\n`);
});

test('a module of another build than the scripts is refused', { skip }, async () => {
  const bytes = readFileSync(join(dist, 'nnex.wasm')), { configure, load, ml } = await import(join(dist, 'browser.js'));
  const at = bytes.lastIndexOf('nnex.interface') + 'nnex.interface'.length, own = bytes.subarray(at, at + 16).toString();
  const other = Buffer.from(bytes);
  other.write('0123456789abcdef', at);
  const rows = [[other, '0123456789abcdef'], [bytes.subarray(0, at - 'nnex.interface'.length - 3), 'unknown'], [await WebAssembly.compile(other), '0123456789abcdef']];
  for (const [wasm, found] of rows)
    for (const threads of [1, 2]) {
      configure({ wasm, worker: false, threads });
      const message = `nnex: found nnex.wasm of another build (interface ${found}); needed the one of the same package as these scripts (${own})`;
      await assert.rejects(load(new Uint8Array(4)), { name: 'NnexError', code: 'unsupported', message });
      await assert.rejects(ml.createContext(), { name: 'NotSupportedError', message });
    }
});

test('of a folder the model alone is read, by the rules of the addon and in its words', { skip }, () => {
  const place = join(folder, 'folders'), at = (name) => join(place, name);
  for (const name of ['one/sub', 'two', 'none', 'nnef/deep', 'half']) mkdirSync(at(name), { recursive: true });
  const { status, stdout, others } = run(`
    import { closeSync, openSync, ftruncateSync, symlinkSync, writeFileSync } from 'node:fs';
    import { check, convert, load } from 'nnex';
    import { onnx } from ${JSON.stringify(new URL('support/onnx-writer.mjs', import.meta.url).href)};
    const at = (name) => ${JSON.stringify(place)} + '/' + name;
    const w = { type: 'float32', dims: [2], data: Float32Array.of(2, 2) };
    const model = onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }], initializers: { w } });
    for (const file of ['one/a.onnx', 'two/a.onnx', 'two/b.onnx']) writeFileSync(at(file), model);
    for (const [name, bytes] of await convert(model, { to: 'nnef' })) writeFileSync(at('nnef/' + name), bytes);
    for (const file of ['one/sub/other.bin', 'nnef/deep/other.dat']) {
      const made = openSync(at(file), 'w');
      ftruncateSync(made, 2 ** 33);  // no buffer holds so many bytes
      closeSync(made);
    }
    writeFileSync(at('none/Graph.nnef'), 'version 1.0; graph g(x) -> (y) { x = external(shape = [2]); y = relu(x); }');
    writeFileSync(at('half/graph.nnef'), 'version 1.0;\\ngraph g(x) -> (y) { x = external(shape = [2]); y = frobnicate(x); }');
    writeFileSync(at('half/graph.quant'), '# nothing\\n');  // a second file, so that places are in one of several
    const run = async (model) => (await model.run({ [model.inputs[0].name]: [1, 2] }))[model.outputs[0].name].data.join();
    for (const place of ['one', 'nnef', 'nnef/graph.nnef']) console.log(await run(await load(at(place))));
    for (const place of ['two', 'none', 'nobody', '../../../../dev/null']) await load(at(place)).catch((error) => console.log(error.code, error.message.replaceAll(at(''), '')));
    console.log((await check(at('half'))).faults[0].where.replaceAll(at(''), ''));
    await load(at('one/a.onnx'), { externalFolder: '/nowhere', symbols: { Q: 1 } }).catch((error) => console.log(error.tasks.join().replaceAll(at(''), '')));
    await convert(model, '').catch((error) => console.log(error.message));`);
  assert.deepEqual([status, others], [0, []], stdout);
  assert.deepEqual(stdout.trim().split('\n'), ['3,4', '3,4', '3,4',
    "unreadable 'two' holds 2 models; name one of them: two/a.onnx, two/b.onnx", "  while reading 'two'", "unreadable C1: 'none' holds no 'graph.nnef'", "  while reading 'none'",
    "unreadable cannot open 'nobody': No such file or directory", "  while reading 'nobody'",
    "unreadable cannot open '../../../../dev/null': it is a device, pipe or socket, not a regular file", "  while reading '../../../../dev/null'",
    'half/graph.nnef:2:52', "loading 'one/a.onnx'", 'found no path to write to']);
});

test('a word that an environment variable does not know is refused', () => {
  const rows = [[{ NNEX_ENGINE: 'foo' }, "NNEX_ENGINE: found 'foo'; needed addon or wasm"], [{ NNEX_THREADS: 'foo' }, "NNEX_THREADS: found 'foo'; needed a whole number, or 0 for as many threads as the machine has"],
    [{ NNEX_THREADS: '-1' }, "NNEX_THREADS: found '-1'; needed a whole number, or 0 for as many threads as the machine has"]];
  for (const [env, message] of rows) {
    const { stdout } = run(`import { ml, load } from 'nnex';
      for (const call of [() => ml.createContext(), () => load('model.onnx')]) await call().catch((error) => console.log(error.name, error.message));`, { env });
    assert.equal(stdout, `NotSupportedError ${message}\nNnexError ${message}\n`);
  }
});

test('a page whose nnex.wasm cannot be had has no context', async () => {
  const { configure, ml, load } = await import(join(dist, 'browser.js'));
  for (const wasm of [Uint8Array.of(1, 2, 3), ...process.getBuiltinModule ? ['/nowhere/nnex.wasm'] : []]) {
    configure({ wasm });
    await assert.rejects(ml.createContext(), { name: 'NotSupportedError' });
    await assert.rejects(load(new Uint8Array(4)), Error);
  }
});

test('an address that has no nnex.wasm is said, and what says where it is', async (t) => {
  const { configure, load } = await import(join(dist, 'browser.js'));
  const rows = [
    [new Response('', { status: 404, statusText: 'Not Found' }), '404 Not Found'],
    [new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }), 'text/html that is no WebAssembly'], // as servers of one page answer everything
    [new Response(Uint8Array.of(0, 97)), 'an answer that is no WebAssembly'],
    [new TypeError('Failed to fetch'), 'Failed to fetch'], // by another origin, or a policy of the page's
  ];
  for (const [response, found] of rows) {
    t.mock.method(globalThis, 'fetch', async (url) => {
      if (response instanceof Error) throw response;
      return Object.defineProperty(response.clone(), 'url', { value: String(url) });
    });
    for (const threads of [1, 2]) {
      configure({ wasm: 'https://example.org/nnex.wasm', worker: false, threads });
      await assert.rejects(load(new Uint8Array(4)),
        { name: 'NnexError', code: 'unreadable', message: `nnex: https://example.org/nnex.wasm: ${found}; needed nnex.wasm there, or configure({ wasm, worker }) with the addresses of nnex.wasm and worker.js` });
    }
  }
});

test('a path brings the files that its file needs, from its folder alone', async () => {
  const { build } = await import('esbuild');
  const source = fileURLToPath(new URL('../packages/nnex/src/wasm/beside.ts', import.meta.url));
  const { outputFiles: [{ text }] } = await build({ entryPoints: [source], bundle: true, write: false, format: 'esm', platform: 'node', define: { NNEX_PAGE: 'false' } });
  const { beside } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  const place = join(folder, 'beside');
  mkdirSync(join(place, 'sub'), { recursive: true });
  const long = 'w'.repeat(200);
  for (const name of ['near.bin', 'sub/below.bin', long, 'x.params', 'params', 'x.weights', '../outside.bin', 'unnamed.bin']) writeFileSync(join(place, name), name);
  symlinkSync(join(folder, 'outside.bin'), join(place, 'link.bin'));
  const location = (name) => Buffer.concat([Buffer.from('\x0a\x08location\x12'), Buffer.from(name.length < 128 ? [name.length] : [name.length & 127 | 128, name.length >> 7]), Buffer.from(name)]);
  const names = async (path, ...parts) => {
    writeFileSync(join(place, path), Buffer.concat(parts.map((part) => Buffer.from(part))));
    const files = await beside(place, path, new Uint8Array(readFileSync(join(place, path))));
    for (const [name, bytes] of files) if (typeof bytes !== 'string') assert.equal(Buffer.from(bytes).toString(), name);
    return files.map(([name, bytes]) => (typeof bytes === 'string' ? bytes : name));
  };
  const all = ['near.bin', 'sub/below.bin', long, 'near.bin', '../outside.bin', 'sub/../../outside.bin', 'link.bin', 'nobody.bin', 'sub', 'x.onnx', ''];
  assert.deepEqual(await names('x.onnx', '\x08\x08', ...all.map(location), 'the end', location('cut').subarray(0, 12)), ['near.bin', 'sub/below.bin', long, "cannot open 'link.bin': a link or no folder on the way", "'sub' is no regular file"]);
  assert.deepEqual(await names('x.onnx', location('nobody.bin')), []);
  assert.deepEqual(await names('x.onnx', '\x08\x08'), []);
  assert.deepEqual(await names('x.webnn', '{ "weights": "x.weights" }'), ['x.weights']);
  assert.deepEqual(await names('x.json', '{ "nodes": [] }'), ['x.params', 'params']);
  for (const broken of ['{ "weights": "\\q" }', '{ "weights": "../outside.bin" }', 'weights: "x.weights"', '']) assert.deepEqual(await names('y.webnn', broken), []);
});

test('models of several files come by the path of one of them', { skip }, () => {
  const { status, stdout, others } = run(`
    import { mkdirSync, writeFileSync } from 'node:fs';
    import { convert, load } from 'nnex';
    import { onnx } from ${JSON.stringify(new URL('support/onnx-writer.mjs', import.meta.url).href)};
    const w = { type: 'float32', dims: [512], data: new Float32Array(512).fill(2) };
    const model = onnx({ inputs: { x: ['float32', [1, 512]] }, outputs: { y: ['float32', [1, 512]] }, nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }], initializers: { w } });
    for (const [name, options] of [['model.onnx', { to: 'onnx', externalData: true }], ['graph.nnef', { to: 'nnef' }], ['model.webnn', { to: 'webnn' }]]) {
      const files = await convert(model, options), place = 'several/' + options.to + '/';
      mkdirSync(place, { recursive: true });
      for (const [file, bytes] of files) writeFileSync(place + file, bytes);
      const read = await load(place + name);
      console.log(files.size > 1, Object.values(await read.run({ [read.inputs[0].name]: new Float32Array(512) }))[0].data[511]);
    }`);
  assert.deepEqual([status, stdout, others], [0, 'true 2\n'.repeat(3), []]);
});
