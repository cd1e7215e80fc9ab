import type { ShellCommandOrder, TaskCheck, TaskCheckAnswer } from '../../src/cluster/cluster-driver.js';
import type { LaunchSpec, ProgramOfLaunch } from '../../src/core/model/launch.js';
import { describeClusterDriver, type DriverHarness, type TaskKind } from '../support/describe-cluster-driver.js';
import { describePrograms, exitCodeOfLine } from '../support/describe-programs.js';
import { describeTaskCare } from '../support/describe-task-care.js';
import { launchSpec } from '../support/launch-spec.js';
import { SimulatedCluster } from '../support/simulated-cluster/simulated-cluster.js';
import type { SimulatedDriver } from '../support/simulated-cluster/simulated-driver.js';

async function simulatedHarness(): Promise<DriverHarness> {
  const cluster = new SimulatedCluster();
  const kinds = new Map<string, TaskKind>();
  const taken = new Set<number>();
  const drivers: SimulatedDriver[] = [];
  cluster.onLaunch(({ taskId, ports, successfulExitCodes }: LaunchSpec) => {
    const kind = kinds.get(taskId) ?? 'RUNS';
    const portInUse = ports.find((port) => taken.has(port));
    const commands = ({ name }: ShellCommandOrder) => ({ runFor: name === 'RUNS' ? Infinity : 10 });
    const programs = ({ command }: ProgramOfLaunch) => {
      const exitCode = exitCodeOfLine(command.value);
      return exitCode === undefined ? { runFor: Infinity } : { runFor: 10, exitCode };
    };
    if (kind === 'RUNS' || kind === 'RUNS_AND_NOTES_SIGNALS') return { portInUse, commands, programs };
    if (kind === 'RUNS_AND_IGNORES_SIGTERM') return { stopAfter: Infinity };
    const isSuccess = successfulExitCodes.length > 0 ? successfulExitCodes.includes(kind.exit) : kind.exit === 0;
    return { runFor: 10, exit: isSuccess ? 'TASK_FINISHED' : 'TASK_FAILED', programs };
  });
  return {
    driver: () => {
      const driver = cluster.driver();
      driver.answerCheck = checkAsShell;
      drivers.push(driver);
      return driver;
    },
    launchOf: (kind, taskId, incarnation) => {
      kinds.set(taskId, kind);
      return launchSpec({ taskId, incarnation, slaveId: 'slave-1' });
    },
    commandOf: (name, taskId) => ({ taskId, name, timestamp: cluster.now(), options: [] }),
    starts: (taskId) => cluster.starts.get(taskId) ?? 0,
    occupyPort: async () => {
      taken.add(31_007);
      return { port: 31_007, free: async () => void taken.delete(31_007) };
    },
    until: async (what, condition) => {
      for (let steps = 0; !condition(); steps++) {
        if (steps === 1_000) throw new Error(`Waited in vain for ${what}`);
        await cluster.advance(10);
      }
    },
    pause: () => cluster.advance(1_000),
    close: async () => {
      for (const driver of drivers) await driver.stop();
    },
  };
}

/** As a shell would: of those commands that the tests have. */
function checkAsShell({ command }: TaskCheck): TaskCheckAnswer {
  if (command.startsWith('sleep')) return { outcome: 'FAILED', reason: 'it takes too long' };
  const [, output = ''] = /echo (\w+)/.exec(command) ?? [];
  return { outcome: 'ENDED', exitCode: Number(/exit (\d+)/.exec(command)?.[1] ?? 0), output };
}

describeClusterDriver('simulated', simulatedHarness, ['FILES']);
describeTaskCare('simulated', simulatedHarness, ['SIGNALS']);
describePrograms('simulated', simulatedHarness);
