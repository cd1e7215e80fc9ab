import type { ProgramReport } from '../cluster-driver.js';
import { programFailure, stepEnd } from '../../agent/tasks/outcome.js';
import { mainOf, millisOf, type ContainerStatus, type Pod } from './objects.js';
import { lateMessage, postContainerName, programOfContainer } from './programs-of-pod.js';

/** State of a program around the main one, as its pod tells it now. */
export interface ProgramStatus extends ProgramReport {
  /** Epoch millis. */
  timestamp: number;
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/** In their order. Those that have not begun are left out; post steps tell how they ended, all at once. */
export const programsOfPod = (pod: Pod): ProgramStatus[] =>
  (pod.status?.initContainerStatuses ?? []).flatMap((status) => {
    if (status.name === postContainerName) return postSteps(status);
    const program = programOfContainer(status.name);
    if (!program) return [];
    return program.role === 'INIT' ? initStep(program.name, status) : sidecar(program.name, status, pod);
  });

/** What went wrong in an init step, with its name; undefined: nothing, as far as is known. */
export function failedInitStep(pod: Pod): { message: string; isOutOfMemory: boolean } | undefined {
  for (const { name, state } of pod.status?.initContainerStatuses ?? []) {
    const program = programOfContainer(name);
    if (program?.role !== 'INIT' || !state?.terminated) continue;
    const why = failureOf(state.terminated);
    const isOutOfMemory = state.terminated.reason === 'OOMKilled';
    if (why !== undefined) return { message: `Init step ${program.name} ${why}`, isOutOfMemory };
  }
  return undefined;
}

/** Each a name and what went wrong. */
export const failedPostSteps = (pod: Pod): string[] =>
  (pod.status?.initContainerStatuses ?? []).flatMap((status) =>
    postEnds(status).flatMap(({ name, why }) => (why === undefined ? [] : [`${name} ${why}`])),
  );

const initStep = (name: string, { state = {} }: ContainerStatus): ProgramStatus[] => {
  const about = { name, role: 'INIT', starts: 1 } as const;
  if (state.running) return [{ ...about, state: 'RUNNING', timestamp: millisOf(state.running.startedAt) ?? 0 }];
  if (!state.terminated) return [];
  const { exitCode, finishedAt } = state.terminated;
  return [{ ...about, ...stepEnd(failureOf(state.terminated), exitCode), timestamp: millisOf(finishedAt) ?? 0 }];
};

/** Once the main container has ended, its end is as it is meant to be. */
function sidecar(name: string, status: ContainerStatus, pod: Pod): ProgramStatus[] {
  const { state = {}, lastState, restartCount = 0 } = status;
  const about = { name, role: 'SIDECAR', starts: restartCount + 1 } as const;
  if (state.running) return [{ ...about, state: 'RUNNING', timestamp: millisOf(state.running.startedAt) ?? 0 }];
  const terminated = state.terminated ?? lastState?.terminated;
  if (!terminated) return [];
  const { exitCode } = terminated;
  const timestamp = millisOf(terminated.finishedAt) ?? 0;
  const isOver = mainOf(pod.status?.containerStatuses)?.state?.terminated !== undefined;
  return isOver
    ? [{ ...about, state: 'SUCCEEDED', exitCode, message: 'Ended with the main program', timestamp }]
    : [{ ...about, state: 'FAILED', exitCode, message: `Ended with exit code ${exitCode ?? 'unknown'}`, timestamp }];
}

const postSteps = (status: ContainerStatus): ProgramStatus[] =>
  postEnds(status).map(({ name, exitCode, why }) => ({
    name,
    role: 'POST',
    starts: 1,
    ...stepEnd(why, exitCode),
    timestamp: millisOf(status.state?.terminated?.finishedAt) ?? 0,
  }));

interface PostEnd {
  name: string;
  exitCode?: number;
  /** What went wrong; absent: nothing. */
  why?: string;
}

/** Lines of the message: name, and exit code or that it was late. The first line of a step counts. */
function postEnds({ name: container, state }: ContainerStatus): PostEnd[] {
  if (container !== postContainerName) return [];
  const found = new Map<string, PostEnd>();
  for (const line of (state?.terminated?.message ?? '').split('\n')) {
    const [, name, result] = /^([a-z0-9-]+) (\d+|late)$/.exec(line) ?? [];
    if (name === undefined || result === undefined || found.has(name)) continue;
    const exitCode = result === lateMessage ? undefined : Number(result);
    found.set(name, { name, exitCode, why: exitCode === undefined ? late : failureOf({ exitCode }) });
  }
  return [...found.values()];
}

const late = 'took longer than it may';

function failureOf({ exitCode, message, reason }: Terminated): string | undefined {
  if (message === lateMessage) return late;
  if (reason === 'OOMKilled') return 'was killed for want of memory';
  return programFailure({ hasBegun: true, exitCode, isLate: false, isKilled: false }, undefined);
}
