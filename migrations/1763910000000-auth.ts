import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tokens, of which only hashes are kept, and what users have chosen for themselves. */
export class Auth1763910000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // A user has one token at most. The digest finds the row of a token without trying all hashes; its key lies outside
    // this database when the settings name one. made_openly: made by a caller whom nobody had checked.
    await q.query(`CREATE TABLE auth_token (
      token_hash text PRIMARY KEY,
      lookup_digest text NOT NULL,
      user_name text NOT NULL,
      user_data jsonb NOT NULL,
      made_openly boolean NOT NULL,
      created_at timestamptz NOT NULL)`);
    await q.query(`CREATE UNIQUE INDEX auth_token_by_digest ON auth_token (lookup_digest)`);
    await q.query(`CREATE UNIQUE INDEX auth_token_by_user ON auth_token (user_name)`);

    // The key of these digests, where the settings name none. One row at most.
    await q.query(`CREATE TABLE auth_lookup_key (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      key text NOT NULL)`);

    await q.query(`CREATE TABLE user_settings (
      user_id text PRIMARY KEY,
      starred_request_ids jsonb NOT NULL DEFAULT '[]',
      updated_at timestamptz NOT NULL)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE user_settings`);
    await q.query(`DROP TABLE auth_lookup_key`);
    await q.query(`DROP TABLE auth_token`);
  }
}
