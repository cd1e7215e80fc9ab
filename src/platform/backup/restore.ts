import { migrate } from '../database/migrate.js';
import { migrations } from '../database/migrations.js';
import { BackupReader, madeByNewer, UnusableBackup } from './backup-file.js';
import { Staging } from './staging.repository.js';

export interface RestoreResult {
  /** Time at which the backup was made. */
  at: string;
  /** The version of Muster that made it. */
  version: string;
  rows: number;
  /** Number of migrations that have brought it to the present schema. */
  migrated: number;
}

interface RestoreOptions {
  url: string;
  uncompressed: AsyncIterable<Buffer>;
  /** Allows the present data to be replaced. */
  replace: boolean;
  progress: (rows: number) => void;
}

/** Puts a backup into a database, which is as it was before unless all went well. */
export async function restore({ url, uncompressed, replace, progress }: RestoreOptions): Promise<RestoreResult> {
  const reader = new BackupReader(uncompressed);
  const { version, at, migrations: names } = await reader.head();
  const ran = migrations.filter((migration) => names.includes(migration.name));
  if (ran.length < new Set(names).size) throw new UnusableBackup(madeByNewer(version));
  const staging = await Staging.open(url, replace);
  try {
    await migrate(staging.url, ran);
    const rows = await staging.load(reader, progress);
    const later = await migrate(staging.url);
    await staging.putInPlace();
    return { at, version, rows, migrated: later.length };
  } finally {
    await staging.close();
  }
}
