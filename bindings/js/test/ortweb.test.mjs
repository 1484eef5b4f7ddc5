// A real client: onnxruntime-web's WebNN provider in Node over our navigator.ml, on the networks of ../shared/models with the answers
// stored there (our own engine gives the same: ./test --only conformance).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { installed } from './clients/scratch.mjs';

const shared = process.env.NNEX_SHARED ?? fileURLToPath(new URL('../../../../shared', import.meta.url));
const folder = join(shared, 'models/onnx');
const { place, missing } = existsSync(folder) ? installed('onnxruntime-web@1.30.0') : { missing: `${folder} is missing (set NNEX_SHARED)` };
const names = missing ? [] : readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name);

/** All networks in one process, which compiles the client's module once: rows by name, and what the process said. */
const ran = missing ? undefined : new Promise((resolve) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('clients/ortweb_run.mjs', import.meta.url)), place, folder, ...names]);
  let stdout = '', stderr = '';
  child.stdout.on('data', (text) => { stdout += text; });
  child.stderr.on('data', (text) => { stderr += text; });
  child.on('close', () => resolve({ rows: new Map(stdout.trim().split('\n').filter(Boolean).map((line) => [JSON.parse(line).name, JSON.parse(line)])), stderr }));
});

test('onnxruntime-web by WebNN', { skip: missing }, async (t) => {
  const { rows, stderr } = await ran;
  for (const name of names)
    await t.test(name, (one) => {
      const row = rows.get(name);
      assert.ok(row, `the process ended before: ${stderr.slice(-1000)}`);
      one.diagnostic(`${row.operations} operations, ${row.dispatches} dispatches`);
      assert.equal(row.error, undefined);
      assert.deepEqual(row.wrong, []);
      if (row.operations === 0) one.skip('the provider takes no node of this network');
      else assert.ok(row.dispatches > 0, 'operations were built and none was run');
    });
});
