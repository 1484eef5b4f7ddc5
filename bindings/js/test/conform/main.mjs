// conform --host node|wasm|chromium|firefox [--threads on|off|N] [--only TEXT] [--json FILE] [--polyfill MODULE] PATH...
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const usage = `conform --host node|wasm|chromium|firefox [OPTION...] PATH...
Runs stored WebNN cases (files {"cases": [...]}, or every such file below a folder) through navigator.ml. Exit code 1: a case failed.
  --host NAME        node: the addon; wasm: the WebAssembly engine in Node; chromium, firefox: Debian's, headless, with the polyfill
  --threads on|off|N as many threads as the machine has (unless said), one (in browsers: a page without isolation), N at most
  --only TEXT        the cases whose name contains TEXT
  --json FILE        writes a list of {name, verdict, reason}
  --polyfill MODULE  a module that defines navigator.ml, in place of nnex/polyfill; none: the host's own navigator.ml
  --quiet            only the last line`;

function refuse(text) {
  console.error(text);
  process.exit(2);
}

function options() {
  let parsed;
  try {
    parsed = parseArgs({
      allowPositionals: true,
      options: {
        host: { type: 'string' }, threads: { type: 'string', default: 'on' }, only: { type: 'string', default: '' }, json: { type: 'string' },
        polyfill: { type: 'string' }, quiet: { type: 'boolean', default: false }, help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    refuse(`${error.message}\n${usage}`);
  }
  const { values, positionals } = parsed;
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  if (!['node', 'wasm', 'chromium', 'firefox'].includes(values.host)) refuse(`--host: found '${values.host ?? ''}'; needed node, wasm, chromium or firefox\n${usage}`);
  const threads = { on: 0, off: 1 }[values.threads] ?? Number(values.threads);
  if (!Number.isInteger(threads) || threads < 0 || (threads === 0 && values.threads !== 'on')) refuse(`--threads: found '${values.threads}'; needed on, off or a number\n${usage}`);
  if (positionals.length === 0) refuse(`needed a folder or file of cases\n${usage}`);
  return { ...values, threads, paths: positionals };
}

/** Every .json file of a folder and the folders below it, or the file itself, in order of name. */
function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesOf(join(path, entry.name)) : extname(entry.name) === '.json' ? [join(path, entry.name)] : []))
    .sort();
}

/** The cases of a file: [{index, name}]. Files without a list of cases (tolerances.json) have none. */
function casesOf(file, only) {
  const group = `${basename(dirname(file))}/${basename(file, '.json')}`;
  const { cases } = JSON.parse(readFileSync(file, 'utf8'));
  return (Array.isArray(cases) ? cases : [])
    .map((one, index) => ({ index, name: `${group}: ${one.name}${one.dup === undefined ? '' : ` #${one.dup}`}` }))
    .filter(({ name }) => name.includes(only));
}

async function hostOf({ host, threads, polyfill }) {
  const module = polyfill === undefined ? undefined : polyfill === 'none' ? '' : resolve(polyfill);
  if (host === 'node' || host === 'wasm') {
    const { nodeHost } = await import('./node.mjs');
    return nodeHost({ engine: host === 'wasm' ? 'wasm' : 'addon', threads, polyfill: module });
  }
  const { browserHost } = await import('./browser.mjs');
  return browserHost({ name: host, threads, polyfill: module });
}

/** Runs cases on a host, which is begun anew after it fell; a case at which it falls alone has failed. */
class Runner {
  #host;
  constructor(wanted) {
    this.wanted = wanted;
  }

  async run(file, cases) {
    try {
      this.#host ??= await this.#begin();
      return await this.#host.run(file, cases.map(({ index }) => index), 60 + 5 * cases.length);
    } catch (error) {
      await this.close();
      if (cases.length === 1) return [{ verdict: 'failed', reason: error.message }];
      const verdicts = [];
      for (const one of cases) verdicts.push(...await this.run(file, [one]));
      return verdicts;
    }
  }

  async #begin() {
    try {
      const host = await hostOf(this.wanted);
      if (host.about && !this.told && !this.wanted.quiet) console.log(this.told = host.about);
      return host;
    } catch (error) {
      refuse(`${this.wanted.host} cannot be started: ${error.message}`);
    }
  }

  async close() {
    await this.#host?.close();
    this.#host = undefined;
  }
}

const wanted = options();
const files = wanted.paths.flatMap((path) => {
  try {
    return filesOf(resolve(path));
  } catch (error) {
    return refuse(error.message);
  }
}).map((file) => ({ file, cases: casesOf(file, wanted.only) })).filter(({ cases }) => cases.length > 0);
const all = files.reduce((n, { cases }) => n + cases.length, 0);
if (all === 0) refuse(`found no case in ${wanted.paths.join(', ')}`);

const runner = new Runner(wanted);
const rows = [];
const progress = process.stdout.isTTY && !wanted.quiet;
const clear = progress ? '\r\x1b[K' : '';
for (const { file, cases } of files)
  for (let at = 0; at < cases.length; at += 50) {
    const some = cases.slice(at, at + 50);
    if (progress) process.stdout.write(`${clear}${rows.length} of ${all}: ${basename(file)}`);
    const verdicts = await runner.run(file, some);
    for (const [i, { verdict, reason }] of verdicts.entries()) {
      rows.push({ name: some[i].name, verdict, reason });
      if (verdict !== 'passed' && !wanted.quiet) console.log(`${clear}${verdict} ${some[i].name}: ${reason}`);
    }
  }
await runner.close();
process.stdout.write(clear);
if (wanted.json) writeFileSync(wanted.json, `${JSON.stringify(rows, null, 1)}\n`);
const count = (verdict) => rows.filter((row) => row.verdict === verdict).length;
console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
process.exitCode = count('failed') || rows.length !== all ? 1 : 0;
