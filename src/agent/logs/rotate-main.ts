import { fstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { basename, dirname } from 'node:path';
import { isOutOfSpace, messageOf } from '../../platform/files.js';
import { become, endWith, takeOrder } from '../processes/order-program.js';
import { openDirectoryBelow, placeIn } from '../sandbox/below.js';
import { compress } from './compress.js';
import type { CompressOrder, RotateAnswer, RotateOrder } from './order.js';
import { rotateLog } from './rotate.js';

/**
 * Rotates the logs of one task, as the user of the task, or compresses one open file, as a user without rights: whatever lies
 * there, it can do no more than they. Gives way to everything else on the machine.
 */
async function rotateAll(order: RotateOrder): Promise<void> {
  for (const log of order.logs) {
    answer.failed = log.path;
    await makeDirectory(order.root, log.into);
    const outcome = await rotateLog(order, log);
    if (outcome === 'ROTATED') answer.rotated.push(log.path);
    if (outcome === 'BUSY') answer.busy.push(log.path);
  }
}

/** Progress so far, and the current log. */
const answer: RotateAnswer & { rotated: string[]; busy: string[] } = { rotated: [], busy: [] };

/** Tasks without executorData have none from the beginning. */
async function makeDirectory(root: string, path: string): Promise<void> {
  const parent = await openDirectoryBelow(root, dirname(path), 'NONE');
  if (!parent) return;
  try {
    await mkdir(placeIn(parent.handle, basename(path)), { mode: 0o755 });
  } catch {
    // It is there already, or it is none: then nothing is rotated.
  } finally {
    await parent.handle.close();
  }
}

setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const order = await takeOrder<RotateOrder | CompressOrder>();
try {
  if (order.user) become(order.user);
  setTimeout(() => endWith({ ...answer, trouble: `took longer than ${order.seconds} s` }), order.seconds * 1000);
  if ('compress' in order) {
    await compress({ from: 3, end: fstatSync(3).size, to: 4 }, order.compress);
    endWith({});
  }
  await rotateAll(order);
  endWith({ ...answer, failed: undefined });
} catch (cause) {
  // Always in the same words, by which it is said once: those of the system name another file each time.
  endWith({ ...answer, trouble: isOutOfSpace(cause) ? 'the disk is full' : messageOf(cause) });
}
