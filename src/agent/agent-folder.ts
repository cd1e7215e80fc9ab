import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { link, realpath, rm, unlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { ensureFolder, errorCode, readIfThere, syncFolder, writeDurably } from './files.js';

/** What `endpoint.json` in the agent's folder says about a running agent. */
export const Endpoint = z.object({
  pid: z.number().int(),
  /** Start time of the process in clock ticks since boot: tells it from a later one with the same pid. */
  startTime: z.string(),
  host: z.string(),
  port: z.number().int(),
  agentId: z.string(),
  incarnation: z.string(),
});
export type Endpoint = z.infer<typeof Endpoint>;

/**
 * What lies where below `<data dir>/agent`:
 *
 *     secret           shared with the scheduler, 0600
 *     endpoint.json    how to reach the running agent
 *     incarnation      random id of this folder
 *     epoch            the highest epoch seen
 *     updates.jsonl    status updates that were not acknowledged yet
 *     tasks/<id>/      control files of each task, until its end is acknowledged
 *     ended/<id>/      the same, after that
 *     tombstones/<id>  ids that must never start
 *     sandboxes/<id>/  the files of the tasks themselves
 *     bin/             the scripts that start tasks
 *     cgroups.json     where the cgroups of the tasks are
 */
export class AgentFolder {
  readonly endpoint: string;
  readonly epoch: string;
  readonly updates: string;
  readonly tasks: string;
  readonly ended: string;
  readonly tombstones: string;
  readonly sandboxes: string;
  readonly bin: string;
  readonly cgroups: string;
  private readonly incarnationFile: string;

  private constructor(readonly root: string) {
    this.endpoint = join(root, 'endpoint.json');
    this.epoch = join(root, 'epoch');
    this.updates = join(root, 'updates.jsonl');
    this.tasks = join(root, 'tasks');
    this.ended = join(root, 'ended');
    this.tombstones = join(root, 'tombstones');
    this.sandboxes = join(root, 'sandboxes');
    this.bin = join(root, 'bin');
    this.cgroups = join(root, 'cgroups.json');
    this.incarnationFile = join(root, 'incarnation');
  }

  static async open(path: string): Promise<AgentFolder> {
    await ensureFolder(path, 0o755);
    const folder = new AgentFolder(await realpath(path));
    await folder.makeFolders();
    return folder;
  }

  async makeFolders(): Promise<void> {
    // Sandboxes can be reached by the users that tasks run as; what controls the tasks cannot.
    for (const open of [this.sandboxes, this.bin]) await ensureFolder(open, 0o755);
    for (const closed of [this.tasks, this.ended, this.tombstones]) await ensureFolder(closed, 0o700);
  }

  /** Short name of this folder for cgroups and sockets. */
  get key(): string {
    return createHash('sha256').update(this.root).digest('hex').slice(0, 12);
  }

  /** undefined: nothing ever ran from this folder, or it was emptied since. */
  async readIncarnation(): Promise<string | undefined> {
    return (await readIfThere(this.incarnationFile))?.trim() || undefined;
  }

  async createIncarnation(): Promise<string> {
    const incarnation = randomUUID();
    await writeDurably(this.incarnationFile, `${incarnation}\n`);
    return incarnation;
  }

  async publish(endpoint: Endpoint): Promise<void> {
    await writeDurably(this.endpoint, `${JSON.stringify(endpoint)}\n`);
  }

  async unpublish(): Promise<void> {
    await rm(this.endpoint, { force: true });
  }

  /**
   * Binds a socket that only one process can hold and that the kernel frees with the process, however it ends.
   * undefined: another agent runs on this folder.
   */
  async claim(): Promise<Server | undefined> {
    // An abstract socket ("\0...") has no file: nothing to clean up, and no limit on the length of the folder's path.
    const guard = createServer((socket) => socket.destroy());
    return new Promise((resolve, reject) => {
      guard.once('error', (cause) => (errorCode(cause) === 'EADDRINUSE' ? resolve(undefined) : reject(cause)));
      guard.listen(`\0muster-agent-${this.key}`, () => resolve(guard));
    });
  }
}

/** The secret in the agent's folder, made at the first request: the scheduler and the agent may start in any order. */
export async function sharedSecret(agentFolder: string): Promise<string> {
  await ensureFolder(agentFolder, 0o755);
  const path = join(agentFolder, 'secret');
  const existing = await readIfThere(path);
  if (existing) return existing.trim();
  // Written aside and then linked, which fails when the name is taken: no process ever reads half a secret, and none is replaced.
  const mine = join(agentFolder, `secret.${randomBytes(4).toString('hex')}.new`);
  await writeDurably(mine, `${randomBytes(32).toString('base64url')}\n`);
  try {
    await link(mine, path);
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause;
  } finally {
    await unlink(mine);
  }
  await syncFolder(agentFolder);
  return ((await readIfThere(path)) ?? '').trim();
}

/** undefined: no agent has said where it listens. */
export async function readEndpoint(agentFolder: string): Promise<Endpoint | undefined> {
  const text = await readIfThere(join(agentFolder, 'endpoint.json'));
  if (text === undefined) return undefined;
  const endpoint = Endpoint.safeParse(JSON.parse(text));
  return endpoint.success ? endpoint.data : undefined;
}
