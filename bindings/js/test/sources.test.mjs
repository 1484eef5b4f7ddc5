// Where models come from: paths, addresses, bytes, files by their names; and what is none of these.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { NnexError, check, convert, inspect, load } from 'nnex';
import { affine, modelsOver, plain } from './support/networks.mjs';
import { onnx } from './support/onnx-writer.mjs';

test('a model comes from a path, a URL, bytes, a Blob, a Response and several files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nnex-'));
  try {
    const path = join(folder, 'a b%20.onnx');
    writeFileSync(path, affine);
    const shared = new Uint8Array(new SharedArrayBuffer(affine.length));
    shared.set(affine);
    const padded = new Uint8Array(affine.length + 8);
    padded.set(affine, 4);
    const sources = [
      path, pathToFileURL(path), pathToFileURL(path).href, affine, Buffer.from(affine), affine.slice().buffer, shared, shared.buffer,
      padded.subarray(4, 4 + affine.length), new DataView(padded.buffer, 4, affine.length), new Blob([affine]), new Response(affine),
      { 'model.onnx': affine }, new Map([['model.onnx', affine.slice().buffer]]), { 'model.onnx': new Blob([affine]) }, new Map([['model.onnx', new Blob([affine])]]),
    ];
    for (const source of sources) {
      const model = await load(source);
      assert.deepEqual(plain((await model.run({ x: [1, 2, 3] })).y), { type: 'float32', dims: [1, 3], data: [2, 4, 6] });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what a model in a folder names lies beside it, and of several models one is named', async () => {
  const beside = (...data) => {
    const model = onnx({ inputs: { x: ['float32', [2]] }, outputs: { y: ['float32', [2]] }, nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }],
      initializers: { w: { type: 'float32', dims: [2], location: 'w.bin' } } });
    return [model, new Uint8Array(Float32Array.from(data).buffer)];
  };
  const [a, ones] = beside(1, 1), [b, tens] = beside(10, 10), files = { 'a/net.onnx': a, 'a/w.bin': ones, 'b/c/net.onnx': b, 'b/c/w.bin': tens, README: new Blob(['text']) };
  const answer = async (...args) => plain((await (await load(...args)).run({ x: [1, 2] })).y).data;
  assert.deepEqual(await answer({ 'a/net.onnx': a, 'a/w.bin': ones }), [2, 3]);
  assert.deepEqual(await answer(files, { name: 'a/net.onnx' }), [2, 3]);
  assert.deepEqual(await answer(files, { name: 'b/c/net.onnx' }), [11, 12]);
  await assert.rejects(load(files), { code: 'unreadable', message: /^the model holds 2 models; name one of them: a\/net\.onnx, b\/c\/net\.onnx/ });
  assert.equal((await check({ 'a/net.onnx': a, 'w.bin': ones })).sound, false);
});

test('a compiled model is kept in a folder', { skip: process.env.NNEX_ENGINE === 'wasm' && 'a page keeps no models' }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nnex-'));
  try {
    const path = join(folder, 'affine.onnx'), cache = join(folder, 'kept');
    writeFileSync(path, affine);
    utimesSync(path, 1e9, 1e9);
    const kept = () => readdirSync(cache).map((name) => statSync(join(cache, name)).ino);
    const answer = async () => plain((await (await load(path, { cache })).run({ x: [1, 2, 3] })).y);
    assert.deepEqual(await answer(), { type: 'float32', dims: [1, 3], data: [2, 4, 6] });
    const [first] = kept();
    assert.deepEqual(await answer(), { type: 'float32', dims: [1, 3], data: [2, 4, 6] });
    assert.deepEqual(kept(), [first]); // it was found, not written again
    for (const [folder, before, after] of [[cache, 'found', 'found'], [join(cache, 'other'), 'due', 'written'], ['/dev/full', 'due', 'failed'], [undefined, 'none', 'none']]) {
      const model = await load(path, { cache: folder });
      assert.equal(model.cache.use, before);
      await model.run({ x: [1, 2, 3] });
      const { use, file, why } = model.cache;
      assert.deepEqual([use, file.startsWith(folder ?? ''), why !== ''], [after, true, use === 'failed']);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('bytes are read when a function is called', async () => {
  const clobbered = (call, wrap = (bytes) => bytes) => {
    const bytes = affine.slice(), answer = call(wrap(bytes));
    bytes.fill(0);
    return answer;
  };
  for (const wrap of [undefined, (bytes) => ({ 'model.onnx': bytes }), (bytes) => bytes.buffer]) {
    assert.deepEqual(Array.from((await (await clobbered(load, wrap)).run({ x: [1, 2, 3] })).z.data), [3, 5, 7]);
    assert.equal((await clobbered(check, wrap)).sound, true);
    assert.equal((await clobbered(inspect, wrap)).nodes, 2);
    assert.ok((await clobbered((source) => convert(source, { to: 'onnx' }), wrap)).has('model.onnx'));
  }
});

test('an engine that has to be waited for gets bytes of its own, one that is there those of the caller', async () => {
  const asked = [];
  const engine = { check: async (source) => void asked.push(source.bytes ?? source.files[0][1]) };
  const there = await modelsOver(() => engine), later = await modelsOver(async () => engine);
  for (const wrap of [(bytes) => bytes, (bytes) => ({ 'model.onnx': bytes }), (bytes) => Buffer.from(bytes.buffer), (bytes) => new Map([['model.onnx', bytes]])]) {
    const bytes = Uint8Array.of(1, 2, 3);
    await there.check(wrap(bytes));
    assert.equal(asked.pop().buffer, bytes.buffer);
    const checked = later.check(wrap(bytes));
    bytes.fill(0);
    await checked;
    assert.deepEqual([...asked.pop()], [1, 2, 3]);
  }
  await assert.rejects((await modelsOver(async () => { throw new Error('none'); })).check(new Response(null, { status: 404 })), /404|none/);
});

test('what is no source is a TypeError that says what it is', async (t) => {
  const gone = affine.slice();
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const handle = await open(new URL(import.meta.url));
  t.after(() => handle.close());
  const rows = [
    [gone, /^NAME: found a Uint8Array whose memory was transferred or shrunk; needed bytes$/], [gone.buffer, /^NAME: found an ArrayBuffer whose memory was/],
    [{ 'a.onnx': gone }, /^NAME: file 'a\.onnx': found a Uint8Array whose memory was transferred/],
    [null, /^NAME: found null; needed a path, bytes/], [undefined, /^NAME: found undefined; needed/], [5, /^NAME: found 5;/], [[], /^NAME: found an array;/],
    [{}, /^NAME: found an object without files;/], [new Map(), /^NAME: found a Map without files;/], [handle, /^NAME: found an object; needed .*\(of a FileHandle: await handle\.readFile\(\)\)$/], [load, /^NAME: found a function;/],
    [Promise.resolve(affine), /^NAME: found a Promise; needed .* \(a promise is awaited first\)$/], [new Response(affine).body, /^NAME: found a ReadableStream; needed .*Response/],
    [{ a: 'text' }, /^NAME: file 'a': found 'text'; needed bytes or a Blob$/], ['https://example.org/x.onnx', /^NAME: a model from https: is fetched by the caller: NAME\(await fetch\(url\)\)$/],
    [new URL('https://example.org/x.onnx'), /^NAME: a model from https: is fetched/], ['a\0b.onnx', /^NAME: found 'a\\u0000b.onnx'; needed a path without NUL/],
    [Readable.from(['x']), /^NAME: found a stream; needed .*\(await buffer\(stream\), of node:stream\/consumers\)$/],
    [new Map([[5, affine]]), /^NAME: found 5 as the name of a file; needed text$/], ['file:///a%zz.onnx', /^NAME: found 'file:.*zz\.onnx'; needed bytes of UTF-8/],
    ['file://host/a.onnx', /^NAME: found 'file:\/\/host\/a.onnx', which names the host 'host'; needed a file: URL without one$/],
    [new URL('file:///tmp%2fa.onnx'), /^NAME: found 'file:\/\/\/tmp%2fa.onnx'; needed a file: URL whose path has no \/ as %2F$/],
    ['file:///a%00b.onnx', /^NAME: found .*; needed a path without NUL/], [new URL('file:///a%00b.onnx'), /^NAME: found .*; needed a path without NUL/],
  ];
  for (const [name, call] of Object.entries({ load, check, inspect, convert }))
    for (const [source, message] of rows)
      await assert.rejects(call(source), (error) => error instanceof TypeError && new RegExp(message.source.replaceAll('NAME', name)).test(error.message) || assert.fail(String(error)));
  for (const place of [new URL('https://example.org/x.onnx'), 'https://example.org/x.onnx'])
    await assert.rejects(convert(affine, place), { name: 'TypeError', message: "convert: found 'https://example.org/x.onnx'; needed a path or a file: URL" });
  await assert.rejects(convert(affine, 'a\0b.nnef'), { name: 'TypeError', message: "convert: found 'a\\u0000b.nnef'; needed a path without NUL characters" });
});

test('a response that is no success is unreadable', async () => {
  for (const call of [load, check, inspect, convert]) {
    await assert.rejects(call(new Response('x', { status: 503, statusText: 'Service Unavailable' })), { name: 'NnexError', code: 'unreadable', message: 'the response: 503 Service Unavailable' });
    const named = Object.defineProperty(new Response('x', { status: 404 }), 'url', { value: 'https://example.org/x.onnx' });
    await assert.rejects(call(named), { code: 'unreadable', message: "cannot fetch 'https://example.org/x.onnx': 404" });
    const broken = (error) => new Response(new ReadableStream({ pull: (controller) => controller.error(error) }));
    await assert.rejects(call(broken(new TypeError('terminated'))), { name: 'NnexError', code: 'unreadable', message: 'the response: terminated' });
    await assert.rejects(call(broken(new DOMException('enough', 'AbortError'))), { name: 'AbortError' });
    const gone = Object.assign(new Blob([affine]), { name: 'gone.onnx', arrayBuffer: async () => { throw new DOMException('no longer there', 'NotReadableError'); } });
    await assert.rejects(call(gone), { name: 'NnexError', code: 'unreadable', message: "cannot read 'gone.onnx': no longer there" });
  }
});

test('of files by their names some may be Blobs', async () => {
  const w = { type: 'float32', dims: [4096], data: Float32Array.from({ length: 4096 }, (_, i) => i) };
  const network = onnx({ inputs: { x: ['float32', [4096]] }, outputs: { y: ['float32', [4096]] }, nodes: [{ op: 'Mul', in: ['x', 'w'], out: ['y'] }], initializers: { w } });
  const files = await convert(network, { to: 'onnx', externalData: true });
  const [model, data] = [...files.keys()].sort((a, b) => a.length - b.length);
  for (const blob of [model, data]) {
    const copied = files.get(data).slice(), given = { [model]: files.get(model), [data]: copied, [blob]: new Blob([files.get(blob)]) };
    const loading = load(given);
    copied.fill(0); // it was copied at the call
    assert.deepEqual((await (await loading).run({ x: new Float32Array(4096).fill(1) })).y.data, w.data);
  }
  const gone = Object.assign(new Blob([network]), { arrayBuffer: async () => { throw new DOMException('no longer there', 'NotReadableError'); } });
  await assert.rejects(load({ 'm.onnx': gone }), { code: 'unreadable', message: "cannot read 'm.onnx': no longer there" });
});
