import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why due tasks wait, as the scheduler last saw it: for SQL. */
export class WaitingReasons1763800050000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE waiting_reason (
      pending_task_id text PRIMARY KEY,
      request_id text NOT NULL,
      reason text NOT NULL,
      message text NOT NULL,
      slaves integer NOT NULL,
      rejections jsonb NOT NULL,
      at timestamptz NOT NULL)`);
    await q.query(`CREATE VIEW v_waiting_task AS
      SELECT p.id AS pending_task_id, p.request_id, p.deploy_id, p.instance_no, p.pending_type, p.next_run_at AS due_at,
        greatest(extract(epoch FROM now() - p.next_run_at), 0) AS overdue_seconds,
        CASE WHEN p.next_run_at <= now() THEN coalesce(w.reason, 'PLACEABLE')
          WHEN r.state = 'SYSTEM_COOLDOWN' AND p.pending_type <> 'NEW_DEPLOY' THEN 'COOLDOWN' ELSE 'NOT_DUE' END AS reason,
        w.message, w.slaves, w.rejections, w.at AS looked_at
      FROM pending_task p LEFT JOIN request r ON r.id = p.request_id
        LEFT JOIN waiting_reason w ON w.pending_task_id = p.id
      WHERE NOT p.delete_requested`);
    await q.query(`COMMENT ON VIEW v_waiting_task IS
      'One row per pending task: when it is due, why it waits, and how many slaves were refused for which reason'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP VIEW v_waiting_task`);
    await q.query(`DROP TABLE waiting_reason`);
  }
}
