import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestTypes, slavePlacements } from '../model/enums.js';
import type { Request } from '../model/request.js';
import {
  bounceCapacityProblem,
  capacityProblem,
  followsActiveSlaves,
  normalizeRequest,
  onePerSlave,
  readLegacyType,
  scaleDownProblem,
  validateRequest,
  type RequestLimits,
} from './index.js';

const limits: RequestLimits = {
  prometheus: {},
  loadBalancerUri: 'http://balancer',
  maxRequestIdSize: 100,
  allowRequestsWithoutOwners: true,
  maxNumInstancesPerRequest: 25,
  maxRecordBytes: 262_144,
  spreadAllSlavesEnabled: false,
  defaultCpus: 1,
  defaultMemory: 64,
  defaultDisk: 0,
  maxNumCpusPerInstance: 50,
  maxMemoryMbPerInstance: 24_000,
  maxDiskMbPerInstance: 60_000,
  maxNumCpusPerRequest: 900,
  maxMemoryMbPerRequest: 450_000,
  maxDiskMbPerRequest: 3_000_000,
};
const defaults = { defaultSlavePlacement: 'GREEDY', allowBounceToSameHost: false } as const;
const request = (members: Partial<Request> = {}): Request => ({ id: 'r', requestType: 'SERVICE', ...members });
const broken = (sent: Request, around: Partial<Parameters<typeof validateRequest>[1]> = {}) =>
  validateRequest(sent, { limits, ...around }).map(({ field, rule }) => `${field} ${rule}`);

describe('a schedule has a future time', () => {
  const now = Date.parse('2026-01-05T12:00:00Z');
  const job = (members: Partial<Request>) => request({ requestType: 'SCHEDULED', ...members });
  test.each([
    job({ schedule: '0 0 30 2 *' }),
    job({ schedule: '0 0 31 4,6,9,11 *' }),
    job({ quartzSchedule: '0 0 0 1 1 ? 2020' }),
    job({ schedule: 'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', scheduleType: 'RFC5545' }),
    job({ schedule: 'DTSTART=20200101T000000 RRULE:FREQ=DAILY;COUNT=1', scheduleType: 'RFC5545' }),
  ])('$schedule$quartzSchedule has none', (sent) => {
    const [error] = validateRequest(sent, { limits, now });
    expect(error).toMatchObject({ rule: 'future', message: expect.stringContaining('has no future time') as string });
    // One that is stored, or that was taken over with its history, may be over.
    expect(broken(sent, { stored: sent, now })).toEqual([]);
    expect(broken(sent)).toEqual([]);
  });
  test.each(['0 0 29 2 *', '@daily', '0 0 31 * *'])('%s has one', (schedule) =>
    expect(broken(job({ schedule }), { now })).toEqual([]),
  );
});

test('a wrong type is told by itself', () => {
  const sent = { id: 'r', schedule: '@daily', quartzSchedule: 'x' } as Request;
  const errors = validateRequest(sent, { limits });
  expect(errors.map(({ message }) => message)).toEqual(['requestType is required']);
});

test('a missing schedule is told by its name first, which callers put a path before', () => {
  const [error] = validateRequest(request({ requestType: 'SCHEDULED' }), { limits });
  expect(error).toMatchObject({
    field: 'schedule',
    rule: 'required',
    message: expect.stringMatching(/^schedule /) as string,
  });
});

describe('validateRequest', () => {
  test.each<[string, Request, string[]]>([
    ['a service', request(), []],
    ['a service that may not have them set to false', request({ loadBalanced: false, rackSensitive: true }), []],
    [
      'a job whose flags are false',
      request({ requestType: 'ON_DEMAND', loadBalanced: false, rackSensitive: false }),
      [],
    ],
    ['a cron job with one instance', request({ requestType: 'SCHEDULED', schedule: '* * * * *', instances: 1 }), []],
    ['priority at both ends', request({ taskPriorityLevel: 1 }), []],
    ['a role that stands for none', request({ requiredRole: '*' }), []],
    ['a missing type is told once', { id: 'r' } as Request, ['requestType required']],
    [
      'a cron job with both expressions',
      request({ requestType: 'SCHEDULED', schedule: 'x', quartzSchedule: '0 0 4 * * ?' }),
      [],
    ],
    [
      'only a Quartz expression called CRON',
      request({ requestType: 'SCHEDULED', quartzSchedule: '0 0 4 * * ?', scheduleType: 'CRON' }),
      ['scheduleType consistent'],
    ],
    [
      'minimums below zero',
      request({ slaveAttributeMinimums: { zone: { a: -1, b: 100 } } }),
      ['slaveAttributeMinimums.zone.a min'],
    ],
  ])('%s', (_name, sent, expected) => expect(broken(sent)).toEqual(expected));

  test.each<[string, Partial<Request>, string[]]>([
    ['a short form alone', { numRetriesOnFailure: 2 }, []],
    ['a short form that says the same', { numRetriesOnFailure: 2, retry: { attempts: 2 } }, []],
    [
      'a short form that says otherwise',
      { numRetriesOnFailure: 0, retry: { attempts: 2 } },
      ['numRetriesOnFailure contradiction'],
    ],
    [
      'a factor and jitter of nothing',
      { retry: { attempts: 1, backoffFactor: 2, jitter: 0.1 } },
      ['retry.backoffFactor delay', 'retry.jitter delay'],
    ],
    [
      'a longest delay of equal ones',
      { retry: { attempts: 1, delayMillis: 5, maxDelayMillis: 9 } },
      ['retry.maxDelayMillis backoff'],
    ],
    [
      'a longest delay below the first',
      { retry: { attempts: 1, delayMillis: 5, backoffFactor: 2, maxDelayMillis: 4 } },
      ['retry.maxDelayMillis min'],
    ],
    ['no exit code', { retry: { attempts: 1, onExitCodes: [] } }, ['retry.onExitCodes length']],
    [
      'exit codes both ways',
      { retry: { attempts: 1, onExitCodes: [1], notOnExitCodes: [2] } },
      ['retry.notOnExitCodes contradiction'],
    ],
    [
      'all of it',
      {
        retry: {
          attempts: 5,
          delayMillis: 1_000,
          backoffFactor: 2,
          maxDelayMillis: 60_000,
          jitter: 0.2,
          notOnExitCodes: [2],
          onTimeLimit: false,
          onLost: false,
        },
      },
      [],
    ],
  ])('retries: %s', (_name, members, expected) =>
    expect(broken(request({ requestType: 'ON_DEMAND', ...members }))).toEqual(expected),
  );
  test.each<[string, Partial<Request>, string[]]>([
    [
      'a pause of what runs once',
      { requestType: 'RUN_ONCE', pauseAfterFailures: 2 },
      ['pauseAfterFailures notAllowed'],
    ],
    ['a pause of a service', { requestType: 'SERVICE', pauseAfterFailures: 2 }, ['pauseAfterFailures notAllowed']],
    ['a pause', { pauseAfterFailures: 2 }, []],
    ['nothing that is kept', { keepRuns: {} }, ['keepRuns required']],
    ['what is kept of a service', { requestType: 'SERVICE', keepRuns: { days: 1 } }, []],
  ])('%s', (_name, members, expected) =>
    expect(broken(request({ requestType: 'ON_DEMAND', ...members }))).toEqual(expected),
  );
  test('a service has no retries', () =>
    expect(broken(request({ retry: { attempts: 1 } }))).toEqual(['retry notAllowed']));

  test('owners may be required', () => {
    const strict = { limits: { ...limits, allowRequestsWithoutOwners: false } };
    expect(broken(request(), strict)).toEqual(['owners required']);
    expect(broken(request({ owners: [] }), strict)).toEqual(['owners required']);
    expect(broken(request({ owners: ['a'] }), strict)).toEqual([]);
  });

  test.each<[string, Request, Request, string[]]>([
    ['SERVICE to WORKER', request(), request({ requestType: 'WORKER' }), []],
    ['WORKER to SERVICE', request({ requestType: 'WORKER' }), request(), []],
    ['absent and false are the same', request(), request({ loadBalanced: false }), []],
    [
      'WORKER to a load-balanced SERVICE',
      request({ requestType: 'WORKER' }),
      request({ loadBalanced: true }),
      ['requestType unchanged', 'loadBalanced unchanged'],
    ],
    [
      'ON_DEMAND to RUN_ONCE',
      request({ requestType: 'ON_DEMAND' }),
      request({ requestType: 'RUN_ONCE' }),
      ['requestType unchanged'],
    ],
  ])('%s', (_name, stored, next, expected) => expect(broken(next, { stored })).toEqual(expected));

  test('its deploys must fit the number of instances together', () => {
    const deploys = [{ id: 'd1', resources: { cpus: 50, memoryMb: 64 } }, { id: 'd2' }];
    expect(broken(request({ instances: 18 }), { deploys })).toEqual([]);
    expect(broken(request({ instances: 19 }), { deploys })).toEqual(['instances max']);
  });

  test('every error names its field, and nothing makes it throw', () =>
    fc.assert(
      fc.property(
        fc.record(
          {
            id: fc.string(),
            requestType: fc.constantFrom(...requestTypes),
            schedule: fc.string(),
            quartzSchedule: fc.string(),
            scheduleTimeZone: fc.string(),
            instances: fc.integer(),
            taskPriorityLevel: fc.double(),
            loadBalanced: fc.boolean(),
            slavePlacement: fc.constantFrom(...slavePlacements),
          },
          { requiredKeys: [] },
        ),
        (sent) => {
          for (const error of validateRequest(sent as Request, { limits }))
            expect(error.message).toContain(error.field);
        },
      ),
    ));
});

describe('normalizeRequest', () => {
  test('adds the Quartz form once', () => {
    const job = request({ requestType: 'SCHEDULED', schedule: '0 3 1 * *' });
    const normal = normalizeRequest(job);
    expect(normal).toEqual({ ...job, quartzSchedule: '0 0 3 1 * ?' });
    expect(normalizeRequest(normal)).toEqual(normal);
  });
  test('leaves a rule of RFC 5545 as it is', () => {
    const job = request({ requestType: 'SCHEDULED', schedule: 'FREQ=DAILY', scheduleType: 'RFC5545' });
    expect(normalizeRequest(job)).toEqual(job);
  });
  test.each<[string, Partial<Request>, Partial<Request>, string | undefined]>([
    ['another schedule', {}, { schedule: '0 4 1 * *' }, '0 0 4 1 * ?'],
    ['another type', {}, { schedule: '0 0 5 * * ?', scheduleType: 'QUARTZ' }, '0 0 5 * * ?'],
    ['a rule in place of a cron expression', {}, { schedule: 'FREQ=DAILY', scheduleType: 'RFC5545' }, undefined],
    ['another zone', {}, { scheduleTimeZone: 'EST' }, '0 0 3 1 * ?'],
    ['another Quartz expression', {}, { schedule: '0 4 1 * *', quartzSchedule: '0 0 9 * * ?' }, '0 0 9 * * ?'],
    [
      'another schedule beside a Quartz expression that was given',
      { quartzSchedule: '0 0 9 * * ?' },
      { schedule: '0 4 1 * *' },
      '0 0 9 * * ?',
    ],
  ])('%s, with the former answer sent back', (_name, before, change, quartz) => {
    const stored = normalizeRequest(request({ requestType: 'SCHEDULED', schedule: '0 3 1 * *', ...before }));
    expect(normalizeRequest({ ...stored, ...change }, stored).quartzSchedule).toBe(quartz);
  });
  test('leaves what it cannot read to the rules', () => {
    const job = request({ requestType: 'SCHEDULED', schedule: 'x' });
    expect(normalizeRequest(job)).toBe(job);
  });
});

test('a type is never guessed without the member that very old clients send', () => {
  expect(readLegacyType({ schedule: '* * * * *' })).toBeUndefined();
  expect(readLegacyType({ requestType: 'WORKER', daemon: false })).toBe('WORKER');
  expect(readLegacyType({ daemon: false, quartzSchedule: 'x' })).toBe('SCHEDULED');
});

describe('one instance per active slave', () => {
  const enabled = { defaultSlavePlacement: 'GREEDY', spreadAllSlavesEnabled: true } as const;
  const spread = request({ slavePlacement: 'SPREAD_ALL_SLAVES' });

  test.each<[string, Request, Parameters<typeof followsActiveSlaves>[1], boolean]>([
    ['a service with the placement', spread, enabled, true],
    ['while it is not enabled', spread, { ...enabled, spreadAllSlavesEnabled: false }, false],
    ['by default', request(), { ...enabled, defaultSlavePlacement: 'SPREAD_ALL_SLAVES' }, true],
    ['with another placement', request({ slavePlacement: 'SEPARATE' }), enabled, false],
    ['a job', request({ requestType: 'ON_DEMAND', slavePlacement: 'SPREAD_ALL_SLAVES' }), enabled, false],
  ])('%s', (_name, sent, settings, follows) => expect(followsActiveSlaves(sent, settings)).toBe(follows));

  test.each([
    [3, 3],
    [0, 1],
  ])('%i slaves: %i instances', (activeSlaves, instances) => {
    expect(onePerSlave(spread, activeSlaves).instances).toBe(instances);
  });

  test('needs the setting, and then may be more than people may ask for', () => {
    const many = { ...spread, instances: 5_000 };
    expect(broken(many)).toEqual(['slavePlacement supported']);
    expect(broken(many, { limits: { ...limits, spreadAllSlavesEnabled: true } })).toEqual([]);
  });
});

describe('machines enough', () => {
  test.each<[Partial<Request>, number, number | undefined, boolean]>([
    [{ instances: 5 }, 0, undefined, true],
    [{ instances: 5, slavePlacement: 'OPTIMISTIC' }, 0, undefined, true],
    [{ instances: 3, slavePlacement: 'SEPARATE' }, 3, 99, true],
    [{ instances: 3, slavePlacement: 'SEPARATE' }, 2, undefined, false],
    [{ instances: 3, slavePlacement: 'SEPARATE_BY_DEPLOY' }, 3, 3, true],
    [{ instances: 3, slavePlacement: 'SEPARATE_BY_REQUEST' }, 5, 3, false],
    [{ instances: 3, slavePlacement: 'SEPARATE_BY_REQUEST' }, 6, 3, true],
    [{ slavePlacement: 'SEPARATE' }, 0, undefined, false],
  ])('%j on %i slaves beside %s tasks: %s', (members, activeSlaves, previous, enough) => {
    expect(capacityProblem(request(members), { activeSlaves, previous }, defaults) === undefined).toBe(enough);
  });

  test.each<[Partial<Request>, boolean, number, boolean]>([
    [{ instances: 3 }, false, 0, true],
    [{ instances: 3, slavePlacement: 'SEPARATE' }, false, 6, true],
    [{ instances: 3, slavePlacement: 'SEPARATE' }, false, 5, false],
    [{ instances: 3, slavePlacement: 'SEPARATE' }, true, 4, true],
    [{ instances: 3, slavePlacement: 'SEPARATE' }, true, 3, false],
    [{ instances: 3, slavePlacement: 'SEPARATE', allowBounceToSameHost: true }, false, 3, true],
    [{ instances: 3, slavePlacement: 'SEPARATE_BY_REQUEST', allowBounceToSameHost: true }, false, 5, false],
    [{ instances: 3, slavePlacement: 'SPREAD_ALL_SLAVES' }, true, 3, false],
    [{ instances: 3, slavePlacement: 'SPREAD_ALL_SLAVES', allowBounceToSameHost: true }, true, 3, true],
  ])('a bounce of %j, incremental %s, on %i slaves: %s', (members, incremental, activeSlaves, enough) => {
    expect(bounceCapacityProblem(request(members), { incremental, activeSlaves }, defaults) === undefined).toBe(enough);
  });
});

describe('scaling far down', () => {
  test.each([
    ['up', 2, 20, true],
    ['10 tasks of 10 or fewer', 10, 1, true],
    ['more than 10 at once', 22, 11, false],
    ['10 of 25', 25, 15, true],
    ['exactly half of more than 10', 12, 6, true],
    ['more than half of more than 10', 12, 5, false],
  ])('%s: from %i to %i without a word: %s', (_name, from, to, allowed) => {
    const problem = scaleDownProblem(request(), { from, to, acknowledged: false }, 10);
    expect(problem === undefined).toBe(allowed);
  });

  test('is allowed when it is meant, and for runs', () => {
    expect(scaleDownProblem(request(), { from: 25, to: 1, acknowledged: true }, 10)).toBeUndefined();
    const runs = request({ requestType: 'ON_DEMAND' });
    expect(scaleDownProblem(runs, { from: 25, to: 1, acknowledged: false }, 10)).toBeUndefined();
  });
});

test('a load balancer that is not there is asked for by nobody but older clients', () => {
  const sent = request({ loadBalanced: true });
  const without = { limits: { ...limits, loadBalancerUri: undefined } };
  expect(broken(sent, without)).toEqual(['loadBalanced loadBalancer']);
  expect(broken(sent, { ...without, stored: sent })).toEqual([]);
  expect(broken(sent, { ...without, isOlder: true })).toEqual([]);
});

test('a RUN_ONCE request has one instance, unless it was taken over with more', () => {
  const sent = request({ requestType: 'RUN_ONCE', instances: 5 });
  expect(broken(sent)).toEqual(['instances single']);
  expect(broken(request({ requestType: 'RUN_ONCE', instances: 1 }))).toEqual([]);
  expect(broken(sent, { stored: sent })).toEqual([]);
  expect(broken({ ...sent, instances: 4 }, { stored: sent })).toEqual(['instances single']);
  expect(broken(sent, { isOlder: true })).toEqual([]);
});

describe('autoscaling', () => {
  const cpu = { min: 2, max: 10, metric: 'CPU', target: 60 } as const;
  const http = { ...cpu, metric: 'HTTP', uri: 'http://load.example.com/$REQUEST_ID' } as const;
  const prometheus = { ...cpu, metric: 'PROMETHEUS', query: 'sum(load)' } as const;
  const scaled = (autoscale: Request['autoscale'], members: Partial<Request> = {}) =>
    request({ instances: 2, autoscale, ...members });
  const asksOwn = { limits: { ...limits, prometheus: { uri: 'http://prometheus' } } };
  test.each<[string, Request, string[]]>([
    ['by CPU', scaled(cpu), []],
    ['by a number', scaled(http), []],
    ['without a number of instances', scaled(cpu, { instances: undefined }), []],
    ['of a job', scaled(cpu, { requestType: 'ON_DEMAND' }), ['autoscale notAllowed']],
    [
      'of one task per slave',
      scaled(cpu, { slavePlacement: 'SPREAD_ALL_SLAVES' }),
      ['autoscale followsSlaves', 'slavePlacement supported'],
    ],
    ['with min above max', scaled({ ...cpu, min: 11 }), ['autoscale.max range']],
    ['beyond the limit of instances', scaled({ ...cpu, max: 26 }), ['autoscale.max max']],
    ['beyond maxScale', scaled(cpu, { maxScale: 9 }), ['autoscale.max maxScale']],
    ['with a target of 0', scaled({ ...cpu, target: 0 }), ['autoscale.target min']],
    ['with fewer instances', scaled(cpu, { instances: 1 }), ['instances autoscale']],
    ['with more instances', scaled(cpu, { instances: 11 }), ['instances autoscale']],
    ['by CPU with an address', scaled({ ...cpu, uri: http.uri }), ['autoscale.uri metric']],
    ['by MEMORY with a query', scaled({ ...cpu, metric: 'MEMORY', query: 'up' }), ['autoscale.query metric']],
    ['by HTTP without an address', scaled({ ...cpu, metric: 'HTTP' }), ['autoscale.uri required']],
    ['by HTTP with a query', scaled({ ...http, query: 'up' }), ['autoscale.query metric']],
    [
      'by PROMETHEUS with a path',
      scaled({ ...prometheus, uri: http.uri, valuePath: 'a' }),
      ['autoscale.valuePath metric'],
    ],
    [
      'by PROMETHEUS without a query',
      scaled({ ...prometheus, uri: http.uri, query: undefined }),
      ['autoscale.query required'],
    ],
    ['by a Prometheus that is not known', scaled(prometheus), ['autoscale.uri required']],
    ['at a file', scaled({ ...http, uri: 'file:///etc/passwd' }), ['autoscale.uri uri']],
    ['at an address with a password', scaled({ ...http, uri: 'http://a:b@load.example.com' }), ['autoscale.uri uri']],
  ])('%s: %j', (_, sent, problems) => expect(broken(sent)).toEqual(problems));
  test('asks the Prometheus of the operator without an address', () =>
    expect(broken(scaled(prometheus), asksOwn)).toEqual([]));
  test('may ask allowed hosts alone', () =>
    expect(broken(scaled(http), { mayAskHost: () => false })).toEqual(['autoscale.uri allowedTargets']));
  test('begins within its bounds', () =>
    expect(broken(scaled(cpu, { instances: 1 }), { stored: request({ instances: 1 }) })).toEqual([
      'instances autoscale',
    ]));
  test('leaves a number beyond the bounds that is for a while, or stored', () => {
    expect(broken(scaled(cpu, { instances: 20 }), { isLapsing: true })).toEqual([]);
    expect(broken(scaled(cpu, { instances: 20 }), { stored: scaled(cpu, { instances: 20 }) })).toEqual([]);
  });
});
