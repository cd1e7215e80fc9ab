import type { Parent, Request } from '../../src/core/model/request.js';
import { FlowReruns } from '../../src/modules/flows/flow-reruns.service.js';
import { Runs } from '../../src/modules/requests/actions/runs.service.js';
import { builtInUser } from '../../src/core/authorization/index.js';
import { job, version } from './plain.js';
import type { Scenario } from './scenario.js';
import type { Stage } from './stage.js';

const on = (condition: Parent['on'], ...ids: string[]): Parent[] =>
  ids.map((requestId) => ({ requestId, on: condition }));
/** Twelve jobs: fan-out, fan-in, a step that fails twice and then, run again, succeeds. */
const steps: Record<string, Partial<Request>> = {
  begin: {},
  load1: { after: on('SUCCESS', 'begin') },
  load2: { after: on('SUCCESS', 'begin'), numRetriesOnFailure: 1 },
  load3: { after: on('SUCCESS', 'begin') },
  join: { after: on('SUCCESS', 'load1', 'load2', 'load3') },
  check: { after: on('END', 'join') },
  each: { after: on('SUCCESS', 'load1', 'load3'), afterMode: 'ANY' },
  fragile: { after: on('SUCCESS', 'join') },
  alarm: { after: on('FAILURE', 'fragile') },
  report: { after: on('SUCCESS', 'fragile', 'check') },
  send: { after: on('SUCCESS', 'report') },
  store: { after: on('SUCCESS', 'report') },
};

let failures: number;

export const flows: Scenario[] = [
  {
    name: 'a flow of twelve jobs with one that fails, and its rerun',
    given: async (stage) => {
      failures = 0;
      stage.cluster.onLaunch(({ taskId }) => {
        const fails = taskId.startsWith('fragile-') && (failures += 1) === 1;
        return { runFor: 2_000, exit: fails ? 'TASK_FAILED' : 'TASK_FINISHED' };
      });
      for (const [id, own] of Object.entries(steps)) {
        await stage.deployed(job({ id, requestType: 'ON_DEMAND', ...own }), version('d1', { requestId: id }));
      }
    },
    story: async (stage) => {
      await stage.order((world) => world.get(Runs).run('begin', { runId: 'first' }, {}, builtInUser));
      await restOfFlow(stage, 10);
      const [flow] = await stage.query<{ id: string }>('SELECT id FROM flow');
      await stage.order((world) => world.get(FlowReruns).rerun(flow!.id, { from: 'fragile' }, builtInUser));
      await restOfFlow(stage, 14);
    },
    leaves: [],
  },
];

/** Until so many runs are there and all of them have ended. */
async function restOfFlow(stage: Stage, runs: number): Promise<void> {
  for (let second = 0; second < 300; second++) {
    const [found] = await stage.query<{ ended: number; going: number }>(
      `SELECT count(*) FILTER (WHERE ended_at IS NOT NULL)::int AS ended, count(*) FILTER (WHERE ended_at IS NULL)::int AS going
       FROM flow_run`,
    );
    if (found!.going === 0 && found!.ended >= runs) return;
    await stage.live(1);
  }
  throw new Error(`The flow does not come to its end: ${JSON.stringify(await stage.query('SELECT * FROM flow_run'))}`);
}
