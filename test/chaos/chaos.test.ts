import { expect, test } from 'vitest';
import { chooseFaults, runChaos } from './chaos.js';
import { Clock } from './clock.js';
import { chaosOptions } from './options.js';

const clocks = Clock.available ? ['clock_leader_behind'] : [];
if (!Clock.available) console.warn('Left out: clocks that are set, because libfaketime is not installed');

/** The short form of `npm run chaos`: an agent with many machines, and a time to register again that the cuts can exceed. */
const options = chaosOptions({
  minutes: 0,
  seed: 1,
  faults: ['leader_kill9', 'agent_mute_long', 'agent_deaf_long', ...clocks],
  slaves: 12,
  schedulers: 2,
  workers: 0,
  rate: 3,
  reregister: 4,
  jobs: 4,
  crons: 2,
  services: 3,
  calm: 2,
  clockSeconds: 8,
});

test('a cluster whose leader is killed, whose agent is cut off and whose clocks are set loses and doubles nothing', async () => {
  const lines: string[] = [];
  const result = await runChaos(options, (line) => lines.push(line), new AbortController().signal);
  const { verdict, costs, stalls, flaps, failures } = result;
  const { acknowledged, late: _late, ...wrong } = verdict;
  expect({ ...wrong, stalls, flaps, failures }, lines.join('\n')).toEqual({
    lost: [],
    doubled: [],
    overlaps: [],
    ended: [],
    wrongServices: [],
    untrue: [],
    stalls: [],
    flaps: [],
    failures: [],
  });
  expect(acknowledged).toBeGreaterThan(0);
  expect(costs.map(({ fault }) => fault)).toEqual(options.faults);
}, 600_000);

test('a fault that there is not is refused with the names of those that there are', () => {
  expect(() => chooseFaults(chaosOptions({ faults: ['leader_kill'] }))).toThrow(/no fault 'leader_kill'.*leader_kill9/);
});
