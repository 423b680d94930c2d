// The panes next to a file: the tree, whose directories open in place, and what this browser
// remembers of panes: their widths, and whether the left one is closed.
import * as texts from '../../text/en.json';
import { button, parsePart } from './markup.js';
import { say } from './say.js';

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

// remembered returns what this browser keeps of a pane, and keeps other values.
function remembered(id, change) {
  const key = `quarry.pane.${id}`;
  try {
    const kept = { ...JSON.parse(localStorage.getItem(key) ?? '{}'), ...change };
    if (change) localStorage.setItem(key, JSON.stringify(kept));
    return kept;
  } catch {
    return { ...change }; // storage is off
  }
}

const step = 24; // of the arrow keys, in pixels

// makeGrip returns an edge of a pane that the pointer and the arrow keys move. It sets the width
// or height of the pane in a property, by its ID, and this browser remembers it. sign is 1 if the
// pane grows with the coordinate of the edge.
export function makeGrip(owner, pane, { axis, sign, least, most, label }) {
  const [side, coordinate, less, more] = axis === 'x' ? ['width', 'clientX', 'ArrowLeft', 'ArrowRight'] : ['height', 'clientY', 'ArrowUp', 'ArrowDown'];
  const grip = document.createElement('div');
  grip.className = `grip of-${pane.id}`;
  grip.tabIndex = 0;
  const attributes = {
    role: 'separator', 'aria-orientation': axis === 'x' ? 'vertical' : 'horizontal', 'aria-label': label, 'aria-controls': pane.id,
    'aria-valuemin': least, 'aria-valuemax': most,
  };
  for (const [key, value] of Object.entries(attributes)) grip.setAttribute(key, value);
  const sizeNow = () => pane.getBoundingClientRect()[side];
  const setSize = (px) => {
    const size = Math.round(Math.min(Math.max(px, least), most));
    owner.style.setProperty(`--${pane.id}`, `${size}px`);
    grip.setAttribute('aria-valuenow', size);
    return size;
  };
  const size = remembered(pane.id)[side];
  if (Number.isFinite(size)) setSize(size);
  else grip.setAttribute('aria-valuenow', Math.round(sizeNow()));
  grip.addEventListener('keydown', (e) => {
    const by = { [less]: -step, [more]: step }[e.key];
    if (!by) return;
    e.preventDefault();
    remembered(pane.id, { [side]: setSize(sizeNow() + sign * by) });
  });
  grip.addEventListener('pointerdown', (down) => {
    down.preventDefault();
    grip.setPointerCapture(down.pointerId);
    const from = sizeNow();
    const move = (e) => setSize(from + sign * (e[coordinate] - down[coordinate]));
    grip.addEventListener('pointermove', move);
    grip.addEventListener('lostpointercapture', () => {
      grip.removeEventListener('pointermove', move);
      remembered(pane.id, { [side]: Math.round(sizeNow()) });
    }, { once: true });
  });
  return grip;
}

// The left pane closes; where it was, the button of narrow windows opens it again.
function addClosing(page, pane, name) {
  const close = (closed) => page.classList.toggle('no-tree', closed);
  const open = page.querySelector('[popovertarget=tree]');
  if (!open) return;
  close(remembered('tree').closed === true);
  pane.querySelector('.pane-head').append(button('x', say(texts.codePaneClose, { name }), () => {
    remembered('tree', { closed: close(true) });
    open.focus();
  }));
  open.addEventListener('click', (e) => {
    if (!page.classList.contains('no-tree') || innerWidth < 768) return;
    e.preventDefault();
    remembered('tree', { closed: close(false) });
  });
}

for (const [id, sign] of [['tree', 1], ['outline', -1]]) {
  const pane = document.getElementById(id);
  const page = pane?.closest('.code-page');
  if (!page) continue;
  const name = pane.getAttribute('aria-label');
  page.querySelector('.code-main').append(makeGrip(page, pane, { axis: 'x', sign, least: 160, most: 640, label: say(texts.codePaneWidth, { name }) }));
  if (id === 'tree') addClosing(page, pane, name);
}
