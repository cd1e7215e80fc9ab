import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { allPids, userOf } from '../processes/processes.js';
import { type NumberRange, usableRange } from '../users/user-numbers.js';

const listening = '0A';
const endMillis = 5_000;
const checkEveryMillis = 20;

/** Users of the programs of this machine that listen on a TCP port, on whichever of its addresses. */
export function usersListeningOn(port: number): number[] {
  const users = ['tcp', 'tcp6'].flatMap((table) =>
    linesOf(`/proc/net/${table}`)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, at = '', , state]) => state === listening && Number.parseInt(at.split(':')[1] ?? '', 16) === port)
      .map((fields) => Number(fields[7])),
  );
  return [...new Set(users)];
}

/** The number of a task's user says whose process it is: nothing else on the machine may use those numbers. */
export function isTaskUser(uid: number, taskUsers: NumberRange): boolean {
  const [uids, gids] = ['uid_map', 'gid_map'].map((name) => linesOf(`/proc/self/${name}`).join('\n'));
  const range = usableRange(taskUsers, uids ?? '', gids ?? '');
  return range !== undefined && range.first <= uid && uid < range.first + range.count;
}

/**
 * Ends each task that listens on this port, with all its processes: it waited for a program of ours to go, to be taken for
 * it. Answers what was done, a line for each. Only root can; accounts that tasks may name are others' as well, and are left alone.
 */
export async function endTasksOn(port: number, taskUsers: NumberRange, sandboxes?: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const done: string[] = [];
  for (const uid of usersListeningOn(port).filter((each) => isTaskUser(each, taskUsers))) {
    const task = sandboxes === undefined ? undefined : ownedBy(uid, sandboxes);
    done.push(`Port ${port} was taken by ${task === undefined ? 'a task' : `task ${task}`} (user ${uid}): it is ended`);
    const deadline = performance.now() + endMillis;
    for (let left; (left = pidsOf(uid)).length > 0 && performance.now() < deadline; await delay(checkEveryMillis))
      for (const pid of left) kill(pid);
  }
  return done;
}

const pidsOf = (uid: number): number[] => allPids().filter((pid) => userOf(pid) === uid && !isZombie(pid));

const isZombie = (pid: number): boolean => linesOf(`/proc/${pid}/status`).some((line) => /^State:\s+[ZX]/.test(line));

/** A sandbox belongs to the user of its task, and carries its name. */
function ownedBy(uid: number, sandboxes: string): string | undefined {
  try {
    return readdirSync(sandboxes).find((name) => statSync(join(sandboxes, name)).uid === uid);
  } catch {
    return undefined;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone.
  }
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
