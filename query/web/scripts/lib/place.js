// The place in a file is kept on the way to another view of it: with marked lines their
// links have them, and otherwise the first line of the window is remembered in this tab.
const key = 'quarry.place';

// placeOf names the file of the page, whatever its revision.
const placeOf = (code) => `${code.dataset.repository}\0${code.dataset.path}`;

// firstLine returns the number of the first line below the bar of the page.
function firstLine(code) {
  const bar = document.querySelector('.top');
  const top = getComputedStyle(bar).position === 'sticky' ? bar.getBoundingClientRect().bottom : 0;
  for (const { chunk, first, last } of code.chunks ?? []) {
    const box = chunk.getBoundingClientRect();
    if (box.bottom > top) return first + Math.max(Math.floor(((top - box.top) / box.height) * (last - first + 1)), 0);
  }
  for (const li of code.querySelectorAll('.wrapped li')) {
    if (li.getBoundingClientRect().bottom > top) return li.parentElement.start + [...li.parentElement.children].indexOf(li);
  }
  return 1;
}

// scrollToLine puts a line below the bar of the page.
function scrollToLine(code, line) {
  const bar = document.querySelector('.top').getBoundingClientRect();
  const found = code.chunks?.find(({ first, last }) => line >= first && line <= last);
  let top = 0;
  if (found) {
    const box = found.chunk.getBoundingClientRect();
    top = box.top + (box.height * (line - found.first)) / (found.last - found.first + 1);
  } else {
    const list = [...code.querySelectorAll('.wrapped')].findLast((ol) => ol.start <= line);
    top = list?.children[line - list.start]?.getBoundingClientRect().top ?? 0;
  }
  scrollBy(0, top - bar.bottom + 1);
}

// installPlace keeps the place of a file.
export function installPlace(code) {
  const isMarked = () => new URLSearchParams(location.search).has('L') || new URLSearchParams(location.search).has('highlightRange');
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? 'null');
    sessionStorage.removeItem(key);
    if (kept?.of === placeOf(code) && !isMarked() && !location.hash && !scrollY) scrollToLine(code, kept.line);
  } catch {
    // storage is off, or another program wrote there
  }
  document.addEventListener('click', (e) => {
    const link = e.target.closest?.('.file-links a, #refs li a');
    if (!link || e.defaultPrevented || link.origin !== location.origin) return;
    const lines = new URLSearchParams(location.search).get('L');
    if (lines && /\/-\/blob\//.test(link.pathname)) {
      const address = new URL(link.href);
      address.searchParams.set('L', lines);
      link.href = address.href;
    } else if (lines && /\/-\/commits\//.test(link.pathname)) {
      const address = new URL(link.href);
      address.searchParams.set('line', lines);
      link.href = address.href;
    } else if (!isMarked()) {
      try {
        sessionStorage.setItem(key, JSON.stringify({ of: placeOf(code), line: firstLine(code) }));
      } catch {
        // storage is off: the page begins at its top
      }
    }
  }, true);
}
