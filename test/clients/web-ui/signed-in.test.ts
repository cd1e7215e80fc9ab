import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { APIResponse, Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../../e2e/support/browser.js';
import { tempFolder } from '../../support/temp-folder.js';
import { startFront, type Front } from './front.js';
import { actionsOf, type Action } from './parts.js';
import { fetchPublishedUi, pageOf } from './published-ui.js';
import { base, Scene } from './scene.js';
import { onlyThisMachine, Visitor, type Places } from './visitor.js';

const folder = tempFolder();
const ui = fetchPublishedUi(folder.path);
afterAll(() => folder.remove());

const authCookieName = 'who';
const bootstrapToken = 'a-token-of-the-first-administrator';
/** Token that the service knows which judges headers. */
const elsewhereToken = 'told-by-another-service';

/* The same UI before a Muster that asks who calls: by a cookie, or by a header that the UI makes of a cookie. */
describe.runIf(ui)('the published web UI 1.5.0, signed in', { timeout: 300_000 }, () => {
  const actions: Action[] = ui ? actionsOf(ui.bundle) : [];
  let scene: Scene;
  let judge: Server;
  let front: Front;
  let elsewhere: Front;
  let browser: Browser;
  let annsToken: string;
  let taskId: string;
  let context: BrowserContext | undefined;
  afterEach(() => context?.close());

  beforeAll(async () => {
    judge = createServer(({ headers }, response) => {
      const user = { id: 'bob', email: 'bob@example.com', groups: ['web'], scopes: [], authenticated: true };
      const isKnown = headers.authorization === `Bearer ${elsewhereToken}`;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(isKnown ? { user } : { error: 'not known' }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => judge.once('listening', resolve));

    const { staticFiles } = ui!;
    const signedIn = { authCookieName, redirectOnUnauthorizedUrl: 'http://127.0.0.1:9/login?back={URL}' };
    front = await startFront({
      base,
      staticFiles,
      page: () => pageOf(ui!, base, signedIn),
      muster: () => new URL(scene.api.url),
    });
    const pageElsewhere = (): string => {
      return pageOf(ui!, base, { authCookieName, generateAuthHeader: true, apiRoot: `${scene.api.url}/api` });
    };
    elsewhere = await startFront({ base, staticFiles, page: pageElsewhere, hostname: 'localhost' });
    const settings = {
      auth: {
        enabled: true,
        adminGroups: ['ops'],
        authenticators: ['COOKIE', 'WEBHOOK', 'TOKEN'],
        bootstrapToken,
        // Every page of the UI asks for the first two, its lists of requests for the third.
        openAreas: ['STATE', 'REQUEST_GROUPS', 'UTILIZATION'],
      },
      ui: { authCookieName },
      webhookAuth: { authVerificationUrl: `http://127.0.0.1:${(judge.address() as AddressInfo).port}/` },
      cors: { enabled: true, allowedOrigins: [new URL(elsewhere.url).origin] },
    };
    scene = new Scene(settings, { authorization: `Token ${bootstrapToken}` });
    await scene.start('agent1', 'agent2');
    const user = { id: 'ann', email: 'ann@example.com', groups: ['web'] };
    annsToken = (await scene.api.post<{ token: string }>('auth/token', { user })).token;
    const [[task]] = await Promise.all([
      scene.running(
        { id: 'site', group: 'web' },
        { command: 'echo the site is open; echo page > page.html; exec sleep 1000' },
      ),
      scene.running({ id: 'vault', group: 'bank' }),
    ]);
    taskId = task!.taskId.id;
    browser = await startBrowser(onlyThisMachine);
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    for (const each of [front, elsewhere, judge]) each?.close();
    await scene?.dispose();
  }, 90_000);

  /** With the cookie that somewhere else a login has set, for the host of the page. */
  async function arrive(places: Places, token?: string): Promise<Visitor> {
    context = await browser.newContext({ viewport: { width: 1_600, height: 1_200 } });
    const value = encodeURIComponent(JSON.stringify({ token }));
    if (token !== undefined) await context.addCookies([{ name: authCookieName, value, url: places.front }]);
    return Visitor.arrive(context, places, actions);
  }
  const behindTheProxy = (): Places => ({ front: front.url, api: `${front.url}/api` });
  const onAnotherOrigin = (): Places => ({ front: elsewhere.url, api: `${scene.api.url}/api` });

  /** As the link beside the file does it: with the cookies of the browser, and nothing else. */
  async function download({ page }: Visitor): Promise<APIResponse> {
    const row = page.locator('tr').filter({ hasText: 'page.html' }).first();
    const address = await row.locator('a:has(.glyphicon-download-alt)').getAttribute('href');
    return page.request.get(new URL(address!, page.url()).href);
  }

  async function changes(visitor: Visitor, user: string): Promise<void> {
    await scene.until('site', 'ACTIVE');
    await visitor.open('/request/site', 'Active deploy v1', 'Pause');
    await visitor.presses('PauseRequest', /^Pause$/, { message: 'for lunch' });
    await scene.until('site', 'PAUSED');
    const [event] = await scene.api.get<object[]>('history/request/site/requests?count=1');
    expect(event).toMatchObject({ eventType: 'PAUSED', user, message: 'for lunch' });
    await visitor.presses('UnpauseRequest', /^Unpause$/);
    await scene.until('site', 'ACTIVE');
    await visitor.acts('AddStarredRequests', () => visitor.page.locator('a.star').click());
    await visitor.page.locator('a.star[data-starred=true]').waitFor();
    await visitor.acts('DeleteStarredRequests', () => visitor.page.locator('a.star').click());
  }

  test('by a cookie, behind the proxy: everything that the user may, files and every tail too', async () => {
    const visitor = await arrive(behindTheProxy(), annsToken);
    await visitor.open('/requests', 'site');
    expect(await visitor.page.locator('body').innerText()).not.toContain('vault');
    await visitor.open(`/task/${taskId}`, 'Task running', 'page.html');
    for (const tail of ['tail', 'old-tail']) await visitor.open(`/task/${taskId}/${tail}/stdout`, 'the site is open');
    await visitor.open(`/task/${taskId}`, 'page.html');
    const file = await download(visitor);
    expect([file.status(), await file.text()]).toEqual([200, 'page\n']);
    await visitor.open('/api-docs', 'Requests', 'Webhooks');
    await changes(visitor, 'ann@example.com');
    expect(await visitor.problems()).toEqual([]);
    await visitor.open('/request/vault');
    expect((await visitor.problems()).join('\n')).toContain('answered 403');
  });

  test('without a cookie: to the page where one signs in', async () => {
    const visitor = await arrive(behindTheProxy());
    const left = visitor.page.waitForRequest((request) => request.url().startsWith('http://127.0.0.1:9/login?back='));
    await visitor.page.goto(`${front.url}/ui/requests`);
    expect(decodeURIComponent((await left).url())).toContain(`${front.url}/ui/requests`);
  });

  test('by a header, on another origin: all but files and the old tail', async () => {
    const visitor = await arrive(onAnotherOrigin(), elsewhereToken);
    await visitor.open('/requests', 'site');
    expect(await visitor.page.locator('body').innerText()).not.toContain('vault');
    await visitor.open(`/task/${taskId}`, 'Task', 'page.html');
    await visitor.open(`/task/${taskId}/tail/stdout`, 'the site is open');
    await changes(visitor, 'bob@example.com');
    expect(await visitor.problems()).toEqual([]);
    // Neither of these brings the header: the one is a link, the other an older part of the program.
    await visitor.open(`/task/${taskId}`, 'page.html');
    expect((await download(visitor)).status()).toBe(401);
    await visitor.open(`/task/${taskId}/old-tail/stdout`);
    expect((await visitor.problems()).join('\n')).toContain('answered 401');
  });
});
