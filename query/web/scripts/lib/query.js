// q-query: marks for the syntax of the query, suggestions, a history, and lines.
import { LitElement, html, nothing } from 'lit';
import Combobox from '@github/combobox-nav';
import * as texts from '../../text/en.json';
import { icon } from './markup.js';
import { isSingleKey } from './keys.js';
import { quoteTerm, suggest, wordAt } from './suggest.js';
import { forgetQueries, rememberQuery } from './visited.js';

const tokens = /("(?:\\.|[^"\\])*")|(\b(?:repo|file|lang|sym|rev|kind|is|line|type|case|context|reposet|archived|fork|visibility|regex|literal|content|select):)|(\(|\)|(?<=^|\s)-(?=\S)|(?<=^|\s)(?:or|and|not|OR|AND|NOT)(?=\s|$))/g;

class QQuery extends LitElement {
  static properties = { items: { state: true }, busy: { state: true } };

  createRenderRoot() {
    const root = document.createElement('div');
    root.className = 'suggestions';
    this.append(root);
    return root;
  }

  connectedCallback() {
    super.connectedCallback();
    this.items = [];
    this.form = this.closest('form');
    this.attach(this.querySelector('#q'));
    this.form.addEventListener('submit', () => { this.close(); rememberQuery(this.input.value); });
    // Signing out clears the history, so that the next user of the browser does not see it.
    document.querySelector('form[action$="/sign-out"]')?.addEventListener('submit', forgetQueries);
    document.addEventListener('keydown', (e) => this.takeSelection(e));
    this.addEventListener('focusout', (e) => { if (!this.contains(e.relatedTarget)) this.close(); });
  }

  // attach makes a field the one of the query.
  attach(input) {
    this.input = input;
    this.marks = document.createElement('div');
    this.marks.className = 'marks';
    this.marks.setAttribute('aria-hidden', 'true');
    input.before(this.marks);
    input.classList.add('marked');
    this.describeClosed();
    input.addEventListener('input', () => { this.mark(); this.schedule(); });
    input.addEventListener('scroll', () => this.scrollMarks());
    input.addEventListener('keydown', (e) => this.press(e));
    input.addEventListener('click', () => !this.items.length && input.value === '' && this.load());
    this.mark();
  }

  // takeSelection takes the text that is selected on the page along to the box, for the keys
  // that lead there.
  takeSelection(e) {
    if (!['/', 's'].includes(e.key) || !isSingleKey(e)) return;
    const text = getSelection().toString().trim();
    if (!text || text.length > 200 || text.includes('\n')) return;
    e.preventDefault();
    this.input.focus();
    this.value = quoteTerm(text);
    this.input.select();
  }

  // describeClosed tells screen readers what the field is, without a list.
  describeClosed() {
    this.input.setAttribute('role', 'combobox');
    this.input.setAttribute('aria-expanded', 'false');
    this.input.setAttribute('aria-autocomplete', 'list');
    this.input.removeAttribute('aria-activedescendant');
    this.describeLines();
  }

  // describeLines takes back what a field of several lines may not be: a combobox is one line,
  // and a textarea has no other role than its own. Its list is announced by the attributes that
  // a textbox may have: aria-controls, aria-autocomplete and aria-activedescendant.
  describeLines() {
    if (this.input.tagName !== 'TEXTAREA') return;
    this.input.removeAttribute('role');
    this.input.removeAttribute('aria-expanded');
  }

  get value() { return this.input.value; }

  set value(text) {
    this.input.value = text;
    this.mark();
  }

  // mark shows what the parts of the query are.
  mark() {
    const text = this.input.value;
    this.marks.replaceChildren();
    let at = 0;
    const add = (s, kind) => {
      if (!s) return;
      if (!kind) return this.marks.append(s);
      const span = document.createElement('span');
      span.className = kind;
      span.textContent = s;
      this.marks.append(span);
    };
    for (const m of text.matchAll(tokens)) {
      add(text.slice(at, m.index));
      add(m[0], m[1] ? 's' : m[2] ? 'k' : 'n');
      at = m.index + m[0].length;
    }
    add(text.slice(at));
    if (text.endsWith('\n')) this.marks.append('\n');
    this.input.removeAttribute('aria-invalid');
    this.scrollMarks();
  }

  scrollMarks() {
    this.marks.scrollLeft = this.input.scrollLeft;
    this.marks.scrollTop = this.input.scrollTop;
  }

  press(e) {
    if (e.isComposing) return;
    if (e.key === 'Enter' && e.shiftKey) {
      e.preventDefault();
      this.breakLine();
    } else if (e.key === 'Enter' && this.input.tagName === 'TEXTAREA' && !this.combobox?.input.getAttribute('aria-activedescendant')) {
      e.preventDefault();
      this.form.requestSubmit();
    } else if (e.key === 'ArrowUp' && this.input.value === '') {
      this.load();
    } else if (e.key === 'Escape') {
      e.preventDefault(); // browsers empty the field
      if (this.items.length) this.close();
      else document.querySelector('#files .line.hit > .n, #main')?.focus();
    }
  }

  // breakLine makes the field one of several lines.
  breakLine() {
    const { selectionStart: at, value } = this.input;
    if (this.input.tagName !== 'TEXTAREA') {
      const area = document.createElement('textarea');
      for (const a of this.input.attributes) if (!['type', 'value', 'autofocus'].includes(a.name)) area.setAttribute(a.name, a.value);
      area.value = value;
      this.close();
      this.marks.remove();
      this.input.replaceWith(area);
      this.attach(area);
    }
    this.input.setRangeText('\n', at, this.input.selectionEnd ?? at, 'end');
    this.input.rows = Math.min(this.input.value.split('\n').length, 8);
    this.input.focus();
    this.mark();
  }

  schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), 90);
  }

  async load() {
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    try {
      const items = await suggest(this.input.value, this.input.selectionStart, signal);
      if (!signal.aborted && document.activeElement === this.input) this.show(items);
    } catch {
      // the list is a help: without it there is the box
    }
  }

  async show(items) {
    this.items = items;
    await this.updateComplete;
    this.combobox?.destroy();
    this.combobox = null;
    if (!items.length) return this.describeClosed();
    this.combobox = new Combobox(this.input, this.renderRoot.querySelector('ul'), { tabInsertsSuggestions: false, firstOptionSelectionMode: 'none' });
    this.combobox.start();
    this.describeLines();
  }

  close() {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.combobox?.destroy();
    this.combobox = null;
    this.items = [];
    this.describeClosed();
  }

  // choose takes a suggestion into the query, or leads to it.
  choose(item, e) {
    if (item.url) return; // a link
    e.preventDefault();
    const { input } = this;
    if (item.forget) {
      forgetQueries();
      this.close();
      return input.focus();
    }
    if (item.whole) {
      input.value = item.whole;
    } else {
      const { from, to } = wordAt(input.value, input.selectionStart);
      input.setRangeText(item.insert + (item.open || input.value[to] === ' ' ? '' : ' '), from, to, 'end');
    }
    this.close();
    this.mark();
    input.focus();
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }

  render() {
    if (!this.items?.length) return nothing;
    return html`<ul role="listbox" id="q-list" aria-label=${texts.suggestLabel}>${this.items.map((item, i) =>
      item.url
        ? html`<li role="none"><a role="option" id=${`q-${i}`} href=${item.url}>${icon(item.icon)}<bdi>${item.text}</bdi><span class="soft">${item.more ?? ''}</span></a></li>`
        : html`<li role="option" id=${`q-${i}`} @mousedown=${(e) => e.preventDefault()} @click=${(e) => this.choose(item, e)}>${icon(item.icon)}<bdi>${item.text}</bdi><span class="soft">${item.more ?? ''}</span></li>`)}</ul>`;
  }
}
customElements.define('q-query', QQuery);
