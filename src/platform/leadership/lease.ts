import type { Client } from 'pg';
import type { Epoch } from '../../cluster/cluster-driver.js';
import { databaseTimeSql, type DatabaseClock } from '../database/database-clock.js';
import { connect, discard, leaseParameters, withParameters } from '../database/connection.js';
import { migrationsTable, type DatabasePool } from '../database/pool.js';
import { migrations } from '../database/migrations.js';

/** The time of a lease tells readers whether it runs. Contenders go by renewals: no clock that is set gives them a lease. */
const leaseSeconds = 3;
/** A lease that was not renewed for this long is free. Half a second longer than its holder trusts it: clocks go at slightly different rates. */
const unrenewedMillis = 2_500;
/** Longer than the server lets any statement run: a takeover waits for the transactions of the former leader. */
export const answerTimeoutMillis = 12_000;

export const leaseUrl = (url: string): string => withParameters(url, leaseParameters);

/** `$1` is the holder, `$2` its epoch. */
export const leaseStatements = {
  /** Changes no row when the lease was given back or belongs to another instance. */
  renew: `UPDATE leader_lease SET expires_at = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    WHERE holder = $1 AND epoch = $2 AND expires_at <> '-infinity' RETURNING 1`,
  giveBack: `UPDATE leader_lease SET expires_at = '-infinity' WHERE holder = $1 AND epoch = $2`,
};

const knownMigrations = migrations.map(({ name }) => name);
/** The newest migration that only a newer program knows; `$1` are those of this one. */
const newerMigration = `SELECT name FROM ${migrationsTable} WHERE name <> ALL ($1) ORDER BY timestamp DESC, id DESC LIMIT 1`;

/** Another text after each renewal. */
const renewal = `epoch || ' ' || expires_at`;

/** The rows of leader_lease and leader_epoch, over a connection of its own: a busy pool must not cost the lease. */
export class Lease {
  private client: Client | undefined;
  /** The newest renewal that was seen, and the monotonic time at which it was seen first. */
  private seen = { renewal: '', since: 0 };

  constructor(
    private readonly url: string,
    private readonly holder: string,
    private readonly monotonic: () => number,
    private readonly clock?: DatabaseClock,
  ) {}

  /**
   * The new epoch, or undefined while another instance's lease runs or is just being taken. One statement, so that a
   * process which freezes in the middle leaves no lock behind: raising the epoch waits for every transaction of the
   * former leader, and the lease counts from when that wait is over.
   *
   * A lease is free when it was given back, or when this instance has looked at it for long enough and saw no renewal.
   *
   * `byForce` takes a lease that runs, too. Its holder finds out with its next renewal or transaction, whichever is first.
   * `above`: the new epoch is higher than this one, too. Nothing is taken on a schema that a newer program made.
   */
  async take(address: string, { byForce = false, above = 0 } = {}): Promise<Epoch | undefined> {
    const taken = await this.query<{ epoch: Epoch }>(
      `WITH free AS (SELECT only_row FROM leader_lease
           WHERE (expires_at = '-infinity' OR ${renewal} = $7 OR $5) AND NOT EXISTS (${newerMigration}) FOR UPDATE SKIP LOCKED),
         raised AS (UPDATE leader_epoch SET epoch = greatest(epoch, $6) + 1 FROM free RETURNING leader_epoch.epoch)
       UPDATE leader_lease SET holder = $2, address = $3, epoch = raised.epoch,
         expires_at = clock_timestamp() + make_interval(secs => $4)
       FROM raised RETURNING raised.epoch`,
      [knownMigrations, this.holder, address, leaseSeconds, byForce, above, this.unrenewed()],
    );
    return taken[0]?.epoch;
  }

  /**
   * Looks at the lease, the time and the schema. Answers the migration by which a newer program changed the schema; undefined: this
   * program knows all there are.
   */
  async look(): Promise<string | undefined> {
    const sql = `SELECT (${newerMigration}) AS name, ${databaseTimeSql} AS shown, (SELECT ${renewal} FROM leader_lease) AS renewal`;
    const ask = async () =>
      (await this.query<{ name: string | null; shown: number; renewal: string }>(sql, [knownMigrations]))[0]!;
    const found = await (this.clock?.during(ask) ?? ask());
    if (found.renewal !== this.seen.renewal) this.seen = { renewal: found.renewal, since: this.monotonic() };
    return found.name ?? undefined;
  }

  /** Milliseconds until the lease may be taken, if it is not renewed before. */
  freeIn(): number {
    return Math.max(0, this.seen.since + unrenewedMillis - this.monotonic());
  }

  /** The renewal after which none came for long enough; empty: there is none. */
  private unrenewed(): string {
    return this.freeIn() === 0 ? this.seen.renewal : '';
  }

  /** False: the lease was given back or belongs to another instance. */
  async renew(epoch: Epoch): Promise<boolean> {
    return (await this.query(leaseStatements.renew, [this.holder, epoch])).length === 1;
  }

  async giveBack(epoch: Epoch): Promise<void> {
    await this.query(leaseStatements.giveBack, [this.holder, epoch]);
  }

  /** Another instance has led since that epoch, even if none does now. */
  async wasTakenAfter(epoch: Epoch): Promise<boolean> {
    return (await this.query('SELECT 1 FROM leader_lease WHERE epoch > $1', [epoch])).length > 0;
  }

  /** Ends the connection, and with it the wait of any query in flight. The next call opens a new one. */
  close(): void {
    if (this.client) discard(this.client);
    this.client = undefined;
  }

  private async query<Row extends object>(sql: string, values: unknown[]): Promise<Row[]> {
    this.client ??= await connect(leaseUrl(this.url), 'lease', answerTimeoutMillis);
    try {
      return (await this.client.query<Row>(sql, values)).rows;
    } catch (cause) {
      // What the connection is in the middle of is unknown.
      this.close();
      throw cause;
    }
  }
}

/** Address of the holder of a lease that runs; over any connection. */
export async function leaderAddress(pool: DatabasePool): Promise<string | undefined> {
  const found: { address: string }[] = await pool.query(
    'SELECT address FROM leader_lease WHERE expires_at >= clock_timestamp()',
  );
  return found[0]?.address;
}
