import { once } from 'node:events';
import { constants, writeSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { createInterface } from 'node:readline';
import { messageOf } from '../files.js';
import { Meter } from './download.js';
import { DeployFault, type FetchAnswer, type FetchOrder } from './order.js';
import { placeDownload, placeEmbedded, placeExternal, type Staging } from './place.js';

/**
 * Fetches and unpacks the files of one task, as the user of the task: what an archive or a server makes of it can do no
 * more than the task itself. Leads a process group, with all tools that it starts. Reads its order from stdin, which the
 * agent keeps open for as long as it lives.
 */
async function carryOut(order: FetchOrder): Promise<void> {
  const { root, limits, downloads, executor } = order;
  const meter = new Meter(limits);
  const note = async (line: string) => {
    const flag = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    if (executor) await appendFile(executor.log, `${line}\n`, { flag });
  };
  const staging = (folder: string): Staging => ({ root, folder, limits, meter, note });
  for (const artifact of downloads) await placeDownload(artifact, staging('.'));
  if (!executor) return;
  const inFolder = staging(relative(root, executor.folder));
  for (const artifact of executor.embedded) await placeEmbedded(artifact, inFolder);
  for (const artifact of executor.external) await placeExternal(artifact, inFolder);
}

/** For good: all three user ids change. */
function become({ uid, gid }: NonNullable<FetchOrder['user']>): void {
  process.setgroups!([]);
  process.setgid!(gid);
  process.setuid!(uid);
}

function endWith(answer: FetchAnswer): never {
  writeSync(1, `${JSON.stringify(answer)}\n`);
  return endGroup();
}

/** With whatever tool still runs. */
function endGroup(): never {
  process.kill(-process.pid, 'SIGKILL');
  return process.exit(0);
}

const [line] = (await once(createInterface(process.stdin), 'line')) as [string];
process.stdin.on('end', endGroup).on('error', endGroup).resume();
const order = JSON.parse(line) as FetchOrder;
process.umask(0o022);
try {
  if (order.user) become(order.user);
  process.chdir(order.root);
  const { seconds } = order.limits;
  setTimeout(() => endWith({ fault: `Fetching the files of the task took longer than ${seconds} s` }), seconds * 1000);
  await carryOut(order);
  endWith({});
} catch (cause) {
  endWith(cause instanceof DeployFault ? { fault: messageOf(cause) } : { trouble: messageOf(cause) });
}
