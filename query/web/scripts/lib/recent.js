// q-recent: the queries that this browser sent lately, as links. The server does not know them.
import * as texts from '../../text/en.json';
import { at } from './address.js';
import { forgetQueries, pastQueries } from './visited.js';

const shown = 6;

class RecentElement extends HTMLElement {
  connectedCallback() {
    const queries = pastQueries().slice(0, shown);
    if (!queries.length) return; // the page says so
    const list = document.createElement('ul');
    list.className = 'plain';
    for (const query of queries) {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = at(`/search?${new URLSearchParams({ q: query })}`);
      const code = document.createElement('code');
      code.textContent = query;
      link.append(code);
      item.append(link);
      list.append(item);
    }
    const forget = document.createElement('button');
    forget.type = 'button';
    forget.className = 'link small';
    forget.textContent = texts.suggestForget;
    const empty = [...this.childNodes];
    forget.addEventListener('click', () => {
      forgetQueries();
      this.replaceChildren(...empty);
    });
    this.replaceChildren(list, forget);
  }
}
customElements.define('q-recent', RecentElement);
