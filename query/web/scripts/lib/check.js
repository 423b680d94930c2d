// A form with data-check is checked by the server while it is filled in: the answer to the button
// "Check" replaces #checked. Another letter cancels the check before it, which may list the refs of
// a host that does not answer. What fails leaves #checked as it is.
import { parsePart } from './markup.js';

const form = document.querySelector('[data-check]');
let timer, request;
form?.addEventListener('input', () => {
  clearTimeout(timer);
  request?.abort();
  timer = setTimeout(async () => {
    const body = new URLSearchParams(new FormData(form, form.querySelector('[name=do]')));
    request = new AbortController();
    const response = await fetch(form.action, { method: 'POST', body, signal: request.signal }).catch(() => {});
    if (response?.ok) form.querySelector('#checked').replaceChildren(...parsePart(await response.text()).querySelector('#checked').childNodes);
  }, 600);
});
