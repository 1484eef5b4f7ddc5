// chromium.mjs [--rounds N] [--only TEXT]: the graphs of bench/webnn under the addon and under a Chromium that has a backend for WebNN, in
// turn: medians of a run in milliseconds, awaited alone and in a queue of several (which leaves out most of what a browser's processes
// tell each other), and their ratios. npm's package of that Chromium is installed into a scratch folder (NNEX_PEERS).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import puppeteer from 'puppeteer-core';
import { ml, MLGraphBuilder } from 'nnex';
import { serve } from '../test/conform/server.mjs';
import { folder as peers, missing } from '../test/support/peers.mjs';
import { open } from './program.mjs';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, only: { type: 'string', default: '' } } });
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds: found '${values.rounds}'; needed a number from 1 on`);
const kBlock = 400;  // milliseconds of each way in a round
const why = missing({ '@sparticuz/chromium': '153.0.0' });
if (why) throw new Error(why);
const here = dirname(fileURLToPath(import.meta.url));
const peer = createRequire(join(peers, 'x.js')).resolve('@sparticuz/chromium');
const { default: chromium } = await import(pathToFileURL(peer));

const graphs = mkdtempSync(join(tmpdir(), 'nnex-graphs-'));
const server = await serve(new Map([
  ['bench', { path: here }], ['graphs', { path: graphs }],
  ['page.html', { text: `<!doctype html><title>bench</title><script type="module">
    import { open } from '/bench/program.mjs';
    window.make = async (name) => {
      const program = await (await fetch(\`/graphs/\${name}.webnn\`)).json();
      const weights = program.weights ? await (await fetch(\`/graphs/\${program.weights}\`)).arrayBuffer() : new ArrayBuffer(0);
      window.graph = await open({ ml: navigator.ml, MLGraphBuilder }, program, weights);
      return { build: window.graph.build, first: window.graph.first, numbers: await window.graph.numbers() };
    };
    window.ready = true;
  </script>` }],
]), { isolated: true });
const browser = await puppeteer.launch({
  executablePath: await chromium.executablePath(), headless: 'shell', protocolTimeout: 600_000,
  args: ['--no-sandbox', '--no-first-run', '--disable-gpu', '--disable-dev-shm-usage', '--enable-features=WebMachineLearningNeuralNetwork'],
});
try {
  execFileSync('/usr/bin/python3', [join(here, '../../../bench/webnn/make_graphs.py'), graphs]);
  const page = await browser.newPage();
  await page.goto(`http://localhost:${server.port}/page.html`);
  await page.waitForFunction('window.ready', { timeout: 30_000 });
  const files = readdirSync(graphs).filter((one) => one.endsWith('.webnn') && one.includes(values.only)).sort();
  if (files.length === 0) throw new Error(`--only: no graph's name has '${values.only}'`);
  const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
  const show = (n) => (n < 10 ? n.toFixed(3) : n.toFixed(1)).padStart(8);
  console.log(`${await browser.version()}; ${rounds} rounds; milliseconds: ours, theirs, ratio`);
  console.log(`${''.padEnd(22)}${'awaited'.padStart(25)}${'queued'.padStart(27)}${'build and first run'.padStart(27)}`);
  const ratios = { alone: [], queued: [] };
  for (const file of files) {
    const name = file.slice(0, -'.webnn'.length);
    const program = JSON.parse(readFileSync(join(graphs, file), 'utf8'));
    const weights = program.weights ? readFileSync(join(graphs, program.weights)) : new Uint8Array();
    const ours = await open({ ml, MLGraphBuilder }, program, weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.length));
    let theirs;
    try {
      theirs = await page.evaluate((one) => window.make(one), name);
    } catch (error) {
      console.log(`${name.padEnd(22)}  theirs: ${error.message.split('\n')[0]}`);
      continue;
    }
    const own = await ours.numbers(), apart = Math.max(...own.map((x, i) => Math.abs(x - theirs.numbers[i]) / (1 + Math.abs(x))));
    const times = { alone: [[], []], queued: [[], []] };
    for (let round = 0; round < rounds; ++round) {
      const both = [await ours.time(kBlock), await page.evaluate((ms) => window.graph.time(ms), kBlock)];
      for (const way of ['alone', 'queued']) both.forEach((one, i) => times[way][i].push(one[way]));
    }
    const columns = ['alone', 'queued'].map((way) => {
      const [a, b] = times[way].map(median);
      ratios[way].push(a / b);
      return `${show(a)} ${show(b)} ${(a / b).toFixed(2)}`;
    });
    const [a, b] = [ours, theirs].map((one) => one.build + one.first);
    console.log(`${name.padEnd(22)} ${columns.join('   ')}   ${show(a)} ${show(b)} ${(a / b).toFixed(2)}${apart > 1e-3 ? `   answers ${apart.toExponential(1)} apart` : ''}`);
    await page.evaluate('window.graph.close()');
    ours.close();
  }
  const mean = (list) => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length).toFixed(2);
  console.log(`geometric mean: awaited ${mean(ratios.alone)}, queued ${mean(ratios.queued)}`);
} finally {
  await browser.close();
  await server.close();
  rmSync(graphs, { recursive: true });
}
