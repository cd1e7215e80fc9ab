import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { AgentConnection } from '../../../src/cluster/local/agent-connection.js';
import { StaleEpochError } from '../../../src/cluster/cluster-driver.js';
import { DatabasePool } from '../../../src/platform/database/pool.js';
import { Database } from '../../../src/platform/database/database.js';
import { NotLeaderError } from '../../../src/platform/leadership/leadership.js';
import { FixedLeadership } from '../../support/fixed-leadership.js';
import { launchSpec } from '../../support/launch-spec.js';

export interface Refusals {
  /** Answer of the database to a transaction of the former epoch. */
  write: string;
  /** Answer of the agent to a launch of the former epoch. */
  launch: string;
}

/** Tries what a leader would try that does not know yet that its epoch is over, and tells how that went. */
export async function actAsLeaderOf(
  epoch: number,
  { databaseUrl, dataDir }: { databaseUrl: string; dataDir: string },
): Promise<Refusals> {
  return { write: await tryToWrite(epoch, databaseUrl), launch: await tryToLaunch(epoch, dataDir) };
}

async function tryToWrite(epoch: number, url: string): Promise<string> {
  const pool = await new DatabasePool({ url, use: 'leader', poolSize: 1 }).open();
  try {
    await new Database(pool, pool, new FixedLeadership(epoch)).leaderTransaction((tx) =>
      tx.query(
        `INSERT INTO killed_task (task_id, request_id, killed_at, first_killed_at) VALUES ('x', 'x', now(), now())`,
      ),
    );
    return 'NOT REFUSED';
  } catch (cause) {
    if (cause instanceof NotLeaderError) return `refused: ${cause.message}`;
    throw cause;
  } finally {
    await pool.close();
  }
}

async function tryToLaunch(epoch: number, dataDir: string): Promise<string> {
  const agent = new AgentConnection(join(dataDir, 'agent'));
  const spec = launchSpec({ taskId: `late-d1-1-1-localhost-rack1-${randomUUID()}` });
  try {
    await agent.askAsLeader(epoch, (api) => api.launch({ launches: [spec] }));
    return 'NOT REFUSED';
  } catch (cause) {
    if (cause instanceof StaleEpochError) return `409: ${cause.message}`;
    throw cause;
  } finally {
    await agent.close();
  }
}
