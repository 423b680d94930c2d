// Watches pages of a running server while pushes come, in a real browser. Argument: JSON
// {modules, browser, base, dir, id, credential}: where playwright-core and axe-core are, the
// browser's program, the server's address, a bare repository with its number, and what
// registers a push. What is wrong is printed, a line each, and the exit status is 1.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const o = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(join(o.modules, 'playwright-core/index.mjs')));
const axe = readFileSync(join(o.modules, 'axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({
  executablePath: o.browser,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

// The browser reaches the server through a relay, whose connections can be cut.
const server = new URL(o.base);
const cut = new Set();
const relay = createServer((from) => {
  const to = connect(Number(server.port), server.hostname);
  for (const socket of [from, to]) {
    cut.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => { cut.delete(socket); from.destroy(); to.destroy(); });
  }
  from.pipe(to).pipe(from);
});
const listen = (port) => new Promise((done) => relay.listen(port, '127.0.0.1', done));
await listen(0);
const { port } = relay.address();
const shown = `http://127.0.0.1:${port}`;

const wrong = [];
const say = (text) => wrong.push(text);
const expect = (what, got, want) => JSON.stringify(got) === JSON.stringify(want) || say(`${what}: ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);

// push adds a file and has the server look for it; it returns the commit.
async function push(path, text) {
  const stream = `commit refs/heads/main\ncommitter Ada <ada@example.org> 1767229300 +0000\ndata 1\nx\nfrom refs/heads/main^0\nM 100644 inline ${path}\ndata ${text.length}\n${text}\ndone\n`;
  execFileSync('git', ['-C', o.dir, 'fast-import', '--quiet', '--done'], { input: stream });
  const response = await fetch(`${o.base}/api/repos/${o.id}/refresh`, { method: 'POST', headers: { Authorization: o.credential } });
  expect('refresh', response.status, 202);
  return execFileSync('git', ['-C', o.dir, 'rev-parse', 'main'], { encoding: 'utf8' }).trim();
}

async function open(context, path) {
  const page = await context.newPage();
  page.streams = 0;
  page.on('console', (m) => m.type() === 'error' && !page.broken && say(`${path}: ${m.text()}`));
  page.on('pageerror', (e) => say(`${path}: ${e}`));
  page.on('request', (r) => {
    if (!r.url().startsWith(shown)) say(`${path} loads ${r.url()}`);
    if (r.url().includes('/api/events')) page.streams++;
  });
  const streams = page.waitForResponse((r) => r.url().includes('/api/events'));
  streams.catch(() => {}); // of pages without scripts
  await page.goto(shown + path, { waitUntil: 'load' });
  if (context.hasScripts) await streams;
  return page;
}

const hits = (page) => page.locator('.line.hit').count();

try {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' });
  context.hasScripts = true;
  context.setDefaultTimeout(300_000);
  const results = await open(context, '/search?q=boil');
  const repository = await open(context, `/repos/${o.id}`);
  const list = await open(context, '/repos');
  await list.evaluate(() => { document.body.dataset.same = 'page'; });
  await repository.evaluate(() => { document.body.dataset.same = 'page'; });
  const before = await hits(results);
  const indexed = await list.locator('[data-live^=indexed]').innerHTML();

  const commit = await push('cup.txt', 'boil a cup\n');
  const newer = results.locator('#status .newer');
  await newer.waitFor();
  const said = await newer.innerText();
  if (!/^1 new match · \d+ s ago\s+Show$/.test(said)) say(`the results say ${JSON.stringify(said)}`);
  expect('matches before they are asked for', await hits(results), before);
  if (await results.locator('html').evaluate((e) => e.scrollWidth > e.clientWidth)) say('the results are wider than a phone');
  await results.evaluate(axe);
  const report = await results.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  for (const v of report.violations) for (const node of v.nodes) say(`${v.id}: ${v.help}: ${node.target.join(' ')}`);
  await newer.locator('button').click();
  expect('matches that were asked for', [await hits(results), await results.locator('.line.new').count(), await newer.count()], [before + 1, 1, 0]);
  expect('the new line', await results.locator('.line.new').innerText().then((t) => /boil a cup/.test(t)), true);

  await repository.locator('[data-live=properties] code', { hasText: commit.slice(0, 7) }).waitFor();
  await list.locator('[data-live^=indexed]').first().waitFor();
  for (let i = 0; i < 3000 && (await list.locator('[data-live^=indexed]').innerHTML()) === indexed; i++) await new Promise((r) => setTimeout(r, 100));
  if ((await list.locator('[data-live^=indexed]').innerHTML()) === indexed) say('the list of repositories does not move');
  for (const page of [repository, list]) expect('the page is the same', await page.evaluate(() => document.body.dataset.same), 'page');

  // The connection breaks, a push comes, and the page goes on where it was.
  for (const page of [results, repository, list]) {
    expect('streams of a page', page.streams, 1);
    page.broken = true;
  }
  relay.close();
  for (const socket of cut) socket.destroy();
  const second = await push('pot.txt', 'boil a pot\n');
  await listen(port);
  await newer.waitFor();
  expect('matches after the connection broke', await hits(results), before + 1);
  await repository.locator('[data-live=properties] code', { hasText: second.slice(0, 7) }).waitFor();
  if (results.streams < 2) say('the results did not connect again');

  const plain = await browser.newContext({ javaScriptEnabled: false });
  plain.setDefaultTimeout(300_000);
  const whole = await open(plain, '/search?q=boil');
  expect('without scripts', [await hits(whole), whole.streams], [before + 2, 0]);
} catch (err) {
  say(String(err));
} finally {
  await browser.close();
  relay.close();
}
if (wrong.length > 0) {
  console.log(wrong.join('\n'));
  process.exit(1);
}
