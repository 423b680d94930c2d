// Keys of a page. An element names its key in data-hotkey; a key acts only outside of
// fields, unless it has a modifier, and not at all where the reader has turned keys off.
import { install, uninstall } from '@github/hotkey';

// keysAreOn says whether single keys may act.
export const keysAreOn = () => document.documentElement.dataset.keys !== 'off';

// installKeys makes the keys act that elements below root name.
export function installKeys(root = document) {
  for (const element of root.querySelectorAll('[data-hotkey]')) {
    if (keysAreOn() || element.dataset.hotkey.includes('+')) install(element);
    else uninstall(element);
  }
}

// installModified makes keys with a modifier act that also act within fields: Alt+R and
// Alt+C turn the switches of the query.
export function installModified() {
  document.addEventListener('keydown', (e) => {
    const isLetter = (code) => e.code === code && !e.shiftKey;
    if (e.altKey && !e.ctrlKey && !e.metaKey && (isLetter('KeyR') || isLetter('KeyC'))) {
      e.preventDefault();
      document.querySelector(`form.find-code [name=${e.code === 'KeyR' ? 're' : 'case'}]`)?.click();
    }
  });
}
