import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { resources, withAnswer, withView, type Dashboard, type Json } from './scene.js';

/** Ages, or times by the clock: kept for all pages of a browser. */
async function timesAs(page: Page, choice: string): Promise<void> {
  await page.getByRole('button', { name: /: preferences$/ }).click();
  await page.getByRole('menuitem', { name: choice }).click();
}

/** What the settings of the installation drive, and who is taken to call. */
export function settingStories({ api, token, open, apart, stranger, go, heading, asked }: Dashboard): void {
  test('what the settings say drives the page: other clusters, links, names of hosts, logs, hidden buttons, colours', async () => {
    const page = await open('/ui/slaves');
    await withView(page, {
      navTitleLinks: JSON.stringify([{ title: 'West', linkFormat: 'http://127.0.0.1:9{CURRENT_PATH}' }]),
      quickLinks: JSON.stringify({
        request: { ALL: [{ title: 'Graphs', linkFormat: 'https://example.com/{{request.id}}' }] },
      }),
      commonHostnameSuffixToOmit: 'host',
      runningTaskLogPath: 'stderr',
      lessTerminalPath: 'https://example.com/less/$TASK',
      hideNewDeployButton: true,
      hideNewRequestButton: true,
    });
    await go(page, '/ui/tasks');
    await page.getByRole('link', { name: 'local', exact: true }).first().waitFor();
    expect(await page.locator('body.env-color-green').count()).toBe(1);
    await page.getByRole('button', { name: 'Other clusters' }).click();
    await page.getByRole('menuitem', { name: 'West' }).waitFor();
    await page.keyboard.press('Escape');
    await go(page, '/ui/request/web');
    await heading(page, 'web');
    expect(await page.getByRole('link', { name: 'Graphs' }).getAttribute('href')).toBe('https://example.com/web');
    expect(await page.getByRole('link', { name: 'Deploy', exact: true }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Edit', exact: true }).count()).toBe(0);
    const log = page.getByRole('region', { name: 'Running tasks' }).getByRole('link', { name: 'stderr' }).first();
    expect(await log.getAttribute('href')).toMatch(/\/tail\/stderr$/);
    await log.click();
    await page.getByRole('link', { name: 'In a terminal' }).waitFor();
    await page.close();
  }, 60_000);

  test('times are ages with the exact time beside, in the zone of the address, or by the clock where that is preferred', async () => {
    const page = await open('/ui/request/web?tz=Asia/Tokyo');
    await heading(page, 'web');
    await waitFor('a time of Tokyo', async () => {
      const titles = await page
        .locator('time')
        .evaluateAll((all) => all.map((each) => each.getAttribute('title') ?? ''));
      return titles.some((title) => title.endsWith('+09:00'));
    });
    await timesAs(page, 'Times by the clock');
    await page
      .getByText(/\+09:00/)
      .first()
      .waitFor();
    await timesAs(page, 'Times as ages');
    await page.close();
  }, 60_000);

  test('what the settings say stands in forms, dialogs, tables and names, and the log of a task is where it is while it runs', async () => {
    const page = await open('/ui/slaves');
    await withView(page, {
      defaultCpus: 3,
      defaultMemory: 77,
      defaultDisk: 88,
      defaultHealthcheckIntervalSeconds: 17,
      defaultHealthcheckTimeoutSeconds: 18,
      defaultStartupTimeoutSeconds: 19,
      defaultHealthcheckMaxRetries: 20,
      defaultBounceExpirationMinutes: 42,
      loadBalancingEnabled: true,
      showTaskDiskResource: false,
      shortenSlaveUsageHostname: true,
      runningTaskLogPath: 'logs/$TASK_ID.now',
      finishedTaskLogPath: 'logs/$TASK_ID.then',
      taskS3LogOmitPrefix: 'kept/',
      timestampFormat: '[on day] DD',
      timestampWithSecondsFormat: '[at second] ss',
      apiDocs: '/elsewhere/docs',
    });
    await go(page, '/ui/request/web/deploy');
    await heading(page, 'Deploy web');
    const placeholders = await page
      .locator('form input[placeholder]')
      .evaluateAll((all) => all.map((each) => each.getAttribute('placeholder')));
    expect(placeholders).toEqual(expect.arrayContaining(['3', '77', '88', '17', '18', '19', '20']));
    expect(await page.getByText('Load balancer').count()).toBeGreaterThan(0);

    await go(page, '/ui/request/web');
    await page.locator('.head').getByRole('button', { name: 'Restart' }).click();
    await asked(page, 'Restart').getByText('42 minutes').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('time[title^="at second"]').first().waitFor();
    await page.locator('summary', { hasText: 'More' }).click();
    expect(await page.getByRole('link', { name: 'API documents' }).getAttribute('href')).toBe('/elsewhere/docs');

    const { activeDeploy } = await api().request('web');
    await go(page, `/ui/request/web/deploy/${activeDeploy!.id}`);
    const logOf = (table: string) =>
      page.getByRole('region', { name: table }).getByRole('link', { name: 'log' }).first().getAttribute('href');
    expect(await logOf('Running tasks')).toMatch(/\/tail\/logs\/web-.*\.now$/);
    await go(page, '/ui/request/web/deploy/v2');
    expect(await logOf('Ended tasks')).toMatch(/\/tail\/logs\/web-.*\.then$/);
    await go(page, '/ui/task-search?requestId=web&count=100');
    const rowLog = (state: string) =>
      page.getByRole('row', { name: state }).first().getByRole('link', { name: 'log' }).getAttribute('href');
    expect(await rowLog('Failed')).toMatch(/\.then$/);

    const [task] = await api().running('web', 1);
    const { id } = task!.taskId;
    const kept = { key: 'kept/web.gz', size: 1, lastModified: 7, objstoreBucket: 'logs' };
    await page.route(`**/api/logs/task/${id}`, (route) => route.fulfill({ json: [kept] }));
    await go(page, `/ui/task/${id}`);
    await page.getByText('web.gz', { exact: true }).waitFor();
    await withAnswer(page, '**/api/slaves', (slaves: Json[]) =>
      slaves.map((slave) => ({ ...slave, host: 'one.example.com' })),
    );
    await go(page, '/ui/utilization');
    await page.getByRole('link', { name: 'one', exact: true }).waitFor();
    await page.getByText('Memory').first().waitFor();
    expect(await page.getByText(/\bdisk\b/i).count()).toBe(0);
    await timesAs(page, 'Times by the clock');
    await go(page, `/ui/task/${id}`);
    await page
      .getByText(/^on day \d\d$/)
      .first()
      .waitFor();
    await timesAs(page, 'Times as ages');
    await page.close();
  }, 90_000);

  test('a script of the installation runs in the page, and a scheduled run beyond the limit of the settings is told', async () => {
    const id = 'nightly';
    await api().post('requests', { id, requestType: 'SCHEDULED', schedule: '0 0 1 1 *' });
    await api().deploy({ requestId: id, id: '1', command: 'sleep 600', resources });
    await api().deployEnded(id, '1');
    await api().post(`requests/request/${id}/run`, {});
    const [run] = await api().running(id, 1);
    const page = await open('/ui/slaves');
    await page.locator('html[data-extra="east"]').waitFor();
    await withAnswer(page, `**/api/history/request/${id}/deploy/1*`, (deploy: Json) => ({
      ...deploy,
      deployStatistics: { ...(deploy['deployStatistics'] as Json), averageRuntimeMillis: 10 },
    }));
    await withView(page, { warnIfScheduledJobIsRunningPastNextRunPct: 100 });
    await go(page, `/ui/task/${run!.taskId.id}`);
    await page.getByText(/^It runs longer than usual: .*, on average/).waitFor();
    await page.unroute('**/ui/**');
    await withView(page, { warnIfScheduledJobIsRunningPastNextRunPct: 1e9 });
    const known = page.waitForResponse(`**/api/history/request/${id}/deploy/1*`);
    await go(page, `/ui/task/${run!.taskId.id}`);
    await known;
    await page.getByRole('link', { name: id, exact: true }).first().waitFor();
    expect(await page.getByText('It runs longer than usual').count()).toBe(0);
    await api().call('DELETE', `requests/request/${id}`);
    await page.close();
  }, 60_000);

  test('where the service asks for no proof one gives a name, which goes with each call and stays', async () => {
    const page = await apart('/ui/status');
    await withAnswer(page, '**/api/auth/user', ({ sessionEndsAt: _none, ...who }: Json) => ({
      ...who,
      authEnabled: false,
    }));
    const named = () =>
      page.waitForRequest((request) => new URL(request.url()).searchParams.get('user') === 'ann', { timeout: 30_000 });
    await page.reload();
    await page.getByRole('button', { name: /: preferences$/ }).click();
    await page.getByRole('menuitem', { name: 'Sign in' }).click();
    await asked(page, 'Who are you?').getByLabel('Name').fill('ann');
    await Promise.all([named(), page.keyboard.press('Enter')]);
    await asked(page, 'Who are you?').waitFor({ state: 'detached' });
    await Promise.all([named(), page.reload()]);
    await page.getByRole('button', { name: 'ann: preferences' }).waitFor();
    await page.context().close();
  }, 60_000);

  test('a token in a cookie of the organization is sent; without one the page sends people to where they sign in, once', async () => {
    const page = await stranger('/ui/preferences');
    await withView(page, {
      generateAuthHeader: true,
      authCookieName: 'sso',
      authTokenKey: 'proof',
      redirectOnUnauthorizedUrl: 'https://example.com/sign-in?back={URL}',
    });
    await page.route('https://example.com/**', (route) => route.fulfill({ body: 'Who are you?' }));
    await go(page, '/ui/status');
    await page.waitForURL(/^https:\/\/example\.com\/sign-in/);
    expect(new URL(page.url()).searchParams.get('back')).toMatch(/\/east\/ui\/status$/);
    await go(page, '/ui/status');
    await asked(page, 'Sign in').waitFor();

    const proof = encodeURIComponent(JSON.stringify({ proof: token }));
    await page.context().addCookies([{ name: 'sso', value: proof, url: api().url }]);
    await go(page, '/ui/status');
    await page.getByText('leads').first().waitFor();
    await page.getByRole('button', { name: 'admin: preferences' }).waitFor();
    await page.context().close();
  }, 60_000);
}
