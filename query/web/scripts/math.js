// Formulas of documents: elements of the class math show TeX, and become MathML shortly before they
// are in view. Documents without any do not load this script.
import temml from 'temml';

// Bounds of a formula, whose text is anyone's: its characters, the macros that it expands, and ems.
const maxTeX = 10_000;
const bounds = { maxExpand: 500, maxSize: [40, 20], throwOnError: true };

function render(element) {
  const tex = element.textContent;
  if (tex.length > maxTeX) return;
  const formula = document.createElement('span');
  try {
    temml.render(tex, formula, { ...bounds, displayMode: element.tagName === 'PRE' });
  } catch {
    return; // the TeX stays
  }
  formula.className = element.className;
  element.replaceWith(formula);
}

const nearView = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    nearView.unobserve(target);
    render(target);
  }
}, { rootMargin: '600px' });
for (const element of document.querySelectorAll('.math')) nearView.observe(element);
