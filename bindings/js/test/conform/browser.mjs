// Hosts chromium (over CDP) and firefox (over WebDriver BiDi): Debian's browsers, headless, on pages of a loopback server.
import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { serve } from './server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const dist = fileURLToPath(new URL('../../packages/nnex/dist/', import.meta.url));

const launching = {
  chromium: {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
  },
  firefox: {
    browser: 'firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    extraPrefsFirefox: { 'network.captive-portal-service.enabled': false, 'network.connectivity-service.enabled': false,
      'browser.safebrowsing.update.enabled': false, 'app.update.enabled': false, 'services.settings.server': 'data:,' },
  },
};

/** Why a browser, its name as users say it, cannot be begun. */
export function missingBrowser(name) {
  const { executablePath } = launching[name];
  return existsSync(executablePath) ? undefined : `'${executablePath}' is missing: apt-get install ${basename(executablePath)}`;
}

/** A headless browser. */
export async function launch(name, args = []) {
  const how = launching[name], missing = missingBrowser(name);
  if (missing) throw new Error(missing);
  return puppeteer.launch({ headless: true, protocolTimeout: 900_000, ...how, args: [...(how.args ?? []), ...args] });
}

const page = (polyfill, threads) => `<!doctype html><meta charset="utf-8"><title>conform</title>
<script type="module">
${polyfill ? `const { configure, ready } = await import('/polyfill/${polyfill}');\nawait ready;` : ''}
${polyfill && threads > 1 ? `configure?.({ threads: ${threads} });` : ''}
const { playAll } = await import('/conform/play.mjs');
let path, cases;
window.run = async (file, indices) => {
  if (path !== file) ({ cases } = await (await fetch(path = file)).json());
  return playAll(indices.map((i) => cases[i]));
};
window.ready = \`isolated \${crossOriginIsolated}, navigator.ml \${typeof navigator.ml}\`;
</script>`;

/** As nodeHost(); one thread: on a page without isolation. `polyfill`: a module that defines navigator.ml, '' for the browser's own. */
export async function browserHost({ name, threads, polyfill = `${dist}polyfill-browser.js` }) {
  if (polyfill && !existsSync(polyfill)) throw new Error(`'${polyfill}' is missing: bindings/js/build makes it`);
  const roots = new Map([['conform', { path: here }], ['page.html', { text: page(polyfill && basename(polyfill), threads) }]]);
  if (polyfill) roots.set('polyfill', { path: dirname(polyfill) });
  const server = await serve(roots, { isolated: threads !== 1 });
  const browser = await launch(name, polyfill || name !== 'chromium' ? [] : ['--enable-features=WebMachineLearningNeuralNetwork']);
  let faults = [];
  const open = await browser.newPage();
  open.on('pageerror', (error) => faults.push(error.message));
  const gone = new Promise((resolve) => {
    open.once('error', (error) => resolve(error));
    browser.once('disconnected', () => resolve(new Error('the browser ended')));
  });
  await open.goto(`http://localhost:${server.port}/page.html`);
  const waited = await open.waitForFunction('window.ready', { timeout: 60_000 }).catch((error) => error);
  const close = async () => {
    await Promise.race([browser.close().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 5000))]);
    browser.process()?.kill('SIGKILL');
    await server.close();
  };
  if (waited instanceof Error) {
    await close();
    throw new Error(`the page did not start: ${faults.join('; ') || waited.message}`);
  }
  return {
    about: `${await browser.version()}, ${await open.evaluate('window.ready')}`,
    async run(file, indices, seconds) {
      const first = `cases-${basename(file)}`;
      roots.set(first, { path: file });
      let timer;
      const late = new Promise((resolve) => { timer = setTimeout(resolve, seconds * 1000, new Error(`no answer in ${seconds} seconds`)); });
      const answer = open.evaluate((url, list) => window.run(url, list), `/${first}?${encodeURIComponent(file)}`, indices).catch((error) => error);
      const got = await Promise.race([answer, gone, late]).finally(() => clearTimeout(timer));
      if (got instanceof Error) throw new Error([got.message, ...faults].join('; '));
      faults = [];
      return got;
    },
    close,
  };
}
