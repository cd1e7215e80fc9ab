import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A host that is marked inactive gets no new tasks, so the leader reads its machines again when the marks change. */
export class InactiveHostsNoted1766016000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const event of ['INSERT', 'UPDATE', 'DELETE']) {
      await q.query(`CREATE TRIGGER inactive_host_${event.toLowerCase()}_noted AFTER ${event} ON inactive_host
        REFERENCING ${event === 'INSERT' ? 'NEW' : 'OLD'} TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION note_leader_change('host', 'host')`);
    }
  }
  async down(q: QueryRunner): Promise<void> {
    for (const event of ['insert', 'update', 'delete']) {
      await q.query(`DROP TRIGGER inactive_host_${event}_noted ON inactive_host`);
    }
  }
}
