import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/wait-for.js';
import { Clock } from './clock.js';
import { allFaults, type Fault } from './faults.js';
import { Load } from './load.js';
import { type Cost, costOf } from './meter.js';
import { type ChaosOptions, randomOf } from './options.js';
import { uptime } from './records.js';
import { Stage } from './stage.js';
import { askApi, isGood, judge, type Verdict, type Window } from './verdict.js';
import { ProcessWatch } from './watch.js';

/** A pause in acceptance or starts during a fault that leaves everything needed for them at work. */
const longestStallSeconds = 30;
/** After the last fault, until everything that was accepted has come true. */
const settleMillis = 150_000;
/** For calls that were not answered during the last fault. */
const answerSeconds = 60;
const recoverMillis = 120_000;
const undoMillis = 5_000;

export interface ChaosResult {
  verdict: Verdict;
  costs: Cost[];
  stalls: string[];
  /** Terms that began after the first one, and how many of them the faults explain. */
  terms: { begun: number; fewest: number; most: number };
  /** Faults with which more terms began than they explain. */
  flaps: string[];
  skipped: string[];
  failures: string[];
  unexpectedEnds: string[];
  refusals: string[];
  operations: number;
  starts: number;
  seconds: number;
  good: boolean;
}

/** The faults of the names chosen, or all of them. Throws for a name that there is not. */
export function chooseFaults(options: ChaosOptions): Fault[] {
  const { faults: names } = options;
  const all = allFaults(options);
  if (names.length === 0) return all;
  return names.map((name) => {
    const found = all.find((fault) => fault.name === name);
    if (!found) throw new Error(`There is no fault '${name}'. There are: ${all.map((each) => each.name).join(', ')}`);
    return found;
  });
}

/**
 * A cluster under load that faults strike one after the other, and what came of it. `say` takes lines for whoever looks on;
 * an abort ends it early, with a verdict of what there was.
 */
export async function runChaos(
  options: ChaosOptions,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<ChaosResult> {
  const chosen = chooseFaults(options);
  let stage: Stage | undefined;
  signal.addEventListener('abort', () => stage?.interrupt(), { once: true });
  try {
    const hasClocks = Clock.available && chosen.some(({ setsClocks }) => setsClocks);
    const built = Stage.build(options, hasClocks, (begun) => (stage = begun));
    await Promise.race([built, whenAborted(signal)]);
    return await new ChaosRun(options, await built, say, signal).play(chosen);
  } catch (cause) {
    for (const { name, instance } of stage?.players ?? []) say(`--- ${name}\n${instance.output.slice(-3_000)}`);
    throw cause;
  } finally {
    await stage?.close();
  }
}

function whenAborted(signal: AbortSignal): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    const interrupt = (): void => reject(new Error('Interrupted'));
    if (signal.aborted) interrupt();
    else signal.addEventListener('abort', interrupt, { once: true });
  });
  // It may come when nobody waits for it.
  interrupted.catch(() => undefined);
  return interrupted;
}

class ChaosRun {
  private readonly load: Load;
  private readonly watch: ProcessWatch;
  private readonly windows: Window[] = [];
  private readonly struck: Fault[] = [];
  private readonly failures: string[] = [];
  private readonly flaps: string[] = [];
  private readonly random: () => number;
  private readonly aborted: Promise<never>;

  constructor(
    private readonly options: ChaosOptions,
    private readonly stage: Stage,
    private readonly say: (line: string) => void,
    private readonly signal: AbortSignal,
  ) {
    this.load = new Load(options, stage.records, stage.apis);
    this.watch = new ProcessWatch(stage.records, (id) => this.load.services.some((service) => service.id === id));
    this.random = randomOf(options.seed + 1);
    this.aborted = whenAborted(signal);
  }

  async play(chosen: readonly Fault[]): Promise<ChaosResult> {
    const startedAt = uptime();
    const skipped = chosen.flatMap((fault) => {
      const reason = fault.whyNot?.(this.stage);
      return reason === undefined ? [] : [`${fault.name}: ${reason}`];
    });
    const possible = chosen.filter((fault) => fault.whyNot?.(this.stage) === undefined);
    for (const each of skipped) this.say(`left out: ${each}`);
    this.watch.start();
    try {
      await Promise.race([this.load.prepare(), this.aborted]);
      this.load.start();
      this.say(`everything runs after ${(uptime() - startedAt).toFixed(0)} s; faults begin`);
      await this.stage.leader();
      const firstTerm = this.stage.terms;
      const until = uptime() + this.options.minutes * 60;
      await this.calm();
      do {
        for (const fault of this.options.faults.length > 0 ? possible : this.shuffled(possible)) {
          if (this.signal.aborted || (this.options.minutes > 0 && uptime() > until)) break;
          await this.strike(fault);
        }
      } while (uptime() < until && possible.length > 0 && !this.signal.aborted);
      await this.load.stop(this.signal.aborted ? 0 : answerSeconds);
      const verdict = await this.settle();
      return this.result(verdict, firstTerm, skipped, startedAt);
    } finally {
      await this.load.stop(0);
      await this.watch.stop();
    }
  }

  private shuffled(faults: readonly Fault[]): Fault[] {
    return faults
      .map((fault) => ({ fault, at: this.random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ fault }) => fault);
  }

  private calm(): Promise<unknown> {
    return delay(this.options.calm * 1_000, undefined, { signal: this.signal }).catch(() => undefined);
  }

  private async strike(fault: Fault): Promise<void> {
    const { name, setsClocks = false } = fault;
    const killed = { all: false, taskIds: new Set<string>() };
    const [until, recovered] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // What the fault before has ended is whole again, so that its cost is not told as this one's.
    await this.noting(`before ${name}`, this.stage.ready(this.stage.players));
    if (this.signal.aborted) return;
    const window: Window = { fault: name, from: uptime(), until, recovered, killed, setsClocks };
    const term = this.stage.terms;
    this.windows.push(window);
    this.struck.push(fault);
    this.say(`${fault.name} at ${window.from.toFixed(0)}`);
    // After an interrupt the fault has the time to undo what it did.
    const patience = this.aborted.catch(() => delay(undoMillis));
    await this.noting(name, fault.act(this.stage, killed), patience);
    window.until = uptime();
    const hasRecovered = (): boolean =>
      this.load.runs.some(({ answer, askedAt }) => answer === 'ACCEPTED' && askedAt > window.until) &&
      this.stage.records.marks.some(({ what, at }) => what === 'start' && at > window.until);
    await waitFor('the cluster to accept and to start', () => this.signal.aborted || hasRecovered(), {
      timeoutMillis: recoverMillis,
      everyMillis: 200,
    }).catch((cause: unknown) => this.failures.push(`${fault.name}: ${String(cause)}`));
    window.recovered = uptime();
    await this.calm();
    await this.noting(`after ${name}`, this.stage.leader());
    const begun = this.stage.terms - term;
    if (begun > fault.terms[1])
      this.flaps.push(`${name}: ${begun} terms began, of which it explains ${fault.terms[1]}`);
    const cost = costOf(window, this.load, this.stage.records);
    this.say(
      `  lasted ${(window.until - window.from).toFixed(0)} s; without acceptance ${cost.noAcceptance.toFixed(1)} s, ` +
        `without start ${cost.noStart.toFixed(1)} s; term ${this.stage.terms}; ${this.brief(this.judge(undefined))}`,
    );
  }

  /** A failure is told when all is over, and ends no run; an interrupt ends the wait. */
  private async noting(when: string, event: Promise<unknown>, end: Promise<void> = this.aborted): Promise<void> {
    await Promise.race([event, end]).catch((cause: unknown) => {
      if (!this.signal.aborted) this.failures.push(`${when}: ${String(cause)}`);
    });
  }

  private brief({ acknowledged, doubled, overlaps, ended }: Verdict): string {
    const counts = Object.entries({ doubled, overlaps, ended }).map(([name, each]) => `${name} ${each.length}`);
    return `acknowledged ${acknowledged}, ${counts.join(', ')}`;
  }

  /** Waits until all that was accepted has come true; what has not by then is the verdict. */
  private async settle(): Promise<Verdict> {
    // What was accepted has not had the time to start.
    if (this.signal.aborted) return { ...this.judge(undefined), lost: [] };
    this.say('settling');
    let verdict = this.judge(undefined);
    await waitFor(
      'all to come true',
      async () => {
        if (this.signal.aborted) return true;
        const { instance } = await this.stage.leader();
        const told = await askApi(instance.api, this.options.jobs);
        this.watch.look();
        verdict = this.judge(told);
        return [verdict.lost, verdict.wrongServices, verdict.untrue].every((each) => each.length === 0);
      },
      { timeoutMillis: settleMillis, everyMillis: 2_000 },
    ).catch(() => undefined);
    return verdict;
  }

  private judge(told: Parameters<typeof judge>[4]): Verdict {
    return judge(this.load, this.stage.records, this.watch, this.windows, told);
  }

  private result(verdict: Verdict, firstTerm: number, skipped: string[], startedAt: number): ChaosResult {
    const costs = this.windows.map((window) => costOf(window, this.load, this.stage.records));
    const stalls = costs
      .filter((_, n) => this.struck[n]!.worksOn)
      .filter(({ noAcceptance, noStart }) => Math.max(noAcceptance, noStart) > longestStallSeconds)
      .map(
        ({ fault, noAcceptance, noStart }) =>
          `${fault}: ${noAcceptance.toFixed(1)} s without acceptance, ${noStart.toFixed(1)} s without a start`,
      );
    const sum = (n: 0 | 1): number => this.struck.reduce((total, { terms }) => total + terms[n], 0);
    const { failures, flaps, load, stage } = this;
    return {
      verdict,
      costs,
      stalls,
      terms: { begun: stage.terms - firstTerm, fewest: sum(0), most: sum(1) },
      flaps,
      skipped,
      failures,
      unexpectedEnds: stage.unexpectedEnds,
      refusals: load.refusals,
      operations: load.operations,
      starts: stage.records.marks.filter(({ what }) => what === 'start').length,
      seconds: uptime() - startedAt,
      good: isGood(verdict) && [stalls, failures, flaps].every((each) => each.length === 0) && verdict.acknowledged > 0,
    };
  }
}
