// Events of the server (GET /api/events), for pages that show what moves. A page has one
// stream, while it is in view; one that was lost is opened again after a growing pause.
import { at } from './address.js';
import { parsePart } from './markup.js';

const firstPause = 2000;
const lastPause = 300000;
const refreshPause = 2000; // between two looks at the same page

// follow calls take with each event, from now on. One of type lost says that events were
// missed.
export function follow(take) {
  let source;
  let position = '';
  let pause = firstPause;
  let timer;
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(at(`/api/events?follow=true&since=${encodeURIComponent(position)}`));
    source.onmessage = (e) => {
      if (e.data === '[DONE]') return;
      const event = JSON.parse(e.data);
      position = event.position || position;
      if (event.type === 'ready') pause = firstPause;
      else if (event.type !== 'position') take(event);
    };
    source.onerror = () => {
      close();
      timer = setTimeout(open, pause * (0.8 + Math.random() * 0.4));
      pause = Math.min(2 * pause, lastPause);
    };
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  open();
}

// refreshParts replaces the parts of the page that are marked with data-live by those that
// the server renders now. a link with data-from leads to these parts alone.
async function refreshParts() {
  const response = await fetch((document.querySelector('[data-from]') ?? location).href, { headers: { Accept: 'text/html' } });
  if (!response.ok || response.redirected) return;
  const next = parsePart(await response.text());
  for (const part of document.querySelectorAll('[data-live]')) {
    const now = next.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
    if (!now || part.contains(document.activeElement) || now.outerHTML === part.outerHTML) continue;
    part.replaceWith(now);
  }
}

// installLive keeps the parts current that are marked with data-live. data-repositories on
// main names the repositories that they are about; none means all.
export function installLive() {
  const shown = document.querySelector('[data-repositories]')?.dataset.repositories.split(' ');
  if (!shown) return;
  let waiting;
  let next = 0;
  follow((event) => {
    if (event.type === 'delivery' || (event.repositoryId && shown[0] && !shown.includes(String(event.repositoryId)))) return;
    if (waiting) return;
    waiting = setTimeout(() => {
      waiting = undefined;
      next = Date.now() + refreshPause;
      refreshParts().catch(() => {}); // what is shown stays
    }, Math.max(200, next - Date.now()));
  });
}
