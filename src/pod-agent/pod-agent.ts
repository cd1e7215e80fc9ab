import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serve } from 'rest-contract';
import { nodeListener } from 'rest-contract/node';
import type { Log } from '../platform/log.js';
import { ensureFolder, readIfThere, writeDurably } from '../platform/files.js';
import { ArtifactCache } from '../agent/artifacts/cache.js';
import { fetchProgram } from '../agent/artifacts/program.js';
import { rotateProgram } from '../agent/logs/programs.js';
import { bucketTarget, type UploadTarget } from '../agent/settings.js';
import { DiskWatch } from '../agent/upkeep/disk-watch.js';
import { LogRotation } from '../agent/upkeep/log-rotation.js';
import { openUploader } from '../agent/uploads/open-uploader.js';
import { UploadCounts } from '../agent/uploads/upload-counts.js';
import type { Uploader } from '../agent/uploads/uploader.js';
import { TaskUsers } from '../agent/users/task-users.js';
import { LocalSettings } from '../platform/settings/local-settings.js';
import { isAlive, ownIdentity, type ProcessIdentity } from '../agent/processes/process-identity.js';
import { Removals } from '../agent/upkeep/removals.js';
import { every } from '../agent/upkeep/every.js';
import { UpdatesLog } from '../agent/state/updates-log.js';
import { Epochs } from '../agent/wire/epochs.js';
import { startServer } from '../agent/server/server.js';
import { keysOf, serverTls } from './keys.js';
import { PodAgentApi } from './pod-agent-api.js';
import type { PodAgentSettings } from './pod-agent-settings.js';
import { PodCgroups } from './pod-cgroups.js';
import { PodCleanup } from './pod-cleanup.js';
import { GuardedPodAgent } from './pod-operations.js';
import type { PodContext } from './pod-task.js';
import { PodTasks } from './pod-tasks.js';

const checkEveryMillis = 1_000;
const outputEveryMillis = 1_000;
const logsEveryMillis = 1_000;
const diskEveryMillis = 1_000;
const roomEveryMillis = 10_000;
const cleanEveryMillis = 60_000;
const handshakeMillis = 5_000;

/** Connections whose key is not checked yet: of one address, and of all. Tasks can reach the port. */
const mostUnknown = { ofOne: 64, inAll: 512 };

interface RunningPodAgent {
  port: number;
  /** Pods run on, and the next agent on the directory takes up what goes on. */
  stop(): Promise<void>;
}

/**
 * The agent of a node of Kubernetes: prepares sandboxes that pods mount from the node, keeps what tasks print, and serves their files
 * and figures. Pods themselves are the API server's: it starts and ends none.
 */
export async function runPodAgent(node: string, settings: PodAgentSettings, log: Log): Promise<RunningPodAgent> {
  const own = join(settings.root, '.agent');
  await ensureFolder(own, 0o700);
  // Who fetches a file for the cache passes through to its own directory. Those of tasks and of the agent are closed.
  await chmod(settings.root, 0o711);
  await takeOver(join(own, 'process'));
  const incarnation = (await readIfThere(join(own, 'incarnation')))?.trim() || randomUUID();
  await writeDurably(join(own, 'incarnation'), `${incarnation}\n`);
  const cgroups = new PodCgroups(settings.cgroups, settings.maxProcessesPerTask);
  if (!cgroups.areThere) log.warn(`No cgroups in ${settings.cgroups}: tasks have no metrics and no commands`);
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const updates = await UpdatesLog.open(join(own, 'updates.jsonl'), { agentId: node, incarnation });
  const fetching = await openFetching(settings, own, log);
  const parts = { node, settings, cgroups, updates, fetching, log, stopping: stopping.signal };
  const context: PodContext = { ...parts, logs: logContextOf(own, parts) };
  const tasks = await PodTasks.load(context);
  const removals = new Removals();
  await tasks.findPods();
  const epochs = await Epochs.load(join(own, 'epoch'));
  const keys = settings.secrets.map((secret) => keysOf(node, secret));
  const secrets = keys.map(({ secret }) => secret);
  const agent = new GuardedPodAgent(secrets, { context, tasks, epochs, removals, incarnation });
  const onError = (error: unknown, { operation }: { operation: string }) => log.error(`${operation} failed`, error);
  const server = createServer(
    { ...serverTls(keys), handshakeTimeout: handshakeMillis },
    nodeListener(serve(PodAgentApi, agent, { onError })),
  );
  boundUnknown(server);
  const port = await startServer(server, settings);
  const uploader = await openUploader(context.logs);
  const watching = watchOver(context, tasks, new PodCleanup(context, tasks, removals), uploader);
  log.info(`Agent of node '${node}' listens on ${settings.host}:${port} with ${tasks.live().length} tasks`);
  const stop = async () => {
    stopping.abort();
    server.close();
    server.closeAllConnections();
    updates.wake();
    await tasks.close();
    await watching;
    fetching.users.close();
    await updates.close();
  };
  return { port, stop };
}

/** `own`: directory of the agent. */
async function openFetching(settings: PodAgentSettings, own: string, log: Log): Promise<PodContext['fetching']> {
  const artifacts = join(settings.root, '.artifacts');
  const directory = {
    root: own,
    artifacts,
    cachedArtifacts: join(artifacts, 'kept'),
    newArtifacts: join(artifacts, 'new'),
    sandboxes: join(artifacts, 'new'),
  };
  for (const open of [artifacts, directory.newArtifacts]) await ensureFolder(open, 0o711);
  await ensureFolder(directory.cachedArtifacts, 0o700);
  const users = await TaskUsers.open({ ...LocalSettings.parse({}), requireIsolation: false }, directory, log);
  const searchPath = `${dirname(process.execPath)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
  const facts = {
    directory,
    settings: { ...settings, allowedArtifactPaths: [] },
    log,
    fetchProgram,
    searchPath,
    users,
  };
  return { ...facts, section: 'agent.settings', artifacts: await ArtifactCache.open(facts) };
}

/** For the rooms of an agent of processes that rotate and upload logs. `own`: directory of its records. */
function logContextOf(own: string, { node, settings, log, stopping }: Omit<PodContext, 'logs'>): PodContext['logs'] {
  const uploadTarget = uploadTargetOf(node, settings);
  return {
    directory: {
      uploadRecords: join(own, 'uploads'),
      logWatcher: join(own, 'log-watcher'),
      archive: join(own, 'archive'),
    },
    // There are no service logs, and no other program.
    settings: { ...settings, uploadTarget, uploaderInUse: false, tailLogLinesToSave: 1 },
    log,
    stopping,
    rotateProgram,
    now: Date.now,
    finishedUploads: uploadTarget && new Set<string>(),
    uploads: new UploadCounts(),
  };
}

/** undefined: nothing is uploaded. */
function uploadTargetOf(agent: string, { objstore, logFolder }: PodAgentSettings): UploadTarget | undefined {
  if (objstore) return bucketTarget(objstore);
  if (!logFolder) return undefined;
  const { group, ...folder } = logFolder;
  return { kind: 'FOLDER', ...folder, shared: { agent, group } };
}

async function watchOver(
  context: PodContext,
  tasks: PodTasks,
  cleanup: PodCleanup,
  uploader: Uploader | undefined,
): Promise<void> {
  const { settings, log, fetching } = context;
  const { root } = settings;
  const { artifacts } = fetching;
  const disk = new DiskWatch({ directory: { root, sandboxes: root }, settings, log, artifacts }, tasks, tasks);
  // Also of those whose main program has not begun, or cannot be seen.
  const followed = () => tasks.live().map(({ spec, logs }) => ({ spec, logs, isRunning: true }));
  const rotation = new LogRotation({ ...context, now: context.logs.now, endedLogs: [] }, { live: followed });
  await Promise.all([
    every(checkEveryMillis, 'look at the pods', context, () => tasks.findPods()),
    every(outputEveryMillis, 'take the output of tasks', context, () => tasks.takeOutput()),
    every(logsEveryMillis, 'rotate logs', context, () => rotation.check()),
    every(logsEveryMillis, 'put logs in order', context, () => tasks.finishLogs()),
    uploader && every(logsEveryMillis, 'upload logs', context, () => uploader.runOnce()),
    every(diskEveryMillis, 'look at the disk', context, () => disk.check()),
    every(settings.checkThreadsEveryMillis, 'count the threads of tasks', context, async () => tasks.checkThreads()),
    every(roomEveryMillis, 'make room on the disk', context, () => cleanup.makeRoom()),
    every(cleanEveryMillis, 'remove old files', context, () => cleanup.run()),
  ]);
}

const takeOverMillis = 30_000;

/** One that is being replaced may not be over: two would write to the same files. All agents of a node see its processes. */
async function takeOver(path: string): Promise<void> {
  const text = await readIfThere(path);
  const former = text === undefined ? undefined : (JSON.parse(text) as ProcessIdentity);
  const isThere = () => former !== undefined && former.pid !== process.pid && isAlive(former);
  for (const until = performance.now() + takeOverMillis; isThere(); await delay(100))
    if (performance.now() > until) throw new Error(`Another agent runs on this folder: process ${former!.pid}`);
  await writeDurably(path, JSON.stringify(ownIdentity()));
}

/** So that those who do not know the key cannot keep out those who do. */
function boundUnknown(server: Server): void {
  const unknown = new Map<string, string>();
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    const address = socket.remoteAddress ?? '';
    const ofOne = [...unknown.values()].filter((other) => other === address).length;
    if (ofOne >= mostUnknown.ofOne || unknown.size >= mostUnknown.inAll) return void socket.destroy();
    unknown.set(name, address);
    socket.once('close', () => unknown.delete(name));
  });
  server.on('secureConnection', (socket) => unknown.delete(nameOf(socket)));
}
