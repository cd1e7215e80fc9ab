import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { AgentCluster, occupyPort } from '../support/agent-cluster.js';
import { describeClusterDriver, type DriverHarness, type TaskKind } from '../support/describe-cluster-driver.js';
import { waitFor } from '../support/wait-for.js';

/** First of all the task notes that it was started; so could a second start of it, which would have another user. */
const scriptOf = (kind: TaskKind): string => {
  const note = 'umask 0; echo started >>"$STARTS"; umask 022';
  if (kind === 'RUNS') return `${note}; exec sleep 600`;
  if (kind === 'RUNS_AND_IGNORES_SIGTERM') return `trap '' TERM; ${note}; while :; do sleep 600; done`;
  return `${note}; printf '${kind.prints ?? ''}'; exit ${kind.exit}`;
};

describeClusterDriver('local', async (): Promise<DriverHarness> => {
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
        environment: { STARTS: join(starts, taskId) },
      }),
    commandOf: (name, taskId) => ({ taskId, name, timestamp: Date.now(), options: [] }),
    starts: (taskId) => {
      try {
        return readFileSync(join(starts, taskId), 'utf8').trim().split('\n').length;
      } catch {
        return 0;
      }
    },
    occupyPort,
    until: async (what, condition) => void (await waitFor(what, condition, { timeoutMillis: 15_000, everyMillis: 5 })),
    pause: () => delay(300),
    close: () => cluster.close(),
  };
});

test('a launch that the line holds back starts nothing when it comes after it was withdrawn', async () => {
  const cluster = await AgentCluster.start();
  onTestFinished(() => cluster.close());
  const { line, driver } = await cluster.driverBehindLine();
  const spec = cluster.spec({ command: { shell: true, value: 'exec sleep 600', arguments: [] } });
  line.freeze();
  const late = driver.launch([spec], 1);
  await waitFor('the launch to be on its way', () => line.connections.length > 0);
  expect(await cluster.driver.withdraw([spec.taskId], spec.slaveId, 1)).toEqual([spec.taskId]);
  line.restore();
  expect(await late).toMatchObject([{ taskId: spec.taskId, outcome: 'REFUSED' }]);
  expect(cluster.processes()).toEqual([]);
  // Nothing is heard of what cannot be asked, and so nothing is given to another.
  line.cut();
  expect(await driver.withdraw([spec.taskId], spec.slaveId, 1)).toEqual([]);
});

test('a machine is seen for as long as its agent answers, even when it has nothing to tell', async () => {
  const cluster = await AgentCluster.start();
  onTestFinished(() => cluster.close());
  const seenAt = () => cluster.driver.machines()[0]!.seenAt;
  const first = seenAt();
  await waitFor('it to be heard again', () => seenAt() > first + 2_000);
  await cluster.stopAgent();
  // Two questions later nothing more was heard.
  const last = seenAt();
  await delay(9_000);
  expect(seenAt()).toBe(last);
});
