// Buttons that copy: those that name their text, and one for each command and value that is shown once.
import * as texts from '../../text/en.json';
import { button } from './markup.js';

for (const element of document.querySelectorAll('[data-copy], .value')) {
  if (!navigator.clipboard) break; // only pages over https or of this machine have one
  const text = element.dataset.copy || element.innerText;
  const b = element.hidden ? element : element.appendChild(button('copy', texts.copy, null, 'copy'));
  b.hidden = false;
  b.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text);
    b.classList.add('copied');
    setTimeout(() => b.classList.remove('copied'), 2000);
  });
}
