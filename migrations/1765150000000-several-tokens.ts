import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A user may have several tokens, each with a name and an end, and is told apart by who vouches for their id. */
export class SeveralTokens1765150000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    // Who vouched for the id (a provider, the directory, this service), so that equal ids of two of them are two users.
    // token_hash is of tokens made before: they could be chosen. The digest says enough of one that is random.
    await q.query(`ALTER TABLE auth_token
      ADD COLUMN id text,
      ADD COLUMN issuer text NOT NULL DEFAULT 'muster',
      ADD COLUMN user_id text,
      ADD COLUMN name text NOT NULL DEFAULT '',
      ADD COLUMN made_by text NOT NULL DEFAULT '',
      ADD COLUMN expires_at timestamptz NOT NULL DEFAULT now() + interval '90 days',
      ADD COLUMN last_used_at timestamptz`);
    // Until now rows were told apart by the name to show: of several with one id the newest keeps the place without a name.
    await q.query(`UPDATE auth_token AS token
      SET id = substr(md5(lookup_digest), 1, 16), user_id = user_data->>'id',
        name = CASE WHEN newest THEN '' ELSE 'older-' || substr(md5(lookup_digest), 1, 16) END
      FROM (SELECT token_hash,
          row_number() OVER (PARTITION BY user_data->>'id' ORDER BY created_at DESC, token_hash) = 1 AS newest
        FROM auth_token) AS ranked
      WHERE ranked.token_hash = token.token_hash`);
    await q.query(`ALTER TABLE auth_token
      ALTER COLUMN id SET NOT NULL,
      ALTER COLUMN user_id SET NOT NULL,
      ALTER COLUMN issuer DROP DEFAULT,
      ALTER COLUMN name DROP DEFAULT,
      ALTER COLUMN made_by DROP DEFAULT,
      ALTER COLUMN expires_at DROP DEFAULT,
      DROP CONSTRAINT auth_token_pkey,
      ADD CONSTRAINT auth_token_pkey PRIMARY KEY (id)`);
    await q.query(`ALTER TABLE auth_token ALTER COLUMN token_hash DROP NOT NULL`);
    await q.query(`DROP INDEX auth_token_by_user`);
    await q.query(`CREATE UNIQUE INDEX auth_token_by_owner ON auth_token (issuer, user_id, name)`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`DROP INDEX auth_token_by_owner`);
    // What the former schema cannot hold: tokens without a slow hash, and more than one of a name.
    await q.query(`DELETE FROM auth_token WHERE token_hash IS NULL`);
    await q.query(`DELETE FROM auth_token AS token USING auth_token AS newer
      WHERE newer.user_name = token.user_name AND (newer.created_at, newer.id) > (token.created_at, token.id)`);
    await q.query(`ALTER TABLE auth_token
      DROP CONSTRAINT auth_token_pkey,
      ALTER COLUMN token_hash SET NOT NULL,
      ADD CONSTRAINT auth_token_pkey PRIMARY KEY (token_hash),
      DROP COLUMN id, DROP COLUMN issuer, DROP COLUMN user_id, DROP COLUMN name, DROP COLUMN made_by,
      DROP COLUMN expires_at, DROP COLUMN last_used_at`);
    await q.query(`CREATE UNIQUE INDEX auth_token_by_user ON auth_token (user_name)`);
  }
}
