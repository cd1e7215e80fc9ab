import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { AgentCluster, occupyPort, testSlave } from '../support/agent-cluster.js';
import { LocalDriver } from '../../src/cluster/local/local-driver.js';
import { describeClusterDriver, type DriverHarness, type TaskKind } from '../support/describe-cluster-driver.js';
import { describePrograms } from '../support/describe-programs.js';
import { describeTaskCare } from '../support/describe-task-care.js';
import { linesOf, notingSignals } from '../support/noting-task.js';
import { waitFor } from '../support/wait-for.js';

/** First of all the task notes that it was started; so could a second start of it, which would have another user. */
const scriptOf = (kind: TaskKind): string => {
  const note = 'umask 0; echo started >>"$STARTS"; umask 022';
  if (kind === 'RUNS') return `${note}; exec sleep 600`;
  if (kind === 'RUNS_AND_NOTES_SIGNALS') return notingSignals(note);
  if (kind === 'RUNS_AND_IGNORES_SIGTERM') return `trap '' TERM; ${note}; while :; do sleep 600; done`;
  return `${note}; printf '${kind.prints ?? ''}'; exit ${kind.exit}`;
};

async function localHarness(): Promise<DriverHarness> {
  const shellCommands = [
    { name: 'ENDS', command: ['/bin/true'] },
    { name: 'RUNS', command: ['/bin/sleep', '600'] },
  ];
  const cluster = await AgentCluster.start({ settings: { shellCommands } });
  await cluster.driver.stop();
  const starts = join(cluster.root, 'starts');
  mkdirSync(starts);
  // Tasks of other users write here.
  chmodSync(starts, 0o777);
  return {
    driver: () => cluster.newDriver(),
    launchOf: (kind, taskId, incarnation) =>
      cluster.spec({
        taskId,
        incarnation,
        command: { shell: true, value: scriptOf(kind), arguments: [] },
        environment: { STARTS: join(starts, taskId), NOTES: join(starts, `${taskId}.notes`), OWN_NAME: taskId },
      }),
    commandOf: (name, taskId) => ({ taskId, name, timestamp: Date.now(), options: [] }),
    starts: (taskId) => linesOf(join(starts, taskId)).length,
    noted: (taskId) => linesOf(join(starts, `${taskId}.notes`)),
    occupyPort,
    until: async (what, condition) => void (await waitFor(what, condition, { timeoutMillis: 15_000, everyMillis: 5 })),
    pause: () => delay(300),
    close: () => cluster.close(),
  };
}

describeClusterDriver('local', localHarness);
describeTaskCare('local', localHarness);
describePrograms('local', localHarness);

test('a launch that the line holds back starts nothing when it comes after it was withdrawn', async () => {
  const cluster = await AgentCluster.start();
  onTestFinished(() => cluster.close());
  const { line, driver } = await cluster.driverBehindLine();
  const spec = cluster.spec({ command: { shell: true, value: 'exec sleep 600', arguments: [] } });
  line.freeze();
  const late = driver.launch([spec], 1);
  await waitFor('the launch to be on its way', () => line.connections > 0);
  expect(await cluster.driver.withdraw([spec.taskId], spec.slaveId, 1)).toEqual([spec.taskId]);
  line.restore();
  expect(await late).toMatchObject([{ taskId: spec.taskId, outcome: 'REFUSED' }]);
  expect(cluster.processes()).toEqual([]);
  // Nothing is heard of what cannot be asked, and so nothing is given to another.
  line.cut();
  expect(await driver.withdraw([spec.taskId], spec.slaveId, 1)).toEqual([]);
});

test('a machine is heard for as long as its agent answers, even when it has nothing to tell', async () => {
  const cluster = await AgentCluster.start();
  onTestFinished(() => cluster.close());
  const silentFor = () => cluster.driver.machines()[0]!.silentForMillis;
  let longest = 0;
  await waitFor('it to be heard again after seconds', () => {
    const isHeardAgain = silentFor() < longest && longest > 2_000;
    longest = Math.max(longest, silentFor());
    return isHeardAgain;
  });
  await cluster.stopAgent();
  // Two questions later nothing more was heard.
  await waitFor('its silence', () => silentFor() > 9_000, { timeoutMillis: 15_000 });
});

test('all machines of an agent are shown before any of them is told, and to the end of a start', async () => {
  const slaves = Array.from({ length: 14 }, (_, index) => ({ ...testSlave, id: `s${index}` }));
  const cluster = await AgentCluster.start({ slaves });
  onTestFinished(() => cluster.close());
  const successor = cluster.newDriver();
  const shown: number[] = [];
  await successor.start(
    2,
    {
      machines: async (agents) => {
        shown.push(successor.machines().length);
        await delay(20);
        shown.push(successor.machines().length, agents.flatMap(({ machines }) => machines).length);
      },
      machineDown: async () => undefined,
      statusUpdates: async () => undefined,
      outranked: () => undefined,
    },
    async () => undefined,
  );
  expect(shown).toEqual([14, 14, 14]);
});

test('a start ends what an earlier one began, whose events come no more', async () => {
  const cluster = await AgentCluster.start();
  onTestFinished(() => cluster.close());
  const later = cluster.seen.copy();
  await cluster.driver.start(1, later, later.appliedUpdate);
  const spec = await cluster.launch('exit 0');
  await waitFor('the end', () => later.statesOf(spec.taskId).includes('TASK_FINISHED'), { timeoutMillis: 15_000 });
  expect(cluster.seen.statesOf(spec.taskId)).toEqual([]);
  await cluster.driver.stop();
});

test.each([600_000, -600_000])(
  'what a machine tells is in the time of the scheduler, also when its clock is set by %i ms while it is followed',
  async (by) => {
    const cluster = await AgentCluster.start();
    onTestFinished(() => cluster.close());
    let ahead = 0;
    // To this clock, that of the agent is set the other way.
    const now = () => Date.now() + ahead;
    const driver = new LocalDriver({ agentDirectory: cluster.root, log: cluster.log, now });
    const seen = cluster.seen.copy();
    await driver.start(2, seen, seen.appliedUpdate);
    onTestFinished(() => driver.stop());
    ahead = by;
    const ends: number[] = [];
    for (const round of [1, 2]) {
      const spec = cluster.spec({ command: { shell: true, value: 'exit 0', arguments: [] } });
      await driver.launch([spec], 2);
      const ofEnd = () => seen.updates.find(({ taskId, state }) => taskId === spec.taskId && state === 'TASK_FINISHED');
      const { timestamp } = await waitFor(`the end of task ${round}`, ofEnd, { timeoutMillis: 15_000 });
      ends.push(Math.abs(timestamp - now()));
    }
    expect(ends[1]).toBeLessThan(60_000);
    expect(driver.machines()[0]!.silentForMillis).toBeLessThan(25_000);
  },
);
