/** What a task may use, in MB. */
export interface TaskLimits {
  memoryMb: number;
  diskMb: number;
}

/** The text of a status: what was reported, or else which limit ended the task, if one did. */
export function statusText(
  { message, reason }: { message?: string; reason?: string },
  { memoryMb, diskMb }: TaskLimits,
): string | undefined {
  if (message) return message;
  if (reason === 'REASON_CONTAINER_LIMITATION_MEMORY') {
    const disk = diskMb > 0 ? ` and ${diskMb} MB of disk` : '';
    return `Memory limit exceeded: the task may use ${memoryMb} MB of memory${disk}`;
  }
  if (reason === 'REASON_CONTAINER_LIMITATION_DISK')
    return `Disk limit exceeded: the task may use ${diskMb} MB of disk`;
  return undefined;
}
