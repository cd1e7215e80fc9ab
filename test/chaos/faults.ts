import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killNow, workersOf } from '../e2e/support/processes.js';
import { muster } from '../e2e/support/muster-command.js';
import { Clock } from './clock.js';
import type { ChaosOptions } from './options.js';
import type { Player, Stage } from './stage.js';

const wrongBySeconds = 600;

/** One way in which the cluster is disturbed, and what may come of it. */
export interface Fault {
  name: string;
  /** Strikes, lasts, and is over when it resolves. */
  act(stage: Stage): Promise<unknown>;
  /** Whether another term begins with it. */
  changesLeader: 'YES' | 'NO' | 'MAYBE';
  /** Whether tasks of services may be replaced that nobody touched. */
  replaces?: boolean;
  /** Whether processes of tasks are killed by it. */
  killsTasks?: boolean;
  /** Whether runs go on to be accepted and started: a pause beyond `longestStallSeconds` is a failure. */
  worksOn?: boolean;
  /** It needs clocks that can be set. */
  setsClocks?: boolean;
  /** Why this machine cannot have it; undefined: it can. */
  whyNot?(stage: Stage): string | undefined;
}

const seconds = (count: number): Promise<void> => delay(count * 1_000);

async function frozen(player: Player, count: number): Promise<void> {
  player.instance.signal('SIGSTOP');
  try {
    await seconds(count);
  } finally {
    player.instance.signal('SIGCONT');
  }
}

async function killed(stage: Stage, player: Player): Promise<void> {
  player.isHeld = true;
  await player.instance.kill9();
  await seconds(2);
  await stage.restart(player);
}

async function restarted(stage: Stage, players: readonly Player[]): Promise<void> {
  for (const player of players) player.isHeld = true;
  await Promise.all(players.map(({ instance }) => instance.stop()));
  await Promise.all(players.map((player) => stage.restart(player)));
  await Promise.all(players.map(({ instance }) => instance.ready()));
}

async function clockOff(clock: Clock, by: number, count: number): Promise<void> {
  clock.set(by);
  try {
    await seconds(count);
  } finally {
    clock.set(0);
  }
}

const agentCut = (name: string, side: 'client' | 'server' | 'both', count: number, replaces: boolean): Fault => ({
  name,
  changesLeader: 'NO',
  replaces,
  act: async ({ agentLine }) => {
    agentLine.swallow(side);
    try {
      await seconds(count);
    } finally {
      agentLine.restore();
    }
  },
});

const leaderStopped = (count: number): Fault => ({
  name: `leader_stop${count}`,
  changesLeader: 'YES',
  act: async (stage) => frozen(await stage.leader(), count),
});

/** Of the leader, the agent and the database: ten minutes ahead or behind, for a while, and then set right. */
const clockFaults = (lasts: number): Fault[] =>
  [
    { side: 'ahead', by: wrongBySeconds },
    { side: 'behind', by: -wrongBySeconds },
  ].flatMap(({ side, by }) => {
    const common = { setsClocks: true, worksOn: true, whyNot: () => (Clock.available ? undefined : 'no libfaketime') };
    const fault = (who: string, changesLeader: Fault['changesLeader'], act: Fault['act']): Fault => ({
      ...common,
      name: `clock_${who}_${side}`,
      changesLeader,
      act,
    });
    return [
      fault('leader', 'NO', async (stage) => clockOff((await stage.leader()).clock!, by, lasts)),
      fault('agent', 'NO', (stage) => clockOff(stage.agentClock!, by, lasts)),
      // The lease ends, or does not, by this clock.
      fault('database', 'MAYBE', (stage) => clockOff(stage.databaseClock!, by, lasts)),
    ];
  });

async function busy(count: number): Promise<void> {
  const programs: ChildProcess[] = [];
  try {
    // A loop of a shell, so that neither this program nor its clock takes part.
    for (let n = 0; n < 4 * cpus().length; n++)
      programs.push(spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }));
    await seconds(count);
  } finally {
    for (const program of programs) program.kill('SIGKILL');
  }
}

/** The line carries for three seconds, then not for two, and breaks what is open each time. */
async function flaky({ agentLine }: Stage): Promise<void> {
  for (let turn = 0; turn < 6; turn++) {
    agentLine.cut();
    await seconds(2);
    agentLine.restore();
    await seconds(3);
  }
}

/** Parents of tasks: processes that hold the folder of a task among their words. */
function shims({ installation }: Stage): number[] {
  const tasks = join(installation.dataDir, 'agent', 'tasks');
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(tasks);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function backUp({ installation, database }: Stage): Promise<void> {
  const env = { MUSTER_DATA_DIR: installation.dataDir, DATABASE_URL: database.url };
  const { code, err } = await muster(['backup', join(installation.dataDir, `backup-${Date.now()}`)], { env });
  if (code !== 0) throw new Error(`muster backup failed: ${err}`);
}

export const allFaults = ({ reregister, clockSeconds }: ChaosOptions): Fault[] => [
  {
    name: 'leader_kill9',
    changesLeader: 'YES',
    act: async (stage) => killed(stage, await stage.leader()),
  },
  leaderStopped(5),
  leaderStopped(20),
  leaderStopped(90),
  {
    name: 'leader_line_freeze',
    changesLeader: 'YES',
    act: async (stage) => {
      const { line } = await stage.leader();
      line.freeze();
      await seconds(15);
      line.restore();
    },
  },
  {
    name: 'follower_kill9',
    changesLeader: 'NO',
    worksOn: true,
    act: async (stage) => killed(stage, await stage.follower()),
  },
  {
    name: 'worker_kill9',
    // The process that schedules starts another one.
    changesLeader: 'NO',
    worksOn: true,
    act: async (stage) => {
      const [worker] = workersOf(stage.players[0]!.instance.pid);
      if (worker !== undefined) killNow([worker]);
      await seconds(2);
    },
    whyNot: ({ players }) => (workersOf(players[0]!.instance.pid).length > 0 ? undefined : 'no API workers'),
  },
  { name: 'graceful_restart', changesLeader: 'YES', act: (stage) => restarted(stage, stage.players) },
  {
    name: 'rolling_restart',
    changesLeader: 'MAYBE',
    act: async (stage) => {
      for (const player of stage.players) await restarted(stage, [player]);
    },
  },
  { name: 'agent_kill9', changesLeader: 'NO', act: (stage) => stage.agentDown(2) },
  {
    name: 'agent_stop60',
    changesLeader: 'NO',
    replaces: reregister <= 60,
    act: async (stage) => {
      stage.signalAgent('SIGSTOP');
      try {
        await seconds(60);
      } finally {
        stage.signalAgent('SIGCONT');
      }
    },
  },
  agentCut('agent_cut30', 'both', 30, reregister <= 30),
  agentCut('agent_cut180', 'both', 180, reregister <= 180),
  agentCut('agent_cut_short', 'both', reregister / 2, false),
  agentCut('agent_cut_long', 'both', reregister * 1.2 + 5, true),
  agentCut('agent_deaf_long', 'client', reregister * 1.2 + 5, true),
  agentCut('agent_mute_long', 'server', reregister * 1.2 + 5, true),
  { name: 'agent_flaky', changesLeader: 'NO', act: flaky },
  {
    name: 'shim_kill',
    changesLeader: 'NO',
    worksOn: true,
    killsTasks: true,
    replaces: true,
    act: async (stage) => {
      killNow(shims(stage).slice(0, 3));
      await seconds(5);
    },
  },
  {
    name: 'pg_kill9',
    changesLeader: 'MAYBE',
    act: ({ database }) =>
      database.down(async () => {
        database.signal('SIGKILL');
        await seconds(1);
      }),
  },
  {
    name: 'pg_restart',
    changesLeader: 'MAYBE',
    act: ({ database }) => database.down(() => database.stop('fast')),
  },
  { name: 'pg_stop20', changesLeader: 'MAYBE', act: ({ database }) => database.frozen(20) },
  { name: 'pg_maxconn', changesLeader: 'MAYBE', act: ({ database }) => database.exhausted(15) },
  {
    name: 'pg_failover',
    changesLeader: 'MAYBE',
    act: async (stage) => {
      await stage.database.failOver();
      stage.followDatabase();
    },
    whyNot: ({ database }) => database.whyNoFailover(),
  },
  {
    name: 'pg_diskfull',
    changesLeader: 'MAYBE',
    act: ({ database }) => database.full(20),
    whyNot: ({ database }) => database.whyNotFull(),
  },
  ...clockFaults(clockSeconds),
  { name: 'busy', changesLeader: 'NO', act: () => busy(30) },
  { name: 'backup', changesLeader: 'NO', worksOn: true, act: backUp },
  {
    name: 'reboot',
    changesLeader: 'YES',
    replaces: true,
    killsTasks: true,
    act: (stage) => stage.reboot(),
  },
];
