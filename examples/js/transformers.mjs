// transformers.js on nnex: two lines before it is loaded, and device: 'auto'.
//
//     npm install PACKAGES/nnex*.tgz @huggingface/transformers && node transformers.mjs FOLDER MODEL "some words"
//
// PACKAGES is what bindings/js/pack filled; FOLDER holds models as transformers.js has them (MODEL/onnx/model.onnx, MODEL/config.json, MODEL/tokenizer.json).
import { install } from 'nnex/onnxruntime';

const [folder, name, words] = process.argv.slice(2);
if (words === undefined) {
  console.error('usage: node transformers.mjs FOLDER MODEL "some words"');
  process.exit(2);
}
install();
const { env, pipeline } = await import('@huggingface/transformers');

env.localModelPath = folder;
env.allowRemoteModels = false;

const generate = await pipeline('text-generation', name, { device: 'auto', dtype: 'fp32' });
const [{ generated_text: text }] = await generate(words, { max_new_tokens: 16, do_sample: false });
console.log(text);
await generate.dispose();
