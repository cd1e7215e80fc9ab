import type { MigrationInterface, QueryRunner } from 'typeorm';

/** People who have signed in with a browser. */
export class AuthSession1766450000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // token_digest: the token it began with (auth_token.lookup_digest), which it ends with; NULL where a provider vouched.
    await q.query(`CREATE TABLE auth_session (
      id_digest text PRIMARY KEY,
      issuer text NOT NULL,
      user_id text NOT NULL,
      user_data jsonb NOT NULL,
      token_digest text,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL)`);
    await q.query(`CREATE INDEX auth_session_by_owner ON auth_session (user_id, issuer, created_at)`);
    await q.query(`CREATE INDEX auth_session_by_end ON auth_session (expires_at)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP TABLE auth_session`);
  }
}
