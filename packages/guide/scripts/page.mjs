import { posix } from 'node:path';
import MarkdownIt from 'markdown-it';

/**
 * @typedef {object} Page
 * @property {string} path in the tree
 * @property {string} title
 * @property {string} html
 * @property {{ level: number, slug: string, title: string, text: string }[]} sections the first is what stands below the title
 * @property {{ slug: string, title: string, text: string }[]} entries fields, settings and the like, by addresses that browsers mark
 */

const markdown = new MarkdownIt();
const { image } = markdown.renderer.rules;
Object.assign(markdown.renderer.rules, {
  // Wide ones scroll by themselves, and the page does not.
  table_open: () => '<div class="table" tabindex="0"><table>\n',
  table_close: () => '</table></div>\n',
  // A picture is as wide as its column; alone it leads to itself, at its full size.
  image: (tokens, index, ...rest) => {
    const picture = image(tokens, index, ...rest);
    const isInLink = tokens[index - 1]?.type === 'link_open';
    return isInLink ? picture : `<a href="${escapeHtml(tokens[index].attrGet('src'))}">${picture}</a>`;
  },
  heading_close: (tokens, index) => {
    const { tag } = tokens[index];
    const slug = tokens[index - 2].attrGet('id');
    return tag === 'h1' ? `</h1>\n` : ` <a class="anchor" href="#${slug}" aria-label="Link to here">#</a></${tag}>\n`;
  },
});

/** The name of a heading in addresses, as hosts of git repositories make it, so that links are the same there. */
export function slugger() {
  const times = new Map();
  return (heading) => {
    const slug = heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    const before = times.get(slug) ?? 0;
    times.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  };
}

const textOf = ({ children }) =>
  (children ?? []).map(({ type, content }) => (type.endsWith('break') ? ' ' : content)).join('');

/** A row of a table, or an item of a list, that begins with a name and tells of it; '': it does not. */
function entryTitle({ type, children }) {
  const [first, second] =
    type === 'inline' ? children.filter(({ content, type }) => type !== 'text' || content !== '') : [];
  const isName = first?.type === 'code_inline' && (second === undefined || /^( \(|:)/.test(second.content));
  return isName ? first.content : '';
}

/** The tokens of a page and the slugs of its headings, which other pages may link to. */
export function parsePage(path, text) {
  const tokens = markdown.parse(text, {});
  const slugOf = slugger();
  const sections = [{ level: 1, slug: '', title: posix.basename(path), text: '' }];
  const entries = [];
  let entry;
  tokens.forEach((token, index) => {
    const isHeading = tokens[index - 1]?.type === 'heading_open';
    if (/^(tr|list_item)_(open|close)$/.test(token.type)) entry = undefined;
    if (/^(tr|list_item)_open$/.test(token.type)) {
      const title = entryTitle(tokens[index + 2]);
      const slug = `${sections.at(-1).slug}:~:text=${encodeURIComponent(title).replaceAll('-', '%2D')}`;
      if (title !== '' && !entries.some((each) => each.slug === slug))
        entries.push((entry = { slug, title, text: '' }));
    }
    if (token.type === 'heading_open') {
      const title = textOf(tokens[index + 1]);
      const slug = slugOf(title);
      token.attrSet('id', slug);
      const level = Number(token.tag.slice(1));
      if (level === 1 && sections.length === 1) sections[0].title = title;
      else sections.push({ level, slug, title, text: '' });
    } else if (!isHeading && ['inline', 'fence', 'code_block'].includes(token.type)) {
      (entry ?? sections.at(-1)).text += `${token.type === 'inline' ? textOf(token) : token.content} `;
    }
  });
  const slugs = new Set(tokens.flatMap((token) => (token.type === 'heading_open' ? [token.attrGet('id')] : [])));
  return { path, tokens, sections, entries, slugs, title: sections[0].title };
}

/** `place`: the address that a link of the page leads to; nothing: its text is no link. `picture`: the address of a picture in it. */
export function renderPage({ tokens }, place, picture) {
  for (const { children, type } of tokens) {
    if (type !== 'inline') continue;
    const open = [];
    for (const token of children) {
      if (token.type === 'image') token.attrSet('src', picture(token.attrGet('src')));
      if (token.type === 'link_open') open.push(place(token.attrGet('href'), token));
      if (token.type === 'link_open' && open.at(-1) !== undefined) token.attrSet('href', open.at(-1));
      const isText = token.type.startsWith('link_') && open.at(-1) === undefined;
      if (isText) Object.assign(token, { tag: 'span', attrs: token.attrs && [['title', token.attrGet('href')]] });
      if (token.type === 'link_close') open.pop();
    }
  }
  return markdown.renderer.render(tokens, markdown.options, {});
}

export const escapeHtml = (text) => markdown.utils.escapeHtml(text);
