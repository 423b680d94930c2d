// More lines around a match, in place: the text of the file comes from the API, once.
import { at } from './address.js';
const files = new Map(); // by address, the last few
const most = 8;

// readLines returns the lines of a file, null if they cannot be had.
async function readLines(data) {
  const query = new URLSearchParams({ repo: data.repo, path: data.path });
  if (data.rev) query.set('ref', data.rev);
  const address = at(`/api/source?${query}`);
  if (!files.has(address)) {
    if (files.size >= most) files.delete(files.keys().next().value);
    files.set(address, fetch(address, { headers: { Accept: 'application/json' } }).then((r) => (r.ok ? r.json() : null)).then((f) => f?.source?.split('\n') ?? null).catch(() => null));
  }
  return files.get(address);
}

// named shows characters that would change what is around them by their names.
const named = (text) => text.replace(/\r$/, '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (c) => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);

function newLine(like, number, text) {
  const line = document.createElement('div');
  line.className = 'line added';
  const n = like.querySelector('a.n').cloneNode();
  n.href = n.href.replace(/\bL=\d+#L\d+$/, `L=${number}#L${number}`);
  n.textContent = number;
  n.setAttribute('aria-label', n.getAttribute('aria-label').replace(/\d[\d,]*/, number));
  n.tabIndex = -1;
  const code = document.createElement('code');
  code.textContent = named(text.slice(0, 400));
  line.append(n, code);
  return line;
}

// expandChunk adds lines after a chunk, or before it if count is negative. It stops at the
// next chunk.
export async function expandChunk(chunk, count) {
  const lines = await readLines(chunk.closest('.hit-file').dataset);
  if (!lines) return;
  const shown = [...chunk.querySelectorAll('.line')];
  const edge = shown[count < 0 ? 0 : shown.length - 1];
  const taken = new Set([...chunk.closest('.chunks').querySelectorAll('.line > .n')].map((n) => Number(n.textContent)));
  const step = Math.sign(count);
  let last = edge;
  for (let i = 1; i <= Math.abs(count); i++) {
    const number = Number(edge.querySelector('a.n').textContent) + step * i;
    if (number < 1 || number > lines.length || taken.has(number) || (number === lines.length && lines[number - 1] === '')) break;
    const line = newLine(edge, number, lines[number - 1]);
    if (step < 0) last.before(line);
    else last.after(line);
    last = line;
  }
}
