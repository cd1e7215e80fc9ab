import { statfs } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import type { ClusterArtifact } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { inParallel } from '../../platform/async.js';
import type { ArtifactSettings } from '../../platform/settings/artifact-settings.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import type { AgentContext } from '../agent-context.js';
import type { TaskUsers } from '../users/task-users.js';
import { bytesOfMb, messageOf } from '../../platform/files.js';
import { reservedBytes } from '../sandbox/disk-space.js';
import type { RunAs } from '../processes/run-as.js';
import type { ExecutorLayout } from '../sandbox/sandbox-layout.js';
import type { ArtifactCache, CachedFile, CacheRequest } from './cache.js';
import { DeployFault, type FetchLimits, type WithFileNumber, type Note, type TaskOrder } from './order.js';
import { carryOut, firstFile } from './program.js';
import { type ArtifactSet, hasArtifacts, listedArtifacts, localSection, type Remote, remotesOf } from './remotes.js';
import { checkSignatures } from './signatures.js';

/** Settings by which tasks get their files. */
export interface FetchSettings extends ArtifactSettings {
  reservedDiskMb?: number;
}

export interface FetchServices {
  users: TaskUsers;
  artifacts: ArtifactCache;
}

/** Context in which tasks get their files. */
export interface FetchContext extends Pick<AgentContext, 'fetchProgram' | 'searchPath'>, FetchServices {
  directory: Pick<AgentDirectory, 'sandboxes' | 'newArtifacts'>;
  settings: FetchSettings;
  /** Section of these settings, for messages; absent: that of local agents. */
  section?: string;
}

/** What a task says about its files. */
export interface FetchSpec extends Pick<LaunchSpec, 'requestId' | 'user' | 'diskMb' | 'artifacts'> {
  executorData?: ArtifactSet;
}

interface Fetch {
  context: FetchContext;
  spec: FetchSpec;
  sandbox: { root: string; executor?: Pick<ExecutorLayout, 'directory' | 'executorLog'> };
  runAs: RunAs | undefined;
  /** Directory of the sandbox for `uris`, where the task sees only a part of it. Absent: the sandbox itself. */
  downloadsTo?: string;
  /** Everyone who gets to the sandbox may read and write what comes. */
  isOpenToAll?: boolean;
  /** Its abort ends everything that was started for it. */
  signal: AbortSignal;
}

/** Limit of the parallel fetches of one task. */
const fetchedAtOnce = 3;

/** Puts the files that come with the deploy into the sandbox. Throws DeployFault when they cannot be had. */
export async function fetchArtifacts(fetch: Fetch): Promise<void> {
  if (!hasArtifacts(fetch.spec)) return;
  const limits = await limitsOf(fetch);
  const over = new AbortController();
  const timer = setTimeout(
    () => over.abort(new DeployFault(`Fetching the files of the task took longer than ${limits.seconds} s`)),
    limits.seconds * 1_000,
  );
  const stop = () => over.abort(fetch.signal.reason);
  fetch.signal.addEventListener('abort', stop);
  if (fetch.signal.aborted) stop();
  const staging = new Staging(fetch, limits, over.signal);
  try {
    await staging.run();
  } catch (cause) {
    // What else is under way for it is not wanted any more.
    over.abort(cause);
    throw over.signal.reason;
  } finally {
    clearTimeout(timer);
    fetch.signal.removeEventListener('abort', stop);
    await staging.releaseAll();
  }
}

/**
 * First everything is got that others may share or that has to be looked at before it is put anywhere, then one program of
 * the task's user fills the sandbox.
 */
class Staging {
  private readonly files: CachedFile[] = [];
  private readonly notes: Note[] = [];
  private readonly remote: WithFileNumber<Remote>[] = [];
  private isOver = false;

  constructor(
    private readonly fetch: Fetch,
    private readonly limits: FetchLimits,
    private readonly signal: AbortSignal,
  ) {}

  async run(): Promise<void> {
    await this.fill(await this.gather().catch((cause: unknown) => this.tell(cause)));
  }

  async releaseAll(): Promise<void> {
    this.isOver = true;
    for (const file of this.files.splice(0)) await file.release();
  }

  private async gather(): Promise<TaskOrder> {
    const { executorData, artifacts } = this.fetch.spec;
    const own: ArtifactSet = executorData ?? {};
    const inTurn = { stopAtFailure: true };
    const downloads = await inParallel(artifacts, fetchedAtOnce, (artifact) => this.keepDownload(artifact), inTurn);
    const order = { ...this.emptyOrder(), downloads };
    if (!order.executor) return order;
    const lists = await this.getRound(own);
    // Theirs are not looked at for further lists.
    const listed = await listedArtifacts(lists, this.limits.allowedPaths);
    await this.getRound(listed);
    const embedded = [...(own.embeddedArtifacts ?? []), ...(listed.embeddedArtifacts ?? [])];
    return { ...order, executor: { ...order.executor, embedded, remote: this.remote } };
  }

  /** Answers the lists of artifacts among them. */
  private async getRound(set: ArtifactSet): Promise<{ filename: string; file: CachedFile }[]> {
    const remotes = remotesOf(set, this.fetch.context);
    const cached = await inParallel(
      remotes,
      fetchedAtOnce,
      async (remote) => ({ remote, file: remote.cacheRequest && (await this.take(remote.cacheRequest)) }),
      { stopAtFailure: true },
    );
    const { context } = this.fetch;
    await checkSignatures(context, cached, set.objstoreArtifactSignatures ?? [], this.notes, this.signal);
    for (const { remote, file } of cached)
      this.remote.push({ ...remote, cacheRequest: undefined, cached: file && this.numberOf(file) });
    return cached.flatMap(({ remote, file }) =>
      remote.isArtifactList && file ? [{ filename: remote.filename ?? '', file }] : [],
    );
  }

  private async keepDownload({ cache, ...artifact }: ClusterArtifact): Promise<WithFileNumber<ClusterArtifact>> {
    // What is on this machine already is read as the task's user.
    if (!cache || !/^https?:/i.test(artifact.uri)) return artifact;
    const { requestId, user = '' } = this.fetch.spec;
    const name = artifact.outputFile ?? artifact.uri;
    const file = await this.take({ name, source: { url: artifact.uri }, owner: `${requestId} ${user}` });
    return { ...artifact, cached: this.numberOf(file) };
  }

  private async take(request: CacheRequest): Promise<CachedFile> {
    const file = await this.fetch.context.artifacts.take(request, this.limitsOfFile(), this.signal);
    this.files.push(file);
    if (this.isOver) await this.releaseAll();
    return file;
  }

  /** Others may wait for the same file, so nothing of this task limits it. */
  private limitsOfFile(): FetchLimits {
    return { ...this.limits, totalBytes: this.limits.artifactBytes, isTaskDisk: false };
  }

  private numberOf = (file: CachedFile): number => firstFile + this.files.indexOf(file);

  private emptyOrder(): TaskOrder {
    const { sandbox, runAs, isOpenToAll, downloadsTo } = this.fetch;
    const { executor, root } = sandbox;
    const inDirectory = executor && {
      directory: relative(root, executor.directory) || '.',
      log: relative(root, executor.executorLog),
      embedded: [],
      remote: [],
    };
    return {
      kind: 'FILL',
      root,
      user: runAs && { uid: runAs.uid, gid: runAs.gid },
      isOpenToAll,
      limits: this.limits,
      downloads: [],
      ...(downloadsTo !== undefined && { downloadsTo: relative(root, downloadsTo) }),
      executor: inDirectory && { ...inDirectory, notes: this.notes },
    };
  }

  private async fill(order: TaskOrder): Promise<void> {
    const { context, runAs } = this.fetch;
    const { fetchProgram: program, searchPath } = context;
    const files = this.files.map(({ handle }) => handle);
    await carryOut(order, { program, searchPath, runAs, files, signal: this.signal });
  }

  /** In the logs of the task, in full: the message of a status is cut. */
  private async tell(cause: unknown): Promise<never> {
    const { executor } = this.fetch.sandbox;
    if (executor && !this.signal.aborted) {
      this.notes.push({ file: basename(executor.executorLog), text: messageOf(cause) });
      await this.fill(this.emptyOrder()).catch(() => undefined);
    }
    throw cause;
  }
}

async function limitsOf({ spec, context: { settings, section, directory } }: Fetch): Promise<FetchLimits> {
  const total = settings.maxTaskArtifactMegabytes;
  const isTaskDisk = spec.diskMb > 0 && spec.diskMb < total;
  return {
    artifactBytes: bytesOfMb(settings.maxArtifactMegabytes),
    totalBytes: bytesOfMb(isTaskDisk ? spec.diskMb : total),
    isTaskDisk,
    files: settings.maxArtifactFiles,
    seconds: settings.artifactTimeoutSeconds,
    allowedPaths: settings.allowedArtifactPaths,
    reservedBytes: reservedBytes(settings, await statfs(directory.sandboxes)),
    verifyTls: settings.verifyArtifactTls,
    section: section ?? localSection,
  };
}
