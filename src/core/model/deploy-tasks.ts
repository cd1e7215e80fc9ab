import type { ProgramRole, ProgramState } from './enums.js';

/* Programs around the main one of each task of a deploy. */

/** What all of them have. */
export interface ProgramSpec {
  name: string;
  command: string;
  arguments?: string[];
  env?: Record<string, string>;
}

/** Names, as those of containers and of files. */
export const programNames = { pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, longest: 40 } as const;

/** A program that runs before or after the main one, to its end. */
export interface StepTask extends ProgramSpec {
  /** Longest run. Absent: five minutes. */
  timeoutMillis?: number;
}

/** A program that runs beside the main one. */
export interface SidecarTask extends ProgramSpec {
  /** Absent: it shares those of the main program. */
  resources?: SidecarResources;
}

/** On top of the resources of the deploy. */
export interface SidecarResources {
  cpus?: number;
  memoryMb?: number;
}

export interface DeployTasks {
  init?: StepTask[];
  sidecars?: SidecarTask[];
  post?: StepTask[];
}

/** State of one of them in a task. */
export interface TaskProgram {
  name: string;
  role: ProgramRole;
  state: ProgramState;
  /** Only a sidecar is started more than once. */
  starts: number;
  /** Epoch millis of this state. */
  timestamp: number;
  /** Of its last end; as a shell tells it, 128 + n after signal n. */
  exitCode?: number;
  message?: string;
}

export const defaultStepMillis = 300_000;

/** All of them, each with its place in the deploy: tasks.init.0. */
export const programsAround = ({ init = [], sidecars = [], post = [] }: DeployTasks = {}): (ProgramSpec & {
  field: string;
})[] =>
  Object.entries({ init, sidecars, post }).flatMap(([list, programs]) =>
    programs.map((program, index) => ({ ...program, field: `tasks.${list}.${index}` })),
  );

/** The most that all init steps together may take. */
export const initMillis = ({ init = [] }: DeployTasks = {}): number =>
  init.reduce((total, { timeoutMillis = defaultStepMillis }) => total + timeoutMillis, 0);

/** Resources of all sidecars together. */
export const sidecarResources = (tasks: DeployTasks | undefined): Required<SidecarResources> => ({
  cpus: sum(tasks, 'cpus'),
  memoryMb: sum(tasks, 'memoryMb'),
});

const sum = (tasks: DeployTasks | undefined, member: keyof SidecarResources): number =>
  (tasks?.sidecars ?? []).reduce((total, { resources }) => total + (resources?.[member] ?? 0), 0);
