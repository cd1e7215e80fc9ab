import { constants } from 'node:fs';
import { appendFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { openToAll } from '../sandbox/open-to-all.js';
import { isOutOfSpace, messageOf } from '../../platform/files.js';
import { become, endWith, takeOrder } from '../processes/order-program.js';
import { diskIsFull, download, Meter } from './download.js';
import { DeployFault, type FetchResult, type FetchOrder, type CacheOrder, type TaskOrder } from './order.js';
import { checkFile, placeDownload, placeEmbedded, placeRemote } from './place.js';
import { type StagingArea } from './staging.js';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/**
 * Fetches and unpacks files as a user who can do no more than a task: into the sandbox of one task as its user, or one
 * file for the cache as a user that no task has.
 */
async function carryOut(order: FetchOrder, store: ObjectStore | undefined): Promise<FetchResult> {
  const meter = new Meter(order.limits, order.root);
  const answer = order.kind === 'KEEP' ? { md5: await keep(order, meter, store) } : await fill(order, meter);
  await meter.checkDisk();
  return answer ?? {};
}

async function fill(order: TaskOrder, meter: Meter): Promise<void> {
  await place(order, meter);
  if (order.isOpenToAll) await openToAll(order.root);
}

async function place(order: TaskOrder, meter: Meter): Promise<void> {
  const { root, limits, downloads, downloadsTo = '.', executor } = order;
  const note = async (text: string, file = executor?.log) => {
    const flag = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
    if (file !== undefined) await appendFile(file, `${text}\n`, { flag, mode: 0o644 });
  };
  const staging = (directory: string): StagingArea => ({ root, directory, limits, meter, note });
  for (const { text, file } of executor?.notes ?? []) await note(text, join(executor!.directory, file));
  try {
    for (const artifact of downloads) await placeDownload(artifact, staging(downloadsTo));
    if (!executor) return;
    const inDirectory = staging(executor.directory);
    for (const artifact of executor.embedded) await placeEmbedded(artifact, inDirectory);
    for (const artifact of executor.remote) await placeRemote(artifact, inDirectory);
  } catch (cause) {
    // In full: the message of a status is cut.
    await note(messageOf(cause)).catch(() => undefined);
    throw cause;
  }
}

/** Answers the md5 of what it has fetched and checked. */
async function keep(
  { name, source, limits, ...artifact }: CacheOrder,
  meter: Meter,
  store: ObjectStore | undefined,
): Promise<string> {
  const file = await open('content', 'wx+', 0o600);
  const bounds = { limits, meter };
  if ('url' in source) await download(source.url, file, bounds);
  else await store!.downloadObject(source, file, { ...bounds, name });
  return checkFile(file, { ...artifact, filename: name });
}

type ObjectStore = typeof import('./object-store.js');

/** It is large, and hardly any order needs it. Loaded as the agent's user, who may be the only one that can read it. */
const objectStoreFor = async (order: FetchOrder): Promise<ObjectStore | undefined> =>
  order.kind === 'KEEP' && 'bucket' in order.source ? import('./object-store.js') : undefined;

const order = await takeOrder<FetchOrder>();
try {
  const store = await objectStoreFor(order);
  // Before it is another user, for whom the way there may be closed: from now on all paths begin here.
  process.chdir(order.root);
  if (order.user) become(order.user);
  const { seconds } = order.limits;
  setTimeout(() => endWith({ fault: tookTooLong(seconds) }), seconds * 1000);
  endWith(await carryOut({ ...order, root: '.' }, store));
} catch (cause) {
  if (cause instanceof DeployFault) endWith({ fault: messageOf(cause), reason: cause.reason });
  endWith({ trouble: isOutOfSpace(cause) ? diskIsFull : messageOf(cause) });
}

function tookTooLong(seconds: number): string {
  return `Fetching the files of the task took longer than ${seconds} s`;
}
