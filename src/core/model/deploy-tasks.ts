import type { ProgramRole, ProgramState } from './enums.js';

/* Programs around the main one of each task of a deploy. */

/** A program that runs before or after the main one, to its end. */
export interface StepTask {
  name: string;
  command: string;
  arguments?: string[];
  env?: Record<string, string>;
  /** Longest run. Absent: five minutes. */
  timeoutMillis?: number;
}

/** A program that runs beside the main one. */
export interface SidecarTask {
  name: string;
  command: string;
  arguments?: string[];
  env?: Record<string, string>;
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
