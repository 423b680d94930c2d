// q-last: the last commit of the page's path, and of each entry of its directory. One request
// asks for them once the page is shown; a process without git has none.
import { parsePart } from './markup.js';

class LastElement extends HTMLElement {
  async connectedCallback() {
    const url = new URL(location.href.split('#')[0]);
    url.searchParams.set('fragment', 'last');
    const response = await fetch(url).catch(() => null);
    const part = response?.ok && !response.redirected && parsePart(await response.text());
    const path = part && part.querySelector('.latest');
    if (!path) return this.remove();
    this.append(path);
    const rows = new Map([...document.querySelectorAll('.files > li > a:first-child')].map((a) => [a.getAttribute('href'), a.parentElement]));
    for (const li of part.querySelectorAll('li')) rows.get(li.firstChild.getAttribute('href'))?.append(li.querySelector('.last'));
  }
}
customElements.define('q-last', LastElement);
