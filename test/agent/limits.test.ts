import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { Cgroups } from '../../src/agent/cgroups/cgroups.js';
import { readMounts } from '../../src/agent/cgroups/mounts.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { waitFor } from '../support/wait-for.js';

const name = `muster-test-${process.pid}`;
const cgroups = Cgroups.probe(name, readMounts());
const probed = cgroups.missing;
if (probed) console.log(`Limits that this machine does not have are not tested: ${probed}`);

let cluster: AgentCluster;
beforeAll(async () => (cluster = await AgentCluster.start()));
afterAll(async () => {
  await cluster.close();
  await cgroups.removeAll();
});

describe.skipIf(probed?.includes('memory'))('memory', () => {
  /** Fills memory page by page until it is ended. */
  const glutton = `node -e 'const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))'`;

  test('beyond the limit ends the task, and the reason is told', async () => {
    const spec = await cluster.launch(`exec ${glutton}`, { memoryMb: 120 });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Memory limit exceeded: 120 MB');
    const end = cluster.seen.updates.find((update) => update.taskId === spec.taskId && update.state === 'TASK_FAILED');
    expect(end?.reason).toBe('REASON_CONTAINER_LIMITATION_MEMORY');
  });

  test('of a child beyond the limit ends the whole task', async () => {
    const spec = await cluster.launch(`${glutton}; echo the child is gone; sleep 600`, { memoryMb: 120 });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('Memory limit exceeded');
  });

  test('is counted by the kernel', async () => {
    const spec = await cluster.launch(
      `exec node -e 'const all = Buffer.alloc(60 << 20, 1); setInterval(() => all, 1e6); console.log(1)'`,
      { memoryMb: 300 },
    );
    const figures = await waitFor('its memory to be in use', async () => {
      const present = await cluster.driver.statistics(spec.taskId, 's1');
      return present && present.memAnonBytes > 60 << 20 && present;
    });
    expect(figures.memLimitBytes).toBe(300 * 1024 * 1024);
    expect(figures.memTotalBytes).toBeLessThan(300 << 20);
  });
});

describe.skipIf(probed?.includes('cpu'))('cpu', () => {
  test('beyond a hard limit is not given', async () => {
    const busy = 'while :; do :; done';
    const spec = await cluster.launch(`(${busy}) & (${busy}) & (${busy}) & wait`, { cpuHardLimit: 0.1 });
    const throttled = await waitFor('throttling', async () => {
      const figures = await cluster.driver.statistics(spec.taskId, 's1');
      return figures && figures.cpusNrThrottled > 2 && figures.cpusUserTimeSecs > 0 ? figures : undefined;
    });
    expect(throttled.cpusNrPeriods).toBeGreaterThanOrEqual(throttled.cpusNrThrottled);
    expect(throttled.cpusThrottledTimeSecs).toBeGreaterThan(0);
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
  });
});

test('groups of ended tasks are removed', async () => {
  const spec = await cluster.run('exit 0');
  const key = await import('../../src/agent/state/agent-directory.js').then(({ AgentDirectory }) =>
    AgentDirectory.open(cluster.root),
  );
  const groups = Cgroups.probe(`muster-${key.key}`, readMounts());
  await waitFor('the removal', () => !groups.names().includes(spec.taskId));
});

describe('without cgroups', () => {
  test('the agent says once what is missing, and figures come from /proc', async () => {
    const plain = await AgentCluster.start({ settings: { cgroups: 'off' } });
    try {
      expect(plain.log.lines.filter((line) => line.startsWith('cgroups'))).toEqual([
        'cgroups: tasks have no cpu and no memory limit',
      ]);
      const spec = await plain.launch(`echo some bytes; while [ ! -e enough ]; do :; done`, { diskMb: 5 });
      const figures = await waitFor('figures', async () => {
        const seen = await plain.driver.statistics(spec.taskId, 's1');
        return seen && seen.cpusUserTimeSecs > 0.05 ? seen : undefined;
      });
      expect(figures.memTotalBytes).toBeGreaterThan(0);
      expect(figures.diskUsedBytes).toBeGreaterThan(0);
      expect(figures.diskLimitBytes).toBe(5 * 1024 * 1024);
      expect(Math.abs(figures.timestamp - Date.now() / 1000)).toBeLessThan(10);
    } finally {
      await plain.close();
    }
    expect(existsSync(plain.root)).toBe(false);
  });
});
