// Suggestions for the word at the caret. Names come from the API, as the caller may see them;
// each request has a limit, and a new key ends those before.
import * as texts from '../../text/en.json';
import { at } from './address.js';
import { pastQueries } from './visited.js';

const filters = ['repo:', 'file:', 'lang:', 'sym:', 'rev:', 'kind:', 'is:', 'line:', 'type:', 'case:', 'context:', 'archived:', 'fork:', 'visibility:', 'regex:', 'content:', 'select:'];
const values = {
  'is:': ['test', 'generated', 'vendored', 'docs', 'archived', 'fork'],
  'type:': ['symbol', 'file', 'repo'],
  'case:': ['yes', 'no'],
  'select:': ['repo', 'file'],
  'archived:': ['yes', 'no', 'only'],
  'fork:': ['yes', 'no', 'only'],
  'visibility:': ['public', 'private', 'any'],
  'rev:': ['*', 'HEAD', 'refs/heads/', 'refs/tags/'],
  'kind:': ['func', 'method', 'struct', 'class', 'interface', 'type', 'const', 'var', 'field', 'enum', 'module', 'macro'],
  'lang:': ['Go', 'Python', 'JavaScript', 'TypeScript', 'Java', 'C', 'C++', 'C#', 'Rust', 'Ruby', 'PHP', 'Kotlin', 'Swift', 'Scala', 'Shell', 'SQL', 'HTML', 'CSS', 'Markdown', 'YAML', 'JSON', 'TOML', 'Dockerfile', 'Makefile', 'Protocol Buffer', 'Lua', 'Perl', 'R', 'Haskell', 'Elixir', 'Erlang', 'Clojure', 'Dart', 'Zig', 'OCaml', 'Julia', 'Vue', 'Svelte', 'HCL', 'Nix', 'XML'],
};

// wordAt returns the word that ends at the caret.
export function wordAt(text, caret) {
  const start = Math.max(text.lastIndexOf(' ', caret - 1), text.lastIndexOf('\n', caret - 1), text.lastIndexOf('(', caret - 1)) + 1;
  const sign = text[start] === '-' ? 1 : 0;
  return { from: start + sign, to: caret, word: text.slice(start + sign, caret) };
}

const escape = (s) => s.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
const inQuotes = (s) => `"${s.replace(/[\\"]/g, '\\$&')}"`;
export const quote = (s) => (/[\s"()]/.test(s) ? inQuotes(s) : s);

// quoteTerm writes a text so that it is searched for, also if it looks like a filter or an
// operator.
export const quoteTerm = (s) => (/^-|^\w+:|^(or|and|not)$/i.test(s) ? inQuotes(s) : quote(s));

async function ask(path, signal, body) {
  const options = { signal, headers: { Accept: 'application/json' } };
  if (body) Object.assign(options, { method: 'POST', body: JSON.stringify(body), headers: { ...options.headers, 'Content-Type': 'application/json' } });
  const response = await fetch(at(path), options);
  return response.ok ? response.json() : null;
}

const findRepositories = async (text, n, signal) =>
  ((await ask(`/api/repos?perPage=${n}&query=${encodeURIComponent(text)}`, signal)) ?? []).map((r) => ({ icon: 'folder-git-2', text: r.repoName, insert: `repo:${quote(`^${escape(r.repoName)}$`)}` }));

const findFiles = async (text, n, signal, insert) =>
  ((await ask(`/api/find_files?limit=${n}&query=${encodeURIComponent(text)}`, signal))?.files ?? []).map((f) => ({
    icon: 'file-code', text: f.path, more: f.repository, ...(insert ? { insert: `file:${quote(`^${escape(f.path)}$`)}` } : { url: new URL(f.webUrl).pathname }),
  }));

async function findSymbols(text, n, signal) {
  const found = await ask('/api/search', signal, { query: `sym:${quote(`^${escape(text)}`)}`, matches: 40, display: 40 });
  const seen = new Map();
  for (const file of found?.files ?? []) {
    for (const chunk of file.chunks) {
      for (const s of chunk.symbols ?? []) if (s.symbol && !seen.has(s.symbol)) seen.set(s.symbol, s.kind);
    }
  }
  return [...seen].slice(0, n).map(([name, kind]) => ({ icon: 'square-function', text: name, more: kind, insert: `sym:${quote(`^${escape(name)}$`)}` }));
}

const findContexts = async (text, signal) =>
  ((await ask(`/search/contexts?name=${encodeURIComponent(text)}`, signal)) ?? []).filter((name) => name !== text).map((name) => ({ icon: 'layers', text: name, insert: `context:${quote(name)}` }));

// branchesAtOnce bounds the branches that are offered.
const branchesAtOnce = 10;
let branches = { of: '', refs: [] };

// findBranches suggests the indexed refs of the repository that the query names. The last
// answer is kept: it has all refs of the repository that the caller may read.
async function findBranches(query, text, signal) {
  const named = /(?:^|[\s(])(?:repo|repository|r):(?:"((?:\\.|[^"\\])*)"|([^\s"()]+))/.exec(query);
  if (!named) return [];
  const name = (named[2] ?? named[1]).replace(/^\^|\$$/g, '').replace(/\\(.)/g, '$1');
  if (branches.of !== name) {
    const found = (await ask(`/api/repos?perPage=5&query=${encodeURIComponent(name)}`, signal)) ?? [];
    const repository = found.find((r) => r.repoName === name) ?? found[0];
    const status = repository && (await ask(`/api/repos/${repository.repoId}/status`, signal));
    if (!status) return [];
    branches = { of: name, refs: status.refs.map((r) => r.ref).sort(new Intl.Collator('en', { numeric: true }).compare) };
  }
  const wanted = text.toLowerCase();
  return branches.refs.filter((ref) => ref.toLowerCase().includes(wanted) && ref !== text).slice(0, branchesAtOnce)
    .map((ref) => ({ icon: 'git-branch', text: ref, insert: `rev:${quote(ref)}` }));
}

// findSaved suggests the searches that the visitor saved or that others share, by their names.
// The list is kept while the page is shown. Visitors without an account have none.
let saved;
async function findSaved(text, n, signal) {
  if (!document.getElementById('account')) return [];
  saved ??= ((await ask('/api/saved_searches', signal)) ?? [])
    .map((s) => ({ icon: 'bookmark', text: s.name, more: s.query, url: new URL(s.url).pathname }));
  const wanted = text.trim().toLowerCase();
  return saved.filter((s) => s.text.toLowerCase().includes(wanted)).slice(0, n);
}

// suggest returns what the word at the caret may become.
export async function suggest(text, caret, signal) {
  const { word } = wordAt(text, caret);
  const past = (n) => pastQueries().filter((q) => q !== text && q.toLowerCase().startsWith(text.toLowerCase())).slice(0, n)
    .map((q) => ({ icon: 'history', text: q, whole: q }));
  if (text.trim() === '') {
    const queries = [...(await findSaved('', 5, signal).catch(() => [])), ...past(10)];
    return past(1).length ? [...queries, { icon: 'x', text: texts.suggestForget, forget: true }] : queries;
  }
  const colon = word.indexOf(':');
  const key = colon > 0 ? word.slice(0, colon + 1) : '';
  const rest = word.slice(colon + 1).replace(/^["^]+/, '');
  if (values[key]) {
    const named = key === 'rev:' ? await findBranches(text, rest, signal).catch(() => []) : [];
    if (named.length) return named;
    return values[key].filter((v) => v.toLowerCase().startsWith(rest.toLowerCase()) && v !== rest).slice(0, 10).map((v) => ({ icon: 'filter', text: v, insert: key + quote(v) }));
  }
  if (key === 'repo:') return findRepositories(rest, 8, signal);
  if (key === 'context:') return findContexts(rest, signal);
  if (key === 'file:' && rest) return findFiles(rest, 8, signal, true);
  if (key === 'sym:' && rest) return findSymbols(rest, 8, signal);
  if (key || word.length < 2) return past(5);
  const named = filters.filter((f) => f.startsWith(word.toLowerCase())).map((f) => ({ icon: 'filter', text: f, insert: f, open: true }));
  const found = [findRepositories(word, 2, signal), findSymbols(word, 4, signal), findFiles(word, 4, signal), findSaved(word, 2, signal)];
  const parts = await Promise.all(found.map((p) => p.catch(() => [])));
  return [...named, ...past(3), ...parts.flat()].slice(0, 12);
}
