import { setTimeout as delay } from 'node:timers/promises';
import { holderOf } from '../../platform/process/pid-file.js';
import { say } from './announce.js';
import { pidFileOf } from './run-scheduler.js';

const lookEveryMillis = 100;

/** Asks the Muster of a data directory to stop in order and waits for its end. Answers the exit code. */
export async function stopRunning(dataDir: string, waitMillis = 600_000): Promise<number> {
  const pid = holderOf(pidFileOf(dataDir));
  if (pid === undefined) {
    say(`Muster does not run on ${dataDir}`);
    return 0;
  }
  process.kill(pid, 'SIGTERM');
  say(`Stopping process ${pid}`);
  const deadline = performance.now() + waitMillis;
  while (holderOf(pidFileOf(dataDir)) === pid) {
    if (performance.now() > deadline) {
      say(`Process ${pid} has not stopped yet`);
      return 1;
    }
    await delay(lookEveryMillis);
  }
  say('Stopped');
  return 0;
}
