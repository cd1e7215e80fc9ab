import { bytesPerMb } from '../usage/index.js';

/** A value of a metric; problem: why there is none. counted: of CPU and MEMORY, the number of instances that it is of. */
export type Measurement = { value: number; counted?: number } | { problem: string };

/** A healthy task: what it asks for, and its newest samples, oldest first. */
export interface UsedTask {
  cpus: number;
  memoryMb: number;
  samples: readonly { timestamp: number; cpuSeconds: number; memoryTotalBytes: number }[];
}

/**
 * Percent of what tasks ask for that they use. The time before the first sample of a task is that of its start, and does not count. Neither
 * does a task whose newest sample is older than `oldest`, in epoch milliseconds.
 */
export function usageOf(metric: 'CPU' | 'MEMORY', tasks: readonly UsedTask[], oldest: number): Measurement {
  const isCpu = metric === 'CPU';
  const counted = tasks.flatMap((task) => {
    const used = (isCpu ? cpusOf : memoryOf)(task, oldest);
    return used === undefined ? [] : [{ used, asked: isCpu ? task.cpus : task.memoryMb }];
  });
  if (counted.length === 0) return { problem: 'there is no recent sample of the usage of its healthy instances' };
  const sum = (pick: (task: { used: number; asked: number }) => number) =>
    counted.reduce((total, task) => total + pick(task), 0);
  const asked = sum((task) => task.asked);
  if (asked <= 0)
    return { problem: `its tasks ask for no ${isCpu ? 'cpus' : 'memoryMb'}, of which a share could be told` };
  return { value: (sum((task) => task.used) / asked) * 100, counted: counted.length };
}

/** Cores between its two newest samples. */
function cpusOf({ samples }: UsedTask, oldest: number): number | undefined {
  const [before, newest] = samples.slice(-2);
  if (!before || !newest || newest.timestamp < oldest) return undefined;
  const seconds = (newest.timestamp - before.timestamp) / 1_000;
  return seconds > 0 ? Math.max(0, newest.cpuSeconds - before.cpuSeconds) / seconds : undefined;
}

function memoryOf({ samples }: UsedTask, oldest: number): number | undefined {
  const newest = samples.at(-1);
  return newest && newest.timestamp >= oldest ? newest.memoryTotalBytes / bytesPerMb : undefined;
}
