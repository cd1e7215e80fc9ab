import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/free-port.js';
import type { Side } from './side.js';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The built product as it comes, with its embedded database; in the place of its agent, the played machines. */
export async function startMuster(
  side: Side,
  { machines, workers }: { machines: number; workers: number | undefined },
) {
  const dataDir = side.folder('store');
  await side.playCluster(process.execPath, [file('played-machines.mjs'), dataDir, String(machines)]);
  const port = await freePort();
  const words = [file('../../../bin/muster.mjs'), 'scheduler', '--new-database'];
  const service = side.run('service', process.execPath, words, {
    MUSTER_PORT: String(port),
    MUSTER_DATA_DIR: dataDir,
    DATABASE_URL: undefined,
    MUSTER_CONFIG: undefined,
    ...(workers !== undefined && { MUSTER_HTTP_WORKERS: String(workers) }),
  });
  side.api = `http://127.0.0.1:${port}/api`;
  await service.until('Muster', () => side.answers(`http://127.0.0.1:${port}/readyz`));
}
