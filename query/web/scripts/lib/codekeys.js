// Keys of a file that no link or button of its page has: C copies path and line, Y the
// permalink.
import { isSingleKey } from './keys.js';

export function installCodeKeys() {
  document.addEventListener('keydown', (e) => {
    if (!isSingleKey(e)) return;
    const { path } = document.querySelector('.code-head')?.dataset ?? {};
    const line = document.getElementById('line')?.value;
    const text = { C: path && (line ? `${path}:${line}` : path), Y: document.getElementById('permalink')?.href }[e.key];
    if (!text) return;
    e.preventDefault();
    navigator.clipboard?.writeText(text).catch(() => {});
  });
}
