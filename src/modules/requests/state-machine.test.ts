import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RequestState } from '../../core/model/enums.js';
import { Bounces } from './actions/bounces.service.js';
import { Deletions } from './actions/deletions.service.js';
import { HealthcheckSkips } from './actions/healthcheck-skips.service.js';
import { Pauses } from './actions/pauses.service.js';
import { Priorities } from './actions/priorities.service.js';
import { Scaling } from './actions/scaling.service.js';
import { RequestsService } from './requests.service.js';
import { SchedulerError } from '../../platform/errors.js';
import { parseTaskId } from '../../core/task-id.js';
import { ann, Life } from '../../../test/support/life.js';

/* What brings a request from one state into another, and what its history says of it. */

let life: Life;
/** Requests whose tasks fail as soon as they run. */
const failing = new Set<string>();
/** Requests whose next deploy never gets as far as running. */
const slow = new Set<string>();

const states = [
  'ACTIVE',
  'SYSTEM_COOLDOWN',
  'PAUSED',
  'FINISHED',
  'DEPLOYING_TO_UNPAUSE',
  'DELETING',
] as const satisfies RequestState[];
type State = (typeof states)[number];

/** What people do, in each state: the state after it and the newest event, or the code of the refusal. */
const orders: Record<
  string,
  { ask: (id: string) => Promise<unknown>; leads: Record<State, [string, string] | string> }
> = {
  update: {
    ask: (id) => life.get(RequestsService).saveRequest({ ...saved(id), owners: ['ann'] }, ann),
    leads: sameState('UPDATED'),
  },
  groups: {
    ask: (id) => life.get(RequestsService).updateGroups(id, { group: 'g' }, ann),
    leads: sameState('UPDATED'),
  },
  'skip-healthchecks': {
    ask: (id) => life.get(HealthcheckSkips).setSkip(id, { skipHealthchecks: true }, ann),
    leads: sameState('UPDATED'),
  },
  priority: {
    ask: (id) => life.get(Priorities).setPriority(id, { priority: 0.9 }, ann),
    leads: sameState('UPDATED'),
  },
  scale: {
    ask: (id) => life.get(Scaling).scale(id, { instances: 2 }, false, ann),
    // The schedule of a job that has finished runs one at a time.
    leads: { ...sameState('SCALED'), FINISHED: 'INVALID_REQUEST' },
  },
  bounce: {
    ask: (id) => life.get(Bounces).bounce(id, {}, ann),
    leads: {
      ACTIVE: ['ACTIVE', 'BOUNCED'],
      SYSTEM_COOLDOWN: ['ACTIVE', 'BOUNCED'],
      PAUSED: 'REQUEST_PAUSED',
      FINISHED: 'INVALID_REQUEST',
      DEPLOYING_TO_UNPAUSE: ['ACTIVE', 'BOUNCED'],
      DELETING: 'REQUEST_BEING_CLEANED',
    },
  },
  pause: {
    ask: (id) => life.get(Pauses).pause(id, {}, ann),
    leads: {
      ACTIVE: ['PAUSED', 'PAUSED'],
      SYSTEM_COOLDOWN: ['PAUSED', 'PAUSED'],
      PAUSED: 'REQUEST_PAUSED',
      FINISHED: ['PAUSED', 'PAUSED'],
      DEPLOYING_TO_UNPAUSE: ['PAUSED', 'PAUSED'],
      DELETING: 'REQUEST_BEING_CLEANED',
    },
  },
  unpause: {
    ask: (id) => life.get(Pauses).unpause(id, {}, ann),
    leads: { ...onlyIn('PAUSED', ['ACTIVE', 'UNPAUSED'], 'REQUEST_NOT_PAUSED') },
  },
  'exit-cooldown': {
    ask: (id) => life.get(Pauses).exitCooldown(id, {}, ann),
    leads: { ...onlyIn('SYSTEM_COOLDOWN', ['ACTIVE', 'EXITED_COOLDOWN'], 'REQUEST_NOT_IN_COOLDOWN') },
  },
  delete: {
    ask: (id) => life.get(Deletions).delete(id, {}, ann),
    leads: {
      ACTIVE: ['DELETING', 'DELETING'],
      SYSTEM_COOLDOWN: ['DELETING', 'DELETING'],
      PAUSED: ['DELETING', 'DELETING'],
      FINISHED: ['DELETING', 'DELETING'],
      DEPLOYING_TO_UNPAUSE: ['DELETING', 'DELETING'],
      DELETING: ['DELETING', 'DELETING'],
    },
  },
};

function sameState(event: string): Record<State, [string, string] | string> {
  const same = Object.fromEntries(states.map((state) => [state, [state, event] as [string, string]]));
  return { ...(same as Record<State, [string, string]>), DELETING: 'REQUEST_BEING_CLEANED' };
}
function onlyIn(only: State, leads: [string, string], refusal: string): Record<State, [string, string] | string> {
  return Object.fromEntries(states.map((state) => [state, state === only ? leads : refusal])) as never;
}

const cases = Object.entries(orders).flatMap(([order, { ask, leads }]) =>
  states.map((from) => ({ order, from, ask, leads: leads[from], id: `${from}_${order}` })),
);
const idsIn = (state: State): string[] =>
  [...cases.map(({ id }) => id), ...others].filter((id) => id.startsWith(`${state}_`));
/** Requests that the leader moves on by itself. */
const others = [
  'SYSTEM_COOLDOWN_aged',
  'FINISHED_rescheduled',
  'FINISHED_deployed',
  'DEPLOYING_TO_UNPAUSE_good',
  'DEPLOYING_TO_UNPAUSE_bad',
  'DELETING_gone',
  'ACTIVE_changed',
  'ACTIVE_while',
  'ACTIVE_short',
];
const isOver = (id: string) => id.startsWith('FINISHED');
const saved = (id: string) =>
  isOver(id)
    ? ({ id, requestType: 'SCHEDULED', quartzSchedule: '0 0 0 1 1 ? 2020' } as const)
    : ({ id, requestType: 'SERVICE' } as const);

/** Every request is brought into its state in the way in which it comes there in life. */
beforeAll(async () => {
  life = await Life.begin();
  life.world.cluster.onLaunch(({ taskId }) => {
    const id = parseTaskId(taskId)!.requestId;
    if (slow.has(id)) return { startAfter: 1_000_000 };
    return failing.has(id) ? { runFor: 10, exit: 'TASK_FAILED' } : {};
  });
  const all = states.flatMap(idsIn);
  for (const id of all)
    await life.save(id, { ...saved(id), ...(isOver(id) && { quartzSchedule: '0 0 0 1 1 ? 2099' }) });
  // In life the last of its times has passed meanwhile.
  for (const id of all.filter(isOver)) await life.world.changeRequest(id, saved(id));
  for (const id of all) await life.deploy(id, 'd1');
  await life.run(8);

  for (const id of idsIn('SYSTEM_COOLDOWN')) {
    failing.add(id);
    const [task] = await life.world.active(id);
    life.world.cluster.finish(task!.taskId.id, 'TASK_FAILED');
  }
  for (const id of [...idsIn('PAUSED'), ...idsIn('DEPLOYING_TO_UNPAUSE')]) await life.get(Pauses).pause(id, {}, ann);
  const coolingDown = () => Promise.all(idsIn('SYSTEM_COOLDOWN').map((id) => life.state(id)));
  await life.until('all cool down', async () => (await coolingDown()).every((state) => state === 'SYSTEM_COOLDOWN'));
  for (const id of idsIn('DEPLOYING_TO_UNPAUSE')) {
    slow.add(id);
    await life.deploy(id, 'd2', { unpauseOnSuccessfulDeploy: true });
  }
  for (const id of idsIn('DELETING')) await life.get(Deletions).delete(id, {}, ann);
}, 300_000);
afterAll(() => life.close());

test.each(states)('requests come into the state %s', async (state) => {
  const found = await Promise.all(idsIn(state).map((id) => life.state(id)));
  expect(new Set(found)).toEqual(new Set([state]));
  const newest = new Set(await Promise.all(idsIn(state).map(async (id) => (await life.events(id))[0])));
  const event = { ACTIVE: 'CREATED', SYSTEM_COOLDOWN: 'ENTERED_COOLDOWN', DEPLOYING_TO_UNPAUSE: 'DEPLOYED_TO_UNPAUSE' };
  expect(newest).toEqual(new Set([state in event ? event[state as keyof typeof event] : state]));
});

describe.each(states)('%s', (from) => {
  test.each(cases.filter((one) => one.from === from))('$order: $leads', async ({ ask, leads, id }) => {
    const before = await life.events(id);
    const refused = await ask(id).then(
      () => undefined,
      (cause: unknown) => (cause instanceof SchedulerError ? cause.code : Promise.reject(cause as Error)),
    );
    if (typeof leads === 'string') {
      expect([refused, await life.state(id), await life.events(id)]).toEqual([leads, from, before]);
      return;
    }
    const [to, event] = leads;
    const repeated = from === 'DELETING';
    expect([refused, await life.state(id), await life.events(id)]).toEqual([
      undefined,
      to,
      repeated ? before : [event, ...before],
    ]);
  });
});

describe('the leader', () => {
  test('FINISHED becomes ACTIVE when its schedule is changed: UPDATED', async () => {
    await life.save('FINISHED_rescheduled', { requestType: 'SCHEDULED', quartzSchedule: '0 0 0 1 1 ?' });
    expect(await life.state('FINISHED_rescheduled')).toBe('ACTIVE');
    expect((await life.events('FINISHED_rescheduled'))[0]).toBe('UPDATED');
  });

  test('FINISHED becomes ACTIVE when a deploy succeeds: UPDATED; and FINISHED again without a further run', async () => {
    const id = 'FINISHED_deployed';
    await life.deploy(id, 'd2');
    await life.until('the deploy ends', async () => (await life.events(id)).length > 2);
    await life.run(2);
    expect(await life.events(id)).toEqual(['FINISHED', 'UPDATED', 'FINISHED', 'CREATED']);
  });

  test('a deploy that unpauses ends in ACTIVE with DEPLOYED_TO_UNPAUSE when it succeeds', async () => {
    const id = 'DEPLOYING_TO_UNPAUSE_good';
    slow.delete(id);
    // Its task was launched while it was slow: begun anew, it starts.
    for (const task of await life.world.active(id)) await life.world.kill(task.taskId.id, 0);
    await life.get(Pauses).pause(id, {}, ann);
    await life.run(3);
    await life.deploy(id, 'd3', { unpauseOnSuccessfulDeploy: true });
    expect(await life.state(id)).toBe('DEPLOYING_TO_UNPAUSE');
    await life.until('it is active', async () => (await life.state(id)) === 'ACTIVE');
    expect((await life.events(id)).slice(0, 3)).toEqual(['DEPLOYED_TO_UNPAUSE', 'DEPLOYED_TO_UNPAUSE', 'PAUSED']);
  });

  test('and in PAUSED with PAUSED when it does not', async () => {
    const id = 'DEPLOYING_TO_UNPAUSE_bad';
    await life.until('it is paused', async () => (await life.state(id)) === 'PAUSED', 200);
    expect((await life.events(id)).slice(0, 3)).toEqual(['PAUSED', 'DEPLOYED_TO_UNPAUSE', 'PAUSED']);
  }, 120_000);

  test('a deploy that changes its request keeps the state: UPDATED', async () => {
    const id = 'ACTIVE_changed';
    await life.deploy(id, 'd2', { updatedRequest: { id, requestType: 'SERVICE', owners: ['ann'] } });
    await life.until('the deploy ends', async () => (await life.events(id)).length > 1);
    expect([await life.state(id), await life.events(id)]).toEqual(['ACTIVE', ['UPDATED', 'CREATED']]);
  });

  test('an expiring scale keeps the state: SCALED, then SCALE_REVERTED', async () => {
    await life.get(Scaling).scale('ACTIVE_while', { instances: 2, durationMillis: 2_000 }, false, ann);
    await life.run(4);
    expect(await life.events('ACTIVE_while')).toEqual(['SCALE_REVERTED', 'SCALED', 'CREATED']);
    expect(await life.state('ACTIVE_while')).toBe('ACTIVE');
  });

  test('an expiring pause ends as UNPAUSED', async () => {
    await life.get(Pauses).pause('ACTIVE_short', { durationMillis: 2_000 }, ann);
    await life.run(4);
    expect(await life.events('ACTIVE_short')).toEqual(['UNPAUSED', 'PAUSED', 'CREATED']);
    expect(await life.state('ACTIVE_short')).toBe('ACTIVE');
  });

  test('SYSTEM_COOLDOWN ends as EXITED_COOLDOWN when the failures have aged out', async () => {
    const id = 'SYSTEM_COOLDOWN_aged';
    failing.delete(id);
    await life.until('a task runs', async () => (await life.world.active(id)).length === 1, 200);
    await life.run(60);
    await life.world.enqueue({ requestId: id });
    await life.run(1);
    expect([await life.state(id), (await life.events(id))[0]]).toEqual(['ACTIVE', 'EXITED_COOLDOWN']);
  });

  test('DELETING is removed when no task is left: DELETED', async () => {
    const id = 'DELETING_gone';
    await life.until('it is gone', async () => (await life.state(id)) === undefined);
    expect(await life.events(id)).toEqual(['DELETED', 'DELETING', 'CREATED']);
  });
});
