// Colors of a long file: the page has them around the marked line. The other chunks get them when
// they come near the window, and the ones that got them first lose them again, so that a page of
// 100,000 lines stays small.
import { parsePart } from './markup.js';

const most = 40; // chunks with colors from here

export function installColors(code) {
  const plain = code.chunks.filter(({ chunk }) => chunk.classList.contains('plain') && !chunk.querySelector('.at'));
  if (!plain.length) return;
  const near = new Set();
  const colored = []; // [chunk, its element without colors]
  const isSelected = (chunk) => !getSelection().isCollapsed && getSelection().containsNode(chunk, true);
  let busy = false;

  const colorNext = async () => {
    const next = [...near].findLast(({ chunk }) => !isSelected(chunk));
    if (busy || !next) return;
    busy = true;
    near.delete(next);
    observer.unobserve(next.chunk);
    const address = new URL(document.getElementById('permalink').href); // the branch may have moved
    address.searchParams.set('colors', next.first);
    const lines = await fetch(address).then((r) => (r.ok ? r.text() : '')).catch(() => '');
    const text = next.chunk.querySelector('pre.t code');
    if (lines && !isSelected(next.chunk)) {
      const copy = text.cloneNode();
      copy.append(parsePart(lines));
      text.replaceWith(copy);
      colored.push([next, text]);
    }
    while (colored.length > most) {
      const [old, before] = colored.shift();
      old.chunk.querySelector('pre.t code').replaceWith(before);
      observer.observe(old.chunk);
    }
    busy = false;
    colorNext();
  };
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const found = plain.find(({ chunk }) => chunk === entry.target);
      if (entry.isIntersecting) near.add(found);
      else near.delete(found);
    }
    colorNext();
  }, { rootMargin: '100% 0px' });
  for (const { chunk } of plain) observer.observe(chunk);
}
