// Walks through the pages about code in a real browser. Argument: JSON {modules, browser,
// axe, base, scripts, shots, odd}: where playwright-core is, the browser's program, the
// script of axe-core, the server's address, whether the browser runs scripts, a directory
// for pictures (or none), and the root page of a repository with hostile names. What
// fails is thrown.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const o = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(join(o.modules, 'playwright-core/index.mjs')));
const axe = await readFile(o.axe, 'utf8');
const browser = await chromium.launch({
  executablePath: o.browser,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const complaints = [];
const walk = '/browse/code.example/walk';

async function reader(name, options) {
  const context = await browser.newContext({ javaScriptEnabled: o.scripts, baseURL: o.base, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(300_000); // only ends what hangs
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && !/status of (4|5)\d\d/.test(m.text()) && complaints.push(`${name}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(`${name}: ${e}`));
  page.on('dialog', (d) => (complaints.push(`${name}: a dialog says ${d.message()}`), d.dismiss()));
  page.on('request', (r) => r.url().startsWith(o.base) || complaints.push(`${name}: loads ${r.url()}`));
  const says = async (text) => assert.ok((await page.locator('main').innerText()).includes(text), `${name}: ${page.url()} does not say ${text}`);
  const fits = async () => {
    assert.ok(!(await page.locator('html').evaluate((e) => e.scrollWidth > e.clientWidth)), `${name}: ${page.url().slice(0, 200)} is wider than the screen`);
  };
  // runAxe adds what axe-core finds on the page to complaints.
  const runAxe = async (path, options) => {
    const found = await page.evaluate((options) => globalThis.axe.run({ resultTypes: ['violations'], ...options }), options);
    for (const v of found.violations) complaints.push(`${name}: ${path.slice(0, 100)}: axe: ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' | ')}`);
  };
  // visit opens a page and checks its width. With checked, and where scripts run, axe-core checks
  // it: a kind of page that TestEveryPageInABrowser does not visit. With shot and scripts, a wide
  // page is then shown narrower and in the dark theme, which takes less time than another load.
  const visit = async (path, shot, checked) => {
    checked &&= o.scripts;
    const takePicture = async (look) => o.shots && shot && page.screenshot({ path: join(o.shots, `${shot}-${look}-${o.scripts ? 'scripts' : 'plain'}.png`) });
    const response = await page.goto(path);
    await fits();
    if (checked) {
      await page.evaluate(axe).catch(async () => {
        // The policy refuses a script in the page; a world of the driver's own has none.
        const session = await context.newCDPSession(page);
        await session.send('Page.setBypassCSP', { enabled: true });
        await page.reload();
        await page.evaluate(axe);
      });
      await runAxe(path);
    }
    await takePicture(name);
    if (options.isMobile || !o.scripts || !shot) return response;
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 1000, height: 800 });
    await fits();
    if (checked) await runAxe(`dark ${path}`, { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } });
    await takePicture('dark');
    await page.setViewportSize(options.viewport);
    await page.emulateMedia({ colorScheme: 'light' });
    return response;
  };
  return { page, says, visit, fits, context };
}

// markedText returns the text of the first marked line of the page.
const markedText = (page) => page.locator('.at').first().innerText();

try {
  for (const [name, options] of [
    ['wide', { viewport: { width: 1640, height: 900 } }],
    ['phone', { viewport: { width: 360, height: 700 }, isMobile: true, hasTouch: true }],
  ]) {
    const r = await reader(name, options);
    const { page, says, visit } = r;
    await visit(walk, 'tree');
    await says('README.md');
    if (o.scripts) {
      // The TeX became formulas: wide ones scroll in their place. One that defines a macro and one with a reference stay TeX, and labels are no IDs.
      await page.locator('.prose').evaluate((e) => e.scrollIntoView());
      await page.locator('.prose[tabindex] div.math[tabindex] math').waitFor({ state: 'attached' });
      assert.deepEqual(await page.evaluate(() => ['.prose math', 'pre.math', '.math [id]'].map((s) => document.querySelectorAll(s).length)), [4, 2, 0]);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'formulas reach beyond the page');
    } else await says('\\frac{1}{2}');
    assert.equal(await page.locator('.prose script, .prose [onerror]').count(), 0);
    assert.ok((await page.locator('.prose img').first().evaluate((i) => i.loading === 'lazy' && i.getAttribute('src').includes('/-/raw/'))));
    await page.getByRole('link', { name: 'src', exact: true }).first().click();
    await page.getByRole('link', { name: 'main.go', exact: true }).last().click();
    await says('func Run() int {');
    await visit(page.url().slice(o.base.length), 'file');
    const numbers = await page.locator('pre.n').first().innerText();
    assert.match(numbers, /^1\n2\n3\n/);

    await visit(`${walk}/-/blob/src/main.go?L=4-6`, 'lines');
    assert.match(await markedText(page), /^func Run\(\) int \{\n\treturn 2\n\}/);
    await visit(`${walk}/-/blob/src%2Fmain.go?highlightRange=4:6,4:9`);
    assert.equal(await page.locator('mark').innerText(), 'Run');
    await visit(`${walk}/-/blob/src/main.go?blame=1`, 'blame');
    await says('return two');
    await page.locator('.who .before').first().click({ force: true }).catch(() => page.goto(`${walk}/-/blob/src/main.go`));
    await says('func Run() int {');
    await visit(`${walk}/-/commits/src/main.go`, 'commits');
    await says('2 commits');
    await page.getByRole('link', { name: /return two/ }).first().click();
    await says('3 files changed');
    await visit(page.url().slice(o.base.length), 'commit');
    assert.deepEqual([await page.locator('.run del').innerText(), await page.locator('.run ins').innerText()], ['1', '2']);
    const twins = await page.locator('.twin').first().isVisible();
    assert.equal(twins, name === 'wide', 'split where the window is wide, else unified');
    await visit(`${walk}/-/compare/HEAD~1...HEAD`, 'compare');
    await says('3 files changed');
    if (name === 'phone') await page.getByRole('button', { name: 'Files', exact: true }).click();
    const folded = page.locator('.diff').last();
    if (o.scripts) await folded.evaluate((e) => { e.open = false; });
    await page.locator('.changed-files li a').last().click();
    assert.match(page.url(), /#file-3$/);
    if (o.scripts) await folded.locator('.diff-links').waitFor(); // it unfolds
    if (o.scripts && name === 'wide') {
      // The pane closes, and stays closed; its edge moves by keys.
      const pane = page.locator('#tree');
      const before = (await pane.boundingBox()).width;
      await page.locator('.grip.of-tree').press('ArrowRight');
      assert.equal(Math.round((await pane.boundingBox()).width - before), 24);
      await page.getByRole('button', { name: 'Hide Files' }).click();
      await page.reload();
      assert.equal(await pane.isVisible(), false, 'the closed pane');
      await page.getByRole('button', { name: 'Files', exact: true }).click();
      assert.ok(await pane.isVisible(), 'the pane that was opened again');
    }
    assert.equal((await visit(`${walk}/-/blob/src/gone.txt`, 'gone', true)).status(), 404);
    await says('This file was deleted');
    await page.getByRole('link', { name: 'Last version of the file' }).click();
    await says('a file that will be deleted');
    await visit(`${walk}/-/blob/src/old.txt`);
    await says('src/new.txt');
    await visit(`${walk}/-/blob/book.ipynb`, 'notebook', true);
    await says('Cell one');
    assert.equal(await page.locator('.cell-image img').evaluate((i) => i.decode().then(() => i.naturalWidth)), 1);
    await visit(`${walk}/-/blob/img/pixel.png`, 'image', true);
    assert.equal(await page.locator('.picture img').evaluate((i) => i.naturalWidth), 1);
    await visit(`${walk}/-/blob/odd.txt`, 'odd', true);
    assert.ok((await page.locator('.code').textContent()).includes('<img src=x onerror=alert(3)>'));
    assert.equal(await page.locator('[data-u="U+202E"]').count(), 1);

    // Lines of a result are below each other, and have the colors of their language.
    await visit('/search?q=Run+file:main.go', 'results');
    const boxes = await page.locator('.chunk').first().locator('.line').evaluateAll((all) => all.map((e) => e.getBoundingClientRect()));
    assert.ok(boxes.length > 1 && boxes.every((b, i) => i === 0 || (b.left === boxes[0].left && b.top >= boxes[i - 1].bottom - 1)), 'lines of a chunk are next to each other');
    assert.ok((await page.locator('.line code span.k').count()) > 0, 'results have no colors');

    // A preview of the file, at the line of the result; the keys go on in the results.
    if (o.scripts && name !== 'phone') {
      await page.keyboard.press('j');
      await page.keyboard.press('i');
      await page.locator('.preview .at').waitFor();
      const first = await page.locator('.preview .at').innerText();
      await page.keyboard.press('j');
      for (const end = Date.now() + 300_000; (await page.locator('.preview .at').innerText()) === first; ) assert.ok(Date.now() < end, 'the preview follows the keys');
      await r.fits();
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('.preview').count(), 0);
    }

    // Definitions and references of a name, as a page.
    const name4 = '/symbols?name=Run&repo=code.example/walk&path=src/main.go&lang=Go&line=10&column=15';
    await visit(name4, 'symbols');
    for (const text of ['func Run() int', 'Run runs.', '1 definition', '1 reference', '1 more in comments and strings', 'In this file']) await says(text);
    await page.getByRole('link', { name: /in comments and strings/ }).click();
    await says('// Run runs.');
    await page.goto(`${name4}&go=definition`);
    assert.match(page.url(), /main\.go\?L=4$/);
    await visit('/symbols?name=none_is_named_so');
    await says('No definitions or references are indexed');
    await visit('/symbols', 'symbols-empty');

    // Files and pages by a few letters.
    await visit('/find?q=tallgo:4', 'find');
    await says('src/tall.go');
    await page.locator('.found a').first().click();
    assert.match(page.url(), /tall\.go\?L=4$/);

    // A hundred thousand lines, and a line of two megabytes.
    await visit(`${walk}/-/blob/long.go?L=99990`);
    assert.match(await markedText(page), /line099990/);
    assert.ok(await page.locator('#at').evaluate((e) => { const b = e.getBoundingClientRect(); return b.top > 0 && b.bottom < innerHeight; }), 'the line is not on the screen');
    assert.ok((await page.locator('*').count()) < 40_000, 'the page of a hundred thousand lines is heavy');
    assert.ok((await page.locator('.at span').count()) > 0, 'the marked line has no colors');
    if (o.scripts && name === 'wide') {
      await page.goto(`${walk}/-/blob/long.go`);
      assert.equal(await page.locator('.chunk').last().locator('span').count(), 0, 'all of a long file has colors from the start');
      const asked = page.waitForRequest((r) => r.url().includes('colors='));
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      assert.match((await asked).url(), /walk@[0-9a-f]{40}\/-\/blob\/long\.go\?/, 'the colors are not of the commit of the page');
      await page.locator('.chunk').last().locator('span.s').first().waitFor();
      assert.match(await page.locator('.chunk').last().innerText(), /line100000 := "text" \/\/ 100000/);
    }
    await visit(`${walk}/-/blob/one-line.txt`, 'long-line', true);
    assert.ok((await page.locator('*').count()) < 400, 'a long line is many elements');
    assert.ok((await page.locator('pre.t, .wrapped').first().innerText()).length < 10_000, 'a long line is not cut');
    if (name === 'phone') { // it wraps there
      await page.getByRole('link', { name: /show the whole line/ }).click();
      await page.waitForURL((u) => u.searchParams.get('long') === '1');
      assert.ok((await page.locator('pre.t, .wrapped').first().textContent()).length > 2_000_000, 'the whole line is not shown');
    }

    // Every page of hostile names, on the narrowest window, where a script could do harm.
    await visit(o.odd, 'hostile', true);
    for (const link of name !== 'phone' || !o.scripts ? [] : await page.locator('ul.files a').evaluateAll((all) => all.map((a) => a.getAttribute('href')))) {
      await visit(link);
      assert.equal(await page.locator('main script, main [onerror]').count(), 0, link);
    }
    await visit(`${o.odd}?rev=${encodeURIComponent('<img/src=x/onerror=alert(1)>')}`);

    if (name === 'phone') {
      await visit(`${walk}/-/blob/src/main.go`);
      assert.ok(!(await page.locator('#tree').isVisible()));
      await page.getByRole('button', { name: 'Files' }).click();
      assert.ok(await page.locator('#tree').isVisible(), 'the tree does not open');
    }
    if (name === 'wide' && o.scripts) {
      await visit(`${walk}/-/blob/src/main.go`);
      const box = await page.locator('pre.n').first().boundingBox();
      await page.mouse.click(box.x + 20, box.y + (box.height * 3.5) / 10);
      await page.waitForURL((u) => u.searchParams.get('L') === '4'); // the driver learns of it later
      await page.keyboard.down('Shift');
      await page.mouse.click(box.x + 20, box.y + (box.height * 5.5) / 10);
      await page.keyboard.up('Shift');
      await page.waitForURL((u) => u.searchParams.get('L') === '4-6');
      await page.locator('q-filter input').fill('walk');
      assert.equal(await page.locator('.outline li:visible').count(), 1);
      await page.locator('#tree').getByRole('link', { name: 'img' }).click();
      await page.locator('#tree').getByRole('link', { name: 'pixel.png' }).waitFor();
      await page.goto(`${walk}/-/blob/src/main.go#L4`);
      await page.locator('.marker').waitFor();

      // The card of a name by the pointer and by keys, its panel, and the way to the definition.
      await page.goto(`${walk}/-/blob/src/main.go`);
      const place = await page.locator('pre.t code').first().evaluate((code) => {
        const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
        let node = walker.nextNode();
        while (!node.data.includes('Run() }')) node = walker.nextNode();
        const range = document.createRange();
        range.setStart(node, node.data.indexOf('Run'));
        range.setEnd(node, node.data.indexOf('Run') + 3);
        const box = range.getBoundingClientRect();
        return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
      });
      await page.mouse.move(place.x, place.y);
      await page.locator('.symbol-card').getByText('Run runs.').waitFor();
      await page.locator('.symbol-card').getByText('1 reference').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('.symbol-card').waitFor({ state: 'detached' });
      await page.mouse.click(place.x, place.y);
      await page.locator('.symbol-card').waitFor();
      await page.keyboard.press('Enter');
      await page.locator('.symbol-card a:focus').waitFor();
      await page.keyboard.press('r');
      await page.locator('.symbol-panel').getByText('In this file').waitFor();
      // The edge of the panel moves by keys, and the height stays for the next name.
      const height = async () => Math.round((await page.locator('.symbol-panel').boundingBox()).height);
      const before = await height();
      await page.locator('.grip.of-symbol-panel').press('ArrowUp');
      assert.equal((await height()) - before, 24);
      await page.keyboard.press('Escape');
      await page.locator('.symbol-panel').waitFor({ state: 'detached' });
      await page.mouse.click(place.x, place.y);
      await page.keyboard.press('r');
      await page.locator('.symbol-panel').getByText('In this file').waitFor();
      assert.equal((await height()) - before, 24);
      await page.keyboard.press('Escape');
      await page.locator('.symbol-panel').waitFor({ state: 'detached' });
      await page.mouse.click(place.x, place.y);
      await page.keyboard.press('d');
      await page.waitForURL((u) => u.searchParams.get('L') === '4');

      // The palette, and keys of the file that it leads to.
      await page.keyboard.press('t');
      await page.locator('.palette input').fill('tallgo');
      await page.locator('.palette [aria-selected=true]', { hasText: 'src/tall.go' }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(/tall\.go$/);
      await page.keyboard.press('b');
      await page.waitForURL((u) => u.searchParams.get('blame') === '1');
      await page.keyboard.press('h');
      await page.waitForURL(/\/-\/commits\/src/);
      await page.keyboard.press('Control+k');
      await page.locator('.palette input').fill('>keys');
      await page.locator('.palette [aria-selected=true]', { hasText: 'Keyboard shortcuts' }).waitFor();
      await page.keyboard.press('Escape');

      // The first line of a function stays at the top while its body scrolls.
      await page.setViewportSize({ width: 1640, height: 300 });
      await page.goto(`${walk}/-/blob/src/tall.go`);
      await page.mouse.wheel(0, 600);
      await page.locator('.sticky-scopes').getByText('func Tall() {').waitFor();
    }
    await r.context.close();
  }
  assert.deepEqual(complaints, [], 'what the browser complains of');
} finally {
  await browser.close();
}
