import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

const hourMillis = 3_600_000;

/** The rows of inactive hosts. One that is older than `cleanInactiveHostListEveryHours` says nothing any more. */
@Injectable()
export class InactiveHosts {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** In alphabetical order. */
  async list(tx: EntityManager, now: number): Promise<string[]> {
    const found = await rows<{ host: string }>(
      tx,
      'SELECT host FROM inactive_host WHERE marked_at > $1 ORDER BY host',
      [this.oldest(now)],
    );
    return found.map((row) => row.host);
  }

  /** Is a slave that goes by these names on an inactive host? */
  async includesAny(tx: EntityManager, hosts: readonly string[], now: number): Promise<boolean> {
    const found = await rows(tx, 'SELECT 1 FROM inactive_host WHERE host = ANY ($1) AND marked_at > $2 LIMIT 1', [
      hosts,
      this.oldest(now),
    ]);
    return found.length > 0;
  }

  /** One that is marked already is marked anew. */
  async mark(tx: EntityManager, host: string, now: number): Promise<void> {
    await tx.query(
      `INSERT INTO inactive_host (host, marked_at) VALUES ($1, $2)
       ON CONFLICT (host) DO UPDATE SET marked_at = excluded.marked_at`,
      [host, new Date(now)],
    );
  }

  async unmark(tx: EntityManager, hosts: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM inactive_host WHERE host = ANY ($1)', [hosts]);
  }

  async unmarkAll(tx: EntityManager): Promise<void> {
    await tx.query('DELETE FROM inactive_host');
  }

  async removeExpired(tx: EntityManager, now: number): Promise<void> {
    await tx.query('DELETE FROM inactive_host WHERE marked_at <= $1', [this.oldest(now)]);
  }

  private oldest(now: number): Date {
    return new Date(now - this.settings.cleanInactiveHostListEveryHours * hourMillis);
  }
}
