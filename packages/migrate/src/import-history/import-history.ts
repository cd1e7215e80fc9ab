import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { dumpTableOf, dumpTables } from './dump-tables.js';
import { HistoryImport } from './history-import.js';
import { DatabasePool } from '../../../../src/platform/database/pool.js';
import { StartError } from '../../../../src/platform/errors.js';
import { PinoLogger } from '../../../../src/platform/logging/log.js';
import { releasePidFile, takePidFile } from '../../../../src/platform/process/pid-file.js';
import type { Settings } from '../../../../src/platform/settings/settings.js';
import { say } from '../../../../src/cli/server/announce.js';
import { openDatabase } from '../../../../src/cli/server/open-database.js';
import { reportFailure } from '../../../../src/cli/server/report-failure.js';
import { pidFileOf } from '../../../../src/cli/server/instance-place.js';
import { StopSequence } from '../../../../src/cli/server/stop-sequence.js';

const quiet = (): void => undefined;

/** Copies the history of an older installation, a folder of CSV files, into ours. Answers the exit code. */
export async function importHistory(settings: Settings, folder: string): Promise<number> {
  Logger.overrideLogger(new PinoLogger(settings.log));
  const files = filesOf(folder);
  const ownsDatabase = settings.databaseUrl === undefined;
  if (ownsDatabase) claim(settings.dataDir);
  const stop = new StopSequence(['database']);
  stop.listen();
  await stop.start(async (checkpoint) => {
    const { url } = await openDatabase(settings, stop);
    checkpoint();
    const pool = await new DatabasePool({ url, use: 'api', poolSize: 1 }).open();
    try {
      for (const { file, table } of files) {
        const { imported, alreadyThere, unreadable } = await new HistoryImport(pool, join(folder, file), table).run(
          checkpoint,
        );
        say(`${file}: ${imported} rows imported, ${alreadyThere} already existed, ${unreadable} unreadable`);
        if (unreadable > 0) say(`  The unreadable ones are listed in the table unreadable_history`);
      }
      say('Next: start Muster and call POST /api/history/sql-backfill');
    } finally {
      await pool.close();
    }
  }, reportFailure);
  // After a failure it runs already, with the exit code of that.
  void stop.run(0, quiet);
  const exitCode = await stop.stopped;
  if (ownsDatabase) releasePidFile(pidFileOf(settings.dataDir));
  return exitCode;
}

function filesOf(folder: string) {
  const files = namesIn(folder).flatMap((file) => {
    const table = file.toLowerCase().endsWith('.csv') ? dumpTableOf(file) : undefined;
    return table ? [{ file, table }] : [];
  });
  if (files.length > 0) return files;
  const wanted = dumpTables.map(({ name }) => `${name}.csv`).join(', ');
  throw new StartError(`There is nothing to import in ${folder}: it must hold some of ${wanted}`);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (cause) {
    throw new StartError(`Cannot read the folder ${folder}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}

function claim(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true });
  const holder = takePidFile(pidFileOf(dataDir));
  if (holder === undefined) return;
  throw new StartError(`Muster runs on ${dataDir} (process ${holder}): stop it, or name its database in DATABASE_URL`);
}
