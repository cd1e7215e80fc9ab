import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { healthSettings, launchedAt, observed } from '../../../test/support/fixtures/health.js';
import {
  isLongRunning,
  requestTypes,
  taskCleanupTypes,
  type RequestType,
  type TaskCleanupType,
} from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { Deploy } from '../model/deploy.js';
import {
  cleanupRules,
  cleanupTypeInText,
  decideKills,
  type CleanupSettings,
  type CleanupTask,
  type CleanupView,
} from './index.js';

const settings: CleanupSettings = {
  ...healthSettings,
  killNonLongRunningTasksInCleanupAfterSeconds: 86_400,
  pendingDeployHoldTaskDuringDecommissionMillis: 600_000,
  loadBalancerRemovalGracePeriodMillis: 0,
  killTaskIfNotHealthyAfterSeconds: 600,
};
const orderedAt = launchedAt + 60_000;
const deploys = new Map<string, Deploy>(['d1', 'd2'].map((id) => [id, { requestId: 'web', id }]));

const task = (instanceNo: number, changes: Partial<CleanupTask> = {}, deployId = 'd1'): CleanupTask => ({
  ...observed({ instanceNo, deployId }),
  killed: false,
  ...changes,
});
const going = (instanceNo: number, cleanupType: TaskCleanupType, deployId = 'd1'): CleanupTask => {
  const { taskId } = observed({ instanceNo, deployId });
  return task(instanceNo, { cleanup: { taskId, cleanupType, timestamp: orderedAt } }, deployId);
};
const view = (changes: Partial<CleanupView> = {}, request: Partial<Request> = {}): CleanupView => ({
  request: { id: 'web', requestType: 'SERVICE', ...request },
  requestState: 'ACTIVE',
  activeDeployId: 'd1',
  deploys,
  tasks: [],
  settings,
  ...changes,
});
const decide = (given: CleanupView, after = 0) =>
  decideKills(given, orderedAt + after).map((decision) =>
    decision.kind === 'wait' ? decision.because : decision.kind,
  );

describe('at once or not, by type', () => {
  test.each(taskCleanupTypes)('%s of a service', (type) => {
    const [decision] = decide(view({ tasks: [going(1, type)] }));
    expect(decision).toBe(cleanupRules[type].longRunningAtOnce ? 'kill' : 'TOO_FEW_REPLACEMENTS');
  });
  test.each(taskCleanupTypes)('%s of a job', (type) => {
    const [decision] = decide(view({ tasks: [going(1, type)] }, { requestType: 'ON_DEMAND' }));
    expect(decision).toBe(cleanupRules[type].othersAtOnce ? 'kill' : 'OLD_JOB_MAY_END');
  });
});

describe('before replacements count', () => {
  test.each<{ name: string; given: CleanupView; after?: number; decision: string }>([
    {
      name: 'a task without a request',
      given: view({ request: undefined, requestState: undefined, tasks: [going(1, 'BOUNCING')] }),
      decision: 'kill',
    },
    {
      name: 'a task without a request whose command has not ended',
      given: view({
        request: undefined,
        requestState: undefined,
        tasks: [{ ...going(1, 'PAUSE'), awaitsCommand: true }],
      }),
      decision: 'kill',
    },
    {
      name: 'a task that goes at once, but for its command',
      given: view({ tasks: [{ ...going(1, 'USER_REQUESTED'), awaitsCommand: true }] }),
      decision: 'SHELL_COMMAND_NOT_ENDED',
    },
    {
      name: 'a task that is destroyed, but for its command',
      given: view({ tasks: [{ ...going(1, 'USER_REQUESTED_DESTROY'), awaitsCommand: true }] }),
      decision: 'SHELL_COMMAND_NOT_ENDED',
    },
    {
      name: 'a service that is paused, but for its command',
      given: view({ requestState: 'PAUSED', tasks: [{ ...going(1, 'PAUSING'), awaitsCommand: true }] }),
      decision: 'SHELL_COMMAND_NOT_ENDED',
    },
    {
      name: 'a task that has ended, whatever its command does',
      given: view({ tasks: [{ ...going(1, 'BOUNCING'), state: 'TASK_FINISHED', awaitsCommand: true }] }),
      decision: 'drop',
    },
    {
      name: 'a task that has ended',
      given: view({ tasks: [{ ...going(1, 'BOUNCING'), state: 'TASK_FINISHED' }] }),
      decision: 'drop',
    },
    {
      name: 'a service that is paused',
      given: view({ requestState: 'PAUSED', tasks: [going(1, 'PAUSING')] }),
      decision: 'kill',
    },
    {
      name: 'a job whose request is paused',
      given: view({ requestState: 'PAUSED', tasks: [going(1, 'DEPLOY_STEP_FINISHED')] }, { requestType: 'SCHEDULED' }),
      decision: 'kill',
    },
    {
      name: 'a job that a pause spares',
      given: view({ requestState: 'PAUSED', tasks: [going(1, 'PAUSING')] }, { requestType: 'SCHEDULED' }),
      decision: 'OLD_JOB_MAY_END',
    },
    {
      name: 'a job after a day',
      given: view({ tasks: [going(1, 'PAUSING')] }, { requestType: 'SCHEDULED' }),
      after: 86_400_001,
      decision: 'kill',
    },
    {
      name: 'a job after its own limit',
      given: view(
        { tasks: [going(1, 'PAUSING')] },
        { requestType: 'SCHEDULED', killOldNonLongRunningTasksAfterMillis: 10 },
      ),
      after: 11,
      decision: 'kill',
    },
    {
      name: 'a job with no patience',
      given: view(
        { tasks: [going(1, 'PAUSING')] },
        { requestType: 'SCHEDULED', killOldNonLongRunningTasksAfterMillis: 0 },
      ),
      decision: 'kill',
    },
    {
      name: 'a task of the deploy in progress on a machine being emptied',
      given: view({ pendingDeployId: 'd2', tasks: [going(1, 'DECOMISSIONING', 'd2')] }),
      after: 600_000,
      decision: 'HELD_FOR_DEPLOY',
    },
    {
      name: 'the same ten minutes later',
      given: view({ pendingDeployId: 'd2', tasks: [going(1, 'DECOMISSIONING', 'd2')] }),
      after: 600_001,
      decision: 'kill',
    },
    {
      name: 'a task when no deploy serves',
      given: view({ activeDeployId: undefined, tasks: [going(1, 'BOUNCING')] }),
      decision: 'kill',
    },
  ])('$name: $decision', ({ given, after, decision }) => expect(decide(given, after)).toEqual([decision]));
});

describe('replacements', () => {
  const two = { instances: 2 };
  const old = [going(1, 'BOUNCING'), going(2, 'BOUNCING')];
  test.each<{ name: string; replacements: CleanupTask[]; decision: string }>([
    { name: 'too few', replacements: [task(3)], decision: 'TOO_FEW_REPLACEMENTS' },
    { name: 'enough', replacements: [task(3), task(4)], decision: 'kill' },
    {
      name: 'one not healthy yet',
      replacements: [task(3), task(4, { runningAt: orderedAt - 4_999 })],
      decision: 'REPLACEMENTS_NOT_HEALTHY',
    },
    { name: 'one ended', replacements: [task(3), task(4, { state: 'TASK_FAILED' })], decision: 'TOO_FEW_REPLACEMENTS' },
    { name: 'one to be killed', replacements: [task(3), task(4, { killed: true })], decision: 'TOO_FEW_REPLACEMENTS' },
    { name: 'one of another deploy', replacements: [task(3), task(4, {}, 'd2')], decision: 'TOO_FEW_REPLACEMENTS' },
  ])('$name: $decision', ({ replacements, decision }) => {
    expect(decide(view({ tasks: [...old, ...replacements] }, two))).toEqual([decision, decision]);
  });
  test('of a deploy that is not used any more come from the active one', () => {
    expect(decide(view({ activeDeployId: 'd2', tasks: [going(1, 'DECOMISSIONING'), task(1, {}, 'd2')] }))).toEqual([
      'kill',
    ]);
  });
});

describe('one by one', () => {
  const three = { instances: 3 };
  const old = [1, 2, 3].map((no) => going(no, 'INCREMENTAL_BOUNCE'));
  test.each<{ healthy: number; kills: number }>([
    { healthy: 0, kills: 0 },
    { healthy: 1, kills: 1 },
    { healthy: 2, kills: 2 },
    { healthy: 3, kills: 3 },
  ])('$healthy healthy replacements let $kills of three go', ({ healthy, kills }) => {
    const replacements = Array.from({ length: healthy }, (_, index) => task(index + 4));
    const decisions = decide(view({ tasks: [...old, ...replacements] }, three));
    expect(decisions.filter((decision) => decision === 'kill')).toHaveLength(kills);
  });
  test('new tasks of a failed deploy go when the active deploy is complete again', () => {
    const failed = going(1, 'INCREMENTAL_DEPLOY_FAILED', 'd2');
    expect(decide(view({ tasks: [failed, task(1), task(2)] }, three))).toEqual(['TOO_FEW_REPLACEMENTS']);
    expect(decide(view({ tasks: [failed, task(1), task(2), task(3)] }, three))).toEqual(['kill']);
  });
  test('healthy instances never fall below what the request wants', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(8), fc.nat(8), (instances, cleaning, fresh) => {
        const tasks = [
          ...Array.from({ length: cleaning }, (_, no) => going(no + 1, 'INCREMENTAL_BOUNCE')),
          ...Array.from({ length: fresh }, (_, no) => task(no + 50)),
        ];
        const kills = decide(view({ tasks }, { instances })).filter((decision) => decision === 'kill').length;
        expect(cleaning + fresh - kills).toBeGreaterThanOrEqual(Math.min(instances, cleaning + fresh));
      }),
    );
  });
});

test('every type has a rule that kills the tasks of any kind of request in the end', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...taskCleanupTypes),
      fc.constantFrom<RequestType>(...requestTypes),
      (type, requestType) => {
        const replacements = isLongRunning(requestType) ? [task(2)] : [];
        expect(decide(view({ tasks: [going(1, type), ...replacements] }, { requestType }), 86_400_001)).toEqual([
          'kill',
        ]);
      },
    ),
  );
});

test('the type is found again in the text of a status', () => {
  expect(cleanupTypeInText('SCALING_DOWN by ann - too many')).toBe('SCALING_DOWN');
  expect(cleanupTypeInText('PAUSE')).toBe('PAUSE');
  expect(cleanupTypeInText('something else')).toBeUndefined();
  expect(cleanupTypeInText(undefined)).toBeUndefined();
});

test.each(['BOUNCING', 'INCREMENTAL_BOUNCE'] as const)('%s: one that has become sick since replaces nobody', (type) => {
  const tasks = (isSick: boolean) => [going(1, type), task(2), task(3, { isSick })];
  expect(decide(view({ tasks: tasks(true) }, { instances: 2 }))).not.toEqual(['kill']);
  expect(decide(view({ tasks: tasks(false) }, { instances: 2 }))).toEqual(['kill']);
});

describe('a sick task', () => {
  const newer = (changes: Partial<CleanupTask> = {}): CleanupTask => {
    const { taskId } = observed();
    return task(1, { ...changes, taskId: { ...taskId, id: `${taskId.id}-new` } });
  };
  const waiting = { runningAt: undefined, state: 'TASK_STARTING' as const };
  test.each<{ name: string; others: CleanupTask[]; after: number; is: string }>([
    { name: 'waits for the one in its place', others: [], after: 0, is: 'TOO_FEW_REPLACEMENTS' },
    { name: 'is not replaced by another instance', others: [task(2)], after: 0, is: 'TOO_FEW_REPLACEMENTS' },
    { name: 'waits until that is healthy', others: [newer(waiting)], after: 20_000, is: 'REPLACEMENTS_NOT_HEALTHY' },
    { name: 'goes when it is, whatever the others do', others: [newer(), task(2, waiting)], after: 0, is: 'kill' },
    { name: 'makes room where nothing was started in time', others: [], after: 15_000, is: 'kill' },
    { name: 'goes at last when the new one stays ill', others: [newer(waiting)], after: 600_000, is: 'kill' },
  ])('$name', ({ others, after, is }) => {
    const tasks = [going(1, 'UNHEALTHY_TASK'), ...others];
    expect(decide(view({ tasks }, { instances: 2 }), after)).toEqual([is]);
  });
});

describe('where old tasks end first', () => {
  const oldFirst = (id: string, maxUnavailable = 1): [string, Deploy] => [
    id,
    { requestId: 'web', id, deployStrategy: 'OLD_FIRST', maxUnavailable },
  ];
  const well = orderedAt - launchedAt;
  const three = { instances: 3 };
  const bounced = [going(1, 'BOUNCING'), going(2, 'BOUNCING'), going(3, 'BOUNCING')];
  test.each<{ name: string; given: CleanupView; decisions: string[] }>([
    {
      name: 'a bounce ends one before its replacement starts',
      given: view({ deploys: new Map([oldFirst('d1')]), tasks: bounced }, three),
      decisions: ['kill', 'TOO_FEW_AVAILABLE', 'TOO_FEW_AVAILABLE'],
    },
    {
      name: 'or as many as may be missing',
      given: view({ deploys: new Map([oldFirst('d1', 2)]), tasks: bounced }, three),
      decisions: ['kill', 'kill', 'TOO_FEW_AVAILABLE'],
    },
    {
      name: 'no second one before the first is made up for',
      given: view({ deploys: new Map([oldFirst('d1')]), tasks: bounced.slice(1) }, three),
      decisions: ['TOO_FEW_AVAILABLE', 'TOO_FEW_AVAILABLE'],
    },
    {
      name: 'one that has to go anyway counts as missing',
      given: view(
        { deploys: new Map([oldFirst('d1')]), tasks: [going(1, 'USER_REQUESTED'), ...bounced.slice(1)] },
        three,
      ),
      decisions: ['kill', 'TOO_FEW_AVAILABLE', 'TOO_FEW_AVAILABLE'],
    },
    {
      name: 'one that is not healthy takes nothing away',
      given: view(
        {
          deploys: new Map([oldFirst('d1')]),
          tasks: [task(1), task(2), { ...going(3, 'UNHEALTHY_TASK'), isSick: true }],
        },
        three,
      ),
      decisions: ['kill'],
    },
    {
      name: 'a task on a machine that is emptied ends before its replacement starts',
      given: view({ deploys: new Map([oldFirst('d1')]), tasks: [going(1, 'DECOMISSIONING'), task(2), task(3)] }, three),
      decisions: ['kill'],
    },
    {
      name: 'a failed deploy goes as many at a time as may be missing',
      given: view(
        {
          deploys: new Map([...deploys, oldFirst('d2')]),
          tasks: [going(1, 'INCREMENTAL_DEPLOY_FAILED', 'd2'), going(2, 'INCREMENTAL_DEPLOY_FAILED', 'd2'), task(3)],
        },
        three,
      ),
      decisions: ['kill', 'TOO_FEW_AVAILABLE'],
    },
    {
      name: 'the deploy in progress says so',
      given: view(
        { deploys: new Map([...deploys, oldFirst('d2')]), pendingDeployId: 'd2', tasks: [going(1, 'BOUNCING')] },
        {},
      ),
      decisions: ['kill'],
    },
    {
      name: 'a failed deploy says so, too, of which a task was given up and may still run',
      given: view(
        {
          deploys: new Map([...deploys, oldFirst('d2')]),
          tasks: [going(1, 'BOUNCING'), { ...task(2, {}, 'd2'), state: 'TASK_UNREACHABLE', mayRun: true }],
        },
        {},
      ),
      decisions: ['kill'],
    },
    {
      name: 'or that new ones start first',
      given: view(
        {
          deploys: new Map([oldFirst('d1'), ['d2', { requestId: 'web', id: 'd2' }]]),
          pendingDeployId: 'd2',
          tasks: [going(1, 'BOUNCING')],
        },
        {},
      ),
      decisions: ['TOO_FEW_REPLACEMENTS'],
    },
  ])('$name', ({ given, decisions }) => expect(decide(given, well)).toEqual(decisions));
});
