import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../../e2e/support/browser.js';
import { tempFolder } from '../../support/temp-folder.js';
import { describeAnotherOrigin } from './describe-another-origin.js';
import { describeClusterButtons } from './describe-cluster-buttons.js';
import { describeMachineButtons } from './describe-machine-buttons.js';
import { describePages } from './describe-pages.js';
import { describeRequestButtons } from './describe-request-buttons.js';
import { describeTaskButtons } from './describe-task-buttons.js';
import { startFront, type Front } from './front.js';
import { actionsOf } from './parts.js';
import { fetchPublishedUi, pageOf } from './published-ui.js';
import { base, Scene, shellCommands } from './scene.js';
import { onlyThisMachine, Visitor } from './visitor.js';

const folder = tempFolder();
const ui = fetchPublishedUi(folder.path);
afterAll(() => folder.remove());

/* The web UI of version 1.5.0 as it was published, in a real browser, before a Muster that is set up for it. */
describe.runIf(ui)('the published web UI 1.5.0', { timeout: 300_000 }, () => {
  const actions = ui ? actionsOf(ui.bundle) : [];
  const staticFiles = ui?.staticFiles ?? '';
  let scene: Scene;
  let front: Front;
  let elsewhere: Front;
  let browser: Browser;
  let context: BrowserContext;
  beforeAll(async () => {
    const settings = { shellCommands: JSON.stringify(shellCommands) };
    const pageElsewhere = (): string => pageOf(ui!, base, { ...settings, apiRoot: `${scene.api.url}/api` });
    elsewhere = await startFront({ base, staticFiles, page: pageElsewhere, hostname: 'localhost' });
    scene = new Scene({ cors: { enabled: true, allowedOrigins: [new URL(elsewhere.url).origin] } });
    await scene.start();
    const muster = new URL(scene.api.url);
    front = await startFront({ base, staticFiles, page: () => pageOf(ui!, base, settings), muster: () => muster });
    browser = await startBrowser(onlyThisMachine);
    context = await browser.newContext({ viewport: { width: 1_600, height: 1_200 } });
    // As the UI keeps it when it has asked who is there.
    await context.addInitScript("localStorage.setItem('singularityUserId', 'visitor')");
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    front?.close();
    elsewhere?.close();
    await scene?.dispose();
  }, 90_000);

  const arrive = (): Promise<Visitor> =>
    Visitor.arrive(context, { front: front.url, api: `${front.url}/api` }, actions);
  const opened: string[] = [];
  describePages(() => ({ scene, arrive, opened }));
  describeAnotherOrigin(() => ({
    scene,
    arrive: () => Visitor.arrive(context, { front: elsewhere.url, api: `${scene.api.url}/api` }, actions),
  }));

  describe('the buttons', () => {
    let visitor: Visitor;
    let pressed = 0;
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
      pressed = results.filter((line) => /^20[024] /.test(line)).length;
      console.log(`The published web UI, ${opened.length} pages:\n  ${opened.join('\n  ')}`);
      console.log(`${actions.length} buttons:\n  ${results.join('\n  ')}`);
      expect(results.filter((line) => !/^20[024] /.test(line))).toEqual([]);
    });

    test('docs/migration.md says how many of its pages and buttons work', () => {
      const page = readFileSync(new URL('../../../docs/migration.md', import.meta.url), 'utf8');
      const row = page.split('\n').find((line) => line.startsWith('| web UI '));
      const works = opened.filter((line) => line.startsWith('ok')).length;
      expect(row).toContain(` ${works} of ${opened.length} pages, ${pressed} of ${actions.length} buttons `);
    });
  });
});
