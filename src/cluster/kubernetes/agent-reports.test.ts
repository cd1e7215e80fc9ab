import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.js';
import type { LeaderPodAgent } from '../../pod-agent/pod-agent-api.js';
import { AgentUnreachable } from '../agent-answers.js';
import { type ClusterEvents, StaleEpochError, type StatusUpdate } from '../cluster-driver.js';
import { AgentReports } from './agent-reports.js';
import type { NodeAgents } from './node-agents.js';

const report = (number: number): StatusUpdate => ({
  agentId: 'n1',
  incarnation: 'i',
  number,
  taskId: 'a',
  slaveId: 'n1',
  state: 'TASK_RUNNING',
  timestamp: number,
  shellCommand: { name: 'ls', timestamp: 1, updateType: 'ACKED' },
});

/** The agent of one node, of which the test says what it tells, and a leader that follows it. */
function scene() {
  const agent = {
    log: [] as StatusUpdate[],
    overDisk: [] as { taskId: string; podName: string; diskMb: number }[],
    overThreads: undefined as { taskId: string; podName: string; seen: number; limit: number }[] | undefined,
    /** Error with which its operations fail. */
    failure: undefined as Error | undefined,
    acknowledged: [] as number[],
    ended: [] as string[],
    upTo: 0,
  };
  const seen = { told: [] as number[], refuse: 0, overLimit: [] as string[], stale: undefined as unknown };
  const orFail = <T>(answer: T): T => {
    if (agent.failure) throw agent.failure;
    return answer;
  };
  const api = {
    hello: async () => orFail({ agentId: 'n1', incarnation: 'i' }),
    ended: async ({ taskIds }: { taskIds: string[] }) => {
      agent.ended.push(...taskIds);
      return orFail({ upTo: agent.upTo });
    },
    updates: async (
      { after, waitMillis }: { after: number; waitMillis: number },
      { signal }: { signal: AbortSignal },
    ) => {
      agent.acknowledged.push(after);
      const news = () => agent.log.filter(({ number }) => number > after);
      await waitFor('news', () => news().length > 0 || waitMillis === 0 || signal.aborted || agent.failure);
      const { overDisk, overThreads } = agent;
      return orFail({ incarnation: 'i', updates: news(), overDisk, overThreads, isDiskFull: false });
    },
  } as unknown as LeaderPodAgent;
  const one = { askAsLeader: (_epoch: number, question: (asked: LeaderPodAgent) => Promise<unknown>) => question(api) };
  const events = {
    statusUpdates: async (updates: readonly StatusUpdate[]) => {
      if (seen.refuse-- > 0) throw new Error('the database is away');
      expect(updates.every(({ number }) => number === 0)).toBe(true);
      seen.told.push(...updates.map(({ timestamp }) => timestamp));
    },
  } as unknown as ClusterEvents;
  const stopping = new AbortController();
  const news = new AgentReports(
    {
      agents: { nodes: () => ['n1'], of: () => one } as unknown as NodeAgents,
      epoch: 1,
      events,
      overLimit: async (podName, { annotation, value }) =>
        void seen.overLimit.push(`${podName} ${annotation}=${value}`),
      changed: () => undefined,
      failed: (cause) => (seen.stale = cause),
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    },
    stopping.signal,
  );
  onTestFinished(async () => {
    stopping.abort();
    await news.stopped();
  });
  return { agent, seen, news };
}

test('what an agent reports is acknowledged when it is stored, and told again where it was not', async () => {
  const { agent, seen, news } = scene();
  agent.log.push(report(3), report(4));
  seen.refuse = 1;
  news.follow();
  await waitFor('the reports', () => seen.told.length === 2);
  await waitFor('the acknowledgement', () => agent.acknowledged.includes(4));
  expect(seen.told).toEqual([3, 4]);
  expect(agent.acknowledged).toEqual([0, 0, 4]);
});

test('ends wait for what their agent has to say before them', async () => {
  const { agent, seen, news } = scene();
  news.follow();
  await waitFor('the agent to be heard', () => agent.acknowledged.length >= 2);
  agent.upTo = 7;
  const settled = news.settle('n1', ['a', 'b']).then(() => seen.told.length);
  await waitFor('it to be told', () => agent.ended.length === 2);
  agent.log.push(report(7));
  expect(await settled).toBe(1);
  expect(agent.ended).toEqual(['a', 'b']);
});

test('an agent that does not answer holds up no end, and is told of them when it does', async () => {
  const { agent, news } = scene();
  agent.failure = new AgentUnreachable('away');
  news.follow();
  await news.settle('n1', ['a']);
  agent.failure = undefined;
  await waitFor('it to be told', () => agent.ended.includes('a'));
});

test('an agent whose node was gone is told of tasks that end after it, and of none from before', async () => {
  const { agent, news } = scene();
  agent.failure = new AgentUnreachable('away');
  news.follow();
  await news.settle('n1', ['before']);
  news.forget((node) => node === 'n1');
  await news.settle('n1', ['after']);
  agent.ended = [];
  agent.failure = undefined;
  await waitFor('it to be told', () => agent.ended.length > 0);
  expect(agent.ended).toEqual(['after']);
});

test('a task that takes more than it may is told each time, and an epoch that is over ends it all', async () => {
  const { agent, seen, news } = scene();
  agent.overDisk.push({ taskId: 'a', podName: 'pod-of-a', diskMb: 5 });
  agent.overThreads = [{ taskId: 'b', podName: 'pod-of-b', seen: 12, limit: 10 }];
  news.follow();
  for (const told of ['pod-of-a muster/over-disk=5', 'pod-of-b muster/over-threads=12, limit 10'])
    await waitFor('it to be told', () => seen.overLimit.includes(told));
  agent.failure = new StaleEpochError(1, 2);
  await waitFor('the end', () => seen.stale === agent.failure);
});

test('all who wait for reports about ended tasks go on when those are stored', async () => {
  const { agent, news } = scene();
  news.follow();
  await waitFor('the first answer', () => agent.acknowledged.length > 1);
  agent.upTo = 3;
  let waiting = 2;
  const waits = ['a', 'b'].map((taskId) => news.settle('n1', [taskId]).then(() => (waiting -= 1)));
  await waitFor('their questions', () => agent.ended.includes('b'));
  agent.log.push(report(3));
  // Neither gives up within this time.
  await waitFor('both', () => waiting === 0, { timeoutMillis: 2_000 });
  await Promise.all(waits);
});
