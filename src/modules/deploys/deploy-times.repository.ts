import { Injectable } from '@nestjs/common';
import type { ClockLimit } from '../../platform/clock-limit.js';
import { rows } from '../../platform/database/sql.js';
import type { Transaction } from '../../platform/database/transaction.js';

/** Paths, in the documents of a deploy in progress, of the times from which its waits and limits run. */
const times = [
  { column: 'progress', path: '{timestamp}' },
  { column: 'balance', path: '{update,timestamp}' },
  { column: 'ending', path: '{since}' },
];
const isAhead = ({ column, path }: (typeof times)[number]) => `(${column} #>> '${path}')::float8 > $2`;

/** The times of deploys in progress. By hand: they stand within documents. */
@Injectable()
export class DeployTimesRepository {
  /** Steps that began at a time that is still to come begin now. Answers how many deploys. */
  async takeTimesAhead(tx: Transaction, { now, latest }: ClockLimit): Promise<number> {
    const changes = times.map(
      (time) => `${time.column} = CASE WHEN ${isAhead(time)}
        THEN jsonb_set(${time.column}, '${time.path}', to_jsonb($1::bigint)) ELSE ${time.column} END`,
    );
    const changed = await rows(
      tx,
      `UPDATE pending_deploy SET ${changes.join(', ')} WHERE ${times.map(isAhead).join(' OR ')} RETURNING 1`,
      [now.getTime(), latest.getTime()],
    );
    return changed.length;
  }
}
