import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestCleanupTypes, requestStates, requestTypes } from '../model/enums.js';
import type { Request } from '../model/request.js';
import {
  refuseBounce,
  refuseBounceAfterScale,
  refuseExitCooldown,
  refusePause,
  refuseSecondBounce,
  refuseUnpause,
  refuseUpdate,
  type RequestFacts,
} from './action-rules.js';
import { changesWork, hasLapsed, lapseMessage, scaleMessage, stateAfterUpdate, surplusTasks } from './changes.js';
import { decideRun, type RunFacts, type RunNowLimits, runProblems } from './run-now.js';

const job: Request = { id: 'r', requestType: 'SCHEDULED', schedule: '0 4 * * *' };
const request = (members: Partial<Request> = {}): Request => ({ id: 'r', requestType: 'SERVICE', ...members });
const facts = (changes: Partial<RequestFacts> = {}): RequestFacts => ({
  request: request(),
  state: 'ACTIVE',
  cleanups: [],
  deployInUse: 'd1',
  bouncing: false,
  deployChangesRequest: false,
  ...changes,
});

describe('what may be done', () => {
  test.each([
    ['update', refuseUpdate, {}, undefined],
    ['update', refuseUpdate, { state: 'PAUSED' }, undefined],
    ['update', refuseUpdate, { state: 'DELETING' }, 'REQUEST_BEING_CLEANED'],
    ['update', refuseUpdate, { cleanups: ['BOUNCE'] }, 'REQUEST_BEING_CLEANED'],
    ['update', refuseUpdate, { deployChangesRequest: true }, 'DEPLOY_IN_PROGRESS'],
    ['pause', refusePause, { state: 'SYSTEM_COOLDOWN' }, undefined],
    ['pause', refusePause, { cleanups: ['BOUNCE', 'INCREMENTAL_BOUNCE'], bouncing: true }, undefined],
    ['pause', refusePause, { state: 'PAUSED' }, 'REQUEST_PAUSED'],
    ['pause', refusePause, { state: 'DELETING' }, 'REQUEST_BEING_CLEANED'],
    ['pause', refusePause, { cleanups: ['PAUSING'] }, 'REQUEST_BEING_CLEANED'],
    ['unpause', refuseUnpause, { state: 'PAUSED', cleanups: ['PAUSING'] }, undefined],
    ['unpause', refuseUnpause, {}, 'REQUEST_NOT_PAUSED'],
    ['exit cooldown', refuseExitCooldown, { state: 'SYSTEM_COOLDOWN' }, undefined],
    ['exit cooldown', refuseExitCooldown, {}, 'REQUEST_NOT_IN_COOLDOWN'],
    ['bounce', refuseBounce, { state: 'SYSTEM_COOLDOWN' }, undefined],
    ['bounce', refuseBounce, { request: request({ requestType: 'SCHEDULED' }) }, 'INVALID_REQUEST'],
    ['bounce', refuseBounce, { state: 'PAUSED' }, 'REQUEST_PAUSED'],
    ['bounce', refuseBounce, { state: 'DELETING' }, 'REQUEST_BEING_CLEANED'],
    ['second bounce', refuseSecondBounce, {}, undefined],
    ['second bounce', refuseSecondBounce, { deployInUse: undefined }, 'NO_DEPLOY'],
    ['second bounce', refuseSecondBounce, { bouncing: true }, 'REQUEST_BOUNCING'],
    ['second bounce', refuseSecondBounce, { cleanups: ['INCREMENTAL_BOUNCE'] }, 'REQUEST_BOUNCING'],
    ['bounce after scale', refuseBounceAfterScale, { bouncing: true }, undefined],
    ['bounce after scale', refuseBounceAfterScale, { cleanups: ['BOUNCE'] }, 'REQUEST_BOUNCING'],
    ['bounce after scale', refuseBounceAfterScale, { state: 'PAUSED' }, 'REQUEST_PAUSED'],
  ] as const)('%s', (_name, rule, changes, code) => expect(rule(facts(changes))?.code).toBe(code));

  test('every refusal names the request', () =>
    fc.assert(
      fc.property(
        fc.constantFrom(refuseUpdate, refusePause, refuseUnpause, refuseExitCooldown, refuseBounce, refuseSecondBounce),
        fc.constantFrom(...requestStates),
        fc.constantFrom(...requestTypes),
        fc.subarray([...requestCleanupTypes]),
        (rule, state, requestType, cleanups) => {
          const refusal = rule(facts({ state, cleanups, request: request({ id: 'some-id', requestType }) }));
          if (refusal) expect(refusal.message).toContain("'some-id'");
        },
      ),
    ));
});

describe('what follows from a change', () => {
  test.each<[string, Request, Request, boolean]>([
    ['nothing', request(), request(), false],
    ['one instance said and unsaid', request(), request({ instances: 1 }), false],
    ['owners', request(), request({ owners: ['a'] }), false],
    ['instances', request(), request({ instances: 2 }), true],
    ['a schedule', request({ schedule: 'a' }), request({ schedule: 'b' }), true],
    ['a rule', request({ schedule: 'FREQ=DAILY' }), request({ schedule: 'FREQ=HOURLY' }), true],
    [
      'a Quartz expression beside the same schedule',
      request({ schedule: 'a', quartzSchedule: 'a' }),
      request({ schedule: 'a', quartzSchedule: 'b' }),
      true,
    ],
    [
      'a schedule that reads the same',
      request({ schedule: 'a', quartzSchedule: 'q' }),
      request({ schedule: ' a', quartzSchedule: 'q' }),
      false,
    ],
    ['a time zone alone', request(), request({ scheduleTimeZone: 'UTC' }), false],
    ['the time zone of a schedule', job, { ...job, scheduleTimeZone: 'Asia/Tokyo' }, true],
    ['the kind of a schedule', job, { ...job, scheduleType: 'QUARTZ' as const }, true],
  ])('%s', (_name, before, after, expected) => expect(changesWork(before, after)).toBe(expected));

  test('only a finished request changes its state, and only when it has something to do', () => {
    for (const state of requestStates) {
      expect(stateAfterUpdate(state, false)).toBe(state);
      expect(stateAfterUpdate(state, true)).toBe(state === 'FINISHED' ? 'ACTIVE' : state);
    }
  });

  test('tasks that are too many are those beyond the new number, and growing ends none', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 }), (from, to) => {
        const tasks = Array.from({ length: from }, (_unused, index) => ({ instanceNo: index + 1 }));
        const surplus = surplusTasks(request({ instances: from }), request({ instances: to }), tasks);
        expect(tasks.length - surplus.length).toBe(Math.min(from, to));
        expect(surplus.every(({ instanceNo }) => instanceNo > to)).toBe(true);
      }),
    ));

  test('the history tells what was said and what was done', () => {
    expect(scaleMessage(2, 3, undefined)).toBe('Scaled from 2 to 3');
    expect(scaleMessage(2, 3, 'why')).toBe('why -- Scaled from 2 to 3');
  });
});

const limits = {
  defaultCpus: 1,
  defaultMemory: 64,
  defaultDisk: 0,
  maxNumCpusPerInstance: 50,
  maxMemoryMbPerInstance: 24_000,
  maxDiskMbPerInstance: 60_000,
  maxNumCpusPerRequest: 900,
  maxMemoryMbPerRequest: 450_000,
  maxDiskMbPerRequest: 3_000_000,
  maxRunIdSize: 100,
  maxRecordBytes: 262_144,
  maxRunNowTaskLaunchDelayDays: 30,
} satisfies RunNowLimits;
const day = 24 * 3600 * 1000;

describe('a run', () => {
  const runFacts = (changes: Partial<RunFacts> = {}): RunFacts => ({
    ...facts({ request: request({ requestType: 'ON_DEMAND' }) }),
    activeTasks: 0,
    waitingTasks: 0,
    numPorts: 0,
    ...changes,
  });
  const cron = request({ requestType: 'SCHEDULED' });
  const two = request({ requestType: 'ON_DEMAND', instances: 2 });

  test.each<[string, Partial<RunFacts>, string]>([
    ['of an on-demand job', { activeTasks: 99 }, 'ONEOFF'],
    ['of a cron job', { request: cron, waitingTasks: 1 }, 'IMMEDIATE'],
    ['of a cron job that runs', { request: cron, activeTasks: 1 }, 'TASK_RUNNING'],
    ['with room for one more', { request: two, activeTasks: 1 }, 'ONEOFF'],
    ['with all places taken', { request: two, activeTasks: 1, waitingTasks: 1 }, 'TOO_MANY_RUNS'],
    ['of a service', { request: request() }, 'INVALID_REQUEST'],
    ['of a cron job whose schedule has ended', { request: cron, state: 'FINISHED' }, 'REQUEST_FINISHED'],
    ['of a service that is paused', { request: request(), state: 'PAUSED' }, 'REQUEST_PAUSED'],
    ['of a job that is being deleted', { state: 'DELETING' }, 'REQUEST_BEING_CLEANED'],
    ['without a deploy', { deployInUse: undefined }, 'NO_DEPLOY'],
  ])('%s', (_name, changes, expected) => {
    const decision = decideRun({}, runFacts(changes));
    expect(decision.kind === 'queue' ? decision.pendingType : decision.code).toBe(expected);
  });

  test('may not have fewer ports than its deploy', () => {
    expect(decideRun({ resources: { cpus: 1, memoryMb: 1, numPorts: 1 } }, runFacts({ numPorts: 2 }))).toMatchObject({
      code: 'INVALID_REQUEST',
      errors: [{ field: 'resources.numPorts', rule: 'min' }],
    });
    expect(decideRun({}, runFacts({ numPorts: 2 })).kind).toBe('queue');
  });

  test.each([
    [{ runId: 'x'.repeat(100), runAt: 30 * day }, []],
    [{ runAt: 30 * day + 1 }, ['runAt max']],
    [{ envOverrides: { A: 'STARTED_BY_USER' } }, ['envOverrides.A reserved']],
    [{ resources: { cpus: 1, memoryMb: 1, diskMb: 60_001 } }, ['resources.diskMb max']],
    [{ resources: { cpus: 1 } }, ['resources.memoryMb min']],
  ])('%j', (run, expected) =>
    expect(runProblems(run, 0, limits).map(({ field, rule }) => `${field} ${rule}`)).toEqual(expected),
  );

  test('brings no files that cannot be signed where only signed ones are allowed', () => {
    const strict = { ...limits, enforceSignedArtifacts: true };
    const problems = runProblems({ extraArtifacts: [{ uri: 'http://h/a' }] }, 0, strict);
    expect(problems.map(({ field, rule }) => `${field} ${rule}`)).toEqual(['extraArtifacts signed']);
    expect(runProblems({ extraArtifacts: [] }, 0, strict)).toEqual([]);
  });

  test('has no file uploaded to a bucket that the settings do not name', () => {
    const run = { objstoreUploaderAdditionalFiles: [{ objstoreUploaderBucket: 'other' }] };
    const [found] = runProblems(run, 0, { ...limits, uploadBuckets: ['logs'] });
    expect(found?.message).toBe(
      "objstoreUploaderAdditionalFiles.0.objstoreUploaderBucket must be a bucket that the settings name (objstore.allowedUploaderBuckets), not 'other'",
    );
    expect(runProblems(run, 0, { ...limits, uploadBuckets: ['other'] })).toEqual([]);
    expect(runProblems(run, 0, limits)).toEqual([]);
  });
});

describe('a change that lapses', () => {
  test.each([
    [2000, undefined, 'Pause expired after 00:02.000'],
    [61_005, 'why', 'Pause expired after 01:01.005 (why)'],
    [3_600_000, undefined, 'Pause expired after 01:00:00.000'],
    [90_000_000, undefined, 'Pause expired after 25:00:00.000'],
  ])('after %i ms says so', (millis, message, expected) =>
    expect(lapseMessage('PAUSE', millis, message)).toBe(expected),
  );

  test('has lapsed when more than its time has gone by', () => {
    expect(hasLapsed(1000, 500, 1500)).toBe(false);
    expect(hasLapsed(1000, 500, 1501)).toBe(true);
  });
});
