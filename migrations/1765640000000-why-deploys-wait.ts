import type { MigrationInterface, QueryRunner } from 'typeorm';

const outcome = `SELECT request_id, deploy_id, user_name, message, deploy_state AS state, created_at AS started_at,
  deploy_state_at AS ended_at, extract(epoch FROM deploy_state_at - created_at) AS duration_seconds`;

/** Of a deploy in progress the report says what its tasks wait for, as far as the scheduler has looked. */
export class WhyDeploysWait1765640000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE OR REPLACE VIEW v_deploy_outcome AS ${outcome},
        CASE WHEN deploy_state IS NULL THEN (SELECT w.message FROM waiting_reason w JOIN pending_task p ON p.id = w.pending_task_id
          WHERE (p.request_id, p.deploy_id) = (d.request_id, d.deploy_id) ORDER BY w.at DESC, p.id LIMIT 1) END AS waits_because
      FROM deploy_history d`);
    await q.query(`COMMENT ON VIEW v_deploy_outcome IS 'One row per deploy: who started it, how it ended and how long it took; '
      'in progress state is null, and waits_because says why its tasks are not placed'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP VIEW v_deploy_outcome`);
    await q.query(`CREATE VIEW v_deploy_outcome AS ${outcome} FROM deploy_history`);
    await q.query(`COMMENT ON VIEW v_deploy_outcome IS
      'One row per deploy: who started it, how it ended and how long it took; state is null in progress'`);
  }
}
