import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, discard } from '../../../src/platform/database/connection.js';
import { expect, onTestFinished, test } from 'vitest';
import { spawnNode, type TestProcess } from '../../../test/support/spawn.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';

/** `muster import-history` of the built product, as a process. */
const program = fileURLToPath(new URL('../../../bin/muster.mjs', import.meta.url));

function folder(): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  return path;
}
async function importHistory(from: string, url: string): Promise<[exitCode: number, lines: string[]]> {
  const started: TestProcess = spawnNode([program, 'import-history', from, '--data-dir', folder()], {
    DATABASE_URL: url,
  });
  onTestFinished(() => started.kill());
  await waitFor('its end', () => started.child.exitCode !== null, { timeoutMillis: 30_000 });
  // Lines of the log are JSON.
  return [started.child.exitCode!, started.lines.filter((line) => !line.startsWith('{'))];
}
async function database(): Promise<string> {
  const { url, remove } = await createDatabase({ empty: true });
  onTestFinished(remove);
  return url;
}

test('muster import-history migrates, copies what the folder holds, and says what became of it', async () => {
  const url = await database();
  const dump = folder();
  writeFileSync(
    join(dump, 'REQUEST_HISTORY.CSV'),
    'requestId,createdAt,requestState,request\nweb,2026-01-05 12:00:00,CREATED,"{""id"":""web""}"\n,2026-01-05 12:00:00,CREATED,\n',
  );
  writeFileSync(join(dump, 'notes.txt'), 'not ours');
  const [exitCode, lines] = await importHistory(dump, url);
  expect(lines).toEqual([
    'REQUEST_HISTORY.CSV: 1 rows imported, 0 already existed, 1 unreadable',
    '  The unreadable ones are listed in the table unreadable_history',
    'Next: start Muster and call POST /api/history/sql-backfill',
  ]);
  expect(exitCode).toBe(0);
  const client = await connect(url, 'test', 10_000);
  const { rows } = await client.query('SELECT request_id, event_type FROM request_history');
  discard(client);
  expect(rows).toEqual([{ request_id: 'web', event_type: 'CREATED' }]);
});

test('a folder without such files is one line and exit code 1', async () => {
  const empty = folder();
  expect(await importHistory(empty, 'postgres://nobody@127.0.0.1:1/none')).toEqual([
    1,
    [
      `There is nothing to import in ${empty}: it must hold some of taskHistory.csv, requestHistory.csv, deployHistory.csv, taskUsage.csv`,
    ],
  ]);
  const [exitCode, lines] = await importHistory(join(empty, 'missing'), 'postgres://nobody@127.0.0.1:1/none');
  expect([exitCode, lines]).toEqual([1, [`Cannot read the folder ${join(empty, 'missing')}: ENOENT`]]);
});
