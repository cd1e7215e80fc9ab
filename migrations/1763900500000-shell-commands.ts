import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What users run in live tasks, and the notes they attach to them. Both move to the history with their task. */
export class ShellCommands1763900500000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // dispatched_at null: it waits to be sent. The key is what its machine knows it by: it runs once under it.
    await q.query(`CREATE TABLE task_shell_command (
      task_id text NOT NULL,
      name text NOT NULL,
      queued_at timestamptz NOT NULL,
      user_name text,
      document jsonb NOT NULL,
      dispatched_at timestamptz,
      ended boolean NOT NULL DEFAULT false,
      PRIMARY KEY (task_id, name, queued_at))`);
    // The dispatcher and the list of queued commands read these, and there are hardly ever any.
    await q.query(
      `CREATE INDEX task_shell_command_queued ON task_shell_command (queued_at) WHERE dispatched_at IS NULL`,
    );
    // The first update per type wins, and none comes after one that ends the command.
    await q.query(`CREATE TABLE task_shell_command_update (
      task_id text NOT NULL,
      name text NOT NULL,
      queued_at timestamptz NOT NULL,
      update_type text NOT NULL,
      at timestamptz NOT NULL,
      message text,
      output_filename text,
      PRIMARY KEY (task_id, name, queued_at, update_type))`);
    await q.query(`CREATE TABLE task_metadata (
      task_id text NOT NULL,
      type text NOT NULL,
      at timestamptz NOT NULL,
      title text NOT NULL,
      message text,
      user_name text,
      level text NOT NULL,
      PRIMARY KEY (task_id, type, at))`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE task_metadata, task_shell_command_update, task_shell_command`);
  }
}
