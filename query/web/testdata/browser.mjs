// Walks through the pages as people do, in a real browser. Argument: JSON
// {modules, browser, base, setup, probe, provider, scripts, shots}: where
// playwright-core is, the browser's program, the server's address, the link that
// makes the owner, a path of the API that wants a key, the title of a provider to
// sign in with (or none), whether the browser runs scripts, and a directory for
// pictures of the pages (or none). What fails is thrown.
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
const password = 'correct horse battery';

// person opens a browser of their own.
async function person(name, options = {}) {
  const context = await browser.newContext({ javaScriptEnabled: o.scripts, baseURL: o.base, ...options });
  context.setDefaultTimeout(300000);
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && !/status of (4|5)\d\d/.test(m.text()) && complaints.push(`${name}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(`${name}: ${e}`));
  page.on('request', (r) => r.url().startsWith(o.base) || r.isNavigationRequest() || complaints.push(`${name}: loads ${r.url()}`));
  const shot = async (title) => o.shots && page.screenshot({ path: join(o.shots, `${title}-${name}.png`), fullPage: true });
  const says = async (text) => {
    await page.getByText(text).first().waitFor().catch(() => assert.fail(`${name}: ${page.url()} does not say ${text}`));
    const wide = await page.locator('html').evaluate((e) => e.scrollWidth > e.clientWidth);
    assert.ok(!wide, `${name}: ${page.url()} is wider than the screen`);
  };
  const press = (button) => page.getByRole('button', { name: button, exact: false }).first().click();
  const fill = (label, text) => page.getByLabel(label, { exact: true }).fill(text);
  return { page, shot, says, press, fill, name };
}

const ask = async (key) => (await fetch(o.base + o.probe, { headers: key ? { Authorization: `Bearer ${key}` } : {} })).status;

try {
  const owner = await person('owner', { viewport: { width: 1200, height: 800 } });
  await owner.page.goto('/');
  await owner.says('searches code');
  await owner.shot('home');
  await owner.page.goto(o.setup);
  await owner.shot('setup');
  await owner.fill('Name', 'Ada Lovelace');
  await owner.fill('Email address', 'ada@example.com');
  await owner.fill('Password', 'short');
  await owner.press('Create owner account');
  await owner.says('Want 8 to 1024 characters.');
  await owner.shot('setup-wrong');
  await owner.fill('Password', password);
  await owner.press('Create owner account');
  await owner.says('You are the owner of this server');
  await owner.shot('first-steps');
  await owner.page.goto('/settings/keys');
  await owner.shot('keys-none');

  await owner.press('Account');
  await owner.press('Sign out');
  await owner.says('You are signed out.');
  await owner.shot('sign-in');
  await owner.fill('Email address', 'ada@example.com');
  await owner.fill('Password', 'not the password');
  await owner.press('Sign in');
  await owner.says('is wrong');
  await owner.shot('sign-in-wrong');
  await owner.page.goto('/settings/keys');
  await owner.fill('Email address', 'ada@example.com');
  await owner.fill('Password', password);
  await owner.press('Sign in');

  await owner.page.getByRole('link', { name: 'Create API Key' }).click();
  await owner.shot('key-new');
  await owner.fill('Name', 'laptop');
  await owner.press('Create API Key');
  await owner.says('shown only once');
  await owner.shot('key-created');
  const key = await owner.page.locator('#value').innerText();
  assert.match(key, /^sbk_[0-9a-f]{64}$/);
  assert.equal(await ask(key), 200, 'the new key');
  assert.equal(await ask(key.replace(/.$/, (c) => (c === '0' ? '1' : '0'))), 401, 'another key');
  await owner.page.getByRole('link', { name: 'I have copied it' }).click();
  await owner.says('laptop');
  await owner.shot('keys');

  await owner.page.getByRole('link', { name: 'Members' }).click();
  await owner.press('Create invitation');
  await owner.says('The invitation is created.');
  await owner.shot('invitation');
  const link = await owner.page.locator('#value').innerText();

  const phone = { viewport: { width: 360, height: 700 }, colorScheme: 'dark', isMobile: true, hasTouch: true };
  const member = await person('member', phone);
  await member.page.goto(link);
  await member.says('You are invited');
  await member.shot('invite');
  await member.fill('Name', 'Bob');
  await member.fill('Email address', 'bob@example.com');
  await member.fill('Password', password);
  await member.press('Create account');
  await member.says('Welcome!');
  await member.page.goto('/settings/keys');
  await member.page.getByRole('link', { name: 'Create API Key' }).click();
  await member.shot('key-new');
  await member.fill('Name', 'phone');
  await member.press('Create API Key');
  await member.says('shown only once');
  await member.shot('key-created');
  const second = await member.page.locator('#value').innerText();
  assert.equal(await ask(second), 200, "the member's key");
  await member.page.goto('/settings/keys');
  await member.shot('keys');
  for (const [title, link] of [['home', '/'], ['profile', '/settings/profile'], ['sessions', '/settings/sessions']]) {
    await member.page.goto(link);
    await member.press('Account');
    await member.says('Sign out');
    await member.shot(title);
  }

  if (o.provider) {
    const guest = await person('guest', { viewport: { width: 800, height: 700 }, colorScheme: 'dark' });
    const come = async () => {
      await guest.page.goto('/sign-in');
      await guest.page.getByRole('link', { name: `Continue with ${o.provider}` }).click();
    };
    await guest.page.goto('/sign-in');
    await guest.shot('sign-in');
    await come();
    await guest.page.getByLabel('Account').fill('carol');
    await guest.page.getByRole('button', { name: 'Continue' }).click();
    await guest.says('Your account is waiting for approval');
    await guest.shot('welcome');
    await owner.page.goto('/settings/members');
    await owner.says('Waiting for approval');
    await owner.shot('waiting');
    await owner.press('Approve');
    await owner.says('The member may sign in now.');
    await come(); // the provider knows the person still, and asks nothing
    await guest.says('carol');
    await guest.page.goto('/settings/profile');
    await guest.says('You sign in through a provider');
    await guest.shot('profile');
  }

  await owner.page.goto('/settings/members');
  await owner.shot('members');
  await owner.page.getByRole('row', { name: /bob@example\.com/ }).getByText('Suspend…').click();
  await owner.shot('suspend');
  await owner.press('Suspend bob@example.com');
  await owner.says('The member is suspended');
  assert.equal(await ask(second), 401, "a suspended member's key");
  await member.page.goto('/settings/keys');
  await member.page.waitForURL(/\/sign-in\?return=/);
  await member.shot('sign-in');
  await owner.page.goto('/settings/members');
  await owner.press('Reinstate');
  await owner.says('The member may sign in again.');


  // The widest page on a narrow screen, with each of its questions asked.
  await owner.page.setViewportSize({ width: 360, height: 700 });
  for (const question of ['Make an owner…', 'Suspend…', 'Remove…']) {
    await owner.page.goto('/settings/members');
    await owner.page.getByText(question).first().click();
    await owner.says('Invite a member');
    await owner.shot(`narrow-${question.slice(0, 4)}`);
  }
  await owner.page.setViewportSize({ width: 1200, height: 800 });

  await owner.page.goto('/settings/sessions');
  await owner.says('this one');
  await owner.shot('sessions');
  await owner.page.goto('/settings/profile');
  await owner.shot('profile');
  await owner.page.goto('/settings/keys');
  await owner.page.getByText('Delete…').click();
  await owner.shot('key-delete');
  await owner.press('Permanently delete laptop');
  await owner.says('The key is deleted.');
  assert.equal(await ask(key), 401, 'a deleted key');
  assert.deepEqual(complaints, [], 'what the browser complains of');
} finally {
  await browser.close();
}
