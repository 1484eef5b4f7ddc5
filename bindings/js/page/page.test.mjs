// page.test.mjs: the page in a headless browser: a model is dropped, looked at, drawn, run and converted. SHOTS=FOLDER keeps pictures. What needs no
// browser is in parts.test.mjs, which runs with it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { check } from 'nnex';
import { identity, onnx } from '../test/support/onnx-writer.mjs';
import {
  address, attempt, browser, dark, drop, error, f4, faults, file, fill, focused, folder, headings, name, nnefTensor, page, results, run, shot, show, skip, start, text, unary, until, use, wav, written,
} from './harness.mjs';
import './answers.test.mjs';
import './looks.test.mjs';
import './parts.test.mjs';

test('a model is checked, inspected and drawn', { skip }, async () => {
  await shot('empty');
  await drop(file('../../../models/shapes/model.onnx'));
  assert.match(await text('#status'), /ONNX, sound/);
  assert.match(await text('#about'), /64,408/);
  assert.match(await text('#about'), /picture.*f32\[N,3,32,32\]/);
  await shot('about');
  await show('network');
  assert.equal(await page.$$eval('svg .node', (all) => all.length), 21 + 2);
  assert.ok(await page.$eval('svg .node', (node) => node.getAttribute('aria-label').startsWith('input picture: f32[N,3,32,32]; read by conv')));
  await shot('network');
});

test('it runs by WebNN, and nnex itself says where the time goes', { skip }, async () => {
  await run();
  assert.match(await text('#way'), /^Run by WebNN by nnex, which stands at navigator\.ml, [1-9]\d* operations$/);
  assert.equal(await page.$$eval('#run .fault', (all) => all.length), 0);
  assert.match(await text('#run'), /probabilities \[1, 8\]/);
  await page.click('#run .times button');
  await page.waitForFunction("document.getElementById('run').textContent.includes('Time by node')", { timeout: 60_000 });
  const [, apart] = /differs from WebNN’s by (\S+) at most/.exec(await text('#run'));
  assert.ok(Number(apart) < 1e-5, apart);
  await page.$eval('#way', (line) => line.scrollIntoView());
  await shot('run');
});

test('a WebNN of the browser is asked first, and its refusal is shown', { skip }, async () => {
  const other = await browser.newPage();
  await other.evaluateOnNewDocument(() => {
    class Builder {
      input() { throw new DOMException('no float32 today', 'NotSupportedError'); }
    }
    globalThis.MLGraphBuilder = Builder;
    Object.defineProperty(Navigator.prototype, 'ml', { get: () => ({ createContext: async () => ({ destroy() { ++globalThis.destroyed; } }) }), configurable: true });
    globalThis.destroyed = 0;
  });
  const [before, place] = [page, address];
  use(other);
  try {
    await page.goto(place);
    await drop(file('../../../models/shapes/model.onnx'));
    await run();
    assert.match(await text('#way'), /^Run by WebNN by nnex, /);
    assert.equal(await text('#run .fault'), 'Why not WebNNWebNN by this browser itself: no float32 today');
    assert.equal(await page.evaluate('destroyed'), 2);  // the polyfill's question, and the context that came to nothing
  } finally {
    use(before);
    await other.close();
  }
});

/** Converts what is open; the files that are offered. */
async function converted(to) {
  await show('convert');
  await page.evaluate(() => {
    globalThis.offered = [];
    globalThis.createObjectURL ??= URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      offered.push(blob);
      return createObjectURL(blob);
    };
    document.getElementById('status').textContent = '';
  });
  await page.$$eval('[id^=symbol-]', (fields, extent) => fields.forEach((field) => { field.value = extent; }), to === 'onnx' ? '' : '1');
  await page.select('#to', to);
  await page.click('#convert button.act');
  await until("document.getElementById('status').textContent.startsWith('Converted')", 20_000);
  const contents = await page.evaluate(() => Promise.all(offered.map(async (blob) => [blob.type, Array.from(new Uint8Array(await blob.arrayBuffer()))])));
  const names = await page.$$eval('#convert a[download]', (links) => links.map((a) => a.download));
  for (const [type] of contents) assert.equal(type, 'application/octet-stream');
  return new Map(names.map((each, i) => [each, Uint8Array.from(contents[i][1])]));
}
test('it is converted and downloaded', { skip, timeout: 120_000 }, async () => {
  for (const [to, names, format] of [['onnx', ['model.onnx'], 'ONNX'], ['nnef', ['model.tgz'], 'NNEF'], ['webnn', ['model.webnn', 'model.weights'], 'WebNN']]) {
    const files = await converted(to);
    assert.deepEqual([...files.keys()], names);
    const report = await (files.size > 1 ? check(files) : check(files.get(names[0]), { name: names[0] }));
    assert.deepEqual([report.sound, report.format], [true, format], to);
  }
  await shot('convert');
});

test('what a conversion leaves out is told', { skip, timeout: 120_000 }, async () => {
  await drop(written('told.onnx', onnx({ inputs: { x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }], modelDomain: 'example.one' })));
  const files = await converted('tar');
  assert.deepEqual([...files.keys()], ['model.tar']);
  assert.match(await text('#told'), /left out, as NNEF has no place for it: the domain 'example\.one'/);
  assert.match(await text('#status'), /^Converted to NNEF .*, with \d notes?/);
  assert.deepEqual([...(await converted('mjs')).keys()].slice(0, 1), ['model.mjs']);
  assert.match(Buffer.from((await converted('onnxtxt')).get('model.onnxtxt')).toString(), /^</);
  await drop(file('../../../models/shapes/model.onnx'));
});

test('nothing runs out of a narrow screen, in the dark either', { skip }, async () => {
  const { width, height } = page.viewport();
  await page.setViewport({ width: 390, height: 844 });
  for (const tab of ['about', 'network', 'run', 'convert', 'faults']) {
    await show(tab);
    const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(wide <= room, `${tab}: ${wide} of ${room}`);
  }
  await show('run');
  await shot('run-narrow');
  await dark(true);
  await shot('run-narrow-dark');
  await page.setViewport({ width, height });
  await shot('run-dark');
  await dark(false);
});

test('a network that WebNN has no words for is run by nnex itself, and the page says why', { skip }, async () => {
  await drop(written('unique.onnx', onnx({ inputs: { x: ['float32', [4]] }, outputs: { y: ['float32', ['n']] }, nodes: [{ op: 'Unique', in: ['x'], out: ['y'] }] })));
  await fill('x', '2 1 2 2');
  await run();
  assert.equal(await text('#way'), 'Run by nnex itself, not by WebNN');
  assert.match(await text('#run .fault'), /^Why not WebNN.*Unique/s);
  assert.match(await text('#run'), /y \[2\]/);
  await shot('run-refused');
});

test('a bad file says what is wrong with it', { skip }, async () => {
  const bad = written('bad.nnef', 'version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [1, 2]);\n  y = rely(x);\n}\n');
  await drop(bad);
  assert.equal(await text('#error'), '');
  assert.match(await text('#status'), /1 fault;/);
  assert.match(await text('#faults'), /rely/);
  await dark(true);
  await shot('faults-dark');
  assert.deepEqual(faults, []);
});

test('the keyboard goes through the tabs', { skip }, async () => {
  await page.focus('[role=tab][aria-selected=true]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.$eval('[role=tab][aria-selected=true]', (tab) => tab.id), 'tab-network');
  assert.equal(await page.$eval('[role=tabpanel]:not([hidden])', (panel) => panel.id), 'network');
});

/** x, doubled n times. */
const doubled = onnx({ inputs: { n: ['int64', []], x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Loop', in: ['n', '', 'x'], out: ['y'], attributes: { body: { graph: {
  inputs: { i: ['int64', []], go: ['bool', []], v: f4 }, outputs: { on: ['bool', []], w: f4 },
  nodes: [{ op: 'Identity', in: ['go'], out: ['on'] }, { op: 'Add', in: ['v', 'v'], out: ['w'] }],
} } } }] });

test('a run that does not end is stopped, by the button and by another model', { skip, timeout: 120_000 }, async () => {
  const endless = async () => {
    await fill('n', '1000000000000');
    await fill('x', '1');
    await start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(await text('#status'), 'Running …');
  };
  await drop(written('doubled.onnx', doubled));
  await endless();
  await page.click('#stop');
  assert.equal(await text('#status'), 'Stopped');
  assert.equal(await page.$eval('#working', (element) => element.hidden), true);
  await fill('n', '3');
  await run();
  assert.deepEqual((await results())[0], ['0', '8']);
  await endless();
  await drop(written('negated.onnx', unary('Neg')));
  assert.match(await text('#status'), /negated\.onnx: ONNX, sound/);
  await fill('x', '5');
  await run();
  assert.deepEqual((await results())[0], ['0', '-5']);
  assert.match(await text('#way'), /, 1 operation$/);
});

test('what an earlier model was built for is not run for the next', { skip, timeout: 120_000 }, async () => {
  const other = await browser.newPage();
  await other.evaluateOnNewDocument(() => {
    globalThis.MLGraphBuilder = class { input() { throw new DOMException('not today', 'NotSupportedError'); } };
    globalThis.asked = [];
    const made = { destroy() {} };
    const createContext = () => (globalThis.held ? new Promise((resolve) => asked.push(() => resolve(made))) : Promise.resolve(made));
    Object.defineProperty(Navigator.prototype, 'ml', { get: () => ({ createContext }), configurable: true });
  });
  const [before, place] = [page, address];
  use(other);
  try {
    await page.goto(place);
    await drop(written('negated.onnx', unary('Neg')));
    await page.evaluate('globalThis.held = true');
    await start();
    await until('asked.length === 1');
    await drop(written('absolute.onnx', unary('Abs')));
    await page.evaluate('globalThis.held = false; asked.forEach((answer) => answer())');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.match(await text('#status'), /absolute\.onnx: ONNX, sound/);
    assert.deepEqual([await error(), await results()], ['', []]);
    await fill('x', '-2');
    await run();
    assert.deepEqual((await results())[0], ['0', '2']);
  } finally {
    use(before);
    await other.close();
  }
});

test('the last model counts, also where an earlier one is read more slowly, and the same file may be chosen again', { skip, timeout: 120_000 }, async () => {
  const other = await browser.newPage(), before = page;
  use(other);
  try {
    await page.goto(address);
    await page.evaluate(() => {
      globalThis.slow = 0;
      const { arrayBuffer } = Blob.prototype;
      File.prototype.arrayBuffer = async function () {
        if (this.name === 'slow.onnx') await new Promise((resolve) => setTimeout(resolve, 1000, ++globalThis.slow));
        if (this.name === 'gone.onnx') throw new DOMException('The requested file could not be read', 'NotReadableError');
        return arrayBuffer.call(this);
      };
    });
    const settle = () => new Promise((resolve) => setTimeout(resolve, 1500));
    const slow = written('slow.onnx', onnx({ inputs: { late: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Neg', in: ['late'], out: ['y'] }] }));
    const choose = async (path) => (await page.$('#files')).uploadFile(path);
    await choose(slow);
    await until('slow === 1');
    await drop(written('fast.onnx', unary('Neg')));
    await settle();
    assert.match(await text('#status'), /^fast\.onnx: ONNX/);
    assert.doesNotMatch(await text('#about'), /late/);
    await choose(slow);
    await until('slow === 2');
    await choose(written('empty.onnx', ''));
    await settle();
    assert.match(await error(), /'empty\.onnx' is empty/);
    await choose(written('gone.onnx', 'x'));
    await settle();
    assert.match(await error(), /^unreadable: cannot read 'gone\.onnx': ./);
    const again = written('again.onnx', unary('Neg'));
    await drop(again);
    assert.match(await text('#about'), /Neg/i);
    writeFileSync(again, unary('Abs'));
    await drop(again);
    assert.match(await text('#about'), /Abs/i);
  } finally {
    use(before);
    await other.close();
  }
});

test('results are shown whole: long numbers, floats of 16 bits, text, sequences', { skip, timeout: 120_000 }, async () => {
  const rows = async (content, values) => {
    await drop(written('values.onnx', content));
    for (const [name, value] of Object.entries(values)) await fill(name, value);
    await run();
    return results();
  };
  assert.deepEqual(await rows(identity(['int64', [2]]), { a: '87654321 9007199254740993' }), [['1', '9007199254740993'], ['0', '87654321']]);
  for (const type of ['float16', 'bfloat16']) assert.deepEqual(await rows(identity([type, [3]]), { a: '1.5 -3 2.25' }), [['2', '2.25'], ['0', '1.5'], ['1', '-3']], type);
  const words = onnx({ inputs: { i: ['int64', [2]] }, outputs: { y: ['string', [2]] }, nodes: [{ op: 'Gather', in: ['t', 'i'], out: ['y'] }],
    initializers: { t: { type: 'string', dims: [2], data: ['<b>cat</b>', 'жук'] } } });
  assert.deepEqual(await rows(words, { i: '0 1' }), [['0', '"<b>cat</b>"'], ['1', '"жук"']]);
  const parts = onnx({ inputs: { x: f4 }, outputs: { y: { sequence: ['float32'] } }, nodes: [{ op: 'SplitToSequence', in: ['x'], out: ['y'], attributes: { axis: 0 } }] });
  assert.deepEqual(await rows(parts, { x: '1 2 3 4' }), [['0', '1'], ['0', '2'], ['0', '3'], ['0', '4']]);
  assert.deepEqual(await headings(), ['y sequence of 4', 'y[0] [1]', 'y[1] [1]', 'y[2] [1]', 'y[3] [1]']);
  const nans = onnx({ inputs: { x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Log', in: ['x'], out: ['y'] }] });
  assert.deepEqual(await rows(nans, { x: '-1 1 -1 0' }), [['1', '0'], ['3', '-Infinity']]);
  assert.match(await text('#run'), /2 of 4 elements are NaN/);
});

test('what cannot fill an input is refused in words', { skip, timeout: 120_000 }, async () => {
  const refusal = async (content, values = {}) => {
    await drop(written('refused.onnx', content));
    for (const [name, value] of Object.entries(values)) await fill(name, value);
    return attempt();
  };
  assert.equal(await refusal(identity(['uint8', [2]]), { a: '300' }), "input 'a': found '300'; needed whole numbers from 0 to 255 (uint8)");
  assert.equal(await refusal(identity(['float32', [2]]), { a: '' }), "input 'a': found nothing; needed numbers, random or zeros");
  assert.match(await refusal(identity(['float32', [100000, 100000]])), /^input 'a': \[100000, 100000\] of float32 takes 37.3 GiB; needed/);
  const joined = onnx({ inputs: { a: { sequence: ['float32', [2]] } }, outputs: { y: ['float32', ['k']] },
    nodes: [{ op: 'ConcatFromSequence', in: ['a'], out: ['y'], attributes: { axis: 0 } }] });
  assert.match(await refusal(joined), /^input 'a': found sequence\(f32\[2\]\); this page fills tensors alone/);
  assert.equal(await refusal(identity(['string', [2]]), { a: 'hello' }), 'input \'a\': needed texts as a list, such as ["a", "b"]');
  assert.equal(await refusal(identity(['string', [2]]), { a: '["a", 1]' }), 'input \'a\': found 1; needed texts in quotes, such as ["a", "b"]');
  assert.equal(await refusal(identity(['string', ['n', 2]])), '');
  assert.deepEqual(await results(), [['0, 0', '""'], ['0, 1', '""']]);
  assert.equal(await refusal(onnx({ inputs: { x: ['float32'] }, outputs: { y: ['float32'] }, nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }] }), { x: '2' }), '');
  assert.deepEqual([await results(), await page.$$eval('#run .fault', (all) => all.map(({ textContent }) => textContent).join())], [[['0', '-2']], '']);
});

test('of a picture and numbers the last given counts, and a picture fills a batch', { skip, timeout: 120_000 }, async () => {
  const heart = file('../../../models/shapes/heart.png');
  await drop(written('pictures.onnx', identity(['float16', [2, 1, 1, 1]])));
  await show('run');
  const choose = async (path) => (await page.$('#run input[type=file]')).uploadFile(path);
  await choose(heart);
  assert.match(await text('#run'), /taken, instead of the numbers/);
  await run();
  const [[, value], [, same]] = await results();
  assert.ok(value === same && Number(value) > 0 && Number(value) <= 1, `${value} ${same}`);
  await fill('a', '7');
  assert.doesNotMatch(await text('#run'), /taken, instead of the numbers/);
  await run();
  assert.deepEqual(await results(), [['0, 0, 0, 0', '7'], ['1, 0, 0, 0', '7']]);
  await choose(heart);
  await run();
  assert.deepEqual(await results(), [['0, 0, 0, 0', value], ['1, 0, 0, 0', value]]);
  await choose(written('bad.png', 'no picture'));
  assert.match(await attempt(), /^input 'a': 'bad\.png' \(image\/png\) cannot be decoded and scaled to 1 x 1; needed a picture of pixels that this browser shows/);
});

test('a folder of NNEF is chosen and dropped, with labels in folders of it', { skip, timeout: 120_000 }, async () => {
  written('net/graph.nnef', "version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [1, 2]);\n  w = variable<scalar>(shape = [1, 2], label = 'conv/w');\n  y = add(x, w);\n}\n");
  written('net/conv/w.dat', nnefTensor([1, 2], [10, 20]));
  written('net/.hidden', 'nothing');
  const checked = async () => {
    await until("document.getElementById('working').hidden && (document.getElementById('status').textContent.startsWith('net') || !document.getElementById('error').hidden)");
    assert.equal(await error(), '');
    assert.match(await text('#status') + await text('#faults'), /^net: NNEF, sound/);
    await fill('x', '1');
    await run();
    assert.deepEqual(await results(), [['0, 1', '21'], ['0, 0', '11']]);
  };
  assert.equal(await page.$eval('#folder', ({ labels }) => labels[0].textContent), 'Choose a folder');
  if (name !== 'chromium') return; // Firefox's driver chooses no folders and drops nothing
  await drop(written('between.onnx', unary('Neg')));
  await (await page.$('#folder')).uploadFile(join(folder, 'net'));
  await checked();
  await drop(written('between.onnx', unary('Neg')));
  const devtools = await page.createCDPSession();
  for (const type of ['dragEnter', 'dragOver', 'drop'])
    await devtools.send('Input.dispatchDragEvent', { type, x: 300, y: 100, data: { items: [], files: [join(folder, 'net')], dragOperationsMask: 1 } });
  await checked();
});

test('of models in folders each has the files beside it', { skip: skip || (name !== 'chromium' && 'its driver chooses no folders'), timeout: 120_000 }, async () => {
  const beside = (...data) => {
    const model = onnx({ inputs: { x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }], initializers: { w: { type: 'float32', dims: [4], location: 'w.bin' } } });
    return [model, Buffer.from(Float32Array.from(data).buffer)];
  };
  for (const [place, data] of [['a', [1, 2, 3, 4]], ['b/c', [10, 20, 30, 40]]]) {
    const [model, weights] = beside(...data);
    written(`nets/${place}/net.onnx`, model);
    written(`nets/${place}/w.bin`, weights);
  }
  await drop(written('between.onnx', unary('Neg')));
  await (await page.$('#folder')).uploadFile(join(folder, 'nets'));
  for (const [which, sum] of [['a/net.onnx', '5'], ['b/c/net.onnx', '41']]) {
    await until("document.querySelector('#one')");
    if (which.startsWith('b')) await page.select('#one', which);
    await until(`document.getElementById('status').textContent.startsWith('${which}: ONNX, sound')`);
    await fill('x', '1');
    await run();
    assert.deepEqual((await results())[0], ['3', sum]);
  }
});

test('a broken model of ONNX is drawn as far as it can be read', { skip, timeout: 120_000 }, async () => {
  await drop(written('broken.onnx', onnx({ inputs: { x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Relu', in: ['nothing'], out: ['r'] }, { op: 'Neg', in: ['x'], out: ['y'] }] })));
  assert.match(await text('#status'), /^broken\.onnx: ONNX, [1-9] fault/);
  assert.match(await text('#faults'), /onnx\/input-unknown/);
  assert.match(await text('#about'), /^A model of ONNX whose faults forbid more than to draw what can be read of it: 2 nodes\.$/);
  assert.equal(await page.$$eval('#network svg .node:not(.end)', (all) => all.length), 2);
  await show('network');
  await page.click('svg .node.faulty');
  assert.match(await page.$eval('svg .node.faulty', (node) => node.getAttribute('aria-label')), /^relu.*; 1 fault$/);
  assert.match(await text('#details'), /nothing/);
  await drop(written('lone.onnx', onnx({ inputs: { x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }], initializers: { w: { type: 'float32', dims: [4], location: 'w.bin' } } })));
  assert.match(await text('#faults'), /its data lie in 'w\.bin', which was not chosen with it: choose both together, or their folder/);
});

test('a sound fills an input of whole numbers with its samples', { skip, timeout: 120_000 }, async () => {
  await drop(written('sound.onnx', identity(['int16', [1, 4]])));
  await show('run');
  await (await page.$('#run input[type=file]')).uploadFile(written('sound.wav', wav(16384, -16384)));
  await run();
  const samples = (await results()).map(([place, value]) => [Number(place.split(', ').at(-1)), Math.round(value / 8)]); // some browsers scale by 32767
  assert.deepEqual(samples, [[0, 2048], [2, 0], [3, 0], [1, -2048]]);
});

test('serve says what is wrong with its port', { skip }, () => {
  const asked = (...args) => (({ status, stdout, stderr }) => [status, stdout + stderr])(spawnSync(process.execPath, [file('serve'), ...args], { encoding: 'utf8', timeout: 10_000 }));
  assert.match(asked('--help').join(), /^0,serve \[PORT\]: the page of nnex/);
  for (const port of ['1e3', '0x50', '', '-1', '65536']) assert.match(asked(port).join(), new RegExp(`^2,found port '${port}'; needed a number from 0 to 65535`));
  assert.match(asked('0', '1').join(), /^2,found '1' behind the port/);
  assert.deepEqual(asked(new URL(address).port), [1, `port ${new URL(address).port} is in use; needed another\n`]);
});

test('every run begins with the first content of the states', { skip, timeout: 120_000 }, async () => {
  const graph = written('sum/graph.nnef', "version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [1, 2]);\n  s = variable<scalar>(shape = [1, 2], label = 's');\n"
    + '  y = add(x, s);\n  t = update(s, y);\n}\n');
  await drop(graph, written('sum/s.dat', nnefTensor([1, 2], [10, 20])));
  await fill('x', '1');
  for (let i = 0; i < 2; ++i) {
    await run();
    assert.deepEqual(await results(), [['0, 1', '21'], ['0, 0', '11']]);
  }
});

test('the focus stays where something goes away', { skip, timeout: 120_000 }, async () => {
  await drop(written('doubled.onnx', doubled));
  await fill('n', '3');
  await run();
  await page.focus('#run .times button');
  await page.keyboard.press('Enter');
  await until("document.getElementById('run').textContent.includes('Time by node')");
  assert.equal(await focused(), 'button Time every node');
  await fill('n', '1000000000000');
  await page.focus('#run form button.act');
  await page.keyboard.press('Enter');
  await page.focus('#stop');
  await page.keyboard.press('Enter');
  assert.equal(await text('#status'), 'Stopped');
  assert.equal(await focused(), 'button Run');
});

test('what is dropped on a field of files is for that field', { skip: skip || (name !== 'chromium' && 'its driver drops nothing'), timeout: 120_000 }, async () => {
  await drop(written('picture.onnx', identity(['uint8', [1, 1, 1, 1]])));
  await show('run');
  const { x, y } = await (await page.$('#run .field')).boundingBox(), devtools = await page.createCDPSession();
  for (const type of ['dragEnter', 'dragOver', 'drop'])
    await devtools.send('Input.dispatchDragEvent', { type, x: x + 10, y: y + 10, data: { items: [], files: [file('../../../models/shapes/heart.png')], dragOperationsMask: 1 } });
  await until("document.getElementById('run').textContent.includes('taken, instead of the numbers')");
  assert.match(await text('#status'), /^picture\.onnx: /);
});

test('every element has a name of its own, whatever inputs are called', { skip, timeout: 120_000 }, async () => {
  await drop(written('called.onnx', onnx({ inputs: { 'a b': f4, a: f4, 'a-file': f4 }, outputs: { x: f4, y: f4, z: f4 },
    nodes: [{ op: 'Neg', in: ['a b'], out: ['x'] }, { op: 'Neg', in: ['a'], out: ['y'] }, { op: 'Neg', in: ['a-file'], out: ['z'] }] })));
  const [ids, described] = await page.evaluate(() => [[...document.querySelectorAll('[id]')].map(({ id }) => id),
    [...document.querySelectorAll('[aria-describedby]')].flatMap((field) => field.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id)?.localName))]);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(described, Array(3).fill(['p', 'span']).flat());
});

test('what only the branches of a node read is drawn as read by it', { skip, timeout: 120_000 }, async () => {
  const branch = (op) => ({ graph: { outputs: { o: f4 }, nodes: [{ op, in: ['x'], out: ['o'] }] } });
  await drop(written('if.onnx', onnx({ inputs: { c: ['bool', []], x: f4 }, outputs: { y: f4 }, nodes: [{ op: 'If', in: ['c'], out: ['y'], attributes: { then_branch: branch('Neg'), else_branch: branch('Abs') } }] })));
  assert.equal(await page.$$eval('#network svg path', (edges) => edges.length), 3);
});

test('a model may have inputs that nothing reads', { skip, timeout: 120_000 }, async () => {
  await drop(written('unread.onnx', onnx({ inputs: { x: f4, u: f4, v: f4 }, outputs: { y: f4 }, nodes: [{ op: 'Neg', in: ['x'], out: ['y'] }, { op: 'Abs', in: ['v'], out: ['w'] }] })));
  await fill('x', '3');
  await run();
  assert.match(await text('#way'), /^Run by WebNN/);
  assert.deepEqual((await results())[0], ['0', '-3']);
});

test('an input may be named __proto__', { skip, timeout: 120_000 }, async () => {
  for (const [op, label] of [['Neg', /^Run by WebNN/], ['Unique', /^Run by nnex itself/]]) {
    await drop(written('names.onnx', onnx({ inputs: { ['__proto__']: f4, constructor: f4 }, outputs: { ['__proto__2']: ['float32', op === 'Neg' ? [4] : ['n']], toString: f4 },
      nodes: [{ op, in: ['__proto__'], out: ['__proto__2'] }, { op: 'Abs', in: ['constructor'], out: ['toString'] }] })));
    await fill('__proto__', '3');
    await fill('constructor', '-4');
    await run();
    assert.match(await text('#way'), label);
    assert.deepEqual((await results()).filter(([place]) => place === '0').map(([, value]) => value), [op === 'Neg' ? '-3' : '3', '4']);
  }
});

test('links of an earlier conversion go, and an empty extent stays open', { skip, timeout: 120_000 }, async () => {
  const links = () => page.$$eval('#convert a[download]', (all) => all.length);
  const press = async (to) => {
    await page.$eval('#status', (element) => { element.textContent = ''; });
    await page.select('#to', to);
    await page.click('#convert button.act');
    await until("document.getElementById('working').hidden && (document.getElementById('status').textContent || !document.getElementById('error').hidden)");
  };
  await drop(file('../../../models/shapes/model.onnx'));
  await show('convert');
  assert.match(await text('#convert'), /left empty stays open from ONNX to ONNX/);
  await page.$eval('#symbol-N', (field) => { field.value = ''; });
  await press('onnx');
  assert.deepEqual([await error(), await links()], ['', 1]);
  await page.$eval('#symbol-N', (field) => { field.value = 'many'; });
  await press('onnx');
  assert.deepEqual([await error(), await links()], ["extent N: found 'many'; needed a whole number from 0 on, or nothing", 0]);
  await press('cvm');
  assert.equal(await links(), 0);
  await page.$eval('#symbol-N', (field) => { field.value = '2'; });
  await page.evaluate(() => {
    const { createObjectURL, revokeObjectURL } = URL;
    globalThis.kept = new Set();
    URL.createObjectURL = (blob) => {
      const address = createObjectURL(blob);
      kept.add(address);
      return address;
    };
    URL.revokeObjectURL = (address) => {
      kept.delete(address);
      revokeObjectURL(address);
    };
  });
  await press('onnx');
  assert.equal(await page.evaluate('kept.size'), 1);
  await drop(written('next.onnx', unary('Neg')));
  assert.equal(await page.evaluate('kept.size'), 0, 'the bytes of an earlier model are let go');
});

test('long names wrap on a narrow screen', { skip, timeout: 120_000 }, async () => {
  const { width, height } = page.viewport(), long = 'a_name_of_sixty_characters_that_has_no_place_for_a_break_in_it';
  await drop(written('long.onnx', onnx({ inputs: { [long]: ['float32', [long]] }, outputs: { [`${long}_out`]: ['float32', [long]] }, nodes: [{ op: 'Neg', in: [long], out: [`${long}_out`] }] })));
  await run();
  await page.setViewport({ width: 320, height: 740 });
  for (const tab of ['about', 'network', 'run', 'convert', 'faults']) {
    await show(tab);
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= 320'), tab);
  }
  await show('about');
  const broken = await page.$$eval('#about tbody th', (all) => all.filter((each) => /^(?:Standard|Made by|Nodes)/.test(each.textContent) && each.getBoundingClientRect().height > 40).map((each) => each.textContent));
  assert.deepEqual(broken, [], 'words are whole');
  await page.setViewport({ width, height });
  assert.deepEqual(faults, []);
});
