// serve_clients.mjs NNEX: `nnex serve` from clients of Node.js: undici, and @grpc/grpc-js over the public proto. Both are installed by npm into a scratch
// folder (bindings/js/test/support/peers.mjs); where they cannot be, that is said and the exit code is 77. Last line: N passed, N failed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { folder, missing } from '../bindings/js/test/support/peers.mjs';

const nnex = resolve(process.argv[2]);
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const why = missing({ undici: '6.21.1', '@grpc/grpc-js': '1.12.5', '@grpc/proto-loader': '0.7.13' });
if (why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}
const load = createRequire(pathToFileURL(join(folder, 'x.mjs')));

/** The floats of a stored tensor: its field raw_data, the last of the message. */
function tensor(name, count) {
  const bytes = readFileSync(join(root, 'models/shapes/test_data_set_1', name));
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + bytes.length - 4 * count, bytes.byteOffset + bytes.length));
}
const pictures = tensor('input_0.pb', 8 * 3072);
const probabilities = tensor('output_0.pb', 64);
const picture = (i) => pictures.slice(3072 * i, 3072 * (i + 1));
const close = (found, i) => {
  assert.equal(found.length, 8);
  found.forEach((x, k) => assert.ok(Math.abs(x - probabilities[8 * i + k]) < 1e-4, `picture ${i}: ${found}`));
};

/** A server, and the ports that it prints. */
async function server(...words) {
  const process = spawn(nnex, ['serve', join(root, 'models/shapes/model.onnx'), '--port', '0', ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((done) => process.on('exit', done));
  const ports = {};
  for await (const line of createInterface(process.stdout)) {
    const [, scheme, port] = /^nnex: serving on (\w+):\/\/127\.0\.0\.1:(\d+)$/.exec(line);
    ports[scheme] = Number(port);
    if (scheme === 'http') break;
  }
  assert.ok(ports.http, 'no server');
  return { ...ports, stop: () => process.kill('SIGINT') && ended };
}

const tests = {
  async undici() {
    const { Pool } = load('undici');
    const s = await server();
    const pool = new Pool(`http://127.0.0.1:${s.http}`, { connections: 4, pipelining: 1 });
    const ask = async (i) => {
      const head = Buffer.from(JSON.stringify({
        inputs: [{ name: 'picture', datatype: 'FP32', shape: [1, 3, 32, 32], parameters: { binary_data_size: 4 * 3072 } }], parameters: { binary_data_output: true } }));
      const { statusCode, headers, body } = await pool.request({ path: '/v2/models/model/infer', method: 'POST',
        headers: { 'inference-header-content-length': String(head.length) }, body: Buffer.concat([head, Buffer.from(picture(i).buffer)]) });
      const answer = Buffer.from(await body.arrayBuffer());
      assert.equal(statusCode, 200, answer.toString());
      const size = Number(headers['inference-header-content-length']);
      assert.deepEqual(JSON.parse(answer.subarray(0, size)).outputs[0].shape, [1, 8]);
      close(new Float32Array(answer.buffer.slice(answer.byteOffset + size, answer.byteOffset + answer.length)), i);
    };
    await Promise.all(Array.from({ length: 64 }, (_, n) => ask(n % 8)));
    const post = (body) => pool.request({ path: '/v2/models/model/infer', method: 'POST', body: JSON.stringify(body) });
    const good = await post({ inputs: [{ name: 'picture', datatype: 'FP32', shape: [1, 3, 32, 32], data: Array.from(picture(6)) }] });
    close((await good.body.json()).outputs[0].data, 6);
    const bad = await post({ inputs: [] });
    assert.equal(bad.statusCode, 400);
    assert.match((await bad.body.json()).error, /no inputs/);
    await pool.close();
    assert.equal(await s.stop(), 0);
  },
  async 'grpc-js'() {
    if (!existsSync(join(dirname(nnex), 'nnex-grpc.so'))) return 'this build has no nnex-grpc.so';
    const grpc = load('@grpc/grpc-js');
    const proto = load('@grpc/proto-loader').loadSync(join(root, 'apps/serve/grpc/inference.proto'), { keepCase: true, longs: String, defaults: true });
    const { GRPCInferenceService } = grpc.loadPackageDefinition(proto).inference;
    const s = await server('--grpc-port', '0');
    const client = new GRPCInferenceService(`127.0.0.1:${s.grpc}`, grpc.credentials.createInsecure());
    const call = (method, message) => new Promise((done, fail) => client[method](message, { deadline: Date.now() + 20000 }, (e, r) => (e ? fail(e) : done(r))));
    assert.equal((await call('ServerReady', {})).ready, true);
    assert.deepEqual((await call('ModelMetadata', { name: 'model' })).inputs, [{ name: 'picture', datatype: 'FP32', shape: ['-1', '3', '32', '32'] }]);
    const ask = async (i, raw) => {
      const input = { name: 'picture', datatype: 'FP32', shape: [1, 3, 32, 32], ...(raw ? {} : { contents: { fp32_contents: Array.from(picture(i)) } }) };
      const r = await call('ModelInfer', { model_name: 'model', id: `${i}`, inputs: [input], raw_input_contents: raw ? [Buffer.from(picture(i).buffer)] : [] });
      assert.equal(r.id, `${i}`);
      const bytes = r.raw_output_contents[0];
      close(new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)), i);
    };
    await Promise.all(Array.from({ length: 64 }, (_, n) => ask(n % 8, n % 2 === 0)));
    await assert.rejects(call('ModelInfer', { model_name: 'none' }), (e) => e.code === grpc.status.NOT_FOUND && /no model 'none'/.test(e.details));
    await assert.rejects(call('ModelInfer', { model_name: 'model' }), (e) => e.code === grpc.status.INVALID_ARGUMENT);
    client.close();
    assert.equal(await s.stop(), 0);
    return undefined;
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    const left = await test();
    console.log(left ? `  ${name}: ${left}` : `ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.stack}`);
  }
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
