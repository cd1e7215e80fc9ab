import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { deadLinks, indexOf, readSite, type Site } from '../scripts/site.mjs';
import { search } from '../src/search.mjs';

/** A tree with these files, and the start page that every guide has. */
function siteOf(files: Record<string, string>): Site {
  const { path: root, remove } = tempFolder();
  onTestFinished(remove);
  const all = { 'docs/README.md': '# Start', 'examples/README.md': '# Examples', 'test/a.test.ts': '', ...files };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return readSite(root);
}
const pageOf = ({ pages }: Site, path: string): string => pages.find((page) => page.path === path)!.html;

describe('the pages of this repository', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const site = readSite(root);

  test('link to nothing that is not there, and are all in the list of the start page', () => {
    expect(deadLinks(site)).toEqual([]);
    expect(site.links.length).toBeGreaterThan(200);
    const listed = site.groups.flatMap(({ pages }) => pages.map(({ address }) => address));
    expect(site.groups.map(({ title }) => title)).toContain('Operate Muster');
    const missing = site.pages.filter(({ path, address }) => path.startsWith('docs/') && !listed.includes(address));
    expect(missing.map(({ path }) => path)).toEqual(['docs/README.md']);
  });

  test.each([
    ['retry', /^(job-specification|first-job|glossary)\.html/],
    ['time zone', /^(job-specification|first-job)\.html/],
    ['exit code', /^cli\.html#exit-codes$/],
    ['second scheduler', /^second-scheduler\.html/],
    ['retries', /^(job-specification|first-job|glossary)\.html/],
    ['numRetriesOnFailure', /^(job-specification|first-job)\.html/],
    ['helath check', /./],
    ['what does the xyzzy do when a machine is frozen', /./],
  ])('the search for "%s" finds %s among its first five', (query, expected) => {
    const hits = search(index, query);
    expect(hits.slice(0, 5).map(({ id }) => id)).toContainEqual(expect.stringMatching(expected));
  });
  const index = indexOf(site);

  test('show every picture of docs/images, each with a text in its place and of at most 120 kB', () => {
    const files = readdirSync(join(root, 'docs/images')).map((name) => `docs/images/${name}`);
    expect(site.pictures.map(({ path }) => path)).toEqual(files.sort());
    expect(files.filter((path) => statSync(join(root, path)).size > 120_000)).toEqual([]);
    const shown = site.pages.flatMap(({ html }) => html.match(/<img [^>]*>/g) ?? []);
    expect(shown.length).toBeGreaterThanOrEqual(files.length);
    expect(shown.filter((picture) => !/ alt="[^"]{20,}"/.test(picture))).toEqual([]);
  });
});

test.each([
  ['a page that is not there', '[x](none.md)'],
  ['a heading that is not there', '[x](b.md#none)'],
  ['a heading of its own that is not there', '[x](#none)'],
  ['a source that is not there', '[x](../src/none.ts)'],
  ['a folder that is not there', '[x](../none)'],
  ['a picture that is not there', '![x](images/none.webp)'],
  ['a picture of another place', '![x](https://example.com/a.webp)'],
  ['a page as a picture', '![x](b.md)'],
])('%s is a dead link', (_what, text) => {
  const site = siteOf({ 'docs/a.md': `# A\n\n${text}\n`, 'docs/b.md': '# B\n' });
  expect(deadLinks(site)).toEqual([`docs/a.md: ${/\((.*)\)/.exec(text)![1]}`]);
});

test('links between pages lead to their addresses, and headings have the names of the git host', () => {
  const site = siteOf({
    'docs/a.md':
      '[1](internals/b.md) [2](internals/b.md#1-the-_first_-heading-1) [3](../examples/README.md) [4](README.md)',
    'docs/internals/b.md': '# B\n\n## 1. The `_first_` heading\n\n## 1. The `_first_` heading\n\n[a](../a.md) [b](#b)',
  });
  expect(deadLinks(site)).toEqual([]);
  const hrefs = (path: string) => [...pageOf(site, path).matchAll(/<a href="([^"]*)">/g)].map(([, href]) => href);
  expect(hrefs('docs/a.md')).toEqual([
    'internals/b.html',
    'internals/b.html#1-the-_first_-heading-1',
    'project/examples/README.html',
    'index.html',
  ]);
  expect(hrefs('docs/internals/b.md')).toEqual(['../a.html', '#b']);
});

test('a picture has its own address, and leads to itself unless it is in a link', () => {
  const site = siteOf({
    'README.md': '![the *list*](docs/images/list.webp)',
    'docs/internals/b.md': '[![the list](../images/list.webp)](../README.md)',
    'docs/images/list.webp': '',
    'docs/images/unused.webp': '',
  });
  expect(deadLinks(site)).toEqual([]);
  expect(site.pictures).toEqual([{ path: 'docs/images/list.webp', address: 'images/list.webp' }]);
  const [own, other] = ['../images/list.webp', '../index.html'];
  expect(pageOf(site, 'README.md')).toContain(`<a href="${own}"><img src="${own}" alt="the list"></a>`);
  expect(pageOf(site, 'docs/internals/b.md')).toContain(`<a href="${other}"><img src="${own}" alt="the list"></a>`);
});

test('a file for operators is shown as it is, a source is named, and no markup of a page is taken for HTML', () => {
  const site = siteOf({
    'docs/a.md':
      '[settings](../examples/s.yml) [test](../test/a.test.ts) <script>alert(1)</script> [x](javascript:alert(1))',
    'examples/s.yml': 'a: <b>',
  });
  expect(deadLinks(site)).toEqual([]);
  const html = pageOf(site, 'docs/a.md');
  expect(html).toContain('<a href="project/examples/s.yml.html">settings</a>');
  expect(html).toContain('<span title="../test/a.test.ts">test</span>');
  expect(html).not.toMatch(/<script|href="javascript/);
  expect(pageOf(site, 'examples/s.yml')).toContain('<pre><code>a: &lt;b&gt;</code></pre>');
});
