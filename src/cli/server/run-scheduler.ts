import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { sharingOf } from '../../agent/users/shared-user.js';
import { readLocalClusterSettings, settingsOfAgent } from '../../agent/settings.js';
import { startApp } from '../../app.js';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { InstanceRepository } from '../../modules/leadership/instance.repository.js';
import { TaskRepository } from '../../modules/tasks/task.repository.js';
import { DatabaseClock } from '../../platform/database/database-clock.js';
import { Database } from '../../platform/database/database.js';
import { StartError } from '../../platform/errors.js';
import { Readiness } from '../../platform/health/readiness.js';
import { surviveUncaughtErrors } from '../../platform/health/uncaught-errors.js';
import { collectGarbageSooner } from '../../platform/process/garbage.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { logConsoleLines, PinoLogger } from '../../platform/logging/log.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { logStoreOf } from '../../platform/settings/log-store-settings.js';
import type { Settings } from '../../platform/settings/settings.js';
import { surviveClosedTerminal } from '../output/streams.js';
import { AgentProcess } from './agent-process.js';
import { animate, announce, during, say, warnIfOpen } from './announce.js';
import { clearPort } from './clear-port.js';
import { InstancePlace } from './instance-place.js';
import { openDatabase } from './open-database.js';
import { openDriver } from './open-driver.js';
import { reportFailure } from './report-failure.js';
import { StopSequence } from './stop-sequence.js';
import { stopTasks } from './stop-tasks.js';
import { roomHere } from './workers/worker-count.js';
import { WorkerPool } from './workers/worker-pool.js';

interface RunOptions {
  /** Start an agent on this machine, and end it with us. */
  withAgent: boolean;
  /** Lets agent and tasks run on when this process stops. */
  keepTasks: boolean;
  /**
   * Directory in which a scheduler that shares the data directory of another notes that it runs; default: one in it, by
   * its port.
   */
  instanceDir?: string;
  /** Called with the address once everything runs. */
  ready?: (url: string) => Promise<void>;
}

/** Starts what was asked for, waits for the order to stop, stops it. Answers the exit code. */
export async function runScheduler(settings: Settings, asked: RunOptions): Promise<number> {
  // Elsewhere than on this machine tasks need no agent here, and outlive what we do.
  const options = { ...asked, withAgent: asked.withAgent && settings.clusterDriver === 'local' };
  const logger = new PinoLogger(settings.log);
  Logger.overrideLogger(logger);
  logConsoleLines(logger);
  animate(settings.log.format);
  surviveClosedTerminal();
  surviveUncaughtErrors(logger);
  collectGarbageSooner();
  const stop = new StopSequence(['tasks', 'agent', 'scheduler', 'database']);
  const place = new InstancePlace(settings, options);
  stop.listen();
  await stop.start(async (checkpoint) => {
    // Other users pass through it, the database's and those of tasks, and see nothing of what is in it.
    mkdirSync(settings.dataDir, { recursive: true, mode: 0o711 });
    place.claim();
    const localSettings = settingsOfAgent(settings, logStoreOf(settings));
    if (options.withAgent) judgeIsolation(localSettings);
    const { url: databaseUrl, shownUrl, connections } = await openDatabase(settings, stop, checkpoint);
    checkpoint();
    const agent = new AgentProcess({ dataDir: settings.dataDir, localSettings, say });
    if (options.withAgent) {
      await startAgent(agent, options, stop);
      checkpoint();
    }
    const clock = new DatabaseClock();
    const driver = await openDriver(settings, { agentFolder: agent.folder, now: () => clock.now() });
    const whole = { ...settings, databaseUrl };
    if (settings.clusterDriver === 'local') {
      const { taskUsers } = readLocalClusterSettings(localSettings);
      await clearPort({ host: settings.host, port: settings.port, taskUsers, agentFolder: agent.folder });
    }
    const workers = WorkerPool.of(whole, agent.folder, roomHere(connections));
    // What has begun before one of them could not begin has to end as well.
    stop.add({ name: 'scheduler', inOrder: () => workers?.stop() ?? Promise.resolve() });
    const { app, url } = await startApp({ settings: whole, driver, clock, logger, role: workers?.role });
    workers?.onEnd((id) => app.get(Database).transaction((tx) => app.get(InstanceRepository).remove(tx, id)));
    // First the callers are served to the end, who may wait for what is scheduled.
    stop.add({
      name: 'scheduler',
      inOrder: async () => {
        await workers?.stop();
        await app.close();
      },
    });
    if (options.withAgent && !options.keepTasks) {
      const context = {
        database: app.get(Database),
        driver: app.get<ClusterDriver>(CLUSTER_DRIVER),
        tasks: app.get(TaskRepository),
        leadership: app.get(Leadership),
        pollers: app.get(Pollers),
      };
      stop.add({ name: 'tasks', inOrder: () => stopTasks(context) });
    }
    checkpoint();
    if (options.withAgent) await untilMachinesAreKnown(app.get(Readiness), checkpoint);
    const { dataDir, ui } = settings;
    announce({
      url,
      page: ui.path,
      databaseUrl: shownUrl,
      dataDir,
      instanceDir: place.folder,
      workers: workers?.pids ?? [],
      keepsTasks: options.withAgent ? options.keepTasks : undefined,
    });
    warnIfOpen(settings.host, settings.auth.enabled);
    place.tellAddress(url);
    await options.ready?.(url);
    await tellWhoLeads(app.get(Leadership), url, settings.leadership.competes, checkpoint);
  }, reportFailure);
  const exitCode = await stop.stopped;
  place.release();
  return exitCode;
}

/** The agent has a log of its own, which nobody looks at while a start goes well. */
function judgeIsolation(localSettings: object): void {
  const sharing = sharingOf(readLocalClusterSettings(localSettings));
  if (sharing?.problem !== undefined) throw new StartError(`The agent does not start: ${sharing.problem}`);
  if (sharing) say(`WARNING: ${sharing.warning}.`);
}

async function startAgent(agent: AgentProcess, { keepTasks }: RunOptions, stop: StopSequence): Promise<void> {
  const leave = () => agent.leave().then(() => 'left running, with its tasks');
  const end = { inOrder: () => agent.stop(), atOnce: () => agent.stopAtOnce() };
  stop.add({ name: 'agent', ...(keepTasks ? { inOrder: leave } : end) });
  await during('Starting the agent', () => agent.start());
}

const lookEveryMillis = 50;
/** A little longer than an instance waits for machines before it is ready without. */
const machinesAreKnownMillis = 40_000;
/** Steps that take less are not printed. */
const quietMillis = 1_000;
/** Within this time the lease of a leader that has died has run out. */
const leaseRunsOutMillis = 4_000;

/**
 * Waits until machines are known, within half a minute: whoever reads that it is ready may ask for what needs all of
 * them.
 */
async function untilMachinesAreKnown(readiness: Readiness, checkpoint: () => void): Promise<void> {
  const isReady = async () => (await readiness.missing().catch(() => ['The database does not answer'])).length === 0;
  const deadline = performance.now() + machinesAreKnownMillis;
  while (!(await isReady()) && performance.now() < deadline) {
    checkpoint();
    await delay(lookEveryMillis);
  }
}

/** After a crash nothing is scheduled until the lease of the former leader has run out: the operator who waits is told. */
async function tellWhoLeads(
  leadership: Leadership,
  url: string,
  competes: boolean,
  checkpoint: () => void,
): Promise<void> {
  const leader = async (patienceMillis: number): Promise<string | undefined> => {
    const deadline = performance.now() + patienceMillis;
    while (!leadership.ready()) {
      checkpoint();
      if (performance.now() > deadline) return leadership.leaderAddress().catch(() => undefined);
      await delay(lookEveryMillis);
    }
    return url;
  };
  if ((await leader(quietMillis)) === url) return;
  const address = await during('Waiting for a leader', () => leader(leaseRunsOutMillis));
  if (address !== url)
    say(
      `${address ? `${address} leads` : 'No instance leads yet'}; this instance ${competes ? 'is ready to take over' : 'serves the API only'}`,
    );
}
