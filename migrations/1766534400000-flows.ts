import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Requests follow others: who follows whom, the runs of each flow, and what a run of several parents still waits for. */
export class Flows1766534400000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // As the documents of requests say, whoever writes them: asked at the end of each run, by its request.
    await q.query(`CREATE TABLE flow_edge (child_id text NOT NULL, parent_id text NOT NULL, condition text NOT NULL,
      PRIMARY KEY (child_id, parent_id))`);
    await q.query(`CREATE INDEX flow_edge_by_parent ON flow_edge (parent_id, child_id)`);
    await q.query(`CREATE FUNCTION note_flow_edges() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN DELETE FROM flow_edge WHERE child_id = OLD.id; END IF;
        IF TG_OP <> 'DELETE' AND jsonb_typeof(NEW.document->'after') = 'array' THEN
          INSERT INTO flow_edge (child_id, parent_id, condition)
            SELECT NEW.id, parent->>'requestId', parent->>'on' FROM jsonb_array_elements(NEW.document->'after') AS parent
            ON CONFLICT DO NOTHING;
        END IF;
        RETURN NULL;
      END $$`);
    await q.query(`CREATE TRIGGER request_insert_flow AFTER INSERT ON request
      FOR EACH ROW WHEN (NEW.document ? 'after') EXECUTE FUNCTION note_flow_edges()`);
    await q.query(`CREATE TRIGGER request_update_flow AFTER UPDATE OF document ON request
      FOR EACH ROW WHEN (OLD.document->'after' IS DISTINCT FROM NEW.document->'after') EXECUTE FUNCTION note_flow_edges()`);
    await q.query(`CREATE TRIGGER request_delete_flow AFTER DELETE ON request
      FOR EACH ROW WHEN (OLD.document ? 'after') EXECUTE FUNCTION note_flow_edges()`);

    // Locked by whoever changes anything of the flow. refused: runs that were not made, for there were too many.
    await q.query(`CREATE TABLE flow (id text PRIMARY KEY, request_id text NOT NULL, started_at timestamptz NOT NULL,
      changed_at timestamptz NOT NULL, runs integer NOT NULL, refused integer NOT NULL DEFAULT 0, reruns integer NOT NULL DEFAULT 0)`);
    await q.query(`CREATE INDEX flow_by_change ON flow (changed_at)`);
    await q.query(`CREATE INDEX flow_by_request ON flow (request_id, started_at)`);

    // cause: the end that made the run, by its task id, so that one end makes at most one run of a follower. A run waits until
    // what its parents tell was read (outputs), and there is room for it in the queue (queued_at).
    await q.query(`CREATE TABLE flow_run (flow_id text NOT NULL, request_id text NOT NULL, run_id text NOT NULL,
      cause text NOT NULL, trigger text, parent_runs text[] NOT NULL, asked jsonb NOT NULL, created_at timestamptz NOT NULL,
      queued_at timestamptz, ended_at timestamptz, task_id text, state text, outputs jsonb, outputs_problem text,
      PRIMARY KEY (flow_id, request_id, run_id), UNIQUE (flow_id, request_id, cause))`);
    await q.query(`CREATE INDEX flow_run_waiting ON flow_run (request_id, created_at)
      WHERE queued_at IS NULL AND ended_at IS NULL`);
    await q.query(`CREATE INDEX flow_run_by_request ON flow_run (request_id, created_at)`);
    await q.query(
      `CREATE INDEX flow_run_open ON flow_run (queued_at) WHERE queued_at IS NOT NULL AND ended_at IS NULL`,
    );

    // A parent has ended as a follower that waits for several wants: once in a flow.
    await q.query(`CREATE TABLE flow_fan_in (flow_id text NOT NULL, request_id text NOT NULL, parent_id text NOT NULL,
      task_id text NOT NULL, PRIMARY KEY (flow_id, request_id, parent_id))`);

    await q.query(`CREATE VIEW v_flow AS
      SELECT r.flow_id, f.request_id AS began_with, f.started_at AS flow_started_at, r.request_id, r.run_id, r.task_id,
        r.parent_runs, r.trigger, r.created_at, r.queued_at, r.ended_at, r.state AS status
      FROM flow_run r JOIN flow f ON f.id = r.flow_id`);
    await q.query(`COMMENT ON VIEW v_flow IS
      'One row per run of a flow: the runs whose ends made it, since when it waits, and how it ended'`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP VIEW v_flow`);
    await q.query(`DROP TABLE flow_fan_in, flow_run, flow, flow_edge`);
    await q.query(`DROP FUNCTION note_flow_edges CASCADE`);
  }
}
