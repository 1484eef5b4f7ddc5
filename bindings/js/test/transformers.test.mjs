// transformers.js over nnex/onnxruntime answers as over onnxruntime-node: features, classes, generation with a cache.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { folder as peers, missing } from './support/peers.mjs';
import { writeModels } from './support/tiny-transformers.mjs';

const skip = missing({ '@huggingface/transformers': '4.3.1', 'onnxruntime-node': '1.30.0' });
const client = fileURLToPath(new URL('support/transformers-client.mjs', import.meta.url));

test('transformers.js answers alike over both runtimes', { skip, timeout: 300_000 }, () => {
  const models = mkdtempSync(join(tmpdir(), 'nnex-transformers-'));
  try {
    writeModels(models);
    const answers = (runtime) => JSON.parse(execFileSync(process.execPath, [client, peers, models, runtime], { encoding: 'utf8' }).trim().split('\n').pop());
    const ours = answers('nnex');
    const theirs = answers('onnxruntime-node');

    assert.ok(ours.runs > 40, `${ours.runs} runs of our sessions`);
    assert.equal(ours.features.length, 3);
    ours.features.forEach(({ dims, data }, i) => {
      assert.deepEqual(dims, theirs.features[i].dims);
      data.forEach((value, k) => assert.ok(Math.abs(value - theirs.features[i].data[k]) < 1e-4, `feature ${i}[${k}]: ${value}, ${theirs.features[i].data[k]}`));
    });
    assert.deepEqual(ours.features[0].dims.slice(0, 1), [3]);
    assert.equal(ours.classes.length, 3);
    ours.classes.forEach((labels, i) =>
      labels.forEach(({ label, score }, k) => {
        assert.equal(label, theirs.classes[i][k].label);
        assert.ok(Math.abs(score - theirs.classes[i][k].score) < 1e-5);
      }),
    );
    assert.deepEqual(ours.generated, theirs.generated);
    const [{ generated_text: text }] = ours.generated[0];
    assert.ok(text.startsWith('the cat') && text.split(' ').length >= 20, text);
    assert.ok(new Set(text.split(' ')).size > 3, text);
  } finally {
    rmSync(models, { recursive: true });
  }
});
