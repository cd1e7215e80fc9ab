/**
 * The search of the guide, the same where the index is made, in browsers and in tests.
 *
 * @typedef {object} Section
 * @property {string} id address of the section below the root of the guide
 * @property {string} page title of its page
 * @property {string} title
 * @property {string} text
 * @property {string} summary the first words of the text
 */

/** Identifiers count as a whole and by their parts: "retries" finds `numRetriesOnFailure`. */
const words = (text) =>
  (text.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((word) => {
    const parts = word.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\p{N}+/gu) ?? [];
    return parts.length > 1 ? [word, ...parts] : [word];
  });

/** One form of a noun and its plural. */
const stem = (word) =>
  word
    .toLowerCase()
    .replace(/ies$/, 'y')
    .replace(/(?<=[^s])s$/, '');

/** @type {import('minisearch').Options<Section>} */
export const searchOptions = {
  fields: ['title', 'page', 'text'],
  storeFields: ['page', 'title', 'summary'],
  tokenize: words,
  processTerm: stem,
  searchOptions: {
    boost: { title: 4, page: 3 },
    combineWith: 'AND',
    prefix: (term) => term.length > 2,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    // What people write in their jobs comes first; pages for developers, and lists of everything, come last.
    boostDocument: (id) => {
      if (/^(internals|project)\/|^(index|deviations)\./.test(id)) return 0.2;
      return id.includes(':~:') && !id.startsWith('job-specification.') ? 0.4 : 1;
    },
  },
};

const mostHits = 20;

/**
 * @param {import('minisearch').default<Section>} index
 * @param {string} query
 * @returns {(Pick<Section, 'id' | 'page' | 'title' | 'summary'>)[]} the best first
 */
export function search(index, query) {
  const ofAllWords = index.search(query);
  const hits = ofAllWords.length > 0 ? ofAllWords : index.search(query, { combineWith: 'OR' });
  return hits.slice(0, mostHits).map(({ id, page, title, summary }) => ({ id, page, title, summary }));
}
