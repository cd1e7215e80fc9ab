import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tasks that were given up with their machine, and may still run there: they count for requests whose old tasks end first. */
export class GivenUpTasks1766780000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE task ADD COLUMN may_run boolean NOT NULL DEFAULT false`);
    // Machines that come back, and each load of the leader's memory, ask for these few among all tasks.
    await q.query(`CREATE INDEX task_may_run ON task (slave_id) WHERE may_run`);
    // The removal of a machine, which any instance may do, has to reach the leader's memory. By row: a trigger with a list of columns
    // cannot be by statement, and without the list it would run with every status.
    await q.query(`CREATE FUNCTION note_may_run() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO leader_change (kind, key) VALUES ('request', NEW.request_id);
        RETURN NULL;
      END $$`);
    await q.query(`CREATE TRIGGER task_may_run_noted AFTER UPDATE OF may_run ON task
      FOR EACH ROW WHEN (OLD.may_run <> NEW.may_run) EXECUTE FUNCTION note_may_run()`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TRIGGER task_may_run_noted ON task`);
    await q.query(`DROP FUNCTION note_may_run`);
    await q.query(`ALTER TABLE task DROP COLUMN may_run`);
  }
}
