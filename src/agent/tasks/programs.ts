import type { ProgramsOfLaunch } from '../../core/model/launch.js';
import { messageOf } from '../../platform/files.js';
import { withSignal } from '../../platform/async.js';
import type { ProcessStat } from '../processes/process-identity.js';
import { AgentStops } from '../state/updates-log.js';
import { programFailure, stepEnd, StepFailed, type TaskOutcome, withPostFailures } from './outcome.js';
import { Program, type ProgramEnd, type ProgramTask } from './program.js';
import { Sidecar } from './sidecar.js';
import type { TaskContext } from './task-context.js';
import type { TaskKill } from './task-kill.js';

/** A sidecar has so long to end after a main program that took all of the time of a kill. */
const leastGraceMillis = 2_000;

interface AroundTask extends ProgramTask {
  /** Aborted by a kill before the main program was started, and when the agent stops. */
  preparing: AbortSignal;
  kill: Pick<TaskKill, 'endsAt' | 'byForce'>;
}

/** The programs around the main one of a task: init steps and sidecars before it is started, post steps after it has ended. */
export class TaskPrograms {
  private readonly init: Program[];
  private readonly sidecars: Sidecar[];
  private readonly post: Program[];
  private readonly stopping = new AbortController();
  /** Ends of steps: none runs a second time, whatever has to be done again after trouble. */
  private readonly ends = new Map<Program, Promise<ProgramEnd | string>>();

  constructor(
    private readonly context: TaskContext,
    private readonly task: AroundTask,
    { init, sidecars, post }: ProgramsOfLaunch,
  ) {
    const warn = (message: string) => context.log.warn(`Task ${task.spec.taskId}: ${message}`);
    this.init = init.map((step) => new Program(context, task, step, 'INIT', step.timeoutMillis));
    this.sidecars = sidecars.map((sidecar) => new Sidecar(new Program(context, task, sidecar, 'SIDECAR'), warn));
    this.post = post.map((step) => new Program(context, task, step, 'POST', step.timeoutMillis));
  }

  /** Something is left to be ended, or to be done, when the main program has ended. */
  get endsLater(): boolean {
    return this.sidecars.length > 0 || this.post.length > 0;
  }

  get isAnyRunning(): boolean {
    return this.all().some(({ isRunning }) => isRunning);
  }

  /** It is no process of the main program. */
  owns = (found: ProcessStat): boolean => this.all().some((program) => program.isShim(found) || program.owns(found));

  isShim = (found: ProcessStat): boolean => this.all().some((program) => program.isShim(found));

  /**
   * Resolves when the main program may start: each init step has succeeded, and the sidecars have begun. Goes on where an earlier agent was.
   * Throws StepFailed.
   */
  async before(): Promise<void> {
    const { preparing, kill } = this.task;
    for (const step of this.init) {
      const end = () => step.end(() => kill.endsAt);
      preparing.addEventListener('abort', end);
      if (preparing.aborted) end();
      const failure = await this.runStep(step, preparing).finally(() => preparing.removeEventListener('abort', end));
      preparing.throwIfAborted();
      if (failure !== undefined) throw new StepFailed(`Init step ${failure}`);
    }
    await this.beginSidecars();
    preparing.throwIfAborted();
  }

  /** The sidecars of a task that an earlier agent left are known from now on. */
  async adoptSidecars(): Promise<void> {
    await Promise.all(this.sidecars.map(({ program }) => program.adopt()));
  }

  /** Takes up those that an earlier agent left, and starts the others. */
  async beginSidecars(): Promise<void> {
    await Promise.all(this.sidecars.map((sidecar) => sidecar.begin()));
  }

  /** With what is left of the grace of a kill, else with the grace of the task. */
  async endSidecars(): Promise<void> {
    const { kill, spec } = this.task;
    const now = performance.now();
    const usual = kill.endsAt === Infinity ? now + spec.killGraceMillis : Math.max(kill.endsAt, now + leastGraceMillis);
    await Promise.all(this.sidecars.map((sidecar) => sidecar.end(() => (kill.byForce.aborted ? 0 : usual))));
  }

  /** Each, in their order, whatever becomes of those before it; none any more after a kill by force. Answers the outcome with their failures. */
  runPost(outcome: TaskOutcome): Promise<TaskOutcome> {
    const { byForce } = this.task.kill;
    return withSignal([byForce, this.stopping.signal], (mayBegin) => this.runPostUntil(byForce, mayBegin, outcome));
  }

  private async runPostUntil(byForce: AbortSignal, mayBegin: AbortSignal, outcome: TaskOutcome): Promise<TaskOutcome> {
    const failures: string[] = [];
    for (const step of this.post) {
      const end = () => step.end(() => 0);
      byForce.addEventListener('abort', end);
      if (byForce.aborted) end();
      const failure = await this.runStep(step, mayBegin)
        .catch((cause: unknown) => {
          if (!byForce.aborted) throw cause;
          return `${step.spec.name} was not started`;
        })
        .finally(() => byForce.removeEventListener('abort', end));
      if (failure !== undefined) failures.push(failure);
    }
    return withPostFailures(outcome, failures);
  }

  /** The next agent goes on. */
  detach(): void {
    this.stopping.abort(new AgentStops());
    for (const program of [...this.init, ...this.post]) program.detach();
    for (const sidecar of this.sidecars) sidecar.detach();
  }

  private all(): Program[] {
    return [...this.init, ...this.sidecars.map(({ program }) => program), ...this.post];
  }

  /** Answers what went wrong, with its name first; undefined: it succeeded. */
  private async runStep(step: Program, mayBegin: AbortSignal): Promise<string | undefined> {
    const end = await this.endOf(step, mayBegin);
    if (typeof end === 'string') {
      await step.report('FAILED', { message: end });
      return `${step.spec.name} could not start: ${end}`;
    }
    const why = programFailure(end, step.timeoutMillis);
    const { state, ...about } = stepEnd(why, end.exitCode);
    await step.report(state, about);
    return why && `${step.spec.name} ${why}`;
  }

  private endOf(step: Program, mayBegin: AbortSignal): Promise<ProgramEnd | string> {
    const end = this.ends.get(step) ?? this.runOf(step, mayBegin);
    this.ends.set(step, end);
    return end;
  }

  private async runOf(step: Program, mayBegin: AbortSignal): Promise<ProgramEnd | string> {
    try {
      return await step.run(mayBegin);
    } catch (cause) {
      if (mayBegin.aborted || this.context.stopping.aborted) throw cause;
      return messageOf(cause);
    }
  }
}
