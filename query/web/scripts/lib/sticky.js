// Sticky definitions: the first lines of the definitions around the top of the window stay
// there while the text scrolls. They are copies over the text, which does not move.
const most = 3;

class StickyScopes {
  constructor(code) {
    this.code = code;
    this.scopes = [...document.querySelectorAll('.outline a[data-from]')]
      .map((a) => ({ from: Number(a.dataset.from), to: Number(a.dataset.to), href: a.href }))
      .filter(({ from, to }) => to > from);
    this.chunks = code.chunks;
    if (!this.scopes.length || !this.chunks?.length || code.querySelector('.blamed')) return;
    this.bar = document.createElement('div');
    this.bar.className = 'sticky-scopes';
    this.bar.setAttribute('aria-hidden', 'true'); // the outline has them for readers of the screen
    this.bar.hidden = true;
    code.append(this.bar);
    const later = () => { this.frame ??= requestAnimationFrame(() => { this.frame = null; this.update(); }); };
    addEventListener('scroll', later, { passive: true });
    addEventListener('resize', later, { passive: true });
    code.addEventListener('scroll', later, { passive: true });
    later();
  }

  // top is where the text begins to be seen.
  top() {
    const header = document.querySelector('.top');
    return getComputedStyle(header).position === 'sticky' ? Math.max(header.getBoundingClientRect().bottom, 0) : 0;
  }

  // lineAt returns the number of the line at a height of the window; 0 for none.
  lineAt(y) {
    for (const { chunk, first, last } of this.chunks) {
      const box = chunk.getBoundingClientRect();
      if (y >= box.top && y < box.bottom) return first + Math.floor(((y - box.top) / box.height) * (last - first + 1));
    }
    return 0;
  }

  // around returns the definitions whose first line is above the text that is seen.
  around(top) {
    const height = this.chunks[0].chunk.getBoundingClientRect().height / (this.chunks[0].last - this.chunks[0].first + 1);
    let found = [];
    for (let rows = 0; rows < most; rows++) {
      const line = this.lineAt(top + rows * height + 1);
      const next = line ? this.scopes.filter(({ from, to }) => from < line && to > line).slice(0, most) : [];
      if (next.length <= rows) break;
      found = next;
    }
    return found;
  }

  update() {
    const top = this.top();
    const scopes = this.around(top);
    this.bar.hidden = !scopes.length;
    if (!scopes.length) return;
    const box = this.code.getBoundingClientRect();
    Object.assign(this.bar.style, { top: `${top}px`, left: `${box.left}px`, width: `${box.width}px` });
    const key = scopes.map(({ from }) => from).join();
    if (this.key === key) return;
    this.key = key;
    this.bar.replaceChildren(...scopes.map((scope) => this.row(scope)));
  }

  row({ from, href }) {
    const a = document.createElement('a');
    a.href = href;
    a.tabIndex = -1;
    const number = document.createElement('span');
    number.className = 'number';
    number.textContent = from;
    const text = document.createElement('code');
    text.append(this.copyLine(from));
    a.append(number, text);
    return a;
  }

  // copyLine returns a copy of a line with its colors.
  copyLine(number) {
    const { chunk, first } = this.chunks.find(({ first, last }) => number >= first && number <= last);
    const range = document.createRange();
    const walker = document.createTreeWalker(chunk.querySelector('pre.t'), NodeFilter.SHOW_TEXT);
    let line = first;
    let begun = line === number;
    if (begun) range.setStart(chunk.querySelector('pre.t'), 0);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (let at = node.data.indexOf('\n'); at >= 0; at = node.data.indexOf('\n', at + 1)) {
        line++;
        if (begun) {
          range.setEnd(node, at);
          return range.cloneContents();
        }
        if (line === number) {
          range.setStart(node, at + 1);
          begun = true;
        }
      }
    }
    range.setEnd(chunk.querySelector('pre.t'), chunk.querySelector('pre.t').childNodes.length);
    return range.cloneContents();
  }
}

const code = document.querySelector('q-code');
if (code) new StickyScopes(code);
