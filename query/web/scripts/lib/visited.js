// What this browser remembers, and sends nowhere: the queries that were sent.
const key = 'quarry.queries';
const most = 100;

// pastQueries returns the remembered queries, the newest first.
export function pastQueries() {
  try {
    const list = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(list) ? list.filter((q) => typeof q === 'string').slice(0, most) : [];
  } catch {
    return []; // storage is off, or somebody else wrote there
  }
}

// forgetQueries empties the list.
export function forgetQueries() {
  try {
    localStorage.removeItem(key);
  } catch {
    // storage is off: nothing is remembered
  }
}

// rememberQuery puts a query first.
export function rememberQuery(query) {
  const q = query.trim();
  if (!q || q.length > 1000) return;
  try {
    localStorage.setItem(key, JSON.stringify([q, ...pastQueries().filter((other) => other !== q)].slice(0, most)));
  } catch {
    // storage is off or full: nothing is remembered
  }
}
