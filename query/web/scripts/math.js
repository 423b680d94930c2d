// Formulas of documents: elements of the class math show TeX, and become MathML shortly before they
// are in view. Documents without any do not load this script.
import temml from 'temml';

// Bounds of a formula, whose text is anyone's: its characters, the elements around an element, the
// macros that it expands, and ems.
const maxTeX = 10_000;
const tooDeep = '* > '.repeat(60) + '*';
const bounds = { maxExpand: 500, maxSize: [40, 20], throwOnError: true };
// Commands that define others are unknown, and a formula with one stays TeX: a macro may double its
// argument, so that 25 expansions have millions of elements.
// So does one with a reference, whose target may be another formula, and whose link is empty.
const unknown = ['ref', 'eqref', 'def', 'gdef', 'edef', 'xdef', 'let', 'futurelet', 'global', 'long', 'newcommand', 'renewcommand', 'providecommand'];

// render replaces an element by the formula of its TeX, and returns that; nothing if the TeX stays.
function render(element) {
  const tex = element.textContent;
  if (tex.length > maxTeX) return;
  const displayMode = element.tagName === 'PRE';
  const formula = document.createElement(displayMode ? 'div' : 'span');
  const macros = Object.fromEntries(unknown.map((name) => [`\\${name}`, '\\unknown']));
  try {
    temml.render(tex, formula, { ...bounds, macros, displayMode });
  } catch {
    return;
  }
  if (formula.querySelector(tooDeep)) return; // 30 pairs of stretched parentheses are 1,000,000 pixels high
  for (const named of formula.querySelectorAll('[id]')) named.removeAttribute('id'); // of a \label: the page has its own
  formula.className = element.className;
  element.replaceWith(formula);
  return formula;
}

const nearView = new IntersectionObserver((entries) => {
  const formulas = [];
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    nearView.unobserve(target);
    formulas.push(render(target));
  }
  // What scrolls sideways can be scrolled by keys: a formula, or the document around one in a line.
  for (const formula of formulas) {
    for (const scrolls of [formula, formula?.closest('.prose')]) if (scrolls?.scrollWidth > scrolls?.clientWidth) scrolls.tabIndex = 0;
  }
}, { rootMargin: '600px' });
for (const element of document.querySelectorAll('.math')) nearView.observe(element);
