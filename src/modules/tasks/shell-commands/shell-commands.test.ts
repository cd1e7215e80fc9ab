import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask, start, type TaskRow } from '../../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import { testSettings } from '../../../../test/support/test-settings.js';
import type { ShellCommandUpdateType } from '../../../core/model/enums.js';
import type {
  TaskHistory,
  TaskId,
  TaskShellCommandHistory,
  TaskShellCommandRequest,
} from '../../../core/model/task.js';
import { Clock } from '../../../platform/clock.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import type { ErrorDto } from '../../../platform/http/error.dto.js';
import { Wake, type WakeTopic } from '../../../platform/wake/wake.js';
import { HistoryModule } from '../../history/history.module.js';
import { TaskHistoryMoveRepository } from '../../history/task-history-move.repository.js';
import { TasksModule } from '../tasks.module.js';
import { ShellCommandRepository } from './shell-command.repository.js';
import { ShellCommandsModule } from './shell-commands.module.js';

class StoppedClock extends Clock {
  override now(): number {
    return start;
  }
}

const { ui } = testSettings();
const settings = {
  ui: {
    ...ui,
    shellCommands: [
      { name: 'jstack', description: 'Threads', options: [] },
      { name: 'heap/dump', description: '', options: [{ name: 'live', description: '' }] },
    ],
  },
  maxUnfinishedShellCommandsPerTask: 3,
  maxShellCommandsKeptPerTask: 4,
};
let rooms: RoomApp;
let tx: Queryable;
let woken: WakeTopic[] = [];
beforeAll(async () => {
  rooms = await startRooms({
    modules: [ShellCommandsModule, TasksModule, HistoryModule],
    settings,
    clock: new StoppedClock(),
  });
  tx = rooms.database.pool;
  for (const topic of ['shell-commands', 'cleanup'] as const) rooms.app.get(Wake).on(topic, () => woken.push(topic));
});
afterAll(() => rooms.close());
beforeEach(async () => {
  await tx.query(`TRUNCATE request, deploy_history, task, task_launch, task_update, task_cleanup, task_shell_command,
    task_shell_command_update, task_history`);
  await insertRequest(tx, { activeDeployId: 'd1' });
  await insertDeploy(tx);
  woken = [];
});

const running: TaskRow = { updates: [['TASK_RUNNING', start]] };
const insert = (row: TaskRow = {}): Promise<TaskId> => insertTask(tx, { ...running, ...row });
const at = ({ id }: { id: string }, rest = '') => `/api/tasks/task/${id}/command${rest}`;
const run = <Body = TaskShellCommandRequest>(taskId: { id: string }, command: object = { name: 'jstack' }) =>
  rooms.call<Body>('POST', at(taskId), command);
const store = () => rooms.app.get(ShellCommandRepository, { strict: false });
const tell = (taskId: TaskId, timestamp: number, updateType: ShellCommandUpdateType, own: object = {}) =>
  store().record(tx, [{ taskId: taskId.id, name: 'jstack', timestamp, at: start + 5, updateType, ...own }]);
const commandsOf = async (taskId: TaskId) => (await rooms.get<TaskShellCommandHistory[]>(at(taskId))).body;
const queued = async () => (await rooms.get<TaskShellCommandRequest[]>('/api/tasks/commands/queued')).body;
const typesOf = (history: TaskShellCommandHistory[]) =>
  history.map(({ shellUpdates }) => shellUpdates.map(({ updateType }) => updateType).join());

describe('asking for a command', () => {
  test('queues it, answers it and wakes the leader', async () => {
    const taskId = await insert();
    const command = { name: 'heap/dump', options: ['live'], user: 'ann', logfileName: 'dump' };
    const { status, body } = await run(taskId, command);
    expect({ status, body }).toEqual({
      status: 200,
      body: { taskId: JSON.parse(JSON.stringify(taskId)) as object, timestamp: start, shellCommand: command },
    });
    expect(await queued()).toEqual([body]);
    expect(woken).toEqual(['shell-commands']);
  });

  test.each([
    {
      what: 'a command that is not configured',
      body: { name: 'rm' },
      status: 403,
      code: 'UNKNOWN_SHELL_COMMAND',
      field: 'name',
    },
    {
      what: 'an option that is not',
      body: { name: 'jstack', options: ['x'] },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'options.0',
    },
    {
      what: 'a log file elsewhere',
      body: { name: 'jstack', logfileName: 'a/b' },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'logfileName',
    },
    { what: 'no name', body: {}, status: 400, code: 'INVALID_REQUEST', field: 'name' },
    {
      what: 'options of another type',
      body: { name: 'jstack', options: 'x' },
      status: 400,
      code: 'INVALID_REQUEST',
      field: 'options',
    },
  ])('is refused with $status for $what', async ({ body, status, code, field }) => {
    const answer = await run<ErrorDto>(await insert(), body);
    expect(answer).toMatchObject({ status, body: { code, errors: [{ field }] } });
    expect(await queued()).toEqual([]);
  });

  test('is refused with 400 for a task that is not active, or an id that is none', async () => {
    const ended = await insert({ updates: [['TASK_FINISHED', start]] });
    expect(await run(ended)).toMatchObject({ status: 400, body: { code: 'TASK_NOT_ACTIVE' } });
    expect(await run({ id: 'web-d1-1-1-nowhere-rack' })).toMatchObject({
      status: 400,
      body: { code: 'TASK_NOT_ACTIVE' },
    });
    expect(await run({ id: 'x' })).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER' } });
  });

  test('is refused with 429 while too many of the task wait or run', async () => {
    const taskId = await insert();
    for (let count = 0; count < 3; count++) expect(await run(taskId)).toMatchObject({ status: 200 });
    expect(await run(taskId)).toMatchObject({ status: 429, body: { code: 'TOO_MANY_COMMANDS' } });
    expect(await run(await insert({ instanceNo: 2 }))).toMatchObject({ status: 200 });
    await tell(taskId, start, 'FINISHED');
    expect(await run(taskId)).toMatchObject({ status: 200 });
  });

  test('twenty times at once queues as many as may be, each with a time of its own', async () => {
    const taskId = await insert();
    const answers = await Promise.all(Array.from({ length: 20 }, () => run(taskId)));
    const accepted = answers.filter(({ status }) => status === 200).map(({ body }) => body.timestamp);
    expect(accepted.toSorted()).toEqual([start, start + 1, start + 2]);
  });

  test('forgets the oldest commands of the task that have ended, beyond those that are kept', async () => {
    const taskId = await insert();
    for (let count = 0; count < 6; count++) await tell(taskId, (await run(taskId)).body.timestamp, 'FINISHED');
    const kept = (await commandsOf(taskId)).map(({ shellRequest }) => shellRequest.timestamp - start);
    expect(kept).toEqual([2, 3, 4, 5]);
    expect(await tx.query('SELECT count(*)::int AS n FROM task_shell_command_update')).toEqual([{ n: 4 }]);
  });
});

describe('what became of a command', () => {
  test('is told with it once it was sent, in the order of its life', async () => {
    const taskId = await insert();
    const { timestamp } = (await run(taskId)).body;
    expect(await commandsOf(taskId)).toEqual([]);
    await tell(taskId, timestamp, 'STARTED', { message: 'Process 7' });
    await tell(taskId, timestamp, 'ACKED', { message: 'jstack 7', outputFilename: 'out.log' });
    await tell(taskId, timestamp, 'FINISHED', { message: 'Exit code 0' });
    const id = { taskId: JSON.parse(JSON.stringify(taskId)) as object, name: 'jstack', timestamp };
    const update = { shellRequestId: id, timestamp: start + 5 };
    expect(await commandsOf(taskId)).toEqual([
      {
        shellRequest: { taskId: id.taskId, timestamp, shellCommand: { name: 'jstack' } },
        shellUpdates: [
          { ...update, updateType: 'ACKED', message: 'jstack 7', outputFilename: 'out.log' },
          { ...update, updateType: 'STARTED', message: 'Process 7' },
          { ...update, updateType: 'FINISHED', message: 'Exit code 0' },
        ],
      },
    ]);
    expect(await queued()).toEqual([]);
  });

  test('is stored once per type, and nothing after the end', async () => {
    const taskId = await insert();
    const { timestamp } = (await run(taskId)).body;
    expect(await tell(taskId, timestamp, 'ACKED', { message: 'first' })).toBe(false);
    expect(await tell(taskId, timestamp, 'ACKED', { message: 'second' })).toBe(false);
    expect(await tell(taskId, timestamp, 'FAILED')).toBe(true);
    expect(await tell(taskId, timestamp, 'FINISHED')).toBe(false);
    expect(await tell(taskId, timestamp, 'STARTED')).toBe(false);
    const [history] = await commandsOf(taskId);
    expect(typesOf([history!])).toEqual(['ACKED,FAILED']);
    expect(history!.shellUpdates[0]!.message).toBe('first');
  });

  test('is dropped for a command that is not known', async () => {
    const taskId = await insert();
    expect(await tell(taskId, start, 'FINISHED')).toBe(false);
    expect(await commandsOf(taskId)).toEqual([]);
  });

  test('is read by name and time, with or without the slashes of the name; none of what is not known', async () => {
    const taskId = await insert();
    const { timestamp } = (await run(taskId, { name: 'heap/dump' })).body;
    await tell(taskId, timestamp, 'ACKED', { name: 'heap/dump' });
    for (const name of ['heapdump', 'heap%2Fdump']) {
      expect((await rooms.get(at(taskId, `/${name}/${timestamp}`))).body).toMatchObject([{ updateType: 'ACKED' }]);
    }
    expect(await rooms.get(at(taskId, `/jmap/${timestamp}`))).toMatchObject({ status: 200, body: [] });
    expect(await rooms.get(at(taskId, '/heapdump/1'))).toMatchObject({ status: 200, body: [] });
    expect(await rooms.get(at({ id: 'web-d1-1-1-nowhere-rack' }))).toMatchObject({ status: 200, body: [] });
    expect(await rooms.get(at(taskId, '/jmap/now'))).toMatchObject({ status: 400 });
    expect(await rooms.get(at({ id: 'x' }))).toMatchObject({ status: 400 });
  });

  test('moves to the history with the task, and what is left of its commands has ended', async () => {
    const taskId = await insert();
    const times = [];
    for (let count = 0; count < 3; count++) times.push((await run(taskId)).body.timestamp);
    await tell(taskId, times[0]!, 'FINISHED');
    await tell(taskId, times[1]!, 'STARTED');
    const before = await commandsOf(taskId);
    expect(typesOf(before)).toEqual(['FINISHED', 'STARTED']);
    await tx.query(`UPDATE task SET ended_at = now(), state = 'TASK_LOST'`);
    await store().endThoseOf(tx, [taskId.id], start + 9);
    await rooms.database.transaction((move) =>
      rooms.app.get(TaskHistoryMoveRepository, { strict: false }).move(move, [taskId.id]),
    );
    const after = await commandsOf(taskId);
    expect(typesOf(after)).toEqual(['FINISHED', 'STARTED,FAILED', 'INVALID']);
    expect(after[2]!.shellUpdates[0]).toMatchObject({
      timestamp: start + 9,
      message: expect.stringContaining('ended'),
    });
    const { body } = await rooms.get<TaskHistory>(`/api/history/task/${taskId.id}`);
    expect(body.shellCommandHistory).toEqual(after);
    for (const table of ['task_shell_command', 'task_shell_command_update']) {
      expect(await tx.query(`SELECT 1 FROM ${table}`), table).toEqual([]);
    }
    expect(await tell(taskId, times[1]!, 'FINISHED')).toBe(false);
  });
});

describe('a kill with a command before it', () => {
  const kill = (taskId: TaskId, body: object) => rooms.call<object>('DELETE', `/api/tasks/task/${taskId.id}`, body);
  const runShellCommandBeforeKill = { name: 'jstack' };

  test('queues the command, and its cleanup names it', async () => {
    const taskId = await insert();
    const answer = await kill(taskId, { runShellCommandBeforeKill });
    const id = { taskId: JSON.parse(JSON.stringify(taskId)) as object, name: 'jstack', timestamp: start };
    expect(answer).toMatchObject({ status: 200, body: { cleanupType: 'USER_REQUESTED', runBeforeKillId: id } });
    expect((await rooms.get(`/api/tasks/task/${taskId.id}/cleanup`)).body).toMatchObject({ runBeforeKillId: id });
    expect(await queued()).toMatchObject([{ timestamp: start, shellCommand: runShellCommandBeforeKill }]);
    expect(woken).toEqual(expect.arrayContaining(['cleanup', 'shell-commands']));
  });

  test('queues nothing where another cleanup stands in the way', async () => {
    const taskId = await insert();
    await kill(taskId, {});
    expect(await kill(taskId, { runShellCommandBeforeKill })).toMatchObject({ status: 409 });
    expect(await queued()).toEqual([]);
  });

  test('is refused with 403 or 400 for a command or an option that is not configured', async () => {
    const taskId = await insert();
    expect(await kill(taskId, { runShellCommandBeforeKill: { name: 'rm' } })).toMatchObject({ status: 403 });
    const answer = await kill(taskId, { runShellCommandBeforeKill: { name: 'jstack', options: ['x'] } });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'runShellCommandBeforeKill.options.0' }] } });
    expect(await queued()).toEqual([]);
    expect((await rooms.get('/api/tasks/cleaning')).body).toEqual([]);
  });
});
