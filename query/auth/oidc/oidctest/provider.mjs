// An OpenID Connect provider for tests. Argument: JSON {modules, accounts,
// clients, ttl}. It prints {"issuer": …} and serves until its standard input ends.
import http from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const o = JSON.parse(process.argv[2]);
process.stdin.resume().on('end', () => process.exit(0));

// The clock of this process can be moved.
const now = Date.now;
let ahead = 0;
Date.now = () => now() + ahead * 1000;

console.info = console.warn = console.error; // standard output is for the issuer alone
const { Provider } = await import(pathToFileURL(join(o.modules, 'oidc-provider/lib/index.js')));

const server = http.createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: o.clients,
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'github_id'] },
  cookies: { keys: ['for tests'] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  ttl: { AuthorizationCode: 60, IdToken: 600, AccessToken: 600, Session: 7200, Interaction: 7200, Grant: 3600 },
  findAccount: (_, id) => (o.accounts[id] ? { accountId: id, claims: () => ({ sub: id, ...o.accounts[id] }) } : undefined),
  // Whoever is signed in has agreed to everything.
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
});
const callback = provider.callback();

const page = `<!doctype html><html lang="en"><title>Provider</title>
<form method="post"><label>Account <input name="account" autofocus></label> <button>Continue</button> <button name="cancel" value="1">Cancel</button></form>`;

const read = async (req) => {
  let text = '';
  for await (const part of req) text += part;
  return new URLSearchParams(text);
};

const answer = async (req, res) => {
  const url = new URL(req.url, issuer);
  if (url.pathname === '/test/clock') {
    ahead = Number(url.searchParams.get('ahead'));
    return res.writeHead(204).end();
  }
  if (url.pathname === '/test/drop-claim') {
    delete o.accounts[url.searchParams.get('account')][url.searchParams.get('claim')];
    return res.writeHead(204).end();
  }
  if (!url.pathname.startsWith('/interaction/')) return callback(req, res);
  if (req.method !== 'POST') return res.writeHead(200, { 'Content-Type': 'text/html' }).end(page);
  const form = await read(req);
  const result = form.has('cancel')
    ? { error: 'access_denied', error_description: 'the person said no' }
    : { login: { accountId: form.get('account') } };
  return provider.interactionFinished(req, res, result);
};
server.on('request', (req, res) => answer(req, res).catch((error) => res.writeHead(500).end(String(error))));

process.stdout.write(JSON.stringify({ issuer }) + '\n');
