// say fills a text of the catalogue: {name} for each argument; n chooses the form.
export function say(text, args = {}) {
  const form = typeof text === 'string' ? text : args.n === 1 ? text.one : text.other;
  return form.replace(/\{(\w+)\}/g, (_, name) => (typeof args[name] === 'number' ? args[name].toLocaleString('en') : args[name] ?? ''));
}
