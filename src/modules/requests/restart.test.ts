import { afterEach, expect, test } from 'vitest';
import { MachineChanges } from '../slaves/machine-changes.service.js';
import { MachineReads } from '../slaves/machine-reads.service.js';
import { DisastersModule } from '../disasters/disasters.module.js';
import { PriorityModule } from '../priority/priority.module.js';
import { PriorityService } from '../priority/priority.service.js';
import { Bounces } from './actions/bounces.service.js';
import { HealthcheckSkips } from './actions/healthcheck-skips.service.js';
import { Pauses } from './actions/pauses.service.js';
import { Priorities } from './actions/priorities.service.js';
import { Scaling } from './actions/scaling.service.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { ann, Life } from '../../../test/support/life.js';

let life: Life;
afterEach(() => life.close());

/** One pass of whatever ends things that lapse. Answers when the next one does. */
async function expire(): Promise<number | undefined> {
  const { pollers, now } = life.world;
  const ends: number[] = [];
  for (const { pass } of pollers.filter(({ runsWhile }) => runsWhile === 'RUN_EXPIRING_ACTION_POLLER')) {
    const end = await pass(now);
    if (typeof end === 'number') ends.push(end);
  }
  return ends.length > 0 ? Math.min(...ends) : undefined;
}
const what = async () => {
  const requests = await life.world.query<{ id: string; is: string }>(
    `SELECT id, concat_ws(' ', state, CASE WHEN bouncing THEN 'bouncing' END, document ->> 'instances',
       document ->> 'taskPriorityLevel', document ->> 'skipHealthchecks') AS is FROM request ORDER BY id`,
  );
  const slaves = await life.get(MachineReads).slaves();
  const freezes = await life.world.query('SELECT 1 FROM priority_freeze');
  return {
    ...Object.fromEntries(requests.map(({ id, is }) => [id, is])),
    slave: slaves.find(({ id }) => id === 'slave-3')!.currentState.state,
    frozen: freezes.length,
  };
};

test('everything that lapses ends at its time when another leader has taken over, however late that is', async () => {
  life = await Life.begin({ modules: [PriorityModule] });
  const ids = ['bounced', 'paused', 'prioritized', 'scaled', 'skipped'];
  for (const id of ids) await life.save(id);
  await life.run(1);
  for (const id of ids) await life.deploy(id, 'd1');
  await life.run(8);
  const before = await what();
  expect(before).toMatchObject({ bounced: 'ACTIVE', scaled: 'ACTIVE', slave: 'ACTIVE', frozen: 0 });

  const durationMillis = 60_000;
  await life.get(Bounces).bounce('bounced', { durationMillis }, ann);
  await life.get(Pauses).pause('paused', { durationMillis }, ann);
  await life.get(Priorities).setPriority('prioritized', { priority: 0.9, durationMillis }, ann);
  await life.get(Scaling).scale('scaled', { instances: 3, durationMillis }, false, ann);
  await life.get(HealthcheckSkips).setSkip('skipped', { skipHealthchecks: true, durationMillis }, ann);
  const freeze = { durationMillis, revertToState: 'ACTIVE' } as const;
  await life.get(MachineChanges).change('SLAVE', 'slave-3', 'FROZEN', freeze, ann);
  await life.get(PriorityService).freeze({ minimumPriorityLevel: 0.1, killTasks: false, durationMillis }, ann);
  const end = life.world.now + durationMillis;
  const changed = {
    bounced: 'ACTIVE bouncing',
    paused: 'PAUSED',
    prioritized: 'ACTIVE 0.9',
    scaled: 'ACTIVE 3',
    skipped: 'ACTIVE true',
    slave: 'FROZEN',
    frozen: 1,
  };
  expect(await what()).toEqual(changed);

  await life.world.cluster.advance(30_000);
  await life.world.crash();
  expect(await expire()).toBe(end + 1);
  await life.world.cluster.advance(30_000);
  expect(await expire()).toBe(end + 1);
  expect(await what()).toEqual(changed);

  await life.world.cluster.advance(1);
  await life.world.crash();
  expect(await expire()).toBeUndefined();
  expect(await what()).toEqual(before);
  expect(await life.world.query('SELECT 1 FROM expiring_action')).toEqual([]);
});

test('an action that a disaster switched off comes back at its time after a restart', async () => {
  life = await Life.begin({ modules: [DisastersModule], settings: {} });
  const expiresAt = life.world.now + 900_000;
  await life.world.query(
    `INSERT INTO disabled_action (action, message, automatically_clearable, expires_at) VALUES ('DEPLOY', 'lost', true, $1),
       ('KILL_TASK', 'by hand', false, NULL)`,
    [new Date(expiresAt)],
  );
  const off = async () => (await life.get(DisabledActions).list()).map(({ type }) => type);
  await life.world.cluster.advance(899_999);
  await life.world.crash();
  expect(await off()).toEqual(['DEPLOY', 'KILL_TASK']);
  await life.world.cluster.advance(1);
  expect(await off()).toEqual(['KILL_TASK']);
  await life.world.cluster.advance(1_000_000_000);
  expect(await off()).toEqual(['KILL_TASK']);
});
