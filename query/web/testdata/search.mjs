// Walks through the search pages as people do. Argument: JSON {modules, browser, base,
// scripts, shots}: where playwright-core and axe-core are, the browser's program, the
// server's address, whether the browser runs scripts, and a directory for pictures (or
// none). What fails is thrown.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const o = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(join(o.modules, 'playwright-core/index.mjs')));
const axe = await readFile(join(o.modules, 'axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({
  executablePath: o.browser,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const complaints = [];

async function open(name, options = {}) {
  const context = await browser.newContext({ javaScriptEnabled: o.scripts, baseURL: o.base, viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(300000);
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && !/status of (4|5)\d\d|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_FAILED/.test(m.text()) && complaints.push(`${name}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(`${name}: ${e}`));
  page.on('dialog', (d) => { complaints.push(`${name}: dialog ${d.message()}`); d.dismiss(); });
  page.on('request', (r) => r.url().startsWith(o.base) || complaints.push(`${name}: loads ${r.url()}`));
  page.shot = (title) => o.shots && page.screenshot({ caret: 'initial', path: join(o.shots, `search-${title}-${name}.png`) });
  return page;
}

// until polls, since the policy of the pages forbids waiting by evaluated strings. The
// bound only ends a hang.
async function until(what, test) {
  for (const end = Date.now() + 300000; ;) {
    if (await test()) return;
    assert.ok(Date.now() < end, `waited for: ${what}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}

// check holds what is true of every page.
async function check(page, name) {
  const wide = await page.locator('html').evaluate((e) => e.scrollWidth > e.clientWidth);
  assert.ok(!wide, `${name}: ${page.url()} is wider than the screen`);
  if (!o.scripts) return;
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.slice(0, 3).map((n) => `    ${n.html.slice(0, 200)}\n    ${n.failureSummary}`).join('\n')}`);
  assert.deepEqual(found, [], `${name}: ${page.url()}`);
}

const status = (page) => page.locator('#status').innerText();

try {
  for (const colorScheme of ['light', 'dark']) {
    for (const phone of [false, true]) {
      const name = `${colorScheme}-${phone ? 'phone' : 'desk'}`;
      const page = await open(name, { colorScheme, ...(phone ? { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true } : {}) });
      for (const [title, path] of [['home', '/'], ['results', '/search?q=kettle'], ['paths', '/search?q=kettle&view=files'], ['refused', '/search?q=(kettle&re=1'], ['syntax', '/syntax'], ['keys', '/shortcuts'], ['preferences', '/preferences']]) {
        await page.goto(path);
        await check(page, `${name} ${title}`);
        await page.shot(title);
        if (title !== 'results') continue;
        if (phone) await page.locator('.facet-fold > summary').click();
        const last = page.locator('.facets section').last().locator('li').last();
        assert.equal(await last.isVisible(), false, `${name}: values beyond the first ones`);
        await page.locator('.facet-more > summary').click();
        assert.ok(await last.isVisible(), `${name}: the unfolded values`);
        if (!o.scripts) continue;
        await page.locator('.facet-more input').fill('kind8');
        assert.equal(await page.locator('.facets section').last().locator('li:visible').innerText(), 'kind8\n1', `${name}: the filtered values`);
      }
      await page.context().close();
    }
  }

  // Search, narrow, come back.
  const page = await open('walk');
  await page.goto('/');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'q', 'the box has the focus');
  await page.keyboard.type('kettle');
  await page.keyboard.press('Enter');
  await until('results', async () => /124 matches in 31 files|120 matches in 30 files/.test(await page.locator('body').innerText()));
  assert.equal(new URL(page.url()).search, '?q=kettle');
  assert.match(await page.locator('.hit-file .path').first().getAttribute('href'), /\/-\/blob\/src\/kettle0\.go$/);
  assert.match(await page.locator('.line > .n').first().getAttribute('href'), /\?L=1#L1$/);
  assert.equal(await page.locator('.hit-file img, .hits script').count(), 0, 'names are text');
  await page.getByRole('link', { name: 'C++', exact: true }).click();
  await until('the narrowed query', async () => (await page.locator('#q').inputValue()) === 'kettle lang:C++');
  assert.match(page.url(), /q=kettle\+lang%3AC%2B%2B/);
  await page.goBack();
  await until('the query before', async () => (await page.locator('#q').inputValue()) === 'kettle');
  await page.getByRole('link', { name: 'kettle or boil' }).click();
  await until('the other reading', async () => (await page.locator('#q').inputValue()) === 'kettle or boil');
  await page.getByRole('link', { name: 'Paths only' }).click();
  await until('paths', async () => (await page.locator('.line').count()) === 0 && (await page.locator('.hit-file').count()) === 31);
  await page.goto('/search?q=(kettle&re=1');
  assert.equal(await page.locator('#q').inputValue(), '(kettle', 'the text is kept');
  assert.match(await page.locator('body').innerText(), /Column 1:/);

  // The notice about a cut answer has its place before it comes, and moves nothing.
  for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 800 }]) {
    await page.setViewportSize(viewport);
    await page.goto('/search?q=slow+cut', { waitUntil: 'commit' });
    await until('the first file', async () => (await page.locator('.hit-file').count()) === 1);
    const top = () => page.locator('.hit-file').first().evaluate((e) => e.getBoundingClientRect().top);
    const before = await top();
    await page.request.get('/release');
    await until('the notice', async () => (await page.locator('.notices .partial').count()) === 1);
    assert.ok(Math.abs((await top()) - before) < 1, `${viewport.width}: the notice moves the files from ${before} to ${await top()}`);
  }

  // On a slow phone the counts are painted before the rest of the status, and stay where they are.
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto('/search?q=kettle');
  const tops = await page.locator('#status').evaluate((status) => {
    const [line, views] = status.children;
    const rest = [...line.children].slice(1);
    const top = () => line.getBoundingClientRect().top;
    line.append('a text that needs a second line of a phone');
    const found = [top()];
    views.remove();
    found.push(top());
    line.replaceChildren(line.firstElementChild, rest[0] ?? '');
    return [...found, top()];
  });
  assert.ok(Math.max(...tops) - Math.min(...tops) < 1, `the counts move from ${tops[2]} to ${tops[0]} while the status arrives`);
  await page.setViewportSize({ width: 1280, height: 860 });

  if (o.scripts) {
    // As you type; one entry of the history for what stood.
    await page.goto('/search?q=boil');
    const length = await page.evaluate(() => history.length);
    // The letters come in one task, so that no pause between them looks like a query that
    // stood. What happens in the page is noted in its order, however slow it is.
    await page.locator('#q').fill('');
    await page.locator('#q').evaluate((q) => {
      globalThis.order = [];
      new MutationObserver(() => globalThis.order.push(document.title)).observe(document.querySelector('title'), { childList: true });
      const push = history.pushState.bind(history);
      history.pushState = (...state) => { globalThis.order.push('address'); push(...state); };
      for (const letter of 'kettle') {
        q.value += letter;
        q.dispatchEvent(new InputEvent('input', { bubbles: true }));
      }
    });
    await until('results while typing', async () => (await page.title()).startsWith('kettle'));
    await until('the address', async () => /q=kettle$/.test(page.url()));
    assert.deepEqual(await page.evaluate(() => globalThis.order.map((event) => event.split(' ')[0])), ['kettle', 'address'], 'the address waits');
    assert.equal(await page.evaluate(() => history.length), length + 1);

    // Suggestions by keys.
    await page.locator('#q').pressSequentially(' la', { delay: 30 });
    await until('suggestions', async () => (await page.locator('.suggestions [role=option]').count()) > 0);
    await check(page, 'suggestions');
    await page.shot('suggestions');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('#q').inputValue(), 'kettle lang:');
    await page.locator('#q').pressSequentially('py', { delay: 30 });
    await until('languages', async () => /Python/.test(await page.locator('.suggestions').innerText()));
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#q').inputValue(), 'kettle lang:py', 'Escape keeps the query');
    await page.keyboard.press('Shift+Enter');
    assert.equal(await page.locator('textarea#q').inputValue(), 'kettle lang:py\n');

    // A field of several lines is a textbox that names its list, not a combobox.
    await page.locator('#q').pressSequentially('lang:py', { delay: 30 });
    await until('languages below two lines', async () => (await page.locator('#q').getAttribute('aria-controls')) === 'q-list');
    await until('the chosen value', async () => {
      if (/^q-\d/.test(await page.locator('#q').getAttribute('aria-activedescendant') ?? '')) return true;
      await page.keyboard.press('ArrowDown'); // a list that arrives later has no chosen value yet
      return false;
    });
    assert.equal(await page.locator('#q').getAttribute('role'), null, 'the role of several lines');
    await check(page, 'several lines');
    await page.keyboard.press('Escape');
    await check(page, 'several lines without a list');

    // The history of this browser, which can be cleared, and branches as the API shows them.
    await page.goto('/search?q=kettle');
    await until('scripts', async () => (await page.locator('.tools').count()) > 0);
    await page.locator('#q').fill('');
    await page.keyboard.press('ArrowUp');
    await until('the history', async () => /kettle/.test(await page.locator('.suggestions').innerText()));
    await check(page, 'history');
    await page.getByRole('option', { name: 'Clear history' }).click();
    assert.equal(await page.evaluate(() => localStorage.getItem('quarry.queries')), null, 'the history is empty');
    const asked = [];
    await page.route('**/api/repos**', (r) => {
      asked.push(new URL(r.request().url()).pathname + new URL(r.request().url()).search);
      return r.fulfill({ json: /status$/.test(r.request().url()) ? { refs: ['refs/heads/main', 'refs/heads/next', 'refs/tags/v1'].map((ref) => ({ ref })) } : [{ repoId: 7, repoName: 'team/kettle-2' }, { repoId: 8, repoName: 'team/kettle' }] });
    });
    await page.locator('#q').pressSequentially('repo:^team/kettle$ rev:n', { delay: 30 });
    await until('branches', async () => /refs\/heads\/next/.test(await page.locator('.suggestions').innerText()));
    assert.deepEqual(asked.filter((a) => /status/.test(a)), ['/api/repos/8/status'], 'one request for the branches of the repository');
    await page.getByRole('option', { name: 'refs/heads/next' }).click();
    assert.equal(await page.locator('#q').inputValue(), 'repo:^team/kettle$ rev:refs/heads/next ');
    await page.unroute('**/api/repos**');

    // Search contexts, as the server lists them for the caller.
    await page.locator('#q').fill('context:o');
    await until('contexts', async () => /open/.test(await page.locator('.suggestions').innerText()));
    assert.equal(await page.getByRole('option').count(), 2, 'not the context of a hidden repository');
    await page.getByRole('option', { name: 'open' }).click();
    assert.equal(await page.locator('#q').inputValue(), 'context:open ');

    // Blame and history keep the line.
    for (const [key, end] of [['b', '/-/blob/src/kettle0.go?blame=1&L=11'], ['h', '/-/commits/src/kettle0.go?line=11']]) {
      await page.goto('/search?q=kettle');
      await until('scripts', async () => (await page.locator('.tools').count()) > 0);
      for (const k of ['j', 'j', key]) await page.keyboard.press(k);
      await page.waitForURL((url) => url.href.endsWith(end));
    }

    // Keys alone.
    await page.goto('/search?q=kettle');
    await until('scripts', async () => (await page.locator('.tools').count()) > 0);
    const focused = () => page.evaluate(() => document.activeElement.closest('.hit-file')?.dataset.path + ':' + document.activeElement.textContent);
    await page.keyboard.press('j');
    assert.equal(await focused(), 'src/kettle0.go:1');
    await page.keyboard.press('j');
    assert.equal(await focused(), 'src/kettle0.go:11');
    await page.keyboard.press('J');
    assert.equal(await focused(), 'src/kettle1.go:1');
    await page.keyboard.press('k');
    assert.equal(await focused(), 'src/kettle0.go:21', 'folded matches are passed');
    await page.keyboard.press('x');
    assert.equal(await page.locator('.hit-file.folded').count(), 1);
    await page.keyboard.press('x');
    await page.keyboard.press('f');
    assert.ok(await page.evaluate(() => document.activeElement.closest('#facets') !== null), 'f leads to the filters');
    await page.keyboard.press('Escape');
    assert.ok(await page.evaluate(() => document.activeElement.closest('#files') !== null), 'Escape leads back');
    assert.equal(await page.evaluate(() => document.querySelectorAll('.line > .n[tabindex="0"]').length), 1, 'matches are one stop of the Tab key');
    // A file that is not loaded leaves the reader at the results; the preview keeps the focus.
    await page.keyboard.press('i');
    await until('the preview', async () => /was not loaded/.test(await page.locator('.preview').innerText()));
    assert.ok(await page.evaluate(() => document.querySelector('.preview').previousElementSibling.matches('.hit-file')), 'Tab leads from the result into its preview');
    await check(page, 'preview');
    await page.locator('.preview button').focus();
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('.preview').count(), 0);
    assert.ok(await page.evaluate(() => document.activeElement.closest('#files') !== null), 'closing the preview leads back');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await check(page, 'help');
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
    await page.keyboard.press('Alt+r');
    await until('regular expressions', async () => /re=1/.test(page.url()));

    // A search that does not end: what came is shown, and stays when it is stopped.
    await page.locator('#q').fill('slow kettle');
    await page.locator('#q').press('Enter');
    await until('the first file', async () => /Stop/.test(await status(page)) && (await page.locator('.hit-file').count()) === 1);
    await page.shot('running');
    await page.getByRole('button', { name: 'Stop' }).click();
    await until('it to stop', async () => /stopped after/.test(await status(page)));
    assert.equal(await page.locator('.hit-file').count(), 1);
    await check(page, 'stopped');
    // A new query ends the one before.
    await page.locator('#q').fill('slow boil');
    await page.locator('#q').press('Enter');
    await until('it to run', async () => /Stop/.test(await status(page)));
    await page.locator('#q').fill('kettle');
    await page.locator('#q').press('Enter');
    await until('the next', async () => /all of them/.test(await status(page)));
    assert.equal(await page.locator('.hit-file').count(), 31);

    // While no answer comes, what is shown is dimmed, and said to be that of the query before.
    for (const [how, handle, words] of [['slow', () => {}, /Searching/], ['offline', (r) => r.abort('connectionfailed'), /The connection was lost, or the server cannot be reached\./]]) {
      await page.goto('/search?q=kettle');
      await until('scripts', async () => (await page.locator('.tools').count()) > 0);
      const color = () => page.locator('.line.hit code').first().evaluate((e) => getComputedStyle(e).color);
      const before = await color();
      await page.route('**/search?*fragment=1*', handle);
      await page.locator('#q').fill('boil');
      await until(how, async () => words.test(await status(page)));
      assert.match(await status(page), /The results below are those of the query before\./, how);
      assert.notEqual(await color(), before, `${how}: what is shown is not dimmed`);
      assert.equal(await page.locator('.hit-file').count(), 31);
      await check(page, how);
      await page.shot(how);
      if (how === 'slow') {
        await page.getByRole('button', { name: 'Stop' }).click();
        await until('it to stop', async () => /Stopped/.test(await status(page)));
        assert.match(await status(page), /those of the query before/);
      }
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.getByRole('button', { name: 'Search again' }).click();
      await until('the answer', async () => /all of them/.test(await status(page)));
      assert.equal(await color(), before, `${how}: the answer is dimmed`);
    }

    // What fails: what came stays, the message has the request's ID and says what to do, and
    // nothing is sent again by itself.
    const sent = async (query) => (await (await page.request.get('/queries')).json())[query] ?? 0;
    for (const [word, said, action] of [['limited', /Too many requests\./, 'Search again'], ['busy', /The server is busy\./, 'Search again'], ['lost', /did not finish/, 'Search again'], ['ended', /You are signed out\./, 'Sign in and come back'], ['broken', /The connection was lost/, 'Search again']]) {
      await page.goto('/search?q=kettle');
      await until('scripts', async () => (await page.locator('.tools').count()) > 0);
      const query = `${word} kettle`;
      // In one task: a pause before Enter would send the query while it is typed, too.
      await page.locator('#q').evaluate((q, value) => {
        q.value = value;
        q.dispatchEvent(new InputEvent('input', { bubbles: true }));
        q.form.requestSubmit();
      }, query);
      // The connection breaks after the first file has come.
      const release = async () => {
        if (word !== 'broken') return;
        await until('the first file', async () => (await page.locator('.hit-file').count()) === 1);
        await page.request.get('/release');
      };
      await release();
      await until(`the message of ${word}`, async () => said.test(await status(page)));
      assert.match(await status(page), /Request ID request-1/, `${word} has an ID`);
      // How much of an answer comes before its connection breaks depends on the network.
      const shown = await page.locator('.hit-file').count();
      assert.ok(word === 'broken' ? shown > 0 : shown === 31, `${word}: what is shown stays, have ${shown}`);
      await until(`${word}: an action`, async () => new RegExp(action).test(await status(page)));
      assert.equal(await page.locator('#q').inputValue(), query, `${word}: the query stays`);
      const before = await sent(query);
      assert.equal(before, 1, `${word} is sent once`);
      if (word === 'ended') {
        const back = new URL(await page.locator('#status a').getAttribute('href'), o.base);
        assert.equal(back.pathname + '?' + new URLSearchParams(back.searchParams.get('return').split('?')[1]), `/sign-in?q=${query.replace(' ', '+')}`);
        await check(page, word);
        continue;
      }
      await page.getByRole('button', { name: action }).click();
      await until(`${word} again`, async () => (await sent(query)) === 2);
      await release();
      await until(`the message of ${word} again`, async () => said.test(await status(page)));
      assert.equal(await sent(query), 2, `${word}: one click is one request`);
    }

    // Without single keys.
    await page.goto('/preferences?return=/search?q=kettle');
    await page.getByLabel('Off: only Tab').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await until('results', async () => (await page.locator('.tools').count()) > 0);
    await page.keyboard.press('j');
    assert.equal(await page.locator('.line.current').count(), 0, 'keys are off');
  }
  assert.deepEqual(complaints, [], 'what the browser complains of');
} finally {
  await browser.close();
}
