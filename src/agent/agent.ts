import { setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
import { serve } from 'rest-contract';
import { nodeListener } from 'rest-contract/node';
import { adoptTasks, currentIncarnation } from './tasks/adopt.js';
import type { AgentContext, Log } from './agent-context.js';
import { ArtifactCache } from './artifacts/cache.js';
import { fetchProgram } from './artifacts/program.js';
import { AgentFolder, type Endpoint, sharedSecret } from './agent-folder.js';
import { openFileAddress } from './file-address/file-address.js';
import { openCgroups } from './cgroups/cgroups.js';
import { rotateProgram } from './logs/programs.js';
import { EngineWatch } from './containers/engine.js';
import { removeForgottenContainers } from './containers/forgotten.js';
import { Images } from './containers/images.js';
import { AgentApi } from './wire/agent-api.js';
import { Epochs } from './wire/epochs.js';
import { Launcher } from './tasks/launch.js';
import { Machines } from './machine/machines.js';
import { Removals } from './machine/removals.js';
import { AgentOperations } from './wire/operations.js';
import { bootId, ownIdentity } from './machine/process-identity.js';
import { GuardedAgent, startServer } from './wire/server.js';
import { TaskUsers } from './machine/task-users.js';
import { messageOf } from './files.js';
import type { SlaveSetting } from '../platform/settings/local-settings.js';
import { type LocalClusterSettings, readLocalClusterSettings, thisMachine } from './settings.js';
import { installShim } from './shim/shim-scripts.js';
import { Tasks } from './tasks/tasks.js';
import { Tombstones } from './tasks/tombstones.js';
import { UpdatesLog } from './tasks/updates-log.js';
import { UploadCounts } from './uploads/upload-counts.js';
import { openUploader, uploadsItself } from './uploads/open-uploader.js';
import { watchOver } from './machine/watchdog.js';

export interface AgentOptions {
  /** `<data dir>/agent`. */
  folder: string;
  /** Default: "local". */
  agentId?: string;
  /** Default: one with what this machine has. */
  slaves?: SlaveSetting[];
  /** The settings under `cluster.local`, unchecked; `slaves` above replaces theirs. */
  settings?: unknown;
  /** Default: the one in the folder, made if there is none. */
  secret?: string;
  /** Default: loopback. */
  host?: string;
  /** Default: a free one. */
  port?: number;
  log: Log;
  /** Words after `node` that start the program which fetches files; default: the one beside this. */
  fetchProgram?: readonly string[];
  /** The same of the one that rotates logs. */
  rotateProgram?: readonly string[];
  /** The same of the one that uploads files to buckets. */
  uploadProgram?: readonly string[];
  /** Epoch millis, for rotation and removal of files; default: the machine's. */
  now?: () => number;
}

export interface RunningAgent {
  endpoint: Endpoint;
  /** Ends the agent. Its tasks run on, and the next agent on the folder takes them up. */
  stop(): Promise<void>;
  /** Resolves when it has stopped, for whatever reason. */
  stopped: Promise<void>;
}

/** Tells the caller to say one line and give up. */
export class AgentCannotStart extends Error {}

/** Starts an agent on its folder: takes up what an earlier one left there, then answers calls. */
export async function runAgent(options: AgentOptions): Promise<RunningAgent> {
  if (!existsSync('/proc/self/stat')) throw new AgentCannotStart('The local driver needs Linux with a mounted /proc');
  const settings = readLocalClusterSettings(options.settings);
  const forOthers = process.getuid?.() === 0 && settings.tasksRunAs === 'OWN_USER';
  const folder = await AgentFolder.open(options.folder, forOthers);
  const other = await folder.claim();
  if (other !== undefined) throw new AgentCannotStart(`Another agent runs on ${folder.root} (process ${other})`);
  const stopping = new AbortController();
  // What goes on in the agent all ends with it.
  setMaxListeners(0, stopping.signal);
  try {
    return await startOn(folder, stopping, { ...options, settings });
  } catch (cause) {
    stopping.abort();
    folder.release();
    throw cause;
  }
}

async function startOn(
  folder: AgentFolder,
  stopping: AbortController,
  options: AgentOptions & { settings: LocalClusterSettings },
): Promise<RunningAgent> {
  const { log, settings, agentId = 'local', host = '127.0.0.1', port = 0 } = options;
  const users = await TaskUsers.open(settings, folder, log).catch((cause: unknown) => {
    throw new AgentCannotStart(messageOf(cause), { cause });
  });
  const refusal = settings.defaultRunAsUser && (await users.refusal(settings.defaultRunAsUser));
  // Tasks that run by now are looked after all the same.
  if (refusal) log.warn(`cluster.local.defaultRunAsUser: ${refusal}`);
  if (!folder.sandboxes.startsWith(`${folder.root}/`))
    log.info(`Sandboxes are in ${folder.sandboxes}: other users cannot pass through ${folder.root}`);
  const boot = bootId();
  const cgroups = await openCgroups(folder, boot, settings.cgroups);
  if (cgroups.missing) log.warn(`cgroups: ${cgroups.missing}`);
  const incarnation = await currentIncarnation(folder, cgroups, log);
  const slaves = options.slaves ?? settings.slaves ?? [thisMachine(folder.root)];
  const machines = new Machines(agentId, incarnation, slaves, settings);
  const updates = await UpdatesLog.open(folder.updates, { agentId, incarnation });
  machines.onChange(() => updates.wake());
  const engines = new EngineWatch(settings.containers, log, stopping.signal);
  engines.onChange(() => machines.noteContainers(engines.refusal));
  engines.begin();
  const parts = {
    folder,
    settings,
    log,
    users,
    engines,
    // The folder of this Node first: tasks that are Node programs then need nothing but this installation.
    searchPath: `${dirname(process.execPath)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    fetchProgram: options.fetchProgram ?? fetchProgram,
    stopping: stopping.signal,
    now: options.now ?? Date.now,
  };
  const context: AgentContext = {
    ...parts,
    updates,
    cgroups,
    artifacts: await ArtifactCache.open(parts),
    images: new Images(parts),
    shim: await installShim(folder.bin),
    bootId: boot,
    shell: existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh',
    rotateProgram: options.rotateProgram ?? rotateProgram,
    endedLogs: [],
    removals: new Removals(),
    uploads: new UploadCounts(),
    finishedUploads: uploadsItself(settings) ? new Set() : undefined,
  };
  const tasks = new Tasks(context);
  const tombstones = new Tombstones(folder.tombstones);
  const epochs = await Epochs.load(folder.epoch);
  const launcher = new Launcher(context, tasks, tombstones, epochs, machines);
  await adoptTasks(context, tasks);
  void removeForgottenContainers(context, tasks);

  let stop = async (): Promise<void> => undefined;
  const shutdown = () => void stop().catch((cause: unknown) => log.error('The agent did not stop in order', cause));
  const operations = new AgentOperations({ context, tasks, tombstones, epochs, launcher, machines, shutdown });
  const secret = options.secret ?? (await sharedSecret(folder.root));
  const onError = (error: unknown, { operation }: { operation: string }) => log.error(`${operation} failed`, error);
  const server = createServer(nodeListener(serve(AgentApi, new GuardedAgent(secret, operations), { onError })));
  const ownPort = await startServer(server, { host, port });
  const files = settings.files && (await openFileAddress(settings.files, context, settings.taskUsers));
  const uploader = await openUploader(context, options.uploadProgram);
  const watching = watchOver(context, tasks, machines, tombstones, uploader);
  const endpoint: Endpoint = { ...ownIdentity(), host, port: ownPort, agentId, incarnation };
  await folder.publish(endpoint);
  log.info(`Agent '${agentId}' listens on ${host}:${ownPort} with ${tasks.live().length} tasks`);

  const stopped = new Promise<void>((resolve) => {
    stop = once(async () => {
      await folder.unpublish();
      stopping.abort();
      for (const one of [server, files]) {
        one?.close();
        one?.closeAllConnections();
      }
      updates.wake();
      await tasks.detach();
      await watching;
      await updates.close();
      users.close();
      if (tasks.live().length === 0) await cgroups.removeAll();
      folder.release();
      resolve();
    });
  });
  return { endpoint, stop: () => stop(), stopped };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}
