import type { ProgramReport } from '../../../src/cluster/cluster-driver.js';
import type { LaunchSpec, ProgramOfLaunch } from '../../../src/core/model/launch.js';
import type { SimulatedTask } from './simulated-task.js';

/** The agent of the tasks. */
interface AgentOfPrograms {
  now(): number;
  /** Not called any more when the task has ended by then. */
  later(task: SimulatedTask, at: number, run: () => void): void;
  tell(task: SimulatedTask, program: ProgramReport): void;
  /** The task ends, before its main program has begun. */
  fail(task: SimulatedTask, message: string): void;
}

const stepMillis = 5;

/** True when something follows the end of the main program. */
export const hasAfter = ({ programs }: LaunchSpec): boolean =>
  programs !== undefined && programs.sidecars.length + programs.post.length > 0;

/** The programs around the main ones of simulated tasks, as an agent runs and reports them. */
export class SimulatedPrograms {
  constructor(private readonly agent: AgentOfPrograms) {}

  /** `begin` is called when the main program may begin. */
  before(task: SimulatedTask, begin: () => void): void {
    const { init, sidecars } = task.spec.programs ?? { init: [], sidecars: [] };
    this.steps(task, 'INIT', init, (step, failure) => {
      if (failure !== undefined) return this.agent.fail(task, `Init step ${failure}`);
      if (step !== undefined) return undefined;
      for (const sidecar of sidecars) this.startSidecar(task, sidecar, 1);
      return begin();
    });
  }

  /** The main program has ended. `done` is called with the failures of the post steps. */
  after(task: SimulatedTask, runsPost: boolean, done: (failures: string[]) => void): void {
    const { sidecars, post } = task.spec.programs!;
    for (const { name } of sidecars) {
      const starts = task.sidecarStarts?.get(name);
      if (starts !== undefined)
        this.agent.tell(task, { name, role: 'SIDECAR', state: 'SUCCEEDED', starts, exitCode: 143 });
    }
    const failures: string[] = [];
    this.steps(task, 'POST', runsPost ? post : [], (step, failure) => {
      if (failure !== undefined) failures.push(failure);
      if (step === undefined) done(failures);
    });
  }

  private startSidecar(task: SimulatedTask, sidecar: ProgramOfLaunch, starts: number): void {
    const { name } = sidecar;
    (task.sidecarStarts ??= new Map()).set(name, starts);
    this.agent.tell(task, { name, role: 'SIDECAR', state: 'RUNNING', starts });
    const { runFor = Infinity, exitCode = 0 } = task.script.programs?.(sidecar) ?? {};
    if (runFor === Infinity) return;
    this.agent.later(task, this.agent.now() + runFor, () => {
      if (task.state === 'TASK_KILLING') return;
      this.agent.tell(task, { name, role: 'SIDECAR', state: 'FAILED', starts, exitCode });
      this.agent.later(task, this.agent.now() + 1_000, () => {
        if (task.state !== 'TASK_KILLING') this.startSidecar(task, sidecar, starts + 1);
      });
    });
  }

  /** One after the other; `ended` is called after each, and without a step after the last one. Init steps end with the first failure. */
  private steps(
    task: SimulatedTask,
    role: 'INIT' | 'POST',
    [step, ...rest]: readonly ProgramOfLaunch[],
    ended: (step: ProgramOfLaunch | undefined, failure: string | undefined) => void,
  ): void {
    if (!step) return ended(undefined, undefined);
    const { name } = step;
    const { runFor = stepMillis, exitCode = 0 } = task.script.programs?.(step) ?? {};
    this.agent.tell(task, { name, role, state: 'RUNNING', starts: 1 });
    if (runFor === Infinity) return undefined;
    return this.agent.later(task, this.agent.now() + runFor, () => {
      const failure = exitCode === 0 ? undefined : `${name} ended with exit code ${exitCode}`;
      this.agent.tell(task, { name, role, state: failure === undefined ? 'SUCCEEDED' : 'FAILED', starts: 1, exitCode });
      ended(step, failure);
      if (role === 'POST' || failure === undefined) this.steps(task, role, rest, ended);
    });
  }
}
