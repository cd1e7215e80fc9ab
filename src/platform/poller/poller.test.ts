import { afterEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.js';
import { Poller } from './poller.js';
import type { PollerOptions } from './pollers.js';

const pollers: Poller[] = [];
afterEach(async () => {
  await Promise.all(pollers.splice(0).map((poller) => poller.stop()));
});

/** A poller on a clock of its own, with passes that end when the test says so. */
function scene(options: Partial<PollerOptions> = {}) {
  const state = {
    now: 0,
    mayRun: true,
    failures: [] as unknown[],
    passes: [] as number[],
    release: () => undefined as void,
  };
  let hold: Promise<void> | undefined;
  const poller = new Poller(
    {
      name: 'test',
      everyMs: 0,
      pass: async (now) => {
        state.passes.push(now);
        await hold;
      },
      ...options,
    },
    { now: () => state.now, mayRun: () => state.mayRun, failed: (cause) => state.failures.push(cause) },
  );
  pollers.push(poller);
  const holdPasses = () => {
    hold = new Promise((resolve) => {
      state.release = () => {
        hold = undefined;
        resolve();
      };
    });
  };
  return { state, poller, holdPasses };
}

describe('waking', () => {
  test('runs a pass at once', () => {
    const { state, poller } = scene();
    state.now = 5;
    poller.wake();
    expect(state.passes).toEqual([5]);
  });

  test('any number of times during a pass means one more pass, never two at once', async () => {
    const { state, poller, holdPasses } = scene();
    holdPasses();
    poller.wake();
    for (let n = 0; n < 5; n++) poller.wake();
    expect(state.passes).toHaveLength(1);
    state.release();
    await waitFor('the second pass', () => state.passes.length === 2);
    await poller.stop();
    expect(state.passes).toHaveLength(2);
  });

  test('does nothing where this instance does not lead', () => {
    const { state, poller } = scene();
    state.mayRun = false;
    poller.wake();
    expect(state.passes).toEqual([]);
  });
});

test('a pass that fails is reported, counted, and the next one runs', async () => {
  let fails = true;
  const { state, poller } = scene({
    pass: () => (fails ? Promise.reject(new Error('no database')) : Promise.resolve()),
  });
  poller.wake();
  await waitFor('the failure', () => state.failures.length === 1);
  expect(poller.state()).toEqual({ name: 'test', failuresInRow: 1, lastError: 'no database' });
  fails = false;
  poller.wake();
  await waitFor('the success', () => poller.state().failuresInRow === 0);
  expect(poller.state().lastError).toBeUndefined();
  expect(poller.figures()).toEqual({ name: 'test', passes: 2, failures: 1 });
});

test('stopping waits for the pass in flight, and no pass begins after it', async () => {
  const { state, poller, holdPasses } = scene();
  holdPasses();
  poller.wake();
  let stopped = false;
  const stopping = poller.stop().then(() => (stopped = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(stopped).toBe(false);
  state.release();
  await stopping;
  poller.wake();
  expect(state.passes).toHaveLength(1);
});

describe('on a tick, a pass runs', () => {
  test.each([
    { name: 'when its period has gone by since the last one ended', everyMs: 45_000, gone: 45_000, runs: true },
    { name: 'when that is nearer to this tick than to the next one', everyMs: 1_000, gone: 970, runs: true },
    { name: 'not before', everyMs: 45_000, gone: 44_499, runs: false },
    { name: 'never by itself when it has no period', everyMs: 0, gone: 1_000_000, runs: false },
  ])('$name', async ({ everyMs, gone, runs }) => {
    const { state, poller } = scene({ everyMs });
    state.now = gone;
    await poller.job.fireOnTick();
    expect(state.passes).toEqual(runs ? [gone] : []);
  });
});

describe('a pass that names its next moment', () => {
  test('runs again then, and not before', async () => {
    const begin = Date.now();
    const { state, poller } = scene({
      pass: (now) => {
        state.passes.push(now);
        return Promise.resolve(state.passes.length === 1 ? 30 : undefined);
      },
    });
    poller.wake();
    await waitFor('the second pass', () => state.passes.length === 2);
    expect(Date.now() - begin).toBeGreaterThanOrEqual(29);
  });

  test('is forgotten when the poller stops', async () => {
    const { state, poller } = scene({
      pass: (now) => {
        state.passes.push(now);
        return Promise.resolve(20);
      },
    });
    poller.wake();
    await poller.stop();
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(state.passes).toHaveLength(1);
  });
});
