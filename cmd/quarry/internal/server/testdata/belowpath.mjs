// Uses the scripts of pages of a server that is reached below a path, in a real browser.
// Argument: JSON {modules, browser, base}: where playwright-core is, the browser's program, and
// the public URL of a server with the file spoon.go of the repository spoon. What is wrong is
// printed, a line each, and the exit status is 1.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const o = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(join(o.modules, 'playwright-core/index.mjs')));
const browser = await chromium.launch({
  executablePath: o.browser,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const wrong = [];
const say = (text) => wrong.push(text);
const expect = (what, got, want) => got === want || say(`${what}: ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);

// sent waits for a response from an address that begins so, and contains a text.
const sent = (page, begins, contains = '') => {
  const response = page.waitForResponse((r) => r.url().startsWith(o.base + begins) && r.url().includes(contains));
  response.catch(() => {}); // it is awaited later
  return response;
};

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && say(`${page.url()}: ${m.text()}`));
  page.on('pageerror', (e) => say(`${page.url()}: ${e}`));
  page.on('response', (r) => {
    if (r.status() === 404 || !r.url().startsWith(`${o.base}/`)) say(`${page.url()} loads ${r.url()}: ${r.status()}`);
  });

  // Results that appear while a query is typed, further suggestions, and the events of pushes.
  const events = sent(page, '/api/events?');
  await page.goto(`${o.base}/search?q=spoon`, { waitUntil: 'load' });
  await events;
  const answer = sent(page, '/search?', 'fragment=1');
  const names = sent(page, '/api/repos?');
  await page.locator('#q').fill('');
  await page.locator('#q').pressSequentially('Stir');
  await names;
  await answer;
  await page.locator('.line.hit', { hasText: 'func Stir' }).waitFor();
  await page.locator('#q').press('Enter');
  await page.waitForURL(`${o.base}/search?q=Stir*`);

  // More lines around a match come from the API.
  const lines = sent(page, '/api/source?');
  await page.locator('.line.hit').first().hover();
  await page.locator('button.edge').first().click();
  await lines;

  // The list of keys, and a key that leads to another page.
  await page.locator('h1').first().evaluate(() => document.activeElement.blur());
  await page.keyboard.press('?');
  await page.locator('dialog[open] kbd').first().waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  while (page.url() !== `${o.base}/repos`) { // the second key must follow the first soon
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.waitForURL(`${o.base}/repos`, { timeout: 3000 }).catch(() => {});
  }

  // The palette leads to a file.
  await page.keyboard.press('Control+k');
  await page.locator('dialog.palette input').fill('spoon.go');
  await page.locator('dialog.palette [role=option]', { hasText: 'spoon.go' }).first().click();
  await page.waitForURL((url) => url.href.startsWith(`${o.base}/browse/spoon`)).catch((err) => { throw new Error(`${page.url()}: ${err}`); });

  // The card of a name, and its page.
  const card = sent(page, '/symbols?', 'fragment=card');
  await page.locator('pre.t code').first().getByText('Stir()').first().evaluate((code) => {
    const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let text = walk.nextNode(); text; text = walk.nextNode()) {
      const at = text.data.lastIndexOf('Stir');
      if (at >= 0) getSelection().collapse(text, at + 1);
    }
  });
  await page.keyboard.press('Enter');
  expect('the card', (await card).status(), 200);
} catch (err) {
  say(String(err));
} finally {
  await browser.close();
}
if (wrong.length > 0) {
  console.log(wrong.join('\n'));
  process.exit(1);
}
