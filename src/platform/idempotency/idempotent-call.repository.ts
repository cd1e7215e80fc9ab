import { Injectable } from '@nestjs/common';
import { rows } from '../database/sql.js';
import type { IdempotentCallEntity } from './idempotent-call.entity.js';
import type { Queryable } from '../database/queryable.js';
import type { Transaction } from '../database/transaction.js';

/** Identifies one call with a key. */
export interface Claim {
  scope: string;
  fingerprint: string;
  claim: string;
  instanceId: string;
}

export interface KeptCall extends Claim, Pick<IdempotentCallEntity, 'status' | 'contentType' | 'body'> {
  acted: boolean;
  /** True if the instance that began it lives, as far as is known. */
  maybeRunning: boolean;
}

/** Calls with an Idempotency-Key. By hand: each statement holds under concurrency by its condition. */
@Injectable()
export class IdempotentCallRepository {
  /** false: another call with this key was there before. */
  async begin(tx: Queryable, { scope, fingerprint, claim, instanceId }: Claim): Promise<boolean> {
    const begun = await rows(
      tx,
      `INSERT INTO idempotent_call (scope, fingerprint, claim, instance_id, begun_at)
       VALUES ($1, $2, $3, $4, clock_timestamp()) ON CONFLICT (scope) DO NOTHING RETURNING 1`,
      [scope, fingerprint, claim, instanceId],
    );
    return begun.length > 0;
  }

  /**
   * Instances write their rows every few seconds; one that has just started may not have one yet. What lies in the future was
   * written by a clock that has been set back since, and says nothing.
   */
  async find(tx: Queryable, scope: string): Promise<KeptCall | undefined> {
    const [found] = await rows<KeptCall>(
      tx,
      `SELECT scope, fingerprint, claim, instance_id AS "instanceId", status, content_type AS "contentType", body,
         acted_at IS NOT NULL AS acted,
         begun_at BETWEEN clock_timestamp() - interval '5 seconds' AND clock_timestamp() + interval '5 seconds' OR EXISTS (SELECT 1 FROM instance
           WHERE id = c.instance_id
             AND written_at BETWEEN clock_timestamp() - interval '15 seconds' AND clock_timestamp() + interval '15 seconds') AS "maybeRunning"
       FROM idempotent_call c WHERE scope = $1`,
      [scope],
    );
    return found;
  }

  /** Takes the place of one that has neither acted nor answered; false: it did meanwhile, or another one was first. */
  async takeOver(tx: Queryable, former: Claim, { claim, instanceId }: Claim): Promise<boolean> {
    const taken = await rows(
      tx,
      `UPDATE idempotent_call SET claim = $3, instance_id = $4, begun_at = clock_timestamp()
       WHERE scope = $1 AND claim = $2 AND acted_at IS NULL AND status IS NULL RETURNING 1`,
      [former.scope, former.claim, claim, instanceId],
    );
    return taken.length > 0;
  }

  /** At the end of a transaction of the call: if it changed anything, that is noted with it. false: another has its place. */
  async noteActed(tx: Transaction, { scope, claim }: Claim): Promise<boolean> {
    // Nothing has been written, or locked, where there is no id yet.
    const [changed] = await rows<{ any: boolean }>(tx, 'SELECT pg_current_xact_id_if_assigned() IS NOT NULL AS any');
    if (!changed!.any) return true;
    const noted = await rows(
      tx,
      `UPDATE idempotent_call SET acted_at = coalesce(acted_at, clock_timestamp()) WHERE scope = $1 AND claim = $2
       RETURNING 1`,
      [scope, claim],
    );
    return noted.length > 0;
  }

  async keepAnswer(
    tx: Queryable,
    { scope, claim }: Claim,
    { status, contentType, body }: Pick<KeptCall, 'status' | 'contentType' | 'body'>,
  ): Promise<void> {
    await rows(
      tx,
      'UPDATE idempotent_call SET status = $3, content_type = $4, body = $5 WHERE scope = $1 AND claim = $2',
      [scope, claim, status, contentType, body],
    );
  }

  /** Unless it has acted. Waits for a transaction of the call whose commit is under way. */
  async release(tx: Queryable, { scope, claim }: Claim): Promise<void> {
    await rows(tx, 'DELETE FROM idempotent_call WHERE scope = $1 AND claim = $2 AND acted_at IS NULL', [scope, claim]);
  }

  /** Removes at most `most` that began before so many hours, and answers how many went. */
  async removeOlder(tx: Transaction, hours: number, most: number): Promise<number> {
    const gone = await rows(
      tx,
      `DELETE FROM idempotent_call WHERE scope = ANY (ARRAY(
         SELECT scope FROM idempotent_call WHERE begun_at < now() - $1 * interval '1 hour' ORDER BY begun_at LIMIT $2))
       RETURNING 1`,
      [hours, most],
    );
    return gone.length;
  }
}
