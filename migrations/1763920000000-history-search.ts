import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What makes every search of the history answer its first page, and its count, without reading the table itself. */
export class HistorySearch1763920000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // A search for what began after a moment may skip what was updated before it. Only then is that true.
    await q.query(`UPDATE task_history SET updated_at = started_at WHERE updated_at < started_at`);
    await q.query(`ALTER TABLE task_history ADD CONSTRAINT task_history_times CHECK (updated_at >= started_at)`);
    // The purger counts what still has its details: read from the index as well.
    await q.query(`DROP INDEX task_history_by_request`);
    await q.query(
      `CREATE INDEX task_history_by_request ON task_history (request_id, updated_at, task_id) INCLUDE (purged)`,
    );
    await q.query(`CREATE INDEX task_history_by_deploy_alone ON task_history (deploy_id, updated_at)`);
    await q.query(`CREATE INDEX task_history_by_status_alone ON task_history (last_task_status, updated_at)`);
    // Hosts are asked together with anything, and where there are few, each has very many tasks: this index answers alone.
    await q.query(`DROP INDEX task_history_by_host`);
    await q.query(`CREATE INDEX task_history_by_host ON task_history (host, updated_at)
      INCLUDE (task_id, request_id, deploy_id, run_id, last_task_status, started_at)`);
    // What ran at a moment: short tasks ended soon after it, so only these few have to be looked through.
    await q.query(`CREATE INDEX task_history_long ON task_history (updated_at, request_id, task_id)
      INCLUDE (deploy_id, run_id, host, last_task_status, started_at) WHERE updated_at - started_at > '01:00:00'::interval`);
    // An index alone answers only for pages that a vacuum has seen.
    await q.query(`ALTER TABLE task_history SET (autovacuum_vacuum_insert_scale_factor = 0.02)`);
    // The purger takes the oldest deploys of all requests.
    await q.query(`CREATE INDEX deploy_history_by_age ON deploy_history (created_at)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX deploy_history_by_age, task_history_long, task_history_by_status_alone,
      task_history_by_deploy_alone, task_history_by_request, task_history_by_host`);
    await q.query(`CREATE INDEX task_history_by_host ON task_history (host, updated_at)`);
    await q.query(`CREATE INDEX task_history_by_request ON task_history (request_id, updated_at, task_id)`);
    await q.query(`ALTER TABLE task_history RESET (autovacuum_vacuum_insert_scale_factor)`);
    await q.query(`ALTER TABLE task_history DROP CONSTRAINT task_history_times`);
  }
}
