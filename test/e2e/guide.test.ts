import MiniSearch from 'minisearch';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { search, searchOptions } from '../../packages/guide/src/search.mjs';
import { createDatabase } from '../support/test-database.js';
import { hasBrowser, startBrowser } from './support/browser.js';
import { Installation } from './support/product.js';

/** The guide of the built product, below a context path and with authentication on: nobody needs a token to read. */
const settings = { http: { contextPath: '/singularity' }, auth: { enabled: true, bootstrapToken: 'x'.repeat(40) } };
const installation = new Installation({ database: createDatabase, settings });
let root: string;
const pages = new Map<string, string>();

beforeAll(async () => {
  const { api } = await installation.start();
  root = `${new URL(api.url).origin}/singularity/guide/`;
  // Every page that another one leads to, from the first one on.
  const left = [root];
  for (let url; (url = left.pop()) !== undefined;) {
    const answer = await fetch(url);
    pages.set(url, answer.ok ? await answer.text() : `${answer.status}`);
    for (const link of linksOf(url)) {
      const [target] = link.split('#', 1);
      if (target!.startsWith(root) && !target!.endsWith('.webp') && !pages.has(target!) && !left.includes(target!))
        left.push(target!);
    }
  }
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

const linksOf = (url: string): string[] =>
  [...pages.get(url)!.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href]) => new URL(href!, url).href);

test('each picture in each page is answered as one', async () => {
  const sources = [...pages].flatMap(([url, page]) =>
    [...page.matchAll(/<img src="([^"]*)"/g)].map(([, path]) => new URL(path!, url).href),
  );
  expect(new Set(sources).size).toBeGreaterThanOrEqual(8);
  for (const source of new Set(sources)) {
    const { status, headers } = await fetch(source);
    expect([source, status, headers.get('content-type')]).toEqual([source, 200, 'image/webp']);
  }
});

test('each link in each page is answered, and its heading is there', () => {
  expect(pages.size).toBeGreaterThan(45);
  const dead = [...pages.keys()].flatMap((url) =>
    linksOf(url).filter((link) => {
      const [target, anchor] = link.split('#') as [string, string?];
      if (!target.startsWith(root) || target.endsWith('.webp')) return false;
      const page = pages.get(target)!;
      return !page.startsWith('<!doctype html>') || (anchor !== undefined && !page.includes(` id="${anchor}"`));
    }),
  );
  expect(dead).toEqual([]);
});

test('the page of a path, its assets and the way to the service are those below the context path', async () => {
  const moved = await fetch(root.slice(0, -1), { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([302, '/singularity/guide/']);
  const url = `${root}internals/deploy-rules.html`;
  const page = pages.get(url)!;
  expect(page).toContain('The rules of deploys');
  const assets = [...page.matchAll(/(?:href|src)="([^"]*assets\/[^"]*)"/g)].map(([, path]) => new URL(path!, url).href);
  expect(assets).toHaveLength(2);
  for (const asset of assets) {
    const answer = await fetch(asset);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
  }
  expect(linksOf(url)).toContain(root.replace('/guide/', '/docs'));
  expect((await fetch(root.replace('/singularity', ''))).status).toBe(404);
  const document = await fetch(root.replace('/guide/', '/docs/openapi.json'));
  expect(await document.json()).toMatchObject({
    info: { description: expect.stringContaining('[the guide](/singularity/guide/)') as string },
  });
});

test.each(['retry', 'time zone', 'exit code', 'second scheduler'])('its search finds "%s"', async (query) => {
  const [, name] = /data-index="([^"]*)"/.exec(pages.get(root)!)!;
  const index = MiniSearch.loadJSON(await (await fetch(root + name)).text(), searchOptions);
  const [best] = search(index, query);
  expect(pages.has(root + best!.id.split('#', 1)[0])).toBe(true);
});

describe.runIf(hasBrowser)('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  }, 60_000);
  afterAll(() => browser?.close());

  test('what is typed into the search of a page below leads to another page, and the policy stops nothing', async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    await page.goto(`${root}internals/deploy-rules.html`);
    await page.keyboard.press('/');
    await page.keyboard.type('second scheduler');
    await page.locator('#results a', { hasText: 'Two schedulers' }).first().click();
    await page.locator('h1', { hasText: 'Two schedulers' }).waitFor();
    expect(page.url()).toMatch(/\/singularity\/guide\/second-scheduler\.html/);
    expect(complaints).toEqual([]);
  }, 60_000);

  test.each(['dashboard.html', 'project/README.html'])(
    'the pictures of %s are seen',
    async (path) => {
      const page = await browser.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
      await page.goto(root + path, { waitUntil: 'load' });
      const widths = await page.evaluate<[ofFile: number, shown: number][]>(
        '[...document.querySelectorAll("main img")].map((each) => [each.naturalWidth, each.getBoundingClientRect().width])',
      );
      expect(widths.length).toBeGreaterThanOrEqual(2);
      for (const [ofFile, shown] of widths) expect([ofFile > 600, shown > 100]).toEqual([true, true]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(complaints).toEqual([]);
    },
    60_000,
  );
});
