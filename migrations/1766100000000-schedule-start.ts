import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A rule of RFC 5545 that names no start starts when it is saved. Those that are stored start now: it is not known how often they
 * have run, and none ends by its COUNT because of that. Their next runs are planned anew.
 */
export class ScheduleStart1766100000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE request ADD COLUMN schedule_since timestamptz`);
    await q.query(`UPDATE request SET schedule_since = now() WHERE document->>'scheduleType' = 'RFC5545'`);
    await q.query(`INSERT INTO pending_request (request_id, deploy_id, pending_type, created_at, document)
      SELECT id, active_deploy_id, 'UPDATED_REQUEST', now(), jsonb_build_object('requestId', id, 'deployId', active_deploy_id,
        'pendingType', 'UPDATED_REQUEST', 'timestamp', (extract(epoch FROM now()) * 1000)::bigint)
      FROM request WHERE schedule_since IS NOT NULL AND request_type = 'SCHEDULED' AND active_deploy_id IS NOT NULL
      ON CONFLICT (request_id, deploy_id, entry_key) DO NOTHING`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE request DROP COLUMN schedule_since`);
  }
}
