/**
 * Writes tiny transformers with random weights as transformers.js wants them: onnx/model.onnx, config.json, tokenizer.json and
 * tokenizer_config.json, with a vocabulary of our own.
 *
 *     node tiny-transformers.mjs FOLDER    encoder/, classifier/ and decoder/ in it
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onnx } from './onnx-writer.mjs';

const kWords = (
  '[PAD] [UNK] [CLS] [SEP] a an and are bad bird blue cat day dog film fine for good green happy he her his in is it light like many movie night no not of on one ' +
  'red river run sad sea she sky small star sun that the they this to tree two very was water we were what wind with you . , ! ?'
).split(' ');
const H = 32; // width
const heads = 4;
const headSize = H / heads;
const layers = 2;
const positions = 128;

/** Collects the nodes and weights of a graph. */
class Network {
  nodes = [];
  initializers = {};
  #count = 0;
  #seed;
  constructor(seed) {
    this.#seed = seed;
  }
  /** Numbers in [-scale, scale). */
  random(dims, scale) {
    const data = new Float32Array(dims.reduce((a, b) => a * b, 1));
    for (let i = 0; i < data.length; i++) {
      this.#seed = (Math.imul(this.#seed, 1664525) + 1013904223) >>> 0;
      data[i] = (this.#seed / 2 ** 31 - 1) * scale;
    }
    return this.#keep({ type: 'float32', dims, data });
  }
  filled(dims, value) {
    return this.#keep({ type: 'float32', dims, data: new Float32Array(dims.reduce((a, b) => a * b, 1)).fill(value) });
  }
  ints(values, dims = [values.length]) {
    return this.#keep({ type: 'int64', dims, data: BigInt64Array.from(values, BigInt) });
  }
  #keep(tensor) {
    const name = `w${this.#count++}`;
    this.initializers[name] = tensor;
    return name;
  }
  op(op, inputs, attributes = {}, out = `v${this.#count++}`) {
    this.nodes.push({ op, in: inputs, out: [out], attributes });
    return out;
  }
  linear(x, from, to) {
    return this.op('Add', [this.op('MatMul', [x, this.random([from, to], 0.4)]), this.random([to], 0.1)]);
  }
  norm(x) {
    return this.op('LayerNormalization', [x, this.random([H], 1), this.random([H], 0.1)], { axis: -1 });
  }
  gelu(x) {
    const inner = this.op('Erf', [this.op('Div', [x, this.filled([], Math.SQRT2)])]);
    return this.op('Mul', [this.op('Mul', [x, this.filled([], 0.5)]), this.op('Add', [inner, this.filled([], 1)])]);
  }
  split(x) {
    return this.op('Transpose', [this.op('Reshape', [x, this.ints([0, 0, heads, headSize])])], { perm: [0, 2, 1, 3] });
  }
  /** Attention with a bias that says what each position may see; `past`: names of the keys and values before. */
  attention(x, bias, past, present) {
    const q = this.split(this.linear(x, H, H));
    let k = this.split(this.linear(x, H, H));
    let v = this.split(this.linear(x, H, H));
    if (past) [k, v] = [this.op('Concat', [past.key, k], { axis: 2 }, present.key), this.op('Concat', [past.value, v], { axis: 2 }, present.value)];
    const scores = this.op('Div', [this.op('MatMul', [q, this.op('Transpose', [k], { perm: [0, 1, 3, 2] })]), this.filled([], Math.sqrt(headSize))]);
    const weights = this.op('Softmax', [this.op('Add', [scores, bias])], { axis: -1 });
    const seen = this.op('Transpose', [this.op('MatMul', [weights, v])], { perm: [0, 2, 1, 3] });
    return this.linear(this.op('Reshape', [seen, this.ints([0, 0, H])]), H, H);
  }
  layer(x, bias, past, present) {
    const a = this.norm(this.op('Add', [x, this.attention(x, bias, past, present)]));
    return this.norm(this.op('Add', [a, this.linear(this.gelu(this.linear(a, H, 2 * H)), 2 * H, H)]));
  }
  /** 0 where the mask (int64, broadcast) is 1, else -1e9. */
  bias(mask) {
    const f = this.op('Cast', [mask], { to: 1 });
    return this.op('Mul', [this.op('Sub', [this.filled([], 1), f]), this.filled([], -1e9)]);
  }
}

const ids = ['int64', ['batch_size', 'sequence']];

/** Hidden states of a BERT-like encoder. */
function encode(g) {
  const words = g.op('Gather', [g.random([kWords.length, H], 1), 'input_ids']);
  const kinds = g.op('Gather', [g.random([2, H], 0.2), 'token_type_ids']);
  const length = g.op('Slice', [g.op('Shape', ['input_ids']), g.ints([1]), g.ints([2])]);
  const places = g.op('Slice', [g.random([positions, H], 0.5), g.ints([0]), length]);
  let x = g.norm(g.op('Add', [g.op('Add', [words, kinds]), places]));
  const bias = g.bias(g.op('Unsqueeze', ['attention_mask', g.ints([1, 2])]));
  for (let i = 0; i < layers; i++) x = g.layer(x, bias);
  return x;
}
function encoder() {
  const g = new Network(1);
  g.op('Identity', [encode(g)], {}, 'last_hidden_state');
  return onnx({ ...g, inputs: { input_ids: ids, attention_mask: ids, token_type_ids: ids }, outputs: { last_hidden_state: ['float32', ['batch_size', 'sequence', H]] } });
}
function classifier(labels) {
  const g = new Network(2);
  const first = g.op('Gather', [encode(g), g.ints([0], [])], { axis: 1 });
  g.op('Identity', [g.linear(g.op('Tanh', [g.linear(first, H, H)]), H, labels)], {}, 'logits');
  return onnx({ ...g, inputs: { input_ids: ids, attention_mask: ids, token_type_ids: ids }, outputs: { logits: ['float32', ['batch_size', labels]] } });
}
/** A GPT-like decoder that takes and gives keys and values. */
function decoder() {
  const g = new Network(3);
  const inputs = { input_ids: ids, attention_mask: ['int64', ['batch_size', 'total']], position_ids: ids };
  const outputs = { logits: ['float32', ['batch_size', 'sequence', kWords.length]] };
  const words = g.random([kWords.length, H], 1);
  let x = g.op('Add', [g.op('Gather', [words, 'input_ids']), g.op('Gather', [g.random([positions, H], 0.5), 'position_ids'])]);
  const at = (name, axis) => g.op('Gather', [g.op('Shape', [name]), g.ints([axis], [])]);
  const total = at('attention_mask', 1);
  const before = at('past_key_values.0.key', 2);
  const one = g.ints([1], []);
  const keys = g.op('Range', [g.ints([0], []), total, one]);
  const queries = g.op('Unsqueeze', [g.op('Range', [before, total, one]), g.ints([1])]);
  const causal = g.op('Cast', [g.op('LessOrEqual', [keys, queries])], { to: 7 });
  const bias = g.bias(g.op('Mul', [g.op('Unsqueeze', ['attention_mask', g.ints([1, 2])]), causal]));
  for (let i = 0; i < layers; i++) {
    const past = { key: `past_key_values.${i}.key`, value: `past_key_values.${i}.value` };
    const present = { key: `present.${i}.key`, value: `present.${i}.value` };
    for (const name of Object.values(past)) inputs[name] = ['float32', ['batch_size', heads, 'past', headSize]];
    for (const name of Object.values(present)) outputs[name] = ['float32', ['batch_size', heads, 'total', headSize]];
    x = g.layer(x, bias, past, present);
  }
  g.op('MatMul', [x, g.op('Transpose', [words], { perm: [1, 0] })], {}, 'logits');
  return onnx({ ...g, inputs, outputs });
}

const special = (id, content) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true });
/** Words between blanks and punctuation, in small letters. */
function tokenizer(bert) {
  return {
    version: '1.0', truncation: null, padding: null,
    added_tokens: ['[PAD]', '[UNK]', '[CLS]', '[SEP]'].map((token, id) => special(id, token)),
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: bert
      ? {
          type: 'TemplateProcessing',
          single: [{ SpecialToken: { id: '[CLS]', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '[SEP]', type_id: 0 } }],
          pair: [{ SpecialToken: { id: '[CLS]', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '[SEP]', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
          special_tokens: { '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] }, '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] } },
        }
      : null,
    decoder: null,
    model: { type: 'WordLevel', vocab: Object.fromEntries(kWords.map((word, id) => [word, id])), unk_token: '[UNK]' },
  };
}

function write(folder, model, config, files = {}) {
  mkdirSync(join(folder, 'onnx'), { recursive: true });
  writeFileSync(join(folder, 'onnx/model.onnx'), model);
  const bert = config.model_type === 'bert';
  const tokens = { pad_token: '[PAD]', unk_token: '[UNK]', cls_token: '[CLS]', sep_token: '[SEP]', ...(bert ? {} : { eos_token: '[SEP]', bos_token: '[CLS]' }) };
  const all = {
    'config.json': config,
    'tokenizer.json': tokenizer(bert),
    'tokenizer_config.json': { tokenizer_class: 'PreTrainedTokenizer', model_max_length: positions, padding_side: bert ? 'right' : 'left', ...tokens },
    ...files,
  };
  for (const [name, content] of Object.entries(all)) writeFileSync(join(folder, name), JSON.stringify(content));
}

/** Writes the three of them below a folder. */
export function writeModels(folder) {
  const bert = { model_type: 'bert', hidden_size: H, num_attention_heads: heads, num_hidden_layers: layers, vocab_size: kWords.length, max_position_embeddings: positions };
  write(join(folder, 'encoder'), encoder(), { ...bert, architectures: ['BertModel'] });
  const id2label = { 0: 'NEGATIVE', 1: 'NEUTRAL', 2: 'POSITIVE' };
  const label2id = Object.fromEntries(Object.entries(id2label).map(([id, label]) => [label, Number(id)]));
  write(join(folder, 'classifier'), classifier(3), { ...bert, architectures: ['BertForSequenceClassification'], id2label, label2id });
  const gpt = { model_type: 'gpt2', n_embd: H, n_head: heads, n_layer: layers, n_positions: positions, vocab_size: kWords.length, bos_token_id: 2, eos_token_id: 3, pad_token_id: 0 };
  write(join(folder, 'decoder'), decoder(), { ...gpt, architectures: ['GPT2LMHeadModel'] }, { 'generation_config.json': { bos_token_id: 2, eos_token_id: 3, pad_token_id: 0 } });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (process.argv.length !== 3) {
    console.error('usage: tiny-transformers.mjs FOLDER');
    process.exit(2);
  }
  writeModels(process.argv[2]);
}
