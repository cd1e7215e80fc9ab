import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from './process-start.mjs';

const lookEveryMillis = 200;
/** Between making the folder and writing who owns it lies a moment. */
const namelessMillis = 5_000;

/** Runs `work` while no other process does. The lock is a folder, because making one either succeeds or fails. */
export async function withLock(folder, work) {
  mkdirSync(dirname(folder), { recursive: true });
  let waiting = false;
  while (!take(folder)) {
    const owners = readOwners(folder);
    if (isStale(folder, owners)) {
      removeStale(folder, owners);
      continue;
    }
    if (!waiting) console.log(`Another command (process ${owners?.[0]?.pid ?? '?'}) is setting up; waiting for it`);
    waiting = true;
    await delay(lookEveryMillis);
  }
  const owner = new Owner(folder);
  try {
    return await work(owner);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The processes that must have ended before another process may begin. */
class Owner {
  #processes = [];
  #folder;
  constructor(folder) {
    this.#folder = folder;
    this.add({ pid: process.pid, startedAt: processStart(process.pid) });
  }
  add(process) {
    this.#processes.push(process);
    const file = join(this.#folder, 'owners.json');
    writeFileSync(`${file}.new`, JSON.stringify(this.#processes));
    renameSync(`${file}.new`, file);
  }
}

function take(folder) {
  try {
    mkdirSync(folder);
    return true;
  } catch (cause) {
    if (cause.code === 'EEXIST') return false;
    throw cause;
  }
}

function readOwners(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'owners.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

function isStale(folder, owners) {
  if (owners) return owners.every(({ pid, startedAt }) => processStart(pid) !== startedAt);
  try {
    return Date.now() - statSync(folder).mtimeMs > namelessMillis;
  } catch {
    return false;
  }
}

/** Another process may have replaced it in the meantime: then that one goes back to its place. */
function removeStale(folder, owners) {
  const aside = `${folder}.${process.pid}.stale`;
  try {
    renameSync(folder, aside);
    if (JSON.stringify(readOwners(aside)) !== JSON.stringify(owners)) return renameSync(aside, folder);
  } catch (cause) {
    if (cause.code === 'ENOENT') return;
    throw cause;
  }
  rmSync(aside, { recursive: true, force: true });
}
