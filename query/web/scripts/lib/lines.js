// Lines of a file. No line has an element: a click on the numbers is turned into a line
// by its height, and the marked lines are an element below the text.
const pattern = /^L?(\d{1,9})(?:-L?(\d{1,9}))?$/;

class CodeElement extends HTMLElement {
  connectedCallback() {
    this.chunks = [...this.querySelectorAll('.chunk')].map((chunk) => {
      const numbers = chunk.querySelector('pre.n').textContent;
      return { chunk, first: parseInt(numbers, 10), last: parseInt(numbers.trimEnd().split('\n').at(-1), 10) };
    });
    if (!this.chunks.length) return;
    this.classList.add('live');
    this.addEventListener('click', (e) => {
      if (e.target.matches('pre.n')) this.choose(this.lineAt(e), e.shiftKey);
    });
    this.readHash();
    window.addEventListener('hashchange', () => this.readHash());
  }

  // lineAt returns the number of the line that an event points at.
  lineAt(e) {
    const { first, last } = this.chunks.find(({ chunk }) => chunk.contains(e.target));
    const box = e.target.getBoundingClientRect();
    return Math.min(first + Math.floor(((e.clientY - box.top) / box.height) * (last - first + 1)), last);
  }

  // choose marks a line, or with shift the lines from the marked one on, and puts them
  // into the address.
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
  }

  mark(first, last) {
    for (const old of this.querySelectorAll('.marker')) old.remove();
    for (const old of this.querySelectorAll('.at')) old.classList.remove('at');
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
    this.querySelector('.marker')?.scrollIntoView({ block: 'center' });
  }
}
customElements.define('q-code', CodeElement);
