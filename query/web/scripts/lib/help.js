// The list of keys under "?", which is the page of keys in a dialog.
import * as texts from '../../text/en.json';
import { at } from './address.js';
import { isSingleKey } from './keys.js';
import { button, parsePart } from './markup.js';

let dialog;

async function showHelp() {
  if (!dialog) {
    const response = await fetch(at('/shortcuts'));
    if (!response.ok) return;
    dialog = document.createElement('dialog');
    dialog.setAttribute('aria-label', texts.keysTitle);
    dialog.append(button('x', texts.dialogClose, () => dialog.close(), 'tool dialog-close'), ...parsePart(await response.text()).querySelector('main').childNodes);
    document.body.append(dialog);
    dialog.addEventListener('click', (e) => e.target === dialog && dialog.close());
  }
  if (!dialog.open) dialog.showModal();
}

// installHelp makes "?" show the keys, and "g" with another go to pages.
export function installHelp() {
  let went = 0;
  document.addEventListener('keydown', (e) => {
    if (!isSingleKey(e)) return;
    if (e.key === '?') {
      e.preventDefault();
      showHelp();
    } else if (e.key === 'g') {
      went = Date.now();
    } else if (Date.now() - went < 1500) {
      const to = { h: '/', r: '/repos', d: '/deliveries', s: '/settings' }[e.key];
      went = 0;
      if (to) {
        e.preventDefault();
        location.assign(at(to));
      }
    }
  });
}
