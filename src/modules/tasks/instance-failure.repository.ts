import { Injectable } from '@nestjs/common';
import { groupBy } from '../../core/group-by.js';
import { type DeployKey, deployKeyText } from '../../core/model/deploy.js';
import type { RestartPolicy } from '../../core/model/request.js';
import type { TaskId } from '../../core/model/task.js';
import { afterFailure, type InstanceFailures } from '../../core/restarts/index.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { rows } from '../../platform/database/sql.js';
import type { Transaction } from '../../platform/database/transaction.js';

/** The end of a task that counts for the restarts of its instance. */
export interface FailedInstance {
  taskId: TaskId;
  at: number;
  policy: RestartPolicy;
}

interface FailureRow {
  request_id: string;
  deploy_id: string;
  instance_no: number;
  count: number;
  last_at: Date;
}

/** Failures of instances in a row. The leader writes them. */
@Injectable()
export class InstanceFailureRepository {
  /** By instance number, of these deploys by `deployKeyText`. */
  async find(tx: Queryable, deploys: readonly DeployKey[]): Promise<Map<string, Map<number, InstanceFailures>>> {
    if (deploys.length === 0) return new Map();
    const found = await rows<FailureRow>(
      tx,
      `SELECT f.* FROM instance_failure f JOIN unnest($1::text[], $2::text[]) AS d (request_id, deploy_id)
       USING (request_id, deploy_id) ORDER BY f.request_id, f.deploy_id, f.instance_no`,
      [deploys.map(({ requestId }) => requestId), deploys.map(({ deployId }) => deployId)],
    );
    const byDeploy = groupBy(found, (row) => deployKeyText({ requestId: row.request_id, deployId: row.deploy_id }));
    return new Map(
      [...byDeploy].map(([key, ofDeploy]) => [
        key,
        new Map(ofDeploy.map((row) => [row.instance_no, { count: row.count, lastAt: row.last_at.getTime() }])),
      ]),
    );
  }

  /** Their requests are locked in `tx`. Failures of other deploys of theirs are over. */
  async note(tx: Transaction, failed: readonly FailedInstance[]): Promise<void> {
    if (failed.length === 0) return;
    const known = await this.find(
      tx,
      failed.map(({ taskId }) => taskId),
    );
    const changed = new Map<string, { taskId: TaskId; failures: InstanceFailures }>();
    for (const { taskId, at, policy } of failed.toSorted((a, b) => a.at - b.at)) {
      const key = `${deployKeyText(taskId)} ${taskId.instanceNo}`;
      const former = changed.get(key)?.failures ?? known.get(deployKeyText(taskId))?.get(taskId.instanceNo);
      changed.set(key, { taskId, failures: afterFailure(policy, former, at) });
    }
    const written = [...changed.values()];
    await tx.query(
      `WITH failed AS (
         SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::timestamptz[])
           AS f (request_id, deploy_id, instance_no, count, last_at)
       ), former AS (
         DELETE FROM instance_failure i USING failed f WHERE i.request_id = f.request_id AND i.deploy_id <> f.deploy_id
       )
       INSERT INTO instance_failure (request_id, deploy_id, instance_no, count, last_at) SELECT * FROM failed
       ON CONFLICT (request_id, deploy_id, instance_no) DO UPDATE SET count = excluded.count, last_at = excluded.last_at`,
      [
        written.map(({ taskId }) => taskId.requestId),
        written.map(({ taskId }) => taskId.deployId),
        written.map(({ taskId }) => taskId.instanceNo),
        written.map(({ failures }) => failures.count),
        written.map(({ failures }) => new Date(failures.lastAt)),
      ],
    );
  }

  async forget(tx: Transaction, deploys: readonly DeployKey[]): Promise<void> {
    if (deploys.length === 0) return;
    await tx.query(
      `DELETE FROM instance_failure f USING unnest($1::text[], $2::text[]) AS d (request_id, deploy_id)
       WHERE f.request_id = d.request_id AND f.deploy_id = d.deploy_id`,
      [deploys.map(({ requestId }) => requestId), deploys.map(({ deployId }) => deployId)],
    );
  }

  /** The request is gone. */
  async removeAll(tx: Transaction, requestId: string): Promise<void> {
    await tx.query('DELETE FROM instance_failure WHERE request_id = $1', [requestId]);
  }
}
