import { cpus, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pidsOfTask } from '../../e2e/support/processes.js';
import { waitFor } from '../../support/wait-for.js';
import { installAudit, type LateWrite, writesOf } from './audit.js';
import { actAsLeaderOf } from './former-leader.js';
import { type BusyOutcome, keepBusy, survived } from './busy-machine.js';
import { Load } from './load.js';
import { scenarios, type Scenario } from './scenarios.js';
import { readiness, Stage } from './stage.js';

const warmUpMillis = 3_000;
const settleMillis = 60_000;

interface Outcome {
  fault: string;
  limitMillis: number;
  /** From the fault until a run that was asked for after it started. */
  othersFirstStartMillis: number;
  /** From the fault until the other one said that it leads. */
  othersLeadMillis: number;
  runsAccepted: number;
  lost: number;
  doubled: number;
  workersReplaced: number;
  /** Rows that only leaders write, by the former leader since it was started: all, and those while another one held the lease. */
  writes: number;
  lateWrites: LateWrite[];
  refusedWrite: string;
  refusedLaunch: string;
}

/** Answers the exit code: 0 when every fault was survived as it must be. */
export async function runFailovers(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      'stop-seconds': { type: 'string', default: '60' },
      'cut-seconds': { type: 'string', default: '10' },
      'busy-minutes': { type: 'string', default: '5' },
      faults: { type: 'string' },
    },
  });
  const plan = scenarios({
    stopMillis: Number(values['stop-seconds']) * 1_000,
    cutMillis: Number(values['cut-seconds']) * 1_000,
  }).slice(0, Number(values.faults ?? Number.POSITIVE_INFINITY));
  const stage = await Stage.build();
  // After an interrupt there is nothing left to clean up by hand.
  process.on('SIGTERM', () => void stage.close().finally(() => process.exit(1)));
  const silent = new Set<string>();
  const load = new Load(stage.installation.dataDir, () =>
    stage.players.filter(({ name }) => !silent.has(name)).map(({ instance }) => instance.api),
  );
  const outcomes: Outcome[] = [];
  try {
    await installAudit(stage.client);
    await load.prepare(stage.players[0]!.instance.api);
    load.start();
    await delay(warmUpMillis);
    for (const scenario of plan) outcomes.push(await play(scenario, stage, load, silent));
    const minutes = Number(values['busy-minutes']);
    const busy = minutes > 0 ? await keepBusy(stage, load, minutes) : undefined;
    await load.stop();
    return report(outcomes, busy);
  } catch (cause) {
    report(outcomes, undefined);
    for (const { name, instance } of stage.players) console.error(`--- ${name}\n${instance.output.slice(-5_000)}`);
    throw cause;
  } finally {
    await load.stop();
    await stage.close();
  }
}

async function play(scenario: Scenario, stage: Stage, load: Load, silent: Set<string>): Promise<Outcome> {
  const { leader, other } = await stage.roles();
  const epoch = await stage.epoch();
  const workers = load.workersStarted();
  if (scenario.silences) silent.add(leader.name);
  const struckAt = Date.now();
  await scenario.strike({ leader, other });
  const leading = waitFor('the other to lead', async () => (await readiness(other))?.leads && Date.now(), {
    timeoutMillis: 60_000,
  });
  const started = waitFor('a start', () => load.firstStartOfRunsAskedSince(struckAt), { timeoutMillis: 60_000 });
  const [leadsAt, startedAt] = await Promise.all([leading, started]);
  const refusals = await actAsLeaderOf(epoch, {
    databaseUrl: stage.databaseUrl,
    dataDir: stage.installation.dataDir,
  });
  await delay(Math.max(0, struckAt + scenario.lastsMillis - Date.now()));
  await scenario.recover(leader, stage);
  silent.delete(leader.name);
  await waitFor('both to answer', async () => {
    const answers = await Promise.all(stage.players.map(readiness));
    return answers.every((answer) => answer !== undefined);
  });
  // The former leader has had the time to do harm.
  await delay(warmUpMillis);
  const until = Date.now();
  await waitFor('the answers to all that was asked before', () => load.isAnswered(until));
  const asked = () => load.accepted(struckAt).filter(({ askedAt }) => askedAt < until);
  const lost = () => load.lost(struckAt).filter(({ askedAt }) => askedAt < until);
  await waitFor('all runs to have started', () => lost().length === 0, { timeoutMillis: settleMillis }).catch(
    () => undefined,
  );
  const running = load.workersStarted().filter((id) => pidsOfTask(id).length > 0);
  const writes = await writesOf(stage.client, leader.instance, stage.nameOf(leader.instance));
  return {
    fault: scenario.fault,
    limitMillis: scenario.limitMillis,
    othersFirstStartMillis: startedAt - struckAt,
    othersLeadMillis: leadsAt - struckAt,
    runsAccepted: asked().length,
    lost: lost().length + workers.filter((id) => !running.includes(id)).length,
    doubled: load.doubled().length + Math.max(0, running.length - load.workers),
    workersReplaced: running.filter((id) => !workers.includes(id)).length,
    writes: writes.all,
    lateWrites: writes.late,
    refusedWrite: refusals.write,
    refusedLaunch: refusals.launch,
  };
}

const isGood = (outcome: Outcome): boolean =>
  outcome.othersFirstStartMillis <= outcome.limitMillis &&
  outcome.runsAccepted > 0 &&
  outcome.lost + outcome.doubled + outcome.workersReplaced + outcome.lateWrites.length === 0 &&
  outcome.refusedWrite.startsWith('refused') &&
  outcome.refusedLaunch.startsWith('409');

function report(outcomes: readonly Outcome[], busy: BusyOutcome | undefined): number {
  const seconds = (millis: number): string => `${(millis / 1_000).toFixed(1)} s`;
  console.table(
    Object.fromEntries(
      outcomes.map((outcome) => [
        outcome.fault,
        {
          'other leads': seconds(outcome.othersLeadMillis),
          'other schedules': seconds(outcome.othersFirstStartMillis),
          limit: seconds(outcome.limitMillis),
          'runs accepted': outcome.runsAccepted,
          lost: outcome.lost,
          doubled: outcome.doubled,
          'late writes': `${outcome.lateWrites.length} of ${outcome.writes}`,
          'old write': outcome.refusedWrite,
          'old launch': outcome.refusedLaunch,
          good: isGood(outcome),
        },
      ]),
    ),
  );
  const machine = {
    cpus: cpus().length,
    model: cpus()[0]?.model,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  if (busy) console.table({ 'a busy machine': { ...busy, load: busy.load.toFixed(1), good: survived(busy) } });
  const good = outcomes.every(isGood) && (!busy || survived(busy));
  console.log(JSON.stringify({ bench: 'failover', unit: 'ms', good, outcomes, busy, machine }));
  return good ? 0 : 1;
}
