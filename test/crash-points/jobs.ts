import { job, version } from './plain.js';
import type { Scenario } from './scenario.js';

let attempts = 0;

export const jobs: Scenario[] = [
  {
    name: 'a run of a cron job that fails, and its retry',
    given: async (stage) => {
      attempts = 0;
      stage.cluster.onLaunch(() => ({ runFor: 2_000, exit: attempts++ === 0 ? 'TASK_FAILED' : 'TASK_FINISHED' }));
      await stage.deployed(
        job({ requestType: 'SCHEDULED', quartzSchedule: '0 2 * * * ?', numRetriesOnFailure: 2 }),
        version('d1'),
      );
    },
    story: (stage) => stage.live(180),
    leaves: [],
  },
  {
    name: 'a run with an init step, a sidecar that ends and a post step that fails',
    given: async (stage) => {
      stage.cluster.onLaunch(() => ({
        runFor: 5_000,
        programs: ({ name }) =>
          ({ init: { runFor: 3_000 }, post: { runFor: 3_000, exitCode: 1 } })[name] ?? { runFor: 2_000 },
      }));
      const program = (name: string) => ({ name, command: 'true' });
      const tasks = { init: [program('init')], sidecars: [program('sidecar')], post: [program('post')] };
      await stage.deployed(job({ requestType: 'SCHEDULED', quartzSchedule: '0 2 * * * ?' }), version('d1', { tasks }));
    },
    story: (stage) => stage.live(180),
    leaves: [],
  },
];
