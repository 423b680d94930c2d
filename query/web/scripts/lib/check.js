// A form with data-check is checked by the server while it is filled in: the answer to the button
// "Check" replaces #checked. What fails, or arrives after another letter, leaves that as it is.
import { parsePart } from './markup.js';

const form = document.querySelector('[data-check]');
const checked = (page) => page.querySelector('#checked');
let timer;
form?.addEventListener('input', () => {
  clearTimeout(timer);
  const own = (timer = setTimeout(async () => {
    const body = new URLSearchParams(new FormData(form));
    body.set('do', 'check');
    const response = await fetch(form.action, { method: 'POST', body }).catch(() => {});
    if (own === timer && response?.ok) checked(form).replaceChildren(...checked(parsePart(await response.text())).childNodes);
  }, 600));
});
