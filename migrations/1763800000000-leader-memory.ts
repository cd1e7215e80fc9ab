import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the leader, who keeps the working set in memory, has to read again. */
export class LeaderMemory1763800000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Rows are taken with DELETE .. RETURNING: commits arrive out of order, so "id greater than the last" would miss some.
    await q.query(`CREATE TABLE leader_change (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text NOT NULL,
      key text NOT NULL)`);
    // By trigger, so that no writer can forget it. Whoever tells the leader's memory itself sets muster.keeps_memory for
    // its transaction. Arguments: the kind of change, the column with its key.
    await q.query(`CREATE FUNCTION note_leader_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF coalesce(current_setting('muster.keeps_memory', true), '') <> 'on' THEN
          EXECUTE format('INSERT INTO leader_change (kind, key) SELECT DISTINCT %L, %I FROM changed', TG_ARGV[0], TG_ARGV[1]);
        END IF;
        RETURN NULL;
      END $$`);
    const noted = [
      { table: 'request', kind: 'request', key: 'id' },
      { table: 'pending_task', kind: 'request', key: 'request_id' },
      { table: 'task_cleanup', kind: 'request', key: 'request_id' },
      { table: 'killed_task', kind: 'request', key: 'request_id' },
      { table: 'slave', kind: 'slave', key: 'id' },
      { table: 'rack', kind: 'rack', key: 'id' },
    ];
    for (const { table, kind, key } of noted) {
      for (const event of ['INSERT', 'UPDATE', 'DELETE']) await q.query(trigger(table, event, kind, key));
    }
    // Ends of tasks are told by whoever applies them; a task that comes to be in another way is noted.
    await q.query(trigger('task', 'INSERT', 'request', 'request_id'));
    // Inserting many rows at once is the hot path: the document is kept as the text that was sent, below the size at
    // which the server would begin to compress it.
    await q.query(`ALTER TABLE task_launch ALTER document TYPE json, SET (toast_tuple_target = 8160)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE task_launch ALTER document TYPE jsonb, RESET (toast_tuple_target)`);
    await q.query(`DROP FUNCTION note_leader_change CASCADE`);
    await q.query(`DROP TABLE leader_change`);
  }
}

const trigger = (table: string, event: string, kind: string, key: string): string =>
  `CREATE TRIGGER ${table}_${event.toLowerCase()}_noted AFTER ${event} ON ${table}
   REFERENCING ${event === 'INSERT' ? 'NEW' : 'OLD'} TABLE AS changed
   FOR EACH STATEMENT EXECUTE FUNCTION note_leader_change('${kind}', '${key}')`;
