import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { AgentContext } from './agent-context.js';
import type { Epochs } from './epochs.js';
import { inParallel } from './in-parallel.js';
import { killTask } from './kill-task.js';
import type { Launcher } from './launch.js';
import type { Machines } from './machines.js';
import {
  fileHeaders,
  HelloRequest,
  KillRequest,
  LaunchRequest,
  paths,
  ShutdownRequest,
  UpdatesQuery,
  type HelloAnswer,
  type KillResult,
  type LaunchBatchAnswer,
  type MachinesAnswer,
  type SandboxAnswer,
  type SandboxListAnswer,
  type TasksAnswer,
  type UpdatesAnswer,
} from './protocol.js';
import { SandboxFiles } from './sandbox-files.js';
import { sandboxRoot } from './sandbox-layout.js';
import { sent, type Call, type Routes } from './server.js';
import { taskStatistics } from './statistics.js';
import type { Tasks } from './tasks.js';
import type { Tombstones } from './tombstones.js';

const maxUpdatesPerAnswer = 500;
/** Each has a few files open while it is decided. */
const launchesAtOnce = 50;
/** Most bytes of one sandbox read; a download has no limit. */
const maxReadBytes = 1024 * 1024;

const EpochQuery = z.object({ epoch: z.coerce.number().int().min(0) });
const PathQuery = z.object({ path: z.string() });
const ReadQuery = PathQuery.extend({
  offset: z.coerce.number().int().min(0),
  length: z.coerce.number().int().min(0).max(maxReadBytes),
});
const DownloadQuery = PathQuery.extend({
  offset: z.coerce.number().int().min(0).default(0),
  length: z.coerce.number().int().min(0).optional(),
});

export interface AgentParts {
  context: AgentContext;
  tasks: Tasks;
  tombstones: Tombstones;
  epochs: Epochs;
  launcher: Launcher;
  machines: Machines;
  /** Ends the agent after the answer is out. */
  shutdown(): void;
}

/** What an agent can be asked, operation by operation. */
export function agentRoutes(parts: AgentParts): Routes {
  const { context, tasks, epochs, launcher, machines } = parts;
  const { agentId, incarnation } = machines;
  return {
    [`POST ${paths.hello}`]: async ({ body }): Promise<HelloAnswer> => {
      await epochs.admit(HelloRequest.parse(body).epoch);
      // What an earlier epoch had begun is decided before this one is told anything.
      await tasks.decisions.settled();
      return { agentId, incarnation };
    },
    [`GET ${paths.tasks}`]: async ({ query }): Promise<TasksAnswer> => {
      await epochs.admit(EpochQuery.parse(query).epoch);
      return { agentId, incarnation, ...(await tasks.list()) };
    },
    [`POST ${paths.launch}`]: async ({ body }): Promise<LaunchBatchAnswer> => {
      const { epoch, launches } = LaunchRequest.parse(body);
      await epochs.admit(epoch);
      return { answers: await inParallel(launches, launchesAtOnce, (document) => launcher.launch(document, epoch)) };
    },
    [`POST ${paths.kill}`]: async ({ body }): Promise<KillResult> => {
      const kill = KillRequest.parse(body);
      await epochs.admit(kill.epoch);
      return { answer: await killTask(parts, kill) };
    },
    [`GET ${paths.updates}`]: ({ query, signal }) => nextUpdates(parts, UpdatesQuery.parse(query), signal),
    [`GET ${paths.machines}`]: async (): Promise<MachinesAnswer> => ({
      machines: machines.snapshots(Date.now()),
      machinesVersion: machines.version,
    }),
    [`POST ${paths.shutdown}`]: async ({ body }) => {
      const { killTasks, graceMillis } = ShutdownRequest.parse(body);
      if (killTasks) await tasks.killAll(graceMillis);
      setImmediate(parts.shutdown);
      return {};
    },
    [`GET ${paths.statistics}`]: async ({ taskId }) => {
      const run = tasks.find(taskId);
      return run?.isRunning ? taskStatistics(run, Date.now()) : undefined;
    },
    ...sandboxRoutes(context),
  };
}

async function nextUpdates(
  { context, tasks, epochs, machines }: AgentParts,
  { epoch, incarnation, after, waitMillis }: UpdatesQuery,
  signal: AbortSignal,
): Promise<UpdatesAnswer> {
  await epochs.admit(epoch);
  // Numbers of another incarnation say nothing about ours: the caller learns ours and begins anew.
  if (incarnation !== machines.incarnation)
    return { incarnation: machines.incarnation, updates: [], machinesVersion: machines.version };
  tasks.acknowledge(after).catch((cause: unknown) => context.log.error('Cannot archive ended tasks', cause));
  await context.updates.waitFor(after, waitMillis, signal);
  epochs.require(epoch);
  return {
    incarnation,
    updates: context.updates.after(after, maxUpdatesPerAnswer),
    machinesVersion: machines.version,
  };
}

function sandboxRoutes(context: AgentContext): Routes {
  const filesOf = (taskId: string) => new SandboxFiles(sandboxRoot(context.folder, taskId));
  return {
    [`GET ${paths.sandbox}`]: async ({ taskId }): Promise<SandboxAnswer | undefined> => {
      const files = filesOf(taskId);
      return (await files.list('')) ? { root: files.root } : undefined;
    },
    [`GET ${paths.sandboxList}`]: async ({ taskId, query }): Promise<SandboxListAnswer | undefined> => {
      const entries = await filesOf(taskId).list(PathQuery.parse(query).path);
      return entries && { entries };
    },
    [`GET ${paths.sandboxRead}`]: async ({ taskId, query, response }) => {
      const { path, offset, length } = ReadQuery.parse(query);
      const chunk = await filesOf(taskId).read(path, offset, length);
      if (!chunk) return undefined;
      response.writeHead(200, { [fileHeaders.size]: chunk.size, 'content-length': chunk.data.length });
      response.end(chunk.data);
      return sent;
    },
    [`GET ${paths.sandboxDownload}`]: (call) => download(filesOf(call.taskId), call),
  };
}

/** As many bytes as the file has now: a log that grows meanwhile does not keep the transfer open. */
async function download(files: SandboxFiles, { query, response }: Call): Promise<typeof sent | undefined> {
  const { path, offset, length } = DownloadQuery.parse(query);
  const file = await files.open(path);
  if (!file) return undefined;
  const bytes = Math.max(0, Math.min(length ?? Infinity, file.size - offset));
  response.writeHead(200, {
    [fileHeaders.size]: file.size,
    [fileHeaders.mtime]: file.mtime,
    'content-length': bytes,
  });
  if (bytes === 0) {
    await file.handle.close();
    response.end();
  } else {
    await pipeline(file.handle.createReadStream({ start: offset, end: offset + bytes - 1 }), response);
  }
  return sent;
}
