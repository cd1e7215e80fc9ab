import { expect } from 'vitest';
import { connect } from '../../src/platform/database/connection.js';
import { ApiError } from '../e2e/support/api.js';
import { until, type Check, type Job, type RecipeProduct } from './product.js';

/** Five runs, one after the other; then what is not kept is removed. */
async function keptOf(product: RecipeProduct, job: Job, made: () => Promise<void> = () => Promise.resolve()) {
  for (let run = 1; run <= 5; run++) {
    await job.run({ runId: String(run) });
    await job.untilEnded(run);
  }
  // Ended tasks move to the history, where the limits hold.
  await until('the runs to be in the history', async () => {
    await product.api.post('test/persist-task-history');
    return (await job.told()).taskIds?.pending.length === 0 && (await countOf(product, job)) === 5;
  });
  await made();
  await product.api.post('test/purge-history');
  return (await job.runs()).map(({ runId }) => runId);
}

const inDatabase = async <T extends object>(product: RecipeProduct, sql: string, values: unknown[]): Promise<T[]> => {
  const connection = await connect(product.databaseUrl(), 'test', 10_000);
  try {
    return (await connection.query<T>(sql, values)).rows;
  } finally {
    await connection.end();
  }
};
const countOf = async (product: RecipeProduct, { id }: Job): Promise<number> => {
  const sql = 'SELECT count(*)::int AS count FROM task_history WHERE request_id = $1';
  return (await inDatabase<{ count: number }>(product, sql, [id]))[0]!.count;
};

export const historyChecks: Record<string, Check> = {
  'names of variables with dots and dashes': async ({ deploy }, product) => {
    const job = await (await product.job().save()).deploy('env', deploy);
    await job.run();
    const [run] = await job.untilEnded(1);
    const variables = (await job.output(run!)).split('\n');
    for (const [name, value] of Object.entries(deploy.env!)) expect(variables).toContain(`${name}=${value}`);
    await job.remove();
  },

  'SIGINT, and ten seconds to end': async ({ deploy }, product) => {
    const command = 'trap "echo asked to end; exit 0" INT; echo begun; while :; do sleep 0.1; done';
    const job = await (await product.job().save()).deploy(command, deploy);
    await job.run();
    const [run] = await job.untilActive(1);
    await until('its trap', async () => (await job.output(run!)) === 'begun\n');
    await product.api.call('DELETE', `tasks/task/${run!.taskId}`, {});
    const [killed] = await job.untilEnded(1);
    expect(killed!.state).toBe('TASK_KILLED');
    expect(await job.output(run!)).toBe('begun\nasked to end\n');
    await job.remove();
  },

  'let the run end, then remove the job': async ({ command }, product) => {
    const gate = product.gate();
    const job = await product.job().eachSecond({}, gate.command);
    await job.untilActive(1);
    await product.command(command!, { nightly: job.id });
    expect((await job.told()).state).toBe('DELETING');
    expect((await job.untilActive(1)).map(({ state }) => state)).not.toContain('TASK_KILLED');
    gate.open();
    await until('the job to be gone', async () => {
      const gone = await job.told().catch((cause: unknown) => cause);
      return gone instanceof ApiError && gone.status === 404;
    });
    expect((await job.untilEnded(1)).map(({ state }) => state)).toEqual(['TASK_FINISHED']);
  },

  'keep the last three runs': async ({ request }, product) => {
    const job = await (await product.job().save(request)).deploy('true');
    expect(await keptOf(product, job)).toEqual(['3', '4', '5']);
    await job.remove();
  },

  'keep the runs of 30 days': async ({ request }, product) => {
    const job = await (await product.job().save(request)).deploy('true');
    const kept = await keptOf(product, job, async () => {
      const age = (days: number, runId: string) =>
        inDatabase(
          product,
          `UPDATE task_history SET started_at = started_at - age.days, updated_at = updated_at - age.days
           FROM (SELECT make_interval(days => $1) AS days) age WHERE request_id = $2 AND run_id = $3`,
          [days, job.id, runId],
        );
      await age(29, '1');
      await age(31, '2');
    });
    expect(kept.toSorted()).toEqual(['1', '3', '4', '5']);
    await job.remove();
  },
};
