// Checks in a real browser that views of a file keep the reader's place, and that the
// numbers of lines are right in each view. Argument: JSON {modules, browser, base, scripts,
// shots}, as in browse.mjs. What fails is thrown.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const o = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(join(o.modules, 'playwright-core/index.mjs')));
const browser = await chromium.launch({
  executablePath: o.browser,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const complaints = [];
const file = '/browse/code.example/place/-/blob/src/main.go';

async function reader(name, options) {
  const context = await browser.newContext({ javaScriptEnabled: o.scripts, baseURL: o.base, ...options });
  context.setDefaultTimeout(300_000); // only ends what hangs
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && complaints.push(`${name}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(`${name}: ${e}`));
  page.shot = (title) => o.shots && page.screenshot({ path: join(o.shots, `place-${title}-${name}-${o.scripts ? 'scripts' : 'plain'}.png`) });
  return page;
}

// shownNumbers returns the numbers of wrapped lines that a reader sees, with their lines, as
// the browser gives them to a screen reader.
async function shownNumbers(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Accessibility.enable');
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  const byID = new Map(nodes.map((n) => [n.nodeId, n]));
  const textOf = (n) => (n.role?.value === 'StaticText' ? n.name.value : (n.childIds ?? []).map((id) => textOf(byID.get(id) ?? {})).join(''));
  const rows = [];
  for (const item of nodes.filter((n) => n.role?.value === 'listitem')) {
    const children = item.childIds.map((id) => byID.get(id));
    const marker = children.find((n) => n?.role?.value === 'ListMarker');
    const text = children.filter((n) => n && n !== marker).map(textOf).join('');
    const kettle = /kettle(\d+) :=/.exec(text);
    if (kettle) rows.push({ number: parseInt(marker?.name?.value ?? '0', 10), line: Number(kettle[1]) + 4 });
  }
  return rows;
}

try {
  for (const [name, options] of [
    ['wide', { viewport: { width: 1640, height: 900 } }],
    ['phone', { viewport: { width: 360, height: 700 }, isMobile: true, hasTouch: true, userAgent: 'Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36' }],
  ]) {
    const page = await reader(name, options);
    // Each line has its number, within a selection, before it and after it.
    for (const address of [`${file}?wrap=1`, `${file}?L=280-284&wrap=1`, ...(name === 'phone' ? [`${file}?L=280`] : [])]) {
      await page.goto(address);
      const rows = await shownNumbers(page);
      assert.equal(rows.length, 400, `${name}: ${address}: lines`);
      const wrong = rows.filter(({ number, line }) => number !== line);
      assert.deepEqual(wrong.slice(0, 3), [], `${name}: ${address}: ${wrong.length} lines have wrong numbers`);
      const marked = page.locator('.at').first();
      if ((await marked.count()) > 0) {
        // The gutter of a marked line looks different without the number, in both themes.
        await marked.scrollIntoViewIfNeeded();
        const box = await marked.boundingBox();
        const left = await page.locator('.code').evaluate((e) => e.getBoundingClientRect().left);
        const clip = { x: left, y: box.y, width: 55, height: 18 };
        for (const colorScheme of ['dark', 'light']) {
          await page.emulateMedia({ colorScheme });
          const before = await page.screenshot({ clip });
          await marked.evaluate((li) => { li.style.listStyle = 'none'; });
          assert.notDeepEqual(before, await page.screenshot({ clip }), `${name}: ${address}: the number of the marked line cannot be seen in the ${colorScheme} theme`);
          await marked.evaluate((li) => { li.style.listStyle = ''; });
        }
      }
      await page.shot(`wrapped${address.includes('L=') ? '-marked' : ''}`);
    }

    // Marked lines stay on the way to the blame and back, to the history and back, to the
    // permalink, to another branch, and to a branch whose name is typed.
    const lines = () => new URL(page.url()).searchParams.get('L');
    const links = page.locator('.file-links');
    await page.goto(`${file}?L=280-284`);
    await links.locator('[data-hotkey=b]').click();
    await page.waitForURL((u) => u.searchParams.get('blame') === '1');
    assert.equal(lines(), '280-284', `${name}: blame`);
    assert.match(await page.locator('.at').first().innerText(), /^\s*kettle276 :=/);
    await links.locator('[data-hotkey=b]').click();
    await page.waitForURL((u) => !u.searchParams.has('blame'));
    assert.equal(lines(), '280-284', `${name}: without blame`);
    await links.locator('[data-hotkey=h]').click();
    await page.waitForURL(/\/-\/commits\//);
    assert.match(await page.locator('main').innerText(), /2 commits/, `${name}: the history is that of the file`);
    await page.getByRole('link', { name: 'Back to the code' }).click();
    await page.waitForURL(/\/-\/blob\//);
    assert.equal(lines(), '280-284', `${name}: history and back`);
    await links.locator('#permalink').click();
    await page.waitForURL(/@[0-9a-f]{40}\//);
    assert.equal(lines(), '280-284', `${name}: permalink`);
    assert.match(await page.locator('.menu-button').innerText(), /^[0-9a-f]{7,12}$/m, `${name}: a commit is not labelled with a branch`);
    await page.getByRole('button', { name: 'Branch or tag:' }).click();
    assert.deepEqual((await page.locator('#refs li').allInnerTexts()).map((t) => t.trim()), ['main', '3.1', '3.2', '3.3', '3.10', 'v1.0']);
    await page.locator('#refs').getByRole('link', { name: '3.10', exact: true }).click();
    await page.waitForURL(/3\.10\/-\/blob/);
    assert.equal(lines(), '280-284', `${name}: another branch`);
    await page.getByRole('button', { name: 'Branch or tag:' }).click();
    await page.locator('#rev').fill('v1.0');
    await page.locator('#rev').press('Enter');
    await page.waitForURL(/v1\.0\/-\/blob/);
    assert.equal(lines(), '280-284', `${name}: a branch that is typed`);
    assert.match(await page.locator('.menu-button').innerText(), /v1\.0/, `${name}: a tag is labelled with its name`);

    if (o.scripts && name === 'wide') {
      // Without marked lines, the first line of the window stays.
      const first = () => page.evaluate(() => {
        const top = document.querySelector('.top').getBoundingClientRect().bottom + 2;
        for (const chunk of document.querySelectorAll('.code .chunk')) {
          const box = chunk.getBoundingClientRect();
          const numbers = chunk.querySelector('pre.n').textContent.trim().split('\n').map(Number);
          if (box.bottom > top) return numbers[0] + Math.floor(((top - box.top) / box.height) * numbers.length);
        }
        return 0;
      });
      await page.goto(file);
      await page.locator('.code').evaluate(() => scrollTo(0, 4000));
      const line = await first();
      assert.ok(line > 100, `line ${line}`);
      for (const [key, url] of [['b', /blame=1/], ['b', /main\.go$/], ['y', /@[0-9a-f]{40}\//]]) {
        await page.keyboard.press(key);
        await page.waitForURL(url);
        await page.locator('q-code.live').waitFor();
        assert.ok(Math.abs((await first()) - line) <= 1, `${key}: line ${await first()}, not ${line}`);
      }
      await page.goBack();
      await page.waitForURL(/main\.go$/);
      await page.locator('q-code.live').waitFor();
      assert.ok(Math.abs((await first()) - line) <= 1, `Back: line ${await first()}, not ${line}`);

      // w opens the menu of branches, which takes the focus.
      await page.keyboard.press('w');
      await page.locator('#rev:focus').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('#refs').waitFor({ state: 'hidden' });

      // A click on a number opens a menu, and frames nothing.
      await page.goto(file);
      const box = await page.locator('pre.n').first().boundingBox();
      const count = await page.locator('pre.n').first().evaluate((n) => n.textContent.trim().split('\n').length);
      await page.mouse.click(box.x + 20, box.y + (box.height * 9.5) / count);
      await page.locator('.line-menu').waitFor();
      await page.shot('menu');
      assert.equal(lines(), '10');
      assert.equal(await page.evaluate(() => document.querySelector('q-code').matches(':focus')), false, 'the whole file has the focus');
      for (const text of ['Copy line', 'Copy permalink', 'Blame', 'History of these lines']) assert.match(await page.locator('.line-menu').innerText(), new RegExp(text));
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.getByRole('button', { name: 'Copy line' }).click();
      await page.locator('.line-menu').waitFor({ state: 'detached' });
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^\tkettle6 := "boil.* 6"$/);
      await page.mouse.click(box.x + 20, box.y + (box.height * 9.5) / count);
      await page.locator('.line-menu').getByRole('link', { name: 'History of these lines' }).click();
      await page.waitForURL((u) => /commits/.test(u.pathname) && u.searchParams.get('L') === '10');

      // A selected name is taken along to the box.
      await page.goto(file);
      await page.locator('pre.t code').first().evaluate((code) => {
        const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
        let node = walker.nextNode();
        while (!node.data.includes('Run')) node = walker.nextNode();
        getSelection().setBaseAndExtent(node, node.data.indexOf('Run'), node, node.data.indexOf('Run') + 3);
      });
      await page.keyboard.press('/');
      assert.equal(await page.locator('#q:focus').inputValue(), 'Run');
      for (const text of ['type:file', '-Run', 'or']) {
        await page.goto(file);
        await page.evaluate((text) => {
          const node = document.createTextNode(text);
          document.querySelector('main').append(node);
          getSelection().setBaseAndExtent(node, 0, node, text.length);
        }, text);
        await page.keyboard.press('/');
        assert.equal(await page.locator('#q:focus').inputValue(), `"${text}"`);
      }

      // The palette lists the definition of the open file first, and each of the others.
      await page.goto('/browse/code.example/place/-/blob/src/other.go');
      await page.keyboard.press('t');
      await page.locator('.palette input').fill('@Run');
      await page.locator('.palette .found a').nth(2).waitFor();
      const rows = await page.locator('.palette .found a').allInnerTexts();
      assert.match(rows[0].replace(/\s+/g, ' '), /^Run .*:3$/, rows.join('\n'));
      assert.match(await page.locator('.palette .found a').first().getAttribute('href'), /src\/other\.go\?L=3$/);
      assert.deepEqual(rows.slice(1).map((t) => /src\/\w+\.go:\d+/.exec(t)?.[0]).sort(), ['src/a.go:3', 'src/main.go:4']);
    }
    if (o.scripts && name === 'phone') {
      // A tap opens the card of a name, in lines that wrap and in others.
      for (const address of [file, `${file}?wrap=0`]) {
        await page.goto(address);
        await page.locator('q-code.live').waitFor();
        // A page that is still being laid out may move under the tap, so that a person taps again.
        const card = page.locator('.symbol-card').getByText('Run runs.');
        for (let taps = 1; !(await card.isVisible()); taps++) {
          const place = await page.locator('.wrapped li, pre.t code').filter({ hasText: 'func Run' }).first().evaluate((code) => {
            const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
            let node = walker.nextNode();
            while (!/\bRun\b/.test(node.data) || node.data.includes('runs')) node = walker.nextNode();
            const range = document.createRange();
            range.setStart(node, node.data.indexOf('Run'));
            range.setEnd(node, node.data.indexOf('Run') + 3);
            const box = range.getBoundingClientRect();
            return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
          });
          await page.touchscreen.tap(place.x, place.y);
          await card.waitFor({ timeout: 15_000 }).catch((e) => assert.ok(taps < 20, e));
        }
        // The finger has left the text: a card that was tapped stays. Timers fire in their order.
        await page.locator('q-code').evaluate((code) => new Promise((done) => {
          code.dispatchEvent(new PointerEvent('pointerleave'));
          setTimeout(done, 400);
        }));
        assert.ok(await card.isVisible(), 'the card of a tapped name does not stay');
        await page.shot('card');
      }
    }
    await page.context().close();
  }
  assert.deepEqual(complaints, [], 'what the browser complains of');
} finally {
  await browser.close();
}
