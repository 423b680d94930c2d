// The panes next to a file: the outline with its filter, and the tree, whose directories
// open in place.
import { parsePart } from './markup.js';

class FilterElement extends HTMLElement {
  connectedCallback() {
    const field = this.querySelector('input');
    const items = [...this.querySelectorAll('li')].map((li) => ({ li, name: li.querySelector('bdi').textContent.toLowerCase() }));
    field.hidden = items.length < 2;
    field.addEventListener('input', () => {
      const wanted = field.value.trim().toLowerCase();
      for (const { li, name } of items) li.hidden = !name.includes(wanted);
    });
    field.addEventListener('keydown', (e) => {
      if (e.key === 'Enter') this.querySelector('li:not([hidden]) a')?.click();
    });
  }
}
customElements.define('q-filter', FilterElement);

class TreeElement extends HTMLElement {
  connectedCallback() {
    const pane = this.closest('.pane');
    const current = this.querySelector('[aria-current]');
    if (pane && current) pane.scrollTop = current.offsetTop - pane.clientHeight / 2;
    this.addEventListener('click', (e) => {
      const link = e.target.closest('li > a');
      if (!link || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0 || !link.pathname.includes('/-/tree/')) return;
      if (link.parentElement.classList.contains('open') && !link.parentElement.querySelector('ul')) return;
      e.preventDefault();
      this.toggle(link).catch(() => location.assign(link.href)); // the page says what is wrong
    });
  }

  // toggle opens a directory with the entries of its page, or closes it.
  async toggle(link) {
    const item = link.parentElement;
    const inner = item.querySelector('ul');
    if (inner) {
      inner.hidden = !inner.hidden;
    } else {
      const response = await fetch(link.href);
      if (!response.ok) throw new Error(response.statusText);
      const entries = parsePart(await response.text()).querySelectorAll('ul.files > li');
      if (!entries.length) throw new Error('no entries');
      const list = document.createElement('ul');
      list.append(...entries);
      item.append(list);
    }
    const open = !item.querySelector('ul').hidden;
    link.setAttribute('aria-expanded', open);
    const icon = link.querySelector('use');
    icon?.setAttribute('href', icon.getAttribute('href').replace(/#.*/, open ? '#folder-open' : '#folder'));
  }
}
customElements.define('q-tree', TreeElement);
