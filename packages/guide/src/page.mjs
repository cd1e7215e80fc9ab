// Runs in each page of the guide: the search field. The index is fetched when somebody goes there.
import MiniSearch from 'minisearch';
import { search, searchOptions } from './search.mjs';

const { root, index } = document.body.dataset;
const field = document.querySelector('#search');
const results = document.querySelector('#results');
const status = document.querySelector('#search-status');

let loading;
const load = () =>
  (loading ??= fetch(root + index).then(async (answer) => {
    if (!answer.ok) throw new Error(`The index was answered with ${answer.status}`);
    return MiniSearch.loadJSON(await answer.text(), searchOptions);
  }));

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.append(...(text ? [text] : []), ...children);
  return made;
}

function show(query, hits) {
  const items = hits.map(({ id, page, title, summary }) => {
    const link = element('a', title);
    link.href = root + id;
    return element('li', '', link, element('span', page === title ? '' : page), element('p', summary));
  });
  results.replaceChildren(...items);
  results.hidden = items.length === 0;
  status.textContent = query === '' ? '' : hits.length === 0 ? 'Nothing found' : `${hits.length} found`;
}

async function find() {
  const query = field.value.trim();
  try {
    const made = query === '' ? undefined : await load();
    if (query === field.value.trim()) show(query, made ? search(made, query) : []);
  } catch (cause) {
    loading = undefined;
    status.textContent = `Cannot search: ${cause.message}`;
  }
}

field.addEventListener('focus', () => load().catch(() => (loading = undefined)), { once: true });
field.addEventListener('input', find);
field.form.addEventListener('submit', (event) => {
  event.preventDefault();
  results.querySelector('a')?.click();
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, select');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === 'Escape' && !results.hidden) {
    results.hidden = true;
    field.focus();
  }
  if (!['ArrowDown', 'ArrowUp'].includes(event.key) || results.hidden || results.children.length === 0) return;
  const links = [...results.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (at < 0 && document.activeElement !== field) return;
  event.preventDefault();
  const next = at + (event.key === 'ArrowDown' ? 1 : -1);
  (links[next] ?? (next < 0 ? field : links.at(-1))).focus();
});
// A query of another page: /guide/?q=retry
const asked = new URLSearchParams(location.search).get('q');
if (asked) {
  field.value = asked;
  void find();
}
