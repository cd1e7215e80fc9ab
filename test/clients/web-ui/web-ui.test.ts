import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../../e2e/support/browser.js';
import { tempFolder } from '../../support/temp-folder.js';
import { describeClusterButtons } from './describe-cluster-buttons.js';
import { describeMachineButtons } from './describe-machine-buttons.js';
import { describePages } from './describe-pages.js';
import { describeRequestButtons } from './describe-request-buttons.js';
import { describeTaskButtons } from './describe-task-buttons.js';
import { startFront, type Front } from './front.js';
import { actionsOf } from './parts.js';
import { fetchPublishedUi, pageOf } from './published-ui.js';
import { base, Scene, shellCommands } from './scene.js';
import { Visitor } from './visitor.js';

const folder = tempFolder();
const ui = fetchPublishedUi(folder.path);
afterAll(() => folder.remove());

/* The web UI of version 1.5.0 as it was published, in a real browser, before a Muster that is set up for it. */
describe.runIf(ui)('the published web UI 1.5.0', { timeout: 120_000 }, () => {
  const scene = new Scene();
  const actions = ui ? actionsOf(ui.bundle) : [];
  let front: Front;
  let browser: Browser;
  let context: BrowserContext;
  beforeAll(async () => {
    await scene.start();
    const { staticFiles } = ui!;
    front = await startFront(base, staticFiles, pageOf(ui!, base, shellCommands), new URL(scene.api.url));
    browser = await startBrowser();
    context = await browser.newContext({ viewport: { width: 1_600, height: 1_200 } });
    // As the UI keeps it when it has asked who is there.
    await context.addInitScript("localStorage.setItem('singularityUserId', 'visitor')");
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    front?.close();
    await scene.dispose();
  }, 90_000);

  const arrive = (): Promise<Visitor> => Visitor.arrive(context, front.url, actions);
  const opened: string[] = [];
  describePages(() => ({ scene, arrive, opened }));

  describe('the buttons', () => {
    let visitor: Visitor;
    beforeAll(async () => {
      visitor = await arrive();
    });
    afterAll(() => visitor?.page.close());
    afterEach(async () => {
      const problems = await visitor.problems();
      if (problems.length > 0) throw new Error(problems.join('\n'));
    });
    const at = (): { scene: Scene; visitor: Visitor } => ({ scene, visitor });
    describeRequestButtons(at);
    describeTaskButtons(at);
    describeMachineButtons(at);
    describeClusterButtons(at);

    test('every call that the UI can make to change something was made', () => {
      const results = actions.map(({ name, method, path }) => {
        const status = visitor.done.get(name);
        return `${status ?? 'not pressed'} ${name}: ${method} ${path}`;
      });
      console.log(`The published web UI, ${opened.length} pages:\n  ${opened.join('\n  ')}`);
      console.log(`${actions.length} buttons:\n  ${results.join('\n  ')}`);
      expect(results.filter((line) => !/^20[024] /.test(line))).toEqual([]);
    });
  });
});
