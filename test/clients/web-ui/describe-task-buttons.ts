import { describe, expect, test } from 'vitest';
import type { TaskCleanup, TaskHistory } from '../../../src/core/model/task.js';
import { patiently, type Scene } from './scene.js';
import type { Visitor } from './visitor.js';

/** Buttons on the pages of deploys, runs and tasks. */
export function describeTaskButtons(at: () => { scene: Scene; visitor: Visitor }): void {
  const rowOf = (text: string): ReturnType<Visitor['page']['locator']> =>
    at().visitor.page.locator('tr').filter({ hasText: text }).first();

  describe('deploys', () => {
    test('are advanced by a step, and cancelled', async () => {
      const { visitor, scene } = at();
      await scene.inSteps('climbing');
      await visitor.open('/request/climbing', 'v1 is pending', 'Advance Deploy');
      await visitor.presses('AdvanceDeploy', 'Advance Deploy', { targetActiveInstances: '2' });
      await patiently('the second step', async () => {
        const { pendingDeployState } = await scene.api.request('climbing');
        const progress = pendingDeployState?.deployProgress;
        return progress?.targetActiveInstances === 2 && progress.stepComplete;
      });
      await visitor.presses('CancelDeploy', 'Cancel Deploy');
      await scene.deployEnds('climbing', 'v1', 'CANCELED');
    });

    test('are made again under another id', async () => {
      const { visitor, scene } = at();
      await scene.running({ id: 'again' });
      await visitor.open('/request/again', 'Deploy history', 'Succeeded');
      await visitor.page.locator('#deploy-history a[title=Redeploy]').first().click();
      await visitor.sees('This will create a new deploy');
      await visitor.acts('SaveDeploy', () => visitor.agree({ deployId: 'v2' }));
      await visitor.sees('Started redeploy of');
      await scene.deployEnds('again', 'v2', 'SUCCEEDED');
      expect((await scene.api.request('again')).activeDeploy).toMatchObject({ id: 'v2', command: 'sleep 1000' });
    });
  });

  describe('runs', () => {
    /** Id of the second task of a job whose first run was there before. */
    const secondRun = async (id: string): Promise<string> => (await at().scene.ended(id, 2))[0]!.taskId.id;

    test('are started, and their sandbox is shown', async () => {
      const { visitor, scene } = at();
      await scene.job('caller');
      await visitor.open('/request/caller', 'Run now', 'first');
      await visitor.acts('RunRequest', async () => {
        await visitor.button('Run now').click();
        await visitor.dialog.locator('#commandLineArgs-input input').first().fill('from the page');
        await visitor.dialog.locator('#environment-input input').first().fill('COLOUR=blue');
        await visitor.agree({ message: 'now' });
      });
      await visitor.page.waitForURL('**/task/caller-v1-*');
      await visitor.sees('caller', 'stdout', 'Task finished');
      const id = await secondRun('caller');
      expect((await scene.api.history(id)).task.taskRequest.pendingTask).toMatchObject({
        cmdLineArgsList: ['from the page'],
        envOverrides: { COLOUR: 'blue' },
        message: 'now',
        user: 'visitor',
      });
    });

    test('are started, and their output is followed', async () => {
      const { visitor, scene } = at();
      await scene.job('followed');
      await visitor.open('/request/followed', 'Run now', 'first');
      await visitor.acts('RunRequest', async () => {
        await visitor.button('Run now').click();
        await visitor.dialog.locator('input[value=TAIL]').click();
        await visitor.agree();
      });
      await visitor.page.waitForURL('**/task/followed-v1-*/tail/**');
      await visitor.sees('the job says');
      await secondRun('followed');
    });

    test('are started once more with the arguments they had', async () => {
      const { visitor, scene } = at();
      await scene.job('repeated');
      await visitor.open('/request/repeated', 'Task history', 'first');
      const row = rowOf('first').or(rowOf('Finished')).last();
      await row.locator('a[title="Rerun This Task"]').click();
      await visitor.acts('RunRequest', async () => {
        await visitor.dialog.locator('input[value=STAY]').click();
        await visitor.agree();
      });
      const id = await secondRun('repeated');
      expect((await scene.api.history(id)).task.taskRequest.pendingTask.cmdLineArgsList).toEqual(['hello']);
    });

    test('that wait are taken out of the queue', async () => {
      const { visitor, scene } = at();
      await scene.running({ id: 'later', requestType: 'ON_DEMAND' }, { command: 'echo late' });
      await visitor.open('/request/later', 'Run now');
      await visitor.acts('RunRequest', async () => {
        await visitor.button('Run now').click();
        await visitor.dialog.locator('input[value=STAY]').click();
        await visitor.agree({ launchDelay: '1 hour' });
      });
      const waiting = (): Promise<unknown[]> => scene.api.get('tasks/scheduled/request/later');
      await patiently('the run to be planned', async () => (await waiting()).length === 1);
      await visitor.open('/request/later', 'Scheduled & pending tasks', /later-v1-\d+-1-/);
      const trash = visitor.page.locator('#pending-tasks .glyphicon-trash');
      await visitor.presses('DeletePendingOnDemandTask', trash);
      await patiently('the queue to be empty', async () => (await waiting()).length === 0);
    });
  });

  describe('tasks', () => {
    test('are killed from their page, with a replacement and without waiting for it', async () => {
      const { visitor, scene } = at();
      const [task] = await scene.running({ id: 'ending' });
      await visitor.open(`/task/${task!.taskId.id}`, 'Kill Task');
      await visitor.presses('KillTask', 'Kill Task', { message: 'go now' });
      await scene.ended('ending', 1);
      const { taskUpdates } = await scene.api.history(task!.taskId.id);
      const messages = taskUpdates.map(({ statusMessage }) => statusMessage);
      expect(messages).toContainEqual(expect.stringContaining('go now'));
      await visitor.sees('Task killed');
    });

    test('are killed from lists', async () => {
      const { visitor, scene } = at();
      const [task] = await scene.running({ id: 'listed' });
      await visitor.open('/tasks/active/all/listed?showResources=true', task!.taskId.id);
      await visitor.presses('KillTask', rowOf(task!.taskId.id).locator('.glyphicon-remove'));
      await scene.ended('listed', 1);
    });

    test('that take their time are destroyed', async () => {
      const { visitor, scene } = at();
      const { taskId } = await scene.slowToEnd('stubborn');
      await visitor.open(`/task/${taskId.id}`, 'Kill Task');
      await visitor.presses('KillTask', 'Kill Task', { waitForReplacementTask: true });
      await visitor.sees('Destroy Task');
      await visitor.presses('KillTask', 'Destroy Task');
      const cleanups = await scene.api.get<TaskCleanup[]>('tasks/cleaning');
      const own = cleanups.find((cleanup) => cleanup.taskId.id === taskId.id);
      if (own) expect(own.cleanupType).toBe('USER_REQUESTED_DESTROY');
      await scene.ended('stubborn', 1);
    });

    test('that a bounce cleans up are killed by the button that overrides it', async () => {
      const { visitor, scene } = at();
      const { taskId } = await scene.slowToEnd('bounced');
      // No replacement fits: the bounce waits for it, and the task for the bounce.
      const { request } = await scene.api.request('bounced');
      await scene.api.saveRequest({ ...request, requiredSlaveAttributes: { nowhere: 'here' } });
      await scene.api.post('requests/request/bounced/bounce', {});
      const ordered = async (): Promise<string | undefined> => {
        const cleanups = await scene.api.get<TaskCleanup[]>('tasks/cleaning');
        return cleanups.find((cleanup) => cleanup.taskId.id === taskId.id)?.cleanupType;
      };
      await patiently('the bounce', async () => (await ordered()) === 'BOUNCING');
      await visitor.open(`/task/${taskId.id}`, 'Override cleanup');
      await visitor.presses('KillTask', 'Override cleanup');
      // Its cleanup may have become the kill by now.
      const { taskUpdates } = await scene.api.get<TaskHistory>(`history/task/${taskId.id}`);
      const told = taskUpdates.filter(({ taskState }) => taskState === 'TASK_CLEANING');
      expect(told.map(({ statusMessage }) => statusMessage).join()).toMatch(/^USER_REQUESTED.* by visitor/);
      await scene.api.call('DELETE', `tasks/task/${taskId.id}`, { override: true });
      await scene.ended('bounced', 1);
    });

    test('run commands, whose output is followed', async () => {
      const { visitor, scene } = at();
      const [task] = await scene.withCommands('telling');
      const { id } = task!.taskId;
      await visitor.open(`/task/${id}`, 'Shell commands');
      await visitor.page.locator('.page-header', { hasText: 'Shell commands' }).locator('a').click();
      await visitor.sees('Says who the task is');
      // It would lead there by itself if it saw two states of the command at once; the list of commands does so always.
      await visitor.page.locator('[name=openLog]').uncheck();
      await visitor.acts('RunCommandOnTask', () => visitor.button(/^Run$/).click());
      await visitor.sees('Command History', 'FINISHED');
      await visitor.button(/^view$/).click();
      await visitor.page.waitForURL(`**/task/${id}/tail/**`);
      await visitor.sees(`I am ${id}`);
      expect(await scene.api.get(`tasks/task/${id}/command`)).toMatchObject([
        { shellRequest: { user: 'visitor', shellCommand: { name: 'who' } } },
      ]);
    });

    test('have files that are downloaded and opened', async () => {
      const { visitor, scene } = at();
      const [task] = await scene.running({ id: 'writing' }, { command: 'echo page > page.html; exec sleep 1000' });
      await visitor.open(`/task/${task!.taskId.id}`, 'page.html');
      const row = rowOf('page.html');
      for (const [icon, disposition] of [
        ['download-alt', /^attachment/],
        ['open-file', /^inline|^$/],
      ] as const) {
        const address = await row.locator(`a:has(.glyphicon-${icon})`).getAttribute('href');
        const answer = await fetch(new URL(address!, visitor.page.url()));
        expect([answer.status, await answer.text()]).toEqual([200, 'page\n']);
        expect(answer.headers.get('content-disposition') ?? '').toMatch(disposition);
      }
    });
  });
}
