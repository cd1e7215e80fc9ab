import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { admin, ann, base, MailWorld, owner, toAndCc } from './mail-world.js';

let world: MailWorld;
beforeAll(async () => {
  world = await MailWorld.start();
}, 120_000);
afterAll(() => world.close());

describe('ends of tasks', () => {
  test('a failed run: history, ids, host, directory, arguments, notes and the ends of its logs, to all who have to do with it', async () => {
    await world.deployed(
      { id: 'job', requestType: 'ON_DEMAND' },
      'echo hello; echo "<script>alert(1)</script> & more" >&2; until [ -e go ]; do sleep 0.05; done; exit 3',
    );
    await world.run('job', {
      commandLineArgs: ['--size', '3 & 4', '--password=hunter2'],
      runId: 'r-1',
      message: 'try it',
    });
    const id = await world.runningTask('job');
    await world.call('POST', `tasks/task/${id}/metadata?user=${ann}`, {
      type: 'note',
      title: 'Look here',
      message: 'a <b>note</b>',
      level: 'WARN',
    });
    world.put(id, 'go');
    const mail = await world.mail('TASK_FAILED', id);
    expect(toAndCc(mail)).toEqual({ to: [owner, ann], cc: [admin] });
    expect(mail.subject).toBe(`[east] Task failed: ${id}`);
    for (const content of [mail.text!, mail.html as string]) {
      for (const part of [
        'job',
        'd1',
        id,
        'localhost',
        `${world.cluster.root}/sandboxes/${id}`,
        'r-1',
        ann,
        'try it',
      ]) {
        expect(content).toContain(part);
      }
      for (const state of ['TASK_LAUNCHED', 'TASK_RUNNING', 'TASK_FAILED']) expect(content).toContain(state);
      for (const part of ['WARN', 'note', 'Look here', 'hello', '--size']) expect(content).toContain(part);
      expect(content).toContain(`${base}/request/job`);
      expect(content).toContain(`${base}/task/${id}/tail/stderr`);
      expect(content).toContain('Nothing is started in its place.');
      expect(content).not.toContain('hunter2');
    }
    expect(mail.text).toContain('  | <script>alert(1)</script> & more');
    expect(mail.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; more');
    expect(mail.html).toContain('a &lt;b&gt;note&lt;/b&gt;');
    expect(mail.html).not.toContain('<script');
    expect(mail.html).toMatch(/[A-Z][a-z]{2} \d\d \d{1,2}:\d\d:\d\d [AP]M UTC/);
  });

  test('of a managed task the end of its log is found where it is left, and what is not there is said', async () => {
    await world.deployed({ id: 'managed', requestType: 'ON_DEMAND' }, '', {
      command: undefined,
      arguments: undefined,
      customExecutorCmd: '/x',
      executorData: { cmd: 'sh -c "echo managed words; exit 3"' },
    });
    await world.run('managed');
    const { text } = await world.mail('TASK_FAILED', 'managed-d1');
    expect(text).toMatch(/tail_of_finished_service\.log .*\n {2}\| managed words\n/);
    expect(text).toMatch(/stderr <[^>]*>: not available/);
  });

  test('a task that never ran says so, and whom to ask', async () => {
    await world.deployed({ id: 'broken', requestType: 'ON_DEMAND' }, 'true', {
      uris: [{ uri: 'http://127.0.0.1:9/nothing' }],
    });
    await world.run('broken');
    const mail = await world.mail('TASK_FAILED', 'broken-d1');
    expect(mail.subject).toMatch(/^\[east\] Task did not start \(failed\): broken-d1/);
    expect(mail.text).toContain(`ask those who run the cluster: ${admin}`);
  });

  test('the first error of a log is found, and what a retry means is told', async () => {
    await world.deployed(
      { id: 'retried', requestType: 'ON_DEMAND', numRetriesOnFailure: 1, taskLogErrorRegex: 'oops+' },
      'printf "%02000d" 0; echo; echo "OOPS here it is"; echo after; exit 1',
      {},
    );
    await world.call('POST', 'requests', {
      id: 'retried',
      requestType: 'ON_DEMAND',
      owners: [owner],
      numRetriesOnFailure: 1,
      taskLogErrorRegex: 'oops+',
      taskLogErrorRegexCaseSensitive: false,
    });
    await world.run('retried');
    const first = await world.server.until(
      'the retry',
      ({ text = '' }) => /retried-d1/.test(text) && /tried again now/.test(text),
    );
    expect(first.text).toContain('from the first error on');
    expect(first.text).toContain('  | OOPS here it is\n  | after\n');
    const last = await world.server.until(
      'the last end',
      ({ text = '' }) => /retried-d1/.test(text) && /Nothing is started in its place/.test(text),
    );
    expect(last.type).toBe('TASK_FAILED');
  });

  test.each([
    { type: 'TASK_FINISHED_ON_DEMAND', requestType: 'ON_DEMAND', to: [owner, ann], cc: [] },
    { type: 'TASK_FINISHED_RUN_ONCE', requestType: 'RUN_ONCE', to: [owner], cc: [] },
    { type: 'TASK_FINISHED_SCHEDULED', requestType: 'SCHEDULED', schedule: '0 0 1 1 *', to: [owner], cc: [] },
    { type: 'TASK_FINISHED_LONG_RUNNING', requestType: 'WORKER', to: [owner], cc: [admin] },
  ] as const)('$type', async ({ type, requestType, to, cc, ...more }) => {
    const id = `done-${requestType.toLowerCase().replace('_', '-')}`;
    const isWorker = requestType === 'WORKER';
    await world.deployed({ id, requestType, ...more }, isWorker ? 'until [ -e go ]; do sleep 0.05; done' : 'echo bye');
    if (isWorker) {
      const task = await world.runningTask(id);
      await world.deployEnded(id);
      world.put(task, 'go');
    }
    if (requestType === 'ON_DEMAND' || requestType === 'SCHEDULED') await world.run(id);
    const mail = await world.mail(type, `${id}-d1`);
    expect(toAndCc(mail)).toEqual({ to, cc });
    expect(mail.subject).toMatch(new RegExp(`^\\[east\\] Task finished: ${id}-d1`));
    expect(mail.text).toContain('exit status 0');
    if (requestType === 'WORKER') {
      expect(mail.text).toContain('Another task takes its place.');
      await world.call('DELETE', `requests/request/${id}`);
    }
  });

  test('TASK_KILLED, but nothing about tasks of a paused request', async () => {
    await world.deployed({ id: 'killed', requestType: 'ON_DEMAND' }, 'sleep 100');
    await world.run('killed');
    const id = await world.runningTask('killed');
    await world.call('DELETE', `tasks/task/${id}?user=bob@example.com`);
    const mail = await world.mail('TASK_KILLED', id);
    expect(toAndCc(mail)).toEqual({ to: [owner], cc: [] });
    expect(mail.subject).toBe(`[east] Task killed: ${id}`);
    expect(mail.text).toContain('It had to go: USER_REQUESTED');
    await world.run('killed');
    const next = await world.runningTask('killed');
    await world.call('POST', 'requests/request/killed/pause');
    await waitFor('its end', () => world.hasEnded(next));
    expect(world.count('TASK_KILLED', next)).toBe(0);
  });

  test('TASK_LOST', async () => {
    await world.deployed({ id: 'lost', requestType: 'ON_DEMAND' }, 'sleep 100');
    await world.run('lost');
    const id = await world.runningTask('lost');
    await world.call('POST', `test/scheduler/statusUpdate/${id}/TASK_LOST`);
    const mail = await world.mail('TASK_LOST', id);
    expect(toAndCc(mail)).toEqual({ to: [admin, ann], cc: [] });
    expect(mail.text).toContain('TASK_LOST');
  });

  test('TASK_KILLED_UNHEALTHY', async () => {
    const answer = "(_, answer) => answer.writeHead(process.env.INSTANCE_NO === '1' ? 200 : 500).end()";
    const program = `require('http').createServer(${answer}).listen(process.env.PORT0)`;
    await world.deployed(
      { id: 'sick', requestType: 'SERVICE', instances: 1 },
      `exec ${process.execPath} -e "${program}"`,
      {
        resources: { cpus: 0.1, memoryMb: 128, numPorts: 1 },
        healthcheck: { uri: '/', startupDelaySeconds: 1, intervalSeconds: 1, maxRetries: 1 },
      },
    );
    await world.deployEnded('sick');
    await world.call('PUT', 'requests/request/sick/scale', { instances: 2, skipEmailNotification: true });
    const mail = await world.mail('TASK_KILLED_UNHEALTHY', 'sick-d1');
    expect(toAndCc(mail)).toEqual({ to: [owner], cc: [admin] });
    expect(mail.text).toMatch(/It had to go: (OVERDUE|UNHEALTHY)_NEW_TASK/);
    await world.call('DELETE', 'requests/request/sick');
  }, 60_000);

  test('TASK_KILLED_DECOMISSIONED and TASK_FAILED_DECOMISSIONED', async () => {
    await world.deployed({ id: 'moved', requestType: 'SERVICE' }, 'sleep 100');
    const id = await world.runningTask('moved');
    await world.deployed(
      { id: 'stays', requestType: 'ON_DEMAND', instances: 4 },
      'until [ -e go ]; do sleep 0.05; done; exit 4',
    );
    const slave = await world.slaveOf(id);
    // One of them is on the same machine.
    let beside: string | undefined;
    for (let count = 1; count <= 4 && beside === undefined; count++) {
      await world.run('stays');
      const tasks = await waitFor('its run', async () => {
        const found = await world.activeTasks('stays');
        return found.length === count && found.every(({ lastTaskState }) => lastTaskState === 'TASK_RUNNING') && found;
      });
      for (const { taskId } of tasks) if ((await world.slaveOf(taskId.id)) === slave) beside = taskId.id;
    }
    await world.call('POST', `slaves/slave/${slave}/decommission?user=${ann}`, {});
    const killed = await world.mail('TASK_KILLED_DECOMISSIONED', id);
    expect(toAndCc(killed)).toEqual({ to: [owner], cc: [] });
    world.put(beside!, 'go');
    const failed = await world.mail('TASK_FAILED_DECOMISSIONED', beside!);
    expect(failed.text).toContain('It had to go: DECOMISSIONING');
    await world.call('DELETE', 'requests/request/stays');
    await world.call('DELETE', 'requests/request/moved');
  });

  test('TASK_SCHEDULED_OVERDUE_TO_FINISH, once', async () => {
    await world.deployed(
      { id: 'slow', requestType: 'SCHEDULED', schedule: '0 0 1 1 *', scheduledExpectedRuntimeMillis: 200 },
      'sleep 100',
    );
    await world.run('slow');
    const id = await world.runningTask('slow');
    const mail = await world.mail('TASK_SCHEDULED_OVERDUE_TO_FINISH', id);
    expect(toAndCc(mail)).toEqual({ to: [owner], cc: [admin] });
    expect(mail.subject).toBe(`[east] Task is late to finish: ${id}`);
    expect(mail.text).toMatch(/Run time: .*\nExpected run time: 200 ms\nThreshold: 200 %/);
    await world.call('DELETE', 'requests/request/slow');
    expect(world.count('TASK_SCHEDULED_OVERDUE_TO_FINISH')).toBe(1);
  });
});
