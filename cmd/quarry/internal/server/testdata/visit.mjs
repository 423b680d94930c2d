// Visits pages in a real browser, in both themes, wide and as narrow as a phone, and checks each
// with axe-core. Argument: JSON {modules, browser, base, cookies, pages, shots}: where
// playwright-core and axe-core are, the browser's program, the server's address, cookies of the
// visitor ({name, value}), paths, and a directory for pictures (or none). What is wrong is printed,
// a line each, and the exit status is 1.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const o = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(join(o.modules, 'playwright-core/index.mjs')));
const axe = readFileSync(join(o.modules, 'axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({
  executablePath: o.browser,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

const wrong = [];
// Each page is loaded once in each viewport, in one of the themes, and then shown in the other;
// inTurn, only every second page is dark.
const looks = [
  { names: { light: 'light', dark: 'dark' }, viewport: { width: 1280, height: 900 } },
  { names: { light: 'phone', dark: 'phone-dark' }, viewport: { width: 360, height: 740 }, inTurn: !o.shots },
];
const settle = () => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(window.shift), 0)));
// Only colors differ between the themes of a page that is loaded already.
const allRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const colorRules = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };
const runAxe = (rules) => window.axe.run(document, { resultTypes: ['violations'], runOnly: rules });
try {
  for (const look of looks) {
    const context = await browser.newContext({ viewport: look.viewport, reducedMotion: 'reduce' });
    await context.addCookies((o.cookies || []).map((c) => ({ ...c, url: o.base })));
    context.setDefaultTimeout(300_000); // only ends what hangs
    const page = await context.newPage();
    // On a slow link a page is painted before all of it is there, as on a busy machine.
    const devtools = await context.newCDPSession(page);
    await devtools.send('Network.enable');
    await devtools.send('Network.emulateNetworkConditions', { offline: false, latency: 5, downloadThroughput: 40_000, uploadThroughput: -1 });
    let at = '';
    let theme = 'light';
    const say = (text) => wrong.push(`${look.names[theme]} ${at}: ${text}`);
    page.on('console', (m) => m.type() === 'error' && !/status of (4|5)\d\d/.test(m.text()) && say(m.text()));
    page.on('pageerror', (e) => say(String(e)));
    page.on('request', (r) => r.url().startsWith(o.base) || r.url().startsWith('data:') || say(`loads ${r.url()}`));
    let requests = 0;
    page.on('request', () => requests++);
    await page.addInitScript(() => {
      window.shift = 0;
      window.moved = [];
      new PerformanceObserver((list) => {
        for (const e of list.getEntries()) {
          if (e.hadRecentInput) continue;
          window.shift += e.value;
          for (const { node, previousRect: p, currentRect: c } of e.sources) window.moved.push(`${(node?.outerHTML || node?.nodeName || 'a removed element').slice(0, 80)} from ${p.x},${p.y} ${p.width}x${p.height} to ${c.x},${c.y} ${c.width}x${c.height}`);
        }
      }).observe({ type: 'layout-shift', buffered: true });
    });
    for (const [i, path] of o.pages.entries()) {
      at = path;
      const themes = Object.keys(look.names);
      if (i % 2 === 1) themes.reverse();
      if (look.inTurn) themes.length = 1;
      let before = 0;
      for (theme of themes) {
        await page.emulateMedia({ colorScheme: theme });
        const first = theme === themes[0];
        if (first) await page.goto(o.base + path, { waitUntil: 'load' });
        if (first && i === 0 && requests > 4) say(`a first visit is ${requests} requests, want at most 4: page, style, script, icons`);
        const shift = await page.evaluate(settle);
        if (shift - before > 0.02) say(`the layout shifts by ${(shift - before).toFixed(3)}${first ? '' : ' from the other theme'}, want at most 0.02: ${(await page.evaluate(() => window.moved)).join('; ')}`);
        before = shift;
        if (await page.locator('html').evaluate((e) => e.scrollWidth > e.clientWidth)) say('is wider than the screen');
        if (first) await page.evaluate(axe);
        const result = await page.evaluate(runAxe, first ? allRules : colorRules);
        for (const v of result.violations) for (const node of v.nodes) say(`${v.id}: ${v.help}: ${node.target.join(' ')} ${node.html.slice(0, 160)}`);
        if (o.shots) await page.screenshot({ path: join(o.shots, `${path.replace(/[^a-z0-9]+/gi, '-').slice(0, 60)}-${look.names[theme]}.png`), fullPage: true });
      }
    }
    await context.close();
  }
} finally {
  await browser.close();
}
if (wrong.length > 0) {
  console.log(wrong.join('\n'));
  process.exit(1);
}
