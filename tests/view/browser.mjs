// browser.mjs FOLDER: the pages that view.sh had written, in Chromium without a network: nothing overlaps, search, folding, keys and dark
// mode work, hostile names do nothing.
import assert from 'node:assert';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';

const puppeteer = createRequire(`${process.cwd()}/`)('puppeteer-core');
const folder = process.argv[2];
const browser = await puppeteer.launch({
  headless: true, executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-dev-shm-usage'],
});
let failed = 0;
async function check(name, file, test) {
  const page = await browser.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => { if (!request.url().startsWith('file:')) faults.push(`asked for ${request.url()}`); });
  await page.setViewport({ width: 1400, height: 900 });
  try {
    await page.goto(`file://${folder}/${file}`);
    await test(page);
    assert.deepStrictEqual(faults, []);
  } catch (error) {
    failed += 1;
    console.log(`  ${name}: ${error.message.split('\n').slice(0, 12).join('\n    ')}`);
  }
  await page.close();
}

/** Texts and boxes of the drawing as it is at its own scale: from afar letters have no exact places. */
const overlaps = () => {
  const world = document.querySelector('main g');
  world.setAttribute('transform', 'scale(1)');
  world.classList.remove('afar');
  const rect = (e) => { const { left, right, top, bottom } = e.getBoundingClientRect(); return { left, right, top, bottom, text: e.textContent.slice(0, 40) }; };
  const apart = (a, b) => Math.min(a.right - b.left, b.right - a.left, a.bottom - b.top, b.bottom - a.top) < 1.5;
  const texts = [...document.querySelectorAll('main text')].map(rect);
  const boxes = [...document.querySelectorAll('main .body:not(.group), main .pill')].map(rect);
  const labels = [...document.querySelectorAll('main .label')].map(rect);
  const found = [];
  const pairs = (a, b) => a.forEach((x, i) => b.forEach((y, k) => { if ((a !== b || k > i) && !apart(x, y)) found.push(`${x.text} / ${y.text}`); }));
  pairs(texts, texts);
  pairs(boxes, boxes);
  pairs(labels, boxes);
  return found;
};
const networks = readdirSync(folder).filter((name) => /^net_.*\.html$/.test(name));
for (const file of ['layers.html', 'hostile.html', 'choice.html', 'model.html', 'timed.html', 'broken.html', ...networks])
  await check(`nothing overlaps in ${file}`, file, async (page) => assert.deepStrictEqual(await page.evaluate(overlaps), []));

/** Networks of 200 nodes are seen whole at first, and the names of half of their operators at least can be read: set in 5.58 pixels on
 * a usual screen, whichever font there is (lines of 7 in DejaVu, of 6 in Liberation). */
for (const file of networks)
  await check(`${file} is seen at once`, file, async (page) => {
    await page.setViewport({ width: 1920, height: 1080 });
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
    const seen = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll('main .op')].map((e) => e.getBoundingClientRect()), view = document.querySelector('main').getBoundingClientRect();
      const letters = [...document.querySelectorAll('main .title')].map((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().d).sort((a, b) => a - b);
      return { nodes: boxes.length, median: letters[letters.length >> 1],
        inside: boxes.every((b) => b.left >= view.left - 1 && b.right <= view.right + 1 && b.top >= view.top - 1 && b.bottom <= view.bottom + 1) };
    });
    if (process.env.NNEX_VIEW_SHOTS) await page.screenshot({ path: `${process.env.NNEX_VIEW_SHOTS}/${file.slice(4, -5)}.png` });
    assert.ok(seen.nodes > 0 && seen.inside && (seen.nodes > 200 || seen.median >= 5.58), JSON.stringify(seen));
  });

await check('hostile names are text', 'hostile.html', async (page) => {
  await page.click('main .op');
  assert.strictEqual(await page.evaluate('window.broken'), undefined);
  assert.strictEqual(await page.evaluate("document.querySelectorAll('img, iframe, b').length"), 0);
  assert.ok((await page.$eval('aside', (e) => e.textContent)).includes('</script><script>window.broken=1</script>'));
});

await check('search', 'layers.html', async (page) => {
  await page.keyboard.press('/');
  await page.keyboard.type('layer0/softmax');
  assert.strictEqual(await page.$eval('#found', (e) => e.textContent), '1 found');
  assert.strictEqual(await page.$$eval('.hit', (all) => all.length), 1);
  await page.keyboard.press('Enter');
  assert.ok((await page.$eval('aside h2', (e) => e.textContent)).startsWith('Softmax'));
  await page.keyboard.press('Escape');
  assert.strictEqual(await page.$$eval('.hit', (all) => all.length), 0);
  await page.keyboard.press('/');
  await page.keyboard.type('matmul f32[8,8]');
  assert.strictEqual(await page.$eval('#found', (e) => e.textContent), '12 found');
});

await check('folding', 'layers.html', async (page) => {
  const drawn = () => page.$$eval('main .op', (all) => all.length);
  assert.strictEqual(await drawn(), 6);
  assert.strictEqual(await page.$eval('main .times', (e) => e.textContent), '×12');
  await page.click('[data-fold]');
  assert.strictEqual(await drawn(), 72);
  assert.deepStrictEqual(await page.evaluate(overlaps), []);
  await page.click('[data-fold]');
  assert.strictEqual(await drawn(), 6);
  await page.click('main .fold');
  assert.strictEqual(await drawn(), 72);
});

await check('keys go along edges', 'layers.html', async (page) => {
  await page.$eval('main [tabindex="0"]:not(.fold)', (e) => e.focus());
  const at = () => page.$eval('aside h2', (e) => e.textContent);
  await page.keyboard.press('Enter');
  assert.strictEqual(await at(), 'input x');
  await page.keyboard.press('ArrowDown');
  assert.strictEqual(await at(), 'MatMul layer0/matmul');
  await page.keyboard.press('ArrowDown');
  assert.strictEqual(await at(), 'Add layer0/bias');
  await page.keyboard.press('ArrowUp');
  assert.strictEqual(await at(), 'MatMul layer0/matmul');
  assert.ok(await page.$('aside .bars'));
  await page.keyboard.press('Escape');
  assert.strictEqual(await at(), 'layers.onnx');
});

await check('faults and what is missing are shown', 'broken.html', async (page) => {
  assert.ok(await page.$('main .faulty'));
  assert.ok((await page.$eval('aside', (e) => e.textContent)).includes("'nowhere' is not made"));
});

await check('times are shown', 'timed.html', async (page) => assert.ok((await page.$$('main .heat')).length > 3));

/** Contrast of two colours as WCAG 2 has it. */
const contrasts = () => {
  const channels = (color) => /rgba?\(([^)]+)\)/.exec(color)[1].split(/[ ,/]+/).slice(0, 3).map(Number);
  const light = (color) => { const [r, g, b] = channels(color).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const probe = document.createElement('span');
  document.body.append(probe);
  const of = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
  const contrast = (a, b) => { const [x, y] = [light(of(a)), light(of(b))].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const pairs = [['--ink', '--page'], ['--ink', '--body'], ['--soft', '--body'], ['--soft', '--page'], ['--soft', '--group'], ['--flaw', '--body'], ['--ink', '--heat']];
  for (let i = 0; i < 9; i += 1) pairs.push(['--head-ink', `--c${i}`]);
  return { page: getComputedStyle(document.body).backgroundColor, low: pairs.map(([a, b]) => [a, b, contrast(a, b)]).filter(([, , c]) => c < 4.5) };
};
for (const [mode, background] of [['light', 'rgb(255, 255, 255)'], ['dark', 'rgb(20, 24, 29)']])
  await check(`${mode} mode`, 'layers.html', async (page) => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: mode }]);
    assert.deepStrictEqual(await page.evaluate(contrasts), { page: background, low: [] });
  });
await browser.close();
process.exit(failed ? 1 : 0);
