import { readFileSync } from 'node:fs';
import { errorCode } from '../../platform/files.js';
import { monotonicOf } from '../../platform/monotonic.js';

/** Ticks per second of the figures that the kernel gives in "user hertz"; 100 on every Linux of today. */
export const ticksPerSecond = 100;

/** A process as /proc/<pid>/stat tells it. */
export interface ProcessStat {
  pid: number;
  /** One letter; Z is a zombie: the process has ended and waits for its parent to notice. */
  state: string;
  parent: number;
  /** Process id of the session's leader. */
  session: number;
  threads: number;
  /** Clock ticks, of the process and of the children it waited for. */
  userTicks: number;
  systemTicks: number;
  /** Clock ticks since boot, as the text that tells it from any other process of its number. */
  startTime: string;
  residentPages: number;
}

/** Within one boot, pid and start time name one process only; a pid alone is reused. */
export interface ProcessIdentity {
  pid: number;
  startTime: string;
}

/** Fields after the name, which is in parentheses and may itself contain spaces and parentheses. */
export function parseStat(line: string): ProcessStat | undefined {
  const nameEnd = line.lastIndexOf(')');
  const pid = Number.parseInt(line, 10);
  const fields = line.slice(nameEnd + 2).split(' ');
  const number = (index: number) => Number(fields[index]);
  const [state, startTime] = [fields[0], fields[19]];
  if (nameEnd < 0 || !Number.isInteger(pid) || !state || !startTime) return undefined;
  return {
    pid,
    state,
    parent: number(1),
    session: number(3),
    userTicks: number(11) + number(13),
    systemTicks: number(12) + number(14),
    threads: number(17),
    startTime,
    residentPages: number(21),
  };
}

/** undefined: no such process. */
export function readStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (cause) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(cause) ?? '')) return undefined;
    throw cause;
  }
}

const hasEnded = (stat: ProcessStat): boolean => stat.state === 'Z' || stat.state === 'X';

export const isLive = (stat: ProcessStat | undefined): stat is ProcessStat => stat !== undefined && !hasEnded(stat);

export function isAlive(identity: ProcessIdentity): boolean {
  const stat = readStat(identity.pid);
  return isLive(stat) && stat.startTime === identity.startTime;
}

/** Time at which it began, by the monotonic clock in milliseconds. */
export const beganAt = ({ startTime }: ProcessIdentity): number => monotonicOf(Number(startTime) / ticksPerSecond);

/** Changes with every start of the machine: no process of another boot can be alive. */
export const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

export function ownIdentity(): ProcessIdentity {
  const stat = readStat(process.pid);
  if (!stat) throw new Error('/proc has no entry for this process: the agent needs a mounted /proc');
  return { pid: stat.pid, startTime: stat.startTime };
}
