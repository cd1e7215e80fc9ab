import { chmod, chown, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../platform/log.js';
import { cut, readIfThere, writeDurably } from '../platform/files.js';
import { withSignal } from '../platform/async.js';
import { type FetchContext, fetchArtifacts, type FetchSpec } from '../agent/artifacts/fetch.js';
import { processesUnder, signal as sendSignal } from '../agent/processes/processes.js';
import type { RunAs } from '../agent/processes/run-as.js';
import type { ExecutorLayout } from '../agent/sandbox/sandbox-layout.js';
import { outcomeOfFailedStart } from '../agent/tasks/outcome.js';
import { type ArtifactFailure, artifactsSaid, type PodArtifactList, type PodToPrepare } from './pod-agent-api.js';

interface ArtifactsContext {
  fetching: FetchContext;
  log: Log;
  /** Aborted when the agent stops. */
  stopping: AbortSignal;
}

interface StagedTask {
  pod: PodToPrepare;
  /** Its directory, which is the agent's alone. */
  path: string;
  /** What its container does not see would be of no use to it. */
  sandbox: { root: string; executor?: ExecutorLayout };
  /** Removes what is in its sandbox, and makes it as it is at the beginning. */
  renewSandbox(): Promise<void>;
}

/** Kubelets keep 4,096 bytes of what a container says at its end, and a character may be six of them. */
const longestMessage = 600;
const sweepEveryMillis = 20;
/** A task may carry the mark of another to be found with it, again and again. */
const mostSweeps = 50;
const retryAfterMillis = 1_000;

/** Where the pod of a task waits for its files, by the directory of the task: the agent writes there, and everyone may read. */
export const artifactsDirectory = (path: string): string => join(path, 'artifacts');

const orderFile = (path: string): string => join(path, 'artifacts.json');

/**
 * The files that a task in a pod gets before it begins. The order to fetch them is on the disk until it is said in `artifacts/` that they
 * are there, or why they are not: so the next agent goes on, from the beginning, with what the cache has.
 */
export class PodArtifacts {
  private readonly over = new AbortController();
  private staging: Promise<void> | undefined;

  constructor(
    private readonly context: ArtifactsContext,
    private readonly task: StagedTask,
  ) {}

  /** Before its pod is made. */
  static async save(path: string, list: PodArtifactList): Promise<void> {
    const directory = artifactsDirectory(path);
    await mkdir(directory);
    await chmod(directory, 0o755);
    await writeDurably(orderFile(path), JSON.stringify(list));
  }

  /** `isNew`: nothing was ever begun of it. */
  begin(isNew: boolean): void {
    this.staging ??= this.stage(isNew);
  }

  /** Nothing is at work for it any more when this resolves. */
  async stop(): Promise<void> {
    this.over.abort(new Error('Its pod has ended'));
    await this.staging;
  }

  /** The task has ended: what its files hold is kept no longer than they are. */
  async forget(): Promise<void> {
    await this.stop();
    await rm(orderFile(this.task.path), { force: true });
  }

  private stage(isNew: boolean): Promise<void> {
    return withSignal([this.context.stopping, this.over.signal], (signal) => this.stageUntil(signal, isNew));
  }

  private async stageUntil(signal: AbortSignal, isNew: boolean): Promise<void> {
    for (let isFirst = isNew; !signal.aborted; isFirst = false)
      try {
        return await this.stageOnce(isFirst, signal);
      } catch (cause) {
        if (signal.aborted) return;
        // What cannot be said would be waited for without end.
        this.context.log.error(`Task ${this.task.pod.taskId}: its artifacts`, cause);
        await delay(retryAfterMillis, undefined, { signal }).catch(() => undefined);
      }
  }

  private async stageOnce(isFirst: boolean, signal: AbortSignal): Promise<void> {
    const { path, pod } = this.task;
    const text = await readIfThere(orderFile(path));
    if (text === undefined) return;
    if (!(await this.isSaid())) {
      if (!isFirst) await this.startOver(signal);
      const { log } = this.context;
      const failure = await this.fetch(JSON.parse(text) as PodArtifactList, signal).then(
        () => undefined,
        (cause: unknown) => {
          signal.throwIfAborted();
          return outcomeOfFailedStart(cause);
        },
      );
      signal.throwIfAborted();
      if (failure) log.warn(`Task ${pod.taskId} does not get its artifacts: ${failure.message}`);
      await this.say(failure as ArtifactFailure | undefined);
    }
    await rm(orderFile(path), { force: true });
  }

  private async fetch(list: PodArtifactList, signal: AbortSignal): Promise<void> {
    const { fetching } = this.context;
    const { pod, sandbox } = this.task;
    const { requestId, uris, ...ofExecutor } = list;
    const spec: FetchSpec = {
      requestId,
      user: pod.user && String(pod.user.uid),
      diskMb: pod.diskMb,
      artifacts: uris,
      ...(pod.executor && { executorData: ofExecutor }),
    };
    const { user } = pod;
    if (user) {
      const runAs = await fetching.users.restore({ ...user, name: String(user.uid), home: '/', own: true }, undefined);
      return fetchArtifacts({ context: fetching, spec, sandbox, runAs, signal });
    }
    await this.asNobodyElse(async (runAs) => {
      await this.own(runAs);
      await fetchArtifacts({ context: fetching, spec, sandbox, runAs, isOpenToAll: true, signal });
    });
    await this.own(undefined);
  }

  /** The user of its image is not known: files are put there by one that has nothing else. */
  private async asNobodyElse(work: (runAs: RunAs | undefined) => Promise<void>): Promise<void> {
    const { users } = this.context.fetching;
    const runAs = await users.resolve(undefined, '/');
    if (typeof runAs === 'string') throw new Error(runAs);
    try {
      await work(runAs);
    } finally {
      if (runAs) {
        await users.killAll(runAs);
        users.release(runAs);
      }
    }
  }

  /** Who may make files in it without the rights of others. */
  private async own(runAs: RunAs | undefined): Promise<void> {
    if (process.getuid?.() !== 0) return;
    await chown(this.task.sandbox.root, runAs?.uid ?? 0, runAs?.gid ?? 0);
  }

  /** What an agent that was killed had begun may go on for a moment. */
  private async startOver(signal: AbortSignal): Promise<void> {
    for (let sweeps = 0; sweeps < mostSweeps; sweeps++) {
      const left = processesUnder(this.task.path);
      if (left.length === 0) break;
      for (const one of left) sendSignal(one, 'SIGKILL');
      await delay(sweepEveryMillis, undefined, { signal });
    }
    await this.task.renewSandbox();
  }

  private async isSaid(): Promise<boolean> {
    const directory = artifactsDirectory(this.task.path);
    const said = Object.values(artifactsSaid).map((name) => readIfThere(join(directory, name)));
    return (await Promise.all(said)).some((text) => text !== undefined);
  }

  private async say(failure: ArtifactFailure | undefined): Promise<void> {
    const name = failure ? artifactsSaid.failed : artifactsSaid.ready;
    const text = failure ? JSON.stringify({ ...failure, message: cut(failure.message, longestMessage) }) : '';
    await writeDurably(join(artifactsDirectory(this.task.path), name), text, 0o644);
  }
}
