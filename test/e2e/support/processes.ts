import { readFileSync, readdirSync } from 'node:fs';

const readOrEmpty = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // the process has ended meanwhile, or is not ours
  }
};

/** Processes on this machine; ended ones (zombies) are left out. */
const livePids = (): number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter(isAlive);

const environment = (pid: number): string[] => readOrEmpty(`/proc/${pid}/environ`).split('\0');

/** The task itself and all it has started: whatever carries its id. */
export const pidsOfTask = (taskId: string): number[] =>
  livePids().filter((pid) => environment(pid).includes(`TASK_ID=${taskId}`));

/** Processes that were started with this folder in their command line or environment. */
export const pidsMentioning = (folder: string): number[] =>
  livePids().filter(
    (pid) =>
      pid !== process.pid &&
      [...environment(pid), readOrEmpty(`/proc/${pid}/cmdline`)].some((text) => text.includes(folder)),
  );

/** Pids of the processes that a process has started and that run the program of an API worker, in no order. */
export const workersOf = (pid: number): number[] =>
  livePids().filter(
    (each) =>
      new RegExp(`^PPid:\\t${pid}$`, 'm').test(readOrEmpty(`/proc/${each}/status`)) &&
      readOrEmpty(`/proc/${each}/cmdline`).includes('worker.js'),
  );

export function isAlive(pid: number): boolean {
  const status = readOrEmpty(`/proc/${pid}/status`);
  return status !== '' && !/^State:\s+Z/m.test(status);
}

/** kill -9. A process that has ended meanwhile is as dead as it was to be. */
export function killNow(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw cause;
    }
  }
}
