// Names in code: a card when the pointer rests on one or a click puts the cursor there, and the
// panel of definitions and references. What they show are parts of the page /symbols.
import * as texts from '../../text/en.navigate.json';
import { at } from './address.js';
import { isSingleKey } from './keys.js';
import { button, parsePart } from './markup.js';
import { makeGrip } from './panes.js';
import { say } from './say.js';

const rest = 350; // the pointer rests so long on a name
const character = /[\p{L}\p{N}\p{M}_$]/u;

// caretAt returns the place in text at a point of the window.
function caretAt(x, y) {
  if (document.caretPositionFromPoint) {
    const at = document.caretPositionFromPoint(x, y);
    return at && { node: at.offsetNode, offset: at.offset };
  }
  const range = document.caretRangeFromPoint?.(x, y);
  return range && { node: range.startContainer, offset: range.startOffset };
}

class SymbolNavigator {
  constructor(code) {
    this.code = code;
    code.addEventListener('pointermove', (e) => e.pointerType === 'mouse' && this.wait(e));
    code.addEventListener('pointerleave', () => this.leave());
    code.addEventListener('click', (e) => this.click(e));
    document.addEventListener('keydown', (e) => this.press(e));
    document.addEventListener('click', (e) => {
      const link = e.target.closest?.('[data-panel]');
      if (!link || e.button || e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      this.showPanel(link.href);
    });
    addEventListener('scroll', () => this.hide(), { passive: true });
  }

  // nameAt returns the name at a place in the text, and where it is; null for what is no name.
  nameAt(at) {
    const { node, offset } = at ?? {};
    const text = node?.nodeType === Node.TEXT_NODE && node.parentElement.closest('pre.t code, .wrapped li');
    if (!text || node.parentElement.closest('span.c, span.s, span.n, span.k, span.u')) return null;
    let [from, to] = [offset, offset];
    while (from > 0 && character.test(node.data[from - 1])) from--;
    while (to < node.data.length && character.test(node.data[to])) to++;
    const name = node.data.slice(from, to);
    if (!name || name.length > 256 || /^\d/.test(name)) return null;
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    const before = document.createRange();
    before.setStart(text, 0);
    before.setEnd(node, from);
    const lines = before.toString().split('\n');
    return { name, range, line: this.firstLine(text) + lines.length - 1, column: [...lines.at(-1)].length + 1 };
  }

  // firstLine returns the number of the first line of an element with text.
  firstLine(text) {
    if (text.tagName === 'LI') return text.parentElement.start + [...text.parentElement.children].indexOf(text);
    return parseInt(text.closest('.chunk').querySelector('pre.n').textContent, 10);
  }

  address({ name, line, column }) {
    const { repository, ref, path, language } = this.code.dataset;
    const query = new URLSearchParams({ name, repo: repository, path, line, column });
    if (ref) query.set('rev', ref);
    if (language) query.set('lang', language);
    return at(`/symbols?${query}`);
  }

  wait(e) {
    if (e.clientX === this.x && e.clientY === this.y) return; // the page moved, not the pointer
    [this.x, this.y] = [e.clientX, e.clientY];
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      const found = this.nameAt(caretAt(e.clientX, e.clientY));
      const box = found?.range.getBoundingClientRect();
      if (box && e.clientX >= box.left - 1 && e.clientX <= box.right + 1 && e.clientY >= box.top && e.clientY <= box.bottom) this.show(found);
      else if (!this.pinned) this.hide();
    }, rest);
  }

  leave() {
    clearTimeout(this.resting);
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => !this.pinned && !this.card?.matches(':hover') && this.hide(), 300);
  }

  click(e) {
    if (e.button || e.shiftKey || !getSelection().isCollapsed || e.target.closest('a, button')) return;
    const found = this.nameAt(caretAt(e.clientX, e.clientY));
    if (!found) return this.hide();
    if (e.ctrlKey || e.metaKey) return location.assign(`${this.address(found)}&go=definition`);
    this.show(found, true);
  }

  // atCursor returns the name at the cursor of the text, or the one of the card.
  atCursor() {
    const { anchorNode, anchorOffset } = getSelection();
    return (anchorNode && this.code.contains(anchorNode) && this.nameAt({ node: anchorNode, offset: anchorOffset })) || this.shown;
  }

  press(e) {
    if (e.key === 'Escape' && !e.defaultPrevented) {
      this.hide();
      this.closePanel();
      return;
    }
    if (!isSingleKey(e)) return;
    const found = ['d', 'r', 'Enter'].includes(e.key) && this.atCursor();
    if (!found) return;
    if (e.key === 'Enter') {
      if (document.activeElement?.closest('a, button, summary')) return;
      e.preventDefault();
      this.show(found, true).then(() => this.card?.querySelector('a')?.focus());
    } else {
      e.preventDefault();
      if (e.key === 'd') location.assign(`${this.address(found)}&go=definition`);
      else this.showPanel(this.address(found));
    }
  }

  // show opens the card of a name. A pinned one stays when the pointer leaves.
  async show(found, pinned = false) {
    const address = this.address(found);
    this.pinned = pinned;
    if (this.shown && this.address(this.shown) === address) return;
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    try {
      const response = await fetch(`${address}&fragment=card`, { signal });
      if (!response.ok || signal.aborted) return;
      const part = parsePart(await response.text());
      if (signal.aborted) return;
      this.place(found, part);
      await this.count(address, signal);
    } catch {
      // another name took its place, or there is no connection: the page is whole without
    }
  }

  place(found, part) {
    this.hide(true);
    this.shown = found;
    globalThis.CSS?.highlights?.set('name', new Highlight(found.range));
    this.card = document.createElement('div');
    this.card.className = 'symbol-card';
    this.card.popover = 'manual';
    this.card.setAttribute('role', 'dialog');
    this.card.setAttribute('aria-label', say(texts.symbolsOf, { name: found.name }));
    this.card.append(part);
    this.card.addEventListener('pointerleave', () => this.leave());
    this.code.after(this.card);
    this.card.showPopover();
    const [box, size] = [found.range.getBoundingClientRect(), this.card.getBoundingClientRect()];
    const above = box.bottom + 6 + size.height > innerHeight && box.top > size.height + 6;
    this.card.style.left = `${Math.max(12, Math.min(box.left, innerWidth - size.width - 12))}px`;
    this.card.style.top = `${above ? box.top - size.height - 6 : box.bottom + 6}px`;
  }

  // count says how often the name is used, which takes longer to know.
  async count(address, signal) {
    const response = await fetch(`${address}&fragment=count`, { signal });
    const link = this.card?.querySelector('[data-count]');
    if (response.ok && link && !signal.aborted) link.replaceChildren(parsePart(await response.text()));
  }

  hide(next) {
    if (!next) this.abort?.abort();
    globalThis.CSS?.highlights?.delete('name');
    const focused = this.card?.contains(document.activeElement);
    this.card?.remove();
    this.card = this.shown = null;
    if (!next) this.pinned = false; // the next card is pinned or not already
    if (focused && !next) this.code.focus({ preventScroll: true });
  }

  // showPanel opens the page of a name below the text.
  async showPanel(href) {
    this.hide();
    const response = await fetch(href);
    const found = response.ok && parsePart(await response.text()).querySelector('.symbols');
    if (!found) return location.assign(href);
    this.closePanel();
    this.panel = document.createElement('section');
    this.panel.className = 'symbol-panel';
    this.panel.id = 'symbol-panel';
    this.panel.tabIndex = -1;
    this.panel.setAttribute('aria-label', say(texts.symbolsTitle));
    const tools = document.createElement('div');
    tools.className = 'panel-tools';
    const whole = document.createElement('a');
    whole.href = href;
    whole.className = 'button plain small';
    whole.textContent = say(texts.symbolsPage);
    tools.append(whole, button('x', say(texts.symbolsClose), () => this.closePanel(), 'tool'));
    this.panel.append(tools, found);
    document.body.append(this.panel);
    this.panel.prepend(makeGrip(document.body, this.panel, { axis: 'y', sign: -1, least: 120, most: Math.round(innerHeight * 0.9), label: say(texts.symbolsPanelHeight) }));
    this.panel.focus();
  }

  closePanel() {
    if (!this.panel) return;
    this.panel.remove();
    this.panel = null;
    this.code.focus({ preventScroll: true });
  }
}

const code = document.querySelector('q-code[data-repository]');
if (code) new SymbolNavigator(code);
