import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { budgetStories } from './dashboard/budget-stories.js';
import { faultStories } from './dashboard/fault-stories.js';
import { incidentStory } from './dashboard/incident-story.js';
import { flowOfJobs, jobStories, pagesOfJobs } from './dashboard/job-stories.js';
import { listStories } from './dashboard/list-stories.js';
import { liveStories } from './dashboard/live-stories.js';
import { machineStories } from './dashboard/machine-stories.js';
import { ruleStories } from './dashboard/rule-stories.js';
import { withAnswer } from './dashboard/scene.js';
import { settingStories } from './dashboard/setting-stories.js';
import { hasBrowser, startBrowser } from './support/browser.js';
import { Installation, type Instance } from './support/product.js';
import { Api } from './support/api.js';
import { clientId, clientSecret, OidcProvider } from '../support/auth/oidc-provider.js';
import { connect } from '../../src/platform/database/connection.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

const pagesToCheck = [
  'requests',
  'request/web',
  'request/web?tab=deploys',
  'request/web/deploy',
  'request/web/tail/stdout',
  'tasks',
  'task-search',
  'slaves',
  'utilization',
  'status',
  'disasters',
  'schedules',
  'activity',
  'crash-loops',
  'groups',
  'mail',
  'audit',
];

const token = 'a-token-of-the-first-administrator';

const provider = await OidcProvider.start();

/** One installation and one browser for all of these stories: to start them takes longer than the stories. */
describe.runIf(hasBrowser)('the dashboard in a browser', () => {
  const installation = new Installation({
    database: createDatabase,
    settings: {
      auth: {
        enabled: true,
        adminGroups: ['admins'],
        bootstrapToken: token,
        oidc: { issuer: provider.url, clientId, clientSecret, signInScopes: ['openid', 'profile', 'groups'] },
      },
      http: { contextPath: '/east' },
      ui: {
        title: 'East <1>',
        navColor: 'green',
        shellCommands: [{ name: 'jstack', description: 'threads' }],
        extraScript: '/extra.js',
      },
    },
    local: { shellCommands: [{ name: 'jstack', command: ['echo', 'threads of', '{PID}'] }] },
  });
  let muster: Instance;
  let api: Api;
  let browser: Browser;
  let signedIn: BrowserContext;
  beforeAll(async () => {
    muster = await installation.start();
    provider.serve(`${muster.api.url}/api/auth/oidc/callback`);
    await muster.leads();
    api = new Api(muster.api.url, { authorization: `Token ${token}` });
    browser = await startBrowser();
    signedIn = await signedInAs(token);
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await provider.close();
    await installation.dispose();
  }, 90_000);

  /** A browser that nobody has signed in to. It gets the script of the installation, which another server of this origin has. */
  async function visitor(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await browser.newContext(options);
    await context.route('**/extra.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: `document.documentElement.dataset.extra = 'east'` }),
    );
    return context;
  }

  /** A browser that has the cookie of a session. */
  async function signedInAs(bearer: string, options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await visitor(options);
    const { origin } = new URL(muster.api.url);
    const answer = await context.request.post(`${muster.api.url}/api/auth/session`, {
      data: { token: bearer },
      headers: { origin },
    });
    expect(answer.status()).toBe(200);
    return context;
  }
  const tokenOf = async (id: string, groups: string[]): Promise<string> =>
    (await api.post<{ token: string }>('auth/token', { user: { id, groups } })).token;
  /** What is shown of the session of a browser to its own scripts. */
  const keptIn = (page: Page) => page.evaluate<string>('document.cookie + JSON.stringify(sessionStorage)');

  /**
   * Whatever the browser complains about: broken scripts, what the content policy refuses, files that are not there. It also names each
   * call that was refused, as one that asks for what need not be there.
   */
  const complaints: string[] = [];
  const ofCalls = /^Failed to load resource|^TypeError: Failed to fetch dynamically imported module/;
  async function open(path: string, context: BrowserContext = signedIn): Promise<Page> {
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error' && !ofCalls.test(message.text())) complaints.push(message.text());
    });
    page.on('response', (response) => {
      if (response.url().includes('/static/') && !response.ok()) complaints.push(response.url());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${muster.api.url}${path}`);
    return page;
  }
  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();
  /** Dialog that asks before something is done; messages of what was done are dialogs, too. */
  const asked = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true });
  const state = (page: Page, text: string) => page.locator('.mark', { hasText: text }).first();
  const resources = { cpus: 0.1, memoryMb: 32 };
  const printing = (text: string) => `sh -c 'echo ${text}; echo ${text} >&2; exec sleep 600'`;

  test('asks for a token, says when one opens nothing, and goes on with one that does', async () => {
    const page = await open('/ui', await visitor());
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('There are no requests.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/east/ui/requests');
    await page.close();
  }, 60_000);

  test('its menu leads to the guide', async () => {
    const page = await open('/ui');
    await page.locator('summary', { hasText: 'More' }).click();
    await page.getByRole('link', { name: 'Guide', exact: true }).click();
    await heading(page, 'Documentation');
    expect(new URL(page.url()).pathname).toBe('/east/guide/');
    await page.close();
  }, 60_000);

  test('shows requests as they come, finds one by keyboard alone, and keeps filters in the address', async () => {
    const page = await open('/ui');
    await page.getByText('There are no requests.').waitFor();
    await api.post('requests', { id: 'web', requestType: 'SERVICE', instances: 1 });
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    await api.post('requests', { id: 'greet', requestType: 'ON_DEMAND' });
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    expect(await page.title()).toBe('Requests · East <1>');

    await page.getByRole('searchbox', { name: 'Search requests' }).fill('gre');
    await page.getByRole('link', { name: 'web', exact: true }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'web', exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Clear filters' }).click();

    await page.locator('h1').click();
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Find' }).waitFor();
    await page.keyboard.type('web');
    await page.getByRole('option', { name: /^web request/ }).waitFor();
    await page.keyboard.press('Enter');
    await heading(page, 'web');
    expect(await page.getByRole('combobox', { name: 'Find' }).count()).toBe(0);
    await page.close();
  }, 60_000);

  const dashboard = {
    api: () => api,
    token,
    sql: async (text: string) => {
      const client = await connect(installation.databaseUrl(), 'tests', 30_000);
      return client.query(text).finally(() => client.end());
    },
    open: (path: string) => open(path),
    apart: async (path: string) => open(path, await signedInAs(token)),
    stranger: async (path: string) => open(path, await visitor()),
    go: (page: Page, path: string) => page.goto(`${muster.api.url}${path}`),
    heading,
    asked,
    another: () => installation.start(['scheduler']),
  };
  incidentStory(dashboard);

  test('deploys from the active version, with its plan beside, and rolls back; a deploy shows what it changed', async () => {
    const page = await open('/ui/request/web?tab=deploys');
    await page.getByRole('row', { name: /v1\.rollback1 .*active/ }).waitFor();
    await page.getByRole('link', { name: 'v2', exact: true }).first().click();
    await heading(page, 'Deploy v2');
    await page.getByRole('rowheader', { name: 'command' }).waitFor();
    await page.goto(`${muster.api.url}/ui/request/web`);
    await page.getByRole('link', { name: 'Deploy', exact: true }).click();
    await heading(page, 'Deploy web');
    const form = page.locator('form');
    expect(await form.getByLabel('Id', { exact: true }).inputValue()).toBe('v1.rollback2');
    await form.getByLabel('Id', { exact: true }).fill('v2');
    await form.getByText('is the id of an earlier deploy').or(form.getByRole('alert')).first().waitFor();
    await form.getByLabel('Id', { exact: true }).fill('v3');
    await form.getByLabel('Environment, NAME=value a line').fill('COLOUR=blue');
    await form.getByRole('rowheader', { name: 'env.COLOUR' }).waitFor();
    await form.getByText('Fits now').waitFor();
    await form.getByRole('button', { name: 'Deploy', exact: true }).click();
    await heading(page, 'web');
    await api.deployEnded('web', 'v3');
    await page.getByRole('link', { name: 'v3', exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Roll back' }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll back' });
    await dialog.getByLabel('Message').fill('blue was wrong');
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await api.deployEnded('web', 'v1.rollback2');
    const { activeDeploy } = await api.request('web');
    expect([activeDeploy?.id, activeDeploy?.env]).toEqual(['v1.rollback2', undefined]);
    await page.close();
  }, 120_000);

  test('scales with a plan and takes it back, pauses and unpauses, restarts; each is in the history', async () => {
    const page = await open('/ui/request/web');
    await page.getByRole('button', { name: 'Scale', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Scale' });
    await dialog.getByLabel('Instances', { exact: true }).fill('2');
    await dialog.getByText('From 1 to 2').waitFor();
    await dialog.getByLabel('Ends after').fill('soon');
    await dialog.getByText('is no duration').waitFor();
    await dialog.getByLabel('Ends after').fill('1h');
    await dialog.getByRole('button', { name: 'Scale', exact: true }).click();
    await page.getByText('Scaled to 2, back to 1').waitFor();
    await api.running('web', 2);
    await page.getByRole('button', { name: 'Revert now' }).click();
    await page.getByText('Scaled to 2, back to 1').waitFor({ state: 'detached' });
    await api.running('web', 1);

    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await asked(page, 'Pause').getByLabel('Message').fill('for the night');
    await asked(page, 'Pause').getByRole('button', { name: 'Pause' }).click();
    await state(page, 'Paused').waitFor();
    const head = page.locator('.head');
    await head.getByRole('button', { name: 'Unpause' }).click();
    await asked(page, 'Unpause').getByRole('button', { name: 'Unpause' }).click();
    await head.getByRole('button', { name: 'Restart' }).click();
    await asked(page, 'Restart').getByRole('button', { name: 'Restart' }).click();
    await waitFor('the restart', async () => {
      const changes = await api.get<{ eventType: string }[]>('history/request/web/requests');
      return changes.some(({ eventType }) => eventType === 'BOUNCED');
    });
    await page.getByRole('link', { name: 'History', exact: true }).click();
    await page.getByRole('cell', { name: 'for the night' }).waitFor();
    await page.getByRole('cell', { name: 'bounced' }).waitFor();
    await page.close();
  }, 120_000);

  test('runs a job with arguments and shows its log as it comes', async () => {
    const args = ['-c', 'echo "Hello, $1!"; sleep 1; echo done', 'greet'];
    await api.deploy({ requestId: 'greet', id: '1', command: 'sh', arguments: args, resources });
    await api.deployEnded('greet', '1');
    const page = await open('/ui/request/greet');
    await page.getByRole('button', { name: 'Run now' }).click();
    await asked(page, 'Run now').getByLabel('Arguments, one a line').fill('Ada');
    await asked(page, 'Run now').getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL(/\/task\/greet-1-.*\/tail\/stdout/, { timeout: 60_000 });
    await page.getByRole('log').getByText('Hello, Ada!').waitFor();
    await page.getByRole('log').getByText('done').waitFor();
    await page.getByText('The task has ended').waitFor();
    await page.close();
  }, 120_000);

  test('a task: what happened, its files, its environment, and its end by a kill', async () => {
    const [task] = await api.running('web', 1);
    const { id } = task!.taskId;
    const page = await open(`/ui/task/${id}`);
    await heading(page, 'web #1');
    await state(page, 'Running').waitFor();
    await page.getByRole('link', { name: 'Files' }).click();
    await page.getByRole('link', { name: 'stdout' }).last().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page
        .getByRole('row', { name: /^stdout/ })
        .getByRole('button', { name: 'Download' })
        .click(),
    ]);
    expect(download.suggestedFilename()).toBe('stdout');
    await page.getByRole('link', { name: 'Details' }).click();
    await page.getByText(id).first().waitFor();
    await page.getByRole('button', { name: 'Kill' }).click();
    await asked(page, 'Kill').getByRole('checkbox').uncheck();
    await asked(page, 'Kill').getByRole('button', { name: 'Kill' }).click();
    await state(page, 'Killed').waitFor();
    await page.close();
  }, 90_000);

  test('machines, status and the other pages show their figures', async () => {
    const page = await open('/ui/slaves');
    await page.getByRole('heading', { name: /^Active/ }).waitFor();
    for (const [path, name, text] of [
      ['status', 'Status', 'leads'],
      ['tasks', 'Tasks', 'web-v1'],
      ['tasks?state=scheduled', 'Tasks', 'No task waits'],
      ['task-search?requestId=greet', 'Task search', '1 task'],
      ['racks', 'Racks', 'rack1'],
      ['utilization', 'Utilization', 'Machines'],
      ['disasters', 'Disasters', 'Automated actions are on'],
      ['webhooks', 'Webhooks', 'There are no webhooks'],
      ['tokens', 'Tokens', 'There are none'],
      ['audit', 'Audit', 'POST requests'],
      ['preferences', 'Preferences', 'Time zone'],
      ['requests/new', 'New request', 'Owners'],
      ['group/none', 'Group none', 'The group has no requests'],
      ['request/nothing', 'nothing', 'There is no request of this id'],
      ['nowhere/at/all', 'Not found', 'There is no page'],
    ] as const) {
      await page.goto(`${muster.api.url}/ui/${path}`);
      await heading(page, name);
      await page.getByText(text).first().waitFor();
    }
    await page.close();
  }, 120_000);

  test('makes a request by its form, which says at the field what is wrong', async () => {
    const page = await open('/ui/requests/new');
    await page.getByLabel('Id', { exact: true }).fill('not allowed!');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByLabel('Id', { exact: true }).fill('made-here');
    await page.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'made-here');
    expect((await api.request('made-here')).request.requestType).toBe('SERVICE');
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove' });
    expect(await dialog.getByRole('button', { name: 'Remove' }).isDisabled()).toBe(true);
    await dialog.getByLabel(/^Type made-here/).fill('made-here');
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('This request was removed').waitFor();
    await page.close();
  }, 60_000);

  liveStories(dashboard);
  listStories(dashboard);
  machineStories(dashboard);
  settingStories(dashboard);
  ruleStories(dashboard);
  jobStories(dashboard);
  faultStories(dashboard);
  budgetStories(dashboard);

  test.each(['light', 'dark'] as const)(
    'no page breaks a rule of accessibility that a program can find, %s',
    async (colorScheme) => {
      const context = await signedInAs(token, { colorScheme });
      const page = await open('/ui/requests', context);
      const findings = async (where: string): Promise<string[]> => {
        await page.evaluate(axe.source);
        // A menu that is open lies over the page, in none of its landmarks.
        const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
          'axe.run(document, { rules: { region: { enabled: false } } }).then((found) => found.violations)',
        );
        return violations.map(({ id, nodes }) => `${where}: ${id} at ${nodes[0]?.html.slice(0, 200)}`);
      };
      const found: string[] = [];
      for (const path of [...pagesToCheck, ...pagesOfJobs(await flowOfJobs(dashboard.api))]) {
        await page.goto(`${muster.api.url}/ui/${path}`);
        await heading(page, /./);
        found.push(...(await findings(path)));
      }
      await page.goto(`${muster.api.url}/ui/request/web`);
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Roll back' }).waitFor();
      found.push(...(await findings('a menu')));
      await page.getByRole('menuitem', { name: 'Roll back' }).click();
      await asked(page, 'Roll back').waitFor();
      found.push(...(await findings('a dialog')));
      await page.keyboard.press('Escape');
      await asked(page, 'Roll back').waitFor({ state: 'detached' });
      await page.goto(`${muster.api.url}/ui/request/hourly?tab=backfills`);
      await page.getByRole('button', { name: 'Backfill', exact: true }).click();
      await asked(page, 'Backfill').waitFor();
      found.push(...(await findings('a dialog with times')));
      await page.keyboard.press('Escape');
      await asked(page, 'Backfill').waitFor({ state: 'detached' });
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find' }).waitFor();
      found.push(...(await findings('the search')));
      expect(found).toEqual([]);
      await context.close();
    },
    120_000,
  );

  test('one signs in by a cookie that no script reads, for all tabs, and signs out of all of them', async () => {
    const context = await visitor();
    const [page, other] = [await open('/ui/requests', context), await open('/ui/status', context)];
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await other.getByRole('dialog', { name: 'Sign in' }).waitFor();
    await dialog.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await other.getByText('leads').first().waitFor();
    expect(await other.getByRole('dialog').count()).toBe(0);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: 'muster', path: '/east', httpOnly: true, sameSite: 'Strict' });
    expect(await keptIn(page)).toBe('{}');

    await page.getByRole('button', { name: 'admin: preferences' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await dialog.waitFor();
    expect(await context.cookies()).toEqual([]);
    await other.getByRole('dialog', { name: 'Sign in' }).waitFor({ timeout: 30_000 });
    await context.addCookies([cookie!]);
    await page.goto(`${muster.api.url}/ui/requests`);
    await dialog.waitFor();
    await context.close();
  }, 90_000);

  test('a session that ends under an open page: one signs in again, and goes on with what was typed', async () => {
    await api.post('requests', { id: 'typed', requestType: 'SERVICE' });
    const ending = await tokenOf('ellen', ['admins']);
    const context = await signedInAs(ending);
    const page = await open('/ui/request/typed', context);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await asked(page, 'Pause').getByLabel('Message').fill('a long story');
    await api.call('DELETE', 'auth/token/ellen');
    // Unless the page has noticed before.
    const act = asked(page, 'Pause').getByRole('button', { name: 'Pause' });
    await act.click({ timeout: 2_000 }).catch(() => undefined);
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill(token);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await asked(page, 'Pause').getByLabel('Message').inputValue()).toBe('a long story');
    await asked(page, 'Pause').getByRole('button', { name: 'Pause' }).click();
    await state(page, 'Paused').waitFor();
    await page.getByRole('button', { name: 'admin: preferences' }).waitFor();
    await page.getByRole('link', { name: 'History', exact: true }).click();
    await page.getByRole('cell', { name: 'a long story' }).waitFor();
    await context.close();
  }, 90_000);

  test('one signs in with the account at a provider, beside the page, which stays as it is', async () => {
    provider.people.set('olga', { name: 'Olga', groups: ['readers'] });
    const context = await visitor();
    const page = await open('/ui/requests?q=nothing', context);
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    const [visit] = await Promise.all([
      context.waitForEvent('page'),
      dialog.getByRole('button', { name: 'Sign in with your account' }).click(),
    ]);
    await visit.getByPlaceholder('Enter any login').fill('olga');
    await visit.getByPlaceholder('and password').fill('any');
    await visit.getByRole('button', { name: 'Sign-in' }).click();
    await Promise.all([visit.waitForEvent('close'), visit.getByRole('button', { name: 'Continue' }).click()]);
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Olga: preferences' }).waitFor();
    expect(await page.getByRole('searchbox', { name: 'Search requests' }).inputValue()).toBe('nothing');
    expect(await keptIn(page)).toBe('{}');
    await page.goto(`${muster.api.url}/ui/signed-in?problem=denied`);
    await page.getByText('The provider did not let you in').waitFor();
    await context.close();
  }, 90_000);

  test('one who may only read is offered nothing that would be refused, and is told why', async () => {
    await api.post('requests', { id: 'shown', requestType: 'SERVICE', group: 'owners', readOnlyGroups: ['readers'] });
    await api.deploy({ requestId: 'shown', id: '1', command: printing('shown'), resources });
    await api.deployEnded('shown', '1');
    const context = await signedInAs(await tokenOf('rita', ['readers']));
    const page = await open('/ui/request/shown', context);
    await heading(page, 'shown');
    await page.getByText('You may read this request and not change it').waitFor();
    /** Buttons that do something, and can be pressed. */
    const offered = async (): Promise<string[]> => {
      const acts =
        /^(Kill|Scale|Pause|Restart|Roll back|Remove|Freeze|Test|Resend|Disable|Fail over|New request|Unpause|Run now)/;
      const names = await page.getByRole('button', { name: acts, disabled: false }).allInnerTexts();
      return [...names, ...(await page.getByRole('link', { name: /^(Deploy|Edit)$/ }).allInnerTexts())];
    };
    for (const [path, shown, why] of [
      ['request/shown', 'Scale', 'You may read this request and not change it'],
      ['request/shown?tab=tasks', 'Kill', 'You may read this request and not change it'],
      ['slaves', 'Remove dead ones', 'This is for administrators'],
    ] as const) {
      await page.goto(`${muster.api.url}/ui/${path}`);
      const button = page.getByRole('button', { name: shown, exact: true, disabled: true }).first();
      await button.waitFor();
      expect(await button.getAttribute('title'), path).toBe(why);
      // Each right is asked for by itself.
      await page.getByRole('link', { name: 'Deploy', exact: true }).waitFor({ state: 'detached' });
      expect(await offered(), path).toEqual([]);
    }
    // Of many requests those are acted on that may be.
    await withAnswer(page, '**/api/auth/user', (who: object) => ({ ...who, createsRequests: false }));
    await page.goto(`${muster.api.url}/ui/requests`);
    await page.getByRole('checkbox', { name: 'Choose shown' }).check();
    const bulk = page.getByRole('region', { name: 'Chosen requests' });
    await bulk.getByText('You may read these requests and not change them').waitFor();
    expect(await offered()).toEqual([]);
    await page.getByRole('button', { name: 'New request', disabled: true }).waitFor();
    await page.getByRole('checkbox', { name: 'Choose greet' }).check();
    await bulk.getByText('Left out, because you may read and not change them: shown').waitFor();
    await bulk.getByRole('button', { name: 'Pause', exact: true, disabled: false }).click();
    await page.getByText('Pause: 1 done, 0 refused').waitFor();
    await waitFor('the pause', async () => (await api.request('greet')).state === 'PAUSED');
    await api.post('requests/request/greet/unpause', {});
    // A list of tasks of many requests asks when a person does.
    await page.goto(`${muster.api.url}/ui/tasks`);
    const row = page.getByRole('row', { name: /^shown-/ });
    await row.getByRole('button', { name: 'Kill', exact: true }).click();
    await asked(page, 'Kill').getByText('You may read this request and not change it').waitFor();
    expect(await asked(page, 'Kill').getByRole('button').allInnerTexts()).toEqual(['Close']);
    await page.goto(`${muster.api.url}/ui/audit`);
    await page.getByText('You may not do this').waitFor();
    await page.getByText('More', { exact: true }).click();
    expect(await page.getByRole('link', { name: 'Tokens' }).isVisible()).toBe(true);
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
    await context.close();
  }, 90_000);

  test('the audit trail: who did what, found by its filters, page by page', async () => {
    const page = await open('/ui/requests');
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('link', { name: 'Audit' }).click();
    await heading(page, 'Audit');
    await page.getByRole('textbox', { name: 'Request' }).fill('typed');
    await page.getByRole('row', { name: /admin .*POST requests\/request\/typed\/pause .*allowed, 200/ }).waitFor();
    await waitFor('the others to go', async () => (await page.getByRole('row', { name: /shown/ }).count()) === 0);
    await page.getByRole('textbox', { name: 'Request' }).fill('');
    await page.getByRole('button', { name: 'Refused in 24 hours' }).click();
    await page.getByRole('row', { name: /rita .*GET audit .*refused, 403/ }).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /rita .*GET audit .*refused, 403/ }).waitFor();
    expect(await page.getByRole('combobox', { name: 'Outcome' }).inputValue()).toBe('REFUSED');
    for (let left = 101; left > 0; left--) await api.post('requests', { id: 'audited', requestType: 'ON_DEMAND' });
    await page.goto(`${muster.api.url}/ui/audit?requestId=audited`);
    const rows = page.getByRole('row', { name: /audited/ });
    await waitFor('a whole page', async () => {
      await page.reload();
      await rows.first().waitFor();
      return (await rows.count()) === 100;
    });
    await page.getByRole('button', { name: 'Older' }).click();
    await waitFor('the rest', async () => (await rows.count()) === 1);
    await page.getByRole('button', { name: 'Newest' }).click();
    await waitFor('the first page', async () => (await rows.count()) === 100);
    await page.close();
  }, 90_000);

  test('of 10,000 requests it draws those on screen, and finds and sorts all of them', async () => {
    const page = await signedIn.newPage();
    const row = (id: string) => ({ state: 'ACTIVE', request: { id, requestType: 'SERVICE', instances: 1 } });
    const ids = Array.from({ length: 10_000 }, (_each, index) => `service-${String(index).padStart(5, '0')}`);
    await page.route(/\/api\/requests$/, (route) => route.fulfill({ json: ids.map(row) }));
    await page.route(/\/api\/requests\/batch/, (route) => {
      const asked = new URL(route.request().url()).searchParams.getAll('id');
      return route.fulfill({ json: { requests: asked.map(row), notFound: [] } });
    });
    await page.goto(`${muster.api.url}/ui/requests`);
    await page.getByRole('link', { name: 'service-00000' }).waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(100);
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await page.getByRole('link', { name: 'service-09999' }).waitFor();
    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('columnheader', { name: 'Request' }).getByRole('button').click();
    await page.getByRole('link', { name: 'service-09999' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search requests' }).fill('*-0123?');
    await page.getByText('10 of 10000').waitFor();
    await page.close();
  }, 60_000);

  test('addresses of older pages lead to the page that is there now', async () => {
    const page = await open('/ui/requests/active/SERVICE/web');
    await page.waitForURL(/\/east\/ui\/requests\?/);
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?state=ACTIVE&type=SERVICE&q=web');
    await page.close();
  }, 60_000);

  test('is dark where people prefer that, and nothing stands beyond the edge of a phone', async () => {
    const dark = await signedInAs(token, { colorScheme: 'dark', viewport: { width: 360, height: 740 } });
    const page = await open('/ui/requests', dark);
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(Number(/\d+/.exec(String(background))![0])).toBeLessThan(64);
    for (const path of [
      'requests',
      'request/web',
      'status',
      'tasks',
      'slaves',
      'schedules',
      'activity',
      'request/web/deploy',
      ...pagesOfJobs(await flowOfJobs(dashboard.api)),
    ]) {
      await page.goto(`${muster.api.url}/ui/${path}`);
      await heading(page, /./);
      const excess = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      expect(excess, path).toBeLessThanOrEqual(0);
    }
    await dark.close();
  }, 90_000);

  test('says so when the service does not answer, keeps what it shows, and goes on when it is back', async () => {
    expect(complaints).toEqual([]);
    const page = await open('/ui/status');
    await page.getByText('leads').first().waitFor();
    await page.route('**/api/**', (route) => route.abort());
    await page.getByText('The service does not answer').waitFor({ timeout: 30_000 });
    expect(await page.getByText('leads').first().isVisible()).toBe(true);
    await page.unroute('**/api/**');
    await page.getByText('The service does not answer').waitFor({ state: 'detached', timeout: 30_000 });
    await page.close();
  }, 90_000);
});
