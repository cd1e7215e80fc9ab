import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { resources, type Dashboard, type Json } from './scene.js';

const hourMillis = 3_600_000;

/** Pages that these stories leave with something on them. */
export const pagesOfJobs = (flowId: string): readonly string[] => [
  `flows/${flowId}`,
  'request/join?tab=flow',
  'request/hourly?tab=backfills',
  'requests/edit/hourly',
  'requests/edit/join',
  'request/hourly',
];

/** The flow that they leave. */
export async function flowOfJobs(api: Dashboard['api']): Promise<string> {
  const { requests } = await api().get<{ requests: { requestId: string; lastRun?: { flowId: string } }[] }>(
    'requests/request/join/flow',
  );
  return requests.find(({ requestId }) => requestId === 'join')!.lastRun!.flowId;
}

/** Runs that follow others, times that are run later, and what a request says of both. */
export function jobStories({ api, open, go, heading, asked }: Dashboard): void {
  const job = async (request: Json & { id: string }, command: string): Promise<void> => {
    await api().post('requests', { requestType: 'ON_DEMAND', ...request });
    await api().deploy({ requestId: request.id, id: '1', command, resources });
    await api().deployEnded(request.id, '1');
  };
  const follows = (...parents: string[]) => parents.map((requestId) => ({ requestId, on: 'SUCCESS' }));
  const openGroup = (page: Page, title: string) => page.locator('summary', { hasText: title }).click();

  test('a flow: who follows whom, its runs as they come, and by keyboard alone it is run again from the one that failed', async () => {
    await job({ id: 'load' }, 'echo loaded');
    await job({ id: 'left', after: follows('load') }, 'true');
    await job({ id: 'right', after: follows('load') }, 'exit 3');
    await job({ id: 'join', after: follows('left', 'right') }, 'echo joined; exec sleep 1');
    const page = await open('/ui/request/join');
    await page.getByText('success of left, success of right').waitFor();
    await page.getByRole('link', { name: 'Flow', exact: true }).click();
    const steps = page.getByRole('list', { name: 'Requests in steps' });
    await steps.getByText('after success of left, success of right').waitFor();
    expect(await steps.getByText('No run in a flow yet').count()).toBe(4);
    await page.getByText('live').first().waitFor();
    await api().post('requests/request/load/run', {});
    const right = steps.locator('.step', { hasText: 'after success of load' }).filter({ hasText: 'right' });
    await right.getByText('Failed').waitFor();
    await right.getByRole('link', { name: 'flow' }).click();
    await heading(page, 'Flow of load');
    await page.getByRole('row', { name: /^left Succeeded/ }).waitFor();
    await page.getByRole('row', { name: /^right Failed/ }).waitFor();
    expect(await page.getByRole('row', { name: /^join/ }).count()).toBe(0);

    await api().deploy({ requestId: 'right', id: '2', command: 'true', resources });
    await api().deployEnded('right', '2');
    await page
      .getByRole('row', { name: /^right Failed/ })
      .getByRole('button', { name: 'Run again from here' })
      .focus();
    await page.keyboard.press('Enter');
    const dialog = asked(page, 'Run again from here');
    await dialog.getByRole('listitem').filter({ hasText: 'join' }).waitFor();
    expect(await dialog.getByRole('listitem').allInnerTexts()).toEqual(['right', 'join']);
    await dialog.getByLabel('Message').focus();
    await page.keyboard.type('mended');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^join Succeeded after/ }).waitFor({ timeout: 60_000 });
    await page.getByRole('row', { name: /^right Succeeded run now/ }).waitFor();
    // What was run again counts no more.
    await page.locator('.head').getByText('Failed').waitFor({ state: 'detached' });
    await page
      .getByRole('row', { name: /^join Succeeded/ })
      .getByRole('link', { name: 'log', exact: true })
      .click();
    await page.getByRole('log').getByText('joined').waitFor();

    await go(page, '/ui/request/right?tab=tasks');
    const ended = page.getByRole('region', { name: 'Ended tasks' });
    await ended.getByRole('row', { name: /Finished .*run now flow/ }).waitFor();
    await ended
      .getByRole('row', { name: /Failed .*after flow/ })
      .getByRole('link', { name: 'flow' })
      .click();
    await heading(page, 'Flow of load');
    await page
      .getByRole('row', { name: /^right Failed/ })
      .getByRole('link', { name: /^right-1-/ })
      .click();
    await page.getByText('after flow').waitFor();
    await go(page, '/ui/flows/none');
    await heading(page, 'Not found');

    await go(page, '/ui/request/left');
    await page.getByRole('button', { name: 'Run now' }).click();
    await asked(page, 'Run now').getByRole('checkbox', { name: 'No run follows it' }).check();
    await asked(page, 'Run now').getByLabel('Afterwards').selectOption('stay');
    await asked(page, 'Run now').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('row', { name: /Finished .*run now(?! flow)/ }).waitFor();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    const remove = asked(page, 'Remove');
    await remove.getByLabel(/^Type left/).fill('left');
    await remove.getByRole('button', { name: 'Remove' }).click();
    await remove.getByRole('alert').getByText('join').waitFor();
    await page.keyboard.press('Escape');
    await page.close();
  }, 180_000);

  test('a backfill: how many times it has is told before, its progress as it comes, canceled, and run with all of them', async () => {
    // Far from now, so that the schedule itself makes no run meanwhile.
    const minute = (new Date().getUTCMinutes() + 40) % 60;
    await job({ id: 'hourly', requestType: 'SCHEDULED', schedule: `${minute} * * * *` }, 'exec sleep 600');
    const page = await open('/ui/request/hourly?tab=backfills&tz=UTC');
    await page.getByText('No planned times of the past were run again').waitFor();
    const begin = async (more: { to?: number; force?: boolean }) => {
      await page.getByRole('button', { name: 'Backfill', exact: true }).click();
      const dialog = asked(page, 'Backfill');
      const hour = Math.floor(Date.now() / hourMillis) * hourMillis;
      const field = (at: number) => new Date(at).toISOString().slice(0, 16);
      await dialog.getByLabel('From (UTC)').fill(field(hour - 3 * hourMillis));
      await dialog.getByLabel('Before (UTC)').fill(field(more.to ?? hour));
      if (more.force) await dialog.getByRole('checkbox', { name: 'Run times again that have had a run' }).check();
      return dialog;
    };
    const ahead = await begin({ to: Date.now() + 2 * hourMillis });
    await ahead.getByRole('button', { name: 'Backfill' }).click();
    await ahead.getByText('to must not be in the future').first().waitFor();
    await page.keyboard.press('Escape');

    const slow = await begin({});
    await slow.getByText('It makes 3 runs.').waitFor();
    await slow.getByLabel('Order').selectOption('NEWEST_FIRST');
    await slow.getByLabel('Message').fill('the disk was full');
    await slow.getByRole('button', { name: 'Backfill' }).click();
    const first = page.getByRole('region', { name: /^Backfill / }).filter({ hasText: 'the disk was full' });
    await first.getByText('2 waiting, 1 waiting or active').waitFor();
    const [task] = await waitFor('its first run', async () => {
      const tasks = await api().activeTasks('hourly');
      return tasks.length === 1 ? tasks : undefined;
    });
    const parts = page.getByRole('navigation', { name: 'Parts of hourly' });
    await parts.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page
      .getByRole('region', { name: 'Running tasks' })
      .getByRole('row', { name: /Running .*backfill/ })
      .waitFor();
    await page.getByRole('link', { name: 'Backfills', exact: true }).click();
    // Another page hears of it, though no task changes.
    const other = await open('/ui/request/hourly?tab=backfills&tz=UTC');
    await other.getByText('2 waiting, 1 waiting or active').waitFor();
    await other.getByText('live').first().waitFor();
    await first.getByRole('button', { name: 'Cancel backfill' }).click();
    await asked(page, 'Cancel backfill').getByRole('button', { name: 'Cancel backfill' }).click();
    await first.getByText('Being canceled').waitFor();
    await first.getByText('1 waiting or active, 2 canceled').waitFor();
    await other.getByText('1 waiting or active, 2 canceled').waitFor();
    await other.close();
    await api().call('DELETE', `tasks/task/${task!.taskId.id}`);
    await first.getByText('1 failed, 2 canceled').waitFor({ timeout: 60_000 });

    await api().deploy({ requestId: 'hourly', id: '2', command: 'true', resources });
    await api().deployEnded('hourly', '2');
    const again = await begin({ force: true });
    await again.getByLabel('Runs at a time').fill('3');
    await again.getByRole('button', { name: 'Backfill' }).click();
    const second = page.getByRole('region', { name: /^Backfill / }).filter({ hasText: '3 at a time' });
    await second.getByText('3 succeeded').waitFor({ timeout: 60_000 });
    await second.getByText('Times', { exact: true }).click();
    await waitFor('its times', async () => (await second.getByRole('row', { name: /Succeeded/ }).count()) === 3);
    await second.getByRole('link', { name: 'log' }).first().click();
    await page.getByRole('log').waitFor();
    await page.close();
  }, 180_000);

  test('the form of a request: its next times beside it, and all that it says of times, failures and limits', async () => {
    const page = await open('/ui/requests/new?tz=UTC');
    await page.getByLabel('Type', { exact: true }).selectOption('SCHEDULED');
    const times = page.getByRole('complementary', { name: 'Next runs' });
    await times.getByText('Write a schedule to see its times').waitFor();
    await page.getByLabel('Id', { exact: true }).fill('rich');
    await page.getByLabel('Schedule', { exact: true }).fill('0 9 * * nonsense');
    await times.getByRole('alert').waitFor();
    await page.getByLabel('Schedule', { exact: true }).fill('0 9 * * *');
    await page.getByLabel('Time zone of the schedule').fill('Europe/Paris');
    await times
      .getByText(/T09:00.* Europe\/Paris/)
      .first()
      .waitFor();
    expect(await times.getByRole('listitem').count()).toBe(10);
    await openGroup(page, 'Times of runs');
    const exclusions = page.getByLabel('Times without runs, as JSON');
    await exclusions.fill('[{"schedule": "0 0 * * SAT"}]');
    await page
      .getByText(/^exclusions\.0/)
      .first()
      .waitFor();
    await exclusions.fill('[{"schedule": "0 0 * * SAT", "durationMillis": 172800000}]');
    await waitFor('what is left out', async () => (await times.locator('.mark').count()) >= 2);
    await page.getByLabel('When a run is due and another goes on').selectOption('BUFFER_ONE');
    await page.getByLabel('Missed times').selectOption('LAST');
    await page.getByLabel('A run may start late by ms').fill('60000');
    await page.getByLabel('Spread over ms after each time').fill('600000');
    await page.getByLabel('No run before (UTC)').fill('2030-01-01T00:00');
    await times
      .getByText(/^2030-01-0[1-9]T/)
      .first()
      .waitFor();
    await page.getByLabel('Most runs of the schedule').fill('4');
    await times.getByText('Then it has had its most runs').waitFor();
    await openGroup(page, 'Runs and retries');
    await page.getByLabel('Retries with delays').fill('3');
    await page.getByLabel('Delay of the first retry in ms').fill('1000');
    await page.getByLabel('Retried exit codes, as JSON').fill('[75]');
    await page.getByLabel('Pause after failed runs in a row').fill('5');
    await openGroup(page, 'Kept runs and shared limits');
    await page.getByLabel('Kept ended tasks').fill('10');
    await page.getByLabel('Concurrency group').fill('database');
    await page.getByLabel('Most active runs of the group').fill('2');
    await page.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'rich');
    const written = {
      overlapPolicy: 'BUFFER_ONE',
      missedRuns: { policy: 'LAST', withinMillis: 60_000 },
      scheduleJitterMillis: 600_000,
      startAt: Date.UTC(2030, 0, 1),
      maxRuns: 4,
      exclusions: [{ schedule: '0 0 * * SAT', durationMillis: 172_800_000 }],
      retry: { attempts: 3, delayMillis: 1_000, onExitCodes: [75] },
      pauseAfterFailures: 5,
      keepRuns: { count: 10 },
      concurrencyGroup: { name: 'database', limit: 2 },
    };
    expect((await api().request('rich')).request).toMatchObject(written);
    await page.getByText('late by at most 1 m').waitFor();
    await page.getByText('3, after 1 s, of exit codes 75').waitFor();
    await page.getByText('database, at most 2').waitFor();
    await go(page, '/ui/requests/edit/rich?tz=UTC');
    expect(await page.getByLabel('No run before (UTC)').inputValue()).toBe('2030-01-01T00:00:00Z');
    await times
      .getByText(/T09:.* Europe\/Paris/)
      .first()
      .waitFor();
    await page.getByLabel('Schedule', { exact: true }).fill('0 10 * * *');
    await times
      .getByText(/T10:.* Europe\/Paris/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('link', { name: 'Make another like it' }).click();
    await heading(page, 'New request');
    await page.getByLabel('Id', { exact: true }).fill('rich-2');
    await page.getByLabel('Schedule', { exact: true }).fill('0 11 * * *');
    await times
      .getByText(/T11:.* Europe\/Paris/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await heading(page, 'rich-2');
    expect((await api().request('rich-2')).request).toMatchObject({ ...written, quartzSchedule: '0 0 11 * * ?' });
    for (const id of ['rich', 'rich-2']) await api().call('DELETE', `requests/request/${id}`);
    await page.close();
  }, 120_000);

  test('why it waits: an instance that failed and its next start, who holds a group of runs; tries of a run', async () => {
    await api().post('requests', {
      id: 'brittle',
      requestType: 'SERVICE',
      restart: { initialDelayMillis: hourMillis },
    });
    const liveness = { intervalSeconds: 1, failureThreshold: 2, action: 'NONE' } as const;
    const healthcheck = { type: 'COMMAND', command: 'test -e stdout', liveness } as const;
    await api().deploy({ requestId: 'brittle', id: '1', command: 'sleep 10; exit 1', resources, healthcheck });
    const page = await open('/ui/request/brittle');
    await page.getByText('first after 1 h').waitFor();
    await page.getByText('COMMAND, test -e stdout').waitFor({ timeout: 60_000 });
    const why = page.getByRole('region', { name: 'Why it waits' });
    await why.getByText('Instance 1 failed once').waitFor({ timeout: 60_000 });
    await why.getByText(/Next start in/).waitFor();
    await page
      .getByRole('region', { name: 'Ended tasks' })
      .getByRole('link', { name: '1', exact: true })
      .first()
      .click();
    await heading(page, 'brittle #1');
    await page.getByRole('link', { name: 'Health', exact: true }).click();
    await page.getByText('test -e stdout every 5 s').waitFor();
    await page.getByText('after 2 failures in a row the task is unhealthy, and this is reported').waitFor();
    await go(page, '/ui/request/brittle/deploy');
    await heading(page, 'Deploy brittle');
    const plan = page.getByRole('complementary', { name: 'What would happen' });
    expect(await page.getByLabel('Kind of check').inputValue()).toBe('COMMAND');
    await page.getByLabel('Command of the check').fill('true');
    await page.getByLabel('Failures in a row that count').fill('4');
    await openGroup(page, 'End of a task');
    await page.getByLabel('Signal that asks it to end').selectOption('SIGQUIT');
    await page.getByLabel('Command before the signal').fill('sleep 1');
    for (const field of ['healthcheck.command', 'healthcheck.liveness.failureThreshold', 'killSignal', 'preStop'])
      await plan
        .getByRole('rowheader', { name: new RegExp(field) })
        .first()
        .waitFor();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await api().call('DELETE', 'requests/request/brittle');

    await api().saveRequest({ id: 'around', requestType: 'SERVICE' });
    const tasks = {
      init: [{ name: 'prepare', command: 'echo prepared' }],
      sidecars: [{ name: 'proxy', command: 'exec sleep 600' }],
    };
    await api().deploy({ requestId: 'around', id: '1', command: 'exec sleep 600', resources, tasks });
    const [task] = await api().running('around', 1);
    await go(page, `/ui/task/${task!.taskId.id}`);
    const programs = page.getByRole('region', { name: 'Programs around it' });
    await programs.getByRole('row', { name: /proxy beside Running/ }).waitFor({ timeout: 60_000 });
    await programs
      .getByRole('row', { name: /prepare before Succeeded/ })
      .getByRole('link', { name: 'stdout' })
      .click();
    await page.getByText('prepared', { exact: true }).waitFor();
    // The form begins with the deploy in use.
    await waitFor('the end of its deploy', async () => (await api().request('around')).activeDeploy);
    await go(page, '/ui/request/around/deploy');
    await openGroup(page, 'Files, containers, other programs, own executor');
    expect(await page.getByLabel('Programs before, beside and after the command, as JSON').inputValue()).toContain(
      'proxy',
    );
    await api().call('DELETE', 'requests/request/around');

    const concurrencyGroup = { name: 'one', limit: 1 };
    await job({ id: 'holder', concurrencyGroup }, 'exec sleep 600');
    await job({ id: 'held', concurrencyGroup, retry: { attempts: 1 } }, 'exit 1');
    await api().post('requests/request/holder/run', {});
    const [holder] = await api().running('holder', 1);
    await api().post('requests/request/held/run', {});
    await go(page, '/ui/request/held');
    await why.getByText('Its concurrency group is held by').waitFor({ timeout: 60_000 });
    await why.getByRole('link', { name: holder!.taskId.id }).waitFor();
    await api().call('DELETE', `tasks/task/${holder!.taskId.id}`);
    await page.getByRole('row', { name: /Failed .*retry, try 2/ }).waitFor({ timeout: 60_000 });
    await page
      .getByRole('row', { name: /Failed .*run now/ })
      .first()
      .waitFor();
    await page.close();
  }, 180_000);
}
