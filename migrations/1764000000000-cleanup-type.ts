import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The types as they were when their texts were read for the last time. */
const types = [
  'BOUNCING',
  'DECOMMISSION_TIMEOUT',
  'DECOMISSIONING',
  'DEPLOY_CANCELED',
  'DEPLOY_FAILED',
  'DEPLOY_STEP_FINISHED',
  'INCREMENTAL_BOUNCE',
  'INCREMENTAL_DEPLOY_CANCELLED',
  'INCREMENTAL_DEPLOY_FAILED',
  'NEW_DEPLOY_SUCCEEDED',
  'OVERDUE_NEW_TASK',
  'PAUSE',
  'PAUSING',
  'PRIORITY_KILL',
  'REBALANCE_CPU_USAGE',
  'REBALANCE_MEMORY_USAGE',
  'REBALANCE_RACKS',
  'REBALANCE_SLAVE_ATTRIBUTES',
  'REQUEST_DELETING',
  'SCALING_DOWN',
  'TASK_EXCEEDED_TIME_LIMIT',
  'UNHEALTHY_NEW_TASK',
  'USER_REQUESTED',
  'USER_REQUESTED_DESTROY',
  'USER_REQUESTED_TASK_BOUNCE',
];
const list = types.map((type) => `'${type}'`).join(', ');
/** SQL: the type with which the text of a cleaning update begins; NULL: with none. */
const typeOf = (text: string): string =>
  `(SELECT word FROM substring(${text} FROM '^[A-Z_]+') AS word WHERE word IN (${list}))`;

/** Why a task has to go is decided upon, so it stands beside the text that users read (and partly write). */
export class CleanupType1764000000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE task_update ADD COLUMN cleanup_type text`);
    await q.query(`UPDATE task_update SET cleanup_type = ${typeOf('message')} WHERE state = 'TASK_CLEANING'`);
    // Cleanups that a later one replaced: a bounce is under way until its tasks are gone, whatever became of their orders.
    await q.query(
      `UPDATE task_update u SET previous = (
         SELECT jsonb_agg(former || jsonb_build_object('cleanupType', ${typeOf(`former ->> 'statusMessage'`)}) ORDER BY n)
         FROM jsonb_array_elements(u.previous) WITH ORDINALITY AS f (former, n))
       WHERE state = 'TASK_CLEANING' AND previous <> '[]'`,
    );
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(
      `UPDATE task_update u SET previous = (
         SELECT jsonb_agg(former - 'cleanupType' ORDER BY n) FROM jsonb_array_elements(u.previous) WITH ORDINALITY AS f (former, n))
       WHERE state = 'TASK_CLEANING' AND previous <> '[]'`,
    );
    await q.query(`ALTER TABLE task_update DROP COLUMN cleanup_type`);
  }
}
