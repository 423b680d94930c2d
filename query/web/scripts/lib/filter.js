// q-filter: a field that shows those entries of its lists whose names contain what is typed.
class FilterElement extends HTMLElement {
  connectedCallback() {
    const field = this.querySelector('input');
    if (!field) return; // short lists have none
    const folds = [...this.querySelectorAll('li.fold')];
    const items = [...this.querySelectorAll('li:not(.fold)')].map((li) => ({ li, name: (li.dataset.name ?? li.querySelector('bdi').textContent).toLowerCase() }));
    field.hidden = items.length < 2; // shown by this script alone
    field.addEventListener('input', () => {
      const wanted = field.value.trim().toLowerCase();
      for (const { li, name } of items) li.hidden = !name.includes(wanted);
      for (const fold of folds) {
        fold.hidden = !fold.querySelector('li:not([hidden])');
        fold.querySelector('details').open = wanted !== '';
      }
    });
    field.addEventListener('keydown', (e) => {
      if (e.key === 'Enter') this.querySelector('li:not([hidden], .fold) a')?.click();
    });
  }
}
customElements.define('q-filter', FilterElement);
