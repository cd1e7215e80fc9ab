import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { say } from './say.mjs';

const alive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return cause.code === 'EPERM';
  }
};

/** When the process began, as the kernel tells it; '' where it does not. A pid alone may be somebody else's by now. */
export function startTimeOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return '';
  }
}

function holderOf(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'holder.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

const isStale = (holder) => !alive(holder.pid) || startTimeOf(holder.pid) !== holder.startTime;

/** Runs `work` while no other set-up of this folder runs. A lock whose holder has died is taken over. */
export async function withLock(folder, work) {
  let told = false;
  let nobodySince;
  for (;;) {
    try {
      mkdirSync(folder);
      break;
    } catch (cause) {
      if (cause.code !== 'EEXIST') throw cause;
    }
    const holder = holderOf(folder);
    // Between mkdir and the holder's name lies a moment; a holder that died in it leaves no name at all.
    nobodySince = holder ? undefined : (nobodySince ?? Date.now());
    if (holder ? isStale(holder) : Date.now() - nobodySince > 2_000) {
      removeLock(folder);
      continue;
    }
    if (!told && holder) say(`Waiting for another set-up of this folder (process ${holder.pid})`);
    told ||= holder !== undefined;
    await delay(200);
  }
  writeFileSync(join(folder, 'holder.json'), JSON.stringify({ pid: process.pid, startTime: startTimeOf(process.pid) }));
  try {
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** By rename first: of two that find the same stale lock only one removes it, never a fresh one. */
function removeLock(folder) {
  const aside = `${folder}.stale-${process.pid}`;
  try {
    renameSync(folder, aside);
    rmSync(aside, { recursive: true, force: true });
  } catch (cause) {
    if (cause.code !== 'ENOENT') throw cause;
  }
}
