// The package as others take it: bundlers that keep what an import does, bundles for pages, TypeScript's compilers in the ways that resolve it, and the
// archives that are published.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import ts from 'typescript';
import { onnx } from './support/onnx-writer.mjs';
import { folder as peers, missing } from './support/peers.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const ours = file('../packages/nnex'), modules = file('../node_modules');
const noWebpack = missing({ webpack: '5.113.0' });
let folder;

/** The package beside what it needs, with something in the place of nnex.wasm where that is not built. */
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'nnex-package-'));
  const place = join(folder, 'node_modules');
  cpSync(join(ours, 'dist'), join(place, 'nnex/dist'), { recursive: true });
  cpSync(join(ours, 'package.json'), join(place, 'nnex/package.json'));
  const wasm = join(place, 'nnex/dist/nnex.wasm');
  if (!existsSync(wasm)) writeFileSync(wasm, Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  mkdirSync(join(place, '@types'));
  for (const name of ['nnex-linux-x64', 'onnxruntime-common', '@types/node', 'undici-types']) symlinkSync(join(modules, name), join(place, name));
});
after(() => rmSync(folder, { recursive: true }));

/** Writes a source; the path of it. */
function source(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const bundled = async (options) => (await build({ bundle: true, format: 'esm', write: false, logLevel: 'silent', absWorkingDir: folder, ...options })).outputFiles[0].text;

test('a bundle keeps what importing nnex/onnxruntime does', async () => {
  writeFileSync(join(folder, 'neg.onnx'), onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }] }));
  const entry = source('session.mjs', `import { InferenceSession, Tensor } from 'nnex/onnxruntime';
    const session = await InferenceSession.create('neg.onnx');
    console.log(...(await session.run({ x: new Tensor('float32', [1, 2], [2]) })).y.data);`);
  const out = source('session.out.mjs', await bundled({ entryPoints: [entry], platform: 'node' }));
  assert.equal(execFileSync(process.execPath, [out], { cwd: folder, encoding: 'utf8' }), '-1 -2\n');
  assert.match(await bundled({ entryPoints: [entry], platform: 'browser' }), /createInferenceSessionHandler/);
});

test('a bundle whose file name is no name of a module\'s finds the addon: webpack says of both that they have one', async () => {
  const entry = source('module.mjs', "import { load } from 'nnex';\nload('neg.onnx').then(async (model) => console.log(...(await model.run({ x: [1, 2] })).y.data));");
  const out = source('module.out.mjs', (await bundled({ entryPoints: [entry], platform: 'node' })).replace(/typeof __filename/g, '"string"'));
  assert.equal(execFileSync(process.execPath, [out], { cwd: folder, encoding: 'utf8', env: { ...process.env, NNEX_ENGINE: 'addon' } }), '-1 -2\n');
});

test('a bundle of CommonJS for Node finds the addon, and says what it lacks', async () => {
  const entry = source('commonjs.mjs', `import { load } from 'nnex';
    import { InferenceSession } from 'nnex/onnxruntime';
    load('neg.onnx').then(async (model) => {
      console.log(...(await model.run({ x: [1, 2] })).y.data, (await InferenceSession.create('neg.onnx')).inputNames);
    }).catch(({ message }) => console.log(message));`);
  const text = await bundled({ entryPoints: [entry], platform: 'node', format: 'cjs' });
  const out = source('commonjs.out.cjs', text), run = (path, env = {}) => execFileSync(process.execPath, [path], { cwd: folder, encoding: 'utf8', env: { ...process.env, ...env } });
  assert.equal(run(out), "-1 -2 [ 'x' ]\n");
  const alone = join(folder, 'alone');
  mkdirSync(alone);
  writeFileSync(join(alone, 'main.cjs'), text.replaceAll('nnex-${', 'absent-${'));
  assert.match(run(join(alone, 'main.cjs')), /^nnex: found Node\.js .*; needed the package absent-.*, which cannot be loaded/);
});

const pages = {
  nnex: "import { configure, load, ml } from 'nnex'; configure({ threads: 1 }); console.log(load, ml);",
  'nnex/polyfill': "import 'nnex/polyfill'; console.log(navigator.ml);",
  'nnex/onnxruntime': "import { InferenceSession } from 'nnex/onnxruntime'; console.log(InferenceSession);",
};
for (const [name, text] of Object.entries(pages)) {
  const named = `page-${name.replace('/', '-')}`;
  test(`esbuild bundles ${name} for pages`, async () => {
    const made = await bundled({ entryPoints: [source(`${named}.mjs`, text)], platform: 'browser' });
    assert.doesNotMatch(made, /(import|require)\s*\(\s*[`'"]node:|from\s*["']node:/);
  });
  test(`webpack bundles ${name} for pages`, { skip: noWebpack }, async () => {
    const webpack = createRequire(pathToFileURL(join(peers, 'x.mjs')))('webpack');
    const stats = await new Promise((resolve, reject) =>
      webpack({ mode: 'production', target: 'web', context: folder, entry: source(`${named}.mjs`, text), output: { path: join(folder, named) } },
        (error, result) => (error ? reject(error) : resolve(result))));
    assert.deepEqual(stats.toJson({ errors: true, warnings: true }).errors.map(({ message }) => message), []);
    assert.deepEqual(stats.compilation.warnings.map(({ message }) => message).filter((message) => !/size|performance/i.test(message)), []);
    const endings = readdirSync(join(folder, named)).map((file) => file.split('.').pop());
    assert.ok(endings.includes('wasm'), `nnex.wasm lies beside the bundle: ${endings}`);
  });
}

// Parcel 2.16 writes names that it defines nowhere for those which are exported by a star and imported as a whole.
test('entries export name by name, as Parcel needs it', () => {
  for (const name of readdirSync(join(ours, 'dist')).filter((entry) => entry.endsWith('.js'))) assert.doesNotMatch(readFileSync(join(ours, 'dist', name), 'utf8'), /\bexport\s*\*/, name);
});

test('what bundlers look for by its letters stands on one line', () => {
  for (const name of readdirSync(join(folder, 'node_modules/nnex/dist')).filter((name) => /\.m?js$/.test(name))) {
    const text = readFileSync(join(folder, 'node_modules/nnex/dist', name), 'utf8');
    assert.doesNotMatch(text, /import\.(?!meta\b)\s*meta|import\.meta\.\s+url/, name);
  }
  const page = readFileSync(join(folder, 'node_modules/nnex/dist/browser.js'), 'utf8');
  for (const beside of ['worker.js', 'nnex.wasm']) assert.match(page, new RegExp(`new URL\\("\\./${beside}",\\s*import\\.meta\\.url\\)`));
});

test('esbuild bundles nnex as a script that is no module', async () => {
  const made = await bundled({ entryPoints: [source('script.mjs', pages.nnex)], platform: 'browser', format: 'iife' });
  assert.match(made, /currentScript/);
});

test('esbuild bundles nnex/polyfill in every format, for older browsers too', async () => {
  const entry = source('old.mjs', `import 'nnex/polyfill';
    console.log(typeof navigator.ml.createContext, typeof MLGraphBuilder);`);
  for (const format of ['iife', 'cjs', 'esm']) {
    const made = await bundled({ entryPoints: [entry], platform: 'browser', format, target: 'es2019' });
    const out = source(`old.out.${format === 'esm' ? 'mjs' : 'cjs'}`, `Object.defineProperty(globalThis, 'navigator', { value: Object.create({}), configurable: true });\n${made}`);
    assert.equal(execFileSync(process.execPath, [out], { encoding: 'utf8' }), 'function function\n', format);
  }
});

test('a bundle for Node says where it looks for nnex.wasm', async () => {
  const entry = source('lonely.mjs', "import { load } from 'nnex'; await load(new Uint8Array(4)).catch(({ message }) => console.log(message));");
  mkdirSync(join(folder, 'lonely'));
  const out = source('lonely/main.mjs', await bundled({ entryPoints: [entry], platform: 'node' }));
  const said = execFileSync(process.execPath, [out], { encoding: 'utf8', env: { ...process.env, NNEX_ENGINE: 'wasm' } });
  assert.match(said, /^nnex: file:.*lonely\/nnex\.wasm: ENOENT.*; needed nnex\.wasm there, which the package has as nnex\/nnex\.wasm: a bundle needs it beside itself\n$/);
});

test('one bundle for Node has one nnex, whether it is imported or required', async () => {
  source('imports.mjs', "export { ml } from 'nnex'; import 'nnex/polyfill';");
  source('requires.cjs', "const { ml } = require('nnex'); require('nnex/polyfill'); exports.same = (other) => ml === other && navigator.ml === ml;");
  const entry = source('both.mjs', "import { ml } from './imports.mjs'; import { same } from './requires.cjs'; console.log(same(ml));");
  for (const format of ['cjs', 'esm']) {
    const out = source(`both.out.${format === 'cjs' ? 'cjs' : 'mjs'}`, await bundled({ entryPoints: [entry], platform: 'node', format }));
    assert.equal(execFileSync(process.execPath, [out], { encoding: 'utf8' }), 'true\n', format);
  }
});

test('another realm of the process, as Jest makes one for each file, has errors and arrays of its own; a file needs no name', () => {
  const out = source('realm.cjs', `const { createContext, runInContext } = require('node:vm'), { readFileSync } = require('node:fs'), { createRequire } = require('node:module');
    require('nnex-linux-x64');  // the addon is loaded by the first realm
    const realm = createContext({ console }), modules = new Map(), named = process.argv[2] === 'named';
    for (const name of Object.getOwnPropertyNames(globalThis)) if (!runInContext('globalThis', realm)[name]) realm[name] = globalThis[name];
    function load(path) {
      if (modules.has(path)) return modules.get(path).exports;
      const module = { exports: {} }, { resolve } = createRequire(path);
      modules.set(path, module);
      const required = (name) => (/[.]c?js$/.test(resolve(name)) ? load(resolve(name)) : require(name));
      // ncc makes ES modules of these files, which have no __filename.
      const text = '(function (module, exports, require' + (named ? ', __filename' : '') + ') {' + readFileSync(path) + '\\n})';
      (named ? runInContext(text, realm) : (0, eval)(text))(module, module.exports, required, path);
      return module.exports;
    }
    load(__dirname + '/inside.cjs');`);
  source('inside.cjs', `const { load, ml, MLGraphBuilder, NnexError } = require('nnex'), { InferenceSession, Tensor } = require('nnex/onnxruntime');
    const d = { dataType: 'float32', shape: [2] };
    (async () => {
      const { y } = await (await load('neg.onnx')).run({ x: new Float32Array([1, 2]) });
      const r = await (await InferenceSession.create('neg.onnx')).run({ x: new Tensor('float32', [1, 2], [2]) });
      const error = await load('absent.onnx').catch((reason) => reason), builder = new MLGraphBuilder(await ml.createContext());
      console.log(y.data instanceof Float32Array, r.y.data instanceof Float32Array, error instanceof NnexError, error instanceof Error, error.code);
      try { builder.add(builder.input('a', d), builder.input('b', { dataType: 'int32', shape: [2] })); } catch (wrong) { console.log(wrong instanceof TypeError); }
      console.log((await builder.build({}).catch((wrong) => wrong)) instanceof TypeError);
      const context = await ml.createContext(), tensor = await context.createTensor({ ...d, readable: true, writable: true });
      context.writeTensor(tensor, new Float32Array([1, 2]));
      const bytes = await context.readTensor(tensor);
      console.log(bytes instanceof ArrayBuffer, new Float32Array(bytes).join());
    })().catch(({ stack }) => console.log(stack));`);
  for (const how of ['named', 'bare'])
    assert.equal(execFileSync(process.execPath, [out, how], { cwd: folder, encoding: 'utf8', env: { ...process.env, NNEX_ENGINE: 'addon' } }), 'true true true true unreadable\ntrue\ntrue\ntrue 1,2\n', how);
});

test('require() where tests play a browser in Node, as Jest does with jsdom, gets what require() can read', () => {
  const script = source('jsdom.cjs', `const { load } = require('nnex'), { InferenceSession } = require('nnex/onnxruntime');
    require('nnex/polyfill');
    load('neg.onnx').then(async ({ inputs }) => console.log(inputs[0].name, (await InferenceSession.create('neg.onnx')).inputNames[0], typeof navigator.ml.createContext));`);
  assert.equal(execFileSync(process.execPath, ['--conditions=browser', script], { cwd: folder, encoding: 'utf8' }), 'x x function\n');
});

test('files that pages need are found by name', () => {
  const { resolve } = createRequire(join(folder, 'x.mjs'));
  for (const name of ['nnex.wasm', 'worker.js', 'nnex.global.js', 'polyfill.global.js']) assert.equal(resolve(`nnex/${name}`), join(folder, 'node_modules/nnex/dist', name));
});

test('webpack bundles for Node: addon and WebAssembly find what they need', { skip: noWebpack }, async () => {
  const webpack = createRequire(pathToFileURL(join(peers, 'x.mjs')))('webpack'), out = join(folder, 'webpack-node');
  const entry = source('packed.mjs', `import { load } from 'nnex';
    load('neg.onnx').then(async (model) => console.log(...(await model.run({ x: [1, 2] })).y.data)).catch(({ message }) => console.log(message));`);
  const stats = await new Promise((resolve, reject) => webpack({ mode: 'production', target: 'node', context: folder, entry, output: { path: out, filename: 'main.cjs' } },
    (error, result) => (error ? reject(error) : resolve(result))));
  assert.deepEqual([...stats.compilation.errors, ...stats.compilation.warnings].map(({ message }) => message), []);
  const run = (engine) => execFileSync(process.execPath, [join(out, 'main.cjs')], { cwd: folder, encoding: 'utf8', env: { ...process.env, NNEX_ENGINE: engine } });
  assert.equal(run('addon'), '-1 -2\n');
  assert.doesNotMatch(run('wasm'), /Cannot find module/);
  // Where it is deployed, with the addon in a node_modules there; nothing names the machine that bundled it.
  const deployed = mkdtempSync(join(tmpdir(), 'nnex-deployed-'));
  try {
    for (const name of readdirSync(out)) cpSync(join(out, name), join(deployed, name));
    cpSync(join(folder, 'neg.onnx'), join(deployed, 'neg.onnx'));
    assert.ok(!readFileSync(join(out, 'main.cjs'), 'utf8').includes(folder));
    mkdirSync(join(deployed, 'node_modules'));
    cpSync(join(folder, 'node_modules/nnex-linux-x64'), join(deployed, 'node_modules/nnex-linux-x64'), { recursive: true, dereference: true });
    assert.equal(execFileSync(process.execPath, [join(deployed, 'main.cjs')], { cwd: deployed, encoding: 'utf8', env: { ...process.env, NNEX_ENGINE: 'addon' } }), '-1 -2\n');
  } finally {
    rmSync(deployed, { recursive: true });
  }
});

// ---- TypeScript

const asBoth = `import { load, ml, MLGraphBuilder, MLContext, ML, MLGraph, MLOperand, MLTensor, NnexError, Session } from 'nnex';
import type { MLContext as Context, MLTensorDescriptor } from 'nnex';
export async function use(): Promise<MLTensor> {
  const context: MLContext = await ml.createContext();
  const same: Context = context, all: ML = ml;
  const builder: MLGraphBuilder = new MLGraphBuilder(context);
  const descriptor: MLTensorDescriptor = { dataType: 'float32', shape: [1] };
  const x: MLOperand = builder.input('x', descriptor);
  const graph: MLGraph = await builder.build({ y: x });
  const found: unknown = graph;
  if (found instanceof MLGraph) found.destroy();
  console.log(load, NnexError, Session, same, all, [ML, MLContext, MLOperand, MLTensor]);
  return context.createTensor(descriptor);
}
`;
const globals = `import 'nnex/polyfill';
export async function use(): Promise<MLContext> {
  const all: ML = navigator.ml, context = await all.createContext({ powerPreference: 'low-power' });
  const builder: MLGraphBuilder = new MLGraphBuilder(context);
  const type: MLOperandDataType = 'float32', descriptor: MLOperandDescriptor = { dataType: type, shape: [2] }, options: MLOperatorOptions = { label: 'sum' };
  const x: MLOperand = builder.input('x', descriptor), outputs: MLNamedOperands = { y: builder.add(x, x, options) };
  const graph: MLGraph = await builder.build(outputs);
  const tensor: MLTensor = await context.createTensor({ dataType: 'float32', shape: [2] });
  context.dispatch(graph, { x: tensor }, { y: tensor });
  return context;
}
`;
const runtime = `import * as ort from 'nnex/onnxruntime';
import whole, { InferenceSession, Tensor } from 'nnex/onnxruntime';
const options: ort.InferenceSession.SessionOptions = { executionProviders: ['cpu'] }, how: InferenceSession.RunOptions = {};
export const made: Promise<ort.InferenceSession> = ort.InferenceSession.create('model.onnx', options);
export async function run(session: whole.InferenceSession, feeds: InferenceSession.FeedsType): Promise<InferenceSession.ReturnType> {
  const x: whole.Tensor = new Tensor('float32', [1]), type: ort.Tensor.Type = x.type, values: InferenceSession.OnnxValueMapType = { ...feeds, [type]: x };
  return session.run(values, how);
}
ort.install();
whole.install();
`;
const page = `import { configure, outline } from 'nnex';
import { configure as other } from 'nnex/polyfill';
configure({ wasm: '/assets/nnex.wasm', worker: '/assets/worker.js' });
other({ worker: false });
export { outline };
`;
const narrowed = `import { load, type ElementType, type OutputValue, type Tensor } from 'nnex';
export async function use(): Promise<bigint | number | string | undefined> {
  const model = await load('model.onnx');
  const { y, z } = await model.run<{ y: Tensor; z: Tensor<'float32'> }>({});
  const again: Tensor = z, some: Tensor<'int8' | 'bool'> | undefined = y.type === 'int8' ? y : undefined;
  await model.run({ y, z, again });
  const type: ElementType = y.type, value: OutputValue = y;
  console.log(type, value, some?.data);
  if (y.type === 'int64') return y.data[0]! + 1n;
  if (y.type === 'string') return y.data[0]!.length;
  switch (y.type) {
    case 'float32': return new Float32Array(y.data.buffer)[0]! + z.data[0]!;
    default: return undefined;
  }
}
`;
const handed = `import { load, type Tensor } from 'nnex';
export async function use(audio: AudioBuffer, halves: Tensor<'float16'>): Promise<Blob> {
  const { y, z } = await (await load('model.onnx')).run<{ y: Tensor<'float32'>; z: Tensor<'uint8' | 'int64'> }>({});
  audio.copyToChannel(y.data, 0);
  return new Blob([y.data, z.data, halves.data]);
}
`;
const plain = `import { load } from 'nnex';
export async function use(): Promise<unknown> {
  const model = await load('model.onnx');
  model.dispose();
  return model;
}
`;
const across = `import { load, ml, MLGraphBuilder, NnexError } from 'nnex';
import ort, { InferenceSession, type Tensor } from 'nnex/onnxruntime';
import { take } from './u.cjs';
const session: InferenceSession = await ort.InferenceSession.create('model.onnx');
const { y } = await session.run({});
export const out: Tensor | undefined = y;
take(await load('model.onnx'), new MLGraphBuilder(await ml.createContext()), new NnexError('fault', ''), session);
`;
const taking = `import { type MLGraphBuilder, type Model, type NnexError } from 'nnex';
import { type InferenceSession } from 'nnex/onnxruntime';
export const take = (model: Model, builder: MLGraphBuilder, error: NnexError, session: InferenceSession): void => console.log(model, builder, error, session);
`;
const signals = `import { check, convert, inspect, load } from 'nnex';
export async function use(signal: AbortSignal): Promise<void> {
  const model = await load('model.onnx', { signal, threads: 1 });
  await model.run({}, { signal });
  await check('model.onnx', { signal });
  await inspect('model.onnx', { signal });
  await convert('model.onnx', { to: 'nnef', signal });
  await convert('model.onnx', 'model.webnn', { signal, load: { symbols: { N: 1 } } });
}
`;
const sent = `import { convert } from 'nnex';
export async function send(): Promise<Blob> {
  const files = await convert('model.onnx', { to: 'nnef' });
  await fetch('/model', { method: 'POST', body: files.get('graph.nnef')! });
  return new Blob([...files.values()]);
}
`;
// What a lib.dom with WebNN will have, in few words; the real one will have all.
const future = `interface NavigatorML { readonly ml: ML; }
interface Navigator extends NavigatorML {}
interface WorkerNavigator extends NavigatorML {}
interface ML { createContext(options?: object): Promise<MLContext>; }
interface MLContext { readonly theirs: true; createTensor(d: object): Promise<MLTensor>; dispatch(graph: MLGraph, inputs: object, outputs: object): void; }
interface MLGraph { readonly theirs: true }
interface MLOperand { readonly theirs: true }
interface MLTensor { readonly theirs: true }
interface MLGraphBuilder { input(name: string, d: object): MLOperand; build(outputs: object): Promise<MLGraph>; add(a: MLOperand, b: MLOperand, options?: object): MLOperand; }
${['ML', 'MLContext', 'MLGraph', 'MLOperand', 'MLTensor'].map((name) => `declare var ${name}: { prototype: ${name}; new(): ${name} };`).join('\n')}
declare var MLGraphBuilder: { prototype: MLGraphBuilder; new(context: MLContext): MLGraphBuilder };
`;
const { ModuleKind: M, ModuleResolutionKind: R } = ts;
const node = ['node'], dom = ['lib.dom.d.ts'], web = ['lib.webworker.d.ts'];
const modern = { module: M.NodeNext, moduleResolution: R.NodeNext }, bundler = { module: M.ESNext, moduleResolution: R.Bundler };
const rows = [
  ['the interfaces are types and values: Node', { ...modern, types: node }, { 'a.mts': asBoth }],
  ['the interfaces are types and values: lib.dom', { ...bundler, lib: dom }, { 'b.ts': asBoth }],
  ['the interfaces are types and values: browser', { ...bundler, lib: dom, customConditions: ['browser'] }, { 'b.ts': asBoth }],
  ['the polyfill declares globals: Node', { ...modern, types: node }, { 'c.mts': globals }],
  ['the polyfill declares globals: lib.dom', { ...modern, lib: dom }, { 'c.mts': globals }],
  ['the polyfill declares globals: both', { ...modern, lib: dom, types: node }, { 'c.mts': globals }],
  ['the polyfill declares globals: a worker', { ...modern, lib: web }, { 'c.mts': globals }],
  ['the polyfill declares globals: browser', { ...bundler, lib: dom, customConditions: ['browser'] }, { 'c.mts': globals }],
  ['the polyfill leaves those of a lib.dom that has them', { ...modern, lib: dom }, { 'future.d.ts': future, 'c.mts': globals }],
  ['without an import there are no globals', { ...modern, types: node }, { 'd.mts': 'export const none = navigator.ml;' }, /Cannot find name 'navigator'/],
  ['require(): node16', { module: M.Node16, moduleResolution: R.Node16, types: node }, { 'e.cts': asBoth, 'f.cts': globals }],
  ['require() and import in one program', { ...modern, types: node }, { 'a.mts': asBoth, 'c.mts': globals, 'e.cts': asBoth, 'f.cts': globals }],
  ['what import gives is taken by what require() gives', { ...modern, lib: dom, types: node }, { 't.mts': across, 'u.cts': taking }],
  ['require(): node10', { module: M.CommonJS, moduleResolution: R.Node10, ignoreDeprecations: '5.0', types: node }, { 'g.ts': asBoth, 'h.ts': globals }],
  ["ONNX Runtime's API", { ...modern, lib: dom, types: node }, { 'i.mts': runtime, 'j.cts': runtime }],
  ["ONNX Runtime's API: bundlers", { ...bundler, lib: dom, types: node }, { 'w.ts': runtime }],
  ["ONNX Runtime's API: browser", { ...bundler, lib: dom, customConditions: ['browser'] }, { 'w.ts': runtime }],
  ["ONNX Runtime's API: node10", { module: M.CommonJS, moduleResolution: R.Node10, lib: dom, types: node }, { 'k.ts': runtime }],
  ['the type of a tensor tells the class of its data', { ...modern, types: node }, { 'o.mts': narrowed, 'p.cts': narrowed }],
  ['files of convert() may be sent', { ...bundler, lib: dom, customConditions: ['browser'] }, { 's.ts': sent }],
  ['data of outputs go where memory of their own is asked for', { ...modern, lib: dom }, { 's.mts': handed }],
  ['data of outputs go where memory of their own is asked for: the newest library', { ...modern, lib: [...dom, 'lib.esnext.d.ts'] }, { 's.mts': handed }],
  ['calls end by a signal', { ...modern, types: node }, { 'q.mts': signals, 'r.cts': signals }],
  ['models and sessions are made by calls', { ...modern, types: node }, { 's.mts': "import { Model, Session } from 'nnex';\nnew Session();\nnew Model();\n" }, /'Session' is private.*\n.*'Model' is private/],
  ['without the library of `using`', { ...bundler, lib: dom, plain: true }, { 'm.ts': plain }],
  ['without the library of `using`: browser', { ...bundler, lib: dom, plain: true, customConditions: ['browser'] }, { 'm.ts': plain }],
  ['without the library of `using`: require()', { module: M.CommonJS, moduleResolution: R.Node10, ignoreDeprecations: '5.0', lib: dom, plain: true }, { 'm.ts': plain }],
  ['require() for pages: node16', { module: M.Node16, moduleResolution: R.Node16, lib: dom, types: node, customConditions: ['browser'] }, { 'e.cts': asBoth, 'f.cts': globals, 'j.cts': runtime }],
  ['what pages alone have', { ...bundler, lib: dom, customConditions: ['browser'] }, { 'l.ts': page }],
];
for (const [name, options, sources, refused] of rows)
  test(`TypeScript: ${name}`, () => {
    const { lib = [], plain: bare, ...rest } = options;
    const program = ts.createProgram(Object.entries(sources).map(([path, text]) => source(path, text)), {
      strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, types: [], typeRoots: [join(folder, 'node_modules/@types')],
      lib: ['lib.es2022.d.ts', ...(bare ? [] : ['lib.esnext.disposable.d.ts']), ...lib], ...rest,
    });
    const faults = ts.getPreEmitDiagnostics(program).map(({ file: at, messageText }) => `${at?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
    if (refused) assert.match(faults.join('\n'), refused);
    else assert.deepEqual(faults, []);
  });

test('TypeScript: editors show what a function does', () => {
  const path = source('n.mts', "import { load, check, inspect, convert } from 'nnex';\nload('x');\ncheck('x');\ninspect('x');\nconvert('x', 'y');\nconvert('x');\n");
  for (const conditions of [{}, { customConditions: ['browser'] }]) {
    const files = {
      ...ts.sys, useCaseSensitiveFileNames: () => true, getScriptFileNames: () => [path], getScriptVersion: () => '0', getCurrentDirectory: () => folder, getDefaultLibFileName: ts.getDefaultLibFilePath,
      getScriptSnapshot: (name) => (ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(ts.sys.readFile(name)) : undefined),
      getCompilationSettings: () => ({ ...modern, ...conditions, target: ts.ScriptTarget.ES2022, types: [] }),
    };
    const service = ts.createLanguageService(files), text = ts.sys.readFile(path);
    for (const { 0: call, index } of text.matchAll(/^\w+(?=\()/gm))
      assert.match(ts.displayPartsToString(service.getQuickInfoAtPosition(path, index).documentation), /model/i, call);
  }
});

// ---- What is published

test('the addon runs on every glibc of which its documents speak, as Node itself does', () => {
  const addon = file('../packages/linux-x64/nnex.node');
  const asked = execFileSync('objdump', ['-T', addon], { encoding: 'utf8' }).matchAll(/\bGLIBC_(\d+)\.(\d+)/g);
  const minors = [...asked].map(([, major, minor]) => { assert.equal(major, '2'); return Number(minor); });
  for (const text of ['../packages/linux-x64/README.md', '../packages/nnex/README.md', '../../../docs/javascript.md']) {
    const [, told] = readFileSync(file(text), 'utf8').match(/glibc 2\.(\d+) or later/);
    assert.equal(told, '28', text);
  }
  assert.ok(minors.length && Math.max(...minors) <= 28, `asks for glibc 2.${Math.max(...minors)}`);
});

test('the archives have all that is published, or there are none', () => {
  const place = join(folder, 'published'), out = join(folder, 'archives');
  mkdirSync(out);
  cpSync(file('../packages'), join(place, 'packages'), { recursive: true, filter: (path) => !/[\\/](src|nnex\.wasm|nnex\.node)$/.test(path) });
  cpSync(file('../pack'), join(place, 'pack'));
  const pack = () => spawnSync(join(place, 'pack'), [out], { encoding: 'utf8' });
  const { status, stderr } = pack();
  assert.equal(status, 1);
  assert.equal(stderr, ['nnex/dist/nnex.wasm', 'linux-x64/nnex.node'].map((path) => `pack: packages/${path} is missing; bindings/js/build --wasm makes it\n`).join(''));
  assert.deepEqual(readdirSync(out), []);
  for (const path of ['nnex/dist/nnex.wasm', 'linux-x64/nnex.node']) writeFileSync(join(place, 'packages', path), 'in its place');
  const at = join(place, 'wasm'), later = join(at, 'later.cpp');
  mkdirSync(at);
  writeFileSync(later, '');
  utimesSync(later, new Date(), new Date(Date.now() + 60_000));
  assert.deepEqual([pack().status, pack().stderr], [1, 'pack: packages/nnex/dist/nnex.wasm is older than bindings/js/wasm/later.cpp; bindings/js/build --wasm makes it\n']);
  assert.deepEqual(readdirSync(out), []);
  rmSync(at, { recursive: true });
  assert.equal(pack().status, 0);
  for (const [name, needed] of [['nnex', ['README.md', 'LICENSE', 'dist/nnex.wasm', 'dist/index.d.cts']], ['nnex-linux-x64', ['README.md', 'LICENSE', 'nnex.node']]]) {
    const [archive] = readdirSync(out).filter((entry) => entry.startsWith(`${name}-0`));
    const files = execFileSync('tar', ['-tzf', join(out, archive)], { encoding: 'utf8' }).split('\n');
    for (const path of needed) assert.ok(files.includes(`package/${path}`), `${archive}: ${path}`);
  }
  assert.equal(readFileSync(join(place, 'packages/nnex/LICENSE'), 'utf8'), readFileSync(file('../../../LICENSE'), 'utf8'));
});
