import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routesOf } from './parts.js';
import { furnish, idsOf, pagesOf, pagesOfCleanups, type Page, type Pages } from './pages.js';
import type { Scene } from './scene.js';
import type { Visitor } from './visitor.js';

/** Opens every page that the UI has, each by its address. */
export function describePages(
  at: () => { scene: Scene; arrive: () => Promise<Visitor>; /** Is told of each page. */ opened: string[] },
): void {
  describe('the pages', () => {
    let visitor: Visitor;
    let pages: Pages;
    beforeAll(async () => {
      await furnish(at().scene);
      visitor = await at().arrive();
      pages = pagesOf(await idsOf(at().scene));
    }, 300_000);
    afterAll(() => visitor?.page.close());

    const look = async ({ path, shows, from, anew }: Page): Promise<void> => {
      if (from) await look(from);
      await (from ? visitor.goesOn(path, ...shows) : visitor.open(path, ...(anew ? [] : shows)));
      if (!anew) return;
      await visitor.sees(anew);
      await visitor.comesBack();
      await visitor.sees(...shows);
    };
    const opens = async (page: Page): Promise<string[]> => {
      try {
        await look(page);
        const problems = await visitor.problems();
        at().opened.push(`${problems.length === 0 ? 'ok    ' : 'failed'} ${page.path}`);
        return problems.map((problem) => `${page.path}: ${problem}`);
      } catch (cause) {
        await visitor.problems();
        at().opened.push(`failed ${page.path}`);
        return [`${page.path}: ${(cause as Error).message}`];
      }
    };
    const all = async (list: Page[]): Promise<void> => {
      const problems: string[] = [];
      for (const page of list) problems.push(...(await opens(page)));
      expect(problems).toEqual([]);
    };
    /** The words in a list of the UI, by pressing each entry and reading the address that it leads to. */
    const wordsOf = async (path: string, list: string, position: number): Promise<string[]> => {
      await visitor.open(path);
      const entries = visitor.page.locator(list);
      await entries.first().waitFor();
      const words: string[] = [];
      for (const entry of await entries.all()) {
        await entry.locator('a').click();
        words.push(new URL(visitor.page.url()).pathname.split('/ui/')[1]!.split('/')[position]!);
      }
      await visitor.problems();
      return words;
    };

    test('every route of the UI is looked at', async () => {
      await visitor.open('/requests', 'site');
      expect(Object.keys(pages.routes).toSorted()).toEqual((await routesOf(visitor.page)).toSorted());
    });

    test.each(Object.keys(pagesOf({ id: '', commanded: '', ended: '', failed: '' }).routes))(
      '%s shows what there is',
      (route) => all(pages.routes[route]!),
    );

    test('requests are listed by every state that the UI offers', async () => {
      const states = await wordsOf('/requests', '.table-nav-pill--child', 2);
      expect(states.toSorted()).toEqual(Object.keys(pages.requestStates).toSorted());
      const listOf = (state: string): Page => {
        return { path: `/requests/all/${state}`, shows: [pages.requestStates[state]!], anew: 'Request status' };
      };
      await all(states.map(listOf));
    });

    test('tasks are listed by every state that the UI offers', async () => {
      const states = await wordsOf('/tasks', 'ul.nav-pills:not(.nav-pills-multi-select) > li', 1);
      expect(states.toSorted()).toEqual(Object.keys(pages.taskStates).toSorted());
      await all(states.map((state) => ({ path: `/tasks/${state}`, shows: pages.taskStates[state]! })));
    });

    test('tasks that are to go are shown as such', async () => all(await pagesOfCleanups(at().scene)));
  });
}
