// Lines of a file. No line has an element: a click on the numbers is turned into a line
// by its height, and the marked lines are an element below the text.
import * as texts from '../../text/en.navigate.json';
import { button, parsePart } from './markup.js';
import { installPlace } from './place.js';
import { say } from './say.js';
import { installColors } from './colors.js';

const pattern = /^L?(\d{1,9})(?:-L?(\d{1,9}))?$/;

class CodeElement extends HTMLElement {
  connectedCallback() {
    this.chunks = [...this.querySelectorAll('.chunk')].map((chunk) => {
      const numbers = chunk.querySelector('pre.n').textContent;
      return { chunk, first: parseInt(numbers, 10), last: parseInt(numbers.trimEnd().split('\n').at(-1), 10) };
    });
    this.classList.add('live');
    // The focus stays where it is: on the whole text it would frame all of it.
    this.addEventListener('mousedown', (e) => this.lineAt(e) && e.preventDefault());
    this.addEventListener('click', (e) => {
      const line = this.lineAt(e);
      if (!line) return;
      const [first, last] = this.choose(line, e.shiftKey);
      this.showMenu(first, last, e);
    });
    this.readHash();
    window.addEventListener('hashchange', () => this.readHash());
    installPlace(this);
    installColors(this);
  }

  // lineAt returns the number of the line whose number an event points at; 0 for none.
  lineAt(e) {
    const list = e.target.closest('.wrapped');
    if (list) {
      const at = [...list.children].findIndex((li) => {
        const box = li.getBoundingClientRect();
        return e.clientY >= box.top && e.clientY < box.bottom && e.clientX < box.left + parseFloat(getComputedStyle(li).paddingLeft);
      });
      return at < 0 ? 0 : list.start + at;
    }
    if (!e.target.matches('pre.n')) return 0;
    const { first, last } = this.chunks.find(({ chunk }) => chunk.contains(e.target));
    const box = e.target.getBoundingClientRect();
    return Math.min(first + Math.floor(((e.clientY - box.top) / box.height) * (last - first + 1)), last);
  }

  // choose marks a line, or with shift the lines from the marked one on, puts them into the
  // address and returns them.
  choose(line, extend) {
    const marked = pattern.exec(new URLSearchParams(location.search).get('L') ?? '');
    const from = extend && marked ? parseInt(marked[1], 10) : line;
    const [first, last] = [Math.min(from, line), Math.max(from, line)];
    const address = new URL(location.href);
    for (const name of ['highlightRange', 'part']) address.searchParams.delete(name);
    const range = first === last ? `${first}` : `${first}-${last}`;
    address.searchParams.set('L', range);
    address.hash = '';
    history.replaceState(history.state, '', address);
    const field = document.getElementById('line');
    if (field) field.value = range;
    const permalink = document.getElementById('permalink');
    if (permalink) permalink.search = address.search;
    this.mark(first, last);
    return [first, last];
  }

  // readLines returns the text of lines. If the page has only the beginning of some, it asks for
  // the raw file; if that fails, it returns what the page has.
  async readLines(first, last) {
    const raw = this.querySelector('.line-rest') && document.querySelector('.file-links a[href*="/-/raw/"]');
    const whole = raw && (await fetch(raw.href).then((r) => (r.ok ? r.text() : '')).catch(() => ''));
    if (whole) return whole.split(/\r?\n/).slice(first - 1, last).join('\n');
    const lines = [];
    for (const { chunk, first: from } of this.chunks) {
      const own = chunk.querySelector('pre.t').textContent.split('\n');
      for (let n = Math.max(first, from); n <= last && n - from < own.length; n++) lines.push(own[n - from]);
    }
    for (const list of this.querySelectorAll('.wrapped')) {
      for (const li of [...list.children].slice(Math.max(first - list.start, 0), Math.max(last - list.start + 1, 0))) lines.push(li.textContent.replace(/\r?\n$/, ''));
    }
    return lines.join('\n');
  }

  // showMenu offers what can be done with lines, next to their numbers.
  showMenu(first, last, e) {
    document.querySelector('.line-menu')?.remove();
    const menu = document.createElement('div');
    menu.className = 'menu line-menu';
    menu.popover = 'auto';
    menu.setAttribute('aria-label', say(texts.linesMenu));
    const range = first === last ? `${first}` : `${first}-${last}`;
    const links = document.querySelector('.file-links');
    const list = document.createElement('ul');
    const add = (element) => {
      const item = document.createElement('li');
      item.append(element);
      list.append(item);
    };
    const addLink = (name, text, from, parameter) => {
      if (!from) return;
      const a = document.createElement('a');
      const address = new URL(from.href);
      address.searchParams.delete('line'); // of the page as it was loaded
      address.searchParams.set(parameter, range);
      a.href = address.href;
      a.append(button(name, text, () => {}).firstChild, text);
      add(a);
    };
    const addButton = (name, text, act) => {
      const b = button(name, text, () => {
        menu.hidePopover();
        act();
      }, 'link');
      b.append(text);
      add(b);
    };
    const copy = (text) => navigator.clipboard?.writeText(text).catch(() => {});
    if (navigator.clipboard) {
      addButton('copy', say(texts.linesCopy, { n: last - first + 1 }), async () => copy(await this.readLines(first, last)));
      const permalink = document.getElementById('permalink');
      if (permalink) addButton('link', say(texts.linesPermalink), () => copy(permalink.href));
    }
    addLink('user', say(texts.linesBlame), links?.querySelector('a[href*="blame=1"]'), 'L');
    addLink('history', say(texts.linesHistory), links?.querySelector('[data-hotkey=h]'), 'L');
    for (const [key, name, text] of [['e', 'square-terminal', texts.linesEditor], ['v', 'external-link', texts.linesHost]]) {
      if (links?.querySelector(`[data-hotkey=${key}]`)) addButton(name, say(text), () => this.follow(key));
    }
    menu.append(list);
    this.after(menu);
    menu.addEventListener('toggle', (t) => t.newState === 'closed' && menu.remove());
    menu.showPopover();
    const size = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(e.clientX + 12, innerWidth - size.width - 8))}px`;
    menu.style.top = `${Math.max(8, Math.min(e.clientY + 8, innerHeight - size.height - 8))}px`;
    menu.querySelector('a, button')?.focus();
  }

  // follow takes the link of a key from the page of the chosen lines: to the editor or to the
  // code host.
  async follow(key) {
    const response = await fetch(location.href).catch(() => null);
    const to = response?.ok && parsePart(await response.text()).querySelector(`.file-links [data-hotkey=${key}]`);
    if (to) location.assign(to.href);
  }

  mark(first, last) {
    for (const old of this.querySelectorAll('.marker')) old.remove();
    for (const old of this.querySelectorAll('.at')) old.classList.remove('at');
    for (const list of this.querySelectorAll('.wrapped')) {
      for (let n = first; n <= last; n++) list.children[n - list.start]?.classList.add('at');
    }
    for (const { chunk, first: from, last: to } of this.chunks) {
      const [a, b] = [Math.max(first, from), Math.min(last, to)];
      if (a > b) continue;
      const share = 100 / (to - from + 1);
      const marker = document.createElement('div');
      marker.className = 'marker';
      marker.style.top = `${(a - from) * share}%`;
      marker.style.height = `${(b - a + 1) * share}%`;
      chunk.prepend(marker);
    }
  }

  // readHash takes #L12, as other programs write lines.
  readHash() {
    const hash = pattern.exec(location.hash.slice(1));
    if (!hash) return;
    this.choose(parseInt(hash[1], 10), false);
    if (hash[2]) this.choose(parseInt(hash[2], 10), true);
    this.querySelector('.marker, .at')?.scrollIntoView({ block: 'center' });
  }
}
customElements.define('q-code', CodeElement);
