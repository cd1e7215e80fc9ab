import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, realpath, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { releasePidFile, takePidFile } from '../../platform/process/pid-file.js';
import {
  barredDirectory,
  ensureFolder,
  errorCode,
  readIfThere,
  syncFolder,
  writeDurably,
} from '../../platform/files.js';
import { isAlive } from '../processes/process-identity.js';

/** Content of `endpoint.json` in the agent's directory, about a running agent. */
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

/** Directory in which root keeps files that other users have to reach while the data directory is closed to them. */
export const elsewhere = '/var/lib/muster';

/** A user and group that nothing belongs to. */
const stranger = 4_294_967_294;

/**
 * Layout of `<data dir>/agent`:
 *
 *     secret           shared with the scheduler, 0600
 *     agent.pid        the process that may work here
 *     endpoint.json    how to reach the running agent
 *     incarnation      random id of this directory
 *     epoch            the highest epoch seen
 *     updates.jsonl    status updates that were not acknowledged yet
 *     tasks/<id>/      control files of each task, until its end is acknowledged
 *     ended/<id>/      the same, after that
 *     tombstones/<id>  ids that must never start
 *     sandboxes/<id>/  the files of the tasks themselves
 *     artifacts/kept/  files fetched for several tasks, each whole and checked
 *     artifacts/new/   such files on their way
 *     bin/             the scripts that start tasks
 *     log-watcher/     records for a program that follows logs
 *     uploads/         records of what is to be uploaded, and how far that is
 *     archive/         logs that are kept where there is no object store
 *     cleanup.json     what the last clean-up did
 *     cgroups.json     where the cgroups of the tasks are
 *
 * Everything is the agent's alone, except that other users may pass through it to the sandbox whose path they know.
 */
export class AgentDirectory {
  readonly endpoint: string;
  readonly epoch: string;
  readonly updates: string;
  readonly tasks: string;
  readonly ended: string;
  readonly tombstones: string;
  /** Directory for new sandboxes, usually inside of the agent's. */
  readonly sandboxes: string;
  private readonly sandboxesHere: string;
  /** Directory of artifacts, beside the sandboxes: who fetches them has to get there, too. */
  readonly artifacts: string;
  readonly cachedArtifacts: string;
  readonly newArtifacts: string;
  readonly bin: string;
  readonly cgroups: string;
  readonly cleanup: string;
  readonly logWatcher: string;
  readonly uploadRecords: string;
  readonly archive: string;
  private readonly incarnationFile: string;
  private readonly claimFile: string;

  private constructor(
    readonly root: string,
    isClosed: boolean,
  ) {
    this.endpoint = join(root, 'endpoint.json');
    this.epoch = join(root, 'epoch');
    this.updates = join(root, 'updates.jsonl');
    this.tasks = join(root, 'tasks');
    this.ended = join(root, 'ended');
    this.tombstones = join(root, 'tombstones');
    this.sandboxesHere = join(root, 'sandboxes');
    this.sandboxes = isClosed ? join(elsewhere, `agent-${this.key}`, 'sandboxes') : this.sandboxesHere;
    this.artifacts = join(dirname(this.sandboxes), 'artifacts');
    this.cachedArtifacts = join(this.artifacts, 'kept');
    this.newArtifacts = join(this.artifacts, 'new');
    this.bin = join(root, 'bin');
    this.cgroups = join(root, 'cgroups.json');
    this.cleanup = join(root, 'cleanup.json');
    this.logWatcher = join(root, 'log-watcher');
    this.uploadRecords = join(root, 'uploads');
    this.archive = join(root, 'archive');
    this.incarnationFile = join(root, 'incarnation');
    this.claimFile = join(root, 'agent.pid');
  }

  /** `forOthers`: tasks run as other users than the agent, and must get to their sandboxes. */
  static async open(path: string, forOthers = false): Promise<AgentDirectory> {
    await ensureFolder(path, 0o711);
    const root = await realpath(path);
    await chmod(root, 0o711);
    const isClosed = forOthers && (await barredDirectory(root, stranger, stranger)) !== undefined;
    const directory = new AgentDirectory(root, isClosed);
    await directory.makeDirectories();
    return directory;
  }

  /** All directories with sandboxes in them: the data directory may have been open once. */
  get allSandboxes(): string[] {
    return [...new Set([this.sandboxes, this.sandboxesHere])];
  }

  /** Sandbox of a task, by its file name. */
  sandboxOf(name: string): string {
    const former = join(this.sandboxesHere, name);
    return this.sandboxes !== this.sandboxesHere && existsSync(former) ? former : join(this.sandboxes, name);
  }

  async makeDirectories(): Promise<void> {
    if (this.sandboxes !== this.sandboxesHere) await makeDirectory(dirname(dirname(this.sandboxes)), 0o711);
    for (const open of [dirname(this.sandboxes), ...this.allSandboxes, this.artifacts, this.newArtifacts])
      await makeDirectory(open, 0o711);
    for (const closed of [this.bin, this.tasks, this.ended, this.tombstones, this.cachedArtifacts])
      await makeDirectory(closed, 0o700);
  }

  /** Short name of this directory for cgroups. */
  get key(): string {
    return createHash('sha256').update(this.root).digest('hex').slice(0, 12);
  }

  /** undefined: nothing ever ran from this directory, or it was emptied since. */
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
   * For one agent only, by a file in this directory, where no task can make one: a socket's name anybody could take while the
   * agent is down. Answers the process id of the agent that has it. undefined: it is ours, until `release` or the end of this
   * process, however it ends.
   */
  async claim(): Promise<number | undefined> {
    // An agent of an earlier release holds no such file.
    const running = await readEndpoint(this.root).catch(() => undefined);
    if (running && running.pid !== process.pid && isAlive(running)) return running.pid;
    return takePidFile(this.claimFile);
  }

  release(): void {
    releasePidFile(this.claimFile);
  }
}

/** Directories of earlier releases were open to every user. */
async function makeDirectory(path: string, mode: number): Promise<void> {
  await ensureFolder(path, mode);
  await chmod(path, mode);
}

/** The secret in the agent's directory, made at the first request: the scheduler and the agent may start in any order. */
export async function sharedSecret(agentDirectory: string): Promise<string> {
  await ensureFolder(agentDirectory, 0o711);
  const path = join(agentDirectory, 'secret');
  const existing = await readIfThere(path);
  if (existing) return existing.trim();
  // Written aside and then linked, which fails when the name is taken: no process ever reads half a secret, and none is replaced.
  const mine = join(agentDirectory, `secret.${randomBytes(4).toString('hex')}.new`);
  await writeDurably(mine, `${randomBytes(32).toString('base64url')}\n`);
  try {
    await link(mine, path);
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause;
  } finally {
    await unlink(mine);
  }
  await syncFolder(agentDirectory);
  return ((await readIfThere(path)) ?? '').trim();
}

/** undefined: no agent has said where it listens. */
export async function readEndpoint(agentDirectory: string): Promise<Endpoint | undefined> {
  const text = await readIfThere(join(agentDirectory, 'endpoint.json'));
  if (text === undefined) return undefined;
  const endpoint = Endpoint.safeParse(JSON.parse(text));
  return endpoint.success ? endpoint.data : undefined;
}
