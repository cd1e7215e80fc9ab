import { escapeHtml } from './page.mjs';
import { addressOf, relativeAddress, startPage } from './tree.mjs';

const link = (from, { address, title }) => {
  const current = from === address ? ' aria-current="page"' : '';
  return `<li><a href="${relativeAddress(from, address)}"${current}>${escapeHtml(title)}</a></li>`;
};

/** The list of pages, by the headings and lists of the start page. */
export function groupsOf({ tokens }, targetOf) {
  const groups = [];
  tokens.forEach((token, index) => {
    if (token.type === 'heading_open' && token.tag === 'h2') {
      groups.push({ title: tokens[index + 1].content, pages: [] });
    }
    const [first] = token.type === 'inline' && groups.length > 0 ? token.children : [];
    const target = first?.type === 'link_open' ? targetOf(first.attrGet('href')) : undefined;
    if (target) groups.at(-1).pages.push({ address: addressOf(target), title: token.children[1].content });
  });
  return groups.filter(({ pages }) => pages.length > 0);
}

/** A whole page. All addresses in it are relative: the guide is the same below every context path. */
export function layOut({ address, title, html, sections }, { groups, assets }) {
  const to = (other) => relativeAddress(address, other);
  const root = '../'.repeat(address.split('/').length - 1);
  const headings = sections.filter(({ level, slug }) => slug !== '' && level <= 3);
  const pages = groups.map(
    ({ title: group, pages: some }) =>
      `<h2>${escapeHtml(group)}</h2><ul>${some.map((each) => link(address, each)).join('')}</ul>`,
  );
  const contents = headings.map(({ slug, title: heading }) => `<li><a href="#${slug}">${escapeHtml(heading)}</a></li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Muster</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to(assets.style)}">
<script type="module" src="${to(assets.script)}"></script>
</head>
<body data-root="${root}" data-index="${assets.index}">
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="title" href="${to(addressOf(startPage))}">Muster guide</a>
<form role="search">
<input id="search" type="search" placeholder="Search ( / )" aria-label="Search the guide" autocomplete="off" spellcheck="false">
<span id="search-status" role="status"></span>
<ol id="results" hidden></ol>
</form>
<a href="${root}../">Dashboard</a>
<a href="${root}../docs">API</a>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages">${pages.join('')}</nav>
<main id="content">
${html}</main>
<nav class="contents" aria-label="On this page">${contents.length > 1 ? `<h2>On this page</h2><ul>${contents.join('')}</ul>` : ''}</nav>
</div>
</body>
</html>
`;
}
