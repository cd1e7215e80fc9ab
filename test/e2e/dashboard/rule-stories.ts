import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { portsOf } from '../support/api.js';
import { holdBack, resources, withAnswer, type Dashboard, type Json } from './scene.js';

/** What is done and seen on the pages of a request and of a task. */
export function ruleStories({ api, open, go, heading, asked }: Dashboard): void {
  test('notices: an alarm, a lost cluster, a service that is being deployed, and what a failure says', async () => {
    const page = await open('/ui/requests');
    await withAnswer(page, '**/api/state', (state: { hostStates: Json[] }) => ({
      ...state,
      fireAlarm: { title: 'Fire', message: 'Leave the house', url: 'https://example.com/fire' },
      hostStates: state.hostStates.map((host) => ({ ...host, clusterConnected: false })),
    }));
    await page.route('**/api/webhooks/summary', (route) => route.fulfill({ status: 502, body: '' }));
    await page.route('**/api/racks', (route) =>
      route.fulfill({
        status: 500,
        json: { status: 500, code: 'INTERNAL', message: 'The racks fell over', errors: [] },
      }),
    );
    await go(page, '/ui/webhooks');
    await page.getByText('Fire', { exact: true }).waitFor();
    await page.getByText('Leave the house').waitFor();
    await page.getByText('The leader has lost the cluster').waitFor();
    await page.getByText('The service is being deployed').first().waitFor();
    await go(page, '/ui/racks');
    await page.getByText('The racks fell over').first().waitFor();
    await page.close();
  }, 60_000);

  test('gates of a deploy: one is approved, the next one rejected, with the reason', async () => {
    await api().post('requests', { id: 'gated', requestType: 'SERVICE', instances: 2 });
    const command = 'exec sleep 600';
    await api().deploy({ requestId: 'gated', id: 'v1', command, resources });
    await api().deployEnded('gated', 'v1');
    const gates = [{ type: 'MANUAL', message: 'Is the shop quick?' }];
    const canaryDeploySettings = { enableCanaryDeploy: true, canaryCycleCount: 1, gates } as never;
    await api().deploy({ requestId: 'gated', id: 'v2', command, resources, canaryDeploySettings });
    const page = await open('/ui/request/gated/deploy/v2');
    const section = page.getByRole('region', { name: 'Gates' });
    await section.getByText('Gate 1 after step 1 waits for an answer: Is the shop quick?').waitFor({ timeout: 60_000 });
    await section.getByRole('button', { name: 'Approve' }).click();
    await asked(page, 'Approve').getByRole('button', { name: 'Approve' }).click();
    await section.getByText('Gate 1 after step 2 waits for an answer').waitFor({ timeout: 60_000 });
    await section.getByRole('button', { name: 'Reject' }).click();
    await asked(page, 'Reject').getByLabel('Message').fill('too slow');
    await asked(page, 'Reject').getByRole('button', { name: 'Reject' }).click();
    await section.getByRole('row', { name: /2.*Failed.*too slow/ }).waitFor();
    await page
      .getByRole('region', { name: 'Why it failed' })
      .getByText('Gate 1 (MANUAL) after step 2 failed')
      .waitFor();
    await page.close();
    await api().call('DELETE', 'requests/request/gated');
  }, 150_000);

  test('autoscaling: the form says at the field what is wrong, and the page why there are so many instances', async () => {
    await api().post('requests', { id: 'scaled', requestType: 'SERVICE', instances: 2 });
    await api().deploy({ requestId: 'scaled', id: 'v1', command: 'exec sleep 600', resources });
    await api().deployEnded('scaled', 'v1');
    const page = await open('/ui/requests/edit/scaled');
    await page.locator('summary').filter({ hasText: 'Autoscaling' }).click();
    await page.getByLabel('Fewest instances').fill('2');
    await page.getByLabel('Most instances', { exact: true }).fill('1');
    await page.getByLabel('Metric', { exact: true }).selectOption('MEMORY');
    await page.getByLabel('Target', { exact: true }).fill('60');
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByText(/^autoscale\.max/)
      .first()
      .waitFor();
    await page.getByLabel('Most instances', { exact: true }).fill('4');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('2 to 4 instances by MEMORY, target 60').waitFor();
    const autoscale = { min: 2, max: 4, metric: 'MEMORY', target: 60 };
    expect((await api().request('scaled')).request).toMatchObject({ autoscale });
    await page.getByText(/^Autoscaling \(2 to 4\)/).waitFor({ timeout: 60_000 });
    await page.close();
    await api().call('DELETE', 'requests/request/scaled');
  }, 150_000);

  test('endpoints of a service: addresses of tasks that get calls, and why others get none', async () => {
    await api().post('requests', { id: 'called', requestType: 'SERVICE', instances: 2 });
    const command = 'exec sleep 600';
    await api().deploy({ requestId: 'called', id: 'v1', command, resources: { ...resources, numPorts: 1 } });
    await api().deployEnded('called', 'v1');
    const page = await open('/ui/request/called');
    await page.getByRole('link', { name: 'Endpoints' }).click();
    const table = page.getByRole('region', { name: 'Endpoints', exact: true });
    const [first] = await api().activeTasks('called');
    const port = portsOf(first!)[0]!;
    await table.getByRole('cell', { name: new RegExp(`:${port}$`) }).waitFor();
    expect(await table.getByRole('row').count()).toBe(3);
    await api().call('DELETE', `tasks/task/${first!.taskId.id}`);
    await table.getByRole('cell', { name: new RegExp(`:${port}$`) }).waitFor({ state: 'detached', timeout: 60_000 });
    await api().deploy({ requestId: 'called', id: 'v2', command, resources });
    await api().deployEnded('called', 'v2');
    await page.getByRole('region', { name: 'Tasks without calls' }).getByText('no port').first().waitFor();
    await page.getByText('No task gets calls.').waitFor({ timeout: 60_000 });
    await page.close();
    await api().call('DELETE', 'requests/request/called');
  }, 150_000);

  test('stars a request on its page; it is among mine, and stars of an older dashboard are handed over once', async () => {
    const page = await open('/ui/status');
    await page.evaluate(`localStorage.setItem('starredRequests', '["greet"]')`);
    // The stars as they were before the click are told after it.
    const stars = await holdBack(page, '**/api/users/settings');
    await go(page, '/ui/request/web');
    await stars.answered;
    const starred = page.waitForResponse('**/api/users/settings/starred-requests');
    await page.getByRole('button', { name: 'Star web' }).click();
    await starred;
    stars.letGo();
    await page.locator('[aria-label="Star web"][aria-pressed="true"]').waitFor();
    await go(page, '/ui/requests?mine=true');
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    expect(await page.evaluate(`localStorage.getItem('starredRequests')`)).toBe(null);
    await page.close();
  }, 60_000);

  test('a request: health checks skipped for a while and kept so, priority, shuffling, edit, cooldown; its usage', async () => {
    const page = await open('/ui/request/web');
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await page.getByRole('menuitem', { name }).click();
      return asked(page, name);
    };
    const skip = await choose('Skip health checks');
    await skip.getByLabel('Ends after').fill('2h');
    await skip.getByRole('button', { name: 'Skip health checks' }).click();
    const notice = page.locator('.notice', { hasText: 'Health checks skipped, ends' });
    await notice.getByRole('button', { name: 'Make permanent' }).click();
    await notice.waitFor({ state: 'detached' });
    expect((await api().request('web')).request.skipHealthchecks).toBe(true);
    const use = await choose('Use health checks');
    await use.getByRole('button', { name: 'Use health checks' }).click();
    const priority = await choose('Set priority');
    await priority.getByLabel('Priority').fill('0.8');
    await priority.getByRole('button', { name: 'Set priority' }).click();
    await waitFor('the priority', async () => (await api().request('web')).request.taskPriorityLevel === 0.8);
    const shuffle = await choose('Opt out of shuffling');
    await shuffle.getByRole('button', { name: 'Opt out of shuffling' }).click();
    await waitFor('the word', () => api().get<boolean>('shuffle/blacklist/web'));

    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await heading(page, /web/);
    await page.getByLabel('Owners, one a line').or(page.getByLabel('Owners')).first().fill('ann@example.com');
    await page.reload();
    expect(await page.getByLabel('Owners, one a line').or(page.getByLabel('Owners')).first().inputValue()).toBe(
      'ann@example.com',
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await waitFor('the owner', async () => (await api().request('web')).request.owners?.[0] === 'ann@example.com');

    await withAnswer(page, '**/api/requests/request/web', (parent: Json) => ({ ...parent, state: 'SYSTEM_COOLDOWN' }));
    const calls: string[] = [];
    await page.route('**/exit-cooldown', (route) => {
      calls.push(route.request().method());
      return route.fulfill({ json: {} });
    });
    await go(page, '/ui/request/web');
    const cooldown = await choose('Exit cooldown');
    await cooldown.getByRole('button', { name: 'Exit cooldown' }).click();
    await cooldown.waitFor({ state: 'detached' });
    expect(calls).toEqual(['POST']);
    await page.close();
  }, 120_000);

  test('a deploy in progress is advanced by hand, and canceled', async () => {
    const page = await open('/ui/request/web');
    await heading(page, 'web');
    const steps = { deployInstanceCountPerStep: 1, autoAdvanceDeploySteps: false };
    const present = await api().request('web');
    await api().call('PUT', 'requests/request/web/scale', { instances: 3 });
    await api().running('web', 3);
    await api().deploy({ ...present.activeDeploy!, id: 'by_hand', ...steps });
    const progress = page.getByRole('region', { name: 'Deploy in progress' });
    await progress.getByText('waits to be advanced').waitFor({ timeout: 60_000 });
    await progress.getByRole('button', { name: 'Advance' }).click();
    await asked(page, 'Advance').getByRole('button', { name: 'Advance' }).click();
    await progress.getByText('step to 2 of 3').waitFor();
    await progress.getByRole('button', { name: 'Cancel deploy' }).click();
    await asked(page, 'Cancel deploy').getByRole('button', { name: 'Cancel deploy' }).click();
    await progress.waitFor({ state: 'detached', timeout: 60_000 });
    await api().call('PUT', 'requests/request/web/scale', { instances: 1 });
    await api().running('web', 1);
    await page.close();
  }, 150_000);

  test('a task: notes, its load balancer, health checks, usage, kept logs and shell commands', async () => {
    const [task] = await api().running('web', 1);
    const { id } = task!.taskId;
    const page = await open(`/ui/task/${id}`);
    await withAnswer(page, `**/api/history/task/${id}`, (history: Json & { task: { taskId: Json } }) => ({
      ...history,
      taskMetadata: [
        {
          taskId: history.task.taskId,
          timestamp: 1,
          type: 'note',
          title: 'Look here',
          message: 'it coughs',
          level: 'ERROR',
          user: 'ann',
        },
      ],
      loadBalancerUpdates: [
        {
          loadBalancerState: 'SUCCESS',
          timestamp: 5,
          method: 'ENQUEUE',
          loadBalancerRequestId: { id: 'web', requestType: 'ADD' },
          message: 'balanced now',
        },
      ],
      healthcheckResults: [
        {
          taskId: history.task.taskId,
          timestamp: 6,
          statusCode: 503,
          durationMillis: 12,
          responseBody: 'not yet',
          startup: false,
        },
      ],
    }));
    await page.route(`**/api/logs/task/${id}`, (route) =>
      route.fulfill({
        json: [
          {
            key: 'web/stdout.gz',
            size: 2_048,
            lastModified: 7,
            getUrl: 'https://example.com/log',
            objstoreBucket: 'logs',
          },
        ],
      }),
    );
    await page.reload();
    await page.locator('.notice.bad', { hasText: 'Look here' }).getByText('it coughs').waitFor();
    await page.getByText('web/stdout.gz').waitFor();
    await page.getByText('balanced now').waitFor();
    await page.getByRole('link', { name: 'Health', exact: true }).click();
    await page.getByRole('row', { name: /503.*not yet/ }).waitFor();
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page
      .getByText(/Memory/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Commands', exact: true }).click();
    await page.getByRole('button', { name: 'Run a command' }).click();
    await asked(page, 'Run a command').getByLabel('Command').selectOption('jstack');
    await asked(page, 'Run a command').getByRole('button', { name: 'Run a command' }).click();
    const ran = page.getByRole('row', { name: /jstack.*finished/ });
    await ran.getByRole('link', { name: /jstack/ }).click({ timeout: 60_000 });
    await page
      .getByRole('log')
      .getByText(/^threads of \d+$/)
      .waitFor();
    await page.close();
  }, 90_000);

  test('logs of several tasks side by side and merged, one closed, another alone; a file that is not there', async () => {
    await api().call('PUT', 'requests/request/web/scale', { instances: 2 });
    const [first] = await api().running('web', 2);
    const page = await open('/ui/request/web/tail/stdout');
    await waitFor('two logs', async () => (await page.getByRole('log').count()) === 2);
    await page.getByRole('button', { name: 'Merged by time' }).click();
    await waitFor('one log of both', async () => (await page.getByRole('log').count()) === 1);
    await page.getByRole('button', { name: 'Side by side' }).click();
    await page
      .getByRole('button', { name: /^Close web-/ })
      .first()
      .click();
    await waitFor('one log', async () => (await page.getByRole('log').count()) === 1);
    await go(page, `/ui/task/${first!.taskId.id}/tail/nothing-here`);
    await page.getByText('There is no nothing-here').waitFor();
    await go(page, `/ui/request/web/instance/1`);
    await page.waitForURL(/\/task\/web-/);
    await api().call('PUT', 'requests/request/web/scale', { instances: 1 });
    await api().running('web', 1);
    await page.close();
  }, 120_000);

  test('webhooks are added and removed, an action is switched off and on again, and the search has pages', async () => {
    const page = await open('/ui/webhooks');
    await page.getByRole('button', { name: 'Add a webhook' }).click();
    await asked(page, 'Add a webhook').getByLabel('Address').fill('http://127.0.0.1:9/hook');
    await asked(page, 'Add a webhook').getByRole('button', { name: 'Add a webhook' }).click();
    await page.getByText('http://127.0.0.1:9/hook').first().waitFor();
    for (const { id } of await api().get<{ id: string }[]>('webhooks'))
      await api().call('DELETE', `webhooks/${encodeURIComponent(id)}`);
    await api().post('disasters/disabled-actions/BOUNCE_REQUEST', { message: 'not today' });
    await go(page, '/ui/disasters');
    await page.getByText('1 action is switched off: bounce request').waitFor();
    await page.getByText('not today').first().waitFor();
    await api().call('DELETE', 'disasters/disabled-actions/BOUNCE_REQUEST');
    await go(page, '/ui/task-search?requestId=web&count=10');
    await page.getByRole('combobox', { name: 'Rows a page' }).selectOption('25');
    await page.waitForURL(/count=25/);
    await page.getByRole('button', { name: 'Failed in 24 hours' }).click();
    await page.waitForURL(/lastTaskStatus=TASK_FAILED/);
    await page
      .getByRole('row', { name: /web-v2/ })
      .first()
      .waitFor();
    await page.locator('summary', { hasText: 'More' }).click();
    expect(await page.getByRole('link', { name: 'API documents' }).getAttribute('href')).toContain('/docs');
    await page.close();
  }, 90_000);
}
