import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, join } from 'node:path';
import { killNow, workersOf } from '../e2e/support/processes.js';
import { muster } from '../e2e/support/muster-command.js';
import { Clock } from './clock.js';
import type { ChaosOptions } from './options.js';
import type { Player, Stage } from './stage.js';

const wrongBySeconds = 600;

/** Tasks whose processes a fault has killed. */
export interface Killed {
  /** Whatever ran while it struck. */
  all: boolean;
  taskIds: Set<string>;
}

/** One way in which the cluster is disturbed, and what may come of it. */
export interface Fault {
  name: string;
  /** Strikes, lasts, and is over when it resolves. */
  act(stage: Stage, killed: Killed): Promise<unknown>;
  /** Terms that begin with it: fewest, most. */
  terms: readonly [number, number];
  /** True if runs go on to be accepted and started: a pause beyond `longestStallSeconds` is a failure. */
  worksOn?: boolean;
  /** It needs clocks that can be set. */
  setsClocks?: boolean;
  /** Reason why this machine cannot have it; undefined: it can. */
  whyNot?(stage: Stage): string | undefined;
}

async function frozen(stage: Stage, player: Player, count: number): Promise<void> {
  player.instance.signal('SIGSTOP');
  try {
    await stage.pause(count);
  } finally {
    player.instance.signal('SIGCONT');
  }
}

async function killed(stage: Stage, player: Player): Promise<void> {
  player.isHeld = true;
  await player.instance.kill9();
  await stage.pause(2);
  await stage.restart(player);
}

async function restarted(stage: Stage, players: readonly Player[]): Promise<void> {
  for (const player of players) player.isHeld = true;
  await Promise.all(players.map(({ instance }) => instance.stop()));
  await Promise.all(players.map((player) => stage.restart(player)));
  await stage.ready(players);
}

async function clockOff(stage: Stage, clock: Clock, by: number, count: number): Promise<void> {
  clock.set(by);
  try {
    await stage.pause(count);
  } finally {
    clock.set(0);
  }
}

/** Tasks that live on without their agent being heard are still there when it is heard again: none is replaced. */
const agentCut = (name: string, side: 'client' | 'server' | 'both', count: number): Fault => ({
  name,
  terms: [0, 0],
  act: async (stage) => {
    const { agentLine } = stage;
    agentLine.swallow(side);
    try {
      await stage.pause(count);
    } finally {
      agentLine.restore();
    }
  },
});

const leaderStopped = (count: number): Fault => ({
  name: `leader_stop${count}`,
  terms: [1, 1],
  act: async (stage) => frozen(stage, await stage.leader(), count),
});

/**
 * Faults of the clocks of the leader, the agent and the database: ten minutes ahead or behind, for a while, and then
 * set right.
 */
const clockFaults = (lasts: number): Fault[] =>
  [
    { side: 'ahead', by: wrongBySeconds },
    { side: 'behind', by: -wrongBySeconds },
  ].flatMap(({ side, by }) => {
    const common = { setsClocks: true, worksOn: true, whyNot: () => (Clock.available ? undefined : 'no libfaketime') };
    const fault = (who: string, terms: Fault['terms'], act: Fault['act']): Fault => ({
      ...common,
      name: `clock_${who}_${side}`,
      terms,
      act,
    });
    return [
      fault('leader', [0, 0], async (stage) => clockOff(stage, (await stage.leader()).clock!, by, lasts)),
      fault('agent', [0, 0], (stage) => clockOff(stage, stage.agentClock!, by, lasts)),
      // A term each time that it is set. Backends show the new time up to a second apart, which looks as if it was set once more.
      fault('database', [0, 4], (stage) => clockOff(stage, stage.databaseClock!, by, lasts)),
    ];
  });

async function busy(stage: Stage, count: number): Promise<void> {
  const programs: ChildProcess[] = [];
  try {
    // A loop of a shell, so that neither this program nor its clock takes part.
    for (let n = 0; n < 4 * cpus().length; n++)
      programs.push(spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }));
    await stage.pause(count);
  } finally {
    for (const program of programs) program.kill('SIGKILL');
  }
}

/** The line carries for three seconds, then not for two, and breaks what is open each time. */
async function flaky(stage: Stage): Promise<void> {
  for (let turn = 0; turn < 6; turn++) {
    stage.agentLine.cut();
    await stage.pause(2);
    stage.agentLine.restore();
    await stage.pause(3);
  }
}

/** Parents of tasks: a shell that runs the agent's script with the folder of a task. */
function shims({ installation }: Stage): { pid: number; taskId: string }[] {
  const agent = join(installation.dataDir, 'agent');
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const [, script, folder] = wordsOf(pid);
      const isShim = script === join(agent, 'bin', 'shim.sh') && folder?.startsWith(join(agent, 'tasks'));
      return isShim ? [{ pid: Number(pid), taskId: basename(folder!) }] : [];
    });
}

function wordsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
  } catch {
    return [];
  }
}

/** Three tasks that have told that they began. */
async function killShims(stage: Stage, killed: Killed): Promise<void> {
  const begun = new Set(stage.records.read().map(({ taskId }) => taskId));
  const chosen = shims(stage)
    .filter(({ taskId }) => begun.has(taskId))
    .slice(-3);
  if (chosen.length === 0) throw new Error('There is no shim');
  for (const { taskId } of chosen) killed.taskIds.add(taskId);
  killNow(chosen.map(({ pid }) => pid));
  await stage.pause(5);
}

async function backUp({ installation, database }: Stage): Promise<void> {
  const env = { MUSTER_DATA_DIR: installation.dataDir, DATABASE_URL: database.url };
  const { code, err } = await muster(['backup', join(installation.dataDir, `backup-${Date.now()}`)], { env });
  if (code !== 0) throw new Error(`muster backup failed: ${err}`);
}

export const allFaults = ({ reregister, clockSeconds, schedulers }: ChaosOptions): Fault[] => [
  {
    name: 'leader_kill9',
    terms: [1, 1],
    act: async (stage) => killed(stage, await stage.leader()),
  },
  leaderStopped(5),
  leaderStopped(20),
  leaderStopped(90),
  {
    name: 'leader_line_freeze',
    terms: [1, 1],
    act: async (stage) => {
      const { line } = await stage.leader();
      line.freeze();
      try {
        await stage.pause(15);
      } finally {
        line.restore();
      }
    },
  },
  {
    name: 'follower_kill9',
    terms: [0, 0],
    worksOn: true,
    act: async (stage) => killed(stage, await stage.follower()),
  },
  {
    name: 'worker_kill9',
    // The process that schedules starts another one.
    terms: [0, 0],
    worksOn: true,
    act: async (stage) => {
      const [worker] = workersOf(stage.players[0]!.instance.pid);
      if (worker !== undefined) killNow([worker]);
      await stage.pause(2);
    },
    whyNot: ({ players }) => (workersOf(players[0]!.instance.pid).length > 0 ? undefined : 'no API workers'),
  },
  { name: 'graceful_restart', terms: [1, schedulers], act: (stage) => restarted(stage, stage.players) },
  {
    name: 'rolling_restart',
    terms: [1, schedulers],
    act: async (stage) => {
      for (const player of stage.players) await restarted(stage, [player]);
    },
  },
  { name: 'agent_kill9', terms: [0, 0], act: (stage) => stage.agentDown(2) },
  {
    name: 'agent_stop60',
    terms: [0, 0],
    act: async (stage) => {
      stage.signalAgent('SIGSTOP');
      try {
        await stage.pause(60);
      } finally {
        stage.signalAgent('SIGCONT');
      }
    },
  },
  agentCut('agent_cut30', 'both', 30),
  agentCut('agent_cut180', 'both', 180),
  agentCut('agent_cut_short', 'both', reregister / 2),
  agentCut('agent_cut_long', 'both', reregister * 1.2 + 5),
  agentCut('agent_deaf_long', 'client', reregister * 1.2 + 5),
  agentCut('agent_mute_long', 'server', reregister * 1.2 + 5),
  { name: 'agent_flaky', terms: [0, 0], act: flaky },
  {
    name: 'shim_kill',
    terms: [0, 0],
    worksOn: true,
    act: killShims,
  },
  {
    name: 'pg_kill9',
    terms: [0, 1],
    act: (stage) =>
      stage.database.down(async () => {
        stage.database.signal('SIGKILL');
        await stage.pause(1);
      }),
  },
  {
    name: 'pg_restart',
    terms: [0, 1],
    act: ({ database }) => database.down(() => database.stop('fast')),
  },
  { name: 'pg_stop20', terms: [0, 1], act: (stage) => stage.database.frozen(() => stage.pause(20)) },
  { name: 'pg_maxconn', terms: [0, 1], act: (stage) => stage.database.exhausted(() => stage.pause(15)) },
  {
    name: 'pg_failover',
    terms: [0, 1],
    act: async (stage) => {
      await stage.database.failOver();
      stage.followDatabase();
    },
    whyNot: ({ database }) => database.whyNoFailover(),
  },
  {
    name: 'pg_diskfull',
    terms: [0, 1],
    act: (stage) => stage.database.full(() => stage.pause(20)),
    whyNot: ({ database }) => database.whyNotFull(),
  },
  ...clockFaults(clockSeconds),
  { name: 'busy', terms: [0, 0], act: (stage) => busy(stage, 30) },
  { name: 'backup', terms: [0, 0], worksOn: true, act: backUp },
  {
    name: 'reboot',
    terms: [1, schedulers],
    act: (stage, killed) => {
      killed.all = true;
      return stage.reboot();
    },
  },
];
