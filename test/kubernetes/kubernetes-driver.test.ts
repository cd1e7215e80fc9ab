import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, vi } from 'vitest';
import { type ClusterDriver, StaleEpochError } from '../../src/cluster/cluster-driver.js';
import { KubernetesDriver } from '../../src/cluster/kubernetes/kubernetes-driver.js';
import { LocalSettings } from '../../src/platform/settings/local-settings.js';
import { describeClusterDriver, type DriverHarness, type TaskKind } from '../support/describe-cluster-driver.js';
import { describePrograms } from '../support/describe-programs.js';
import { describeTaskCare } from '../support/describe-task-care.js';
import { launchSpec } from '../support/launch-spec.js';
import { linesOf, notingSignals } from '../support/noting-task.js';
import { waitFor } from '../support/wait-for.js';
import { testImage } from './lab/image.js';
import { Lab, labBinaries } from './lab/lab.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 180_000 });

/** First of all the task notes that it was started. */
const scriptOf = (kind: TaskKind): string => {
  const note = 'echo started >>"$STARTS"';
  if (kind === 'RUNS') return `trap 'exit 0' TERM; ${note}; while :; do sleep 600 & wait; done`;
  if (kind === 'RUNS_AND_NOTES_SIGNALS') return notingSignals(note);
  if (kind === 'RUNS_AND_IGNORES_SIGTERM') return `trap '' TERM; ${note}; while :; do sleep 600; done`;
  return `${note}; printf '${kind.prints ?? ''}'; exit ${kind.exit}`;
};

const commands = LocalSettings.parse({
  shellCommands: [
    { name: 'ends', command: ['sh', '-c', 'echo done'] },
    { name: 'runs', command: ['sleep', '600'] },
  ],
});

/** Wraps the driver so that epochs begin at another number. */
function withEpochsFrom(base: number, driver: KubernetesDriver): ClusterDriver {
  const shifted = ({ epoch, highest }: StaleEpochError) => new StaleEpochError(epoch - base, highest - base);
  const orStale = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((cause: unknown) => {
      throw cause instanceof StaleEpochError ? shifted(cause) : cause;
    });
  return {
    name: driver.name,
    start: (epoch, events) =>
      orStale(
        driver.start(epoch + base, {
          machines: (agents) => events.machines(agents),
          machineDown: (slaveId, reason) => events.machineDown(slaveId, reason),
          statusUpdates: (updates) => events.statusUpdates(updates),
          outranked: (cause) => events.outranked(shifted(cause)),
        }),
      ),
    stop: () => driver.stop(),
    whyUnreachable: () => driver.whyUnreachable(),
    machines: () => driver.machines(),
    launch: (batch, epoch) => orStale(driver.launch(batch, epoch + base)),
    kill: (taskId, slaveId, graceMillis, epoch) => orStale(driver.kill(taskId, slaveId, graceMillis, epoch + base)),
    withdraw: (taskIds, slaveId, epoch) => orStale(driver.withdraw(taskIds, slaveId, epoch + base)),
    runCommand: (order, slaveId, epoch) => orStale(driver.runCommand(order, slaveId, epoch + base)),
    runCheck: (check, slaveId, epoch) => orStale(driver.runCheck(check, slaveId, epoch + base)),
    reconcile: (epoch, agentIds) => orStale(driver.reconcile(epoch + base, agentIds)),
    sandbox: (taskId, slaveId, view) => driver.sandbox(taskId, slaveId, view),
    statistics: (taskId, slaveId) => driver.statistics(taskId, slaveId),
    machineUsage: (slaveId) => driver.machineUsage(slaveId),
    unsupportedInDeploy: (deploy) => driver.unsupportedInDeploy(deploy),
  };
}

let tests = 0;
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe.skipIf(labBinaries === undefined)('on a real Kubernetes', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.start({ hasAgents: true });
  });
  afterAll(() => lab?.stop());

  async function podHarness(): Promise<DriverHarness> {
    const starts = join(lab.folder, 'starts');
    mkdirSync(starts, { recursive: true });
    chmodSync(starts, 0o777);
    const settings = lab.settings({ allowedHostPaths: [starts] });
    // Agents keep the highest epoch that they have seen.
    const base = (tests += 100);
    const drivers: KubernetesDriver[] = [];
    const untilShown = (what: string, port: number, isShown: boolean) =>
      waitFor(what, () => drivers.some((each) => each.machines()[0]?.portsInUse.includes(port)) === isShown);
    const open = () =>
      KubernetesDriver.open({ now: Date.now, settings, defaultRackId: 'DEFAULT', commands, log: quiet });
    // A driver is made without waiting; these wait to be asked for.
    const spare = await Promise.all([open(), open(), open()]);
    return {
      driver: () => {
        const driver = spare.pop()!;
        drivers.push(driver);
        return withEpochsFrom(base, driver);
      },
      commandOf: (kind, taskId) => ({ taskId, name: kind.toLowerCase(), timestamp: Date.now(), options: [] }),
      launchOf: (kind, taskId, incarnation) =>
        launchSpec({
          taskId,
          incarnation,
          slaveId: lab.nodes[0]!.name,
          command: { shell: true, value: scriptOf(kind), arguments: [] },
          environment: {
            STARTS: join('/starts', taskId),
            NOTES: join('/starts', `${taskId}.notes`),
            OWN_NAME: taskId,
          },
          container: {
            type: 'DOCKER',
            docker: { image: testImage, privileged: false, network: 'BRIDGE' },
            volumes: [{ hostPath: starts, containerPath: '/starts', mode: 'RW' }],
          },
        }),
      starts: (taskId) => linesOf(join(starts, taskId)).length,
      noted: (taskId) => linesOf(join(starts, `${taskId}.notes`)),
      occupyPort: async () => {
        const port = lab.nodes[0]!.ports.end;
        await lab.occupy({ port, node: lab.nodes[0]!.name });
        await untilShown('the port to be seen', port, true);
        return {
          port,
          free: async () => {
            await lab.release(port);
            await untilShown('the port to be free again', port, false);
          },
        };
      },
      until: async (what, condition) => void (await waitFor(what, condition, { timeoutMillis: 100_000 })),
      pause: () => delay(2_000),
      close: async () => {
        await Promise.all([...drivers, ...spare].map((driver) => driver.close()));
        await lab.clean();
      },
    };
  }

  // Kubelets do not look up while they wait for a container to end.
  describeClusterDriver('kubernetes', podHarness, ['SHORTER_GRACE']);
  // Kubelets run the hook and send the signal however short the grace is; an agent hears of a leader by its first call.
  describeTaskCare('kubernetes', podHarness, ['FORCE', 'FENCE']);
  describePrograms('kubernetes', podHarness);
});
