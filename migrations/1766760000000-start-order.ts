import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Services name others that start before them (startAfter): rows of flow_edge whose condition is START. */
export class StartOrder1766760000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`CREATE OR REPLACE FUNCTION note_flow_edges() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN DELETE FROM flow_edge WHERE child_id = OLD.id; END IF;
        IF TG_OP = 'DELETE' THEN RETURN NULL; END IF;
        IF jsonb_typeof(NEW.document->'after') = 'array' THEN
          INSERT INTO flow_edge (child_id, parent_id, condition)
            SELECT NEW.id, parent->>'requestId', parent->>'on' FROM jsonb_array_elements(NEW.document->'after') AS parent
            ON CONFLICT DO NOTHING;
        END IF;
        IF jsonb_typeof(NEW.document->'startAfter') = 'array' THEN
          INSERT INTO flow_edge (child_id, parent_id, condition)
            SELECT NEW.id, parent, 'START' FROM jsonb_array_elements_text(NEW.document->'startAfter') AS parent
            ON CONFLICT DO NOTHING;
        END IF;
        RETURN NULL;
      END $$`);
    await this.replaceTriggers(q, {
      named: (row) => `${row}.document ?| ARRAY['after', 'startAfter']`,
      changed: `OLD.document->'after' IS DISTINCT FROM NEW.document->'after'
        OR OLD.document->'startAfter' IS DISTINCT FROM NEW.document->'startAfter'`,
    });
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`DELETE FROM flow_edge WHERE condition = 'START'`);
    await q.query(`CREATE OR REPLACE FUNCTION note_flow_edges() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN DELETE FROM flow_edge WHERE child_id = OLD.id; END IF;
        IF TG_OP <> 'DELETE' AND jsonb_typeof(NEW.document->'after') = 'array' THEN
          INSERT INTO flow_edge (child_id, parent_id, condition)
            SELECT NEW.id, parent->>'requestId', parent->>'on' FROM jsonb_array_elements(NEW.document->'after') AS parent
            ON CONFLICT DO NOTHING;
        END IF;
        RETURN NULL;
      END $$`);
    await this.replaceTriggers(q, {
      named: (row) => `${row}.document ? 'after'`,
      changed: `OLD.document->'after' IS DISTINCT FROM NEW.document->'after'`,
    });
  }

  private async replaceTriggers(
    q: QueryRunner,
    { named, changed }: { named: (row: 'NEW' | 'OLD') => string; changed: string },
  ): Promise<void> {
    for (const name of ['request_insert_flow', 'request_update_flow', 'request_delete_flow'])
      await q.query(`DROP TRIGGER ${name} ON request`);
    await q.query(`CREATE TRIGGER request_insert_flow AFTER INSERT ON request
      FOR EACH ROW WHEN (${named('NEW')}) EXECUTE FUNCTION note_flow_edges()`);
    await q.query(`CREATE TRIGGER request_update_flow AFTER UPDATE OF document ON request
      FOR EACH ROW WHEN (${changed}) EXECUTE FUNCTION note_flow_edges()`);
    await q.query(`CREATE TRIGGER request_delete_flow AFTER DELETE ON request
      FOR EACH ROW WHEN (${named('OLD')}) EXECUTE FUNCTION note_flow_edges()`);
  }
}
