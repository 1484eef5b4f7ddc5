// answers.test.mjs: what the page answers is what nnex answers, or is refused where it was asked; what goes in and comes out whole. page.test.mjs runs it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inspect } from 'nnex';
import { identity, onnx } from '../test/support/onnx-writer.mjs';
import { address, attempt, drop, error, f4, file, fill, focused, page, results, run, show, skip, text, unary, until, wav, written } from './harness.mjs';

const fast = { skip, timeout: 60_000 };
/** Types into the field of an input that has this label. */
const set = (label, value) => page.$eval(`[aria-label="${label}"]`, (field, given) => { field.value = given; }, value);
const choose = async (path) => (await page.$('#run input[type=file]')).uploadFile(path);
const picked = onnx({ inputs: { i: ['int64', ['n']] }, outputs: { y: ['float32', ['n']] }, nodes: [{ op: 'Gather', in: ['t', 'i'], out: ['y'] }],
  initializers: { t: { type: 'float32', dims: [3], data: Float32Array.of(10, 20, 30) } } });

test('an index outside is refused as nnex refuses it, whoever runs', fast, async () => {
  await drop(written('gather.onnx', picked));
  await set('Extents of i', '4');
  await fill('i', '2 0 2 1');
  await run();
  assert.match(await text('#way'), /^Run by WebNN/);
  assert.match(await text('#answer'), /nnex itself ran it first: it refused none, and the answers differ by 0 at most/);
  await fill('i', '3 0 2 1');
  assert.match(await attempt(), /index 3 is outside \[-3, 3\)/);
  assert.deepEqual(await results(), []);
  const cell = { x: ['float32', [3, 1, 4]], w: ['float32', [1, 20, 4]], r: ['float32', [1, 20, 5]], n: ['int32', [1]] };
  await drop(written('lstm.onnx', onnx({ inputs: cell, outputs: { y: ['float32', [3, 1, 1, 5]] }, nodes: [{ op: 'LSTM', in: ['x', 'w', 'r', '', 'n'], out: ['y'], attributes: { hidden_size: 5 } }] })));
  await fill('n', '2');
  await run();
  assert.match(await text('#way'), /^Run by WebNN/);
  await fill('n', '9');
  assert.match(await attempt(), /length 9 of row 0 is outside \[0, 3\]/);
  await drop(written('negated.onnx', unary('Neg')));
  await run();
  assert.doesNotMatch(await text('#answer'), /nnex itself ran it/);
});

test('extents that the model does not take, and symbols that disagree, are refused', fast, async () => {
  const pair = { a: ['int64', ['batch', 'tokens']], b: ['int64', ['batch', 'tokens']] };
  await drop(written('pair.onnx', onnx({ inputs: pair, outputs: { y: ['int64', ['batch', 'tokens']] }, nodes: [{ op: 'Add', in: ['a', 'b'], out: ['y'] }] })));
  await set('Extents of a', '1 4');
  assert.equal(await attempt(), "input 'b': found i64[1,1]; needed i64[batch,tokens]; tokens is 4 in another place");
  assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Extents of b');
  await set('Extents of b', '[1, 4]');
  await run();
  await drop(written('fixed.onnx', identity(['float32', [1, 3, 2, 2]])));
  for (const extents of ['1 3 3 3', '1 3 2']) {
    await set('Extents of a', extents);
    assert.equal(await attempt(), `input 'a': found f32[${extents.replaceAll(' ', ',')}]; needed f32[1,3,2,2]`);
  }
});

test('an error stands in sight beside what it is about, and no earlier answer beside it', fast, async () => {
  const inputs = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`x${i}`, f4]));
  await drop(written('many.onnx', onnx({ inputs, outputs: { y: f4 }, nodes: [{ op: 'Sum', in: Object.keys(inputs), out: ['y'] }] })));
  await run();
  assert.equal((await results()).length, 4);
  await fill('x0', 'abc');
  await page.$eval('#run form button.act', (button) => button.scrollIntoView());
  assert.equal(await attempt(), "input 'x0': found 'abc', which is no number; needed numbers, random or zeros");
  assert.deepEqual(await results(), []);
  const [inside, invalid, described] = await page.evaluate(() => {
    const { top, bottom } = document.getElementById('error').getBoundingClientRect(), field = document.activeElement;
    return [top >= 0 && bottom <= innerHeight, field.id === 'input-x0' && field.getAttribute('aria-invalid'), field.getAttribute('aria-describedby').split(' ').includes('error')];
  });
  assert.deepEqual([inside, invalid, described], [true, 'true', true]);
  await fill('x0', '1');
  await run();
  assert.equal(await page.$eval('[id="input-x0"]', (field) => field.hasAttribute('aria-invalid')), false);
});

test('extents that the model leaves open are named where a run fails for them', fast, async () => {
  const pool = onnx({ inputs: { image: ['float32', [1, 1, 'height', 'width']] }, outputs: { y: ['float32', [1, 1, 'h', 'w']] },
    nodes: [{ op: 'MaxPool', in: ['image'], out: ['y'], attributes: { kernel_shape: [2, 2] } }] });
  await drop(written('pool.onnx', pool));
  assert.match(await text('#run'), /leaves height, width open: they follow from what you give, else they are 1/);
  assert.match(await attempt(), /a window of 2 elements[^]*Extents that the model leaves open are 1 \('image'\): the fields 'extents' take others/);
  await set('Extents of image', '1 1 2 2');
  await run();
});

test('a picture is normalised as its fields say', fast, async () => {
  await drop(written('coloured.onnx', identity(['float32', [1, 3, 1, 1]])));
  await show('run');
  assert.equal(await page.$eval('[aria-label="Mean of a"]', (field) => field.checkVisibility()), false);
  await choose(file('../../../models/shapes/heart.png'));
  const colours = async () => {
    await run();
    return new Map((await results()).map(([place, x]) => [place, Number(x)]));
  };
  const plain = await colours();
  await set('Mean of a', '1');
  await set('Deviation of a', '2, 4, 2');
  await set('Order of colours of a', 'bgr');
  const made = await colours();
  for (const [c, deviation] of [2, 4, 2].entries())
    assert.ok(Math.abs(made.get(`0, ${c}, 0, 0`) - (plain.get(`0, ${2 - c}, 0, 0`) - 1) / deviation) < 1e-5, `channel ${c}`);
  await set('Mean of a', 'grey');
  assert.equal(await attempt(), "input 'a': found the mean 'grey', which is no number");
  assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Mean of a');
});

test('an output that is a picture is shown as one, and saved', fast, async () => {
  await drop(written('shown.onnx', identity(['float32', [1, 3, 16, 16]])));
  await show('run');
  await choose(file('../../../models/shapes/heart.png'));
  await run();
  const shown = () => page.$eval('.picture canvas', (canvas) => [canvas.width, canvas.height, canvas.getAttribute('aria-label'), ...canvas.getContext('2d').getImageData(8, 8, 1, 1).data]);
  const at = async (c) => page.$eval('.picture select', (select, value) => {
    select.value = value;
    select.dispatchEvent(new Event('change'));
  }, c);
  assert.equal(await page.$eval('.picture', ({ open }) => open), true);
  const [width, height, label, ...colour] = await shown();
  assert.deepEqual([width, height, label], [16, 16, 's as a picture, 16 x 16; black is 0, white 1.']);
  for (const c of [0, 1, 2]) {
    await at(String(c));
    assert.deepEqual((await shown()).slice(3), [colour[c], colour[c], colour[c], 255]);
  }
  assert.equal(await page.$eval('[aria-label="Save s as a picture"]', (button) => button.textContent), '.png');
  await drop(written('many.onnx', identity(['float32', [1, 5, 12, 12]])));
  await run();
  assert.equal(await page.$eval('.picture', ({ open }) => open), false);
  await page.click('.picture summary');
  await until("document.querySelector('.picture canvas').getAttribute('aria-label')?.includes('a colour for each channel')");
  await drop(written('row.onnx', identity(['float32', [1, 1000]])));
  await run();
  assert.equal(await page.$('.picture'), null);
});

test('an output that may be a sound is played', fast, async () => {
  await drop(written('played.onnx', identity(['float32', [1, 4000]])));
  await fill('a', 'zeros');
  await run();
  await page.click('.sound summary');
  await until("document.querySelector('.sound audio').duration === 0.25");
  await set('Samples a second of s', '8000');
  await page.$eval('[aria-label="Samples a second of s"]', (field) => field.dispatchEvent(new Event('change')));
  await until("document.querySelector('.sound audio').duration === 0.5");
  await set('Samples a second of s', '1');
  await page.$eval('[aria-label="Samples a second of s"]', (field) => field.dispatchEvent(new Event('change')));
  assert.equal(await text('.sound p'), 'found the rate 1; needed 3000 to 384000 samples a second');
});

/** A sound of two channels of 16 bits. */
function stereo(...frames) {
  const made = wav(...frames.flat());
  made.writeUInt32LE(1 + (2 << 16), 20);
  made.writeUInt32LE(64000, 28);
  made.writeUInt32LE(4 + (16 << 16), 32);
  return made;
}
test('the channels of a sound are mixed, and its rate is the user\'s', fast, async () => {
  await drop(written('sound.onnx', identity(['float32', [1, 4]])));
  await show('run');
  await choose(written('stereo.wav', stereo([16384, 0], [0, -16384])));
  await run();
  assert.deepEqual((await results()).map(([place, x]) => [place, Math.round(x * 1000) / 1000]), [['0, 0', 0.25], ['0, 2', 0], ['0, 3', 0], ['0, 1', -0.25]]);
  await set('Samples a second for a', 'fast');
  assert.equal(await attempt(), "input 'a': found the rate 'fast'; needed samples a second, such as 16000");
  await set('Samples a second for a', '8000');
  await choose(written('steady.wav', wav(...Array(400).fill(8192))));
  await run();
  await set('Samples a second for a', '1000');
  assert.match(await attempt(), /found the rate 1000; needed 3000 to 384000/);
});

test('open extents follow from a sound, a picture or numbers, and what is cut off is told', fast, async () => {
  const extents = () => page.$eval('[aria-label="Extents of a"]', (field) => field.value);
  await drop(written('long.onnx', identity(['float32', ['n', 't']])));
  await show('run');
  await choose(written('short.wav', wav(16384, 0, 0, 8192, 0)));
  await run();
  assert.equal(await extents(), '1 5');
  assert.equal((await results()).length, 5);
  await set('Extents of a', '1 2');
  await run();
  assert.match(await text('#run'), /short\.wav: taken, instead of the numbers; 5 samples, of which the first 2 are used/);
  await set('Extents of a', '1 8');
  await run();
  assert.match(await text('#run'), /short\.wav: taken, instead of the numbers; 5 samples, then silence/);
  await drop(written('picture.onnx', identity(['uint8', ['n', 3, 'h', 'w']])));
  await show('run');
  const heart = file('../../../models/shapes/heart.png');
  await choose(heart);
  await run();
  const size = (at) => readFileSync(heart).readUInt32BE(at);
  assert.equal(await extents(), `1 3 ${size(20)} ${size(16)}`);
  await drop(written('row.onnx', identity(['float32', ['n']])));
  for (const [typed, rows] of [['[1, 2, 3]', 3], ['1 2', 2], ['["NaN", 4]', 1]]) {
    await fill('a', typed);
    await run();
    assert.equal((await results()).length, rows, typed);
  }
  await choose(written('rows.csv', '1,2,3\n'));
  assert.equal(await attempt(), "input 'a': 'rows.csv' is no .npy, .npz, .pb, .json, picture or sound");
});

/** What buttons of saving save: [name, bytes]. */
async function saved(label) {
  await page.evaluate(() => {
    globalThis.stored = [];
    HTMLAnchorElement.prototype.click = () => {}; // nothing is saved in fact
    globalThis.objects ??= URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      stored.push(blob.arrayBuffer().then((bytes) => [...new Uint8Array(bytes)]));
      return objects(blob);
    };
  });
  await page.$eval(`[aria-label="Save ${label}"]`, (button) => button.click());
  return Uint8Array.from(await page.evaluate('stored[0]'));
}
test('tensors of files go in, and whole outputs go out', fast, async () => {
  await drop(written('pair.onnx', onnx({ inputs: { x: ['float32', ['n', 2]], k: ['int64', [2]] }, outputs: { y: ['float32', ['n', 2]], l: ['int64', [2]] },
    nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }, { op: 'Neg', in: ['k'], out: ['l'] }] })));
  await show('run');
  const [x, k] = await page.$$('#run input[type=file]');
  await x.uploadFile(written('feeds.json', '{"k": [1, 2], "x": [[1, 2], [3, 4], [5, "NaN"]]}'));
  await k.uploadFile(written('feeds2.json', '{"k": [9007199254740993, 2]}'));
  await until("document.querySelector('[aria-label=\"Extents of x\"]').value === '3 2'");
  await run();
  assert.deepEqual((await results()).slice(0, 2), [['0, 0', '-1'], ['0, 1', '-2']]);
  const npy = await saved('y.npy');
  assert.match(Buffer.from(npy).toString('latin1'), /^\x93NUMPY\x01\x00v\x00\{'descr': '<f4', 'fortran_order': False, 'shape': \(3, 2\), \} *\n/);
  assert.equal(npy.length, 128 + 24);
  assert.equal(Buffer.from(await saved('y.json')).toString(), '[[-1, -2],\n[-3, -4],\n[-5, "NaN"]]\n');
  assert.match(Buffer.from(await saved('l.json')).toString(), /^\[-900719925474099[23], -2\]\n$/);
  await x.uploadFile(written('y.npy', npy));
  await until("document.querySelector('#run').textContent.includes('y.npy: taken')");
  await run();
  assert.deepEqual((await results()).slice(0, 2), [['2, 0', '5'], ['1, 1', '4']]);
  await x.uploadFile(written('bad.npy', 'no array'));
  assert.match(await attempt(), /^input 'x': 'bad\.npy': found no array of NumPy’s/);
  await fill('x', '[[1, 2]]');
  await run();
  assert.deepEqual((await results())[0], ['0, 0', '-1']);
});

test('an output of truths is saved as truths, whoever ran', fast, async () => {
  await drop(written('truths.onnx', onnx({ inputs: { a: f4 }, outputs: { y: ['bool', [4]] }, nodes: [{ op: 'Greater', in: ['a', 'zero'], out: ['y'] }],
    initializers: { zero: { type: 'float32', dims: [1], data: Float32Array.of(0) } } })));
  await fill('a', '1 -1 2 -2');
  await run();
  assert.match(await text('#way'), /^Run by WebNN/);
  assert.match(Buffer.from(await saved('y.npy')).toString('latin1'), /'descr': '\|b1'/);
  assert.equal(Buffer.from(await saved('y.json')).toString(), '[true, false, true, false]\n');
});

test('random inputs are those of the seed that is shown', fast, async () => {
  await drop(written('random.onnx', identity(f4)));
  const once = async (seed) => {
    await page.$eval('#seed', (field, value) => { field.value = value; }, seed);
    await run();
    return JSON.stringify(await results());
  };
  const first = await once('1');
  assert.notEqual(await once('2'), first);
  assert.equal(await once('1'), first);
  await page.$eval('#seed', (field) => { field.value = '-1'; });
  assert.match(await attempt(), /^seed: found '-1'/);
  assert.equal(await focused(), 'input ');
});

test('conversion leaves extents open unless they are said', fast, async () => {
  await drop(written('open.onnx', onnx({ inputs: { x: ['float32', ['batch', 3]] }, outputs: { y: ['float32', ['batch', 3]] }, nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }] })));
  await show('convert');
  await page.evaluate(() => {
    const { createObjectURL } = URL;
    URL.createObjectURL = (blob) => {
      globalThis.made = blob.arrayBuffer().then((content) => [...new Uint8Array(content)]);
      return createObjectURL(blob);
    };
  });
  await page.click('#convert button.act');
  await until("document.getElementById('status').textContent === 'Converted to ONNX; open: batch'");
  const { inputs: [{ text: type }] } = await inspect(Uint8Array.from(await page.evaluate('made')));
  assert.equal(type, 'f32[batch,3]');
  await page.select('#to', 'nnef');
  await page.click('#convert button.act');
  await until("!document.getElementById('error').hidden");
  assert.match(await error(), /'x' is f32\[batch,3\]; NNEF needs numbers for extents/);
  assert.equal(await page.evaluate('document.activeElement.id'), 'symbol-batch');
});

test('one of several models is chosen by its name', fast, async () => {
  await drop(written('two/a.onnx', unary('Neg')), written('two/b.onnx', unary('Abs')));
  assert.match(await text('#status'), /^a\.onnx: ONNX, sound/);
  await page.select('#one', 'b.onnx');
  await until("document.getElementById('status').textContent.startsWith('b.onnx: ')");
  await fill('x', '-2');
  await run();
  assert.deepEqual((await results())[0], ['0', '2']);
  await drop(written('negated.onnx', unary('Neg')));
  assert.equal(await page.$('#one'), null);
});

test('lists that are cut say so, and unknown bytes are no sound model of anything', fast, async () => {
  const rows = Array.from({ length: 1200 }, (_, i) => ({ op: 'Neg', in: [`no${i}`], out: [`y${i}`] }));
  await drop(written('faulty.onnx', onnx({ inputs: { x: f4 }, outputs: { y0: f4 }, nodes: rows })));
  const [, all] = /(\d[\d,]*) faults/.exec(await text('#status')), listed = await page.$$eval('#faults .fault.error', (faults) => faults.length);
  assert.ok(Number(all.replace(',', '')) > listed, all);
  assert.match(await text('#faults'), new RegExp(`The first ${listed.toLocaleString('en')} of ${all} are listed`));
  await drop(written('bytes.bin', Uint8Array.from({ length: 100 }, (_, i) => (i * 37) & 255)));
  assert.match(await text('#status'), /^bytes\.bin: taken for ONNX, 1 fault/);
  const chain = Array.from({ length: 25 }, (_, i) => ({ op: i % 2 ? 'Erf' : 'Cos', in: [i ? `v${i}` : 'x'], out: [i === 24 ? 'y' : `v${i + 1}`] }));
  await drop(written('chain.onnx', onnx({ inputs: { x: f4 }, outputs: { y: f4 }, nodes: chain })));
  await run();
  await page.click('#run .times button');
  await until("document.getElementById('run').textContent.includes('Time by node')");
  const [, nodes] = /Time by node(\d+) node/.exec(await text('#run'));
  assert.equal(/the slowest 20 are listed/.test(await text('#run')), Number(nodes) > 20);
});

test('files that a browser has are not sent anew', { skip }, async () => {
  const { headers } = await fetch(new URL('nnex/nnex.wasm', address)), tag = headers.get('etag');
  const again = await fetch(new URL('nnex/nnex.wasm', address), { headers: { 'if-none-match': tag } });
  assert.deepEqual([again.status, (await again.arrayBuffer()).byteLength], [304, 0]);
  assert.equal((await fetch(new URL('page.js', address), { headers: { 'if-none-match': tag } })).status, 200);
});
