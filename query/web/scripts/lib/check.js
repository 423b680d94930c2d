// A form with data-check is checked by the server while it is filled in: the answer to the button
// "Check" fills #checked, or data-check if there is none. The server contacts the host, so an address
// is only checked if it was pasted, ends in .git, or its field is left. An input removes the answer.
import { parsePart } from './markup.js';

const form = document.querySelector('[data-check]');
const checked = form?.querySelector('#checked');
let timer, request;
async function check() {
  const { signal } = (request = new AbortController());
  const body = new URLSearchParams(new FormData(form, form.querySelector('[name=do]')));
  const answer = await fetch(form.action, { method: 'POST', body, signal }).then((r) => r.ok && r.text()).catch(() => {});
  const found = parsePart(answer).querySelector('#checked') ?? parsePart(form.dataset.check);
  if (!signal.aborted) checked.replaceChildren(...found.childNodes);
}
function plan({ type, target, inputType }) {
  const left = type === 'change';
  if (left && checked.hasChildNodes()) return; // what was typed is checked
  clearTimeout(timer);
  request?.abort();
  checked.replaceChildren();
  const complete = left || target.name !== 'address' || inputType === 'insertFromPaste' || /\.git\/?$/.test(target.value);
  if (complete && form.matches(':valid')) timer = setTimeout(check, 600);
}
form?.addEventListener('input', plan);
form?.addEventListener('change', plan);
