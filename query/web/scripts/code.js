// The script of pages about code: copies, marks lines, filters the outline, opens
// directories in the tree. The pages are whole without it.
import './quarry.js';
import './lib/lines.js';
import { parsePart } from './lib/markup.js';
import { installCodeKeys } from './lib/codekeys.js';
import './lib/panes.js';
import './lib/sticky.js';
import './lib/symbol.js';

installCodeKeys();

// Buttons that copy the text they name.
for (const button of document.querySelectorAll('button[data-copy]')) {
  if (!navigator.clipboard) break; // only pages over https or of this machine have one
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.classList.add('copied');
    setTimeout(() => button.classList.remove('copied'), 1200);
  });
}

// Files of a large difference get their lines when they are opened.
for (const later of document.querySelectorAll('.diff a.later')) {
  const file = later.closest('.diff');
  file.addEventListener('toggle', async () => {
    const response = await fetch(later.href).catch(() => null);
    const hunks = response?.ok && parsePart(await response.text()).querySelector('.hunks');
    if (hunks) later.parentElement.replaceWith(hunks); // the link leads to them otherwise
  }, { once: true });
}
