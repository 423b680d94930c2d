// Markup comes from this server's templates alone: nothing that a script composes passes here.
const policy = globalThis.trustedTypes?.createPolicy('quarry-parts', { createHTML: (html) => html }) ?? { createHTML: (html) => html };

// parsePart returns what the server rendered as a fragment of the document.
export function parsePart(html) {
  const template = document.createElement('template');
  template.innerHTML = policy.createHTML(html);
  return template.content;
}

// icon returns an icon of the sprite that the page uses.
export function icon(name) {
  const sprite = document.querySelector('svg.icon use')?.getAttribute('href')?.split('#')[0] ?? '';
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', `${sprite}#${name}`);
  svg.append(use);
  return svg;
}

// button returns a button with an icon and a label.
export function button(name, label, onClick, className = 'tool') {
  const b = document.createElement('button');
  b.type = 'button';
  b.className = className;
  b.title = label;
  b.setAttribute('aria-label', label);
  b.append(icon(name));
  b.addEventListener('click', onClick);
  return b;
}
