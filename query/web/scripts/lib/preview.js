// The preview of a file next to the results: the text of its page, at the line of the result.
import * as texts from '../../text/en.json';
import { button, parsePart } from './markup.js';
import { say } from './say.js';

let panel;
let abort;
let origin; // the link whose page is shown

export const previewIsOpen = () => Boolean(panel);

export function closePreview() {
  abort?.abort();
  if (panel?.contains(document.activeElement)) origin.focus();
  panel?.remove();
  panel = undefined;
}

// showPreview shows the page to which a link of a result leads. The focus stays where it is.
export async function showPreview(link, path) {
  origin = link;
  abort?.abort();
  abort = new AbortController();
  const { signal } = abort;
  const response = await fetch(link.href, { signal, headers: { Accept: 'text/html' } }).catch(() => null);
  const markup = response?.ok && !response.redirected && (await response.text().catch(() => null));
  if (signal.aborted) return;
  if (!panel) {
    panel = document.createElement('aside');
    panel.className = 'preview';
  }
  // Tab leads from the result into its preview and then to the next result.
  (link.closest('.hit-file') ?? document.querySelector('main').lastElementChild).after(panel);
  panel.setAttribute('aria-label', say(texts.previewLabel, { path }));
  const head = document.createElement('header');
  const name = document.createElement('a');
  name.href = link.href;
  name.append(document.createElement('bdi'));
  name.firstChild.textContent = path;
  head.append(name, button('x', say(texts.dialogClose), closePreview));
  const shown = markup && parsePart(markup).querySelector('.code, .prose, .notebook, .picture, .code-main > .blank');
  const text = shown || document.createElement('p');
  if (!shown) { // the page says what is wrong
    text.className = 'note';
    text.textContent = say(markup ? texts.previewNone : texts.previewFailed);
  }
  text.tabIndex = 0; // to scroll by keys
  panel.replaceChildren(head, text);
  panel.querySelector('.at')?.scrollIntoView({ block: 'center' });
  panel.lastElementChild.scrollLeft = 0; // a marked line may be wider than the preview
}
