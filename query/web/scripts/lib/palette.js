// The palette: the list of the page /find over any other page, while one types.
import * as texts from '../../text/en.navigate.json';
import { at } from './address.js';
import { isSingleKey } from './keys.js';
import { parsePart } from './markup.js';

const typingDelay = 40; // after the last key

class Palette {
  build() {
    this.dialog = document.createElement('dialog');
    this.dialog.className = 'palette';
    this.dialog.setAttribute('aria-label', texts.findTitle);
    this.input = document.createElement('input');
    for (const [name, value] of Object.entries({
      type: 'text', role: 'combobox', 'aria-label': texts.findLabel, 'aria-expanded': 'false', 'aria-autocomplete': 'list', 'aria-controls': 'palette-list',
      placeholder: texts.findPlaceholder, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', maxlength: '128',
    })) this.input.setAttribute(name, value);
    this.list = document.createElement('div');
    this.list.id = 'palette-list';
    this.dialog.append(this.input, this.list);
    document.body.append(this.dialog);
    this.input.addEventListener('input', () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.load(), typingDelay);
    });
    this.input.addEventListener('keydown', (e) => this.press(e));
    this.dialog.addEventListener('click', (e) => e.target === this.dialog && this.dialog.close());
  }

  open(text = '') {
    if (!this.dialog) this.build();
    if (!this.dialog.open) this.dialog.showModal();
    if (text) this.input.value = text;
    this.input.select();
    this.load();
  }

  // load shows what is found for what was typed last.
  async load() {
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    const query = new URLSearchParams({ q: this.input.value, fragment: '1' });
    const here = document.querySelector('[data-repository]')?.dataset;
    if (here) {
      query.set('repo', here.repository);
      for (const [name, value] of [['rev', here.revision], ['path', here.path]]) if (value) query.set(name, value);
    }
    try {
      const response = await fetch(at(`/find?${query}`), { signal });
      if (!response.ok || signal.aborted) return;
      this.list.replaceChildren(parsePart(await response.text()));
      this.options = [...this.list.querySelectorAll('[role=option]')];
      this.options.forEach((option, i) => { option.id = `found-${i}`; option.tabIndex = -1; });
      this.input.setAttribute('aria-expanded', String(this.options.length > 0));
      this.choose(0);
    } catch {
      // the next key asks again
    }
  }

  choose(at) {
    for (const option of this.options) option.removeAttribute('aria-selected');
    const chosen = this.options[at];
    if (!chosen) return this.input.removeAttribute('aria-activedescendant');
    this.at = at;
    chosen.setAttribute('aria-selected', 'true');
    chosen.scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', chosen.id);
  }

  press(e) {
    if (e.isComposing || !this.options?.length) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) {
      e.preventDefault();
      this.choose((this.at + by + this.options.length) % this.options.length);
    } else if (e.key === 'Enter') {
      e.preventDefault();
      const link = this.options[this.at];
      if (e.ctrlKey || e.metaKey) open(link.href);
      else {
        this.dialog.close();
        location.assign(link.href);
      }
    }
  }
}

// installPalette makes Ctrl+K or Cmd+K, t and @ open the palette.
export function installPalette() {
  const palette = new Palette();
  document.addEventListener('keydown', (e) => {
    if (e.defaultPrevented) return;
    const withModifier = (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.code === 'KeyK';
    const single = e.key === 't' && isSingleKey(e);
    if (!withModifier && !single) return;
    e.preventDefault();
    palette.open();
  });
}
