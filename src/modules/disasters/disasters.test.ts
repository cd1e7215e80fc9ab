import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  insertPendingTask,
  insertTask,
  makeMachine,
  makePendingTask,
  start,
  type TaskRow,
} from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { makePendingTaskId } from '../../core/task-id.js';
import type { DisabledAction, DisasterDataPoint, DisastersData } from '../../core/model/state.js';
import { disasterTypes, type ActionType } from '../../core/model/enums.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Clock } from '../../platform/clock.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { SettingsFile } from '../../platform/settings/settings.js';
import { TaskHistoryMoveRepository } from '../history/task-history-move.repository.js';
import { MachineReports } from '../slaves/machine-reports.service.js';
import { SlavesModule } from '../slaves/slaves.module.js';
import { DisastersModule } from './disasters.module.js';
import { DisastersPoller } from './disasters.poller.js';

let now = start;
const clock = new (class extends Clock {
  override now = () => now;
})();
let rooms: RoomApp;

const disableActionsOnDisaster: ActionType[] = ['BOUNCE_REQUEST', 'TASK_SHUFFLE'];
beforeAll(async () => {
  // The timer is off: passes are made by the test.
  const { disasterDetection } = SettingsFile.parse({
    disasterDetection: { runEveryMillis: 0, disableActionsOnDisaster, lostTaskReasons },
  });
  const modules = [DisastersModule, SlavesModule];
  rooms = await startRooms({ modules, settings: { disasterDetection, checkSchedulerEverySeconds: 0 }, clock });
});
afterAll(() => rooms.close());
beforeEach(async () => {
  now += 3_600_000;
  await rooms.database.pool.query(
    `TRUNCATE disaster_data_point, active_disaster, disabled_action, slave, rack, machine_history, pending_task, request,
       task, task_launch, task_update, task_history`,
  );
  await rooms.database.pool.query('UPDATE automated_actions SET enabled = true');
});

const sql = (text: string, parameters?: unknown[]) => rooms.database.pool.query(text, parameters);
const call = (method: string, path: string, body?: unknown) => rooms.call(method, `/api/disasters/${path}`, body);
const active = async () => (await rooms.get('/api/disasters/active')).body;
const disabled = async () => (await rooms.get<DisabledAction[]>('/api/disasters/disabled-actions')).body;
const stats = async () => (await rooms.get<DisastersData>('/api/disasters/stats')).body;
const newest = async (): Promise<DisasterDataPoint> => (await stats()).stats[0]!;
/** A look, the given time after the one before. */
async function look(afterMillis = 10_000): Promise<void> {
  now += afterMillis;
  await rooms.app.get(DisastersPoller).runOnce(now);
}
const seen = (slaveId: string) =>
  rooms.database.leaderTransaction((tx) => rooms.app.get(MachineReports).seen(tx, makeMachine({ slaveId }), now));
const down = (slaveId: string) =>
  rooms.database.leaderTransaction((tx) => rooms.app.get(MachineReports).down(tx, slaveId, 'gone', now));
let instanceNo = 0;
const task = (row: TaskRow = {}) =>
  insertTask(rooms.database.pool, { instanceNo: ++instanceNo, startedAt: now, ...row });
const madeByDeploys = ['REASON_CONTAINER_LAUNCH_FAILED', 'REASON_TASK_INVALID'];
const lostTaskReasons = ['REASON_AGENT_REMOVED', 'REASON_AGENT_RESTARTED', ...madeByDeploys];
const lostTask = (at: number, reason = 'REASON_AGENT_REMOVED') => task({ updates: [['TASK_LOST', at, { reason }]] });
const pendingTask = (overdueMillis: number) =>
  insertPendingTask(
    rooms.database.pool,
    makePendingTask({
      pendingTaskId: makePendingTaskId({
        requestId: 'web',
        deployId: 'd1',
        nextRunAt: now - overdueMillis,
        instanceNo: ++instanceNo,
        pendingType: 'NEW_DEPLOY',
        createdAt: now,
      }),
    }),
  );

describe('a disaster declared by hand', () => {
  test('is in force until it is taken back; both may be repeated', async () => {
    expect(await active()).toEqual([]);
    for (let time = 0; time < 2; time++) {
      expect(await call('POST', 'active/EXCESSIVE_TASK_LAG')).toMatchObject({ status: 204, body: '' });
      expect(await active()).toEqual(['EXCESSIVE_TASK_LAG']);
    }
    for (let time = 0; time < 2; time++) {
      expect(await call('DELETE', 'active/EXCESSIVE_TASK_LAG')).toMatchObject({ status: 204, body: '' });
      expect(await active()).toEqual([]);
    }
  });

  test('must be of a known kind', async () => {
    for (const method of ['POST', 'DELETE']) {
      expect(await call(method, 'active/FLOOD')).toMatchObject({ status: 400, body: { errors: [{ field: 'type' }] } });
    }
    expect(await call('POST', 'active/user-initiated')).toMatchObject({ status: 204 });
  });

  test('that ends by itself switches the configured actions off for a while', async () => {
    await call('POST', 'active/EXCESSIVE_TASK_LAG');
    const off = await disabled();
    expect(off.map(({ type }) => type)).toEqual(disableActionsOnDisaster);
    expect(off[0]).toEqual({
      type: 'BOUNCE_REQUEST',
      message: 'Action BOUNCE_REQUEST is disabled: because of EXCESSIVE_TASK_LAG',
      automaticallyClearable: true,
      expiresAt: now + 900_000,
    });
  });

  test('of another kind switches them off for good, also when it comes second', async () => {
    await call('POST', 'active/EXCESSIVE_TASK_LAG');
    await call('POST', 'active/USER_INITIATED');
    for (const each of await disabled()) {
      expect(each).toMatchObject({ automaticallyClearable: false });
      expect(each).not.toHaveProperty('expiresAt');
    }
    await call('DELETE', 'active/USER_INITIATED');
    await call('DELETE', 'active/EXCESSIVE_TASK_LAG');
    expect(await disabled()).toHaveLength(2);
  });

  test('lets actions that wait for its end come back with the last one', async () => {
    await call('POST', 'active/EXCESSIVE_TASK_LAG');
    await sql(`INSERT INTO active_disaster (type, since) VALUES ('LOST_TASKS', now())`);
    await call('DELETE', 'active/EXCESSIVE_TASK_LAG');
    expect(await disabled()).toHaveLength(2);
    await call('DELETE', 'active/LOST_TASKS');
    expect(await disabled()).toEqual([]);
  });
});

describe('an action switched off by hand', () => {
  test('shows the text that callers get, who did it, and no expiry', async () => {
    const body = { type: 'BOUNCE_REQUEST', message: 'no bounces' };
    expect(await call('POST', 'disabled-actions/BOUNCE_REQUEST', body)).toMatchObject({ status: 204, body: '' });
    expect(await disabled()).toEqual([
      {
        type: 'BOUNCE_REQUEST',
        message: 'Action BOUNCE_REQUEST is disabled: no bounces',
        user: 'scheduler',
        automaticallyClearable: false,
      },
    ]);
  });

  test('takes the place of one there is; the type in the body means nothing; the body may be missing', async () => {
    await call('POST', 'disabled-actions/DEPLOY', { type: 'KILL_TASK', message: 'first' });
    await call('POST', 'disabled-actions/DEPLOY');
    expect(await disabled()).toMatchObject([{ type: 'DEPLOY', message: 'Action DEPLOY is disabled for now' }]);
  });

  test('comes back when it is enabled; enabling twice is fine', async () => {
    await call('POST', 'disabled-actions/DEPLOY');
    for (let time = 0; time < 2; time++) {
      expect(await call('DELETE', 'disabled-actions/DEPLOY')).toMatchObject({ status: 204, body: '' });
      expect(await disabled()).toEqual([]);
    }
  });

  test('must be a known action', async () => {
    for (const method of ['POST', 'DELETE']) {
      const answer = await call(method, 'disabled-actions/FOO');
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_PARAMETER', errors: [{ field: 'action' }] } });
    }
  });

  test('stays as it is when a disaster switches the same action off, and when that is over', async () => {
    await call('POST', 'disabled-actions/BOUNCE_REQUEST', { message: 'mine' });
    await call('POST', 'active/EXCESSIVE_TASK_LAG');
    const mine = { type: 'BOUNCE_REQUEST', user: 'scheduler', automaticallyClearable: false };
    expect((await disabled())[0]).toMatchObject(mine);
    await call('DELETE', 'active/EXCESSIVE_TASK_LAG');
    expect(await disabled()).toMatchObject([mine]);
  });
});

describe('a data point', () => {
  test('counts tasks by how they stand, and slaves that are there', async () => {
    await look();
    for (const id of ['s1', 's2', 's3', 's4']) await seen(id);
    await sql(`UPDATE slave SET state = 'DEAD' WHERE id = 's1'`);
    await sql(`UPDATE slave SET state = 'MISSING_ON_STARTUP' WHERE id = 's2'`);
    await sql(`UPDATE slave SET state = 'FROZEN' WHERE id = 's3'`);
    await task({ updates: [['TASK_RUNNING', now]] });
    await task();
    await task({ updates: [['TASK_FINISHED', now]] });
    await look();
    expect(await newest()).toEqual({
      timestamp: now,
      numActiveTasks: 2,
      numPendingTasks: 0,
      numLateTasks: 0,
      avgTaskLagMillis: 0,
      numLostTasks: 0,
      numActiveSlaves: 2,
      numLostSlaves: 0,
      numActiveAgents: 2,
      numLostAgents: 0,
    });
  });

  test('takes the average lag over all overdue tasks, and counts as late those overdue for more than 30 s', async () => {
    await pendingTask(-60_000);
    await pendingTask(0);
    await pendingTask(10_000);
    await pendingTask(30_000);
    await pendingTask(50_001);
    await sql(`UPDATE pending_task SET next_run_at = next_run_at + interval '10 seconds'`);
    await look();
    expect(await newest()).toMatchObject({ numPendingTasks: 5, numLateTasks: 1, avgTaskLagMillis: 30_000 });
  });

  test('leaves out runs that wait for others, as their request says', async () => {
    await pendingTask(-60_000);
    await pendingTask(50_001);
    await pendingTask(3_600_000);
    await sql(`UPDATE pending_task SET document = document || '{"buffered": true}' WHERE next_run_at < $1`, [
      new Date(now - 1_000_000),
    ]);
    await look();
    expect(await newest()).toMatchObject({ numPendingTasks: 3, numLateTasks: 1, avgTaskLagMillis: 60_001 });
  });

  test('counts lost tasks since the last one, with reasons that count, from the live rows and the history', async () => {
    await look();
    await lostTask(now + 1_000, 'REASON_AGENT_REMOVED');
    const moved = await lostTask(now + 2_000, 'REASON_AGENT_RESTARTED');
    await lostTask(now + 3_000, 'REASON_RECONCILIATION');
    // Named in the settings, but any caller who may deploy can bring these about.
    for (const reason of madeByDeploys) await lostTask(now + 3_000, reason);
    await task({ updates: [['TASK_FAILED', now + 3_000, { reason: 'REASON_AGENT_REMOVED' }]] });
    await rooms.database.leaderTransaction((tx) => rooms.app.get(TaskHistoryMoveRepository).move(tx, [moved.id]));
    expect(await sql('SELECT last_task_status FROM task_history')).toHaveLength(1);
    await look();
    expect((await newest()).numLostTasks).toBe(2);
    await look();
    expect((await newest()).numLostTasks).toBe(0);
  });

  test('counts a lost task that is reported late, and one that moves to the history only once', async () => {
    await look();
    const early = await lostTask(now + 1_000, 'REASON_AGENT_RESTARTED');
    await look();
    expect((await newest()).numLostTasks).toBe(1);
    await lostTask(now - 15_000);
    await look();
    expect((await newest()).numLostTasks).toBe(1);
    await rooms.database.leaderTransaction((tx) => rooms.app.get(TaskHistoryMoveRepository).move(tx, [early.id]));
    await look();
    expect((await newest()).numLostTasks).toBe(0);
  });

  test('of a new leader does not count what its predecessor has counted', async () => {
    await look();
    await lostTask(now + 1_000);
    await look();
    await lostTask(now + 1_000);
    const other = await startRooms({ modules: [DisastersModule], databaseUrl: rooms.databaseUrl, clock });
    try {
      now += 10_000;
      await other.app.get(DisastersPoller).runOnce(now);
      expect((await newest()).numLostTasks).toBe(1);
    } finally {
      await other.close();
    }
  });

  test('counts slaves that were ACTIVE and are lost, also when they are back by now', async () => {
    for (const id of ['s1', 's2', 's3']) await seen(id);
    await look();
    await rooms.call('POST', '/api/slaves/slave/s3/freeze');
    now += 1_000;
    for (const id of ['s1', 's2', 's3']) await down(id);
    now += 1_000;
    await seen('s2');
    await look();
    expect(await newest()).toMatchObject({ numLostSlaves: 2, numActiveSlaves: 1 });
    await look();
    expect((await newest()).numLostSlaves).toBe(0);
  });

  test('is one of the ten newest; older ones are dropped', async () => {
    for (let n = 0; n < 12; n++) await look();
    const times = (await stats()).stats.map(({ timestamp }) => timestamp);
    expect(times).toEqual(Array.from({ length: 10 }, (_, index) => now - index * 10_000));
  });
});

describe('the detection', () => {
  /** Half of the tasks are late for the given number of looks. */
  async function lag(looks: number): Promise<void> {
    for (let n = 0; n < 5; n++) await pendingTask(60_000);
    for (let n = 0; n < looks; n++) await look();
  }

  test('puts a disaster in force, switches actions off for 15 minutes, and lets all go when it is over', async () => {
    await lag(5);
    expect(await active()).toEqual([]);
    await look();
    expect(await active()).toEqual(['EXCESSIVE_TASK_LAG']);
    expect((await stats()).disasters).toEqual(
      disasterTypes.map((type) => ({ type, active: type === 'EXCESSIVE_TASK_LAG' })),
    );
    expect(await disabled()).toMatchObject([{ expiresAt: now + 900_000 }, { expiresAt: now + 900_000 }]);
    expect(await rooms.app.get(DisabledActions).isDisabled('TASK_SHUFFLE')).toBe(true);
    await sql('DELETE FROM pending_task');
    await look();
    expect(await active()).toEqual([]);
    expect(await disabled()).toEqual([]);
    expect(await rooms.app.get(DisabledActions).isDisabled('TASK_SHUFFLE')).toBe(false);
  });

  test('of lost slaves switches actions off until an operator enables them', async () => {
    await seen('s1');
    await look();
    await down('s1');
    await look();
    expect(await active()).toEqual(['LOST_SLAVES']);
    await look(60_000);
    expect(await active()).toEqual([]);
    expect((await disabled()).map(({ type }) => type)).toEqual(disableActionsOnDisaster);
  });

  test('of lost tasks counts those of the last half minute', async () => {
    await look();
    await task({ updates: [['TASK_RUNNING', now]] });
    await lostTask(now + 1);
    await look();
    expect(await active()).toEqual(['LOST_TASKS']);
    await look();
    expect(await active()).toEqual(['LOST_TASKS']);
    await look(30_000);
    expect(await active()).toEqual([]);
  });

  test('keeps what a user declared, and replaces what it can see for itself', async () => {
    await call('POST', 'active/USER_INITIATED');
    await call('POST', 'active/LOST_TASKS');
    await look();
    expect(await active()).toEqual(['USER_INITIATED']);
  });

  test('switches nothing off while automated actions are off, and says so', async () => {
    expect(await call('POST', 'disable')).toMatchObject({ status: 204, body: '' });
    expect(await call('POST', 'disable')).toMatchObject({ status: 204 });
    expect((await stats()).automatedActionsDisabled).toBe(true);
    await lag(6);
    expect(await active()).toEqual(['EXCESSIVE_TASK_LAG']);
    expect(await disabled()).toEqual([]);
    expect(await call('POST', 'enable')).toMatchObject({ status: 204, body: '' });
    expect((await stats()).automatedActionsDisabled).toBe(false);
    await look();
    expect(await disabled()).toHaveLength(2);
  });

  test('leaves what an operator switched off as it is when no disaster is left', async () => {
    await call('POST', 'disabled-actions/DEPLOY');
    await look();
    expect(await disabled()).toMatchObject([{ type: 'DEPLOY' }]);
  });

  test('enables actions whose time is over; until then, and from then on, every caller sees the same', async () => {
    await call('POST', 'active/EXCESSIVE_TASK_LAG');
    await call('POST', 'disable');
    await sql(`DELETE FROM disabled_action WHERE action = 'TASK_SHUFFLE'`);
    now += 899_999;
    expect(await disabled()).toHaveLength(1);
    now += 1;
    expect(await disabled()).toEqual([]);
    await look(0);
    expect(await sql('SELECT 1 FROM disabled_action')).toEqual([]);
  });

  test('does nothing on an instance that does not lead any more', async () => {
    const other = await startRooms({ modules: [DisastersModule], databaseUrl: rooms.databaseUrl, clock });
    try {
      other.app.get(Leadership).stepDown('test');
      await other.app.get(DisastersPoller).runOnce(now);
      expect((await stats()).stats).toEqual([]);
    } finally {
      await other.close();
    }
  });
});
