import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Bytes of requests and deploys, of which a group may have so many: the leader keeps them in memory. */
export class BytesOfRecords1766900000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE request ADD COLUMN bytes integer NOT NULL DEFAULT 0');
    await q.query('ALTER TABLE pending_deploy ADD COLUMN bytes integer NOT NULL DEFAULT 0');
    await q.query('ALTER TABLE deploy_history ADD COLUMN deploy_bytes integer NOT NULL DEFAULT 0');
    await q.query('UPDATE request SET bytes = octet_length(document::text)');
    await q.query(
      'UPDATE pending_deploy SET bytes = octet_length(updated_request::text) WHERE updated_request IS NOT NULL',
    );
    // Those in use only: there may be millions of others, and none of them is counted.
    await q.query(`UPDATE deploy_history d SET deploy_bytes = octet_length((d.data->'deploy')::text)
      FROM (SELECT id AS request_id, active_deploy_id AS deploy_id FROM request UNION SELECT id, pending_deploy_id FROM request
        UNION SELECT request_id, deploy_id FROM pending_task UNION SELECT request_id, deploy_id FROM task) used
      WHERE d.request_id = used.request_id AND d.deploy_id = used.deploy_id AND d.data->'deploy' IS NOT NULL`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE deploy_history DROP COLUMN deploy_bytes');
    for (const table of ['pending_deploy', 'request']) await q.query(`ALTER TABLE ${table} DROP COLUMN bytes`);
  }
}
