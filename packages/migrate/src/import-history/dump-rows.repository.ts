import type { Queryable } from '../../../../src/platform/database/queryable.js';
import { rows } from '../../../../src/platform/database/sql.js';
import type { DumpTable } from './dump-tables.js';

/** The rows of an older installation, as they go into the table that keeps them from now on. By hand: hundreds of rows a statement. */
export class DumpRowsRepository {
  constructor(
    private readonly db: Queryable,
    private readonly table: DumpTable,
  ) {}

  /** All of them have the same columns. Answers how many were not there before. */
  async insert(columns: readonly object[]): Promise<number> {
    const names = Object.keys(columns[0]!).join(', ');
    const { table } = this.table;
    const written = await rows(
      this.db,
      `INSERT INTO ${table} (${names})
       SELECT ${names} FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb) ON CONFLICT DO NOTHING RETURNING 1`,
      [JSON.stringify(columns)],
    );
    return written.length;
  }

  /** One that the table cannot take. name: where it stands, for people. */
  async listUnreadable(name: string, reason: string, source: string): Promise<void> {
    await this.db.query(
      `INSERT INTO unreadable_history (kind, key, reason, found_at, source) VALUES ('IMPORT', $1, $2, now(), $3)
       ON CONFLICT (kind, key) DO UPDATE SET reason = excluded.reason, source = excluded.source`,
      [name, reason, source],
    );
  }

  /** So that searches find their way through rows of which there were none a moment ago. */
  async haveCounted(): Promise<void> {
    await this.db.query(`ANALYZE ${this.table.table}`);
  }
}
