import type { LaunchSpec } from '../../core/model/launch.js';

/** Kubernetes puts variables into words and values, where they are written as $(NAME). */
export const literal = (text: string): string => text.replaceAll('$', () => '$$');

/** As Kubernetes and `sleep` take a time: never 0, which as a grace would remove the pod while it runs. */
export const wholeSeconds = (millis: number): number => Math.max(1, Math.ceil(millis / 1_000));

type Share = Pick<LaunchSpec, 'cpus' | 'memoryMb'> & Partial<Pick<LaunchSpec, 'diskMb' | 'cpuHardLimit' | 'extended'>>;

/** What a container asks for, and its limits. */
export function containerResources({ cpus, memoryMb, diskMb = 0, cpuHardLimit, extended = {} }: Share) {
  // The API server takes them only where request and limit are equal.
  const further = Object.fromEntries(Object.entries(extended).map(([name, count]) => [name, String(count)]));
  const memory = memoryMb > 0 && { memory: `${Math.ceil(memoryMb)}Mi` };
  const disk = diskMb > 0 && { 'ephemeral-storage': `${Math.ceil(diskMb)}Mi` };
  return {
    requests: { ...(cpus > 0 && { cpu: `${Math.ceil(cpus * 1_000)}m` }), ...memory, ...disk, ...further },
    limits: {
      ...(cpuHardLimit !== undefined && { cpu: `${Math.ceil(cpuHardLimit * 1_000)}m` }),
      ...memory,
      ...disk,
      ...further,
    },
  };
}
