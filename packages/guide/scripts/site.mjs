import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import MiniSearch from 'minisearch';
import { searchOptions } from '../src/search.mjs';
import { escapeHtml, parsePage, renderPage } from './page.mjs';
import { groupsOf } from './layout.mjs';
import { addressOf, fileAt, isInTree, isPicture, isShown, pagesOf, relativeAddress } from './tree.mjs';

/** All pages, rendered, with those of the files that they lead to, and their pictures. Links that lead nowhere are left to `deadLinks`. */
export function readSite(root) {
  const read = (path) => readFileSync(join(root, path), 'utf8');
  const parsed = pagesOf(root).map((path) => parsePage(path, read(path)));
  const byPath = new Map(parsed.map((page) => [page.path, page]));
  const files = new Set();
  const pictures = new Set();
  const links = [];

  /** `path`: in the tree, where the link leads to a page or to a file that is shown. */
  function targetOf({ path: from }, href) {
    if (/^[a-z][\w+.-]*:/i.test(href)) return { isOutside: true };
    const [place, anchor] = href.split('#', 2);
    const path = place === '' ? from : fileAt(root, posix.join(posix.dirname(from), decodeURI(place)));
    const page = byPath.get(path);
    const isDead = page ? anchor !== undefined && !page.slugs.has(anchor) : !isInTree(root, path);
    return { path: page || isShown(root, path) ? path : undefined, anchor, isDead };
  }

  const [start] = parsed;
  // Before the links of that page become addresses.
  const groups = groupsOf(start, (href) => targetOf(start, href).path);
  const pages = parsed.map((page) => {
    const address = addressOf(page.path);
    const pictureAt = (src) => {
      const path = posix.join(posix.dirname(page.path), decodeURI(src));
      links.push({ from: page.path, href: src, isDead: !isPicture(root, path) });
      pictures.add(path);
      return relativeAddress(address, addressOf(path));
    };
    const place = (href) => {
      const { isOutside, path, anchor, isDead } = targetOf(page, href);
      if (isOutside) return href;
      links.push({ from: page.path, href, isDead });
      if (path === undefined) return undefined;
      if (!byPath.has(path)) files.add(path);
      const to = path === page.path && anchor ? '' : relativeAddress(address, addressOf(path));
      return anchor === undefined ? to : `${to}#${anchor}`;
    };
    return { ...page, address, html: renderPage(page, place, pictureAt) };
  });
  return {
    pages: [...pages, ...[...files].sort().map((path) => filePage(path, read(path)))],
    pictures: [...pictures].sort().map((path) => ({ path, address: addressOf(path) })),
    groups,
    links,
  };
}

function filePage(path, text) {
  const html = `<h1>${escapeHtml(path)}</h1>\n<pre><code>${escapeHtml(text)}</code></pre>\n`;
  return { path, address: addressOf(path), title: path, html, sections: [{ level: 1, slug: '', title: path, text }] };
}

/** As lines for people: the page and what stands in it. */
export const deadLinks = ({ links }) =>
  links.filter(({ isDead }) => isDead).map(({ from, href }) => `${from}: ${href}`);

const summaryLength = 140;

/** What the search looks in: a document for each section, and for each field or setting that a page lists. */
export function indexOf({ pages }) {
  const index = new MiniSearch(searchOptions);
  for (const { address, title: page, sections, entries = [] } of pages) {
    for (const { slug, title, text } of [...sections, ...entries]) {
      const words = text.replaceAll(/\s+/g, ' ').trim();
      const id = slug === '' ? address : `${address}#${slug}`;
      index.add({ id, page, title, text: words, summary: words.slice(0, summaryLength) });
    }
  }
  return index;
}
