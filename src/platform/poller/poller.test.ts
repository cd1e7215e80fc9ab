import { afterEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.js';
import { Poller, type PollerOptions } from './poller.js';

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
    keys: [] as unknown[],
    release: () => undefined as void,
  };
  let hold: Promise<void> | undefined;
  const poller = new Poller(
    {
      name: 'test',
      everyMs: 0,
      pass: async (now, keys) => {
        state.passes.push(now);
        state.keys.push(keys && [...keys]);
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

describe('waking with keys', () => {
  test('reaches a pass that takes keys, and no other', async () => {
    for (const takesKeys of [true, false]) {
      const { state, poller } = scene({ takesKeys });
      poller.wake(['a', 'b']);
      await poller.stop();
      expect(state.keys).toEqual([takesKeys ? ['a', 'b'] : undefined]);
    }
  });

  test.each([
    { name: 'are merged for the next one', wakes: [['a'], ['b'], ['a']], next: ['a', 'b'] },
    { name: 'give way to a signal that names none', wakes: [['a'], undefined, ['b']], next: undefined },
  ])('during a pass, they $name', async ({ wakes, next }) => {
    const { state, poller, holdPasses } = scene({ takesKeys: true });
    holdPasses();
    poller.wake(['first']);
    for (const keys of wakes) poller.wake(keys);
    state.release();
    await waitFor('the second pass', () => state.passes.length === 2);
    await poller.stop();
    expect(state.keys).toEqual([['first'], next]);
  });

  test('does not put off the pass over everything', async () => {
    const { state, poller } = scene({ takesKeys: true, everyMs: 5_000 });
    state.now = 4_000;
    poller.wake(['a']);
    await waitFor('the end of the pass', () => poller.figures().passes === 1);
    state.now = 5_000;
    poller.tick();
    expect(state.keys).toEqual([['a'], undefined]);
  });

  test('a moment that a pass named is one for what is due, not for everything', async () => {
    const { state, poller } = scene({
      takesKeys: true,
      pass: (now, keys) => {
        state.passes.push(now);
        state.keys.push(keys && [...keys]);
        return Promise.resolve(state.passes.length === 1 ? 10 : undefined);
      },
    });
    poller.wake();
    await waitFor('the second pass', () => state.passes.length === 2);
    expect(state.keys).toEqual([undefined, []]);
  });
});

test('a pass that fails is reported, counted, and the next one runs', async () => {
  let fails = true;
  const { state, poller } = scene({
    pass: () => (fails ? Promise.reject(new Error('no database')) : Promise.resolve()),
  });
  poller.wake();
  await waitFor('the failure', () => state.failures.length === 1);
  expect(poller.state()).toEqual({ name: 'test', failuresInRow: 1, lastError: 'no database', stopsService: false });
  fails = false;
  poller.wake();
  await waitFor('the success', () => poller.state().failuresInRow === 0);
  expect(poller.state().lastError).toBeUndefined();
  expect(poller.figures()).toEqual({ name: 'test', passes: 2, failures: 1 });
});

describe('a poller that keeps failing', () => {
  const fail = () => Promise.reject(new Error('no room'));
  const failAt = async ({ state, poller }: Pick<ReturnType<typeof scene>, 'state' | 'poller'>, now: number) => {
    const before = state.failures.length;
    state.now = now;
    poller.wake();
    await waitFor('the failure', () => state.failures.length > before);
  };

  test('stops the service when it is essential and has failed twice, for five seconds', async () => {
    const { state, poller } = scene({ pass: fail, essential: true });
    await failAt({ state, poller }, 0);
    state.now = 60_000;
    expect(poller.state()).toMatchObject({ failuresInRow: 1, stopsService: false });
    await failAt({ state, poller }, 61_000);
    expect(poller.state()).toMatchObject({ failuresInRow: 2, stopsService: true, lastError: 'no room' });
  });

  test('does not when it fails often within five seconds, or is not essential', async () => {
    const often = scene({ pass: fail, essential: true });
    const other = scene({ pass: fail });
    for (const now of [0, 1_000, 2_000, 4_999]) await failAt(often, now);
    for (const now of [0, 60_000]) await failAt(other, now);
    expect([often, other].map(({ poller }) => poller.state().stopsService)).toEqual([false, false]);
  });

  test('says nothing more about it when another instance leads', async () => {
    const { state, poller } = scene({ pass: fail, essential: true });
    await failAt({ state, poller }, 0);
    await failAt({ state, poller }, 10_000);
    state.mayRun = false;
    expect(poller.state()).toEqual({ name: 'test', failuresInRow: 0, lastError: undefined, stopsService: false });
  });
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
  ])('$name', ({ everyMs, gone, runs }) => {
    const { state, poller } = scene({ everyMs });
    state.now = gone;
    poller.tick();
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

describe('a tick during a pass', () => {
  test('over all means no further one', async () => {
    const { state, poller, holdPasses } = scene({ everyMs: 1_000 });
    holdPasses();
    poller.wake();
    state.now = 5_000;
    poller.tick();
    state.release();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(state.passes).toEqual([0]);
  });

  test('over some is not forgotten: one over all follows', async () => {
    const { state, poller, holdPasses } = scene({ takesKeys: true, everyMs: 1_000 });
    holdPasses();
    poller.wake(['a']);
    state.now = 5_000;
    poller.tick();
    state.release();
    await waitFor('the second pass', () => state.passes.length === 2);
    expect(state.keys).toEqual([['a'], undefined]);
  });
});
