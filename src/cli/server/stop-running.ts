import { setTimeout as delay } from 'node:timers/promises';
import { holderOf } from '../../platform/process/pid-file.js';
import { say } from './announce.js';
import { pidFileOf, sharersOn } from './instance-place.js';

const lookEveryMillis = 100;

/**
 * Asks the Muster of a data directory to stop in order and waits for its end: the one that has it to itself, or the only scheduler
 * that shares it. Answers the exit code.
 */
export async function stopRunning(dataDir: string, waitMillis = 600_000): Promise<number> {
  const own = holderOf(pidFileOf(dataDir));
  const sharers = own === undefined ? sharersOn(dataDir) : [];
  if (sharers.length > 1) {
    say(`Several schedulers share ${dataDir}; name one of them:`);
    for (const folder of sharers) say(`  muster stop --data-dir ${folder}`);
    return 1;
  }
  const folder = sharers[0] ?? dataDir;
  const pid = own ?? holderOf(pidFileOf(folder));
  if (pid === undefined) {
    say(`Muster does not run on ${dataDir}`);
    return 0;
  }
  process.kill(pid, 'SIGTERM');
  say(`Stopping process ${pid}`);
  const deadline = performance.now() + waitMillis;
  while (holderOf(pidFileOf(folder)) === pid) {
    if (performance.now() > deadline) {
      say(`Process ${pid} has not stopped yet`);
      return 1;
    }
    await delay(lookEveryMillis);
  }
  say('Stopped');
  return 0;
}
