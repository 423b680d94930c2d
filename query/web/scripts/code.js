// The script of pages about code: marks lines, filters the outline, opens
// directories in the tree. The pages are whole without it.
import './quarry.js';
import './lib/lines.js';
import { parsePart } from './lib/markup.js';
import { installCodeKeys } from './lib/codekeys.js';
import './lib/last.js';
import './lib/panes.js';
import './lib/sticky.js';
import './lib/symbol.js';

installCodeKeys();

// The list of changed files unfolds the file to which it leads; so does the address.
const unfold = () => {
  const file = document.getElementById(location.hash.slice(1));
  if (file?.matches('.diff')) file.open = true;
};
addEventListener('hashchange', unfold);
document.querySelector('.changed-files')?.addEventListener('click', (e) => {
  if (!e.target.closest('a')) return;
  e.currentTarget.hidePopover();
  setTimeout(unfold); // the address may be the same
});

// Files of a large difference get their lines when they are opened.
for (const later of document.querySelectorAll('.diff a.later')) {
  const file = later.closest('.diff');
  file.addEventListener('toggle', async () => {
    const response = await fetch(later.href).catch(() => null);
    const hunks = response?.ok && parsePart(await response.text()).querySelector('.hunks');
    if (hunks) later.parentElement.replaceWith(hunks); // the link leads to them otherwise
  }, { once: true });
}
unfold();

// What scrolls sideways within a document can be scrolled by keys in every browser.
for (const wide of document.querySelectorAll('.prose pre, .prose table')) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;

// The script of formulas is for documents that have some.
const formulas = document.querySelector('.prose .math')?.closest('[data-math]');
if (formulas) import(formulas.dataset.math).catch(() => {}); // the TeX stays
