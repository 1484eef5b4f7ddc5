// transformers-client.mjs PEERS MODELS nnex|onnxruntime-node: what transformers.js answers over a runtime, as JSON.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [peers, models, runtime] = process.argv.slice(2);
const from = createRequire(pathToFileURL(`${peers}/x.mjs`));
let runs = 0;
if (runtime === 'nnex') {
  const ort = (await import('nnex/onnxruntime')).install();
  const { run } = ort.InferenceSession.prototype;
  ort.InferenceSession.prototype.run = function (...args) {
    runs++;
    return run.apply(this, args);
  };
}
const { pipeline, env } = from('@huggingface/transformers');
env.allowRemoteModels = false;
env.localModelPath = models;

const options = { dtype: 'fp32', ...(runtime === 'nnex' ? { device: 'auto' } : {}) };
const texts = ['The cat is happy.', 'We like the blue sea and the green tree, not the wind!', 'no'];

const extract = await pipeline('feature-extraction', 'encoder', options);
const features = [];
for (const pooling of ['none', 'mean', 'cls']) {
  const out = await extract(texts, { pooling, normalize: pooling === 'mean' });
  features.push({ dims: out.dims, data: Array.from(out.data) });
}
const classify = await pipeline('text-classification', 'classifier', options);
const classes = await classify(texts, { top_k: 3 });

const generate = await pipeline('text-generation', 'decoder', options);
const generated = [];
for (const [prompt, settings] of [
  ['the cat', { max_new_tokens: 24, do_sample: false }],
  [['a good day', 'she was on the'], { max_new_tokens: 12, do_sample: false }],
  ['two birds', { max_new_tokens: 8, do_sample: false, repetition_penalty: 1.5 }],
])
  generated.push(await generate(prompt, { ...settings, eos_token_id: -1 }));
await Promise.all([extract.dispose(), classify.dispose(), generate.dispose()]);
console.log(JSON.stringify({ features, classes, generated, runs }));
