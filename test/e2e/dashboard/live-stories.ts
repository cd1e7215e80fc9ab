import type { Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { holdBack, resources, type Dashboard } from './scene.js';

/** What is shown as it happens, and pages about what is to come, what goes on and what waits. */
export function liveStories({ api, open, go, heading, asked }: Dashboard): void {
  test('schedules: a lane for each with its runs, as a table too, alone, for a week, and run now from it', async () => {
    const page = await open('/ui/schedules');
    await page.getByText('No schedule runs in this time').waitFor();
    await api().post('requests', { id: 'every-hour', requestType: 'SCHEDULED', schedule: '0 * * * *' });
    await api().deploy({ requestId: 'every-hour', id: '1', command: 'true', resources });
    const lane = page.getByRole('group', { name: /^every-hour: 1[78] planned/ });
    await lane.waitFor();
    await page.getByText('As a table').click();
    await page.getByRole('cell', { name: 'UTC' }).first().waitFor();
    await page.getByRole('button', { name: '7 days' }).click();
    await page.getByRole('group', { name: /^every-hour: 12[56] planned/ }).waitFor();
    expect(new URL(page.url()).search).toBe('?span=7d');
    await page.getByRole('button', { name: 'Later' }).click();
    await page.waitForURL(/from=\d+&to=\d+/);
    await go(page, '/ui/schedules?requestId=every-hour');
    await page.getByRole('button', { name: 'Actions of every-hour' }).click();
    await page.getByRole('menuitem', { name: 'Run now' }).click();
    await asked(page, 'Run now').getByLabel('Afterwards').selectOption('stay');
    await asked(page, 'Run now').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('group', { name: /^every-hour: 1 done, 1[78] planned/ }).waitFor({ timeout: 60_000 });
    await page.close();
  }, 120_000);

  test('tasks that wait come and go by themselves, each with its reason in its row', async () => {
    const page = await open('/ui/tasks?state=scheduled&q=picky');
    await page.getByText('No task waits').waitFor();
    const requiredSlaveAttributes = { gpu: 'yes' };
    await api().post('requests', { id: 'picky', requestType: 'SERVICE', instances: 1, requiredSlaveAttributes });
    await api().deploy({ requestId: 'picky', id: '1', command: 'true', resources });
    await page.getByRole('row', { name: /picky.*1 without the right attributes/ }).waitFor();
    const request = await open('/ui/request/picky');
    await request
      .getByRole('region', { name: 'Why it waits' })
      .getByText('without the right attributes')
      .first()
      .waitFor();
    await request.getByRole('region', { name: 'Deploy in progress' }).waitFor();
    await api().call('DELETE', 'deploys/deploy/1/request/picky');
    await request.getByRole('region', { name: 'Deploy in progress' }).waitFor({ state: 'detached' });
    await page.getByText('No task waits').waitFor();
    await api().call('DELETE', 'requests/request/picky');
    await request.close();
    await page.close();
  }, 90_000);

  test('a task that starts is shown with what it waits for', async () => {
    await api().post('requests', { id: 'prepares', requestType: 'SERVICE' });
    const tasks = { init: [{ name: 'fetch-model', command: 'sleep 1000' }] };
    await api().deploy({ requestId: 'prepares', id: '1', command: 'sleep 1000', resources, tasks });
    const page = await open('/ui/request/prepares');
    const why = page.getByRole('region', { name: 'Why it waits' });
    await why.getByText(/Instance 1 is starting since .*: Staging files/).waitFor({ timeout: 60_000 });
    await why.getByText(/fetch-model runs/).waitFor();
    await api().call('DELETE', 'requests/request/prepares');
    await page.close();
  }, 90_000);

  test('a page that nobody touches asks for the state of the cluster alone, and hears of the rest', async () => {
    const page = await open('/ui/status');
    await page.clock.install();
    let asked: string[] = [];
    const unanswered = new Set<Request>();
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      const path = pathname.replace(/^.*\/api\//, '');
      if (path === pathname || path === 'events') return;
      asked.push(path);
      unanswered.add(request);
    });
    page.on('requestfinished', (request) => unanswered.delete(request));
    page.on('requestfailed', (request) => unanswered.delete(request));
    const others = () => asked.filter((path) => !/^(state|disasters\/.*)$/.test(path));
    const tasks = await holdBack(page, '**/api/history/request/web/tasks/active');
    await go(page, '/ui/request/web');
    await heading(page, 'web');
    await page.getByText('live').first().waitFor();
    await tasks.answered;
    // Buttons that come late ask no more than those that were there: the page knows who calls.
    await page.clock.runFor(5_000);
    asked = [];
    tasks.letGo();
    await page.getByRole('button', { name: 'Kill', exact: true }).first().waitFor();
    expect(asked).not.toContain('auth/user');
    // What the stories before have left to be read.
    await waitFor('all that has happened to be read', async () => {
      asked = [];
      await page.clock.runFor(15_000);
      await waitFor('the answers', () => unanswered.size === 0);
      return others().length === 0;
    });
    asked = [];
    await page.clock.runFor(60_000);
    await waitFor('the state', () => asked.includes('state'));
    expect(others()).toEqual([]);
    await page.close();
  }, 60_000);

  test('saves a view under a name and starts with it, until it starts there no more', async () => {
    const page = await open('/ui/requests?state=failing');
    await heading(page, 'Requests');
    await page.getByRole('button', { name: 'View', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Save view' }).click();
    const dialog = asked(page, 'Save view');
    await dialog.getByRole('button', { name: 'Save view' }).click();
    await dialog.getByText('A view needs a name').waitFor();
    await dialog.getByLabel('Name').fill('what is red');
    await dialog.getByRole('checkbox', { name: 'Start here' }).check();
    await dialog.getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('link', { name: 'what is red' }).waitFor();
    const other = await open('/ui/');
    await other.waitForURL(/\/requests\?state=failing$/);
    await other.getByRole('button', { name: 'View', exact: true }).click();
    await other.getByRole('menuitem', { name: 'Remove what is red' }).click();
    await asked(other, 'Remove what is red').getByRole('button', { name: 'Remove what is red' }).click();
    await other.getByRole('link', { name: 'what is red' }).waitFor({ state: 'detached' });
    // The page shows it before the service has said so.
    await expect.poll(() => api().get('users/settings')).toMatchObject({ preferences: { dashboard: { views: [] } } });
    await go(other, '/ui/');
    await other.waitForURL(/\/requests$/);
    await other.close();
    await page.close();
  }, 60_000);

  test('activity tells what happens as it happens, of one request or one kind, pauses, and shows what is kept', async () => {
    const page = await open('/ui/activity?requestId=web');
    await heading(page, 'Activity');
    await page.getByText('live').first().waitFor();
    await api().post('requests/request/web/pause', { message: 'told to all', killTasks: false });
    await page.getByRole('row', { name: /request web.*paused: told to all/ }).waitFor();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await api().post('requests/request/web/unpause', {});
    await page.getByRole('button', { name: /^Go on \([1-9]/ }).click();
    await page.getByRole('row', { name: /request web.*unpaused/ }).waitFor();
    await page.getByRole('combobox', { name: 'Type' }).selectOption('DEPLOY');
    await page.getByRole('button', { name: 'Show what is kept' }).click();
    await page.getByRole('row', { name: /deploy web v2.*deploy v2 failed/ }).waitFor();
    await page.close();
  }, 60_000);

  test('makes a group of requests, changes it, and removes it', async () => {
    const page = await open('/ui/groups');
    await page.getByText('No group was made').waitFor();
    await page.getByRole('button', { name: 'Make group' }).click();
    const made = asked(page, 'Make group');
    await made.getByLabel('Id', { exact: true }).fill('shop');
    await made.getByLabel('Requests, one a line').fill('web\nnever-there');
    await made.getByLabel('Notes, NAME=value a line').fill('owner=ann');
    await made.getByRole('button', { name: 'Make group' }).click();
    await heading(page, 'Group shop');
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    await page.getByText('Removed: never-there').waitFor();
    await page.getByRole('button', { name: 'Change group' }).click();
    await asked(page, 'Change group').getByLabel('Requests, one a line').fill('web\ngreet');
    await asked(page, 'Change group').getByRole('button', { name: 'Change group' }).click();
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    expect(await api().get('groups/group/shop')).toMatchObject({
      requestIds: ['web', 'greet'],
      metadata: { owner: 'ann' },
    });
    await page.getByRole('button', { name: 'Change group' }).click();
    const windows = [{ from: Date.UTC(2040, 0, 1), to: Date.UTC(2040, 0, 2) }];
    await asked(page, 'Change group').getByLabel('Deploys start only in these windows').fill(JSON.stringify(windows));
    await asked(page, 'Change group').getByRole('button', { name: 'Change group' }).click();
    await page.getByText('2040-01-01T00:00:00Z to 2040-01-02T00:00:00Z').waitFor();
    expect(await api().get('groups/group/shop')).toMatchObject({ metadata: { owner: 'ann' }, deployWindows: windows });
    await go(page, '/ui/request/web');
    await page.getByText("within the deployWindows of group 'shop' only; the next one opens at 2040-01-01").waitFor();
    await go(page, '/ui/group/shop');
    await page.getByRole('button', { name: 'Remove group' }).click();
    await asked(page, 'Remove group').getByRole('button', { name: 'Remove group' }).click();
    await page.getByText('No group was made').waitFor();
    await page.close();
  }, 60_000);

  test('mail: who has subscribed and who wants none, moved from one to the other', async () => {
    const page = await open('/ui/mail');
    await page.getByText('Nobody has subscribed').waitFor();
    await page.getByRole('button', { name: 'Subscribe', exact: true }).click();
    const dialog = asked(page, 'Subscribe');
    await dialog.getByLabel('Address').fill('nobody');
    await dialog.getByRole('button', { name: 'Subscribe' }).click();
    await dialog.getByText('is not an e-mail address').waitFor();
    await dialog.getByLabel('Address').fill('ann@example.com');
    await dialog.getByRole('button', { name: 'Subscribe' }).click();
    const subscribed = page.getByRole('region', { name: 'Subscribed' });
    await subscribed.getByRole('button', { name: 'Unsubscribe' }).click();
    await asked(page, 'Unsubscribe').getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('region', { name: 'Want no mail' }).getByText('ann@example.com').waitFor();
    expect(await api().get('notifications/allowlist')).toEqual([]);
    await page.close();
  }, 60_000);

  test('crash loops: since when, in which way, their failures on the time axis and the last lines', async () => {
    const page = await open('/ui/crash-loops');
    await page.getByText('No deploy is in a crash loop').waitFor();
    const { tasks, start } = await failuresOf(api(), 'web', 'v2');
    const loop = { requestId: 'web', deployId: 'v2', type: 'STARTUP_FAILURE_LOOP', start };
    await page.route('**/api/requests/crashloops', (route) => route.fulfill({ json: { web: [loop] } }));
    await page.reload();
    const section = page.getByRole('region', { name: 'web: startup failure loop' });
    await section.getByText('Failures and the last lines').click();
    await section.getByRole('img', { name: `${tasks} failure${tasks === 1 ? '' : 's'} on the time axis` }).waitFor();
    await section.getByText('cannot open the door').waitFor();
    await page.close();
  }, 60_000);
}

interface Ended {
  taskId: { startedAt: number };
}

/** How many tasks of the deploy have failed, and when the first of them began. */
async function failuresOf(api: ReturnType<Dashboard['api']>, requestId: string, deployId: string) {
  const path = `history/request/${requestId}/deploy/${deployId}/tasks/inactive`;
  const ended = (await api.get<(Ended & { lastTaskState: string })[]>(path)).filter(
    ({ lastTaskState }) => lastTaskState === 'TASK_FAILED',
  );
  return { tasks: ended.length, start: Math.min(...ended.map(({ taskId }) => taskId.startedAt)) };
}
