// q-results: results come as the server streams them, while the query is typed too; Stop,
// context in place, and keys. Every part is markup of the server's templates.
import { LitElement } from 'lit';
import * as texts from '../../text/en.json';
import { at } from './address.js';
import { expandChunk } from './context.js';
import { installFresh, markNew } from './fresh.js';
import { isSingleKey } from './keys.js';
import { button, parsePart } from './markup.js';
import { closePreview, previewIsOpen, showPreview } from './preview.js';
import { say } from './say.js';
import { rememberQuery } from './visited.js';

const typingDelay = 120; // after the last key
const settled = 1000; // a query that stood so long is one of the history
const statusAfter = 300; // a search that takes longer says so

class QResults extends LitElement {
  createRenderRoot() { return this; }

  connectedCallback() {
    super.connectedCallback();
    this.form = document.querySelector('form.find-code');
    this.box = this.form?.querySelector('q-query');
    this.shown = location.href; // the address of what is shown
    this.equip(this);
    this.form?.addEventListener('input', () => this.schedule());
    this.form?.addEventListener('change', (e) => e.target.type === 'checkbox' && this.submit());
    this.form?.addEventListener('submit', (e) => {
      e.preventDefault();
      this.submit();
    });
    this.addEventListener('click', (e) => this.followLink(e));
    addEventListener('popstate', () => this.restore());
    document.addEventListener('keydown', (e) => this.press(e));
    if (this.querySelector('.results')) this.fresh = installFresh(this, (parts) => this.showNewer(parts));
  }

  // part returns the element of a part of the page, in its place.
  part(id) {
    let element = document.getElementById(id);
    if (!element) {
      element = document.createElement(id === 'facets' ? 'aside' : 'div');
      element.id = id;
      element.className = id;
      if (id === 'status') element.setAttribute('role', 'status');
      this.querySelector('.results').append(element);
    }
    return element;
  }

  // address is the page of what the form holds.
  address() {
    const data = new FormData(this.form);
    const url = new URL(at('/search'), location.href);
    for (const name of ['q', 're', 'case', 'view']) if (data.get(name)) url.searchParams.set(name, data.get(name));
    return url;
  }

  // within returns the switch "only in this repository", which a refused query keeps.
  within() { return this.form.querySelector('[name=in]:checked'); }

  schedule() {
    clearTimeout(this.typing);
    if (this.within()) return;
    if (!/[\p{L}\p{N}]\S*[\p{L}\p{N}]|\S{3}/u.test(this.box?.value ?? '')) return;
    this.typing = setTimeout(() => this.search(this.address(), { typing: true }), typingDelay);
  }

  submit() {
    clearTimeout(this.typing);
    if (this.within()) return this.form.submit(); // the server adds the filter
    const url = this.address();
    if (!url.searchParams.get('q')?.trim()) return location.assign(at('/'));
    rememberQuery(url.searchParams.get('q'));
    this.search(url, { push: true });
  }

  // followLink takes links to other searches, such as facets, without a new page.
  followLink(e) {
    const link = e.target.closest('a');
    if (!link || e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || link.target) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || url.pathname !== at('/search')) return;
    e.preventDefault();
    this.fill(url);
    const more = link.closest('.more') && [...document.querySelectorAll('.hit-file')].length;
    this.search(url, { push: true }).then(() => more && this.focusFile(document.querySelectorAll('.hit-file')[more]));
  }

  restore() {
    const url = new URL(location.href);
    if (url.pathname !== at('/search')) return location.reload();
    this.fill(url);
    this.search(url, {});
  }

  // fill puts an address into the form.
  fill(url) {
    this.form.querySelector('[name=in]')?.closest('label').remove();
    if (this.box) this.box.value = url.searchParams.get('q') ?? '';
    for (const name of ['re', 'case', 'view']) {
      const field = this.form.querySelector(`[name=${name}]`);
      if (field) field.checked = url.searchParams.get(name) === field.value;
    }
  }

  // search asks for a page in parts. What is shown stays until the first part of the next.
  async search(url, { push, typing }) {
    this.abort?.abort();
    clearTimeout(this.settling);
    const run = { abort: new AbortController(), started: performance.now(), begun: false, url, typing };
    this.abort = run.abort;
    this.run = run;
    if (push && url.href !== location.href) history.pushState(null, '', url);
    const asked = new URL(url);
    asked.searchParams.set('fragment', '1');
    if (typing) asked.searchParams.set('typing', '1');
    const progress = setInterval(() => this.showProgress(run), 1000);
    const first = setTimeout(() => this.showProgress(run), statusAfter);
    try {
      const response = await fetch(asked, { signal: run.abort.signal, headers: { Accept: 'text/html' } });
      run.requestID = response.headers.get('X-Request-Id');
      if (response.redirected || response.status === 401) return this.showSignedOut(run);
      if (!response.ok) return await this.showRefusal(response, run);
      document.title = `${url.searchParams.get('q').slice(0, 80)} · Quarry`;
      await this.read(response, run);
      if (typing) this.settling = setTimeout(() => this.run === run && url.href !== location.href && history.pushState(null, '', url), settled);
    } catch (err) {
      if (this.run !== run) return; // another search took its place
      if (err.name === 'AbortError') this.showStopped(run);
      else this.showBroken(run);
    } finally {
      clearInterval(progress);
      clearTimeout(first);
    }
  }

  // read takes the parts of an answer as they come.
  async read(response, run) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (this.run !== run) return;
      if (done) break;
      const parts = (rest + value).split('\x1e');
      rest = parts.pop();
      for (const part of parts) this.take(part, run);
    }
    if (!run.ended) throw new Error('the answer ended early');
  }

  take(part, run) {
    const end = part.indexOf('\n');
    const name = part.slice(0, end);
    const content = parsePart(part.slice(end + 1));
    if (!run.begun) this.begin(run);
    this.equip(content);
    if (name === 'files') {
      document.getElementById('files').append(content);
      return;
    }
    for (const element of [...content.children]) {
      const place = this.part(element.id);
      const open = place.querySelector('.facet-fold')?.open;
      place.replaceChildren(...element.childNodes);
      if (open) place.querySelector('.facet-fold')?.setAttribute('open', '');
    }
    if (name === 'after' || name === 'failure') run.ended = true;
  }

  // begin empties the page for the first part of an answer.
  begin(run) {
    run.begun = true;
    this.shown = run.url.href;
    this.querySelector('.results').classList.remove('former');
    this.fresh?.forget();
    document.querySelector('.results-refused')?.remove();
    document.getElementById('files').replaceChildren();
    this.part('notices').replaceChildren();
    this.part('ending').replaceChildren();
    this.querySelector('.results').classList.toggle('paths', run.url.searchParams.get('view') === 'files');
    this.current = null;
    if (!run.typing) scrollTo(0, 0);
  }

  // isBusy reports whether a search goes on, whose answer is newer than any other.
  isBusy() { return Boolean(this.run && !this.run.ended && !this.run.abort.signal.aborted); }

  // showNewer puts a newer answer in the place of what is shown, and marks what is new; without
  // one it searches again.
  showNewer(parts) {
    const url = new URL(location.href);
    if (!parts) return this.search(url, {});
    const before = document.createElement('div');
    before.append(...document.getElementById('files').cloneNode(true).childNodes);
    this.run = { abort: new AbortController(), started: performance.now(), begun: false, url, typing: true };
    for (const part of parts) this.take(part, this.run);
    markNew(document.getElementById('files'), before);
    this.focusLine(this.querySelector('.line.hit.new'));
  }

  counts() {
    const files = this.querySelectorAll('.hits .hit-file').length;
    return say(texts.resultsCount, { n: this.querySelectorAll('.hits mark').length, files: say(texts.resultsFiles, { n: files }) });
  }

  // markFormer dims what is shown while it answers another query than the one in the box, and
  // returns what the status line says about it.
  markFormer(run) {
    const isFormer = !run.begun && this.shown !== run.url.href && this.querySelector('.hits .hit-file') !== null;
    this.querySelector('.results')?.classList.toggle('former', isFormer);
    return isFormer ? say(texts.resultsFormer) : '';
  }

  showProgress(run) {
    if (this.run !== run || run.ended || run.abort.signal.aborted) return;
    const former = this.markFormer(run);
    const line = document.createElement('p');
    const strong = document.createElement('strong');
    strong.textContent = run.begun ? this.counts() : say(texts.progressRunning);
    const time = document.createElement('span');
    time.textContent = say(texts.progressTime, { n: Math.round((performance.now() - run.started) / 1000) });
    const stop = document.createElement('button');
    stop.type = 'button';
    stop.className = 'small plain';
    stop.textContent = say(texts.progressStop);
    stop.addEventListener('click', () => run.abort.abort());
    line.append(strong, time, ...(former ? [former] : []), stop);
    this.part('status').replaceChildren(line);
  }

  // say writes the status line: what happened, what to do, and for failures the ID under which
  // the server's log has the request.
  say(run, title, detail, again) {
    const former = this.markFormer(run);
    const line = document.createElement('p');
    const strong = document.createElement('strong');
    strong.textContent = title;
    const span = document.createElement('span');
    span.className = 'extent partial';
    span.textContent = [detail, former].filter(Boolean).join(' ');
    line.append(strong, span);
    if (run.requestID && !run.abort.signal.aborted) {
      const id = document.createElement('span');
      id.className = 'soft';
      const code = document.createElement('code');
      code.textContent = run.requestID;
      id.append(`${say(texts.failureID)} `, code);
      line.append(id);
    }
    if (again) line.append(again);
    this.part('status').replaceChildren(line);
  }

  again(run, wait = 0) {
    const b = document.createElement('button');
    b.type = 'button';
    b.className = 'small plain';
    const count = () => {
      b.disabled = wait > 0;
      b.textContent = wait > 0 ? say(texts.againIn, { n: wait }) : say(texts.failureAgain);
      if (wait-- > 0) setTimeout(count, 1000);
    };
    count();
    b.addEventListener('click', () => this.search(run.url, {}));
    return b;
  }

  showStopped(run) {
    this.say(run, run.begun ? this.counts() : say(texts.progressStopped), say(texts.resultsStopped, { time: `${((performance.now() - run.started) / 1000).toFixed(1)} s` }), this.again(run));
  }

  showBroken(run) {
    this.say(run, say(texts.failureTitle), say(run.begun ? texts.failureConnection : texts.failureNoAnswer), this.again(run));
  }

  // showSignedOut says that the session has ended, and keeps what is shown: the way to sign in
  // again is a link.
  showSignedOut(run) {
    if (this.run !== run) return;
    const link = document.createElement('a');
    link.href = at(`/sign-in?${new URLSearchParams({ return: run.url.pathname + run.url.search })}`);
    link.textContent = say(texts.refusalSignIn);
    this.say(run, say(texts.refusalSignedOut), '', link);
  }

  // showRefusal says why there is no answer. While the query is typed it may only not be
  // finished: then the box alone is marked.
  async showRefusal(response, run) {
    const text = await response.text();
    if (this.run !== run) return;
    if (response.status === 400) {
      this.box?.input.setAttribute('aria-invalid', 'true');
      if (run.typing) return;
      this.begin(run);
      this.part('status').replaceChildren();
      this.part('facets').replaceChildren();
      this.part('notices').replaceChildren(parsePart(text));
    } else if (response.status === 429 || response.status === 503) {
      const wait = Math.min(Number(response.headers.get('Retry-After')) || 2, 600);
      this.say(run, say(response.status === 429 ? texts.refusalTooMany : texts.refusalBusy), '', this.again(run, wait));
    } else {
      this.say(run, say(texts.failureTitle), '', this.again(run));
    }
  }

  // equip adds to new parts what works with scripts alone.
  equip(root) {
    for (const n of root.querySelectorAll('.line > .n')) n.tabIndex = -1;
    for (const file of root.querySelectorAll('.hit-file')) {
      if (file.querySelector('.tools')) continue;
      const tools = document.createElement('span');
      tools.className = 'tools';
      tools.append(
        button('panel-right', say(texts.previewOpen), () => this.preview(file.querySelector('.line.hit') ?? file)),
        button('copy', say(texts.copyPath), () => this.copy(file)),
      );
      file.querySelector('.about')?.append(tools);
    }
    for (const chunk of root.querySelectorAll('.chunk')) {
      chunk.addEventListener('pointerenter', () => this.addEdges(chunk), { once: true });
      chunk.addEventListener('click', (e) => this.openLine(e));
    }
    for (const wait of root.querySelectorAll('[data-wait]')) wait.replaceWith(this.again({ url: new URL(wait.href) }, Number(wait.dataset.wait)));
    const first = root.querySelector('.line.hit > .n');
    if (first && !this.current) first.tabIndex = 0;
  }

  addEdges(chunk) {
    if (chunk.querySelector('.edge')) return;
    chunk.append(
      button('arrow-up', say(texts.contextBefore), () => expandChunk(chunk, -10), 'edge before'),
      button('arrow-down', say(texts.contextAfter), () => expandChunk(chunk, 10), 'edge after'),
    );
  }

  // openLine opens the line that was clicked, unless text was selected.
  openLine(e) {
    if (e.defaultPrevented || e.button || !getSelection().isCollapsed || e.target.closest('a, button')) return;
    const link = e.target.closest('.line')?.querySelector('a.n');
    if (!link) return;
    if (e.ctrlKey || e.metaKey) open(link.href);
    else location.assign(link.href);
  }

  async copy(file) {
    await navigator.clipboard?.writeText(file.dataset.path).catch(() => {});
    const tools = file.querySelector('.tools');
    tools?.classList.add('done');
    setTimeout(() => tools?.classList.remove('done'), 1200);
  }

  press(e) {
    if (!isSingleKey(e)) return;
    const act = {
      j: () => this.move('.line.hit', 1), k: () => this.move('.line.hit', -1),
      J: () => this.moveFile(1), K: () => this.moveFile(-1), n: () => this.moveFile(1), p: () => this.moveFile(-1),
      o: () => this.current?.querySelector('a.n')?.click(), x: () => this.fold(),
      c: () => this.file() && this.copy(this.file()),
      C: () => this.copyLine(), b: () => this.goTo('blob', 'L', '?blame=1'), h: () => this.goTo('commits', 'line'),
      e: () => this.follow('e'), v: () => this.follow('v'), d: () => this.goToName('&go=definition'), r: () => this.goToName(''),
      '+': () => this.widen(10), '=': () => this.widen(10), '-': () => this.widen(-10),
      f: () => [...document.querySelectorAll('#facets summary, #facets a')].find((e) => e.checkVisibility())?.focus(),
      i: () => this.preview(this.current ?? this.file()),
      Escape: () => previewIsOpen() ? closePreview() : this.focusLine(this.current ?? this.querySelector('.line.hit')),
    }[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  }

  // preview shows the file of a line next to the results; the same line closes it.
  preview(of) {
    const link = of?.querySelector('a.n, a.path');
    if (!link) return;
    if (previewIsOpen() && this.previewed === link) return closePreview();
    this.previewed = link;
    showPreview(link, of.closest('.hit-file').dataset.path);
  }

  // goTo leads to another page of the file, its blame or its history, which keeps the line.
  goTo(kind, parameter, query = '') {
    const link = this.file()?.querySelector('a.path');
    if (!link) return;
    const url = new URL(link.href.replace('/-/blob/', `/-/${kind}/`) + query);
    const line = this.current?.querySelector('a.n').textContent.trim();
    if (line) url.searchParams.set(parameter, line);
    location.assign(url);
  }

  // follow takes the link that the page of the file has for a key: editor or code host.
  async follow(key) {
    const link = this.current?.querySelector('a.n') ?? this.file()?.querySelector('a.path');
    const response = link && (await fetch(link.href).catch(() => null));
    const to = response?.ok && parsePart(await response.text()).querySelector(`.file-links [data-hotkey=${key}]`);
    if (to) location.assign(to.href);
  }

  // goToName leads to the definition or the references of the match.
  goToName(more) {
    const mark = this.current?.querySelector('mark');
    const name = mark?.textContent.trim();
    if (!name || name.length > 256) return;
    const { repo, rev, path } = this.file().dataset;
    const query = new URLSearchParams({ name, repo, path, line: this.current.querySelector('a.n').textContent });
    if (rev) query.set('rev', rev);
    location.assign(at(`/symbols?${query}${more}`));
  }

  async copyLine() {
    const number = this.current?.querySelector('a.n')?.textContent;
    if (number) await navigator.clipboard?.writeText(`${this.file().dataset.path}:${number}`).catch(() => {});
  }

  file() { return this.current?.closest('.hit-file') ?? document.activeElement?.closest?.('.hit-file'); }

  visible(selector) {
    return [...this.querySelectorAll(`.hits ${selector}`)].filter((e) => !e.closest('.folded .chunks, details:not([open])'));
  }

  move(selector, by) {
    const all = this.visible(selector);
    const at = all.indexOf(this.current);
    this.focusLine(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)]);
  }

  moveFile(by) {
    const files = [...this.querySelectorAll('.hits .hit-file')];
    const at = files.indexOf(this.file());
    this.focusFile(files[at < 0 ? 0 : Math.min(Math.max(at + by, 0), files.length - 1)]);
  }

  focusFile(file) {
    if (!file) return;
    const line = !file.classList.contains('folded') && file.querySelector('.line.hit');
    if (line) return this.focusLine(line);
    this.focusLine(null);
    file.querySelector('.path').focus();
    file.scrollIntoView({ block: 'nearest' });
  }

  focusLine(line) {
    this.current?.classList.remove('current');
    const before = this.current?.querySelector('a.n');
    if (before) before.tabIndex = -1;
    this.current = line;
    if (!line) return;
    line.classList.add('current');
    const link = line.querySelector('a.n');
    link.tabIndex = 0;
    link.focus({ preventScroll: true });
    line.scrollIntoView({ block: 'nearest' });
    if (previewIsOpen()) {
      clearTimeout(this.previewing);
      const isWanted = () => previewIsOpen() && line === this.current && this.previewed !== link;
      this.previewing = setTimeout(() => isWanted() && this.preview(line), typingDelay);
    }
  }

  fold() {
    const file = this.file();
    if (!file) return;
    file.classList.toggle('folded');
    this.focusFile(file);
  }

  widen(lines) {
    const chunk = this.current?.closest('.chunk');
    if (!chunk) return;
    if (lines > 0) {
      expandChunk(chunk, -lines);
      expandChunk(chunk, lines);
    } else {
      chunk.querySelectorAll('.line.added').forEach((l) => l.remove());
    }
  }
}
customElements.define('q-results', QResults);
