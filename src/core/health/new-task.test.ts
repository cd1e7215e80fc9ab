import { describe, expect, test } from 'vitest';
import { healthContext, healthSettings, launchedAt, observed, result } from '../../../test/support/fixtures/health.js';
import { newTaskVerdict, type HealthContext, type NewTaskSettings, type ObservedTask } from './index.js';

const settings: NewTaskSettings = {
  newTaskCheckerBaseDelaySeconds: 1,
  killAfterTasksDoNotRunDefaultSeconds: 600,
  killTaskIfNotHealthyAfterSeconds: 600,
};
const deploy = (own: Partial<HealthContext['deploy']> = {}): Partial<HealthContext> => ({
  deploy: { requestId: 'web', id: 'd1', ...own },
});
const checked = (own: NonNullable<HealthContext['deploy']['healthcheck']> = {}, more = {}) =>
  deploy({ healthcheck: { uri: '/', ...own }, ...more });
/** No further check can save it: without a delay it would have to go at once. */
const beyondHelp: Partial<ObservedTask> = {
  lastResult: result({ statusCode: undefined, errorMessage: 'connect ECONNREFUSED', startup: true }),
  runningAt: launchedAt - 600_000,
};
const neverRan: Partial<ObservedTask> = { state: 'TASK_STAGING', runningAt: undefined };

/** Milliseconds after the launch at which a look first says something else than wait. */
function firstLookAfter(task: Partial<ObservedTask>, context: Partial<HealthContext>, own = settings): number {
  const verdict = (after: number) =>
    newTaskVerdict(observed(task), healthContext(context), own, launchedAt + after).kind;
  let [waits, decided] = [0, 10_000_000];
  if (verdict(waits) !== 'wait') return 0;
  while (decided - waits > 1) {
    const middle = Math.floor((waits + decided) / 2);
    if (verdict(middle) === 'wait') waits = middle;
    else decided = middle;
  }
  return decided;
}

describe('the first look at a new task', () => {
  const withDelay = { ...healthSettings, startupDelaySeconds: 9 };
  test.each<{ name: string; context: Partial<HealthContext>; own?: NewTaskSettings; after: number }>([
    {
      name: 'comes after the startup delay of its health check, that value alone',
      context: checked({ startupDelaySeconds: 30 }),
      after: 30_000,
    },
    {
      name: 'comes after the startup delay of the settings when the check has none, that value alone',
      context: { ...checked(), settings: withDelay },
      after: 9_000,
    },
    {
      name: 'comes after the delay of the check, whatever the settings say',
      context: { ...checked({ startupDelaySeconds: 30 }), settings: withDelay },
      after: 30_000,
    },
    {
      name: 'comes after the base delay and the time a deploy has, when no startup delay is set',
      context: checked(),
      after: 121_000,
    },
    {
      name: 'comes after the base delay and the time its own deploy has',
      context: checked({}, { deployHealthTimeoutSeconds: 40 }),
      after: 41_000,
    },
    {
      name: 'comes after another base delay when the settings say so',
      context: checked(),
      own: { ...settings, newTaskCheckerBaseDelaySeconds: 7 },
      after: 127_000,
    },
  ])('$name', ({ context, own, after }) => expect(firstLookAfter(beyondHelp, context, own)).toBe(after));

  test.each<{ name: string; task?: Partial<ObservedTask>; context: Partial<HealthContext>; after: number }>([
    { name: 'its deploy defines none', context: deploy({ deployHealthTimeoutSeconds: 700 }), after: 701_000 },
    {
      name: 'its request skips them',
      context: { ...checked({ startupDelaySeconds: 30 }, { deployHealthTimeoutSeconds: 700 }), requestSkips: true },
      after: 701_000,
    },
    {
      name: 'it was launched without',
      task: { launchedWithSkip: true },
      context: checked({ startupDelaySeconds: 30 }, { deployHealthTimeoutSeconds: 700 }),
      after: 701_000,
    },
  ])('has no health check to go by when $name', ({ task, context, after }) =>
    expect(firstLookAfter({ ...neverRan, ...task }, context)).toBe(after),
  );

  test('is not waited for when its health check failed for good at once', () => {
    const failed = { lastResult: result({ statusCode: 503 }) };
    expect(firstLookAfter(failed, checked({ failureStatusCodes: [503] }))).toBe(0);
  });
});

describe('a look at a new task', () => {
  const at = (after: number, task: Partial<ObservedTask>, context: Partial<HealthContext>) => {
    const verdict = newTaskVerdict(observed(task), healthContext(context), settings, launchedAt + after);
    return verdict.kind === 'cleanup' ? verdict.cleanupType : verdict.kind;
  };
  const waiting = { lastResult: result({ statusCode: 404 }), checksCounted: 3 };

  test('drops one that has ended', () => expect(at(0, { state: 'TASK_FAILED' }, checked())).toBe('settled'));
  test('drops one that runs and has no health check', () => expect(at(0, {}, deploy())).toBe('settled'));
  test('drops one that is healthy', () => expect(at(121_000, { lastResult: result() }, checked())).toBe('settled'));
  test('sends one away that never ran in ten minutes, and not before', () => {
    expect([at(600_000, neverRan, deploy()), at(600_001, neverRan, deploy())]).toEqual(['wait', 'OVERDUE_NEW_TASK']);
  });
  test('counts the ten minutes from when the clock was set back, where it was ahead at the launch', () => {
    const early = { ...neverRan, countsSince: launchedAt - 600_000 };
    expect([at(0, early, deploy()), at(1, early, deploy())]).toEqual(['wait', 'OVERDUE_NEW_TASK']);
  });
  test('counts the ten minutes to be healthy from when it began to run', () => {
    const late = { ...waiting, runningAt: launchedAt + 300_000 };
    expect([at(900_000, late, checked()), at(900_001, late, checked())]).toEqual(['wait', 'OVERDUE_NEW_TASK']);
  });
  test('sends one away whose health checks failed for good', () =>
    expect(at(121_000, beyondHelp, checked())).toBe('UNHEALTHY_NEW_TASK'));
  test('waits for one that is not healthy yet', () => expect(at(121_000, waiting, checked())).toBe('wait'));
  test('waits for one that has not been asked yet', () => expect(at(121_000, {}, checked())).toBe('wait'));
});

test('a task whose init steps may take their time is overdue only after that', () => {
  const context = deploy({ tasks: { init: [{ name: 'a', command: 'true', timeoutMillis: 1_000_000 }] } });
  const verdict = (after: number) =>
    newTaskVerdict(observed(neverRan), healthContext(context), settings, launchedAt + after);
  expect(verdict(1_600_000)).toEqual({ kind: 'wait' });
  expect(verdict(1_600_001)).toMatchObject({ kind: 'cleanup', cleanupType: 'OVERDUE_NEW_TASK' });
});

test('a task whose main program is over is not watched any more', () =>
  expect(newTaskVerdict(observed({ state: 'TASK_KILLING' }), healthContext(checked()), settings, launchedAt)).toEqual({
    kind: 'settled',
  }));
