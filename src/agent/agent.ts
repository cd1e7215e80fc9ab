import { setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
import { serve } from 'rest-contract';
import { nodeListener } from 'rest-contract/node';
import { messageOf } from '../platform/files.js';
import type { Log } from '../platform/log.js';
import type { SlaveSetting } from '../platform/settings/local-settings.js';
import type { AgentContext } from './agent-context.js';
import { ArtifactCache } from './artifacts/cache.js';
import { fetchProgram } from './artifacts/program.js';
import { openCgroups } from './cgroups/cgroups.js';
import { EngineWatch } from './containers/engine.js';
import { removeForgottenContainers } from './containers/forgotten.js';
import { Images } from './containers/images.js';
import { openFileAddress } from './file-address/file-address.js';
import { rotateProgram } from './logs/programs.js';
import { Machines } from './machines/machines.js';
import { bootId, ownIdentity } from './processes/process-identity.js';
import { AgentOperations, type AgentServices } from './server/operations.js';
import { GuardedAgent, startServer } from './server/server.js';
import { type LocalClusterSettings, readLocalClusterSettings, thisMachine } from './settings.js';
import { installShim } from './shim/shim-scripts.js';
import { AgentDirectory, type Endpoint, sharedSecret } from './state/agent-directory.js';
import { Tombstones } from './state/tombstones.js';
import { UpdatesLog } from './state/updates-log.js';
import { restoreTasks, currentIncarnation } from './tasks/restore.js';
import { Launcher } from './tasks/launch.js';
import { Tasks } from './tasks/tasks.js';
import { Removals } from './upkeep/removals.js';
import { watchOver } from './upkeep/watchdog.js';
import { openUploader, uploadsItself } from './uploads/open-uploader.js';
import { UploadCounts } from './uploads/upload-counts.js';
import { TaskUsers } from './users/task-users.js';
import { AgentApi } from './wire/agent-api.js';
import { Epochs } from './wire/epochs.js';

export interface AgentOptions {
  /** `<data dir>/agent`. */
  directory: string;
  /** Default: "local". */
  agentId?: string;
  /** Default: those of the settings, or one with what this machine has. */
  slaves?: SlaveSetting[];
  /** The settings under `cluster.local`, unchecked; `slaves` above replaces theirs. */
  settings?: unknown;
  /** Default: the one in the directory, made if there is none. */
  secret?: string;
  /** Default: loopback. */
  host?: string;
  /** Default: a free one. */
  port?: number;
  log: Log;
  /** Words after `node` that start the program which fetches files; default: the one beside this. */
  fetchProgram?: readonly string[];
  /** Words after `node` that start the program which rotates logs. */
  rotateProgram?: readonly string[];
  /** Words after `node` that start the program which uploads files to buckets. */
  uploadProgram?: readonly string[];
  /** Epoch millis, for rotation and removal of files; default: the machine's. */
  now?: () => number;
}

export interface RunningAgent {
  endpoint: Endpoint;
  /** Ends the agent. Its tasks run on, and the next agent on the directory takes them up. */
  stop(): Promise<void>;
  /** Resolves when it has stopped, for whatever reason. */
  stopped: Promise<void>;
}

/** Tells the caller to say one line and give up. */
export class AgentCannotStart extends Error {}

/** Starts an agent on its directory: takes up what an earlier one left there, then answers calls. */
export async function runAgent(options: AgentOptions): Promise<RunningAgent> {
  if (!existsSync('/proc/self/stat')) throw new AgentCannotStart('The local driver needs Linux with a mounted /proc');
  const settings = readLocalClusterSettings(options.settings);
  const forOthers = process.getuid?.() === 0 && settings.tasksRunAs === 'OWN_USER';
  const directory = await AgentDirectory.open(options.directory, forOthers);
  const other = await directory.claim();
  if (other !== undefined) throw new AgentCannotStart(`Another agent runs on ${directory.root} (process ${other})`);
  const stopping = new AbortController();
  // What goes on in the agent all ends with it.
  setMaxListeners(0, stopping.signal);
  try {
    return await startOn(directory, stopping, { ...options, settings });
  } catch (cause) {
    stopping.abort();
    directory.release();
    throw cause;
  }
}

async function startOn(
  directory: AgentDirectory,
  stopping: AbortController,
  options: AgentOptions & { settings: LocalClusterSettings },
): Promise<RunningAgent> {
  const { log, settings, agentId = 'local', host = '127.0.0.1', port = 0 } = options;
  const users = await usersOf(directory, settings, log);
  const services = await openServices(directory, { ...options, agentId, users, stopping: stopping.signal });
  const { context, tasks, machines, tombstones } = services;
  await restoreTasks(context, tasks);
  void removeForgottenContainers(context, tasks);

  let stop = async (): Promise<void> => undefined;
  const shutdown = () => void stop().catch((cause: unknown) => log.error('The agent did not stop in order', cause));
  const operations = new AgentOperations(services, shutdown);
  const secret = options.secret ?? (await sharedSecret(directory.root));
  const onError = (error: unknown, { operation }: { operation: string }) => log.error(`${operation} failed`, error);
  const server = createServer(nodeListener(serve(AgentApi, new GuardedAgent(secret, operations), { onError })));
  const ownPort = await startServer(server, { host, port });
  const files = settings.files && (await openFileAddress(settings.files, context, settings.taskUsers));
  const uploader = await openUploader(context, options.uploadProgram);
  const watching = watchOver(context, tasks, machines, tombstones, uploader);
  const endpoint: Endpoint = { ...ownIdentity(), host, port: ownPort, agentId, incarnation: machines.incarnation };
  await directory.publish(endpoint);
  log.info(`Agent '${agentId}' listens on ${host}:${ownPort} with ${tasks.live().length} tasks`);

  const stopped = new Promise<void>((resolve) => {
    stop = once(async () => {
      await directory.unpublish();
      stopping.abort();
      for (const one of [server, files]) {
        one?.close();
        one?.closeAllConnections();
      }
      context.updates.wake();
      await tasks.detach();
      await watching;
      await context.updates.close();
      users.close();
      if (tasks.live().length === 0) await context.cgroups.removeAll();
      directory.release();
      resolve();
    });
  });
  return { endpoint, stop: () => stop(), stopped };
}

interface ServiceOptions extends Pick<AgentOptions, 'slaves' | 'log' | 'fetchProgram' | 'rotateProgram' | 'now'> {
  agentId: string;
  settings: LocalClusterSettings;
  users: TaskUsers;
  stopping: AbortSignal;
}

/** Opens everything that an agent is made of, in an order in which each knows only what was opened before it. */
async function openServices(directory: AgentDirectory, options: ServiceOptions): Promise<AgentServices> {
  const { agentId, settings, log, users, stopping } = options;
  const boot = bootId();
  const cgroups = await openCgroups(directory, boot, settings.cgroups);
  if (cgroups.missing) log.warn(`cgroups: ${cgroups.missing}`);
  const incarnation = await currentIncarnation(directory, cgroups, log);
  const slaves = options.slaves ?? settings.slaves ?? [thisMachine(directory.root)];
  const machines = new Machines(agentId, incarnation, slaves, settings);
  const updates = await UpdatesLog.open(directory.updates, { agentId, incarnation });
  machines.onChange(() => updates.wake());
  const engines = new EngineWatch(settings.containers, log, stopping);
  engines.onChange(() => machines.noteContainers(engines.refusal));
  engines.begin();
  const facts = await factsOf(directory, boot, options);
  const context = {
    ...facts,
    users,
    engines,
    updates,
    cgroups,
    artifacts: await ArtifactCache.open({ ...facts, users }),
    images: new Images({ ...facts, engines }),
    endedLogs: [],
    removals: new Removals(),
    uploads: new UploadCounts(),
    finishedUploads: uploadsItself(settings) ? new Set<string>() : undefined,
  };
  const tasks = new Tasks(context);
  const tombstones = new Tombstones(directory.tombstones);
  const epochs = await Epochs.load(directory.epoch);
  const launcher = new Launcher(context, tasks, tombstones, epochs, machines);
  return { context, tasks, tombstones, epochs, launcher, machines };
}

const factsOf = async (directory: AgentDirectory, boot: string, options: ServiceOptions): Promise<AgentContext> => ({
  directory,
  settings: options.settings,
  log: options.log,
  bootId: boot,
  shim: await installShim(directory.bin),
  fetchProgram: options.fetchProgram ?? fetchProgram,
  rotateProgram: options.rotateProgram ?? rotateProgram,
  now: options.now ?? Date.now,
  // The directory of this Node first: tasks that are Node programs then need nothing but this installation.
  searchPath: `${dirname(process.execPath)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  shell: existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh',
  stopping: options.stopping,
});

async function usersOf(directory: AgentDirectory, settings: LocalClusterSettings, log: Log): Promise<TaskUsers> {
  const users = await TaskUsers.open(settings, directory, log).catch((cause: unknown) => {
    throw new AgentCannotStart(messageOf(cause), { cause });
  });
  const refusal = settings.defaultRunAsUser && (await users.refusal(settings.defaultRunAsUser));
  // Tasks that run by now are looked after all the same.
  if (refusal) log.warn(`cluster.local.defaultRunAsUser: ${refusal}`);
  if (!directory.sandboxes.startsWith(`${directory.root}/`))
    log.info(`Sandboxes are in ${directory.sandboxes}: other users cannot pass through ${directory.root}`);
  return users;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}
