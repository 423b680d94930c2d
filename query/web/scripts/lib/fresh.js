// What came to the results of a page since they were shown: counted when a push of one of
// their repositories became searchable, and shown when the reader asks for it.
import * as texts from '../../text/en.json';
import { follow } from './live.js';
import { parsePart } from './markup.js';
import { say } from './say.js';

const lookPause = 10000; // between two searches of the same page
const firstLook = 500; // further pushes may follow at once
const ageEvery = 5000;

// lineKey names a matching line by what it says and where: its number changes with others.
const lineKey = (line) => {
  const file = line.closest('.hit-file');
  return [file?.dataset.repo, file?.dataset.rev, file?.dataset.path, line.textContent.replace(/^\s*\d+/, '').trim()].join('\0');
};

const linesOf = (root) => [...root.querySelectorAll('.hit-file .line.hit')];

// newLines returns the lines below next that are not below shown, each as often as it is new.
function newLines(next, shown) {
  const known = new Map();
  for (const line of linesOf(shown)) known.set(lineKey(line), (known.get(lineKey(line)) ?? 0) + 1);
  return linesOf(next).filter((line) => {
    const left = known.get(lineKey(line)) ?? 0;
    known.set(lineKey(line), left - 1);
    return left <= 0;
  });
}

// installFresh watches for pushes to the repositories of results; show is called with the
// parts of a newer answer, whose new lines are marked.
export function installFresh(results, show) {
  let next = 0;
  let waiting;
  let pushed = 0;
  let found;

  const describe = () => {
    const line = results.querySelector('#status > p');
    if (!line || !found) return;
    const place = line.querySelector('.newer') ?? document.createElement('span');
    place.className = 'newer';
    const age = say(texts.liveAge, { n: Math.max(Math.round((Date.now() - pushed) / 1000), 0) });
    const words = document.createElement('span');
    words.textContent = `${found.count >= 0 ? say(texts.liveMatches, { n: found.count }) : say(texts.livePushed)} · ${age}`;
    let button = place.querySelector('button');
    if (!button) {
      button = document.createElement('button');
      button.type = 'button';
      button.className = 'small plain';
      button.textContent = say(texts.liveShow);
      button.addEventListener('click', () => {
        const parts = found?.parts;
        found = undefined;
        place.remove();
        show(parts);
      });
      place.append(words, button);
      line.append(place);
    } else {
      place.firstChild.replaceWith(words);
    }
  };

  // look searches again, without a change of the page.
  const look = async () => {
    waiting = undefined;
    next = Date.now() + lookPause;
    if (results.isBusy()) return;
    const asked = new URL(location.href);
    asked.searchParams.set('fragment', '1');
    const response = await fetch(asked, { headers: { Accept: 'text/html' } });
    if (!response.ok || response.redirected || results.isBusy()) throw new Error('no answer');
    const parts = (await response.text()).split('\x1e');
    if (parts.pop() !== '' || !parts.some((p) => p.startsWith('after\n'))) throw new Error('the answer ended early');
    const files = document.createElement('div');
    for (const part of parts) if (part.startsWith('files\n')) files.append(parsePart(part.slice(6)));
    const count = newLines(files, document.getElementById('files')).length;
    found = count > 0 ? { count, parts } : undefined;
    if (found) describe();
  };

  follow((event) => {
    const names = new Set([...results.querySelectorAll('#files .hit-file')].map((f) => f.dataset.repo));
    if (event.type !== 'lost' && (event.type !== 'searchable' || (names.size > 0 && !names.has(event.repository)))) return;
    if (event.type === 'searchable') pushed = Date.now();
    else pushed ||= Date.now();
    waiting ??= setTimeout(() => look().catch(() => {
      found ??= { count: -1 };
      describe();
    }), Math.max(firstLook, next - Date.now()));
  });
  setInterval(() => document.hidden || describe(), ageEvery);
  return { forget: () => { found = undefined; } };
}

// markNew marks the lines that an earlier answer did not have.
export function markNew(root, before) {
  for (const line of newLines(root, before)) line.classList.add('new');
}
